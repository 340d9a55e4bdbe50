# furrow/_core.pyi: what furrow._core has, for type checkers. The comments of python/src/py_*.c say what it does.
from typing import Any, Callable, Union
import os

_Path = Union[str, bytes, os.PathLike[str], os.PathLike[bytes]]
_Progress = Callable[[str, int, int], Any] | None

version: str

# ---- exceptions: py_errors.c

class Error(Exception):
    status: str
    message: str
    hint: str | None
    file: str | None
    token: str | None
    line: int | None
    column: int | None
    offset: int | None

class ArgumentError(Error, ValueError): ...
class NotFoundError(Error, FileNotFoundError, LookupError): ...
class IoError(Error, OSError): ...
class ParseError(Error, ValueError): ...
class RangeError(Error, ValueError): ...
class FormatError(Error, ValueError): ...
class StaleError(Error, RuntimeError): ...
class MemoryError(Error, MemoryError): ...  # type: ignore[misc]
class UnsupportedError(Error, NotImplementedError): ...
class ExistsError(Error, FileExistsError): ...
class StateError(Error, RuntimeError): ...
class CancelledError(Error, RuntimeError): ...

# ---- arrays: py_arrays.c

class View:
    def __len__(self) -> int: ...

# ---- rows and files in memory: py_memory.c

def add_rows(
    path: str,
    indptr: Any,
    indices: Any,
    data: Any,
    fields: Any,
    labels: Any,
    weights: Any,
    qids: Any,
    wide: bool,
    /,
) -> None: ...
def add_table(path: str, table: Any, labels: Any, weights: Any, qids: Any, drop_zeros: bool, /) -> None: ...
def add_file(path: str, data: Any, /) -> None: ...
def remove_rows(path: str, /) -> None: ...
def remove_file(path: str, /) -> None: ...

# ---- rows: py_rows.c

# ---- schemas and encoders: py_encoder.c

# ---- loaded models: py_scorer.c

# ---- training: py_trainer.c

# ---- matrices: py_matrix.c

# ---- recommendations: py_recommender.c

# ---- indexes: py_index.c

class Index:
    @staticmethod
    def load(path: _Path, options: dict[str, Any] | None = ..., /) -> Index: ...
    def info(self) -> dict[str, Any]: ...
    def search(self, queries: Any, distances: Any, ids: Any, nprobe: int, threads: int, /) -> None: ...
