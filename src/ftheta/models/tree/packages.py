"""Boosting by XGBoost and LightGBM, where they are installed; their trees are kept and followed as those of `boosting`.

    F = constant + Σ tree;   LightGBM: x <= t goes left;   XGBoost: x < t, so x <= the number of float32 before t

Loading and predicting need neither package, and no file of theirs is read.
Shapes: n rows, N nodes of a tree, L leaves, S sets of categories, K outputs.
References: Chen and Guestrin, XGBoost (2016); Ke et al., LightGBM (2017).
"""

import json
from abc import abstractmethod
from collections.abc import Mapping
from importlib import import_module
from itertools import pairwise
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Gt, Le
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

from ...check import Count, NonNegative, Positive
from ...errors import InputError
from ...selection import Range, Space
from ...train import threads_for
from .._base.plain import Rows
from .boosting import Boosted, BoostedClassifier, BoostedRegressor, BoostingClassifier
from .grown import LARGEST
from .nodes import WORDS, of_predictors, predictor

BLOCK = 65536  # rows that are rounded at a time
CHECKED, WITHIN = 1000, 1e-4  # rows whose outputs are compared, and by how much of the largest they may differ


class _Package(Boosted):
    """Boosting of another package.

    Args:
        subsample: Share of the rows that each step learns from.
    """

    subsample: Annotated[float, Gt(0), Le(1)] = 1.0

    package: ClassVar[str]
    objectives: ClassVar[Mapping[str, str]]  # their names for losses, and for two and for more classes

    @abstractmethod
    def _grow(self, package: Any, rows: Rows, settings: dict[str, Any]) -> tuple[list[TreePredictor], np.ndarray]:
        """Trees, and outputs for the first rows by the package itself, (n,) or (n, K)."""

    def _fitted(self, rows: Rows) -> Any:
        classes = len(getattr(self, "classes_", ()))
        loss = getattr(self, "loss", "binary" if classes == 2 else "multiclass")
        settings = {"objective": self.objectives[loss], **({"num_class": classes} if classes > 2 else {})}
        settings["nthread"] = threads_for(rows.x.size)
        grown, outputs = self._grow(_imported(self.package), rows, settings)
        each = classes if classes > 2 else 1
        self.n_iter_, self.baseline_ = len(grown) // each, np.zeros((1, each))
        model = self._rebuild(of_predictors(grown))
        apart = outputs.reshape(-1, each) - model._raw_predict(rows.x[:CHECKED])
        self.baseline_ = model._baseline_prediction = np.median(apart, 0, keepdims=True)
        if not abs(apart - self.baseline_).max() <= WITHIN * abs(outputs).max():
            raise InputError(f"Trees of this version of {self.package} are not understood. Install an earlier one.")
        return model


def _imported(name: str) -> Any:
    try:
        return import_module(name)
    except (ImportError, OSError):  # OSError: a library that it needs
        raise InputError(f"This model needs {name}. Install it with: pip install 'ftheta[boost]'") from None


# ---- XGBoost


class _XGBoost(_Package):
    """XGBoost.

    Args:
        min_child_weight: Sum of second derivatives that a leaf has at least: of squares, its rows.
    """

    lr: Positive = 0.3
    max_leaf_nodes: Annotated[int, Ge(2)] | None = None
    max_depth: Count | None = 6
    l2: NonNegative = 1.0
    min_child_weight: NonNegative = 1.0

    package: ClassVar[str] = "xgboost"
    objectives: ClassVar[Mapping[str, str]] = {
        **{"squared_error": "reg:squarederror", "absolute_error": "reg:absoluteerror", "poisson": "count:poisson"},
        **{"binary": "binary:logistic", "multiclass": "multi:softprob"},
    }
    space: ClassVar[Space] = {
        "lr": Range(0.02, 0.3, log=True),
        "n_estimators": Range(50, 500, log=True),
        "max_depth": Range(2, 10),
        "min_child_weight": Range(1.0, 50.0, log=True),
        "l2": Range(1e-2, 10.0, log=True),
        "subsample": Range(0.5, 1.0),
    }

    def _table(self, X: Any, *, reset: bool = False, dtype: str = "float64") -> np.ndarray:
        """Checked X; numbers are those of float32, as XGBoost compares them."""
        x = super()._table(X, reset=reset, dtype=dtype)
        if getattr(X, "dtype", None) == np.float32:
            return x
        rounded = np.empty_like(x)
        for i in range(0, len(x), BLOCK):  # so that no third copy is held
            rounded[i : i + BLOCK] = np.clip(x[i : i + BLOCK], -LARGEST, LARGEST).astype(np.float32)
        return rounded

    def _grow(self, package: Any, rows: Rows, settings: dict[str, Any]) -> tuple[list[TreePredictor], np.ndarray]:
        settings |= {"eta": self.lr, "lambda": self.l2, "min_child_weight": self.min_child_weight, "seed": self.seed_}
        settings |= {"max_depth": self.max_depth or 0, "max_leaves": self.max_leaf_nodes or 0, "verbosity": 0}
        settings |= {"grow_policy": "lossguide" if self.max_leaf_nodes else "depthwise", "tree_method": "hist"}
        settings |= {"subsample": self.subsample, "colsample_bynode": self.max_features}
        known, d = len(self.categories_), rows.x.shape[1]
        about: dict[str, Any] = {"feature_types": ["c"] * known + ["q"] * (d - known), "enable_categorical": True}
        data = package.DMatrix(rows.x, rows.y, weight=rows.weight, nthread=settings["nthread"], **about)
        model = package.train(settings, data, self.n_estimators)
        grown = []
        for step in model:
            trees = json.loads(step.save_raw("json"))["learner"]["gradient_booster"]["model"]["trees"]
            leaves = step.predict(data, pred_leaf=True).reshape(len(rows.x), -1).astype(int)
            grown += map(_of_xgboost, trees, leaves.T)
        first = package.DMatrix(rows.x[:CHECKED], **about)
        return grown, model.predict(first, output_margin=True)


def _of_xgboost(tree: Mapping[str, Any], leaves: np.ndarray) -> TreePredictor:
    """A tree of the JSON format; its sets of categories go right. leaves: that of each row (n,)."""
    left, right, split = (np.array(tree[k]) for k in ("left_children", "right_children", "split_conditions"))
    count, leaf = np.bincount(leaves, minlength=len(left)), left < 0
    for i in np.flatnonzero(~leaf)[::-1]:
        count[i] = count[left[i]] + count[right[i]]
    sets, place = np.ones((len(tree["categories_nodes"]), 32 * WORDS), bool), np.zeros(len(left), int)
    for i, (start, size) in enumerate(zip(tree["categories_segments"], tree["categories_sizes"], strict=True)):
        sets[i, tree["categories"][start : start + size]] = False
    place[tree["categories_nodes"]] = np.arange(len(sets))
    names = {"feature_idx": "split_indices", "missing_go_to_left": "default_left", "gain": "loss_changes"}
    fields = {name: tree[theirs] for name, theirs in {**names, "is_categorical": "split_type"}.items()}
    fields |= {"left": np.where(leaf, 0, left), "right": np.where(leaf, 0, right), "bitset_idx": place}
    fields |= {"num_threshold": np.nextafter(split.astype(np.float32), np.float32(-np.inf)), "value": split}
    return predictor(np.packbits(sets, axis=1, bitorder="little").view("<u4"), leaf, count=count, **fields)


class XGBoostClassifier(_XGBoost, BoostedClassifier):
    """XGBoost for classes, where it is installed: gradient boosting with missing cells and categories as they are.

    Learned also: baseline_ (1, K), categories_, n_iter_.

    Example:
        >>> XGBoostClassifier(random_state=0).fit([[0.0], [1], [2], [3]], ["a", "a", "b", "b"])     # doctest: +SKIP
    """


class XGBoostRegressor(_XGBoost, BoostedRegressor):
    """XGBoost for numbers, where it is installed: gradient boosting with missing cells and categories as they are.

    Learned also: baseline_ (1, 1), categories_, n_iter_.

    Example:
        >>> XGBoostRegressor(random_state=0).fit([[0.0], [1], [2], [3]], [0.0, 0, 6, 6])     # doctest: +SKIP
    """


# ---- LightGBM


class _LightGBM(_Package):
    """LightGBM.

    Args:
        min_samples_leaf: Rows that a leaf has at least.
    """

    min_samples_leaf: Count = 20

    package: ClassVar[str] = "lightgbm"
    objectives: ClassVar[Mapping[str, str]] = {
        **{"squared_error": "regression", "absolute_error": "regression_l1", "poisson": "poisson"},
        **{"binary": "binary", "multiclass": "multiclass"},
    }
    space: ClassVar[Space] = {**BoostingClassifier.space, "subsample": Range(0.5, 1.0)}

    def _grow(self, package: Any, rows: Rows, settings: dict[str, Any]) -> tuple[list[TreePredictor], np.ndarray]:
        settings |= {"learning_rate": self.lr, "lambda_l2": self.l2, "min_data_in_leaf": self.min_samples_leaf}
        settings |= {"num_leaves": self.max_leaf_nodes or 131072, "max_depth": self.max_depth or -1, "verbosity": -1}
        settings |= {"feature_fraction_bynode": self.max_features, "bagging_fraction": self.subsample}
        settings |= {"bagging_freq": int(self.subsample < 1), "seed": self.seed_ % 2**31, "deterministic": True}
        about: dict[str, Any] = {"categorical_feature": list(range(len(self.categories_)))}
        data = package.Dataset(rows.x, rows.y, weight=rows.weight, params=settings, **about)
        model = package.train(settings, data, self.n_estimators)
        blocks = model.model_to_string().partition("\nend of trees")[0].split("\nTree=")[1:]
        return [_of_lightgbm(block) for block in blocks], model.predict(rows.x[:CHECKED], raw_score=True)


def _of_lightgbm(block: str) -> TreePredictor:
    """A tree of the text format: splits come first, then leaves; a child below 0 is the leaf of number -1 - child."""
    found = dict(line.split("=", 1) for line in block.split("\n")[1:] if "=" in line)

    def of(name: str, dtype: Any) -> np.ndarray:
        return np.array(found.get(name, "").split(), dtype)

    m = int(found["num_leaves"]) - 1
    threshold, kind, leaf = of("threshold", float), of("decision_type", int), np.arange(2 * m + 1) >= m
    children = of("left_child", int), of("right_child", int)
    left, right = (np.where(child < 0, m - 1 - child, child) for child in children)
    sorted_, has_missing = kind & 1 > 0, kind >> 2 == 2
    sides = np.where(has_missing, kind & 2 > 0, threshold >= 0)  # without missing cells in fit they are taken as 0
    ends, words = of("cat_boundaries", int), of("cat_threshold", np.uint32)
    sets = (np.pad(words[a:b], (0, WORDS - (b - a))) for a, b in pairwise(ends))
    splits = {"left": left, "right": right, "feature_idx": of("split_feature", int), "gain": of("split_gain", float)}
    splits |= {"num_threshold": np.where(sorted_, 0, threshold), "missing_go_to_left": sides & ~sorted_}
    splits |= {"is_categorical": sorted_, "bitset_idx": np.where(sorted_, threshold, 0)}
    fields = {name: np.pad(values, (0, m + 1)) for name, values in splits.items()}  # of leaves 0
    for name, dtype in (("count", int), ("value", float)):
        fields[name] = np.append(of(f"internal_{name}", dtype), of(f"leaf_{name}", dtype))
    return predictor(sets, leaf, **fields)


class LightGBMClassifier(_LightGBM, BoostedClassifier):
    """LightGBM for classes, where it is installed: gradient boosting with missing cells and categories as they are.

    Learned also: baseline_ (1, K), categories_, n_iter_.

    Example:
        >>> LightGBMClassifier(random_state=0).fit([[0.0], [1]] * 40, ["a", "b"] * 40)     # doctest: +SKIP
    """


class LightGBMRegressor(_LightGBM, BoostedRegressor):
    """LightGBM for numbers, where it is installed: gradient boosting with missing cells and categories as they are.

    Learned also: baseline_ (1, 1), categories_, n_iter_.

    Example:
        >>> LightGBMRegressor(random_state=0).fit([[0.0], [1]] * 40, [0.0, 6] * 40)     # doctest: +SKIP
    """
