"""bench/peer_torch.py MODEL DATA.npz BATCH THREADS EPOCHS: trains the same graph in PyTorch; one line of JSON.

Rows have the same number of features, all of value 1. Embeddings have sparse gradients (SGD), which is the fastest that
PyTorch has for this. Timed is the loop over batches alone, from tensors in memory; the fastest epoch counts.
"""
import json
import resource
import sys
import time

import numpy
import torch

model, path, batch, threads, epochs = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
torch.set_num_threads(threads)
torch.manual_seed(1)
data = numpy.load(path)
rows, labels = torch.tensor(data["rows"]), torch.tensor(data["labels"])
fields, features, rank = rows.shape[1], int(rows.max()) + 1, 8
embed = torch.nn.functional.embedding


def table(width, deviation):
    return torch.nn.Parameter(torch.randn(features, width) * deviation)


weight, bias, vectors = table(1, 0), torch.nn.Parameter(torch.zeros(1)), None
inputs = {"deepfm": fields * rank, "wide_and_deep": fields * rank, "nfm": rank,
          "pnn": fields * rank + fields * (fields - 1) // 2}.get(model)
deep = None
if model != "lr":
    vectors = table(rank, 0.01)
if inputs:
    deep = torch.nn.Sequential(torch.nn.Linear(inputs, 100), torch.nn.ReLU(), torch.nn.Linear(100, 100),
                               torch.nn.ReLU(), torch.nn.Linear(100, 1))
first, second = torch.triu_indices(fields, fields, 1)


def forward(x):
    z = bias + embed(x, weight, sparse=True)[:, :, 0].sum(1)
    if vectors is None:
        return z
    u = embed(x, vectors, sparse=True)
    cross = 0.5 * (u.sum(1) ** 2 - (u ** 2).sum(1)) if model in ("fm", "deepfm", "nfm") else None
    if model in ("fm", "deepfm"):
        z = z + cross.sum(1)
    if model in ("deepfm", "wide_and_deep"):
        z = z + deep(u.reshape(len(x), -1))[:, 0]
    if model == "nfm":
        z = z + deep(cross)[:, 0]
    if model == "pnn":
        dots = torch.bmm(u, u.transpose(1, 2))[:, first, second]
        z = z + deep(torch.cat([u.reshape(len(x), -1), dots], 1))[:, 0]
    return z


def epoch():
    for at in range(0, len(rows), batch):
        step.zero_grad()
        loss = torch.nn.functional.softplus(-forward(rows[at:at + batch]) * labels[at:at + batch]).mean()
        loss.backward()
        step.step()


def processor_time():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


parameters = [p for p in (weight, bias, vectors) if p is not None] + (list(deep.parameters()) if deep else [])
step = torch.optim.SGD(parameters, lr=0.02)
wall, cpu = [], []
for _ in range(epochs):
    began, used = time.perf_counter(), processor_time()
    epoch()
    wall.append(time.perf_counter() - began)
    cpu.append(processor_time() - used)
print(json.dumps({"rows": len(rows), "seconds": min(wall), "cpu": min(cpu)}))
