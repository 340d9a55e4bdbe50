"""furrow serve: POST /v1/models/NAME:predict gives what furrow predict prints."""
import array
import json
import math
import os
import random
from concurrent.futures import ThreadPoolExecutor

from furrow_server import Server, furrow, is_sanitized, run, train_events, train_rows

ROW_MODELS = ["lr", "svm", "linear", "softmax", "fm", "dnn", "mlr", "gbdt"]
FIELD_MODELS = ["ffm", "wide_and_deep", "deepfm", "pnn", "nfm"]


def scores(model, data):
    """(pred, proba, label) of each row, as furrow predict has them: floats."""
    out = f"{model}.f32"
    furrow("predict", "--model", model, "--data", data, "--scores", out, "--force", "-q")
    with open(out, "rb") as file:
        numbers = array.array("f", file.read())
    os.remove(out)
    return [tuple(numbers[i : i + 3]) for i in range(0, len(numbers), 3)]


def is_float(found, wanted):
    return array.array("f", [found])[0] == wanted


def write_rows(path, rows=400, fields=False, classes=2, seed=3):
    """Rows of 5 features of 20, one in each field; returns the lines."""
    draw = random.Random(seed)
    lines = []
    for _ in range(rows):
        indices = [1 + 4 * field + draw.randrange(4) for field in range(5)]
        label = sum(indices) % 4 // 2 if classes == 2 else sum(indices) % classes
        values = [f"{draw.uniform(0.1, 2):.3f}" for _ in indices]
        lines.append(f"{label} " + " ".join((f"{field + 1}:" if fields else "") + f"{index}:{value}"
                                            for field, (index, value) in enumerate(zip(indices, values))))
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")
    return lines


def train(folder, name, data, *words):
    out = f"{folder}/{name}.model"
    furrow("train", "--model", name, "--train", data, "--out", out, "--trees" if name == "gbdt" else "--epochs", 3, "-q", *words)
    return out


def dense_of(line, features=20):
    """The array of a libsvm line: features that it lacks are null."""
    row = [None] * features
    for cell in line.split()[1:]:
        index, value = cell.split(":")
        row[int(index) - 1] = float(value)
    return row


def expect(server, name, request, wanted, numbers):
    """Compares plain answers and detailed ones with the floats of the command."""
    status, answer = server.post(f"/v1/models/{name}:predict", request)
    assert status == 200, answer
    found = answer["predictions"]
    assert len(found) == len(wanted)
    for one, (pred, proba, _) in zip(found, wanted):
        assert is_float(one, pred if numbers else proba), (name, one, pred, proba)
    status, answer = server.post(f"/v1/models/{name}:predict", {**request, "details": True})
    assert status == 200, answer
    for one, (pred, proba, label) in zip(answer["predictions"], wanted):
        assert is_float(one["score"], pred)
        assert ("probability" in one) == (not numbers) == ("label" in one)
        assert numbers or (is_float(one["probability"], proba) and is_float(one["label"], label))


def test_rows_of_every_algorithm(folder):
    lines = write_rows(f"{folder}/rows.libsvm")
    fielded = write_rows(f"{folder}/rows.libffm", fields=True)
    models = {name: train(folder, name, f"{folder}/rows.libsvm") for name in ROW_MODELS}
    for name in FIELD_MODELS:
        models[name] = train(folder, name, f"{folder}/rows.libffm", *(["--fc", "8"] if name != "ffm" else []))
    with Server(*(word for name, model in models.items() for word in ("--model", f"{name}={model}"))) as server:
        for name, model in models.items():
            fields = name in FIELD_MODELS
            rows = (fielded if fields else lines)[:50]
            with open(f"{folder}/some.txt", "w") as file:
                file.write("\n".join(rows) + "\n")
            wanted = scores(model, f"{folder}/some.txt?format={'libffm' if fields else 'libsvm'}")
            if name == "softmax":
                status, answer = server.post("/v1/models/softmax:predict", {"rows": rows, "details": True})
                assert status == 200, answer
                for one, (pred, proba, label) in zip(answer["predictions"], wanted):
                    assert is_float(one["score"], pred) and is_float(max(one["probabilities"]), proba)
                    assert one["label"] == label
                continue
            numbers = name == "linear"
            expect(server, name, {"rows": rows}, wanted, numbers)
            expect(server, name, {"instances": rows}, wanted, numbers)
            expect(server, name, {"instances": rows[:1]}, wanted[:1], numbers)
            if not fields:
                expect(server, name, {"instances": [dense_of(row) for row in rows]}, wanted, numbers)


def several_classes_of(folder, name):
    lines = write_rows(f"{folder}/rows.libsvm", classes=3)
    model = train(folder, name, f"{folder}/rows.libsvm")
    printed = furrow("predict", "--model", model, "--data", f"{folder}/rows.libsvm", "--json", "--probabilities", "-q")
    wanted = [json.loads(line) for line in printed.splitlines()][:20]
    with Server("--model", f"m={model}") as server:
        status, answer = server.post("/v1/models/m:predict", {"rows": lines[:20]})
        assert status == 200
        for found, one in zip(answer["predictions"], wanted):
            assert [f"{p:.9g}" for p in found] == [f"{p:.9g}" for p in one["probabilities"].values()]
            assert abs(sum(found) - 1) < 1e-9
        status, answer = server.post("/v1/models/m:predict", {"rows": lines[:20], "details": True})
        assert [one["label"] for one in answer["predictions"]] == [one["label"] for one in wanted]
        assert all(len(one["probabilities"]) == 3 for one in answer["predictions"])


def test_several_classes(folder):
    for name in ("softmax", "dnn", "deepfm"):
        several_classes_of(folder, name)


def test_rows_of_a_fixed_length(folder):
    """Nets whose layers have a place for each feature do not take a row without features, which is scored at the start."""
    model = train_rows(folder, "deepfm", rows=200, features=5)
    with Server("--model", f"m={model}") as server:
        status, answer = server.post("/v1/models/m:predict", {"instances": [[1, 2, 3, 4, 5], [0, 0, 1, 0, 0.5]]})
        assert status == 200 and all(0 <= p <= 1 for p in answer["predictions"]), answer
        status, answer = server.post("/v1/models/m:predict", {"rows": ["0 1:1"]})
        assert status == 400 and answer["pointer"] == "/rows/0", answer


def write_json_log(path, rows=600):
    """A log with numbers as categories, sets, nested members, names as labels."""
    draw = random.Random(11)
    events = []
    for i in range(rows):
        events.append({"user": draw.randrange(30), "item": f"i{draw.randrange(20)}", "price": round(draw.uniform(0, 9), 2),
                       "tags": draw.sample(["a", "b", "c", "d"], draw.randrange(3)), "new": draw.random() < 0.5,
                       "device": {"os": draw.choice(["x", "y"])}, "note": "n",
                       "answer": draw.choice(["yes", "no"]) if i % 2 else "no"})
    with open(path, "w") as file:
        file.writelines(json.dumps(event) + "\n" for event in events)
    return events


SCHEMA = {"columns": {"answer": {"as": "label", "classes": ["no", "yes"]}, "user": {"as": "category", "role": "user"},
                      "item": {"as": "category", "role": "item"}, "price": {"as": "number"},
                      "tags": {"as": "set", "separator": "|"}, "new": {"as": "category"}, "device.os": {"as": "category"},
                      "note": {"as": "ignore"}}}


def train_json(folder, name="fm"):
    with open(f"{folder}/schema.json", "w") as file:
        json.dump(SCHEMA, file)
    events = write_json_log(f"{folder}/log.jsonl")
    return train(folder, name, f"{folder}/log.jsonl", "--schema", f"{folder}/schema.json"), events


def test_events(folder):
    """Objects are what the lines of a log are, whatever white space and types they have."""
    model, events = train_json(folder)
    wanted = scores(model, f"{folder}/log.jsonl")
    with Server("--model", f"m={model}") as server:
        for indent in (None, 2):
            body = json.dumps({"instances": events}, indent=indent).replace("\n", "\r\n")
            status, answer = server.post("/v1/models/m:predict", body)
            assert status == 200 and "warnings" not in answer, answer
            assert all(is_float(found, one[1]) for found, one in zip(answer["predictions"], wanted, strict=True))
        details = server.post("/v1/models/m:predict", {"instances": events[:40], "details": True})[1]["predictions"]
        assert [one["label"] for one in details] == [["no", "yes"][int(one[2])] for one in wanted[:40]]
        event = events[0]
        spelled = [{**event, "user": str(event["user"])}, {k: v for k, v in event.items() if k not in ("answer", "note")},
                   {**event, "answer": None}, {**event, "answer": "perhaps"}, {**event, "note": {"any": [1, {}]}}]
        answer = server.post("/v1/models/m:predict", {"instances": spelled})[1]
        assert all(is_float(found, wanted[0][1]) for found in answer["predictions"])


def test_events_like_the_command(folder):
    """Missing and unknown values: the score of furrow predict --event, and a warning."""
    model = train_events(folder, rows=600)
    with Server("--model", f"m={model}") as server:
        for event, warned in (({"user": "u1"}, ["item"]), ({"user": "nobody", "item": "i1"}, ["user"]),
                              ({"device": "tv"}, ["user", "item"]), ({"user": "u1", "item": "i1", "price": "NA"}, [])):
            words = [word for pair in event.items() for word in ("--event", f"{pair[0]}={pair[1]}")]
            wanted = json.loads(furrow("predict", "--model", model, *words, "--json", "-q"))
            status, answer = server.post("/v1/models/m:predict", {"instances": [event]})
            assert status == 200 and f"{answer['predictions'][0]:.9g}" == f"{wanted['proba']:.9g}", (answer, wanted)
            assert [f"({name})" in text for name, text in zip(warned, answer.get("warnings", []), strict=True)] == \
                [True] * len(warned)


def test_csv_columns(folder):
    """Names, arrays, missing values: as the csv has them."""
    draw = random.Random(4)
    rows = [[draw.uniform(-1, 1) if draw.random() < 0.9 else None for _ in range(3)] for _ in range(300)]
    with open(f"{folder}/rows.csv", "w") as file:
        file.write("click,a,b,c/d\n")
        for row in rows:
            label = int(sum(value or 0 for value in row) > 0)
            file.write(f"{label}," + ",".join("" if value is None else repr(value) for value in row) + "\n")
    for name in ("gbdt", "lr"):
        model = train(folder, name, f"{folder}/rows.csv")
        wanted = scores(model, f"{folder}/rows.csv")
        with Server("--model", f"m={model}") as server:
            expect(server, "m", {"instances": rows}, wanted, False)
            named = [{"c/d": row[2], "a": row[0], "click": 1, "b": row[1]} for row in rows]
            expect(server, "m", {"instances": named}, wanted, False)
            for instance, pointer, hint in (
                    ({"a": 1, "b": 2}, "/instances/0/c~1d", "null"), ({"a": 1, "b": 2, "c/e": 3}, "/instances/0/c~1e", "c/d"),
                    ({"a": 1, "b": 2, "c/d": "x"}, "/instances/0/c", ""), ({"a": 1, "b": 2, "c/d": 1, "a ": 1}, "/instances/0/a ", ""),
                    ([1, 2], "/instances/0", ""), ([1, 2, 3, 4], "/instances/0", "")):
                status, answer = server.post("/v1/models/m:predict", {"instances": [instance]})
                assert status == 400 and answer["pointer"].startswith(pointer), answer
                assert hint in answer.get("hint", ""), answer
            status, answer = server.post("/v1/models/m:predict", '{"instances":[{"a":1,"a":2,"b":1,"c/d":1}]}')
            assert status == 400 and answer["pointer"] == "/instances/0/a", answer
            assert server.post("/v1/models/m:predict", {"rows": ["1,2,3,4"]})[0] == 422


def test_requests_that_are_wrong(folder):
    model, events = train_json(folder)
    rows = train(folder, "lr", (write_rows(f"{folder}/rows.libsvm"), f"{folder}/rows.libsvm")[1])
    good = events[0]
    cases = [
        ("m", "", 400, None), ("m", "[]", 400, None), ("m", "{}", 400, None), ("m", '{"instances":{}}', 400, "/instances"),
        ("m", '{"instances":[', 400, "/instances/0"), ("m", '{"instances":[]} x', 400, None),
        ("m", {"instances": [good], "rows": []}, 400, None), ("m", {"inputs": {"user": [1]}}, 400, "/inputs"),
        ("m", {"instances": [good], "detail": True}, 400, "/detail"), ("m", {"instances": [good], "details": 1}, 400, "/details"),
        ("m", '{"details":true,"details":false,"instances":[]}', 400, "/details"),
        ("m", {"instances": [good, {**good, "pric": 1}]}, 400, "/instances/1/pric"),
        ("m", {"instances": [good, good, {**good, "price": "dear"}]}, 400, "/instances/2/price"),
        ("m", {"instances": [{**good, "user": [1, 2]}]}, 400, "/instances/0/user"),
        ("m", {"instances": [{}]}, 400, "/instances/0"), ("m", {"instances": [[1, 2]]}, 400, "/instances/0"),
        ("m", {"instances": ["1 2:3"]}, 400, "/instances/0"), ("m", {"rows": ["1 2:3"]}, 400, "/rows/0"),
        ("m", {"instances": [good, None]}, 400, "/instances/1"),
        ("r", {"rows": ["1 1:1", "1 1:x"]}, 400, "/rows/1"), ("r", {"rows": ["1 1:1", "", "1 1:1"]}, 400, "/rows/1"),
        ("r", {"rows": ["1 0:1"]}, 400, "/rows/0"), ("r", {"rows": ["1 1:1\n1 2:1"]}, 400, "/rows/0"),
        ("r", {"rows": ["1 1:1 word"]}, 400, "/rows/0"), ("r", {"rows": ["# 1 1:1"]}, 400, "/rows/0"),
        ("r", {"rows": ["1 1:1", "1:1 2:1 3:1"]}, 400, "/rows/1"), ("r", {"rows": [" 1:1 2:1"]}, 400, "/rows/0"),
        ("r", {"instances": ["1:1"]}, 400, "/instances/0"), ("r", {"rows": [5]}, 400, "/rows/0"),
        ("r", {"instances": [[1] * 19]}, 400, "/instances/0"), ("r", {"instances": [[1] * 21]}, 400, "/instances/0"),
        ("r", {"instances": [[1] * 19 + ["1"]]}, 400, "/instances/0/19"), ("r", {"instances": [[1] * 19 + [1e39]]}, 400, "/instances/0/19"),
        ("r", {"instances": ["1 1:1", [1] * 20]}, 400, "/instances/1"), ("r", {"instances": [{"a": 1}]}, 400, "/instances/0"),
        ("r", '{"instances":[' + "[" * 100 + "]" * 100 + "]}", 400, "/instances/0/0"),
    ]
    with Server("--model", f"m={model}", "--model", f"r={rows}", "--max-rows", 1000) as server:
        for name, request, wanted, pointer in cases:
            status, answer = server.post(f"/v1/models/{name}:predict", request)
            assert status == wanted and answer["status"] == wanted, (request, answer)
            assert answer.get("pointer") == pointer, (request, answer)
        answer = server.post("/v1/models/m:predict", {"instances": [{**good, "pric": 1}]})[1]
        assert answer["hint"] == "did you mean price?" and answer["code"] == "E_ARGUMENT", answer
        assert server.post("/v1/models/r:predict", {"rows": ["1 1:1"] * 1000})[0] == 200
        assert server.post("/v1/models/r:predict", {"rows": ["1 1:1"] * 1001})[0] == 413
        assert server.post("/v1/models/r:predict", {"instances": []}) == (200, {"predictions": []})


def test_features_of_a_forest(folder):
    """A forest has as many features as its training data, also if no tree uses the last ones: instances keep their length
    across versions."""
    draw = random.Random(2)
    versions = f"{folder}/versions"
    os.mkdir(versions)

    def train(number, used, words):
        with open(f"{folder}/rows.libsvm", "w") as file:
            for _ in range(400):
                x = [draw.gauss(0, 1) for _ in range(9)]
                file.write(f"{int(x[used] > 0)} " + " ".join(f"{i + 1}:{v if i == used else 1}" for i, v in enumerate(x)) + "\n")
        furrow("train", "--model", "gbdt", "--train", f"{folder}/rows.libsvm", "--out", f"{versions}/{number}", "--trees", 2,
               "-q", *words)

    train(1, 0, [])
    with Server("--model", f"m={versions}", "--watch", 0) as server:
        for number, used, words in [(1, 0, []), (2, 5, []), (3, 2, ["--load", f"{versions}/2"]), (4, 1, ["-D", "defaults=angel"])]:
            if number > 1:
                train(number, used, words)
                assert server.post("/v1/models/m:reload", {})[0] == 200
            document = server.get("/v1/models/m")[1]
            assert document["version"] == number and document["features"] == 9, document
            status, answer = server.post("/v1/models/m:predict", {"instances": [[1] * 9, [-1] * 9]})
            assert status == 200 and "warnings" not in answer, answer
        with open(f"{versions}/4/furrow.json") as file:
            old = json.load(file)
        assert old["data"].pop("features") == 9
        os.rename(f"{versions}/4", f"{versions}/5")
        with open(f"{versions}/5/furrow.json", "w") as file:
            json.dump(old, file)
        assert server.post("/v1/models/m:reload", {})[1]["version"] == 5
        assert server.get("/v1/models/m")[1]["features"] == 2, "a model of 1.0.0: the last split"


def test_features_that_the_model_lacks(folder):
    """A line's are a warning, with a bounded number of them; an array has the length that the document says."""
    lines = write_rows(f"{folder}/rows.libsvm")
    for name in ("lr", "gbdt"):
        with Server("--model", f"m={train(folder, name, f'{folder}/rows.libsvm')}") as server:
            doc = server.get("/v1/models/m")[1]
            assert doc["index_base"] == 1 and 0 < doc["features"] <= 20, doc
            status, answer = server.post("/v1/models/m:predict", {"rows": ["0 1:1", "0 1:1 9999:1 12345:1"]})
            assert status == 200 and len(set(answer["predictions"])) == 1, answer
            assert answer["warnings"] == [f"rows/1: feature {i} is not in the model" for i in (9999, 12345)], answer
            answer = server.post("/v1/models/m:predict", {"rows": ["0 9999:1"] * 300})[1]
            assert len(answer["warnings"]) == 33 and answer["warnings"][-1] == "and 268 more warnings", answer
            assert "warnings" not in server.post("/v1/models/m:predict", {"rows": lines[:1]})[1]
            for length in (doc["features"] - 1, doc["features"] + 1, doc["features"]):
                status, answer = server.post("/v1/models/m:predict", {"instances": [[1] * length]})
                assert status == (200 if length == doc["features"] else 400), (length, answer)
                assert status == 200 or f"{length} numbers" in answer["detail"] and "features" in answer["hint"], answer


def test_lines_without_labels(folder):
    """A model of such lines takes them, and only them."""
    lines = [line.split(maxsplit=1)[1] for line in write_rows(f"{folder}/rows.libsvm")]
    model = train(folder, "lr", f"{folder}/rows.libsvm")
    with open(f"{model}/graph.json") as file:
        graph = json.load(file)
    graph["data"]["haslabel"] = False
    with open(f"{model}/graph.json", "w") as file:
        json.dump(graph, file)
    with Server("--model", f"m={model}") as server:
        status, answer = server.post("/v1/models/m:predict", {"rows": lines[:3]})
        assert status == 200 and len(answer["predictions"]) == 3 and "warnings" not in answer, answer


def train_times(folder, unit):
    scale = {"s": 1, "ms": 1000}[unit]
    draw = random.Random(5)
    with open(f"{folder}/times.jsonl", "w") as file:
        for i in range(300):
            file.write(json.dumps({"user": f"u{draw.randrange(9)}", "at": (1700000000 + 3700 * i) * scale, "price": i % 7,
                                   "tags": draw.sample(["a", "b", "c"], 2), "device": {"os": draw.choice("xy")}, "y": i % 2}) + "\n")
    with open(f"{folder}/times.json", "w") as file:
        json.dump({"columns": {"user": {"as": "category", "role": "user"}, "at": {"as": "time", "unit": unit}, "price": {"as": "number"},
                               "tags": {"as": "set"}, "device.os": {"as": "category"}, "y": {"as": "label"}}}, file)
    return train(folder, "fm", f"{folder}/times.jsonl", "--schema", f"{folder}/times.json")


def test_cells_that_nobody_means(folder):
    """Values that the encoder takes, and that are mistakes: refused, or warned about."""
    event = {"user": "u1", "at": 1700000498, "price": 2, "tags": ["a"], "device": {"os": "x"}}
    os.mkdir(f"{folder}/ms")
    with Server("--model", f"s={train_times(folder, 's')}", "--model", f"ms={train_times(f'{folder}/ms', 'ms')}") as server:
        for name, cell, pointer, hint in (
                ("s", {"at": 1700000498000}, "at", "seconds since 1970, such as 1700000000"),
                ("s", {"at": "1700000498000"}, "at", "seconds since 1970"), ("s", {"at": "2024-01-01"}, "at", "seconds since 1970"),
                ("s", {"at": -5e9}, "at", "seconds"), ("ms", {"at": 1700000498000000}, "at", "milliseconds since 1970, such as 1700000000000"),
                ("s", {"price": True}, "price", "1 for true"), ("s", {"price": "False"}, "price", "1 for true"),
                ("s", {"price": [True]}, "price", "1 for true"), ("s", {"price": {}}, "price", ""), ("s", {"at": {}}, "at", ""),
                ("s", {"colour": 1}, "colour", "the columns are user, at, price, tags, device.os")):
            status, answer = server.post(f"/v1/models/{name}:predict", {"instances": [{**event, "at": 0}, {**event, **cell}]})
            assert status == 400 and answer["pointer"] == f"/instances/1/{pointer}" and hint in answer.get("hint", ""), answer
        for name, cell, warned in (
                ("s", {}, []), ("s", {"device": {"os": "z"}}, ["instances/0/device.os: the model does not know the value z"]),
                ("s", {"device": {"os": 5}}, ["instances/0/device.os: the model does not know the value 5"]),
                ("s", {"tags": ["a", "q"]}, ["instances/0/tags: the model does not know the value q"]),
                ("s", {"tags": "a| r |b"}, ["instances/0/tags: the model does not know the value r"]),
                ("s", {"tags": None, "device": {"os": None}}, []), ("s", {"tags": "", "at": ""}, []),
                ("ms", {}, ["instances/0/at: 1700000498 milliseconds since 1970 is a time before 1973"]), ("ms", {"at": 1700000498000}, [])):
            for call in ("predict", "explain"):
                status, answer = server.post(f"/v1/models/{name}:{call}", {"instances": [{**event, **cell}]})
                assert status == 200 and answer.get("warnings", []) == warned, (cell, answer)


def test_zero_bytes_in_names(folder):
    """A name that goes on behind a 0 byte is another one, however long it is."""
    with Server("--model", f"m={train_times(folder, 's')}") as server:
        for name in ("price", "at", "user", "y", "device.os"):
            for size in (0, 1, 10, 300, 4000000):
                status, answer = server.post("/v1/models/m:predict", {"instances": [{"user": "u1", f"{name}\0{'a' * size}": 1}]})
                assert status == 400 and answer["pointer"].startswith(f"/instances/0/{name}"), answer
        assert server.get("/healthz")[0] == 200


def test_scores_of_recommend(folder):
    """The score of :recommend is that of :predict for the same event, before the logistic function."""
    with Server("--model", f"m={train_events(folder, rows=600)}") as server:
        for context in ({}, {"device": "tv"}):
            best = server.post("/v1/models/m:recommend", {"users": ["u1"], "k": 1, "context": context})[1]
            best = best["recommendations"][0]["items"][0]
            request = {"instances": [{"user": "u1", "item": best["item"], **context}], "details": True}
            found = server.post("/v1/models/m:predict", request)[1]["predictions"][0]
            assert abs(found["score"] - best["score"]) < 1e-5 and abs(found["probability"] - 1 / (1 + math.exp(-best["score"]))) < 1e-5


def test_first_requests_at_once(folder):
    """What a version makes by its first use is made once; requests of all kinds side by side."""
    model = train_events(folder, rows=600)
    rows = train(folder, "lr", (write_rows(f"{folder}/rows.libsvm"), f"{folder}/rows.libsvm")[1])
    requests = [("m", {"instances": [{"user": "u1", "item": "i1"}]}), ("r", {"rows": ["1 1:1"]}),
                ("r", {"instances": [[0.5] * 20]}), ("m", {"instances": [{"user": "u2"}] * 300})]
    with Server("--model", f"m={model}", "--model", f"r={rows}") as server:
        def ask(number):
            name, request = requests[number % 4]
            return number % 4, json.dumps(server.post(f"/v1/models/{name}:predict", request))
        with ThreadPoolExecutor(16) as pool:
            answers = set(pool.map(ask, range(160)))
        assert len(answers) == 4 and all(text.startswith("[200") for _, text in answers), answers


def test_large_requests_leave_no_memory(folder):
    """A thread gives memory back after a request that needed much of it."""
    model = train(folder, "lr", (write_rows(f"{folder}/rows.libsvm"), f"{folder}/rows.libsvm")[1])
    with Server("--model", f"m={model}", "--max-rows", 1000000) as server:
        lines, table = ["1 1:1 2:0.25 20:1"] * 200000, [[1] * 20] * 40000
        server.post("/v1/models/m:predict", {"rows": lines[:1]})
        before = server.memory()
        for rows in (lines, table) * 2:
            status, answer = server.post("/v1/models/m:predict", {"instances": rows})
            assert status == 200 and len(set(answer["predictions"])) == 1 and len(answer["predictions"]) == len(rows)
        assert is_sanitized() or server.memory() < before + (64 << 20), (before, server.memory())


def test_tensorflow_requests(folder):
    """The request and the answer of TensorFlow Serving's REST interface."""
    model = train_events(folder, rows=600)
    with Server("--model", f"m={model}") as server:
        request = {"signature_name": "serving_default", "instances": [{"user": "u1", "item": "i1"}] * 2}
        for path in ("/v1/models/m:predict", "/v1/models/m/versions/1:predict"):
            status, answer = server.post(path, request)
            assert status == 200 and list(answer) == ["predictions"] and len(answer["predictions"]) == 2, answer
            assert all(0 < one < 1 and not math.isnan(one) for one in answer["predictions"])
        for number in (0, 9):
            assert server.post(f"/v1/models/m/versions/{number}:predict", request)[0] == 404


if __name__ == "__main__":
    run(globals())
