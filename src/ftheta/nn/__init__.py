"""Layers and blocks: plain `torch.nn.Module`s, their activations and initial weights."""

from ..catalog import lazy

lazy(__name__)
