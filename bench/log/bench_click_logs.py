#!/usr/bin/env python3
"""bench/log/bench_click_logs.py: models of Furrow with default settings, and of PyTorch, on generated click logs.

A log has 26 categories of 4 to 100,000 values, which follow a power law (Zipf), and 13 numbers. Clicks depend on weights,
on products of vectors, on products of three categories, and on curves and products of numbers. The best possible AUC is
that of the true probabilities. ECE is the mean distance of probability and share of clicks in ten equal ranges of the probability.
`deepfm --stream` is deepfm in one pass over rows that are not kept. Furrow reads csv with `--schema auto`. PyTorch gets ids of the values that the training rows
have, and the numbers in 32 bins of equal size; Adam .001, batches of 1,024, 8 factors, layers of 128 and 64 units, 12 epochs
at most, the weight decay and the epoch with the lowest loss of a tenth of the rows.
"""
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from bench_model_peers import use_python_with  # noqa: E402
from bench_rows_peers import print_table  # noqa: E402

LOGS = {"A": (1.8, 1, 0.6), "B": (1.05, 2, 0.4)}  # exponent of the power law, seed, scale of the scores
PEERS = ["LR", "FM", "DNN", "DeepFM"]
DECAYS = [1e-6, 1e-5, 1e-4]
CATEGORIES, NUMBERS, FACTORS = 26, 13, 4


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "..", "build"), help="build folder (build)")
    parser.add_argument("--furrow", help="the command, where it is not in the build folder")
    parser.add_argument("--rows", type=int, default=200000, help="training rows; a fifth as many test rows (200000)")
    parser.add_argument("--logs", default="A,B", help="A: Zipf 1.8, B: Zipf 1.05 (both)")
    parser.add_argument("--models", default="lr,fm,deepfm,deepfm --stream,wide_and_deep,dnn,pnn,nfm,gbdt",
                        help="of Furrow")
    parser.add_argument("--peers", default=",".join(PEERS), help="of PyTorch; none: nothing")
    parser.add_argument("--threads", type=int, default=1, help="of both (1)")
    parser.add_argument("--out", "--json", metavar="FILE", help="write the results as JSON")
    options = parser.parse_args()
    options.furrow = options.furrow or os.path.join(options.build, "furrow")
    return options


use_python_with("torch", "python3-torch")
import numpy as np  # noqa: E402
import torch  # noqa: E402

# ---- Logs ----


def make_log(rows, exponent, seed, scale):
    """(categories, numbers, labels, probabilities)"""
    rng = np.random.default_rng(seed)
    score, sums, squares = np.zeros(rows), np.zeros((rows, FACTORS)), np.zeros((rows, FACTORS))
    columns, signs = [], []
    for size in np.geomspace(4, 100000, CATEGORIES).astype(int):
        chance = 1 / np.arange(1, size + 1) ** exponent
        column = rng.choice(size, rows, p=chance / chance.sum())
        score += (0.22 * rng.normal(size=size))[column]
        vectors = (0.28 * rng.normal(size=(size, FACTORS)))[column]
        sums, squares = sums + vectors, squares + vectors**2
        columns.append(column)
        signs.append(rng.normal(size=size)[column])
    score += 0.5 * (sums**2 - squares).sum(1)
    for _ in range(12):
        a, b, c = rng.choice(CATEGORIES, 3, replace=False)
        score += 0.35 * np.sign(signs[a] * signs[b] * signs[c])
    logs = rng.normal(size=(rows, NUMBERS))
    for j in range(NUMBERS):
        score += 0.25 * rng.normal() * (logs[:, j] if j % 2 else np.sin(2 * logs[:, j]))
    for _ in range(6):
        a, b = rng.choice(NUMBERS, 2, replace=False)
        score += 0.25 * logs[:, a] * logs[:, b]
    score = scale * score
    chance = 1 / (1 + np.exp(np.quantile(score, 0.75) - score))
    return np.stack(columns, 1), logs, (rng.random(rows) < chance).astype(int), chance


def write_csv(path, categories, numbers, labels):
    with open(path, "w", encoding="ascii") as text:
        text.write(",".join(["y", *(f"n{j}" for j in range(NUMBERS)), *(f"c{j}" for j in range(CATEGORIES))]) + "\n")
        for label, real, ids in zip(labels, np.exp(numbers), categories):
            text.write(f"{label}," + ",".join(f"{x:.4g}" for x in real) + "," + ",".join(f"v{i}" for i in ids) + "\n")


def auc_of(score, labels):
    order = np.argsort(np.argsort(score))
    positive = labels.sum()
    return (order[labels == 1].sum() - positive * (positive - 1) / 2) / (positive * (len(labels) - positive))


# ---- Models ----


def run_furrow(options, model, folder):
    def command(*arguments):
        done = subprocess.run([options.furrow, *arguments, "--json"], capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"bench_click_logs: {model}: {done.stderr}")
        return json.loads(done.stdout)
    path = os.path.join(folder, model.replace(" ", ""))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command("train", "--model", *model.split(), "--train", os.path.join(folder, "train.csv"), "--schema", "auto", "--label", "y",
            "--threads", str(options.threads), "--out", path)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = command("eval", "--model", path, "--data", os.path.join(folder, "test.csv"), "--bins", "10")
    parts = [part for part in found["calibration"] if part["rows"]]
    ece = sum(part["rows"] * abs(part["mean_prediction"] - part["mean_label"]) for part in parts) / found["rows"]
    return found["auc"], found["logloss"], ece, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ece_of(scores, labels):
    chances = 1 / (1 + np.exp(-scores))
    part = np.minimum(chances * 10, 9).astype(int)
    return np.abs(np.bincount(part, chances - labels, 10)).sum() / len(labels)


def ids_of(categories, numbers, rows):
    """Ids that no other column has; values that the first rows lack share one of each column."""
    columns, first = [], 0
    for j in range(CATEGORIES):
        known = np.unique(categories[:rows, j])
        ids = np.full(categories[:, j].max() + 1, len(known))
        ids[known] = np.arange(len(known))
        columns.append(ids[categories[:, j]] + first)
        first += len(known) + 1
    for j in range(NUMBERS):
        cuts = np.unique(np.quantile(numbers[:rows, j], np.arange(1, 32) / 32))
        columns.append(np.searchsorted(cuts, numbers[:, j]) + first)
        first += len(cuts) + 1
    return torch.tensor(np.stack(columns, 1)), first


class Peer(torch.nn.Module):
    def __init__(self, kind, ids, factors=8):
        super().__init__()
        self.kind = kind
        self.bias = torch.nn.Parameter(torch.zeros(1))
        self.weights, self.vectors = torch.nn.Embedding(ids, 1), torch.nn.Embedding(ids, factors)
        torch.nn.init.zeros_(self.weights.weight)
        torch.nn.init.normal_(self.vectors.weight, 0, 0.01 if kind == "FM" else 0.05)
        self.deep = torch.nn.Sequential(
            torch.nn.Linear((CATEGORIES + NUMBERS) * factors, 128), torch.nn.ReLU(), torch.nn.Linear(128, 64), torch.nn.ReLU(),
            torch.nn.Linear(64, 1))

    def forward(self, rows):
        score = self.bias
        if self.kind != "DNN":
            score = score + self.weights(rows).sum((1, 2))
        if self.kind != "LR":
            vectors = self.vectors(rows)
        if self.kind in ("FM", "DeepFM"):
            score = score + 0.5 * (vectors.sum(1) ** 2 - (vectors**2).sum(1)).sum(1)
        if self.kind in ("DNN", "DeepFM"):
            score = score + self.deep(vectors.flatten(1))[:, 0]
        return score


def fit_peer(kind, decay, ids, end, labels, rows):
    """(lowest loss of the validation rows, scores of the test rows then)"""
    torch.manual_seed(1)
    rng = np.random.default_rng(1)
    order = rng.permutation(rows)
    valid, train = torch.tensor(order[:rows // 10]), order[rows // 10:]
    model, loss = Peer(kind, end), torch.nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=decay)
    best, scores, last = np.inf, None, 0
    for epoch in range(12):
        rng.shuffle(train)
        for first in range(0, len(train), 1024):
            batch = torch.tensor(train[first:first + 1024])
            optimizer.zero_grad()
            loss(model(ids[batch]), labels[batch]).backward()
            optimizer.step()
        with torch.no_grad():
            found = float(loss(model(ids[valid]), labels[valid]))
            if found < best:
                best, last = found, epoch
                scores = torch.cat([model(part) for part in ids[rows:].split(10000)]).numpy()
        if epoch >= last + 2:
            break
    return best, scores


def run_peer(kind, ids, end, labels, rows):
    start = time.process_time()
    loss, scores = min((fit_peer(kind, decay, ids, end, torch.tensor(labels, dtype=torch.float32), rows)
                        for decay in DECAYS), key=lambda found: found[0])
    test = labels[rows:]
    seconds = (time.process_time() - start) / len(DECAYS)
    return auc_of(scores, test), float(np.mean(np.logaddexp(0, scores) - test * scores)), ece_of(scores, test), seconds


def measure_log(options, log):
    rows, figures = options.rows, {}
    categories, numbers, labels, chance = make_log(rows + rows // 5, *LOGS[log])
    best = auc_of(chance[rows:], labels[rows:])
    with tempfile.TemporaryDirectory() as folder:
        write_csv(os.path.join(folder, "train.csv"), categories[:rows], numbers[:rows], labels[:rows])
        write_csv(os.path.join(folder, "test.csv"), categories[rows:], numbers[rows:], labels[rows:])
        for model in options.models.split(","):
            figures[model] = run_furrow(options, model, folder)
    ids, end = ids_of(categories, numbers, rows)
    for peer in options.peers.split(",") if options.peers != "none" else []:
        figures["PyTorch " + peer] = run_peer(peer, ids, end, labels, rows)
    return {"log": log, "rows": rows, "best": best, "figures": figures}


def main():
    options = read_arguments()
    torch.set_num_threads(options.threads)
    results = [measure_log(options, log) for log in options.logs.split(",")]
    print_table("AUC/logloss/ECE of test rows, and the seconds of processor time of a fit",
                ["model", *(f"log {result['log']}" for result in results)],
                [["best possible", *(f"{result['best']:.4f}" for result in results)],
                 *([name, *("{:.4f}/{:.4f}/{:.3f}, {:.0f} s".format(*result["figures"][name]) for result in results)]
                   for name in results[0]["figures"])])
    if options.out:
        with open(options.out, "w", encoding="utf-8") as text:
            json.dump(results, text, indent=1)


if __name__ == "__main__":
    main()
