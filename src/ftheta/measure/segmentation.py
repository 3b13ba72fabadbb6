"""Segmentation: how good a label for every pixel is.

    pixel accuracy   Σ_k C_kk / Σ_kl C_kl                     C_kl = pixels of class k that are called l
    IoU_k            C_kk / (Σ_l C_kl + Σ_l C_lk - C_kk)      intersection over union; their mean is the mean IoU
    Dice_k           2 C_kk / (Σ_l C_kl + Σ_l C_lk)           = 2 IoU_k / (1 + IoU_k) = F1 of class k
    boundary         accuracy of the pixels that have another true label within d rows and columns

Pixels are counted over all images together. The IoU of a class that is in neither map is NaN.
Shapes: n images of H x W pixels, K classes; maps (n, H, W) or (H, W) of integers.
References: Everingham et al., The PASCAL Visual Object Classes Challenge: a retrospective, IJCV 111 (2015).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.ndimage import maximum_filter, minimum_filter

from ..errors import InputError, InputTypeError
from ._rows import array


def pixel_counts(
    y: Any, predicted: Any, classes: Sequence[int] | None = None, *, ignore: int | None = None
) -> np.ndarray:
    """How many pixels of each true class (row) have each answer (column): (K, K).

    Args:
        y: True labels: (n, H, W) or (H, W).
        predicted: Predicted labels of the same shape.
        classes: All classes in the order of rows and columns; None: the sorted labels of both maps.
        ignore: Pixels with this true label are not counted.

    Example:
        >>> pixel_counts([[0, 0], [1, 1]], [[0, 1], [1, 1]]).tolist()
        [[1, 1], [0, 2]]
    """
    truth, answer = _maps(y, predicted)
    counted = np.ones(truth.shape, bool) if ignore is None else truth != ignore
    truth, answer = truth[counted], answer[counted]
    if not truth.size:
        raise InputError(f"All pixels of y are {ignore}, which is ignored; nothing is left to measure.")
    known = np.unique(np.concatenate([truth, answer])) if classes is None else np.asarray(classes)
    order, k, codes = np.argsort(known), len(known), []
    for name, labels in (("y", truth), ("predicted", answer)):
        codes.append(order[np.minimum(np.searchsorted(known, labels, sorter=order), k - 1)])
        strange = labels[known[codes[-1]] != labels]
        if strange.size:
            raise InputError(f"{name} holds label {strange[0]}, which is not one of the classes {known.tolist()}.")
    return np.bincount(codes[0] * k + codes[1], minlength=k * k).reshape(k, k)


def pixel_accuracy(y: Any, predicted: Any, *, ignore: int | None = None) -> float:
    """The share of pixels that are right; large classes count most."""
    counts = pixel_counts(y, predicted, ignore=ignore)
    return float(counts.trace() / counts.sum())


def iou(y: Any, predicted: Any, classes: Sequence[int] | None = None, *, ignore: int | None = None) -> np.ndarray:
    """Intersection over union of each class, also called its Jaccard index: (K,).

    Example:
        >>> iou([[0, 0], [1, 1]], [[0, 1], [1, 1]])
        array([0.5  , 0.667])
    """
    both, sizes = _overlap(y, predicted, classes, ignore)
    return both / (sizes - both)


def mean_iou(y: Any, predicted: Any, classes: Sequence[int] | None = None, *, ignore: int | None = None) -> float:
    """The mean of `iou` over the classes that are in either map: each counts the same, however small."""
    return float(np.nanmean(iou(y, predicted, classes, ignore=ignore)))


def dice(y: Any, predicted: Any, classes: Sequence[int] | None = None, *, ignore: int | None = None) -> np.ndarray:
    """Dice coefficient of each class: twice the intersection over the sum of both sizes: (K,)."""
    both, sizes = _overlap(y, predicted, classes, ignore)
    return 2 * both / sizes


def boundary(y: Any, d: int = 1) -> np.ndarray:
    """Which pixels have another label at most d rows and d columns away: (..., H, W) of bool.

    Example:
        >>> boundary([[0, 0, 0, 1, 1, 1]]).astype(int).tolist()
        [[0, 0, 1, 1, 0, 0]]
    """
    if d != int(d) or d < 1:
        raise InputError(f"d={d}; the width of the band is an integer number of pixels, at least 1.")
    labels = _map("y", y)
    window = (1,) * (labels.ndim - 2) + (2 * int(d) + 1,) * 2
    return minimum_filter(labels, window, mode="nearest") != maximum_filter(labels, window, mode="nearest")


def boundary_accuracy(y: Any, predicted: Any, d: int = 1, *, ignore: int | None = None) -> float:
    """The share of pixels that are right among those near a boundary of the truth.

    Pixels with the true label `ignore` are not counted; they bound regions all the same.

    Example:
        >>> boundary_accuracy([[0, 0, 0, 1, 1, 1]], [[0, 0, 0, 0, 1, 1]])
        0.5
    """
    truth, answer = _maps(y, predicted)
    near = boundary(truth, d) & (True if ignore is None else truth != ignore)
    return float((truth == answer)[near].mean()) if near.any() else float("nan")


def _maps(y: Any, predicted: Any) -> tuple[np.ndarray, np.ndarray]:
    """Two maps of integers of one shape."""
    truth, answer = _map("y", y), _map("predicted", predicted)
    if truth.shape != answer.shape:
        raise InputError(f"y has shape {truth.shape} but predicted has {answer.shape}; pass labels of the same pixels.")
    return truth, answer


def _map(name: str, given: Any) -> np.ndarray:
    found = array(name, given)
    if found.ndim not in (2, 3) or not found.size:
        raise InputError(f"{name} has shape {found.shape}; labels of pixels are (n, H, W) or (H, W).")
    if found.dtype.kind not in "iub":
        raise InputTypeError(f"{name} holds {found.dtype}, but labels of pixels are integers: pass predict.")
    return found.astype(np.int64)


def _overlap(y: Any, predicted: Any, classes: Any, ignore: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Pixels of each class that both maps have, and the sum of its sizes in them, NaN where it is in neither: (K,)."""
    counts = pixel_counts(y, predicted, classes, ignore=ignore)
    sizes = (counts.sum(0) + counts.sum(1)).astype(float)
    return counts.diagonal(), np.where(sizes > 0, sizes, np.nan)
