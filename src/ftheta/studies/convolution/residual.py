"""Do shortcuts let deeper networks train, keep the input, and smooth the loss?

Plain and residual networks of equal depth and width learn two spirals, with ReLU and with tanh (networks: see `_nets`;
residual blocks are the identity at the start). An epoch is one update from all rows, by Adam.

    epochs      until the training loss is at most 0.1
    input kept  R² of the best linear map from activations to the input, on other rows: the least of all layers
    roughness   total variation of log L along lines through the end of training, over that of one valley with its ends
                and lowest point, minus 1: rows and columns of a filter-normalised random plane

References: He, Zhang, Ren and Sun, arXiv:1512.03385 (2015); Li et al., arXiv:1712.09913 (2018).
"""

from copy import deepcopy
from typing import Any

import numpy as np
import torch
from torch import nn

from ...explain import landscape
from ...likelihoods import Categorical
from .. import Checks, Measured, Study, more, same
from ._nets import Part, deep, fit, loss_and_accuracy, two_spirals


@torch.no_grad()
def input_kept(net: nn.Sequential, train: Part, test: Part) -> float:
    """The least R², over layers, of a linear map (ridge 1e-4) from the activations to the input, on test rows."""
    (h, _), (new, _) = ((x.double(), y) for x, y in (train, test))
    x, truth, least = h, new, 1.0
    for layer in list(deepcopy(net).double())[:-1]:
        h, new = layer(h), layer(new)
        f, g = ((v - h.mean(0)) / h.std(0, correction=0).norm().clamp_min(1e-300) for v in (h, new))  # total variance 1
        line = torch.linalg.solve(f.T @ f / len(f) + 1e-4 * torch.eye(f.shape[1]), f.T @ x / len(f))
        away = (truth - x.mean(0) - g @ line).square().sum() / (truth - truth.mean(0)).square().sum()
        least = min(least, max(0.0, 1 - away.item()))
    return least


def roughness(losses: np.ndarray) -> float:
    """0 for one valley, however steep: (G,)."""
    height = np.log(np.clip(losses, 1e-12, 1e12))
    need = height[0] + height[-1] - 2 * height.min()
    return max(0.0, float(np.abs(np.diff(height)).sum() / need - 1)) if need > 0 else 0.0


def measure(
    seed: int,
    sigma: str,
    depth: int,
    kind: str,
    *,
    rows: int = 400,
    width: int = 24,
    epochs: int = 250,
    lr: float = 0.003,
    target: float = 0.1,  # training loss that is to be reached
    points: int = 31,  # of the plane, along each direction
    span: float = 0.5,  # half its width, in lengths of the weights
) -> dict[str, Any]:
    """One network, trained and looked at."""
    train, test = two_spirals(rows, seed), two_spirals(rows, 1000 + seed)
    net = deep(2, 2, depth, width, sigma=sigma, residual=kind == "residual", seed=seed)
    losses = fit(net, train, rule="adam", lr=lr, epochs=epochs, batch=rows, seed=seed)
    plane = landscape(net, *train, loss=Categorical(), points=points, span=span, random_state=seed).loss
    return {
        "training accuracy": loss_and_accuracy(net, train)[1],
        "test accuracy": loss_and_accuracy(net, test)[1],
        "epochs": float(np.argmax(np.append(losses, 0.0) <= target) + 1),  # one more than were made: never
        "input kept": input_kept(net, train, test),
        "roughness": np.mean([roughness(line) for line in (*plane, *plane.T)]),
        "loss": np.pad(losses, (0, epochs - len(losses)), constant_values=np.inf),
    }


TINY = {"seeds": 2, "depth": (2, 4), "rows": 40, "width": 8, "epochs": 4, "points": 5}
GRID = {"sigma": ("relu", "tanh"), "depth": (4, 20, 50), "kind": ("plain", "residual")}
study = Study(measure, GRID, seeds=5, tiny=TINY)


@study.claim("C202", says="performance worsens with more layers, on test and training sets")
def degradation(m: Measured) -> Checks:
    train, test = (m.at(f"{part} accuracy", sigma="relu", kind="plain") for part in ("training", "test"))  # (depth, S)
    yield more("the deepest are worse on training rows", train[0], train[-1])
    yield more("and on test rows", test[0], test[-1])
    yield same("as much on both: they do not train", train[-1], test[-1], within=0.05)


@study.claim("A273", says="skip connections: faster convergence usually")
def faster(m: Measured) -> Checks:
    plain, skip = (m.at("epochs", kind=kind)[:, 1:].mean((0, 1)) for kind in m.axes["kind"])  # (S,)
    yield more("fewer epochs, in the mean over activations and depths of 20 and 50", plain, skip)


@study.claim("A274", says="helps prevent some layer from degrading the input entirely")
def kept(m: Measured) -> Checks:
    plain, skip = (m.at("input kept", kind=kind)[:, 1:] for kind in m.axes["kind"])  # (sigma, depth, S)
    yield more("R² is above 0.9 with skips", skip, 0.9)
    yield more("and below it without", 0.9 - plain)


@study.claim("B314", says="skip connections result in a smoother loss surface, which facilitates learning")
def deeper(m: Measured) -> Checks:
    accuracy, rough = m["training accuracy"], m["roughness"]  # (sigma, depth, kind, S)
    yield more("the deepest train better", accuracy[:, -1, 1], accuracy[:, -1, 0])
    yield more("slices are smoother", rough[:, 1:, 0], rough[:, 1:, 1])
