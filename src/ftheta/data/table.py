"""Tables as arrays of numbers that a network can learn from.

    row of numbers, text and dates  ->  (plan_1(x_1), ..., plan_D(x_D)),     every plan from the training rows alone

Numbers are standardised, text becomes one column a level, dates days and places on circles, missing cells are marked
(see `_columns`). Pictures are shifted and scaled by one mean and one deviation of all their pixels.
Shapes: n rows, D columns, W columns of numbers.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from ..check import table
from ..errors import InputError
from ._columns import Dropped, Levels, Number, Plan, learn, number, plan_of
from ._encoder import Encoder
from .encoded import BLOCK, Encoded

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PixelEncoder", "TableEncoder"]


class TableEncoder(Encoder):
    """The columns of a table as standardised numbers; a scikit-learn transformer whose state is JSON.

    Learned: `plans_`, one a column, `n_features_in_` and, from a frame, `feature_names_in_`.

    Args:
        dtype: Of what `transform` gives.

    Example:
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"size": [1.0, 3.0, None], "colour": ["red", "blue", "red"]})
        >>> encoder = TableEncoder().fit(frame)
        >>> encoder.get_feature_names_out().tolist()
        ['size', 'size missing', 'colour=blue', 'colour=red']
        >>> encoder.transform(frame).tolist()
        [[-1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]]
    """

    n_features_in_: int
    feature_names_in_: np.ndarray

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn a plan for every column from these rows."""
        X = self._checked(X, reset=True)
        if isinstance(X, np.ndarray):
            names: Sequence[str | None] = getattr(self, "feature_names_in_", np.full(X.shape[1], None)).tolist()
            self.plans_: list[Plan] = [_of_array(X[:, j], name) for j, name in enumerate(names)]
        else:
            self.plans_ = [learn(X.iloc[:, j], str(name)) for j, name in enumerate(X.columns)]
        if not any(plan.outputs for plan in self.plans_) and not isinstance(X, np.ndarray):
            self.plans_ = [_or_number(plan, X.iloc[:, j]) for j, plan in enumerate(self.plans_)]
        if not any(plan.outputs for plan in self.plans_):
            raise InputError(f"No column of {self.n_features_in_} can be learned from: {self._why_dropped()}.")
        constant = [j for j, plan in enumerate(self.plans_) if isinstance(plan, Number) and plan.constant]
        if constant:
            warnings.warn(self._constant_sentence(constant), UserWarning, stacklevel=2)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """The columns of `fit` as their plans say: (n, W)."""
        return np.asarray(self.encode(X))

    def encode(self, X: Any) -> Encoded:
        """What `transform` gives, with levels kept as codes, which takes less memory; neural estimators take it."""
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        columns = list(X.T) if isinstance(X, np.ndarray) else self._read(X)
        start = np.cumsum([0, *(len(plan.outputs) for plan in self.plans_)])
        dense = [j for j, plan in enumerate(self.plans_) if not isinstance(plan, Levels)]
        levels = [j for j, plan in enumerate(self.plans_) if isinstance(plan, Levels)]
        places = np.concatenate([np.arange(0), *(np.arange(start[j], start[j + 1]) for j in dense)])
        codes = np.empty((len(X), len(levels)), dtype=np.int16 if start[-1] < 2**15 else np.int32)
        for c, j in enumerate(levels):
            codes[:, c] = columns[j]
            codes[:, c][columns[j] >= 0] += codes.dtype.type(start[j])
        numbers = self._numbers(len(X), [(self.plans_[j], columns[j]) for j in dense])
        return Encoded(numbers, places, codes, int(start[-1]))

    def _numbers(self, n: int, columns: list[tuple[Plan, np.ndarray]]) -> np.ndarray:
        """What plans of numbers and dates make of their columns: (n, N)."""
        edges = np.cumsum([0, *(len(plan.outputs) for plan, _ in columns)])
        out = np.zeros((n, edges[-1]), dtype=self.dtype)
        with np.errstate(over="ignore"):  # a value too large for float32 is named by the estimator
            for low in range(0, n, BLOCK):
                rows = slice(low, low + BLOCK)
                for (plan, values), start, stop in zip(columns, edges[:-1], edges[1:], strict=True):
                    plan.write(values[rows], out[rows, start:stop])
        return out

    def _checked(self, X: Any, *, reset: bool) -> Any:
        """A pandas frame as it is; anything else as a table of numbers, holes allowed."""
        if type(X).__module__.startswith("pandas") and hasattr(X, "columns"):
            try:
                validate_data(self, X, skip_check_array=True, reset=reset)
            except ValueError as error:
                raise InputError(str(error)) from None
            if not len(X):
                raise InputError(f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required.")
            return X
        return table(self, X, dtype="float64", reset=reset, allow_nan=True)

    def _read(self, frame: pd.DataFrame) -> list[np.ndarray]:
        found = []
        for j, plan in enumerate(self.plans_):
            try:
                found.append(plan.read(frame.iloc[:, j]))
            except (TypeError, ValueError) as error:
                raise InputError(
                    f"Column {plan.name!r} was a {plan.kind} in training, but now: {error}. Correct its cells."
                ) from None
            _reject_infinite(plan, found[-1])
        return found

    def align(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The columns that `fit` saw, in its order, out of a frame that may hold more; dropped ones may lack."""
        check_is_fitted(self)
        if not hasattr(frame, "columns"):
            raise InputError(
                f"The model was fitted with the columns of a table, not with pictures of {np.shape(frame)}."
            )
        missing = [plan.name for plan in self.plans_ if plan.name not in frame.columns]
        for plan in self.plans_:
            if plan.name in missing and not isinstance(plan, Dropped):
                close = get_close_matches(str(plan.name), map(str, frame.columns), 1)
                hint = f" (is it {close[0]!r}?)" if close else ""
                raise InputError(
                    f"Column {plan.name!r} is missing{hint}: the model was fitted with it. Add it or rename one."
                )
        return frame.assign(**{str(name): np.nan for name in missing}).loc[:, [plan.name for plan in self.plans_]]

    def surprises(self, frame: pd.DataFrame) -> list[str]:
        """What new rows hold that the training rows did not, a sentence each."""
        check_is_fitted(self)
        return [said for j, plan in enumerate(self.plans_) if (said := plan.surprise(frame.iloc[:, j]))]

    def describe(self) -> list[dict[str, str]]:
        """What is done to each column."""
        check_is_fitted(self)
        return [
            {"name": str(j if plan.name is None else plan.name), "kind": plan.kind, "did": plan.did()}
            for j, plan in enumerate(self.plans_)
        ]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of `transform`: (W,)."""
        check_is_fitted(self)
        given = getattr(self, "feature_names_in_", None)
        if input_features is not None and len(input_features) != self.n_features_in_:
            raise InputError(f"input_features has {len(input_features)} names, expected {self.n_features_in_}.")
        if given is not None and input_features is not None and list(input_features) != list(given):
            raise InputError("input_features is not equal to feature_names_in_. Leave it out.")
        names = input_features if given is None and input_features is not None else self._names()
        return np.array(
            [_out(o, plan, str(n)) for plan, n in zip(self.plans_, names, strict=True) for o in plan.outputs], object
        )

    def _names(self) -> list[str]:
        return [f"x{j}" if plan.name is None else plan.name for j, plan in enumerate(self.plans_)]

    def _why_dropped(self) -> str:
        said = [f"{name!r} is {plan.did()}" for name, plan in zip(self._names(), self.plans_, strict=True)]
        return "; ".join(said[:3]) + ("; ..." if len(said) > 3 else "")

    def _constant_sentence(self, where: list[int]) -> str:
        plans: list[Any] = [self.plans_[j] for j in where[:5]]
        first = [f"{j if plan.name is None else f'{plan.name!r} ({j})'}" for j, plan in zip(where, plans, strict=False)]
        values = ", ".join(f"{plan.mean:.4g}" for plan in plans)
        if len(where) == 1:
            return f"Column {first[0]} is constant ({values}): it was centred, not scaled."
        more = f" and {len(where) - 5} more" if len(where) > 5 else ""
        return f"Columns {', '.join(first)}{more} are constant ({values}): they were centred, not scaled."

    def get_state(self) -> dict[str, Any]:
        """What was learned as JSON values: one plan a column."""
        check_is_fitted(self)
        return {"encoder": "table", "dtype": self.dtype, "columns": [plan.state() for plan in self.plans_]}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """The encoder that `get_state` described."""
        self = cls(dtype=state.get("dtype", "float64"))
        self.plans_ = [plan_of(plan) for plan in state["columns"]]
        self.n_features_in_ = len(self.plans_)
        if all(plan.name is not None for plan in self.plans_):
            self.feature_names_in_ = np.array([plan.name for plan in self.plans_], dtype=object)
        return self


def _or_number(plan: Plan, column: pd.Series) -> Plan:
    """What counts the rows is a number after all, where there is nothing else to learn from."""
    counts = column.dtype.kind in "biuf" and "identifier" in plan.did()
    return number(column.to_numpy(dtype=np.float64), plan.name) if counts else plan


def _of_array(values: np.ndarray, name: str | None) -> Plan:
    return Dropped(name, "it is empty") if np.isnan(values).all() else number(values, name)


def _out(output: str, plan: Plan, name: str) -> str:
    return output if plan.name is not None else name + output.removeprefix("None")


def _reject_infinite(plan: Plan, values: np.ndarray) -> None:
    if values.dtype.kind == "f" and np.isinf(values).any():
        row = int(np.argmax(np.isinf(values)))
        raise InputError(f"Column {plan.name!r} holds {values[row]} in row {row}; finite numbers are needed.")


class PixelEncoder(Encoder):
    """Pictures as numbers: z = (x - μ) / σ with one μ and one σ of all pixels of the training rows.

    Example:
        >>> encoder = PixelEncoder().fit(np.array([[0, 255], [255, 0]], dtype=np.uint8))
        >>> encoder.transform(np.array([[255, 0]], dtype=np.uint8)).tolist()
        [[1.0, -1.0]]
    """

    n_features_in_: int

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn mean and deviation of all pixels."""
        x = table(self, X, dtype="float32", reset=True)
        self.mean_, scale = float(x.mean(dtype=np.float64)), float(x.std(dtype=np.float64))
        self.scale_ = scale or 1.0
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Pixels shifted and scaled: (n, D)."""
        check_is_fitted(self)
        x = table(self, X, dtype=self.dtype, reset=False)
        x = x.copy() if x is X else x
        x -= np.asarray(self.mean_, dtype=self.dtype)
        x /= np.asarray(self.scale_, dtype=self.dtype)
        return x

    def align(self, x: np.ndarray) -> np.ndarray:
        """Pictures of the size that `fit` saw."""
        if np.shape(x)[1:] != (self.n_features_in_,):
            raise InputError(
                f"The pictures have {np.prod(np.shape(x)[1:])} values each; the model was fitted with "
                f"{self.n_features_in_}. Give pictures of the same size."
            )
        return x

    def surprises(self, x: np.ndarray) -> list[str]:
        """Nothing: a pixel is a pixel."""
        return []

    def describe(self) -> list[dict[str, str]]:
        """What is done to the pixels."""
        did = f"(x - {self.mean_:.4g}) / {self.scale_:.4g}, the same for all {self.n_features_in_} values"
        return [{"name": "pixels", "kind": "pixels", "did": did}]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the pixels: (D,)."""
        return np.array([f"pixel {j}" for j in range(self.n_features_in_)], dtype=object)

    def get_state(self) -> dict[str, Any]:
        """What was learned as JSON values."""
        learned = {"mean": self.mean_, "scale": self.scale_, "n": self.n_features_in_}
        return {"encoder": "pixels", "dtype": self.dtype, **learned}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """The encoder that `get_state` described."""
        self = cls(dtype=state["dtype"])
        self.mean_, self.scale_, self.n_features_in_ = float(state["mean"]), float(state["scale"]), int(state["n"])
        return self
