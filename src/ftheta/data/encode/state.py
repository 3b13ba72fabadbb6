"""What a run or an export is read from: the state of an encoder, and the text of a script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, Literal, get_type_hints

from ... import check
from ...check import Finite, Positive, Size
from ...errors import FileFormatError
from .array import ArrayEncoder
from .table import TableEncoder

_IMPORT = "\nfrom .cells import MISSING, PLAIN, date, days_of, number, numbers, places\n"
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


def script_template() -> str:
    """`_exported.py` with the functions of `cells.py` in place of their import: a file that needs no fθ."""
    folder = files(str(__package__))
    script, cells = (folder.joinpath(name).read_text(encoding="utf-8") for name in ("_exported.py", "cells.py"))
    script = script.replace(_IMPORT, "").replace("import json\n", "import json\nimport re\n", 1)
    return script.replace("# ---- files", f"# ----{cells.partition('# ----')[2]}\n\n# ---- files", 1)
