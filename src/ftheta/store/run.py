"""The folder of a run: it survives kill -9, notices damage, and belongs to one process at a time.

    runs/a/  config.toml  metrics.jsonl  manifest.json  lock  figures/
             checkpoint-<step>.safetensors (two, while training)  ->  model.safetensors  config.json (when finished)

With each checkpoint the manifest holds length and digest of metrics.jsonl, so that weights and log go back together.
"""

from __future__ import annotations

import hashlib
import os
import warnings
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from ..errors import FileFormatError, InputError, RunError, StoreError
from ._folder import NotAFile, take_lock
from ._kept import (
    LEFT,
    MANIFEST,
    METRICS,
    NAME,
    OWN,
    TWICE,
    Kept,
    Mark,
    compare,
    copy_of,
    line_of,
    mark_of,
    rows_of,
    sealed,
)
from .files import damaged, reported, strict_json, utf8, write_all
from .tree import Tree, dump_tree, parse_tree

_entered: weakref.WeakSet[Run] = weakref.WeakSet()


@dataclass
class _Log:
    """metrics.jsonl, open for appending, and the digest of what is in it."""

    fd: int
    size: int
    digest: Any


class Run:
    """A run in exactly this folder, which need not exist; nothing is written before it is entered or written to.

    Args:
        path: The folder.
        allow_inexact: Continue also where the result will not be bit for bit that of an uninterrupted run.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, Run(f"{folder}/a") as run:
        ...     run.log({"loss": 0.5})
        ...     run.checkpoint({"weights": [1.0, 2.0]}, step=1)
        ...     run.latest(), run.rows()
        (({'weights': [1.0, 2.0]}, 1), [{'loss': 0.5}])
    """

    def __init__(self, path: Path | str, *, allow_inexact: bool = False) -> None:
        self.path, self.allow_inexact = Path(path), allow_inexact
        self._folder = Kept(self.path)
        self._depth = 0  # of `with`
        self._lock = -1
        self._log: _Log | None = None
        self._step: int | None = None  # of the checkpoint that this object wrote or read last

    def __enter__(self) -> Self:
        """Take the lock, and finish or remove what a killed process left half done."""
        if self._depth == 0:
            self._lock = take_lock(self._folder)
            _entered.add(self)
            try:
                manifest = self._folder.manifest()
                self._folder.mend(manifest)
                self._folder.tidy(manifest)
            except BaseException:
                self._release()
                raise
        self._depth += 1
        return self

    def __exit__(self, *_: object) -> None:
        self._depth -= self._depth > 0  # a forked child has already let go
        if self._depth == 0 and self in _entered:
            self._release()

    def _release(self) -> None:
        self._close_log()
        os.close(self._lock)
        self._depth = 0
        _entered.discard(self)

    def exists(self) -> bool:
        """Whether the folder holds a run."""
        return any(self._folder.stat(name) for name in (MANIFEST, copy_of(MANIFEST), "config.toml"))

    def is_empty(self) -> bool:
        """Whether the folder holds nothing but what a start that was killed at once can have left."""
        left = (name == "lock" or LEFT.fullmatch(name) for name in self._folder.names())
        return not self.path.is_file() and self.status == "new" and all(left)

    def has(self, name: str) -> bool:
        """Whether the run holds this file."""
        return name in self.names()

    def names(self) -> list[str]:
        """The files of the run, without checkpoints and metrics."""
        return list(self._folder.manifest()["files"])

    @property
    def status(self) -> Literal["new", "running", "finished"]:
        return self._folder.manifest()["status"]

    @property
    def digest(self) -> str:
        """SHA-256 in the last line of the manifest: it stands for everything in the run."""
        return sealed(self._folder.manifest())[-65:-1].decode()

    # Files

    def write(self, name: str, data: bytes | str | Tree) -> None:
        """Put a file into the run: bytes and str as they are, anything else as a tree."""
        content = {name: _content(name, data)}
        with self:
            self._folder.write_files(content, {})

    def read(self, name: str) -> bytes:
        """A file of the run as it was written; a damaged one is a FileFormatError."""

        def found(manifest: Mapping[str, Any]) -> bytes:
            files = manifest["files"]
            if name not in files:
                raise RunError(f"{self.path} has no file {name!r}, only {', '.join(files) or 'none'}. Check the name.")
            return self._folder.good(name, files[name])

        return self._steady(found)

    def json(self, name: str) -> Any:
        """A file of the run that holds strict JSON."""
        return strict_json(self.read(name), str(self.path / name))

    def tree(self, name: str) -> Tree:
        """A file of the run that was written as a tree."""
        return parse_tree(self.read(name), str(self.path / name))

    # Metrics

    def log(self, row: Mapping[str, float]) -> None:
        """Append a row to metrics.jsonl; a number that is not finite becomes null."""
        line = line_of(row)
        with self:
            log = self._open_log()
            try:
                with reported(self.path / METRICS, len(line)):
                    write_all(log.fd, line)
                log.size += len(line)
                log.digest.update(line)
            except BaseException:
                self._close_log()  # when it is opened again, half a line is dropped
                raise

    def rows(self, *, unsaved: bool = False) -> list[dict[str, float]]:
        """Rows of metrics.jsonl up to the checkpoint, or all if there is none; with `unsaved` also those after it."""

        def found(manifest: Mapping[str, Any]) -> list[dict[str, float]]:
            stand = [c for c in manifest["checkpoints"] if c["step"] == self._step] or manifest["checkpoints"][-1:]
            mark = stand[0]["metrics"] if stand else manifest.get("metrics")
            data = self._log_bytes(mark, str(self.path), complete=not stand)
            data = data[: mark["bytes"]] if mark and not unsaved else data
            rows, size = rows_of(data)
            if size < data.rfind(b"\n") + 1:
                raise damaged(f"{self.path / METRICS} line {len(rows) + 1}", "not a row of numbers as it was written")
            return rows

        return self._steady(found)

    # Checkpoints

    def checkpoint(self, tree: Tree, step: int) -> None:
        """Save the state after `step` steps; the checkpoint before it is kept too."""
        if step < 0:
            raise InputError(f"step={step}, expected at least 0; count the steps that are done.")
        data = dump_tree(tree)
        with self:
            manifest = self._folder.manifest()
            before = manifest["checkpoints"]
            try:
                metrics = self._sync_log(manifest)
                if manifest["status"] == "new":  # first, so that checkpoints without a manifest mean a lost one
                    self._folder.save(manifest)
                file = f"checkpoint-{step}.safetensors"
                if file in [c["file"] for c in manifest["checkpoints"]]:  # never over a file that the manifest names
                    file = f"checkpoint-{step}-again.safetensors"
                self._folder.write(file, data)
                older = [c for c in manifest["checkpoints"] if c["step"] < step][-1:]
                manifest["checkpoints"] = [*older, {"step": step, "file": file, **mark_of(data), "metrics": metrics}]
                self._folder.save(manifest)
                self._folder.tidy(manifest)
            except StoreError as error:
                last = f"step {before[-1]['step']}" if before else "none"
                error.args = (f"{error} Last good checkpoint: {last}.",)
                raise
        self._step = step

    def latest(self) -> tuple[Tree, int] | None:
        """State and step of the newest complete checkpoint; a run that is entered goes on from there (`rewind`)."""
        manifest, problems = self._folder.manifest(), list[str]()
        found: tuple[Tree, int] | None = None
        for entry in reversed(manifest["checkpoints"]):
            try:
                data = self._folder.verified(entry["file"], entry, f"step-{entry['step']:05d}")
                found = parse_tree(data, str(self.path / entry["file"])), entry["step"]
                break
            except FileFormatError as error:
                problems.append(str(error))
        if problems and self._folder.manifest() != manifest:  # a writer has gone on meanwhile
            return self.latest()
        if problems and found is None:
            raise FileFormatError(f"{self.path} has no complete checkpoint: {' '.join(problems)} Start a new run.")
        self._step = found[1] if found else 0
        if problems:
            warnings.warn(f"{' '.join(problems)} Resuming from step {self._step}.", UserWarning, stacklevel=2)
        if self._depth and manifest["status"] != "finished":
            self.rewind(self._step)
        return found

    def rewind(self, step: int) -> None:
        """Go back to the checkpoint of `step`, or to the start with 0: later checkpoints and rows are removed."""
        with self:
            manifest = self._folder.manifest()
            self._refuse_finished(manifest)
            kept = [c for c in manifest["checkpoints"] if c["step"] <= step]
            if step and (not kept or kept[-1]["step"] != step):
                raise InputError(f"{self.path} has no checkpoint of step {step}; rewind to one that it has, or to 0.")
            kept = self._marked(kept)
            if kept != manifest["checkpoints"]:
                manifest["checkpoints"] = kept
                self._folder.save(manifest)
            self._cut_log(kept[-1]["metrics"]["bytes"] if kept else 0)
            self._folder.tidy(manifest)

    def _marked(self, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Checkpoints with the rows that are left: a log that was damaged ends before its first bad line."""
        data = self._log_bytes(None, "")
        parts = [data[: c["metrics"]["bytes"]] for c in entries]
        if [c["metrics"] for c in entries] == list(map(mark_of, parts)):
            return entries
        good = [rows_of(part) for part in parts]
        what = f"{self.path / METRICS} is damaged after line {len(good[-1][0])} and was cut there: the rows up to step"
        warnings.warn(f"{what} {entries[-1]['step']} are lost, the weights are not.", UserWarning, stacklevel=4)
        return [c | {"metrics": mark_of(data[:size])} for c, (_, size) in zip(entries, good, strict=True)]

    def finish(self, files: Mapping[str, bytes | str | Tree] | None = None) -> None:
        """Write these files and seal the run, all or nothing; then remove its checkpoints."""
        with self:
            manifest, seal = self._folder.manifest(), {}
            if manifest["status"] != "finished":
                seal = {"metrics": self._sync_log(manifest), "status": "finished", "checkpoints": []}
            if seal or files:
                self._folder.write_files({name: _content(name, data) for name, data in (files or {}).items()}, seal)
                self._close_log()
                self._folder.tidy(self._folder.manifest())

    def verify(self, *, copies: bool = True) -> list[str]:
        """Every problem as a sentence; none when all is well. Without `copies`, one good copy of a file is enough."""
        problems: list[str] = []

        def attempt(test: Any, *args: Any, **options: bool) -> Any:
            try:
                return test(*args, **options)
            except (FileFormatError, NotAFile) as error:
                problems.append(str(error))

        manifest, where = attempt(self._folder.manifest), str(self.path)
        if not manifest or manifest["status"] == "new":
            return problems or [f"{self.path / MANIFEST} is missing: nothing here can be verified."]
        for name, mark in manifest["files"].items():
            attempt(self._folder.good, name, mark)
        for name in (MANIFEST, *TWICE) if copies else ():
            if name == MANIFEST or name in manifest["files"]:
                attempt(self._folder.check_copies, name, manifest["files"].get(name))
        for entry in manifest["checkpoints"]:
            attempt(self._folder.verified, entry["file"], entry, where)
            attempt(self._log_bytes, entry["metrics"], where)
        attempt(self._log_bytes, manifest.get("metrics"), where, complete=True)
        changed = problems and attempt(self._folder.manifest) != manifest  # a writer has gone on meanwhile
        return self.verify(copies=copies) if changed else list(dict.fromkeys(problems))

    def check(self) -> Self:
        """The run itself, if every file has a good copy; else a FileFormatError with the first problem."""
        for problem in self.verify(copies=False):
            raise FileFormatError(problem)
        return self

    # Inside

    def _steady(self, act: Callable[[dict[str, Any]], Any]) -> Any:
        """What `act` makes of the manifest; once more where a writer has gone on meanwhile."""
        manifest = self._folder.manifest()
        try:
            return act(manifest)
        except FileFormatError:
            if self._folder.manifest() == manifest:
                raise
        return self._steady(act)

    def _log_bytes(self, mark: Mark | None, where: str, *, complete: bool = False) -> bytes:
        """All of metrics.jsonl, after what the mark speaks of (its beginning, or all of it) was verified."""
        data = self._folder.read(METRICS) if self._folder.stat(METRICS) else b""
        if mark is not None:
            compare(METRICS, data if complete else data[: mark["bytes"]], mark, where)
        return data

    def _open_log(self) -> _Log:
        if self._log is None:
            manifest = self._folder.manifest()
            self._refuse_finished(manifest)
            newest = manifest["checkpoints"][-1:]
            data = self._log_bytes(newest[0]["metrics"] if newest else None, str(self.path))
            lines = data[: data.rfind(b"\n") + 1]
            self._cut_log(len(lines))
            with reported(self.path / METRICS):
                fd = self._folder.open(METRICS, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            self._log = _Log(fd, len(lines), hashlib.sha256(lines))
        return self._log

    def _sync_log(self, manifest: Mapping[str, Any]) -> Mark:
        """Make the log durable and mark what is in it."""
        self._refuse_finished(manifest)
        if self._log is None and not self._folder.stat(METRICS):
            return mark_of(b"")
        log = self._open_log()
        with reported(self.path / METRICS):
            os.fsync(log.fd)
        return {"bytes": log.size, "sha256": log.digest.hexdigest()}

    def _cut_log(self, size: int) -> None:
        self._close_log()
        found = self._folder.stat(METRICS)
        if found and found.st_size > size:
            with reported(self.path / METRICS):
                fd = self._folder.open(METRICS, os.O_WRONLY)
                try:
                    os.ftruncate(fd, size)
                finally:
                    os.close(fd)

    def _close_log(self) -> None:
        log, self._log = self._log, None
        if log is not None:
            os.close(log.fd)

    def _refuse_finished(self, manifest: Mapping[str, Any]) -> None:
        if manifest["status"] == "finished":
            raise RunError(f"{self.path} is finished and cannot be trained further. Choose another --run.")


def _content(name: str, data: bytes | str | Tree) -> bytes:
    """The bytes of a file that a run may hold."""
    if not NAME.fullmatch(name) or OWN.fullmatch(name):
        raise InputError(f"{name!r} cannot be a file of a run; expected a plain name that fθ does not use itself.")
    return data if isinstance(data, bytes) else utf8(data) if isinstance(data, str) else dump_tree(data)


def _let_go() -> None:
    """In a forked child: lock and log of the open runs remain the parent's."""
    for run in list(_entered):
        run._release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)
