"""Sets of ids that searches keep or leave out, in the forms in which callers have them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from furrow import _core
from furrow._arrays import Ids, as_array, as_ids

IdFilter = Union[range, slice, npt.NDArray[Any], Sequence[Any], Set[Any], Callable[[int], Any]]

#: what furrow._core takes: a kind, whether to invert it, and its numbers or its array
CoreFilter = tuple[Any, ...]

_INT64_MAX = 2**63 - 1


def find_names(core: _core.Index, names: Iterable[str]) -> Ids:
    """The ids of names; LookupError for an unknown name."""
    texts = tuple(names)
    ids = np.empty(len(texts), dtype=np.int64)
    found = core.find_names(texts, ids)
    if found < len(texts):
        raise LookupError(f"the index has no vector with the name {texts[found]!r}")
    return ids


def _from_range(core: _core.Index, ids: range) -> CoreFilter:
    if ids.step < 0:
        ids = ids[::-1]
    if ids.step == 1 or len(ids) == 0:
        return ("range", False, _clip(ids.start), _clip(ids.stop))
    return _from_callable(core, ids.__contains__)  # a range may be far longer than the index


def _clip(number: int) -> int:
    return max(min(number, _INT64_MAX), -_INT64_MAX - 1)


def _from_mask(core: _core.Index, mask: npt.NDArray[np.bool_]) -> CoreFilter:
    end = core.next_id()
    if mask.ndim != 1 or mask.size < end:
        raise ValueError(f"a mask needs an element for each id up to {end - 1}, but has the shape {mask.shape}")
    return ("bitmap", False, np.packbits(mask, bitorder="little"))


def _from_callable(core: _core.Index, keep: Callable[[int], Any]) -> CoreFilter:
    """Calls the function once for each id, before the search and in the calling thread: it may raise, and may use the
    index."""
    ids = np.unique(np.asarray(core.ids()))
    kept = np.fromiter((bool(keep(id)) for id in ids.tolist()), dtype=np.bool_, count=ids.size)
    return ("sorted", False, ids[kept])


def _texts(items: Any) -> list[str] | None:
    """The names of a collection; None: it has no str."""
    if isinstance(items, (Sequence, Set)):
        listed = list(items)  # an array of mixed values would turn numbers into texts
    else:
        array = as_array(items)
        listed = array.ravel().tolist() if array.dtype.kind in "UO" else []
    if not any(isinstance(item, str) for item in listed):
        return None
    if not all(isinstance(item, str) for item in listed):
        raise TypeError("a filter needs ids that are integers, or names that are str, and not both")
    return [str(item) for item in listed]


def _from_items(core: _core.Index, items: Any) -> CoreFilter:
    texts = _texts(items)
    if texts is not None:
        return ("sorted", False, np.unique(find_names(core, texts)))
    array = as_array(list(items) if isinstance(items, Set) else items)
    if array.dtype.kind == "b" and array.size > 0:
        return _from_mask(core, array)
    ids = as_ids(array, -1, "filter")
    _refuse_mask_of_numbers(core, ids)
    return ("sorted", False, np.unique(ids))


def _refuse_mask_of_numbers(core: _core.Index, ids: Ids) -> None:
    """Refuses a mask of the numbers 0 and 1, which would mean the ids 0 and 1."""
    if ids.size <= 2 or ids.min() < 0 or ids.max() > 1:
        return
    if ids.size in (core.next_id(), int(core.info()[0]["ntotal"])):
        raise TypeError(
            f"an array of {ids.size} integers 0 and 1 looks like a mask: give it the dtype bool, as by .astype(bool)"
        )


def as_core_filter(core: _core.Index, ids: Any) -> CoreFilter:
    """A filter that keeps a set of ids: a range, a slice, ids, a mask by id, names, or a function of an id."""
    if isinstance(ids, range):
        return _from_range(core, ids)
    if isinstance(ids, slice):
        return _from_range(core, range(*ids.indices(core.next_id())))
    if callable(ids):
        return _from_callable(core, ids)
    if isinstance(ids, (str, bytes, int, float, dict)):
        raise TypeError(f"a filter needs several ids or names, as in [{ids!r}], not {type(ids).__name__}")
    return _from_items(core, ids)


def as_filter(core: _core.Index, keep: Any, exclude: Any) -> CoreFilter | None:
    """The filter of a search: one of `filter` and `exclude`, or neither."""
    if keep is not None and exclude is not None:
        raise ValueError("filter and exclude cannot be used together")
    if keep is not None:
        return as_core_filter(core, keep)
    if exclude is None:
        return None
    kind, _, *rest = as_core_filter(core, exclude)
    return (kind, True, *rest)
