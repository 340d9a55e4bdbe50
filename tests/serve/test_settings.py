"""Options and the configuration file of furrow serve: what is refused, and how they merge."""
import json
import os
import subprocess

import furrow_server
from furrow_server import PROGRAM, Server, build_index, train_events


def start(*words):
    """Runs the program until it fails; returns (exit code, what it printed)."""
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr


def refused(code, text, *words):
    found, printed = start(*words)
    assert found == code and text in printed, f"{words}: code {found}, {printed!r}, not {code}, {text!r}"
    assert len(printed.strip().split("\n")) <= 2, f"more than a message and a hint: {printed!r}"


def write(path, value, mode=0o600):
    with open(path, "w") as file:
        file.write(value if isinstance(value, str) else json.dumps(value))
    os.chmod(path, mode)
    return path


# ---- Options ----

LONG = "a" * 64
OPTIONS = [
    ("nothing to serve: give --model NAME=DIR or --index NAME=FILE", []),
    ("NAME=PATH (ctr)", ["--model", "ctr"]),
    ("NAME=PATH (ctr=)", ["--model", "ctr="]),
    ("does not begin with a name", ["--model", "=x"]),
    ("does not begin with a name", ["--model", "a b=x"]),
    ("does not begin with a name", ["--model", "a/b=x"]),
    ("does not begin with a name", ["--model", "..=x"]),
    ("does not begin with a name", ["--model", "-a=x"]),
    ("does not begin with a name", ["--index", "é=x"]),
    ("does not begin with a name", ["--index", f"{LONG}=x"]),
    ("two models have the same name (a)", ["--model", "a=x", "--model", "a=y"]),
    ("two indexes have the same name (a)", ["--index", "a=x", "--index=a=y"]),
    ("--writable: no served index has this name (b)", ["--index", "a=x", "--writable", "b"]),
    ("--writable: no served index has this name (m)", ["--model", "m=x", "--writable", "m"]),
    ("--items: no served model has this name", ["--model", "a=x", "--items", "b=f.csv:title"]),
    ("--items takes NAME=FILE (f.csv)", ["--model", "a=x", "--items", "f.csv"]),
    ("--seen: no served model has this name", ["--index", "a=x", "--seen", "a=log.csv"]),
    ("--max-body 1023 is not from 1024", ["--model", "a=x", "--max-body", "1023"]),
    ("--max-body 0 is not from 1024", ["--model", "a=x", "--max-body", "0"]),
    ("--max-memory 0 is not from 1024", ["--model", "a=x", "--max-memory", "0"]),
    ("--max-rows 0 is not from 1", ["--model", "a=x", "--max-rows", "0"]),
    ("--max-results 0 is not from 1", ["--model", "a=x", "--max-results", "0"]),
    ("--max-queue 0 is not from 1", ["--model", "a=x", "--max-queue", "0"]),
    ("--max-connections 0 is not from 1", ["--model", "a=x", "--max-connections", "0"]),
    ("--checkpoint-after 0 is not from 1", ["--index", "a=x", "--checkpoint-after", "0"]),
    ("--max-fresh 0 is not from 1", ["--index", "a=x", "--max-fresh", "0"]),
    ("--timeout 0 is not more than 0", ["--model", "a=x", "--timeout", "0"]),
    ("--timeout -1 is not more than 0", ["--model", "a=x", "--timeout=-1"]),
    ("--idle-timeout 0 is not more than 0", ["--model", "a=x", "--idle-timeout", "0"]),
    ("--drain -1 is not 0 or more", ["--model", "a=x", "--drain=-1"]),
    ("--checkpoint-seconds 0 is not more than 0", ["--index", "a=x", "--checkpoint-seconds", "0"]),
    ("at most 1000000 seconds", ["--model", "a=x", "--timeout", "1e7"]),
    ("--timeout takes a number (inf)", ["--model", "a=x", "--timeout", "inf"]),
    ("--timeout takes a number (nan)", ["--model", "a=x", "--timeout", "nan"]),
    ("--slow -1 is not 0 or more", ["--model", "a=x", "--slow=-1"]),
    ("--access-log takes one of off|common|json (xml)", ["--model", "a=x", "--access-log", "xml"]),
    ("--access-log-file needs --access-log", ["--model", "a=x", "--access-log-file", "x"]),
    ("--ready takes one of loaded|writable (always)", ["--model", "a=x", "--ready", "always"]),
    ("--allowed-host takes NAME or NAME:PORT (a:b)", ["--model", "a=x", "--allowed-host", "a:b"]),
    ("--allowed-host takes NAME or NAME:PORT (http://a)", ["--model", "a=x", "--allowed-host", "http://a"]),
    ("--allowed-host takes NAME or NAME:PORT (*)", ["--model", "a=x", "--allowed-host", "a", "--allowed-host", "*"]),
    ("--allowed-host takes NAME or NAME:PORT (a,b)", ["--model", "a=x", "--allowed-host", "a,b"]),
    ("--allowed-origin takes http:// or https://", ["--model", "a=x", "--allowed-origin", "shop.example"]),
    ("--allowed-origin takes http:// or https://", ["--model", "a=x", "--allowed-origin", "https://shop.example/"]),
    ("--allowed-origin takes http:// or https://", ["--model", "a=x", "--allowed-origin", "*"]),
    ("--allowed-origin takes http:// or https://", ["--model", "a=x", "--allowed-origin", "https://"]),
    ("did you mean --max-body?", ["--model", "a=x", "--max-bdy", "1"]),
]
# Others than this machine may reach these.
ADDRESSES = ["0.0.0.0:0", "[::]:0", ":0", "10.1.2.3:80", "example.com:80", "127.0.0.1.example.com:80",
             "localhost.example.com:80", "127.example.com:80", "128.0.0.1:80"]


def test_options(folder):
    for text, words in OPTIONS:
        refused(2, text, *words)


def test_addresses(folder):
    for address in ADDRESSES:
        text = f"without a host, --listen means all addresses, which other machines can reach ({address})" if address[0] == ":" else \
            f"other machines can reach this address ({address})"
        refused(2, f"{text}\nhint: --listen 127.0.0.1:{address.split(':')[-1]} is reachable only from this machine; for other machines give "
                "--token-file FILE, or --insecure", "--model", "a=x", "--listen", address)
    for address, hint in [("8099", "127.0.0.1:8099 is reachable"), ("8080x", "127.0.0.1:8080 is reachable"), ("localhost", "127.0.0.1:8080 is reachable"),
                          (":", "127.0.0.1:8080 is reachable"), ("127.0.0.1:65536", "127.0.0.1:8080 is reachable"),
                          ("127.0.0.1:", "127.0.0.1:8080 is reachable"), ("::1:80", "in brackets: [::1]:8080"), ("::1", "in brackets")]:
        for words in ([], ["--insecure"]):
            refused(2, f"furrow: --listen takes HOST:PORT ({address})\nhint: ", "--model", "a=x", "--listen", address, *words)
            refused(2, hint, "--model", "a=x", "--listen", address, *words)
    for address in ["127.0.0.1:0", "127.9.8.7:0", "[::1]:0", "localhost:0", "LOCALHOST:0"]:
        code, printed = start("--model", f"a={folder}/absent", "--listen", address)
        assert code not in (0, 2) and "other machines can reach" not in printed, printed
    code, printed = start("--model", f"a={folder}/absent", "--listen", "0.0.0.0:0", "--insecure")
    assert code not in (0, 2) and "other machines can reach" not in printed, printed


def test_version(folder):
    expected = furrow_server.furrow("--version")
    for words in (["--version"], ["-V"], ["--config", f"{folder}/absent", "--version"]):
        assert start(*words) == (0, expected), start(*words)
    assert furrow_server.furrow("serve", "--version") == expected
    refused(7, "version is not a setting", "--config", write(f"{folder}/config.json", '{"version": true}'))


def test_token_files(folder):
    for text, why in [("", "is empty"), ("\n12345678\n", "is empty"), ("1234567\n", "fewer than 8 bytes"),
                      ("1234567\r\n", "fewer than 8 bytes"), ("a" * 1025, "more than 1024 bytes"),
                      ("a" * 5000 + "\n", "more than 1024 bytes"), ("two words\n", "not printable ASCII"),
                      ("tab\ttab\ttab\n", "not printable ASCII"), ("pässwort\n", "not printable ASCII"),
                      ("nul\0nul\0\n", "not printable ASCII")]:
        refused(7, why, "--model", f"a={folder}/absent", "--token-file", write(f"{folder}/token", text))
    refused(3, "the token file cannot be opened", "--model", "a=x", "--token-file", f"{folder}/absent")
    refused(4, "the token file cannot be read", "--model", "a=x", "--token-file", folder)
    _, printed = start("--model", f"a={folder}/absent", "--token-file", write(f"{folder}/token", "12345678", 0o644))
    assert f"others can read the token file {folder}/token (mode 644)" in printed, printed
    _, printed = start("--model", f"a={folder}/absent", "--token-file", write(f"{folder}/token", "12345678", 0o600))
    assert "others can read" not in printed and "the token" not in printed, printed


# ---- The configuration file ----

CONFIGS = [
    (7, "is not a setting", '{"modles": {}}'),
    (7, 'did you mean "models"?', '{"modles": {}}'),
    (7, 'did you mean "max_body"?', '{"max-body": 4096}'),
    (7, 'did you mean "path"?', '{"models": {"a": {"pth": "x"}}}'),
    (7, 'did you mean "writable"?', '{"indexes": {"a": {"path": "x", "writeable": true}}}'),
    (7, "is not a setting", '{"models": {"a": {"path": "x", "writable": true}}}'),
    (7, "config is not a setting", '{"config": "x"}'),
    (7, "writable is not a setting", '{"writable": ["x"]}'),
    (7, "has no \"path\"", '{"models": {"a": {"items": "x:y"}}}'),
    (7, "occurs twice", '{"watch": 1, "watch": 2}'),
    (7, "occurs twice", '{"models": {"a": {"path": "x", "path": "y"}}}'),
    (7, "is not a name", '{"models": {"a=b": "x"}}'),
    (7, "is not a name", '{"models": {"": "x"}}'),
    (7, "is not a name", '{"models": {"../a": "x"}}'),
    (7, "is not a string", '{"models": {"a": 1}}'),
    (7, "is empty", '{"models": {"a": ""}}'),
    (7, "contains a 0 byte", '{"models": {"a": "x\\u0000y"}}'),
    (7, "is not an object", '{"models": ["a"]}'),
    (7, "is not a string", '{"listen": 8080}'),
    (7, "is not a string", '{"token_file": null}'),
    (7, "is not true or false", '{"insecure": 1}'),
    (7, "is not a number", '{"watch": "5"}'),
    (7, "is not a number", '{"timeout": null}'),
    (7, "is not a number", '{"max_rows": [1]}'),
    (7, "is not a number", '{"timeout": 1e999}'),
    (7, "is not a string", '{"allowed_host": [1]}'),
    (7, "is not a string", '{"allowed_host": {}}'),
    (7, "is empty", '{"allowed_origin": [""]}'),
    (2, "--allowed-host takes NAME or NAME:PORT (a/b)", '{"models": {"a": "x"}, "allowed_host": ["a", "a/b"]}'),
    (2, "--watch takes a whole number (1.5)", '{"watch": 1.5}'),
    (2, "--max-body takes a number of bytes", '{"max_body": "many"}'),
    (2, "--threads takes a number up to 1024", '{"threads": 5000}'),
    (2, "--max-body 5 is not from 1024", '{"max_body": 5, "models": {"a": "x"}}'),
    (2, "--max-body 4096 is more than --max-memory 2048",
     '{"max_body": 4096, "max_memory": 2048, "models": {"a": "x"}}'),
    (2, "--max-body 536870912 is more than --max-memory 268435456", '{"max_body": "512MiB", "models": {"a": "x"}}'),
    (2, "two models have the same name (a)", '{"models": {"a": "x", "a": "y"}}'),
    (2, "other machines can reach this address", '{"models": {"a": "x"}, "listen": "0.0.0.0:0"}'),
    (2, "nothing to serve", '{}'),
    (2, "nothing to serve", '{"models": {}, "indexes": {}}'),
    (7, "more text follows", '{} {}'),
    (7, "not an object", '[]'),
    (7, "byte 0", ''),
    (7, "byte", '{"models": {"a": "x"}'),
    (7, "longer than 1 MiB", " " * (1 << 20) + "{}"),
]


def test_configs(folder):
    for code, text, config in CONFIGS:
        refused(code, text, "--config", write(f"{folder}/config.json", config))
    refused(3, "cannot be opened", "--config", f"{folder}/absent.json")
    refused(2, "two models have the same name (a)", "--model", "a=y", "--config",
            write(f"{folder}/config.json", {"models": {"a": "x"}}))


def test_many_sources(folder):
    models = {f"m{i}": "x" for i in range(1025)}
    refused(2, "--model may be given at most 1024 times", "--config", write(f"{folder}/config.json", {"models": models}))


def test_config_serves(folder):
    """Paths are relative to the folder of the file; options win; lists add up."""
    train_events(folder)
    furrow_server.write_items(f"{folder}/items.csv")
    build_index(folder, "vectors", 400, 8)
    build_index(folder, "more", 400, 8)
    write(f"{folder}/token", "of-the-file\nanother line\n")
    config = write(f"{folder}/config.json", {
        "listen": "127.0.0.1:1",
        "models": {"ctr": {"path": "fm.model", "items": "items.csv:title", "seen": f"{folder}/log.csv"}},
        "indexes": {"vectors": {"path": "vectors.index", "writable": True}},
        "allowed_host": ["a.example", "b.example:80"], "allowed_origin": "https://a.example",
        "access_log": "json", "access_log_file": "access.log", "slow": 30, "ready": "writable",
        "token_file": "token", "insecure": False, "watch": 1, "max_body": "2KiB", "max_rows": 3, "timeout": 2.5})
    with Server("--config", config, "--index", f"more={folder}/more.index", "--max-rows=2",
                "--allowed-host", "c.example") as server:
        token = {"Authorization": "Bearer of-the-file"}
        assert server.get("/v1/models")[0] == 401
        for host, status in [("a.example", 200), ("b.example:80", 200), ("c.example", 200), ("d.example", 403)]:
            assert server.get("/v1/models", {"Host": host, **token})[0] == status, host
        headers = server.request("GET", "/v1/models", headers={"Origin": "https://a.example", **token})[1]
        assert headers["access-control-allow-origin"] == "https://a.example", headers
        assert [m["name"] for m in server.get("/v1/models", token)[1]["models"]] == ["ctr"]
        found = {i["name"]: i["writable"] for i in server.get("/v1/indexes", token)[1]["indexes"]}
        assert found == {"vectors": True, "more": False}, found
        status, answer = server.post("/v1/models/ctr:recommend", {"users": ["u1"], "k": 1}, token)
        assert status == 200 and answer["recommendations"][0]["items"][0]["name"].startswith("Title of"), answer
        row = {"user": "u1", "item": "i1", "device": "tv", "price": 1}
        assert server.post("/v1/models/ctr:predict", {"instances": [row] * 2}, token)[0] == 200
        assert server.post("/v1/models/ctr:predict", {"instances": [row] * 3}, token)[0] == 413
        assert server.post("/v1/models/ctr:predict", " " * 2049, token)[0] == 413
    with open(f"{folder}/access.log") as file:
        statuses = [json.loads(line)["status"] for line in file]  # loops write their lines in any order
        assert statuses.count(401) == 1 and statuses.count(413) == 2, statuses
    default = write(f"{folder}/config.json", {"models": {"ctr": "fm.model"}, "max_rows": 3})
    with Server("--config", default, "--max-rows", "10000") as server:  # an option that is as the default wins, too
        assert server.post("/v1/models/ctr:predict", {"instances": [row] * 4})[0] == 200


if __name__ == "__main__":
    furrow_server.run(globals())
