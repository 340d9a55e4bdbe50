"""tests/interop/learn_torch.py FURROW DATA: trains each graph in Furrow and in PyTorch and compares the losses.

Furrow's first weights are those of a model that is trained with a learning rate of 0. Both then see the same rows in
the same batches. Every epoch's loss must agree to 1e-3, the AUC of the end to 0.002.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy
import torch
from sklearn.metrics import roc_auc_score

furrow, data = sys.argv[1:3]
FIELDS, RANK, BATCH, EPOCHS, RATE = 8, 4, 64, 3, 0.1
torch.set_num_threads(1)


def read_rows(path):
    labels, rows = [], []
    for line in open(path):
        words = line.split()
        labels.append(1.0 if float(words[0]) > 0 else -1.0)
        rows.append([int(word.split(":")[0]) - 1 for word in words[1:]])
    return torch.tensor(labels), torch.tensor(rows)


def train(model, out, rate, epochs, *options):
    history = out + ".json"
    command = [furrow, "train", "--defaults", "angel", "--model", model, "--train", data, "--out", out, "--range", str(RANGE), "--lr", str(rate),
               "--decay", "ConstantLearningRate", "--batch", str(BATCH), "--epochs", str(epochs), "--valid-ratio", "0",
               "--history", history, "--quiet", *options]
    subprocess.run(command, check=True)
    return [epoch["train"] for epoch in json.load(open(history))["epochs"]]


def matrix(folder, name, by="row"):
    """A matrix as numpy: rows x columns."""
    path = os.path.join(folder, name + ".npy")
    subprocess.run([furrow, "model", "export", os.path.join(folder, name), path, "--by", by, "--no-ids", "--force",
                    "--quiet"], check=True, stdout=subprocess.DEVNULL)
    return torch.tensor(numpy.load(path))


class Net(torch.nn.Module):
    """input + whatever parts the model has, from a model directory."""

    def __init__(self, model, folder, sparse):
        super().__init__()
        self.model, self.sparse = model, sparse
        self.weight = torch.nn.Parameter(matrix(folder, "input_weight").reshape(-1, 1))
        self.bias = torch.nn.Parameter(matrix(folder, "input_bias").reshape(-1))
        self.vectors = None
        if model not in ("lr", "svm", "linear"):
            self.vectors = torch.nn.Parameter(matrix(folder, "embedding_embedding", "column"))
        self.layers = torch.nn.ParameterList()
        names = [] if model in ("lr", "svm", "linear", "fm") else ["fclayer_0", "fclayer_1", "fclayer"]
        for name in names:
            bias = matrix(folder, name + "_bias").reshape(-1)
            self.layers.append(torch.nn.Parameter(matrix(folder, name + "_weight").reshape(-1, len(bias))))
            self.layers.append(torch.nn.Parameter(bias))

    def pick(self, table, rows):
        return torch.nn.functional.embedding(rows, table, sparse=self.sparse)

    def deep(self, x):
        for i in range(0, len(self.layers), 2):
            x = x @ self.layers[i] + self.layers[i + 1]
            if i + 2 < len(self.layers):
                x = torch.relu(x)
        return x[:, 0]

    def forward(self, rows):
        z = self.bias + self.pick(self.weight, rows)[:, :, 0].sum(1)
        if self.vectors is None:
            return z
        u = self.pick(self.vectors, rows)
        cross = 0.5 * (u.sum(1) ** 2 - (u ** 2).sum(1))
        if self.model in ("fm", "deepfm"):
            z = z + cross.sum(1)
        if self.model in ("deepfm", "wide_and_deep"):
            z = z + self.deep(u.reshape(len(rows), -1))
        if self.model == "nfm":
            z = z + self.deep(cross)
        if self.model == "pnn":
            i, j = torch.triu_indices(FIELDS, FIELDS, 1)
            dots = (u[:, i] * u[:, j]).sum(2)
            z = z + self.deep(torch.cat([u.reshape(len(rows), -1), dots], 1))
        return z


def loss_of(model, z, y):
    if model == "svm":
        return torch.relu(1 - z * y)  # its slope at 0 is 0, as Angel's
    if model == "linear":
        return 0.5 * (z - y) ** 2
    return torch.nn.functional.softplus(-z * y)


def compare(model, optimizer, folder):
    options = ["--optimizer", optimizer] if model != "linear" else []
    if model in ("linear",):
        options += ["--label", "PosNegTrans"]
    if model not in ("lr", "svm", "linear"):
        options += ["--rank", str(RANK), "--init-embedding", "0.1"]
        options += ["--fields", str(FIELDS)]
    if model in ("deepfm", "wide_and_deep", "pnn", "nfm"):
        options += ["--fc", "12,6"]
    first, last = os.path.join(folder, model + optimizer + "0"), os.path.join(folder, model + optimizer + "1")
    train(model, first, 0, 1, *options)
    rate = 0.005 if optimizer == "adam" else RATE if model != "linear" else 0.02
    ours = train(model, last, rate, EPOCHS, *options)
    net = Net(model, first, optimizer == "adam")
    tables = [table for table in (net.weight, net.vectors) if table is not None]
    biases, weights = [net.bias] + list(net.layers)[1::2], list(net.layers)[::2]
    steps = [torch.optim.SGD(biases, lr=rate)]
    if optimizer == "adam":  # both update only the features of a batch
        steps.append(torch.optim.SparseAdam(tables, lr=rate, betas=(0.9, 0.99)))
        steps += [torch.optim.Adam(weights, lr=rate, betas=(0.9, 0.99))] if weights else []
    else:
        steps.append(torch.optim.SGD(tables + weights, lr=rate))
    worst = 0
    for epoch in range(EPOCHS):
        total, scores = 0, []
        for at in range(0, len(rows), BATCH):
            z = net(rows[at:at + BATCH])
            loss = loss_of(model, z, labels[at:at + BATCH])
            for step in steps:
                step.zero_grad()
            loss.mean().backward()
            for step in steps:
                step.step()
            total += loss.sum().item()
            scores.append(z.detach())
        worst = max(worst, abs(total / len(rows) - ours[epoch]["loss"]))
    message = f"{model} {optimizer}: largest difference of an epoch's loss {worst:.2e}"
    if model != "linear":
        auc = roc_auc_score(labels, torch.cat(scores))
        message += f", of the last AUC {abs(auc - ours[-1]['auc']):.2e}"
        if abs(auc - ours[-1]["auc"]) > 0.002:
            message += " WRONG"
    if worst > 1e-3:
        message += " WRONG"
    print(message, flush=True)
    return "WRONG" not in message


labels, rows = read_rows(data)
RANGE = int(rows.max()) + 1
if len(rows) < 1000:
    sys.exit("too few rows")
with tempfile.TemporaryDirectory() as folder:
    good = [compare(model, "sgd", folder)
            for model in ("lr", "svm", "linear", "fm", "wide_and_deep", "deepfm", "pnn", "nfm")]
    good += [compare(model, "adam", folder) for model in ("fm", "deepfm")]
sys.exit(0 if all(good) else 1)
