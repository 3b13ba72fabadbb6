"""A net of the size of MNIST, where a step is mostly arithmetic: 784-256-64-10, batch 128, Adam.

Bars: within 10 % of the bare loop; 1.5 times scikit-learn given float64, 1.2 times given float32.
"""

from __future__ import annotations

import gzip
import os
from functools import cache
from pathlib import Path

import numpy as np

from ._fits import Race, race
from ._peers import Rows, Shape
from ._report import Report
from ._timing import Settings

__all__ = ["SHAPE", "WITHIN", "images", "rows", "run"]

SHAPE = Shape((784, 256, 64, 10), batch_size=128)
WITHIN = 1 / 1.10  # at most 10 % more time, as a ratio
ASKED = {"bare loop": WITHIN, "scikit-learn float64": 1.5, "scikit-learn float32": 1.2}


@cache
def images(n: int) -> tuple[np.ndarray, np.ndarray, str]:
    """n images and labels: MNIST from the folder of real data, else ten made prototypes with noise."""
    folder = Path(os.environ.get("FTHETA_DATA") or "nowhere") / "mnist"
    if folder.is_dir():
        x, y = _read(folder / "train-images-idx3-ubyte.gz", 16), _read(folder / "train-labels-idx1-ubyte.gz", 8)
        return x.reshape(-1, 784)[:n] / 255, y[:n], "MNIST"
    rng = np.random.default_rng(0)
    y = rng.integers(10, size=n)
    return 0.1 * rng.random((10, 784))[y] + 0.9 * rng.random((n, 784)), y, "made images"


def _read(path: Path, header: int) -> np.ndarray:
    """The bytes of an IDX file after its header."""
    return np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8, offset=header)


def rows(seed: int, n: int = 6000) -> Rows:
    """n rows to train on, and as many to test with."""
    return Rows.split(*images(2 * n)[:2], n, seed)


def run(settings: Settings) -> Report:
    """Whole fits of 10 epochs of 47 steps."""
    n, epochs = (256, 1) if settings.quick else (6000, 10)
    title = f"784-256-64-10, batch 128, Adam, {n} rows of {images(2 * n)[2]}"
    return race(Race("mnist-size", title, SHAPE, lambda seed: rows(seed, n), epochs, ASKED), settings)
