"""Residual plots: is the mean right, is the noise normal, is its spread the same, does one row decide?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...plots import GREY, PALETTE, dress

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["diagnostics"]

_POINTS = 2000
_SMOOTHED = 20_000  # rows that the smoother sees
_NAMED = 3  # rows whose number is written


def diagnostics(
    fitted: np.ndarray,
    residuals: np.ndarray,
    standardized: np.ndarray,
    leverage: np.ndarray,
    *,
    rank: int,
    rows: np.ndarray | None = None,
) -> Figure:
    """Four panels of a fit: residuals against fitted, normal quantiles, spread against fitted, leverage with Cook.

    The line is a local regression. The rows with the largest Cook's distances carry their numbers; of more than 2,000
    rows some are drawn.

    Args:
        fitted: Predictions (n,).
        residuals: True minus predicted (n,).
        standardized: Residuals over their standard errors (n,); NaN are left out.
        leverage: How far a row pulls its own prediction, 0 to 1 (n,).
        rank: Number of coefficients.
        rows: Numbers of the rows (n,); None: 0, 1, ...
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 8.0), dpi=120, layout="constrained")
    first, second, third, fourth = figure.subplots(2, 2).ravel()
    n, there = len(fitted), np.flatnonzero(np.isfinite(standardized))
    rows = np.arange(n) if rows is None else rows
    z, h = standardized[there], leverage[there]
    largest = np.argsort(-(z**2) * h / (1 - h), kind="stable")[:_NAMED]
    _against(first, "Residuals and fitted values", fitted, residuals, "residual (units of y)")
    first.axhline(0, color=GREY, lw=1, ls=(0, (4, 3)))
    _quantiles(second, z)
    _against(third, "Scale and location", fitted[there], np.sqrt(abs(z)), "√|standardized residual|")
    third.set_ylim(bottom=0)
    _leverage(fourth, h, z, rank)
    _name(fourth, h[largest], z[largest], rows[there][largest])
    if n > _POINTS:
        figure.suptitle(f"{len(fitted[_some(n)]):,} of {n:,} rows are drawn", fontsize="medium")
    return figure


def _some(n: int) -> slice:
    return slice(None, None, -(-n // _POINTS))


def _against(axes: Axes, title: str, fitted: np.ndarray, values: np.ndarray, label: str) -> None:
    dress(axes, title=title, x="fitted value (units of y)", y=label)
    shown = _some(max(len(values), 1))
    axes.plot(fitted[shown], values[shown], "o", color=PALETTE[0], ms=3.5, alpha=0.45, mew=0)
    if len(np.unique(fitted)) > 3 and np.ptp(fitted) > 1e-9 * abs(fitted).max():
        step = slice(None, None, -(-len(fitted) // _SMOOTHED))
        axes.plot(*local_line(fitted[step], values[step]), color=PALETTE[1], lw=1.8, label="local regression")
        axes.legend(loc="best", framealpha=0.85, edgecolor="none")


def _quantiles(axes: Axes, standardized: np.ndarray) -> None:
    from scipy.special import ndtri

    dress(axes, title="Normal quantiles", x="quantile of the normal distribution", y="standardized residual")
    n = len(standardized)
    if not n:
        return
    between = np.linspace(0, n - 1, _POINTS - 100).astype(int)
    chosen = np.arange(n) if n <= _POINTS else np.unique(np.concatenate([np.arange(50), between, np.arange(n - 50, n)]))
    normal = ndtri((np.arange(n) + 0.5) / n)[chosen]
    axes.plot(normal, np.sort(standardized)[chosen], "o", color=PALETTE[0], ms=3.5, alpha=0.45, mew=0)
    axes.axline((0, 0), slope=1, color=GREY, lw=1, ls=(0, (4, 3)), label="normal noise")
    axes.legend(loc="upper left", framealpha=0.85, edgecolor="none")


def _leverage(axes: Axes, leverage: np.ndarray, standardized: np.ndarray, rank: int) -> None:
    dress(axes, title="Leverage", x="leverage", y="standardized residual")
    shown = _some(max(len(leverage), 1))
    axes.plot(leverage[shown], standardized[shown], "o", color=PALETTE[0], ms=3.5, alpha=0.45, mew=0)
    axes.axhline(0, color=GREY, lw=1, ls=(0, (4, 3)))
    if not leverage.any():
        return
    right, high = min(1.08 * leverage.max(), 0.999), 1.15 * max(abs(standardized).max(), 1.0)
    h = np.linspace(right / 200, right, 200)
    for cook, style in ((0.5, ":"), (1.0, "-")):
        line = np.sqrt(cook * rank * (1 - h) / h)
        if line[-1] < high:
            axes.plot(h, line, style, color=PALETTE[1], lw=1.2, label=f"Cook's distance {cook:g}")
            axes.plot(h, -line, style, color=PALETTE[1], lw=1.2)
    axes.set(xlim=(0, right), ylim=(-high, high))
    if axes.get_legend_handles_labels()[1]:
        axes.legend(loc="best", framealpha=0.85, edgecolor="none")
    else:
        axes.set_title("Leverage (Cook's distance 0.5 lies outside)")


def _name(axes: Axes, across: np.ndarray, up: np.ndarray, rows: np.ndarray) -> None:
    """Dots with their numbers, above where the dot is high, below where it is low."""
    axes.plot(across, up, "o", color=PALETTE[4], ms=4.5, mew=0)
    for x, y, row in zip(across, up, rows, strict=True):
        offset = (0, 4 if y >= 0 else -4)
        side = "bottom" if y >= 0 else "top"
        axes.annotate(str(row), (x, y), offset, textcoords="offset points", ha="center", va=side, fontsize="small")


def local_line(x: np.ndarray, y: np.ndarray, span: float = 2 / 3, points: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Local straight lines, weighted by (1 - |u|³)³ among the nearest `span` of the rows: where, and how high.

    Reference: Cleveland, Robust locally weighted regression and smoothing scatterplots, JASA 74 (1979).
    """
    at = np.unique(np.quantile(x, np.linspace(0, 1, points)))
    near, high = max(int(np.ceil(span * len(x))), min(3, len(x))), []
    for place in at:
        away = abs(x - place)
        reach = np.partition(away, near - 1)[near - 1] * (1 + 1e-9)
        w = (1 - np.minimum(away / reach, 1) ** 3) ** 3 if reach > 0 else (away == 0).astype(float)
        x0, y0 = np.average(x, weights=w), np.average(y, weights=w)
        u = (x - x0) / (reach or 1.0)
        spread = w @ u**2
        high.append(y0 + (w @ (u * (y - y0)) / spread * ((place - x0) / reach) if spread > 0 else 0.0))
    return at, np.array(high)
