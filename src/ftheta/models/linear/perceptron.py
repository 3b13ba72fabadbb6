"""Perceptron: planes that learn from one row after the other.

    perceptron rule    row i is wrong (a_y <= a_k, k the best other class):   w_y <- w_y + η x,   w_k <- w_k - η x
    delta rule         every row, every class:                                w_k <- w_k + η (t_k - a_k) x,   t_k = ±1

with a_k = w_k·x + b_k and b as the weight of a constant 1. Of two classes the first has the weights of the second with
the sign turned: Rosenblatt's y = sign(w·x + b), w <- w + η y x. Where planes separate the classes the perceptron rule
finds some after at most (R/γ)² mistakes (`formulas.mistake_bound`); elsewhere it never ends, and the pocket keeps the
best weights so far. The delta rule (least mean squares) goes to the plane of least squares.
Shapes: n rows, D features, K classes, B rows of a block.
References: Rosenblatt, The Perceptron (1958); Widrow and Hoff, Adaptive Switching Circuits (1960); Gallant,
Perceptron-Based Learning Algorithms (1990), for the pocket.
"""

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from scipy.linalg import solve_triangular

from ...check import Count, NonNegative, Positive
from ...draw import Draw
from ...errors import NonFiniteError
from ...formulas import separable
from ...selection import Space
from ...store import Run
from ...train import Callback, Steps
from .._base.plain import Rows
from .._base.rows import Data
from .base import SteppedClassifier

__all__ = ["DeltaRule", "Perceptron", "PerceptronRule"]

SEPARATED, STALE = "a pass without a mistake", "passes no longer help"
BLOCK = 64  # rows whose scalar products the delta rule takes at once
MANY_ROWS = 5000  # from which on passes that do not help are not repeated
MAX_DECIDED = 200  # weights, or rows, up to which separability is decided after a fit that did not converge


class _OneByOne(Steps):
    """Rows (n, D) of classes 0, 1, ... one after the other; one pass is one round. The settings are `Perceptron`'s."""

    kept: ClassVar = ("theta", "pocket", "least", "epoch", "mistakes", "stale", "reason")
    held: Rows | None = None  # for validation
    tol = 1e-4  # share by which the squared error of the delta rule must fall

    def __init__(
        self,
        x: np.ndarray,
        y: np.ndarray,
        n_classes: int,
        *,
        lr: float = 1.0,
        fit_intercept: bool = True,
        shuffle: bool = True,
        patience: int = 10,
        seed: int = 0,
    ) -> None:
        self.x = np.column_stack([x, np.full(len(x), float(fit_intercept))])  # the last column is for b
        self.y, self.lr, self.shuffle, self.patience, self.draw = y, lr, shuffle, patience, Draw(seed)
        self.theta = np.zeros((n_classes, self.x.shape[1]))
        self.pocket, self.least = self.theta.copy(), len(y)  # the best weights, and their errors
        self.epoch = self.mistakes = self.stale = 0

    @abstractmethod
    def learn(self, order: np.ndarray) -> tuple[int, bool | None, dict[str, float]]:
        """A pass in this order: mistakes, whether it helped (None: ask the pocket), and what it reports."""

    def advance(self) -> dict[str, float]:
        """One pass over the rows."""
        n, least, draw = len(self.x), self.least, self.draw.at("order", self.epoch)
        order = torch.randperm(n, generator=draw.generator()).numpy() if self.shuffle else np.arange(n)
        mistakes, helped, own = self.learn(order)
        self.epoch += 1
        self.mistakes += mistakes
        errors = self.update_pocket()
        helped = self.least < least if helped is None else helped
        self.stale = 0 if helped else self.stale + 1
        if not self.reason and self.stale >= self.patience:
            self.reason = STALE
        row = {"epoch": self.epoch, "mistakes": mistakes, "errors": errors, **own}
        if self.held is not None:
            raw = self.held.x @ self.theta[:, :-1].T + self.theta[:, -1]
            row["valid_errors"] = int((raw.argmax(1) != self.held.y).sum())
        return row

    def update_pocket(self) -> int:
        """Errors of the weights now; if they are the fewest so far, the weights go into the pocket."""
        errors = int(((self.x @ self.theta.T).argmax(1) != self.y).sum())
        if errors < self.least:
            self.pocket, self.least = self.theta.copy(), errors
        return errors


class PerceptronRule(_OneByOne):
    """A row on the wrong side moves the plane; a pass without such a row ends it.

    The pocket is updated after every pass, and whenever more rows in succession were right than ever before.
    """

    kept = (*_OneByOne.kept, "run", "longest")
    run = longest = 0

    def learn(self, order: np.ndarray) -> tuple[int, bool | None, dict[str, float]]:
        """Rows are tried some at a time, up to the first that is on the wrong side."""
        x, y, done, mistakes, width = self.x[order], self.y[order], 0, 0, BLOCK
        while done < len(order):
            gap, rivals = self._gaps(self.theta, x[done : done + width], y[done : done + width])
            wrong = gap <= 0
            i = int(wrong.argmax())
            if not wrong[i]:
                done, width, self.run = done + len(gap), 2 * width, self.run + len(gap)
                continue
            if self.run + i > self.longest:
                self.longest = self.run + i
                self.update_pocket()
            step = self.lr * x[done + i]
            self.theta[y[done + i]] += step
            self.theta[rivals[i]] -= step
            done, mistakes, width, self.run = done + i + 1, mistakes + 1, max(8, 2 * i), 0
        if not mistakes:  # no row lies on a plane either
            self.pocket, self.least, self.reason = self.theta.copy(), 0, SEPARATED
        return mistakes, None, {}

    def gaps(self, pocket: bool) -> np.ndarray:
        """How far the own class of each row is above the best other one (n,): of the pocket, or of the last weights."""
        return self._gaps(self.pocket if pocket else self.theta, self.x, self.y)[0]

    def _gaps(self, theta: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The gaps of some rows (m,), and their rivals (m,)."""
        if len(theta) == 2:
            return (x @ (theta[1] - theta[0])) * (2 * y - 1), 1 - y
        raw, at = x @ theta.T, (np.arange(len(x)), y)
        own = raw[at]
        raw[at] = -np.inf
        return own - raw.max(1), raw.argmax(1)


class DeltaRule(_OneByOne):
    """Every row moves the planes towards its targets ±1.

    The errors e of a block, each made with the weights that the rows before it have left, solve a triangular system:
    (I + η L) e = t - X w, L the scalar products x_i·x_j with j < i. It ends when the squared error of some passes has
    not fallen by a share `tol`.
    """

    kept = (*_OneByOne.kept, "best")
    best = np.inf

    def learn(self, order: np.ndarray) -> tuple[int, bool | None, dict[str, float]]:
        """Blocks of rows, as if one by one."""
        square, mistakes = 0.0, 0
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, len(order), BLOCK):
                rows = order[start : start + BLOCK]
                x, targets = self.x[rows], np.where(np.arange(len(self.theta)) == self.y[rows, None], 1.0, -1.0)
                lower = np.eye(len(x)) + self.lr * np.tril(x @ x.T, -1)
                error: Any = solve_triangular(lower, targets - x @ self.theta.T, lower=True, check_finite=False)
                self.theta += self.lr * error.T @ x
                square += float((error**2).mean(1).sum()) / len(order)
                mistakes += int(((targets - error).argmax(1) != self.y[rows]).sum())
        falls, self.best = square < (1 - self.tol) * self.best, min(square, self.best)
        away = not falls and self.stale + 1 >= self.patience and square > 10  # weights of 0 have 1
        if away or not np.isfinite(square) or not np.isfinite(self.theta).all():
            what = f"The delta rule with lr={self.lr:g} diverges in pass {self.epoch + 1}: steps grow where"
            raise NonFiniteError(f"{what} lr ‖x‖² > 2. Leave lr out, or scale the columns, e.g. with Whitening.")
        return mistakes, falls, {"squared_error": square}


class Perceptron(SteppedClassifier):
    """Planes by Rosenblatt's rule, which counts its mistakes, or by the delta rule; two classes or more.

    Rows have no weights here: a row that is seen twice is not a row that counts twice.

    Args:
        rule: "perceptron" learns from rows on the wrong side, "delta" from the error of every row.
        lr: Learning rate η; None: 1 for the perceptron rule (where it only scales the weights), and for the delta
            rule 1 / max ‖(x, 1)‖², half of what is stable.
        epochs: Passes over the rows at most.
        fit_intercept: Learn b; else b = 0.
        shuffle: A new order for every pass; else that of the rows.
        pocket: Predict with the best weights so far; else with the last ones.
        patience: Passes without fewer errors in the pocket (delta: a smaller squared error) after which it ends; None:
            5 for the delta rule, 10 for the perceptron rule on more than 5,000 rows, else no end.
        tol: For the delta rule the share by which the squared error must fall.

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
    patience: Count | None = None
    tol: NonNegative = 1e-4

    space: ClassVar[Space] = {"rule": ["perceptron", "delta"], "pocket": [True, False]}

    def fit(self, X: Any, y: Any, *, run: Run | Path | str | None = None, callbacks: Sequence[Callback] = ()) -> Self:
        """Learn from the rows until a pass has no mistake (perceptron), or no longer helps (delta)."""
        return super().fit(X, y, run=run, callbacks=callbacks)

    def process(self, data: Data, held: Data | None) -> _OneByOne:
        """One of the two rules."""
        x, y, _ = self._rows(data)
        rule = PerceptronRule if self.rule == "perceptron" else DeltaRule
        process = rule(
            *(x, y, len(self.classes_)),
            lr=self._rate(x) if self.lr is None else float(self.lr),
            fit_intercept=self.fit_intercept,
            shuffle=self.shuffle,
            patience=self.patience or (5 if rule is DeltaRule else 10 if len(x) > MANY_ROWS else self.epochs),
            seed=self.seed_,
        )
        process.held, process.tol = None if held is None else self._rows(held), self.tol
        if self.warm_start and hasattr(self, "coef_"):
            theta = np.c_[self.coef_, self.intercept_]
            process.theta = theta if len(theta) > 1 else np.vstack([-theta, theta])
        return process

    def finish(self, process: Any) -> None:
        """The weights of the pocket, or the last ones."""
        theta = process.pocket if self.pocket else process.theta
        theta = theta[1:] if len(theta) == 2 else theta
        self._set_planes(theta[:, :-1], theta[:, -1])  # (R, D), (R,)
        self.mistakes_, delta = process.mistakes, self.rule == "delta"
        self.converged_ = process.reason == STALE if delta else bool((process.gaps(self.pocket) > 0).all())

    def _rate(self, x: np.ndarray) -> float:
        if self.rule == "perceptron":
            return 1.0
        size = float(np.einsum("nd,nd->n", x, x).max()) + self.fit_intercept
        return 1 / size if size else 1.0

    def unfinished(self, process: Any) -> str:
        """Rows that are still on the wrong side, or an error that still falls."""
        if self.converged_ or self.stop_reason_ not in ("rounds", STALE):
            return ""
        if self.rule == "delta":
            return f"The squared error still falls after {self.epochs} passes. Raise epochs or tol."
        x, y, wrong = process.x[:, :-1], process.y, process.least if self.pocket else self.history_[-1]["errors"]
        if not wrong:
            return ""  # all rows are right, some of them on a plane
        which = f"{'best' if self.pocket else 'last'} weights of {self.n_iter_} passes"
        best = f"the {which} have {wrong:.0f} of {len(x)} rows on the wrong side"
        if min(len(x), process.theta.size) > MAX_DECIDED:
            return f"The classes are not separated: {best}. Raise epochs, or take LogisticRegression."
        if not separable(x, y, intercept=self.fit_intercept):
            return f"No plane separates the classes: {best}. LogisticRegression learns such classes too."
        return f"The classes are not yet separated, although planes do it: {best}. Raise epochs, or scale the columns."
