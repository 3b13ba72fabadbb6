"""Decisions from probabilities: the cheapest answer under priors, costs and the right to refuse one.

    answer(x) = argmin_a Σ_k L_ka P(k | x),    P(k | x) ∝ p_k π'_k / π_k   where classes come as often as π', not as π

Without a loss all errors cost 1. `reject` is what no answer costs: with that loss, rows whose largest probability is
below 1 - reject have none (Chow's rule). Of two classes, `threshold` t gives the second where p > t: the costs t and
1 - t.
Shapes: n rows, K classes, A answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from ..errors import InputError
from ..formulas import decisions
from ._rows import array, probabilities

__all__ = ["decide"]


def decide(
    p: Any,
    loss: Any = None,
    priors: Any = None,
    trained_priors: Any = None,
    reject: float | None = None,
    threshold: float | None = None,
    classes: Sequence[Any] | None = None,
    rejected: Any = "reject",
) -> np.ndarray:
    """The label of each row (n,).

    Args:
        p: Probabilities (n, K), one column per class; (n,) is the probability of the second of two.
        loss: Cost of each answer (K, K), a row for each true class; None: 1 for every error.
        priors: Share of each class where the answers are used (K,); None: as in training.
        trained_priors: Share of each class in the training rows (K,); needed with `priors`.
        reject: Cost of giving no answer; None: one is always given.
        threshold: The second of two classes is the answer where its probability is above it; in place of a loss.
        classes: Labels in the order of the columns; None: 0, 1, ...
        rejected: Label of the rows without an answer.

    Example:
        >>> decide([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8]], loss=[[0, 1], [5, 0]], classes=["well", "ill"])
        array(['well', 'ill', 'ill'], dtype='<U4')
    """
    shape = array("p", p).shape
    if len(shape) not in (1, 2) or not shape[0]:
        raise InputError(f"p has shape {shape}; probabilities (n, K) of at least one row are needed.")
    rows, k = shape[0], (*shape, 2)[1]
    labels = list(range(k)) if classes is None else list(classes)
    q = probabilities(p, labels, rows).astype(np.float64)
    if (priors is None) != (trained_priors is None):
        raise InputError(
            "priors= says how often each class comes where the answers are used, and trained_priors= how often it came "
            "in training; pass both or neither."
        )
    if priors is not None:
        q = decisions.reweigh(q, trained_priors, priors)
    if threshold is None:
        cost = decisions.loss_matrix(loss, k)
        if cost.shape[1] != k:
            raise InputError(f"loss has shape {cost.shape}; an answer for each class is needed, so ({k}, {k}).")
        answer = decisions.decide(q, cost, reject)
    else:
        _refuse(k, threshold, loss, reject)
        answer = (q[:, 1] > threshold).astype(int)
    return _labeled(answer, labels, rejected)


def _refuse(k: int, threshold: float, loss: Any, reject: float | None) -> None:
    if k != 2:
        raise InputError(f"threshold={threshold} parts two classes, but p has {k}; give a loss matrix instead.")
    if loss is not None or reject is not None:
        raise InputError(f"threshold={threshold} is a decision by itself; leave loss= and reject= out.")
    if not isinstance(threshold, Real) or not np.isfinite(threshold):
        raise InputError(f"threshold is {threshold!r}; give a finite number.")


def _labeled(answer: np.ndarray, labels: list[Any], rejected: Any) -> np.ndarray:
    """Labels in an array of their own kind, or of objects where the label of rejected rows is of another."""
    known = np.array(labels)
    if (answer >= 0).all():
        return known[answer]
    if rejected in labels:
        raise InputError(f"rejected={rejected!r} is the name of a class; give rows without an answer another label.")
    same = np.array([rejected]).dtype.kind == known.dtype.kind
    return np.array([*labels, rejected], dtype=None if same else object)[answer]
