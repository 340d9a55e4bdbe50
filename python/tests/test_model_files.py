"""Models as files and bytes: saving, pickle, damage, models of the real Angel."""

from __future__ import annotations

import filecmp
import json
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import furrow
from furrow import _core
from furrow.matrix import save_matrix
from furrow.model import Model, list_matrices, load_model
import model_makers as make

X = make.table()[0]


def same_folders(a: Path, b: Path) -> bool:
    compared = filecmp.dircmp(a, b)
    return (
        not compared.left_only
        and not compared.right_only
        and not filecmp.cmpfiles(a, b, compared.common_files, shallow=False)[1]
        and all(same_folders(a / name, b / name) for name in compared.common_dirs)
    )


def test_save_copies(tmp_path: Path) -> None:
    path = make.model("fm", "log")
    model = load_model(path)
    model.save(tmp_path / "copy")
    assert same_folders(path, tmp_path / "copy")
    with pytest.raises(furrow.ExistsError):
        model.save(tmp_path / "copy")
    load_model(make.model("lr")).save(tmp_path / "copy", overwrite=True)
    assert load_model(tmp_path / "copy").algorithm == "lr"
    assert [entry.name for entry in tmp_path.iterdir()] == ["copy"]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(furrow.ExistsError):
        model.save(tmp_path / "mine", overwrite=True)
    assert (tmp_path / "mine" / "thesis.txt").exists()
    with pytest.raises(OSError):
        model.save(tmp_path / "absent" / "copy")


@pytest.mark.parametrize("form", ["libsvm", "csv", "log"])
def test_bytes(form: str, tmp_path: Path) -> None:
    model = load_model(make.model("fm", form))
    rows = make.data(form)
    again = Model.from_bytes(model.to_bytes())
    np.testing.assert_array_equal(again.scores(rows), model.scores(rows))
    assert again.info == model.info and again.algorithm == "fm" and again.to_bytes() == model.to_bytes()
    again.save(tmp_path / "copy")
    assert same_folders(make.model("fm", form), tmp_path / "copy")
    matrices = again.matrices
    del again
    np.testing.assert_array_equal(
        matrices["embedding_embedding"].to_numpy(), model.matrices["embedding_embedding"].to_numpy()
    )
    assert list(matrices) == ["embedding_embedding", "input_bias", "input_weight"] and len(matrices) == 3


def test_files_in_memory_go_with_the_model() -> None:
    packed = load_model(make.model("lr")).to_bytes()
    model = Model.from_bytes(packed)
    folder = model._folder
    assert folder is not None and _core.list_model(folder)
    del model
    with pytest.raises(furrow.Error):
        _core.list_model(folder)


def test_pickle_in_another_process(tmp_path: Path) -> None:
    model = load_model(make.model("gbdt"))
    np.save(tmp_path / "x.npy", X)
    (tmp_path / "model.pickle").write_bytes(pickle.dumps(model))
    program = (
        "import pickle, sys, numpy as np; model = pickle.load(open(sys.argv[1] + '/model.pickle', 'rb')); "
        "np.save(sys.argv[1] + '/y.npy', model.scores(np.load(sys.argv[1] + '/x.npy')))"
    )
    root = str(Path(furrow.__file__).resolve().parents[1])
    subprocess.run([sys.executable, "-c", program, tmp_path], check=True, cwd=root)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), model.scores(X))


def test_bytes_that_are_not_a_model() -> None:
    packed = load_model(make.model("lr")).to_bytes()
    other = packed.replace(b'"files"', b'"fyles"')
    for data in (b"", b"x", packed[:10], packed[:-1], packed + b"x", packed[:40], other):
        with pytest.raises(ValueError):
            Model.from_bytes(data)
    rng = np.random.default_rng(1)
    for _ in range(200):
        damaged = bytearray(packed)
        damaged[rng.integers(len(packed))] ^= 1 << rng.integers(8)
        try:
            Model.from_bytes(bytes(damaged)).scores(X)
        except (furrow.Error, ValueError, TypeError):
            pass


def test_info() -> None:
    model = load_model(make.model("lr", "csv"))
    info = model.info
    assert info["data"]["rows"] == 600 and info["labels"] == [0, 1] and info["data"]["columns"] == list("abcdef")
    assert info["figures"]["train"]["auc"] == pytest.approx(model.evaluate(make.data("csv"))["auc"], rel=1e-6)
    assert model.settings["columns"] == "a,b,c,d,e,f" and model.n_features == 6


def test_cards() -> None:
    assert "lr" in load_model(make.model("lr", "csv"))._repr_html_()
    assert "userId, itemId" in load_model(make.model("fm", "log"))._repr_html_()


# ---- wrong use, damage


def test_paths_that_are_not_models(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "absent")
    with pytest.raises(furrow.Error):
        load_model(tmp_path)
    (tmp_path / "file").write_text("text")
    with pytest.raises(furrow.Error):
        load_model(tmp_path / "file")
    with pytest.raises((TypeError, ValueError)):
        load_model("a\0b")
    with pytest.raises(TypeError):
        load_model(None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="fc_order"):
        load_model(make.model("lr"), fc_order="sideways")
    with pytest.raises(furrow.ArgumentError):
        load_model(make.model("lr"), settings={"no-such-key": 1})
    with pytest.raises(TypeError, match="both"):
        load_model(make.model("lr"), conf="a.json", algorithm="lr")


@pytest.mark.parametrize("algorithm, form", [("lr", "csv"), ("fm", "log"), ("gbdt", "libsvm")])
def test_damaged_models(tmp_path: Path, algorithm: str, form: str) -> None:
    """Every cut and every changed byte is an exception or a model, never a crash."""
    folder = tmp_path / "m"
    shutil.copytree(make.model(algorithm, form), folder)
    rng = np.random.default_rng(1)
    rows = make.data(form)
    refused = 0
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        whole = path.read_bytes()
        for trial in range(12):
            changed = bytearray(whole[: rng.integers(len(whole))] if trial % 2 else whole)
            if trial % 2 == 0:
                for _ in range(1 + trial):
                    changed[rng.integers(len(changed))] ^= 1 << rng.integers(8)
            path.write_bytes(changed)
            try:
                model = load_model(folder)
                model.scores(rows)
                model.info
                if algorithm != "fm" or form != "log":
                    model.explain(rows)
            except (furrow.Error, ValueError, MemoryError):
                refused += 1
        path.unlink()
        try:
            load_model(folder).scores(rows)
        except furrow.Error:
            refused += 1
        path.write_bytes(whole)
    assert refused > 10
    assert len(load_model(folder).scores(rows)[0]) > 0


# ---- models of Angel's


def test_model_of_a_cluster() -> None:
    path = make.GOLDEN / "angel" / "real_models" / "lr"
    if not path.exists():
        pytest.skip("there are no golden files")
    model = load_model(path)
    assert model.info == {} and list_matrices(path).keys() == {"input_weight", "input_bias"}
    assert model.n_features == 123 and model.algorithm is None and model.n_classes == 2
    weight, bias = model.matrices["input_weight"], model.matrices["input_bias"]
    rows = np.zeros((3, 123), dtype=np.float32)
    rows[0, 5] = rows[1, 7] = rows[2, [5, 7]] = 1
    expected = rows @ weight.row(0)[1] + bias[0, 0]
    np.testing.assert_allclose(model.decision_function(rows), expected, rtol=1e-5)
    data = make.GOLDEN.parent / "data" / "a9a_123d_train.libsvm"
    if data.exists():
        scores = np.stack(model.scores(data), axis=1)
        np.testing.assert_array_equal(scores.astype(np.float32), make.predicted(path, data))
        assert model.evaluate(data)["auc"] > 0.85


def test_model_without_a_graph(tmp_path: Path) -> None:
    folder = tmp_path / "angel"
    folder.mkdir()
    weight = np.array([[0.5, -1, 2]], dtype=np.float32)
    save_matrix(folder / "wide_weight", weight, format="ColIdValueTextRowFormat")
    save_matrix(folder / "wide_bias", np.array([[0.25]], dtype=np.float32), format="ColIdValueTextRowFormat")
    conf = tmp_path / "conf.json"
    layers = [
        {"name": "wide", "type": "SimpleInputLayer", "outputdim": 1, "transfunc": "identity"},
        {"name": "loss", "type": "SimpleLossLayer", "inputlayer": "wide", "lossfunc": "logloss"},
    ]
    conf.write_text(json.dumps({"data": {"format": "libsvm", "indexrange": 3}, "layers": layers}))
    with pytest.raises(furrow.NotFoundError):
        load_model(folder)
    model = load_model(folder, conf=conf)
    rows = np.array([[1, 0, 0], [0, 1, 1]], dtype=np.float32)
    np.testing.assert_allclose(model.decision_function(rows), rows @ weight[0] + 0.25, rtol=1e-6)
    again = pickle.loads(pickle.dumps(model))
    conf.unlink()
    np.testing.assert_array_equal(again.scores(rows), model.scores(rows))


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(furrow.NotFoundError, match="nope: there is no such folder"):
        load_model(tmp_path / "nope")


def test_an_empty_path_is_not_the_current_folder(monkeypatch):
    monkeypatch.chdir(make.model("lr", "csv"))
    assert load_model(".").classes is not None
    for call in (load_model, furrow.Classifier.load, furrow.Recommender.load, furrow.Encoder.load):
        with pytest.raises(furrow.ArgumentError, match="empty|is given"):
            call("")
