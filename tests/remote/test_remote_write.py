"""What is written to s3:// appears whole or not at all, whatever the server and the network do: a server that fails in
documented ways, and s3rver through a proxy that cuts connections, with boto3 as a second client."""
import os
import shutil
import signal
import subprocess
import tempfile
import time

from fault_server import FaultServer
from store_server import CutProxy, StoreServer
from test_remote_http import CLEAN, COMMAND, expect_rows, run

BUILD = os.environ["FURROW_BUILD"]
OLD = b"0 9:9\n" * 700
ROWS = b"".join(b"%d %d:%d\n" % (i % 2, i % 50, i) for i in range(500))  # five parts of one KiB
PARTS = {"FURROW_HTTP_PART_KIB": "1"}


def settings(address, folder, **more):
    return {"AWS_ENDPOINT_URL": address, "AWS_ACCESS_KEY_ID": "S3RVER", "AWS_SECRET_ACCESS_KEY": "S3RVER", "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true", "HOME": folder, "TMPDIR": f"{folder}/tmp", **more}


def convert(folder, target, *options, **variables):
    return run("rows", "convert", f"{folder}/rows.libsvm", target, "--quiet", *options, **variables)


def expect_done(found, what):
    assert found.returncode == 0, f"{what}: {found.stderr.decode()}"


def expect_refused(found, code, *words):
    assert found.returncode == code, (found.returncode, words, found.stderr.decode())
    for word in words:
        assert word in found.stderr.decode(), (word, found.stderr.decode())


def nothing_is_left(server, folder):
    assert not server.uploads, f"uploads that nobody ends: {server.uploads}"
    assert not os.listdir(f"{folder}/tmp"), os.listdir(f"{folder}/tmp")


def faults_of_servers(server, folder):
    given = settings(server.address, folder)
    for fault in ("good", "busy-2", "lost-1", "lost-2", "late-1", "plain"):
        for size, parts in (("whole", {}), ("parts", PARTS)):
            key = f"{fault}/{size}.libsvm"
            expect_done(convert(folder, f"s3://bucket/{key}", **given, **parts), key)
            assert server.files[key] == ROWS, f"{key} is not what was written"
            expect_refused(convert(folder, f"s3://bucket/{key}", **given, **parts), 11, key, "--force")
            server.files[key] = OLD
            expect_done(convert(folder, f"s3://bucket/{key}", "--force", **given, **parts), key)
            assert server.files[key] == ROWS, f"{key} was not replaced"
            nothing_is_left(server, folder)
    for fault, code, word in (("busy-99", 4, "503"), ("denied", 4, "AccessDenied: No."), ("late-99", 4, "InternalError")):
        key = f"{fault}/parts.libsvm"
        server.files[key] = OLD
        found = convert(folder, f"s3://bucket/{key}", "--force", **given, **PARTS, FURROW_HTTP_RETRIES="1")
        expect_refused(found, code, f"s3://bucket/{key}", word)
        assert server.files[key] == OLD, "a write that failed changed the file"
        nothing_is_left(server, folder)
    assert server.most_uploads > 10


def others_files_are_kept(server, folder):
    """The file appears while this process writes another one."""
    for parts in ({}, PARTS):
        server.files.pop("good/new.libsvm", None)
        process = subprocess.Popen([COMMAND, "rows", "convert", "-", "s3://bucket/good/new.libsvm", "--to", "libsvm", "--quiet"],
                                   stdin=subprocess.PIPE, stderr=subprocess.PIPE, env={**CLEAN, **settings(server.address, folder), **parts})
        begun = server.most_uploads
        while server.most_uploads == begun:
            time.sleep(0.01)
        server.files["good/new.libsvm"] = OLD
        message = process.communicate(ROWS, timeout=60)[1]
        assert process.returncode == 11, (process.returncode, message)
        assert server.files["good/new.libsvm"] == OLD
        nothing_is_left(server, folder)


def a_signal_leaves_nothing(server, folder):
    server.files["busy-50/parts.libsvm"] = OLD
    process = subprocess.Popen([COMMAND, "rows", "convert", f"{folder}/rows.libsvm", "s3://bucket/busy-50/parts.libsvm", "--force"],
                               stderr=subprocess.DEVNULL, env={**CLEAN, **settings(server.address, folder), **PARTS, "FURROW_HTTP_RETRIES": "1000"})
    while server.counts["POSTuploads", "busy-50/parts.libsvm"] < 3:
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) != 0
    assert server.files["busy-50/parts.libsvm"] == OLD
    nothing_is_left(server, folder)


def only_some_can_be_written(folder):
    expect_refused(convert(folder, "http://127.0.0.1:9/rows.libsvm"), 10, "can be read, not written")
    expect_refused(convert(folder, "s3://bucket/", "--to", "libsvm", **settings("http://127.0.0.1:9", folder)), 2, "not the name of a file")


def models_are_written(server, folder):
    """In an order in which a reader finds the old model, none, or the new one."""
    given = settings(server.address, folder)
    with open(f"{folder}/log.csv", "wb") as file:
        file.write(b"user,item,label\n" + b"".join(b"u%d,i%d,%d\n" % (i % 17, i % 29, i % 2) for i in range(300)))
    train = ("train", "--model", "lr", "--epochs", "2", "--schema", "auto", "--label", "label", "--quiet", "--train", f"{folder}/log.csv")
    expect_done(run(*train, "--out", f"{folder}/model"), "a model")
    here = {}
    for path, _, names in os.walk(f"{folder}/model"):
        for name in names:
            with open(f"{path}/{name}", "rb") as file:
                here[os.path.relpath(f"{path}/{name}", f"{folder}/model")] = file.read()
    expect_done(run(*train, "--out", "s3://bucket/good/model", **given), "a model on the server")
    there = lambda: {key.removeprefix("good/model/"): body for key, body in server.files.items() if key.startswith("good/model/")}
    assert there() == here, (sorted(there()), sorted(here))
    expect_refused(run(*train, "--out", "s3://bucket/good/model", **given), 11, "--force")
    server.files["good/model/input_weight/7"] = b"of an older model"
    del server.requests[:]
    found = run(*train, "--out", "s3://bucket/good/model", "--force", **given)
    expect_refused(found, 11, "good/model/input_weight/7")
    del server.files["good/model/input_weight/7"]
    del server.requests[:]
    expect_done(run(*train, "--out", "s3://bucket/good/model", "--force", **given), "a model that replaces another")
    assert there() == here
    writes = [(command, path) for command, path, _ in server.requests if "?" not in path]
    deletes = [path for command, path in writes if command == "DELETE"]
    assert deletes[0].endswith("/furrow.json") and writes[-1] == ("PUT", "/bucket/good/model/furrow.json"), writes
    assert writes.index(("DELETE", deletes[-1])) < [command for command, _ in writes].index("PUT")
    expected = run("predict", "--model", f"{folder}/model", "--data", f"{folder}/log.csv")
    expect_rows(run("predict", "--model", "s3://bucket/good/model", "--data", f"{folder}/log.csv", **given), expected.stdout, "predict")
    nothing_is_left(server, folder)
    for path, words in (("model", "graph"), ("part.libsvm", "rows"), ("log.csv", "raw log")):
        with open(f"{folder}/log.csv", "rb") as file:
            server.files["good/log.csv"] = file.read()
        server.files["good/part.libsvm"] = ROWS
        found = run("info", f"s3://bucket/good/{path}", **given)
        assert found.returncode == 0 and words in found.stdout.decode(), (path, found.stdout, found.stderr)


def indexes_are_written(server, folder):
    """With what lies next to them."""
    given = settings(server.address, folder)
    for name, text in (("base.txt", "0 0\n1 0\n"), ("titles.txt", "one\ntwo\n"), ("more.txt", "three\nfour\n")):
        with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
            file.write(text)
    for titles, options, answer in (("titles.txt", (), b"0\tone:0\n1\ttwo:0\n"), ("more.txt", ("--force",), b"0\tthree:0\n1\tfour:0\n")):
        expect_done(run("index", "build", "--base", f"{folder}/base.txt", "--ids", f"{folder}/{titles}", "--out", "s3://bucket/good/items.index",
                        "--quiet", *options, **given), "an index")
        found = run("index", "search", "s3://bucket/good/items.index", f"{folder}/base.txt", "-k", "1", **given)
        expect_rows(found, answer, "search")
    names = sorted(key for key in server.files if key.startswith("good/items"))
    assert names == ["good/items.index", "good/items.index.card", "good/items.index.names"], names
    found = run("index", "remove", "s3://bucket/good/items.index", "--ids", "0", **given)
    expect_refused(found, 10, "cannot be locked")
    nothing_is_left(server, folder)


def s3rver_takes_what_is_written(folder):
    program = f"{BUILD}/npm/node_modules/.bin/s3rver"
    try:
        import boto3
    except ImportError:
        boto3 = None
    if not boto3 or not os.access(program, os.X_OK) or not shutil.which("node"):
        print(f"skipped: boto3 or s3rver is not there; tools/fetch.sh s3rver {os.path.relpath(BUILD)}/npm fetches it")
        return
    with FaultServer({}) as free:
        port = free.server_address[1]
    server = subprocess.Popen(["node", program, "-d", f"{folder}/objects", "-p", str(port), "-a", "127.0.0.1", "--configure-bucket", "bucket"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env={**os.environ, "NODE_OPTIONS": "--openssl-legacy-provider"})
    try:
        client = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}", region_name="us-east-1", aws_access_key_id="S3RVER",
                              aws_secret_access_key="S3RVER")
        for _ in range(500):
            try:
                client.put_object(Bucket="bucket", Key="old", Body=OLD)
                break
            except boto3.exceptions.botocore.exceptions.EndpointConnectionError:
                time.sleep(0.05)
        with CutProxy(port) as proxy:
            # s3rver keeps what it has got of a PUT that breaks, which storage does not: so only parts are cut
            cut_connections(Bucket(client), proxy, folder, (PARTS,), [{"up": 0}, {"up": 1500}, {"down": 1}, {"down": 100}])
    finally:
        server.terminate()
        server.wait()


class Bucket:
    """The bucket of s3rver, as another program sees it."""

    def __init__(self, client):
        self.client = client

    def __getitem__(self, key):
        return self.client.get_object(Bucket="bucket", Key=key)["Body"].read()

    def __setitem__(self, key, body):
        self.client.put_object(Bucket="bucket", Key=key, Body=body)


def cut_connections(files, proxy, folder, kinds, cuts):
    given = settings(proxy.address, folder, FURROW_HTTP_RETRIES="3")
    for key in ("good/with space & plus+", "good/über/日本~(1)!*'"):
        for parts in ({}, PARTS):
            expect_done(convert(folder, f"s3://bucket/{key}", "--force", "--to", "libsvm", **given, **parts), key)
            assert files[key] == ROWS
    for parts in kinds:
        for cut in cuts:
            files["good/cut"] = OLD
            proxy.cut(2, **cut)
            expect_done(convert(folder, "s3://bucket/good/cut", "--force", "--to", "libsvm", **given, **parts), cut)
            assert files["good/cut"] == ROWS, cut
            files["good/cut"] = OLD
            proxy.cut(9999, **cut)
            found = convert(folder, "s3://bucket/good/cut", "--force", "--to", "libsvm", **{**given, "FURROW_HTTP_RETRIES": "1"}, **parts)
            proxy.cut(0)
            assert found.returncode == 0 or b"transfer failed" in found.stderr, found.stderr
            assert files["good/cut"] == (ROWS if found.returncode == 0 else OLD), (cut, found.stderr)


def connections_break(server, folder):
    with CutProxy(server.server_address[1]) as proxy:
        cuts = [{"up": n} for n in (0, 1, 300, 600, 900, 1500, 2500, 3500)] + [{"down": n} for n in (0, 1, 60, 150)]
        cut_connections(server.files, proxy, folder, ({}, PARTS), cuts)


def main():
    with tempfile.TemporaryDirectory() as folder, StoreServer() as server:
        os.mkdir(f"{folder}/tmp")
        with open(f"{folder}/rows.libsvm", "wb") as file:
            file.write(ROWS)
        found = convert(folder, "s3://bucket/good/first.libsvm", **settings(server.address, folder))
        if b"libcurl" in found.stderr:
            print("skipped: libcurl is not installed (libcurl4)")
            raise SystemExit(77)
        for test, *arguments in ((faults_of_servers, server, folder), (others_files_are_kept, server, folder),
                                 (a_signal_leaves_nothing, server, folder), (only_some_can_be_written, folder),
                                 (models_are_written, server, folder), (indexes_are_written, server, folder),
                                 (connections_break, server, folder), (s3rver_takes_what_is_written, folder)):
            test(*arguments)
            print("ok", test.__name__)


if __name__ == "__main__":
    main()
