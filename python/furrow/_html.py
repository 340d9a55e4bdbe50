"""Cards for notebooks: what an object is, and a small chart of its training.

Colours come from the page around the card (currentColor), so that it fits light and dark pages; nothing is loaded from
anywhere.
"""

from __future__ import annotations

import math
from html import escape
from typing import Any, Sequence

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 320, 120, 46, 18
_COLOURS = ("#2f7ed8", "#d9782d")  # train, valid: both readable on white and on black


def card(title: str, facts: Sequence[tuple[str, Any]], *charts: str) -> str:
    """A heading, a table of facts, and charts beside it. Facts that are None are left out."""
    rows = "".join(
        f'<tr><th scope="row" style="text-align:left;padding:1px 12px 1px 0;font-weight:normal;opacity:.7">'
        f'{escape(name)}</th><td style="text-align:left;padding:1px 0">{escape(text_of(value))}</td></tr>'
        for name, value in facts
        if value is not None
    )
    return (
        '<div style="font-family:sans-serif;font-size:13px;border:1px solid;border-radius:6px;border-color:#8886;'
        'padding:8px 12px;display:inline-flex;gap:24px;align-items:flex-start;flex-wrap:wrap;max-width:100%">'
        f'<div><div style="font-weight:bold;margin-bottom:4px">{escape(title)}</div>'
        f'<table style="border-collapse:collapse;border:none;color:inherit;font:inherit">{rows}</table></div>{"".join(charts)}</div>'
    )


def text_of(value: Any) -> str:
    """A fact as people read it: 1,234,567 and 0.1235."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def training_chart(history: Sequence[dict[str, Any]], metric: str = "loss") -> str:
    """The metric of training and validation rows over the epochs; "" where there are not two points.

    history has a dict for each epoch: {"epoch": 1, "train": {"loss": 0.6, …}, "valid": {"loss": 0.62, …}}.
    """
    lines = [(side, _points(history, side, metric)) for side in ("train", "valid")]
    lines = [(side, points) for side, points in lines if len(points) > 1]
    if not lines:
        return ""
    xs = [x for _, points in lines for x, _ in points]
    ys = [y for _, points in lines for _, y in points]
    box = (min(xs), max(xs), min(ys), max(ys) if max(ys) > min(ys) else min(ys) + 1)
    drawn = "".join(_line(points, box, _COLOURS[side == "valid"]) for side, points in lines)
    last = ", ".join(f"{side} {points[-1][1]:.4g}" for side, points in lines)
    label = f"{metric} over {len(xs) // len(lines)} epochs; at the end: {last}"
    return (
        f'<svg role="img" aria-label="{escape(label)}" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" style="max-width:100%;height:auto">'
        f"<title>{escape(label)}</title>{_axes(box, metric)}{drawn}{_legend(lines)}</svg>"
    )


def _points(history: Sequence[dict[str, Any]], side: str, metric: str) -> list[tuple[float, float]]:
    points = []
    for number, epoch in enumerate(history, 1):
        value = (epoch.get(side) or {}).get(metric)
        if value is not None and math.isfinite(value):
            points.append((float(epoch.get("epoch", number)), float(value)))
    return points


def _place(x: float, y: float, box: tuple[float, float, float, float]) -> tuple[float, float]:
    left, right, low, high = box
    across = (x - left) / (right - left) if right > left else 0.0
    up = (y - low) / (high - low)
    return _LEFT + across * (_WIDTH - _LEFT - 6), 8 + (1 - up) * (_HEIGHT - _BOTTOM - 16)


def _line(points: list[tuple[float, float]], box: tuple[float, float, float, float], colour: str) -> str:
    places = " ".join("{:.1f},{:.1f}".format(*_place(x, y, box)) for x, y in points)
    return f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{places}"/>'


def _axes(box: tuple[float, float, float, float], metric: str) -> str:
    left, right, low, high = box
    style = 'fill="currentColor" font-size="10" font-family="sans-serif"'
    bottom = _HEIGHT - _BOTTOM - 8
    return (
        f'<path d="M{_LEFT} 8V{bottom}H{_WIDTH - 6}" fill="none" stroke="currentColor" stroke-opacity=".4"/>'
        f'<text x="{_LEFT - 4}" y="14" text-anchor="end" {style}>{high:.3g}</text>'
        f'<text x="{_LEFT - 4}" y="{bottom}" text-anchor="end" {style}>{low:.3g}</text>'
        f'<text x="{_LEFT}" y="{_HEIGHT - 12}" {style}>{left:g}</text>'
        f'<text x="{_WIDTH - 6}" y="{_HEIGHT - 12}" text-anchor="end" {style}>epoch {right:g}</text>'
        f'<text x="4" y="{(8 + bottom) / 2 + 3:.0f}" {style}>{escape(metric)}</text>'
    )


def _legend(lines: list[tuple[str, list[tuple[float, float]]]]) -> str:
    parts = []
    for number, (side, _) in enumerate(lines):
        x = _WIDTH - 110 + 56 * number
        parts.append(
            f'<rect x="{x}" y="10" width="10" height="3" fill="{_COLOURS[side == "valid"]}"/>'
            f'<text x="{x + 14}" y="15" fill="currentColor" font-size="10" font-family="sans-serif">{side}</text>'
        )
    return "".join(parts)
