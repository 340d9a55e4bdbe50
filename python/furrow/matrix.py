"""Matrices as Angel stores them: a folder with a metadata file and data files in one of eight formats.

>>> import tempfile, numpy as np
>>> with tempfile.TemporaryDirectory() as folder:
...     save_matrix(folder + "/weight", np.array([[1.5, 0, -2]], dtype=np.float32), format="ValueBinaryRowFormat")
...     load_matrix(folder + "/weight").to_numpy()
array([[ 1.5,  0. , -2. ]], dtype=float32)
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from furrow import _core
from furrow._arrays import as_array, refuse_masks

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Array = npt.NDArray[Any]
Path = str | os.PathLike[str]

_DTYPES = {"f64": np.float64, "f32": np.float32, "i64": np.int64, "i32": np.int32}
_ELEMENTS = {"f8": "f64", "f4": "f32", "i8": "i64", "i4": "i32"}
_NAMES = {"f64": "DOUBLE", "f32": "FLOAT", "i64": "LONG", "i32": "INT"}
_MANY_ROWS = 256  # from here on a dense array is saved as one panel, which is a copy


class Panel(NamedTuple):
    """A rectangle of elements: each of its rows has an element in each of its columns."""

    rows: npt.NDArray[np.int32]  #: ids of its rows
    columns: npt.NDArray[np.int64]  #: ids of its columns
    values: Array  #: rows x columns, a view of the library's memory


class Matrix:
    """A matrix in memory, as load_matrix and Model.matrices give it. It does not change.

    rows, columns: the ids of the rows and columns that have elements, ascending. An optimizer's rows are often not
    saved, and a sparse matrix has few of its columns: shape says how many there are in all.
    """

    def __init__(self, core: _core.Matrix) -> None:
        self._core = core
        self.meta = core.meta()  #: what the metadata says: name, format, row_type, rows, columns, options …
        self.dtype: np.dtype[Any] = np.dtype(_DTYPES[core.type()])  #: of the elements
        self.panels = [_make_panel(*panel) for panel in core.panels()]  #: all elements; no two have the same row
        empty: list[Array] = [np.empty(0, dtype=np.int32)]
        self.rows: npt.NDArray[np.int32] = np.sort(np.concatenate([p.rows for p in self.panels] or empty))
        self.columns: npt.NDArray[np.int64] = self._all_columns()

    def _all_columns(self) -> npt.NDArray[np.int64]:
        lists = [panel.columns for panel in self.panels]
        if len(lists) == 0:
            return np.empty(0, dtype=np.int64)
        if all(np.array_equal(lists[0], other) for other in lists[1:]):
            return lists[0]
        return np.unique(np.concatenate(lists))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns in all, saved or not; columns are -1 where there is no limit."""
        return self.meta["rows"], self.meta["columns"]

    @property
    def count(self) -> int:
        """Number of elements."""
        return sum(panel.values.size for panel in self.panels)

    def __repr__(self) -> str:
        return (
            f"<furrow.Matrix {self.meta['name'] or ''}: {len(self.rows)} rows x {len(self.columns)} columns, "
            f"{self.count} elements of {self.dtype}>"
        )

    def row(self, row: int) -> tuple[npt.NDArray[np.int64], Array]:
        """Columns and values of the elements of a row, as views; KeyError: the row was not saved."""
        for panel in self.panels:
            at = int(np.searchsorted(panel.rows, row))
            if at < len(panel.rows) and panel.rows[at] == row:
                return panel.columns, panel.values[at]
        raise KeyError(f"row {row} was not saved")

    def column(self, column: int) -> tuple[npt.NDArray[np.int32], Array]:
        """Rows and values of the elements of a column; both are empty where there are none."""
        rows, values = [np.empty(0, dtype=np.int32)], [np.empty(0, dtype=self.dtype)]
        for panel in self.panels:
            at = int(np.searchsorted(panel.columns, column))
            if at < len(panel.columns) and panel.columns[at] == column:
                rows.append(panel.rows)
                values.append(panel.values[:, at])
        ids, elements = np.concatenate(rows), np.concatenate(values)
        order = np.argsort(ids, kind="stable")
        return ids[order], elements[order]

    def __getitem__(self, at: tuple[int, int]) -> Any:
        """The element in a row and column, by their ids; 0 where there is none."""
        columns, values = self.row(at[0])
        i = int(np.searchsorted(columns, at[1]))
        return values[i] if i < len(columns) and columns[i] == at[1] else self.dtype.type(0)

    def to_numpy(self) -> Array:
        """All elements as an array, in the order of `rows` and `columns`; 0 where there is none.

        A view of the library's memory, which cannot be written to, where one panel has all elements; else a copy.
        """
        if len(self.panels) == 1:
            return self.panels[0].values
        dense = np.zeros((len(self.rows), len(self.columns)), dtype=self.dtype)
        for panel in self.panels:
            rows = np.searchsorted(self.rows, panel.rows)
            dense[np.ix_(rows, np.searchsorted(self.columns, panel.columns))] = panel.values
        return dense

    def __array__(self, dtype: Any = None) -> Array:
        array = self.to_numpy()
        return array if dtype is None else array.astype(dtype)

    def to_scipy(self) -> csr_matrix:
        """All elements as a sparse matrix of SciPy, whose rows and columns are the ids."""
        from scipy.sparse import coo_matrix

        if len(self.columns) and self.columns[0] < 0:
            raise ValueError(f"column {self.columns[0]} is negative, which SciPy does not take")
        rows = [np.repeat(panel.rows.astype(np.int64), len(panel.columns)) for panel in self.panels]
        columns = [np.tile(panel.columns, len(panel.rows)) for panel in self.panels]
        values = [panel.values.ravel() for panel in self.panels]
        shape = (
            max([self.shape[0], *(int(p.rows[-1]) + 1 for p in self.panels if len(p.rows))]),
            max([self.shape[1], 0, *(int(p.columns[-1]) + 1 for p in self.panels if len(p.columns))]),
        )
        if not values:
            return coo_matrix(shape, dtype=self.dtype).tocsr()
        triple = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
        return coo_matrix(triple, shape=shape, dtype=self.dtype).tocsr()


def _make_panel(rows: Any, columns: Any, first: int, values: Any) -> Panel:
    elements = np.asarray(values)
    ids = np.arange(first, first + elements.shape[0]) if columns is None else np.asarray(columns)
    return Panel(np.asarray(rows), ids, elements.T)


def load_matrix(
    path: Path,
    *,
    format: str | None = None,
    row_type: str | None = None,
    separator: str | None = None,
    meta_name: str | None = None,
    threads: int = 0,
    memory: int = 0,
) -> Matrix:
    """Loads a matrix folder.

    format, row_type, separator, meta_name: for files that do not say it, or say it wrongly.
    memory: the most bytes that the matrix may take; 0: no limit.
    """
    options = {
        "format": format,
        "row_type": row_type,
        "separator": separator,
        "meta_name": meta_name,
        "threads": threads,
        "memory": memory,
    }
    return Matrix(_core.Matrix.load(os.fspath(path), options))


# ---- saving


def save_matrix(
    path: Path,
    matrix: Any,
    *,
    format: str = "RowIdColIdValueTextRowFormat",
    name: str | None = None,
    rows: Any = None,
    columns: Any = None,
    row_type: str | None = None,
    overwrite: bool = False,
    **options: Any,
) -> None:
    """Saves an array, a sparse matrix of SciPy or a Matrix as a matrix folder, which appears in one step.

    format: one of Angel's (ValueBinaryRowFormat, TextColumnFormat …). name: by default the name of the folder.
    rows, columns: ids of the rows and columns of an array, ascending; 0, 1 … by default.
    row_type: as T_FLOAT_DENSE; by default as the elements are.
    options: rows and columns of a partition (block_rows, block_cols), part_size, max_parts, hash_parts, servers,
    parts_per_file, separator, meta_name, angel_bytes, matrix_id, cols (columns in all), threads.
    """
    panels, shape = _panels_of(matrix, rows, columns)
    if not panels:
        raise ValueError("a matrix without rows cannot be saved")
    element = _ELEMENTS[panels[0].values.dtype.str[1:]]
    spec: dict[str, Any] = {"rows": shape[0], "cols": shape[1], "format": format, "overwrite": overwrite}
    spec["name"] = name or os.path.basename(os.path.normpath(os.fspath(path)))
    spec["row_type"] = row_type or _row_type(matrix, element, shape[1], columns is not None)
    parts = [(panel.rows, panel.columns, 0, np.ascontiguousarray(panel.values.T)) for panel in panels]
    _core.save_matrix(os.fspath(path), element, parts, spec | options)


def _row_type(matrix: Any, element: str, columns: int, chosen: bool) -> str:
    """The row type that fits the elements; chosen: the caller gave the columns, which may be few."""
    if isinstance(matrix, Matrix) and matrix.meta["row_type"]:
        return str(matrix.meta["row_type"])
    sparse = chosen or hasattr(matrix, "tocsr")
    kind = "_DENSE" if not sparse else "_SPARSE" if columns <= 1 << 31 else "_SPARSE_LONGKEY"
    return f"T_{_NAMES[element]}{kind}"


def _panels_of(matrix: Any, rows: Any, columns: Any) -> tuple[list[Panel], tuple[int, int]]:
    """Panels of the elements, and the shape."""
    if isinstance(matrix, Matrix) or hasattr(matrix, "tocsr"):
        if rows is not None or columns is not None:
            raise TypeError("rows and columns are for arrays: the matrix has its own")
    if isinstance(matrix, Matrix):
        end = int(matrix.columns[-1]) + 1 if len(matrix.columns) else 1
        return matrix.panels, (matrix.shape[0], matrix.shape[1] if matrix.shape[1] > 0 else end)
    if hasattr(matrix, "tocsr"):
        return _panels_of_csr(matrix.tocsr()), matrix.shape
    refuse_masks(matrix, "matrix")
    return _panels_of_array(_as_elements(as_array(matrix)), rows, columns)


def _as_elements(array: Array) -> Array:
    """The array in a type that matrices have, without loss."""
    if array.dtype in _DTYPES.values() and array.dtype.isnative:
        return array
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind not in "fiub" or (kind == "f" and size > 8):
        raise TypeError(f"a matrix has elements of float64, float32, int64 or int32, not of {array.dtype}")
    if kind == "u" and size == 8 and array.size and int(array.max()) > np.iinfo(np.int64).max:
        raise OverflowError("an element is beyond 2^63 - 1")
    if kind == "f":
        return array.astype(np.float64 if size == 8 else np.float32)
    return array.astype(np.int32 if size < 4 or (kind == "i" and size == 4) else np.int64)


def _panels_of_array(array: Array, rows: Any, columns: Any) -> tuple[list[Panel], tuple[int, int]]:
    if array.ndim == 1:
        array = array.reshape(1, -1)
    if array.ndim != 2:
        raise ValueError(f"an array of 2 dimensions is needed, not of {array.ndim}")
    row_ids = _ids(rows, array.shape[0], "rows", np.int32)
    column_ids = _ids(columns, array.shape[1], "columns", np.int64)
    shape = (int(row_ids[-1]) + 1 if len(row_ids) else 0, int(column_ids[-1]) + 1 if len(column_ids) else 0)
    if len(row_ids) > _MANY_ROWS:
        return [Panel(row_ids, column_ids, array)], shape
    return [Panel(row_ids[i : i + 1], column_ids, array[i : i + 1]) for i in range(len(row_ids))], shape


def _ids(ids: Any, count: int, name: str, dtype: Any) -> Array:
    if ids is None:
        return np.arange(count, dtype=dtype)
    array = as_array(ids)
    if array.dtype.kind not in "iu" and array.size:
        raise TypeError(f"{name}: integers are needed, not {array.dtype}")
    if array.shape != (count,):
        raise ValueError(f"{name} has the shape {array.shape}, but ({count},) is needed")
    if array.size and (int(array.max()) > np.iinfo(dtype).max or int(array.min()) < 0):
        raise OverflowError(f"{name}: an id is negative or beyond {np.iinfo(dtype).max}")
    return np.ascontiguousarray(array, dtype=dtype)


def _panels_of_csr(matrix: Any) -> list[Panel]:
    matrix = matrix.copy()
    matrix.sum_duplicates()
    values = _as_elements(matrix.data)
    ends, ids = matrix.indptr, matrix.indices.astype(np.int64)
    return [
        Panel(np.array([i], dtype=np.int32), ids[ends[i] : ends[i + 1]], values[None, ends[i] : ends[i + 1]])
        for i in range(matrix.shape[0])
    ]
