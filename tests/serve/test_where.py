"""Searches that attributes restrict: filters, values in answers, attributes of new vectors, and their way to the disk."""
import json
import os
import random
import threading

from furrow_server import Server, build_index, furrow, run

INDEX = "/v1/indexes/items"
LANGS = ["de", "fr", "it"]


def rows_of(count, seed=3):
    """A row of attributes for each vector; None: no value."""
    draw = random.Random(seed)
    return [{"price": draw.choice([None, 1, 2.5, 10, -3]), "lang": draw.choice([*LANGS, None]),
             "tags": draw.sample(["hot", "new", "x|y"], draw.randint(0, 2)) or None,
             "added": draw.choice([None, "2024-05-31T12:00:00Z", "2023-01-01T00:00:00.5Z"]), "sold": draw.randint(0, 1)}
            for _ in range(count)]


def build(folder, count=300, *words):
    """Builds an index of vectors as they are, with attributes; returns (its file, the vectors, the rows)."""
    rows = rows_of(count)
    with open(f"{folder}/rows.jsonl", "w") as file:
        file.writelines(json.dumps({"id": i, **row}) + "\n" for i, row in enumerate(rows))
    path, vectors = build_index(folder, "items", count, 16, False, "--m", 0, "--attributes", f"{folder}/rows.jsonl",
                                "--attribute-type", "tags=set", *words)
    return path, vectors, rows


def serve(path, *words):
    return Server("--index", f"items={path}", "--writable", "items", *words)


def search(server, vectors, k=10, connection=None, **more):
    status, answer = server.post(f"{INDEX}:search", {"vectors": vectors, "k": k, **more}, connection=connection)
    assert status == 200, answer
    return answer["neighbors"]


def add(server, connection=None, **request):
    status, answer = server.post(f"{INDEX}:add", request, connection=connection)
    assert status == 200, answer
    return answer["ids"]


def nearest(query, vectors, k, keep):
    """Ids of the nearest of a dict of vectors, by plain arithmetic."""
    def distance(id):
        return sum((a - b) ** 2 for a, b in zip(query, vectors[id])), id
    return sorted((id for id in vectors if keep(id)), key=distance)[:k]


FILTERS = {
    "price < 10 and lang in ('de', 'fr') and not sold":
        lambda r: r["price"] is not None and r["price"] < 10 and r["lang"] in ("de", "fr") and not r["sold"],
    "tags = 'hot' or price is missing": lambda r: "hot" in (r["tags"] or []) or r["price"] is None,
    "tags = 'x|y' and lang != \"de\"": lambda r: "x|y" in (r["tags"] or []) and r["lang"] != "de",
    "added >= '2024-01-01' and sold = true": lambda r: (r["added"] or "") > "2024" and r["sold"] == 1,
    "price = 12345": lambda r: r["price"] == 12345,
}


def check_filters(server, vectors, rows):
    """Vectors and rows by id."""
    queries = [vectors[id] for id in list(vectors)[:5]]
    for where, keep in FILTERS.items():
        found = search(server, queries, 7, where=where, attributes=["tags", "price", "lang", "added", "sold"])
        for query, neighbors in zip(queries, found):
            assert [n["id"] for n in neighbors] == nearest(query, vectors, 7, lambda id: keep(rows[id])), where
            for n in neighbors:
                assert list(n["attributes"]) == ["tags", "price", "lang", "added", "sold"]
                want = rows[n["id"]]
                assert {**n["attributes"], "tags": sorted(n["attributes"]["tags"] or [])} == \
                    {**want, "tags": sorted(want["tags"] or [])}, (n, want)
        (both,) = search(server, queries[:1], 7, where=where, filter={"range": [0, 150]})
        assert [n["id"] for n in both] == nearest(queries[0], vectors, 7, lambda id: id < 150 and keep(rows[id])), where


def test_filters(folder):
    path, vectors, rows = build(folder)
    with Server("--index", f"items={path}") as server:
        assert server.get(INDEX)[1]["attributes"] == {"price": "number", "lang": "text", "tags": "set", "added": "time",
                                                      "sold": "number"}
        check_filters(server, dict(enumerate(vectors)), dict(enumerate(rows)))
        assert len(search(server, [vectors[0]], 5, where="sold", recall=1)[0]) == 5
        assert "attributes" not in search(server, [vectors[0]], 1)[0][0]


def test_mistakes(folder):
    path, vectors, _ = build(folder, 60)
    plain, _ = build_index(folder, "plain", 300)
    with serve(path, "--index", f"plain={plain}", "--writable", "plain") as server:

        def refused(status, pointer, call="search", index=INDEX, **request):
            got, answer = server.post(f"{index}:{call}", {"vectors": [vectors[0]], **request})
            assert got == status and answer.get("pointer") == pointer, answer
            return answer

        answer = refused(400, "/where", where="price < 10 and prize = 3")
        assert answer["column"] == 16 and answer["token"] == "prize", answer
        assert refused(400, "/where", where="price < 'x'")["column"] == 9
        assert refused(400, "/where", where="")["column"] == 1
        refused(400, "/where", where=3)
        refused(400, "/recall", where="sold", recall=1.5)
        refused(400, None, recall=0.9)
        refused(400, "/attributes/1", attributes=["price", "prize"])
        refused(400, "/attributes/1", attributes=["price", "price"])
        refused(422, "/where", index="/v1/indexes/plain", where="sold")
        refused(422, "/attributes", index="/v1/indexes/plain", attributes=["sold"])
        refused(422, "/attributes", "add", "/v1/indexes/plain", attributes=[{"sold": 1}])
        refused(400, "/attributes", "add", attributes=[])
        refused(400, "/attributes/0/prize", "add", attributes=[{"prize": 1}])
        refused(400, "/attributes/0", "add", attributes=[7])
        for column, wrong in [("price", "1"), ("price", [1]), ("lang", 1), ("tags", "hot"), ("added", "soon"), ("sold", {})]:
            refused(400, f"/attributes/0/{column}", "add", attributes=[{column: wrong}])
        refused(400, "/attributes/0/tags/0", "add", attributes=[{"tags": [1]}])
        refused(400, "/attributes/0/lang", "add", attributes=[{"lang": "a\0b"}])
        status, _ = server.post(f"{INDEX}:add", '{"vectors":[[' + ",".join("0" * 16) + ']],"attributes":[{"sold":1,"sold":2}]}')
        assert status == 400
        status, _, body = server.request("POST", f"{INDEX}:search", json.dumps({"vectors": [vectors[0]], "attributes": ["lang"]}),
                                         {"Accept": "application/octet-stream"})
        assert status == 400 and b"bytes" in body
        assert server.get(INDEX)[1]["vectors"] == 60


def test_new_vectors(folder):
    """Attributes of added vectors: found at once, after a kill, and after a checkpoint; replaced and kept."""
    path, listed, listed_rows = build(folder)
    vectors, rows = dict(enumerate(listed)), dict(enumerate(listed_rows))
    empty = dict.fromkeys(rows[0])

    def give(server, ids, new, given, **more):
        add(server, vectors=new, ids=ids, attributes=given, **more)
        for id, vector, row in zip(ids, new, given):
            vectors[id] = vector
            if row is not None:
                rows[id] = {**empty, **row}
            rows.setdefault(id, empty)

    near = [[x + 0.01 for x in vectors[id]] for id in range(6)]
    server = serve(path)
    give(server, [500, 501, 502], near[:3], [{"price": 2.5, "lang": "fr", "sold": 0}, None, {"tags": ["x|y", "hot"]}])
    give(server, [503], near[3:4], [{"added": "2024-05-31T12:00:00Z", "sold": 1, "lang": "it", "tags": []}])
    rows[503] = {**rows[503], "tags": None}
    check_filters(server, vectors, rows)
    assert add(server, vectors=[near[4]], ids=[4], replace=True) == [4]  # keeps the row of the file
    assert add(server, vectors=[near[5]], ids=[500], replace=True) == [500]  # and that of a new vector
    vectors[4], vectors[500] = near[4], near[5]
    give(server, [7, 501], near[:2], [{"price": 10}, {"price": -3, "lang": "de"}], replace=True)
    assert server.post(f"{INDEX}:remove", {"ids": [8, 502]})[1]["removed"] == 2
    vectors.pop(8), rows.pop(8), vectors.pop(502), rows.pop(502)
    give(server, [8], near[:1], [None])  # was removed: has no values any more
    give(server, [9], near[1:2], [{}], replace=True)
    check_filters(server, vectors, rows)
    server.kill()
    with serve(path) as server:
        check_filters(server, vectors, rows)
        assert server.post(f"{INDEX}:checkpoint", {})[0] == 200
        check_filters(server, vectors, rows)
        give(server, [600], near[2:3], [{"price": 1, "lang": "de", "sold": False}])
        rows[600] = {**rows[600], "sold": 0}
        check_filters(server, vectors, rows)
        assert server.stop() == 0
    furrow("index", "verify", path)
    with Server("--index", f"items={path}") as server:
        check_filters(server, vectors, rows)


def test_log_without_columns(folder):
    """A log whose attributes have no column in the file is not replayed; nothing is lost."""
    path, vectors, _ = build(folder, 60)
    server = serve(path)
    add(server, vectors=[vectors[0]], attributes=[{"price": 3}])
    server.kill()
    os.rename(f"{path}.attributes", f"{folder}/away")
    try:
        serve(path).stop()
        raise AssertionError("it was served")
    except AssertionError as error:
        assert "restore" in str(error) and ".attributes" in str(error), error
    os.rename(f"{folder}/away", f"{path}.attributes")
    with serve(path) as server:
        assert [n["id"] for n in search(server, [vectors[0]], 1, where="price = 3")[0]] == [60]


def test_at_the_same_time(folder):
    """While batches are replaced, added and removed, and checkpoints made: each answer satisfies its filter and belongs to
    one state, none older than what was acknowledged before."""
    path, vectors, _ = build(folder, 200)
    batches = {name: [1000 + 10 * i + j for j in range(4)] for i, name in enumerate(["p", "q"])}
    rounds, clients, wrong = 25, 3, []
    acknowledged, begun, stops = {"p": 0, "q": 0}, {"p": 0, "q": 0}, threading.Event()
    with serve(path) as server:
        for name, ids in batches.items():
            add(server, vectors=vectors[:4], ids=ids, attributes=[{"lang": name, "price": 0}] * 4)

        def replace(name):
            connection = server.connect()
            for generation in range(1, rounds + 1):
                begun[name] = generation
                add(server, connection, vectors=vectors[:4], ids=batches[name], replace=True,
                    attributes=[{"lang": name, "price": generation}] * 4)
                acknowledged[name] = generation

        def toggle():
            connection = server.connect()
            for i in range(rounds):
                ids = add(server, connection, vectors=vectors[4:7], attributes=[{"lang": "toggled"}] * 3)
                if i % 5 == 0:
                    assert server.post(f"{INDEX}:checkpoint", {}, connection=connection)[0] == 200
                assert server.post(f"{INDEX}:remove", {"ids": ids}, connection=connection)[0] == 200

        def ask(seed):
            draw, connection = random.Random(seed), server.connect()
            while not stops.is_set():
                name = draw.choice(["p", "q"])
                least = acknowledged[name]
                (found,) = search(server, [vectors[0]], 20, connection, where=f"lang = '{name}'", attributes=["price", "lang"])
                most = begun[name]
                rows = [n["attributes"] for n in found]
                if sorted(n["id"] for n in found) != batches[name] or any(row != rows[0] for row in rows) or \
                        rows[0]["lang"] != name or not least <= rows[0]["price"] <= most:
                    wrong.append((least, most, found))
                (found,) = search(server, [vectors[4]], 20, connection, where="lang = 'toggled'", attributes=["lang"])
                if len(found) not in (0, 3) or any(n["attributes"] != {"lang": "toggled"} for n in found):
                    wrong.append(found)

        writers = [threading.Thread(target=replace, args=(name,)) for name in batches] + [threading.Thread(target=toggle)]
        readers = [threading.Thread(target=ask, args=(seed,)) for seed in range(clients)]
        for thread in writers + readers:
            thread.start()
        for thread in writers:
            thread.join()
        stops.set()
        for thread in readers:
            thread.join()
        assert not wrong, wrong[:2]
        assert acknowledged == {"p": rounds, "q": rounds}
        assert server.get(INDEX)[1]["checkpoints"] == rounds / 5


if __name__ == "__main__":
    run(globals())
