"""What PyTorch calls our primitives: an independent value, with derivatives of its own."""

import numpy as np
import torch
from torch.nn import functional


def _axes(x, axis):
    return tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else axis


def _getitem(x, index):
    """PyTorch has no negative steps."""
    if isinstance(index, tuple) and any(isinstance(i, slice) and (i.step or 1) < 0 for i in index):
        turned = [k for k, i in enumerate(index) if isinstance(i, slice) and (i.step or 1) < 0]
        return x.flip(turned)[tuple(slice(None) if k in turned else i for k, i in enumerate(index))]
    return x[index]


def _scatter(x, index, shape):
    """As a product with the matrix that says where each entry goes."""
    places = torch.arange(torch.Size(shape).numel()).reshape(shape)[index].reshape(-1)
    one_hot = torch.nn.functional.one_hot(places, torch.Size(shape).numel()).to(x.dtype)
    return (x.reshape(-1) @ one_hot).reshape(shape)


def _softmax(x, axis=-1, mask=None):
    if mask is None:
        return x.softmax(axis)
    e = torch.where(torch.as_tensor(mask), x.exp(), 0.0)
    total = e.sum(axis, keepdim=True)
    return e / torch.where(total == 0, 1.0, total)


def _seen(shape, size, stride, dilation):
    """Number of the entry that a window sees, by place and place in the window, over the last n axes."""
    numbers, lead = torch.arange(torch.Size(shape).numel()).reshape(shape), len(shape) - len(size)
    for k, (m, s, d) in enumerate(zip(size, stride, dilation, strict=True)):
        places = shape[lead + k] - (m - 1) * d
        ahead = torch.stack([numbers.narrow(lead + k, i * d, places) for i in range(m)], -1)
        numbers = ahead.index_select(lead + k, torch.arange(0, places, s))
    return numbers


def _windows(x, size, stride, dilation):
    return x.reshape(-1)[_seen(tuple(x.shape), size, stride, dilation)]


def _unwindows(x, shape, stride, dilation):
    places = _seen(shape, x.shape[-len(stride) :], stride, dilation)
    flat = torch.zeros(torch.Size(shape).numel(), dtype=x.dtype)
    return flat.index_add(0, places.reshape(-1), x.reshape(-1)).reshape(shape)


def _padded(x, width):
    return functional.pad(x, [n for pair in reversed(width) for n in pair])


def _dropout(x, rate, seed):
    """The mask is drawn by NumPy, as ours is."""
    kept = torch.from_numpy(np.random.default_rng(seed).random(tuple(x.shape)) >= rate)
    return torch.where(kept, x / (1 - rate), 0.0)


SAME = "maximum minimum abs exp expm1 log log1p sqrt square sin cos tanh erf sigmoid clip where matmul"
TORCH = {
    **{name: getattr(torch, name) for name in SAME.split()},
    **{name: getattr(functional, name) for name in "softplus relu gelu silu cross_entropy".split()},
    "add": torch.add,
    "subtract": torch.sub,
    "multiply": torch.mul,
    "divide": torch.div,
    "power": torch.pow,
    "negative": torch.neg,
    "leaky_relu": lambda x, slope=0.01: functional.leaky_relu(x, slope),
    "elu": lambda x, alpha=1.0: functional.elu(x, alpha),
    "reshape": lambda x, shape: x.reshape(shape),
    "broadcast_to": lambda x, shape: x.expand(shape),
    "transpose": lambda x, axes=None: x.permute(tuple(range(x.ndim))[::-1] if axes is None else axes),
    "swapaxes": lambda x, a, b: x.swapaxes(a, b),
    "pad": _padded,
    "getitem": _getitem,
    "scatter": _scatter,
    "concatenate": lambda *arrays, axis=0: torch.cat(arrays, axis),
    "stack": lambda *arrays, axis=0: torch.stack(arrays, axis),
    "sum": lambda x, axis=None, keepdims=False: x.sum(_axes(x, axis), keepdim=keepdims),
    "mean": lambda x, axis=None, keepdims=False: x.mean(_axes(x, axis), keepdim=keepdims),
    "max": lambda x, axis=None, keepdims=False: x.amax(_axes(x, axis), keepdim=keepdims),
    "min": lambda x, axis=None, keepdims=False: x.amin(_axes(x, axis), keepdim=keepdims),
    "logsumexp": lambda x, axis=None, keepdims=False: x.logsumexp(_axes(x, axis), keepdim=keepdims),
    "softmax": _softmax,
    "linear": lambda x, w, b: x @ w.T + b,
    "windows": _windows,
    "unwindows": _unwindows,
    "var": lambda x, axis=None, keepdims=False: (
        (x - x.mean(_axes(x, axis), keepdim=True)).square().mean(_axes(x, axis), keepdim=keepdims)
    ),
    "layer_norm": lambda x, gamma, beta, eps=1e-5: functional.layer_norm(x, x.shape[-1:], gamma, beta, eps),
    "rms_norm": lambda x, gamma, eps=1e-5: functional.rms_norm(x, x.shape[-1:], gamma, eps),
    "batch_norm": lambda x, gamma, beta, eps=1e-5: functional.batch_norm(x, None, None, gamma, beta, True, eps=eps),
    "dropout": _dropout,
    "mse": lambda x, y: (x - y).pow(2).mean(),
    "bce_with_logits": lambda z, y: -(y * functional.logsigmoid(z) + (1 - y) * functional.logsigmoid(-z)).mean(),
    "log_softmax": lambda x, axis=-1: x.log_softmax(axis),
    "attention": lambda q, k, v, mask=None: _softmax(q @ k.mT / q.shape[-1] ** 0.5, -1, mask) @ v,
    "conv": lambda x, w, b, **how: (functional.conv1d if x.ndim == 3 else functional.conv2d)(x, w, b, **how),
    "max_pool": lambda x, size, stride=None: (functional.max_pool1d if x.ndim == 3 else functional.max_pool2d)(
        x, size, stride
    ),
    "mean_pool": lambda x, size, stride=None: (functional.avg_pool1d if x.ndim == 3 else functional.avg_pool2d)(
        x, size, stride
    ),
}
