"""What linear models share: rows checked on the way in, planes and classes on the way out.

    regress:   ŷ = x·w + b
    classify:  predict = argmax_k of the raw outputs, or the sign of the only one

Shapes: n rows, D features, T targets, K classes, R raw outputs (1 for two classes, K for more).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ...data import InputSpec
from ...data.kinds import Table
from ...errors import InputError
from ...tasks import Classify
from ...train import Training
from .._base.plain import Classes, FewThreads, Rows, Scored, dense
from .._base.rows import Data
from .._base.stepped import HARMLESS, Stepped

DEPENDENT = 1e-10  # what other columns leave of a column of length 1 that follows from them
CONSTANT = 8 * np.finfo(float).eps  # range of a constant column, in units of its largest number


def centered(x: np.ndarray, weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Columns about their means, exactly 0 where they are constant up to rounding (n, D); the means (D,)."""
    mean = np.average(x, axis=0, weights=weight)
    mean = mean + np.average(x - mean, axis=0, weights=weight)  # rounding error where it is large
    about = x - mean
    about[:, np.ptp(x, axis=0) <= CONSTANT * np.abs(x).max(0)] = 0.0
    return about, mean


class Design(NamedTuple):
    """√v A = Q R for the independent columns of A = (1, x - x̄), or of x without an intercept."""

    a: np.ndarray  # A (n, P)
    scale: np.ndarray  # √v (n,)
    mean: np.ndarray  # x̄ (D,), 0 without an intercept
    q: np.ndarray  # orthonormal columns (n, r)
    root: np.ndarray  # (r, r), (AᵀVA)⁻¹ = root rootᵀ
    kept: np.ndarray  # columns that do not follow from those before (P,)

    def solve(self, y: np.ndarray) -> np.ndarray:
        """θ of the columns that are kept, for y (n,) or (n, T)."""
        return self.root @ (self.q.T @ (y.T * self.scale).T)


def design(x: np.ndarray, weight: np.ndarray | None, intercept: bool) -> Design:
    """The design of rows x (n, D) with weights (n,)."""
    about, mean = centered(x, weight) if intercept else (x, np.zeros(x.shape[1]))
    a = np.hstack([np.ones((len(x), int(intercept))), about])
    scale = np.ones(len(x)) if weight is None else np.sqrt(weight)
    return Design(a, scale, mean, *decompose(a * scale[:, None]))


def decompose(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Q, root and kept of columns (n, P); a column that follows from those before it is left out, as in R."""
    size = np.linalg.norm(a, axis=0)
    unit = a / np.where(size > 0, size, 1.0)
    q, r = np.linalg.qr(unit)
    kept = np.ones(a.shape[1], bool)
    if len(r) < a.shape[1] or np.abs(np.diag(r)).min(initial=1) <= DEPENDENT:
        kept = _independent(r)
        q, r = np.linalg.qr(unit[:, kept])
    sign = np.where(np.diag(r) < 0, -1.0, 1.0)  # so that R is unique
    return q * sign, linalg.solve_triangular(r * sign[:, None], np.eye(len(r))) / size[kept, None], kept


def _independent(r: np.ndarray) -> np.ndarray:
    """Which columns of length 1 do not follow from those before (P,)."""
    basis, kept = np.zeros((len(r), 0)), np.zeros(r.shape[1], bool)
    for j, column in enumerate(r.T):
        rest = column - basis @ (basis.T @ column)
        rest -= basis @ (basis.T @ rest)
        kept[j] = np.linalg.norm(rest) > DEPENDENT
        if kept[j]:
            basis = np.column_stack([basis, rest / np.linalg.norm(rest)])
    return kept


def feature_names(estimator: Any) -> list[str]:
    """Names of the columns, or x0, x1, ..."""
    return [str(n) for n in getattr(estimator, "feature_names_in_", (f"x{j}" for j in range(estimator.n_features_in_)))]


class LinearAnswers:
    """Predictions of a plane."""

    coef_: np.ndarray
    intercept_: np.ndarray

    def predict(self: Any, X: ArrayLike) -> np.ndarray:
        """x·w + b of each row: (n,) or (n, T)."""
        check_is_fitted(self)
        return self._table(X, dtype=self.coef_.dtype.name) @ self.coef_.T + self.intercept_


class Summarized:
    """A model with statistics, for which `_kept` is a copy of the rows of the fit; no file and no pickle holds it."""

    def __getstate__(self) -> dict[str, Any]:
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_kept"}

    @property
    def summary_(self: Any) -> Any:
        """Standard errors, tests and fit of the rows it was fitted to; of linear regression for one target."""
        check_is_fitted(self)
        if "_kept" not in vars(self):
            raise InputError("The summary needs the rows it was fitted to, and a file has none: call summarize(X, y).")
        return self._summarized(vars(self)["_kept"])


class Planes:
    """Raw outputs x·w + b: of the second of two classes, or one per class."""

    coef_: np.ndarray  # (R, D)
    intercept_: np.ndarray  # (R,)

    def decision_function(self: Any, X: ArrayLike) -> np.ndarray:
        """The raw output of the second class, above 0 where it is predicted: (n,); for more classes of each: (n, K)."""
        raw = self._table(X) @ self.coef_.T + self.intercept_
        return raw[:, 0] if len(self.classes_) == 2 else raw


@dataclass(frozen=True)
class _DenseTable(Table):
    """A table that may be a SciPy sparse matrix."""

    def check(self, X: Any, owner: Any, spec: InputSpec | None = None) -> Any:
        return super().check(dense(X), owner, spec)


class SteppedClassifier(FewThreads, Planes, Classes, Scored, Stepped):
    """Planes between classes that are learned step by step.

    Args:
        epochs: Steps at most.
        validation: Share of the rows held out; what is reached on them is in `history_`.
        training: Time limit and progress: `Training(seconds=60, progress=True)`.
    """

    fit = Stepped.fit  # with few threads

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def kind(self) -> Table:
        return _DenseTable("float64")

    def task(self) -> Classify:
        return Classify(getattr(self, "class_weight", None), "float64")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        unused = [k for k, v in vars(self.settings).items() if k not in HARMLESS and v != getattr(Training(), k)]
        if unused:
            own = f"{type(self).__name__} does not use training.{unused[0]}: it is a setting of nets."
            raise InputError(f"{own} Of training it uses {', '.join(HARMLESS)}.")

    def _table(self, X: Any) -> np.ndarray:
        return self.checked(X).x.content()[0]

    def _rows(self, data: Data) -> Rows:
        """Rows with places in `classes_`."""
        if self.target_.kind == "multilabel":
            raise InputError(f"{type(self).__name__} learns one class per row, and y has {self.target_.n} columns.")
        return Rows(data.x.content()[0], data.y.astype(int), data.weight)
