"""The estimators: one family a file, a flat shelf. A plain name is a family, a name with an underscore is machinery."""

from ._coordinate import CoordinateDescent, Sweeps
from .basis import BasisRegression
from .conv import ConvNetClassifier, ResNetClassifier
from .discriminant import FisherDiscriminant, LinearDiscriminant, QuadraticDiscriminant
from .lasso import ElasticNet, Lasso, LassoPath, coordinate_descent, lasso_path
from .linear import LinearRegression, least_squares
from .logistic import LogisticRegression, Newton
from .mlp import MLPClassifier, MLPRegressor
from .module import ModuleClassifier, ModuleRegressor
from .naive_bayes import DiscreteNaiveBayes, GaussianNaiveBayes
from .perceptron import DeltaRule, Perceptron, PerceptronRule
from .ridge import Ridge, RidgePath, ridge_path
from .unet import UNetSegmenter
from .whitening import Whitening, principal_axes

__all__ = [
    "BasisRegression",
    "ConvNetClassifier",
    "CoordinateDescent",
    "DeltaRule",
    "DiscreteNaiveBayes",
    "ElasticNet",
    "FisherDiscriminant",
    "GaussianNaiveBayes",
    "Lasso",
    "LassoPath",
    "LinearDiscriminant",
    "LinearRegression",
    "LogisticRegression",
    "MLPClassifier",
    "MLPRegressor",
    "ModuleClassifier",
    "ModuleRegressor",
    "Newton",
    "Perceptron",
    "PerceptronRule",
    "QuadraticDiscriminant",
    "ResNetClassifier",
    "Ridge",
    "RidgePath",
    "Sweeps",
    "UNetSegmenter",
    "Whitening",
    "coordinate_descent",
    "lasso_path",
    "least_squares",
    "principal_axes",
    "ridge_path",
]
