"""Vector indexes in Faiss's file format: built, searched and changed.

>>> import numpy as np
>>> from furrow.index import Index
>>> films = np.random.default_rng(1).normal(size=(1000, 16)).astype(np.float32)
>>> index = Index.build(films, nlist=8, m=0)
>>> distances, ids = index.search(films[:2], 3, nprobe=8)
>>> ids.shape, ids[:, 0].tolist()
((2, 3), [0, 1])
"""

from __future__ import annotations

import operator
import os
import re
import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Iterator, NamedTuple, Union

import numpy as np
import numpy.typing as npt

from furrow import _core
from furrow._attributes import Columns, as_where, columns_of, read_table, shown_where, warn_missing
from furrow._arrays import Floats, Ids, as_array, as_ids, as_vectors, refuse_masks
from furrow._data import is_arrow, is_frame, memory_path, number_table
from furrow._html import Card, Facts, size_of
from furrow._id_filter import IdFilter, as_core_filter, as_filter, find_names
from furrow._index_card import IndexCard, as_card, card_facts
from furrow._progress import Progress, as_callback

Path = Union[str, "os.PathLike[str]"]

__all__ = ["Clusters", "Field", "Finding", "Index", "exact_search", "kmeans", "load_vectors"]

_DIRECT_MAPS = {"none": 0, "array": 1, "hash": 2}
#: results for each query that are allowed even if the index has fewer vectors
_MOST_K = 1 << 20
_MOST_THREADS = 1024
# looked up once: a search for one query takes a few microseconds
_ndarray, _empty, _FLOAT32, _INT64 = np.ndarray, np.empty, np.dtype(np.float32), np.dtype(np.int64)
_PLAIN = 0x0101  # of flags.num: C-contiguous and aligned
#: queries of a range search between two checks for Ctrl-C
_RANGE_PIECE = 256


class Field(NamedTuple):
    """A field of an index file."""

    offset: int  #: of its first byte
    size: int  #: its bytes
    path: str  #: "quantizer/ntotal"
    type: str  #: "u64", "f32" …
    elements: int  #: of an array; 1 for a single value
    value: str  #: as text; of an array the first few elements
    meaning: str  #: what it is for


class Finding(NamedTuple):
    """Something that Index.verify found."""

    fatal: bool  #: an error; else a remark about something odd
    path: str  #: of the field or of the index inside
    offset: int | None  #: byte in the file
    status: str  #: of the error; "OK" for a remark
    message: str


class Clusters(NamedTuple):
    """What kmeans found."""

    centroids: Floats  #: a row for each
    labels: Ids  #: for each vector the number of its nearest centroid
    objective: float  #: sum of the squared distances to them; with spherical, of the inner products


def _path(path: Path) -> str:
    """A path of this machine: "-" is a file like any other."""
    text = os.fsdecode(path)
    return "./-" if text == "-" else text


def _count(value: Any, name: str, least: int, most: int = 2**63 - 1) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: an int is needed, not {value!r}") from None
    if number < least or number > most:
        raise ValueError(f"{name} is {number}, but must be {least} to {most}")
    return number


def _vectors(x: Any, d: int, name: str) -> Floats:
    refuse_masks(x, name)
    if hasattr(x, "tocsr"):
        raise TypeError(f"{name}: dense vectors are needed, not a sparse matrix; x.toarray() makes them")
    if is_frame(x) or (is_arrow(x) and not hasattr(x, "__array__")):
        x = number_table(x)
    return as_vectors(x, d, name)


def _new_ids(ids: Any, n: int) -> Ids:
    """Ids for new vectors."""
    array = as_ids(ids, n)
    if array.size > 0 and int(array.min()) < 0:
        raise ValueError(f"ids: {int(array.min())} is negative, but -1 stands for a missing result")
    return array


def _names(names: Any, n: int) -> tuple[str, ...]:
    if isinstance(names, (str, bytes)):
        raise TypeError("names: one str for each vector is needed, not a single one")
    texts = tuple(str(name) if isinstance(name, np.str_) else name for name in names)
    if len(texts) != n:
        raise ValueError(f"there are {len(texts)} names for {n} vectors")
    return texts


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


class Index(Card):
    """A vector index: inverted lists of vectors or of product quantizer codes, as Faiss stores them.

    `Index.build` makes one from vectors, `Index.load` reads a file, `Index(d, "IVF1024,PQ16")` makes an empty one as
    Faiss's index_factory does. Arrays of float32 in C order are used as they are; other numbers, strides and lists are
    converted. A single vector of shape (d,) counts as one row.

    Threads may search one index at once; a change waits for searches, and searches wait for a change. The first search
    after a change prepares the index again, so that many small changes between searches are slow for a large index.

    >>> import numpy as np
    >>> index = Index(4, "IVF2,Flat")
    >>> x = np.arange(40, dtype=np.float32).reshape(10, 4)
    >>> index.train(x)
    >>> index.add(x).tolist()
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    >>> index
    furrow.Index(d=4, ntotal=10, kind='inverted lists of vectors', metric='l2', nlist=2, nprobe=1)
    """

    __slots__ = ("_index", "_d", "__weakref__")
    _index: _core.Index
    _d: int

    def __init__(self, d: int, factory: str, metric: str | int = "l2") -> None:
        """An empty index of d dimensions, not trained. The parts of `factory` as in Faiss:

        IDMap or IDMap2; L2norm, PCAd (PCAR, PCAW, PCAWR), OPQm or OPQm_d, RR or RRd; IVFn or IVFn_HNSWm, or HNSWm; Flat,
        SQ8 (SQ6, SQ4, SQfp16, SQbf16), PQm, PQmxb, PQmx4fs or PQm+r; RFlat or Refine(...). Flat and fp16 need no training.
        """
        self._open(_core.Index.create(_spec(d, {"factory": _factory(factory)}, metric)))

    def _open(self, core: _core.Index) -> None:
        self._index = core
        self._d = int(core.info()[0]["d"])

    @classmethod
    def _of(cls, core: _core.Index) -> Index:
        index = cls.__new__(cls)
        index._open(core)
        return index

    @classmethod
    def factory(cls, d: int, description: str, metric: str | int = "l2") -> Index:
        """The same as Index(d, description, metric).

        >>> Index.factory(64, "OPQ16_64,IVF256_HNSW32,PQ16x8,RFlat").is_trained
        False
        >>> Index.factory(64, "IVF256,SQ8").factory_string
        'IVF256,SQ8'
        >>> Index.factory(64, "IVF256,LSH")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        furrow.UnsupportedError: ...
        """
        return cls(d, description, metric)

    # ---- Building

    @classmethod
    def build(
        cls,
        x: Any,
        *,
        nlist: int | None = None,
        m: int | None = None,
        nbits: int | None = None,
        metric: str | int = "l2",
        factory: str | None = None,
        ids: Any = None,
        names: Iterable[str] | None = None,
        attributes: Any = None,
        attribute_key: str | None = None,
        attribute_types: Mapping[str, str] | None = None,
        train: Any = None,
        hnsw_m: int | None = None,
        opq: bool | None = None,
        opq_d: int | None = None,
        normalize: bool | None = None,
        by_residual: bool | None = None,
        refine_m: int | None = None,
        refine_nbits: int | None = None,
        refine_flat: bool | None = None,
        k_factor: float | None = None,
        id_map: bool | None = None,
        ef_construction: int | None = None,
        nprobe: int | None = None,
        recall: float | None = None,
        queries: Any = None,
        max_bytes: int | None = None,
        seed: int = 1234,
        coarse_rounds: int | None = None,
        pq_rounds: int | None = None,
        sample_per_list: int | None = None,
        threads: int = 0,
        progress: Progress = None,
    ) -> Index:
        """Trains an index on x and adds x to it.

        Without arguments about the index, its kind is chosen: the vectors themselves (Flat) as long as comparing all of
        them is fast, then lists of codes whose candidates are refined by the vectors.

        recall: the share of the 10 nearest vectors that searches are to find. It is measured with queries, vectors that
        are not in the index, or else with some of the vectors that are, and the settings that reach it are stored in
        the index. By default 0.95 where the index is chosen; elsewhere nothing is measured. max_bytes: the most bytes of an index that is chosen.
        nlist: lists; by default the power of two nearest to 4 * sqrt(n), with at least 39 vectors for each list.
        m: sub-quantizers, which divide d; 0: the vectors themselves are stored. By default 0 below 10,000 vectors,
        else the largest divisor of d that is at most d / 4 (d / 2 up to 24) and 64. nbits: bits of each, 8.
        metric: "l2" or "euclidean" (squared distances), "ip" or "inner_product", or "cosine" ("ip" and normalize), in
        any case.
        factory: all of this as a string, instead: "IVF1024,PQ16".
        ids, names: one for each vector; by default ids count from 0. Names are str, and saved next to the index, in
        PATH.names.
        attributes: a frame, an Arrow table or a dict of columns with a row for each vector, in their order; or the path
        of a csv, tsv or JSON lines file, whose rows are matched by its column "id" (or, with names, "name"). Searches
        filter by them (where=), and they are saved next to the index, in PATH.attributes. attribute_key: the column
        with the id or the name of each row's vector. attribute_types: columns that are read as "number", "text", "set"
        or "time", whatever they look like. Lists, tuples and sets are sets of texts, datetimes are times.
        train: other vectors to train on.
        hnsw_m: links of an HNSW graph that finds lists; worthwhile for many lists.
        opq, opq_d: a trained rotation first, which may reduce the dimension to opq_d.
        normalize: vectors are scaled to unit length first.
        by_residual: False: codes are of the vectors, not of their residuals to the centroid of the list.
        refine_m, refine_nbits: a second code that ranks k_factor * k candidates again (4; L2 only); refine_flat: the
        vectors themselves do. id_map: stores ids for such an index; by default if there are ids or names.
        ef_construction: with a factory string that has HNSW: candidates for the links of a vector (100).
        nprobe: lists that a search probes by default; the index stores it. If nlist is given, it is 1, as in Faiss;
        where only m is given, a quarter of the lists, but 8 to 128 of them. More lists find more and take longer.
        seed: the same seed gives the same bytes, whatever the number of threads.

        >>> import numpy as np
        >>> x = np.random.default_rng(0).normal(size=(500, 8)).astype(np.float32)
        >>> index = Index.build(x, names=[f"item {i}" for i in range(500)])
        >>> index.factory_string
        'IDMap,Flat'
        >>> index.search_names(x[7], 1)[1]
        array([['item 7']], dtype=object)
        """
        vectors = _vectors(x, 0, "x")
        n, d = vectors.shape
        numbers = None if ids is None else _new_ids(ids, n)
        texts = None if names is None else _names(names, n)
        table = read_table(None, attributes, attribute_key, attribute_types, texts is not None)
        asked = None if queries is None else _vectors(queries, d, "queries")
        own = _given(nlist=nlist, m=m, nbits=nbits, hnsw_m=hnsw_m, opq=opq, opq_d=opq_d, normalize=normalize)
        own |= _given(by_residual=by_residual, refine_m=refine_m, refine_nbits=refine_nbits, refine_flat=refine_flat)
        own |= _given(k_factor=4.0 if refine_flat and not refine_m and k_factor is None else k_factor, id_map=id_map)
        own |= _given(ef_construction=ef_construction)
        named = numbers is not None or texts is not None
        wish = {"n": n, "d": d, "ids": named} | as_metric(metric) | _given(recall=recall, max_bytes=max_bytes)
        selection = _core.choose(wish | _given(normalize=normalize))
        chosen = factory is None and not own.keys() - {"normalize", "id_map"}
        if asked is not None and (nprobe is not None or not (chosen or recall is not None)):
            raise ValueError("queries: the recall is not measured without recall, or with nprobe")
        if max_bytes is not None and not chosen:
            raise ValueError("max_bytes: the size of an index that is not chosen is fixed by the other arguments")
        if chosen:
            spec = {"factory": selection["factory"]} | _given(id_map=id_map)
        elif factory is not None:
            spec = {"factory": _factory(factory)} | own
        else:
            spec = {"nlist": selection["nlist"], "m": selection["m"]} | own
            if nprobe is None and recall is None and "nlist" not in own:
                nprobe = selection["nprobe"]
        if named and (chosen or factory is not None or spec.get("refine_m") or spec.get("refine_flat")):
            spec.setdefault("id_map", True)
        fields = as_metric(metric)
        if chosen:
            fields.pop("normalize", None)  # the string has it
        elif factory is not None:
            spec, fields = _scaled(spec, fields)
        index = cls._of(_core.Index.create({"d": d} | spec | fields))
        if not index.is_trained:
            index.train(
                vectors if train is None else train,
                seed=seed,
                coarse_rounds=coarse_rounds,
                pq_rounds=pq_rounds,
                sample_per_list=sample_per_list,
                threads=threads,
                progress=progress,
            )
        if nprobe is not None:
            index.nprobe = nprobe
        index._add(vectors, numbers, texts, table, threads, progress)
        if nprobe is None and (chosen or recall is not None):
            index._tune(vectors, numbers, asked, 0.95 if recall is None else recall, threads)
        index._index.end_build()
        return index

    def _tune(self, x: Floats, ids: Ids | None, asked: Floats | None, recall: float, threads: int) -> None:
        """Stores the settings that find a share of the 10 nearest vectors of queries, or the 10 nearest others of some
        of the vectors."""
        if len(x) == 0 or set(re.split("[,()]+", self.factory_string)) <= {"", "IDMap", "IDMap2", "L2norm", "Flat"}:
            return  # searches compare all vectors
        numbers = np.arange(len(x), dtype=np.int64) if ids is None else ids
        if asked is None:
            rows = np.arange(0, len(x), max(len(x) // _TUNE_QUERIES, 1))[:_TUNE_QUERIES]
            queries, own = np.ascontiguousarray(x[rows]), np.ascontiguousarray(numbers[rows])
        else:
            queries, own = asked, np.full(len(asked), -1, dtype=np.int64)
        near = self._nearest(x, queries, min(_TUNE_K + 1, len(x)), numbers, threads, None)
        truth = np.full((len(queries), _TUNE_K), -1, dtype=np.int64)
        for row, (found, self_id) in enumerate(zip(near, own)):
            others = found[found != self_id][:_TUNE_K]
            truth[row, : len(others)] = others
        given = own if asked is None else None
        result = self._index.tune(queries, truth, given, recall, _count(threads, "threads", 0, _MOST_THREADS))
        if not result["reached"]:
            message = f"searches find a share of {result['recall']:.3f} at most, less than the recall of {recall}"
            warnings.warn(message, UserWarning, stacklevel=3)

    def _nearest(self, base: Floats, queries: Floats, k: int, ids: Any, threads: int, progress: Progress) -> Ids:
        """The ids of the nearest vectors, compared as the index does."""
        info = self._index.info()[0]
        if info["metric"] not in (0, 1):
            raise ValueError(f"vectors cannot be compared exactly with the metric {self.metric}")
        fields = {"metric": int(info["metric"]), "normalize": bool(info["normalizes"])}
        return _compare_all(base, queries, k, ids, fields, threads, progress)[1]

    def train(
        self,
        x: Any,
        *,
        seed: int = 1234,
        coarse_rounds: int | None = None,
        pq_rounds: int | None = None,
        sample_per_list: int | None = None,
        threads: int = 0,
        progress: Progress = None,
    ) -> None:
        """Trains an empty index on vectors, which are not added.

        coarse_rounds, pq_rounds: rounds of k-means (10, 25). sample_per_list: vectors that k-means uses for each
        centroid (256). Ctrl-C and a progress function that returns False leave the index unchanged.
        """
        options = _given(coarse_rounds=coarse_rounds, pq_rounds=pq_rounds, sample_per_list=sample_per_list)
        options |= {"seed": seed, "threads": _count(threads, "threads", 0, _MOST_THREADS)}
        self._index.train(_vectors(x, self._d, "x"), options, as_callback(progress))

    def add(
        self,
        x: Any,
        *,
        names: Iterable[str] | None = None,
        attributes: Any = None,
        attribute_key: str | None = None,
        attribute_types: Mapping[str, str] | None = None,
        threads: int = 0,
        progress: Progress = None,
    ) -> Ids:
        """Adds vectors and returns their ids, which follow the highest id of the index (Faiss uses the number of
        vectors, which after a removal may be an existing id).

        All vectors are added or, after a mistake, none. If Ctrl-C or the progress function stops a long call, some may
        have been added; the exception has a note that says how many.

        attributes: as for `build`; without them, the new vectors of an index that has attributes have no values.
        """
        vectors = _vectors(x, self._d, "x")
        table = read_table(self._index, attributes, attribute_key, attribute_types, names is not None)
        first = self._add(vectors, None, names, table, threads, progress)
        return np.arange(first, first + len(vectors), dtype=np.int64)

    def add_with_ids(
        self,
        x: Any,
        ids: Any,
        *,
        names: Iterable[str] | None = None,
        attributes: Any = None,
        attribute_key: str | None = None,
        attribute_types: Mapping[str, str] | None = None,
        threads: int = 0,
        progress: Progress = None,
    ) -> None:
        """Adds vectors with your own ids. As in Faiss, an id may be stored more than once, unless ids have names;
        `update` replaces the vector of an id instead."""
        vectors = _vectors(x, self._d, "x")
        table = read_table(self._index, attributes, attribute_key, attribute_types, names is not None)
        self._add(vectors, _new_ids(ids, len(vectors)), names, table, threads, progress)

    def _add(
        self, x: Floats, ids: Ids | None, names: Iterable[str] | None, table: Any, threads: int, progress: Progress
    ) -> int:
        texts = None if names is None else _names(names, len(x))
        result = np.zeros(3, dtype=np.int64)
        threads = _count(threads, "threads", 0, _MOST_THREADS)
        try:
            self._index.add(x, ids, texts, table, threads, as_callback(progress), result)
        except BaseException as error:
            if result[0] > 0:
                error.add_note(f"the first {result[0]} of {len(x)} vectors were added")
            raise
        warn_missing(int(result[2]))
        return int(result[1])

    # ---- Searching

    def search(
        self,
        x: Any,
        k: int,
        *,
        nprobe: int | None = None,
        filter: IdFilter | None = None,
        exclude: IdFilter | None = None,
        where: str | None = None,
        recall: float | None = None,
        threads: int = 0,
        max_codes: int | None = None,
        k_factor: float | None = None,
        ef_search: int | None = None,
    ) -> tuple[Floats, Ids]:
        """The k nearest of each row of x: (D, I), arrays of n x k distances and ids, best first.

        Where there are fewer than k results, the remaining entries have the id -1 and the distance 3.4e38 (inner
        product: -3.4e38). L2 distances are squared, as in Faiss.

        nprobe: lists that each query probes, by default index.nprobe.
        filter, exclude: ids that are kept or left out: a range, a slice, ids, names, a mask (mask[id] keeps the id), or
        a function of an id. The lists that are probed are filtered first, so that a query finds k results if k ids are
        kept in these lists; ids in other lists are not found, and with a narrow filter there may be fewer results than
        ids that are kept, with -1 for the rest. nprobe=index.nlist looks at all lists, and so finds all. A function is
        slow: it is asked once for each id of the index, before the search and in the calling thread.
        where: a filter by attributes, as "price < 10 and lang in ('de', 'fr') and not sold" (docs/python.md). The search
        does as much work as it takes to find the share `recall` (0.95) of the nearest vectors that match, and always
        finds k of them if k match. With filter or exclude, both must keep an id.
        threads: 0: one for each processor, but a single one for little work.
        max_codes: codes that a query scans at most. k_factor: candidates for each result, of refined indexes.
        ef_search: candidates in an HNSW graph, at least k.
        """
        if type(x) is not _ndarray or x.dtype is not _FLOAT32 or x.ndim != 2 or x.flags.num & _PLAIN != _PLAIN:
            x = _vectors(x, self._d, "queries")
        if type(k) is not int or k < 1 or k > _MOST_K:
            k = _count(k, "k", 1, max(_MOST_K, len(self)))
        lists = 0 if nprobe is None else _count(nprobe, "nprobe", 1)
        if threads != 0:
            threads = _count(threads, "threads", 0, _MOST_THREADS)
        shape = (len(x), k)
        distances = _empty(shape, _FLOAT32)
        ids = _empty(shape, _INT64)
        if where is not None or recall is not None:
            options = _given(max_codes=max_codes, k_factor=k_factor, ef_search=ef_search)
            chosen = as_filter(self._index, filter, exclude)
            with shown_where(where):
                self._index.search(x, distances, ids, lists, threads, chosen, options, as_where(where, recall))
        elif filter is None and exclude is None and max_codes is None and k_factor is None and ef_search is None:
            self._index.search(x, distances, ids, lists, threads)
        else:
            options = _given(max_codes=max_codes, k_factor=k_factor, ef_search=ef_search)
            chosen = as_filter(self._index, filter, exclude)
            self._index.search(x, distances, ids, lists, threads, chosen, options)
        return distances, ids

    def search_names(self, x: Any, k: int, **options: Any) -> tuple[Floats, npt.NDArray[np.object_]]:
        """Like search, with names instead of ids; None where there is no result."""
        distances, ids = self.search(x, k, **options)
        return distances, self.names_of(ids)

    def range_search(
        self,
        x: Any,
        radius: float,
        *,
        nprobe: int | None = None,
        filter: IdFilter | None = None,
        exclude: IdFilter | None = None,
        where: str | None = None,
        threads: int = 0,
        max_codes: int | None = None,
        k_factor: float | None = None,
        ef_search: int | None = None,
    ) -> tuple[Ids, Floats, Ids]:
        """All vectors within a radius (L2: squared distance < radius; inner product: > radius), as in Faiss: (lims, D,
        I), where results of query i are D[lims[i]:lims[i + 1]] and I[lims[i]:lims[i + 1]], by ascending id.

        More than 256 queries are searched in pieces; another thread may change the index between two of them. where: a
        filter by attributes; as with filter, only the lists that are probed are looked at.
        """
        queries = _vectors(x, self._d, "queries")
        lists = 0 if nprobe is None else _count(nprobe, "nprobe", 1)
        threads = _count(threads, "threads", 0, _MOST_THREADS)
        options = _given(max_codes=max_codes, k_factor=k_factor, ef_search=ef_search)
        core_filter = as_filter(self._index, filter, exclude)
        lims, distances, ids = [np.zeros(1, dtype=np.int64)], [], []
        for first in range(0, max(len(queries), 1), _RANGE_PIECE):
            piece = queries[first : first + _RANGE_PIECE]
            with shown_where(where):
                starts, d, i = self._index.range_search(
                    piece, radius, lists, threads, core_filter, options, first, as_where(where, None)
                )
            lims.append(np.asarray(starts)[1:].astype(np.int64) + lims[-1][-1])
            distances.append(np.asarray(d))
            ids.append(np.asarray(i))
        return np.concatenate(lims), np.concatenate(distances), np.concatenate(ids)

    def recall(
        self,
        queries: Any,
        k: int = 10,
        *,
        truth: Any = None,
        base: Any = None,
        base_ids: Any = None,
        nprobe: int | None = None,
        max_codes: int | None = None,
        k_factor: float | None = None,
        ef_search: int | None = None,
        threads: int = 0,
        progress: Progress = None,
    ) -> float:
        """The share of the k true neighbours that a search finds, over all queries.

        truth: ids of the true neighbours, n x k or more. Or base: the vectors that were added, which are searched
        exactly; base_ids are their ids (by default 0, 1, …). Of an index that normalizes vectors, base is normalized.

        >>> import numpy as np
        >>> x = np.random.default_rng(0).normal(size=(500, 8)).astype(np.float32)
        >>> Index.build(x).recall(x[:20], 5, base=x, nprobe=8)
        1.0
        """
        if (truth is None) == (base is None):
            raise ValueError("one of truth and base is needed")
        options: dict[str, Any] = {"max_codes": max_codes, "k_factor": k_factor, "ef_search": ef_search}
        found = self.search(queries, k, nprobe=nprobe, threads=threads, **options)[1]
        if truth is None:
            vectors, asked = _vectors(base, self._d, "base"), _vectors(queries, self._d, "queries")
            truth = self._nearest(vectors, asked, k, base_ids, threads, progress)
        return _shared(found, _truth(truth, *found.shape))

    # ---- Vectors and ids

    def reconstruct(self, id: int) -> Floats:
        """The vector that is stored for an id, decoded. Without a direct map, all lists are searched for the id."""
        return self.reconstruct_batch([_count(id, "id", -(2**63))])[0]  # type: ignore[no-any-return]

    def reconstruct_batch(self, ids: Any) -> Floats:
        """The vectors that are stored for ids, n x d. `set_direct_map("hash")` makes this fast for many ids."""
        numbers = as_ids(ids, -1)
        vectors = np.empty((len(numbers), self._d), dtype=np.float32)
        self._index.reconstruct(numbers, vectors)
        return vectors

    def reconstruct_n(self, n0: int = 0, ni: int = -1) -> Floats:
        """The vectors of the ids n0 … n0 + ni - 1, as in Faiss; ni -1: to the last."""
        first, count = _count(n0, "n0", 0), _count(ni, "ni", -1)
        return self.reconstruct_batch(np.arange(first, len(self) if count < 0 else first + count))

    def remove_ids(self, ids: IdFilter) -> int:
        """Removes vectors by their ids or names, or what else a filter of `search` may be. Returns how many were
        removed. Unknown ids are ignored; an unknown name is a LookupError.

        As in Faiss, an index that does not store ids (refined without an id map) gives the vectors after a removed one
        new ids.
        """
        return self._index.remove(as_core_filter(self._index, ids))

    def update(self, ids: Any, x: Any) -> None:
        """Gives stored ids new vectors: all of them or, after a failure, none."""
        vectors = _vectors(x, self._d, "x")
        self._index.update(as_ids(ids, len(vectors)), vectors)

    def merge(self, other: Index, id_shift: int | None = None) -> None:
        """Adds the vectors of another index of the same training, which is not changed; id_shift is added to their ids.

        By default ids stay as they are, and one that both indexes have is a ValueError (ids that an index does not
        store follow its own). A given id_shift is used as it is, even if ids are then stored twice.
        """
        if not isinstance(other, Index):
            raise TypeError(f"an index is needed, not {type(other).__name__}")
        source = other._copy() if other is self else other
        shift = self._shift_for(source) if id_shift is None else _count(id_shift, "id_shift", -(2**63))
        self._index.merge(source._index, shift)

    def merge_from(self, other: Index, add_id: int = 0) -> None:
        """As in Faiss, except that `other` is not emptied: merge with an id_shift."""
        self.merge(other, add_id)

    def _shift_for(self, other: Index) -> int:
        if self._index.info()[0]["dense_ids"]:
            return len(self)
        both = np.intersect1d(self.ids, other.ids)
        if both.size > 0:
            raise ValueError(
                f"both indexes have the id {both[0]}: id_shift={self.next_id} keeps all ids apart, 0 stores them twice"
            )
        return 0

    @property
    def ids(self) -> Ids:
        """The ids of all vectors, in the order in which they are stored."""
        return np.asarray(self._index.ids())

    @property
    def next_id(self) -> int:
        """The id that `add` gives the next vector: larger than all ids of the index."""
        return self._index.next_id()

    # ---- Names

    @property
    def names(self) -> dict[int, str] | None:
        """The name of each id; None: ids have no names."""
        items = self._index.name_items()
        return None if items is None else dict(items)

    def set_names(self, names: Iterable[str] | None) -> None:
        """Names all vectors of the index, by ascending id. None: removes all names."""
        self._index.set_names(None if names is None else _names(names, len(self)), None)

    def names_of(self, ids: Any) -> npt.NDArray[np.object_]:
        """The names of an array of ids, in an array of that shape; None where an id has no name."""
        if not self._index.has_names():
            raise _core.StateError("the ids of the index have no names; build(names=…) or set_names names them")
        array = as_array(ids)
        numbers = as_ids(array.ravel(), -1)
        names = np.empty(numbers.size, dtype=object)
        names[:] = self._index.get_names(numbers)
        return names.reshape(array.shape)

    def ids_of(self, names: Sequence[str]) -> Ids:
        """The ids of names; LookupError for an unknown name."""
        return find_names(self._index, (names,) if isinstance(names, str) else names)

    # ---- Attributes

    @property
    def attributes(self) -> Columns | None:
        """The attributes of all ids, ascending (`np.unique(index.ids)`): an array for each column by its name; None:
        there are none.

        Numbers are float64, times datetime64 in UTC, texts str, and sets tuples of str; missing values are NaN, NaT and
        None.

        >>> import numpy as np
        >>> columns = {"price": [5, 12.5, None], "tags": [["new"], ["new", "hot"], []]}
        >>> index = Index.build(np.eye(3, dtype=np.float32), attributes=columns)
        >>> index.attributes["price"], index.attributes["tags"].tolist()
        (array([ 5. , 12.5,  nan]), [('new',), ('new', 'hot'), None])
        >>> index.search([1, 0, 0], 1, where="tags = 'hot' and price < 20")[1]
        array([[1]])
        """
        ids = np.unique(self.ids)
        return columns_of(self._index, ids, ids.shape)

    @property
    def attribute_types(self) -> dict[str, str] | None:
        """The type of each column of attributes: "number", "text", "set" or "time"; None: there are none."""
        types = self._index.attribute_types()
        return None if types is None else dict(types)

    def attributes_of(self, ids: Any) -> Columns:
        """The attributes of an array of ids, in arrays of that shape; missing values where an id has no row."""
        array = as_array(ids)
        columns = columns_of(self._index, as_ids(array.ravel(), -1), array.shape)
        if columns is None:
            raise _core.StateError("the index has no attributes; build(attributes=…) or set_attributes sets them")
        return columns

    def set_attributes(
        self, attributes: Any, *, attribute_key: str | None = None, attribute_types: Mapping[str, str] | None = None
    ) -> None:
        """Gives the vectors of the index the values of a table, as for `build`; without a key, rows are by ascending
        id. Values in other columns and of other vectors stay. None: removes all attributes."""
        table = read_table(self._index, attributes, attribute_key, attribute_types, self._index.has_names())
        warn_missing(self._index.set_attributes(table))

    def select(self, where: str) -> Ids:
        """The ids whose attributes match a filter, ascending: for `remove_ids`, or to count them.

        >>> import numpy as np
        >>> index = Index.build(np.eye(3, dtype=np.float32), attributes={"sold": [True, False, True]})
        >>> index.remove_ids(index.select("sold"))
        2
        """
        with shown_where(where):
            return np.asarray(self._index.select(where))

    # ---- Files

    @classmethod
    def load(
        cls,
        path: Path,
        *,
        mmap: bool = False,
        names: bool = True,
        attributes: bool = True,
        search_only: bool = False,
        lists: Path | None = None,
        lists_optional: bool = False,
        allow_trailing: bool = False,
    ) -> Index:
        """Reads an index file of Furrow or Faiss, and its names, attributes and card, PATH.names, PATH.attributes and
        PATH.card, if there are any. An index that was loaded without them is saved without them.

        mmap: lists stay in the file, which must not be changed meanwhile; the card is not read. search_only: takes less
        memory, but the index can only be searched. lists: the data file of lists on disk. lists_optional: without it, lists are empty.
        allow_trailing: bytes after the end of the index are ignored.
        """
        options: dict[str, Any] = {"memory_map": mmap, "search_only": search_only, "allow_trailing": allow_trailing}
        options |= {"lists": None if lists is None else os.fspath(lists), "lists_optional": lists_optional}
        options |= {"card": not mmap}
        return cls._of(_core.Index.load(_path(path), options, names, attributes))

    def save(
        self,
        path: Path,
        *,
        overwrite: bool = False,
        compat: str | None = None,
        inline_lists: bool = False,
        lists_file: Path | None = None,
    ) -> None:
        """Writes an index file that Faiss reads, whole or not at all, the names of its ids to PATH.names, their
        attributes to PATH.attributes, and its card to PATH.card.

        overwrite: replaces existing files; otherwise one is a FileExistsError. compat: a release of Faiss that is to
        read the file ("1.6.3"). inline_lists: lists on disk become part of the file. lists_file: a new data file in the
        folder of the index, for the contents of the lists; Index.load with mmap=True reads only what is searched.
        """
        target = _path(path)
        for other in () if overwrite else (".names", ".attributes", ".card"):
            if os.path.lexists(target + other):
                raise FileExistsError(f"{target}{other} exists already; overwrite=True replaces it")
        options: dict[str, Any] = {"overwrite": overwrite, "compat": compat, "inline_lists": inline_lists}
        options |= {"lists_file": None if lists_file is None else os.fspath(lists_file), "card": True}
        self._index.save(target, options)

    def to_bytes(self, *, compat: str | None = None) -> bytes:
        """The bytes of the index file, without names and attributes."""
        return self._index.to_bytes({"compat": compat, "inline_lists": True})

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> Index:
        """An index of the bytes of an index file.

        >>> import numpy as np
        >>> index = Index.build(np.eye(8, dtype=np.float32), nlist=1)
        >>> Index.from_bytes(index.to_bytes()).ntotal
        8
        """
        return cls._of(_core.Index.read(data))

    @classmethod
    def _restore(cls, data: bytes, names: list[tuple[int, str]] | None) -> Index:
        index = cls.from_bytes(data)
        if names is not None:
            ids = np.fromiter((id for id, _ in names), dtype=np.int64, count=len(names))
            index._index.set_names(tuple(name for _, name in names), ids)
        return index

    @classmethod
    def _restore_files(cls, files: dict[str, bytes]) -> Index:
        with tempfile.TemporaryDirectory() as folder:
            for ending, data in files.items():
                with open(f"{folder}/index{ending}", "wb") as file:
                    file.write(data)
            return cls.load(f"{folder}/index")

    def _files(self) -> dict[str, bytes]:
        """The bytes of the files of the index, by the endings of their names."""
        with tempfile.TemporaryDirectory() as folder:
            self.save(f"{folder}/index", inline_lists=True)
            files = {}
            for ending in ("", ".names", ".attributes"):
                if os.path.exists(f"{folder}/index{ending}"):
                    with open(f"{folder}/index{ending}", "rb") as file:
                        files[ending] = file.read()
            return files

    def __reduce__(self) -> tuple[Callable[..., Index], tuple[Any, ...]]:
        if self._index.attribute_types() is not None:
            return type(self)._restore_files, (self._files(),)
        while True:  # until no other thread changes names meanwhile
            names = self._index.name_items()
            data = self.to_bytes()
            if names is None or names == self._index.name_items():
                return type(self)._restore, (data, names)

    def _copy(self) -> Index:
        restore, arguments = self.__reduce__()
        return restore(*arguments)

    @staticmethod
    def map(source: Path | bytes | Index) -> list[Field]:
        """All fields of an index file (or of its bytes, or of an index), in their order and without a gap.

        >>> import numpy as np
        >>> fields = Index.map(Index.build(np.eye(8, dtype=np.float32), nlist=1))
        >>> fields[0].value, fields[1].path, fields[1].value
        ('IwFl', 'd', '8')
        """
        with _opened(source) as (path, _):
            return [Field(*field) for field in _core.index_fields(path)]

    @staticmethod
    def verify(source: Path | bytes | Index, *, lists: Path | None = None) -> list[Finding]:
        """Checks an index file (or its bytes, or an index) more closely than loading does, its names and its
        attributes: that no id is stored twice, that numbers are finite, that graphs reach all vectors.

        Returns remarks about unusual things. An error is raised, with all findings in its attribute `findings`.
        """
        found: list[tuple[Any, ...]] = []
        options = {"lists": None if lists is None else os.fspath(lists)}
        try:
            with _opened(source) as (path, on_disk):
                _core.index_verify(path, options, found, on_disk)
        except _core.Error as error:
            error.findings = [Finding(*finding) for finding in found]  # type: ignore[attr-defined]
            raise
        return [Finding(*finding) for finding in found]

    # ---- What it is

    def _lists(self, name: str) -> Any:
        """A number of the index with lists; 0: there is none."""
        lists = self._index.info()[1]
        return 0 if lists is None else lists[name]

    @property
    def d(self) -> int:
        """Dimensions of vectors."""
        return self._d

    @property
    def ntotal(self) -> int:
        """Vectors."""
        return int(self._index.info()[0]["ntotal"])

    @property
    def is_trained(self) -> bool:
        """Whether vectors can be added."""
        return bool(self._index.info()[0]["trained"])

    @property
    def factory_string(self) -> str:
        """The index as a factory string of Faiss."""
        return self._index.factory()

    @property
    def nlist(self) -> int:
        """Lists; 0: the index has none."""
        return int(self._lists("nlist"))

    @property
    def nprobe(self) -> int:
        """Lists that a search probes by default, which files store; 0: the index has none."""
        return int(self._lists("nprobe"))

    @nprobe.setter
    def nprobe(self, nprobe: int) -> None:
        self._index.set_nprobe(_count(nprobe, "nprobe", 1))

    @property
    def m(self) -> int:
        """Sub-quantizers of a code; 0: vectors are stored as they are."""
        outer, lists = self._index.info()
        return int((lists or outer)["m"])

    @property
    def nbits(self) -> int:
        """Bits of a sub-quantizer's number; 0: vectors are stored as they are."""
        outer, lists = self._index.info()
        return int((lists or outer)["nbits"])

    @property
    def metric(self) -> str:
        """ "l2", "ip", "cosine" ("ip" of an index that normalizes vectors), or the name of another metric of Faiss."""
        info = self._index.info()[0]
        if info["normalizes"] and info["metric"] == 0:
            return "cosine"
        known = {0: "ip", 1: "l2"}.get(int(info["metric"]))
        return known if known else str(info["metric_name"])

    @property
    def kind(self) -> str:
        """What the index is, in words; for nested indexes the outermost one."""
        return str(self._index.info()[0]["kind_name"])

    @property
    def direct_map(self) -> str:
        """How the positions of ids are found: "none" (all lists are searched), "array" or "hash"."""
        return list(_DIRECT_MAPS)[int(self._lists("direct_map"))]

    def set_direct_map(self, kind: str) -> None:
        """Makes a table of the positions of ids, which `reconstruct` and `update` use: "array" (for ids 0 … n - 1),
        "hash", or "none"."""
        if kind not in _DIRECT_MAPS:
            raise ValueError(f"kind is {kind!r}, but must be one of {', '.join(_DIRECT_MAPS)}")
        self._index.set_direct_map(_DIRECT_MAPS[kind])

    @property
    def card(self) -> IndexCard | None:
        """What the index was built from, the recall that was measured, and whether it is stale; None: it has no card.

        `build` begins a card, `add`, `remove_ids`, `update` and `merge` keep it, and `save` writes it to PATH.card. A file
        that is damaged or belongs to another index is a FormatError; the index works without it.

        >>> import numpy as np
        >>> x = np.random.default_rng(0).standard_normal((2000, 16), dtype=np.float32)
        >>> index = Index.build(x, factory="IVF16,Flat", recall=0.9)
        >>> index.add(x[:500] + 5)[:1]
        array([2000])
        >>> index.card.built.vectors, index.card.added.vectors, index.card.stale
        (2000, 500, True)
        """
        return as_card(self._index.card())

    def __len__(self) -> int:
        return self.ntotal

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        outer, lists = self._index.info()
        parts = [f"d={self._d}", f"ntotal={outer['ntotal']}", f"kind={outer['kind_name']!r}", f"metric={self.metric!r}"]
        if lists is not None:
            parts += [f"nlist={lists['nlist']}", f"nprobe={lists['nprobe']}"]
            parts += [f"m={lists['m']}", f"nbits={lists['nbits']}"] if lists["m"] else []
        parts += [] if outer["trained"] else ["not trained"]
        return f"furrow.Index({', '.join(parts)})"

    def _facts(self) -> Facts:
        outer, lists = self._index.info()
        inner = lists or outer
        code = f"{inner['code_size']} bytes" + (f", {inner['m']} x {inner['nbits']} bits" if inner["m"] else "")
        facts = [("kind", self.kind), ("dimensions", self._d), ("metric", self.metric), ("vectors", self.ntotal)]
        if lists is not None:
            facts += [("lists", f"{lists['nlist']:,}, of which a search probes {lists['nprobe']:,}")]
        facts += [("code", code), ("memory", size_of((inner["code_size"] + 8) * self.ntotal) + " of codes and ids")]
        facts += card_facts(self._index)
        return facts + ([] if outer["trained"] else [("state", "not trained")])


#: names of metrics, and their numbers in Faiss; a cosine is an inner product of vectors of length 1
_METRICS = {"l2": 1, "euclidean": 1, "ip": 0, "inner_product": 0, "cosine": 0}
_TUNE_QUERIES, _TUNE_K = 500, 10


def as_metric(metric: str | int) -> dict[str, Any]:
    """The fields of a metric by its name, in any case; also 1 and 0, the numbers of Faiss for L2 and inner product."""
    if type(metric) is int and metric in (0, 1):
        return {"metric": metric}
    name = metric.lower().replace(" ", "_") if isinstance(metric, str) else ""
    if name not in _METRICS:
        names = ", ".join(repr(name) for name in _METRICS)
        raise ValueError(f"metric is {metric!r}, but must be one of {names}")
    return {"metric": _METRICS[name]} | ({"normalize": True} if name == "cosine" else {})


def _factory(text: Any) -> str:
    if not isinstance(text, str):
        raise TypeError(f"a factory string is needed, not {text!r}")
    return text


def _spec(d: int, fields: dict[str, Any], metric: str | int) -> dict[str, Any]:
    fields, given = _scaled(fields, as_metric(metric))
    return {"d": _count(d, "d", 1, 2**31 - 1)} | fields | given


def _scaled(spec: dict[str, Any], metric: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A cosine becomes a part of the factory string."""
    given = dict(metric)
    if given.pop("normalize", False) and "L2norm" not in spec["factory"]:
        spec = spec | {"factory": f"L2norm,({spec['factory']})"}
    return spec, given


@contextmanager
def _opened(source: Any) -> Iterator[tuple[str, bool]]:
    """The path of an index file, and whether it is on disk; bytes are a file in memory meanwhile."""
    if isinstance(source, (str, os.PathLike)):
        yield _path(source), True
        return
    path = memory_path(".index")
    _core.add_file(path, source.to_bytes() if isinstance(source, Index) else source)
    try:
        yield path, False
    finally:
        _core.remove_file(path)


def _truth(truth: Any, n: int, k: int) -> Ids:
    """The ids of true neighbours, n x k."""
    ids = as_array(truth)
    if ids.dtype.kind not in "iu":
        raise TypeError(f"truth: ids are needed, not {ids.dtype}")
    if ids.ndim != 2 or ids.shape[0] != n or ids.shape[1] < k:
        raise ValueError(f"truth has the shape {ids.shape}, but {n} x {k} or more is needed")
    return ids[:, :k].astype(np.int64)


def _shared(found: Ids, truth: Ids) -> float:
    """The share of true ids that were found; -1 is not an id. NaN without any."""
    hits: int = sum(np.intersect1d(a[a >= 0], b[b >= 0]).size for a, b in zip(found, truth))
    wanted: int = sum(np.unique(row[row >= 0]).size for row in truth)
    return hits / wanted if wanted else float("nan")


def load_vectors(
    path: Path,
    *,
    kind: str | None = None,
    d: int = 0,
    array: str | None = None,
    column: str | None = None,
    names: str | None = None,
) -> tuple[Floats, list[str] | None]:
    """The vectors of a file, a row for each, and their names: None unless it is text with names, or `names` is given.

    kind: by default what the ending of the name says: npy, npz, safetensors, fvecs, bvecs, ivecs, fbin, ibin, u8bin, i8bin,
    f32; csv and tsv (numbers, with or without a first column of names), txt and vec (word2vec, GloVe). d: numbers of a
    vector, which f32 needs. array: the name of the array in an npz or safetensors file that has several. Of Parquet files
    (one, or a glob of them; kind="parquet": a directory), column: the column of lists that has the vectors, if there are
    several; names: the column of their names. DuckDB's library reads these files; FURROW_DUCKDB names it.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "colours.txt"
    >>> _ = path.write_text("red 1 0\\ngreen 0 1\\n")
    >>> x, names = load_vectors(path)
    >>> names, x.shape
    (['red', 'green'], (2, 2))
    """
    floats, width, found = _core.load_vectors(path, kind, _count(d, "d", 0, 1 << 31), array, column, names)
    return np.frombuffer(floats, dtype=np.float32).reshape(-1, width or 1)[:, :width], found


def exact_search(
    base: Any,
    queries: Any,
    k: int,
    *,
    ids: Any = None,
    metric: str | int = "l2",
    threads: int = 0,
    progress: Progress = None,
) -> tuple[Floats, Ids]:
    """The k nearest of base for each query, by comparing every query with every vector: (D, I) as Index.search gives
    them.

    ids: the ids of base, by default 0, 1, …

    >>> import numpy as np
    >>> exact_search(np.eye(3), [0, 0.9, 0.1], 2)[1]
    array([[1, 2]])
    """
    vectors = _vectors(base, 0, "base")
    asked = _vectors(queries, vectors.shape[1], "queries")
    return _compare_all(vectors, asked, k, ids, as_metric(metric), threads, progress)


def _compare_all(
    base: Floats, queries: Floats, k: int, ids: Any, fields: dict[str, Any], threads: int, progress: Progress
) -> tuple[Floats, Ids]:
    """The nearest of base for each query; fields: the metric, and whether vectors are scaled to length 1 first."""
    numbers = np.arange(len(base), dtype=np.int64) if ids is None else as_ids(ids, len(base))
    shape = (len(queries), _count(k, "k", 1, max(_MOST_K, len(base))))
    distances, found = np.empty(shape, dtype=np.float32), np.empty(shape, dtype=np.int64)
    threads = _count(threads, "threads", 0, _MOST_THREADS)
    inner_product, normalize = fields["metric"] == 0, fields.get("normalize", False)
    options = (inner_product, normalize, threads, as_callback(progress))
    _core.exact_search(base, numbers, queries, distances, found, *options)
    return distances, found


def kmeans(
    x: Any,
    k: int,
    *,
    rounds: int = 25,
    seed: int = 1234,
    spherical: bool = False,
    sample_per_centroid: int = 256,
    threads: int = 0,
    progress: Progress = None,
) -> Clusters:
    """k centroids of vectors, by k-means++ and Lloyd's algorithm; the same for any number of threads.

    spherical: centroids have unit length, and the nearest one has the largest inner product.
    sample_per_centroid: of more vectors than these for each centroid, a random sample is trained with.

    >>> clusters = kmeans([[0], [1], [9], [10]], 2)
    >>> sorted(clusters.centroids.tolist()), clusters.objective
    ([[0.5], [9.5]], 1.0)
    """
    vectors = _vectors(x, 0, "x")
    n, d = vectors.shape
    centroids = np.empty((_count(k, "k", 1, max(1, n)), d), dtype=np.float32)
    labels = np.empty(n, dtype=np.uint32)
    objective = _core.kmeans(
        vectors,
        centroids,
        labels,
        _count(rounds, "rounds", 0, 2**32 - 1),
        _count(seed, "seed", 0),
        _count(sample_per_centroid, "sample_per_centroid", 1),
        spherical,
        _count(threads, "threads", 0, _MOST_THREADS),
        as_callback(progress),
    )
    return Clusters(centroids, labels.astype(np.int64), objective)
