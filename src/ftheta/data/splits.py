"""Rows set aside before anything is learned.

    rows aside = round(fraction · n);        stratified: ≈ fraction · n_c of each class c

At least one row is set aside; in a stratified split every class keeps at least one row to learn from.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ..catalog import nearest
from ..draw import Draw
from ..errors import InputError

__all__ = ["SPLITS", "holdout"]

SPLITS = ("random", "stratified", "chronological")


def holdout(
    n: int, fraction: float, draw: Draw, *, split: str = "random", y: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers to train on and row numbers set aside, both ascending.

    Args:
        n: Number of rows.
        fraction: Part that is set aside, between 0 and 1.
        draw: Where the randomness comes from.
        split: "random", "stratified" (by the labels in `y`) or "chronological" (the last rows).
        y: One label a row, for a stratified split.

    Example:
        >>> [part.tolist() for part in holdout(5, 0.4, Draw(0), split="chronological")]
        [[0, 1, 2], [3, 4]]
    """
    count = _count(n, fraction)
    if split not in SPLITS:
        raise InputError(nearest("split", split, SPLITS))
    if split == "chronological":
        return np.arange(n - count), np.arange(n - count, n)
    order = torch.randperm(n, generator=draw.generator("split")).numpy()
    aside = order[:count] if split == "random" else _stratified(order, count, fraction, _labels(y, n))
    mask = np.zeros(n, dtype=bool)
    mask[aside] = True
    return np.flatnonzero(~mask), np.flatnonzero(mask)


def _count(n: int, fraction: float) -> int:
    if not 0 < fraction < 1:
        raise InputError(f"The fraction to set aside is {fraction}; it must lie between 0 and 1, e.g. 0.2.")
    if n < 2:
        raise InputError(f"{n} row{'s' * (n != 1)} cannot be divided into two parts; at least 2 rows are needed.")
    return min(max(round(n * fraction), 1), n - 1)


def _labels(y: Any, n: int) -> np.ndarray:
    shape = None if y is None else np.shape(y)
    if shape != (n,):
        raise InputError(
            f"A stratified split needs one label for each of {n} rows, got "
            f"{'no y' if shape is None else f'y of shape {shape}'}. Pass such labels or use split='random'."
        )
    return np.unique(np.asarray(y), return_inverse=True)[1]


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
