#!/usr/bin/env python3
"""bench/results_table.py FOLDER [--out FILE.md] [--history FOLDER]: one table of what the benchmarks found.

FOLDER holds what tools/run_bench.sh collected: NAME.json of the drivers, NAME.jsonl of programs that print a line of
JSON for each figure, and NAME.command with the command that made it; FOLDER/avx2 has the same of those that ran again
with AVX2 only. A line of the table is one question: Furrow's figure, a peer's, and how many times better Furrow's is
(below 1: the peer is ahead), by the clock and, where it is known, by processor time, which says more on a busy machine;
then the same with AVX2. --history adds the figures to a folder of entries and reports what fell since the last one.
"""
import argparse
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "history"))
import figure_history  # noqa: E402


class Line:
    """What was asked; unit; figures of Furrow and of the peer; the same by processor time (None: not known); the level
    of instructions if the benchmark chose one itself"""

    def __init__(self, what, unit, ours, peer, theirs, cpu=None, more_is_better=False, level=None):
        self.what, self.unit, self.ours, self.peer, self.theirs, self.level = what, unit, ours, peer, theirs, level
        self.ratio = better(ours, theirs, more_is_better)
        self.cpu_ratio = better(cpu[0], cpu[1], more_is_better) if cpu and cpu[0] and cpu[1] else None

    def key(self):
        return self.what, self.unit, self.peer


def better(ours, theirs, more_is_better):
    return ours / theirs if more_is_better else theirs / ours


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


# ---- What the drivers write ----


def lines_of_rows(data):
    results = [r for r in data["results"] if r["cores"] == 1]
    ours = {r["kind"]: r for r in results if r["program"] == "furrow"}
    for r in results:
        if r["program"] != "furrow" and r["kind"] in ours:
            us = ours[r["kind"]]
            yield Line(f"rows: {r['kind']}", "MB/s, 1 core", us["mb_per_s"], r["program"], r["mb_per_s"],
                       (us["mb_per_cpu_s"], r["mb_per_cpu_s"]), True)


def lines_of_model(data):
    peers = {"strtod": "C loop with strtod", "numpy": "NumPy"}
    ours = {r["kind"]: r for r in data["results"] if r["job"] == "load" and r["threads"] == 1}
    for r in data["results"]:
        if r["job"] in peers and r["kind"] in ours:
            us = ours[r["kind"]]
            yield Line(f"matrix to memory: {r['kind']}", "MB/s, 1 thread", us["mb_per_s"], peers[r["job"]],
                       r["mb_per_s"], (us.get("mb_per_cpu_s"), r.get("mb_per_cpu_s")), True)


def vector_key(r):
    return tuple(r.get(name) for name in ("data", "m", "job", "threads", "nprobe", "k_factor", "batch"))


def vector_text(r):
    text = f"index {r['job']}: {r['data']}, n {r['n']}, M {r['m']}"
    return text + (f", nprobe {r['nprobe']}, {r['batch']} a call" if r["job"] == "search" else "")


def lines_of_vector(data):
    results = [r for r in data["results"] if r["job"] in ("train", "add", "load", "search") and r["threads"] == 1]
    largest = max((r["batch"] for r in results if r["job"] == "search"), default=0)
    results = [r for r in results if r["job"] != "search" or r["batch"] in (1, largest)]
    ours = {vector_key(r): r for r in results if r["program"] == "furrow"}
    for r in results:
        us = ours.get(vector_key(r))
        if r["program"] == "furrow" or not us:
            continue
        scale = 1e6 / r["queries"] if r["job"] == "search" else 1
        yield Line(vector_text(r), "us a query" if r["job"] == "search" else "s, 1 thread", us["seconds"] * scale,
                   r["program"], r["seconds"] * scale, (us["cpu_seconds"], r["cpu_seconds"]))


def lines_of_frontier(data):
    for entry in data["best"]:
        best = entry["best"]
        for name in best:
            if name != "furrow" and best[name] and best.get("furrow"):
                yield Line(f"best index for recall {entry['recall']}: {data['data']}", "us of processor a query",
                           best["furrow"]["us"], data["titles"].get(name, name), best[name]["us"])


def lines_of_learn(data):
    ours = {(r["model"], r["threads"]): r for r in data["results"] if r["program"] == "furrow"}
    for r in data["results"]:
        us = ours.get((r["model"], r["threads"]))
        if not r["program"].startswith("furrow") and us:
            yield Line(f"train {r['model']}", f"us a row, {r['threads']} thread(s)", us["us"], r["program"], r["us"],
                       (us["cpu_us"], r["cpu_us"]))


def lines_of_forest(data):
    for kind, programs in data["results"].items():
        us = programs.get("furrow")
        for name, r in programs.items():
            if name == "furrow" or not us:
                continue
            yield Line(f"train trees: {kind}", "s", us["seconds"], name, r["seconds"], (us["cpu"], r["cpu"]))
            yield Line(f"score with trees: {kind}", "s", us["score_seconds"], name, r["score_seconds"],
                       (us["score_cpu"], r["score_cpu"]))


def lines_of_encode(data):
    results = [r for r in data["results"] if r["cores"] == 1 and "error" not in r]
    peers = [r for r in results if r["program"] != "furrow"]
    for level in (None, "avx2"):
        ours = {(r["kind"], r["job"]): r for r in results if r["program"] == "furrow" and (r["isa"] or None) == level}
        for r in peers:
            us = ours.get((r["kind"], r["job"]))
            if us:
                yield Line(f"raw log, {r['job']}: {r['kind']}", "MB/s, 1 core", us["mb_per_s"], r["program"],
                           r["mb_per_s"], (us["mb_per_cpu_s"], r["mb_per_cpu_s"]), True, level)


def lines_of_recommend(data):
    ours = {r["factors"]: r for r in data["results"] if r["program"] == "furrow, by itself"}
    for r in data["results"]:
        us = ours[r["factors"]]
        if not r["program"].startswith("furrow"):
            yield Line(f"{data['k']} items for {data['users']} users out of {data['items']}, {r['factors']} factors",
                       f"s, {data['threads']} thread(s)", us["seconds"], r["program"], r["seconds"],
                       (us["cpu_seconds"], r["cpu_seconds"]))


def lines_of_rankings(data):
    for entry in data["entries"]:
        ours = next((r for r in entry["results"] if r["method"] == "furrow"), None)
        for r in entry["results"]:
            if ours and r is not ours and r["ndcg"] > 0:
                yield Line(f"recommendations: {entry['log']}{entry['given']}", f"NDCG@{data['k']}", ours["ndcg"],
                           r["method"], r["ndcg"], more_is_better=True)


def lines_of_calls(data):
    for r in data["results"]:
        for peer in r["us"]:
            if peer != "python":
                yield Line(f"Python: {r['call']}", "us", r["us"]["python"], "C" if peer == "c" else peer, r["us"][peer],
                           (r["cpu_us"]["python"], r["cpu_us"][peer]))


def lines_of_read(data):
    ours = {r["kind"]: r for r in data["results"] if r["program"] == "furrow, 1 thread"}
    for r in data["results"]:
        if not r["program"].startswith("furrow"):
            us = ours[r["kind"]]
            yield Line(f"Python: libsvm to SciPy, {r['kind']}", "MB/s, 1 thread", us["mb_per_s"], r["program"],
                       r["mb_per_s"], (us["mb_per_cpu_s"], r["mb_per_cpu_s"]), True)


def lines_of_fit(data):
    for r in data["results"]:
        for peer in ("command", "xgboost"):
            if peer in r["seconds"]:
                yield Line(f"Python: fit {r['model']} on CSR", "s", r["seconds"]["fit"], peer, r["seconds"][peer],
                           (r["cpu_seconds"]["fit"], r["cpu_seconds"][peer]))


# ---- What programs print, a line of JSON each ----


def lines_of_numbers(records):
    for r in records:
        if "peer" in r:
            yield Line(f"{r['what']}: {r['data']}", "MB/s", r["mb_per_s"], r["peer"], r["peer_mb_per_s"],
                       more_is_better=True)


def lines_of_formats(records):
    for r in records:
        if "plain_mb_per_s" in r and r["type"] == "f32":
            ids = f", {r['key_bits']}-bit column ids" if "key_bits" in r else ""
            yield Line(f"{r['what']} {r['format']}, {r['type']}{ids}", "MB/s", r["mb_per_s"], "plain C loop",
                       r["plain_mb_per_s"], more_is_better=True)


def lines_of_products(records):
    for r in records:
        if r["peer"].startswith("Furrow"):
            continue
        shape = f" ({r['m']} x {r['k']} x {r['n']})" if "m" in r else ""
        yield Line(f"product: {r['what']}{shape}", "us, 1 thread", r["us"], r["peer"], r["peer_us"])


def lines_of_json(records):
    for r in records:
        yield Line(f"{r['what']}: {r['data']}", "MB/s", r["mb_per_s"], r["peer"], r["peer_mb_per_s"],
                   more_is_better=True)


def lines_of_number_peers(records):
    for r in records:
        yield Line(f"{r['what']}: {r['data']}", "ns a number", r["ns"], r["peer"], r["peer_ns"])


def lines_of_threads(records):
    def key(r):
        return r["threads"], r["work_us"], r["pause_us"]
    ours = {key(r): r for r in records if r["by"] == "Furrow, spinning threads"}
    for r in records:
        us = ours.get(key(r))
        if us and not r["by"].startswith("Furrow"):
            yield Line(f"loop of 16 indices of {r['work_us']} us after a pause of {r['pause_us']} us",
                       f"us, {r['threads']} threads", us["us"], r["by"], r["us"], (us["cpu_us"], r["cpu_us"]))


def lines_of_serve(records):
    for r in records:
        yield Line(f"HTTP: {r['call']}", "answers a second", r["rate"], "nginx, constant answer", r["nginx"],
                   more_is_better=True)


READERS = {
    "bench_rows_peers": lines_of_rows,
    "bench_model_peers": lines_of_model,
    "bench_vector_peers": lines_of_vector,
    "bench_vector_frontier": lines_of_frontier,
    "bench_learn_peers": lines_of_learn,
    "bench_forest_peers": lines_of_forest,
    "bench_encode_peers": lines_of_encode,
    "bench_recommend": lines_of_recommend,
    "bench_rankings": lines_of_rankings,
    "bench_calls_peers": lines_of_calls,
    "bench_read_peers": lines_of_read,
    "bench_fit_peers": lines_of_fit,
    "bench_serve_peers": lines_of_serve,
    "bench_numbers": lines_of_numbers,
    "bench_matrix_formats": lines_of_formats,
    "bench_product_peers": lines_of_products,
    "bench_json_peers": lines_of_json,
    "bench_number_peers": lines_of_number_peers,
    "bench_thread_peers": lines_of_threads,
}

# ---- What a run found ----


class Part:
    """A benchmark: its name, the command that ran, and its lines at the best level and with AVX2, by Line.key()"""

    def __init__(self, name, command):
        self.name, self.command, self.best, self.avx2 = name, command, {}, {}

    def add(self, lines, level):
        for line in lines:
            found = self.avx2 if (line.level or level) == "avx2" else self.best
            while line.key() in found:
                line.what += " (again)"
            found[line.key()] = line

    def rows(self):
        """Pairs of lines, one of which may be None"""
        for key in list(self.best) + [key for key in self.avx2 if key not in self.best]:
            yield self.best.get(key), self.avx2.get(key)


def load(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()] if path.endswith(".jsonl") else json.load(file)


def read_lines(name, data):
    """The lines of a benchmark. A driver that has changed costs its own lines, not those of the others."""
    try:
        return list(READERS[name](data))
    except (KeyError, TypeError, ZeroDivisionError, AttributeError) as problem:
        print(f"{name}: its results are not what bench/results_table.py expects ({problem!r})", file=sys.stderr)
        return []


def take_folder(folder, parts, level):
    """Adds to parts, by name; returns the machine as the drivers describe it, and what others took of it"""
    machine, others = {}, [0]
    for file in sorted(os.listdir(folder)):
        name, ending = os.path.splitext(file)
        if ending not in (".json", ".jsonl") or name not in READERS:
            continue
        data = load(os.path.join(folder, file))
        if isinstance(data, dict):
            machine = data.get("machine") or machine
            others.append(data.get("others_share") or 0)
        with open(os.path.join(folder, name + ".command"), encoding="utf-8") as text:
            part = parts.setdefault(name, Part(name, text.read().strip()))
        part.add(read_lines(name, data), level)
    return machine, max(others)


def collect(folder):
    parts = {}
    machine, others = take_folder(folder, parts, None)
    if os.path.isdir(os.path.join(folder, "avx2")):
        others = max(others, take_folder(os.path.join(folder, "avx2"), parts, "avx2")[1])
    return list(parts.values()), machine, others


# ---- The page ----


def cells_of(line):
    if line is None:
        return ["", "", ""]
    return [number(line.ours), f"{line.ratio:.2f}", f"{line.cpu_ratio:.2f}" if line.cpu_ratio else ""]


def page(parts, machine, others, best):
    yield "# What `make bench` found"
    yield ""
    yield f"{machine.get('cpu', 'unknown')}, {machine.get('cores', '?')} cores, {machine.get('system', '')}. " \
          f"Others took up to {100 * others:.0f} % of the machine meanwhile. Sizes are small: a look, not a measurement; " \
          "[README.md](README.md) says what is compared and how to do it at full size. A ratio above 1: Furrow is ahead. " \
          f"The best level of instructions here is {best}; the last columns of figures have AVX2 alone (`FURROW_ISA=avx2`), " \
          "where the level matters and there is a better one."
    yield ""
    yield "| what | unit | Furrow | peer | its figure | ratio | by processor time | AVX2 | ratio | by processor time | command |"
    yield "|---|---|---:|---|---:|---:|---:|---:|---:|---:|---|"
    for part in parts:
        for line, narrow in part.rows():
            ours, ratio, cpu = cells_of(line)
            any_line = line or narrow
            yield f"| {any_line.what} | {any_line.unit} | {ours} | {any_line.peer} | {number(any_line.theirs)} | " \
                  f"{ratio} | {cpu} | {' | '.join(cells_of(narrow))} | `{part.command}` |"


# ---- The entry ----


def short(value):
    return float(f"{value:.4g}") if value else None


def figures_of(parts, best):
    for part in parts:
        for level, lines in ((best, part.best), ("avx2", part.avx2)):
            for line in lines.values():
                yield {"benchmark": part.name, "what": line.what, "unit": line.unit, "level": level, "peer": line.peer,
                       "ours": short(line.ours), "theirs": short(line.theirs), "ratio": short(line.ratio),
                       "cpu_ratio": short(line.cpu_ratio)}


def add_entry(folder, parts, others, best):
    made = figure_history.entry(list(figures_of(parts, best)), others, os.path.dirname(os.path.abspath(__file__)))
    old = figure_history.last_comparable(folder, made)
    print(f"{len(made['figures'])} figures: {figure_history.save(folder, made)}")
    if old:
        print("\n".join(figure_history.report(old, made)))
    else:
        print("no earlier entry of such a machine to compare with")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--out", metavar="FILE.md", help="where the table goes (standard output)")
    parser.add_argument("--history", metavar="FOLDER", help="where an entry with the figures goes")
    options = parser.parse_args()
    parts, machine, others = collect(options.folder)
    best = figure_history.levels()[-1]
    text = "\n".join(page(parts, machine, others, best)) + "\n"
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            file.write(text)
        print(f"{sum(len(list(part.rows())) for part in parts)} lines of {len(parts)} benchmarks: {options.out}")
    else:
        sys.stdout.write(text)
    if options.history and parts:
        add_entry(options.history, parts, others, best)
    return 0 if parts else 1


if __name__ == "__main__":
    sys.exit(main())
