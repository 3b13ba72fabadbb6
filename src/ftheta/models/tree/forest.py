"""Many trees: a forest votes, AdaBoost weighs the votes.

    forest:    f(x) = 1/B Σ_b tree_b(x),  tree_b from n rows drawn with replacement and columns drawn at each split
    AdaBoost:  F(x) = Σ_b a_b tree_b(x),  a_b = log((1 - e_b) / e_b) + log(K - 1),  weights of wrong rows times exp(a_b)

A row is out of the bag of a tree that was grown without it, about 37 of 100 trees: these are its test.
Shapes: n rows, B trees, D features, T targets, K classes.
References: Breiman, Random Forests, Machine Learning 45 (2001); Zhu et al., Multi-class AdaBoost (2009).
"""

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.ensemble import AdaBoostClassifier as _AdaBoost
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from ...check import Count, Positive
from ...errors import InputError
from ...selection import Range, Space
from .._base.plain import Rows
from .grown import Grown, GrownClassifier, GrownRegressor, keys
from .nodes import Trees, check_curve, of_trees
from .tree import Columns, Limits, decision_tree, width_of

MARKS = 30  # numbers of trees at which the error is measured


def counts_of(n: int) -> np.ndarray:
    """Numbers of trees from 1 to n, closer together where there are few."""
    return np.unique(np.geomspace(1, n, MARKS).round().astype(int))


class _Ensemble(Grown):
    """Several trees.

    Args:
        n_estimators: Trees.
    """

    n_estimators: Count = 100

    def _take_over(self, model: Any) -> Trees:
        return of_trees([tree.tree_ for tree in model.estimators_])

    def _rebuild(self, trees: Trees) -> Any:
        width, d = width_of(self, trees), self.n_features_in_
        trees, model = trees.check(d, 0, width), self.solver()
        kind = DecisionTreeClassifier if is_classifier(self) else DecisionTreeRegressor
        model.estimators_ = [decision_tree(kind(), tree, d) for tree in trees.each()]
        model.n_features_in_, model.n_outputs_ = d, width[0]
        if is_classifier(self):
            model.n_classes_, model.classes_ = width[1], np.arange(width[1])
        return model


class _Forest(Limits, _Ensemble):
    """A forest; equal rows give equal forests, in whichever order. Learned also: `oob_`, errors out of bag.

    Args:
        bootstrap: Whether each tree learns from n rows drawn with replacement; else from all rows.
        n_jobs: Threads that grow trees and predict; -1: as many as processors.
    """

    bootstrap: bool = True
    n_jobs: int | None = None

    space: ClassVar[Space] = {"max_features": Range(0.1, 1.0), "min_samples_leaf": Range(1, 20, log=True)}

    def _fitted(self, rows: Rows) -> Any:
        rows = rows.take(np.lexsort((rows.y.reshape(len(rows.y), -1)[:, 0], keys(rows.x, 0))))
        model = super()._fitted(rows)
        vars(self).pop("oob_", None)
        if self.bootstrap:
            self.oob_ = _out_of_bag(model, rows)
        return model

    def _rebuild(self, trees: Trees) -> Any:
        if hasattr(self, "oob_"):
            check_curve("oob_", self.oob_, ("trees", "error", "share"))
            if not np.array_equal(self.oob_["trees"], counts_of(len(trees.sizes))):
                raise ValueError(f"oob_ is not of {len(trees.sizes)} trees")
        return super()._rebuild(trees)

    def staged(self, X: ArrayLike) -> Iterator[np.ndarray]:
        """The mean prediction of the first 1, 2, ... trees: shares of the classes (n, K), or numbers (n,) or (n, T)."""
        x, total = self._table(X), 0.0
        for b, tree in enumerate(self.model_.estimators_):
            total = total + (tree.predict_proba(x) if is_classifier(self) else tree.predict(x))
            yield total / (b + 1)

    def _parameters(self) -> dict[str, Any]:
        return self._limits() | {name: getattr(self, name) for name in ("n_estimators", "bootstrap", "n_jobs")}


def _out_of_bag(model: Any, rows: Rows) -> dict[str, np.ndarray]:
    """Error of the rows that some of the first B trees were grown without, and their share, at several B."""
    classes, n = is_classifier(model), len(rows.x)
    y = np.eye(len(model.classes_))[rows.y] if classes else rows.y.reshape(n, -1)
    weight = np.ones(n) if rows.weight is None else rows.weight
    total, seen, marks, found = np.zeros(y.shape), np.zeros(n), counts_of(len(model.estimators_)), []
    for b, (tree, drawn) in enumerate(zip(model.estimators_, model._get_estimators_indices(), strict=True), start=1):
        out = np.bincount(drawn, minlength=n) == 0
        if out.any():
            each = tree.predict_proba(rows.x[out]) if classes else tree.predict(rows.x[out])
            total[out] += each.reshape(out.sum(), -1)
        seen += out
        if b in marks:
            known = seen > 0
            mean = total[known] / seen[known, None]
            wrong = mean.argmax(1) != rows.y[known] if classes else ((mean - y[known]) ** 2).mean(1)
            share = weight[known] / max(weight[known].sum(), np.finfo(float).tiny)
            found.append((b, wrong @ share, weight[known].sum() / weight.sum()))
    trees, error, share = np.array(found).T
    return {"trees": trees.astype(int), "error": error, "share": share}


class ForestClassifier(_Forest, GrownClassifier):
    """Random forest for classes: the mean of the probabilities of its trees.

    Args:
        criterion: Impurity of a node.

    Example:
        >>> X, y = [[0.0], [1], [2], [3]], ["low", "low", "high", "high"]
        >>> ForestClassifier(n_estimators=20, random_state=0).fit(X, y).predict([[0.0], [3.0]]).tolist()
        ['low', 'high']
    """

    criterion: Literal["gini", "entropy"] = "gini"
    max_features: Columns = "sqrt"

    grows: ClassVar[Any] = RandomForestClassifier


class ForestRegressor(_Forest, GrownRegressor):
    """Random forest for numbers: the mean of the predictions of its trees.

    Args:
        criterion: What a leaf minimizes.

    Example:
        >>> model = ForestRegressor(n_estimators=20, random_state=0).fit([[0.0], [1], [2], [3]], [0.0, 0, 6, 6])
        >>> bool(model.predict([[0.0]]) < model.predict([[3.0]]))
        True
    """

    criterion: Literal["squared_error", "absolute_error"] = "squared_error"
    max_features: Columns = 1.0

    grows: ClassVar[Any] = RandomForestRegressor


class AdaBoostClassifier(_Ensemble, GrownClassifier):
    """Small trees, each grown where those before it are wrong. Learned also: votes_ (B,).

    Args:
        criterion: Impurity of a node.
        lr: Factor of each vote.
        max_depth: Questions in a row in each tree.

    Example:
        >>> X, y = [[0.0], [1], [2], [3], [4]], ["a", "a", "b", "b", "a"]
        >>> AdaBoostClassifier(random_state=0).fit(X, y).predict([[0.4], [2.6], [4]]).tolist()
        ['a', 'b', 'a']
    """

    criterion: Literal["gini", "entropy"] = "gini"
    lr: Positive = 1.0
    max_depth: Count = 1
    n_estimators: Count = 50

    space: ClassVar[Space] = {
        "lr": Range(0.05, 2.0, log=True),
        "max_depth": Range(1, 6),
        "n_estimators": Range(20, 300, log=True),
    }
    grows: ClassVar[Any] = _AdaBoost
    takes_missing = False
    class_weight: ClassVar[None] = None  # pyright: ignore[reportIncompatibleVariableOverride]  # rows are weighed anew

    def _parameters(self) -> dict[str, Any]:
        tree = DecisionTreeClassifier(criterion=self.criterion, max_depth=self.max_depth)
        known = {"n_estimators": self.n_estimators, "learning_rate": self.lr, "random_state": self.seed_}
        return {"estimator": tree, **known}

    def _fitted(self, rows: Rows) -> Any:
        try:
            return super()._fitted(rows)
        except ValueError as error:
            if "worse than random" not in str(error):
                raise
            said = f"The first tree, of max_depth={self.max_depth}, is not better than chance, so there is nothing to"
            raise InputError(f"{said} boost. Raise max_depth, or look whether X says anything of y.") from None

    def _take_over(self, model: Any) -> Trees:
        self.votes_ = model.estimator_weights_[: len(model.estimators_)]
        return super()._take_over(model)

    def _rebuild(self, trees: Trees) -> Any:
        model, votes = super()._rebuild(trees), self.votes_
        if np.shape(votes) != np.shape(trees.sizes) or not np.isfinite(votes).all() or not np.sum(votes) > 0:
            raise ValueError(f"{np.shape(votes)} votes for {np.shape(trees.sizes)} trees, or none above 0")
        model.estimator_weights_ = votes
        return model

    def staged(self, X: ArrayLike) -> Iterator[np.ndarray]:
        """Probabilities by the first 1, 2, ... trees: (n, K)."""
        yield from self.model_.staged_predict_proba(self._table(X))
