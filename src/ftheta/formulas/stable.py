"""Softplus and its logarithm, finite for every number a network can put out.

    softplus(z) = log(1 + eᶻ),      log softplus(z) -> z  as  z -> -∞

Below z = -104 float32 rounds eᶻ to 0 and the logarithm of softplus would be -∞; its true value is z to the last digit
from z = -40 on.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

EXACT = 40.0  # beyond ±40 the linear branches differ from the function by less than half a unit of float64


def softplus(z: Tensor) -> Tensor:
    """log(1 + eᶻ) of each entry, to the precision of the dtype."""
    return F.softplus(z, threshold=EXACT)


def log_softplus(z: Tensor) -> Tensor:
    """log log(1 + eᶻ) of each entry, with a finite gradient everywhere.

    Example:
        >>> log_softplus(torch.tensor([-10000.0, 10000.0]))
        tensor([-1.0000e+04,  9.2103e+00])
    """
    return torch.where(z < -EXACT, z, softplus(z.clamp(min=-EXACT)).log())
