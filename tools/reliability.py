#!/usr/bin/env python3
"""Runs what shows that Furrow can be relied on, and writes what came out into docs/reliability.md.

  tools/reliability.py [--minutes 30] [STEP …]     runs the steps (of none, all) and writes the page
  tools/reliability.py --page                      writes the page from the figures that there are
  tools/reliability.py --check                     whether the page is what --page would write

A step is a make target. Steps that can go on for as long as one likes (fuzz, crash) share --minutes. Figures stay in
docs/reliability.json, each with the day and the commit it is of, so that steps can be run one at a time. A step that
fails is shown as failed, and the exit code is 1."""
import argparse
import json
import os
import subprocess
import sys
import time

FIGURES = os.path.join("docs", "reliability.json")
PAGE = os.path.join("docs", "reliability.md")
BEGIN, END = "<!-- figures: begin -->\n", "<!-- figures: end -->\n"


# ---- What steps leave ----


def lines_of(path):
    """The objects of a file of JSON lines."""
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def test_counts(path):
    """What tools/run_tests.sh leaves."""
    with open(path, encoding="ascii") as file:
        passed, failed, skipped = map(int, file.read().split())
    return {"passed": passed, "failed": failed, "skipped": skipped}


def fuzz_counts(path):
    """The sums over all programs."""
    rows = lines_of(path)
    return {"programs": len(rows), "executions": sum(row["executions"] for row in rows),
            "processor hours": round(sum(row["seconds"] for row in rows) / 3600, 2),
            "failures": sum(row["crashes"] for row in rows)}


def crash_counts(test):
    """Numbers of the last run of that test on a disk that was not sabotaged."""
    def collect(path):
        counts = [line for line in lines_of(path) if line["test"] == test and not line.get("sabotage")][-1]
        return {key.replace("_", " "): value for key, value in counts.items()
                if isinstance(value, (int, float)) and key != "seed"}
    return collect


def mutation_counts(path):
    """The counts without the list of mutants."""
    with open(path, encoding="utf-8") as file:
        return json.load(file)["counts"]["all"]


def coverage_counts(path):
    """Shares of lines and branches, in percent."""
    with open(path, encoding="utf-8") as file:
        total = json.load(file)["total"]
    return {"% of lines": total["lines_percent"], "% of branches": total["branches_percent"]}


# name: what it is, its command ({seconds}: its time), the file it leaves, how that is read
STEPS = {
    "test": ("all tests", "make test", "build/test_counts", test_counts),
    "asan": ("all tests with AddressSanitizer and UndefinedBehaviorSanitizer", "make asan", "build-asan/test_counts",
             test_counts),
    "tsan": ("tests with threads, with ThreadSanitizer", "make tsan", "build-tsan/test_counts", test_counts),
    "valgrind": ("readers and writers under valgrind", "make valgrind-sample", "build/test_counts", test_counts),
    "arm64": ("tests on 64-bit ARM, emulated", "make neon", "build-neon/test_counts", test_counts),
    "s390x": ("tests on s390x (big-endian), emulated", "make s390x", "build-s390x/test_counts", test_counts),
    "fuzz": ("fuzzing, with AddressSanitizer and UndefinedBehaviorSanitizer", "make fuzz-long SECONDS={seconds}",
             "build-fuzz/fuzz.json", fuzz_counts),
    "power": ("power cuts at every point of every save", "make power-test", "build/crash_figures.json",
              crash_counts("power")),
    "crash": ("random operations, killed and with injected errors", "make crash-test SECONDS={seconds}",
              "build/crash_figures.json", crash_counts("crash")),
    "memory": ("allocations of commands that fail in turn", "make fault-test FAULTS=memory",
               "build/crash_figures.json", crash_counts("memory")),
    "call": ("calls of commands about files that fail in turn", "make fault-test FAULTS=call",
             "build/crash_figures.json", crash_counts("call")),
    "mutation": ("checks of readers removed in turn", "make mutation", "build-mutation/counts.json", mutation_counts),
    "coverage": ("lines and branches of src/ that the tests reach", "make coverage", "build-coverage/coverage.json",
                 coverage_counts),
}


# ---- Running and writing ----


def commit_of_tree():
    """The commit that is checked out, with a mark if the tree differs from it."""
    done = subprocess.run(["git", "describe", "--always", "--dirty", "--abbrev=10", "--exclude=*"],
                          stdout=subprocess.PIPE, check=False)
    return done.stdout.decode().strip()


def run_step(name, minutes):
    """Runs one step; returns what is kept of it."""
    _, command, path, collect = STEPS[name]
    shown = command.format(seconds=int(minutes * 60))
    if os.path.exists(path):
        os.remove(path)  # an old one must not pass for the new one
    print("\n=== %s: %s" % (name, shown), flush=True)
    began = time.monotonic()
    environment = {key: value for key, value in os.environ.items() if key not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    status = subprocess.run(shown.split(), env=environment, check=False).returncode
    result = {"command": shown, "day": time.strftime("%Y-%m-%d", time.gmtime()), "commit": commit_of_tree(),
              "seconds": round(time.monotonic() - began), "exit code": status, "counts": {}}
    try:
        result["counts"] = collect(path)
    except (OSError, ValueError, KeyError, IndexError) as error:
        result["exit code"] = status or 1
        print("reliability.py: %s left no figures: %s" % (name, error), file=sys.stderr)
    return result


def shown_count(name, value):
    """One figure as text."""
    return "%s %s" % (format(value, ",") if isinstance(value, int) else "%.2f" % value, name)


def page_lines(figures):
    """The table of the page."""
    lines = ["| what | figures | result | command | commit, day |\n", "|---|---|---|---|---|\n"]
    for name, (what, _, _, _) in STEPS.items():
        if name not in figures:
            continue
        at = figures[name]
        counts = ", ".join(shown_count(key, value) for key, value in sorted(at["counts"].items()))
        lines.append("| %s | %s | %s | `%s`, %d min | %s, %s |\n" %
                     (what, counts, "failed" if at["exit code"] else "nothing wrong", at["command"],
                      (at["seconds"] + 59) // 60, at["commit"], at["day"]))
    return lines


def new_page(page, figures):
    """The page with the table of these figures between its marks."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + "".join(page_lines(figures)) + END + rest.split(END)[1]


def read_text(path, otherwise=""):
    """A file, if there is one."""
    if not os.path.exists(path):
        return otherwise
    with open(path, encoding="utf-8") as file:
        return file.read()


def write_text(path, text):
    """Replaces a file."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="*", metavar="STEP", help=" ".join(STEPS))
    parser.add_argument("--minutes", type=float, default=30, help="of fuzz and crash, each (30)")
    parser.add_argument("--page", action="store_true", help="only write the page")
    parser.add_argument("--check", action="store_true", help="only compare the page")
    arguments = parser.parse_args()
    for name in arguments.steps:
        if name not in STEPS:
            parser.error("there is no step %s; there are %s" % (name, " ".join(STEPS)))
    figures = json.loads(read_text(FIGURES, "{}"))
    page = read_text(PAGE)
    if arguments.check:
        if new_page(page, figures) != page:
            sys.exit("%s does not have the figures of %s: tools/reliability.py --page" % (PAGE, FIGURES))
        return 0
    failed = []
    for name in [] if arguments.page else arguments.steps or STEPS:
        figures[name] = run_step(name, arguments.minutes)
        if figures[name]["exit code"]:
            failed.append(name)
        write_text(FIGURES, json.dumps(figures, indent=1, sort_keys=True) + "\n")
    write_text(PAGE, new_page(page, figures))
    for name in failed:
        print("failed: " + name)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
