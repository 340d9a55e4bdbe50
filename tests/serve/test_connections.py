"""Thousands of connections at once: all are answered, and idle ones hold little memory.

FURROW_CONNECTIONS is how many (2,000).
"""
import json
import os
import resource
import selectors
import socket
import time

from furrow_server import Server, build_index, is_sanitized, run

COUNT = int(os.environ.get("FURROW_CONNECTIONS", "2000"))
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"


def allowed():
    """As many connections as this process may have, at most COUNT."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = COUNT + 100
    if soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return min(COUNT, soft - 100)


def connect_all(server, count):
    """One address of loopback has 28,000 ports for one port of a server; more connections come from the next one."""
    made = []
    for i in range(count):
        made.append(socket.socket())
        made[-1].bind((f"127.0.0.{1 + i // 20000}", 0))
        made[-1].connect((server.host, server.port))
    return made


def ask_all(connections, request, is_good):
    """Sends a request on each, then reads all answers."""
    for connection in connections:
        connection.sendall(request)
    selector = selectors.DefaultSelector()
    for connection in connections:
        connection.setblocking(False)
        selector.register(connection, selectors.EVENT_READ, [b""])
    left, end = len(connections), time.monotonic() + 300
    while left > 0:
        assert time.monotonic() < end, f"{left} of {len(connections)} connections have no answer"
        for key, _ in selector.select(1):
            data = key.fileobj.recv(65536)
            assert data, f"closed after {key.data[0]!r}"
            key.data[0] += data
            if is_good(key.data[0]):
                selector.unregister(key.fileobj)
                key.fileobj.setblocking(True)
                left -= 1
    selector.close()


def is_ok(data):
    return data.startswith(b"HTTP/1.1 200 ") and data.endswith(b"ok\n")


def test_idle_connections(folder):
    count = allowed()
    index, _ = build_index(folder, count=500, dimension=8)
    with Server("--index", f"items={index}", "--max-connections", count + 10, "--max-queue", count) as server:
        ask_all(connect_all(server, 20), HEALTH, is_ok)
        before = server.memory()
        connections = connect_all(server, count)
        ask_all(connections, HEALTH, is_ok)
        each = (server.memory() - before) / count
        print(f"{count} idle connections: {each:.0f} bytes each")
        assert each < 2048 or is_sanitized(), each
        # Bodies that came in pieces and large answers leave nothing behind.
        body = json.dumps({"ids": [1], "k": 400, "nprobe": 16}).encode()
        request = b"POST /v1/indexes/items:search HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
        for connection in connections:
            connection.sendall(request)
        ask_all(connections, body, lambda data: data.startswith(b"HTTP/1.1 200 ") and data.endswith(b"]]}\n"))
        ask_all(connections, HEALTH, is_ok)
        after = (server.memory() - before) / count
        print(f"after {count} searches that waited for their bodies: {after:.0f} bytes each")
        assert after < 12288 or is_sanitized(), after
        for connection in connections:
            connection.close()
        assert server.stop() == 0


def test_connections_come_and_go(folder):
    """Each request on a connection of its own."""
    index, _ = build_index(folder, count=500, dimension=8)
    with Server("--index", f"items={index}") as server:
        ask_all(connect_all(server, 20), HEALTH, is_ok)
        before = server.memory()
        for _ in range(10):
            connections = connect_all(server, 100)
            ask_all(connections, HEALTH, is_ok)
            for connection in connections:
                connection.close()
        assert server.memory() - before < 2 << 20 or is_sanitized(), server.memory() - before


if __name__ == "__main__":
    run(globals())
