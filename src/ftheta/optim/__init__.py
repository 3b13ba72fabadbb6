"""How θ moves: update rules by name, schedules, and parameters by name."""

from __future__ import annotations

from ..catalog import lazy

lazy(__name__)
