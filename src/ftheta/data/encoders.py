"""The encoder of a run, from its state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_type_hints

from .. import check
from ..check import Finite, Positive, Size
from ..errors import FileFormatError
from .image_encoder import ImageEncoder
from .range_encoder import RangeEncoder
from .table import PixelEncoder, TableEncoder

__all__ = ["encoder_of"]

_KINDS = {"table": TableEncoder, "pixels": PixelEncoder, "images": ImageEncoder, "range": RangeEncoder}


def encoder_of(state: Mapping[str, Any]) -> TableEncoder | PixelEncoder | ImageEncoder | RangeEncoder:
    """The encoder of a run, from what its `get_state` gave."""
    kind = state.get("encoder", "table") if isinstance(state, Mapping) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        known = ", ".join(map(repr, _KINDS))
        raise FileFormatError(f"Unknown encoder {kind!r:.80}; this version of fθ knows {known}. Upgrade fθ.")
    try:
        check.parameters("the encoder", check.constraints(_State, get_type_hints(_State)), dict(state))
        return _KINDS[kind].from_state(state)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, FileFormatError):
            raise
        reason = f"{type(error).__name__}: {error}"[:300]
        raise FileFormatError(f"The state of the encoder describes none ({reason}). Use another copy.") from error


class _State:
    """What encoders learn, and of which kind it is."""

    dtype: Literal["float32", "float64"]
    columns: Sequence[Mapping[str, Any]]
    mean: Finite
    scale: Positive
    n: Size
    image: tuple[Size, Size, Size]
    largest: Positive
    support: Literal["unit", "sign", "bit"]
    together: bool
    low: Sequence[Finite]
    high: Sequence[Finite]
    names: Sequence[str]
