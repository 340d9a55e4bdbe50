"""The access log, ids of requests, and lines for slow requests."""
import fcntl
import json
import os
import re
import signal
import socket
import threading
import time

from furrow_server import Server, build_index, is_sanitized, run

SEARCH = "/v1/indexes/items:search"
NEW_ID = re.compile(r"[0-9a-f]{16}")


def start(folder, *words, **options):
    path = f"{folder}/items.index"
    if not os.path.exists(path):
        build_index(folder, "items", 400, 8)
    return Server("--index", f"items={path}", *words, **options)


def lines_of(server):
    """Stops the server; returns what it wrote to standard output after its first line."""
    assert server.stop() == 0
    return server.process.stdout.read().splitlines()


def raw(server, data):
    """Sends bytes as they are; returns all that comes."""
    with socket.create_connection((server.host, server.port), timeout=120) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def wait_until(condition):
    for _ in range(1200):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it does not happen")


# ---- Ids ----


def test_ids(folder):
    """An id that can be used is returned, in all answers; others are replaced by a new one."""
    good = ["a", "7f3c-22", "0" * 128, "req:1/2+3=4,5;~!#$%&'()*[]{}|<>?@^`", "Root=1-67891233-abcdef012345678912345678"]
    bad = ["", "0" * 129, "a b", "a\tb", 'a"b', "a\\b", "\u00fc".encode().decode("latin-1"), "\x80"]
    with start(folder, "--max-body", "1024") as server:
        seen = set()
        for given in good + bad + [None]:
            for method, path, body in [("GET", "/healthz", None), ("GET", "/nothing", None), ("POST", SEARCH, "{"),
                                       ("POST", SEARCH, '{"ids": [1]}'), ("POST", SEARCH, " " * 2000)]:
                status, headers, _ = server.request(method, path, body, {"X-Request-Id": given} if given is not None else {})
                found = headers["x-request-id"]
                if given in good:
                    assert found == given, (status, given, found)
                else:
                    assert NEW_ID.fullmatch(found) and found not in seen, (status, given, found)
                    seen.add(found)
        twice = raw(server, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: a\r\nX-Request-Id: a\r\n\r\n")
        assert NEW_ID.search(twice.decode()) and b"X-Request-Id: a\r" not in twice, twice
        for data in (b"nonsense\r\n\r\n", b"GET / HTTP/1.1\r\nX-Request-Id: a\r\nBad Header: x\r\n\r\n"):
            answer = raw(server, data).decode()
            assert answer.startswith("HTTP/1.1 400") and re.search(r"\r\nX-Request-Id: [0-9a-f]{16}\r\n", answer), answer
        assert raw(server, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: a\r\n evil: b\r\n\r\n").startswith(b"HTTP/1.1 400")


# ---- Lines ----

COMMON = re.compile(r'(\S+) - - \[(\d\d)/(\w{3})/(\d{4}):\d\d:\d\d:\d\d \+0000\] "([^"]*)" (\d{3}) (\d+) (\S+)')


def some_requests(server):
    """Returns (status, bytes of the answer, id) of each."""
    sent = []
    for method, path, body, given in [("GET", "/healthz", None, "one"), ("GET", "/readyz?probe=1", None, "two"),
                                      ("POST", SEARCH, '{"ids": [1, 2, 3]}', "three"), ("POST", SEARCH, "{", "four"),
                                      ("GET", "/nothing?\"<>\\", None, "five"), ("HEAD", "/", None, "six")]:
        answer = raw(server, f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: {given}\r\nUser-Agent: test \"\x80\r\n"
                     f"Content-Length: {len(body or '')}\r\n\r\n{body or ''}".encode("latin-1"))
        sent.append((int(answer.split()[1]), len(answer), given))
    answer = raw(server, b"\x1b[31mnonsense\r\n\r\n")
    sent.append((400, len(answer), re.search(r"X-Request-Id: (\w+)", answer.decode())[1]))
    answer = raw(server, b"GET http://localhost?a=b HTTP/1.0\r\nX-Request-Id: eight\r\n\r\n")
    sent.append((200, len(answer), "eight"))
    return sent


def test_common(folder):
    with start(folder, "--access-log", "common") as server:
        sent = some_requests(server)
        lines = lines_of(server)
    assert len(lines) == len(sent), lines
    found = [COMMON.fullmatch(line) for line in lines]
    assert all(found), lines
    assert [(int(f[6]), int(f[7]), f[8]) for f in found] == sent, lines
    assert all(f[1] == "127.0.0.1" for f in found)
    assert [f[5] for f in found] == ["GET /healthz HTTP/1.1", "GET /readyz?probe=1 HTTP/1.1", f"POST {SEARCH} HTTP/1.1",
                                     f"POST {SEARCH} HTTP/1.1", r"GET /nothing?\x22<>\x5c HTTP/1.1", "HEAD / HTTP/1.1", "-",
                                     "GET /?a=b HTTP/1.0"], lines


def test_json(folder):
    with start(folder, "--access-log", "json") as server:
        sent = some_requests(server)
        lines = [json.loads(line) for line in lines_of(server)]
    assert [(line["status"], line["bytes_out"], line["id"]) for line in lines] == sent, lines
    search = lines[2]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", search["time"])
    assert search["method"] == "POST" and search["path"] == SEARCH and "query" not in search, search
    assert search["call"] == "search" and search["index"] == "items" and search["rows"] == 3, search
    assert search["bytes_in"] > 100 and search["ms"] >= search["worked_ms"] > 0, search
    assert search["user_agent"] == 'test "\ufffd' and search["client"] == "127.0.0.1", search
    assert lines[1]["query"] == "probe=1" and lines[1]["call"] == "other" and "index" not in lines[1], lines[1]
    assert lines[4]["query"] == '"<>\\' and lines[6]["method"] == "" and lines[6]["path"] == "", lines
    assert lines[7]["path"] == "/" and lines[7]["query"] == "a=b", lines


def test_off(folder):
    with start(folder) as server:
        some_requests(server)
        assert lines_of(server) == [] and server.stderr() == ""


def test_clients(folder):
    """A line has the address of the client, also on a socket of both families."""
    with start(folder, "--access-log", "json", "--insecure", listen=":0") as server:
        for host in ("127.0.0.1", "::1"):
            server.host = host
            assert server.get("/healthz")[0] == 200
        # two threads may have answered, so the order of the lines is not fixed
        assert sorted(json.loads(line)["client"] for line in lines_of(server)) == ["127.0.0.1", "::1"]


def test_every_request_has_a_line(folder):
    """Also those on workers, in pipelines, and of clients that leave."""
    path = f"{folder}/access.log"
    with start(folder, "--access-log", "json", "--access-log-file", path, "--threads", 3) as server:
        def work(number):
            connection = server.connect()
            for i in range(200):
                body = json.dumps({"ids": [i] * (1 if i % 10 else 600), "k": 100})
                assert server.request("POST", SEARCH, body, {"X-Request-Id": f"{number}-{i}"}, connection)[0] == 200
        workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        body = json.dumps({"ids": list(range(400)), "k": 400, "nprobe": 16}).encode()
        with socket.create_connection((server.host, server.port)) as connection:
            connection.sendall(f"POST {SEARCH} HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: gone\r\nContent-Length: {len(body) + 1}\r\n\r\n".encode() + body)
        wait_until(lambda: '"id":"gone"' in open(path).read())
        assert lines_of(server) == []
        with open(path) as file:
            lines = [json.loads(line) for line in file]
        assert sorted(line["id"] for line in lines if line["id"] != "gone") == sorted(f"{n}-{i}" for n in range(4) for i in range(200))
        gone = next(line for line in lines if line["id"] == "gone")
        assert gone["status"] == 499 and gone["client"] == "127.0.0.1", gone
        assert any(line["queued_ms"] > 0 for line in lines), "some waited for a worker"
        assert os.stat(path).st_mode & 0o007 == 0, "others may not read it"


def test_renamed_file(folder):
    path = f"{folder}/access.log"
    with open(path, "w") as file:
        file.write("before\n")
    with start(folder, "--access-log", "common", "--access-log-file", path) as server:
        server.get("/healthz", {"X-Request-Id": "first"})
        wait_until(lambda: "first" in open(path).read())
        os.rename(path, f"{path}.1")
        server.get("/healthz", {"X-Request-Id": "second"})
        wait_until(lambda: "second" in open(f"{path}.1").read())
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: os.path.exists(path))
        server.get("/healthz", {"X-Request-Id": "third"})
        wait_until(lambda: "third" in open(path).read())
        assert open(f"{path}.1").read().startswith("before\n") and "third" not in open(f"{path}.1").read()
        os.rename(path, f"{path}.2")
        os.mkdir(path)  # it cannot be opened: the old file is used
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "cannot be opened again" in server.stderr())
        server.get("/healthz", {"X-Request-Id": "fourth"})
        wait_until(lambda: "fourth" in open(f"{path}.2").read())
    try:
        start(folder, "--access-log", "common", "--access-log-file", f"{folder}/absent/access.log")
    except AssertionError as problem:
        assert "code 4" in str(problem) and "cannot be opened for writing" in str(problem), problem
    else:
        raise AssertionError("it starts without its log")


def dropped(server):
    return int(float(re.search(r"\nfurrow_access_log_dropped_total (.*)\n", server.get("/metrics")[1])[1]))


def test_nobody_reads(folder):
    """A pipe that nobody reads delays no answer, takes limited memory, and does not keep the service from stopping."""
    with start(folder, "--access-log", "json", "--threads", 1) as server:
        fcntl.fcntl(server.process.stdout, fcntl.F_SETPIPE_SZ, 4096)
        connection, before, sent = server.connect(), server.memory(), 0
        while dropped(server) == 0:
            for _ in range(300):
                assert server.request("GET", "/healthz?" + "x" * 15000, connection=connection)[0] == 200
                sent += 1
            assert sent < 30000
        assert is_sanitized() or server.memory() - before < 64 << 20, (before, server.memory())
        assert server.stop() == 0


def test_full_disk(folder):
    """Lines that cannot be written are counted, and the reason is told once."""
    with start(folder, "--access-log", "common", "--access-log-file", "/dev/full") as server:
        for _ in range(20):
            assert server.get("/healthz")[0] == 200
        wait_until(lambda: dropped(server) >= 20)
        assert server.stderr().count("lines cannot be written, and are dropped: No space left") == 1, server.stderr()


# ---- Slow requests ----

SLOW = re.compile(r"furrow: slow request (\S+): (\S+) (\S+) HTTP/1\.1 was answered (\d+) after (\S+) s: "
                  r"(\S+) s in a queue, (\S+) s at work, the rest on the network")


def test_slow(folder):
    with start(folder, "--slow", "0.5") as server:
        assert server.get("/healthz")[0] == 200
        body = b'{"ids": [1]}'
        with socket.create_connection((server.host, server.port), timeout=120) as connection:
            connection.sendall(f"POST {SEARCH} HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: snail\r\nContent-Length: {len(body)}\r\n\r\n".encode())
            time.sleep(1.5)  # a slow client; the server's clock starts when it has read the first line
            connection.sendall(body)
            assert connection.recv(100).startswith(b"HTTP/1.1 200")
        wait_until(lambda: "slow request" in server.stderr())
        found = SLOW.fullmatch(server.stderr().strip())
        assert found and found[1] == "snail" and found[3] == SEARCH and float(found[5]) >= 0.5, server.stderr()
        assert float(found[7]) < float(found[5]), server.stderr()
    with start(folder, "--slow", "0.000000001", "--access-log", "json") as server:
        assert server.get("/healthz", {"X-Request-Id": "x"})[0] == 200
        assert len(lines_of(server)) == 1 and len(server.stderr().splitlines()) == 1, server.stderr()


if __name__ == "__main__":
    run(globals())
