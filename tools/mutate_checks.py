#!/usr/bin/env python3
"""tools/mutate_checks.py: does a test fail if a reader loses one of its checks?

A check is a condition that decides whether a reader refuses what it reads: an `if` whose body fails, a `? :` that fails
on one side, or what a function that returns bool answers. Each is changed in turn (a mutant):

    the whole condition becomes 0: the check is gone        an operand of || becomes 0
    an operand of && becomes 1                              < and <= change places, and so do > and >=

All mutants are compiled into one build, with the sanitizers, of a copy of the tree in build-mutation; the variable
FURROW_MUTANT says which of them is active. A first run of every test records in which evaluations a mutant would have
made a difference, so that each mutant is then run with just these tests, the fastest first, until one fails. A mutant
that no test notices survives. tests/mutation/allowed lists those that cannot be noticed, with the reason.

    tools/mutate_checks.py [--sample N] [--file PATH] [--reader NAME …] [--json FILE] [--survivors FILE] [--list]

Exits with 1 if a mutant survives that is not allowed, or if the list of those that are allowed has others.
"""
import argparse
import collections
import concurrent.futures
import json
import mmap
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

TOP = pathlib.Path(__file__).resolve().parent.parent
WORK = TOP / "build-mutation"
TREE, BUILD, SEEN = WORK / "tree", WORK / "build", WORK / "seen"
PER_FILE = 512  # numbers of mutants that a file may have: its own do not change when another file does

READERS = {
    "index files": ["src/vector/file/index_cursor.c", "src/vector/file/index_read*.c", "src/vector/file/index_load.c",
                    "src/vector/file/index_verify.c"],
    "shards and id names": ["src/vector/file/shards_file.c", "src/vector/data/id_names.c",
                            "src/vector/file/id_names_file.c", "src/vector/index/stored_ids.c", "src/io/string_table.c",
                            "src/vector/data/ids_in.c"],
    "arrays": ["src/array/array_reader.c", "src/array/bytes_in.c", "src/array/npy.c",
               "src/array/safetensors_in.c", "src/array/zip_in.c", "src/vector/data/vectors_in.c"],
    "matrix metadata": ["src/model/meta/meta.c", "src/model/meta/meta_[bfl]*.c", "src/model/meta/meta_json.c"],
    "matrix formats": ["src/model/format/*.c", "src/model/read/partition_reader.c", "src/model/read/separator.c",
                       "src/model/read/source.c", "src/model/write/part_stream.c", "src/model/exchange/import_*.c"],
    "JSON": ["src/base/json_in.c", "src/base/utf8.c"],
    "rows": ["src/rows/text/sparse.c", "src/rows/text/csv.c", "src/rows/text/csv_columns.c",
             "src/rows/text/rowbuilder.c", "src/rows/text/cells.c", "src/rows/table/*.c"],
    "row caches": ["src/rows/cache.c"],
    "streams": ["src/io/stream*.c", "src/io/split.c"],
    "checkpoints": ["src/learn/checkpoint/checkpoint_layout.c",
                    "src/learn/checkpoint/checkpoint_load.c", "src/learn/parameters/snapshot.c"],
    "models and trees": ["src/learn/conf/model_json.c", "src/learn/conf/conf_json*.c",
                         "src/learn/describe/describe_json.c", "src/learn/forest/forest_files.c",
                         "src/learn/forest/forest.c", "src/learn/parameters/parameters_load.c"],
    "schemas and dictionaries": ["src/rows/schema/schema*.c", "src/rows/encode/dictionary*.c"],
    "log of changes": ["serve/indexes/change_log.c", "serve/indexes/log_records.c"],
    "requests": ["serve/http/http_parse.c", "serve/api/index_requests.c", "serve/api/instances.c",
                 "serve/api/documents.c", "serve/models/event_columns.c", "serve/api/recommend_call.c"],
}

HEADER = """\
#ifndef FW_MUTANT_H
#define FW_MUTANT_H
extern int fw_mutant_active;
extern volatile unsigned char *fw_mutant_seen;
static inline int fwm(int n, int differs) {
  if (differs && fw_mutant_seen) fw_mutant_seen[n] = 1;
  return fw_mutant_active == n;
}
static inline int fwm_0(int n, int value) { return fwm(n, value) ? 0 : value; }
static inline int fwm_1(int n, int value) { return fwm(n, !value) ? 1 : value; }
#define FWM_SWAP(n, a, is, becomes, b) \\
  ({ __auto_type fwm_a = (a); __auto_type fwm_b = (b); fwm(n, fwm_a == fwm_b) ? fwm_a becomes fwm_b : fwm_a is fwm_b; })
#endif
"""
SOURCE = """\
#include "base/mutant.h"
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
int fw_mutant_active = -1;
volatile unsigned char *fw_mutant_seen;
__attribute__((constructor)) static void choose(void) {
  const char *number = getenv("FURROW_MUTANT"), *seen = getenv("FURROW_MUTANTS_SEEN");
  if (number) fw_mutant_active = atoi(number);
  const int file = seen ? open(seen, O_RDWR | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *at = mmap(NULL, %d, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (at != MAP_FAILED) fw_mutant_seen = at;
  close(file);
}
"""

Mutant = collections.namedtuple("Mutant", "number reader file line before after")
Test = collections.namedtuple("Test", "name command env code seconds seen")

# ---- Finding checks in C ----

FAILS = re.compile(r"\b\w*(fail|reject|refuse|malformed|spoil|problem|fault|invalid|unknown)\w*\(|\bbad(_\w+)?\("
                   r"|FURROW_E_(FORMAT|PARSE|RANGE|UNSUPPORTED)|\breturn (false|NULL|-1);")
NOT_OF_BYTES = re.compile(r"fail_memory|fail_errno|FURROW_E_(MEMORY|ARGUMENT|STATE|IO|CANCELLED|EXISTS)|no_memory")
# What was found before, and whether the caller wants the error: not checks of what is read.
PASSES_ON = re.compile(r"!?\(?(\w+(->|\.))*(status|err|error|why|fault|memory|failed)( [!=]= FURROW_OK)?\)?$"
                       r"|!?\w*good\([^()]*\)$")
IS_GOOD = re.compile(r"\s*return( FURROW_OK| true)?;\s*$")
COMPARED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}


def fails(text):
    return bool(FAILS.search(text)) and not NOT_OF_BYTES.search(text)


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def mask(text):
    """The text with comments, strings and preprocessor lines blanked, every byte in its place."""
    text = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'',
                  lambda m: blank(m) if m.group()[0] == "/" else "0" * len(m.group()), text, flags=re.S)
    return re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", blank, text, flags=re.M)


def closing(code, at):
    """The place after the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(code)):
        depth += (code[i] in "([{") - (code[i] in ")]}")
        if depth == 0:
            return i + 1
    raise ValueError("a bracket is not closed")


def statement_end(code, at):
    """The place after the statement, block or part of a list that begins at `at`."""
    while code[at].isspace():
        at += 1
    if code[at] == "{":
        return closing(code, at)
    while code[at] not in ";)]}":
        at = closing(code, at) if code[at] in "([{" else at + 1
    return at + 1


def find_operator(code, begin, end, pattern):
    """Places of an operator outside of brackets: (from, to) each."""
    places, at = [], begin
    while at < end:
        if code[at] in "([{":
            at = closing(code, at)
            continue
        match = re.compile(pattern).match(code, at, end)
        if match:
            places.append(match.span())
            at = match.end()
        else:
            at += 1
    return places


def trim(code, begin, end):
    while begin < end and code[begin].isspace():
        begin += 1
    while end > begin and code[end - 1].isspace():
        end -= 1
    return begin, end


class File:
    """A source file: its checks, its mutants, and its text with all of them compiled in."""

    def __init__(self, path, reader, first):
        self.path, self.reader, self.first = path, reader, first
        self.text = (TOP / path).read_text()
        self.code = mask(self.text)
        self.mutants, self.changes = [], []
        for begin, end, whole in sorted(self.find_checks()):
            self.changes.append((begin, end, self.instrument(begin, end, whole)))

    def find_checks(self):
        """(begin, end, what it becomes as a whole or None) of every condition of a check."""
        found = {}
        for match in re.finditer(r"\bif \(", self.code):
            begin, end = match.end(), closing(self.code, match.end() - 1) - 1
            body = self.text[end + 1:statement_end(self.code, end + 1)]
            after = statement_end(self.code, end + 1)
            next_statement = self.text[after:statement_end(self.code, after)]
            if IS_GOOD.match(body) and fails(next_statement):  # if (…) return FURROW_OK; return fail(…);
                found[begin, end] = "1"
            elif fails(body) and body.count("\n") < 12:
                found[begin, end] = "0"
        function = r"^(?:static |inline )*bool \w+\([^{;]*\) \{\n.*?^\}"
        truths = [m.span() for m in re.finditer(function, self.code, re.M | re.S)]
        for match in re.finditer(r"\breturn |[^=!<>]= ", self.code):
            begin, end = match.end(), statement_end(self.code, match.end()) - 1
            end = min([end] + [comma for comma, _ in find_operator(self.code, begin, end, ",")])
            if "{" in self.code[begin:end]:
                continue
            if match.group() == "return " and any(b < begin < e for b, e in truths) and not find_operator(
                    self.code, begin, end, r"\?"):
                if re.search(r"&&|\|\|| [<>]=? ", self.code[begin:end]):
                    found[begin, end] = None
                continue
            for question in find_operator(self.code, begin, end, r"\?")[:1]:
                colon = find_operator(self.code, question[1], end, r" : ")
                sides = [self.text[question[1]:colon[-1][0]], self.text[colon[-1][1]:end]] if colon else []
                failing = [fails(side) for side in sides]
                if failing.count(True) == 1 and "?" not in "".join(sides):
                    found[begin, question[0]] = "0" if failing[0] else "1"
        places = sorted(found)
        return [(b, e, found[b, e]) for b, e in places
                if not any(b2 <= b and e <= e2 and (b2, e2) != (b, e) for b2, e2 in places)]

    def add(self, begin, end, after):
        before = " ".join(self.text[begin:end].split())
        number = self.first + len(self.mutants)
        line = self.text.count("\n", 0, begin) + 1
        self.mutants.append(Mutant(number, self.reader, self.path, line, before, after))
        return number

    def force(self, begin, end, inner, becomes):
        return f"fwm_{becomes}({self.add(begin, end, becomes)}, !!({inner}))"

    def instrument(self, begin, end, whole=None):
        begin, end = trim(self.code, begin, end)
        if PASSES_ON.match(self.text[begin:end]):
            return self.text[begin:end]
        inner = self.instrument_parts(begin, end)
        return self.force(begin, end, inner, whole) if whole else inner

    def instrument_parts(self, begin, end):
        text, code = self.text, self.code
        if find_operator(code, begin, end, r"\?"):
            return text[begin:end]
        for operator, becomes in (("||", "0"), ("&&", "1")):
            places = find_operator(code, begin, end, re.escape(operator))
            if places:
                ends = [p[0] for p in places] + [end]
                parts = list(zip([begin] + [p[1] for p in places], ends))
                return f" {operator} ".join(self.instrument(b, e, becomes) for b, e in parts)
        if code[begin] == "(" and closing(code, begin) == end:
            return "(" + self.instrument_parts(*trim(code, begin + 1, end - 1)) + ")"
        if code[begin] == "!" and code[begin + 1] == "(" and closing(code, begin + 1) == end:
            return "!(" + self.instrument_parts(*trim(code, begin + 2, end - 1)) + ")"
        return self.instrument_comparison(begin, end)

    def instrument_comparison(self, begin, end):
        text, code = self.text, self.code
        places = find_operator(code, begin, end, r" [<>]=? ")
        others = find_operator(code, begin, end, r" (?:[&|^]|[!=]?=) ")
        if len(places) != 1 or others or "{" in code[begin:end]:
            return text[begin:end]
        (a, b), operator = places[0], text[slice(*places[0])].strip()
        left, right = text[begin:a], text[b:end]
        number = self.add(begin, end, " ".join(f"{left} {COMPARED[operator]} {right}".split()))
        return f"FWM_SWAP({number}, {left}, {operator}, {COMPARED[operator]}, {right})"

    def rewritten(self):
        parts, at = [], 0
        for begin, end, text in self.changes:
            lines = self.text.count("\n", begin, end) - text.count("\n")
            parts += [self.text[at:begin], text, "\n" * lines]
            at = end
        header = os.path.relpath("src/base/mutant.h", os.path.dirname(self.path))
        return f'#include "{header}"\n#line 1\n' + "".join(parts) + self.text[at:]


def all_files():
    files, paths = [], set()
    for reader, patterns in READERS.items():
        for pattern in patterns:
            found = sorted(str(p.relative_to(TOP)) for p in TOP.glob(pattern))
            if not found:
                sys.exit(f"{pattern}: there is no such file")
            files += [(path, reader) for path in found if path not in paths]
            paths.update(found)
    return [File(path, reader, i * PER_FILE) for i, (path, reader) in enumerate(files)]


# ---- The copy and its build ----

def put(path, data):
    """Writes a file that is not there already with these bytes, so that only what changed is compiled."""
    if not path.exists() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def make_tree(files):
    changed = {file.path: file for file in files}
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=TOP, check=True,
                           stdout=subprocess.PIPE).stdout.decode().split("\0")
    names = [name for name in names if name and (TOP / name).is_file()]
    for name in names:
        put(TREE / name, changed[name].rewritten().encode() if name in changed else (TOP / name).read_bytes())
        shutil.copymode(TOP / name, TREE / name)
    put(TREE / "src/base/mutant.h", HEADER.encode())
    put(TREE / "src/base/mutant.c", (SOURCE % (len(files) * PER_FILE)).encode())
    names = set(names) | {"src/base/mutant.h", "src/base/mutant.c"}
    for path in list(TREE.rglob("*")):
        if path.is_file() and str(path.relative_to(TREE)) not in names:
            path.unlink()


def listed_tests():
    text = subprocess.run(["ctest", "--show-only=json-v1"], cwd=BUILD, check=True, stdout=subprocess.PIPE).stdout
    for test in json.loads(text)["tests"]:
        if re.match(r"test_|replay_|serve_", test["name"]):
            properties = {p["name"]: p["value"] for p in test["properties"]}
            yield test["name"], test.get("command"), dict(v.split("=", 1) for v in properties["ENVIRONMENT"])
    env = {"FURROW_BUILD": str(BUILD), "FURROW_SOURCE": str(TREE)}
    for case in sorted((TREE / "tests/cli/cases").glob("*.sh")):
        yield "cli_" + case.stem, ["bash", str(TREE / "tests/cli/run.sh"), str(BUILD / "furrow"), case.stem], env


def build(jobs, wanted):
    def run(*command):
        if subprocess.run(command, stdout=subprocess.DEVNULL).returncode != 0:
            sys.exit("the build of the mutants failed")
    run("cmake", "-S", str(TREE), "-B", str(BUILD), "-DFURROW_TESTS=ON", "-DCMAKE_BUILD_TYPE=Checks",
        "-DCMAKE_C_FLAGS=-O1 -g1 -w", "-DFURROW_SANITIZE=address,undefined")
    programs = [name for name, _, _ in listed_tests() if re.match("test_|replay_", name) and re.search(wanted, name)]
    if len(programs) > 20:  # make builds targets that are named one after the other
        programs = ["furrow_tests"]
    run("cmake", "--build", str(BUILD), "-j", str(jobs), "--target", "furrow_command", "furrow_serve", *programs)


# ---- Running tests ----

def run_test(command, env, seconds):
    """The exit code; 124 if it took too long."""
    options = ":hard_rss_limit_mb=6000:detect_leaks=0:allocator_may_return_null=1"
    env = {**os.environ, **env, "ASAN_OPTIONS": env.get("ASAN_OPTIONS", "") + options}
    folder = WORK / "run" / str(random.SystemRandom().getrandbits(64))
    folder.mkdir(parents=True)
    child = subprocess.Popen(command, env={**env, "TMPDIR": str(folder)}, cwd=folder, start_new_session=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        return child.wait(seconds)
    except subprocess.TimeoutExpired:
        return 124
    finally:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()
        shutil.rmtree(folder, ignore_errors=True)


def record(name, command, env, size, slow, newest):
    """Runs a test without a mutant: which of them would have made a difference? Again if something is newer."""
    SEEN.mkdir(exist_ok=True)
    path, times = SEEN / name, SEEN / (name + ".seconds")
    files = [pathlib.Path(part) for part in command + [str(BUILD / "libfurrow.a")]]
    newest = max([newest] + [file.stat().st_mtime for file in files if file.is_file()])
    if not times.exists() or times.stat().st_mtime < newest or path.stat().st_size != size:
        times.unlink(missing_ok=True)
        path.write_bytes(bytes(size))
        begin = time.monotonic()
        code = run_test(command, {**env, "FURROW_MUTANTS_SEEN": str(path)}, slow)
        times.write_text(f"{code} {time.monotonic() - begin:.2f}")
    code, seconds = times.read_text().split()
    if code != "0" or float(seconds) > slow:
        return Test(name, command, env, code, float(seconds), set())
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
        return Test(name, command, env, None, float(seconds), {i for i in range(size) if data[i]})


def kill(mutant, tests, killers):
    """The name of the first test that notices the mutant, or None. Those that noticed others of its file go first."""
    reached = [test for test in tests if mutant.number in test.seen]
    for test in sorted(reached, key=lambda t: (t.name not in killers[mutant.file], t.seconds)):
        if run_test(test.command, {**test.env, "FURROW_MUTANT": str(mutant.number)}, 20 + 10 * test.seconds) != 0:
            killers[mutant.file].add(test.name)
            return test.name
    return None


# ---- What is allowed, and the report ----

def read_allowed(path):
    """Lines: a file; indented, BEFORE -> AFTER of mutants in it; indented further, the reason for those above."""
    allowed, file = set(), None
    for line in path.read_text().splitlines() if path.exists() else []:
        if line.startswith("#") or not line.strip():
            continue
        if not line.startswith(" "):
            file = line.strip()
        elif not line.startswith("    "):
            before, _, after = line.strip().rpartition(" -> ")
            allowed.add((file, before, after))
    return allowed


def report(results, allowed, args):
    counts = collections.defaultdict(lambda: dict.fromkeys(("mutants", "killed", "allowed", "survived"), 0))
    for mutant, outcome, _ in results:
        for name in (mutant.reader, "all"):
            counts[name]["mutants"] += 1
            counts[name][outcome] += 1
    wrong = counts["all"]["survived"]
    if not (args.sample or args.file or args.reader or args.survivors):
        for key in allowed - {(m.file, m.before, m.after) for m, outcome, _ in results if outcome == "allowed"}:
            wrong += 1
            print("tests/mutation/allowed: %s: %s -> %s: is not there, or a test notices it" % key)
    for name, c in counts.items():
        print(f"{name}: {c['mutants']} mutants, {c['killed']} killed, {c['allowed']} allowed, {c['survived']} survived")
    if args.json:
        rows = [{**mutant._asdict(), "outcome": outcome, "test": test} for mutant, outcome, test in results]
        pathlib.Path(args.json).write_text(json.dumps({"counts": counts, "mutants": rows}, indent=1) + "\n")
    return 1 if wrong else 0


def chosen(files, args):
    readers = args.reader or list(READERS)
    mutants = [m for reader in readers for file in files for m in file.mutants
               if file.reader == reader and (not args.file or file.path == args.file)]
    if args.survivors:
        rows = json.loads(pathlib.Path(args.survivors).read_text())["mutants"]
        left = {(r["file"], r["before"], r["after"]) for r in rows if r["outcome"] == "survived"}
        mutants = [m for m in mutants if (m.file, m.before, m.after) in left]
    if args.sample and args.sample < len(mutants):
        mutants = random.Random(1).sample(mutants, args.sample)
    return mutants


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, metavar="N", help="N mutants, always the same")
    parser.add_argument("--file", metavar="PATH", help="only mutants of this source file")
    parser.add_argument("--reader", metavar="NAME", choices=READERS, action="append",
                        help="only mutants of this reader")
    parser.add_argument("--survivors", metavar="FILE", help="only those that survived in this earlier --json")
    parser.add_argument("--tests", metavar="REGEX", default=".", help="only these tests")
    parser.add_argument("--json", metavar="FILE", help="write counts and all mutants")
    parser.add_argument("--slow", type=int, default=30, metavar="SECONDS", help="leave tests out that take longer")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--list", action="store_true", help="list the mutants, run nothing")
    args = parser.parse_args()
    files = all_files()
    mutants = chosen(files, args)
    if args.list:
        for m in mutants:
            print(f"{m.number} {m.file}:{m.line}: {m.before} -> {m.after}")
        return 0
    make_tree(files)
    build(args.jobs, args.tests)
    size = len(files) * PER_FILE
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        data = max(path.stat().st_mtime for path in (TREE / "tests").rglob("*") if path.suffix not in (".c", ".h"))
        wanted = [test for test in listed_tests() if re.search(args.tests, test[0])]
        tests = list(pool.map(lambda test: record(*test, size, args.slow, data), wanted))
        for test in tests:
            if test.code:
                print(f"{test.name}: left out, it ended with {test.code} after {test.seconds} s")
        killers = collections.defaultdict(set)
        allowed = read_allowed(TOP / "tests/mutation/allowed")
        results = []
        try:
            for mutant, test in pool.map(lambda m: (m, kill(m, tests, killers)), mutants):
                key = mutant.file, mutant.before, mutant.after
                outcome = "killed" if test else "allowed" if key in allowed else "survived"
                results.append((mutant, outcome, test))
                if outcome == "survived":
                    print(f"{mutant.file}:{mutant.line}: {mutant.before} -> {mutant.after}", flush=True)
        except KeyboardInterrupt:  # what is known so far
            pool.shutdown(wait=False, cancel_futures=True)
    return report(results, allowed, args)


if __name__ == "__main__":
    sys.exit(main())
