"""Indices of text that count from 0 or from 1: whatever reads a file, and however, sees the same columns."""

from __future__ import annotations

import os
import pickle
import threading

import numpy as np
import pytest

import furrow
from furrow.rows import read_rows, write_rows

sp = pytest.importorskip("scipy.sparse")


def samples(rows=300, columns=12):
    """Each column decides alone in some rows, so that a shift by one column is seen in the accuracy."""
    rng = np.random.default_rng(3)
    X = sp.random(rows, columns, 0.4, "csr", dtype=np.float32, random_state=3)
    X.data = np.where(rng.random(X.nnz) < 0.5, -1, 1).astype(np.float32)
    y = (X @ np.where(np.arange(columns) % 2, 3, -3) + rng.normal(size=rows) * 0.1 > 0).astype(np.float32)
    return X, y


@pytest.fixture(params=[0, 1])
def file(request, tmp_path):
    X, y = samples()
    path = tmp_path / "a.libsvm"
    write_rows(path, X, y, index_base=request.param)
    return str(path), X, y, request.param


def test_what_is_read(file):
    path, X, y, base = file
    rows = read_rows(path)
    assert rows.index_base == base and not rows.loaded
    assert rows.shape == X.shape and (rows.to_scipy() != X).nnz == 0
    assert (sp.vstack([block.to_scipy(X.shape[1]) for block in read_rows(path)]) != X).nnz == 0
    loaded = read_rows(path).load()
    assert loaded.index_base == base and loaded.shape == X.shape and np.array_equal(loaded.indices, X.indices)
    assert (pickle.loads(pickle.dumps(rows)).to_scipy() != X).nnz == 0
    for given in (read_rows(path, index_base=base), read_rows(f"{path}?indexing_mode={base}")):
        assert given.index_base == base and given.index_base_given and (given.to_scipy() != X).nnz == 0
    found = read_rows(f"{path}?indexing_mode=-1")
    assert found.index_base == base and (found.to_scipy() != X).nnz == 0


def test_as_scikit_learn_finds_it(file):
    datasets = pytest.importorskip("sklearn.datasets")
    path, X, y, base = file
    theirs = datasets.load_svmlight_file(path)[0]
    assert theirs.shape == X.shape and abs(theirs - read_rows(path).to_scipy()).max() == 0


def test_the_other_base(file):
    path, X, y, base = file
    if base == 0:
        with pytest.raises(furrow.RangeError, match="counts from 1"):
            read_rows(path, index_base=1).load()
    else:
        raw = read_rows(path, index_base=0)
        assert raw.shape == (X.shape[0], X.shape[1] + 1) and raw.to_scipy()[:, 0].nnz == 0 and raw.index_base == 0


def test_parts_have_the_base_of_the_whole(tmp_path):
    """Only the last row has the index 0."""
    path = tmp_path / "a.libsvm"
    path.write_text("".join(f"1 {i % 5 + 1}:1 7:2\n" for i in range(1000)) + "0 0:1\n")
    whole = read_rows(path).to_scipy()
    assert whole.shape == (1001, 8)
    for cache in (None, tmp_path / "cache"):
        parts = [read_rows(path, part=i, nparts=3, cache=cache) for i in range(3)]
        assert [part.index_base for part in parts] == [0, 0, 0]
        assert (sp.vstack([part.to_scipy(8) for part in parts]) != whole).nnz == 0
        blocks = [block for part in parts for block in read_rows(path, part=part.part, nparts=3)]
        assert (sp.vstack([block.to_scipy(8) for block in blocks]) != whole).nnz == 0


def test_a_cache_has_the_same_columns(file, tmp_path):
    path, X, y, base = file
    for _ in range(2):
        rows = read_rows(path, cache=tmp_path / "cache")
        assert (sp.vstack([block.to_scipy(X.shape[1]) for block in rows]) != X).nnz == 0
        assert rows.index_base == base and (read_rows(path, cache=tmp_path / "cache").to_scipy() != X).nnz == 0
        write_rows(tmp_path / "copy", rows, overwrite=True)
        assert (read_rows(tmp_path / "copy").to_scipy() != X).nnz == 0


def test_fields_count_as_indices_do(tmp_path):
    path = tmp_path / "a.libffm"
    path.write_text("1 1:3:0.5 2:4:1\n0 1:7:2\n")
    rows = read_rows(path, format="libffm")
    assert rows.index_base == 1 and rows.fields.tolist() == [0, 1, 0] and rows.indices.tolist() == [2, 3, 6]
    rows.save(tmp_path / "copy", format="libffm")
    assert (tmp_path / "copy").read_text() == path.read_text()
    path.write_text("1 0:3:0.5 2:4:1\n")
    rows = read_rows(path, format="libffm")
    assert rows.index_base == 0 and rows.fields.tolist() == [0, 2] and rows.indices.tolist() == [3, 4]


def test_indices_without_values_count_from_0(tmp_path):
    path = tmp_path / "a"
    path.write_text("1 3 5\n0 1\n")
    for rows in (read_rows(path), read_rows(path, format="libsvm")):
        assert rows.index_base == 0 and next(iter(rows)).indices.tolist() == rows.indices.tolist() == [3, 5, 1]
        write_rows(tmp_path / "copy", rows, overwrite=True)
        assert (tmp_path / "copy").read_text() == path.read_text()
    assert read_rows(path, format="dummy", index_base=1).indices.tolist() == [2, 4, 0]


def test_pipes(tmp_path):
    """They cannot be looked at before: iterating takes 1, as training does, and refuses a 0."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)

    def opened(text, **options):
        writer = threading.Thread(target=lambda: fifo.write_text(text))
        writer.start()
        rows = read_rows(fifo, format="libsvm", **options)
        writer.join()
        return rows

    assert opened("1 1:1 3:2\n").load().indices.tolist() == [0, 2]
    assert opened("1 0:1 3:2\n").load().indices.tolist() == [0, 3]
    assert [block.indices.tolist() for block in opened("1 1:1 3:2\n")] == [[0, 2]]
    assert [block.indices.tolist() for block in opened("1 0:1 3:2\n", index_base=0)] == [[0, 3]]
    with pytest.raises(ValueError, match="index_base=0"):
        list(opened("1 0:1 3:2\n"))


def test_what_index_base_may_be(file, tmp_path):
    path, X, y, base = file
    for wrong in (2, -1, True, "one", None):
        with pytest.raises(ValueError, match="index_base"):
            read_rows(path, index_base=wrong)
    with pytest.raises(ValueError, match="indexing_mode=0"):
        read_rows(f"{path}?indexing_mode=0", index_base=1)
    assert read_rows(f"{path}?indexing_mode={base}", index_base=base).index_base == base
    table = tmp_path / "a.csv"
    table.write_text("1,2\n0,3\n")
    assert read_rows(table, format="csv").index_base is None
    with pytest.raises(furrow.ArgumentError, match="indexing_mode"):
        read_rows(table, format="csv", index_base=1)
    with pytest.raises(ValueError, match="index_base is 0 or 1"):
        write_rows(tmp_path / "b", X, y, index_base=2)


def test_an_empty_first_column_survives(tmp_path):
    """Text that counts from 1 cannot be taken for other text, so that this is what is written."""
    X, y = samples()
    X = sp.hstack([sp.csr_matrix((X.shape[0], 1), dtype=np.float32), X]).tocsr()
    path, copy, table = tmp_path / "a", tmp_path / "b", tmp_path / "c.csv"
    write_rows(path, X, y)
    assert (read_rows(path).to_scipy() != X).nnz == 0
    write_rows(copy, path)
    assert copy.read_bytes() == path.read_bytes()
    write_rows(table, path, format="csv")
    again = read_rows(f"{table}?label_column=0&header=no", format="csv").to_numpy()
    assert np.array_equal(np.nan_to_num(again), X.toarray())


# ---- training and scoring: whatever was trained on, and whatever is scored


def forms(path, base, missing):
    """The samples of a file as an estimator takes them: (X, y)."""
    rows = read_rows(path)
    return {
        "path": (path, None),
        "rows": (read_rows(path), None),
        "loaded": (read_rows(path).load(), None),
        "given": (read_rows(path, index_base=base), None),
        "uri": (f"{path}?indexing_mode={base}", None),
        "part": (read_rows(path, nparts=2), None),
        "skip": (read_rows(path, on_bad="skip"), None),
        "csr": (rows.to_scipy(), rows.labels),
        "table": (read_rows(path).to_numpy(missing=missing), rows.labels),
    }


@pytest.mark.parametrize("algorithm", ["lr", "gbdt"])
def test_all_pairs(file, algorithm):
    path, X, y, base = file
    # the rows that choose a strength are drawn by their contents, which a table has in other columns
    settings = {"seed": 1, "l2": 1} if algorithm == "lr" else {"seed": 1}
    proba = furrow.Classifier(algorithm, **settings).fit(X, y).predict_proba(X)
    assert ((proba[:, 1] > 0.5) == y).mean() > 0.95
    for trained, (data, labels) in forms(path, base, algorithm == "gbdt").items():
        model = furrow.Classifier(algorithm, **settings).fit(data, labels)
        expected = model.predict_proba(X)
        if trained != "part":
            np.testing.assert_allclose(expected, proba, rtol=1e-4, atol=1e-5, err_msg=trained)
        for scored, (other, _) in forms(path, base, algorithm == "gbdt").items():
            message = f"{trained} scores {scored}"
            try:
                found = model.predict_proba(other)
            except ValueError as error:  # a path, by a model that does not know what text counts from
                assert scored == "path" and trained not in ("path", "rows", "loaded", "uri"), message
                assert "index-base" in str(error) or "count from 0 or from 1" in str(error)
                continue
            np.testing.assert_allclose(found, expected[: len(found)], rtol=1e-5, atol=1e-6, err_msg=message)


def test_few_rows_without_the_first_column(file, tmp_path):
    """A model of files knows what they count from, even where the rows that it scores do not show it."""
    path, X, y, base = file
    few = X[:40].toarray()
    few[:, 0] = 0
    small = tmp_path / "few.libsvm"
    write_rows(small, few, y[:40], index_base=base)
    model = furrow.Classifier("lr").fit(path)
    expected = model.predict_proba(few)
    for rows in (str(small), read_rows(small), read_rows(small).load(), read_rows(small, index_base=base)):
        np.testing.assert_array_equal(model.predict_proba(rows), expected)
    half = read_rows(small, nparts=2)
    np.testing.assert_array_equal(model.predict_proba(half), expected[: half.shape[0]])


def test_validation_data(file):
    """The loss of validation data equals the loss of training data, if they are the same."""
    path, X, y, base = file
    losses = []
    for data, valid in ((path, path), (path, read_rows(path)), (read_rows(path), path), (path, read_rows(path).load())):
        losses.append(furrow.Classifier("lr").fit(data, eval_set=valid).history_[-1]["valid_loss"])
    losses.append(furrow.Classifier("lr").fit(X, y, eval_set=(X, y)).history_[-1]["valid_loss"])
    np.testing.assert_allclose(losses, losses[0], rtol=1e-4)
