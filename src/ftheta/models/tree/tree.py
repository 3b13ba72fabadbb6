"""A decision tree: a question about one feature at a time.

    split:  the x_f <= t that lowers the impurity most:  i(node) - w_left i(left) - w_right i(right)
    prune:  minimize  Σ_leaves w i + α · leaves;  α by cross-validation

i is Gini's 1 - Σ p_k², the entropy -Σ p_k log2 p_k, or the variance. Shapes: n rows, D features, T targets, K classes.
Reference: Breiman, Friedman, Olshen and Stone, Classification and Regression Trees (1984).
"""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Gt, Le
from sklearn.base import is_classifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ...check import Count, NonNegative
from ...selection import Range, Space
from .._base.plain import Rows
from .grown import Grown, GrownClassifier, GrownRegressor
from .nodes import Trees, check_curve, of_trees, to_tree
from .pruning import cross_validated

NEVER = 2**31 - 1  # rows that no node has

Depth = Annotated[int, Ge(0)]
Columns = Literal["sqrt", "log2"] | Annotated[float, Gt(0), Le(1)] | None


def decision_tree(like: Any, trees: Trees, n_features: int) -> Any:
    """scikit-learn's decision tree of a single one of ours, with the parameters of another."""
    _, targets, classes = trees.values.shape
    like.tree_, like.n_outputs_, like.n_features_in_, like.max_features_ = (
        to_tree(trees, n_features),
        targets,
        n_features,
        1,
    )
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

    def _limits(self) -> dict[str, Any]:
        columns = self.max_features if isinstance(self.max_features, str | None) else float(self.max_features)
        return {
            "max_depth": self.max_depth or None,
            "min_samples_split": NEVER if self.max_depth == 0 else 2,
            "min_samples_leaf": self.min_samples_leaf,
            "max_leaf_nodes": self.max_leaf_nodes,
            "max_features": columns,
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
            model = model.set_params(ccp_alpha=self.pruning_["alpha"][self.pruning_["chosen"]])
            model._prune_tree()
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
        alpha = 0.0 if self.ccp_alpha == "auto" else self.ccp_alpha
        return {**self._limits(), "ccp_alpha": alpha, "random_state": self.seed_}


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

    def solver(self) -> DecisionTreeClassifier:
        """scikit-learn's tree, not fitted."""
        return DecisionTreeClassifier(criterion=self.criterion, **self._parameters())


class TreeRegressor(_Tree, GrownRegressor):
    """Decision tree for numbers: the mean, or median, of a leaf.

    Args:
        criterion: What a leaf minimizes.

    Example:
        >>> TreeRegressor(ccp_alpha=0.0, random_state=0).fit([[0.0], [1], [2]], [5.0, 5.0, 8.0]).predict([[9.0]])
        array([8.])
    """

    criterion: Literal["squared_error", "absolute_error"] = "squared_error"

    def solver(self) -> DecisionTreeRegressor:
        """scikit-learn's tree, not fitted."""
        return DecisionTreeRegressor(criterion=self.criterion, **self._parameters())
