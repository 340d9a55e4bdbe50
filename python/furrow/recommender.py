"""Items for users, by name: a model is trained from a log of events, and answers with names.

>>> import pandas
>>> likes = {"ann": "tea milk cocoa", "bob": "tea milk", "cid": "nut fig", "dora": "nut fig date", "eve": "tea cocoa"}
>>> log = pandas.DataFrame([(user, item) for user in likes for item in likes[user].split()], columns=["user", "item"])
>>> recommender = Recommender().fit(log)
>>> recommender.n_users, recommender.n_items
(5, 6)
>>> recommender.recommend("bob", k=1)["item"].tolist()
['cocoa']

Recommender() compares ways to recommend on each user's last events and takes the best one; `figures_` says which, and
how much better it is than the most popular items. Recommender("fm") and others train a model that scores events.

A file works as well: Recommender().fit("ratings.csv"). The model directory that :meth:`Recommender.save` writes is that
of the command: `furrow recommend --model DIR` reads it, and :meth:`Recommender.load` reads what `furrow train --model
recommender` or `furrow train --schema auto` wrote.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import shutil
import tempfile
import threading
import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Callable, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from furrow import _core
from furrow._arrays import refuse_masks
from furrow._data import Source, folder_path, has_pandas, is_event, is_frame, is_path, memory_path, open_table
from furrow._html import Card, Facts, training_chart, training_facts
from furrow._progress import Progress, as_callback
from furrow._settings import Settings, collect
from furrow.model import Model, load_model
from furrow.schema import Encoder, OnBad, Schema, SchemaLike, Tables, as_cell, as_pairs, skips_bad

if TYPE_CHECKING:
    from furrow.index import Index

Unknown = Literal["error", "skip"]
Numbers = npt.NDArray[np.uint64]
_Self = TypeVar("_Self", bound="Recommender")

_NO_ITEM = np.uint64(2**64 - 1)
_RESULT = np.dtype([("item", np.uint64), ("score", np.float64)])
_METHODS = ("auto", "exact", "vectors", "index")
_OF_LOG = "recommender"  # the model that is chosen for a log


# ---- The files of a model ------------------------------------------------------------------------------------


class ModelFolder:
    """The files of a model as a folder in memory, which lives as long as this object."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = dict(files)  #: by their path in the folder
        self.path = memory_path()
        self._added: list[str] = []
        for name, data in self.files.items():
            _core.add_file(f"{self.path}/{name}", data)
            self._added.append(name)

    @classmethod
    def read(cls, folder: str) -> ModelFolder:
        """Reads all files of a folder."""
        if not _is_model(folder):
            raise FileNotFoundError(f"{folder}: not a model directory, which has a graph.json or a furrow.json")
        files = {}
        for parent, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(parent, name)
                with open(path, "rb") as file:
                    files[os.path.relpath(path, folder)] = file.read()
        return cls(files)

    def write(self, folder: str, overwrite: bool) -> None:
        """Writes the files to a folder, which appears complete or not at all."""
        folder = os.path.abspath(folder)
        _check_free(folder, overwrite)
        staged = tempfile.mkdtemp(prefix=os.path.basename(folder) + ".", dir=os.path.dirname(folder))
        try:
            for name, data in self.files.items():
                os.makedirs(os.path.dirname(os.path.join(staged, name)), exist_ok=True)
                with open(os.path.join(staged, name), "xb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
            os.chmod(staged, 0o777 & ~_umask())
            if os.path.exists(folder):
                os.rename(folder, staged + ".old")
            os.rename(staged, folder)
        finally:
            shutil.rmtree(staged, ignore_errors=True)
            shutil.rmtree(staged + ".old", ignore_errors=True)

    def close(self) -> None:
        while self._added:
            _core.remove_file(f"{self.path}/{self._added.pop()}")

    def __del__(self) -> None:
        if hasattr(self, "_added"):
            self.close()


def _is_model(folder: str) -> bool:
    """Whether a folder has a model: a recommender has no graph."""
    return any(os.path.isfile(os.path.join(folder, name)) for name in ("graph.json", "furrow.json"))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _check_free(folder: str, overwrite: bool) -> None:
    if not os.path.lexists(folder):
        return
    if not overwrite:
        raise FileExistsError(f"{folder}: already exists; overwrite=True replaces a model")
    if not os.path.isdir(folder) or (os.listdir(folder) and not _is_model(folder)):
        raise FileExistsError(f"{folder}: not a model directory, so it is not replaced")


# ---- Names and answers ---------------------------------------------------------------------------------------


def _as_names(given: Any, what: str) -> list[bytes]:
    """Names as the log has them; a number means its digits."""
    if isinstance(given, (str, bytes, int, float, np.generic)):
        given = [given]
    if is_frame(given) or isinstance(given, Mapping) or not isinstance(given, Iterable):
        raise TypeError(f"{what}: names are needed, not {type(given).__name__}")
    names = [as_cell(name) for name in given]
    if None in names:
        raise ValueError(f"{what}: a name is missing (None or NaN)")
    return names  # type: ignore[return-value]


def _one_name(given: Any, what: str) -> list[bytes]:
    names = _as_names(given, what)
    if len(names) != 1:
        raise ValueError(f"{what}: one {what} is needed, not {len(names)}")
    return names


class Events:
    """Events of a log as a recommender knows them: read once, used in any number of calls."""

    def __init__(self, core: _core.Events, owner: _core.Recommender) -> None:
        self._core = core
        self._owner = owner

    @property
    def info(self) -> dict[str, int]:
        """rows, below, unknown_users, unknown_items, users, bad: what was read, and left out."""
        return self._core.info()

    def __repr__(self) -> str:
        info = self.info
        return f"<furrow.Events: {info['rows']} events of {info['users']} users>"


# ---- A model that is open ------------------------------------------------------------------------------------


class _Opened:
    """An open model. A later fit opens another one, so that running calls keep using theirs."""

    def __init__(self, folder: ModelFolder, threads: int, dtypes: Mapping[bool, str]) -> None:
        self.folder = folder
        self.dtypes = dict(dtypes)  # of the names of users (False) and items (True), if they were integers
        self.core = _core.Recommender.open(folder.path, {"threads": threads})
        self.n_users, self.n_items = self.core.counts()
        self.threads = threads
        self.told_context = False
        self._made: dict[str, Any] = {}
        self._lock = threading.Lock()

    def _once(self, key: str, make: Callable[[], Any]) -> Any:
        with self._lock:
            if key not in self._made:
                self._made[key] = make()
            return self._made[key]

    def names(self, items: bool) -> npt.NDArray[Any]:
        """The names of all items or users, by their numbers."""
        made: npt.NDArray[Any] = self._once(f"names {items}", lambda: self.typed(self.core.names(items), items))
        return made

    def typed(self, names: list[str], items: bool) -> npt.NDArray[Any]:
        """Names as the log had them: integers, or texts."""
        with contextlib.suppress(ValueError, OverflowError):
            if items in self.dtypes:
                return np.array([int(name) for name in names], dtype=self.dtypes[items])
        return _as_objects(names)

    def model(self) -> Model:
        made: Model = self._once("model", self._load_model)
        return made

    def _load_model(self) -> Model:
        if self.figures()["of_log"]:
            raise _core.UnsupportedError(
                "a model of Recommender() ranks items for users and does not score events; Recommender('fm') does"
            )
        model = load_model(self.folder.path)
        setattr(model, "_keep", self.folder)  # its files are read for each log
        return model

    def encoder(self) -> Encoder:
        made: Encoder = self._once("encoder", lambda: Encoder.load(self.folder.path))
        return made

    def find(self, names: Any, items: bool, unknown: Unknown) -> Numbers:
        """The numbers of names; None: all."""
        if names is None:
            return np.arange(self.n_items if items else self.n_users, dtype=np.uint64)
        try:
            numbers = self.find_each(_as_names(names, "items" if items else "users"), items, unknown)
        except _core.NotFoundError as error:
            raise _with_hint(error) from None
        return np.ascontiguousarray(numbers[numbers != _NO_ITEM])

    def find_each(self, names: list[bytes], items: bool, unknown: Unknown) -> Numbers:
        """The number of each name; _NO_ITEM where the model does not know it and that is not an error."""
        if unknown not in ("error", "skip"):
            raise ValueError(f"unknown is 'error' or 'skip', not {unknown!r}")
        numbers: Numbers = np.empty(len(names), dtype=np.uint64)
        self.core.find(items, names, numbers, unknown == "skip")
        return numbers

    def allowed(self, allowed: Any, unknown: Unknown) -> npt.NDArray[np.uint8] | None:
        """A byte for each item; None: all items."""
        if allowed is None:
            return None
        if getattr(allowed, "dtype", None) == np.bool_:
            refuse_masks(allowed, "allowed")
            mask = np.asarray(allowed).astype(np.uint8)
            if mask.shape != (self.n_items,):
                raise ValueError(f"allowed has the shape {mask.shape}, but there are {self.n_items} items")
        else:
            mask = np.zeros(self.n_items, dtype=np.uint8)
            mask[self.find(allowed, True, unknown)] = 1
        if not mask.any():
            raise ValueError("allowed: the model knows none of these items")
        return mask

    def events(self, log: Any, start: float | None, on_bad: OnBad, progress: Progress) -> Events:
        if isinstance(log, Events):
            if log._owner is not self.core:
                raise ValueError("the events were read by another recommender, or before the last fit")
            return log
        options: dict[str, Any] = {"threads": self.threads, "on_bad": skips_bad(on_bad)}
        if start is not None:
            options["from"] = start
        with open_table(log) as source:
            return Events(self.core.events(source.uri, options, as_callback(progress)), self.core)

    def truth(self, log: Any, start: float | None, on_bad: OnBad) -> tuple[Events, float | None]:
        """The events that count, and from which label; None: all."""
        positive = self.core.info()["positive"]
        if start is None and positive == positive:
            try:
                return self.events(log, positive, on_bad, None), positive
            except _core.FormatError:
                pass  # the log has no labels
        return self.events(log, start, on_bad, None), start

    def seen(self, log: Any) -> _core.Events | None:
        """What is excluded."""
        if log is None:
            return None
        events = self.events(log, None, "error", None)
        info = events.info
        if info["unknown_users"] and info["unknown_users"] == info["rows"]:
            warnings.warn("exclude: the model knows none of the users of this log", stacklevel=3)
        return events._core

    def context(self, context: Mapping[str, Any] | None) -> tuple[tuple[bytes, bytes | None], ...]:
        """The cells of a context. Warns about columns that it lacks (once, if there is no context) and about unknown
        values."""
        given = context or {}
        pairs = as_pairs(given)
        if self.core.info()["context_fields"] == 0 or (not given and self.told_context):
            return pairs
        encoder = self.encoder()
        fields = {field.name: field for field in encoder.fields if field.side == "context"}
        if not given:
            self.told_context = True
            names = ", ".join(fields)
            text = f"fields that are neither the user's nor the item's are left out (context= gives them): {names}"
            warnings.warn(text, stacklevel=3)
        for name, value in given.items():
            if name in fields and fields[name].entries and as_cell(value) and not encoder.knows(name, value):
                warnings.warn(f"context: the model does not know the value {value!r} of {name}", stacklevel=3)
        return pairs

    def options(self, candidates: int) -> dict[str, Any]:
        return {"candidates": candidates, "threads": self.threads}

    def figures(self) -> dict[str, Any]:
        """What was measured when the model was trained."""
        figures, candidates = self.core.figures()
        names = ("ndcg", "gain", "gain_error")
        figures["candidates"] = {name: dict(zip(names, numbers)) for name, *numbers, _ in candidates}
        figures["chosen"] = next((name for name, *_, chosen in candidates if chosen), None)
        return figures

    def results(self, rows: int, k: int) -> npt.NDArray[Any]:
        return np.empty((rows, min(_as_k(k), self.n_items)), dtype=_RESULT)

    def answer(
        self, of: str, names: npt.NDArray[Any], results: npt.NDArray[Any], with_scores: bool, as_frame: bool | None
    ) -> Any:
        """Results as a frame or as arrays."""
        if as_frame or (as_frame is None and has_pandas()):
            return self._frame(of, names, results, with_scores)
        there = results["item"] != _NO_ITEM
        items = np.full(results.shape, None, dtype=object)
        items[there] = self.names(True)[results["item"][there]]
        return (items, np.ascontiguousarray(results["score"])) if with_scores else items

    def _frame(self, of: str, names: npt.NDArray[Any], results: npt.NDArray[Any], with_scores: bool) -> Any:
        import pandas

        row, column = np.nonzero(results["item"] != _NO_ITEM)
        found = results[row, column]
        columns = {of: names[row], "rank": column + 1, "item": self.names(True)[found["item"]]}
        if with_scores:
            columns["score"] = np.ascontiguousarray(found["score"])
        return pandas.DataFrame(columns)

    def vectors(self, items: bool) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float64]]:
        size = self.core.info()["vector_size"]
        if size == 0:
            raise _core.UnsupportedError("the model has no vectors of users and items: fm and deepfm have them")
        out = np.empty((self.n_items if items else self.n_users, size), dtype=np.float32)
        rest = np.zeros(len(out))
        self.core.vectors(items, out, rest)
        return out, rest


# ---- Recommender ---------------------------------------------------------------------------------------------


class Recommender(Card):
    """Recommends items to users: `fit` trains a model from a log, `load` reads one.

    model: "recommender" compares popular items, own histories and weights between items (with recency, ratings and
    features) on each user's last events, and takes the best; fm, deepfm, lr … are as `furrow train --model` has them,
    score events, and order items by their scores. user, item, label, time, weight: columns of the log,
    where their names do not tell what they are. tables: tables that are joined, {column of the log: path or frame}.
    schema: what the columns are, in place of all these. user_history: the number of a user's last items that become
    features (fm and others). Further settings of fm and others are the same as for `furrow train`, with underscores for
    dashes: factors=16, epochs=10, loss="bpr".

    Names of a file are texts: its user 17 is "17", though 17 is accepted wherever a user is named. If the log is a frame
    whose column of users or of items has integers, so do results, until the model is saved and loaded.

    After fit: `schema_` says what the columns were taken for, `notes_` what the training found, `figures_` what was
    compared and chosen, `history_` the epochs of fm and others.
    """

    history_: list[dict[str, Any]]
    figures_: dict[str, Any]

    def __init__(
        self,
        model: str = _OF_LOG,
        *,
        user: str | None = None,
        item: str | None = None,
        label: str | None = None,
        time: str | None = None,
        weight: str | None = None,
        tables: Tables | None = None,
        schema: SchemaLike = "auto",
        user_history: int = 0,
        seed: int | None = None,
        threads: int | None = None,
        **settings: Any,
    ) -> None:
        self.model = model
        self.user = user
        self.item = item
        self.label = label
        self.time = time
        self.weight = weight
        self.tables = tables
        self.schema = schema
        self.user_history = user_history
        self.seed = seed
        self.threads = threads
        self.settings = settings

    # ---- Parameters, as scikit-learn's clone takes them

    @classmethod
    def _named(cls) -> list[str]:
        kinds = inspect.signature(cls.__init__).parameters.values()
        return [p.name for p in kinds if p.kind is not p.VAR_KEYWORD and p.name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """All parameters and settings by name."""
        return {name: getattr(self, name) for name in self._named()} | self.settings

    def set_params(self: _Self, **params: Any) -> _Self:
        """Sets parameters, which count at the next fit."""
        named = self._named()
        for name, value in params.items():
            if name in named:
                setattr(self, name, value)
            else:
                self.settings[name] = value
        return self

    def _collect(self) -> Settings:
        return collect({"seed": self.seed, "threads": self.threads} | self.settings)

    # ---- Training

    def fit(
        self: _Self,
        log: Any,
        *,
        valid: Any = None,
        on_bad: OnBad = "error",
        progress: Progress = None,
        callback: Callable[[dict[str, Any]], Any] | None = None,
    ) -> _Self:
        """Trains a model from a log, as `furrow train --model recommender` or `--schema auto` does.

        log: a path, a frame, an Arrow table. valid: a log for validation; else the settings decide which events of
        `log` are. callback: called with the figures of each epoch; False ends the training well. Both are for fm and
        other models that are trained in epochs.
        """
        if self.model == _OF_LOG:
            self._check_plain(valid, callback)
            return self._fit_log(log, on_bad, progress)
        settings = self._collect()
        threads = settings.trainer.get("threads", 0)
        with open_table(log) as source, contextlib.ExitStack() as stack:
            uri = None if valid is None else stack.enter_context(open_table(valid)).uri
            encoder = self._build_encoder(source, on_bad, threads, progress)
            _check_roles(encoder.schema, self.label)
            with encoder.open_folder() as folder:
                keys = settings.keys | {"encoder": folder.path, "format": "table"}
                trainer = _core.Trainer.create(self.model, tuple(keys.items()), settings.trainer)
                parser = {"threads": threads, "on_bad": skips_bad(on_bad)}
                told = None if callback is None else lambda epoch: callback(_flat(epoch))
                trainer.fit(source.uri, uri, settings.fit, parser, told, as_callback(progress))
                files = _saved(trainer, source.uri, threads)
            dtypes = _integer_dtypes(log, encoder.schema)
        self._take(files, threads, dtypes)
        self.history_ = [_flat(epoch) for epoch in trainer.history()]
        self._warn(trainer)
        _warn_of_ranking(self.figures_, 3)
        return self

    def _check_plain(self, valid: Any, callback: Any) -> None:
        """Refuses what the recommender of a log does not have."""
        given = [name for name, value in self.settings.items() if value is not None and name != "n_jobs"]
        given += ["user_history"] if self.user_history else []
        if given:
            raise ValueError(
                f"{', '.join(given)}: settings of a model that is trained in epochs: Recommender('fm', {given[0]}=…); "
                "Recommender() chooses its settings itself, also how much recent events count"
            )
        if valid is not None or callback is not None:
            name = "valid" if valid is not None else "callback"
            raise ValueError(f"{name}: Recommender() holds out each user's last events and has no epochs; 'fm' takes it")

    def _fit_log(self: _Self, log: Any, on_bad: OnBad, progress: Progress) -> _Self:
        """Chooses a recommender for the log."""
        threads = self._collect().trainer.get("threads", 0)
        with open_table(log) as source, tempfile.TemporaryDirectory() as folder:
            encoder = self._build_encoder(source, on_bad, threads, progress, table_items=True)
            _check_roles(encoder.schema, self.label)
            path = os.path.join(folder, "model")
            with encoder.open_folder() as encoded:
                options = {"threads": threads, "on_bad": skips_bad(on_bad)}
                _core.Recommender.fit(source.uri, encoded.path, path, options, as_callback(progress))
            files = ModelFolder.read(path)
            dtypes = _integer_dtypes(log, encoder.schema)
        self._take(files, threads, dtypes)
        if self.figures_["users"] == 0:
            warnings.warn("no user has two events, so nothing was compared: popular items are recommended", stacklevel=3)
        return self

    def _build_encoder(
        self, source: Source, on_bad: OnBad, threads: int, progress: Progress, table_items: bool = False
    ) -> Encoder:
        return Encoder.build(
            source,
            self.schema,
            user=self.user,
            item=self.item,
            label=self.label,
            time=self.time,
            weight=self.weight,
            tables=self.tables,
            history=self.user_history,
            table_items=table_items,
            on_bad=on_bad,
            threads=threads,
            progress=progress,
        )

    def _warn(self, trainer: _core.Trainer) -> None:
        skipped = trainer.result()["bad_rows"]
        if skipped:
            warnings.warn(f"Recommender: {skipped} rows of the log were left out", stacklevel=3)
        for text, warning in trainer.notes():
            if warning:
                warnings.warn(f"Recommender({self.model!r}): {text}", stacklevel=3)

    def _take(self, folder: ModelFolder, threads: int, dtypes: Mapping[bool, str] = {}) -> None:
        """Opens the model of a folder; after a failure the object is as it was."""
        opened = _Opened(folder, threads, dtypes)
        described = json.loads(folder.files.get("furrow.json", b"{}"))
        self._opened = opened
        self.history_ = []
        self.schema_ = Schema.parse(folder.files["schema.json"])
        self.notes_ = list(described.get("notes", [])) + list(described.get("warnings", []))
        self.algorithm_ = str(described.get("algorithm", self.model))
        self.figures_ = opened.figures()
        if self.figures_["of_log"]:
            self.notes_ += _figure_notes(self.figures_)

    # ---- Saving and loading

    @classmethod
    def load(cls: type[_Self], path: str | os.PathLike[str], *, threads: int | None = None) -> _Self:
        """Loads a model that `save` or `furrow train --schema` wrote. Its files are read into memory.

        Parameters are not known but the algorithm: a later fit has Furrow's defaults.
        """
        self = cls(threads=threads)
        self._take(ModelFolder.read(folder_path(path)), threads or 0)
        self.model = self.algorithm_
        _warn_of_ranking(self.figures_, 3)
        return self

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Writes the model directory, which appears complete or not at all."""
        self._fitted().folder.write(folder_path(path), overwrite)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = {"params": self.get_params()}
        if self.__sklearn_is_fitted__():
            state |= {"files": self._opened.folder.files, "history": self.history_, "dtypes": self._opened.dtypes}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state["params"])  # type: ignore[misc]
        if "files" in state:
            self._take(ModelFolder(state["files"]), self.threads or 0, state.get("dtypes", {}))
            self.history_ = state["history"]

    # ---- What it is

    def _fitted(self) -> _Opened:
        if not self.__sklearn_is_fitted__():
            from furrow._checks import not_fitted

            raise not_fitted(self)
        return self._opened

    def __sklearn_is_fitted__(self) -> bool:
        return "_opened" in vars(self)

    @property
    def n_users(self) -> int:
        """How many users the model knows."""
        return self._fitted().n_users

    @property
    def n_items(self) -> int:
        """How many items the model knows."""
        return self._fitted().n_items

    @property
    def users(self) -> list[Any]:
        """The names of all users that the model knows, the most frequent first."""
        names: list[Any] = self._fitted().names(False).tolist()
        return names

    @property
    def items(self) -> list[Any]:
        """The names of all items that the model knows, the most frequent first."""
        names: list[Any] = self._fitted().names(True).tolist()
        return names

    @property
    def model_(self) -> Model:
        """The trained model: scores of any log, explanations, matrices."""
        return self._fitted().model()

    @property
    def encoder_(self) -> Encoder:
        """The schema and the dictionary of the model."""
        return self._fitted().encoder()

    def __repr__(self) -> str:
        if not self.__sklearn_is_fitted__():
            changed = {name: value for name, value in self.get_params().items() if _is_changed(name, value)}
            changed |= {"tables": list(changed["tables"])} if "tables" in changed else {}  # frames are long
            shown = [repr(self.model)] + [f"{name}={value!r}" for name, value in changed.items()]
            return f"Recommender({', '.join(shown)})"
        return f"<furrow.Recommender {self.algorithm_}: {_describe(self.schema_, self.n_users, self.n_items)}>"

    def _facts(self) -> Facts:
        if not self.__sklearn_is_fitted__():
            return [("model", self.model), ("state", "not fitted")]
        roles = self.schema_.roles
        columns = [f"{role} {roles[role]!r}" for role in ("user", "item", "label", "time", "weight") if role in roles]
        counts: Facts = [("users", self.n_users), ("items", self.n_items)]
        chosen = [("chosen", note) for note in _figure_notes(self.figures_)[:1]]
        about = [("model", self.algorithm_), ("columns", ", ".join(columns)), *counts]
        return [*about, *chosen, *training_facts(self.history_)]

    def _parts(self) -> list[str]:
        return [training_chart(self.history_)] if self.__sklearn_is_fitted__() else []

    # ---- Recommending

    def recommend(
        self,
        users: Any = None,
        k: int = 10,
        *,
        exclude: Any = None,
        allowed: Any = None,
        context: Mapping[str, Any] | None = None,
        include_seen: bool = False,
        unknown: Unknown = "error",
        with_scores: bool = True,
        as_frame: bool | None = None,
        candidates: int = 0,
        progress: Progress = None,
    ) -> Any:
        """The k best items of each user.

        users: names, or one name; None: all users of the model. exclude: a log (path, frame, :meth:`events`) whose
        items are not recommended to their users again; Recommender() leaves out what they took in its own log, unless
        that log repeats or include_seen is true. allowed: names of the items that may be recommended, or a bool
        for each of `items`. context: cells of the event, such as {"hour": 20}: columns that are neither the user's nor
        the item's. unknown: "skip" leaves out names that the model does not know, else they are a NotFoundError.

        Returns a frame with the columns user, rank, item, score; with as_frame=False, or where pandas is not there,
        arrays of items and scores, users x k, where None and -inf fill up the row of a user who has fewer.
        """
        opened = self._fitted()
        numbers = opened.find(users, False, unknown)
        results = opened.results(len(numbers), k)
        opened.core.recommend(
            numbers,
            results.view(np.float64),
            opened.options(candidates) | {"include_seen": include_seen},
            opened.allowed(allowed, unknown),
            opened.seen(exclude),
            opened.context(context),
            as_callback(progress),
        )
        return opened.answer("user", opened.names(False)[numbers], results, with_scores, as_frame)

    def recommend_new(
        self,
        events: Any,
        k: int = 10,
        *,
        allowed: Any = None,
        unknown: Unknown = "error",
        on_bad: OnBad = "error",
        with_scores: bool = True,
        as_frame: bool | None = None,
        progress: Progress = None,
    ) -> Any:
        """The k best items of the users of a log, by their events in it: users who came after the training
        (Recommender() and fm).

        events: a log with the model's columns. Items of the events are left out. The result has the form of
        :meth:`recommend`; without a frame, the names of the users come first.
        """
        opened = self._fitted()
        with open_table(events) as source:
            options = {"on_bad": skips_bad(on_bad), "threads": opened.threads}
            found = opened.core.new_users(source.uri, options, as_callback(progress))
        names = opened.typed(found.names(), False)
        info = found.info()
        if len(names) == 0:
            raise ValueError("no user has an event with an item that the model knows")
        if info["unknown_items"]:
            warnings.warn(f"{info['unknown_items']} events have items that the model does not know", stacklevel=2)
        results = opened.results(len(names), k)
        mask = opened.allowed(allowed, unknown)
        opened.core.recommend_new(found, results.view(np.float64), opened.options(0), mask)
        answer = opened.answer("user", names, results, with_scores, as_frame)
        if isinstance(answer, tuple):
            return names, *answer
        return (names, answer) if isinstance(answer, np.ndarray) else answer

    def similar(
        self,
        item: Any,
        k: int = 10,
        *,
        allowed: Any = None,
        unknown: Unknown = "error",
        with_scores: bool = True,
        as_frame: bool | None = None,
    ) -> Any:
        """The k items that are most similar to an item: the score is the cosine of their vectors (fm, deepfm), or the
        weight from the item to them (Recommender())."""
        opened = self._fitted()
        numbers = opened.find_each(_one_name(item, "item"), True, "error")
        results = opened.results(1, k)
        opened.core.similar(int(numbers[0]), results.view(np.float64), opened.allowed(allowed, unknown))
        return opened.answer("like", opened.names(True)[numbers], results, with_scores, as_frame)

    def explain(self, user: Any, item: Any, n: int = 3, *, as_frame: bool | None = None) -> Any:
        """Why a user gets an item: up to n items of the user that speak most for it, and their parts of the score.

        Returns a frame with the columns item and part, or two arrays. Recommender() only; fm and other models:
        `model_.contributions`.
        """
        opened = self._fitted()
        numbers = opened.find(_one_name(user, "user"), False, "error"), opened.find(_one_name(item, "item"), True, "error")
        reasons = opened.core.explain(int(numbers[0][0]), int(numbers[1][0]), _as_k(n))
        names = opened.names(True)[np.array([number for number, _ in reasons], dtype=np.uint64)]
        parts = np.array([part for _, part in reasons], dtype=np.float64)
        if as_frame or (as_frame is None and has_pandas()):
            import pandas

            return pandas.DataFrame({"item": names, "part": parts})
        return names, parts

    def evaluate(
        self,
        truth: Any,
        k: int = 10,
        *,
        exclude: Any = None,
        allowed: Any = None,
        context: Mapping[str, Any] | None = None,
        relevant_from: float | None = None,
        unknown: Unknown = "error",
        on_bad: OnBad = "error",
        candidates: int = 0,
        progress: Progress = None,
    ) -> dict[str, Any]:
        """How many of the items that users chose in a later log are among the k that they get.

        truth: a log. relevant_from: events with at least this label are relevant; None: events of the positive class
        for models of two classes, else all. exclude: the log of what users had seen before, which is neither
        recommended nor relevant; False: nothing is excluded.

        Returns ndcg, recall, map, mrr, hit (means over users) and the halves of their 95 % confidence intervals
        (ndcg_interval …), coverage, what was counted, and what simpler recommendations reach for the same users:
        popular_ndcg (the most popular items) and own_ndcg (what each user took most often, where the log repeats), with
        the mean of the differences (popular_gain) and its standard error (popular_gain_error); NaN: not known.
        """
        opened = self._fitted()
        events, start = opened.truth(truth, relevant_from, on_bad)
        if exclude is None and not self.figures_["of_log"]:
            warnings.warn("items that users have already seen are not left out: exclude=LOG, or False", stacklevel=2)
        figures = opened.core.evaluate(
            events._core,
            opened.options(candidates) | {"k": _as_k(k)},
            opened.allowed(allowed, unknown),
            opened.seen(None if exclude is False else exclude),
            opened.context(context),
            as_callback(progress),
        )
        info = events.info
        _warn_of_truth(figures, info)
        counted = {"unknown_user_events": info["unknown_users"], "bad_rows": info["bad"], "relevant_from": start}
        return figures | counted

    def events(
        self, log: Any, *, relevant_from: float | None = None, on_bad: OnBad = "error", progress: Progress = None
    ) -> Events:
        """Reads the events of a log once, for `exclude` of several calls.

        relevant_from: only events with at least this label.
        """
        return self._fitted().events(log, relevant_from, on_bad, progress)

    def prepare(
        self, users: int = 0, k: int = 10, *, method: str = "auto", recall: float = 0.99, candidates: int = 0
    ) -> dict[str, Any]:
        """Chooses how items are found for that many users (0: all of the model): by all vectors, or by an index.

        method: "auto" takes the cheapest one; "exact" lets the model score every item, "vectors" compares all vectors,
        "index" makes an index that finds the share `recall` of the best items. Without this call items are found by all
        vectors, or, for models without them, exactly. Returns what was chosen.
        """
        opened = self._fitted()
        if method not in _METHODS:
            raise ValueError(f"method is one of {', '.join(_METHODS)}, not {method!r}")
        options = {"method": _METHODS.index(method), "users": users, "k": _as_k(k), "recall": recall}
        opened.core.prepare(options | opened.options(candidates))
        return self.method

    @property
    def method(self) -> dict[str, Any]:
        """How items are found: method, and the figures of an index."""
        info = self._fitted().core.info()
        info["method"] = _METHODS[info["method"]]
        return info

    # ---- Scores and vectors

    def predict(self, data: Any, *, unknown: Unknown = "error") -> npt.NDArray[np.float64]:
        """The model's output for pairs of user and item: a frame or dict of these columns, a dict of single values, or
        a sequence of pairs.

        Further columns of the log count where the table has them; columns that it lacks are missing values. unknown:
        "skip" gives NaN to pairs with a name that the model does not know. A file: `model_.scores(path)`.
        """
        opened = self._fitted()
        user, item = opened.core.columns()
        columns = _columns_of(data, user, item)
        try:
            users = opened.find_each([as_cell(name) or b"" for name in columns[user]], False, unknown)
            items = opened.find_each([as_cell(name) or b"" for name in columns[item]], True, unknown)
        except _core.NotFoundError as error:
            raise _with_hint(error) from None
        if len(users) == 0:
            return np.empty(0)
        schema = opened.encoder().schema
        absent = [column.name for column in schema.columns if column.name not in columns]
        if "history" in schema.to_dict() and schema.roles.get("time") in absent:
            raise ValueError(
                "the model has features of the user's history, so the time of each event is needed; "
                "recommend(user, allowed=items) scores items for a user as of the end of the log"
            )
        with open_table(columns | {name: [None] * len(users) for name in absent}) as source:
            unlabelled = Source(source.uri_with(label="none"), rows=len(users))
            scores: npt.NDArray[np.float64] = opened.model()._read(unlabelled, 3, False, opened.threads, None)[0]
        scores[(users == _NO_ITEM) | (items == _NO_ITEM)] = np.nan
        return scores

    def item_vectors(self) -> npt.NDArray[np.float32]:
        """The vectors of all items, in the order of `items`: the inner product with a user's vector, plus the user's
        own part, is the score (fm). Their last component is the item's own part."""
        return self._fitted().vectors(True)[0]

    def to_index(self, **options: Any) -> Index:
        """An index of the items' vectors for inner products, with their names; options are the same as for Index.build.

        Without options the vectors themselves are stored and all lists are probed, so that it ranks as the model does:
        index.search_names(user_vectors()[0], k).
        """
        from furrow.index import Index

        chosen: dict[str, Any] = {"metric": "ip", "m": 0} | options
        opened = self._fitted()
        index = Index.build(opened.vectors(True)[0], names=opened.core.names(True), **chosen)
        if "nprobe" not in options:
            index.nprobe = index.nlist
        return index

    def user_vectors(self) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float64]]:
        """The vectors of all users, in the order of `users`, and each user's own part of the score."""
        return self._fitted().vectors(False)


# ---- Helpers -------------------------------------------------------------------------------------------------


def _flat(epoch: dict[str, Any]) -> dict[str, Any]:
    from furrow.estimators import _flat as flat

    return flat(epoch)


def _saved(trainer: _core.Trainer, log: str, threads: int) -> ModelFolder:
    """The files of a trained model, with figures of how it orders the items of its log if that can be measured. The
    library writes folders of this machine alone."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        trainer.save(path, False)
        with contextlib.suppress(_core.Error):
            trainer.judge(path, log, {"threads": threads})
        return ModelFolder.read(path)


def _warn_of_ranking(figures: Mapping[str, Any], stacklevel: int) -> None:
    """Warns about a model that should not recommend."""
    if figures["gain"] < -figures["gain_error"]:
        warnings.warn(
            f"the model orders items worse than their popularity does (NDCG {figures['ndcg']:.4f}, most popular items "
            f"{figures['popular_ndcg']:.4f}): Recommender() does better",
            stacklevel=stacklevel,
        )


def _figure_notes(figures: Mapping[str, Any]) -> list[str]:
    """What was chosen, and what to know about it."""
    chosen = figures["candidates"].get(figures["chosen"])
    if not chosen:
        return []
    text = f"{figures['chosen']}: NDCG@{figures['k']} {chosen['ndcg']:.4f} on the last events of {figures['users']} users"
    if figures["chosen"] != "popular":
        text += f", {chosen['gain']:+.4f} ± {chosen['gain_error']:.4f} over the most popular items"
    notes = [text]
    if figures["repeats"] >= 0.1:
        share = f"{figures['repeats']:.0%} of these events repeat an item that the user had taken before"
        notes.append(f"{share}, so such items are recommended, too (exclude=LOG leaves them out)")
    if figures["user_features"]:
        notes.append("users with few events or none get what is popular among users with the same features")
    return notes


def _with_hint(error: _core.NotFoundError) -> _core.NotFoundError:
    """The error, which says how names that the model does not know are left out."""
    hint = "unknown='skip' leaves out what the model does not know"
    error.args = (f"{error.args[0]}; {hint}",)
    error.hint = f"{error.hint}; {hint}" if error.hint else hint
    return error


def _integer_dtypes(log: Any, schema: Schema) -> dict[bool, str]:
    """The types of the columns of users (False) and items (True) of a frame, if they are integers."""
    if not is_frame(log) and not isinstance(log, Mapping):
        return {}
    found = {}
    columns = {str(name): name for name in log}
    for items, role in ((False, "user"), (True, "item")):
        dtype = getattr(log[columns[schema.roles[role]]], "dtype", None)
        dtype = getattr(dtype, "numpy_dtype", dtype)  # of pandas' Int64
        if isinstance(dtype, np.dtype) and dtype.kind in "iu":
            found[items] = dtype.name
    return found


def _is_changed(name: str, value: Any) -> bool:
    """Whether a parameter differs from its default."""
    return name != "model" and value is not None and (name, value) not in (("schema", "auto"), ("user_history", 0))


def _as_objects(names: list[str]) -> npt.NDArray[Any]:
    """An array of objects, which NumPy does not make texts of a fixed length of."""
    array = np.empty(len(names), dtype=object)
    array[:] = names
    return array


def _as_k(k: int) -> int:
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise ValueError(f"k: a number of items above 0 is needed, not {k!r}")
    return int(k)


def _describe(schema: Schema, users: int, items: int) -> str:
    roles = schema.roles
    parts = [f"user {roles['user']!r} ({users})", f"item {roles['item']!r} ({items})"]
    parts += [f"{role} {roles[role]!r}" if role in roles else f"no {role}" for role in ("label", "time")]
    if schema.class_names:
        parts[2] += f" (positive: {schema.class_names[-1]})"
    features = [column.name for column in schema.columns if not column.role and column.as_ not in _NOT_FEATURES]
    return ", ".join(parts) + (f"; features {', '.join(features)}" if features else "")


_NOT_FEATURES = ("ignore", "label", "weight", "group")


def _check_roles(schema: Schema, label: str | None) -> None:
    """Refuses a schema without a user and an item before the training: its model could not recommend."""
    ignored = [column.name for column in schema.columns if column.as_ == "ignore"]
    if label is None and "label" not in schema.roles and ignored:
        warnings.warn(
            "the log has no label, so every event counts as one that the user liked; "
            f"{', '.join(ignored)} of the log is ignored (label=COLUMN, or label='' where there is none)",
            stacklevel=3,
        )
    lacking = [role for role in ("user", "item") if role not in schema.roles]
    if lacking:
        names = ", ".join(column.name for column in schema.columns)
        raise ValueError(
            f"the log has no column that is known as the {' or the '.join(lacking)}; its columns are {names}: "
            f"Recommender({', '.join(f'{role}=COLUMN' for role in lacking)}) says which it is"
        )


def _warn_of_truth(figures: Mapping[str, Any], info: Mapping[str, int]) -> None:
    if figures["unknown"]:
        warnings.warn(
            f"{figures['unknown']} of {figures['relevant']} relevant items are not known to the model: they count, but "
            "cannot be found",
            stacklevel=3,
        )
    if info["unknown_users"]:
        text = f"{info['unknown_users']} events of users that the model does not know are left out"
        warnings.warn(text, stacklevel=3)


def _columns_of(data: Any, user: str, item: str) -> dict[str, Any]:
    """The columns of a frame, or of a sequence of pairs."""
    if is_path(data):
        raise TypeError("predict: a frame or pairs are needed; model_.scores(path) takes files")
    if is_frame(data) or isinstance(data, Mapping):
        columns = {str(name): data[name] for name in data}
        if isinstance(data, Mapping) and is_event(data):
            columns = {name: [value] for name, value in columns.items()}
        absent = [name for name in (user, item) if name not in columns]
        if absent:
            raise ValueError(f"the table has no column {', '.join(map(repr, absent))}")
        return columns
    pairs = list(data)
    if any(isinstance(pair, (str, bytes)) or len(pair) != 2 for pair in pairs):
        raise TypeError("pairs of user and item are needed")
    return {user: [pair[0] for pair in pairs], item: [pair[1] for pair in pairs]}
