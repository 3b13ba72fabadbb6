"""Which smooth flow do steps of gradient descent follow?

Question: how far are the end points of GD and SGD from the gradient flow of the loss itself, and from those of the
modified losses, and which power of the rate is that?

    GD:   L + (α/4) ‖∇L‖²                                  L(a, b) = (ab - 1)² / 2 + a² / 10 from (2, 1.5), time 1
    SGD:  L + (α/4) ‖∇L‖² + (α/4B) Σ_b ‖∇L_b - ∇L‖²        3 batches of 2 points, the mean over all orders of an epoch

Cost: about 10 CPU-seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.func import grad, vmap

from ... import plots
from ...formulas import gradient_flow, modified_gd, modified_sgd
from .._study import Evidence, Finding, Verdict, pieces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure"]

CLAIMS = {"C161": "corrected", "C163": "corrected"}
START = (2.0, 1.5)
X = torch.tensor([-1.0, -0.8, 0.3, 0.5, 0.9, 1.2], dtype=torch.double)
Y = torch.tensor([1.0, 0.8, -1.0, -0.5, 2.0, 2.2], dtype=torch.double)
BEGIN = (0.8, 1.2)
GD, SGD = ("L", "modified", "minus sign"), ("L", "L_GD", "L_SGD", "batch size for B")
Scalar = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Config:
    """Settings; those of GD are the source's, the points of SGD are ours.

    Args:
        rates: Learning rates of GD, each half of the one before.
        batch_rates: Learning rates of SGD, each half of the one before.
        shown: The rate of the picture.
        grid: Points of the picture along each axis.
    """

    rates: tuple[float, ...] = (0.1, 0.05, 0.025, 0.0125)
    batch_rates: tuple[float, ...] = (0.2, 0.1, 0.05, 0.025)
    shown: float = 0.1
    grid: int = 80


TINY = Config(rates=(0.025, 0.0125), batch_rates=(0.05, 0.025), grid=10)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Distances from each flow for every rate, and both surfaces with paths."""
    keys = [("gd", lr) for lr in config.rates] + [("sgd", lr) for lr in config.batch_rates]
    found = pieces(lambda kind, lr: {"gd": _gd, "sgd": _sgd}[kind](lr), keys, run)
    cut = len(config.rates)
    rates = {"gd": np.array(config.rates), "sgd": np.array(config.batch_rates)}
    return {"rates": rates, "gd": np.array(found[:cut]), "sgd": np.array(found[cut:]), "picture": _picture(config)}


def loss(theta: Tensor) -> Tensor:
    """(ab - 1)² / 2 + a² / 10."""
    return (theta[0] * theta[1] - 1) ** 2 / 2 + 0.1 * theta[0] ** 2


def _descend(fs: Sequence[Scalar], theta: Tensor, lr: float) -> Tensor:
    """The point after a step along each function in turn, and those before: (T + 1, n)."""
    points = [theta]
    for f in fs:
        points.append(points[-1] - lr * grad(f)(points[-1]))
    return torch.stack(points)


def _off(flows: Sequence[Scalar], start: Tensor, end: Tensor, time: float) -> list[float]:
    return [(gradient_flow(flow, start, [time])[-1] - end).norm().item() for flow in flows]


def _gd(lr: float) -> list[float]:
    start = torch.tensor(START, dtype=torch.double)
    end = _descend([loss] * round(1 / lr), start, lr)[-1]
    return _off([loss, modified_gd(loss, lr), modified_gd(loss, -lr)], start, end, 1.0)


def _batch(i: int) -> Scalar:
    x, y = X[2 * i : 2 * i + 2], Y[2 * i : 2 * i + 2]
    return lambda theta: (theta[1] * torch.tanh(theta[0] * x) - y).square().mean() / 2


def _sgd(lr: float) -> list[float]:
    fs, start = [_batch(i) for i in range(3)], torch.tensor(BEGIN, dtype=torch.double)
    end = torch.stack([_descend(order, start, lr)[-1] for order in permutations(fs)]).mean(0)

    def mean(theta: Tensor) -> Tensor:
        return torch.stack([f(theta) for f in fs]).mean()

    plain, right = modified_gd(mean, lr), modified_sgd(fs, lr)
    size = lambda theta: plain(theta) + 3 / 2 * (right(theta) - plain(theta))  # 2 rows a batch for B = 3  # noqa: E731
    return _off([mean, plain, right, size], start, end, 3 * lr)


def _picture(config: Config) -> Evidence:
    """Both surfaces, and on them GD and both flows, for the time 1."""
    start, lr = torch.tensor(START, dtype=torch.double), config.shown
    times, changed = np.linspace(0, 1, 120).tolist(), modified_gd(loss, lr)
    a, b = (torch.linspace(*ends, config.grid, dtype=torch.double) for ends in ((0.9, 2.1), (0.7, 1.6)))
    at = torch.cartesian_prod(a, b)  # (G·G, 2)
    paths = {
        "gradient descent": _descend([loss] * round(1 / lr), start, lr),
        "flow of L": gradient_flow(loss, start, times),
        "flow of the modified loss": gradient_flow(changed, start, times),
    }
    surfaces = {name: vmap(f)(at).reshape(len(a), -1).T for name, f in (("L", loss), ("modified", changed))}
    return {
        "rate": lr,
        "axes": np.stack([a.numpy(), b.numpy()]),
        "paths": {name: path.numpy() for name, path in paths.items()},
        "surfaces": {name: value.contiguous().numpy() for name, value in surfaces.items()},
    }


def _orders(off: np.ndarray) -> np.ndarray:
    """The power of the rate in each distance, from the two smallest rates: (R, K) -> (K,)."""
    return np.log2(off[-2] / off[-1])


def judge(evidence: Evidence) -> list[Finding]:
    """C161: order 2 with the plus sign only. C163: order 3 an epoch with the number of batches only."""
    gd, sgd = _orders(evidence["gd"]), _orders(evidence["sgd"])
    plus = abs(gd[1] - 2) < 0.2 and abs(gd[0] - 1) < 0.2 and abs(gd[2] - 1) < 0.2
    number = abs(sgd[2] - 3) < 0.3 and all(abs(sgd[k] - 2) < 0.3 for k in (0, 1, 3))
    say = lambda names, orders: ", ".join(f"{n}: {o:.2f}" for n, o in zip(names, orders, strict=True))  # noqa: E731
    return [
        Finding(
            "C161",
            "L -> (α/4) ‖∇L‖²",
            evidence["gd"][:, 1].tolist(),
            None,
            _corrected(plus),
            f"Distance of GD from the flow of L + (α/4) ‖∇L‖² at time 1. Powers of the rate ({say(GD, gd)}): the sign "
            "is plus, and what one step neglects is O(α³), not O(α²).",
        ),
        Finding(
            "C163",
            "B the batch size",
            evidence["sgd"][:, 2].tolist(),
            None,
            _corrected(number),
            f"Distance of the mean end of an epoch from the flow of L_SGD. Powers of the rate ({say(SGD, sgd)}): one "
            "more than any other, with B the number of batches and one rate in both terms.",
        ),
    ]


def _corrected(good: bool) -> Verdict:
    return "corrected" if good else "not reproduced"


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Both surfaces with the three paths, and the distances against the rate."""
    picture = evidence["picture"]
    a, b = picture["axes"]
    titles = {"L": "The loss L", "modified": f"L + (α/4) ‖∇L‖², α = {picture['rate']:g}"}
    panels = {
        f"{rule} from the flow of {of}": (evidence["rates"][kind], off[:, k], _orders(off)[k], 0.0)
        for rule, kind, k, of in (
            ("GD", "gd", 0, "L"),
            ("GD", "gd", 1, "L_GD"),
            ("SGD", "sgd", 1, "L_GD"),
            ("SGD", "sgd", 2, "L_SGD"),
        )
        for off in (evidence[kind],)
    }
    labels = dict.fromkeys(panels, ("learning rate α", "distance at the end"))
    return {"orders": plots.slopes(panels, labels=labels)} | {
        f"surface-{name}": plots.contours(
            (a, b, picture["surfaces"][name]), picture["paths"], title=title, labels=("a", "b"), value="loss"
        )
        for name, title in titles.items()
    }
