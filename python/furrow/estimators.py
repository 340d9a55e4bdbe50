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

The first argument names the algorithm; settings that are not given have Furrow's own default for it. Every key of
`furrow train` is a keyword with underscores for dashes (`min_child_weight=2`), and some have a second name that users
of other packages know: `furrow.estimators.ALIASES` lists them. `settings()` lists all keys.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import tempfile
import warnings
from typing import Any, Callable, Mapping, NamedTuple, TypeVar
from urllib.parse import quote

import numpy as np
import numpy.typing as npt

from furrow import _checks, _core
from furrow._data import Source, is_arrow, is_frame, is_path, is_table, open_columns, open_rows, open_table
from furrow._data import table_columns, warn_user
from furrow._growth import earlier_model, folder_of, note_of_growth
from furrow._html import Card, Facts, training_chart, training_facts
from furrow._progress import Progress, as_callback
from furrow._settings import ALIASES as ALIASES
from furrow._settings import Settings, as_text, collect, typed_names
from furrow.model import _NOT_INPUTS, Model, load_model
from furrow.rows import Rows
from furrow.schema import Encoder, EncoderFolder, Schema, as_schema, propose_bins, propose_features

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

_EXACT = {"lr", "linear", "robust", "softmax"}  # the minimum is found, whatever the order of rows
_SLOTS = {"wide_and_deep", "deepfm", "pnn"}  # a feature of a row has a slot
_FACTORS = {"fm", "ffm", "dnn", "wide_and_deep", "deepfm", "pnn", "nfm"}  # made for categories
_LOOKED_AT, _MANY_VALUES = 10_000, 32
_LINEAR = {"lr", "svm", "linear", "robust", "softmax"}
_SINGLE_WEIGHTS = _LINEAR - {"softmax"}  # models with one weight for a feature
_CLASSIFIERS = "lr svm softmax mlr fm ffm dnn wide_and_deep deepfm pnn nfm gbdt".split()
_REGRESSORS = "linear robust fm ffm dnn wide_and_deep deepfm pnn nfm gbdt".split()
_FELL_BACK = "interactions did not help"  # beginning of the note about a net that the linear model replaced
_NETS_OF_CLASSES = ("fm", "dnn", "wide_and_deep", "deepfm", "pnn", "nfm")  # with an output for each class
_MANY_CLASSES = {"lr": "softmax", "softmax": "softmax", "gbdt": "gbdt", **{name: name for name in _NETS_OF_CLASSES}}


def settings(model: str | None = None) -> list[dict[str, Any]]:
    """All keys of a training: name (as a keyword), value (what it takes), default, help.

    model: whose defaults are listed; "auto" is decided by the data.

    >>> [key["default"] for key in settings("gbdt") if key["name"] == "trees"]
    ['500']
    """
    listed = []
    for key in _core.learn_keys():
        default = _core.recommended(model, key["name"]) if model else None
        name = key["name"].replace("-", "_")
        default = key["default"] if default is None else default
        listed.append({"name": name, "value": key["value"], "default": default, "help": key["help"]})
    return listed


# ---- The results of a fit ----------------------------------------------------------------------------------------


class _Saver:
    """Writes the model of a trainer, unless the trainer has been trained further. Keeps the files that the model reads
    again."""

    def __init__(self, trainer: _core.Trainer, folder: EncoderFolder | None) -> None:
        self.trainer: _core.Trainer | None = trainer  # None: trained further
        self.folder = folder  # of the encoder of a log

    def __call__(self, path: str, overwrite: bool) -> None:
        if self.trainer is None:
            raise _core.StateError("partial_fit has trained this model further: use the estimator's current model_")
        self.trainer.save(path, overwrite)


class _Fitted:
    """A trainer, and the model of its parameters as they are now. Pickled without the trainer."""

    def __init__(
        self, trainer: _core.Trainer, folder: EncoderFolder | None = None, *, stepping: bool = False
    ) -> None:
        self.trainer: _core.Trainer | None = trainer
        self.stepping = stepping  # its optimizer is for steps
        self._saver = _Saver(trainer, folder)
        self._made: Model | None = None

    @classmethod
    def of_model(cls, model: Model) -> _Fitted:
        """A model that was trained before."""
        self = cls.__new__(cls)
        vars(self).update(trainer=None, stepping=False, _saver=None, _made=model)
        return self

    @property
    def model(self) -> Model:
        if self._made is None:
            assert self.trainer is not None
            self._made = Model._from_core(self.trainer.scorer(), save=self._saver)
        return self._made

    def step(self, uri: str, batch: int) -> None:
        """Makes one pass of updates; afterwards `model` is a new object."""
        assert self.trainer is not None
        self._saver.trainer = None
        self._saver = _Saver(self.trainer, None)
        self._made = None
        self.trainer.step(uri, batch, None)

    def __getstate__(self) -> dict[str, Any]:
        return {"trainer": None, "stepping": False, "_saver": None, "_made": self.model}


def _flat(epoch: dict[str, Any]) -> dict[str, Any]:
    """The figures of an epoch that are numbers: epoch, train_loss, valid_auc …"""
    flat = {name: value for name, value in epoch.items() if not isinstance(value, dict)}
    for part in ("train", "valid"):
        if epoch[part]["rows"] > 0:
            flat |= {f"{part}_{name}": value for name, value in epoch[part].items() if value == value}
    return flat


# ---- The data of a fit --------------------------------------------------------------------------------------------


class _Samples:
    """The training data, by URI, and what the model must know about it."""

    def __init__(self) -> None:
        self.source = Source("")
        self.valid: Source | None = None
        self.features: int | None = None
        self.names: Array | None = None
        self.folder: EncoderFolder | None = None  #: of the encoder of a log
        self.schema: Schema | None = None  #: of the log
        self.weighted = False  #: the log has a column of weights
        self.table: Array | None = None  #: the numbers of a frame or an array
        self.notes: list[str] = []  #: about how the data is read

    def close(self) -> None:
        self.source.close()
        if self.valid:
            self.valid.close()


class _Target(NamedTuple):
    """Labels, weights and groups of rows in memory, and the columns of a log."""

    y: Array | None = None
    weight: Array | None = None
    qid: Array | None = None
    roles: dict[str, Any] = {}


def _has_labels(X: Any) -> bool:
    """Whether samples include their labels, as files do."""
    return is_path(X) or isinstance(X, Rows)


def _as_trained(rows: Rows) -> Rows | str:
    """Text may count features from 0 or from 1: the library finds out from the files, and the model keeps the result,
    so that it reads other files in the same way. Rows that know their index base are used as they are."""
    text = rows.format in ("libsvm", "libfm", "libffm") and not rows.index_base_given
    uri = rows.file_uri() if text else None
    return rows.load() if uri is None else uri


def _split_label(X: Any, y: Any, label: str | None) -> tuple[Any, Any]:
    """A frame or dict of columns, without the column of labels, and that column."""
    if label is None or not (is_frame(X) or isinstance(X, Mapping)):
        return X, y
    if y is not None:
        raise ValueError("label: y has the labels already; leave one of them out")
    if label not in X:
        raise ValueError(f"label: there is no column {label!r}")
    rest = X.drop(columns=[label]) if is_frame(X) else {name: X[name] for name in X if name != label}
    return rest, X[label]


def _keep_names(names: Array | None, settings: Settings) -> None:
    """A saved model finds the columns of tables by their names."""
    if names is not None and _checks.keeps_names(names):
        settings.keys.setdefault("columns", ",".join(quote(name, safe="") for name in names))


def _take(X: Any, rows: Array) -> Any:
    """Some rows of X, by a mask."""
    if is_frame(X):
        return X.iloc[np.flatnonzero(rows)]
    if isinstance(X, Mapping):
        return {name: np.asarray(column)[rows] for name, column in X.items()}
    if is_arrow(X):
        raise ValueError("sample_weight: a weight is 0; leave such rows of an Arrow table out")
    return X[np.flatnonzero(rows)] if hasattr(X, "tocsr") else X[rows]


def _free_name(X: Any, wanted: str) -> str:
    """A name that none of the columns has."""
    taken = {str(name).lower() for name in _checks.column_names(X) or []}
    while wanted in taken:
        wanted += "_"
    return wanted


def _many_integers(table: Array, names: Array) -> list[str]:
    """The columns of integers that have many values, by the first rows."""
    head = table[:_LOOKED_AT]
    whole = np.flatnonzero((head == np.floor(head)).all(axis=0))
    return [str(names[i]) for i in whole if len(np.unique(head[:, i])) > _MANY_VALUES]


def _says_id(name: str) -> bool:
    return re.search(r"(?i:(^|[^a-z])(id|uid|user|item|sku))$|[a-z]I[dD]$", name) is not None


def _name_inputs(model: Model, samples: _Samples) -> None:
    """The columns that a model takes."""
    samples.names = None if model.feature_names is None else np.asarray(model.feature_names, dtype=object)
    samples.features = model.n_features
    if model._encoded:
        inputs = [name for name, what, _ in model._scorer.columns() if what not in _NOT_INPUTS]
        samples.names, samples.features = np.asarray(inputs, dtype=object), len(inputs)


def _kind_of(model: Model) -> str:
    """The name of the estimator that has such models."""
    return "Classifier" if model.n_classes else "Ranker" if model._ranks() else "Regressor"


# ---- All estimators -----------------------------------------------------------------------------------------------


class _only_for:
    """A method that an estimator has only for some models, so that hasattr works."""

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


class _Estimator(Card, _SklearnBase):  # type: ignore[misc]
    """What all estimators have."""

    model: str
    schema: Any
    _models: list[str]
    _kind: str

    # ---- Parameters

    def _keep_settings(self, parameters: dict[str, Any]) -> None:
        """Sets the parameters of __init__, including **settings, as attributes."""
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
        """All parameters and settings by name. deep: as in scikit-learn; has no effect here."""
        named = self._named()
        more = [name for name in vars(self) if name[0] != "_" and name[-1] != "_" and name not in named]
        return {name: getattr(self, name) for name in sorted(named) + sorted(more)}

    def set_params(self: _Self, **params: Any) -> _Self:
        """Sets parameters, which count at the next fit."""
        for name, value in params.items():
            self._set_param(name, value)
        return self

    def _settings(self) -> Settings:
        """The settings in the form that the library takes."""
        params = self.get_params()
        for name in ("model", "schema", "class_weight"):
            params.pop(name, None)
        return collect(params)

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
        return self.schema is not None or is_table(X)

    def _check_X(self, X: Any) -> tuple[Any, int | None]:
        """X in the form that is opened, and its number of rows; None: X is in files."""
        if isinstance(X, Rows):
            X = _as_trained(X)
        if _has_labels(X):
            return X, None
        if not self._needs_schema(X):
            rows = _checks.check_rows(self, X, missing=self._takes_missing())
            return rows, rows.shape[0]
        if _checks.column_names(X) is None:
            raise TypeError("schema: a frame, an Arrow table, a dict of columns or the path of a log is needed")
        shape = _checks.shape_of(X)
        _checks.check_shape(shape, type(self).__name__)
        return X, shape[0]

    def _check_target(self, X: Any, y: Any, sample_weight: Any, qid: Any, roles: dict[str, Any]) -> tuple[Any, _Target]:
        """X and what comes with it, checked; rows without weight are left out."""
        checked, rows = self._check_X(X)
        if rows is None:
            for name, value in (("y", y), ("sample_weight", sample_weight), ("qid", qid)):
                if value is not None:
                    raise ValueError(f"{name}: rows of files have it in the files; label= names the column of labels")
            return checked, _Target(roles=roles)
        if y is None and roles.get("label") is None and self._needs_y():
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        weight = _checks.weights(sample_weight, rows)
        target = None if y is None else self._check_y(_checks.column(y, rows))
        groups = None if qid is None else _checks.groups(qid, rows)
        if weight is not None and (weight == 0).any():
            keep = weight > 0
            checked, weight = _take(checked, keep), weight[keep]
            target = None if target is None else target[keep]
            groups = None if groups is None else groups[keep]
        return checked, _Target(target, weight, groups, roles)

    def _needs_y(self) -> bool:
        return True

    def _check_y(self, y: Array) -> Array:
        return y

    def _open(
        self, X: Any, target: _Target, settings: Settings, names: Array | None, progress: Progress
    ) -> _Samples:
        samples = _Samples()
        samples.names = names
        if not _has_labels(X):
            samples.features = int((_checks.shape_of(X) if self._needs_schema(X) else X.shape)[1])
        if self._needs_schema(X):
            self._open_log(X, target, settings, samples, progress)
            return samples
        if self._open_bins(X, target, settings, samples, progress):
            return samples
        if target.roles.get("label") is not None:
            if not is_path(X):
                raise ValueError("label: names a column of a file, a frame or a dict; of other data y has the labels")
            settings.keys["label-column"] = target.roles["label"]
        if isinstance(X, np.ndarray):
            samples.table = X
            settings.keys.setdefault("range", str(X.shape[1]))  # a saved model refuses tables of other columns
            _checks.warn_of_collapse(X, names)
        _keep_names(names, settings)
        samples.source = open_rows(
            X, labels=target.y, weights=target.weight, qids=target.qid, missing=self._takes_missing()
        )
        return samples

    def _open_log(
        self, X: Any, target: _Target, settings: Settings, samples: _Samples, progress: Progress
    ) -> None:
        """A table with names and strings: its encoder in memory, through which the library reads it."""
        threads = settings.trainer.get("threads", 0)
        options: dict[str, Any] = {"threads": threads, "progress": progress, "amounts": self.model == "gbdt"}
        options["bin_numbers"] = self._can_bin(settings)
        samples.weighted = target.weight is not None
        separate: frozenset[str] = frozenset()  # columns that X does not have
        if is_path(X):
            samples.source = open_table(X)
            schema, roles = ("auto", target.roles) if self._takes_auto() else (self.schema, {})
        else:
            columns, roles = self._table_columns(X, target)
            samples.source = open_columns(columns)
            schema = self._find_schema(samples.source, columns, roles, target, options)
            separate = frozenset(roles.values())
            roles = target.roles | roles if isinstance(schema, str) else {}
        encoder = Encoder.build(samples.source, schema, strict=False, **options, **roles)
        samples.schema = encoder.schema._without(separate)
        self._use_encoder(encoder, settings, samples)

    def _use_encoder(self, encoder: Encoder, settings: Settings, samples: _Samples) -> None:
        samples.folder = encoder.open_folder()
        settings.keys.update(encoder=samples.folder.path, format="table")

    def _can_bin(self, settings: Settings) -> bool:
        """Whether the model has one weight for a number, so that bins may suit it better."""
        return self.model in _SINGLE_WEIGHTS and settings.keys.get("classes") in (None, "2")

    def _open_bins(
        self, X: Any, target: _Target, settings: Settings, samples: _Samples, progress: Progress
    ) -> bool:
        """Csv of numbers is read through a schema if the effect of a number on the label is not a straight line, as
        furrow train does; returns whether it is."""
        threads = settings.trainer.get("threads", 0)
        given = any(settings.keys.get(key, "auto") != "auto" for key in ("format", "columns"))
        if not is_path(X) or not self._can_bin(settings) or given or settings.fit.get("stream"):
            return False
        label = target.roles.get("label") or settings.keys.get("label-column")
        schema = propose_bins(os.fspath(X), label, settings.keys.get("weight-column"), threads, progress)
        if schema is None or (self._kind == "Regressor" and schema.class_names):
            return False  # a regression keeps the numbers of its label
        for key in ("label-column", "weight-column"):
            settings.keys.pop(key, None)
        samples.source = open_table(X)
        self._use_encoder(Encoder.build(samples.source, schema, threads=threads, progress=progress), settings, samples)
        samples.schema = schema
        samples.notes.append(
            f"{os.fspath(X)} is read through a schema (schema_): not all numbers have an effect that is a straight "
            'line. format="csv" keeps one weight for each column'
        )
        return True

    def _takes_auto(self) -> bool:
        return self.schema is None or (isinstance(self.schema, str) and self.schema == "auto")

    def _has_own_label(self) -> bool:
        """Whether there is a schema that names the label."""
        return not self._takes_auto() and "label" in as_schema(self.schema).roles

    def _table_columns(self, X: Any, target: _Target) -> tuple[dict[str, Any], dict[str, Any]]:
        """The columns of the table and of the separate labels, weights and groups, and the names of the latter."""
        known = {} if self._takes_auto() else as_schema(self.schema).roles
        separate: dict[str, Any] = {"label": target.y, "weight": target.weight, "group": target.qid}
        roles = {role: known.get(role) or _free_name(X, role) for role in separate if separate[role] is not None}
        return table_columns(X, **{roles[role]: separate[role] for role in roles}), roles

    def _find_schema(
        self, source: Source, columns: dict[str, Any], roles: dict[str, Any], target: _Target, options: dict[str, Any]
    ) -> Any:
        """The schema of a table in memory; "auto": it is a log whose columns are found by their names."""
        if not self._takes_auto():
            definition = as_schema(self.schema).to_dict(comments=True)
            for role, name in roles.items():
                definition["columns"].setdefault(name, {"as": role})
            return as_schema(self.schema) if set(roles) <= set(as_schema(self.schema).roles) else definition
        if target.y is None:
            return "auto"
        return propose_features(source, columns, roles, **target.roles, **options)

    def _open_valid(self, eval_set: Any, samples: _Samples, encode: Callable[[Array], Array] | None) -> None:
        """Validation data: a pair (X, y) or a triple with weights, a list of one of them, or a path."""
        if isinstance(eval_set, list) and len(eval_set) == 1:
            eval_set = eval_set[0]
        if _has_labels(eval_set):
            samples.valid = open_rows(self._check_X(eval_set)[0])
            return
        if not isinstance(eval_set, tuple) or len(eval_set) not in (2, 3):
            raise ValueError("eval_set: a pair (X, y), a list of one pair, or the path of samples is needed")
        weight = eval_set[2] if len(eval_set) == 3 else None
        checked, target = self._check_target(eval_set[0], eval_set[1], weight, None, {})
        self._check_valid(eval_set[0], checked, samples)
        if encode and target.y is not None:
            target = target._replace(y=encode(target.y))
        if samples.folder:
            if (target.weight is None) == samples.weighted:
                weight = np.ones(_checks.shape_of(checked)[0]) if samples.weighted else None
                target = target._replace(weight=weight)
            samples.valid = open_columns(self._table_columns(checked, target)[0])
        else:
            samples.valid = open_rows(
                checked, labels=target.y, weights=target.weight, missing=self._takes_missing()
            )

    def _check_valid(self, X: Any, checked: Any, samples: _Samples) -> None:
        """Refuses validation rows of other columns; a log has its columns in any order."""
        features = (_checks.shape_of(checked) if samples.folder else checked.shape)[1]
        if features != samples.features:
            raise ValueError(f"eval_set: X has {features} features, but {samples.features} are trained on")
        ordered = samples.folder is None
        _checks.check_names(self, X, samples.names, what="eval_set: X", ordered=ordered)

    # ---- Training

    def _train(
        self,
        algorithm: str,
        settings: Settings,
        samples: _Samples,
        progress: Progress,
        callback: Callback | None,
    ) -> _Fitted:
        told = (lambda epoch: callback(_flat(epoch))) if callback else None
        parser = {"threads": settings.trainer.get("threads", 0)}
        valid = samples.valid.uri if samples.valid else None
        try:
            trainer = _core.Trainer.create(algorithm, tuple(settings.keys.items()), settings.trainer)
            trainer.fit(samples.source.uri, valid, settings.fit, parser, told, as_callback(progress))
        except _core.Error as error:
            self._add_notes(error, samples)
            raise
        return _Fitted(trainer, samples.folder)

    def _add_notes(self, error: _core.Error, samples: _Samples) -> None:
        """Adds notes that the library cannot make: with the names that the caller typed, and about how a log is read
        here."""
        for name, key in typed_names(self.get_params(), error.message):
            error.add_note(f"{key} is {name} of {type(self).__name__}")
        in_file = samples.features is None and samples.folder is None
        if in_file and any(text in error.message for text in ("not a number", "is for csv data")):
            who = f"{type(self).__name__}({self.model!r}, schema='auto')"
            error.add_note(f"a file with strings, such as a log, is read through a schema: {who}")

    def _keep(self, algorithm: str, fitted: _Fitted, samples: _Samples) -> None:
        """Sets the attributes of a successful fit, in place of the attributes of an earlier one."""
        assert fitted.trainer is not None
        history = [_flat(epoch) for epoch in fitted.trainer.history()]
        notes = fitted.trainer.notes()
        best = int(fitted.trainer.result()["best_epoch"])
        for name in [name for name in vars(self) if name[-1] == "_" and name[0] != "_"]:
            delattr(self, name)  # names that begin with "_" may be scikit-learn's
        self._fitted = fitted
        self.algorithm_ = algorithm
        self.history_ = history
        self.notes_ = samples.notes + [text for text, _ in notes]
        self.best_epoch_ = best
        self.n_iter_ = max(len(history), 1)
        self._keep_columns(samples)
        self._warn(notes)
        self._warn_of_ids(notes, samples)

    @classmethod
    def load(cls: type[_Self], path: str | os.PathLike[str]) -> _Self:
        """A fitted estimator from a model directory, which save or the command wrote: it predicts, scores and continues
        with partial_fit. Its parameters are the same as of cls(algorithm), because the directory does not keep the
        settings; history_ is empty.

        A model of sparse rows does not know its number of features: n_features_in_ is then absent.
        """
        model = load_model(path)
        algorithm = model.algorithm
        kind = _kind_of(model)
        if kind != cls._kind:
            raise ValueError(f"{cls.__name__}.load: this is a model of furrow.{kind}: load it with {kind}.load")
        if algorithm is None or algorithm not in cls._models:
            raise ValueError(f"{cls.__name__}.load: {algorithm or 'a graph'} is not one of {', '.join(cls._models)}")
        self = cls(algorithm)
        self._keep_model(model, algorithm)
        return self

    def _keep_model(self, model: Model, algorithm: str) -> None:
        """Sets the attributes of a fit from a model that was trained before."""
        training = model.info.get("training", {})
        samples = _Samples()
        _name_inputs(model, samples)
        self._fitted = _Fitted.of_model(model)
        self.algorithm_ = algorithm
        self.history_ = []
        self.notes_ = [*model.info.get("notes", []), *model.info.get("warnings", [])]
        self.best_epoch_ = int(training.get("best_epoch", 0))
        self.n_iter_ = max(int(training.get("epochs", 1)), 1)
        self._keep_columns(samples)
        self._encoded = model._encoded

    def _keep_columns(self, samples: _Samples) -> None:
        self._encoded = samples.folder is not None
        if samples.schema is not None:
            self.schema_ = samples.schema
        if samples.features is not None:
            self.n_features_in_ = samples.features
        if samples.names is not None:
            self.feature_names_in_ = samples.names

    def _warn(self, notes: list[tuple[str, bool]]) -> None:
        for text, warning in notes:
            if text.startswith("the minimum was not reached"):
                warnings.warn(text, _convergence_warning(), stacklevel=4)
            elif warning or text.startswith(_FELL_BACK):
                if "a schema (auto)" in text.lower():
                    text += " (schema='auto'; X is then a frame, or the path of csv)"
                warnings.warn(f"{type(self).__name__}({self.model!r}): {text}", UserWarning, stacklevel=4)

    def _warn_of_ids(self, notes: list[tuple[str, bool]], samples: _Samples) -> None:
        """Warns about columns of ids in a frame of numbers: the size of an id has no meaning, so no model can learn
        much from it."""
        if samples.table is None or samples.names is None:
            return
        worse = any(text.startswith("the model is worse than a constant") for text, _ in notes)
        found = [name for name in _many_integers(samples.table, samples.names) if worse or _says_id(name)]
        if found and (worse or self.model in _FACTORS):
            warn_user(
                f"{type(self).__name__}({self.model!r}): {', '.join(found[:10])}: integers with many values, which count "
                "as numbers; if they are ids, schema='auto' gives each value a feature of its own, where the name ends "
                "in id (others: a schema that says category)"
            )

    # ---- Models of logs that learn more

    def _go_on(
        self: _Self,
        init_model: Any,
        X: Any,
        y: Any,
        sample_weight: Any,
        eval_set: Any,
        label: str | None,
        progress: Progress,
        callback: Callback | None,
    ) -> _Self:
        """fit with init_model: as furrow train --load."""
        model = earlier_model(init_model)
        algorithm, settings = self._check_earlier(model), self._settings()
        self._adapt_further(model, settings)
        samples = _Samples()
        _name_inputs(model, samples)
        try:
            samples.source = self._open_further(model, X, y, sample_weight, label)
            if eval_set is not None:
                X, y, weight = (*(eval_set if isinstance(eval_set, tuple) else (eval_set,)), None, None)[:3]
                samples.valid = self._open_further(model, X, y, weight, None)
            before = model._encoder()
            most, threads = settings.trainer.pop("max_features", 0), settings.trainer.get("threads", 0)
            encoder = before.grow(samples.source, max_features=most, threads=threads, progress=progress)
            samples.schema = encoder.schema
            samples.notes.append(note_of_growth(before, encoder))
            self._use_encoder(encoder, settings, samples)
            with folder_of(model) as folder:
                settings.trainer["load"] = folder
                fitted = self._train(algorithm, settings, samples, progress, callback)
        finally:
            samples.close()
        self._keep(algorithm, fitted, samples)
        self._keep_classes(fitted.model)
        return self

    def _check_earlier(self, model: Model) -> str:
        """The algorithm of a model to go on from, which has to be that of the estimator."""
        algorithm, own = model.algorithm, self._check_model()
        if algorithm not in (own, _MANY_CLASSES.get(own)) or _kind_of(model) != self._kind:
            raise ValueError(
                f"init_model: it is a model of {_kind_of(model)}({algorithm!r}), not of {self._kind}({own!r})"
            )
        return algorithm or own

    def _adapt_further(self, model: Model, settings: Settings) -> None:
        """Adds the keys for this kind of estimator."""

    def _keep_classes(self, model: Model) -> None:
        """Sets the attributes about classes."""

    def _open_further(self, model: Model, X: Any, y: Any, weight: Any, label: str | None) -> Source:
        """Rows for a model of a log: a path, or a table with its labels."""
        known = {what: name for name, what, _ in model._scorer.columns()}
        if is_path(X):
            if y is not None or weight is not None:
                raise ValueError("y, sample_weight: rows of files have them in the files")
            if label not in (None, known.get("label")):
                raise ValueError(f"label: the schema of the model has the label {known.get('label')!r}, not {label!r}")
            return model._open_more(X, None, None)
        if label != known.get("label"):
            X, y = _split_label(X, y, label)
        columns = _checks.column_names(X)
        if columns is None:
            return model._open_more(X, y, weight)  # which refuses it
        if y is None and known.get("label", columns[0]) not in columns:
            raise ValueError(f"X has no column {known['label']!r}, which has the labels: pass y, or label= of fit")
        rows = _checks.shape_of(X)[0]
        weight = _checks.weights(weight, rows)
        if weight is None and known.get("weight", columns[0]) not in columns:
            weight = np.ones(rows)
        return model._open_more(X, None if y is None else self._check_y(_checks.column(y, rows)), weight)

    # ---- Steps

    def _check_batch(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, _Target, Array | None]:
        """X, what comes with it, and the names of its columns."""
        if _has_labels(X) or self._needs_schema(X):
            raise TypeError("partial_fit takes arrays and tables of numbers; fit takes logs and files")
        names = _checks.feature_names(X)
        if self.__sklearn_is_fitted__():
            self._to_score(X)
        return (*self._check_target(X, y, sample_weight, None, {}), names)

    def _learns_log(self) -> bool:
        """Whether partial_fit goes on from a model of a log."""
        return self.__sklearn_is_fitted__() and self._encoded

    def _begin_steps(self, X: Any, names: Array | None, algorithm: str, settings: Settings) -> None:
        """A model without a single update."""
        samples = _Samples()
        samples.names, samples.features = names, int(X.shape[1])
        _keep_names(names, settings)
        if algorithm in _SLOTS and "fields" not in settings.keys:
            longest = int(np.diff(X.indptr).max(initial=1)) if hasattr(X, "indptr") else X.shape[1]
            settings.keys.update({"fields": str(longest), "short-rows": "yes"})
        trainer = _core.Trainer.create(algorithm, tuple(settings.keys.items()), settings.trainer)
        fitted = _Fitted(trainer, stepping=True)
        self._keep(algorithm, fitted, samples)

    def _step_settings(self) -> Settings:
        """The settings of a model that is trained step by step."""
        settings = self._settings()
        if "l2" not in settings.keys and getattr(self, "algorithm_", self.model) in _LINEAR:
            settings.keys["l2"] = "0"  # the default depends on the number of all rows
        return settings

    def _trainer_of_model(self) -> _core.Trainer:
        """A trainer that continues from a model without the state of an optimizer: one of an exact fit, or from a
        pickle.

        FTRL, the default of linear models, would begin with steps of its rate, however small the gradients are.
        """
        settings = self._step_settings()
        self._adapt_steps(settings)
        if self.algorithm_ in _LINEAR:
            settings.keys.setdefault("optimizer", "SGD")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model")
            self.model_.save(path)
            return _core.Trainer.create(self.algorithm_, tuple(settings.keys.items()), settings.trainer | {"load": path})

    def _adapt_steps(self, settings: Settings) -> None:
        """Adds the keys for this kind of estimator."""

    def _step(self, X: Any, target: _Target) -> None:
        linear = self.algorithm_ in _LINEAR and not self._fitted.stepping
        if linear or self._fitted.trainer is None:
            self._fitted = _Fitted(self._trainer_of_model(), stepping=True)
        batch = int(self._fitted.model._scorer.setting("batch") or 128)
        with open_rows(X, labels=target.y, weights=target.weight, missing=False) as source:
            self._fitted.step(source.uri, batch)

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
        """X in the form that the model takes, with the columns of fit."""
        self.model_
        if _has_labels(X):
            return X
        if self._encoded:
            return self._as_columns(X)
        _checks.check_names(self, X, getattr(self, "feature_names_in_", None))
        rows = _checks.check_rows(self, X, missing=self._takes_missing())
        wanted = getattr(self, "n_features_in_", rows.shape[1])
        if rows.shape[1] != wanted:
            who = type(self).__name__
            raise ValueError(f"X has {rows.shape[1]} features, but {who} is expecting {wanted} features as input")
        return rows

    def _as_columns(self, X: Any) -> Any:
        """X for a model of a log; an array has the columns of numbers in the order of the log."""
        rows = isinstance(X, np.ndarray) or (isinstance(X, (list, tuple)) and len(X) > 0 and np.ndim(X[0]) == 1)
        inputs = [(name, what) for name, what, _ in self.model_._scorer.columns() if what not in _NOT_INPUTS]
        if not rows or any(what not in ("number", "ignore") for _, what in inputs):
            return X
        table = _checks.check_rows(self, X, missing=True)
        if table.shape[1] != len(inputs):
            raise ValueError(
                f"X has {table.shape[1]} features, but {type(self).__name__} is expecting {len(inputs)} features as input"
            )
        return {name: table[:, i] for i, (name, _) in enumerate(inputs)}

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Writes the model directory, which furrow.load_model and the command read."""
        self.model_.save(path, overwrite=overwrite)

    @property
    def feature_importances_(self) -> Array:
        """Of trees: the share of each feature in the gain of all splits."""
        model = self.model_
        if self.model != "gbdt":
            raise AttributeError(f"{type(self).__name__}({self.model!r}): trees alone have feature importances")
        splits = model._scorer.importance()
        parts = np.zeros(getattr(self, "n_features_in_", max((split[0] + 1 for split in splits), default=0)))
        for feature, count, gain, _ in splits:
            parts[self._column_of(feature)] += gain if gain == gain else count
        return np.asarray(parts / parts.sum()) if parts.sum() > 0 else parts

    def _column_of(self, feature: int) -> int:
        """The column that a feature of the model comes from."""
        if not self._encoded:
            return feature
        field = self.model_._scorer.describe_feature(feature)[0]
        names = list(getattr(self, "feature_names_in_", []))
        for whole in (field, field.rpartition(".")[0]):  # the hour of the column t is t.hour
            if whole in names:
                return names.index(whole)
        raise AttributeError(f"feature {field!r} is not of one column: model_.importances() has all features by name")

    def _linear_part(self) -> tuple[Array, Array]:
        model = self.model_
        if self.algorithm_ not in _LINEAR:
            raise AttributeError(f"{type(self).__name__}({self.model!r}): linear models alone have coef_ and intercept_")
        count = getattr(self, "n_features_in_", model.n_features)
        if self._encoded or count is None:
            raise AttributeError(
                "a column of a log has a weight for each of its values: model_.weights has them, model_.feature_name names them"
            )
        features = np.arange(count, dtype=np.uint64)
        outputs = model._scorer.output_count()
        weights, bias = np.zeros((len(features), outputs)), np.zeros(outputs)
        model._scorer.weights(features, weights, bias)
        return np.ascontiguousarray(weights.T), bias

    # ---- Notebooks

    def _facts(self) -> Facts:
        given = [(name, value) for name, value in self.get_params().items() if value is not None and name != "model"]
        facts = [("model", self.model), ("settings", ", ".join(f"{name}={value!r:.60}" for name, value in given) or None)]
        if not self.__sklearn_is_fitted__():
            return facts + [("state", "not fitted")]
        classes = ", ".join(map(str, getattr(self, "classes_", [])[:10])) or None
        facts += [("classes", classes), ("features", getattr(self, "n_features_in_", None))]
        if self._fell_back():
            facts += [("kept", f"the linear model; the net of {len(self.history_)} epochs was discarded")]
        else:
            facts += training_facts(self.history_)
        return facts + [("note", "; ".join(self.notes_) or None)]

    def _fell_back(self) -> bool:
        """Whether the model is not the one that history_ describes."""
        return any(text.startswith(_FELL_BACK) for text in self.notes_)

    def _parts(self) -> list[str]:
        shown = self.__sklearn_is_fitted__() and not self._fell_back()
        return [training_chart(self.history_), *self.model_._parts()] if shown else []

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        """Replaces scikit-learn's diagram, which does not show the results of a fit."""
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    # ---- scikit-learn's tags

    def _more_tags(self) -> dict[str, Any]:
        tags: dict[str, Any] = {"allow_nan": self._takes_missing(), "requires_y": True}
        if self.model not in _EXACT:
            why = "rows are drawn and ordered by the seed: a model depends on the order of its rows"
            tags["_xfail_checks"] = {"check_sample_weights_invariance": why}
        return tags

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


# ---- Classes ------------------------------------------------------------------------------------------------------


def _can_step(estimator: _Estimator) -> bool:
    return estimator.model != "gbdt"


class Classifier(_ClassifierMixin, _Estimator):  # type: ignore[misc]
    """Predicts classes.

    model: lr, svm, softmax, mlr, fm, ffm, dnn, wide_and_deep, deepfm, pnn, nfm or gbdt. lr of more than two classes
    becomes softmax; gbdt, fm, dnn, wide_and_deep, deepfm, pnn and nfm have as many as there are; svm, mlr and ffm separate two.
    schema: a frame with strings or categories, and the path of a log, are read through a schema: "auto" (a frame with
    strings, a file with a header and strings, and JSON lines need not say so), a Schema, a dict or the path of one. Of a frame that comes with y, "auto" takes all
    columns as features, whatever their names are, and warns about columns that it ignores; a time is a number of days,
    too.
    epochs … threads: None is Furrow's own default for the model; factors= is another name of rank=.
    class_weight: "balanced", or a dict of classes.
    lr, softmax, linear and robust are solved exactly, in 10 * epochs iterations at most; a learning_rate makes them
    take steps instead.
    patience: stop after this many epochs or trees without improvement on the validation rows, and keep the best (unless
    keep="last"); validation_fraction: the share of the rows that is held out for that, where fit has no eval_set.
    settings: any other key (see `settings()`), such as min_child_weight=2 or solver="steps".

    After fit: classes_, n_features_in_, feature_names_in_ (of a frame), algorithm_, history_ (a dict of figures for
    each epoch), best_epoch_, notes_ (notes of the training), model_ (the furrow.Model), schema_ (what the columns of a
    frame with strings were taken for); coef_ and intercept_ of linear models, feature_importances_ of trees.

    >>> X = [[0, 1], [1, 0], [0, 2], [2, 0]] * 5
    >>> y = ["b", "a", "b", "a"] * 5
    >>> Classifier("gbdt", n_estimators=10, min_rows=1).fit(X, y).predict([[0, 1]])
    array(['b'], dtype='<U1')
    """

    _models = _CLASSIFIERS
    _kind = "Classifier"

    class_weight: Any

    def __init__(
        self,
        model: str = "lr",
        *,
        schema: Any = None,
        epochs: int | None = None,
        learning_rate: float | None = None,
        batch_size: int | None = None,
        optimizer: str | None = None,
        l1: float | None = None,
        l2: float | None = None,
        rank: int | None = None,
        hidden_layer_sizes: Any = None,
        n_estimators: int | None = None,
        max_depth: int | None = None,
        class_weight: Any = None,
        validation_fraction: float | None = None,
        patience: int | None = None,
        seed: int | None = None,
        threads: int | None = None,
        **settings: Any,
    ) -> None:
        self._keep_settings(locals())

    # ---- Training

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        eval_set: Any = None,
        label: str | None = None,
        init_model: Any = None,
        progress: Progress = None,
        callback: Callback | None = None,
    ) -> Classifier:
        """Trains a model.

        X: an array, a CSR matrix, a frame, or samples in files: their path or URI, or Rows, which have labels and
        weights themselves. y: the class of each row: numbers, strings, bools. label: the column of labels in a csv file,
        a log or a frame, where y is not given.
        init_model: a model of a log to go on from: an estimator, a Model, or the path of one. Names that it does not
        know are added, its schema counts, and X has only what is new, as in `furrow train --load`.
        eval_set: validation data, a pair (X, y) or a path. progress: True shows a bar; or a function of (phase, done,
        total). callback: a function of a dict with the figures of each epoch; False ends the training early, which is
        not an error. Ctrl-C ends it, and leaves the estimator unchanged.
        """
        if init_model is not None:
            return self._go_on(init_model, X, y, sample_weight, eval_set, label, progress, callback)
        algorithm, settings = self._check_model(), self._settings()
        if self.schema in (None, "auto"):
            X, y = _split_label(X, y, label)
        names = _checks.feature_names(X)
        X, target = self._check_target(X, y, sample_weight, None, {"label": label} if y is None else {})
        classes, encode = None, None
        if target.y is not None and not self._has_own_label():
            classes, codes = _checks.labels(target.y)
            values = self._number_classes(classes, settings, self._needs_schema(X))
            encode = lambda valid: values[_checks.codes_of(valid, classes, "eval_set")]  # noqa: E731
            target = target._replace(y=values[codes])
            algorithm = self._adapt(algorithm, classes, settings)
        else:
            self._weigh_classes(None, settings)
        samples = self._open(X, target, settings, names, progress)
        try:
            if eval_set is not None:
                self._open_valid(eval_set, samples, encode)
            fitted = self._train(algorithm, settings, samples, progress, callback)
        finally:
            samples.close()
        found, values = self._find_classes(fitted.model, classes)
        self._keep(algorithm, fitted, samples)
        self.classes_, self._label_values = found, values
        return self

    def _keep_model(self, model: Model, algorithm: str) -> None:
        super()._keep_model(model, algorithm)
        self._keep_classes(model)

    def _keep_classes(self, model: Model) -> None:
        self.classes_, self._label_values = self._find_classes(model, None)

    def _adapt_further(self, model: Model, settings: Settings) -> None:
        classes, values = self._find_classes(model, None)
        self._weigh_classes(classes[np.argsort(values)], settings)

    def _adapt(self, algorithm: str, classes: Array, settings: Settings) -> str:
        """The algorithm for the number of classes, and its keys."""
        count = len(classes)
        if count < 2:
            raise ValueError(f"{type(self).__name__} needs rows of two classes; y has one class alone: {classes[0]!r}")
        self._weigh_classes(classes, settings)
        if count == 2:
            return algorithm
        if algorithm not in _MANY_CLASSES:
            raise ValueError(
                f"Only binary classification is supported. The type of the target is multiclass: y has {count} classes, "
                f"but {algorithm} separates two. lr, softmax, gbdt, fm and dnn separate more, or use "
                "sklearn.multiclass.OneVsRestClassifier"
            )
        settings.keys["classes"] = str(count)
        if algorithm == "gbdt":
            settings.keys.setdefault("objective", "multi:softmax")
        if algorithm in _NETS_OF_CLASSES:
            settings.keys.setdefault("loss", "SoftmaxLoss")
        return _MANY_CLASSES[algorithm]

    def _number_classes(self, classes: Array, settings: Settings, log: bool) -> Array:
        """The label of the model for each class: a number that the model can keep is the label itself; other classes
        get 0, 1 …, and the model keeps their names. A log always has 0, 1 …, because it may read numbers as names."""
        values: Array = np.arange(len(classes))
        if not log and "label" not in settings.keys and _checks.are_exact(classes):
            values = classes.astype(np.float64)
        else:
            settings.keys["class-names"] = json.dumps([_checks.class_name(label) for label in classes])
        if len(classes) > 2 or (values != np.arange(len(classes))).any():
            settings.keys["labels"] = as_text(values, "y")
        return values

    def _weigh_classes(self, classes: Array | None, settings: Settings) -> None:
        weight = self.class_weight
        if weight is None:
            return
        if isinstance(weight, dict):
            if classes is None:
                raise ValueError("class_weight: of samples in files, 'balanced' or a list in the order of the classes")
            unknown = [label for label in weight if label not in list(classes)]
            if unknown:
                raise ValueError(f"class_weight: {unknown[0]!r} is not one of the classes {list(classes)[:20]}")
            weight = [float(weight.get(label, 1)) for label in classes.tolist()]
        settings.keys["class-weights"] = as_text(weight, "class_weight")

    def _find_classes(self, model: Model, classes: Array | None) -> tuple[Array, Array]:
        """The classes, ascending, and the label that the model has for each."""
        known, values = model.classes, model._labels
        if known is None:
            raise ValueError(
                f"{type(self).__name__}({self.model!r}): the labels are numbers, or none: this model cannot predict "
                "classes from them; see Regressor and Ranker"
            )
        if classes is not None:
            return classes, values[np.argsort(model._codes)]
        if known.dtype.kind == "f" and (known == np.floor(known)).all():
            known = known.astype(np.int64)
        elif known.dtype == object and all(isinstance(name, str) for name in known):
            known = known.astype(str)
        order = np.argsort(known)
        return known[order], values[order]

    @_only_for(_can_step, "trees cannot be trained step by step: fit them on all rows")
    def partial_fit(self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None) -> Classifier:
        """Updates the model once from each batch of rows; it begins with a model of zeros, or continues from the model
        of fit.

        classes: all classes, for the first call. A linear model of fit continues with SGD unless `optimizer` is set.
        fit scales features, partial_fit does not: scale them to similar sizes first. Not for gbdt. A model of a log goes
        on as fit does with init_model.
        """
        if self._learns_log():
            if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
                raise ValueError(f"classes are {list(classes)}, but the model has {list(self.classes_)}")
            return self.fit(X, y, sample_weight, init_model=self)
        X, target, names = self._check_batch(X, y, sample_weight)
        if not self.__sklearn_is_fitted__():
            if classes is None:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            known, _ = _checks.labels(_checks.column(classes, None, "classes"))
            self._begin(X, names, known)
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes are {list(classes)}, but the first call had {list(self.classes_)}")
        assert target.y is not None
        codes = _checks.codes_of(target.y, self.classes_, "y")
        self._step(X, target._replace(y=self._label_values[codes]))
        return self

    def _begin(self, X: Any, names: Array | None, classes: Array) -> None:
        settings = self._step_settings()
        values = self._number_classes(classes, settings, False)
        settings.keys["labels"] = as_text(values, "classes")
        algorithm = self._adapt(self._check_model(), classes, settings)
        self._begin_steps(X, names, algorithm, settings)
        self._label_values = values
        self.classes_ = classes

    # ---- Use

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of the rows whose class is predicted."""
        weights = None if sample_weight is None else _checks.numeric_column(sample_weight, None, "sample_weight")
        return float(super().score(X, _checks.column(y, None), weights))

    def _codes(self, labels: Array) -> npt.NDArray[np.int64]:
        order = np.argsort(self._label_values)
        found: npt.NDArray[np.int64] = order[np.searchsorted(self._label_values, labels, sorter=order)]
        return found

    def predict(self, X: Any) -> Array:
        """The class of each row."""
        labels = self._scores(X)[2]
        return np.asarray(self.classes_[self._codes(labels)])

    def predict_proba(self, X: Any) -> Array:
        """The probability of each class, rows x classes, in the order of classes_."""
        proba = self.model_.predict_proba(self._to_score(X))
        return np.ascontiguousarray(self._by_class(proba.T).T)

    def predict_log_proba(self, X: Any) -> Array:
        """The logarithm of predict_proba."""
        with np.errstate(divide="ignore"):
            logs: Array = np.log(self.predict_proba(X))
        return logs

    def decision_function(self, X: Any) -> Array:
        """The model's output before it becomes a probability: above 0 for the second of two classes; of more classes
        rows x classes."""
        if self.model_._scorer.output_count() > 1:
            outputs = self._by_class(self.model_.decision_function(self._to_score(X)).T).T
            return np.asarray(outputs if outputs.shape[1] > 2 else outputs[:, 1] - outputs[:, 0])
        pred, proba, _ = self._scores(X)
        if self.algorithm_ == "mlr":  # its output is a probability
            with np.errstate(divide="ignore"):
                pred = np.log(proba) - np.log1p(-proba)
        return np.asarray(self._by_class(pred[None])[0])

    @property
    def coef_(self) -> Array:
        """Of linear models: the weight of each feature, 1 x features; of softmax classes x features."""
        return self._by_class(self._linear_part()[0])

    @property
    def intercept_(self) -> Array:
        """Of linear models: the bias; of softmax the bias of each class."""
        return self._by_class(self._linear_part()[1])

    def _by_class(self, outputs: Array) -> Array:
        """Outputs of the model, a row for each class, in the order of classes_; with two classes there is one row, for
        the second class."""
        if len(outputs) == 1:
            return outputs if self._label_values[0] < self._label_values[1] else -outputs
        ordered: Array = outputs[np.argsort(self._codes(self.model_._labels))]
        return ordered

    def _more_tags(self) -> dict[str, Any]:
        return super()._more_tags() | {"binary_only": self.model not in _MANY_CLASSES}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.model in _MANY_CLASSES
        return tags


# ---- Numbers ------------------------------------------------------------------------------------------------------


class Regressor(_RegressorMixin, _Estimator):  # type: ignore[misc]
    """Predicts numbers.

    model: linear (least squares), robust (Huber), fm, ffm, dnn, wide_and_deep, deepfm, pnn, nfm or gbdt. The other
    parameters and the attributes after fit are the same as of Classifier, without classes.

    linear, fm and nets take loss="poisson" (counts: predict gives their means).
    gbdt takes objective="absolute_error" (medians), "quantile" with quantile=0.9, and "poisson" (counts: predict gives
    their means), and monotone={"price": -1, "size": 1} or a list with 1, 0 or -1 of each column: predictions never fall
    (1) or rise (-1) as the column rises.

    >>> import numpy as np
    >>> X = np.arange(20.0).reshape(-1, 1)
    >>> Regressor("linear", l2=0).fit(X, 3 * X[:, 0] + 1).predict([[100]]).round(2)
    array([301.])
    """

    _models = _REGRESSORS
    _kind = "Regressor"

    def __init__(
        self,
        model: str = "linear",
        *,
        schema: Any = None,
        epochs: int | None = None,
        learning_rate: float | None = None,
        batch_size: int | None = None,
        optimizer: str | None = None,
        l1: float | None = None,
        l2: float | None = None,
        rank: int | None = None,
        hidden_layer_sizes: Any = None,
        n_estimators: int | None = None,
        max_depth: int | None = None,
        validation_fraction: float | None = None,
        patience: int | None = None,
        seed: int | None = None,
        threads: int | None = None,
        **settings: Any,
    ) -> None:
        self._keep_settings(locals())

    def _check_y(self, y: Array) -> Array:
        numbers = _checks.numeric_column(y, None)
        if _checks.collapses(numbers):
            raise ValueError(
                "y: different values become the same, as float32 keeps 7 digits: subtract the mean, or scale; "
                "sklearn.compose.TransformedTargetRegressor does that and undoes it in predict"
            )
        return numbers

    def _adapt_steps(self, settings: Settings) -> None:
        self._adapt(self.algorithm_, settings)

    def _adapt(self, algorithm: str, settings: Settings) -> None:
        """Sets the loss for numbers, unless the caller names one."""
        if algorithm == "gbdt":
            settings.keys.setdefault("objective", "reg:squarederror")
        elif algorithm not in ("linear", "robust"):
            settings.keys.setdefault("loss", "L2Loss")

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        eval_set: Any = None,
        label: str | None = None,
        init_model: Any = None,
        progress: Progress = None,
        callback: Callback | None = None,
    ) -> Regressor:
        """Trains a model; the arguments are the same as of Classifier.fit, and y are numbers."""
        if init_model is not None:
            return self._go_on(init_model, X, y, sample_weight, eval_set, label, progress, callback)
        algorithm, settings = self._check_model(), self._settings()
        if self.schema in (None, "auto"):
            X, y = _split_label(X, y, label)
        names = _checks.feature_names(X)
        X, target = self._check_target(X, y, sample_weight, None, {"label": label} if y is None else {})
        self._adapt(algorithm, settings)
        samples = self._open(X, target, settings, names, progress)
        try:
            if eval_set is not None:
                self._open_valid(eval_set, samples, None)
            fitted = self._train(algorithm, settings, samples, progress, callback)
        finally:
            samples.close()
        if fitted.model.n_classes > 0:
            raise ValueError(f"the model separates classes: its loss is not one of {type(self).__name__}")
        self._keep(algorithm, fitted, samples)
        return self

    @_only_for(_can_step, "trees cannot be trained step by step: fit them on all rows")
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Regressor:
        """Updates the model once from each batch of rows; it begins with a model of zeros, or continues from the model
        of fit.

        A linear model of fit continues with SGD unless `optimizer` is set. fit scales features and labels, partial_fit
        does not: scale them to similar sizes first. Not for gbdt. A model of a log goes on as fit does with init_model.
        """
        if self._learns_log():
            return self.fit(X, y, sample_weight, init_model=self)
        X, target, names = self._check_batch(X, y, sample_weight)
        if not self.__sklearn_is_fitted__():
            algorithm, settings = self._check_model(), self._step_settings()
            self._adapt(algorithm, settings)
            self._begin_steps(X, names, algorithm, settings)
        self._step(X, target)
        return self

    @property
    def coef_(self) -> Array:
        """Of linear models: the weight of each feature."""
        return np.asarray(self._linear_part()[0][0])

    @property
    def intercept_(self) -> float:
        """Of linear models: the bias."""
        return float(self._linear_part()[1][0])

    def predict(self, X: Any) -> Array:
        """The number of each row."""
        return self._scores(X)[0]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The coefficient of determination R²: 1 at best, 0 for the mean."""
        weights = None if sample_weight is None else _checks.numeric_column(sample_weight, None, "sample_weight")
        return float(super().score(X, _checks.column(y, None), weights))


# ---- Order --------------------------------------------------------------------------------------------------------


def ndcg(y: Any, scores: Any, qid: Any = None, *, k: int | None = 10) -> float:
    """The mean over the groups of the normalised discounted gain of the first k rows by score (None: of all).

    y: how relevant each row is, 0 or more; its gain is 2^y - 1. Rows of the same score share their gains. Groups
    without a relevant row do not count; if none has one, the result is NaN.

    >>> ndcg([0, 1, 0, 1], [0.1, 0.9, 0.5, 0.2], qid=[0, 0, 1, 1])
    0.8154648767857288
    """
    relevance = _checks.numeric_column(_checks.column(y, None), None)
    values = _checks.numeric_column(_checks.column(scores, len(relevance), "scores"), len(relevance), "scores")
    groups = np.zeros(len(relevance), dtype=np.uint64) if qid is None else _checks.groups(qid, len(relevance))
    order = np.argsort(groups, kind="stable")
    ends = np.flatnonzero(np.diff(groups[order])) + 1
    found = [_ndcg_of_group(relevance[rows], values[rows], k) for rows in np.split(order, ends)]
    counted = [value for value in found if value == value]
    return float(np.mean(counted)) if counted else float("nan")


def _ndcg_of_group(y: Array, scores: Array, k: int | None) -> float:
    discount = 1 / np.log2(np.arange(2, len(y) + 2))
    if k is not None:
        discount[k:] = 0
    gain = 2.0**y - 1
    best = float(np.sort(gain)[::-1] @ discount)
    if best <= 0:
        return float("nan")
    _, ties, counts = np.unique(-scores, return_inverse=True, return_counts=True)
    mean_gain = np.bincount(ties, gain) / counts
    ends = np.cumsum(counts)
    shares = np.array([discount[end - n : end].sum() for end, n in zip(ends, counts)])
    return float(mean_gain @ shares) / best


class Ranker(_Estimator):
    """Predicts scores that order the rows of a group: items for a user, documents for a query.

    model: gbdt, for rows with a group (qid) and a relevance (y); fm, for logs with a user and an item, in which all
    rows are items that the user took (loss="sampled-softmax", "bpr" or "warp"), or rows from label positive_from on.
    The other parameters and the attributes after fit are the same as of Classifier, without classes.
    """

    _models = ["fm", "gbdt"]
    _kind = "Ranker"

    def __init__(
        self,
        model: str = "gbdt",
        *,
        schema: Any = None,
        epochs: int | None = None,
        learning_rate: float | None = None,
        batch_size: int | None = None,
        l2: float | None = None,
        rank: int | None = None,
        loss: str | None = None,
        n_estimators: int | None = None,
        max_depth: int | None = None,
        validation_fraction: float | None = None,
        patience: int | None = None,
        seed: int | None = None,
        threads: int | None = None,
        **settings: Any,
    ) -> None:
        self._keep_settings(locals())

    def _needs_y(self) -> bool:
        return self.model == "gbdt"

    def _check_y(self, y: Array) -> Array:
        return _checks.numeric_column(y, None)

    def _adapt(self, algorithm: str, settings: Settings) -> None:
        if algorithm == "gbdt":
            settings.keys.setdefault("objective", "rank:ndcg")
        else:
            settings.keys.setdefault("loss", "SampledSoftmaxLoss")

    def _needs_schema(self, X: Any) -> bool:
        return super()._needs_schema(X) or (self.model == "fm" and is_frame(X))

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        qid: Any = None,
        group: Any = None,
        user: str | None = None,
        item: str | None = None,
        time: str | None = None,
        label: str | None = None,
        history: int = 0,
        eval_set: Any = None,
        init_model: Any = None,
        progress: Progress = None,
        callback: Callback | None = None,
    ) -> Ranker:
        """Trains a model.

        gbdt: X, the relevance y of each row (0, 1, 2 …), and its group qid; files have them in themselves. group, in
        place of qid: the number of rows of each group, in the order of the rows.
        fm: X is a log, a frame or a path (with schema="auto"); user, item, time, label: its columns, where their names
        do not tell; history: the number of a user's last items that become features.
        eval_set: a triple (X, y, qid), or a path; with init_model a path. The other arguments are the same as of Classifier.fit.
        """
        if init_model is not None:
            named = {"qid": qid, "group": group, "user": user, "item": item, "time": time, "history": history or None}
            for name, value in named.items():
                if value is not None:
                    raise ValueError(f"{name}: the schema of init_model has it")
            return self._go_on(init_model, X, y, sample_weight, eval_set, label, progress, callback)
        algorithm, settings = self._check_model(), self._settings()
        roles = {"user": user, "item": item, "time": time, "label": label, "history": history}
        names = _checks.feature_names(X)
        if algorithm == "fm" and not (_has_labels(X) or self._needs_schema(X) or "item-fields" in settings.keys):
            raise ValueError(
                "Ranker('fm') ranks the items of users in a log: X is a frame with their columns, or the path of a log "
                "with schema='auto'. Ranker('gbdt') ranks the rows of groups (qid)"
            )
        if group is not None:
            qid = _checks.groups_of_sizes(group, qid)
        X, target = self._check_target(X, y, sample_weight, qid, roles)
        if algorithm == "gbdt" and target.y is not None and target.qid is None:
            raise ValueError("qid: gbdt ranks the rows of a group, and needs the group of each row")
        self._adapt(algorithm, settings)
        samples = self._open(X, target, settings, names, progress)
        try:
            if eval_set is not None:
                self._open_groups(eval_set, samples)
            fitted = self._train(algorithm, settings, samples, progress, callback)
        finally:
            samples.close()
        self._keep(algorithm, fitted, samples)
        return self

    def _open_groups(self, eval_set: Any, samples: _Samples) -> None:
        """Validation data with groups."""
        if _has_labels(eval_set):
            samples.valid = open_rows(self._check_X(eval_set)[0])
            return
        if not isinstance(eval_set, tuple) or len(eval_set) != 3 or samples.folder:
            raise ValueError("eval_set: a triple (X, y, qid) of rows, or the path of samples is needed")
        X, target = self._check_target(eval_set[0], eval_set[1], None, eval_set[2], {})
        self._check_valid(eval_set[0], X, samples)
        samples.valid = open_rows(X, labels=target.y, qids=target.qid, missing=self._takes_missing())

    def predict(self, X: Any) -> Array:
        """The score of each row: in a group, higher comes first."""
        return self._scores(X)[0]

    def score(self, X: Any, y: Any, qid: Any = None, *, k: int | None = 10) -> float:
        """The NDCG of the first k rows of each group."""
        return ndcg(y, self.predict(X), qid, k=k)
