#!/bin/sh
# The recorder for jobs of PyTorch (tools/pytorch_profile.py): what it writes, and what it refuses. Needs a Python with
# torch, named by TORCH_PYTHON.
. "$TOP_SRCDIR/tests/lib.sh"
not_under "asan tsan" "it runs no program of this project"

python=${TORCH_PYTHON:-python3}
"$python" -c 'import torch' 2>/dev/null || skip_all "no torch in ${TORCH_PYTHON:-python3}; name a Python that has it in TORCH_PYTHON"
tool=$TOP_SRCDIR/tools/pytorch_profile.py
job=$TOP_SRCDIR/doc/examples/mlp.py
cd "$scratch" || exit 99

record()
{
    status=0
    OMP_NUM_THREADS=1 timeout -k 5 100 "$python" "$tool" "$@" >out 2>err || status=$?
}

BATCH=8 record "$job:make" --steps 4 --warmup 1 -o mlp.json
is "exit status" "$status" 0
cat >look.py <<'PY'
import json, sys
sys.path.insert(0, sys.argv[1] + "/tools")
import pytorch_profile as p

def refuse(name):
    raise ValueError(name)
d = json.load(open("mlp.json"), parse_constant=refuse)
# 768 x 3072 + 3072 and 3072 x 768 + 768 numbers of four bytes.
assert [q["bytes"] for q in d["parameters"]] == [9437184, 12288, 9437184, 3072], d["parameters"]
assert d["gradient_bytes"] == 18889728
assert sorted(i for b in d["buckets"] for i in b["parameters"]) == [0, 1, 2, 3]
assert sum(b["bytes"] for b in d["buckets"]) == 18889728
assert len(d["samples"]) == 4 and len(d["wrapped_samples"]) == 4 and d["node"]["threads"] == 1
for s in d["samples"]:
    assert abs(s["forward_s"] + s["backward_s"] + s["optimizer_s"] - s["step_s"]) < 1e-6
    # The second layer's gradients come first, all within backward.
    assert s["forward_s"] < max(s["ready_s"][2:]) < max(s["ready_s"][:2]) <= s["forward_s"] + s["backward_s"]

# GPT-2's 148 tensors in reverse registration order: 13 buckets, as DistributedDataParallel makes them.
width, four = 768, 4
block = [width, width, 3 * width * width, 3 * width, width * width, width, width, width, 4 * width * width, 4 * width,
         4 * width * width, width]
sizes = [four * n for n in [50257 * width, 1024 * width] + 12 * block + [width, width]]
reverse = list(reversed(range(len(sizes))))
MIB = 1 << 20
plan = [b["bytes"] for b in p.plan_buckets(sizes, reverse, MIB, 25 * MIB)]
assert len(sizes) == 148 and sum(plan) == 497759232 and len(plan) == 13, plan
assert (plan[0], plan[1], plan[-1]) == (9446400, 28351488, 176446464), plan
plan = [b["bytes"] for b in p.plan_buckets(sizes, reverse, 25 * MIB, 25 * MIB)]
assert len(plan) == 13 and plan[-1] == 157541376, plan
plan = [b["bytes"] for b in p.plan_buckets(sizes, reverse, MIB, MIB)]
assert len(plan) == 50 and plan[-1] == 154389504, plan
PY
holds "the profile holds what the job is" "$python" look.py "$TOP_SRCDIR"

refused() # WHAT STATUS WORD JOB
{
    record "$4" --steps 1 -o refused.json
    is "$1: status" "$status" "$2"
    # shellcheck disable=SC2016 # the inner shell expands it
    holds "$1: one sentence names it" sh -c 'test "$(wc -l <err)" -eq 1 && grep -q -- "$1" err' - "$3"
    holds "$1: nothing is written" test ! -e refused.json
}
cat >bad.py <<'PY'
import torch
def pair():
    return torch.nn.Linear(2, 2), None
def frozen():
    m = torch.nn.Linear(2, 2).requires_grad_(False)
    return m, torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1), lambda m: m(torch.ones(1, 2)).sum()
def diverged():
    m = torch.nn.Linear(2, 2)
    return m, torch.optim.SGD(m.parameters(), lr=0.1), lambda m: m(torch.ones(1, 2)).sum() * float("nan")
def vector():
    m = torch.nn.Linear(2, 2)
    return m, torch.optim.SGD(m.parameters(), lr=0.1), lambda m: m(torch.ones(1, 2))
sparse_rows = torch.nn.Embedding(4, 2, sparse=True)
def sparse():
    return sparse_rows, torch.optim.SGD(sparse_rows.parameters(), lr=0.1), lambda m: m(torch.tensor([1])).sum()
class Half(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.idle = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    def forward(self, x):
        return self.used(x)
def half():
    m = Half()
    return m, torch.optim.SGD(m.parameters(), lr=0.1), lambda m: m(torch.ones(1, 2)).sum()
PY
refused "no colon" 64 "MODULE:FACTORY" bad.py
refused "no such file" 66 "absent.py" absent.py:make
refused "no such function" 66 "absent" bad.py:absent
refused "not three things" 65 "three things" bad.py:pair
refused "nothing to train" 65 "no parameter to train" bad.py:frozen
refused "a loss that is not a number" 70 "nan" bad.py:diverged
refused "a loss that is a vector" 65 "one number" bad.py:vector
refused "a sparse gradient" 65 "'weight' is sparse" bad.py:sparse
refused "a parameter that is not used" 65 "'idle.weight' and 1 more got no gradient" bad.py:half
record bad.py:half --steps 1 --no-wrapper -o half.json
is "without the wrapper: status" "$status" 0
holds "and it is listed" grep -q '"unused": \["idle.weight", "idle.bias"\]' half.json
finish
