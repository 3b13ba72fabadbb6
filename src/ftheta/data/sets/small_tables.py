"""Tables small enough to be printed: ten patients, and a century of sprints.

cholesterol   age, BMI -> mg/dl of ten patients; the 1st, 3rd, ... row are the half that the course fits
sprint        year, women -> seconds of the winner over 100 m at the Olympic Games, 1900 to 2004
"""

from __future__ import annotations

import numpy as np

from ..datasets import Dataset

__all__ = ["cholesterol", "sprint"]

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
