"""Replacements for scikit-learn's base classes, for when it is not installed."""

from __future__ import annotations

from typing import Any

import numpy as np


class BaseEstimator:
    """A repr of the parameters that are not None."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        raise NotImplementedError

    def __repr__(self) -> str:
        given = [f"{name}={value!r}" for name, value in self.get_params().items() if value is not None]
        return f"{type(self).__name__}({', '.join(given)})"


class ClassifierMixin:
    """The accuracy as the score."""

    _estimator_type = "classifier"

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        right = np.asarray(self.predict(X)) == np.asarray(y)  # type: ignore[attr-defined]
        return float(np.average(right, weights=sample_weight))


class RegressorMixin:
    """R² as the score."""

    _estimator_type = "regressor"

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        numbers = np.asarray(y, dtype=np.float64)
        error = (np.asarray(self.predict(X)) - numbers) ** 2  # type: ignore[attr-defined]
        mean = np.average(numbers, weights=sample_weight)
        total = np.average((numbers - mean) ** 2, weights=sample_weight)
        return float(1 - np.average(error, weights=sample_weight) / total) if total > 0 else 0.0
