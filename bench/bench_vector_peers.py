#!/usr/bin/env python3
"""bench/bench_vector_peers.py: Furrow beside Faiss on the same vectors, index files and queries in the same run.

For each data set both build an index; then both search the index that Faiss built (Furrow's own where Faiss is not
installed), in turn, round by round, with one thread on one core and with two on two. Reports medians, ratios, recall
against the exact answers, memory, and how well each build approximates its vectors; as tables and as JSON. Exits with
1 when a program fails, or when they do not find the same.

A Faiss built elsewhere is a third: FAISS_INCLUDE is the folder that has faiss/, FAISS_LIBRARY its archive (for example
libfaiss_avx2.a); peer_faiss.cc is compiled with them, by CXX or c++, into the scratch folder. BLAS and LAPACK are the
system's.
"""
import argparse
import array
import json
import os
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile

from bench_rows_peers import HERE, LOAD, cores_of, machine, print_table

NAMES = ["furrow", "faiss", "built"]  # built: a Faiss built elsewhere
NPROBES, K = [1, 4, 16, 64], 10
# vectors, dimension (None: what the file has), lists, sub-quantizers to try
DATA = {"bells": (500_000, 128, 1024, [16, 32]), "glove": (None, 100, 1024, [20, 50]), "mnist": (None, 784, 256, [16, 49])}
ONE_LIST, ONE_LIST_BYTES = 2_097_152, 84_149_436


def cache_folder():
    return os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "furrow", "vectors")


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build"), help="build folder (build)")
    parser.add_argument("--data", default="bells", help="data sets, separated by commas: bells (the default), and "
                        "glove, mnist, which bench/fetch_vectors.sh gets")
    parser.add_argument("--n", type=int, help="vectors of bells (500000)")
    parser.add_argument("--nlist", type=int, help="lists (1024; mnist 256)")
    parser.add_argument("--m", help="sub-quantizers, separated by commas (bells 16,32; glove 20,50; mnist 16,49)")
    parser.add_argument("--batch", default="1,19,20,64,1000", help="queries in a call, separated by commas")
    parser.add_argument("--queries", type=int, default=1000, help="of bells (1000)")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each program (5)")
    parser.add_argument("--quick", action="store_true", help="--n 20000 --nlist 128 --m 16 --queries 200 --rounds 3")
    parser.add_argument("--one-list", action="store_true", help="also an index of one list with 2,097,152 vectors")
    parser.add_argument("--cores", help="the two to use, e.g. 2,3 (the last two allowed); the second runs alone")
    parser.add_argument("--scratch", help="keep vectors and indexes in this folder, and use those that are there")
    parser.add_argument("--out", metavar="FILE", help="write the results as JSON")
    options = parser.parse_args()
    if options.quick:
        options.n, options.nlist, options.m = options.n or 20_000, options.nlist or 128, options.m or "16"
        options.queries, options.rounds = 200, 3
    options.data = options.data.split(",")
    options.cores = cores_of(options.cores)
    unknown = [name for name in options.data if name not in DATA]
    if unknown:
        parser.error("no such data: " + " ".join(unknown))
    return options


# ---- Running programs ----

def program(options, name):
    return os.path.join(options.build, "bench", name)


def run(command, cores):
    """The JSON lines of a run, or the text of its failure. BLAS has as many threads as there are cores; it would
    rather take them all."""
    environment = dict(os.environ, OPENBLAS_NUM_THREADS=str(len(cores)), OMP_NUM_THREADS=str(len(cores)),
                       OMP_WAIT_POLICY="PASSIVE")
    before = LOAD.now()
    done = subprocess.run(command, capture_output=True, text=True, env=environment,
                          preexec_fn=lambda: os.sched_setaffinity(0, cores))
    LOAD.add(before)
    if done.returncode != 0:
        return (done.stderr.strip().splitlines() or ["no message"])[-1] + f" (exit code {done.returncode})"
    return [json.loads(line) for line in done.stdout.splitlines()]


def compile_peer(home):
    """peer_faiss.cc with a Faiss built elsewhere; None: none is named"""
    include, library = os.environ.get("FAISS_INCLUDE"), os.environ.get("FAISS_LIBRARY")
    if not include or not library:
        return None
    target = os.path.join(home, "peer_faiss_built")
    source = os.path.join(HERE, "peer_faiss.cc")
    newest = max(os.path.getmtime(file) for file in (source, os.path.join(HERE, "vector_bench.h"), library))
    if not os.path.exists(target) or os.path.getmtime(target) < newest:
        subprocess.run([os.environ.get("CXX", "c++"), "-O3", "-std=c++20", "-I", include, "-I", HERE, source, library,
                        "-fopenmp", "-llapack", "-lblas", "-o", target], check=True)
    return target


def find_programs(options, home):
    found = {}
    for name, file in zip(NAMES, ["bench_vector", "peer_faiss"]):
        if os.access(program(options, file), os.X_OK):
            found[name] = [program(options, file)]
        else:
            print(f"left out: {name} (no program {program(options, file)})")
    built = compile_peer(home)
    if built:
        found["built"] = [built]
    return found


def columns(programs, *kinds):
    """The heads of a table's columns that `beside` fills, once for each kind of number"""
    return [head for kind in kinds for name in NAMES if name in programs
            for head in [f"{name} {kind}".strip()] + ([] if name == "furrow" else ["ratio"])]


def which_blas(path):
    """The library that peer_faiss gets its matrix products from"""
    lines = subprocess.run(["ldd", path], capture_output=True, text=True).stdout.splitlines()
    found = [line.split()[2] for line in lines if "libblas" in line and "=>" in line]
    return os.path.realpath(found[0]) if found else "not known"


# ---- Vectors ----

def make_file(path, command):
    if not os.path.exists(path):
        with open(path + ".part", "wb") as out:
            subprocess.run(command, stdout=out, check=True)
        os.rename(path + ".part", path)
    return path


def find_vectors(options, data, home):
    """(base, queries, truth), or None when they are not there"""
    generator = program(options, "gen_vectors")
    if data == "bells":
        n, d = options.n or DATA[data][0], DATA[data][1]
        base = make_file(f"{home}/bells-{n}.fbin", [generator, "points", str(n), str(d), "1"])
        queries = make_file(f"{home}/bells-q{options.queries}.fbin",
                            [generator, "points", str(options.queries), str(d), "2"])
    else:
        base, queries = (os.path.join(cache_folder(), f"{data}.{part}.fbin") for part in ("base", "query"))
        if not os.path.exists(base) or not os.path.exists(queries):
            print(f"left out: {data} (bench/fetch_vectors.sh gets it)")
            return None
    truth = f"{home}/{os.path.basename(base)}.{os.path.basename(queries)}.truth"
    return base, queries, make_file(truth, [generator, "truth", base, queries, str(K)])


def count_of(path):
    with open(path, "rb") as data:
        return struct.unpack("<II", data.read(8))


def ids_of(path):
    with open(path, "rb") as data:
        numbers = array.array("q")
        numbers.frombytes(data.read())
        return numbers


def common(a, b, queries):
    """Share of the K ids of each query in a that are in b, too"""
    return sum(len(set(a[i * K:i * K + K]) & set(b[i * K:i * K + K])) for i in range(queries)) / (queries * K)


# ---- Measuring ----

def build_indexes(options, programs, case, home):
    """Both build with each count of cores; case["indexes"]: name -> file"""
    base, results = case["base"], []
    single = options.cores[-1:]
    for name in programs:
        index = f"{home}/{os.path.basename(base)}-{case['nlist']}-{case['m']}-{name}.index"
        case["indexes"][name] = index
        for cores in [single, options.cores] if len(options.cores) > 1 else [single]:
            report = f"{index}.built{len(cores)}"
            if not os.path.exists(index) or not os.path.exists(report):
                lines = run(programs[name] + ["build", base, index, "--nlist", str(case["nlist"]), "--m",
                                              str(case["m"]), "--threads", str(len(cores))], cores)
                if isinstance(lines, str):
                    return results + [dict(case_key(case), program=name, job="build", error=lines)]
                with open(report, "w") as out:
                    json.dump(lines, out)
            with open(report) as built:
                results += [dict(case_key(case), **dict(line, program=name)) for line in json.load(built)]
        lines = run(programs["furrow"] + ["error", index, base], single)
        failed = isinstance(lines, str)
        results.append(dict(case_key(case), program=name, job="error", bytes=os.path.getsize(index),
                            **({"error": lines} if failed else {"quantization_error": lines[0]["error"]})))
    return results


def case_key(case):
    return {"data": case["data"], "n": case["n"], "nlist": case["nlist"], "m": case["m"]}


def search_rounds(options, programs, case, home):
    """[(program, cores, [lines of a round])]; every other round runs backwards, so that nobody is always first"""
    single = options.cores[-1:]
    plan = [(name, cores, []) for cores in ([single, options.cores] if len(options.cores) > 1 else [single])
            for name in programs]
    for number in range(options.rounds):
        for name, cores, rounds in plan[::-1] if number % 2 else plan:
            if rounds and isinstance(rounds[-1], str):
                continue
            answers = f"{home}/answers-{name}"
            rounds.append(run(programs[name] + ["search", case["index"], case["queries"], "-k", str(K), "--nprobe",
                                                ",".join(map(str, case["nprobes"])), "--batch", case["batch"],
                                                "--threads", str(len(cores)), "--answers", answers], cores))
    return plan


def summarise(case, name, cores, rounds):
    """One result for each thing that was timed: the median of its rounds"""
    if isinstance(rounds[-1], str):
        return [dict(case_key(case), program=name, threads=len(cores), job="search", error=rounds[-1])]
    results = []
    for lines in zip(*rounds):
        medians = {key: statistics.median(line[key] for line in lines)
                   for key in ("seconds", "cpu_seconds", "rss_mb", "grown_mb", "p50_us", "p99_us") if key in lines[0]}
        results.append(dict(case_key(case), **dict(lines[0], program=name, **medians),
                            all_seconds=[l["seconds"] for l in lines]))
    return results


def recalls(case, programs, home):
    """Recall of each program, and how many of the answers are the same"""
    queries, results = case["count"], []
    answers = {name: ids_of(f"{home}/answers-{name}") for name in programs}
    for i, nprobe in enumerate(case["nprobes"]):
        part = {name: found[i * queries * K:(i + 1) * queries * K] for name, found in answers.items()}
        result = dict(case_key(case), job="recall", nprobe=nprobe)
        if case["truth"]:
            result["recall"] = {name: common(ids_of(case["truth"]), found, queries) for name, found in part.items()}
        peers = [found for name, found in part.items() if name != "furrow"]
        if peers:
            result["same"] = min(common(part["furrow"], found, queries) for found in peers)
        results.append(result)
    return results


def measure_case(options, programs, case, home):
    results = build_indexes(options, programs, case, home) if case["base"] else []
    if any("error" in result for result in results):
        return results
    if case["base"]:
        case["index"] = case["indexes"].get("faiss", case["indexes"]["furrow"])
    for run_of in search_rounds(options, programs, case, home):
        results += summarise(case, *run_of)
    if any("error" in result for result in results):
        return results
    return results + recalls(case, programs, home)


def measure_one_list(options, programs, home):
    """The index of one list: made by Furrow, checked, loaded and searched by both"""
    index = f"{home}/one-list.index"
    if not os.path.exists(index):
        subprocess.run(programs["furrow"] + ["one-list", str(ONE_LIST), index], check=True)
    size = os.path.getsize(index)
    queries = make_file(f"{home}/q256.fbin", [program(options, "gen_vectors"), "points", "20", "256", "2"])
    case = {"data": "one list", "n": ONE_LIST, "nlist": 1, "m": 32, "base": None, "index": index, "queries": queries,
            "count": 20, "truth": None, "nprobes": [1], "batch": "1," + options.batch.split(",")[-1]}
    results = measure_case(options, programs, case, home)
    for number in range(options.rounds):
        lines = run(programs["furrow"] + ["verify", index, "-"], options.cores[-1:])
        results += [dict(case_key(case), **line) for line in lines] if not isinstance(lines, str) else \
            [dict(case_key(case), program="furrow", job="verify", error=lines)]
    if size != ONE_LIST_BYTES:
        results.append(dict(case_key(case), program="furrow", job="size", error=f"the file has {size} bytes"))
    return results


def measure(options, programs, home):
    results = []
    for data in options.data:
        files = find_vectors(options, data, home)
        if not files:
            continue
        for m in [int(m) for m in options.m.split(",")] if options.m else DATA[data][3]:
            case = {"data": data, "n": count_of(files[0])[0], "nlist": options.nlist or DATA[data][2], "m": m,
                    "base": files[0], "queries": files[1], "count": count_of(files[1])[0], "truth": files[2],
                    "nprobes": NPROBES, "batch": options.batch, "indexes": {}}
            results += measure_case(options, programs, case, home)
    if options.one_list:
        results += measure_one_list(options, programs, home)
    return results


# ---- Reporting ----

def label(result):
    return f"{result['data']}, M {result['m']}"


def pairs(results, job, *keys):
    """{(label, the keys' values): {program: result}} in the order of the results"""
    found = {}
    for result in results:
        if result["job"] == job and "error" not in result:
            found.setdefault((label(result),) + tuple(result[key] for key in keys), {})[result["program"]] = result
    return found


def beside(by_program, value, text):
    """Furrow's number, that of each peer, and how many times better Furrow is"""
    ours, cells = value(by_program["furrow"]), []
    for name in NAMES:
        if name in by_program:
            number = value(by_program[name])
            cells += [text(number)] + ([] if name == "furrow" else [f"{number / ours:.1f}x"])
    return cells


def print_search(results, programs, batches):
    searches = pairs(results, "search", "threads", "nprobe", "batch")
    for threads in (1, 2):
        rows = []
        for (name, used, nprobe, batch), by_program in searches.items():
            if used != threads or batch != batches[-1]:
                continue
            rate = beside(by_program, lambda r: r["seconds"] / r["queries"], lambda s: f"{1 / s:.0f}")
            cpu = beside(by_program, lambda r: r["cpu_seconds"] / r["queries"], lambda s: f"{s * 1e6:.1f}")
            rows.append([name, str(nprobe)] + rate + cpu)
        if rows:
            print_table(f"Searching, calls of {batches[-1]} queries, {threads} thread(s): queries a second and "
                        "processor time of a query in us", ["index", "nprobe"] + columns(programs, "", "us"), rows)
    rows = [[name, str(nprobe)] + beside(p, lambda r: r["p50_us"], lambda v: f"{v:.1f}") +
            beside(p, lambda r: r["p99_us"], lambda v: f"{v:.1f}")
            for (name, threads, nprobe, batch), p in searches.items() if threads == 1 and batch == 1]
    if rows:
        print_table("One query a call, 1 thread: median and 99th percentile in us",
                    ["index", "nprobe"] + columns(programs, "p50", "p99"), rows)
    by_batch = {}
    for (name, threads, nprobe, batch), p in searches.items():
        if threads == 1 and nprobe == 16:
            by_batch.setdefault((name, nprobe), {})[batch] = \
                beside(p, lambda r: r["cpu_seconds"] / r["queries"], lambda s: f"{s * 1e6:.1f}")
    rows = [[name, str(nprobe)] + [" / ".join(cells[:1] + cells[1::2]) + f" ({', '.join(cells[2::2])})"
                                   for cells in found.values()]
            for (name, nprobe), found in by_batch.items()]
    if rows:
        print_table("Processor time of a query in us by calls of so many queries: " + " / ".join(programs) + " (ratio)",
                    ["index", "nprobe"] + [str(b) for b in batches], rows)


def print_tables(results, programs, batches):
    rows = []
    for job in ("train", "add"):
        for (name, threads), p in pairs(results, job, "threads").items():
            rows.append([name, job, str(threads)] + beside(p, lambda r: r["seconds"], lambda v: f"{v:.2f}") +
                        beside(p, lambda r: r["cpu_seconds"], lambda v: f"{v:.2f}"))
    if rows:
        print_table("Building: seconds, and seconds of processor time",
                    ["index", "job", "threads"] + columns(programs, "", "cpu"), rows)
    rows = [[name] + [f"{p[n]['quantization_error']:.5g}" for n in programs]
            for (name,), p in pairs(results, "error").items()]
    if rows:
        print_table("Mean squared distance of a vector from what its index stores for it", ["index"] + list(programs), rows)
    print_search(results, programs, batches)
    rows = [[label(r), str(r["nprobe"])] + [f"{r['recall'][n]:.4f}" if n in r.get("recall", {}) else "-" for n in programs]
            + [f"{r['same']:.5f}" if "same" in r else "-"] for r in results if r["job"] == "recall"]
    print_table(f"Recall: {K} of {K} on the same index, and the share of ids that all give",
                ["index", "nprobe"] + list(programs) + ["same"], rows)
    rows = [[name] + beside(p, lambda r: r["seconds"] * 1e3, lambda v: f"{v:.0f}") +
            beside(p, lambda r: r["grown_mb"], lambda v: f"{v:.0f}")
            for (name, threads), p in pairs(results, "load", "threads").items() if threads == 1]
    print_table("Loading until ready, 1 thread: ms, and MB of memory afterwards",
                ["index"] + columns(programs, "ms", "MB"), rows)
    checks = [r["seconds"] for r in results if r["job"] == "verify" and "error" not in r]
    if checks:
        print(f"\nVerifying the index of one list ({ONE_LIST_BYTES} bytes): {statistics.median(checks) * 1e3:.0f} ms")


def disagreements(results):
    texts = ["{data}, M {m}: {job} of {program} failed: {error}".format(**r) for r in results if "error" in r]
    for r in results:
        if r["job"] == "recall" and r.get("same", 1) < 0.999:
            texts.append(f"{label(r)}, nprobe {r['nprobe']}: only {r['same']:.2%} of the ids are the same")
    return texts


def main():
    options = read_arguments()
    if options.scratch:
        os.makedirs(options.scratch, exist_ok=True)
    home = options.scratch or tempfile.mkdtemp(prefix="furrow-bench-")
    try:
        programs = find_programs(options, home)
        if "furrow" not in programs:
            sys.exit("build the benchmarks first, or name the folder with --build")
        results = measure(options, programs, home)
    finally:
        if not options.scratch:
            shutil.rmtree(home)
    about = machine()
    if "faiss" in programs:
        about["blas"] = which_blas(programs["faiss"][0])
    print(f"{about['cpu']}, {about['cores']} cores; BLAS of Faiss: {about.get('blas', '-')}; median of "
          f"{options.rounds}; others took {LOAD.share_of_others():.0%} of the machine meanwhile")
    print_tables(results, programs, [int(batch) for batch in options.batch.split(",")])
    wrong = disagreements(results)
    print("\n" + "\n".join(wrong or ["All find the same." if len(programs) > 1 else "No program failed."]))
    if options.out:
        with open(options.out, "w") as out:
            json.dump({"machine": about, "rounds": options.rounds, "others_share": LOAD.share_of_others(),
                       "results": results}, out, indent=1)
            out.write("\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
