"""Leaks: what a test part must not share with the training part, found and said in sentences.

    duplicates   a row of the test part that is also a row of the training part is remembered, not predicted
    scaling      mean 0 and standard deviation 1 over ALL rows: the test part had a say in how the training part looks
    target       a column that is the target under another name

A count of duplicates is given beside the one inside the training part: rows of few different values repeat by nature.
Shapes: n rows, D columns.
Reference: Kapoor and Narayanan, Leakage and the Reproducibility Crisis in Machine-Learning-Based Science,
Patterns 4(9) (2023).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from .picture_files import Pictures

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["leaks"]

_TOLERANCE = 1e-6
_SAMPLE = 1000  # rows on which columns are ruled out before all rows are looked at
_LEAST = 20  # so many rows, or different values, before a coincidence is worth a word


def leaks(x: Any, train: Any, test: Any, y: Any = None) -> tuple[str, ...]:
    """Sentences on what the rows `test` share with the rows `train`; none where nothing was found.

    Args:
        x: Features as they were given, before anything was encoded: a frame or an array, (n, D), or Pictures, whose
            files are compared.
        train: Row numbers that are learned from.
        test: Row numbers that are set aside.
        y: Targets, (n,), or None.

    Example:
        >>> x = np.array([[1.5, 2.0], [0.3, 4.0], [7.0, 1.0], [1.5, 2.0]])
        >>> print(*leaks(x, [0, 1, 2], [3]))
        1 of 1 test rows has the same features as a training row; inside the training part 0 of 3 rows repeat another.
    """
    import pandas as pd

    if not len(train) or not len(test):
        return ()
    if isinstance(x, Pictures):
        prints = pd.DataFrame({"content": [blake2b(file.read_bytes(), digest_size=8).digest() for file in x.paths]})
        return tuple(_duplicates(prints, np.asarray(train), np.asarray(test), None if y is None else np.asarray(y)))
    frame = x if isinstance(x, pd.DataFrame) else pd.DataFrame(np.asarray(x))
    y = None if y is None else np.asarray(y)
    train, test = np.asarray(train), np.asarray(test)
    with np.errstate(all="ignore"):
        return (*_duplicates(frame, train, test, y), *_scaled(frame, train), *_target(frame, y))


# ---- rows on both sides


def _duplicates(frame: pd.DataFrame, train: np.ndarray, test: np.ndarray, y: np.ndarray | None) -> Iterator[str]:
    import pandas as pd

    code = _hash(frame)
    inside = pd.Index(code[train])
    shared = pd.Index(code[test]).isin(inside)
    count, own = int(shared.sum()), int(inside.duplicated(keep=False).sum())
    if not count:
        return
    has = "has" if count == 1 else "have"
    also = "" if y is None else f" ({_with_target(code, y, train, test[shared])} of them the same target too)"
    usual = own / len(train) >= 0.5 * count / len(test)
    why = ": the rows take few different values, so this is their nature rather than a leak" if usual else ""
    yield (
        f"{count:,} of {len(test):,} test rows {has} the same features as a training row{also}; "
        f"inside the training part {own:,} of {len(train):,} rows repeat another{why}."
    )


def _hash(frame: pd.DataFrame) -> np.ndarray:
    """64 bits for each row; missing cells are equal."""
    import pandas as pd

    return pd.util.hash_pandas_object(frame, index=False).to_numpy()  # pyright: ignore[reportAttributeAccessIssue]


def _with_target(code: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> int:
    """Test rows with a training row of the same features and target."""
    import pandas as pd

    pair = _hash(pd.DataFrame({"x": code, "y": y}))
    return int(pd.Index(pair[test]).isin(pair[train]).sum())


# ---- scaled before the split


def _scaled(frame: pd.DataFrame, train: np.ndarray) -> Iterator[str]:
    """Columns that are standardised, or run from 0 to 1, over all rows but not over the training rows."""
    found: dict[str, list[str]] = {"mean 0 and standard deviation 1": [], "minimum 0 and maximum 1": []}
    for name, column in frame.items():
        if column.dtype.kind != "f":
            continue
        values = column.to_numpy()
        if _standard(values) and not _standard(values[train]):
            found["mean 0 and standard deviation 1"].append(_called(name))
        elif _unit(values) and not _unit(values[train]) and not _natural(values):
            found["minimum 0 and maximum 1"].append(_called(name))
    for what, names in found.items():
        if names:
            has, rest = ("has" if len(names) == 1 else "have"), f" and {len(names) - 5} more" if len(names) > 5 else ""
            yield (
                f"{', '.join(names[:5])}{rest} {has} {what} over all rows, but not over the training rows: scaled "
                "before the split, so the training part knows something of the test part; scale after it."
            )


def _standard(values: np.ndarray) -> bool:
    if not abs(mean := _mean(values)) < _TOLERANCE:
        return False
    n, variance = np.count_nonzero(values == values), _mean((values - mean) ** 2)
    return bool(n > 1) and any(abs(math.sqrt(v) - 1) < _TOLERANCE for v in (variance, variance * n / (n - 1)))


def _mean(values: np.ndarray) -> float:
    """Without missing values; NaN where all are."""
    mean = values.mean(dtype=float)
    if np.isfinite(mean):
        return float(mean)
    values = values[np.isfinite(values)]
    return float(values.mean(dtype=float)) if len(values) else float("nan")


def _unit(values: np.ndarray) -> bool:
    return bool(np.fmin.reduce(values) == 0 and np.fmax.reduce(values) == 1)


def _natural(values: np.ndarray) -> bool:
    """Few values, or shares in whole thousandths: such columns run from 0 to 1 without being scaled."""
    values = values[np.isfinite(values)]
    thousandths = np.abs(1000 * values - np.round(1000 * values)) < _TOLERANCE
    return bool(thousandths.all()) or len(np.unique(values)) <= _LEAST


# ---- the target under another name


def _target(frame: pd.DataFrame, y: np.ndarray | None) -> Iterator[str]:
    """Columns that equal the target, rise or fall with it throughout, or stand for its classes one by one."""
    import pandas as pd

    if y is None or len(y) < _LEAST:
        return
    some = np.linspace(0, len(y) - 1, min(len(y), _SAMPLE)).astype(int)
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
    if repeats and _one_to_one(a, y):
        return "maps one-to-one onto"
    return "always rises or always falls with" if numbers and _monotone(a, y) else ""


def _one_to_one(a: np.ndarray, y: np.ndarray) -> bool:
    """Each value of one goes with one value of the other."""
    import pandas as pd

    left, right = pd.factorize(a)[0].astype(np.int64), pd.factorize(y)[0].astype(np.int64)
    levels = int(right.max()) + 1
    return left.max() + 1 == levels and len(np.unique(left * levels + right)) == levels


def _monotone(a: np.ndarray, y: np.ndarray) -> bool:
    """Whether numbers that are mostly different are in the same order, or in the opposite one."""
    order = np.argsort(a, kind="stable")
    step, up = np.diff(a[order]), np.diff(y[order].astype(float))
    up = up[step > 0]
    return len(up) >= len(a) // 2 and bool((up > 0).all() or (up < 0).all())


def _called(name: object) -> str:
    return f"Column {name!r}" if isinstance(name, str) else f"Column {name}"
