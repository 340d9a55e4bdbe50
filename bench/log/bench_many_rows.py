#!/usr/bin/env python3
"""bench/log/bench_many_rows.py: the default `train --model lr` on many sparse rows, by one command or by several.

Rows have 39 one-hot features, one of each column; the columns have 4 to 200,000 values, and low numbers are frequent.
Labels depend on a weight of each value. A sixteenth of the rows is kept for the test. Every COMMAND trains and evaluates
the same files, in turn: two versions of furrow can be compared.
"""
import argparse
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
COLUMNS, PARTS = 39, 16
SIZES = np.geomspace(4, 200000, COLUMNS).astype(int)
FIRST = np.concatenate([[0], np.cumsum(SIZES)[:-1]])


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commands", nargs="*", metavar="COMMAND", default=[os.path.join(HERE, "..", "..", "build", "furrow")],
                        help="furrow (build/furrow)")
    parser.add_argument("--rows", type=int, default=1000000, help="a sixteenth of them for the test (1000000)")
    parser.add_argument("--threads", type=int, default=1, help="of the training (1)")
    return parser.parse_args()


def write_part(task):
    path, seed, rows = task
    weights = np.random.default_rng(0).normal(0, 0.35, SIZES.sum())
    rng = np.random.default_rng(100 + seed)
    values = np.empty((rows, COLUMNS), int)
    for column, size in enumerate(SIZES):
        drawn = ((size ** rng.random(rows) - 1) / (size - 1) * size).astype(int)
        values[:, column] = FIRST[column] + np.minimum(drawn, size - 1)
    clicks = rng.random(rows) < 1 / (1 + np.exp(1 - weights[values].sum(1)))
    with open(path, "w", encoding="ascii") as text:
        for click, row in zip(clicks, values):
            text.write(f"{int(click)} " + " ".join(f"{value}:1" for value in row) + "\n")


def write_rows(folder, rows):
    """test, and train of the other parts."""
    paths = [os.path.join(folder, f"part{part:02d}") for part in range(PARTS)]
    with multiprocessing.Pool() as pool:
        pool.map(write_part, [(path, seed, rows // PARTS) for seed, path in enumerate(paths)])
    os.rename(paths[0], os.path.join(folder, "test"))
    with open(os.path.join(folder, "train"), "wb") as train:
        for path in paths[1:]:
            with open(path, "rb") as part:
                shutil.copyfileobj(part, train)
            os.remove(path)


def measure(command, folder, threads):
    model = os.path.join(folder, "model")
    start = time.monotonic()
    with subprocess.Popen([command, "train", "--model", "lr", "--train", os.path.join(folder, "train"), "--out", model,
                           "--threads", str(threads), "--force", "--quiet"]) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"bench_many_rows: {command} ended with {process.returncode}")
    wall = time.monotonic() - start
    found = json.loads(subprocess.run([command, "eval", "--model", model, "--data", os.path.join(folder, "test"), "--json"],
                                      capture_output=True, check=True).stdout)
    print(f"{command}: {wall:.1f} s, {used.ru_utime + used.ru_stime:.1f} s of processor time, {used.ru_maxrss / 1e6:.2f} GB, "
          f"logloss {found['logloss']:.6f}, AUC {found['auc']:.6f}", flush=True)


def main():
    options = read_arguments()
    with tempfile.TemporaryDirectory() as folder:
        write_rows(folder, options.rows)
        for command in options.commands:
            measure(command, folder, options.threads)


if __name__ == "__main__":
    main()
