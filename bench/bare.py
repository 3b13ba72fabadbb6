"""The bare loop: the least that PyTorch needs to train a classifier, and what every speed of ours is held against.

    for i in randperm(n).split(b):  θ <- rule(θ, ∇ cross_entropy(net(X[i]), y[i]))

It is given torch's own fastest options: `best` tries the optimizer's kernels and the thread counts.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from ._timing import Settings, fastest, threads

__all__ = ["KERNELS", "Choice", "best", "epoch", "fit", "net", "optimizer"]

KERNELS = ("fused", "foreach", "forloop")
STEPS = 100  # of a trial


class Choice(NamedTuple):
    """How the bare loop is run: the kernel of the optimizer, and threads."""

    kernel: str = "fused"
    threads: int = 1


def net(widths: tuple[int, ...], dtype: torch.dtype = torch.float32) -> nn.Sequential:
    """Dense layers of these widths with ReLU between them; they start as ours and scikit-learn's do."""
    dense = [nn.Linear(*pair, dtype=dtype) for pair in pairwise(widths)]
    for layer in dense:
        nn.init.xavier_uniform_(layer.weight)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(*[layer for linear in dense for layer in (linear, nn.ReLU())][:-1])


def optimizer(module: nn.Module, lr: float, kernel: str) -> Optimizer:
    """Adam by one of torch's own kernels."""
    return Adam(module.parameters(), lr=lr, fused=kernel == "fused", foreach=kernel == "foreach")


def epoch(net: nn.Module, opt: Optimizer, X: Tensor, y: Tensor, batch_size: int) -> None:
    """THE bare loop, for all benchmarks."""
    for i in torch.randperm(len(X)).split(batch_size):
        loss = F.cross_entropy(net(X[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()


def fit(
    X: Tensor, y: Tensor, widths: tuple[int, ...], batch_size: int, epochs: int, lr: float, kernel: str
) -> nn.Module:
    """A net, trained from the start."""
    module = net(widths, X.dtype)
    opt = optimizer(module, lr, kernel)
    for _ in range(epochs):
        epoch(module, opt, X, y, batch_size)
    return module


def best(X: Tensor, y: Tensor, widths: tuple[int, ...], batch_size: int, settings: Settings) -> Choice:
    """The kernel and the thread count that are fastest on these rows; a quick run tries none."""
    choices = [] if settings.quick else [Choice(kernel, count) for kernel in KERNELS for count in settings.counts]
    if not choices:
        return Choice()
    epochs = max(1, STEPS * batch_size // len(X))
    runs = {c: lambda _, c=c: fit(X, y, widths, batch_size, epochs, 1e-3, c.kernel) for c in choices}
    return fastest(runs, around=lambda choice: threads(choice.threads))
