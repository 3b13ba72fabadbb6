"""What is measured, checked: labels as numbers of their classes, probabilities that sum to 1, finite numbers.

Shapes: n rows, K classes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..check import plain
from ..errors import InputError, InputTypeError

_SUM = 1e-4  # how far the probabilities of a row may be from a sum of 1: float32 and rounded files


def array(name: str, values: Any) -> np.ndarray:
    try:
        return np.asarray(plain(values))
    except ValueError:
        raise InputError(f"{name} has rows of different lengths; give each as many values.") from None


def vector(name: str, values: Any, *, infinite: bool = False) -> np.ndarray:
    """One value per row, none of them missing, all finite unless `infinite`: (n,)."""
    v = array(name, values)
    if v.ndim != 1 or not len(v):
        raise InputError(f"{name} has shape {v.shape}; one value per row, shape (n,), and at least one row are needed.")
    bad = _missing(v) if infinite or v.dtype.kind != "f" else ~np.isfinite(v)
    if np.any(bad):
        i = int(np.argmax(bad))
        raise InputError(f"{name}[{i}] is {v[i]}; drop the rows that have no finite value before measuring.")
    return v


def numbers(*, infinite: bool = False, **given: Any) -> tuple[np.ndarray, ...]:
    """Numbers of the same rows, as float64: (n,) each."""
    arrays = {name: vector(name, values, infinite=infinite) for name, values in given.items()}
    _same_rows(arrays)
    for name, v in arrays.items():
        if v.dtype.kind not in "fiub":
            raise InputTypeError(f"{name} holds {v.dtype}, but numbers are needed; labels go to classification().")
    return tuple(v.astype(np.float64) for v in arrays.values())


def labeled(classes: Sequence[Any] | None, **labels: Any) -> tuple[list[Any], tuple[np.ndarray, ...]]:
    """The classes, by default the sorted labels, and labels of the same rows as positions in them: (n,) each."""
    arrays = {name: vector(name, values) for name, values in labels.items()}
    seen = {v for a in arrays.values() for v in a.tolist()} if classes is None else ()
    try:
        listed = sorted(seen) if classes is None else list(classes)
    except TypeError:
        kinds = ", ".join(sorted({type(v).__name__ for v in seen}))
        raise InputTypeError(f"y mixes labels of kinds {kinds}, which have no order; make them all alike.") from None
    where = {label: i for i, label in enumerate(listed)}
    if len(where) != len(listed):
        raise InputError(f"The list of classes {_few(listed)} names one of them twice; name each once.")
    _same_rows(arrays)
    codes = {name: np.array([where.get(label, -1) for label in v.tolist()]) for name, v in arrays.items()}
    for name, code in codes.items():
        if (code < 0).any():
            i = int(np.argmax(code < 0))
            wrong = f"{name}[{i}] is {arrays[name][i]!s}, which is not one of the {len(where)} classes"
            raise InputError(f"{wrong} {_few(listed)}.")
    return listed, tuple(codes.values())


def scored(y: Any, p: Any, classes: Sequence[Any] | None) -> tuple[np.ndarray, np.ndarray, list[Any]]:
    """Labels as positions (n,), probabilities (n, K), and the classes; p (n,) is that of the second of two classes."""
    listed, (truth,) = labeled(classes, y=y)
    return truth, probabilities(p, listed, len(truth)), listed


def two(y: Any, p: Any, classes: Sequence[Any] | None) -> tuple[np.ndarray, np.ndarray, list[Any]]:
    """Which rows are of the second of two classes (n,), its probability (n,) as float64, and the classes."""
    truth, q, listed = scored(y, p, classes)
    if len(listed) != 2:
        raise InputError(f"There are {len(listed)} classes {_few(listed)}; a threshold is for two.")
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
        wanted = f"({n}, {len(listed)}), one column per class"
        raise InputError(f"p has shape {np.shape(p)}; for the classes {_few(listed)} it must be {wanted}.")
    if len(listed) < 2:
        raise InputError(f"There is one class, {listed[0]!s}; name all that the model can answer: classes=[...].")
    q = q if q.dtype.kind == "f" else q.astype(np.float64)
    wrong = ~((q >= 0) & (q <= 1)).all(1) | ~(abs(q.sum(1, dtype=np.float64) - 1) <= _SUM)
    if wrong.any():
        i = int(np.argmax(wrong))
        row = f"Row {i} of p is {np.array2string(q[i], threshold=6, precision=4)} with sum {q[i].sum():.6g}"
        raise InputError(f"{row}; probabilities lie in [0, 1] and sum to 1, so pass predict_proba, not scores.")
    return q


def optional(values: np.ndarray) -> list[float | None]:
    """Numbers for a table; None where there is none."""
    return [float(v) if np.isfinite(v) else None for v in values]


def level_of(level: float) -> float:
    """A confidence level, checked."""
    if not 0 < level < 1:
        raise InputError(f"level is {level}; a share strictly between 0 and 1 is needed, such as 0.95.")
    return float(level)


def _missing(v: np.ndarray) -> Any:
    """NaN and None."""
    return v != v if v.dtype.kind == "f" else [a is None or a != a for a in v.tolist()] if v.dtype == object else False


def _same_rows(arrays: Mapping[str, np.ndarray]) -> None:
    (first, v), *others = arrays.items()
    for name, w in others:
        if len(v) != len(w):
            raise InputError(f"{first} has {len(v)} rows but {name} has {len(w)}; they must be the same rows in order.")


def _few(classes: Sequence[Any]) -> str:
    shown = ", ".join(str(c) for c in classes[:6])
    return f"({shown}{', ...' if len(classes) > 6 else ''})"
