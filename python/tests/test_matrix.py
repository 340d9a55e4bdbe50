"""Matrices: every format read and written, against what the real system wrote."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import furrow
from furrow.matrix import Matrix, load_matrix, save_matrix

FORMATS = [
    "ValueTextRowFormat",
    "ValueBinaryRowFormat",
    "ColIdValueTextRowFormat",
    "ColIdValueBinaryRowFormat",
    "RowIdColIdValueTextRowFormat",
    "RowIdColIdValueBinaryRowFormat",
    "TextColumnFormat",
    "BinaryColumnFormat",
]
SPARSE_FORMATS = FORMATS[2:]
DTYPES = [np.float64, np.float32, np.int64, np.int32]

GOLDEN = Path(os.environ.get("FURROW_GOLDEN", Path(__file__).resolve().parents[3] / "shared" / "golden")) / "angel"
CASES = sorted(path.parent for path in GOLDEN.glob("*/expected.tsv"))


def numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: type) -> np.ndarray:
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, size=shape, dtype=dtype)
    return rng.normal(size=shape).astype(dtype)


# ---- what the real system wrote


@pytest.mark.skipif(not CASES, reason="there are no golden files")
@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_golden(case: Path) -> None:
    about = json.loads((case / "case.json").read_text())
    if about.get("separator", ",") != "," and about["format"].startswith("Value"):
        pytest.skip("the separator of one value in a line cannot be seen")
    matrix = load_matrix(case)
    lines = [line.split("\t") for line in (case / "expected.tsv").read_text().splitlines()]
    assert matrix.count >= len(lines) > 0
    for row, column, text in lines:
        value = matrix[int(row), int(column)]
        expected = matrix.dtype.type(int(text) if matrix.dtype.kind == "i" else float(text))
        assert value == expected or (np.isnan(value) and np.isnan(expected)), (row, column)
    assert matrix.meta["row_type"] == about["rowType"]


@pytest.mark.skipif(not CASES, reason="there are no golden files")
@pytest.mark.parametrize("case", CASES, ids=lambda path: path.name)
def test_every_element_has_one_place(case: Path) -> None:
    matrix = load_matrix(case)
    dense = matrix.to_numpy()
    sparse = matrix.to_scipy()
    assert dense.shape == (len(matrix.rows), len(matrix.columns))
    for i, row in enumerate(matrix.rows):
        columns, values = matrix.row(int(row))
        at = np.searchsorted(matrix.columns, columns)
        np.testing.assert_array_equal(dense[i, at], values)
        np.testing.assert_array_equal(sparse[int(row), columns].toarray()[0] if len(columns) else values, values)
    for j in (0, len(matrix.columns) - 1):
        rows, values = matrix.column(int(matrix.columns[j]))
        np.testing.assert_array_equal(dense[np.searchsorted(matrix.rows, rows), j], values)


# ---- round trips


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("format", FORMATS)
def test_dense_round_trip(tmp_path: Path, format: str, dtype: type) -> None:
    array = numbers(np.random.default_rng(1), (3, 7), dtype)
    save_matrix(tmp_path / "m", array, format=format)
    matrix = load_matrix(tmp_path / "m")
    assert matrix.dtype == dtype and matrix.meta["format"].endswith(format) and matrix.meta["name"] == "m"
    np.testing.assert_array_equal(matrix.to_numpy(), array)
    np.testing.assert_array_equal(np.asarray(matrix), array)
    assert matrix.shape == (3, 7) and list(matrix.rows) == [0, 1, 2] and list(matrix.columns) == list(range(7))


@pytest.mark.parametrize("format", SPARSE_FORMATS)
def test_sparse_round_trip(tmp_path: Path, format: str) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    array = sparse.random(5, 1000, density=0.02, format="csr", dtype=np.float32, random_state=1)
    if "Column" in format:  # a column has a value for each row: zeros are stored
        array = sparse.csr_matrix(array[:, :60])
    save_matrix(tmp_path / "m", array, format=format)
    back = load_matrix(tmp_path / "m").to_scipy()
    assert back.shape == array.shape
    assert (back != array).nnz == 0


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 300), st.integers(1, 9), st.sampled_from(FORMATS), st.integers(0, 9), st.integers(1, 5))
def test_shapes(rows: int, columns: int, format: str, seed: int, block: int) -> None:
    import tempfile

    array = np.random.default_rng(seed).normal(size=(rows, columns))
    with tempfile.TemporaryDirectory() as folder:
        save_matrix(folder + "/m", array, format=format, block_cols=block, servers=2)
        matrix = load_matrix(folder + "/m")
        np.testing.assert_array_equal(matrix.to_numpy(), array)


def test_ids_of_rows_and_columns(tmp_path: Path) -> None:
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    save_matrix(tmp_path / "m", array, rows=[3, 9], columns=[5, 70, 2**40])
    matrix = load_matrix(tmp_path / "m")
    assert matrix.meta["row_type"] == "T_FLOAT_SPARSE_LONGKEY"
    assert list(matrix.rows) == [3, 9] and list(matrix.columns) == [5, 70, 2**40]
    np.testing.assert_array_equal(matrix.to_numpy(), array)
    assert matrix[9, 70] == 4 and matrix[9, 71] == 0
    with pytest.raises(KeyError):
        matrix.row(4)
    assert len(matrix.column(6)[0]) == 0


def test_matrix_is_saved_again(tmp_path: Path) -> None:
    array = np.random.default_rng(1).normal(size=(4, 6))
    save_matrix(tmp_path / "a", array, format="TextColumnFormat")
    save_matrix(tmp_path / "b", load_matrix(tmp_path / "a"), format="RowIdColIdValueBinaryRowFormat")
    np.testing.assert_array_equal(load_matrix(tmp_path / "b").to_numpy(), array)


def test_views_have_no_copies(tmp_path: Path) -> None:
    save_matrix(tmp_path / "m", np.ones((8, 50), dtype=np.float32), format="BinaryColumnFormat")
    matrix = load_matrix(tmp_path / "m")
    view = matrix.to_numpy()
    assert len(matrix.panels) == 1 and not view.flags.writeable and not view.flags.owndata
    assert np.shares_memory(view, matrix.row(3)[1])
    del matrix
    assert view.sum() == 400


def test_lists_and_small_types(tmp_path: Path) -> None:
    save_matrix(tmp_path / "a", [[1, 2], [3, 4]])
    assert load_matrix(tmp_path / "a").meta["row_type"] == "T_LONG_DENSE"
    for dtype, expected in ((np.float16, "FLOAT"), (np.uint8, "INT"), (np.bool_, "INT"), (np.uint32, "LONG")):
        save_matrix(tmp_path / "b", np.ones((1, 2), dtype=dtype), overwrite=True)
        assert load_matrix(tmp_path / "b").meta["row_type"] == f"T_{expected}_DENSE"


# ---- wrong use


def test_refused(tmp_path: Path) -> None:
    array = np.ones((2, 3))
    save_matrix(tmp_path / "m", array)
    with pytest.raises(furrow.ExistsError):
        save_matrix(tmp_path / "m", array)
    save_matrix(tmp_path / "m", 2 * array, overwrite=True)
    assert load_matrix(tmp_path / "m").to_numpy().sum() == 12
    with pytest.raises(FileNotFoundError):
        load_matrix(tmp_path / "absent")
    with pytest.raises(furrow.NotFoundError, match="NoFormat"):
        save_matrix(tmp_path / "x", array, format="NoFormat")
    with pytest.raises(TypeError):
        save_matrix(tmp_path / "x", np.array([["a"]]))
    with pytest.raises(TypeError):
        save_matrix(tmp_path / "x", array + 1j)
    with pytest.raises(ValueError):
        save_matrix(tmp_path / "x", np.ones((2, 2, 2)))
    with pytest.raises(ValueError):
        save_matrix(tmp_path / "x", array, rows=[1])
    with pytest.raises(OverflowError):
        save_matrix(tmp_path / "x", array, rows=[0, 2**31])
    with pytest.raises(ValueError):
        save_matrix(tmp_path / "x", array, rows=[1, 0])
    with pytest.raises(ValueError):
        save_matrix(tmp_path / "x", array, columns=[1, 0, 2])
    with pytest.raises(TypeError, match="no parameter"):
        save_matrix(tmp_path / "x", array, blocks=3)
    with pytest.raises(OverflowError):
        save_matrix(tmp_path / "x", np.array([[2**63]], dtype=np.uint64))
    with pytest.raises(furrow.RangeError):
        save_matrix(tmp_path / "x", np.array([[2.5]]), row_type="T_INT_DENSE")
    with pytest.raises(ValueError, match="without rows"):
        save_matrix(tmp_path / "x", np.ones((0, 3)))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m"]


@pytest.mark.parametrize("format", FORMATS)
def test_damaged(tmp_path: Path, format: str) -> None:
    """Every cut and every changed byte is an exception or a matrix, never a crash."""
    array = np.random.default_rng(1).normal(size=(2, 5))
    save_matrix(tmp_path / "m", array, format=format)
    rng = np.random.default_rng(2)
    for path in sorted((tmp_path / "m").iterdir()):
        whole = path.read_bytes()
        for trial in range(40):
            cut = bytearray(whole[: rng.integers(len(whole))] if trial % 2 else whole)
            if trial % 2 == 0:
                cut[rng.integers(len(cut))] ^= 1 << rng.integers(8)
            path.write_bytes(cut)
            try:
                assert isinstance(load_matrix(tmp_path / "m"), Matrix)
            except (furrow.Error, ValueError, MemoryError):
                pass
            if trial % 2:
                with pytest.raises((furrow.Error, ValueError)):
                    load_matrix(tmp_path / "m")
        path.write_bytes(whole)
    np.testing.assert_array_equal(load_matrix(tmp_path / "m").to_numpy(), array)
