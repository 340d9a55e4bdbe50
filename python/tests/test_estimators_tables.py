"""Frames with strings in estimators: which columns are features, and as what."""

import numpy as np
import pytest

import furrow

pandas = pytest.importorskip("pandas")

ROWS = 1000


@pytest.fixture
def rng():
    return np.random.default_rng(4)


@pytest.fixture
def texts(rng):
    return rng.choice(["a", "b"], ROWS)


# ---- Names


@pytest.mark.parametrize("name", ["label", "rating", "target", "click", "clicked", "importance", "bought", "foo"])
def test_names_do_not_drop_features(name, rng, texts):
    x = rng.normal(size=ROWS)
    frame = pandas.DataFrame({"s": texts, name: x})
    assert furrow.Classifier("gbdt").fit(frame, x > 0).score(frame, x > 0) > 0.98


@pytest.mark.parametrize("name", ["qid", "query", "session", "order_id"])
def test_names_of_groups_do_not_drop_features(name, rng, texts):
    x = rng.integers(0, 100, ROWS)
    frame = pandas.DataFrame({"s": texts, name: x})
    assert furrow.Classifier("gbdt").fit(frame, x > 50).score(frame, x > 50) > 0.9


def test_weights_and_groups_beside_columns_of_these_names(rng, texts):
    x = rng.normal(size=ROWS)
    frame = pandas.DataFrame({"s": texts, "label": x, "weight": texts, "importance": x, "qid": rng.integers(0, 9, ROWS)})
    model = furrow.Classifier("gbdt").fit(frame, x > 0, sample_weight=np.full(ROWS, 2.0))
    assert model.score(frame, x > 0) > 0.98
    assert {column.name: column.as_ for column in model.schema_.columns} == {
        **{"s": "category", "label": "number", "weight": "category", "importance": "number", "qid": "number"}
    }
    ranker = furrow.Ranker("gbdt").fit(frame, (x > 0) * 1, qid=np.repeat(np.arange(ROWS // 10), 10))
    assert ranker.score(frame, (x > 0) * 1, np.repeat(np.arange(ROWS // 10), 10)) > 0.95


def test_label_names_a_column_beside_another_one(rng, texts):
    x = rng.normal(size=ROWS)
    frame = pandas.DataFrame({"s": texts, "rating": x, "target": np.where(x > 0, "yes", "no")})
    model = furrow.Classifier("gbdt").fit(frame, label="target")
    assert model.score(frame.drop(columns="target"), frame["target"]) > 0.98


def test_columns_that_are_ignored_are_named(rng, texts):
    x = rng.normal(size=ROWS)
    frame = pandas.DataFrame({"s": texts, "x": x, "order_id": np.arange(ROWS), "k": "same"})
    with pytest.warns(UserWarning) as told:
        model = furrow.Classifier("gbdt").fit(frame, x + rng.normal(size=ROWS) > 0)
    found = [str(warning.message) for warning in told]
    assert [text.split(":")[0] for text in found] == ["column 'order_id' is ignored", "column 'k' is ignored"]
    assert all("schema=" in text for text in found)
    assert all(warning.filename == __file__ for warning in told)
    assert list(model.feature_names_in_) == ["s", "x", "order_id", "k"]


def test_schema_keeps_a_column_that_was_ignored(rng, texts):
    order = rng.permutation(ROWS)
    frame = pandas.DataFrame({"s": texts, "order_id": order})
    y = np.where(order > ROWS / 2, "late", "early")
    with pytest.warns(UserWarning, match="order_id"):
        schema = furrow.Classifier("gbdt").fit(frame, y).schema_.to_dict()
    schema["columns"]["order_id"] = {"as": "number"}
    model = furrow.Classifier("gbdt", schema=schema).fit(frame, y, eval_set=(frame[:50], y[:50]))
    assert model.score(frame, y) > 0.98
    assert model.classes_.tolist() == ["early", "late"]


# ---- Types


def test_times_keep_their_order(rng, texts):
    when = pandas.Timestamp("2020-01-01") + pandas.to_timedelta(rng.integers(0, 1000, ROWS), unit="D")
    y = when > pandas.Timestamp("2021-05-15")
    frame = pandas.DataFrame({"s": texts, "joined": when})
    for model in ("gbdt", "lr"):
        assert furrow.Classifier(model).fit(frame, y).score(frame, y) > 0.97
    assert furrow.Classifier("gbdt").fit(frame, y).feature_importances_[1] > 0.9
    assert furrow.Classifier("gbdt").fit({"joined": frame["joined"].to_numpy()}, y).score(frame, y) > 0.97


def test_declared_categories_stay_whole(rng):
    cities = np.array(["Paris, France", "Paris, Texas", "Austin, Texas", "Bonn, Germany"])
    codes = rng.integers(0, 4, ROWS)
    frame = pandas.DataFrame({"city": pandas.Categorical(cities[codes]), "x": rng.normal(size=ROWS)})
    encoder = furrow.Encoder.build(frame.assign(label=codes % 2), label="label")
    assert encoder.schema.columns[0].as_ == "category"
    assert encoder.knows("city", "Paris, Texas")
    numbers = pandas.DataFrame({"code": pandas.Categorical(rng.integers(0, 400, ROWS)), "label": codes})
    assert furrow.Schema.propose(numbers).columns[0].as_ == "category"


def test_intervals_and_periods_are_categories(rng):
    x = rng.normal(size=ROWS)
    months = pandas.period_range("2020-01", periods=10, freq="M")[rng.integers(0, 10, ROWS)]
    frame = pandas.DataFrame({"bin": pandas.cut(x, 8), "month": months})
    frame["plain"] = pandas.IntervalIndex.from_arrays(np.floor(x), np.floor(x) + 1)
    model = furrow.Classifier("gbdt").fit(frame, x > 0)
    assert [column.as_ for column in model.schema_.columns] == ["category"] * 3
    assert model.score(frame, x > 0) > 0.85


# ---- Values that the model does not know

TRUTHS = {
    "int": lambda x: x.astype(int),
    "float": lambda x: x.astype(float),
    "bool": lambda x: x,
    "object": lambda x: x.astype(object),
    "boolean": lambda x: pandas.array(x, dtype="boolean"),
    "lower": lambda x: np.where(x, "true", "false"),
    "title": lambda x: np.where(x, "True", "False"),
    "category": lambda x: pandas.Categorical(x),
}


@pytest.mark.parametrize("given", TRUTHS)
@pytest.mark.parametrize("trained", TRUTHS)
@pytest.mark.filterwarnings("ignore:.*alone gives the label away")
@pytest.mark.filterwarnings("error")
def test_truth_values_mean_the_same_in_all_spellings(trained, given, rng, texts):
    x = rng.random(ROWS) > 0.5
    model = furrow.Classifier("gbdt", trees=5).fit(pandas.DataFrame({"s": texts, "x": TRUTHS[trained](x)}), x)
    frame = pandas.DataFrame({"s": texts, "x": TRUTHS[given](x)})
    if model.schema_.columns[1].as_ == "number" and given in ("lower", "title"):
        return  # texts in place of numbers
    assert model.score(frame, x) == 1
    assert model.model_.predict_proba(frame[:50].to_dict("records"))[:, 1].round().tolist() == x[:50].tolist()
    assert model.model_.predict_proba(frame[:300].to_dict("records"))[:, 1].round().tolist() == x[:300].tolist()
    assert model.score({"s": texts, "x": frame["x"].to_numpy()}, x) == 1


CHANGES = {
    "codes": lambda x: x.astype("category").cat.codes,
    "case": lambda x: x.str.upper(),
    "decimals": lambda x: x.str.replace("v", "").astype(float).astype(str) + "0",
    "missing": lambda x: np.full(len(x), None, dtype=object),
}


@pytest.mark.parametrize("change", CHANGES)
def test_columns_of_unknown_values_are_told(change, rng, tmp_path):
    x = rng.integers(0, 5, ROWS)
    frame = pandas.DataFrame({"x": np.array(["v0", "v1", "v2", "v3", "v4"])[x], "z": rng.normal(size=ROWS)})
    model = furrow.Classifier("gbdt", trees=5).fit(frame, x > 2)
    other = frame.assign(x=CHANGES[change](frame["x"]))
    other.to_csv(tmp_path / "other.csv", index=False)
    told = "column 'x': .* of the first .* rows have a value that the model does not know"
    for data in (other, str(tmp_path / "other.csv"), other.to_dict("records"), other[:20].to_dict("records")):
        with pytest.warns(UserWarning, match=told) as found:
            model.model_.predict(data)
        assert found[0].filename == __file__
    with pytest.warns(UserWarning, match=told):
        model.predict(other)
    with pytest.warns(UserWarning, match=told):
        model.model_.evaluate(other, (x > 2) * 1)


@pytest.mark.filterwarnings("ignore:.*alone gives the label away")
@pytest.mark.filterwarnings("error")
def test_some_unknown_values_are_not_told(rng):
    x = rng.integers(0, 5, ROWS)
    frame = pandas.DataFrame({"x": [f"v{i}" for i in x], "often": np.where(x > 0, None, "a"), "z": rng.normal(size=ROWS)})
    model = furrow.Classifier("gbdt", trees=5).fit(frame, x > 2)
    model.predict(frame)
    model.predict(frame.assign(x=np.where(x > 0, "new", "v1"), often=None))
    model.predict(frame[:5].assign(x="new"))


# ---- Ids among numbers


def test_ids_among_numbers_are_told(rng):
    frame = pandas.DataFrame({"user_id": rng.integers(0, 300, ROWS), "age": rng.integers(10, 90, ROWS)})
    y = rng.normal(size=300)[frame["user_id"]] > 0
    with pytest.warns(UserWarning, match="'fm'.*: user_id: integers with many values.* schema='auto'") as told:
        furrow.Classifier("fm").fit(frame, frame["age"] > 50)
    assert told[-1].filename == __file__
    with pytest.warns(UserWarning) as told:
        furrow.Classifier("gbdt", learning_rate=50, trees=3).fit(frame, y)
    assert [str(warning.message) for warning in told if "user_id, age: integers" in str(warning.message)]


@pytest.mark.filterwarnings("ignore:.*interactions did not help")
@pytest.mark.filterwarnings("error")
def test_other_numbers_are_not_taken_for_ids(rng):
    frame = pandas.DataFrame({"age": rng.integers(10, 90, ROWS), "paid": rng.integers(0, 900, ROWS)})
    frame["x_id"] = rng.integers(0, 9, ROWS)
    y = frame["age"] + rng.normal(scale=10, size=ROWS) > 50
    furrow.Classifier("fm").fit(frame, y)
    furrow.Classifier("gbdt").fit(frame.assign(user_id=rng.integers(0, 300, ROWS)), y)
    furrow.Classifier("fm").fit(frame.to_numpy(), y)
    furrow.Classifier("fm", schema="auto").fit(frame.assign(user_id=rng.integers(0, 300, ROWS)), y)
