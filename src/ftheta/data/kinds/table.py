"""Tables of rows (n, D), and images: (n, H, W), (n, H, W, C), (n, C, H, W), flat rows with a shape, a folder, or
`Pictures` of `open_images`.

Integers of 8 or 16 bits mean [0, 1] in every estimator; floats stay as they are.
Shapes: n rows or images, D columns, C channels, height H, width W; a batch of images is (B, C, H, W).
"""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pandas.util import hash_pandas_object
from sklearn.utils import get_tags

from ... import check
from ...check import not_finite, plain, reject_memory
from ...errors import InputError, InputTypeError
from ...results import Table as Text
from ..datasets import Dataset
from ..encode.array import ArrayEncoder
from ..encode.table import TableEncoder
from ..io.folders import open_images
from ..io.pictures import Pictures
from ..specs import InputSpec
from .base import Items, Kind, field

SUPPORTS = {  # values of X -> whether a table holds only such, and the sentence for others
    "unit": (lambda x: x.min() >= 0 and x.max() <= 1, "in [0, 1]: scale them, e.g. MinMaxScaler()"),
    "bit": (lambda x: ((x == 0) | (x == 1)).all(), "0 or 1: round them, e.g. Binarizer(threshold=0.5)"),
    "sign": (lambda x: (np.abs(x) == 1).all(), "-1 or 1: take np.where(X > threshold, 1, -1)"),
}
OTHER_SUPPORTS = {"HopfieldNetwork": "sign", "ModernHopfield": "sign", "RestrictedBoltzmannMachine": "unit"}
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
            fitted = f"{type(owner).__name__} was fitted with {tuple(spec.shape)}"
            raise InputError(f"X has rows of shape {x.shape[1:]}, but {fitted}. Pass rows of that shape.")
        within, expected = SUPPORTS.get(self.support, (None, ""))
        if within is not None and x.size and not within(x):
            takes = f"{type(owner).__name__} takes values {expected}"
            raise InputError(f"X holds values from {x.min():g} to {x.max():g}, but {takes}.")
        return Items(x, spec or InputSpec(tuple(map(int, x.shape[1:]))))

    # ---- data sets of this kind, for jobs

    @classmethod
    def also(cls, data: Dataset) -> tuple[str, ...]:
        numbers = hasattr(data.x, "columns") and len(data.x.select_dtypes("number").columns)
        return (*(("image",) if data.shape else ()), *(("series",) if numbers else ()))

    @classmethod
    def content(cls, x: Any) -> bytes:
        if not hasattr(x, "iloc"):
            return super().content(x)
        return np.asarray(hash_pandas_object(x, index=False)).tobytes()  # pyright: ignore[reportCallIssue]

    @classmethod
    def encoder(cls, data: Dataset, estimator: Any) -> Any:
        """Columns as numbers; pixels scaled; values in the range that the estimator takes."""
        dtype: Any = getattr(estimator, "dtype", "float64")
        support: Any = getattr(estimator.kind(), "support", "real") if hasattr(estimator, "kind") else "real"
        if support == "real" and getattr(estimator, "visible", "") != "gaussian":  # its kind says less for some
            support = OTHER_SUPPORTS.get(type(estimator).__name__, "real")
        if support != "real":
            return ArrayEncoder(support, bool(data.shape) or not hasattr(data.x, "iloc"), dtype=dtype)
        if not hasattr(data.x, "iloc"):
            return ArrayEncoder("real", True, dtype=dtype)
        takes = get_tags(estimator).input_tags  # what it takes as it is
        how = "keep" if takes.allow_nan else "mark", "codes" if takes.categorical else "columns"
        return TableEncoder(dtype, *how, clip=getattr(estimator, "clips", False))

    @classmethod
    def size(cls, data: Dataset) -> str:
        return image_size(data.shape) if data.shape else f"{data.columns} columns"

    @classmethod
    def fields(cls, data: Dataset) -> list[dict[str, Any]]:
        return super().fields(data) + ([field("(target)", data.y)] if data.task == "regression" else [])

    @classmethod
    def first(cls, data: Dataset, rows: int) -> Text:
        x = data.x[:rows]
        wide = f" (the first {MAX_COLUMNS} of {x.shape[1]:,} columns)" if x.shape[1] > MAX_COLUMNS else ""
        shown = {str(c): x[c].tolist() for c in x.columns[:MAX_COLUMNS]}
        cells = {c: [None if v != v else _day(v) for v in values] for c, values in shown.items()}
        if data.y is not None:
            y = np.asarray(data.y)
            names = np.asarray(data.target_names, dtype=object)
            cells["(target)"] = (names[np.searchsorted(np.unique(y), y[:rows])] if len(names) else y[:rows]).tolist()
        return Text(cells, f"first rows{wide}")

    @classmethod
    def images(cls, x: Any, rows: Any, shape: Sequence[int]) -> np.ndarray | None:
        return np.asarray(x)[rows].reshape(len(rows), *shape) if len(shape) else None


def _day(value: Any) -> Any:
    """A date without the hour 0."""
    return str(value).removesuffix(" 00:00:00") if hasattr(value, "isoformat") else value


def image_size(shape: Sequence[int]) -> str:
    """The size of an image in words: (H, W) or (H, W, C)."""
    return f"{'x'.join(map(str, shape[:2]))} pixels" + (" in color" if tuple(shape[2:]) == (3,) else "")


SHOWN = 200  # images of a folder, evenly spaced, that are described
CHANNELS = (1, 3, 4)  # gray, colors, colors and opacity


@dataclass(frozen=True)
class Images(Kind):
    """Images of one size."""

    dtype: str = "float32"
    shape: Sequence[int] | None = None  # of a flat row: (H, W) or (C, H, W)
    any_size: bool = False  # whether a fitted net takes images of other heights and widths

    name: ClassVar[str] = "image"
    unit: ClassVar[str] = "images"
    new: ClassVar[str] = "new.png"

    def check(self, X: Any, owner: Any, spec: InputSpec | None = None) -> Items:
        """X as (n, C, H, W): 8 and 16 bits as they are, all else in the dtype and finite; a folder is opened."""
        if isinstance(X, str) and not Path(X).is_dir():
            raise InputTypeError(f"X is {X!r:.80}, not a folder; {type(owner).__name__} takes images or their folder.")
        labels = None
        if isinstance(X, str | Path):  # pictures in the size of those in `fit`; the names of its folders are labels
            size = None if spec is None or self.any_size else (spec.shape[1], spec.shape[2])
            data = open_images(X, size=size, channels=None if spec is None else spec.shape[0], required=False)
            X, labels = data.x, data.y
        x = X if isinstance(X, Pictures) else images(type(owner).__name__, X, dtype=self.dtype, shape=self.shape)
        found = tuple(map(int, x.shape[1:]))
        if spec is None:
            owner.n_features_in_ = int(np.prod(found))
        elif found[: 1 if self.any_size else 3] != tuple(spec.shape)[: 1 if self.any_size else 3]:
            fitted = f"{type(owner).__name__} was fitted with {'x'.join(map(str, spec.shape))}"
            have = f"X has images of {'x'.join(map(str, found))} (channels x height x width)"
            raise InputError(f"{have}, but {fitted}. Resize or convert them, e.g. with ftheta.data.read_picture.")
        return Items(x, spec or InputSpec(found), labels=labels)

    # ---- data sets of this kind, for jobs

    @classmethod
    def also(cls, data: Dataset) -> tuple[str, ...]:
        return ("table",)

    @classmethod
    def content(cls, x: Any) -> bytes:
        return x.digest().encode() if isinstance(x, Pictures) else super().content(x)

    @classmethod
    def encoder(cls, data: Dataset, estimator: Any) -> Any:
        """Pixels as images."""
        if not data.shape:
            advice = "Give a folder of images or a data set of images, e.g. mnist, or use another model, e.g. mlp."
            raise InputError(f"{data.name} is a table, and {type(estimator).__name__} learns from images. {advice}")
        return ArrayEncoder("image", True, data.shape, estimator.dtype)

    @classmethod
    def size(cls, data: Dataset) -> str:
        return image_size(data.shape)

    @classmethod
    def fields(cls, data: Dataset) -> list[dict[str, Any]]:
        x = data.x
        if isinstance(x, Pictures):
            x = x[:: -(-len(x) // SHOWN)]
            x = np.asarray(x[x.usable()])
        return [field("pixel", x)]

    @classmethod
    def images(cls, x: Any, rows: Any, shape: Sequence[int]) -> np.ndarray | None:
        if isinstance(x, Pictures):
            return np.moveaxis(np.asarray(x[rows]), 1, -1).reshape(len(rows), *shape)
        return Table.images(x, rows, shape)


@dataclass(frozen=True)
class Boxes(Images):
    """Images in which objects are to be found: X as for images, y a list of dicts."""

    name: ClassVar[str] = "boxes"

    @classmethod
    def also(cls, data: Dataset) -> tuple[str, ...]:
        return ()

    @classmethod
    def encoder(cls, data: Dataset, estimator: Any) -> None:
        return None


def images(name: str, X: Any, *, dtype: str, shape: Sequence[int] | None = None) -> np.ndarray:
    """X as images (n, C, H, W), C-contiguous."""
    X = plain(X)
    if isinstance(X, list | tuple) and len({np.shape(x) for x in X}) > 1:
        sizes = sorted({np.shape(x) for x in X})
        raise InputError(f"X is a list of arrays of shapes {sizes[0]}, {sizes[1]}, ...: bring all images to one size.")
    try:
        x = np.asarray(X)
    except (TypeError, ValueError) as error:
        raise InputTypeError(f"X must hold numbers only: {error}.") from None
    x = _channels_first(name, x, shape)
    reject_memory(x, dtype)
    if x.dtype in (np.uint8, np.uint16):
        return np.ascontiguousarray(x)
    if x.dtype.kind not in "fiub":
        raise InputTypeError(f"X holds {x.dtype}; {name} needs pixels: integers of 8 or 16 bits, or floats.")
    with nullcontext() if x.dtype == dtype else np.errstate(over="ignore"):
        result = np.ascontiguousarray(x, dtype=dtype)
    if not isfinite(np.vdot(result, result)) and not np.isfinite(result).all():  # the product is quicker
        raise InputError(not_finite(x, result))
    return result


def _channels_first(name: str, x: np.ndarray, shape: Sequence[int] | None) -> np.ndarray:
    if x.ndim == 2 and shape is not None:
        full = (1, *shape) if len(shape) == 2 else tuple(shape)
        if len(full) != 3 or int(np.prod(full)) != x.shape[1]:
            pixels = f"image_shape={tuple(shape)} has {int(np.prod(full))} pixels"
            raise InputError(f"X has {x.shape[1]} columns, but {pixels}. Give ([channels,] height, width).")
        x = x.reshape(len(x), *full)
    x = x[:, None] if x.ndim == 3 else x
    if x.ndim != 4:
        takes = "(n, height, width), (n, height, width, channels) or (n, channels, height, width)"
        flat = "or flat rows with image_shape=(height, width). One image alone is X[None]."
        raise InputError(f"X has shape {x.shape}; {name} takes images {takes}, {flat}")
    if x.shape[3] in CHANNELS and x.shape[1] not in CHANNELS:
        x = x.transpose(0, 3, 1, 2)
    if 0 in x.shape:
        raise InputError(f"X has shape {x.shape}: nothing is in it. Check the filter or file that produced it.")
    return x
