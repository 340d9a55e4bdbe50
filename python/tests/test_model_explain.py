"""What models say of their features: contributions, weights, trees, vectors."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest

import furrow
from furrow.model import Contributions, load_model
import model_makers as make


@pytest.mark.parametrize("algorithm, kind", [("lr", "two"), ("fm", "two"), ("gbdt", "two"), ("gbdt", "numbers")])
def test_contributions_add_up(algorithm: str, kind: str) -> None:
    model = load_model(make.model(algorithm, "libsvm", kind))
    X = make.table()[0][:300]
    parts = model.explain(X)
    sums = np.add.reduceat(np.r_[parts.values, 0], np.minimum(parts.indptr[:-1], len(parts.values)))
    sums[np.diff(parts.indptr) == 0] = 0
    np.testing.assert_allclose(parts.bias + sums, model.decision_function(X), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(parts.outputs, model.decision_function(X), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(parts.bias + parts.to_numpy().sum(axis=1), parts.outputs, rtol=1e-4, atol=1e-5)
    assert len(parts) == 300 and parts.to_numpy(9).shape == (300, 9)
    np.testing.assert_array_equal(model.explain(X, threads=3).values, model.explain(X, threads=1).values)
    with pytest.raises(ValueError, match="contributes"):
        parts.to_numpy(2)


def test_contributions_of_several_classes() -> None:
    model = load_model(make.model("softmax", "libsvm", "classes"))
    X = make.table()[0][:20]
    parts = model.explain(X)
    dense = parts.to_numpy()
    assert dense.shape == (20, 6, 4)
    np.testing.assert_allclose(dense.sum(axis=1) + parts.bias, parts.outputs, rtol=1e-5, atol=1e-6)


def expected_output(nodes: dict[int, dict[str, Any]], at: int, row: np.ndarray, known: frozenset[int]) -> float:
    """Of a tree for a row of which some features are known: the others follow both ways by cover."""
    node = nodes[at]
    if "feature" not in node or node["feature"] is None or node["feature"] < 0:
        return float(node["predict"])
    yes, no = node["yes"], node["no"]
    if node["feature"] in known:
        return expected_output(nodes, yes if row[node["feature"]] <= node["value"] else no, row, known)
    parts = [(nodes[child]["cover"], expected_output(nodes, child, row, known)) for child in (yes, no)]
    return sum(cover * value for cover, value in parts) / sum(cover for cover, _ in parts)


def test_shapley_values_of_trees() -> None:
    """TreeSHAP against the definition: the mean over all orders of the features."""
    model = load_model(make.model("gbdt", "libsvm", "two", "--trees", "3", "-D", "from-average=no"))
    X = make.table()[0][:5].astype(np.float64)
    trees = [
        {node["node"]: node for node in tree["nodes"]} for tree in json.loads(model.trees(format="json"))["trees"]
    ]
    rate = float(model.settings["lr"])
    shares = model.explain(X).to_numpy(6)
    for i, row in enumerate(X):
        outputs = {
            known: rate * sum(expected_output(tree, 0, row, frozenset(known)) for tree in trees)
            for size in range(7)
            for known in itertools.combinations(range(6), size)
        }
        for feature in range(6):
            others = [f for f in range(6) if f != feature]
            value = 0.0
            for size in range(6):
                weight = math.factorial(size) * math.factorial(5 - size) / math.factorial(6)
                for known in itertools.combinations(others, size):
                    value += weight * (outputs[tuple(sorted((*known, feature)))] - outputs[known])
            assert shares[i, feature] == pytest.approx(value, rel=1e-4, abs=1e-6)


def sums_of(model: furrow.Model, parts: Contributions, row: int) -> dict[str, Any]:
    """Contributions of a row by column, added one after the other."""
    sums: dict[str, Any] = {}
    for at in range(parts.indptr[row], parts.indptr[row + 1]):
        column = model.feature_name(int(parts.features[at])).split("=")[0]
        sums[column] = sums.get(column, 0.0) + parts.values[at]
    return sums


LOG = {
    "shop": [f"s{i * i % 5}" for i in range(120)],
    "tags": [f"t{i % 3}" if i % 4 else "" for i in range(120)],
    "price": [float(i % 11) for i in range(120)],
}
SOLD = [("yes", "no", "later")[(i * i % 5 + i % 3) % 3] for i in range(120)]


@pytest.mark.parametrize("algorithm", ["lr", "gbdt", "fm"])
def test_contributions_by_column(algorithm: str) -> None:
    model = furrow.Classifier(algorithm, schema="auto").fit(LOG, [text == "yes" for text in SOLD]).model_
    parts = model.explain(LOG)
    columns = parts.by_column(as_frame=False)
    assert list(columns) == ["shop", "tags", "price"]
    for row in range(len(parts)):
        sums = sums_of(model, parts, row)
        assert all(values[row] == sums.get(name, 0.0) for name, values in columns.items())
    np.testing.assert_allclose(parts.bias + sum(columns.values()), parts.outputs, rtol=1e-4, atol=1e-5)
    pandas = pytest.importorskip("pandas")
    pandas.testing.assert_frame_equal(parts.by_column(), pandas.DataFrame(columns))


@pytest.mark.parametrize("algorithm", ["softmax", "gbdt"])
def test_contributions_by_column_of_several_classes(algorithm: str) -> None:
    model = furrow.Classifier(algorithm, schema="auto").fit(LOG, SOLD).model_
    parts = model.explain(LOG)
    columns = parts.by_column(as_frame=False)
    assert columns["shop"].shape == (120, 3)
    for row in range(len(parts)):
        sums = sums_of(model, parts, row)
        assert all((values[row] == sums.get(name, 0.0)).all() for name, values in columns.items())
    pytest.importorskip("pandas")
    frame = parts.by_column()
    for i, name in enumerate(model.classes):
        np.testing.assert_array_equal(frame[name]["price"], columns["price"][:, i])
        np.testing.assert_allclose(frame[name].sum(axis=1) + parts.bias[:, i], parts.outputs[:, i], rtol=1e-4, atol=1e-4)


def test_columns_need_names() -> None:
    X = make.table()[0][:100]
    parts = furrow.Classifier("lr").fit(X, X[:, 0] > 0).model_.explain(X)
    with pytest.raises(TypeError, match="named columns"):
        parts.by_column()
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    parts = furrow.Classifier("lr").fit(frame, X[:, 0] > 0).model_.explain(frame)
    np.testing.assert_array_equal(parts.by_column().to_numpy(), parts.to_numpy(6))


def test_importances_of_columns() -> None:
    model = furrow.Classifier("gbdt", schema="auto").fit(LOG, SOLD).model_
    shares = model.column_importances()
    gains: dict[str, float] = {}
    for one in model.importances():
        column = one.name.split("=")[0]
        gains[column] = gains.get(column, 0.0) + one.gain
    assert shares == {name: gains[name] / sum(gains.values()) for name in shares} and set(shares) == set(gains)
    assert list(shares.values()) == sorted(shares.values(), reverse=True)
    assert model.column_importances(1) == dict([next(iter(shares.items()))])
    X = make.table()[0][:100]
    by_number = furrow.Classifier("gbdt", trees=3).fit(X, X[:, 2] > 0).model_.column_importances()
    assert next(iter(by_number)) == "2"


def test_names_in_explanations() -> None:
    X = make.table()[0][:2]
    named = load_model(make.model("lr", "csv")).explain(X).to_dicts(top=3)
    assert len(named) == 2 and all(set(row) <= set("abcdef") and len(row) == 3 for row in named)
    sizes = [abs(value) for value in named[0].values()]
    assert sizes == sorted(sizes, reverse=True)
    log = load_model(make.model("fm", "log")).explain([{"userId": "u1", "itemId": "i2", "age": 30}])
    assert {"userId=u1", "itemId=i2"} <= set(log.to_dicts()[0])
    assert "0" in load_model(make.model("lr")).explain(X).to_dicts()[0]


def test_weights() -> None:
    model = load_model(make.model("lr"))
    X = make.table()[0].astype(np.float64)
    features, values, bias = model.weights
    assert list(features) == list(range(6)) and values.shape == (6,) and bias.shape == (1,)
    np.testing.assert_allclose(X @ values + bias, model.decision_function(X), rtol=1e-4, atol=1e-5)
    several = load_model(make.model("softmax", "libsvm", "classes"))
    assert several.weights.values.shape == (6, 4)
    np.testing.assert_allclose(
        X @ several.weights.values + several.weights.bias, several.decision_function(X), rtol=1e-4, atol=1e-4
    )
    with pytest.raises(furrow.UnsupportedError):
        load_model(make.model("gbdt")).weights


def test_trees() -> None:
    model = load_model(make.model("gbdt"))
    count = model._scorer.forest()["trees"]
    assert model.trees(0, 1).startswith("tree 0:") and "digraph" in model.trees(0, 2, format="dot")
    assert len(json.loads(model.trees(format="json"))["trees"]) == count
    assert model.trees(1, format="svg").startswith("<svg")
    ranked = model.importances()
    assert [one.gain for one in ranked] == sorted((one.gain for one in ranked), reverse=True)
    assert ranked[0].name == str(ranked[0].feature) and len(model.importances(2)) == 2
    assert load_model(make.model("gbdt", "csv")).importances(1)[0].name in "abcdef"
    shares = model.feature_importances(8)
    assert shares.shape == (8,) and shares.sum() == pytest.approx(1) and shares.argmax() == ranked[0].feature
    assert shares[0] / shares[1] == pytest.approx(
        next(one.gain for one in ranked if one.feature == 0) / next(one.gain for one in ranked if one.feature == 1)
    )
    with pytest.raises(ValueError, match="has splits"):
        model.feature_importances(2)
    for first, end in ((0, count + 1), (-1, 2), (3, 2)):
        with pytest.raises(IndexError):
            model.trees(first, end)
    with pytest.raises(ValueError, match="format is"):
        model.trees(format="png")
    with pytest.raises(furrow.StateError):
        load_model(make.model("lr")).trees()
    with pytest.raises(furrow.StateError):
        load_model(make.model("lr")).feature_importances()


def test_descriptions() -> None:
    model = load_model(make.model("fm"))
    assert "LogLoss" in model.describe() and json.loads(model.describe("json"))["loss"] == "LogLoss"
    assert "digraph" in model.describe("dot") and model.describe("svg").startswith("<svg")
    assert json.loads(model.describe("angel"))["layers"]
    with pytest.raises(ValueError, match="format is"):
        model.describe("png")
    assert repr(model) == "<furrow.Model fm: 2 classes, trained on sparse features>"


def test_what_cannot_be_explained() -> None:
    with pytest.raises(furrow.UnsupportedError):
        load_model(make.model("dnn")).explain(make.table()[0][:2])


# ---- vectors


def test_vectors_of_a_log() -> None:
    model = load_model(make.model("fm", "pairs"))
    items, vectors = model.item_vectors()
    users, queries = model.user_vectors()
    assert len(items) == 20 and len(users) == 30 and vectors.dtype == np.float32
    assert all(name[0] == "i" for name in items) and all(name[0] == "u" for name in users)  # not "(unknown)"
    assert vectors.shape[1] == queries.shape[1] == len(model.matrices["embedding_embedding"].rows) + 1
    for u in (0, 7):
        events = [{"userId": users[u], "itemId": item} for item in items]
        outputs = model.scores(events)[0]
        products = vectors @ queries[u]
        np.testing.assert_allclose(products - products[0], outputs - outputs[0], rtol=1e-3, atol=1e-4)


def test_vectors_of_features() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    model = load_model(make.model("fm"))
    ids, vectors = model.item_vectors(2, 6)
    users, queries = model.user_vectors(0, 2)
    assert list(ids) == [2, 3, 4, 5] and list(users) == [0, 1]
    pairs = sparse.csr_matrix((np.ones(8), [0, 2, 0, 3, 0, 4, 0, 5], [0, 2, 4, 6, 8]), shape=(4, 6))
    outputs, products = model.scores(pairs)[0], vectors @ queries[0]
    np.testing.assert_allclose(products - products[0], outputs - outputs[0], rtol=1e-3, atol=1e-4)
    with pytest.raises(TypeError, match="range"):
        model.item_vectors()
    with pytest.raises(ValueError, match="range"):
        model.item_vectors(3, 2)
    with pytest.raises(ValueError, match="range"):
        model.item_vectors(1 << 64, (1 << 64) + 3)
    with pytest.raises(furrow.UnsupportedError):
        load_model(make.model("lr")).item_vectors(0, 3)


def test_contributions_have_a_text() -> None:
    parts = load_model(make.model("lr")).explain(make.table()[0][:2])
    assert isinstance(parts, Contributions) and repr(parts) == "<furrow.Contributions of 2 rows>"
