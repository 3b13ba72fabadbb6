"""The study of the laser: the chosen perceptron, the mean of free runs, a picture of them beside the test values."""

from collections.abc import Sequence

import numpy as np

from ...data import load
from ...plots import GREY, PALETTE, Figure, canvas
from .. import Measured

REGIME = "the training of the networks (optimizer, epochs) and the spread over seeds"
OFFICIAL = 100  # steps of the test part of santafe-laser; another length is of the small run on other data


def held_values(m: Measured) -> np.ndarray:
    """The test values."""
    steps = m["free run"].shape[-1]
    return np.asarray(load("santafe-laser" if steps == OFFICIAL else "iris").x, float).ravel()[-steps:]


def chosen(m: Measured) -> str:
    """The perceptron with the smallest score."""
    return min(
        (net for net in m.axes["net"] if net.startswith("mlp")), key=lambda n: m.at("log MSE of folds", net=n).mean()
    )


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
