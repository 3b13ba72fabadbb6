"""Explanations: what happens inside a model, as numbers, tables and figures.

    explain.summary(net, X)                       layers, shapes, parameters, multiply-adds
    explain.gradient_flow(model, X, y)            where the gradient arrives
    explain.activations(model, X)                 what every layer gives; dead and saturated units
    explain.curves(model)                         the history of training
    explain.network(model)                        circles and lines, every Ω and β with its shape; dropout
    explain.landscape(model, X, y)                the loss around the weights; line: between two solutions
    explain.spectrum(model, X, y)                 eigenvalues of the Hessian; sharpness: the largest
    explain.learning_rate(model, X, y)            the range test, and the rate that it suggests
    explain.statistics(model, X, y)               standard errors, tests and diagnostics
    explain.solvers(model, X, y)                  the loss over two coefficients, and the way of every solver
    explain.drag(model, X, y, row)                what one row does to a fit as it is dragged
    explain.fit(model, X, y)                      a curve or a surface through its rows, with residuals
    explain.regions(model, X, y)                  which class wins where, and how surely
    explain.available(model)                      what this model can give
    explain.run("gradient-flow", model, X, y)     any of them by name

Each is registered with the capability that it needs, never with a family.
"""

from __future__ import annotations

from ._registry import Explanation, HasHistory, HasModule, HasObjective, available, explanation, get, run
from .activations import Activations, activations
from .curves import Curves, curves
from .densities import Densities, HasGaussians, densities
from .drag import Drag, drag
from .examples import ExampleGradients, example_gradients
from .fit import Fit, HasPredictions, fit
from .flow import GradientFlow, gradient_flow
from .landscape import Landscape, jaggedness, landscape, plane
from .learning_rate import LearningRate, learning_rate
from .line import Line, line
from .lookahead import Lookahead, lookahead
from .network import Network, network
from .regions import HasClasses, Regions, regions
from .solvers import HasPlane, Solvers, solvers
from .spectrum import Spectrum, sharpness, spectrum
from .statistics import HasStatistics, statistics
from .steps import Directions, StepLengths, directions, step_lengths
from .summary import Summary, summary
from .trajectories import Trajectories, trajectories
from .updates import Updates, updates

__all__ = [
    "Activations",
    "Curves",
    "Densities",
    "Directions",
    "Drag",
    "ExampleGradients",
    "Explanation",
    "Fit",
    "GradientFlow",
    "HasClasses",
    "HasGaussians",
    "HasHistory",
    "HasModule",
    "HasObjective",
    "HasPlane",
    "HasPredictions",
    "HasStatistics",
    "Landscape",
    "LearningRate",
    "Line",
    "Lookahead",
    "Network",
    "Regions",
    "Solvers",
    "Spectrum",
    "StepLengths",
    "Summary",
    "Trajectories",
    "Updates",
    "activations",
    "available",
    "curves",
    "densities",
    "directions",
    "drag",
    "example_gradients",
    "explanation",
    "fit",
    "get",
    "gradient_flow",
    "jaggedness",
    "landscape",
    "learning_rate",
    "line",
    "lookahead",
    "network",
    "plane",
    "regions",
    "run",
    "sharpness",
    "solvers",
    "spectrum",
    "statistics",
    "step_lengths",
    "summary",
    "trajectories",
    "updates",
]
