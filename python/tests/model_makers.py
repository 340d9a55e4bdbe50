"""Models that the command trained, for the tests of loaded models: each is made once, when a test asks for it."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest

COMMAND = Path(os.environ.get("FURROW_COMMAND", Path(__file__).resolve().parents[2] / "build" / "furrow"))
GOLDEN = Path(os.environ.get("FURROW_GOLDEN", Path(__file__).resolve().parents[3] / "shared" / "golden"))


@functools.cache
def folder() -> Path:
    path = Path(tempfile.mkdtemp(prefix="furrow-models-"))
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


def run(*arguments: str | Path) -> str:
    """What the command prints."""
    if not COMMAND.exists():
        pytest.skip("the furrow command was not built")
    done = subprocess.run([str(COMMAND), *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@functools.cache
def table() -> tuple[np.ndarray, np.ndarray]:
    """Numbers, and two classes that depend on them."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 6)).astype(np.float32)
    noise = rng.normal(size=600) * 0.5
    return X, (X[:, 0] + X[:, 1] * X[:, 2] + noise > 0).astype(np.float64)


def labels(kind: str) -> np.ndarray:
    X, y = table()
    if kind == "classes":
        return y + 2 * (X[:, 3] > 0.7)
    return X[:, 0] * 3 - X[:, 4] if kind == "numbers" else y


def _write_libsvm(path: Path, kind: str) -> None:
    X, _ = table()
    with open(path, "w") as file:
        for row, label in zip(X, labels(kind)):
            file.write(f"{label:.9g} " + " ".join(f"{i + 1}:{v:.9g}" for i, v in enumerate(row)) + "\n")


def _write_csv(path: Path, kind: str) -> None:
    X, _ = table()
    with open(path, "w") as file:
        file.write("a,b,label,c,d,e,f\n")
        for row, label in zip(X, labels(kind)):
            cells = [f"{v:.9g}" for v in row]
            file.write(",".join([*cells[:2], f"{label:.9g}", *cells[2:]]) + "\n")


def _write_log(path: Path, kind: str) -> None:
    rng = np.random.default_rng(2)
    with open(path, "w") as file:
        file.write("userId,itemId,age,genre,click\n")
        for _ in range(900):
            user, item = rng.integers(30), rng.integers(20)
            click = (user % 3 == item % 3) ^ (rng.random() < 0.1)
            text = ("yes" if click else "no") if kind == "names" else str(int(click))
            file.write(f"u{user},i{item},{rng.integers(18, 60)},g{item % 4},{text}\n")


def _write_pairs(path: Path, kind: str) -> None:
    rng = np.random.default_rng(3)
    with open(path, "w") as file:
        file.write("userId,itemId,click\n")
        for _ in range(900):
            user, item = rng.integers(30), rng.integers(20)
            file.write(f"u{user},i{item},{int((user % 3 == item % 3) ^ (rng.random() < 0.1))}\n")


@functools.cache
def data(form: str, kind: str = "two") -> Path:
    """A file: libsvm, csv, log, or pairs, a log of users and items alone.

    kind: two classes, classes (several), numbers; of a log also names of classes.
    """
    path = folder() / f"{form}-{kind}.{'libsvm' if form == 'libsvm' else 'csv'}"
    writers = {"libsvm": _write_libsvm, "csv": _write_csv, "log": _write_log, "pairs": _write_pairs}
    writers[form](path, kind)
    return path


def model(algorithm: str, form: str = "libsvm", kind: str = "two", *more: str) -> Path:
    """A model directory."""
    return _train(algorithm, form, kind, *more)


@functools.cache
def _train(algorithm: str, form: str, kind: str, *more: str) -> Path:
    path = folder() / f"{algorithm}-{form}-{kind}{'-'.join(more)}.model"
    log = ("--schema", "auto") if form in ("log", "pairs") else ()
    trees = ("-D", "objective=reg:squarederror") if (algorithm, kind) == ("gbdt", "numbers") else ()
    train = ("train", "--model", algorithm, "--train", data(form, kind), "--out", path)
    run(*train, "-q", "--threads", "1", *log, *trees, *more)
    return path


def predicted(path: Path, uri: Path, *more: str) -> np.ndarray:
    """What `furrow predict` says: pred, proba and label of each row, with the digits of floats."""
    scores = folder() / "scores.npy"
    run("predict", "--model", path, "--data", uri, "--scores", scores, "--force", "-q", *more)
    return np.load(scores)
