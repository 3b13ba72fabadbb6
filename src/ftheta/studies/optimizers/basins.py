"""From how many starts does a descent find the best minimum?

A loss of two parameters with many stationary points: where are they, of which kind, and from which share of a grid of
starts do full batches and mini-batches end in the best minimum?

    f(x) = sin(u) exp(-u² / 32),   u = θ₀ + 0.06 θ₁ x,        28 noisy points, x in [-15, 15], truth θ = (0, 16.6)
    ∇L(θ) = 0:  eigenvalues of ∇²L both > 0: minimum, both < 0: maximum, else: saddle

Mini-batches of 4 fall linearly to rate 0 over their last third. Their rate is chosen on the first data sets and checked
on the others. A seed is a data set; all 225 starts are moved at once.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.func import grad, jacrev, vmap

from ...draw import Draw
from .. import Checks, Measured, Study, holds, less, more

BOX = ((-10.0, 10.0), (2.5, 22.5))
TRUTH = (0.0, 16.6)
NEAR = 0.5  # distance from a minimum within which a descent has ended there
CHOOSE = 6  # data sets on which the rate is chosen


def model(theta: Tensor, x: Tensor) -> Tensor:
    """f at the points of each: (..., 2), (..., N) -> (..., N)."""
    u = theta[..., :1] + 0.06 * theta[..., 1:] * x
    return torch.sin(u) * torch.exp(-u.square() / 32)


def loss(theta: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Mean squared error: (..., 2) -> (...)."""
    return (model(theta, x) - y).square().mean(-1)


def grid(side: int) -> Tensor:
    """Places in the box: (side², 2)."""
    return torch.cartesian_prod(*(torch.linspace(*ends, side, dtype=torch.double) for ends in BOX))


def stationary(x: Tensor, y: Tensor, search: int) -> tuple[Tensor, Tensor]:
    """Roots of the gradient in the box by Newton's method from many places, and positive eigenvalues there (0 to 2)."""
    slope, curve = vmap(grad(loss), (0, None, None)), vmap(jacrev(grad(loss)), (0, None, None))
    at = grid(search)
    for _ in range(40):
        move = torch.linalg.lstsq(curve(at, x, y), slope(at, x, y)[..., None]).solution[..., 0]
        at = at - move / (1 + move.norm(dim=1, keepdim=True))  # at most 1 long
    inside = torch.stack([(low <= at[:, k]) & (at[:, k] <= high) for k, (low, high) in enumerate(BOX)]).all(0)
    at = at[inside & (slope(at, x, y).norm(dim=1) < 1e-9)]
    at = at[(torch.cdist(at, at) < 1e-3).int().argmax(1) == torch.arange(len(at))]  # the first of those that agree
    return at, (torch.linalg.eigvalsh(curve(at, x, y)) > 0).sum(1)


def descend(x: Tensor, y: Tensor, batch: int, lr: float, updates: int, side: int, rng: np.random.Generator) -> Tensor:
    """Where all starts end: (side², 2)."""
    theta, n = grid(side), len(x)
    order = torch.arange(n).expand(len(theta), n)
    for k in range(updates):
        at = k * batch % n
        if at == 0 and batch < n:
            order = torch.tensor(rng.random((len(theta), n))).argsort(-1)
        rows = order[:, at : at + batch]
        theta = theta.detach().requires_grad_()
        slope = torch.autograd.grad(loss(theta, x[rows], y[rows]).sum(), theta)[0]
        theta = theta - lr * (1.0 if batch == n else min(1.0, 3 * (1 - k / updates))) * slope
    return theta.detach()


def measure(
    seed: int, lr: float, *, n: int = 28, noise: float = 0.1, side: int = 15, updates: int = 3000, search: int = 30
) -> dict[str, Any]:
    """Share of the starts from which a descent ends at the best minimum; lr = 0 stands for all rows at rate 1."""
    rng = np.random.default_rng(Draw(seed).at("basins").key())
    x = torch.tensor(rng.uniform(-15, 15, n))
    y = model(torch.tensor(TRUTH, dtype=torch.double), x) + noise * torch.tensor(rng.standard_normal(n))
    at, positive = stationary(x, y, search)
    minima = at[positive == 2]
    best = minima[loss(minima, x, y).argmin()]
    end = descend(x, y, *((4, lr) if lr else (n, 1.0)), updates, side, rng)
    counts = {name: int((positive == k).sum()) for name, k in {"minima": 2, "saddles": 1, "maxima": 0}.items()}
    return {"at the best minimum": float(((end - best).norm(dim=1) < NEAR).double().mean()), **counts}


TINY = {"seeds": 8, "side": 5, "updates": 30, "search": 8, "lr": (0.0, 3.0)}
study = Study(measure, {"lr": (0.0, 1.0, 2.0, 3.0, 4.0)}, seeds=20, tiny=TINY)


@study.claim("C089", says="non-convex losses have local minima and saddle points", reference=0.182)
def many(m: Measured) -> Checks:
    yield holds("every loss has several minima and saddles", ((m["minima"] > 1) & (m["saddles"] > 0)).all())
    share = m["at the best minimum"][0]
    yield less("full-batch descent ends at the best minimum from fewer than half of the starts", share, 0.5)
    yield more("and from some of them", share)


@study.claim("C094", says="SGD can escape local minima and saddle points", reference=[0.182, 0.311])
def more_often(m: Measured) -> Checks:
    share = m["at the best minimum"]
    chosen = 1 + int(share[1:, :CHOOSE].mean(1).argmax())
    text = f"batches of 4 at the rate {m.axes['lr'][chosen]:g} end at the best minimum more often"
    yield more(text, share[chosen, CHOOSE:], share[0, CHOOSE:])
