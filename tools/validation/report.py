"""What the rows say: doc/ACCURACY.md, a table as CSV, and predicted against measured as a plot."""
import csv
import math
import os
import statistics
import subprocess

from . import cells
from .sweep import DRIFT

DEAD_BAND = 0.03  # a measured speed-up this near to 1 decides nothing


def quantile(values, q):
    x = sorted(values)
    at = q * (len(x) - 1)
    low = int(at)
    high = min(low + 1, len(x) - 1)
    return x[low] + (x[high] - x[low]) * (at - low)


def wilson(share, n, z=1.96):
    """Of a share seen in n independent trials."""
    if n == 0:
        return math.nan, math.nan
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return middle - half, middle + half


# ---- rows to runs ----

def machine_name(m):
    return f"{m['cpu']} ({'part ' + m['part'] + ', ' if 'part' in m else ''}Linux {m['kernel']})"


def collect(rows):
    """Every measured run with its prediction, its bracket and whether it counts: the last attempt of each."""
    closed = {r["bracket"]: r for r in rows if r["kind"] == "bracket"}
    predicted = {(r["cell"], r["round"], r["bracket"]): r for r in rows if r["kind"] == "prediction"}
    runs, machine = [], None
    for r in rows:
        machine = r["machine"] if r["kind"] == "machine" else machine
        key = (r.get("cell"), r.get("round"), r.get("bracket"))
        if r["kind"] != "run" or key[2] not in closed or key not in predicted:
            continue
        runs.append(score({**predicted[key], "measured": r["measured"], "around": closed[key[2]],
                           "machine": machine and machine_name(machine), "version": r["measured"].get("version")}))
    last = {}
    for r in runs:
        last[(r["cell"], r["round"])] = r
    for r in runs:
        r["counts"] = last[(r["cell"], r["round"])] is r
    return runs


def score(r):
    p, m, around = r["predicted"], r["measured"]["step_s"], r["around"]
    alone = [statistics.mean(x) for x in zip(around["before_s"], around["after_s"])]
    while len(alone) < r["nodes"]:
        alone.append(alone[0])
    r["measured_speedup"] = r["nodes"] * min(alone) / m
    r["error"] = p["step_s"][0] / m - 1
    r["naive_error"] = p["naive_step_s"] / m - 1
    r["inside"] = p["step_s"][1] <= m <= p["step_s"][2]
    r["ablated"] = {k: v / m - 1 for k, v in p["ablation_step_s"].items()}
    told = abs(r["measured_speedup"] - 1) > DEAD_BAND
    decided = p["verdict"] in ("helps", "hurts")
    r["right"] = (p["verdict"] == "helps") == (r["measured_speedup"] > 1) if told and decided else None
    r["abstained"] = told and not decided
    r["near"] = not told and decided
    return r


def figures(runs):
    absolute = [abs(r["error"]) for r in runs]
    inside = sum(r["inside"] for r in runs) / len(runs)
    cells = len({r["cell"] for r in runs})
    low, high = wilson(inside, cells)
    drifts = [r["around"]["drift"] for r in runs]
    return {"runs": len(runs), "cells": cells, "median": statistics.median(absolute), "p90": quantile(absolute, 0.9),
            "max": max(absolute), "bias": statistics.median(r["error"] for r in runs), "inside": inside,
            "inside_low": low, "inside_high": high, "drift": statistics.median(drifts),
            "right": sum(r["right"] is True for r in runs), "wrong": sum(r["right"] is False for r in runs),
            "abstained": sum(r["abstained"] for r in runs), "near": sum(r["near"] for r in runs),
            "naive": statistics.median(abs(r["naive_error"]) for r in runs)}


def spread_of_runs(runs):
    """How far the runs of a cell on one machine are from one another: no prediction of a run can be nearer."""
    off = []
    for cell in {(r["cell"], r["machine"]) for r in runs}:
        values = [r["measured"]["step_s"] for r in runs if (r["cell"], r["machine"]) == cell]
        if len(values) > 1:
            off += [abs(v / statistics.median(values) - 1) for v in values]
    return statistics.median(off) if off else math.nan


# ---- texts ----

def percent(x, digits=1):
    return "-" if x is None or not math.isfinite(x) else f"{100 * x:.{digits}f} %"


def seconds(x):
    return f"{x:.3g}" if x < 10 else f"{x:.1f}"


def figure_row(name, f):
    return (f"| {name} | {f['cells']} / {f['runs']} | {percent(f['median'])} | {percent(f['p90'])} | {percent(f['max'])} | "
            f"{percent(f['bias'])} | {percent(f['inside'], 0)} ({100 * f['inside_low']:.0f}-{100 * f['inside_high']:.0f}) | "
            f"{f['right']} / {f['wrong']} / {f['abstained']} / {f['near']} | {percent(f['naive'])} | {percent(f['drift'])} |")


HEAD = ("| | cells / runs | median error | p90 | max | bias | inside 90 % (Wilson by cell) | decisions right / wrong / left open / too near | "
        "rule of thumb | drift |\n|---|---|---|---|---|---|---|---|---|---|")


def predicted_as_run(r):
    """Rows from before predictions knew of stated shares compare divisions with each other, and have no error."""
    return not r["shares"] or r["predicted"].get("divided") == r["shares"]


def on_bbr(r):
    return r.get("congestion") == "bbr"


def more_nodes(runs):
    counts = " and ".join(str(n) for n in sorted({r["nodes"] for r in runs}))
    return f"{counts} nodes (replay)", runs


def kinds(runs):
    """The populations that have a goal of their own."""
    return [("this program, two equal nodes", [r for r in runs if r["engine"] == "bench" and r["nodes"] == 2 and not r["slow"]]),
            ("PyTorch DDP with gloo", [r for r in runs if r["engine"] == "torch" and not on_bbr(r)]),
            ("PyTorch DDP with gloo on a system whose default is BBR", [r for r in runs if r["engine"] == "torch" and on_bbr(r)]),
            ("second node at half speed", [r for r in runs if r["slow"] and not r["shares"]]),
            ("second node at half speed, the batch divided", [r for r in runs if r["slow"] and r["shares"] and predicted_as_run(r)]),
            more_nodes([r for r in runs if r["nodes"] > 2])]


def by_level(runs):
    lines = []
    for factor in ("model", "tokens", "rate", "schedule", "machine", "version"):
        for level in sorted({r[factor] for r in runs}, key=str):
            part = [r for r in runs if r[factor] == level]
            if len(part) < len(runs):
                lines.append(figure_row(f"{factor} {level}", figures(part)))
    return lines


def ablation_lines(runs):
    lines = ["| left out | median error | p90 | what the term removes of the median |", "|---|---|---|---|"]
    full = [abs(r["error"]) for r in runs if r["ablated"]]
    lines.append(f"| nothing | {percent(statistics.median(full))} | {percent(quantile(full, 0.9))} | |")
    texts = {"tail": "tail: every bucket ready when backward begins", "duplex": "duplex: one direction at a time",
             "contention": "contention: communication costs computing nothing", "jitter": "jitter: every step is the median one"}
    for name in texts:
        errors = [abs(r["ablated"][name]) for r in runs if name in r["ablated"]]
        if errors:
            lines.append(f"| {texts[name]} | {percent(statistics.median(errors))} | {percent(quantile(errors, 0.9))} | "
                         f"{100 * (statistics.median(errors) - statistics.median(full)):+.1f} points |")
    naive = [abs(r["naive_error"]) for r in runs]
    lines.append(f"| all of it: the rule of thumb | {percent(statistics.median(naive))} | {percent(quantile(naive, 0.9))} | |")
    return lines


def cell_lines(runs):
    lines = ["| cell | runs | predicted s | measured s | error | speed-up predicted | measured | verdict | inside | drift |",
             "|---|---|---|---|---|---|---|---|---|---|"]
    for cell in sorted({r["cell"] for r in runs}):
        part = [r for r in runs if r["cell"] == cell]
        middle = lambda f: statistics.median(f(r) for r in part)
        verdicts = "/".join(sorted({r["predicted"]["verdict"] for r in part}))
        lines.append(f"| {cell} | {len(part)} | {seconds(middle(lambda r: r['predicted']['step_s'][0]))} | "
                     f"{seconds(middle(lambda r: r['measured']['step_s']))} | {percent(middle(lambda r: r['error']))} | "
                     f"{middle(lambda r: r['predicted']['speedup'][0]):.2f} | {middle(lambda r: r['measured_speedup']):.2f} | "
                     f"{verdicts} | {sum(r['inside'] for r in part)} of {len(part)} | "
                     f"{percent(max(r['around']['drift'] for r in part))} |")
    return lines


def pace(run):
    """How slow the nodes were around this run: the mean of their steps alone, before and after."""
    return statistics.mean(run["around"]["before_s"] + run["around"]["after_s"])


def shares_lines(runs):
    """Divisions are runs at different times, between which the machine drifts by as much as they differ: each step is also told
    as it would have been had the nodes alone been as fast as their median."""
    part = [r for r in runs if r["shares"] and r["engine"] == "bench"]
    if not part:
        return []
    usual = statistics.median(pace(r) for r in part)
    found = {}
    for r in part:
        step_s = r["measured"]["step_s"]
        found.setdefault(r["shares"], []).append((step_s * usual / pace(r), step_s))
    runs_of = {k: len(v) for k, v in found.items()}
    found = {k: tuple(statistics.median(x) for x in zip(*v)) for k, v in found.items()}
    suggested = {r["shares"] for r in part if r["cell"].endswith("suggested")}  # which may be one of the others
    best = min(v[0] for v in found.values())
    origin = ("The suggestion came from the two profiles before its run." if suggested else
              "The division that is suggested has not been measured yet.")
    lines = ["", "### The batch divided", "", f"A second node at half speed, one global batch divided in several ways. {origin} The machine "
             "drifted between these runs by as much as they differ, so each step also stands as it would be had both nodes been as fast as in the median "
             "of the profiles around these runs; those are what is compared.", "",
             "| shares | | runs | measured step s | at the same speed of the nodes |", "|---|---|---|---|---|"]
    lines += [f"| {shares} | {'suggested' if shares in suggested else ''} | {runs_of[shares]} | {seconds(measured)} | {seconds(scaled)} |"
              for shares, (scaled, measured) in sorted(found.items(), key=lambda x: x[1])]
    if suggested:
        lines += ["", f"The suggestion is {percent(max(found[k][0] for k in suggested) / best - 1)} from the best that was measured."]
    return lines


NOT_VALIDATED = """## What this does not show

The hosts are network namespaces with one CPU each on one machine. They share its memory bandwidth, its last cache, its power
and clock, and the kernel's handling of packets, and a cable between them is a shaper. So these terms of the model were not put to the test:

- a core kept for communication, since each host has one, and what several computing threads do to each other;
- a network card: its interrupts, offloads, queues, and losses on a real cable; packets of one host are in part handled on the CPU of the other;
- other congestion control than cubic, which hosts have here by their routes as nearly all systems have it; BBR was tried with PyTorch, which takes what the system has;
- Wi-Fi: a shared medium whose rate moves; the 30 % given for it is a guess from the literature and no measurement;
- heat: clocks that drop over minutes, and the duty of a node that waits for the other;
- nodes whose slow steps are independent of each other: these hosts share one machine, so their slow steps may coincide;
- more than two nodes that compute: with more, ranks sleep through recorded computing and communicate for real, so there is no contention.
"""


def machine_lines(rows):
    found = []
    for r in rows:
        m = r.get("machine")
        if r["kind"] == "machine" and m not in found:
            found.append(m)
    return "; ".join(f"{machine_name(m)}, {m['cpus']} CPUs" for m in found) or "not recorded"


def unrepeated(counted):
    n = sum(r["around"]["drift"] > DRIFT and r["attempt"] < 2 for r in counted)
    return f" ({n} have not been repeated yet)" if n else ""


def without_run(rows, runs):
    """The largest errors could hide among these."""
    failed = sorted({r["cell"] for r in rows if r["kind"] == "failed" and "/" in r["cell"]})
    missing = sum(r["kind"] == "prediction" for r in rows) - len(runs)
    if not missing and not failed:
        return []
    text = (f"{missing} predictions have no run beside them: the sweep was stopped before the run, or before the profile after it."
            if missing else "")
    if failed:
        text += f" Runs failed, or took more than five times as long as predicted, in {', '.join(failed)}."
    return ["", text.strip()]


def accuracy_text(rows, runs):
    counted = [r for r in runs if r["counts"]]
    scored = [r for r in counted if predicted_as_run(r)]
    rounds = len({r["round"] for r in runs})
    versions = sorted({r["measured"].get("version", "?") for r in counted if r["engine"] == "bench"})
    out = ["# How right predictions were", "",
           f"Written by `tools/validate` from {len(runs)} runs of {len({r['cell'] for r in runs})} cells in "
           f"{rounds} round{'' if rounds == 1 else 's'} (`results/validation/runs.jsonl`; {len(runs) - len(counted)} of them were replaced by a "
           f"repetition). Measured on: {machine_lines(rows)}. ddpbench {', '.join(versions) or '-'}.", "",
           "Every run was predicted before it began, from profiles of both nodes alone (both at work at once) and a measured link; "
           "no distributed training run went into any number of the model, so every level of every factor below is held out. "
           "A measurement is the median step of one run; error is predicted / measured - 1, and tables have its absolute value; bias is its "
           "median with sign. Each run lies between two profiles; where these differ by more than "
           f"{DRIFT:.0%} the run is repeated once, and the repetition counts whatever it brings{unrepeated(counted)}. Drift is that difference, "
           "the floor under every error: a prediction knows the profile before the run and not the one after it. "
           f"A decision is right or wrong where the measured speed-up is more than {DEAD_BAND:.0%} away from 1; decided ones nearer to 1 are *too near*.",
           *without_run(rows, runs), "",
           "![predicted against measured](accuracy.svg)", "", "## In short", "", HEAD]
    for name, part in kinds(counted):
        if part:
            out.append(figure_row(name, figures(part)))
    if sum(bool(part) for _, part in kinds(counted)) > 1:
        out.append(figure_row("all of them", figures(scored)))
    own = [score({**r, "predicted": {**r["measured"]["rehearsed"], "naive_step_s": math.nan, "ablation_step_s": {}}})
           for r in counted if r["measured"].get("rehearsed")]
    if own:
        out.append(figure_row("their own predictions, from the rehearsal of each run", figures(own)))
    every = [r for r in runs if r["engine"] == "bench" and r["nodes"] == 2 and not r["slow"]]
    if every:
        out.append(figure_row("the first of them with all attempts", figures(every)))
        even = len({r["cell"] for r in every if r["counts"] and 0.75 <= r["measured_speedup"] <= 1.25})
        spread = spread_of_runs([r for r in every if r["counts"]])
        out += ["", f"{even} of the cells of this program with two equal nodes {'has' if even == 1 else 'have'} a measured speed-up between 0.75 and 1.25, where deciding is hard."
                + (f" Runs of one cell lie {percent(spread)} (median) from their own median." if math.isfinite(spread) else "")]
    for name, part in kinds(counted):
        if not part:
            continue
        out += ["", f"## {name[0].upper()}{name[1:]}", ""]
        levels = by_level(part)
        out += [HEAD, *levels, ""] if levels else []
        out += cell_lines(part)
        if any(r["ablated"] for r in part):
            out += ["", "What each term of the model is worth here:", "", *ablation_lines(part)]
        if part[0]["slow"] and not part[0]["shares"]:
            out += shares_lines(counted)
    missing = [c.name for c in cells.everything() if c.name not in {r["cell"] for r in runs}]
    if missing:
        out += ["", "## Not measured yet", "", f"{len(missing)} of the cells that `tools/validate --long` has: " + ", ".join(missing) + "."]
    return "\n".join(out) + "\n\n" + NOT_VALIDATED


def off(r, kind):
    return f"{r[kind]:.4f}" if predicted_as_run(r) else ""


def write_csv(path, runs):
    with open(path, "w", newline="", encoding="utf-8") as f:
        w = csv.writer(f)
        w.writerow(["cell", "round", "attempt", "counts", "predicted_s", "lo_s", "hi_s", "measured_s", "error", "predicted_speedup",
                    "measured_speedup", "p_faster", "verdict", "naive_error", "drift"])
        for r in runs:
            p = r["predicted"]
            w.writerow([r["cell"], r["round"], r["attempt"], int(r["counts"]), *(f"{x:.6g}" for x in p["step_s"]),
                        f"{r['measured']['step_s']:.6g}", off(r, "error"), f"{p['speedup'][0]:.4f}",
                        f"{r['measured_speedup']:.4f}", p["p_faster"], p["verdict"], off(r, "naive_error"),
                        f"{r['around']['drift']:.4f}"])


PLOT = """set terminal svg size 760,900 font "sans,12" background "white"
set output "{svg}"
set multiplot
set logscale x
set grid
set xtics (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
set ytics (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
set lmargin 9
set rmargin 3
set xrange [{low}:{high}]
set yrange [{low}:{high}]
set logscale y
set origin 0,0.42
set size 1,0.58
set key left top reverse Left
set ylabel "predicted step, s"
plot x with lines lc rgb "#888888" title "exactly", {steps}
unset logscale y
set ytics autofreq
set origin 0,0
set size 1,0.42
set key off
set xlabel "measured step, s"
set ylabel "predicted / measured - 1, %"
set yrange [-{most}:{most}]
plot 0 with lines lc rgb "#888888", 3 with lines dt 2 lc rgb "#888888", -3 with lines dt 2 lc rgb "#888888", {errors}
unset multiplot
"""
# Told apart by shape as well, for paper.
MARKS = ['pt 7 ps 0.6 lc rgb "#1f4e9c"', 'pt 9 ps 0.8 lc rgb "#b35900"', 'pt 8 ps 0.8 lc rgb "#b35900"', 'pt 4 ps 0.7 lc rgb "#2b7a3d"', 'pt 3 ps 0.7 lc rgb "#2b7a3d"',
         'pt 2 ps 0.8 lc rgb "#7a2b6e"']


def write_plot(svg, runs, work):
    """None, or why there is none. The one before stays until then."""
    steps, errors = [], []
    shown = [r for _, part in kinds(runs) for r in part]  # the others are no predictions
    for i, (name, part) in enumerate(kinds([r for r in runs if r["counts"]])):
        if not part:
            continue
        data = os.path.join(work, f"plot-{i}.dat")
        with open(data, "w", encoding="utf-8") as f:
            for r in part:
                around = " ".join(str(100 * (x / r["measured"]["step_s"] - 1)) for x in r["predicted"]["step_s"])
                f.write(f"{r['measured']['step_s']} {' '.join(str(x) for x in r['predicted']['step_s'])} {around}\n")
        steps.append(f'"{data}" using 1:2:3:4 with yerrorbars {MARKS[i]} title "{name}"')
        errors.append(f'"{data}" using 1:5:6:7 with yerrorbars {MARKS[i]} title "{name}"')
    seconds_of = [x for r in shown for x in (r["measured"]["step_s"], *r["predicted"]["step_s"])]
    most = max(10, math.ceil(max(abs(100 * r["error"]) for r in shown) / 5) * 5)
    script = os.path.join(work, "plot.gp")
    with open(script, "w", encoding="utf-8") as f:
        f.write(PLOT.format(svg=svg + ".part", steps=", ".join(steps), errors=", ".join(errors), low=0.8 * min(seconds_of),
                            high=1.25 * max(seconds_of), most=most))
    try:
        p = subprocess.run(["gnuplot", script], check=False, timeout=60, capture_output=True, text=True)
    except FileNotFoundError:
        return "there is no gnuplot"
    except subprocess.TimeoutExpired:
        return "gnuplot did not end"
    if p.returncode:
        return f"gnuplot failed: {p.stderr.strip()[-300:]}"
    os.replace(svg + ".part", svg)
    return None


def write(rows, folder, doc, work):
    """Returns the summary lines for the terminal."""
    runs = collect(rows)
    if not runs:
        return ["no run is complete yet"]
    write_csv(os.path.join(folder, "runs.csv"), runs)
    unplotted = write_plot(os.path.join(doc, "accuracy.svg"), runs, work)
    with open(os.path.join(doc, "ACCURACY.md"), "w", encoding="utf-8") as f:
        f.write(accuracy_text(rows, runs))
    lines = []
    for name, part in kinds([r for r in runs if r["counts"]]):
        if part:
            f = figures(part)
            lines.append(f"{name}: {f['runs']} runs, median error {percent(f['median'])}, p90 {percent(f['p90'])}, max "
                         f"{percent(f['max'])}, bias {percent(f['bias'])}, inside {percent(f['inside'], 0)}, decisions right "
                         f"{f['right']} wrong {f['wrong']} open {f['abstained']}, drift {percent(f['drift'])}")
    return lines + ([f"no plot was made: {unplotted}"] if unplotted else [])
