"""Leaks: what a test set must not share with the training set.

    duplicates   a test row that is also a training row, unless as many repeat inside the training set by chance
    scaling      mean 0 and standard deviation 1 over ALL rows: the test rows influenced the training rows
    target       a column that is the target under another name

Shapes: n rows, D columns.
Reference: Kapoor and Narayanan, Leakage and the Reproducibility Crisis in ML-Based Science, Patterns 4(9) (2023).
"""

import math
import os
from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Any

import numpy as np
import pandas as pd

from .io.pictures import Pictures

TOLERANCE = 1e-6
SAMPLE = 1000  # rows on which columns are ruled out before all rows are looked at
CHANCE, MIN_PAIRS, MAX_COLUMNS = 5, 5, 100  # columns that are left out in turn; equal pairs; columns
MIN_ROWS = 20  # of fewer rows, or different values, a coincidence is not reported


def leaks(x: Any, train: Any, test: Any, y: Any = None) -> tuple[str, ...]:
    """What the rows `test` share with the rows `train`, one sentence per leak.

    Args:
        x: Features before anything was encoded: a frame or an array, (n, D), or Pictures, whose files are compared.
        train: Row numbers of the training set.
        test: Row numbers of the test set.
        y: Targets, (n,), or None.

    Example:
        >>> x = np.array([[1.5, 2.0], [0.3, 4.0], [7.0, 1.0], [1.5, 2.0]])
        >>> print(*leaks(x, [0, 1, 2], [3]))
        1 of 1 test rows has the same features as a training row; 0 of 3 training rows repeat another.
    """
    if not len(train) or not len(test):
        return ()
    train, test, y = np.asarray(train), np.asarray(test), None if y is None else np.asarray(y)
    labels = None if y is None else (y[train], y[test])
    if isinstance(x, Pictures):
        return tuple(_duplicates(*_contents(x, train, test), labels))
    frame = x if isinstance(x, pd.DataFrame) else pd.DataFrame(np.asarray(x))
    with np.errstate(all="ignore"):
        both = frame.iloc[np.concatenate([train, test])]
        rows = _duplicates(_hash(frame.iloc[train]), _hash(frame.iloc[test]), labels, lambda: _copied(both))
        return (*rows, *_scaled(frame, train), *_target(frame, y))


# ---- rows on both sides


def _duplicates(
    a: np.ndarray,
    b: np.ndarray,
    labels: tuple[np.ndarray, np.ndarray] | None,
    copied: Callable[[], bool] = lambda: False,
) -> Iterator[str]:
    """Hashes of the training rows and of the test rows, compared; `copied` tells whether equal rows are copies."""
    shared, own = np.isin(b, a), int(pd.Index(a).duplicated(keep=False).sum())
    count = int(shared.sum())
    if not count or (own / len(a) >= 0.5 * count / len(b) and not copied()):  # as many repeat in the training set
        return
    also = ""
    if labels is not None:
        pairs = [_hash(pd.DataFrame({"x": x, "y": y})) for x, y in zip((a, b), labels, strict=True)]
        also = f" ({int(np.isin(pairs[1], pairs[0]).sum())} of them the same target too)"
    yield (
        f"{count:,} of {len(b):,} test rows {'has' if count == 1 else 'have'} the same features as a training row{also}"
        f"; {own:,} of {len(a):,} training rows repeat another."
    )


def _copied(frame: pd.DataFrame) -> bool:
    """Whether far more pairs of rows are equal than chance makes.

    Pairs that are equal but for one column, times the chance that two of its values are equal, are what it makes; of
    the columns with most values the one with the most such pairs counts.
    """
    equal, expected = _pairs(_hash(frame)), 0.0
    for j in np.argsort(-frame.nunique().to_numpy(), kind="stable")[:CHANCE] if frame.shape[1] <= MAX_COLUMNS else ():
        share = 2 * _pairs(frame.iloc[:, j].to_numpy()) / len(frame) ** 2
        rest = _pairs(_hash(frame.iloc[:, np.arange(frame.shape[1]) != j]))
        expected = max(expected, (rest - equal) * share / max(1 - share, share))
    return frame.shape[1] <= MAX_COLUMNS and equal > 4 * expected + MIN_PAIRS


def _pairs(values: np.ndarray) -> float:
    """How many pairs are equal."""
    counts = pd.Series(values).value_counts().to_numpy().astype(float)
    return float((counts * (counts - 1)).sum() / 2)


def _hash(frame: pd.DataFrame) -> np.ndarray:
    """64 bits for each row; missing cells are equal."""
    return pd.util.hash_pandas_object(frame, index=False).to_numpy()  # pyright: ignore[reportAttributeAccessIssue]


def _contents(x: Pictures, train: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """64 bits for each file of both parts; files that no other of them has the size of are not read."""
    some = x[np.concatenate([train, test])]
    sizes = some.listing.sizes[some.index]
    counts = Counter(sizes.tolist())
    contents = (p.read_bytes() if counts[n] > 1 else os.fsencode(p) for p, n in zip(some.paths, sizes, strict=True))
    found = np.array([int.from_bytes(blake2b(c, digest_size=8).digest(), "big") for c in contents], np.uint64)
    return found[: len(train)], found[len(train) :]


# ---- scaled before the split


def _scaled(frame: pd.DataFrame, train: np.ndarray) -> Iterator[str]:
    """Columns that are standardized, or run from 0 to 1, over all rows but not over the training rows."""
    columns = {_called(name): column.to_numpy() for name, column in frame.items() if column.dtype.kind == "f"}
    standard = [name for name, x in columns.items() if _standard(x) and not _standard(x[train])]
    unit = [name for name, x in columns.items() if _unit(x) and not _unit(x[train]) and not _natural(x)]
    for what, names in (("mean 0 and standard deviation 1", standard), ("minimum 0 and maximum 1", unit)):
        if names:
            has, rest = ("has" if len(names) == 1 else "have"), f" and {len(names) - 5} more" if len(names) > 5 else ""
            over = f"{has} {what} over all rows, but not over the training rows"
            why = "scaled before the split, so the training rows depend on the test rows; scale after it"
            yield f"{', '.join(names[:5])}{rest} {over}: {why}."


def _standard(values: np.ndarray) -> bool:
    values = values[np.isfinite(values)]
    if not len(values) or not abs(mean := float(values.mean(dtype=float))) < TOLERANCE:
        return False
    n, variance = len(values), float(((values - mean) ** 2).mean())
    return n > 1 and any(abs(math.sqrt(v) - 1) < TOLERANCE for v in (variance, variance * n / (n - 1)))


def _unit(values: np.ndarray) -> bool:
    return bool(np.fmin.reduce(values) == 0 and np.fmax.reduce(values) == 1)


def _natural(values: np.ndarray) -> bool:
    """Few values, or shares in multiples of 0.001: such columns run from 0 to 1 without being scaled."""
    values = values[np.isfinite(values)]
    thousandths = np.abs(1000 * values - np.round(1000 * values)) < TOLERANCE
    return bool(thousandths.all()) or len(np.unique(values)) <= MIN_ROWS


# ---- the target under another name


def _target(frame: pd.DataFrame, y: np.ndarray | None) -> Iterator[str]:
    """Columns that equal the target, rise or fall with it throughout, or stand for its classes one by one."""
    if y is None or len(y) < MIN_ROWS:
        return
    some = np.linspace(0, len(y) - 1, min(len(y), SAMPLE)).astype(int)
    repeats = 2 <= len(pd.unique(y)) <= len(y) // 2  # that values which hardly repeat go together says nothing
    for name, column in frame.items():
        possible = _relation(_values(column.iloc[some]), y[some], repeats)
        if relation := possible and _relation(_values(column), y, repeats):
            yield f"{_called(name)} {relation} the target: the answer is among the features; leave that column out."


def _values(column: pd.Series) -> np.ndarray:
    return column.to_numpy() if column.dtype.kind in "iufb" else np.asarray(column.astype(str))


def _relation(a: np.ndarray, y: np.ndarray, repeats: bool) -> str:
    numbers = a.dtype.kind in "iufb" and y.dtype.kind in "iufb"
    if np.array_equal(a, y if numbers else y.astype(str)):
        return "equals"
    if repeats:
        pairs = pd.DataFrame({"a": a, "y": y}).drop_duplicates()
        if set(pairs.nunique()) == {len(pairs)}:
            return "maps one-to-one onto"
    return "always rises or always falls with" if numbers and _monotone(a, y) else ""


def _monotone(a: np.ndarray, y: np.ndarray) -> bool:
    """Whether numbers that are mostly different are in the same order, or in the opposite one."""
    order = np.argsort(a, kind="stable")
    step, up = np.diff(a[order]), np.diff(y[order].astype(float))
    up = up[step > 0]
    return len(up) >= len(a) // 2 and bool((up > 0).all() or (up < 0).all())


def _called(name: object) -> str:
    return f"Column {name!r}" if isinstance(name, str) else f"Column {name}"
