"""Perceptron: planes that learn from one row after the other.

    perceptron rule    row i is wrong (a_y <= a_k, k the best other class):   w_y <- w_y + η x,   w_k <- w_k - η x
    delta rule         every row, every class:                                w_k <- w_k + η (t_k - a_k) x,   t_k = ±1

with a_k = w_k·x + b_k and b as the weight of a constant 1. There is one weight vector a class; of two classes the first
has that of the second with the sign turned, so that it is Rosenblatt's y = sign(w·x + b), w <- w + η y x. Where planes
separate the classes the perceptron rule finds some after at most (R/γ)² mistakes (`formulas.mistake_bound`); elsewhere
it goes round for ever, and the pocket keeps the best weights that were met. The delta rule (least mean squares) goes to
the plane of least squares.

Shapes: n rows, D features, K classes, B rows of a block.
References: Rosenblatt, The Perceptron (1958); Widrow and Hoff, Adaptive Switching Circuits (1960); Gallant,
Perceptron-Based Learning Algorithms (1990), for the pocket.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from ..check import Count, NonNegative, Positive, RandomState
from ..draw import Draw, fresh_seed
from ..errors import NonFiniteError
from ..formulas import separable
from ..store import Tree
from ..train import iterate
from ._plain import PlaneClassifier

__all__ = ["DeltaRule", "Perceptron", "PerceptronRule"]

BLOCK = 64  # rows whose scalar products are taken at once
PLAIN = 2.0**26  # beyond this size of features, or below its inverse, the constant 1 or they are lost to rounding
MOST = 200  # weights, or rows, up to which separability is decided after a fit that did not converge


class _OneByOne(ABC):
    """One row after the other as a process: one pass is one round.

    Args:
        x: Rows (n, D).
        y: Their classes 0, 1, ... (n,).
        n_classes: K.
        lr: η.
        fit_intercept: Learn b; else b = 0.
        shuffle: A new order for every pass; else that of the rows.
        seed: Of the orders.
    """

    def __init__(
        self,
        x: np.ndarray,
        y: np.ndarray,
        n_classes: int,
        *,
        lr: float = 1.0,
        fit_intercept: bool = True,
        shuffle: bool = True,
        seed: int = 0,
    ) -> None:
        self.x, self.y, self.lr, self.fit_intercept, self.shuffle = x, y, lr, fit_intercept, shuffle
        self.draw = Draw(seed)
        self.theta = np.zeros((n_classes, x.shape[1] + 1))  # the last column is b
        self.pocket, self.least = self.theta.copy(), len(y)  # the best weights, and their errors
        self.epoch = self.mistakes = 0
        self.reason = ""

    @abstractmethod
    def _learn(self, x: np.ndarray, y: np.ndarray, raw: np.ndarray, gram: np.ndarray) -> int:
        """Go through a block (B, D) with these raw outputs (B, K) and scalar products (B, B); count the mistakes."""

    @abstractmethod
    def _end(self, mistakes: int) -> dict[str, float]:
        """Look at a finished pass; what it has to say of its own."""

    def raw(self, x: np.ndarray) -> np.ndarray:
        """Raw outputs of rows: (n, K)."""
        return x @ self.theta[:, :-1].T + self.theta[:, -1]

    def advance(self) -> dict[str, float]:
        """One pass over the rows."""
        order, mistakes = self._order(), 0
        for start in range(0, len(order), BLOCK):
            rows = order[start : start + BLOCK]
            x = self.x[rows]
            mistakes += self._learn(x, self.y[rows], self.raw(x), x @ x.T + self.fit_intercept)
        self.epoch += 1
        self.mistakes += mistakes
        own = self._end(mistakes)
        return {"epoch": self.epoch, "mistakes": mistakes, "errors": self._keep(), **own}

    def _order(self) -> np.ndarray:
        n = len(self.x)
        if not self.shuffle:
            return np.arange(n)
        return torch.randperm(n, generator=self.draw.at("order", self.epoch).generator()).numpy()

    def _move(self, k: int | slice, step: np.ndarray, size: Any) -> None:
        """Add steps to weights and, where it is learned, b."""
        self.theta[k, :-1] += step
        self.theta[k, -1] += size * self.fit_intercept

    def _keep(self) -> int:
        """Errors of the weights now; if they are the fewest so far, the weights go into the pocket."""
        errors = int((self.raw(self.x).argmax(1) != self.y).sum())
        if errors < self.least:
            self.pocket, self.least = self.theta.copy(), errors
        return errors

    def state_dict(self) -> Tree:
        """Weights, pocket and counts."""
        arrays = {"theta": self.theta.copy(), "pocket": self.pocket.copy()}
        return arrays | {name: getattr(self, name) for name in ("least", "epoch", "mistakes", "reason", *self.own)}

    def load_state_dict(self, tree: Tree) -> None:
        """Put them back."""
        for name, value in tree.items():
            setattr(self, name, value.copy() if isinstance(value, np.ndarray) else value)

    own: tuple[str, ...] = ()  # what a rule remembers beside


class PerceptronRule(_OneByOne):
    """Rosenblatt's rule as a process: a row on the wrong side moves the plane; a pass without such a row ends it.

    The pocket is looked at after every pass, and whenever more rows in succession were right than ever before.
    """

    own = ("run", "longest")
    run = longest = 0

    def _learn(self, x: np.ndarray, y: np.ndarray, raw: np.ndarray, gram: np.ndarray) -> int:
        hide = np.where(np.arange(raw.shape[1]) == y[:, None], np.inf, 0.0)  # of the own class, from the rivals
        rows, done, mistakes = np.arange(len(y)), 0, 0
        while done < len(y):
            rivals = raw[done:] - hide[done:]
            wrong = np.flatnonzero(raw[rows[done:], y[done:]] <= rivals.max(1))
            if not len(wrong):
                break
            self._ratchet(int(wrong[0]))
            i, rival = done + int(wrong[0]), int(rivals[wrong[0]].argmax())
            for k, lr in ((y[i], self.lr), (rival, -self.lr)):
                self._move(k, lr * x[i], lr)
                raw[:, k] += lr * gram[i]
            done, mistakes = i + 1, mistakes + 1
        self.run += len(y) - done
        return mistakes

    def _ratchet(self, right: int) -> None:
        """A mistake after some right rows: were these the longest run?"""
        run, self.run = self.run + right, 0
        if run > self.longest:
            self.longest = run
            self._keep()

    def _end(self, mistakes: int) -> dict[str, float]:
        if not mistakes:  # no row lies on a plane either
            self.pocket, self.least, self.reason = self.theta.copy(), 0, "a pass without a mistake"
        return {}


class DeltaRule(_OneByOne):
    """The delta rule as a process: every row moves the planes towards its targets ±1.

    The errors e of a block, each made with the weights that the rows before it have left, solve a triangular system:
    (I + η L) e = t - X w, L the scalar products x_i·x_j with j < i. It ends when the squared error of five passes has
    not fallen by a share `tol`.
    """

    own = ("squares", "best", "stale")
    squares, best, stale, tol = 0.0, np.inf, 0, 1e-4

    def _learn(self, x: np.ndarray, y: np.ndarray, raw: np.ndarray, gram: np.ndarray) -> int:
        targets = np.where(np.arange(raw.shape[1]) == y[:, None], 1.0, -1.0)  # (B, K)
        with np.errstate(over="ignore", invalid="ignore"):
            error: Any = solve_triangular(
                np.eye(len(x)) + self.lr * np.tril(gram, -1), targets - raw, lower=True, check_finite=False
            )
            self._move(slice(None), self.lr * error.T @ x, self.lr * error.sum(0))
            self.squares += float((error**2).mean(1).sum())
        return int(((targets - error).argmax(1) != y).sum())

    def _end(self, mistakes: int) -> dict[str, float]:
        square, self.squares = self.squares / len(self.x), 0.0
        falls = square < (1 - self.tol) * self.best
        self.best, self.stale = min(square, self.best), 0 if falls else self.stale + 1
        away = self.stale >= 5 and square > 10  # weights of 0 have 1
        if away or not np.isfinite(square) or not np.isfinite(self.theta).all():
            raise NonFiniteError(
                f"The delta rule with lr={self.lr:g} has run away in pass {self.epoch}: steps grow where lr ‖x‖² > 2. "
                "Leave lr out, or scale the columns first, e.g. with Whitening(method='standard')."
            )
        self.reason = "" if self.stale < 5 else "the squared error no longer falls"
        return {"squared_error": square}


@dataclass(kw_only=True, eq=False, repr=False)
class Perceptron(PlaneClassifier):
    """Planes by Rosenblatt's rule, which counts its mistakes, or by the delta rule; two classes or more.

    Rows have no weights here: a row that is seen twice is not a row that counts twice. Features of a size beyond
    2^±26 are measured in their largest entry first, so that neither they nor the intercept are lost to rounding.

    Args:
        rule: "perceptron" learns from rows on the wrong side, "delta" from the error of every row.
        lr: Learning rate η; None: 1 for the perceptron rule (where it only scales the weights), and for the delta
            rule 1 / max ‖(x, 1)‖², half of what is stable.
        epochs: Passes over the rows at most.
        fit_intercept: Learn b; else b = 0.
        shuffle: A new order for every pass; else that of the rows.
        pocket: Answer with the best weights that were met; else with the last ones.
        tol: The delta rule ends when the squared error of five passes has not fallen by this share.
        random_state: Seed of the orders; None takes fresh entropy, kept in `seed_`.

    Example:
        >>> gate = Perceptron(random_state=0).fit([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 0, 0, 1])
        >>> gate.predict([[0, 1], [1, 1]]), gate.converged_
        (array([0, 1]), True)
    """

    rule: Literal["perceptron", "delta"] = "perceptron"
    lr: Positive | None = None
    epochs: Count = 100
    fit_intercept: bool = True
    shuffle: bool = True
    pocket: bool = True
    tol: NonNegative = 1e-4
    random_state: RandomState = None

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Go through the rows until a pass has no mistake (perceptron), or no longer helps (delta)."""
        x, index, _ = self._learned(X, y, None)
        unit = _unit(x)
        x = x if unit == 1 else x / unit
        process = self._process(x, index)
        self.history_ = iterate(process, rounds=self.epochs)
        theta = process.pocket if self.pocket else process.theta
        theta = theta[1:] if len(theta) == 2 else theta
        self.coef_, self.intercept_ = theta[:, :-1] / unit, theta[:, -1].copy()  # (R, D), (R,)
        self.mistakes_, self.n_iter_, self.converged_ = process.mistakes, process.epoch, bool(process.reason)
        if not self.converged_:
            warnings.warn(self._unfinished(x, index, process.least), ConvergenceWarning, stacklevel=3)
        return self

    def _process(self, x: np.ndarray, index: np.ndarray) -> _OneByOne:
        known = self.random_state is None or isinstance(self.random_state, int | np.integer)
        given = self.random_state if known else check_random_state(self.random_state).randint(2**31 - 1)
        self.seed_ = fresh_seed() if given is None else int(given)
        rule = PerceptronRule if self.rule == "perceptron" else DeltaRule
        process = rule(
            *(x, index, len(self.classes_)),
            lr=self._rate(x) if self.lr is None else float(self.lr),
            fit_intercept=self.fit_intercept,
            shuffle=self.shuffle,
            seed=self.seed_,
        )
        if isinstance(process, DeltaRule):
            process.tol = self.tol
        return process

    def _rate(self, x: np.ndarray) -> float:
        if self.rule == "perceptron":
            return 1.0
        size = float(np.einsum("nd,nd->n", x, x).max()) + self.fit_intercept
        return 1 / size if size else 1.0

    def _unfinished(self, x: np.ndarray, index: np.ndarray, errors: int) -> str:
        if self.rule == "delta":
            return f"The squared error still falls after {self.epochs} passes. Raise epochs or tol."
        best = f"the best weights of {self.epochs} passes have {errors} of {len(x)} rows on the wrong side"
        if min(len(x), len(self.classes_) * (x.shape[1] + 1)) > MOST:
            return f"The classes are not separated: {best}. Raise epochs, or take LogisticRegression."
        if not separable(x, index, intercept=self.fit_intercept):
            return f"No plane separates the classes: {best}. LogisticRegression learns such classes too."
        return (
            f"The classes are not yet separated, although planes exist that do it: {best}. Raise epochs, or give all "
            "columns one scale, e.g. with Whitening(method='standard')."
        )


def _unit(x: np.ndarray) -> float:
    """What x is measured in: 1, or about its largest entry where that is out of proportion to the constant 1."""
    largest = max(float(x.max()), -float(x.min()))
    if largest == 0 or 1 / PLAIN <= largest <= PLAIN:
        return 1.0
    return 2.0 ** np.clip(np.floor(np.log2(largest)), -1000, 1000)
