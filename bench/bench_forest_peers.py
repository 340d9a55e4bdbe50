#!/usr/bin/env python3
"""bench/bench_forest_peers.py: boosted trees in Furrow beside xgboost's hist, on the same data in the same run.

Makes tables (gen_table): 28 real features with a label of two classes, a number, or one of five classes, some of them
with values missing; 39 one-hot features of 100,000. Both train the same number of trees of the same depth, learning rate
and lambda with a thread for each core, in turn, round by round, and score all rows. Reports medians, peak memory, and how good
both are on rows that they have not seen.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

from bench_model_peers import find_python, run_once
from bench_rows_peers import HERE, LOAD, cores_of, machine, print_table

KINDS = ["binary", "sparse", "missing", "real", "classes"]
OBJECTIVES = {"real": "reg:squarederror", "classes": "multi:softmax"}
FIGURES = {"real": ["rmse"], "classes": ["accuracy", "logloss"]}


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build"), help="build folder (build)")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of each table (1000000)")
    parser.add_argument("--trees", type=int, default=100, help="rounds (100)")
    parser.add_argument("--depth", type=int, default=6, help="splits between root and leaf (6)")
    parser.add_argument("--rate", type=float, default=0.1, help="learning rate (0.1)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each program (3)")
    parser.add_argument("--kinds", default="binary,sparse", help=f"of {','.join(KINDS)} (binary,sparse)")
    parser.add_argument("--quick", action="store_true", help="--rows 50000 --trees 20 --rounds 1, all kinds")
    parser.add_argument("--cores", help="those to use, e.g. 0,1,2,3: a thread for each (the last two allowed)")
    parser.add_argument("--scratch", help="folder to work in")
    parser.add_argument("--out", metavar="FILE", help="write the results as JSON")
    options = parser.parse_args()
    if options.quick:
        options.rows, options.trees, options.rounds, options.kinds = 50_000, 20, 1, ",".join(KINDS)
    options.kinds = options.kinds.split(",")
    options.cores = cores_of(options.cores)
    unknown = [kind for kind in options.kinds if kind not in KINDS]
    if unknown:
        parser.error("no such kind: " + " ".join(unknown))
    return options


def make_data(options, folder, kind):
    generator = os.path.join(options.build, "bench", "gen_table")
    for name, rows, seed in (("train", options.rows, 1), ("test", max(options.rows // 10, 1000), 2)):
        path = os.path.join(folder, f"{kind}.{name}")
        with open(path + ".libsvm", "w") as out:
            subprocess.run([generator, kind, str(rows), "--seed", str(seed), "--binary", path + ".bin"], stdout=out,
                           check=True)


def run_peer(command, cores, what):
    line = run_once(command, cores)
    if not isinstance(line, dict):
        sys.exit(f"{what}: {line}")
    return line


def run_ours(options, folder, kind):
    """Training, scoring, and the figures of `furrow eval`"""
    program, path = os.path.join(options.build, "bench", "bench_forest"), os.path.join(folder, kind)
    threads = str(len(options.cores))
    settings = [f"trees={options.trees}", f"depth={options.depth}", f"lr={options.rate}", "splits=254", "reg-lambda=1",
                f"objective={OBJECTIVES.get(kind, 'binary:logistic')}"] + (["classes=5"] if kind == "classes" else [])
    cached = f"{path}.train.libsvm#{path}.cache"
    line = run_peer([program, "fit", cached, path + ".model", "--threads", threads, *settings], options.cores, "furrow")
    scored = run_peer([program, "score", path + ".model", cached, "--threads", threads], options.cores, "furrow")
    one = run_peer([program, "rows", path + ".model", path + ".test.libsvm"], options.cores[-1:], "furrow")
    text = subprocess.run([os.path.join(options.build, "furrow"), "eval", "--model", path + ".model", "--data",
                           path + ".test.libsvm", "--json"], check=True, capture_output=True, text=True).stdout
    line.update(score_seconds=scored["seconds"], score_cpu=scored["cpu"], row_us=one["seconds"] / one["rows"] * 1e6)
    got = json.loads(text)
    line.update({name: got[name] for name in FIGURES.get(kind, ["auc", "logloss"])})
    return line


def run_kind(options, folder, kind, python):
    path = os.path.join(folder, kind)
    script = [python, os.path.join(HERE, "peer_xgboost.py"), kind, path + ".train.bin", path + ".test.bin",
              str(len(options.cores)), str(options.trees), str(options.depth), str(options.rate), "1"]
    make_data(options, folder, kind)
    ours, theirs = [], []
    for _ in range(options.rounds):
        ours.append(run_ours(options, folder, kind))
        if python:
            theirs.append(run_peer(script, options.cores, "xgboost"))
    for name in os.listdir(folder):
        if name.startswith(kind + ".") and not name.endswith(".model"):
            os.remove(os.path.join(folder, name))
    return medians(ours), medians(theirs) if theirs else None


def medians(lines):
    return {name: statistics.median(line[name] for line in lines) for name in lines[0]}


def table_row(kind, program, line, peer):
    times = lambda name: f"{peer[name] / line[name]:.2f}x" if peer else ""
    figures = ", ".join(f"{name} {line[name]:.4f}" for name in FIGURES.get(kind, ["auc", "logloss"]))
    return [kind, program, f"{line['seconds']:.2f}", times("seconds"), times("cpu"), f"{line['score_seconds']:.3f}",
            times("score_seconds"), f"{line['row_us']:.2f}" if "row_us" in line else "", f"{line['peak_mb']:.0f}", figures]


def main():
    options, python = read_arguments(), find_python("xgboost")
    table, found = [], {}
    with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
        for kind in options.kinds:
            ours, theirs = run_kind(options, folder, kind, python)
            table.append(table_row(kind, "furrow", ours, theirs))
            if theirs:
                table.append(table_row(kind, "xgboost", theirs, None))
            found[kind] = {"furrow": ours, "xgboost": theirs}
    print(f"{options.rows} rows, {options.trees} trees of depth {options.depth}, learning rate {options.rate}, "
          f"{len(options.cores)} threads; "
          f"{machine()['cpu']}; others took {LOAD.share_of_others():.0%} of the machine meanwhile")
    print_table("Boosted trees", ["table", "program", "training s", "faster by", "by processor time", "scoring s",
                                  "faster by", "us a single row", "peak MB", "rows that are new"], table)
    if options.out:
        with open(options.out, "w") as out:
            json.dump({"machine": machine(), "others_share": LOAD.share_of_others(), "rows": options.rows, "trees":
                       options.trees, "depth": options.depth, "results": found}, out, indent=1)


if __name__ == "__main__":
    main()
