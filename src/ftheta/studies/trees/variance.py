"""What does averaging many trees change: the bias, or the variance?

Forests of B trees are fitted to many training sets of the same problem. At each test point their predictions vary
about a mean; the distance of that mean from the truth is the bias. Trees of one forest are correlated (ρ), since they
share their rows, the less the fewer columns each split may look at.

    y = sin(2π x_1) + x_2 + 0.3 ε,  100 rows;      Var f_B = ρ s² + (1 - ρ) s² / B,  s² the variance of one tree
"""

from typing import Any

import numpy as np

from ...draw import Draw
from ...models import ForestRegressor
from .. import Checks, Measured, Study, less, more, same

FEATURES, NOISE = 5, 0.3


def truth(x: np.ndarray) -> np.ndarray:
    """The target without its noise."""
    return np.sin(2 * np.pi * x[:, 0]) + x[:, 1]


def measure(
    seed: int, columns: float, *, sets: int = 20, rows: int = 100, trees: int = 50, test: int = 200
) -> dict[str, Any]:
    """Variance and squared bias of one tree and of a forest, over training sets, and what correlation explains."""
    rng = np.random.default_rng(Draw(seed).at("variance").key())
    at, each = rng.random((test, FEATURES)), []
    for k in range(sets):
        x = rng.random((rows, FEATURES))
        y = truth(x) + NOISE * rng.standard_normal(rows)
        forest = ForestRegressor(n_estimators=trees, max_features=columns, random_state=seed * sets + k).fit(x, y)
        each.append([tree.predict(at) for tree in forest.model_.estimators_])
    found = np.array(each)  # (sets, B, test)
    forests, single = found.mean(1), found.var(0, ddof=1).mean()
    total = forests.var(0, ddof=1).mean()
    shared = (trees * total - single) / (trees - 1) / single  # ρ from Var f_B of all B trees
    half = found[:, : trees // 2].mean(1).var(0, ddof=1).mean()  # of half as many: not used for ρ
    return {
        "variance of a tree": single,
        "variance of a forest": total,
        "variance of half a forest": half,
        "by the formula": shared * single + (1 - shared) * single / (trees // 2),
        "correlation": shared,
        "squared bias of a tree": ((found.mean((0, 1)) - truth(at)) ** 2).mean() - single / (sets * trees),
        "squared bias of a forest": ((forests.mean(0) - truth(at)) ** 2).mean() - total / sets,
        "squared error of a tree": ((found - truth(at)) ** 2).mean(),
        "squared error of a forest": ((forests - truth(at)) ** 2).mean(),
    }


TINY = {"seeds": 2, "sets": 4, "rows": 40, "trees": 6, "test": 30}
study = Study(measure, {"columns": (1.0, 0.4)}, seeds=8, tiny=TINY)


@study.claim("A086", says="random forests nicely demonstrate how to prevent overfitting by reducing variance")
def lower(m: Measured) -> Checks:
    tree, forest = m["variance of a tree"], m["variance of a forest"]
    yield more("a tree varies at least twice as much as a forest", tree, 2 * forest)
    one, many = m["squared error of a tree"], m["squared error of a forest"]
    yield less("the error of a forest is below that of a tree", many, one)
    difference = (m["squared bias of a forest"] - m["squared bias of a tree"]) / tree
    yield same("the bias is the same (difference, in variances of a tree)", difference, within=0.1)
    ratio = m["variance of half a forest"] / m["by the formula"]
    yield same("half as many trees: ρ s² + (1 - ρ) s² / B (ratio)", ratio, 1, within=0.05)
    yield less("fewer columns at each split: less correlated trees", m["correlation"][1], m["correlation"][0])
