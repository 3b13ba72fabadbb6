"""Memories and energies: how much a network can store, and what machines of energies learn by sampling."""

from __future__ import annotations

__all__: list[str] = []
