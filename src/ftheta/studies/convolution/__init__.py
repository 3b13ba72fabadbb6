"""Convolutional networks: depth, shortcuts and normalisation, what filters see, and what makes training robust."""

from __future__ import annotations

__all__: list[str] = []
