"""HTTP as clients really send it: in pieces, many at once, too much, too slowly, wrongly."""
import atexit
import calendar
import functools
import gzip
import json
import os
import resource
import shutil
import socket
import struct
import tempfile
import threading
import time

from furrow_server import Server, build_index, is_sanitized, run

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
SEARCH = "/v1/indexes/items:search"


@functools.cache
def words():
    """The options of a server with an index; it is built once."""
    folder = tempfile.mkdtemp(prefix="furrow-serve-http-")
    atexit.register(shutil.rmtree, folder, True)
    return ("--index", f"items={build_index(folder, count=500, dimension=8)[0]}")


def post(path, body, *headers):
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def search(number, k=1):
    return post(SEARCH, json.dumps({"ids": [number], "k": k, "nprobe": 16}).encode())


def first_id(body):
    return json.loads(body)["neighbors"][0][0]["id"]


class Raw:
    """A connection that sends bytes as they are and takes answers apart."""

    def __init__(self, server, small=False):
        self.socket = socket.socket(socket.AF_INET6 if ":" in server.host else socket.AF_INET)
        if small:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.settimeout(120)
        self.socket.connect((server.host, server.port))
        self.rest = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def receive(self):
        data = self.socket.recv(65536)
        self.rest += data
        return bool(data)

    def answer(self, has_body=True):
        """Returns (status, headers, body)."""
        while b"\r\n\r\n" not in self.rest:
            assert self.receive(), f"closed after {self.rest!r}"
        head, self.rest = self.rest.split(b"\r\n\r\n", 1)
        line, *lines = head.decode().split("\r\n")
        assert line.startswith("HTTP/1.1 "), line
        headers = {name.lower(): value.strip() for name, value in (entry.split(":", 1) for entry in lines)}
        status = int(line.split()[1])
        size = int(headers.get("content-length", 0)) if has_body and status != 100 else 0
        while len(self.rest) < size:
            assert self.receive(), "closed in a body"
        body, self.rest = self.rest[:size], self.rest[size:]
        return status, headers, body

    def ends(self):
        """The peer closes in good order, without another byte."""
        return not self.rest and self.socket.recv(1) == b""


def ask(server, data):
    """One request on a connection of its own; returns the answer."""
    with Raw(server) as raw:
        raw.send(data)
        return raw.answer()


def files(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def has_read(server, raw):
    """Whether the server has taken all that was sent on a connection: nothing waits at its end of it."""
    ends = f":{server.port:04X}", f":{raw.socket.getsockname()[1]:04X}"
    with open(f"/proc/{server.process.pid}/net/tcp") as file:
        for line in file:
            _, local, remote, _, queues, *_ = line.split()
            if local.endswith(ends[0]) and remote.endswith(ends[1]):
                return queues.endswith(":00000000")
    return False


def wait_until(is_so, seconds=60):
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "not in time"
        time.sleep(0.01)


def test_pipelining(folder):
    with Server(*words()) as server, Raw(server) as raw:
        raw.send(b"".join(HEALTH if i % 3 == 0 else search(i) for i in range(100)))
        for i in range(100):
            status, headers, body = raw.answer()
            assert status == 200 and "connection" not in headers, (i, status, headers)
            assert body == b"ok\n" if i % 3 == 0 else first_id(body) == i, (i, body)
        raw.send(b"\r\n" + HEALTH)
        assert raw.answer()[0] == 200


def test_pipelining_long_bodies(folder):
    """Bodies that go to a worker, between those that do not."""
    with Server(*words()) as server, Raw(server) as raw:
        blanks = b" " * 100000
        sent = b"".join(search(i) if i % 4 else post(SEARCH, blanks + b'{"ids":[%d],"k":1}' % i) for i in range(40))
        sender = threading.Thread(target=raw.send, args=(sent,))
        sender.start()
        for i in range(40):
            status, _, body = raw.answer()
            assert status == 200 and first_id(body) == i, (i, status, body)
        sender.join()


def test_half_close(folder):
    with Server(*words()) as server:
        for data, count in ((HEALTH * 3, 3), (post(SEARCH, b" " * 100000 + b'{"ids":[7]}') * 2, 2)):
            with Raw(server) as raw:
                raw.send(data)
                raw.socket.shutdown(socket.SHUT_WR)
                assert [raw.answer()[0] for _ in range(count)] == [200] * count
                assert raw.ends()
        for piece in (HEALTH[:20], search(1)[:-2], b""):
            with Raw(server) as raw:
                raw.send(piece)
                raw.socket.shutdown(socket.SHUT_WR)
                assert raw.ends()


def test_byte_by_byte(folder):
    with Server(*words()) as server, Raw(server) as raw:
        raw.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for data in (HEALTH, search(11)):
            for i in range(len(data)):
                raw.send(data[i:i + 1])
            assert raw.answer()[0] == 200


def chunked(*chunks, path=SEARCH):
    data = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    return data + b"".join(b"%x;note=1\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\nX: y\r\n\r\n"


def test_chunked(folder):
    with Server(*words(), "--max-body", "200000") as server, Raw(server) as raw:
        body = b'{"ids":[123],"k":1}'
        raw.send(chunked(body) + chunked(*(body[i:i + 1] for i in range(len(body)))) + HEALTH)
        assert [first_id(raw.answer()[2]) for _ in range(2)] == [123, 123] and raw.answer()[2] == b"ok\n"
        raw.send(chunked(b" " * 70000, b" " * 70000, body) + search(5))
        assert [first_id(raw.answer()[2]) for _ in range(2)] == [123, 5]
        data = chunked(body[:4], body[4:])
        for i in range(0, len(data), 7):
            raw.send(data[i:i + 7])
            time.sleep(0.001)
        assert first_id(raw.answer()[2]) == 123
        raw.send(chunked(b" " * 150000, b" " * 60000))
        assert raw.answer()[0] == 413 and raw.ends()
        for bad in (b"5\r\nhello0\r\n", b"x\r\n", b"-1\r\n", b"5 \r\nhello\r\n", b"1\nx\n"):
            status, headers, _ = ask(server, chunked()[:-10] + bad)
            assert status == 400 and headers["connection"] == "close", bad


def test_expect(folder):
    with Server(*words()) as server:
        with Raw(server) as raw:
            data = post(SEARCH, b'{"ids":[3],"k":1}', "Expect: 100-continue")
            head, body = data[:-17], data[-17:]
            raw.send(head)
            assert raw.answer()[0] == 100
            raw.send(body)
            assert first_id(raw.answer()[2]) == 3
            raw.send(data)  # without waiting for it
            assert first_id(raw.answer()[2]) == 3
        for path, wanted in (("/v1/indexes/no:search", 404), ("/healthz", 405)):
            with Raw(server) as raw:
                raw.send(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n".encode())
                status, headers, _ = raw.answer()
                assert status == wanted and headers["connection"] == "close" and raw.ends()
        assert ask(server, post(SEARCH, b"{}", "Expect: more"))[0] == 417


def test_too_large(folder):
    """A client that sends all of a body before it reads gets the answer, not a reset."""
    with Server(*words(), "--max-body", "65536") as server:
        with Raw(server) as raw:
            raw.send(post(SEARCH, b" " * (20 << 20)))
            status, headers, body = raw.answer()
            assert status == 413 and headers["connection"] == "close" and raw.ends()
            assert headers["content-type"] == "application/problem+json" and json.loads(body)["status"] == 413
        with Raw(server) as raw:  # and at once, before the body comes
            raw.send(post(SEARCH, b" " * 65537)[:200])
            assert raw.answer()[0] == 413 and raw.ends()
        assert ask(server, post(SEARCH, b" " * 65536))[0] == 400  # read, but not JSON
        assert ask(server, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx")[0] == 413
        assert ask(server, b"GET /" + b"a" * 17000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")[0] == 431
        many = b"".join(b"X-%d: y\r\n" % i for i in range(70))
        assert ask(server, HEALTH[:-2] + many + b"\r\n")[0] == 431


def test_refusals_keep_the_connection(folder):
    """Those of requests without a body."""
    with Server(*words()) as server, Raw(server) as raw:
        for path, wanted in (("/nothing", 404), (SEARCH, 405), ("/healthz", 200)):
            raw.send(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            status, headers, _ = raw.answer()
            assert status == wanted and "connection" not in headers, (path, status)
        raw.send(b"OPTIONS /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" + HEALTH)
        status, headers, _ = raw.answer()
        assert status == 405 and headers["allow"] == "GET, HEAD" and raw.answer()[0] == 200


def test_head(folder):
    with Server(*words()) as server, Raw(server) as raw:
        for path in (b"/openapi.json", b"/healthz", b"/v1/indexes", b"/nothing"):
            raw.send(HEALTH.replace(b"/healthz", path))
            status, headers, _ = raw.answer()
            raw.send(HEALTH.replace(b"/healthz", path).replace(b"GET", b"HEAD") + HEALTH)
            again, same, _ = raw.answer(has_body=False)
            assert again == status and same["content-length"] == headers["content-length"], path
            assert raw.answer()[2] == b"ok\n"


def test_versions(folder):
    with Server(*words()) as server:
        with Raw(server) as raw:
            raw.send(b"GET /healthz HTTP/1.0\r\n\r\n")
            status, headers, _ = raw.answer()
            assert status == 200 and headers["connection"] == "close" and raw.ends()
        with Raw(server) as raw:
            for _ in range(3):
                raw.send(b"GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
                status, headers, _ = raw.answer()
                assert status == 200 and headers["connection"] == "keep-alive"
            raw.send(HEALTH[:-2] + b"Connection: close\r\n\r\n" + HEALTH)
            status, headers, _ = raw.answer()
            assert status == 200 and headers["connection"] == "close" and raw.ends()
        assert ask(server, b"GET / HTTP/2.0\r\nHost: localhost\r\n\r\n")[0] == 505


def test_headers(folder):
    with Server(*words()) as server:
        before = int(time.time())
        _, headers, _ = ask(server, search(1))
        assert headers["cache-control"] == "no-store" and headers["x-content-type-options"] == "nosniff"
        told = calendar.timegm(time.strptime(headers["date"], "%a, %d %b %Y %H:%M:%S GMT"))
        assert before - 2 <= told <= time.time() + 2


def test_gzip(folder):
    with Server(*words()) as server:
        for request in (HEALTH.replace(b"/healthz", b"/openapi.json"), search(1, k=400),
                        post(SEARCH, b" " * 100000 + b'{"ids":[1],"k":400,"nprobe":16}')):
            asks = request.replace(b"localhost\r\n", b"localhost\r\nAccept-Encoding: gzip\r\n")
            _, headers, plain = ask(server, request)
            assert headers["vary"] == "Accept-Encoding" and "content-encoding" not in headers
            for _ in range(2):
                _, headers, packed = ask(server, asks)
                assert headers["vary"] == "Accept-Encoding" and headers["content-encoding"] == "gzip"
                assert gzip.decompress(packed) == plain and len(packed) < 0.6 * len(plain), (len(packed), len(plain))
        _, headers, body = ask(server, HEALTH.replace(b"localhost\r\n", b"localhost\r\nAccept-Encoding: gzip\r\n"))
        assert "content-encoding" not in headers and body == b"ok\n"  # too short


def test_smuggling(folder):
    """What two programs could read as different requests is refused, and what follows is not read."""
    def lines(*entries, method="POST"):
        return "\r\n".join([f"{method} {SEARCH} HTTP/1.1", "Host: localhost", *entries, "", ""]).encode()
    cases = [
        lines("Content-Length: 5", "Transfer-Encoding: chunked") + b"0\r\n\r\n",
        lines("Transfer-Encoding: chunked", "Content-Length: 5") + b"0\r\n\r\n",
        lines("Content-Length: 5", "Content-Length: 0"),
        lines("Content-Length: 0", "Content-Length: 0"),
        lines("Content-Length: 0,0"),
        lines("Content-Length: +0"),
        lines("Content-Length : 0"),
        lines("Content-Length: 0x0"),
        lines("Transfer-Encoding: xchunked") + b"0\r\n\r\n",
        lines("Transfer-Encoding : chunked") + b"0\r\n\r\n",
        lines("Transfer-Encoding: chunked", "Transfer-Encoding: chunked") + b"0\r\n\r\n",
        lines("Transfer-Encoding:\x0bchunked") + b"0\r\n\r\n",
        lines("X: y", " Transfer-Encoding: chunked") + b"0\r\n\r\n",
        lines("X: y\rContent-Length: 5"),
        lines("X: y\nContent-Length: 5"),
        lines("X: y\0z"),
        lines("Host: other"),
        lines().replace(b"Host: localhost\r\n", b""),
        lines().replace(b"\r\n", b"\n"),
        lines().replace(b" HTTP/1.1", b""),
    ]
    with Server(*words()) as server:
        for case in cases:
            with Raw(server) as raw:
                raw.send(case + HEALTH)
                status, headers, _ = raw.answer()
                assert status == 400 and headers["connection"] == "close" and raw.ends(), case


def test_timeouts(folder):
    with Server(*words(), "--timeout", "4", "--idle-timeout", "5.6") as server:
        before = files(server)
        with Raw(server) as idle, Raw(server) as head, Raw(server) as body, Raw(server) as drip, Raw(server) as used:
            begin = time.monotonic()
            used.send(HEALTH)
            used.answer()
            head.send(HEALTH[:-2])
            body.send(search(1)[:-1])
            for byte in HEALTH[:-2]:  # a byte now and then is too slow as well
                if time.monotonic() - begin > 4.6:
                    break
                drip.send(bytes([byte]))
                time.sleep(0.15)
            for raw in (head, body, drip):
                status, headers, _ = raw.answer()
                assert status == 408 and headers["connection"] == "close"
            assert idle.ends() and used.ends() and 5 < time.monotonic() - begin < 60
        wait_until(lambda: files(server) <= before)


def test_slow_reader(folder):
    """Who does not read is not answered more than once, whatever it asks; and is cut."""
    with Server(*words(), "--timeout", "1") as server:
        alone = files(server)
        ask(server, HEALTH.replace(b"/healthz", b"/openapi.json"))
        before, raw = server.memory(), Raw(server, small=True)
        raw.socket.settimeout(0.3)
        sent, data = 0, HEALTH.replace(b"/healthz", b"/openapi.json") * 1000
        try:
            while sent < 64 << 20:
                sent += raw.socket.send(data)
        except (TimeoutError, ConnectionError):  # or it is cut already
            pass
        assert sent < 32 << 20, sent
        assert server.memory() - before < 4 << 20 or is_sanitized(), server.memory() - before
        raw.socket.settimeout(120)
        wait_until(lambda: files(server) <= alone)
        try:
            while raw.socket.recv(1 << 20):
                pass
        except ConnectionResetError:
            pass
        raw.socket.close()
        assert ask(server, HEALTH)[0] == 200


def test_memory_limit(folder):
    with Server(*words(), "--max-memory", "1MiB") as server:
        assert ask(server, post(SEARCH, b" " * (3 << 20)))[0] == 413  # the limit of a body is not above it
        status, headers, body = ask(server, post(SEARCH, b" " * (1 << 20)))  # it takes a little more than its bytes
        assert status == 503 and headers["retry-after"] and json.loads(body)["status"] == 503
        assert ask(server, chunked(*[b" " * 60000] * 17))[0] == 503
        held = [Raw(server) for _ in range(8)]  # together too much
        for raw in held:
            raw.send(post(SEARCH, b" " * 300000)[:-1])
        for raw in held:
            raw.send(b" ")
        statuses = {raw.answer()[0] for raw in held}
        assert statuses <= {400, 503} and 503 in statuses, statuses
        for raw in held:
            raw.socket.close()
        wait_until(lambda: ask(server, post(SEARCH, b" " * 300000 + b'{"ids":[1]}'))[0] == 200)


def test_vanished_clients(folder):
    """Gone while a worker has the request, or before all of it came."""
    with Server(*words()) as server:
        ask(server, HEALTH)
        before = files(server)
        data = post(SEARCH, b" " * 200000 + b'{"ids":[1],"k":400}')
        for i in range(60):
            with Raw(server) as raw:
                raw.send(data[:-1] if i % 3 == 0 else data)
                raw.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", i % 2, 0))
        wait_until(lambda: files(server) <= before)
        assert ask(server, data)[0] == 200 and server.stop() == 0


def test_too_many_connections(folder):
    with Server(*words(), "--max-connections", "10") as server:
        held = [Raw(server) for _ in range(10)]
        for raw in held:
            raw.send(HEALTH)
            assert raw.answer()[0] == 200
        for _ in range(3):
            with Raw(server) as raw:
                raw.send(HEALTH)
                status, headers, _ = raw.answer()
                assert status == 503 and headers["connection"] == "close" and raw.ends()
        for raw in held:
            raw.socket.close()
        wait_until(lambda: ask(server, HEALTH)[0] == 200)


def processor_seconds(server):
    with open(f"/proc/{server.process.pid}/stat") as file:
        return sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")


def test_too_many_files(folder):
    with Server(*words()) as server:
        ask(server, HEALTH)
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (files(server) + 4, 4096))
        waiting = [Raw(server) for _ in range(12)]
        for raw in waiting:
            raw.send(HEALTH)
        before = processor_seconds(server)
        time.sleep(0.6)
        assert processor_seconds(server) - before < 0.3
        resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (4096, 4096))
        assert [raw.answer()[0] for raw in waiting] == [200] * 12
        for raw in waiting:
            raw.socket.close()


def test_graceful_stop(folder):
    with Server(*words()) as server:
        data = search(77)
        with Raw(server) as begun, Raw(server) as idle, Raw(server) as asked:
            idle.send(HEALTH)
            idle.answer()
            begun.send(data[:-1])
            ask(server, HEALTH)
            asked.send(HEALTH)
            server.process.send_signal(15)
            assert asked.answer()[0] == 200
            assert idle.ends()
            begun.send(data[-1:])
            status, headers, body = begun.answer()
            assert status == 200 and headers["connection"] == "close" and first_id(body) == 77 and begun.ends()
        assert server.process.wait(120) == 0


def test_stop_loses_no_request(folder):
    """Clients that ask all the time see answers until their connection closes, and never lose a request."""
    lost, counts, begun = [], [], set()

    def ask_until_closed(server):
        connection, count = server.connect(), 0
        while True:
            try:
                connection.connect() if connection.sock is None else None
            except OSError:  # nobody listens any more
                break
            try:
                status, headers, _ = server.request("POST", SEARCH, b'{"ids":[1],"nprobe":16}', connection=connection)
            except Exception as error:
                lost.append(repr(error))
                break
            count += 1
            begun.add(threading.get_ident())
            if status != 200:
                lost.append(status)
            if headers.get("connection") == "close":
                break
        counts.append(count)

    with Server(*words()) as server:
        threads = [threading.Thread(target=ask_until_closed, args=(server,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        wait_until(lambda: len(begun) == len(threads))
        time.sleep(0.1)
        assert server.stop() == 0
        for thread in threads:
            thread.join()
    assert not lost and min(counts) > 0, (lost, counts)


def test_requests_that_wait_count(folder):
    """Many connections with a part of a request each: what they take counts, short as it is."""
    part = b"POST " + SEARCH.encode() + b" HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n7000\r\n" + b" " * 20000
    with Server(*words(), "--max-memory", "2MiB", "--max-body", "1MiB") as server:
        before, raws = server.memory(), [Raw(server) for _ in range(400)]
        for raw in raws:
            raw.send(part)
            raw.socket.setblocking(False)

        def is_refused(raw):
            try:
                return raw.socket.recv(12, socket.MSG_PEEK) == b"HTTP/1.1 503"
            except OSError:
                return False
        wait_until(lambda: sum(map(is_refused, raws)) > 200)
        assert server.memory() - before < 24 << 20 or is_sanitized()
        for raw in raws:
            raw.socket.close()
        assert ask(server, HEALTH)[0] == 200


def test_stop_cuts_what_does_not_end(folder):
    with Server(*words(), "--drain", "0.3") as server, Raw(server) as raw:
        raw.send(search(1)[:-1])
        wait_until(lambda: has_read(server, raw))
        begin = time.monotonic()
        server.stop()
        assert time.monotonic() - begin < 60 and "cut off" in server.stderr()


def test_port_in_use(folder):
    with Server(*words()) as server:
        try:
            Server(*words(), listen=f"127.0.0.1:{server.port}").stop()
        except AssertionError as error:
            assert "cannot listen" in str(error), error
        else:
            raise AssertionError("two servers have one port")


def test_ipv6(folder):
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return
    with Server(*words(), listen="[::1]:0") as server:
        assert server.host == "::1"
        status, _, _ = ask(server, HEALTH.replace(b"localhost", b"[::1]:%d" % server.port))
        assert status == 200


if __name__ == "__main__":
    run(globals())
