"""Furrow: samples, models and vector indexes for recommender and search systems."""

from furrow._core import (
    ArgumentError,
    CancelledError,
    Error,
    ExistsError,
    FormatError,
    IoError,
    MemoryError,
    NotFoundError,
    ParseError,
    RangeError,
    StaleError,
    StateError,
    UnsupportedError,
    version as __version__,
)
