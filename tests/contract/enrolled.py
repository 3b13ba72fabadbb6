"""Who is in the estimator suite, small settings and data for each: read from the catalog, never kept by hand."""

import hashlib
import random

import numpy as np
import torch
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.validation import has_fit_parameter
from torch import nn

from ftheta import catalog

CLASSES = [
    catalog.resolve(card.name, kind, task)
    for card in catalog.CARDS.values()
    for kind, task in card.targets
    if card.installed and kind == "table" and task in ("classify", "regress", "transform")
]


def takes(cls, *names):
    """Whether a class has these parameters."""
    return set(names) <= set(cls().get_params(deep=False))


VARIANTS = [cls(dtype=dtype) for cls in CLASSES if takes(cls, "dtype") for dtype in ("float32", "float64")]
VARIANTS += [cls() for cls in CLASSES if not takes(cls, "dtype")]
NEURAL = [cls for cls in CLASSES if takes(cls, "optimizer", "training")]
CLASSIFIERS = [cls for cls in CLASSES if is_classifier(cls())]
REGRESSORS = [cls for cls in CLASSES if is_regressor(cls())]
TRANSFORMERS = [cls for cls in CLASSES if hasattr(cls, "transform") and not hasattr(cls, "predict")]
WEIGHTED = [cls for cls in CLASSES if has_fit_parameter(cls, "sample_weight")]


def name_of(estimator):
    cls = estimator if isinstance(estimator, type) else type(estimator)
    return cls.__name__ + (f"-{estimator.dtype}" if not isinstance(estimator, type) and takes(cls, "dtype") else "")


def small(given, **settings):
    """An estimator of this class (or like this one) that fits in a few milliseconds, always the same."""
    cls = given if isinstance(given, type) else type(given)
    quick = {"epochs": 6, "random_state": 0, "hidden": (12,), "scale_y": True, "n_estimators": 10, "max_depth": 3}
    quick |= {"members": ("linear", "tree"), "weights": "equal", "n_centers": 50}
    quick |= {"min_samples_leaf": 2} if takes(cls, "early_stopping") else {}
    own = {} if isinstance(given, type) else given.get_params(deep=False)
    return cls(**(own | {k: v for k, v in quick.items() if takes(cls, k)} | settings))


def data(given, n=90, features=4, seed=0):
    """Rows and a target of the kind that a class learns from."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, features))
    score = X @ rng.normal(size=features) + 0.3 * rng.normal(size=n)
    if is_classifier(given() if isinstance(given, type) else given):
        return X, np.digitize(score, np.quantile(score, [0.4, 0.7]))
    return X, 20 + 3 * score


def taken(cls, X, y, weight):
    """What `fit` takes: weights where the class has them."""
    return (X, y, weight) if cls in WEIGHTED else (X, y)


def answers(estimator, X):
    """Everything that a fitted estimator says of rows."""
    methods = ("predict", "predict_proba", "decision_function", "transform")
    return {m: getattr(estimator, m)(X) for m in methods if hasattr(estimator, m)}


def tensors(tree, path=""):
    """All arrays and tensors in a tree by their path."""
    if isinstance(tree, nn.Module):
        tree = dict(tree.state_dict())
    if isinstance(tree, torch.Tensor):
        tree = tree.detach().cpu().numpy()
    if isinstance(tree, np.ndarray | float):
        return {path: np.asarray(tree)}
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list | tuple) else ()
    return {k: v for key, value in items for k, v in tensors(value, f"{path}.{key}").items()}


def learned(estimator):
    """All fitted tensors by name."""
    own = {k: v for k, v in vars(estimator).items() if k.endswith("_") and not k.startswith("_")}
    return tensors({k: v for k, v in own.items() if k != "history_"})  # it has seconds


def digest(estimator):
    """SHA-256 over names, types and bytes of all fitted tensors."""
    found = hashlib.sha256()
    for name, array in sorted(learned(estimator).items()):
        found.update(repr((name, array.dtype.str, array.shape)).encode() + np.ascontiguousarray(array).tobytes())
    for member in getattr(estimator, "members_", ()):
        found.update(digest(member).encode())
    return found.hexdigest()


def generators():
    """The state of the three global generators."""
    kind, keys, *rest = np.random.get_state()
    return torch.get_rng_state().tolist(), kind, keys.tolist(), rest, random.getstate()
