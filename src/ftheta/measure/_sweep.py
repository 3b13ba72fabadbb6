"""A threshold that sinks through the scores: ROC, precision and recall, their areas, and what each row weighs in them.

    AUC = Σ_j (FP_j - FP_{j-1}) (TP_j + TP_{j-1}) / 2 / (P N)      AP = Σ_j (TP_j - TP_{j-1}) TP_j / (TP_j + FP_j) / P

A row's influence φ_i is n dA/dw_i at weights w = 1: areas under resampled weights are A + Σ w_i φ_i / Σ w_i + O(1/n).
For the AUC, these are the placement values of DeLong. Many rows: A lies in expit(logit A ± z sd(φ) / (√n A (1 - A))).
Shapes: n rows, K classes, J distinct scores, P positives, N negatives.
Reference: DeLong, DeLong and Clarke-Pearson, Comparing the areas under correlated ROC curves, Biometrics 44 (1988).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit, ndtri

__all__ = ["Sweep", "ap_influence", "ap_of", "auc_influence", "auc_of", "drawn_areas", "log_odds", "sweep", "sweeps"]


class Sweep(NamedTuple):
    """What a threshold that sinks through the J distinct scores finds: arrays (J,).

    Args:
        score: The distinct scores, highest first.
        tp: Positives with at least that score.
        fp: Negatives with at least that score.
        place: The position of each row's score among the distinct ones: (n,).
    """

    score: np.ndarray
    tp: np.ndarray
    fp: np.ndarray
    place: np.ndarray


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
    return float(_auc(s.tp, s.fp))


def ap_of(s: Sweep) -> float:
    """Σ of precision times the step of recall (no interpolation), NaN without positives."""
    return float(_ap(s.tp, s.fp))


def drawn_areas(positive: np.ndarray, s: Sweep, w: np.ndarray) -> np.ndarray:
    """AUC and AP where row i counts w_i times, of R resamples at once: (n,) bool, Sweep, (n, R) -> (2, R)."""
    order, rows = np.argsort(s.place), np.bincount(s.place)
    held = np.bincount(s.place, positive) > 0  # (J,) scores of negatives only are one step with their like
    first = (np.cumsum(rows) - rows)[held | np.append(True, held[:-1])]
    drawn = w[order]
    total = np.cumsum(np.add.reduceat(drawn, first, axis=0), axis=0)  # (steps, R)
    tp = np.cumsum(np.add.reduceat(drawn * positive[order, None], first, axis=0), axis=0)
    return np.stack([_auc(tp, total - tp), _ap(tp, total - tp)])


def sweeps(truth: np.ndarray, p: np.ndarray) -> Iterator[tuple[np.ndarray, Sweep]]:
    """One class against the rest, for each class in y (of two classes, the second): its rows, and the sweep."""
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


def log_odds(value: float, pull: np.ndarray, level: float = 0.95) -> tuple[float, float] | None:
    """The normal interval of an area in (0, 1), on the log-odds, from the influence of each row (n,); None without."""
    error = pull.std() / np.sqrt(len(pull))
    if error <= 1e-12:
        return None
    half = ndtri((1 + level) / 2) * error / (value * (1 - value))
    low, high = expit(logit(value) + np.array([-half, half]))
    return float(low), float(high)


def _auc(tp: np.ndarray, fp: np.ndarray) -> np.ndarray:
    """Counts (J, ...) -> areas (...)."""
    pairs = np.asarray(tp[-1] * fp[-1])
    area = np.sum(np.diff(fp, axis=0, prepend=0) * (tp - np.diff(tp, axis=0, prepend=0) / 2), axis=0)
    return np.where(pairs > 0, area / np.maximum(pairs, 1), np.nan)


def _ap(tp: np.ndarray, fp: np.ndarray) -> np.ndarray:
    """Counts (J, ...) -> areas (...)."""
    area = np.sum(np.diff(tp, axis=0, prepend=0) * (tp / np.maximum(tp + fp, 1)), axis=0)
    return np.where(tp[-1] > 0, area / np.maximum(tp[-1], 1), np.nan)
