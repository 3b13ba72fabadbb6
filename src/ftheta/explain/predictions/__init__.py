"""Predictions and the course of training."""

__all__: list[str] = []
