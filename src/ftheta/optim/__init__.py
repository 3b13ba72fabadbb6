"""How θ moves: update rules by name, schedules, and parameters by name."""

from __future__ import annotations

from ._function import Function
from ._whole import Whole
from .bfgs import BFGS
from .conjugate import ConjugateGradient
from .descent import Descent, Steepest
from .ema_momentum import EMAMomentum, momentum_rate
from .gauss_newton import GaussNewton
from .genetic import Genetic
from .groups import freeze, parameter_groups, scaled_rates
from .lbfgs import LBFGS
from .levenberg_marquardt import LevenbergMarquardt
from .line_search import SEARCHES, Found, Phi, backtracking, exact, wolfe
from .making import make
from .memory import memory, memory_table, refuse_large
from .natural import NaturalGradient
from .newton import Newton
from .normalised import NormalisedGD
from .quadratic import damped_step, trust_step
from .schedules import SCHEDULES, Plateau, factor
from .stepping import step
from .table import RULES, Rule, rule

__all__ = [
    "BFGS",
    "LBFGS",
    "RULES",
    "SCHEDULES",
    "SEARCHES",
    "ConjugateGradient",
    "Descent",
    "EMAMomentum",
    "Found",
    "Function",
    "GaussNewton",
    "Genetic",
    "LevenbergMarquardt",
    "NaturalGradient",
    "Newton",
    "NormalisedGD",
    "Phi",
    "Plateau",
    "Rule",
    "Steepest",
    "Whole",
    "backtracking",
    "damped_step",
    "exact",
    "factor",
    "freeze",
    "make",
    "memory",
    "memory_table",
    "momentum_rate",
    "parameter_groups",
    "refuse_large",
    "rule",
    "scaled_rates",
    "step",
    "trust_step",
    "wolfe",
]
