"""The files that a manifest names. A file has two places, its own and a hidden copy; whichever content fits is right.

    write: new content -> copy, then the manifest names it (from here on it is right), then it goes to its own place

The manifest itself and the files in TWICE are kept in both places; another file leaves its copy when it is in place.

What a run consists of: bytes and SHA-256 of each file; the last line is the SHA-256 of the lines above it.

    {"format", "status", "files": {name: mark}, "checkpoints": [mark + step + file + metrics: mark], "metrics": mark}

mark = {"bytes", "sha256"}. The mark of all metrics is there when the run is finished. Each line of metrics.jsonl,
{"epoch": 1, "loss": 0.5, "crc": 3063870463}, has a checksum, so that one damaged line does not cost the others.
"""

import contextlib
import json
import math
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zlib import crc32

from ..errors import FileFormatError, InputTypeError
from ._folder import Folder
from .files import damaged, refuse_format, sha256, strict_json

FORMAT = 1
MANIFEST = "manifest.json"
METRICS = "metrics.jsonl"
CHECK = "crc"
TWICE = ("split.safetensors", "fit.json")
NAME = re.compile(r"(figures/)?\w([\w .+=,()-]{0,198}[\w)])?")
OWN = re.compile(r"manifest\.json|metrics\.jsonl|lock|checkpoint-.*", re.IGNORECASE)
CHECKPOINT = re.compile(r"checkpoint-\d{1,18}(-again)?\.safetensors")
DIGEST = re.compile("[0-9a-f]{64}")
LEFT = re.compile(r"(figures/)?\..+\.([0-9a-f]{8}\.tmp|copy)")
NEW = {"format": FORMAT, "status": "new"}

Mark = Mapping[str, Any]  # of a file: {"bytes", "sha256"}


def copy_of(name: str) -> str:
    """figures/a.svg -> figures/.a.svg.copy."""
    above, slash, last = name.rpartition("/")
    return f"{above}{slash}.{last}.copy"


def parse(data: bytes, folder: Path, name: str = MANIFEST) -> dict[str, Any]:
    """The manifest in the bytes of a file; a FileFormatError if a single bit is not as it was written."""
    body, last, where = data[:-65], data[-65:].decode("ascii", "replace"), str(folder / name)
    if last[-1:] != "\n" or not last[:-1].isprintable():
        raise damaged(where, "cut off or changed")
    compare(name, body, {"sha256": last[:-1]}, str(folder))
    manifest = strict_json(body, where)
    refuse_format(manifest, FORMAT, where)
    if not _is_manifest(manifest):
        raise damaged(where, "not a manifest")
    return manifest


def is_sealed(data: bytes) -> bool:
    """Whether these are the bytes of a manifest as they were written."""
    try:
        return bool(parse(data, Path()))
    except FileFormatError:
        return False


def sealed(manifest: Mapping[str, Any]) -> bytes:
    """The bytes of a manifest."""
    body = json.dumps(manifest, indent=1).encode() + b"\n"
    return body + sha256(body).encode() + b"\n"


def mark_of(data: bytes) -> Mark:
    """Length and digest of the content of a file."""
    return {"bytes": len(data), "sha256": sha256(data)}


def compare(name: str, data: bytes, mark: Mark, where: str) -> None:
    """A FileFormatError if the data are not those of the mark."""
    want, got = mark["sha256"], sha256(data)
    if got != want:
        raise FileFormatError(f"{where}: {name} digest differs (expected {want[:4]}.., got {got[:4]}..): file damaged.")


def _is_manifest(x: Any) -> bool:
    match x:
        case {"status": "running" | "finished", "files": dict(files), "checkpoints": list(c)}:
            names = all(NAME.fullmatch(name) and not OWN.fullmatch(name) for name in files)
            marks = all(map(_is_mark, files.values())) and (x["status"] == "running" or _is_mark(x.get("metrics")))
            return names and marks and all(map(_is_checkpoint, c))
    return False


def _is_mark(x: Any) -> bool:
    match x:
        case {"bytes": size, "sha256": str(digest)}:
            return _is_count(size) and DIGEST.fullmatch(digest) is not None
    return False


def _is_checkpoint(x: Any) -> bool:
    match x:
        case {"step": step, "file": str(file), "metrics": metrics}:
            return _is_count(step) and CHECKPOINT.fullmatch(file) is not None and _is_mark(x) and _is_mark(metrics)
    return False


def _is_count(x: Any) -> bool:
    return type(x) is int and 0 <= x < 1 << 63


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


class Kept(Folder):
    """A folder whose manifest says what is in it."""

    def manifest(self) -> dict[str, Any]:
        """The manifest, empty for a new run; a FileFormatError if no copy of it is as it was written."""
        problems: list[FileFormatError] = []
        for name in (MANIFEST, copy_of(MANIFEST)):
            try:
                if self.stat(name):
                    return parse(self.read(name), self.path, name)
            except FileFormatError as error:
                problems.append(error)
        for problem in problems:
            raise problem
        if any(map(CHECKPOINT.fullmatch, self.names())):
            where = self.path / MANIFEST
            raise FileFormatError(f"{where} is missing beside checkpoints; nothing was deleted. Use another copy.")
        return NEW | {"files": {}, "checkpoints": []}

    def save(self, manifest: dict[str, Any]) -> None:
        """Replace the manifest."""
        manifest["status"] = "running" if manifest["status"] == "new" else manifest["status"]
        for name in (copy_of(MANIFEST), MANIFEST):
            self.write(name, sealed(manifest), MANIFEST)

    def write_files(self, contents: Mapping[str, bytes], changes: Mapping[str, Any]) -> None:
        """Put files in place and change the manifest, all or nothing."""
        manifest = self.manifest()
        for name, content in contents.items():
            if name in manifest["files"]:
                self._mend(name, manifest["files"][name])
            self.write(copy_of(name), content, name)
        marks = {name: mark_of(content) for name, content in contents.items()}
        new = {**manifest, "files": manifest["files"] | marks, **changes}
        if new != manifest:
            self.save(new)
        for name, content in contents.items():
            if name in TWICE:
                self.write(name, content)
            else:
                self.rename(copy_of(name), name)

    def good(self, name: str, mark: Mark) -> bytes:
        """The right content of a file, from wherever it is."""
        problems: list[FileFormatError] = []
        for file in (name, copy_of(name), name):  # again: a writer may have just put the copy in its place
            try:
                return self.verified(file, mark, str(self.path))
            except FileFormatError as error:
                problems.append(error)
        raise problems[0]

    def verified(self, name: str, mark: Mark, where: str) -> bytes:
        """All of a file that must fit its mark."""
        data = self.read(name)
        compare(name, data, mark, where)
        return data

    def check_copies(self, name: str, mark: Mark | None) -> None:
        """What is kept twice must be good in each place; what is missing in one comes back with the next write."""
        for file in (name, copy_of(name)):
            if self.stat(file) and mark is None:
                parse(self.read(file), self.path, file)
            elif self.stat(file) and mark is not None:
                self.verified(file, mark, str(self.path))

    def mend(self, manifest: Mapping[str, Any]) -> None:
        """Finish what was interrupted, and restore what is kept twice from its good copy."""
        if manifest["status"] != "new":
            self._restore(MANIFEST, sealed(manifest))
        for name, mark in manifest["files"].items():
            self._mend(name, mark)

    def _mend(self, name: str, mark: Mark) -> None:
        if name not in TWICE and not self.stat(copy_of(name)):
            return
        with contextlib.suppress(FileFormatError):  # nothing good is left: it is reported when it is read
            content = self.good(name, mark)
            if name in TWICE:
                self._restore(name, content)
            elif self._bytes(name) == content:
                self.remove(copy_of(name))
            else:
                self.rename(copy_of(name), name)

    def _restore(self, name: str, content: bytes) -> None:
        for file in (copy_of(name), name):
            old = self._bytes(file)
            if old == content:
                continue
            self.write(file, content, name)
            if old is not None and not (name == MANIFEST and is_sealed(old)):
                message = f"{self.path / file} is not as it was written; it is restored from its other copy."
                warnings.warn(message, UserWarning, stacklevel=5)

    def _bytes(self, name: str) -> bytes | None:
        """What a file holds, right or not; None if it is not there."""
        try:
            return self.read(name) if self.stat(name) else None
        except FileFormatError:  # the disk cannot read it
            return b""

    def tidy(self, manifest: Mapping[str, Any]) -> None:
        """Remove temporary files, and copies and checkpoints that the manifest does not name; nothing else."""
        named = {copy_of(MANIFEST), *map(copy_of, manifest["files"]), *(c["file"] for c in manifest["checkpoints"])}
        for file in self.names():
            if (LEFT.fullmatch(file) or CHECKPOINT.fullmatch(file)) and file not in named:
                self.remove(file)
