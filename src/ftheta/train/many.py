"""Train many small networks at once: same shape, other seeds, data, rates and penalties.

    θ_m <- rule(θ_m, ∇_{θ_m} Σ_m F_m(θ_m)) = rule(θ_m, ∇F_m(θ_m)),      m = 1 ... M

A step of a small network is mostly the cost of calling a few kernels, and that is paid once for all members: their
tensors are stacked, and `torch.func.vmap` computes all losses in one pass. Each member starts from its own seed, sees
its own batches in its own order and stops by itself, so it ends as the network trained alone, except for the order in
which floats are added. Unequal numbers of rows are filled up with rows of weight 0. With dropout, members draw other
noise than alone.

Shapes: M members, B rows per batch, x (M, B, ...), a parameter (M, ...).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import Any, TypeVar

from torch import Tensor, nn

from .. import optim
from ..data.sources import Rows
from ..errors import InputError
from ._stack import Stack
from .callbacks import Progress
from .iterate import iterate
from .objective import Objective
from .trainer import Trainer

__all__ = ["fit_many"]

Estimator = TypeVar("Estimator")
DATA = ("X", "y", "sample_weight", "X_val", "y_val")
ALIKE = ("epochs", "optimizer", "patience", "device", "dtype")
CACHED = 2**21  # bytes of the largest layer's outputs in a stack
LEFT_OUT: dict[str, Any] = {
    "ema": 0.0,
    "grow_batch": False,
    "rate_factors": {},
    "gradient_noise": 0.0,
    "accumulate": 1,
    "precision": "full",
}


def fit_many(estimator: Estimator, problems: Sequence[Mapping[str, Any]]) -> list[Estimator]:
    """Fit a copy of an estimator to each problem, all at once.

    Args:
        estimator: A neural estimator; it is cloned and stays as it is.
        problems: What `fit` takes (X, y, sample_weight, X_val, y_val), and parameters of the estimator that differ from
            problem to problem: random_state, lr, batch_size, training__l2, training__l1.

    Returns:
        The fitted estimators. One whose loss stopped being finite has its last good weights and says so in
        `stop_reason_`.

    Example:
        >>> import numpy as np
        >>> from ftheta.models import MLPRegressor
        >>> X = np.linspace(-1, 1, 30)[:, None]
        >>> problems = [{"X": X, "y": np.sin(3 * X[:, 0]), "random_state": seed} for seed in range(5)]
        >>> committee = fit_many(MLPRegressor(hidden=(20,), activation="tanh", epochs=100), problems)
        >>> np.std([member.predict(X) for member in committee], axis=0).shape
        (30,)
    """
    if not problems:
        return []
    members = [_prepared(estimator, problem, number) for number, problem in enumerate(problems)]
    trainers = [member._trainer for member in members]
    _check(members, trainers)
    first, deadline = trainers[0], time.monotonic() + trainers[0].training.seconds
    widest = max((len(p) * p.element_size() for p in first.objective.parameters() if p.ndim > 1), default=1)
    count = ceil(len(members) * min(first.source.batch_size, first.source.n) * widest / CACHED)
    for part in range(count):  # one group after the other: a larger stack leaves the cache of the processor
        group = slice(part * len(members) // count, (part + 1) * len(members) // count)
        _fit_group(members[group], trainers[group], deadline)
    return members


def _fit_group(members: Sequence[Any], trainers: Sequence[Trainer], deadline: float) -> None:
    epochs, stack = members[0].epochs, Stack(trainers, members[0].patience)
    try:
        seconds = deadline - time.monotonic()
        iterate(stack, rounds=epochs, seconds=seconds, callbacks=[Progress(stack.training.progress)])
    finally:
        stack.finish("rounds" if stack.epoch >= epochs else "seconds")
        for estimator, member in zip(members, stack.all, strict=True):
            estimator.history_ = member.ctx.history
            estimator.n_iter_, estimator.stop_reason_ = member.ctx.round, member.ctx.reason
            estimator.module_.eval()
            member.trainer.drop_data()


def _prepared(estimator: Any, problem: Mapping[str, Any], number: int) -> Any:
    """A copy of the estimator, ready to be trained."""
    from sklearn.base import clone

    if not hasattr(estimator, "prepare"):
        raise InputError(f"fit_many trains neural estimators, not {type(estimator).__name__}. Fit it in a loop.")
    if problem.get("X") is None:
        raise InputError(f"Problem {number} has no X; it has {', '.join(problem) or 'nothing'}. Pass its rows as 'X'.")
    member: Any = clone(estimator)
    member.set_params(**{k: v for k, v in problem.items() if k not in DATA})
    member.prepare(**{k: v for k, v in problem.items() if k in DATA})
    return member


def _check(members: Sequence[Any], trainers: Sequence[Trainer]) -> None:
    """One sentence for what cannot be trained together."""
    first, norms = trainers[0], nn.modules.batchnorm._NormBase
    objective, (name, *more) = first.objective, first.names.values()
    alike: dict[str, list[Any]] = {name: [getattr(member, name) for member in members] for name in ALIKE}
    alike |= {
        "shapes of weights": [{k: tuple(v.shape) for k, v in t.objective.state_dict().items()} for t in trainers],
        "training, except l1 and l2": [replace(t.training, l1=0.0, l2=0.0) for t in trainers],
        "number of batches per epoch": [len(t.source) for t in trainers],
        "number of validation batches": [len(t.validation or ()) for t in trainers],
        "number of rows, as there is a batch norm": [
            t.source.n for t in trainers if any(isinstance(m, norms) for m in objective.modules())
        ],
    }
    for what, values in alike.items():
        for other in values:
            if other != values[0]:
                raise InputError(
                    f"Networks that are trained together need the same {what}; got {values[0]} and {other}. Call "
                    "fit_many for each."
                )
    sources = [s for t in trainers for s in (t.source, t.validation) if s is not None]
    kind, t = type(objective), first.training
    refused = {
        f"{kind.__name__}, which is more than a loss of one player": (
            more or first.has_after or first.has_turns or kind.gradient is not Objective.gradient
        ),
        f"optimizer={name!r}, which looks at all parameters together": not optim.rule(name).elementwise,
        "a plateau": t.schedule == "plateau",
        "augmented batches": first.augment is not None,
        **{f"training.{key}={getattr(t, key)}": getattr(t, key) != value for key, value in LEFT_OUT.items()},
        "rows that are not one tensor in memory": not all(type(s) is Rows and isinstance(s.x, Tensor) for s in sources),
    }
    for what, found in refused.items():
        if found:
            raise InputError(f"fit_many does not train {what}. Leave it out, or fit the problems in a loop.")
