"""The specification of an index: from a factory string as in Faiss, or from the number of vectors."""

from __future__ import annotations

import math
import re
from typing import Any

from furrow import _core

Spec = dict[str, Any]

#: vectors below which a product quantizer is not worth its own size
FEW_VECTORS = 10_000
#: vectors that k-means wants for each list
VECTORS_PER_LIST = 39


#: names of metrics, and their numbers in Faiss; a cosine is an inner product of vectors of length 1
_METRICS = {"l2": 1, "euclidean": 1, "ip": 0, "inner_product": 0, "cosine": 0}


def as_metric(metric: str | int) -> Spec:
    """The fields of a metric by its name, in any case; also 1 and 0, the numbers of Faiss for L2 and inner product."""
    if type(metric) is int and metric in (0, 1):
        return {"metric": metric}
    name = metric.lower().replace(" ", "_") if isinstance(metric, str) else ""
    if name not in _METRICS:
        names = ", ".join(repr(name) for name in _METRICS)
        raise ValueError(f"metric is {metric!r}, but must be one of {names}")
    return {"metric": _METRICS[name]} | ({"normalize": True} if name == "cosine" else {})


def default_nlist(n: int) -> int:
    """The power of two that is nearest to 4 * sqrt(n), but with at least 39 vectors for each list."""
    most = max(n // VECTORS_PER_LIST, 1)
    return int(min(2 ** round(math.log2(4 * math.sqrt(max(n, 1)))), 2 ** int(math.log2(most))))


def default_nprobe(nlist: int) -> int:
    """A quarter of the lists, but 8 to 128 of them: with codes of the default size, more lists find hardly more."""
    return min(max(nlist // 4, 8), 128, nlist)


def default_m(n: int, d: int) -> int:
    """0 (vectors as they are) below 10,000 vectors; else the largest divisor of d that is at most d / 4 and 64."""
    if n < FEW_VECTORS:
        return 0
    return max(m for m in range(1, max(min(d // 4, 64), 1) + 1) if d % m == 0)


def _unsupported(text: str, part: str, instead: str = "") -> Exception:
    hint = f"; {instead}" if instead else ""
    return _core.UnsupportedError(f"{text!r}: Furrow cannot build the part {part!r}{hint}")


def _set(spec: Spec, text: str, part: str, **fields: Any) -> None:
    taken = [name for name in fields if name in spec]
    if taken:
        raise ValueError(f"{text!r}: the part {part!r} says again what a part before it said")
    spec.update(fields)


_HINTS = (
    (re.compile(r"Flat|HNSW.*"), "it builds indexes with lists: 'IVF1,Flat' searches exactly"),
    (re.compile(r"IDMap2"), "'IDMap' can reconstruct vectors, too"),
)


def _parse_first(spec: Spec, text: str, part: str) -> bool:
    """A part before the lists, or the lists."""
    if part == "IDMap":
        _set(spec, text, part, id_map=True)
    elif part == "L2norm":
        if spec.get("opq"):
            raise _unsupported(text, part, "L2norm has to come before OPQ")
        _set(spec, text, part, normalize=True)
    elif found := re.fullmatch(r"OPQ(\d+)(?:_(\d+))?", part):
        _set(spec, text, part, opq=True, opq_m=int(found[1]), opq_d=int(found[2] or 0))
    elif found := re.fullmatch(r"IVF(\d+)(?:_HNSW(\d*))?", part):
        _set(spec, text, part, nlist=int(found[1]), hnsw_m=0 if found[2] is None else int(found[2] or 32))
    else:
        return False
    return True


def _parse_code(spec: Spec, text: str, part: str) -> bool:
    """What the lists store."""
    if part == "Flat":
        _set(spec, text, part, m=0)
    elif found := re.fullmatch(r"PQ(\d+)\+(\d+)", part):
        _set(spec, text, part, m=int(found[1]), refine_m=int(found[2]))
    elif found := re.fullmatch(r"PQ(\d+)(?:x(\d+))?(?:np)?", part):
        _set(spec, text, part, m=int(found[1]), nbits=int(found[2] or 8))
        if spec["m"] == 0:
            raise ValueError(f"{text!r}: the part {part!r} needs at least one sub-quantizer")
    else:
        return False
    return True


def _parse_last(spec: Spec, text: str, part: str) -> bool:
    """A part after the codes."""
    if part in ("RFlat", "Refine(Flat)"):
        _set(spec, text, part, refine_flat=True)
    elif part == "IDMap":
        _set(spec, text, part, id_map=True)
    else:
        return False
    return True


def parse_factory(text: str) -> Spec:
    """The fields of furrow_index_spec for a factory string.

    >>> parse_factory("OPQ16_64,IVF256_HNSW32,PQ16x8,RFlat")["opq_d"]
    64
    """
    if not isinstance(text, str):
        raise TypeError(f"a factory string is needed, not {text!r}")
    spec: Spec = {}
    for part in text.replace(" ", "").split(","):
        step = _parse_last if "m" in spec else _parse_code if "nlist" in spec else _parse_first
        if not step(spec, text, part):
            hints = [hint for pattern, hint in _HINTS if pattern.fullmatch(part)]
            raise _unsupported(text, part, *hints[:1])
    if "m" not in spec:
        missing = "codes, as in PQ16 or Flat," if "nlist" in spec else "lists, as in IVF1024,"
        raise ValueError(f"{text!r}: {missing} are missing")
    opq_m = spec.pop("opq_m", None)
    if opq_m is not None and opq_m != spec["m"]:
        raise _unsupported(text, f"OPQ{opq_m}", f"its number must be the same as in PQ{spec['m']}")
    return spec
