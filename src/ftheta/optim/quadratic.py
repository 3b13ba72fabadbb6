"""Steps of a quadratic model: what Newton, Gauss-Newton, Levenberg-Marquardt and natural gradient have in common.

    m(d) = g·d + ½ d·B d,      (B + λ I) d = -g

λ = 0 is the model's own minimum, a large λ a short step along -g: d ≈ -g / λ. A trust region ‖d‖ <= r has the same
steps: its λ is 0 if the minimum lies inside, else the one with ‖d‖ = r. λ is never free there.

Shapes: g, d (P,), B (P, P) symmetric.
Reference: Nocedal and Wright, Numerical Optimization, 2nd edition, chapters 4 and 10 (2006).
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["damped_step", "trust_step"]


def damped_step(B: Tensor, g: Tensor, damping: float) -> Tensor | None:
    """d with (B + λ I) d = -g, or None if that matrix is not positive definite in the precision of its numbers.

    Example:
        >>> damped_step(torch.tensor([[10.0, 0.0], [0.0, 1.0]]), torch.tensor([10.0, 1.0]), damping=1.0)
        tensor([-0.9091, -0.5000])
    """
    matrix = B.clone()
    matrix.diagonal().add_(damping)
    factor, failed = torch.linalg.cholesky_ex(matrix)
    pivots = factor.diagonal()
    if failed or float(pivots.amin()) <= (len(B) * torch.finfo(B.dtype).eps) ** 0.5 * float(pivots.amax()):
        return None
    return -torch.cholesky_solve(g[:, None], factor)[:, 0]


def trust_step(B: Tensor, g: Tensor, radius: float) -> tuple[Tensor, float]:
    """The d of least m(d) with ‖d‖ <= radius, and its λ; B may be indefinite.

    Example:
        >>> d, damping = trust_step(torch.tensor([[10.0, 0.0], [0.0, 1.0]]), torch.tensor([10.0, 1.0]), radius=1.0)
        >>> round(d.norm().item(), 4), round(damping, 4)
        (1.0, 1.2116)
    """
    values, vectors = torch.linalg.eigh(B)
    along = vectors.T @ g  # g in the axes of B

    def step(damping: float) -> Tensor:
        return torch.where(along == 0, 0, -along / (values + damping))

    lowest, rounding = float(values[0]), len(B) * torch.finfo(B.dtype).eps * float(values.abs().max())
    flat = values.abs() <= rounding  # axes along which m is level where g has no part: the shortest step leaves them
    if lowest >= -rounding and along[flat].norm() <= 1e-6 * along.norm():
        along[flat], lowest = 0.0, 0.0
        values[flat] = 1.0
    if values[0] > 0 and step(0.0).norm() <= radius:
        return vectors @ step(0.0), 0.0
    low = max(0.0, -lowest)
    high = low + float(g.norm()) / radius + torch.finfo(B.dtype).tiny
    while low < (middle := (low + high) / 2) < high:  # ‖step‖ falls with λ
        low, high = (middle, high) if step(middle).norm() > radius else (low, middle)
    d = step(high)
    rest = radius**2 - float(d @ d)
    if rest > 1e-6 * radius**2:  # g has no part along the lowest axis: the length that is left goes there
        d[0] += rest**0.5
    return vectors @ d, high
