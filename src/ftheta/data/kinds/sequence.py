"""Steps in time: sequences of unequal length, n arrays (T_i, D), and series, one long run (T,) or (T, D).

A batch of sequences is padded with zeros to its longest: x (B, T, D + 1), where the last channel is 1 at real steps and
0 in the padding. The net of one sequence alone sees what it sees in a batch only if it uses that channel.
A batch of a series holds standardized windows of the past and, as targets, the steps that follow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ... import check
from ...errors import InputError, InputTypeError
from ..specs import InputSpec
from .base import Kind
from .inputs import Items, Windows, padded

if TYPE_CHECKING:
    from ...results import Table
    from ..datasets import Dataset


@dataclass(frozen=True)
class Sequences(Kind):
    """A list of sequences (T_i, D), or (T_i,) for D = 1."""

    dtype: str = "float32"

    name: ClassVar[str] = "sequence"

    def check(self, X: Any, owner: Any, spec: InputSpec | None = None) -> Items:
        """X as a list of finite arrays (T_i, D)."""
        name = type(owner).__name__
        if isinstance(X, str | bytes | Mapping) or not hasattr(X, "__len__") or not len(X):
            raise InputTypeError(f"X is {X!r:.40}; {name} takes a list of sequences, arrays (T, D) or (T,).")
        try:
            rows = [np.asarray(check.plain(X[i]), dtype=self.dtype) for i in range(len(X))]
        except (TypeError, ValueError, LookupError) as error:
            raise InputTypeError(f"X must be a list of sequences of numbers: {error}.") from None
        rows = [x[:, None] if x.ndim == 1 else x for x in rows]
        width = int(rows[0].shape[-1] if rows[0].ndim else 0) if spec is None else spec.shape[-1]
        for i, x in enumerate(rows):
            if x.ndim != 2 or x.shape[1] != width or not len(x):
                raise InputError(f"X[{i}] has shape {x.shape}; {name} needs sequences of shape (T, {width}), T >= 1.")
            if not np.isfinite(x).all():
                raise InputError(f"X[{i}] contains NaN or inf. Fill or drop those steps.")
        owner.n_features_in_ = width
        return Items(rows, spec or InputSpec((width,)), _marked)


def _marked(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Arrays (T_i, D) as one (B, T, D + 1); the last channel is 1 at real steps."""
    return padded([np.column_stack([row, np.ones(len(row), row.dtype)]) for row in rows])


@dataclass(frozen=True)
class Series(Kind):
    """A series (T,) or (T, D); a data frame keeps the names of its columns."""

    window: int  # steps of the past that a net sees

    name: ClassVar[str] = "series"
    split: ClassVar[str] = "chronological"
    unit: ClassVar[str] = "values"

    def check(self, X: Any, owner: Any, spec: InputSpec | None = None) -> Windows:
        """X as (T, D) float64, finite."""
        X = check.plain(X)
        if not hasattr(X, "columns") and np.ndim(X) == 1:
            X = np.asarray(X)[:, None]
        x = check.table(owner, X, dtype="float64", reset=spec is None)
        made = Windows(x, spec or InputSpec((self.window, x.shape[1])), self.window, scaled=True)
        if spec is None and len(x) <= self.window:
            raise InputError(
                f"X has {len(x)} steps; windows of {self.window} steps and the one that follows need at least "
                f"{self.window + 1}. Pass a longer series or use shorter windows."
            )
        return made if spec is not None else Windows(x, self.learn(made), self.window, scaled=True)

    def learn(self, inputs: Windows) -> InputSpec:
        """Mean and scale of each column, and the last window, from which forecasts start."""
        x = inputs.values
        scale = x.std(0)
        facts = {"mean": x.mean(0), "scale": np.where(scale > 0, scale, 1.0), "last": x[-self.window :].copy()}
        return InputSpec((self.window, x.shape[1]), facts)

    def verify(self, spec: InputSpec) -> None:
        """Mean, scale and the last window have the right shapes."""
        window, columns = spec.shape
        wanted = {"mean": (columns,), "scale": (columns,), "last": (window, columns)}
        found = {name: np.shape(spec.facts[name]) for name in wanted}
        if window != self.window or found != wanted:
            raise ValueError(f"a series of windows {spec.shape} with facts of shapes {found}")

    # ---- data sets of this kind, for jobs

    @classmethod
    def convert(cls, data: Dataset) -> Dataset:
        if not hasattr(data.x, "select_dtypes"):
            return data
        numbers = data.x.select_dtypes("number")
        x = numbers.to_numpy(float)
        return replace(data, x=x, y=None, kind=cls.name, task="none", feature_names=tuple(map(str, numbers.columns)))

    @classmethod
    def size(cls, data: Dataset) -> str:
        return f"{data.columns} column{'s' * (data.columns > 1)}"

    @classmethod
    def first(cls, data: Dataset, rows: int) -> Table:
        from ...results import Table

        return Table({"first values": np.asarray(data.x)[:rows].tolist()})
