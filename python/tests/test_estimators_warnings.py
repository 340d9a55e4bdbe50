"""What estimators warn of, and what they refuse, with a hint of what to do."""

import warnings

import numpy as np
import pytest

import furrow
from furrow.estimators import Classifier, Ranker, Regressor

RNG = np.random.default_rng(8)
X = RNG.normal(size=(300, 3))
Y = (X[:, 0] > 0).astype(int)
SECONDS = 1.7e9 + RNG.integers(0, 3600, 300)

# ---- Numbers that float32 does not tell apart


@pytest.mark.parametrize("kind", [np.float64, np.int64])
def test_columns_that_collapse_warn(kind):
    pandas = pytest.importorskip("pandas")
    with pytest.warns(UserWarning, match="column 1 become the same.*7 digits") as caught:
        Classifier("gbdt").fit(np.column_stack([Y.astype(kind), SECONDS.astype(kind)]), Y)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="columns seen, left become the same"):
        Regressor("gbdt").fit(pandas.DataFrame({"a": Y, "seen": SECONDS, "left": SECONDS + 9}), X[:, 0])


def test_columns_that_do_not_collapse_are_silent():
    wide = 1.7e9 + RNG.integers(0, 30_000_000, 300)
    gaps = np.where(Y, np.nan, X[:, 0])
    columns = [X[:, 0], SECONDS - SECONDS.mean(), wide, np.full(300, 1.7e9), gaps, np.full(300, np.nan), Y * 1e30]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Classifier("gbdt").fit(np.column_stack(columns), Y)
        Classifier("gbdt").fit(np.column_stack(columns).astype(np.float32), Y)


def test_numbers_that_collapse_are_refused():
    with pytest.raises(ValueError, match="y: different values.*7 digits"):
        Regressor("gbdt").fit(X, SECONDS)
    with pytest.raises(ValueError, match="y: different values"):
        Regressor("linear").fit(X, np.where(Y, 2**30 + 1, 2**30))
    Regressor("gbdt").fit(X, SECONDS - SECONDS.mean())
    Regressor("linear").fit(np.repeat(X, 40, axis=0), RNG.normal(size=12_000))


# ---- A net that is the linear model after all


def test_a_net_that_was_discarded():
    y = (X @ [1, 2, 3] + RNG.normal(size=300) > 0).astype(int)
    with pytest.warns(UserWarning, match="interactions did not help.*the model is the linear one") as caught:
        fitted = Classifier("deepfm", epochs=3).fit(X, y)
    assert caught[0].filename == __file__
    card = fitted._repr_html_()
    assert "the net of 3 epochs was discarded" in card and "<svg" not in card
    figures = fitted.model_.info["figures"]
    assert set(figures["valid"]) == {"rows", "loss"} and "NDCG" not in fitted.model_._repr_html_()


def test_the_card_of_a_log_lists_features():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": X[:, 0], "word": np.where(X[:, 1] > 0, "u", "v")})
    facts = dict(Classifier("gbdt").fit(frame, Y).model_._facts())
    assert facts["features"] == "a, word"
