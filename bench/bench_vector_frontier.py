#!/usr/bin/env python3
"""bench/bench_vector_frontier.py: what recall costs: Furrow's indexes, many kinds of Faiss indexes, hnswlib, in one run.

Each kind of index is built once, then searched in turn, round by round, with one thread on one core in calls of 1,000
queries, with several settings: lists visited (of a graph: ef), and how many candidates are refined; once for each level
of instructions (AVX2, AVX-512). Reports recall (10 of 10) and processor time of a query for each setting; which kinds
are best at which recall, and how many times faster Furrow is there; as tables, as JSON and as a picture. Exits with 1
when a program fails.

A Faiss built elsewhere (FAISS_INCLUDE, FAISS_LIBRARY, as in bench_vector_peers.py; one that picks its level at run
time) takes the place of the system's, which is compiled for no level. hnswlib is the system's header (libhnswlib-dev),
compiled here for each level.
"""
import argparse
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

import bench_vector_peers as peers
from bench_rows_peers import HERE, LOAD, machine, print_table
from vector.frontier_plot import write_plot

K, BATCH = peers.K, 1000
PROBES, EFS = "1,2,3,4,6,8,12,16,24,32,48,64,128", "10,16,24,32,48,64,96,128,192"
RECALLS = [0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.97, 0.98, 0.99]
# name, what the index is for Furrow (options or a factory) or for Faiss (a factory; np: codes are not put in an order that their own
# search does not use), settings: nprobe or ef, k_factor
FURROW = [("IVFPQ, M {half}", ["--m", "{half}"], PROBES, "1"),
          ("IVFPQ, M {m}", ["--m", "{m}"], PROBES, "1"),
          ("IVFPQ, M {half}, refined", ["--m", "{half}", "--refine"], PROBES, "2,4,10,20"),
          ("IVFPQ, M {m}, refined", ["--m", "{m}", "--refine"], PROBES, "2,4,10"),
          ("IVFPQ, M {m} of 4 bits, refined", ["--m", "{m}", "--nbits", "4", "--refine"], PROBES, "2,4,10,20"),
          ("IVFPQ, M {double} of 4 bits, refined", ["--m", "{double}", "--nbits", "4", "--refine"], PROBES, "2,4,10"),
          ("HNSW32", "HNSW32", EFS, "1")]
FAISS = [("IVFPQ, M {half}", "IVF{nlist},PQ{half}np", PROBES, "1"),
         ("IVFPQ, M {m}", "IVF{nlist},PQ{m}np", PROBES, "1"),
         ("FastScan", "IVF{nlist},PQ{m}x4fs", PROBES, "1"),
         ("FastScan, refined", "IVF{nlist},PQ{m}x4fs,RFlat", PROBES, "2,4,10,20"),
         ("FastScan of residuals, refined", "IVF{nlist},PQ{m}x4fsr,RFlat", PROBES, "2,4,10,20"),
         ("IVFPQ, M {m}, refined", "IVF{nlist},PQ{m}np,RFlat", PROBES, "2,4,10"),
         ("RaBitQ, refined", "IVF{nlist},RaBitQfs,RFlat", PROBES, "2,4,10,20"),
         ("RaBitQ of 2 bits, refined", "IVF{nlist},RaBitQfs2,RFlat", PROBES, "2,4,10"),
         ("HNSW32", "HNSW32,Flat", EFS, "1")]
HNSWLIB = [("hnswlib, M 32", ["--m", "32"], EFS, "1")]
TITLES = {"furrow": "Furrow", "faiss": "Faiss 1.7.3 (Debian)", "built": "Faiss, built elsewhere", "hnswlib": "hnswlib"}
# names of a level: of a processor's flag, for people; what Furrow and Faiss are told (Faiss finds the best by itself),
# and what hnswlib is compiled with
LEVELS = {"avx2": ("AVX2", ["FURROW_ISA=avx2", "FAISS_SIMD_LEVEL=AVX2"], ["-mavx2", "-mfma"]),
          "avx512": ("AVX-512", ["FURROW_ISA=avx512"], ["-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq",
                                                        "-mavx2", "-mfma"])}
# the more sub-quantizers of a data set
MS = {"bells": 32, "glove": 50, "mnist": 98}


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build"), help="build folder (build)")
    parser.add_argument("--data", default="bells", choices=list(MS), help="data set (bells)")
    parser.add_argument("--n", type=int, help="vectors of bells (500000)")
    parser.add_argument("--nlist", type=int, help="lists (1024; mnist 256)")
    parser.add_argument("--queries", type=int, default=1000, help="of bells (1000)")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each program (5)")
    parser.add_argument("--quick", action="store_true", help="--n 20000 --nlist 128 --queries 200 --rounds 2")
    parser.add_argument("--levels", default="avx2,avx512", help="instructions to use, separated by commas (both)")
    parser.add_argument("--core", type=int, help="the one to use (the last allowed)")
    parser.add_argument("--scratch", help="keep vectors and indexes in this folder, and use those that are there")
    parser.add_argument("--name", default=TITLES["built"], help="what the Faiss built elsewhere is called")
    parser.add_argument("--out", metavar="FILE", help="write the results as JSON")
    parser.add_argument("--plot", metavar="FILE.svg", help="draw them")
    parser.add_argument("--redraw", metavar="FILE", help="measure nothing: report what --out wrote")
    options = parser.parse_args()
    if options.quick:
        options.n, options.nlist = options.n or 20_000, options.nlist or 128
        options.queries, options.rounds = 200, 2
    options.core = options.core if options.core is not None else max(os.sched_getaffinity(0))
    return options


# ---- Programs ----

def find_programs(options, home):
    """{program: {level: command}}"""
    programs = peers.find_programs(options, home)
    if "built" in programs:
        programs.pop("faiss", None)
    found = {by: {level: ["env"] + LEVELS[level][1] + command for level in options.levels.split(",")}
             for by, command in programs.items()}
    found["hnswlib"] = {level: compile_hnswlib(level, home) for level in options.levels.split(",")}
    if None in found["hnswlib"].values():
        print("left out: hnswlib (its headers are not there, or do not compile)")
        del found["hnswlib"]
    return found


def compile_hnswlib(level, home):
    """The command, or None"""
    target, source = os.path.join(home, f"peer_hnswlib_{level}"), os.path.join(HERE, "vector", "peer_hnswlib.cc")
    newest = max(os.path.getmtime(file) for file in (source, os.path.join(HERE, "vector_bench.h")))
    if not os.path.exists(target) or os.path.getmtime(target) < newest:
        done = subprocess.run([os.environ.get("CXX", "c++"), "-O3", "-DNDEBUG", "-std=c++17", "-pthread",
                               *LEVELS[level][2], "-I", HERE, source, "-o", target], capture_output=True)
        if done.returncode != 0:
            return None
    return [target]


# ---- Indexes ----

def kinds_of(options, programs, base):
    """[{name, by, level, how, nprobe, k_factor, index}] of all programs that are there"""
    m = MS[options.data]
    names = {"m": m, "half": m // 2, "double": 2 * m, "nlist": options.nlist or peers.DATA[options.data][2]}
    found = []
    for by in programs:
        for name, what, nprobe, k_factor in {"furrow": FURROW, "hnswlib": HNSWLIB}.get(by, FAISS):
            if by == "faiss" and name.startswith("RaBitQ"):  # too old
                continue
            text = what.format(**names) if isinstance(what, str) else " ".join(what).format(**names)
            how = ["--factory", text] if isinstance(what, str) else text.split()
            if by == "furrow" and not isinstance(what, str):
                how += ["--nlist", str(names["nlist"])]
            slug = "".join(c if c.isalnum() else "-" for c in text)
            found += [{"by": by, "name": name.format(**names), "level": level, "how": how, "nprobe": nprobe,
                       "k_factor": k_factor, "index": f"{base}.{names['nlist']}.{slug}.{by}.index"}
                      for level in programs[by]]
    return found


def build(kind, programs, base, cores):
    """The text of a failure, or None"""
    if os.path.exists(kind["index"]):
        return None
    part = kind["index"] + ".part"
    lines = peers.run(programs[kind["by"]][kind["level"]] + ["build", base, part] + kind["how"], cores)
    if isinstance(lines, str):
        return lines
    os.rename(part, kind["index"])
    return None


# ---- Measuring ----

def search(kind, programs, queries, answers, cores):
    return peers.run(programs[kind["by"]][kind["level"]] +
                     ["search", kind["index"], queries, "-k", str(K), "--nprobe", kind["nprobe"], "--k-factor",
                      kind["k_factor"], "--batch", str(BATCH), "--answers", answers], cores)


def points_of(kind, rounds, answers, truth, count):
    """Recall and the median of the processor time, for each setting"""
    ids, points = peers.ids_of(answers), []
    for i, lines in enumerate(zip(*([line for line in lines if line["job"] == "search"] for lines in rounds))):
        found = ids[i * count * K:(i + 1) * count * K]
        points.append({"by": kind["by"], "kind": kind["name"], "level": kind["level"], "nprobe": lines[0]["nprobe"],
                       "k_factor": lines[0]["k_factor"], "recall": peers.common(truth, found, count),
                       "us": statistics.median(line["cpu_seconds"] for line in lines) / count * 1e6,
                       "clock_us": statistics.median(line["seconds"] for line in lines) / count * 1e6})
    return points


def measure(options, programs, home):
    """(points, failures)"""
    files = peers.find_vectors(options, options.data, home)
    if not files:
        sys.exit(f"no vectors of {options.data}")
    base, queries, truth = files[0], files[1], peers.ids_of(files[2])
    count, cores, failures = peers.count_of(queries)[0], [options.core], []
    kinds = kinds_of(options, programs, os.path.join(home, os.path.basename(base)))
    for kind in kinds:
        kind["rounds"], kind["error"] = [], build(kind, programs, base, cores)
    for number in range(options.rounds):
        for kind in kinds[::-1] if number % 2 else kinds:
            if not kind["error"]:
                lines = search(kind, programs, queries, f"{home}/answers-{kinds.index(kind)}", cores)
                kind["error"] = lines if isinstance(lines, str) else None
                kind["rounds"].append(lines)
    points = []
    for i, kind in enumerate(kinds):
        if kind["error"]:
            failures.append(f"{kind['by']}, {kind['name']}, {kind['level']}: {kind['error']}")
        else:
            points += points_of(kind, kind["rounds"], f"{home}/answers-{i}", truth, count)
    return points, failures


# ---- Frontiers ----

def frontier(points):
    """Those that no other point beats in both: ascending recall and time"""
    best = []
    for point in sorted(points, key=lambda p: (p["us"], -p["recall"])):
        if not best or point["recall"] > best[-1]["recall"]:
            best.append(point)
    return best


def time_at(points, recall):
    """Microseconds for a recall, between two points of the frontier by logarithm; None: not reached. Below the first
    point it is that point's."""
    best = frontier(points)
    for before, after in zip([None] + best, best):
        if after["recall"] >= recall:
            if before is None:
                return after["us"]
            share = (recall - before["recall"]) / (after["recall"] - before["recall"])
            return math.exp((1 - share) * math.log(before["us"]) + share * math.log(after["us"]))
    return None


def at_recalls(points):
    """[{recall, ours, by: {program: {us, kind}}}]: the best of each program, each kind on a frontier of its own"""
    rows = []
    for recall in RECALLS:
        best = {}
        for by in dict.fromkeys(p["by"] for p in points):
            kinds = dict.fromkeys(p["kind"] for p in points if p["by"] == by)
            times = [(time_at([p for p in points if p["by"] == by and p["kind"] == kind], recall), kind)
                     for kind in kinds]
            times = [pair for pair in times if pair[0] is not None]
            if times:
                best[by] = dict(zip(("us", "kind"), min(times)))
        rows.append({"recall": recall, "best": best})
    return rows


# ---- Reporting ----

def print_points(points, titles, level):
    for by in dict.fromkeys(p["by"] for p in points):
        rows = [[p["kind"], str(p["nprobe"]), str(p["k_factor"]), f"{p['recall']:.4f}", f"{p['us']:.1f}"]
                for kind in dict.fromkeys(p["kind"] for p in points if p["by"] == by)
                for p in frontier([p for p in points if p["by"] == by and p["kind"] == kind])]
        print_table(f"{titles[by]}, {level}: settings that are best for something, processor time of a query in us",
                    ["index", "nprobe or ef", "k factor", "recall", "us"], rows)


def print_best(rows, titles, level):
    names = list(dict.fromkeys(by for row in rows for by in row["best"]))
    cells = []
    for row in rows:
        ours = row["best"].get("furrow")
        line = [f"{row['recall']:.2f}"]
        for by in names:
            best = row["best"].get(by)
            ratio = f" ({best['us'] / ours['us']:.1f}x)" if best and ours and by != "furrow" else ""
            line.append(f"{best['us']:.1f}{ratio}, {best['kind']}" if best else "-")
        cells.append(line)
    print_table(f"{level}: the best of each at a recall, us of processor time (how many times faster Furrow is)",
                ["recall"] + [titles[by] for by in names], cells)


def main():
    options = read_arguments()
    titles = dict(TITLES, built=options.name)
    if options.redraw:
        with open(options.redraw) as data:
            report = json.load(data)
    else:
        if options.scratch:
            os.makedirs(options.scratch, exist_ok=True)
        home = options.scratch or tempfile.mkdtemp(prefix="furrow-bench-")
        try:
            programs = find_programs(options, home)
            if "furrow" not in programs:
                sys.exit("build the benchmarks first, or name the folder with --build")
            points, failures = measure(options, programs, home)
        finally:
            if not options.scratch:
                shutil.rmtree(home)
        report = {"machine": machine(), "data": options.data, "rounds": options.rounds, "titles": titles,
                  "others_share": LOAD.share_of_others(), "points": points, "failures": failures}
    levels = dict.fromkeys(p["level"] for p in report["points"])
    report["best"] = {level: at_recalls([p for p in report["points"] if p["level"] == level]) for level in levels}
    print(f"{report['machine']['cpu']}; median of {report['rounds']}; others took {report['others_share']:.0%} of the "
          "machine meanwhile")
    for level in levels:
        print_points([p for p in report["points"] if p["level"] == level], report["titles"], LEVELS[level][0])
    for level in levels:
        print_best(report["best"][level], report["titles"], LEVELS[level][0])
    print("\n" + "\n".join(report["failures"] or ["No program failed."]))
    if options.out:
        with open(options.out, "w") as out:
            json.dump(report, out, indent=1)
            out.write("\n")
    if options.plot:
        write_plot(options.plot, report, frontier, {level: LEVELS[level][0] for level in levels})
    return 1 if report["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
