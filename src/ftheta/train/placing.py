"""Where to compute: device and thread count, chosen by the size of the work of one step.

    work = rows x weights;   below `WORK_FOR_THREADS` one thread

For small nets a second thread costs more than it brings, and on a busy machine it can cost twenty times as much.
torch and OpenMP count threads for each thread of Python, the BLAS of NumPy and SciPy for the process.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from threadpoolctl import LibController, OpenBLASController, get_cached_controller

from ..draw import process_lock
from ..errors import InputError

WORK_FOR_THREADS = 1e7  # multiply-adds of a forward pass; measured by `make bench ONLY=threads`
WORK_FOR_DEVICE = 1e9


@dataclass
class _Blas:
    library: LibController
    before: int  # threads without a bound
    now: int  # those that were set last


_COUNTS = process_lock()  # held while thread counts change
_bounds: list[int] = []  # of BLAS, by all that are now inside `threads`
_of_blas: list[_Blas] = []


def threads_for(work: float) -> int:
    """Threads for a step of this many multiply-adds."""
    return 1 if work < WORK_FOR_THREADS else _threads_here()


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Run with this many threads of torch, and at most as many of NumPy's and SciPy's BLAS; restore the old counts.

    Other threads of Python keep their count of torch.
    """
    old = _threads_here()
    with blas_threads(count):
        _set_threads_here(count)
        try:
            yield
        finally:
            _set_threads_here(old)


def _threads_here() -> int:
    with _COUNTS:
        return torch.get_num_threads()


def _set_threads_here(count: int) -> None:
    """For this thread of Python alone; torch starts new ones with the last count set by any, so that is restored."""
    with _COUNTS:
        if count != torch.get_num_threads():
            with ThreadPoolExecutor(1) as new:
                first = new.submit(torch.get_num_threads).result()
                torch.set_num_threads(count)
                new.submit(torch.set_num_threads, first).result()


@contextmanager
def blas_threads(count: int) -> Iterator[None]:
    """At most this many threads of NumPy's and SciPy's BLAS; of several that run now the smallest bound holds."""
    with _COUNTS:
        if not _bounds:
            found = get_cached_controller().select(user_api="blas").lib_controllers
            _of_blas[:] = [_Blas(library, n := library.get_num_threads() or 1, n) for library in found]
        _bounds.append(count)
        _apply_bounds()
    try:
        yield
    finally:
        with _COUNTS:
            _bounds.remove(count)
            _apply_bounds()


@contextmanager
def openmp_threads(count: int) -> Iterator[None]:
    """At most this many threads of OpenMP, which scikit-learn uses, in this thread of Python; torch has its own."""
    found = get_cached_controller().select(user_api="openmp").lib_controllers
    libraries = [library for library in found if "torch" not in Path(library.filepath).parts]
    before = [library.get_num_threads() or 1 for library in libraries]
    for library, old in zip(libraries, before, strict=True):
        library.set_num_threads(min(old, count))
    try:
        yield
    finally:
        for library, old in zip(libraries, before, strict=True):
            library.set_num_threads(old)


def _apply_bounds() -> None:
    for blas in _of_blas:
        if blas.library.get_num_threads() == blas.now:  # else somebody has set it since
            blas.library.set_num_threads(min([blas.before, *_bounds]))
            blas.now = blas.library.get_num_threads() or 1
    OpenBLASController.clear_controlling_thread()  # any thread may be the next


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
