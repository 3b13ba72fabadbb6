"""Explanations: what happens inside a model, as numbers, tables and figures.

    explain.summary(net, X)                       layers, shapes, parameters, multiply-adds
    explain.gradient_flow(model, X, y)            where the gradient arrives
    explain.flow_over_steps(model, X, y)          the same by layer and step of a run: vanishing, exploding, what helps
    explain.gradient_check(layer, X)              backward passes against differences; which mistake a wrong one is
    explain.nudge(net, X, y)                      one weight changed a little: every layer, the loss, the first order
    explain.animate(net, X, y).save("film.html")  a forward and a backward pass as a page that plays
    explain.activations(model, X)                 what every layer gives; dead and saturated units
    explain.backprop(net, X, y, loss)             every number of a gradient: tables, a picture, an exercise
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
    explain.receptive_field(model)                which inputs a unit sees: computed, and by its gradient
    explain.equivariance(net, Shift(1), X)        what shifts, flips and turns do to every layer
    explain.convolve(x, kernel)                   a window over the input, sum by sum; pool, downsampling, upsampling
    explain.expression(net)                       a small dense net written out: text and LaTeX
    explain.diagram(model)                        layers, sizes and skips as boxes and arrows
    explain.filters(model)                        kernels as pictures, beside Sobel's and Laplace's
    explain.feature_maps(model, X)                one picture, its maps after each layer, the probabilities
    explain.saliency(model, X, method="gradcam")  which places speak for a class; saliency_check: of the net, or not
    explain.top_patches(model, X)                 the parts of rows that excite units most, by layer
    explain.synthesise(model, "conv2", X=X)       the input that excites a unit
    explain.chains(machine, X)                    Gibbs chains from given rows as a film strip, and how far they get
    explain.filled_in(machine, X)                 rows of pictures removed and filled in, beside the mean image
    explain.samples(model, X)                     new rows, beside the training rows nearest to them
    explain.energy_surface(memory)                the energy, and the ways of states down to where they rest
    explain.basins(memory)                        which state each start leads to; shares of random starts
    explain.equilibria(memory)                    all states that stay, with eigenvalues: attractors or not
    explain.recalled(memory, X)                   patterns, with noise, and some steps later
    explain.available(model)                      what this model can give
    explain.run("gradient-flow", model, X, y)     any of them by name

Each is registered with the capability that it needs, never with a family.
"""

from __future__ import annotations

from ._memories import HasMemories
from ._registry import Explanation, HasHistory, HasModule, HasObjective, available, explanation, get, run
from ._sheet import Sheet
from .activations import Activations, activations
from .animate import Animation, animate
from .backprop import Backprop, BackpropStep, backprop
from .basins import Basins, basins
from .chains import Chains, chains
from .convolve import Convolved, Pooled, convolve, pool
from .curves import Curves, curves
from .densities import Densities, HasGaussians, densities
from .diagram import Diagram, Node, diagram
from .drag import Drag, drag
from .energy_surface import EnergySurface, energy_surface
from .equilibria import Equilibria, HasEquilibria, equilibria
from .equivariance import Equivariance, equivariance, invariance
from .examples import ExampleGradients, example_gradients
from .expression import Expression, expression
from .feature_maps import FeatureMaps, feature_maps
from .filled_in import FilledIn, filled_in
from .filters import Filters, filters
from .fit import Fit, HasPredictions, fit
from .flow import GradientFlow, gradient_flow
from .flow_over_steps import FlowOverSteps, flow_over_steps
from .gradient_check import GradientCheck, gradient_check
from .landscape import Landscape, jaggedness, landscape, plane
from .learning_rate import LearningRate, learning_rate
from .line import Line, line
from .lookahead import Lookahead, lookahead
from .network import Network, network
from .nudge import Nudge, nudge
from .recalled import Recalled, recalled
from .receptive_field import ReceptiveField, receptive_field
from .regions import HasClasses, Regions, regions
from .report_example import HybridOutput, report_example
from .resample import Resampled, downsampling, upsampling
from .saliency import Saliency, saliency
from .saliency_check import SaliencyCheck, saliency_check
from .samples import Samples, samples
from .segmentation import HasMaps, Segments, segments
from .solvers import HasPlane, Solvers, solvers
from .spectrum import Spectrum, sharpness, spectrum
from .statistics import HasStatistics, statistics
from .steps import Directions, StepLengths, directions, step_lengths
from .summary import Summary, summary
from .synthesise import Synthesised, synthesise
from .top_patches import TopPatches, top_patches
from .trajectories import Trajectories, trajectories
from .updates import Updates, updates

__all__ = [
    "Activations",
    "Animation",
    "Backprop",
    "BackpropStep",
    "Basins",
    "Chains",
    "Convolved",
    "Curves",
    "Densities",
    "Diagram",
    "Directions",
    "Drag",
    "EnergySurface",
    "Equilibria",
    "Equivariance",
    "ExampleGradients",
    "Explanation",
    "Expression",
    "FeatureMaps",
    "FilledIn",
    "Filters",
    "Fit",
    "FlowOverSteps",
    "GradientCheck",
    "GradientFlow",
    "HasClasses",
    "HasEquilibria",
    "HasGaussians",
    "HasHistory",
    "HasMaps",
    "HasMemories",
    "HasModule",
    "HasObjective",
    "HasPlane",
    "HasPredictions",
    "HasStatistics",
    "HybridOutput",
    "Landscape",
    "LearningRate",
    "Line",
    "Lookahead",
    "Network",
    "Node",
    "Nudge",
    "Pooled",
    "Recalled",
    "ReceptiveField",
    "Regions",
    "Resampled",
    "Saliency",
    "SaliencyCheck",
    "Samples",
    "Segments",
    "Sheet",
    "Solvers",
    "Spectrum",
    "StepLengths",
    "Summary",
    "Synthesised",
    "TopPatches",
    "Trajectories",
    "Updates",
    "activations",
    "animate",
    "available",
    "backprop",
    "basins",
    "chains",
    "convolve",
    "curves",
    "densities",
    "diagram",
    "directions",
    "downsampling",
    "drag",
    "energy_surface",
    "equilibria",
    "equivariance",
    "example_gradients",
    "explanation",
    "expression",
    "feature_maps",
    "filled_in",
    "filters",
    "fit",
    "flow_over_steps",
    "get",
    "gradient_check",
    "gradient_flow",
    "invariance",
    "jaggedness",
    "landscape",
    "learning_rate",
    "line",
    "lookahead",
    "network",
    "nudge",
    "plane",
    "pool",
    "recalled",
    "receptive_field",
    "regions",
    "report_example",
    "run",
    "saliency",
    "saliency_check",
    "samples",
    "segments",
    "sharpness",
    "solvers",
    "spectrum",
    "statistics",
    "step_lengths",
    "summary",
    "synthesise",
    "top_patches",
    "trajectories",
    "updates",
    "upsampling",
]
