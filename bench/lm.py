"""Levenberg-Marquardt beside SciPy's least squares: a 1-20-1 tanh network with weight decay, in float64.

    ½ Σ (f(x_i) - y_i)² / n + l2 Σ w²      200 points of sin(2x) + noise, as residuals (f(x_i) - y_i) / √n and √(2 l2) w

Ours is the trainer with `optimizer="lm"`; the residuals and the Jacobian of SciPy are written in NumPy. All end at a
tolerance of 1e-8. The starts are six from which all three reach one minimum: times to different minima say nothing.
Bars: 4 times as fast as method `lm` with finite differences; at most 1.5 times the time of `trf` with its Jacobian.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from scipy.optimize import least_squares
from torch import nn

from ftheta.data import Rows
from ftheta.likelihoods import Gaussian
from ftheta.nn import MLP
from ftheta.train import Supervised, Trainer, Training, iterate

from ._report import Line, Report
from ._timing import Settings, alternate, ratios, summarise, threads

__all__ = ["CONTESTANTS", "cost", "run", "start"]

N, H, L2 = 200, 20, 3e-4
SEEDS = (0, 2, 3, 9, 12, 13)
ASKED = {"scipy lm, finite differences": 4.0, "scipy trf, Jacobian": 1 / 1.5}
X = np.linspace(-3, 3, N)[:, None]
Y = np.sin(2 * X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=N)
WEIGHTS = np.r_[0:H, 2 * H : 3 * H]  # of (w₁, b₁, w₂, b₂): what is penalized
PENALTY = np.zeros((2 * H, 3 * H + 1))
PENALTY[np.arange(2 * H), WEIGHTS] = (2 * L2) ** 0.5


def start(seed: int) -> np.ndarray:
    """θ to begin with: (61,)."""
    return np.random.default_rng(seed).normal(0, 0.5, 3 * H + 1)


def residuals(theta: np.ndarray) -> np.ndarray:
    """Errors over √n, then the penalized weights: (240,)."""
    hidden = np.tanh(X * theta[:H] + theta[H : 2 * H])
    errors = hidden @ theta[2 * H : 3 * H] + (theta[3 * H] - Y)
    return np.concatenate([errors / N**0.5, (2 * L2) ** 0.5 * theta[WEIGHTS]])


def jacobian(theta: np.ndarray) -> np.ndarray:
    """Of the residuals: (240, 61)."""
    hidden = np.tanh(X * theta[:H] + theta[H : 2 * H])
    found = np.empty((N + 2 * H, 3 * H + 1))
    slope = (1 - hidden * hidden) * (theta[2 * H : 3 * H] / N**0.5)
    found[:N, :H], found[:N, H : 2 * H] = slope * X, slope
    found[:N, 2 * H : 3 * H], found[:N, 3 * H] = hidden / N**0.5, 1 / N**0.5
    found[N:] = PENALTY
    return found


def cost(theta: np.ndarray) -> float:
    """Half the sum of squares."""
    return 0.5 * float(np.sum(residuals(theta) ** 2))


def ours(theta: np.ndarray, rounds: int) -> np.ndarray:
    """Through the trainer."""
    net = MLP(1, 1, (H,), activation="tanh").double()
    nn.utils.vector_to_parameters(torch.tensor(theta), net.parameters())
    rows = Rows(torch.from_numpy(X), torch.from_numpy(Y), batch_size=N)
    trainer = Trainer(Supervised(net, Gaussian()), rows, optimizer="lm", training=Training(l2=L2))
    iterate(trainer, rounds=rounds)
    return nn.utils.parameters_to_vector(net.parameters()).detach().numpy()


def scipys(theta: np.ndarray, rounds: int, method: str, jac: str | Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """`scipy.optimize.least_squares`."""
    return least_squares(residuals, theta, jac, method=method, max_nfev=rounds).x  # pyright: ignore[reportArgumentType]


CONTESTANTS: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "ours": ours,
    "scipy lm, finite differences": partial(scipys, method="lm", jac="2-point"),
    "scipy trf, Jacobian": partial(scipys, method="trf", jac=jacobian),
}


def run(settings: Settings) -> Report:
    """All starts, one after the other, are one run."""
    title, ends = f"1-{H}-1 tanh, {N} points, l2={L2:g}, from {len(SEEDS)} starts", {}
    starts, rounds = [start(seed) for seed in SEEDS], 2 if settings.quick else 5000
    runs = {who: lambda _, f=f: [f(theta.copy(), rounds) for theta in starts] for who, f in CONTESTANTS.items()}
    for solve in CONTESTANTS.values():
        solve(starts[0], 2)  # warm up
    with threads(1):
        times = alternate(runs, settings.repetitions, done=lambda who, _, found: ends.update({who: found}))
    report = Report("lm", title, "all starts", dtype="float64")
    report.lines = [
        Line(who, summarise(t), 1, None if who == "ours" else ratios(t, times["ours"]), ASKED.get(who))
        for who, t in times.items()
    ]
    costs = {who: np.array([cost(theta) for theta in found]) for who, found in ends.items()}
    report.notes = [
        f"Cost of ours against {who}: at most {(costs['ours'] / costs[who] - 1).max():+.1e} relative (asked: 1e-4)."
        for who in ASKED
    ]
    return report
