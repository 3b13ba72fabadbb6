"""What can one plane do, and what do layers of thresholds add?

Question: does the perceptron rule end on AND and OR within its bound, and how does it fail on XOR? Which of the 16
dichotomies of the corners of a square can a plane make? Which regions have threshold networks with 0, 1 and 2 hidden
layers?

    h1 = [x1 + x2 > 0.5],  h2 = [x1 + x2 > 1.5]:     XOR = [h1 - h2 > 0.5],     XNOR = [h2 - h1 > -0.5]

Cost: about 5 CPU-seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from ... import plots
from ...draw import Draw
from ...formulas import mistake_bound, separable
from ...models import MLPClassifier, PerceptronRule
from ...nn import activation
from ...results import Table
from ...train import iterate
from .._study import Evidence, Finding, Verdict, pieces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure", "tables"]

CLAIMS = {"B179": "confirmed", "B199": "confirmed", "B201": "corrected", "B203": "corrected"}
CORNERS = np.array(list(product([0.0, 1.0], repeat=2)))  # (0,0), (0,1), (1,0), (1,1)
GATES = {"AND": (0, 0, 0, 1), "OR": (0, 1, 1, 1), "XOR": (0, 1, 1, 0)}
NAMED: dict[tuple[int, ...], str] = {labels: name for name, labels in GATES.items()} | {(1, 0, 0, 1): "XNOR"}
AXIS = np.linspace(-0.5, 1.5, 129)  # steps of 1/64, so that sums and middles are exact
PLANE = np.stack(np.meshgrid(AXIS, AXIS), -1).reshape(-1, 2)  # (G, 2)
Layers = list[tuple[Any, Any]]  # weights and biases, each layer followed by thresholds

_BAND = ([[1, 1], [1, 1]], [-0.5, -1.5])  # h1 and h2
_TRIANGLE = ([[1, 0], [0, 1], [-1, -1]], [0.25, 0.25, 0.75])  # x1 > -¼, x2 > -¼, x1 + x2 < ¾
_SIDES = ([[1, 0], [-1, 0], [1, 0], [-1, 0], [0, 1], [0, -1]], [0.25, 0.25, -0.75, 1.25, -0.75, 1.25])
_SQUARES = ([[1, 1, 0, 0, 1, 1], [0, 0, 1, 1, 1, 1]], [-3.5, -3.5])  # |x1| < ¼ or |x1 - 1| < ¼, and |x2 - 1| < ¼
NETS: dict[str, Layers] = {
    "no hidden layer: a half-plane": [([[1, 1]], [-1.5])],
    "one hidden layer: a triangle": [_TRIANGLE, ([[1, 1, 1]], [-2.5])],
    "one hidden layer: XNOR": [_BAND, ([[-1, 1]], [0.5])],
    "two hidden layers: two squares": [_SIDES, _SQUARES, ([[1, 1]], [-0.5])],
}


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        epochs: Passes of the perceptron, and epochs of the network.
        hidden: Width of the network's hidden layer.
        pairs: Pairs of points of a region whose middles are looked at.
        seeds: Repetitions.
    """

    epochs: int = 300
    hidden: int = 8
    pairs: int = 20_000
    seeds: int = 10


TINY = Config(epochs=150, pairs=2000, seeds=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Gates learned from every seed, all dichotomies of the corners, and regions of networks with set weights."""
    found = pieces(_seed, [(config, seed) for seed in range(config.seeds)], run)
    signed = np.c_[CORNERS, np.ones(4)]
    return {
        **{key: np.array([one[key] for one in found]) for key in ("mistakes", "ended", "best", "mlp")},
        "drawn": found[0]["drawn"],
        "bound": np.array([mistake_bound(signed, 2 * np.array(labels) - 1) for labels in GATES.values()]),
        "cycle": _cycle(),
        "separable": [separable(CORNERS, labels) for labels in product([0, 1], repeat=4)],
        "xor": _values([_BAND, ([[1, -1]], [-0.5])], CORNERS),
        "regions": np.array([_values(layers, PLANE) for layers in NETS.values()]),  # (4, G)
        "outside": np.array([_outside(layers, config.pairs) for layers in NETS.values()]),
        "diagonal": _values(NETS["one hidden layer: XNOR"], np.array([[0.0, 0], [0.5, 0.5], [1, 1]])),
    }


def _seed(config: Config, seed: int) -> Evidence:
    """The perceptron rule on three gates, and a network on XOR."""
    rules = [PerceptronRule(CORNERS, np.array(labels), 2, seed=seed) for labels in GATES.values()]
    for rule in rules:
        iterate(rule, rounds=config.epochs)
    net = MLPClassifier(hidden=(config.hidden,), activation="tanh", epochs=config.epochs, lr=0.05, random_state=seed)
    net.fit(CORNERS, GATES["XOR"])
    kept = PLANE @ rules[-1].pocket[1, :-1] + rules[-1].pocket[1, -1]
    return {
        "mistakes": np.array([rule.mistakes for rule in rules]),
        "ended": np.array([bool(rule.reason) for rule in rules]),
        "best": np.array([1 - rule.least / 4 for rule in rules]),
        "mlp": net.score(CORNERS, GATES["XOR"]),
        "drawn": {"perceptron": (kept > 0).astype(float), "MLP": net.predict_proba(PLANE)[:, 1].astype(float)},
    }


def _cycle() -> list[int]:
    """Passes in a fixed order until weights come back, on XOR: how many from then to then, and the mistakes in each."""
    rule, seen = PerceptronRule(CORNERS, np.array(GATES["XOR"]), 2, shuffle=False), {}
    for step in range(100):
        if (key := rule.theta.tobytes()) in seen:
            return [step - seen[key], rule.mistakes - seen[key, "mistakes"]]
        seen[key], seen[key, "mistakes"] = step, rule.mistakes
        rule.advance()
    return [0, 0]


def _values(layers: Layers, at: np.ndarray) -> np.ndarray:
    """The output of a threshold network at points (n, 2): 0 or 1."""
    x = torch.tensor(at)
    for w, b in layers:
        x = activation("step")(nn.functional.linear(x, torch.tensor(w).double(), torch.tensor(b).double()))
    return x[:, 0].numpy()


def _outside(layers: Layers, pairs: int) -> float:
    """The share of pairs of points of a region whose middle is not in it: 0 if it is convex."""
    inside = PLANE[_values(layers, PLANE) > 0]
    first, second = torch.randint(len(inside), (2, pairs), generator=Draw(0).at("pairs").generator()).numpy()
    return float(1 - _values(layers, (inside[first] + inside[second]) / 2).mean())


def judge(evidence: Evidence) -> list[Finding]:
    """B179, B199: AND and OR end within the bound, XOR never. B201: two of 16 fail. B203: one layer is not convex."""
    e = evidence
    ended, within = e["ended"], e["mistakes"][:, :2] <= e["bound"][:2]
    learns = bool(ended[:, :2].all() and within.all())
    fails = bool(not ended[:, 2].any() and not np.isfinite(e["bound"][2]) and e["cycle"][0] > 0)
    nets = bool((e["best"][:, 2] == 0.75).all() and (e["mlp"] == 1).all() and e["xor"].tolist() == [0, 1, 1, 0])
    lost = [NAMED.get(labels, str(labels)) for labels, good in _dichotomies(e["separable"]) if not good]
    most = e["mistakes"].max(0).tolist()
    return [
        Finding(
            *("B179", [0.75, 1.0], [float(e["best"][:, 2].mean()), float(e["mlp"].mean())]),
            *(float(e["mlp"].std()), "confirmed" if nets and fails else "refuted"),
            f"Best share of XOR by the perceptron and by a network, over {len(ended)} seeds; the net of "
            f"three thresholds gives {e['xor'].astype(int).tolist()}.",
        ),
        Finding(
            *("B199", "ends on AND and OR, not on XOR", ended.mean(0).tolist(), None),
            "confirmed" if learns and fails else "refuted",
            f"Shares of seeds that end on {', '.join(GATES)}. At most {most[0]} and {most[1]} mistakes, bounds "
            f"{e['bound'][0]:.0f} and {e['bound'][1]:.0f}; on XOR in a fixed order the weights come back every "
            f"{e['cycle'][0]} passes, with {e['cycle'][1]} mistakes each time.",
        ),
        Finding(
            *("B201", ["XOR"], lost, None, _corrected(lost, ["XOR", "XNOR"], ["XOR"])),
            f"{16 - len(lost)} of 16 dichotomies of the corners of a square are separable; these are not.",
        ),
        Finding(*("B203", "one hidden layer: convex", *_convexity(e))),
    ]


def _dichotomies(good: Sequence[bool]) -> list[tuple[tuple[int, ...], bool]]:
    return list(zip(product([0, 1], repeat=4), good, strict=True))


def _corrected(found: list[str], right: list[str], printed: list[str]) -> Verdict:
    return "corrected" if sorted(found) == sorted(right) else "confirmed" if found == printed else "not reproduced"


def _convexity(e: Evidence) -> tuple[list[float], None, Verdict, str]:
    """B203: what was measured, the verdict and why."""
    half, triangle, xnor, squares = e["outside"]
    counter = e["diagonal"].tolist() == [1, 0, 1] and xnor > 0
    verdict: Verdict = "not reproduced" if half or triangle or not squares else "corrected" if counter else "confirmed"
    why = (
        "Shares of pairs of points of a region with their middle outside: half-plane, triangle, XNOR, two squares. "
        f"XNOR has one hidden layer and is {e['diagonal'].astype(int).tolist()} at (0,0), (½,½), (1,1): not convex."
    )
    return e["outside"].tolist(), None, verdict, why


def figures(evidence: Evidence) -> dict[str, Figure]:
    """XOR by a perceptron and by a network, and the regions of the threshold networks."""
    size = len(AXIS)
    titles = {"perceptron": "XOR: the best weights of a perceptron", "MLP": "XOR: the probability of 1, by an MLP"}
    found = {
        f"xor-{name.lower()}": plots.regions(
            *(AXIS, value.reshape(size, size), CORNERS, GATES["XOR"], ("0", "1")), label="output", title=titles[name]
        )
        for name, value in evidence["drawn"].items()
    }
    for i, ((title, layers), value) in enumerate(zip(NETS.items(), evidence["regions"], strict=True)):
        codes = _values(layers, CORNERS).astype(int)
        shown = (AXIS, value.reshape(size, size), CORNERS, codes, ("0", "1"))
        found[f"region-{i + 1}"] = plots.regions(*shown, label="output", title=title)
    return found


def tables(evidence: Evidence) -> dict[str, Table]:
    """All dichotomies of the corners."""
    every = _dichotomies(evidence["separable"])
    columns = {
        "labels at (0,0), (0,1), (1,0), (1,1)": ["".join(map(str, labels)) for labels, _ in every],
        "gate": [NAMED.get(labels, "") for labels, _ in every],
        "separable": ["yes" if good else "no" for _, good in every],
    }
    return {"dichotomies": Table(columns, "The 16 dichotomies of the corners of a square.")}
