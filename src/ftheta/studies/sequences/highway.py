"""Does a gate that lets its input pass make fifty layers trainable?

Networks of 4 and of 50 layers of 20 tanh units learn two spirals in 200 steps of Adam, each from all rows: plain ones,
and highway layers whose gates are nearly closed at the start. Of three rates each has the one that does best.

    plain     h_k = tanh(W h_{k-1} + b)
    highway   h_k = T tanh(W h_{k-1} + b) + (1 - T) h_{k-1},   T = σ(V h_{k-1} + c),   c = -2.5 at the start

Reference: Srivastava, Greff and Schmidhuber, arXiv:1505.00387 (2015).
"""

from typing import Any

from torch import nn

from ...draw import Draw
from ...nn import Highway
from .. import Checks, Measured, Study, less, more
from ..convolution._nets import deep, fit, loss_and_accuracy, two_spirals

BIAS = -2.5


def highway(depth: int, width: int, seed: int) -> nn.Sequential:
    """The first layer and the output are dense, as in the plain net."""
    with Draw(seed).at("build").scope():
        gated = [Highway(width, "tanh", BIAS) for _ in range(depth - 1)]
        return nn.Sequential(nn.Linear(2, width), nn.Tanh(), *gated, nn.Linear(width, 2))


def measure(
    seed: int, depth: int, kind: str, rate: float, *, rows: int = 400, width: int = 20, steps: int = 200
) -> dict[str, Any]:
    """Loss and accuracy on the training rows after the last step."""
    train = two_spirals(rows, seed)
    plain = kind == "plain"
    net = deep(2, 2, depth, width, sigma="tanh", seed=seed) if plain else highway(depth, width, seed)
    fit(net, train, rule="adam", lr=rate, epochs=steps, batch=rows, seed=seed)
    loss, accuracy = loss_and_accuracy(net, train)
    return {"loss": loss, "accuracy": accuracy}


TINY = {"seeds": 2, "depth": (2, 3), "rate": (0.01,), "rows": 20, "width": 4, "steps": 3}
GRID = {"depth": (4, 50), "kind": ("plain", "highway"), "rate": (0.001, 0.003, 0.01)}
study = Study(measure, GRID, seeds=5, tiny=TINY)


@study.claim("C241", says="useful for very deep networks")
def trainable(m: Measured) -> Checks:
    loss, accuracy = m["loss"].min(2), m["accuracy"].max(2)  # (depth, kind, S)
    yield more("50 plain layers have a higher loss than 4", loss[1, 0], loss[0, 0])
    yield less("50 highway layers have less than a tenth of that of 50 plain ones", loss[1, 1], loss[1, 0] / 10)
    yield more("50 highway layers: more than 95 of 100 rows are right", accuracy[1, 1], 0.95)
    yield less("50 plain layers: fewer than 80 are", accuracy[1, 0], 0.8)
    yield more("4 layers: both kinds are right in more than 80", accuracy[0], 0.8)
