"""Requests whose bodies are compressed: answered as others, within the same limits."""
import gzip
import json
import re
import struct
import time
import zlib

from furrow_server import Server, build_index, is_sanitized, run, train_events

ROW = {"user": "u1", "item": "i1", "device": "tv", "price": 1}
PREDICT = "/v1/models/ctr:predict"
ADD = "/v1/indexes/items:add"
SEARCH = "/v1/indexes/items:search"
LIMIT = 1 << 20  # --max-body of the tests


def zstd_block(kind, size, data, is_last):
    return struct.pack("<I", is_last | kind << 1 | size << 3)[:3] + data


def zstd(data, size=None, window=0):
    """A frame (RFC 8878) of raw blocks; size: that of its header; window: its log2, which the header then has."""
    header = b"\x28\xb5\x2f\xfd"
    header += struct.pack("<BB", 0, (window - 10) << 3) if window else struct.pack("<BQ", 0xe0, len(data) if size is None else size)
    parts = [data[i:i + 100000] for i in range(0, len(data), 100000)] or [b""]
    return header + b"".join(zstd_block(0, len(part), part, i == len(parts) - 1) for i, part in enumerate(parts))


def zstd_bomb(size):
    """Blocks of one byte that is repeated 128 KiB times."""
    blocks = [zstd_block(1, 1 << 17, b" ", i == (size >> 17) - 1) for i in range(size >> 17)]
    return b"\x28\xb5\x2f\xfd" + struct.pack("<BB", 0, 7 << 3) + b"".join(blocks)


def gzip_bomb(size):
    pack = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join(pack.compress(b" " * (1 << 20)) for _ in range(size >> 20)) + pack.flush()


def start(folder, *words):
    return Server("--model", f"ctr={train_events(folder)}", "--index", f"items={build_index(folder, 'items', 400, 8)[0]}",
                  "--writable", "items", "--max-body", LIMIT, *words)


def send(server, path, body, coding, connection=None, **headers):
    status, found, answer = server.request("POST", path, body, {"Content-Encoding": coding, **headers}, connection)
    return status, found, json.loads(answer)


def test_answers_are_the_same(folder):
    with start(folder) as server:
        rows = [{**ROW, "price": i} for i in range(500)]
        plain = json.dumps({"instances": rows}).encode()
        wanted = server.post(PREDICT, plain)[1]
        half = len(plain) // 2
        bodies = [("gzip", gzip.compress(plain)), ("GZIP", gzip.compress(plain, 1)), ("x-gzip", gzip.compress(plain, 0)),
                  ("gzip", gzip.compress(plain[:half]) + gzip.compress(b"") + gzip.compress(plain[half:])),
                  ("zstd", zstd(plain)), ("ZSTD", zstd(plain, window=20)), ("zstd", zstd(plain, window=23)),
                  ("zstd", zstd(plain[:half]) + zstd(b"") + zstd(plain[half:])),
                  ("zstd", b"\x50\x2a\x4d\x18\x04\x00\x00\x00skip" + zstd(plain)), ("identity", plain), ("", plain)]
        connection = server.connect()
        for coding, body in bodies:
            assert send(server, PREDICT, body, coding, connection)[2] == wanted, coding
            chunks = (body[i:i + 777] for i in range(0, len(body), 777))
            assert send(server, PREDICT, chunks, coding, connection)[2] == wanted, coding
        # members that follow the body of a pipeline
        short = gzip.compress(json.dumps({"instances": [ROW]}).encode())
        for _ in range(50):
            assert send(server, PREDICT, short, "gzip", connection)[0] == 200
        vector = struct.pack("<8f", *[50.0 + i for i in range(8)])
        raw = {"Content-Type": "application/octet-stream"}
        status, _, answer = send(server, ADD, zstd(vector * 3), "zstd", **raw)
        assert status == 200 and answer == {"ids": [400, 401, 402]}, answer
        status, _, answer = send(server, f"{SEARCH}?k=1", gzip.compress(vector), "gzip", **raw)
        assert status == 200 and answer["neighbors"][0][0]["distance"] == 0, answer
        for path in (PREDICT, SEARCH):  # an empty body is not compressed
            assert send(server, path, b"", "gzip")[2] == send(server, path, b"", "identity")[2]


def test_damaged_bodies(folder):
    with start(folder) as server:
        plain = json.dumps({"instances": [ROW] * 20}).encode()
        good = {"gzip": gzip.compress(plain), "zstd": zstd(plain)}
        connection = server.connect()
        for coding, body in good.items():
            bad = [plain, b"\0", b"\x1f\x8b", body + b"x", body + body[:5], b"x" + body, good["zstd" if coding == "gzip" else "gzip"]]
            bad += [body[:i] for i in range(1, len(body))]
            if coding == "gzip":
                bad += [body[:-6] + b"\0\0" + body[-4:], body[:-2] + b"\0\1"]  # checksum and length
            else:
                bad += [zstd(plain, len(plain) + 1), zstd(plain, window=24), zstd(plain, window=41),
                        zstd(plain, 1 << 60)]  # of which nothing is reserved
            for data in bad:
                status, _, answer = send(server, PREDICT, data, coding, connection)
                assert status == 400 and f"not {coding} data" in answer["detail"], (coding, data, answer)
            assert send(server, PREDICT, body, coding, connection)[0] == 200
        for coding in ("br", "deflate", "gzip, gzip", "gzip, identity", "*", "gzip;q=1", "zstandard"):
            status, headers, answer = send(server, PREDICT, good["gzip"], coding)
            assert status == 415 and headers["accept-encoding"] == "gzip, zstd", (coding, answer)


def test_bombs(folder):
    """Few bytes that become many are refused as long bodies are, and take neither memory nor time in proportion."""
    exact = b'{"instances": []' + b" " * (LIMIT - 17) + b"}"
    with start(folder) as server:
        bombs = [("gzip", gzip.compress(b" " * (LIMIT + 1))), ("zstd", zstd_bomb(LIMIT + (1 << 17))), ("gzip", gzip_bomb(1 << 29)),
                 ("zstd", zstd_bomb(1 << 34)), ("gzip", gzip.compress(b" " * 999999) * 2),
                 ("zstd", zstd(b" " * 99999) * 10 + zstd_bomb(1 << 17))]
        before = server.memory()
        for coding, body in bombs:
            assert len(body) < LIMIT, (coding, len(body))
            status, _, answer = send(server, PREDICT, body, coding)
            assert status == 413 and "when it is decompressed" in answer["detail"], (coding, len(body), answer)
        if not is_sanitized():
            assert server.memory() - before < 64 * LIMIT, (before, server.memory())
        for coding, body in [("gzip", gzip.compress(exact)), ("zstd", zstd_bomb(1 << 17) + zstd(exact[1 << 17:]))]:
            status, _, answer = send(server, PREDICT, body, coding)
            assert status != 413 and "decompressed" not in answer.get("detail", ""), (coding, status, answer)
        for _ in range(1200):  # the client may have an answer before the server has cleared its memory
            if re.search(r"\nfurrow_body_memory_bytes 0\n", server.get("/metrics")[1]):
                return
            time.sleep(0.05)
        raise AssertionError("not all memory of bodies was given back")


def test_memory_limit(folder):
    """The decompressed body counts as memory of requests."""
    with start(folder, "--max-memory", LIMIT) as server:
        for coding, body in [("gzip", gzip.compress(b" " * (LIMIT - 10))), ("zstd", zstd_bomb(LIMIT - (1 << 17)))]:
            status, headers, answer = send(server, PREDICT, body, coding)
            assert status in (400, 503), answer
        assert send(server, PREDICT, gzip.compress(json.dumps({"instances": [ROW]}).encode()), "gzip")[0] == 200


if __name__ == "__main__":
    run(globals())
