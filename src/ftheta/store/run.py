"""The folder of a run: it survives kill -9, notices damage, and belongs to one process at a time.

    runs/a/  config.toml  metrics.jsonl  manifest.json  lock  figures/
             checkpoint-<step>.safetensors (two, while training)  ->  model.safetensors  config.json (when finished)

The manifest is replaced whole, after the files that it names. With each checkpoint it holds the length and digest of
metrics.jsonl at that moment, so that weights and log go back together.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import warnings
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from ..errors import FileFormatError, InputError, InputTypeError, RunError, StoreError
from ._lock import take_lock
from ._manifest import CHECKPOINT, MANIFEST, NAME, compare, read_manifest, save_manifest
from .files import damaged, open_new, read_bytes, reported, sha256, strict_json, utf8, write_all, write_atomic
from .tree import Tree, dump_tree, parse_tree

__all__ = ["Run"]

METRICS = "metrics.jsonl"
OWN = re.compile(r"manifest\.json|metrics\.jsonl|lock|checkpoint-.*", re.IGNORECASE)
TEMPORARY = re.compile(r"\..+\.[0-9a-f]{8}\.tmp")

_entered: weakref.WeakSet[Run] = weakref.WeakSet()


@dataclass
class _Log:
    """metrics.jsonl, open for appending, and the digest of what is in it."""

    fd: int
    size: int
    digest: Any


class Run:
    """A run in exactly this folder. Nothing is written before it is entered (`with run:`) or written to.

    Args:
        path: The folder; it need not exist.
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
        self._depth = 0  # of `with`
        self._lock = -1
        self._log: _Log | None = None
        self._step: int | None = None  # of the checkpoint on which this object stands

    def __enter__(self) -> Self:
        """Take the lock and remove what a killed process left half done."""
        if self._depth == 0:
            self._lock = take_lock(self.path)
            _entered.add(self)
            try:
                self._tidy(read_manifest(self.path))
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
        return (self.path / MANIFEST).exists() or (self.path / "config.toml").exists()

    def has(self, name: str) -> bool:
        """Whether the run holds this file."""
        return name in read_manifest(self.path)["files"]

    @property
    def status(self) -> Literal["new", "running", "finished"]:
        return read_manifest(self.path)["status"]

    @property
    def digest(self) -> str:
        """SHA-256 in the last line of the manifest: it stands for everything in the run."""
        read_manifest(self.path)
        return read_bytes(self.path / MANIFEST)[-65:-1].decode()

    # Files

    def write(self, name: str, data: bytes | str | Tree) -> None:
        """Put a file into the run: bytes and str as they are, anything else as a tree."""
        if not NAME.fullmatch(name) or OWN.fullmatch(name):
            raise InputError(f"{name!r} cannot be a file of a run; expected a plain name that fθ does not use itself.")
        content = data if isinstance(data, bytes) else utf8(data) if isinstance(data, str) else dump_tree(data)
        new = {"bytes": len(content), "sha256": sha256(content)}
        with self:
            manifest = read_manifest(self.path)
            old = manifest["files"].get(name)
            if old not in (None, new):  # until the rename is done either is right
                manifest["files"][name] = old | {"also": [*old.get("also", []), new["sha256"]]}
                self._save(manifest)
            write_atomic(self.path / name, content)
            if old != new:
                manifest["files"][name] = new
                self._save(manifest)

    def read(self, name: str) -> bytes:
        """A file of the run as it was written; a damaged one is a FileFormatError."""
        files = read_manifest(self.path)["files"]
        if name not in files:
            raise RunError(f"{self.path} has no file {name!r}, only {', '.join(files) or 'none'}. Check the name.")
        return self._verified(name, files[name], str(self.path))

    def tree(self, name: str) -> Tree:
        """A file of the run that was written as a tree."""
        return parse_tree(self.read(name), str(self.path / name))

    # Metrics

    def log(self, row: Mapping[str, float]) -> None:
        """Append a row to metrics.jsonl; a number that is not finite becomes null."""
        line = json.dumps({key: _number(key, value) for key, value in row.items()}).encode() + b"\n"
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
        manifest = read_manifest(self.path)
        stand = [c for c in manifest["checkpoints"] if c["step"] == self._step] or manifest["checkpoints"][-1:]
        mark = stand[0]["metrics"] if stand else manifest.get("metrics")
        data = self._log_bytes(mark, str(self.path), whole=not stand)
        lines = (data[: mark["bytes"]] if mark and not unsaved else data).split(b"\n")[:-1]
        table = [strict_json(line, f"{self.path / METRICS} line {i}") for i, line in enumerate(lines, 1)]
        if not all(isinstance(row, dict) for row in table):
            raise damaged(str(self.path / METRICS), "a line is not a row")
        return [{key: math.nan if value is None else value for key, value in row.items()} for row in table]

    # Checkpoints

    def checkpoint(self, tree: Tree, step: int) -> None:
        """Save the state after `step` steps; the checkpoint before it is kept too."""
        if step < 0:
            raise InputError(f"step={step}, expected at least 0; count the steps that are done.")
        data = dump_tree(tree)
        with self:
            manifest = read_manifest(self.path)
            with _last_good(manifest["checkpoints"]):
                metrics = self._sync_log(manifest)
                if manifest["status"] == "new":  # first, so that checkpoints without a manifest mean a lost one
                    self._save(manifest)
                file = f"checkpoint-{step}.safetensors"
                if file in [c["file"] for c in manifest["checkpoints"]]:  # never over a file that the manifest names
                    file = f"checkpoint-{step}-again.safetensors"
                mark = {"bytes": len(data), "sha256": write_atomic(self.path / file, data)}
                older = [c for c in manifest["checkpoints"] if c["step"] < step][-1:]
                manifest["checkpoints"] = [*older, {"step": step, "file": file, **mark, "metrics": metrics}]
                self._save(manifest)
                self._tidy(manifest)
        self._step = step

    def latest(self) -> tuple[Tree, int] | None:
        """State and step of the newest whole checkpoint; a run that is entered goes on from there (`rewind`)."""
        manifest, problems = read_manifest(self.path), []
        found = self._newest(manifest["checkpoints"], problems)
        if problems and read_manifest(self.path) != manifest:  # a writer has gone on meanwhile
            return self.latest()
        if problems and found is None:
            raise FileFormatError(f"{self.path} has no whole checkpoint: {' '.join(problems)} Start a new run.")
        self._step = found[1] if found else 0
        if problems:
            warnings.warn(f"{' '.join(problems)} Resuming from step {self._step}.", UserWarning, stacklevel=2)
        if self._depth and manifest["status"] != "finished":
            self.rewind(self._step)
        return found

    def _newest(self, entries: list[dict[str, Any]], problems: list[str]) -> tuple[Tree, int] | None:
        for entry in reversed(entries):
            where = f"step-{entry['step']:05d}"
            try:
                data = self._verified(entry["file"], entry, where)
                self._log_bytes(entry["metrics"], where)
                return parse_tree(data, str(self.path / entry["file"])), entry["step"]
            except FileFormatError as error:
                problems.append(str(error))
        return None

    def rewind(self, step: int) -> None:
        """Go back to the checkpoint of `step`, or to the start with 0: later checkpoints and rows are removed."""
        with self:
            manifest = read_manifest(self.path)
            self._refuse_finished(manifest)
            kept = [c for c in manifest["checkpoints"] if c["step"] <= step]
            if step and (not kept or kept[-1]["step"] != step):
                raise InputError(f"{self.path} has no checkpoint of step {step}; rewind to one that it has, or to 0.")
            if kept != manifest["checkpoints"]:
                manifest["checkpoints"] = kept
                self._save(manifest)
            self._cut_log(kept[-1]["metrics"]["bytes"] if kept else 0)
            self._tidy(manifest)
        self._step = step

    def finish(self) -> None:
        """Seal the run, then remove its checkpoints."""
        with self:
            manifest = read_manifest(self.path)
            if manifest["status"] != "finished":
                manifest |= {"metrics": self._sync_log(manifest), "status": "finished", "checkpoints": []}
                self._save(manifest)
                self._close_log()
                self._tidy(manifest)

    def verify(self) -> list[str]:
        """Every problem as a sentence; none when all is well."""
        problems: list[str] = []

        def check(test: Any, *args: Any, **options: bool) -> Any:
            try:
                return test(*args, **options)
            except FileFormatError as error:
                problems.append(str(error))

        manifest, where = check(read_manifest, self.path), str(self.path)
        if not manifest or manifest["status"] == "new":
            return problems or [f"{self.path / MANIFEST} is missing: nothing here can be verified."]
        for name, mark in manifest["files"].items():
            check(self._verified, name, mark, where)
        for entry in manifest["checkpoints"]:
            check(self._verified, entry["file"], entry, where)
            check(self._log_bytes, entry["metrics"], where)
        check(self._log_bytes, manifest.get("metrics"), where, whole=True)
        return self.verify() if problems and check(read_manifest, self.path) != manifest else problems

    def sound(self) -> Self:
        """The run itself, if every file is as it was written; else a FileFormatError with the first problem."""
        for problem in self.verify():
            raise FileFormatError(problem)
        return self

    # Inside

    def _save(self, manifest: dict[str, Any]) -> None:
        manifest["status"] = "running" if manifest["status"] == "new" else manifest["status"]
        save_manifest(self.path, manifest)

    def _tidy(self, manifest: Mapping[str, Any]) -> None:
        """Remove temporary files and checkpoints that the manifest does not name; nothing else."""
        named = [c["file"] for c in manifest["checkpoints"]]
        for file in [*self.path.iterdir(), *self.path.glob("figures/*")]:
            if TEMPORARY.fullmatch(file.name) or (CHECKPOINT.fullmatch(file.name) and file.name not in named):
                with reported(file, verb="remove"):
                    os.unlink(file)

    def _verified(self, name: str, mark: Mapping[str, Any], where: str) -> bytes:
        data = read_bytes(self.path / name)
        compare(name, data, mark, where)
        return data

    def _log_bytes(self, mark: Mapping[str, Any] | None, where: str, *, whole: bool = False) -> bytes:
        """All of metrics.jsonl, after what the mark speaks of (its beginning, or the whole) was verified."""
        file = self.path / METRICS
        data = read_bytes(file) if file.exists() else b""
        if mark is not None:
            compare(METRICS, data if whole else data[: mark["bytes"]], mark, where)
        return data

    def _open_log(self) -> _Log:
        if self._log is None:
            manifest, file = read_manifest(self.path), self.path / METRICS
            self._refuse_finished(manifest)
            newest = manifest["checkpoints"][-1:]
            data = self._log_bytes(newest[0]["metrics"] if newest else None, str(self.path))
            whole = data[: data.rfind(b"\n") + 1]
            self._cut_log(len(whole))
            with reported(file):
                self._log = _Log(open_new(file, os.O_WRONLY | os.O_APPEND), len(whole), hashlib.sha256(whole))
        return self._log

    def _sync_log(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Make the log durable and mark what is in it."""
        self._refuse_finished(manifest)
        if self._log is None and not (self.path / METRICS).exists():
            return {"bytes": 0, "sha256": sha256(b"")}
        log = self._open_log()
        with reported(self.path / METRICS):
            os.fsync(log.fd)
        return {"bytes": log.size, "sha256": log.digest.hexdigest()}

    def _cut_log(self, size: int) -> None:
        self._close_log()
        file = self.path / METRICS
        if file.exists() and file.stat().st_size > size:
            with reported(file):
                os.truncate(file, size)

    def _close_log(self) -> None:
        log, self._log = self._log, None
        if log is not None:
            os.close(log.fd)

    def _refuse_finished(self, manifest: Mapping[str, Any]) -> None:
        if manifest["status"] == "finished":
            raise RunError(f"{self.path} is finished and cannot be trained further. Choose another --run.")


@contextlib.contextmanager
def _last_good(checkpoints: list[dict[str, Any]]) -> Iterator[None]:
    """An error in saving also says what is left."""
    try:
        yield
    except StoreError as error:
        left = f"step {checkpoints[-1]['step']}" if checkpoints else "none"
        error.args = (f"{error} Last good checkpoint: {left}.",)
        raise


def _number(key: str, value: Any) -> float | None:
    value = value.item() if hasattr(value, "item") else value
    if not isinstance(value, int | float):
        raise InputTypeError(f"{key}={value!r} in a row of metrics is a {type(value).__name__}, expected a number.")
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _let_go() -> None:
    """In a forked child: lock and log of the open runs remain the parent's."""
    for run in list(_entered):
        run._release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)
