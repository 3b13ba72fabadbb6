"""Curvature of the loss: eigenvalues of its Hessian, without building it.

    H v_m = β_{m-1} v_{m-1} + α_m v_m + β_m v_{m+1},     T = tridiag(β, α, β),     |θ - λ| <= |β_M s_M| for some λ of H
    1/P Σ_i δ(λ - λ_i)  ~  mean over probes of Σ_j τ_j² δ(λ - θ_j)        θ_j: eigenvalues of T, τ_j: first components

Lanczos' method: every v is made orthogonal to all before it, twice, since rounding would bring copies of eigenvalues.
Gradient descent with rate η is stable on a parabola of curvature λ only where η < 2/λ. One product H v costs about two
backward passes; the graph of ∇L is built once.

Shapes: P parameters, M steps, S probes, K eigenvalues, G points of the density.
References: Parlett, The symmetric eigenvalue problem (1980); Ubaru, Chen and Saad (2017); Ghorbani, Krishnan and Xiao,
arXiv:1901.10159 (2019).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Generator, Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from ...check import Count, NonNegative
from ...draw import Draw
from ...errors import InputError, NonFiniteError
from ...plots import GREY, PALETTE, Figure, canvas, drawn, legend
from ...results import Result
from ...train import threads, threads_for
from .._point import NO_SURFACE, LossLike, Point, has_surface
from .._registry import checked, explanation

BROKEN = "The Hessian holds a number that is not finite; look at the weights and rows."
Product = Callable[[Tensor], Tensor]


def lanczos(product: Product, start: Tensor, steps: int, tolerance: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Diagonal α (M,) and off-diagonal β (M,) of T, the last β of the remainder; fewer than `steps` where the vectors
    fill an invariant space, or the largest eigenvalue is known to this relative tolerance (0: all steps)."""
    basis = start.new_empty(steps, len(start))  # (M, P)
    alpha, beta, v = [], [], start / start.norm()
    for m in range(steps):
        basis[m] = v
        w = product(v)
        alpha.append(float(w @ v))
        for _ in range(2):
            w = w - basis[: m + 1].T @ (basis[: m + 1] @ w)
        beta.append(float(w.norm()))
        size = max(np.abs(alpha).max(), np.max(beta))
        if not np.isfinite(size):
            raise NonFiniteError(BROKEN)
        if beta[-1] <= 10 * torch.finfo(w.dtype).eps * size:
            break
        if tolerance and m % 5 == 4:
            values, _, errors = ritz(np.array(alpha), np.array(beta))
            if errors[-1] <= tolerance * abs(values[-1]):
                break
        v = w / beta[-1]
    return np.array(alpha), np.array(beta)


def ritz(alpha: np.ndarray, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eigenvalues of T, ascending, the first components of its eigenvectors, and the distance of each to one of H."""
    values, vectors = np.linalg.eigh(np.diag(alpha) + np.diag(beta[:-1], 1) + np.diag(beta[:-1], -1))
    return values, vectors[0], np.abs(beta[-1] * vectors[-1])


class Spectrum(Result):
    """What is known of the Hessian's eigenvalues."""

    top: np.ndarray  # the largest eigenvalues, descending: (K,)
    top_error: np.ndarray  # each has an eigenvalue of the Hessian within this distance: (K,)
    bottom: float  # the smallest eigenvalue
    bottom_error: float  # the same for it
    trace: float  # sum of all eigenvalues
    trace_error: float  # standard error of the trace over probes; 0 where it is exact, NaN for a single probe
    nodes: np.ndarray  # where the density has its masses: (S * M,), or all P eigenvalues
    masses: np.ndarray  # their masses, of sum 1
    exact: bool  # whether the Hessian was built: it is where it has no more columns than a probe has steps
    size: int  # P
    n: int  # number of rows
    loss: float  # at the weights

    @property
    def limit(self) -> float:
        """2/λ: the rate above which gradient descent leaves the parabola; inf where no direction curves upwards."""
        return 2 / float(self.top[0]) if self.top[0] > 0 else np.inf

    def columns(self) -> dict[str, Any]:
        """The largest eigenvalues, the smallest, and the trace, each with a bound of its error."""
        names = [f"λ{i + 1}" for i in range(len(self.top))]
        return {
            "quantity": [*names, "smallest λ", "trace", "mean λ", "2/λ1"],
            "value": [*self.top, self.bottom, self.trace, self.trace / self.size, self.limit],
            "error bound": [*self.top_error, self.bottom_error, self.trace_error, np.nan, np.nan],
        }

    @property
    def caption(self) -> str:
        how = "built in full" if self.exact else "by Lanczos' method"
        count = f"{self.size} parameter{'s' * (self.size != 1)}"
        return f"Hessian of {count} at {self.n} rows, {how}; loss {self.loss:#.4g}."

    @drawn
    def figure(self) -> Figure:
        """The density of the eigenvalues on a log scale, with the largest and the smallest marked."""
        figure, axes = canvas()
        counts, edges = np.histogram(self.nodes, bins=60, weights=self.masses * self.size)
        floor = max(min(0.5, counts[counts > 0].min()), 1e-3)
        look = {"baseline": floor / 2, "fill": True, "color": PALETTE[5], "label": "density"}
        axes.stairs(np.maximum(counts, floor / 2), edges, **look)
        axes.axvline(0, color=GREY, lw=1)
        many = f"{len(self.top)} largest: {self.top[0]:.3g} to {self.top[-1]:.3g}"
        label = many if len(self.top) > 1 else f"largest: {self.top[0]:.3g}"
        mark = {"ls": "", "ms": 8, "mec": "white"}
        axes.plot(self.top, np.full(len(self.top), floor), marker="v", color=PALETTE[1], label=label, **mark)
        axes.plot([self.bottom], [floor], marker="^", color=PALETTE[0], label=f"smallest: {self.bottom:.3g}", **mark)
        axes.set(yscale="log", xlabel="eigenvalue λ of the Hessian", ylabel="eigenvalues in a bin (log scale)")
        axes.set_title(f"Hessian's spectrum at {self.n} rows")
        axes.set_ylim(bottom=floor / 2)
        legend(figure)
        return figure


@explanation("spectrum", needs="module_", when=has_surface, otherwise=NO_SURFACE, lifted_by="loss")
def spectrum(
    obj: Any,
    X: Any,
    y: Any = None,
    *,
    k: Count = 5,
    density: bool = True,
    steps: Count = 40,
    probes: Count = 3,
    loss: LossLike = None,
    max_rows: Count | None = 1000,
    random_state: int = 0,
) -> Spectrum:
    """Eigenvalues of the Hessian of the loss at the weights, in evaluation mode, without the penalties of `Training`.

    A module of at most `steps` parameters has its Hessian built and all eigenvalues found. Else the memory is that of
    steps x P numbers, and an eigenvalue of several eigenvectors is found once.

    Args:
        k: Largest eigenvalues wanted.
        density: Whether the density and the trace are wanted from `probes` random vectors; else one is used.
        steps: Products with the Hessian for each probe.
        probes: Random vectors of signs.

    Example:
        >>> net = torch.nn.Linear(2, 1, bias=False)
        >>> found = spectrum(net, np.diag([2.0, 6.0]), np.zeros(2), loss=lambda raw, y: (raw[:, 0] - y) ** 2 / 2)
        >>> found.top.tolist(), found.trace
        ([18.0, 2.0], 20.0)
    """
    if steps < k:
        raise InputError(f"k={k} and steps={steps}; steps must be at least k.")
    point = Point(obj, X, y, loss, max_rows=max_rows).moves()
    with threads(threads_for(point.size * point.batch.n)), point.open():
        product, value = _curvature(point)
        if exact := point.size <= steps:
            built = torch.stack([product(e) for e in torch.eye(point.size).to(point.flat())]).double().cpu().numpy()
            if not np.isfinite(built).all():
                raise NonFiniteError(BROKEN)
            values, errors, spread = np.linalg.eigvalsh((built + built.T) / 2), np.zeros(point.size), 0.0
            traces, found = values.sum()[None], [(values, np.full(len(values), len(values) ** -0.5), errors)]
        else:
            draw, count = Draw(random_state).at("spectrum"), probes if density else 1
            tridiagonal = [lanczos(product, _signs(point, draw.generator(f"probe {i}")), steps) for i in range(count)]
            found = [ritz(alpha, beta) for alpha, beta in tridiagonal]
            values, _, errors = found[0]  # eigenvalues, first components, error of each
            errors = errors + np.abs(values).max() * torch.finfo(point.flat().dtype).eps  # of rounding
            traces = point.size * np.array([alpha[0] for alpha, _ in tridiagonal])  # vᵀHv: Hutchinson's estimate
            spread = traces.std(ddof=1) / len(traces) ** 0.5 if len(traces) > 1 else np.nan
    return Spectrum(
        top=values[::-1][:k],
        top_error=errors[::-1][:k],
        bottom=float(values[0]),
        bottom_error=float(errors[0]),
        trace=float(traces.mean()),
        trace_error=float(spread),
        nodes=np.concatenate([v for v, _, _ in found]),
        masses=np.concatenate([first**2 for _, first, _ in found]) / len(found),
        exact=exact,
        size=point.size,
        n=point.batch.n,
        loss=value,
    )


@checked("module_", when=has_surface, otherwise=NO_SURFACE, lifted_by="loss")
def sharpness(
    obj: Any,
    X: Any,
    y: Any = None,
    *,
    loss: LossLike = None,
    max_rows: Count | None = 1000,
    steps: Count = 100,
    tolerance: NonNegative = 1e-3,
    random_state: int = 0,
) -> float:
    """The largest eigenvalue λ of the Hessian at the weights; gradient descent is stable for rates below 2/λ.

    Args:
        steps: Products with the Hessian at most.
        tolerance: Stop when ‖Hv - λv‖ <= tolerance |λ|; λ itself is off by about the square of it.

    Example:
        >>> net = torch.nn.Linear(2, 1, bias=False)
        >>> round(sharpness(net, np.diag([2.0, 6.0]), np.zeros(2), loss=lambda raw, y: (raw[:, 0] - y) ** 2 / 2), 3)
        18.0
    """
    point = Point(obj, X, y, loss, max_rows=max_rows).moves()
    with threads(threads_for(point.size * point.batch.n)), point.open():
        product, _ = _curvature(point)
        start = _signs(point, Draw(random_state).at("spectrum").generator("probe 0"))
        alpha, beta = lanczos(product, start, min(steps, point.size), tolerance)
    return float(ritz(alpha, beta)[0][-1])


def _curvature(point: Point) -> tuple[Product, float]:
    """v -> H v, from one graph of the gradient, and the loss."""
    parts = {name: p.detach().requires_grad_() for name, p in point.parameters.items()}
    tensors = list(parts.values())
    with torch.enable_grad(), sdpa_kernel(SDPBackend.MATH):  # the other kernels of attention have no second derivative
        value = point.at(parts)
        first = torch.autograd.grad(value, tensors, create_graph=True, allow_unused=True, materialize_grads=True)
    if not bool(value.isfinite()):
        raise NonFiniteError(f"The loss at the weights is {value.item():g}; there is no curvature to look at.")
    bent = [g for g in first if g.requires_grad]
    shapes = [p.shape for p in tensors]

    def product(v: Tensor) -> Tensor:
        ways = [w.view(s) for w, s in zip(v.split([s.numel() for s in shapes]), shapes, strict=True)]
        ways = [w for w, g in zip(ways, first, strict=True) if g.requires_grad]
        if not bent:
            return torch.zeros_like(v)
        found = torch.autograd.grad(bent, tensors, ways, retain_graph=True, allow_unused=True, materialize_grads=True)
        return torch.cat([g.flatten() for g in found])

    return product, float(value.detach())


def _signs(point: Point, generator: Generator) -> Tensor:
    return (torch.randint(2, (point.size,), generator=generator) * 2 - 1).to(point.flat())
