"""Searches over HTTP: the answers are those of furrow index search, and wrong requests say where they are wrong."""
import array
import json
import os
import random
import shutil
import subprocess
import threading
import time

from furrow_server import PROGRAM, Server, build_index, furrow, run, train_rows

SEARCH = "/v1/indexes/items:search"
RAW = {"Content-Type": "application/octet-stream", "Accept": "application/octet-stream"}


def write_queries(path, vectors):
    with open(path, "wb") as file:
        for vector in vectors:
            array.array("i", [len(vector)]).tofile(file)
            array.array("f", vector).tofile(file)


def command_search(folder, index, vectors, k, *words):
    """(ids, distances) of furrow index search, as rows."""
    write_queries(f"{folder}/queries.fvecs", vectors)
    furrow("index", "search", index, f"{folder}/queries.fvecs", "-k", k, "--out-ids", f"{folder}/found.i64", "--out-dist",
           f"{folder}/found.f32", "--force", "-q", *words)
    ids, distances = array.array("q"), array.array("f")
    with open(f"{folder}/found.i64", "rb") as file:
        ids.frombytes(file.read())
    with open(f"{folder}/found.f32", "rb") as file:
        distances.frombytes(file.read())
    return ([list(ids[i:i + k]) for i in range(0, len(ids), k)],
            [list(distances[i:i + k]) for i in range(0, len(distances), k)])


def as_f32(values):
    return list(array.array("f", values))


def check_same(answer, expected):
    """Compares ids, and distances bit for bit."""
    for found, ids, distances in zip(answer["neighbors"], *expected, strict=True):
        kept = [i for i in ids if i >= 0]
        assert [n["id"] for n in found] == kept, (found, ids)
        assert as_f32([n["distance"] for n in found]) == distances[:len(kept)], (found, distances)


def raw_search(server, vectors, query, k):
    body = b"".join(array.array("f", v).tobytes() for v in vectors)
    status, headers, answer = server.request("POST", f"{SEARCH}?{query}", body, RAW)
    assert status == 200 and headers["content-type"] == "application/octet-stream", (status, answer)
    n = len(vectors)
    assert len(answer) == n * k * 12
    ids, distances = array.array("q", answer[:n * k * 8]), array.array("f", answer[n * k * 8:])
    return ([list(ids[i:i + k]) for i in range(0, n * k, k)], [list(distances[i:i + k]) for i in range(0, n * k, k)])


def test_same_as_command(folder):
    kinds = {"pq": [], "opq": ["--opq"], "flat": ["--m", 0], "ip": ["--metric", "ip"], "refined": ["--refine-flat"]}
    for kind, words in kinds.items():
        path, vectors = build_index(folder, kind, 2000, 16, False, *words)
        queries = [[x + 0.01 for x in v] for v in vectors[:40]]
        with Server("--index", f"items={path}") as server:
            for k, nprobe in ((1, 1), (10, 4), (100, 16)):
                expected = command_search(folder, path, queries, k, "--nprobe", nprobe)
                status, answer = server.post(SEARCH, {"vectors": queries, "k": k, "nprobe": nprobe})
                assert status == 200, answer
                check_same(answer, expected)
                assert raw_search(server, queries, f"k={k}&nprobe={nprobe}", k) == tuple(expected), kind
                status, one = server.post(SEARCH, {"vectors": queries[:1], "k": k, "nprobe": nprobe})
                check_same(one, [expected[0][:1], expected[1][:1]])
            # more lists than there are: all of them
            status, answer = server.post(SEARCH, {"vectors": queries, "k": 10, "nprobe": 1000000})
            check_same(answer, command_search(folder, path, queries, 10, "--nprobe", 16))


def test_filters(folder):
    path, vectors = build_index(folder, named=True)
    queries = vectors[:5]
    with Server("--index", f"items={path}") as server:
        def search(**more):
            status, answer = server.post(SEARCH, {"vectors": queries, "k": 10, "nprobe": 16, **more})
            assert status == 200, answer
            return answer

        some = [3, 1999, 7, 7, 500, 3]
        check_same(search(filter={"ids": some}), command_search(folder, path, queries, 10, "--nprobe", 16, "--filter-ids",
                                                                ",".join(map(str, sorted(set(some))))))
        check_same(search(filter={"exclude": list(range(1000))}),
                   command_search(folder, path, queries, 10, "--nprobe", 16, "--filter-ids", "1000:2000"))
        check_same(search(filter={"range": [100, 200]}),
                   command_search(folder, path, queries, 10, "--nprobe", 16, "--filter-ids", "100:200"))
        named = search(filter={"names": ["item 5", "item 9"]})
        assert {n["name"] for found in named["neighbors"] for n in found} == {"item 5", "item 9"}
        assert search(filter={"ids": []})["neighbors"] == [[]] * 5
        many = list(range(0, 2000, 2)) * 3  # sorted by a worker
        check_same(search(filter={"ids": many}), command_search(folder, path, queries, 10, "--nprobe", 16, "--filter-ids",
                                                                ",".join(map(str, range(0, 2000, 2)))))


def test_ids_and_names(folder):
    path, vectors = build_index(folder, named=True)
    with Server("--index", f"items={path}") as server:
        status, by_id = server.post(SEARCH, {"ids": [5, 700], "k": 3, "nprobe": 16})
        assert status == 200 and [found[0]["id"] for found in by_id["neighbors"]] == [5, 700], by_id
        assert by_id["neighbors"][0][0]["name"] == "item 5"
        status, by_name = server.post(SEARCH, {"names": ["item 5", "item 700"], "k": 3, "nprobe": 16})
        assert (status, by_name) == (200, by_id)
        status, answer = server.post(SEARCH, {"ids": [5, 2000]})
        assert (status, answer["pointer"]) == (404, "/ids/1"), answer
        status, answer = server.post(SEARCH, {"names": ["item x"]})
        assert (status, answer["pointer"]) == (404, "/names/0"), answer
    with Server("--index", f"items={path}", "--search-only") as server:
        status, answer = server.post(SEARCH, {"ids": [5]})
        assert status == 409, answer
        status, answer = server.post(SEARCH, {"vectors": vectors[:1], "k": 3, "nprobe": 16})
        check_same(answer, command_search(folder, path, vectors[:1], 3, "--nprobe", 16))
        assert answer["neighbors"][0][0]["name"] == "item 0"


def test_wrong_requests(folder):
    path, vectors = build_index(folder, count=500)
    one = vectors[0]
    table = [
        ("", 400, None), ("[]", 400, None), ("{", 400, None), ("{}", 400, None), ('{"vectors":[]}', 400, None),
        ('{"vectors":[[1]]} x', 400, "/vectors/0"), ('{"vectors":[[' + "0," * 15 + "0]]} x", 400, None),
        ({"vectors": [one], "ids": [1]}, 400, None),
        ({"vectors": [one, one, one, one[:-1]]}, 400, "/vectors/3"), ({"vectors": [one, one + [1.0]]}, 400, "/vectors/1"),
        ({"vectors": [one[:5] + ["x"] + one[6:]]}, 400, "/vectors/0/5"), ({"vectors": 5}, 400, "/vectors"),
        ({"vectors": [one, 5]}, 400, "/vectors/1"), ({"vectors": [one, one[:15] + [1e300]]}, 400, "/vectors/1/15"),
        ({"vectors": [one[:15] + [3e30]]}, 400, "/vectors/0"), ({"vectors": [one[:15] + [None]]}, 400, "/vectors/0/15"),
        (json.dumps({"vectors": [one[:15] + [float("nan")]]}), 400, "/vectors/0/15"),
        ({"vectors": [one], "k": 0}, 400, "/k"), ({"vectors": [one], "k": -1}, 400, "/k"),
        ({"vectors": [one], "k": 1.5}, 400, "/k"), ({"vectors": [one], "k": "10"}, 400, "/k"),
        ({"vectors": [one], "k": 1001}, 413, "/k"), ({"vectors": [one], "nprobe": 0}, 400, "/nprobe"),
        ({"vectors": [one], "ef_search": 0}, 400, "/ef_search"), ({"vectors": [one], "k_factor": 0}, 400, "/k_factor"),
        ({"vectors": [one], "nprob": 4}, 400, "/nprob"), ({"vector": [one]}, 400, "/vector"),
        ('{"vectors":[' + json.dumps(one) + '],"k":1,"k":2}', 400, "/k"),
        ({"vectors": [one], "filter": {}}, 400, "/filter"), ({"vectors": [one], "filter": {"ids": [1], "exclude": []}}, 400,
                                                            "/filter/exclude"),
        ({"vectors": [one], "filter": {"ids": [1, -2]}}, 400, "/filter/ids/1"),
        ({"vectors": [one], "filter": {"range": [1]}}, 400, "/filter/range"),
        ({"vectors": [one], "filter": {"range": [1, 2, 3]}}, 400, "/filter/range"),
        ({"vectors": [one], "filter": {"range": [50, 3]}}, 400, "/filter/range"),
        ({"vectors": [one], "filter": {"id": [1]}}, 400, "/filter/id"),
        ({"vectors": [one], "filter": {"names": ["a"]}}, 422, "/filter/names"), ({"names": ["a"]}, 422, "/names"),
        ({"vectors": [one], "ef_search": 16}, 400, "/ef_search"), ({"vectors": [one], "k_factor": 2}, 400, "/k_factor"), ({"vectors": [one] * 10001}, 413, "/vectors"),
        ({"ids": [1] * 2000, "k": 1000}, 413, "/k"), ({"ids": ["1"]}, 400, "/ids/0"), ({"ids": [2 ** 70]}, 400, "/ids/0"),
        ("[" * 5000, 400, None),
    ]
    with Server("--index", f"items={path}") as server:
        for body, status, pointer in table:
            found, answer = server.post(SEARCH, body)
            told = json.dumps(body)[:90]
            assert found == status == answer["status"], (told, found, answer)
            assert answer.get("pointer") == pointer, (told, answer)
        assert "nprobe" in server.post(SEARCH, {"vectors": [one], "nprob": 4})[1]["hint"]
        for query, body in (("k=0", one), ("k=x", one), ("kk=1", one), ("k=1&k=2", one), ("k=99999999999999999999", one),
                            ("filter=1", one), ("", one[:-1]), ("", []), ("", one[:15] + [float("nan")]),
                            ("", one[:15] + [float("inf")]), ("k_factor=nan", one), ("k_factor=2", one),
                            ("ef_search=16", one)):
            status, _, answer = server.request("POST", f"{SEARCH}?{query}", array.array("f", body).tobytes(), RAW)
            assert status == 400, (query, status, answer)
        status, _, answer = server.request("POST", SEARCH, array.array("f", one + one[:15] + [float("nan")]).tobytes(), RAW)
        assert json.loads(answer)["pointer"] == "/vectors/1", answer
        assert server.post("/v1/indexes/items:add", {"vectors": [one]})[0] == 409
        assert server.post("/v1/indexes/items:remove", {"ids": [1]})[0] == 409
        assert server.post("/v1/indexes/items:checkpoint", {})[0] == 409
        assert server.post("/v1/indexes/other:search", {"vectors": [one]})[0] == 404
        assert server.post(SEARCH, {"vectors": [one], "k": 3})[0] == 200


def test_numbers_of_parameters(folder):
    """Numbers in the address are decimal, and nothing is cut off."""
    path, vectors = build_index(folder, "items", 500, 16, False, "--refine-flat")
    body = array.array("f", vectors[0]).tobytes()
    with Server("--index", f"items={path}") as server:
        for number in ("1", "4", "1.5", "1.0000", "1000"):
            status, _, answer = server.request("POST", f"{SEARCH}?k_factor={number}", body, RAW)
            assert status == 200, (number, answer)
        for number in ("", "0x10", "+2", "2.", ".5", "1e1", "2x", "nan", "inf", "0.5", "1001", "%202", "1." + "0" * 40 + "JUNK",
                       "1." + "0" * 29 + "x"):
            status, _, answer = server.request("POST", f"{SEARCH}?k_factor={number}", body, RAW)
            assert status == 400 and b"k_factor" in answer, (number, answer)
        for query in ("k=0x3", "k=3" + "0" * 40, "nprobe=" + "0" * 40 + "1", "k=+3", "k=3.0"):
            assert server.request("POST", f"{SEARCH}?{query}", body, RAW)[0] == 400, query


def test_too_many_elements(folder):
    """Arrays are refused where they become too long, not after all of them was read."""
    path, vectors = build_index(folder, named=True, count=500)
    add, remove = "/v1/indexes/items:add", "/v1/indexes/items:remove"
    wrong = '"x"'  # what follows the limit is not read
    ids, names = f"[{'1,' * 8}{wrong}]", f"[{'$,' * 8}3]".replace("$", '"item 1"')
    table = [(remove, f'{{"ids":{ids}}}', "/ids"), (remove, f'{{"names":{names}}}', "/names"),
             (remove, f'{{"names":{names.replace("item 1", "nobody")}}}', "/names"),
             (add, f'{{"ids":{ids}}}', "/ids"), (add, f'{{"names":{names}}}', "/names"),
             (SEARCH, f'{{"ids":{ids}}}', "/ids"), (SEARCH, f'{{"names":{names}}}', "/names")]
    with Server("--index", f"items={path}", "--writable", "items", "--max-rows", 8) as server:
        for call, body, pointer in table:
            status, answer = server.post(call, body)
            assert (status, answer["pointer"]) == (413, pointer), (call, body, answer)
        assert server.post(remove, {"ids": [1000] * 8})[0] == 200
        status, answer = server.post(SEARCH, {"vectors": vectors[:1], "filter": {"ids": list(range(100))}})
        assert status == 200, answer  # a filter has a limit of its own
        for kind in ("ids", "exclude"):
            body = f'{{"vectors":{json.dumps(vectors[:1])},"filter":{{"{kind}":[{"1," * 1000000}{wrong}]}}}}'
            status, answer = server.post(SEARCH, body)
            assert (status, answer["pointer"]) == (413, f"/filter/{kind}"), answer


def test_options_that_apply(folder):
    """An option that the index has no use for is refused."""
    golden = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../golden/faiss")
    kinds = {f"{golden}/v173_flat_l2.index": "", f"{golden}/v173_hnsw_flat_l2.index": "ef_search",
             f"{golden}/v173_pq_l2.index": "", f"{golden}/v173_imi_pq.index": "nprobe",
             build_index(folder, "pq", 500)[0]: "nprobe",
             build_index(folder, "graph", 500, 16, False, "--hnsw", 4)[0]: "nprobe ef_search",
             build_index(folder, "refined", 500, 16, False, "--refine-flat", "--opq")[0]: "nprobe k_factor",
             build_index(folder, "twice", 500, 16, False, "--refine-m", 4)[0]: "nprobe k_factor"}
    words = [word for i, path in enumerate(kinds) for word in ("--index", f"i{i}={path}")]
    with Server(*words) as server:
        for i, (path, applies) in enumerate(kinds.items()):
            query = [0.5] * server.get(f"/v1/indexes/i{i}")[1]["dimension"]
            assert server.post(f"/v1/indexes/i{i}:search", {"vectors": [query]})[0] == 200, path
            for option in ("nprobe", "k_factor", "ef_search"):
                status, answer = server.post(f"/v1/indexes/i{i}:search", {"vectors": [query], option: 16})
                expected = (200, None) if option in applies.split() else (400, f"/{option}")
                assert (status, answer.get("pointer")) == expected, (path, option, answer)


def test_lost_parameters(folder):
    """Parameters in the address of a JSON request would be ignored."""
    path, vectors = build_index(folder, count=500)
    model = train_rows(folder, rows=200)
    with Server("--index", f"items={path}", "--writable", "items", "--model", f"m={model}") as server:
        body = {"vectors": vectors[:1]}
        for call in ("predict?x=1", "recommend?k=2", "explain?top=1", "reload?version=1"):
            status, answer = server.post(f"/v1/models/m:{call}", {"instances": [[0.5] * 20]})
            assert status == 400 and "address" in answer["detail"], (call, answer)
        assert server.post("/v1/models/m:predict", {"instances": [[0.5] * 20]})[0] == 200
        for call in ("search?k=2", "search?kk=3", "add?replace=true", "remove?k=1", "curve?k=2", "reload?x", "checkpoint?a=b"):
            status, answer = server.post(f"/v1/indexes/items:{call}", {"ids": [1]} if "remove" in call else body)
            assert status == 400 and "address" in answer["detail"], (call, answer)
            assert call.partition("?")[2].partition("=")[0] in answer["hint"], (call, answer)
        assert server.post(f"{SEARCH}?", body)[0] == 200
        for address in ("/healthz?probe=1", "/v1/indexes?x=1", "/v1/indexes/items?x=1"):
            assert server.get(address)[0] == 200, address


def test_bodies_that_are_not_json(folder):
    path, vectors = build_index(folder, count=500)
    with Server("--index", f"items={path}") as server:
        body = array.array("f", vectors[0]).tobytes()
        for query in ("", "?k=3"):
            for headers in ({}, {"Content-Type": "application/json"}):
                status, _, answer = server.request("POST", SEARCH + query, body, headers)
                assert status == 400 and "application/octet-stream" in json.loads(answer)["hint"], answer
                assert "token" not in json.loads(answer), answer
        status, answer = server.post(SEARCH, "")
        assert status == 400 and answer["detail"] == "the body is empty" and answer["hint"], answer
        status, answer = server.post(SEARCH, "[[1, 2]]")
        assert status == 400 and "hint" not in answer, answer


def test_tokens(folder):
    """A token is the name or the value at fault, as text."""
    path, vectors = build_index(folder, count=500, named=True)
    table = [('{"k": 1, "nprob": 3}', "nprob"), ('{"k": 1, "k": 2}', "k"), ('{"k": 1.5}', "1.5"), ('{"k": "x"}', "x"),
             ('{"k": {"a": [1]}}', None), ("[1]", None), ('{"k": 1,}', None), ('{"names": ["no \\u0001one"]}', "no \\u0001one"),
             ('{"filter": {"range": [1]}}', None), ('{"filter": {}}', None)]
    with Server("--index", f"items={path}") as server:
        for body, token in table:
            status, answer = server.post(SEARCH, body)
            assert status in (400, 404) and answer.get("token") == token, (body, answer)


def test_default_nprobe(folder):
    """A file that says 1 gets what finds enough; one that says more keeps it; a request always wins."""
    draw = random.Random(1)
    vectors = [[draw.gauss(0, 1) for _ in range(16)] for _ in range(2000)]
    path, queries = f"{folder}/items.index", vectors[:30]
    write_queries(f"{folder}/items.fvecs", vectors)

    def build(*words):
        furrow("index", "build", "--base", f"{folder}/items.fvecs", "--out", path, "--nlist", 16, "--m", 8, "--force", *words)

    build()
    with Server("--index", f"items={path}") as server:
        document = server.get("/v1/indexes/items")[1]
        nprobe = document["nprobe"]
        assert document["nprobe_from"] == "measured" and document["recall"] >= 0.9 and nprobe in (2, 4, 8, 16), document
        points = server.post("/v1/indexes/items:curve", {"queries": 64})[1]["points"]
        assert [p["recall"] for p in points if p["nprobe"] == nprobe] == [document["recall"]], (points, document)
        assert all(p["recall"] < 0.9 for p in points if p["nprobe"] < nprobe), points
        assert f"probe {nprobe} of 16 lists" in server.stderr()
        check_same(server.post(SEARCH, {"vectors": queries})[1], command_search(folder, path, queries, 10, "--nprobe", nprobe))
        check_same(server.post(SEARCH, {"vectors": queries, "nprobe": 1})[1],
                   command_search(folder, path, queries, 10, "--nprobe", 1))
    with Server("--index", f"items={path}", "--search-only") as server:
        document = server.get("/v1/indexes/items")[1]
        assert (document["nprobe"], document["nprobe_from"], document["recall"]) == (8, "rule", None), document
    build("--nprobe", 3)
    with Server("--index", f"items={path}") as server:
        document = server.get("/v1/indexes/items")[1]
        assert (document["nprobe"], document["nprobe_from"], document["recall"]) == (3, "file", None), document
        check_same(server.post(SEARCH, {"vectors": queries})[1], command_search(folder, path, queries, 10, "--nprobe", 3))
        assert "lists unless" not in server.stderr()


def test_filters_find(folder):
    """Without nprobe, a filter does not hide what it keeps in lists that are far away."""
    path, vectors = build_index(folder, "items", 2000, 16, True, "--nprobe", 2)
    far = sorted(range(2000), key=lambda i: -sum((a - b) ** 2 for a, b in zip(vectors[0], vectors[i])))
    with Server("--index", f"items={path}") as server:
        def search(**more):
            status, answer = server.post(SEARCH, {"vectors": vectors[:1], "k": 10, **more})
            assert status == 200, answer
            return [n["id"] for n in answer["neighbors"][0]]

        assert sorted(search(filter={"ids": far[:5]})) == sorted(far[:5])
        assert sorted(search(filter={"names": [f"item {i}" for i in far[:3]]})) == sorted(far[:3])
        assert search(filter={"ids": far[:5]}, nprobe=1) == []
        kept = set(far[:400])  # more than go to all lists at once
        found = search(filter={"ids": list(kept)})
        assert len(found) == 10 and set(found) <= kept, found
        found = search(filter={"exclude": list(set(range(2000)) - kept)})
        assert len(found) == 10 and set(found) <= kept, found
        assert search(filter={"range": [2000, 5000]}) == []
        together = server.post(SEARCH, {"vectors": vectors[:20], "k": 10, "filter": {"ids": list(kept)}})[1]["neighbors"]
        for vector, one in zip(vectors, together):
            assert server.post(SEARCH, {"vectors": [vector], "k": 10, "filter": {"ids": list(kept)}})[1]["neighbors"] == [one]


def test_moved_away(folder):
    path, vectors = build_index(folder, count=500)
    with Server("--index", f"items={path}", "--watch", 1) as server:
        def wait_for(is_wrong):
            for _ in range(600):
                error = server.get("/v1/indexes/items")[1]["last_error"]
                if bool(error) == is_wrong:
                    return
                time.sleep(0.1)
            raise AssertionError(error)

        os.rename(path, f"{path}.away")
        wait_for(True)
        time.sleep(1.3)
        assert server.stderr().count("not reloaded, version 1 stays") == 1, server.stderr()
        assert server.post("/v1/indexes/items:reload", {})[0] == 409
        assert server.stderr().count("not reloaded, version 1 stays") == 2, server.stderr()
        assert server.post(SEARCH, {"vectors": vectors[:1]})[0] == 200
        os.rename(f"{path}.away", path)
        wait_for(False)
        assert server.get("/v1/indexes/items")[1]["version"] == 1


def test_file_goes_while_served(folder):
    path, vectors = build_index(folder, named=True)
    queries = vectors[:50]
    expected = command_search(folder, path, queries, 5, "--nprobe", 8)
    with Server("--index", f"items={path}", "--watch", 0) as server:
        def check():
            status, answer = server.post(SEARCH, {"vectors": queries, "k": 5, "nprobe": 8})
            assert status == 200
            check_same(answer, expected)
            assert answer["neighbors"][0][0]["name"] == "item 0"

        def check_refused():
            status, answer = server.post("/v1/indexes/items:reload", {})
            assert (status, answer["version"]) == (409, 1), answer
            check()
            assert server.get("/v1/indexes/items")[1]["last_error"]

        check()
        whole = open(path, "rb").read()
        os.truncate(path, len(whole) // 2)
        check()
        check_refused()
        with open(path, "r+b") as file:
            file.write(b"\xff" * len(whole))
        check_refused()
        os.truncate(f"{path}.names", 10)
        check()
        os.remove(path)
        check_refused()
        with open(path, "wb") as file:
            file.write(whole)
        check_refused()  # the names are cut still
        os.remove(f"{path}.names")
        check_refused()  # searches by name would find nothing
        furrow("index", "names", path, "--set", f"{folder}/items.txt")  # the index file itself stays
        status, answer = server.post("/v1/indexes/items:reload", {})
        assert (status, answer) == (200, {"name": "items", "version": 2, "changed": True}), answer
        assert server.post("/v1/indexes/items:reload", {})[1]["changed"] is False
        assert server.get("/v1/indexes/items")[1]["last_error"] is None
        check()


def test_names_go(folder):
    """An index with names does not become one without them because their file cannot be found."""
    path, vectors = build_index(folder, named=True, count=500)
    names, kept = f"{path}.names", f"{path}.kept"

    def lost():
        os.remove(names)

    def loop():
        os.symlink(names, names)

    def nowhere():
        os.remove(names)
        os.symlink(f"{folder}/nothing", names)

    def other_kind():
        os.remove(names)
        os.mkdir(names)

    os.link(names, kept)
    with Server("--index", f"items={path}", "--watch", 1) as server:
        told = {lost: "the ids in the file do not", loop: "Too many levels", nowhere: "No such file",
                other_kind: "not a regular file"}
        for change, text in told.items():
            change()
            for _ in range(600):
                if text in server.stderr():
                    break
                time.sleep(0.1)
            assert text in server.stderr(), (change, server.stderr())
            status, answer = server.post(SEARCH, {"names": ["item 5"], "k": 1})
            assert status == 200 and answer["neighbors"][0][0]["name"] == "item 5", (change, answer)
            status, answer = server.post("/v1/indexes/items:reload", {})
            assert status in (409, 500) and answer["version"] == 1, (change, answer)
            if change is not lost:
                done = subprocess.run([PROGRAM, "--listen", "127.0.0.1:0", "--index", f"items={path}"],
                                      capture_output=True, text=True, timeout=300)
                assert done.returncode != 0 and "items.index.names" in done.stderr, (change, done)
        os.rmdir(names)
        os.rename(kept, names)
        assert server.post("/v1/indexes/items:reload", {})[0] == 200
        assert server.get("/v1/indexes/items")[1]["last_error"] is None


def test_reload_by_itself(folder):
    path, vectors = build_index(folder, count=1000)
    other, _ = build_index(folder, "other", 1500)
    with Server("--index", f"items={path}", "--watch", 1) as server:
        stops, failures = threading.Event(), []

        def ask():
            connection = server.connect()
            while not stops.is_set():
                status, answer = server.post(SEARCH, {"vectors": vectors[:1], "k": 5}, connection=connection)
                if status != 200 or len(answer["neighbors"][0]) != 5:
                    failures.append(answer)
            connection.close()

        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            shutil.copy(other, f"{path}.part")
            os.rename(f"{path}.part", path)
            for _ in range(600):
                document = server.get("/v1/indexes/items")[1]
                if document["version"] == 2:
                    break
                stops.wait(0.1)
        finally:
            stops.set()
            for thread in threads:
                thread.join()
        assert document["version"] == 2 and document["vectors"] == 1500, document
        assert not failures, failures[0]
        assert "version 2 is served" in server.stderr()


def test_documents_and_curve(folder):
    path, vectors = build_index(folder, named=True)
    with Server("--index", f"items={path}") as server:
        status, document = server.get("/v1/indexes")
        (only,) = document["indexes"]
        assert status == 200
        for name, value in {"name": "items", "version": 1, "dimension": 16, "metric": "l2", "vectors": 2000, "lists": 16,
                            "named": True, "by_id": True, "writable": False, "code_bytes": 8}.items():
            assert only[name] == value, (name, only)
        status, curve = server.post("/v1/indexes/items:curve", {"queries": 50, "k": 5})
        assert status == 200 and [p["nprobe"] for p in curve["points"]] == [1, 2, 4, 8, 16], curve
        assert curve["points"][-1]["recall"] == 1 and all(p["queries_per_second"] > 0 for p in curve["points"])
        assert server.post("/v1/indexes/items:curve", {"queries": 0})[0] == 400
        assert server.post("/v1/indexes/items:curve", {"queries": 10 ** 9})[0] == 413


if __name__ == "__main__":
    run(globals())
