"""http:// paths: the right rows or a clear error, whatever the server and the network do."""
import bz2
import gzip
import lzma
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time

from fault_server import FaultServer

COMMAND = f"{os.environ['FURROW_BUILD']}/furrow"
SMALL = b"1 1:2 3:4\n0 2:1 5:7\n1 1:1\n0 9:3\n"
# Nothing of the settings of this machine may count.
CLEAN = {name: value for name, value in os.environ.items()
         if not name.startswith(("AWS_", "FURROW_HTTP")) and not name.lower().endswith("_proxy")}


def run(*arguments, **variables):
    return subprocess.run([COMMAND, *arguments], capture_output=True, timeout=60, check=False,
                          env={**CLEAN, "FURROW_HTTP_RETRIES": "3", **variables})


def dump(uri, *options, **variables):
    return run("rows", "dump", "--format", "libsvm", *options, uri, **variables)


def local(content, folder):
    path = f"{folder}/rows"
    with open(path, "wb") as file:
        file.write(content)
    return dump(path).stdout


def large_rows(rows):
    draw = random.Random(7)
    return b"".join(b"%d %d:%d %d:1\n" % (i % 2, draw.randrange(99), i, 100 + draw.randrange(10**6)) for i in range(rows))


def expect_rows(found, expected, what):
    assert found.returncode == 0, f"{what}: {found.stderr.decode()}"
    assert found.stdout == expected, what


def expect_failure(found, code, *words):
    text = found.stderr.decode()
    assert found.returncode == code, (found.returncode, words, text)
    assert found.stdout == b"", "rows were printed before the failure"
    for word in words:
        assert word in text, (word, text)


def cuts_at_every_byte(server, expected):
    for n in range(1, len(SMALL) + 1):
        expect_rows(dump(f"{server.address}/cut-{n}/small"), expected, f"cut after {n} bytes")
    for n in range(1, len(SMALL), 7):
        expect_rows(dump(f"{server.address}/norangecut-{n}/small"), expected, f"cut without ranges after {n} bytes")


def what_passes_is_repeated(server, expected):
    for fault in ("busy-1", "busy-3", "throttled-2", "reset-2", "drip", "chunked", "norange", "nohead", "good"):
        expect_rows(dump(f"{server.address}/{fault}/small"), expected, fault)


def what_stays_is_an_error(server):
    address = server.address
    expect_failure(dump(f"{address}/busy-99/small"), 4, "HTTP status 503", "busy-99/small")
    expect_failure(dump(f"{address}/reset-99/small"), 4, "transfer failed")
    expect_failure(dump(f"{address}/forbidden/small"), 4, "HTTP status 403", "AccessDenied: No.")
    expect_failure(dump(f"{address}/good/absent"), 3, "absent")
    expect_failure(dump(f"{address}/unframed/small"), 4, "does not say how long")
    expect_failure(dump(f"{address}/few/small"), 4, "another number of bytes")
    expect_failure(dump(f"{address}/extra/small"), 4, "another number of bytes")
    expect_failure(dump(f"{address}/shift-1/small"), 4, "another range")
    expect_failure(dump(f"{address}/total-1/small"), 12, "changed while it was read")
    expect_failure(dump(f"{address}/round/small"), 4, "redirects")
    with FaultServer({}) as gone:
        pass
    expect_failure(dump(f"{gone.address}/good/small"), 4, "connect")


def a_file_that_changes_is_an_error(server):
    for n in (1, 2):  # before the first look at its head, and after it
        expect_failure(dump(f"{server.address}/changed-{n}/small"), 12, "changed while it was read")
        expect_failure(dump(f"{server.address}/untagged-{n}/small"), 12, "changed while it was read")


def addresses_have_no_secrets(server):
    host = server.address.removeprefix("http://")
    expect_failure(dump(f"http://me:hidden@{host}/good/small"), 2, "~/.netrc")
    for uri in (f"http://me:hidden@{host}/good/small", f"{server.address}/good/absent?signature=hidden"):
        found = run("index", "info", uri)
        assert found.returncode != 0 and b"hidden" not in found.stderr + found.stdout, found.stderr


def what_is_next_to_an_index_is_before_a_query(server, folder):
    paths = {name: f"{folder}/{name}" for name in ("base.txt", "titles.txt", "table.csv", "items.index")}
    for name, text in (("base.txt", "0 0\n1 0\n"), ("titles.txt", "one\ntwo\n"), ("table.csv", "name,price\ntwo,7\n")):
        with open(paths[name], "w", encoding="utf-8") as file:
            file.write(text)
    built = run("index", "build", "--base", paths["base.txt"], "--ids", paths["titles.txt"], "--out", paths["items.index"],
                "--attributes", paths["table.csv"])
    assert built.returncode == 0, built.stderr
    for ending in ("", ".names", ".attributes"):
        with open(paths["items.index"] + ending, "rb") as file:
            server.files[f"items.index{ending}"] = file.read()
    for query in ("", "?signature=hidden"):
        uri = f"{server.address}/good/items.index{query}"
        found = run("index", "search", uri, paths["base.txt"], "-k", "1", "--where", "price = 7")
        expect_rows(found, b"0\ttwo:1\n1\ttwo:0\n", uri)
    server.files["items.index.attributes"] = b"no"
    found = run("index", "search", uri, paths["base.txt"], "--where", "price = 7")
    expect_failure(found, 7, "items.index.attributes?...", "is not a file of attributes")


def weights_next_to_rows_are_local(server, folder):
    """A server may answer any address with some page, so that nothing is looked for next to its rows."""
    server.files["train.libsvm"] = b"".join(b"%d 1:%d 2:1\n" % (i % 3 == 0, i % 7) for i in range(90))
    server.files["train.libsvm.weight"] = server.files["train.libsvm.query"] = b"<html>Welcome</html>\n"
    found = run("train", "--model", "lr", "--train", f"{server.address}/good/train.libsvm", "--out", f"{folder}/weightless", "-q")
    assert found.returncode == 0, found.stderr
    assert not [path for _, path, _ in server.requests if path.endswith((".weight", ".query"))]


def redirects_are_followed(server, expected):
    with FaultServer({"away/small": SMALL, "small": SMALL}) as other:
        server.elsewhere = f"{other.address}/good"
        expect_rows(dump(f"{server.address}/away/small"), expected, "redirect")
        assert other.requests and not any("Authorization" in headers for _, _, headers in other.requests)
        server.elsewhere = server.address


def compressed_files_are_unpacked(server, expected):
    for name in ("gz", "xz", "bz2"):
        for fault in ("good", "cut-11", "norange"):
            expect_rows(dump(f"{server.address}/{fault}/small.{name}"), expected, f"{fault} {name}")


def parts_cost_their_range(server, folder):
    content = server.files["large"]
    whole = local(content, folder)
    expect_rows(dump(f"{server.address}/good/large"), whole, "large")
    parts = b""
    for part in range(3):
        del server.requests[:]
        found = dump(f"{server.address}/good/large", "--part", f"{part}/3", "--threads", "1")
        assert found.returncode == 0, found.stderr
        parts += found.stdout
        ranges = [headers["Range"].removeprefix("bytes=").split("-") for _, _, headers in server.requests if "Range" in headers]
        read = sum(int(end) - int(begin) + 1 for begin, end in ranges)
        # the head is looked at, perhaps one range of 64 KiB ahead, by each of the two readers
        assert read <= len(content) / 3 + 4 * 65536 + 10000, (part, read)
    assert parts == whole
    for setting in ("1", "8"):
        expect_rows(dump(f"{server.address}/norange/large", FURROW_HTTP_REQUESTS=setting), whole, "large without ranges")
        expect_rows(dump(f"{server.address}/cut-400000/large", FURROW_HTTP_REQUESTS=setting), whole, "large and cut")


def an_interrupt_ends_the_wait(server):
    process = subprocess.Popen([COMMAND, "rows", "dump", f"{server.address}/busy-99/large"], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, env={**CLEAN, "FURROW_HTTP_RETRIES": "1000"})
    while ("HEAD", "/busy-99/large") not in server.counts:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) != 0


def nginx_serves(server, folder):
    if not shutil.which("nginx"):
        print("skipped: nginx is not installed (nginx-light)")
        return
    content = server.files["large"]
    os.makedirs(f"{folder}/www/folder")
    os.chmod(folder, 0o755)  # nginx reads as another user
    with open(f"{folder}/www/large", "wb") as file:
        file.write(content)
    with gzip.open(f"{folder}/www/large.gz", "wb", 1) as file:
        file.write(content)
    open(f"{folder}/www/empty", "wb").close()
    with FaultServer({}) as free:
        port = free.server_address[1]
    places = "".join(f"{kind}_temp_path {folder}/temporary;" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    with open(f"{folder}/nginx.conf", "w", encoding="ascii") as file:
        file.write(f"daemon off; pid {folder}/pid; error_log {folder}/errors; worker_processes 1;"
                   f"events {{}} http {{ access_log off; {places} server {{ listen 127.0.0.1:{port}; root {folder}/www;"
                   f" location /norange/ {{ alias {folder}/www/; max_ranges 0; }}"
                   f" location /slow/ {{ alias {folder}/www/; limit_rate 2m; }} }} }}")
    nginx = subprocess.Popen(["nginx", "-p", folder, "-c", f"{folder}/nginx.conf"], stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    try:
        address, whole = f"http://127.0.0.1:{port}", local(content, folder)
        for _ in range(500):
            if dump(f"{address}/empty", FURROW_HTTP_RETRIES="1").returncode == 0:
                break
            time.sleep(0.02)
        for name in ("large", "large.gz", "norange/large", "norange/large.gz", "slow/large.gz"):
            expect_rows(dump(f"{address}/{name}"), whole, f"nginx {name}")
        expect_rows(dump(f"{address}/empty"), b"", "nginx empty")
        expect_rows(dump(f"{address}/large;{address}/large.gz"), whole + whole, "two files")
        expect_failure(dump(f"{address}/folder"), 3, "folder")
        expect_failure(dump(f"{address}/lar*"), 10)
    finally:
        nginx.terminate()
        nginx.wait()


def main():
    files = {"small": SMALL, "small.gz": gzip.compress(SMALL), "small.xz": lzma.compress(SMALL),
             "small.bz2": bz2.compress(SMALL), "large": large_rows(90000)}
    with tempfile.TemporaryDirectory() as folder, FaultServer(files) as server:
        expected = local(SMALL, folder)
        found = dump(f"{server.address}/good/small")
        if b"libcurl" in found.stderr:
            print("skipped: libcurl is not installed (libcurl4)")
            raise SystemExit(77)
        for test, *arguments in (
                (cuts_at_every_byte, server, expected), (what_passes_is_repeated, server, expected),
                (what_stays_is_an_error, server), (a_file_that_changes_is_an_error, server),
                (addresses_have_no_secrets, server), (what_is_next_to_an_index_is_before_a_query, server, folder),
                (weights_next_to_rows_are_local, server, folder), (redirects_are_followed, server, expected),
                (compressed_files_are_unpacked, server, expected), (parts_cost_their_range, server, folder),
                (an_interrupt_ends_the_wait, server), (nginx_serves, server, folder)):
            test(*arguments)
            print("ok", test.__name__)


if __name__ == "__main__":
    main()
