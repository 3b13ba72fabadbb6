"""Cells as numbers: what the encoder of tables and exported scripts share is one file, which needs no fθ."""

from __future__ import annotations

__all__: list[str] = []
