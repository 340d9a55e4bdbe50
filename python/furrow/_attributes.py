"""Attributes of the vectors of an index: tables of them from frames, dicts of columns and files, and their values."""

from __future__ import annotations

import datetime
import os
from collections.abc import Mapping
from contextlib import contextmanager
from typing import Any, Iterator

import numpy as np
import numpy.typing as npt

from furrow import _core
from furrow._data import is_path, open_columns, table_columns, warn_user

#: columns of attributes by their names
Columns = dict[str, npt.NDArray[Any]]

_LISTS = (list, tuple, set, frozenset, np.ndarray)
_NUMBERS = (bool, int, float, np.number, np.bool_)
_TIMES = (datetime.date, np.datetime64)


def _type_of_cells(values: Any) -> str | None:
    """The type of a column by the first of its values; None: they are all missing, or their text tells."""
    for value in values:
        if value is None or (isinstance(value, (float, np.floating)) and value != value):
            continue
        if isinstance(value, _LISTS):
            return "set"
        if isinstance(value, str):
            return "text"
        return "number" if isinstance(value, _NUMBERS) else "time" if isinstance(value, _TIMES) else None
    return None


def _type_of(column: tuple[str, Any, Any, Any], values: Any) -> str | None:
    kinds = {"numbers": "number", "codes": "text", "dates": "time", "times": "time"}
    return kinds.get(column[0]) or (None if values is None else _type_of_cells(values))


def _raw_column(data: Any, name: str, i: int) -> Any:
    """The values of a column as Python has them; None: only their type is known, as of Arrow."""
    if hasattr(data, "iloc"):
        return data.iloc[:, i]
    return next((values for key, values in data.items() if str(key) == name), None) if isinstance(data, Mapping) else None


def read_table(
    core: _core.Index | None, data: Any, key: str | None, types: Mapping[str, str] | None, names: bool
) -> Any:
    """A table of attributes as the core takes it; None for none. core: the index, whose columns keep their types; names:
    whether ids have names."""
    if data is None:
        if key is not None or types is not None:
            raise ValueError("attribute_key and attribute_types need attributes")
        return None
    known = dict(types or {})
    given = len(known)
    for name, kind in (core.attribute_types() or []) if core else []:
        known.setdefault(name, kind)
    keys = ([key] if key is not None else ["name", "id"] if names else ["id"])
    known |= {name: "text" for name in keys if name not in (types or {})}
    if is_path(data):
        return _core.attribute_table(os.fspath(data), key, False, tuple(known), tuple(known.values()), given)
    columns = table_columns(data)
    if not columns:
        raise ValueError("the table of attributes has no columns")
    for i, (name, column) in enumerate(columns.items()):
        found = _type_of(column, _raw_column(data, name, i))
        if found is not None:
            known.setdefault(name, found)
    with open_columns(columns) as source:
        return _core.attribute_table(source.uri, key, True, tuple(known), tuple(known.values()), given)


def warn_missing(count: int) -> None:
    """Warns that vectors have no row of attributes."""
    if count > 0:
        warn_user(f"{count} vector{'s have' if count > 1 else ' has'} no row of attributes")


def _texts(values: list[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    array = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):  # assigning all elements at once would unpack tuples
        array[i] = value
    return array.reshape(shape)


def _times(seconds: npt.NDArray[np.float64]) -> npt.NDArray[Any]:
    unit, most = ("us", 10**6) if not np.any(np.abs(seconds) > 9e12) else ("s", 1)
    times = np.full(seconds.shape, np.datetime64("NaT"), dtype=f"datetime64[{unit}]")
    there = ~np.isnan(seconds)
    times[there] = np.rint(seconds[there] * most).astype(np.int64).astype(times.dtype)
    return times


def columns_of(core: _core.Index, ids: npt.NDArray[np.int64], shape: tuple[int, ...]) -> Columns | None:
    """The values of ids, in arrays of a shape; None: the index has no attributes."""
    columns = core.attribute_columns(ids)
    if columns is None:
        return None
    made: Columns = {}
    for name, kind, values in columns:
        if kind in ("number", "time"):
            numbers = np.array(values, dtype=np.float64).reshape(shape)
            made[name] = numbers if kind == "number" else _times(numbers)
        else:
            made[name] = _texts(values, shape)
    return made


@contextmanager
def shown_where(where: Any) -> Iterator[None]:
    """Adds a line with a mark under the place of an error in a filter."""
    try:
        yield
    except _core.ArgumentError as error:
        column = getattr(error, "column", None)
        if column and getattr(error, "file", None) == "where" and isinstance(where, str):
            before = where.encode()[: column - 1].decode(errors="replace")
            error.add_note(f"{where}\n{' ' * len(before)}^")
        raise


def as_where(where: str | None, recall: float | None) -> tuple[str, float] | None:
    """A filter as the core takes it."""
    if where is None:
        if recall is not None:
            raise ValueError("recall: only a search with where has it")
        return None
    if not isinstance(where, str):
        raise TypeError(f"where: a str is needed, not {type(where).__name__}")
    share = 0.95 if recall is None else float(recall)
    if not 0 < share <= 1:
        raise ValueError(f"recall is {recall}, but must be above 0 and at most 1")
    return (where, share)
