"""Densities of Gaussian classes over two features: ellipses of constant density, and the boundary that they make.

    Δ_k(x)² = (x - m_k)ᵀ C_k⁻¹ (x - m_k) = Δ²,      axis i along u_i, half-length √λ_i Δ,      C_k u_i = λ_i u_i

Of two features, a share 1 - exp(-Δ²/2) of a class lies within Δ.
Shapes: K classes, n rows, G positions along each axis.
Reference: Bishop, Pattern Recognition and Machine Learning (2006), section 2.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...explain import Regions, explanation, regions
from ...formulas import ellipse, principal_axes
from ...results import Table
from .figures.ellipses import ellipses

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Densities", "densities"]

DELTAS = (1.0, 2.0)


@dataclass(frozen=True, eq=False)
class Densities(Regions):
    """Gaussian classes on the plane of two features, and who wins where.

    Args:
        means: Of the classes (K, 2).
        covariances: Of the classes (K, 2, 2).
    """

    means: np.ndarray
    covariances: np.ndarray

    def table(self) -> Table:
        """One line a class: means, standard deviations and correlation of the features, axes of the ellipse Δ = 1."""
        size = np.sqrt(np.diagonal(self.covariances, axis1=1, axis2=2))  # (K, 2)
        axes, lengths = zip(*(principal_axes(c) for c in self.covariances), strict=True)
        angle = [float(np.degrees(np.arctan(a[0, 1] / a[0, 0]))) if a[0, 0] else 90.0 for a in axes]
        columns = {
            "class": list(self.classes),
            **{f"mean {name}": self.means[:, j].tolist() for j, name in enumerate(self.names)},
            **{f"deviation {name}": size[:, j].tolist() for j, name in enumerate(self.names)},
            "correlation": (self.covariances[:, 0, 1] / np.maximum(size.prod(1), np.finfo(float).tiny)).tolist(),
            "long half-axis": [float(found[0]) for found in lengths],
            "short half-axis": [float(found[1]) for found in lengths],
            "angle (degrees)": angle,
        }
        return Table(columns, self.caption)

    def figure(self) -> Figure:
        """Ellipses with their axes, the rows, and the boundary."""
        both = list(zip(self.means, self.covariances, strict=True))
        outlines = {
            f"Δ = {d:g}: {100 - 100 * np.exp(-(d**2) / 2):.0f} % of a class": np.stack(
                [ellipse(m, c, d) for m, c in both]
            )
            for d in DELTAS
        }
        ends = [m + axes * lengths[:, None] for m, c in both for axes, lengths in [principal_axes(c, DELTAS[-1])]]
        arms = np.stack([np.broadcast_to(self.means[:, None], np.shape(ends)), ends], 2)  # (K, 2, 2, 2)
        return ellipses(
            outlines,
            arms,
            self.classes,
            names=self.names,
            rows=self.rows,
            code=self.code,
            grid=(self.x, self.y, self.p),
            title="Gaussian classes",
        )

    @property
    def caption(self) -> str:
        """What the picture shows."""
        shared = np.allclose(self.covariances, self.covariances[:1], atol=0)
        kind = "of one shape" if shared else "of different shapes"
        return f"Ellipses {kind} of {len(self.classes)} Gaussian classes over {self.names[0]} and {self.names[1]}."


def _is_flat(obj: Any) -> bool:
    return obj.n_features_in_ == 2


@explanation("densities", when=_is_flat, otherwise="does not have two features; {} needs two, so fit two columns")
def densities(obj: Any, X: Any, y: Any = None) -> Densities:
    """Ellipses of constant density of Gaussian classes, with the boundary between the classes.

    Args:
        obj: A fitted classifier of two features that has a Gaussian for each class.
        X: Rows (n, 2); they set the part of the plane that is shown.
        y: Their labels (n,), for the colours of the points.
    """
    found = regions(obj, X, y)
    means, covariances = zip(*(obj.gaussian(k) for k in range(len(obj.classes_))), strict=True)
    return Densities(**vars(found), means=np.stack(means), covariances=np.stack(covariances))
