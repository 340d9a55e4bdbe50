"""tests/interop/faiss_factory.py FURROW: see faiss_factory.sh. Metrics take turns; FURROW_FULL=1 tries both everywhere."""

import os
import subprocess
import sys

import faiss
import numpy as np

furrow = sys.argv[1]
failures = []
#: strings, and dimensions for which they are tried; np: Faiss does not optimize the order of centroids, which takes long
CASES = [
    ("Flat", (1, 2, 33, 1024)),
    ("IDMap,Flat", (1, 64)),
    ("IDMap2,Flat", (3, 256)),
    ("IVF16,Flat", (1, 8, 1024)),
    ("IVF16_HNSW8,Flat", (16,)),
    ("IDMap2,IVF8,Flat", (5,)),
    ("SQ8", (1, 7, 1024)),
    ("SQ6", (4, 64)),
    ("SQ4", (1, 2, 64)),
    ("SQfp16", (1, 33, 1024)),
    ("IVF8,SQ8", (1, 48)),
    ("IVF8,SQ6", (4, 64)),
    ("IVF8,SQ4", (2, 64)),
    ("IVF8,SQfp16", (1, 33)),
    ("PQ4np", (4, 64)),
    ("PQ4x4np", (8,)),
    ("PQ4x6np", (16,)),
    ("PQ3x9np", (9,)),
    ("IVF8,PQ4np", (8,)),
    ("IVF8,PQ4x5np", (32,)),
    ("IVF8,PQ4+8", (32,)),
    ("PQ8x4fs", (16, 64)),
    ("PQ7x4fs", (7,)),
    ("IVF8,PQ8x4fs", (16, 64)),
    ("IVF8,PQ7x4fs", (21,)),
    ("IVF8,PQ8x4fsr", (32,)),
    ("L2norm,Flat", (2, 16)),
    ("PCA4,Flat", (4, 32)),
    ("PCAR8,IVF8,Flat", (32,)),
    ("PCAW8,SQ8", (32,)),
    ("PCAWR8,PQ4x5np", (32,)),
    ("RR,Flat", (1, 24)),
    ("RR8,SQ8", (24,)),
    ("RR32,IVF8,PQ4x5np", (24,)),
    ("OPQ4,PQ4x4np", (16,)),
    ("OPQ4_8,IVF8,PQ4x4np", (16,)),
    ("L2norm,OPQ4,PCA4,IVF8,SQ8", (16,)),
    ("IVF8,PQ4x6np,RFlat", (16, 256)),
    ("SQ4,RFlat", (16,)),
    ("PQ4x6np,Refine(SQ8)", (16,)),
    ("IVF8,PQ4x4np,Refine(PQ8x6np)", (16,)),
    ("OPQ8,IVF8,PQ8x4fs,RFlat", (16,)),
    ("PCA8,SQ8,Refine(SQfp16)", (32,)),
    ("IVF8,PQ4x6np,RFlat,IDMap", (16,)),
    ("PCA8,IDMap,Flat", (32,)),
    ("HNSW32,Flat", (1, 2, 33, 1024)),
    ("HNSW8,SQ8", (3, 64)),
    ("HNSW16,SQ6", (16,)),
    ("HNSW16,PQ4np", (4, 64)),
    ("IDMap,HNSW16,Flat", (1, 64)),
    ("IDMap2,HNSW32,Flat", (3, 256)),
    ("L2norm,HNSW16,Flat", (16,)),
    ("PCA8,HNSW16,SQ8", (32,)),
    ("OPQ4,HNSW16,PQ4np", (16,)),
    ("HNSW16,SQ4,RFlat", (16,)),
]
#: what Furrow prints for a string, where it differs by more than np
PRINTED = {
    "L2norm,OPQ4,PCA4,IVF8,SQ8": "L2norm,LTra16,PCA4,IVF8,SQ8",  # a file does not say what a matrix was trained for
    "RR,Flat": "RR{d},Flat",
    "IVF8,PQ4x6np,RFlat,IDMap": "IDMap,IVF8,PQ4x6,RFlat",
}
N, K, EF = 700, 10, 400


def check(good, *what):
    if not good:
        failures.append(what)
        print("failed:", *what)


def run(*args):
    done = subprocess.run([furrow, "index", *map(str, args)], capture_output=True, text=True)
    if done.returncode != 0:
        check(False, args, done.stderr.strip())
    return done.stdout


def data(n, d, seed):
    random = np.random.RandomState(seed)
    centres = random.standard_normal((20, d)) * 2
    return (centres[random.randint(0, 20, n)] + random.standard_normal((n, d))).astype(np.float32)


def furrow_search(path, k=K, **options):
    words = [word for name, value in options.items() for word in ("--" + name.replace("_", "-"), value)]
    run("search", path, "queries.npy", "-k", k, "--out-ids", "i.npy", "--out-dist", "d.npy", "--force", "-q", *words)
    return np.load("d.npy"), np.load("i.npy")


def all_lists(index):
    """Makes Faiss probe all lists, so that both find the same vectors."""
    index = faiss.downcast_index(index)
    if isinstance(index, faiss.IndexIVF):
        index.nprobe = index.nlist
    if isinstance(index, faiss.IndexHNSW):
        index.hnsw.efSearch = EF
    if isinstance(index, faiss.IndexRefine):
        all_lists(index.base_index)
    elif isinstance(index, (faiss.IndexPreTransform, faiss.IndexIDMap)):
        all_lists(index.index)


def has_lists(name):
    return "IVF" in name


def name_has_graph(name):
    return "HNSW" in name and not has_lists(name)


def same_answers(name, index, path, queries, what):
    all_lists(index)
    theirs, their_ids = index.search(queries, K)
    wide = {"nprobe": 1000} if has_lists(name) else {"ef_search": EF} if name_has_graph(name) else {}
    ours, our_ids = furrow_search(path, **wide)
    missing = their_ids < 0
    check(np.array_equal(missing, our_ids < 0), name, what, "numbers of results")
    if "fs" in name:  # Faiss rounds distances there, and ranks by the rounded ones
        shared = np.mean([len(set(a) & set(b)) / len(set(a)) for a, b in zip(their_ids, our_ids)])
        check(shared > 0.6, name, what, "shared results", shared)
        return
    # Faiss computes |x|^2 + |y|^2 - 2 xy, which loses digits where distances are short
    scale = (np.abs(theirs[~missing]).mean() if not missing.all() else 1) + 1e-2 * (queries**2).sum(axis=1).max()
    worst = np.abs(np.where(missing, 0, theirs - ours)).max() / scale if theirs.size else 0
    check(worst < 1e-3, name, what, "distances", worst)
    check(np.mean(their_ids == our_ids) > 0.97, name, what, "ids", np.mean(their_ids == our_ids))


def same_bytes(name, path, what):
    """Both programs write the bytes that they read."""
    faiss.write_index(faiss.read_index(path), "again.index")
    check(open(path, "rb").read() == open("again.index", "rb").read(), name, what, "Faiss writes other bytes")
    run("convert", path, "again.index", "--force", "-q")
    check(open(path, "rb").read() == open("again.index", "rb").read(), name, what, "Furrow writes other bytes")


def printed(path):
    lines = [line.split() for line in run("info", path).splitlines()]
    return next(words[1] for words in lines if words and words[0] == "factory")


def takes_ids(name):
    return "IDMap" in name or (has_lists(name) and "R" not in name.replace("RR", "").replace("PCAR", "").replace("PCAWR", "") and "+" not in name)


def try_case(name, d, metric):
    what = f"d {d}, metric {metric}"
    base, more, queries = data(N, d, 1), data(70, d, 2), data(30, d, 3)
    np.save("base.npy", base), np.save("more.npy", more), np.save("queries.npy", queries)
    words = ["--metric", "l2" if metric == faiss.METRIC_L2 else "ip"]
    # Furrow builds, Faiss reads
    run("build", "--base", "base.npy", "--out", "ours.index", "--factory", name, "--force", "-q", "--threads", 1, *words)
    expected = PRINTED.get(name, name).replace("np", "").format(d=d)
    check(printed("ours.index") == expected, name, what, "printed", printed("ours.index"))
    same_bytes(name, "ours.index", what)
    ours = faiss.read_index("ours.index")
    check(ours.ntotal == N and ours.metric_type == metric, name, what, "header")
    same_answers(name, ours, "ours.index", queries, what + ", built by Furrow")
    # Faiss builds, Furrow reads
    theirs = faiss.index_factory(d, name, metric)
    theirs.train(base)
    ids = np.arange(N, dtype=np.int64) * 3 + 5 if takes_ids(name) else None
    theirs.add(base) if ids is None else theirs.add_with_ids(base, ids)
    faiss.write_index(theirs, "theirs.index")
    check(printed("theirs.index") == expected, name, what, "printed of Faiss's", printed("theirs.index"))
    same_bytes(name, "theirs.index", what)
    run("verify", "theirs.index")
    same_answers(name, theirs, "theirs.index", queries, what + ", built by Faiss")
    # Furrow adds and removes, Faiss reads the result
    np.save("ids.npy", np.arange(70, dtype=np.int64) + 900000)
    run("add", "theirs.index", "--base", "more.npy", "-q", *(["--ids", "ids.npy"] if ids is not None else []))
    if "IDMap" in name[1:]:
        pass  # an id map inside of another index keeps its vectors
    elif "+" not in name:
        run("remove", "theirs.index", "--ids", "20:200", "-q")
    if ids is not None:
        run("remove", "theirs.index", "--ids", "900003", "-q")
        np.save("one.npy", more[3:4]), np.save("one_id.npy", np.array([900003]))
        run("add", "theirs.index", "--base", "one.npy", "--ids", "one_id.npy", "-q")  # an id comes back
    same_answers(name, faiss.read_index("theirs.index"), "theirs.index", queries, what + ", changed by Furrow")
    # nothing, and a single vector
    run("build", "--train", "base.npy", "--out", "empty.index", "--factory", name, "--force", "-q", "--threads", 1, *words)
    same_bytes(name, "empty.index", what)
    empty = faiss.read_index("empty.index")
    check(empty.ntotal == 0 and empty.is_trained, name, what, "empty")
    np.save("one.npy", base[:1]), np.save("one_id.npy", np.array([0]))
    run("add", "empty.index", "--base", "one.npy", "-q", *(["--ids", "one_id.npy"] if ids is not None else []))
    same_answers(name, faiss.read_index("empty.index"), "empty.index", queries, what + ", one vector")


def try_metrics():
    """Flat indexes of the other metrics."""
    d = 6
    base = np.abs(data(200, d, 4)) + np.float32(0.1)
    np.save("queries.npy", np.abs(data(20, d, 5)) + np.float32(0.1))
    for metric in (2, 3, 20, 21, 22):
        index = faiss.index_factory(d, "IDMap2,Flat", metric)
        index.add_with_ids(base, np.arange(200) + 7)
        faiss.write_index(index, "metric.index")
        same_bytes("Flat", "metric.index", f"metric {metric}")
        same_answers("Flat", index, "metric.index", np.load("queries.npy"), f"metric {metric}")


full = bool(os.environ.get("FURROW_FULL"))
for number, (name, dims) in enumerate(CASES):
    for i, d in enumerate(dims):
        similarity = (number + i) % 2 == 1 and "+" not in name
        if full or not similarity:
            try_case(name, d, faiss.METRIC_L2)
        if (full and "+" not in name) or similarity:
            try_case(name, d, faiss.METRIC_INNER_PRODUCT)
try_metrics()
print(f"{len(CASES)} strings, {len(failures)} failures")
sys.exit(1 if failures else 0)
