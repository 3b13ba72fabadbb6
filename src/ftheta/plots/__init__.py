"""Figures: each is one function, arrays in, matplotlib Figure out; matplotlib is imported when a figure is drawn."""

from __future__ import annotations

from .bands import bands
from .basins import basins
from .class_densities import class_densities
from .confusion import confusion
from .contours import contours, race
from .cost_lines import cost_lines
from .coverage import coverage
from .curves import curves
from .diagnostics import diagnostics
from .drag import drag
from .ellipses import ellipses
from .extended import extended
from .fitted import fitted
from .landscape import landscape, profile
from .layers import layers
from .lookahead import lookahead
from .network import network
from .paired import paired
from .panels import panels
from .paths import paths
from .points import lifted, points
from .rates import rates
from .regions import links, regions, simplex
from .reliability import reliability
from .residuals import residuals
from .slopes import slopes
from .spectrum import spectrum
from .step_lengths import step_lengths
from .terms import coefficients, terms
from .territory import territory
from .thresholds import thresholds
from .tradeoff import tradeoff
from .updates import updates
from .whiskers import whiskers

__all__ = [
    "bands",
    "basins",
    "class_densities",
    "coefficients",
    "confusion",
    "contours",
    "cost_lines",
    "coverage",
    "curves",
    "diagnostics",
    "drag",
    "ellipses",
    "extended",
    "fitted",
    "landscape",
    "layers",
    "lifted",
    "links",
    "lookahead",
    "network",
    "paired",
    "panels",
    "paths",
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
    "terms",
    "territory",
    "thresholds",
    "tradeoff",
    "updates",
    "whiskers",
]
