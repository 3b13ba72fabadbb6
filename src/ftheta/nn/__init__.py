"""Layers and blocks: plain `torch.nn.Module`s, their activations and initial weights."""

from __future__ import annotations

from .activations import ACTIVATIONS, Activation, Bump, Sin, activation
from .dense import MLP
from .init import SCHEMES, initialise

__all__ = ["ACTIVATIONS", "MLP", "SCHEMES", "Activation", "Bump", "Sin", "activation", "initialise"]
