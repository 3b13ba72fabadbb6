"""Gradient boosting: each tree is fitted to what those before it leave over.

    F_0 = constant,   F_m = F_{m-1} + lr · tree_m,   tree_m ≈ - ∂loss/∂F at F_{m-1}, with second derivatives

Values are put into 255 bins, missing cells into one of their own; categories are split into two sets.
Shapes: n rows, D features, K classes; one tree per step, K for more than two classes.
References: Friedman, Greedy Function Approximation (2001); Ke et al., LightGBM (2017).
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pandas as pd
from annotated_types import Ge, Gt, Le
from numpy.typing import ArrayLike
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper
from sklearn.utils import Tags

from ...check import Count, NonNegative, Positive, Share, plain
from ...errors import InputError
from ...selection import Range, Space
from .._base.plain import Plain, Rows
from .grown import Grown, GrownClassifier, GrownRegressor
from .nodes import Trees, of_predictors, to_predictor

CATEGORIES = 255  # at most, of one column


class Boosted(Grown):
    """Boosted trees; columns of text or of category dtype in a data frame are categories.

    Args:
        n_estimators: Steps at most: trees, or for more than two classes one tree per class.
        lr: Factor of each tree.
        max_leaf_nodes: Leaves of a tree at most; None: no limit.
        max_depth: Questions in a row at most; None: no limit.
        l2: Penalty on the squared values of the leaves.
        max_features: Share of the columns that are looked at for a split.
    """

    n_estimators: Count = 100
    lr: Positive = 0.1
    max_leaf_nodes: Annotated[int, Ge(2)] | None = 31
    max_depth: Count | None = None
    l2: NonNegative = 0.0
    max_features: Annotated[float, Gt(0), Le(1)] = 1.0

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags

    def _parameters(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("loss",) if hasattr(self, name)}  # of numbers

    # ---- rows

    def _table(self, X: Any, *, reset: bool = False, dtype: str = "float64") -> np.ndarray:
        """Checked X (n, D) in float64: columns of categories first, as places of the categories, then numbers."""
        X = plain(X)
        X = X.to_pandas() if hasattr(X, "to_pandas") else X  # of polars
        if reset:
            self.categories_ = dict(_categories(X)) if hasattr(X, "iloc") else {}
        coded = getattr(self, "categories_", {})
        x = Plain._table(self, _with_codes(X, coded) if coded else X, reset=reset)
        return x[:, [*coded, *(j for j in range(x.shape[1]) if j not in coded)]] if coded else x

    # ---- files

    def _take_over(self, model: Any) -> Trees:
        return of_predictors([tree for step in model._predictors for tree in step])

    def _rebuild(self: Any, trees: Trees) -> Any:
        known, d, classes = self.categories_, self.n_features_in_, len(getattr(self, "classes_", ()))
        each, trees = classes if classes > 2 else 1, trees.check(d, len(known), (1, 1))
        if np.shape(self.baseline_) != (1, each) or len(trees.sizes) != each * self.n_iter_:
            raise ValueError(f"{len(trees.sizes)} trees and constants {np.shape(self.baseline_)}, {self.n_iter_} steps")
        if not (np.isfinite(self.baseline_).all() and all(_is_known(j, c, d) for j, c in known.items())):
            raise ValueError("categories or constants that no fit gives")
        model, made = self.solver(), [to_predictor(tree) for tree in trees.each()]
        model._predictors = [made[i : i + each] for i in range(0, len(made), each)]
        model._baseline_prediction, model.n_trees_per_iteration_ = np.asarray(self.baseline_), each
        model.n_features_in_ = model._n_features = d
        model._preprocessor, model._loss = None, model._get_loss(sample_weight=None)
        model._bin_mapper = bins = _BinMapper()
        bins.is_categorical_ = (np.arange(d) < len(known)).astype(np.uint8)
        bins.bin_thresholds_ = [np.arange(len(found), dtype=float) for found in known.values()]
        model.classes_ = np.arange(classes)
        return model


class _Boosting(Boosted):
    """scikit-learn's boosting.

    Args:
        min_samples_leaf: Rows that a leaf has at least.
        early_stopping: Whether steps end when rows held out no longer gain; "auto": where there are over 10,000 rows.
        validation: Share of the rows held out for that.
        patience: Steps without gain after which they end.
    """

    min_samples_leaf: Count = 20
    early_stopping: bool | Literal["auto"] = "auto"
    validation: Share = 0.1
    patience: Count = 10

    space: ClassVar[Space] = {
        "lr": Range(0.02, 0.3, log=True),
        "n_estimators": Range(50, 500, log=True),
        "max_leaf_nodes": Range(4, 64, log=True),
        "min_samples_leaf": Range(2, 100, log=True),
        "l2": Range(1e-3, 10.0, log=True),
    }

    def _parameters(self) -> dict[str, Any]:
        known = ("max_leaf_nodes", "max_depth", "min_samples_leaf", "max_features", "early_stopping")
        renamed = {"lr": "learning_rate", "l2": "l2_regularization", "patience": "n_iter_no_change"}
        renamed |= {"n_estimators": "max_iter", "seed_": "random_state", **{name: name for name in known}}
        return super()._parameters() | {
            **{theirs: getattr(self, name) for name, theirs in renamed.items()},
            "validation_fraction": self.validation or None,
            "categorical_features": list(range(len(self.categories_))) or None,  # they come first
        }

    def _take_over(self, model: Any) -> Trees:
        if self.categories_:
            places = model._preprocessor.named_transformers_["encoder"].categories_
            used = zip(self.categories_.items(), places, strict=True)
            self.categories_ = {j: known[found[~np.isnan(found)].astype(int)] for (j, known), found in used}
            model._preprocessor = None  # the columns hold places already
        self.baseline_ = model._baseline_prediction
        self.n_iter_, scores = model.n_iter_, (model.train_score_, model.validation_score_)
        vars(self).pop("history_", None)
        if len(scores[1]):
            steps = zip(*(-np.asarray(score) for score in scores), strict=True)
            self.history_ = [{"epoch": i, "loss": a, "valid_loss": b} for i, (a, b) in enumerate(steps)][1:]
        return super()._take_over(model)


def _categories(frame: Any) -> Iterator[tuple[int, np.ndarray]]:
    """The columns of a frame that hold categories, and which occur."""
    for j in range(frame.shape[1]):
        column = frame.iloc[:, j]
        if getattr(column.dtype, "kind", "O") in "biufc":
            continue
        found = np.unique(column.dropna().to_numpy())
        found = found if found.dtype.kind in "biufU" else found.astype(str).astype(object)
        if len(found) > CATEGORIES:
            where = f"Column {column.name!r} ({j}) has {len(found)} categories; at most {CATEGORIES} are taken."
            raise InputError(f"{where} Join rare ones, or drop it.")
        yield j, found


def _with_codes(X: Any, known: Mapping[int, np.ndarray]) -> Any:
    """X with the places of its categories, missing where one is new."""
    frame = X.copy(deep=False) if hasattr(X, "iloc") else pd.DataFrame(np.asarray(X))
    for j, categories in known.items():
        if j < frame.shape[1]:
            places = pd.Index(list(categories)).get_indexer(frame.iloc[:, j].to_numpy())
            frame.isetitem(j, np.where(places < 0, np.nan, places))
    return frame


def _is_known(j: Any, categories: Any, d: int) -> bool:
    """Whether these may be the categories of column j of d."""
    sized = isinstance(categories, np.ndarray) and categories.ndim == 1 and len(categories) <= CATEGORIES
    return type(j) is int and 0 <= j < d and sized and len(set(categories.tolist())) == len(categories)


class BoostedClassifier(Boosted, GrownClassifier):
    """Boosted trees for classes."""

    grows: ClassVar[Any] = HistGradientBoostingClassifier

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """The sums of the trees: log-odds of the second of two classes (n,), or logits (n, K)."""
        return self._ask("decision_function", X)

    def staged(self, X: ArrayLike) -> Iterator[np.ndarray]:
        """Probabilities after 1, 2, ... steps: (n, K)."""
        yield from self.model_.staged_predict_proba(self._table(X))


class BoostedRegressor(Boosted, GrownRegressor):
    """Boosted trees for numbers.

    Args:
        loss: What is minimized; poisson is for counts.
    """

    loss: Literal["squared_error", "absolute_error", "poisson"] = "squared_error"

    grows: ClassVar[Any] = HistGradientBoostingRegressor

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        return tags

    def _learned(self, X: Any, y: Any, sample_weight: Any, *, columns: bool = False, zeros: bool = False) -> Rows:
        return super()._learned(X, y, sample_weight, columns=columns, zeros=zeros)

    def staged(self, X: ArrayLike) -> Iterator[np.ndarray]:
        """Predictions after 1, 2, ... steps: (n,)."""
        yield from self.model_.staged_predict(self._table(X))


class BoostingClassifier(_Boosting, BoostedClassifier):
    """Gradient boosting for classes, with missing cells and categories as they are.

    Learned also: baseline_ (1, K), categories_, n_iter_ and, where steps may end early, history_.

    Example:
        >>> X, y = [[0.0], [1], [2], [3]] * 10, ["low", "low", "high", "high"] * 10
        >>> BoostingClassifier(n_estimators=5, random_state=0).fit(X, y).predict([[0.5], [2.5]]).tolist()
        ['low', 'high']
    """


class BoostingRegressor(_Boosting, BoostedRegressor):
    """Gradient boosting for numbers, with missing cells and categories as they are.

    Learned also: baseline_ (1, 1), categories_, n_iter_ and, where steps may end early, history_.

    Example:
        >>> X, y = [[0.0], [1], [2], [3]] * 10, [0.0, 0, 6, 6] * 10
        >>> BoostingRegressor(random_state=0).fit(X, y).predict([[0.5], [2.5]]).round(2).tolist()
        [0.0, 6.0]
    """
