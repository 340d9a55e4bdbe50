#!/usr/bin/env python3
"""Recall and processor time of searches with filters: Index.search(where=…) against a plain filter of ids, brute force over
the vectors that match (NumPy), and Faiss's selectors where Faiss is installed. One thread each, in one process.

The vectors lie in clusters. Filters keep 50 %, 5 %, 0.5 % and 0.05 % of them: by chance, on the side where the queries are (near),
or on the opposite side (far). Of an index that has only codes, "code recall" compares with a scan of the codes of all vectors
that match: it says what the search loses, the recall also what the codes lose. Prints a table and, with --json FILE, writes it.

  PYTHONPATH=build/python/lib bench/vector/bench_filter.py [--vectors 200000] [--dimension 64] [--queries 200] [--factory NAME …]
"""
import argparse
import json
import os
import tempfile
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"
import numpy as np  # noqa: E402

from furrow.index import Index  # noqa: E402

try:
    import faiss
except ImportError:
    faiss = None

SHARES = (0.5, 0.05, 0.005, 0.0005)
K = 10


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", type=int, default=200000)
    parser.add_argument("--dimension", type=int, default=64)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--factory", nargs="*", default=["IVF512,Flat", "IVF512,PQ16", "IVF512,SQ8", "IVF512,PQ16,RFlat", "HNSW32", "Flat"])
    parser.add_argument("--json")
    return parser.parse_args()


def make_data(options):
    draw = np.random.default_rng(7)
    n, d, q = options.vectors, options.dimension, options.queries
    centres = draw.normal(size=(max(n // 1000, 10), d)) * 1.5
    vectors = (centres[draw.integers(len(centres), size=n)] + draw.normal(size=(n, d))).astype(np.float32)
    side = vectors @ draw.normal(size=d).astype(np.float32)
    near = np.argsort(-side)[: n // 4]
    queries = vectors[draw.choice(near, q, replace=False)] + draw.normal(size=(q, d)).astype(np.float32) * 0.5
    return vectors, queries.astype(np.float32), draw.random(n), side


def brute_force(vectors, kept, queries):
    """The k nearest of the vectors that match, and the seconds for that."""
    began = time.process_time()
    some = vectors[kept]
    distances = (queries ** 2).sum(1)[:, None] - 2 * queries @ some.T + (some ** 2).sum(1)[None, :]
    k = min(K, len(kept))
    best = np.argpartition(distances, k - 1, axis=1)[:, :k]
    return kept[best], time.process_time() - began


def recall_of(found, truth):
    return sum(len(set(f) & set(t)) for f, t in zip(found.tolist(), truth.tolist())) / truth.size


def search(index, queries, **filters):
    began = time.process_time()
    _, found = index.search(queries, K, threads=1, **filters)
    return found, time.process_time() - began


def search_faiss(loaded, kept, count, queries):
    bits = np.zeros((count + 7) // 8, dtype=np.uint8)
    np.bitwise_or.at(bits, kept // 8, (1 << (kept % 8)).astype(np.uint8))
    selector = faiss.IDSelectorBitmap(count, faiss.swig_ptr(bits))
    params = faiss.SearchParametersIVF(sel=selector, nprobe=faiss.extract_index_ivf(loaded).nprobe)
    began = time.process_time()
    _, found = loaded.search(queries, K, params=params)
    return found, time.process_time() - began


def filters(chance, side):
    for share in SHARES:
        bound = {"chance": share, "near": np.quantile(side, 1 - share), "far": np.quantile(side, share)}
        yield share, "chance", f"chance < {bound['chance']}", np.flatnonzero(chance < share)
        yield share, "near", f"side > {float(bound['near'])!r}", np.flatnonzero(side.astype(np.float64) > bound["near"])
        yield share, "far", f"side < {float(bound['far'])!r}", np.flatnonzero(side.astype(np.float64) < bound["far"])


def load_faiss(index, folder):
    index.save(f"{folder}/i.index", overwrite=True)
    return faiss.read_index(f"{folder}/i.index")


def measure(factory, data, folder):
    vectors, queries, chance, side = data
    index = Index.build(vectors, factory=factory, recall=0.95, attributes={"chance": chance, "side": side.astype(np.float64)})
    loaded = load_faiss(index, folder) if faiss and factory.startswith("IVF") and "RFlat" not in factory else None
    rows = []
    for share, kind, where, kept in filters(chance, side):
        truth, brute = brute_force(vectors, kept, queries)
        ours, seconds = search(index, queries, where=where)
        plain, plain_seconds = search(index, queries, filter=kept)
        row = {"factory": factory, "share": share, "filter": kind, "matches": len(kept), "recall": recall_of(ours, truth),
               "code recall": "", "fewer than k": int((ours[:, : truth.shape[1]] < 0).any(axis=1).sum()),
               "ms": 1e3 * seconds / len(queries), "plain recall": recall_of(plain, truth),
               "plain ms": 1e3 * plain_seconds / len(queries), "brute force ms": 1e3 * brute / len(queries)}
        if factory.endswith(("PQ16", "SQ8")):
            by_codes, _ = search(index, queries, filter=kept, nprobe=index.nlist)
            row["code recall"] = recall_of(ours, by_codes[:, : truth.shape[1]])
        if loaded is not None:
            found, faiss_seconds = search_faiss(loaded, kept, len(vectors), queries)
            row.update({"Faiss recall": recall_of(found, truth), "Faiss ms": 1e3 * faiss_seconds / len(queries)})
        print("\t".join(f"{v:.3g}" if isinstance(v, float) else str(v) for v in row.values()), flush=True)
        rows.append(row)
    return rows


def main():
    options = read_options()
    if faiss:
        faiss.omp_set_num_threads(1)
    data = make_data(options)
    rows = []
    print("\t".join(["factory", "share", "filter", "matches", "recall", "code recall", "fewer than k", "ms", "plain recall", "plain ms",
                     "brute force ms", "Faiss recall", "Faiss ms"]))
    with tempfile.TemporaryDirectory() as folder:
        for factory in options.factory:
            rows += measure(factory, data, folder)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump(rows, out, indent=1)


if __name__ == "__main__":
    main()
