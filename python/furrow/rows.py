"""Sparse samples: reading them, and their arrays."""

from __future__ import annotations
