"""Python data under a URI by which the library reads it: arrays and CSR without a copy, frames as tables of text.

Rows of numbers (`open_rows`): NumPy arrays and whatever has the buffer protocol or DLPack, matrices of scipy.sparse,
pandas frames, Arrow tables and dicts of columns of numbers, `Rows`, and paths. The library computes with float32: other
numbers are converted, float64 block by block while it reads. A NaN is a missing value; an infinity is refused, also one
that results from a number too large for float32. Sparse matrices mean what they mean in SciPy: duplicate entries are
added up, in a sorted copy if necessary.

Tables (`open_table`): frames, Arrow tables and dicts of columns with strings, categories and times. They become csv
text in memory once. Missing values (None, NaN, NaT, NA) are empty cells, and so are empty strings: the library treats
both as missing. Times are ISO 8601 in UTC, booleans True and False, lists their elements with | between them.

>>> import numpy as np
>>> with open_rows(np.eye(3, dtype=np.float32), labels=[0, 1, 0]) as source:
...     source.uri.startswith("memory://"), source.rows, source.features
(True, 3, 3)
>>> with open_table({"user": ["ann", "bob"], "age": [31, None]}) as source:
...     source.names, source.rows
(['user', 'age'], 2)
"""

from __future__ import annotations

import functools
import itertools
import os
import sys
import warnings
from types import TracebackType
from typing import Any, Callable, Mapping, Self, cast

import numpy as np
import numpy.typing as npt

from furrow import _core
from furrow._arrays import as_array, as_floats, as_numbers, as_objects, first_infinity
from furrow.rows import Rows, RowBlock

Array = npt.NDArray[Any]
_numbers = itertools.count()


class Source:
    """Data that the library can read by `uri` until the source is closed."""

    _close: Callable[[], None] | None = None

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
        self._close = close
        self.uri = uri
        self.rows = rows  #: None: unknown, as of files
        self.features = features  #: columns of arrays; None: unknown
        self.names = names  #: names of the columns of a frame
        self.table = table  #: a table with names and strings, which needs a schema
        self.declared: frozenset[str] = frozenset()  #: columns of categories by their type

    def uri_with(self, **arguments: str | os.PathLike[str]) -> str:
        """The URI with further arguments, as format="table"."""
        path, mark, cache = self.uri.partition("#")
        for name, value in arguments.items():
            text = os.fspath(value)
            if any(c in text for c in "&#"):
                raise ValueError(f"{name}: {text!r} has a & or a #, which a URI cannot hold")
            path += f"{'&' if '?' in path else '?'}{name}={text}"
        return path + mark + cache

    def close(self) -> None:
        """Ends the use of the data: arrays may be changed again. Reading by the URI fails from now on."""
        close, self._close = self._close, None
        if close:
            close()

    def __enter__(self) -> Self:
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


def warn_user(text: str) -> None:
    """A UserWarning at the line that called the package, however deep the call is in it."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "furrow":
        level, frame = level + 1, frame.f_back
    warnings.warn(text, UserWarning, stacklevel=level)


# ---- kinds of data


def is_path(data: Any) -> bool:
    """Whether data is the URI or the path of files."""
    return isinstance(data, (str, os.PathLike))


def folder_path(path: str | os.PathLike[str]) -> str:
    """The path of a folder; an empty one would be the current folder."""
    folder = os.fspath(path)
    if not folder:
        raise _core.ArgumentError("the path of a folder is empty; the current folder is '.'")
    return folder


def has_pandas() -> bool:
    """Whether results can be frames of pandas."""
    try:
        import pandas  # noqa: F401
    except ImportError:
        return False
    return True


def is_frame(data: Any) -> bool:
    """Whether data is a pandas frame."""
    return hasattr(data, "dtypes") and hasattr(data, "columns") and hasattr(data, "iloc")


def is_sparse(data: Any) -> bool:
    """Whether data is a matrix of scipy.sparse."""
    return hasattr(data, "tocsr")


def is_arrow(data: Any) -> bool:
    """Whether data is an Arrow table, batch or stream. Frames of pandas and `Rows`, which can be one, are not."""
    if is_frame(data) or isinstance(data, Rows):
        return False
    return hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")


def is_event(data: Mapping[str, Any]) -> bool:
    """Whether a dict has the single values of one event instead of columns."""
    return any(isinstance(value, (str, bytes)) or not hasattr(value, "__len__") for value in data.values())


def _needs_schema(uri: str) -> bool:
    try:
        return _core.needs_schema(uri)
    except _core.Error:
        return False  # reading the file will report it


def is_table(data: Any) -> bool:
    """Whether data has columns of strings, categories or times, and so needs a schema: `open_table` takes it.

    Files are inspected at their beginning, as the command does: JSON lines, and tables with a header and texts.
    """
    if is_path(data):
        return _needs_schema(os.fspath(data))
    if is_frame(data):
        return any(_is_text_dtype(dtype) for dtype in data.dtypes)
    if isinstance(data, Mapping):
        dtypes = (getattr(column, "dtype", None) or _as_column(column).dtype for column in data.values())
        return any(_is_text_dtype(dtype) for dtype in dtypes)
    if is_arrow(data):
        return any(kind not in ARROW_NUMBERS for kind in _arrow_kinds(data))
    return False


def _is_text_dtype(dtype: Any) -> bool:
    subtype = getattr(dtype, "subtype", dtype)  # of pandas' sparse columns
    return getattr(subtype, "kind", "O") not in "fiub" or subtype.name == "category"


# ---- rows


def open_rows(
    data: Any,
    *,
    labels: Any = None,
    weights: Any = None,
    qids: Any = None,
    missing: bool = True,
    drop_zeros: bool = False,
) -> Source:
    """Rows of features: an array, a sparse matrix, a frame or Arrow table of numbers, `Rows`; a path is passed on.

    labels, weights, qids: one number for each row; not for paths. missing: whether a NaN is a value that a row does
    not have; else it is a ValueError. drop_zeros: leave zeros of tables out.
    """
    columns = {"labels": labels, "weights": weights, "qids": qids}
    if is_path(data):
        if any(column is not None for column in columns.values()):
            given = ", ".join(name for name, column in columns.items() if column is not None)
            raise ValueError(f"{given}: not with the path of files, which have their own; read_rows loads them")
        return Source(os.fspath(data))
    if isinstance(data, Rows):
        return _open_read_rows(data, columns, missing)
    if is_sparse(data):
        return _open_csr(data, columns, missing)
    names = None
    if is_frame(data):
        names = [str(name) for name in data.columns]
        data = _frame_table(data)
    elif is_arrow(data):
        names, data = _arrow_numbers(data)
    elif isinstance(data, Mapping):
        names, data = [str(name) for name in data], number_table(data)
    source = _open_array(data, columns, missing, drop_zeros)
    source.names = names
    return source


def _column(x: Any, rows: int, name: str) -> npt.NDArray[np.float32] | None:
    """One finite number for each row, or None."""
    if x is None:
        return None
    array = as_floats(x, name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array.reshape(-1)
    if array.shape != (rows,):
        raise ValueError(f"{name} has the shape {array.shape}, but there are {rows} rows")
    if not np.isfinite(array).all():
        row = int(np.argmin(np.isfinite(array)))
        raise ValueError(f"{name}: the number of row {row} is {array[row]}, which is not a finite float32")
    return array


def _qid_column(x: Any, rows: int) -> npt.NDArray[np.uint64] | None:
    """One number of a query for each row, or None."""
    if x is None:
        return None
    array = as_numbers(x, "qid")
    if array.shape != (rows,):
        raise ValueError(f"qid has the shape {array.shape}, but there are {rows} rows")
    if array.size and array.dtype.kind != "b" and (array.min() < 0 or not np.isfinite(np.max(array))):
        raise ValueError("qid: numbers of queries are not negative, and finite")
    with np.errstate(invalid="ignore"):
        whole = np.require(array, np.uint64, ["C", "A"])
    if array.dtype.kind == "f" and not (whole == array).all():
        raise ValueError("qid: numbers of queries are integers below 2^64")
    return whole


def _row_columns(columns: dict[str, Any], rows: int) -> tuple[Any, Any, Any]:
    return (
        _column(columns["labels"], rows, "y"),
        _column(columns["weights"], rows, "sample_weight"),
        _qid_column(columns["qids"], rows),
    )


def _check_values(values: Array, missing: bool) -> None:
    place = first_infinity(values)
    if place is not None:
        where = f"row {place[0]}, column {place[1]}" if len(place) == 2 else f"entry {place[0]}"
        raise ValueError(f"{where}: infinity, or a number that is too large for float32")
    if not missing and values.dtype.kind == "f" and np.isnan(np.sum(values)) and np.isnan(values).any():
        raise ValueError("the data has a NaN")


# ---- sparse matrices


def _checked_csr(data: Any) -> Any:
    """A CSR matrix whose arrays fit together, without two entries of one place.

    SciPy's own functions trust the arrays: whatever is wrong with them has to be found before they are called.
    """
    matrix = data if getattr(data, "format", "") == "csr" else data.tocsr()
    rows, columns = matrix.shape
    indptr, indices = matrix.indptr, matrix.indices
    for name, array in (("indptr", indptr), ("indices", indices), ("data", matrix.data)):
        if not isinstance(array, np.ndarray) or array.ndim != 1 or (name != "data" and array.dtype.kind not in "iu"):
            raise ValueError(f"{name} of the matrix is not an array of 1 dimension, or not of integers")
    if len(indptr) != rows + 1 or indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        raise ValueError("indptr of the matrix does not ascend from 0, or is not as long as its rows")
    if indptr[-1] > min(len(indices), len(matrix.data)):
        raise ValueError(f"indptr of the matrix ends at {indptr[-1]}, but it has {len(indices)} indices")
    used = indices[: indptr[-1]]
    if len(used) and (used.min() < 0 or used.max() >= columns):
        wrong = int(np.argmax((used < 0) | (used >= columns)))
        raise ValueError(f"entry {wrong} of the matrix has the index {used[wrong]}, but there are {columns} columns")
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def _open_csr(data: Any, columns: dict[str, Any], missing: bool) -> Source:
    matrix = _checked_csr(data)
    rows, features = matrix.shape
    count = int(matrix.indptr[-1])
    values = as_floats(matrix.data[:count], "data")
    _check_values(values, missing)
    wide = matrix.indices.dtype.itemsize == 8
    key = np.uint64 if wide else np.uint32
    indices = np.require(matrix.indices[:count].astype(key, copy=False), key, ["C", "A"])
    indptr = np.require(matrix.indptr.astype(np.uint64, copy=False), np.uint64, ["C", "A"])
    source = _add_rows(indptr, indices, values, None, _row_columns(columns, rows))
    source.features = features
    return source


def _add_rows(indptr: Array, indices: Array, values: Any, fields: Any, columns: tuple[Any, Any, Any]) -> Source:
    path = memory_path()
    _core.add_rows(path, indptr, indices, values, fields, *columns, indices.dtype.itemsize == 8)
    return Source(path, functools.partial(_core.remove_rows, path), rows=len(indptr) - 1)


# ---- rows that were read


def _open_read_rows(data: Rows, columns: dict[str, Any], missing: bool) -> Source:
    """Opens rows by their own URI, if that describes them completely; else loads them.

    Text with indices is loaded: the library may count the indices of files from 1, but the indices of `Rows` count from
    0.
    """
    uri = data.plain_uri()
    if uri is not None and data.format in ("csv", "dense") and all(column is None for column in columns.values()):
        return Source(uri, names=data.column_names)
    block = cast(RowBlock, data.load().block)
    given = {name: getattr(block, name) if column is None else column for name, column in columns.items()}
    values = None if block.values is None else as_floats(block.values, "data")
    if values is not None and block.values is not None:
        _check_values(values, missing)
        if block.values.dtype.kind == "i" and not np.array_equal(values.astype(np.float64), block.values):
            raise ValueError("the rows have integers that float32 cannot hold")
    source = _add_rows(
        block.indptr.view(np.uint64), block.indices, values, block.fields, _row_columns(given, len(block))
    )
    source.features = data.n_features
    source.names = data.column_names
    return source


# ---- tables of numbers


def _open_array(data: Any, columns: dict[str, Any], missing: bool, drop_zeros: bool) -> Source:
    array = as_numbers(data, "data")
    if array.ndim != 2:
        raise ValueError(f"a table of 2 dimensions is needed, not of {array.ndim}")
    array = _as_table(array)
    _check_values(array, missing)
    rows, features = array.shape
    path = memory_path()
    _core.add_table(path, array, *_row_columns(columns, rows), drop_zeros)
    return Source(path, functools.partial(_core.remove_rows, path), rows=rows, features=features)


def _as_table(array: Array) -> Array:
    """A table of float32 or float64 whose rows are contiguous and in order; copied only if it is not one already."""
    if array.dtype not in (np.float32, np.float64) or not array.dtype.isnative:
        with np.errstate(over="ignore"):
            array = array.astype(np.float32 if array.dtype.itemsize <= 2 else np.float64)
    row, column = array.strides
    apart = array.shape[0] <= 1 or (row >= array.shape[1] * array.itemsize and row % array.itemsize == 0)
    if not array.flags.aligned or not apart or (array.shape[1] > 1 and column != array.itemsize):
        array = np.require(array.copy(order="C"), None, ["C", "A"])
    if array.dtype == np.float64 and array.size:
        with np.errstate(all="ignore"):
            largest = np.fmax(np.fmax.reduce(array, axis=None), -np.fmin.reduce(array, axis=None))
        if np.isfinite(largest) and np.isinf(_as_float(largest)):
            row, column = np.argwhere(np.abs(array) == largest)[0]
            raise ValueError(f"row {row}, column {column}: {array[row, column]:.17g} is too large for f32")
    return array


def _as_float(value: Any) -> Any:
    with np.errstate(over="ignore"):
        return np.float32(value)


def _frame_table(frame: Any) -> Array:
    """The columns of a pandas frame of numbers as one table; NA is NaN."""
    for name, dtype in zip(frame.columns, frame.dtypes):
        if _is_text_dtype(dtype):
            raise TypeError(
                f"column {str(name)!r} has the type {dtype}: rows are made of numbers; convert it, or use a schema"
            )
    if all(isinstance(dtype, np.dtype) and dtype == frame.dtypes.iloc[0] for dtype in frame.dtypes):
        return cast(Array, frame.to_numpy())
    small = all(np.dtype(getattr(d, "numpy_dtype", getattr(d, "subtype", d))).itemsize <= 2 for d in frame.dtypes)
    single = all(d == np.float32 for d in frame.dtypes)
    table = np.empty(frame.shape, np.float32 if small or single else np.float64)
    for i in range(frame.shape[1]):
        column = frame.iloc[:, i]
        extension = not isinstance(column.dtype, np.dtype) and not hasattr(column.dtype, "subtype")
        table[:, i] = column.to_numpy(dtype=np.float64, na_value=np.nan) if extension else np.asarray(column)
    return table


# ---- Arrow

ARROW_NUMBERS = frozenset(
    "bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 null".split()
)


def _arrow_table(data: Any) -> _core.ArrowTable:
    if hasattr(data, "__arrow_c_stream__"):
        return _core.ArrowTable.from_stream(data.__arrow_c_stream__())
    return _core.ArrowTable.from_array(*data.__arrow_c_array__())


def _arrow_kinds(data: Any) -> list[str]:
    schema = data.__arrow_c_schema__() if hasattr(data, "__arrow_c_schema__") else None
    if schema is not None:
        return _core.arrow_kinds(schema)
    return _arrow_table(data).kinds()


def _arrow_numbers(data: Any) -> tuple[list[str], Array]:
    """The names and the table of an Arrow table of numbers; null is NaN."""
    arrow = _arrow_table(data)
    names, kinds = arrow.names(), arrow.kinds()
    for name, kind in zip(names, kinds):
        if kind not in ARROW_NUMBERS:
            raise TypeError(
                f"column {name!r} has the type {kind}: rows are made of numbers; convert it, or use a schema"
            )
    single = all(kind in ("bool", "int8", "uint8", "int16", "uint16", "float16", "float32", "null") for kind in kinds)
    table = np.empty((arrow.rows(), len(names)), np.float32 if single else np.float64)
    arrow.fill(table)
    return names, table


def number_table(data: Any) -> Array:
    """The columns of a frame, an Arrow table or a dict of columns of numbers, as one table."""
    if is_frame(data):
        return _frame_table(data)
    if is_arrow(data):
        return _arrow_numbers(data)[1]
    columns = [as_numbers(column, f"column {str(name)!r}") for name, column in data.items()]
    return np.column_stack(columns) if columns else np.empty((0, 0), np.float32)


def arrow_names(data: Any) -> list[str]:
    """The names of the columns of an Arrow table."""
    return _arrow_table(data).names()


def arrow_shape(data: Any) -> tuple[int, int]:
    """Rows and columns of an Arrow table."""
    table = _arrow_table(data)
    return table.rows(), len(table.names())


# ---- tables of text


def open_table(data: Any, **more: Any) -> Source:
    """A table with names and strings as csv text in memory; a path is passed on unchanged.

    data: a pandas frame, an Arrow table, or a dict of columns. more: further columns by their names, one value for
    each row. The index of a frame is not part of the table.
    """
    if is_path(data):
        if more:
            raise ValueError(f"{', '.join(more)}: not with the path of files, which have their own columns")
        return Source(os.fspath(data), table=True)
    return open_columns(table_columns(data, **more))


TextColumn = tuple[str, Any, Any, Any]  # as _core.csv_text takes it


def open_columns(columns: dict[str, TextColumn]) -> Source:
    """Columns as csv text in memory."""
    text, line_ends = csv_text(columns)
    path = f"memory://frame-{next(_numbers)}{'.lines' if line_ends else '.csv'}"  # py_errors.c counts its rows
    _core.add_file(path, text)
    layout = f"?kind=csv&delimiter=,&header=yes&newlines={'yes' if line_ends else 'no'}"
    rows = _column_length(next(iter(columns.values()))) if columns else 0
    source = Source(path + layout, functools.partial(_core.remove_file, path), rows=rows, names=list(columns))
    source.table = True
    source.declared = frozenset(name for name, column in columns.items() if column[0] == "codes")
    return source


def table_columns(data: Any, **more: Any) -> dict[str, TextColumn]:
    """The columns of a table, and more of them, as the writer of text takes them."""
    columns = _table_columns(data)[0]
    return columns | {name: _text_column(name, values) for name, values in more.items()}


_TRUE, _FALSE = ("true", "1", "1.0"), ("false", "0", "0.0")


def spelling_of(names: list[str]) -> dict[str, str] | None:
    """The spelling of truth values that a column was learned with: maps each other spelling to the one in `names`.

    None: the names are not truth values.

    >>> spelling_of(["False", "True"])["1"], spelling_of(["0", "1"])["true"], spelling_of(["no", "yes"])
    ('True', '1', None)
    """
    spelled: dict[str, str] = {}
    for name in names:
        kind = next((kind for kind in (_TRUE, _FALSE) if name.lower() in kind), None)
        if kind is None or kind[0] in spelled:
            return None
        spelled |= dict.fromkeys(kind, name)
    return spelled or None


def spell(values: Any, spelling: Mapping[str, str]) -> list[Any]:
    """A column of truth values as the model has learned to read them; other values stay as they are."""
    known: dict[Any, Any] = {}
    spelled = []
    for value in as_objects(values):
        key = (type(value), value)
        if key not in known:
            known[key] = spelling.get((cell_text(value) or "").lower(), value)
        spelled.append(known[key])
    return spelled


def csv_text(columns: dict[str, TextColumn]) -> tuple[_core.View, bool]:
    """The text, with a line of names; and whether a cell has a line end."""
    for i, name in enumerate(columns):
        if not name.strip():
            raise ValueError(f"column {i} has no name")
    lengths = {name: _column_length(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"the columns do not have the same length: {lengths}")
    names = _core.cells(list(columns), str)
    return _core.csv_text(names, list(columns.values()), next(iter(lengths.values()), 0), None)


def _column_length(column: TextColumn) -> int:
    return len(column[1])


def _table_columns(data: Any) -> tuple[dict[str, TextColumn], int]:
    if is_frame(data):
        names = [str(name) for name in data.columns]
        if len(set(names)) != len(names):
            raise ValueError("two columns of the frame have the same name")
        return {name: _text_column(name, data.iloc[:, i]) for i, name in enumerate(names)}, len(data)
    if isinstance(data, Mapping):
        columns = {str(name): _text_column(str(name), values) for name, values in data.items()}
        return columns, _column_length(next(iter(columns.values()))) if columns else 0
    if is_arrow(data):
        return _arrow_columns(data)
    raise TypeError(f"a table is a frame, an Arrow table, a dict of columns or a path, not {type(data).__name__}")


def _arrow_columns(data: Any) -> tuple[dict[str, TextColumn], int]:
    arrow = _arrow_table(data)
    names = arrow.names()
    if len(set(names)) != len(names):
        raise ValueError("two columns of the Arrow table have the same name")
    return {name: arrow.text_column(i) for i, name in enumerate(names)}, arrow.rows()


def _text_column(name: str, values: Any) -> TextColumn:
    """A column as the writer of text takes it, by its type."""
    if isinstance(values, np.ma.MaskedArray) and np.any(values.mask):
        return _masked_column(name, values)
    dtype = getattr(values, "dtype", None)
    if str(dtype).startswith(("period[", "interval[")):
        values = values.astype("category")
        dtype = values.dtype
    if dtype is not None and getattr(dtype, "name", "") == "category":
        codes = np.ascontiguousarray(values.cat.codes if hasattr(values, "cat") else values.codes)
        categories = values.cat.categories if hasattr(values, "cat") else values.categories
        return ("codes", codes, _cells(name, categories), None)
    if dtype is not None and getattr(dtype, "tz", None) is not None:  # numpy's datetimes are in UTC
        array = np.asarray(values, dtype="datetime64[ns]")
    elif dtype is not None and _is_nullable_number(dtype) and hasattr(values, "isna"):
        mask = np.ascontiguousarray(values.isna()).view(np.uint8)
        array = values.to_numpy(dtype=dtype.numpy_dtype, na_value=dtype.numpy_dtype.type(0))
        return ("numbers", _number_column(name, array), None, mask)
    else:
        array = _as_column(values)
    if array.ndim != 1:
        raise ValueError(f"column {name!r} has {array.ndim} dimensions, not one")
    if array.dtype.kind in "fiub":
        return ("numbers", _number_column(name, array), None, None)
    if array.dtype.kind == "M":
        return _time_column(name, array)
    return ("cells", _cells(name, array), None, None)


def _masked_column(name: str, values: Any) -> TextColumn:
    """Masked values are cells without a value."""
    if values.ndim != 1:
        raise ValueError(f"column {name!r} has {values.ndim} dimensions, not one")
    if values.dtype.kind in "fiub":
        mask = np.ascontiguousarray(values.mask).view(np.uint8)
        return ("numbers", _number_column(name, values.filled(0)), None, mask)
    if values.dtype.kind == "M":
        return _time_column(name, values.filled(np.datetime64("NaT")))
    return ("cells", _cells(name, as_objects(values)), None, None)


def _is_nullable_number(dtype: Any) -> bool:
    return getattr(getattr(dtype, "numpy_dtype", None), "kind", "O") in "fiub"


def _as_column(values: Any) -> Array:
    """An array; lists of mixed things stay objects: NumPy would make strings of numbers and tables of lists."""
    if isinstance(values, (list, tuple)):
        values = [None if value is np.ma.masked else value for value in values]
        plain = np.empty(len(values), object)
        for i, value in enumerate(values):  # assigning all elements at once would unpack lists
            plain[i] = value
        kinds = {type(value) for value in values}
        return np.array(values) if kinds and kinds <= {int, float} and kinds != {int} else _plain_ints(plain, kinds)
    if hasattr(values, "to_numpy"):
        return cast(Array, values.to_numpy())
    return as_array(values)


def _plain_ints(values: Array, kinds: set[type]) -> Array:
    if kinds == {int} and all(-(2**63) <= value < 2**63 for value in values):
        return values.astype(np.int64)
    return values


def _number_column(name: str, array: Array) -> Array:
    if array.dtype.kind == "f" and first_infinity(array) is not None:
        raise ValueError(f"column {name!r} has an infinity")
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        array = array.astype(np.float32 if array.dtype.itemsize == 2 else np.float64)
    return np.require(array, array.dtype.newbyteorder("="), ["C", "A"])


_UNITS = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}


def _time_column(name: str, array: Array) -> TextColumn:
    unit, step = np.datetime_data(array.dtype)
    if unit == "D" and step == 1:
        return ("dates", np.ascontiguousarray(array).view(np.int64), None, None)
    if unit not in _UNITS or step != 1:
        coarse = unit in ("Y", "M", "W", "D", "h", "m", "s", "generic")
        array, unit = array.astype(f"datetime64[{'s' if coarse else 'ns'}]"), "s" if coarse else "ns"
    array = np.require(array, array.dtype.newbyteorder("="), ["C", "A"])
    return ("times", array.view(np.int64), _UNITS[unit], None)


def _cells(name: str, values: Any) -> _core.Cells:
    objects = values.tolist() if hasattr(values, "tolist") else list(values)
    try:
        return _core.cells(objects, _object_text)
    except UnicodeError as error:
        error.add_note(f"in column {name!r}")
        raise
    except (TypeError, ValueError) as error:
        raise type(error)(f"column {name!r}: {error}") from None


def cell_text(value: Any) -> str | None:
    """The text of a single value, as a column of a table has it: for single events. None: missing.

    >>> [cell_text(value) for value in ("ann", 3, 3.0, 4.1, True, None, float("nan"), ["a", "b"])]
    ['ann', '3', '3', '4.1', 'True', None, None, 'a|b']
    """
    if value is None:
        return None
    return (value if isinstance(value, str) else _object_text(value)) or None


def _object_text(value: Any) -> str:
    """The cell of a value that is neither a str nor a plain number: "" for missing values, or an exception."""
    if isinstance(value, (list, tuple, set, frozenset, np.ndarray)):
        return _set_text(value)
    if isinstance(value, (float, np.floating)):
        return _core.number_text(float(value), isinstance(value, np.floating) and value.dtype.itemsize <= 4)
    if isinstance(value, np.generic):
        item = value.item()
        return "" if item is None else _object_text(item)
    if isinstance(value, (bool, int, str)):
        return str(value)
    pandas = sys.modules.get("pandas")
    if pandas is not None and (value is pandas.NA or value is pandas.NaT):
        return ""
    if hasattr(value, "isoformat"):
        return _iso_text(value)
    if type(value).__module__ in ("decimal", "uuid", "fractions") or type(value).__name__ in ("Interval", "Period"):
        return str(value)
    kind = type(value).__name__
    raise TypeError(f"a cell is a string, a number, a time or a list of them, not {kind}: {repr(value)[:60]}")


def _iso_text(value: Any) -> str:
    from datetime import timezone

    if getattr(value, "tzinfo", None) is not None and hasattr(value, "astimezone"):
        value = value.astimezone(timezone.utc).replace(tzinfo=None)
    return str(value.isoformat())


def _set_text(values: Any) -> str:
    """The elements of a set, with the separator that schemas have for it by default."""
    texts = [value if isinstance(value, str) else _object_text(value) for value in values if value is not None]
    for text in texts:
        if "|" in text:
            raise ValueError(f"the element {text!r:.60} of a list has a |, which separates elements")
    return "|".join(text for text in texts if text)
