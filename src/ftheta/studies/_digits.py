"""Images of digits as the studies of Boltzmann machines and networks use them: x (n, D), gray values in [0, 1]."""

from functools import cache
from typing import NamedTuple

import numpy as np

from ..data import holdout, load
from ..draw import Draw
from ..models import MLPClassifier


class Digits(NamedTuple):
    """Training and test images with their classes, and height and width of an image."""

    x: np.ndarray
    y: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray
    shape: tuple[int, int]


@cache
def digits(name: str) -> Digits:
    """A data set of digits; its official test part, else a fifth of it, is the test set."""
    data = load(name)
    x, y, n = np.asarray(data.x, dtype=np.float32), np.asarray(data.y), len(data.x)
    train, test = np.split(np.arange(n), [n - data.official])
    if not data.official:
        train, test = holdout(n, 0.2, Draw(0).at("test"), split="stratified", y=y)
    x /= 255 if data.official else 16
    height, width = data.shape
    return Digits(x[train], y[train], x[test], y[test], (height, width))


def sample_pixels(x: np.ndarray, seed: int) -> np.ndarray:
    """Each pixel drawn once as Bernoulli(gray value): (n, D) of 0 and 1."""
    return (np.random.default_rng(seed).random(x.shape, dtype=np.float32) < x).astype(np.float32)


def binarize(x: np.ndarray) -> np.ndarray:
    """Each pixel 1 where its gray value is at least a half, else 0: (n, D)."""
    return (x >= 0.5).astype(np.float32)


def first_per_class(y: np.ndarray, n: int) -> np.ndarray:
    """Indices of the first n images of each class, class by class.

    Example:
        >>> first_per_class(np.array([1, 0, 1, 1, 0, 0]), 2)
        array([1, 4, 0, 2])
    """
    return np.concatenate([np.flatnonzero(y == k)[:n] for k in np.unique(y)])


@cache
def classifier(name: str, rows: int, epochs: int, pixels: int | None = None) -> MLPClassifier:
    """A network with one hidden layer, trained on the first rows; with `pixels`, on pixels drawn with that seed."""
    data = digits(name)
    x = data.x[:rows] if pixels is None else sample_pixels(data.x[:rows], pixels)
    return MLPClassifier(hidden=(128,), epochs=epochs, lr=0.002, random_state=0).fit(x, data.y[:rows])
