"""Every figure of the guide: run `python docs/figures.py` to draw them anew, or with names to draw some.

Each function trains or computes what it shows; nothing is drawn from stored numbers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.pipeline import make_pipeline
from torch import Tensor, nn

import ftheta
from ftheta import explain, formulas, measure, models, optim, plots
from ftheta.data import Batch, TableEncoder, augmentation, load, make_dataset
from ftheta.draw import Draw
from ftheta.nn import ACTIVATIONS, MLP, UNet, activation
from ftheta.plots import GREY, PALETTE, legend, panel
from ftheta.results import svg

__all__ = ["FIGURES"]


@cache
def digits_model() -> tuple[ftheta.MLPClassifier, np.ndarray, np.ndarray]:
    """The classifier of the page on explanations, with its rows."""
    digits = load("digits")
    X, y = digits.x.to_numpy() / 16, digits.y
    model = ftheta.MLPClassifier(hidden=(64, 32), epochs=60, validation=0.2, patience=10, random_state=0)
    return model.fit(X, y), X, y


def curves() -> Figure:
    """Training and validation loss, the best epoch marked."""
    return explain.curves(digits_model()[0]).figure()


def summary() -> Figure:
    """Parameters by layer."""
    return explain.summary(digits_model()[0]).figure()


def activations() -> Figure:
    """What every layer gives."""
    model, X, _ = digits_model()
    return explain.activations(model, X).figure()


def gradient_flow() -> Figure:
    """A deep sigmoid net at its start: the gradient shrinks from the output to the input."""
    digits = load("digits")
    X, y = digits.x.to_numpy() / 16, digits.y
    with Draw(0).scope():
        net = MLP(64, 10, (32,) * 6, activation="sigmoid")
    found = explain.gradient_flow(net, X, y, loss=nn.CrossEntropyLoss(reduction="none"))
    return found.figure()


def schedules() -> Figure:
    """The factor of the learning rate over 200 updates, 20 of them warm-up."""
    figure, axes = panel(6.4, 3.6, title="Schedules", x="update", y="factor of the learning rate")
    steps = range(200)
    for i, name in enumerate(name for name in optim.SCHEDULES if name != "plateau"):
        style = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)))[i]
        axes.plot(
            steps, [optim.factor(name, s, 200, 20) for s in steps], ls=style, color=PALETTE[i], lw=1.8, label=name
        )
    legend(figure)
    return figure


def optimizers() -> Figure:
    """Forty updates of four rules in a valley that is twenty times as steep as it is long."""
    figure, axes = panel(6.4, 3.8, title="40 updates of four rules, with their learning rates", x="θ₁", y="θ₂")
    a, b = np.meshgrid(np.linspace(-4.5, 2.5, 141), np.linspace(-1.6, 1.6, 101))
    axes.contour(a, b, a**2 / 2 + 20 * b**2 / 2, levels=np.geomspace(0.1, 40, 12), colors="0.8", linewidths=0.8)
    for i, (name, rate) in enumerate([("gd", 0.08), ("momentum", 0.02), ("adagrad", 1.0), ("adam", 0.3)]):
        path = descend(name, rate)
        axes.plot(*path.T, color=PALETTE[i], marker="osD^"[i], ms=3, lw=1.2, label=f"{name} {rate:g}")
    axes.plot(0, 0, "*", color="black", ms=12)
    legend(figure)
    return figure


def descend(name: str, rate: float, steps: int = 40) -> np.ndarray:
    """Positions of θ under a rule: (steps + 1, 2)."""
    theta = torch.tensor([-4.0, 1.2], requires_grad=True)
    optimizer, path = optim.make(name, [theta], rate), [theta.detach().clone()]
    for _ in range(steps):
        optimizer.zero_grad()
        valley(theta).backward()
        optimizer.step()
        path.append(theta.detach().clone())
    return torch.stack(path).numpy()


def valley(theta: Tensor) -> Tensor:
    """(θ₁² + 20 θ₂²) / 2."""
    return theta[0] ** 2 / 2 + 10 * theta[1] ** 2


def catalogue() -> Figure:
    """Every activation with its derivative."""
    figure = Figure(figsize=(7.6, 7.0), dpi=120, layout="constrained")
    grid: list[Axes] = list(figure.subplots(4, 4, sharex=True).flat)
    z = torch.linspace(-4, 4, 401)
    for axes, name in zip(grid, ACTIVATIONS, strict=False):
        axes.plot(z, activation(name)(z), color=PALETTE[0], lw=1.8)
        axes.plot(z, ACTIVATIONS[name].slope(z), "--", color=PALETTE[1], lw=1.4)
        axes.set_title(name, size="medium")
        axes.grid(color="0.9", linewidth=0.8)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in grid[len(ACTIVATIONS) :]:
        axes.axis("off")
    grid[-1].plot([], [], color=PALETTE[0], lw=1.8, label="σ(z)")
    grid[-1].plot([], [], "--", color=PALETTE[1], lw=1.4, label="σ'(z)")
    grid[-1].legend(loc="center", frameon=False)
    figure.supxlabel("z", size="medium")
    return figure


def initialisers() -> Figure:
    """Standard deviation of the signal, layer by layer, in a ReLU net of 20 layers."""
    title = "Signal through 20 ReLU layers of 256 units"
    figure, axes = panel(6.4, 3.8, title=title, x="layer", y="std of h (log scale)")
    schemes = {"he": "he", "lecun": "lecun, here also glorot", "normal": "normal, σ = 0.01"}
    for i, (scheme, label) in enumerate(schemes.items()):
        with Draw(0).scope():
            net, h = MLP(256, 1, (256,) * 20, init=scheme), torch.randn(200, 256)
        found = explain.activations(net, h)
        std = [s for s, kind in zip(found.std, found.kinds, strict=True) if kind == "ReLU"]
        axes.plot(range(1, 21), std, color=PALETTE[i], marker="os^"[i], ms=5, lw=1.4, label=label)
    axes.set(yscale="log", ylim=(1e-7, 10), xticks=range(2, 21, 2))
    legend(figure)
    return figure


def noise() -> Figure:
    """A band that knows where the noise is: mean and 95 % interval of a heteroscedastic Gaussian."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, 400)
    y = np.sin(x) + (0.05 + 0.15 * (x + 3) / 2) * rng.normal(size=400)
    band = "gaussian-heteroscedastic"
    model = ftheta.MLPRegressor(hidden=(32,), activation="tanh", likelihood=band, epochs=300, random_state=0)
    model.fit(x[:, None], y)
    at = np.linspace(-3, 3, 200)
    low, high = model.predict_interval(at[:, None]).T
    figure, axes = panel(6.4, 3.8, title="Noise that depends on x", x="x", y="y")
    axes.plot(x, y, ".", color=GREY, ms=4, label="400 rows")
    axes.fill_between(at, low, high, color=PALETTE[5], alpha=0.35, lw=0, label="95 % interval")
    axes.plot(at, model.predict(at[:, None]), color=PALETTE[0], lw=2, label="prediction")
    axes.plot(at, np.sin(at), "--", color="black", lw=1.2, label="truth, sin x")
    legend(figure)
    return figure


def moons() -> Figure:
    """Probability of a class over the plane, with the line where it is one half."""
    from sklearn.datasets import make_moons

    X, y = make_moons(300, noise=0.2, random_state=0)
    model = ftheta.MLPClassifier(hidden=(32, 32), epochs=100, random_state=0).fit(X, y)
    a, b = np.meshgrid(np.linspace(-1.8, 2.8, 70), np.linspace(-1.3, 1.9, 50))
    p = model.predict_proba(np.c_[a.ravel(), b.ravel()])[:, 1].reshape(a.shape)
    figure, axes = panel(6.4, 4.0, title="Two moons, MLPClassifier(hidden=(32, 32))", x="x₁", y="x₂")
    filled = axes.contourf(a, b, p, levels=np.linspace(0, 1, 6), cmap="cividis", alpha=0.6)
    axes.contour(a, b, p, levels=[0.5], colors="black", linewidths=1.5)
    for k, marker in enumerate("o^"):
        axes.plot(*X[y == k].T, marker, color=PALETTE[k], mec="white", ms=6, label=f"class {k}")
    figure.colorbar(filled, label="probability of class 1")
    legend(figure)
    return figure


def linear() -> Figure:
    """Least squares with its residuals, and a logistic curve."""
    figure = Figure(figsize=(7.6, 3.4), dpi=120, layout="constrained")
    left, right = figure.subplots(1, 2)
    x, y = np.arange(4.0), np.array([1.0, 3, 2, 5])
    line = ftheta.LinearRegression().fit(x[:, None], y)
    at = np.linspace(-0.3, 3.3, 50)
    left.vlines(x, y, line.predict(x[:, None]), color=PALETTE[1], lw=2, label="residuals, Σ r² = 2.7")
    left.plot(at, line.predict(at[:, None]), color=PALETTE[0], lw=2, label="ŷ = 1.1 x + 1.1")
    left.plot(x, y, "o", color="black", label="rows")
    rng = np.random.default_rng(0)
    z = rng.normal(size=200)
    label = (rng.random(200) < 1 / (1 + np.exp(-3 * z))).astype(int)
    odds, at = ftheta.LogisticRegression().fit(z[:, None], label), np.linspace(-2.5, 2.5, 200)
    right.plot(at, odds.predict_proba(at[:, None])[:, 1], color=PALETTE[0], lw=2, label="LogisticRegression")
    right.plot(at, 1 / (1 + np.exp(-3 * at)), "--", color=GREY, lw=1.5, label="truth, σ(3x)")
    right.plot(z, label, "|", color="black", ms=8, alpha=0.5, label="200 rows")
    left.set(title="Least squares", xlabel="x", ylabel="y")
    right.set(title="Log-odds", xlabel="x", ylabel="probability of class 1")
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize="small", loc="upper left" if axes is left else "center left")
    return figure


def fit() -> Figure:
    """The plane through five patients."""
    patients = load("cholesterol")
    x, y = patients.x[::2], patients.y[::2]
    return explain.fitted_curve(ftheta.LinearRegression().fit(x, y), x, y).figure()


def diagnostics() -> Figure:
    """Residual plots of least squares on diabetes."""
    diabetes = load("diabetes")
    return ftheta.LinearRegression().fit(diabetes.x, diabetes.y).summary_.figure()


def drag() -> Figure:
    """A row far to the right is dragged."""
    x = np.append(np.linspace(0, 3, 9), 8.0)[:, None]
    y = 1 + x[:, 0] + 0.4 * np.random.default_rng(0).normal(size=10)
    return explain.row_influence(ftheta.LinearRegression().fit(x, y), x, y).figure()


def solvers() -> Figure:
    """Five solvers on the cholesterol fit."""
    patients = load("cholesterol")
    x, y = patients.x[::2], patients.y[::2]
    return explain.solvers(ftheta.LinearRegression().fit(x, y), x, y).figure()


def lasso() -> Figure:
    """The path of the lasso on diabetes, standardised."""
    diabetes = load("diabetes")
    x = (diabetes.x - diabetes.x.mean()) / diabetes.x.std()
    return models.lasso_path(x, diabetes.y).figure()


def terms() -> Figure:
    """Gaussians that moved to where a sine bends, each with its weight."""
    data = make_dataset("sinusoid", n=80)
    model = ftheta.BasisRegression(basis="gaussian", size=4, learn=True).fit(data.x, data.y)
    return model.terms(data.x, data.y).figure()


def densities() -> Figure:
    """Two classes along one feature."""
    data = make_dataset("two-gaussians", n=2000)
    return measure.densities(data.y, data.x["x1"], "gaussian", name="x1").figure()


def _validated() -> tuple[np.ndarray, np.ndarray]:
    """Labels of validation rows, and the probabilities of a model for them."""
    train, valid = (make_dataset("two-gaussians", n=2000, seed=s) for s in (0, 1))
    return valid.y, ftheta.LogisticRegression().fit(train.x, train.y).predict_proba(valid.x)


def threshold() -> Figure:
    """A threshold chosen by cost."""
    return measure.threshold(*_validated(), "cost", loss=[[0, 1], [5, 0]]).figure()


def cost() -> Figure:
    """The cost curve of the same model."""
    return measure.cost_curve(*_validated()).figure()


@cache
def progression() -> tuple[ftheta.LinearRegression, pd.DataFrame, np.ndarray]:
    """The model of the page on columns, with the rows of the data set."""
    diabetes = load("diabetes")
    return ftheta.LinearRegression().fit(diabetes.x[:300], diabetes.y[:300]), diabetes.x, diabetes.y


def importance() -> Figure:
    """Growth of the error, column by column; correlated ones together."""
    model, x, y = progression()
    return explain.importance(model, x[300:], y[300:], target="progression").figure()


def dependence() -> Figure:
    """How the prediction of a net follows two columns."""
    _, x, y = progression()
    net = ftheta.MLPRegressor(hidden=(32,), epochs=60, random_state=0)
    fitted = make_pipeline(TableEncoder(), net).fit(x[:300], y[:300])
    return explain.dependence(fitted, x[300:], columns=["s5", "bmi"], target="progression").figure()


def attribution() -> Figure:
    """Why one row has its prediction."""
    model, x, y = progression()
    how = {"background": x[:300], "target": "progression"}
    return explain.attribution(model, x[300:], y[300:], row=7, **how).figure()


def regions() -> Figure:
    """Which class wins where."""
    data = make_dataset("blobs", n=300)
    return explain.regions(ftheta.LogisticRegression().fit(data.x, data.y), data.x, data.y).figure()


def ellipses() -> Figure:
    """Two columns of iris as Gaussian classes."""
    iris = load("iris")
    x = iris.x.iloc[:, [0, 1]]
    return explain.densities(ftheta.QuadraticDiscriminant().fit(x, iris.y), x, iris.y).figure()


def forecasts() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels, true probabilities and those of a forecaster that is too sure, of the page on measuring."""
    moons = make_dataset("moons", n=1000, noise=0.35, seed=1)
    one = moons.truth.probability(moons.x)
    right = np.stack([1 - one, one], axis=1)
    return moons.y, right, right**3 / (right**3).sum(axis=1, keepdims=True)


def scores() -> Figure:
    """Every metric of the forecaster that is too sure, with its interval."""
    y, _, sure = forecasts()
    return measure.classification(y, sure).figure()


def roc() -> Figure:
    """All thresholds of the true probabilities."""
    y, right, _ = forecasts()
    return measure.roc(y, right).figure()


def reliability() -> Figure:
    """Confidence against accuracy of the forecaster that is too sure."""
    y, _, sure = forecasts()
    return measure.calibration(y, sure).figure()


@cache
def wine_trees() -> tuple[ftheta.TreeClassifier, ftheta.ForestClassifier, dict[str, object]]:
    """A tree and a forest of the page on trees, and the names of the wines."""
    wine = load("wine")
    X, y, known = wine.x.iloc[::2], np.asarray(wine.y)[::2], {"classes": wine.target_names, "target": "the wine"}
    tree = ftheta.TreeClassifier(random_state=0).fit(X, y)
    return tree, ftheta.ForestClassifier(n_estimators=200, random_state=0).fit(X, y), known


def tree() -> Figure:
    return explain.run("tree", wine_trees()[0], load("wine").x.iloc[1::2], **wine_trees()[2]).figure()


def votes() -> Figure:
    return explain.run("votes", wine_trees()[1], load("wine").x.iloc[71:], **wine_trees()[2]).figure()


def pruning() -> Figure:
    diabetes = load("diabetes")
    return explain.run("pruning", ftheta.TreeRegressor(random_state=0).fit(diabetes.x, diabetes.y)).figure()


def more_trees() -> Figure:
    rows = load("wine").x.iloc[1::2], np.asarray(load("wine").y)[1::2]
    return explain.run("more-trees", wine_trees()[1], *rows).figure()


def network() -> Figure:
    """A dense network from its widths, and what dropout leaves of it."""
    return explain.network([4, 6, 5, 3], dropped=0.4, random_state=2).figure()


def margins() -> Figure:
    """A soft margin between two clouds."""
    rng = np.random.default_rng(1)
    X, y = np.concatenate([rng.normal(size=(40, 2)) + 1, rng.normal(size=(40, 2)) - 1]), np.repeat(["up", "down"], 40)
    return explain.run("margins", ftheta.SVMClassifier(kernel="linear", C=0.5).fit(X, y), X, y).figure()


def tube() -> Figure:
    """A sine through noisy rows."""
    rng, x = np.random.default_rng(1), np.linspace(-3, 3, 80)[:, None]
    y = np.sin(x[:, 0]) + 0.15 * rng.normal(size=80)
    model = ftheta.SVMRegressor(C=10, sigma=1, epsilon=0.2).fit(x, y)
    return explain.run("tube", model, x, y, names=["x"]).figure()


def bands() -> Figure:
    """The figure of the study evidence/noise, of one seed."""
    from ftheta.studies.evidence import noise as study

    return study.bands(study.study.run(seeds=1))


def race() -> Figure:
    """Seven rules on Rosenbrock's function."""
    rules = [("gd", 0.002), ("momentum", 0.0005), ("adam", 0.05), "cg", "lbfgs", "newton", "lm"]
    return explain.trajectories("rosenbrock", rules, steps=200, tolerance=1e-8).figure()


def updates() -> Figure:
    """Three adaptive rules under a constant gradient."""
    return explain.updates(["adagrad", "rmsprop", "adadelta"], np.ones(100), lr=0.1).figure()


def rates() -> Figure:
    """A range test on the digits."""
    digits = load("digits")
    model = ftheta.MLPClassifier(hidden=(32,), random_state=0)
    return explain.learning_rate(model, digits.x.to_numpy() / 16, digits.y).figure()


def landscape() -> Figure:
    """The loss around the trained digits model."""
    return explain.landscape(*digits_model()).figure()


def implicit() -> Figure:
    """Descent, the flow of its loss, and the flow of the modified loss."""
    lr, start = 0.1, torch.tensor([2.0, 1.5], dtype=torch.double)
    loss = lambda theta: (theta[0] * theta[1] - 1) ** 2 / 2 + 0.1 * theta[0] ** 2  # noqa: E731
    changed, times, points = formulas.modified_gd(loss, lr), np.linspace(0, 1, 120).tolist(), [start]
    for _ in range(10):
        points.append(points[-1] - lr * torch.func.grad(loss)(points[-1]))
    a, b = torch.linspace(0.9, 2.1, 60, dtype=torch.double), torch.linspace(0.7, 1.6, 60, dtype=torch.double)
    surface = torch.vmap(changed)(torch.cartesian_prod(a, b)).reshape(60, 60).T
    paths = {
        "gradient descent": torch.stack(points).numpy(),
        "flow of L": formulas.gradient_flow(loss, start, times).numpy(),
        "flow of the modified loss": formulas.gradient_flow(changed, start, times).numpy(),
    }
    title = f"L + (α/4) ‖∇L‖², α = {lr:g}"
    ground = (a.numpy(), b.numpy(), surface.contiguous().numpy())
    return plots.contours(ground, paths, title=title, labels=("a", "b"), value="loss")


@cache
def images_model() -> tuple[ftheta.ConvNetClassifier, np.ndarray]:
    """A small convolutional network that reads digits, and the digits."""
    digits = load("digits")
    X = digits.x.to_numpy().reshape(-1, 1, 8, 8) / 16
    model = ftheta.ConvNetClassifier(filters=(8, 16), padding="same", epochs=60, batch_size=50, random_state=0)
    return model.fit(X[:1200], digits.y[:1200]), X


def convolve() -> Figure:
    """The example of the report: a 4x4 grid, the identity as kernel, stride 2."""
    grid = [[2, 5, 4, 1], [3, 1, 2, 0], [4, 5, 7, 1], [1, 2, 3, 4]]
    return explain.convolve(grid, np.eye(2), stride=2).figure()


def feature_maps() -> Figure:
    """One digit through the network."""
    model, X = images_model()
    return explain.feature_maps(model, X[1203:1204]).figure()


def saliency() -> Figure:
    """Which pixels decided for the wrong class."""
    model, X = images_model()
    return explain.saliency(model, X[1200:], load("digits").y[1200:]).figure()


def augmented() -> Figure:
    """Digits and copies of them."""
    digits = load("digits")
    x = torch.from_numpy(digits.x.to_numpy().reshape(-1, 1, 8, 8)[:6] / 16)
    batch = Batch(x, torch.tensor(digits.y[:6]))
    ways = {
        "shift": {"shift": 1},
        "rotate": {"rotate": 20},
        "scale and shear": {"scale": 0.2, "shear": 15},
        "mixup": "mixup",
    }
    copies = {name: augmentation(spec, n_classes=10)(batch, Draw(1)).x.numpy() for name, spec in ways.items()}
    images = np.stack([x.numpy(), *copies.values()], 1)  # (image, copy, channel, row, column)
    return plots.patches({", ".join(["original", *copies]): images}, [digits.y[:6]], x="copy", y="digit")


def segments() -> Figure:
    """Shapes, their pixels and what a U-Net makes of them."""
    shapes = load("shapes")
    X = shapes.x.reshape(-1, 32, 32)
    net = ftheta.UNetSegmenter(filters=(8, 16, 32), epochs=25, batch_size=16, lr=0.01, random_state=0)
    names = ("ground", "disc", "square", "triangle")
    return explain.segmentation(net.fit(X[:300], shapes.y[:300]), X[300:304], shapes.y[300:304], classes=names).figure()


def unet() -> Figure:
    """A U-Net from its module."""
    return explain.diagram(UNet((1, 64, 64), 2, (16, 32, 64, 128)), input_shape=(1, 64, 64)).figure()


@cache
def memory() -> ftheta.HopfieldNetwork:
    """The memory of digits of its page."""
    digits = load("digits")
    X = np.where(digits.x.to_numpy() > 8, 1, -1)
    return ftheta.HopfieldNetwork(keep="medoid", random_state=0).fit(X, digits.y)


def recalled() -> Figure:
    """Digits, what noise makes of them, and what is recalled."""
    return explain.recall(memory(), noise=(0.1, 0.2, 0.3), steps=(1, 10, 10)).figure()


def plane() -> ftheta.HopfieldNetwork:
    """The network of two units of the report."""
    return ftheta.HopfieldNetwork(rule="design", unit="saturated").fit([[1, 1], [-1, -1], [1, -1]])


def energy_surface() -> Figure:
    """The energy of two units, and the ways of states."""
    return explain.energy_surface(plane()).figure()


def basins() -> Figure:
    """Which state each start leads to."""
    return explain.basins(plane()).figure()


@cache
def machine() -> tuple[ftheta.RestrictedBoltzmannMachine, np.ndarray]:
    """The machine of its page, with the rows that it learned from."""
    X = (load("digits").x.to_numpy() >= 8).astype(float)
    made = ftheta.RestrictedBoltzmannMachine(n_hidden=64, epochs=60, lr=0.05, random_state=0)
    return made.fit(X[:1500]), X[:1500]


def samples() -> Figure:
    """New digits, and the training rows that are nearest."""
    return explain.samples(*machine(), n=30).figure()


def chains() -> Figure:
    """Chains that start at digits."""
    return explain.chains(*machine()).figure()


def filled_in() -> Figure:
    """Rows of digits that were removed, filled in."""
    made, _ = machine()
    return explain.fill_in(made, (load("digits").x.to_numpy()[1500:] >= 8).astype(float)).figure()


def backprop() -> Figure:
    """The worked example of its page, with its numbers on the network."""
    module, x, y, loss = explain.worked_example("linear")
    return explain.backprop(module, x, y, loss).figure()


def gradient_history() -> Figure:
    """A deep network of sigmoids, whose gradient vanishes on its way to the first layers."""
    torch.manual_seed(0)
    parts = [part for _ in range(6) for part in (torch.nn.Linear(16, 16), torch.nn.Sigmoid())]
    x = torch.randn(256, 16)
    loss = lambda raw, y: (raw[:, 0] - y) ** 2  # noqa: E731
    found = explain.gradient_history(torch.nn.Sequential(*parts, torch.nn.Linear(16, 1)), x, x[:, 0], loss=loss, lr=0.1)
    return found.figure()


def tagged() -> Figure:
    """A sequence of the page on sequences: the sum of its first column, and what two taggers say at every step."""
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(rng.integers(5, 30), 2)) for _ in range(300)]
    y = [np.where(x[:, 0].cumsum() > 0, "above", "below") for x in X]
    changes = [(labels[1:] != labels[:-1]).sum() for labels in y]
    i = 200 + int(np.argmax(changes[200:]))
    how = {"hidden": 16, "epochs": 30, "lr": 0.01, "random_state": 0}
    figure, axes = panel(6.4, 3.8, title="A class for each step", x="step", y="probability of “above”")
    steps = np.arange(1, len(X[i]) + 1)
    for color, cls in zip(PALETTE[1:], (ftheta.GRUTagger, ftheta.RNNTagger), strict=False):
        p = cls(**how).fit(X[:200], y[:200]).predict_proba([X[i]])[0][:, 0]
        axes.plot(steps, p, "o-", ms=4, color=color, label=cls.__name__)
    axes.axhline(0.5, color=GREY, lw=0.8)
    sums = axes.twinx()
    sums.bar(steps, X[i][:, 0].cumsum(), color=PALETTE[0], alpha=0.3, width=0.8)
    sums.set_ylabel("sum of the first column so far (bars)")
    sums.set_ylim(-np.abs(sums.get_ylim()).max(), np.abs(sums.get_ylim()).max())
    legend(figure)
    return figure


@cache
def first_step(steps: int = 30) -> tuple[np.ndarray, np.ndarray]:
    """Sequences of noise whose class is the sign of their first step."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = rng.normal(scale=0.3, size=(400, 30, 1))
    X[:, 0, 0] += np.where(y == 1, 1.5, -1.5)
    return X[:, :steps], y


@cache
def remembering() -> tuple[ftheta.LSTMClassifier, np.ndarray]:
    """The LSTM of the page on recurrent cells, and rows that it has not seen."""
    X, y = first_step()
    return ftheta.LSTMClassifier(hidden=8, epochs=30, lr=0.01, random_state=0).fit(X[:300], y[:300]), X[300:]


def unrolled() -> Figure:
    """Steps share their weights."""
    return explain.unrolled(*remembering(), steps=6).figure()


def lstm_cell() -> Figure:
    """The step that is remembered."""
    return explain.cell(*remembering(), step=1).figure()


def gates() -> Figure:
    """What is written, kept and shown."""
    return explain.gates(*remembering()).figure()


def reach() -> Figure:
    """How far back the gradient reaches."""
    return explain.memory(*remembering()).figure()


def phase() -> Figure:
    """Two states that attract, one for each class."""
    X, y = first_step(8)
    net = ftheta.RNNClassifier(hidden=2, epochs=60, lr=0.01, random_state=3).fit(X[:300], y[:300])
    return explain.phase(net, X[300:], x=[0.0]).figure()


def forecast() -> Figure:
    """The sales of the page on forecasting: the last four years, each from its first month."""
    t, noise = np.arange(132), np.random.default_rng(0).normal(size=132)
    y = (80 + t) * (1 + 0.2 * np.sin(np.pi * t / 6)) * np.exp(0.04 * noise)
    sales = pd.Series(y, pd.date_range("2014-01-01", periods=132, freq="MS"))
    found = ftheta.ETSForecaster(horizon=12).backtest(sales, origins=4)
    return replace(found, name="sales", time=np.arange(1, 49)).figure()


FIGURES: dict[str, Callable[[], Figure]] = {
    "activations": activations,
    "attribution": attribution,
    "augmented": augmented,
    "backprop": backprop,
    "bands": bands,
    "margins": margins,
    "tube": tube,
    "basins": basins,
    "catalogue": catalogue,
    "chains": chains,
    "convolve": convolve,
    "cost": cost,
    "curves": curves,
    "densities": densities,
    "dependence": dependence,
    "diagnostics": diagnostics,
    "drag": drag,
    "ellipses": ellipses,
    "energy-surface": energy_surface,
    "feature-maps": feature_maps,
    "filled-in": filled_in,
    "fit": fit,
    "forecast": forecast,
    "gates": gates,
    "gradient-history": gradient_history,
    "gradient-flow": gradient_flow,
    "implicit": implicit,
    "importance": importance,
    "initialisers": initialisers,
    "landscape": landscape,
    "lasso": lasso,
    "linear": linear,
    "lstm-cell": lstm_cell,
    "moons": moons,
    "more-trees": more_trees,
    "network": network,
    "noise": noise,
    "optimizers": optimizers,
    "phase": phase,
    "pruning": pruning,
    "race": race,
    "rates": rates,
    "reach": reach,
    "recalled": recalled,
    "regions": regions,
    "reliability": reliability,
    "roc": roc,
    "saliency": saliency,
    "samples": samples,
    "schedules": schedules,
    "scores": scores,
    "segments": segments,
    "solvers": solvers,
    "summary": summary,
    "terms": terms,
    "threshold": threshold,
    "tree": tree,
    "tagged": tagged,
    "unet": unet,
    "unrolled": unrolled,
    "updates": updates,
    "votes": votes,
}
"""Each figure by its name: docs/figures/NAME.svg."""


if __name__ == "__main__":
    torch.set_num_threads(1)
    for name in sys.argv[1:] or FIGURES:
        path = Path(__file__).parent / "figures" / f"{name}.svg"
        path.write_text(svg(FIGURES[name]()), encoding="utf-8")
