"""Arrays as the library takes them: converted where that loses nothing that matters, refused otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]


def as_array(x: Any) -> npt.NDArray[Any]:
    """What NumPy makes of x: an array, a buffer, nested lists, or a tensor of DLPack; without a copy where it can."""
    if isinstance(x, np.ndarray):
        return x
    if hasattr(x, "__dlpack__") and not hasattr(x, "__array__"):
        return np.from_dlpack(x)
    return np.asarray(x)


def as_floats(x: Any, name: str) -> npt.NDArray[Any]:
    """Numbers as float32 in C order; float32 that is so already is not copied."""
    array = as_array(x)
    if array.dtype == np.float32 and array.flags.c_contiguous and array.dtype.isnative:
        return array
    if array.dtype.kind not in "fiub" and not (array.size == 0 and array.dtype.kind == "O"):
        raise TypeError(f"{name}: numbers are needed, not {array.dtype}")
    with np.errstate(over="ignore"):  # an infinity is what the library refuses, with its row
        return np.ascontiguousarray(array, dtype=np.float32)


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
    return np.ascontiguousarray(array, dtype=np.int64)
