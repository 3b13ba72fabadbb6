"""Are learned features better than those that were written down: a convolutional network, or an SVM on histograms?

On the same digits a support vector machine learns from pixels, another from histograms of oriented gradients, and a
convolutional network from pixels.

    pixels -> SVM,      pixels -> histograms of gradients -> SVM,      pixels -> convolutions -> classes

The network has as many updates whatever the number of rows.
Reference: Dalal and Triggs, CVPR (2005).
"""

from typing import Any

import numpy as np

from ...draw import Draw
from ...formulas import hog
from ...models import ConvNetClassifier, SVMClassifier
from ...train import Training
from .. import Checks, Measured, Study, less, more
from .._digits import digits

BATCH = 50
MODELS = ("SVM of pixels", "SVM of histograms", "convolutional network")


def measure(seed: int, rows: int, *, tested: int = 2000, updates: int = 2000) -> dict[str, Any]:
    """Accuracy of each model on test images, learned from the same drawn rows: (3,)."""
    data = digits("mnist")
    train = np.random.default_rng(Draw(seed).at("rows").key()).choice(len(data.x), rows, replace=False)
    (x, y), (x_test, y_test) = (data.x[train], data.y[train]), (data.x_test[:tested], data.y_test[:tested])
    images, test_images = (part.reshape(-1, *data.shape) for part in (x, x_test))
    loop = {"epochs": -(-updates * BATCH // rows), "batch_size": BATCH, "lr": 0.002, "random_state": seed}
    shape = {"filters": (16, 32), "hidden": (64,), "dropout": 0.2}
    net = ConvNetClassifier(**shape, **loop, training=Training(threads=1)).fit(images, y)
    machines = (SVMClassifier(C=10.0).fit(x, y), SVMClassifier(C=10.0).fit(hog(images), y))
    scores = [machines[0].score(x_test, y_test), machines[1].score(hog(test_images), y_test)]
    return {"accuracy": np.array([*scores, net.score(test_images, y_test)])}


TINY = {"seeds": 2, "rows": (60, 100), "tested": 20, "updates": 2}
study = Study(measure, {"rows": (500, 4000)}, seeds=3, tiny=TINY, inner={"model": MODELS})


@study.claim("A212", says="humans are far worse than networks at knowing which features are informative")
def learned(m: Measured) -> Checks:
    for rows in m.axes["rows"]:
        pixels, histograms, net = (m.at("accuracy", rows=rows, model=name) for name in MODELS)
        yield less(f"histograms are behind the network, {rows:,} rows", histograms, net)
        yield more(f"pixels are behind the network, {rows:,} rows", net, pixels)
