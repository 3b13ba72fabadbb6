"""Class densities of one number, a feature or a score: where each class lies, and where the best answer changes.

    p(x | k):  N(m_k, s_k²),  or a sum of Gaussians on the rows, of width s_k n_k^(-1/5) (Scott)
    P(k | x) = π_k p(x | k) / Σ_j π_j p(x | j),      answer = argmin_a Σ_k L_ka P(k | x)

Shapes: n rows, K classes, G places.
Reference: Duda, Hart and Stork, Pattern Classification (2001), chapter 2.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from scipy.special import logsumexp, ndtr

from ..catalog import nearest
from ..errors import InputError
from ..formulas import decisions
from ..plots import PALETTE, Figure, canvas, drawn, legend, short
from ..results import Result
from ._rows import labeled, numbers

PLACES, BINS = 1601, 1000


class Densities(Result):
    """Densities, posteriors and the best rule along one number."""

    classes: tuple[str, ...]
    rows: np.ndarray  # of each class: (K,)
    means: np.ndarray  # (K,)
    sds: np.ndarray  # standard deviations: (K,)
    priors: np.ndarray  # (K,)
    x: np.ndarray  # places (G,)
    density: np.ndarray  # p(x | k) at each: (K, G)
    posterior: np.ndarray  # P(k | x) at each: (K, G)
    cuts: np.ndarray  # where the prediction changes, ascending: (m,)
    answers: np.ndarray  # class numbers of the pieces between the cuts: (m + 1,)
    risk: float  # expected cost of that rule under these densities, which the same rows made: a little too low
    kind: str  # "gaussian" or "kde"
    name: str  # what the number is
    bars: tuple[np.ndarray, np.ndarray]  # histogram: ends of the bars (B + 1,), shares of all rows per unit (K, B)

    def columns(self) -> Mapping[str, Any]:
        """One row per class: rows, prior, mean, spread, and where it is predicted."""
        pieces = list(zip(pairwise([-np.inf, *self.cuts, np.inf]), self.answers, strict=True))
        where = ["; ".join(f"{a:.4g} to {b:.4g}" for (a, b), own in pieces if own == k) for k in range(len(self.rows))]
        columns = {"class": list(self.classes), "rows": self.rows, "prior": self.priors, "mean": self.means}
        return {**columns, "sd": self.sds, "predicted for": where}

    @drawn
    def figure(self) -> Figure:
        figure, three = canvas(3, across=1, width=6.6, height=1.95, sharex=True, height_ratios=(3, 2.4, 0.35))
        upper, lower, strip = three
        for k, name in enumerate(self.classes):
            color, line = PALETTE[k % len(PALETTE)], ("-", "--", ":", "-.")[k % 4]
            upper.stairs(self.bars[1][k], self.bars[0], fill=True, color=color, alpha=0.2)
            upper.plot(self.x, self.priors[k] * self.density[k], color=color, ls=line, label=short(name, 24))
            lower.plot(self.x, self.posterior[k], color=color, ls=line)
        for (low, high), k in zip(pairwise([self.x[0], *self.cuts, self.x[-1]]), self.answers, strict=True):
            strip.axvspan(low, high, color=PALETTE[k % len(PALETTE)], alpha=0.7, lw=0)
        for i, cut in enumerate(self.cuts):
            for axes in three:
                axes.axvline(cut, color="black", lw=1, ls=(0, (4, 3)))
            if i < 4:  # more numbers would overlap
                place = {"xycoords": upper.get_xaxis_transform(), "xytext": (3, -11), "textcoords": "offset points"}
                upper.annotate(f"{cut:.3g}", (cut, 1), size="small", **place)
        title = f"Class densities and the best prediction (risk {self.risk:.4g})"
        upper.set(title=title, ylabel="prior × density (per unit of x)", ylim=(0, None))
        lower.set(ylabel="posterior probability", ylim=(-0.03, 1.03), xlim=(self.x[0], self.x[-1]))
        strip.set(xlabel=self.name, yticks=[0.5], yticklabels=["predicted"], ylim=(0, 1))
        strip.grid(visible=False)
        figure.align_ylabels([upper, lower])
        legend(figure)
        return figure

    @property
    def caption(self) -> str:
        where = ", ".join(f"{c:.4g}" for c in self.cuts) or "nowhere"
        return (
            f"Densities of {self.name} in {len(self.classes)} classes on {self.rows.sum():,} rows ({self.kind}); the "
            f"best answer changes at {where}; expected cost {self.risk:.4g} under these densities."
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
        x: One number per row, a feature or a score (n,).
        kind: "kde" for any shape, or "gaussian".
        priors: How often each class comes (K,); None takes the shares of the rows.
        loss: What each answer costs (K, K), a row for each true class; None is 1 for every error.
        name: What the number is, with its unit, for the figure.

    Example:
        >>> densities([0, 0, 0, 1, 1, 1], [-1.0, 0, 1, 1, 2, 3], "gaussian").cuts
        array([1.0])
    """
    if kind not in ("kde", "gaussian"):
        raise InputError(nearest("kind of density", kind, ["kde", "gaussian"]))
    listed, (truth,) = labeled(classes, y=y)
    value, _ = numbers(x=x, y=truth)
    k, parts = len(listed), [value[truth == i] for i in range(len(listed))]
    _refuse(listed, parts)
    rows = np.bincount(truth, minlength=k)
    prior = rows / rows.sum() if priors is None else decisions.shares("priors", priors, k)
    cost = decisions.loss_matrix(loss, k)
    if cost.shape[1] != k:
        raise InputError(f"loss has shape {cost.shape}; an answer for each class is needed, so ({k}, {k}).")
    center, scale = np.median(value), abs(value - np.median(value)).max()
    parts = [(part - center) / scale for part in parts]  # so that units do not matter
    laws, reach = [_Law.of(part, kind) for part in parts], 4 if kind == "gaussian" else 3
    ends = [(law.at.min() - reach * law.width, law.at.max() + reach * law.width) for law in laws]
    # places where each class is: one may be far narrower than another
    at = np.unique(np.concatenate([np.linspace(*end, max(PLACES // k, 201)) for end in ends]))

    log_densities = lambda at: np.stack([law.log(at) for law in laws], axis=-1)  # noqa: E731  (n, K)
    with np.errstate(divide="ignore"):
        rule = decisions.best_rule(lambda at: log_densities(at) + np.log(prior), at, cost)
    logs = log_densities(at)
    mass = np.stack([np.diff(law.below(rule.cuts), prepend=0, append=1) for law in laws])  # (K, m + 1)
    edges = np.linspace(min(map(np.min, parts)), max(map(np.max, parts)), 41)
    shares = [np.histogram(part, edges)[0] / len(part) for part in parts]
    return Densities(
        classes=tuple(map(str, listed)),
        rows=rows,
        means=center + scale * np.array([part.mean() for part in parts]),
        sds=scale * np.array([part.std(ddof=1) for part in parts]),
        priors=prior,
        x=center + scale * at,
        density=np.exp(logs).T / scale,
        posterior=decisions.posterior(logs, prior).T,
        cuts=center + scale * rule.cuts,
        answers=rule.answers,
        risk=float((prior[:, None] * cost[:, rule.answers] * mass).sum()),
        kind=kind,
        name=name,
        bars=(center + scale * edges, prior[:, None] * shares / np.diff(edges) / scale),
    )


class _Law(NamedTuple):
    """One class: Gaussians of equal width."""

    at: np.ndarray
    weight: np.ndarray
    width: float

    @classmethod
    def of(cls, z: np.ndarray, kind: str) -> Self:
        """One Gaussian, or one for each row, or for each of 1,000 bins of rows."""
        if kind == "gaussian":
            return cls(np.array([z.mean()]), np.ones(1), float(z.std(ddof=1)))
        count, ends = np.histogram(z, BINS)
        binned = (ends[1:] + ends[:-1])[count > 0] / 2, count[count > 0] / len(z)
        at, weight = (z, np.full(len(z), 1 / len(z))) if len(z) <= BINS else binned
        return cls(at, weight, float(z.std(ddof=1)) * len(z) ** -0.2)

    def below(self, x: np.ndarray) -> np.ndarray:
        """The mass up to x: (m,) -> (m,)."""
        return ndtr((x[:, None] - self.at) / self.width) @ self.weight

    def log(self, x: Any) -> np.ndarray:
        """log p(x): (n,) -> (n,)."""
        far = (x[:, None] - self.at) / self.width  # (n, bins)
        return logsumexp(-(far**2) / 2, axis=1, b=self.weight) - np.log(self.width * np.sqrt(2 * np.pi))


def _refuse(listed: Sequence[Any], parts: Sequence[np.ndarray]) -> None:
    if len(listed) < 2:
        raise InputError(f"All rows of y are {listed[0]!s}; densities are compared between at least two classes.")
    for label, own in zip(listed, parts, strict=True):
        if len(own) < 2 or own.min() == own.max():
            what = f"the value {own[0]:g} in all its {len(own)} rows" if len(own) > 1 else f"{len(own)} rows"
            raise InputError(f"Class {label!s} has {what}; a density needs two different values of x in each class.")
