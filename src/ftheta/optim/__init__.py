"""How θ moves: update rules by name, schedules, and parameters by name."""

from ..catalog import lazy

lazy(__name__)
