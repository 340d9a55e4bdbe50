#!/usr/bin/env python3
"""bench/serve/soak_serve.py: asks furrow serve for a long time while models and indexes are replaced.

A model of numbered versions and an index get a new version every few seconds, a writable index is added to and removed
from, and clients predict, search and recommend all the while. Fails if a request fails, if an answer is not that of one
of the versions, or if memory grows: the largest of the last quarter is compared with the largest of the second.

    bench/serve/soak_serve.py                        # 20 minutes, a reload every 5 seconds
    bench/serve/soak_serve.py --seconds 60
"""
import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tests", "serve"))
sys.dont_write_bytecode = True


class Client(threading.Thread):
    """Sends one kind of request until `stop` is set; keeps what was wrong"""

    def __init__(self, server, stop, path, make, allowed=None):
        super().__init__()
        self.server, self.stop_event, self.path, self.make, self.allowed = server, stop, path, make, allowed
        self.count, self.wrong, self.slowest = 0, [], 0.0

    def ask(self, connection):
        begin = time.monotonic()
        status, answer = self.server.post(self.path, self.make(), connection=connection)
        self.slowest = max(self.slowest, time.monotonic() - begin)
        self.count += 1
        if status != 200:
            self.wrong.append((status, answer))
        elif self.allowed is not None and answer not in self.allowed:
            self.wrong.append(("another answer", answer))

    def run(self):
        connection = self.server.connect()
        while not self.stop_event.is_set() and len(self.wrong) < 10:
            try:
                self.ask(connection)
            except Exception as error:
                self.wrong.append((type(error).__name__, str(error)))
                connection = self.server.connect()


def make_versions(folder):
    """Two models and two index files that take turns"""
    from furrow_server import build_index, furrow, train_events, write_log

    models, indexes = [], []
    for i in range(2):
        place = f"{folder}/make{i}"
        os.makedirs(place)
        write_log(f"{place}/log.csv", seed=i)
        models.append(train_events(place))
        indexes.append(build_index(place, count=20000)[0])
        if i == 1:  # the same vectors in another index: other lists
            furrow("index", "build", "--base", f"{place}/items.fvecs", "--out", indexes[1], "--nlist", 32, "--m", 8, "--force",
                   "-q")
    return models, indexes


def answers_of(make_server, path, body):
    """What each version answers"""
    answers = []
    for words in make_server:
        from furrow_server import Server

        with Server(*words) as server:
            status, answer = server.post(path, body)
            assert status == 200, answer
            answers.append(answer)
    return answers


def replace_forever(stop, seconds, folder, models, indexes, counts):
    number = 1
    while not stop.wait(seconds):
        number += 1
        shutil.copytree(models[number % 2], f"{folder}/ctr/.new")
        os.rename(f"{folder}/ctr/.new", f"{folder}/ctr/{number}")
        shutil.rmtree(f"{folder}/ctr/{number - 1}", ignore_errors=True)
        shutil.copy(indexes[number % 2], f"{folder}/items.index.new")
        os.rename(f"{folder}/items.index.new", f"{folder}/items.index")
        counts["versions"] = number


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(HERE, "..", "..", "build"), help="build folder (build)")
    parser.add_argument("--seconds", type=float, default=1200, help="how long (1200)")
    parser.add_argument("--reload", type=float, default=5, help="seconds between versions (5)")
    given = parser.parse_args()
    os.environ["FURROW_BUILD"] = os.path.abspath(given.build)
    from furrow_server import Server

    folder = tempfile.mkdtemp(prefix="furrow-soak-")
    models, indexes = make_versions(folder)
    draw = random.Random(1)
    vector = [draw.gauss(0, 1) for _ in range(16)]
    predict = {"instances": [{"user": "u3", "item": "i4", "device": "tv"}]}
    search, recommend = {"vectors": [vector], "k": 10, "nprobe": 8}, {"users": ["u3"], "k": 5}
    served = [["--model", f"ctr={m}", "--index", f"items={i}"] for m, i in zip(models, indexes)]
    calls = {"/v1/models/ctr:predict": predict, "/v1/models/ctr:recommend": recommend, "/v1/indexes/items:search": search}
    allowed = {path: answers_of(served, path, body) for path, body in calls.items()}
    os.makedirs(f"{folder}/ctr")
    shutil.copytree(models[1], f"{folder}/ctr/1")
    shutil.copy(indexes[1], f"{folder}/items.index")
    shutil.copy(indexes[0], f"{folder}/fresh.index")
    stop, counts, memory = threading.Event(), {"versions": 1}, []
    with Server("--model", f"ctr={folder}/ctr", "--index", f"items={folder}/items.index", "--index",
                f"fresh={folder}/fresh.index", "--writable", "fresh", "--watch", "1", "--checkpoint-after", "500",
                "--checkpoint-seconds", "5") as server:
        clients = [Client(server, stop, path, lambda body=body: body, allowed[path]) for path, body in calls.items()]
        clients += [Client(server, stop, "/v1/indexes/fresh:search", lambda: {"vectors": [vector], "k": 10, "nprobe": 8}),
                    Client(server, stop, "/v1/indexes/fresh:add",
                           lambda: {"vectors": [[random.gauss(0, 1) for _ in range(16)]], "ids": [random.randrange(30000)],
                                    "replace": True}),
                    Client(server, stop, "/v1/indexes/fresh:remove", lambda: {"ids": [random.randrange(30000)]})]
        changer = threading.Thread(target=replace_forever, args=(stop, given.reload, folder, models, indexes, counts))
        for thread in [*clients, changer]:
            thread.start()
        end = time.monotonic() + given.seconds
        while time.monotonic() < end and not any(len(c.wrong) >= 10 for c in clients):
            time.sleep(min(1.0, given.seconds / 20))
            memory.append(server.memory())
        stop.set()
        for thread in [*clients, changer]:
            thread.join()
        status, document = server.get("/v1/models/ctr")
        code = server.stop()
    shutil.rmtree(folder)
    for client in clients:
        print(f"{client.path}: {client.count:,} requests, slowest {client.slowest * 1000:.0f} ms, {len(client.wrong)} wrong")
        for wrong in client.wrong[:3]:
            print("   ", json.dumps(wrong)[:300])
    quarter = len(memory) // 4
    early, late = max(memory[quarter:2 * quarter], default=0), max(memory[-quarter:], default=0)
    print(f"versions: {counts['versions']}, served at the end: {document.get('version')}; exit code {code}")
    print(f"resident memory: {early / 1e6:.1f} MB in the second quarter, {late / 1e6:.1f} MB in the last")
    failed = any(c.wrong for c in clients) or code != 0 or late > 1.1 * early + 8e6
    print("failed" if failed else "passed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
