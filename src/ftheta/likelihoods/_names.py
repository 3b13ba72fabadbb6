"""Which likelihood: by task, or by name."""

from ..catalog import nearest
from ..data.specs import TargetSpec
from ..errors import InputError
from ._base import Likelihood
from .classes import Bernoulli, Categorical
from .numbers import Gaussian, HeteroscedasticGaussian, Laplace, LearnedGaussian, Poisson

TASKS = {"binary": Bernoulli, "multiclass": Categorical, "multilabel": Bernoulli, "regression": Gaussian}
NAMES: dict[str, type[Likelihood]] = {  # of a regression target
    "gaussian": Gaussian,
    "gaussian-learned": LearnedGaussian,
    "gaussian-heteroscedastic": HeteroscedasticGaussian,
    "laplace": Laplace,
    "poisson": Poisson,
}


def for_task(y: TargetSpec) -> Likelihood:
    """The usual likelihood of a task, from `TASKS`.

    Example:
        >>> for_task(TargetSpec("multiclass", 3)).n_raw(TargetSpec("multiclass", 3))
        3
    """
    if y.kind not in TASKS:
        raise InputError(nearest("task", y.kind, TASKS))
    return TASKS[y.kind].of(y)


def by_name(name: str, y: TargetSpec) -> Likelihood:
    """A likelihood of a regression target by its name."""
    if name not in NAMES:
        raise InputError(nearest("likelihood", name, NAMES))
    return NAMES[name].of(y)
