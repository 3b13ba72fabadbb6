"""Files that are written completely or not at all; strict JSON and TOML.

    data -> temporary file -> fsync -> rename -> fsync of the folder

A rename is atomic: a kill at any moment leaves the old file or the new one; with the two fsync so does a power cut.

Reference: Pillai et al., All File Systems Are Not Created Equal, OSDI (2014).
"""

import contextlib
import errno
import hashlib
import json
import math
import os
import secrets
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import FileFormatError, InputError, InputTypeError, StoreError

BINARY = getattr(os, "O_BINARY", 0)  # bytes are bytes on Windows too


@contextlib.contextmanager
def reported(path: Path, size: int = 0, verb: str = "write") -> Iterator[None]:
    """An OSError becomes a StoreError that names the file, the reason and, on a full disk, the free space."""
    try:
        yield
    except OSError as error:
        if isinstance(error, StoreError):
            raise
        room = ""
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            with contextlib.suppress(OSError):
                room = f" (needs {readable(size)}, {readable(shutil.disk_usage(path.parent).free)} free)"
        advice = "What was there before is intact; free space, check permissions or choose another folder."
        report = StoreError(f"Cannot {verb} {path}: {os.strerror(error.errno or errno.EIO)}{room}. {advice}")
        report.errno = error.errno
        raise report from error


def readable(size: int) -> str:
    """210_000_000 -> '210 MB'."""
    power = min((len(str(size)) - 1) // 3, 4)
    return f"{size / 1000**power:.0f} {('bytes', 'kB', 'MB', 'GB', 'TB')[power]}"


def sync_folder(folder: Path | str | int) -> None:
    """Make the names in a folder durable; Windows does so itself, some network disks cannot."""
    if sys.platform == "win32":
        return
    fd = os.open(folder, os.O_RDONLY) if not isinstance(folder, int) else folder
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        if fd != folder:
            os.close(fd)


def make_folder(folder: Path) -> None:
    """Make a folder and what is missing above it, durably."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    os.makedirs(folder, exist_ok=True)
    for made in reversed(missing):
        sync_folder(made.parent)


def write_all(fd: int, data: bytes) -> None:
    """The system may take less than it is given."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def put(path: str, data: bytes, at: int | None = None) -> None:
    """Put `data` at `path`, relative to the opened folder `at` if there is one, all or nothing."""
    head, tail = os.path.split(path)
    temporary = os.path.join(head, f".{tail}.{secrets.token_hex(4)}.tmp")
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | BINARY, 0o666, dir_fd=at)
        try:
            write_all(fd, data)
            os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(temporary, path, src_dir_fd=at, dst_dir_fd=at)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=at)
        raise
    sync_folder(head if at is None else at)


def write_atomic(path: Path, data: bytes) -> str:
    """Put `data` at `path`, all or nothing, and return its SHA-256."""
    path = Path(path)
    with reported(path, len(data)):
        make_folder(path.parent)
        put(str(path.absolute()), data)
    return sha256(data)


def write_folder(path: Path, files: Mapping[str, bytes]) -> None:
    """Write a folder with these files, all or nothing; one that is not empty is refused."""
    path = Path(path).resolve()
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    with reported(path, sum(map(len, files.values()))):
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise InputError(f"{path} exists and is not an empty folder; nothing was changed. Choose another folder.")
        make_folder(path.parent)
        try:
            os.mkdir(temporary)
            for name, data in files.items():
                put(str(temporary / Path(name).name), data)
            if sys.platform == "win32" and path.exists():
                os.rmdir(path)
            os.replace(temporary, path)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
        sync_folder(path.parent)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def read_bytes(path: Path) -> bytes:
    """All of a regular file; never a map of it, which a shrinking file turns into a crash."""
    try:
        if path.exists() and not path.is_file():
            raise FileFormatError(f"{path} cannot be read: it is not a regular file. Use the path of a file.")
        return path.read_bytes()
    except (OSError, MemoryError) as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: OSError | MemoryError) -> FileFormatError:
    if isinstance(error, MemoryError):
        return FileFormatError(f"{path} cannot be read: it does not fit into memory. Use another copy.")
    return FileFormatError(f"{path} cannot be read: {error.strerror}. Check path and permissions.")


def damaged(where: str, what: str) -> FileFormatError:
    return FileFormatError(f"{where}: {what:.300}. The file is damaged or not one of fθ's; use another copy.")


def refuse_format(content: Any, known: int, where: str) -> None:
    """A FileFormatError if the format number of a file is another one."""
    version = content.get("format") if isinstance(content, dict) else None
    if type(version) is not int:
        raise damaged(where, "no format number")
    if version != known:
        raise FileFormatError(f"{where}: format {version}, but this fθ reads {known}. Use the version that wrote it.")


def strict_json(text: bytes | str, where: str) -> Any:
    """JSON in UTF-8 with no key twice and finite numbers only."""
    try:
        text = text.decode() if isinstance(text, bytes) else text
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise damaged(where, f"not strict JSON ({error})") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(table := dict(pairs)) < len(pairs):
        raise ValueError("a key occurs twice")
    return table


def _finite(token: str) -> float:
    if not math.isfinite(number := float(token)):
        raise ValueError(f"{token:.40} is not a finite number")
    return number


def utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"The text holds {text[error.start]!r}, which UTF-8 cannot hold; replace it.") from None


def to_toml(tables: Mapping[str, Any]) -> str:
    """Nested tables of str, bool, int, float and lists as TOML; tomllib reads the same back."""
    import tomli_w

    try:
        text = tomli_w.dumps(tables)
    except TypeError as error:
        raise InputTypeError(f"{str(error).rstrip('.')}. Leave None out; give plain values under str keys.") from None
    utf8(text)
    return text
