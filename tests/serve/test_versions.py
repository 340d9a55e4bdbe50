#!/usr/bin/env python3
"""Versions of a model: the newest is served, a broken one is refused, requests never fail meanwhile."""
import glob
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import threading
import time

from furrow_server import PROGRAM, Server, furrow, is_sanitized, run, train_events

RELOADS = int(os.environ.get("FURROW_SERVE_RELOADS", "30"))
REQUEST = {"users": ["u1", "u2"], "k": 5}


def two_models(folder):
    """Two models of one log with different answers."""
    return train_events(folder, "fm"), train_events(folder, "lr")


def place(model, versions, number):
    """Copies a model to a numbered folder, as careful people do: under a hidden name first."""
    os.makedirs(versions, exist_ok=True)
    shutil.copytree(model, f"{versions}/.{number}.tmp")
    os.rename(f"{versions}/.{number}.tmp", f"{versions}/{number}")


def answer_of(server, connection=None):
    status, answer = server.post("/v1/models/m:recommend", REQUEST, connection=connection)
    assert status == 200, answer
    return json.dumps(answer)


def version_of(server):
    return server.get("/v1/models/m")[1]["version"]


def reload(server, code=200):
    status, answer = server.post("/v1/models/m:reload", "")
    assert status == code, answer
    return answer


def wait_for(what, seconds=60):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)


def test_newest_is_served(folder):
    fm, lr = two_models(folder)
    source = f"{folder}/versions"
    place(lr, source, 9)
    place(fm, source, 10)
    os.mkdir(f"{source}/011")
    os.mkdir(f"{source}/latest")
    os.mkdir(f"{source}/99999999999999999999")
    open(f"{source}/12", "w").close()
    with Server("--model", f"m={source}") as server:
        doc = server.get("/v1/models/m")[1]
        assert doc["version"] == 10 and doc["algorithm"] == "fm", doc
        assert reload(server) == {"name": "m", "version": 10, "changed": False}
        place(lr, source, 13)
        assert version_of(server) == 10
        assert reload(server) == {"name": "m", "version": 13, "changed": True}
        assert server.get("/v1/models/m")[1]["algorithm"] == "lr"
        assert server.post("/v1/models/m/versions/13:recommend", REQUEST)[0] == 200
        assert server.post("/v1/models/m/versions/10:recommend", REQUEST)[0] == 404
        shutil.rmtree(f"{source}/13")
        assert reload(server) == {"name": "m", "version": 10, "changed": True}, "the way back"
        assert "version 13 is served" in server.stderr()


def test_large_numbers(folder):
    """Nanoseconds since 1970, and the largest number: a version is asked for by all of its digits."""
    fm, lr = two_models(folder)
    for i, number in enumerate((1700000000123456789, 9223372036854775807)):
        source = f"{folder}/versions{i}"
        place(lr, source, 1)
        place(fm, source, number)
        with Server("--model", f"m={source}") as server:
            assert version_of(server) == number
            assert server.get(f"/v1/models/m/versions/{number}")[0] == 200
            for other in (number - 1, number // 10, number * 10, 1):
                status, answer = server.get(f"/v1/models/m/versions/{other}")
                assert status == 404, answer


def test_signal_and_watch(folder):
    fm, lr = two_models(folder)
    source = f"{folder}/versions"
    place(fm, source, 1)
    with Server("--model", f"m={source}") as server:
        place(lr, source, 2)
        server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: version_of(server) == 2)
    with Server("--model", f"m={source}", "--watch", 1) as server:
        place(fm, source, 3)
        wait_for(lambda: version_of(server) == 3)
        shutil.rmtree(f"{source}/3")
        time.sleep(1.2)
        assert version_of(server) == 3, "a folder that goes away is not a newer version"


def test_plain_directory(folder):
    fm, lr = two_models(folder)
    shutil.copytree(fm, f"{folder}/m")
    with Server("--model", f"m={folder}/m") as server:
        first = answer_of(server)
        assert reload(server)["changed"] is False
        shutil.rmtree(f"{folder}/m")
        assert reload(server, 409)["version"] == 1
        assert answer_of(server) == first
        shutil.copytree(lr, f"{folder}/m")
        assert reload(server) == {"name": "m", "version": 2, "changed": True}
        assert answer_of(server) != first
        furrow("recommend", "--model", f"{folder}/m", "--users", "u1", "-q")
        assert reload(server)["changed"] is False


def breakages(folder):
    """Ways to break the model in a folder: (name, function)."""
    def write(path, data):
        with open(f"{folder}/{path}", "wb") as file:
            file.write(data)

    def not_finite():
        path = f"{folder}/input_weight/0"
        with open(path, "r+b") as file:
            file.seek(os.path.getsize(path) // 8 * 4)
            file.write(struct.pack(">f", float("nan")) * 2)

    return [
        ("truncated matrix", lambda: os.truncate(f"{folder}/input_weight/0", 40)),
        ("missing matrix file", lambda: os.remove(f"{folder}/input_weight/0")),
        ("missing matrix", lambda: shutil.rmtree(f"{folder}/input_weight")),
        ("missing graph", lambda: os.remove(f"{folder}/graph.json")),
        ("garbage graph", lambda: write("graph.json", b"\x00{ nonsense")),
        ("empty metadata", lambda: write("input_weight/_meta", b"")),
        ("garbage dictionary", lambda: write("dictionary.furrow", b"garbage" * 100)),
        ("truncated dictionary", lambda: os.truncate(f"{folder}/dictionary.furrow", 100)),
        ("missing schema", lambda: os.remove(f"{folder}/schema.json")),
        ("number that is not finite", not_finite),
        ("link", lambda: os.symlink("/etc/passwd", f"{folder}/passwd")),
        ("pipe", lambda: os.mkfifo(f"{folder}/pipe")),
        ("empty folder", lambda: [shutil.rmtree(folder), os.mkdir(folder)]),
    ]


def test_broken_versions_are_refused(folder):
    fm, lr = two_models(folder)
    source = f"{folder}/versions"
    place(fm, source, 1)
    with Server("--model", f"m={source}") as server:
        good = answer_of(server)
        for name, do in breakages(f"{source}/2"):
            place(lr, source, 2)
            do()
            lines = server.stderr().count("not reloaded, version 1 stays")
            problem = reload(server, 409)
            assert problem["version"] == 1 and problem["code"].startswith("E_"), (name, problem)
            assert folder not in json.dumps(problem) and "://" not in json.dumps(problem), (name, problem)
            assert server.stderr().count("not reloaded, version 1 stays") == lines + 1, (name, server.stderr())
            doc = server.get("/v1/models/m")[1]
            assert doc["version"] == 1 and doc["last_error"] and folder not in doc["last_error"], (name, doc)
            assert answer_of(server) == good, name
            shutil.rmtree(f"{source}/2")
        place(lr, source, 2)
        assert reload(server) == {"name": "m", "version": 2, "changed": True}
        assert server.get("/v1/models/m")[1]["last_error"] is None


def test_watch_tries_a_broken_version_once(folder):
    """A folder that is being copied is refused, and taken when it is complete."""
    fm, lr = two_models(folder)
    source = f"{folder}/versions"
    place(fm, source, 1)
    with Server("--model", f"m={source}", "--watch", 1) as server:
        os.mkdir(f"{source}/2")
        wait_for(lambda: "not reloaded" in server.stderr())
        time.sleep(2.2)
        assert server.stderr().count("not reloaded") == 1, server.stderr()
        shutil.copytree(lr, f"{source}/2", dirs_exist_ok=True)
        wait_for(lambda: version_of(server) == 2)


def test_start_with_a_broken_newest(folder):
    fm, lr = two_models(folder)
    source = f"{folder}/versions"
    place(fm, source, 1)
    place(lr, source, 2)
    os.truncate(f"{source}/2/input_weight/0", 10)
    os.mkdir(f"{source}/3")
    with Server("--model", f"m={source}") as server:
        doc = server.get("/v1/models/m")[1]
        assert doc["version"] == 1 and "graph.json" in doc["last_error"], doc
        assert "the newest was refused" in server.stderr()
    shutil.rmtree(f"{source}/1")
    done = subprocess.run([PROGRAM, "--listen", "127.0.0.1:0", "--model", f"m={source}"], capture_output=True,
                          text=True, timeout=300)
    assert done.returncode != 0 and "graph.json" in done.stderr and done.stdout == "", done


def reload_failed(server):
    return 'furrow_model_reload_failed{name="m"} 1\n' in server.get("/metrics")[1]


def test_newest_that_loads(folder):
    """Broken versions do not keep a good one below them from being served; what is wrong with them is reported."""
    fm, lr = two_models(folder)
    source = f"{folder}/versions"
    place(fm, source, 1)
    with Server("--model", f"m={source}", "--watch", 0) as server:
        first = answer_of(server)
        for number, do in [(6, 9), (7, 10)]:  # a garbage dictionary, a link: found before anything is loaded
            place(lr, source, number)
            breakages(f"{source}/{number}")[do][1]()
        assert reload(server, 409)["version"] == 1
        place(lr, source, 5)
        answer = reload(server)
        assert answer["version"] == 5 and answer["changed"] is True and "symbolic link" in answer["refused"], answer
        assert folder not in answer["refused"] and answer_of(server) != first
        doc = server.get("/v1/models/m")[1]
        assert doc["version"] == 5 and doc["last_error"] == answer["refused"] and reload_failed(server), doc
        assert "version 5 is served, since the newest was refused: " in server.stderr(), server.stderr()
        problem = reload(server, 409)
        assert problem["version"] == 5 and "version 5 stays" in problem["detail"], problem
        place(fm, source, 4)  # older than the served one
        assert reload(server, 409)["version"] == 5
        shutil.rmtree(f"{source}/5")  # what is served stays, although 4 could be loaded
        assert reload(server, 409)["version"] == 5
        for number in (6, 7):
            shutil.rmtree(f"{source}/{number}")
        assert reload(server) == {"name": "m", "version": 4, "changed": True}  # now the operator goes back
        assert server.get("/v1/models/m")[1]["last_error"] is None and not reload_failed(server)
        assert answer_of(server) == first


def test_watch_falls_back(folder):
    """The same without being asked: each version is tried once, and the error goes when the broken one does."""
    fm, lr = two_models(folder)
    source = f"{folder}/versions"
    place(fm, source, 1)
    with Server("--model", f"m={source}", "--watch", 1) as server:
        os.mkdir(f"{source}/4")
        wait_for(lambda: "not reloaded, version 1 stays" in server.stderr())
        place(lr, source, 2)
        wait_for(lambda: version_of(server) == 2)
        assert server.get("/v1/models/m")[1]["last_error"]
        os.mkdir(f"{source}/3")
        wait_for(lambda: "not reloaded, version 2 stays" in server.stderr())
        time.sleep(2.2)
        assert server.stderr().count("not reloaded") == 2 and server.stderr().count("is served") == 1, server.stderr()
        shutil.copytree(fm, f"{source}/3", dirs_exist_ok=True)
        wait_for(lambda: version_of(server) == 3)
        assert server.get("/v1/models/m")[1]["last_error"] and reload_failed(server)
        shutil.rmtree(f"{source}/4")
        wait_for(lambda: server.get("/v1/models/m")[1]["last_error"] is None)
        assert version_of(server) == 3 and not reload_failed(server)


def test_files_may_go_while_served(folder):
    """Cut in place, overwritten and removed files do not change an answer and do not end the server."""
    fm, _ = two_models(folder)
    shutil.copytree(fm, f"{folder}/m")
    with Server("--model", f"m={folder}/m", "--seen", f"m={folder}/log.csv") as server:
        everyone = {"users": [f"u{i}" for i in range(60)], "k": 40, "exclude_seen": False}
        before = server.post("/v1/models/m:recommend", everyone)
        files = [path for path in glob.glob(f"{folder}/m/**", recursive=True) if os.path.isfile(path)]
        for path in files:
            with open(path, "r+b") as file:
                file.write(b"\xff" * os.path.getsize(path))
        assert server.post("/v1/models/m:recommend", everyone) == before
        for path in files:
            os.truncate(path, 0)
        os.truncate(f"{folder}/log.csv", 0)
        assert server.post("/v1/models/m:recommend", everyone) == before
        shutil.rmtree(f"{folder}/m")
        assert server.post("/v1/models/m:recommend", everyone) == before
        with open(f"/proc/{server.process.pid}/maps") as file:
            assert folder not in file.read(), "a file is still mapped"


def test_changes_while_loading(folder):
    """Files that are cut and written again while they are read: what is taken is whole, and the rest is refused."""
    fm, _ = two_models(folder)
    shutil.copytree(fm, f"{folder}/m")
    files = [path for path in glob.glob(f"{folder}/m/**", recursive=True) if os.path.isfile(path)]
    contents = {path: open(path, "rb").read() for path in files}
    stop = threading.Event()

    def disturb():
        draw = random.Random(5)
        while not stop.is_set():
            path = draw.choice(files)
            os.truncate(path, draw.randrange(len(contents[path]) + 1))
            time.sleep(draw.random() * 0.004)
            with open(path, "r+b") as file:
                file.write(contents[path])
            time.sleep(draw.random() * 0.04)

    with Server("--model", f"m={folder}/m") as server:
        good, codes, end = answer_of(server), set(), time.monotonic() + 120
        thread = threading.Thread(target=disturb)
        thread.start()
        try:
            while len(codes & {"OK", "E_STATE"}) < 2 and time.monotonic() < end:
                for _ in range(RELOADS):
                    status, answer = server.post("/v1/models/m:reload", "")
                    assert status in (200, 409), answer
                    codes.add("OK" if answer.get("changed") else answer.get("code"))
                    assert answer_of(server) == good
        finally:
            stop.set()
            thread.join()
        assert "OK" in codes and "E_STATE" in codes, codes
        reload(server)
        assert answer_of(server) == good


def test_peak_of_memory(folder):
    """Loading does not hold the files beside the model that is made of them."""
    draw = random.Random(3)
    with open(f"{folder}/rows.libsvm", "w") as file:
        for i in range(5000):
            file.write(f"{i % 2} " + " ".join(f"{k}:1" for k in sorted(draw.sample(range(1, 200000), 40))) + "\n")
    furrow("train", "--model", "fm", "--train", f"{folder}/rows.libsvm", "--epochs", 1, "--out", f"{folder}/m", "-q")
    if is_sanitized():
        return
    with Server("--model", f"m={folder}/m") as server:
        size = server.get("/v1/models/m")[1]["bytes"]
        with open(f"/proc/{server.process.pid}/status") as file:
            peak = int(re.search(r"VmHWM:\s+(\d+) kB", file.read())[1]) * 1024
        assert size > 10 << 20 and peak < 1.6 * size, (size, peak)


def test_changed_tables_are_taken(folder):
    fm, _ = two_models(folder)
    for name in ("old", "new"):
        with open(f"{folder}/{name}.csv", "w") as file:
            file.write("item,title\n" + "".join(f"i{i},{name} {i}\n" for i in range(40)))
    shutil.copy(f"{folder}/old.csv", f"{folder}/items.csv")
    with Server("--model", f"m={fm}", "--items", f"m={folder}/items.csv:title") as server:
        assert '"old ' in answer_of(server)
        os.replace(f"{folder}/new.csv", f"{folder}/items.csv")
        assert reload(server)["changed"] is True
        assert '"new ' in answer_of(server)


def test_requests_during_reloads(folder):
    """Each answer is one of the two versions' answers, and none fails."""
    fm, lr = two_models(folder)
    source = f"{folder}/versions"
    place(fm, source, 1)
    place(lr, source, 2)
    with Server("--model", f"m={source}") as server:
        answers = {answer_of(server)}
        place(fm, source, 3)
        reload(server)
        answers.add(answer_of(server))
        assert len(answers) == 2
        stop, failures, counts = threading.Event(), [], [0] * 4

        def ask(number):
            connection = server.connect()
            try:
                while not stop.is_set():
                    if answer_of(server, connection) not in answers:
                        raise AssertionError("an answer of neither version")
                    counts[number] += 1
            except Exception as failure:  # the main thread reports it
                failures.append(failure)

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(len(counts))]
        for thread in threads:
            thread.start()
        try:
            wait_for(lambda: min(counts) > 0 or failures)
            for number in range(4, 4 + RELOADS):
                place(lr if number % 2 == 0 else fm, source, number)
                assert reload(server)["version"] == number
                shutil.rmtree(f"{source}/{number - 1}")
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        assert not failures, failures[0]
        assert min(counts) > 0, counts


def test_many_reloads_at_once(folder):
    """One loads, one waits, the others are refused at once: they do not keep all threads busy."""
    fm, _ = two_models(folder)
    shutil.copytree(fm, f"{folder}/m")
    with Server("--model", f"m={folder}/m") as server:
        answers = []

        def ask():
            os.utime(f"{folder}/m/graph.json")
            answers.append(server.post("/v1/models/m:reload", ""))

        threads = [threading.Thread(target=ask) for _ in range(24)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert {status for status, _ in answers} <= {200, 409}, answers
        for status, answer in answers:
            assert status == 200 or answer["code"] == "E_STATE", answer
        ask()  # while nobody else touches the file
        status, answer = answers[-1]
        assert status == 200 and answer["changed"], answer
        assert answer_of(server)


def test_memory_stays_flat(folder):
    fm, _ = two_models(folder)
    source = f"{folder}/m"
    shutil.copytree(fm, source)
    with Server("--model", f"m={source}", "--seen", f"m={folder}/log.csv") as server:
        def reload_often(times):
            for _ in range(times):
                os.utime(f"{source}/graph.json")
                assert reload(server)["changed"] is True
                answer_of(server)
            return server.memory()

        # What is lost grows by every round; what the allocator keeps for later does not.
        sizes = [reload_often(25) for _ in range(5)]
        grown = min(after - before for before, after in zip(sizes, sizes[1:]))
        assert grown < 1 << 20 or is_sanitized(), sizes


def test_pipes_are_not_waited_for(folder):
    """A pipe in the place of the log of seen items is refused; signals are answered meanwhile."""
    model = train_events(folder, "fm")
    shutil.copy(f"{folder}/log.csv", f"{folder}/seen.csv")
    with Server("--model", f"m={model}", "--seen", f"m={folder}/seen.csv", "--watch", "0") as server:
        before = answer_of(server)
        os.remove(f"{folder}/seen.csv")
        os.mkfifo(f"{folder}/seen.csv")
        assert "regular file" in reload(server, 409)["detail"]
        assert answer_of(server) == before
        assert server.stop() == 0


if __name__ == "__main__":
    run(globals())
