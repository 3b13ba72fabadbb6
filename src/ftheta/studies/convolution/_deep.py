"""The deep, narrow networks on rows of this chapter.

    h₁ = W₁ x + b₁,      h_k = W_k σ(N(h_{k-1})) + b_k,  k = 2 ... K,      f(x) = V σ(N(h_K)) + c
    residual:            h_k = h_{k-1} + W_k σ(N(h_{k-1})) + b_k,   W_k = 0 at the start: a block is the identity

N is a norm, or nothing. All weights but those of residual blocks are Gaussian, as σ asks for (He for ReLU, Glorot for
tanh), times a scale. Both kinds have the same parameters.

Shapes: B rows, D features, K layers of width H.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import torch
from torch import Tensor, nn

from ...data import Rows, load, spirals
from ...draw import Draw
from ...errors import NonFiniteError
from ...likelihoods import Categorical
from ...nn import ACTIVATIONS, Residual, activation, initialise, norm
from ...train import Callback, Supervised, Trainer, Training, evaluate, iterate

__all__ = ["Part", "deep", "digits", "fit", "judged", "two_spirals"]

Part = tuple[Tensor, Tensor]  # x (B, D), y (B,)


def deep(
    n_in: int,
    n_out: int,
    depth: int,
    width: int,
    *,
    sigma: str = "relu",
    normed: str = "none",
    residual: bool = False,
    scale: float = 1.0,
    seed: int = 0,
) -> nn.Sequential:
    """K layers and the output, one child each: the outputs of the first K are h₁ ... h_K."""
    with Draw(seed).at("build").scope():
        blocks = [_layer(width, width, sigma, normed) for _ in range(depth - 1)]
        head = _layer(width, n_out, sigma, normed)
        net = nn.Sequential(nn.Linear(n_in, width), *blocks, head)
        initialise(net, ACTIVATIONS[sigma].init)
    for layer in net.modules():
        if isinstance(layer, nn.Linear):
            layer.weight.data.mul_(scale)
    for i, block in enumerate(blocks if residual else [], start=1):
        nn.init.zeros_(block[-1].weight)  # pyright: ignore[reportArgumentType]
        net[i] = Residual(block)
    return net


def _layer(n_in: int, n_out: int, sigma: str, normed: str) -> nn.Sequential:
    first = [] if normed == "none" else [norm(normed, n_in, dims=0)]
    return nn.Sequential(*first, activation(sigma), nn.Linear(n_in, n_out))


def two_spirals(n: int, seed: int) -> Part:
    """n rows on two arms without noise, scaled so that E |x|² = 2."""
    data = spirals(n, 0.0, seed)
    x = torch.tensor(np.asarray(data.x) * np.sqrt(6), dtype=torch.float32)
    return x, torch.tensor(np.asarray(data.y), dtype=torch.long)


@cache
def _pixels() -> Part:
    data = load("digits")
    x = torch.tensor(np.asarray(data.x, dtype=np.float32)) / 16
    return x, torch.tensor(np.asarray(data.y), dtype=torch.long)


def digits(n: int, seed: int) -> tuple[Part, Part]:
    """n training rows of the digits and all others as test rows, pixels in [0, 1]."""
    x, y = _pixels()
    order = torch.randperm(len(y), generator=Draw(seed).at("split").generator())
    return (x[order[:n]], y[order[:n]]), (x[order[n:]], y[order[n:]])


def fit(
    net: nn.Module,
    rows: Part,
    *,
    rule: str,
    lr: float,
    epochs: int,
    batch: int,
    seed: int,
    callbacks: Sequence[Callback] = (),
) -> np.ndarray:
    """Train on classes; the loss of each epoch as its batches saw it, up to where it stopped being finite: (<= E,)."""
    source, history = Rows(*rows, batch_size=batch), []
    training = Training(threads=1)
    trainer = Trainer(Supervised(net, Categorical()), source, optimizer=rule, lr=lr, training=training, seed=seed)
    try:
        iterate(trainer, rounds=epochs, callbacks=callbacks, history=history)
    except NonFiniteError:
        pass
    return np.array([row["loss"] for row in history])


def judged(net: nn.Module, rows: Part) -> tuple[float, float]:
    """Mean loss and accuracy in evaluation mode."""
    found = evaluate(Supervised(net, Categorical()), Rows(*rows, batch_size=len(rows[1])), Draw(0))
    return found["loss"], found["accuracy"]
