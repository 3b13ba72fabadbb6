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
    explain.convolve(x, kernel)                   a window over the input, sum by sum; pool
    explain.expression(net)                       a small dense net written out: text and LaTeX
    explain.diagram(model)                        layers, sizes and skips as boxes and arrows
    explain.filters(model)                        kernels as pictures, beside Sobel's and Laplace's
    explain.feature_maps(model, X)                one picture, its maps after each layer, the probabilities
    explain.saliency(model, X, method="gradcam")  which places speak for a class; saliency_check: of the net, or not
    explain.top_patches(model, X)                 the parts of rows that excite units most, by layer
    explain.synthesise(model, "conv2", X=X)       the input that excites a unit
    explain.chains(machine, X)                    Gibbs chains from given rows as a film strip, and how far they get
    explain.fill_in(machine, X)                   rows of pictures removed and filled in, beside the mean image
    explain.samples(model, X)                     new rows, beside the training rows nearest to them
    explain.energy_surface(memory)                the energy, and the paths of states down to where they rest
    explain.basins(memory)                        which state each start leads to; shares of random starts
    explain.equilibria(memory)                    all states that stay, with eigenvalues: attractors or not
    explain.recall(memory, X)                     patterns, with noise, and some steps later
    explain.available(model)                      what this model can give
    explain.run("gradient-flow", model, X, y)     any of them by name

Each is registered with the capability that it needs, never with a family.
"""

from __future__ import annotations

from .. import catalog


def _view(name: str) -> str | None:
    """An explanation of the catalog, wherever it is."""
    return next((view.target for view in catalog.VIEWS.values() if view.target.endswith(f":{name}")), None)


catalog.lazy(__name__, more=_view)
