"""Residual network: stages of blocks that add what they compute to what they got.

    h ← h + F(h)  in every block;   the first block of a stage but the first halves height and width

Shapes: B images, x (B, C, H, W), f (B, R). Every block starts as its shortcut: the last layer of F is 0.
Reference: He, Zhang, Ren and Sun, Deep residual learning for image recognition, arXiv:1512.03385 (2015).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from torch import nn

from ..formulas.residual import survival_probabilities
from .activations import ACTIVATIONS
from .activations import activation as make_activation
from .conv import check_net, check_sizes, convolution
from .dense import Chain
from .dropout import Dropout
from .init import initialize
from .norm import norm as make_norm
from .pooling import pooling
from .residual import residual_block

__all__ = ["ResNet"]


class ResNet(Chain):
    """Layers `stem stage1 stage2 ... [last] mean flatten [drop] output`; the output is raw.

    Args:
        shape: Of one image: (C, H, W).
        n_out: Raw outputs.
        filters: Feature maps of each stage.
        blocks: Residual blocks of a stage.
        kind: "basic" (two 3x3 convolutions) or "bottleneck" (1x1, 3x3, 1x1).
        order: "post" (activation after the sum) or "pre" (norm and activation before each convolution).
        norm: none, batch, layer, instance, group or rms.
        activation: Its name.
        squeeze: Reduction of squeeze-and-excitation; 0 for none.
        survival: Probability that the last block takes part in a training step; it falls linearly from 1.
        dropout: Probability that a feature is silenced before the output.

    Example:
        >>> import torch
        >>> ResNet((3, 32, 32), 10, (8, 16), blocks=1)(torch.zeros(2, 3, 32, 32)).shape
        torch.Size([2, 10])
    """

    def __init__(
        self,
        shape: Sequence[int],
        n_out: int,
        filters: Sequence[int] = (16, 32, 64),
        blocks: int = 2,
        *,
        kind: str = "basic",
        order: str = "post",
        norm: str = "batch",
        activation: str = "relu",
        squeeze: int = 0,
        survival: float = 1.0,
        dropout: float = 0.0,
    ) -> None:
        check_net("ResNet", shape, filters, dropout=dropout)
        for name, count in (("n_out", n_out), ("blocks", blocks)):
            check_sizes("ResNet", name, count)
        width, survivals = filters[0], iter(survival_probabilities(len(filters) * blocks, survival).tolist())
        stem = [convolution(shape[0], width, bias=norm == "none"), make_norm(norm, width), make_activation(activation)]
        layers: OrderedDict[str, nn.Module] = OrderedDict(stem=nn.Sequential(*stem))
        for stage, wide in enumerate(filters, start=1):
            made = []
            for block in range(blocks):
                options: dict[str, Any] = {"kind": kind, "order": order, "norm": norm, "activation": activation}
                stride = 2 if stage > 1 and block == 0 else 1
                options |= {"squeeze": squeeze, "survival": next(survivals)}
                made.append(residual_block(width, wide, stride=stride, **options))
                width = wide
            layers[f"stage{stage}"] = nn.Sequential(*made)
        if order == "pre":
            layers["last"] = nn.Sequential(make_norm(norm, width), make_activation(activation))
        layers["mean"] = pooling("global_mean")
        layers["flatten"] = nn.Flatten()
        if dropout:
            layers["drop"] = Dropout(dropout)
        layers["output"] = nn.Linear(width, n_out)
        initialize(layers["stem"], ACTIVATIONS[activation].init)
        initialize(layers["output"], "lecun")
        super().__init__(layers)
