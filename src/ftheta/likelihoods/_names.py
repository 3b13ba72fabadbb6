"""Which likelihood: by task, or by name."""

from __future__ import annotations

from ..catalog import nearest
from ..data.specs import TargetSpec
from ..errors import InputError
from ._base import Likelihood
from .bernoulli import Bernoulli
from .categorical import Categorical
from .gaussian import Gaussian, HeteroscedasticGaussian, LearnedGaussian
from .laplace import Laplace
from .poisson import Poisson

__all__ = ["NAMES", "TASKS", "by_name", "for_task"]

TASKS: dict[str, type[Likelihood]] = {
    "binary": Bernoulli,
    "multiclass": Categorical,
    "multilabel": Bernoulli,
    "regression": Gaussian,
}
"""The usual likelihood of a task."""

NAMES: dict[str, type[Likelihood]] = {
    "gaussian": Gaussian,
    "gaussian-learned": LearnedGaussian,
    "gaussian-heteroscedastic": HeteroscedasticGaussian,
    "laplace": Laplace,
    "poisson": Poisson,
}
"""Likelihoods of a regression target."""


def for_task(y: TargetSpec) -> Likelihood:
    """The usual likelihood of a task: binary and multilabel Bernoulli, multiclass categorical, regression Gaussian.

    Example:
        >>> for_task(TargetSpec("multiclass", 3)).n_raw(TargetSpec("multiclass", 3))
        3
    """
    if y.kind not in TASKS:
        raise InputError(nearest("task", y.kind, TASKS))
    return TASKS[y.kind].of(y)


def by_name(name: str, y: TargetSpec) -> Likelihood:
    """A likelihood of a regression target by its name.

    Example:
        >>> by_name("laplace", TargetSpec("regression"))
        Laplace()
    """
    if name not in NAMES:
        raise InputError(nearest("likelihood", name, NAMES))
    return NAMES[name].of(y)
