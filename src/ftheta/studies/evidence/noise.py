"""Does a network that predicts a distribution know how sure it is?

Question: fitted to the same 400 rows, what do a point prediction, one learned variance and a variance that depends on x
say of new rows?

    y = sin(2πx) + σ(x) ε,   σ(x) = 0.05 + 0.4 x,   x ~ U[0, 1],   ε ~ N(0, 1)
    best possible:  E log σ(x) + ½ log 2πe = -0.105 nats;     with one variance:  ½ log(2πe E σ²) = 0.129

Cost: about 60 CPU-seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ... import plots
from ...data import make
from ...errors import InputError
from ...likelihoods import Gaussian, HeteroscedasticGaussian
from ...models import MLPRegressor
from .._study import Evidence, Finding, pieces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure"]

CLAIMS = {"C011": "confirmed", "C036": "confirmed", "C038": "corrected", "C039": "confirmed"}
NAMES = {"point": "gaussian", "constant": "gaussian-learned", "varying": "gaussian-heteroscedastic"}
AT = np.array([0.1, 0.5, 0.9])
GRID = np.linspace(0, 1, 201)


@dataclass(frozen=True)
class Config:
    """Settings; n and hidden are the source's, which leaves test rows and training open.

    Args:
        n: Training rows.
        test: Test rows.
        hidden: ReLU units in the one hidden layer.
        epochs: Passes over the rows, in batches of 50.
        seeds: Data sets, each with its own start of the weights.
    """

    n: int = 400
    test: int = 400
    hidden: int = 40
    epochs: int = 200
    seeds: int = 20


TINY = Config(n=100, test=100, epochs=5, seeds=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Three fits a seed."""
    found = pieces(_seed, [(config, seed) for seed in range(config.seeds)], run)
    return {key: np.array([one[key] for one in found]) for key in found[0]} | _single()


def _seed(config: Config, seed: int) -> Evidence:
    train, test = (make("heteroscedastic", n=n, seed=2 * seed + i) for i, n in enumerate((config.n, config.test)))
    fits = {name: _fit(config, likelihood, train, seed) for name, likelihood in NAMES.items()}
    both = [fits["constant"], fits["varying"]]
    x, truth = test.x.to_numpy(), test.truth
    oracle = torch.distributions.Normal(*map(torch.tensor, (truth.mean(x), truth.scale(x))))  # type: ignore[union-attr]
    return {
        "train_nll": np.array([fit.evaluate(_z(train.x), train.y)["loss"] for fit in both]),
        "test_nll": np.array([fit.evaluate(_z(test.x), test.y)["loss"] for fit in both]),
        "oracle": float(-oracle.log_prob(torch.tensor(test.y)).mean()),
        "inside": np.array([_inside(fit, test) for fit in both]),  # (2, n)
        "x": x[:, 0],
        "means": np.array([fit.predict(_z(GRID)) for fit in fits.values()]),  # (3, G)
        "sds": np.array([fit.predict_distribution(_z(GRID)).stddev.numpy().ravel() for fit in both]),  # (2, G)
        "rows": np.stack([train.x.to_numpy()[:, 0], np.asarray(train.y)]),
        "refuses": _refuses(fits["point"], x),
        "network": _network(fits["constant"]),  # (G,)
    }


def _z(x: Any) -> np.ndarray:
    """x as the nets see it: mean 0, variance 1."""
    return (np.asarray(x, dtype=float).reshape(-1, 1) - 0.5) * np.sqrt(12)


def _fit(config: Config, likelihood: str, rows: Any, seed: int) -> MLPRegressor:
    knobs = {"hidden": (config.hidden,), "epochs": config.epochs, "batch_size": 50, "random_state": seed}
    return MLPRegressor(likelihood=likelihood, **knobs).fit(_z(rows.x), rows.y)


def _inside(fit: MLPRegressor, rows: Any) -> np.ndarray:
    low, high = fit.predict_interval(_z(rows.x), level=0.95).T
    return (low <= rows.y) & (rows.y <= high)


def _refuses(fit: MLPRegressor, x: np.ndarray) -> bool:
    """Whether a fit has no interval to give."""
    try:
        fit.predict_interval(_z(x))
    except InputError:
        return True
    return False


def _network(fit: MLPRegressor) -> np.ndarray:
    """The output of the bare net in the units of y."""
    with torch.no_grad():
        raw = fit.module_(torch.tensor(_z(GRID), dtype=torch.float32))[:, 0].numpy()
    return raw * fit.y_scale_ + fit.y_mean_


def _single() -> Evidence:
    """-log p(2 | 1, f²) at f = ±½; of a fitted row at f = 1e-6; and the least that softplus with a floor can say."""
    one, two = torch.ones(1, 1), torch.full((1,), 2.0)
    nll = [float(Gaussian((f**2) ** 0.5).nll(one, two)) for f in (0.5, -0.5)]
    floor = HeteroscedasticGaussian().nll(torch.tensor([[1.0, -1e4]]), torch.ones(1))
    return {"single": np.array(nll), "squared": float(Gaussian(1e-6).nll(one, one[0])), "floor": float(floor)}


# ---- judging: a printed number holds where it lies within two standard deviations of ours


def judge(evidence: Evidence) -> list[Finding]:
    """C011: intervals hold 95 %. C036, C038, C039: the numbers of the worked example."""
    return [_coverage(evidence), _constant(evidence), _varying(evidence), _drawn(evidence)]


def _within(values: Any, printed: Any) -> tuple[bool, np.ndarray, np.ndarray]:
    """Whether every printed number is within two standard deviations; mean and standard deviation over seeds."""
    values = np.asarray(values)
    mean, sd = values.mean(0), values.std(0, ddof=1)
    return bool((np.abs(mean - printed) <= 2 * sd).all()), mean, sd


def _coverage(evidence: Evidence) -> Finding:
    share, right = evidence["inside"].mean(2), evidence["x"] > 2 / 3  # (S, 2), (S, n)
    mean, sd = share.mean(0), share.std(0, ddof=1)
    ends = [evidence["inside"][:, k][right].mean() for k in (0, 1)]
    good = 0.93 <= mean[1] <= 0.97
    verdict = "not reproduced" if not evidence["refuses"].all() else "confirmed" if good else "refuted"
    why = (
        f"The varying variance covers {mean[1]:.1%} of new rows; the point prediction refuses an interval: "
        f"{bool(evidence['refuses'].all())}. Where x > 2/3, one variance for all x covers {ends[0]:.1%} (overall "
        f"{mean[0]:.1%}), the varying one {ends[1]:.1%}: a fair share overall is no proof of the right noise."
    )
    return Finding("C011", "0.93 to 0.97", float(mean[1]), float(sd[1]), verdict, why)


def _constant(evidence: Evidence) -> Finding:
    pairs = np.stack([evidence["train_nll"][:, 0], evidence["sds"][:, 0, 0]], axis=1)
    holds, mean, sd = _within(pairs, [0.162, 0.284])
    same = np.allclose(evidence["network"], evidence["means"][:, 1], atol=1e-4)
    verdict = "confirmed" if holds and same else "refuted" if not same else "not reproduced"
    why = f"Train NLL and sd over {len(pairs)} data sets; the prediction is the network's output: {bool(same)}."
    return Finding("C036", [0.162, 0.284], mean.tolist(), sd.tolist(), verdict, why)


def _varying(evidence: Evidence) -> Finding:
    printed = np.array([0.091, 0.251, 0.403, -0.117, 0.132, -0.136])
    places = np.searchsorted(GRID, AT - 1e-9)
    nll = evidence["test_nll"]
    numbers = np.column_stack([evidence["sds"][:, 1][:, places], nll[:, 1], nll[:, 0], evidence["oracle"]])
    holds, mean, sd = _within(numbers, printed)
    tracks, _, _ = _within(numbers[:, :3], 0.05 + 0.4 * AT)
    better = float((nll[:, 1] < nll[:, 0]).mean())
    point = np.allclose(evidence["single"], 2.22579, atol=1e-4) and abs(evidence["squared"] + 12.9) < 0.01
    good = holds and tracks and point
    verdict = "refuted" if better < 0.9 else "corrected" if good else "not reproduced"
    why = (
        f"The learned sd tracks the truth: {tracks}; the test NLL is lower than with one variance in {better:.0%} of "
        f"data sets (oracle -0.105 in expectation). Corrected is σ² = f²: at f = 1e-6 a fitted row counts "
        f"{evidence['squared']:.1f} nats, without end below; softplus with a floor ends at {evidence['floor']:.1f}."
    )
    return Finding("C038", printed.tolist(), mean.tolist(), sd.tolist(), verdict, why)


def _drawn(evidence: Evidence) -> Finding:
    one, sds = evidence["sds"][:, 0], evidence["sds"][:, 1][:, np.searchsorted(GRID, AT - 1e-9)]
    printed = [0.284, 0.091, 0.251, 0.403]
    holds, mean, sd = _within(np.column_stack([one[:, 0], sds]), printed)
    flat = bool((np.ptp(one, axis=1) < 1e-6).all())
    verdict = "refuted" if not flat else "confirmed" if holds else "not reproduced"
    why = f"Drawn with ± 2 sd. The sd of the constant fit is the same at every x: {flat}. Both fits have one output y."
    return Finding("C039", printed, mean.tolist(), sd.tolist(), verdict, why)


def figures(evidence: Evidence) -> dict[str, Figure]:
    """The three fits of the first seed with their bands, beside the truth."""
    (point, constant, varying), (one, many) = evidence["means"][0], evidence["sds"][0]
    fits = {"point prediction: no band": (point, None), "one learned sd": (constant, one), "sd of x": (varying, many)}
    truth = np.sin(2 * np.pi * GRID), 0.05 + 0.4 * GRID
    return {"bands": plots.bands(tuple(evidence["rows"][0]), GRID, fits, truth, label="target y", title="Three fits")}
