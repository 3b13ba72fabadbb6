"""metrics.jsonl: one row of numbers per line, each with a checksum, so that one damaged line does not cost the others.

{"epoch": 1, "loss": 0.5, "crc": 3063870463}
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any
from zlib import crc32

from ..errors import FileFormatError, InputTypeError
from .files import strict_json

METRICS = "metrics.jsonl"
CHECK = "crc"


def line_of(row: Mapping[str, Any]) -> bytes:
    """A row as a line; a number that is not finite becomes null."""
    text = json.dumps({key: _number(key, value) for key, value in row.items()})
    return f'{text[:-1]}{", " * (len(text) > 2)}"{CHECK}": {crc32(text.encode())}}}\n'.encode()


def rows_of(data: bytes) -> tuple[list[dict[str, float]], int]:
    """The rows before the first line that is not as it was written, and their bytes."""
    rows: list[dict[str, float]] = []
    size = 0
    for line in data.split(b"\n")[:-1]:
        row = _row(line)
        if row is None:
            break
        rows.append(row)
        size += len(line) + 1
    return rows, size


def _row(line: bytes) -> dict[str, float] | None:
    try:
        row = strict_json(line, METRICS)
    except FileFormatError:
        return None
    if not isinstance(row, dict) or not all(key.isprintable() and _is_number(value) for key, value in row.items()):
        return None
    if row.pop(CHECK, None) != crc32(json.dumps(row).encode()):
        return None
    return {key: math.nan if value is None else value for key, value in row.items()}


def _is_number(x: Any) -> bool:
    return x is None or isinstance(x, float) or (isinstance(x, int) and abs(x) < 1 << 1000)


def _number(key: str, value: Any) -> float | None:
    value = value.item() if hasattr(value, "item") else value
    if not isinstance(value, int | float):
        raise InputTypeError(f"{key}={value!r} in a row of metrics is a {type(value).__name__}, expected a number.")
    return None if isinstance(value, float) and not math.isfinite(value) else value
