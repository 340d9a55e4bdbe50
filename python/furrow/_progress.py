"""Progress of long calls: a function of the caller, or a bar."""

from __future__ import annotations

import sys
from typing import Any, Callable, Union

#: progress(phase, done, total); total is 0 where it is unknown. Returning False stops the call.
Callback = Callable[[str, int, int], Any]
Progress = Union[Callback, bool, None]


def as_callback(progress: Progress) -> Callback | None:
    """None and False: no progress. True: a bar of tqdm, or a line on stderr where tqdm is not installed."""
    if progress is None or progress is False:
        return None
    if progress is not True:
        return progress
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _print_line
    return _bar(tqdm)


def _bar(tqdm: Any) -> Callback:
    bars: dict[str, Any] = {}

    def show(phase: str, done: int, total: int) -> None:
        if phase not in bars:
            for bar in bars.values():
                bar.close()
            bars[phase] = tqdm(desc=phase, total=total or None, unit_scale=True)
        bars[phase].update(done - bars[phase].n)

    return show


def _print_line(phase: str, done: int, total: int) -> None:
    share = f" {100 * done // total} %" if total else f" {done}"
    print(f"\rfurrow: {phase}{share}", end="", file=sys.stderr, flush=True)
