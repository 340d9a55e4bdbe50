#!/usr/bin/env python3
"""bench/log/bench_tables.py: how good models of people's tables are that Furrow trains with default settings, next to its peers.

Trains `furrow train --model NAME --train TABLE.csv --label COLUMN`, nothing else, on seeded splits of each table (70 % of
the rows), and scores the other rows. The peers have their default settings: LogisticRegression or Ridge and an MLP of
standardised numbers and one-hot texts, HistGradientBoosting and xgboost of numbers and codes of texts. The figures (AUC and
logloss, accuracy, RMSE) are computed here, in the same way for all.

A model is compared with the peer that is best on average, split by split: it loses where it is worse by more than two
standard errors of the mean difference, and wins where it is better by more. `c`: worse than a constant on average, `C`:
and training did not say so. Times are processor time of training; Furrow's include reading the table and writing the model.

--tables is a folder of csv files with a header and of tables.json: {"NAME": "LABEL", …} for NAME.csv, or
{"NAME": {"label": "LABEL", "kind": "binary|classes|real"}} where numbers are names of classes. Rows without a label are
left out. --half takes the tables whose names have an even (0) or odd (1) CRC-32: look into one half, and leave the other
untouched until the end. Tables are measured in the order of these hashes, so that the first ones are a sample of all.
"""
import argparse
import csv
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from bench_quality import auc_of  # noqa: E402 (finds a Python with scikit-learn)
from bench_rows_peers import HERE, machine, print_table  # noqa: E402

import numpy as np  # noqa: E402
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor  # noqa: E402
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor  # noqa: E402
from sklearn.impute import SimpleImputer  # noqa: E402
from sklearn.linear_model import LogisticRegression, Ridge  # noqa: E402
from sklearn.neural_network import MLPClassifier, MLPRegressor  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler  # noqa: E402

try:
    import xgboost
except ImportError:
    xgboost = None

MODELS = {
    "binary": ["gbdt", "lr", "svm", "fm", "dnn", "deepfm"],
    "classes": ["gbdt", "softmax"],
    "real": ["gbdt", "linear", "fm", "dnn", "deepfm"],
}
PEERS = {"binary": ["LogReg", "MLP", "HGB", "xgboost"], "classes": ["LogReg", "HGB", "xgboost"],
         "real": ["Ridge", "MLP", "HGB", "xgboost"]}
# What a model must not be worse than: the best of those that the kind of table has. The first one's time is compared.
RIVALS = {"gbdt": ["HGB", "xgboost"], "lr": ["LogReg"], "softmax": ["LogReg"], "linear": ["Ridge"], "svm": ["LogReg"],
          "fm": ["MLP", "LogReg", "Ridge"], "dnn": ["MLP", "LogReg", "Ridge"], "deepfm": ["MLP", "LogReg", "Ridge"]}
# The first figure decides; larger is better: 1, smaller: -1
FIGURES = {"binary": {"auc": 1, "logloss": -1}, "classes": {"accuracy": 1}, "real": {"rmse": -1}}
MISSING = {"", "na", "n/a", "nan", "null", "none", "?"}


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", default=".", metavar="DIR", help="folder of tables.json and the csv files")
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build"), help="build folder (build)")
    parser.add_argument("--furrow", help="the command, where it is not in the build folder")
    parser.add_argument("--sets", help="tables, separated by commas (all)")
    parser.add_argument("--first", type=int, metavar="N", help="only the first N tables")
    parser.add_argument("--half", type=int, choices=(0, 1), help="only tables whose names have this hash")
    parser.add_argument("--models", help="separated by commas (all)")
    parser.add_argument("--rows", type=int, default=3000, help="rows of a table, drawn by the seed, at most (3000)")
    parser.add_argument("--splits", type=int, default=5, help="splits of each table (5)")
    parser.add_argument("--report-of", metavar="FILE", help="print the report of an earlier run, and measure nothing")
    parser.add_argument("--peers-of", metavar="FILE", help="take the peers' figures from the JSON of an earlier run")
    parser.add_argument("--scratch", help="folder to work in")
    parser.add_argument("--out", "--json", metavar="FILE", help="write the results as JSON")
    options = parser.parse_args()
    options.furrow = options.furrow or os.path.join(options.build, "furrow")
    return options


# ---- Tables ----


def number_of(cell):
    """A number, NaN where the cell is empty, or None for a text"""
    if cell.strip().lower() in MISSING:
        return math.nan
    try:
        return float(cell)
    except ValueError:
        return None


class Table:
    """The lines of a file, and its columns: numbers as floats with NaN, texts as strings"""

    def __init__(self, folder, name, about):
        self.name, self.label = name, about["label"]
        with open(os.path.join(folder, name + ".csv"), newline="", encoding="utf-8", errors="replace") as text:
            self.head, *rows = csv.reader(text)
        at = self.head.index(self.label)
        self.rows = [row for row in rows if len(row) == len(self.head) and not self.lacks(row[at])]
        labels = [row[at] for row in self.rows]
        numbers = [number_of(label) for label in labels]
        self.kind = about.get("kind") or ("binary" if len(set(labels)) == 2 else
                                          "classes" if None in numbers else "real")
        self.y = np.array(numbers) if self.kind == "real" else np.array(labels, dtype=object)
        self.numbers, self.texts = [], []
        for c in range(len(self.head)):
            if c == at:
                continue
            cells = [row[c] for row in self.rows]
            values = [number_of(cell) for cell in cells]
            if None in values:
                self.texts.append(cells)
            elif not all(map(math.isnan, values)):
                self.numbers.append(values)
        self.x = np.empty((len(self.rows), len(self.numbers) + len(self.texts)), dtype=object)
        for c, column in enumerate(self.numbers + self.texts):
            self.x[:, c] = column

    def lacks(self, label):
        return label.strip().lower() in MISSING - {"none"}

    def write(self, path, rows):
        with open(path, "w", newline="", encoding="utf-8") as out:
            csv.writer(out).writerows([self.head, *(self.rows[r] for r in rows)])

    def split(self, options, seed):
        """(training rows, test rows)"""
        order = np.random.default_rng([seed, zlib.crc32(self.name.encode())]).permutation(len(self.rows))[:options.rows]
        tests = int(len(order) * 0.3)
        return order[tests:], order[:tests]


def list_tables(options):
    with open(os.path.join(options.tables, "tables.json"), encoding="utf-8") as text:
        tables = {name: about if isinstance(about, dict) else {"label": about} for name, about in json.load(text).items()}
    sets = options.sets.split(",") if options.sets else sorted(tables)
    unknown = [name for name in sets if name not in tables]
    if unknown:
        sys.exit("bench_tables: no such table: " + " ".join(unknown))
    hashes = {name: zlib.crc32(name.encode()) for name in sets}
    chosen = [name for name in sorted(sets, key=hashes.get) if options.half in (None, hashes[name] % 2)]
    return {name: tables[name] for name in chosen[:options.first]}


# ---- Figures ----


def figures_of(table, test, result):
    """result: predicted numbers or classes, or (score, probability, name of the positive class) of two classes"""
    truth = table.y[test]
    if table.kind == "real":
        return {"rmse": float(np.sqrt(np.mean((result - truth) ** 2)))}
    if table.kind == "classes":
        return {"accuracy": float(np.mean([same(a, b) for a, b in zip(result, truth)]))}
    score, probability, name = result
    positive = np.array([same(label, name) for label in truth])
    found = {"auc": auc_of(score, positive) if 0 < positive.sum() < len(positive) else 0.5}
    if probability is not None:
        p = np.clip(probability, 1e-7, 1 - 1e-7)
        found["logloss"] = float(-np.mean(np.where(positive, np.log(p), np.log(1 - p))))
    return found


def same(a, b):
    """Whether two labels are the same text or number"""
    if a == b:
        return True
    try:
        return float(a) == float(b)
    except ValueError:
        return False


def constant_of(table, train, test):
    y = table.y[train]
    if table.kind == "real":
        return figures_of(table, test, np.full(len(test), y.mean()))
    values, counts = np.unique(y.astype(str), return_counts=True)
    if table.kind == "classes":
        return figures_of(table, test, [values[counts.argmax()]] * len(test))
    p = np.full(len(test), counts[-1] / len(y))
    return figures_of(table, test, (p, p, values[-1]))


def is_worse_than_constant(found, constant):
    """By more than the noise of a test set, which one percent stands for"""
    if "accuracy" in found:
        return found["accuracy"] < constant["accuracy"] - 0.01
    if "rmse" in found:
        return not found["rmse"] <= constant["rmse"] * 1.01
    return not found["logloss"] <= constant["logloss"] * 1.01 if "logloss" in found else found["auc"] < 0.49


# ---- Peers ----


def columns_by(parts):
    return ColumnTransformer([(str(at), how, at) for how, at in parts if at.start < at.stop])


def encoder(table, trees):
    numbers, texts = slice(0, len(table.numbers)), slice(len(table.numbers), table.x.shape[1])
    if trees:
        codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
        return columns_by([("passthrough", numbers), (codes, texts)])
    one_hot = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=200)
    return columns_by([(make_pipeline(SimpleImputer(), StandardScaler()), numbers), (one_hot, texts)])


def peer_model(kind, peer):
    real = kind == "real"
    if peer in ("LogReg", "Ridge"):
        return Ridge() if real else LogisticRegression()
    if peer == "MLP":
        net = (MLPRegressor if real else MLPClassifier)(random_state=0)
        return TransformedTargetRegressor(net, transformer=StandardScaler()) if real else net
    if peer == "HGB":
        return (HistGradientBoostingRegressor if real else HistGradientBoostingClassifier)(random_state=0)
    return (xgboost.XGBRegressor if real else xgboost.XGBClassifier)(n_jobs=1, random_state=0)


def run_peer(table, train, test, peer):
    warnings.simplefilter("ignore")
    start = time.process_time()
    trees, y = peer in ("HGB", "xgboost"), table.y[train]
    names, codes = (None, y) if table.kind == "real" else np.unique(y.astype(str), return_inverse=True)
    encode, model = encoder(table, trees), peer_model(table.kind, peer)
    x = encode.fit_transform(table.x[train])
    x = x.astype(float)
    model.fit(x, codes)
    seconds = time.process_time() - start
    x = encode.transform(table.x[test]).astype(float)
    if table.kind == "real":
        result = model.predict(x).astype(float)
    elif table.kind == "classes":
        result = names[model.predict(x).astype(int)]
    else:
        p = model.predict_proba(x)[:, 1].astype(float)
        result = (p, p, names[1])
    return {**figures_of(table, test, result), "seconds": seconds}


# ---- Furrow ----


def say_trouble(done, folder):
    lines = done.stderr.strip().replace(folder + os.sep, "").splitlines()
    return " | ".join(line for line in lines if "furrow: note:" not in line)[-300:]


def positive_name(model, labels):
    """The class that the probabilities are of: the second of the schema, or the larger number"""
    path = os.path.join(model, "schema.json")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as text:
            for column in json.load(text)["columns"].values():
                if column.get("as") == "label" and len(column.get("classes", ())) == 2:
                    return column["classes"][1]
    return max(labels, key=float)


def run_model(options, table, test, algorithm, files, folder):
    """Figures, or {"error": text}"""
    model, scores = os.path.join(folder, "model"), os.path.join(folder, "scores.csv")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([options.furrow, "train", "--model", algorithm, "--train", files[0], "--label", table.label,
                           "--out", model, "--force", "--threads", "1"], capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        return {"error": "train: " + say_trouble(done, folder)}
    said = done.stdout[done.stdout.find("\nmodel "):] + done.stderr
    with open(scores, "w", encoding="utf-8") as out:
        done = subprocess.run([options.furrow, "predict", "--model", model, "--data", files[1], "--threads", "1"],
                              stdout=out, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        return {"error": "predict: " + say_trouble(done, folder)}
    with open(scores, newline="", encoding="utf-8") as text:
        rows = list(csv.reader(text))
    if len(rows) != len(test):
        return {"error": f"{len(rows)} of {len(test)} rows were scored"}
    score, probability = (np.array([float(row[c]) for row in rows]) for c in (1, 2))
    result = score
    if table.kind == "classes":
        result = [row[3] for row in rows]
    elif table.kind == "binary":
        result = (score, None if algorithm == "svm" else probability, positive_name(model, table.y))
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    warned = [line for line in said.splitlines() if "than a constant" in line]
    return {**figures_of(table, test, result), "seconds": seconds, "warned": bool(warned)}


# ---- Verdicts ----


def mean_of(runs, key):
    values = [run[key] for run in runs]
    return float(np.mean(values))


def verdict(ours, peers, key, sign):
    """(win, tie or loss; the peer; how much better in percent of the peer's figure or of the rest to 1)"""
    best = max(peers, key=lambda peer: sign * mean_of(peers[peer], key))
    gains = np.array([sign * (a[key] - b[key]) for a, b in zip(ours, peers[best])])
    error = gains.std(ddof=1) / math.sqrt(len(gains)) if len(gains) > 1 else 0
    word = "win" if gains.mean() > 2 * error + 1e-12 else "loss" if gains.mean() < -2 * error - 1e-12 else "tie"
    return {"verdict": word, "peer": best, "gain": float(gains.mean()), "error": float(error)}


def judge(result):
    """Adds the verdicts of each model: {figure: verdict}"""
    runs, figures = result["runs"], FIGURES[result["kind"]]
    result["verdicts"], result["marks"] = {}, {}
    for algorithm in MODELS[result["kind"]]:
        ours = runs.get(algorithm)
        if not ours:
            continue
        errors = [run["error"] for run in ours if "error" in run]
        if errors:
            result["marks"][algorithm] = {"error": errors[0]}
            result["verdicts"][algorithm] = {key: {"verdict": "loss", "peer": "error"} for key in figures}
            continue
        peers = {peer: runs[peer] for peer in RIVALS[algorithm] if peer in runs}
        result["verdicts"][algorithm] = {key: verdict(ours, peers, key, sign) for key, sign in figures.items()
                                         if key in ours[0] and peers}
        average = {key: mean_of(ours, key) for key in figures if key in ours[0]}
        constant = {key: mean_of(runs["constant"], key) for key in figures}
        worse = is_worse_than_constant(average, constant)
        silent = sum(is_worse_than_constant(run, limit) and not run["warned"] for run, limit in zip(ours, runs["constant"]))
        result["marks"][algorithm] = {"constant": worse, "silent": silent}


def cell(result, name):
    mark = result["marks"].get(name, {})
    if name not in result["runs"]:
        return ""
    if "error" in mark:
        return "ERR"
    runs = result["runs"][name]
    text = "/".join(f"{mean_of(runs, key):.4g}" if key == "rmse" else f"{mean_of(runs, key):.4f}"
                    for key in FIGURES[result["kind"]] if key in runs[0])
    words = [v["verdict"] for v in result["verdicts"].get(name, {}).values()]
    return text + " " * bool(words) + "".join({"win": "+", "tie": "=", "loss": "-"}[word] for word in words) + \
        ("C" if mark.get("constant") and mark.get("silent") else "c" if mark.get("constant") else "")


def report(results):
    for kind, models in MODELS.items():
        of_kind = [result for result in results if result["kind"] == kind]
        if of_kind:
            rows = [[f"{r['table']} ({r['rows']})", *(cell(r, name) for name in ["constant", *models, *PEERS[kind]])]
                    for r in of_kind]
            title = {"binary": "Two classes", "classes": "More classes", "real": "Numbers"}[kind]
            print_table(f"{title}: {'/'.join(FIGURES[kind])}", ["table", "constant", *models, *PEERS[kind]], rows)
    print_table("Verdicts of the first figure (in brackets logloss)",
                ["model", "tables", "wins", "ties", "losses", "errors", "worse than a constant", "splits without a warning",
                 "median time", "peer's"], summary(results))
    for result in results:
        for name, verdicts in result["verdicts"].items():
            for key, v in verdicts.items():
                if v["verdict"] == "loss" and "gain" in v:
                    print(f"loss: {result['table']} {name} {key}: {v['gain']:.4g} ± {v['error']:.2g} against {v['peer']}")
            if "error" in result["marks"][name]:
                print(f"error: {result['table']} {name}: {result['marks'][name]['error']}")


def summary(results):
    rows = []
    for name in dict.fromkeys(model for models in MODELS.values() for model in models):
        of_model = [r for r in results if name in r["verdicts"]]
        if not of_model:
            continue
        words = {word: [sum(list(r["verdicts"][name].values())[f]["verdict"] == word for r in of_model
                            if len(r["verdicts"][name]) > f) for f in (0, 1)] for word in ("win", "tie", "loss")}
        marks = [r["marks"][name] for r in of_model]
        fine = [r for r in of_model if "error" not in r["marks"][name]]
        rival = RIVALS[name][0]
        times = [[statistics.median(run["seconds"] for run in r["runs"][who]) for r in fine if rival in r["runs"]]
                 for who in (name, rival)]
        rows.append([name, str(len(of_model)), *(f"{a} ({b})" if sum(w[1] for w in words.values()) else str(a)
                                                 for a, b in words.values()),
                     str(sum("error" in mark for mark in marks)), str(sum(mark.get("constant", False) for mark in marks)),
                     str(sum(mark.get("silent", 0) for mark in marks)),
                     *(f"{statistics.median(t):.2f} s" if t else "" for t in times)])
    return rows


def measure(options, name, about, known):
    table = Table(options.tables, name, about)
    runs = {}
    with tempfile.TemporaryDirectory(dir=options.scratch) as folder:
        files = [os.path.join(folder, part + ".csv") for part in ("train", "test")]
        for seed in range(1, options.splits + 1):
            train, test = table.split(options, seed)
            for path, rows in zip(files, (train, test)):
                table.write(path, rows)
            runs.setdefault("constant", []).append(constant_of(table, train, test))
            for algorithm in MODELS[table.kind]:
                if not options.models or algorithm in options.models.split(","):
                    runs.setdefault(algorithm, []).append(run_model(options, table, test, algorithm, files, folder))
            for peer in PEERS[table.kind]:
                if name not in known and (peer != "xgboost" or xgboost):
                    runs.setdefault(peer, []).append(run_peer(table, train, test, peer))
    runs.update({peer: known[name][peer] for peer in PEERS[table.kind] if name in known and peer in known[name]})
    result = {"table": name, "kind": table.kind, "rows": min(len(table.rows), options.rows), "columns": len(table.head),
              "runs": runs}
    judge(result)
    return result


def peers_of(options):
    if not options.peers_of:
        return {}
    with open(options.peers_of, encoding="utf-8") as text:
        earlier = json.load(text)
    if (earlier["rows"], earlier["splits"]) != (options.rows, options.splits):
        sys.exit(f"bench_tables: {options.peers_of} is of other rows or splits")
    return {result["table"]: result["runs"] for result in earlier["results"]}


def main():
    options = read_arguments()
    if options.report_of:
        with open(options.report_of, encoding="utf-8") as text:
            report(json.load(text)["results"])
        return
    known, results = peers_of(options), []
    for name, about in list_tables(options).items():
        start = time.perf_counter()
        results.append(measure(options, name, about, known))
        print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
        if options.out:
            with open(options.out, "w", encoding="utf-8") as out:
                json.dump({"machine": machine(), "rows": options.rows, "splits": options.splits, "results": results}, out,
                          indent=1)
    report(results)


if __name__ == "__main__":
    main()
