"""What an iterator gives, made ahead of time by a thread.

    thread: next, put, next, put, ...  ->  a queue of at most `depth`  ->  get, get, ...

An item waits in the queue, not in memory without end: a thread that is ahead by `depth` items waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from queue import Empty, Full, Queue
from threading import Event, Thread, current_thread
from typing import Any, TypeVar

__all__ = ["ahead"]

T = TypeVar("T")
PATIENCE = 0.2  # seconds after which a thread that waits looks whether it is still needed


def ahead(make: Callable[[], Iterator[T]], depth: int) -> Iterator[T]:
    """The items of `make()`, of which up to `depth` are ready; what it raises is raised here, in its place.

    The thread ends when all is given, when this iterator is closed, and when nobody holds it any more.
    """
    line: Queue[tuple[bool, Any]] = Queue(depth)
    stop = Event()
    thread = Thread(target=_fill, args=(make, line, stop), name="ftheta-ahead", daemon=True)
    thread.start()
    try:
        while True:
            more, item = line.get()
            if not more:
                break
            yield item
    finally:
        stop.set()
        if current_thread() is not thread:  # where garbage is collected in the thread itself
            _drain(line)
            thread.join()
    if item is not None:
        raise item


def _fill(make: Callable[[], Iterator[T]], line: Queue[tuple[bool, Any]], stop: Event) -> None:
    end: BaseException | None = None
    try:
        for item in make():
            if not _put(line, (True, item), stop):
                return
    except BaseException as error:  # noqa: BLE001 - it belongs to who takes the items
        end = error
    _put(line, (False, end), stop)


def _put(line: Queue[tuple[bool, Any]], item: tuple[bool, Any], stop: Event) -> bool:
    """Whether the item is still wanted."""
    while not stop.is_set():
        try:
            line.put(item, timeout=PATIENCE)
            return True
        except Full:
            continue
    return False


def _drain(line: Queue[tuple[bool, Any]]) -> None:
    """Make room, so that a thread that waits for it goes on at once."""
    try:
        while True:
            line.get_nowait()
    except Empty:
        return
