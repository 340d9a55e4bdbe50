"""Numbers whose effect is not a straight line: linear models of files, frames and arrays."""

from __future__ import annotations

import os
import pathlib
import subprocess
import warnings

import numpy as np
import pytest

import furrow
from furrow import Classifier, Regressor

pd = pytest.importorskip("pandas")
COMMAND = os.environ.get("FURROW_COMMAND")
COLUMNS = ["a", "b", "c"]


def curved(n=1500):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] ** 2 + 0.3 * X[:, 1] + 0.3 * rng.normal(size=n)


def write(path: pathlib.Path, X, y) -> str:
    pd.DataFrame(X, columns=COLUMNS).assign(sold=y).to_csv(path, index=False)
    return str(path)


@pytest.mark.parametrize("name", ["lr", "svm"])
def test_csv_of_numbers_is_read_with_bins(name, tmp_path):
    X, amount = curved()
    y = (amount > 1).astype(int)
    path = write(tmp_path / "a.csv", X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = Classifier(name).fit(path, label="sold")
    assert "straight line" in model.notes_[0] and list(model.classes_) == [0, 1]
    assert model.schema_.to_dict()["columns"]["a"]["scale"] == "bins"
    frame = pd.DataFrame(X, columns=COLUMNS)
    assert model.score(frame, y) > 0.85
    assert np.array_equal(model.predict(X), model.predict(frame[["c", "a", "b"]]))
    with pytest.raises(ValueError, match="2 features, but Classifier is expecting 3"):
        model.predict(X[:, :2])
    with pytest.raises(AttributeError, match="each of its values"):
        model.coef_
    assert Classifier(name).fit(path, label="sold", eval_set=path).history_[-1]["valid_rows"] == len(X)
    same = Classifier(name, schema="auto").fit(frame, y)
    assert np.array_equal(model.decision_function(X), same.decision_function(X))
    with pytest.warns(UserWarning, match="effect of feature a is not a straight line"):
        plain = Classifier(name, format="csv").fit(path, label="sold")
    assert plain.coef_.shape == (1, 3) and plain.score(X, y) < 0.75


@pytest.mark.skipif(COMMAND is None, reason="the command was not built")
@pytest.mark.parametrize("name", ["lr", "linear", "robust"])
def test_the_command_makes_the_same_model(name, tmp_path):
    X, y = curved()
    path = write(tmp_path / "a.csv", X, (y > 1).astype(int) if name == "lr" else y)
    subprocess.run(
        [COMMAND, "train", "--model", name, "--train", path, "--label-column", "sold", "--out", tmp_path / "its"],
        check=True,
        capture_output=True,
    )
    kind = Classifier if name == "lr" else Regressor
    kind(name).fit(path, label="sold").save(tmp_path / "own")
    assert furrow.load_model(tmp_path / "own").to_bytes() == furrow.load_model(tmp_path / "its").to_bytes()


def test_a_regression_keeps_numbers_of_the_label(tmp_path):
    X, y = curved()
    path = write(tmp_path / "a.csv", X, np.where(y > 1, 7.0, 3.0))
    model = Regressor("linear").fit(path, label="sold")
    assert 3 < model.predict(X).mean() < 7


def test_straight_lines_and_other_models_have_no_bins(tmp_path):
    X, y = curved()
    straight = write(tmp_path / "straight.csv", X, (X[:, 1] > y - X[:, 0] ** 2).astype(int))
    assert Classifier("lr").fit(straight, label="sold").coef_.shape == (1, 3)
    path = write(tmp_path / "a.csv", X, (y > 1).astype(int))
    assert not hasattr(Classifier("gbdt", n_estimators=3).fit(path, label="sold"), "schema_")


def test_arrays_and_frames_of_numbers_have_one_weight_and_a_warning():
    X, y = curved()
    for data, feature in ((X, "0"), (pd.DataFrame(X, columns=COLUMNS), "a")):
        with pytest.warns(UserWarning, match=f"effect of feature {feature} is not a straight line.*schema='auto'"):
            model = Regressor("linear").fit(data, y)
        assert model.coef_.shape == (3,)
