"""Gaussian classes: ellipses of constant density and the boundary that they make, and the class means.

    Δ_k(x)² = (x - m_k)ᵀ C_k⁻¹ (x - m_k) = Δ²,      axis i along u_i, half-length √λ_i Δ,      C_k u_i = λ_i u_i
    W = Σ_k π_k C_k,    B = Σ_k π_k (m_k - m)(m_k - m)ᵀ,    axes a: largest aᵀ B a with aᵀ W a = 1, one after the other

Of two features, a share 1 - exp(-Δ²/2) of a class lies within Δ. More are seen on the axes that tell the classes apart
best, on which the classes have variance 1 on average. Two classes have one such axis; the second is then the direction,
of those that are uncorrelated with it within the classes, along which the rows vary most. Ellipses and boundary are
those of the model's Gaussians, seen on these axes: for linear discriminants of up to three classes its own boundary.

Shapes: K classes, n rows, D features, G positions along each axis.
References: Bishop, Pattern Recognition and Machine Learning (2006), section 2.3; Hastie, Tibshirani and Friedman, The
Elements of Statistical Learning (2009), section 4.3.3.
"""

from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax

from ...errors import InputError
from ...explain import Names, Regions, classes_of, explanation, regions
from ...formulas import ellipse, principal_axes
from ...plots import PALETTE, Figure, canvas, drawn, panel, short
from ...results import Result, Table, percent
from .base import feature_names
from .whitening import upright

DELTAS = {1.0: "-", 2.0: "--"}  # distances that are drawn, and their lines
MARKERS = "osD^vPX"
PLANE = 161  # positions along each axis
MARGIN = 0.08  # beyond the rows, in ranges
FLAT = 1e-10  # variance along a direction, in units of the largest, that is none
MAX_COLUMNS = 25  # of class means, that are drawn


class Densities(Regions):
    """Gaussian classes on the plane of two features, and which of them is predicted where."""

    means: np.ndarray  # of the classes (K, 2)
    covariances: np.ndarray  # of the classes (K, 2, 2)

    title: ClassVar[str] = "Gaussian classes"

    def table(self) -> Table:
        """One row per class: means, standard deviations and correlation of the features, axes of the ellipse Δ = 1."""
        size = np.sqrt(np.diagonal(self.covariances, axis1=1, axis2=2))  # (K, 2)
        axes, lengths = zip(*(principal_axes(c) for c in self.covariances), strict=True)
        angle = [float(np.degrees(np.arctan(a[0, 1] / a[0, 0]))) if a[0, 0] else 90.0 for a in axes]
        columns: dict[str, Any] = {"class": self.classes}
        for what, values in (("mean", self.means), ("deviation", size)):
            columns |= {f"{what} {name}": values[:, j] for j, name in enumerate(self.names)}
        columns["correlation"] = self.covariances[:, 0, 1] / np.maximum(size.prod(1), np.finfo(float).tiny)
        columns |= {"long half-axis": np.array(lengths)[:, 0], "short half-axis": np.array(lengths)[:, 1]}
        columns["angle (degrees)"] = angle
        return Table({name: list(values) for name, values in columns.items()}, self.caption)

    @property
    def caption(self) -> str:
        shared = np.allclose(self.covariances, self.covariances[:1], atol=0)
        kind = "of one shape" if shared else "of different shapes"
        return f"Ellipses {kind} of {len(self.classes)} Gaussian classes over {self.names[0]} and {self.names[1]}."

    def figure(self) -> Figure:
        """Ellipses of each class in its color with both half-axes, the rows, and in black the boundary."""
        figure, axes = panel(6.4, 5.6, title=self.title, x=short(self.names[0], 60), y=short(self.names[1], 60))
        for k, (name, mean, covariance) in enumerate(zip(self.classes, self.means, self.covariances, strict=True)):
            color, marker = PALETTE[k % len(PALETTE)], MARKERS[(k + k // 7) % 7]
            for delta, style in DELTAS.items():
                axes.plot(*ellipse(mean, covariance, delta).T, style, color=color, lw=1.6, zorder=4)
            for direction, length in zip(*principal_axes(covariance, max(DELTAS)), strict=True):
                axes.plot(*np.stack([mean, mean + direction * length], 1), "-", color=color, lw=1.2, zorder=4)
            axes.plot(*mean, ls="", marker=marker, color=color, mec="black", ms=8, zorder=5)
            axes.plot([], [], ls="", marker=marker, color=color, label=short(str(name), 20))
        for delta, style in DELTAS.items():
            share = f"Δ = {delta:g}: {100 - 100 * np.exp(-(delta**2) / 2):.0f} % of a class"
            axes.plot([], [], style, color="0.3", label=share)
        for k in np.unique(self.code):
            own = {"marker": MARKERS[(k + k // 7) % 7], "color": PALETTE[k % len(PALETTE)]}
            look = own if k >= 0 else {"color": "0.5"}
            axes.scatter(*self.rows[self.code == k].T, s=13, alpha=0.45, linewidths=0, zorder=2, **look)
        winners = np.unique(self.p.argmax(-1))
        for k in winners[1:]:
            axes.contour(self.x, self.y, self.lead(int(k)), levels=[0.0], colors="black", linewidths=1.8, zorder=3)
        if len(winners) > 1:
            axes.plot([], [], "-", color="black", lw=1.8, label="boundary")
        axes.set(xlim=(self.x[0], self.x[-1]), ylim=(self.y[0], self.y[-1]))
        if 0.4 < np.ptp(self.x) / np.ptp(self.y) < 2.5:
            axes.set_aspect("equal")  # axes are seen to be perpendicular
        figure.legend(loc="outside lower center", ncols=3, frameon=False)
        return figure


@explanation(
    "densities",
    when=lambda obj: obj.n_features_in_ == 2,
    otherwise="does not have two features; {} needs two, so fit two columns",
)
def densities(
    obj: Any, X: Any, y: Any = None, *, names: Names = None, scales: Any = None, classes: Names = None
) -> Densities:
    """Ellipses of constant density of Gaussian classes, with the boundary between the classes.

    Args:
        obj: A fitted classifier of two features that has a Gaussian for each class.
        X: Rows (n, 2); they set the part of the plane that is shown.
        y: Their labels (n,), for the colors of the points.
    """
    found = regions(obj, X, y, names=names, scales=scales, classes=classes)
    means, covariances = zip(*(obj.gaussian(k) for k in range(len(obj.classes_))), strict=True)
    shift, scale = (0.0, np.ones(2)) if scales is None else np.asarray(scales, dtype=float).T
    shapes = np.stack(covariances) * np.outer(scale, scale)
    return Densities(**vars(found), means=shift + scale * np.stack(means), covariances=shapes)


class ClassAxes(Densities):
    """Classes on two discriminant axes."""

    columns_: tuple[str, ...]  # of X (D,)
    loadings: np.ndarray  # change of the axes as a column grows by a standard deviation (D, 2)
    agreement: float  # share of the rows whose class on this plane is that of the model

    title: ClassVar[str] = "Classes on the axes that tell them apart"

    def table(self) -> Table:
        """One row per column: its part in both axes, the strongest first."""
        order = np.argsort(-np.abs(self.loadings).max(1), kind="stable")
        loads = {f"axis {i + 1}, per standard deviation": self.loadings[order, i].tolist() for i in range(2)}
        return Table({"column": [self.columns_[j] for j in order], **loads}, self.caption)

    @property
    def caption(self) -> str:
        best = [self.columns_[j] for j in np.argsort(-np.abs(self.loadings[:, 0]), kind="stable")[:3]]
        axes = f"{len(self.classes)} classes along their discriminant axes; axis 1 is mostly {', '.join(best)}."
        same = f"For {percent(self.agreement)} of the rows the class on this plane is the one that the model predicts."
        return f"{axes} {same}"


@explanation(
    "class-axes",
    when=lambda obj: obj.n_features_in_ > 2,
    otherwise="has fewer than three features; {} needs three, and densities shows two",
)
def class_axes(obj: Any, X: Any, y: Any = None, *, names: Names = None, classes: Names = None) -> ClassAxes:
    """Gaussian classes of three columns or more on the two axes that tell them apart best, with their boundary.

    Args:
        obj: A fitted classifier that has a Gaussian for each class.
        X: Rows (n, D); they set the part of the plane that is shown.
        y: Their labels (n,), for the colors of the points.

    Example:
        >>> from ftheta import LinearDiscriminant
        >>> X = np.random.default_rng(0).normal(size=(60, 4)) + 4 * np.repeat(np.eye(3, 4), 20, axis=0)
        >>> class_axes(LinearDiscriminant().fit(X, np.repeat([0, 1, 2], 20)), X).agreement
        1.0
    """
    x = np.asarray(X, dtype=float)
    m, c = (np.stack(part) for part in zip(*(obj.gaussian(k) for k in range(len(obj.classes_))), strict=True))
    center = obj.priors_ @ m
    turn, names_of_axes = _axes(x - center, m - center, np.tensordot(obj.priors_, c, 1), obj.priors_)
    rows, means, covariances = (x - center) @ turn, (m - center) @ turn, turn.T @ c @ turn
    ends = ((low := v.min(), high := v.max(), MARGIN * (high - low)) for v in rows.T)
    across, up = (np.linspace(low - beyond, high + beyond, PLANE) for low, high, beyond in ends)
    scores = _scores(np.stack(np.meshgrid(across, up), -1), means, covariances, obj.priors_)
    here = _scores(rows, means, covariances, obj.priors_).argmax(-1)
    code = np.full(len(x), -1) if y is None else _codes(np.asarray(y), obj.classes_)
    return ClassAxes(
        *(across, up, softmax(scores, axis=-1), rows, code, classes_of(obj, classes), names_of_axes, scores),
        means=means,
        covariances=covariances,
        columns_=tuple(map(str, feature_names(obj) if names is None else names)),
        loadings=turn * x.std(0)[:, None],
        agreement=float((np.asarray(obj.classes_)[here] == obj.predict(X)).mean()),
    )


def _axes(x: np.ndarray, m: np.ndarray, within: np.ndarray, priors: np.ndarray) -> tuple[np.ndarray, tuple[str, str]]:
    """Both directions (D, 2) of rows (n, D) and means (K, D) about their center, and the names of the axes."""
    values, vectors = np.linalg.eigh(within)
    kept = values > FLAT * values[-1]
    if kept.sum() < 2:
        raise InputError("Within the classes the rows vary in fewer than two directions, so there is no plane to show.")
    white = vectors[:, kept] / np.sqrt(values[kept])
    _, sigma, found = np.linalg.svd(np.sqrt(priors)[:, None] * (m @ white), full_matrices=False)
    turn, share = white @ found[:2].T, sigma**2 / (sigma**2).sum()
    names = [f"axis {i + 1} ({percent(share[i])} of the variance between)" for i in range(2)]
    if len(m) == 2:
        first = turn[:, 0]
        rest = x - np.outer(x @ first, within @ first)
        along = np.linalg.svd(rest, full_matrices=False)[2][0]
        second = along - first * (within @ first @ along)
        turn, names[1] = np.stack([first, second / np.sqrt(second @ within @ second)], 1), "axis 2 (largest spread)"
    return turn * upright(turn.T).T, (names[0], names[1])


def _scores(at: np.ndarray, means: np.ndarray, covariances: np.ndarray, priors: np.ndarray) -> np.ndarray:
    """log p(place, class) up to a constant: (..., K)."""
    rest = at[..., None, :] - means
    distance = np.einsum("...ki,kij,...kj->...k", rest, np.linalg.inv(covariances), rest)
    return np.log(priors) - np.linalg.slogdet(covariances)[1] / 2 - distance / 2


def _codes(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    same = y[:, None] == classes
    return np.where(same.any(1), same.argmax(1), -1)


class ClassMeans(Result):
    """Means of the columns in each class."""

    names: tuple[str, ...]  # of the columns (D,)
    classes: tuple[str, ...]  # (K,)
    means: np.ndarray  # in the user's units (K, D)
    mean: np.ndarray  # of all rows (D,)
    spread: np.ndarray  # standard deviation of all rows (D,)

    @property
    def deviations(self) -> np.ndarray:
        """Of the class means from the mean of all rows, in standard deviations: (K, D)."""
        return (self.means - self.mean) / np.where(self.spread > 0, self.spread, np.inf)

    @property
    def order(self) -> np.ndarray:
        """Columns whose class means are furthest apart first (D,)."""
        return np.argsort(-np.ptp(self.deviations, axis=0), kind="stable")

    def columns(self) -> dict[str, Any]:
        """One row per column: its mean in each class, the largest differences first."""
        order = self.order
        each = {f"mean of {name}": row[order] for name, row in zip(self.classes, self.means, strict=True)}
        apart = np.ptp(self.deviations, axis=0)[order]
        return {"column": [self.names[j] for j in order], "standard deviations apart": apart, **each}

    @property
    def caption(self) -> str:
        first = ", ".join(f"{self.names[j]} ({np.ptp(self.deviations[:, j]):.2g})" for j in self.order[:3])
        return f"The class means are furthest apart in {first} standard deviations."

    @drawn
    def figure(self) -> Figure:
        """Deviations of the class means in standard deviations: red above the mean of all rows, blue below."""
        order, k = self.order[:MAX_COLUMNS], len(self.classes)
        shown = self.deviations[:, order].T
        figure, axes = canvas(width=3.2 + max(2.4, 0.7 * k), height=1.5 + 0.3 * len(order))
        most = np.abs(shown).max() or 1.0
        colors = axes.imshow(shown, cmap="RdBu_r", vmin=-most, vmax=most, aspect="auto")
        figure.colorbar(colors, ax=axes, label="standard deviations")
        cut = f", {MAX_COLUMNS} of {len(self.names)} columns" if len(self.names) > MAX_COLUMNS else ""
        axes.set(title=f"Class means, from the mean of all rows{cut}", xlabel="class", ylabel="column")
        upright_ = max(len(name) for name in self.classes) > 9
        axes.set_xticks(range(k), [short(name, 16) for name in self.classes], rotation=45 * upright_)
        axes.set_yticks(range(len(order)), [short(self.names[j], 28) for j in order])
        axes.grid(visible=False)
        for (i, j), value in np.ndenumerate(shown if k <= 10 else shown[:0]):
            color = "white" if abs(value) > 0.65 * most else "black"
            axes.text(j, i, f"{value:+.1f}", ha="center", va="center", size="small", color=color)
        return figure


@explanation("class-means", all_rows=True)
def class_means(
    obj: Any, X: Any, y: Any, *, names: Names = None, scales: Any = None, classes: Names = None
) -> ClassMeans:
    """The mean of every column in each class, and how far these are from each other.

    Args:
        obj: A fitted classifier that has a density of each class.

    Example:
        >>> from ftheta import GaussianNaiveBayes
        >>> X, y = [[1.0, 5], [3, 6], [7, 6], [9, 5]], ["no", "no", "yes", "yes"]
        >>> class_means(GaussianNaiveBayes().fit(X, y), X, y, names=["age", "size"]).table().columns["mean of yes"]
        [8.0, 5.5]
    """
    shift, scale = (0.0, 1.0) if scales is None else np.asarray(scales, dtype=float).T
    x, code = shift + scale * np.asarray(X, dtype=float), _codes(np.asarray(y), obj.classes_)
    called = classes_of(obj, classes)
    means = np.stack([x[code == k].mean(0) for k in range(len(called))])
    columns = tuple(map(str, feature_names(obj) if names is None else names))
    return ClassMeans(columns, called, means, x.mean(0), x.std(0))
