"""tests/interop/ranking_xgboost.py FURROW: gbdt with rank:ndcg against xgboost's rank:ndcg and rank:pairwise.

The data is drawn here from a fixed seed. NDCG of the first ten of groups that neither has seen must not be more than 0.01 below the better of
xgboost's two; Furrow's own figure must be the one that is computed here from its scores.
"""
import json
import os
import subprocess
import sys

import numpy
import xgboost

furrow = sys.argv[1]
bad = []


def draw(groups, fewest, most, seed, noise):
    """20 features, eight of which matter; one is the same for all rows of a group and changes the sign of another."""
    random = numpy.random.RandomState(seed)
    qid = numpy.repeat(numpy.arange(groups), random.randint(fewest, most + 1, groups))
    x = random.normal(size=(len(qid), 20)).astype(numpy.float32)
    x[:, 10] = random.normal(size=groups)[qid]
    z = x[:, 0] * (1 + x[:, 1] / 2) + numpy.where(x[:, 2] > 0.5, 1, -0.5) + 0.6 * abs(x[:, 3]) + x[:, 4] * x[:, 10] / 2 + 0.4 * numpy.sin(2 * x[:, 5])
    return x, numpy.digitize(z + random.normal(0, noise, len(qid)), [0.8, 1.8, 2.8, 3.8]), qid


def write(name, x, y, qid, order):
    with open(name, "w") as out:
        for i in order:
            out.write(f"{y[i]} qid:{qid[i]} " + " ".join(f"{k + 1}:{v:.9g}" for k, v in enumerate(x[i])) + "\n")


def ndcg(y, qid, score):
    found, discount = [], 1 / numpy.log2(numpy.arange(2, 12))
    for group in numpy.unique(qid):
        rows = numpy.nonzero(qid == group)[0]
        gain = 2.0 ** y[rows] - 1
        if gain.max() > 0:
            first, best = gain[numpy.argsort(-score[rows], kind="stable")[:10]], -numpy.sort(-gain)[:10]
            found.append((first @ discount[:len(first)]) / (best @ discount[:len(best)]))
    return numpy.mean(found)


def ours(name, y, qid, options):
    subprocess.run([furrow, "train", "--model", "gbdt", "--objective", "rank:ndcg", "--train", name + ".train", "--out", name + ".model", "--quiet",
                    "--force", *options], check=True)
    scored = subprocess.run([furrow, "predict", "--model", name + ".model", "--data", name + ".test"], check=True, stdout=subprocess.PIPE)
    score = numpy.array([float(line.split(",")[1]) for line in scored.stdout.decode().splitlines()])
    told = json.loads(subprocess.run([furrow, "eval", "--model", name + ".model", "--data", name + ".test", "--json"], check=True,
                                     stdout=subprocess.PIPE).stdout)["ndcg"]
    found = ndcg(y, qid, score)
    if not abs(told - found) < 1e-6:
        bad.append(name)
        print(f"{name}: eval has {told:.6f}, its scores {found:.6f} WRONG")
    return found


def theirs(objective, x, y, qid, test_x):
    rows = xgboost.DMatrix(x, y)
    rows.set_group(numpy.bincount(qid))
    settings = {"tree_method": "hist", "max_bin": 255, "max_depth": 6, "eta": 0.1, "min_child_weight": 1, "objective": objective, "nthread": 1,
                "verbosity": 0}
    return xgboost.train(settings, rows, num_boost_round=100).predict(xgboost.DMatrix(test_x))


def compare(name, groups, fewest, most, noise):
    x, y, qid = draw(groups, fewest, most, 1, noise)
    test_x, test_y, test_qid = draw(300, fewest, most, 2, noise)
    shuffled = numpy.random.RandomState(3).permutation(len(y))
    write(name + ".train", x, y, qid, shuffled)  # rows of a group are not adjacent
    write(name + ".test", test_x, test_y, test_qid, range(len(test_y)))
    peers = {objective: ndcg(test_y, test_qid, theirs(objective, x, y, qid, test_x)) for objective in ("rank:ndcg", "rank:pairwise")}
    settings = ["--defaults", "angel", "--trees", "100", "--depth", "6", "--lr", "0.1", "--splits", "254", "--min-child-weight", "1", "--valid-ratio",
                "0", "--range", "20"]
    for kind, options in (("same settings", settings), ("own defaults", [])):
        got = ours(name, test_y, test_qid, options)
        wrong = got < max(peers.values()) - 0.01
        print(f"{name}, {kind}: {got:.4f}, xgboost " + ", ".join(f"{k} {v:.4f}" for k, v in peers.items()) + (" WRONG" if wrong else ""), flush=True)
        if wrong:
            bad.append(name)


compare("small groups", 500, 5, 40, 1)
if os.environ.get("FURROW_FULL"):
    compare("large groups", 150, 100, 200, 1.5)
sys.exit(1 if bad else 0)
