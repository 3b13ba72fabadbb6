"""Residual networks unrolled: one sum of terms, 2^K paths, and the blocks that survive.

    h_k = f_k[h_{k-1}]                  y = f_K[ ... f_2[f_1[x]]]                        (sequential)
    h_k = h_{k-1} + f_k[h_{k-1}]        y = x + f_1[x] + f_2[x + f_1[x]] + ...           (residual)

A path takes the branch or the shortcut at each of the K blocks: C(K, l) paths go through l branches, 2^K in all; for
linear f the output is exactly their sum. With stochastic depth block k survives with probability
p_k = 1 - (1 - p_K) k / K, and Σ p_k blocks are active on average: (3K - 1) / 4 for p_K = 1/2.

Reference: Veit et al., arXiv:1605.06431; Huang et al., arXiv:1603.09382.
"""

from math import comb
from numbers import Real

import numpy as np

from ..errors import InputError


def residual_expansion(n: int) -> str:
    """The unrolled sum of n blocks in words.

    Example:
        >>> residual_expansion(2)
        'x + f1[x] + f2[x + f1[x]]'
    """
    if not 0 <= n <= 20:
        raise InputError(f"{n} blocks have 2^{n} paths; 0 to 20 blocks can be written out, path_lengths counts any.")
    words = "x"
    for k in range(1, n + 1):
        words = f"{words} + f{k}[{words}]"
    return words


def path_lengths(n: int) -> list[int]:
    """How many paths go through 0, 1, ... n branches.

    Example:
        >>> path_lengths(3)
        [1, 3, 3, 1]
    """
    return [comb(n, length) for length in range(n + 1)]


def survival_probabilities(n: int, last: float = 0.5) -> np.ndarray:
    """p_1 ... p_n, falling on a line from 1 (the input) to `last`; their sum is the expected count of active blocks.

    Example:
        >>> float(survival_probabilities(54).sum())
        40.25
    """
    if not isinstance(last, Real) or not 0 <= last <= 1:
        raise InputError(f"The survival of the last block must be a probability. Got {last!r} instead.")
    return 1 - (1 - last) * np.arange(1, n + 1) / n
