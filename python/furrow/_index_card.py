"""The card of an index: what it was built from, its recall, whether it is stale."""

from __future__ import annotations

from typing import Any, NamedTuple

from furrow import _core
from furrow._html import Facts


class CardVectors(NamedTuple):
    """Vectors of an index, and how far they were from their centroids when they were added (None: there are no
    distances)."""

    vectors: int
    digest: int
    measured: int
    mean: float | None
    median: float | None
    far: float | None


class IndexCard(NamedTuple):
    """What Index.card knows."""

    factory: str
    built: CardVectors
    added: CardVectors
    removed: int
    recall: float | None
    recall_k: int
    recall_queries: int
    recall_vectors: int
    distance_ratio: float | None
    stale: bool
    advice: str


def _known(fields: dict[str, Any]) -> dict[str, Any]:
    """Numbers that are not known, NaN in C, are None."""
    return {key: None if value != value else value for key, value in fields.items()}


def as_card(parts: tuple[dict[str, Any], dict[str, Any], dict[str, Any]] | None) -> IndexCard | None:
    """The card of a native index."""
    if parts is None:
        return None
    card, built, added = (_known(part) for part in parts)
    return IndexCard(built=CardVectors(**built), added=CardVectors(**added), **card)


def card_facts(index: _core.Index) -> Facts:
    """The lines of the card in a notebook."""
    try:
        card = as_card(index.card())
    except Exception as error:
        return [("card", str(error))]
    if card is None:
        return []
    facts: list[tuple[str, Any]] = []
    if card.recall is not None:
        facts += [("recall", f"{card.recall:.3f} of the {card.recall_k} nearest")]
    if card.built.vectors and (card.added.vectors or card.removed):
        facts += [("since the build", f"{card.added.vectors:,} added, {card.removed:,} removed")]
    return facts + ([("state", card.advice)] if card.stale else [])
