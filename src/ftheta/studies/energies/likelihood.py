"""How likely are unseen digits under a restricted Boltzmann machine of 500 units?

784 visible and 500 hidden units, trained on 60,000 digits by persistent contrastive divergence with one step and the
centered gradient, with a rate that falls to 0. What is the mean log-likelihood of the test digits, with the partition
function by annealed importance sampling, and how large is its error?

    log p(v) = -F(v) - log Z,      error of the mean = √(error of log Z² + variance over digits / n)

Pixels are drawn once as Bernoulli(gray value), as for the published values; digits binarized at a half are other,
easier data. Published, with 500 units: CD-1 about -126 nats, CD-3 -106, CD-25 -86.

References: Salakhutdinov and Murray, On the Quantitative Analysis of Deep Belief Networks (2008); Melchior, Fischer and
Wiskott, How to Center Deep Boltzmann Machines (2016).
"""

from typing import Any

import numpy as np

from ...models import RestrictedBoltzmannMachine
from ...train import Training
from .. import Study
from .._digits import binarize, digits, sample_pixels

EPOCHS = {"sampled once": 70, "binarized": 20}


def measure(
    seed: int,
    pixels: str,
    *,
    data: str = "mnist",
    units: int = 500,
    epochs: int = 70,
    chains: int = 100,
    temperatures: int = 20_000,
) -> dict[str, Any]:
    """Mean log-likelihoods, and how certain they are."""
    images = digits(data)
    gray = np.concatenate([images.x, images.x_test])
    bits = sample_pixels(gray, 0) if pixels == "sampled once" else binarize(gray)
    x, test = np.split(bits, [len(images.x)])
    model = RestrictedBoltzmannMachine(
        n_hidden=units,
        epochs=min(epochs, EPOCHS[pixels]),
        batch_size=100,
        lr=0.1,
        centered=True,
        start_at_means=False,
        random_state=seed,
        training=Training(schedule="linear"),
    ).fit(x)
    z = model.partition("ais", chains=chains, temperatures=temperatures, random_state=seed)
    train, new = (-model.free_energy(part) - z.log_z for part in (x[: len(test)], test))
    return {
        "test (nats)": new.mean(),
        "error (nats)": np.hypot(z.error, new.std(ddof=1) / len(test) ** 0.5),
        "training (nats)": train.mean(),
        "log Z": z.log_z,
        "error of log Z": z.error,
        "effective chains": z.ess,
    }


TINY = {"data": "digits", "units": 12, "epochs": 2, "chains": 20, "temperatures": 100}
study = Study(measure, {"pixels": tuple(EPOCHS)}, seeds=1, tiny=TINY)
