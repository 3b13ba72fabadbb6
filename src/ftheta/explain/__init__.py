"""Explanations: what happens inside a model, as numbers, tables and figures.

    explain.available(model)                      what this model can give
    explain.summary(net, X)                       layers, shapes, parameters, multiply-adds
    explain.run("gradient-flow", model, X, y)     any explanation of the catalog by name
    explain.film(net, X, y).save("film.html")  a forward and a backward pass as a page that plays

`ftheta explain` lists them with the questions that they answer. Each is registered with the attributes that it needs,
never with a family.
"""

from .. import catalog


def _view(name: str) -> str | None:
    """An explanation of the catalog, wherever it is."""
    return next((view.target for view in catalog.VIEWS.values() if view.target.endswith(f":{name}")), None)


catalog.lazy(__name__, more=_view)
