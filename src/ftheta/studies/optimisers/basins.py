"""From how many starts does a descent find the best minimum?

Question: a loss of two parameters with many stationary points: where are they, of which kind, and from which share of a
grid of starts do full batches and mini-batches end in the best minimum?

    f(x) = sin(u) exp(-u² / 32),   u = θ₀ + 0.06 θ₁ x,        28 noisy points, x in [-15, 15], truth θ = (0, 16.6)
    ∇L(θ) = 0:  eigenvalues of ∇²L both > 0: minimum, both < 0: maximum, else: saddle

SGD falls linearly to rate 0 over its last third. Its rate is chosen on some data sets and judged on the others: the
best of several on the sets that judge it would look better than it is.
Shapes: D data sets, S starts of each, all moved at once.

Cost: about 70 CPU-seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor
from torch.func import grad, jacrev, vmap

from ... import plots
from ...draw import Draw
from .._study import Evidence, Finding, give, pieces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure"]

CLAIMS = {"C089": "confirmed", "C094": "not reproduced"}
BOX = ((-10.0, 10.0), (2.5, 22.5))
TRUTH = (0.0, 16.6)
KINDS = ("minimum", "saddle", "maximum")
PRINTED = (0.182, 0.311)  # shares of starts from which GD and SGD end at the best minimum
NEAR = 0.5  # an end so near is at a minimum


@dataclass(frozen=True)
class Config:
    """Settings; model, points, starts and batch are the source's.

    Args:
        n: Points of a data set, a multiple of the batch size.
        noise: Standard deviation of the noise on them.
        side: Starts along each axis of the grid.
        rate: Learning rate of GD; its ends are the same for all that converge.
        rates: Rates of SGD, to see how much hangs on them.
        batch: Rows a batch.
        updates: Updates of each descent.
        search: Places along each axis from which stationary points are looked for.
        sets: Data sets.
        choose: The first of them, on which the rate of SGD is chosen; the others judge.
    """

    n: int = 28
    noise: float = 0.1
    side: int = 15
    rate: float = 1.0
    rates: tuple[float, ...] = (1.0, 2.0, 3.0, 4.0)
    batch: int = 4
    updates: int = 3000
    search: int = 30
    sets: int = 20
    choose: int = 6


TINY = Config(side=5, rates=(1.0, 3.0), updates=60, search=12, sets=4, choose=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Stationary points of every loss, and the ends of all descents from one grid."""
    x, y = _data(config)
    keys = [(config.n, config.rate)] + [(config.batch, rate) for rate in config.rates]
    ends = pieces(lambda batch, rate: _descend(config, x, y, batch, rate).numpy(), keys, run)
    points = [_stationary(config, x[i], y[i]) for i in range(config.sets)]
    grids = [torch.linspace(*side, 80, dtype=torch.double) for side in BOX]
    surface = _loss(torch.cartesian_prod(*grids), x[0], y[0]).reshape(80, 80).T
    return {
        "starts": _starts(config).numpy(),
        "ends": np.stack(ends),  # (1 + rates, D, S, 2)
        "values": np.stack([_loss(torch.tensor(end), x[:, None], y[:, None]).numpy() for end in ends]),
        "rates": list(config.rates),
        "choose": config.choose,
        "points": points,
        "surface": [*(grid.numpy() for grid in grids), surface.contiguous().numpy()],
    }


def _data(config: Config) -> tuple[Tensor, Tensor]:
    """All data sets: (D, N) and (D, N)."""
    rng = np.random.default_rng(Draw(1).at("basins").key())
    x = torch.tensor(rng.uniform(-15, 15, (config.sets, config.n)))
    noise = torch.tensor(config.noise * rng.standard_normal(x.shape))
    return x, _model(torch.tensor(TRUTH, dtype=torch.double), x) + noise


def _model(theta: Tensor, x: Tensor) -> Tensor:
    """f at the points of each: (..., 2), (..., N) -> (..., N)."""
    u = theta[..., :1] + 0.06 * theta[..., 1:] * x
    return torch.sin(u) * torch.exp(-u.square() / 32)


def _loss(theta: Tensor, x: Tensor, y: Tensor) -> Tensor:
    return (_model(theta, x) - y).square().mean(-1)


def _starts(config: Config) -> Tensor:
    return torch.cartesian_prod(*(torch.linspace(*side, config.side, dtype=torch.double) for side in BOX))  # (S, 2)


def _descend(config: Config, x: Tensor, y: Tensor, batch: int, rate: float) -> Tensor:
    """Where all starts on all data sets end: (D, S, 2)."""
    rng = np.random.default_rng(Draw(0).at("basins", "order").key())
    theta = _starts(config).expand(len(x), -1, 2)
    x, y = (part[:, None].expand(*theta.shape[:2], -1) for part in (x, y))  # (D, S, N)
    order = torch.arange(config.n).expand(x.shape)
    for k in range(config.updates):
        at = k * batch % config.n
        if at == 0 and batch < config.n:
            order = torch.tensor(rng.random(x.shape)).argsort(-1)
        rows = order[..., at : at + batch]
        theta = theta.detach().requires_grad_()
        total = _loss(theta, x.gather(-1, rows), y.gather(-1, rows)).sum()
        left = 1.0 if batch == config.n else min(1.0, 3 * (1 - k / config.updates))
        theta = theta - rate * left * torch.autograd.grad(total, theta)[0]
    return theta.detach()


def _stationary(config: Config, x: Tensor, y: Tensor) -> Evidence:
    """Roots of the gradient in the box by Newton's method from many places: each once, with kind and loss."""
    slope, curve = vmap(grad(_loss), (0, None, None)), vmap(jacrev(grad(_loss)), (0, None, None))
    at = torch.cartesian_prod(*(torch.linspace(*side, config.search, dtype=torch.double) for side in BOX))
    for _ in range(40):
        move = torch.linalg.lstsq(curve(at, x, y), slope(at, x, y)[..., None]).solution[..., 0]
        at = at - move / (1 + move.norm(dim=1, keepdim=True))  # at most 1 long
    inside = torch.stack([(low <= at[:, k]) & (at[:, k] <= high) for k, (low, high) in enumerate(BOX)]).all(0)
    at = at[inside & (slope(at, x, y).norm(dim=1) < 1e-9)]
    distances = torch.cdist(at, at) < 1e-3
    at = at[distances.int().argmax(1) == torch.arange(len(at))]  # the first of those that agree
    signs = (torch.linalg.eigvalsh(curve(at, x, y)) > 0).sum(1)  # 2: minimum, 1: saddle, 0: maximum
    return {"at": at.numpy(), "kind": (2 - signs).numpy(), "value": _loss(at, x, y).numpy()}


# ---- judging


def _ends(evidence: Evidence) -> np.ndarray:
    """Where every descent ended, by descent, data set and start: 0 the best minimum, 1 another, 2 elsewhere."""
    found = np.full(evidence["ends"].shape[:3], 2)
    for i, points in enumerate(evidence["points"]):
        minima = points["at"][points["kind"] == 0]
        best = points["value"][points["kind"] == 0].argmin()
        away = np.linalg.norm(evidence["ends"][:, i, :, None] - minima, axis=-1)  # (1 + rates, S, minima)
        found[:, i][away.min(-1) < NEAR] = 1
        found[:, i][away[..., best] < NEAR] = 0
    return found


def _chosen(evidence: Evidence) -> int:
    """Which rate of mini-batches is best on the data sets that do not judge."""
    return int((_ends(evidence)[1:, : evidence["choose"]] == 0).mean((1, 2)).argmax())


def judge(evidence: Evidence) -> list[Finding]:
    """C089: minima and saddles, and ends that hang on the start, about as often at the best as printed. C094:
    mini-batches do better on sets not chosen by."""
    shares = (_ends(evidence) == 0).mean(-1)  # (1 + rates, D)
    gd, *others = shares[:, evidence["choose"] :]
    chosen = _chosen(evidence)
    sgd = others[chosen]
    counts = np.array([np.bincount(points["kind"], minlength=3) for points in evidence["points"]])  # (D, 3)
    mixed = bool((counts[:, :2] > 0).all() and (counts[:, 0] > 1).all() and gd.max() < 0.5 and gd.min() > 0)
    near = abs(gd.mean() - PRINTED[0]) <= 2 * gd.std(ddof=1)
    kinds = ", ".join(f"{give(counts[:, k], '.1f')} {('minima', 'saddles', 'maxima')[k]}" for k in range(3))
    ends = f"from {gd.min():.1%} to {gd.max():.1%} of {len(evidence['starts'])} starts"
    more = float(np.mean(sgd > gd))
    verdict = "confirmed" if more >= 0.75 else "refuted" if np.mean(sgd < gd) >= 0.75 else "not reproduced"
    each = ", ".join(f"{give(s, '.1%')} at {r:g}" for s, r in zip(others, evidence["rates"], strict=True))
    return [
        Finding(
            "C089",
            PRINTED[0],
            float(gd.mean()),
            float(gd.std(ddof=1)),
            "not reproduced" if not mixed else "confirmed" if near else "corrected",
            f"In the box, by the signs of the eigenvalues: {kinds} (mean ± s.d. over {len(counts)} data sets); "
            f"full-batch descent ends at the best minimum {ends}.",
        ),
        Finding(
            "C094",
            list(PRINTED),
            [float(s.mean()) for s in (gd, sgd)],
            [float(s.std(ddof=1)) for s in (gd, sgd)],
            verdict,
            f"Batches of 4 with a final decay, at the rate {evidence['rates'][chosen]:g} chosen on "
            f"{evidence['choose']} other data sets, end at the best minimum more often on {more:.0%} of {len(gd)}. By "
            f"rate: {each}.",
        ),
    ]


def figures(evidence: Evidence) -> dict[str, Figure]:
    """The first loss with its stationary points, and where each start ends by either descent."""
    points = evidence["points"][0]
    marks = {kind: points["at"][points["kind"] == k] for k, kind in enumerate(KINDS)}
    panels = {f"{name}: {np.mean(code == 0):.0%} end at the best": code for name, code in _named(evidence)}
    names = ("ends at the best minimum", "at another", "elsewhere")
    return {"basins": plots.basins(evidence["surface"], evidence["starts"], panels, names, marks, labels=("θ₀", "θ₁"))}


def _named(evidence: Evidence) -> list[tuple[str, np.ndarray]]:
    """Full batches and the chosen rate of mini-batches, on the first data set."""
    ends, chosen = _ends(evidence), _chosen(evidence)
    return [("Full batch", ends[0, 0]), (f"Batches of 4, rate {evidence['rates'][chosen]:g}", ends[1 + chosen, 0])]
