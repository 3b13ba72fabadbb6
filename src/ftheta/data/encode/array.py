"""Rows of numbers of one kind, as pixels are, in the range and with the axes that a model takes.

    real:  z = (x - mean) / deviation         unit:  z = (x - low) / (high - low), clipped to [0, 1]
    sign:  +1 above the middle, else -1       bit:   1 and 0 there
    image: bytes stay bytes, other numbers are divided by the largest; rows (n, H·W·C) become (n, C, H, W)

Images share one shift and scale, a table has one for each column. Bytes have low = 0 and high = 255.
"""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ...check import table
from ...errors import InputError

_WORDS = {
    "real": "standardized",
    "unit": "brought to [0, 1]",
    "sign": "±1, cut at the middle",
    "bit": "bits, cut at the middle",
    "image": "images, divided by the largest",
}


class ArrayEncoder(TransformerMixin, BaseEstimator):
    """A scikit-learn transformer whose state is JSON.

    Args:
        to: The range of the model.
        together: Whether all columns share one range, as pixels do.
        shape: Of an image, (H, W) or (H, W, C); () for a table.
        dtype: Of what `transform` returns.

    Example:
        >>> encoder = ArrayEncoder("sign").fit(np.array([[0.0, 3.0], [4.0, 1.0]]))
        >>> encoder.transform(np.array([[1.0, 9.0]])).tolist()
        [[-1.0, 1.0]]
    """

    n_features_in_: int
    feature_names_in_: np.ndarray

    def __init__(
        self,
        to: Literal["real", "unit", "sign", "bit", "image"] = "real",
        together: bool = False,
        shape: Sequence[int] = (),
        dtype: Literal["float32", "float64"] = "float32",
    ) -> None:
        self.to, self.together, self.shape, self.dtype = to, together, shape, dtype

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = [self.dtype]
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn shift and scale."""
        as_bytes = getattr(X, "dtype", None) == np.uint8
        if self.to == "image" and np.ndim(X) == 4:  # images that have their axes, or pictures in files
            self.n_features_in_, self.image_ = prod(X.shape[1:]), tuple(map(int, X.shape[1:]))
            self.shift_, self.scale_ = np.zeros(1), np.full(1, 255.0 if as_bytes else float(np.abs(X).max()) or 1.0)
            return self
        x, axis = table(self, _numeric(X), dtype=self._dtype, reset=True), None if self.together else 0
        height, width, channels = (*self.shape, 1)[:3] if self.shape else (1, x.shape[1], 1)
        self.image_ = (channels, height, width)
        if self.to == "real":
            shift, scale = x.mean(axis, dtype=np.float64), x.std(axis, dtype=np.float64)
        elif as_bytes:
            shift, scale = np.zeros(1), np.full(1, 255.0)
        elif self.to == "image":
            shift, scale = np.zeros(1), np.abs(x).max()
        else:
            low, high = x.min(axis), x.max(axis)
            fixed = (low == high) & (low >= 0) & (low <= 1)  # what does not vary keeps a value in [0, 1]
            shift, scale = np.where(fixed, 0.0, low), np.where(fixed, 1.0, high - low)
        self.shift_, self.scale_ = np.ravel(shift), np.where(np.ravel(scale) > 0, np.ravel(scale), 1.0)
        return self

    def transform(self, X: Any) -> Any:
        """Rows in the range, (n, D), or images (n, C, H, W); pictures in files as they are."""
        check_is_fitted(self)
        if self.to == "image":
            return self._images(self.align(X))
        z = table(self, _numeric(X), dtype=self._dtype, reset=False) - self.shift_.astype(self._dtype)
        z /= self.scale_.astype(self._dtype)
        if self.to in ("sign", "bit"):
            z = np.where(z > 0.5, 1, -1 if self.to == "sign" else 0)
        return (np.clip(z, 0, 1) if self.to == "unit" else z).astype(self.dtype, copy=False)

    @property
    def _dtype(self) -> str:
        return self.dtype if self.to == "real" else "float64"  # where values are cut, the last digit decides

    def _images(self, X: Any) -> Any:
        if np.ndim(X) == 4 and X.dtype == np.uint8:
            return X
        x = np.asarray(X)
        if x.ndim == 2:
            channels, height, width = self.image_
            x = np.ascontiguousarray(x.reshape(len(x), height, width, channels).transpose(0, 3, 1, 2))
        return x if x.dtype == np.uint8 and self.scale_[0] == 255 else (x / self.scale_[0]).astype(self.dtype)

    def align(self, x: Any) -> Any:
        """Rows with the columns or the size that `fit` saw; those of a frame in its order."""
        if hasattr(x, "columns") and hasattr(self, "feature_names_in_"):
            missing = [name for name in self.feature_names_in_ if name not in x.columns]
            if missing:
                raise InputError(f"The column {missing[0]!r} is missing, which the model was fitted with. Add it.")
            return x[list(self.feature_names_in_)]
        sizes = [(self.n_features_in_,), *([self.image_] if self.to == "image" else [])]
        if np.shape(x)[1:] not in sizes:
            size = f" ({'x'.join(map(str, self.image_))}, channels x height x width)" if self.to == "image" else ""
            fitted = f"the model was fitted with {self.n_features_in_} values{size}. Use rows of the same size."
            raise InputError(f"The rows have shape {np.shape(x)[1:]}; {fitted}")
        return x

    def new_row_notes(self, x: Any) -> list[str]:
        """How many values are outside of what `fit` saw, where they are clipped."""
        if self.to != "unit":
            return []
        z = (np.asarray(_numeric(x), dtype=float) - self.shift_) / self.scale_
        n = int(((z < 0) | (z > 1)).sum())
        return [f"{n} values are outside of the range of the training rows and were clipped to it"] if n else []

    def describe(self) -> list[dict[str, str]]:
        """What is done to each column, or to all of them where they share one range (`count` columns)."""
        shifts, scales = np.broadcast_arrays(self.shift_, self.scale_)
        each = len(shifts) == self.n_features_in_
        names = self.get_feature_names_out() if each else ["values"]
        shape = f" as {'x'.join(map(str, self.image_))}" if self.to == "image" else ""
        count = {} if each else {"count": str(self.n_features_in_)}
        return [
            {"name": str(name), "kind": "number", "did": f"{_WORDS[self.to]}: (x - {a:.4g}) / {b:.4g}{shape}", **count}
            for name, a, b in zip(names, shifts, scales, strict=True)
        ]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns: (D,)."""
        names = getattr(self, "feature_names_in_", [f"value {j}" for j in range(self.n_features_in_)])
        return np.array(names, dtype=object)

    def axes(self) -> tuple[list[str], np.ndarray]:
        """Names of the columns, and shift and scale that bring each back to the user's units: (D, 2)."""
        shift, scale = (self.shift_, self.scale_) if self.to in ("real", "unit") else (0.0, 1.0)
        units = np.broadcast_arrays(shift, scale, np.zeros(self.n_features_in_))[:2]
        return [str(name) for name in self.get_feature_names_out()], np.stack(units, 1)

    def get_state(self) -> dict[str, Any]:
        """What was learned, as JSON values."""
        names = [str(name) for name in getattr(self, "feature_names_in_", [])]
        learned = {"shift": self.shift_.tolist(), "scale": self.scale_.tolist(), "n": self.n_features_in_}
        how = {"to": self.to, "together": self.together, "dtype": self.dtype}
        return {"encoder": "array", **how, **learned, "image": list(self.image_), "names": names}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """The encoder whose `get_state` returned this."""
        channels, height, width = state["image"]
        self = cls(state["to"], state["together"], (height, width, channels), state["dtype"])
        self.shift_, self.scale_ = (np.asarray(state[name], dtype=float) for name in ("shift", "scale"))
        self.n_features_in_, self.image_ = int(state["n"]), (channels, height, width)
        np.broadcast_shapes(self.shift_.shape, self.scale_.shape, (self.n_features_in_,))
        sizes = prod(self.image_), len(state["names"]) or self.n_features_in_
        if set(sizes) != {self.n_features_in_}:
            raise ValueError(f"images of {sizes[0]} values, {sizes[1]} names, {self.n_features_in_} columns")
        if state["names"]:
            self.feature_names_in_ = np.array(state["names"], dtype=object)
        return self


def _numeric(X: Any) -> Any:
    """X, if all columns hold numbers."""
    text = [str(name) for name, kind in getattr(X, "dtypes", {}).items() if kind.kind not in "iufb"]
    if text:
        advice = "Leave it out, or write its categories as columns of 0 and 1."
        raise InputError(f"The column {text[0]!r} does not hold numbers, which this model learns from. {advice}")
    return X
