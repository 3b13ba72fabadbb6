"""Metrics: one number that says how good predictions are.

    accuracy   mean 1[ŷ = y]                          balanced   mean over classes of their recall
    log loss   -mean ln p_y                           Brier      mean Σ_k (p_k - 1[y = k])², halved for two classes
    ROC AUC    P(s⁺ > s⁻) + P(s⁺ = s⁻)/2              average precision   Σ_j (R_j - R_{j-1}) P_j
    MAE        mean |y - ŷ|     RMSE   √mean (y - ŷ)²     R²   1 - Σ(y - ŷ)² / Σ(y - ȳ)²
               two more R²:  Σ(ŷ - ȳ)² / Σ(y - ȳ)²  and  corr(y, ŷ)²
    pinball    mean max(q e, (q - 1) e),  e = y - ŷ_q     coverage   mean 1[low <= y <= high]

Over more than two classes, ROC AUC and average precision are means of one class against the rest, over the classes that
are in y; of two, the second is the positive one. NaN is what cannot be said: an AUC where y has one class only.
The three R² are equal for least squares with an intercept on the rows that it was fitted to, and only there.
Shapes: n rows, K classes.
Reference: Hastie, Tibshirani and Friedman, The Elements of Statistical Learning (2009); Fawcett, An introduction to ROC
analysis, Pattern Recognition Letters 27 (2006); Koenker and Bassett, Regression quantiles, Econometrica 46 (1978).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import InputError
from ._rows import labelled, numbers, scored
from ._sweep import Sweep, ap_of, auc_of, sweeps

__all__ = [
    "accuracy",
    "average_precision",
    "balanced_accuracy",
    "brier",
    "coverage",
    "log_loss",
    "mae",
    "mean_width",
    "pinball",
    "r2",
    "r2_correlation",
    "r2_explained",
    "rmse",
    "roc_auc",
]


# ---- of labels


def accuracy(y: Any, predicted: Any) -> float:
    """The share of rows that are right.

    Example:
        >>> accuracy(["cat", "dog", "dog"], ["cat", "dog", "cat"])
        0.667
    """
    _, (t, c) = labelled(None, y=y, predicted=predicted)
    return float((t == c).mean())


def balanced_accuracy(y: Any, predicted: Any) -> float:
    """The mean of the recalls of the classes that are in y."""
    _, (t, c) = labelled(None, y=y, predicted=predicted)
    rows = np.bincount(t)
    return float((np.bincount(t, t == c)[rows > 0] / rows[rows > 0]).mean())


# ---- of probabilities


def log_loss(y: Any, p: Any, classes: Sequence[Any] | None = None) -> float:
    """The mean negative log-probability of the true class, in nats; p is clipped to [ε, 1 - ε], ε of its dtype."""
    truth, q, _ = scored(y, p, classes)
    return float(log_loss_rows(truth, q).mean())


def log_loss_rows(truth: np.ndarray, p: np.ndarray) -> np.ndarray:
    """(n,), (n, K) -> (n,)."""
    eps = np.finfo(p.dtype).eps
    return -np.log(np.clip(p[np.arange(len(p)), truth], eps, 1 - eps).astype(np.float64))


def brier(y: Any, p: Any, classes: Sequence[Any] | None = None) -> float:
    """The mean squared distance of p to the one-hot truth: in [0, 1] for two classes, in [0, 2] for more."""
    truth, q, _ = scored(y, p, classes)
    return float(brier_rows(truth, q).mean())


def brier_rows(truth: np.ndarray, p: np.ndarray) -> np.ndarray:
    """(n,), (n, K) -> (n,)."""
    own = p[np.arange(len(p)), truth].astype(np.float64)
    rest = np.einsum("nk,nk->n", p, p, dtype=np.float64) - own**2  # Σ_{k != y} p_k²
    return ((1 - own) ** 2 + rest) / (2 if p.shape[1] == 2 else 1)


# ---- of rankings


def roc_auc(y: Any, p: Any, classes: Sequence[Any] | None = None) -> float:
    """The chance that a positive row has a higher score than a negative one, ties counting half."""
    return _macro(auc_of, *scored(y, p, classes)[:2])


def average_precision(y: Any, p: Any, classes: Sequence[Any] | None = None) -> float:
    """The area under the steps of the precision-recall curve."""
    return _macro(ap_of, *scored(y, p, classes)[:2])


def _macro(of: Callable[[Sweep], float], truth: np.ndarray, p: np.ndarray) -> float:
    return float(np.mean([of(s) for _, s in sweeps(truth, p)]))


# ---- of numbers


def mae(y: Any, predicted: Any) -> float:
    """Mean absolute error, in units of y."""
    y, predicted = numbers(y=y, predicted=predicted)
    return float(abs(y - predicted).mean())


def rmse(y: Any, predicted: Any) -> float:
    """Root of the mean squared error, in units of y."""
    y, predicted = numbers(y=y, predicted=predicted)
    return float(np.sqrt(((y - predicted) ** 2).mean()))


def r2(y: Any, predicted: Any) -> float:
    """The share of the variance of y that the predictions explain.

    NaN for one row; where y does not vary, 1 if all is right, else 0.
    """
    y, predicted = numbers(y=y, predicted=predicted)
    return float(r2_of(len(y), ((y - predicted) ** 2).sum(), ((y - y.mean()) ** 2).sum()))


def r2_of(n: Any, error: Any, total: Any) -> np.ndarray:
    """R² from sums of squares, elementwise."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(total > 0, 1 - np.asarray(error) / total, np.where(np.asarray(error) > 0, 0.0, 1.0))
    return np.where(np.asarray(n) > 1, share, np.nan)


def r2_explained(y: Any, predicted: Any) -> float:
    """Variation of the predictions about the mean of y, over that of y; above 1 where they vary too much.

    NaN where y does not vary.

    Example:
        >>> y, twice = [1.0, 2.0, 3.0], [2.0, 4.0, 6.0]
        >>> round(r2(y, twice), 3), round(r2_explained(y, twice), 3), round(r2_correlation(y, twice), 3)
        (-6.0, 10.0, 1.0)
    """
    y, predicted = numbers(y=y, predicted=predicted)
    return _ratio(((predicted - y.mean()) ** 2).sum(), ((y - y.mean()) ** 2).sum())


def r2_correlation(y: Any, predicted: Any) -> float:
    """The squared correlation of y and the predictions: what is left of R² when scale and shift do not count.

    NaN where one of them does not vary.
    """
    a, b = (v - v.mean() for v in numbers(y=y, predicted=predicted))
    return _ratio(_ratio((a * b).sum(), (a**2).sum()) * (a * b).sum(), (b**2).sum())


def _ratio(above: float, below: float) -> float:
    return float(above / below) if below > 0 else float("nan")


def pinball(y: Any, predicted: Any, quantile: float = 0.5) -> float:
    """The loss that the quantile minimises, in units of y; half the MAE for the median."""
    y, predicted = numbers(y=y, predicted=predicted)
    return float(pinball_rows(y - predicted, quantile).mean())


def pinball_rows(error: np.ndarray, quantile: float) -> np.ndarray:
    """(n,) -> (n,)."""
    if not 0 <= quantile <= 1:
        raise InputError(f"quantile is {quantile}; a share between 0 and 1 is needed, such as 0.5 for the median.")
    return np.maximum(quantile * error, (quantile - 1) * error)


def coverage(y: Any, low: Any, high: Any) -> float:
    """The share of rows whose y lies in [low, high]."""
    y, low, high = numbers(y=y, low=low, high=high)
    return float(((low <= y) & (y <= high)).mean())


def mean_width(low: Any, high: Any) -> float:
    """The mean width of intervals, in units of y."""
    low, high = numbers(low=low, high=high)
    return float((high - low).mean())
