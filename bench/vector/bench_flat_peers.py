#!/usr/bin/env python3
"""bench/vector/bench_flat_peers.py: exact search: Furrow's Flat index, Faiss's, and a program of matrix products, in one run.

  bench/vector/bench_flat_peers.py [--quick] [--build DIR] [--sizes N*D,…] [--rounds R] [--levels avx2,avx512] [--out FILE]

Programs take turns on one core: each searches the same vectors for 10 neighbours (L2), in calls of one query and of 1,000.
The program of matrix products is NumPy with the BLAS that it is linked with: |x|² - 2⟨x, q⟩ in blocks, then the smallest
by argpartition. A Faiss built elsewhere is one more, as in bench_vector_peers.py. Figures are medians of processor time.
"""

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import bench_vector_peers as peers  # noqa: E402
from bench_rows_peers import HERE, LOAD, machine, print_table  # noqa: E402

#: what the programs of a level are told
LEVELS = {"avx2": ["FURROW_ISA=avx2", "FAISS_SIMD_LEVEL=AVX2", "OPENBLAS_CORETYPE=Haswell"], "avx512": ["FURROW_ISA=avx512"]}
#: queries of a call, and how many queries there are
CALLS = {1: 100, 1000: 1000}


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build"), help="build folder (build)")
    parser.add_argument("--sizes", default="200000*128,100000*768", help="vectors * dimension, separated by commas")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each program (5)")
    parser.add_argument("--levels", default="avx2,avx512", help="instructions to use, separated by commas (both)")
    parser.add_argument("--core", type=int, help="the one to use (the last allowed)")
    parser.add_argument("--quick", action="store_true", help="--sizes 20000*64 --rounds 2")
    parser.add_argument("--products", nargs=4, metavar=("BASE", "QUERIES", "BATCH", "ANSWERS"), help="be NumPy's program")
    parser.add_argument("--out", metavar="FILE", help="write the results as JSON")
    options = parser.parse_args()
    if options.quick:
        options.sizes, options.rounds = "20000*64", 2
    options.core = options.core if options.core is not None else max(os.sched_getaffinity(0))
    return options


# ---- Matrix products ----

def search_by_products(base, queries, batch, answers):
    """Prints one line as bench_vector does, and writes the ids."""
    import numpy as np
    x, q = (np.memmap(path, np.float32, "r", 8).reshape(peers.count_of(path)) for path in (base, queries))
    x, q = np.ascontiguousarray(x), np.ascontiguousarray(q)
    norms, found, block = np.einsum("ij,ij->i", x, x), np.empty((len(q), peers.K), np.int64), 16384
    before = time.process_time()
    for start in range(0, len(q), batch):
        part = q[start:start + batch]
        values, ids = [], []
        for first in range(0, len(x), block):
            distances = part @ x[first:first + block].T
            distances *= -2
            distances += norms[first:first + block]
            nearest = np.argpartition(distances, peers.K - 1, axis=1)[:, :peers.K]
            values.append(np.take_along_axis(distances, nearest, 1))
            ids.append(nearest + first)
        values, ids = np.concatenate(values, 1), np.concatenate(ids, 1)
        found[start:start + batch] = np.take_along_axis(ids, np.argsort(values, 1)[:, :peers.K], 1)
    print(json.dumps({"job": "search", "cpu_seconds": time.process_time() - before}))
    found.tofile(answers)


def has_numpy():
    try:
        import numpy  # noqa: F401
    except ImportError:
        print("left out: matrix products (no NumPy)")
        return False
    return True


# ---- Measuring ----

def measure(options, programs, home, size, count, batch):
    """{(program, level): {us, recall}} or, where a program failed, {error}"""
    n, d = (int(part) for part in size.split("*"))
    generator = peers.program(options, "gen_vectors")
    base = peers.make_file(f"{home}/flat-{n}-{d}.fbin", [generator, "points", str(n), str(d), "1"])
    queries = peers.make_file(f"{home}/flat-q{count}-{d}.fbin", [generator, "points", str(count), str(d), "2"])
    truth = peers.ids_of(peers.make_file(f"{base}.{count}.truth", [generator, "truth", base, queries, str(peers.K)]))
    answers, times, found = f"{home}/flat.answers", {}, {}
    for number in range(options.rounds):
        for by in list(programs)[::-1] if number % 2 else programs:
            for level in options.levels.split(","):
                lines = run_search(options, programs, (by, level), (base, queries, batch, answers))
                if isinstance(lines, str):
                    found[by, level] = {"error": lines}
                    continue
                seconds = next(line["cpu_seconds"] for line in lines if line["job"] == "search")
                times.setdefault((by, level), []).append(seconds / count * 1e6)
                found[by, level] = {"us": statistics.median(times[by, level]),
                                    "recall": peers.common(truth, peers.ids_of(answers), count)}
    return found


def run_search(options, programs, who, what):
    (by, level), (base, queries, batch, answers) = who, what
    command = ["env", *LEVELS[level], *programs[by]]
    if by == "products":
        return peers.run(command + ["--products", base, queries, str(batch), answers], [options.core])
    index = f"{base}.{by}.index"
    if not os.path.exists(index):
        built = peers.run(command + ["build", base, index, "--factory", "Flat"], [options.core])
        if isinstance(built, str):
            return built
    return peers.run(command + ["search", index, queries, "-k", str(peers.K), "--batch", str(batch), "--answers", answers],
                     [options.core])


def report(options, results):
    about, rows, names = machine(), [], {"furrow": "Furrow", "faiss": "Faiss 1.7.3", "built": "Faiss, built elsewhere",
                                         "products": "matrix products"}
    for result in results:
        ours, found = result["found"].get("furrow", {}).get("us"), result["found"]
        cells = [f"{found[by]['us']:.1f}" + (f" ({found[by]['us'] / ours:.2f}x)" if ours and by != "furrow" else "")
                 if by in found and "us" in found[by] else "-" for by in names]
        rows.append([result["size"], str(result["batch"]), result["level"], *cells,
                     f"{min(one.get('recall', 0) for one in found.values()):.4f}"])
    print_table(f"microseconds of a query, processor time (how many times faster Furrow is); {about['cpu']}; others took "
                f"{LOAD.share_of_others():.0%} of the machine meanwhile",
                ["vectors", "queries in a call", "level", *names.values(), "least recall"], rows)
    for result in results:
        for by, one in result["found"].items():
            if "error" in one:
                print(f"{by}, {result['size']}, {result['level']}: {one['error']}")
    if options.out:
        with open(options.out, "w") as out:
            json.dump({"machine": about, "others_share": LOAD.share_of_others(), "results": results}, out, indent=1)
            out.write("\n")


def main():
    options = read_arguments()
    if options.products:
        base, queries, batch, answers = options.products
        search_by_products(base, queries, int(batch), answers)
        return 0
    home, results = tempfile.mkdtemp(prefix="furrow-bench-"), []
    try:
        programs = peers.find_programs(options, home)
        if has_numpy():
            programs["products"] = [sys.executable, os.path.abspath(__file__)]
        for size in options.sizes.split(","):
            for batch, count in CALLS.items():
                found = measure(options, programs, home, size, count, batch)
                results += [{"size": size, "batch": batch, "level": level,
                             "found": {by: one for (by, at), one in found.items() if at == level}}
                            for level in options.levels.split(",")]
    finally:
        shutil.rmtree(home)
    report(options, results)
    return int(any("error" in one for result in results for one in result["found"].values()))


if __name__ == "__main__":
    sys.exit(main())
