"""How θ moves: update rules by name, schedules, and parameters by name."""

from __future__ import annotations

from .groups import freeze, parameter_groups
from .normalised import NormalisedGD
from .schedules import SCHEDULES, factor
from .table import RULES, Rule, make, rule, step

__all__ = [
    "RULES",
    "SCHEDULES",
    "NormalisedGD",
    "Rule",
    "factor",
    "freeze",
    "make",
    "parameter_groups",
    "rule",
    "step",
]
