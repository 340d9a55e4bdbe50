#!/usr/bin/env python3
"""Runs the fuzz programs that `make fuzz` builds.

  tools/run_fuzz.py short [--total 300] [--runs 20000] [NAME …]
      a little of each: what CI does. The seconds of all of them together are at most --total on --jobs processors.
  tools/run_fuzz.py long [--seconds 1200] [--json FILE] [NAME …]
      each for --seconds, with inputs that stay: BUILD/corpus/NAME grows from run to run, and is minimised at the
      end of each. A table at the end, and a line of JSON for each program. A crash does not end the run.
  tools/run_fuzz.py add [--input-bytes 4096] [--folder-bytes 65536] [NAME …]
      takes inputs of BUILD/corpus/NAME that reach something new into tests/fuzz/corpus/NAME: small ones first, until
      the folder has --folder-bytes.

The seed is the time, so that every run tries something else; it is printed, and FUZZ_SEED=… (or --seed) repeats it.
Inputs that fail are kept in BUILD/failed/NAME, and the command that repeats each is printed."""
import argparse
import concurrent.futures
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

MOST_CRASHES = 10  # of one program in a long run
MEMORY = "/dev/shm"  # a file system in memory
INPUT_SECONDS = 120  # an input that takes longer has failed
PROGRESS = re.compile(r"\b(INITED|NEW|REDUCE|RELOAD|pulse|DONE)\b.*\bcov: (\d+) ft: (\d+)")
EXECUTED = re.compile(r"stat::number_of_executed_units:\s*(\d+)")
WRITTEN = re.compile(r"Test unit written to (\S+)")


class Harness:
    """A fuzz program and its folders."""

    def __init__(self, name, build):
        self.name = name
        self.build = build
        self.program = os.path.join(build, "fuzz_" + name)
        self.failed = os.path.join(build, "failed", name)
        self.kept = os.path.join(build, "corpus", name)
        self.source = os.path.join("tests", "fuzz", "corpus", name)

    def given(self):
        """The folders of inputs that the tree has."""
        folders = [self.source, os.path.join("tests", "fuzz", "crashes", self.name)]
        return [folder for folder in folders if os.path.isdir(folder)]

    def call(self, options, folders):
        """Runs the program; returns its exit status and what it printed."""
        os.makedirs(self.failed, exist_ok=True)
        command = [self.program, "-artifact_prefix=%s/" % self.failed, "-timeout=%d" % INPUT_SECONDS,
                   "-print_final_stats=1"] + options + folders
        # files of the program are in memory, where that is possible, and are gone even after a crash
        with tempfile.TemporaryDirectory(prefix="fuzz-", dir=MEMORY if os.access(MEMORY, os.W_OK) else None) as folder:
            environment = dict(os.environ, UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1", TMPDIR=folder)
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment,
                                  check=False)
        return done.returncode, done.stdout.decode("utf-8", "replace")


def find_harnesses(build, names):
    """The programs of these names; of no names, all."""
    found = sorted(entry[len("fuzz_"):] for entry in os.listdir(build) if entry.startswith("fuzz_")
                   and os.access(os.path.join(build, entry), os.X_OK) and os.path.isfile(os.path.join(build, entry)))
    for name in names:
        if name not in found:
            sys.exit("run_fuzz.py: %s has no fuzz_%s: run make fuzz" % (build, name))
    if not found:
        sys.exit("run_fuzz.py: %s has no fuzz programs: run make fuzz" % build)
    return [Harness(name, build) for name in (names or found)]


def numbers_of(output):
    """What a run printed: executions, coverage at its begin and at its end."""
    executed = EXECUTED.findall(output)
    progress = PROGRESS.findall(output)
    inited = [entry for entry in progress if entry[0] == "INITED"]
    first = inited[0] if inited else progress[0] if progress else ("", "0", "0")
    last = progress[-1] if progress else first
    return {"executions": int(executed[-1]) if executed else 0, "coverage_before": int(first[1]),
            "coverage": int(last[1]), "features_before": int(first[2]), "features": int(last[2])}


def report_failure(harness, seed, output):
    """Says what failed, and how to see it again."""
    lines = ["fuzz_%s: failed with FUZZ_SEED=%d" % (harness.name, seed)] + output.splitlines()[-45:]
    inputs = WRITTEN.findall(output)
    for path in inputs:
        lines.append("fuzz_%s: the input is %s (%d bytes); repeat it: %s" %
                     (harness.name, path, os.path.getsize(path) if os.path.exists(path) else 0,
                      shlex.join([harness.program, path])))
    if not inputs:
        lines.append("fuzz_%s: no input was written; repeat the run: FUZZ_SEED=%d tools/run_fuzz.py short --build %s %s" %
                     (harness.name, seed, harness.build, harness.name))
    print("\n".join(lines), flush=True)


# ---- A little of each ----


def run_short(harness, arguments, seconds):
    """One program; true if it found nothing."""
    fresh = os.path.join(harness.build, "new", harness.name)
    shutil.rmtree(fresh, ignore_errors=True)  # a seed repeats a run only from the same inputs
    os.makedirs(fresh)
    began = time.monotonic()
    status, output = harness.call(["-seed=%d" % arguments.seed, "-runs=%d" % arguments.runs,
                                   "-max_total_time=%d" % seconds], [fresh] + harness.given())
    if status != 0:
        report_failure(harness, arguments.seed, output)
        return False
    numbers = numbers_of(output)
    print("fuzz_%s: clean, %d executions in %.0f s" % (harness.name, numbers["executions"], time.monotonic() - began),
          flush=True)
    return True


def command_short(harnesses, arguments):
    """All programs, each with its share of the time."""
    seconds = max(1, arguments.total * arguments.jobs // len(harnesses))
    print("%d programs, at most %d s each; FUZZ_SEED=%d repeats this run" % (len(harnesses), seconds, arguments.seed),
          flush=True)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        clean = list(pool.map(lambda harness: run_short(harness, arguments, seconds), harnesses))
    print("%d of %d programs found nothing with FUZZ_SEED=%d" % (sum(clean), len(clean), arguments.seed))
    return all(clean)


# ---- Each for long ----


def minimise(harness):
    """Keeps the fewest inputs that reach what all of them reach."""
    merged = harness.kept + ".merged"
    shutil.rmtree(merged, ignore_errors=True)
    os.makedirs(merged)
    status, output = harness.call(["-merge=1"], [merged, harness.kept] + harness.given())
    if status != 0:
        report_failure(harness, 0, output)
        shutil.rmtree(merged)
        return
    shutil.rmtree(harness.kept)
    os.rename(merged, harness.kept)


def folder_size(folder):
    """Files and bytes of a folder."""
    sizes = [entry.stat().st_size for entry in os.scandir(folder)]
    return len(sizes), sum(sizes)


def run_long(harness, arguments):
    """One program for its seconds, begun again after each crash; returns its figures."""
    os.makedirs(harness.kept, exist_ok=True)
    total = {"harness": harness.name, "seed": arguments.seed, "executions": 0, "crashes": 0, "inputs": []}
    began = time.monotonic()
    left = arguments.seconds
    while left > 0 and total["crashes"] < MOST_CRASHES:
        seed = arguments.seed + total["crashes"]  # the same seed would soon find the same
        status, output = harness.call(["-seed=%d" % seed, "-max_total_time=%d" % left],
                                      [harness.kept] + harness.given())
        numbers = numbers_of(output)
        for key, value in numbers.items():
            if not key.endswith("_before") or key not in total:
                total[key] = total.get(key, 0) + value if key == "executions" else value
        if status != 0:
            total["crashes"] += 1
            total["inputs"] += WRITTEN.findall(output)
            report_failure(harness, seed, output)
        left = int(arguments.seconds - (time.monotonic() - began))
    total["seconds"] = round(time.monotonic() - began)
    minimise(harness)
    total["corpus_inputs"], total["corpus_bytes"] = folder_size(harness.kept)
    print("fuzz_%s: %d executions, %d crashes" % (harness.name, total["executions"], total["crashes"]), flush=True)
    return total


def print_table(rows):
    """The figures of all programs for people."""
    print("\n%-18s %8s %14s %10s %10s %8s %8s" % ("program", "seconds", "executions", "coverage", "new", "inputs",
                                                  "crashes"))
    for row in rows:
        print("%-18s %8d %14d %10d %10d %8d %8d" % (row["harness"], row["seconds"], row["executions"], row["coverage"],
                                                    row["coverage"] - row["coverage_before"], row["corpus_inputs"],
                                                    row["crashes"]))
    print("%-18s %8d %14d %10s %10s %8s %8d" % ("in all", sum(row["seconds"] for row in rows),
                                                sum(row["executions"] for row in rows), "", "", "",
                                                sum(row["crashes"] for row in rows)))


def commit_of_tree():
    """The commit that the programs are of; empty outside git."""
    done = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False)
    return done.stdout.decode().strip()


def command_long(harnesses, arguments):
    """All programs for their seconds, then the table and the lines of JSON."""
    print("%d programs, %d s each, %d at once; FUZZ_SEED=%d" % (len(harnesses), arguments.seconds, arguments.jobs,
                                                                arguments.seed), flush=True)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        rows = list(pool.map(lambda harness: run_long(harness, arguments), harnesses))
    print_table(rows)
    if arguments.json:
        facts = {"commit": commit_of_tree(), "date": time.strftime("%Y-%m-%d", time.gmtime())}
        with open(arguments.json, "w", encoding="ascii") as file:
            file.writelines(json.dumps({**facts, **row}, sort_keys=True) + "\n" for row in rows)
    return all(row["crashes"] == 0 for row in rows)


# ---- Inputs for the tree ----


def add_inputs(harness, arguments):
    """New inputs from the kept folder into the tree; true if the program could be run."""
    work = os.path.join(harness.build, "add", harness.name)
    shutil.rmtree(work, ignore_errors=True)
    small, merged = os.path.join(work, "small"), os.path.join(work, "merged")
    os.makedirs(small)
    os.makedirs(harness.source, exist_ok=True)
    shutil.copytree(harness.source, merged)
    for entry in os.scandir(harness.kept):
        if entry.stat().st_size <= arguments.input_bytes:
            shutil.copy(entry.path, small)
    before = set(os.listdir(merged))
    status, output = harness.call(["-merge=1"], [merged, small])
    if status != 0:
        report_failure(harness, 0, output)
        return False
    new = sorted((os.path.getsize(os.path.join(merged, name)), name) for name in set(os.listdir(merged)) - before)
    bytes_there, added = folder_size(harness.source)[1], 0
    for size, name in new:
        if bytes_there + size > arguments.folder_bytes:
            break
        shutil.copy(os.path.join(merged, name), harness.source)
        bytes_there += size
        added += 1
    shutil.rmtree(work)
    print("%s: %d of %d new inputs added, %d bytes" % (harness.source, added, len(new), bytes_there))
    return True


def command_add(harnesses, arguments):
    """Every program that has kept inputs."""
    return all([add_inputs(harness, arguments) for harness in harnesses if os.path.isdir(harness.kept)])


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("short", "long", "add"))
    parser.add_argument("names", nargs="*", metavar="NAME", help="fuzz programs; of none, all")
    parser.add_argument("--build", default="build-fuzz", help="the build folder (build-fuzz)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="programs at once")
    parser.add_argument("--seed", type=int, default=int(os.environ.get("FUZZ_SEED") or time.time()) % (1 << 31))
    parser.add_argument("--total", type=int, default=300, help="short: seconds of all programs together")
    parser.add_argument("--runs", type=int, default=20000, help="short: inputs of each")
    parser.add_argument("--seconds", type=int, default=1200, help="long: seconds of each")
    parser.add_argument("--json", metavar="FILE", help="long: a line of JSON for each program")
    parser.add_argument("--input-bytes", type=int, default=4096, help="add: the largest input")
    parser.add_argument("--folder-bytes", type=int, default=65536, help="add: the most bytes of a folder")
    arguments = parser.parse_intermixed_args()
    commands = {"short": command_short, "long": command_long, "add": command_add}
    good = commands[arguments.command](find_harnesses(arguments.build, arguments.names), arguments)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
