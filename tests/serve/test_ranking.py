#!/usr/bin/env python3
"""Recommenders of a log: served without a scorer; and models that rank."""
import json
import os
import shutil

from furrow_server import Server, furrow, run, train_events, train_recommender, write_items


def post(server, verb, request, status=200, name="m"):
    found, answer = server.post(f"/v1/models/{name}:{verb}", request)
    assert found == status, answer
    return answer


def items_of(server, user, **more):
    return [item["item"] for item in post(server, "recommend", {"users": [user], **more})["recommendations"][0]["items"]]


def test_document(folder):
    with Server("--model", f"m={train_recommender(folder)}") as server:
        doc = server.get("/v1/models/m")[1]
        assert (doc["algorithm"], doc["kind"], doc["task"]) == ("recommender", "recommender", "ranking"), doc
        assert doc["can"] == ["recommend", "similar", "suggest"] and "features" not in doc, doc
        assert (doc["users"], doc["items"]) == (80, 40), doc
        with open(f"{folder}/likes.model/furrow.json") as file:
            figures = json.load(file)["figures"]["ranking"]
        ranking = doc["ranking"]
        assert ranking["k"] == 10 and ranking["users"] == figures["users"], ranking
        chosen = [c for c in ranking["candidates"] if c["chosen"]]
        assert [c["name"] for c in chosen] == [figures["chosen"]], ranking
        for candidate in ranking["candidates"]:
            assert candidate["ndcg"] == figures[candidate["name"]]["ndcg"], candidate


def test_recommends_as_the_command(folder):
    model = train_recommender(folder)
    with Server("--model", f"m={model}") as server:
        lines = furrow("recommend", "--model", model, "--users", "u0,u1", "-k", 5, "--json", "-q").splitlines()
        answers = post(server, "recommend", {"users": ["u0", "u1"], "k": 5})["recommendations"]
        for line, answer in zip(map(json.loads, lines), answers):
            assert line["user"] == answer["user"], (line, answer)
            assert [i["item"] for i in line["items"]] == [i["item"] for i in answer["items"]], (line, answer)
        # users with opposite tastes get different items
        assert all(int(item[1:]) < 20 for item in items_of(server, "u0", k=5)), answers
        assert all(int(item[1:]) >= 20 for item in items_of(server, "u1", k=5)), answers
        assert items_of(server, "u0", only=["i30", "i3"], k=5) in (["i3", "i30"], ["i3"]), answers
        first = items_of(server, "u0", k=1)[0]
        assert first not in items_of(server, "u0", exclude=[first])
        assert len(post(server, "similar", {"items": ["i3"], "k": 3})["similar"][0]["items"]) == 3


def test_seen(folder):
    """What a user took is left out; a request may ask for it."""
    with open(f"{folder}/log.csv", "w") as file:
        file.write("user,item,time\n")
        for user in range(60):
            for n in range(8):
                file.write(f"u{user},i{(user * 3 + n) % 30},{1700000000 + user * 100 + n}\n")
    model = f"{folder}/once.model"
    furrow("train", "--model", "recommender", "--train", f"{folder}/log.csv", "--out", model, "-q")
    taken = {f"i{n}" for n in range(8)}
    with Server("--model", f"m={model}") as server:
        assert not taken & set(items_of(server, "u0"))
        assert not taken & set(items_of(server, "u0", exclude_seen=True))
        assert taken <= set(items_of(server, "u0", exclude_seen=False, k=30))
    with open(f"{folder}/seen.csv", "w") as file:
        file.write("user,item,time\nu0,i20,1700100000\n")
    with Server("--model", f"m={model}", "--seen", f"m={folder}/seen.csv") as server:
        assert not ({"i20"} | taken) & set(items_of(server, "u0", k=30))
        assert {"i20"} | taken <= set(items_of(server, "u0", exclude_seen=False, k=30))


def test_reasons(folder):
    model = train_recommender(folder)
    write_items(f"{folder}/items.csv")
    with open(f"{folder}/likes.csv") as file:
        taken = {item for user, item, _ in (line.split(",") for line in file) if user == "u0"}
    with Server("--model", f"m={model}", "--items", f"m={folder}/items.csv:title") as server:
        answer = post(server, "recommend", {"users": ["u0"], "k": 4, "reasons": 2})["recommendations"][0]
        assert any(item["because"] for item in answer["items"]), answer
        for item in answer["items"]:
            assert len(item["because"]) <= 2, item
            for reason in item["because"]:
                assert reason["item"] in taken and reason["part"] > 0, (reason, taken)
                assert reason["name"] == f"Title of {reason['item'][1:]}", reason
        assert "because" not in post(server, "recommend", {"users": ["u0"]})["recommendations"][0]["items"][0]
        for wrong in (-1, 11, "two"):
            assert post(server, "recommend", {"users": ["u0"], "reasons": wrong}, 400)["pointer"] == "/reasons"
    with Server("--model", f"m={train_events(folder)}") as server:
        assert post(server, "recommend", {"users": ["u0"], "reasons": 1}, 400)["pointer"] == "/reasons"


def test_what_it_does_not_do(folder):
    with Server("--model", f"m={train_recommender(folder)}") as server:
        for verb in ("predict", "explain"):
            problem = post(server, verb, {"instances": [{"user": "u0", "item": "i1"}]}, 422)
            assert ":recommend" in problem["detail"], problem
        problem = post(server, "recommend", {"users": ["u0"], "context": {"device": "tv"}}, 400)
        assert problem["pointer"] == "/context", problem
        assert post(server, "recommend", {"users": ["nobody"]}, 404)["pointer"] == "/users/0"
        assert server.get("/healthz")[0] == 200


def test_suggests_names(folder):
    model = train_recommender(folder)
    write_items(f"{folder}/items.csv")
    with Server("--model", f"m={model}", "--items", f"m={folder}/items.csv:title") as server:
        assert len(post(server, "suggest", {"users": ""})["users"]) == 10
        assert sorted(post(server, "suggest", {"users": "U7", "k": 100})["users"]) == \
            sorted(["u7"] + [f"u7{n}" for n in range(10)])
        assert post(server, "suggest", {"users": "nobody"})["users"] == []
        assert post(server, "suggest", {"items": "i39"})["items"] == [{"item": "i39", "name": "Title of 39"}]
        by_title = post(server, "suggest", {"items": "TLE OF 3", "k": 100})["items"]
        assert sorted(item["item"] for item in by_title) == sorted(["i3"] + [f"i3{n}" for n in range(10)]), by_title
        for wrong, pointer in (({"users": 1}, "/users"), ({"users": "a", "k": 0}, "/k"), ({"user": ""}, "/user"),
                               ({"users": "", "items": ""}, "/items"), ({"users": "a\0"}, "/users")):
            assert post(server, "suggest", wrong, 400)["pointer"] == pointer, wrong
        post(server, "suggest", {}, 400)
        post(server, "suggest", {"users": "", "k": 10**9}, 413)


def test_versions(folder):
    """A recommender takes the place of another kind of model; a damaged one does not."""
    events, likes = train_events(folder), train_recommender(folder)
    source = f"{folder}/versions"
    os.mkdir(source)
    shutil.copytree(events, f"{source}/1")
    with Server("--model", f"m={source}", "--watch", 0) as server:
        assert server.get("/v1/models/m")[1]["kind"] == "events"
        shutil.copytree(likes, f"{source}/2")
        assert post(server, "reload", {})["version"] == 2
        assert server.get("/v1/models/m")[1]["kind"] == "recommender"
        shutil.copytree(likes, f"{source}/3")
        with open(f"{source}/3/furrow.json") as file:
            text = file.read()
        with open(f"{source}/3/furrow.json", "w") as file:
            file.write(text.replace('"popular" : 0', '"popular" : -1', 1))
        assert "recommender/popular" in post(server, "reload", {}, 409)["detail"]
        shutil.copytree(likes, f"{source}/4")
        os.truncate(f"{source}/4/events/0", 100)
        post(server, "reload", {}, 409)
        shutil.copytree(likes, f"{source}/5")
        shutil.rmtree(f"{source}/5/popularity")
        post(server, "reload", {}, 409)
        assert len(items_of(server, "u0")) == 10


def test_models_that_rank(folder):
    """An fm that was trained to rank is called so, and its scores are not values."""
    furrow("train", "--model", "fm", "--train", f"{train_recommender(folder)[:-len('.model')]}.csv", "--schema", "auto",
           "--epochs", 2, "--out", f"{folder}/ranks.model", "-q")
    with Server("--model", f"m={folder}/ranks.model") as server:
        doc = server.get("/v1/models/m")[1]
        assert (doc["algorithm"], doc["kind"], doc["task"]) == ("fm", "events", "ranking"), doc


if __name__ == "__main__":
    run(globals())
