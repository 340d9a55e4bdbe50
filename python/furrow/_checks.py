"""Checks of the arguments of estimators, in the words of scikit-learn, whose users and tests know them."""

from __future__ import annotations

import warnings
from typing import Any, Mapping

import numpy as np
import numpy.typing as npt

from furrow._arrays import as_array
from furrow._data import arrow_names, arrow_shape, is_arrow, is_frame, number_table


class NotFittedError(ValueError, AttributeError):
    """An estimator is used before fit. Where scikit-learn is installed, its class of this name is raised instead."""


def not_fitted(estimator: Any) -> Exception:
    """The exception of an estimator without a model."""
    text = f"This {type(estimator).__name__} instance is not fitted yet. Call 'fit' before using this estimator."
    try:
        from sklearn.exceptions import NotFittedError as Raised
    except ImportError:
        return NotFittedError(text)
    error: Exception = Raised(text)
    return error


def column_names(X: Any) -> list[Any] | None:
    """The names of the columns of a table; None: it has none."""
    if is_frame(X):
        return list(X.columns)
    if isinstance(X, Mapping):
        return list(X)
    return arrow_names(X) if is_arrow(X) else None


def shape_of(X: Any) -> tuple[int, int]:
    """Rows and columns of a table with names."""
    if is_frame(X):
        return len(X), len(X.columns)
    if isinstance(X, Mapping):
        return (len(next(iter(X.values()))) if X else 0), len(X)
    return arrow_shape(X)


def feature_names(X: Any) -> npt.NDArray[Any] | None:
    """The names of the columns of a table, if all are strings."""
    names = column_names(X)
    if names is None:
        return None
    kinds = {str if isinstance(name, str) else type(name) for name in names}
    if kinds == {str}:
        return np.asarray(names, dtype=object)
    if str in kinds:
        raise TypeError("the names of some columns are strings and others are not: X.columns = X.columns.astype(str)")
    return None


def check_names(
    estimator: Any, X: Any, fitted: npt.NDArray[Any] | None, *, what: str = "X", ordered: bool = True
) -> None:
    """Refuses columns that differ from the columns of fit, or their order unless `ordered` is False."""
    names, who = feature_names(X), type(estimator).__name__
    if fitted is None and names is None:
        return
    if fitted is None:
        text = f"{what} has feature names, but {who} was fitted without feature names"
        warnings.warn(text, UserWarning, stacklevel=4)
        return
    if names is None:
        text = f"{what} does not have valid feature names, but {who} was fitted with feature names"
        warnings.warn(text, UserWarning, stacklevel=4)
        return
    same = (names == fitted).all() if len(names) == len(fitted) else False
    if same or (not ordered and set(names) == set(fitted)):
        return
    prefix = "" if what == "X" else f"{what} has other columns. "
    raise ValueError(prefix + _difference(list(names), list(fitted)))


def _difference(names: list[str], fitted: list[str]) -> str:
    unexpected = sorted(set(names) - set(fitted))
    missing = sorted(set(fitted) - set(names))
    text = "The feature names should match those that were passed during fit.\n"
    for title, some in (
        ("Feature names unseen at fit time:", unexpected),
        ("Feature names seen at fit time, yet now missing:", missing),
    ):
        if some:
            shown = some[:5] + (["..."] if len(some) > 5 else [])
            text += title + "\n" + "".join(f"- {name}\n" for name in shown)
    if not unexpected and not missing:
        text += "Feature names must be in the same order as they were in fit.\n"
    return text


def _numbers(X: Any) -> npt.NDArray[Any]:
    array = as_array(X)
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported")
    if array.dtype.kind in "OUS":
        array = array.astype(np.float64)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"X: numbers are needed, not {array.dtype}")
    return array


def check_rows(estimator: Any, X: Any, *, missing: bool) -> Any:
    """An array or a CSR matrix of at least one row and feature, of finite numbers. missing: whether it may have NaN."""
    who = type(estimator).__name__
    if hasattr(X, "tocsr"):
        matrix = X.tocsr()
        if matrix.dtype.kind == "c":
            raise ValueError("Complex data not supported")
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        check_shape(matrix.shape, who)
        _check_finite(matrix.data, missing)
        return matrix
    array = _numbers(number_table(X) if is_frame(X) or is_arrow(X) or isinstance(X, Mapping) else X)
    check_shape(array.shape, who)
    _check_finite(array, missing)
    return array


def check_shape(shape: tuple[int, ...], who: str) -> None:
    if len(shape) < 2:
        what = "scalar array" if not shape else "1D array"
        raise ValueError(
            f"Expected 2D array, got {what} instead. Reshape your data either using array.reshape(-1, 1) if your data "
            "has a single feature or array.reshape(1, -1) if it contains a single sample."
        )
    if len(shape) > 2:
        raise ValueError(f"Found array with dim {len(shape)}. {who} expected <= 2.")
    for count, what in zip(shape, ("sample(s)", "feature(s)")):
        if count == 0:
            raise ValueError(f"Found array with 0 {what} (shape={shape}) while a minimum of 1 is required by {who}.")


def _check_finite(values: npt.NDArray[Any], missing: bool) -> None:
    if values.dtype.kind != "f":
        return
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.sum(values, dtype=np.float64)):
            return
    if np.isinf(values).any():
        raise ValueError(f"Input X contains infinity or a value too large for {values.dtype!r}.")
    if not missing and np.isnan(values).any():
        raise ValueError("Input X contains NaN. Of Furrow's models gbdt alone takes missing values.")


def column(y: Any, rows: int | None, name: str = "y") -> npt.NDArray[Any]:
    """A vector with an element for each row."""
    array = as_array(y)
    if array.ndim == 2 and array.shape[1] == 1:
        warnings.warn(
            f"A column-vector {name} was passed when a 1d array was expected. Please change the shape of {name} to "
            "(n_samples, ), for example using ravel().",
            _conversion_warning(),
            stacklevel=5,
        )
        array = array.ravel()
    if array.ndim != 1:
        raise ValueError(f"{name} should be a 1d array, got an array of shape {array.shape} instead.")
    if rows is not None and array.shape[0] != rows:
        raise ValueError(f"Found input variables with inconsistent numbers of samples: [{rows}, {array.shape[0]}]")
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ValueError(f"Input {name} contains {'NaN' if np.isnan(array[row]) else 'infinity'}: row {row}")
    return tidy(array, name)


def tidy(array: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """An array of objects, which pandas makes of its own types, as numbers or bools where all are; none is missing."""
    if array.dtype.kind != "O" or array.ndim != 1:
        return array
    missing = next((i for i, value in enumerate(array) if _is_missing(value)), None)
    if missing is not None:
        raise ValueError(f"Input {name} contains NaN: row {missing} does not have a value. Leave such rows out.")
    kinds = {type(value) for value in array}
    if kinds <= {bool, np.bool_}:
        return array.astype(bool)
    if kinds and all(issubclass(kind, (int, float, np.integer, np.floating)) and kind is not bool for kind in kinds):
        numbers = np.array(array.tolist())
        return numbers if numbers.dtype.kind in "fiu" else array
    return array


def _is_missing(value: Any) -> bool:
    """None, NaN, NaT, or pandas' NA, which cannot be compared even with itself."""
    if value is None or isinstance(value, str):
        return value is None
    try:
        return bool(value != value)
    except TypeError:
        return True


def _conversion_warning() -> type[Warning]:
    try:
        from sklearn.exceptions import DataConversionWarning
    except ImportError:
        return UserWarning
    kind: type[Warning] = DataConversionWarning
    return kind


def numeric_column(y: Any, rows: int | None, name: str = "y") -> npt.NDArray[np.float64]:
    """A vector of finite numbers."""
    array = column(y, rows, name)
    if array.dtype.kind in "OUS":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name}: numbers are needed; {error}") from None
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name}: numbers are needed, not {array.dtype}")
    numbers = array.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError(f"Input {name} contains NaN or infinity.")
    with np.errstate(over="ignore"):
        if not np.isfinite(numbers.astype(np.float32)).all():
            raise ValueError(f"Input {name} contains a value too large for dtype('float32').")
    return numbers


_SAMPLE = 10_000  # rows in which collapsing values are looked for
_DENSE = 2.0**-7  # a column whose values are further apart than this share of their size keeps them apart


def _sample(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if len(array) <= _SAMPLE:
        return array
    return np.asarray(array[np.sort(np.random.default_rng(1).integers(0, len(array), _SAMPLE))])


def collapses(values: npt.NDArray[Any]) -> bool:
    """Whether float32 makes a tenth of the different values of a vector, or more, the same, so that their deviation is
    less than 64 of its steps."""
    if values.dtype.kind not in "fiu" or values.dtype.itemsize < 4 or values.dtype == np.float32:
        return False
    distinct = np.unique(_sample(values))
    with np.errstate(over="ignore"):
        kept = np.unique(distinct.astype(np.float32))
    step = np.spacing(np.abs(kept[np.isfinite(kept)]).max(initial=0))
    return len(kept) < 0.9 * len(distinct) and bool(np.nanstd(distinct.astype(np.float64)) < 64 * step)


def warn_of_collapse(X: npt.NDArray[Any], names: npt.NDArray[Any] | None) -> None:
    """Warns about columns whose values float32, the library's type of features, cannot distinguish."""
    if X.dtype.kind not in "fiu" or X.dtype.itemsize < 4 or X.dtype == np.float32:
        return
    some = _sample(X).astype(np.float64)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)  # of columns that are NaN throughout
        low, high = np.nanmin(some, axis=0), np.nanmax(some, axis=0)
        suspects = np.flatnonzero((high > low) & (high - low < _DENSE * np.maximum(np.abs(low), np.abs(high))))
    found = [str(i if names is None else names[i]) for i in suspects if collapses(some[:, i])]
    if found:
        listed = ", ".join(found[:10]) + (" …" if len(found) > 10 else "")
        text = f"X: different values of {'columns' if len(found) > 1 else 'column'} {listed} become the same, as "
        warnings.warn(text + "float32 keeps 7 digits: subtract the mean, or scale", UserWarning, stacklevel=4)


def weights(sample_weight: Any, rows: int) -> npt.NDArray[np.float64] | None:
    """The weights of rows: 0 or more, not all 0."""
    if sample_weight is None:
        return None
    array = as_array(sample_weight)
    if array.ndim == 0:
        array = np.full(rows, array)
    if array.ndim != 1:
        raise ValueError("Sample weights must be 1D array or scalar")
    if array.shape[0] != rows:
        raise ValueError(f"sample_weight.shape == {array.shape}, expected {(rows,)}!")
    numbers = numeric_column(array, rows, "sample_weight")
    if (numbers < 0).any():
        raise ValueError("sample_weight: a weight is below 0")
    if not (numbers > 0).any():
        raise ValueError("sample_weight: all weights are zero, so that no row counts")
    return numbers


def groups(qid: Any, rows: int) -> npt.NDArray[np.uint64]:
    """The group of each row, as numbers from 0 in the order of their first rows."""
    array = column(qid, rows, "qid")
    _, first, codes = np.unique(array, return_index=True, return_inverse=True)
    order = np.empty(len(first), dtype=np.uint64)
    order[np.argsort(first)] = np.arange(len(first), dtype=np.uint64)
    return np.ascontiguousarray(order[codes])


def groups_of_sizes(group: Any, qid: Any) -> npt.NDArray[np.int64]:
    """The group of each row, from the number of rows of each group."""
    sizes = numeric_column(group, None, "group")
    if qid is not None:
        raise ValueError("group: qid has the groups already; leave one of them out")
    if (sizes < 0).any() or (sizes != np.floor(sizes)).any():
        raise ValueError("group: the number of rows of each group is needed; qid= has the group of each row")
    return np.repeat(np.arange(len(sizes)), sizes.astype(np.int64))


def class_name(label: Any) -> str | bool | int | float:
    """A label as JSON: a value that is neither a text nor a number becomes a text."""
    value = label.item() if isinstance(label, np.generic) else label
    return value if isinstance(value, (str, bool, int, float)) else str(value)


def are_exact(classes: npt.NDArray[Any]) -> bool:
    """Whether classes are numbers that float32, the library's type of labels, holds exactly."""
    if classes.dtype.kind not in "fiu":
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return bool((classes.astype(np.float32).astype(classes.dtype) == classes).all())


def keeps_names(names: npt.NDArray[Any] | None) -> bool:
    """Whether a model can find columns again by such names."""
    return names is not None and len(set(names)) == len(names) and all(name and "\0" not in name for name in names)


def labels(y: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """The classes, ascending, and the class of each row."""
    if y.dtype.kind == "f" and not (y == np.floor(y)).all():
        raise ValueError(
            "Unknown label type: continuous. A classifier needs labels of classes; for numbers there is Regressor."
        )
    if y.dtype.kind == "O":
        _check_objects(y)
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes.astype(np.int64)


def _check_objects(y: npt.NDArray[Any]) -> None:
    kinds = {isinstance(label, (str, bytes)) for label in y}
    if len(kinds) > 1:
        raise ValueError("Unknown label type: y has strings and numbers; make them all strings")


def codes_of(y: npt.NDArray[Any], classes: npt.NDArray[Any], name: str) -> npt.NDArray[np.int64]:
    """The class of each row, from the known classes."""
    at = np.clip(np.searchsorted(classes, y), 0, len(classes) - 1)
    unknown = classes[at] != y
    if unknown.any():
        label = y[unknown].tolist()[0]
        raise ValueError(f"{name} has the label {label!r}, which is not one of the classes {classes.tolist()[:20]}")
    return np.asarray(at, dtype=np.int64)
