"""Normalisation of activations, written out: what the layers of `ftheta.nn.norm` compute.

    x̂ = (x - μ) / √(σ² + ε),     y = γ x̂ + β,     μ = mean of x,   σ² = mean of (x - μ)²

over the batch and positions of a channel (batch), over a row (layer), over the positions of one channel of a row
(instance), over a group of channels of a row (group); rms has neither μ nor β. ε is added to the variance, under the
root, in training and evaluation alike. Batch norm needs something for evaluation, where a batch may be one row:

    r ← (1 - α) r + α s   at each step of training,  s the batch mean, or the unbiased variance n σ² / (n - 1)
    y = γ (x - r_μ) / √(r_σ² + ε) + β                at evaluation

Shapes: x (B, C) or (B, C, positions ...); γ and β one number or (C,).
References: see `ftheta.nn.norm`.
"""

from __future__ import annotations

import numpy as np

from ..errors import InputError

__all__ = [
    "batch_norm",
    "batch_norm_evaluated",
    "batch_statistics",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "rms_norm",
    "running_average",
    "standardise",
]

Numbers = np.ndarray | float


def standardise(x: np.ndarray, axes: tuple[int, ...], eps: float = 1e-5) -> np.ndarray:
    """(x - μ) / √(σ² + ε), mean and biased variance over these axes.

    Example:
        >>> standardise(np.array([1.0, 2, 3, 4]), (0,)).round(4)
        array([-1.3416, -0.4472,  0.4472,  1.3416])
    """
    x = np.asarray(x, dtype=float)
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def batch_norm(x: np.ndarray, gamma: Numbers = 1.0, beta: Numbers = 0.0, *, eps: float = 1e-5) -> np.ndarray:
    """Each channel over all rows and positions: what batch norm computes in training."""
    return _affine(standardise(x, (0, *range(2, np.ndim(x))), eps), gamma, beta)


def layer_norm(x: np.ndarray, gamma: Numbers = 1.0, beta: Numbers = 0.0, *, eps: float = 1e-5) -> np.ndarray:
    """Each row over all channels and positions."""
    return _affine(standardise(x, tuple(range(1, np.ndim(x))), eps), gamma, beta)


def instance_norm(x: np.ndarray, gamma: Numbers = 1.0, beta: Numbers = 0.0, *, eps: float = 1e-5) -> np.ndarray:
    """Each channel of each row over its positions."""
    return _affine(standardise(x, tuple(range(2, np.ndim(x))), eps), gamma, beta)


def group_norm(
    x: np.ndarray, groups: int, gamma: Numbers = 1.0, beta: Numbers = 0.0, *, eps: float = 1e-5
) -> np.ndarray:
    """Each group of neighbouring channels of each row; 1 group is layer norm, C groups are instance norm."""
    rows, channels = np.shape(x)[:2]
    if groups < 1 or channels % groups:
        raise InputError(f"groups={groups} does not divide {channels} channels; take a divisor such as 1.")
    inside = standardise(np.reshape(x, (rows, groups, -1)), (2,), eps)  # (B, groups, C / groups * positions)
    return _affine(inside.reshape(np.shape(x)), gamma, beta)


def rms_norm(x: np.ndarray, gamma: Numbers = 1.0, *, eps: float = 1e-5) -> np.ndarray:
    """Each row divided by its root mean square over channels and positions; its mean need not be 0."""
    x = np.asarray(x, dtype=float)
    return _affine(x / np.sqrt((x * x).mean(tuple(range(1, x.ndim)), keepdims=True) + eps), gamma, 0.0)


def batch_statistics(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and unbiased variance of each channel, as the running averages take them: (C,), (C,)."""
    flat = np.moveaxis(np.asarray(x, dtype=float), 1, 0).reshape(np.shape(x)[1], -1)  # (C, n)
    if flat.shape[1] < 2:
        raise InputError(f"x {np.shape(x)} has one value in a channel, which has no variance; give two rows or more.")
    return flat.mean(1), flat.var(1, ddof=1)


def running_average(running: Numbers, batch: Numbers, momentum: float = 0.1) -> Numbers:
    """(1 - α) r + α s.

    Example:
        >>> r = 0.0
        >>> for _ in range(22):
        ...     r = running_average(r, 5.0)
        >>> round(r, 4)
        4.5076
    """
    return (1 - momentum) * running + momentum * batch


def batch_norm_evaluated(
    x: np.ndarray,
    mean: Numbers,
    variance: Numbers,
    gamma: Numbers = 1.0,
    beta: Numbers = 0.0,
    *,
    eps: float = 1e-5,
) -> np.ndarray:
    """γ (x - mean) / √(variance + ε) + β with the running averages: a row does not depend on the others."""
    scale = gamma / np.sqrt(variance + eps)
    return _affine(np.asarray(x, dtype=float), scale, beta - scale * mean)


def _affine(x: np.ndarray, gamma: Numbers, beta: Numbers) -> np.ndarray:
    """γ x + β by channel."""
    gamma, beta = (np.reshape(v, (-1, *(1 for _ in x.shape[2:]))) for v in (gamma, beta))
    return gamma * x + beta
