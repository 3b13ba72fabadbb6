"""Figures: each is one function, arrays in, matplotlib Figure out; matplotlib is imported when a figure is drawn."""

from __future__ import annotations

from .curves import curves
from .layers import layers

__all__ = ["curves", "layers"]
