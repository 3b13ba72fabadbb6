"""Pictures that the sources show or ask for, drawn from computed data: one short function per row of the ledger.

ftheta study gallery                 which there are
ftheta study gallery --set row=A197  draw one
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..data import holdout, load
from ..draw import Draw
from ..models import LinearRegression, MLPClassifier
from ..plots import PALETTE, Figure, canvas, drawn

PICTURES: dict[str, tuple[str, Callable[[], Figure]]] = {}  # row -> title, function


def picture(row: str, title: str) -> Callable[[Callable[[], Figure]], Callable[[], Figure]]:
    """Enter the picture of a row; its title is written above it."""

    def enter(draw: Callable[[], Figure]) -> Callable[[], Figure]:
        def titled() -> Figure:
            figure = draw()
            figure.suptitle(title)
            return figure

        PICTURES[row] = (title, drawn(titled))
        return PICTURES[row][1]

    return enter


def _classes(axes: Any, at: np.ndarray, code: np.ndarray, names: list[str]) -> None:
    for k, name in enumerate(names):
        axes.scatter(*at[code == k].T, s=12, color=PALETTE[k], marker="osD"[k], label=name, linewidths=0)


@picture("A197", "The largest coordinate on the triangle x + y + z = 1")
def simplex() -> Figure:
    from matplotlib.figure import Figure

    p = np.random.default_rng(0).dirichlet(np.ones(3), 4000)  # uniform on the triangle
    figure = Figure(figsize=(6, 5.6))
    axes: Any = figure.add_subplot(projection="3d", computed_zorder=False)
    _classes(axes, p, p.argmax(1), [f"largest: {name}" for name in "xyz"])
    for k, border in enumerate(("y = z", "x = z", "x = y")):
        middle = (1 - np.eye(3)[k]) / 2
        axes.plot(*np.stack([np.full(3, 1 / 3), middle]).T, "k-", zorder=5)
        axes.text(*(1.35 * middle), border, ha="center", zorder=6)
    axes.set(xlabel="x", ylabel="y", zlabel="z")
    axes.view_init(28, 45)
    figure.legend(loc="outside lower center", ncols=3)
    return figure


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
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
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
    axes.legend()
    return figure
