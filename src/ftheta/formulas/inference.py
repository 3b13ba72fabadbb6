"""Intervals: between which numbers the truth lies.

    interval = estimate ± q σ̂,   q the (1 + level)/2 quantile of Student's t with ν degrees of freedom, or of N(0, 1)

Where ν is 0 or less the answer is NaN. Arrays in, arrays out.
Reference: Casella and Berger, Statistical Inference (2002), chapter 9.
"""

from typing import Any

import numpy as np
from scipy.special import ndtri, stdtrit

from ..errors import InputError


def interval(estimate: Any, error: Any, level: float = 0.95, dof: Any = None) -> tuple[Any, Any]:
    """Lower and upper end of the central interval that holds the truth with probability `level`.

    Args:
        estimate: What was found.
        error: Its standard error.
        level: Probability, between 0 and 1.
        dof: Degrees of freedom of Student's t; None: the normal distribution.

    Example:
        >>> low, high = interval(10.0, 1.0)
        >>> round(float(low), 2), round(float(high), 2)
        (8.04, 11.96)
    """
    if not 0 < level < 1:
        raise InputError(f"level is {level}; a share strictly between 0 and 1 is needed, such as 0.95.")
    upper = (1 + level) / 2
    q = ndtri(upper) if dof is None else stdtrit(dof, upper)
    half = q * np.asarray(error, dtype=float)
    return estimate - half, estimate + half
