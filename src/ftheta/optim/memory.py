"""What a rule keeps in memory, before it runs.

    bytes = numbers(P, N) · size of one,    e.g.  2 P (Adam),  P² (BFGS, Newton),  N P (Levenberg-Marquardt)

beside θ and g. P parameters, N residuals.
"""

from __future__ import annotations

import torch

from ..catalog import nearest
from ..errors import InputError
from ..results import Table
from .table import RULES, rule

__all__ = ["memory", "memory_table"]

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
