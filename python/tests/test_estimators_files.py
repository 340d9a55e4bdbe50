"""What a saved model knows of the labels and the columns of fit, and estimators that come back from it."""

import pickle

import numpy as np
import pytest

import furrow
from furrow.estimators import Classifier, Ranker, Regressor

POSITIVE = np.random.default_rng(3).normal(size=(300, 4))[:, 0] > 0
X = np.random.default_rng(3).normal(size=(300, 4))
THIRD = np.digitize(X[:, 0], [-0.4, 0.4])

LABELS = {
    "0 and 1": np.where(POSITIVE, 1, 0),
    "1 and 2": np.where(POSITIVE, 2, 1),
    "-1 and 1": np.where(POSITIVE, 1, -1),
    "the lower one": np.where(POSITIVE, -1, 1),
    "long numbers": np.where(POSITIVE, 2**40 + 1, 2**40),
    "strings": np.where(POSITIVE, "yes", "no"),
    "strings of bools": np.where(POSITIVE, "True", "False"),
    "bools": POSITIVE,
    "three": THIRD + 5,
    "three with gaps": np.array([11, 2, 9])[THIRD],
    "three strings": np.array(["z", "b,é", '"k"'])[THIRD],
}


def same(found, wanted):
    return len(found) == len(wanted) and bool((np.asarray(found) == np.asarray(wanted)).all())


@pytest.mark.parametrize("name", LABELS)
@pytest.mark.parametrize("model", ["lr", "gbdt"])
def test_saved_models_know_their_labels(name, model, tmp_path):
    y = LABELS[name]
    fitted = Classifier(model).fit(X, y)
    fitted.save(tmp_path / "m")
    wanted = fitted.predict(X)
    loaded = furrow.load_model(tmp_path / "m")
    assert same(loaded.classes, fitted.classes_) and loaded.classes.dtype.kind in ("f", "O", fitted.classes_.dtype.kind)
    assert same(loaded.predict(X), wanted) and np.mean(wanted == y) > 0.9
    assert loaded.evaluate(X, y)["accuracy"] == pytest.approx(fitted.score(X, y))
    copies = [pickle.loads(pickle.dumps(one)) for one in (loaded, fitted)]
    for again in (*copies, Classifier.load(tmp_path / "m")):
        assert same(again.predict(X), wanted)
    assert loaded.describe("text") and loaded._repr_html_()


@pytest.mark.parametrize("model", ["lr", "gbdt", "fm", "svm", "dnn"])
def test_labels_do_not_change_a_model(model):
    wanted = Classifier(model).fit(X, POSITIVE.astype(int)).predict_proba(X)
    for name in ("1 and 2", "-1 and 1", "long numbers", "strings", "bools"):
        assert np.array_equal(Classifier(model).fit(X, LABELS[name]).predict_proba(X), wanted), name


@pytest.mark.parametrize("labels", [np.arange(12) * 3 - 5, np.array([f"class {i}" for i in range(12)])])
def test_logs_know_their_labels(labels, tmp_path):
    pandas = pytest.importorskip("pandas")
    words = np.array(list("abcdefghijkl"))
    code = np.random.default_rng(5).permutation(np.repeat(np.arange(12), 20))
    frame, y = pandas.DataFrame({"word": words[code], "n": X[:240, 0]}), labels[code]
    fitted = Classifier("gbdt", min_rows=1).fit(frame, y)
    fitted.save(tmp_path / "m")
    loaded = furrow.load_model(tmp_path / "m")
    assert same(loaded.classes, labels) or same(np.sort(loaded.classes), np.sort(labels))
    assert same(loaded.predict(frame), y) and loaded.evaluate(frame, y)["accuracy"] == 1
    again = Classifier.load(tmp_path / "m")
    assert same(again.predict(frame), y) and again.score(frame, y) == 1 and same(again.classes_, np.sort(labels))


def test_partial_fit_knows_its_labels(tmp_path):
    for y in (LABELS["1 and 2"], LABELS["strings"]):
        fitted = Classifier("lr").partial_fit(X, y, classes=np.unique(y))
        fitted.save(tmp_path / "m", overwrite=True)
        loaded = Classifier.load(tmp_path / "m")
        assert same(loaded.predict(X), fitted.predict(X))
        loaded.partial_fit(X, y)
        assert same(loaded.classes_, np.unique(y)) and same(loaded.model_.classes, np.unique(y))


def test_labels_that_a_saved_model_does_not_know(tmp_path):
    Classifier("lr").fit(X, LABELS["strings"]).save(tmp_path / "m")
    loaded = furrow.load_model(tmp_path / "m")
    for y in (LABELS["0 and 1"], np.where(POSITIVE, "yes", "NO")):
        with pytest.raises(ValueError, match="y has .* the classes are no, yes"):
            loaded.evaluate(X, y)
    with pytest.raises(ValueError, match="not a list of 2 classes"):
        furrow.load_model(tmp_path / "m", settings={"class-names": '["a"]'})
    with pytest.raises(ValueError, match="not JSON"):
        furrow.load_model(tmp_path / "m", settings={"class-names": "a,b"})


# ---- Columns


NAMES = ["a", "b,x", "c d", "é%"]


@pytest.fixture
def frame():
    return pytest.importorskip("pandas").DataFrame(X, columns=NAMES)


@pytest.mark.parametrize("model", ["lr", "gbdt", "fm"])
def test_saved_models_know_their_columns(model, frame, tmp_path):
    y = LABELS["0 and 1"]
    fitted = Classifier(model).fit(frame, y)
    fitted.save(tmp_path / "m")
    turned = frame[NAMES[::-1]]
    for loaded in (furrow.load_model(tmp_path / "m"), fitted.model_):
        assert loaded.feature_names == NAMES
        assert loaded.evaluate(turned, y)["auc"] == loaded.evaluate(frame, y)["auc"] > 0.9
        assert same(loaded.predict(turned), fitted.predict(frame))
        assert same(loaded.predict({name: turned[name] for name in turned}), fitted.predict(frame))
        assert same(loaded.predict(X), fitted.predict(frame))
        with pytest.raises(ValueError, match="does not have the columns a"):
            loaded.predict(frame.rename(columns={"a": "q"}))
    again = Classifier.load(tmp_path / "m")
    assert same(again.feature_names_in_, NAMES) and again.n_features_in_ == 4
    with pytest.raises(ValueError, match="same order"):
        again.predict(turned)


def test_columns_of_eval_set(frame):
    y = LABELS["0 and 1"]
    with pytest.raises(ValueError, match="eval_set: X has other columns.*\n.*same order"):
        Classifier("gbdt").fit(frame, y, eval_set=(frame[NAMES[::-1]], y))
    with pytest.raises(ValueError, match="eval_set(.|\n)*unseen at fit time:\n- q"):
        Regressor("gbdt").fit(frame, y, eval_set=[(frame.rename(columns={"a": "q"}), y)])
    with pytest.raises(ValueError, match="eval_set"):
        Ranker("gbdt").fit(frame, y, qid=np.arange(300) // 10, eval_set=(frame[NAMES[::-1]], y, np.arange(300) // 10))
    with pytest.warns(UserWarning, match="eval_set: X does not have valid feature names"):
        Classifier("gbdt").fit(frame, y, eval_set=(X, y))


def test_columns_of_eval_set_of_a_log(frame):
    y = LABELS["0 and 1"]
    log = frame.assign(word=np.array(["u", "v", "w"])[THIRD])
    turned = log[list(log.columns[::-1])]
    kept = Classifier("gbdt").fit(log, y, eval_set=(log, y)).history_[-1]["valid_auc"]
    assert Classifier("gbdt").fit(log, y, eval_set=(turned, y)).history_[-1]["valid_auc"] == kept
    with pytest.raises(ValueError, match="unseen at fit time:\n- q"):
        Classifier("gbdt").fit(log, y, eval_set=(log.rename(columns={"a": "q"}), y))


def test_columns_that_have_a_name_twice_are_taken_by_their_places(frame, tmp_path):
    frame.columns = ["a", "a", "b", "c"]
    Regressor("linear").fit(frame, X[:, 0]).save(tmp_path / "m")
    assert furrow.load_model(tmp_path / "m").feature_names is None


# ---- Estimators from files


def test_load_of_numbers_and_orders(tmp_path):
    numbers = Regressor("gbdt").fit(X, X[:, 0])
    numbers.save(tmp_path / "numbers")
    again = Regressor.load(tmp_path / "numbers")
    assert same(again.predict(X), numbers.predict(X)) and again.score(X, X[:, 0]) > 0.9 and again.model == "gbdt"
    groups = np.arange(300) // 10
    order = Ranker("gbdt").fit(X, THIRD, qid=groups)
    order.save(tmp_path / "order")
    again = Ranker.load(tmp_path / "order")
    assert again.score(X, THIRD, groups) == order.score(X, THIRD, groups)
    for kind, path in ((Classifier, "numbers"), (Ranker, "numbers"), (Regressor, "order")):
        with pytest.raises(ValueError, match="this is a model of furrow"):
            kind.load(tmp_path / path)
    with pytest.raises(ValueError, match="X has 2 features"):
        Regressor.load(tmp_path / "numbers").predict(X[:, :2])
    with pytest.raises(FileNotFoundError):
        Regressor.load(tmp_path / "absent")
