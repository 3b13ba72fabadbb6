"""Intervals: what a score could have been with other rows.

    bootstrap   θ* = f(Σ_i w_i c_i),  w ~ Multinomial(n; 1/n, ..., 1/n),      interval = quantiles of θ* at α₁, α₂
    BCa         α = Φ(z₀ + (z₀ + z) / (1 - a (z₀ + z))),   z₀ = Φ⁻¹(P(θ* < θ)),   a = skewness of the jackknife / 6
    Wilson      the shares π with |k/n - π| <= z √(π (1 - π) / n)
    conformal   q = the ⌈(n + 1) level⌉-th smallest |y_i - ŷ_i| of n held-out rows,     P(|y - ŷ| <= q) >= level

A metric is a function f of sums of columns c (n, M), so that a resample is one product of matrices. More than 2,000
rows are grouped at random into 2,000 blocks, which are resampled: means of independent rows spread alike either way.
Shapes: n rows, G blocks, M columns, R resamples.
Reference: Efron, Better bootstrap confidence intervals, JASA 82 (1987); Wilson, Probable inference, the law of
succession, and statistical inference, JASA 22 (1927); Lei et al., Distribution-free predictive inference for
regression, JASA 113 (2018).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from math import ceil, inf
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from ..errors import InputError
from ._rows import level_of, vector

MAX_BLOCKS = 2000


def wilson(k: int, n: int, level: float = 0.95) -> tuple[float, float]:
    """The score interval of a share, k of n: never empty, never outside [0, 1].

    Example:
        >>> wilson(10, 10)
        (0.722, 1.000)
    """
    if not 0 <= k <= n or n < 1:
        raise InputError(f"wilson got k = {k} of n = {n}; it needs 0 <= k <= n and n >= 1.")
    z = float(ndtri((1 + level_of(level)) / 2))
    center, half = (k + z * z / 2) / (n + z * z), z * np.sqrt(k * (n - k) / n + z * z / 4) / (n + z * z)
    return max(0.0, float(center - half)), min(1.0, float(center + half))


def wilsons(k: Any, n: Any) -> np.ndarray:
    """`wilson` of several shares, (m,) and (m,) -> (2, m); NaN where n is 0."""
    return np.array([wilson(int(a), int(b)) if b else (np.nan, np.nan) for a, b in zip(k, n, strict=True)]).T


@dataclass(frozen=True)
class Bootstrap:
    """The same resamples of n rows for every metric, so that intervals can be compared."""

    n: int  # rows
    level: float = 0.95  # confidence level of the intervals
    resamples: int = 1000
    seed: int = 0  # where the weights come from

    @cached_property
    def block(self) -> np.ndarray | None:
        """The block of each row (n,), or None where each row is its own."""
        rng = np.random.default_rng([self.seed, 1])
        return rng.permutation(self.n) % MAX_BLOCKS if self.n > MAX_BLOCKS else None

    @cached_property
    def weights(self) -> np.ndarray:
        """How often each block was drawn: (R, G)."""
        g, r = min(self.n, MAX_BLOCKS), self.resamples
        drawn = np.random.default_rng([self.seed, 0]).integers(0, g, (r, g)) + g * np.arange(r)[:, None]
        return np.bincount(drawn.ravel(), minlength=r * g).reshape(r, g).astype(np.float64)

    def sums(self, columns: Iterable[np.ndarray]) -> np.ndarray:
        """Sums of columns by block: M times (n,) -> (G, M)."""
        block = self.block
        found = [c if block is None else np.bincount(block, c, MAX_BLOCKS) for c in columns]
        return np.column_stack(found).astype(float)

    def interval(
        self, columns: Iterable[np.ndarray], f: Callable[[np.ndarray], np.ndarray]
    ) -> tuple[float, float] | None:
        """The BCa interval of f(Σ columns), f: (..., M) -> (...), of M columns (n,); None where no row moves it."""
        c = self.sums(columns)
        total = c.sum(0)
        value, drawn, left_out = f(total), f(self.weights @ c), f(total - c)  # (), (R,), (G,)
        influence = left_out.mean() - left_out
        drawn, spread = drawn[np.isfinite(drawn)], np.sqrt(np.sum(influence**2))
        if not np.isfinite(spread) or spread <= 1e-12 * max(1.0, abs(value)):
            return None
        below = np.mean(drawn < value) / 2 + np.mean(drawn <= value) / 2
        a, z0 = np.sum(influence**3) / spread**3 / 6, ndtri(np.clip(below, 1 / self.resamples, 1 - 1 / self.resamples))
        z = z0 + ndtri(np.array([1 - self.level, 1 + self.level]) / 2)
        low, high = np.quantile(drawn, ndtr(z0 + z / (1 - a * z)), method="weibull")
        return float(low), float(high)

    def abs_interval(self, columns: Iterable[np.ndarray]) -> tuple[float, float] | None:
        """An interval of Σ_b |Σ_i c_ib| / n, whose plain bootstrap is biased: chance makes every |mean| larger.

        Low end: means within 2 standard errors of 0 are set to 0, so that 0 is in it where all means may be 0.
        High end: signs held. It covers at least as often as it says. None where resampling does not move it.
        """
        c = self.sums([np.ones(self.n), *columns])
        means = lambda s: s[..., 1:] / s[..., :1]  # noqa: E731
        g, drawn = means(c.sum(0)), means(self.weights @ c)  # (B,), (R, B)
        if drawn.std(0).max() <= 1e-12:
            return None
        kept, noise, value = np.where(abs(g) > 2 * drawn.std(0), g, 0.0), drawn - g, abs(g).sum()
        error = abs(kept + noise).sum(1) - abs(kept).sum()
        low = value - np.quantile(error, (1 + self.level) / 2, method="weibull")
        high = value - np.quantile(noise @ np.sign(g), (1 - self.level) / 2, method="weibull")
        return max(0.0, float(low)), float(high)


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
