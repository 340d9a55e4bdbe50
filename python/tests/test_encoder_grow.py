"""Encoders that learn the names of another log."""

from __future__ import annotations

import pathlib

import furrow


def write(path: pathlib.Path, rows: list[str]) -> pathlib.Path:
    path.write_text("\n".join(["user,color,click", *rows]) + "\n")
    return path


def test_names_are_added_and_features_stay(tmp_path: pathlib.Path) -> None:
    first = write(tmp_path / "first.csv", [f"u{i % 5},{'red' if i % 2 else 'blue'},{i % 3 % 2}" for i in range(40)])
    second = write(tmp_path / "second.csv", [f"u{i % 8},{'red' if i % 2 else 'green'},{i % 3 % 2}" for i in range(40)])
    encoder = furrow.Encoder.build(first, label="click", user="user")
    grown = encoder.grow(second)
    assert grown.n_features == encoder.n_features + 4
    assert [f.name for f in grown.features(0, encoder.n_features)] == [f.name for f in encoder.features()]
    assert set(grown.names("user")) == {f"u{i}" for i in range(8)}
    assert grown.names("color")[:2] == encoder.names("color")
    assert grown.names("color", 2) == ["green"]
    assert grown.find("user", "u7") >= encoder.n_features
    assert encoder.grow(second, max_features=encoder.n_features + 1).n_features == encoder.n_features + 1
    assert grown.grow(first).n_features == grown.n_features
