"""Train many small networks at once: same shape, other seeds, data and rates.

    θ_m <- rule(θ_m, ∇_{θ_m} Σ_m F_m(θ_m)) = rule(θ_m, ∇F_m(θ_m)),      m = 1 ... M

A step of a small network is mostly the cost of calling a few kernels, and that is paid once for all members. Each
starts from its own seed, sees its own batches in its own order and stops by itself, so that it ends as the network
trained alone does, but for the order in which floats are added. With dropout members draw other noise than alone.

Shapes: M members.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import torch

from ..errors import InputError
from ._stack_trainer import StackTrainer
from .callbacks import Callback, Context, Progress
from .iterate import iterate
from .trainer import Trainer

__all__ = ["many"]

Estimator = TypeVar("Estimator")
DATA = ("X", "y", "sample_weight", "X_val", "y_val")
ALIKE = ("epochs", "optimizer", "patience", "device")


def many(estimator: Estimator, problems: Sequence[Mapping[str, Any]]) -> list[Estimator]:
    """Fit a copy of an estimator to each problem, all at once.

    Args:
        estimator: A neural estimator; it is cloned and stays as it is.
        problems: What `fit` takes (X, y, sample_weight, X_val, y_val), and parameters of the estimator that differ from
            problem to problem: random_state, lr, training__l2, training__l1.

    Returns:
        The fitted estimators. One whose loss stopped being finite has its last good weights and says so in
        `stop_reason_`.

    Example:
        >>> import numpy as np
        >>> from ftheta.models import MLPRegressor
        >>> X = np.linspace(-1, 1, 30)[:, None]
        >>> problems = [{"X": X, "y": np.sin(3 * X[:, 0]), "random_state": seed} for seed in range(5)]
        >>> committee = many(MLPRegressor(hidden=(20,), activation="tanh", epochs=100), problems)
        >>> np.std([member.predict(X) for member in committee], axis=0).shape
        (30,)
    """
    if not problems:
        return []
    members, trainers = _prepared(estimator, problems)
    first: Any = members[0]
    process = StackTrainer(trainers, optimizer=first.optimizer, patience=first.patience)
    knobs = trainers[0].training
    try:
        iterate(process, rounds=first.epochs, seconds=knobs.seconds, callbacks=[_End(), Progress(knobs.progress)])
    finally:
        process.hand_over(members)
    return members


def _prepared(estimator: Any, problems: Sequence[Mapping[str, Any]]) -> tuple[list[Any], list[Trainer]]:
    """A copy of the estimator for each problem, ready to be trained; rows that several share are kept once."""
    from sklearn.base import clone

    if not hasattr(estimator, "prepare"):
        raise InputError(
            f"many trains neural estimators, e.g. MLPRegressor; {type(estimator).__name__} has no step to share. Fit "
            "it in a loop."
        )
    members, known = [], dict[tuple[int, ...], Any]()
    for i, problem in enumerate(problems):
        if problem.get("X") is None:
            raise InputError(f"Problem {i} has no X; it has {', '.join(problem) or 'nothing'}. Pass its rows as 'X'.")
        member: Any = clone(estimator)
        member.set_params(**{k: v for k, v in problem.items() if k not in DATA})
        given = {k: problem[k] for k in DATA if k in problem}
        trainer = member.prepare(given.pop("X", None), given.pop("y", None), given.pop("sample_weight", None), **given)
        shared = known.setdefault(tuple(id(problem.get(k)) for k in DATA[:3]), trainer.source)
        trainer.source = shared if _equal(shared, trainer.source) else trainer.source
        members.append(member)
    _check_alike(members)
    return members, [member._trainer for member in members]


def _equal(a: Any, b: Any) -> bool:
    """Whether two sources give the same rows, in batches of the same size."""
    pairs = [(getattr(a, k), getattr(b, k)) for k in ("x", "y", "weight")]
    plain = all(isinstance(u, torch.Tensor) and isinstance(v, torch.Tensor) or u is v for u, v in pairs)
    return plain and a.batch_size == b.batch_size and all(u is v or torch.equal(u, v) for u, v in pairs)


def _check_alike(members: Sequence[Any]) -> None:
    for name in ALIKE:
        values = list(dict.fromkeys(getattr(member, name) for member in members))
        if len(values) > 1:
            raise InputError(
                f"Problems that are trained together must have one {name}; got {values[0]!r} and {values[1]!r}. Call "
                "many for each."
            )


class _End(Callback):
    """Gives members what they have learned, however it ended."""

    def on_end(self, ctx: Context) -> None:
        ctx.process.finish(ctx.reason)  # type: ignore[attr-defined]
