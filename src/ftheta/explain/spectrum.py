"""Curvature of the loss: eigenvalues of its Hessian, without building it.

    H V = V T + r eᵀ,     H = ∇²L(θ)        Lanczos: V orthonormal, T tridiagonal, its outer eigenvalues are those of H
    1/P Σ_i δ(λ - λ_i)  ~  mean over probes of Σ_j τ_j² δ(λ - θ_j)        θ_j: eigenvalues of T, τ_j: first components

Gradient descent with rate η is stable on a parabola of curvature λ only where η < 2/λ. One product H v costs about two
backward passes; the graph of ∇L is built once.

Shapes: P parameters, M steps, S probes, K eigenvalues, G points of the density.
References: Lanczos (1950); Ubaru, Chen and Saad, Fast estimation of tr(f(A)) via stochastic Lanczos quadrature (2017);
Ghorbani, Krishnan and Xiao, Hessian eigenvalue density, arXiv:1901.10159 (2019).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Generator, Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from .. import plots
from ..draw import Draw
from ..errors import InputError, NonFiniteError
from ..results import Result, Table
from ..train import threads, threads_for
from ._lanczos import Product, lanczos, ritz
from ._registry import HasObjective, explanation
from ._theta import RowLoss, Theta, has_surface

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Spectrum", "sharpness", "spectrum"]


@dataclass(frozen=True, eq=False)
class Spectrum(Result):
    """What is known of the Hessian's eigenvalues.

    Args:
        top: The largest eigenvalues, descending: (K,).
        top_error: Each has an eigenvalue of the Hessian within this distance: (K,).
        bottom: The smallest eigenvalue.
        bottom_error: The same for it.
        trace: Sum of all eigenvalues.
        trace_error: Standard error of the trace over probes; 0 where it is exact, NaN for a single probe.
        nodes: Where the density has its masses: (S * M,), or all P eigenvalues.
        masses: Their masses, of sum 1.
        exact: Whether the Hessian was built: it is where it has no more columns than a probe has steps.
        size: P.
        n: Number of rows.
        loss: The loss at the weights.
    """

    top: np.ndarray
    top_error: np.ndarray
    bottom: float
    bottom_error: float
    trace: float
    trace_error: float
    nodes: np.ndarray
    masses: np.ndarray
    exact: bool
    size: int
    n: int
    loss: float

    @property
    def limit(self) -> float:
        """2/λ: the rate above which gradient descent leaves the parabola; inf where no direction curves upwards."""
        return 2 / float(self.top[0]) if self.top[0] > 0 else np.inf

    def density(self, at: Any, width: float | None = None) -> np.ndarray:
        """φ smoothed by a Gaussian of this width (None: 1 % of the range): (G,) -> (G,)."""
        at = np.asarray(at, dtype=float)
        s = 0.01 * max(np.ptp(self.nodes), 1e-12) if width is None else width
        bells = np.exp(-0.5 * ((at[:, None] - self.nodes) / s) ** 2) / (s * np.sqrt(2 * np.pi))  # (G, S * M)
        return bells @ self.masses

    def table(self) -> Table:
        """The largest eigenvalues, the smallest, and the trace, each with how far off it may be."""
        names = [f"λ{i + 1}" for i in range(len(self.top))]
        columns = {
            "quantity": [*names, "smallest λ", "trace", "mean λ", "2/λ1"],
            "value": [*self.top.tolist(), self.bottom, self.trace, self.trace / self.size, self.limit],
            "within": [*self.top_error.tolist(), self.bottom_error, _or_none(self.trace_error), None, None],
        }
        how = "built whole" if self.exact else "by Lanczos' method"
        said = f"Hessian of {self.size} parameters at {self.n} rows, {how}; loss {self.loss:#.4g}."
        return Table(columns, said)

    def figure(self) -> Figure:
        """The density of the eigenvalues on a log scale, with the largest marked."""
        return plots.spectrum(
            self.nodes, self.masses, self.top, self.bottom, size=self.size, title=f"Hessian's spectrum at {self.n} rows"
        )


@explanation("spectrum", needs=HasObjective, when=has_surface, in_report=False)
def spectrum(
    obj: Any,
    X: Any,
    y: Any = None,
    *,
    k: int = 5,
    density: bool = True,
    steps: int = 40,
    probes: int = 3,
    loss: RowLoss | None = None,
    rows: int | None = 1000,
    seed: int = 0,
) -> Spectrum:
    """Eigenvalues of the Hessian of the loss at the weights, in evaluation mode, without the penalties of `Training`.

    A module of at most `steps` parameters has its Hessian built and all eigenvalues found. Else the memory is that of
    steps x P numbers, and an eigenvalue of several eigenvectors is found once.

    Args:
        obj: A fitted neural estimator, or a module together with `loss`.
        X: Rows.
        y: Their targets, where the objective has any.
        k: Largest eigenvalues wanted.
        density: Whether the density and the trace are wanted from `probes` random vectors; else one is used.
        steps: Products with the Hessian for each probe.
        probes: Random vectors of signs.
        loss: A function (raw, y) -> loss of each row, or a likelihood, instead of the estimator's objective.
        rows: At most this many rows, evenly spaced; None: all.
        seed: Seed of the probes.

    Example:
        >>> net = torch.nn.Linear(2, 1, bias=False)
        >>> found = spectrum(net, np.diag([2.0, 6.0]), np.zeros(2), loss=lambda raw, y: (raw[:, 0] - y) ** 2 / 2)
        >>> found.top.tolist(), found.trace
        ([18.0, 2.0], 20.0)
    """
    if k < 1 or steps < k or probes < 1:
        raise InputError(f"k={k}, steps={steps}, probes={probes}; all must be at least 1, and steps at least k.")
    theta = Theta(obj, X, y, loss, rows, "spectrum")
    with threads(threads_for(theta.size * theta.batch.n)), theta.open():
        product, value = _curvature(theta)
        if theta.size <= steps:
            return _whole(theta, product, value, k)
        draw, count = Draw(seed).at("spectrum"), probes if density else 1
        found = [
            lanczos(product, _signs(theta, draw.generator(f"probe {i}")), steps) for i in range(count)
        ]  # (alpha, beta) of each
    parts = [ritz(alpha, beta) for alpha, beta in found]  # values, first components, error of each
    values, _, errors = parts[0]
    errors = errors + np.abs(values).max() * torch.finfo(theta.flat().dtype).eps  # of rounding
    traces = theta.size * np.array([alpha[0] for alpha, _ in found])  # vᵀHv of signs: Hutchinson's estimate
    return Spectrum(
        top=values[::-1][:k],
        top_error=errors[::-1][:k],
        bottom=float(values[0]),
        bottom_error=float(errors[0]),
        trace=float(traces.mean()),
        trace_error=float(traces.std(ddof=1) / count**0.5) if count > 1 else np.nan,
        nodes=np.concatenate([v for v, _, _ in parts]),
        masses=np.concatenate([first**2 for _, first, _ in parts]) / count,
        exact=False,
        size=theta.size,
        n=theta.batch.n,
        loss=value,
    )


def sharpness(
    obj: Any,
    X: Any,
    y: Any = None,
    *,
    loss: RowLoss | None = None,
    rows: int | None = 1000,
    steps: int = 100,
    tolerance: float = 1e-3,
    seed: int = 0,
) -> float:
    """The largest eigenvalue λ of the Hessian at the weights; gradient descent is stable for rates below 2/λ.

    Args:
        obj: A fitted neural estimator, or a module together with `loss`.
        X: Rows.
        y: Their targets, where the objective has any.
        loss: As in `spectrum`.
        rows: At most this many rows, evenly spaced; None: all.
        steps: Products with the Hessian at most.
        tolerance: Stop when ‖Hv - λv‖ <= tolerance |λ|; λ itself is off by about the square of it.
        seed: Seed of the first vector.

    Example:
        >>> net = torch.nn.Linear(2, 1, bias=False)
        >>> round(sharpness(net, np.diag([2.0, 6.0]), np.zeros(2), loss=lambda raw, y: (raw[:, 0] - y) ** 2 / 2), 3)
        18.0
    """
    if steps < 1 or not tolerance >= 0:
        raise InputError(
            f"steps={steps}, tolerance={tolerance}; at least 1 step and a tolerance of at least 0 is needed."
        )
    theta = Theta(obj, X, y, loss, rows, "sharpness")
    with threads(threads_for(theta.size * theta.batch.n)), theta.open():
        product, _ = _curvature(theta)
        start = _signs(theta, Draw(seed).at("spectrum").generator("probe 0"))
        alpha, beta = lanczos(product, start, min(steps, theta.size), tolerance)
    return float(ritz(alpha, beta)[0][-1])


def _curvature(theta: Theta) -> tuple[Product, float]:
    """v -> H v, from one graph of the gradient, and the loss."""
    parts = {name: p.detach().requires_grad_() for name, p in theta.named.items()}
    tensors = list(parts.values())
    with torch.enable_grad(), sdpa_kernel(SDPBackend.MATH):  # the other kernels of attention have no second derivative
        value = theta.loss(parts)
        first = torch.autograd.grad(value, tensors, create_graph=True, allow_unused=True, materialize_grads=True)
    if not bool(value.isfinite()):
        raise NonFiniteError(f"The loss at the weights is {value.item():g}; there is no curvature to look at.")
    bent = [g for g in first if g.requires_grad]
    shapes = [p.shape for p in tensors]

    def product(v: Tensor) -> Tensor:
        ways = [w.view(s) for w, s in zip(v.split([s.numel() for s in shapes]), shapes, strict=True)]
        ways = [w for w, g in zip(ways, first, strict=True) if g.requires_grad]
        found = (
            torch.autograd.grad(bent, tensors, ways, retain_graph=True, allow_unused=True, materialize_grads=True)
            if bent
            else [torch.zeros_like(p) for p in tensors]
        )
        return torch.cat([g.flatten() for g in found])

    return product, float(value.detach())


def _signs(theta: Theta, generator: Generator) -> Tensor:
    like = next(iter(theta.named.values()))
    return (torch.randint(2, (theta.size,), generator=generator) * 2 - 1).to(like)


def _whole(theta: Theta, product: Product, loss: float, k: int) -> Spectrum:
    """All eigenvalues of the Hessian itself."""
    like = next(iter(theta.named.values()))
    columns = torch.stack([product(e) for e in torch.eye(theta.size).to(like)]).double().cpu().numpy()
    if not np.isfinite(columns).all():
        raise NonFiniteError("The Hessian holds a number that is not finite; look at the weights and rows.")
    values = np.linalg.eigvalsh((columns + columns.T) / 2)
    top, none = values[::-1][:k], np.zeros(min(k, len(values)))
    sizes = np.full(len(values), 1 / len(values))
    return Spectrum(
        top=top,
        top_error=none,
        bottom=float(values[0]),
        bottom_error=0.0,
        trace=float(np.trace(columns)),
        trace_error=0.0,
        nodes=values,
        masses=sizes,
        exact=True,
        size=theta.size,
        n=theta.batch.n,
        loss=loss,
    )


def _or_none(value: float) -> float | None:
    return None if np.isnan(value) else value
