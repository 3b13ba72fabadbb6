"""How θ moves: rules raced against noise, width and the clock, rates, batches, schedules, surfaces and minima."""

from __future__ import annotations

__all__: list[str] = []
