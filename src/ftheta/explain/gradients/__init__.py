"""Gradients: how they are computed, checked, and how they flow."""
