"""Tables: rows of numbers (n, D)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ... import check
from ...errors import InputError
from ..specs import InputSpec
from .base import Kind, field
from .inputs import Items

if TYPE_CHECKING:
    from ...results import Table as Text
    from ..datasets import Dataset

SUPPORTS = {  # values of X -> whether a table holds only such, and the sentence for others
    "unit": (lambda x: x.min() >= 0 and x.max() <= 1, "in [0, 1]: scale them, e.g. MinMaxScaler()"),
    "bit": (lambda x: ((x == 0) | (x == 1)).all(), "0 or 1: round them, e.g. Binarizer(threshold=0.5)"),
    "sign": (lambda x: (np.abs(x) == 1).all(), "-1 or 1: take np.where(X > threshold, 1, -1)"),
}
MAX_COLUMNS = 10  # that are shown


@dataclass(frozen=True)
class Table(Kind):
    """Rows of numbers (n, D): an array, nested lists, a data frame, an Arrow table, a tensor."""

    dtype: str = "float32"
    support: str = "real"  # values of X: real, unit, bit or sign
    axes: bool = False  # whether X may have more than two axes
    integers: bool = False  # whether integers stay integers, e.g. for an embedding

    name: ClassVar[str] = "table"
    merge: ClassVar[bool] = True

    def check(self, X: Any, owner: Any, spec: InputSpec | None = None) -> Items:
        """X as an array of the dtype, finite, and within the support."""
        x = check.table(owner, X, dtype=self.dtype, reset=spec is None, allow_nd=self.axes, integers=self.integers)
        if spec is not None and x.shape[1:] != tuple(spec.shape):
            raise InputError(
                f"X has rows of shape {x.shape[1:]}, but {type(owner).__name__} was fitted with {tuple(spec.shape)}. "
                "Pass rows of that shape."
            )
        within, expected = SUPPORTS.get(self.support, (None, ""))
        if within is not None and x.size and not within(x):
            raise InputError(
                f"X holds values from {x.min():g} to {x.max():g}, but {type(owner).__name__} takes values {expected}."
            )
        return Items(x, spec or InputSpec(tuple(map(int, x.shape[1:]))))

    # ---- data sets of this kind, for jobs

    @classmethod
    def also(cls, data: Dataset) -> tuple[str, ...]:
        numbers = hasattr(data.x, "columns") and len(data.x.select_dtypes("number").columns)
        return (*(("image",) if data.shape else ()), *(("series",) if numbers else ()))

    @classmethod
    def take(cls, x: Any, rows: Any) -> Any:
        return x.iloc[rows] if hasattr(x, "iloc") else x[rows]

    @classmethod
    def content(cls, x: Any) -> bytes:
        if not hasattr(x, "iloc"):
            return super().content(x)
        from pandas.util import hash_pandas_object

        return np.asarray(hash_pandas_object(x, index=False)).tobytes()  # pyright: ignore[reportCallIssue]

    @classmethod
    def encoder(cls, data: Dataset, estimator: Any) -> Any:
        """Columns as numbers; pixels scaled; values in the range that the estimator takes."""
        from ..encode.array import ArrayEncoder
        from ..encode.table import TableEncoder

        dtype: Any = getattr(estimator, "dtype", "float64")
        support: Any = _support(estimator)
        if support != "real":
            together = bool(data.shape) or not hasattr(data.x, "iloc")
            return ArrayEncoder(support, together, dtype=dtype)
        return TableEncoder(dtype) if hasattr(data.x, "iloc") else ArrayEncoder("real", True, dtype=dtype)

    @classmethod
    def size(cls, data: Dataset) -> str:
        return image_size(data.shape) if data.shape else f"{data.columns} columns"

    @classmethod
    def fields(cls, data: Dataset) -> list[dict[str, Any]]:
        target = [field("(target)", data.y)] if data.task == "regression" else []
        return [field(str(name), column) for name, column in data.x.items()] + target

    @classmethod
    def first(cls, data: Dataset, rows: int) -> Text:
        from ...results import Table as Text

        x = data.x[:rows]
        wide = f" (the first {MAX_COLUMNS} of {x.shape[1]:,} columns)" if x.shape[1] > MAX_COLUMNS else ""
        cells: dict[str, Any] = {
            str(c): [None if v != v else v for v in x[c].tolist()] for c in x.columns[:MAX_COLUMNS]
        }
        if data.y is not None:
            y = np.asarray(data.y)
            names = np.asarray(data.target_names, dtype=object)
            cells["(target)"] = (names[np.searchsorted(np.unique(y), y[:rows])] if len(names) else y[:rows]).tolist()
        return Text(cells, f"first rows{wide}")

    @classmethod
    def images(cls, x: Any, rows: Any, shape: Sequence[int]) -> np.ndarray | None:
        return np.asarray(x)[rows].reshape(len(rows), *shape) if len(shape) else None


def image_size(shape: Sequence[int]) -> str:
    """The size of an image in words: (H, W) or (H, W, C)."""
    return f"{'x'.join(map(str, shape[:2]))} pixels" + (" in color" if tuple(shape[2:]) == (3,) else "")


_OTHER = {"HopfieldNetwork": "sign", "ModernHopfield": "sign", "RestrictedBoltzmannMachine": "unit"}


def _support(estimator: Any) -> str:
    """Values of X that an estimator takes; its kind says less than is needed for some."""
    own = getattr(estimator.kind(), "support", "real") if hasattr(estimator, "kind") else "real"
    gaussian = getattr(estimator, "visible", "") == "gaussian"
    return own if own != "real" or gaussian else _OTHER.get(type(estimator).__name__, "real")
