"""Likelihoods: raw outputs of a network as the distribution of a target."""

from __future__ import annotations

from ..catalog import lazy

lazy(__name__)
