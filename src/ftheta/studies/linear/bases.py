"""What does each class of functions make of the same sine, and where do functions go that may move?

Question 1: 50 points of sin πx on [-1, 1], without noise: how close do a line, basis functions that are solved in
closed form, and networks that are trained come? (Networks: tanh units, Levenberg-Marquardt, float64.)
Question 2: is a linear perceptron enough for one period of sin x?

    best line: R² = 6/π²,      mean squared error ½ (1 - 6/π²)

Question 3: two narrow peaks, a rise and noise, 8 functions: do centres that may move go to the peaks, and is the loss
then below that of fixed ones?

Cost: about 20 CPU-seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import plots
from ...draw import Draw
from ...models import BasisRegression, LinearRegression, MLPRegressor
from ...results import Table
from .._study import Evidence, Finding, give, pieces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...store import Run

__all__ = ["CLAIMS", "TINY", "Config", "figures", "judge", "measure", "tables"]

CLAIMS = {"C016": "confirmed", "B005": "confirmed", "C051": "confirmed"}
PRINTED = {"polynomial of degree 5": 0.00477, "sinusoids, k ≤ 3": 2e-16, "6 Gaussians": 0.0143, "6 hinges": 0.0315}
SOLVED: dict[str, Any] = {
    "line": LinearRegression(),
    "polynomial of degree 5": BasisRegression(degree=5),
    "sinusoids, k ≤ 3": BasisRegression(basis="fourier", size=3),
    "6 Gaussians": BasisRegression(basis="gaussian", size=6, widths=0.4),
    "6 hinges": BasisRegression(basis="relu", size=6),
}
NETS = {"shallow network, 6": (6,), "deep network, 6-6": (6, 6)}
NAMES = (*SOLVED, *NETS)
SHAPES = ("gaussian", "sigmoid", "tanh", "relu")
PEAKS, NEAR = (0.3, 0.5), 0.3  # where the structure is, and how far from its middle counts as near
GRID = np.linspace(-1, 1, 201)[:, None]
PERIOD = (np.arange(2000)[:, None] + 0.5) * np.pi / 1000  # middles of equal parts


@dataclass(frozen=True)
class Config:
    """Settings.

    Args:
        epochs: Passes of the networks over their rows.
        functions: How many may move.
        noise: Standard deviation beside the two peaks.
        seeds: Starts of the networks, and draws of noise.
    """

    epochs: int = 200
    functions: int = 8
    noise: float = 0.05
    seeds: int = 5


TINY = Config(epochs=3, functions=3, seeds=2)


def measure(config: Config, run: Run | None = None) -> Evidence:
    """Errors (S, 7), curves (S, 7, 201); R² and squared errors of one period; centres and losses by shape."""
    found = pieces(_seed, [(config, seed) for seed in range(config.seeds)], run)
    return {key: np.array([one[key] for one in found]) for key in found[0]}


def _net(hidden: tuple[int, ...], config: Config, seed: int) -> MLPRegressor:
    return MLPRegressor(
        hidden=hidden, activation="tanh", optimizer="lm", epochs=config.epochs, dtype="float64", random_state=seed
    )


def _seed(config: Config, seed: int) -> Evidence:
    x = np.linspace(-1, 1, 50)[:, None]
    y = np.sin(np.pi * x[:, 0])
    models = [*SOLVED.values(), *(_net(hidden, config, seed) for hidden in NETS.values())]
    models = [model.fit(x, y) for model in models]
    period = [model.fit(PERIOD, np.sin(PERIOD[:, 0])) for model in (_net((), config, seed), _net((6,), config, seed))]
    answers = np.stack([model.predict(PERIOD) for model in period])  # (2, 2000)
    return {
        "rmse": np.array([np.sqrt(np.mean((model.predict(x) - y) ** 2)) for model in models]),
        "curves": np.stack([model.predict(GRID) for model in models]),
        "period": answers,
        "mse": np.mean((answers - np.sin(PERIOD[:, 0])) ** 2, axis=1),
        "r2": np.array([model.score(PERIOD, np.sin(PERIOD[:, 0])) for model in period]),
        **_moved(config, seed),
    }


def _peaks(x: np.ndarray) -> np.ndarray:
    up, down = (np.exp(-(((x - at) / 0.06) ** 2) / 2) for at in PEAKS)
    return 0.3 * x + up - down


def _moved(config: Config, seed: int) -> Evidence:
    """Centres before and after (4, 2, M), mean squared errors of fixed and moving functions (4, 2), by shape."""
    x = np.linspace(-1, 1, 200)[:, None]
    noise = np.random.default_rng(Draw(seed).at("peaks").generator().initial_seed()).normal(size=200)
    y = _peaks(x[:, 0]) + config.noise * noise
    centres, losses, fits = [], [], []
    for shape in SHAPES:
        pair = [BasisRegression(basis=shape, size=config.functions, learn=learn).fit(x, y) for learn in (False, True)]
        centres.append([np.sort(model.centres_[0]) for model in pair])
        losses.append([np.mean((model.predict(x) - y) ** 2) for model in pair])
        fits.append([model.predict(GRID) for model in pair])
    return {"centres": np.array(centres), "losses": np.array(losses), "fits": np.array(fits)}


def judge(evidence: Evidence) -> list[Finding]:
    """C016: the printed errors. B005: 6/π². C051: centres go where the structure is."""
    return [_classes(evidence), _perceptron(evidence), _centres(evidence)]


def _classes(evidence: Evidence) -> Finding:
    errors = dict(zip(NAMES, evidence["rmse"].mean(0).tolist(), strict=True))
    same = [
        errors[name] < 1e-14 if value < 1e-14 else abs(errors[name] / value - 1) < 0.01
        for name, value in PRINTED.items()
    ]
    spread = evidence["rmse"].std(0, ddof=1)[[NAMES.index(name) for name in NETS]]
    nets = "; ".join(f"{name}: {errors[name]:.2g} ± {s:.1g}" for name, s in zip(NETS, spread, strict=True))
    why = (
        "Gaussians are at even centres from -1 to 1, hinges at -1 + k/3, k = 0 ... 5, beside a constant: so placed "
        f"they give the printed numbers. A line: {errors['line']:.3g}; trained networks: {nets}."
    )
    measured = [errors[name] for name in PRINTED]
    return Finding("C016", list(PRINTED.values()), measured, None, "confirmed" if all(same) else "refuted", why)


def _perceptron(evidence: Evidence) -> Finding:
    r2, mse = evidence["r2"], evidence["mse"]  # (S, 2)
    share = 6 / np.pi**2
    best = np.abs(r2[:, 0] - share).max() < 1e-4 and np.abs(mse[:, 0] - (1 - share) / 2).max() < 1e-4
    better = (mse[:, 1] < mse[:, 0] / 100).mean()
    verdict = "refuted" if not best else "confirmed" if better >= 0.75 else "not reproduced"
    why = (
        f"The linear perceptron ends at R² {give(r2[:, 0], '.4f')} and mean squared error {give(mse[:, 0], '.5f')}, "
        f"those of the best line; 6 tanh units reach R² {give(r2[:, 1], '.6f')} and {np.median(mse[:, 1]):.2g}."
    )
    measured, spread = ([float(f(v)) for v in (r2[:, 0], mse[:, 0])] for f in (np.mean, np.std))
    return Finding("B005", [0.6079, 0.19604], measured, spread, verdict, why)


def _near(evidence: Evidence) -> np.ndarray:
    """How many centres are near the structure, before and after: (S, 4, 2)."""
    return (np.abs(evidence["centres"] - np.mean(PEAKS)) < NEAR).sum(-1)


def _centres(evidence: Evidence) -> Finding:
    losses, near = evidence["losses"], _near(evidence)
    lower = bool((losses[..., 1] < losses[..., 0]).all())
    gained = (near[..., 1] - near[..., 0]).mean(0)  # (4,)
    verdict = "confirmed" if lower and (gained > 0).all() else "not reproduced" if lower else "refuted"
    said = "; ".join(
        f"{shape}: loss {losses[:, k, 0].mean():.3g} fixed, {losses[:, k, 1].mean():.2g} moved, centres within {NEAR} "
        f"of the peaks {near[:, k, 0].mean():.3g} before, {near[:, k, 1].mean():.3g} after"
        for k, shape in enumerate(SHAPES)
    )
    printed = "centres move to the structure, and the loss is below that of fixed ones"
    return Finding("C051", printed, gained.tolist(), None, verdict, f"Means over seeds. {said}.")


def tables(evidence: Evidence) -> dict[str, Table]:
    """Errors by class of functions, and centres before and after in the first draw."""
    spread = evidence["rmse"].std(0, ddof=1).tolist()
    classes = {
        "class": list(NAMES),
        "RMSE": evidence["rmse"].mean(0).tolist(),
        "sd over starts": [s if name in NETS else None for name, s in zip(NAMES, spread, strict=True)],
        "printed": [PRINTED.get(name) for name in NAMES],
    }
    places, losses = evidence["centres"][0], evidence["losses"][0]
    rows = [(k, after) for k in range(len(SHAPES)) for after in (0, 1)]
    centres = {
        "functions": [f"{SHAPES[k]}, {'after' if after else 'before'}" for k, after in rows],
        "centres": [", ".join(f"{c:.2f}" for c in places[k, after]) for k, after in rows],
        "mean squared error": [float(losses[k, after]) for k, after in rows],
    }
    return {"classes": Table(classes, "50 points of sin πx"), "centres": Table(centres, "Two peaks, the first draw")}


def figures(evidence: Evidence) -> dict[str, Figure]:
    """Fits side by side; the line and a network on one period; fixed and moved functions on two peaks."""
    at, curves = GRID[:, 0], evidence["curves"][0]
    truth = {"sin πx": (at, np.sin(np.pi * at))}
    fits = {name: truth | {"fit": (at, curves[k])} for k, name in enumerate(NAMES)}
    first, rest = dict(list(fits.items())[:4]), dict(list(fits.items())[4:])
    x = PERIOD[::20, 0]
    period = {"sin x": (x, np.sin(x))} | {
        name: (x, line[::20])
        for name, line in zip(("linear perceptron", "6 tanh units"), evidence["period"][0], strict=True)
    }
    moved = {
        shape: {
            "two peaks": (at, _peaks(at)),
            "fixed centres": (at, evidence["fits"][0, k, 0]),
            "moved centres": (at, evidence["fits"][0, k, 1]),
            "where they went": (evidence["centres"][0, k, 1], np.full(evidence["centres"].shape[-1], -1.4)),
        }
        for k, shape in enumerate(SHAPES)
    }
    return {
        "classes": plots.panels(first, x="x", label="y"),
        "classes-more": plots.panels(rest, x="x", label="y"),
        "period": plots.panels({"One period of a sine": period}, x="x", label="y"),
        "centres": plots.panels(moved, x="x", label="y"),
    }
