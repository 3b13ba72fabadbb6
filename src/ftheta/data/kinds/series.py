"""Series: one long run of measurements in time, (T,) or (T, D), standardized inside.

A batch holds windows of the past and, as targets, the steps that follow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ... import check
from ...errors import InputError
from ..specs import InputSpec
from .base import Kind
from .inputs import Windows

if TYPE_CHECKING:
    from ...results import Table
    from ..datasets import Dataset

__all__ = ["Series"]


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
