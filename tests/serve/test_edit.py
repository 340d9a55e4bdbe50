"""Adding to and removing from a writable index: visible at once, durable when acknowledged, folded into the file."""
import array
import json
import os
import random
import re
import resource
import shutil
import subprocess
import threading
import time

from furrow_server import COMMAND, PROGRAM, Server, build_index, furrow, run

INDEX = "/v1/indexes/items"


def serve(path, *words):
    return Server("--index", f"items={path}", "--writable", "items", *words)


def search(server, vectors, k=5, connection=None, **more):
    status, answer = server.post(f"{INDEX}:search", {"vectors": vectors, "k": k, "nprobe": 16, **more},
                                 connection=connection)
    assert status == 200, answer
    return answer["neighbors"]


def add(server, connection=None, **request):
    status, answer = server.post(f"{INDEX}:add", request, connection=connection)
    assert status == 200, answer
    return answer["ids"]


def remove(server, **request):
    status, answer = server.post(f"{INDEX}:remove", request)
    assert status == 200, answer
    return answer["removed"]


def checkpoint(server):
    status, answer = server.post(f"{INDEX}:checkpoint", {})
    assert status == 200, answer
    return answer


def far(i, d=16):
    """A vector that is far from all others."""
    return [100.0 + 10 * i] + [float(i)] * (d - 1)


def found_by_command(folder, path, vectors, k=5):
    """What furrow index search finds in the file: lists of {id, distance}."""
    with open(f"{folder}/queries.fvecs", "wb") as file:
        for vector in vectors:
            array.array("i", [len(vector)]).tofile(file)
            array.array("f", vector).tofile(file)
    furrow("index", "search", path, f"{folder}/queries.fvecs", "-k", k, "--nprobe", 16, "--out-ids", f"{folder}/f.i64",
           "--out-dist", f"{folder}/f.f32", "--force", "-q")
    ids, distances = array.array("q"), array.array("f")
    with open(f"{folder}/f.i64", "rb") as a, open(f"{folder}/f.f32", "rb") as b:
        ids.frombytes(a.read())
        distances.frombytes(b.read())
    return [[(i, d) for i, d in zip(ids[at:at + k], distances[at:at + k]) if i >= 0] for at in range(0, len(ids), k)]


def pairs(neighbors):
    return [[(n["id"], array.array("f", [n["distance"]])[0]) for n in found] for found in neighbors]


def test_visible_at_once(folder):
    path, vectors = build_index(folder)
    with serve(path) as server:
        assert add(server, vectors=[far(1), far(2)]) == [2000, 2001]
        (found,) = search(server, [far(1)])
        assert found[0] == {"id": 2000, "distance": 0}, found
        assert add(server, vectors=[far(3)], ids=[5000]) == [5000]
        assert add(server, vectors=[far(4)]) == [5001]  # after the largest, not the count
        status, answer = server.post(f"{INDEX}:add", {"vectors": [far(5)], "ids": [7]})
        assert status == 409 and "replace" in answer["hint"], answer
        assert search(server, [far(5)])[0][0]["distance"] > 1
        assert add(server, vectors=[far(5)], ids=[7], replace=True) == [7]
        assert search(server, [far(5)])[0][0] == {"id": 7, "distance": 0}
        assert all(n["id"] != 7 for n in search(server, [vectors[7]], 50)[0])
        assert search(server, [far(5)], filter={"ids": [1, 7]})[0][0]["id"] == 7
        assert all(n["id"] != 7 for n in search(server, [far(5)], 50, filter={"exclude": [7]})[0])
        status, answer = server.post(f"{INDEX}:search", {"ids": [7], "k": 1})
        assert answer["neighbors"][0][0] == {"id": 7, "distance": 0}, answer
        status, answer = server.post(f"{INDEX}:remove", {"ids": [7, 7, 3, 2000, 123456]})
        assert (status, answer) == (200, {"removed": 3, "missing": [123456], "missing_count": 1}), answer
        status, answer = server.post(f"{INDEX}:remove", {"ids": [2000, *range(10000, 10200)]})
        assert answer == {"removed": 0, "missing": [2000, *range(10000, 10099)], "missing_count": 201}, answer
        assert server.post(f"{INDEX}:search", {"ids": [7]})[0] == 404
        assert search(server, [far(1)])[0][0]["id"] != 2000
        assert all(n["id"] != 3 for n in search(server, [vectors[3]], 50)[0])
        assert remove(server, ids=[7]) == 0
        assert add(server, vectors=[vectors[3]], ids=[3]) == [3]  # gone, so it may come back
        assert search(server, [vectors[3]])[0][0] == {"id": 3, "distance": 0}
        for _ in range(600):  # an answer is counted when it is written, which may be after the client has read it
            document = server.get(INDEX)[1]
            if document["requests"] >= 20:
                break
            time.sleep(0.02)
        assert (document["requests"], document["errors"]) == (20, 2), document  # searches, additions and removals
        assert document["vectors"] == 2000 - 2 + 1 + 3 and document["writable"], document  # without 7 and 3; 3, 2001, 5000, 5001
        body = array.array("f", far(8) + far(9)).tobytes()
        raw = {"Content-Type": "application/octet-stream"}
        assert json.loads(server.request("POST", f"{INDEX}:add?first_id=9000", body, raw)[2]) == {"ids": [9000, 9001]}
        assert server.request("POST", f"{INDEX}:add?first_id=9001", body, raw)[0] == 409
        assert server.request("POST", f"{INDEX}:add?first_id=9001&replace=true", body, raw)[0] == 200
        assert search(server, [far(8)])[0][0]["id"] in (9000, 9001)
        assert server.post(f"{INDEX}:reload", {})[0] == 409


def test_wrong_requests(folder):
    path, vectors = build_index(folder, count=500)
    one = vectors[0]
    table = [
        ({}, 400, None), ({"vectors": []}, 400, None), ({"vectors": [one], "ids": [1, 2]}, 400, "/ids"),
        ({"vectors": [one] * 4, "ids": [1001, 1000, 7000, 1000]}, 400, "/ids/3"), ({"vectors": [one], "ids": [-1]}, 400, "/ids/0"),
        ({"vectors": [one], "names": ["a"]}, 422, "/names"), ({"vectors": [one[:-1]]}, 400, "/vectors/0"),
        ({"vectors": [one], "replace": 1}, 400, "/replace"), ({"vectors": [one], "first_id": 1}, 400, "/first_id"),
        ({"vectors": [one, one[:15] + [1e39]]}, 400, "/vectors/1/15"), ({"vectors": [one], "ids": []}, 400, "/ids"),
    ]
    with serve(path) as server:
        for body, status, pointer in table:
            found, answer = server.post(f"{INDEX}:add", body)
            assert (found, answer.get("pointer")) == (status, pointer), (str(body)[:80], answer)
        assert server.post(f"{INDEX}:remove", {"names": ["a"]})[0] == 422
        for body, pointer in (({}, None), ({"ids": 1}, "/ids"), ({"ids": ["1"]}, "/ids/0")):
            found, answer = server.post(f"{INDEX}:remove", body)
            assert (found, answer.get("pointer")) == (400, pointer), (body, answer)
        assert server.post(f"{INDEX}:checkpoint", {"x": 1})[0] == 400
        assert server.get(INDEX)[1]["vectors"] == 500
        assert add(server, vectors=[one], ids=[2 ** 63 - 1]) == [2 ** 63 - 1]
        assert server.post(f"{INDEX}:add", {"vectors": [one]})[0] == 200  # such an id does not count


def test_names(folder):
    path, vectors = build_index(folder, named=True)
    with serve(path) as server:
        assert server.post(f"{INDEX}:add", {"vectors": [far(1)]})[0] == 400
        status, answer = server.post(f"{INDEX}:add", {"vectors": [far(1)], "names": ["item 3"]})
        assert status == 409 and "replace" in answer["hint"], answer
        status, answer = server.post(f"{INDEX}:add", {"vectors": [far(1)] * 3, "names": ["old", "new", "new"]})
        assert (status, answer["pointer"]) == (400, "/names/2"), answer
        for bad in ("", "a\nb", "a\0b"):
            assert server.post(f"{INDEX}:add", {"vectors": [far(1)], "names": [bad]})[0] == 400, bad
        assert add(server, vectors=[far(1), far(2)], names=["new é", "other"]) == [2000, 2001]
        assert add(server, vectors=[far(3)], names=["item 3"], replace=True) == [3]
        assert add(server, vectors=[far(4)], ids=[4], names=["four"], replace=True) == [4]

        def check():
            assert search(server, [far(1)])[0][0]["name"] == "new é"
            assert search(server, [far(3)])[0][0]["name"] == "item 3"
            assert search(server, [far(4)])[0][0]["name"] == "four"
            assert server.post(f"{INDEX}:search", {"names": ["item 4"]})[0] == 404
            assert server.post(f"{INDEX}:search", {"names": ["four"], "k": 1})[1]["neighbors"][0][0]["id"] == 4

        check()
        status, answer = server.post(f"{INDEX}:remove", {"names": ["other", "item 9", "nobody"]})
        assert answer == {"removed": 2, "missing": ["nobody"], "missing_count": 1}, answer
        checkpoint(server)
        check()
        assert server.post(f"{INDEX}:search", {"names": ["item 9"]})[0] == 404
        assert add(server, vectors=[far(9)], names=["item 9"]) == [2002]
    names = furrow("index", "names", path)
    assert "new é" in names and "four" in names and "other" not in names, names[-200:]
    furrow("index", "verify", path)


def test_checkpoint_and_restart(folder):
    path, vectors = build_index(folder)
    draw = random.Random(2)
    with serve(path) as server:
        new = [[x + draw.gauss(0, 0.1) for x in draw.choice(vectors)] for _ in range(300)]
        ids = add(server, vectors=new)
        assert ids == list(range(2000, 2300))
        assert remove(server, ids=list(range(0, 100)) + ids[:50]) == 150
        add(server, vectors=new[:10], ids=list(range(200, 210)), replace=True)
        assert checkpoint(server) == {"version": 2, "vectors": 2150}
        assert pairs(search(server, new + vectors[:50])) == found_by_command(folder, path, new + vectors[:50])
        furrow("index", "verify", path)
        assert add(server, vectors=[far(1)]) == [2300]
        assert remove(server, ids=[2299]) == 1
        expected = search(server, new + [far(1)])
        server.kill()
    with serve(path) as server:  # replays
        assert search(server, new + [far(1)]) == expected
        document = server.get(INDEX)[1]
        assert (document["vectors"], document["fresh"], document["removed"]) == (2150, 1, 1), document
        assert add(server, vectors=[far(2)]) == [2301]
        second = subprocess.run([PROGRAM, "--listen", "127.0.0.1:0", "--index", f"items={path}", "--writable", "items"],
                                capture_output=True, text=True, timeout=300)
        assert second.returncode != 0 and str(server.process.pid) in second.stderr, second
        assert server.stop() == 0  # makes a checkpoint
    assert os.path.getsize(f"{path}.log") < 100
    assert found_by_command(folder, path, [far(1)])[0][0][0] == 2300
    with serve(path) as server:
        assert server.get(INDEX)[1]["vectors"] == 2151
        assert add(server, vectors=[far(2)]) == [2302]


def test_card(folder):
    """The description says what the file was built from and when it is stale; checkpoints count what was added."""
    path, vectors = build_index(folder)
    with serve(path) as server:
        document = server.get(INDEX)[1]
        assert document["card"]["built_from"]["vectors"] == 2000 and document["card_error"] is None, document
        assert document["card"]["added_since"]["vectors"] == 0 and not document["stale"], document
        ids = add(server, vectors=vectors[:150])
        checkpoint(server)
        document = server.get(INDEX)[1]
        assert document["card"]["added_since"]["vectors"] == 150 and not document["stale"], document
        add(server, vectors=[far(i) for i in range(200)])
        assert not server.get(INDEX)[1]["stale"]
        checkpoint(server)
        document = server.get(INDEX)[1]
        assert document["stale"] and document["advice"].startswith("stale: rebuild: the 350 vectors"), document
        assert document["card"]["distance_ratio"] > 1.3, document
        remove(server, ids=ids[:20])
        checkpoint(server)
        assert server.get(INDEX)[1]["card"]["removed_since"] == 20
    assert "remark: card: stale: rebuild" in furrow("index", "verify", path)
    with serve(path) as server:
        assert "stale: rebuild" in server.stderr()
    with open(f"{path}.card", "r+") as file:
        file.seek(30)
        file.write("0")
    with Server("--index", f"items={path}") as server:
        document = server.get(INDEX)[1]
        assert document["card"] is None and "is damaged" in document["card_error"] and not document["stale"], document
        assert "is damaged" in server.stderr()


def test_a_checkpoint_keeps_modes(folder):
    """A checkpoint replaces the index and its names: both stay as closed as they were, and so does the log."""
    path, _ = build_index(folder, count=500)
    with open(f"{folder}/names.txt", "w") as file:
        file.writelines(f"n{i}\n" for i in range(500))
    furrow("index", "names", path, "--set", f"{folder}/names.txt")
    files = [path, f"{path}.names"]
    for file in files:
        os.chmod(file, 0o600)
    with serve(path) as server:
        add(server, vectors=[far(1)], names=["new"])
        checkpoint(server)
        assert [os.stat(file).st_mode & 0o777 for file in files + [f"{path}.log"]] == [0o600] * 3


def test_ids_are_not_given_twice(folder):
    """The next id follows the largest that ever was, also after its removal was folded and the server was killed."""
    path, vectors = build_index(folder, count=500)
    with serve(path) as server:
        assert remove(server, ids=[499]) == 1
        assert checkpoint(server)["vectors"] == 499
        server.kill()
    with serve(path) as server:
        assert add(server, vectors=[far(1)], ids=[1000]) == [1000]
        assert remove(server, ids=[1000]) == 1
        server.kill()
    with serve(path) as server:
        checkpoint(server)
        server.kill()
    assert os.path.getsize(f"{path}.log") == 48
    with serve(path) as server:
        assert add(server, vectors=[far(2)]) == [1001]
        checkpoint(server)
        assert remove(server, ids=[1001]) == 1
        assert server.stop() == 0
    with serve(path) as server:
        assert add(server, vectors=[far(2)], ids=[2 ** 63 - 1]) == [2 ** 63 - 1]
        assert remove(server, ids=[2 ** 63 - 1]) == 1
        checkpoint(server)
        server.kill()
    with serve(path) as server:  # such ids do not count
        assert add(server, vectors=[far(3)], ids=[2 ** 62]) == [2 ** 62]
        assert add(server, vectors=[far(3)]) == [1002]
        assert add(server, vectors=[far(3)], ids=[2 ** 62 - 1]) == [2 ** 62 - 1]
        status, answer = server.post(f"{INDEX}:add", {"vectors": [far(3)]})
        assert (status, "2^62" in answer["detail"]) == (400, True), answer


def test_the_command_knows_retired_ids(folder):
    """Ids that the service or the command has given to a vector are not given to another one, by either of them."""
    path, vectors = build_index(folder, count=500)
    with open(f"{folder}/one.fvecs", "wb") as file:
        array.array("i", [16]).tofile(file)
        array.array("f", far(1)).tofile(file)

    def add_by_command():
        report = json.loads(furrow("index", "add", path, "--base", f"{folder}/one.fvecs", "-q", "--json"))
        assert report["first_id"] == report["last_id"], report
        return report["first_id"]

    with serve(path) as server:
        assert add(server, vectors=[far(1)]) == [500]
        assert remove(server, ids=[500]) == 1
        assert server.stop() == 0
    assert add_by_command() == 501
    furrow("index", "remove", path, "--ids", "501", "-q")
    with serve(path) as server:
        assert add(server, vectors=[far(2)]) == [502]
        assert remove(server, ids=[502]) == 1
        checkpoint(server)
        assert add(server, vectors=[far(2)], ids=[2 ** 63 - 1]) == [2 ** 63 - 1]
        server.kill()
    with serve(path) as server:
        assert server.stop() == 0
    assert add_by_command() == 503


def test_log_of_an_index_that_is_only_read(folder):
    """Changes that were acknowledged are not left out in silence."""
    path, vectors = build_index(folder, count=500)
    read = ["--index", f"items={path}"]
    with serve(path) as writer, Server(*read) as reader:  # the log is empty
        add(writer, vectors=[far(1)])
        status, answer = reader.post(f"{INDEX}:reload", {})
        assert status == 409 and answer["code"] == "E_STATE" and "--writable items" in answer["hint"], answer
        assert answer["version"] == 1 and "items.index.log" in reader.get(INDEX)[1]["last_error"]
        assert search(reader, [vectors[3]])[0][0]["id"] == 3  # what was loaded before goes on
        done = subprocess.run([PROGRAM, "--listen", "127.0.0.1:0", *read], capture_output=True, text=True, timeout=300)
        assert done.returncode != 0 and "--writable items" in done.stderr, done
        checkpoint(writer)
        status, answer = reader.post(f"{INDEX}:reload", {})
        assert status == 200 and reader.get(INDEX)[1]["last_error"] is None, answer
        assert search(reader, [far(1)])[0][0]["id"] == 500
        add(writer, vectors=[far(2)])
        writer.kill()
    done = subprocess.run([PROGRAM, "--listen", "127.0.0.1:0", *read], capture_output=True, text=True, timeout=300)
    assert done.returncode != 0 and "hint" in done.stderr, done
    with serve(path) as server:
        assert server.stop() == 0  # folds them
    with Server(*read) as server:
        assert search(server, [far(2)])[0][0]["id"] == 501


def test_reader_follows_a_checkpoint(folder):
    """A file that was refused for its log is taken when the log has gone, though the file did not change again."""
    path, vectors = build_index(folder, count=500)
    with Server("--index", f"items={path}", "--watch", 1) as server:
        with open(f"{path}.log", "wb") as file:
            file.write(b"x" * 100)
        furrow("index", "remove", path, "--ids", "0:10")
        for _ in range(600):
            if server.get(INDEX)[1]["last_error"]:
                break
            time.sleep(0.1)
        assert server.get(INDEX)[1]["vectors"] == 500 and server.get(INDEX)[1]["last_error"]
        os.remove(f"{path}.log")
        for _ in range(600):
            if server.get(INDEX)[1]["vectors"] == 490:
                break
            time.sleep(0.1)
        assert server.get(INDEX)[1]["last_error"] is None and server.get(INDEX)[1]["vectors"] == 490
        assert server.stderr().count("not reloaded") == 1, server.stderr()


def test_two_paths_to_one_file(folder):
    """The log and its lock belong to the file, also if symbolic links lead to it."""
    os.mkdir(f"{folder}/links")
    path, vectors = build_index(folder, named=True, count=500)
    link = f"{folder}/links/items.index"
    os.symlink(path, link)
    start = [PROGRAM, "--listen", "127.0.0.1:0", "--index", f"items={link}"]

    def refused(*words):
        done = subprocess.run([*start, *words], capture_output=True, text=True, timeout=300)
        assert done.returncode != 0, done
        return done.stderr

    with serve(path) as server:
        assert "does not have the same file of names" in refused("--writable", "items")
        os.symlink(f"{path}.names", f"{link}.names")
        assert str(server.process.pid) in refused("--writable", "items")
        assert add(server, vectors=[far(1)], names=["one"]) == [500]
        assert "--writable items" in refused()  # the log has changes
        assert sorted(os.listdir(f"{folder}/links")) == ["items.index", "items.index.names"]  # no log
    with serve(link) as server:
        assert add(server, vectors=[far(2)], names=["two"]) == [501]
        assert checkpoint(server)["vectors"] == 502
        assert add(server, vectors=[far(3)], names=["three"]) == [502]
        server.kill()
    assert os.path.islink(link) and os.path.getsize(f"{path}.log") > 48
    os.rename(f"{path}.names", f"{path}.names.away")  # names that the log has must not be dropped
    os.remove(f"{link}.names")
    assert "has names of ids" in refused("--writable", "items")
    os.rename(f"{path}.names.away", f"{path}.names")
    with serve(path) as server:
        assert search(server, [far(3)])[0][0] == {"id": 502, "distance": 0, "name": "three"}
        assert server.post(f"{INDEX}:search", {"names": ["two"]})[0] == 200


def test_log_without_names(folder):
    """An index gets no names as long as its log has vectors without names, which could not be folded."""
    path, vectors = build_index(folder, count=500)
    with serve(path) as server:
        assert add(server, vectors=[far(1)]) == [500]
        server.kill()
    with open(f"{folder}/names.txt", "w") as file:
        file.writelines(f"name {i}\n" for i in range(500))
    done = subprocess.run([COMMAND, "index", "names", path, "--set", f"{folder}/names.txt"], capture_output=True,
                          text=True)
    assert done.returncode != 0 and "the log has changes" in done.stderr, done
    other = f"{folder}/other.index"
    shutil.copy(path, other)
    furrow("index", "names", other, "--set", f"{folder}/names.txt")
    os.rename(f"{other}.names", f"{path}.names")
    done = subprocess.run([PROGRAM, "--listen", "127.0.0.1:0", "--index", f"items={path}", "--writable", "items"],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode != 0 and "ids without names" in done.stderr, done
    os.remove(f"{path}.names")
    with serve(path) as server:
        assert search(server, [far(1)])[0][0] == {"id": 500, "distance": 0}
        assert checkpoint(server)["vectors"] == 501


def test_log_is_removed(folder):
    """What would be lost at the next start is not acknowledged; what was acknowledged can be saved."""
    path, vectors = build_index(folder, count=500)
    for replaced in (False, True):
        with serve(path, "--checkpoint-seconds", 3600) as server:
            (first,) = add(server, vectors=[far(1)])
            os.remove(f"{path}.log")
            if replaced:
                open(f"{path}.log", "w").close()
            status, answer = server.post(f"{INDEX}:add", {"vectors": [far(2)]})
            assert status == 503 and "removed or replaced" in answer["detail"] and "hint" not in answer, answer
            status, answer = server.post(f"{INDEX}:remove", {"ids": [3]})
            assert status == 503 and answer["code"] == "E_IO", answer
            assert search(server, [far(2)])[0][0]["id"] == first
            told = re.search(r"copy (/proc/\d+/fd/\d+) to that path", server.stderr())
            with open(told[1], "rb") as source, open(f"{path}.log", "wb") as target:
                target.write(source.read())
            server.kill()
        with serve(path) as server:
            assert search(server, [far(1)])[0][0] == {"id": first, "distance": 0}
            assert search(server, [far(2)])[0][0]["distance"] > 0
            assert remove(server, ids=[first]) == 1
            assert server.stop() == 0
    with serve(path) as server:  # a checkpoint that comes first makes it good
        add(server, vectors=[far(1)])
        os.remove(f"{path}.log")
        assert checkpoint(server)["vectors"] == 501
        add(server, vectors=[far(2)])
        server.kill()
    with serve(path) as server:
        assert server.get(INDEX)[1]["vectors"] == 502


def test_end_of_the_log_is_cut(folder):
    """The message does not claim what is not known."""
    path, vectors = build_index(folder, count=500)
    with serve(path) as server:
        add(server, vectors=[far(1)])
        size = os.path.getsize(f"{path}.log")
        add(server, vectors=[far(2)])
        server.kill()
    os.truncate(f"{path}.log", os.path.getsize(f"{path}.log") - 8)
    cut = os.path.getsize(f"{path}.log") - size
    with serve(path) as server:
        assert server.get(INDEX)[1]["vectors"] == 501
        assert f"the last {cut} bytes of the log were cut off" in server.stderr(), server.stderr()
        assert "never acknowledged" not in server.stderr() and "damaged" in server.stderr()


def test_cosine(folder):
    """An index that scales vectors to unit length: distances are the same before and after a checkpoint."""
    with open(f"{folder}/ids.txt", "w") as file:
        file.writelines(f"{i}\n" for i in range(1000))
    flat = ["--normalize", "--m", 0]
    kinds = {"l2": flat, "ip": [*flat, "--metric", "ip"], "opq": ["--normalize", "--opq"],
             "refined": ["--normalize", "--refine-flat", "--ids", f"{folder}/ids.txt"]}
    for kind, words in kinds.items():
        path, vectors = build_index(folder, kind, 1000, 16, False, *words)
        draw = random.Random(4)
        new = [[draw.gauss(0, 1) * scale for _ in range(16)] for scale in (0.01, 1, 1000)]
        queries = [[3 * x for x in v] for v in new] + vectors[2:22]
        with serve(path) as server:
            assert add(server, vectors=new) == [1000, 1001, 1002]
            assert remove(server, ids=[1]) == 1
            before = search(server, queries)
            by_id = server.post(f"{INDEX}:search", {"ids": [1002], "k": 1})[1]["neighbors"]
            checkpoint(server)
            after = search(server, queries)
            if kind == "refined":  # exact distances of vectors as they came
                assert [n[0]["id"] for n in before[1:3]] == [n[0]["id"] for n in after[1:3]], kind
                assert pairs(after) == found_by_command(folder, path, queries), kind
                continue
            assert by_id[0][0]["id"] == 1002 and server.post(f"{INDEX}:search", {"ids": [1002], "k": 1})[0] == 200
            best = 1 if kind == "ip" else 0
            assert [n[0]["id"] for n in before[:3]] == [n[0]["id"] for n in after[:3]] == [1000, 1001, 1002], (kind, before)
            for a, b in zip(before, after):
                if kind == "opq":  # quantized then
                    assert a[0]["id"] == b[0]["id"] and abs(a[0]["distance"] - b[0]["distance"]) < 0.5, (kind, a, b)
                    continue
                assert abs(a[0]["distance"] - best) < 1e-5, (kind, a)
                assert [n["id"] for n in a] == [n["id"] for n in b], (kind, a, b)
                assert all(abs(x["distance"] - y["distance"]) < 1e-5 for x, y in zip(a, b)), (kind, a, b)
            assert pairs(after) == found_by_command(folder, path, queries), kind
            add(server, vectors=[[0.0] * 16], ids=[5000])  # the zero vector stays, as in the file
            zero = search(server, [[0.0] * 16], 1)
            checkpoint(server)
            if kind == "l2":
                assert zero == search(server, [[0.0] * 16], 1) == [[{"id": 5000, "distance": 0}]]


def test_many_at_once(folder):
    """Eight clients add, two search, checkpoints go on: no id is lost, no request is seen by half."""
    path, vectors = build_index(folder, "items", 1000, 16, False, "--m", 0)
    rounds = int(os.environ.get("FURROW_EDIT_ROUNDS", "25"))
    failures, taken, lock, stops = [], {}, threading.Lock(), threading.Event()
    with serve(path, "--checkpoint-after", 100) as server:
        def guarded(work):
            def call(*arguments):
                try:
                    work(*arguments)
                except Exception as error:  # noqa: told by the main thread
                    failures.append(repr(error))
            return call

        def adds(client):
            connection = server.connect()
            for i in range(rounds):
                group = client * rounds + i
                ids = add(server, connection, vectors=[far(group)] * 3)
                with lock:
                    taken[group] = ids
                assert [n["id"] for n in search(server, [far(group)], 3, connection)[0]] == ids, group
            connection.close()

        def searches():
            connection, draw = server.connect(), random.Random()
            while not stops.is_set():
                group = draw.randrange(8 * rounds)
                (found,) = search(server, [far(group)], 5, connection)
                count = sum(n["distance"] == 0 for n in found)
                assert count in (0, 3) and len(found) == 5, (group, found)
            connection.close()

        adders = [threading.Thread(target=guarded(adds), args=(i,)) for i in range(8)]
        searchers = [threading.Thread(target=guarded(searches)) for _ in range(2)]
        for thread in adders + searchers:
            thread.start()
        for thread in adders:
            thread.join()
        stops.set()
        for thread in searchers:
            thread.join()
        assert not failures, failures[:3]
        ids = [i for group in taken.values() for i in group]
        assert sorted(ids) == list(range(1000, 1000 + 24 * rounds))
        assert checkpoint(server)["vectors"] == 1000 + 24 * rounds
        document = server.get(INDEX)[1]
        assert document["checkpoints"] >= 2 and document["last_error"] is None, document
        for group, ids in taken.items():
            assert [n["id"] for n in search(server, [far(group)], 3)[0]] == ids
    furrow("index", "verify", path)


def test_limits(folder):
    path, vectors = build_index(folder, count=500)
    with serve(path, "--max-fresh", 10, "--checkpoint-seconds", 3600) as server:
        assert server.post(f"{INDEX}:add", {"vectors": vectors[:11]})[0] == 400
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        add(server, vectors=vectors[:9])
        assert server.post(f"{INDEX}:checkpoint", {})[0] == 503
        status, headers, answer = server.request("POST", f"{INDEX}:add", json.dumps({"vectors": vectors[:2]}))
        assert status == 503 and "retry-after" in headers and b"until the next checkpoint" in answer, answer
        assert "the checkpoint failed" in server.stderr()
        assert server.get(INDEX)[1]["last_error"]
        add(server, vectors=vectors[:1], ids=[500], replace=True)
        status, answer = server.post(f"{INDEX}:add", {"vectors": vectors[:1], "ids": [500], "replace": True})
        assert status == 503, answer  # what was replaced takes memory as well
        assert search(server, [vectors[0]])[0][0]["distance"] == 0
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert checkpoint(server)["vectors"] == 509
        assert server.get(INDEX)[1]["last_error"] is None
        assert add(server, vectors=vectors[:9])[0] == 509
    furrow("index", "verify", path)


def limit_files(server, size=resource.RLIM_INFINITY):
    """A disk that is full: no file of the server grows beyond `size`. What it prints is a file as well."""
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def gauge(server, name):
    return float(re.search(rf'^{name}{{name="items"}} (.*)$', server.get("/metrics")[1], re.M)[1])


def wait_until(condition):
    for _ in range(1200):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it does not happen")


def takes_changes(server):
    return server.get(INDEX)[1]["takes_changes"]


def test_log_cannot_grow(folder):
    """An addition that is not on the disk is not acknowledged, not seen, and not there after a restart. The service says
    so, and goes on when there is space."""
    path, vectors = build_index(folder, count=500)
    with serve(path) as server:
        add(server, vectors=[far(1)] + [far(50)] * 200)
        remove(server, ids=list(range(501, 701)))
        assert takes_changes(server) and gauge(server, "furrow_index_refuses_changes") == 0
        limit_files(server, os.path.getsize(f"{path}.log"))
        for call, request in [("add", {"vectors": [far(2)]}), ("add", {"vectors": [far(2)], "ids": [2**63 - 1]}),
                              ("remove", {"ids": [3]}), ("add", {"vectors": [far(4)], "ids": [4], "replace": True}),
                              ("checkpoint", {})]:
            status, headers, answer = server.request("POST", f"{INDEX}:{call}", json.dumps(request))
            problem = json.loads(answer)
            assert status == 503 and headers["retry-after"] == "1" and problem["code"] == "E_IO", (call, status, answer)
            assert "cannot write the log of changes" in problem["detail"] and folder not in answer.decode(), problem
        document = server.get(INDEX)[1]
        assert not document["takes_changes"] and "File too large" in document["last_error"], document
        assert folder not in document["last_error"] and document["vectors"] == 501
        assert gauge(server, "furrow_index_refuses_changes") == 1 and gauge(server, "furrow_index_log_failures_total") == 1
        assert server.get("/readyz")[0] == 200, "searches go on"
        assert search(server, [far(2)])[0][0]["id"] == 500
        limit_files(server)
        wait_until(lambda: takes_changes(server))
        assert server.get(INDEX)[1]["last_error"] is None and gauge(server, "furrow_index_refuses_changes") == 0
        assert server.stderr().count("changes are refused until the log can be written") == 1, server.stderr()
        assert server.stderr().count("the log can be written again") == 1, server.stderr()
        assert search(server, [far(1)])[0][0]["distance"] == 0
        assert add(server, vectors=[far(2)]) == [701], "ids that were not acknowledged are free"
        assert search(server, [far(2)])[0][0]["id"] == 701
        assert checkpoint(server)["vectors"] == 502, "3 and 4 of the file are there: their changes were refused"
        assert search(server, [vectors[3], vectors[4]], 1, filter={"ids": [3, 4]})[1][0]["id"] == 4
    with serve(path) as server:
        assert server.get(INDEX)[1]["vectors"] == 502
        assert search(server, [far(1)])[0][0]["id"] == 500
        assert add(server, vectors=[far(3)]) == [702]
    furrow("index", "verify", path)


def test_ready_means_writable(folder):
    """--ready writable: the service is not ready while it refuses changes; no request is needed to recover."""
    path, vectors = build_index(folder, count=500)
    with serve(path, "--ready", "writable") as server:
        add(server, vectors=[far(1)])
        assert server.get("/readyz")[0] == 200
        limit_files(server, os.path.getsize(f"{path}.log"))
        assert server.post(f"{INDEX}:remove", {"ids": [1]})[0] == 503
        status, headers, answer = server.request("GET", "/readyz")
        assert status == 503 and headers["retry-after"] and b"refuses changes" in answer, answer
        assert server.get("/healthz")[0] == 200
        limit_files(server)
        wait_until(lambda: server.get("/readyz")[0] == 200)
        assert remove(server, ids=[1]) == 1


def test_full_disk_and_stop(folder):
    """What was acknowledged outlives a stop on a full disk; the exit code says that it is in the log alone."""
    path, vectors = build_index(folder, count=500)
    with serve(path) as server:
        add(server, vectors=[far(1)] + [far(50)] * 200)
        remove(server, ids=list(range(501, 701)))
        limit_files(server, os.path.getsize(f"{path}.log"))
        assert server.post(f"{INDEX}:add", {"vectors": [far(2)]})[0] == 503
        assert server.stop() == 4 and "in its log, but not in its file" in server.stderr(), server.stderr()
    with serve(path) as server:
        assert server.get(INDEX)[1]["vectors"] == 501
        limit_files(server, os.path.getsize(f"{path}.log"))
        assert server.post(f"{INDEX}:add", {"vectors": [far(2)]})[0] == 503
        limit_files(server)  # the last checkpoint tries once more
        assert server.stop() == 0, server.stderr()
    assert not os.path.exists(f"{path}.log.next") and "501" in furrow("index", "info", path)


def test_full_disk_again_and_again(folder):
    """Clients that add, replace and remove while the disk is full now and then, with checkpoints: what was answered with
    200 is there, what was not is not."""
    path, vectors = build_index(folder, count=500)
    with serve(path, "--checkpoint-after", 40, "--checkpoint-seconds", 1) as server:
        state = [{} for _ in range(3)]  # of each client: its id -> the number of its vector; None: removed
        stops, refused = threading.Event(), [0]

        def work(client):
            draw = random.Random(client)
            mine, connection = state[client], server.connect()
            for number in range(100000):
                if stops.is_set():
                    break
                own = 1000 * (client + 1) + draw.randrange(30)
                if draw.random() < 0.3:
                    status, answer = server.post(f"{INDEX}:remove", {"ids": [own]}, connection=connection)
                    value = None
                else:
                    value = 1000 * client + number % 1000
                    status, answer = server.post(f"{INDEX}:add", {"vectors": [far(value)], "ids": [own], "replace": True},
                                                 connection=connection)
                assert status in (200, 503), answer
                if status == 200:
                    mine[own] = value
                else:
                    refused[0] += 1
                    time.sleep(0.01)

        workers = [threading.Thread(target=work, args=(i,)) for i in range(3)]
        for worker in workers:
            worker.start()
        draw = random.Random(9)
        for _ in range(6):
            before = refused[0]
            limit_files(server, draw.choice([1, 100, os.path.getsize(path), os.path.getsize(f"{path}.log") + 300]))
            wait_until(lambda: refused[0] > before or not any(worker.is_alive() for worker in workers))
            limit_files(server)
            wait_until(lambda: takes_changes(server))
        stops.set()
        for worker in workers:
            worker.join()

        def check():
            known = {own: value for mine in state for own, value in mine.items() if value is not None}
            assert server.get(INDEX)[1]["vectors"] == 500 + len(known)
            for own, value in known.items():
                found = search(server, [far(value)], 3, filter={"ids": [own]})[0]
                assert [n["id"] for n in found] == [own]
            gone = [own for mine in state for own, value in mine.items() if value is None]
            assert search(server, [far(1)], 3, filter={"ids": gone or [10**9]})[0] == []

        check()
        checkpoint(server)
        check()
        server.kill()
    with serve(path) as server:
        check()
    furrow("index", "verify", path)


def test_checkpoint_by_time(folder):
    path, vectors = build_index(folder, count=500)
    with serve(path, "--checkpoint-seconds", 1) as server:
        add(server, vectors=[far(1)])
        add(server, vectors=[far(2)])
        assert remove(server, ids=[501]) == 1
        for _ in range(600):  # two of them, if the requests took more than a second
            document = server.get(INDEX)[1]
            if document["version"] > 1 and document["fresh"] == document["removed"] == 0:
                break
            time.sleep(0.1)
        assert (document["fresh"], document["removed"], document["vectors"]) == (0, 0, 501), document


def test_foreign_change(folder):
    """A file that another program has written is not overwritten."""
    path, vectors = build_index(folder, count=500)
    with serve(path) as server:
        add(server, vectors=[far(0)])
        os.rename(path, f"{path}.away")
        assert server.post(f"{INDEX}:checkpoint", {})[0] == 503
        assert add(server, vectors=[far(1)]) == [501]
        os.rename(f"{path}.away", path)
        assert checkpoint(server)["vectors"] == 502
        add(server, vectors=[far(1)])
        furrow("index", "remove", path, "--ids", "0:10", "--out", f"{path}.new")
        os.rename(f"{path}.new", path)  # as a program does that knows nothing of locks
        status, answer = server.post(f"{INDEX}:checkpoint", {})
        assert status == 409 and "another program" in answer["detail"], answer
        assert search(server, [far(1)])[0][0]["distance"] == 0
        server.stop()
    with serve(path) as server:
        assert server.get(INDEX)[1]["vectors"] == 493


def refused(*words):
    """What the command says that must not change an index."""
    done = subprocess.run([COMMAND, "index", *map(str, words)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 12, done
    return done.stderr


def test_commands_are_kept_out(folder):
    """A command does not change an index that is being served, nor one whose log has changes: neither is lost."""
    path, _ = build_index(folder, count=500)
    new = f"{folder}/items.fvecs"
    with serve(path) as server:
        for _ in range(2):  # also when the server has replaced the file
            who = f"process {server.process.pid} is changing it"
            assert who in refused("add", path, "--base", new)
            assert who in refused("remove", path, "--ids", "1")
            add(server, vectors=[far(0)])
            checkpoint(server)
        assert who in refused("build", "--base", new, "--out", path, "--nlist", 16, "--m", 8, "--force")
        add(server, vectors=[far(1)])
        server.kill()
    assert "the log has changes" in refused("add", path, "--base", new)
    assert "the log has changes" in refused("remove", path, "--ids", "1")
    with serve(path) as server:
        assert server.get(INDEX)[1]["vectors"] == 503
        assert server.stop() == 0
    furrow("index", "remove", path, "--ids", "1")
    with serve(path) as server:
        assert server.get(INDEX)[1]["vectors"] == 502


def test_kinds(folder):
    """Kinds whose ids cannot be kept are refused at the start."""
    kinds = {"refined": ["--refine-flat"], "array": ["--direct-map", "array"]}
    for kind, words in kinds.items():
        path, _ = build_index(folder, kind, 1000, 16, False, *words)
        done = subprocess.run([PROGRAM, "--listen", "127.0.0.1:0", "--index", f"items={path}", "--writable", "items"],
                              capture_output=True, text=True, timeout=300)
        assert done.returncode != 0 and "hint" in done.stderr, (kind, done)
        assert not os.path.exists(f"{path}.log"), kind
    with open(f"{folder}/ids.txt", "w") as file:
        file.writelines(f"{i}\n" for i in range(1000))
    kinds = {"mapped": ["--refine-flat", "--ids", f"{folder}/ids.txt"], "hash": ["--direct-map", "hash"],
             "opq": ["--opq"], "ip": ["--metric", "ip"], "flat": ["--m", 0]}
    for kind, words in kinds.items():
        path, vectors = build_index(folder, kind, 1000, 16, False, *words)
        with serve(path) as server:
            assert add(server, vectors=[far(1)]) == [1000]
            assert search(server, [far(1)])[0][0]["id"] == 1000, kind
            assert remove(server, ids=[5]) == 1
            assert checkpoint(server) == {"version": 2, "vectors": 1000}, kind
            assert search(server, [far(1)])[0][0]["id"] == 1000, kind
            assert pairs(search(server, vectors[:20])) == found_by_command(folder, path, vectors[:20]), kind


if __name__ == "__main__":
    run(globals())
