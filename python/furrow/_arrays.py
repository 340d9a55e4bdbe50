"""Arrays in the form that the library takes: converted if nothing that matters is lost, refused otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]


def as_array(x: Any) -> npt.NDArray[Any]:
    """What NumPy makes of x: an array, a buffer, nested lists, or a tensor of DLPack; without a copy where it can.

    Masked values become NaN.
    """
    if isinstance(x, np.ma.MaskedArray):
        return _fill_masked(x)
    if isinstance(x, np.ndarray):
        return x if type(x) is np.ndarray else x.view(np.ndarray)
    if hasattr(x, "__dlpack__") and not hasattr(x, "__array__"):
        return np.from_dlpack(x)
    if isinstance(x, (list, tuple)) and any(isinstance(row, np.ma.MaskedArray) for row in x):
        return _check_filled(np.asarray([as_array(row) for row in x]))  # NumPy would drop the masks of rows
    return np.asarray(x)


def refuse_masks(x: Any, name: str) -> None:
    """For values that cannot be missing."""
    parts = x if isinstance(x, (list, tuple)) else [x]
    if any(isinstance(part, np.ma.MaskedArray) and np.any(part.mask) for part in parts):
        raise TypeError(f"{name}: a masked array has elements without a value; x.filled(…) gives them one")


def as_objects(x: Any) -> npt.NDArray[np.object_]:
    """An array of objects; masked values become None."""
    if not isinstance(x, np.ma.MaskedArray):
        return np.asarray(x, dtype=object)
    objects: npt.NDArray[np.object_] = np.array(x.data, dtype=object)
    objects[np.broadcast_to(x.mask, objects.shape)] = None
    return objects


def _fill_masked(x: Any) -> npt.NDArray[Any]:
    if not np.any(x.mask):
        return np.asarray(x.data)
    _check_filled(x)
    return np.asarray(x.astype(np.promote_types(x.dtype, np.float32)).filled(np.nan))


def _check_filled(x: Any) -> npt.NDArray[Any]:
    if x.dtype.kind not in "fiub":
        raise TypeError(f"numbers are needed where values are masked, not {x.dtype}")
    return x  # type: ignore[no-any-return]


def as_numbers(x: Any, name: str) -> npt.NDArray[Any]:
    """An array of real numbers of any type."""
    array = as_array(x)
    if array.dtype.kind not in "fiub" and not (array.size == 0 and array.dtype.kind == "O"):
        raise TypeError(f"{name}: numbers are needed, not {array.dtype}")
    return array


def as_floats(x: Any, name: str) -> npt.NDArray[Any]:
    """Numbers as float32 in C order; an array that already has this form is not copied."""
    array = as_numbers(x, name)
    if array.dtype == np.float32 and array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative:
        return array
    with np.errstate(over="ignore"):  # an infinity is what the library refuses, with its row
        return np.require(array, np.float32, ["C", "A"])


def as_vectors(x: Any, d: int, name: str = "x") -> Floats:
    """n vectors of d floats; a single vector becomes a table of one row."""
    array = as_floats(x, name)
    if array.ndim == 1 and (array.size == d or d == 0):
        array = array.reshape(1, -1)
    if array.ndim != 2 or (d and array.shape[1] != d):
        raise ValueError(f"{name} has the shape {array.shape}, but n x {d} is needed")
    return array


def as_ids(x: Any, n: int, name: str = "ids") -> Ids:
    """n integers as int64; n below 0: any number of them."""
    array = as_array(x)
    if array.dtype.kind not in "iu" and array.size > 0:
        raise TypeError(f"{name}: integers are needed, not {array.dtype}")
    if array.dtype.kind == "u" and array.size > 0 and int(array.max()) > np.iinfo(np.int64).max:
        raise OverflowError(f"{name}: an id is beyond 2^63 - 1")
    if array.ndim != 1 or (n >= 0 and array.shape[0] != n):
        raise ValueError(f"{name} has the shape {array.shape}, but ({'n' if n < 0 else n},) is needed")
    return np.require(array, np.int64, ["C", "A"])


def first_infinity(array: npt.NDArray[Any]) -> tuple[int, ...] | None:
    """The place of the first infinity; None: there is none. NaNs are not looked for."""
    if array.dtype.kind != "f":
        return None
    with np.errstate(all="ignore"):
        if np.isfinite(np.sum(array)):  # one pass without a temporary array; a sum that overflows asks again
            return None
        found = np.isinf(array)
    return tuple(int(i) for i in np.argwhere(found)[0]) if found.any() else None
