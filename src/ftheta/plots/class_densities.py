"""Classes along one number: densities times priors, posteriors, and which class is the answer where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ._style import PALETTE, dress, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["class_densities"]


def class_densities(
    x: np.ndarray,
    joint: np.ndarray,
    posterior: np.ndarray,
    names: Sequence[str],
    *,
    cuts: np.ndarray,
    answers: np.ndarray,
    bars: tuple[np.ndarray, np.ndarray] | None = None,
    label: str = "x",
    title: str = "",
) -> Figure:
    """Two panels over one number; dashed lines where the answer changes, and a strip in the colour of the answer.

    Args:
        x: Places (G,).
        joint: Prior times density of each class (K, G).
        posterior: Probability of each class (K, G).
        names: Of the classes; colours repeat after seven.
        cuts: Where the answer changes (m,).
        answers: Class numbers between the cuts (m + 1,).
        bars: A histogram behind the densities: ends (B + 1,) and heights (K, B).
        label: What the number is, with its unit.
        title: Title of the figure.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.6, 5.8), dpi=120, layout="constrained")
    upper, lower, strip = figure.subplots(3, 1, sharex=True, height_ratios=(3, 2.4, 0.35))
    dress(upper, title=title, x="", y="prior × density (per unit of x)")
    dress(lower, title="", x="", y="posterior probability")
    dress(strip, title="", x=label, y="")
    for k, name in enumerate(names):
        colour, line = PALETTE[k % len(PALETTE)], ("-", "--", ":", "-.")[k % 4]
        if bars is not None:
            upper.stairs(bars[1][k], bars[0], fill=True, color=colour, alpha=0.2)
        upper.plot(x, joint[k], color=colour, ls=line, lw=1.8, label=short(str(name), 24))
        lower.plot(x, posterior[k], color=colour, ls=line, lw=1.8)
    ends = np.concatenate([x[:1], cuts, x[-1:]])
    for low, high, k in zip(ends, ends[1:], answers, strict=False):
        strip.axvspan(low, high, color=PALETTE[k % len(PALETTE)], alpha=0.7, lw=0)
    for cut in cuts:
        for axes in (upper, lower, strip):
            axes.axvline(cut, color="black", lw=1, ls=(0, (4, 3)))
    for cut in cuts[:4]:  # more would overlap
        upper.annotate(f"{cut:.3g}", (cut, 1), xycoords=upper.get_xaxis_transform(), xytext=(3, -11),
                       textcoords="offset points", size="small")  # fmt: skip
    lower.set(ylim=(-0.03, 1.03), xlim=(x[0], x[-1]))
    strip.set(yticks=[0.5], yticklabels=["answer"], ylim=(0, 1))
    strip.grid(visible=False)
    upper.set_ylim(bottom=0)
    figure.align_ylabels([upper, lower])
    figure.legend(loc="outside lower center", ncols=4, frameon=False)
    return figure
