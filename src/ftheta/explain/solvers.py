"""Solvers: the loss over two coefficients of a linear model, and the way of every solver to its minimum.

    squares    f(a, b) = Σ_i (r_i - a x_i - b z_i)² / n               r: what the other coefficients leave of y
    log-odds   f(a, b) = Σ_i log(1 + exp(-s_i (r_i + a x_i + b z_i))) / n,   s = ±1

The other coefficients and the intercept stand where the model has them.
Shapes: n rows, D features.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from .. import check
from ..errors import InputError, InputTypeError
from ..formulas import Surface
from ..train import minimise
from ._registry import explanation
from .trajectories import Spec, Trajectories, trajectories

__all__ = ["HasPlane", "solvers"]

GRID = 61


@runtime_checkable
class HasPlane(Protocol):
    """a fitted linear model with coef_, intercept_ and n_features_in_"""

    coef_: np.ndarray
    intercept_: np.ndarray
    n_features_in_: int


def _has_one(obj: HasPlane) -> bool:
    """Whether there is one plane over the features, with two coefficients or more."""
    shape = np.shape(obj.coef_)
    two = len(getattr(obj, "classes_", (0, 1))) == 2
    return two and shape[-1] == obj.n_features_in_ > 1 and shape[:-1] in ((), (1,))


@explanation("solvers", needs=HasPlane, when=_has_one)
def solvers(
    obj: HasPlane,
    X: Any,
    y: Any,
    columns: Sequence[int] = (0, 1),
    optimizers: Sequence[Spec] | None = None,
    start: Sequence[float] = (0.0, 0.0),
    steps: int = 100,
) -> Trajectories:
    """The loss over two coefficients, without any penalty, and the way of every solver to its minimum.

    Args:
        obj: A fitted linear model of one number, or of two classes.
        X: Rows (n, D).
        y: Their targets (n,).
        columns: The two features whose coefficients move.
        optimizers: Rules as `trajectories` takes them; None: gd and momentum at rates that the curvature allows, cg,
            lbfgs and newton.
        start: The two coefficients at the start.
        steps: Most steps of each.
    """
    if not _has_one(obj):
        raise InputTypeError(
            f"{type(obj).__name__} is no plain linear model of one number or two classes over two features or more; "
            "solvers needs one."
        )
    pair = tuple(columns)
    if len(set(pair)) != 2 or not all(0 <= j < obj.n_features_in_ for j in pair):
        raise InputError(f"columns={columns}; two different numbers from 0 to {obj.n_features_in_ - 1} are needed.")
    ground = _surface(obj, np.asarray(check.plain(X), dtype=float), np.asarray(check.plain(y)), pair, tuple(start))
    rules = optimizers or _rules(ground)
    names = [str(n) for n in getattr(obj, "feature_names_in_", [f"x{j + 1}" for j in range(obj.n_features_in_)])]
    found = trajectories(ground, rules, steps=steps, size=GRID)
    return replace(found, labels=(f"coefficient of {names[pair[0]]}", f"coefficient of {names[pair[1]]}"))


def _surface(obj: HasPlane, x: np.ndarray, y: np.ndarray, pair: tuple[int, ...], start: tuple[float, ...]) -> Surface:
    coef = np.ravel(obj.coef_).astype(float)
    if x.ndim != 2 or x.shape[1] != len(coef) or len(x) != len(y):
        raise InputError(f"X has shape {x.shape} and y {y.shape}; rows of the {len(coef)} features are needed.")
    others = np.delete(np.arange(len(coef)), pair)
    rest = x[:, others] @ coef[others] + float(np.ravel(obj.intercept_)[0])  # (n,)
    moved = torch.from_numpy(np.ascontiguousarray(x[:, list(pair)]))  # (n, 2)
    classes = getattr(obj, "classes_", None)
    f = _squares(moved, y - rest) if classes is None else _log_odds(moved, rest, np.where(y == classes[1], 1.0, -1.0))
    said = "mean squared residual" if classes is None else "mean log loss"
    low = minimise(f, coef[list(pair)], optimizer="newton", steps=100, tolerance=1e-10).best
    ends, size = np.array([start, low]), moved.square().mean(0).sqrt().numpy() + 1e-300
    # both coefficients in steps that change the answers alike
    reach = 0.75 * max(float((np.ptp(ends, axis=0) * size).max()), 1e-9) / size
    box = tuple((float(m - r), float(m + r)) for m, r in zip(ends.mean(0), reach, strict=True))
    return Surface(said, f, start, box, (tuple(map(float, low)),), "")


def _squares(x: Tensor, target: np.ndarray) -> Callable[[Tensor], Tensor]:
    r = torch.from_numpy(np.ascontiguousarray(target, dtype=float))
    return lambda theta: (r - x @ theta).square().mean()


def _log_odds(x: Tensor, rest: np.ndarray, sign: np.ndarray) -> Callable[[Tensor], Tensor]:
    s, base = torch.from_numpy(sign), torch.from_numpy(rest)
    return lambda theta: torch.nn.functional.softplus(-s * (base + x @ theta)).mean()


def _rules(ground: Surface) -> list[Spec]:
    """Rates from the largest curvature λ at the start: 1/λ for gd, half of it for momentum."""
    curvature = torch.autograd.functional.hessian(ground.f, torch.tensor(ground.start, dtype=torch.float64))
    largest = float(torch.linalg.eigvalsh(curvature)[-1])  # pyright: ignore[reportArgumentType]
    if not largest > 0:
        raise InputError("The loss is flat where the solvers start: both columns are zero. Choose other columns.")
    rate = float(f"{1 / largest:.2g}")
    return [("gd", rate), ("momentum", rate / 2), "cg", "lbfgs", "newton"]
