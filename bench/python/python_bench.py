"""bench/python/python_bench.py: what the benchmarks of the Python package share: options, turns, tables, JSON."""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

try:
    import numpy  # noqa: F401
    import scipy  # noqa: F401
except ImportError:
    if sys.executable == "/usr/bin/python3" or not os.access("/usr/bin/python3", os.X_OK):
        sys.exit("the benchmarks of the Python package need NumPy and SciPy")
    os.execv("/usr/bin/python3", ["/usr/bin/python3"] + sys.argv)  # Debian's packages are of that one

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from bench_rows_peers import machine, print_table  # noqa: E402,F401


def arguments(text, **more):
    """The options that all programs have; more: --NAME with (default, help)"""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "..", "build"), help="build folder (build)")
    parser.add_argument("--installed", action="store_true", help="the package that is installed; otherwise it is built "
                        "with the library of the build folder")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each program (5)")
    parser.add_argument("--quick", action="store_true", help="small data, 3 rounds: some seconds")
    parser.add_argument("--scratch", help="keep the data in this folder, and use what is there")
    parser.add_argument("--out", metavar="FILE", help="write the results as JSON")
    for name, (default, about) in more.items():
        parser.add_argument("--" + name.replace("_", "-"), type=type(default), default=default,
                            help=f"{about} ({default})")
    options = parser.parse_args()
    if options.quick:
        options.rounds = 3
    if not options.installed:
        sys.path.insert(0, build_package(options.build))
    return options


def build_package(build):
    """The folder of the package, whose module is linked with the library of the build folder"""
    build = os.path.abspath(build)
    folder = os.path.join(build, "python-bench", "lib")
    environment = dict(os.environ, FURROW_LIBRARY="static", FURROW_BUILD=build)
    command = [sys.executable, "-B", os.path.join(HERE, "..", "..", "python", "build_backend.py"), "package", folder]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("the Python package cannot be built:\n" + done.stderr)
    return folder


class Folder:
    """The scratch folder that is named, or one that is removed at the end"""

    def __init__(self, options):
        self.kept = options.scratch is not None
        self.path = options.scratch or tempfile.mkdtemp(prefix="furrow-bench-")
        os.makedirs(self.path, exist_ok=True)

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        if not self.kept:
            shutil.rmtree(self.path)


def imported(*names):
    """{name: module} of those that are installed; says which are left out"""
    found = {}
    for name in names:
        try:
            found[name] = __import__(name)
        except ImportError:
            print(f"left out: {name} is not installed")
    return found


def timed(call):
    """(seconds, processor seconds) of a call in this process, and what it returned"""
    wall, cpu = time.perf_counter(), time.process_time()
    result = call()
    return (time.perf_counter() - wall, time.process_time() - cpu), result


def take_turns(jobs, rounds):
    """{name: [(seconds, processor seconds) of each round]}; every other round runs backwards. A job returns the pair"""
    times = {name: [] for name in jobs}
    for number in range(rounds):
        names = list(jobs)
        for name in names[::-1] if number % 2 else names:
            times[name].append(jobs[name]())
    return times


def median(pairs, which):
    return statistics.median(pair[which] for pair in pairs)


def ratio(times, a, b, which):
    """The median of the ratios a / b of the rounds, which a slow minute of the machine disturbs least"""
    return statistics.median(x[which] / max(y[which], 1e-9) for x, y in zip(times[a], times[b]))


def report(options, title, results):
    about = machine()
    print(f"\n{title}: {about['cpu']}, {about['cores']} cores, FURROW_ISA={os.environ.get('FURROW_ISA', '')}; "
          f"medians of {options.rounds}")
    if options.out:
        with open(options.out, "w") as out:
            json.dump({"machine": about, "isa": os.environ.get("FURROW_ISA"), "rounds": options.rounds,
                       "results": results}, out, indent=1)
            out.write("\n")


def verdict(failures):
    """Prints what two programs found differently; the exit code"""
    print("\n" + "\n".join(failures or ["All programs found the same."]))
    return 1 if failures else 0
