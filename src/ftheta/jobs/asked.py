"""The arguments of a job that goes on where it was stopped, kept in its folder."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from ..errors import FileFormatError, InputError, RunError
from ..store import write_atomic
from .config import merge


def begin(file: Path, asked: Mapping[str, Any]) -> None:
    """Write down the arguments; a folder of other ones is refused."""
    text = json.dumps(asked, indent=1) + "\n"
    if file.exists() and file.read_bytes() != text.encode():
        raise RunError(f"{file.parent} was made with other settings. Choose another --run, or continue with --resume.")
    write_atomic(file, text.encode())


def given(file: Path, shape: type, command: str) -> dict[str, Any]:
    """What `begin` wrote, as arguments."""
    if not file.is_file():
        raise InputError(f"--resume {file.parent}: expected a folder that `{command}` wrote; it has no {file.name}.")
    try:
        found: Any = TypeAdapter(shape).validate_json(file.read_bytes(), strict=True)
    except ValueError as error:
        raise FileFormatError(f"{file} is not one of `{command}`. Start again: {str(error)[:200]}") from None
    return found | asdict(merge(found.pop("config"), where=str(file)))
