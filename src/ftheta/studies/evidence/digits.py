"""How well do a linear softmax and a small network read handwritten digits?

Question: trained on the 60,000 training digits of MNIST, how many of the 10,000 test digits are read right, and which
are taken for which?

    linear:  softmax(W x + b), 7,850 weights        network:  one hidden layer of 128 ReLU units, 101,770 weights

Needs the data set mnist (`ftheta data get mnist`). Cost: about 3 CPU-minutes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ... import measure as measuring
from ...data import holdout
from ...data import load as load_data
from ...draw import Draw
from ...models import MLPClassifier
from .._study import Evidence, Finding, pieces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure"]

CLAIMS = {"A012": "confirmed"}
MODELS = ("linear softmax", "network")


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        data: Name of the data set; its official test part, else a fifth of it, is the test set.
        hidden: Widths of the network.
        epochs: Passes over the training digits.
        lr: Learning rate of Adam.
        seeds: Starts of the weights.
    """

    data: str = "mnist"
    hidden: tuple[int, ...] = (128,)
    epochs: int = 10
    lr: float = 0.001
    seeds: int = 3


TINY = Config(data="digits", hidden=(32,), epochs=8, lr=0.01, seeds=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Predictions of both models for the test digits: (2, S, n)."""
    keys = [(config, hidden, seed) for hidden in ((), config.hidden) for seed in range(config.seeds)]
    found = np.array(pieces(_read, keys, run)).reshape(len(MODELS), config.seeds, -1)
    return {"y": _rows(config)[3], "predicted": found.astype(np.uint8)}


def _rows(config: Config) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training and test digits, scaled to [0, 1] by what is known of pictures: no number is learned from the test."""
    data = load_data(config.data)
    x, y, n = np.asarray(data.x, dtype=np.float32), np.asarray(data.y), len(data.x)
    x /= 255 if data.official else 16
    train, test = np.split(np.arange(n), [n - data.official])
    if not data.official:
        train, test = holdout(n, 0.2, Draw(0).at("test"), split="stratified", y=y)
    return x[train], y[train], x[test], y[test]


def _read(config: Config, hidden: tuple[int, ...], seed: int) -> np.ndarray:
    x, y, new, _ = _rows(config)
    model = MLPClassifier(hidden=tuple(hidden), epochs=config.epochs, lr=config.lr, random_state=seed)
    return model.fit(x, y).predict(new).astype(np.uint8)


def judge(evidence: Evidence) -> list[Finding]:
    """A012: about 92 %, within one point; about 97 to 98 %, within half a point."""
    right = (evidence["predicted"] == evidence["y"]).mean(-1)  # (2, S)
    (linear, network), sd = right.mean(1), right.std(1, ddof=1)
    both = 0.91 <= linear <= 0.93 and 0.965 <= network <= 0.985
    verdict = "refuted" if network <= linear else "confirmed" if both else "not reproduced"
    low, high = measuring.wilson(round(network * len(evidence["y"])), len(evidence["y"]))
    why = (
        f"{len(evidence['y'])} test digits; the network's interval is {low:.4f} to {high:.4f}. The third printed "
        "number, 99 % of a small convolutional network, is for a later study."
    )
    return [Finding("A012", "0.92; 0.97 to 0.98", [float(linear), float(network)], sd.tolist(), verdict, why)]


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Which digit is taken for which, by either model's first seed."""
    named = zip(("linear", "network"), evidence["predicted"][:, 0], strict=True)
    return {name: measuring.confusion(evidence["y"], predicted.astype(int)).figure() for name, predicted in named}
