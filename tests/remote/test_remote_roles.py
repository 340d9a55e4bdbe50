"""Credentials of containers, machines and tokens, from a server that follows the documented protocols: what Furrow signs
with is what botocore finds in the same environment."""
import http.server
import json
import os
import sys
import tempfile
import time
import urllib.parse

import test_remote_s3
from fault_server import FaultServer
from test_remote_http import SMALL, dump, expect_failure, expect_rows, local
from test_remote_s3 import KEY, SECRET, TOKEN, Signed

ROLE, WEB = "the-role", "token.of-a.service"


class Roles(http.server.BaseHTTPRequestHandler):
    """The services for containers, of machines (version 2) and of tokens (STS)."""

    def log_message(self, *_):
        pass

    def answer(self):
        server, path = self.server, self.path
        body = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()
        server.requests.append((self.command, path))
        found = json.dumps({"Code": "Success", "LastUpdated": "2026-01-01T00:00:00Z", "Type": "AWS-HMAC", "AccessKeyId": KEY,
                            "SecretAccessKey": SECRET, "Token": TOKEN, "Expiration": server.expiration})
        if path == "/container" and self.headers.get("Authorization") == server.authorization:
            return self.reply(200, found)
        if (self.command, path) == ("PUT", "/latest/api/token") and self.headers["x-aws-ec2-metadata-token-ttl-seconds"]:
            return self.reply(200 if server.tokens else 403, "session")
        if path.startswith("/latest/meta-data/iam/security-credentials/"):
            if server.tokens and self.headers.get("x-aws-ec2-metadata-token") != "session":
                return self.reply(401, "")
            return self.reply(200, found if path.endswith("/" + ROLE) else ROLE)
        if self.command == "POST":
            form = dict(urllib.parse.parse_qsl(body))
            if form["Action"] == "AssumeRoleWithWebIdentity" and form["RoleArn"] == "arn:aws:iam::1:role/x" and form["WebIdentityToken"] == WEB:
                return self.reply(200, f"<AssumeRoleWithWebIdentityResponse xmlns='https://sts.amazonaws.com/doc/2011-06-15/'>"
                                       f"<AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>{KEY}</AccessKeyId><SecretAccessKey>{SECRET}"
                                       f"</SecretAccessKey><SessionToken>{TOKEN}</SessionToken><Expiration>{server.expiration}</Expiration></Credentials>"
                                       f"</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>")
        return self.reply(403, "hidden")

    do_GET = do_PUT = do_POST = answer

    def reply(self, status, text):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())


class RoleServer(FaultServer):
    def __init__(self):
        super().__init__({}, Roles)
        self.authorization, self.tokens = None, True
        self.expires_in(3600)

    def expires_in(self, seconds):
        self.expiration = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))


def botocore_finds(environment):
    before = dict(os.environ)
    for name in list(os.environ):
        if name.startswith("AWS_"):
            del os.environ[name]
    os.environ.update(environment)
    try:
        found = botocore.session.Session().get_credentials()
        return found and tuple(found.get_frozen_credentials())[:3]
    finally:
        os.environ.clear()
        os.environ.update(before)


def expect_same(store, roles, expected, environment, what):
    del roles.requests[:]
    expect_rows(dump("s3://bucket/plain", **environment), expected, what)
    asked = list(roles.requests)
    del roles.requests[:]
    found = botocore_finds(environment)
    assert found == (KEY, SECRET, TOKEN), (what, found)
    assert asked == roles.requests, (what, asked, roles.requests)


def roles_are_found(store, roles, expected, folder):
    base = {"AWS_ENDPOINT_URL_S3": store.address, "AWS_REGION": "us-east-1", "HOME": folder}
    container = {**base, "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{roles.address}/container", "AWS_EC2_METADATA_DISABLED": "true",
                 "http_proxy": "http://127.0.0.1:9", "no_proxy": store.address.removeprefix("http://").split(":")[0]}
    machine = {**base, "AWS_EC2_METADATA_SERVICE_ENDPOINT": f"{roles.address}/"}
    expect_same(store, roles, expected, container, "a container")
    roles.authorization = "Bearer secret+token=="
    token_file = {**container, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": f"{folder}/token", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "not this"}
    with open(f"{folder}/token", "w", encoding="ascii") as file:
        file.write(roles.authorization)
    expect_same(store, roles, expected, token_file, "a container with a file of a token")
    expect_same(store, roles, expected, {**container, "AWS_CONTAINER_AUTHORIZATION_TOKEN": roles.authorization}, "a container with a token")
    expect_same(store, roles, expected, machine, "a machine")
    roles.tokens = False
    expect_same(store, roles, expected, machine, "a machine without tokens")
    with open(f"{folder}/web", "w", encoding="ascii") as file:
        file.write(WEB)
    web = {**base, "AWS_ROLE_ARN": "arn:aws:iam::1:role/x", "AWS_WEB_IDENTITY_TOKEN_FILE": f"{folder}/web", "AWS_ENDPOINT_URL_STS": roles.address,
           "AWS_EC2_METADATA_DISABLED": "true"}
    del roles.requests[:]
    expect_rows(dump("s3://bucket/plain", **web), expected, "a token of another service")
    assert len(roles.requests) == 1, roles.requests


def failures_say_why(store, roles, folder):
    base = {"AWS_ENDPOINT_URL_S3": store.address, "AWS_REGION": "us-east-1", "HOME": folder, "FURROW_HTTP_RETRIES": "1"}
    off = {**base, "AWS_EC2_METADATA_DISABLED": "true"}
    roles.authorization = "another"
    for environment, code, word in (
            ({**off, "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{roles.address}/container", "AWS_CONTAINER_AUTHORIZATION_TOKEN": "hidden"}, 4, "HTTP status 403"),
            ({**off, "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://example.org/hidden"}, 2, "AWS_CONTAINER_CREDENTIALS_FULL_URI"),
            ({**off, "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{roles.address}/latest/meta-data/iam/security-credentials/x"}, 7, "does not have the credentials"),
            ({**off, "AWS_WEB_IDENTITY_TOKEN_FILE": f"{folder}/absent", "AWS_ROLE_ARN": "a"}, 4, "AWS_WEB_IDENTITY_TOKEN_FILE"),
            ({**off, "AWS_WEB_IDENTITY_TOKEN_FILE": f"{folder}/web"}, 2, "AWS_ROLE_ARN"),
            ({**base, "AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:9"}, 4, "HTTP status 403")):
        found = dump("s3://bucket/plain", **environment)
        expect_failure(found, code, word)
        assert b"hidden" not in found.stderr and KEY.encode() not in found.stderr, found.stderr


def credentials_are_renewed(store, roles, expected, folder):
    machine = {"AWS_ENDPOINT_URL_S3": store.address, "AWS_REGION": "us-east-1", "HOME": folder, "AWS_EC2_METADATA_SERVICE_ENDPOINT": roles.address}
    times = []
    for seconds in (3600, -5):
        roles.expires_in(seconds)
        del roles.requests[:]
        expect_rows(dump("s3://bucket/plain", **machine), expected, "renewed")
        times.append(sum(path.endswith(ROLE) for _, path in roles.requests))
    assert times[0] == 1 < times[1], times


def main():
    with tempfile.TemporaryDirectory() as folder, FaultServer({"plain": SMALL}, Signed) as store, RoleServer() as roles:
        expected = local(SMALL, folder)
        store.region = "us-east-1"
        found = dump("s3://bucket/plain", AWS_ENDPOINT_URL=store.address, AWS_EC2_METADATA_DISABLED="true", HOME=folder)
        if b"libcurl" in found.stderr:
            print("skipped: libcurl is not installed (libcurl4)")
            raise SystemExit(77)
        roles_are_found(store, roles, expected, folder)
        failures_say_why(store, roles, folder)
        credentials_are_renewed(store, roles, expected, folder)
        print("ok credentials of roles are those that botocore finds")


if __name__ == "__main__":
    try:
        import botocore.session
        from botocore.auth import S3SigV4Auth
        from botocore.awsrequest import AWSRequest
        from botocore.credentials import Credentials
    except ImportError:
        print("skipped: botocore is not installed (python3-boto3)")
        sys.exit(77)
    test_remote_s3.S3SigV4Auth, test_remote_s3.AWSRequest, test_remote_s3.Credentials = S3SigV4Auth, AWSRequest, Credentials
    main()
