"""A server on loopback that does what servers and networks do when things go wrong. The first part of a path says what:
/cut-7/rows sends 7 bytes of every body and closes the connection. Counts requests by path."""
import collections
import hashlib
import http.server
import re
import threading
import time


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.answer(False)

    def do_GET(self):
        self.answer(True)

    def answer(self, with_body):
        server = self.server
        server.requests.append((self.command, self.path, dict(self.headers)))
        _, fault, name = (self.path.split("?")[0] + "//").split("/", 2)
        fault, _, number = fault.partition("-")
        self.number = int(number or 0)
        self.body = server.files.get(name.strip("/"))
        self.with_body = with_body
        if self.body is None and fault == "pages":
            return self.reply(200, b"<html>Welcome.</html>", [("ETag", '"page"')])
        if self.body is None:
            return self.reply(404, b"")
        with server.lock:
            server.counts[self.command, self.path] += 1
            self.count = server.counts[self.command, self.path]
        return getattr(self, f"do_{fault}")()

    def etag(self):
        return '"' + hashlib.md5(self.body).hexdigest() + '"'

    def reply(self, status, body, headers=(), length=None):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        if length != "none":
            self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.with_body:
            self.wfile.write(body)

    def wanted(self):
        """The range that was asked for; None: everything."""
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        return (int(found[1]), min(int(found[2]) + 1, len(self.body))) if found else None

    def ranged(self, cut=None, etag=None, total=0, shift=0, extra=b""):
        """Answers like a good server, with the given mistakes."""
        etag = etag or self.etag()
        headers = [("ETag", etag), ("Accept-Ranges", "bytes")]
        if self.headers.get("If-Match", etag) != etag:
            return self.reply(412, b"")
        part = self.wanted()
        if not part or not self.with_body:
            return self.reply(200, self.body[:cut], headers, len(self.body))
        begin, end = part
        if begin >= len(self.body):
            return self.reply(416, b"", [("Content-Range", f"bytes */{len(self.body)}")])
        body = self.body[begin:end] + extra
        headers.append(("Content-Range", f"bytes {begin + shift}-{end + shift - 1}/{len(self.body) + total}"))
        self.reply(206, body[:cut], headers, len(body))
        if cut is not None and cut < len(body):
            self.close_connection = True
        return None

    def do_good(self):
        self.ranged()

    def do_pages(self):  # a page for whatever is not there
        self.ranged()

    def do_cut(self):
        self.ranged(cut=self.number)

    def do_busy(self):  # the first requests, of either kind
        if self.count <= self.number:
            return self.reply(503, b"later")
        return self.ranged()

    def do_throttled(self):
        if self.count <= self.number:
            return self.reply(429, b"", [("Retry-After", "0")])
        return self.ranged()

    def do_reset(self):
        if self.with_body and self.count <= self.number:
            self.close_connection = True
            return None
        return self.ranged()

    def do_drip(self):
        if not self.with_body:
            return self.ranged()
        body = self.body
        part = self.wanted() or (0, len(body))
        self.reply(206, b"", [("Content-Range", f"bytes {part[0]}-{part[1] - 1}/{len(body)}")], part[1] - part[0])
        for i in range(part[0], part[1]):
            self.wfile.write(body[i:i + 1])
            time.sleep(0.002)
        return None

    def do_changed(self):  # another file from the n-th read on
        if self.with_body and self.count >= self.number:
            self.body = self.body.replace(b"1", b"7")
        return self.ranged()

    def do_untagged(self):  # the same, but the server has no tags: only the length tells
        if self.with_body and self.count >= self.number:
            self.body += b"1 1:1\n"
        part = self.wanted() or (0, len(self.body))
        return self.reply(206 if self.with_body else 200, self.body[part[0]:part[1]],
                          [("Content-Range", f"bytes {part[0]}-{part[1] - 1}/{len(self.body)}")])

    def do_total(self):
        self.ranged(total=self.number)

    def do_shift(self):
        self.ranged(shift=self.number)

    def do_extra(self):
        self.ranged(extra=b"0 9:9\n")

    def do_few(self):  # less than what the headers of the range say, again and again
        part = self.wanted()
        if not self.with_body:
            return self.ranged()
        return self.reply(206, b"", [("Content-Range", f"bytes {part[0]}-{part[1] - 1}/{len(self.body)}")])

    def do_norange(self):
        self.reply(200, self.body, [("ETag", self.etag())])

    def do_norangecut(self):  # also breaks
        cut = self.number * self.count if self.with_body else None
        self.reply(200, self.body[:cut], [("ETag", self.etag())], len(self.body))
        self.close_connection = True

    def do_chunked(self):
        self.reply(200, b"", [("Transfer-Encoding", "chunked")], "none")
        for i in range(0, len(self.body) if self.with_body else 0, 10):
            piece = self.body[i:i + 10]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        if self.with_body:
            self.wfile.write(b"0\r\n\r\n")

    def do_unframed(self):
        self.reply(200, self.body, (), "none")
        self.close_connection = True

    def do_nohead(self):
        return self.ranged() if self.with_body else self.reply(405, b"")

    def do_forbidden(self):
        self.reply(403, b"<Error><Code>AccessDenied</Code><Message>No.</Message></Error>")

    def do_away(self):
        self.reply(307, b"", [("Location", self.server.elsewhere + self.path)])

    def do_round(self):
        self.reply(302, b"", [("Location", self.path)])


class FaultServer(http.server.ThreadingHTTPServer):
    """Serves the files while it is in a `with`."""
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, files, handler=Handler):
        super().__init__(("127.0.0.1", 0), handler)
        self.files = files
        self.counts = collections.Counter()
        self.requests = []
        self.lock = threading.Lock()
        self.address = f"http://127.0.0.1:{self.server_address[1]}"
        self.elsewhere = self.address

    def handle_error(self, *_):  # a client that has gone
        pass

    def __enter__(self):
        self.thread = threading.Thread(target=self.serve_forever, args=(0.02,))
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.thread.join()
        self.server_close()
