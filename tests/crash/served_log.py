"""A writable index of `furrow serve`: what it answered must be there after a cut, whatever its log and its checkpoints
were doing.
"""
import http.client
import json
import os
import random
import re
import signal
import subprocess
import tempfile

from saves import LIMIT, SERVER, furrow, must

DIMENSION, PATH = 4, "/v1/indexes/items"


class Running:
    """A server of the index in a folder."""

    def __init__(self, root, *words, env=None):
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [SERVER, "--listen", "127.0.0.1:0", "--index", f"items={root}/items.index", "--writable", "items",
             *map(str, words)],
            stdout=subprocess.PIPE, stderr=self.errors, text=True, env={**os.environ, **(env or {})})
        line = self.process.stdout.readline()
        found = re.fullmatch(r"listening on http://(.+):(\d+)\n", line)
        self.connection = found and http.client.HTTPConnection(found[1], int(found[2]), timeout=LIMIT)

    def post(self, verb, request):
        """The answer; None: the server is gone."""
        try:
            self.connection.request("POST", PATH + verb, json.dumps(request), {"Content-Type": "application/json"})
            answer = self.connection.getresponse()
            return answer.status, json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError):
            return None

    def end(self, number=signal.SIGKILL):
        """Ends it by a signal and returns its exit code and what it said."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(LIMIT)
        if self.connection:
            self.connection.close()
        self.process.stdout.close()
        self.errors.seek(0)
        text = self.errors.read()
        self.errors.close()
        return code, text


def read_served(root):
    """What a server on that folder has: ids, names and distances from the origin; or ("failed", why)."""
    server = Running(root)
    answer = server.connection and server.post(":search", {"vectors": [[0] * DIMENSION], "k": 1000, "nprobe": 1000})
    code, text = server.end()
    if not answer or answer[0] != 200:
        return "failed", f"{answer} {code} {text}"
    verified = furrow("index", "verify", "-q", os.path.join(root, "items.index"))
    if verified.code != 0:
        return "failed", str(verified)
    return frozenset((n["id"], n.get("name"), f"{n['distance']:.5g}") for n in answer[1]["neighbors"][0])


def describe(vectors):
    """The same of {id: (vector, name)}."""
    return frozenset((i, name, f"{sum(x * x for x in v):.5g}") for i, (v, name) in vectors.items())


def draw_vector(draw):
    return [draw.randint(-40, 40) / 8 for _ in range(DIMENSION)]


def draw_request(draw, known, universe):
    """A random change: its verb, its request, and {id: (vector, name)} after it."""
    ids = sorted(draw.sample(range(universe), draw.randint(1, 4)))
    after = dict(known)
    if draw.random() < 0.35:
        for i in ids:
            after.pop(i, None)
        return ":remove", {"ids": ids}, after
    for i in ids:
        after[i] = (draw_vector(draw), f"{i} of {draw.getrandbits(40)}")
    return ":add", {"ids": ids, "vectors": [after[i][0] for i in ids], "names": [after[i][1] for i in ids],
                    "replace": True}, after


def make_index(root, draw, count=30):
    """An index of few vectors; returns {id: (vector, name)}."""
    known = {i: (draw_vector(draw), f"{i} of {draw.getrandbits(40)}") for i in range(count)}
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/v.tsv", "w") as file:
            for i, (vector, _) in known.items():
                file.writelines(f"{i}\t{c}\t{x}\n" for c, x in enumerate(vector))
        must(furrow("model", "import", f"{folder}/v.tsv", f"{folder}/m", "-q"))
        with open(f"{folder}/names.txt", "w") as file:
            file.writelines(name + "\n" for _, name in known.values())
        must(furrow("index", "build", "--from-model", f"{folder}/m", "--by", "row", "--nlist", 2, "--m", 0, "--names",
                    f"{folder}/names.txt", "--out", f"{root}/items.index"))
    return known


class ServedLog:
    """A run of a server with changes and checkpoints, as a save: the k-th answer promises the state after k changes."""

    def __init__(self, name, requests, checkpoint_after, seed, last_signal=signal.SIGTERM):
        self.name, self.requests, self.last_signal = name, requests, last_signal
        self.checkpoint_after, self.seed = checkpoint_after, seed
        self.states = []

    def prepare(self, root, inputs):
        self.known = make_index(root, random.Random(self.seed))

    def run(self, root, inputs, env):
        draw, known = random.Random(self.seed + 1), self.known
        self.states = [describe(known)]
        server = Running(root, "--checkpoint-after", self.checkpoint_after, env=env)
        for _ in range(self.requests if server.connection else 0):
            verb, request, known = draw_request(draw, known, 45)
            answer = server.post(verb, request)
            if not answer or answer[0] != 200:
                break
            self.states.append(describe(known))
        code, text = server.end(self.last_signal)
        if len(self.states) != self.requests + 1 or code not in (0, -signal.SIGKILL):
            raise AssertionError(f"{self.name}: {len(self.states)} answers, {code} {text}")

    def read(self, root, inputs):
        return read_served(root)

    def right_states(self, old, new, answers, finished):
        return set(self.states[answers:answers + (1 if finished else 2)])


class ServedAgain(ServedLog):
    """A server that starts after a cut: its log has an incomplete end, and a checkpoint was under way. Nothing is
    asked of it, so there is one state only."""

    def prepare(self, root, inputs):
        """Kills a server that has both logs."""
        super().prepare(root, inputs)
        draw, known = random.Random(self.seed + 1), self.known
        server = Running(root)
        for _ in range(self.requests):
            verb, request, known = draw_request(draw, known, 45)
            assert server.post(verb, request)[0] == 200
        server.end()
        self.known = known
        with open(f"{root}/items.index.log", "ab") as file:
            file.write(b"\x07torn")

    def run(self, root, inputs, env):
        self.states = [describe(self.known)]
        server = Running(root, "--checkpoint-after", self.checkpoint_after, env=env)
        answer = server.connection and server.post(":search", {"vectors": [[0] * DIMENSION], "k": 1})
        code, text = server.end(self.last_signal)
        if not answer or answer[0] != 200 or code not in (0, -signal.SIGKILL):
            raise AssertionError(f"{self.name}: {answer} {code} {text}")

    def right_states(self, old, new, answers, finished):
        return set(self.states)


def served_saves():
    return [ServedLog("serve_log", 12, 100000, 5), ServedLog("serve_checkpoints", 24, 6, 6),
            ServedLog("serve_checkpoints_killed", 24, 9, 7, signal.SIGKILL), ServedAgain("serve_recovery", 6, 2, 8)]
