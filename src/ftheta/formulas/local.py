"""What derivatives at one point say of a function around it.

    f(x) ≈ f(a) + ∇f(a)·(x - a) + ½ (x - a)ᵀ H(a) (x - a),       error O(‖x - a‖³), none where f is quadratic
    ∇f(x) = 0:   minimum if H > 0,   maximum if H < 0,   saddle if H has eigenvalues of both signs

A zero gradient alone marks a stationary point, not an extremum.
Shapes: a and x are (n,).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.func import grad, jacrev

from ..errors import InputError

__all__ = ["stationary", "taylor"]


def taylor(f: Callable[[Tensor], Tensor], a: Any, order: int = 2) -> Callable[[Any], Tensor]:
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


def stationary(f: Callable[[Tensor], Tensor], x: Any, *, tolerance: float = 1e-8) -> str:
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
        raise InputError(
            f"The derivatives of f at {x.tolist()} are not finite; a point can be judged where f is smooth."
        )
    scale = tolerance * max(1.0, float(h.abs().max()))
    if g.norm() > scale:
        return "not stationary"
    bent = torch.linalg.eigvalsh(h)
    if bent[0] < -scale and bent[-1] > scale:
        return "saddle"
    return "minimum" if bent[0] > scale else "maximum" if bent[-1] < -scale else "none"


def _hessian(f: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    return jacrev(grad(f))  # torch's own goes forward and compiles what is deprecated


def _point(x: Any) -> Tensor:
    """A point as float64: (n,)."""
    return torch.atleast_1d(torch.as_tensor(x, dtype=torch.float64).detach())
