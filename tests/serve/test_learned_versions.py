#!/usr/bin/env python3
"""A model that learns while it is served: furrow learn makes versions, furrow-serve takes them without a pause."""
import json
import os
import signal
import subprocess
import threading
import time

from furrow_server import COMMAND, Server, run, train_events, write_log

REQUEST = {"users": ["u1"], "k": 5}
NEW_USER = {"users": ["new"], "k": 5}
EVERY = 200


def event_lines(folder, rows):
    """Events as lines of JSON; every fifth is of a user that the first model does not know."""
    write_log(f"{folder}/later.csv", rows=rows, seed=8)
    with open(f"{folder}/later.csv") as file:
        names, *cells = (line.strip().split(",") for line in file)
    events = [dict(zip(names, row)) for row in cells]
    for event in events[::5]:
        event["user"] = "new"
    return [json.dumps({**event, "price": float(event["price"]), "click": int(event["click"])}) + "\n" for event in events]


class Client(threading.Thread):
    """Asks without end; keeps the answers that differ from the one before, and the first failure."""

    def __init__(self, server):
        super().__init__()
        self.server, self.stop, self.answers, self.failure = server, threading.Event(), [], None

    def run(self):
        connection = self.server.connect()
        try:
            while not self.stop.is_set():
                status, answer = self.server.post("/v1/models/m:recommend", REQUEST, connection=connection)
                assert status == 200, answer
                if answer != (self.answers or [None])[-1]:
                    self.answers.append(answer)
        except Exception as failure:  # the test reports it
            self.failure = failure


def wait_until(what, client, learner):
    end = time.monotonic() + 60
    while not what():
        assert client.failure is None, client.failure
        assert learner.poll() is None, learner.stderr.read()
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


def test_versions_are_served_while_it_learns(folder):
    source, log = f"{folder}/shop", f"{folder}/events.jsonl"
    os.mkdir(source)
    os.rename(train_events(folder, "lr"), f"{source}/1")
    lines = event_lines(folder, 4 * EVERY)
    open(log, "w").close()
    with Server("--model", f"m={source}", "--watch", 1) as server:
        learner = subprocess.Popen([COMMAND, "learn", "-q", "--model", source, "--follow", log, "--every", str(EVERY),
                                    "--keep", "2"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        assert server.post("/v1/models/m:recommend", NEW_USER)[0] == 404
        client = Client(server)
        client.start()
        try:
            for n in range(3):
                text = "".join(lines[n * EVERY:(n + 1) * EVERY])
                for part in (text[:-30], text[-30:]):  # the last line of a log that grows may be half a line
                    with open(log, "a") as file:
                        file.write(part)
                    time.sleep(0.2)
                wait_until(lambda: server.get("/v1/models/m")[1]["version"] == n + 2, client, learner)
                wait_until(lambda: len(client.answers) == n + 2, client, learner)
        finally:
            client.stop.set()
            client.join()
            learner.send_signal(signal.SIGTERM)
            code = learner.wait(60)
        assert client.failure is None, client.failure
        assert len(client.answers) == 4, "one version after the other answered"
        assert code == -signal.SIGTERM, learner.stderr.read()
        assert server.get("/v1/models/m")[1]["last_error"] is None and "not reloaded" not in server.stderr()
        assert sorted(os.listdir(source)) == ["1", "3", "4", "journal.jsonl"]
        status, served = server.post("/v1/models/m:recommend", NEW_USER)
        assert status == 200, served
    with Server("--model", f"m={source}") as server:
        assert server.post("/v1/models/m:recommend", NEW_USER) == (200, served)


if __name__ == "__main__":
    run(globals())
