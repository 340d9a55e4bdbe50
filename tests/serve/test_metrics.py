"""/metrics: the text is what Prometheus reads, counts are right, the dashboard asks for what is there."""
import json
import math
import os
import re
import shutil
import subprocess
import time

import furrow_server
from furrow_server import Server, build_index, train_events

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\\\|\\"|\\n)*"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (\S+)")
NUMBER = re.compile(r"NaN|[+-]Inf|[+-]?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?")


def parse(text):
    """Reads the text format strictly; returns ({family: type}, {(name, labels): value})."""
    types, helps, samples, family, closed = {}, set(), {}, None, set()
    assert text.endswith("\n"), "the last line has no end"
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            name, words = line[7:].split(" ", 1)
            assert re.fullmatch(NAME, name) and name not in helps and words, line
            helps.add(name)
            closed.add(family)
            family = name
        elif line.startswith("# TYPE "):
            name, kind = line[7:].split(" ")
            assert name == family and name not in types and kind in ("counter", "gauge", "histogram"), line
            types[name] = kind
        else:
            found = SAMPLE.fullmatch(line)
            assert found and NUMBER.fullmatch(found[3]), f"not a sample: {line!r}"
            name, labels = found[1], tuple(re.findall(rf"({NAME})=\"((?:[^\"\\\\]|\\\\.)*)\"", found[2] or ""))
            base = re.sub("_(bucket|sum|count)$", "", name) if types.get(family) == "histogram" else name
            assert base == family and family in types and family not in closed, f"outside of its family: {line}"
            assert len(dict(labels)) == len(labels) and (name, labels) not in samples, f"twice: {line}"
            samples[name, labels] = float(found[3].replace("Inf", "inf"))
    assert helps == set(types)
    for name, kind in types.items():
        assert not kind == "counter" or name.endswith("_total"), name
    return types, samples


def check_histograms(types, samples):
    seen = 0
    for family in (name for name, kind in types.items() if kind == "histogram"):
        series = {}
        for (name, labels), value in samples.items():
            if name == family + "_bucket":
                rest = tuple(pair for pair in labels if pair[0] != "le")
                series.setdefault(rest, []).append((float(dict(labels)["le"].replace("Inf", "inf")), value))
        for rest, buckets in series.items():
            bounds, counts = [b for b, _ in buckets], [c for _, c in buckets]
            assert bounds == sorted(set(bounds)) and bounds[-1] == math.inf, bounds
            assert counts == sorted(counts), f"not cumulative: {rest} {counts}"
            assert counts[-1] == samples[family + "_count", rest], rest
            total = samples[family + "_sum", rest]
            assert total >= 0 and (total > 0) == (counts[-1] > 0), (rest, total)
            seen += 1
    return seen


def read(server):
    status, headers, body = server.request("GET", "/metrics")
    assert status == 200 and headers["content-type"].startswith("text/plain; version=0.0.4"), headers
    types, samples = parse(body.decode())
    assert check_histograms(types, samples) > 0
    return types, samples


def value(samples, metric, /, **labels):
    found = [v for (name, pairs), v in samples.items() if name == metric and labels.items() <= dict(pairs).items()]
    assert found, (metric, labels)
    return sum(found)


def wait_for(server, expected, metric, /, **labels):
    """An answer is counted when it is written, which may be after the client has read it."""
    for _ in range(3000):
        samples = read(server)[1]
        found = [v for (name, pairs), v in samples.items() if name == metric and labels.items() <= dict(pairs).items()]
        if sum(found) >= expected:
            break
        time.sleep(0.02)
    assert sum(found) == expected, (metric, labels, found, expected)
    return samples


def test_text(folder):
    model, (index, _) = train_events(folder), build_index(folder, "items", 400, 8)
    with Server("--model", f"ctr={model}", "--model", f"a-b.c={model}", "--index", f"items={index}") as server:
        types, samples = read(server)
        for kind, name, calls in [("model", "ctr", "predict explain recommend similar reload other"),
                                  ("model", "a-b.c", "predict"), ("index", "items", "search add remove reload checkpoint curve other"),
                                  ("other", "", "other")]:
            for call in calls.split():  # from the start, so that rates see the first request
                assert value(samples, "furrow_requests_total", kind=kind, name=name, call=call, code="200") >= 0
                assert value(samples, "furrow_rows_total", kind=kind, name=name, call=call) == 0
        assert not any(dict(labels).get("kind") == "model" and dict(labels).get("call") == "search"
                       for _, labels in samples), "a call that models do not have"
        assert value(samples, "furrow_model_version", name="ctr") == 1
        assert abs(value(samples, "furrow_model_loaded_timestamp_seconds", name="ctr") - time.time()) < 120
        assert value(samples, "furrow_model_reload_failed", name="ctr") == 0
        assert value(samples, "furrow_index_vectors", name="items") == 400
        assert value(samples, "furrow_index_version", name="items") == 1
        assert value(samples, "furrow_index_fresh", name="items") == 0
        assert value(samples, "furrow_connections") >= 1
        assert abs(value(samples, "process_resident_memory_bytes") - server.memory()) < 32 << 20
        assert 5 <= value(samples, "process_open_fds") <= value(samples, "process_max_fds")
        assert 0 <= time.time() - value(samples, "process_start_time_seconds") < 120
        assert 0 < value(samples, "process_cpu_seconds_total") < 60
        assert value(samples, "furrow_build_info") == 1
        status, headers, body = server.request("HEAD", "/metrics")
        assert status == 200 and body == b""
        check_promtool(server)
        check_dashboard(types, samples)


def check_promtool(server):
    """Prometheus's own reader, where it is installed."""
    tool = os.environ.get("FURROW_PROMTOOL") or shutil.which("promtool")
    if not tool:
        print("skipped promtool: it is not installed")
        return
    text = server.request("GET", "/metrics")[2]
    done = subprocess.run([tool, "check", "metrics"], input=text, capture_output=True)
    assert done.returncode == 0 and not done.stderr, done.stderr


def check_dashboard(types, samples):
    """Every metric and label of the dashboard's queries is there."""
    with open(f"{SOURCE}/docs/serving/grafana.json") as file:
        dashboard = json.load(file)
    names = {name for name, _ in samples}
    labels = {key for _, pairs in samples for key, _ in pairs} | {"instance"}
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    queries.append(dashboard["templating"]["list"][1]["query"])
    used = set()
    for query in queries:
        found = re.findall(r"\b(?:furrow|process)_[a-z_]+", query)
        assert found and set(found) <= names, f"{query}: {set(found) - names}"
        used |= set(found)
        for group in re.findall(r"by \(([^)]*)\)", query):
            assert set(group.split(", ")) <= labels, query
        for key in re.findall(r'[{ ,](\w+)=~?"', query):
            assert key in labels, query
    families = {re.sub("_(bucket|sum|count)$", "", name) for name in used}
    assert families == set(types), f"not on the dashboard: {set(types) - families}"
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    for panel in dashboard["panels"]:  # a constant 1 is not drawn beside seconds
        texts = [target["expr"] for target in panel["targets"]]
        assert len(texts) == 1 or not any("furrow_build_info" in text for text in texts), panel["title"]
    places = [panel["gridPos"] for panel in dashboard["panels"]]
    for i, a in enumerate(places):
        for b in places[:i]:
            assert a["x"] + a["w"] <= b["x"] or b["x"] + b["w"] <= a["x"] or a["y"] + a["h"] <= b["y"] or b["y"] + b["h"] <= a["y"], (a, b)


def test_counts(folder):
    model = train_events(folder)
    row = {"user": "u1", "item": "i1", "device": "tv", "price": 1}
    with Server("--model", f"ctr={model}", "--max-rows", "5") as server:
        target = {"kind": "model", "name": "ctr", "call": "predict"}
        connection = server.connect()
        for _ in range(20):
            assert server.post("/v1/models/ctr:predict", {"instances": [row] * 3}, connection=connection)[0] == 200
        connection.close()
        assert server.post("/v1/models/ctr:predict", {"instances": [row] * 6})[0] == 413
        assert server.post("/v1/models/ctr:predict", "{")[0] == 400
        wait_for(server, 20, "furrow_requests_total", code="200", **target)
        wait_for(server, 1, "furrow_requests_total", code="413", **target)
        samples = wait_for(server, 1, "furrow_requests_total", code="400", **target)
        assert value(samples, "furrow_request_duration_seconds_count", **target) == 22
        assert 60 <= value(samples, "furrow_rows_total", **target) <= 66
        assert value(samples, "furrow_request_bytes_total", **target) > 20 * 3 * 50
        assert value(samples, "furrow_response_bytes_total", **target) > 20 * 100
        assert server.get("/v1/models/nobody:predict")[0] == 404
        assert server.get("/nothing")[0] == 404
        wait_for(server, 2, "furrow_requests_total", kind="other", code="404")
        assert server.get("/v1/models/ctr:nothing")[0] == 404
        wait_for(server, 1, "furrow_requests_total", kind="model", name="ctr", call="other", code="404")
        shown = server.get("/v1/models/ctr")[1]
        assert shown["requests"] >= 22 and shown["errors"] >= 2, shown
        assert 0 < shown["p50_ms"] <= shown["p99_ms"] < 10000, shown


def test_reload_failures(folder):
    model = train_events(folder)
    with Server("--model", f"ctr={model}", "--watch", "0") as server:
        with open(f"{model}/dictionary.furrow", "r+b") as file:
            file.truncate(5)
        status, problem = server.post("/v1/models/ctr:reload", {})
        assert status == 409, (status, problem)
        samples = read(server)[1]
        assert value(samples, "furrow_model_reload_failed", name="ctr") == 1
        assert value(samples, "furrow_model_version", name="ctr") == 1


def test_edits(folder):
    index, vectors = build_index(folder, "items", 400, 8)
    with Server("--index", f"items={index}", "--writable", "items") as server:
        assert server.post("/v1/indexes/items:add", {"vectors": vectors[:3]})[0] == 200
        assert server.post("/v1/indexes/items:remove", {"ids": [1, 2]})[0] == 200
        samples = read(server)[1]
        for name, expected in [("vectors", 401), ("fresh", 3), ("removed", 2), ("additions_total", 3),
                               ("removals_total", 2), ("checkpoints_total", 0), ("checkpoint_failures_total", 0)]:
            assert value(samples, f"furrow_index_{name}", name="items") == expected, name
        assert value(samples, "furrow_index_log_bytes", name="items") > 3 * 32
        wait_for(server, 3, "furrow_rows_total", name="items", call="add")
        assert server.post("/v1/indexes/items:checkpoint", {})[0] == 200
        assert server.post("/v1/indexes/items:curve", {"queries": 5})[0] == 200
        wait_for(server, 1, "furrow_requests_total", name="items", call="checkpoint", code="200")
        wait_for(server, 1, "furrow_requests_total", name="items", call="curve", code="200")
        samples = read(server)[1]
        assert value(samples, "furrow_requests_total", name="items", call="other") == 0
        assert value(samples, "furrow_index_fresh", name="items") == 0
        assert value(samples, "furrow_index_checkpoints_total", name="items") == 1
        assert value(samples, "furrow_index_vectors", name="items") == 401
        assert value(samples, "furrow_index_version", name="items") == 2


if __name__ == "__main__":
    furrow_server.run(globals())
