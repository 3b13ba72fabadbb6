"""Figures: each is one function, arrays in, matplotlib Figure out; matplotlib is imported when a figure is drawn."""

from __future__ import annotations

from .bands import bands
from .confusion import confusion
from .curves import curves
from .layers import layers
from .network import network
from .points import lifted, points
from .regions import links, regions, simplex
from .reliability import reliability
from .residuals import residuals
from .slopes import slopes
from .tradeoff import tradeoff
from .whiskers import whiskers

__all__ = [
    "bands",
    "confusion",
    "curves",
    "layers",
    "lifted",
    "links",
    "network",
    "points",
    "regions",
    "reliability",
    "residuals",
    "simplex",
    "slopes",
    "tradeoff",
    "whiskers",
]
