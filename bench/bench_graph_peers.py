#!/usr/bin/env python3
"""bench/bench_graph_peers.py: HNSW graphs of Furrow, hnswlib and Faiss: how long building takes, and a search for a recall.

  bench/bench_graph_peers.py [--quick] [--build DIR] [--n N] [--threads T] [--rounds R] [--levels avx2,avx512]

All have 32 links and several numbers of candidates while building (efConstruction), because the same number does not
give the same recall in all programs. Programs take turns: in each round, each builds its graph with T threads and
searches it with one. Figures are medians: seconds of processor time for building, microseconds of a query at a recall,
between two settings of ef. It uses the vectors and programs of bench_vector_frontier.py.
"""

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile

import bench_vector_frontier as frontiers
import bench_vector_peers as peers
from bench_rows_peers import HERE, LOAD, machine, print_table

KINDS = {"furrow": ["--factory", "HNSW32"], "hnswlib": ["--m", "32"], "faiss": ["--factory", "HNSW32,Flat"],
         "built": ["--factory", "HNSW32,Flat"]}
WIDTHS = {"furrow": (40, 100, 200), "hnswlib": (100, 200), "faiss": (40, 100), "built": (40, 100)}
RECALLS = (0.9, 0.95, 0.98, 0.99)


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build"), help="build folder (build)")
    parser.add_argument("--data", default="bells", choices=list(frontiers.MS), help="data set (bells)")
    parser.add_argument("--n", type=int, help="vectors of bells (200000)")
    parser.add_argument("--queries", type=int, default=1000, help="of bells (1000)")
    parser.add_argument("--threads", type=int, default=1, help="of building (1)")
    parser.add_argument("--rounds", type=int, default=3, help="graphs that each program builds (3)")
    parser.add_argument("--levels", default="avx2,avx512", help="instructions to use, separated by commas (both)")
    parser.add_argument("--programs", default="furrow,hnswlib,faiss,built", help="those that count (all)")
    parser.add_argument("--quick", action="store_true", help="--n 20000 --queries 200 --rounds 1")
    parser.add_argument("--scratch", help="keep the vectors in this folder, and use those that are there")
    parser.add_argument("--out", metavar="FILE", help="write the results as JSON")
    options = parser.parse_args()
    if options.quick:
        options.n, options.queries, options.rounds = options.n or 20_000, 200, 1
    options.n = options.n or 200_000
    return options


def measure_graph(graph, command, files, home, options, cores):
    """Builds and searches once; the text of a failure, or None"""
    index, answers = os.path.join(home, "graph.index"), os.path.join(home, graph["name"] + ".answers")
    width = ["--ef-construction", str(graph["width"])]
    built = peers.run(command + ["build", files[0], index, "--threads", str(options.threads)] + KINDS[graph["by"]] + width,
                      cores)
    if isinstance(built, str):
        return built
    found = peers.run(command + ["search", index, files[1], "-k", str(frontiers.K), "--nprobe", frontiers.EFS, "--batch",
                                 str(frontiers.BATCH), "--answers", answers], cores[-1:])
    if isinstance(found, str):
        return found
    graph["built"].append(next(line for line in built if line["job"] == "add"))
    graph["rounds"].append(found)
    graph["answers"] = answers
    return None


def measure(options, programs, home):
    files = peers.find_vectors(options, options.data, home)
    if not files:
        sys.exit(f"no vectors of {options.data}")
    truth, count = peers.ids_of(files[2]), peers.count_of(files[1])[0]
    cores = sorted(os.sched_getaffinity(0))[-options.threads:]
    graphs = [{"by": by, "level": level, "width": width, "name": f"{by}-{level}-{width}", "built": [], "rounds": []}
              for by in programs if by in options.programs.split(",") for level in programs[by] for width in WIDTHS[by]]
    for number in range(options.rounds):
        for graph in graphs[::-1] if number % 2 else graphs:
            if "error" not in graph:
                error = measure_graph(graph, programs[graph["by"]][graph["level"]], files, home, options, cores)
                if error:
                    graph["error"] = error
    for graph in graphs:
        if "error" in graph:
            continue
        kind = {"by": graph["by"], "name": graph["name"], "level": graph["level"]}
        graph["points"] = frontiers.points_of(kind, graph.pop("rounds"), graph.pop("answers"), truth, count)
        for key in ("seconds", "cpu_seconds"):
            graph[key] = statistics.median(line[key] for line in graph["built"])
    return graphs


def print_graphs(graphs, titles, level):
    rows = []
    for graph in graphs:
        if graph["level"] == level and "points" in graph:
            recall = next(p["recall"] for p in graph["points"] if p["nprobe"] == 32)
            times = [frontiers.time_at(graph["points"], r) for r in RECALLS]
            rows.append([titles[graph["by"]], str(graph["width"]), f"{graph['cpu_seconds']:.1f}",
                         f"{graph['seconds']:.1f}", f"{recall:.4f}"] + [f"{t:.1f}" if t else "-" for t in times])
    print_table(f"{frontiers.LEVELS[level][0]}: graphs of 32 links",
                ["program", "efConstruction", "build, s of processor", "s", "recall with ef 32"] +
                [f"us at {r}" for r in RECALLS], rows)


def main():
    options = read_arguments()
    if options.scratch:
        os.makedirs(options.scratch, exist_ok=True)
    home = options.scratch or tempfile.mkdtemp(prefix="furrow-bench-")
    try:
        programs = frontiers.find_programs(options, home)
        if "furrow" not in programs:
            sys.exit("build the benchmarks first, or name the folder with --build")
        graphs = measure(options, programs, home)
    finally:
        if not options.scratch:
            shutil.rmtree(home)
    print(f"{machine()['cpu']}; {options.n} vectors, {options.threads} threads; median of {options.rounds}; "
          f"others took {LOAD.share_of_others():.0%} of the machine meanwhile")
    for level in options.levels.split(","):
        print_graphs(graphs, frontiers.TITLES, level)
    failures = [f"{graph['name']}: {graph['error']}" for graph in graphs if "error" in graph]
    print("\n" + "\n".join(failures or ["No program failed."]))
    if options.out:
        with open(options.out, "w") as out:
            json.dump({"machine": machine(), "graphs": graphs}, out, indent=1)
            out.write("\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
