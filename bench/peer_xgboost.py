"""bench/peer_xgboost.py KIND DATA.bin TEST.bin THREADS TREES DEPTH RATE LAMBDA: xgboost's hist; one line of JSON.

The binary files of gen_table. Training is timed with the DMatrix made: sketching, rounds. Prediction: the fastest of
three, each on a DMatrix of its own that was made before (xgboost remembers the scores of one that it has seen). Figures of
the test rows come with it.
"""
import json
import resource
import sys
import time

import numpy
import scipy.sparse
import xgboost

kind, path, test_path = sys.argv[1:4]
threads, trees, depth = map(int, sys.argv[4:7])
rate, penalty = map(float, sys.argv[7:9])
FIELDS, FEATURES, IDS = 39, 28, 39 * 2564
OBJECTIVES = {"real": "reg:squarederror", "classes": "multi:softprob"}


def load(name):
    width = 1 + (FIELDS if kind == "sparse" else FEATURES)
    table = numpy.fromfile(name, numpy.float32).reshape(-1, width)
    labels, rows = table[:, 0].copy(), table[:, 1:]
    if kind != "sparse":
        return rows, labels
    count = len(rows)
    matrix = scipy.sparse.csr_matrix((numpy.ones(count * FIELDS, numpy.float32), rows.astype(numpy.int32).reshape(-1),
                                      numpy.arange(0, count * FIELDS + 1, FIELDS)), shape=(count, IDS))
    return matrix, labels


def clock():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return time.perf_counter(), used.ru_utime + used.ru_stime


def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 / 1e6 for line in status if line.startswith("VmHWM"))


def auc(labels, scores):
    order = numpy.argsort(scores, kind="stable")
    values, inverse, counts = numpy.unique(scores[order], return_inverse=True, return_counts=True)
    ranks = (numpy.cumsum(counts) - (counts - 1) / 2)[inverse]
    positives = labels[order] > 0
    n = positives.sum()
    return float((ranks[positives].sum() - n * (n + 1) / 2) / (n * (len(labels) - n)))


rows, labels = load(path)
train = xgboost.DMatrix(rows, labels, nthread=threads)
del rows
settings = {"tree_method": "hist", "max_depth": depth, "eta": rate, "lambda": penalty, "max_bin": 255, "min_child_weight":
            0.01, "objective": OBJECTIVES.get(kind, "binary:logistic"), "nthread": threads, "verbosity": 0}
if kind == "classes":
    settings["num_class"] = 5
began = clock()
model = xgboost.train(settings, train, num_boost_round=trees)
ended = clock()
memory = peak()
score_wall, score_cpu = [], []
for _ in range(3):
    fresh = xgboost.DMatrix(load(path)[0], nthread=threads)
    start = clock()
    model.predict(fresh, output_margin=True)
    stop = clock()
    score_wall.append(stop[0] - start[0])
    score_cpu.append(stop[1] - start[1])
test_rows, test_labels = load(test_path)
scores = model.predict(xgboost.DMatrix(test_rows, nthread=threads))
figures = {}
if kind == "real":
    figures["rmse"] = float(numpy.sqrt(numpy.mean((scores - test_labels) ** 2)))
elif kind == "classes":
    figures["accuracy"] = float(numpy.mean(scores.argmax(1) == test_labels))
    figures["logloss"] = float(-numpy.mean(numpy.log(scores[numpy.arange(len(scores)), test_labels.astype(int)])))
else:
    p = numpy.clip(scores.astype(float), 1e-15, 1 - 1e-15)
    figures["auc"] = auc(test_labels, p)
    figures["logloss"] = float(-numpy.mean(numpy.where(test_labels > 0, numpy.log(p), numpy.log(1 - p))))
print(json.dumps({"rows": len(labels), "seconds": ended[0] - began[0], "cpu": ended[1] - began[1], "peak_mb": memory,
                  "score_seconds": min(score_wall), "score_cpu": min(score_cpu), **figures}))
