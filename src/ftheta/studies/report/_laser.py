"""Free runs of the study of the laser: the mean of them, and a picture beside the test values."""

from collections.abc import Sequence

import numpy as np

from ...data import load
from ...plots import GREY, PALETTE, Figure, canvas
from .. import Measured

OFFICIAL = 100  # steps of the test part of santafe-laser; another length is of the small run on other data


def held_values(m: Measured) -> np.ndarray:
    """The test values."""
    steps = m["free run"].shape[-1]
    return np.asarray(load("santafe-laser" if steps == OFFICIAL else "iris").x, float).ravel()[-steps:]


def ensemble(m: Measured, net: str) -> float:
    """MSE of the mean of the free runs of all seeds."""
    return float(np.mean((m.at("free run", net=net).mean(0) - held_values(m)) ** 2))


def paths(m: Measured, nets: Sequence[str]) -> Figure:
    """Free runs of the seed of the median error."""
    figure, grid = canvas(len(nets), width=4.2, height=3.0)
    for axes, net in zip(grid, nets, strict=True):
        errors = m.at("MSE of the free run", net=net)
        at = int(np.argsort(errors)[len(errors) // 2])
        axes.plot(held_values(m), color=GREY, label="test values")
        axes.plot(m.at("free run", net=net)[at], "--", color=PALETTE[0], label="free run")
        axes.set(title=f"{net}: MSE {errors[at]:.0f}", xlabel="step", ylabel="intensity")
    figure.legend(*grid[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    return figure
