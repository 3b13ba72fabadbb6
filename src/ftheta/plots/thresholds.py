"""Over the threshold of a score: a criterion with its best place, and below it shares such as precision and recall."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ._style import GREY, PALETTE, dress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["thresholds"]

_POINTS = 1000  # a line


def thresholds(
    at: np.ndarray,
    criterion: Mapping[str, np.ndarray],
    shares: Mapping[str, np.ndarray],
    *,
    chosen: tuple[float, float, float],
    calibrated: float | None = None,
    title: str = "",
) -> Figure:
    """The criterion above, shares below, both as steps over the threshold; the choice and its interval across both.

    Args:
        at: Thresholds, in order: (T,).
        criterion: Its name, with its unit, to its values (T,); NaN is a gap.
        shares: Names to values in [0, 1] (T,).
        chosen: The chosen threshold, and the ends of its interval.
        calibrated: The threshold that calibrated probabilities would ask for.
        title: Title of the figure.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 5.8), dpi=120, layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True)
    keep = np.unique(np.linspace(0, len(at) - 1, min(len(at), _POINTS)).round().astype(int))
    ((name, values),) = criterion.items()
    dress(upper, title=title, x="", y=name)
    dress(lower, title="", x="threshold (probability above which the class is answered)", y="share of rows")
    style: dict[str, Any] = {"drawstyle": "steps-mid", "lw": 1.6}
    upper.plot(at[keep], values[keep], color=PALETTE[0], label=name.partition(" (")[0], **style)
    for i, (part, share) in enumerate(shares.items()):
        lower.plot(at[keep], share[keep], color=PALETTE[1 + i], ls=("-", "--", ":")[i % 3], label=part, **style)
    for axes in (upper, lower):
        axes.axvspan(chosen[1], chosen[2], color=GREY, alpha=0.2, lw=0)
        axes.axvline(chosen[0], color="black", lw=1.2, label=f"chosen: {chosen[0]:.3g}" * (axes is upper))
        if calibrated is not None:
            label = f"if p is calibrated: {calibrated:.3g}" * (axes is upper)
            axes.axvline(calibrated, color=GREY, lw=1.2, ls=(0, (4, 3)), label=label)
    upper.fill_between([], [], [], color=GREY, alpha=0.2, label="choices of resampled rows")
    lower.set(xlim=(0, 1), ylim=(-0.02, 1.02))
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    return figure
