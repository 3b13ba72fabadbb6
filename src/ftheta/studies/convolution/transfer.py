"""What is a trunk worth that was trained on other digits, where labels are few?

A convolutional network learns the digits 0 to 4. All but its last layer then serves for the digits 5 to 9, of which 1,
5 or 20 of each are labeled: frozen under a new head, or trained on together with it, against a network that starts from
random weights. Digits are in the middle of the image, or at random positions in a border of three dark pixels.

    trunk (two convolutions with max pooling, a dense layer) -> head (linear);      the head always starts anew

Every network for the new digits has as many updates, whatever the number of labels.
The claim is a general one and judged by the mean over all settings: the table shows where fine-tuning gains, at random
positions, and where it does not, with one image of each digit in the middle. The trunk has seen about 900 images.
Reference: Yosinski et al., arXiv:1411.1792 (2014).
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ...draw import Draw
from ...models import ConvNetClassifier
from ...nn import initialize
from ...train import Training
from .. import Checks, Measured, Study, more
from ._nets import shuffled

POSITIONS = ("in the middle", "at random positions")
METHODS = ("from scratch", "frozen trunk", "fine-tuned")
TRUNK = ("conv1.*", "conv2.*", "dense1.*")
BATCH = 25
OLD = 5  # the trunk learns the digits below it


def model(filters: tuple[int, int], hidden: int, epochs: int, seed: int, **options: Any) -> ConvNetClassifier:
    """A network; `freeze` and `start` are options."""
    training = Training(schedule="cosine", freeze=options.pop("freeze", ()), threads=1)
    shape = {"filters": filters, "padding": "same", "hidden": (hidden,)}
    loop = {"epochs": epochs, "batch_size": BATCH, "lr": 0.003, "random_state": seed, "training": training}
    return ConvNetClassifier(**shape, **loop, **options)


def measure(
    seed: int,
    position: str,
    *,
    labels: tuple[int, ...] = (1, 5, 20),
    filters: tuple[int, int] = (16, 32),
    hidden: int = 64,
    border: int = 3,
    epochs: int = 20,
    updates: int = 300,
) -> dict[str, Any]:
    """Accuracy on new digits that were not labeled, by number of labels and method: (L, 3)."""
    apart = position == POSITIONS[1]
    x, y = (part.numpy() for part in shuffled("digits", seed, border=border if apart else 0, shifted=apart))
    new = [np.flatnonzero(y == digit) for digit in range(OLD, 10)]
    test, found = np.concatenate([rows[max(labels) :] for rows in new]), []
    with TemporaryDirectory() as folder:
        start = str(Path(folder) / "trunk")
        trunk = model(filters, hidden, epochs, seed).fit(x[y < OLD], y[y < OLD])
        with Draw(seed).at("head").scope():
            initialize(trunk.module_.get_submodule("output"), "lecun")
        trunk.save(start)
        for n in labels:
            rows = np.concatenate([digit[:n] for digit in new])
            passes = -(-updates // -(-len(rows) // BATCH))
            options = ({}, {"start": start, "freeze": TRUNK}, {"start": start})
            nets = [model(filters, hidden, passes, 100 + seed, **each).fit(x[rows], y[rows]) for each in options]
            found.append([net.score(x[test], y[test]) for net in nets])
    return {"accuracy": np.array(found)}


TINY = {"seeds": 2, "filters": (2, 2), "hidden": 4, "epochs": 1, "updates": 2}
study = Study(measure, {"position": POSITIONS}, seeds=5, tiny=TINY, inner={"labels": (1, 5, 20), "method": METHODS})


@study.claim("C330", says="fine-tuning a model of a large, related data set limits overfitting on a smaller one")
def gain(m: Measured) -> Checks:
    fresh, tuned = (m.at("accuracy", method=method).mean((0, 1)) for method in (METHODS[0], METHODS[2]))  # (seed,)
    yield more("fine-tuned is better, in the mean over positions and numbers of labels", tuned, fresh)
