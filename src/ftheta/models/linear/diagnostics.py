"""Diagnostics of least squares: residual plots, and the plane against a plane with a cubic spline in a column.

    spline  f(x) = Σ_k c_k (d_k(x) - d_{K-1}(x)),   d_k(x) = ((x - ξ_k)₊³ - (x - ξ_K)₊³) / (ξ_K - ξ_k),   k = 1 ... K-2
    F       (Δ / s) / ((RSS - Δ) / (n - r - s)),     Δ what s spline functions take off the RSS of r coefficients

f is what a natural cubic spline, straight beyond its outer knots, adds to a straight line. Knots lie at quantiles of
the column, so F has its distribution exactly where the truth is linear and the noise normal.
Shapes: n rows, D features, r coefficients, K knots (3 to 5).
References: Hastie, Tibshirani and Friedman, The Elements of Statistical Learning (2009), sections 3.2 and 5.2;
Cleveland, Robust locally weighted regression and smoothing scatterplots, JASA 74 (1979).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats
from scipy.special import ndtri

from ...plots import GREY, PALETTE, Axes, Figure, canvas, drawn
from ...results import Table
from .base import Design

MAX_POINTS, MAX_SMOOTHED = 2000, 20_000  # rows that are drawn, and that the smoother sees
NAMED = 3  # rows whose number is written
QUANTILES = {3: (0.1, 0.5, 0.9), 4: (0.05, 0.35, 0.65, 0.95), 5: (0.05, 0.275, 0.5, 0.725, 0.95)}
DASHED = {"color": GREY, "lw": 1, "ls": (0, (4, 3))}
DOTS = {"color": PALETTE[0], "ms": 3.5, "alpha": 0.45, "mew": 0}


@drawn
def diagnostics(
    fitted: np.ndarray,
    residuals: np.ndarray,
    standardized: np.ndarray,
    leverage: np.ndarray,
    *,
    rank: int,
    rows: np.ndarray,
    target: str = "y",
) -> Figure:
    """Four panels of a fit: residuals against fitted, normal quantiles, spread against fitted, leverage with Cook.

    All (n,), as in a `LinearSummary`. The line is a local regression. The rows with the largest Cook's distances carry
    their numbers; of more than 2,000 rows some are drawn.
    """
    figure, (first, second, third, fourth) = canvas(4, across=2, width=4.8, height=4.0)
    n, there = len(fitted), np.flatnonzero(np.isfinite(standardized))
    z, h = standardized[there], leverage[there]
    _against(first, "Residuals and fitted values", fitted, residuals, f"residual ({target})", target)
    first.axhline(0, **DASHED)
    _quantiles(second, z)
    _against(third, "Scale and location", fitted[there], np.sqrt(abs(z)), "√|standardized residual|", target)
    third.set_ylim(bottom=0)
    _leverage(fourth, h, z, rank)
    for i in np.argsort(-(z**2) * h / (1 - h), kind="stable")[:NAMED]:
        offset, side = ((0, 4), "bottom") if z[i] >= 0 else ((0, -4), "top")
        fourth.plot(h[i], z[i], "o", color=PALETTE[4], ms=4.5, mew=0)
        text = {"textcoords": "offset points", "ha": "center", "va": side, "fontsize": "small"}
        fourth.annotate(str(rows[there][i]), (h[i], z[i]), offset, **text)
    if n > MAX_POINTS:
        figure.suptitle(f"{len(fitted[_some(n)]):,} of {n:,} rows are drawn", fontsize="medium")
    return figure


def _some(n: int, most: int = MAX_POINTS) -> slice:
    return slice(None, None, -(-max(n, 1) // most))


def _against(axes: Axes, title: str, fitted: np.ndarray, values: np.ndarray, label: str, target: str) -> None:
    axes.set(title=title, xlabel=f"fitted value ({target})", ylabel=label)
    shown, smoothed = _some(len(values)), _some(len(values), MAX_SMOOTHED)
    axes.plot(fitted[shown], values[shown], "o", **DOTS)
    if len(np.unique(fitted)) > 3 and np.ptp(fitted) > 1e-9 * abs(fitted).max():
        axes.plot(*local_line(fitted[smoothed], values[smoothed]), color=PALETTE[1], lw=1.8, label="local regression")
        axes.legend(loc="best", framealpha=0.85, edgecolor="none")


def _quantiles(axes: Axes, standardized: np.ndarray) -> None:
    axes.set(title="Normal quantiles", xlabel="quantile of the normal distribution", ylabel="standardized residual")
    n = len(standardized)
    if n:
        ends = np.r_[np.arange(min(n, 50)), np.arange(max(n - 50, 0), n)]  # the tails stay
        chosen = np.union1d(ends, np.linspace(0, n - 1, min(n, MAX_POINTS - 100)).astype(int))
        axes.plot(ndtri((chosen + 0.5) / n), np.sort(standardized)[chosen], "o", **DOTS)
        axes.axline((0, 0), slope=1, label="normal noise", **DASHED)
        axes.legend(loc="upper left", framealpha=0.85, edgecolor="none")


def _leverage(axes: Axes, leverage: np.ndarray, standardized: np.ndarray, rank: int) -> None:
    axes.set(title="Leverage (Cook's distance 0.5 lies outside)", xlabel="leverage", ylabel="standardized residual")
    shown = _some(len(leverage))
    axes.plot(leverage[shown], standardized[shown], "o", **DOTS)
    axes.axhline(0, **DASHED)
    if not leverage.any():
        return
    right, high = min(1.08 * leverage.max(), 0.999), 1.15 * max(abs(standardized).max(), 1.0)
    h = np.linspace(right / 200, right, 200)
    for cook, style in ((0.5, ":"), (1.0, "-")):
        line = np.sqrt(cook * rank * (1 - h) / h)
        if line[-1] < high:
            axes.plot(h, line, style, color=PALETTE[1], lw=1.2, label=f"Cook's distance {cook:g}")
            axes.plot(h, -line, style, color=PALETTE[1], lw=1.2)
            axes.set_title("Leverage")
            axes.legend(loc="best", framealpha=0.85, edgecolor="none")
    axes.set(xlim=(0, right), ylim=(-high, high))


def local_line(x: np.ndarray, y: np.ndarray, span: float = 2 / 3, points: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Local straight lines, weighted by (1 - |u|³)³ among the nearest `span` of the rows: where, and how high."""
    at = np.unique(np.quantile(x, np.linspace(0, 1, points)))
    near, high = max(int(np.ceil(span * len(x))), min(3, len(x))), []
    for place in at:
        away = abs(x - place)
        reach = max(np.partition(away, near - 1)[near - 1] * (1 + 1e-9), 1e-12 * np.ptp(x))  # ties have none
        w = (1 - np.minimum(away / reach, 1) ** 3) ** 3
        x0, y0 = np.average(x, weights=w), np.average(y, weights=w)
        u = (x - x0) / reach
        spread = w @ u**2
        high.append(y0 + (w @ (u * (y - y0)) / spread * ((place - x0) / reach) if spread > 0 else 0.0))
    return at, np.array(high)


@dataclass(frozen=True, eq=False)
class Linearity:
    """What a spline explains beyond the plane, in one column at a time and in all together."""

    names: tuple[str, ...]  # column, or "all columns"
    functions: tuple[int, ...]  # spline functions that were added
    f: tuple[float, ...]  # of the gain
    p: tuple[float, ...]  # of F if the truth is a plane
    linear: float  # share of the variance of y that the plane explains
    spline: tuple[float, ...]  # share with the spline
    note: str = ""  # what could not be tested

    def table(self) -> Table:
        """One row per test."""
        columns = {"spline in": self.names, "functions": self.functions, "F": self.f, "p": self.p}
        shares = {"R² of the plane": [self.linear] * len(self.names), "with the spline": self.spline}
        return Table({**columns, **shares}, self.note)


def natural_spline(x: np.ndarray, knots: np.ndarray) -> np.ndarray:
    """What a natural cubic spline adds to a straight line: (n,), (K,) -> (n, K - 2)."""
    width = knots[-1] - knots[0]
    u, at = (x - knots[0]) / width, ((knots - knots[0]) / width)[:, None]  # 0 ... 1 between the outer knots
    cubes = np.maximum(u - at, 0.0) ** 3  # (K, n)
    d = (cubes[:-1] - cubes[-1]) / (1 - at[:-1])
    return (d[:-1] - d[-1]).T


def _knots(x: np.ndarray, most: int) -> np.ndarray:
    """Up to `most` knots at quantiles of a column; two or fewer where it has no three values."""
    found = np.unique(np.quantile(x, QUANTILES[most]))
    values = np.unique(x) if len(found) < 3 else found  # ties hide the quantiles of the rows
    return found if len(found) >= 3 or len(values) < 3 else values[[0, len(values) // 2, -1]]


def linearity(
    x: np.ndarray, y: np.ndarray, e: np.ndarray, plane: Design, constant: bool, names: Sequence[str]
) -> Linearity:
    """F tests of splines against the plane, one column at a time and all together."""
    q, scale, f = plane.q, plane.scale, len(plane.kept) - x.shape[1]
    left, dof = e * scale, len(x) - plane.q.shape[1]
    rss = float(left @ left)
    total = float(((y - (np.average(y, weights=scale**2) if constant else 0.0)) ** 2) @ scale**2)
    kept = np.flatnonzero(plane.kept[f:]) if dof > 1 and rss > 0 else []
    knots = {j: _knots(x[:, j], int(np.clip(2 + dof // 4, 3, 5))) for j in kept}
    knots = {j: at for j, at in knots.items() if len(at) >= 3}
    if not knots:
        why = "No column has three different values" if dof > 1 else f"There are {dof} degrees of freedom"
        note = f"{why if rss > 0 else 'There is no noise'}: linearity is not tested."
        return Linearity((), (), (), (), 1 - rss / total if total else np.nan, (), note)
    news = [_new_part(natural_spline(x[:, j], at) * scale[:, None], q) for j, at in knots.items()]
    tests, lines = [(names[j + f], new) for j, new in zip(knots, news, strict=True)], []
    if len(tests) > 1:
        tests.append(("all columns", _new_part(np.hstack(news), q)))
    for name, new in tests:
        k, gain = new.shape[1], float(((new.T @ left) ** 2).sum())
        if 0 < k < dof:
            ratio = (gain / k) / ((rss - gain) / (dof - k))
            lines.append((name, k, ratio, float(stats.f.sf(ratio, k, dof - k)), 1 - (rss - gain) / total))
    note = "" if len(lines) == len(tests) else "Splines that leave no degrees of freedom or add nothing are left out."
    columns = [tuple(column) for column in zip(*lines, strict=True)] or [()] * 5
    return Linearity(*columns[:4], 1 - rss / total, columns[4], note)  # type: ignore[arg-type]


def _new_part(made: np.ndarray, q: np.ndarray) -> np.ndarray:
    """An orthonormal basis of what functions (n, k) add to the columns of q (n, r)."""
    size = np.linalg.norm(made, axis=0)
    made = made / np.where(size > 0, size, 1.0)
    u, s, _ = np.linalg.svd(made - q @ (q.T @ made), full_matrices=False)
    return u[:, s > 1e-7]
