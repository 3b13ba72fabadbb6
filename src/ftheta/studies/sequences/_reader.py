"""A recurrent net that reads a sequence and answers after its last step, trained on batches that are drawn anew.

ŷ = A h_T + b,      loss of a batch that nobody has seen before, so there is no training set to learn by heart
"""

from collections.abc import Callable
from typing import Any

from torch import Generator, Tensor, nn

from ...data import Batch, Indexed
from ...draw import Draw
from ...nn import Recurrent
from ...train import Supervised, Trainer, Training

Made = Callable[[int, Generator], tuple[Tensor, Tensor]]  # (B, generator) -> x (B, T, D), y (B,)

LIMITED = Training(clip_norm=1.0)


class Reader(nn.Module):
    """A linear layer for the output of the last step, or of every step: (B, T, D) -> (B, R) or (B, T, R)."""

    def __init__(self, recurrent: Recurrent, outputs: int, *, each: bool = False) -> None:
        super().__init__()
        self.recurrent, self.out, self.each = recurrent, nn.Linear(recurrent.n_outputs, outputs), each

    def forward(self, x: Tensor) -> Tensor:
        outputs, _ = self.recurrent(x)
        return self.out(outputs if self.each else outputs[:, -1])


def train(
    net: nn.Module,
    nll: Any,
    made: Made,
    *,
    steps: int,
    batch: int,
    lr: float,
    seed: int,
    optimizer: str = "adam",
    training: Training = LIMITED,
) -> nn.Module:
    """The net after so many steps, each on a batch of its own."""

    def get(index: Tensor, draw: Draw) -> Batch:
        x, y = made(len(index), draw.at(int(index[0])).generator("rows"))
        return Batch(x, y, None, index)

    source = Indexed(steps * batch, get, batch_size=batch, shuffle=False)
    objective = Supervised(net, nll)
    Trainer(objective, source, optimizer=optimizer, lr=lr, training=training, seed=seed).fit(epochs=1)
    return net.eval()
