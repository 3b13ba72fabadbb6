"""The networks and images of this chapter, and one way to train them.

    deep:       h₁ = W₁ x + b₁,      h_k = W_k σ(N(h_{k-1})) + b_k,  k = 2 ... K,      f(x) = V σ(N(h_K)) + c
    residual:   h_k = h_{k-1} + W_k σ(N(h_{k-1})) + b_k,   W_k = 0 at the start: a block is the identity

N is a norm, or nothing. All weights but those of residual blocks are Gaussian, as σ asks for (He for ReLU, Glorot for
tanh), times a scale. Shapes: B rows or images, D features, K layers of width H.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...data import Batch, Rows, load, spirals
from ...draw import Draw
from ...errors import NonFiniteError
from ...likelihoods import Categorical
from ...nn import ACTIVATIONS, Residual, activation, initialize, norm
from ...train import Supervised, Trainer, Training, evaluate, iterate

Part = tuple[Tensor, Tensor]  # x (B, ...), y (B,)


@cache
def _all(name: str) -> Part:
    data = load(name)
    x = torch.tensor(np.asarray(data.x, dtype=np.float32)).view(-1, 1, *data.shape)
    return x / x.max(), torch.tensor(np.asarray(data.y), dtype=torch.long)


def shuffled(name: str, seed: int, *, border: int = 0, shifted: bool = False) -> Part:
    """All gray images in [0, 1], in a random order, in the middle of a dark border or at random positions within it."""
    x, y = _all(name)
    x = F.pad(x, [border] * 4)
    draw = Draw(seed).at("images")
    if shifted:
        by = torch.randint(-border, border + 1, (len(x), 2), generator=draw.generator("places")).tolist()
        x = torch.stack([image.roll(place, (1, 2)) for image, place in zip(x, by, strict=True)])
    order = torch.randperm(len(y), generator=draw.generator("order"))
    return x[order], y[order]


def images(name: str, n: int, seed: int, *, border: int = 0) -> tuple[Part, Part]:
    """The first n as training images and all others as test images."""
    x, y = shuffled(name, seed, border=border)
    return (x[:n], y[:n]), (x[n:], y[n:])


def digits(n: int, seed: int) -> tuple[Part, Part]:
    """n training rows of the digits and all others as test rows, pixels in [0, 1]: (B, 64)."""
    x, y = _all("digits")
    order = torch.randperm(len(y), generator=Draw(seed).at("split").generator())
    return (x[order[:n]].flatten(1), y[order[:n]]), (x[order[n:]].flatten(1), y[order[n:]])


def two_spirals(n: int, seed: int) -> Part:
    """n rows on two arms without noise, scaled so that E |x|² = 2."""
    data = spirals(n, 0.0, seed)
    x = torch.tensor(np.asarray(data.x) * np.sqrt(6), dtype=torch.float32)
    return x, torch.tensor(np.asarray(data.y), dtype=torch.long)


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
        net = nn.Sequential(nn.Linear(n_in, width), *blocks, _layer(width, n_out, sigma, normed))
        initialize(net, ACTIVATIONS[sigma].init)
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


def fit(
    net: nn.Module,
    rows: Part,
    *,
    steps: int = 0,
    epochs: int = 0,
    seed: int,
    rule: str = "adam",
    lr: float = 0.003,
    batch: int = 50,
    loss: Any = None,
    augment: Callable[[Batch, Draw], Batch] | None = None,
) -> np.ndarray:
    """The loss of each epoch, while finite: (<= E,). `steps` has a rate that falls to zero, `epochs` a constant one."""
    source = Rows(*rows, batch_size=min(batch, len(rows[1])))
    trainer = Trainer(
        Supervised(net, loss or Categorical()),
        source,
        optimizer=rule,
        lr=lr,
        training=Training(schedule="cosine" if steps else "constant", threads=1),
        augment=augment,
        horizon=steps or epochs * len(source),
        seed=seed,
    )
    history: list[dict[str, float]] = []
    try:
        iterate(trainer, rounds=epochs or np.inf, steps=steps or np.inf, history=history)
    except NonFiniteError:
        pass
    net.eval()
    return np.array([row["loss"] for row in history])


def trained(make: Callable[[], nn.Module], rows: Part, *, seed: int, **options: Any) -> nn.Module:
    """A network that is built and trained, in evaluation mode."""
    with Draw(seed).at("build").scope():
        net = make()
    fit(net, rows, seed=seed, **options)
    return net


@torch.no_grad()
def accuracy(net: nn.Module, rows: Part) -> float:
    """Share of the rows that are classified correctly."""
    return (net(rows[0]).argmax(-1) == rows[1]).double().mean().item()


def loss_and_accuracy(net: nn.Module, rows: Part) -> tuple[float, float]:
    """Mean loss and accuracy in evaluation mode."""
    found = evaluate(Supervised(net, Categorical()), Rows(*rows, batch_size=len(rows[1])), Draw(0))
    return found["loss"], found["accuracy"]


def n_parameters(net: nn.Module) -> int:
    """Number of parameters."""
    return sum(p.numel() for p in net.parameters())
