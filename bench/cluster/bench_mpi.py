#!/usr/bin/env python3
"""bench/cluster/bench_mpi.py: the same command with 1, 2, 4 … ranks on the same data: how much faster is it?

Makes a click log, a table of real features and vectors; trains boosted trees, FM and DeepFM, builds an index, and
converts rows, with one thread for each rank. One rank is the plain command without MPI. Runs take turns, every other round
backwards, and medians are reported: seconds of the whole command, and seconds of the epochs or rounds alone where the
command reports them. The run fails if models that must not depend on the number of ranks differ.
"""
import argparse
import filecmp
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from bench_rows_peers import LOAD, machine, print_table  # noqa: E402

JOBS = ["gbdt", "fm", "deepfm", "index", "rows"]
SAME_BYTES = {"gbdt", "fm", "rows"}  # whatever the number of ranks


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "..", "build"), help="build folder (build)")
    parser.add_argument("--ranks", default="1,2,4,8", help="numbers of ranks (1,2,4,8)")
    parser.add_argument("--jobs", default=",".join(JOBS), help=f"of {','.join(JOBS)} (all)")
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the log and of the table (1000000)")
    parser.add_argument("--vectors", type=int, default=1_000_000, help="of 128 numbers (1000000)")
    parser.add_argument("--lists", type=int, default=4096, help="of the index (4096)")
    parser.add_argument("--trees", type=int, default=50, help="rounds (50)")
    parser.add_argument("--epochs", type=int, default=3, help="of the nets (3)")
    parser.add_argument("--batch", type=int, default=8192, help="rows of an update (8192)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each number of ranks (3)")
    parser.add_argument("--launch", default="mpirun --oversubscribe --bind-to core -n {ranks}",
                        help="what starts the ranks (mpirun --oversubscribe --bind-to core -n {ranks})")
    parser.add_argument("--quick", action="store_true",
                        help="20000 rows and vectors, 10 trees, 1 round, 1 and 2 ranks: does it work?")
    parser.add_argument("--scratch", help="keep the data in this folder, and use what is there")
    parser.add_argument("--out", metavar="FILE", help="write the results as JSON")
    options = parser.parse_args()
    if options.quick:
        options.rows = options.vectors = 20_000
        options.lists, options.trees, options.epochs, options.batch = 64, 10, 2, 1024
        options.rounds, options.ranks = 1, "1,2"
    options.ranks = [int(count) for count in options.ranks.split(",")]
    options.jobs = options.jobs.split(",")
    unknown = [job for job in options.jobs if job not in JOBS]
    if unknown:
        parser.error("no such job: " + " ".join(unknown))
    return options


def make_data(options, folder):
    """Data of the same seeds; what is there already is used"""
    def make(name, *command):
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            with open(path + ".tmp", "wb") as out:
                subprocess.run([os.path.join(options.build, "bench", command[0]), *command[1:]], stdout=out, check=True)
            os.rename(path + ".tmp", path)
        return path
    return {"clicks": make(f"clicks{options.rows}.libsvm", "gen_clicks", str(options.rows)),
            "table": make(f"table{options.rows}.libsvm", "gen_table", "binary", str(options.rows)),
            "vectors": make(f"vectors{options.vectors}.fbin", "gen_vectors", "points", str(options.vectors), "128")}


def command_of(options, job, data, out):
    net = ["train", "--train", data["clicks"], "--out", out, "--solver", "steps", "--batch", str(options.batch),
           "--epochs", str(options.epochs), "--valid-ratio", "0", "--start", "random"]
    commands = {
        "gbdt": ["train", "--model", "gbdt", "--train", data["table"], "--out", out, "--trees", str(options.trees),
                 "--depth", "6"],
        "fm": [*net, "--model", "fm"],
        "deepfm": [*net, "--model", "deepfm"],
        "index": ["index", "build", "--base", data["vectors"], "--out", out, "--nlist", str(options.lists), "--m", "16"],
        "rows": ["rows", "convert", data["clicks"], out, "--to", "libsvm"],
    }
    threads = ["--threads", "1"]
    report = ["--json", "-q"] if job != "rows" else ["-q"]
    return [os.path.join(options.build, "furrow"), *commands[job], *threads, *report]


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.exists(path):
        os.remove(path)


def run_job(options, job, data, ranks, out):
    """Seconds of the command, and of its epochs where it reports them"""
    remove(out)
    launch = options.launch.format(ranks=ranks).split() if ranks > 1 else []
    before, began = LOAD.now(), time.monotonic()
    done = subprocess.run([*launch, *command_of(options, job, data, out)], capture_output=True, text=True)
    seconds = time.monotonic() - began
    LOAD.add(before)
    if done.returncode != 0:
        sys.exit(f"{job} with {ranks} ranks: exit code {done.returncode}\n{done.stderr}")
    report = json.loads(done.stdout) if done.stdout.lstrip().startswith("{") else {}
    epochs = [epoch["seconds"] for epoch in report.get("epochs", [])]
    return seconds, sum(epochs) if epochs else None


def same_model(furrow, a, b):
    """Whether two outputs have the same bytes; furrow.json has times in it, the rest of a model has not"""
    if not os.path.isdir(a):
        return filecmp.cmp(a, b, shallow=False)
    dumps = [subprocess.run([furrow, "model", "dump", path], capture_output=True, check=True).stdout for path in
             matrices_of(a) + matrices_of(b)]
    return dumps[:len(dumps) // 2] == dumps[len(dumps) // 2:]


def matrices_of(model):
    return sorted(os.path.join(model, name) for name in os.listdir(model) if os.path.isdir(os.path.join(model, name)))


def measure(options, job, data, folder):
    times = {count: [] for count in options.ranks}
    for turn in range(options.rounds):
        for count in options.ranks if turn % 2 == 0 else reversed(options.ranks):
            times[count].append(run_job(options, job, data, count, os.path.join(folder, f"{job}.{count}")))
    furrow, first = os.path.join(options.build, "furrow"), os.path.join(folder, f"{job}.{options.ranks[0]}")
    differ = [count for count in options.ranks[1:]
              if job in SAME_BYTES and not same_model(furrow, first, os.path.join(folder, f"{job}.{count}"))]
    results = []
    for count in options.ranks:
        whole = statistics.median(seconds for seconds, _ in times[count])
        inner = [seconds for _, seconds in times[count] if seconds is not None]
        results.append({"job": job, "ranks": count, "seconds": whole,
                        "epoch_seconds": statistics.median(inner) if inner else None})
    return results, differ


def faster(results, job, count, key):
    def of(ranks):
        return next(r[key] for r in results if r["job"] == job and r["ranks"] == ranks)
    one, many = of(min(r["ranks"] for r in results)), of(count)
    return "" if one is None or many is None else f"{one / many:.2f}"


def main():
    options = read_arguments()
    results, wrong = [], []
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.scratch or scratch
        data = make_data(options, folder)
        for job in options.jobs:
            found, differ = measure(options, job, data, folder)
            results += found
            wrong += [f"{job}: {count} ranks have another result than {options.ranks[0]}" for count in differ]
    about = machine()
    print(f"{about['cpu']}, {about['cores']} cores; one thread for each rank, median of {options.rounds}; "
          f"others took {LOAD.share_of_others():.0%} of the machine meanwhile")
    head = ["job", *(f"{count} ranks" for count in options.ranks)]
    for title, key in (("seconds of the command", "seconds"), ("seconds of the epochs or rounds", "epoch_seconds")):
        shown = [job for job in options.jobs if any(r["job"] == job and r[key] is not None for r in results)]
        if not shown:
            continue
        print_table(title, head, [[job, *(f"{r[key]:.2f}" for r in results if r["job"] == job)] for job in shown])
        print_table("faster than one rank", head,
                    [[job, *(faster(results, job, count, key) for count in options.ranks)] for job in shown])
    if options.out:
        with open(options.out, "w") as out:
            json.dump({"machine": about, "others_share": LOAD.share_of_others(), "rows": options.rows, "vectors": options.vectors, "batch": options.batch,
                       "results": results}, out, indent=1)
            out.write("\n")
    sys.exit("\n".join(wrong) if wrong else 0)


if __name__ == "__main__":
    main()
