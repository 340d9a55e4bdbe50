#!/usr/bin/env python3
"""bench/serve/bench_serve_peers.py: answers a second over HTTP, beside those of nginx that always says the same.

wrk sends the same requests to furrow serve (predictions of one row of a factorization machine, searches of one query,
as JSON and as raw floats) and to nginx, which reads the request and answers with a constant of the same size: what the
machine and the client allow at all. They take turns; the table has medians and their ratio to nginx's. Then each call
is asked at 70 % of its own peak at a fixed rate (gen_requests.c), for its latencies. Needs wrk and nginx.

    bench/serve/bench_serve_peers.py                          # 500,000 x 128, 1,024 lists, nprobe 16: some minutes
    FURROW_ISA=avx2 bench/serve/bench_serve_peers.py
    bench/serve/bench_serve_peers.py --wrk PATH --nginx PATH --threads 4
"""
import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tests", "serve"))
sys.dont_write_bytecode = True
from bench_rows_peers import machine, print_table  # noqa: E402

GOALS = {"predict": 0.5, "search": 0.3, "search, raw": 0.3}


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "..", "build"), help="build folder (build)")
    parser.add_argument("--vectors", type=int, default=500000, help="of the index (500000)")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each call (5)")
    parser.add_argument("--seconds", type=float, default=3, help="of a turn (3)")
    parser.add_argument("--connections", type=int, default=64, help="of wrk (64)")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="loops, workers of nginx, threads of wrk")
    parser.add_argument("--server-cpus", help="pin the servers to these processors (taskset): 0-3")
    parser.add_argument("--client-cpus", help="and wrk to these")
    parser.add_argument("--client-threads", type=int, default=1, help="of the client that asks at a fixed rate (1)")
    parser.add_argument("--wrk", default=shutil.which("wrk"), help="the program wrk")
    parser.add_argument("--nginx", default=shutil.which("nginx") or "/usr/sbin/nginx", help="the program nginx")
    parser.add_argument("--quick", action="store_true", help="20,000 vectors, 3 rounds of a second")
    parser.add_argument("--scratch", help="keep the data in this folder, and use what is there")
    parser.add_argument("--out", metavar="FILE", help="write the results as JSON")
    given = parser.parse_args()
    if given.quick:
        given.vectors, given.rounds, given.seconds = 20000, 3, 1
    if not given.wrk or not os.access(given.nginx, os.X_OK):
        print("skipped: wrk and nginx are not installed")
        sys.exit(0)
    return given


def pinned(cpus, command):
    return ["taskset", "-c", cpus, *command] if cpus else command


def make_data(given, folder):
    """An index and a model to serve, and a query"""
    from furrow_server import furrow, train_events

    lists = max(16, min(1024, given.vectors // 40))
    index, base, queries = (f"{folder}/{name}" for name in (f"{given.vectors}.index", "base.fbin", "queries.fbin"))
    generate = os.path.join(given.build, "bench", "gen_vectors")
    with open(queries, "wb") as out:
        subprocess.run([generate, "points", "1000", "128", "2", "1"], stdout=out, check=True)
    if not os.path.exists(index):
        with open(base, "wb") as out:
            subprocess.run([generate, "points", str(given.vectors), "128", "1", "1"], stdout=out, check=True)
        furrow("index", "build", "--base", base, "--out", index, "--nlist", lists, "--m", 16, "-q")
        os.remove(base)
    model = f"{folder}/fm.model"
    if not os.path.exists(model):
        train_events(folder, "fm", rows=20000, users=1000, items=500)
    with open(queries, "rb") as file:
        file.seek(8)
        return model, index, file.read(128 * 4)


def make_calls(raw):
    """name: (path, body, content type)"""
    import array

    vector = list(array.array("f", raw))
    search = json.dumps({"vectors": [[float(f"{x:.6g}") for x in vector]], "k": 10, "nprobe": 16})
    return {
        "predict": ("/v1/models/ctr:predict", b'{"instances":[{"user":"u17","item":"i4","device":"tv","price":12.5}]}',
                    "application/json"),
        "search": ("/v1/indexes/items:search", search.encode(), "application/json"),
        "search, raw": ("/v1/indexes/items:search?k=10&nprobe=16", raw, "application/octet-stream"),
    }


class Nginx:
    """nginx that reads a body and answers with a constant"""

    def __init__(self, given, folder, port, answers):
        self.folder = os.path.join(folder, "nginx")
        os.makedirs(self.folder, exist_ok=True)
        places = "".join(f"    location = /{i} {{ default_type application/json; return 200 '{answer}'; }}\n"
                         for i, answer in enumerate(answers))
        with open(f"{self.folder}/nginx.conf", "w") as out:
            user = "user root;\n" if os.geteuid() == 0 else ""  # its workers write into the folder, too
            out.write(f"{user}worker_processes {given.threads};\ndaemon off;\npid {self.folder}/pid;\nerror_log {self.folder}/log;\n"
                      "events { worker_connections 4096; }\nhttp {\n  access_log off;\n  keepalive_requests 1000000000;\n"
                      + "".join(f"  {name}_temp_path {self.folder}/{name};\n" for name in
                                ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
                      + f"  server {{\n    listen 127.0.0.1:{port} reuseport;\n{places}  }}\n}}\n")
        self.process = subprocess.Popen(pinned(given.server_cpus, [given.nginx, "-p", self.folder, "-c",
                                                                   f"{self.folder}/nginx.conf", "-e", f"{self.folder}/log"]))
        time.sleep(0.5)

    def stop(self):
        self.process.terminate()
        self.process.wait()


def free_port():
    import socket

    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def run_wrk(given, folder, port, path, body, kind):
    """(requests a second, errors)"""
    script = f"{folder}/wrk.lua"
    with open(f"{folder}/body", "wb") as out:
        out.write(body)
    with open(script, "w") as out:
        out.write(f'wrk.method = "POST"\nlocal f = io.open("{folder}/body", "rb")\nwrk.body = f:read("*a")\nf:close()\n'
                  f'wrk.headers["Content-Type"] = "{kind}"\n')
    done = subprocess.run(pinned(given.client_cpus, [given.wrk, f"-t{max(given.threads, given.client_threads)}", f"-c{given.connections}",
                                                     f"-d{given.seconds:g}s", "-s", script,
                                                     f"http://127.0.0.1:{port}{path}"]), capture_output=True, text=True)
    rate = re.search(r"Requests/sec: +([\d.]+)", done.stdout)
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", done.stdout)
    if not rate or bad or "Socket errors" in done.stdout:
        sys.exit(f"wrk {path}:\n{done.stdout}{done.stderr}")
    return float(rate[1])


def measure_latency(given, folder, port, call, rate):
    path, body, kind = call
    with open(f"{folder}/body", "wb") as out:
        out.write(body)
    program = os.path.join(given.build, "bench", "gen_requests")
    done = subprocess.run(pinned(given.client_cpus, [program, f"127.0.0.1:{port}", path, f"{folder}/body", "--rate",
                                                     f"{rate:.0f}", "--seconds", f"{given.seconds:g}", "--connections",
                                                     str(given.connections), "--threads", str(given.client_threads),
                                                     "--type", kind]), capture_output=True, text=True)
    found = json.loads(done.stdout)
    if done.returncode != 0:
        sys.exit(f"gen_requests {path}: {done.stdout}{done.stderr}")
    return found


def main():
    given = options()
    os.environ["FURROW_BUILD"] = os.path.abspath(given.build)
    from furrow_server import Server

    folder = given.scratch or tempfile.mkdtemp(prefix="furrow-bench-serve-")
    os.makedirs(folder, exist_ok=True)
    about = machine()
    print(f"{about['cpu']}, {about['cores']} processors")
    model, index, raw = make_data(given, folder)
    calls = make_calls(raw)
    rates = {name: {"furrow": [], "nginx": []} for name in calls}
    latency = {}
    with Server("--model", f"ctr={model}", "--index", f"items={index}", "--threads", given.threads, "--workers",
                given.threads, prefix=pinned(given.server_cpus, [])) as server:
        answers = []
        for path, body, kind in calls.values():
            status, _, answer = server.request("POST", path, body, {"Content-Type": kind})
            if status != 200:
                sys.exit(f"{path}: {status} {answer[:300]}")
            answers.append(answer.decode().strip())
        nginx = Nginx(given, folder, port := free_port(), answers)
        try:
            for turn in range(given.rounds):
                for i, (name, (path, body, kind)) in enumerate(calls.items()):
                    jobs = [("furrow", server.port, path), ("nginx", port, f"/{i}")]
                    for who, where, to in jobs if turn % 2 == 0 else jobs[::-1]:
                        rates[name][who].append(run_wrk(given, folder, where, to, body, kind))
            for name, call in calls.items():
                peak = statistics.median(rates[name]["furrow"])
                latency[name] = [measure_latency(given, folder, server.port, call, 0.7 * peak) for _ in range(3)]
        finally:
            nginx.stop()
        memory = server.memory()
    report(given, rates, latency, memory)
    if not given.scratch:
        shutil.rmtree(folder)


def report(given, rates, latency, memory):
    rows, records = [], []
    for name, both in rates.items():
        ours, theirs = statistics.median(both["furrow"]), statistics.median(both["nginx"])
        ratio = statistics.median(a / b for a, b in zip(both["furrow"], both["nginx"]))
        at = sorted(latency[name], key=lambda l: l["p99_us"] / l["p50_us"])[1]
        rows.append([name, f"{ours:,.0f}", f"{theirs:,.0f}", f"{ratio:.2f}", f"{GOALS[name]:.1f}", f"{at['p50_us']:.0f}",
                     f"{at['p99_us']:.0f}", f"{at['p99_us'] / at['p50_us']:.1f}"])
        records.append({"call": name, "isa": os.environ.get("FURROW_ISA", "best"), "rate": ours, "nginx": theirs,
                        "ratio": ratio, "goal": GOALS[name], "p50_us": at["p50_us"], "p99_us": at["p99_us"]})
    title = f"Answers a second with {given.threads} loops and {given.connections} connections; latency at 70 % of the peak"
    print_table(title, ["call", "furrow", "nginx", "ratio", "goal", "p50 us", "p99 us", "p99/p50"], rows)
    print(f"\nresident memory of furrow-serve: {memory / 1e6:.0f} MB")
    if given.out:
        with open(given.out, "w") as out:
            json.dump(records, out, indent=1)


if __name__ == "__main__":
    main()
