"""Furrow: samples, models and vector indexes for recommender and search systems.

Train on arrays, CSR matrices, frames or files, after scikit-learn's contract:

    Classifier, Regressor, Ranker    lr, fm, deepfm, gbdt … : fit, predict, predict_proba, partial_fit
    Recommender                      from a log of users and items to items for users, by name
    load_model                       a model directory, Furrow's or Angel's: scores, explanations, matrices

Read data:

    read_rows, write_rows, Rows      libsvm, libffm, csv … as CSR matrices and arrays
    Schema, Encoder, encode, split   raw logs with names and strings as rows

Search vectors:

    Index                            IVFPQ indexes in Faiss's file format: build, search, filter, save, load
    exact_search                     the nearest of all vectors, by comparing every query with every vector
    kmeans                           centroids of vectors
    load_vectors                     npy, fvecs, csv, word2vec, GloVe … as arrays, with their names

>>> import numpy as np, furrow
>>> rng = np.random.default_rng(1)
>>> X = rng.normal(size=(300, 4))
>>> model = furrow.Classifier("lr").fit(X, X[:, 0] > X[:, 1])
>>> model.predict([[1, 0, 0, 0], [0, 1, 0, 0]])
array([ True, False])
>>> index = furrow.Index.build(X, nlist=4)
>>> index.search(X[:2], k=1, nprobe=4)[1]
array([[0],
       [1]])

A failure of the library is a furrow.Error with its status, message, hint and place; each kind has a class that is also
the fitting built-in one (ParseError is a ValueError). Calls that compute release the interpreter's lock, and Ctrl-C
stops them. The guide is docs/python.md.
"""

import atexit
from typing import TYPE_CHECKING, Any

from furrow import _core
from furrow._core import (
    ArgumentError,
    CancelledError,
    Error,
    ExistsError,
    FormatError,
    IoError,
    MemoryError,
    NotFoundError,
    ParseError,
    RangeError,
    StaleError,
    StateError,
    UnsupportedError,
)
from furrow._core import version as __version__
from furrow.index import Index, exact_search, kmeans, load_vectors
from furrow.matrix import Matrix, load_matrix, save_matrix
from furrow.model import Model, load_model
from furrow.rows import RowBlock, Rows, read_rows, write_rows
from furrow.schema import Encoder, Schema, encode, split

if TYPE_CHECKING:
    from furrow.estimators import Classifier, Ranker, Regressor
    from furrow.recommender import Recommender

__all__ = [
    "ArgumentError",
    "CancelledError",
    "Classifier",
    "Encoder",
    "Error",
    "ExistsError",
    "FormatError",
    "Index",
    "IoError",
    "Matrix",
    "MemoryError",
    "Model",
    "NotFoundError",
    "ParseError",
    "RangeError",
    "Ranker",
    "Recommender",
    "Regressor",
    "RowBlock",
    "Rows",
    "Schema",
    "StaleError",
    "StateError",
    "UnsupportedError",
    "encode",
    "exact_search",
    "kmeans",
    "load_matrix",
    "load_model",
    "load_vectors",
    "read_rows",
    "save_matrix",
    "split",
    "write_rows",
]

atexit.register(_core.end_jobs)  # the interpreter ends daemon threads in the middle of their calls

# scikit-learn takes a second to import: what derives from its classes is imported when it is used.
_LATE = {
    "Classifier": "furrow.estimators",
    "Ranker": "furrow.estimators",
    "Regressor": "furrow.estimators",
    "Recommender": "furrow.recommender",
}


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module 'furrow' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LATE[name]), name)


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
