"""Items for users, by name."""

from __future__ import annotations
