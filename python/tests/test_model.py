"""Loaded models: they give the same scores as the command, whatever form the rows come in."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import furrow
from furrow.model import Model, load_model
import model_makers as make

KINDS = [("lr", "two"), ("fm", "two"), ("gbdt", "two"), ("svm", "two"), ("dnn", "two"), ("softmax", "classes")]
KINDS += [("linear", "numbers"), ("gbdt", "numbers"), ("robust", "numbers")]


def memory() -> int:
    """Kilobytes that the process uses."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    pytest.skip("the system does not say how much memory is used")


@pytest.mark.parametrize("form", ["libsvm", "csv"])
@pytest.mark.parametrize("algorithm, kind", KINDS)
def test_scores_are_those_of_the_command(algorithm: str, kind: str, form: str) -> None:
    path, uri = make.model(algorithm, form, kind), make.data(form, kind)
    expected = make.predicted(path, uri)
    model = load_model(path)
    X, _ = make.table()
    for rows in (uri, str(uri), X, X.astype(np.float64), np.asfortranarray(X), X[:, ::-1][:, ::-1]):
        scores = np.stack(model.scores(rows), axis=1)
        np.testing.assert_array_equal(scores.astype(np.float32), expected)
    few = [np.stack(model.scores(X[i : i + 7]), axis=1) for i in range(0, len(X), 7)]
    np.testing.assert_allclose(np.concatenate(few), np.stack(model.scores(X), axis=1), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("algorithm, kind", KINDS)
def test_sparse_rows(algorithm: str, kind: str) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    model = load_model(make.model(algorithm, "libsvm", kind))
    X, _ = make.table()
    expected = model.scores(X)
    for form in (sparse.csr_matrix, sparse.csc_matrix, sparse.coo_matrix):
        np.testing.assert_array_equal(model.scores(form(X)), expected)
    wide = sparse.csr_matrix(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    np.testing.assert_array_equal(model.scores(wide), expected)


def test_sparse_rows_that_do_not_fit() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    model = load_model(make.model("lr", "csv"))
    X, _ = make.table()
    with pytest.raises(ValueError, match="trained on 6"):
        model.scores(sparse.csr_matrix((2, 7)))
    np.testing.assert_array_equal(model.scores(sparse.csr_matrix((2, 3))), model.scores(sparse.csr_matrix((2, 6))))
    twice = sparse.csr_matrix((np.array([1.0, 2.0]), np.array([3, 3]), np.array([0, 2])), shape=(1, 6))
    once = sparse.csr_matrix(([3.0], ([0], [3])), shape=(1, 6))
    np.testing.assert_array_equal(model.scores(twice), model.scores(once))
    unsorted = sparse.csr_matrix((np.array([1.0, 2.0]), np.array([3, 1]), np.array([0, 2])), shape=(1, 6))
    np.testing.assert_array_equal(model.scores(unsorted), model.scores(unsorted.toarray()))
    with pytest.raises(TypeError):
        model.scores(sparse.csr_matrix(X[:2].astype(complex)))
    missing = sparse.csr_matrix(X[:2])
    missing.data[0] = np.inf
    with pytest.raises(ValueError):
        model.scores(missing)


def test_predictions_of_two_classes() -> None:
    model = load_model(make.model("lr"))
    X, y = make.table()
    pred, proba, label = model.scores(X)
    assert model.algorithm == "lr" and model.n_classes == 2 and list(model.classes) == [0, 1]
    np.testing.assert_array_equal(model.predict(X), label)
    np.testing.assert_array_equal(model.decision_function(X), pred)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-pred)), rtol=1e-6)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    np.testing.assert_array_equal(label, (proba > 0.5).astype(float))
    assert (label == y).mean() > 0.7


def test_predictions_of_several_classes() -> None:
    model = load_model(make.model("softmax", "libsvm", "classes"))
    X, _ = make.table()
    assert model.n_classes == 4 and list(model.classes) == [0, 1, 2, 3]
    proba, outputs = model.predict_proba(X), model.decision_function(X)
    assert proba.shape == outputs.shape == (600, 4)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(X), proba.argmax(axis=1))
    np.testing.assert_allclose(np.exp(outputs) / np.exp(outputs).sum(axis=1, keepdims=True), proba)
    np.testing.assert_allclose(outputs.max(axis=1), model.scores(X)[0])
    contributions = model.explain(X[:50])
    np.testing.assert_allclose(contributions.outputs, outputs[:50], rtol=1e-6)


def test_numbers() -> None:
    model = load_model(make.model("linear", "csv", "numbers"))
    X, _ = make.table()
    assert model.classes is None and model.n_classes == 0 and model.feature_names == list("abcdef")
    np.testing.assert_array_equal(model.predict(X), model.scores(X)[0])
    np.testing.assert_allclose(model.predict(X), make.labels("numbers"), atol=0.05)
    with pytest.raises(TypeError, match="predicts numbers"):
        model.predict_proba(X)


# ---- rows of all kinds


def test_columns_of_a_frame_go_by_name() -> None:
    pandas = pytest.importorskip("pandas")
    model = load_model(make.model("lr", "csv"))
    X, y = make.table()
    frame = pandas.DataFrame(X, columns=list("abcdef"))
    expected = model.scores(X)
    np.testing.assert_array_equal(model.scores(frame), expected)
    np.testing.assert_array_equal(model.scores(frame[list("fbdcae")].assign(label=y)), expected)
    np.testing.assert_array_equal(model.scores(dict(frame)), expected)
    with pytest.raises(ValueError, match="columns c, which"):
        model.scores(frame.drop(columns="c"))
    with pytest.raises(ValueError, match="several columns called a"):
        model.scores(pandas.concat([frame, frame[["a"]]], axis=1))
    unnamed = load_model(make.model("lr"))
    np.testing.assert_array_equal(unnamed.scores(frame), unnamed.scores(X))
    with pytest.raises(TypeError, match="dict"):
        unnamed.scores(dict(frame))


def test_rows_that_were_read() -> None:
    """Loaded or not, Rows are the rows of their file."""
    X, y = make.table()
    for form in ("libsvm", "csv"):
        model = load_model(make.model("lr", form))
        uri = str(make.data(form)) + ("?label_column=label" if form == "csv" else "")
        expected = model.scores(X)
        rows = furrow.read_rows(uri)
        np.testing.assert_array_equal(model.scores(rows), expected)
        np.testing.assert_array_equal(model.scores(rows.load()), expected)
        assert model.evaluate(rows)["auc"] == model.evaluate(X, y)["auc"]
    model = load_model(make.model("lr"))
    half = furrow.read_rows(make.data("libsvm"), nparts=2)
    np.testing.assert_array_equal(model.scores(half), model.scores(X[: half.shape[0]]))
    assert model.evaluate(rows_of(""), 1 - y)["auc"] < 0.5
    np.testing.assert_array_equal(model.scores(rows_of("?indexing_mode=1")), model.scores(X))
    assert model.evaluate(rows_of("?indexing_mode=1"), 1 - y)["auc"] < 0.5


def rows_of(arguments: str) -> furrow.Rows:
    return furrow.read_rows(str(make.data("libsvm")) + arguments)


def test_rows_for_a_model_of_arrays() -> None:
    """Rows have found out from where the features of a file count; of a path it is not known."""
    X, y = make.table()
    model = furrow.Classifier("lr").fit(X, y).model_
    for rows in (rows_of(""), rows_of("").load()):
        np.testing.assert_array_equal(model.scores(rows), model.scores(X))
    for rows in (rows_of("?indexing_mode=0"), rows_of("?indexing_mode=0").load()):
        with pytest.raises(ValueError, match="X has 7 features, but the model was trained on 6"):
            model.scores(rows)
    with pytest.raises(ValueError, match="index-base"):
        model.scores(make.data("libsvm"))
    np.testing.assert_array_equal(model.scores(rows_of("?indexing_mode=1")), model.scores(X))
    np.testing.assert_array_equal(model.scores(str(make.data("libsvm")) + "?indexing_mode=1"), model.scores(X))


def test_model_of_an_estimator() -> None:
    X, y = make.table()
    for algorithm in ("lr", "fm", "gbdt"):
        model = furrow.Classifier(algorithm).fit(X, y).model_
        assert model.algorithm == algorithm and model.info["algorithm"] == algorithm and len(model.matrices) > 1
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.scores(X), model.scores(X))
        assert again.algorithm == algorithm and repr(again) == repr(model)


def test_number_of_columns() -> None:
    X, _ = make.table()
    named = load_model(make.model("lr", "csv"))
    for columns in (0, 1, 5, 7):
        with pytest.raises(ValueError, match="trained on 6|2 dimensions"):
            named.scores(np.ones((3, columns)))
    for algorithm in ("lr", "fm", "gbdt"):
        sparse = load_model(make.model(algorithm))
        with pytest.raises(ValueError, match="has a feature"):
            sparse.scores(X[:, :3])
    with pytest.warns(UserWarning, match="the model knows none from 6 on"):
        load_model(make.model("lr")).scores(np.ones((3, 8)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_model(make.model("lr")).scores(X)
        load_model(make.model("gbdt")).scores(X)


def test_missing_values() -> None:
    model = load_model(make.model("gbdt"))
    X = make.table()[0].copy()
    X[::3, 2] = np.nan
    path = make.folder() / "missing.libsvm"
    with open(path, "w") as file:
        for row in X:
            file.write("0 " + " ".join(f"{i + 1}:{v:.9g}" for i, v in enumerate(row) if v == v) + "\n")
    expected = model.scores(path)
    np.testing.assert_array_equal(model.scores(X), expected)
    np.testing.assert_array_equal(np.concatenate([model.scores(X[:9]), model.scores(X[9:])], axis=1), expected)


@pytest.mark.parametrize("kind", ["<f4", "<f8", ">f4", ">f8"])
def test_tables_of_any_byte_order_and_place(kind: str) -> None:
    X, y = make.table()
    model = furrow.Classifier("lr").fit(X, y).model_
    table = X[:20].astype(kind)
    raw = np.zeros(table.nbytes + 1, dtype=np.uint8)
    raw[1:] = np.frombuffer(table.tobytes(), dtype=np.uint8)
    shifted = raw[1:].view(table.dtype).reshape(table.shape)
    expected = model.scores(X[:20].astype(kind[1:]))
    for _ in range(2):  # the second call knows the kind of tables
        np.testing.assert_array_equal(model.scores(table), expected)
        np.testing.assert_array_equal(model.scores(shifted), expected)


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("size", [3, 30000])
def test_values_that_do_not_fit(size: int) -> None:
    X = np.zeros((size, 6))
    lr, gbdt = load_model(make.model("lr")), load_model(make.model("gbdt"))
    for model in (lr, gbdt):
        model.scores(X)
        X[1, 2] = 1e300
        with pytest.raises(ValueError, match="row 1, column 2: .*too large for f"):
            model.scores(X)
        X[1, 2] = 0
        X[1, 2] = -np.inf
        with pytest.raises(ValueError, match="row 1, column 2: infinity"):
            model.scores(X)
        X[1, 2] = 0


def test_wrong_rows() -> None:
    model = load_model(make.model("lr"))
    X, _ = make.table()
    with pytest.raises(ValueError, match="2 dimensions"):
        model.predict(X[0])
    with pytest.raises(ValueError, match="2 dimensions"):
        model.predict(np.zeros((2, 3, 6)))
    with pytest.raises(TypeError):
        model.predict(np.array([["a"] * 6]))
    with pytest.raises((TypeError, ValueError)):
        model.predict(X.astype(complex))
    with pytest.raises((TypeError, ValueError)):
        model.predict(None)
    with pytest.raises(FileNotFoundError):
        model.predict("absent.libsvm")
    with pytest.raises((TypeError, ValueError)):
        model.predict([{"a": 1}])
    with pytest.raises(TypeError, match="load_model"):
        Model()
    bad = make.folder() / "bad.libsvm"
    bad.write_text("1 1:0.5\n0 1:x\n")
    with pytest.raises(furrow.ParseError) as caught:
        model.predict(bad)
    assert caught.value.line == 2


def test_no_rows() -> None:
    for path in (make.model("lr"), make.model("gbdt"), make.model("softmax", "libsvm", "classes")):
        model = load_model(path)
        assert model.predict(np.empty((0, 6))).shape == (0,)
        assert model.predict_proba(np.empty((0, 6), dtype=np.float32)).shape == (0, model.n_classes)
        assert len(model.explain(np.empty((0, 6)))) == 0
    empty = make.folder() / "empty.libsvm"
    empty.write_text("")
    assert model.predict(empty).shape == (0,)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 40), st.sampled_from(["lr", "fm", "gbdt"]), st.integers(0, 99), st.booleans())
def test_few_rows_are_scored_as_many(rows: int, algorithm: str, seed: int, wide: bool) -> None:
    """The way without a URI gives what the way with one gives."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 6)).astype(np.float64 if wide else np.float32)
    X[rng.random(X.shape) < 0.2] = np.nan
    model = load_model(make.model(algorithm))
    slow = model.scores(X)
    assert model._fast_columns == 6
    np.testing.assert_array_equal(model.scores(X), slow)


# ---- logs


def test_log() -> None:
    pandas = pytest.importorskip("pandas")
    path, uri = make.model("fm", "log"), make.data("log")
    model = load_model(path)
    frame = pandas.read_csv(uri)
    expected = make.predicted(path, uri)
    scores = np.stack(model.scores(uri), axis=1)
    np.testing.assert_array_equal(scores.astype(np.float32), expected)
    np.testing.assert_array_equal(np.stack(model.scores(frame), axis=1), scores)
    np.testing.assert_array_equal(np.stack(model.scores(frame.drop(columns="click")), axis=1), scores)
    events = frame.head(20).drop(columns="click").to_dict("records")
    np.testing.assert_allclose(np.stack(model.scores(events), axis=1), scores[:20], rtol=1e-12)
    assert model.columns == ["userId", "itemId", "age", "genre", "click"]
    with pytest.raises(furrow.FormatError, match="userId"):
        model.scores(frame.drop(columns="userId"))
    with pytest.raises(furrow.ArgumentError, match="userID"):
        model.scores([{"userID": "u1"}])
    with pytest.raises(furrow.ParseError, match="age"):
        model.scores([{"userId": "u1", "itemId": "i1", "age": "young"}])
    with pytest.raises(TypeError, match="a log with the columns userId, itemId"):
        model.scores(np.zeros((2, 3)))
    assert len(model.scores([])[0]) == 0


def test_events_lack_values() -> None:
    model = load_model(make.model("fm", "log"))
    event = {"userId": "u1", "itemId": "i2"}
    some = model.scores([event, {**event, "age": None, "genre": None}])
    assert some[0][0] == some[0][1]
    np.testing.assert_array_equal(some[0][0], model.scores([{"itemId": "i2", "userId": "u1", "age": np.nan}])[0][0])


def test_cells_of_events() -> None:
    """Numbers, NumPy's numbers and bytes mean what the same cells of a table mean."""
    model = load_model(make.model("fm", "log"))
    expected = model.scores([{"userId": "u1", "itemId": "i2", "age": "30"}])[0][0]
    for age in (30, 30.0, np.int64(30), np.float32(30), "30", b"30"):
        assert model.scores([{"userId": "u1", "itemId": "i2", "age": age}])[0][0] == expected
    events = [{"userId": "u1", "itemId": "i2", "age": 30}] * 300
    np.testing.assert_allclose(model.scores(events)[0], expected, rtol=1e-6)
    for wrong in ({"age": [30, object()]}, {1: 2}, {"age": "3\0"}, {"userId": "u1", "age": 3 + 1j}):
        with pytest.raises((TypeError, ValueError)):
            model.scores([wrong])


def test_names_of_classes() -> None:
    pandas = pytest.importorskip("pandas")
    model = load_model(make.model("fm", "log", "names", "--solver", "lbfgs"))
    frame = pandas.read_csv(make.data("log", "names"))
    assert sorted(model.classes) == ["no", "yes"]
    predicted = model.predict(frame)
    assert (predicted == frame["click"]).mean() > 0.7
    inside = model.evaluate(frame)
    assert inside["accuracy"] == pytest.approx((predicted == frame["click"]).mean())
    assert [one["name"] for one in inside["classes"]] == list(model.classes)
    given_labels = model.evaluate(frame.drop(columns="click"), frame["click"])
    assert given_labels["auc"] == inside["auc"]


def test_current_folder_may_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make.model("fm", "log")
    monkeypatch.chdir(path.parent)
    model = load_model(path.name)
    monkeypatch.chdir(tmp_path)
    assert len(model.scores(make.data("log"))[0]) == 900


# ---- figures


def test_evaluation_against_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    model = load_model(make.model("gbdt"))
    X, _ = make.table()
    y = make.table()[1].copy()
    y[::7] = 1 - y[::7]
    weight = np.random.default_rng(3).random(len(y)).astype(np.float32)
    _, proba, label = model.scores(X)
    for w in (None, weight):
        figures = model.evaluate(X, y, sample_weight=w, curves=10000, calibration=10)
        assert figures["auc"] == pytest.approx(metrics.roc_auc_score(y, proba, sample_weight=w))
        assert figures["pr_auc"] == pytest.approx(metrics.average_precision_score(y, proba, sample_weight=w))
        assert figures["logloss"] == pytest.approx(metrics.log_loss(y, proba, sample_weight=w))
        assert figures["accuracy"] == pytest.approx(metrics.accuracy_score(y, label, sample_weight=w))
        assert figures["f1"] == pytest.approx(metrics.f1_score(y, label, sample_weight=w))
        np.testing.assert_allclose(figures["confusion"], metrics.confusion_matrix(y, label, sample_weight=w))
        assert figures["rows"] == 600 and "rmse" not in figures
        roc = figures["roc"]
        assert metrics.auc(np.r_[0, roc[:, 0]], np.r_[0, roc[:, 1]]) == pytest.approx(figures["auc"])
        assert sum(one["rows"] for one in figures["calibration"]) == pytest.approx(figures["weight"])
    assert "roc" not in model.evaluate(X, y) and "calibration" not in model.evaluate(X, y)


def test_evaluation_of_numbers() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    model = load_model(make.model("gbdt", "libsvm", "numbers"))
    X, y = make.table()[0], make.labels("numbers") + 1
    figures = model.evaluate(X, y)
    predicted = model.predict(X)
    assert figures["rmse"] == pytest.approx(metrics.mean_squared_error(y, predicted) ** 0.5, rel=1e-6)
    assert figures["mae"] == pytest.approx(metrics.mean_absolute_error(y, predicted), rel=1e-6)
    assert figures["r2"] == pytest.approx(metrics.r2_score(y, predicted), rel=1e-6)
    assert "auc" not in figures and "classes" not in figures


def test_evaluation_of_files_and_wrong_labels() -> None:
    model = load_model(make.model("lr"))
    X, y = make.table()
    assert model.evaluate(make.data("libsvm"))["auc"] == model.evaluate(X, y)["auc"]
    assert model.evaluate(X, y, threads=1)["loss"] == model.evaluate(X, y, threads=3)["loss"]
    with pytest.raises(TypeError, match="y, the labels"):
        model.evaluate(X)
    with pytest.raises(TypeError, match="its own labels"):
        model.evaluate(make.data("libsvm"), y)
    with pytest.raises(ValueError):
        model.evaluate(X, y[:-1])
    with pytest.raises(ValueError):
        model.evaluate(X, y + 5)
    with pytest.raises(ValueError):
        model.evaluate(X, y, sample_weight=-np.ones(len(y)))
    with pytest.raises(ValueError):
        model.evaluate(X, y, calibration=-1)


# ---- threads, signals, memory


def test_threads_have_no_influence() -> None:
    X = np.random.default_rng(4).normal(size=(20000, 6)).astype(np.float32)
    for path in (make.model("fm"), make.model("gbdt"), make.model("dnn")):
        model = load_model(path)
        np.testing.assert_array_equal(model.scores(X, threads=1), model.scores(X, threads=5))
    softmax = load_model(make.model("softmax", "libsvm", "classes"))
    np.testing.assert_array_equal(softmax.predict_proba(X, threads=1), softmax.predict_proba(X, threads=5))


def test_threads_at_once() -> None:
    model = load_model(make.model("fm"))
    X = np.random.default_rng(4).normal(size=(3000, 6)).astype(np.float32)
    expected = model.scores(X)
    wrong: list[int] = []

    def work(number: int) -> None:
        for i in range(30):
            rows = slice(0, None) if i % 3 == 0 else slice(number, number + 5)
            if not np.allclose(model.scores(X[rows]), [part[rows] for part in expected], rtol=1e-6):
                wrong.append(number)
            model.explain(X[:3])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_progress_ends_a_call() -> None:
    model = load_model(make.model("gbdt"))
    X = np.zeros((400000, 6), dtype=np.float32)
    seen: list[int] = []

    def stop(phase: str, done: int, total: int) -> bool:
        seen.append(done)
        return False

    with pytest.raises(furrow.CancelledError):
        model.scores(X, threads=1, progress=stop)
    assert seen and seen[0] < len(X)


def test_one_row_is_fast_and_leaks_nothing() -> None:
    model, log = load_model(make.model("lr")), load_model(make.model("fm", "log"))
    row = make.table()[0][:1]

    def use(times: int) -> int:
        """Memory after many calls."""
        for _ in range(times):
            model.predict(row)
            log.scores([{"userId": "u1", "itemId": "i2", "age": 30}])
        for _ in range(times // 50):
            model.explain(row)
            model.evaluate(row, [1])
            with pytest.raises(ValueError):
                model.predict(row[:, :2])
            with pytest.raises(furrow.ArgumentError):
                log.scores([{"no such column": "x"}])
        gc.collect()
        return memory()

    before = min(use(2000) for _ in range(2))
    start = time.process_time()
    for _ in range(10000):
        model.predict(row)
    seconds = time.process_time() - start
    assert min(use(2000) for _ in range(3)) - before < 2000
    assert seconds < 1  # some 3 microseconds each


def test_interrupt() -> None:
    model = load_model(make.model("gbdt"))
    X = np.zeros((300000, 6), dtype=np.float32)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    start, worked = time.monotonic(), time.process_time()
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        while time.monotonic() - start < 120:
            model.explain(X, threads=1)
    assert time.process_time() - worked < 10  # processor time, whatever else runs
    timer.join()
    assert len(model.scores(X[:10])[0]) == 10
