"""Does a larger learning rate make the gradient's estimate noisier, or only the loss?

Stochastic gradient descent on a line, y = 3x + 1 + 0.1 ε, from its best parameters, at three rates in batches of 1, 10
and 50 rows. How much does the loss of all rows fluctuate, and how much does the gradient of a batch vary at the end?

    near the minimum  E[F - F*] ~ η / B · tr Cov(g₁),      but the estimate has  Cov(g_B) = Cov(g₁) / B,  without η

Cost: about 25 CPU-seconds.
"""

from typing import Any

import numpy as np

from ...data import Rows
from ...draw import Draw
from .. import Checks, Measured, Study, more
from ._line import batch_gradients, best, descend, half_mse, line_rows


def measure(seed: int, lr: float, batch: int, *, rows: int = 200, updates: int = 1000) -> dict[str, Any]:
    """Fluctuation of the loss in the second half of training, and variance of the estimate where it ends."""
    points = line_rows(rows, Draw(seed).at("rates"))
    least = best(points)
    path = descend(Rows(*points, batch_size=batch), "sgd", lr, updates, seed=seed, start=least)
    above = (half_mse(points, path) - half_mse(points, least[None])[0]).clamp(min=0).numpy()
    sampled = batch_gradients(points, path[-1], batch, 2000, Draw(seed).at("jitter", str(lr), batch))
    return {"fluctuation": above[updates // 2 :].std(), "variance": float(sampled.var(0).mean()), "loss": above}


TINY = {"seeds": 2, "rows": 100, "updates": 100}
study = Study(measure, {"lr": (0.01, 0.03, 0.1), "batch": (1, 10, 50)}, seeds=5, tiny=TINY)


@study.claim("B012", says="with a larger rate mini-batches give a noisy estimate; larger batches reduce gradient noise")
def noisy(m: Measured) -> Checks:
    loss, variance = np.log(m["fluctuation"]), np.log(m["variance"])  # (lr, batch, seed)
    yield more("the loss fluctuates more at a larger rate (log ratio)", loss[-1], loss[0], least=np.log(2))
    yield more("and with smaller batches (log ratio)", loss[:, 0], loss[:, -1], least=np.log(2))
    yield more("the estimate varies more with smaller batches (log ratio)", variance[:, 0], variance[:, -1])
    yield more("the estimate varies more at a larger rate (log ratio)", variance[-1], variance[0], least=np.log(2))
