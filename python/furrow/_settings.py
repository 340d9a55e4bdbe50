"""Settings of a training: names of scikit-learn's and of Python's kind to keys of the library."""

from __future__ import annotations

import difflib
import os
from typing import Any, Mapping, NamedTuple

import numpy as np

from furrow import _core

#: Other names of keys, which users of scikit-learn, xgboost and LightGBM know. A name that is not here is the key
#: itself with underscores for dashes: min_child_weight is min-child-weight.
ALIASES = {
    "batch_size": "batch",
    "class_weight": "class-weights",
    "colsample_bytree": "feature-ratio",
    "hidden_layer_sizes": "fc",
    "learning_rate": "lr",
    "max_depth": "depth",
    "max_iter": "epochs",
    "max_leaf_nodes": "leaves",
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


def collect(params: Mapping[str, Any]) -> Settings:
    """Sorts parameters by where they belong; those that are None are not set."""
    settings = Settings({}, {}, {})
    for name, value in params.items():
        if value is None:
            continue
        key = key_of(name)
        if name == "n_jobs":
            name, value = "threads", max(int(value), 0)
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
        settings.keys.setdefault("keep", "best")  # who stops early wants the epoch before the others got worse
    return settings


def _check_known(name: str, key: str) -> None:
    known = {entry["name"] for entry in _core.learn_keys()} - _OWN
    if key in known:
        return
    names = [other.replace("-", "_") for other in known] + list(ALIASES) + sorted(_TRAINER | _FIT)
    near = difflib.get_close_matches(name, names, 1)
    hint = f"; the nearest is {near[0]}" if near else "; furrow.estimators.settings() lists all"
    raise ValueError(f"there is no setting {name}{hint}")
