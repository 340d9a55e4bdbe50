#!/usr/bin/env python3
"""bench/bench_model_peers.py: Furrow on matrix folders beside its peers, on the same files in the same run.

Makes a matrix folder for each format (bench_model make), runs every job on it in turn, round by round, with one thread
on one core and with two on two, and reports medians as tables and as JSON. Peers: a C loop over strtof for text, plain
reading of the bytes, and NumPy where it is installed. Exits with 1 when a program fails or finds other elements.
"""
import argparse
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

from bench_rows_peers import HERE, LOAD, cores_of, machine, print_table

# kind: (format, format to convert to)
KINDS = {
    "embedding": ("TextColumnFormat", "BinaryColumnFormat"),
    "weights": ("ColIdValueTextRowFormat", "ColIdValueBinaryRowFormat"),
    "fc": ("RowIdColIdValueTextRowFormat", "ColIdValueTextRowFormat"),
    "values": ("ValueTextRowFormat", "ValueBinaryRowFormat"),
    "embedding_bin": ("BinaryColumnFormat", "TextColumnFormat"),
    "weights_bin": ("ColIdValueBinaryRowFormat", "RowIdColIdValueBinaryRowFormat"),
    "values_bin": ("ValueBinaryRowFormat", "ColIdValueTextRowFormat"),
}
JOBS = ["visit", "load", "save", "convert", "export", "verify", "statistics"]
PART = 4_000_000  # bytes that np.loadtxt is given; it is slow, and rates do not depend on the size

NUMPY = r"""
import json, sys, time
import numpy as np
kind, rows, key, paths = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "1", sys.argv[4:]
start, size = time.perf_counter(), 0
if kind == "text":
    import io
    for path in paths[:1]:
        text = open(path, "rb").read(%d)
        text = text[:text.rindex(b"\n") + 1]
        start = time.perf_counter()
        np.loadtxt(io.BytesIO(text), delimiter=",", dtype=np.float32 if not key else np.float64)
        size += len(text)
else:
    record = np.dtype([("key", ">i4"), ("value", ">f4", rows)]) if key else np.dtype(">f4")
    for path in paths:
        found = np.fromfile(path, dtype=record)
        values = found["value"] if key else found
        values.astype(np.float32)  # native byte order
        if key:
            found["key"].astype(np.int64)
        size += found.nbytes
print(json.dumps({"seconds": time.perf_counter() - start, "bytes": size}))
""" % PART


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build"), help="build folder (build)")
    parser.add_argument("--elements", type=int, default=10_000_000, help="of each matrix (10000000)")
    parser.add_argument("--quick", action="store_true", help="--elements 2000000 --rounds 3")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each job (5)")
    parser.add_argument("--kinds", default=",".join(KINDS), help="matrices, separated by commas (all)")
    parser.add_argument("--jobs", default=",".join(JOBS), help="jobs, separated by commas (all)")
    parser.add_argument("--cores", help="the two to use, e.g. 2,3 (the last two allowed); the second runs alone")
    parser.add_argument("--scratch", help="folder to work in; /dev/shm if it is there, so that no disk is measured")
    parser.add_argument("--out", metavar="FILE", help="write the results as JSON")
    options = parser.parse_args()
    if options.quick:
        options.elements, options.rounds = 2_000_000, 3
    options.kinds, options.jobs = options.kinds.split(","), options.jobs.split(",")
    options.cores = cores_of(options.cores)
    unknown = [k for k in options.kinds if k not in KINDS] + [j for j in options.jobs if j not in JOBS]
    if unknown:
        parser.error("no such kind or job: " + " ".join(unknown))
    return options


def find_python(module):
    """A Python that has a module: this one or the system's; None if neither has"""
    for python in (sys.executable, "/usr/bin/python3"):
        if os.access(python, os.X_OK) and subprocess.run([python, "-c", f"import {module}"],
                                                         capture_output=True).returncode == 0:
            return python
    return None


def use_python_with(module, package):
    """Starts the script again with a Python that has the module, where this one has not; ends where none has."""
    if importlib.util.find_spec(module):
        return
    python = find_python(module)
    if not python or os.environ.get("BENCH_PYTHON"):
        print(f"{os.path.basename(sys.argv[0])}: no Python with {module} here (Debian: {package}); nothing was measured")
        sys.exit(0)
    os.environ["BENCH_PYTHON"] = python  # once
    os.execv(python, [python, os.path.abspath(sys.argv[0]), *sys.argv[1:]])


def run_once(command, cores):
    """The last JSON line of a run, or the text of its failure"""
    before = LOAD.now()
    done = subprocess.run(command, capture_output=True, text=True,
                          preexec_fn=lambda: os.sched_setaffinity(0, cores))
    LOAD.add(before)
    if done.returncode != 0:
        return (done.stderr.strip().splitlines() or ["no message"])[-1] + f" (exit code {done.returncode})"
    return json.loads(done.stdout.splitlines()[-1])


def data_files(folder):
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder), key=lambda n: (len(n), n))
            if name.isdigit()]


def command_of(options, kind, folder, target, job, threads, numpy):
    """The command line of a job or peer"""
    stored, to = KINDS[kind]
    if job == "numpy":
        key, rows = not stored.startswith("Value"), 8 if "Column" in stored else 1
        return [numpy, "-c", NUMPY, "text" if "Text" in stored else "binary", str(rows), str(int(key)),
                *data_files(folder)]
    program = os.path.join(options.build, "bench", "bench_model")
    return [program, job, folder, "--threads", str(threads), "--to", to, "--target", target]


def peers_of(kind, numpy):
    text = "Text" in KINDS[kind][0]
    return (["strtod"] if text else []) + ["bytes"] + (["numpy"] if numpy else [])


def run_rounds(options, kind, folder, target, numpy):
    """[(job, threads, [lines of its rounds])]; every other round runs backwards, so that nobody is always first"""
    single = options.cores[-1:]
    plan = [(job, cores, []) for cores in ([single, options.cores] if len(options.cores) > 1 else [single])
            for job in options.jobs]
    plan += [(job, single, []) for job in peers_of(kind, numpy)]
    for number in range(options.rounds):
        for job, cores, lines in plan[::-1] if number % 2 else plan:
            if lines and not isinstance(lines[-1], dict):
                continue
            lines.append(run_once(command_of(options, kind, folder, target, job, len(cores), numpy), cores))
            if os.path.isdir(target):
                shutil.rmtree(target)
            elif os.path.exists(target):
                os.remove(target)
    return plan


def summarise(kind, job, cores, lines):
    result = {"kind": kind, "job": job, "threads": len(cores)}
    if not isinstance(lines[-1], dict):
        return dict(result, error=lines[-1])
    seconds = statistics.median(line["seconds"] for line in lines)
    result.update(seconds=seconds, bytes=lines[-1]["bytes"], mb_per_s=lines[-1]["bytes"] / seconds / 1e6,
                  all_seconds=[line["seconds"] for line in lines])
    if "cpu_seconds" in lines[-1]:
        cpu = statistics.median(line["cpu_seconds"] for line in lines)
        result.update(cpu_seconds=cpu, mb_per_cpu_s=result["bytes"] / max(cpu, 1e-6) / 1e6)
    for key in ("elements", "sum", "peak_rss_mb"):
        if key in lines[-1]:
            result[key] = lines[-1][key]
    return result


def disagreements(options, results):
    texts = ["{kind}: {job} with {threads} thread(s) failed: {error}".format(**r) for r in results if "error" in r]
    for r in results:
        if "error" in r or r["job"] in ("bytes", "numpy", "verify"):
            continue
        if r["elements"] != options.elements:
            texts.append(f"{r['kind']}: {r['job']} found {r['elements']} elements")
    sums = {}
    for r in results:
        if r["job"] in ("visit", "strtod") and "error" not in r:
            other = sums.setdefault(r["kind"], r["sum"])
            if abs(r["sum"] - other) > 1e-6 * abs(other):
                texts.append(f"{r['kind']}: the sums are {other} and {r['sum']}")
    return texts


def print_tables(options, results, numpy):
    rate = {(r["kind"], r["job"], r["threads"]): r.get("mb_per_s") for r in results}
    cpu_rate = {(r["kind"], r["job"], r["threads"]): r.get("mb_per_cpu_s") for r in results}

    def cell(kind, job, threads=1, rates=rate):
        value = rates.get((kind, job, threads))
        return f"{value:.0f}" if value else "-"

    def ratio(kind, job, other, threads=1):
        a, b = rate.get((kind, job, threads)), rate.get((kind, other, 1))
        return f"{a / b:.2f}x" if a and b else "-"

    for threads in (1, 2):
        rows = [[kind] + [cell(kind, job, threads) for job in options.jobs] for kind in options.kinds]
        print_table(f"MB/s, {threads} thread(s)", ["matrix"] + options.jobs, rows)
    rows = [[kind] + [cell(kind, job, 1, cpu_rate) for job in options.jobs] for kind in options.kinds]
    print_table("MB per second of processor time, 1 thread", ["matrix"] + options.jobs, rows)
    rows = [[kind] + [ratio(kind, job, job, 2) for job in options.jobs] for kind in options.kinds]
    print_table("Two threads / one", ["matrix"] + options.jobs, rows)
    head = ["matrix", "visit"] + [p for p in ("strtod", "bytes", "numpy") if p != "numpy" or numpy]
    rows = [[kind, cell(kind, "visit")] + [f"{cell(kind, p)} ({ratio(kind, 'visit', p)})" for p in head[2:]]
            for kind in options.kinds]
    print_table("Reading beside peers, one thread, MB/s (behind it: how many times faster furrow is)", head, rows)


def measure(options, numpy):
    scratch = options.scratch or ("/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    if scratch:
        os.makedirs(scratch, exist_ok=True)
    home, results = tempfile.mkdtemp(prefix="furrow-bench-", dir=scratch), []
    try:
        for kind in options.kinds:
            folder, target = os.path.join(home, kind), os.path.join(home, "target")
            program = os.path.join(options.build, "bench", "bench_model")
            subprocess.run([program, "make", KINDS[kind][0], folder, str(options.elements)], check=True)
            results += [summarise(kind, *run) for run in run_rounds(options, kind, folder, target, numpy)]
            shutil.rmtree(folder)
    finally:
        shutil.rmtree(home)
    return results


def main():
    options = read_arguments()
    if not os.access(os.path.join(options.build, "bench", "bench_model"), os.X_OK):
        sys.exit(f"no bench/bench_model in {options.build}: build it first, or name the folder with --build")
    numpy = find_python("numpy")
    if not numpy:
        print("left out: numpy (not installed)")
    results, about = measure(options, numpy), machine()
    print(f"{about['cpu']}, {about['cores']} cores; {options.elements} elements each, median of {options.rounds}; "
          f"others took {LOAD.share_of_others():.0%} of the machine meanwhile")
    print_tables(options, results, numpy)
    wrong = disagreements(options, results)
    print("\n" + "\n".join(wrong or ["All programs found the same elements."]))
    if options.out:
        with open(options.out, "w") as out:
            json.dump({"machine": about, "elements": options.elements, "rounds": options.rounds,
                       "others_share": LOAD.share_of_others(), "results": results}, out, indent=1)
            out.write("\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
