"""A line through noisy points, the smallest thing that can be trained.

    y = 3x + 1 + 0.1 ε,   x, ε ~ N(0, 1);      F(w, b) = mean of (w x + b - y)² / 2;      L = largest eigenvalue of ∇²F

Shapes: N rows, θ = (w, b), T updates; a path holds θ before the first update too: (T + 1, 2).
"""

import torch
from torch import Tensor, nn

from ...data import Rows
from ...draw import Draw
from ...errors import NonFiniteError
from ...train import Callback, Context, Supervised, Trainer, Training, iterate

Points = tuple[Tensor, Tensor]


def line_rows(n: int, draw: Draw) -> Points:
    """x (n, 1) and y (n,)."""
    x, noise = torch.randn(2, n, generator=draw.generator("line"), dtype=torch.float64)
    return x[:, None], 3 * x + 1 + 0.1 * noise


def _design(x: Tensor) -> Tensor:
    return torch.cat([x, torch.ones_like(x)], dim=1)  # (N, 2)


def best(points: Points) -> Tensor:
    """The least-squares line: (2,)."""
    return torch.linalg.lstsq(_design(points[0]), points[1][:, None]).solution[:, 0]


def stiffness(points: Points) -> float:
    """L: steps of GD longer than 2 / L diverge."""
    a = _design(points[0])
    return float(torch.linalg.eigvalsh(a.T @ a / len(a))[-1])


def half_mse(points: Points, path: Tensor) -> Tensor:
    """F along a path of θ: (T, 2) -> (T,)."""
    return (path @ _design(points[0]).T - points[1]).square().mean(1) / 2


def row_gradients(points: Points, theta: Tensor) -> Tensor:
    """The gradient of each row's half squared error at θ: (N, 2)."""
    a = _design(points[0])
    return (a @ theta - points[1])[:, None] * a


def batch_gradients(points: Points, theta: Tensor, size: int, count: int, draw: Draw) -> Tensor:
    """Gradients at θ of `count` batches drawn with replacement: (count, 2)."""
    index = torch.randint(len(points[1]), (count, size), generator=draw.generator("batches"))
    return row_gradients(points, theta)[index].mean(1)


class _Path(Callback):
    """Keeps θ after every update."""

    def __init__(self, net: nn.Linear) -> None:
        self.net, self.kept = net, [self._now(net)]

    @staticmethod
    def _now(net: nn.Linear) -> Tensor:
        return torch.cat([net.weight.detach().ravel(), net.bias.detach()])

    def on_step(self, ctx: Context) -> None:
        self.kept.append(self._now(self.net))


def descend(
    source: Rows,
    rule: str,
    lr: float,
    updates: int,
    *,
    seed: int = 0,
    training: Training | None = None,
    start: Tensor | None = None,
) -> Tensor:
    """The path of θ from 0 or another start, up to where it leaves the finite numbers: (T + 1, 2)."""
    net = nn.Linear(1, 1).double()
    w, b = [0.0, 0.0] if start is None else start.tolist()
    nn.init.constant_(net.weight, w)
    nn.init.constant_(net.bias, b)
    path, objective = _Path(net), Supervised(net, lambda raw, y: (raw[:, 0] - y).square() / 2)
    knobs = training or Training(threads=1)
    trainer = Trainer(objective, source, optimizer=rule, lr=lr, training=knobs, horizon=updates, seed=seed)
    try:
        iterate(trainer, steps=updates, callbacks=[path])
    except NonFiniteError:
        pass
    return torch.stack(path.kept)
