"""Normalization of activations written out in NumPy: the truth of `ftheta.nn.norm`.

    x̂ = (x - μ) / √(σ² + ε),     y = γ x̂ + β;     running averages r ← (1 - α) r + α s, s with the unbiased variance

Shapes: x (B, C) or (B, C, positions ...); γ and β one number or (C,).
"""

import numpy as np


def standardize(x, axes, eps=1e-5):
    """(x - μ) / √(σ² + ε), mean and biased variance over these axes."""
    x = np.asarray(x, dtype=float)
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)


def batch_norm(x, gamma=1.0, beta=0.0, *, eps=1e-5):
    """Each channel over all rows and positions."""
    return _affine(standardize(x, (0, *range(2, np.ndim(x))), eps), gamma, beta)


def layer_norm(x, gamma=1.0, beta=0.0, *, eps=1e-5):
    """Each row over all channels and positions."""
    return _affine(standardize(x, tuple(range(1, np.ndim(x))), eps), gamma, beta)


def instance_norm(x, gamma=1.0, beta=0.0, *, eps=1e-5):
    """Each channel of each row over its positions."""
    return _affine(standardize(x, tuple(range(2, np.ndim(x))), eps), gamma, beta)


def group_norm(x, groups, gamma=1.0, beta=0.0, *, eps=1e-5):
    """Each group of neighboring channels of each row."""
    return _affine(standardize(np.reshape(x, (len(x), groups, -1)), (2,), eps).reshape(np.shape(x)), gamma, beta)


def rms_norm(x, gamma=1.0, *, eps=1e-5):
    """Each row divided by its root mean square over channels and positions."""
    x = np.asarray(x, dtype=float)
    return _affine(x / np.sqrt((x * x).mean(tuple(range(1, x.ndim)), keepdims=True) + eps), gamma, 0.0)


def batch_statistics(x):
    """Mean and unbiased variance of each channel: (C,), (C,)."""
    flat = np.moveaxis(np.asarray(x, dtype=float), 1, 0).reshape(np.shape(x)[1], -1)
    return flat.mean(1), flat.var(1, ddof=1)


def running_average(running, batch, momentum=0.1):
    """(1 - α) r + α s."""
    return (1 - momentum) * running + momentum * batch


def batch_norm_evaluated(x, mean, variance, gamma=1.0, beta=0.0, *, eps=1e-5):
    """γ (x - mean) / √(variance + ε) + β with the running averages."""
    scale = gamma / np.sqrt(variance + eps)
    return _affine(np.asarray(x, dtype=float), scale, beta - scale * mean)


def _affine(x, gamma, beta):
    gamma, beta = (np.reshape(v, (-1, *(1 for _ in x.shape[2:]))) for v in (gamma, beta))
    return gamma * x + beta
