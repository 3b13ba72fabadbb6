"""Explanations: what happens inside a model, as numbers, tables and figures.

    explain.summary(net, X)                       layers, shapes, parameters, multiply-adds
    explain.gradient_flow(model, X, y)            where the gradient arrives
    explain.activations(model, X)                 what every layer gives; dead and saturated units
    explain.curves(model)                         the history of training
    explain.network(model)                        circles and lines, every Ω and β with its shape; dropout
    explain.available(model)                      what this model can give
    explain.run("gradient-flow", model, X, y)     any of them by name

Each is registered with the capability that it needs, never with a family.
"""

from __future__ import annotations

from ._registry import Explanation, HasHistory, HasModule, HasObjective, available, explanation, get, run
from .activations import Activations, activations
from .curves import Curves, curves
from .flow import GradientFlow, gradient_flow
from .network import Network, network
from .summary import Summary, summary

__all__ = [
    "Activations",
    "Curves",
    "Explanation",
    "GradientFlow",
    "HasHistory",
    "HasModule",
    "HasObjective",
    "Network",
    "Summary",
    "activations",
    "available",
    "curves",
    "explanation",
    "get",
    "gradient_flow",
    "network",
    "run",
    "summary",
]
