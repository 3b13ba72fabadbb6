"""What a run consists of: bytes and SHA-256 of each file; the last line is the SHA-256 of all that stands above it.

    {"format", "status", "files": {name: mark}, "checkpoints": [mark + step + file + metrics: mark], "metrics": mark}

mark = {"bytes", "sha256"}; its "also" holds digests that are right too, while a file is being replaced. The mark of all
metrics is there when the run is finished.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import FileFormatError
from .files import damaged, read_bytes, sha256, strict_json, write_atomic

FORMAT = 1
MANIFEST = "manifest.json"
NAME = re.compile(r"(figures/)?\w([\w .+=,()-]{0,198}[\w)])?")
CHECKPOINT = re.compile(r"checkpoint-\d+(-again)?\.safetensors")


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a run, empty for a new one; a FileFormatError if a single bit of it is not as it was written."""
    file = folder / MANIFEST
    if not file.exists():
        if any(CHECKPOINT.fullmatch(found.name) for found in folder.glob("checkpoint-*")):
            raise FileFormatError(f"{file} is missing beside checkpoints; nothing was deleted. Use another copy.")
        return {"format": FORMAT, "status": "new", "files": {}, "checkpoints": []}
    data = read_bytes(file)
    body, last = data[:-65], data[-65:].decode("ascii", "replace")
    if last[-1:] != "\n":
        raise damaged(str(file), "cut off or changed")
    compare(MANIFEST, body, {"sha256": last[:-1]}, str(folder))
    manifest = strict_json(body, str(file))
    if not _is_manifest(manifest):
        raise damaged(str(file), "not a manifest that this version of fθ reads")
    return manifest


def save_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    body = json.dumps(manifest, indent=1).encode() + b"\n"
    write_atomic(folder / MANIFEST, body + sha256(body).encode() + b"\n")


def compare(name: str, data: bytes, mark: Mapping[str, Any], where: str) -> None:
    """A FileFormatError if the data are not those of the mark."""
    want, got = mark["sha256"], sha256(data)
    if got not in (want, *mark.get("also", ())):
        raise FileFormatError(f"{where}: {name} digest differs (expected {want[:4]}.., got {got[:4]}..): file damaged.")


def _is_manifest(x: Any) -> bool:
    try:
        files, entries = x["files"], x["checkpoints"]
        sealed = [x["metrics"]] if x["status"] == "finished" else []
        marks = [*files.values(), *entries, *(entry["metrics"] for entry in entries), *sealed]
        return (
            (x["format"], x["status"] in ("running", "finished")) == (FORMAT, True)
            and all(NAME.fullmatch(name) for name in files)
            and all(CHECKPOINT.fullmatch(entry["file"]) and type(entry["step"]) is int for entry in entries)
            and all(isinstance(mark["sha256"], str) and isinstance(mark.get("also", []), list) for mark in marks)
            and all(type(mark["bytes"]) is int for mark in marks)
        )
    except (AttributeError, KeyError, TypeError):
        return False
