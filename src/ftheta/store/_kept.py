"""The files that a manifest names: a file is right if it fits its mark there.

    write: new content -> hidden copy, then the manifest names it (from here on it is right), then it is renamed

A kill in between leaves the right content in the file or in its hidden copy; the next writer finishes the renaming.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from typing import Any

from ..errors import FileFormatError
from ._folder import Folder
from ._manifest import CHECKPOINT, MANIFEST, NEW, Mark, compare, copy_of, mark_of, parse, sealed

LEFT = re.compile(r"(figures/)?\..+\.([0-9a-f]{8}\.tmp|copy)")


class Kept(Folder):
    """A folder whose manifest lists what is in it."""

    def manifest(self) -> dict[str, Any]:
        """The manifest, empty for a new run; a FileFormatError if it is not as it was written."""
        if self.stat(MANIFEST):
            return parse(self.read(MANIFEST), self.path)
        if any(map(CHECKPOINT.fullmatch, self.names())):
            where = self.path / MANIFEST
            raise FileFormatError(f"{where} is missing beside checkpoints; nothing was deleted. Use another copy.")
        return NEW | {"files": {}, "checkpoints": []}

    def save(self, manifest: dict[str, Any]) -> None:
        """Replace the manifest."""
        manifest["status"] = "running" if manifest["status"] == "new" else manifest["status"]
        self.write(MANIFEST, sealed(manifest))

    def write_files(self, contents: Mapping[str, bytes], changes: Mapping[str, Any]) -> None:
        """Put files in place and change the manifest, all or nothing."""
        manifest = self.manifest()
        self.mend({name: mark for name, mark in manifest["files"].items() if name in contents})
        for name, content in contents.items():
            self.write(copy_of(name), content, name)
        marks = {name: mark_of(content) for name, content in contents.items()}
        new = {**manifest, "files": manifest["files"] | marks, **changes}
        if new != manifest:
            self.save(new)
        for name in contents:
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

    def mend(self, files: Mapping[str, Mark]) -> None:
        """Finish or undo what was interrupted; where nothing good is left, reading the file reports it."""
        for name, mark in files.items():
            if not self.stat(copy_of(name)):
                continue
            with contextlib.suppress(FileFormatError):
                self.verified(copy_of(name), mark, "")
                self.rename(copy_of(name), name)
                continue
            with contextlib.suppress(FileFormatError):
                self.verified(name, mark, "")
                self.remove(copy_of(name))

    def tidy(self, manifest: Mapping[str, Any]) -> None:
        """Remove temporary files, and copies and checkpoints that the manifest does not name; nothing else."""
        named = {*map(copy_of, manifest["files"]), *(c["file"] for c in manifest["checkpoints"])}
        for file in self.names():
            if (LEFT.fullmatch(file) or CHECKPOINT.fullmatch(file)) and file not in named:
                self.remove(file)
