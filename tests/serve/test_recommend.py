#!/usr/bin/env python3
""":recommend and :similar answer as the command does."""
import json
import os

from furrow_server import Server, furrow, run, train_events, write_items


def command(model, *words):
    """The answers of furrow recommend --json, by user or item."""
    lines = furrow("recommend", "--model", model, "--json", "-q", *words).splitlines()
    return {doc.get("user", doc.get("like")): doc["items"] for doc in map(json.loads, lines)}


def assert_same(items, expected, score="score"):
    assert [item["item"] for item in items] == [item["item"] for item in expected], (items, expected)
    for item, other in zip(items, expected):
        assert float(f"{item[score]:.9g}") == other["score"], (item, other)
        assert item.get("name") == other.get("name"), (item, other)


def serve(folder, *words, model="fm"):
    path = f"{folder}/{model}.model"
    if not os.path.exists(path):
        train_events(folder, model)
    return path, Server("--model", f"m={path}", *words)


def recommend(server, **request):
    status, answer = server.post("/v1/models/m:recommend", request)
    assert status == 200, answer
    return answer["recommendations"]


def test_as_the_command(folder):
    for model in ("fm", "gbdt", "deepfm"):
        path, running = serve(folder, model=model)
        with running as server:
            expected = command(path, "--users", "u1,u2,u59", "-k", 7)
            answers = recommend(server, users=["u1", "u2", "u59"], k=7)
            assert [answer["user"] for answer in answers] == ["u1", "u2", "u59"]
            for answer in answers:
                assert len(answer["items"]) == 7
                assert_same(answer["items"], expected[answer["user"]])
            assert len(recommend(server, users=["u1"])[0]["items"]) == 10
            assert len(recommend(server, users=["u1"], k=1000)[0]["items"]) == 40
            assert recommend(server, users=[]) == []


def test_names_and_seen(folder):
    train_events(folder)
    write_items(f"{folder}/items.csv")
    with open(f"{folder}/seen.csv", "w") as file:
        file.write("user,item,device,price,click\n")
        file.writelines(f"u1,i{item},tv,1,1\n" for item in range(0, 40, 2))
    path, running = serve(folder, "--items", f"m={folder}/items.csv:title", "--seen", f"m={folder}/seen.csv")
    with running as server:
        words = ("--users", "u1", "--items", f"{folder}/items.csv", "--name", "title")
        seen = recommend(server, users=["u1"])[0]["items"]
        assert_same(seen, command(path, *words, "--exclude", f"{folder}/seen.csv")["u1"])
        assert all(int(item["item"][1:]) % 2 == 1 and item["name"] == f"Title of {item['item'][1:]}" for item in seen)
        assert_same(recommend(server, users=["u1"], exclude_seen=False)[0]["items"], command(path, *words)["u1"])


def test_context(folder):
    path, running = serve(folder)
    with running as server:
        expected = command(path, "--users", "u3", "--context", "device=tv", "--context", "price=2.5")["u3"]
        assert_same(recommend(server, users=["u3"], context={"device": "tv", "price": 2.5})[0]["items"], expected)
        plain = recommend(server, users=["u3"])
        assert recommend(server, users=["u3"], context={}) == plain
        for context, column in (({"colour": "red"}, "colour"), ({"device": "tv", "user": "u1"}, "user"),
                                ({"device": "tv", "price": "cheap"}, "price"), ({"price": [1]}, "price"),
                                ({"price": "1\0"}, "price"), ({"price": True}, "price"), ({"price": "false"}, "price"),
                                ({"a/b~c": "1"}, "a~1b~0c"),
                                ({"a/b~c": [1]}, "a~1b~0c")):
            status, problem = server.post("/v1/models/m:recommend", {"users": ["u3"], "context": context})
            assert status == 400 and problem["pointer"] == f"/context/{column}", problem
        status, problem = server.post("/v1/models/m:recommend", '{"users":["u3"],"context":{"price":1,"price":2}}')
        assert status == 400, problem
        status, answer = server.post("/v1/models/m:recommend", {"users": ["u3"], "context": {"device": "fridge"}})
        assert status == 200 and answer["warnings"] == ["context/device: the model does not know the value fridge"], answer


def test_sets_of_the_context(folder):
    """Elements of a set that the model does not know are in the warnings, a few of them."""
    with open(f"{folder}/log.jsonl", "w") as file:
        for i in range(900):
            file.write(json.dumps({"user": f"u{i % 9}", "item": f"i{i % 7}", "tags": ["a", "b"][:i % 3], "click": i % 2}) + "\n")
    with open(f"{folder}/schema.json", "w") as file:
        json.dump({"columns": {"user": {"as": "category", "role": "user"}, "item": {"as": "category", "role": "item"},
                               "tags": {"as": "set"}, "click": {"as": "label"}}}, file)
    furrow("train", "--model", "fm", "--train", f"{folder}/log.jsonl", "--schema", f"{folder}/schema.json", "--out", f"{folder}/m", "-q")
    with Server("--model", f"m={folder}/m") as server:
        for tags, warned in (("a", []), ("a|b", []), ("a| q |r", ["q", "r"])):
            status, answer = server.post("/v1/models/m:recommend", {"users": ["u1"], "context": {"tags": tags}})
            assert status == 200 and answer.get("warnings", []) == [f"context/tags: the model does not know the value {tag}" for tag in warned], answer
        many = "|".join(f"t{i}" for i in range(1000))
        warnings = server.post("/v1/models/m:recommend", {"users": ["u1"], "context": {"tags": many}})[1]["warnings"]
        assert len(warnings) == 33 and warnings[-1] == "and 968 more warnings", warnings


def test_time_of_the_context(folder):
    """A time in milliseconds where the log has seconds is refused, as in predictions."""
    with open(f"{folder}/log.csv", "w") as file:
        file.write("user,item,time,click\n")
        file.writelines(f"u{i % 9},i{i % 7},{1700000000 + 3601 * i},{int(i % 9 % 2 == i % 7 % 2)}\n" for i in range(900))
    furrow("train", "--model", "fm", "--train", f"{folder}/log.csv", "--schema", "auto", "--label", "click", "--user", "user",
           "--item", "item", "--time", "time", "--out", f"{folder}/m", "-q")
    with Server("--model", f"m={folder}/m") as server:
        assert server.post("/v1/models/m:recommend", {"users": ["u1"], "context": {"time": 1700000000}})[0] == 200
        status, problem = server.post("/v1/models/m:recommend", {"users": ["u1"], "context": {"time": 1700000000000}})
        assert status == 400 and problem["pointer"] == "/context/time" and "seconds" in problem["hint"], problem


def test_only_and_exclude(folder):
    _, running = serve(folder)
    with running as server:
        everything = [item["item"] for item in recommend(server, users=["u5"], k=40)[0]["items"]]
        some = [everything[i] for i in (30, 2, 17)]
        only = recommend(server, users=["u5"], only=some)[0]["items"]
        assert [item["item"] for item in only] == [everything[i] for i in (2, 17, 30)]
        rest = recommend(server, users=["u5"], exclude=everything[:5] + ["not an item"], k=5)[0]["items"]
        assert [item["item"] for item in rest] == everything[5:10]
        both = recommend(server, users=["u5"], only=some, exclude=some[:1])[0]["items"]
        assert [item["item"] for item in both] == [everything[2], everything[17]]
        assert recommend(server, users=["u5"], only=[])[0]["items"] == []
        status, problem = server.post("/v1/models/m:recommend", {"users": ["u5"], "only": ["i1", "i999"]})
        assert status == 404 and problem["pointer"] == "/only/1", problem
        assert len(recommend(server, users=["u5"], only=["i1", "i999"], unknown="skip")[0]["items"]) == 1


def test_unknown_users(folder):
    _, running = serve(folder)
    with running as server:
        status, problem = server.post("/v1/models/m:recommend", {"users": ["u1", "u600"]})
        assert status == 404 and problem["pointer"] == "/users/1" and problem["code"] == "E_NOT_FOUND", problem
        assert "u60" not in problem["detail"] and "did you mean u" in problem["hint"], problem
        answers = recommend(server, users=["u1", "u600", "u2"], unknown="skip", k=3)
        assert answers[1] == {"user": "u600", "known": False, "items": []}, answers[1]
        assert [answers[0], answers[2]] == recommend(server, users=["u1", "u2"], k=3)


def test_users_that_are_numbers(folder):
    with open(f"{folder}/log.csv", "w") as file:
        file.write("user,item,click\n")
        file.writelines(f"{i % 9},{100 + i % 5},{(i % 9 + i % 5) % 2}\n" for i in range(500))
    furrow("train", "--model", "fm", "--train", f"{folder}/log.csv", "--schema", "auto", "--label", "click", "--user",
           "user", "--item", "item", "--out", f"{folder}/m", "-q")
    with Server("--model", f"m={folder}/m") as server:
        assert recommend(server, users=[1, "1"], only=[100, "101"])[0] == recommend(server, users=["1"], only=[100, 101])[0]


def test_errors(folder):
    _, running = serve(folder, "--max-rows", 3, "--max-results", 20)
    with running as server:
        for request, code, pointer in (
                ({}, 400, None), ({"k": 3}, 400, None), ({"users": "u1"}, 400, "/users"),
                ({"users": [["u1"]]}, 400, "/users/0"), ({"users": [None]}, 400, "/users/0"),
                ({"users": ["u1"], "k": 0}, 400, "/k"), ({"users": ["u1"], "k": -1}, 400, "/k"),
                ({"users": ["u1"], "k": 1.5}, 400, "/k"), ({"users": ["u1"], "k": "3"}, 400, "/k"),
                ({"users": ["u1"], "k": 21}, 413, None), ({"users": ["u1"] * 4}, 413, None),
                ({"users": ["u1"], "only": ["i1"] * 44}, 413, None),
                ({"users": ["u1"], "unknown": "maybe"}, 400, "/unknown"),
                ({"users": ["u1"], "exclude_seen": True}, 400, "/exclude_seen"),
                ({"users": ["u1"], "exclude_seen": 1}, 400, "/exclude_seen"),
                ({"users": ["u1"], "user": ["u1"]}, 400, "/user"), ([], 400, None), ("text", 400, None)):
            status, problem = server.post("/v1/models/m:recommend", json.dumps(request))
            assert status == code and problem.get("pointer") == pointer, (request, problem)
        status, problem = server.post("/v1/models/m:recommend", {"user": ["u1"]})
        assert problem["hint"] == 'did you mean "users"?', problem
        for body in ('{"users":["u1"],"users":["u2"]}', '{"users":["u1"]} x', '{"users":["u1"', '{"users":["\\ud800"]}', "",
                     b'{"users":["\xff"]}'):
            status, problem = server.post("/v1/models/m:recommend", body)
            assert status == 400, (body, problem)
        assert server.post("/v1/models/m:recommend", {"users": ["u1"], "signature_name": "x"})[0] == 200
        status, problem = server.post("/v1/models/m:recommend", {"users": ["u\0001"]})
        assert status == 404, problem


def test_similar(folder):
    train_events(folder)
    write_items(f"{folder}/items.csv")
    path, running = serve(folder, "--items", f"m={folder}/items.csv:title")
    with running as server:
        status, answer = server.post("/v1/models/m:similar", {"items": ["i1", "i2"], "k": 6})
        assert status == 200, answer
        for one in answer["similar"]:
            words = ("--like", one["item"], "-k", 6, "--items", f"{folder}/items.csv", "--name", "title")
            assert_same(one["items"], command(path, *words)[one["item"]], "similarity")
        status, problem = server.post("/v1/models/m:similar", {"items": ["i1", "j1"]})
        assert status == 404 and problem["pointer"] == "/items/1", problem
        status, answer = server.post("/v1/models/m:similar", {"items": ["j1"], "unknown": "skip"})
        assert answer["similar"] == [{"item": "j1", "known": False, "items": []}], answer
        best = [item["item"] for item in server.post("/v1/models/m:similar", {"items": ["i1"], "k": 39})[1]["similar"][0]["items"]]
        for more, expected in (({"exclude": best[:3]}, best[3:13]), ({"only": best[5:9]}, best[5:9])):
            status, answer = server.post("/v1/models/m:similar", {"items": ["i1"], **more})
            assert [item["item"] for item in answer["similar"][0]["items"]] == expected, answer
        for request in ({"users": ["u1"]}, {"items": ["i1"], "context": {}}, {"items": ["i1"], "exclude_seen": False}):
            assert server.post("/v1/models/m:similar", request)[0] == 400, request


def test_models_that_cannot(folder):
    from furrow_server import train_rows
    with Server("--model", f"rows={train_rows(folder)}", "--model", f"trees={train_events(folder, 'gbdt')}") as server:
        assert server.post("/v1/models/rows:recommend", {"users": ["1"]})[0] == 422
        assert server.post("/v1/models/rows:similar", {"items": ["1"]})[0] == 422
        assert server.post("/v1/models/trees:similar", {"items": ["i1"]})[0] == 422
        assert server.post("/v1/models/trees:recommend", {"users": ["u1"]})[0] == 200


if __name__ == "__main__":
    run(globals())
