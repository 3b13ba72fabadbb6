"""Scores of a class for every pixel, with intervals, and two models compared: pixels of an image go together.

    C_kl = Σ_i C_kl of image i, pixels of class k called l;      score = f(C);      images are resampled, not pixels

Shapes: n images of H x W pixels, K classes; maps (n, H, W).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from .. import measure
from ..errors import InputError

__all__ = ["compare_pixels", "score_pixels"]

_IMAGES, _OF_A_CLASS, _LEVEL = 10, 5, 0.95  # fewer images, or fewer with a class, give no interval


def score_pixels(
    y: np.ndarray, predicted: np.ndarray, classes: Sequence[Any], names: Sequence[str], *, seed: int = 0
) -> measure.Scores:
    """Pixel accuracy, mean IoU, accuracy beside outlines, and the IoU of each class."""
    n, k = len(y), len(classes)
    counts = np.stack([measure.pixel_counts(t, a, classes) for t, a in zip(y, predicted, strict=True)])  # (n, K, K)
    near = measure.boundary(y)
    columns = np.column_stack([counts.reshape(n, -1), ((y == predicted) & near).sum((1, 2)), near.sum((1, 2))])
    boot = measure.Bootstrap(n, _LEVEL, seed=seed)
    seen = (counts.sum(2) > 0).sum(0)  # images with a class: (K,)
    few = bool((seen[seen > 0] < _OF_A_CLASS).any())
    found = [
        _score("pixel accuracy", columns, partial(_accuracy, k=k), boot),
        _score("mean IoU", columns, partial(_mean_iou, k=k), boot, few),
        _score("boundary accuracy", columns, lambda s: _ratio(s[..., -2], s[..., -1]), boot),
    ]
    for i, name in enumerate(names):
        one = partial(_iou_of, k=k, place=i)
        found.append(_score(f"IoU({name})", columns, one, boot, bool(seen[i] < _OF_A_CLASS)))
    return measure.Scores(n, _LEVEL, tuple(found))


def compare_pixels(
    y: np.ndarray, a: np.ndarray, b: np.ndarray, names: tuple[str, str], *, seed: int = 0
) -> measure.Comparison:
    """Two models on the same images: the accuracy in each image, in pairs."""
    if len(y) < 2:
        raise InputError("There is one test image; two models cannot be compared on fewer than two.")
    of_a, of_b = ((y == found).mean((1, 2)) for found in (a, b))
    d, boot = of_a - of_b, measure.Bootstrap(len(y), _LEVEL, seed=seed)
    mean = partial(boot.interval, (np.ones(len(d)), d), lambda s: s[..., 1] / s[..., 0])
    low, high = (mean() if len(d) >= _IMAGES else None) or (None, None)
    tests = {
        "sign flips": measure.sign_flip(d, seed),
        "paired t": measure.paired_t(d),
        "Wilcoxon signed ranks": measure.wilcoxon(d),
    }
    tested = (measure.PairedTest("accuracy", name, *f, float(d.mean()), low, high) for name, f in tests.items())
    values = {"accuracy": (float(of_a.mean()), float(of_b.mean()))}
    return measure.Comparison(names, len(y), _LEVEL, values, tuple(tested))


def _score(
    name: str,
    columns: np.ndarray,
    f: Callable[[np.ndarray], np.ndarray],
    boot: measure.Bootstrap,
    few: bool = False,
) -> measure.Score:
    value = float(f(columns.sum(0)))
    found = None if few or boot.n < _IMAGES or not np.isfinite(value) else boot.interval(columns.T, f)
    low, high = found or (None, None)
    return measure.Score(name, value, low, high, "none" if found is None else "bootstrap BCa of images")


# ---- of sums of columns: K² counts, then right pixels near an outline and all of them; (..., K² + 2) -> (...)


def _accuracy(s: np.ndarray, k: int) -> np.ndarray:
    counts = s[..., : k * k]
    return counts[..., :: k + 1].sum(-1) / counts.sum(-1)


def _iou(s: np.ndarray, k: int) -> np.ndarray:
    """Of all classes: (..., K)."""
    counts = s[..., : k * k].reshape(*s.shape[:-1], k, k)
    both = np.diagonal(counts, axis1=-2, axis2=-1)
    return _ratio(both, counts.sum(-1) + counts.sum(-2) - both)


def _iou_of(s: np.ndarray, k: int, place: int) -> np.ndarray:
    return _iou(s, k)[..., place]


def _mean_iou(s: np.ndarray, k: int) -> np.ndarray:
    return np.nanmean(_iou(s, k), axis=-1)


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """NaN where there is nothing."""
    return np.divide(part, whole, out=np.full(np.shape(part), np.nan), where=np.asarray(whole) > 0)
