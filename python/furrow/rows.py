"""Sparse samples: reading them from files as arrays, and writing them.

>>> import os, tempfile
>>> folder = tempfile.TemporaryDirectory()
>>> path = os.path.join(folder.name, "train.libsvm")
>>> write_rows(path, [[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]], [1, 0], format="libsvm")
>>> rows = read_rows(path)
>>> rows.format, rows.shape, rows.labels.tolist()
('libsvm', (2, 3), [1.0, 0.0])
>>> rows.to_numpy().tolist()
[[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]]
>>> folder.cleanup()
"""

from __future__ import annotations

import os
import re
import stat
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Iterator, Literal

import numpy as np
import numpy.typing as npt

from furrow import _core
from furrow._html import Card, Facts, size_of
from furrow._progress import Progress, as_callback

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Array = npt.NDArray[Any]
WriteFormat = Literal["libsvm", "libfm", "libffm", "csv", "cache"]

#: formats whose indices count from 0 or from 1
_INDEXED = ("libsvm", "libfm", "libffm")


@dataclass(frozen=True)
class RowStats:
    """What reading counted."""

    rows: int  #: rows that were read
    features: int  #: and their features
    bytes: int  #: of text, uncompressed; 0 for rows that are not parsed
    bad_rows: int  #: rows that on_bad="skip" left out
    ignored: int  #: pieces of text without a meaning that were skipped
    first_bad: str | None  #: the place of the first bad row, and what is wrong with it
    first_ignored: str | None  #: the place of the first ignored piece of text
    recoded: int = 0  #: cells of tables that are not UTF-8 and were read as Windows-1252


class RowBlock:
    """Some rows as arrays in the layout of CSR. The arrays keep their memory alive, whatever is read after them.

    The features of row i are at indptr[i] … indptr[i + 1] - 1 of indices, values and fields. They have the order of
    the file, and an index may occur twice. Arrays that the rows do not have are None: without values all are 1,
    without weights they are 1, without qids 0.
    """

    __slots__ = ("indptr", "indices", "values", "fields", "labels", "weights", "qids", "n_features")

    def __init__(self, block: _core.RowBlock) -> None:
        offsets, indices, values, fields, labels, weights, qids = block.arrays()
        self.indptr: npt.NDArray[np.int64] = np.asarray(offsets).view(np.int64)
        self.indices: Array = np.asarray(indices)
        self.values = _array(values)
        self.fields = _array(fields)
        self.labels = _array(labels)
        self.weights = _array(weights)
        self.qids = _array(qids)
        self.n_features: int = block.columns()  #: the largest index + 1; 0 without features

    def _has_zero(self) -> bool:
        """Whether an index or a field is 0."""
        arrays = [self.indices] if self.fields is None else [self.indices, self.fields]
        return any(array.size > 0 and array.min() == 0 for array in arrays)

    def _count_from(self, base: int) -> RowBlock:
        """Subtracts the base from indices and fields, in the memory of the block, which is its own."""
        if base and len(self.indices):
            self.indices -= base
            self.n_features -= base
            if self.fields is not None:
                self.fields -= base
        return self

    @property
    def offsets(self) -> npt.NDArray[np.int64]:
        """The same as indptr."""
        return self.indptr

    @property
    def data(self) -> Array | None:
        """The same as values."""
        return self.values

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __repr__(self) -> str:
        return f"<RowBlock of {len(self)} rows, {len(self.indices)} features>"

    def to_scipy(self, n_features: int | None = None) -> csr_matrix:
        """The features as a scipy.sparse.csr_matrix that shares the memory of the block where the types allow it."""
        return _as_csr(self, _width(self, n_features, 0))

    def to_numpy(self, n_features: int | None = None, *, missing: bool = False) -> npt.NDArray[np.float32]:
        """The features as a table of float32. missing: what a row does not have is a NaN, not 0."""
        table: npt.NDArray[np.float32] = np.empty((len(self), _width(self, n_features, 0)), np.float32)
        values = None if self.values is None else self.values.astype(np.float32, copy=False)
        wide = self.indices.dtype.itemsize == 8
        _core.fill_table(self.indptr.view(np.uint64), self.indices, values, wide, missing, table)
        return table


def _array(view: _core.View | None) -> Array | None:
    return None if view is None else np.asarray(view)


def _width(block: RowBlock, n_features: int | None, named: int) -> int:
    """The columns of a matrix: what is asked for, or what the data has."""
    if n_features is None:
        return max(block.n_features, named)
    if n_features < block.n_features:
        raise ValueError(f"n_features is {n_features}, but the rows have the index {block.n_features - 1}")
    return int(n_features)


def _as_csr(block: RowBlock, width: int) -> csr_matrix:
    """Views of the arrays where SciPy takes them: it wants signed indices, and both index arrays of one type."""
    from scipy.sparse import csr_matrix

    small = max(width - 1, len(block.indices)) <= np.iinfo(np.int32).max
    if width > np.iinfo(np.int64).max:
        raise OverflowError("an index is beyond what a SciPy matrix can have, 2^63 - 2")
    signed = block.indices.view(np.int32 if block.indices.dtype.itemsize == 4 else np.int64)
    if not small and signed.dtype == np.int32:
        signed = block.indices.astype(np.int64)
    index_type = np.int32 if small else np.int64
    values = np.ones(len(signed), np.float32) if block.values is None else block.values
    arrays = (values, signed.astype(index_type, copy=False), block.indptr.astype(index_type, copy=False))
    return csr_matrix(arrays, shape=(len(block), width), copy=False)


class Rows(Card):
    """Samples of files: read lazily, block by block, or all at once. `read_rows` makes it.

    Iterating gives a `RowBlock` after the other, each time from the start of the data, in memory that does not grow
    with it; after `load` it gives the one block that is in memory. Attributes and methods that need all rows (`shape`,
    `labels`, `to_numpy` …) load them. Standard input and pipes can be read once: load them first.

    Indices count from 0, whatever the file does: see `index_base`.
    """

    def __init__(self, uri: str, options: dict[str, Any], progress: Progress = None) -> None:
        self._uri = uri
        self._options = options
        self._progress = progress
        self._stream = _is_stream(uri)
        self._lock = threading.RLock()  # of everything below
        self._stats: dict[str, Any] | None = None
        self._block: RowBlock | None = None
        self._rest: dict[str, Any] | None = None  # what stays when the features have been given away
        self._base: int | None = None  # what is subtracted from indices; None: not known yet
        text, mark, _ = uri.partition("#")
        if mark and self._stream:
            raise ValueError(f"{text} can be read once, and so cannot have a cache file")
        reader = _core.RowReader.open(text, options)
        self._info = reader.info()
        self._reader = None if mark else reader  # nothing has been read of it yet; None: it is opened when it is needed
        #: whether this class finds what indices count from: the library takes them as they are, or as the URI says
        self._auto = self.format in _INDEXED and _indexing_mode(uri) is None

    # ---- reading

    def _open(self) -> _core.RowReader:
        """A reader at the start of the data."""
        with self._lock:
            reader, self._reader = self._reader, None
        if reader is not None:
            return reader
        if self._stream:
            raise _core.StateError(f"{self._uri} can be read once: call load() before anything else")
        return _core.RowReader.open(self._uri, self._options)

    def __iter__(self) -> Iterator[RowBlock]:
        if self._block is not None:
            yield self._block
            return
        base = self._base_of_blocks()
        reader = self._open()
        while (core := reader.next()) is not None:
            block = RowBlock(core)
            if base and self._stream and block._has_zero():
                raise ValueError(f"{self._uri} has the index 0: index_base=0 reads data that counts from 0")
            yield block._count_from(base)
        self._stats = reader.stats()

    def _load(self) -> RowBlock:
        whole = self.nparts == 1
        base = 0 if not self._auto or (whole and self._base is None) else self.index_base
        reader = self._open()
        block = RowBlock(reader.load(as_callback(self._progress)))
        self._stats = reader.stats()
        if self._auto and whole and self._base is None:
            base = self._base = int(len(block.indices) > 0 and not block._has_zero() and not self._is_dummy())
        return block._count_from(base or 0)

    # ---- what indices count from

    def _base_of_blocks(self) -> int:
        """What is to be subtracted from the indices of each block. For a pipe, which cannot be examined before it is
        read, it is 1, as in training: an index 0 is then an error."""
        if not self._auto:
            return 0
        with self._lock:
            if self._stream and self._base is None:
                self._base = 1
        return self.index_base or 0

    def _find_base(self) -> int:
        """1: there are features, and no index and no field is 0. Looks at all parts until it finds a 0."""
        if self._stream:
            self.load()
            return self._base or 0
        if self._is_dummy():
            return 0
        uri = self._uri if self.nparts == 1 else self._uri.partition("#")[0]
        reader = _core.RowReader.open(uri, self._options | {"part": 0, "nparts": 1})
        features = 0
        while (core := reader.next()) is not None:
            block = RowBlock(core)
            if block._has_zero():
                return 0
            features += len(block.indices)
        return int(features > 0)

    def _is_dummy(self) -> bool:
        """Whether text that is read as libsvm has indices without values, which count from 0."""
        if self.format == "dummy":
            return True
        if self.format != "libsvm" or self._stream or self.format_reason.startswith("content"):
            return False
        path = re.split("[;?#]", self._uri, maxsplit=1)[0]
        return bool(_core.RowReader.open(path, {"format": "auto"}).info()["format"] == "dummy")

    def _mode_base(self) -> int:
        """The base of a URI that has an indexing_mode."""
        mode = int(_indexing_mode(self._uri) or 0)
        if mode >= 0 or self._stream:
            return int(mode > 0)
        reader = _core.RowReader.open(self._uri.partition("#")[0], self._options)
        reader.next()
        return int(reader.info()["index_base"])

    @property
    def index_base(self) -> int | None:
        """What the indices of the file count from, 0 or 1, and so what was subtracted from them (and from fields);
        None: the format does not have indices.

        By default it is found: 1 if there are features and no index (nor field) is 0, over all parts of the data.
        Without `load` this reads the data once, up to the first 0. A file that counts from 0 but lacks the index 0
        cannot be distinguished from one that counts from 1: use `read_rows(…, index_base=0)`.
        """
        if self.format not in _INDEXED and self.format != "dummy":
            return None
        with self._lock:
            if self._base is None:
                self._base = self._find_base() if self._auto else self._mode_base()
        return self._base

    @property
    def index_base_given(self) -> bool:
        """Whether index_base or the URI says what indices count from."""
        return _indexing_mode(self._uri) is not None

    def with_index_base(self, index_base: int) -> Rows:
        """The same rows, read again with indices that count from 0 or 1."""
        if self._stream:
            raise _core.StateError(f"{self._uri} can be read once: index_base={index_base} is needed when it is opened")
        return Rows(_with_mode(self._uri, index_base), self._options, self._progress)

    def load(self) -> Rows:
        """Reads everything into memory, once."""
        with self._lock:
            if self._block is None:
                self._block = self._load()
                self._rest = None
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles read the data again."""
        if self._stream:
            raise TypeError(f"{self._uri} can be read once, and so cannot be pickled")
        return Rows, (self._uri, self._options)

    # ---- what the data is

    @property
    def uri(self) -> str:
        """Where the rows are read from."""
        return self._uri

    def _text_uri(self) -> str:
        """The URI of the text, and what its indices count from."""
        text = self._uri.partition("#")[0]
        return _with_mode(text, self.index_base or 0) if self._auto else text

    def plain_uri(self) -> str | None:
        """The URI by which the library reads rows that are not in memory; None: they are, or file_uri is None."""
        return None if self.loaded else self.file_uri()

    def file_uri(self) -> str | None:
        """The URI of the files of these rows; None: the rows are a part, have other types, or leave rows out."""
        options = self._options
        if self._stream or options["nparts"] != 1 or options["skip_bad"] or self.value_type != "f32":
            return None
        path, mark, cache = self._uri.partition("#")
        if options["format"] != "auto" and "format=" not in path:
            path += f"{'&' if '?' in path else '?'}format={options['format']}"
        return path + mark + cache

    @property
    def block(self) -> RowBlock | None:
        """All rows, if they are in memory."""
        return self._block

    @property
    def loaded(self) -> bool:
        """Whether all rows are in memory."""
        return self._block is not None

    @property
    def format(self) -> str:
        """The format that is read: "libsvm", "libffm", "csv" …"""
        return str(self._info["format"])

    @property
    def format_reason(self) -> str:
        """How the format was chosen."""
        return str(self._info["reason"])

    @property
    def column_names(self) -> list[str] | None:
        """The names of the features of a csv with a header; else None."""
        return self._info["names"] or None

    @property
    def label_name(self) -> str | None:
        """The name of the column of a csv that has the labels."""
        return self._info["label_name"]  # type: ignore[no-any-return]

    @property
    def weight_name(self) -> str | None:
        """The name of the column of a csv that has the weights."""
        return self._info["weight_name"]  # type: ignore[no-any-return]

    @property
    def stats(self) -> RowStats:
        """What the last complete pass over the data counted; without one the rows are loaded."""
        if self._stats is None:
            self.load()
        assert self._stats is not None
        return RowStats(**self._stats)

    @property
    def part(self) -> int:
        """Which part of the data is read, from 0."""
        return int(self._options["part"])

    @property
    def nparts(self) -> int:
        """Of how many parts."""
        return int(self._options["nparts"])

    @property
    def key_type(self) -> str:
        """The type of indices and fields: "u32" or "u64"."""
        return str(self._options["key_type"])

    @property
    def value_type(self) -> str:
        """The type of values and labels: "f32", "i32" or "i64"."""
        return str(self._options["value_type"])

    # ---- all rows

    def _column(self, name: str) -> Any:
        if self._block is None and self._rest is not None and name in self._rest:
            return self._rest[name]
        self.load()
        return getattr(self._block, name)

    @property
    def labels(self) -> Array | None:
        """The label of each row; None: the data has none."""
        return self._column("labels")  # type: ignore[no-any-return]

    @property
    def weights(self) -> Array | None:
        """The weight of each row; None: all are 1."""
        return self._column("weights")  # type: ignore[no-any-return]

    @property
    def qids(self) -> Array | None:
        """The query of each row; None: all are 0."""
        return self._column("qids")  # type: ignore[no-any-return]

    @property
    def fields(self) -> Array | None:
        """The field of each feature, in the order of the file; None: the format has none."""
        return self._column("fields")  # type: ignore[no-any-return]

    @property
    def indptr(self) -> npt.NDArray[np.int64]:
        """Where the features of each row begin."""
        return self._column("indptr")  # type: ignore[no-any-return]

    @property
    def indices(self) -> Array:
        """The index of each feature."""
        return self._column("indices")  # type: ignore[no-any-return]

    @property
    def values(self) -> Array | None:
        """The value of each feature; None: all are 1."""
        return self._column("values")  # type: ignore[no-any-return]

    @property
    def n_features(self) -> int:
        """The largest index + 1, or the number of columns of a csv with a header."""
        return max(int(self._column("n_features")), len(self.column_names or ()))

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, features)"""
        return int(self._column("rows") if self._block is None and self._rest else len(self.load())), self.n_features

    def __len__(self) -> int:
        # A TypeError, as of other lazy objects: list(rows) asks for a length and would load everything.
        if self._block is not None:
            return len(self._block)
        raise TypeError("the number of rows is not known before they are read: use load(), or shape[0]")

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        state = f"{len(self._block)} rows in memory" if self._block is not None else "not in memory"
        return f"<Rows of {self._uri!r}, {self.format}, {state}>"

    def _facts(self) -> Facts:
        """Does not read the rows: they may be many."""
        names = ", ".join(self.column_names or ())
        facts = [("source", self._uri), ("format", self.format), ("columns", names or None), ("label", self.label_name)]
        if self._block is None:
            return facts + [("state", "not in memory")]
        arrays = [self._block.indptr, self._block.indices, self._block.values, self._block.fields, self._block.labels]
        size = size_of(sum(array.nbytes for array in arrays if array is not None))
        shape = [("rows", len(self._block)), ("features", self.n_features), ("values", len(self._block.indices))]
        return facts + shape + [("memory", size)]

    def to_scipy(self, n_features: int | None = None) -> csr_matrix:
        """All features as a scipy.sparse.csr_matrix of float32 (or of the value type), which belongs to the caller.

        What a row does not have is 0, also an empty cell of a csv. Parts of a data set need the same n_features to
        be stacked. Without `load` the matrix gets the memory that the file was read into, without a copy, and the
        rows keep labels, weights, qids and fields.
        """
        if self._block is not None:
            matrix = _as_csr(self._block, _width(self._block, n_features, len(self.column_names or ())))
            return matrix.copy()
        with self._lock:
            block = self._load()
            width = _width(block, n_features, len(self.column_names or ()))
            self._keep_columns(block)
        return _as_csr(block, width)

    def _keep_columns(self, block: RowBlock) -> None:
        """Keeps what a matrix of the features does not have: copies, so that the memory goes with the matrix."""
        self._rest = {"rows": len(block), "n_features": block.n_features}
        for name in ("labels", "weights", "qids", "fields"):
            array = getattr(block, name)
            self._rest[name] = None if array is None else array.copy()

    def to_numpy(self, n_features: int | None = None, *, missing: bool | None = None) -> npt.NDArray[np.float32]:
        """All features as a table of float32, which belongs to the caller.

        missing: whether what a row does not have is a NaN instead of 0; None: in csv, where it is an empty cell.
        """
        self.load()
        assert self._block is not None
        missing = self.format == "csv" if missing is None else missing
        width = _width(self._block, n_features, len(self.column_names or ()))
        return self._block.to_numpy(width, missing=missing)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """All rows as an Arrow table, without a copy: label, weight, qid (if the rows have them), and for the features
        of each row the lists indices, values and fields."""
        block = self.load()._block
        assert block is not None
        columns: list[tuple[str, Any, Any]] = []
        for name, array in (("label", block.labels), ("weight", block.weights), ("qid", block.qids)):
            if array is not None:
                columns.append((name, array, None))
        for name, array in (("indices", block.indices), ("values", block.values), ("fields", block.fields)):
            if array is not None:
                columns.append((name, array, block.indptr))
        return _core.arrow_stream(columns, len(block))

    def save(self, path: str | os.PathLike[str], format: WriteFormat = "libsvm", **options: Any) -> None:
        """Writes the rows to a file: see `write_rows` for formats and options."""
        write_rows(path, self, format=format, **options)


def _indexing_mode(uri: str) -> str | None:
    """What the URI says of its indices."""
    found = re.search(r"[?&]indexing_mode=([^&]*)", uri.partition("#")[0])
    return found[1] if found else None


def _with_mode(uri: str, index_base: int) -> str:
    path, mark, cache = uri.partition("#")
    return f"{path}{'&' if '?' in path else '?'}indexing_mode={index_base}{mark}{cache}"


def _as_base(index_base: Any, name: str = "index_base") -> int:
    if isinstance(index_base, bool) or index_base not in (0, 1):
        raise ValueError(f"{name} is 0 or 1, not {index_base!r}")
    return int(index_base)


def _is_stream(uri: str) -> bool:
    """Whether one of the paths can be read only once."""
    for path in uri.split("#", 1)[0].split("?", 1)[0].split(";"):
        if path in ("-", "stdin"):
            return True
        try:
            mode = os.stat(path).st_mode
        except (OSError, ValueError):
            continue
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            return True
    return False


def read_rows(
    uri: str | os.PathLike[str],
    *,
    format: str = "auto",
    part: int = 0,
    nparts: int = 1,
    threads: int = 0,
    key_type: Literal["u32", "u64"] = "u32",
    value_type: Literal["f32", "i32", "i64"] = "f32",
    on_bad: Literal["error", "skip"] = "error",
    index_base: Literal["auto", 0, 1] = "auto",
    cache: str | os.PathLike[str] | None = None,
    progress: Progress = None,
) -> Rows:
    """Opens samples: libsvm, libfm, libffm, csv and others, plain or compressed.

    uri: a path, several with ; between them, a folder, a glob, - for standard input; arguments of the format after a ?
        as in "train.csv?label_column=0". docs/formats/rows.md of Furrow has them all.
    format: "libsvm", "libfm", "libffm", "csv", "dummy", "dense", or "auto": by the content.
    part, nparts: read one of several parts of about the same size.
    threads: that parse; 0: one for each processor.
    key_type, value_type: of indices and fields; of values and labels.
    on_bad: whether a row that cannot be read is a `ParseError`, which has its file, line, column and token, or is left
        out and counted in `Rows.stats`.
    index_base: what the indices (and fields) of libsvm, libfm and libffm count from. "auto": from 1 if none of them is
        0, which is what an estimator does with a path, and scikit-learn's load_svmlight_file. The indices of the rows
        count from 0 in any case. An indexing_mode of the URI says the same. `Rows.index_base` says what was found.
    cache: a file that the first reading writes, in a binary format, and later ones read instead of the text.
    progress: see `Rows.load`; True shows a bar.

    >>> import tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "a.libsvm")
    ...     _ = open(path, "w").write("1 3:0.5 7:2\\n0 1:1\\n")
    ...     [(block.labels.tolist(), block.indices.tolist()) for block in read_rows(path)]
    [([1.0, 0.0], [2, 6, 0])]
    """
    if on_bad not in ("error", "skip"):
        raise ValueError(f'on_bad is "error" or "skip", not {on_bad!r}')
    text = os.fspath(uri)
    if not isinstance(text, str):
        raise TypeError(f"uri is a str or a path, not {type(uri).__name__}")
    if index_base != "auto":
        base = _as_base(index_base, 'index_base is "auto", or it')
        if _indexing_mode(text) not in (None, str(base)):
            raise ValueError(f"index_base is {base}, but the URI says indexing_mode={_indexing_mode(text)}")
        text = text if _indexing_mode(text) is not None else _with_mode(text, base)
    if cache is not None:
        if "#" in text:
            raise ValueError("the URI names a cache file, and so does cache")
        text = f"{text}#{os.fspath(cache)}"
    options = {
        "format": format,
        "part": part,
        "nparts": nparts,
        "threads": threads,
        "key_type": key_type,
        "value_type": value_type,
        "skip_bad": on_bad == "skip",
    }
    return Rows(text, options, progress)


def write_rows(
    path: str | os.PathLike[str],
    data: Any,
    labels: Any = None,
    *,
    weights: Any = None,
    qids: Any = None,
    format: WriteFormat = "libsvm",
    n_features: int | None = None,
    names: list[str] | None = None,
    header: bool | None = None,
    delimiter: str = ",",
    index_base: int | None = None,
    drop_fields: bool = False,
    missing: bool | None = None,
    overwrite: bool = False,
    progress: Progress = None,
) -> None:
    """Writes samples: arrays, sparse matrices, frames of numbers, `Rows`, or the path of other samples.

    The file appears when it is complete. Numbers are written so that they read back to the same bits. What a format
    cannot hold (qids in csv, fields in libsvm) is refused. A table is written without its zeros, except as csv.

    format: "libsvm", "libffm" (= "libfm"), "csv", or "cache": binary.
    n_features, names, header, delimiter: of csv. header: a line of names; None: if there are names.
    missing: whether a csv has an empty cell for what a row does not have, not 0; None: 0 for sparse matrices alone.
    index_base: what the indices (and fields) of libsvm and libffm count from: 0 or 1. By default 1, so that whatever
        finds out reads the same columns again, even if the first one is empty; 0 for rows without values.
    drop_fields: write rows with fields as libsvm, without them.
    overwrite: replace a file that is there.
    """
    from furrow._data import is_path, is_sparse, open_rows

    if format not in ("libsvm", "libfm", "libffm", "csv", "cache"):
        raise ValueError(f'format is "libsvm", "libfm", "libffm", "csv" or "cache", not {format!r}')
    if len(delimiter) != 1 or not delimiter.isascii():
        raise ValueError(f"delimiter is one character of ASCII, not {delimiter!r}")
    given = any(column is not None for column in (labels, weights, qids))
    if is_path(data) and not given and not (_is_stream(os.fspath(data)) and _indexing_mode(os.fspath(data))):
        data = read_rows(data)
    if format == "csv" and isinstance(data, Rows):
        data.load()  # the columns are to be known
    own = isinstance(data, Rows) and not data._stream and not given  # written as they are read, with all their types
    write: dict[str, Any] = {"format": format, "overwrite": overwrite, "drop_fields": drop_fields}
    write["index_base"] = _written_base(data, format) if index_base is None else _as_base(index_base)
    with open_rows(
        data._text_uri() if own else data, labels=labels, weights=weights, qids=qids, drop_zeros=format != "csv"
    ) as source:
        if own:
            source.names, source.features = data.column_names, data.n_features if format == "csv" else None
        names = source.names if names is None else list(names)
        if format == "csv":
            write["columns"] = n_features if n_features is not None else len(names) if names else source.features
            write["header"] = bool(names) if header is None else header
            write["delimiter"] = delimiter
            write["with_weight"] = weights is not None or (isinstance(data, Rows) and data.weights is not None)
            write["zeros_missing"] = not is_sparse(data) if missing is None else missing
        read = data._options if own else {}
        _core.write_rows(source.uri, read, path, write, names if format == "csv" else None, as_callback(progress))


def _written_base(data: Any, format: WriteFormat) -> int:
    """Text that counts from 1 cannot be taken for other text. Indices without values are read as they are."""
    if format in ("csv", "cache"):
        return 0
    without_values = isinstance(data, Rows) and (data.block.values is None if data.block else data._is_dummy())
    return 0 if without_values and format == "libsvm" else 1
