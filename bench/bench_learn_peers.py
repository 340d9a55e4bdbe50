#!/usr/bin/env python3
"""bench/bench_learn_peers.py: training and scoring in Furrow beside its peers, on the same data in the same run.

Makes a click log of 39 one-hot features a row (gen_clicks) and trains each model in turn, round by round: Furrow with one
thread and with two, PyTorch (python3-torch) with two on the same graph, batches and optimizer, scikit-learn's SGDClassifier
and xgboost's gblinear for logistic regression. Reports medians as tables and as JSON. Also: how far models are from the
best that is possible, which the generator knows.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile

from bench_model_peers import find_python, run_once
from bench_rows_peers import HERE, LOAD, cores_of, machine, print_table

MODELS = ["lr", "fm", "wide_and_deep", "deepfm", "pnn", "nfm"]
SETTINGS = {"lr": [], "fm": ["rank=8"], **{model: ["rank=8", "fields=39", "fc=100,100"] for model in MODELS[2:]}}


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build"), help="build folder (build)")
    parser.add_argument("--rows", type=int, default=200_000, help="of the click log (200000)")
    parser.add_argument("--batch", type=int, default=1024, help="rows of an update (1024)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each program (3)")
    parser.add_argument("--models", default=",".join(MODELS), help="separated by commas (all)")
    parser.add_argument("--quick", action="store_true", help="--rows 20000 --rounds 1, without the distance to the best")
    parser.add_argument("--cores", help="the two to use, e.g. 2,3 (the last two allowed); the second runs alone")
    parser.add_argument("--scratch", help="folder to work in")
    parser.add_argument("--out", metavar="FILE", help="write the results as JSON")
    options = parser.parse_args()
    if options.quick:
        options.rows, options.rounds = 20_000, 1
    options.models = options.models.split(",")
    options.cores = cores_of(options.cores)
    unknown = [model for model in options.models if model not in MODELS]
    if unknown:
        parser.error("no such model: " + " ".join(unknown))
    return options


def make_data(options, folder):
    generator, path = os.path.join(options.build, "bench", "gen_clicks"), os.path.join(folder, "clicks.libsvm")
    for name, rows, seed in (("clicks", options.rows, 1), ("test", max(options.rows // 5, 1000), 2)):
        with open(os.path.join(folder, name + ".libsvm"), "w") as out:
            subprocess.run([generator, str(rows), "--seed", str(seed), "--truth", os.path.join(folder, name + ".truth")],
                           stdout=out, check=True)
    python = find_python("numpy")
    if python:
        subprocess.run([python, "-c", "import sys, numpy\n"
                        "lines = [line.split() for line in open(sys.argv[1])]\n"
                        "rows = numpy.array([[int(w.split(':')[0]) - 1 for w in l[1:]] for l in lines])\n"
                        "labels = numpy.array([1 if l[0] == '1' else -1 for l in lines], numpy.float32)\n"
                        "numpy.savez(sys.argv[2], rows=rows, labels=labels)", path, os.path.join(folder, "clicks.npz")],
                       check=True)
    return path


def plan_runs(options, folder, data):
    """[(model, program, threads, cores, command)]"""
    program = os.path.join(options.build, "bench", "bench_learn")
    one, two = options.cores[-1:], options.cores
    torch, sklearn, xgboost = find_python("torch"), find_python("sklearn"), find_python("xgboost")
    npz, plan = os.path.join(folder, "clicks.npz"), []
    for model in options.models:
        settings = ["range=400000", "lr=0.02", "optimizer=sgd", f"batch={options.batch}", *SETTINGS[model]]
        out = os.path.join(folder, model)
        ours = [program, "fit", model, data]
        plan.append((model, "furrow", 1, one, [*ours, "--out", out, *settings]))
        plan.append((model, "furrow", 2, two, [*ours, "--threads", "2", *settings]))
        if model in ("lr", "fm"):
            plan.append((model, "furrow from text", 1, one, [*ours, "--stream", *settings]))
            plan.append((model, "furrow from text", 2, two, [*ours, "--stream", "--threads", "2", *settings]))
        plan.append((model, "furrow, scoring a row", 1, one, [program, "score", out, data]))
        if torch:
            script = os.path.join(HERE, "peer_torch.py")
            plan.append((model, "torch", 2, two, [torch, script, model, npz, str(options.batch), "2", "2"]))
        if model == "lr":
            script = os.path.join(HERE, "peer_linear.py")
            if sklearn:
                plan.append((model, "sklearn", 1, one, [sklearn, script, "sklearn", npz, "1", "2"]))
            if xgboost:
                plan.append((model, "gblinear", 2, two, [xgboost, script, "gblinear", npz, "2", "2"]))
    return plan


def run_rounds(options, plan):
    results = [[] for _ in plan]
    for number in range(options.rounds):
        for (model, program, threads, cores, command), lines in zip(plan, results):
            line = run_once(command, cores)
            if not isinstance(line, dict):
                sys.exit(f"{model}, {program}: {line}")
            lines.append(line)
    return results


def summarise(plan, results):
    """A row for each program, with how many times slower than Furrow with as many threads it is"""
    rows, ours = [], {}
    for (model, program, threads, _, _), lines in zip(plan, results):
        wall = statistics.median(line["seconds"] / line["rows"] for line in lines) * 1e6
        cpu = statistics.median(line["cpu"] / line["rows"] for line in lines) * 1e6
        if program == "furrow":
            ours[model, threads] = wall, cpu
        row = {"model": model, "program": program, "threads": threads, "us": wall, "cpu_us": cpu, "rows_per_s": 1e6 / wall}
        if not program.startswith("furrow"):
            row["times"], row["cpu_times"] = wall / ours[model, threads][0], cpu / ours[model, threads][1]
        rows.append(row)
    return rows


def report(rows):
    head = ["model", "program", "threads", "us a row", "rows/s", "processor us", "Furrow is faster by",
            "by processor time"]
    table = []
    for row in rows:
        table.append([row["model"], row["program"], str(row["threads"]), f"{row['us']:.2f}", f"{row['rows_per_s']:,.0f}",
                      f"{row['cpu_us']:.2f}", f"{row['times']:.1f}x" if "times" in row else "",
                      f"{row['cpu_times']:.1f}x" if "times" in row else ""])
    print_table("Training (an epoch) and scoring", head, table)


def best_possible(folder):
    """Logloss and AUC of the truth itself on the test rows"""
    p = [float(line) for line in open(os.path.join(folder, "test.truth"))]
    y = [line[0] == "1" for line in open(os.path.join(folder, "test.libsvm"))]
    loss = -sum(math.log(q if label else 1 - q) for q, label in zip(p, y)) / len(p)
    ranks, positives = 0, sum(y)
    for rank, (_, label) in enumerate(sorted(zip(p, y))):
        ranks += rank + 1 if label else 0
    return loss, (ranks - positives * (positives + 1) / 2) / (positives * (len(y) - positives))


def distance_to_best(options, folder, data):
    """Each model, trained until validation stops getting better, on rows it has not seen"""
    furrow, test = os.path.join(options.build, "furrow"), os.path.join(folder, "test.libsvm")
    loss, auc = best_possible(folder)
    head, table, found = ["model", "logloss", "AUC", "logloss above the best", "AUC below the best"], [], []
    for model in options.models:
        out = os.path.join(folder, model + ".best")
        keys = [word for setting in SETTINGS[model] for word in ("--" + setting.split("=")[0], setting.split("=")[1])]
        subprocess.run([furrow, "train", "--defaults", "angel", "--model", model, "--train", data, "--out", out, "--range", "400000", "--lr",
                        "0.001", "--batch", "256", "--optimizer", "adam", "--l2", "1e-4", "--decay",
                        "ConstantLearningRate", "--epochs", "15", "--shuffle", "yes", "--patience", "2", "--keep-best",
                        "--metric", "logloss", "--quiet", "--force", *keys], check=True)
        text = subprocess.run([furrow, "eval", "--model", out, "--data", test, "--json"], check=True,
                              capture_output=True, text=True).stdout
        got = json.loads(text)
        found.append({"model": model, "logloss": got["logloss"], "auc": got["auc"]})
        table.append([model, f"{got['logloss']:.4f}", f"{got['auc']:.4f}", f"{got['logloss'] - loss:.4f}",
                      f"{auc - got['auc']:.4f}"])
    table.append(["the truth", f"{loss:.4f}", f"{auc:.4f}", "0", "0"])
    print_table("Rows that were not trained on, beside the best that is possible", head, table)
    return found + [{"model": "truth", "logloss": loss, "auc": auc}]


def main():
    options = read_arguments()
    with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
        data = make_data(options, folder)
        plan = plan_runs(options, folder, data)
        rows = summarise(plan, run_rounds(options, plan))
        print(f"{options.rows} rows of 39 features, {options.batch} an update; {machine()['cpu']}; "
              f"others took {LOAD.share_of_others():.0%} of the machine meanwhile")
        report(rows)
        best = None
        if not options.quick:
            best = distance_to_best(options, folder, data)
    if options.out:
        with open(options.out, "w") as out:
            json.dump({"machine": machine(), "others_share": LOAD.share_of_others(), "rows": options.rows, "batch": options.batch, "results": rows, "best": best}, out, indent=1)


if __name__ == "__main__":
    main()
