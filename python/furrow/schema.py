"""Raw logs with names: what their columns are, and how they become rows.

A log is a table with names and strings: a file (csv, tsv, JSON lines, Vowpal Wabbit's text), a pandas frame, an Arrow
table. A :class:`Schema` says what each column is; an :class:`Encoder` is a schema and the dictionary of a log, which
gives every value a feature index.

>>> log = [("ann", "tea", 5), ("ann", "milk", 1), ("bob", "milk", 4), ("bob", "tea", 2)]
>>> import pandas
>>> frame = pandas.DataFrame(log, columns=["user", "item", "rating"])
>>> encoder = Encoder.build(frame)
>>> encoder.schema
column  as        role  why
user    category  user  texts such as bob, ann, 2 distinct values in 4 rows; the nam…
item    category  item  texts such as tea, milk, 2 distinct values in 4 rows; the na…
rating  label           integers from 1 to 5, 4 distinct values in 4 rows; the name …
>>> encoder.n_features
8
>>> encoder.find("item", "milk"), encoder.feature(encoder.find("item", "milk"))
(6, Feature(field='item', name='milk', count=2))
>>> encoder.encode_event(user="bob", item="tea")
EncodedEvent(indices=[3, 7], values=[1.0, 1.0], fields=[0, 1])
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Union

import numpy as np

from furrow import _core
from furrow._data import Source, TextColumn, _object_text, csv_text, is_frame, is_path, memory_path
from furrow._data import open_columns, open_table, spelling_of, table_columns, warn_user
from furrow._html import card, table
from furrow._progress import Progress, as_callback
from furrow.rows import Rows

OnBad = Literal["error", "skip"]
#: Tables that are joined to a log: {key column of the log: table}. The table is a path or a frame, or a pair of it and
#: the name that the table has for the key; a list of them where several tables have the same key.
Tables = Mapping[str, Any]
SchemaLike = Union[Literal["auto"], "Schema", Mapping[str, Any], str, os.PathLike[str]]

_WHY_SHOWN = 60


def to_bytes(text: str) -> bytes:
    """The bytes of a name or text of a log; bytes that are not UTF-8 are restored."""
    return text.encode("utf-8", "surrogateescape")


def _option(text: str | None) -> bytes | None:
    if text is not None and not isinstance(text, str):
        raise TypeError(f"the name of a column is needed, not {text!r}")
    return None if text is None else to_bytes(text)


def skips_bad(on_bad: OnBad) -> int:
    """The library's number of on_bad."""
    if on_bad not in ("error", "skip"):
        raise ValueError(f"on_bad is 'error' or 'skip', not {on_bad!r}")
    return int(on_bad == "skip")


def warn_of_bad_rows(stats: Mapping[str, Any], what: str) -> None:
    """Warns that rows were left out: on_bad="skip" must not hide that there were many."""
    if stats["bad_rows"]:
        rows = stats["rows"] + stats["bad_rows"]
        warnings.warn(
            f"{what}: {stats['bad_rows']} of {rows} rows were left out; the first: {stats['first_bad']}",
            stacklevel=3,
        )


# ---- Tables that are joined ----------------------------------------------------------------------------------


class _FrameTables:
    """Frames as tables in a folder in memory, which live as long as this object."""

    def __init__(self) -> None:
        self.folder = memory_path()
        self._sources: list[Source] = []
        self._names: set[str] = set()

    def add(self, data: Any, key: str) -> str:
        """Adds a table; its name in the folder, which does not depend on what else is in memory."""
        plain = "".join(c if c.isascii() and c.isalnum() else "_" for c in key)
        number = 0
        while (name := f"frame-{number}-{plain}.csv") in self._names or os.path.exists(name):
            number += 1
        path = f"{self.folder}/{name}"
        text, line_ends = csv_text(table_columns(data))
        _core.add_file(path, text)
        self._names.add(name)
        self._sources.append(Source(path, functools.partial(_core.remove_file, path), table=True))
        return f"{name}?kind=csv&delimiter=,&header=yes&newlines={'yes' if line_ends else 'no'}"


class _Table(NamedTuple):
    key: str  # column of the log
    column: str  # the table's name for it
    uri: str  # as the schema has it
    framed: bool  # one of the frames


def _open_tables(tables: Tables | None, frames: _FrameTables) -> list[_Table]:
    if tables is None:
        return []
    if not isinstance(tables, Mapping):
        raise TypeError("tables: a mapping of the log's columns to tables is needed, such as {'item': 'items.csv'}")
    opened = []
    for key, given in tables.items():
        for table in given if isinstance(given, list) else [given]:
            data, column = table if isinstance(table, tuple) else (table, key)
            framed = not is_path(data)
            uri = frames.add(data, key) if framed else os.fspath(data)
            opened.append(_Table(key, column, uri, framed))
    return opened


def _table_argument(table: _Table, frames: _FrameTables) -> bytes:
    uri = f"{frames.folder}/{table.uri}" if table.framed else table.uri
    key = table.key if table.column == table.key else f"{table.key}:{table.column}"
    return os.fsencode(uri) + b"=" + to_bytes(key)


def _folder_of(uri: str) -> str | None:
    """The folder of a file, where the tables of its schema may lie."""
    return None if "?" in uri or uri.startswith("memory://") else os.path.dirname(uri) or None


# ---- Schema --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Column:
    """A column of a log or of a table that is joined to it."""

    name: str
    as_: str  #: label, weight, group, category, set, text, number, time or ignore
    role: str  #: user, item, time or ""
    why: str  #: what a proposal found; "" where a person wrote the schema


class Schema:
    """What each column of a log is. A schema does not change: edit its dict or its text and parse that.

    >>> schema = Schema.parse({"columns": {"user": {"as": "category", "role": "user"}, "stars": {"as": "label"}}})
    >>> schema.roles
    {'user': 'user', 'label': 'stars'}
    >>> edited = schema.to_dict()
    >>> edited["columns"]["user"]["min_count"] = 2
    >>> Schema.parse(edited) == schema
    False
    """

    def __init__(self, core: _core.Schema, *, folder: str | None = None, frames: _FrameTables | None = None) -> None:
        self._core = core
        self._folder = folder  # where its tables are looked for
        self._frames = frames  # tables that are frames

    @classmethod
    def propose(
        cls,
        data: Any,
        *,
        label: str | None = None,
        weight: str | None = None,
        group: str | None = None,
        user: str | None = None,
        item: str | None = None,
        time: str | None = None,
        tables: Tables | None = None,
        history: int = 0,
        strict: bool = False,
        amounts: bool = False,
        bin_numbers: bool = False,
        on_bad: OnBad = "error",
        threads: int = 0,
        progress: Progress = None,
    ) -> Schema:
        """Reads the whole log and proposes what each column is and why.

        data: a path or URI, a frame, an Arrow table. label … time: the columns, if their names do not say it; label=""
        says that there is none. history: the number of a user's last items that become features. strict: refuse to
        guess which of two classes is the positive one, and that there is no label. amounts: integers with few values
        are numbers, as trees want them, not categories. bin_numbers: numbers whose effect on the label is not a
        straight line are in bins, as linear models want them.
        """
        frames = _FrameTables()
        opened = _open_tables(tables, frames)
        options: dict[str, Any] = {
            **{"label": _option(label), "weight": _option(weight), "group": _option(group)},
            **{"user": _option(user), "item": _option(item), "time": _option(time)},
            **{"history": history, "threads": threads, "on_bad": skips_bad(on_bad), "strict": strict, "amounts": amounts},
            "bin_numbers": bin_numbers,
        }
        arguments = tuple(_table_argument(table, frames) for table in opened)
        with _opened(data) as source:
            core, stats = _core.Schema.propose(source.uri, options, arguments, as_callback(progress))
            folder = _folder_of(source.uri)
        warn_of_bad_rows(stats, "Schema.propose")
        core = _with_whole_categories(core, source.declared)
        if any(table.framed for table in opened):
            text = core.text(True)
            for table in opened:
                text = text.replace(json.dumps(f"{frames.folder}/{table.uri}"), json.dumps(table.uri))
            return cls(_core.Schema.parse(to_bytes(text)), frames=frames)
        return cls(core, folder=folder)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Schema:
        """Reads schema.json. Its tables are looked for in the working directory, then in the folder of the file."""
        return cls(_core.Schema.load(path), folder=_folder_of(os.fspath(path)))

    @classmethod
    def parse(cls, definition: str | bytes | Mapping[str, Any]) -> Schema:
        """Reads the JSON text of a schema, or the dict of such a text."""
        if isinstance(definition, Mapping):
            definition = json.dumps(definition, ensure_ascii=False)
        return cls(_core.Schema.parse(to_bytes(definition) if isinstance(definition, str) else definition))

    def text(self, *, comments: bool = False) -> str:
        """The schema as JSON text; comments: with what a proposal says of each column."""
        return self._core.text(comments)

    def to_dict(self, *, comments: bool = False) -> dict[str, Any]:
        """The schema as a dict, which :meth:`parse` takes."""
        made: dict[str, Any] = json.loads(self.text(comments=comments))
        return made

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Writes schema.json with its comments; the file appears complete or not at all."""
        path = os.fspath(path)
        handle, temporary = tempfile.mkstemp(prefix=os.path.basename(path), dir=os.path.dirname(path) or ".")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(to_bytes(self.text(comments=True)))
                file.flush()
                os.fsync(file.fileno())
            umask = os.umask(0)
            os.umask(umask)
            os.chmod(temporary, 0o666 & ~umask)
            if overwrite:
                os.replace(temporary, path)
            else:
                os.link(temporary, path)  # fails where there is a file
        finally:
            if os.path.exists(temporary):
                os.unlink(temporary)

    @property
    def columns(self) -> list[Column]:
        """What each column is, in the order of the log."""
        return [Column(*column) for column in self._core.columns()]

    @property
    def roles(self) -> dict[str, str]:
        """The columns that stand for something: user, item, time, label, weight, group."""
        found = {column.role: column.name for column in self.columns if column.role}
        found |= {column.as_: column.name for column in self.columns if column.as_ in ("label", "weight", "group")}
        return found

    @property
    def class_names(self) -> list[str]:
        """The classes of the label, which stand for 0, 1, 2 …; empty: the label is a number."""
        return self._core.class_names()

    def __repr__(self) -> str:
        lines = [("column", "as", "role", "why")]
        for column in self.columns:
            why = column.why if len(column.why) <= _WHY_SHOWN else column.why[:_WHY_SHOWN] + "…"
            if column.as_ == "label" and self.class_names:
                why = f"classes {', '.join(self.class_names)}; {why}"
            lines.append((column.name, column.as_, column.role, why))
        widths = [max(len(line[i]) for line in lines) for i in range(3)] + [0]
        rows = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]
        more = {name: value for name, value in self.to_dict().items() if name != "columns"}
        return "\n".join(rows + [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in more.items()])

    def _repr_html_(self) -> str:
        columns = [(column.name, column.as_, column.role, column.why) for column in self.columns]
        facts = [("classes", ", ".join(self.class_names) or None)]
        return card("Schema", facts, table(("column", "as", "role", "why"), columns))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schema):
            return NotImplemented
        return self.text() == other.text()

    def __hash__(self) -> int:
        return hash(self.text())

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_schema, (self.text(comments=True), self._folder)

    def _without(self, names: frozenset[str]) -> Schema:
        """The schema without some columns."""
        definition = self.to_dict(comments=True)
        definition["columns"] = {name: what for name, what in definition["columns"].items() if name not in names}
        return Schema.parse(definition) if names else self

    def _bind(self, tables: Tables | None) -> Schema:
        """The schema with these tables in place of its own tables for the same keys."""
        if not tables:
            return self
        frames = _FrameTables()
        definition = self.to_dict(comments=True)
        given = {table.key: table for table in _open_tables(tables, frames)}
        bound: dict[str, Any] = {}
        for uri, key in definition.get("tables", {}).items():
            table = given.pop(key["key"] if isinstance(key, dict) else key, None)
            in_folder = os.path.join(self._folder, uri) if self._folder else uri
            bound[table.uri if table else uri if os.path.exists(uri) else in_folder] = key
        if given:
            raise ValueError(f"tables: the schema does not join a table by {', '.join(map(repr, given))}")
        definition["tables"] = bound
        schema = Schema.parse(definition)
        schema._frames = frames
        return schema


@contextlib.contextmanager
def _opened(data: Any) -> Iterator[Source]:
    """A table that is open already, which its owner closes, or one that is opened for the moment."""
    if isinstance(data, Source):
        yield data
        return
    with open_table(data) as source:
        yield source


def _with_whole_categories(core: _core.Schema, declared: frozenset[str]) -> _core.Schema:
    """A proposal whose columns of a declared type are categories: their values are neither taken apart nor measured."""
    definition = json.loads(core.text(True))
    changed = False
    for name, column in definition["columns"].items():
        if name in declared and column["as"] in ("set", "text", "number", "time") and "role" not in column:
            why = f"the type of the column is one of categories; {column.get('why', '')}"
            definition["columns"][name] = {"as": "category", "why": why}
            changed = True
    return _core.Schema.parse(to_bytes(json.dumps(definition, ensure_ascii=False))) if changed else core


def propose_bins(
    path: str, label: str | None, weight: str | None, threads: int, progress: Progress = None
) -> Schema | None:
    """A schema for a csv file of numbers that a linear model reads better in bins; None: it needs none, or training
    will report why the file cannot be read."""
    options = {"label": _option(label), "weight": _option(weight), "threads": threads, "strict": True}
    try:
        core = _core.Schema.propose_bins(path, options, as_callback(progress))
    except _core.CancelledError:
        raise
    except _core.Error:
        return None
    return None if core is None else Schema(core, folder=_folder_of(path))


def propose_features(
    source: Source, columns: Mapping[str, TextColumn], separate: Mapping[str, Any], **options: Any
) -> Schema:
    """Proposes a schema for a frame with separate labels: all its columns are features, whatever their names are.

    source: the table of these columns; `separate` names the columns of the label, the weight and the group. A time is
    also a number, without which a model could not distinguish years. Warns about columns that are left out.
    """
    schema = Schema.propose(source, **{**options, **separate})
    definition = schema.to_dict(comments=True)
    added = set(separate.values())
    named = [column.name for column in schema.columns if column.name not in added and _is_named(column)]
    if named:
        definition["columns"].update(_propose_unnamed({name: columns[name] for name in named}, options))
    for times in definition["columns"].values():
        if times["as"] == "time":
            times["parts"] = [*(part for part in times.get("parts", ("hour", "weekday")) if part != "age"), "age"]
    found = Schema.parse(definition)
    for column in found.columns:
        if column.as_ == "ignore":
            _warn_of_ignored(column)
    return found


def _is_named(column: Column) -> bool:
    """Whether the name of a column says that it is the label, the weight or the group, or would be."""
    return column.as_ in ("label", "weight", "group") or (column.as_ == "ignore" and "the name says label" in column.why)


def _propose_unnamed(columns: Mapping[str, TextColumn], options: Mapping[str, Any]) -> dict[str, Any]:
    """What columns are by their values alone."""
    with open_columns({f"column {i}": column for i, column in enumerate(columns.values())}) as source:
        found = Schema.propose(source, label="", amounts=options["amounts"], threads=options["threads"])
    proposed = found.to_dict(comments=True)["columns"]
    return dict(zip(columns, proposed.values()))


def _warn_of_ignored(column: Column) -> None:
    why = column.why.rpartition("; ")[2]
    warn_user(
        f"column {column.name!r} is ignored: {why}. Leave it out, or say what it is: take schema_.to_dict() of the "
        f"estimator, set ['columns'][{column.name!r}] = {{'as': 'category'}} (or 'number'), and pass it as schema="
    )


def _restore_schema(text: str, folder: str | None) -> Schema:
    return Schema(_core.Schema.parse(to_bytes(text)), folder=folder)


# ---- Encoder -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Field:
    """A field of the rows: a column, a part of a time, a cross."""

    name: str
    side: str  #: context, user or item: whose feature it is
    first: int  #: its features are first … first + count - 1
    count: int
    entries: int  #: names in its dictionary; 0: it has none
    unknown: int  #: cells of the training data whose value was too rare
    missing: int  #: cells of the training data that were empty


@dataclass(frozen=True)
class Feature:
    """What a feature index stands for."""

    field: str
    name: str  #: the value; "" for a number
    count: int  #: how often the training data has it; 0 where that is not counted


@dataclass(frozen=True)
class EncodedEvent:
    """The row of one event."""

    indices: list[int]
    values: list[float]
    fields: list[int]


_SIDES = ("context", "user", "item")
_NEARLY_ALL = 0.95  # of the rows
_COUNTED = 100_000  # names of a dictionary


def as_cell(value: Any) -> bytes | None:
    """The text of a cell as the table of a frame has it; None, NaN and pandas' NA are missing values."""
    if isinstance(value, str):
        return to_bytes(value)
    if isinstance(value, bytes):
        return value
    if isinstance(value, (float, np.floating)) and abs(value := float(value)) < 2**53 and value.is_integer():
        value = int(value)
    return None if value is None or value is np.ma.masked else to_bytes(_object_text(value)) or None


def as_pairs(event: Mapping[str, Any]) -> tuple[tuple[bytes, bytes | None], ...]:
    """Columns and cells of an event for the library."""
    for column in event:
        if not isinstance(column, str):
            raise TypeError(f"the name of a column is a str, not {column!r}")
    return tuple((to_bytes(column), as_cell(value)) for column, value in event.items())


def _remove_encoder(path: str) -> None:
    for name in ("schema.json", "dictionary.furrow"):
        _core.remove_file(f"{path}/{name}")


class EncoderFolder(Source):
    """An encoder as a folder in memory, for readers that take the path of an encoder."""

    def __init__(self, encoder: _core.Encoder) -> None:
        self.path = memory_path()
        super().__init__(self.path)
        encoder.save(self.path, False)
        self._close = functools.partial(_remove_encoder, self.path)


class Encoder:
    """A schema and the dictionary of a log: every value has a feature index, and every index a column and a name."""

    def __init__(self, core: _core.Encoder) -> None:
        self._core = core

    @classmethod
    def build(
        cls,
        data: Any,
        schema: SchemaLike = "auto",
        *,
        label: str | None = None,
        weight: str | None = None,
        group: str | None = None,
        user: str | None = None,
        item: str | None = None,
        time: str | None = None,
        tables: Tables | None = None,
        history: int = 0,
        strict: bool = True,
        amounts: bool = False,
        bin_numbers: bool = False,
        table_items: bool = False,
        on_bad: OnBad = "error",
        threads: int = 0,
        progress: Progress = None,
    ) -> Encoder:
        """Learns from a log: counts the values of categories, measures numbers, joins the tables.

        schema: a Schema, the dict of one, the path of a schema.json, or "auto", for which label … bin_numbers are passed
        to :meth:`Schema.propose`. tables: for a schema that is given, the tables that it joins by these keys. table_items:
        items and users that only a table has are items and users, too.
        """
        columns = {"label": label, "weight": weight, "group": group, "user": user, "item": item, "time": time}
        with _opened(data) as source:
            if isinstance(schema, str) and schema == "auto":
                _check_repeats(source.uri)
                found = Schema.propose(
                    source,
                    **columns,
                    tables=tables,
                    history=history,
                    strict=strict,
                    amounts=amounts,
                    bin_numbers=bin_numbers,
                    on_bad=on_bad,
                    threads=threads,
                    progress=progress,
                )
            else:
                _check_columns(columns, history)
                found = as_schema(schema)._bind(tables)
            frames = found._frames
            folder = frames.folder if frames else found._folder
            options = {"threads": threads, "on_bad": skips_bad(on_bad), "folder": folder and os.fsencode(folder)}
            options["table_items"] = table_items
            core, stats, *lacking = _core.Encoder.build(source.uri, found._core, options, as_callback(progress))
        warn_of_bad_rows(stats, "Encoder.build: tables")
        for name, count in zip(("items", "users"), lacking):
            if table_items and count:
                warnings.warn(f"the table of {name} has no row for {count} of the log's {name}", stacklevel=3)
        return cls(core)

    def grow(
        self,
        data: Any,
        *,
        max_features: int = 0,
        on_bad: OnBad = "error",
        threads: int = 0,
        progress: Progress = None,
    ) -> Encoder:
        """An encoder that also knows the names of another log; all features keep their indices.

        max_features: the rarest names that are too many count as unknown, with a warning. 0: no limit. Warns about
        columns that the schema does not have, and about tables of the schema that are gone.
        """
        with _opened(data) as source:
            _check_repeats(source.uri)
            folder = _folder_of(source.uri)
            options: dict[str, Any] = {"threads": threads, "on_bad": skips_bad(on_bad), "max_features": max_features}
            options["folder"] = folder and os.fsencode(folder)
            core, left_out, tables, columns = self._core.grow(source.uri, options, as_callback(progress))
        if left_out:
            warn_user(f"max_features={max_features} left out {left_out} names, the rarest: they count as unknown")
        if tables:
            warn_user(f"{tables} tables of the schema were not found: new names have no columns of them")
        if columns:
            warn_user(f"the log has columns that the schema does not have, which are not used: {columns}")
        return Encoder(core)

    @classmethod
    def load(cls, directory: str | os.PathLike[str]) -> Encoder:
        """Loads the encoder of a directory, or of a model that was trained from a raw log."""
        return cls(_core.Encoder.load(directory))

    def save(self, directory: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Saves schema.json and dictionary.furrow into a directory, which is made if it is not there.

        "memory://NAME" keeps the files in memory, where all readers of this process find them.
        """
        self._core.save(directory, overwrite)

    def open_folder(self) -> EncoderFolder:
        """The encoder as a folder in memory, whose `path` readers and trainers take until it is closed."""
        return EncoderFolder(self._core)

    @property
    def schema(self) -> Schema:
        """The schema that it was built with."""
        return Schema(self._core.schema())

    @property
    def fields(self) -> list[Field]:
        """The fields of its rows: columns, parts of times, crosses."""
        return [Field(name, _SIDES[side], *counts) for name, side, *counts in self._core.fields()]

    @property
    def n_features(self) -> int:
        """Feature indices are below it."""
        return self._core.feature_count()

    def feature(self, index: int) -> Feature:
        """What a feature index stands for."""
        return self.features(index, index + 1)[0]

    def features(self, first: int = 0, end: int | None = None) -> list[Feature]:
        """What the features first … end - 1 stand for."""
        end = self.n_features if end is None else end
        if first < 0 or end > self.n_features or first > end:
            raise IndexError(f"there are the features 0 … {self.n_features - 1}, not {first} … {end - 1}")
        names = [field.name for field in self.fields]
        return [Feature(names[field], name, count) for field, name, count in self._core.features(first, end - first)]

    def names(self, field: str | int, first: int = 0, end: int | None = None) -> list[str]:
        """The names first … end - 1 of a field: the most frequent first, those that grow added last."""
        number = self._field_number(field)
        known = self.fields[number].entries
        end = known if end is None else end
        if not 0 <= first <= end <= known:
            raise IndexError(f"there are {known} names, so {first} to {end} is not a range of them")
        return [name for name, _ in self._core.entries(number, first, end - first)]

    def find(self, field: str | int, name: Any) -> int:
        """The feature index of a value of a field."""
        return self._core.find(self._field_number(field), as_cell(name) or b"")

    def knows(self, field: str | int, name: Any) -> bool:
        """Whether the dictionary of a field has a value."""
        try:
            return self.find(field, name) >= 0
        except _core.NotFoundError:
            return False

    def _field_number(self, field: str | int) -> int:
        names = [known.name for known in self.fields]
        if isinstance(field, str):
            if field not in names:
                raise ValueError(f"there is no field {field!r}; the fields are {', '.join(names)}")
            return names.index(field)
        if not 0 <= field < len(names):
            raise IndexError(f"there are the fields 0 … {len(names) - 1}, not {field}")
        return field

    def spellings(self) -> dict[str, dict[str, str]]:
        """For columns that have only truth values: what other spellings of them mean."""
        found = {}
        for number, field in enumerate(self.fields):
            if 1 <= field.entries <= 2:
                names = [name for name, _ in self._core.entries(number, 0, field.entries)]
                found[field.name] = spelling_of(names)
        return {name: spelling for name, spelling in found.items() if spelling}

    def unknown_fields(self, indptr: Any, indices: Any) -> list[tuple[str, int]]:
        """Fields whose values the training data had in most of its rows, but these rows nearly never; and in how many
        rows they are unknown."""
        rows, found = len(indptr) - 1, []
        columns = {column.name for column in self.schema.columns}  # others are histories and crosses
        row_of = np.repeat(np.arange(rows), np.diff(indptr.astype(np.int64)))
        field_of = np.asarray(self._core.fields_of(indices.tolist()), dtype=np.int64)
        for number, field in enumerate(self.fields):
            if field.entries == 0 or field.name not in columns:
                continue
            there = (field_of == number) & (indices != field.first)
            unknown = rows - len(np.unique(row_of[there]))
            if unknown >= _NEARLY_ALL * rows and self._has_learned(number, field):
                found.append((field.name, unknown))
        return found

    def _has_learned(self, number: int, field: Field) -> bool:
        """Whether most cells of the training data had a value of the dictionary."""
        counts = self._core.entries(number, 0, min(field.entries, _COUNTED))
        return sum(count for _, count in counts) >= field.unknown + field.missing

    def encode_event(self, event: Mapping[str, Any] | None = None, /, **columns: Any) -> EncodedEvent:
        """The row of one event: what the line of a log with these cells gives. Other columns are missing.

        Columns are keyword arguments, or a mapping where their names are not words of Python.
        """
        return EncodedEvent(*self._core.event(as_pairs({**(event or {}), **columns})))

    def to_files(self) -> dict[str, bytes]:
        """The bytes of schema.json and dictionary.furrow."""
        with tempfile.TemporaryDirectory() as folder:
            self.save(folder)
            names = ("schema.json", "dictionary.furrow")
            return {name: _read(os.path.join(folder, name)) for name in names}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Encoder):
            return NotImplemented
        return self.schema == other.schema and _dictionary(self) == _dictionary(other)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_encoder, (self.to_files(),)

    def __repr__(self) -> str:
        fields = ", ".join(f"{field.name} ({field.count})" for field in self.fields)
        return f"<furrow.Encoder: {self.n_features} features of the fields {fields}>"


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _dictionary(encoder: Encoder) -> bytes:
    return encoder.to_files()["dictionary.furrow"]


def _restore_encoder(files: Mapping[str, bytes]) -> Encoder:
    folder = memory_path()
    added = []
    try:
        for name, data in files.items():
            _core.add_file(f"{folder}/{name}", data)
            added.append(name)
        return Encoder.load(folder)
    finally:
        for name in added:  # the encoder keeps what it uses
            _core.remove_file(f"{folder}/{name}")


def as_schema(schema: SchemaLike) -> Schema:
    """A schema from itself, a dict, or the path of a file."""
    if isinstance(schema, Schema):
        return schema
    if isinstance(schema, Mapping):
        return Schema.parse(schema)
    if is_path(schema):
        return Schema.load(schema)
    raise TypeError(f"schema: 'auto', a Schema, a dict or a path is needed, not {type(schema).__name__}")


def _check_columns(columns: Mapping[str, str | None], history: int) -> None:
    given = [name for name, value in columns.items() if value is not None] + (["history"] if history else [])
    if given:
        raise ValueError(f"{', '.join(given)}: for schema='auto' only; the schema says what its columns are")


def _check_repeats(uri: str) -> None:
    if uri.split("?")[0].split("#")[0] == "-":
        raise ValueError("standard input can be read once, but schema='auto' looks at the log first: give a schema")


# ---- Rows ----------------------------------------------------------------------------------------------------


class EncodedRows(Rows):
    """Rows of a log, as `furrow.read_rows` gives them, and the encoder that made them."""

    def __init__(self, source: Source, encoder: Encoder, options: dict[str, Any], progress: Progress) -> None:
        self.encoder = encoder
        self._source = source
        self._folder = encoder.open_folder()
        uri = _core.encoder_uri(source.uri_with(label="optional"), self._folder.path)
        super().__init__(uri, options, progress)

    @property
    def n_features(self) -> int:
        """The number of features of the encoder."""
        return self.encoder.n_features

    def to_scipy(self, n_features: int | None = None) -> Any:
        """All features as a scipy.sparse.csr_matrix, which has a column for each feature of the encoder."""
        return super().to_scipy(self.n_features if n_features is None else n_features)

    def to_numpy(self, n_features: int | None = None, *, missing: bool | None = None) -> Any:
        """All features as a table of float32, which has a column for each feature of the encoder."""
        return super().to_numpy(self.n_features if n_features is None else n_features, missing=missing)


def encode(
    data: Any,
    schema: SchemaLike | Encoder = "auto",
    *,
    on_bad: OnBad = "error",
    threads: int = 0,
    progress: Progress = None,
    **columns: Any,
) -> EncodedRows:
    """The rows of a log: features, labels, weights, in the form that :func:`furrow.read_rows` gives for other files.

    schema: an Encoder, whose features the rows get, or what :meth:`Encoder.build` takes, with its further arguments. A
    log without the column of the label gives rows without labels.

    >>> import pandas
    >>> log = pandas.DataFrame({"color": ["red", "blue", "red"], "price": [1, 2, 3], "label": [1, 0, 1]})
    >>> rows = encode(log)
    >>> rows.labels.tolist(), rows.shape
    ([1.0, 0.0, 1.0], (3, 6))
    >>> rows.to_scipy().nnz
    6
    >>> encode(log[:1], rows.encoder).indices.tolist()
    [2, 4]
    """
    if isinstance(schema, Encoder):
        if columns:
            raise TypeError(f"{', '.join(columns)}: an encoder knows its columns")
        encoder = schema
    else:
        encoder = Encoder.build(data, schema, on_bad=on_bad, threads=threads, progress=progress, **columns)
    options = {
        **{"format": "auto", "part": 0, "nparts": 1, "threads": threads, "skip_bad": bool(skips_bad(on_bad))},
        **{"key_type": "u32" if encoder.n_features <= 2**32 else "u64", "value_type": "f32"},
    }
    return EncodedRows(open_table(data), encoder, options, progress)


# ---- Splitting -----------------------------------------------------------------------------------------------


def split(
    data: Any,
    out: Sequence[str | os.PathLike[str]] | None = None,
    *,
    time: str | None = None,
    user: str | None = None,
    last: float = 0.2,
    group: str | None = None,
    shares: Sequence[float] | None = None,
    seed: int = 0,
    overwrite: bool = False,
    on_bad: OnBad = "error",
    progress: Progress = None,
) -> tuple[Any, ...]:
    """Splits a log into parts such as train and test: by time, by group, or each row by chance.

    With `time`, the last rows go to the second part: of each `user`, or of all; `last` below 1 is their share, else
    their number. Without it, `shares` says how large the parts are, rows with the same `group` stay together, and
    `seed` decides.

    The parts of a frame are frames; the parts of a file are files: `out` names them, and records are copied unchanged.

    >>> import pandas
    >>> log = pandas.DataFrame({"user": ["a", "b", "a", "b"], "day": [1, 2, 3, 4]})
    >>> train, test = split(log, time="day", user="user", last=1)
    >>> list(test["day"])
    [3, 4]
    """
    if (time is None) == (shares is None):
        raise ValueError("either time or shares is needed: how are the rows split?")
    if time is not None and group is not None:
        raise ValueError("group goes with shares, not with time")
    options: dict[str, Any] = {
        **{"time": _option(time), "user": _option(user), "group": _option(group)},
        **{"last": last, "seed": seed, "overwrite": overwrite, "on_bad": skips_bad(on_bad)},
    }
    parts = None if shares is None else np.ascontiguousarray(shares, dtype=np.float64)
    if is_path(data):
        if out is None:
            raise ValueError("out: the paths of the parts of a file are needed, such as ('train.csv', 'test.csv')")
        _split_file(os.fspath(data), [os.fspath(path) for path in out], options, parts, progress)
        return tuple(out)
    if out is not None:
        raise ValueError("out: only files are split into files; the parts of a frame are returned")
    if not is_frame(data):
        raise TypeError(f"a path or a frame is needed, not {type(data).__name__}")
    return _split_frame(data, [name for name in (time, user, group) if name is not None], options, parts, progress)


def _split_file(uri: str, paths: list[str], options: dict[str, Any], shares: Any, progress: Progress) -> None:
    if len(paths) != (2 if shares is None else len(shares)):
        raise ValueError(f"{len(paths)} paths for {2 if shares is None else len(shares)} parts")
    encoded = tuple(os.fsencode(path) for path in paths)
    rows = np.zeros(len(paths), dtype=np.uint64)
    stats = _core.split_table(uri, encoded, options, shares, rows, as_callback(progress))
    warn_of_bad_rows(stats, "split")


def _split_frame(
    frame: Any, columns: list[str], options: dict[str, Any], shares: Any, progress: Progress
) -> tuple[Any, ...]:
    """Splits the columns that decide, with the number of each row, and takes the rows of the frame by it."""
    import pandas

    number = "row number"
    while number in columns:
        number += "_"
    absent = [name for name in columns if name not in frame.columns]
    if absent:
        raise ValueError(f"the frame has no column {', '.join(map(repr, absent))}")
    small = frame[list(dict.fromkeys(columns))].assign(**{number: np.arange(len(frame))})
    with open_table(small) as source, tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, f"{i}.csv") for i in range(2 if shares is None else len(shares))]
        _split_file(source.uri, paths, options, shares, progress)
        return tuple(frame.iloc[pandas.read_csv(path, usecols=[number])[number].to_numpy()] for path in paths)
