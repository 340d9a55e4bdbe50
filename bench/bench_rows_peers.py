#!/usr/bin/env python3
"""bench/bench_rows_peers.py: Furrow's row parser beside its peers, on the same files in the same run.

Makes one data set after the other (gen_rows), runs every program on it in turn, round by round, pinned to one core
and to two, and reports medians as tables and as JSON. Peers that are not there are named and left out. Exits with 1
when a program fails or when two of them do not read the same rows.
"""
import argparse
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# kind: (format, index type, arguments of the URI)
KINDS = {
    "ctr": ("libsvm", "u32", ""),
    "real": ("libsvm", "u32", ""),
    "ffm": ("libfm", "u32", ""),
    "csv": ("csv", "u32", "?label_column=0"),
    "higgs": ("csv", "u32", "?label_column=0"),
    "u64": ("libsvm", "u64", ""),
    "implicit": ("libsvm", "u32", ""),
}


def cores_of(text):
    """The cores to use: those that --cores names, or the last two allowed"""
    return [int(core) for core in text.split(",")] if text else sorted(os.sched_getaffinity(0))[-2:]


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "build"), help="build folder (build)")
    parser.add_argument("--size", type=float, default=400, metavar="MB", help="of each data set (400)")
    parser.add_argument("--quick", action="store_true", help="--size 20 --rounds 3")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each program (5)")
    parser.add_argument("--best", action="store_true", help="the fastest round, not the median (a busy machine)")
    parser.add_argument("--kinds", default=",".join(KINDS), help="data sets, separated by commas (all)")
    parser.add_argument("--cores", help="the two to use, e.g. 2,3 (the last two allowed); the second runs alone")
    parser.add_argument("--scratch", help="keep the data sets in this folder, and use those that are there")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=PATH",
                        help="another program with the options and the output of bench_rows; may be repeated")
    parser.add_argument("--out", metavar="FILE", help="write the results as JSON")
    options = parser.parse_args()
    if options.quick:
        options.size, options.rounds = 20, 3
    options.kinds = options.kinds.split(",")
    options.cores = cores_of(options.cores)
    unknown = [kind for kind in options.kinds if kind not in KINDS]
    if unknown:
        parser.error("no such kind: " + " ".join(unknown))
    if any("=" not in peer for peer in options.peer):
        parser.error("--peer takes NAME=PATH")
    return options


def has_fread():
    test = ["Rscript", "-e", "library(data.table)"]
    return shutil.which("Rscript") is not None and subprocess.run(test, capture_output=True).returncode == 0


def find_programs(options):
    """name -> command; says which are left out"""
    found = {}
    paths = {"furrow": os.path.join(options.build, "bench", "bench_rows"),
             "dmlc": os.path.join(options.build, "bench", "peer_dmlc")}
    paths.update(peer.split("=", 1) for peer in options.peer)
    for name, path in paths.items():
        if os.access(path, os.X_OK):
            found[name] = [path]
        else:
            print(f"left out: {name} (no program {path})")
    if has_fread():
        found["fread"] = ["Rscript", "--vanilla", os.path.join(HERE, "peer_fread.R")]
    else:
        print("left out: fread (no Rscript with data.table)")
    return found


def make_data(options, kind, folder):
    path = os.path.join(folder, f"{kind}-{options.size:g}MB.txt")
    if not os.path.exists(path):
        with open(path + ".part", "wb") as out:
            generator = os.path.join(options.build, "bench", "gen_rows")
            subprocess.run([generator, kind, str(int(options.size * 1e6))], stdout=out, check=True)
        os.rename(path + ".part", path)
    with open(path, "rb", buffering=0) as data:  # into the page cache
        while data.read(1 << 24):
            pass
    return path


class Load:
    """How busy the machine was, and with how much of it this run, while programs ran; seconds of all cores"""
    all = busy = own = 0.0

    @staticmethod
    def now():
        with open("/proc/stat") as stat:
            ticks = [int(word) / os.sysconf("SC_CLK_TCK") for word in stat.readline().split()[1:9]]
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return sum(ticks), sum(ticks) - ticks[3] - ticks[4], used.ru_utime + used.ru_stime

    def add(self, before):
        now = self.now()
        self.all += now[0] - before[0]
        self.busy += now[1] - before[1]
        self.own += now[2] - before[2]

    def share_of_others(self):
        return max(self.busy - self.own, 0) / max(self.all, 1e-9)


LOAD = Load()


def run_once(command, kind, path, cores):
    """The last JSON line of a run, or the text of its failure"""
    text_format, index, arguments = KINDS[kind]
    full = command + ["--format", text_format, "--index", index, "--threads", str(len(cores)), path + arguments]
    before = LOAD.now()
    done = subprocess.run(full, capture_output=True, text=True, preexec_fn=lambda: os.sched_setaffinity(0, cores))
    LOAD.add(before)
    if done.returncode != 0:
        return (done.stderr.strip().splitlines() or ["no message"])[0] + f" (exit code {done.returncode})"
    return json.loads(done.stdout.splitlines()[-1])


def run_rounds(options, programs, kind, path):
    """[(program, cores, [lines of its rounds])]; every other round runs backwards, so that nobody is always first"""
    single = options.cores[-1:]
    plan = [(name, cores, []) for cores in ([single, options.cores] if len(options.cores) > 1 else [single])
            for name in programs if name != "fread" or KINDS[kind][0] == "csv"]
    for number in range(options.rounds):
        for name, cores, lines in plan[::-1] if number % 2 else plan:
            if not lines or isinstance(lines[-1], dict):
                lines.append(run_once(programs[name], kind, path, cores))
    return plan


def summarise(middle, kind, path, name, cores, lines):
    result = {"kind": kind, "program": name, "cores": len(cores)}
    if not isinstance(lines[-1], dict):
        return dict(result, error=lines[-1])
    size = os.path.getsize(path)
    chosen = {key: middle(line[key] for line in lines) for key in ("seconds", "cpu_seconds")}
    chosen["peak_rss_mb"] = statistics.median(line["peak_rss_mb"] for line in lines)
    same = {key: lines[-1][key] for key in ("rows", "features", "index_sum", "label_sum", "value_sum")
            if key in lines[-1]}
    return dict(result, bytes=size, mb_per_s=size / chosen["seconds"] / 1e6,
                mb_per_cpu_s=size / max(chosen["cpu_seconds"], 1e-6) / 1e6, **chosen, **same,
                all_seconds=[line["seconds"] for line in lines])


def disagreements(results):
    """What a program read otherwise than the first one on the same data; sums of floats may differ by rounding"""
    texts, first = [], {}
    for result in results:
        if "error" in result:
            texts.append("{kind}: {program} on {cores} core(s) failed: {error}".format(**result))
            continue
        other = first.setdefault(result["kind"], result)
        for key in ("rows", "features", "index_sum", "label_sum", "value_sum"):
            a, b = result.get(key, other.get(key)), other.get(key)
            slack = 1e-5 * abs(b) if isinstance(a, float) or isinstance(b, float) else 0
            if b is not None and abs(a - b) > slack:
                texts.append(f"{result['kind']}: {key} is {b} for {other['program']}, {a} for {result['program']}")
    return texts


def print_table(title, head, rows):
    print(f"\n{title}\n")
    rows = [head, ["---"] * len(head)] + rows
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    for row in rows:
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |")


def whole(number):
    return f"{number:.0f}" if number else "-"


def rate_table(title, names, kinds, get, key, cores):
    """Rates; behind a peer's, how many times faster Furrow is"""
    rows = []
    for kind in kinds:
        row, ours = [kind], get(kind, "furrow", cores, key)
        for name in names:
            rate = get(kind, name, cores, key)
            ratio = f" ({ours / rate:.2f}x)" if ours and rate and name != "furrow" else ""
            row.append(whole(rate) + ratio)
        if cores == 2:
            alone = get(kind, "furrow", 1, key)
            row.append(f"{ours / alone:.2f}x" if ours and alone else "-")
        rows.append(row)
    print_table(title, ["data set"] + names + (["furrow 2 / 1"] if cores == 2 else []), rows)


def print_tables(options, names, results):
    by_key = {(r["kind"], r["program"], r["cores"]): r for r in results}

    def get(kind, name, cores, key):
        return by_key.get((kind, name, cores), {}).get(key)

    rate_table("One core, MB/s (behind it: how many times faster furrow is)", names, options.kinds, get, "mb_per_s", 1)
    rate_table("One core, MB per second of processor time", names, options.kinds, get, "mb_per_cpu_s", 1)
    if len(options.cores) > 1:
        rate_table("Two cores, MB/s", names, options.kinds, get, "mb_per_s", 2)
    peaks = [[kind] + [" / ".join(whole(get(kind, name, cores, "peak_rss_mb")) for cores in (1, 2)) for name in names]
             for kind in options.kinds]
    print_table("Peak memory in MB, one core / two cores", ["data set"] + names, peaks)


def machine():
    with open("/proc/cpuinfo") as info:
        models = [line.split(":", 1)[1].strip() for line in info if line.startswith("model name")]
    return {"cpu": models[0] if models else platform.machine(), "cores": os.cpu_count(), "system": platform.platform()}


def main():
    options = read_arguments()
    if not os.access(os.path.join(options.build, "bench", "gen_rows"), os.X_OK):
        sys.exit(f"no bench/gen_rows in {options.build}: build it first, or name the folder with --build")
    programs = find_programs(options)
    if options.scratch:
        os.makedirs(options.scratch, exist_ok=True)
    folder = options.scratch or tempfile.mkdtemp(prefix="furrow-bench-")
    middle = min if options.best else statistics.median
    results = []
    try:
        for kind in options.kinds:
            path = make_data(options, kind, folder)
            results += [summarise(middle, kind, path, *run) for run in run_rounds(options, programs, kind, path)]
            if not options.scratch:
                os.remove(path)
    finally:
        if not options.scratch:
            shutil.rmtree(folder)
    about = machine()
    print(f"{about['cpu']}, {about['cores']} cores; {options.size:g} MB each, "
          f"{'best' if options.best else 'median'} of {options.rounds}; "
          f"others took {LOAD.share_of_others():.0%} of the machine meanwhile")
    print_tables(options, list(programs), results)
    wrong = disagreements(results)
    print("\n" + "\n".join(wrong or ["All programs read the same rows and features."]))
    if options.out:
        with open(options.out, "w") as out:
            about = {"machine": about, "size_mb": options.size, "rounds": options.rounds, "best": options.best,
                     "others_share": LOAD.share_of_others()}
            json.dump(dict(about, results=results), out, indent=1)
            out.write("\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
