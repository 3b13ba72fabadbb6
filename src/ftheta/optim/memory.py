"""What a rule keeps in memory, before it runs.

    bytes = numbers(P, N) · size of one,    e.g.  2 P (Adam),  P² (BFGS, Newton),  N P (Levenberg-Marquardt)

beside θ and g. P parameters, N residuals.
"""

from __future__ import annotations

import os

import torch

from ..catalog import nearest
from ..errors import InputError
from ..results import Table
from .table import RULES, rule

__all__ = ["memory", "memory_table", "refuse_large"]

_SIZES = {name: getattr(torch, name).itemsize for name in ("float64", "float32", "bfloat16", "float16")}


def memory(name: str, parameters: int, rows: int = 0, *, dtype: str = "float64") -> int:
    """Bytes that a rule needs beside θ and its gradient, with its own options.

    Args:
        name: A key of `RULES`.
        parameters: Numbers P in θ.
        rows: Residuals N: rows times outputs.
        dtype: Of the numbers, e.g. "float32".

    Example:
        >>> f"{memory('bfgs', 34_826) / 1e9:.1f} GB"
        '9.7 GB'
    """
    if dtype not in _SIZES:
        raise InputError(nearest("dtype", dtype, _SIZES))
    return rule(name).memory(parameters, rows) * _SIZES[dtype]


def refuse_large(
    name: str, parameters: int, rows: int = 0, *, dtype: str = "float64", present: int | None = None
) -> None:
    """The sentence for a rule whose memory is larger than the machine's.

    Args:
        name: A key of `RULES`.
        parameters: Numbers P in θ.
        rows: Residuals N: rows times outputs.
        dtype: Of the numbers.
        present: Bytes of the machine; None: asked for, where the system tells.
    """
    asked = memory(name, parameters, rows, dtype=dtype)
    if asked < 2**28:
        return
    if present is None:
        pages = getattr(os, "sysconf_names", {})
        present = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if "SC_PHYS_PAGES" in pages else asked
    if asked > present:
        raise InputError(
            f"optimizer={name!r} needs {asked / 1e9:.1f} GB for {parameters:,} parameters, and this machine has "
            f"{present / 1e9:.1f} GB. Use a rule that keeps a few vectors, e.g. optimizer='lbfgs' or 'cg'."
        )


def memory_table(parameters: int, rows: int = 0, *, dtype: str = "float64") -> Table:
    """The megabytes of all rules, least first.

    Args:
        parameters: Numbers P in θ.
        rows: Residuals N: rows times outputs.
        dtype: Of the numbers, e.g. "float32".

    Example:
        >>> memory_table(1000, dtype="float32").columns["optimizer"][0]
        'gd'
    """
    bytes_ = {name: memory(name, parameters, rows, dtype=dtype) for name in RULES}
    names = sorted(bytes_, key=bytes_.__getitem__)
    vector = parameters * _SIZES[dtype]
    caption = f"Memory beside θ and its gradient: {parameters:,} parameters, {rows:,} residuals, {dtype}."
    columns = {"MB": [bytes_[n] / 1e6 for n in names], "vectors": [bytes_[n] / vector for n in names]}
    return Table({"optimizer": names, **columns}, caption)
