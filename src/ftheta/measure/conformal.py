"""Split conformal prediction: intervals that cover, whatever the model, if new rows are drawn like the held-out ones.

    q = the ⌈(n + 1) level⌉-th smallest |y_i - ŷ_i| of n held-out rows,      P(|y - ŷ| <= q) >= level

Over draws of the held-out rows, the coverage of ŷ ± q is Beta(k, n + 1 - k), k = ⌈(n + 1) level⌉, for continuous y.
Reference: Lei, G'Sell, Rinaldo, Tibshirani and Wasserman, Distribution-free predictive inference for regression, JASA
113 (2018).
"""

from __future__ import annotations

from math import ceil, inf
from typing import Any

import numpy as np

from ._rows import level_of, vector

__all__ = ["half_width"]


def half_width(residuals: Any, level: float) -> float:
    """Half the width of an interval around a prediction; infinite where n rows are too few for the level.

    Args:
        residuals: y - ŷ of rows that the model was not trained on: (n,).
        level: The share of new rows that ŷ ± half_width must cover.

    Example:
        >>> half_width([1.0, -2.0, 3.0, -4.0], 0.8), half_width([1.0, -2.0, 3.0], 0.8)
        (4.0, inf)
    """
    r = abs(vector("residuals", residuals).astype(np.float64))
    k = ceil(round((len(r) + 1) * level_of(level), 9))  # 100 * 0.07 is 7, not 7.000000000000001
    return float(np.partition(r, k - 1)[k - 1]) if k <= len(r) else inf
