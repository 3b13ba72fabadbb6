"""How small a tree may be: its error in cross-validation against the price of a leaf.

    α_0 = 0 < α_1 < ...:  each prunes one more branch;  chosen: the largest with error <= min error + standard error

Rows that are equal are in the same fold. Shapes: n rows, A prices.
Reference: Breiman, Friedman, Olshen and Stone, Classification and Regression Trees (1984), chapter 3.
"""

from copy import copy
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from .._base.plain import Rows
from .grown import keys

FOLDS, PRICES = 5, 40
FEWEST = 10  # different rows; with fewer nothing is pruned


def pruned(model: Any, alpha: float) -> Any:
    """A copy of scikit-learn's fitted tree at another price of a leaf."""
    made = copy(model).set_params(ccp_alpha=alpha)
    made._prune_tree()
    return made


def cross_validated(model: Any, rows: Rows, seed: int) -> dict[str, Any]:
    """Prices, leaves of the whole tree and mean error with its standard error (A,), and which price is chosen.

    Args:
        model: scikit-learn's tree, fitted to the rows and not pruned.
        rows: What it was fitted to.
        seed: Of the folds.
    """
    path = model.cost_complexity_pruning_path(rows.x, rows.y, rows.weight).ccp_alphas
    _, place = np.unique(keys(rows.x, seed), return_inverse=True)
    if len(path) < 2 or place.max() + 1 < FEWEST:
        path = path[:1]
    alphas = np.unique(np.append(0.0, np.sqrt(path[1:] * np.append(path[2:], path[-1:]))))  # between two prunings
    few = np.append(len(alphas), np.geomspace(1, len(alphas), PRICES).round().astype(int))  # small trees in small steps
    alphas = alphas[np.unique(len(alphas) - few)]
    loss = np.zeros((len(alphas), len(rows.x)))
    for fold in range(FOLDS if len(alphas) > 1 else 0):
        held = place % FOLDS == fold
        part, rest = rows.take(~held), rows.take(held)
        fresh: Any = clone(model)
        tree = fresh.fit(part.x, part.y, part.weight)
        loss[:, held] = [_losses(pruned(tree, alpha), rest) for alpha in alphas]
    weight = np.ones(len(rows.x)) if rows.weight is None else rows.weight
    share = weight / weight.sum()
    error = loss @ share
    deviation = np.sqrt(np.maximum(((loss - error[:, None]) ** 2 @ share**2), 0))
    best = error.argmin()
    chosen = int(np.flatnonzero(error <= error[best] + deviation[best]).max())
    leaves = np.array([pruned(model, alpha).get_n_leaves() for alpha in alphas])
    return {"alpha": alphas, "leaves": leaves, "error": error, "deviation": deviation, "chosen": chosen}


def _losses(model: Any, rows: Rows) -> np.ndarray:
    """1 for a wrong class, or the squared error, of each row (n,)."""
    found = model.predict(rows.x)
    if is_classifier(model):
        return (found != rows.y).astype(float)
    return ((found - rows.y) ** 2).reshape(len(found), -1).mean(1)
