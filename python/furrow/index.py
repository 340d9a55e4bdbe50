"""Vector indexes in Faiss's file format."""

from __future__ import annotations
