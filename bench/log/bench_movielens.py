#!/usr/bin/env python3
"""bench/log/bench_movielens.py FOLDER: how good are predicted ratings on MovieLens?

FOLDER has ratings.csv and movies.csv as GroupLens gives them ("latest small" has 100,836 ratings); nothing of it is in
this repository. The last fifth of each user's ratings by time is the test set (furrow rows split). Furrow's commands are
printed as they are run. The baselines are computed here with numpy, on the same split:

  biases    b + b_user + b_item, ridge
  mf        biases, then factors of users and items for the rest, alternating least squares

What mf needs (factors, ridge) is chosen from a grid on the last fifth of each user's training ratings; then it is
computed from all of them. bench_rankings.py measures recommendations.
"""
import argparse
import csv
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # small systems: with two threads they take ten times as long
try:
    import numpy as np
except ImportError:
    if sys.executable == "/usr/bin/python3" or not os.access("/usr/bin/python3", os.X_OK):
        sys.exit("bench_movielens.py needs numpy")
    os.execv("/usr/bin/python3", ["/usr/bin/python3"] + sys.argv)  # Debian's packages are of that one

HERE = os.path.dirname(os.path.abspath(__file__))


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="with ratings.csv and movies.csv")
    parser.add_argument("--build", default=os.path.join(HERE, "..", "..", "build"), help="build folder (build)")
    parser.add_argument("--seeds", type=int, default=1, help="Furrow trains with so many seeds; the mean is shown (1)")
    parser.add_argument("--train-options", default="", help="more options of the trainings")
    parser.add_argument("--no-baselines", action="store_true", help="Furrow alone")
    parser.add_argument("--scratch", help="keep split and models in this folder, which must be new")
    parser.add_argument("--out", metavar="FILE", help="write the results as JSON")
    return parser.parse_args()


# ---- Furrow ----


def furrow(options, arguments, show=True):
    command = [os.path.join(options.build, "furrow")] + arguments
    if show:
        print("furrow " + shlex.join(os.path.relpath(a, options.work) if a.startswith(options.work) else a
                                     for a in arguments))
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    return done.stdout


def train_and_eval(options, name, data, train_options):
    """The mean of the RMSE over the seeds"""
    figures = []
    for seed in range(options.seeds):
        model = os.path.join(options.work, f"{name}-{seed}.model")
        furrow(options, ["train", "--model", "fm", "--train", data["train"], "--schema", "auto"] + train_options +
               (["--seed", str(seed)] if options.seeds > 1 else []) + ["--out", model, "-q"], seed == 0)
        text = furrow(options, ["eval", "--model", model, "--data", data["test"], "--json", "-q"], seed == 0)
        figures.append(json.loads(text)["rmse"])
    return float(np.mean(figures))


def furrow_results(options, data):
    more = shlex.split(options.train_options)
    yield {"what": "furrow fm, user and item", "rmse": train_and_eval(options, "rating", data, more)}
    table = ["--table", data["movies"] + "=movieId"]
    yield {"what": "furrow fm, item table", "rmse": train_and_eval(options, "table", data, table + more)}


# ---- Baselines ----


class Ratings:
    """Users and items as numbers"""

    def __init__(self, rows, users, items):
        self.user = np.array([users.setdefault(r[0], len(users)) for r in rows])
        self.item = np.array([items.setdefault(r[1], len(items)) for r in rows])
        self.rating = np.array([float(r[2]) for r in rows])
        self.time = np.array([float(r[3]) for r in rows])

    def part(self, chosen):
        part = Ratings([], {}, {})
        part.user, part.item, part.rating, part.time = (a[chosen] for a in (self.user, self.item, self.rating, self.time))
        return part

    def split(self, share):
        """All but the last share of each user's by time, and these"""
        last = np.zeros(len(self.user), bool)
        for user in np.unique(self.user):
            mine = np.flatnonzero(self.user == user)
            mine = mine[np.argsort(self.time[mine], kind="stable")]
            last[mine[len(mine) - round(share * len(mine)):]] = True
        return self.part(~last), self.part(last)


def read_ratings(path, users, items):
    with open(path, newline="") as lines:
        return Ratings(list(csv.reader(lines))[1:], users, items)


def rmse(predicted, ratings):
    return float(np.sqrt(np.mean((np.clip(predicted, 0.5, 5) - ratings.rating) ** 2)))


def fit_biases(train, users, items, ridge):
    mean = train.rating.mean()
    b_user, b_item = np.zeros(users), np.zeros(items)
    for _ in range(20):
        for bias, ids, other, others in ((b_item, train.item, b_user, train.user), (b_user, train.user, b_item, train.item)):
            rest = train.rating - mean - other[others]
            bias[:] = np.bincount(ids, rest, len(bias)) / (np.bincount(ids, minlength=len(bias)) + ridge)
    return lambda r: mean + b_user[r.user] + b_item[r.item]


def fit_factors(train, users, items, factors, ridge, bias_ridge):
    """Alternating least squares of what the biases leave"""
    bias = fit_biases(train, users, items, bias_ridge)
    rest = train.rating - bias(train)
    rng = np.random.default_rng(0)
    p, q = rng.normal(0, 0.1, (users, factors)), rng.normal(0, 0.1, (items, factors))
    rows = [[np.flatnonzero(ids == i) for i in range(n)] for ids, n in ((train.user, users), (train.item, items))]
    for _ in range(10):
        for left, right, ids, mine in ((p, q, train.item, rows[0]), (q, p, train.user, rows[1])):
            for i, at in enumerate(mine):
                v = right[ids[at]]
                left[i] = np.linalg.solve(v.T @ v + ridge * np.eye(factors), v.T @ rest[at])
    return lambda r: bias(r) + np.einsum("ij,ij->i", p[r.user], q[r.item])


def baselines(options, data):
    users, items = {}, {}
    train, test = read_ratings(data["train"], users, items), read_ratings(data["test"], users, items)
    fit, valid = train.split(0.2)
    n = len(users), len(items)
    ridge = min((1, 2, 3, 4, 5, 7, 10), key=lambda r: rmse(fit_biases(fit, *n, r)(valid), valid))
    yield {"what": "biases", "rmse": rmse(fit_biases(train, *n, ridge)(test), test), "chosen": f"ridge {ridge}"}
    grid = [(factors, r) for factors in (2, 4, 8, 16) for r in (3, 5, 8, 12)]
    factors, r = min(grid, key=lambda g: rmse(fit_factors(fit, *n, *g, ridge)(valid), valid))
    yield {"what": "mf", "rmse": rmse(fit_factors(train, *n, factors, r, ridge)(test), test),
           "chosen": f"{factors} factors, ridge {r}"}


def show(results):
    print("\n| | RMSE | chosen |\n|---|---|---|")
    for r in results:
        print(f"| {r['what']} | {r['rmse']:.4f} | {r.get('chosen', '')} |")


def main():
    options = read_arguments()
    if options.scratch:
        os.makedirs(options.scratch)  # fails if there is such a folder
    options.work = options.scratch or tempfile.mkdtemp(prefix="furrow-movielens-")
    data = {name: os.path.join(options.work, name + ".csv") for name in ("train", "test")}
    data["movies"] = os.path.join(options.folder, "movies.csv")
    try:
        furrow(options, ["rows", "split", os.path.join(options.folder, "ratings.csv"), "--user", "userId", "--time",
                         "timestamp", "--last", "0.2", "--out", options.work + "/"])
        results = list(furrow_results(options, data))
        if not options.no_baselines:
            results += list(baselines(options, data))
    finally:
        if not options.scratch:
            shutil.rmtree(options.work)
    show(results)
    if options.out:
        with open(options.out, "w") as out:
            json.dump({"seeds": options.seeds, "results": results}, out, indent=1)
            out.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
