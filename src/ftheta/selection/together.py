"""Fits of one family at once: those that differ in seed, rate, batch size and penalties only are one stack."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import NonFiniteError
from .search import FAILS

Fit = tuple[Any, Mapping[str, Any]]  # an estimator, and what its `fit` takes
TOGETHER, NUMBERS = 200, 2**24  # fits of a stack, and numbers of X of all of them


def stacks(estimator: Any, X: Any, folds: int) -> bool:
    """Whether copies are small networks that may be trained at once, judged by their rows."""
    return hasattr(estimator, "prepare") and isinstance(X, np.ndarray) and X.ndim == 2 and X.size * folds <= NUMBERS


def fit_together(fits: Sequence[Fit]) -> list[Any]:
    """Fitted estimators, or the error of one that could not be; each comes with the arguments of its `fit`."""
    from ..train.many import OWN

    groups: dict[str, list[int]] = {}
    for i, (model, data) in enumerate(fits):
        shared = {k: v for k, v in sorted(model.get_params().items()) if k not in (*OWN, "training")}
        groups.setdefault(f"{shared} {np.shape(data['X'])[1:]}", []).append(i)
    made: dict[int, Any] = {}
    for group in groups.values():
        for k in range(0, len(group), TOGETHER):
            made |= _stack(fits, group[k : k + TOGETHER])
    return [made[i] for i in range(len(fits))]


def values_of(fits: Sequence[Fit], folds: int, score: Callable[[int, Any], Any], join: Callable[..., Any]) -> list[Any]:
    """The value of each point from so many fits: their scores joined, or the error of one."""
    from ..train import threads

    models = fit_together(fits)

    def value(fitted: Sequence[Any]) -> Any:
        try:
            if bad := [m for m in fitted if isinstance(m, Exception)]:
                raise bad[0]
            return join([score(k, model) for k, model in enumerate(fitted)])
        except FAILS as error:
            return error

    with threads(1):  # a few rows each
        return [value(models[i : i + folds]) for i in range(0, len(models), folds)]


def _stack(fits: Sequence[Fit], group: Sequence[int]) -> dict[int, Any]:
    """A loop, where a stack is refused."""
    from ..train import fit_many
    from ..train.many import LOST, OWN

    own = ({name: fits[i][0].get_params()[name] for name in OWN} for i in group)
    try:
        problems = [{**fits[i][1], **params} for i, params in zip(group, own, strict=True)]
        fitted = dict(zip(group, fit_many(fits[group[0]][0], problems), strict=True))
        return {i: NonFiniteError(why) if (why := m.stop_reason_).startswith(LOST) else m for i, m in fitted.items()}
    except FAILS:  # refused together, or one of them alone
        return {i: _one(*fits[i]) for i in group}


def _one(model: Any, data: Mapping[str, Any]) -> Any:
    try:
        return model.fit(**data)
    except FAILS as error:  # settings that cannot be trained
        return error
