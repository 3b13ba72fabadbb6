"""What derivatives say of a function: around one point, and of the smooth flow that gradient descent follows.

    f(x) ≈ f(a) + ∇f(a)·(x - a) + ½ (x - a)ᵀ H(a) (x - a),       error O(‖x - a‖³), none where f is quadratic
    ∇f(x) = 0:   minimum if H > 0,   maximum if H < 0,   saddle if H has eigenvalues of both signs
    gradient flow        dθ/dt = -∇L(θ)                                    GD with rate α is off by O(α) at a given time
    what GD follows      dθ/dt = -∇L - (α/2) H ∇L = -∇(L + (α/4) ‖∇L‖²)    off by O(α²), by O(α³) after one step
    what SGD follows     L + (α/4) ‖∇L‖² + (α/4B) Σ_b ‖∇L_b - ∇L‖²         on average over all orders of B batches

A zero gradient alone marks a stationary point, not an extremum. L = Σ_b L_b / B with L_b the mean loss of batch b, B
the number of batches (not their size); one step takes the time α.
Shapes: a, x and θ are (n,). Barrett and Dherin 2021, arXiv:2009.11162; Smith et al. 2021, arXiv:2101.12176.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import torch
from scipy.integrate import solve_ivp
from torch import Tensor
from torch.func import grad, jacrev

from ..errors import InputError, NonFiniteError

Scalar = Callable[[Tensor], Tensor]


def taylor(f: Scalar, a: Any, order: int = 2) -> Callable[[Any], Tensor]:
    """The Taylor polynomial of f around a, as a function (..., n) -> (...).

    Args:
        f: A torch function of one point: (n,) -> one number.
        a: The point (n,).
        order: 0, 1 or 2.

    Example:
        >>> near = taylor(lambda x: x.exp().sum(), [0.0])
        >>> float(near([0.1]))
        1.105
    """
    if order not in (0, 1, 2):
        raise InputError(f"order is {order!r}; Taylor polynomials of order 0, 1 or 2 are made here.")
    value = lambda x: f(x).reshape(())  # noqa: E731
    a = _point(a)
    terms = [value(a).detach(), *(d(a) for d in (grad(value), _hessian(value))[:order])]

    def polynomial(x: Any) -> Tensor:
        d = torch.as_tensor(x, dtype=torch.float64) - a  # (..., n)
        total = terms[0] + torch.zeros(d.shape[:-1], dtype=d.dtype)
        if order > 0:
            total = total + d @ terms[1]
        return total + torch.einsum("...i,ij,...j->...", d, terms[2], d) / 2 if order > 1 else total

    return polynomial


def stationary(f: Scalar, x: Any, *, tolerance: float = 1e-8) -> str:
    """What kind of stationary point x is: "minimum", "maximum", "saddle", "none" or "not stationary".

    Eigenvalues of the Hessian decide; "none" is the answer where some vanish and the others leave it open, as for x³.

    Args:
        f: A torch function of one point: (n,) -> one number.
        x: The point (n,).
        tolerance: Relative to the size of the Hessian, what counts as a zero gradient or eigenvalue.

    Example:
        >>> stationary(lambda x: x[0] ** 2 - x[1] ** 2, [0.0, 0.0])
        'saddle'
    """
    value, x = lambda x: f(x).reshape(()), _point(x)  # noqa: E731
    g, h = grad(value)(x), _hessian(value)(x)
    if not (g.isfinite().all() and h.isfinite().all()):
        raise InputError(f"The derivatives of f at {x.tolist()} are not finite; f must be smooth there.")
    scale = tolerance * max(1.0, float(h.abs().max()))
    if g.norm() > scale:
        return "not stationary"
    bent = torch.linalg.eigvalsh(h)
    if bent[0] < -scale and bent[-1] > scale:
        return "saddle"
    return "minimum" if bent[0] > scale else "maximum" if bent[-1] < -scale else "none"


def _hessian(f: Scalar) -> Scalar:
    return jacrev(grad(f))  # torch's own goes forward and compiles what is deprecated


def _point(x: Any) -> Tensor:
    """A point as float64: (n,)."""
    return torch.atleast_1d(torch.as_tensor(x, dtype=torch.float64).detach())


def gradient_flow(f: Scalar, start: Tensor, times: Sequence[float], tolerance: float = 1e-10) -> Tensor:
    """Where dθ/dt = -∇f(θ) is at each time, from `start` at time 0: (T, n).

    Args:
        f: Function of θ (n,) made of torch operations.
        start: θ at time 0, in double precision.
        times: Ascending, not negative.
        tolerance: Largest relative error of each of the integrator's steps.

    Example:
        >>> gradient_flow(lambda t: t.square().sum() / 2, torch.ones(1, dtype=torch.double), [0.0, 1.0])
        tensor([[1.0000],
                [0.3679]], dtype=torch.float64)
    """
    if not len(times) or times[0] < 0 or any(b <= a for a, b in pairwise(times)):
        raise InputError(f"times={list(times)} are not ascending from 0 on. Pass e.g. times=[0.0, 0.5, 1.0].")
    if times[-1] == 0:
        return start.detach().double()[None].clone()
    found = solve_ivp(
        lambda t, theta: -_slope(f, torch.from_numpy(theta)).numpy(),
        (0.0, times[-1]),
        start.detach().numpy(),
        method="DOP853",
        t_eval=times,
        rtol=tolerance,
        atol=tolerance * 1e-2,
    )
    if not found.success:
        raise NonFiniteError(
            f"The flow cannot be followed to t = {times[-1]:g}: {found.message} Ask for shorter times; where the loss "
            "has no lower bound, a flow may leave the numbers in finite time."
        )
    return torch.from_numpy(found.y.T.copy())


def _slope(f: Scalar, theta: Tensor) -> Tensor:
    """∇f by plain autograd: a quarter of the time of torch.func."""
    return torch.autograd.grad(f(theta.requires_grad_()), theta)[0]


def modified_gd(f: Scalar, lr: float) -> Scalar:
    """f + (α/4) ‖∇f‖²: the loss whose gradient flow gradient descent follows.

    Example:
        >>> modified_gd(lambda t: t.square().sum() / 2, lr=0.4)(torch.tensor([3.0, 4.0]))
        tensor(15.)
    """
    return modified_sgd([f], lr)


def modified_sgd(fs: Sequence[Scalar], lr: float) -> Scalar:
    """f + (α/4) ‖∇f‖² + (α/4B) Σ_b ‖∇f_b - ∇f‖², f the mean of the B functions: what SGD follows on average.

    Args:
        fs: The mean loss of each batch.
        lr: Learning rate α.
    """

    def loss(theta: Tensor) -> Tensor:
        each = torch.stack([grad(f)(theta) for f in fs])  # (B, n)
        mean, values = each.mean(0), torch.stack([f(theta) for f in fs])
        return values.mean() + lr / 4 * (mean.square().sum() + (each - mean).square().sum() / len(fs))

    return loss
