"""Starts furrow serve for a test, asks it, stops it; makes models and indexes to serve.

    with Server("--model", f"ctr={folder}") as server:
        status, answer = server.post("/v1/models/ctr:predict", {"instances": [...]})

A test is a script of functions called test_…; run(globals()) at its end calls all of them, or those named on the
command line, and exits with 1 if one failed. FURROW_BUILD is the folder of the programs.
"""
import ast
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

BUILD = os.environ.get("FURROW_BUILD") or os.path.join(os.path.dirname(__file__), "..", "..", "build")
COMMAND = os.path.join(BUILD, "furrow")
PROGRAM = os.path.join(BUILD, "furrow-serve")


def furrow(*words, check=True, **options):
    """Runs the command; returns its standard output."""
    done = subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True, **options)
    if check and done.returncode != 0:
        raise AssertionError(f"furrow {' '.join(map(str, words))}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Server:
    """A server on a free port of loopback."""

    def __init__(self, *words, env=None, listen="127.0.0.1:0", wait=60, prefix=()):
        self.errors = tempfile.NamedTemporaryFile("w+", prefix="furrow-serve-")
        listen_words = ["--listen", listen] if listen else []
        self.process = subprocess.Popen([*prefix, PROGRAM, *listen_words, *map(str, words)], stdout=subprocess.PIPE,
                                        stderr=self.errors, text=True, env={**os.environ, **(env or {})})
        line = self.process.stdout.readline()
        found = re.fullmatch(r"listening on http://(.+):(\d+)\n", line)
        if not found:
            self.process.wait(wait)
            raise AssertionError(f"the server does not listen: {line!r}, code {self.process.returncode}, {self.stderr()}")
        self.host, self.port = found[1].strip("[]"), int(found[2])

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        code = self.stop() if self.process.poll() is None else 0
        if kind is not None:
            print(self.stderr(), file=sys.stderr)
        text = self.stderr()
        self.process.stdout.close()
        self.errors.close()
        if kind is None and code != 0:  # a sanitizer found something, say
            raise AssertionError(f"the server ended with {code}: {text}")

    def stderr(self):
        with open(self.errors.name) as file:
            return file.read()

    def connect(self, timeout=120):
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def request(self, method, path, body=None, headers=None, connection=None):
        """Returns (status, headers, bytes)."""
        mine = connection or self.connect()
        try:
            mine.request(method, path, body=body, headers=headers or {})
            answer = mine.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        finally:
            if connection is None:
                mine.close()

    def post(self, path, value, headers=None, connection=None):
        """Returns (status, the JSON of the answer)."""
        body = value if isinstance(value, (str, bytes)) else json.dumps(value)
        status, _, answer = self.request("POST", path, body, {"Content-Type": "application/json", **(headers or {})},
                                         connection)
        return status, json.loads(answer)

    def get(self, path, headers=None):
        """Returns (status, the JSON of the answer, or its text)."""
        status, found, answer = self.request("GET", path, headers=headers)
        return status, json.loads(answer) if "json" in found.get("content-type", "") else answer.decode()

    def memory(self):
        """Resident memory in bytes."""
        with open(f"/proc/{self.process.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def stop(self, sign=signal.SIGTERM, wait=60):
        """Stops it and returns its exit code."""
        self.process.send_signal(sign)
        return self.process.wait(wait)

    def kill(self):
        self.process.kill()
        self.process.wait()


def free_port():
    """A port that nobody listens on, below those that the system gives to connections: it is free again after a server
    that had it has ended."""
    with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
        low = int(file.read().split()[0])
    draw = random.SystemRandom()
    for _ in range(1000):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", draw.randrange(low - 12000, low) if low > 20000 else 0))
            except OSError:
                continue
            return probe.getsockname()[1]
    raise AssertionError("no port is free")


def is_sanitized():
    """Whether the program has a sanitizer, which keeps freed memory to find later uses of it: its memory says nothing."""
    with open(PROGRAM, "rb") as file:
        program = file.read()
    return b"__asan_init" in program or b"__tsan_init" in program


# ---- Data: the same every time ----


def write_log(path, rows=4000, users=60, items=40, seed=7):
    """A log of clicks: user, item, device, price, click. Users like items of their own parity."""
    draw = random.Random(seed)
    with open(path, "w") as file:
        file.write("user,item,device,price,click\n")
        for _ in range(rows):
            user, item = draw.randrange(users), draw.randrange(items)
            likes = draw.random() < (0.8 if user % 2 == item % 2 else 0.2)
            file.write(f"u{user},i{item},{draw.choice(['phone', 'tv', 'desktop'])},{draw.uniform(1, 99):.2f},{int(likes)}\n")


def write_items(path, items=40):
    with open(path, "w") as file:
        file.write("item,title\n")
        for item in range(items):
            file.write(f"i{item},Title of {item}\n")


def train_events(folder, model="fm", **log):
    """Trains a model on such a log; returns its directory."""
    path = f"{folder}/log.csv"
    if not os.path.exists(path):
        write_log(path, **log)
    out = f"{folder}/{model}.model"
    furrow("train", "--model", model, "--train", path, "--schema", "auto", "--label", "click", "--user", "user", "--item",
           "item", "--out", out, "-q")
    return out


def write_likes(path, users=80, items=40, seed=11):
    """A log whose users take items of one of two halves: even users of the first, odd ones of the second."""
    draw = random.Random(seed)
    with open(path, "w") as file:
        file.write("user,item,time\n")
        for time in range(users * 12):
            user = time % users
            file.write(f"u{user},i{draw.randrange(items // 2) + user % 2 * (items // 2)},{1700000000 + time}\n")


def train_recommender(folder, **log):
    """Trains a recommender on such a log; returns its directory."""
    write_likes(f"{folder}/likes.csv", **log)
    out = f"{folder}/likes.model"
    furrow("train", "--model", "recommender", "--train", f"{folder}/likes.csv", "--out", out, "-q")
    return out


def train_rows(folder, model="lr", rows=2000, features=20, classes=2, seed=3):
    """Trains a model on libsvm rows that count from 1; returns its directory."""
    draw = random.Random(seed)
    path = f"{folder}/rows.libsvm"
    with open(path, "w") as file:
        for _ in range(rows):
            x = [draw.gauss(0, 1) for _ in range(features)]
            label = int(x[0] + 0.5 * x[1] > 0) if classes == 2 else min(classes - 1, max(0, int(x[0] + 1.5)))
            file.write(f"{label} " + " ".join(f"{i + 1}:{v:.4f}" for i, v in enumerate(x)) + "\n")
    out = f"{folder}/{model}.rows.model"
    furrow("train", "--model", model, "--train", path, "--out", out, "-q")
    return out


def write_vectors(path, count=2000, dimension=16, seed=5):
    """An fvecs file of clustered vectors; returns them as lists."""
    import array
    draw = random.Random(seed)
    centres = [[draw.gauss(0, 1) for _ in range(dimension)] for _ in range(32)]
    vectors = []
    with open(path, "wb") as file:
        for _ in range(count):
            vector = array.array("f", [c + draw.gauss(0, 0.2) for c in draw.choice(centres)])
            array.array("i", [dimension]).tofile(file)
            vector.tofile(file)
            vectors.append(list(vector))
    return vectors


def build_index(folder, name="items", count=2000, dimension=16, named=False, *words):
    """Builds an index; returns (its file, the vectors)."""
    vectors = write_vectors(f"{folder}/{name}.fvecs", count, dimension)
    more = list(words)
    if named:
        with open(f"{folder}/{name}.txt", "w") as file:
            file.writelines(f"item {i}\n" for i in range(count))
        more += ["--names", f"{folder}/{name}.txt"]
    path = f"{folder}/{name}.index"
    furrow("index", "build", "--base", f"{folder}/{name}.fvecs", "--out", path, "--nlist", 16, "--m", 8, *more)
    return path, vectors


def check_names(path):
    """A test of the same name as one before replaces it."""
    with open(path) as file:
        names = [node.name for node in ast.parse(file.read()).body if isinstance(node, ast.FunctionDef)]
    twice = {name for name in names if names.count(name) > 1}
    assert not twice, f"{path} defines twice: {twice}"


def run(names):
    """Calls the tests of a script, each in a folder of its own: test_x(folder)."""
    check_names(names["__file__"])
    chosen = sys.argv[1:] or [name for name in names if name.startswith("test_")]
    failed = 0
    for name in chosen:
        folder = tempfile.mkdtemp(prefix="furrow-serve-test-")
        begin = time.monotonic()
        try:
            names[name](folder)
            print(f"ok      {name} ({time.monotonic() - begin:.1f} s)", flush=True)
        except Exception:
            failed += 1
            traceback.print_exc()
            print(f"FAILED  {name}", flush=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if failed else 0)
