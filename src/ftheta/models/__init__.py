"""The estimators: one family a file, a flat shelf. A plain name is a family, a name with an underscore is machinery."""

from .linear import LinearRegression, least_squares
from .logistic import LogisticRegression, Newton
from .mlp import MLPClassifier, MLPRegressor
from .module import ModuleClassifier, ModuleRegressor

__all__ = [
    "LinearRegression",
    "LogisticRegression",
    "MLPClassifier",
    "MLPRegressor",
    "ModuleClassifier",
    "ModuleRegressor",
    "Newton",
    "least_squares",
]
