"""Where to compute: device and thread count, chosen by the size of the work of one step.

    work = rows x weights;   below `WORK_FOR_THREADS` one thread

For small nets a second thread costs more than it brings.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from ..errors import InputError

__all__ = ["WORK_FOR_DEVICE", "WORK_FOR_THREADS", "device_for", "threads", "threads_for"]

WORK_FOR_THREADS = 1e7  # multiply-adds of a forward pass; measured by `make bench ONLY=threads`
WORK_FOR_DEVICE = 1e9


def threads_for(work: float) -> int:
    """Threads for a step of this many multiply-adds."""
    return 1 if work < WORK_FOR_THREADS else torch.get_num_threads()


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Run with this many threads, and put the old count back."""
    old = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(old)


def device_for(name: str, work: float = 0.0) -> torch.device:
    """The device of this name; "auto" takes a CUDA device for large work only.

    Example:
        >>> device_for("cpu")
        device(type='cpu')
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() and work >= WORK_FOR_DEVICE else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError):
        raise InputError(
            f"device={name!r} asked for, but no such device is present (torch {torch.__version__}). "
            "Use device='cpu' or install a build of torch for it."
        ) from None
    return device
