"""Rows set aside before anything is learned.

    holdout:         rows aside = round(fraction · n);        stratified: ≈ fraction · n_c of each class c
    kfold:           k parts, each aside once;                 stratified: n_c / k of each class, up to one row
    chronological:   the past is learned from, the future is set aside; in folds the past grows (forward chaining)
    groups:          rows of a group (a patient, a day) are on one side

At least one row is set aside; in a stratified split every class keeps at least one row to learn from. Numbers with more
than 20 values are stratified by ten bins of equal size.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..catalog import nearest
from ..draw import Draw
from ..errors import InputError

__all__ = ["SPLITS", "holdout", "kfold"]

SPLITS = ("random", "stratified", "chronological")
_FEW, _BINS = 20, 10


def holdout(
    n: int, fraction: float, draw: Draw, *, split: str = "random", y: Any = None, groups: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers to train on and row numbers set aside, both ascending.

    Args:
        n: Number of rows.
        fraction: Part that is set aside, between 0 and 1.
        draw: Where the randomness comes from.
        split: "random", "stratified" (by the labels in `y`, or bins of its numbers) or "chronological" (the last rows).
        y: One label or number a row, for a stratified split.
        groups: One name a row: whole groups are set aside, in random order, as near to the fraction as they allow.

    Example:
        >>> [part.tolist() for part in holdout(5, 0.4, Draw(0), split="chronological")]
        [[0, 1, 2], [3, 4]]
    """
    count = _count(n, fraction)
    _known(split)
    if groups is not None:
        return _sides(_whole(_grouped(groups, n, split), count, draw))
    if split == "chronological":
        return np.arange(n - count), np.arange(n - count, n)
    order = torch.randperm(n, generator=draw.generator("split")).numpy()
    aside = order[:count] if split == "random" else _stratified(order, count, fraction, _labels(y, n))
    mask = np.zeros(n, dtype=bool)
    mask[aside] = True
    return _sides(mask)


def kfold(
    n: int, k: int, draw: Draw, *, split: str = "random", y: Any = None, groups: Any = None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Row numbers to train on and to test on, k times; each row is tested on once (chronological: all but the first).

    Args:
        n: Number of rows.
        k: Number of folds, at least 2.
        draw: Where the randomness comes from.
        split: "random", "stratified" or "chronological": fold i is tested on after training on all that is before it.
        y: One label or number a row, for stratified folds.
        groups: One name a row: whole groups go to one fold, the largest first to the smallest fold.

    Example:
        >>> [(a.tolist(), b.tolist()) for a, b in kfold(6, 2, Draw(0), split="chronological")]
        [([0, 1], [2, 3]), ([0, 1, 2, 3], [4, 5])]
    """
    _known(split)
    most = n - (split == "chronological")
    if not 2 <= k <= most:
        raise InputError(f"n_splits={k}, but {n} rows allow 2 to {most} folds. Use such a number.")
    if groups is not None:
        fold = _group_folds(_grouped(groups, n, split), k, draw)
    elif split == "chronological":
        edges = n - (n // (k + 1)) * np.arange(k, -1, -1)  # the first part takes what is left over
        return [(np.arange(a), np.arange(a, b)) for a, b in zip(edges[:-1], edges[1:], strict=True)]
    else:
        order = torch.randperm(n, generator=draw.generator("folds")).numpy()
        if split == "stratified":
            order = order[np.argsort(_enough(y, n, k)[order], kind="stable")]  # by class, random inside
        fold = np.empty(n, dtype=int)
        fold[order] = np.arange(n) % k
    return [_sides(fold == i) for i in range(k)]


def _known(split: str) -> None:
    if split not in SPLITS:
        raise InputError(nearest("split", split, SPLITS))


def _count(n: int, fraction: float) -> int:
    if not 0 < fraction < 1:
        raise InputError(f"The fraction to set aside is {fraction}; it must lie between 0 and 1, e.g. 0.2.")
    if n < 2:
        raise InputError(f"{n} row{'s' * (n != 1)} cannot be divided into two parts; at least 2 rows are needed.")
    return min(max(round(n * fraction), 1), n - 1)


def _sides(mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.flatnonzero(~mask), np.flatnonzero(mask)


# ---- strata


def _labels(y: Any, n: int) -> np.ndarray:
    """Codes of the labels, or of bins of equal size where y holds many different numbers."""
    shape = None if y is None else np.shape(y)
    if shape != (n,):
        raise InputError(
            f"A stratified split needs one label for each of {n} rows, got "
            f"{'no y' if shape is None else f'y of shape {shape}'}. Pass such labels or use split='random'."
        )
    y = np.asarray(y)
    values, code = np.unique(y, return_inverse=True)
    if not _continuous(values):
        return code
    rank = np.searchsorted(np.sort(y), y)  # equal numbers in one bin
    return np.unique(rank * _BINS // n, return_inverse=True)[1]


def _continuous(values: np.ndarray) -> bool:
    return values.dtype.kind in "iuf" and len(values) > _FEW


def _stratified(order: np.ndarray, count: int, fraction: float, code: np.ndarray) -> np.ndarray:
    """The first rows of each class in a random order."""
    quota = _quotas(np.bincount(code), count, fraction)
    grouped = order[np.argsort(code[order], kind="stable")]  # by class, random inside
    c = code[grouped]
    rank = np.arange(len(c)) - np.searchsorted(c, c)  # place inside the class
    return grouped[rank < quota[c]]


def _quotas(sizes: np.ndarray, count: int, fraction: float) -> np.ndarray:
    """How many of each class are set aside: largest remainders, at most all but one."""
    if count > (sizes - 1).sum():
        raise InputError(
            f"{count} of {sizes.sum()} rows cannot be set aside: each of {len(sizes)} classes keeps one row, "
            f"so at most {(sizes - 1).sum()} can. Use a smaller fraction, or split='random'."
        )
    quota = np.minimum(np.floor(fraction * sizes), sizes - 1).astype(int)
    while quota.sum() < count:
        quota[np.argmax(np.where(quota < sizes - 1, fraction * sizes - quota, -np.inf))] += 1
    return quota


def _enough(y: Any, n: int, k: int) -> np.ndarray:
    """Codes of the labels, of which each must be in every fold; bins of numbers may be smaller."""
    code = _labels(y, n)
    values, counts = np.unique(np.asarray(y), return_counts=True)
    least = int(np.argmin(counts))
    if not _continuous(values) and counts[least] < k:
        size = int(counts[least])
        use = f"Use n_splits<={size} or merge the class." if size > 1 else "Merge the class or use split='random'."
        raise InputError(f"n_splits={k} but class {str(values[least])!r} has {size} row{'s' * (size != 1)}. {use}")
    return code


# ---- groups


def _grouped(groups: Any, n: int, split: str) -> np.ndarray:
    if split != "random":
        raise InputError(f"groups= were passed with split={split!r}; whole groups go with split='random' only.")
    if np.shape(groups) != (n,):
        raise InputError(f"groups= has shape {np.shape(groups)}, expected ({n},): one name for each row.")
    code = np.unique(np.asarray(groups), return_inverse=True)[1]
    if code.max() == 0:
        raise InputError("groups= names one group only, which cannot be divided. Give at least 2 groups.")
    return code


def _whole(code: np.ndarray, count: int, draw: Draw) -> np.ndarray:
    """Rows of the first groups in random order: as many groups as come nearest to `count` rows, at most all but one."""
    order = torch.randperm(int(code.max()) + 1, generator=draw.generator("split")).numpy()
    total = np.bincount(code)[order].cumsum()[:-1]
    return np.isin(code, order[: int(np.argmin(np.abs(total - count))) + 1])


def _group_folds(code: np.ndarray, k: int, draw: Draw) -> np.ndarray:
    """The fold of each row: groups from large to small, each to the fold with the fewest rows."""
    sizes = np.bincount(code)
    if len(sizes) < k:
        raise InputError(f"n_splits={k} but groups= names {len(sizes)} groups. Use n_splits<={len(sizes)}.")
    order = torch.randperm(len(sizes), generator=draw.generator("folds")).numpy()
    fold, load = np.empty(len(sizes), dtype=int), np.zeros(k, dtype=int)
    for group in order[np.argsort(-sizes[order], kind="stable")]:
        fold[group] = least = int(np.argmin(load))
        load[least] += sizes[group]
    return fold[code]
