#!/usr/bin/env python3
"""bench/learn/bench_import_peers.py: scores of a model of xgboost, by xgboost and by Furrow, with one thread each.

The same forest scores the same dense rows (a tenth of the values is missing): all of them in one call, and one row in a call.
xgboost predicts from a DMatrix that exists and, like Furrow, from an array (inplace_predict). Both are called from this
program, in turn; the fastest of --rounds runs counts. Margins must have the same bits.
"""
import argparse
import ctypes
import json
import os
import tempfile
import time

import numpy
import xgboost

HERE = os.path.dirname(os.path.abspath(__file__))


class Block(ctypes.Structure):
    """furrow_rowblock with 32-bit keys and float values."""
    _fields_ = [("size", ctypes.c_size_t)] + [(name, ctypes.c_void_p) for name in
                ("offset", "label", "weight", "qid", "field", "index", "value")] + [("keys", ctypes.c_int), ("values", ctypes.c_int)]


class Row(ctypes.Structure):
    """furrow_row, likewise."""
    _fields_ = [("label", ctypes.c_void_p), ("weight", ctypes.c_void_p), ("qid", ctypes.c_void_p), ("length", ctypes.c_size_t),
                ("field", ctypes.c_void_p), ("index", ctypes.c_void_p), ("value", ctypes.c_void_p),
                ("keys", ctypes.c_int), ("values", ctypes.c_int)]


class Furrow:
    def __init__(self, library, model):
        self.lib = ctypes.CDLL(library)
        self.scorer, self.scratch = ctypes.c_void_p(), ctypes.c_void_p()
        for call, arguments in (("furrow_scorer_load", [ctypes.byref(self.scorer), model.encode(), None, None]),
                                ("furrow_scorer_scratch_create", [ctypes.byref(self.scratch), self.scorer, None])):
            if getattr(self.lib, call)(*arguments) != 0:
                raise SystemExit(f"{call} failed")

    def block(self, x):
        rows, columns = x.shape
        self.kept = (numpy.arange(0, rows * columns + 1, columns, dtype=numpy.uint64), numpy.tile(numpy.arange(columns, dtype=numpy.uint32), rows), x)
        offset, index, value = (array.ctypes.data for array in self.kept)
        scores = numpy.empty((rows, 3))
        block = Block(rows, offset, None, None, None, None, index, value, 0, 0)
        def score():
            if self.lib.furrow_scorer_score_block(self.scorer, self.scratch, ctypes.byref(block), ctypes.c_void_p(scores.ctypes.data), None) != 0:
                raise SystemExit("furrow_scorer_score_block failed")
            return scores[:, 0]
        return score

    def rows(self, x):
        index, score, call = self.kept[1], (ctypes.c_double * 3)(), self.lib.furrow_scorer_score_row
        each = [ctypes.byref(Row(None, None, None, x.shape[1], None, index.ctypes.data, row.ctypes.data, 0, 0)) for row in x]
        def one_by_one():
            for row in each:
                call(self.scorer, self.scratch, row, score, None)
        return one_by_one


def fastest(rounds, *calls):
    best = [float("inf")] * len(calls)
    for _ in range(rounds):
        for i, call in enumerate(calls):
            begin = time.perf_counter()
            call()
            best[i] = min(best[i], time.perf_counter() - begin)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "..", "build"), help="build folder (build)")
    parser.add_argument("--rows", type=int, default=20000, help="rows of a batch (20000)")
    parser.add_argument("--columns", type=int, default=28, help="columns (28)")
    parser.add_argument("--trees", type=int, default=300, help="trees (300)")
    parser.add_argument("--depth", type=int, default=6, help="depth (6)")
    parser.add_argument("--rounds", type=int, default=5, help="runs, of which the fastest counts (5)")
    options = parser.parse_args()
    random = numpy.random.RandomState(1)
    x = random.normal(size=(options.rows, options.columns)).astype(numpy.float32)
    y = (x[:, 0] * x[:, 1] + x[:, 2] + random.normal(size=options.rows) > 0).astype(float)
    x[random.uniform(size=x.shape) < 0.1] = numpy.nan
    booster = xgboost.train({"objective": "binary:logistic", "tree_method": "hist", "max_depth": options.depth, "nthread": 2},
                            xgboost.DMatrix(x, y), options.trees)
    booster.set_param({"nthread": 1})
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.json")
        booster.save_model(path)
        ours = Furrow(os.path.join(options.build, "libfurrow.so"), path)
    block, rows = ours.block(x), xgboost.DMatrix(x, nthread=1)
    booster.predict(rows, output_margin=True)
    assert (block().astype(numpy.float32) == booster.inplace_predict(x, predict_type="margin")).all(), "margins differ"
    few = x[:1000]
    def theirs():  # a new parameter drops the predictions that xgboost keeps of a DMatrix
        booster.set_param({"seed": int(time.time() * 1e6) % 1000000})
        booster.predict(xgboost.DMatrix(x, nthread=1), output_margin=True)
    def theirs_by_row():
        for i in range(len(few)):
            booster.inplace_predict(few[i:i + 1], predict_type="margin")
    batch = fastest(options.rounds, block, lambda: booster.inplace_predict(x, predict_type="margin"), theirs)
    single = fastest(options.rounds, ours.rows(few), theirs_by_row)
    print(json.dumps({"rows": options.rows, "columns": options.columns, "trees": options.trees, "depth": options.depth,
                      "batch_us": {"furrow": round(batch[0] / options.rows * 1e6, 3), "xgboost_array": round(batch[1] / options.rows * 1e6, 3),
                                   "xgboost_dmatrix": round(batch[2] / options.rows * 1e6, 3)},
                      "batch_faster_by": round(min(batch[1:]) / batch[0], 2),
                      "row_us": {"furrow": round(single[0] / len(few) * 1e6, 2), "xgboost": round(single[1] / len(few) * 1e6, 2)},
                      "row_faster_by": round(single[1] / single[0], 2)}))


if __name__ == "__main__":
    main()
