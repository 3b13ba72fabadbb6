"""Class densities of one number, a feature or a score: where each class lies, and where the best answer changes.

    p(x | k):  N(m_k, s_k²),  or a sum of Gaussians on the rows, of width s_k n_k^(-1/5) (Scott)
    P(k | x) = π_k p(x | k) / Σ_j π_j p(x | j),      answer = argmin_a Σ_k L_ka P(k | x)

`risk` is what the rule would cost if the densities were the truth: the rows made them, so it flatters a little.
Shapes: n rows, K classes, G places.
Reference: Duda, Hart and Stork, Pattern Classification (2001), chapter 2; Scott, Multivariate Density Estimation
(1992).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import logsumexp, ndtr

from .. import plots
from ..catalog import nearest
from ..errors import InputError
from ..formulas import decisions
from ..results import Result, Table
from ._rows import labelled, numbers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Densities", "densities"]

_PLACES, _BINS = 1601, 1000


@dataclass(frozen=True, eq=False)
class Densities(Result):
    """Densities, posteriors and the best rule along one number.

    Args:
        classes: Names of the classes.
        rows: Of each class: (K,).
        means: Of each class: (K,).
        sds: Standard deviation of each class: (K,).
        priors: (K,).
        x: Places (G,).
        density: p(x | k) at each: (K, G).
        posterior: P(k | x) at each: (K, G).
        cuts: Where the answer changes, ascending: (m,).
        answers: Class numbers of the pieces between the cuts: (m + 1,).
        risk: Expected cost of that rule under these densities.
        kind: "gaussian" or "kde".
        name: What the number is.
        bars: Histogram behind the curves: ends of the bars (B + 1,) and shares of all rows per unit (K, B).
    """

    classes: tuple[str, ...]
    rows: np.ndarray
    means: np.ndarray
    sds: np.ndarray
    priors: np.ndarray
    x: np.ndarray
    density: np.ndarray
    posterior: np.ndarray
    cuts: np.ndarray
    answers: np.ndarray
    risk: float
    kind: str
    name: str
    bars: tuple[np.ndarray, np.ndarray]

    def table(self) -> Table:
        """One line a class: rows, prior, mean, spread, and where it is the answer."""
        ends = np.concatenate([[-np.inf], self.cuts, [np.inf]])
        where = [
            "; ".join(f"{a:.4g} to {b:.4g}" for a, b, k in zip(ends, ends[1:], self.answers, strict=False) if k == i)
            for i in range(len(self.classes))
        ]
        columns = {
            "class": list(self.classes),
            "rows": self.rows.tolist(),
            "prior": self.priors.tolist(),
            "mean": self.means.tolist(),
            "sd": self.sds.tolist(),
            "the answer from": where,
        }
        return Table(columns, self.alt)

    def figure(self) -> Figure:
        """Histograms and densities times priors above, posteriors below; cuts as lines, answers as a strip."""
        return plots.class_densities(
            self.x,
            self.priors[:, None] * self.density,
            self.posterior,
            self.classes,
            cuts=self.cuts,
            answers=self.answers,
            bars=self.bars,
            label=self.name,
            title=f"Class densities and the best answer (risk {self.risk:.4g})",
        )

    @property
    def alt(self) -> str:
        """What the picture shows."""
        said = ", ".join(f"{c:.4g}" for c in self.cuts) or "nowhere"
        return (
            f"Densities of {self.name} in {len(self.classes)} classes on {self.rows.sum():,} rows ({self.kind}); the "
            f"best answer changes at {said}; expected cost {self.risk:.4g} under these densities."
        )


def densities(
    y: Any,
    x: Any,
    kind: Literal["kde", "gaussian"] = "kde",
    *,
    priors: Any = None,
    loss: Any = None,
    classes: Sequence[Any] | None = None,
    name: str = "x",
) -> Densities:
    """The density of one number in each class, the posteriors and the best rule.

    Args:
        y: True labels (n,).
        x: One number a row, a feature or a score (n,).
        kind: "kde" for any shape, or "gaussian".
        priors: How often each class comes (K,); None takes the shares of the rows.
        loss: What each answer costs (K, K), a row for each true class; None is 1 for every error.
        classes: All classes, in the order to show; None takes the sorted labels of y.
        name: What the number is, with its unit, for the figure.

    Example:
        >>> densities([0, 0, 0, 1, 1, 1], [-1.0, 0, 1, 1, 2, 3], "gaussian").cuts
        array([1.0])
    """
    if kind not in ("kde", "gaussian"):
        raise InputError(nearest("kind of density", kind, ["kde", "gaussian"]))
    listed, (truth,) = labelled(classes, y=y)
    value, _ = numbers(x=x, y=truth)
    k = len(listed)
    parts = [value[truth == i] for i in range(k)]
    _refuse(listed, parts)
    rows = np.bincount(truth, minlength=k)
    prior = rows / rows.sum() if priors is None else decisions.shares("priors", priors, k)
    cost = decisions.loss_matrix(loss, k)
    if cost.shape[1] != k:
        raise InputError(f"loss has shape {cost.shape}; an answer for each class is needed, so ({k}, {k}).")
    centre = float(np.median(value))
    scale = float(abs(value - centre).max())
    parts = [(part - centre) / scale for part in parts]  # so that units do not matter
    laws = [_Law(part, kind) for part in parts]
    # places where each class is: one may be far narrower than another
    at = np.unique(np.concatenate([np.linspace(law.low, law.high, max(_PLACES // k, 201)) for law in laws]))

    def log_densities(at: Any) -> np.ndarray:
        return np.stack([law.log(at) for law in laws], axis=-1)  # (n, K)

    with np.errstate(divide="ignore"):
        rule = decisions.best_rule(lambda at: log_densities(at) + np.log(prior), at, cost)
    logs = log_densities(at)
    mass = np.stack([np.diff(law.below(rule.cuts), prepend=0, append=1) for law in laws])  # (K, m + 1)
    edges, bars = _bars(parts, prior)
    return Densities(
        classes=tuple(map(str, listed)),
        rows=rows,
        means=centre + scale * np.array([law.mean for law in laws]),
        sds=scale * np.array([law.sd for law in laws]),
        priors=prior,
        x=centre + scale * at,
        density=np.exp(logs).T / scale,
        posterior=decisions.posterior(logs, prior).T,
        cuts=centre + scale * rule.cuts,
        answers=rule.answers,
        risk=float((prior[:, None] * cost[:, rule.answers] * mass).sum()),
        kind=kind,
        name=name,
        bars=(centre + scale * edges, bars / scale),
    )


def _bars(parts: Sequence[np.ndarray], prior: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Edges (41,) and prior times density between them (K, 40)."""
    edges = np.linspace(min(part.min() for part in parts), max(part.max() for part in parts), 41)
    shares = [np.histogram(part, edges)[0] / len(part) for part in parts]
    return edges, prior[:, None] * shares / np.diff(edges)


class _Law:
    """One class: a Gaussian, or one of equal width on each of up to 1,000 bins of rows."""

    def __init__(self, z: np.ndarray, kind: str) -> None:
        self.mean, self.sd = float(z.mean()), float(z.std(ddof=1))
        if kind == "gaussian":
            self.at, self.weight, self.width = np.array([self.mean]), np.ones(1), self.sd
        else:
            self.at, self.weight = (z, np.full(len(z), 1 / len(z))) if len(z) <= _BINS else _binned(z)
            self.width = self.sd * len(z) ** -0.2
        reach = 4 if kind == "gaussian" else 3
        self.low, self.high = self.at.min() - reach * self.width, self.at.max() + reach * self.width

    def below(self, x: np.ndarray) -> np.ndarray:
        """The mass up to x: (m,) -> (m,)."""
        return ndtr((x[:, None] - self.at) / self.width) @ self.weight

    def log(self, x: Any) -> np.ndarray:
        """log p(x): (n,) -> (n,)."""
        far = (np.asarray(x)[:, None] - self.at) / self.width  # (n, bins)
        return logsumexp(-(far**2) / 2, axis=1, b=self.weight) - np.log(self.width * np.sqrt(2 * np.pi))


def _binned(z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Middles of 1,000 bins and their shares of the rows, where there are any."""
    count, ends = np.histogram(z, _BINS)
    full = count > 0
    return ((ends[1:] + ends[:-1]) / 2)[full], count[full] / len(z)


def _refuse(listed: Sequence[Any], parts: Sequence[np.ndarray]) -> None:
    if len(listed) < 2:
        raise InputError(f"All rows of y are {listed[0]!s}; densities are compared between at least two classes.")
    for label, own in zip(listed, parts, strict=True):
        if len(own) < 2 or own.min() == own.max():
            what = f"the value {own[0]:g} in all its {len(own)} rows" if len(own) > 1 else f"{len(own)} rows"
            raise InputError(f"Class {label!s} has {what}; a density needs two different values of x in each class.")
