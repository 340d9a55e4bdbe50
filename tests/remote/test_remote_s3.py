"""s3:// and gs:// paths: s3rver with boto3 as a second client, and signatures as botocore computes them."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse

from fault_server import FaultServer, Handler
from test_remote_http import CLEAN, COMMAND, SMALL, dump, expect_failure, expect_rows, large_rows, local, run

BUILD = os.environ["FURROW_BUILD"]
KEY, SECRET, TOKEN = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "session/token+=="
NAMES = ["plain", "with space", "a+b=c&d", "per%cent%20", "über/日本", "tilde~(1)!*'", "folder/rows"]


class Signed(Handler):
    """Objects of one bucket; every request must have the signature that botocore computes for it."""

    def answer(self, with_body):
        address = urllib.parse.urlsplit(self.path)
        self.server.requests.append((self.command, self.path, dict(self.headers)))
        self.with_body = with_body
        if self.headers.get("Authorization") != self.expected():
            return self.reply(403, b"<Error><Code>SignatureDoesNotMatch</Code><Message>Wrong.</Message></Error>")
        if self.headers["Authorization"].split("/")[2] != self.server.region:
            return self.reply(301, b"", [("x-amz-bucket-region", self.server.region)])
        _, bucket, key = (urllib.parse.unquote(address.path) + "/").split("/", 2)
        if not key:
            return self.list_keys(dict(urllib.parse.parse_qsl(address.query, keep_blank_values=True)))
        self.body = self.server.files.get(key.rstrip("/"))
        return self.reply(404, b"") if self.body is None or bucket != "bucket" else self.ranged()

    def expected(self):
        found = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/]+)/\d+/([^/]+)/s3/aws4_request,SignedHeaders=([^,]+),.*",
                             self.headers.get("Authorization", ""))
        if not found:
            return "a signature"
        names = found[3].split(";")
        headers = {name: self.headers[name] for name in names}
        request = AWSRequest(self.command, self.server.address + self.path, headers=headers)
        request.context["timestamp"] = headers["x-amz-date"]
        signer = S3SigV4Auth(Credentials(KEY, SECRET, TOKEN), "s3", found[2])
        text = signer.string_to_sign(request, signer.canonical_request(request))
        return (f"AWS4-HMAC-SHA256 Credential={KEY}/{headers['x-amz-date'][:8]}/{found[2]}/s3/aws4_request,"
                f"SignedHeaders={';'.join(names)},Signature={signer.signature(text, request)}")

    def list_keys(self, query):
        """Two names a page, so that the list has several."""
        keys = sorted(key for key in self.server.files if key.startswith(query["prefix"]))
        names = []
        for key in keys:
            rest = key[len(query["prefix"]):]
            name = ("CommonPrefixes", "Prefix", query["prefix"] + rest.split("/")[0] + "/") if "/" in rest else ("Contents", "Key", key)
            if name not in names:
                names.append(name)
        begin = int(query.get("continuation-token", "from=0")[5:])
        more = begin + 2 < len(names)
        text = "".join(f"<{outer}><{inner}>{name.replace('&', '&amp;')}</{inner}></{outer}>" for outer, inner, name in names[begin:begin + 2])
        token = f"<NextContinuationToken>from={begin + 2}</NextContinuationToken>" if more else ""
        body = f"<ListBucketResult><IsTruncated>{str(more).lower()}</IsTruncated>{token}{text}</ListBucketResult>".encode()
        self.reply(200, body)


def settings(address, folder, **more):
    return {"AWS_ENDPOINT_URL": address, "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_SESSION_TOKEN": TOKEN,
            "AWS_EC2_METADATA_DISABLED": "true", "AWS_REGION": "us-east-1", "HOME": folder, **more}


def keys_of_all_kinds_are_signed(server, expected, folder):
    given = settings(server.address, folder)
    for name in NAMES:
        expect_rows(dump(f"s3://bucket/{name}", **given), expected, name)
    expect_rows(dump("s3://bucket", **given), expected * 5, "all of the bucket's root")
    expect_rows(dump("s3://bucket/fold*/*", **given), expected, "a glob")
    expect_failure(dump("s3://bucket/absent", **given), 3, "s3://bucket/absent")
    expect_failure(dump("s3://bucket/absent*", **given), 3, "no file matches")
    expect_failure(dump("s3://", **given), 2, "bucket")
    expect_failure(dump("s3://bad@host/key", **given), 2, "bucket")
    google = settings("http://127.0.0.1:9", folder, STORAGE_EMULATOR_HOST=server.address)
    server.region = "auto"
    expect_rows(dump("gs://bucket/plain", **google), expected, "gs")
    server.region = "us-east-1"


def secrets_stay_secret(server, folder):
    wrong = settings(server.address, folder, AWS_SECRET_ACCESS_KEY="hidden-secret", AWS_SESSION_TOKEN="hidden-token")
    found = dump("s3://bucket/plain", **wrong)
    expect_failure(found, 4, "HTTP status 403", "SignatureDoesNotMatch", "AWS_SECRET_ACCESS_KEY")
    assert b"hidden" not in found.stderr
    with FaultServer({"plain": SMALL}) as other, FaultServer({"bucket/plain": SMALL, "plain": SMALL}) as server_away:
        server_away.elsewhere = f"{other.address}/good"
        given = settings(server_away.address + "/away", folder)
        expect_failure(dump("s3://bucket/plain", **given), 4, "HTTP status 307")
        assert not other.requests, "a redirect was followed with credentials"


def the_region_is_learned(server, expected, folder):
    server.region = "eu-west-3"
    expect_rows(dump("s3://bucket/plain", **settings(server.address, folder)), expected, "another region")
    server.region = "us-east-1"


def profiles_are_read(server, expected, folder):
    os.makedirs(f"{folder}/.aws")
    with open(f"{folder}/.aws/credentials", "w", encoding="utf-8") as file:
        file.write("# keys\n[default]\naws_access_key_id = none\naws_secret_access_key = none\n\n[work]\r\n"
                   f"aws_access_key_id={KEY}\naws_secret_access_key = {SECRET}\naws_session_token = {TOKEN}\n")
    with open(f"{folder}/.aws/config", "w", encoding="utf-8") as file:
        file.write(f"[profile work]\nregion = us-east-1\ns3 =\n  region = nowhere\nendpoint_url = {server.address}/\n"
                   "[profile role]\nrole_arn = arn:aws:iam::1:role/x\n")
    given = {"HOME": folder, "AWS_EC2_METADATA_DISABLED": "true"}
    expect_rows(dump("s3://bucket/plain", **given, AWS_PROFILE="work"), expected, "a profile")
    expect_failure(dump("s3://bucket/plain", **given, AWS_ENDPOINT_URL=server.address), 4, "HTTP status 403")
    expect_failure(dump("s3://bucket/plain", **given, AWS_PROFILE="absent"), 2, "no profile absent")
    expect_failure(dump("s3://bucket/plain", **given, AWS_PROFILE="role"), 10, "export-credentials")
    expect_failure(dump("s3://bucket/plain", **given, AWS_PROFILE="work", AWS_ENDPOINT_URL="ftp://x"), 2, "AWS_ENDPOINT_URL")


def s3rver_serves(folder):
    program = f"{BUILD}/npm/node_modules/.bin/s3rver"
    if not os.access(program, os.X_OK) or not shutil.which("node"):
        print(f"skipped: s3rver is not there; tools/fetch.sh s3rver {os.path.relpath(BUILD)}/npm fetches it")
        return
    with FaultServer({}) as free:
        port = free.server_address[1]
    large = large_rows(20000)
    whole, address = local(large, folder), f"http://127.0.0.1:{port}"
    given = settings(address, folder, AWS_ACCESS_KEY_ID="S3RVER", AWS_SECRET_ACCESS_KEY="S3RVER", AWS_SESSION_TOKEN="")
    server = subprocess.Popen(["node", program, "-d", f"{folder}/objects", "-p", str(port), "-a", "127.0.0.1",
                               "--configure-bucket", "bucket"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env={**os.environ, "NODE_OPTIONS": "--openssl-legacy-provider"})
    try:
        client = boto3.client("s3", endpoint_url=address, region_name="us-east-1", aws_access_key_id="S3RVER",
                              aws_secret_access_key="S3RVER")
        for _ in range(500):
            try:
                client.put_object(Bucket="bucket", Key="log/part-0", Body=large)
                break
            except EndpointConnectionError:
                time.sleep(0.05)
        client.put_object(Bucket="bucket", Key="log/part-1", Body=large)
        client.put_object(Bucket="bucket", Key="log/deep & far/rows", Body=large)
        client.put_object(Bucket="bucket", Key="empty", Body=b"")
        expect_rows(dump("s3://bucket/log/part-0", **given), whole, "an object")
        expect_rows(dump("s3://bucket/log", **given), whole * 2, "a folder")
        expect_rows(dump("s3a://bucket/log/*/*", **given), whole, "a glob")
        expect_rows(dump("s3://bucket/empty", **given), b"", "an empty object")
        expect_failure(dump("s3://bucket/log/none", **given), 3, "s3://bucket/log/none")
        expect_failure(dump("s3://absent/log", **given), 3, "s3://absent/log")
        models_are_loaded(client, given, folder)
    finally:
        server.terminate()
        server.wait()


def models_are_loaded(client, given, folder):
    """Training and prediction from the server are those from the disk."""
    log = b"user,item,label\n" + b"".join(b"u%d,i%d,%d\n" % (i % 17, i % 29, i % 2) for i in range(300))
    client.put_object(Bucket="bucket", Key="log.csv", Body=log)
    with open(f"{folder}/log.csv", "wb") as file:
        file.write(log)
    train = ("train", "--model", "lr", "--epochs", "2", "--schema", "auto", "--label", "label", "--train")
    for name, source in (("here", f"{folder}/log.csv"), ("there", "s3://bucket/log.csv")):
        found = run(*train, source, "--out", f"{folder}/{name}", **given)
        assert found.returncode == 0, found.stderr
    assert subprocess.run(["diff", "-r", f"{folder}/here", f"{folder}/there"], check=False).returncode == 0
    for name in os.listdir(f"{folder}/here"):
        paths = [f"{name}/{file}" for file in os.listdir(f"{folder}/here/{name}")] if os.path.isdir(f"{folder}/here/{name}") else [name]
        for path in paths:
            client.upload_file(f"{folder}/here/{path}", "bucket", f"models/lr/{path}")
    expected = run("predict", "--model", f"{folder}/here", "--data", f"{folder}/log.csv")
    found = run("predict", "--model", "s3://bucket/models/lr", "--data", "s3://bucket/log.csv", **given)
    expect_rows(found, expected.stdout, "a model")


def main():
    with tempfile.TemporaryDirectory() as folder:
        expected = local(SMALL, folder)
        with FaultServer({name: SMALL for name in NAMES}, Signed) as server:
            server.region = "us-east-1"
            found = dump("s3://bucket/plain", **settings(server.address, folder))
            if b"libcurl" in found.stderr:
                print("skipped: libcurl is not installed (libcurl4)")
                raise SystemExit(77)
            keys_of_all_kinds_are_signed(server, expected, folder)
            secrets_stay_secret(server, folder)
            the_region_is_learned(server, expected, folder)
            profiles_are_read(server, expected, folder)
            print("ok signatures are equal to what botocore computes")
        s3rver_serves(folder)


if __name__ == "__main__":
    try:
        import boto3
        from botocore.auth import S3SigV4Auth
        from botocore.awsrequest import AWSRequest
        from botocore.credentials import Credentials
        from botocore.exceptions import EndpointConnectionError
    except ImportError:
        print("skipped: boto3 is not installed (python3-boto3)")
        sys.exit(77)
    main()
