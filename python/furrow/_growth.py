"""Training that goes on: models of logs, and what a further log adds to them."""

from __future__ import annotations

import contextlib
import os
import tempfile
from typing import Any, Iterator

from furrow._data import is_path
from furrow.model import Model, load_model
from furrow.schema import Encoder


def earlier_model(init_model: Any) -> Model:
    """The model that a fit goes on from: a Model, a fitted estimator, or the path of either."""
    model = load_model(init_model) if is_path(init_model) else getattr(init_model, "model_", init_model)
    if not isinstance(model, Model):
        raise TypeError(f"init_model: a model, an estimator or a path is needed, not {type(init_model).__name__}")
    if not model._encoded:
        raise ValueError(
            "init_model: a model of a log is needed, whose features have names; partial_fit goes on from models of arrays"
        )
    return model


@contextlib.contextmanager
def folder_of(model: Model) -> Iterator[str]:
    """The model as a folder, which is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        model.save(path)
        yield path


def note_of_growth(before: Encoder, grown: Encoder) -> str:
    """What a log added to the dictionary."""
    added = [(now.entries - then.entries, now.name) for now, then in zip(grown.fields, before.fields)]
    new = ", ".join(f"{count} {name}" for count, name in added if count > 0)
    if not new:
        return "the log has no names that are new to the model"
    return f"the log has new names: {new}; the model has {grown.n_features} features now"
