"""Kills a server that takes vectors, again and again, and looks for what it had acknowledged.

Clients add, replace and remove vectors of a writable index, each with ids of its own, and note what was answered. The
server makes a checkpoint after few changes or many, so that kills come during checkpoints as well. After each kill the
index file must be sound; after each start everything that was acknowledged must be there, and a request that was under
way is there as a whole or not at all.

FURROW_KILLS is the number of kills (4).
"""
import http.client
import os
import random
import threading
import time

from furrow_server import Server, build_index, furrow, run

KILLS = int(os.environ.get("FURROW_KILLS", 4))
CLIENTS, DIMENSION, BASE = 3, 8, 300
PATH = "/v1/indexes/items"
ABSENT = None


class Client(threading.Thread):
    """Changes ids number, number + CLIENTS, … until the server is gone."""

    def __init__(self, number, server, known, seed):
        super().__init__(daemon=True)
        self.number, self.server, self.known = number, server, known
        self.draw = random.Random(seed)
        self.under_way, self.done, self.waits, self.wrong = None, 0, 0, None

    def choose(self):
        """An operation: the path, its request, and what its ids are afterwards."""
        ids = sorted(self.draw.sample(range(self.number, 2 * BASE, CLIENTS), self.draw.randint(1, 6)))
        kind = self.draw.choice(["add", "replace", "replace", "remove"])
        there = [i for i in ids if self.known[i] is not ABSENT]
        if kind == "remove":
            missing = [i for i in ids if i not in there]
            return ":remove", {"ids": ids}, {i: ABSENT for i in ids}, {"removed": len(there), "missing": missing,
                                                                       "missing_count": len(missing)}
        if kind == "add":
            ids = [i for i in ids if self.known[i] is ABSENT] or ids
        state = {i: ([self.draw.gauss(0, 1) for _ in range(DIMENSION)], f"{i} of {self.draw.getrandbits(40)}") for i in ids}
        request = {"ids": ids, "vectors": [state[i][0] for i in ids], "names": [state[i][1] for i in ids], "replace": True}
        return ":add", request, state, {"ids": ids}

    def run(self):
        connection = self.server.connect()
        while self.wrong is None:
            path, request, state, answer = self.choose()
            self.under_way = state
            try:
                status, found = self.server.post(PATH + path, request, connection=connection)
            except (OSError, http.client.HTTPException, ValueError):
                return
            if status == 200 and found == answer:
                self.known.update(state)
                self.done += 1
            elif status == 503:
                self.waits += 1
            else:
                self.wrong = f"{path} {request}: {status} {found}, not {answer}"
            self.under_way = None


def search(server, request):
    status, answer = server.post(PATH + ":search", {**request, "nprobe": 1 << 20})
    assert status == 200, (status, answer)
    return answer["neighbors"]


def found_states(server, states):
    """Which of (id, state) the server has: the vector itself is the nearest, at no distance, with its name."""
    present = [(i, s) for i, s in states if s is not ABSENT]
    found = {}
    for begin in range(0, len(present), 100):
        part = present[begin:begin + 100]
        answers = search(server, {"vectors": [s[0] for _, s in part], "k": 1})
        for (i, s), near in zip(part, answers):
            found[i] = bool(near) and near[0]["id"] == i and near[0]["distance"] < 1e-9 and near[0]["name"] == s[1]
    for i in (i for i, s in states if s is ABSENT):
        found[i] = search(server, {"vectors": [[0] * DIMENSION], "k": 1, "filter": {"ids": [i]}}) == [[]]
    return found


def settle(server, known, clients):
    """Requests under way at the kill: done or not, but whole."""
    landed = 0
    for client in clients:
        if not client.under_way:
            continue
        after = found_states(server, list(client.under_way.items()))
        before = found_states(server, [(i, known[i]) for i in client.under_way])
        assert all(after.values()) or all(before.values()), f"half of a request: {client.under_way} {after} {before}"
        if not all(before.values()):
            known.update(client.under_way)
            landed += 1
    return landed


def check(server, known):
    found = found_states(server, list(known.items()))
    lost = [i for i, is_there in found.items() if not is_there]
    assert not lost, f"{len(lost)} acknowledged changes are lost: {[(i, known[i]) for i in lost[:3]]}"
    status, document = server.get(PATH)
    assert status == 200 and document["vectors"] == sum(s is not ABSENT for s in known.values()), document


def test_kill(folder):
    path, vectors = build_index(folder, "items", BASE, DIMENSION, True, "--m", 0)
    known = {i: (vectors[i], f"item {i}") if i < BASE else ABSENT for i in range(2 * BASE)}
    words = ["--index", f"items={path}", "--writable", "items", "--max-fresh", 5000, "--checkpoint-after"]
    draw = random.Random(11)
    clients, done, landed, with_next = [], 0, 0, 0
    for kill in range(KILLS + 1):
        furrow("index", "verify", "-q", path)
        with_next += os.path.exists(path + ".log.next")
        with Server(*words, draw.choice([10, 40, 200, 2000])) as server:
            landed += settle(server, known, clients)
            check(server, known)
            if kill == KILLS:
                assert server.stop() == 0
                break
            clients = [Client(n, server, known, kill * CLIENTS + n) for n in range(CLIENTS)]
            for client in clients:
                client.start()
            time.sleep(draw.uniform(0.01, 0.6))
            end = time.monotonic() + 60
            while kill == KILLS - 1 and not done and not any(client.done for client in clients) and time.monotonic() < end:
                time.sleep(0.01)
            server.kill()
            for client in clients:
                client.join()
                assert client.wrong is None, client.wrong
            done += sum(client.done for client in clients)
    furrow("index", "verify", "-q", path)
    print(f"        {KILLS} kills, {done} requests acknowledged, {landed} under way were done, {with_next} kills during a "
          "checkpoint", flush=True)
    assert done > 0


if __name__ == "__main__":
    run(globals())
