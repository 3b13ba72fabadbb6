"""Rows as numbers that a net can learn from, and how exported scripts do the same."""

from __future__ import annotations

from ...catalog import lazy

lazy(__name__)
