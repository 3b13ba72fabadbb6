"""Figures: each is one function, arrays in, matplotlib Figure out; matplotlib is imported when a figure is drawn."""

from __future__ import annotations

from .attraction import attraction
from .augmented import augmented
from .backprop import backprop, backprop_boxes
from .bands import bands
from .basins import basins
from .class_densities import class_densities
from .computation import computation
from .confusion import confusion
from .contours import contours, race
from .cost_lines import cost_lines
from .coverage import coverage
from .curves import curves
from .diagnostics import diagnostics
from .diagram import diagram
from .drag import drag
from .ellipses import ellipses
from .energy_paths import energy_paths
from .equilibria import equilibria
from .extended import extended
from .fields import fields
from .filled import filled
from .film import film
from .filters import filters
from .fitted import fitted
from .flow_over_steps import flow_over_steps
from .gradient_check import gradient_check
from .grids import grids
from .landscape import landscape, profile
from .layer_filters import layer_filters
from .layers import layers
from .lookahead import lookahead
from .maps import maps
from .network import network
from .nudge import nudge
from .paired import paired
from .panels import panels
from .patches import patches
from .paths import paths
from .points import lifted, points
from .rates import rates
from .regions import links, regions, simplex
from .reliability import reliability
from .residuals import residuals
from .saliency import saliency
from .sampled import sampled, sampled_points
from .segmented import segmented
from .side_by_side import side_by_side
from .slopes import slopes
from .spectrum import spectrum
from .step_lengths import step_lengths
from .terms import coefficients, terms
from .territory import territory
from .thresholds import thresholds
from .tradeoff import tradeoff
from .updates import updates
from .violations import violations
from .whiskers import whiskers

__all__ = [
    "attraction",
    "augmented",
    "backprop",
    "backprop_boxes",
    "bands",
    "basins",
    "class_densities",
    "coefficients",
    "computation",
    "confusion",
    "contours",
    "cost_lines",
    "coverage",
    "curves",
    "diagnostics",
    "diagram",
    "drag",
    "ellipses",
    "energy_paths",
    "equilibria",
    "extended",
    "fields",
    "filled",
    "film",
    "filters",
    "fitted",
    "flow_over_steps",
    "gradient_check",
    "grids",
    "landscape",
    "layer_filters",
    "layers",
    "lifted",
    "links",
    "lookahead",
    "maps",
    "network",
    "nudge",
    "paired",
    "panels",
    "patches",
    "paths",
    "points",
    "profile",
    "race",
    "rates",
    "regions",
    "reliability",
    "residuals",
    "saliency",
    "sampled",
    "sampled_points",
    "segmented",
    "side_by_side",
    "simplex",
    "slopes",
    "spectrum",
    "step_lengths",
    "terms",
    "territory",
    "thresholds",
    "tradeoff",
    "updates",
    "violations",
    "whiskers",
]
