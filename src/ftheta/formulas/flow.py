"""The smooth flow that gradient descent follows.

    gradient flow        dθ/dt = -∇L(θ)                                    GD with rate α is off by O(α) at a given time
    what GD follows      dθ/dt = -∇L - (α/2) H ∇L = -∇(L + (α/4) ‖∇L‖²)    off by O(α²), by O(α³) after one step
    what SGD follows     L + (α/4) ‖∇L‖² + (α/4B) Σ_b ‖∇L_b - ∇L‖²         on average over all orders of B batches

L = Σ_b L_b / B with L_b the mean loss of batch b, B the number of batches (not their size); one step takes the time α.
Shapes: θ is (n,). Reference: Barrett and Dherin 2021, arXiv:2009.11162; Smith et al. 2021, arXiv:2101.12176.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from scipy.integrate import solve_ivp
from torch import Tensor
from torch.func import grad

from ..errors import InputError, NonFiniteError

Scalar = Callable[[Tensor], Tensor]


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
    if not len(times) or times[0] < 0 or not times[-1] or any(b <= a for a, b in pairwise(times)):
        raise InputError(f"times={list(times)} are not ascending from 0 on. Pass e.g. times=[0.0, 0.5, 1.0].")
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
