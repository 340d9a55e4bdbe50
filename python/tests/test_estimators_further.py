"""Models of logs that learn more: fit with init_model, and partial_fit."""

from __future__ import annotations

import os
import pathlib
import pickle
import subprocess

import numpy as np
import pytest

import furrow
from furrow import Classifier, Ranker, Regressor

pd = pytest.importorskip("pandas")
COMMAND = os.environ.get("FURROW_COMMAND")


def log(first: int, end: int, n: int = 1500, seed: int = 3):
    """Clicks of the users first … end - 1, who like items by their numbers."""
    rng = np.random.default_rng(seed + first)
    users, items = rng.integers(first, end, n), rng.integers(0, 12, n)
    likes = (users * 7 + items * 5) % 12 / 6 - 1 + (users % 3 - 1)
    click = (likes + rng.normal(size=n) > 0).astype(int)
    return pd.DataFrame({"user": [f"u{u}" for u in users], "item": [f"i{i}" for i in items], "click": click})


def write(path: pathlib.Path, frame) -> str:
    frame.to_csv(path, index=False)
    return str(path)


@pytest.mark.skipif(COMMAND is None, reason="the command was not built")
@pytest.mark.parametrize("name", ["lr", "fm", "gbdt"])
def test_the_command_makes_the_same_model(name, tmp_path):
    old, new = write(tmp_path / "old.csv", log(0, 20)), write(tmp_path / "new.csv", log(15, 30))
    first = Classifier(name, seed=1).fit(old, label="click")
    first.save(tmp_path / "first")
    second = Classifier(name, seed=1).fit(new, init_model=tmp_path / "first")
    second.save(tmp_path / "own")
    subprocess.run(
        [COMMAND, "train", "--model", name, "--seed", "1", "--train", new, "--load", tmp_path / "first"]
        + ["--out", tmp_path / "its"],
        check=True,
        capture_output=True,
    )
    own, its = furrow.load_model(tmp_path / "own"), furrow.load_model(tmp_path / "its")
    assert own.to_bytes() == its.to_bytes()
    assert "10 user" in second.notes_[0] and "10 user" not in second.notes_[1:]
    assert first.model_._encoder().n_features + 10 == its._encoder().n_features


@pytest.mark.parametrize("names", [["no", "yes"], [0, 1], [False, True]])
def test_names_are_added_and_learned(names):
    old, new = log(0, 20), log(20, 40)
    classes = np.array(names)
    columns = ["user", "item"]
    model = Classifier("lr").fit(old[columns], classes[old["click"]])
    before = model.model_
    score, alone = model.score(old[columns], classes[old["click"]]), before.evaluate(new[columns], classes[new["click"]])
    again = pickle.loads(pickle.dumps(model))
    assert model.partial_fit(new[columns], classes[new["click"]]) is model
    assert list(model.classes_) == names and model.classes_.dtype == classes.dtype
    assert "20 user" in model.notes_[0]
    assert model.model_.evaluate(new[columns], classes[new["click"]])["auc"] > alone["auc"] + 0.05
    assert model.score(old[columns], classes[old["click"]]) > score - 0.03
    assert np.array_equal(
        again.fit(new[columns], classes[new["click"]], init_model=before).decision_function(new), model.decision_function(new)
    )
    with pytest.raises(ValueError, match="maybe"):
        model.partial_fit(new[columns], np.where(new["click"] > 0, "yes", "maybe"))
    with pytest.raises(ValueError, match="classes are"):
        model.partial_fit(new[columns], classes[new["click"]], classes=["a", "b"])
    assert "20 user" in model.notes_[0]


def test_limits_validation_and_columns_that_are_not_used():
    old, new = log(0, 20), log(20, 40)
    model = Classifier("fm", epochs=3, seed=2).fit(old, label="click")
    features = model.model_._encoder().n_features
    with pytest.warns(UserWarning, match="not used: device") as found:
        more = Classifier("fm", epochs=3, max_features=features + 5).fit(
            new.assign(device="a"), init_model=model, label="click", eval_set=(old[["user", "item"]], old["click"])
        )
    assert any("left out 15 names" in str(warning.message) for warning in found)
    assert more.model_._encoder().n_features == features + 5
    assert more.history_[-1]["valid_rows"] == len(old)
    with pytest.raises(furrow.Error, match="item"):
        model.partial_fit(new[["user"]], new["click"])


def test_numbers_and_order_go_on_too(tmp_path):
    old, new = log(0, 20), log(20, 40)
    first = Regressor("linear").fit(old[["user", "item"]], old["click"] * 10.0)
    more = Regressor("linear").fit(new[["user", "item"]], new["click"] * 10.0, init_model=first)
    assert more.score(new[["user", "item"]], new["click"] * 10.0) > first.score(new[["user", "item"]], new["click"] * 10) + 0.05
    assert "20 user" in first.partial_fit(new[["user", "item"]], new["click"] * 10.0).notes_[0]
    taken = old[old["click"] == 1][["user", "item"]]
    ranker = Ranker("fm", schema="auto", epochs=2).fit(taken)
    further = Ranker("fm", epochs=2).fit(write(tmp_path / "new.csv", new[["user", "item"]]), init_model=ranker)
    assert "20 user" in further.notes_[0]
    with pytest.raises(ValueError, match="user: the schema of init_model"):
        Ranker("fm").fit(taken, user="user", init_model=ranker)


def test_weights_of_rows():
    old, new = log(0, 20), log(20, 40)
    X, y, weight = new[["user", "item"]], new["click"], 1.0 + (np.arange(len(new)) % 3)
    first = Classifier("lr").fit(old[["user", "item"]], old["click"], np.ones(len(old)))
    weighted = Classifier("lr").fit(X, y, weight, init_model=first)
    plain = Classifier("lr").fit(X, y, init_model=first)
    ones = Classifier("lr").fit(X, y, np.ones(len(new)), init_model=first)
    assert np.array_equal(plain.decision_function(X), ones.decision_function(X))
    assert not np.array_equal(plain.decision_function(X), weighted.decision_function(X))
    with pytest.raises(TypeError, match="column of the weight"):
        Classifier("lr").fit(X, y, weight, init_model=Classifier("lr").fit(old, label="click"))
    with pytest.raises(ValueError, match="no column 'label', which has the labels"):
        first.partial_fit(new)
    with pytest.raises(ValueError, match="sample_weight"):
        first.partial_fit(X, y, sample_weight=weight[1:])


def test_what_cannot_go_on_is_refused(tmp_path):
    old = log(0, 20)
    model = Classifier("lr").fit(old, label="click")
    with pytest.raises(ValueError, match=r"a model of Classifier\('lr'\), not of Classifier\('fm'\)"):
        Classifier("fm").fit(old, init_model=model)
    with pytest.raises(ValueError, match=r"not of Regressor"):
        Regressor("linear").fit(old, init_model=model)
    with pytest.raises(ValueError, match="the label 'label', not 'item'"):
        Classifier("lr").fit(write(tmp_path / "a.csv", old), label="item", init_model=model)
    with pytest.raises(TypeError, match="an estimator or a path"):
        Classifier("lr").fit(old, init_model=3)
    with pytest.raises(ValueError, match="a model of a log is needed"):
        Classifier("lr").fit(old, init_model=Classifier("lr").fit([[0], [1]] * 5, [0, 1] * 5))
    with pytest.raises(TypeError, match="a frame, a dict of columns or a path, not ndarray"):
        model.partial_fit(np.zeros((4, 2)), [0, 1, 0, 1])
