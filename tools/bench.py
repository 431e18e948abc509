#!/usr/bin/env python3
"""Speeds of this program's training step, against its own floor and, if a Python with torch is given, PyTorch.

    make bench                                      our step and its floor
    make bench TORCH_PYTHON=~/torch/bin/python      PyTorch eager and compiled too, interleaved

Environment: TORCH_PYTHON; BENCH_ROUNDS (default 3); BENCH_CASES, e.g. "gpt2-124m:4x64 shakespeare-char:12x64";
BENCH_THREADS (default: what ddpbench chooses). Rounds are interleaved (ours, eager, compiled, ours, ...), each figure is
the median over rounds of the medians within a run, and ratios are taken round by round, because a machine drifts by more than
what is to be seen. Nothing else should run meanwhile. OPENBLAS_CORETYPE and OPENBLAS_L2_SIZE are removed from
the environment so that both sides choose their kernels themselves.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CASES = "gpt2-124m:4x64 gpt2-124m:4x256 gpt2-124m:1x1024 shakespeare-char:12x64 shakespeare-char:64x256"
STEPS = {"gpt2-124m:4x64": 10, "shakespeare-char:12x64": 30}  # others: 5


def run(command, env):
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"bench: {' '.join(command)} exited with {done.returncode}: {done.stderr.strip()[-400:]}")
    return json.loads(done.stdout)


def ours(program, case, steps, env, results):
    model, shape = case.split(":")
    batch, seq = shape.split("x")
    command = [program, "--model", model, "--batch", batch, "--seq", seq, "--steps", str(steps), "--json",
               "--results-dir", results]
    if os.environ.get("BENCH_THREADS"):
        command += ["--threads", os.environ["BENCH_THREADS"]]
    doc = run(command, env)
    row = {key: doc["summary"][key]["median"] for key in ("step_s", "forward_s", "backward_s", "optimizer_s")}
    row.update(floor_s=doc["floor"]["step_s"], ratio=doc["floor"]["ratio"], peak_bytes=doc["memory"]["peak_bytes"],
               threads=doc["nodes"][0]["threads"], kernel=doc["nodes"][0]["blas_kernel"])
    return row


def torch_side(python, case, steps, threads, env, compiled):
    model, shape = case.split(":")
    batch, seq = shape.split("x")
    command = [python, str(HERE / "torch_step.py"), model, batch, seq, str(steps), str(threads)]
    return run(command + (["--compile"] if compiled else []), env)


def median(rows, key):
    return statistics.median(row[key] for row in rows)


def spread(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f}-{max(values):.2f})"


def measure(case, program, python, rounds, env, results):
    steps = STEPS.get(case, 5)
    sides = {"ours": [], "eager": [], "compiled": []}
    for _ in range(rounds):
        sides["ours"].append(ours(program, case, steps, env, results))
        if python:
            threads = sides["ours"][-1]["threads"]
            for name in ("eager", "compiled"):
                sides[name].append(torch_side(python, case, steps, threads, env, name == "compiled"))
    mine = sides["ours"]
    print(f"{case}: {mine[0]['threads']} threads, OpenBLAS kernel {mine[0]['kernel']}, {rounds} rounds of {steps} steps")
    print(f"  ddpbench  step {median(mine, 'step_s'):.4f} s (forward {median(mine, 'forward_s'):.4f}, backward "
          f"{median(mine, 'backward_s'):.4f}, optimizer {median(mine, 'optimizer_s'):.4f})  peak "
          f"{median(mine, 'peak_bytes') / 1e9:.2f} GB")
    print(f"  floor     {median(mine, 'floor_s'):.4f} s   step / floor {spread([row['ratio'] for row in mine])}")
    if not python:
        return
    for name in ("eager", "compiled"):
        rows = sides[name]
        faster = [theirs["step_s"] / own["step_s"] for theirs, own in zip(rows, mine)]
        print(f"  {name:9} step {median(rows, 'step_s'):.4f} s  peak {median(rows, 'peak_bytes') / 1e9:.2f} GB "
              f"(of it the import {median(rows, 'import_bytes') / 1e9:.2f})  ddpbench is faster by {spread(faster)}")
    least = min(median(sides[name], "peak_bytes") for name in ("eager", "compiled"))
    print(f"  memory    {median(mine, 'peak_bytes') / least:.2f} of the lower PyTorch peak")


def main():
    program = sys.argv[1]
    python = os.environ.get("TORCH_PYTHON")
    env = {k: v for k, v in os.environ.items() if k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
    with tempfile.TemporaryDirectory() as results:
        for case in os.environ.get("BENCH_CASES", CASES).split():
            measure(case, program, python, int(os.environ.get("BENCH_ROUNDS", "3")), env, results)
            sys.stdout.flush()
    if not python:
        print("PyTorch was not measured: give a Python that has torch, make bench TORCH_PYTHON=PATH")


if __name__ == "__main__":
    main()
