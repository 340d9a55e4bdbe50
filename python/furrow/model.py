"""Trained models: scores, explanations, matrices, vectors.

>>> import tempfile, furrow, numpy as np
>>> X = np.random.default_rng(1).normal(size=(200, 3))
>>> with tempfile.TemporaryDirectory() as folder:
...     furrow.Classifier("lr").fit(X, X[:, 0] > X[:, 1]).save(folder + "/clicks.model")
...     model = load_model(folder + "/clicks.model")
...     model.predict([[2, 0, 0], [0, 2, 0]])
array([ True, False])
>>> model.predict_proba(np.array([[2, 0, 0], [0, 2, 0]])).round(2)
array([[0., 1.],
       [1., 0.]])
>>> sorted(model.explain(np.array([[2.0, 0, 0]])).to_dicts()[0])
['0']
"""

from __future__ import annotations

import json
import os
import tempfile
import warnings
import weakref
from collections.abc import Iterator, Mapping
from typing import Any, Callable, NamedTuple

import numpy as np
import numpy.typing as npt

from furrow import _checks, _core
from furrow._arrays import as_array, as_floats
from furrow._data import Source, is_arrow, is_event, is_frame, is_path, memory_path, open_columns, open_rows
from furrow._data import folder_path, has_pandas, open_table, spell, table_columns, warn_user
from furrow._html import Card, Facts, epoch_facts, table
from furrow._progress import Progress, as_callback
from furrow.matrix import Matrix, load_matrix
from furrow.rows import Rows, read_rows
from furrow.schema import Encoder, as_pairs

Array = npt.NDArray[Any]
Doubles = npt.NDArray[np.float64]
Path = str | os.PathLike[str]
Saver = Callable[[str, bool], None]

_FEW = 1 << 16  # elements of a table that is scored at once, without threads
_FEW_EVENTS = 256
_ENOUGH, _SAMPLED = 10, 4096  # rows from which on unknown values are reported; rows that are examined for them
_CHUNK = 1 << 20  # rows of a file that are scored at once
_SHOWN_COLUMNS = 10  # of a card
_WEIGHTS_ALONE = ("lr", "svm", "linear", "robust")  # models with one weight for a feature
_MOST_BINS, _MOST_POINTS = 10**4, 10**8
_FORMATS = {"text": 0, "json": 1, "dot": 2, "svg": 3, "angel": 4, "keys": 5}
_USERS, _ITEMS = 1, 2
_MAGIC = b"furrow model 1\n"
_RANKING = ("SampledSoftmaxLoss", "BPRLoss", "WARPLoss")
_NOT_INPUTS = ("label", "weight", "group")  # kinds of columns of a log
_NO_END = (1 << 64) - 1


class Model(Card):
    """A trained model: load_model loads one, the estimators make them.

    Rows to score (X) are an array, a sparse matrix, a frame, Rows, or the path of a file. A model that was trained on
    a log takes a frame or a dict with the columns of the log, an event (a dict of single values), or a list of them.

    Any number of threads may use a model at once.
    """

    _scorer: _core.Scorer
    _folder: str | None  # None: the model was not loaded
    _save: Saver | None
    _files: dict[str, bytes] | None  # of a model that was made from bytes
    _options: dict[str, Any]  # of load_model
    _outputs: int
    _labels: Doubles
    _own_names: list[Any] | None  # what y had for the classes, in the order of _codes
    _codes: npt.NDArray[np.int64]  # of each label: its position among the classes of y
    _encoded: bool
    _names: list[str]
    _fast_columns: int  # of tables that are known to fit
    _learned: Encoder | None  # made when it is needed, as the following
    _spelled: dict[str, dict[str, str]] | None

    def __init__(self) -> None:
        raise TypeError("furrow.load_model(path) loads a model")

    @classmethod
    def _from_core(cls, scorer: _core.Scorer, folder: str | None = None, save: Saver | None = None) -> Model:
        """A model of a scorer; save(path, overwrite) writes a model that has no folder."""
        self = cls.__new__(cls)
        self._scorer = scorer
        self._folder = folder
        self._save = save
        self._files = None
        self._options = {}
        self._outputs = scorer.output_count()
        self._labels = np.array(scorer.classes(), dtype=np.float64)
        self._encoded = scorer.has_encoder()
        self._own_names = _names_of_classes(scorer, len(self._labels))
        self._codes = np.array([self._code_of(i) for i in range(len(self._labels))], dtype=np.int64)
        self._names = _names_of_columns(scorer)
        self._fast_columns = -1
        self._learned = None
        self._spelled = None
        return self

    def _code_of(self, i: int) -> int:
        """The code that label i was for; a log has codes as text, which its schema numbers in another order."""
        if self._own_names is None or not self._encoded:
            return i
        text = self._scorer.class_name(int(self._labels[i])) if self._labels[i] >= 0 else None
        return i if text is None else int(float(text))

    # ---- what it is

    @property
    def algorithm(self) -> str | None:
        """The name of the algorithm: "lr", "fm", "gbdt" …; None: a custom graph, as Angel's models have."""
        own: str | None = self.info.get("algorithm") if self._folder is not None else None
        return own or json.loads(self.describe("json"))["algorithm"]

    @property
    def classes(self) -> Array | None:
        """Labels of the classes as the data had them, or their names; None: the model predicts numbers."""
        if len(self._labels) == 0:
            return None
        names = self._class_names()
        return self._labels.copy() if names is None else _array_of(names)

    def _class_names(self) -> list[Any] | None:
        """What y had for the labels, or the names that the schema of a log gives to them; None: labels are numbers."""
        if self._own_names is not None:
            return [self._own_names[code] for code in self._codes]
        if not self._encoded:
            return None
        names = [self._scorer.class_name(int(label)) if label >= 0 else None for label in self._labels]
        known = [name for name in names if name is not None]
        return known if known and len(known) == len(names) else None

    def _ranks(self) -> bool:
        """Whether the numbers that it predicts only order rows."""
        return self._scorer.setting("objective") == "rank:ndcg" or self._scorer.setting("loss") in _RANKING

    @property
    def n_classes(self) -> int:
        """Number of classes; 0: the model predicts numbers."""
        return len(self._labels)

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the columns that the model was trained on; None: they had none."""
        return list(self._names) if self._names else None

    @property
    def n_features(self) -> int | None:
        """Number of columns that the model was trained on; None: unknown, for example for sparse rows."""
        if self._names:
            return len(self._names)
        known = int(self._scorer.setting("range") or -1)
        return known if known > 0 and not self._encoded else None

    @property
    def columns(self) -> list[str] | None:
        """Columns of the log that the model was trained on; None: it was trained on rows."""
        return [name for name, _, _ in self._scorer.columns()] if self._encoded else None

    @property
    def info(self) -> dict[str, Any]:
        """How the model was trained, and its figures: what furrow.json says. Empty for Angel's models."""
        text = self._read_file("furrow.json") if self._folder is not None else self._read_files().get("furrow.json")
        return {} if text is None else dict(json.loads(text))

    @property
    def settings(self) -> dict[str, str]:
        """The keys of the model's configuration that have a value."""
        values = {key: self._scorer.setting(key) for key in self._scorer.keys()}
        return {key: value for key, value in values.items() if value}

    def __repr__(self) -> str:
        kind = f"{self.n_classes} classes" if self.n_classes else "numbers"
        trained = "a log" if self._encoded else f"{self.n_features or 'sparse'} features"
        return f"<furrow.Model {self.algorithm or 'graph'}: {kind}, trained on {trained}>"

    def _facts(self) -> Facts:
        names = [str(name) for name in self._class_names() or []] or [f"{label:g}" for label in self._labels]
        listed = self._scorer.columns() if self._encoded else []
        columns = ", ".join(name for name, what, _ in listed if what not in (*_NOT_INPUTS, "ignore")) or self.n_features
        parts = self.info.get("figures", {}).items()
        figures = {f"{part}_{name}": value for part, values in parts for name, value in values.items()}
        facts = [("algorithm", self.algorithm), ("classes", ", ".join(names[:10]) or None), ("features", columns)]
        return [*facts, *self._aims(), ("epochs", self.info.get("training", {}).get("epochs")), *epoch_facts(figures)]

    def _aims(self) -> Facts:
        """What trees were trained for."""
        setting = self._scorer.setting
        if self._scorer.forest()["trees"] == 0:
            return []
        level = setting("quantile") if setting("objective") == "reg:quantileerror" else None
        return [("objective", setting("objective")), ("quantile", level), ("monotone", setting("monotone") or None)]

    def _parts(self) -> list[str]:
        """Of trees: the columns with the largest shares of the gain. Of linear models: the features with the largest
        weights."""
        if self._scorer.forest()["trees"] > 0:
            shares = self.column_importances(_SHOWN_COLUMNS)
            return [table(("column", "share of gain"), [(name, f"{share:.3f}") for name, share in shares.items()])]
        if self.algorithm not in _WEIGHTS_ALONE:
            return []
        weights = self.weights
        largest = np.argsort(-np.abs(weights.values), kind="stable")[:_SHOWN_COLUMNS]
        kept = [int(i) for i in largest if weights.values[i] != 0]
        rows = [(self.feature_name(int(weights.features[i])), f"{weights.values[i]:.4g}") for i in kept]
        return [table(("feature", "weight"), rows)] if rows else []

    def describe(self, format: str = "text") -> str:
        """The layers, their shapes and the settings: "text", "json", "dot" (graphviz), "svg", or "angel" (graph.json).
        """
        return self._scorer.describe(_choose(format, "text", "json", "dot", "svg", "angel", "keys"), 0)

    # ---- scores

    def scores(self, X: Any, *, threads: int = 0, progress: Progress = None) -> tuple[Doubles, Doubles, Doubles]:
        """Scores of rows: the model's output, the probability of the positive or likeliest class, the predicted label.

        Probability and label are 0 for models that predict numbers. threads: 0 is one for each processor; the scores
        do not depend on it.
        """
        out = self._score_few(X, False)
        if out is None:
            with self._open(X) as source:
                out = self._read(source, 3, False, threads, progress)
        return out[0], out[1], out[2]

    def predict(self, X: Any, *, threads: int = 0) -> Array:
        """The predicted class of each row, as in `classes`; of a model that predicts numbers, the number."""
        pred, _, label = self.scores(X, threads=threads)
        if len(self._labels) == 0:
            return pred
        names = self._class_names()
        return label if names is None else _array_of(names)[np.searchsorted(self._labels, label)]

    def predict_proba(self, X: Any, *, threads: int = 0) -> Doubles:
        """The probability of each class, rows x classes, in the order of `classes`."""
        if len(self._labels) == 0:
            raise TypeError("predict_proba is for models of classes; this one predicts numbers")
        if self._outputs > 1:
            return self._class_probabilities(X, threads)
        positive = self.scores(X, threads=threads)[1]
        return np.column_stack((1 - positive, positive))

    def decision_function(self, X: Any, *, threads: int = 0) -> Doubles:
        """The model's output for each row; of more than two classes, rows x classes.

        Of several classes it is computed from the probabilities: a class whose probability is below 1e-300 has -inf.
        """
        if self._outputs == 1:
            return self.scores(X, threads=threads)[0]
        pred, best, _ = self.scores(X, threads=threads)
        with np.errstate(divide="ignore"):
            return np.asarray(pred[:, None] + np.log(self._class_probabilities(X, threads) / best[:, None]))

    def _class_probabilities(self, X: Any, threads: int) -> Doubles:
        out = self._score_few(X, True)
        if out is not None:
            return out
        with self._open(X) as source:
            return self._read(source, self._outputs, True, threads, None)

    def _score_few(self, X: Any, by_class: bool) -> Doubles | None:
        """The scores of a small table of a known kind, of few events or sparse rows; None: use the general path."""
        if type(X) is np.ndarray:
            if X.ndim != 2 or X.shape[1] != self._fast_columns or X.size > _FEW or X.dtype.char not in "fd":
                return None
            if not X.flags.aligned or not X.dtype.isnative:
                return None
            out = np.empty((X.shape[0], self._outputs) if by_class else (3, X.shape[0]))
            self._scorer.score_table(X, out, by_class)
        elif self._encoded and type(X) is list and len(X) < _FEW_EVENTS and all(type(event) is dict for event in X):
            out = np.empty((len(X), self._outputs) if by_class else (3, len(X)))
            events = [self._pairs_of(event) for event in X]
            self._scorer.score_events(events, out, by_class)
            if len(X) >= _ENOUGH:
                rows = [self._encoder()._core.event(event)[0] for event in events]
                self._warn_of_values(np.cumsum([0, *map(len, rows)]), np.concatenate(rows))
        elif getattr(X, "format", None) == "csr" and len(X.data) <= _FEW and X.dtype.kind in "fiub":
            self._check_columns(X.shape[1], dense=False)
            out = np.empty((X.shape[0], self._outputs) if by_class else (3, X.shape[0]))
            if not self._scorer.score_rows(*_csr_arrays(X), X.shape[1], out, by_class):
                return None
        else:
            return None
        return out

    def _read(self, source: Source, width: int, by_row: bool, threads: int, progress: Progress) -> Doubles:
        """Scores (3 x rows) or probabilities (rows x width) of all rows of a source."""
        reader = self._scorer.read(source.uri, {"threads": threads})
        read = reader.probabilities if by_row else reader.scores
        callback = as_callback(progress)
        parts: list[Doubles] = []
        while True:
            capacity = _CHUNK if source.rows is None else source.rows + 1
            out = np.empty((capacity, width) if by_row else (width, capacity))
            count = read(out, callback)
            parts.append(out[:count] if by_row else out[:, :count])
            if count < capacity:
                break
        scores = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=0 if by_row else 1)
        found = scores.shape[0 if by_row else 1]
        if source.rows is not None and found != source.rows:
            raise ValueError(f"X has {source.rows} rows, but {found} were read")
        return scores

    # ---- rows

    def _open(self, X: Any, y: Any = None, weight: Any = None, *, labelled: bool = False) -> Source:
        """The rows of X under a URI, as the model reads them."""
        if is_path(X):
            if y is not None or weight is not None:
                raise TypeError("a file has its own labels and weights: y and sample_weight are for data in memory")
            return self._open_path(os.fspath(X), labelled)
        if isinstance(X, Rows):
            return self._open_read_rows(X, y, weight)
        dense = not hasattr(X, "tocsr")
        if self._encoded and dense:
            numbers = y if y is None or self._own_names is None else self._numbers_of_own(y)
            return self._open_log(X, numbers, weight, labelled)
        if self._names and (is_frame(X) or isinstance(X, Mapping)):
            X = _columns_by_name(X, self._names)
        if isinstance(X, Mapping):
            raise TypeError("the model does not know the names of its columns: an array is needed, not a dict")
        source = open_rows(X, labels=None if y is None else self._numbers_of(y), weights=weight)
        self._check_columns(source.features, dense)
        if self._names and source.names and source.names != self._names and source.features is not None:
            raise ValueError(f"X has the columns {', '.join(source.names)}, not {', '.join(self._names)} in this order")
        return source

    def _open_read_rows(self, rows: Rows, y: Any, weight: Any) -> Source:
        """Rows count their features from 0. A model of files knows its index base, and uses it for rows whose own guess
        differs: few rows may lack the index 0."""
        known = None if self._encoded else self._scorer.setting("index-base")
        if rows.format in ("libsvm", "libfm", "libffm") and not rows.index_base_given and known in ("0", "1"):
            uri = rows.plain_uri() if y is None and weight is None else None
            if uri is not None:
                return Source(uri)
            if rows.index_base != int(known):
                rows = rows.with_index_base(int(known))
        source = open_rows(rows.load(), labels=None if y is None else self._numbers_of(y), weights=weight)
        self._check_columns(source.features, dense=False)
        if self.n_features is None and not self._encoded:
            self._warn_of_unknown(source.features or 0)
        return source

    def _open_path(self, path: str, labelled: bool) -> Source:
        """Opens a file. The labels of a log are not read unless they are asked for: they may be absent or malformed.

        A model of arrays does not read text itself, which counts features from 0 or 1, unless the path says it.
        """
        if "indexing_mode=" in path and self._scorer.setting("index-base") not in ("0", "1"):
            return self._open_read_rows(read_rows(path), None, None)
        says = any(mark in path for mark in ("#", "format=", "label="))
        source = Source(path if labelled or says or not self._encoded else _without_label(path))
        if self._encoded and not says and path.partition("?")[0] != "-":
            self._check_values(_without_label(path), None, self._encoder_path())
        return source

    def _open_log(self, X: Any, y: Any, weight: Any, labelled: bool) -> Source:
        if isinstance(X, Mapping) and is_event(X):
            X = [X]
        if isinstance(X, (list, tuple)) and all(isinstance(event, Mapping) for event in X):
            if y is None and weight is None:
                return self._open_events(X)
            raise TypeError("events have their label and weight in columns of their own: y is for a frame or a dict")
        if isinstance(X, (np.ndarray, list, tuple)):
            raise TypeError(
                f"the model was trained on a log with the columns {', '.join(self.columns or [])}: a frame or a dict "
                f"with its columns, or a list of events, is needed, not {type(X).__name__}"
            )
        source = self._open_columns(X, y, weight)
        if not labelled:
            source.uri = _without_label(source.uri)
        self._check_values(source.uri, source.rows, self._encoder_path())
        return source

    def _open_more(self, X: Any, y: Any, weight: Any) -> Source:
        """A log to train the model further, whose names may be new."""
        if is_path(X):
            return open_table(X)
        if not (is_frame(X) or is_arrow(X) or (isinstance(X, Mapping) and not is_event(X))):
            raise TypeError(f"a model of a log learns from a frame, a dict of columns or a path, not {type(X).__name__}")
        numbers = y if y is None or self._own_names is None else self._numbers_of_own(y)
        return self._open_columns(X, numbers, weight)

    def _open_columns(self, X: Any, y: Any, weight: Any) -> Source:
        """A frame or a dict of columns as the schema reads it."""
        more: dict[str, Any] = {}
        for values, role in ((y, "label"), (weight, "weight")):
            if values is not None:
                more[self._column_with(role)] = values
        spelled = {name: given for name, given in self._spellings().items() if name in X} if not is_arrow(X) else {}
        columns = table_columns(X, **more)
        columns |= table_columns({name: spell(X[name], given) for name, given in spelled.items()})
        rows = len(next(iter(columns.values()))[1]) if columns else 0
        for name, what, _ in self._scorer.columns():
            if what == "group" and name not in columns:  # the reader wants it, though scores do not depend on it
                columns |= table_columns({name: np.zeros(rows, np.int64)})
        return open_columns(columns)

    def _encoder_path(self) -> str:
        return self._folder or self._scorer.setting("encoder") or ""

    def _column_with(self, kind: str) -> str:
        for name, what, _ in self._scorer.columns():
            if what == kind:
                return name
        raise TypeError(f"the schema of the model does not have a column of the {kind}")

    def _open_events(self, events: Any) -> Source:
        """Events, whose columns the schema must have; a column that an event lacks is missing."""
        path = memory_path()
        self._scorer.add_events(path, [self._pairs_of(event) for event in events])
        source = Source(path, lambda: _core.remove_rows(path), rows=len(events))
        self._check_values(path, len(events))
        return source

    # ---- values that the model does not know

    def _encoder(self) -> Encoder:
        """The dictionary of the log that the model was trained on."""
        if self._learned is None:
            self._learned = Encoder.load(self._encoder_path())
        return self._learned

    def _spellings(self) -> dict[str, dict[str, str]]:
        if self._spelled is None:
            self._spelled = self._encoder().spellings()
        return self._spelled

    def _pairs_of(self, event: Mapping[str, Any]) -> tuple[tuple[bytes, bytes | None], ...]:
        """The cells of an event, truth values as the model has learned to read them."""
        spelled = {name: spell([event[name]], given)[0] for name, given in self._spellings().items() if name in event}
        return as_pairs({**event, **spelled} if spelled else event)

    def _check_values(self, uri: str, rows: int | None, encoder: str | None = None) -> None:
        """Warns if the first rows have hardly any value of a column that the model knows: it would score them all the
        same. encoder: by which a log is read; None: these are the rows of one."""
        if rows is not None and rows < _ENOUGH:
            return
        options = {"format": "auto", "part": 0, "nparts": 1, "threads": 1, "skip_bad": True}
        try:
            read = uri if encoder is None else _core.encoder_uri(uri, encoder)
            block = next(iter(Rows(read, options | {"key_type": "u64", "value_type": "f32"})), None)
        except _core.Error:
            return  # reading the rows will report it
        if block is not None and len(block) >= _ENOUGH:
            ends = block.indptr[: _SAMPLED + 1]
            self._warn_of_values(ends, block.indices[: int(ends[-1])])

    def _warn_of_values(self, indptr: Array, indices: Array) -> None:
        for name, unknown in self._encoder().unknown_fields(indptr, indices):
            examples = ", ".join(self._examples(name))
            warn_user(
                f"column {name!r}: {unknown} of the first {len(indptr) - 1} rows have a value that the model does not "
                f"know, or none; it knows values such as {examples}: is the column spelled as in the training data?"
            )

    def _examples(self, name: str) -> list[str]:
        field = next(field for field in self._encoder().fields if field.name == name)
        return self._encoder().names(name, max(0, field.entries - 3))

    def _numbers_of(self, y: Any) -> Any:
        """Labels as numbers: the numbers of the named classes."""
        if self._own_names is not None:
            return self._numbers_of_own(y)
        array = _checks.tidy(as_array(y), "y")
        names = self._class_names()
        if array.dtype.kind not in "UO" or not names:
            return array
        numbers = dict(zip(names, self._labels))
        unknown = {str(name) for name in array.ravel()} - set(numbers)
        if unknown:
            raise ValueError(f"y has {sorted(unknown)[0]!r}, but the classes are {', '.join(names)}")
        return np.array([numbers[str(name)] for name in array])

    def _numbers_of_own(self, y: Any) -> Array:
        """Labels as numbers, if training replaced the labels of y by codes."""
        assert self._own_names is not None
        found, places = np.unique(_checks.column(y, None), return_inverse=True)
        names = [_checks.class_name(label) for label in found]
        unknown = [name for name in names if name not in self._own_names]
        if unknown:
            raise ValueError(f"y has {unknown[0]!r}, but the classes are {', '.join(map(str, self._own_names[:20]))}")
        codes = np.array([self._own_names.index(name) for name in names], dtype=np.int64)[places]
        return codes if self._encoded else np.asarray(self._labels[codes])

    def _check_columns(self, columns: int | None, dense: bool) -> None:
        """Refuses a table that cannot be of the kind that the model was trained on."""
        known = self.n_features
        if columns is None or (dense and columns == self._fast_columns):
            return
        if known is not None and (columns > known or (dense and columns != known)):
            raise ValueError(f"X has {columns} features, but the model was trained on {known}")
        if not dense:
            return
        beyond = np.asarray(self._scorer.features(columns, _NO_END))
        if len(beyond):
            raise ValueError(f"X has {columns} features, but the model has a feature {beyond[-1]}")
        if known is None:
            self._warn_of_unknown(columns)
        self._fast_columns = columns

    def _warn_of_unknown(self, columns: int) -> None:
        """Warns if X has columns after the last one that the model knows. A model of sparse rows does not store its
        number of columns. Not for trees, which split by few columns."""
        has = np.asarray(self._scorer.features(0, columns))
        if columns and not self._scorer.forest()["trees"] and (not len(has) or has[-1] + 1 < columns):
            end = int(has[-1]) + 1 if len(has) else 0
            text = f"X has {columns} features; the model knows none from {end} on: they count as 0"
            warnings.warn(text, stacklevel=5)

    # ---- figures

    def evaluate(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        calibration: int = 0,
        curves: int = 0,
        threads: int = 0,
        progress: Progress = None,
    ) -> dict[str, Any]:
        """Figures of labelled rows: auc, logloss, accuracy, rmse … as far as they are defined.

        y: the labels, as the training data had them; a file and a log have their own.
        calibration: bins of a calibration table. curves: points of the ROC and PR curves at most, each of them x, y
        and threshold: "roc", "pr".
        "classes" has the figures of each class, "confusion" how often a class (row) is predicted as another (column).
        """
        if not 0 <= calibration <= _MOST_BINS or not 0 <= curves <= _MOST_POINTS:
            raise ValueError(f"calibration has 0 to {_MOST_BINS} bins, a curve 0 to {_MOST_POINTS} points")
        if y is None and not is_path(X) and not self._encoded and not isinstance(X, Rows):
            raise TypeError("y, the labels, is missing")
        with self._open(X, y, sample_weight, labelled=True) as source:
            reader = self._scorer.read(source.uri, {"threads": threads})
            figures = reader.evaluate(calibration, curves, as_callback(progress))
        return self._tidy(figures)

    def _tidy(self, figures: dict[str, Any]) -> dict[str, Any]:
        """Gives arrays their shapes, and drops figures that are not defined or were not asked for."""
        side = len(figures["classes"])
        confusion = np.asarray(figures.pop("confusion"))
        figures["confusion"] = confusion.reshape(side, side) if confusion.size == side * side else None
        for name in ("roc", "pr"):
            figures[name] = np.asarray(figures[name]).reshape(-1, 3)
        names = self._class_names()
        for one, name in zip(figures["classes"], names or []):
            one["name"] = name
        return {name: value for name, value in figures.items() if _is_defined(value)}

    # ---- explanations

    def explain(self, X: Any, *, threads: int = 0, progress: Progress = None) -> Contributions:
        """What each feature contributes to the output of each row.

        Of lr, svm, linear, robust, softmax: weight x value. Of fm: also half of the products with the row's other
        features. Of gbdt: Shapley values of the trees (TreeSHAP, as pred_contribs of xgboost).
        """
        with self._open(X) as source:
            reader = self._scorer.read(source.uri, {"threads": threads})
            parts = reader.contributions(-1, as_callback(progress))
        return Contributions(self, *(np.asarray(part) for part in parts))

    def feature_name(self, feature: int) -> str:
        """The name of a feature: its column; for a log "column=value"; for sparse rows its number."""
        if self._encoded:
            field, value = self._scorer.describe_feature(feature)
            return f"{field}={value}" if value else field
        return self._names[feature] if feature < len(self._names) else str(feature)

    @property
    def weights(self) -> Weights:
        """Weights of the features in the linear part of the model (lr, svm, linear, softmax, fm, deepfm …)."""
        features = np.asarray(self._scorer.features(0, _NO_END))
        values, bias = np.empty((len(features), self._outputs)), np.empty(self._outputs)
        self._scorer.weights(features, values, bias)
        return Weights(features, values[:, 0] if self._outputs == 1 else values, bias)

    def feature_importances(self, n_features: int | None = None) -> Doubles:
        """Of trees: the share of each feature in the gain of all splits, which add up to 1."""
        ranked = self.importances()
        end = max((one.feature + 1 for one in ranked), default=0)
        width = n_features if n_features is not None else max(self.n_features or 0, end)
        if width < end:
            raise ValueError(f"feature {end - 1} has splits, which is not below {width}")
        shares = np.zeros(width)
        for one in ranked:
            shares[one.feature] = one.gain if one.gain == one.gain else one.splits
        total = float(shares.sum())
        return shares / total if total > 0 else shares

    def importances(self, top: int | None = None) -> list[Importance]:
        """Of trees: the features that have a split, the one with the highest gain first; top: the most features to
        return."""
        ranked = self._scorer.importance()[:top]
        return [Importance(f, self.feature_name(f), splits, gain, cover) for f, splits, gain, cover in ranked]

    def column_importances(self, top: int | None = None) -> dict[str, float]:
        """Of trees: the share of each column of the data in the gain of all splits, the largest first; top: the most
        columns to return.

        Of a log, a column has the gain of all its values. Columns without a split are left out.
        """
        ranked = self.importances()
        numbers = self._columns_of(np.array([one.feature for one in ranked], dtype=np.uint64))
        names = self._scorer.data_columns()
        gains: dict[str, float] = {}
        for one, number in zip(ranked, numbers):
            name = names[number] if number < len(names) else one.name
            gains[name] = gains.get(name, 0.0) + (one.gain if one.gain == one.gain else one.splits)
        total = sum(gains.values())
        ordered = sorted(gains.items(), key=lambda item: -item[1])[:top]
        return {name: gain / total if total > 0 else gain for name, gain in ordered}

    def _columns_of(self, features: Array) -> npt.NDArray[np.uint64]:
        """The number of the column that each feature comes from; _NO_END: none."""
        out = np.empty(len(features), dtype=np.uint64)
        self._scorer.feature_columns(np.ascontiguousarray(features, dtype=np.uint64), out)
        return out

    def trees(self, first: int = 0, end: int | None = None, *, format: str = "text") -> str:
        """Trees first … end-1: "text", "json", "dot" (graphviz), or "svg", a picture of one tree."""
        count = self._scorer.forest()["trees"]
        if end is None:
            end = count if format != "svg" else first + 1
        if first < 0 or end < first or (count and end > count):
            raise IndexError(f"there are {count} trees, so {first} to {end} is not a range of them")
        return self._scorer.trees(_choose(format, "text", "json", "dot", "svg"), first, end)

    # ---- vectors

    def item_vectors(self, first: int | None = None, end: int | None = None) -> tuple[Array, npt.NDArray[np.float32]]:
        """Vectors of items for search by inner product, and their names.

        An index of them, searched with a vector of user_vectors, ranks items as the model does: fm, and deepfm without
        its fc layers. Of a model of rows, items are the features first … end-1, and ids take the place of names.
        """
        return self._vectors(_ITEMS, first, end)

    def user_vectors(self, first: int | None = None, end: int | None = None) -> tuple[Array, npt.NDArray[np.float32]]:
        """Vectors of users, to search the vectors of items with, and their names or ids."""
        return self._vectors(_USERS, first, end)

    def _vectors(self, side: int, first: int | None, end: int | None) -> tuple[Array, npt.NDArray[np.float32]]:
        size = self._scorer.vector_size()
        if self._encoded and first is None and end is None:
            names = self._scorer.side(side)
            vectors = np.empty((len(names), size), dtype=np.float32)
            self._scorer.side_vectors(side, len(names), vectors)
            return np.array(names, dtype=object), vectors
        if first is None or end is None:
            raise TypeError("the range of the features, first and end, is needed for a model of rows")
        if not 0 <= first <= end <= _NO_END:
            raise ValueError(f"{first} to {end} is not a range of features")
        ids = np.asarray(self._scorer.features(first, end))
        vectors = np.empty((len(ids), size), dtype=np.float32)
        self._scorer.feature_vectors(side, ids, vectors)
        return ids, vectors

    # ---- files

    @property
    def matrices(self) -> Mapping[str, Matrix]:
        """The matrices of the model by name, each loaded when it is asked for."""
        if self._folder is None:
            return Model.from_bytes(self.to_bytes()).matrices
        return Matrices(self._folder, self)

    def save(self, path: Path, overwrite: bool = False) -> None:
        """Writes the model directory, which appears complete or not at all."""
        if self._folder is not None:
            _core.copy_model(self._folder, os.fspath(path), overwrite)
        elif self._save is not None:
            self._save(os.fspath(path), overwrite)
        else:
            raise TypeError("the model cannot be saved: it has neither a folder nor a trainer")

    def to_bytes(self) -> bytes:
        """The whole model, for Model.from_bytes; pickle does the same."""
        files = self._read_files()
        names = sorted(files)
        head = {"options": self._options, "files": [[name, len(files[name])] for name in names]}
        return b"".join([_MAGIC, json.dumps(head).encode(), b"\n", *(files[name] for name in names)])

    @classmethod
    def from_bytes(cls, data: bytes) -> Model:
        """The model that to_bytes made; it is kept in memory."""
        files, options = _unpack(data)
        folder = memory_path()
        paths = {f"{folder}/{name}": content for name, content in files.items()}
        if options.get("conf"):
            paths[folder + ".conf.json"] = options["conf_text"].encode()
        added: list[str] = []
        try:
            for path, content in paths.items():
                _core.add_file(path, content)
                added.append(path)
            self = cls._load(folder, {**options, "conf": folder + ".conf.json" if options.get("conf") else None})
        except BaseException:
            _remove_files(added)
            raise
        self._files = files
        weakref.finalize(self, _remove_files, added)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return Model.from_bytes, (self.to_bytes(),)

    @classmethod
    def _load(cls, folder: str, options: dict[str, Any]) -> Model:
        given = {key: options.get(key) for key in ("conf", "algorithm")}
        given.update((key, options[key]) for key in ("fc_order", "absent_is_zero", "threads") if key in options)
        self = cls._from_core(_core.Scorer.load(folder, given, options.get("settings", {})), folder)
        self._options = options
        return self

    def _read_file(self, name: str) -> bytes | None:
        if self._files is not None:
            return self._files.get(name)
        if self._folder is None or "://" in self._folder:
            return None
        try:
            with open(os.path.join(self._folder, name), "rb") as file:
                return file.read()
        except (FileNotFoundError, NotADirectoryError):  # the latter: a model file of another program
            return None

    def _read_files(self) -> dict[str, bytes]:
        """The bytes of all files of the model by their paths in its folder."""
        if self._files is not None:
            return self._files
        if self._folder is not None:
            return _files_of(self._folder)
        with tempfile.TemporaryDirectory() as folder:
            self.save(os.path.join(folder, "model"))
            return _files_of(os.path.join(folder, "model"))


# ---- what the methods give


class Weights(NamedTuple):
    """Weights of features, and the bias."""

    features: npt.NDArray[np.uint64]  #: columns of the model, ascending
    values: Doubles  #: of each feature; of more than two classes, features x classes
    bias: Doubles  #: of each class


class Importance(NamedTuple):
    """The importance of a feature in all trees: sums over its splits."""

    feature: int  #: column of the model
    name: str
    splits: int
    gain: float
    cover: float


class Contributions:
    """What the features of rows contribute to their outputs: bias + the sum of a row's values is its output.

    Row i has features[indptr[i]:indptr[i + 1]], ascending, and values[indptr[i]:indptr[i + 1]]; features that
    contribute nothing are left out. Of more than two classes, values, bias and outputs have a column for each class.
    """

    def __init__(self, model: Model, indptr: Array, features: Array, values: Array, bias: Array, outputs: Array):
        classes = model._outputs
        self._model = model
        self.indptr: npt.NDArray[np.int64] = indptr.astype(np.int64)
        self.features: npt.NDArray[np.int64] = features.astype(np.int64)
        self.values: Doubles = values if classes == 1 else values.reshape(-1, classes)
        self.bias: Doubles = bias if classes == 1 else bias.reshape(-1, classes)
        self.outputs: Doubles = outputs if classes == 1 else outputs.reshape(-1, classes)

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __repr__(self) -> str:
        return f"<furrow.Contributions of {len(self)} rows>"

    def to_numpy(self, n_features: int | None = None) -> Doubles:
        """An array, rows x features; of more than two classes, rows x features x classes."""
        end = int(self.features.max()) + 1 if len(self.features) else 0
        width = n_features if n_features is not None else max(self._model.n_features or 0, end)
        if width < end:
            raise ValueError(f"feature {end - 1} contributes, which is not below {width}")
        dense = np.zeros((len(self), width, *self.values.shape[1:]))
        rows = np.repeat(np.arange(len(self)), np.diff(self.indptr))
        dense[rows, self.features] = self.values
        return dense

    def by_column(self, *, as_frame: bool | None = None) -> Any:
        """The contributions of all features of a column of the data, summed: in a log, each value is a feature.

        Returns a frame with a row for each row and a column for each column of the data; of more than two classes the
        frame's columns are pairs of class and column. With as_frame=False, or where pandas is not there, a dict of
        arrays by the names of the columns, of more than two classes rows x classes. A sum begins with 0 and takes the
        features in ascending order, so that it is the same to the last digit as that of furrow predict --by column.

        >>> import furrow
        >>> log = {"shop": ["east", "west", "west", "east"] * 9, "price": [1, 2, 3, 5] * 9}
        >>> model = furrow.Classifier("lr", schema="auto").fit(log, ["no", "yes", "yes", "no"] * 9).model_
        >>> parts = model.explain(log).by_column(as_frame=False)
        >>> {name: ["-" if part < 0 else "+" for part in values[:4]] for name, values in parts.items()}
        {'shop': ['-', '+', '+', '-'], 'price': ['+', '+', '-', '-']}
        """
        names = self._model._scorer.data_columns()
        if not names:
            raise TypeError("the features of this model do not come from named columns; to_numpy() has all features")
        columns = self._model._columns_of(self.features)
        if len(columns) and int(columns.max()) >= len(names):
            raise ValueError("a feature contributes that does not belong to a column")
        sums = np.zeros((len(self), len(names), *self.values.shape[1:]))
        rows = np.repeat(np.arange(len(self)), np.diff(self.indptr))
        np.add.at(sums, (rows, columns.astype(np.intp)), self.values)
        if as_frame or (as_frame is None and has_pandas()):
            return self._frame(names, sums)
        return {name: np.ascontiguousarray(sums[:, i]) for i, name in enumerate(names)}

    def _frame(self, names: list[str], sums: Doubles) -> Any:
        import pandas

        if sums.ndim == 2:
            return pandas.DataFrame(sums, columns=names)
        classes = self._model.classes
        labels = list(range(sums.shape[2])) if classes is None else list(classes)
        pairs = pandas.MultiIndex.from_product([labels, names], names=["class", "column"])
        return pandas.DataFrame(sums.transpose(0, 2, 1).reshape(len(sums), -1), columns=pairs)

    def to_dicts(self, top: int | None = None) -> list[dict[str, Any]]:
        """For each row its contributions by the names of the features, the largest first; top: the most contributions
        of a row."""
        rows = []
        for i in range(len(self)):
            at = slice(int(self.indptr[i]), int(self.indptr[i + 1]))
            features, values = self.features[at], self.values[at]
            size = np.abs(values) if values.ndim == 1 else np.abs(values).max(axis=1)
            order = np.argsort(-size, kind="stable")[:top]
            rows.append({self._model.feature_name(int(features[j])): values[j] for j in order})
        return rows


class Matrices(Mapping[str, Matrix]):
    """Matrices of a model directory by name, each loaded when it is asked for."""

    def __init__(self, folder: str, model: Model | None = None) -> None:
        self._model = model  # whose files may be in memory as long as it lives
        self._folders = dict(_core.list_model(folder)[0])

    def __getitem__(self, name: str) -> Matrix:
        return load_matrix(self._folders[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._folders)

    def __len__(self) -> int:
        return len(self._folders)

    def __repr__(self) -> str:
        return f"<furrow.Matrices {', '.join(self)}>"


# ---- loading


def load_model(
    path: Path,
    *,
    conf: Path | None = None,
    algorithm: str | None = None,
    settings: dict[str, Any] | None = None,
    fc_order: str = "in-out",
    absent_is_zero: bool = False,
    threads: int = 0,
) -> Model:
    """Loads a model directory, Furrow's or Angel's, or a model file of xgboost (JSON, UBJSON) or LightGBM (text).

    conf, algorithm: Angel's JSON file, or the name of the algorithm, for one of Angel's models that lacks graph.json.
    settings: changes to the model's configuration by the names of its keys, such as {"index-base": 0}, or
    {"has-label": False} for files without labels.
    fc_order: "in-out", as Angel's trainer writes the weights of fc layers, or "out-in", as its serving does.
    absent_is_zero: trees: features that a row does not have count as 0, as in Angel.
    """
    if fc_order not in ("in-out", "out-in"):
        raise ValueError(f"fc_order is in-out or out-in, not {fc_order!r}")
    if conf is not None and algorithm is not None:
        raise TypeError("conf and algorithm both name the graph: give one of them")
    folder = folder_path(path)
    if "://" not in folder:
        folder = os.path.abspath(folder)  # a model of a log opens its dictionary again for each file that is read
        if "\0" not in folder and not os.path.exists(folder):
            raise _core.NotFoundError(f"{os.fspath(path)}: there is no such folder; a model is a folder of files")
    options: dict[str, Any] = {"fc_order": int(fc_order == "out-in"), "absent_is_zero": bool(absent_is_zero)}
    options.update(conf=None if conf is None else os.fspath(conf), algorithm=algorithm, threads=threads)
    options["settings"] = {key: _setting_text(value) for key, value in (settings or {}).items()}
    model = Model._load(folder, options)
    if conf is not None:
        with open(conf, encoding="utf-8") as file:
            options["conf_text"] = file.read()
    return model


def list_matrices(path: Path) -> dict[str, str]:
    """The folders of the matrices of a model directory, by name."""
    return dict(_core.list_model(os.fspath(path))[0])


def _setting_text(value: Any) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _files_of(folder: str) -> dict[str, bytes]:
    """The files of a model and of its matrices."""
    matrices, files = _core.list_model(folder)
    paths = [name for name, _ in files]
    for name, place in matrices:
        paths += [os.path.join(name, entry) for entry in sorted(os.listdir(place)) if not entry.startswith(".")]
    contents = {}
    for path in paths:
        with open(os.path.join(folder, path), "rb") as file:
            contents[path] = file.read()
    return contents


def _unpack(data: bytes) -> tuple[dict[str, bytes], dict[str, Any]]:
    """Unpacks the bytes of to_bytes; ValueError: they are from something else, or were cut."""
    end = data.find(b"\n", len(_MAGIC))
    if not data.startswith(_MAGIC) or end < 0:
        raise ValueError("the bytes are not from Model.to_bytes")
    try:
        head = json.loads(data[len(_MAGIC) : end])
        sizes, options = [(str(name), int(size)) for name, size in head["files"]], dict(head["options"])
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError("the bytes of the model are damaged") from error
    if any(size < 0 for _, size in sizes) or end + 1 + sum(size for _, size in sizes) != len(data):
        raise ValueError("the bytes of the model are damaged: their number is wrong")
    files, at = {}, end + 1
    for name, size in sizes:
        files[name] = data[at : at + size]
        at += size
    return files, options


def _remove_files(paths: list[str]) -> None:
    for path in paths:
        _core.remove_file(path)


# ---- columns, cells, formats


def _names_of_classes(scorer: _core.Scorer, classes: int) -> list[Any] | None:
    """What the key class-names says; None: it is not set."""
    text = scorer.setting("class-names")
    if not text:
        return None
    try:
        names = json.loads(text)
    except ValueError as error:
        raise ValueError(f"class-names: {text!r:.60} is not JSON: {error}") from None
    if not isinstance(names, list) or len(names) != classes:
        raise ValueError(f"class-names: {text!r:.60} is not a list of {classes} classes")
    return names


def _array_of(names: list[Any]) -> Array:
    """Classes as an array: numbers and bools as such."""
    return np.array(names, dtype=object if any(isinstance(name, str) for name in names) else None)


def _names_of_columns(scorer: _core.Scorer) -> list[str]:
    names: list[str] = []
    while (name := scorer.feature_name(len(names))) is not None:
        names.append(name)
    return names


def _columns_by_name(table: Any, names: list[str]) -> Array:
    """The columns of a frame or a dict in the order of the model, as numbers."""
    columns = [str(name) for name in (table.columns if is_frame(table) else table)]
    absent = [name for name in names if name not in columns]
    if absent:
        raise ValueError(f"X does not have the columns {', '.join(absent)}, which the model was trained on")
    twice = [name for name in names if columns.count(name) > 1]
    if twice:
        raise ValueError(f"X has several columns called {', '.join(twice)}")
    if is_frame(table):
        array: Array = table.iloc[:, [columns.index(name) for name in names]].to_numpy()
        return array
    values = list(table.values())
    return np.column_stack([as_array(values[columns.index(name)]) for name in names])


def _csr_arrays(X: Any) -> tuple[Array, Array, Array]:
    """The arrays of a CSR matrix in the types that the library takes: integers are unsigned."""
    keys = np.ascontiguousarray(X.indices, dtype=np.int64 if X.indices.dtype.itemsize == 8 else np.int32)
    ends = np.ascontiguousarray(X.indptr, dtype=np.int64).view(np.uint64)
    return ends, keys.view(f"u{keys.itemsize}"), as_floats(X.data, "X")


def _without_label(uri: str) -> str:
    return uri + ("&" if "?" in uri else "?") + "label=none"


def _is_defined(value: Any) -> bool:
    if isinstance(value, float):
        return value == value
    return value is not None and (not hasattr(value, "__len__") or len(value) > 0)


def _choose(format: str, *formats: str) -> int:
    if format not in formats:
        raise ValueError(f"format is {', '.join(formats)}, not {format!r}")
    return _FORMATS[format]
