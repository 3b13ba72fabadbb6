"""What do the skips of a U-Net do for the outlines?

Networks of two halvings that tell figures from the background, with skips that concatenate, with skips that add, and
without (as many weights as those that add). How many pixels beside an outline are right, and how many others?

    boundary accuracy: of pixels with another true label within one row and column
"""

from typing import Any

import numpy as np

from ...data import shapes
from ...measure import boundary
from ...models import UNetSegmenter
from ...train import Training
from .. import Checks, Measured, Study, holds, more


def measure(
    seed: int,
    skip: str,
    *,
    noise: float = 0.1,
    size: int = 32,
    rows: int = 200,
    filters: tuple[int, ...] = (8, 16, 32),
    epochs: int = 10,
) -> dict[str, Any]:
    """Accuracy beside outlines and elsewhere, on half as many other images."""
    made = shapes(rows + rows // 2, noise, seed, size=size)
    y = (np.asarray(made.y) > 0).astype(int)
    X = made.x.reshape(y.shape)
    training = Training(schedule="cosine", threads=1)
    options = {"epochs": epochs, "batch_size": 16, "lr": 0.01, "random_state": seed, "training": training}
    net = UNetSegmenter(filters=filters, skip=skip, **options).fit(X[:rows], y[:rows])
    predicted, truth = net.predict(X[rows:]), y[rows:]
    right, near = predicted == truth, boundary(truth)
    return {
        "boundary": right[near].mean(),
        "elsewhere": right[~near].mean(),
        "same size": predicted.shape == truth.shape,
    }


TINY = {"seeds": 2, "size": 16, "rows": 16, "filters": (2, 2, 2), "epochs": 1}
study = Study(measure, {"skip": ("concat", "sum", "none")}, seeds=5, tiny=TINY)


@study.claim("C223", says="encoder and decoder; residual connections transfer information from one to the other")
def outlines(m: Measured) -> Checks:
    edge, rest = m["boundary"], m["elsewhere"]
    yield holds("the map has the size of the image", m["same size"].all())
    yield more("skips raise the accuracy beside outlines", edge[:2], edge[2])
    yield more("and by more than elsewhere", edge[:2] - edge[2], rest[:2] - rest[2])
