"""Images as a convolutional net sees them: channels first, and nothing learned but their shape and range.

    rows (n, H·W·C), pictures (n, C, H, W)  ->  (n, C, H, W): bytes stay bytes, other numbers are divided by the largest

Shapes: n images, channels C, height H, width W.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..errors import InputError
from ._encoder import Encoder
from .picture_files import Pictures

__all__ = ["ImageEncoder"]


class ImageEncoder(Encoder):
    """Flat rows or pictures as images; a scikit-learn transformer whose state is JSON.

    Args:
        dtype: Of what `transform` gives where rows are no bytes.
        shape: Of a flat row: (H, W) or (H, W, C); () where `fit` sees Pictures.

    Example:
        >>> encoder = ImageEncoder(shape=(2, 2)).fit(np.array([[0, 4, 8, 16]]))
        >>> encoder.transform(np.array([[0, 4, 8, 16]])).tolist()
        [[[[0.0, 0.25], [0.5, 1.0]]]]
    """

    image_: tuple[int, ...]

    def __init__(self, dtype: Literal["float32", "float64"] = "float32", shape: Sequence[int] = ()) -> None:
        super().__init__(dtype)
        self.shape = shape

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn shape and range."""
        given = X.shape[1:] if isinstance(X, Pictures) else tuple(self.shape)
        if isinstance(X, Pictures):
            self.image_ = tuple(map(int, given))
        else:
            height, width, channels = (*given, 1)[:3]
            self.image_ = (channels, height, width)
        whole = getattr(X, "dtype", None) == np.uint8
        self.largest_ = 255.0 if whole else float(np.abs(np.asarray(X, dtype=float)).max()) or 1.0
        self.n_features_in_ = prod(self.image_)
        return self

    def transform(self, X: Any) -> Any:
        """Images (n, C, H, W); Pictures as they are."""
        check_is_fitted(self)
        x = self.align(X)
        if isinstance(x, Pictures):
            return x
        x = np.asarray(x)
        if x.ndim == 2:
            channels, height, width = self.image_
            x = np.ascontiguousarray(x.reshape(len(x), height, width, channels).transpose(0, 3, 1, 2))
        return x if x.dtype == np.uint8 and self.largest_ == 255 else (x / self.largest_).astype(self.dtype)

    def align(self, x: Any) -> Any:
        """Images of the size that `fit` saw."""
        if np.shape(x)[1:] not in (self.image_, (self.n_features_in_,)):
            wanted = "x".join(map(str, self.image_))
            raise InputError(
                f"The images have shape {np.shape(x)[1:]}; the model was fitted with {wanted} (channels x height x "
                "width). Give images of the same size."
            )
        return x

    def surprises(self, x: Any) -> list[str]:
        """Nothing: a pixel is a pixel."""
        return []

    def describe(self) -> list[dict[str, str]]:
        """What is done to the pixels."""
        did = f"{'x'.join(map(str, self.image_))} (channels x height x width), divided by {self.largest_:g}"
        return [{"name": "pixels", "kind": "pixels", "did": did}]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the pixels: (D,)."""
        return np.array([f"pixel {j}" for j in range(self.n_features_in_)], dtype=object)

    def get_state(self) -> dict[str, Any]:
        """What was learned as JSON values."""
        return {"encoder": "images", "dtype": self.dtype, "image": list(self.image_), "largest": self.largest_}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """The encoder that `get_state` described."""
        channels, height, width = (int(n) for n in state["image"])
        self = cls(dtype=state["dtype"], shape=(height, width, channels))
        self.image_, self.largest_ = (channels, height, width), float(state["largest"])
        self.n_features_in_ = prod(self.image_)
        return self
