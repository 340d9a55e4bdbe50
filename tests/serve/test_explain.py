"""furrow serve: POST /v1/models/NAME:explain gives what furrow predict --contributions prints."""
import json

from furrow_server import Server, furrow, run, train_events, train_rows


def printed(model, data, *words):
    lines = furrow("predict", "--model", model, "--data", data, "--contributions", "--json", "-q", *words).splitlines()
    return [json.loads(line) for line in lines]


def digits(number):
    return f"{number:.9g}"


def expect(answer, wanted, base=0):
    """The command counts features without names from 0, the service as the lines of the request do."""
    for found, one in zip(answer["explanations"], wanted, strict=True):
        assert digits(found["score"]) == digits(one["pred"]) and digits(found["bias"]) == digits(one["bias"])
        parts = [(part["feature"], digits(part["value"])) for part in found["contributions"]]
        names = [str(int(name) + base) if base else name for name in one["contributions"]]
        assert parts == list(zip(names, map(digits, one["contributions"].values()))), (parts, one)
        assert not base or all(part["feature"] == str(part["index"]) for part in found["contributions"])


def test_events(folder):
    model = train_events(folder, rows=600)
    with open(f"{folder}/log.csv") as file:
        names = file.readline().strip().split(",")
        events = [dict(zip(names, line.strip().split(","))) for line in list(file)[:30]]
    with open(f"{folder}/some.jsonl", "w") as file:
        file.writelines(json.dumps(event) + "\n" for event in events)
    with Server("--model", f"m={model}") as server:
        for top in (0, 2):
            request = {"instances": events, "top": top} if top else {"instances": events}
            status, answer = server.post("/v1/models/m:explain", request)
            assert status == 200, answer
            expect(answer, printed(model, f"{folder}/some.jsonl", *(["--top", top] if top else [])))
        one = answer["explanations"][0]["contributions"][0]
        assert "=" in one["feature"] and isinstance(one["index"], int)


def test_by_column(folder):
    model = train_events(folder, rows=600)
    with open(f"{folder}/log.csv") as file:
        names = file.readline().strip().split(",")
        events = [dict(zip(names, line.strip().split(","))) for line in list(file)[:10]]
    with open(f"{folder}/some.jsonl", "w") as file:
        file.writelines(json.dumps(event) + "\n" for event in events)
    wanted = printed(model, f"{folder}/some.jsonl", "--by", "column")
    with Server("--model", f"m={model}") as server:
        status, answer = server.post("/v1/models/m:explain", {"instances": events, "by": "column"})
        assert status == 200, answer
        for found, one in zip(answer["explanations"], wanted, strict=True):
            parts = {part["column"]: digits(part["value"]) for part in found["contributions"]}
            assert parts == {name: digits(value) for name, value in one["contributions"].items()}, (parts, one)
            sizes = [abs(part["value"]) for part in found["contributions"]]
            assert sizes == sorted(sizes, reverse=True) and set(found["contributions"][0]) == {"column", "value"}
            assert abs(found["bias"] + sum(part["value"] for part in found["contributions"]) - found["score"]) < 1e-6
        status, answer = server.post("/v1/models/m:explain", {"instances": events, "by": "column", "top": 1})
        assert status == 200 and len(answer["explanations"][0]["contributions"]) == 1, answer
        status, answer = server.post("/v1/models/m:explain", {"instances": events, "by": "feature", "top": 1})
        assert status == 200 and "feature" in answer["explanations"][0]["contributions"][0], answer


def test_rows(folder):
    for name in ("lr", "gbdt"):
        model = train_rows(folder, name, rows=300)
        with open(f"{folder}/rows.libsvm") as file:
            lines = [line.strip() for line in list(file)[:20]]
        with open(f"{folder}/some.libsvm", "w") as file:
            file.write("\n".join(lines) + "\n")
        with Server("--model", f"m={model}") as server:
            status, answer = server.post("/v1/models/m:explain", {"rows": lines})
            assert status == 200, answer
            expect(answer, printed(model, f"{folder}/some.libsvm"), base=1)
            status, answer = server.post("/v1/models/m:explain", {"rows": ["0 2:1 9999:1"], "top": 1})
            assert status == 200 and answer["warnings"] == ["rows/0: feature 9999 is not in the model"], answer
            assert name == "gbdt" or answer["explanations"][0]["contributions"][0]["feature"] == "2", answer


def test_several_classes(folder):
    model = train_rows(folder, "softmax", rows=300, classes=3)
    with open(f"{folder}/rows.libsvm") as file:
        line = file.readline().strip()
    with Server("--model", f"m={model}") as server:
        status, answer = server.post("/v1/models/m:explain", {"rows": [line], "top": 4})
        assert status == 200, answer
        one = answer["explanations"][0]
        assert len(one["contributions"]) == 4 and len(one["bias"]) == len(one["score"]) == 3
        sizes = [max(map(abs, part["value"])) for part in one["contributions"]]
        assert sizes == sorted(sizes, reverse=True)
        answer = server.post("/v1/models/m:explain", {"rows": [line]})[1]["explanations"][0]
        for k in range(3):
            total = answer["bias"][k] + sum(part["value"][k] for part in answer["contributions"])
            assert abs(total - answer["score"][k]) < 1e-6 * max(1, abs(total)), (total, answer["score"][k])


def test_requests_that_are_wrong(folder):
    model = train_rows(folder, "lr", rows=300)
    furrow("train", "--model", "mlr", "--train", f"{folder}/rows.libsvm", "--out", f"{folder}/mlr", "--epochs", 1, "-q")
    with Server("--model", f"m={model}", "--model", f"n={folder}/mlr") as server:
        for request, pointer in (({"rows": ["1 1:1"], "top": -1}, "/top"), ({"rows": ["1 1:1"], "top": 1.5}, "/top"),
                                 ({"rows": ["1 1:1"], "details": True}, "/details"),
                                 ({"rows": ["1 1:1"], "by": "row"}, "/by"), ({"rows": ["1 1:1"], "by": 1}, "/by"), ({"rows": ["1 x"]}, "/rows/0")):
            status, answer = server.post("/v1/models/m:explain", request)
            assert status == 400 and answer["pointer"] == pointer, answer
        status, answer = server.post("/v1/models/n:explain", {"rows": ["1 1:1"]})
        assert status == 422 and answer["code"] == "E_UNSUPPORTED" and "lr" in answer["hint"], answer
        status, answer = server.post("/v1/models/m:explain", {"rows": ["1 1:1"], "by": "column"})
        assert status == 422 and answer["code"] == "E_UNSUPPORTED" and "columns" in answer["detail"], answer
        assert server.post("/v1/models/m:explain", {"rows": []}) == (200, {"explanations": []})


if __name__ == "__main__":
    run(globals())
