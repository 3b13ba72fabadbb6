"""Figures: each is one function, arrays in, matplotlib Figure out; matplotlib is imported when a figure is drawn."""

from __future__ import annotations

from .bands import bands
from .basins import basins
from .confusion import confusion
from .contours import contours, race
from .curves import curves
from .landscape import landscape, profile
from .layers import layers
from .lookahead import lookahead
from .network import network
from .paired import paired
from .panels import panels
from .points import lifted, points
from .rates import rates
from .regions import links, regions, simplex
from .reliability import reliability
from .residuals import residuals
from .slopes import slopes
from .spectrum import spectrum
from .step_lengths import step_lengths
from .tradeoff import tradeoff
from .updates import updates
from .whiskers import whiskers

__all__ = [
    "bands",
    "basins",
    "confusion",
    "contours",
    "curves",
    "landscape",
    "layers",
    "lifted",
    "links",
    "lookahead",
    "network",
    "panels",
    "paired",
    "points",
    "profile",
    "race",
    "rates",
    "regions",
    "reliability",
    "residuals",
    "simplex",
    "slopes",
    "spectrum",
    "step_lengths",
    "tradeoff",
    "updates",
    "whiskers",
]
