"""Directions in weight space along which a loss is looked at. Shapes: P parameters, T points of a path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Generator, Tensor

from ...errors import InputError


def filter_normalized(parts: Mapping[str, Tensor], generator: Generator, *, biases: bool = False) -> Tensor:
    """One random direction for these tensors: (P,)."""
    found = [_scaled(p.detach(), generator, keep=biases or p.ndim > 1) for p in parts.values()]
    return torch.cat([d.flatten() for d in found])


def _scaled(p: Tensor, generator: Generator, keep: bool) -> Tensor:
    noise = torch.randn(p.shape, generator=generator, dtype=torch.float64).to(p)
    rows = p.flatten(1) if p.ndim > 1 else p.reshape(1, -1)  # (filters, weights)
    d = noise.view_as(rows)
    scale = rows.norm(dim=1, keepdim=True) / d.norm(dim=1, keepdim=True).clamp_min(torch.finfo(p.dtype).tiny)
    return d * scale if keep else torch.zeros_like(d)


def leading(path: np.ndarray, center: np.ndarray) -> np.ndarray:
    """Orthonormal directions of the plane through `center` that is nearest to a path: (T, P), (P,) -> (2, P)."""
    _, sizes, rows = np.linalg.svd(path - center, full_matrices=False)
    if len(sizes) < 2 or sizes[1] <= 1e-12 * max(sizes[0], np.finfo(float).tiny):
        raise InputError(
            f"A path of {len(path)} points spans no plane through the weights; record at least two points apart from "
            "them that do not lie on one line, or use directions='random'."
        )
    return rows[:2]


def positions(path: np.ndarray, origin: np.ndarray, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A path in the plane: coordinates of the nearest points (T, 2), and the share of the path's squared distance from
    the origin along the first direction, and along what the second adds to it: (2,)."""
    away = path - origin
    q, r = np.linalg.qr(directions.T)  # (P, 2), (2, 2)
    inside = away @ q  # (T, 2)
    total = (away**2).sum()
    share = (inside**2).sum(0) / total if total > 0 else np.ones(2)
    return np.linalg.solve(r, inside.T).T, share


def stacked(directions: Sequence[object], size: int) -> np.ndarray:
    """Two given directions as an array: (2, P)."""
    rows = [np.asarray(d, dtype=float).ravel() for d in directions]
    if len(rows) != 2 or any(len(row) != size for row in rows):
        raise InputError(
            f"directions has {len(rows)} entries of {[len(row) for row in rows]} numbers; two of {size} numbers each "
            "are needed, one for each parameter."
        )
    return np.stack(rows)
