"""Likelihoods: raw outputs of a network as the distribution of a target."""

from ..catalog import lazy

lazy(__name__)
