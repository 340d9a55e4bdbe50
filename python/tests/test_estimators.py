"""Classifier, Regressor and Ranker: training, prediction, files, mistakes."""

import copy
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import furrow
from furrow import estimators
from furrow.estimators import Classifier, Ranker, Regressor, ndcg
from furrow.model import load_model
from interrupts import run_interrupted

COMMAND = Path(__file__).parents[2] / "build" / "furrow"


def make_rows(rows=600, features=6, seed=0):
    """Two classes, of which most rows can be told apart by a line, and all but the noise by products."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, features))
    z = 2 * X[:, 0] - X[:, 1] + 0.5 * X[:, 2] * X[:, 3] + 0.3 * rng.normal(size=rows)
    return X, (z > 0).astype(int)


def make_sparse(rows=600, features=40, seed=0):
    sparse = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(seed)
    X = sparse.random(rows, features, density=0.2, format="csr", dtype=np.float32, random_state=seed)
    y = (X @ rng.normal(size=features) > 0).astype(int)
    return X, y


def write_libsvm(path, X, y):
    with open(path, "w") as file:
        for i, label in enumerate(y):
            row = X[i]
            pairs = " ".join(f"{j + 1}:{float(v):.9g}" for j, v in zip(row.indices, row.data))
            file.write(f"{label} {pairs}\n")


TWO_CLASSES = ["lr", "svm", "softmax", "mlr", "fm", "dnn", "wide_and_deep", "deepfm", "pnn", "nfm", "gbdt"]

# ---- Training and prediction


@pytest.mark.parametrize("name", TWO_CLASSES)
def test_all_models_separate_two_classes(name):
    X, y = make_rows()
    labels = np.where(y == 1, "yes", "no")
    model = Classifier(name, seed=3).fit(X, labels)
    assert list(model.classes_) == ["no", "yes"]
    assert model.score(X, labels) > 0.85
    proba, decision = model.predict_proba(X), model.decision_function(X)
    assert proba.shape == (len(X), 2) and np.allclose(proba.sum(axis=1), 1)
    assert ((decision > 0) == (model.predict(X) == "yes")).all()
    assert (model.classes_[proba.argmax(axis=1)] == model.predict(X)).all()
    assert np.allclose(np.exp(model.predict_log_proba(X)), proba)
    assert model.n_features_in_ == 6 and len(model.history_) == model.n_iter_
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("name", ["lr", "softmax", "gbdt", "fm", "dnn", "deepfm", "wide_and_deep", "pnn", "nfm"])
@pytest.mark.parametrize("labels", [["a", "b", "c"], [7, -2, 30], [1.0, 2.0, 3.0]])
def test_many_classes(name, labels):
    X, _ = make_rows()
    y = np.array(labels)[np.digitize(X[:, 0], [-0.5, 0.5])]
    model = Classifier(name, seed=1).fit(X, y)
    assert list(model.classes_) == sorted(labels)
    assert model.score(X, y) > 0.9
    assert model.predict_proba(X).shape == model.decision_function(X).shape == (len(X), 3)
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1)
    assert (model.classes_[model.decision_function(X).argmax(axis=1)] == model.predict(X)).all()
    assert model.algorithm_ == ("softmax" if name == "lr" else name)


@pytest.mark.parametrize("name", ["svm", "mlr", "ffm"])
def test_models_of_two_classes_refuse_three(name):
    X, _ = make_rows(30)
    with pytest.raises(ValueError, match=f"y has 3 classes, but {name} separates two"):
        Classifier(name).fit(X, np.arange(30) % 3)


@pytest.mark.parametrize("name", ["linear", "robust", "fm", "dnn", "deepfm", "gbdt"])
def test_all_models_of_numbers(name):
    X, _ = make_rows()
    y = 3 * X[:, 0] - X[:, 1] + 100
    model = Regressor(name, seed=1).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.predict(X[:5]).shape == (5,)
    assert not hasattr(model, "classes_") and not hasattr(model, "predict_proba")


def test_bool_labels_and_labels_of_objects():
    X, y = make_rows(100)
    model = Classifier().fit(X, y == 1)
    assert model.classes_.dtype == bool and model.predict(X).dtype == bool
    model = Classifier().fit(X, np.where(y == 1, "b", "a").astype(object))
    assert set(model.predict(X)) == {"a", "b"}


def test_sample_weights_and_class_weights_matter():
    X, y = make_rows()
    plain = Classifier().fit(X, y).predict_proba(X)[:, 1].mean()
    assert Classifier().fit(X, y, sample_weight=1 + 9 * y).predict_proba(X)[:, 1].mean() > plain + 0.02
    assert Classifier(class_weight={1: 10}).fit(X, y).predict_proba(X)[:, 1].mean() > plain + 0.02
    weighted = Classifier(class_weight={0: 1, 1: 10}).fit(X, y).predict_proba(X)
    assert np.allclose(weighted, Classifier().fit(X, y, sample_weight=1 + 9 * y).predict_proba(X), atol=1e-3)
    few = np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:20]])
    balanced = Classifier(class_weight="balanced").fit(X[few], y[few])
    assert abs(balanced.predict_proba(X[few])[:, 1].mean() - plain) > 0.05 or balanced.score(X, y) > 0.85
    with pytest.raises(ValueError, match="class_weight: 5 is not one of the classes"):
        Classifier(class_weight={5: 1}).fit(X, y)


def test_rows_without_weight_do_not_count():
    X, y = make_rows(200)
    weight = (np.arange(200) % 2).astype(float)
    left_out = Classifier().fit(X[weight > 0], y[weight > 0]).predict_proba(X)
    assert np.array_equal(Classifier().fit(X, y, sample_weight=weight).predict_proba(X), left_out)


def test_trees_take_missing_values():
    X, y = make_rows()
    X[::3, 0] = np.nan
    assert Classifier("gbdt", seed=1).fit(X, y).score(X, y) > 0.9
    with pytest.raises(ValueError, match="Input X contains NaN"):
        Classifier().fit(X, y)
    with pytest.raises(ValueError, match="infinity"):
        Classifier("gbdt").fit(np.where(np.isnan(X), np.inf, X), y)


def test_linear_models_have_coefficients():
    X, y = make_rows()
    model = Classifier().fit(X, y)
    assert model.coef_.shape == (1, 6) and model.intercept_.shape == (1,)
    assert np.allclose(X @ model.coef_[0] + model.intercept_, model.decision_function(X), atol=1e-4)
    three = Classifier().fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    assert three.coef_.shape == (3, 6) and three.intercept_.shape == (3,)
    assert ((X @ three.coef_.T + three.intercept_).argmax(axis=1) == three.predict(X)).all()
    line = Regressor(l2=0).fit(X, X @ np.arange(6) + 4)
    assert line.coef_.shape == (6,) and np.allclose(line.coef_, np.arange(6), atol=1e-3)
    assert abs(line.intercept_ - 4) < 1e-3
    with pytest.raises(AttributeError, match="linear models alone"):
        Classifier("gbdt", n_estimators=2).fit(X, y).coef_


def test_trees_have_importances():
    X, y = make_rows()
    model = Classifier("gbdt", seed=1).fit(X, y)
    assert model.feature_importances_.shape == (6,)
    assert abs(model.feature_importances_.sum() - 1) < 1e-9
    assert model.feature_importances_.argmax() == 0
    assert not hasattr(Classifier().fit(X, y), "feature_importances_")


# ---- The same model as the command's


@pytest.mark.skipif(not COMMAND.exists(), reason="the command is not built")
@pytest.mark.parametrize("name, setting", [("lr", ""), ("svm", ""), ("fm", "rank"), ("fm", "factors"), ("deepfm", ""), ("gbdt", "depth")])
def test_the_model_is_that_of_the_command(tmp_path, name, setting):
    X, y = make_sparse()
    write_libsvm(tmp_path / "rows.libsvm", X, y)
    more = ["--" + setting, "3"] if setting else []
    subprocess.run(
        [COMMAND, "train", "--model", name, "--seed", "5", *more, "--train", tmp_path / "rows.libsvm"]
        + ["--index-base", "1", "--out", tmp_path / "model", "-q"],
        check=True,
    )
    model = Classifier(name, seed=5, **({setting: 3} if setting else {})).fit(X, y)
    assert np.array_equal(load_model(tmp_path / "model").scores(X)[0], model.model_.scores(X)[0])
    model.save(tmp_path / "saved")
    for file in (tmp_path / "model").rglob("*"):
        if file.is_file() and file.name not in ("graph.json", "furrow.json"):
            assert file.read_bytes() == (tmp_path / "saved" / file.relative_to(tmp_path / "model")).read_bytes()


def test_factors_is_another_name_of_rank():
    X, y = make_sparse()
    scores = [Classifier("fm", seed=2, **{name: 3}).fit(X, y).decision_function(X) for name in ("rank", "factors")]
    assert np.array_equal(scores[0], scores[1])
    with pytest.raises(ValueError, match="'rank' is set twice"):
        Classifier("fm", rank=3, factors=3).fit(X, y)


def test_threads_do_not_change_the_model():
    X, y = make_sparse()
    for name in ("lr", "fm", "gbdt"):
        scores = [Classifier(name, seed=2, threads=n).fit(X, y).decision_function(X) for n in (1, 2, 3)]
        assert np.array_equal(scores[0], scores[1]) and np.array_equal(scores[0], scores[2])
    assert not np.array_equal(
        Classifier("gbdt", seed=2).fit(X, y).decision_function(X),
        Classifier("gbdt", seed=3).fit(X, y).decision_function(X),
    )


def test_an_array_and_a_sparse_matrix_of_it_give_the_same_model():
    sparse = pytest.importorskip("scipy.sparse")
    X, y = make_rows(200)
    dense = Classifier().fit(X.astype(np.float32), y).predict_proba(X)
    for kind in (sparse.csr_matrix, sparse.csc_matrix, sparse.coo_matrix):
        assert np.allclose(Classifier().fit(kind(X.astype(np.float32)), y).predict_proba(X), dense, atol=1e-5)


# ---- Peers


def test_scikit_learn_is_as_accurate():
    linear_model = pytest.importorskip("sklearn.linear_model")
    X, y = make_rows(2000)
    peer = linear_model.LogisticRegression().fit((X - X.mean(0)) / X.std(0), y)
    assert abs(peer.score((X - X.mean(0)) / X.std(0), y) - Classifier().fit(X, y).score(X, y)) < 0.005
    of_same_strength = Classifier(l2=1).fit(X, y)
    assert np.allclose(peer.predict_proba((X - X.mean(0)) / X.std(0)), of_same_strength.predict_proba(X), atol=0.01)
    numbers = X @ np.arange(6.0) + np.random.default_rng(0).normal(size=2000)
    ridge = linear_model.Ridge(alpha=1).fit((X - X.mean(0)) / X.std(0), numbers)
    assert np.allclose(ridge.predict((X - X.mean(0)) / X.std(0)), Regressor(l2=1).fit(X, numbers).predict(X), atol=0.02)


def test_xgboost_is_not_better():
    xgboost = pytest.importorskip("xgboost")
    metrics = pytest.importorskip("sklearn.metrics")
    X, y = make_rows(4000, 10)
    peer = xgboost.XGBClassifier(n_estimators=200, learning_rate=0.1, max_depth=6, n_jobs=2)
    theirs = peer.fit(X[:2000], y[:2000]).predict_proba(X[2000:])[:, 1]
    ours = Classifier("gbdt", seed=1).fit(X[:2000], y[:2000]).predict_proba(X[2000:])[:, 1]
    assert metrics.roc_auc_score(y[2000:], ours) > metrics.roc_auc_score(y[2000:], theirs) - 0.005


# ---- Frames, logs, files


def make_log(rows=800):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {
            "city": rng.choice(["Berlin", "Paris", "Rome, Italy"], rows),
            "age": rng.integers(18, 80, rows),
            "device": pandas.Categorical(rng.choice(["ios", "android"], rows)),
        }
    )
    buys = ((frame["city"] == "Rome, Italy") & (frame["device"] == "ios")) | (frame["age"] > 60)
    return frame, np.where(buys, "buys", "no")


def test_frames_of_numbers_have_names():
    pandas = pytest.importorskip("pandas")
    X, y = make_rows(200, 4)
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    model = Classifier().fit(frame, y)
    named = Classifier().fit(frame.assign(y=y), label="y")
    assert list(named.feature_names_in_) == ["a", "b", "c", "d"]
    assert np.array_equal(named.predict_proba(frame), model.predict_proba(frame))
    for wrong in ({"label": "z"}, {"label": "a", "y": y}):
        with pytest.raises(ValueError, match="label"):
            Classifier().fit(frame, **wrong)
    with pytest.raises(ValueError, match="label: names a column|requires y"):
        Classifier().fit(X, label="a")
    assert list(model.feature_names_in_) == ["a", "b", "c", "d"]
    assert np.array_equal(model.predict(frame), Classifier().fit(X, y).predict(X))
    with pytest.raises(ValueError, match="should match those that were passed during fit"):
        model.predict(frame[["b", "a", "c", "d"]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)


@pytest.mark.parametrize("name", ["lr", "fm", "ffm", "gbdt", "deepfm"])
def test_frames_with_strings(name):
    frame, y = make_log()
    model = Classifier(name, seed=1).fit(frame, y)
    assert list(model.classes_) == ["buys", "no"] and list(model.feature_names_in_) == list(frame.columns)
    assert model.score(frame, y) > (0.99 if name != "lr" else 0.8)
    assert np.array_equal(model.predict(frame[["age", "device", "city"]]), model.predict(frame))
    assert ((model.decision_function(frame) > 0) == (model.predict(frame) == "no")).all()


def test_frames_with_strings_weights_and_validation():
    frame, y = make_log()
    model = Classifier("fm", seed=1).fit(
        frame, y, sample_weight=np.ones(len(y)), eval_set=(frame[:100], y[:100])
    )
    assert model.history_[-1]["valid_rows"] == 100
    numbers = np.where(y == "no", 1.5, 20.25) + frame["age"].to_numpy()
    assert Regressor("gbdt").fit(frame, numbers).score(frame, numbers) > 0.9


def test_more_than_ten_classes_in_a_frame_keep_their_order():
    frame, _ = make_log()
    y = np.array([f"class {i}" for i in np.arange(len(frame)) % 12])
    model = Classifier().fit(frame.assign(of=y), y)
    assert list(model.classes_) == sorted(set(y)) and model.score(frame.assign(of=y), y) == 1
    proba = model.predict_proba(frame.assign(of=y))
    assert (model.classes_[proba.argmax(axis=1)] == y).all()


def test_logs_in_files(tmp_path):
    frame, y = make_log()
    frame.assign(label=y).to_csv(tmp_path / "log.csv", index=False)
    from furrow.schema import Schema

    schema = Schema.propose(tmp_path / "log.csv", label="label")
    for model in (
        Classifier(schema="auto").fit(tmp_path / "log.csv", label="label"),
        Classifier(schema=schema).fit(str(tmp_path / "log.csv")),
        Classifier(schema=schema).fit(frame, y),
        Classifier().fit(frame.assign(label=y), label="label"),
    ):
        assert list(model.classes_) == ["buys", "no"]
        assert model.score(frame, y) > 0.8
        assert ((model.decision_function(frame) > 0) == (model.predict(frame) == "no")).all()


def test_samples_in_files(tmp_path):
    X, y = make_sparse()
    write_libsvm(tmp_path / "rows.libsvm", X, np.where(y == 1, 7, 3))
    model = Classifier(index_base=1).fit(tmp_path / "rows.libsvm", eval_set=tmp_path / "rows.libsvm")
    assert list(model.classes_) == [3, 7]
    assert model.predict(X).dtype == np.int64 and (model.predict(X) == np.where(y == 1, 7, 3)).mean() > 0.9
    assert model.history_[-1]["valid_rows"] == len(y)
    with pytest.raises(ValueError, match="y: rows of files have it in the files"):
        Classifier().fit(tmp_path / "rows.libsvm", y)
    with pytest.raises(furrow.NotFoundError):
        Classifier().fit(tmp_path / "absent.libsvm")


@pytest.mark.parametrize("algorithm", ["lr", "fm", "dnn", "gbdt"])
def test_a_saved_model_knows_its_columns(algorithm, tmp_path):
    X, y = make_rows()
    Classifier(algorithm).fit(X, y).save(tmp_path / "model")
    model = furrow.load_model(tmp_path / "model")
    for columns in (X.shape[1] - 1, X.shape[1] + 1):
        with pytest.raises(ValueError, match=f"X has {columns} features, but the model was trained on {X.shape[1]}"):
            model.predict(np.zeros((2, columns)))


def test_rows_of_furrow(tmp_path):
    X, y = make_sparse()
    write_libsvm(tmp_path / "rows.libsvm", X, y)
    path = str(tmp_path / "rows.libsvm")  # which counts from 1
    for samples in (path, furrow.read_rows(path), furrow.read_rows(path).load()):
        model = Classifier().fit(samples)
        assert list(model.classes_) == [0, 1]
        for same in (path, furrow.read_rows(path), furrow.read_rows(path).load(), X):
            assert (model.predict(same) == y).mean() > 0.9
    rows = furrow.read_rows(path + "?indexing_mode=1")
    model = Classifier().fit(rows)
    for same in (rows, rows.to_scipy(), X):
        assert (model.predict(same) == y).mean() > 0.9
    with pytest.raises(ValueError, match="index-base|count from 0 or from 1"):
        model.predict(path)
    of_file = Classifier().fit(path)
    half = furrow.read_rows(path, nparts=2)
    assert np.array_equal(of_file.predict(half), of_file.predict(X)[: half.shape[0]])


def test_dicts_of_columns():
    frame, y = make_log()
    columns = {name: frame[name].to_numpy() for name in frame}
    model = Classifier("gbdt", seed=1).fit(columns, y)
    assert np.array_equal(model.predict(columns), Classifier("gbdt", seed=1).fit(frame, y).predict(frame))
    assert list(model.feature_names_in_) == list(frame.columns) and model.feature_importances_.shape == (3,)
    numbers = {"a": np.arange(20.0), "b": np.arange(20) % 3}
    assert list(Classifier().fit(numbers, np.arange(20) > 9).feature_names_in_) == ["a", "b"]


# ---- Figures, notes, progress


def test_history_and_validation():
    X, y = make_rows()
    model = Classifier("fm", seed=1, epochs=12, patience=3, validation_fraction=0.25).fit(X, y)
    assert [epoch["epoch"] for epoch in model.history_] == list(range(1, len(model.history_) + 1))
    assert model.history_[0]["valid_rows"] == 150 and 0 < model.history_[0]["train_loss"] < 1
    assert 1 <= model.best_epoch_ <= len(model.history_) <= 12
    best = min(model.history_, key=lambda epoch: epoch["valid_loss"])
    assert best["epoch"] == model.best_epoch_
    labels = np.where(y == 1, "b", "a")
    others, theirs = make_rows(200, seed=9)
    model = Classifier("gbdt", patience=5, seed=1).fit(X, labels, eval_set=[(others, np.where(theirs == 1, "b", "a"))])
    assert model.history_[-1]["valid_rows"] == 200
    assert model.model_._scorer.forest()["trees"] == model.best_epoch_ <= len(model.history_) < 200
    with pytest.raises(ValueError, match="eval_set has the label 'c'"):
        Classifier().fit(X, labels, eval_set=(X[:2], ["a", "c"]))
    with pytest.raises(ValueError, match="eval_set: X has 2 features"):
        Classifier().fit(X, labels, eval_set=(X[:2, :2], labels[:2]))


def test_useless_models_warn():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 30)), rng.integers(0, 2, 400)
    with pytest.warns(UserWarning, match="(no better|worse) than a constant"):
        model = Classifier("svm", learning_rate=5.0, optimizer="sgd", epochs=3).fit(X, y)
    assert any("constant" in note for note in model.notes_)


@pytest.mark.parametrize("name", ["fm", "deepfm", "pnn"])
def test_columns_far_from_zero_keep_their_part(name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    y, z = (X[:, 0] * X[:, 1] > 0).astype(int), X[:, 0] * X[:, 1] + X[:, 2]
    for mean in (0, 3e3, 1e4, 1e5):
        train, test = X[:2000] + mean, X[2000:] + mean
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", ".*AUC of the validation rows is 1")
            classes = Classifier(name, seed=1).fit(train, y[:2000])
            numbers = Regressor(name, seed=1).fit(train, z[:2000])
        assert classes.score(test, y[2000:]) > 0.95
        assert numbers.score(test, z[2000:]) > 0.98
        assert any("doubles" in note for note in classes.notes_) == (mean > 0)


def test_columns_too_far_from_zero_warn():
    X, y = make_rows(500, 4)
    with pytest.warns(UserWarning, match=r"column 1 has the mean 1e\+06 .*subtract its mean"):
        Classifier("fm", epochs=2).fit(X + [0, 1e6, 0, 0], y)
    with pytest.warns(UserWarning, match="column 1 has the mean 9999.* floats .*subtract its mean"):
        Classifier("fm", epochs=2, model_type="T_FLOAT_DENSE").fit(X + [0, 1e4, 0, 0], y)


@pytest.mark.parametrize("name", ["lr", "svm", "softmax", "linear", "robust"])
def test_learning_rates_matter(name):
    X, y = make_rows()
    Estimator = Regressor if name in ("linear", "robust") else Classifier
    y = X[:, 0] + 3.0 * y if Estimator is Regressor else y
    losses = []
    for rate in (1e-4, 0.01, 0.1):
        model = Estimator(name, learning_rate=rate, epochs=5, seed=1).fit(X, y)
        assert {epoch["learning_rate"] for epoch in model.history_} == {rate}
        losses.append(model.history_[-1]["train_loss"])
    assert losses[0] > losses[1] > losses[2]


def test_learning_rates_without_effect_warn():
    X, y = make_rows()
    with pytest.warns(UserWarning, match="`lr` has no effect: AdaDelta has no learning rate"):
        Classifier("lr", learning_rate=0.1, optimizer="adadelta", epochs=2).fit(X, y)


def test_a_minimum_that_is_not_reached_warns():
    X, y = make_rows(500, 40)
    with pytest.warns(UserWarning, match="the minimum was not reached"):
        Classifier(epochs=1, l2=1e-12).fit(X[:, :30] * 10.0 ** (np.arange(30) % 5), (X[:, 0] > 0).astype(int))


def test_callbacks():
    X, y = make_rows()
    seen = []
    model = Classifier("gbdt", seed=1).fit(X, y, callback=lambda epoch: seen.append(epoch) or len(seen) < 7)
    assert len(seen) == 7 == len(model.history_)
    assert seen == model.history_
    assert model.score(X, y) > 0.8
    with pytest.raises(ZeroDivisionError):
        Classifier("gbdt").fit(X, y, callback=lambda epoch: 1 // 0)
    told = []
    Classifier("fm", epochs=3).fit(X, y, progress=lambda *progress: told.append(progress))
    assert all(isinstance(phase, str) and done <= total for phase, done, total in told if total)
    with pytest.raises(furrow.CancelledError):
        Classifier("gbdt", n_estimators=5000).fit(X, y, progress=lambda *progress: False)


def test_a_callback_may_not_train_the_same_model():
    X, y = make_rows(100)
    model = Classifier("svm", epochs=3).fit(X, y)
    trainer = model._fitted.trainer
    caught = []

    def train(epoch):
        try:
            trainer.notes()
        except furrow.StateError as error:
            caught.append(error)

    with estimators.open_rows(X, labels=y) as source:
        trainer.fit(source.uri, None, {}, {}, train, None)
    assert len(caught) == 3


def test_a_bar(capfd):
    pytest.importorskip("tqdm")
    X, y = make_rows()
    Classifier("gbdt", n_estimators=400).fit(X, y, progress=True)
    assert capfd.readouterr().out == ""


# ---- Ctrl-C

LONG = """
import numpy as np
from furrow.estimators import Classifier
rng = np.random.default_rng(0)
X = rng.normal(size=(20000, 20)); y = (X[:, 0] > 0).astype(int)
model = Classifier({model!r}, **{first}).fit(X[:100], y[:100])
before = model.predict_proba(X[:5])
model.set_params(**{then})
"""


@pytest.mark.parametrize(
    "model, first, then",
    [
        ("gbdt", {"n_estimators": 5}, {"n_estimators": 100000}),
        ("fm", {"epochs": 2}, {"epochs": 100000, "patience": 100000}),
    ],
)
def test_ctrl_c_stops_a_fit(model, first, then):
    setup = LONG.format(model=model, first=first, then=then)
    after = "print((model.predict_proba(X[:5]) == before).all())"
    assert run_interrupted(setup, "model.fit(X, y)", after) == ["stopped True", "True"]


def test_a_signal_handler_that_raises_stops_a_fit():
    class Alarm(Exception):
        pass

    def ring(*_):
        raise Alarm

    X, y = make_rows(5000)
    before = signal.signal(signal.SIGALRM, ring)
    try:
        with pytest.raises(Alarm):
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            Classifier("gbdt", n_estimators=100000).fit(X, y)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_fits_of_several_threads():
    X, y = make_rows(300)
    wanted = Classifier("gbdt", n_estimators=20, seed=1, threads=1).fit(X, y).predict_proba(X)
    results = [None] * 4

    def work(i):
        results[i] = Classifier("gbdt", n_estimators=20, seed=1, threads=1).fit(X, y).predict_proba(X)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(result, wanted) for result in results)


# ---- Step by step


@pytest.mark.parametrize("name", ["lr", "svm", "fm", "dnn", "deepfm"])
def test_partial_fit(name):
    X, y = make_rows(2000)
    labels = np.where(y == 1, "b", "a")
    model = Classifier(name, seed=1)
    for _ in range(5):
        for first in range(0, 2000, 500):
            model.partial_fit(X[first : first + 500], labels[first : first + 500], classes=["a", "b"])
    assert model.score(X, labels) > 0.85
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        Classifier(name).partial_fit(X, labels)
    with pytest.raises(ValueError, match="which is not one of the classes"):
        model.partial_fit(X[:1], ["c"])
    with pytest.raises(ValueError, match="X has 2 features"):
        model.partial_fit(X[:1, :2], ["a"])


@pytest.mark.parametrize("name", ["lr", "svm", "fm", "dnn"])
def test_partial_fit_goes_on_from_fit(name, tmp_path):
    X, y = make_rows(2000)
    model = Classifier(name, seed=1).fit(X, y)
    good, before = model.score(X, y), model.decision_function(X)
    old = model.model_
    model.partial_fit(X[:64], y[:64])
    assert model.score(X, y) > good - 0.05 and not np.array_equal(model.decision_function(X), before)
    assert np.array_equal(old.scores(X)[0], before)
    if name in ("fm", "dnn"):
        with pytest.raises(furrow.StateError, match="trained this model further"):
            old.save(tmp_path / "model")
    else:
        old.save(tmp_path / "model")
        assert np.array_equal(load_model(tmp_path / "model").scores(X)[0], before)


@pytest.mark.parametrize("name", ["lr", "softmax", "fm", "deepfm"])
def test_partial_fit_goes_on_from_a_pickle(name):
    X, y = make_rows(2000)
    y = np.where(y == 1, "b", "a")
    model = Classifier(name, seed=1).partial_fit(X, y, classes=["a", "b"])
    good = model.score(X, y)
    other = pickle.loads(pickle.dumps(model))
    assert other.partial_fit(X, y).score(X, y) > good - 0.02
    assert not np.array_equal(other.predict_proba(X), model.predict_proba(X))
    fitted = pickle.loads(pickle.dumps(Classifier(name, seed=1).fit(X, y)))
    good = fitted.score(X, y)
    assert fitted.partial_fit(X[:64], y[:64]).score(X, y) > good - 0.05
    line = pickle.loads(pickle.dumps(Regressor(seed=1).fit(X, X[:, 0])))
    assert line.partial_fit(X[:64], X[:64, 0]).score(X, X[:, 0]) > 0.9


def test_partial_fit_of_numbers():
    X, _ = make_rows(2000)
    y = X[:, 0] - 2 * X[:, 1]
    model = Regressor(learning_rate=0.1, optimizer="sgd")
    for _ in range(5):
        model.partial_fit(X, y)
    assert model.score(X, y) > 0.95
    assert not hasattr(Regressor("gbdt"), "partial_fit") and not hasattr(Classifier("gbdt"), "partial_fit")
    with pytest.raises(AttributeError, match="trees cannot be trained step by step"):
        Classifier("gbdt").partial_fit


# ---- Parameters


def test_parameters():
    model = Classifier("gbdt", n_estimators=7, min_rows=3, reg_lambda=0.5)
    params = model.get_params()
    assert params["min_rows"] == 3 and params["reg_lambda"] == 0.5 and params["epochs"] is None
    assert model.set_params(min_rows=4, max_depth=2) is model
    assert model.min_rows == 4 and model.get_params()["max_depth"] == 2
    assert "min_rows=4" in repr(model)
    X, y = make_rows(200)
    assert model.fit(X, y).n_iter_ == 7
    assert model.model_._scorer.setting("min-rows") == "4"
    with pytest.raises(TypeError, match="fit is not the name of a parameter"):
        Classifier(fit=1)


@pytest.mark.parametrize(
    "name, settings, message",
    [
        ("lr", {"learning_rat": 1}, "there is no setting learning_rat; the nearest is learning_rate"),
        ("gbdt", {"min_child_weigth": 1}, "the nearest is min_child_weight"),
        ("lr", {"learning_rate": 0.1, "lr": 0.2}, "set twice"),
        ("lr", {"learning_rate": "fast"}, "lr must be a number"),
        ("lr", {"max_depth": 3}, "depth is not for lr"),
        ("lr", {"labels": "1,2"}, "fit sets the key 'labels' itself"),
        ("lrr", {}, "there is no model 'lrr'"),
        ("linear", {}, "there is no model 'linear'"),
        ("fm", {"loss": "l2"}, "cannot predict classes"),
    ],
)
def test_wrong_settings(name, settings, message):
    X, y = make_rows(50)
    model = Classifier(name, **settings)
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, y)
    assert not hasattr(model, "classes_") and not hasattr(model, "model_")


def test_all_aliases_are_keys():
    known = {key["name"].replace("_", "-") for key in estimators.settings()}
    assert set(estimators.ALIASES.values()) <= known


# ---- Mistakes


@pytest.mark.parametrize(
    "X, y, message",
    [
        (np.zeros((0, 3)), [], "0 sample"),
        (np.zeros((4, 0)), [0, 1, 0, 1], "0 feature"),
        (np.zeros(4), [0, 1, 0, 1], "Expected 2D array, got 1D array"),
        (np.zeros((4, 2, 2)), [0, 1, 0, 1], "dim 3"),
        (np.zeros((4, 2), dtype=complex), [0, 1, 0, 1], "Complex"),
        ([["a"], ["b"]], [0, 1], "could not convert string"),
        (np.eye(4), [0, 1, 0], "inconsistent numbers of samples"),
        (np.eye(4), [0, 1, np.nan, 1], "NaN"),
        (np.eye(4), [0, 1, np.inf, 1], "infinity"),
        (np.eye(4), [0, 1, None, 1], "NaN"),
        (np.eye(4), [1, 1, 1, 1], "one class"),
        (np.eye(4), [0.5, 1.25, 2, 3], "Unknown label type"),
        (np.eye(4), np.eye(4), "1d array"),
        (np.eye(4), None, "requires y"),
        (np.full((4, 1), 1e300), [0, 1, 0, 1], "too large"),
    ],
)
def test_wrong_data(X, y, message):
    for name in ("lr", "gbdt"):
        model = Classifier(name)
        with pytest.raises(ValueError, match=message):
            model.fit(X, y)
        assert not hasattr(model, "classes_")


@pytest.mark.parametrize("weight", [[1, 2], [1, -1, 1, 1], [0, 0, 0, 0], [1, np.nan, 1, 1], np.eye(4)])
def test_wrong_weights(weight):
    with pytest.raises(ValueError, match="(?i)sample.weight"):
        Classifier().fit(np.eye(4), [0, 1, 0, 1], sample_weight=weight)


def test_numbers_that_are_all_the_same_are_refused():
    with pytest.raises(ValueError, match="nothing to learn"):
        Regressor().fit(np.eye(4), np.ones(4))


def test_a_failed_fit_leaves_the_model_as_it_was():
    X, y = make_rows(200)
    model = Classifier().fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError):
        model.fit(X[:, :2], np.ones(200))
    assert np.array_equal(model.predict_proba(X), before)


def test_not_fitted():
    for use in (lambda m: m.predict([[1]]), lambda m: m.predict_proba([[1]]), lambda m: m.model_):
        with pytest.raises((ValueError, AttributeError), match="not fitted yet"):
            use(Classifier())


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 40), st.integers(1, 5), st.integers(0, 2**32 - 1), st.sampled_from(["lr", "gbdt", "svm"]))
def test_any_small_data_trains_or_is_refused(rows, features, seed, name):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((rows, features)) < 0.3, 0, rng.normal(size=(rows, features)) * 10.0 ** rng.integers(-3, 4))
    y = rng.integers(0, 2, rows)
    model = Classifier(name, threads=1, **({"n_estimators": 3} if name == "gbdt" else {}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if len(set(y)) < 2:
            with pytest.raises(ValueError, match="one class"):
                model.fit(X, y)
            return
        proba = model.fit(X, y).predict_proba(X)
    assert np.isfinite(proba).all() and (proba >= 0).all()


# ---- Copies, memory


def test_pickle_and_copy():
    X, y = make_rows(200)
    frame, labels = make_log()
    for model, rows in ((Classifier("gbdt", n_estimators=5).fit(X, y), X), (Classifier("fm").fit(frame, labels), frame)):
        for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
            assert np.array_equal(other.predict_proba(rows), model.predict_proba(rows))
            assert other.get_params() == model.get_params() and other.history_ == model.history_


def test_many_fits_do_not_leak():
    X, y = make_rows(50)

    def memory():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def train(times):
        for i in range(times):
            Classifier("lr", threads=1).fit(X, y).predict(X)
            Classifier("gbdt", threads=1, n_estimators=3).fit(X, y).predict(X)

    train(100)
    before = memory()
    train(400)
    assert memory() - before < 8 << 20


def test_it_works_without_scikit_learn():
    code = """
        import sys
        sys.modules["sklearn"] = None
        import numpy as np
        from furrow.estimators import Classifier, Regressor
        X = np.random.default_rng(0).normal(size=(100, 3))
        model = Classifier("lr", min_gain=None).fit(X, X[:, 0] > 0)
        assert model.score(X, X[:, 0] > 0) > 0.95
        assert Regressor().fit(X, X[:, 0]).score(X, X[:, 0]) > 0.95
        assert repr(model) == "Classifier(model='lr')", repr(model)
        assert Classifier(**model.get_params()).set_params(l2=3).get_params()["l2"] == 3
        try:
            Classifier().predict(X)
        except (ValueError, AttributeError) as error:
            assert type(error).__name__ == "NotFittedError"
        assert "sklearn.base" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)


def test_importing_furrow_does_not_import_scikit_learn():
    code = "import furrow, sys; assert not {'sklearn', 'scipy', 'pandas'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


# ---- Order


def test_ndcg_is_that_of_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    y, scores, qid = rng.integers(0, 4, 60), rng.random(60).round(1), np.repeat([2, 1, 7], 20)
    for k in (5, 10, None):
        wanted = [metrics.ndcg_score([2.0 ** y[qid == q] - 1], [scores[qid == q]], k=k) for q in (2, 1, 7)]
        assert abs(ndcg(y, scores, qid, k=k) - np.mean(wanted)) < 1e-12
    assert np.isnan(ndcg([0, 0], [1, 2]))


def test_a_ranker_of_a_log():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    user = rng.integers(0, 60, 3000)
    item = (user * 3 + rng.integers(0, 12, 3000)) % 90
    frame = pandas.DataFrame({"who": user.astype(str), "what": item.astype(str)}).drop_duplicates()
    model = Ranker("fm", seed=1, rank=8, epochs=30).fit(frame, user="who", item="what")
    everything = pandas.DataFrame([(u, i) for u in range(60) for i in range(90)], columns=["who", "what"]).astype(str)
    taken = set(map(tuple, frame.to_numpy()))
    y = [int(tuple(row) in taken) for row in everything.to_numpy()]
    assert model.score(everything, y, qid=everything["who"]) > 0.8
    assert model.history_[-1]["valid_ndcg"] > 0.3


def test_a_ranker_of_groups():
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(600, 4)), np.repeat(np.arange(60), 10)
    y = np.clip(np.round(X[:, 0] + 1), 0, 4)
    with pytest.raises(ValueError, match="qid"):
        Ranker().fit(X, y)
    model = Ranker(seed=1, n_estimators=20).fit(X, y, qid=qid)
    assert model.score(X, y, qid) > 0.95
    assert abs(model.history_[-1]["train_ndcg"] - model.score(X, y, qid)) < 1e-9
    names = np.array([f"query {q}" for q in qid])
    assert np.array_equal(Ranker(seed=1, n_estimators=20).fit(X, y, qid=names).predict(X), model.predict(X))
    order = rng.permutation(600)
    mixed = Ranker(seed=1, n_estimators=20).fit(X[order], y[order], qid=qid[order], eval_set=(X, y, qid))
    assert mixed.score(X, y, qid) > 0.95 and mixed.history_[-1]["valid_rows"] == 600
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        Ranker().fit(X, y, qid=qid[:-1])
    with pytest.raises(ValueError, match="nothing to rank"):
        Ranker().fit(X, y, qid=np.arange(600))
    with pytest.raises(ValueError, match="a triple"):
        Ranker().fit(X, y, qid=qid, eval_set=(X, y))


def test_a_ranker_is_as_good_as_that_of_xgboost():
    xgboost = pytest.importorskip("xgboost")
    rng = np.random.default_rng(1)
    X, qid = rng.normal(size=(3000, 6)), np.repeat(np.arange(300), 10)
    y = np.clip(np.round(X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=3000) + 1), 0, 4)
    train, test = slice(0, 2000), slice(2000, 3000)
    peer = xgboost.XGBRanker(objective="rank:ndcg", n_estimators=100, learning_rate=0.1, n_jobs=2)
    theirs = ndcg(y[test], peer.fit(X[train], y[train], qid=qid[train]).predict(X[test]), qid[test])
    ours = Ranker(seed=1, n_estimators=100).fit(X[train], y[train], qid=qid[train]).score(X[test], y[test], qid[test])
    assert ours > theirs - 0.01
