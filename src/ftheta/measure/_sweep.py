"""A threshold that falls through the scores: counts, areas, and the influence of each row on them.

    AUC = Σ_j (FP_j - FP_{j-1}) (TP_j + TP_{j-1}) / 2 / (P N)      AP = Σ_j (TP_j - TP_{j-1}) TP_j / (TP_j + FP_j) / P

A row's influence φ_i is n dA/dw_i at weights w = 1: areas under resampled weights are A + Σ w_i φ_i / Σ w_i + O(1/n).
For the AUC, these are the placement values of DeLong. A's interval is expit(logit A ± z sd(φ) / (√n A (1 - A))).
Shapes: n rows, K classes, J distinct scores, P positives, N negatives.
Reference: DeLong, DeLong and Clarke-Pearson, Comparing the areas under correlated ROC curves, Biometrics 44 (1988).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtri


class Sweep(NamedTuple):
    """Counts at each distinct score."""

    score: np.ndarray  # highest first: (J,)
    tp: np.ndarray  # positives with at least that score: (J,)
    fp: np.ndarray  # negatives: (J,)
    place: np.ndarray  # the position of each row's score among the distinct ones: (n,)


def sweep(positive: np.ndarray, score: np.ndarray) -> Sweep:
    """Count positives and negatives above each distinct score: (n,) bool, (n,) -> Sweep."""
    order = np.argsort(score)[::-1]
    falling = score[order]
    new = np.concatenate([[True], falling[1:] != falling[:-1]])
    last = np.append(np.flatnonzero(new)[1:], len(score)) - 1  # (J,) last row of each tie
    place = np.empty(len(score), dtype=np.int64)
    place[order] = np.cumsum(new) - 1
    tp = np.cumsum(positive[order])[last]
    return Sweep(falling[last], tp, last + 1 - tp, place)


def auc_of(s: Sweep) -> float:
    """Area under the ROC curve by trapezes, NaN without positives or negatives."""
    pairs = s.tp[-1] * s.fp[-1]
    area = np.sum(np.diff(s.fp, prepend=0) * (s.tp - np.diff(s.tp, prepend=0) / 2))
    return float(area / pairs) if pairs else float("nan")


def ap_of(s: Sweep) -> float:
    """Σ of precision times the step of recall (no interpolation), NaN without positives."""
    return float(np.sum(np.diff(s.tp, prepend=0) * s.tp / (s.tp + s.fp)) / s.tp[-1]) if s.tp[-1] else float("nan")


def sweeps(truth: np.ndarray, p: np.ndarray) -> Iterator[tuple[np.ndarray, Sweep]]:
    """Rows and sweep of each class in y (of two classes, the second) against the rest."""
    ks = [1] if p.shape[1] == 2 else np.unique(truth).tolist()
    return ((truth == k, sweep(truth == k, p[:, k])) for k in ks)


def auc_influence(positive: np.ndarray, s: Sweep) -> np.ndarray:
    """φ (n,) of the AUC: (n,) bool, Sweep -> (n,)."""
    p, n = s.tp[-1], s.fp[-1]
    below = 1 - (s.fp + np.append(0, s.fp[:-1])) / (2 * n)  # (J,) share of negatives below a positive there
    above = (s.tp + np.append(0, s.tp[:-1])) / (2 * p)
    auc = auc_of(s)
    return (p + n) * np.where(positive, (below[s.place] - auc) / p, (above[s.place] - auc) / n)


def ap_influence(positive: np.ndarray, s: Sweep) -> np.ndarray:
    """φ (n,) of the average precision: its own place, and the precision of all that lie below it."""
    total, precision = s.tp + s.fp, s.tp / (s.tp + s.fp)
    step = np.diff(s.tp, prepend=0) / total
    below = np.cumsum(step[::-1])[::-1]  # (J,) Σ over this and lower scores
    shared = np.cumsum((step * precision)[::-1])[::-1]
    gain = np.where(positive, (precision - ap_of(s) + below)[s.place], 0.0) - shared[s.place]
    return len(positive) / s.tp[-1] * gain


def log_odds(value: float, influence: np.ndarray, level: float = 0.95) -> tuple[float, float] | None:
    """The normal interval of an area in (0, 1), on the log-odds, from the influence of each row (n,); None without."""
    error = influence.std() / np.sqrt(len(influence))
    if not error > 1e-12 or not 0 < value < 1:
        return None
    half = ndtri((1 + level) / 2) * error / (value * (1 - value))
    low, high = expit(logit(value) + np.array([-half, half]))
    return float(low), float(high)
