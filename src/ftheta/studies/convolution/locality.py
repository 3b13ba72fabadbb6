"""What does a network lose that does not know which samples are neighbours?

Ten short shapes, each placed, stretched and scaled at random in a signal of 40 samples, are classified by a
convolutional and by a dense network with as many units in each layer. What are their test errors, and what if the
samples of all signals, training and test, are permuted in one fixed way?

    x_i = a t_y((i - o) / ℓ) + noise ε_i,    t_k(u) = Σ_m c_km sin(π m u) inside [0, 1], 0 elsewhere,    m = 1 ... 5
    a ~ U[0.6, 1.4],  ℓ ~ U[10, 18],  o ~ U[0, 40 - ℓ],  ε ~ N(0, 1),  c_km ~ N(0, 1), then ∫ t_k² = 1
    convolutional: three layers of 15 maps, kernel 3, stride 2, no padding: 19, 9, 4 places;  dense: 285, 135, 60

References: Prince, Understanding Deep Learning, chapter 10 (2023); Greydanus, arXiv:2011.14439 (2020).
"""

import numpy as np
import torch
from torch import Tensor, nn

from ...draw import Draw
from ...nn import MLP, convolution, initialize
from .. import Checks, Measured, Study, holds, more, same
from ._nets import accuracy, n_parameters, trained


def signals(n: int, noise: float, seed: int) -> tuple[Tensor, Tensor]:
    """Signals (n, 1, 40) and their classes (n,); the shapes depend on the seed alone, not on n."""
    rng = np.random.default_rng(Draw(seed).at("signals").key())
    waves = rng.standard_normal((10, 5))
    waves /= np.sqrt((waves**2).sum(1, keepdims=True) / 2)  # ∫ t² = ½ Σ c²
    y = rng.integers(0, 10, n)
    long, scale = rng.uniform(10, 18, (n, 1)), rng.uniform(0.6, 1.4, (n, 1))
    u = (np.arange(40) - rng.uniform(0, 40 - long)) / long  # (n, 40)
    angles = np.pi * np.arange(1, 6) * u[..., None]  # (n, 40, 5)
    clean = scale * (waves[y][:, None] * np.sin(angles)).sum(-1) * ((u >= 0) & (u <= 1))
    x = clean + noise * rng.standard_normal(clean.shape)
    return torch.tensor(x[:, None], dtype=torch.float32), torch.tensor(y)


def network(kind: str) -> nn.Module:
    """2,050 or 59,065 parameters."""
    if kind == "dense":
        return nn.Sequential(nn.Flatten(), MLP(40, 10, (15 * 19, 15 * 9, 15 * 4)))
    layers = [f for n in (1, 15, 15) for f in (convolution(n, 15, 3, dims=1, stride=2, padding="valid"), nn.ReLU())]
    net = nn.Sequential(*layers, nn.Flatten(), nn.Linear(15 * 4, 10))
    initialize(net, "he")
    return net


def measure(
    seed: int, net: str, order: str, *, rows: int = 1500, noise: float = 0.3, updates: int = 1500
) -> dict[str, float]:
    """Errors of one network on half as many other signals, and on its own, in %; its parameters."""
    x, y = signals(rows + rows // 2, noise, seed)
    if order == "permuted":
        x = x[..., torch.randperm(40, generator=Draw(seed).at("permutation").generator())]
    own, other = (x[:rows], y[:rows]), (x[rows:], y[rows:])
    found = trained(lambda: network(net), own, steps=updates, seed=seed, batch=100)
    return {
        "test error": 100 - 100 * accuracy(found, other),
        "train error": 100 - 100 * accuracy(found, own),
        "parameters": n_parameters(found),
    }


TINY = {"seeds": 2, "rows": 60, "updates": 4}
study = Study(measure, {"net": ("convolutional", "dense"), "order": ("in order", "permuted")}, seeds=5, tiny=TINY)


@study.claim("C168", says="CNNs perform better: dense networks have no notion of nearby inputs")
def clearly(m: Measured) -> Checks:
    (conv, moved), (dense, moved_dense) = m["test error"]  # (S,) each
    yield holds("2,050 and 59,065 parameters", m["parameters"][:, 0, 0].tolist() == [2050, 59065])
    yield more("the convolutional error is lower", dense, conv)
    yield more("a permutation hurts it", moved, conv)
    yield same("and changes the dense error by less than 3 points", moved_dense, dense, within=3.0)
