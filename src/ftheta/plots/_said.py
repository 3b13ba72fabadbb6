"""Arrays in few words, for boxes, arrows and lines of text."""

from __future__ import annotations

import numpy as np

__all__ = ["said"]


def said(value: np.ndarray | float) -> str:
    """A number, up to three of them in brackets, or shape and norm.

    Example:
        >>> said(0.786448), said(np.arange(3)), said(np.eye(4))
        ('0.7864', '(0, 1, 2)', '4×4, norm 2')
    """
    v = np.asarray(value)
    if v.ndim == 0:
        return f"{v:.4g}"
    if v.ndim == 1 and 0 < v.size <= 3:
        return f"({', '.join(f'{x:.3g}' for x in v)})"
    return f"{'×'.join(map(str, v.shape))}, norm {np.linalg.norm(v.ravel()):.3g}"
