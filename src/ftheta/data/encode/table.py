"""Tables as arrays of numbers that a network can learn from, and encoders from their saved state.

    row of numbers, text and dates  ->  (plan_1(x_1), ..., plan_D(x_D)),     every plan from the training rows alone

Numbers are standardized, text becomes one column per category, dates days and places on circles, missing cells are
marked (see `columns`).
Shapes: n rows or sequences, T_i steps of a sequence, D columns, W columns of numbers.
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from difflib import get_close_matches
from importlib.resources import files
from typing import Any, Literal, Self, get_type_hints

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from ... import check
from ...check import Finite, Positive, Size, table
from ...errors import FileFormatError, InputError
from .array import ArrayEncoder
from .columns import Codes, Date, Dropped, Levels, Number, Plan, learn, number, plan_of

BLOCK, THREADS = 2**15, 2  # rows encoded at once by each thread; NumPy lets others run meanwhile


class TableEncoder(TransformerMixin, BaseEstimator):
    """The columns of a table as standardized numbers; a scikit-learn transformer whose state is JSON.

    X is an array, or a frame of pandas, polars or pyarrow. Learned: `plans_`, one per column, `n_features_in_` and,
    from a frame, `feature_names_in_`.

    Args:
        dtype: Of what `transform` returns.
        missing: "mark": missing cells take the mean, and a second column marks them; "keep": they stay missing.
        categories: "columns": one column for each category; "codes": a data frame with a column of category dtype.
        clip: Whether numbers are clipped a little beyond their 0.5 % and 99.5 % quantiles, so that a mistyped cell
            does not decide what a net learns.

    Example:
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"size": [1.0, 3.0, None], "color": ["red", "blue", "red"]})
        >>> encoder = TableEncoder().fit(frame)
        >>> encoder.get_feature_names_out().tolist()
        ['size', 'size missing', 'color=blue', 'color=red']
        >>> encoder.transform(frame).tolist()
        [[-1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]]
    """

    n_features_in_: int
    feature_names_in_: np.ndarray

    def __init__(
        self,
        dtype: Literal["float32", "float64"] = "float64",
        missing: Literal["mark", "keep"] = "mark",
        categories: Literal["columns", "codes"] = "columns",
        clip: bool = False,
    ) -> None:
        self.dtype, self.missing, self.categories, self.clip = dtype, missing, categories, clip

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = [self.dtype]
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn a plan for every column from these rows."""
        named, X = hasattr(X, "columns"), self._checked(X, reset=True)
        names = map(str, X.columns) if named else [None] * X.shape[1]
        self.plans_ = [learn(X.iloc[:, j], name, self.clip) for j, name in enumerate(names)]
        if not any(plan.outputs for plan in self.plans_):
            self.plans_ = [_or_number(plan, X.iloc[:, j]) for j, plan in enumerate(self.plans_)]
        self.plans_ = [self._kept(plan) for plan in self.plans_]
        if not any(plan.outputs for plan in self.plans_):
            why = [f"{f'x{j}' if p.name is None else p.name!r} is {p.description}" for j, p in enumerate(self.plans_)]
            first = "; ".join(why[:3]) + ("; ..." if len(why) > 3 else "")
            raise InputError(f"No column of {self.n_features_in_} can be learned from: {first}.")
        if constant := [(j, p) for j, p in enumerate(self.plans_) if isinstance(p, Number) and p.constant]:
            warnings.warn(_constant_sentence(constant), UserWarning, stacklevel=2)
        return self

    def _kept(self, plan: Plan) -> Plan:
        """The plan for a model that takes missing cells, or categories, as they are."""
        if isinstance(plan, Levels) and self.categories == "codes":
            return Codes(plan.name, plan.levels, plan.rare, plan.missing)
        return replace(plan, keep=True) if isinstance(plan, Number | Date) and self.missing == "keep" else plan

    def transform(self, X: Any) -> Any:
        """The columns that `fit` saw as numbers: (n, W); a data frame where some are codes of categories."""
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        edges = np.cumsum([0, *(len(plan.outputs) for plan in self.plans_)])
        out, columns = np.zeros((len(X), edges[-1]), dtype=self.dtype), [X.iloc[:, j] for j in range(len(self.plans_))]

        def encode(start: int) -> None:
            rows = slice(start, start + BLOCK)
            with np.errstate(over="ignore"):  # a value too large for float32 is named by the estimator
                for j, plan in enumerate(self.plans_):
                    _fill(out[rows, edges[j] : edges[j + 1]], plan, columns[j].iloc[rows], start)

        with ThreadPoolExecutor(THREADS) as pool:  # by blocks: what a plan makes of all rows at once may be large
            list((pool.map if len(X) > BLOCK else map)(encode, range(0, len(X), BLOCK)))
        coded = [plan.outputs[0] for plan in self.plans_ if isinstance(plan, Codes)]
        if not coded:
            return out
        return pd.DataFrame(out, X.index, self.get_feature_names_out()).astype(dict.fromkeys(coded, "category"))

    def _checked(self, X: Any, *, reset: bool) -> pd.DataFrame:
        """A frame as one of pandas; anything else as a frame of numbers, where cells may be missing."""
        X = X.to_pandas() if hasattr(X, "to_pandas") else X  # of polars or pyarrow
        if type(X).__module__.startswith("pandas") and hasattr(X, "columns"):
            try:
                validate_data(self, X, skip_check_array=True, reset=reset)
            except ValueError as error:
                raise InputError(str(error)) from None
            if not len(X):
                raise InputError(f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required.")
            return X
        return pd.DataFrame(table(self, X, dtype="float64", reset=reset, allow_nan=True), copy=False)

    def align(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The columns that `fit` saw, in its order, out of a frame that may hold more; dropped ones may be missing."""
        check_is_fitted(self)
        if not hasattr(frame, "columns"):
            shape = np.shape(frame)
            raise InputError(f"The model was fitted with the columns of a table, not with pictures of {shape}.")
        missing = [plan.name for plan in self.plans_ if plan.name not in frame.columns]
        for plan in self.plans_:
            if plan.name in missing and not isinstance(plan, Dropped):
                free = frame.columns.difference([plan.name for plan in self.plans_])
                close = get_close_matches(str(plan.name), map(str, free), 1)
                what = f"Column {plan.name!r} is missing" + (f" (is it {close[0]!r}?)" if close else "")
                raise InputError(f"{what}: the model was fitted with it. Add it or rename one.")
        return frame.assign(**{str(name): np.nan for name in missing}).loc[:, [plan.name for plan in self.plans_]]

    def new_row_notes(self, frame: pd.DataFrame) -> list[str]:
        """What new rows hold that the training rows did not."""
        check_is_fitted(self)
        return [note for j, plan in enumerate(self.plans_) if (note := plan.new_row_note(frame.iloc[:, j]))]

    def describe(self) -> list[dict[str, str]]:
        """What is done to each column."""
        check_is_fitted(self)
        named = self._named(range(len(self.plans_)))
        return [{"name": str(plan.name), "kind": plan.kind, "did": plan.description} for plan in named]

    def _named(self, names: Iterable[Any]) -> list[Any]:
        """The plans, with these names where they have none of their own."""
        pairs: Any = zip(self.plans_, names, strict=True)
        return [plan if plan.name is not None else replace(plan, name=str(name)) for plan, name in pairs]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of `transform`: (W,)."""
        check_is_fitted(self)
        try:
            names = _check_feature_names_in(self, input_features)
        except ValueError as error:
            raise InputError(f"{error}.") from None
        return np.array([output for plan in self._named(np.asarray(names)) for output in plan.outputs], object)

    def axes(self) -> tuple[list[str], np.ndarray]:
        """Names of the columns of `transform`, and shift and scale that bring each back to the user's units: (W, 2).

        Dates are years.
        """
        check_is_fitted(self)
        found = [axis for plan in self._named(range(len(self.plans_))) for axis in plan.axes]
        return [name for name, *_ in found], np.array([units for _, *units in found])

    def get_state(self) -> dict[str, Any]:
        """What was learned, as JSON values: one plan per column."""
        check_is_fitted(self)
        return {"encoder": "table", "dtype": self.dtype, "columns": [plan.state() for plan in self.plans_]}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """The encoder whose `get_state` returned this."""
        self = cls(dtype=state["dtype"])
        self.plans_ = [plan_of(plan) for plan in state["columns"]]
        self.n_features_in_ = len(self.plans_)
        if all(plan.name is not None for plan in self.plans_):
            self.feature_names_in_ = np.array([plan.name for plan in self.plans_], dtype=object)
        return self


def _constant_sentence(plans: Sequence[tuple[int, Number]]) -> str:
    first = ", ".join(f"{j}" if plan.name is None else f"{plan.name!r} ({j})" for j, plan in plans[:5])
    values = ", ".join(f"{plan.mean:.4g}" for _, plan in plans[:5])
    more = f" and {len(plans) - 5} more" if len(plans) > 5 else ""
    s, are, they = ("", "is", "it was") if len(plans) == 1 else ("s", "are", "they were")
    return f"Column{s} {first}{more} {are} constant ({values}): {they} centered, not scaled."


def _or_number(plan: Plan, column: pd.Series) -> Plan:
    """What counts the rows is a number after all, where there is nothing else to learn from."""
    counts = column.dtype.kind in "biuf" and "identifier" in plan.description
    return number(column.to_numpy(dtype=np.float64), plan.name) if counts else plan


def _fill(out: np.ndarray, plan: Plan, column: pd.Series, start: int) -> None:
    """Write what a plan makes of some rows, the first of which is row `start`, into zeros."""
    try:
        if type(plan) is Levels:  # a few ones
            place = plan.places(column)
            rows = np.flatnonzero(place >= 0)
            out[rows, place[rows]] = 1
            return
        out[:] = found = plan.apply(column)
    except (TypeError, ValueError) as error:
        what = f"Column {plan.name!r} was a {plan.kind} in training"
        raise InputError(f"{what}, but now: {error}. Correct its cells.") from None
    if (bad := ~np.isfinite(found)).any():
        bad &= ~(np.isnan(found) & getattr(plan, "keep", False))
    if bad.any():
        row = int(np.argmax(bad.any(1)))
        what = f"Column {plan.name!r} holds {column.iloc[row]} in row {start + row}"
        raise InputError(f"{what}; finite numbers are needed.")


class SequenceEncoder(TransformerMixin, BaseEstimator):
    """Sequences of steps, frames with the same columns, as arrays: a `TableEncoder` of all steps. Learned: `steps_`.

    Args:
        dtype: Of what `transform` returns.

    Example:
        >>> frames = [pd.DataFrame({"x": [0.0, 2.0]}), pd.DataFrame({"x": [1.0]})]
        >>> [rows.tolist() for rows in SequenceEncoder().fit_transform(frames)]
        [[[-1.224744871391589], [1.224744871391589]], [[0.0]]]
    """

    def __init__(self, dtype: Literal["float32", "float64"] = "float64") -> None:
        self.dtype: Literal["float32", "float64"] = dtype

    def fit(self, X: Sequence[pd.DataFrame], y: Any = None) -> Self:
        """Learn a plan for every column from all steps."""
        self.steps_ = TableEncoder(self.dtype).fit(pd.concat(list(X), ignore_index=True))
        return self

    def transform(self, X: Sequence[pd.DataFrame]) -> list[np.ndarray]:
        """Every frame as numbers: n arrays (T_i, W)."""
        steps = self.steps_.transform(pd.concat(list(X), ignore_index=True))
        return np.split(steps, np.cumsum([len(frame) for frame in X])[:-1])

    def align(self, X: Sequence[Any]) -> list[pd.DataFrame]:
        """The columns that `fit` saw, in its order."""
        if not all(hasattr(frame, "columns") for frame in X):
            raise InputError("The model was fitted with columns that have names. Give a table, or a folder of tables.")
        return [self.steps_.align(frame) for frame in X]

    def new_row_notes(self, X: Sequence[pd.DataFrame]) -> list[str]:
        """What new sequences hold that those of training did not."""
        return self.steps_.new_row_notes(pd.concat(list(X), ignore_index=True))

    def describe(self) -> list[dict[str, str]]:
        """What is done to each column."""
        return self.steps_.describe()

    def get_state(self) -> dict[str, Any]:
        """What was learned, as JSON values."""
        return {**self.steps_.get_state(), "encoder": "sequence"}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """The encoder whose `get_state` returned this."""
        self = cls(state["dtype"])
        self.steps_ = TableEncoder.from_state(state)
        return self


_IMPORT = "\nfrom .cells import MISSING, PLAIN, date, days_of, different_names, number, numbers, places\n"
_KINDS = {"table": TableEncoder, "array": ArrayEncoder, "sequence": SequenceEncoder}


class _State:
    """What encoders learn, and of which type it is."""

    dtype: Literal["float32", "float64"]
    columns: Sequence[Mapping[str, Any]]
    to: Literal["real", "unit", "sign", "bit", "image"]
    together: bool
    shift: Sequence[Finite]
    scale: Sequence[Positive]
    n: Size
    image: tuple[Size, Size, Size]
    names: Sequence[str]


def encoder_of(state: Mapping[str, Any]) -> TableEncoder | ArrayEncoder | SequenceEncoder:
    """The encoder whose `get_state` returned this."""
    kind = state.get("encoder") if isinstance(state, Mapping) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        known = ", ".join(map(repr, _KINDS))
        raise FileFormatError(f"Unknown encoder {kind!r:.80}; this version of fθ knows {known}. Upgrade fθ.")
    try:
        check.parameters("the encoder", check.constraints(_State, get_type_hints(_State)), dict(state))
        return _KINDS[kind].from_state(state)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, FileFormatError):
            raise
        reason = f"{type(error).__name__}: {error}"[:300]
        raise FileFormatError(f"The state of the encoder is not valid ({reason}). Use another copy.") from error


def script_template() -> str:
    """`_exported.py` with the functions of `cells.py` in place of their import: a file that needs no fθ."""
    folder = files(str(__package__))
    script, cells = (folder.joinpath(name).read_text(encoding="utf-8") for name in ("_exported.py", "cells.py"))
    script = script.replace(_IMPORT, "").replace("import json\n", "import json\nimport re\n", 1)
    script = script.replace("abc import Sequence", "abc import Iterable, Sequence", 1)
    return script.replace("# ---- files", f"# ----{cells.partition('# ----')[2]}\n\n# ---- files", 1)
