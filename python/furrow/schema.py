"""Raw logs with names: what their columns are, and how they become rows."""

from __future__ import annotations
