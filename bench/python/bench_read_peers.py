#!/usr/bin/env python3
"""bench/python/bench_read_peers.py: files of rows into a SciPy matrix: furrow.read_rows beside scikit-learn.

Reads the same libsvm files (gen_rows) with read_rows(path).to_scipy() on one thread and on two, and with scikit-learn's
load_svmlight_file, in turns. Fails if the matrices or labels are not the same. Goal: 20 times the speed.
"""
import os
import subprocess
import sys

from python_bench import Folder, arguments, imported, median, print_table, ratio, report, take_turns, timed, verdict

import numpy as np  # after python_bench, which looks for a Python that has it

KINDS = ("ctr", "real")
GOAL = 20


def make_file(options, folder, kind):
    path = os.path.join(folder, f"{kind}-{options.size:g}MB.libsvm")
    if not os.path.exists(path):
        with open(path + ".part", "wb") as out:
            subprocess.run([os.path.join(options.build, "bench", "gen_rows"), kind, str(int(options.size * 1e6))],
                           stdout=out, check=True)
        os.rename(path + ".part", path)
    return path


def by_furrow(path, threads):
    from furrow import read_rows

    rows = read_rows(path, format="libsvm", threads=threads)
    matrix = rows.to_scipy()
    return matrix, rows.labels


def by_sklearn(path):
    from sklearn.datasets import load_svmlight_file

    return load_svmlight_file(path, dtype=np.float32, zero_based="auto")


def differences(kind, ours, theirs):
    """What is not the same; scikit-learn sorts the indices of a row and adds those that occur twice"""
    (a, labels), (b, expected) = ours, theirs
    a = a.copy()
    a.sum_duplicates()
    b.sum_duplicates()
    same = a.shape == b.shape and np.array_equal(a.indptr, b.indptr) and np.array_equal(a.indices, b.indices)
    if not same or not np.allclose(a.data, b.data, rtol=1e-6) or not np.allclose(labels, expected):
        return [f"{kind}: the matrices are not the same"]
    return []


def read_kind(options, folder, kind, failures):
    path = make_file(options, folder, kind)
    jobs = {"furrow, 1 thread": lambda: timed(lambda: by_furrow(path, 1))[0],
            "furrow, 2 threads": lambda: timed(lambda: by_furrow(path, 2))[0]}
    if imported("sklearn"):
        failures += differences(kind, by_furrow(path, 2), by_sklearn(path))
        jobs["scikit-learn"] = lambda: timed(lambda: by_sklearn(path))[0]
    times = take_turns(jobs, options.rounds)
    size = os.path.getsize(path) / 1e6
    results = []
    for name in jobs:
        result = {"kind": kind, "program": name, "seconds": median(times[name], 0), "cpu_seconds": median(times[name], 1)}
        result.update(mb_per_s=size / result["seconds"], mb_per_cpu_s=size / result["cpu_seconds"])
        if "scikit-learn" in jobs:
            result.update(ratio=ratio(times, "scikit-learn", name, 0), cpu_ratio=ratio(times, "scikit-learn", name, 1))
        results.append(result)
    return results


def main():
    options = arguments(__doc__, size=(100.0, "MB of each file"))
    if options.quick:
        options.size = 5.0
    failures, results = [], []
    with Folder(options) as folder:
        for kind in KINDS:
            results += read_kind(options, folder, kind, failures)
    report(options, "Reading", results)
    rows = [[r["kind"], r["program"], f"{r['mb_per_s']:.0f}", f"{r['mb_per_cpu_s']:.0f}", f"{r.get('ratio', 0):.1f}x",
             f"{r.get('cpu_ratio', 0):.1f}x"] for r in results]
    print_table(f"Files of {options.size:g} MB (goal: {GOAL}x)",
                ["data", "program", "MB/s", "MB per processor second", "against scikit-learn", "processor time"], rows)
    return verdict(failures)


if __name__ == "__main__":
    sys.exit(main())
