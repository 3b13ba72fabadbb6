"""Input in, array or a good sentence out.

Every sentence says what was passed, what was expected and what to do. The kinds of parameters (`Count`, `Positive`,
...) are annotations: pydantic reads them at the command line, and `constraints` makes scikit-learn's table for `fit`.
"""

import re
import types
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple
from functools import cache
from math import prod
from numbers import Integral, Real
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from annotated_types import Ge, Gt, Le, Lt
from scipy.sparse import issparse
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import _param_validation as rules
from sklearn.utils.validation import check_array, validate_data

from .errors import InputError, InputTypeError

__all__ = [
    "Count", "Finite", "Fraction", "NonNegative", "Positive", "RandomState", "Setting", "Share", "Size", "Widths",
    "allowed", "at_least", "constraints", "free_memory", "not_finite", "parameters", "plain", "reject_memory", "table",
    "target", "unequal", "weights",
]  # fmt: skip

Count = Annotated[int, Ge(1)]
Positive = Annotated[float, Gt(0)]
NonNegative = Annotated[float, Ge(0)]
Share = Annotated[float, Ge(0), Lt(1)]
Fraction = Annotated[float, Ge(0), Le(1)]
Finite = Annotated[float, Gt(-np.inf), Lt(np.inf)]
Size = Annotated[int, Ge(1), Le(2**26)]  # of an input; what a file says beyond that is damage
Widths = tuple[Count, ...]
Setting = bool | int | float | str | None | tuple[float, ...]
RandomState = Annotated[int | None, "random_state"]


def constraints(cls: type, names: Iterable[str]) -> dict[str, Any]:
    """scikit-learn's table of parameter constraints, read from the annotations of a class."""
    return {name: _constraints(cls)[name] for name in names}


def allowed(cls: type, name: str) -> str:
    """What a parameter of a class may be, in words."""
    found = " or ".join(str(rules.make_constraint(c)) for c in _constraints(cls)[name])
    found = found.replace("an instance of 'bool' or an instance of 'numpy.bool'", "True or False")
    found = re.sub(r"a str among \{(.*?)\}", lambda m: "one of " + ", ".join(sorted(m[1].split(", "))), found)
    return re.sub(r"an instance of '(?:\w+\.)*(\w+)'", lambda m: {"str": "a text"}.get(m[1], m[1]), found)


@cache
def _constraints(cls: type) -> dict[str, Any]:
    return {name: _constraint(hint) for name, hint in get_type_hints(cls, include_extras=True).items()}


def _constraint(hint: Any) -> list[Any]:
    kind, parts = get_origin(hint) or hint, get_args(hint)
    if kind is Annotated:
        return _SEED if parts[1:] == ("random_state",) else [_interval(parts[0], parts[1:])]
    if kind in (Union, types.UnionType):
        return [c for part in parts for c in _constraint(part)]
    if kind is Literal:
        return [rules.StrOptions(set(parts))]
    if hint in _BARE:
        return [_BARE[hint]]
    if isinstance(kind, type) and issubclass(kind, Sequence | Mapping) and parts:
        return [_Each(kind, parts)]
    if kind in (tuple, Sequence):
        return [Sequence]
    return [callable if kind is types.FunctionType or getattr(kind, "__name__", "") == "Callable" else kind]


def _interval(base: type, marks: Sequence[Any]) -> rules.Interval:
    ends = {type(mark): astuple(mark)[0] for mark in marks}
    low, high = ends.get(Ge, ends.get(Gt)), ends.get(Le, ends.get(Lt))
    closed = {(True, True): "both", (True, False): "left", (False, True): "right"}.get((Ge in ends, Le in ends))
    return _Number(Integral if base is int else Real, low, high, closed=closed or "neither")


class _Number(rules.Interval):
    """A range of numbers; True and False are not numbers."""

    def is_satisfied_by(self, val: Any) -> bool:
        return not isinstance(val, bool) and super().is_satisfied_by(val)

    def __str__(self) -> str:
        all_of_them = self.left in (None, -np.inf) and self.right in (None, np.inf)
        return super().__str__().partition(" in the range")[0] if all_of_them else super().__str__()


class _Each(rules.Options):
    """A sequence or a table whose items all satisfy their own constraints."""

    def __init__(self, kind: type, parts: Sequence[Any]) -> None:
        rules._Constraint.__init__(self)
        self.kind: type = Mapping if issubclass(kind, Mapping) else Sequence
        self.length = len(parts) if kind is tuple and Ellipsis not in parts else None
        self.allowed = [[rules.make_constraint(c) for c in _constraint(part)] for part in parts if part is not Ellipsis]

    def is_satisfied_by(self, val: Any) -> bool:
        if not isinstance(val, self.kind) or isinstance(val, str | bytes):
            return False
        if isinstance(val, Mapping):
            keys, values = self.allowed
            return all(_fits(key, keys) and _fits(item, values) for key, item in val.items())
        if self.length is None:
            return all(_fits(item, self.allowed[0]) for item in val)
        return len(val) == self.length and all(map(_fits, val, self.allowed))

    def __str__(self) -> str:
        of = [" or ".join(map(str, each)) for each in self.allowed]
        return f"a table, each value {of[1]}" if self.kind is Mapping else f"a sequence, each item {', '.join(of)}"


def _fits(value: Any, allowed: Sequence[Any]) -> bool:
    return any(c.is_satisfied_by(value) for c in allowed)


_SEED = [_Number(Integral, 0, 2**32 - 1, closed="both"), np.random.RandomState, None]
_BARE: dict[Any, Any] = {
    type(None): None,
    bool: "boolean",
    int: _Number(Integral, None, None, closed="neither"),
    float: _Number(Real, -np.inf, np.inf, closed="both"),
    Any: object,
}


def parameters(name: str, allowed: dict[str, Any], values: dict[str, Any]) -> None:
    """Raise scikit-learn's InvalidParameterError for the first value out of its range."""
    rules.validate_parameter_constraints(allowed, values, name)


def at_least(name: str, value: Any, least: float, *, integer: bool = False) -> Any:
    """The value of an argument, if it is a number (an integer) of at least so much."""
    number = isinstance(value, Integral if integer else Real) and not isinstance(value, bool)
    if not number or not value >= least:  # pyright: ignore[reportOperatorIssue]  # NaN is not
        raise InputError(f"{name}={value!r}; it must be {'an integer' if integer else 'a number'} of at least {least}.")
    return value


LARGEST = 1e100  # a number whose square, summed over rows, fits into float64
ALWAYS_FREE = 2**26  # bytes: reading how many are free takes longer than to check them


def plain(X: Any) -> Any:
    """A torch tensor as a NumPy array, an Arrow table as a data frame; anything else as it is."""
    if hasattr(X, "detach") and hasattr(X, "cpu"):
        return X.detach().cpu().numpy()
    return X.to_pandas() if type(X).__module__.partition(".")[0] == "pyarrow" and hasattr(X, "to_pandas") else X


def table(
    estimator: Any,
    X: Any,
    *,
    dtype: str,
    reset: bool,
    allow_nd: bool = False,
    allow_nan: bool = False,
    integers: bool = False,
    order: Literal["C", "K"] = "C",
) -> np.ndarray:
    """X as an array of the dtype, finite but for NaN where allowed: (n, D), or (n, ...) for more axes.

    With `integers`, integers stay integers: int64, or uint8 for images.
    """
    X = plain(X)
    _reject_kind(type(estimator).__name__, X)
    reject_memory(X, dtype)
    # numbers stay as they are, so that a value too large for float32 can be named; all else is converted
    kind: Any = None if isinstance(X, np.ndarray) and X.dtype.kind in "fiub" else np.float64
    try:
        checked = validate_data(estimator, X, reset=reset, dtype=kind, ensure_all_finite=False, allow_nd=allow_nd)  # pyright: ignore[reportArgumentType]
    except ValueError as error:
        message = str(error).split("\nMissing values")[0].rstrip()
        advice = next((text for mark, text in _ADVICE.items() if mark in message), "")
        raise InputError(f"{message} {advice}".rstrip()) from None
    except TypeError as error:
        raise InputTypeError(f"{error}; X must hold numbers only.") from None
    if integers and (integer := _integer_kind(X, checked)):
        return np.ascontiguousarray(checked, dtype=integer)
    with np.errstate(over="ignore"):
        result = np.asarray(checked, dtype=dtype, order=order)
    ends = [f.reduce(result, axis=None) for f in ((np.fmin, np.fmax) if allow_nan else (np.minimum, np.maximum))]
    if any(not (abs(float(end)) <= LARGEST or allow_nan and np.isnan(end)) for end in ends):
        raise InputError(not_finite(np.asarray(checked), result, getattr(X, "columns", None)))
    return result


def _integer_kind(X: Any, checked: Any) -> str:
    """The dtype of integers that stay as they are: int64, uint8 for images; "" where X has others."""
    kinds = {getattr(t, "kind", "O") for t in X.dtypes} if hasattr(X, "dtypes") else {np.asarray(X).dtype.kind}
    return ("uint8" if checked.dtype == np.uint8 and checked.ndim > 2 else "int64") if kinds <= {"i", "u"} else ""


def _reject_kind(name: str, X: Any) -> None:
    if issparse(X):
        size = np.prod(X.shape) * 8 / 1e9
        raise InputTypeError(
            f"X is a scipy sparse matrix; {name} takes dense input. Convert with X.toarray() (about {size:.1g} GB)."
        )
    if isinstance(X, Mapping) or (isinstance(X, tuple) and X and all(np.ndim(part) > 1 for part in X)):
        advice = "Join its columns first, e.g. with pandas.DataFrame or np.hstack."
        raise InputTypeError(f"X is a {type(X).__name__} of {len(X)} parts; {name} takes one table. {advice}")
    dtype = getattr(X, "dtype", None)
    if dtype is not None and np.ndim(X) == 1:
        advice = "Reshape your data: X.reshape(-1, 1) for one feature, X.reshape(1, -1) for one sample."
        raise InputError(f"X must be 2-D, got shape {np.shape(X)}. {advice}")
    if getattr(dtype, "kind", "") == "c":
        raise InputError(
            f"Complex data not supported: X has dtype {dtype}. Take X.real, np.abs(X), or stack both parts as columns."
        )
    for j, (name, column) in enumerate(_loose_columns(X)):
        for cell in column:
            if isinstance(cell, str) and not _is_number(cell):
                advice = f"Encode it, e.g. OneHotEncoder() on {name!r}, or drop it."
                raise InputError(f"Column {name!r} ({j}) holds text ({cell!r}), numbers needed. {advice}")


def _loose_columns(X: Any) -> Iterable[tuple[Any, Iterable[Any]]]:
    """Name and cells of the columns that may hold text."""
    if hasattr(X, "columns"):
        columns = [(str(c), X.iloc[:, j] if hasattr(X, "iloc") else X[c]) for j, c in enumerate(X.columns)]
        return [(n, c.to_numpy() if getattr(c.dtype, "kind", "O") not in "fiubcMm" else ()) for n, c in columns]
    array = np.asarray(X) if hasattr(X, "__array__") else X
    if isinstance(array, np.ndarray) and array.ndim == 2 and array.dtype.kind in "OUS":
        return [(str(j), array[:, j].tolist()) for j in range(array.shape[1])]
    return []


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


_ADVICE = {
    "0 sample(s)": "Check the filter or file that produced it.",
    "0 feature(s)": "All columns were dropped: check what selects them.",
    "features as input": "Pass the same columns in the same order as in fit.",
    "same order": "Reorder with X[est.feature_names_in_].",
}


def not_finite(given: np.ndarray, cast: np.ndarray, names: Sequence[str] | None = None) -> str:
    """The sentence for numbers that are not finite, or too large for the dtype they are cast to."""
    given = given.astype(np.float64, copy=False)
    bad = np.isnan(given)
    first = np.argwhere(bad if bad.any() else ~np.isfinite(cast) | (np.abs(given) > LARGEST))[0]
    row, column = int(first[0]), ", ".join(str(int(i)) for i in first[1:])
    place = f"row {row}, column {column if names is None else f'{str(names[int(first[1])])!r} ({column})'}"
    if bad.any():
        advice = "Fill or drop them, e.g. SimpleImputer() before this estimator."
        return f"X contains NaN: {int(bad.sum())} value{'s' if bad.sum() > 1 else ''}, first at {place}. {advice}"
    value = given[tuple(first)]
    return (
        f"X contains inf or a value too large for {cast.dtype} at {place} ({value:g}). Rescale the column"
        f"{'; at most 1e100 is taken' if cast.dtype == np.float64 else ' or use dtype=float64'}."
    )


def reject_memory(X: Any, dtype: str) -> None:
    """Raise where X and a copy of it need more memory than there is."""
    shape = getattr(X, "shape", None) or (0,)
    need = 2 * prod(map(int, shape)) * np.dtype(dtype).itemsize
    free = None if need < ALWAYS_FREE else free_memory()
    if free is not None and need > free:
        raise InputError(
            f"This needs about {need / 1e9:.1f} GB (X {'x'.join(map(str, shape))} {dtype} + copy), "
            f"{free / 1e9:.1f} GB free. "
            f"Use {'fewer rows' if dtype == 'float32' else 'dtype=float32'}, or partial_fit on parts that fit."
        )


def free_memory() -> int | None:
    """Bytes that are free, or None where the system does not tell."""
    path = Path("/proc/meminfo")
    found = re.search(r"MemAvailable: *(\d+)", path.read_text()) if path.exists() else None
    return None if found is None else int(found[1]) * 1024


def target(name: str, y: Any, n: int, *, numeric: bool, columns: bool, quiet: bool = False) -> np.ndarray:
    """y as an array of n rows, finite where it is numeric: (n,) or, where several columns are taken, (n, T).

    One column given as (n, 1) is taken as (n,), with scikit-learn's warning where only one is expected.
    """
    if y is None:
        raise InputError(f"{name} requires y to be passed, but the target y is None. Pass one for each row of X.")
    y = plain(y)
    if issparse(y):
        raise InputTypeError(f"y is a scipy sparse matrix; {name} takes dense targets. Convert with y.toarray().")
    kind: Any = np.float64 if numeric else None
    try:
        y = check_array(y, ensure_2d=False, allow_nd=True, dtype=kind, ensure_all_finite=False, input_name="y")
    except ValueError as error:
        raise InputError(f"y: {error}") from None
    except TypeError as error:
        raise InputTypeError(f"y must hold one target for each row of X: {error}") from None
    if len(y) != n:
        raise unequal(n, "y", len(y))
    _reject_bad_target(y)
    if y.ndim == 2 and y.shape[1] == 1:
        if not (columns and numeric or quiet):
            message = "A column-vector y was passed when a 1d array was expected. Use y.ravel()."
            warnings.warn(message, DataConversionWarning, 3)
        return y[:, 0]
    if y.ndim > (2 if columns else 1):
        raise InputError(f"y has shape {y.shape}; {name} takes {'one or more columns' if columns else 'one column'}.")
    return y


def unequal(n: int, name: str, other: int) -> InputError:
    """The error for a part of the rows that does not have n of them."""
    advice = "They must match; did one file lose its header or last line?"
    return InputError(f"X has {n} rows but {name} has {other}. {advice}")


def _reject_bad_target(y: np.ndarray) -> None:
    if y.dtype.kind == "c":
        raise InputError(f"Complex data not supported: y has dtype {y.dtype}. Take y.real or np.abs(y).")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        kind = "NaN" if np.isnan(y[index := int(np.argwhere(~np.isfinite(y))[0][0])]).any() else "inf"
        raise InputError(f"y contains {kind} at index {index}. Remove those rows; targets cannot be imputed.")
    if y.dtype == np.float64 and y.size and np.abs(y).max() > LARGEST:
        raise InputError(f"y holds {y.flat[np.abs(y).argmax()]:.3g}; at most {LARGEST:g} is taken. Rescale y.")
    missing = [i for i, v in enumerate(y.ravel()) if v is None or v != v] if y.dtype.kind == "O" else []
    if missing:
        raise InputError(f"y contains NaN at index {missing[0]}. Remove those rows; targets cannot be imputed.")


def weights(given: Any, n: int) -> np.ndarray | None:
    """Row weights as (n,) float64, all >= 0 and not all 0; None stays None."""
    if given is None:
        return None
    try:
        w = np.array(plain(given), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"sample_weight must hold one number for each row of X: {error}.") from None
    w = np.full(n, w) if w.ndim == 0 else w
    if w.shape != (n,):
        raise InputError(f"sample_weight has shape {w.shape}, expected ({n},): one weight for each row of X.")
    if (wrong := ~((w >= 0) & (w <= LARGEST))).any():
        raise InputError(f"sample_weight[{wrong.argmax()}] is {w[wrong][0]}; weights must be finite and >= 0, <1e100.")
    if not w.any():
        raise InputError("all sample weights are zero: nothing to fit. Give at least one row a weight > 0.")
    return w
