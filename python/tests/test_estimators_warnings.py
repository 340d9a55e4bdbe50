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
        fitted = Classifier("dnn", epochs=2).fit(X, y)
    assert caught[0].filename == __file__
    card = fitted._repr_html_()
    assert "the net of 2 epochs was discarded" in card and "<svg" not in card
    figures = fitted.model_.info["figures"]
    assert set(figures["valid"]) == {"rows", "loss"} and "NDCG" not in fitted.model_._repr_html_()


def test_the_card_of_a_log_lists_features():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": X[:, 0], "word": np.where(X[:, 1] > 0, "u", "v")})
    facts = dict(Classifier("gbdt").fit(frame, Y).model_._facts())
    assert facts["features"] == "a, word"


# ---- Types of pandas


@pytest.mark.parametrize(
    "kind, values", [("Int64", [3, 4]), ("boolean", [False, True]), ("string", ["a", "b"]), ("Float64", [0, 1])]
)
def test_labels_of_types_of_pandas(kind, values, tmp_path):
    pandas = pytest.importorskip("pandas")
    y = pandas.Series(np.array(values, dtype=object)[Y], dtype=kind)
    fitted = Classifier("gbdt").fit(X, y)
    assert fitted.classes_.tolist() == values and fitted.score(X, y) == 1
    assert fitted.model_.evaluate(X, y)["accuracy"] == 1
    assert Classifier("gbdt").fit(X, y, eval_set=(X, y)).history_[-1]["valid_accuracy"] == 1
    y[7] = pandas.NA
    for wrong in (Classifier("gbdt"), Regressor("gbdt")):
        with pytest.raises(ValueError, match="Input y contains NaN: row 7"):
            wrong.fit(X, y)


def test_numbers_of_types_of_pandas():
    pandas = pytest.importorskip("pandas")
    y = pandas.Series(np.arange(300) % 7, dtype="Int64")
    fitted = Regressor("gbdt").fit(np.column_stack([np.arange(300) % 7, X]), y)
    assert fitted.score(np.column_stack([np.arange(300) % 7, X]), y) > 0.9
    assert fitted.model_.evaluate(np.column_stack([np.arange(300) % 7, X]), y)["r2"] > 0.9


# ---- Leaks


def test_a_column_that_gives_the_label_away_is_told(tmp_path):
    pandas = pytest.importorskip("pandas")
    told = "alive alone gives the label away .AUC 1"
    y = RNG.random(400) > 0.5
    frame = pandas.DataFrame({"age": RNG.normal(size=400) + y, "alive": np.where(y, "yes", "no")})
    with pytest.warns(UserWarning, match=told):
        Classifier("gbdt", trees=3).fit(frame, y)
    with pytest.warns(UserWarning, match=told):
        Classifier("lr").fit(frame.assign(alive=y * 3.0), y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Classifier("gbdt", trees=3).fit(frame[["age"]], y)


# ---- Names and messages


def notes_of(call, *arguments, **more):
    with pytest.raises(furrow.Error) as caught:
        call(*arguments, **more)
    return "\n".join(getattr(caught.value, "__notes__", []))


def test_messages_have_the_names_that_were_typed():
    assert "trees is n_estimators of Classifier" in notes_of(Classifier("gbdt", n_estimators=-4).fit, X, Y)
    assert "depth is max_depth" in notes_of(Classifier("lr", max_depth=3).fit, X, Y)
    assert notes_of(Classifier("gbdt", trees=-4).fit, X, Y) == ""


def test_a_file_with_strings_is_a_log(tmp_path):
    path = tmp_path / "c.csv"
    path.write_text("city,at,click\n" + "a,1:2:3,1\nb,4:5:6,0\n" * 20)
    found = Classifier("gbdt").fit(path, label="click")
    assert found.classes_.tolist() == [0, 1] and "city" in [column.name for column in found.schema_.columns]
    lines = tmp_path / "c.jsonl"
    lines.write_text('{"city": "a", "click": 1}\n{"city": "b", "click": 0}\n' * 20)
    assert Classifier("lr").fit(lines, label="click").classes_.tolist() == [0, 1]
    path.write_text("a,1:2:3,1\nb,4:5:6,0\n" * 20)  # without a header
    assert "schema='auto'" in notes_of(Classifier("gbdt").fit, path, label="2")
    assert Classifier("gbdt", schema="auto").fit(path, label="2").classes_.tolist() == [0, 1]


@pytest.mark.parametrize("name", ["C", "tol", "penalty", "verbose", "verbosity", "scale_pos_weight"])
def test_settings_of_others_have_a_hint(name):
    with pytest.raises(ValueError, match=f"there is no setting {name}: .*(=|l2)"):
        Classifier("lr", **{name: 1}).fit(X, Y)


def test_settings_of_others():
    theirs = Classifier("gbdt", eta=0.2, gamma=0.1, max_bin=40, early_stopping_rounds=5, reg_lambda=2, n_jobs=-1)
    ours = Classifier("gbdt", lr=0.2, min_gain=0.1, splits=40, patience=5, reg_lambda=2, threads=-1)
    assert np.array_equal(theirs.fit(X, Y).predict_proba(X), ours.fit(X, Y).predict_proba(X))
    three = np.digitize(X[:, 0], [-0.4, 0.4])
    assert Classifier("gbdt", objective="multi:softprob").fit(X, three).score(X, three) > 0.9
    with pytest.raises(ValueError, match="two names"):
        Classifier("lr", n_jobs=1, threads=1).fit(X, Y)
    with pytest.raises(TypeError, match="threads: a whole number"):
        Classifier("lr", threads="many").fit(X, Y)


@pytest.mark.parametrize("kind", [np.random.RandomState, np.random.default_rng])
def test_generators_are_seeds(kind):
    def scores(random_state):
        return Classifier("gbdt", subsample=0.5, random_state=random_state).fit(X, Y).decision_function(X)

    assert np.array_equal(scores(kind(3)), scores(kind(3)))
    drawn = kind(3)
    assert not np.array_equal(scores(drawn), scores(drawn))


# ---- Rankers


def test_sizes_of_groups():
    y, sizes = np.digitize(X[:, 0], [-0.4, 0.4]), [100, 50, 0, 150]
    wanted = Ranker("gbdt").fit(X, y, qid=np.repeat(np.arange(4), sizes)).predict(X)
    assert np.array_equal(Ranker("gbdt").fit(X, y, group=sizes).predict(X), wanted)
    wrongs = (([100, 50], "inconsistent"), ([150.5, 149.5], "number of rows"), ([-1, 301], "number of rows"))
    for wrong, message in wrongs:
        with pytest.raises(ValueError, match=message):
            Ranker("gbdt").fit(X, y, group=wrong)
    with pytest.raises(ValueError, match="leave one of them out"):
        Ranker("gbdt").fit(X, y, group=sizes, qid=np.zeros(300))


def test_fm_ranks_logs():
    with pytest.raises(ValueError, match="in a log.*gbdt.* ranks the rows of groups"):
        Ranker("fm").fit(X, Y, qid=np.zeros(300))


def test_importances_of_a_log_are_those_of_its_columns():
    pandas = pytest.importorskip("pandas")
    hours = pandas.date_range("2024-01-01", periods=300, freq="60min")
    night = (hours.hour < 8).astype(int)
    frame = pandas.DataFrame({"a": X[:, 1], "word": np.where(X[:, 2] > 0, "u", "v"), "at": hours.astype(str)})
    shares = Classifier("gbdt").fit(frame, night).feature_importances_
    assert shares.shape == (3,) and shares[2] > 0.9 and shares.sum() == pytest.approx(1)
