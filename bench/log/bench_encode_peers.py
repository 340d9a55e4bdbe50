#!/usr/bin/env python3
"""bench/log/bench_encode_peers.py: raw logs to rows: Furrow beside pandas with scikit-learn, polars and DuckDB.

Makes click logs (gen_log): csv, csv with quotes, JSON lines, csv with a million values in each of three columns. Runs
every program on each in turn, round by round, pinned to one core and to two, and reports medians. On a busy machine the
figures by processor time say more than those by the clock. Peers that are not there are named and left out. Exits with
1 when a program fails, or when the rows are not the same bytes for one thread and two, or for another instruction set.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from bench_rows_peers import LOAD, cores_of, machine, print_table  # noqa: E402

KINDS = ("plain", "quoted", "json", "many")
TEXTS = {"user_id": 22, "item_id": 20, "site": 18, "category": 10, "device": 8, "city": 16}  # bits of hashes
GOALS = {"hash": 400, "dictionary": 200}  # MB a second of processor time, kind plain


def schema_of(kind, hashed):
    """What the columns of the log are; texts by hash or by dictionary"""
    if kind == "many":
        texts, others = {"session": 21, "user_id": 20, "item_id": 20}, {"position": {"as": "number"}}
    else:
        texts = TEXTS
        others = {"price": {"as": "number"}, "qty": {"as": "number"},
                  "timestamp": {"as": "time", "parts": ["hour", "weekday"], "role": "time"}}
    columns = {"click": {"as": "label"}}
    for name, bits in texts.items():
        columns[name] = dict({"as": "category"}, **({"hash": bits} if hashed else {}))
    return {"columns": dict(columns, **others)}


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "..", "build"), help="build folder (build)")
    parser.add_argument("--size", type=float, default=150, metavar="MB", help="of each log (150)")
    parser.add_argument("--peer-size", type=float, default=15, metavar="MB", help="of the log of slow peers (15)")
    parser.add_argument("--quick", action="store_true", help="--size 20 --peer-size 5 --rounds 3")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each program (5)")
    parser.add_argument("--kinds", default=",".join(KINDS), help="logs, separated by commas (all)")
    parser.add_argument("--cores", help="the two to use, e.g. 2,3 (the last two allowed); the second runs alone")
    parser.add_argument("--python", default="/usr/bin/python3", help="one with pandas and scikit-learn")
    parser.add_argument("--scratch", help="keep the logs in this folder, and use those that are there")
    parser.add_argument("--out", metavar="FILE", help="write the results as JSON")
    options = parser.parse_args()
    if options.quick:
        options.size, options.peer_size, options.rounds = 20, 5, 3
    options.kinds = options.kinds.split(",")
    unknown = [kind for kind in options.kinds if kind not in KINDS]
    if unknown:
        parser.error("no such kind: " + " ".join(unknown))
    options.cores = cores_of(options.cores)
    return options


def make_log(options, kind, size, folder):
    path = os.path.join(folder, f"{kind}-{size:g}MB." + ("json" if kind == "json" else "csv"))
    if not os.path.exists(path):
        with open(path + ".part", "wb") as out:
            generator = os.path.join(options.build, "bench", "gen_log")
            subprocess.run([generator, kind, str(int(size * 1e6))], stdout=out, check=True)
        os.rename(path + ".part", path)
    for job in ("hash", "dictionary"):
        with open(os.path.join(folder, f"{kind}-{job}.schema"), "w") as out:
            json.dump(schema_of(kind, job == "hash"), out)
    return path


class Run:
    """A program that takes part: what it is called, its command, its cores, what it reported"""

    def __init__(self, program, job, command, cores, isa=None, size=0):
        self.program, self.job, self.command, self.cores, self.isa, self.size = program, job, command, cores, isa, size
        self.lines, self.error = [], None

    def once(self):
        if self.error:
            return
        environment = dict(os.environ, OMP_NUM_THREADS=str(len(self.cores)))
        if self.isa:
            environment["FURROW_ISA"] = self.isa
        before = LOAD.now()
        done = subprocess.run(self.command, capture_output=True, text=True, env=environment,
                              preexec_fn=lambda: os.sched_setaffinity(0, self.cores))
        LOAD.add(before)
        if done.returncode == 0:
            self.lines.append(json.loads(done.stdout.splitlines()[-1]))
        else:
            self.error = (done.stderr.strip().splitlines() or ["no message"])[-1]

    def result(self, kind):
        result = {"kind": kind, "program": self.program, "job": self.job, "cores": len(self.cores), "isa": self.isa}
        if self.error:
            return dict(result, error=self.error)
        for key in ("seconds", "cpu_seconds", "mb_per_s", "mb_per_cpu_s", "peak_rss_mb"):
            result[key] = statistics.median(line[key] for line in self.lines)
        if self.lines[0].get("learn_cpu_seconds"):
            result["learn_cpu_seconds"] = statistics.median(line["learn_cpu_seconds"] for line in self.lines)
        return dict(result, bytes=self.size, rows=self.lines[0]["rows"], digest=self.lines[0].get("digest"))


def furrow_runs(options, kind, path, folder):
    program = os.path.join(options.build, "bench", "bench_encode")
    single, runs = options.cores[-1:], []
    for job in ("read", "propose", "hash", "dictionary"):
        for cores in [single, options.cores] if len(options.cores) > 1 else [single]:
            for isa in (None, "avx2") if len(cores) == 1 and job in GOALS else (None,):
                encoder = os.path.join(folder, f"{kind}-{job}-{len(cores)}-{isa}.encoder")
                command = [program, job, path, "--threads", str(len(cores))]
                if job in GOALS:
                    command += ["--schema", os.path.join(folder, f"{kind}-{job}.schema"), "--encoder", encoder]
                runs.append(Run("furrow", job, command, cores, isa, os.path.getsize(path)))
    return runs


def peer_runs(options, kind, path, small):
    single = options.cores[-1:]
    node = [[name, ["node", os.path.join(HERE, "peer_tables.js"), name, "1", path]] for name in ("polars", "duckdb")]
    runs = [Run(name, "read", command, single, None, os.path.getsize(path)) for name, command in node
            if kind != "json" and shutil.which("node")]
    for job, log in (("read", path), ("dictionary", path), ("hash", small)):
        command = [options.python, os.path.join(HERE, "peer_tables.py"), job, small if kind == "json" else log]
        runs.append(Run("pandas", job, command, single, None, os.path.getsize(command[-1])))
    return runs


def run_kind(options, kind, folder):
    path = make_log(options, kind, options.size, folder)
    small = make_log(options, kind, options.peer_size, folder)
    runs = furrow_runs(options, kind, path, folder) + peer_runs(options, kind, path, small)
    for number in range(options.rounds):
        for run in runs[::-1] if number % 2 else runs:
            run.once()
    for run in runs:
        if run.error and run.program != "furrow":
            print(f"{kind}, {run.program} {run.job}: {run.error}")
    if not options.scratch:
        os.remove(path)
        os.remove(small)
    return [run.result(kind) for run in runs]


def disagreements(results):
    texts, digests = [], {}
    for r in results:
        if r["program"] != "furrow":
            continue
        if "error" in r:
            texts.append(f"{r['kind']}: {r['job']} failed: {r['error']}")
        elif digests.setdefault((r["kind"], r["job"]), r["digest"]) != r["digest"]:
            texts.append(f"{r['kind']}: {r['job']} gives other bytes with {r['cores']} threads, {r['isa']}")
    return texts


def print_tables(options, results):
    def get(kind, program, job, key, cores=1, isa=None):
        for r in results:
            if (r["kind"], r["program"], r["job"], r["cores"], r["isa"]) == (kind, program, job, cores, isa):
                return r.get(key)
        return None

    def show(value, form="{:.0f}"):
        return form.format(value) if value else "-"

    rows, more = [], []
    for kind in options.kinds:
        for job in ("read", "propose", "hash", "dictionary"):
            ours = get(kind, "furrow", job, "mb_per_cpu_s")
            row = [kind, job, show(ours) + (f" (goal {GOALS[job]})" if kind == "plain" and job in GOALS else ""),
                   show(get(kind, "furrow", job, "mb_per_s")), show(get(kind, "furrow", job, "mb_per_cpu_s", 1, "avx2"))]
            for peer in ("pandas", "polars", "duckdb"):
                theirs = get(kind, peer, job, "mb_per_cpu_s")
                row.append(show(theirs, "{:.1f}") + (f" ({ours / theirs:.1f}x)" if ours and theirs else ""))
            rows.append(row)
            one, two = (get(kind, "furrow", job, "seconds", n) for n in (1, 2))
            work = [get(kind, "furrow", job, "cpu_seconds", n) for n in (1, 2)]
            if one and two:
                more.append([kind, job, f"{one / two:.2f}x", f"{work[0] / work[1]:.0%}",
                             " / ".join(show(get(kind, "furrow", job, "peak_rss_mb", n)) for n in (1, 2))])
    print_table("One core, MB per second of processor time (behind a peer: how many times faster furrow is)",
                ["log", "job", "furrow", "by the clock", "avx2", "pandas, scikit-learn", "polars", "duckdb"], rows)
    print_table("Two threads: how many times faster by the clock; how much of their processor time one thread needs; "
                "peak memory in MB with one and two",
                ["log", "job", "2 / 1", "work 1 / 2", "memory"], more)


def main():
    options = read_arguments()
    if not os.access(os.path.join(options.build, "bench", "bench_encode"), os.X_OK):
        sys.exit(f"no bench/bench_encode in {options.build}: build it first, or name the folder with --build")
    if options.scratch:
        os.makedirs(options.scratch, exist_ok=True)
    folder = options.scratch or tempfile.mkdtemp(prefix="furrow-bench-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    try:
        results = [r for kind in options.kinds for r in run_kind(options, kind, folder)]
    finally:
        if not options.scratch:
            shutil.rmtree(folder)
    about = machine()
    print(f"{about['cpu']}, {about['cores']} cores; {options.size:g} MB each, median of {options.rounds}; "
          f"others took {LOAD.share_of_others():.0%} of the machine meanwhile")
    print_tables(options, results)
    wrong = disagreements(results)
    print("\n" + "\n".join(wrong or ["Rows are the same bytes for one thread and two, and for avx2."]))
    if options.out:
        with open(options.out, "w") as out:
            json.dump({"machine": about, "size_mb": options.size, "rounds": options.rounds,
                       "others_share": LOAD.share_of_others(), "results": results}, out, indent=1)
            out.write("\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
