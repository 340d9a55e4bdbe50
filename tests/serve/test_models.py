#!/usr/bin/env python3
"""Documents of models: GET /v1/models and /v1/models/NAME."""
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
        assert ctr["can"] == ["predict", "explain", "recommend", "similar"], ctr["can"]
        assert soft["can"] == ["predict", "explain"], soft["can"]
        assert gbdt["can"] == ["predict", "explain", "recommend"], gbdt["can"]
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
            file.write(f"u{i % 20},i{i % 7},{'yes' if (i % 20 + i % 7) % 2 else 'no'}\n")
    furrow("train", "--model", "lr", "--train", f"{folder}/log.csv", "--schema", "auto", "--label", "answer", "--out",
           f"{folder}/m", "-q")
    with Server("--model", f"m={folder}/m") as server:
        _, doc = server.get("/v1/models/m")
        assert sorted(doc["classes"]) == ["no", "yes"], doc


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
