"""Layers and blocks: plain `torch.nn.Module`s, their activations and initial weights."""

from __future__ import annotations

from .activations import ACTIVATIONS, Activation, Bump, Sign, Sin, Step, activation
from .dense import MLP
from .init import SCHEMES, initialise

__all__ = [
    "ACTIVATIONS",
    "MLP",
    "SCHEMES",
    "Activation",
    "Bump",
    "Sign",
    "Sin",
    "Step",
    "activation",
    "initialise",
]
