"""Layers and blocks: plain `torch.nn.Module`s, their activations and initial weights."""

from __future__ import annotations

from ..catalog import lazy

lazy(__name__)
