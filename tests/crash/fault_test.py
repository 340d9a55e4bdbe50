#!/usr/bin/env python3
"""Every kind of command with a call that fails: the first, the second, and so on.

    tests/crash/fault_test.py memory|call [--sample N] [--only WORD] [--seed N] [--jobs N] [--json FILE]

memory: allocations. call: calls about files, folders and threads, with an error of the disk, of rights, or a full disk.

A run without a fault counts the calls of a command. Then it is run again for each of them, which fails (once, or with
all later ones: fault_layer.c). What must be there afterwards:

  exit code 0             what a run without a fault prints and writes
  exit code 14            the new state, and a message: done, but the report could not be printed
  another exit code       one that docs/commands.md lists, and a message; the old state, or the new one if the message
                          says "written, but …"
  a signal                never

Threads make the order of calls differ from run to run, so commands use one thread where they can. --sample N takes N
calls of each command at random, the first and the last among them. FURROW_BUILD is the folder of the programs.
"""
import argparse
import concurrent.futures
import json
import os
import random
import re
import shutil
import subprocess
import sys

from saves import (COMMAND, INFO, LIMIT, LOG_COLUMNS, FAULT_LAYER, Inputs, Resume, Save, all_saves, fresh,
                   make_work_folder)

EXIT_CODES = range(1, 14)
UNREPORTED = 14
UNSTABLE = re.compile(rb"(?m)^.*(second|written|/s\b).*$|^ +[a-z ]+ [0-9]+\.[0-9]+$|[0-9a-f]{16}")  # times, paths, shards


def run(words, root, **settings):
    """A command under the layer: (exit code, output, messages). Settings are those of fault_layer.c."""
    env = {**os.environ, "LD_PRELOAD": FAULT_LAYER, **settings}
    done = subprocess.run([COMMAND, *map(str, words)], capture_output=True, env=env, timeout=LIMIT, cwd=root,
                          stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr.decode(errors="replace")


# ---- Commands that only read ----


class Read(Save):
    """A command that prints. With less memory it may do with less, if it says so by printing `says`."""

    def __init__(self, name, *words, says=None):
        self.says = says
        super().__init__(name, lambda root, inputs: [inputs[w[1:-1]] if str(w)[0] == "<" else w for w in words], [], [])

    def read(self, root, inputs):
        return "nothing"


def read_commands():
    """Every verb that reads, over a file of each kind."""
    files = ["rows1.libsvm", "log1.csv", "part1.index", "named1.index", "lr1", "fm1", "v1.fvecs"]
    return [
        *(Read("info_" + name.split(".")[0], "info", f"<{name}>") for name in files),
        Read("rows_info", "rows", "info", "<rows1.libsvm>"),
        Read("rows_dump", "rows", "dump", "<rows1.libsvm>"),
        Read("rows_schema", "rows", "schema", "<log1.csv>", "--label", "click"),
        Read("model_info", "model", "info", "<fm1>"),
        Read("model_verify", "model", "verify", "<fm1>"),
        Read("model_dump", "model", "dump", "<lr1>", "--matrix", "input_weight"),
        Read("model_diff", "model", "diff", "<lr1>", "<lr1>"),
        Read("model_weights", "model", "weights", "<lr1>"),
        Read("model_formats", "model", "formats"),
        Read("predict", "predict", "--model", "<lr1>", "--data", "<rows2.libsvm>"),
        Read("predict_log", "predict", "--model", "<fm1>", "--data", "<log2.csv>"),
        Read("eval", "eval", "--model", "<lr1>", "--data", "<rows2.libsvm>", says=b"approximate"),
        Read("eval_rank", "eval", "--model", "<fm1>", "--data", "<log2.csv>", "--rank", "-k", 3),
        Read("recommend", "recommend", "--model", "<fm1>", "--users", "u1,u2", "-k", 3),
        Read("index_info", "index", "info", "<named1.index>"),
        Read("index_verify", "index", "verify", "<named1.index>"),
        Read("index_names", "index", "names", "<named1.index>"),
        Read("index_map", "index", "map", "<named1.index>"),
        Read("index_search", "index", "search", "<named1.index>", "<v2.fvecs>", "-k", 3, "--nprobe", 4),
        Read("index_estimate", "index", "estimate", "-n", 100000, "-d", 64, "--nlist", 64, "--m", 8, "--only-sizes"),
        Read("train_help", "train", "--help"),
    ]


# ---- Algorithms ----


def training_commands():
    """Every algorithm."""
    def make(name, rows, *words):
        return Save("train_" + name, lambda root, inputs: [
            "train", "--model", name, "--train", inputs[rows], *words, "--epochs", 2, "--threads", 1, "-q", "--out",
            os.path.join(root, "m")], ["m"], [INFO])

    log = ["--schema", "auto", "--label", "click"]
    return [make("svm", "rows2.libsvm"), make("linear", "rows2.libsvm"), make("fm", "log2.csv", *LOG_COLUMNS),
            make("ffm", "log2.csv", *log), make("dnn", "rows2.libsvm", "--fc", "4"),
            *(make(name, "log2.csv", *log, "--fc", "4") for name in ("wide_and_deep", "deepfm", "pnn", "nfm"))]


# ---- One command ----


def read_text(path):
    with open(path, encoding="ascii") as file:
        return file.read()


class Sweep:
    """All faults of a command."""

    def __init__(self, save, inputs, work, options):
        self.save, self.inputs, self.options = save, inputs, options
        self.root = os.path.join(work, save.name)
        count, self.name = self.root + ".count", self.root + ".name"
        self.failures = []
        self.prepare()
        self.old = self.state()
        code, self.out, err = self.run(FAULT_COUNT=f"{options.fail}:{count}")
        if code != 0:
            raise AssertionError(f"{save.name}: {code} {err}")
        self.new = self.state()
        self.calls = int(read_text(count))

    def prepare(self):
        self.save.prepare(fresh(self.root), self.inputs)

    def words(self):
        return [str(w) for w in self.save.command(self.root, self.inputs)]

    def run(self, **settings):
        return run(self.words(), self.root, **settings)

    def state(self):
        return self.save.read(self.root, self.inputs) if not isinstance(self.save, Resume) else None

    def numbers(self):
        """Which calls fail."""
        every = range(1, self.calls + 1)
        if not self.options.sample or self.calls <= self.options.sample:
            return list(every)
        draw = random.Random(self.options.seed)
        return sorted({1, self.calls, *draw.sample(every, self.options.sample - 2)})

    def judge(self, code, out, err, kind):
        """What is wrong; None: nothing."""
        state, written = self.state(), re.search(r": (written|changed), but", err)
        if code == 0:
            says = getattr(self.save, "says", None)
            if UNSTABLE.sub(b"", out) != UNSTABLE.sub(b"", self.out) and not (says and says in out):
                return "it reported success, but printed something else"
            return None if state == self.new else "it reported success, but the new state is not there"
        if code == UNREPORTED:
            return None if state == self.new else "it says that it is done, but the new state is not there"
        if code not in EXIT_CODES:
            return "it ended by a signal" if code < 0 else "an exit code that is not listed"
        if not err.strip() and not out.strip():  # `verify` prints what it finds
            return "no message"
        if state in (self.old, self.new if written else self.old):
            return None
        right = self.save.after_failure(self.old, self.new, kind)
        return None if state in right else "it failed, but the old state is not there"

    def sweep(self):
        numbers = self.numbers()
        for n in numbers:
            kind = "sticky" if n % 3 == 0 else "once"
            self.prepare()
            code, out, err = self.run(FAULT_PLAN=f"{self.options.fail}:{n}:{kind}", FAULT_NAME=self.name)
            wrong = self.judge(code, out, err, kind)
            if wrong:
                self.failures.append(f"{self.save.name}, {read_text(self.name)}, call {n} of {self.calls} {kind}: {wrong}: {code}\n"
                                     f"  {' '.join(self.words())}\n  {err.strip()[:300]}")
        shutil.rmtree(self.root, ignore_errors=True)
        return len(numbers)


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fail", choices=("memory", "call"), help="what fails")
    parser.add_argument("--sample", type=int, help="calls of each command; otherwise all")
    parser.add_argument("--only", default="", help="commands whose names have this in them")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--json", help="file to append the counts to")
    return parser.parse_args()


def main():
    options, work = read_options(), make_work_folder()
    counts = {"commands": 0, "runs": 0, "failures": 0}

    def sweep(save):
        made = Sweep(save, inputs, work, options)
        return made, made.sweep()

    try:
        inputs = Inputs(os.path.join(work, "inputs"), options.seed, rows=60, vectors=60)
        chosen = [save for save in all_saves() + training_commands() + read_commands() if options.only in save.name]
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for made, runs in pool.map(sweep, chosen):
                counts["commands"] += 1
                counts["runs"] += runs
                counts["failures"] += len(made.failures)
                print(f"{'FAILED' if made.failures else 'ok    '} {made.save.name}: {runs} of {made.calls} calls",
                      flush=True)
                for failure in made.failures[:3]:
                    print(f"  {failure}", flush=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    line = json.dumps({"test": options.fail, "seed": options.seed, **counts})
    print(line)
    if options.json:
        with open(options.json, "a", encoding="ascii") as file:
            file.write(line + "\n")
    return 1 if counts["failures"] or not counts["runs"] else 0


if __name__ == "__main__":
    sys.exit(main())
