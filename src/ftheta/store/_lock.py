"""One writer at a time: a lock of the operating system, which the death of its process ends at once.

The text of the file says who holds it. The lock belongs to the opened file, so a second one in the same process is refused too.
"""

from __future__ import annotations

import errno
import os
import sys
from datetime import datetime
from pathlib import Path

from ..errors import RunError
from .files import make_folder, open_new, read_bytes, reported, write_all

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


def take_lock(folder: Path) -> int:
    """The file descriptor that holds the lock until it is closed."""
    file = folder / "lock"
    with reported(file):
        make_folder(folder)
        fd = open_new(file, os.O_RDWR)
        try:
            if not _locked(fd):
                raise RunError(f"{folder} is in use by {_holder(file)}. Stop it or choose another --run.")
            os.ftruncate(fd, 0)
            write_all(fd, f"{os.getpid()} {datetime.now().isoformat(timespec='seconds')}\n".encode())
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


def _holder(file: Path) -> str:
    try:
        pid, started = read_bytes(file).decode().split()
        when = datetime.fromisoformat(started)
    except ValueError:
        return "another process"
    today = when.date() == datetime.now().date()
    return f"pid {pid} (started {when.strftime('%H:%M' if today else '%Y-%m-%d %H:%M')})"
