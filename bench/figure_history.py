#!/usr/bin/env python3
"""bench/figure_history.py OLD.json NEW.json: what became slower from one run of the benchmarks to a later one.

An entry is a file of bench/history/: the date, the machine, the revision, and the figures that bench/results_table.py
found. Ratios to peers are compared, since seconds depend on what else the machine does: those of processor time where
both entries have them. Figures that have other names now, or that one of the runs did not make, are named.
"""
import argparse
import json
import os
import platform
import subprocess
import sys
import time

FALL = 0.1  # ratios vary by some percent from run to run
NAMED = 20  # of the figures that only one entry has
BUSY = 0.1  # share of the machine that other programs took

AVX2 = {"avx2", "bmi1", "bmi2", "fma", "f16c", "popcnt"}
AVX512 = {"avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512vbmi", "avx512_vbmi2", "avx512_vnni"}


# ---- The machine ----


def cpuinfo(field):
    """The field of the first processor, or None"""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next((line.split(":", 1)[1].strip() for line in file if line.startswith(field)), None)
    except OSError:
        return None


def levels():
    """The levels of instructions that Furrow can use here (FURROW_ISA), the best one last"""
    if platform.machine() in ("aarch64", "arm64"):
        return ["generic", "neon"]
    flags = set((cpuinfo("flags") or "").split())
    found = ["generic"]
    if AVX2 <= flags:
        found.append("avx2")
        if AVX512 <= flags:
            found.append("avx512")
    return found


def machine():
    return {"cpu": cpuinfo("model name") or platform.machine(), "cores": os.cpu_count(), "levels": levels()}


def revision(folder):
    """The commit that is measured, and whether the sources differ from it"""
    try:
        return subprocess.run(["git", "-C", folder, "describe", "--always", "--dirty", "--abbrev=12", "--match="],
                              check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


# ---- Entries ----


def entry(figures, others_share, source):
    """figures: dicts with benchmark, what, unit, level, peer, ours, theirs, ratio, cpu_ratio (None: not known)"""
    return {"date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "machine": machine(),
            "revision": revision(source), "others_share": round(others_share, 3), "figures": figures}


def save(folder, made):
    """Writes an entry, a line for each figure; returns the path"""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, made["date"].replace(":", "") + ".json")
    head = {name: value for name, value in made.items() if name != "figures"}
    lines = ",\n".join(" " + json.dumps(figure) for figure in made["figures"])
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(head)[:-1] + ', "figures": [\n' + lines + "\n]}\n")
    return path


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def last_comparable(folder, made):
    """The latest earlier entry of the same kind of machine, or None; other files are left alone"""
    for name in sorted(os.listdir(folder) if os.path.isdir(folder) else [], reverse=True):
        try:
            found = load(os.path.join(folder, name))
            if found["machine"] == made["machine"] and found["date"] < made["date"]:
                return found
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return None


# ---- What changed ----


def name_of(figure):
    parts = [figure.get(part) for part in ("what", "unit", "peer", "level")]
    return ", ".join(str(part) for part in parts if part)


def by_name(made):
    """Figures that can be compared, by benchmark and name; the first one of a name counts"""
    found = {}
    for figure in made["figures"]:
        if figure.get("ratio") or figure.get("cpu_ratio"):
            found.setdefault((figure.get("benchmark"), name_of(figure)), figure)
    return found


def pick_ratios(old, new):
    kind = "cpu_ratio" if old.get("cpu_ratio") and new.get("cpu_ratio") else "ratio"
    return old.get(kind), new.get(kind)


def compare(old, new, fall=FALL):
    """Returns: (name, old ratio, new ratio) of the figures that fell, the worst first; names of the new ones; names of
    the missing ones; how many were compared"""
    before, after = by_name(old), by_name(new)
    fell, compared = [], 0
    for key in before.keys() & after.keys():
        was, now = pick_ratios(before[key], after[key])
        if was and now:
            compared += 1
            if now < was * (1 - fall):
                fell.append((key[1], was, now))
    fell.sort(key=lambda change: (change[2] / change[1], change[0]))
    added = [key[1] for key in after if key not in before]
    missing = [key[1] for key in before if key not in after]
    return fell, added, missing, compared


def listed(word, names):
    if names:
        yield f"{len(names)} {word}:"
        yield from (f"  {name}" for name in names[:NAMED])
        if len(names) > NAMED:
            yield f"  … and {len(names) - NAMED} more"


def report(old, new, fall=FALL):
    fell, added, missing, compared = compare(old, new, fall)
    yield f"compared with {old.get('date', '?')}, revision {old.get('revision', '?')}: " \
          f"{len(fell)} of {compared} ratios to peers fell by more than {fall:.0%}"
    for name, was, now in fell:
        yield f"  {name}: {was:.2f} -> {now:.2f}"
    busy = max(old.get("others_share", 0), new.get("others_share", 0))
    if busy > BUSY:
        yield f"other programs took up to {busy:.0%} of the machine in one of the runs: ratios can be far off"
    yield from listed("new", added)
    yield from listed("missing", missing)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", metavar="OLD.json")
    parser.add_argument("new", metavar="NEW.json")
    parser.add_argument("--fall", type=float, default=FALL, help="the share that is reported (%(default)s)")
    options = parser.parse_args()
    old, new = load(options.old), load(options.new)
    if old["machine"] != new["machine"]:
        print(f"note: measured on different machines: {old['machine']}, {new['machine']}")
    print("\n".join(report(old, new, options.fall)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
