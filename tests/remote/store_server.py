"""Object storage on loopback that does what storage does when things go wrong, and a proxy that cuts connections."""
import hashlib
import re
import socket
import threading
import urllib.parse

from fault_server import FaultServer, Handler


class Store(Handler):
    """Objects of one bucket, in memory. The first part of a key says what goes wrong: lost-2/x does the first two
    writes of x, but does not answer."""

    def do_PUT(self):
        self.write_request()

    def do_POST(self):
        self.write_request()

    def do_DELETE(self):
        self.write_request()

    def answer(self, with_body):
        self.with_body = with_body
        address = urllib.parse.urlsplit(self.path)
        key = urllib.parse.unquote(address.path).removeprefix("/bucket").strip("/")
        query = dict(urllib.parse.parse_qsl(address.query, keep_blank_values=True))
        if "list-type" in query:
            names = sorted(name for name in self.server.files if name.startswith(query["prefix"]))
            rest = [name[len(query["prefix"]):] for name in names]
            keys = "".join(f"<Contents><Key>{query['prefix']}{name}</Key></Contents>" for name in rest if "/" not in name)
            folders = {name.split("/")[0] for name in rest if "/" in name}
            keys += "".join(f"<CommonPrefixes><Prefix>{query['prefix']}{name}/</Prefix></CommonPrefixes>" for name in folders)
            return self.reply(200, f"<ListBucketResult><IsTruncated>false</IsTruncated>{keys}</ListBucketResult>".encode())
        self.body = self.server.files.get(key)
        if self.body is None:
            return self.reply(404, b"")
        if not with_body:
            return self.reply(200, self.body, [("ETag", self.etag()), ("x-amz-meta-furrow-upload", self.server.names.get(key, ""))])
        return self.ranged()

    def write_request(self):
        server, self.with_body = self.server, True
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        address = urllib.parse.urlsplit(self.path)
        key = urllib.parse.unquote(address.path).removeprefix("/bucket").strip("/")
        query = dict(urllib.parse.parse_qsl(address.query, keep_blank_values=True))
        fault, _, number = key.split("/")[0].partition("-")
        kind = self.command + "".join(sorted(name for name in query if name != "partNumber"))
        with server.lock:
            server.requests.append((self.command, self.path, dict(self.headers)))
            server.counts[kind, key] += 1
            count = server.counts[kind, key]
            if hashlib.sha256(body).hexdigest() != self.headers["x-amz-content-sha256"]:
                return self.reply(400, b"<Error><Code>XAmzContentSHA256Mismatch</Code></Error>")
            if fault == "busy" and count <= int(number):
                return self.reply(503, b"<Error><Code>SlowDown</Code></Error>")
            if fault == "denied" and kind in ("PUT", "POSTuploads"):
                return self.reply(403, b"<Error><Code>AccessDenied</Code><Message>No.</Message></Error>")
            if fault == "late" and kind == "POSTuploadId" and count <= int(number):
                return self.reply(200, b"<?xml version='1.0'?>   <Error><Code>InternalError</Code></Error>")
            if fault == "plain" and "If-None-Match" in self.headers:
                return self.reply(501, b"<Error><Code>NotImplemented</Code></Error>")
            status, text, headers = self.work(kind, key, query, body)
        if fault == "lost" and count <= int(number) and status == 200 and "partNumber" not in query and kind != "POSTuploads":
            self.close_connection = True
            return None
        return self.reply(status, text, headers)

    def work(self, kind, key, query, body):
        server, tag = self.server, '"' + hashlib.md5(body).hexdigest() + '"'
        taken = "If-None-Match" in self.headers and key in server.files
        if kind == "PUT" and "x-amz-copy-source" in self.headers:
            source = urllib.parse.unquote(self.headers["x-amz-copy-source"]).removeprefix("/bucket/")
            server.files[key] = server.files[source]
            return 200, b"<CopyObjectResult/>", ()
        if kind == "PUT":
            if taken:
                return 412, b"<Error><Code>PreconditionFailed</Code></Error>", ()
            server.files[key], server.names[key] = body, self.headers["x-amz-meta-furrow-upload"]
            return 200, b"", [("ETag", tag)]
        if kind == "DELETE":
            server.files.pop(key, None)
            return 204, b"", ()
        if kind == "POSTuploads":
            name = f"upload+{len(server.uploads)}/&="
            server.uploads[name] = {"name": self.headers["x-amz-meta-furrow-upload"]}
            server.most_uploads += 1
            return 200, f"<R><UploadId>{name.replace('&', '&amp;')}</UploadId></R>".encode(), ()
        upload = server.uploads.get(query["uploadId"])
        if upload is None:
            return 404, b"<Error><Code>NoSuchUpload</Code></Error>", ()
        if kind == "PUTuploadId":
            upload[int(query["partNumber"])] = body
            return 200, b"", [("ETag", tag)]
        if kind == "POSTuploadId" and taken:
            return 412, b"<Error><Code>PreconditionFailed</Code></Error>", ()
        del server.uploads[query["uploadId"]]
        if kind == "POSTuploadId":
            parts = [int(n) for n in re.findall(rb"<PartNumber>(\d+)</PartNumber>", body)]
            server.names[key] = upload.pop("name")
            assert parts == sorted(upload), "the list of parts is not that of what was sent"
            server.files[key] = b"".join(upload[n] for n in parts)
        return 200 if kind == "POSTuploadId" else 204, b"", ()


class StoreServer(FaultServer):
    def __init__(self):
        super().__init__({}, Store)
        self.uploads, self.names, self.most_uploads = {}, {}, 0


class CutProxy:
    """Passes connections on to a server. Of the first `count` (or all) it passes only `up` bytes of what the client
    sends, or `down` bytes of what the server answers."""

    def __init__(self, port):
        self.port = port
        self.up = self.down = None
        self.count = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def cut(self, count, up=None, down=None):
        self.count, self.up, self.down = count, up, down

    def accept(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.port))
            limits = (self.up, self.down) if self.count > 0 else (None, None)
            self.count -= 1
            for here, there, limit in ((client, server, limits[0]), (server, client, limits[1])):
                threading.Thread(target=self.pump, args=(here, there, limit), daemon=True).start()

    @staticmethod
    def pump(here, there, limit):
        try:
            while limit is None or limit > 0:
                data = here.recv(65536 if limit is None else min(limit, 65536))
                if not data:
                    break
                there.sendall(data)
                limit = limit if limit is None else limit - len(data)
        except OSError:
            pass
        for end in (here, there):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
