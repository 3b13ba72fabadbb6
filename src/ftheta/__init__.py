"""fθ: every learning system of a modern machine-learning course, on one differentiable core.

`import ftheta` loads nothing heavy: packages (`ftheta.nn`), estimators (`ftheta.MLPClassifier`) and the names of the
table below are imported when they are first used. `__init__.pyi` is written by `make stubs`.
"""

from .catalog import class_target, classes, lazy

__version__ = "0.1.0.dev0"

_ERRORS = ("FThetaError", "FileFormatError", "InputError", "InputTypeError", "NonFiniteError", "RunError", "StoreError")
_NAMES = {
    **{name: f"ftheta.errors:{name}" for name in _ERRORS},
    "Trainer": "ftheta.train:Trainer",
    "Training": "ftheta.train:Training",
    "all_estimators": "ftheta.catalog:all_estimators",
    "load": "ftheta.models._base.files:load",
}
_PACKAGES = (
    *("autodiff", "base", "catalog", "check", "data", "draw", "errors", "explain", "formulas", "likelihoods"),
    *("jobs", "measure", "models", "nn", "optim", "plots", "results", "store", "studies", "tasks", "train"),
)


_NAMES |= {name: f"ftheta.{name}:" for name in _PACKAGES}

lazy(__name__, {**_NAMES, **classes()}, class_target)
