"""Cards for notebooks: what an object is, and a small chart of its training.

Colours come from the page around the card (currentColor), so that it fits light and dark pages; nothing is loaded from
anywhere.
"""

from __future__ import annotations

import math
from html import escape
from typing import Any, Sequence

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 320, 132, 40, 18
_COLOURS = ("#2f7ed8", "#d9782d")  # train, valid: both readable on white and on black
_FIGURES = {"loss": "loss", "auc": "AUC", "accuracy": "accuracy", "rmse": "RMSE", "mae": "MAE", "r2": "R²", "ndcg": "NDCG",
            "pinball": "pinball loss", "deviance": "Poisson deviance"}
_CELL = "text-align:left;vertical-align:top;padding:1px 12px 1px 0;border:none;background:none"
_TABLE = "border-collapse:collapse;border:none;color:inherit;font:inherit;margin:0"

Facts = Sequence[tuple[str, Any]]
History = Sequence[dict[str, Any]]


class Card:
    """Shows an object as a card: the facts of _facts(), and the charts and tables of _parts() next to them."""

    __slots__ = ()

    def _facts(self) -> Facts:
        raise NotImplementedError

    def _parts(self) -> list[str]:
        return []

    def _repr_html_(self) -> str:
        return card(type(self).__name__, self._facts(), *self._parts())


def card(title: str, facts: Facts, *parts: str) -> str:
    """A heading, a table of facts, and charts or tables next to it. Facts that are None are left out."""
    rows = "".join(
        f'<tr style="background:none"><th scope="row" style="{_CELL};font-weight:normal;opacity:.7">{escape(name)}</th>'
        f'<td style="{_CELL}">{escape(text_of(value))}</td></tr>'
        for name, value in facts
        if value is not None
    )
    listed = f'<table style="{_TABLE}"><tbody>{rows}</tbody></table>' if rows else ""
    return (
        '<div style="font-family:sans-serif;font-size:13px;line-height:1.4;border:1px solid #8886;border-radius:6px;'
        'padding:8px 12px;display:inline-flex;gap:4px 24px;align-items:flex-start;flex-wrap:wrap;max-width:100%;'
        'box-sizing:border-box">'
        f'<div><div style="font-weight:bold;margin-bottom:4px">{escape(title)}</div>{listed}</div>'
        f'{"".join(parts)}</div>'
    )


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table with a line of names."""
    grey = f"{_CELL};font-weight:normal;opacity:.7"
    names = "".join(f'<th scope="col" style="{grey}">{escape(name)}</th>' for name in head)
    lines = ["".join(f'<td style="{_CELL}">{escape(text_of(cell))}</td>' for cell in row) for row in rows]
    cells = "".join(f'<tr style="background:none">{line}</tr>' for line in lines)
    return f'<table style="{_TABLE}"><thead><tr>{names}</tr></thead><tbody>{cells}</tbody></table>'


def size_of(count: int) -> str:
    """A number of bytes in readable units."""
    size, units = float(count), ["bytes", "kB", "MB", "GB", "TB"]
    while size >= 1000 and len(units) > 1:
        size /= 1000
        units.pop(0)
    return f"{size:.3g} {units[0]}" if size < 1000 else f"{size:.0f} {units[0]}"


def training_facts(history: History) -> Facts:
    """The number of epochs, and the figures of the best one; history marks each epoch that was the best so far."""
    if not history:
        return []
    best = max((number for number, epoch in enumerate(history, 1) if epoch.get("best")), default=len(history))
    epochs = f"{len(history):,}, the best is {best:,}" if best < len(history) else len(history)
    return [("epochs", epochs), *epoch_facts(history[best - 1])]


def epoch_facts(epoch: dict[str, Any]) -> Facts:
    """The rows and the figures of an epoch: {"train_rows": 100, "train_loss": 0.6, "valid_loss": 0.62 …}."""
    rows = [f"{epoch[side + '_rows']:,} {side}" for side in ("train", "valid") if epoch.get(side + "_rows")]
    facts: list[tuple[str, Any]] = [("rows", ", ".join(rows) or None)]
    for name, shown in _FIGURES.items():
        sides = [(side, epoch.get(f"{side}_{name}")) for side in ("train", "valid")]
        known = [f"{value:.4g} {side}" for side, value in sides if value is not None and math.isfinite(value)]
        if known:
            facts.append((shown, ", ".join(known)))
    return facts


def text_of(value: Any) -> str:
    """A fact in readable form: 1,234,567 and 0.1235."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def training_chart(history: History, metric: str = "loss") -> str:
    """The metric of training and validation rows over the epochs; "" where there are not two points.

    history: a dict for each epoch, as history_ of the estimators: {"epoch": 1, "train_loss": 0.6, "valid_loss": 0.62}.
    """
    lines = [(side, _points(history, f"{side}_{metric}")) for side in ("train", "valid")]
    lines = [(side, points) for side, points in lines if len(points) > 1]
    if not lines:
        return ""
    xs = [x for _, points in lines for x, _ in points]
    ys = [y for _, points in lines for _, y in points]
    box = (min(xs), max(xs), min(ys), max(ys) if max(ys) > min(ys) else min(ys) + 1)
    drawn = "".join(_line(points, box, _COLOURS[side == "valid"]) for side, points in lines)
    last = ", ".join(f"{side} {points[-1][1]:.4g}" for side, points in lines)
    label = f"{metric} over {len({*xs})} epochs; at the end: {last}"
    return (
        f'<svg role="img" aria-label="{escape(label)}" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" style="max-width:100%;height:auto">'
        f"<title>{escape(label)}</title>{_legend(lines, metric)}{_axes(box)}{drawn}</svg>"
    )


def _points(history: History, name: str) -> list[tuple[float, float]]:
    points = []
    for number, epoch in enumerate(history, 1):
        value = epoch.get(name)
        if value is not None and math.isfinite(value):
            points.append((float(epoch.get("epoch", number)), float(value)))
    return points


_TEXT = 'fill="currentColor" font-size="10" font-family="sans-serif"'
_TOP = 22  # the legend is above the lines, which it must not cover


def _place(x: float, y: float, box: tuple[float, float, float, float]) -> tuple[float, float]:
    left, right, low, high = box
    across = (x - left) / (right - left) if right > left else 0.0
    up = (y - low) / (high - low)
    return _LEFT + across * (_WIDTH - _LEFT - 6), _TOP + (1 - up) * (_HEIGHT - _BOTTOM - _TOP)


def _line(points: list[tuple[float, float]], box: tuple[float, float, float, float], colour: str) -> str:
    places = " ".join("{:.1f},{:.1f}".format(*_place(x, y, box)) for x, y in points)
    return f'<polyline fill="none" stroke="{colour}" stroke-width="2" stroke-linejoin="round" points="{places}"/>'


def _axes(box: tuple[float, float, float, float]) -> str:
    left, right, low, high = box
    bottom = _HEIGHT - _BOTTOM
    return (
        f'<path d="M{_LEFT} {_TOP}V{bottom}H{_WIDTH - 6}" fill="none" stroke="currentColor" stroke-opacity=".4"/>'
        f'<text x="{_LEFT - 4}" y="{_TOP + 6}" text-anchor="end" {_TEXT}>{high:.3g}</text>'
        f'<text x="{_LEFT - 4}" y="{bottom}" text-anchor="end" {_TEXT}>{low:.3g}</text>'
        f'<text x="{_LEFT}" y="{_HEIGHT - 5}" {_TEXT}>{left:g}</text>'
        f'<text x="{_WIDTH - 6}" y="{_HEIGHT - 5}" text-anchor="end" {_TEXT}>epoch {right:g}</text>'
    )


def _legend(lines: list[tuple[str, list[tuple[float, float]]]], metric: str) -> str:
    parts = [f'<text x="{_LEFT}" y="12" {_TEXT}>{escape(metric)}</text>']
    for number, (side, _) in enumerate(lines):
        x = _WIDTH - 6 - 52 * (len(lines) - number)
        parts.append(
            f'<rect x="{x}" y="7" width="12" height="3" fill="{_COLOURS[side == "valid"]}"/>'
            f'<text x="{x + 16}" y="12" {_TEXT}>{side}</text>'
        )
    return "".join(parts)
