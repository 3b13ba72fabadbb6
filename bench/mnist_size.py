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

__all__ = ["SHAPE", "WITHIN", "rows", "run"]

SHAPE = Shape((784, 256, 64, 10), batch_size=128)
WITHIN = 1 / 1.10  # at most 10 % more time, as a ratio
ASKED = {"bare loop": WITHIN, "scikit-learn float64": 1.5, "scikit-learn float32": 1.2}


@cache
def _all() -> tuple[np.ndarray, np.ndarray, str]:
    """Images and labels: MNIST from the folder of real data, else ten blurred prototypes with noise."""
    folder = Path(os.environ.get("FTHETA_DATA") or "nowhere") / "mnist"
    if folder.is_dir():
        x, y = (_read(folder / f"train-{part}-ubyte.gz", skip) for part, skip in (("images-idx3", 16), ("labels-idx1", 8)))
        return x.reshape(-1, 784)[:16000] / 255, y[:16000], "MNIST"
    rng = np.random.default_rng(0)
    y = rng.integers(10, size=16000)
    return 0.2 * rng.random((10, 784))[y] + 0.8 * rng.random((16000, 784)), y, "made images"


def _read(path: Path, skip: int) -> np.ndarray:
    """The bytes of an IDX file after its header."""
    return np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8, offset=skip)


def rows(seed: int, n: int = 6000) -> Rows:
    """n rows to train on, the others of 16000 to test with."""
    return Rows.split(*_all()[:2], n, seed)


def run(settings: Settings) -> Report:
    """Whole fits of 5 epochs of 47 steps."""
    n = 512 if settings.quick else 6000
    title = f"784-256-64-10, batch 128, Adam, {n} rows of {_all()[2]}"
    return race(Race("mnist-size", title, SHAPE, lambda seed: rows(seed, n), 1 if settings.quick else 5, ASKED), settings)
