"""/openapi.json: the document is valid, describes what the router has, and what it promises is what is answered."""
import glob
import json
import os
import re
import shlex
import subprocess

import furrow_server
from furrow_server import BUILD, Server, build_index, train_events, train_recommender, train_rows, write_items

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
DOCUMENT = f"{SOURCE}/serve/api/openapi.json"


def load():
    with open(DOCUMENT) as file:
        return json.load(file)


def operations(document):
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield path, method, operation


# ---- A validator for the part of OpenAPI 3.0 schemas that the document uses ----

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "number": (int, float), "integer": int}
ANNOTATIONS = {"description", "default", "example", "format", "nullable", "type"}
KEYWORDS = ANNOTATIONS | {"properties", "required", "additionalProperties", "items", "oneOf", "anyOf", "enum", "minimum",
                          "maximum", "minItems", "maxItems", "minProperties", "maxProperties"}


def resolve(document, value):
    while "$ref" in value:
        found = document
        for step in value["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        value = found
    return value


def is_type(value, name):
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def problems(document, schema, value, where="", complete=False):
    """Lists what is wrong; complete: objects have no members that the schema does not describe."""
    schema = resolve(document, schema)
    unknown = set(schema) - KEYWORDS
    assert not unknown, f"keywords that the validator does not know: {unknown}"
    if value is None and (schema.get("nullable") or not schema.keys() & {"oneOf", "anyOf"}):
        return [] if schema.get("nullable") else [f"{where}: null"]
    found = []
    if "type" in schema and not is_type(value, schema["type"]):
        return [f"{where}: {value!r} is not of type {schema['type']}"]
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{where}: {value!r} is not one of {schema['enum']}")
    for name in ("oneOf", "anyOf"):
        if name in schema:
            tries = [problems(document, s, value, where, complete and "properties" in resolve(document, s))
                     for s in schema[name]]
            fits = sum(not t for t in tries)
            if fits == 0 or (name == "oneOf" and fits > 1):
                found.append(f"{where}: fits {fits} of {name}: {tries}")
    if is_type(value, "number"):
        if value < schema.get("minimum", value) or value > schema.get("maximum", value):
            found.append(f"{where}: {value} is out of range")
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            found.append(f"{where}: {len(value)} items")
        for i, item in enumerate(value):
            found += problems(document, schema.get("items", {}), item, f"{where}/{i}", complete)
    if isinstance(value, dict):
        if not schema.get("minProperties", 0) <= len(value) <= schema.get("maxProperties", len(value)):
            found.append(f"{where}: {len(value)} members")
        found += [f"{where}: no {name}" for name in schema.get("required", []) if name not in value]
        for name, member in value.items():
            inner = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
            if inner is False or (inner is None and complete and "properties" in schema):
                found.append(f"{where}: {name} is not described")
            elif isinstance(inner, dict):
                found += problems(document, inner, member, f"{where}/{name}", complete)
    return found


# ---- The document ----


def references(value):
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"]
        for inner in value.values():
            yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def test_references(folder):
    document = load()
    used = set(references(document))
    for reference in used:
        resolve(document, {"$ref": reference})
    for kind in ("schemas", "responses", "parameters", "headers"):
        for name in document["components"][kind]:
            assert f"#/components/{kind}/{name}" in used, f"{kind}/{name} is not used"
    names = [operation["operationId"] for _, _, operation in operations(document)]
    assert len(set(names)) == len(names)
    for path, _, operation in operations(document):
        described = {resolve(document, p)["name"] for p in operation.get("parameters", [])
                     if resolve(document, p)["in"] == "path"}
        assert described == set(re.findall(r"\{(\w+)\}", path)), path


def test_routes(folder):
    """The document has the paths of the router's table, their methods, and who needs a token; and no others."""
    document = load()
    with open(f"{SOURCE}/serve/api/router.c") as file:
        table = re.findall(r'\{(\w+), "([^"]*)", HTTP_(\w+), \w+, \w+, \w+, (true|false), (?:true|false)\}', file.read())
    assert len(table) >= 20, table
    prefix = {"A_MODEL": "/v1/models/{name}", "AN_INDEX": "/v1/indexes/{name}", "NO_TARGET": ""}
    routes = {(prefix[target] + path, method.lower()): is_open for target, path, method, is_open in table}
    described = {(path, method): operation for path, method, operation in operations(document)}
    for (path, method), operation in described.items():
        plain = path.replace("/versions/{version}", "")
        assert (plain, method) in routes, f"{method} {path} is not a route"
        assert (operation.get("security") == []) == (routes[plain, method] == "true"), f"{path}: token"
        assert ("500" in operation["responses"]) == (method == "post"), f"{path}: 500"
        assert ("401" in operation["responses"]) == (routes[plain, method] == "false"), f"{path}: 401"
    assert set(routes) <= set(described), f"not described: {set(routes) - set(described)}"


def examples(document):
    for path, _, operation in operations(document):
        content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
        for key, example in content.get("examples", {}).items():
            yield path, operation, key, content["schema"], example["value"]


def test_examples_fit(folder):
    document = load()
    for path, _, key, schema, value in examples(document):
        found = problems(document, schema, value, complete=True)
        assert not found, f"{path} {key}: {found}"
    posts = {path for path, method, _ in operations(document) if method == "post"}
    assert posts == {path for path, *_ in examples(document)}, "a request without an example"
    problem = document["components"]["schemas"]["Problem"]
    assert not problems(document, problem, problem["example"], complete=True)


def test_validator_refuses(folder):
    """The validator of this file finds what is wrong."""
    document, predict = load(), {"$ref": "#/components/schemas/PredictRequest"}
    for wrong in [{}, [], None, {"instances": [1]}, {"instances": [{}], "rows": []}, {"rows": [1]}, {"rows": [], "x": 1},
                  {"instances": [[True]]}, {"rows": [], "details": 1}]:
        assert problems(document, predict, wrong), wrong
    search = {"$ref": "#/components/schemas/SearchRequest"}
    for wrong in [{"ids": [1.5]}, {"ids": [-1]}, {"ids": [1], "k": 0}, {"ids": [1], "filter": {}},
                  {"ids": [1], "filter": {"range": [1]}}]:
        assert problems(document, search, wrong), wrong


def test_outside_validator(folder):
    """A validator of others: the command FURROW_OPENAPI_VALIDATOR, or a module in npm/ of the build folder."""
    document = json.dumps(load()).replace("FURROW_VERSION", "1.0.0")
    path = f"{folder}/openapi.json"
    with open(path, "w") as file:
        file.write(document)
    command = shlex.split(os.environ.get("FURROW_OPENAPI_VALIDATOR", ""))
    installed = glob.glob(f"{BUILD}/npm/node_modules/.bin/validate-api")
    if not command and not installed:
        print("skipped the outside validator: neither FURROW_OPENAPI_VALIDATOR nor validate-api is there")
        return
    done = subprocess.run([*(command or installed), path], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert command or json.loads(done.stdout)["valid"] is True, done.stdout


def npm_command(name):
    """A command of a Node module that tools/fetch.sh openapi has fetched; None: it is not there, so a test is skipped."""
    path = os.path.abspath(f"{BUILD}/npm/node_modules/.bin/{name}")
    if os.path.exists(path):
        return path
    print(f"skipped: {name} is not there; tools/fetch.sh openapi {os.path.relpath(BUILD)}/npm fetches it")
    return None


def write_document(folder):
    path = f"{folder}/openapi.json"
    with open(path, "w") as file, open(DOCUMENT) as source:
        file.write(source.read().replace("FURROW_VERSION", "1.0.0"))
    return path


def test_outside_linter(folder):
    """Redocly's linter, with its recommended rules, has neither errors nor warnings."""
    command = npm_command("redocly")
    if not command:
        return
    done = subprocess.run([command, "lint", "--format", "json", write_document(folder)], capture_output=True, text=True,
                          timeout=300, cwd=folder, env={**os.environ, "REDOCLY_TELEMETRY": "off", "CI": "1",
                                                        "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"})
    assert done.returncode == 0, done.stdout + done.stderr
    totals = json.loads(done.stdout[done.stdout.index("{"):])["totals"]
    assert totals == {"errors": 0, "warnings": 0, "ignored": 0}, done.stdout


CLIENT = """
import * as api from "./client";
import { client } from "./client/client.gen";

declare const process: { argv: string[] };
client.setConfig({ baseUrl: process.argv[2], auth: () => process.argv[3] });

async function ask(name: string, answer: Promise<{ data?: unknown; error?: unknown; response?: Response }>) {
  const { data, error, response } = await answer;
  console.log(JSON.stringify([name, response?.status, data ?? error]));
}

async function main() {
  const shop = { name: "ctr" }, items = { name: "items" };
  await ask("models", api.listModels());
  const scored = await api.predict({ path: shop, body: { instances: [{ user: "u1", item: "i1", device: "tv", price: null }] } });
  const first: unknown = scored.data?.predictions[0];
  console.log(JSON.stringify(["predict", scored.response?.status, typeof first]));
  await ask("recommend", api.recommend({ path: shop, body: { users: ["u1"], k: 2 } }));
  await ask("add", api.add({ path: items, body: { vectors: [[9, 9, 9, 9, 9, 9, 9, 9]], names: ["new"] } }));
  await ask("search", api.search({ path: items, body: { names: ["new"], k: 1 } }));
  await ask("missing", api.predict({ path: { name: "nobody" }, body: { rows: [] } }));
  await ask("wrong", api.search({ path: items, body: { names: ["new"], k: 0 } }));
}
void main();
"""


def test_generated_client(folder):
    """A client that a generator makes of the document compiles, with its types, and works with the service."""
    generator, compiler = npm_command("openapi-ts"), npm_command("tsc")
    if not generator or not compiler:
        return
    with open(f"{folder}/call.ts", "w") as file:
        file.write(CLIENT)
    for command in ([generator, "--input", write_document(folder), "--output", f"{folder}/client", "--silent"],
                    [compiler, "--strict", "--target", "es2022", "--lib", "es2022,dom,dom.iterable", "--module", "commonjs",
                     "--moduleResolution", "node10", "call.ts"]):
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=folder)
        assert done.returncode == 0, done.stdout + done.stderr
    with open(f"{folder}/token", "w") as file:
        file.write("of-the-client\n")
    os.chmod(f"{folder}/token", 0o600)
    with start(folder, "--token-file", f"{folder}/token") as server:
        done = subprocess.run(["node", f"{folder}/call.js", f"http://127.0.0.1:{server.port}", "of-the-client"],
                              capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        found = {name: (status, data) for name, status, data in map(json.loads, done.stdout.splitlines())}
    assert all(found[name][0] == 200 for name in ("models", "predict", "recommend", "add", "search")), found
    assert [m["name"] for m in found["models"][1]["models"]] == ["ctr", "rows", "likes"], found["models"]
    assert found["predict"][1] == "number" and len(found["recommend"][1]["recommendations"][0]["items"]) == 2, found
    assert found["add"][1] == {"ids": [400]} and found["search"][1]["neighbors"][0][0]["name"] == "new", found
    assert found["missing"][0] == 404 and found["missing"][1]["code"] == "E_NOT_FOUND", found["missing"]
    assert found["wrong"][0] == 400 and found["wrong"][1]["pointer"] == "/k", found["wrong"]


# ---- What is answered ----

PATHS = {"/v1/models/{name}": "ctr", "/v1/indexes/{name}": "items"}
OTHERS = {"lines": "rows", "arrays": "rows", "reasons": "likes"}  # examples for a model of rows, for a recommender


def address(path, key=None):
    name = "fixed" if path == "/v1/indexes/{name}:reload" else OTHERS.get(key)
    name = name or ("items" if path.startswith("/v1/indexes") else "ctr")
    return path.replace("{name}", name).replace("{version}", "1")


def check_answer(document, path, operation, status, headers, body):
    assert str(status) in operation["responses"], f"{path}: {status} is not described: {body!r}"
    response = resolve(document, operation["responses"][str(status)])
    kind = headers["content-type"].split(";")[0]
    assert kind in response["content"], f"{path}: {status} with {kind}"
    if "json" in kind and path != "/openapi.json":
        found = problems(document, response["content"][kind]["schema"], json.loads(body), complete=True)
        assert not found, f"{path}: {status}: {found} in {body!r}"


def start(folder, *words):
    model, rows = train_events(folder), train_rows(folder, features=4)
    write_items(f"{folder}/items.csv")
    with open(f"{folder}/rows.csv", "w") as file:
        file.write("name,price,lang,sold,added,tags\n")
        file.writelines(f"item {i},{i % 20},{'de' if i % 2 else 'fr'},{i % 3 == 0},2024-01-{i % 28 + 1:02},a|b\n"
                        for i in range(400))
    items, _ = build_index(folder, "items", 400, 8, True, "--attributes", f"{folder}/rows.csv")
    fixed, _ = build_index(folder, "fixed", 400, 8)
    likes = train_recommender(folder)
    return Server("--model", f"ctr={model}", "--model", f"rows={rows}", "--model", f"likes={likes}", "--items",
                  f"ctr={folder}/items.csv:title", "--index", f"items={items}", "--index", f"fixed={fixed}",
                  "--writable", "items", *words)


JSON = {"Content-Type": "application/json"}


def test_answers(folder):
    """Every example is answered 200 with what its schema says; so is every GET."""
    with start(folder) as server:
        document = server.get("/openapi.json")[1]
        expected = load()
        expected["info"]["version"] = document["info"]["version"]
        assert document == expected and re.fullmatch(r"\d+\.\d+\.\d+", document["info"]["version"])
        for path, operation, key, _, value in examples(document):
            status, headers, body = server.request("POST", address(path, key), json.dumps(value), JSON)
            assert status == 200, f"{path} {key}: {status} {body!r}"
            check_answer(document, path, operation, status, headers, body)
        stranger = json.dumps({"instances": [{"user": "nobody", "item": "nothing"}]})
        for path in ("/v1/models/{name}:predict", "/v1/models/{name}:explain"):
            status, headers, body = server.request("POST", path.replace("{name}", "ctr"), stranger, JSON)
            assert len(json.loads(body)["warnings"]) == 2, body
            check_answer(document, path, document["paths"][path]["post"], status, headers, body)
        for path, method, operation in operations(document):
            if method == "get":
                status, headers, body = server.request("GET", address(path))
                assert status == 200, f"{path}: {status} {body!r}"
                check_answer(document, path, operation, status, headers, body)


WRONG = ["", "{", "[]", "1", "nonsense", '{"unknown": 1}', '{"instances": 1}', '{"vectors": [[]]}', '{"users": [null]}',
         '{"k": 0}', '{"ids": [99999999]}', '{"names": ["nobody"]}', '{"items": ["nobody"]}', '{"users": ["nobody"]}',
         '{"ids": [1], "where": "prize < 3"}', '{"vectors": [[0]], "attributes": [{"price": "x"}]}',
         '{"instances": [{"price": "x"}]}', '{"rows": ["x"]}', '{"instances": [], "rows": []}', '{"queries": 0}']


def test_refusals(folder):
    """Whatever is refused is a problem document with a status that the document has."""
    with start(folder) as server:
        document = load()
        for path, method, operation in operations(document):
            if method != "post":
                continue
            for body in WRONG:
                check_answer(document, path, operation, *server.request("POST", address(path), body, JSON))
            unknown = path.replace("{name}", "nobody").replace("{version}", "1")
            status, headers, body = server.request("POST", unknown, "{}", JSON)
            assert status == 404, (unknown, status)
            check_answer(document, path, operation, status, headers, body)


if __name__ == "__main__":
    furrow_server.run(globals())
