"""Does noise, or a large step, find flatter minima, and are they better?

Question: a small net is trained to one training loss by GD and by SGD, each with a small and a large rate. How sharp is
the loss there, how wrong is the net on new points, and do batches agree?

    f(x) = Σ_h v_h tanh(w_h x + b_h) + c,  30 units,      24 points of y = sin 2x + 0.2 ε on [-2, 2]
    sharpness   λ_max(∇²L)             excess error   mean (f - sin 2x)²  on a grid
    batches     mean_b ‖∇L_b - ∇L‖²    and the standard deviation of L_b,  over random batches of 4

Each run stops at the first update at which the training MSE is not above 0.035; the noise of each seed has the mean
square 0.04.
Shapes: R = 4 recipes, S seeds, N points, P parameters.

Cost: about 30 CPU-seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.func import grad, jacrev, vmap

from ... import plots
from ...draw import Draw
from .._study import Evidence, Finding, Verdict, pieces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure"]

CLAIMS = {"C165": "corrected", "C166": "not reproduced", "C167": "corrected"}
PRINTED = {
    "C165": [27.0, 15.4, 26.6, 11.8],
    "C166": [0.0140, 0.0158, 0.0195, 0.0306],
    "C167": [0.816, 0.591, 0.784, 0.457],
}
SMALL, LARGE = 0, 1  # places of the rates; SGD comes after GD
MOST, LEAST = 0.75, 0.25  # shares of seeds
TOUCHED = 0.05  # a smaller relative change is none


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        n: Points, a multiple of the batch size.
        hidden: Units.
        rates: A small and a large learning rate.
        batch: Rows a batch of SGD.
        target: Training MSE at which a run stops.
        updates: Updates at most.
        noise: Root of the mean square of the noise.
        partitions: Random cuts into batches, over which the agreement of batches is taken.
        seeds: Data sets, each with its own start of the weights.
    """

    n: int = 24
    hidden: int = 30
    rates: tuple[float, float] = (0.02, 0.1)
    batch: int = 4
    target: float = 0.035
    updates: int = 20_000
    noise: float = 0.2
    partitions: int = 20
    seeds: int = 12


TINY = Config(target=0.15, updates=400, partitions=2, seeds=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """All seeds under all recipes at once, and what is found at their ends."""
    return pieces(_all, [(config,)], run)[0] | {"rates": list(config.rates), "batch": config.batch}


def _all(config: Config) -> Evidence:
    made = [_problem(config, seed) for seed in range(config.seeds)]
    x, y, start = (torch.tensor(np.array(part)) for part in zip(*made, strict=True))  # (S, N), (S, N), (S, P)
    end, updates = _train(config, x, y, start.expand(4, *start.shape))
    return _look(config, x, y, end) | {"updates": updates.T.numpy()}


def _problem(config: Config, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng, h = np.random.default_rng(Draw(seed).at("flatness").key()), config.hidden
    x, e = np.sort(rng.uniform(-2, 2, config.n)), rng.standard_normal(config.n)
    y = np.sin(2 * x) + config.noise * e / np.sqrt(np.mean(e**2))
    w, b, v = 0.5 * rng.standard_normal(h), rng.standard_normal(h), rng.standard_normal(h) / np.sqrt(h)
    return x, y, np.concatenate([w, b, v, [0.0]])


def _answer(theta: Tensor, x: Tensor) -> Tensor:
    """f of each net at its points: (..., P), (..., n) -> (..., n)."""
    w, b, v, c = theta.split([*[theta.shape[-1] // 3] * 3, 1], -1)
    return (torch.tanh(x[..., None] * w[..., None, :] + b[..., None, :]) * v[..., None, :]).sum(-1) + c


def _mse(theta: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return (_answer(theta, x) - y).square().mean(-1)


def _train(config: Config, x: Tensor, y: Tensor, theta: Tensor) -> tuple[Tensor, Tensor]:
    """Weights (R, S, P) when the target was reached, NaN where it was not, and after how many updates (R, S)."""
    rate = torch.tensor([*config.rates, *config.rates], dtype=torch.double)[:, None, None]
    end, updates = (
        torch.full(theta.shape, torch.nan, dtype=torch.double),
        torch.zeros(theta.shape[:2], dtype=torch.long),
    )
    for k, share in enumerate(_shares(config)):
        theta = theta.detach().requires_grad_()
        squares = (_answer(theta, x) - y).square()  # (R, S, N)
        new = (updates == 0) & (squares.detach().mean(-1) <= config.target)
        end[new], updates[new] = theta.detach()[new], k
        if updates.all():
            break
        theta = theta - rate * torch.autograd.grad((share * squares).sum(), theta)[0]
    return end, updates


def _shares(config: Config) -> Iterator[Tensor]:
    """The weight of each row in each update: all rows for GD, a batch for SGD, in an order drawn anew every epoch."""
    rng, n = np.random.default_rng(Draw(0).at("flatness", "order").key()), config.n
    share, order = torch.full((4, config.seeds, n), 1 / n, dtype=torch.double), torch.empty(0)
    for k in range(config.updates):
        at = k * config.batch % n
        if at == 0:
            order = torch.tensor(rng.permuted(np.tile(np.arange(n), (config.seeds, 1)), axis=1))
        share[2:] = 0.0
        share[2:].scatter_(2, order[:, at : at + config.batch].expand(2, -1, -1), 1 / config.batch)
        yield share


def _look(config: Config, x: Tensor, y: Tensor, end: Tensor) -> Evidence:
    """Sharpness, error and agreement of batches at the ends: (S, R) each."""
    rng = np.random.default_rng(Draw(0).at("flatness", "cuts").key())
    cuts = torch.tensor(rng.permuted(np.tile(np.arange(config.n), (config.partitions, 1)), axis=1))
    cuts = cuts.reshape(config.partitions, -1, config.batch)  # (C, B, rows)

    def each(theta: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        parts = vmap(vmap(lambda rows: (grad(_mse)(theta, x[rows], y[rows]), _mse(theta, x[rows], y[rows]))))(cuts)
        away = (parts[0] - parts[0].mean(1, keepdim=True)).square().sum(-1)
        slope, grid = grad(_mse)(theta, x, y), torch.linspace(-2, 2, 400, dtype=torch.double)
        error = (_answer(theta, grid) - torch.sin(2 * grid)).square().mean()
        return jacrev(grad(_mse))(theta, x, y), error, slope.norm(), away.mean(), parts[1].std(1).mean()

    hessian, *rest = vmap(vmap(each), (0, None, None))(end, x, y)
    top = torch.linalg.eigvalsh(hessian.nan_to_num())[..., -1].where(end[..., 0].isfinite(), torch.nan)
    names = ("sharpness", "error", "gradient", "variance", "spread")
    return {name: value.T.numpy().copy() for name, value in zip(names, [top, *rest], strict=True)}


# ---- judging


def judge(evidence: Evidence) -> list[Finding]:
    """C165: who is flatter. C166: whether the large rate is better. C167: whether batches agree more."""
    top, error, variance = (evidence[key] for key in ("sharpness", "error", "variance"))
    flat = [_changed(top[:, 2 + k], top[:, k]) for k in (SMALL, LARGE)]
    step = [_changed(top[:, k + LARGE], top[:, k + SMALL]) for k in (0, 2)]
    better = [_changed(error[:, k + LARGE], error[:, k + SMALL]) for k in (0, 2)]
    agree = [_changed(variance[:, 2 + k], variance[:, k]) for k in (SMALL, LARGE)]
    even = [_changed(evidence["spread"][:, 2 + k], evidence["spread"][:, k]) for k in (SMALL, LARGE)]
    said = {
        "C165": f"SGD against GD at the small and the large rate: {_say(flat)}. Large against small rate, GD and SGD: "
        f"{_say(step)}. Seeds: {_list(top)}.",
        "C166": f"Large against small rate, GD and SGD: {_say(better)}. Seeds: {_list(1e3 * error)} (thousandths).",
        "C167": f"SGD against GD at the small and the large rate, gradients: {_say(agree)}; losses of batches: "
        f"{_say(even)}. Seeds: {_list(variance)}.",
    }
    verdicts: dict[str, Verdict] = {
        "C165": _flatter(flat, step),
        "C166": _lower(better, TOUCHED),
        "C167": _agreeing(agree, even),
    }
    values = {"C165": top, "C166": error, "C167": variance}
    reached = f" Runs that reached the training loss: {int(np.isfinite(top).sum())} of {top.size}."
    return [
        Finding(
            row, PRINTED[row], _over(np.mean, values[row]), _over(_deviation, values[row]), verdict, said[row] + reached
        )
        for row, verdict in verdicts.items()
    ]


Change = tuple[float, float]  # share of seeds in which it is lower, mean relative change


def _changed(a: np.ndarray, b: np.ndarray) -> Change:
    """Of the seeds that have both."""
    both = np.isfinite(a) & np.isfinite(b)
    if not both.any():
        return 0.5, 0.0
    return float(np.mean(a[both] < b[both])), float(np.exp(np.mean(np.log(a[both] / b[both]))) - 1)


def _flatter(noise: list[Change], step: list[Change]) -> Verdict:
    """The claim is of the noise; corrected where noise matters with a large step only, and the step alone does too."""
    said = _lower(noise, TOUCHED)
    if said == "not reproduced" and _lower(noise[LARGE:], TOUCHED) == "confirmed":
        alone = abs(noise[SMALL][1]) <= TOUCHED and all(change < -TOUCHED for _, change in step)
        return "corrected" if alone else said
    return said


def _lower(changes: list[Change], by: float = 0.0) -> Verdict:
    """Whether all are lower, or higher, in most seeds and by more than a share."""
    if all(share >= MOST and change < -by for share, change in changes):
        return "confirmed"
    return "refuted" if all(share <= LEAST and change > by for share, change in changes) else "not reproduced"


def _agreeing(gradients: list[Change], losses: list[Change]) -> Verdict:
    """Corrected where gradients agree more and losses do not."""
    said = _lower(gradients)
    return "corrected" if said == "confirmed" and _lower(losses) != "confirmed" else said


def _say(changes: list[Change]) -> str:
    return ", ".join(f"{change:+.1%} (lower in {share:.0%} of seeds)" for share, change in changes)


def _list(values: np.ndarray) -> str:
    """Every seed, recipe by recipe."""
    names = ("GD small", "GD large", "SGD small", "SGD large")
    each = [" ".join(f"{v:.3g}" if np.isfinite(v) else "-" for v in column) for column in values.T]
    return "; ".join(map(" ".join, zip(names, each, strict=True)))


def _over(of: Callable[[np.ndarray], Any], values: np.ndarray) -> list[float | None]:
    """A statistic of the seeds that have a value, by recipe."""
    kept = [column[np.isfinite(column)] for column in values.T]
    return [float(of(column)) if column.size else None for column in kept]


def _deviation(values: np.ndarray) -> float:
    return float(values.std(ddof=min(1, values.size - 1)))


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Every seed under every recipe: sharpness, error, agreement of gradients and of losses."""
    names = [f"{rule}\n{rate:g}" for rule in ("GD", "SGD") for rate in evidence["rates"]]
    panels = {
        "largest eigenvalue of ∇²L": evidence["sharpness"],
        "excess test MSE": evidence["error"],
        "norm of the gradient at the end": evidence["gradient"],
        "variance of batch gradients": evidence["variance"],
        "s.d. of batch losses": evidence["spread"],
    }
    return {"recipes": plots.paired(panels, names, title="All at one training loss, by rule and learning rate")}
