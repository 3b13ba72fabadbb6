"""Classes of many columns in one picture: on the axes that tell them apart best, and by their means.

    W = Σ_k π_k C_k,    B = Σ_k π_k (m_k - m)(m_k - m)ᵀ,    axes a: largest aᵀ B a with aᵀ W a = 1, one after the other

On an axis the classes have variance 1 on average. Two classes have one such axis; the second is then the direction, of
those that are uncorrelated with it within the classes, along which the rows vary most. Ellipses and boundary are those
of the model's Gaussians, seen on these axes: for linear discriminants of up to three classes its own boundary.

Shapes: K classes, n rows, D features.
Reference: Hastie, Tibshirani and Friedman, The Elements of Statistical Learning (2009), section 4.3.3.
"""

from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax

from ...errors import InputError
from ...explain import Names, classes_of, explanation
from ...plots import Figure, canvas, drawn, short
from ...results import Result, Table, percent
from .base import feature_names
from .densities import Densities
from .whitening import upright

PLANE = 161  # positions along each axis
MARGIN = 0.08  # beyond the rows, in ranges
FLAT = 1e-10  # variance along a direction, in units of the largest, that is none
MAX_COLUMNS = 25  # of class means, that are drawn


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
        """What the picture shows."""
        best = [self.columns_[j] for j in np.argsort(-np.abs(self.loadings[:, 0]), kind="stable")[:3]]
        return (
            f"{len(self.classes)} classes along their discriminant axes; axis 1 is mostly {', '.join(best)}. For "
            f"{percent(self.agreement)} of the rows the class on this plane is the one that the model predicts."
        )


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
