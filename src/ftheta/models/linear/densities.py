"""Gaussian classes over two features: ellipses of constant density, and the boundary that they make.

    Δ_k(x)² = (x - m_k)ᵀ C_k⁻¹ (x - m_k) = Δ²,      axis i along u_i, half-length √λ_i Δ,      C_k u_i = λ_i u_i

Of two features, a share 1 - exp(-Δ²/2) of a class lies within Δ.
Shapes: K classes, n rows, G positions along each axis.
Reference: Bishop, Pattern Recognition and Machine Learning (2006), section 2.3.
"""

from typing import Any, ClassVar

import numpy as np

from ...explain import Names, Regions, explanation, regions
from ...formulas import ellipse, principal_axes
from ...plots import PALETTE, Figure, panel, short
from ...results import Table

DELTAS = {1.0: "-", 2.0: "--"}  # distances that are drawn, and their lines
MARKERS = "osD^vPX"


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
        """What the picture shows."""
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
