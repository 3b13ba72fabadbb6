"""Against the truth of synthetic data: how far a classifier is from the best that there can be.

    excess error of a row     max_k P(k | x) - P(answer | x)      >= 0, without the luck of the labels
    excess log loss of a row  Σ_k P(k | x) log P(k | x) / p_k     >= 0, a divergence of Kullback and Leibler

P is what made the rows; the error of argmax P is the Bayes error. Of more than two classes a maker states that error
only, so the error seen is held against it.
Shapes: n rows.
Reference: Devroye, Györfi and Lugosi, A Probabilistic Theory of Pattern Recognition (1996), chapter 2.
"""

from typing import Any

import numpy as np
from scipy.special import entr, rel_entr

from .. import plots
from ..data import Dataset
from ..errors import InputError
from ..plots import Figure
from ..results import Result, Table
from ._rows import level_of, scored
from .intervals import Bootstrap
from .scores import in_words, log_loss_rows, mean_score

Row = tuple[str, float, float | None, float | None]


class AgainstTruth(Result, eq=True):
    """What was reached, what can be reached, and the difference, each (name, value, low, high)."""

    data: str  # name of the data set
    n: int  # rows
    level: float  # confidence level of the intervals
    error: tuple[Row, ...]  # error seen, Bayes error, excess error
    loss: tuple[Row, ...]  # log loss seen, that of the truth, excess log loss, in nats; empty for more than two classes

    def table(self) -> Table:
        """One row per number, with its interval."""
        rows = zip(*self.error, *self.loss, strict=True)
        return Table(dict(zip(("what", "value", "low", "high"), map(list, rows), strict=True)), self.caption)

    def figure(self) -> Figure:
        panels = {"error (share of rows)": self.error, "log loss (nats per row)": self.loss}
        title = f"Against the truth of {self.data}, {self.n:,} rows"
        return plots.whiskers({label: rows for label, rows in panels.items() if rows}, title=title, at=0.0)

    @property
    def caption(self) -> str:
        numbers = in_words((*self.error, *self.loss))
        return f"Against the truth of {self.data} on {self.n:,} rows, {100 * self.level:g} % intervals: {numbers}."


def against_truth(data: Dataset, p: Any, *, level: float = 0.95, seed: int = 0) -> AgainstTruth:
    """Hold predicted probabilities of synthetic rows against the truth that made them.

    Args:
        data: The synthetic rows, with their truth; fresh ones, not those that the model learned from.
    """
    truth = data.truth
    if truth is None or truth.bayes_error is None:
        raise InputError(f"{data.name!r} has no stated Bayes error; make classes whose truth is known, e.g. 'xor'.")
    y, q, listed = scored(data.y, p, range(len(data.target_names)))
    boot = Bootstrap(len(y), level_of(level), seed=seed)
    wrong, best = q.argmax(1) != y, truth.bayes_error
    seen = mean_score("error", wrong, boot)[:4]
    known: Row = "Bayes error", best, None, None
    if len(listed) > 2 or truth.probability is None:
        low, high = (None if end is None else end - best for end in seen[2:])
        excess: Row = "excess error", seen[1] - best, low, high
        return AgainstTruth(data.name, len(y), boot.level, (seen, known, excess), ())
    one = np.asarray(truth.probability(data.x), dtype=float)
    true = np.column_stack([1 - one, one])  # (n, 2)
    paid = true.max(1) - true[np.arange(len(y)), q.argmax(1)]
    eps = np.finfo(q.dtype).eps
    apart = rel_entr(true, np.clip(q, eps, 1).astype(float)).sum(1)
    nats = {"log loss": log_loss_rows(y, q), "of the truth": entr(true).sum(1), "excess log loss": apart}
    loss = tuple(mean_score(name, rows, boot)[:4] for name, rows in nats.items())
    excess = mean_score("excess error", paid, boot)[:4]
    return AgainstTruth(data.name, len(y), boot.level, (seen, known, excess), loss)
