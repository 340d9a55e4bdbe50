"""Settings of a training: maps names in the style of scikit-learn and Python to keys of the library."""

from __future__ import annotations

import difflib
import os
import re
from typing import Any, Mapping, NamedTuple
from urllib.parse import quote

import numpy as np

from furrow import _core

#: Other names of keys, which users of scikit-learn, xgboost and LightGBM know. A name that is not here is the key
#: itself with underscores for dashes: min_child_weight is min-child-weight.
ALIASES = {
    "batch_size": "batch",
    "class_weight": "class-weights",
    "colsample_bytree": "feature-ratio",
    "monotone_constraints": "monotone",
    "monotonic_cst": "monotone",
    "quantile_alpha": "quantile",
    "early_stopping_rounds": "patience",
    "eta": "lr",
    "factors": "rank",
    "gamma": "min-gain",
    "hidden_layer_sizes": "fc",
    "lambda_l1": "reg-alpha",
    "lambda_l2": "reg-lambda",
    "learning_rate": "lr",
    "max_bin": "splits",
    "max_bins": "splits",
    "max_depth": "depth",
    "max_iter": "epochs",
    "max_leaf_nodes": "leaves",
    "max_leaves": "leaves",
    "min_samples_leaf": "min-rows",
    "min_split_gain": "min-gain",
    "n_estimators": "trees",
    "n_factors": "rank",
    "n_iter_no_change": "patience",
    "num_leaves": "leaves",
    "random_state": "seed",
    "subsample": "row-ratio",
    "validation_fraction": "valid-ratio",
}

#: Names of other packages that do not exist here, and what to use instead.
_HINTS = {
    "C": "l2 is the strength of the regularisation: a larger l2 is a smaller C",
    "alpha": "l1 and l2 (of trees reg_alpha and reg_lambda) are the strengths of the regularisation; quantile is the "
    "level of objective=\"quantile\"",
    "eval_metric": "metric= is the figure that patience watches, and history_ has all figures",
    "fit_intercept": "models always have an intercept",
    "penalty": "l1=, l2= or both are the strengths of the regularisation",
    "scale_pos_weight": "class_weight= has a factor for each class",
    "tol": "epochs= limits the iterations of exact solvers, patience= ends others early",
    "verbose": "fit(…, progress=True) shows a bar, callback= gets the figures",
    "verbosity": "fit(…, progress=True) shows a bar, callback= gets the figures",
    "warm_start": "partial_fit, and fit(…, init_model=), go on from a model",
}

#: Values of other packages by key.
_VALUES = {
    "objective": {
        "binary": "binary:logistic",
        "lambdarank": "rank:ndcg",
        "multi:softprob": "multi:softmax",
        "multiclass": "multi:softmax",
        "regression": "reg:squarederror",
    }
}

#: Settings that are not keys: where the call of the library takes them.
_TRAINER = {"threads", "hogwild", "max_features"}
_FIT = {"metric", "stream", "checkpoint", "checkpoint_every", "resume"}

#: Keys that fit itself sets.
_OWN = {"data", "valid", "action", "load", "save", "algorithm", "encoder", "labels", "class-names", "has-label"}


class Settings(NamedTuple):
    keys: dict[str, str]  #: of the configuration
    trainer: dict[str, Any]  #: of furrow_trainer_params
    fit: dict[str, Any]  #: of furrow_trainer_fit_params


def key_of(name: str) -> str:
    """The library's key of a parameter's name."""
    return ALIASES.get(name, name.replace("_", "-"))


def as_text(value: Any, name: str) -> str:
    """A value as the library reads it: yes and no, numbers with all digits, lists with commas."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (int, str)):
        return str(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, (list, tuple, np.ndarray)):
        return ",".join(as_text(part, name) for part in value)
    raise TypeError(f"{name}: a number, a text or a list of them is needed, not {type(value).__name__}")


def _directions(name: str, value: Any) -> str:
    """Columns along which predictions may only rise or fall, as the library reads them: a text stays as it is."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        pairs = list(value.items())
    elif isinstance(value, (list, tuple, np.ndarray)):
        pairs = list(enumerate(value))
    else:
        raise TypeError(f"{name}: a dict of columns and 1 or -1, or a list with 1, 0 or -1 of each column, is needed")
    signs = {1: "+", -1: "-", "+": "+", "-": "-"}
    if any(direction not in (0, *signs) for _, direction in pairs):
        raise ValueError(f"{name}: a direction is 1 (predictions may only rise), -1 (only fall) or 0")
    return ",".join(f"{quote(str(column), safe='')}={signs[direction]}" for column, direction in pairs if direction != 0)


def _threads(name: str, value: Any) -> int:
    """A number of threads; 0, and -1 as in scikit-learn, is one for each processor."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name}: a whole number is needed, not {value!r}")
    if name == "threads" and value < -1:
        raise ValueError(f"threads: a number of threads, 0 or -1 is needed, not {value}")
    return max(int(value), 0)


def _seed(value: Any) -> Any:
    """A seed; of a generator, the next number that it draws."""
    if isinstance(value, np.random.Generator):
        return int(value.integers(2**31))
    return int(value.randint(2**31 - 1)) if isinstance(value, np.random.RandomState) else value


def typed_names(params: Mapping[str, Any], message: str) -> list[tuple[str, str]]:
    """Pairs of a name that the caller typed and its key, if the message has only the key."""
    typed = [(name, ALIASES[name]) for name, value in params.items() if name in ALIASES and value is not None]
    return [(name, key) for name, key in typed if re.search(rf"(?<![\w-]){re.escape(key)}(?![\w-])", message)]


def collect(params: Mapping[str, Any]) -> Settings:
    """Sorts parameters by where they belong; parameters that are None are not set."""
    settings = Settings({}, {}, {})
    for name, value in params.items():
        if value is None:
            continue
        key = key_of(name)
        if name in ("n_jobs", "threads"):
            value = _threads(name, value)
            name = "threads"
            if name in settings.trainer:
                raise ValueError("n_jobs and threads are two names of one setting: set one of them")
        if key == "monotone":
            value = _directions(name, value)
            if not value:
                continue
        if key == "seed":
            value = _seed(value)
        if isinstance(value, str):
            value = _VALUES.get(key, {}).get(value, value)
        if key in _OWN:
            raise ValueError(f"{name}: fit sets the key '{key}' itself")
        if name in _TRAINER:
            settings.trainer[name] = value
        elif name in _FIT:
            settings.fit[name] = os.fspath(value) if name == "checkpoint" else value
        elif key in settings.keys:
            raise ValueError(f"{name}: the key '{key}' is set twice, by two names")
        else:
            _check_known(name, key)
            settings.keys[key] = as_text(value, name)
    if settings.keys.get("patience", "0") != "0":
        settings.keys.setdefault("keep", "best")  # early stopping should return the epoch before the others got worse
    return settings


def _check_known(name: str, key: str) -> None:
    known = {entry["name"] for entry in _core.learn_keys()} - _OWN
    if key in known:
        return
    if name in _HINTS:
        raise ValueError(f"there is no setting {name}: {_HINTS[name]}")
    names = [other.replace("-", "_") for other in known] + list(ALIASES) + sorted(_TRAINER | _FIT)
    near = difflib.get_close_matches(name, names, 1)
    hint = f"; the nearest is {near[0]}" if near else "; furrow.estimators.settings() lists all"
    raise ValueError(f"there is no setting {name}{hint}")
