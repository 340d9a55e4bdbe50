"""Trained models: scores, explanations, matrices, vectors."""

from __future__ import annotations

import os
from typing import Any, Callable

import numpy as np
import numpy.typing as npt

from furrow import _core
from furrow._data import Source, is_frame, is_path, open_rows, open_table
from furrow._progress import Progress, as_callback

Doubles = npt.NDArray[np.float64]
Path = str | os.PathLike[str]
Saver = Callable[[str, bool], None]

_FEW = 1 << 16  # elements of a table that is scored at once, without threads
_CHUNK = 1 << 20  # rows of a file that are scored at once


class Model:
    """A trained model: load_model loads one, the estimators make them.

    Rows to score (X) are an array, a CSR matrix, a frame, Rows, or the path of a file. A model that was trained on a
    log takes a frame or a dict with the columns of the log, or a list of events, each of them a dict.

    Any number of threads may use a model at once.
    """

    _scorer: _core.Scorer
    _folder: str | None
    _save: Saver | None
    _outputs: int
    _labels: Doubles
    _encoded: bool
    _names: list[str]
    _fast_columns: int  # of tables that are known to fit

    def __init__(self) -> None:
        raise TypeError("furrow.load_model(path) loads a model")

    @classmethod
    def _from_core(cls, scorer: _core.Scorer, folder: str | None = None, save: Saver | None = None) -> Model:
        """A model of a scorer; save(path, overwrite) writes a model that has no folder."""
        self = cls.__new__(cls)
        self._scorer = scorer
        self._folder = folder
        self._save = save
        self._outputs = scorer.output_count()
        self._labels = np.array(scorer.classes(), dtype=np.float64)
        self._encoded = scorer.has_encoder()
        self._names = _names_of_columns(scorer)
        self._fast_columns = -1
        return self

    # ---- What it is

    @property
    def classes(self) -> npt.NDArray[Any] | None:
        """Labels of the classes as the data had them, or their names; None: the model predicts numbers."""
        if len(self._labels) == 0:
            return None
        names = [self._scorer.class_name(int(label)) if label >= 0 else None for label in self._labels]
        return self._labels.copy() if None in names else np.array(names, dtype=object)

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
        """Number of columns that the model was trained on; None: unknown, as of sparse rows."""
        if self._names:
            return len(self._names)
        known = int(self._scorer.setting("range") or -1)
        return known if known > 0 else None

    # ---- Scores

    def scores(
        self, X: Any, *, threads: int = 0, progress: Progress = None
    ) -> tuple[Doubles, Doubles, Doubles]:
        """Scores of rows: the model's output, the probability of the positive or likeliest class, the predicted label.

        Probability and label are 0 for models that predict numbers. threads: 0 is one for each processor; the scores
        do not depend on it.
        """
        if type(X) is np.ndarray and X.ndim == 2 and X.shape[1] == self._fast_columns and X.size <= _FEW:
            if X.dtype == np.float64 or X.dtype == np.float32:
                out = np.empty((3, X.shape[0]))
                self._scorer.score_table(X, out)
                return out[0], out[1], out[2]
        with self._open(X) as source:
            out = self._read(source, 3, False, threads, progress)
        return out[0], out[1], out[2]

    def predict(self, X: Any, *, threads: int = 0) -> npt.NDArray[Any]:
        """The predicted class of each row, as in `classes`; of a model that predicts numbers, the number."""
        pred, _, label = self.scores(X, threads=threads)
        classes = self.classes
        if classes is None:
            return pred
        return label if classes.dtype != object else classes[np.searchsorted(self._labels, label)]

    def predict_proba(self, X: Any, *, threads: int = 0) -> Doubles:
        """The probability of each class, rows x classes, in the order of `classes`."""
        self._need_classes("predict_proba")
        if self._outputs > 1:
            return self._class_probabilities(X, threads)
        positive = self.scores(X, threads=threads)[1]
        return np.column_stack((1 - positive, positive))

    def decision_function(self, X: Any, *, threads: int = 0) -> Doubles:
        """The model's output for each row; of more than two classes, rows x classes."""
        if self._outputs == 1:
            return self.scores(X, threads=threads)[0]
        pred, best, _ = self.scores(X, threads=threads)
        with np.errstate(divide="ignore"):
            outputs: Doubles = pred[:, None] + np.log(self._class_probabilities(X, threads) / best[:, None])
        return outputs

    def _need_classes(self, name: str) -> None:
        if len(self._labels) == 0:
            raise TypeError(f"{name} is for models of classes; this one predicts numbers")

    def _class_probabilities(self, X: Any, threads: int) -> Doubles:
        with self._open(X) as source:
            return self._read(source, self._outputs, True, threads, None)

    def _read(self, source: Source, width: int, by_row: bool, threads: int, progress: Progress) -> Doubles:
        """Scores (3 x rows) or probabilities (rows x width) of all rows of a source."""
        reader = self._scorer.read(source.uri, {"threads": threads})
        read = reader.probabilities if by_row else reader.scores
        callback = as_callback(progress)
        parts: list[Doubles] = []
        while True:
            capacity = source.rows if source.rows is not None and not parts else _CHUNK
            out = np.empty((capacity, width) if by_row else (width, capacity))
            count = read(out, callback)
            parts.append(out[:count] if by_row else out[:, :count])
            if count < capacity or count == source.rows:
                break
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=0 if by_row else 1)

    # ---- Rows

    def _open(self, X: Any, *, labelled: bool = False) -> Source:
        """The rows of X under a URI, as the model reads them."""
        if is_path(X):
            return self._open_path(os.fspath(X), labelled)
        if self._encoded and not hasattr(X, "tocsr"):
            return self._open_log(X, labelled)
        if is_frame(X) and self._names:
            X = _columns_of_frame(X, self._names)
        source = open_rows(X)
        self._check_columns(source, dense=not hasattr(X, "tocsr"))
        return source

    def _open_path(self, path: str, labelled: bool) -> Source:
        """A file. Of a log, labels are left alone unless they are asked for: they may be absent, or anything."""
        says = any(mark in path for mark in ("#", "format=", "label="))
        if self._encoded and not labelled and not says:
            path += ("&" if "?" in path else "?") + "label=none"
        return Source(path)

    def _open_log(self, X: Any, labelled: bool) -> Source:
        if not is_frame(X):
            raise TypeError(
                f"the model was trained on a log: a frame with its columns is needed, not {type(X).__name__}"
            )
        source = open_table(X)
        if not labelled:
            source.uri += "?label=none"
        return source

    def _check_columns(self, source: Source, dense: bool) -> None:
        """Refuses a table that cannot be of the kind that the model was trained on."""
        columns, known = source.features, self.n_features
        if columns is None:
            return
        if known is not None and (columns > known or (dense and columns != known)):
            raise ValueError(f"X has {columns} features, but the model was trained on {known}")
        if dense:
            self._fast_columns = columns


def _names_of_columns(scorer: _core.Scorer) -> list[str]:
    names: list[str] = []
    while (name := scorer.feature_name(len(names))) is not None:
        names.append(name)
    return names


def _columns_of_frame(frame: Any, names: list[str]) -> npt.NDArray[Any]:
    """The columns of a frame in the order of the model, as numbers."""
    columns = [str(name) for name in frame.columns]
    absent = [name for name in names if name not in columns]
    if absent:
        raise ValueError(f"the frame does not have the columns {', '.join(absent)}, which the model was trained on")
    twice = [name for name in names if columns.count(name) > 1]
    if twice:
        raise ValueError(f"the frame has several columns called {', '.join(twice)}")
    array: npt.NDArray[Any] = frame.iloc[:, [columns.index(name) for name in names]].to_numpy()
    return array


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
    """Loads a model directory, Furrow's or Angel's.

    conf, algorithm: Angel's JSON file, or the name of the algorithm, for a model of Angel's that lacks graph.json.
    settings: changes to the model's configuration by the names of its keys, such as {"index-base": 0} or
    {"has-label": "no"} for files without labels.
    fc_order: "in-out", as Angel's trainer writes the weights of fc layers, or "out-in", as its serving does.
    absent_is_zero: trees: features that a row does not have count as 0, as in Angel.
    """
    if fc_order not in ("in-out", "out-in"):
        raise ValueError(f"fc_order is in-out or out-in, not {fc_order!r}")
    folder = os.fspath(path)
    if "://" not in folder:
        folder = os.path.abspath(folder)  # a model of a log opens its dictionary again for each file that is read
    options = {
        "conf": None if conf is None else os.fspath(conf),
        "algorithm": algorithm,
        "fc_order": int(fc_order == "out-in"),
        "absent_is_zero": absent_is_zero,
        "threads": threads,
    }
    texts = {key: _setting_text(value) for key, value in (settings or {}).items()}
    return Model._from_core(_core.Scorer.load(folder, options, texts), folder)


def _setting_text(value: Any) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
