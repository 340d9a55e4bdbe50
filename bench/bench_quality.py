#!/usr/bin/env python3
"""bench/bench_quality.py: how good models are that Furrow trains with default settings, beside its peers.

Writes each data set as libsvm text, trains every algorithm that fits with `furrow train --model NAME`, scores rows that were
not trained on, and computes AUC, logloss, RMSE or accuracy of these scores itself, in the same way for Furrow and for
scikit-learn (LogisticRegression and Ridge on raw and on standardised features, HistGradientBoosting) and xgboost. A figure
beside a goal is marked: `+` met, `-` missed; ERR: the command failed; `!`: training diverged without an error; `c`: worse
than a constant.

Data sets: files of --data (NAME_…_train.libsvm), those inside scikit-learn, and generated ones. Splits, generators and
training are seeded: the same build gives the same tables. --settings tries settings other than the defaults.
"""
import argparse
import concurrent.futures
import glob
import json
import math
import os
import subprocess
import sys
import tempfile
import warnings
import zlib

from bench_model_peers import use_python_with
from bench_rows_peers import HERE, machine, print_table

DEEP = ["nfm", "dnn", "wide_and_deep", "deepfm", "pnn"]
ALGORITHMS = {
    "binary": ["lr", "svm", "mlr", "fm", *DEEP, "gbdt"],
    "classes": ["softmax", "gbdt"],
    "real": ["linear", "dnn", "gbdt"],
}
PEERS = {
    "binary": ["LogReg", "LogReg+std", "xgboost", "HGB"],
    "classes": ["LogReg", "LogReg+std", "xgboost", "HGB"],
    "real": ["Ridge", "Ridge+std", "xgboost", "HGB"],
}
FIGURES = {"binary": "AUC/logloss", "classes": "accuracy", "real": "RMSE"}
NEEDS_FIELDS = ["wide_and_deep", "deepfm", "pnn"]
QUICK = ["breast_cancer", "wine", "diabetes", "sorted", "wild", "xor", "offset", "labels_1_2"]


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build"), help="build folder (build)")
    parser.add_argument("--furrow", help="the command, where it is not in the build folder")
    parser.add_argument("--data", default=os.path.join(HERE, "..", "..", "shared", "data"), metavar="DIR",
                        help="folder of *_train.libsvm files (../shared/data; none there: left out)")
    parser.add_argument("--sets", help="data sets, separated by commas (all; --list prints them)")
    parser.add_argument("--algorithms", help="separated by commas (all)")
    parser.add_argument("--rows", type=int, default=8000, help="training rows of a set, and test rows, at most (8000)")
    parser.add_argument("--split", type=int, default=1, help="seed of generators and splits (1)")
    parser.add_argument("--seed", type=int, default=1, help="of furrow train (1)")
    parser.add_argument("--settings", metavar="FILE", help="settings by algorithm, as JSON: see settings_of()")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="commands at once (one per core)")
    parser.add_argument("--quick", action="store_true", help=f"the sets {', '.join(QUICK)}; 2000 rows")
    parser.add_argument("--list", action="store_true", help="print the data sets and end")
    parser.add_argument("--peers-of", metavar="FILE", help="take the peers' figures from the JSON of an earlier run")
    parser.add_argument("--scratch", help="folder to work in")
    parser.add_argument("--out", "--json", metavar="FILE", help="write the results as JSON")
    options = parser.parse_args()
    if options.quick:
        options.rows, options.sets = min(options.rows, 2000), options.sets or ",".join(QUICK)
    options.sets = options.sets.split(",") if options.sets else None
    options.algorithms = options.algorithms.split(",") if options.algorithms else None
    options.furrow = options.furrow or os.path.join(options.build, "furrow")
    return options


use_python_with("sklearn", "python3-sklearn")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # sets run side by side; read when NumPy is loaded
import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402
from sklearn import datasets  # noqa: E402
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor  # noqa: E402
from sklearn.linear_model import LogisticRegression, Ridge  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

try:
    import xgboost
except ImportError:
    xgboost = None

# ---- Data sets ----


class DataSet:
    """Rows to train on and rows to test on; rows of dense sets are written with their zeros."""

    def __init__(self, name, kind, rows, tests, must_beat_lr=()):
        self.name, self.kind, self.must_beat_lr = name, kind, must_beat_lr
        (self.x, self.y), (self.test_x, self.test_y) = rows, tests
        self.dense = not sp.issparse(self.x)

    def row_length(self):
        """The number of features of every row, or None where rows differ"""
        if self.dense:
            return self.x.shape[1]
        lengths = np.concatenate([np.diff(self.x.indptr), np.diff(self.test_x.indptr)])
        return int(lengths[0]) if lengths.min() == lengths.max() else None


def random_of(options, name):
    return np.random.default_rng([options.split, zlib.crc32(name.encode())])


def split(options, name, kind, x, y):
    """Three of ten rows test, drawn by the seed"""
    order, tests = random_of(options, "split " + name).permutation(len(y)), int(len(y) * 0.3)
    test, train = order[:tests][:options.rows], order[tests:][:options.rows]
    return DataSet(name, kind, (x[train], y[train]), (x[test], y[test]))


def read_libsvm(path):
    labels, indices, values, ends = [], [], [], [0]
    with open(path, encoding="ascii") as text:
        for line in text:
            words = line.split()
            labels.append(float(words[0]))
            for word in words[1:]:
                index, value = word.split(":")
                indices.append(int(index))
                values.append(float(value))
            ends.append(len(indices))
    indices = np.array(indices) - min(indices)
    return sp.csr_matrix((values, indices, ends)), np.array(labels)


def draw(random, score):
    return (random.random(len(score)) < 1 / (1 + np.exp(-score))).astype(float)


def sorted_by_label(x, y, rows):
    """Training rows in the order of their labels, test rows as they are"""
    order = np.concatenate([np.argsort(y[:rows], kind="stable"), np.arange(rows, len(y))])
    return x[order], y[order]


def one_hot(columns, sizes):
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    n, fields = columns.shape
    return sp.csr_matrix((np.ones(n * fields), (columns + starts).reshape(-1), np.arange(0, n * fields + 1, fields)),
                         shape=(n, int(sum(sizes))))


def make_rare(random, rows, count):
    x = (random.random((count, 300)) < 0.1).astype(float)
    score = x @ random.normal(0, 1, 300)
    y = (score + random.logistic(0, 0.5, count) > np.quantile(score, 0.97)).astype(float)
    x, y = sorted_by_label(x, y, rows)
    return sp.csr_matrix(x), y


def make_sorted(random, rows, count):
    x = random.normal(0, 1, (count, 20))
    return sorted_by_label(x, draw(random, 1.5 * x @ random.normal(0, 0.5, 20)), rows)


def make_wild(random, rows, count):
    x = random.normal(0, 1, (count, 20))
    y = draw(random, x @ random.normal(0, 0.7, 20) - 1)
    return x * 10.0 ** random.uniform(-3, 5, 20) + 10.0 ** random.uniform(-3, 5, 20) * (random.random(20) < 0.3), y


def make_skewed(random, rows, count):
    x = np.floor(random.lognormal(1, 2, (count, 15)))
    return x, draw(random, np.log1p(x) @ random.normal(0, 0.6, 15) - 0.5)


def make_clicks(random, rows, count, sizes=(100, 80), rate=0.0):
    columns = np.stack([np.minimum(random.zipf(1.3, count) - 1, size - 1) if size > 90 else random.integers(0, size, count)
                        for size in sizes], 1)
    columns = np.stack([random.permutation(size)[columns[:, f]] for f, size in enumerate(sizes)], 1)
    weights = [random.normal(0, 0.5, size) for size in sizes]
    factors = [random.normal(0, 0.9, (size, 4)) for size in sizes]
    score = sum(w[columns[:, f]] for f, w in enumerate(weights)) + rate
    for f in range(len(sizes)):
        for g in range(f):
            score = score + (factors[f][columns[:, f]] * factors[g][columns[:, g]]).sum(1) / (len(sizes) - 1)
    return one_hot(columns, sizes), draw(random, score)


def make_xor(random, rows, count):
    x = random.choice([-1.0, 1.0], (count, 10))
    return x, draw(random, 3 * x[:, 0] * x[:, 1] + 0.3 * x[:, 2])


def make_pairs(random, rows, count):
    x = random.normal(0, 1, (count, 12))
    return x, draw(random, x @ random.normal(0, 0.4, 12) + 1.5 * x[:, 0] * x[:, 1] - 1.2 * x[:, 2] * x[:, 3])


def make_small(random, rows, count):
    x = random.normal(0, 1, (count, 10))
    return x, draw(random, x @ random.normal(0, 0.8, 10))


def make_noise(random, rows, count):
    return random.normal(0, 1, (count, 10)), draw(random, np.full(count, -0.8))


def make_words(random, rows, count, topics=2, words=600):
    """Rows of about 40 words by Zipf's law, tf-idf, length 1; the label is the topic, 5 % of them wrong."""
    popular = 1 / np.arange(1, words + 1)
    topic = random.integers(0, topics, count)
    tilt = np.exp(random.normal(0, 0.7, (topics, words)))
    table = np.zeros((count, words), np.float32)
    for t in range(topics):
        own = popular * tilt[t] / (popular * tilt[t]).sum()
        which = np.flatnonzero(topic == t)
        table[which] = random.multinomial(40, own, len(which))
    x = table * np.log(count / (1 + (table > 0).sum(0)))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    wrong = random.random(count) < 0.05
    return sp.csr_matrix(x), np.where(wrong, random.integers(0, topics, count), topic).astype(float)


def make_labels_1_2(random, rows, count):
    x, y = make_small(random, rows, count)
    return x, y + 1


def make_classes(random, rows, count, classes=3, first=1):
    x = random.normal(0, 1, (count, 16))
    score = x @ random.normal(0, 0.8, (16, classes)) + random.gumbel(0, 1, (count, classes))
    return x, score.argmax(1).astype(float) + first


def make_offset(random, rows, count):
    x = random.normal(0, 1, (count, 12)) * random.uniform(0.5, 5, 12)
    return x, 1e4 + x @ random.normal(0, 1, 12) + random.normal(0, 3, count)


def make_wild_real(random, rows, count):
    x, _ = make_wild(random, rows, count)
    return x, 50 + (x - x.mean(0)) / x.std(0) @ random.normal(0, 3, 20) + random.normal(0, 4, count)


def make_friedman(random, rows, count):
    x = random.random((count, 10))
    return x, (10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
               + random.normal(0, 1, count))


# name: (kind, generator, training rows, test rows, algorithms that must beat lr, arguments)
GENERATED = {
    "rare": ("binary", make_rare, 6000, 6000, (), {}),
    "sorted": ("binary", make_sorted, 4000, 4000, (), {}),
    "wild": ("binary", make_wild, 4000, 4000, (), {}),
    "skewed": ("binary", make_skewed, 3000, 3000, (), {}),
    "users_items": ("binary", make_clicks, 8000, 6000, ("fm", "deepfm", "nfm", "gbdt"), {"sizes": (60, 50)}),
    "clicks": ("binary", make_clicks, 8000, 8000, (), {"sizes": (500, 300, 20, 7, 4), "rate": -3.0}),
    "xor": ("binary", make_xor, 3000, 3000, ("fm", "deepfm", "nfm", "dnn", "gbdt"), {}),
    "pairs": ("binary", make_pairs, 4000, 4000, ("fm", "deepfm", "nfm", "dnn", "gbdt"), {}),
    "small": ("binary", make_small, 200, 3000, (), {}),
    "noise": ("binary", make_noise, 2000, 3000, (), {}),
    "words": ("binary", make_words, 3000, 3000, (), {}),
    "labels_1_2": ("binary", make_labels_1_2, 2000, 3000, (), {}),
    "labels_1_3": ("classes", make_classes, 2000, 3000, (), {}),
    "classes_20": ("classes", make_classes, 4000, 4000, (), {"classes": 20, "first": 0}),
    "topics": ("classes", make_words, 3000, 3000, (), {"topics": 6}),
    "offset": ("real", make_offset, 3000, 3000, (), {}),
    "wild_real": ("real", make_wild_real, 3000, 3000, (), {}),
    "friedman": ("real", make_friedman, 3000, 3000, (), {}),
}


def of_scikit(name):
    """(kind, rows, labels)"""
    if name == "digits_binary":
        x, y = datasets.load_digits(return_X_y=True)
        return "binary", x, (y % 2).astype(float)
    if name == "diabetes_raw":
        x, y = datasets.load_diabetes(return_X_y=True, scaled=False)
        return "real", x, y
    x, y = getattr(datasets, "load_" + name)(return_X_y=True)
    return {"breast_cancer": "binary", "diabetes": "real"}.get(name, "classes"), x, y.astype(float)


SCIKIT = ["breast_cancer", "digits_binary", "digits", "wine", "iris", "diabetes", "diabetes_raw"]


def list_sets(options):
    """name → function that makes it"""
    sets = {}
    for path in sorted(glob.glob(os.path.join(options.data, "*_train.libsvm"))):
        name = os.path.basename(path).split("_")[0]

        def from_file(name=name, path=path):
            x, y = read_libsvm(path)
            return split(options, name, "binary" if len(np.unique(y)) == 2 else "real", x, y)
        sets[name] = from_file
    for name in SCIKIT:
        def from_scikit(name=name):
            kind, x, y = of_scikit(name)
            return split(options, name, kind, x, y)
        sets[name] = from_scikit
    for name, (kind, make, rows, tests, must_beat_lr, arguments) in GENERATED.items():
        def generate(name=name, kind=kind, make=make, rows=rows, tests=tests, must=must_beat_lr, arguments=arguments):
            rows, tests = min(rows, options.rows), min(tests, options.rows)
            x, y = make(random_of(options, name), rows, rows + tests, **arguments)
            return DataSet(name, kind, (x[:rows], y[:rows]), (x[rows:], y[rows:]), must)
        sets[name] = generate
    return sets


def write_libsvm(path, x, y):
    with open(path, "w", encoding="ascii") as out:
        if not sp.issparse(x):
            for row, label in zip(x, y):
                out.write(f"{label:.10g} " + " ".join(f"{i + 1}:{v:.7g}" for i, v in enumerate(row)) + "\n")
            return
        for r, label in enumerate(y):
            at = slice(x.indptr[r], x.indptr[r + 1])
            pairs = sorted(zip(x.indices[at], x.data[at]))
            out.write(f"{label:.10g} " + " ".join(f"{i + 1}:{v:.7g}" for i, v in pairs) + "\n")


# ---- Figures ----


def auc_of(score, positive):
    """The share of pairs in the right order; equal scores count half."""
    order = np.argsort(score, kind="stable")
    ranked, ranks = score[order], np.empty(len(score))
    starts = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
    lengths = np.diff(np.concatenate([starts, [len(score)]]))
    ranks[order] = np.repeat(starts + (lengths + 1) / 2, lengths)
    n = int(positive.sum())
    return float((ranks[positive].sum() - n * (n + 1) / 2) / (n * (len(score) - n)))


def figures_of(data, score, probability=None, loss=True):
    """Figures of test rows: scores of binary and real sets (log odds, unless probabilities are given), labels of others"""
    if data.kind == "classes":
        return {"accuracy": float(np.mean(score == data.test_y))}
    if not np.isfinite(score).all():
        return {"finite": False}
    if data.kind == "real":
        return {"rmse": float(np.sqrt(np.mean((score - data.test_y) ** 2)))}
    positive = data.test_y == data.test_y.max()
    found = {"auc": auc_of(score, positive)}
    if loss and probability is not None:
        p = np.clip(probability.astype(float), 1e-7, 1 - 1e-7)
        found["logloss"] = float(-np.mean(np.where(positive, np.log(p), np.log(1 - p))))
    elif loss:
        found["logloss"] = float(np.mean(np.logaddexp(0, np.where(positive, -score, score))))
    return found


def constant_of(data):
    """Figures of the best constant of the training rows"""
    if data.kind == "classes":
        values, counts = np.unique(data.y, return_counts=True)
        return {"accuracy": float(np.mean(data.test_y == values[counts.argmax()]))}
    if data.kind == "real":
        return {"rmse": float(np.sqrt(np.mean((data.y.mean() - data.test_y) ** 2)))}
    p = np.mean(data.y == data.y.max())
    return figures_of(data, np.full(len(data.test_y), math.log(p / (1 - p))))


def is_worse_than_constant(found, constant):
    """By more than the noise of a test set, which one percent stands for"""
    if "accuracy" in found:
        return found["accuracy"] < constant["accuracy"]
    if "rmse" in found:
        return found["rmse"] > constant["rmse"] * 1.01
    return found["logloss"] > constant["logloss"] * 1.01 if "logloss" in found else found["auc"] < 0.49


# ---- Peers ----


def run_peer(data, peer):
    warnings.simplefilter("ignore")
    x, test = data.x, data.test_x
    values, y = np.unique(data.y, return_inverse=True) if data.kind != "real" else (None, data.y)
    scaler = StandardScaler(with_mean=data.dense)
    if peer.startswith("LogReg") or peer.startswith("Ridge"):
        model = LogisticRegression() if peer.startswith("LogReg") else Ridge()
        model = make_pipeline(scaler, model) if peer.endswith("+std") else model
    elif peer == "HGB":
        model = HistGradientBoostingRegressor(random_state=0) if data.kind == "real" else \
            HistGradientBoostingClassifier(random_state=0)
        if not data.dense:
            x, test = x.toarray(), test.toarray()
    else:
        model = (xgboost.XGBRegressor if data.kind == "real" else xgboost.XGBClassifier)(n_jobs=1, random_state=0)
    model.fit(x, y)
    if data.kind == "real":
        return figures_of(data, model.predict(test).astype(float))
    if data.kind == "classes":
        return figures_of(data, values[model.predict(test).astype(int)])
    p = model.predict_proba(test)[:, 1].astype(float)
    return figures_of(data, p, p)


# ---- Furrow ----


def settings_of(options):
    """{algorithm or "*": settings}; what an algorithm has wins over "*". Settings:

    options   a list of arguments for furrow train; one that starts with = is a formula of n (training rows), d (features),
              classes and min, max, ceil, sqrt: "=max(30, ceil(40000 / n))"
    conf      the JSON file of furrow train, for what options cannot say (rates of single layers)
    scale     what the script divides each feature by, standing for what training could do: "rms1" max(1, root mean square of
              its values that are not 0), "rms" without the 1, "std" the deviation of all its values; "auto": a feature of
              dense rows with many values, most of them not 0, minus its mean, divided by its deviation; others as "rms1"
    constant  true: a feature of value 1 in each row, as a bias that the optimizer trains
    labels    "standard": regression labels minus mean, divided by deviation; "index": classes as 0, 1, …
    """
    if not options.settings:
        return {}
    with open(options.settings, encoding="utf-8") as text:
        return json.load(text)


def scale_of(x, how):
    """(what is subtracted, what features are divided by)"""
    full = x.toarray() if sp.issparse(x) else x
    present = (full != 0).sum(0)
    rms, mean, deviation = np.sqrt((full ** 2).sum(0) / np.maximum(present, 1)), full.mean(0), full.std(0)
    scale = {"std": deviation, "rms": rms}.get(how, np.maximum(rms, 1))
    shift = np.zeros(len(scale))
    if how == "auto" and not sp.issparse(x):
        alike = (full == 0) | (full == full.max(0))  # 0 and one other value: an indicator stays as it is
        many = (2 * present >= len(full)) & ~alike.all(0)
        scale, shift = np.where(many, deviation, scale), np.where(many, mean, shift)
    return shift, np.where(scale > 0, scale, 1)


def scaled(x, shift, scale):
    return x @ sp.diags(1 / scale) if sp.issparse(x) else (x - shift) / scale


def with_constant(x):
    ones = np.ones((x.shape[0], 1))
    return sp.hstack([x, ones], format="csr") if sp.issparse(x) else np.hstack([x, ones])


def prepare(data, settings, folder):
    """(training file, test file, function that turns scores back)"""
    x, test, y, back = data.x, data.test_x, data.y, lambda score: score
    if "scale" in settings:
        scale = scale_of(x, settings["scale"])
        x, test = scaled(x, *scale), scaled(test, *scale)
    if settings.get("constant"):
        x, test = with_constant(x), with_constant(test)
    test_y = data.test_y
    if settings.get("labels") == "standard" and data.kind == "real":
        mean, deviation = y.mean(), y.std()
        y, back = (y - mean) / deviation, lambda score: score * deviation + mean
    if settings.get("labels") == "index" and data.kind != "real":
        values = np.unique(y)
        y, test_y = np.searchsorted(values, y), np.minimum(np.searchsorted(values, test_y), len(values) - 1)
        if data.kind == "classes":
            def back(label):
                return values[label.astype(int)]
    key = json.dumps([settings.get(k) for k in ("scale", "constant", "labels")])
    paths = [os.path.join(folder, f"{data.name}.{zlib.crc32(key.encode())}.{part}") for part in ("train", "test")]
    for path, rows, labels in zip(paths, (sp.csr_matrix(x) if sp.issparse(x) else x, test), (y, test_y)):
        if not os.path.exists(path):
            write_libsvm(path + ".new", rows, labels)
            os.rename(path + ".new", path)
    return *paths, back


def needed(data, algorithm):
    """What a user has to say: it follows from the data, not from a choice"""
    classes = len(np.unique(data.y))
    words = ["--classes", str(classes)] if data.kind == "classes" else []
    if algorithm == "gbdt" and data.kind != "binary":
        words += ["--objective", "multi:softmax" if data.kind == "classes" else "reg:squarederror"]
    if algorithm == "dnn" and data.kind == "real":
        words += ["--loss", "l2"]
    return words


def train(options, data, algorithm, settings, folder):
    """(figures, what went wrong)"""
    train_file, test_file, back = prepare(data, settings, folder)
    model = os.path.join(folder, f"{data.name}.{algorithm}.model")
    names = {"n": len(data.y), "d": data.x.shape[1], "classes": len(np.unique(data.y)), "min": min, "max": max,
             "ceil": math.ceil, "sqrt": math.sqrt}
    words = [str(eval(word[1:], {"__builtins__": {}}, names)) if word.startswith("=") else word
             for word in map(str, settings.get("options", []))]
    if algorithm in NEEDS_FIELDS and data.row_length():
        words += ["--fields", str(data.row_length() + (1 if settings.get("constant") else 0))]
    start = ["--model", algorithm]
    if "conf" in settings:
        with open(model + ".conf", "w", encoding="utf-8") as out:
            json.dump(settings["conf"], out)
        start = ["--conf", model + ".conf", "-D", "algorithm=" + algorithm]
    done = subprocess.run([options.furrow, "train", *start, "--train", train_file, "--out", model, "--force", "--json",
                           "--threads", "1", "--seed", str(options.seed), *needed(data, algorithm), *words],
                          capture_output=True, text=True)
    if done.returncode != 0:
        return None, "train: " + done.stderr.strip().replace(folder + os.sep, "")[-300:]
    epochs = json.loads(done.stdout).get("epochs", [])
    losses = [epoch["train"]["loss"] for epoch in epochs if epoch.get("train")] if isinstance(epochs, list) else []
    scores = model + ".npy"
    done = subprocess.run([options.furrow, "predict", "--model", model, "--data", test_file, "--scores", scores, "--force",
                           "--threads", "1", "--quiet"], capture_output=True, text=True)
    if done.returncode != 0:
        return None, "predict: " + done.stderr.strip().replace(folder + os.sep, "")[-300:]
    table = np.load(scores).astype(float)
    if data.kind == "classes":
        return figures_of(data, back(table[:, 2])), None
    if algorithm == "mlr":
        return figures_of(data, table[:, 0], table[:, 1]), None
    found = figures_of(data, back(table[:, 0]), loss=algorithm != "svm")
    if any(loss is None for loss in losses) or not found.get("finite", True):
        return found, "diverged"
    return found, None


# ---- Goals ----


def judge(data, algorithm, found, figures):
    """True: the goal is met; False: it is missed; None: there is none, or its peer is missing"""
    def best(names, key, choose):
        values = [figures[name][key] for name in names if figures.get(name) and key in figures[name]]
        return choose(values) if values else None

    key, choose = {"binary": ("auc", max), "classes": ("accuracy", max), "real": ("rmse", min)}[data.kind]
    if key not in found:
        return False
    if algorithm == "gbdt":
        peer = best(["xgboost", "HGB"], key, choose)
        if peer is None:
            return None
        return found[key] <= peer * 1.003 if data.kind == "real" else found[key] >= peer - 0.003
    if algorithm == "softmax":
        peer = best(["LogReg"], key, choose)
        return None if peer is None else found[key] >= peer - 0.01
    if algorithm in ("linear", "dnn") and data.kind == "real":
        peer = best(["Ridge" if algorithm == "linear" else "linear"], key, choose)
        return None if peer is None else found[key] <= peer * 1.02
    if algorithm == "lr":
        peer = figures.get("LogReg")
        return None if not peer else found["auc"] >= peer["auc"] - 0.003 and found["logloss"] <= peer["logloss"] * 1.02
    lr = best(["lr"], key, choose)
    if algorithm == "svm" or lr is None:
        return None
    return found["auc"] >= lr + (0.02 if algorithm in data.must_beat_lr else -0.003)


def judge_all(data, figures, troubles):
    constant, marks = constant_of(data), {}
    for algorithm in ALGORITHMS[data.kind]:
        if algorithm not in figures:
            continue
        found = figures[algorithm]
        if found is None:
            marks[algorithm] = {"error": True, "goal": False}
            continue
        value = found.get("logloss", found.get("rmse"))
        limit = constant.get("logloss", constant.get("rmse"))
        diverged = troubles.get(algorithm) == "diverged" or (value is not None and value > 10 * limit)
        marks[algorithm] = {"error": False, "diverged": diverged, "goal": judge(data, algorithm, found, figures),
                            "worse_than_constant": not found.get("finite", True) or is_worse_than_constant(found, constant)}
    return constant, marks


def text_of(found):
    if found is None:
        return "ERR"
    if not found.get("finite", True):
        return "nan"
    if "auc" in found:
        return f"{found['auc']:.4f}" + (f"/{found['logloss']:.4f}" if "logloss" in found else "")
    return f"{found['accuracy']:.4f}" if "accuracy" in found else f"{found['rmse']:.5g}"


def cell(found, mark):
    goal = {True: " +", False: " -", None: ""}[mark["goal"]]
    return text_of(found) + goal + ("!" if mark.get("diverged") else "") + \
        ("c" if mark.get("worse_than_constant") and not mark.get("diverged") else "")


def report(results):
    for kind in ALGORITHMS:
        of_kind = [result for result in results if result["kind"] == kind]
        if not of_kind:
            continue
        algorithms = [a for a in ALGORITHMS[kind] if any(a in r["figures"] for r in of_kind)]
        peers = [p for p in PEERS[kind] if any(p in r["figures"] for r in of_kind)]
        rows = []
        for result in of_kind:
            row = [result["set"], text_of(result["constant"])]
            row += [cell(result["figures"][a], result["marks"][a]) if a in result["figures"] else "" for a in algorithms]
            rows.append(row + [text_of(result["figures"][p]) if p in result["figures"] else "" for p in peers])
        title = {"binary": "Two classes", "classes": "More classes", "real": "Numbers"}[kind]
        print_table(f"{title}: {FIGURES[kind]}", ["data set", "constant", *algorithms, *peers], rows)
    counts = count(results)
    rows = [[name, str(c["runs"]), f"{c['met']} of {c['judged']}", str(c["errors"]), str(c["diverged"]), str(c["constant"])]
            for name, c in counts.items()]
    head = ["algorithm", "runs", "goals met", "errors", "diverged", "worse than a constant"]
    print_table("Goals and failures", head, rows)
    return counts


def count(results):
    order = list(dict.fromkeys(a for kind in ALGORITHMS.values() for a in kind))
    keys = ("runs", "met", "judged", "errors", "diverged", "constant")
    counts = {name: dict.fromkeys(keys, 0) for name in [*order, "all"]}
    for result in results:
        for algorithm, mark in result["marks"].items():
            for c in (counts[algorithm], counts["all"]):
                c["runs"] += 1
                c["judged"] += mark["goal"] is not None
                c["met"] += mark["goal"] is True
                c["errors"] += mark["error"]
                c["diverged"] += bool(mark.get("diverged"))
                c["constant"] += bool(mark.get("worse_than_constant") and not mark.get("diverged"))
    return {name: c for name, c in counts.items() if c["runs"]}


def peers_of(options):
    """{data set: {peer: figures}} of an earlier run with the same rows and split"""
    if not options.peers_of:
        return {}
    with open(options.peers_of, encoding="utf-8") as text:
        earlier = json.load(text)
    if (earlier["rows"], earlier["split"]) != (options.rows, options.split):
        sys.exit(f"bench_quality: {options.peers_of} is of other rows or another split")
    return {result["set"]: result["figures"] for result in earlier["results"]}


def measure_set(options, settings, known, make, folder):
    data = make()
    figures, troubles = {}, {}
    for algorithm in ALGORITHMS[data.kind]:
        if options.algorithms and algorithm not in options.algorithms:
            continue
        own = {**settings.get("*", {}), **settings.get(algorithm, {})}
        figures[algorithm], trouble = train(options, data, algorithm, own, folder)
        if trouble:
            troubles[algorithm] = trouble
    for peer in PEERS[data.kind]:
        if data.name in known:
            figures[peer] = known[data.name].get(peer)
        elif peer != "xgboost" or xgboost:
            figures[peer] = run_peer(data, peer)
    constant, marks = judge_all(data, figures, troubles)
    return {"set": data.name, "kind": data.kind, "rows": len(data.y), "tests": len(data.test_y), "features": data.x.shape[1],
            "constant": constant, "figures": figures, "marks": marks, "troubles": troubles}


def main():
    options = read_arguments()
    sets = list_sets(options)
    if options.list:
        print("\n".join(sets))
        return
    unknown = [name for name in options.sets or [] if name not in sets]
    if unknown:
        sys.exit("bench_quality: no such data set: " + " ".join(unknown))
    chosen = [make for name, make in sets.items() if not options.sets or name in options.sets]
    settings, known = settings_of(options), peers_of(options)
    with tempfile.TemporaryDirectory(dir=options.scratch) as folder, \
            concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda make: measure_set(options, settings, known, make, folder), chosen))
    if not xgboost:
        print("xgboost is not installed (Debian: python3-xgboost): gbdt is judged beside HistGradientBoosting alone")
    counts = report(results)
    if options.out:
        with open(options.out, "w", encoding="utf-8") as out:
            json.dump({"machine": machine(), "rows": options.rows, "split": options.split, "seed": options.seed,
                       "settings": settings, "results": results, "counts": counts}, out, indent=1)


if __name__ == "__main__":
    main()
