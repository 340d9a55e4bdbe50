"""docs/serving.md and README.md: their commands work, and their requests are answered as they show.

    test_docs.py --update   writes the answers of the service into docs/serving.md: look at the difference

An http block has a request and the answer to it, each a line and a body of JSON:

    POST /v1/models/shop:predict
    {"instances": […]}

    200
    {"predictions": [4.71]}

Numbers with a point count up to the digits that are shown; members of VOLATILE only have to be there. All requests of
the page go to one server, in their order.
"""
import decimal
import json
import os
import re
import subprocess
import sys
import tempfile

from furrow_server import BUILD, Server, free_port, run

SOURCE = os.environ.get("FURROW_SOURCE") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PAGE = f"{SOURCE}/docs/serving.md"
VOLATILE = {"loaded_at", "p50_ms", "p99_ms", "queries_per_second", "recall", "requests", "errors", "bytes", "file_bytes",
            "log_bytes", "digest", "mean_distance", "far_distance"}
BLOCK = re.compile(r"^```http\n(.*?)^```\n", re.M | re.S)


def read(path):
    with open(path) as file:
        return file.read()


def shell_block(text, word):
    """The sh block that has a word."""
    return next(block for block in re.findall(r"^```sh\n(.*?)^```\n", text, re.M | re.S) if word in block)


def bash(script, folder):
    done = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, timeout=300,
                          env={**os.environ, "PATH": f"{os.path.abspath(BUILD)}:{os.environ['PATH']}"})
    assert done.returncode == 0, (script, done.stdout, done.stderr)
    return done.stdout


def calls_block():
    """The lines that make what the requests ask: (the lines before the last, the words behind furrow serve)."""
    lines = shell_block(read(PAGE), "awk").splitlines()
    assert lines[-1].startswith("furrow serve ")
    return "\n".join(lines[:-1]), lines[-1].split()[2:]


# ---- The five lines ----


def run_lines(lines, folder):
    """Runs lines that start the service and ask it, with another port; returns the answers."""
    port = free_port()
    script = lines.replace("localhost:8080", f"localhost:{port}").replace(
        "furrow serve ", f"furrow serve --listen 127.0.0.1:{port} ")
    printed = bash("set -em\n" + script + "wait", folder)
    return [json.loads(answer) for answer in re.findall(r"\{.*?\}(?=\{|\n|$|listening)", printed)]


def test_five_lines_of_the_page(folder):
    bash(calls_block()[0].splitlines()[0], folder)  # the log
    lines = shell_block(read(PAGE), "kill %1")
    assert len(lines.splitlines()) == 5, lines
    answers = run_lines(lines, folder)
    assert [sorted(answer) for answer in answers] == [["predictions"], ["recommendations"]], answers
    assert len(answers[0]["predictions"]) == 1 and 3 < answers[0]["predictions"][0] < 6, answers
    best = answers[1]["recommendations"][0]
    assert best["user"] == "u0" and len(best["items"]) == 3 and best["items"][0]["item"].startswith("tea-"), answers


def test_lines_of_the_readme(folder):
    bash(f"furrow train --model recommender --train {SOURCE}/examples/data/shop.csv --out shop.model -q", folder)
    answers = run_lines(shell_block(read(f"{SOURCE}/README.md"), "kill %1"), folder)
    assert [sorted(answer) for answer in answers] == [["recommendations"], ["similar"]], answers
    best, like = answers[0]["recommendations"][0], answers[1]["similar"][0]
    assert best["user"] == "c001" and len(best["items"]) == 3, answers
    assert like["item"] == "teapot" and len(like["items"]) == 3, answers
    assert {item["item"] for item in like["items"]} & {"green tea", "black tea", "tea strainer", "kettle", "tea cup"}, answers


# ---- Configuration files ----


def test_configuration_files(folder):
    """That of the page and that of packaging/, with another port and other paths."""
    bash(calls_block()[0] + "\ncp -r shop.model ctr.model", folder)
    page = re.search(r"^```json\n(.*?)^```\n", read(PAGE), re.M | re.S)[1]
    example = read(f"{SOURCE}/packaging/serve.json").replace("/var/lib/furrow", folder)
    for text, model in (page, "shop"), (example, "ctr"):
        with open(f"{folder}/serve.json", "w") as file:
            file.write(text.replace("127.0.0.1:8080", "127.0.0.1:0"))
        with Server("--config", f"{folder}/serve.json", listen=None) as server:
            assert server.get(f"/v1/models/{model}")[0] == 200
            status, index = server.get("/v1/indexes/items")
            assert status == 200 and index["writable"], index


# ---- Requests ----


def ask(server, request):
    """Sends the request of a block; returns (status, text of the body)."""
    head, _, body = request.partition("\n")
    method, path = head.split()
    status, headers, answer = server.request(method, path, body or None, {"Content-Type": "application/json"})
    assert "json" in headers["content-type"], headers
    return status, answer.decode()


def load(text):
    return json.loads(text, parse_float=decimal.Decimal)


def equals(shown, found, path=""):
    """Raises where the answer is not what the page shows."""
    where = f"{path}: the page has {shown!r}, the service {found!r}"
    if isinstance(shown, dict):
        assert isinstance(found, dict) and list(shown) == list(found), where
        for key in shown:
            if key not in VOLATILE:
                equals(shown[key], found[key], f"{path}/{key}")
    elif isinstance(shown, list):
        assert isinstance(found, list) and len(shown) == len(found), where
        for i, (a, b) in enumerate(zip(shown, found)):
            equals(a, b, f"{path}/{i}")
    elif isinstance(shown, decimal.Decimal):
        digits = -shown.as_tuple().exponent
        assert isinstance(found, (decimal.Decimal, int)) and abs(shown - found) <= decimal.Decimal(10) ** -digits, where
    else:
        assert shown == found, where


def shorten(value):
    """Numbers with two digits behind the point."""
    if isinstance(value, dict):
        return {key: shorten(member) for key, member in value.items()}
    if isinstance(value, list):
        return [shorten(element) for element in value]
    return float(f"{value:.2f}") if isinstance(value, decimal.Decimal) else value


def show(answer):
    """JSON in lines of about 140 columns, broken between members of the outer object."""
    lines = ["{"]
    for key, value in answer.items():
        member = f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
        separator = "" if lines[-1] == "{" else ", "
        if separator and len(lines[-1]) + len(member) > 140:
            lines[-1] += ","
            lines.append(" " + member)
        else:
            lines[-1] += separator + member
    return "\n".join(lines) + "}"


def with_server(folder, visit):
    make, words = calls_block()
    bash(make, folder)
    served = [re.sub(r"([a-z]+)=(.*)", rf"\1={folder}/\2", word) for word in words]
    with Server(*served) as server:
        return visit(server)


def test_requests_of_the_page(folder):
    blocks = BLOCK.findall(read(PAGE))
    assert len(blocks) >= 12

    def visit(server):
        for block in blocks:
            request, _, answer = block.partition("\n\n")
            status, body = ask(server, request)
            assert answer, f"the page has no answer to {request}"
            shown_status, _, shown = answer.partition("\n")
            assert int(shown_status) == status, (request, status, body)
            equals(load(shown), load(body), request.split("\n")[0])

    with_server(folder, visit)


def update(folder):
    def visit(server):
        def fill(found):
            request = found[1].partition("\n\n")[0].rstrip("\n")
            status, body = ask(server, request)
            return f"```http\n{request}\n\n{status}\n{show(shorten(load(body)))}\n```\n"

        text = BLOCK.sub(fill, read(PAGE))
        with open(PAGE, "w") as file:
            file.write(text)

    with_server(folder, visit)


if __name__ == "__main__":
    if sys.argv[1:] == ["--update"]:
        with tempfile.TemporaryDirectory() as scratch:
            update(scratch)
    else:
        run(globals())
