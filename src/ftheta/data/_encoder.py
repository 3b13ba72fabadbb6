"""What encoders share."""

from __future__ import annotations

from typing import Literal

from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags

__all__ = ["Encoder"]


class Encoder(TransformerMixin, BaseEstimator):
    """What encoders share: the dtype of what they give."""

    def __init__(self, dtype: Literal["float32", "float64"] = "float64") -> None:
        self.dtype = dtype

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64"] if self.dtype == "float64" else ["float32"]
        return tags
