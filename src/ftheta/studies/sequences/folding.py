"""Can a recurrent net read the shape of a chain from its letters?

A toy of protein structure: each letter turns the chain by an angle of its own, in the plane and by steps of length 1.
A net reads the letters and predicts the distances between all pairs of places, of chains that it has not seen.

    φ_t = Σ_{s<=t} angle(letter_s),   r_t = r_{t-1} + (cos φ_t, sin φ_t),   d_ij = ‖r_i - r_j‖

The distance of two places depends on all the letters between them. The mean distance of each pair, which knows no
letters, is the baseline.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

from ...draw import Draw
from ...nn import Recurrent
from .. import Checks, Measured, Study, more
from ._reader import Reader, train

TURNS = torch.deg2rad(torch.tensor([-100.0, -40.0, 40.0, 100.0]))  # of the four letters


def chains(n: int, rng: Generator, *, steps: int) -> tuple[Tensor, Tensor]:
    """Letters (n, T, 4) and the distances of their T (T - 1) / 2 pairs of places."""
    letters = torch.randint(len(TURNS), (n, steps), generator=rng)
    heading = TURNS[letters].cumsum(1)
    at = torch.stack([heading.cos(), heading.sin()], -1).cumsum(1)
    i, j = torch.triu_indices(steps, steps, 1)
    return F.one_hot(letters, len(TURNS)).float(), (at[:, i] - at[:, j]).norm(dim=-1)


def measure(
    seed: int, model: str, *, steps: int = 12, units: int = 64, updates: int = 1500, rows: int = 500
) -> dict[str, Any]:
    """Correlation of predicted and true distances of new chains, and the root of their mean squared difference."""
    draw = Draw(seed)
    x, y = chains(rows, draw.at("test").generator("rows"), steps=steps)
    if model == "mean":
        predicted = chains(10 * rows, draw.at("mean").generator("rows"), steps=steps)[1].mean(0).expand_as(y)
    else:
        with draw.at("build").scope():
            net = Reader(Recurrent(len(TURNS), units, model), y.shape[1])
        squared = lambda raw, y: (raw - y).square().mean(-1)  # noqa: E731
        made = lambda n, rng: chains(n, rng, steps=steps)  # noqa: E731
        train(net, squared, made, steps=updates, batch=64, lr=0.003, seed=seed)
        with torch.no_grad():
            predicted = net(x)
    correlation = torch.corrcoef(torch.stack([predicted.flatten(), y.flatten()]))[0, 1]
    return {"correlation": float(correlation), "error": float((predicted - y).square().mean().sqrt())}


TINY = {"seeds": 2, "units": 4, "steps": 4, "updates": 3, "rows": 20}
study = Study(measure, {"model": ("mean", "gru")}, seeds=5, tiny=TINY)


@study.claim("C331", says="these principles underpin success in scientific discovery, e.g. AlphaFold")
def shape(m: Measured) -> Checks:
    mean, net = m["correlation"]  # (model, seed)
    yield more("distances of new chains: a correlation above 0.9", net, 0.9)
    yield more("a correlation above that of the mean distances", net, mean)
