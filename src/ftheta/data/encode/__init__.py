"""Cells as numbers: what the encoder of tables and every exported script share, in one file that needs no fθ."""

from __future__ import annotations

from ._exported import MISSING, PLAIN, date, days_of, number, numbers, places

__all__ = ["MISSING", "PLAIN", "date", "days_of", "number", "numbers", "places"]
