"""Numbers in [0, 1], or cut to ±1: what machines of binary units and networks of signs take.

    unit:  z = (x - low) / (high - low), cut at 0 and 1
    sign:  z = +1 where x lies above the middle, else -1          bit:  1 and 0 there

low and high are those of the training rows: of all pixels together for pictures, of each column for a table. Bytes have
low = 0 and high = 255. A column that does not vary keeps a value in [0, 1]; any other is the lower one of its range.

Shapes: n rows, D columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..check import table
from ..errors import InputError
from ._encoder import Encoder

__all__ = ["RangeEncoder"]

LOWER = {"sign": -1, "bit": 0}  # what lies below the middle


class RangeEncoder(Encoder):
    """Rows brought into a range; a scikit-learn transformer whose state is JSON.

    Args:
        dtype: Of what `transform` gives.
        support: "unit" for [0, 1], "sign" for ±1, "bit" for 0 and 1.
        together: Whether all columns share one range, as pixels do.

    Example:
        >>> encoder = RangeEncoder(support="sign").fit(np.array([[0.0, 3.0], [4.0, 1.0]]))
        >>> encoder.transform(np.array([[1.0, 9.0]])).tolist()
        [[-1.0, 1.0]]
    """

    n_features_in_: int
    feature_names_in_: np.ndarray

    def __init__(
        self,
        dtype: Literal["float32", "float64"] = "float64",
        support: Literal["unit", "sign", "bit"] = "unit",
        together: bool = False,
    ) -> None:
        super().__init__(dtype)
        self.support, self.together = support, together

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the range."""
        x = table(self, _numbers(X), dtype="float64", reset=True)
        if getattr(X, "dtype", None) == np.uint8:
            self.low_, self.high_ = np.zeros(1), np.full(1, 255.0)
        elif self.together:
            self.low_, self.high_ = np.array([x.min()]), np.array([x.max()])
        else:
            self.low_, self.high_ = x.min(0), x.max(0)
        fixed = (self.low_ == self.high_) & (self.low_ >= 0) & (self.low_ <= 1)
        self.low_, self.high_ = np.where(fixed, 0.0, self.low_), np.where(fixed, 1.0, self.high_)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Rows in the range: (n, D)."""
        check_is_fitted(self)
        x = table(self, _numbers(X), dtype="float64", reset=False)
        if self.support != "unit":
            return np.where(x > (self.low_ + self.high_) / 2, 1, LOWER[self.support]).astype(self.dtype)
        width = self.high_ - self.low_
        return np.clip((x - self.low_) / np.where(width > 0, width, 1), 0, 1).astype(self.dtype)

    def align(self, x: Any) -> Any:
        """Rows of the columns that `fit` saw; those of a frame in its order."""
        if hasattr(x, "columns") and hasattr(self, "feature_names_in_"):
            missing = [name for name in self.feature_names_in_ if name not in x.columns]
            if missing:
                raise InputError(f"The column {missing[0]!r} is missing, which the model was fitted with. Add it.")
            return x[list(self.feature_names_in_)]
        if np.shape(x)[1:] != (self.n_features_in_,):
            raise InputError(
                f"The rows have {np.prod(np.shape(x)[1:])} values each; the model was fitted with "
                f"{self.n_features_in_}. Give rows of the same size."
            )
        return x

    def surprises(self, x: Any) -> list[str]:
        """How many values of "unit" lie outside of what `fit` saw, and were cut."""
        if self.support != "unit":
            return []
        numbers = np.asarray(_numbers(x), dtype=float)
        n = int(((numbers < self.low_) | (numbers > self.high_)).sum())
        return [f"{n} values lie outside of the range of the training rows and were cut to it"] if n else []

    def describe(self) -> list[dict[str, str]]:
        """What is done to the columns."""
        how = {"unit": "brought to [0, 1]", "sign": "cut to ±1 at the middle", "bit": "cut to bits at the middle"}[
            self.support
        ]
        ends = f"{self.low_.min():.4g} to {self.high_.max():.4g}"
        return [{"name": "columns", "kind": "numbers", "did": f"{how} of {ends}, {self.n_features_in_} values"}]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns: (D,)."""
        names = getattr(self, "feature_names_in_", [f"value {j}" for j in range(self.n_features_in_)])
        return np.array(names, dtype=object)

    def get_state(self) -> dict[str, Any]:
        """What was learned as JSON values."""
        names = [str(name) for name in getattr(self, "feature_names_in_", [])]
        learned = {"low": self.low_.tolist(), "high": self.high_.tolist(), "n": self.n_features_in_, "names": names}
        return {"encoder": "range", "dtype": self.dtype, "support": self.support, "together": self.together, **learned}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """The encoder that `get_state` described."""
        self = cls(state["dtype"], state["support"], bool(state["together"]))
        self.low_, self.high_ = (np.asarray(state[name], dtype=float) for name in ("low", "high"))
        self.n_features_in_ = int(state["n"])
        np.broadcast_shapes(self.low_.shape, self.high_.shape, (self.n_features_in_,))
        if state["names"]:
            self.feature_names_in_ = np.array(state["names"], dtype=object)
        return self


def _numbers(X: Any) -> Any:
    """The same, if all columns hold numbers."""
    words = [str(name) for name, kind in getattr(X, "dtypes", {}).items() if kind.kind not in "iufb"]
    if words:
        raise InputError(
            f"The column {words[0]!r} holds no numbers, and this model learns from numbers of one range. Leave it out, "
            "or write its levels as columns of 0 and 1."
        )
    return X
