"""Tables of Arrow's C data interface, made with ctypes: what a library of Arrow hands out in capsules."""

from __future__ import annotations

import ctypes as c
from typing import Any, Callable

import numpy as np


class Schema(c.Structure):
    pass


class Array(c.Structure):
    pass


class Stream(c.Structure):
    pass


ReleaseSchema = c.CFUNCTYPE(None, c.POINTER(Schema))
ReleaseArray = c.CFUNCTYPE(None, c.POINTER(Array))
ReleaseStream = c.CFUNCTYPE(None, c.POINTER(Stream))
GetSchema = c.CFUNCTYPE(c.c_int, c.POINTER(Stream), c.POINTER(Schema))
GetNext = c.CFUNCTYPE(c.c_int, c.POINTER(Stream), c.POINTER(Array))
GetError = c.CFUNCTYPE(c.c_void_p, c.POINTER(Stream))

Schema._fields_ = [
    ("format", c.c_char_p),
    ("name", c.c_char_p),
    ("metadata", c.c_char_p),
    ("flags", c.c_int64),
    ("n_children", c.c_int64),
    ("children", c.POINTER(c.POINTER(Schema))),
    ("dictionary", c.POINTER(Schema)),
    ("release", ReleaseSchema),
    ("private_data", c.c_void_p),
]
Array._fields_ = [
    ("length", c.c_int64),
    ("null_count", c.c_int64),
    ("offset", c.c_int64),
    ("n_buffers", c.c_int64),
    ("n_children", c.c_int64),
    ("buffers", c.POINTER(c.c_void_p)),
    ("children", c.POINTER(c.POINTER(Array))),
    ("dictionary", c.POINTER(Array)),
    ("release", ReleaseArray),
    ("private_data", c.c_void_p),
]
Stream._fields_ = [
    ("get_schema", GetSchema),
    ("get_next", GetNext),
    ("get_last_error", GetError),
    ("release", ReleaseStream),
    ("private_data", c.c_void_p),
]

_keep: dict[int, Any] = {}  # what structs need, until they are released
released: list[str] = []  # what was released, in order
_new = c.pythonapi.PyCapsule_New
_new.restype = c.py_object
_new.argtypes = [c.c_void_p, c.c_char_p, c.c_void_p]


def _forget(kind: str) -> Callable[[Any], None]:
    def release(pointer: Any) -> None:
        struct = pointer.contents
        assert struct.release, f"{kind} was released twice"
        released.append(kind)
        owned = _keep.pop(struct.private_data)[0]
        for part in owned:
            if part.release:  # else it was moved, or is not there
                part.release(c.pointer(part))
        c.memset(c.addressof(struct) + type(struct).release.offset, 0, c.sizeof(c.c_void_p))

    return release


_release_schema = ReleaseSchema(_forget("schema"))
_release_array = ReleaseArray(_forget("array"))
_release_stream = ReleaseStream(_forget("stream"))
_numbers = iter(range(1, 1 << 60))


def _hold(struct: Any, *things: Any) -> Any:
    struct.private_data = next(_numbers)
    _keep[struct.private_data] = things
    return struct


def _pointers(kind: Any, structs: list[Any]) -> Any:
    return (c.POINTER(kind) * max(len(structs), 1))(*[c.pointer(s) for s in structs])


def schema(
    format: str, name: str = "", children: list[Schema] | None = None, dictionary: Schema | None = None
) -> Schema:
    s = Schema()
    children = children or []
    texts = s.format, s.name = format.encode(), name.encode()
    s.n_children = len(children)
    pointers = _pointers(Schema, children)
    s.children = c.cast(pointers, c.POINTER(c.POINTER(Schema)))
    if dictionary is not None:
        s.dictionary = c.pointer(dictionary)
    s.release = _release_schema
    return _hold(s, children + [dictionary] * (dictionary is not None), pointers, texts)


def array(
    length: int,
    buffers: list[Any],
    *,
    null_count: int = 0,
    offset: int = 0,
    children: list[Array] | None = None,
    dictionary: Array | None = None,
) -> Array:
    a = Array()
    children = children or []
    a.length, a.null_count, a.offset = length, null_count, offset
    a.n_buffers, a.n_children = len(buffers), len(children)
    arrays = [None if b is None else np.frombuffer(bytes(b) + bytes(8), np.uint8) for b in buffers]
    addresses = (c.c_void_p * max(len(buffers), 1))(*[None if b is None else b.ctypes.data for b in arrays])
    a.buffers = c.cast(addresses, c.POINTER(c.c_void_p))
    pointers = _pointers(Array, children)
    a.children = c.cast(pointers, c.POINTER(c.POINTER(Array)))
    if dictionary is not None:
        a.dictionary = c.pointer(dictionary)
    a.release = _release_array
    return _hold(a, children + [dictionary] * (dictionary is not None), arrays, addresses, pointers)


def bits(flags: Any) -> bytes:
    return np.packbits(np.asarray(flags, bool), bitorder="little").tobytes()


FORMATS = {
    "int8": "c",
    "uint8": "C",
    "int16": "s",
    "uint16": "S",
    "int32": "i",
    "uint32": "I",
    "int64": "l",
    "uint64": "L",
    "float16": "e",
    "float32": "f",
    "float64": "g",
    "date32": "tdD",
    "date64": "tdm",
    "timestamp_s": "tss:",
    "timestamp_ms": "tsm:UTC",
    "timestamp_us": "tsu:",
    "timestamp_ns": "tsn:",
}
_STORED = {"date32": "int32", "date64": "int64"}


def _text_buffers(kind: str, texts: list[bytes]) -> list[Any]:
    if kind == "utf8_view":
        views, data = b"", b""
        for t in texts:
            if len(t) <= 12:
                views += len(t).to_bytes(4, "little") + t.ljust(12, b"\0")
            else:
                views += len(t).to_bytes(4, "little") + t[:4] + bytes(4) + len(data).to_bytes(4, "little")
                data += t
        return [views, data, len(data).to_bytes(8, "little")]
    ends = np.cumsum([0] + [len(t) for t in texts])
    return [ends.astype(np.int64 if kind == "large_utf8" else np.int32).tobytes(), b"".join(texts)]


TEXTS = {"utf8": "u", "large_utf8": "U", "utf8_view": "vu"}


def column_schema(name: str, kind: str) -> Schema:
    if kind.startswith("dictionary"):
        return schema(FORMATS[kind.split(":")[1]], name, dictionary=schema("u"))
    return schema({"bool": "b", "null": "n", **TEXTS, **FORMATS}[kind], name)


def column_array(kind: str, values: list[Any], shift: int = 0) -> Array:
    """An array of `values` (None: null) that begins `shift` values after the start of its buffers."""
    padded = [None] * shift + list(values)
    valid = None if None not in padded else bits([v is not None for v in padded])
    known: dict[str, Any] = dict(null_count=sum(v is None for v in values), offset=shift)
    if kind == "null":
        return array(len(values), [], null_count=len(values), offset=shift)
    if kind == "bool":
        return array(len(values), [valid, bits([bool(v) for v in padded])], **known)
    if kind in TEXTS:
        return array(len(values), [valid, *_text_buffers(kind, [(v or "").encode() for v in padded])], **known)
    if kind.startswith("dictionary"):
        words = sorted({v for v in padded if v is not None}) + ["unused"]
        codes = np.array([0 if v is None else words.index(v) for v in padded], kind.split(":")[1])
        return array(
            len(values), [valid, codes.tobytes()], dictionary=column_array("utf8", words), **known
        )
    stored = "int64" if kind.startswith("timestamp") else _STORED.get(kind, kind)
    return array(len(values), [valid, np.array([v or 0 for v in padded], stored).tobytes()], **known)


class Data:
    """Batches: each a dict of name to values, with the types of `kinds`.

    shift: the offset of arrays and batches from the start of their memory.
    """

    def __init__(self, kinds: dict[str, str], batches: list[dict[str, list[Any]]], shift: int = 0, fail: bool = False):
        self.kinds, self.batches, self.shift, self.fail = kinds, batches, shift, fail

    def schema(self) -> Schema:
        return schema("+s", "", [column_schema(name, kind) for name, kind in self.kinds.items()])

    def batch(self, values: dict[str, list[Any]]) -> Array:
        length = len(next(iter(values.values()))) if values else 0
        children = [
            column_array(kind, [None] * self.shift + list(values[name]), self.shift)
            for name, kind in self.kinds.items()
        ]
        return array(length, [None], offset=self.shift, children=children)

    def __arrow_c_schema__(self) -> Any:
        return capsule(self.schema(), b"arrow_schema")


class Table(Data):
    """The batches as a stream."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        makers = [lambda values=values: self.batch(values) for values in self.batches]
        return capsule(make_stream(self.schema, makers, self.fail), b"arrow_array_stream")


class Batch(Data):
    """The first batch as an array."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        return capsule(self.schema(), b"arrow_schema"), capsule(self.batch(self.batches[0]), b"arrow_array")


def _move(target: Any, struct: Any) -> None:
    c.memmove(target, c.byref(struct), c.sizeof(struct))


def make_stream(make_schema: Callable[[], Schema], batches: list[Callable[[], Array]], fail: bool = False) -> Stream:
    s = Stream()
    left = list(batches)
    message = c.create_string_buffer(b"the disk is gone")

    def get_schema(_: Any, out: Any) -> int:
        _move(out, make_schema())
        return 0

    def get_next(_: Any, out: Any) -> int:
        if fail:
            return 5
        if left:
            _move(out, left.pop(0)())
        else:
            c.memset(out, 0, c.sizeof(Array))
        return 0

    calls = GetSchema(get_schema), GetNext(get_next), GetError(lambda _: c.addressof(message))
    s.get_schema, s.get_next, s.get_last_error = calls
    s.release = _release_stream
    return _hold(s, [], calls, message)


_capsules: list[Any] = []


def capsule(struct: Any, name: bytes) -> Any:
    _capsules.append(struct)
    return _new(c.addressof(struct), name, None)


def release_rest() -> None:
    """Releases what nobody took out of its capsule, as the capsules of a library do when they are freed."""
    while _capsules:
        struct = _capsules.pop()
        if struct.release:
            struct.release(c.pointer(struct))


def in_use() -> int:
    """Structs that have not been released."""
    return len(_keep)
