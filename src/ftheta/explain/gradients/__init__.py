"""Gradients: how they are computed, checked, and how they flow."""

__all__: list[str] = []
