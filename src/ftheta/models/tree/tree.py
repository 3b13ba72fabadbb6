"""A decision tree: a question about one feature at a time.

    split:  the x_f <= t that lowers the impurity most:  i(node) - w_left i(left) - w_right i(right)
    prune:  minimize  Σ_leaves w i + α · leaves;  α by cross-validation

i is Gini's 1 - Σ p_k², the entropy -Σ p_k log2 p_k, or the variance. Of the prices 0 = α_0 < α_1 < ... each prunes one
more branch; chosen is the largest with error <= min error + standard error, in folds where equal rows are together.
Shapes: n rows, D features, T targets, K classes, A prices.
Reference: Breiman, Friedman, Olshen and Stone, Classification and Regression Trees (1984), chapter 3.
"""

from copy import copy
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Gt, Le
from sklearn.base import clone, is_classifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ...check import Count, NonNegative
from ...selection import Range, Space
from .._base.plain import Rows
from .grown import Grown, GrownClassifier, GrownRegressor, keys
from .nodes import Trees, check_curve, of_trees, to_tree

NEVER = 2**31 - 1  # rows that no node has
FOLDS, PRICES = 5, 40
FEWEST = 10  # different rows; with fewer nothing is pruned

Depth = Annotated[int, Ge(0)]
Columns = Literal["sqrt", "log2"] | Annotated[float, Gt(0), Le(1)] | None


def decision_tree(like: Any, trees: Trees, n_features: int) -> Any:
    """scikit-learn's decision tree of a single one of ours, with the parameters of another."""
    _, targets, classes = trees.values.shape
    like.tree_, like.n_outputs_ = to_tree(trees, n_features), targets
    like.n_features_in_, like.max_features_ = n_features, 1
    if is_classifier(like):
        like.n_classes_, like.classes_ = classes, np.arange(classes)
    return like


def width_of(estimator: Any, trees: Trees) -> tuple[int, int]:
    """Targets and classes of the values of a node."""
    return (1, len(estimator.classes_)) if is_classifier(estimator) else (np.shape(trees.values)[1], 1)


@dataclass(kw_only=True, eq=False, repr=False)
class Limits:
    """What ends the growth of a tree.

    Args:
        max_depth: Questions in a row at most; None: no limit.
        min_samples_leaf: Rows that a leaf has at least.
        max_leaf_nodes: Leaves at most, the best splits first; None: no limit.
        max_features: Columns that are looked at for a split, drawn anew each time: a share of them, or "sqrt" or "log2"
            of their number; None: all, which makes a forest bagging.
    """

    max_depth: Depth | None = None
    min_samples_leaf: Count = 1
    max_leaf_nodes: Annotated[int, Ge(2)] | None = None
    max_features: Columns = None

    def _limits(self: Any) -> dict[str, Any]:
        known = ("criterion", "min_samples_leaf", "max_leaf_nodes")
        columns = self.max_features if isinstance(self.max_features, str | None) else float(self.max_features)
        return {name: getattr(self, name) for name in known} | {
            "max_depth": self.max_depth or None,
            "min_samples_split": NEVER if self.max_depth == 0 else 2,
            "max_features": columns,
            "random_state": self.seed_,
        }


class _Tree(Limits, Grown):
    """One tree.

    Args:
        ccp_alpha: Price α of a leaf, in units of impurity, by which the tree is pruned; "auto": the largest whose error
            in 5 folds is within one standard error of the smallest.
    """

    ccp_alpha: NonNegative | Literal["auto"] = "auto"

    space: ClassVar[Space] = {"min_samples_leaf": Range(1, 50, log=True), "max_features": Range(0.3, 1.0)}

    def _fitted(self, rows: Rows) -> Any:
        model = super()._fitted(rows)
        vars(self).pop("pruning_", None)
        if self.ccp_alpha == "auto":
            self.pruning_ = cross_validated(model, rows, self.seed_)
            model = pruned(model, self.pruning_["alpha"][self.pruning_["chosen"]])
        return model

    def _take_over(self, model: Any) -> Trees:
        return of_trees([model.tree_])

    def _rebuild(self, trees: Trees) -> Any:
        trees = trees.check(self.n_features_in_, 0, width_of(self, trees))
        if len(trees.sizes) != 1:
            raise ValueError(f"{len(trees.sizes)} trees where there is one")
        if hasattr(self, "pruning_"):
            check_curve("pruning_", self.pruning_, ("alpha", "leaves", "error", "deviation"))
            if self.pruning_["chosen"] not in range(len(self.pruning_["alpha"])):
                raise ValueError(f"pruning_ says that size number {self.pruning_['chosen']!r:.20} was chosen")
        return decision_tree(self.solver(), trees, self.n_features_in_)

    def _parameters(self) -> dict[str, Any]:
        return {**self._limits(), "ccp_alpha": 0.0 if self.ccp_alpha == "auto" else self.ccp_alpha}


class TreeClassifier(_Tree, GrownClassifier):
    """Decision tree for classes; missing cells go the way that is better in training.

    Args:
        criterion: Impurity of a node.

    Example:
        >>> X, y = [[0.0], [1], [2], [3]], ["low", "low", "high", "high"]
        >>> TreeClassifier(ccp_alpha=0.0, random_state=0).fit(X, y).predict([[0.5], [2.5]]).tolist()
        ['low', 'high']
    """

    criterion: Literal["gini", "entropy"] = "gini"

    grows: ClassVar[Any] = DecisionTreeClassifier


class TreeRegressor(_Tree, GrownRegressor):
    """Decision tree for numbers: the mean, or median, of a leaf.

    Args:
        criterion: What a leaf minimizes.

    Example:
        >>> TreeRegressor(ccp_alpha=0.0, random_state=0).fit([[0.0], [1], [2]], [5.0, 5.0, 8.0]).predict([[9.0]])
        array([8.])
    """

    criterion: Literal["squared_error", "absolute_error"] = "squared_error"

    grows: ClassVar[Any] = DecisionTreeRegressor


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
    deviation = np.sqrt((loss - error[:, None]) ** 2 @ share**2)
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
