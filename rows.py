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
print('{"kind": "run", "cell": "cut o')
