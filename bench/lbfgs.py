"""L-BFGS beside those of SciPy and torch: how often is the function evaluated until the gradient is small?

    ratio = exp mean over starts of log(evaluations of the other / ours),  over starts from which both reach one optimum

Same memory of 10 pairs, same tolerance: largest entry of the gradient at most 1e-6, nothing else ends a run.
Bar: at most 1.1 times as many evaluations as SciPy, so a ratio of at least 1 / 1.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import exp
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor

from ftheta.optim import make

from ._report import Line, Report
from ._timing import Settings, Summary, alternate, summarise, threads

__all__ = ["CONTESTANTS", "PROBLEMS", "Ended", "compared", "run"]

MEMORY, TOLERANCE, MOST, STARTS, WITHIN = 10, 1e-6, 100_000, 20, 1.1
Function = Callable[[Tensor], Tensor]


class Ended(NamedTuple):
    """Where a run ended, and after how many evaluations of the function with its gradient."""

    evaluations: int
    value: float
    slope: float


class Counted:
    """A function of θ that is evaluated with its gradient, and counts."""

    def __init__(self, f: Function, start: np.ndarray) -> None:
        self.f, self.theta, self.count = f, torch.tensor(start, requires_grad=True), 0

    def __call__(self) -> Tensor:
        """A torch closure."""
        self.count += 1
        self.theta.grad = None
        value = self.f(self.theta)
        value.backward()
        return value

    def at(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """What SciPy asks for."""
        self.theta.data.copy_(torch.from_numpy(x))
        return self().item(), self._gradient()

    def ended(self) -> Ended:
        """The end, seen once more."""
        return Ended(self.count, self().item(), np.abs(self._gradient()).max())

    def _gradient(self) -> np.ndarray:
        return np.zeros(0) if self.theta.grad is None else self.theta.grad.numpy()


def rosenbrock(theta: Tensor) -> Tensor:
    """Σ 100 (θ' - θ²)² + (1 - θ)², each θ with its neighbour θ'."""
    return (100 * (theta[1:] - theta[:-1] ** 2) ** 2 + (1 - theta[:-1]) ** 2).sum()


def network(x: Tensor, y: Tensor, theta: Tensor) -> Tensor:
    """Half the mean squared error of a 2-10-1 tanh network, with weight decay: (100, 2), (100,), (41,)."""
    hidden = torch.tanh(x @ theta[:20].view(2, 10) + theta[20:30])
    return (hidden @ theta[30:40] + theta[40] - y).square().mean() / 2 + DECAY * theta.square().sum() / 2


DECAY = 0.01


def _network() -> Function:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 2))
    y = np.sin(2 * x[:, 0]) * x[:, 1] + 0.1 * rng.normal(size=100)
    return partial(network, torch.from_numpy(x), torch.from_numpy(y))


PROBLEMS: dict[str, tuple[Function, Callable[[int], np.ndarray]]] = {
    "Rosenbrock, 10 numbers": (rosenbrock, lambda seed: np.random.default_rng(seed).uniform(-2, 2, 10)),
    "2-10-1 net, 100 rows": (_network(), lambda seed: np.random.default_rng(seed).normal(0, 0.5, 41)),
}


def ours(f: Function, start: np.ndarray) -> Ended:
    """All iterations in one update."""
    function = Counted(f, start)
    options = {"history_size": MEMORY, "max_iter": MOST, "tolerance_grad": TOLERANCE}
    make("lbfgs", [function.theta], options=options).step(function)
    return function.ended()


def torchs(f: Function, start: np.ndarray) -> Ended:
    """`torch.optim.LBFGS` with its strong Wolfe search, all iterations in one step."""
    function = Counted(f, start)
    options: dict[str, Any] = {"history_size": MEMORY, "tolerance_grad": TOLERANCE, "tolerance_change": 0}
    options |= {"max_iter": MOST, "max_eval": MOST, "line_search_fn": "strong_wolfe"}
    torch.optim.LBFGS([function.theta], **options).step(function)  # pyright: ignore[reportArgumentType]
    return function.ended()


def scipys(f: Function, start: np.ndarray) -> Ended:
    """`scipy.optimize.minimize(method="L-BFGS-B")`."""
    function = Counted(f, start)
    options = {"maxcor": MEMORY, "gtol": TOLERANCE, "ftol": 0, "maxiter": MOST, "maxfun": MOST}
    function.at(minimize(function.at, start, jac=True, method="L-BFGS-B", options=options).x)
    function.count -= 1
    return function.ended()


CONTESTANTS: dict[str, Callable[[Function, np.ndarray], Ended]] = {
    "ours": ours,
    "scipy L-BFGS-B": scipys,
    "torch LBFGS": torchs,
}


def compared(theirs: list[Ended], own: list[Ended]) -> Summary:
    """Geometric mean, least and most of the ratios of evaluations, over starts from which both reach one optimum."""
    pairs = [
        (a, b) for a, b in zip(theirs, own, strict=True) if abs(a.value - b.value) <= 1e-6 * max(1e-3, abs(a.value))
    ]
    logs = [np.log(a.evaluations / b.evaluations) for a, b in pairs]
    return Summary(exp(fmean(logs)), exp(min(logs)), exp(max(logs)), len(logs))


def run(settings: Settings) -> Report:
    """Both problems, from the same starts."""
    report = Report("lbfgs", "evaluations until the gradient is small", "a run", against="evals/ours", dtype="float64")
    starts = settings.repetitions if settings.quick else STARTS
    for name, (f, start) in PROBLEMS.items():
        with threads(1):
            times, ended = _raced(f, start, starts)
        for who, each in times.items():
            ratio = None if who == "ours" else compared(ended[who], ended["ours"])
            asked = 1 / WITHIN if who.startswith("scipy") else None
            report.lines.append(Line(f"{name}: {who}", summarise(each), 1, ratio, asked))
            mean = exp(fmean(np.log([e.evaluations for e in ended[who]])))
            same = "" if ratio is None else f", {ratio.n} of {starts} at the same optimum"
            report.notes.append(f"{name}: {who}: {mean:.1f} evaluations in the geometric mean{same}.")
    report.notes.append("Beside a ratio: its least and most over the starts, in place of quartiles.")
    return report


def _raced(
    f: Function, start: Callable[[int], np.ndarray], starts: int
) -> tuple[dict[str, list[float]], Mapping[str, list[Ended]]]:
    ended: dict[str, list[Ended]] = {who: [] for who in CONTESTANTS}
    runs = {who: lambda seed, solve=solve: solve(f, start(seed)) for who, solve in CONTESTANTS.items()}
    times = alternate(runs, starts, done=lambda who, _, result: ended[who].append(result))
    return times, ended
