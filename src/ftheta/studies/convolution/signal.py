"""Do norms keep signals at one level through fifty random layers?

How do activations and gradients grow or fade from layer to layer of a random network, without a norm and with batch,
layer and RMS norm, for initial weights that fit the activation, are half as large or twice as large?

    a_k = rms(h_k),     g_k = ‖∂(c·f)/∂h_k‖,  c ~ N(0, I),      range = log₁₀(max_k / min_k) over layers (see `_nets`)

Reference: Yang, Pennington, Rao, Sohl-Dickstein and Schoenholz, A mean field theory of batch normalization,
arXiv:1902.08129 (2019): under batch norm gradients of random networks grow with depth whatever the weights.
"""

from typing import Any

import numpy as np
import torch

from ...draw import Draw
from .. import Checks, Measured, Study, less
from ._nets import deep


def measure(
    seed: int, sigma: str, scale: float, norm: str, *, depth: int = 50, width: int = 128, rows: int = 128
) -> dict[str, Any]:
    """Ranges of activations and gradients over the layers, in decades, and both layer by layer."""
    generator = Draw(seed).at("signal").generator("rows")
    net = deep(width, width, depth, width, sigma=sigma, normed=norm, scale=scale, seed=seed).double()
    x, c = (torch.randn(rows, width, generator=generator, dtype=torch.float64) for _ in range(2))
    kept = []
    for layer in net:
        x = layer(x)
        kept.append(x)
    slopes = torch.autograd.grad((c * x).sum(), kept[:-1])
    activation = np.log10([h.square().mean().sqrt().item() for h in kept[:-1]])
    gradient = np.log10([g.norm().item() for g in slopes])
    ranges = {"range of activations": np.ptp(activation), "range of gradients": np.ptp(gradient)}
    return {**ranges, "activations (decades)": activation, "gradients (decades)": gradient}


GRID = {"sigma": ("relu", "tanh"), "scale": (0.5, 1.0, 2.0), "norm": ("none", "batch", "layer", "rms")}
study = Study(measure, GRID, seeds=5, tiny={"seeds": 2, "depth": 6, "width": 16, "rows": 16})


@study.claim("A149", says="perhaps batch norm helps to avoid exploding or vanishing gradients")
def level(m: Measured) -> Checks:
    for scale, weights in ((0.5, "half as large"), (2.0, "twice as large")):  # where they vanish or explode without
        value = m.at("range of gradients", scale=scale)  # (sigma, norm, seed)
        text = f"gradients range over fewer decades with batch norm than without, weights {weights}"
        yield less(text, value[:, 1], value[:, 0])
