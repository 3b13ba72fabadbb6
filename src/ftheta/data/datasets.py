"""Data sets by name: raw values, names of features and classes, licence and citation.

Nothing is scaled here: what is learned from data is learned from training rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..catalog import nearest
from ..errors import InputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Dataset", "load", "names"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows with names: `x` is a frame of n rows and D numeric columns, `y` is (n,) or None."""

    name: str
    x: pd.DataFrame = field(repr=False)
    y: np.ndarray | None = field(repr=False)
    feature_names: tuple[str, ...] = field(repr=False)
    target_names: tuple[str, ...]
    """Classes in the order of their sorted labels; empty where y is a number."""
    task: str
    """binary, multiclass, regression or none."""
    licence: str = ""
    citation: str = ""


class _Entry(NamedTuple):
    task: str
    licence: str
    citation: str
    options: dict[str, Any] = {}


_UCI = "UCI Machine Learning Repository. https://doi.org/10.24432/"
_REGISTRY = {
    "breast-cancer": _Entry(
        "binary",
        "CC BY 4.0",
        "Wolberg, W., Mangasarian, O., Street, N. and Street, W. (1993). Breast Cancer Wisconsin (Diagnostic). "
        f"{_UCI}C5DW2B",
    ),
    "diabetes": _Entry(
        "regression",
        "not stated; distributed with scikit-learn (BSD-3-Clause)",
        "Efron, B., Hastie, T., Johnstone, I. and Tibshirani, R. (2004). Least Angle Regression. "
        "Annals of Statistics 32(2), 407-499.",
        {"scaled": False},
    ),
    "digits": _Entry(
        "multiclass",
        "CC BY 4.0",
        f"Alpaydin, E. and Kaynak, C. (1998). Optical Recognition of Handwritten Digits (test part). {_UCI}C50P49",
    ),
    "iris": _Entry("multiclass", "CC BY 4.0", f"Fisher, R. A. (1936). Iris. {_UCI}C56C76"),
    "wine": _Entry("multiclass", "CC BY 4.0", f"Aeberhard, S. and Forina, M. (1992). Wine. {_UCI}C5PC7J"),
}


def names() -> tuple[str, ...]:
    """Names that `load` knows."""
    return tuple(_REGISTRY)


def load(name: str) -> Dataset:
    """A data set by name.

    Example:
        >>> load("iris").target_names
        ('setosa', 'versicolor', 'virginica')
    """
    if name not in _REGISTRY:
        raise InputError(nearest("data set", name, _REGISTRY))
    entry = _REGISTRY[name]
    raw = _loader(name)(as_frame=True, **entry.options)
    classes = () if entry.task == "regression" else tuple(map(str, raw.target_names))
    features = tuple(map(str, raw.feature_names))
    return Dataset(name, raw.data, raw.target.to_numpy(), features, classes, entry.task, entry.licence, entry.citation)


def _loader(name: str) -> Callable[..., Any]:
    from sklearn import datasets

    return getattr(datasets, f"load_{name.replace('-', '_')}")
