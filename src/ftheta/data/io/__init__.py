"""Data from files."""

from __future__ import annotations

from ...catalog import lazy

lazy(__name__)
