"""Estimators after scikit-learn's contract."""

from __future__ import annotations
