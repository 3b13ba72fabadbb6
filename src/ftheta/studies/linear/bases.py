"""Where do basis functions go that may move?

Two narrow peaks, a slope and noise, fitted by 8 functions of four shapes: do centers that may move go to the peaks, and
is the loss then below that of fixed ones?

    y = 0.3 x + exp(-(x - 0.3)² / 2s²) - exp(-(x - 0.5)² / 2s²) + 0.05 ε,   s = 0.06,   200 points of [-1, 1]
    at the peaks: within 0.3 of their middle 0.4
"""

from typing import Any

import numpy as np

from ...draw import Draw
from ...models import BasisRegression
from .. import Checks, Measured, Study, less, more

PEAKS = (0.3, 0.5)
NEAR = 0.3  # distance from the middle of the peaks


def peaks(x: np.ndarray) -> np.ndarray:
    """The function without its noise."""
    up, down = (np.exp(-(((x - at) / 0.06) ** 2) / 2) for at in PEAKS)
    return 0.3 * x + up - down


def measure(seed: int, shape: str, centers: str, *, functions: int = 8, noise: float = 0.05) -> dict[str, Any]:
    """Mean squared error of one fit, and where its centers are."""
    x = np.linspace(-1, 1, 200)[:, None]
    y = peaks(x[:, 0]) + noise * np.random.default_rng(Draw(seed).at("peaks").key()).standard_normal(200)
    model = BasisRegression(basis=shape, size=functions, learn=centers == "moved").fit(x, y)  # type: ignore[arg-type]
    at = np.sort(model.centers_[0])
    near = (np.abs(at - np.mean(PEAKS)) < NEAR).sum()
    return {"loss": np.mean((model.predict(x) - y) ** 2), "centers at the peaks": near, "center": at}


GRID = {"shape": ("gaussian", "sigmoid", "tanh", "relu"), "centers": ("fixed", "moved")}
study = Study(measure, GRID, seeds=5, tiny={"seeds": 2, "functions": 3})


@study.claim("C051", says="learnable centers let basis functions position themselves optimally for local features")
def moved(m: Measured) -> Checks:
    loss, near = np.log10(m["loss"]), m["centers at the peaks"]  # (shape, centers, seed)
    yield less("moved centers have a lower loss, in every shape (decades)", loss[:, 1], loss[:, 0])
    yield more("more centers are at the peaks, in every shape", near[:, 1], near[:, 0])
