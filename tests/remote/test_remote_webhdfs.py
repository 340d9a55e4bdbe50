"""webhdfs:// paths: a server of names and a server of data that follow the documented redirects, and what goes wrong."""
import json
import os
import tempfile
import urllib.parse

from fault_server import FaultServer, Handler
from test_remote_http import SMALL, expect_failure, expect_rows, large_rows, local, run

PARTS = {"FURROW_HTTP_PART_KIB": "1"}


class Hdfs(Handler):
    """Names and data of one file system in memory, for one user. The first folder says what goes wrong: lost-2/x does the
    first two changes of x, but does not answer."""

    def answer(self, with_body):
        server, self.with_body = self.server, True
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        address = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(address.query))
        at_data, path = address.path.startswith("/data"), urllib.parse.unquote(address.path).removeprefix("/data").removeprefix("/webhdfs/v1")
        op, path = query["op"], path.rstrip("/") or "/"
        fault, _, number = path.strip("/").split("/")[0].partition("-")
        with server.lock:
            server.requests.append((self.command, op, path))
            server.counts[op, at_data, fault] += 1
            count = server.counts[op, at_data, fault]
            if query.get("user.name") != "someone":
                return self.exception(401, "SecurityException")
            if fault == "busy" and count <= int(number):
                return self.exception(503, "StandbyException")
            if op in ("OPEN", "CREATE", "APPEND") and not at_data:
                assert not body, "bytes were sent to the server of names"
                if op != "CREATE" and path not in server.files:
                    return self.exception(404, "FileNotFoundException")
                return self.reply(307, b"", [("Location", f"{server.address}/data{self.path.removeprefix('/webhdfs/v1')}")])
            status, answer = getattr(self, f"op_{op}")(path, query, body)
        if fault == "lost" and op in ("CREATE", "APPEND", "RENAME") and count <= int(number):
            self.close_connection = True
            return None
        if fault == "cut" and op == "OPEN":
            self.close_connection = True
            return self.reply(status, answer[:int(number)], (), len(answer))
        return self.reply(status, answer) if isinstance(answer, bytes) else self.reply(status, json.dumps(answer).encode())

    do_GET = do_PUT = do_POST = do_DELETE = lambda self: self.answer(True)

    def exception(self, status, name):
        self.reply(status, json.dumps({"RemoteException": {"exception": name, "javaClassName": f"org.{name}", "message": "No."}}).encode())

    def kind(self, path):
        files = self.server.files
        inside = [name for name in files if name.startswith(path.rstrip("/") + "/")]
        if path not in files and not inside and path != "/":
            return None
        return {"pathSuffix": "", "type": "FILE" if path in files else "DIRECTORY", "length": len(files.get(path, b"")),
                "modificationTime": 1700000000123, "owner": "someone", "blockSize": 134217728}

    def op_GETFILESTATUS(self, path, *_):
        found = self.kind(path)
        if not found:
            return 404, {"RemoteException": {"exception": "FileNotFoundException", "message": "File does not exist"}}
        return 200, {"FileStatus": found}

    def op_LISTSTATUS(self, path, *_):
        prefix = path.rstrip("/") + "/"
        names = sorted({name[len(prefix):].split("/")[0] for name in self.server.files if name.startswith(prefix)})
        return 200, {"FileStatuses": {"FileStatus": [{**self.kind(prefix + name), "pathSuffix": name} for name in names]}}

    def op_CHECKACCESS(self, path, *_):
        if path.startswith("/denied"):
            return 403, {"RemoteException": {"exception": "AccessControlException", "message": "Permission denied"}}
        return self.op_GETFILESTATUS(path)[0], b""

    def op_OPEN(self, path, query, _):
        begin = int(query["offset"])
        return 200, self.server.files[path][begin:begin + int(query["length"])]

    def op_CREATE(self, path, _, body):
        self.server.files[path] = body
        return 201, b""

    def op_APPEND(self, path, _, body):
        self.server.files[path] += body
        return 200, b""

    def op_RENAME(self, path, query, _):
        to = query["destination"]
        if path not in self.server.files:
            return 404, {"RemoteException": {"exception": "FileNotFoundException", "message": "No."}}
        if to in self.server.files and query.get("renameoptions") != "OVERWRITE":
            return 200, {"boolean": False}
        self.server.files[to] = self.server.files.pop(path)
        return 200, {"boolean": True} if "renameoptions" not in query else b""

    def op_DELETE(self, path, *_):
        return 200, {"boolean": self.server.files.pop(path, None) is not None}


def main():
    with tempfile.TemporaryDirectory() as folder, FaultServer({}, Hdfs) as server:
        os.mkdir(f"{folder}/tmp")
        root = server.address.replace("http://", "webhdfs://")
        given = {"HADOOP_USER_NAME": "someone", "TMPDIR": f"{folder}/tmp"}

        def dump(path, *options, **variables):
            return run("rows", "dump", "--format", "libsvm", *options, f"{root}/{path}", **{**given, **variables})

        def convert(path, *options, **variables):
            return run("rows", "convert", f"{folder}/rows", f"{root}/{path}", "--to", "libsvm", "--quiet", *options, **{**given, **variables})

        expected, rows = local(SMALL, folder), large_rows(300)
        if b"libcurl" in dump("small").stderr:
            print("skipped: libcurl is not installed (libcurl4)")
            raise SystemExit(77)
        for name in ("/good/plain", "/good/with space+&%", "/good/über/日本", "/busy-1/x", "/cut-11/x"):
            server.files[name] = SMALL
            expect_rows(dump(name[1:]), expected, name)
        expect_rows(dump("good/*"), expected * 2, "a glob")
        expect_failure(dump("good/absent"), 3, "good/absent")
        expect_failure(dump("good/plain", HADOOP_USER_NAME="other"), 4, "HTTP status 401", "SecurityException")
        large = large_rows(90000)
        server.files["/good/large"] = large
        whole = local(large, folder)
        expect_rows(dump("good/large"), whole, "large")
        parts = [dump("good/large", "--part", f"{i}/3") for i in range(3)]
        assert b"".join(part.stdout for part in parts) == whole
        local(rows, folder)  # what convert reads from now on
        for fault in ("good", "lost-1", "lost-2", "busy-1"):
            for name, options in (("whole", {}), ("parts", PARTS)):
                path = f"{fault}/out/{name}"
                server.counts.clear()
                found = convert(path, **options)
                assert found.returncode == 0, (path, found.stderr)
                assert server.files[f"/{path}"] == rows, f"{path} is not what was written"
                expect_failure(convert(path, **options), 11, "--force")
                server.files[f"/{path}"] = SMALL
                server.counts.clear()
                found = convert(path, "--force", **options)
                assert found.returncode == 0 and server.files[f"/{path}"] == rows, (path, found.stderr)
        server.files["/busy-999/out"] = server.files["/denied/out"] = SMALL
        expect_failure(convert("busy-999/out", "--force", FURROW_HTTP_RETRIES="1"), 4, "HTTP status 503")
        expect_failure(convert("denied/out", "--force"), 4, "AccessControlException")
        assert server.files["/busy-999/out"] == server.files["/denied/out"] == SMALL
        assert not [name for name in server.files if ".furrow-" in name], server.files.keys()
        with open(f"{folder}/log.csv", "wb") as file:
            file.write(b"user,item,label\n" + b"".join(b"u%d,i%d,%d\n" % (i % 17, i % 29, i % 2) for i in range(300)))
        train = ("train", "--model", "lr", "--epochs", "2", "--schema", "auto", "--label", "label", "--quiet", "--train", f"{folder}/log.csv")
        for out in (f"{folder}/model", f"{root}/good/model"):
            found = run(*train, "--out", out, **given)
            assert found.returncode == 0, found.stderr
        predicted = [run("predict", "--model", model, "--data", f"{folder}/log.csv", **given).stdout for model in (f"{folder}/model", f"{root}/good/model")]
        assert predicted[0] and predicted[0] == predicted[1]
        assert not os.listdir(f"{folder}/tmp")
        print("ok files of WebHDFS are read and written")


if __name__ == "__main__":
    main()
