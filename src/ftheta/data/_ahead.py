"""Items of an iterator, made in advance by one thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")
END: Any = object()


def ahead(make: Callable[[], Iterator[T]], depth: int) -> Iterator[T]:
    """The items of `make()`, of which up to `depth` wait; what it raises is raised here, in its place."""
    items, pool = make(), ThreadPoolExecutor(1, "ftheta-ahead")
    waiting = deque(pool.submit(next, items, END) for _ in range(depth + 1))
    try:
        while (item := waiting.popleft().result()) is not END:
            waiting.append(pool.submit(next, items, END))
            yield item
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
