"""Dropout: in training every number is silenced with probability p, and the others are scaled so that the mean stays.

    y = x m / (1 - p),     m ~ Bernoulli(1 - p)  anew for every number and pass;      in evaluation  y = x

On a CPU four numbers share one draw of 63 bits, 15 bits for each, which costs a quarter of a draw for each: p is taken
to the nearest k/32768, and the scale is that of the p taken, so that E[y] = x exactly.

Reference: Srivastava et al., Dropout, Journal of Machine Learning Research 15 (2014).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

__all__ = ["Dropout"]

_STEPS = 1 << 15  # of p, on a CPU


class Dropout(nn.Dropout):
    """torch's dropout with a mask that is cheap to draw.

    Example:
        >>> sorted(set(Dropout(0.75)(torch.ones(100)).tolist()))
        [0.0, 4.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        silent = round(self.p * _STEPS)
        if not (self.training and 0 < silent < _STEPS and input.device.type == "cpu"):
            return super().forward(input)
        n = input.numel()
        bits = torch.randint(2**63 - 1, ((n + 3) // 4,)).view(torch.int16)[:n].view(input.shape) & (_STEPS - 1)
        return input * (bits >= silent).to(input.dtype).mul_(_STEPS / (_STEPS - silent))
