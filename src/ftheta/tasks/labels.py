"""Classes and their weights, which several tasks need."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from ..catalog import nearest
from ..check import plain
from ..data.specs import TargetSpec
from ..errors import InputError


def learn_classes(owner: str, y: np.ndarray, classes: Any = None) -> TargetSpec:
    """The classes of y; several columns of 0 and 1 are labels."""
    kind = type_of_target(y, input_name="y", raise_unknown=True)
    if kind.startswith("continuous") or kind == "multiclass-multioutput":
        raise InputError(
            f"Unknown label type: {kind} (e.g. {np.ravel(y)[0]}). Use a regressor, or turn y into classes with "
            "KBinsDiscretizer."
        )
    if kind == "multilabel-indicator":
        return TargetSpec("multilabel", y.shape[1], {"classes": np.arange(y.shape[1])})
    found = np.unique(y if classes is None else np.asarray(classes))
    if len(found) < 2:
        raise InputError(
            f"y has 1 class ({found.tolist()[0]!r}, {len(y)} rows); {owner} needs at least 2 classes. Check the label "
            "column or the split (use stratify=y)."
        )
    return TargetSpec("binary" if len(found) == 2 else "multiclass", len(found), {"classes": found})


def learned_classes(spec: TargetSpec) -> dict[str, tuple[tuple[int, ...], str]]:
    """Shape and dtypes of classes, and of their weights where they differ."""
    weights = {"weights": ((spec.n,), "f")} if "weights" in spec.facts else {}
    return {"classes": ((spec.n,), "biufUO"), **weights}


def encode_labels(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Labels as positions in `classes`; an unknown label is named."""
    index = np.searchsorted(classes, y)
    np.minimum(index, len(classes) - 1, out=index)
    unseen = classes[index] != y
    if unseen.any():
        raise InputError(
            f"y has class {y[unseen].tolist()[0]!r} never seen before (classes_: {', '.join(map(str, classes[:8]))}). "
            "Pass classes= or fit anew."
        )
    return index.astype(np.int64, copy=False)


def class_weights(given: Mapping[Any, float] | str | None, classes: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The weight of each class; "balanced" is n / (K n_k), with n counted in row weights."""
    if given is None:
        return np.ones(len(classes))
    if isinstance(given, str):
        return counts.sum() / (len(classes) * np.maximum(counts, np.finfo(float).tiny))
    known = list(classes.tolist())
    unknown = [label for label in given if label not in known]
    if unknown:
        raise InputError(nearest("class in class_weight:", unknown[0], known))
    try:
        weights = np.array([float(given.get(label, 1.0)) for label in known])
    except (TypeError, ValueError):
        raise InputError(f"class_weight={dict(given)}: a weight must be a number.") from None
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise InputError(f"class_weight={dict(given)}: weights must be finite and >= 0, and one of them > 0.")
    return weights


def warn_unseen(y: Any, classes: np.ndarray) -> None:
    """Warn about a class that fit never saw: no prediction can be right there."""
    unseen = set(np.ravel(plain(y)).tolist()) - set(classes.tolist())
    if unseen:
        known = ", ".join(map(str, classes[:8]))
        warnings.warn(
            f"y has class {min(unseen, key=str)!r} never seen in fit (classes_: {known}). It counts as wrong; refit "
            "to include it.",
            stacklevel=3,
        )
