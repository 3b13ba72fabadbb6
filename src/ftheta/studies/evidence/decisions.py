"""How does a score become a class?

Question: how large is the part of the triangle of probabilities that each class wins, and is every step from the raw
output of a network to its class what the formula says?

    one output:  p = 1 / (1 + e^-f), class 1 iff f > 0        several:  p_k = e^f_k / Σ e^f_j, class argmax p

Cost: about 5 CPU-seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ... import plots
from ...likelihoods import Categorical
from ...models import MLPClassifier
from .._study import Evidence, Finding, pieces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure"]

CLAIMS = {"A197": "confirmed", "C042": "confirmed"}
X = np.linspace(-3, 3, 301)


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        points: Points drawn evenly from the triangle.
        n: Rows along a line that the networks learn from.
        epochs: Passes over them.
        seeds: Repetitions of both.
    """

    points: int = 100_000
    n: int = 300
    epochs: int = 100
    seeds: int = 5


TINY = Config(points=3000, n=60, epochs=5, seeds=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Shares of the triangle, and two networks on a line."""
    found = pieces(_seed, [(config, seed) for seed in range(config.seeds)], run)
    return {key: np.array([one[key] for one in found]) for key in found[0]}


def _seed(config: Config, seed: int) -> Evidence:
    rng = np.random.default_rng([7, seed])
    p = rng.dirichlet(np.ones(3), config.points)  # even on the triangle
    code = Categorical().mode(torch.tensor(p).log()).numpy()
    x = rng.uniform(-3, 3, config.n)
    noisy = x + 0.4 * rng.standard_normal(config.n)
    two = _line(x, (noisy > 0).astype(int), config, seed)
    three = _line(x, np.digitize(noisy, [-1, 1]), config, seed)
    return {
        "share": np.bincount(code, minlength=3) / len(code),
        "wins": float((np.take_along_axis(p, code[:, None], 1)[:, 0] == p.max(1)).mean()),
        "at": p[:4000],
        "code": code[:4000],
        "points": len(p),
        **{f"two_{key}": value for key, value in two.items()},
        **{f"three_{key}": value for key, value in three.items()},
    }


def _line(x: np.ndarray, y: np.ndarray, config: Config, seed: int) -> dict[str, np.ndarray]:
    """Raw outputs (G, R), probabilities (G, K) and classes (G,) along the line."""
    model = MLPClassifier(hidden=(16,), activation="tanh", epochs=config.epochs, random_state=seed).fit(x[:, None], y)
    raw = model.decision_function(X[:, None]).reshape(len(X), -1)
    return {"raw": raw, "p": model.predict_proba(X[:, None]), "class": model.predict(X[:, None])}


def judge(evidence: Evidence) -> list[Finding]:
    """A197: a third each. C042: each step is its formula, and probabilities sum to one."""
    return [_thirds(evidence), _steps(evidence)]


def _thirds(evidence: Evidence) -> Finding:
    share = evidence["share"]  # (S, 3)
    error = np.sqrt(2 / 9 / evidence["points"].sum())  # of a share that is one third
    even = bool((np.abs(share.mean(0) - 1 / 3) < 4 * error).all())
    largest = bool((evidence["wins"] == 1).all())
    why = f"The largest coordinate wins at every point: {largest}. Shares of {evidence['points'].sum()} even points."
    verdict = "confirmed" if even and largest else "refuted"
    return Finding("A197", "1/3 each", share.mean(0).tolist(), share.std(0, ddof=1).tolist(), verdict, why)


def _steps(evidence: Evidence) -> Finding:
    raw2, raw3 = (evidence[f"{k}_raw"].astype(float) for k in ("two", "three"))  # (S, G, 1), (S, G, 3)
    sigmoid = 1 / (1 + np.exp(-raw2[..., 0]))
    power = np.exp(raw3 - raw3.max(-1, keepdims=True))
    wanted: Any = {"two": np.stack([1 - sigmoid, sigmoid], -1), "three": power / power.sum(-1, keepdims=True)}
    sums = max(float(np.abs(evidence[f"{k}_p"].sum(-1) - 1).max()) for k in wanted)
    links = max(float(np.abs(evidence[f"{k}_p"] - p).max()) for k, p in wanted.items())
    chosen = all((evidence[f"{k}_class"] == evidence[f"{k}_p"].argmax(-1)).all() for k in wanted)
    good = sums < 1e-5 and links < 1e-5 and chosen
    why = (
        f"Probabilities sum to 1 within {sums:.0e}, are the sigmoid or the softmax of the scores within {links:.0e}, "
        f"and the class is the most probable one: {bool(chosen)}."
    )
    return Finding("C042", "Σ p = 1", 1 + sums, None, "confirmed" if good else "refuted", why)


def figures(evidence: Evidence) -> dict[str, Figure]:
    """The coloured triangle, and score, probability and class along a line."""
    names = [f"largest: {axis}" for axis in "xyz"]
    titles = {"two": "two classes: sigmoid", "three": "three classes: softmax"}
    columns = [(t, *(evidence[f"{k}_{part}"][0] for part in ("raw", "p", "class"))) for k, t in titles.items()]
    return {
        "simplex": plots.simplex(evidence["at"][0], evidence["code"][0], names, title="Argmax on x + y + z = 1"),
        "links": plots.links(X, columns, title="Score, probability, class"),
    }
