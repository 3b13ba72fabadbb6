"""Folds: each row is held out once, by models that did not learn from it.

random, stratified      k parts of equal size, each held out once
groups                  the same, and all rows of a group are in one part
chronological           k parts of the second half, each predicted from all rows before it (rolling origin)
"""

from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, TimeSeriesSplit

from ..draw import Draw
from ..errors import InputError


def folds(
    n: int, k: int, draw: Draw, *, split: str = "random", y: Any = None, groups: Any = None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows to learn from and rows held out, ascending, for each of k folds.

    Args:
        n: Number of rows.
        k: Number of folds; no more than there are rows, groups, or rows of the most frequent class.
        draw: Where the randomness comes from.
        split: "random", "stratified" (by the labels in `y`) or "chronological".
        y: One label per row, for stratified folds.
        groups: One name per row: rows of one group are held out together.

    Example:
        >>> [held.tolist() for _, held in folds(5, 2, Draw(0), split="chronological")]
        [[3], [4]]
    """
    by_class, by_group = split == "stratified", groups is not None
    most = len(np.unique(groups)) if by_group else int(np.unique(y, return_counts=True)[1].max()) if by_class else n
    most -= split == "chronological"
    if k < 2 or most < 2:
        what = "groups" if by_group else "rows"
        raise InputError(
            f"{k} folds of {n} rows ({most} {what} to part): at least 2 of both are needed. Give more rows."
        )
    k, seed = min(k, most), int(draw.generator("folds").initial_seed() % 2**32)
    if split == "chronological":
        return list(TimeSeriesSplit(k, test_size=max(1, n // (2 * k))).split(np.zeros(n)))
    makers: Any = {(0, 0): KFold, (1, 0): StratifiedKFold, (0, 1): GroupKFold, (1, 1): StratifiedGroupKFold}
    maker = makers[by_class, by_group](k, shuffle=True, random_state=seed)
    return list(maker.split(np.zeros(n), y, groups))
