"""The order of things: rounds, brackets of runs between two profiles, repeats where the machine drifted, progress.

Rows go to a JSON-lines file as they come; a sweep that was stopped goes on where it was. kind "prediction" is written before
its run begins, "run" after it, "bracket" when the profile after a group of runs is there: runs of a bracket that was never
closed are measured again. kind "machine" says on what the rows after it were measured."""
import json
import os
import random
import subprocess
import sys
import time

from . import measure
from .cells import HARD, RATES
from .rig import Failed

BRACKET_S = 600.0  # between two profiles
DRIFT = 0.03
LINK_AGE_S = 1800.0
BYTES = {"gpt2-124m": 497759232, "gpt2": 497759232, "shakespeare-char": 42980352, "char": 42980352}
PAYLOAD = {"100M-eth": 11.77e6, "300Mbit": 37.5e6, "1G-eth": 117.7e6, "2.5G-eth": 294.2e6}
TOKEN_S = {"gpt2-124m": 6e-3, "gpt2": 8e-3, "shakespeare-char": 5e-4, "char": 6e-4}  # a first guess


# What one measurement may end in without ending the sweep: a program that failed or hung, a document that is not as expected.
FAULTS = (Failed, subprocess.TimeoutExpired, LookupError, TypeError, ValueError)


def why(fault):
    return str(fault) if isinstance(fault, Failed) else f"{type(fault).__name__}: {fault}"


class Rows:
    def __init__(self, path):
        self.path = path
        self.rows = []
        self.torn = False  # the last line has no end: a disk was full, or the machine went down
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                for line in f:
                    self.torn = not line.endswith("\n")
                    try:
                        self.rows.append(json.loads(line))
                    except ValueError:
                        pass  # cut off in the middle: it counts as not there

    def add(self, **row):
        self.rows.append(row)
        with open(self.path, "a", encoding="utf-8") as f:
            f.write("\n" * self.torn + json.dumps(row) + "\n")
            f.flush()
            os.fsync(f.fileno())
        self.torn = False

    def on(self, machine):
        """What follows was measured there."""
        known = [r["machine"] for r in self.rows if r["kind"] == "machine"]
        if not known or known[-1] != machine:
            self.add(kind="machine", machine=machine)

    def closed(self):
        return {r["bracket"]: r for r in self.rows if r["kind"] == "bracket"}

    def tries(self, cells):
        """Runs of these cells in brackets that were closed, with the drift of theirs. Those of fewer steps (--quick) are none."""
        closed, steps = self.closed(), {c.name: c.steps for c in cells}
        return [(r, closed[r["bracket"]]["drift"]) for r in self.rows if r["kind"] == "run" and r["bracket"] in closed
                and r["cell"] in steps and len(r["measured"]["steps_s"]) >= steps[r["cell"]]]

    def done(self, cells):
        """(cell, round) that need nothing more: measured within steady profiles, or tried twice."""
        return {(r["cell"], r["round"]) for r, drift in self.tries(cells) if drift <= DRIFT or r["attempt"] >= 2}

    def attempts(self, cell, number):
        return sum((r["cell"], r["round"]) == (cell.name, number) for r, _ in self.tries([cell]))


class Sweep:
    def __init__(self, rig, rows, cells, rounds, seed):
        self.rig, self.rows, self.cells, self.rounds = rig, rows, cells, rounds
        self.random = random.Random(seed)
        self.links = {}
        self.step_s = {}  # of a group's node alone
        self.serial = int(time.time())

    # ---- progress ----

    def alone_s(self, cell):
        return self.step_s.get(cell.group, cell.tokens * TOKEN_S[cell.model] * (2 if cell.slow else 1))

    def guess_s(self, cell):
        alone = self.alone_s(cell)
        wire = 2 * alone / HARD[cell.rate] if cell.rate in HARD else BYTES[cell.model] / PAYLOAD[cell.rate]
        run = (cell.steps + measure.warmup(cell)) * max(alone + 0.3 * wire, wire) + 6
        bracket = 2 * (measure.profile_steps(cell, alone) + 1) * alone * (2 if cell.engine == "torch" else 1)
        return run + bracket / max(1, sum(c.group == cell.group for c in self.cells))

    def pending(self, number=None):
        done = self.rows.done(self.cells)
        return [(c, r) for r in range(self.rounds) for c in self.cells
                if (c.name, r) not in done and (number is None or r == number)]

    def say(self, text):
        left = self.pending()
        now = time.strftime("%H:%M:%S")
        total = len(self.cells) * self.rounds
        eta = sum(self.guess_s(c) for c, _ in left)
        print(f"{now}  {total - len(left)}/{total}, about {eta / 60:.0f} min left  {text}", file=sys.stderr, flush=True)

    # ---- one visit of a group ----

    def number(self):
        self.serial += 1
        return self.serial

    def take_profile(self, cell):
        # Nodes alone do not care how they are joined.
        self.rig.up(cell.nodes, self.rig.rate_now or RATES["1G-eth"], self.rig.congestion or cell.congestion)
        found = measure.profile(self.rig, cell, self.number(), self.alone_s(cell))
        self.step_s[cell.group] = max(p["step_s"] for p in found)
        self.say(f"alone {cell.group[1]} {cell.tokens}: " + ", ".join(f"{p['step_s']:.4g} s" for p in found))
        return found

    def take_link(self, cell, rate):
        key = (cell.engine, rate, cell.nodes, cell.slow, cell.congestion)
        known = self.links.get(key)
        if known and time.monotonic() - known["at"] < LINK_AGE_S:
            return known
        self.rig.up(cell.nodes, rate, cell.congestion)
        found = measure.link(self.rig, cell, self.number())
        found["at"] = time.monotonic()
        self.links[key] = found
        self.rows.add(kind="link", engine=cell.engine, rate=rate, nodes=cell.nodes, congestion=cell.congestion, contention=found["contention"],
                      time=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
        return found

    def one_run(self, cell, number, profiles, bracket):
        rate = measure.shaper_rate(self.rig, cell, profiles)
        link = self.take_link(cell, rate)
        self.rig.up(cell.nodes, rate, cell.congestion)
        attempt = self.rows.attempts(cell, number) + 1
        shares = "" if cell.shares == "suggested" else cell.shares
        predicted = measure.predict(self.rig, cell, profiles, link["path"], shares)
        if cell.shares == "suggested" and predicted["shares"]:
            shares = measure.whole_shares(predicted["shares"], cell.nodes * cell.batch)
            predicted = measure.predict(self.rig, cell, profiles, link["path"], shares)
        key = {"cell": cell.name, "round": number, "attempt": attempt, "bracket": bracket}
        facts = {"engine": cell.engine, "model": cell.model, "tokens": cell.tokens, "rate": cell.rate, "shaper": rate,
                 "schedule": cell.schedule, "nodes": cell.nodes, "slow": cell.slow, "shares": shares, "replay": cell.replay,
                 "congestion": cell.congestion}
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self.rows.add(kind="prediction", **key, **facts, predicted=predicted, time=now)
        limit = 180 + 5 * (cell.steps + 8) * max(predicted["step_s"][0], 0.1)
        measured = measure.run(self.rig, cell, limit, shares)
        self.rows.add(kind="run", **key, measured=measured)
        off = predicted["step_s"][0] / measured["step_s"] - 1
        self.say(f"{cell.name}: predicted {predicted['step_s'][0]:.4g} s, measured {measured['step_s']:.4g} s ({off:+.1%})")

    def bracket(self, todo, before):
        """Takes runs off todo until the next profile is due; returns that."""
        name, begun, taken = f"b{self.number()}", time.monotonic(), []
        while todo and (not taken or time.monotonic() - begun + self.guess_s(todo[-1][0]) < BRACKET_S):
            cell, number = todo.pop()
            try:
                self.one_run(cell, number, before, name)
                taken.append((cell, number))
            except FAULTS as e:
                self.rows.add(kind="failed", cell=cell.name, round=number, reason=why(e))
                self.say(f"{cell.name} FAILED: {why(e)}")
                self.rig.down()
        if not taken:
            return before
        after = self.take_profile(taken[0][0])
        drifts = [a["step_s"] / b["step_s"] - 1 for a, b in zip(after, before)]
        drift = max(abs(x) for x in drifts)
        self.rows.add(kind="bracket", bracket=name, drift=drift, drifts=drifts, before_s=[p["step_s"] for p in before],
                      after_s=[p["step_s"] for p in after], profile_steps=before[0]["steps"])
        if drift > DRIFT:
            again = [(c, r) for c, r in taken if self.rows.attempts(c, r) < 2]
            self.say(f"drift of {drift:.1%} between the profiles" + (f": to be run again: {len(again)}" if again else ""))
            todo.extend(again)
        return after

    def visit(self, todo):
        self.random.shuffle(todo)
        profiles = self.take_profile(todo[0][0])
        while todo:
            profiles = self.bracket(todo, profiles)

    def run(self):
        """Round by round; a group of one cell has all its rounds in one visit, since profiles would take most of its time."""
        single = [g for g in {c.group for c in self.cells} if sum(c.group == g for c in self.cells) == 1]
        for number in range(self.rounds):
            groups = sorted({c.group for c in self.cells}, key=str)
            self.random.shuffle(groups)
            for group in groups:
                everything = self.pending() if group in single else self.pending(number)
                todo = [(c, r) for c, r in everything if c.group == group]
                if not todo:
                    continue
                try:
                    self.visit(todo)
                except FAULTS as e:
                    self.rows.add(kind="failed", cell=str(group), round=number, reason=why(e))
                    self.say(f"{group} FAILED: {why(e)}")
                    self.rig.down()
