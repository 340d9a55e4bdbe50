"""tests/interop/faiss_lists_file.py FURROW: see faiss_lists_file.sh."""

import struct
import subprocess
import sys

import faiss
import numpy as np

furrow = sys.argv[1]
failures = []
N, MORE, K = 3000, 800, 10
CASES = ["IVF16,Flat", "IVF16,SQ8", "IVF16,SQ4", "IVF16,SQfp16", "IVF16,PQ4x6", "IVF16,PQ8", "IVF16_HNSW8,PQ4x9",
         "OPQ4,IVF16,PQ4x4", "IVF16,PQ4x6,RFlat", "IDMap,IVF16,PQ4x6", "IVF600,PQ4x4"]


def check(good, *what):
    if not good:
        failures.append(what)


def run(*words):
    done = subprocess.run([furrow, *map(str, words)], capture_output=True, text=True)
    check(done.returncode == 0, words, done.stderr)
    return done.stdout


def inner_ivf(index):
    """The IVF index inside of refinements, id maps and transforms."""
    index = faiss.downcast_index(index)
    while not isinstance(index, faiss.IndexIVF):
        index = faiss.downcast_index(index.base_index if hasattr(index, "base_index") else index.index)
    return index


def search(index, queries):
    inner_ivf(index).nprobe = 12
    return index.search(queries, K)


def same(a, b):
    return np.array_equal(a[0], b[0]) and np.array_equal(a[1], b[1])


def merged_by_faiss(name):
    """The data file and the index that Faiss itself writes for the lists of an index file."""
    index = faiss.read_index(f"{name}.index")
    ivf = inner_ivf(index)
    lists = faiss.OnDiskInvertedLists(ivf.nlist, ivf.code_size, "theirs.lists")
    sources = faiss.InvertedListsPtrVector()
    sources.push_back(ivf.invlists)
    lists.merge_from(sources.data(), sources.size())
    ivf.replace_invlists(lists)
    faiss.write_index(index, "theirs.index")


def whole(name, out):
    """The bytes of an index whose lists are brought into its file."""
    run("index", "convert", name, out, "--inline-lists", "--force")
    with open(out, "rb") as file:
        return file.read()


def read_bytes(name):
    with open(name, "rb") as file:
        return file.read()


def compare_with_faiss():
    """The same bytes, except for the free slot that Faiss leaves over all lists, so that adding destroys them."""
    check(read_bytes("theirs.lists") == read_bytes("apart.lists"), "other data")
    theirs, ours = read_bytes("theirs.index"), read_bytes("apart.index").replace(b"apart.lists", b"theirs.lists")
    size = len(read_bytes("apart.lists"))
    name = struct.pack("<Q", len("theirs.lists")) + b"theirs.lists"
    ours = ours.replace(struct.pack("<Q", len("apart.lists")) + b"theirs.lists", name)
    slot = struct.pack("<QQQ", 1, 0, size) + name
    check(theirs.count(slot) == 1, "no slot over all")
    check(theirs.replace(slot, struct.pack("<Q", 0) + name) == ours, "other index")


def one_case(factory, metric, base, more, queries):
    for name in ("apart.lists", "built.lists", "theirs.lists", "next.lists"):
        subprocess.run(["rm", "-f", name], check=True)
    build = ["index", "build", "--base", "base.npy", "--factory", factory, "--metric", metric, "--force", "-q"]
    run(*build, "--out", "plain.index")
    run(*build, "--out", "built.index", "--lists-file", "built.lists")
    run("index", "convert", "plain.index", "apart.index", "--lists-file", "apart.lists", "--force")
    check(read_bytes("built.lists") == read_bytes("apart.lists"), "build and convert write other lists")
    check(whole("apart.index", "again.index") == read_bytes("plain.index"), "not the index that it was")
    merged_by_faiss("plain")
    compare_with_faiss()
    plain, apart = faiss.read_index("plain.index"), faiss.read_index("apart.index")
    check(same(search(plain, queries), search(apart, queries)), "other answers")
    for step in ("add", "remove", "add again"):
        for index in (plain, apart):
            if step == "remove":
                if "RFlat" not in factory and "IDMap" not in factory:
                    index.remove_ids(np.arange(0, N, 16, dtype=np.int64))
            elif "IDMap" in factory:
                index.add_with_ids(more, np.arange(index.ntotal, index.ntotal + len(more)))
            else:
                index.add(more)
        check(same(search(plain, queries), search(apart, queries)), step, "other answers")
        faiss.write_index(plain, "plain2.index")
        faiss.write_index(apart, "apart2.index")
        found = run("index", "verify", "apart2.index")
        check(" 0 errors" in found and "lists/slots" not in found, step, found)
        check(whole("apart2.index", "again.index") == whole("plain2.index", "again2.index"), step, "other vectors")
    # Furrow writes new lists from what Faiss left, and Faiss reads them
    run("index", "add", "apart2.index", "--base", "more.npy", "--out", "next.index", "--lists-file", "next.lists",
        "--force", "-q", "--repeated-ids")
    run("index", "add", "plain2.index", "--base", "more.npy", "--out", "nextp.index", "--force", "-q",
        "--repeated-ids")
    after = search(faiss.read_index("next.index"), queries), search(faiss.read_index("nextp.index"), queries)
    check(same(*after), "other answers after Furrow added")


def empty_index(base, queries):
    """An index without vectors: Faiss reads it and adds."""
    subprocess.run(["rm", "-f", "empty.lists"], check=True)
    run("index", "build", "--train", "base.npy", "--factory", "IVF16,PQ4x6", "--out", "empty.index", "--lists-file",
        "empty.lists", "-q", "--force")
    run("index", "convert", "empty.index", "none.index", "--inline-lists", "--force")
    apart, plain = faiss.read_index("empty.index"), faiss.read_index("none.index")
    for index in (apart, plain):
        index.add(base)
    check(same(search(plain, queries), search(apart, queries)), "empty: other answers")
    faiss.write_index(apart, "filled.index")
    faiss.write_index(plain, "plain.index")
    check(whole("filled.index", "again.index") == whole("plain.index", "again2.index"), "empty: other vectors")


draw = np.random.default_rng(5)
base, more, queries = (draw.standard_normal((n, 16)).astype("float32") for n in (N, MORE, 40))
np.save("base.npy", base)
np.save("more.npy", more)
for factory in CASES:
    for metric in ("l2", "ip"):
        before = len(failures)
        one_case(factory, metric, base, more, queries)
        failures[before:] = [(factory, metric, *what) for what in failures[before:]]
empty_index(base, queries)
for what in failures:
    print(*what)
sys.exit(1 if failures else 0)
