"""One thing measured or predicted at a time: profiles of nodes alone, links, predictions, runs. Nothing is decided here."""
import json
import os
import statistics
import subprocess

from .cells import FRAMES_OVER_PAYLOAD, HARD, RATES, SEQUENCE
from .rig import EXAMPLE, NET, PROFILER, Failed, stop

PROFILE_STEPS, PROFILE_LEAST, PROFILE_S = 30, 6, 150.0
LINK_S, GLOO_LINK_S = 24, 30
# One term of the model left out at a time; "duplex": as if a link carried one direction at a time.
ABLATIONS = {"tail": "tail=no", "duplex": "medium=half", "contention": "contention=0", "jitter": "jitter=no"}


def torch_python():
    return os.environ.get("TORCH_PYTHON")


def has_torch():
    python = torch_python()
    return bool(python) and subprocess.run([python, "-c", "import torch.distributed"], capture_output=True,
                                           check=False).returncode == 0


def wait_all(rig, started, limit_s, what):
    """All of them, whatever happens to one."""
    try:
        return [rig.finish(p, limit_s, what) for p in started]
    finally:
        for p in started:
            stop(p)


# ---- nodes alone, all at once ----

def profile_steps(cell, step_s):
    """Of a job of PyTorch every step is recorded twice, bare and wrapped."""
    each = step_s * (2 if cell.engine == "torch" else 1)
    return max(PROFILE_LEAST, min(PROFILE_STEPS, int(PROFILE_S / each)))


def profile(rig, cell, number, step_s):
    """Both hosts work at once, for a machine that shares its memory between them is another one when half of it rests."""
    rig.set_slow("b" if cell.slow else None)
    steps = profile_steps(cell, step_s)
    limit = 300 + 30 * (steps + 2) * step_s  # the step is a guess when nothing of the group has been measured
    hosts = "a" if cell.replay else "ab"
    started, paths = [], []
    for host in hosts:
        path = os.path.join(rig.place(host), f"profile-{number}.json")
        paths.append(path)
        if cell.engine == "torch":
            command = [torch_python(), PROFILER, f"{EXAMPLE}:{cell.model}", "-o", path, "--steps", str(steps), "--threads", "1"]
            started.append(rig.start(host, command, torch_env(cell), stdout=subprocess.PIPE))
        else:
            command = ["--model", cell.model, "--batch", str(cell.batch), "--seq", str(SEQUENCE), "--steps", str(steps),
                       "--warmup", "1", "--no-floor"]
            p, _ = rig.bench(host, command, limit)
            started.append(p)
    outputs = wait_all(rig, started, limit, f"profile of {cell.name}")
    for path, text in zip(paths, outputs):
        if cell.engine != "torch":
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
    return [{"path": path, "step_s": profile_median(path), "steps": steps} for path in paths]


def profile_median(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)["summary"]["step_s"]["median"]


def torch_env(cell):
    return {"MODEL": cell.model, "BATCH": str(cell.batch), "SEQ": str(SEQUENCE), "STEPS": str(cell.steps),
            "OMP_NUM_THREADS": "1"}


# ---- the link ----

def link(rig, cell, number):
    """At the rate that is set now. Of gloo for jobs of PyTorch, else of this program's own all-reduce."""
    rig.set_slow("b" if cell.slow else None)
    args = ["link", f"{NET}.2", "--key-file", rig.key]
    args += ["--allreduce", "--duration", str(GLOO_LINK_S)] if cell.engine == "torch" else ["--duration", str(LINK_S)]
    p, result = rig.bench("a", args, 180)
    try:
        document = result()
    finally:
        stop(p)
    path = os.path.join(rig.place("a"), f"link-{number}.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(document, f)
    wanted = "gloo" if cell.engine == "torch" else "tcp"
    rows = [c for c in document["link"].get("contention") or [] if c["backend"] == wanted]
    if not rows:
        raise Failed(f"the link's document has no {wanted} beside computing: {document.get('warnings')}")
    return {"path": path, "contention": compact_contention(rows[0])}


def compact_contention(row):
    keep = {"bytes": row["bytes"]}
    for key in ("small_alone_s", "alone_s", "small_beside_s", "beside_s", "a_slowdown", "b_slowdown"):
        keep[key] = row[key] and float(f"{row[key]['median']:.5g}")
    return keep


def shaper_rate(rig, cell, profiles):
    """What the shaper is told. To two figures, so that rounds of one cell share a link's measurement."""
    if cell.rate in RATES:
        return RATES[cell.rate]
    asked = rig.local(["predict", profiles[0]["path"], "--nodes", str(cell.nodes), "--schedule", cell.schedule,
                       "--target", str(HARD[cell.rate]), "--link", "1G-eth"])["inverse"]
    if not asked["rate_bytes_per_s"]:
        raise Failed(f"no rate makes two nodes {HARD[cell.rate]} times as fast as one")
    return f"{float(format(asked['rate_bytes_per_s'] * 8e-6 * FRAMES_OVER_PAYLOAD, '.2g')):g}mbit"


# ---- predictions ----

def predict_args(cell, profiles, link_path):
    first = ["predict", "--profile", profiles[0]["path"]] if cell.engine == "torch" else ["predict", profiles[0]["path"]]
    args = first + ["--link-run", link_path, "--nodes", str(cell.nodes), "--steps", str(cell.steps)]
    if cell.engine != "torch":
        args += ["--schedule", cell.schedule]
    return args + (["--partner", profiles[1]["path"]] if len(profiles) > 1 else [])


def predict(rig, cell, profiles, link_path, shares=""):
    """With the batch divided in these shares; without any, equally, and what division is suggested is in the answer."""
    args = predict_args(cell, profiles, link_path)
    always = ["contention=0"] * cell.replay + [f"shares={shares}"] * bool(shares)  # ranks that sleep lose nothing to communication

    def ask(*changes):
        if not changes:
            document = rig.local(args)
            return document, document["nodes"][0]
        document = rig.local(args + ["--what-if", ",".join(changes)])
        return document, document["what_if"]["nodes"][0]

    whole, node = ask(*always)
    three = ("median", "lo", "hi")
    answer = {"step_s": [node["step_s"][k] for k in three], "speedup": [node["speedup"][k] for k in three],
              "exposed_s": node["exposed_s"]["median"], "p_faster": node["p_faster"], "verdict": node["verdict"],
              "limit": node["limit"], "alone_s": node["alone_s"], "naive_step_s": node["naive"]["step_s"],
              "shares": (whole.get("shares") or {}).get("share"), "divided": shares, "ablation_step_s": {}}
    if not cell.replay:
        for name, change in ABLATIONS.items():
            answer["ablation_step_s"][name] = ask(*always, change)[1]["step_s"]["median"]
    return answer


def whole_shares(share, total):
    """Of two nodes: whole sequences, at least one each."""
    first = min(total - 1, max(1, round(share[0] / sum(share) * total)))
    return f"{first}:{total - first}"


# ---- runs ----

def run(rig, cell, limit_s, shares):
    rig.set_slow("b" if cell.slow else None)
    if cell.engine == "torch":
        return run_torch(rig, cell, limit_s)
    args = ["--model", cell.model, "--seq", str(SEQUENCE), "--steps", str(cell.steps), "--warmup", str(warmup(cell)),
            "--schedule", cell.schedule, "--peers", ",".join(f"{NET}.{i + 2}" for i in range(cell.nodes - 1)),
            "--key-file", rig.key, "--no-floor"]
    args += [] if rig.rehearse else ["--no-baseline", "--no-predict"]
    args += ["--global-batch", str(cell.nodes * cell.batch), "--shares", shares] if shares else ["--batch", str(cell.batch)]
    args += ["--compute", "replay"] if cell.replay else []
    p, result = rig.bench("a", args, limit_s)
    try:
        d = result()
    finally:
        stop(p)
    good = [s["step_s"] + s["agree_s"] for s in d["samples"]]  # from one step's start to the next one's
    c, own = d["communication"], d.get("prediction") if rig.rehearse else None
    three = ("median", "lo", "hi")
    rehearsed = {"step_s": [own["step_s"][k] for k in three], "speedup": [own["speedup"][k] for k in three],
                 "verdict": own["verdict"]} if own else None
    return {"rehearsed": rehearsed, "step_s": statistics.median(good), "steps_s": [float(f"{x:.5g}") for x in good],
            "exposed_s": c["exposed_s"], "communication_s": c["total_s"],
            "version": d["tool"]["version"], "kernel": d["nodes"][0]["blas_kernel"]}


def warmup(cell):
    """A long step is warm after one."""
    return 1 if cell.model == "gpt2-124m" else 2


def run_torch(rig, cell, limit_s):
    started = []
    for rank, host in enumerate("ab"):
        env = {**torch_env(cell), "RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": f"{NET}.1", "MASTER_PORT": "29517",
               "GLOO_SOCKET_IFNAME": f"v{host}"}
        started.append(rig.start(host, [torch_python(), EXAMPLE], env, stdout=subprocess.PIPE))
    text = wait_all(rig, started, limit_s, f"run of {cell.name}")[0]
    d = json.loads(text.strip().splitlines()[-1])
    return {"step_s": d["step_s"], "steps_s": [float(f"{x:.5g}") for x in d["steps_s"]]}
