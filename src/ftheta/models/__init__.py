"""The estimators: one folder per topic, one family per file. `__init__.pyi` is written by `make stubs`."""

from ..catalog import class_target, classes, lazy

_NAMES = {  # beside the classes of the catalog
    "Stepped": "_base.stepped",
    **dict.fromkeys(("NeuralEstimator", "NeuralTransformer"), "_base.neural"),
    **dict.fromkeys(("NeuralClassifier", "NeuralRegressor"), "_base.supervised"),
    "Data": "_base.rows",
    **dict.fromkeys(("described", "load"), "_base.files"),
    **dict.fromkeys(("LogPartition", "annealed_importance", "base_rates"), "energy.rbm_net"),
    "PairwiseMachine": "energy.boltzmann",
    "lasso_path": "linear.lasso",
    **dict.fromkeys(("LogisticLBFGS", "LogisticNewton"), "linear.logistic_solvers"),
    "CoefficientPath": "linear.ridge",
    "principal_axes": "linear.whitening",
    **dict.fromkeys(("SplitGain", "split_gain"), "tree.splits"),
    **dict.fromkeys(("LinearSystem", "identify"), "sequence.linear_systems"),
    "ResidualTests": "sequence.explain_forecasts",
}
_NAMES = {name: f"ftheta.models.{module}:{name}" for name, module in _NAMES.items()}

lazy(__name__, {**_NAMES, **classes()}, class_target)
