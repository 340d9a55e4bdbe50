#!/usr/bin/env python3
"""bench/log/bench_recommend.py: the best items for all users, Furrow beside a brute force in numpy.

Trains an fm on a generated log (users and items with hidden vectors; names, not numbers), then runs furrow recommend
--users all with what it chooses by itself, with an index (--recall 0.99) and by all vectors (--exact for a part of the
users, which says what the true results are). numpy multiplies matrices of the same size and takes the best of each row,
for a part of the users; its time is given for all of them. Recall is the share of the true results that are found, where
items with the score of the last one count as well.
"""
import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

try:
    import numpy as np
except ImportError:
    if sys.executable == "/usr/bin/python3" or not os.access("/usr/bin/python3", os.X_OK):
        sys.exit("bench_recommend.py needs numpy")
    os.execv("/usr/bin/python3", ["/usr/bin/python3"] + sys.argv)  # Debian's packages are of that one

HERE = os.path.dirname(os.path.abspath(__file__))


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "..", "build"), help="build folder (build)")
    parser.add_argument("--users", type=int, default=100000, help="(100000)")
    parser.add_argument("--items", type=int, default=100000, help="(100000)")
    parser.add_argument("--events", type=int, default=2000000, help="of the log (2000000)")
    parser.add_argument("--factors", default="8,32", help="of the models, separated by commas (8,32)")
    parser.add_argument("-k", type=int, default=10, help="items for each user (10)")
    parser.add_argument("--sample", type=int, default=1000, help="users for the true results, and for numpy (1000)")
    parser.add_argument("--threads", type=int, default=1, help="of all programs (1)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each program (3)")
    parser.add_argument("--quick", action="store_true", help="10,000 users and items, 200,000 events, 8 factors, 1 round")
    parser.add_argument("--scratch", help="keep log and models in this folder, and use those that are there")
    parser.add_argument("--out", metavar="FILE", help="write the results as JSON")
    options = parser.parse_args()
    if options.quick:
        options.users = options.items = 10000
        options.events, options.factors, options.rounds, options.sample = 200000, "8", 1, 500
    options.factors = [int(number) for number in options.factors.split(",")]
    return options


def make_log(options, folder):
    """Each user and item at least once, then items of the user's own tastes, by a power law"""
    path = os.path.join(folder, f"events-{options.users}-{options.items}-{options.events}.csv")
    if os.path.exists(path):
        return path
    rng = np.random.default_rng(7)
    users = np.concatenate([np.arange(options.users), rng.integers(0, options.users, options.events)])
    items = np.concatenate([np.arange(options.users) % options.items,
                            (rng.random(options.events) ** 3 * options.items).astype(int)])
    missing = np.arange(min(options.users, options.items), options.items)
    users, items = np.concatenate([users, missing % options.users]), np.concatenate([items, missing])
    tastes = rng.normal(size=(8, options.users)), rng.normal(size=(8, options.items))
    score = np.einsum("ij,ij->j", tastes[0][:, users], tastes[1][:, items]) / 8 ** 0.5 + rng.normal(size=len(users))
    with open(path + ".part", "w") as out:
        out.write("user,item,rating\n")
        out.writelines(f"u{u},item-{i},{s:.2f}\n" for u, i, s in zip(users, items, 3 + score))
    os.rename(path + ".part", path)
    return path


def run(command, threads):
    """Seconds, processor seconds, peak of memory in MB, what the program printed on stderr"""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    done = subprocess.run(command + ["--threads", str(threads)], capture_output=True, text=True)
    seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(" ".join(command) + "\n" + done.stderr)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stderr


def train(options, log, factors, folder):
    model = os.path.join(folder, f"fm-{options.users}-{options.items}-{options.events}-{factors}")
    schema = os.path.join(folder, "events.schema")
    with open(schema, "w") as out:
        json.dump({"columns": {"rating": {"as": "label"}, "user": {"as": "category", "role": "user"},
                               "item": {"as": "category", "role": "item"}}}, out)
    if not os.path.exists(model):
        run([furrow(options), "train", "--model", "fm", "--loss", "L2Loss", "--rank", str(factors), "--train", log, "--schema", schema,
             "--epochs", "3", "--out", model, "-q"], options.threads)
    return model


def furrow(options):
    return os.path.join(options.build, "furrow")


def read_results(path):
    """user -> {item: score}, in the order of the ranks"""
    results = {}
    with open(path) as lines:
        for line in lines:
            user, _, item, score = line.rstrip("\n").split("\t")[:4]
            results.setdefault(user, {})[item] = float(score)
    return results


def recall_of(found, truth):
    hits = total = 0
    for user, items in truth.items():
        least = min(items.values())
        hits += min(sum(score >= least for score in found[user].values()), len(items))
        total += len(items)
    return hits / total


def recommend(options, model, folder, more):
    out = os.path.join(folder, "best.tsv")
    command = [furrow(options), "recommend", "--model", model, "-k", str(options.k), "--out", out, "--force"] + more
    runs = sorted(run(command, options.threads) for _ in range(options.rounds))
    return runs[len(runs) // 2], read_results(out), runs[-1][2]


def brute_force(options, factors):
    """numpy for a part of the users: product, then the best of each row; seconds for all"""
    rng = np.random.default_rng(1)
    users = rng.normal(size=(options.sample, factors)).astype(np.float32)
    items = rng.normal(size=(options.items, factors)).astype(np.float32)
    began, used = time.perf_counter(), time.process_time()
    for at in range(0, options.sample, 100):
        scores = users[at:at + 100] @ items.T
        best = np.argpartition(scores, -options.k, axis=1)[:, -options.k:]
        np.take_along_axis(scores, best, axis=1).argsort(axis=1)
    scale = options.users / options.sample
    return (time.perf_counter() - began) * scale, (time.process_time() - used) * scale


def measure(options, log, factors, folder):
    model = train(options, log, factors, folder)
    sample = os.path.join(folder, "sample.txt")
    with open(sample, "w") as out:
        out.writelines(f"u{u}\n" for u in range(0, options.users, max(1, options.users // options.sample)))
    _, truth, _ = recommend(options, model, folder, ["--users", sample, "--exact"])
    results = []
    for name, more in (("furrow, by itself", []), ("furrow, --recall 0.99", ["--recall", "0.99"])):
        recommend(options, model, folder, ["--users", "u0"] + more)  # makes the index, if there is to be one
        (seconds, cpu, _), found, notes = recommend(options, model, folder, ["--users", "all"] + more)
        note = re.sub(r"\s+", " ", notes).strip()
        results.append({"program": name, "factors": factors, "seconds": seconds, "cpu_seconds": cpu,
                        "recall": recall_of(found, truth), "note": note})
    seconds, cpu = brute_force(options, factors)
    results.append({"program": "numpy", "factors": factors, "seconds": seconds, "cpu_seconds": cpu, "recall": 1,
                    "note": f"{options.sample} users, scaled"})
    return results


def main():
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        if name not in os.environ:  # numpy reads them when it is loaded
            threads = str(read_arguments().threads)
            os.execve(sys.executable, [sys.executable] + sys.argv, dict(os.environ, OMP_NUM_THREADS=threads,
                                                                       OPENBLAS_NUM_THREADS=threads))
    options = read_arguments()
    if options.scratch:
        os.makedirs(options.scratch, exist_ok=True)
    folder = options.scratch or tempfile.mkdtemp(prefix="furrow-bench-")
    try:
        log = make_log(options, folder)
        results = [r for factors in options.factors for r in measure(options, log, factors, folder)]
    finally:
        if not options.scratch:
            shutil.rmtree(folder)
    print(f"{options.users} users, {options.items} items, k {options.k}, {options.threads} thread(s)\n\n"
          "| factors | program | seconds | processor seconds | recall |\n|---|---|---|---|---|")
    for r in results:
        print(f"| {r['factors']} | {r['program']} | {r['seconds']:.2f} | {r['cpu_seconds']:.2f} | {r['recall']:.4f} |")
    print()
    for r in results:
        print(f"{r['factors']} factors, {r['program']}: {r['note']}")
    if options.out:
        with open(options.out, "w") as out:
            json.dump({"users": options.users, "items": options.items, "k": options.k, "threads": options.threads,
                       "results": results}, out, indent=1)
            out.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
