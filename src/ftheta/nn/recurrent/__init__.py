"""Recurrent layers: cells (state, input) -> (state, output), layers that run them, and gradients through time."""
