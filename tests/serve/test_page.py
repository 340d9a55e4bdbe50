"""The page that furrow-serve shows, in a browser without a screen: its forms answer as the API does, with hostile names,
on phones, in the dark, by keyboard. Skipped (77) where there is no chromium. FURROW_SCREENSHOTS names a folder for
pictures."""
import array
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile

import browser
import furrow_server
from furrow_server import furrow, run, train_recommender, train_rows, write_items

EVIL = "<img src=x onerror=hit()>"
EVIL_TITLE = "\"'><script>hit()</script>&lt;b&gt;"
TOKEN = "p4ge-token"

# In the page: the form with a title in a card, its fields by label, what it says.
HELPERS = """
window.hits = 0;
window.hit = () => { window.hits++; };
window.refresh = () => document.dispatchEvent(new Event("visibilitychange"));
window.form = (card, title) => [...document.getElementById(card).querySelectorAll("details")]
  .find((d) => d.querySelector("h4")?.textContent === title).querySelector("form");
window.input = (form, label) => document.getElementById(
  [...form.querySelectorAll("label")].find((l) => l.firstChild.textContent === label).htmlFor);
window.put = (form, label, value) => {
  const node = input(form, label);
  node.value = value;
  node.dispatchEvent(new Event(node.tagName === "SELECT" ? "change" : "input", { bubbles: true }));
  if (node.tagName === "SELECT") node.dispatchEvent(new Event("input", { bubbles: true }));
};
window.said = (form) => form.querySelector(".status").textContent;
window.isDone = (form) => form.querySelector("[type=submit]").getAttribute("aria-disabled") === "false" && said(form) !== "";
window.cells = (form) => [...form.querySelectorAll(".result table")].map((t) => [...t.tBodies[0].rows].map((r) => [...r.cells]
  .filter((c) => c.className !== "gauge").map((c) => c.querySelector("data")?.value ?? c.textContent)));
"""


def write_hostile_log(path, rows=1500, users=30, items=20, seed=11):
    draw = random.Random(seed)
    with open(path, "w") as file:
        file.write(f"user,item,{EVIL},price,click\n")
        for _ in range(rows):
            user, item = draw.randrange(users), draw.randrange(items)
            likes = draw.random() < (0.85 if user % 2 == item % 2 else 0.15)
            file.write(f"u{user},i{item},{draw.choice(['tv', EVIL, 'desktop'])},{draw.uniform(1, 99):.2f},{int(likes)}\n")


def write_spread_vectors(path, count, dimension, seed=13):
    """Vectors without clusters: one list does not have all neighbours."""
    draw = random.Random(seed)
    with open(path, "wb") as file:
        for _ in range(count):
            array.array("i", [dimension]).tofile(file)
            array.array("f", [draw.gauss(0, 1) for _ in range(dimension)]).tofile(file)


def make_data(folder):
    """Models and an index whose names are markup."""
    write_hostile_log(f"{folder}/log.csv")
    furrow("train", "--model", "fm", "--train", f"{folder}/log.csv", "--schema", "auto", "--label", "click", "--user", "user",
           "--item", "item", "--epochs", 3, "--out", f"{folder}/ctr.model", "-q")
    with open(f"{folder}/items.csv", "w") as file:
        file.write("item,title\n")
        file.writelines(f"i{i},{EVIL if i % 3 == 0 else 'Title of'} {i}\n" for i in range(20))
    os.mkdir(f"{folder}/rows")
    shutil.move(train_rows(folder, model="softmax", rows=600, features=8, classes=3), f"{folder}/rows/1")
    write_spread_vectors(f"{folder}/items.fvecs", 1500, 16)
    with open(f"{folder}/names.txt", "w") as file:
        file.writelines(f"{EVIL_TITLE if i % 5 == 0 else 'item'} {i}\n" for i in range(1500))
    furrow("index", "build", "--base", f"{folder}/items.fvecs", "--out", f"{folder}/items.index", "--nlist", 16, "--m", 8,
           "--ids", f"{folder}/names.txt")


def server_words(folder):
    return ["--model", f"ctr={folder}/ctr.model", "--items", f"ctr={folder}/items.csv:title", "--model", f"rows={folder}/rows",
            "--index", f"items={folder}/items.index", "--watch", 0, "--threads", 2]


EXAMPLES = [("Recommendations", "User"), ("Similar items", "Item"), ("Try a prediction", "user"), ("Try a prediction", "item")]


class World:
    """One server and one browser for all tests."""

    def __init__(self, folder):
        self.folder, self.page = folder, None
        make_data(folder)
        try:
            self.browser = browser.Browser(folder)
        except browser.BrowserError as error:
            print(f"skipped: {browser.find()} does not run here: {error}")
            sys.exit(77)
        try:
            self.server = furrow_server.Server(*server_words(folder))
        except BaseException:
            self.browser.__exit__()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        self.browser.__exit__(*problem)
        self.server.__exit__(*problem)

    def open(self, server):
        """A tab of its own."""
        page = self.browser.open(address(server))
        page.ask(HELPERS + "0")
        return page

    def load(self):
        """The tab that tests share, loaded anew; what was said before is forgotten."""
        if self.page:
            self.browser.events.clear()
            self.page.go(address(self.server))
            self.page.ask(HELPERS + "0")
        else:
            self.page = self.open(self.server)
        self.page.wait("!!document.getElementById('index-items') && document.getElementById('state').textContent === 'ready'")
        for title, label in EXAMPLES:
            self.page.wait(f"input(form('model-ctr', {json.dumps(title)}), {json.dumps(label)}).value !== ''")
        self.page.wait("input(form('index-items', 'Nearest neighbours'), 'Id').value !== ''")
        return self.page


def address(server):
    return f"http://{server.host}:{server.port}/"


def send(page, card, title, wait=True, **values):
    """Fills in a form, submits it, and returns what it says."""
    name = f"form({json.dumps(card)}, {json.dumps(title)})"
    for label, value in values.items():
        page.ask(f"put({name}, {json.dumps(label)}, {json.dumps(str(value))})")
    page.ask(f"{name}.querySelector('.status').textContent = ''; {name}.requestSubmit()")
    if wait:
        page.wait(f"isDone({name})")
    return page.ask(f"said({name})")


def tables(page, card, title):
    return page.ask(f"cells(form({json.dumps(card)}, {json.dumps(title)}))")


def facts(page, card, title):
    return dict(page.ask(f"[...form({json.dumps(card)}, {json.dumps(title)}).querySelectorAll('.result .facts > div')]"
                         ".map((d) => [d.children[0].textContent, d.children[1].querySelector('data')?.value ?? d.children[1].textContent])"))


def field_problem(page, card, title, label):
    """The text next to a field, which is described by it, marked, and has the focus."""
    found = page.ask(f"""(() => {{
      const node = input(form({json.dumps(card)}, {json.dumps(title)}), {json.dumps(label)});
      const text = node.getAttribute("aria-describedby").split(" ").map((id) => document.getElementById(id))
        .find((p) => p.className === "problem").textContent;
      return [text, node.getAttribute("aria-invalid"), document.activeElement === node];
    }})()""")
    assert found[1:] == ["true", True], found
    return found[0]


def same(shown, expected, digits=9):
    assert math.isclose(float(shown), float(expected), rel_tol=10**-digits, abs_tol=1e-9), (shown, expected)


def picture(page, name):
    if os.environ.get("FURROW_SCREENSHOTS"):
        page.screenshot(os.path.join(os.environ["FURROW_SCREENSHOTS"], f"{name}.png"))


# ---- Loading ----


def test_headers(_):
    status, headers, body = world.server.request("GET", "/")
    assert status == 200 and headers["content-type"] == "text/html; charset=utf-8", (status, headers)
    policy = headers["content-security-policy"]
    for part in ("default-src 'none'", "script-src 'sha256-", "style-src 'sha256-", "connect-src 'self'", "frame-ancestors 'none'",
                 "require-trusted-types-for 'script'"):
        assert part in policy, (part, policy)
    assert "unsafe" not in policy and "*" not in policy, policy
    assert headers["referrer-policy"] == "no-referrer" and headers["x-frame-options"] == "DENY", headers
    assert b"@STYLE@" not in body and b"@VERSION@" not in body and b"http-equiv" not in body
    assert int(headers["content-length"]) == len(body) or "content-encoding" in headers


def test_load(_):
    page = world.load()
    assert page.ask("[...document.querySelectorAll('h3')].map((h) => h.textContent)") == ["ctr", "rows", "items"]
    assert page.ask("[...document.querySelectorAll('nav a')].map((a) => a.textContent)") == ["ctr", "rows", "items"]
    card = page.ask("document.getElementById('model-ctr').innerText")
    _, doc = world.server.get("/v1/models/ctr")
    for text in ("version 1", "fm", "binary", "0, 1", doc["loaded_at"][:10]):
        assert text in card, (text, card)
    assert furrow("--version").split()[1] in page.ask("document.querySelector('header').textContent")
    elsewhere = page.ask("performance.getEntriesByType('resource').map((e) => e.name).filter((n) => !n.startsWith(location.origin))")
    assert elsewhere == [], elsewhere
    assert page.complaints() == [], page.complaints()
    # What is not the page's own is refused: by the policy, and by the rule for markup.
    for script in ("document.body.append(Object.assign(document.createElement('script'), {text: 'hit()'}))",
                   "document.body.insertAdjacentHTML('beforeend', '<p onclick=hit()>')"):
        try:
            page.ask(script)
            raise AssertionError(f"not refused: {script}")
        except browser.BrowserError as error:
            assert "Trusted" in str(error), error


# ---- Forms ----


def test_predict(_):
    page = world.load()
    # by keyboard: into the first field, Tab, the next one, Enter
    page.ask("input(form('model-ctr', 'Try a prediction'), 'user').focus()")
    labels = page.ask("[...form('model-ctr', 'Try a prediction').querySelectorAll('label')].map((l) => l.firstChild.textContent)")
    assert labels == ["user", "item", EVIL, "price"], labels
    for text in ("u3", "i4", EVIL, "12.5"):
        page.type(text)
        if text != "12.5":
            page.key("Tab")
    page.key("Enter")
    page.wait("isDone(form('model-ctr', 'Try a prediction'))")
    instance = {"user": "u3", "item": "i4", EVIL: EVIL, "price": 12.5}
    _, answer = world.server.post("/v1/models/ctr:predict", {"instances": [instance], "details": True})
    shown = facts(page, "model-ctr", "Try a prediction")
    same(shown["probability"], answer["predictions"][0]["probability"])
    same(shown["score"], answer["predictions"][0]["score"])
    _, answer = world.server.post("/v1/models/ctr:explain", {"instances": [instance], "top": 12})
    reasons = answer["explanations"][0]
    found = tables(page, "model-ctr", "Try a prediction")[0]
    assert len(found) == len(reasons["contributions"]) + 1 > 2, (found, reasons)
    for row, expected in zip(found, reasons["contributions"]):
        assert row[0] == expected["feature"], (row, expected)
        same(row[1], expected["value"])
    assert found[-1][0] == "bias"
    same(found[-1][1], reasons["bias"])
    assert page.ask("window.hits") == 0 and page.ask("document.images.length") == 0
    assert page.complaints() == [], page.complaints()
    picture(page, "predict")


def test_rows(_):
    page = world.load()
    for text, body in (("0 1:0.5 2:-1 7:2", {"rows": ["0 1:0.5 2:-1 7:2"]}), ("[1, 0, 0, 0, 2.5, 0, -3e-1, 1]", {"instances": [[1, 0, 0, 0, 2.5, 0, -0.3, 1]]})):
        send(page, "model-rows", "Try a prediction", Row=text)
        _, answer = world.server.post("/v1/models/rows:predict", body)
        found = tables(page, "model-rows", "Try a prediction")[0]
        assert len(found) == 3, found
        for row, expected in zip(found, answer["predictions"][0]):
            same(row[1], expected)
    assert page.complaints() == [], page.complaints()
    said = send(page, "model-rows", "Try a prediction", Row="0 1:oops")
    assert "not accepted" in said, said
    status, problem = world.server.post("/v1/models/rows:predict", {"rows": ["0 1:oops"], "details": True})
    assert status == 400 and problem["detail"] in field_problem(page, "model-rows", "Try a prediction", "Row"), problem
    send(page, "model-rows", "Try a prediction", Row="[1, 2")
    assert "JSON" in field_problem(page, "model-rows", "Try a prediction", "Row")
    send(page, "model-rows", "Try a prediction", Row="0 1:1")
    assert page.ask("document.querySelectorAll('[aria-invalid]').length") == 0


def test_recommend(_):
    page = world.load()
    said = send(page, "model-ctr", "Recommendations", User="u3", **{"How many": 5})
    _, answer = world.server.post("/v1/models/ctr:recommend", {"users": ["u3"], "k": 5})
    items = answer["recommendations"][0]["items"]
    found = tables(page, "model-ctr", "Recommendations")[0]
    assert "5 items" in said and len(found) == len(items) == 5, (said, found)
    for rank, (row, expected) in enumerate(zip(found, items)):
        assert row[:3] == [str(rank + 1), expected["name"], expected["item"]], (row, expected)
        same(row[3], expected["score"])
    # an item of the answer opens what is similar
    page.ask("form('model-ctr', 'Recommendations').querySelector('.result button').click()")
    page.wait("isDone(form('model-ctr', 'Similar items'))")
    _, answer = world.server.post("/v1/models/ctr:similar", {"items": [items[0]["item"]], "k": 10})
    found = tables(page, "model-ctr", "Similar items")[0]
    assert [row[2] for row in found] == [item["item"] for item in answer["similar"][0]["items"]], found
    for row, expected in zip(found, answer["similar"][0]["items"]):
        same(row[3], expected["similarity"])
    assert page.complaints() == [], page.complaints()
    send(page, "model-ctr", "Recommendations", User="nobody <b>")
    _, problem = world.server.post("/v1/models/ctr:recommend", {"users": ["nobody <b>"], "k": 5})
    assert problem["pointer"] == "/users/0" and problem["detail"] in field_problem(page, "model-ctr", "Recommendations", "User")
    send(page, "model-ctr", "Recommendations", User="")
    assert "missing" in field_problem(page, "model-ctr", "Recommendations", "User")
    assert page.ask("window.hits") == 0 and page.ask("document.images.length") == 0


OPTIONS = "[...input({form}, {label}).list.options].map((o) => [o.value, o.label])"


def options(page, card, title, label):
    return page.ask(OPTIONS.format(form=f"form({json.dumps(card)}, {json.dumps(title)})", label=json.dumps(label)))


def test_names(_):
    """Forms begin with an example that works, and complete names while someone types."""
    page = world.load()  # waits for the examples
    assert "10 items" in send(page, "model-ctr", "Recommendations")
    assert "10 items" in send(page, "model-ctr", "Similar items")
    assert "Probability" in send(page, "model-ctr", "Try a prediction")
    assert page.ask("JSON.parse(input(form('model-rows', 'Try a prediction'), 'Row').value).length") == 8
    assert "not accepted" not in send(page, "model-rows", "Try a prediction")
    for kind, label in (("names", "Name"), ("ids", "Id")):
        assert len(options(page, "index-items", "Nearest neighbours", label)) == 20
        assert "10 neighbours" in send(page, "index-items", "Nearest neighbours", **{"Neighbours of": kind})
    _, answer = world.server.post("/v1/models/ctr:suggest", {"users": "", "k": 20})
    assert [value for value, _ in options(page, "model-ctr", "Recommendations", "User")] == answer["users"]
    page.ask("put(form('model-ctr', 'Similar items'), 'Item', 'onerror')")  # a part of a title that is markup
    page.wait("input(form('model-ctr', 'Similar items'), 'Item').list.options.length === 7")
    assert ["i3", f"{EVIL} 3"] in options(page, "model-ctr", "Similar items", "Item")
    page.ask("put(form('model-ctr', 'Recommendations'), 'User', 'nobody')")
    page.wait("input(form('model-ctr', 'Recommendations'), 'User').list.options.length === 0")
    # an example is replaced by what is typed
    page.ask("put(form('model-ctr', 'Recommendations'), 'User', '')")
    world.load()
    page.ask("input(form('model-ctr', 'Recommendations'), 'User').focus()")
    page.type("u4")
    assert page.ask("input(form('model-ctr', 'Recommendations'), 'User').value") == "u4"
    assert page.ask("window.hits") == 0 and page.complaints() == [], page.complaints()


def test_recommender(folder):
    """The card of a recommender of a log: it ranks, it says how well and why, and it has no predictions."""
    model = train_recommender(folder)
    write_items(f"{folder}/items.csv")
    with furrow_server.Server("--model", f"likes={model}", "--items", f"likes={folder}/items.csv:title") as server:
        page = world.open(server)
        page.wait("!!document.getElementById('model-likes')")
        page.wait("input(form('model-likes', 'Recommendations'), 'User').value !== ''")
        _, doc = server.get("/v1/models/likes")
        chosen = next(c for c in doc["ranking"]["candidates"] if c["chosen"])
        card = page.ask("document.getElementById('model-likes').innerText")
        for text in ("recommender", "ranking", chosen["name"], "NDCG@10", str(float(f"{chosen['ndcg']:.3g}"))):
            assert text in card, (text, card)
        assert "Try a prediction" not in card, card
        assert "4 items for u0" in send(page, "model-likes", "Recommendations", User="u0", **{"How many": 4})
        _, answer = server.post("/v1/models/likes:recommend", {"users": ["u0"], "k": 4, "reasons": 2})
        found = tables(page, "model-likes", "Recommendations")[0]
        for row, item in zip(found, answer["recommendations"][0]["items"]):
            assert row[1:3] == [item["name"], item["item"]], (row, item)
            assert row[-1] == ", ".join(reason["name"] for reason in item["because"]), (row, item)
        picture(page, "recommender")
        assert page.complaints() == [], page.complaints()


def check_neighbors(page, body):
    _, answer = world.server.post("/v1/indexes/items:search", body)
    found = tables(page, "index-items", "Nearest neighbours")[0]
    expected = answer["neighbors"][0]
    assert [row[1:3] for row in found] == [[str(item["id"]), item["name"]] for item in expected], (found, expected)
    for row, item in zip(found, expected):
        same(row[3], item["distance"])


def test_search(_):
    page = world.load()
    name = "form('index-items', 'Nearest neighbours')"
    assert page.ask(f"[input({name}, 'Neighbours of').value, input({name}, 'Name').checkVisibility(), input({name}, 'Id').checkVisibility()]") == \
        ["names", True, False]
    said = send(page, "index-items", "Nearest neighbours", Id=25,
                **{"Neighbours of": "ids", "How many": 7, "Lists to scan (nprobe)": 4})
    assert said.startswith("7 "), said
    check_neighbors(page, {"ids": [25], "k": 7, "nprobe": 4})
    assert tables(page, "index-items", "Nearest neighbours")[0][0][2] == f"{EVIL_TITLE} 25"
    send(page, "index-items", "Nearest neighbours", **{"Neighbours of": "names", "Name": "item 7"})
    check_neighbors(page, {"names": ["item 7"], "k": 7, "nprobe": 4})
    vector = [round(0.1 * i, 1) for i in range(16)]
    send(page, "index-items", "Nearest neighbours", **{"Neighbours of": "vectors", "Vector": ", ".join(map(str, vector))})
    check_neighbors(page, {"vectors": [vector], "k": 7, "nprobe": 4})
    # an id of the answer becomes the next question
    page.ask("form('index-items', 'Nearest neighbours').querySelectorAll('.result button')[1].click()")
    chosen = int(page.ask("input(form('index-items', 'Nearest neighbours'), 'Id').value"))
    page.wait("isDone(form('index-items', 'Nearest neighbours'))")
    check_neighbors(page, {"ids": [chosen], "k": 7, "nprobe": 4})
    assert page.complaints() == [], page.complaints()
    send(page, "index-items", "Nearest neighbours", **{"Neighbours of": "vectors", "Vector": "1 2 3"})
    assert field_problem(page, "index-items", "Nearest neighbours", "Vector")
    send(page, "index-items", "Nearest neighbours", Vector="1 2 x")
    assert "not a number" in field_problem(page, "index-items", "Nearest neighbours", "Vector")
    send(page, "index-items", "Nearest neighbours", **{"Neighbours of": "names", "Name": "nothing"})
    assert field_problem(page, "index-items", "Nearest neighbours", "Name")
    assert page.ask("window.hits") == 0 and page.ask("document.images.length + document.querySelectorAll('b').length") == 0


def test_no_edits(_):
    page = world.load()
    assert page.ask("[...document.querySelectorAll('h4')].filter((h) => /Add|Remove/.test(h.textContent)).length") == 0


def test_edits(folder):
    """Indexes that are writable have forms for it."""
    for name in os.listdir(world.folder):
        if name.startswith("items."):
            shutil.copy(f"{world.folder}/{name}", folder)
    furrow("index", "build", "--base", f"{folder}/items.fvecs", "--out", f"{folder}/plain.index", "--nlist", 4, "--m", 8)
    words = ["--index", f"items={folder}/items.index", "--index", f"plain={folder}/plain.index", "--writable", "items",
             "--writable", "plain", "--threads", 1]
    vector = [round(0.1 * i - 3, 1) for i in range(16)]
    with furrow_server.Server(*words) as server:
        page = world.open(server)
        page.wait("!!document.getElementById('index-plain')")
        said = send(page, "index-items", "Add a vector", Vector=" ".join(map(str, vector)), Name=EVIL)
        assert said == "Added with the id 1500", said
        page.wait("document.querySelector('#index-items .facts').textContent.includes('1 added')")
        _, answer = server.post("/v1/indexes/items:search", {"vectors": [vector], "k": 1})
        assert answer["neighbors"][0][0]["name"] == EVIL, answer
        send(page, "index-items", "Add a vector", Name="")
        assert field_problem(page, "index-items", "Add a vector", "Name")
        said = send(page, "index-items", "Add a vector", Name=EVIL)
        status, problem = server.post("/v1/indexes/items:add", {"vectors": [vector], "names": [EVIL]})
        assert status == 409 and problem["detail"] in said, (said, problem)
        picture(page, "edits")
        assert send(page, "index-items", "Remove a vector", Name=EVIL) == "Removed"
        page.wait("document.querySelector('#index-items .facts').textContent.includes('1,500')")
        assert send(page, "index-items", "Remove a vector", Remove="ids", Id=3) == "Removed"
        assert server.post("/v1/indexes/items:search", {"ids": [3]})[0] == 404
        labels = page.ask("[...form('index-plain', 'Add a vector').querySelectorAll('label')].map((l) => l.firstChild.textContent)")
        assert labels == ["Vector", "Id"], labels
        said = send(page, "index-plain", "Add a vector", Vector=json.dumps(vector), Id="9007199254740993")
        assert said == "Added with the id 9007199254740993", said
        send(page, "index-plain", "Add a vector", Vector="1 2")
        assert field_problem(page, "index-plain", "Add a vector", "Vector")
        assert send(page, "index-plain", "Remove a vector", Id="9007199254740993") == "Removed"
        assert page.ask("window.hits") == 0
        page.close()


def test_many(_):
    """Of more than two models the further ones are closed until they are asked for."""
    model = f"{world.folder}/ctr.model"
    words = [word for name in "abcd" for word in ("--model", f"{name}={model}")]
    with furrow_server.Server(*words, "--threads", 1) as server:
        page = world.open(server)
        page.wait("!!document.getElementById('model-d')")
        state = "[...document.querySelectorAll('.whole')].map((d) => d.open)"
        assert page.ask(state) == [True, True, False, False]
        assert page.ask("document.querySelector('#model-d summary').innerText").split() == ["d", "version", "1"]
        picture(page, "many")
        page.ask("[...document.querySelectorAll('nav a')][3].click()")
        page.wait(f"String({state}) === 'true,true,false,true'")
        page.ask("refresh()")
        page.ask("new Promise((done) => setTimeout(done, 300))")
        assert page.ask(state) == [True, True, False, True]
        page.close()


def test_texts(_):
    """Fields say what the model takes."""
    page = world.load()
    hint = page.ask("form('model-rows', 'Try a prediction').querySelector('.hint').textContent")
    _, doc = world.server.get("/v1/models/rows")
    assert doc["named"] is False and f"an array of {doc['features']} numbers" in hint and "names" not in hint, (hint, doc)


def test_similar_bars(_):
    page = world.load()
    send(page, "model-ctr", "Similar items", Item="i4", **{"How many": 6})
    name = "form('model-ctr', 'Similar items')"
    widths = page.ask(f"[...{name}.querySelectorAll('.result rect')].map((r) => Number(r.getAttribute('width')))")
    assert len(widths) == 6 and widths == sorted(widths, reverse=True) and abs(widths[0] - 100) < 0.01 and 0 < widths[-1] < 6, widths
    assert page.ask(f"{name}.querySelector('thead .gauge').textContent").startswith("from "), "where bars begin"


def test_curve(_):
    page = world.load()
    said = send(page, "index-items", "Recall against speed", Queries=50)
    rows = tables(page, "index-items", "Recall against speed")[0]
    assert [int(row[0].replace(",", "")) for row in rows] == [1, 2, 4, 8, 16] and "5 points" in said, (said, rows)
    recalls = [float(row[1]) for row in rows]
    assert recalls == sorted(recalls) and recalls[0] < recalls[-1] == 1, recalls
    assert all(float(row[2]) > 0 for row in rows), rows
    drawing = page.wait("""(() => { const s = document.querySelector("figure.curve svg"); if (!s) return null;
      const box = s.getBoundingClientRect();
      const outside = [...s.querySelectorAll("text,circle,path")].filter((n) => { const b = n.getBoundingClientRect();
        return b.left < box.left - 1 || b.right > box.right + 1 || b.top < box.top - 1 || b.bottom > box.bottom + 1; }).length;
      return [s.getAttribute("role"), s.querySelector("title").textContent, s.querySelectorAll("circle").length, outside,
        s.querySelector("path.line").getTotalLength() > 100]; })()""")
    assert drawing == ["img", "Recall against speed", 5, 0, True], drawing
    assert page.complaints() == [], page.complaints()


def test_curl(_):
    """The command that is shown does what the form does."""
    if not shutil.which("curl"):
        return
    page = world.load()
    cases = [("model-ctr", "Try a prediction", {"user": "u'3", EVIL: EVIL, "price": "-1e2"}),
             ("model-ctr", "Recommendations", {"User": "u1"}),
             ("index-items", "Nearest neighbours", {"Neighbours of": "names", "Name": f"{EVIL_TITLE} 5"})]
    for card, title, values in cases:
        said = send(page, card, title, **values)
        commands = page.ask(f"[...form({json.dumps(card)}, {json.dumps(title)}).querySelectorAll('[data-curl]')].map((n) => n.textContent)")
        answers = [json.loads(subprocess.run(["bash", "-c", text], capture_output=True, check=True).stdout) for text in commands]
        assert answers and all("status" not in answer for answer in answers), (commands, answers)
        if title == "Try a prediction" and card == "model-ctr":
            same(facts(page, card, title)["probability"], answers[0]["predictions"][0]["probability"])
            assert len(answers[1]["explanations"]) == 1
        elif title == "Recommendations":
            assert len(answers[0]["recommendations"][0]["items"]) == int(said.split()[0])
    page.ask("form('model-ctr', 'Recommendations').querySelector('.curl').open = true")
    page.ask("form('model-ctr', 'Recommendations').querySelector('.command button').click()")
    page.wait("form('model-ctr', 'Recommendations').querySelector('.command [role=status]').textContent !== ''")


# ---- Figures ----


def test_live(_):
    """Figures follow the requests, nothing moves while they do, and a page that is hidden asks nothing."""
    page = world.load()
    page.ask("""window.shifts = 0; new PerformanceObserver((list) => list.getEntries().forEach((e) => { window.shifts += e.value; }))
      .observe({ type: "layout-shift" }); 0""")
    figure = "document.querySelector('#model-ctr .live dd').textContent"
    before = int(page.ask(figure).replace(",", ""))
    for _ in range(10):
        world.server.post("/v1/models/ctr:predict", {"instances": [{"user": "u1", "item": "i1"}]})
    page.wait(f"Number({figure}.replaceAll(',', '')) >= {before + 10}")
    page.wait("document.querySelector('#model-ctr .wide .line').getAttribute('d').includes('L') || "
              "document.querySelector('#model-ctr .wide .now').textContent !== '–'")
    assert page.ask("window.shifts") == 0, page.ask("window.shifts")
    page.ask('Object.defineProperty(document, "hidden", { value: true, configurable: true }); refresh()')
    page.ask("new Promise((done) => setTimeout(done, 300))")
    for _ in range(5):  # what was asked before may be answered late; a page that goes on asking never stops
        asked = page.ask("performance.getEntriesByType('resource').length")
        page.ask("new Promise((done) => setTimeout(done, 2300))")
        if page.ask("performance.getEntriesByType('resource').length") == asked:
            break
    else:
        raise AssertionError("a page that nobody sees goes on asking")
    page.ask("delete document.hidden; refresh()")
    page.wait(f"performance.getEntriesByType('resource').length > {asked}")
    assert page.complaints() == [], page.complaints()


def test_refused_version(_):
    page = world.load()
    page.ask("put(form('model-rows', 'Try a prediction'), 'Row', '0 1:7')")
    os.mkdir(f"{world.folder}/rows/2")
    with open(f"{world.folder}/rows/2/graph.json", "w") as file:
        file.write("{")
    status, _ = world.server.post("/v1/models/rows:reload", {})
    assert status == 409, status
    page.ask("refresh()")
    text = page.wait("document.querySelector('#model-rows .refused').textContent")
    assert "refused" in text and page.ask("document.querySelector('#model-rows .refused').hidden") is False, text
    # what was typed is still there
    assert page.ask("input(form('model-rows', 'Try a prediction'), 'Row').value") == "0 1:7"
    shutil.rmtree(f"{world.folder}/rows/2")


# ---- For everyone ----

CONTRAST = """(() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (c) => { const f = c.slice(0, 3).map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * f[0] + 0.7152 * f[1] + 0.0722 * f[2]; };
  const ground = (node) => { for (; node; node = node.parentElement) { const c = parse(getComputedStyle(node).backgroundColor);
    if (c.length < 4 || c[3] === 1) return c; } return [255, 255, 255]; };
  const bad = []; let checked = 0;
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((n) => n.nodeType === 3 && n.data.trim() !== "") || node.matches("input,textarea,select");
    if (!own || node.matches("script,title,desc,noscript") || !node.checkVisibility()) continue;
    const style = getComputedStyle(node);
    const c = light(parse(node instanceof SVGElement ? style.fill : style.color)), g = light(ground(node));
    const ratio = (Math.max(c, g) + 0.05) / (Math.min(c, g) + 0.05);
    checked++;
    if (ratio < 4.5) bad.push([node.tagName, node.className.baseVal ?? node.className, node.textContent.slice(0, 30), ratio]);
  }
  return [checked, bad];
})()"""

UNNAMED = """(() => {
  const all = [...document.querySelectorAll("input,textarea,select,button,a[href],summary,svg[role=img],nav,article")];
  const name = (n) => (n.labels?.[0] ?? n.querySelector("title") ?? document.getElementById(n.getAttribute("aria-labelledby")))?.textContent
    || n.getAttribute("aria-label") || (n.matches("button,a,summary") ? n.textContent : "");
  const ids = [...document.querySelectorAll("[id]")].map((n) => n.id);
  const refs = [...document.querySelectorAll("[aria-describedby]")].flatMap((n) => n.getAttribute("aria-describedby").split(" "));
  const levels = [...document.querySelectorAll("h1,h2,h3,h4,h5")].filter((n) => n.checkVisibility()).map((n) => Number(n.tagName[1]));
  return { unnamed: all.filter((n) => name(n).trim() === "").map((n) => n.outerHTML), twice: ids.filter((id, i) => ids.indexOf(id) !== i),
    dangling: refs.filter((id) => !document.getElementById(id)), jumps: levels.filter((l, i) => i > 0 && l > levels[i - 1] + 1),
    bare: [...document.querySelectorAll("table")].filter((t) => !t.caption || !t.querySelector("th[scope=col]")).length,
    unnoticed: [...document.querySelectorAll("form:not(#login)")].filter((f) => !f.querySelector("[role=status]")).length };
})()"""


def fill_everything(page):
    send(page, "model-ctr", "Try a prediction", user="u3", item="i4", price=12.5)
    send(page, "model-ctr", "Recommendations", User="u3", **{"How many": 6})
    send(page, "model-ctr", "Similar items", Item="i4", **{"How many": 4})
    send(page, "model-rows", "Try a prediction", Row="0 1:0.5 2:-1")
    send(page, "index-items", "Nearest neighbours", Name="item 7")
    send(page, "index-items", "Recall against speed", Queries=50)
    page.ask("document.querySelectorAll('.curl').forEach((d) => { d.open = true; })")
    page.wait("document.querySelector('figure.curve svg')?.viewBox.baseVal.width > 0")


def test_looks(_):
    page = world.load()
    fill_everything(page)
    send(page, "model-ctr", "Similar items", Item="")
    named = page.ask(UNNAMED)
    assert not any(named.values()), named
    for scheme in ("light", "dark"):
        page.color(scheme)
        page.ask("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        checked, bad = page.ask(CONTRAST)
        assert checked > 150 and bad == [], (scheme, checked, bad)
        picture(page, f"desktop_{scheme}")
    for width in (360, 700):
        page.resize(width, 800)
        page.wait("document.querySelector('figure.curve svg').getBoundingClientRect().right <= " + str(width))
        wide = page.ask("""[document.documentElement.scrollWidth, [...document.querySelectorAll("body *")].filter((n) => n.checkVisibility()
          && n.getBoundingClientRect().right > WIDTH + 1).map((n) => n.outerHTML.slice(0, 200))]""".replace("WIDTH", str(width)))
        assert wide == [width, []], (wide[0], wide[1][:5])
        cut = page.ask("[...document.querySelectorAll('.live dd, .now')].filter((n) => n.scrollWidth > n.clientWidth + 1).map((n) => n.textContent)")
        assert cut == [], (width, cut)
        page.color("light")
        picture(page, "phone" if width == 360 else "tablet")
    page.resize(1200, 900)


def test_keyboard(_):
    """Tab goes through every control, in the order of the page, and each shows the focus."""
    page = world.load()
    expected = page.ask("""[...document.querySelectorAll("a[href],button,input,textarea,select,summary")]
      .filter((n) => n.checkVisibility()).map((n) => n.outerHTML.slice(0, 120))""")
    page.ask("""window.found = []; document.activeElement.blur(); document.addEventListener("focusin", (event) =>
      found.push([event.target.outerHTML.slice(0, 120), getComputedStyle(event.target).outlineStyle])); 0""")
    for _ in expected:
        page.key("Tab")
    found = page.ask("found")
    wrong = [pair for pair in zip(found, expected) if pair[0] != [pair[1], "solid"]]
    assert len(found) == len(expected) > 40 and wrong == [], (len(found), len(expected), wrong[:3])


def test_token(folder):
    with open(f"{folder}/token", "w") as file:
        file.write(f"{TOKEN}\n")
    os.chmod(f"{folder}/token", 0o600)
    words = ["--model", f"ctr={world.folder}/ctr.model", "--token-file", f"{folder}/token", "--threads", 1]
    with furrow_server.Server(*words) as server:
        page = world.open(server)
        page.wait("!document.getElementById('login').hidden && document.activeElement.id === 'token'")
        assert page.ask("document.getElementById('metrics').hidden"), "a link that cannot work"
        assert page.ask("document.querySelectorAll('article').length") == 0
        page.type("wrong")
        page.key("Enter")
        page.wait("document.getElementById('token-problem').textContent.includes('not accept')")
        page.type(TOKEN)
        page.key("Enter")
        page.wait("!!document.getElementById('model-ctr')")
        assert page.ask("document.getElementById('login').hidden && sessionStorage.getItem('token')") == TOKEN
        assert page.ask("localStorage.length + document.cookie.length") == 0
        send(page, "model-ctr", "Recommendations", User="u1")
        command = page.ask("form('model-ctr', 'Recommendations').querySelector('[data-curl]').textContent")
        assert TOKEN not in page.ask("document.documentElement.outerHTML") and "$FURROW_TOKEN" in command, command
        if shutil.which("curl"):
            done = subprocess.run(["bash", "-c", command], capture_output=True, check=True, env={**os.environ, "FURROW_TOKEN": TOKEN})
            assert len(json.loads(done.stdout)["recommendations"]) == 1
        page.ask("document.getElementById('metrics').click()")
        page.wait("document.getElementById('metrics-text').textContent.includes('furrow_requests_total')")
        assert page.ask("location.pathname") == "/" and page.ask("document.getElementById('metrics-text').checkVisibility()")
        assert page.complaints(network=False) == [], page.complaints(network=False)
        page.ask("document.getElementById('forget').click()")
        page.wait("!document.getElementById('login').hidden")
        assert page.ask("document.getElementById('metrics').hidden && document.getElementById('metrics-text').textContent === ''")
        assert page.ask("sessionStorage.length") == 0 and page.ask("document.querySelectorAll('article').length") == 0
        page.close()


def test_server_gone(folder):
    """The page says so when the server goes away."""
    words = ["--model", f"ctr={world.folder}/ctr.model", "--threads", 1]
    with furrow_server.Server(*words) as server:
        page = world.open(server)
        page.wait("document.getElementById('state').textContent === 'ready'")
        server.kill()
        said = send(page, "model-ctr", "Recommendations", User="u1")
        assert "does not answer" in said, said
        page.ask("refresh()")
        page.wait("document.getElementById('state').textContent === 'not reachable'")
        page.close()


if __name__ == "__main__":
    browser.skip_without()
    with tempfile.TemporaryDirectory(prefix="furrow-serve-page-") as scratch, World(scratch) as world:
        run(globals())
