"""Do activations have to be monotone?

How do equal networks with five activations learn the same two spirals? GELU, SiLU and sin are not monotone.

    loss = mean cross-entropy of the training rows after the last epoch;        chance: log 2 = 0.693 nats
"""

from typing import Any

import numpy as np

from ...data import make_dataset
from ...models import MLPClassifier
from .. import Checks, Measured, Study, less


def measure(
    seed: int, activation: str, *, n: int = 600, epochs: int = 300, hidden: tuple[int, ...] = (32, 32)
) -> dict[str, Any]:
    """Final loss of one network on the spirals, in nats."""
    rows = make_dataset("spirals", n=n, noise=0.0, seed=seed)
    model = MLPClassifier(hidden=hidden, activation=activation, epochs=epochs, random_state=seed)
    return {"loss": model.fit(rows.x, rows.y).evaluate(rows.x, rows.y)["loss"]}


TINY = {"seeds": 2, "n": 60, "epochs": 5, "hidden": (8,)}
study = Study(measure, {"activation": ("relu", "tanh", "gelu", "silu", "sin")}, seeds=5, tiny=TINY)


@study.claim("A281", says="activation functions need not be monotonic")
def learn(m: Measured) -> Checks:
    for name in ("gelu", "silu", "sin"):
        yield less(f"{name} ends below a tenth of chance (nats)", m.at("loss", activation=name), np.log(2) / 10)
