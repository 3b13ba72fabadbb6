"""Pictures that the sources show or ask for, drawn from computed data: one short function per row of the ledger.

ftheta study gallery                 which there are
ftheta study gallery --set row=A197  draw one
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.func import grad

from .. import explain
from ..data import holdout, load
from ..draw import Draw
from ..formulas import SURFACES
from ..models import ForestClassifier, LinearRegression, LogisticRegression, MLPClassifier, SVMClassifier
from ..nn import RememberingPool, Unpool, pooling, upsampling
from ..plots import PALETTE, Figure, canvas, drawn, legend

PICTURES: dict[str, tuple[str, Callable[[], Figure]]] = {}  # row -> title, function


def picture(row: str, title: str) -> Callable[[Callable[[], Figure]], Callable[[], Figure]]:
    """Enter the picture of a row; its title is written above it."""

    def enter(draw: Callable[[], Figure]) -> Callable[[], Figure]:
        def titled() -> Figure:
            figure = draw()
            figure.suptitle(title)
            if not figure.legends:
                legend(figure)
            return figure

        PICTURES[row] = (title, drawn(titled))
        return PICTURES[row][1]

    return enter


def _classes(axes: Any, at: np.ndarray, code: np.ndarray, names: list[str]) -> None:
    for k, name in enumerate(names):
        axes.scatter(*at[code == k].T, s=12, color=PALETTE[k], marker="osD"[k], label=name, linewidths=0)


@picture("A197", "The largest coordinate on the triangle x + y + z = 1")
def simplex() -> Figure:
    p = np.random.default_rng(0).dirichlet(np.ones(3), 4000)  # uniform on the triangle
    figure, axes = canvas(width=6, height=5.6, subplot_kw={"projection": "3d", "computed_zorder": False})
    _classes(axes, p, p.argmax(1), [f"largest: {name}" for name in "xyz"])
    for k, border in enumerate(("y = z", "x = z", "x = y")):
        middle = (1 - np.eye(3)[k]) / 2
        axes.plot(*np.stack([np.full(3, 1 / 3), middle]).T, "k-", zorder=5)
        axes.text(*(1.35 * middle), border, ha="center", zorder=6)
    axes.set(xlabel="x", ylabel="y", zlabel="z")
    axes.view_init(28, 45)
    return figure


@picture("A087", "A random forest: the path of one sample in four of its trees, and the votes of all")
def forest() -> Figure:
    wine = load("wine")
    model = ForestClassifier(n_estimators=50, max_depth=4, random_state=0).fit(wine.x, np.asarray(wine.y))
    return explain.run("votes", model, wine.x[70:71], classes=wine.target_names).figure()


@picture("C042", "Score, probability, class")
def links() -> Figure:
    x, grid = np.random.default_rng(0).uniform(-3, 3, 300), np.linspace(-3, 3, 301)
    noisy = x + 0.4 * np.random.default_rng(1).standard_normal(300)
    figure, axes = canvas(6, across=2, sharex=True, width=4.2, height=2.2)
    for column, (title, y) in enumerate({"sigmoid": noisy > 0, "softmax": np.digitize(noisy, [-1, 1])}.items()):
        net = MLPClassifier(hidden=(16,), activation="tanh", epochs=100, random_state=0).fit(x[:, None], y.astype(int))
        parts = net.decision_function(grid[:, None]), net.predict_proba(grid[:, None]), net.predict(grid[:, None])
        for place, values, label in zip(axes[column::2], parts, ("score", "probability", "class"), strict=True):
            place.plot(grid, values)
            place.set(ylabel=label, title=title if label == "score" else "")
        axes[column + 4].set(xlabel="input x", yticks=np.unique(y.astype(int)))
    return figure


def disc(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points of the disc of radius 2, the lift max(0, 1 - r²), and whether r < 1: (n, 2), (n,), (n,)."""
    rng = np.random.default_rng(Draw(seed).at("disc").key())
    r, angle = 2 * np.sqrt(rng.random(n)), rng.uniform(0, 2 * np.pi, n)
    at = r[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return at, np.maximum(0, 1 - (at**2).sum(1)), (r < 1).astype(int)


def crossed(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points of a square, the lift -x₁ x₂, and whether the signs differ: (n, 2), (n,), (n,)."""
    at = np.random.default_rng(Draw(seed).at("xor").key()).uniform(-1, 1, (n, 2))
    return at, -at.prod(1), (at.prod(1) < 0).astype(int)


@picture("A278", "No line separates them; the plane z = 0 does")
def lifted() -> Figure:
    from matplotlib.figure import Figure

    figure, names = Figure(figsize=(9.2, 8.4)), ["outside, or equal signs", "inside, or different signs"]
    for i, (title, (at, z, y)) in enumerate({"disc in a ring": disc(600), "XOR": crossed(600)}.items()):
        flat: Any = figure.add_subplot(2, 2, i + 1)
        _classes(flat, at, y, names)
        flat.set(title=f"{title}: flat", xlabel="x1", ylabel="x2", aspect="equal")
        space: Any = figure.add_subplot(2, 2, i + 3, projection="3d")
        _classes(space, np.column_stack([at, z]), y, names)
        u, v = np.meshgrid(*(np.array([column.min(), column.max()]) for column in at.T))
        space.plot_surface(u, v, np.zeros_like(u), color="0.6", alpha=0.35)
        space.set(title=f"{title}: lifted", xlabel="x1", ylabel="x2", zlabel="z")
        space.view_init(18, -60)
    return figure


def parts(n: int = 600) -> dict[str, np.ndarray]:
    """Rows of a data set, its training set, the two parts of that, and its test set."""
    train, test = holdout(n, 0.3, Draw(0).at("test"))
    learn, valid = (train[part] for part in holdout(len(train), 0.2, Draw(0).at("validation")))
    return {
        "all data": np.arange(n),
        "training set": train,
        "its training part": learn,
        "its validation part": valid,
        "test set": test,
    }


@picture("B043", "Parts of a data set")
def panels() -> Figure:
    at = np.random.default_rng(0).uniform(-1, 1, (600, 2))
    z = np.sin(np.pi * at[:, 0]) * np.cos(np.pi * at[:, 1])
    figure, axes = canvas(5, across=5, width=2.3, height=2.9, sharex=True, sharey=True)
    for place, (title, rows) in zip(axes, parts().items(), strict=True):
        place.scatter(*at[rows].T, c=z[rows], s=9, vmin=-1, vmax=1)
        place.set(title=f"{title}\nn = {len(rows)}", xlabel="x1", aspect="equal")
    axes[0].set_ylabel("x2")
    figure.colorbar(axes[-1].collections[0], ax=list(axes), label="z = sin(πx₁) cos(πx₂)", shrink=0.8)
    return figure


@picture("A039", "A line goes on where the data end: winning times over 100 m")
def sprint() -> Figure:
    data = load("sprint")
    women = data.x["women"].to_numpy() == 1
    figure, axes = canvas(width=7.6, height=4.6)
    for k, (name, rows) in enumerate({"men": ~women, "women": women}.items()):
        year, seconds = data.x["year"].to_numpy()[rows], np.asarray(data.y)[rows]
        line = LinearRegression().fit(year[:, None], seconds)
        ends = np.array([year.min(), -line.intercept_ / line.coef_[0]])
        axes.plot(year, seconds, "os"[k], color=PALETTE[k], ms=4, label=name)
        axes.plot(ends, line.predict(ends[:, None]), "--", color=PALETTE[k])
    axes.axvline(2156, color="0.5", ls=":", label="2156")
    axes.set(xlabel="year", ylabel="winning time (s)")
    return figure


def clouds(distance: float, n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Two round Gaussian classes about ±distance (1, 1), as the ledger draws them: (2n, 2), (2n,)."""
    rng = np.random.default_rng(1)
    at = np.concatenate([rng.normal(size=(n, 2)) + distance, rng.normal(size=(n, 2)) - distance])
    return at, np.repeat([1, 0], n)


@picture("A058", "A hard margin: the nearest rows hold the line")
def hard_margin() -> Figure:
    at, y = clouds(2.5)
    return _with_margins(SVMClassifier(kernel="linear", C=np.inf), at, y)


@picture("A064", "A soft margin: some rows are within it, some on the wrong side")
def soft_margin() -> Figure:
    at, y = clouds(1.0)
    return _with_margins(SVMClassifier(kernel="linear", C=0.5), at, y)


def _with_margins(machine: SVMClassifier, at: np.ndarray, y: np.ndarray) -> Figure:
    """Its margins; the picture has a title and a legend of its own."""
    figure = explain.run("margins", machine.fit(at, y), at, y).figure()
    figure.legends[0].remove()
    figure.axes[0].set_title("")
    return figure


@picture("A066", "Not separable in the plane, separable after a map")
def mapped() -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.2, 4.6))
    at, _, y = disc(400)
    image = np.column_stack([at, (at**2).sum(1)])
    machine = SVMClassifier(kernel="linear", C=np.inf).fit(image, y)
    (w,), (b,) = machine.coef_, machine.intercept_
    flat: Any = figure.add_subplot(1, 2, 1)
    _classes(flat, at, y, ["ring", "disc"])
    u, v = np.meshgrid(*(np.linspace(-2, 2, 121),) * 2)
    flat.contour(u, v, u * w[0] + v * w[1] + (u**2 + v**2) * w[2] + b, levels=[0.0], colors="black")
    flat.set(xlabel="x", ylabel="y", aspect="equal")
    space: Any = figure.add_subplot(1, 2, 2, projection="3d")
    _classes(space, image, y, ["ring", "disc"])
    space.plot_surface(u, v, -(u * w[0] + v * w[1] + b) / w[2], color="0.6", alpha=0.35)
    space.set(xlabel="x", ylabel="y", zlabel="x² + y²")
    space.view_init(12, -60)
    return figure


@picture("A061", "A larger weight of the violations makes the margin narrower")
def weights_of_violations() -> Figure:
    (at, y), c = clouds(1.0), np.geomspace(0.005, 50, 13)
    found = [SVMClassifier(kernel="linear", C=value).fit(at, y).optimality_ for value in c]
    figure, axes = canvas(2, across=2, width=4.4, height=3.4)
    axes[0].semilogx(c, [1 / one["norm"][0] for one in found], color=PALETTE[0])
    axes[0].set(xlabel="C", ylabel="margin 1 / ‖w‖")
    axes[1].semilogx(c, [one["slack"][0] for one in found], color=PALETTE[1])
    axes[1].set(xlabel="C", ylabel="sum of the slacks")
    return figure


@picture("A079", "Rows far away move the logistic line, not that of the margin")
def two_lines() -> Figure:
    at, y = clouds(2.5)
    machine = SVMClassifier(kernel="linear", C=1.0)
    near = machine.fit(at, y).decision_function(at) * (2 * y - 1) < 1.5
    models = {"margin": machine, "logistic": LogisticRegression()}
    figure, axes = canvas(width=6.4, height=5.2)
    _classes(axes, at, y, ["class 0", "class 1"])
    axes.scatter(*at[near].T, s=60, facecolors="none", edgecolors="black", label="kept")
    ends = np.array([-4.0, 4.0])
    for k, (name, model) in enumerate(models.items()):
        for style, rows, which in (("-", near | True, "all rows"), ("--", near, "rows near the margin")):
            (w,), (b,) = (fitted := model.fit(at[rows], y[rows])).coef_, fitted.intercept_
            axes.plot(ends, -(w[0] * ends + b) / w[1], style, color=PALETTE[k + 2], label=f"{name}, {which}")
    axes.set(xlabel="x1", ylabel="x2", xlim=(-5, 5.5), ylim=(-5, 5.5))
    return figure


@picture("C225", "An embedding: the product with one-hot vectors selects the columns of the tokens")
def embedding() -> Figure:
    words = "the cat sat on the mat".split()
    names, tokens = np.unique(words, return_inverse=True)
    table, hot = np.random.default_rng(0).normal(size=(4, len(names))), np.eye(len(names))[:, tokens]
    figure, grid = canvas(3, width=4.0, height=3.2)
    shown = {"A, a column for each token": table, "one-hot vectors E": hot, "A E": table @ hot}
    for axes, (title, matrix) in zip(grid, shown.items(), strict=True):
        axes.imshow(matrix, cmap="RdBu_r", vmin=-3, vmax=3)
        labels = names if matrix is table else words
        axes.set(title=title, xlabel="token", xticks=range(len(labels)), xticklabels=labels)
        axes.set(ylabel="token" if matrix is hot else "dimension of the vector", yticks=range(len(matrix)))
        axes.grid(visible=False)
    grid[1].set_yticklabels(names)
    return figure


def _digit() -> torch.Tensor:
    """A picture of a five: (1, 1, 8, 8)."""
    return torch.tensor(np.asarray(load("digits").x)[5] / 16).float().reshape(1, 1, 8, 8)


def _side_by_side(shown: dict[str, torch.Tensor]) -> Figure:
    figure, grid = canvas(len(shown), across=5, width=2.4, height=2.6)
    for axes, (title, image) in zip(grid, shown.items(), strict=True):
        axes.imshow(image[0, 0].detach().numpy(), cmap="gray", vmin=0, vmax=1)
        axes.set(title=title, ylabel=f"{image.shape[2]} x {image.shape[3]} pixels", xticks=[], yticks=[])
    return figure


@picture("C195", "Half as large: every second place, the largest or the mean of each block")
def smaller() -> Figure:
    kinds = {"every second": "stride", "largest": "max", "mean": "mean"}
    return _side_by_side({"image": _digit()} | {name: pooling(kind, 2)(_digit()) for name, kind in kinds.items()})


@picture("C200", "Twice as large: each value repeated, put back, interpolated, or as high as its kernel")
def larger() -> Figure:
    pool, added = RememberingPool(2), upsampling("transposed", 1, 1)
    added.load_state_dict({"weight": torch.tensor([[[[1.0, 0.5], [0.5, 0.25]]]]), "bias": torch.zeros(1)})
    small = pool(_digit())
    ways = {"nearest": upsampling("nearest", 1, 1), "unpooled": Unpool(pool), "bilinear": upsampling("bilinear", 1, 1)}
    return _side_by_side({"image": small} | {name: way(small) for name, way in (ways | {"transposed": added}).items()})


@picture("C099", "A step of Nesterov's momentum")
def look_ahead() -> Figure:
    surface, begin = SURFACES["ravine"], torch.tensor([-1.0, -1.6])
    slope = grad(surface.f)
    start, jump = begin - 0.03 * slope(begin), -0.8 * 0.03 * slope(begin)  # after a first step from rest
    v = jump - 0.03 * slope(start + jump)
    figure, axes = canvas(width=6.4, height=5.6)
    x, y = torch.meshgrid(torch.linspace(-1.5, -1, 81), torch.linspace(-1.5, -1, 81), indexing="xy")
    axes.contour(x.numpy(), y.numpy(), surface.f(torch.stack([x, y], -1)).numpy(), 20, colors="0.8")
    arrows = {"momentum, μ v": (start, jump), "gradient there, -η ∇f": (start + jump, v - jump), "step, v": (start, v)}
    for k, (label, (tail, arrow)) in enumerate(arrows.items()):
        axes.quiver(
            *tail.tolist(), *arrow.tolist(), angles="xy", scale_units="xy", scale=1, color=PALETTE[k], label=label
        )
    axes.set(xlabel="x", ylabel="y", aspect="equal", xlim=(-1.5, -1.0), ylim=(-1.45, -1.0))
    return figure
