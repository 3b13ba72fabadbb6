"""The encoder of a run, from its state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_type_hints

from ... import check
from ...check import Finite, Positive, Size
from ...errors import FileFormatError
from .array import ArrayEncoder
from .table import TableEncoder

__all__ = ["encoder_of"]

_KINDS = {"table": TableEncoder, "array": ArrayEncoder}


class _State:
    """What encoders learn, and of which type it is."""

    dtype: Literal["float32", "float64"]
    columns: Sequence[Mapping[str, Any]]
    to: Literal["real", "unit", "sign", "bit", "image"]
    together: bool
    shift: Sequence[Finite]
    scale: Sequence[Positive]
    n: Size
    image: tuple[Size, Size, Size]
    names: Sequence[str]


def encoder_of(state: Mapping[str, Any]) -> TableEncoder | ArrayEncoder:
    """The encoder whose `get_state` returned this."""
    kind = state.get("encoder") if isinstance(state, Mapping) else None
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
        raise FileFormatError(f"The state of the encoder is not valid ({reason}). Use another copy.") from error
