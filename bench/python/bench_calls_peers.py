#!/usr/bin/env python3
"""bench/python/bench_calls_peers.py: what a call from Python costs over the same call from C.

Scores one row with small models, searches a tiny index, and searches an index of the usual size with one query and with
batches, from Python and from C (bench_calls) in turns, on one thread; hnswlib and Faiss search the same vectors from
Python. Fails if Python and C find different things. Goals: less than 5 us over C; within 1.3 times of C for one query.
"""
import os
import subprocess
import sys

from python_bench import Folder, arguments, imported, median, print_table, ratio, report, take_turns, timed, verdict

import numpy as np  # after python_bench, which looks for a Python that has it

GOAL_US, GOAL_RATIO = 5.0, 1.3


def vectors(rng, n, d):
    """Clouds around centres, so that lists differ and near vectors are near"""
    centres = rng.normal(size=(max(n // 500, 4), d))
    return (centres[rng.integers(0, len(centres), n)] + 0.4 * rng.normal(size=(n, d))).astype(np.float32)


class Driver:
    """bench_calls, with everything loaded, which answers jobs"""

    def __init__(self, options, *arguments):
        program = os.path.join(options.build, "bench", "bench_calls")
        if not os.access(program, os.X_OK):
            sys.exit(f"no program {program}: build the target furrow_bench, or name the folder with --build")
        self.process = subprocess.Popen([program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, nprobe, batch, calls):
        """((seconds, processor seconds), sum of the results)"""
        self.process.stdin.write(f"{nprobe} {batch} {calls}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline().split()
        if len(line) != 3:
            sys.exit("bench_calls failed")
        return (float(line[0]), float(line[1])), float(line[2])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def contest(options, name, calls, python, driver, job, failures, peers=()):
    """Python and C in turns; a line of the table"""
    sums = {}

    def in_python():
        pair, sums["python"] = timed(lambda: python(calls))
        return pair

    def in_c():
        pair, sums["c"] = driver.run(*job, calls)
        return pair

    jobs = {"python": in_python, "c": in_c}
    for peer, call in dict(peers).items():
        jobs[peer] = lambda call=call: timed(lambda: call(calls))[0]
    for call in jobs.values():  # once, without a clock: threads, caches
        call()
    times = take_turns(jobs, options.rounds)
    if sums["python"] != sums["c"]:
        failures.append(f"{name}: the results from Python add up to {sums['python']}, those from C to {sums['c']}")
    result = {"call": name, "calls": calls}
    for which, clock in enumerate(("us", "cpu_us")):
        result[clock] = {job: median(pairs, which) / calls * 1e6 for job, pairs in times.items()}
    result["ratio"] = ratio(times, "python", "c", 1)
    result["over_us"] = result["cpu_us"]["python"] - result["cpu_us"]["c"]
    return result


# ---- One row ---------------------------------------------------------------------------------------------------------


def score_rows(options, folder, failures):
    from furrow import Classifier, load_model

    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 10)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)
    results = []
    for algorithm in ("lr", "fm", "gbdt"):
        path = os.path.join(folder, f"{algorithm}.model")
        Classifier(algorithm, threads=1).fit(X, y).save(path, overwrite=True)
        model, row = load_model(path), X[:1].copy()
        row.tofile(os.path.join(folder, "row.f32"))
        driver = Driver(options, "score", path, os.path.join(folder, "row.f32"))

        def predict(calls):
            total = 0.0
            for _ in range(calls):
                total += model.predict(row)[0]
            return float(total)

        calls = 2000 if options.quick else 20000
        results.append(contest(options, f"Model.predict, 1 x 10, {algorithm}", calls, predict, driver, (0, 1), failures))
        driver.close()
    return results


# ---- Searching -------------------------------------------------------------------------------------------------------


def search_loop(index, queries, k, nprobe, batch):
    groups = [queries[i * batch:(i + 1) * batch] for i in range(len(queries) // batch)]

    def search(calls):
        total = 0
        for i in range(calls):
            total += index.search(groups[i % len(groups)], k, nprobe=nprobe, threads=1)[1][0, 0]
        return float(total)

    return search


def peer_loops(found, base, queries, k, nlist, m, nprobe, batch):
    """hnswlib and Faiss on the same vectors, with one thread"""
    loops = {}
    groups = [queries[i * batch:(i + 1) * batch] for i in range(len(queries) // batch)]
    if "hnswlib" in found:
        if "hnsw" not in found:
            found["hnsw"] = found["hnswlib"].Index(space="l2", dim=base.shape[1])
            found["hnsw"].init_index(len(base), ef_construction=100, M=16)
            found["hnsw"].add_items(base)
        found["hnsw"].set_num_threads(1)

        def hnsw(calls):
            found["hnsw"].set_ef(16 * nprobe)
            for i in range(calls):
                found["hnsw"].knn_query(groups[i % len(groups)], k)

        loops[f"hnswlib, ef {16 * nprobe}"] = hnsw
    if "faiss" in found:
        faiss = found["faiss"]
        faiss.omp_set_num_threads(1)

        def ivfpq(calls):
            found["ivfpq"].nprobe = nprobe
            for i in range(calls):
                found["ivfpq"].search(groups[i % len(groups)], k)

        loops["faiss"] = ivfpq
    return loops


def make_index(options, folder, n, d, nlist, m):
    """The index file, built once, and the vectors and queries"""
    from furrow import Index

    rng = np.random.default_rng(2)
    base, queries = vectors(rng, n, d), vectors(rng, 1024, d)
    path = os.path.join(folder, f"{n}-{d}-{nlist}-{m}.index")
    if not os.path.exists(path):
        Index.build(base, nlist=nlist, m=m).save(path)
    queries.tofile(os.path.join(folder, "queries.f32"))
    return path, base, queries


def search_index(options, folder, n, d, nlist, m, settings, found, failures):
    from furrow import Index

    path, base, queries = make_index(options, folder, n, d, nlist, m)
    index = Index.load(path)
    if "faiss" in found:
        found["ivfpq"] = found["faiss"].read_index(path)
    driver = Driver(options, "search", path, os.path.join(folder, "queries.f32"), "10")
    results = []
    for nprobe, batch in settings:
        calls = max((400 if options.quick else 80000) // (nprobe * batch) // (1 + n // 50000), 10)
        peers = peer_loops(found, base, queries, 10, nlist, m, nprobe, batch)
        name = f"Index.search, {n} x {d}, nprobe {nprobe}, {batch} quer{'y' if batch == 1 else 'ies'}"
        results.append(contest(options, name, calls, search_loop(index, queries, 10, nprobe, batch), driver,
                               (nprobe, batch), failures, peers))
    driver.close()
    found.pop("hnsw", None)
    return results


def print_results(results):
    rows = []
    for result in results:
        us = result["cpu_us"]
        others = ", ".join(f"{name} {value:.1f}" for name, value in us.items() if name not in ("python", "c"))
        rows.append([result["call"], f"{us['python']:.2f}", f"{us['c']:.2f}", f"{result['over_us']:.2f}",
                     f"{result['ratio']:.2f}x", others or "-"])
    print_table("Microseconds of processor time for a call",
                ["call", "Python", "C", "Python - C", "Python / C", "peers from Python"], rows)


def main():
    options = arguments(__doc__, vectors=(200_000, "of the large index"), nlist=(1024, "lists of it"))
    if options.quick:
        options.vectors, options.nlist = 20_000, 128
    found, failures = imported("hnswlib", "faiss"), []
    with Folder(options) as folder:
        results = score_rows(options, folder, failures)
        results += search_index(options, folder, 1000, 8, 1, 4, [(1, 1)], {}, failures)
        settings = [(1, 1), (4, 1), (16, 1), (16, 64)]
        results += search_index(options, folder, options.vectors, 64, options.nlist, 16, settings, found, failures)
    report(options, "Calls", results)
    print_results(results)
    small = [result for result in results if "1 x 10" in result["call"] or " 1000 x 8" in result["call"]]
    large = [result for result in results if result not in small]
    print(f"\nmost over C: {max(result['over_us'] for result in small):.2f} us (goal: {GOAL_US:g}); "
          f"largest ratio: {max(result['ratio'] for result in large):.2f} (goal: {GOAL_RATIO:g})")
    return verdict(failures)


if __name__ == "__main__":
    sys.exit(main())
