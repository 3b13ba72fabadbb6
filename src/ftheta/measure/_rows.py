"""What is measured, checked: labels as numbers of their classes, probabilities that sum to 1, finite numbers.

Shapes: n rows, K classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..check import plain
from ..errors import InputError, InputTypeError

_SUM = 1e-4  # how far the probabilities of a row may be from a sum of 1: float32 and rounded files


def array(name: str, values: Any) -> np.ndarray:
    """What was given, as an array."""
    try:
        return np.asarray(plain(values))
    except ValueError:
        raise InputError(f"{name} has rows of different lengths; give each as many values.") from None


def vector(name: str, values: Any) -> np.ndarray:
    """One value per row, none of them missing: (n,)."""
    v = array(name, values)
    if v.ndim != 1 or not len(v):
        raise InputError(f"{name} has shape {v.shape}; one value per row, shape (n,), and at least one row are needed.")
    missing = _missing(v) if name in ("low", "high") or v.dtype.kind != "f" else ~np.isfinite(v)
    if np.any(missing):
        i = int(np.argmax(missing))
        raise InputError(f"{name}[{i}] is {v[i]}; drop the rows that have no finite value before measuring.")
    return v


def numbers(**given: Any) -> tuple[np.ndarray, ...]:
    """Numbers of the same rows, as float64: (n,) each."""
    arrays = {name: vector(name, values) for name, values in given.items()}
    _same_rows(arrays)
    for name, v in arrays.items():
        if v.dtype.kind not in "fiub":
            raise InputTypeError(f"{name} holds {v.dtype}, but numbers are needed; labels go to classification().")
    return tuple(v.astype(np.float64) for v in arrays.values())


def coded(classes: Sequence[Any], **labels: Any) -> tuple[np.ndarray, ...]:
    """Labels of the same rows as positions in the list of classes: (n,) each."""
    where = _positions(classes)
    arrays = {name: vector(name, values) for name, values in labels.items()}
    _same_rows(arrays)
    found = []
    for name, v in arrays.items():
        codes = np.array([where.get(label, -1) for label in v.tolist()])
        if (codes < 0).any():
            i = int(np.argmax(codes < 0))
            raise InputError(f"{name}[{i}] is {v[i]!s}, which is none of the {len(where)} classes {_few(classes)}.")
        found.append(codes)
    return tuple(found)


def labeled(classes: Sequence[Any] | None, **labels: Any) -> tuple[list[Any], tuple[np.ndarray, ...]]:
    """The classes, found in the labels where none are given, and the labels as positions in them."""
    given = _sorted({v for a in labels.values() for v in vector("y", a).tolist()}) if classes is None else classes
    return list(given), coded(given, **labels)


def _sorted(labels: set[Any]) -> list[Any]:
    try:
        return sorted(labels)
    except TypeError:
        kinds = ", ".join(sorted({type(v).__name__ for v in labels}))
        raise InputTypeError(f"y mixes labels of kinds {kinds}, which have no order; make them all alike.") from None


def scored(y: Any, p: Any, classes: Sequence[Any] | None) -> tuple[np.ndarray, np.ndarray, list[Any]]:
    """Labels as positions (n,), their probabilities (n, K) in the order of the classes, and the classes.

    p of shape (n,) is the probability of the second of two classes.
    """
    listed, (truth,) = labeled(classes, y=y)
    return truth, probabilities(p, listed, len(truth)), listed


def two(y: Any, p: Any, classes: Sequence[Any] | None) -> tuple[np.ndarray, np.ndarray, list[Any]]:
    """Which rows are of the second of two classes (n,), its probability (n,) as float64, and the classes."""
    truth, q, listed = scored(y, p, classes)
    if len(listed) != 2:
        raise InputError(
            f"There are {len(listed)} classes {_few(listed)}; a threshold parts two: pass one against rest."
        )
    if len(seen := np.unique(truth)) < 2:
        raise InputError(f"All rows of y are {listed[seen[0]]!s}; a threshold is judged on rows of two classes.")
    return truth == 1, q[:, 1].astype(np.float64), listed


def probabilities(p: Any, listed: Sequence[Any], n: int) -> np.ndarray:
    """Probabilities of n rows, one column per class: (n, K)."""
    q = array("p", p)
    if q.dtype.kind not in "fiub":
        raise InputTypeError(f"p holds {q.dtype}, but probabilities are numbers: pass predict_proba.")
    q = np.column_stack([1 - q, q]) if q.ndim == 1 and q.dtype.kind == "f" and len(listed) == 2 else q
    if q.shape != (n, len(listed)):
        raise InputError(
            f"p has shape {np.shape(p)}; for {n} rows and the {len(listed)} classes {_few(listed)} "
            f"it must be ({n}, {len(listed)}), one column per class."
        )
    if len(listed) < 2:
        raise InputError(
            f"There is one class, {listed[0]!s}; name all classes that the model can answer: classes=[...]."
        )
    q = q if q.dtype.kind == "f" else q.astype(np.float64)
    wrong = ~((q >= 0) & (q <= 1)).all(1) | ~(abs(q.sum(1, dtype=np.float64) - 1) <= _SUM)
    if wrong.any():
        i = int(np.argmax(wrong))
        raise InputError(
            f"Row {i} of p is {np.array2string(q[i], threshold=6, precision=4)} with sum {q[i].sum():.6g}; "
            "probabilities lie in [0, 1] and sum to 1, so pass predict_proba, not scores."
        )
    return q


def level_of(level: float) -> float:
    """A confidence level, checked."""
    if not 0 < level < 1:
        raise InputError(f"level is {level}; a share strictly between 0 and 1 is needed, such as 0.95.")
    return float(level)


def _missing(v: np.ndarray) -> Any:
    """NaN and None; an end of an interval may be infinite."""
    return v != v if v.dtype.kind == "f" else [a is None or a != a for a in v.tolist()] if v.dtype == object else False


def _positions(classes: Sequence[Any]) -> dict[Any, int]:
    where = {label: i for i, label in enumerate(classes)}
    if len(where) != len(classes):
        raise InputError(f"The list of classes {_few(classes)} names one of them twice; name each once.")
    return where


def _same_rows(arrays: Mapping[str, np.ndarray]) -> None:
    (first, v), *others = arrays.items()
    for name, w in others:
        if len(v) != len(w):
            raise InputError(
                f"{first} has {len(v)} rows but {name} has {len(w)}; they must be the same rows in the same order."
            )


def _few(classes: Sequence[Any]) -> str:
    shown = ", ".join(str(c) for c in classes[:6])
    return f"({shown}{', ...' if len(classes) > 6 else ''})"
