"""furrow-serve behind nginx with TLS, as docs/serving.md configures it: the same answers as without it.

Skipped (77) where nginx or openssl is missing.
"""
import collections
import concurrent.futures
import gzip
import http.client
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time

from furrow_server import Server, build_index, free_port, run, train_events

SOURCE = os.environ.get("FURROW_SOURCE") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
NGINX = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
TOKEN = "a-token-for-the-test"
ROW = {"instances": [{"user": "u1", "item": "i3", "device": "tv", "price": 5}]}


def documented():
    """The nginx blocks of the document: an upstream { … } and a server { … }, then an upstream of two."""
    with open(f"{SOURCE}/docs/serving.md") as file:
        return re.findall(r"```nginx\n(.*?)```", file.read(), re.S)


class Nginx:
    """nginx on a free port of loopback, with the configuration of the document: only ports, paths and sizes differ."""

    def __init__(self, folder, upstream, second=None):
        self.folder, self.port = folder, free_port()
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                        "-keyout", f"{folder}/key.pem", "-out", f"{folder}/cert.pem"], check=True, capture_output=True)
        text, of_two = documented()
        if second:
            text = re.sub(r"upstream furrow \{.*?^\}\n", of_two.replace("8081", str(second)), text, flags=re.S | re.M)
        for pattern, value in [(r"server 127\.0\.0\.1:8080\b", f"server 127.0.0.1:{upstream}"),
                               (r"listen 443 ssl;", f"listen 127.0.0.1:{self.port} ssl;"),
                               (r"listen \[::\]:443 ssl;\n", "\n"),
                               (r"ssl_certificate \S+;", f"ssl_certificate {folder}/cert.pem;"),
                               (r"ssl_certificate_key \S+;", f"ssl_certificate_key {folder}/key.pem;")]:
            text, count = re.subn(pattern, value, text)
            assert count == 1, f"the document does not have {pattern}"
        temporary = "".join(f"  {kind}_temp_path {folder}/{kind};\n"
                            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        with open(f"{folder}/nginx.conf", "w") as file:
            file.write(f"daemon off;\nworker_processes 1;\npid {folder}/pid;\nerror_log {folder}/error.log;\n"
                       f"events {{ worker_connections 512; }}\nhttp {{\n  access_log off;\n{temporary}{text}}}\n")
        self.process = subprocess.Popen([NGINX, "-p", folder, "-e", f"{folder}/error.log", "-c", f"{folder}/nginx.conf"],
                                        stderr=subprocess.PIPE, text=True)
        self.context = ssl.create_default_context(cafile=f"{folder}/cert.pem")
        self.wait()

    def wait(self):
        for _ in range(1200):
            if self.process.poll() is not None:
                raise AssertionError(f"nginx does not start: {self.process.stderr.read()}")
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise AssertionError("nginx does not listen")

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.process.terminate()
        self.process.wait(120)
        self.process.stderr.close()
        if kind is not None:
            with open(f"{self.folder}/error.log") as file:
                print(file.read(), file=sys.stderr)

    def connect(self):
        return http.client.HTTPSConnection("localhost", self.port, timeout=300, context=self.context)

    def request(self, method, path, body=None, headers=None, connection=None):
        """Returns (status, headers, bytes)."""
        mine = connection or self.connect()
        mine.request(method, path, body=body, headers={"Authorization": f"Bearer {TOKEN}", **(headers or {})})
        answer = mine.getresponse()
        found = answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        if connection is None:
            mine.close()
        return found


def start(folder, *words, listen="127.0.0.1:0"):
    """A server with a token, and nginx before it."""
    with open(f"{folder}/token", "w") as file:
        file.write(TOKEN + "\n")
    os.chmod(f"{folder}/token", 0o600)
    return Server("--token-file", f"{folder}/token", *words, listen=listen)


def post(nginx, path, value, **more):
    status, _, answer = nginx.request("POST", path, json.dumps(value), {"Content-Type": "application/json"}, **more)
    return status, json.loads(answer)


def test_requests_pass_through(folder):
    model = train_events(folder)
    with start(folder, "--model", f"ctr={model}") as server, Nginx(folder, server.port) as nginx:
        status, direct = server.post("/v1/models/ctr:predict", ROW, {"Authorization": f"Bearer {TOKEN}"})
        assert status == 200, direct
        assert post(nginx, "/v1/models/ctr:predict", ROW) == (200, direct)
        # many requests on few connections, from both sides
        connection = nginx.connect()
        for _ in range(200):
            assert post(nginx, "/v1/models/ctr:predict", ROW, connection=connection) == (200, direct)
        connection.close()
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            for found in pool.map(lambda _: post(nginx, "/v1/models/ctr:predict", ROW), range(200)):
                assert found == (200, direct)


def test_upstream_connections_are_kept(folder):
    model = train_events(folder)
    with start(folder, "--model", f"ctr={model}") as server, Nginx(folder, server.port) as nginx:
        for _ in range(100):
            assert post(nginx, "/v1/models/ctr:predict", ROW)[0] == 200
        with open(f"/proc/{server.process.pid}/net/tcp") as file:
            ended = sum(1 for line in file if f":{server.port:04X} " in line and line.split()[3] == "06")
        assert ended < 20, f"{ended} connections were opened and closed for 100 requests"


def test_errors_pass_through_unchanged(folder):
    model = train_events(folder)
    with start(folder, "--model", f"ctr={model}", "--max-rows", 100) as server, Nginx(folder, server.port) as nginx:
        for method, path, body in [("POST", "/v1/models/ctr:predict", "{\"instances\": [{\"colour\": 1}]}"),
                                   ("POST", "/v1/models/other:predict", "{}"),
                                   ("GET", "/v1/models/ctr:predict", None),
                                   ("POST", "/v1/models/ctr:predict", json.dumps({"instances": ROW["instances"] * 101})),
                                   ("POST", "/v1/models/ctr:predict", "{")]:
            straight = server.request(method, path, body, {"Authorization": f"Bearer {TOKEN}"})
            passed = nginx.request(method, path, body)
            assert straight[0] >= 400 and passed[0] == straight[0] and passed[2] == straight[2], (straight, passed)
            for name in ("content-type", "allow"):
                assert passed[1].get(name) == straight[1].get(name), (name, passed, straight)
        status, headers, _ = nginx.request("GET", "/v1/models", headers={"Authorization": "Bearer wrong"})
        assert status == 401 and headers["www-authenticate"] == "Bearer", (status, headers)
        assert nginx.request("GET", "/healthz", headers={"Authorization": ""})[0] == 200


def test_large_bodies_and_compression(folder):
    model = train_events(folder)
    index, vectors = build_index(folder)
    with start(folder, "--model", f"ctr={model}", "--index", f"items={index}") as server, \
            Nginx(folder, server.port) as nginx:
        rows = {"instances": ROW["instances"] * 10000}
        status, answer = post(nginx, "/v1/models/ctr:predict", rows)
        assert status == 200 and len(answer["predictions"]) == 10000, status
        query = json.dumps({"vectors": vectors[:200], "k": 20})
        plain = nginx.request("POST", "/v1/indexes/items:search", query)
        packed = nginx.request("POST", "/v1/indexes/items:search", query, {"Accept-Encoding": "gzip"})
        assert plain[0] == packed[0] == 200, (plain[0], packed[0], plain[2][:300])
        assert packed[1].get("content-encoding") == "gzip", packed[1]
        assert gzip.decompress(packed[2]) == plain[2]
        # beyond the limit of the service nginx refuses as well, and the connection of the next request works
        status, _, _ = nginx.request("POST", "/v1/models/ctr:predict", b" " * (17 << 20))
        assert status == 413, status
        assert post(nginx, "/v1/models/ctr:predict", ROW)[0] == 200


def test_a_restart_behind_nginx(folder):
    """While the service is down, nginx answers 502; afterwards requests succeed again."""
    model = train_events(folder)
    with start(folder, "--model", f"ctr={model}", listen=f"127.0.0.1:{free_port()}") as server:
        with Nginx(folder, server.port) as nginx:
            assert post(nginx, "/v1/models/ctr:predict", ROW)[0] == 200
            assert server.stop() == 0
            assert nginx.request("POST", "/v1/models/ctr:predict", json.dumps(ROW))[0] == 502
            with start(folder, "--model", f"ctr={model}", listen=f"127.0.0.1:{server.port}"):
                assert post(nginx, "/v1/models/ctr:predict", ROW)[0] == 200


def test_rolling_restart(folder):
    """Two services are restarted one after the other, and no request fails."""
    model = train_events(folder)
    words = ["--model", f"ctr={model}"]
    servers = [start(folder, *words, listen=f"127.0.0.1:{free_port()}") for _ in range(2)]
    ports = [server.port for server in servers]
    done, statuses = threading.Event(), []

    def ask(_):
        """Collects the statuses of requests, some on kept connections."""
        connection, count = nginx.connect(), 0
        while not done.is_set():
            statuses.append(post(nginx, "/v1/models/ctr:predict", ROW, connection=connection if count % 4 else None)[0])
            count += 1
        connection.close()

    def go_on(more=25):
        """Waits for so many answers, or for the end of all who ask."""
        wanted, end = len(statuses) + more, time.monotonic() + 120
        while len(statuses) < wanted and not all(answer.done() for answer in answers):
            assert time.monotonic() < end, f"{wanted - len(statuses)} answers are missing"
            time.sleep(0.01)

    with Nginx(folder, *ports) as nginx, concurrent.futures.ThreadPoolExecutor(4) as pool:
        answers = [pool.submit(ask, i) for i in range(4)]
        try:
            for i in range(2):
                go_on()
                assert servers[i].stop() == 0
                servers[i].__exit__(None, None, None)
                go_on()
                servers[i] = start(folder, *words, listen=f"127.0.0.1:{ports[i]}")
            go_on()
        finally:
            done.set()
            concurrent.futures.wait(answers)
            for server in servers:
                server.__exit__(None, None, None)
        for answer in answers:
            answer.result()
    assert len(statuses) > 100 and set(statuses) == {200}, collections.Counter(statuses)


if __name__ == "__main__":
    if not NGINX or not shutil.which("openssl"):
        print("skipped: nginx or openssl is not installed")
        sys.exit(77)
    run(globals())
