"""Layers, losses and attention, composed of primitives: nothing here has a rule of its own.

    attention(Q, K, V) = softmax(Q Kᵀ / √d) V,      cross_entropy = mean(log Σ exp z - z_target)

Shapes: B batch, C channels, K classes, d width of a key, T places.
"""

import math

import numpy as np

import ftheta.autodiff as p


def var(x, axis=None, keepdims=False):
    """Mean squared distance from the mean."""
    return p.mean(p.square(x - p.mean(x, axis, True)), axis, keepdims)


def log_softmax(x, axis=-1):
    """x - log Σ exp x."""
    return x - p.logsumexp(x, axis, True)


def attention(q, k, v, mask=None):
    """softmax(q kᵀ / √d) v: (..., T, d), (..., S, d), (..., S, e) -> (..., T, e); mask (T, S) says who sees whom."""
    return p.softmax(q @ p.swapaxes(k, -1, -2) / math.sqrt(q.shape[-1]), mask=mask) @ v


def layer_norm(x, gamma, beta, eps=1e-5):
    """Mean 0 and variance 1 of each row, then scaled and shifted: (..., I)."""
    return (x - p.mean(x, -1, True)) / p.sqrt(var(x, -1, True) + eps) * gamma + beta


def rms_norm(x, gamma, eps=1e-5):
    """Root mean square 1 of each row, then scaled: (..., I)."""
    return x / p.sqrt(p.mean(p.square(x), -1, True) + eps) * gamma


def batch_norm(x, gamma, beta, eps=1e-5):
    """Mean 0 and variance 1 of each channel over the batch, then scaled and shifted: (B, C, ...)."""
    axes, shape = (0, *range(2, x.ndim)), (-1, *(1,) * (x.ndim - 2))
    normal = (x - p.mean(x, axes, True)) / p.sqrt(var(x, axes, True) + eps)
    return normal * p.reshape(gamma, shape) + p.reshape(beta, shape)


def dropout(x, rate, seed):
    """Each entry 0 with probability rate, else divided by 1 - rate; the mask is that of the seed, both ways."""
    kept = np.random.default_rng(seed).random(x.shape) >= rate
    return x * (kept / (1 - rate)).astype(x.dtype)


def mse(x, y):
    """Mean squared error."""
    return p.mean(p.square(x - y))


def bce_with_logits(z, y):
    """Mean of -y log σ(z) - (1 - y) log(1 - σ(z))."""
    return p.mean(p.softplus(z) - z * y)


def cross_entropy(z, y):
    """Mean of -log softmax(z) at the classes y: (B, K), integers (B,); its gradient is (softmax - one-hot) / B."""
    return p.mean(p.logsumexp(z, -1) - p.getitem(z, (np.arange(len(y)), y)))


def _each(value, n):
    return (value,) * n if isinstance(value, int) else tuple(value)


def conv(x, w, b=None, stride=1, padding=0, dilation=1, groups=1):
    """Cross-correlation over one, two or more axes: (B, C, ...), (O, C / groups, ...), (O,) -> (B, O, ...)."""
    n, wide = w.ndim - 2, math.prod(w.shape[1:])
    width = ((0, 0), (0, 0), *((k, k) for k in _each(padding, n)))
    seen = p.windows(p.pad(x, width), w.shape[2:], _each(stride, n), _each(dilation, n))  # (B, C, places, size)
    places, batch = seen.shape[2 : 2 + n], x.shape[0]
    seen = p.reshape(seen, (batch, groups, -1, *seen.shape[2:]))  # (B, G, C/G, places, size)
    order = (0, 1, *range(3, 3 + n), 2, *range(3 + n, 3 + 2 * n))
    rows = p.reshape(p.transpose(seen, order), (batch, groups, math.prod(places), wide))
    kernel = p.swapaxes(p.reshape(w, (groups, -1, wide)), 1, 2)  # (G, C/G size, O/G)
    y = p.reshape(p.swapaxes(rows @ kernel, 2, 3), (batch, w.shape[0], *places))
    return y if b is None else y + p.reshape(b, (-1, *(1,) * n))


def _pooled(x, size, stride):
    n = x.ndim - 2
    return p.windows(x, _each(size, n), _each(stride or size, n), (1,) * n), tuple(range(-n, 0))


def max_pool(x, size, stride=None):
    """The largest of each window; the stride is the size where it is not given."""
    return p.max(*_pooled(x, size, stride))


def mean_pool(x, size, stride=None):
    """The mean of each window; the stride is the size where it is not given."""
    return p.mean(*_pooled(x, size, stride))
