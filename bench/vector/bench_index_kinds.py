#!/usr/bin/env python3
"""bench/vector/bench_index_kinds.py: which index? Size, time to build, recall and speed of the kinds that Furrow builds.

  bench/vector/bench_index_kinds.py [--quick] [--build DIR] [--n N] [--queries N] [--recall R] [--kinds A;B] [--out FILE]

Each kind is built from the same vectors (bells, 128 dimensions); for kinds that have settings, `index build --recall`
chooses them on vectors of the index. Searches have other queries. The table has bytes of the file for each vector, recall
(10 of 10), and processor time of one thread: seconds of building with that choice, queries per second in calls of
1,000 queries, microseconds of a query in calls of one.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import bench_vector_peers as peers  # noqa: E402
from bench_rows_peers import HERE, LOAD, machine, print_table  # noqa: E402

#: factory strings, and the most recall that settings are chosen for: 0 without settings, less than 1 where codes find no more
KINDS = [("Flat", 0), ("SQ8", 0), ("PQ32", 0), ("PQ64x4fs", 0), ("PQ64x4fs,RFlat", 1), ("IVF{nlist},Flat", 1),
         ("IVF{nlist},SQ8", 1), ("IVF{nlist},PQ32", 0.7), ("IVF{nlist},PQ32,RFlat", 1), ("IVF{nlist},PQ64x4fs,RFlat", 1),
         ("HNSW32", 1), ("HNSW32,SQ8", 1)]


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build"), help="build folder (build)")
    parser.add_argument("--n", type=int, help="vectors (200000)")
    parser.add_argument("--queries", type=int, default=1000, help="of them (1000)")
    parser.add_argument("--nlist", type=int, help="lists (1024)")
    parser.add_argument("--recall", type=float, default=0.95, help="what settings are chosen for (0.95)")
    parser.add_argument("--kinds", help="factory strings between semicolons (twelve kinds)")
    parser.add_argument("--quick", action="store_true", help="--n 20000 --nlist 128 --queries 200")
    parser.add_argument("--scratch", help="keep the vectors in this folder, and use those that are there")
    parser.add_argument("--out", metavar="FILE", help="write the results as JSON")
    options = parser.parse_args()
    if options.quick:
        options.n, options.nlist, options.queries = options.n or 20_000, options.nlist or 128, 200
    options.n, options.nlist = options.n or 200_000, options.nlist or 1024
    return options


def build(options, factory, most, base, index):
    """(report of the command, seconds of processor time), or (the text of its failure, 0)"""
    wish = ["--recall", str(min(options.recall, most))] if most else []
    before, load = resource.getrusage(resource.RUSAGE_CHILDREN), LOAD.now()
    done = subprocess.run([os.path.join(options.build, "furrow"), "index", "build", "--base", base, "--out", index,
                           "--factory", factory, *wish, "--threads", "1", "--force", "--json", "--quiet"],
                          capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    LOAD.add(load)
    if done.returncode != 0:
        return done.stderr.strip(), 0
    return json.loads(done.stdout), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def search(options, index, settings, queries, answers, batch):
    """Microseconds of processor time for a query, or the text of a failure"""
    width = settings.get("nprobe") or settings.get("ef_search") or 1
    lines = peers.run([peers.program(options, "bench_vector"), "search", index, queries, "-k", str(peers.K), "--nprobe",
                       str(width), "--k-factor", f"{settings.get('k_factor', 1):g}", "--batch", str(batch), "--answers",
                       answers], sorted(os.sched_getaffinity(0))[-1:])
    if isinstance(lines, str):
        return lines
    return next(line["cpu_seconds"] for line in lines if line["job"] == "search") / options.queries * 1e6


def measure(options, factory, most, files, home):
    index, answers = os.path.join(home, "kinds.index"), os.path.join(home, "kinds.answers")
    built, seconds = build(options, factory, most, files[0], index)
    if isinstance(built, str):
        return {"factory": factory, "error": built}
    settings = {name: built[name] for name in ("nprobe", "ef_search", "k_factor") if most and built.get(name)}
    single, many = (search(options, index, settings, files[1], answers, batch) for batch in (1, 1000))
    if isinstance(single, str) or isinstance(many, str):
        return {"factory": factory, "error": str(single)}
    recall = peers.common(peers.ids_of(files[2]), peers.ids_of(answers), options.queries)
    return {"factory": factory, "settings": settings, "seconds": seconds, "bytes": os.path.getsize(index) / options.n,
            "recall": recall, "queries_per_second": 1e6 / many, "single_us": single}


def report(options, results):
    rows = []
    for r in results:
        if "error" in r:
            rows.append([r["factory"], r["error"], "", "", "", "", ""])
            continue
        settings = ", ".join(f"{name} {value:g}" for name, value in r["settings"].items())
        rows.append([r["factory"], f"{r['seconds']:.1f}", f"{r['bytes']:.0f}", f"{r['recall']:.3f}",
                     f"{r['queries_per_second']:.0f}", f"{r['single_us']:.0f}", settings])
    about = machine()
    print_table(f"{options.n} vectors of {peers.DATA['bells'][1]}, {options.queries} queries, one thread; {about['cpu']}; "
                f"others took {LOAD.share_of_others():.0%} of the machine meanwhile",
                ["index", "build, s", "bytes/vector", "recall@10", "queries/s", "one query, µs", "settings"], rows)
    if options.out:
        with open(options.out, "w") as out:
            json.dump({"machine": about, "others": LOAD.share_of_others(), "n": options.n, "queries": options.queries,
                       "results": results}, out, indent=1)


def main():
    options = read_arguments()
    if options.scratch:
        os.makedirs(options.scratch, exist_ok=True)
    home = options.scratch or tempfile.mkdtemp(prefix="furrow-bench-")
    kinds = [(text, dict(KINDS).get(text, 1)) for text in options.kinds.split(";")] if options.kinds else KINDS
    try:
        files = peers.find_vectors(options, "bells", home)
        results = [measure(options, text.format(nlist=options.nlist), most, files, home) for text, most in kinds]
    finally:
        if not options.scratch:
            shutil.rmtree(home)
    report(options, results)
    return int(any("error" in r for r in results))


if __name__ == "__main__":
    sys.exit(main())
