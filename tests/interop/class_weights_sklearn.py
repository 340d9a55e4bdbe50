"""tests/interop/class_weights_sklearn.py FURROW: scores of lr and softmax with class-weights against scikit-learn's.

Both find the exact minimum of the same sum, so that scores agree to 1e-3.
"""
import subprocess
import sys

import numpy
from sklearn.linear_model import LogisticRegression

furrow = sys.argv[1]
bad = []


def draw(path, classes):
    random = numpy.random.RandomState(3)
    x = random.normal(0, 1, size=(1200, 5)).round(4)
    z = x @ random.normal(0, 1, 5) + random.normal(0, 1, 1200)
    y = numpy.digitize(z, [2.0] if classes == 2 else [-2.5, 2.0])
    with open(path, "w") as out:
        for i in range(len(y)):
            out.write(f"{y[i]} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(x[i])) + "\n")
    return x, y


def run(*words):
    return subprocess.run([furrow, *words], check=True, stdout=subprocess.PIPE, text=True).stdout


def scores(algorithm, weights):
    run("train", "--model", algorithm, "--train", "rows", "--out", "model", "--force", "-q", "--scale", "none",
        "--class-weights", weights)
    lines = run("predict", "--model", "model", "--data", "rows").splitlines()
    table = [line.split(",") for line in lines]
    return numpy.array([float(cells[2]) for cells in table])


for algorithm, classes in (("lr", 2), ("softmax", 3)):
    x, y = draw("rows", classes)
    plain = None
    for ours, theirs in (("none", None), ("balanced", "balanced"), (",".join("132"[:classes]), dict(enumerate((1, 3, 2)[:classes])))):
        solver = LogisticRegression(C=1, class_weight=theirs, tol=1e-10, max_iter=10000)
        proba = solver.fit(x, y).predict_proba(x)
        expected = proba[:, 1] if classes == 2 else proba.max(axis=1)
        got = scores(algorithm, ours)
        far = numpy.abs(got - expected).max() if len(got) == len(expected) else numpy.inf
        print(f"{algorithm} {ours}: {len(got)} scores, at most {far:.2g} apart")
        if not far < 1e-3:
            bad.append(f"{algorithm} {ours}")
        if plain is not None and numpy.abs(got - plain).max() < 0.05:
            bad.append(f"{algorithm} {ours}: the weights change nothing")
        plain = got if plain is None else plain
sys.exit(f"scores differ: {', '.join(bad)}" if bad else 0)
