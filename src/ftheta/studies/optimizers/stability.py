"""What does a step that is too large for the curvature do?

Does full-batch descent end where the sharpness is 2/α, does a rate beyond that end in a flatter minimum or nowhere, and
which descent leaves a saddle?

    edge of stability   α λ_max -> 2     1-20-20-1 tanh, 20 points of the Chebyshev cubic, L = mean (f - y)² / 2
    catapult            L = (u·v)² / 2m,  λ = (‖u‖² + ‖v‖²) / m:   lazy for α λ < 2, flatter for 2 to 4, diverges beyond
    saddle              L = (x² - 1)² / 4 + y² / 2 at 0:   from x₀, log(1 / x₀) / log(1 + α) steps of gradient descent

The cubic was taken because training has come to rest by then; with degree 5, α λ was still between 1.8 and 2.4.
References: Cohen et al. 2021, arXiv:2103.00065; Lewkowycz et al. 2020, arXiv:2003.02218.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.func import grad, jacrev

from ...draw import Draw
from ...train import minimize
from .. import Checks, Measured, Study, holds


def net(seed: int, hidden: int, degree: int) -> tuple[Callable[[Tensor], Tensor], Tensor]:
    """The loss of a network as a function of all its weights in one vector, and where they start."""
    x = torch.linspace(-1, 1, 20, dtype=torch.double)[:, None]
    y = torch.cos(degree * torch.arccos(x))[:, 0]
    shapes = [(hidden, 1), (hidden, hidden), (1, hidden)]
    sizes = [n for out, inp in shapes for n in (out * inp, out)]

    def loss(theta: Tensor) -> Tensor:
        h, parts = x, theta.split(sizes)
        for i, shape in enumerate(shapes):
            h = h @ parts[2 * i].reshape(shape).T + parts[2 * i + 1]
            h = torch.tanh(h) if i < 2 else h
        return (h[:, 0] - y).square().mean() / 2

    generator = Draw(seed).at("stability").generator()
    weights = [torch.randn(out * inp, generator=generator, dtype=torch.double) / inp**0.5 for out, inp in shapes]
    return loss, torch.cat(
        [part for w, (out, _) in zip(weights, shapes, strict=True) for part in (w, w.new_zeros(out))]
    )


def edge(
    seed: int, lr: float, *, hidden: int = 20, degree: int = 3, steps: int = 6000, every: int = 100
) -> dict[str, Any]:
    """α λ_max along full-batch descent, its mean over the last third, and the change of the loss."""
    f, theta = net(seed, hidden, degree)
    slope, sharp, first = grad(f), [], float(f(theta))
    for step in range(steps + 1):
        if step % every == 0:
            sharp.append(lr * float(torch.linalg.eigvalsh(jacrev(slope)(theta))[-1]))
        theta = theta - lr * slope(theta)
    late = np.mean(sharp[2 * len(sharp) // 3 :])
    return {"α λ at the end": late, "loss (log ratio)": math.log(float(f(theta)) / first), "α λ": np.array(sharp)}


def catapult(seed: int, product: float, *, width: int = 64) -> dict[str, Any]:
    """Descent from α λ = product: the highest loss, the last one, and α λ at the end; infinite where it diverges."""
    start = torch.randn(2 * width, generator=Draw(seed).at("catapult").generator(), dtype=torch.double)
    lr = product / float(start.square().sum() / width)
    path = minimize(lambda t: (t[:width] @ t[width:]).square() / (2 * width), start, lr=lr, steps=20)
    values, sharp = path.values / path.values[0], lr * np.square(path.points).sum(1) / width
    if not np.isfinite(values).all() or values[-1] > 1e6:
        return {"peak": np.inf, "end": np.inf, "α λ at the end": np.inf}
    return {"peak": values.max(), "end": values[-1], "α λ at the end": sharp[-1]}


def saddle(seed: int, start: float, *, steps: int = 400, slope: float = 0.01) -> dict[str, Any]:
    """Steps until |x| > 1/2, from x = start: of all rows, and of two batches that disagree along x; infinite: never."""
    plain = lambda t: (t[0] ** 2 - 1) ** 2 / 4 + t[1] ** 2 / 2  # noqa: E731
    batches = [lambda t: plain(t) + slope * t[0], lambda t: plain(t) - slope * t[0]]

    def escape(rule: str, functions: Any) -> float:
        points = minimize(functions, [start, 1.0], optimizer=rule, lr=0.1, steps=steps, seed=seed).points
        far = np.flatnonzero(np.abs(points[:, 0]) > 0.5)
        return float(far[0]) if far.size else np.inf

    agreeing = [lambda t, y=y: (t[0] * t[1] - y).square() / 2 for y in (0.5, 1.5)]
    still = minimize(agreeing, [0.0, 0.0], optimizer="sgd", lr=0.1, steps=steps, seed=seed).points
    return {"all rows": escape("gd", batches), "batches": escape("sgd", batches), "moved": np.abs(still).max()}


at_the_edge = Study(edge, {"lr": (0.2, 0.4)}, seeds=5, tiny={"seeds": 2, "hidden": 4, "steps": 60, "every": 10})
thrown = Study(catapult, {"product": (0.5, 1.5, 2.5, 3.5, 4.5)}, seeds=5, tiny={"seeds": 2, "width": 16})
leaving = Study(saddle, {"start": (0.0, 1e-2, 1e-4, 1e-6, 1e-8)}, seeds=5, tiny={"seeds": 2, "start": (0.0, 1e-2)})


@leaving.claim("C094", says="SGD can escape local minima and saddle points")
def leaves(m: Measured) -> Checks:
    gd, sgd = m["all rows"], m["batches"]
    yield holds("from the ridge of a saddle gradient descent never leaves", np.isinf(gd[0]).all())
    yield holds("stochastic gradient descent does", np.isfinite(sgd[0]).all(), f"after {np.median(sgd[0]):.0f} steps")
