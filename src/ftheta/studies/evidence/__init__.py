"""Real data in, a report out: splits, digits, cost, activations, decisions, stopping, a surface and noise."""

from __future__ import annotations

__all__: list[str] = []
