"""The files that a manifest names. A file has two places, its own and a hidden copy; whichever content fits is right.

    write: new content -> copy, then the manifest names it (from here on it is right), then it goes to its own place

The manifest itself and the files in TWICE are kept in both places; another file leaves its copy when it is in place.
"""

import contextlib
import re
import warnings
from collections.abc import Mapping
from typing import Any

from ..errors import FileFormatError
from ._folder import Folder
from ._manifest import CHECKPOINT, MANIFEST, NEW, TWICE, Mark, compare, copy_of, is_sealed, mark_of, parse, sealed

LEFT = re.compile(r"(figures/)?\..+\.([0-9a-f]{8}\.tmp|copy)")


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
