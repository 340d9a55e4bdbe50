"""tests/interop/eval_sklearn.py FURROW: figures of furrow eval against scikit-learn's, for the scores of furrow predict.

Rows have weights and few different features, so that many scores are ties.
"""
import json
import subprocess
import sys
import warnings

import numpy
from sklearn import metrics

furrow = sys.argv[1]
bad = []
warnings.simplefilter("ignore")  # classes that nothing is predicted as


def draw(path, rows, seed, kind, weighted):
    """Cells of 8 features that are 0, 1 or 2."""
    random = numpy.random.RandomState(seed)
    x = random.randint(0, 3, size=(rows, 8))
    z = x @ random.normal(0, 0.7, 8)
    z -= z.mean()
    if kind == "number":
        y = 1000 + 3 * z + random.normal(0, 1, rows)
    elif kind == "two":
        y = (random.uniform(size=rows) < 1 / (1 + numpy.exp(1.5 - z))).astype(int)
    else:
        y = numpy.digitize(z + random.normal(0, 0.5, rows), [-1.2, 0, 0.4])
    w = random.choice([0, 0.5, 1, 3.25], rows) if weighted else numpy.ones(rows)
    with open(path, "w") as out:
        for i in range(rows):
            cells = " ".join(f"{j + 1}:{v}" for j, v in enumerate(x[i]) if v)
            out.write((f"{y[i]:.9g}:{w[i]}" if weighted else f"{y[i]:.9g}") + f" {cells}\n")
    return x, y, w


def run(*words):
    return subprocess.run([furrow, *words], check=True, stdout=subprocess.PIPE).stdout


def train(path, *options):
    run("train", "--defaults", "angel", "--train", path, "--out", "model", "--range", "8", "--force", "--quiet", *options)


def evaluate(path):
    return json.loads(run("eval", "--model", "model", "--data", path, "--json"))


def predict(path):
    lines = [json.loads(line) for line in run("predict", "--model", "model", "--data", path, "--json").splitlines()]
    return (numpy.array([line[name] for line in lines]) for name in ("pred", "proba", "label"))


def check(name, ours, theirs, bound=1e-12):
    if ours is None or not abs(ours - theirs) <= bound * max(1, abs(theirs)):
        bad.append(name)
        print(f"{name}: {ours}, scikit-learn {theirs} WRONG", flush=True)


def check_classes(name, got, y, label, w, classes, average):
    p, r, f, _ = metrics.precision_recall_fscore_support(y, label, sample_weight=w, average=average)
    check(name + " accuracy", got["accuracy"], metrics.accuracy_score(y, label, sample_weight=w))
    check(name + " precision", got["precision"], p)
    check(name + " recall", got["recall"], r)
    check(name + " F1", got["f1"], f)
    p, r, f, _ = metrics.precision_recall_fscore_support(y, label, sample_weight=w, labels=classes)
    matrix = metrics.confusion_matrix(y, label, sample_weight=w, labels=classes)
    for i, about in enumerate(got["classes"]):
        for key, value in (("precision", p[i]), ("recall", r[i]), ("f1", f[i]), ("rows", matrix[i].sum()),
                           ("predicted", matrix[:, i].sum())):
            check(f"{name} class {about['label']} {key}", about[key], value)
        for j in range(len(classes)):
            check(f"{name} confusion {i} {j}", got["confusion"][i][j], matrix[i][j])
    shares = numpy.array([w[y == k].sum() for k in classes]) / w.sum()
    check(name + " constant accuracy", got["constant_accuracy"], shares.max())
    constant = numpy.tile(shares, (len(y), 1))
    check(name + " constant logloss", got["constant_logloss"],
          metrics.log_loss(y, constant, sample_weight=w, labels=classes), 1e-9)
    print(f"{name}: accuracy {got['accuracy']:.4f}, F1 {got['f1']:.4f}", flush=True)


def two_classes(name, path, y, w, *options):
    train(path, *options)
    got, (pred, proba, label) = evaluate(path), predict(path)
    check(name + " AUC", got["auc"], metrics.roc_auc_score(y, pred, sample_weight=w))
    check(name + " PR-AUC", got["pr_auc"], metrics.average_precision_score(y, pred, sample_weight=w))
    check(name + " logloss", got["logloss"], metrics.log_loss(y, proba, sample_weight=w), 1e-7)
    check(name + " binned", float(got["binned"]), 0)
    check_classes(name, got, 2 * y - 1, label.astype(int), w, [-1, 1], "binary")
    if len(set(pred)) > len(pred) / 2:
        bad.append(name + ": there are few ties to test")


def several_classes(name, path, y, w, count, *options):
    train(path, "--classes", str(count), *options)
    got, (pred, proba, label) = evaluate(path), predict(path)
    check_classes(name, got, y, label.astype(int), w, range(count), "macro")
    if count == 2:  # the other class has the rest of the probability
        both = numpy.where((label == 1)[:, None], numpy.stack([1 - proba, proba], 1), numpy.stack([proba, 1 - proba], 1))
        check(name + " logloss", got["logloss"], metrics.log_loss(y, both, sample_weight=w), 1e-6)
    return got


def matrix(name):
    run("model", "export", "model/" + name, "m.npy", "--by", "row", "--no-ids", "--force", "--quiet")
    return numpy.load("m.npy").astype(float)


def softmax_of_weights(name, got, x, y, w):
    z = x @ matrix("input_weight").T + matrix("input_bias").reshape(1, -1)
    p = numpy.exp(z - z.max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    check(name + " logloss", got["logloss"], metrics.log_loss(y, p, sample_weight=w), 1e-5)


def regression(name, path, y, w, *options):
    train(path, *options)
    got, (pred, _, _) = evaluate(path), predict(path)
    check(name + " RMSE", got["rmse"], numpy.sqrt(metrics.mean_squared_error(y, pred, sample_weight=w)), 1e-6)
    check(name + " MAE", got["mae"], metrics.mean_absolute_error(y, pred, sample_weight=w), 1e-6)
    check(name + " R2", got["r2"], metrics.r2_score(y, pred, sample_weight=w), 1e-5)
    mean = numpy.full(len(y), numpy.average(y, weights=w))
    check(name + " constant RMSE", got["constant_rmse"],
          numpy.sqrt(metrics.mean_squared_error(y, mean, sample_weight=w)), 1e-6)
    print(f"{name}: RMSE {got['rmse']:.4f}, R2 {got['r2']:.4f}", flush=True)


for weighted in (False, True):
    kind = "weighted " if weighted else ""
    _, y, w = draw("two", 12000, 1, "two", weighted)
    two_classes(kind + "lr", "two", y, w, "--model", "lr", "--epochs", "5")
    two_classes(kind + "lr of doubles", "two", y, w, "--model", "lr", "--epochs", "5", "--model-type", "T_DOUBLE_DENSE")
    two_classes(kind + "svm", "two", y, w, "--model", "svm", "--epochs", "5")
    two_classes(kind + "gbdt", "two", y, w, "--model", "gbdt", "--trees", "5")
    several_classes(kind + "gbdt of 2 classes", "two", y, w, 2, "--model", "gbdt", "--trees", "5", "--objective",
                    "multi:softmax")
    x, y, w = draw("four", 4000, 2, "four", weighted)
    got = several_classes(kind + "softmax", "four", y, w, 4, "--model", "softmax", "--epochs", "5")
    softmax_of_weights(kind + "softmax", got, x, y, w)
    several_classes(kind + "gbdt of 4 classes", "four", y, w, 4, "--model", "gbdt", "--trees", "5", "--objective",
                    "multi:softmax")
    _, y, w = draw("number", 4000, 3, "number", weighted)
    regression(kind + "gbdt of numbers", "number", y, w, "--model", "gbdt", "--trees", "20", "--objective",
               "reg:squarederror")
for name in bad:
    print("wrong:", name)
sys.exit(1 if bad else 0)
