"""The files of one folder, by name: below it no link is followed, and only regular files are opened.

Every call is relative to a descriptor of the folder. The path to the folder may hold links, which are the user's own.
Where the system has no such calls (Windows), each name is looked at before it is used.
One writer at a time holds a lock of the operating system, which ends with its process; the file names that process. The
lock belongs to the opened file: one process cannot take it twice either.
"""

import contextlib
import errno
import os
import re
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from stat import S_IFDIR, S_IFIFO, S_IFLNK, S_IFMT, S_IFREG

from ..errors import RunError
from .files import BINARY, make_folder, put, reported, sync_folder, unreadable, write_all

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

AT = {os.open, os.stat, os.unlink, os.rename, os.mkdir} <= os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
SAFE = BINARY | (os.O_NOFOLLOW | os.O_NONBLOCK if AT else 0)  # a pipe must not make us wait
FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
KINDS = {S_IFREG: "regular file", S_IFDIR: "folder", S_IFLNK: "symbolic link", S_IFIFO: "pipe"}
JUNCTION = 0xA0000003  # a link to a folder on Windows


class NotAFile(RunError):
    """Something else has the name of a file; it was not opened."""


class Folder:
    """Files in `path`, and in `figures/` below it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def stat(self, name: str) -> os.stat_result | None:
        """What the system says of a file, None if it is not there."""
        with self._reading(name), contextlib.suppress(FileNotFoundError, NotADirectoryError), self._at(name) as place:
            return self._look(name, *place)
        return None

    def names(self) -> list[str]:
        """All names in the folder, and those in `figures/`."""
        found: list[str] = []
        with self._reading(""), contextlib.suppress(FileNotFoundError, NotADirectoryError):
            for above in ("", "figures/"):
                with self._at(above) as (base, at):
                    found += [above + name for name in os.listdir(base if at is None else at)]
        return sorted(found)

    def open(self, name: str, flags: int) -> int:
        """A file descriptor that a started program does not inherit."""
        with self._at(name) as (base, at):
            self._look(name, base, at)
            fd = os.open(base, flags | SAFE, 0o666, dir_fd=at)
            try:
                self._refuse(name, os.fstat(fd), S_IFREG, alone=flags != os.O_RDONLY)
            except BaseException:
                os.close(fd)
                raise
            return fd

    def read(self, name: str) -> bytes:
        """All of a file; never a map of it, which a shrinking file turns into a crash."""
        with self._reading(name), open(self.open(name, os.O_RDONLY), "rb") as file:
            return file.read()

    def write(self, name: str, data: bytes, shown: str = "") -> None:
        """Put a file, all or nothing; an error speaks of `shown` where another name is for our own use."""
        with reported(self.path / (shown or name), len(data)):
            make_folder(self.path)
            with self._at(name, make=True) as (base, at):
                self._look(name, base, at)
                put(base, data, at)

    def rename(self, name: str, to: str) -> None:
        """Give a file another name in the same folder, in place of what has it."""
        with reported(self.path / to), self._at(to) as (base, at):
            self._look(to, base, at)
            old = os.path.join(os.path.dirname(base), os.path.basename(name))
            self._look(name, old, at)
            os.replace(old, base, src_dir_fd=at, dst_dir_fd=at)
            sync_folder(os.path.dirname(base) if at is None else at)

    def remove(self, name: str) -> None:
        """Remove a file."""
        with reported(self.path / name, verb="remove"), self._at(name) as (base, at):
            self._look(name, base, at)
            os.unlink(base, dir_fd=at)

    @contextlib.contextmanager
    def _at(self, name: str, *, make: bool = False) -> Iterator[tuple[str, int | None]]:
        """The last part of a name, and the descriptor of the folder that it is in."""
        above, _, last = name.rpartition("/")
        with contextlib.ExitStack() as stack:
            base, at = str(self.path / above), None
            if AT:
                at = os.open(self.path, FOLDER)
                stack.callback(os.close, at)
                base = above
            if above:
                with contextlib.suppress(FileExistsError):
                    if make:
                        os.mkdir(base, dir_fd=at)
                        sync_folder(self.path if at is None else at)
                self._look(above, base, at, S_IFDIR)
            if above and AT:
                at = os.open(above, FOLDER | SAFE, dir_fd=at)
                stack.callback(os.close, at)
            yield (last, at) if AT else (os.path.join(base, last), None)

    def _look(self, name: str, base: str, at: int | None, kind: int = S_IFREG) -> os.stat_result | None:
        """Refuse what is of another kind; None if nothing is there."""
        try:
            found = os.stat(base, dir_fd=at, follow_symlinks=False)
        except FileNotFoundError:
            return None
        return self._refuse(name, found, kind)

    def _refuse(self, name: str, found: os.stat_result, kind: int, *, alone: bool = False) -> os.stat_result:
        real = S_IFLNK if getattr(found, "st_reparse_tag", 0) == JUNCTION else S_IFMT(found.st_mode)
        if real != kind:
            what = f"is a {KINDS.get(real, 'device')}, expected a {KINDS[kind]}"
        elif alone and found.st_nlink > 1:
            what = f"has {found.st_nlink} names (hard links), so writing to it would change another file"
        else:
            return found
        raise NotAFile(f"{self.path / name} {what}; it was not opened. Remove it or use another copy of the run.")

    @contextlib.contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        try:
            yield
        except (OSError, MemoryError) as error:
            raise unreadable(self.path / name, error) from error


def take_lock(folder: Folder) -> int:
    """The file descriptor that holds the lock until it is closed."""
    with reported(folder.path / "lock"):
        make_folder(folder.path)
        fd = folder.open("lock", os.O_RDWR | os.O_CREAT)
        try:
            if not _locked(fd):
                holder = os.read(fd, 100).decode("ascii", "replace")
                known = f" ({holder.strip()})" if re.fullmatch(r"pid \d+, since [\d :-]+\n", holder) else ""
                raise RunError(f"{folder.path} is in use by another process{known}. Stop it or choose another --run.")
            os.ftruncate(fd, 0)
            write_all(fd, f"pid {os.getpid()}, since {datetime.now():%Y-%m-%d %H:%M}\n".encode())
        except BaseException:
            os.close(fd)
            raise
    return fd


def _locked(fd: int) -> bool:
    try:
        if sys.platform == "win32":
            os.lseek(fd, 1 << 30, os.SEEK_SET)  # far from the text, which others may read
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
            os.lseek(fd, 0, os.SEEK_SET)
        else:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.EAGAIN, errno.EACCES, errno.EDEADLK):
            raise
        return False
    return True
