"""The estimators: one family a file, a flat shelf. A plain name is a family, a name with an underscore is machinery."""

from ._annealing import Partition, annealed_importance, base_rates
from ._coordinate import CoordinateDescent, Sweeps
from .basis import BasisRegression
from .boltzmann import RestrictedBoltzmannMachine
from .boltzmann_machine import BoltzmannMachine, PairwiseMachine
from .conv import ConvNetClassifier, ResNetClassifier
from .dbm import DeepBoltzmannMachine
from .discriminant import FisherDiscriminant, LinearDiscriminant, QuadraticDiscriminant
from .hopfield import Basins, HopfieldNetwork, Perturbed, Recall
from .lasso import ElasticNet, Lasso, LassoPath, coordinate_descent, lasso_path
from .linear import LinearRegression, least_squares
from .logistic import LogisticRegression, Newton
from .mlp import MLPClassifier, MLPRegressor
from .modern_hopfield import ModernHopfield
from .module import ModuleClassifier, ModuleRegressor
from .naive_bayes import DiscreteNaiveBayes, GaussianNaiveBayes
from .perceptron import DeltaRule, Perceptron, PerceptronRule
from .ridge import Ridge, RidgePath, ridge_path
from .unet import UNetSegmenter
from .whitening import Whitening, principal_axes

__all__ = [
    "Basins",
    "BasisRegression",
    "BoltzmannMachine",
    "ConvNetClassifier",
    "CoordinateDescent",
    "DeepBoltzmannMachine",
    "DeltaRule",
    "DiscreteNaiveBayes",
    "ElasticNet",
    "FisherDiscriminant",
    "GaussianNaiveBayes",
    "HopfieldNetwork",
    "Lasso",
    "LassoPath",
    "LinearDiscriminant",
    "LinearRegression",
    "LogisticRegression",
    "MLPClassifier",
    "MLPRegressor",
    "ModernHopfield",
    "ModuleClassifier",
    "ModuleRegressor",
    "Newton",
    "PairwiseMachine",
    "Partition",
    "Perceptron",
    "PerceptronRule",
    "Perturbed",
    "QuadraticDiscriminant",
    "Recall",
    "ResNetClassifier",
    "RestrictedBoltzmannMachine",
    "Ridge",
    "RidgePath",
    "Sweeps",
    "UNetSegmenter",
    "Whitening",
    "annealed_importance",
    "base_rates",
    "coordinate_descent",
    "lasso_path",
    "least_squares",
    "principal_axes",
    "ridge_path",
]
