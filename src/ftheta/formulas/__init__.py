"""One equation per function, without state."""

from __future__ import annotations

from .backward_error import gradient_flow, modified_field, modified_gd, modified_sgd
from .local import stationary, taylor
from .stable import log_softplus, softplus
from .surfaces import SURFACES, Surface, quadratic, rosenbrock, surface

__all__ = [
    "SURFACES",
    "Surface",
    "gradient_flow",
    "log_softplus",
    "modified_field",
    "modified_gd",
    "modified_sgd",
    "quadratic",
    "rosenbrock",
    "softplus",
    "stationary",
    "surface",
    "taylor",
]
