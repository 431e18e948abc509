# tools/validate without measuring: which cells there are, and what a report makes of rows whose figures were worked out by hand.
. "$TOP_SRCDIR/tests/lib.sh"
not_under "asan tsan" "its runs are ordinary ones"
command -v python3 >/dev/null 2>&1 || skip_all 'there is no python3'
cd "$scratch" || exit 99
validate="$TOP_SRCDIR/tools/validate"

"$validate" --list --out out --work work >list
# two models, tokens 256 and 1024, three rates, two schedules; the slowest rate once; the long one once; char: three by four, and seven rates where deciding is hard
holds '33 cells by default' test "$(grep -c ' x 3$' list)" -eq 33
holds 'hard ones among them' grep -q 'bench/gpt2-124m/1024/300Mbit/split' list
holds 'a filter' test "$("$validate" --list --only '256/1G-eth' --out out --work work | grep -c ' x 3$')" -eq 3
status=0
"$validate" --rounds 0 >/dev/null 2>err || status=$?
is 'no rounds are refused' $status 2

# --- four runs in two cells, each cell within its bracket; the second bracket drifted and its run was repeated ---
mkdir -p out doc
cat >rows.py <<'END'
import json
def prediction(cell, number, attempt, bracket, step, lo, hi, verdict, naive):
    return {"kind": "prediction", "cell": cell, "round": number, "attempt": attempt, "bracket": bracket, "engine": "bench",
            "model": "m", "tokens": 256, "rate": cell[-1], "schedule": "ddp", "nodes": 2, "slow": 0, "shares": "", "replay": False,
            "predicted": {"step_s": [step, lo, hi], "speedup": [2 / step, 2 / hi, 2 / lo], "p_faster": 0.5, "verdict": verdict,
                          "naive_step_s": naive, "shares": None, "ablation_step_s": {"tail": 0.5}}}
def run(cell, number, attempt, bracket, step):
    return {"kind": "run", "cell": cell, "round": number, "attempt": attempt, "bracket": bracket,
            "measured": {"step_s": step, "version": "1"}}
def bracket(name, drift):
    return {"kind": "bracket", "bracket": name, "drift": drift, "drifts": [drift], "before_s": [1.0, 1.0],
            "after_s": [1 + drift, 1 + drift], "profile_steps": 30}
rows = [prediction("c/x", 0, 1, "p", 1.1, 1.0, 1.2, "helps", 1.0), run("c/x", 0, 1, "p", 1.0),
        prediction("c/x", 1, 1, "p", 0.9, 0.8, 0.95, "helps", 1.0), run("c/x", 1, 1, "p", 1.0), bracket("p", 0.01),
        prediction("c/y", 0, 1, "q", 5.0, 4.0, 6.0, "hurts", 4.0), run("c/y", 0, 1, "q", 4.0), bracket("q", 0.05),
        prediction("c/y", 0, 2, "r", 4.0, 3.0, 5.0, "hurts", 4.0), run("c/y", 0, 2, "r", 4.0), bracket("r", 0.0),
        prediction("c/y", 1, 1, "s", 4.0, 3.0, 5.0, "helps", 4.0), run("c/y", 1, 1, "s", 5.0)]
for row in rows:
    print(json.dumps(row))
print('{"kind": "run", "cell": "cut o', end="")
END
python3 rows.py >out/runs.jsonl
status=0
"$validate" --report --out out --doc doc --work work >said || status=$?
is 'a report' $status 0
# errors of what counts: 10 %, -10 %, 0 %; the run whose bracket was never closed is not among them
holds 'its figures' grep -q '^this program, two equal nodes: 3 runs, median error 10.0 %, p90 10.0 %, max 10.0 %, bias 0.0 %' said
# 1.2 >= 1.0 >= 1.0 and 5 >= 4 >= 3 lie inside, 0.95 < 1.0 does not; speed-ups 2.01 and 2.01 and 0.5
holds 'what lies inside, and decisions' grep -q 'inside 67 %, decisions right 3 wrong 0 open 0' said
holds 'the repetition replaces the run of the bracket that drifted' test "$(grep -c '^c/y' out/runs.csv)" -eq 2
holds 'which is told' grep -q 'with all attempts | 2 / 4 ' doc/ACCURACY.md
holds 'the rule of thumb beside it' grep -q 'all of it: the rule of thumb | 0.0 %' doc/ACCURACY.md
holds 'what cannot be known here' grep -q 'What this does not show' doc/ACCURACY.md
python3 -c "
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, '$TOP_SRCDIR/tools')
from validation import report
low, high = report.wilson(0.5, 10)     # (0.5 + z^2/20 -+ z sqrt(1/40 + z^2/400)) / (1 + z^2/10), z = 1.96
assert abs(low - 0.2366) < 1e-4 and abs(high - 0.7634) < 1e-4, (low, high)
assert report.quantile([4, 1, 3, 2], 0.9) == 3.7
# a line that was cut off does not take the next one with it
from validation import cells, sweep
rows = sweep.Rows('out/runs.jsonl')
rows.add(kind='run', cell='c/z')
assert sweep.Rows('out/runs.jsonl').rows[-1] == {'kind': 'run', 'cell': 'c/z'} and len(rows.rows) == 14
# runs of --quick, which have fewer steps, leave those of the whole sweep to be done
long = next(c for c in cells.choose('default', 'bench', None, False) if c.steps == 20)
rows.rows = [{'kind': 'run', 'cell': long.name, 'round': i, 'attempt': 1, 'bracket': 'b', 'measured': {'steps_s': [1.0] * n}}
             for i, n in enumerate([10, 20])] + [{'kind': 'bracket', 'bracket': 'b', 'drift': 0.0}]
assert rows.done([long]) == {(long.name, 1)}, rows.done([long])
assert rows.attempts(long, 0) == 0 and rows.attempts(long, 1) == 1
row = {'engine': 'bench', 'nodes': 2, 'slow': 50, 'shares': '5:3', 'predicted': {'divided': '5:3'}}
equal = {**row, 'predicted': {}}       # told as if shares were equal: nothing it could be compared with
assert report.predicted_as_run(row) and not report.predicted_as_run(equal)
assert [len(part) for _, part in report.kinds([row, equal, {**row, 'shares': '', 'predicted': {}}])] == [0, 0, 0, 1, 1, 0]
" && status=0 || status=1
is 'quantiles, Wilson intervals, divided batches' $status 0
finish
