"""What averaging gains: the error of a committee against the mean error of its members.

    E_AVG = Σ_l w_l mean e_l²,   E_COM = mean (Σ_l w_l e_l)²,   E_AVG - E_COM = mean Σ_l w_l (f_l - f)²  >= 0

    equal weights, errors of mean 0, variance σ² and correlation ρ:      E_COM = σ² (ρ + (1 - ρ) / L)

For classes e is the difference of the probabilities and the truth, summed over the classes (the Brier score).
Shapes: n rows, L members, K classes, T targets.
Reference: Krogh and Vedelsby, Neural network ensembles, cross validation, and active learning, NIPS (1994).
"""

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from ... import check
from ...errors import InputError
from ...explain import codes, explanation
from ...plots import GREY, PALETTE, Figure, canvas, drawn, legend
from ...results import Result


class CommitteeGain(Result):
    """Errors of the members and of their weighted mean, on the same rows."""

    members: tuple[str, ...]
    weights: np.ndarray  # (L,)
    errors: np.ndarray  # mean squared error of each (L,)
    correlation: np.ndarray  # of their errors (L, L)
    committee: float  # mean squared error of the weighted mean
    measure: str

    @property
    def average(self) -> float:
        """E_AVG, what a member chosen by its weight has."""
        return float(self.weights @ self.errors)

    def columns(self) -> dict[str, Any]:
        """One row per member, then their weighted mean of errors, and the committee."""
        others = np.where(np.eye(len(self.members)), np.nan, self.correlation)
        each = [None if np.isnan(row).all() else float(np.nanmean(row)) for row in others]
        return {
            "member": [*self.members, "mean of the members", "committee"],
            "weight": [*np.round(self.weights, 4), None, None],
            self.measure: [*self.errors, self.average, self.committee],
            "correlation with others": [*each, None, None],
        }

    @property
    def caption(self) -> str:
        best = int(self.errors.argmin())
        gain = 1 - self.committee / self.average if self.average else 0.0
        beaten = "below" if self.committee < self.errors[best] else "not below"
        return (
            f"The committee's {self.measure} is {self.committee:.4g}, {100 * gain:.0f} % less than the mean of its "
            f"members ({self.average:.4g}) and {beaten} that of the best one ({self.members[best]}, "
            f"{self.errors[best]:.4g})."
        )

    @drawn
    def figure(self) -> Figure:
        figure, (left, right) = canvas(2, width=4.2, height=3.4)
        place = np.arange(len(self.members))
        left.barh(place, self.errors, color=PALETTE[5])
        left.axvline(self.average, color=GREY, ls="--", lw=1.2, label="mean of the members")
        left.axvline(self.committee, color=PALETTE[1], label="committee")
        left.set_yticks(place, [f"{m} ({w:.2f})" for m, w in zip(self.members, self.weights, strict=True)])
        left.set(xlabel=self.measure, title="Members (weight)", ylim=(len(place) - 0.5, -0.5))
        legend(figure, axes=[left])
        image = right.imshow(self.correlation, vmin=-1, vmax=1, cmap="RdBu_r")
        right.set_xticks(place, self.members, rotation=30, ha="right")
        right.set_yticks(place, self.members)
        right.grid(False)
        right.set_title("Correlation of errors")
        figure.colorbar(image, ax=right, shrink=0.8)
        return figure


@explanation("committee", fresh=True)
def committee(obj: Any, X: Any, y: Any) -> CommitteeGain:
    """Errors of the members of a committee and what their average gains.

    Args:
        obj: A fitted committee.

    Example:
        >>> from ftheta import CommitteeRegressor
        >>> X = [[0.0], [1], [2], [3]]
        >>> found = committee(CommitteeRegressor(members=("linear", "ridge")).fit(X, [0.0, 1, 2, 3]), X, [0.0, 1, 2, 3])
        >>> found.committee <= found.average
        True
    """
    made, truth = obj.predictions(X), check.plain(y)  # (L, n, ...)
    truth = np.eye(made.shape[2])[codes(truth, made.shape[1], obj.classes_)] if is_classifier(obj) else truth
    if np.shape(truth) != made.shape[1:]:
        raise InputError(f"y has shape {np.shape(truth)}, and predictions {made.shape[1:]}; pass the targets of X.")
    errors = (made - np.asarray(truth, dtype=float)).reshape(len(made), made.shape[1], -1)
    squares = (errors**2).sum(2).mean(1)
    flat = errors.reshape(len(made), -1)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = np.atleast_2d(np.corrcoef(flat))
    mean = np.tensordot(obj.weights_, errors, 1)
    names = [f"{name} {k + 1}" if obj.members.count(name) > 1 else name for k, name in enumerate(obj.members)]
    measure = "Brier score" if is_classifier(obj) else "mean squared error"
    return CommitteeGain(
        tuple(names), np.asarray(obj.weights_), squares, correlation, float((mean**2).sum(1).mean()), measure
    )
