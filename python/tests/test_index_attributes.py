"""Attributes of the vectors of an index, and searches that they restrict."""

import pickle
import random
import re
import threading
import warnings

import numpy as np
import pytest

import furrow
from furrow.index import Index

pytestmark = pytest.mark.filterwarnings("error")
LANGS = ["de", "fr", "it", 'a "b" \\', "ß"]
TAGS = ["new", "hot", "x y", "Comedy"]
DAYS = np.array(["2024-01-31", "2024-05-01T12:30", "2023-12-31T23:59:59.5", "NaT"], dtype="datetime64[ms]")


def make_vectors(n, d=8, seed=1):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(np.float32)


def make_columns(n, seed=2):
    """Columns of all types, with missing values."""
    r = random.Random(seed)
    return {
        "price": [r.choice([None, 1, 2.5, 5, 10, -3, 1e9]) for _ in range(n)],
        "sold": [r.random() < 0.3 for _ in range(n)],
        "lang": [r.choice([*LANGS, None]) for _ in range(n)],
        "tags": [sorted(r.sample(TAGS, r.randint(0, 3))) for _ in range(n)],
        "added": np.array([r.choice(list(DAYS)) for _ in range(n)], dtype=DAYS.dtype),
    }


def same_columns(a, b):
    assert list(a) == list(b)
    for name in a:
        assert a[name].dtype == b[name].dtype and a[name].shape == b[name].shape
        if a[name].dtype == object:
            assert a[name].tolist() == b[name].tolist(), name
        else:
            np.testing.assert_array_equal(a[name], b[name])


def nearest(x, ids, queries, k, keep):
    """The k nearest of the vectors that a mask keeps, by ascending id where distances are equal; -1: no more."""
    found = np.full((len(queries), k), -1)
    rows = np.flatnonzero(keep)
    for i, query in enumerate(queries):
        order = rows[np.lexsort((ids[rows], ((x[rows].astype(np.float64) - query) ** 2).sum(axis=1)))][:k]
        found[i, : len(order)] = ids[order]
    return found


# ---- The language, against plain Python


class Oracle:
    """Random expressions with what they mean for a row, by Python's own operators."""

    def __init__(self, seed):
        self.r = random.Random(seed)

    def quoted(self, text):
        quote = self.r.choice("\"'")
        return quote + text.replace("\\", "\\\\").replace(quote, "\\" + quote) + quote

    def compare(self, column, values, write):
        sign = self.r.choice(["=", "==", "!=", "<>", "<", "<=", ">", ">="])
        value = self.r.choice(values)

        def test(row):
            have = row[column]
            if have is None:
                return sign in ("!=", "<>")
            if isinstance(have, str):
                have, want = have.encode(), value.encode()
            else:
                want = value
            return {"=": have == want, "==": have == want, "!=": have != want, "<>": have != want,
                    "<": have < want, "<=": have <= want, ">": have > want, ">=": have >= want}[sign]

        return f"{column}{self.r.choice(['', ' '])}{sign} {write(value)}", test

    def among(self, column, values, write):
        some = self.r.sample(values, self.r.randint(1, len(values)))
        negated = self.r.random() < 0.4

        def test(row):
            have = row[column]
            inside = any(v in have for v in some) if isinstance(have, tuple) else have is not None and have in some
            return inside != negated

        return f"{column} {'NOT IN' if negated else 'in'} ({', '.join(map(write, some))})", test

    def one_of_set(self):
        value, negated = self.r.choice([*TAGS, "none"]), self.r.random() < 0.3
        return f"tags {'!=' if negated else '='} {self.quoted(value)}", lambda row: (value in row["tags"]) != negated

    def missing(self):
        column, negated = self.r.choice(["price", "lang", "tags", "added"]), self.r.random() < 0.4
        return (f"{column} is {'not ' if negated else ''}missing",
                lambda row: (row[column] in (None, ())) != negated)

    def condition(self):
        def number(value):
            return repr(value)

        times = {"2024-01-31": 1706659200.0, "2024-05-01 12:30": 1714566600.0, "2024-02-01": 1706745600.0}
        seconds = {v: k for k, v in times.items()}

        def time(value):
            return self.r.choice([repr(value), self.quoted(seconds[value])])

        numbers, langs = [1, 2.5, 5, 0, -3, 1e9], [*LANGS, "zz", ""]
        kind = self.r.randrange(9)
        if kind == 0:
            return self.compare("price", numbers, number)
        if kind == 1:
            return self.compare("lang", langs, self.quoted)
        if kind == 2:
            return self.compare("added", list(seconds), time)
        if kind == 3:
            return self.among("price", numbers, number)
        if kind == 4:
            return self.among("lang", langs, self.quoted)
        if kind == 5:
            return self.among("tags", TAGS, self.quoted)
        if kind == 6:
            return self.one_of_set()
        if kind == 7:
            return self.missing()
        word = self.r.choice(["sold", "true", "FALSE", "`sold`"])
        return word, lambda row: row["sold"] == 1 if "sold" in word else word == "true"

    def expression(self, depth):
        """(text, test, strength): 3: a condition or parentheses, 2: not, 1: and, 0: or."""
        kind = self.r.randrange(4) if depth else 3
        if kind == 3:
            text, test = self.condition()
            return text, test, 3
        if kind == 2:
            text, test, strength = self.expression(depth - 1)
            text = text if strength >= 2 else f"({text})"
            return f"not {text}", lambda row: not test(row), 2
        word, all_of = ("and", all) if kind else ("or", any)
        parts = [self.expression(depth - 1) for _ in range(self.r.randint(2, 3))]
        texts = [t if s > kind else f"({t})" for t, _, s in parts]
        tests = [test for _, test, _ in parts]
        return f" {word} ".join(texts), lambda row: all_of(test(row) for test in tests), kind


def as_row(columns, i):
    row = {name: values[i] for name, values in columns.items()}
    row["sold"], row["tags"] = float(row["sold"]), tuple(row["tags"])
    time = columns["added"][i]
    row["added"] = None if np.isnat(time) else float(time.astype("datetime64[ms]").astype(np.int64)) / 1000
    return row


def test_language_against_python():
    n = 60
    columns, oracle = make_columns(n), Oracle(5)
    index = Index.build(make_vectors(n), attributes=columns)
    rows = [as_row(columns, i) for i in range(n)]
    counts = set()
    for _ in range(1500):
        text, test, _ = oracle.expression(oracle.r.randrange(4))
        expected = [i for i, row in enumerate(rows) if test(row)]
        assert index.select(text).tolist() == expected, text
        counts.add(len(expected))
    assert len(counts) > 40  # not only all and none


def test_search_is_exact_among_matches():
    x, columns = make_vectors(400), make_columns(400)
    index, oracle = Index.build(x, attributes=columns), Oracle(6)
    rows = [as_row(columns, i) for i in range(400)]
    for _ in range(40):
        text, test, _ = oracle.expression(2)
        keep = np.array([bool(test(row)) for row in rows])
        ids = index.search(x[:3], 7, where=text)[1]
        assert (ids == nearest(x, np.arange(400), x[:3], 7, keep)).all(), text
        both = index.search(x[:3], 7, where=text, exclude=range(200))[1]
        assert (both == nearest(x, np.arange(400), x[:3], 7, keep & (np.arange(400) >= 200))).all(), text


@pytest.mark.parametrize("factory", ["IVF16,Flat", "IVF16,SQ8,RFlat", "HNSW16,Flat", "IVF16,PQ4x8,RFlat", "IDMap,Flat"])
def test_recall_of_filters(factory):
    x, n = make_vectors(3000, seed=4), 3000
    rare = np.arange(n) % 300 == 0
    near = x[:, 0] > 1.5  # correlates with the query
    index = Index.build(x, factory=factory, attributes={"rare": rare, "near": near, "half": np.arange(n) % 2})
    queries = x[np.argsort(-x[:, 0])[:20]] + 0.05
    for where, keep in [("rare", rare), ("near", near), ("not near", ~near), ("half = 1", np.arange(n) % 2 == 1)]:
        found = index.search(queries, 10, where=where, recall=0.9)[1]
        assert (found >= 0).all() and keep[found].all()
        truth = nearest(x, np.arange(n), queries, 10, keep)
        assert np.mean([np.isin(f, t).mean() for f, t in zip(found, truth)]) >= 0.9 * 0.95, where
    few = index.search(queries, 20, where="rare and half = 0")[1]
    assert ((few >= 0).sum(axis=1) == np.sum(rare & (np.arange(n) % 2 == 0))).all()


def test_range_search():
    x, n = make_vectors(300), 300
    index = Index.build(x, factory="IVF4,Flat", attributes={"rare": np.arange(n) % 50 == 0})
    lims, _, ids = index.range_search(x[:2], 1e9, nprobe=4, where="rare", exclude=[50])
    assert lims.tolist() == [0, 5, 10] and ids[:5].tolist() == [0, 100, 150, 200, 250]


# ---- Values


def test_values_come_back():
    columns = make_columns(50)
    index = Index.build(make_vectors(50), attributes=columns)
    assert index.attribute_types == {"price": "number", "sold": "number", "lang": "text", "tags": "set", "added": "time"}
    made = index.attributes
    np.testing.assert_array_equal(made["price"], np.array(columns["price"], dtype=float))
    assert made["lang"].tolist() == columns["lang"]
    assert [set(t or ()) for t in made["tags"]] == [set(t) for t in columns["tags"]]
    assert (made["added"][~np.isnat(made["added"])] == columns["added"][~np.isnat(columns["added"])]).all()
    some = index.attributes_of([[3, 999], [0, 1]])
    assert some["price"].shape == (2, 2) and np.isnan(some["price"][0, 1]) and some["lang"][0, 1] is None
    assert some["lang"][1, 0] == columns["lang"][0]


def test_texts_stay_texts():
    index = Index.build(make_vectors(3), attributes={"sku": ["007", "1", None], "title": ["a|b", "b|a", "a|b"]})
    assert index.attribute_types == {"sku": "text", "title": "text"}
    assert index.select("sku = '007' and title = 'a|b'").tolist() == [0]
    typed = Index.build(make_vectors(3), attributes={"t": ["a|b", "b", ""]}, attribute_types={"t": "set"})
    assert typed.select("t = 'b'").tolist() == [0, 1]


def test_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({
        "lang": pandas.Categorical(["de", "fr", None]),
        "price": pandas.array([1, None, 3], dtype="Int64"),
        "day": pandas.to_datetime(["2024-01-01", "2024-02-01", None]),
        "tags": [["a"], None, ["a", "b"]],
    })
    index = Index.build(make_vectors(3), attributes=frame)
    assert index.attribute_types == {"lang": "text", "price": "number", "day": "time", "tags": "set"}
    assert index.select("day < '2024-01-15' or tags = 'b'").tolist() == [0, 2]
    pandas.DataFrame(index.attributes, index=np.unique(index.ids))
    shuffled = pandas.DataFrame({"id": [2, 0, 1], "price": [20, 0, 10]})
    with pytest.raises(ValueError, match="column id does not have the ids .* attribute_key="):
        Index.build(make_vectors(3), attributes=shuffled)
    index = Index.build(make_vectors(3), attributes=shuffled, attribute_key="id")
    assert index.attributes["price"].tolist() == [0, 10, 20]
    assert Index.build(make_vectors(3), attributes=shuffled.sort_values("id")).attribute_types == {"price": "number"}


def test_files(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text("name,price,lang\nc,3,fr\na,1,de\nunknown,9,de\n")
    with pytest.warns(UserWarning, match="1 vector has no row of attributes"):
        index = Index.build(make_vectors(3), names=["a", "b", "c"], attributes=path)
    assert index.names_of(index.select("price is not missing")).tolist() == ["a", "c"]
    with pytest.raises(ValueError, match="no column that tells"):
        Index.build(make_vectors(3), attributes=path)
    with pytest.raises(ValueError, match="no column of this name"):
        Index.build(make_vectors(3), names=["a", "b", "c"], attributes=path, attribute_types={"size": "number"})
    path.write_text("id,price\n1,x\n")
    with pytest.raises(ValueError):
        Index.build(make_vectors(3), attributes=path, attribute_types={"price": "number"})


# ---- Changes


def test_changes_keep_attributes(tmp_path):
    x, columns = make_vectors(40), make_columns(40)
    index = Index.build(x, ids=np.arange(40) * 10, attributes=columns, factory="IVF2,Flat")
    assert index.remove_ids([0, 10]) == 2
    index.add(x[:2])  # no values
    index.add(x[:1], attributes={"price": [77], "fresh": ["yes"]})
    index.add_with_ids(x[:2], [5, 7], attributes={"id": ["5", "7"], "price": [1.5, 2.5]})
    assert len(index.attributes["price"]) == 43 == len(np.unique(index.ids))
    assert index.select("fresh = 'yes'").tolist() == [393] and index.select("price = 77").tolist() == [393]
    assert index.attributes_of([5, 391])["price"].tolist()[0] == 1.5
    assert index.attributes_of(391)["lang"].item() is None
    assert index.search(x[:1], 1, where="price = 77")[1] == [[393]]

    path = tmp_path / "items.index"
    index.save(path)
    again = Index.load(path)
    same_columns(again.attributes, index.attributes)
    same_columns(pickle.loads(pickle.dumps(index)).attributes, index.attributes)
    assert Index.load(path, attributes=False).attributes is None
    assert Index.verify(path) == []
    with pytest.raises(FileExistsError):
        index.save(path)
    again.remove_ids(again.select("price is missing or lang = 'de'"))
    again.save(path, overwrite=True)
    same_columns(Index.load(path).attributes, again.attributes)
    again.set_attributes(None)
    again.save(path, overwrite=True)
    assert Index.load(path).attributes is None and not (tmp_path / "items.index.attributes").exists()


def test_merge_keeps_attributes():
    x = make_vectors(6)
    first = Index.build(x[:3], factory="IDMap,Flat", ids=[0, 1, 2], attributes={"a": [1, 2, 3]})
    second = Index.build(x[3:], factory="IDMap,Flat", ids=[0, 1, 2], attributes={"b": ["x", "y", "z"]})
    plain = Index.build(x[3:], factory="IDMap,Flat", ids=[7, 8, 9])
    first.merge(second, 3)
    first.merge(plain)
    assert first.select("a = 2 or b = 'y'").tolist() == [1, 4]
    assert first.select("a is missing and b is missing").tolist() == [7, 8, 9]
    plain.merge(first, 100)
    assert plain.select("a = 2 or b = 'y'").tolist() == [101, 104]
    other = Index.build(x[3:], factory="IDMap,Flat", ids=[50, 51, 52], attributes={"a": ["x", "y", "z"]})
    with pytest.raises(ValueError, match="type"):
        first.merge(other)
    assert len(first) == 9 and first.select("a = 2").tolist() == [1]


def test_a_mistake_adds_nothing():
    x = make_vectors(5)
    index = Index.build(x, attributes={"price": [1, 2, 3, 4, 5]})
    for wrong in ({"price": ["a", "b"]}, {"price": [1, 2, 3]}, {"id": [9, 8], "price": [1, 2]}, {}, {"price": [1, np.inf]}):
        with pytest.raises((ValueError, TypeError)):
            index.add(x[:2], attributes=wrong)
        assert len(index) == 5 and len(index.attributes["price"]) == 5
    with pytest.raises(ValueError, match="attribute_key and attribute_types need attributes"):
        index.add(x[:2], attribute_key="id")


def test_errors_show_the_place():
    index = Index.build(make_vectors(3), attributes={"price": [1, 2, 3], "lang": ["ä", "b", "c"]})
    for where, column, token in [("lang = 'ä' and prize < 3", 17, "prize"), ("price < 'x'", 9, "'x'"), ("price <", 8, None)]:
        with pytest.raises(furrow.ArgumentError) as caught:
            index.search(make_vectors(1), 1, where=where)
        assert caught.value.column == column and caught.value.token == token, str(caught.value)
        assert re.match(rf"where:1:{column}: ", str(caught.value))
        note = caught.value.__notes__[0].split("\n")
        assert note[0] == where and note[1].index("^") == len(where.encode()[: column - 1].decode())
    with pytest.raises(furrow.StateError, match="no attributes"):
        Index.build(make_vectors(3)).search(make_vectors(1), 1, where="price < 3")
    for recall in (0, 1.5, float("nan")):
        with pytest.raises(ValueError, match="recall"):
            index.search(make_vectors(1), 1, where="true", recall=recall)
    with pytest.raises(ValueError, match="recall"):
        index.search(make_vectors(1), 1, recall=0.9)
    with pytest.raises(TypeError, match="where"):
        index.search(make_vectors(1), 1, where=3)


def test_threads_see_whole_states():
    """Vectors and attributes change together: every result satisfies its filter."""
    x = make_vectors(300)
    index = Index.build(x, factory="IDMap,Flat", ids=np.arange(300), attributes={"odd": np.arange(300) % 2})
    stop, wrong = threading.Event(), []

    def search():
        while not stop.is_set():
            found = index.search(x[:8], 5, where="odd = 1")[1]
            if (found % 2 != 1).any():
                wrong.append(found)

    threads = [threading.Thread(target=search) for _ in range(2)]
    for thread in threads:
        thread.start()
    for i in range(25):
        ids = np.arange(300 + 4 * i, 304 + 4 * i)
        index.add_with_ids(x[:4], ids, attributes={"odd": ids % 2})
        index.remove_ids(ids[:2] if i % 2 else [i])
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong
    with warnings.catch_warnings():
        assert len(index.attributes["odd"]) == len(index)
