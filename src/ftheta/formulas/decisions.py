"""Bayes decisions: what to do, given how probable each class is and what each error costs.

    P(k | x) = π_k p(x | k) / Σ_j π_j p(x | j)            posterior, from priors π and class densities
    R(a | x) = Σ_k L_ka P(k | x)                          risk of answer a; the best answer has the least
    reject   where the least risk is above the cost c of no answer (Chow: where max_k P(k | x) < 1 - c)
    R        = Σ_k π_k Σ_a L_ka ∫_{where a is answered} p(x | k) dx

Shapes: n rows, K classes, A answers, J features; L (K, A), a row for each true class, 0 and 1 where none is given.
Reference: Chow, On optimum recognition error and reject tradeoff, IEEE Trans. Information Theory 16 (1970); Saerens,
Latinne and Decaestecker, Adjusting the outputs of a classifier to new a priori probabilities, Neural Computation 14
(2002); Bishop, Pattern Recognition and Machine Learning (2006), section 1.5.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import log_softmax

from ..errors import InputError, InputTypeError

Density = Callable[[Any], Any]


def _numbers(name: str, given: Any) -> np.ndarray:
    try:
        return np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise InputTypeError(f"{name} is {given!r:.80}; numbers in rows of equal length are needed.") from None


def _probabilities(given: Any) -> np.ndarray:
    p = _numbers("p", given)
    if not p.ndim or not (p >= 0).all():
        raise InputError(f"p has shape {p.shape}; probabilities of K classes, none negative or missing, are needed.")
    return p


def shares(name: str, given: Any, k: int | None = None) -> np.ndarray:
    """Probabilities of K classes, checked: not negative, with sum 1: (K,)."""
    p = _numbers(name, given)
    if p.ndim != 1 or not len(p) or k not in (None, len(p)):
        raise InputError(f"{name} has shape {p.shape}; one share for each of the {k or 'K'} classes is needed.")
    if not (p >= 0).all() or not abs(p.sum() - 1) <= 1e-6:
        raise InputError(f"{name} is {p.tolist()} with sum {p.sum():.6g}; shares are not negative and sum to 1.")
    return p


def loss_matrix(given: Any, k: int) -> np.ndarray:
    """What answer a costs where class k is true, checked: (K, A); None is 0 on the diagonal and 1 beside it."""
    loss = 1.0 - np.eye(k) if given is None else _numbers("loss", given)
    if loss.ndim != 2 or loss.shape[0] != k or not loss.shape[1]:
        raise InputError(
            f"loss has shape {loss.shape}; {k} rows are needed, one for each true class, and a column for each answer."
        )
    if not np.isfinite(loss).all():
        raise InputError(f"loss is {loss.tolist()}; every cost must be a finite number.")
    return loss


def posterior(log_likelihood: Any, priors: Any) -> np.ndarray:
    """P(k | x) from log p(x | k): (..., K), (K,) -> (..., K).

    Example:
        >>> posterior(np.log([0.2, 0.6]), [0.75, 0.25])
        array([0.5, 0.5])
    """
    given = _numbers("log_likelihood", log_likelihood)
    prior = shares("priors", priors, given.shape[-1] if given.ndim else 0)
    with np.errstate(divide="ignore"):
        joint = given + np.log(prior)
    if np.isnan(joint).any() or (joint == np.inf).any():
        raise InputError("log_likelihood holds NaN or +inf; each must be the logarithm of a finite density.")
    impossible = joint.max(-1) == -np.inf
    if impossible.any():
        row = np.argwhere(impossible)[0].tolist() or [0]
        raise InputError(f"No class with a prior above 0 can produce row {row[0]}: all its densities are 0.")
    return np.exp(log_softmax(joint, axis=-1))


def reweigh(p: Any, old: Any, new: Any) -> np.ndarray:
    """Posteriors under other priors, P'(k | x) ∝ P(k | x) new_k / old_k, where p(x | k) stays: (..., K).

    Example:
        >>> reweigh([0.5, 0.5], old=[0.5, 0.5], new=[0.99, 0.01])
        array([0.99, 0.01])
    """
    given = _probabilities(p)
    before = shares("old", old, given.shape[-1])
    if not before.all():
        raise InputError(f"old is {before.tolist()}; a class that training never saw has no posterior to correct.")
    with np.errstate(divide="ignore"):
        return posterior(np.log(given) - np.log(before), new)


def risks(p: Any, loss: Any = None) -> np.ndarray:
    """The expected cost of each answer, R(a | x): (..., K) -> (..., A).

    Example:
        >>> risks([0.75, 0.25])
        array([0.25, 0.75])
    """
    given = _probabilities(p)
    return given @ loss_matrix(loss, given.shape[-1])


def decide(p: Any, loss: Any = None, reject: float | None = None) -> np.ndarray:
    """The answer of least risk, the first of equals; -1 where it costs more than `reject`: (..., K) -> (...).

    Example:
        >>> decide([[0.75, 0.25], [0.95, 0.05], [0.4, 0.6]], reject=0.3)
        array([ 0,  0, -1])
    """
    each = risks(p, loss)
    if reject is None:
        return each.argmin(-1)
    cost = _numbers("reject", reject)
    if cost.ndim or not np.isfinite(cost):
        raise InputError(f"reject is {reject}; the cost of giving no answer must be a finite number.")
    above = each.min(-1) - cost > 1e-14 * max(1, abs(each).max(initial=0))  # a tie stays one whatever rounding does
    return np.where(above, -1, each.argmin(-1))


class Rule(NamedTuple):
    """A decision rule on a line: answer a_i between cut i - 1 and cut i, which belongs to it."""

    cuts: np.ndarray  # where the answer changes, ascending: (m,)
    answers: np.ndarray  # of the pieces, left to right: (m + 1,)

    def at(self, x: Any) -> np.ndarray:
        """The answer at each place: (n,) -> (n,)."""
        return self.answers[np.searchsorted(self.cuts, x)]


def gaussian_rule(means: Any, sds: Any, priors: Any, loss: Any = None) -> Rule:
    """The best rule for two Gaussian classes, as the roots of a quadratic: one cut for equal spreads, else 0 or 2.

    Example:
        >>> gaussian_rule([0, 2], [1, 1], [0.75, 0.25], [[0, 1], [100, 0]]).cuts
        array([-0.753])
    """
    m, s = _numbers("means", means), _numbers("sds", sds)
    if not (m.shape == s.shape == (2,) and (s > 0).all() and np.isfinite([m, s]).all()):
        raise InputError(f"means={m.tolist()}, sds={s.tolist()}; two finite means and two spreads above 0 are needed.")
    cost = loss_matrix(loss, 2)
    extra = np.array([cost[0, 1] - cost[0, 0], cost[1, 0] - cost[1, 1]]) if cost.shape == (2, 2) else np.zeros(2)
    if not (extra > 0).all():
        raise InputError(f"loss is {cost.tolist()}; two answers are needed; each error must cost more than no error.")
    weight = shares("priors", priors, 2) * extra
    if not weight.all():
        return Rule(np.empty(0), np.array([int(weight[1] > 0)]))
    wide = int(s[1] >= s[0])  # in units of the narrow class: a z² + b z + c > 0 where the wide one is the answer
    narrow = 1 - wide
    r, d = s[narrow] / s[wide], (m[wide] - m[narrow]) / s[wide]
    high = np.log(weight) - np.log(s)
    a, b, c = (1 - r**2) / 2, d * r, high[wide] - high[narrow] - d**2 / 2
    roots = np.sort(np.roots([a, b, c]).real) if b * b > 4 * a * c else np.empty(0)
    cuts = m[narrow] + s[narrow] * roots
    first = a > 0 or b < 0 or (b == 0 and c > 0)  # whether the wide class is answered at -∞
    return Rule(cuts, (np.arange(len(cuts) + 1) + first + narrow) % 2)


def best_rule(log_joint: Density, grid: Any, loss: Any = None) -> Rule:
    """The best rule for any classes on a line: changes found on a grid, then to the last digit (Brent).

    Args:
        log_joint: log π_k p(x | k) up to what all classes share: (n,) -> (n, K).
        grid: Places, ascending (n,): regions narrower than their distance are missed, so be fine where a class is.
        loss: Costs (K, A).
    """

    def each(x: Any) -> np.ndarray:
        return risks(np.exp(log_softmax(log_joint(np.atleast_1d(x)), axis=-1)), loss)  # (n, A)

    grid = _numbers("grid", grid)
    best = each(grid).argmin(1)
    change = np.flatnonzero(np.diff(best))

    def cut(i: int) -> float:
        return brentq(lambda x: float(np.subtract(*each(x)[0, best[[i, i + 1]]])), grid[i], grid[i + 1])  # pyright: ignore

    return Rule(np.array([cut(int(i)) for i in change]), best[np.append(change, -1)])


def risk(densities: Sequence[Density], priors: Any, rule: Rule, loss: Any = None, within: Any = None) -> float:
    """The expected cost of a rule on a line, by quadrature.

    Args:
        densities: p(x | k) of each class, as functions of x.
        priors: Shares of the classes (K,).
        rule: Which answer where.
        loss: Costs (K, A); None: the risk is the probability of an error.
        within: (low, high) that hold all the mass; None: the entire line.

    Example:
        >>> from scipy.stats import norm
        >>> risk([norm(0).pdf, norm(2).pdf], [0.5, 0.5], gaussian_rule([0, 2], [1, 1], [0.5, 0.5]))
        0.158655
    """
    k = len(densities)
    low, high = (-np.inf, np.inf) if within is None else within
    cost, prior = loss_matrix(loss, k), shares("priors", priors, k)
    if not 0 <= min(rule.answers) <= max(rule.answers) < cost.shape[1]:
        raise InputError(f"rule.answers is {list(rule.answers)}; the loss has answers from 0 to {cost.shape[1] - 1}.")
    ends = np.concatenate([[low], np.clip(rule.cuts, low, high), [high]])
    pairs = list(zip(ends[:-1], ends[1:], strict=True))
    mass = np.array([[quad(f, *pair, epsabs=1e-12, limit=200)[0] for pair in pairs] for f in densities])  # (K, m + 1)
    short = abs(mass.sum(1) - 1) > 1e-6
    if short.any():
        i = int(short.argmax())
        raise InputError(
            f"The density of class {i} integrates to {mass[i].sum():.6g} over ({low:g}, {high:g}), not to 1; "
            "pass a density, and within=(low, high) close around its mass."
        )
    return float((prior[:, None] * cost[:, rule.answers] * mass).sum())
