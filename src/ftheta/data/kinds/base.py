"""What every kind of input has, and checked inputs that are batched by row number: items, and windows of steps.

    kind.check(X, owner) -> Inputs          learns a spec from X
    kind.check(X, owner, spec) -> Inputs    compares X with it
    inputs.source(y, weight, ...) -> Source
    Items: batch = collate(items[index]);   Windows: x = steps s + i·stride, ..., T of them, y = the same one step later

A kind is a frozen dataclass that an estimator makes from its own parameters in `kind()`. It keeps nothing of the data:
what is learned from X is a value, `InputSpec`. Shapes: B rows of a batch, T steps of a window.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
import pandas as pd

from ...errors import InputError
from ...store.files import readable
from ..io.pictures import Pictures
from ..specs import InputSpec

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from ...draw import Draw
    from ...results import Table
    from ..batch import Batch
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
    new: ClassVar[str] = "new.csv"  # a file to predict
    made_by: ClassVar[str] = ""  # how a table becomes data of this kind, as a sentence
    has_targets: ClassVar[bool] = False  # whether X holds what is to be predicted

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
    def convert(cls, data: Dataset, roles: Mapping[str, Any] = {}) -> Dataset:
        """A data set of another kind as one of this kind, if the two differ in more than their use.

        Args:
            data: The data set.
            roles: What columns are for: `target`, `time_column`, `group`, `known_ahead`.
        """
        return data

    @classmethod
    def settings(cls, data: Dataset, roles: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters of an estimator that say what columns are for."""
        return {}

    @classmethod
    def pack(cls, data: Dataset) -> dict[str, Any] | None:
        """Raw data as arrays, where predictions continue it; None: they do not."""
        return None

    @classmethod
    def unpack(cls, tree: Mapping[str, Any]) -> Any:
        """What `pack` made arrays of."""
        return None

    @classmethod
    def take(cls, x: Any, rows: Any) -> Any:
        """Some rows of raw x."""
        if isinstance(x, list):
            return [x[i] for i in np.arange(len(x))[rows]]
        return x.iloc[rows] if hasattr(x, "iloc") else x[rows]

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
        columns = data.x.items() if hasattr(data.x, "items") else [("value", data.x)]
        return [field(str(name), column) for name, column in columns]

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
    column = values if isinstance(values, pd.Series) else pd.Series(np.ravel(values))
    kind = "number" if column.dtype.kind in "fiub" else "date" if column.dtype.kind == "M" else "category"
    known = column.dropna()
    ordered = known.astype(str) if kind == "category" else known
    ends = pd.Series([ordered.min(), ordered.max()]).tolist() if len(known) else [None, None]
    low, high = (v if v is None or isinstance(v, int | float) else str(v).removesuffix(" 00:00:00") for v in ends)
    missing, levels = int(column.isna().sum()), int(known.nunique())
    return {"name": name, "kind": kind, "missing": missing, "levels": levels, "lowest": low, "highest": high}


def histogram(values: Any, like: Any = None) -> tuple[list[int], str]:
    """Counts of numbers and dates in 20 bins, of other values for each of the 12 most frequent ones; and in words.

    `like` are values that the bins are for; None: the same.

    Example:
        >>> histogram(["no", "yes", "no", None])
        ([2, 1], 'no 67 %, yes 33 %')
    """
    own, every = (pd.Series(v).dropna() for v in (values, values if like is None else like))
    if every.dtype.kind == "M" or (every.dtype.kind in "fiu" and every.nunique() > LEVELS):
        ends = [str(v)[:10] if own.dtype.kind == "M" else f"{v:.4g}" for v in own.quantile([0, 0.5, 1])]
        numbers, of = (v[np.isfinite(v)] for v in (own.to_numpy().astype(float), every.to_numpy().astype(float)))
        return np.histogram(numbers, BINS, (of.min(), of.max()))[0].tolist(), "{0} to {2}, median {1}".format(*ends)
    levels = every.value_counts().index[:LEVELS]
    counts = own.value_counts().reindex(levels, fill_value=0).tolist()
    names = [f"{level}:" if str(level)[-1:].isdigit() else level for level in levels]
    said = [f"{name} {n / max(len(own), 1):.0%}" for name, n in zip(names, counts, strict=True)]
    return counts, ", ".join(said[:4]).replace("%", " %") + ", ..." * (len(said) > 4)


BINS, LEVELS = 20, 12  # of a small histogram
MAX_AHEAD_BYTES, MAX_AHEAD = 1 << 26, 8  # of decoded batches that wait, at least one batch
MAX_BATCH_BYTES = 1 << 29  # of one batch of pictures as floats


@dataclass(frozen=True)
class Items:
    """Separate items: an array (n, ...), pictures in files, or a list of arrays."""

    values: Any
    spec: InputSpec
    collate: Callable[[Any], Any] | None = None  # some values -> one array or tensor, e.g. padded; None: as they are
    labels: Any = None  # targets that came with X: of a folder of images, the names of its folders

    def __len__(self) -> int:
        return len(self.values)

    def take(self, index: Any) -> Items:
        """Some of the items, by number."""
        return replace(self, values=Kind.take(self.values, index), labels=None)

    def content(self) -> Sequence[np.ndarray]:
        """The array, or the lengths and then the items of a list."""
        if isinstance(self.values, np.ndarray):
            return [self.values]
        if isinstance(self.values, Pictures):
            return [np.frombuffer(self.values.digest().encode(), np.uint8)]
        return [np.array([len(v) for v in self.values]), *map(np.asarray, self.values)]

    def source(self, y: Any, weight: Any, *, batch_size: int, shuffle: bool, dtype: torch.dtype, device: Any) -> Source:
        """Batches; floats have the dtype, integers stay, bytes of pixels become [0, 1]."""
        from ..batch import Batch, take
        from ..sources import Indexed, Rows

        how: dict[str, Any] = {"batch_size": batch_size, "shuffle": shuffle}
        y, weight = (a if isinstance(a, list) else on_device(a, dtype, device) for a in (y, weight))
        if isinstance(self.values, np.ndarray) and self.collate is None and not isinstance(y, list):
            expand = partial(unit_pixels, dtype=dtype) if self.values.dtype in (np.uint8, np.uint16) else None
            x = on_device(self.values, dtype, device, copy=len(self) <= batch_size)  # smaller batches are copies
            return Rows(x, y, weight, **how, expand=expand)

        def get(index: Tensor, draw: Draw) -> Batch:
            some = Kind.take(self.values, index.numpy())
            x = on_device(np.asarray(some) if self.collate is None else self.collate(some), dtype, device)
            return Batch(unit_pixels(x, dtype), take(y, index), take(weight, index), index)

        in_files = isinstance(self.values, Pictures)
        ahead = _batches_ahead(self.values, min(batch_size, len(self)), dtype) if in_files else 0
        lengths = [len(v) for v in self.values] if isinstance(self.values, list) else None
        return Indexed(len(self), get, **how, ahead=ahead, lengths=lengths)


@dataclass(frozen=True)
class Windows:
    """Steps one after the other, (n, ...); a batch holds windows of them and, as targets, the steps that follow."""

    values: np.ndarray
    spec: InputSpec
    length: int  # T
    stride: int = 1  # steps between the starts of two windows

    def __len__(self) -> int:
        return len(self.values)

    def take(self, index: Any) -> Windows:
        """A contiguous part."""
        index = np.arange(len(self))[index]
        if len(index) and index[-1] - index[0] + 1 != len(index):
            raise InputError("Steps that follow each other cannot be taken apart at random: take a contiguous part.")
        return replace(self, values=self.values[index])

    def content(self) -> Sequence[np.ndarray]:
        """The steps."""
        return [self.values]

    def source(self, y: Any, weight: Any, *, batch_size: int, shuffle: bool, dtype: torch.dtype, device: Any) -> Source:
        """Batches of windows: x (B, T, ...), y (B, T, ...); in training the first window starts at random."""
        import torch

        from ..batch import Batch
        from ..sources import Indexed

        values: Any = on_device(self.values, dtype, device)
        phases = self.stride if shuffle else 1
        n = (len(values) - self.length - phases) // self.stride + 1
        if n < 1:
            need = f"windows of {self.length} steps and the one that follows need at least {self.length + phases}"
            advice = "Pass a longer X, hold out less of it, or use shorter windows."
            raise InputError(f"X has {len(values)} steps, but {need}. {advice}")
        within = torch.arange(self.length + 1)

        def get(index: Tensor, draw: Draw) -> Batch:
            start = torch.randint(phases, (), generator=draw.generator("phase"))
            window = values[((index * self.stride + start)[:, None] + within).to(device)]  # (B, T + 1, ...)
            return Batch(window[:, :-1], window[:, 1:], None, index)

        return Indexed(n, get, batch_size=batch_size, shuffle=shuffle)


def _batches_ahead(pictures: Any, batch_size: int, dtype: torch.dtype) -> int:
    """Batches of pictures that a thread decodes in advance, in bounded memory."""
    pixels = batch_size * prod(pictures.shape[1:])
    if (size := pixels * dtype.itemsize) > MAX_BATCH_BYTES:
        each = f"{pictures.shape[3]}x{pictures.shape[2]} pixels"
        most = f"{readable(MAX_BATCH_BYTES)} are held: open them with a smaller size, or use a smaller batch_size"
        raise InputError(f"A batch of {batch_size} pictures of {each} takes {readable(size)}, at most {most}.")
    return max(1, min(MAX_AHEAD, MAX_AHEAD_BYTES // pixels))


def on_device(a: Any, dtype: torch.dtype, device: Any, *, copy: bool = True) -> Any:
    """A copy on the device, which a module may change: floats in the dtype, integers as they are; None stays None.

    Without `copy`, an array that has all this keeps its memory.
    """
    import torch

    if a is None:
        return None
    if not isinstance(a, np.ndarray):
        return a.to(device, dtype if a.is_floating_point() else a.dtype)
    real = None if a.dtype.kind in "iu" else str(dtype).removeprefix("torch.")
    made = np.array(a, dtype=real, order="C") if copy else np.require(a, real, ["C", "W"])
    return torch.from_numpy(made).to(device)


def unit_pixels(x: Any, dtype: torch.dtype) -> Any:
    """Integers of 8 or 16 bits as shares of the largest; others as they are."""
    import torch

    largest = {torch.uint8: 255, torch.uint16: 65535}.get(x.dtype)
    return x if largest is None else x.to(dtype).div_(largest)


def padded(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Arrays (T_i, ...) as one (B, T, ...), with zeros after the end."""
    x = np.zeros((len(rows), max(map(len, rows)), *rows[0].shape[1:]), rows[0].dtype)
    for i, row in enumerate(rows):
        x[i, : len(row)] = row
    return x
