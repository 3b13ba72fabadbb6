"""Are samples of a deep Boltzmann machine more realistic and more varied than those of a restricted one?

Both machines learn the same digits, pixels drawn once as Bernoulli(gray value). Chains of both start from the same
random bits, and a network that was trained on such digits classifies the samples. Which samples are classified with
more confidence, whose classes are spread more evenly, and which lie near more of the unseen digits?

    confidence   mean over samples of the largest probability of a class            realistic: 1
    entropy      -Σ_k p_k log p_k, p: mean probabilities of the classes             varied: log 10 = 2.303 nats
    coverage     share of the unseen digits that have a sample nearer than their k-th nearest other one, in pixels

Unseen digits in place of samples give the upper limit. A deep machine has two hidden layers, each first trained alone.

References: Salakhutdinov and Hinton, Deep Boltzmann Machines (2009); Naeem et al., arXiv:2002.09797 (2020): coverage.
"""

from typing import Any

import numpy as np
import torch

from ...models import DeepBoltzmannMachine, RestrictedBoltzmannMachine
from ...train import Training
from .. import Checks, Measured, Study, more
from .._digits import classifier, digits, sample_pixels

SOURCES = ("RBM", "DBM", "unseen digits")


def machine(source: str, units: int, greedy: int, epochs: int, seed: int) -> Any:
    """Not trained yet: the deep machine has `greedy` epochs for each layer alone and `epochs` for both together."""
    options: dict[str, Any] = {"lr": 0.05, "random_state": seed, "training": Training(schedule="linear")}
    if source == "DBM":
        return DeepBoltzmannMachine(hidden=(units, units), greedy=greedy, epochs=epochs, **options)
    return RestrictedBoltzmannMachine(
        n_hidden=units, epochs=greedy + epochs, batch_size=100, start_at_means=False, **options
    )


def coverage(x: np.ndarray, made: np.ndarray, k: int) -> float:
    """Share of the rows of x with a sample nearer than their k-th nearest other row: (n, D), (m, D)."""
    rows, others = torch.tensor(x, dtype=torch.float32), torch.tensor(made, dtype=torch.float32)
    reach = torch.cdist(rows, rows).kthvalue(k + 1, dim=1).values  # the row itself is the nearest
    return (torch.cdist(rows, others).amin(1) < reach).double().mean().item()


def measure(
    seed: int,
    source: str,
    *,
    data: str = "mnist",
    rows: int = 10_000,
    units: int = 200,
    greedy: int = 4,
    epochs: int = 10,
    samples: int = 500,
    steps: int = 500,
) -> dict[str, Any]:
    """Confidence, entropy of the classes, coverage, and some samples."""
    images = digits(data)
    unseen = sample_pixels(images.x_test, 1)
    n = min(samples, len(unseen) // 2)
    made = unseen[n : 2 * n]
    if source != "unseen digits":
        start = sample_pixels(np.broadcast_to(images.x.mean(0), (n, images.x.shape[1])), seed)
        model = machine(source, units, greedy, epochs, seed).fit(sample_pixels(images.x[:rows], 0))
        made = model.sample(n, steps=steps, start=start, random_state=seed)
    p = classifier(data, rows, epochs=5, pixels=0).predict_proba(made)  # (n, 10)
    mean = p.mean(0)
    return {
        "confidence": p.max(1).mean(),
        "entropy (nats)": -(mean * np.log(mean.clip(1e-12))).sum(),
        "coverage": coverage(unseen[:n], made, 5),
        "samples": made[:16].reshape(-1, *images.shape).astype(np.uint8),
    }


TINY = {"seeds": 2, "data": "digits", "units": 8, "greedy": 1, "epochs": 1, "samples": 64, "steps": 5}
study = Study(measure, {"source": SOURCES}, seeds=5, tiny=TINY)


@study.claim("B136", says="samples of the DBM are more realistic and of greater variety; no numbers")
def better(m: Measured) -> Checks:
    for name, what in (("confidence", "more realistic"), ("entropy (nats)", "more varied")):
        yield more(f"{what}: {name} is higher for the DBM", m.at(name, source="DBM"), m.at(name, source="RBM"))
