"""Data sets by name: built in, synthetic, and files."""

from __future__ import annotations

from ...catalog import lazy

lazy(__name__)
