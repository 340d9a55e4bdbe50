"""Estimators after scikit-learn's contract: Classifier, Regressor, Ranker.

>>> import numpy as np
>>> from furrow.estimators import Classifier
>>> rng = np.random.default_rng(1)
>>> X = rng.normal(size=(200, 3))
>>> y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
>>> model = Classifier("lr").fit(X, y)
>>> model.predict([[2, 2, 0], [-2, -2, 0]])
array(['yes', 'no'], dtype='<U3')
>>> model.score(X, y) > 0.95
True

They are scikit-learn's where it is installed: Pipeline, GridSearchCV, cross_val_score and clone take them. Without it
they work all the same.

The first argument names the algorithm; what is not set has Furrow's own default for it. Every key of `furrow train` is
a keyword with underscores for dashes (`min_child_weight=2`), and some have a second name that users of other packages
know: `furrow.estimators.ALIASES` lists them. `settings()` lists all keys.
"""

from __future__ import annotations

import inspect
import os
import tempfile
import warnings
from pathlib import Path
from typing import Any, Callable, Iterator, TypeVar

import numpy as np
import numpy.typing as npt

from furrow import _checks, _core
from furrow._data import Source, is_frame, is_path, open_rows, open_table
from furrow._progress import Progress, as_callback
from furrow._settings import ALIASES as ALIASES
from furrow._settings import Settings, collect
from furrow.model import Model

try:
    from sklearn.base import BaseEstimator as _SklearnBase
    from sklearn.base import ClassifierMixin as _ClassifierMixin
    from sklearn.base import RegressorMixin as _RegressorMixin
except ImportError:
    from furrow._estimator_base import BaseEstimator as _SklearnBase
    from furrow._estimator_base import ClassifierMixin as _ClassifierMixin
    from furrow._estimator_base import RegressorMixin as _RegressorMixin

Array = npt.NDArray[Any]
Callback = Callable[[dict[str, Any]], Any]
_Self = TypeVar("_Self", bound="_Estimator")

_LINEAR = {"lr", "svm", "linear", "robust", "softmax"}
_CLASSIFIERS = "lr svm softmax mlr fm ffm dnn wide_and_deep deepfm pnn nfm gbdt".split()
_REGRESSORS = "linear robust fm ffm dnn wide_and_deep deepfm pnn nfm gbdt".split()
_MANY_CLASSES = {"lr": "softmax", "softmax": "softmax", "gbdt": "gbdt"}


def settings(model: str | None = None) -> list[dict[str, Any]]:
    """All keys of a training: name (as a keyword), value (what it takes), default, help.

    model: whose defaults are listed; "auto" is decided by the data.

    >>> [key["default"] for key in settings("gbdt") if key["name"] == "trees"]
    ['200']
    """
    listed = []
    for key in _core.learn_keys():
        default = _core.recommended(model, key["name"]) if model else None
        name = key["name"].replace("-", "_")
        default = key["default"] if default is None else default
        listed.append({"name": name, "value": key["value"], "default": default, "help": key["help"]})
    return listed


# ---- What a fit leaves behind ------------------------------------------------------------------------------------


class _Fitted:
    """A trainer, and the model of its parameters as they are now. Pickled without the trainer."""

    def __init__(self, trainer: _core.Trainer | None, model: Model | None = None) -> None:
        self.trainer = trainer
        self.updates = 0  # calls that changed the parameters
        self.made = model
        self.keep: Any = None  # what the trainer reads again: the folder of an encoder

    @property
    def model(self) -> Model:
        if self.made is None:
            assert self.trainer is not None
            self.made = Model._from_core(self.trainer.scorer(), save=_Saver(self, self.updates))
        return self.made

    def step(self, uri: str, batch: int, progress: Progress = None) -> float:
        """One pass of updates; the model is another one from now on."""
        assert self.trainer is not None
        self.made = None
        self.updates += 1
        return self.trainer.step(uri, batch, as_callback(progress))[1]

    def __getstate__(self) -> dict[str, Any]:
        return {"trainer": None, "updates": 0, "made": self.model, "keep": None}


class _Saver:
    """Saves the model of a trainer, unless it has been trained further."""

    def __init__(self, fitted: _Fitted, updates: int) -> None:
        self._fitted = fitted
        self._updates = updates

    def __call__(self, path: Any, overwrite: bool = False) -> None:
        trainer = self._fitted.trainer
        if trainer is None or self._fitted.updates != self._updates:
            raise _core.StateError("partial_fit has trained this model further: take the estimator's model_ anew")
        trainer.save(path, overwrite)


def _flat(epoch: dict[str, Any]) -> dict[str, Any]:
    """The figures of an epoch that are numbers: epoch, train_loss, valid_auc …"""
    flat = {name: value for name, value in epoch.items() if not isinstance(value, dict)}
    for part in ("train", "valid"):
        if epoch[part]["rows"] > 0:
            flat |= {f"{part}_{name}": value for name, value in epoch[part].items() if value == value}
    return flat


# ---- The data of a fit --------------------------------------------------------------------------------------------


class _Samples:
    """What is trained on, by URI, and what the model must know of it."""

    def __init__(self, source: Source, valid: Source | None = None) -> None:
        self.source = source
        self.valid = valid
        self.features: int | None = None
        self.names: Array | None = None
        self.encoded = False

    def close(self) -> None:
        self.source.close()
        if self.valid:
            self.valid.close()


def _as_uri(X: Any) -> str | None:
    """The URI of samples in files; None: X is data of Python."""
    if is_path(X):
        return os.fspath(X)
    uri = getattr(X, "uri", None)
    return uri if isinstance(uri, str) else None


def _without(X: Any, keep: Array) -> Any:
    """The rows of X that count."""
    if is_frame(X):
        return X.iloc[np.flatnonzero(keep)]
    if hasattr(X, "tocsr"):
        return X.tocsr()[np.flatnonzero(keep)]
    return np.asarray(X)[keep]


def _free_name(X: Any, wanted: str) -> str:
    """A name that none of the columns has."""
    taken = {str(name).lower() for name in X.columns}
    while wanted in taken:
        wanted += "_"
    return wanted


# ---- All estimators -----------------------------------------------------------------------------------------------


class _only_for:
    """A method that an estimator has for some models alone, so that hasattr tells."""

    def __init__(self, check: Callable[[Any], bool], why: str) -> None:
        self._check = check
        self._why = why
        self._function: Callable[..., Any] | None = None

    def __call__(self, function: Callable[..., Any]) -> _only_for:
        self._function = function
        self.__doc__ = function.__doc__
        return self

    def __get__(self, instance: Any, owner: type) -> Any:
        assert self._function is not None
        if instance is None:
            return self._function
        if not self._check(instance):
            raise AttributeError(f"{type(instance).__name__}({instance.model!r}): {self._why}")
        return self._function.__get__(instance, owner)


class _Estimator(_SklearnBase):  # type: ignore[misc]
    """What all estimators have."""

    model: str
    schema: Any
    _models: list[str]

    # ---- Parameters

    def _keep_settings(self, parameters: dict[str, Any]) -> None:
        """Sets the parameters of __init__ as attributes, those of **settings too."""
        more = parameters.pop("settings")
        parameters.pop("self")
        parameters.pop("__class__", None)
        for name, value in (parameters | more).items():
            self._set_param(name, value)

    def _set_param(self, name: str, value: Any) -> None:
        if hasattr(type(self), name) or name.startswith("_") or name.endswith("_") or "__" in name:
            raise TypeError(f"{type(self).__name__}: {name} is not the name of a parameter")
        setattr(self, name, value)

    @classmethod
    def _named(cls) -> list[str]:
        """The parameters in the signature."""
        kinds = inspect.signature(cls.__init__).parameters.values()
        return [p.name for p in kinds if p.kind is not p.VAR_KEYWORD and p.name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters and settings by name. deep: as in scikit-learn; without influence here."""
        named = self._named()
        more = [name for name in vars(self) if name[0] != "_" and name[-1] != "_" and name not in named]
        return {name: getattr(self, name) for name in sorted(named) + sorted(more)}

    def set_params(self: _Self, **params: Any) -> _Self:
        """Sets parameters, which count at the next fit."""
        for name, value in params.items():
            self._set_param(name, value)
        return self

    def _settings(self) -> Settings:
        """What is set, for the library."""
        params = self.get_params()
        for name in ("model", "schema", "class_weight", "seed"):
            params.pop(name, None)
        settings = collect(params)
        seed = getattr(self, "seed", None)
        if seed is not None:
            settings.keys["seed"] = str(int(seed))
        return settings

    def _check_model(self) -> str:
        if self.model not in self._models:
            raise ValueError(
                f"{type(self).__name__}: there is no model {self.model!r} for it; there are {', '.join(self._models)}"
            )
        return self.model

    # ---- Data

    def _takes_missing(self) -> bool:
        return self.model == "gbdt"

    def _needs_schema(self, X: Any) -> bool:
        return self.schema is not None or (is_frame(X) and not _checks.is_numeric_frame(X))

    def _open_rows(self, X: Any, y: Array | None, weight: Array | None, qid: Array | None = None) -> Source:
        return open_rows(X, labels=y, weights=weight, qids=qid, missing=self._takes_missing())

    def _rows_of(self, X: Any) -> tuple[Any, int | None]:
        """X as it is opened, and how many rows it has; None: it is in files."""
        if _as_uri(X) is not None:
            return _as_uri(X), None
        if self._needs_schema(X):
            if not is_frame(X):
                raise TypeError("schema: a frame or the path of a log is needed, not an array")
            if len(X) == 0 or len(X.columns) == 0:
                _checks._check_shape(X.shape, type(self).__name__)
            return X, len(X)
        rows = _checks.check_rows(self, X, missing=self._takes_missing())
        return rows, rows.shape[0]

    # ---- Training

    def _fit_trainer(
        self,
        algorithm: str,
        settings: Settings,
        samples: _Samples,
        progress: Progress,
        callback: Callback | None,
    ) -> _core.Trainer:
        told = (lambda epoch: callback(_flat(epoch))) if callback else None
        parser = {"threads": settings.trainer.get("threads", 0)}
        trainer = _core.Trainer.create(algorithm, tuple(settings.keys.items()), settings.trainer)
        valid = samples.valid.uri if samples.valid else None
        trainer.fit(samples.source.uri, valid, settings.fit, parser, told, as_callback(progress))
        return trainer

    def _keep(self, algorithm: str, trainer: _core.Trainer, samples: _Samples, keep: Any) -> None:
        """Sets the attributes of a fit that went well."""
        fitted = _Fitted(trainer)
        fitted.keep = keep
        history = [_flat(epoch) for epoch in trainer.history()]
        notes = trainer.notes()
        fitted.model  # before an attribute changes
        self._forget()
        self._fitted = fitted
        self.algorithm_ = algorithm
        self.history_ = history
        self.notes_ = [text for text, _ in notes]
        self.best_epoch_ = int(trainer.result()["best_epoch"])
        self.n_iter_ = max(len(history), 1)
        self._keep_columns(samples)
        self._warn(notes)

    def _forget(self) -> None:
        """Drops what an earlier fit set."""
        for name in [name for name in vars(self) if name[-1] == "_" or name[0] == "_"]:
            delattr(self, name)

    def _keep_columns(self, samples: _Samples) -> None:
        self._encoded = samples.encoded
        if samples.features is not None:
            self.n_features_in_ = samples.features
        if samples.names is not None:
            self.feature_names_in_ = samples.names

    def _warn(self, notes: list[tuple[str, bool]]) -> None:
        for text, warning in notes:
            if text.startswith("the minimum was not reached"):
                warnings.warn(text, _convergence_warning(), stacklevel=5)
            elif warning:
                warnings.warn(f"{type(self).__name__}({self.model!r}): {text}", UserWarning, stacklevel=5)

    # ---- Use

    def __sklearn_is_fitted__(self) -> bool:
        return "_fitted" in vars(self)

    @property
    def model_(self) -> Model:
        """The trained model: explanations, files, vectors, figures."""
        fitted = vars(self).get("_fitted")
        if fitted is None:
            raise _checks.not_fitted(self)
        model: Model = fitted.model
        return model

    def _scores(self, X: Any) -> tuple[Array, Array, Array]:
        """pred, proba and label of rows."""
        return self.model_.scores(self._to_score(X))

    def _to_score(self, X: Any) -> Any:
        """X as the model takes it, of the columns of fit."""
        self.model_
        if _as_uri(X) is not None or self._encoded:
            return X
        _checks.check_names(self, X, getattr(self, "feature_names_in_", None))
        rows = _checks.check_rows(self, X, missing=self._takes_missing())
        wanted = getattr(self, "n_features_in_", rows.shape[1])
        if rows.shape[1] != wanted:
            who = type(self).__name__
            raise ValueError(f"X has {rows.shape[1]} features, but {who} is expecting {wanted} features as input")
        return rows

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Writes the model directory, which furrow.load_model and the command read."""
        self.model_.save(path, overwrite=overwrite)

    @property
    def feature_importances_(self) -> Array:
        """Of trees: the share of each feature in the gain of all splits."""
        if self.model != "gbdt":
            raise AttributeError(f"{type(self).__name__}({self.model!r}): trees alone have feature importances")
        return self.model_.feature_importances(getattr(self, "n_features_in_", None))

    @property
    def coef_(self) -> Array:
        """Of linear models: the weight of each feature; of several classes a row for each."""
        return self._linear_part()[0]

    @property
    def intercept_(self) -> Array:
        """Of linear models: the bias."""
        return self._linear_part()[1]

    def _linear_part(self) -> tuple[Array, Array]:
        model = self.model_
        if self.algorithm_ not in _LINEAR:
            raise AttributeError(f"{type(self).__name__}({self.model!r}): linear models alone have coef_ and intercept_")
        return model.linear_weights(getattr(self, "n_features_in_", None))

    # ---- scikit-learn's tags

    def _more_tags(self) -> dict[str, Any]:
        return {"allow_nan": self._takes_missing(), "requires_y": True}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._takes_missing()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def _convergence_warning() -> type[Warning]:
    try:
        from sklearn.exceptions import ConvergenceWarning
    except ImportError:
        return UserWarning
    kind: type[Warning] = ConvergenceWarning
    return kind
