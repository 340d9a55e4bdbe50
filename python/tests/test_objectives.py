"""Trees of medians, quantiles and counts, and predictions that only rise or fall along a column."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import furrow
from furrow._settings import collect


def counts(rows: int = 1500, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.RandomState(seed)
    X = random.uniform(size=(rows, 4))
    return X, random.poisson(np.exp(1 + X[:, 0] - 2 * X[:, 1] + np.sin(9 * X[:, 2]))).astype(float)


def test_medians_and_quantiles() -> None:
    X, y = counts()
    far = y + 100 * (np.random.RandomState(5).uniform(size=len(y)) < 0.1)  # medians do not follow outliers, means do
    median = furrow.Regressor("gbdt", objective="absolute_error", n_estimators=60, seed=1).fit(X, far)
    mean = furrow.Regressor("gbdt", n_estimators=60, seed=1).fit(X, far)
    assert 4 * np.abs(median.predict(X) - y).mean() < np.abs(mean.predict(X) - y).mean()
    for level in (0.1, 0.9):
        model = furrow.Regressor("gbdt", objective="quantile", quantile=level, n_estimators=60).fit(X, y)
        assert abs((y <= model.predict(X)).mean() - level) < 0.1
    figures = model.model_.evaluate(X, y)
    pinball = np.maximum(0.9 * (y - model.predict(X)), 0.1 * (model.predict(X) - y)).mean()
    assert figures["pinball"] == pytest.approx(pinball, rel=1e-5) and figures["loss"] == figures["pinball"]
    assert figures["pinball"] < figures["constant_loss"]


def test_counts_are_means(tmp_path: Path) -> None:
    X, y = counts()
    model = furrow.Regressor("gbdt", objective="poisson", n_estimators=60).fit(X, y)
    mean = model.predict(X)
    assert (mean > 0).all() and mean.mean() == pytest.approx(y.mean(), rel=0.05)
    figures = model.model_.evaluate(X, y)
    terms = np.where(y > 0, y * np.log(np.where(y > 0, y, 1) / mean), 0) - y + mean
    assert figures["deviance"] == pytest.approx(2 * terms.mean(), rel=1e-5)
    model.model_.save(tmp_path / "model")
    saved = furrow.load_model(tmp_path / "model")
    np.testing.assert_array_equal(saved.predict(X), mean)
    parts = saved.explain(X[:50])
    np.testing.assert_allclose(parts.bias + parts.to_numpy().sum(axis=1), np.log(mean[:50]), rtol=1e-4, atol=1e-5)
    with pytest.raises(furrow.Error, match="cannot take the label -1"):
        furrow.Regressor("gbdt", objective="poisson").fit(X, y - 1)


def test_counts_by_weights() -> None:
    X, y = counts()
    model = furrow.Regressor("linear", loss="poisson").fit(X, y)
    peer = pytest.importorskip("sklearn.linear_model").PoissonRegressor(alpha=1 / len(y), max_iter=1000, tol=1e-8)
    exact = furrow.Regressor("linear", loss="poisson", l2=1, scale="none").fit(X, y)
    np.testing.assert_allclose(exact.predict(X), peer.fit(X, y).predict(X), rtol=1e-3)
    np.testing.assert_allclose(np.log(exact.predict(X)), X @ exact.coef_ + exact.intercept_, rtol=1e-4, atol=1e-5)
    figures = model.model_.evaluate(X, y)
    assert figures["deviance"] == figures["loss"] < figures["constant_loss"]
    with pytest.raises(furrow.Error, match="cannot take the label -1"):
        furrow.Regressor("linear", loss="poisson").fit(X, y - 1)
    with pytest.raises(furrow.Error, match="robust|linear has L2Loss or PoissonLoss"):
        furrow.Regressor("linear", loss="huber").fit(X, y)


@pytest.mark.parametrize("objective", ["squared_error", "absolute_error", "quantile", "poisson"])
def test_directions_are_kept(objective: str) -> None:
    X, y = counts()
    model = furrow.Regressor("gbdt", objective=objective, monotone=[1, -1, 1, 0], n_estimators=40).fit(X, y)
    for column, direction in ((0, 1), (1, -1), (2, 1)):
        grid = np.repeat(X[:40], 50, axis=0)
        grid[:, column] = np.tile(np.linspace(-0.5, 1.5, 50), 40)
        steps = np.diff(model.predict(grid).reshape(40, 50), axis=1)
        assert (direction * steps >= -1e-9).all()
    free = furrow.Regressor("gbdt", objective=objective, n_estimators=40).fit(X, y)
    assert (np.diff(free.predict(grid).reshape(40, 50), axis=1) < -0.01).any()


def test_directions_by_name() -> None:
    pandas = pytest.importorskip("pandas")
    X, y = counts()
    frame = pandas.DataFrame(X, columns=["price, net", "size", "age", "other"])
    named = furrow.Regressor("gbdt", monotone={"price, net": 1, "size": -1}, n_estimators=5).fit(frame, y)
    listed = furrow.Regressor("gbdt", monotone_constraints=(1, -1, 0, 0), n_estimators=5).fit(frame, y)
    np.testing.assert_array_equal(named.predict(frame), listed.predict(frame))
    with pytest.raises(furrow.Error, match="there is no column weight"):
        furrow.Regressor("gbdt", monotone={"weight": 1}).fit(frame, y)


def test_directions_as_the_library_reads_them() -> None:
    assert collect({"monotone": {"a,b": 1, 3: -1, "c": 0}}).keys["monotone"] == "a%2Cb=+,3=-"
    assert collect({"monotonic_cst": [0, -1]}).keys["monotone"] == "1=-"
    assert collect({"monotone": "price=-"}).keys["monotone"] == "price=-"
    assert "monotone" not in collect({"monotone": [0, 0]}).keys
    with pytest.raises(ValueError, match="a direction is 1"):
        collect({"monotone": [2]})
    with pytest.raises(TypeError, match="a dict of columns"):
        collect({"monotone": 1})
    with pytest.raises(ValueError, match="the level of objective"):
        furrow.Regressor("gbdt", alpha=0.9).fit(*counts(50))
