#!/usr/bin/env python3
"""bench/python/bench_fit_peers.py: fit on a CSR matrix beside the command on the same rows.

Classifier(...).fit(X, y) trains from the arrays of X. `furrow train` starts a process, reads the same rows as libsvm text,
trains with the same settings, and writes the model. Both take turns, with the same number of threads. The table also has
the time of reading the text alone, and of xgboost on the same matrix. Fails if the probabilities that the two models give differ. Goal: fit takes
at most 1.05 times as long as the command.
"""
import json
import os
import resource
import shutil
import subprocess
import sys
import time
import warnings

from python_bench import Folder, arguments, imported, median, print_table, ratio, report, take_turns, timed, verdict

import numpy as np  # after python_bench, which looks for a Python that has it

# model: settings of both, and the rows: 39 one-hot features, or 28 real ones
SETTINGS = {"lr": {"epochs": 5}, "fm": {"epochs": 3, "start": "random"}, "gbdt": {"trees": 30}}
ROWS = {"lr": ["gen_clicks"], "fm": ["gen_clicks"], "gbdt": ["gen_table", "binary"]}
GOAL = 1.05


def make_rows(options, folder, generator):
    path = os.path.join(folder, f"{'-'.join(generator)}-{options.rows}.libsvm")
    if not os.path.exists(path):
        program = os.path.join(options.build, "bench", generator[0])
        with open(path + ".part", "w") as out:
            subprocess.run([program, *generator[1:], str(options.rows)], stdout=out, check=True)
        os.rename(path + ".part", path)
    return path


def read_matrix(path):
    """The matrix and the labels of a file"""
    from furrow import read_rows

    rows = read_rows(path, format="libsvm")
    return rows.to_scipy(), rows.labels


def run_command(command):
    """(seconds, processor seconds) of a process"""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True)
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(" ".join(command) + "\n" + done.stderr)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def fit_model(options, folder, algorithm, found, failures):
    from furrow import Classifier, load_model, read_rows

    path, settings = make_rows(options, folder, ROWS[algorithm]), SETTINGS[algorithm]
    X, y = read_matrix(path)
    target = os.path.join(folder, f"{algorithm}.model")
    command = [os.path.join(options.build, "furrow"), "train", "--model", algorithm, "--train", path, "--out", target,
               "--threads", str(options.threads), "-q"]
    for name, value in settings.items():
        command += ["--" + name, str(value)]
    fitted = {}

    def fit():
        fitted["furrow"] = Classifier(algorithm, threads=options.threads, **settings)
        return timed(lambda: fitted["furrow"].fit(X, y))[0]

    def train():
        shutil.rmtree(target, ignore_errors=True)
        return run_command(command)

    jobs = {"fit": fit, "command": train,
            "reading": lambda: timed(lambda: read_rows(path, format="libsvm", threads=options.threads).load())[0]}
    if "xgboost" in found and algorithm == "gbdt":
        peer = found["xgboost"].XGBClassifier(n_estimators=settings["trees"], tree_method="hist", n_jobs=options.threads)
        jobs["xgboost"] = lambda: timed(lambda: peer.fit(X, y))[0]
    times = take_turns(jobs, options.rounds)
    ours, theirs = fitted["furrow"].predict_proba(X)[:, 1], load_model(target).predict_proba(path)[:, 1]
    if np.abs(ours - theirs).max() > 1e-6:
        failures.append(f"{algorithm}: probabilities of the two models differ by {np.abs(ours - theirs).max():.2g}")
    result = {"model": algorithm, "settings": settings, "ratio": ratio(times, "fit", "command", 0),
              "cpu_ratio": ratio(times, "fit", "command", 1)}
    for which, clock in enumerate(("seconds", "cpu_seconds")):
        result[clock] = {name: median(pairs, which) for name, pairs in times.items()}
    return result


def main():
    options = arguments(__doc__, rows=(200_000, "of the click log"), threads=(1, "of all programs"))
    if options.quick:
        options.rows = 5_000
    found, failures = imported("xgboost"), []
    warnings.simplefilter("ignore")  # few epochs: not the minimum
    with Folder(options) as folder:
        results = [fit_model(options, folder, name, found, failures) for name in SETTINGS]
    report(options, "Training", results)
    names = ("fit", "command", "reading", "xgboost")
    for clock, label in (("seconds", "Seconds"), ("cpu_seconds", "Seconds of processor time")):
        key = "ratio" if clock == "seconds" else "cpu_ratio"
        table = [[r["model"], json.dumps(r["settings"])] + [f"{r[clock][n]:.3f}" if n in r[clock] else "-" for n in names]
                 + [f"{r[key]:.2f}x"] for r in results]
        print_table(f"{label}, {options.rows} rows, {options.threads} thread(s) (goal: {GOAL}x)",
                    ["model", "settings", *names, "fit / command"], table)
    return verdict(failures)


if __name__ == "__main__":
    sys.exit(main())
