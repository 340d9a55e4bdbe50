#!/usr/bin/env python3
"""Documents of models: GET /v1/models and /v1/models/NAME."""
import json
import re

from furrow_server import Server, run, train_events, train_rows, write_items


def test_documents(folder):
    events, rows = train_events(folder), train_rows(folder, "softmax", classes=3)
    linear, trees = train_rows(folder, "linear"), train_events(folder, "gbdt")
    write_items(f"{folder}/items.csv")
    with Server("--model", f"ctr={events}", "--model", f"soft={rows}", "--model", f"lin={linear}", "--model",
                f"trees={trees}", "--items", f"ctr={folder}/items.csv:title") as server:
        status, answer = server.get("/v1/models")
        assert status == 200, answer
        ctr, soft, lin, gbdt = answer["models"]
        assert [doc["name"] for doc in answer["models"]] == ["ctr", "soft", "lin", "trees"]
        assert ctr["version"] == 1 and ctr["state"] == "AVAILABLE" and ctr["last_error"] is None, ctr
        assert (ctr["algorithm"], ctr["kind"], ctr["task"]) == ("fm", "events", "binary"), ctr
        assert (soft["algorithm"], soft["kind"], soft["task"]) == ("softmax", "rows", "multiclass"), soft
        assert (lin["algorithm"], lin["kind"], lin["task"]) == ("linear", "rows", "regression"), lin
        assert ctr["classes"] == [0, 1] and soft["classes"] == [0, 1, 2] and lin["classes"] == [], (ctr, soft, lin)
        assert ctr["users"] == 60 and ctr["items"] == 40 and "users" not in soft, ctr
        assert soft["features"] == 20 and ctr["features"] > 100, (soft["features"], ctr["features"])
        assert {"name": "user", "as": "category", "role": "user"} in ctr["columns"], ctr["columns"]
        assert {"name": "click", "as": "label", "role": ""} in ctr["columns"], ctr["columns"]
        assert ctr["can"] == ["predict", "explain", "recommend", "similar", "suggest"], ctr["can"]
        assert soft["can"] == ["predict", "explain"], soft["can"]
        assert gbdt["can"] == ["predict", "explain", "recommend", "suggest"], gbdt["can"]
        assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", ctr["loaded_at"]), ctr["loaded_at"]


def test_one_model(folder):
    with Server("--model", f"m={train_rows(folder)}") as server:
        status, doc = server.get("/v1/models/m")
        assert status == 200 and doc["name"] == "m" and doc["version"] == 1, doc
        assert doc["model_version_status"] == [
            {"version": "1", "state": "AVAILABLE", "status": {"error_code": "OK", "error_message": ""}}], doc
        assert server.get("/v1/models/m/versions/1")[0] == 200
        assert server.get("/v1/models/m/versions/2")[0] == 404
        assert server.get("/v1/models/n")[0] == 404
        assert "requests" in doc and "errors" in doc and "p99_ms" in doc, doc


def test_class_names(folder):
    """Labels that are words in the log are words in the document."""
    from furrow_server import furrow
    with open(f"{folder}/log.csv", "w") as file:
        file.write("user,item,answer\n")
        for i in range(600):
            file.write(f"u{i % 20},i{i % 7},{'yes' if i % 2 else 'no'}\n")
    furrow("train", "--model", "lr", "--train", f"{folder}/log.csv", "--schema", "auto", "--label", "answer", "--out",
           f"{folder}/m", "-q")
    with Server("--model", f"m={folder}/m") as server:
        _, doc = server.get("/v1/models/m")
        assert sorted(doc["classes"]) == ["no", "yes"], doc
        rows = [{"user": f"u{i}", "item": "i1"} for i in range(2)]
        details = server.post("/v1/models/m:predict", {"instances": rows, "details": True})[1]["predictions"]
        assert [row["label"] for row in details] == ["no", "yes"], details


def name_classes(model, names):
    """Writes what the Python package writes for labels that are not numbers."""
    with open(f"{model}/furrow.json") as file:
        doc = json.load(file)
    doc["data"]["class_names"] = names if isinstance(names, str) else json.dumps(names)
    with open(f"{model}/furrow.json", "w") as file:
        json.dump(doc, file)


def test_names_of_classes_of_rows(folder):
    """Names that the Python package keeps, in the order of the labels: of two and of several classes."""
    two, three = train_rows(folder), train_rows(folder, "softmax", classes=3)
    name_classes(two, ["no \u00e9", "yes"])
    name_classes(three, ["cat", True, 2.5])
    row = [[3.0] + [0.0] * 19, [-3.0] + [0.0] * 19]
    with Server("--model", f"two={two}", "--model", f"three={three}") as server:
        for name, classes in (("two", ["no \u00e9", "yes"]), ("three", ["cat", True, 2.5])):
            assert server.get(f"/v1/models/{name}")[1]["classes"] == classes
            request = {"instances": row, "details": True}
            details = server.post(f"/v1/models/{name}:predict", request)[1]["predictions"]
            assert [item["label"] for item in details] == [classes[-1], classes[0]], details
        for wrong in (["a"], ["a", "b", "c"], ["a", None], ["a", ["b"]], {"a": 1}, "nonsense"):
            name_classes(two, wrong)
            status, problem = server.post("/v1/models/two:reload", "")
            assert status == 409 and "class-names" in problem["detail"], (wrong, problem)


def test_names_of_classes_of_a_log(folder):
    """Labels of a frame are numbers of names: the schema has them as texts, in an order of its own."""
    from furrow_server import furrow
    with open(f"{folder}/log.csv", "w") as file:
        file.write("user,item,answer\n")
        for i in range(600):
            file.write(f"u{i % 20},i{i % 7},{(2, 0, 1)[i % 20 % 3]}\n")
    with open(f"{folder}/schema.json", "w") as file:
        json.dump({"columns": {"user": {"as": "category", "role": "user"}, "item": {"as": "category", "role": "item"},
                               "answer": {"as": "label", "classes": ["2", "0", "1"]}}}, file)
    furrow("train", "--model", "softmax", "--train", f"{folder}/log.csv", "--schema", f"{folder}/schema.json", "--out",
           f"{folder}/m", "-q")
    name_classes(f"{folder}/m", ["zero", "first", "second"])
    with Server("--model", f"m={folder}/m") as server:
        doc = server.get("/v1/models/m")[1]
        assert doc["classes"] == ["second", "zero", "first"], doc
        rows = [{"user": f"u{i}", "item": "i1"} for i in range(3)]
        details = server.post("/v1/models/m:predict", {"instances": rows, "details": True})[1]["predictions"]
        assert [row["label"] for row in details] == ["second", "zero", "first"], details


def test_reload_takes_no_members(folder):
    with Server("--model", f"m={train_rows(folder)}") as server:
        assert server.post("/v1/models/m:reload", "")[1] == {"name": "m", "version": 1, "changed": False}
        assert server.post("/v1/models/m:reload", {})[0] == 200
        status, problem = server.post("/v1/models/m:reload", {"force": True})
        assert status == 400 and problem["pointer"] == "/force", problem
        assert server.post("/v1/models/m:reload", "[]")[0] == 400
        assert server.get("/v1/models/m:reload")[0] == 405


if __name__ == "__main__":
    run(globals())
