"""Index.card: what an index was built from, its recall, and whether it is stale."""

from pathlib import Path

import numpy as np
import pytest

import furrow
from furrow.index import Index


def vectors(seed: int, n: int) -> np.ndarray:
    """Vectors around centres; seed // 100 decides the centres."""
    centres = 2 * np.random.default_rng(seed // 100).standard_normal((24, 16))
    rng = np.random.default_rng(seed)
    return (centres[rng.integers(24, size=n)] + 0.7 * rng.standard_normal((n, 16))).astype(np.float32)


def test_it_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "i.index"
    x = vectors(101, 2000)
    index = Index.build(x, factory="IVF32,PQ4x4,RFlat", recall=0.9)
    card = index.card
    assert card is not None
    assert card.factory == "IVF32,PQ4x4,RFlat" and card.built.vectors == 2000 and card.added.vectors == 0
    assert card.recall is not None and card.recall >= 0.9 and card.recall_k == 10 and card.recall_vectors == 2000
    assert not card.stale and card.advice == "" and card.distance_ratio is None
    index.save(path)
    index = Index.load(path)
    assert index.card == card
    index.add(vectors(102, 500))
    index.update([3], vectors(103, 1))
    index.remove_ids(range(10, 15))
    changed = index.card
    assert changed is not None
    assert changed.added.vectors == 501 and changed.removed == 6 and not changed.stale
    assert changed.distance_ratio == pytest.approx(1, abs=0.1)
    assert "501 added, 6 removed" in index._repr_html_() and "of the 10 nearest" in index._repr_html_()
    index.save(path, overwrite=True)
    assert Index.load(path).card == changed
    assert Index.load(path, mmap=True).card is None


def test_it_becomes_stale(tmp_path: Path) -> None:
    index = Index.build(vectors(101, 2000), factory="IVF32,Flat")
    index.add(vectors(201, 500))
    card = index.card
    assert card is not None and card.stale and card.distance_ratio is not None and card.distance_ratio > 1.3
    assert card.advice.startswith("stale: rebuild: the 500 vectors")
    assert "stale: rebuild" in index._repr_html_()
    flat = Index.build(vectors(101, 2000), factory="Flat")
    flat.add(vectors(201, 500))
    assert flat.card is not None and not flat.card.stale and flat.card.built.mean is None


def test_other_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "i.index"
    index = Index.build(vectors(101, 500), factory="IVF8,Flat")
    index.save(path)
    text = (tmp_path / "i.index.card").read_text()
    (tmp_path / "i.index.card").write_text(text.replace('"vectors": 500', '"vectors": 501'))
    loaded = Index.load(path)
    with pytest.raises(furrow.FormatError, match="is damaged"):
        loaded.card
    assert "is damaged" in loaded._repr_html_()
    index.add(vectors(102, 1))
    index.save(path, overwrite=True)
    (tmp_path / "i.index.card").write_text(text)
    with pytest.raises(furrow.FormatError, match="belongs to another index"):
        Index.load(path).card
    (tmp_path / "i.index.card").unlink()
    assert Index.load(path).card is None and Index.from_bytes(index.to_bytes()).card is None
