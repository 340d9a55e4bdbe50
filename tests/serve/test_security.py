"""Who may ask, and what an answer must not tell: tokens, pages of other sites, paths, long heads."""
import json
import os
import socket

import furrow_server
from furrow_server import Server, build_index, train_events

TOKEN = "correct-horse-battery-staple"
ROW = {"user": "u1", "item": "i1", "device": "tv", "price": 1}


def write_token(folder, token=TOKEN):
    path = f"{folder}/token"
    with open(path, "w") as file:
        file.write(token + "\n")
    os.chmod(path, 0o600)
    return path


def raw(server, data, wait=120):
    """Sends bytes as they are; returns (status, everything that came)."""
    with socket.create_connection((server.host, server.port), timeout=wait) as connection:
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the server has answered and closed before it read all
        came = b""
        while True:
            try:
                more = connection.recv(65536)
            except ConnectionError:
                break
            if not more:
                break
            came += more
    return int(came.split(b" ")[1]) if came.startswith(b"HTTP/1.") else None, came


# ---- Tokens ----


def test_tokens(folder):
    model, (index, _) = train_events(folder), build_index(folder, "items", 400, 8)
    closed = [("GET", "/v1/models"), ("GET", "/v1/models/ctr"), ("GET", "/v1/indexes"), ("GET", "/v1/indexes/items"),
              ("GET", "/metrics"), ("POST", "/v1/models/ctr:predict"), ("POST", "/v1/models/ctr:reload"),
              ("POST", "/v1/models/ctr/versions/1:predict"), ("POST", "/v1/indexes/items:search"),
              ("POST", "/v1/indexes/items:add"), ("POST", "/v1/indexes/items:remove"),
              ("POST", "/v1/indexes/items:checkpoint"), ("POST", "/v1/indexes/items:curve"), ("HEAD", "/metrics")]
    wrong = [None, "", "Bearer", "Bearer ", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x", f"Bearer {TOKEN}{TOKEN}",
             f"Bearer {TOKEN.upper()}", f"Basic {TOKEN}", TOKEN, f"Bearer{TOKEN}", f"Bearer  {TOKEN}", "Bearer " + "x" * 28,
             f"Bearer x{TOKEN[1:]}", f"Bearer {TOKEN[:-1]}x", f"Bearer \"{TOKEN}\"", f"Bearer {TOKEN},{TOKEN}"]
    with Server("--model", f"ctr={model}", "--index", f"items={index}", "--token-file", write_token(folder)) as server:
        for method, path in closed:
            status, headers, body = server.request(method, path)
            assert status == 401 and headers["www-authenticate"] == "Bearer", (method, path, status)
            assert TOKEN.encode() not in body
        for given in wrong:
            status, _, body = server.request("GET", "/v1/models", headers={"Authorization": given} if given is not None else {})
            assert status == 401 and TOKEN.encode() not in body, (given, status)
        for scheme in ("Bearer", "bearer", "BEARER"):
            assert server.get("/v1/models", {"Authorization": f"{scheme} {TOKEN}"})[0] == 200
        for path in ("/healthz", "/readyz", "/openapi.json", "/"):  # constant: they tell nothing of what is served
            for given in (None, "Bearer wrong", f"Bearer {TOKEN}"):
                assert server.request("GET", path, headers={"Authorization": given} if given else {})[0] == 200, path
        status, answer = server.post("/v1/models/ctr:predict", {"instances": [ROW]}, {"Authorization": f"Bearer {TOKEN}"})
        assert status == 200, answer
        # two of them: which one counts must not be a matter of luck
        twice = f"Authorization: Bearer wrong\r\nAuthorization: Bearer {TOKEN}\r\n"
        status, _ = raw(server, f"GET /v1/models HTTP/1.1\r\nHost: x\r\n{twice}\r\n".encode())
        assert status in (400, 401), status


def test_names_are_not_told(folder):
    """Without the token, what is served cannot be found out: all paths but the open ones are answered alike."""
    with Server("--model", f"ctr={train_events(folder)}", "--token-file", write_token(folder)) as server:
        answers = set()
        for path in ("/v1/models/ctr", "/v1/models/nobody", "/v1/models/ctr:nothing", "/v1/indexes/ctr", "/nothing",
                     "/v1/models/ctr/versions/1", "/v1/models/ctr/versions/2", "/v1/models/ctr:predict"):
            status, headers, body = server.request("GET", path)
            headers.pop("date", None)
            headers.pop("x-request-id")
            answers.add((status, tuple(sorted(headers.items())), body))
        assert len(answers) == 1 and next(iter(answers))[0] == 401, answers


MISTYPED = [
    ("/v1/models/ct", "there is no model of this name", "did you mean ctr?"),
    ("/v1/models/crt:predict", "there is no model of this name", "did you mean ctr?"),
    ("/v1/models/nobody", "there is no model of this name", "GET /v1/models lists the models"),
    ("/v1/models/" + "ctr" * 100, "there is no model of this name", "GET /v1/models lists the models"),
    ("/v1/models/", "there is no model of this name", "GET /v1/models lists the models"),
    ("/v1/models/items:predict", "there is no model of this name", "write /v1/indexes/items"),
    ("/v1/indexes/itmes:search", "there is no index of this name", "did you mean items?"),
    ("/v1/indexes/x", "there is no index of this name", "GET /v1/indexes lists the indexes"),
    ("/v1/models/ctr/versions/2:predict", "version 2 is not served; version 1 is", None),
    ("/v1/models/ctr/versions/2:nothing", "version 2 is not served; version 1 is", None),
    ("/v1/indexes/items/versions/1:search", "an index has no versions: leave /versions/1 out", None),
    ("/v1/models/ctr:preditc", "nothing is served at this path", "did you mean :predict?"),
    ("/v1/indexes/items:serach", "nothing is served at this path", "did you mean :search?"),
    ("/v1/models/ctr/predict", "nothing is served at this path", "write /v1/models/ctr:predict"),
    ("/v1/models/ctr/versions/1/predict", "nothing is served at this path", "write /v1/models/ctr:predict"),
    ("/v1/indexes/items/search", "nothing is served at this path", "write /v1/indexes/items:search"),
    ("/v1/models/ctr/", "nothing is served at this path", "write /v1/models/ctr"),
    ("/v1/models/ctr/metadata", "nothing is served at this path", "GET /v1/models/ctr describes the model"),
    ("/v1/models/ctr:classify", "nothing is served at this path", "/openapi.json lists the paths"),
    ("/health", "nothing is served at this path", "did you mean /healthz?"),
    ("/v1/model", "nothing is served at this path", "did you mean /v1/models?"),
    ("/nothing", "nothing is served at this path", "/openapi.json lists the paths"),
]


def test_mistyped_paths(folder):
    """What is not there is answered with what was meant."""
    model, (index, _) = train_events(folder), build_index(folder, "items", 400, 8)
    with Server("--model", f"ctr={model}", "--index", f"items={index}") as server:
        for path, text, hint in MISTYPED:
            for method in ("GET", "POST"):
                status, headers, body = server.request(method, path)
                problem = json.loads(body)
                assert (status, problem["detail"], problem.get("hint")) == (404, text, hint), (method, path, problem)
                assert problem["code"] == "E_NOT_FOUND" and headers["content-type"] == "application/problem+json", problem
        assert server.request("GET", "/v1/models/ctr:predict")[0] == 405


def test_what_is_wrong_with_a_token(folder):
    with Server("--model", f"ctr={train_events(folder)}", "--token-file", write_token(folder)) as server:
        for given, text in [(None, "this needs a token: send the header Authorization: Bearer TOKEN"),
                            (TOKEN, "the header Authorization is not of the form Authorization: Bearer TOKEN"),
                            (f"Basic {TOKEN}", "the header Authorization is not of the form Authorization: Bearer TOKEN"),
                            ("Bearer wrong-horse", "the token is not the one in the first line of the server's token file")]:
            status, problem = server.get("/v1/models", {"Authorization": given} if given else {})
            assert status == 401 and problem["detail"] == text, (given, problem)


# ---- Pages of other sites ----


def test_other_sites(folder):
    """Without a token, on loopback: a browser must not be made to ask by another site's page."""
    with Server("--model", f"ctr={train_events(folder)}") as server:
        here = f"127.0.0.1:{server.port}"
        for headers, status in [
                ({"Host": here}, 200), ({"Host": f"localhost:{server.port}"}, 200), ({"Host": f"[::1]:{server.port}"}, 200),
                ({"Host": "127.0.0.1"}, 200), ({"Host": "localhost"}, 200), ({"Host": "LocalHost"}, 200), ({"Host": "127.1.2.3"}, 200),
                ({"Host": "evil.example"}, 403), ({"Host": f"evil.example:{server.port}"}, 403),
                ({"Host": "127.evil.example"}, 403), ({"Host": "127.0.0.1.evil.example"}, 403),
                ({"Host": "localhost.evil.example"}, 403), ({"Host": "[::1].evil.example"}, 400), ({"Host": "localhost:evil"}, 400),
                ({"Host": "127.0.0.1@evil.example"}, None), ({"Host": "10.0.0.1"}, 403), ({"Host": "[::]"}, 403),
                ({"Host": here, "Origin": f"http://{here}"}, 200), ({"Host": here, "Origin": f"https://{here}"}, 200),
                ({"Host": here, "Origin": "http://evil.example"}, 403), ({"Host": here, "Origin": "null"}, 403),
                ({"Host": here, "Origin": "http://127.0.0.1"}, 403),
                ({"Host": here, "Origin": f"http://127.0.0.1:{server.port + 1}"}, 403),
                ({"Host": here, "Origin": f"http://{here}.evil.example"}, 403),
                ({"Host": here, "Origin": f"http://evil.example/{here}"}, 403), ({"Host": here, "Origin": ""}, 403),
                ({"Host": "evil.example", "Origin": "http://evil.example"}, 403)]:
            for method, path, body in [("GET", "/v1/models", ""), ("POST", "/v1/models/ctr:predict", json.dumps({"instances": [ROW]}))]:
                lines = "".join(f"{name}: {text}\r\n" for name, text in headers.items())
                found, came = raw(server, f"{method} {path} HTTP/1.1\r\n{lines}Content-Length: {len(body)}\r\n\r\n{body}".encode())
                assert found == status or (status is None and found in (400, 403)), (headers, method, found, came)
                assert b"access-control-allow" not in came.lower(), "other sites' pages may read it"


def test_preflight(folder):
    with Server("--model", f"ctr={train_events(folder)}") as server:
        status, headers, _ = server.request("OPTIONS", "/v1/models/ctr:predict", headers={
            "Origin": "http://evil.example", "Access-Control-Request-Method": "POST"})
        assert status in (403, 405) and not any(name.startswith("access-control") for name in headers), (status, headers)


def ask(server, headers, method="GET", path="/v1/models"):
    """Returns (status, headers of the answer, body) of a request with exactly these headers."""
    lines = "".join(f"{name}: {text}\r\n" for name, text in headers.items())
    status, came = raw(server, f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode())
    head, _, body = came.partition(b"\r\n\r\n")
    fields = [line.split(": ", 1) for line in head.decode().split("\r\n")[1:]]
    return status, {name.lower(): text for name, text in fields}, body


ADDRESSES = ["10.0.0.1", "10.0.0.1:8080", "[::1]", "[2001:db8::7]:8080", "127.0.0.1", "0.0.0.0", "localhost", "LOCALHOST:80"]
NAMES = ["evil.example", "evil.example:80", "10.0.0.1.evil.example", "1.2.3", "0x7f.1", "2130706433", "a", ""]


def test_names_on_all_addresses(folder):
    """DNS rebinding: on an address that others reach, too, only addresses and names that were given are answered."""
    index, _ = build_index(folder, "items", 400, 8)
    words = ["--index", f"items={index}", "--writable", "items", "--insecure"]
    with Server(*words, listen="0.0.0.0:0") as server:
        for host in ADDRESSES:
            assert ask(server, {"Host": host}, path="/v1/indexes")[0] == 200, host
        for host in NAMES:
            for path in ("/v1/indexes", "/", "/healthz", "/metrics", "/nothing"):
                status, _, body = ask(server, {"Host": host}, path=path)
                assert status == 403 and b"--allowed-host" in body, (host, path, status, body)
            status, answer = server.post("/v1/indexes/items:remove", {"ids": [1]}, {"Host": host, "Origin": f"http://{host}"})
            assert status == 403, (host, answer)
        assert server.get("/v1/indexes/items")[1]["vectors"] == 400
    with Server(*words, "--allowed-host", "search.example", "--allowed-host", "Other.Example:81", listen="0.0.0.0:0") as server:
        for host, status in [("search.example", 200), ("SEARCH.example:9999", 200), ("other.example:81", 200),
                             ("other.example", 403), ("other.example:82", 403), ("a.search.example", 403),
                             ("search.example.evil", 403), ("10.0.0.1", 200), ("localhost", 200)]:
            assert ask(server, {"Host": host}, path="/v1/indexes")[0] == status, host
        page = {"Host": "search.example", "Origin": "http://search.example"}
        assert server.post("/v1/indexes/items:remove", {"ids": [1]}, page)[0] == 200
        page["Origin"] = "http://evil.example"
        assert server.post("/v1/indexes/items:remove", {"ids": [2]}, page)[0] == 403


def test_given_names_count_with_a_token(folder):
    token = {"Authorization": f"Bearer {TOKEN}"}
    with Server("--model", f"ctr={train_events(folder)}", "--token-file", write_token(folder), "--allowed-host",
                "models.example") as server:
        for host, status in [("models.example", 200), ("127.0.0.1", 200), ("evil.example", 403), ("10.0.0.1", 403)]:
            assert ask(server, {"Host": host, **token})[0] == status, host
            assert ask(server, {"Host": host}, path="/healthz")[0] == status, host
    with Server("--model", f"ctr={folder}/fm.model", "--allowed-host", "models.example") as server:
        assert ask(server, {"Host": "models.example"})[0] == 200, "also on loopback"
        assert ask(server, {"Host": "evil.example"})[0] == 403


ALLOW = ["access-control-allow-origin", "access-control-allow-methods", "access-control-allow-headers"]


def test_allowed_origins(folder):
    """Pages of given sites may ask and read; preflights of theirs are answered, also without the token."""
    model, origins = train_events(folder), ["https://shop.example", "http://dev.example:3000"]
    given = [word for origin in origins for word in ("--allowed-origin", origin)]
    preflight = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
    for words, token in [([], {}), (["--token-file", write_token(folder)], {"Authorization": f"Bearer {TOKEN}"})]:
        with Server("--model", f"ctr={model}", *given, *words) as server:
            host = {"Host": f"127.0.0.1:{server.port}"}
            for origin in [*origins, "HTTPS://SHOP.EXAMPLE"]:
                page = {**host, "Origin": origin}
                allowed = next(o for o in origins if o == origin.lower())
                for path, status in [("/v1/models", 200), ("/v1/models/x", 404), ("/metrics", 200)]:
                    found, headers, _ = ask(server, {**page, **token}, path=path)
                    assert found == status and headers[ALLOW[0]] == allowed and headers["vary"] == "Origin", (path, found, headers)
                for path in ("/v1/models/ctr:predict", "/nothing"):
                    status, headers, body = ask(server, {**page, **preflight}, "OPTIONS", path)
                    assert status == 204 and headers[ALLOW[0]] == allowed and "POST" in headers[ALLOW[1]], (status, headers)
                    assert "Authorization" in headers[ALLOW[2]] and body == b"" and "content-length" not in headers
                if token:
                    status, headers, _ = ask(server, page)
                    assert status == 401 and headers[ALLOW[0]] == allowed, "the page may read what is wrong"
                # a request that the server itself refuses
                status, headers, _ = ask(server, {**page, **token, "Content-Length": str(1 << 40)}, "POST", "/v1/models/ctr:predict")
                assert status == 413 and headers[ALLOW[0]] == allowed, (status, headers)
            for origin in ("https://evil.example", "http://shop.example", "https://shop.example:81", "https://shop.example.evil",
                           "https://a.shop.example", "null", ""):
                page = {**host, "Origin": origin}
                status, headers, _ = ask(server, {**page, **token})
                assert status == (200 if token else 403) and ALLOW[0] not in headers, (origin, status, headers)
                status, headers, _ = ask(server, {**page, **preflight}, "OPTIONS", "/v1/models/ctr:predict")
                assert status in (401, 403) and ALLOW[0] not in headers, (origin, status, headers)
            rebound = {"Host": "evil.example", "Origin": origins[0]}
            assert ask(server, {**rebound, **preflight}, "OPTIONS")[0] == (204 if token else 403)


# ---- Paths ----

PATHS = ["/../etc/passwd", "/..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/v1/models/../../etc/passwd",
         "/v1/models/..%2f..%2fetc%2fpasswd:predict", "/v1/models/ctr/../ctr:predict", "/v1/models/%63tr", "/v1/models/ctr%00",
         "/v1/models/ctr%3Apredict", "//v1/models", "/v1//models", "/v1/models/", "/v1/models/.", "/v1/models/..",
         "/./v1/models", "/v1/models/ctr/", "/v1/models/ctr/versions/", "/v1/models/ctr/versions/-1",
         "/v1/models/ctr/versions/99999999999999999999", "/v1/models/ctr/versions/18446744073709551617:predict",
         "/v1/models/ctr/versions/01/versions/1", "/%", "/%zz", "/\\..\\..\\etc\\passwd", "/v1/indexes/ctr", "/page.html",
         "/index.html", "/.git/config", "/openapi.json/", "/metrics/", "/healthz/../metrics"]


def test_paths(folder):
    """A path is compared with names; nothing of it reaches the file system."""
    with Server("--model", f"ctr={train_events(folder)}") as server:
        for path in PATHS:
            for method in ("GET", "POST"):
                status, came = raw(server, f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n".encode())
                assert status in (400, 404, 405), (method, path, status, came[:300])
                assert b"root:" not in came and folder.encode() not in came
        for data in (b"GET /\0 HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET /v1/models\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
                     b"GET http://evil.example/v1/models HTTP/1.1\r\nHost: localhost\r\n\r\n"):
            status, came = raw(server, data)
            assert status in (400, 403, 404, 421), (data, status)


def test_long_heads(folder):
    with Server("--model", f"ctr={train_events(folder)}") as server:
        start = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
        assert raw(server, f"{start}X: {'x' * 20000}\r\n\r\n".encode())[0] == 431
        assert raw(server, (start + "".join(f"X-{i}: {i}\r\n" for i in range(5000)) + "\r\n").encode())[0] == 431
        assert raw(server, f"GET /{'x' * 20000} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())[0] in (414, 431)
        assert raw(server, f"{start}X: {'x' * 1000000}".encode())[0] == 431
        assert raw(server, f"{start}Authorization: Bearer {'x' * 5000}\r\n\r\n".encode())[0] == 200
        assert server.get("/healthz")[0] == 200


# ---- Answers ----


def everything(server):
    """Asks for all there is in right and wrong ways; yields (request, body of the answer)."""
    bodies = ["", "{", "{}", "[]", '{"instances": [{"x": 1}]}', '{"instances": [{"price": "x"}]}', '{"rows": ["x"]}',
              '{"instances": ["1 9999:1"]}', '{"users": ["nobody"]}', '{"items": ["nobody"]}', '{"ids": [999999]}',
              '{"vectors": [[1]]}', '{"names": ["x"]}', '{"vectors": [[1e999]]}', '{"top": -1}', '{"k": 1e9, "ids": [1]}']
    calls = ["/v1/models/ctr" + verb for verb in (":predict", ":explain", ":recommend", ":similar", ":reload", ":x", "")]
    calls += ["/v1/indexes/items" + verb
              for verb in (":search", ":add", ":remove", ":checkpoint", ":curve", ":reload", ":x", "")]
    for path in calls:
        for body in bodies:
            yield f"POST {path} {body}", server.request("POST", path, body, {"Content-Type": "application/json"})[2]
        yield f"POST {path} raw", server.request("POST", path, b"\1\2\3", {"Content-Type": "application/octet-stream"})[2]
    for path in ["/", "/v1/models", "/v1/models/ctr", "/v1/indexes", "/v1/indexes/items", "/metrics", "/healthz", "/readyz",
                 "/openapi.json", "/x", "/v1/models/x", "/v1/indexes/x"]:
        yield f"GET {path}", server.request("GET", path)[2]


def test_no_paths_in_answers(folder):
    """Answers do not tell where files are, not even when a newer version of them cannot be loaded."""
    model, (index, _) = train_events(folder), build_index(folder, "items", 400, 8)
    secret = os.path.basename(folder).encode()
    with Server("--model", f"ctr={model}", "--index", f"items={index}", "--seen", f"ctr={folder}/log.csv", "--watch",
                "0") as server:
        for request, body in everything(server):
            assert secret not in body, (request, body)
        with open(f"{model}/dictionary.furrow", "r+b") as file:
            file.truncate(7)
        with open(index, "r+b") as file:
            file.truncate(100)
        assert server.post("/v1/models/ctr:reload", {})[0] == 409
        assert server.post("/v1/indexes/items:reload", {})[0] == 409
        for request, body in everything(server):
            assert secret not in body, (request, body)
        for path in (f"{model}/dictionary.furrow", index):
            os.remove(path)
        assert server.post("/v1/models/ctr:reload", {})[0] == 409
        assert server.post("/v1/indexes/items:reload", {})[0] == 409
        for request, body in everything(server):
            assert secret not in body, (request, body)
        assert server.get("/readyz")[0] == 200, "the versions before are served still"


def test_other_names_with_a_token(folder):
    """With a token any name will do: a page of another site does not have the token."""
    with Server("--model", f"ctr={train_events(folder)}", "--token-file", write_token(folder)) as server:
        assert server.get("/v1/models", {"Host": "models.example"})[0] == 401
        token = {"Authorization": f"Bearer {TOKEN}"}
        assert server.get("/v1/models", {"Host": "models.example", **token})[0] == 200
        assert server.get("/v1/models", {"Origin": "http://page.example", **token})[0] == 200


if __name__ == "__main__":
    furrow_server.run(globals())
