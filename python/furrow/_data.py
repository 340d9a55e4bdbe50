"""Data of Python under a URI, by which the library reads it: arrays and CSR without a copy, frames as tables of text.

>>> import numpy as np
>>> with open_rows(np.eye(3, dtype=np.float32), labels=[0, 1, 0]) as source:
...     source.uri.startswith("memory://"), source.rows, source.features
(True, 3, 3)
"""

from __future__ import annotations

import itertools
import os
from types import TracebackType
from typing import Any, Callable

import numpy as np
import numpy.typing as npt

from furrow import _core
from furrow._arrays import as_array, as_floats

_numbers = itertools.count()


class Source:
    """Data that the library can read by `uri` until the source is closed."""

    def __init__(
        self,
        uri: str,
        close: Callable[[], None] | None = None,
        *,
        rows: int | None = None,
        features: int | None = None,
        names: list[str] | None = None,
        table: bool = False,
    ) -> None:
        self.uri = uri
        self.rows = rows  #: None: unknown, as of files
        self.features = features  #: columns of arrays; None: unknown
        self.names = names  #: names of the columns of a frame
        self.table = table  #: a table with names and strings, which needs a schema
        self._close = close

    def close(self) -> None:
        close, self._close = self._close, None
        if close:
            close()

    def __enter__(self) -> Source:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()


def memory_path(suffix: str = "") -> str:
    """A path in memory that nothing else has."""
    return f"memory://python-{next(_numbers)}{suffix}"


def is_path(data: Any) -> bool:
    """Whether data is the URI or the path of files."""
    return isinstance(data, (str, os.PathLike))


def is_frame(data: Any) -> bool:
    """Whether data is a pandas frame."""
    return hasattr(data, "dtypes") and hasattr(data, "columns") and hasattr(data, "iloc")


def open_rows(
    data: Any, *, labels: Any = None, weights: Any = None, qids: Any = None, missing: bool = True
) -> Source:
    """Rows of features: an array, a CSR matrix, a frame of numbers; a path is handed on as it is.

    labels, weights, qids: one number for each row. missing: whether a NaN is a value that a row does not have; else it
    is a ValueError.
    """
    if is_path(data):
        return Source(os.fspath(data))
    if is_frame(data):
        names = [str(name) for name in data.columns]
        source = open_rows(data.to_numpy(), labels=labels, weights=weights, qids=qids, missing=missing)
        source.names = names
        return source
    if hasattr(data, "tocsr"):
        return _open_csr(data.tocsr(), labels, weights, qids, missing)
    return _open_array(data, labels, weights, qids, missing)


def _column(x: Any, rows: int, name: str, dtype: type) -> npt.NDArray[Any] | None:
    """One number for each row, or None."""
    if x is None:
        return None
    array = as_array(x)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name}: numbers are needed, not {array.dtype}")
    if array.shape != (rows,):
        raise ValueError(f"{name} has the shape {array.shape}, but there are {rows} rows")
    return np.ascontiguousarray(array, dtype=dtype)


def _refuse_nan(values: npt.NDArray[Any]) -> None:
    if values.dtype.kind == "f" and not np.isfinite(np.sum(values)) and not np.isfinite(values).all():
        raise ValueError("the data has a NaN or an infinity")


def _open_csr(matrix: Any, labels: Any, weights: Any, qids: Any, missing: bool) -> Source:
    rows, columns = matrix.shape
    values = as_floats(matrix.data, "data")
    if not missing:
        _refuse_nan(values)
    wide = matrix.indices.dtype.itemsize == 8
    indices = np.ascontiguousarray(matrix.indices).view(np.uint64 if wide else np.uint32)
    indptr = np.ascontiguousarray(matrix.indptr, dtype=np.int64).view(np.uint64)
    path = memory_path()
    _core.add_rows(
        path,
        indptr,
        indices,
        values,
        None,
        _column(labels, rows, "y", np.float32),
        _column(weights, rows, "sample_weight", np.float32),
        _column(qids, rows, "qid", np.uint64),
        wide,
    )
    return Source(path, lambda: _core.remove_rows(path), rows=rows, features=columns)


def _open_array(data: Any, labels: Any, weights: Any, qids: Any, missing: bool) -> Source:
    array = as_array(data)
    if array.ndim != 2:
        raise ValueError(f"a table of 2 dimensions is needed, not of {array.ndim}")
    if array.dtype.kind not in "fiub":
        raise TypeError(f"numbers are needed, not {array.dtype}")
    if array.dtype not in (np.float32, np.float64) or not array.dtype.isnative:
        array = array.astype(np.float32 if array.dtype.itemsize <= 2 else np.float64)
    if (array.shape[1] > 1 and array.strides[1] != array.itemsize) or array.strides[0] < 0:
        array = np.ascontiguousarray(array)
    if not missing:
        _refuse_nan(array)
    rows, columns = array.shape
    path = memory_path()
    _core.add_table(
        path,
        array,
        _column(labels, rows, "y", np.float32),
        _column(weights, rows, "sample_weight", np.float32),
        _column(qids, rows, "qid", np.uint64),
        False,
    )
    return Source(path, lambda: _core.remove_rows(path), rows=rows, features=columns)


def open_table(data: Any, **more: Any) -> Source:
    """A table with names and strings: a frame as csv text in memory; a path is handed on as it is.

    more: further columns by their names, one value for each row.
    """
    if is_path(data):
        return Source(os.fspath(data), table=True)
    frame = data.assign(**more) if more else data
    text = frame.to_csv(index=False).encode()
    path = memory_path(".csv")
    _core.add_file(path, text)
    names = [str(name) for name in data.columns]
    return Source(path, lambda: _core.remove_file(path), rows=len(data), names=names, table=True)
