"""Trained models: scores, explanations, matrices, vectors."""

from __future__ import annotations
