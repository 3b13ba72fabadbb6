"""Linear models and decisions: what the course says of lines, planes, bases and classes."""

from __future__ import annotations

__all__: list[str] = []
