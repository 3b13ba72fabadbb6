"""Rows held out before anything is learned; for cross-validation use scikit-learn's splitters.

At least one row is held out; in a stratified split every class keeps at least one row to learn from. Numbers with more
than 20 values are stratified by ten bins of equal size.
"""

from typing import Any

import numpy as np
import torch

from ..catalog import nearest
from ..draw import Draw
from ..errors import InputError

SPLITS = ("random", "stratified", "chronological")
MAX_CLASSES, BINS = 20, 10  # more different numbers are binned


def holdout(
    n: int, fraction: float, draw: Draw, *, split: str = "random", y: Any = None, groups: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers to train on and row numbers held out, both ascending.

    Args:
        n: Number of rows.
        fraction: Part that is held out, between 0 and 1.
        draw: Where the randomness comes from.
        split: "random", "stratified" (by the labels in `y`, or bins of its numbers) or "chronological" (the last rows).
        y: One label or number per row, for a stratified split.
        groups: One name per row: complete groups are held out, in random order, as near to the fraction as they allow.

    Example:
        >>> [part.tolist() for part in holdout(5, 0.4, Draw(0), split="chronological")]
        [[0, 1, 2], [3, 4]]
    """
    if not 0 < fraction < 1:
        raise InputError(f"The fraction to hold out is {fraction}; it must be between 0 and 1, e.g. 0.2.")
    if n < 2:
        raise InputError(f"{n} row{'s' * (n != 1)} cannot be divided into two parts; at least 2 rows are needed.")
    if split not in SPLITS:
        raise InputError(nearest("split", split, SPLITS))
    count = min(max(round(n * fraction), 1), n - 1)
    if groups is not None:
        return _sides(_groups_held_out(groups, n, split, count, draw))
    if split == "chronological":
        return np.arange(n - count), np.arange(n - count, n)
    order = torch.randperm(n, generator=draw.generator("split")).numpy()
    held = order[:count] if split == "random" else _stratified(order, count, fraction, _labels(y, n))
    return _sides(np.isin(np.arange(n), held))


def _sides(mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.flatnonzero(~mask), np.flatnonzero(mask)


def _labels(y: Any, n: int) -> np.ndarray:
    """Codes of the labels, or of bins of equal size where y holds many different numbers."""
    if y is None or np.shape(y) != (n,):
        got = "no y" if y is None else f"y of shape {np.shape(y)}"
        raise InputError(f"A stratified split needs one label for each of {n} rows, got {got}. Or use split='random'.")
    y = np.asarray(y)
    values, code = np.unique(y, return_inverse=True)
    if values.dtype.kind not in "iuf" or len(values) <= MAX_CLASSES:
        return code
    rank = np.searchsorted(np.sort(y), y)  # equal numbers in one bin
    return np.unique(rank * BINS // n, return_inverse=True)[1]


def _stratified(order: np.ndarray, count: int, fraction: float, code: np.ndarray) -> np.ndarray:
    """The first rows of each class in a random order."""
    quota = _quotas(np.bincount(code), count, fraction)
    grouped = order[np.argsort(code[order], kind="stable")]  # by class, random inside
    c = code[grouped]
    rank = np.arange(len(c)) - np.searchsorted(c, c)  # place inside the class
    return grouped[rank < quota[c]]


def _quotas(sizes: np.ndarray, count: int, fraction: float) -> np.ndarray:
    """How many of each class are held out: largest remainders, at most all but one."""
    if count > (sizes - 1).sum():
        why = f"each of {len(sizes)} classes keeps one row, so at most {(sizes - 1).sum()} can"
        what = f"{count} of {sizes.sum()} rows cannot be held out: {why}"
        raise InputError(f"{what}. Use a smaller fraction, or split='random'.")
    quota = np.minimum(np.floor(fraction * sizes), sizes - 1).astype(int)
    while quota.sum() < count:
        quota[np.argmax(np.where(quota < sizes - 1, fraction * sizes - quota, -np.inf))] += 1
    return quota


def _groups_held_out(groups: Any, n: int, split: str, count: int, draw: Draw) -> np.ndarray:
    """Rows of the first groups in random order: as many groups as come nearest to `count` rows, at most all but one."""
    if split != "random":
        raise InputError(f"groups= were passed with split={split!r}; groups go with split='random' only.")
    if np.shape(groups) != (n,):
        raise InputError(f"groups= has shape {np.shape(groups)}, expected ({n},): one name for each row.")
    code = np.unique(np.asarray(groups), return_inverse=True)[1]
    if code.max() == 0:
        raise InputError("groups= names one group only, which cannot be divided. Use at least 2 groups.")
    order = torch.randperm(int(code.max()) + 1, generator=draw.generator("split")).numpy()
    total = np.bincount(code)[order].cumsum()[:-1]
    return np.isin(code, order[: int(np.argmin(np.abs(total - count))) + 1])
