"""Likelihoods: raw outputs of a network as the distribution of a target."""

from __future__ import annotations

from ._base import Likelihood
from ._names import NAMES, TASKS, by_name, for_task
from .bernoulli import Bernoulli
from .categorical import Categorical
from .gaussian import VARIANCE_FLOOR, Gaussian, HeteroscedasticGaussian, LearnedGaussian
from .laplace import Laplace
from .poisson import Poisson
from .product import Product

__all__ = [
    "NAMES",
    "TASKS",
    "VARIANCE_FLOOR",
    "Bernoulli",
    "Categorical",
    "Gaussian",
    "HeteroscedasticGaussian",
    "Laplace",
    "LearnedGaussian",
    "Likelihood",
    "Poisson",
    "Product",
    "by_name",
    "for_task",
]
