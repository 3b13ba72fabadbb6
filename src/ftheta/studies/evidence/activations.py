"""Do activations have to be monotone, and what can one at the output alone do?

Question: how much of XOR can one unit learn whose activation is monotone, and one whose activation is a bump? And how
do equal networks with five activations learn the same two spirals?

    monotone unit: σ(w·x + b) > t  iff  w·x > c, a half-plane: at most 3 of the 4 corners
    bump unit:     exp(-10 (x₁ + x₂ - 1)²) > ½, a strip between two parallel lines

Cost: about 60 CPU-seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from ... import plots
from ...data import make
from ...draw import Draw
from ...models import MLPClassifier, ModuleClassifier
from ...nn import ACTIVATIONS, activation
from .._study import Evidence, Finding, pieces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure"]

CLAIMS = {"A279": "confirmed", "A280": "corrected", "A281": "confirmed"}
CORNERS, XOR = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 1, 1, 0])
AXIS = np.linspace(-0.5, 1.5, 101)
HIDDEN = ("relu", "tanh", "gelu", "silu", "sin")
OUTPUT = ("identity", "tanh", "leaky_relu", "elu")  # monotone, and of both signs: two classes need them


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        n: Points of the spirals.
        epochs: Passes of every network over its rows.
        hidden: Widths of the networks that learn the spirals.
        seeds: Repetitions.
    """

    n: int = 600
    epochs: int = 300
    hidden: tuple[int, ...] = (32, 32)
    seeds: int = 5


TINY = Config(n=60, epochs=5, hidden=(8,), seeds=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Single units on XOR, searched and trained, and equal networks with five activations on the spirals."""
    found = pieces(_seed, [(config, seed) for seed in range(config.seeds)], run)
    plane = np.stack(np.meshgrid(AXIS, AXIS), -1).reshape(-1, 2)
    return {key: np.array([one[key] for one in found]) for key in found[0]} | {
        "best": np.array([_search(name) for name in ACTIVATIONS]),
        "monotone": np.array([entry.monotone for entry in ACTIVATIONS.values()]),
        "bump": _bump(CORNERS),
        "plane": _bump(plane).reshape(len(AXIS), -1),
    }


def _seed(config: Config, seed: int) -> Evidence:
    units = [nn.Sequential(nn.Linear(2, 1), activation(name)) for name in OUTPUT]
    bump = nn.Sequential(nn.Linear(2, 1), activation("bump"), nn.Linear(1, 1))
    return {
        "single": np.array([_trained(unit, config, seed) for unit in units]),
        "trained": _trained(bump, config, seed),
        "loss": np.array([_spirals(config, name, seed) for name in HIDDEN]),
    }


def _search(name: str) -> float:
    """The best share of XOR over a grid of weights and biases of one unit and every threshold, on either side."""
    weights = np.array(list(product(np.arange(-4, 5), np.arange(-4, 5), np.arange(-4, 4.5, 0.5))))  # (U, 3)
    z = CORNERS @ weights[:, :2].T + weights[:, 2]  # (4, U)
    a = activation(name)(torch.tensor(z)).numpy()
    order = np.sort(a, axis=0)
    cuts = (order[1:] + order[:-1]) / 2  # (3, U): between any two outputs
    hits = ((a > cuts[:, None]) == XOR[:, None]).sum(1)  # (3, U)
    return float(np.maximum(hits, 4 - hits).max() / 4)


def _bump(at: np.ndarray) -> np.ndarray:
    """One unit with weights √10 and bias -√10."""
    return activation("bump")(torch.tensor(at.sum(1) - 1) * 10**0.5).numpy()


def _trained(module: nn.Module, config: Config, seed: int) -> float:
    """The share of XOR that a module gets right after training from weights in [-2, 2]."""
    with torch.no_grad():
        for i, p in enumerate(module.parameters()):
            p.uniform_(-2, 2, generator=Draw(seed).at("unit", i).generator())
    model = ModuleClassifier(module=module, epochs=config.epochs, lr=0.05, random_state=seed)
    return model.fit(CORNERS, XOR).score(CORNERS, XOR)


def _spirals(config: Config, name: str, seed: int) -> float:
    """Final mean loss of a network on the spirals, in nats."""
    rows = make("spirals", n=config.n, noise=0.0, seed=seed)
    model = MLPClassifier(hidden=config.hidden, activation=name, epochs=config.epochs, random_state=seed)
    return model.fit(rows.x, rows.y).evaluate(rows.x, rows.y)["loss"]


def judge(evidence: Evidence) -> list[Finding]:
    """A279: 3/4 of XOR. A280: the bump gets all of it. A281: monotone or not, networks learn."""
    return [_half_planes(evidence), _strip(evidence), _five(evidence)]


def _half_planes(evidence: Evidence) -> Finding:
    best, monotone, single = evidence["best"], evidence["monotone"], evidence["single"]
    most = float(best[monotone].max())
    why = (
        f"Searched over weights, biases and thresholds, {monotone.sum()} monotone activations reach {most:g} at most "
        f"and {(best[~monotone] == 1).sum()} of {(~monotone).sum()} others all of XOR; trained units reach "
        f"{single.max():g}."
    )
    good = most == 0.75 and single.max() <= 0.75
    return Finding("A279", 0.75, most, float(single.std()), "confirmed" if good else "refuted", why)


def _strip(evidence: Evidence) -> Finding:
    solved = np.allclose(evidence["bump"], XOR, atol=1e-4)
    why = (
        "001 says that one non-linear output works only if it already is the target function. A bump across the "
        "diagonal is a plain counterexample; trained from random weights it solves XOR in "
        f"{(evidence['trained'] == 1).mean():.0%} of seeds."
    )
    verdict = "corrected" if solved else "refuted"
    return Finding("A280", "only the target itself (001)", evidence["bump"].tolist(), None, verdict, why)


def _five(evidence: Evidence) -> Finding:
    loss = evidence["loss"]  # (S, 5)
    mean, sd = loss.mean(0), loss.std(0, ddof=1)
    works = (loss < np.log(2) / 10).mean(0)  # below a tenth of chance
    others = works[[not ACTIVATIONS[name].monotone for name in HIDDEN]]
    verdict = "confirmed" if (others == 1).all() else "refuted" if (others == 0).any() else "not reproduced"
    table = ", ".join(f"{name} {m:.4f}" for name, m in zip(HIDDEN, mean, strict=True))
    why = f"Final loss on two spirals, chance 0.693: {table}. GELU, SiLU and sin are not monotone."
    return Finding("A281", "they work", mean.tolist(), sd.tolist(), verdict, why)


def figures(evidence: Evidence) -> dict[str, Figure]:
    """The bump's two parallel boundaries, and final losses by activation."""
    classes = ["class 0", "class 1"]
    loss = np.quantile(evidence["loss"], [0, 0.25, 0.5, 0.75, 1], axis=0).T  # (5, 5)
    title = "One bump unit on XOR: exp(-10 (x1 + x2 - 1)²)"
    return {
        "bump": plots.regions(AXIS, evidence["plane"], CORNERS, XOR, classes, label="output of the unit", title=title),
        "losses": plots.layers(
            HIDDEN, loss, label="final loss per row (nats)", title="Two spirals, quartiles over seeds"
        ),
    }
