"""What every kind of input says.

    kind.check(X, owner) -> Inputs          learns a spec from X
    kind.check(X, owner, spec) -> Inputs    compares X with it
    inputs.source(y, weight, ...) -> Source

A kind is a frozen dataclass that an estimator makes from its own parameters in `kind()`. It keeps nothing of the data:
what is learned from X is a value, `InputSpec`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np

from ..specs import InputSpec

if TYPE_CHECKING:
    import torch

    from ...results import Table
    from ..datasets import Dataset
    from ..sources import Source


class Inputs(Protocol):
    """Checked X: what a net is built for, rows by number, their arrays for the digest, and batches with targets."""

    @property
    def spec(self) -> InputSpec: ...
    def __len__(self) -> int: ...
    def take(self, index: Any) -> Self: ...
    def content(self) -> Sequence[np.ndarray]: ...  # of tables also to find equal rows
    def source(
        self, y: Any, weight: Any, *, batch_size: int, shuffle: bool, dtype: torch.dtype, device: Any
    ) -> Source: ...


class Kind:
    """Base of all kinds."""

    name: ClassVar[str]  # in the catalog
    split: ClassVar[str] = "random"  # how rows are held out: random, chronological, or none
    merge: ClassVar[bool] = False  # whether equal rows may become one row with the sum of their weights
    unit: ClassVar[str] = "rows"  # what is counted

    def check(self, X: Any, owner: Any, spec: InputSpec | None = None) -> Inputs:
        """X as inputs, or one sentence that names the estimator `owner`; without a spec, one is learned from X.

        scikit-learn's `n_features_in_` is set on the owner.
        """
        raise NotImplementedError

    def learn(self, inputs: Any) -> InputSpec:
        """The spec of these rows alone: after rows were held out, what is learned comes from the others."""
        return inputs.spec

    def verify(self, spec: InputSpec) -> None:
        """Raise a ValueError where a spec that comes from a file is not one that `check` learns."""

    # ---- data sets of this kind, for jobs

    @classmethod
    def also(cls, data: Dataset) -> tuple[str, ...]:
        """Other kinds that the data can be taken as without a loss."""
        return ()

    @classmethod
    def convert(cls, data: Dataset) -> Dataset:
        """A data set of another kind as one of this kind, if the two differ in more than their use."""
        return data

    @classmethod
    def take(cls, x: Any, rows: Any) -> Any:
        """Some rows of raw x."""
        return [x[i] for i in np.arange(len(x))[rows]] if isinstance(x, list) else x[rows]

    @classmethod
    def content(cls, x: Any) -> bytes:
        """What the digest of a data set is made of."""
        parts = [np.array([len(part) for part in x]), *x] if isinstance(x, list) else [x]
        return b"".join(np.ascontiguousarray(part).tobytes() for part in parts)

    @classmethod
    def encoder(cls, data: Dataset, estimator: Any) -> Any:
        """What turns raw x into arrays for an estimator; its state is JSON. None: the estimator takes x as it is."""
        return None

    @classmethod
    def size(cls, data: Dataset) -> str:
        """The size of one row in words, e.g. "13 columns"."""
        return ""

    @classmethod
    def fields(cls, data: Dataset) -> list[dict[str, Any]]:
        """Name, kind, missing cells, levels, lowest and highest value of each column."""
        return [field("value", data.x)]

    @classmethod
    def first(cls, data: Dataset, rows: int) -> Table | None:
        """The first rows as a table, if they can be read."""
        return None

    @classmethod
    def images(cls, x: Any, rows: Any, shape: Sequence[int]) -> np.ndarray | None:
        """Some rows as images (k, H, W[, C]); None where rows are not images."""
        return None


def field(name: str, values: Any) -> dict[str, Any]:
    """What there is to know of a column."""
    import pandas as pd

    column = values if isinstance(values, pd.Series) else pd.Series(np.ravel(values))
    kind = "number" if column.dtype.kind in "fiub" else "date" if column.dtype.kind == "M" else "category"
    known = column.dropna()
    ordered = known.astype(str) if kind == "category" else known
    ends = pd.Series([ordered.min(), ordered.max()]).tolist() if len(known) else [None, None]
    low, high = (v if v is None or isinstance(v, int | float) else str(v) for v in ends)
    missing, levels = int(column.isna().sum()), int(known.nunique())
    return {"name": name, "kind": kind, "missing": missing, "levels": levels, "lowest": low, "highest": high}
