"""tests/interop/learn_sklearn.py FURROW SHARED: linear models against the optimum that scikit-learn's solvers find.

The data is drawn here from a fixed seed; where SHARED (may be empty) has them, also a9a, agaricus and abalone.
"""
import json
import os
import subprocess
import sys

import numpy
import scipy.sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

furrow, shared = sys.argv[1:3]
bad = []


def draw(path):
    """2,000 rows, 30 features of which a row has about 12, labels of a logistic truth."""
    random = numpy.random.RandomState(3)
    x = scipy.sparse.random(2000, 30, density=0.4, format="csr", random_state=random)
    z = x @ random.normal(0, 2, 30) - 0.5
    y = (random.uniform(size=2000) < 1 / (1 + numpy.exp(-z))).astype(int)
    dump_svmlight_file(x, y, path, zero_based=False)
    dump_svmlight_file(x, z + random.normal(0, 0.3, 2000), path + ".real", zero_based=False)


def evaluate(model, path, out, columns, *options):
    subprocess.run([furrow, "train", "--defaults", "angel", "--model", model, "--train", path, "--out", out, "--range", str(columns),
                    "--valid-ratio", "0", "--quiet", *options], check=True)
    text = subprocess.run([furrow, "eval", "--model", out, "--data", path, "--json"], check=True, stdout=subprocess.PIPE)
    return json.loads(text.stdout)


def check(name, ours, theirs, bound):
    message = f"{name}: {ours:.6f}, scikit-learn {theirs:.6f}"
    if not abs(ours - theirs) <= bound:
        bad.append(name)
        message += " WRONG"
    print(message, flush=True)


def logistic(name, path, epochs, rate):
    x, y = load_svmlight_file(path)
    y = y > 0
    peer = LogisticRegression(C=1e5, max_iter=3000, tol=1e-8).fit(x, y)
    p = peer.predict_proba(x)[:, 1]
    got = evaluate("lr", path, name + ".lr", x.shape[1], "--optimizer", "momentum", "--lr", rate, "--epochs", epochs,
                   "--batch", "256", "--shuffle", "yes", "--decay-alpha", "0.3")
    check(name + " logloss", got["logloss"], log_loss(y, p), 0.001)
    check(name + " AUC", got["auc"], roc_auc_score(y, p), 0.001)


def linear(name, path, epochs, rate):
    x, y = load_svmlight_file(path)
    peer = LinearRegression().fit(x, y)
    rmse = numpy.sqrt(((peer.predict(x) - y) ** 2).mean())
    got = evaluate("linear", path, name + ".linear", x.shape[1], "--lr", rate, "--epochs", epochs, "--batch", "64",
                   "--decay-alpha", "0.05")
    check(name + " RMSE", got["rmse"], rmse, 0.01 * rmse)


draw("drawn.libsvm")
logistic("drawn", "drawn.libsvm", "500", "1")
linear("drawn", "drawn.libsvm.real", "300", "0.2")
if shared:
    logistic("a9a", os.path.join(shared, "data", "a9a_123d_train.libsvm"), "120", "0.2")
    linear("abalone", os.path.join(shared, "data", "abalone_8d_train.libsvm"), "1000", "0.3")
sys.exit(1 if bad else 0)
