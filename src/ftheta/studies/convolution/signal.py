"""Do norms keep signals level through fifty random layers?

Question: how do activations and gradients grow or fade from layer to layer of a random network, without a norm and with
batch, layer and RMS norm, for initial weights that fit the activation, are half as large or twice as large?

    a_k = rms(h_k),     g_k = ‖∂(c·f)/∂h_k‖,  c ~ N(0, I),      range = max_k / min_k over the layers (see `_deep`)

Level is a range of at most 10 in every draw.
Shapes: A activations, G scales, N norms, S seeds, K layers.

Reference: Yang, Pennington, Rao, Sohl-Dickstein and Schoenholz, A mean field theory of batch normalization,
arXiv:1902.08129 (2019): under batch norm gradients of random networks grow with depth whatever the weights.
Cost: about 7 CPU-seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from ... import plots
from ...draw import Draw
from ...results import Table
from .._study import Evidence, Finding, Verdict, pieces
from ._deep import deep

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure", "tables"]

CLAIMS = {"A149": "corrected"}
ACTIVATIONS = ("relu", "tanh")
SCALES = (0.5, 1.0, 2.0)
NORMS = ("none", "batch", "layer", "rms")
LEVEL = 10.0  # one order of magnitude


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        depth: Layers.
        width: Units of each.
        rows: Rows of the batch, Gaussian.
        seeds: Draws of rows, weights and cotangents.
    """

    depth: int = 50
    width: int = 128
    rows: int = 128
    seeds: int = 5


TINY = Config(depth=6, width=16, rows=16, seeds=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Activations and gradients after every layer: (A, G, N, S, K) each."""
    cells = [(sigma, scale, kind) for sigma in ACTIVATIONS for scale in SCALES for kind in NORMS]
    found = pieces(_cell, [(config, *cell) for cell in cells], run)
    shape = len(ACTIVATIONS), len(SCALES), len(NORMS), config.seeds, config.depth
    return {key: np.array([one[key] for one in found]).reshape(shape) for key in ("activation", "gradient")}


def _cell(config: Config, sigma: str, scale: float, kind: str) -> Evidence:
    each = [_pass(config, sigma, scale, kind, seed) for seed in range(config.seeds)]
    return {key: np.stack([one[i] for one in each]) for i, key in enumerate(("activation", "gradient"))}


def _pass(config: Config, sigma: str, scale: float, kind: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Root mean squares of h_k and norms of the gradients there: (K,) each."""
    width, generator = config.width, Draw(seed).at("signal").generator("rows")
    net = deep(width, width, config.depth, width, sigma=sigma, normed=kind, scale=scale, seed=seed).double()
    x, c = (torch.randn(config.rows, width, generator=generator, dtype=torch.float64) for _ in range(2))
    kept = []
    for layer in net:
        x = layer(x)
        kept.append(x)
    slopes = torch.autograd.grad((c * x).sum(), kept[:-1])
    return np.array([h.square().mean().sqrt().item() for h in kept[:-1]]), np.array([g.norm().item() for g in slopes])


def _range(values: np.ndarray) -> np.ndarray:
    """Largest over least of the layers: (..., K) -> (...)."""
    return values.max(-1) / values.min(-1)


def judge(evidence: Evidence) -> list[Finding]:
    """A149: with every norm both stay within a factor of 10 for all weights and draws; without one they do not."""
    span = {key: _range(evidence[key]) for key in ("activation", "gradient")}  # (A, G, N, S)
    level = {key: {kind: bool((v[:, :, i] <= LEVEL).all()) for i, kind in enumerate(NORMS)} for key, v in span.items()}
    bare = bool((span["activation"][:, 0, 0] > LEVEL).all())  # small weights, no norm
    held = [level[key][kind] for key in level for kind in NORMS[1:]]
    verdict: Verdict = "confirmed" if all(held) else "corrected" if all(held[:3]) else "refuted"
    if not bare:
        verdict = "not reproduced"  # there was nothing to keep level
    worst = {key: v.max((0, 1, 3)) for key, v in span.items()}  # (N,)
    said = "; ".join(
        f"{kind}: activations {worst['activation'][i]:.3g}, gradients {worst['gradient'][i]:.3g}"
        for i, kind in enumerate(NORMS)
    )
    fits = "; ".join(
        f"{sigma}: " + ", ".join(f"{kind} {np.median(span['gradient'][a, 1, i]):.3g}" for i, kind in enumerate(NORMS))
        for a, sigma in enumerate(ACTIVATIONS)
    )
    why = (
        f"Largest over least of the layers, worst of all activations, scales and draws: {said}. Gradients where the "
        f"weights fit, medians: {fits}."
    )
    middle = [np.median(np.log10(v), axis=(0, 1, 3)).tolist() for v in span.values()]
    spread = [np.log10(v).std(-1, ddof=1).mean((0, 1)).tolist() for v in span.values()]
    return [Finding("A149", "within one order of magnitude with norms", middle, spread, verdict, why)]


def tables(evidence: Evidence) -> dict[str, Table]:
    """Largest over least of the layers by activation, scale and norm: medians over seeds."""
    span = {key: np.median(_range(evidence[key]), axis=-1) for key in ("activation", "gradient")}
    cells = list(np.ndindex(len(ACTIVATIONS), len(SCALES), len(NORMS)))
    columns = {
        "σ": [ACTIVATIONS[a] for a, _, _ in cells],
        "scale": [SCALES[g] for _, g, _ in cells],
        "norm": [NORMS[n] for *_, n in cells],
        "activations": [f"{span['activation'][c]:.3g}" for c in cells],
        "gradients": [f"{span['gradient'][c]:.3g}" for c in cells],
    }
    return {"ranges": Table(columns, "Largest over least of the layers, medians over seeds")}


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Activations and gradients, layer by layer, a panel a scale and a line a norm: medians over seeds of ReLU."""
    at = np.arange(1, evidence["activation"].shape[-1] + 1)
    labels = {"activation": "rms of the activations", "gradient": "norm of the gradient"}
    return {
        key: plots.panels(
            {
                f"weights × {scale:g}": {
                    kind: (at, np.median(evidence[key][0, g, n], axis=0)) for n, kind in enumerate(NORMS)
                }
                for g, scale in enumerate(SCALES)
            },
            x="layer",
            label=label,
            log=True,
        )
        for key, label in labels.items()
    }
