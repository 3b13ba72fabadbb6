"""The encoder of a run, from its state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import FileFormatError
from .image_encoder import ImageEncoder
from .range_encoder import RangeEncoder
from .table import PixelEncoder, TableEncoder

__all__ = ["encoder_of"]

_KINDS = {"table": TableEncoder, "pixels": PixelEncoder, "images": ImageEncoder, "range": RangeEncoder}


def encoder_of(state: Mapping[str, Any]) -> TableEncoder | PixelEncoder | ImageEncoder | RangeEncoder:
    """The encoder of a run, from what its `get_state` gave."""
    kind = state.get("encoder", "table")
    if kind not in _KINDS:
        known = ", ".join(map(repr, _KINDS))
        raise FileFormatError(f"Unknown encoder {kind!r:.80}; this version of fθ knows {known}. Upgrade fθ.")
    return _KINDS[kind].from_state(state)
