#!/usr/bin/env python3
"""Random changes of indexes, models, rows and served indexes, with kills and errors at random places, and an oracle.

    tests/crash/crash_test.py [--seconds N | --runs N] [--seed N] [--only WORD] [--json FILE]

Each run draws a change and one of these faults: none; SIGKILL after a random time; SIGKILL at the n-th call that
changes files (before it, behind it, or in the middle of a write); an error (ENOSPC, EIO, EDQUOT, EACCES) of the n-th
call of a kind, once or for all later calls as well (disk_layer.c makes them). Afterwards the real command reads what
is there, and an oracle (subjects.py) knows what that must be:

  exit code 0             the new state
  exit code 14            the new state: done, but the report could not be printed
  another exit code       the old state; or the new one if the message says "written, but …": the new file is in
                          place, but the disk did not confirm it
  killed                  the old state or the new one, whole

The next change then goes on from there, so that what a kill leaves behind is in the way of all that follow. The seed
is printed. The same seed draws the same changes and faults, but a kill after a time hits elsewhere. FURROW_BUILD is
the folder of the programs.
"""
import argparse
import errno
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import traceback

from disk_model import read_trace
from saves import COMMAND, LIMIT, layer_env, make_work_folder
from subjects import SUBJECTS, Served, Wrong

FAULTS = ["none", "time", "call", "call", "call", "error", "error"]
ERRORS = [(errno.ENOSPC, "cw"), (errno.ENOSPC, "w"), (errno.EDQUOT, "w"), (errno.EIO, "w"), (errno.EIO, "s"),
          (errno.EIO, "r"), (errno.ENOSPC, "r"), (errno.EACCES, "c")]


class Outcome:
    """What became of a command."""

    def __init__(self, code, text, killed):
        self.code, self.text, self.killed = code, text, killed


def run_command(words, env, kill_after):
    process = subprocess.Popen([COMMAND, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               stdin=subprocess.DEVNULL, env={**os.environ, **env})
    try:
        out, _ = process.communicate(timeout=LIMIT if kill_after is None else kill_after)
    except subprocess.TimeoutExpired:
        process.kill()
        out, _ = process.communicate()
        if kill_after is None:
            raise Wrong(f"does not end: {words}") from None
    return Outcome(process.returncode, out.decode(errors="replace"), process.returncode == -signal.SIGKILL)


class Runner:
    def __init__(self, options, work):
        self.options, self.work = options, work
        self.draw = random.Random(options.seed)
        self.counts = {"runs": 0, "kills": 0, "faults": 0, "acknowledged": 0, "failures": 0}
        self.calls, self.times = {}, {}  # of each kind of change: how many calls, how many seconds
        self.subjects, self.made = [], 0

    def subject(self, kind):
        self.made += 1
        folder = os.path.join(self.work, str(self.made))
        os.makedirs(folder)
        return kind(folder, self.draw)

    def plan(self, fault, key):
        """The layer's plan for a fault."""
        n = self.draw.randint(1, self.calls.get(key, 12) + 2)
        if fault == "call":
            return f"kill:{n}:{self.draw.choice(['before', 'middle', 'after'])}"
        if fault == "error":
            number, kinds = self.draw.choice(ERRORS)
            n = self.draw.randint(1, max(2, n // 2))  # fewer calls are of one kind
            return f"fail:{n}:{number}:{kinds}:{self.draw.choice(['once', 'sticky'])}"
        return None

    def count_calls(self, trace, key):
        """Learns from a run without a fault how many calls such a change makes."""
        if os.path.exists(trace):
            self.calls[key] = max(self.calls.get(key, 1), len(read_trace(trace)))
            os.unlink(trace)

    # ---- One change ----

    def change(self, subject):
        words, new = subject.propose()
        key, old, fault = (subject.name, words[1]), subject.state, self.draw.choice(FAULTS)
        plan, trace = self.plan(fault, key), os.path.join(self.work, "trace")
        env = layer_env(subject.root, trace if fault == "none" else None, plan)
        begin = time.monotonic()
        delay = self.draw.uniform(0, 1.3 * self.times.get(key, 0.05)) if fault == "time" else None
        outcome = run_command(words, env, delay)
        if fault == "none":
            self.times[key] = time.monotonic() - begin
            self.count_calls(trace, key)
        self.counts["runs"] += 1
        self.counts["kills"] += outcome.killed
        self.counts["faults"] += fault == "error"
        self.counts["acknowledged"] += outcome.code in (0, 14)
        try:
            self.judge(subject, outcome, old, new)
        except Wrong as wrong:
            raise Wrong(f"{subject.name}: {wrong}\nafter {fault} {plan or delay or ''}: {outcome.code}\n"
                        f"{' '.join(map(str, words))}\n{outcome.text}\n{sorted(os.listdir(subject.root))}") from None
        subject.tidy()

    def judge(self, subject, outcome, old, new):
        """Compares what is there with what must be, and lets the oracle go on from it."""
        state, seen_old, seen_new = subject.read(), subject.seen(old), subject.seen(new)
        if outcome.code in (0, 14):
            if state != seen_new:
                raise Wrong("it reported success, but the new state is not there")
        elif outcome.killed:
            if not subject.is_right(state, seen_old, seen_new):
                raise Wrong("neither the old state nor the new one is there")
        elif outcome.code < 0:
            raise Wrong(f"ended by signal {-outcome.code}")
        elif state != (seen_new if self.is_written(subject, outcome.text) else seen_old):
            if not (subject.by_file and subject.is_right(state, seen_old, seen_new)):
                raise Wrong("it failed, but the old state is not there")
        if state == seen_new:
            subject.state = new
        elif state != seen_old:
            subject.state = state

    @staticmethod
    def is_written(subject, text):
        """Whether a message says that the new state is in place."""
        found = re.search(r"(\S+): (written|changed), but", text)
        return found and subject.is_target(found[1])

    # ---- A server ----

    def serve(self, subject):
        fault = self.draw.choice(FAULTS)
        plan = self.plan(fault, ("served", "")) if fault in ("call", "error") else None
        last = signal.SIGKILL if fault == "time" or self.draw.random() < 0.3 else signal.SIGTERM
        done, right, code, text = subject.session(layer_env(subject.root, None, plan), last)
        self.calls[("served", "")] = 60
        self.counts["runs"] += 1
        self.counts["kills"] += code == -signal.SIGKILL
        self.counts["faults"] += fault == "error"
        self.counts["acknowledged"] += done
        try:
            if code < 0 and code != -signal.SIGKILL:
                raise Wrong(f"ended by signal {-code}")
            subject.settle(right)
        except Wrong as wrong:
            raise Wrong(f"served: {wrong}\nafter {fault} {plan or ''}: {code}\n{text}\n"
                        f"{sorted(os.listdir(subject.root))}") from None

    # ---- All ----

    def kinds(self):
        return [kind for kind in [*SUBJECTS, Served] if self.options.only in kind.__name__.lower()]

    def step(self):
        """One run; subjects are made anew now and then."""
        if not self.subjects or self.draw.random() < 0.02:
            for subject in self.subjects:
                shutil.rmtree(os.path.dirname(subject.root))
            self.subjects = [self.subject(kind) for kind in self.kinds()]
        subject = self.draw.choice(self.subjects)
        self.serve(subject) if isinstance(subject, Served) else self.change(subject)

    def run(self):
        end = time.monotonic() + self.options.seconds if self.options.seconds else None
        while time.monotonic() < end if end else self.counts["runs"] < self.options.runs:
            try:
                self.step()
            except Wrong as wrong:
                self.counts["failures"] += 1
                print(f"FAILED  run {self.counts['runs']} of seed {self.options.seed}: {wrong}", flush=True)
                self.subjects = []  # the oracle does not know what is there now
                if self.counts["failures"] >= 10:
                    break


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seconds", type=float, help="run for this time instead of a number of runs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="subjects whose names have this in them")
    parser.add_argument("--json", help="file to append the counts to")
    return parser.parse_args()


def main():
    options = read_options()
    work = make_work_folder()
    print(f"seed {options.seed}", flush=True)
    runner = Runner(options, work)
    try:
        runner.run()
    except Exception:
        traceback.print_exc()
        runner.counts["failures"] += 1
    finally:
        shutil.rmtree(work, ignore_errors=True)
    line = json.dumps({"test": "crash", "seed": options.seed, **runner.counts})
    print(line)
    if options.json:
        with open(options.json, "a") as file:
            file.write(line + "\n")
    return 1 if runner.counts["failures"] or not runner.counts["acknowledged"] else 0


if __name__ == "__main__":
    sys.exit(main())
