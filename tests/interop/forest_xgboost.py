"""tests/interop/forest_xgboost.py FURROW SHARED: boosted trees against xgboost's hist with the same settings.

The data is drawn here from a fixed seed; where SHARED (may be empty) has them, also agaricus, a9a, census and abalone. AUC
must be within 0.002 on rows that neither has seen, RMSE within 0.5 %.
"""
import json
import os
import subprocess
import sys

import numpy
import scipy.sparse
import xgboost

furrow, shared = sys.argv[1:3]
bad = []


# ---- Data: (matrix, labels); columns of the matrix are features, 0-based. Cells that are not stored are missing.

def write(name, x, y):
    with open(name, "w") as out:
        for i in range(x.shape[0]):
            cells = range(x.indptr[i], x.indptr[i + 1])
            out.write(f"{y[i]:.9g} " + " ".join(f"{x.indices[k] + 1}:{x.data[k]:.9g}" for k in cells) + "\n")


def read(name):
    labels, rows, columns, values = [], [], [], []
    base = 0 if name.endswith(".dummy") else 1
    for i, line in enumerate(open(name)):
        words = line.split()
        labels.append(float(words[0]))
        for word in words[1:]:
            index, _, value = word.partition(":")
            rows.append(i)
            columns.append(int(index) - base)
            values.append(float(value or 1))
    shape = (len(labels), max(columns) + 1)
    return scipy.sparse.csr_matrix((numpy.array(values, numpy.float32), (rows, columns)), shape=shape), numpy.array(labels)


def draw(rows, seed, kind):
    """12 features that matter in pairs and steps; of every third one some cells are missing."""
    random = numpy.random.RandomState(seed)
    x = random.normal(size=(rows, 12)).astype(numpy.float32)
    z = x[:, 0] * (1 + x[:, 1]) / 2 - x[:, 2] * (2 - x[:, 3]) / 2 + numpy.where(x[:, 4] > 0.5, 1, -0.5) + 0.6 * abs(x[:, 5])
    there = numpy.ones_like(x, bool)
    there[:, ::3] = random.uniform(size=(rows, 4)) > 0.15
    z += numpy.where(there[:, 6], 0, 0.7)
    if kind == "number":
        y = 5 + 2 * z + random.normal(0, 2, rows)
    elif kind == "classes":
        y = numpy.digitize(z + random.normal(0, 0.3, rows), [-1, 0.3, 1.5])
    else:
        y = (random.uniform(size=rows) < 1 / (1 + numpy.exp(-1.5 * z))).astype(float)
    cells = numpy.nonzero(there)
    return scipy.sparse.csr_matrix((x[cells], cells), shape=x.shape), y


# ---- The two

SETTINGS = {"two": "binary:logistic", "number": "reg:squarederror", "classes": "multi:softmax"}


def ours(kind, train, test, trees, depth, rate, columns, classes, options):
    out = train + ".model"
    subprocess.run([furrow, "train", "--defaults", "angel", "--model", "gbdt", "--train", train, "--out", out, "--range", str(columns), "--trees",
                    str(trees), "--depth", str(depth), "--lr", str(rate), "--splits", "254", "--objective", SETTINGS[kind],
                    "--min-child-weight", "1", "--valid-ratio", "0", "--quiet", "--force", *options,
                    *(["--classes", str(classes)] if classes else [])], check=True)
    text = subprocess.run([furrow, "eval", "--model", out, "--data", test, "--json"], check=True, stdout=subprocess.PIPE)
    return json.loads(text.stdout)


def theirs(kind, x, y, test_x, trees, depth, rate, classes):
    settings = {"tree_method": "hist", "max_bin": 255, "max_depth": depth, "eta": rate, "lambda": 1, "objective":
                SETTINGS[kind], "min_child_weight": 1, "nthread": 1, "verbosity": 0}
    if classes:
        settings["num_class"] = classes
    model = xgboost.train(settings, xgboost.DMatrix(x, y), num_boost_round=trees)
    return model.predict(xgboost.DMatrix(test_x))


def auc(labels, scores):
    values, inverse, counts = numpy.unique(scores, return_inverse=True, return_counts=True)
    ranks = (numpy.cumsum(counts) - (counts - 1) / 2)[inverse]
    positive = labels > 0
    n = positive.sum()
    return (ranks[positive].sum() - n * (n + 1) / 2) / (n * (len(labels) - n))


def check(name, got, peer, bound):
    message = f"{name}: {got:.6f}, xgboost {peer:.6f}"
    if not abs(got - peer) <= bound:
        bad.append(name)
        message += " WRONG"
    print(message, flush=True)


def compare(name, kind, train, test, files=None, trees=50, depth=6, rate=0.2, options=()):
    (x, y), (test_x, test_y) = train, test
    if not files:
        files = (name + ".train", name + ".test")
        write(files[0], x, y)
        write(files[1], test_x, test_y)
    columns = max(x.shape[1], test_x.shape[1])
    x.resize((x.shape[0], columns))
    test_x.resize((test_x.shape[0], columns))
    classes = int(y.max()) + 1 if kind == "classes" else 0
    got = ours(kind, *files, trees, depth, rate, columns, classes, options)
    peer = theirs(kind, x, y if kind != "two" else y > 0, test_x, trees, depth, rate, classes)
    if kind == "two":
        check(name + " AUC", got["auc"], auc(test_y, peer), 0.002)
    elif kind == "number":
        rmse = numpy.sqrt(numpy.mean((peer - test_y) ** 2))
        check(name + " RMSE", got["rmse"], rmse, 0.005 * rmse)
    else:
        check(name + " accuracy", got["accuracy"], numpy.mean(peer == test_y), 0.004)


for kind in ("two", "number", "classes"):
    compare("drawn " + kind, kind, draw(30000, 1, kind), draw(30000, 2, kind))
if shared:
    def data(name):
        return os.path.join(shared, "data", name)

    agaricus = [data("agaricus_127d_train.libsvm"), data("agaricus_127d_test.libsvm")]
    compare("agaricus", "two", *map(read, agaricus))
    a9a = [data("a9a_123d_train.dummy"), data("a9a_123d_test.dummy")]
    compare("a9a", "two", *map(read, a9a))
    census = [data("census_148d_train.dummy"), data("census_148d_test.dummy")]
    compare("census", "two", *map(read, census))
    x, y = read(data("abalone_8d_train.libsvm"))
    compare("abalone", "number", (x[:3000], y[:3000]), (x[3000:], y[3000:]), depth=4, rate=0.1)
sys.exit(1 if bad else 0)
