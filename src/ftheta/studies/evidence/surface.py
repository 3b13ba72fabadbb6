"""How well does a small network with early stopping learn a surface?

Question: two hidden layers of 20 units, stopped by validation rows: what is the error on new rows of a surface of two
inputs? The source prints 0.004 and does not say of which surface. Ours is declared:

    y = sin(πx₁) cos(πx₂) + 0.05 ε,   x ~ U[-1, 1]²;     no model can do better than 0.05² = 0.0025

Cost: about 40 CPU-seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ... import plots
from ...data import holdout
from ...draw import Draw
from ...models import MLPRegressor
from .._study import Evidence, Finding, pieces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure"]

CLAIMS = {"B045": "confirmed"}
PRINTED = 0.004


@dataclass(frozen=True)
class Config:
    """Settings; the widths are the source's.

    Args:
        n: Samples; 30 % are the test set, 20 % of the rest validate.
        noise: Standard deviation of the noise on y.
        hidden: Widths.
        epochs: Passes at most.
        patience: Epochs without a better validation loss before training stops.
        seeds: Data sets, each with its own start of the weights.
    """

    n: int = 1000
    noise: float = 0.05
    hidden: tuple[int, ...] = (20, 20)
    epochs: int = 400
    patience: int = 40
    seeds: int = 10


TINY = Config(n=100, epochs=5, seeds=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """One fit a seed."""
    found = pieces(_seed, [(config, seed) for seed in range(config.seeds)], run)
    kept = {key: [one[key] for one in found] for key in found[0]}
    return {k: v if k == "history" else np.array(v) for k, v in kept.items()} | {"floor": config.noise**2}


def _seed(config: Config, seed: int) -> Evidence:
    rng = np.random.default_rng(Draw(seed).at("surface").key())
    x = rng.uniform(-1, 1, (config.n, 2))
    y = np.sin(np.pi * x[:, 0]) * np.cos(np.pi * x[:, 1]) + config.noise * rng.standard_normal(config.n)
    train, test = holdout(config.n, 0.3, Draw(seed).at("test"))
    model = MLPRegressor(
        hidden=config.hidden,
        activation="tanh",
        epochs=config.epochs,
        validation=0.2,
        patience=config.patience,
        batch_size=50,
        random_state=seed,
    ).fit(x[train], y[train])
    answer = model.predict(x[test])
    columns = {key: np.array([row[key] for row in model.history_]) for key in ("loss", "valid_loss")}
    return {
        "mse": float(np.mean((answer - y[test]) ** 2)),
        "constant": float(np.mean((y[train].mean() - y[test]) ** 2)),
        "pairs": np.stack([y[test], answer]),
        "stopped": model.n_iter_,
        "best": int(np.argmin(columns["valid_loss"])) + 1,
        "history": columns,
    }


def judge(evidence: Evidence) -> list[Finding]:
    """B045: the printed error is reached, and no error is below what the noise allows."""
    mse, floor = evidence["mse"], evidence["floor"]
    mean, sd, rows = mse.mean(), mse.std(ddof=1), evidence["pairs"].shape[-1]
    possible = mean > floor * (1 - 4 * np.sqrt(2 / rows / len(mse)))  # four standard errors of a mean square
    verdict = "confirmed" if possible and mean - sd <= PRINTED else "not reproduced"
    why = (
        f"On the surface declared here, {mean:.4f} with a floor of {floor:.4f}; answering the mean gives "
        f"{evidence['constant'].mean():.3f}. Stopped after {np.median(evidence['stopped']):.0f} epochs, the best was "
        f"{np.median(evidence['best']):.0f} (medians). The source's surface is not known, so the number is a size, not "
        "a value to hit."
    )
    return [Finding("B045", PRINTED, float(mean), float(sd), verdict, why)]


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Loss curves with the epoch that was kept, and predictions against targets of the test rows."""
    history = evidence["history"][0]
    curves = {"training": history["loss"], "validation": history["valid_loss"]}
    label = "negative log-likelihood per row (nats)"
    return {
        "curves": plots.curves(curves, int(evidence["best"][0]), label=label),
        "predicted": plots.residuals(*evidence["pairs"][0]),
    }
