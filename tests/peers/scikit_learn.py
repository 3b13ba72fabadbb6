"""scikit-learn's own tests of linear models, neural networks, discriminants and naive Bayes, with our classes put in.

Collected by `test_scikit_learn.py` only. A stand-in has scikit-learn's name and signature, fits our class and answers
from it. It translates options that have another name or unit here; a test that sets an option, or reads an attribute,
that does not exist here is skipped with that reason.
"""

import functools
import importlib
import inspect
import re
import types
from itertools import zip_longest
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from _pytest.mark.structures import ParameterSet
from scipy.sparse import issparse
from sklearn import discriminant_analysis, linear_model, naive_bayes, neural_network
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import InvalidParameterError

import ftheta
from ftheta import Training

FILES = (
    *(f"linear_model.tests.test_{name}" for name in ("base", "common", "coordinate_descent", "logistic", "perceptron")),
    *(f"linear_model.tests.test_{name}" for name in ("ridge", "sparse_coordinate_descent")),
    *("neural_network.tests.test_mlp", "neural_network.tests.test_rbm"),
    *("tests.test_discriminant_analysis", "tests.test_naive_bayes"),
)
OTHERS = {  # what a test is about, where its code does not tell, or tells only after seconds
    "test_logistic__test_logistic_cv_multinomial_score": "private _log_reg_scoring_path of LogisticRegressionCV",
    "test_logistic__test_newton_cholesky_fallback_to_lbfgs": "option solver of LogisticRegression",
    "test_logistic__test_logistic_regression_callback_support": "the last, empty task that lbfgs reports to callbacks",
    "test_logistic__test_logistic_regression_callback_fitted_estimator": "the same task",
    "test_logistic__test_warm_start": "option solver of LogisticRegression",
    "test_ridge__test_ridge_fit_intercept_sparse_error": "option solver of Ridge",
    "test_mlp__test_alpha": "attribute coefs_ of MLPClassifier",
    "test_mlp__test_fit": "attribute coefs_ of MLPClassifier",
    "test_mlp__test_mlp_vs_poisson_glm_equivalent": "the logarithmic link of loss='poisson'",
    "test_mlp__test_n_iter_no_change": "private _no_improvement_count of MLPClassifier",
    "test_mlp__test_n_iter_no_change_inf": "private _no_improvement_count of MLPClassifier",
    "test_mlp__test_partial_fit_errors": "option solver of MLPClassifier",
    "test_rbm__test_feature_names_out": "the name of the class",
    "test_discriminant_analysis__test_lda_predict": "option solver of LinearDiscriminantAnalysis",
    "test_discriminant_analysis__test_qda_covariance_estimator": "option covariance_estimator",
    "test_discriminant_analysis__test_qda_store_covariance": "option store_covariance",
    "test_discriminant_analysis__test_qda_regularization": "option reg_param",
    "test_naive_bayes__test_gnb_check_update_with_no_data": "private _update_mean_variance of GaussianNB",
}
PRIVATE = ("_optimizer", "_label_binarizer", "_random_state")  # learned by an MLP there
NOT_OURS = "uses no class that we have"
STAND_INS = []
used = []  # stand-ins that were made or fitted in the running test


class StandIn(BaseEstimator):
    """Our class under a name of scikit-learn."""

    ours: type
    peer: type
    same: tuple[str, ...] = ()  # options with the same name and meaning
    ignored: tuple[str, ...] = ()  # options that change how, not what is learned
    understood: tuple[str, ...] = ()  # options that `translated` reads
    renamed: dict = {}  # attributes: our name, or a function of our estimator

    def __init_subclass__(cls):
        if "peer" not in vars(cls):
            return
        STAND_INS.append(cls)
        made = inspect.signature(cls.peer)
        cls.defaults = {p.name: p.default for p in made.parameters.values()}

        def __init__(self, *args, **options):
            bound = made.bind(*args, **options)
            bound.apply_defaults()
            vars(self).update(bound.arguments)
            used.append(cls.__name__)

        __init__.__signature__ = inspect.Signature(
            [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD), *made.parameters.values()]
        )
        cls.__init__ = __init__
        cls.__name__ = cls.__qualname__ = cls.peer.__name__

    def translated(self, X, y, sample_weight):
        """Our parameters, from those that have another name or unit here."""
        return {}

    def made(self, X=None, y=None, sample_weight=None):
        given = {k for k, value in self.get_params(deep=False).items() if repr(value) != repr(self.defaults[k])}
        params = self.translated(X, y, sample_weight)
        for name in sorted(given - {*self.same, *self.ignored, *self.understood}):
            pytest.skip(f"option {name} of {type(self).__name__}")
        return self.ours(**{name: getattr(self, name) for name in self.same if name in given} | params)

    def fit(self, X, y=None, sample_weight=None, **more):
        self._check_fit(self.ours.fit, X, more)
        model = self.made(X, y, sample_weight)
        if getattr(self, "warm_start", False) and "fitted_" in vars(self):
            model = self.fitted_.set_params(**model.get_params(deep=False))
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        try:
            self.fitted_ = model.fit(X, **weights, **more) if y is None else model.fit(X, y, **weights, **more)
        except InvalidParameterError as error:
            self.peer(**self.get_params(deep=False))._validate_params()
            pytest.skip(f"value of an option: {error}")
        return self

    def _check_fit(self, method, X, options):
        used.append(type(self).__name__)
        if issparse(X) and not self.__sklearn_tags__().input_tags.sparse:
            pytest.skip(f"sparse X of {type(self).__name__}")
        for name in sorted(options.keys() - set(inspect.signature(method).parameters)):
            pytest.skip(f"option {name} of {type(self).__name__}.{method.__name__}")

    def __setattr__(self, name, value):
        fitted = vars(self).get("fitted_")
        object.__setattr__(fitted if hasattr(fitted, name) else self, name, value)

    def fit_transform(self, X, y=None):
        return self.fit(X, y).transform(X)

    def __getattr__(self, name):
        if name.startswith("__") or name in ("fitted_", "_parameter_constraints") or name in self.defaults:
            raise AttributeError(name)
        if name == "partial_fit" and hasattr(self.ours, name):
            return self._partial_fit
        model = vars(self).get("fitted_")
        there = self.renamed.get(name, name)
        if callable(there) and model is not None:
            return there(model)
        if hasattr(self.ours if model is None else model, there):
            return getattr(self.made() if model is None else model, there)
        documented = model is not None and re.search(rf"^    {name} :", self.peer.__doc__ or "", re.M)
        if hasattr(self.peer, name) or name in PRIVATE or documented and name != "feature_names_in_":
            pytest.skip(f"{'private' if name.startswith('_') else 'attribute'} {name} of {type(self).__name__}")
        raise AttributeError(name)

    def _partial_fit(self, X, y=None, classes=None, **more):
        more |= {} if classes is None else {"classes": classes}
        self._check_fit(self.ours.partial_fit, X, more)
        model = vars(self).get("fitted_") or self.made(X, y)
        self.fitted_ = model.partial_fit(X, **more) if y is None else model.partial_fit(X, y, **more)
        return self

    def __sklearn_tags__(self):
        return self.ours().__sklearn_tags__()

    def __sklearn_is_fitted__(self):
        return "fitted_" in vars(self)


class LinearRegression(StandIn):
    ours, peer = ftheta.LinearRegression, linear_model.LinearRegression
    same, ignored = ("fit_intercept",), ("tol",)


class Ridge(StandIn):
    ours, peer = ftheta.Ridge, linear_model.Ridge
    same, ignored, understood = ("alpha", "fit_intercept"), ("tol", "max_iter", "random_state"), ("solver",)

    def translated(self, X, y, sample_weight):
        if self.solver not in ("auto", "svd"):
            pytest.skip("option solver of Ridge")
        if np.ndim(self.alpha):
            pytest.skip("option alpha of Ridge, one for each target")
        return {}


class Lasso(StandIn):
    ours, peer = ftheta.Lasso, linear_model.Lasso
    same, ignored = ("alpha", "fit_intercept", "max_iter", "tol"), ("random_state",)

    def translated(self, X, y, sample_weight):
        return {"alpha": self.alpha}


class ElasticNet(Lasso):
    ours, peer = ftheta.ElasticNet, linear_model.ElasticNet
    same = (*Lasso.same, "l1_ratio")


class LogisticRegression(StandIn):
    ours, peer = ftheta.LogisticRegression, linear_model.LogisticRegression
    same = ("class_weight", "tol", "warm_start", "random_state")
    understood = ("C", "l1_ratio", "solver", "max_iter")
    renamed = {"n_iter_": lambda model: np.array([model.n_iter_])}

    def translated(self, X, y, sample_weight):
        if self.solver not in ("lbfgs", "newton-cholesky"):
            pytest.skip("option solver of LogisticRegression")
        if self.l1_ratio is None:
            pytest.skip("option l1_ratio of LogisticRegression, None")
        steps = {} if self.max_iter == 100 else {"epochs": self.max_iter}
        if y is None:
            return steps
        from sklearn.utils.class_weight import compute_sample_weight

        weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, float)
        total = (weight * compute_sample_weight(self.class_weight, y)).sum()
        strength = 1 / (self.C * total)  # C Σ loss + penalty, as a mean
        return steps | {"l2": strength * (1 - self.l1_ratio) / 2, "l1": strength * self.l1_ratio}


class Perceptron(StandIn):
    ours, peer = ftheta.Perceptron, linear_model.Perceptron
    same, understood = ("fit_intercept", "shuffle", "random_state"), ("max_iter", "eta0", "tol", "n_iter_no_change")

    def translated(self, X, y, sample_weight):
        return {"epochs": self.max_iter, "lr": self.eta0, "pocket": False}


def _dtype(X):
    return "float32" if getattr(X, "dtype", None) == np.float32 else "float64"


class MLP(StandIn):
    same = ("random_state", "batch_size", "warm_start")
    understood = (
        *("hidden_layer_sizes", "activation", "solver", "alpha", "learning_rate_init", "max_iter", "shuffle", "tol"),
        *("momentum", "nesterovs_momentum", "beta_1", "beta_2", "epsilon", "early_stopping", "validation_fraction"),
        *("n_iter_no_change",),
    )
    renamed = {
        "loss_curve_": lambda model: [row["loss"] for row in model.history_],
        "loss_": lambda model: model.history_[-1]["loss"],
        "n_layers_": lambda model: len(np.atleast_1d(model.hidden)) + 2,
    }

    def translated(self, X, y, sample_weight):
        n = 1 if X is None else len(X) if not hasattr(X, "shape") else X.shape[0]
        options = {"nesterov": self.nesterovs_momentum and self.momentum > 0, "momentum": self.momentum}
        options = options if self.solver == "sgd" else {"betas": (self.beta_1, self.beta_2), "eps": self.epsilon}
        training = Training(
            l2=self.alpha
            / 2
            / (n if self.solver == "lbfgs" else min(n, 200 if self.batch_size == "auto" else self.batch_size)),
            options={"max_iter": 1, "tolerance_grad": self.tol} if self.solver == "lbfgs" else options,
            shuffle=self.shuffle,
            min_delta=max(self.tol, 0.0),
        )
        hidden, endless = self.hidden_layer_sizes, self.solver == "lbfgs" or self.n_iter_no_change == np.inf
        return {
            "hidden": tuple(hidden) if hasattr(hidden, "__len__") else (hidden,),
            "activation": {"logistic": "sigmoid"}.get(self.activation, self.activation),
            "optimizer": self.solver,
            "lr": None if self.solver == "lbfgs" else self.learning_rate_init,
            "epochs": self.max_iter,
            "dtype": _dtype(X),
            "patience": max(self.max_iter - 1, 1) if endless else self.n_iter_no_change,
            "validation": self.validation_fraction if self.early_stopping else 0.0,
            "training": training,
        }


class MLPClassifier(MLP):
    ours, peer = ftheta.MLPClassifier, neural_network.MLPClassifier


class MLPRegressor(MLP):
    ours, peer = ftheta.MLPRegressor, neural_network.MLPRegressor
    understood = (*MLP.understood, "loss")

    def translated(self, X, y, sample_weight):
        return super().translated(X, y, sample_weight) | {
            "likelihood": {"squared_error": "gaussian"}.get(self.loss, self.loss)
        }


class BernoulliRBM(StandIn):
    ours, peer = ftheta.RestrictedBoltzmannMachine, neural_network.BernoulliRBM
    same, understood = ("batch_size", "random_state"), ("n_components", "learning_rate", "n_iter")

    def translated(self, X, y, sample_weight):
        return {"n_hidden": self.n_components, "lr": self.learning_rate, "epochs": self.n_iter, "dtype": _dtype(X)}


def _priors(priors, y):
    if priors is None or y is None:
        return None
    return dict(zip_longest(np.unique(y).tolist()[: len(priors)], np.asarray(priors).tolist(), fillvalue="?"))


class LinearDiscriminantAnalysis(StandIn):
    ours, peer = ftheta.LinearDiscriminant, discriminant_analysis.LinearDiscriminantAnalysis
    understood, ignored = ("priors", "shrinkage", "solver"), ("tol",)

    def translated(self, X, y, sample_weight):
        return {"priors": _priors(self.priors, y), "shrinkage": 0.0 if self.shrinkage is None else self.shrinkage}


class QuadraticDiscriminantAnalysis(LinearDiscriminantAnalysis):
    ours, peer = ftheta.QuadraticDiscriminant, discriminant_analysis.QuadraticDiscriminantAnalysis


class GaussianNB(StandIn):
    ours, peer = ftheta.GaussianNaiveBayes, naive_bayes.GaussianNB
    same, understood = ("var_smoothing",), ("priors",)
    renamed = {"theta_": "means_", "var_": lambda model: model.deviations_**2, "class_prior_": "priors_"}

    def translated(self, X, y, sample_weight):
        return {"priors": _priors(self.priors, y)}


class CategoricalNB(StandIn):
    ours, peer = ftheta.DiscreteNaiveBayes, naive_bayes.CategoricalNB
    same, understood = ("alpha",), ("class_prior", "fit_prior")

    def translated(self, X, y, sample_weight):
        return {"priors": _priors(self.class_prior, y) if self.fit_prior else "uniform"}


@pytest.fixture
def global_random_seed():
    return 42


@pytest.fixture
def global_dtype():
    return np.float64


class Wordless:
    """pytest, but messages of errors and warnings may have other words."""

    def __getattr__(self, name):
        return getattr(pytest, name)

    def raises(self, *args, match=None, **more):
        return pytest.raises(*args, **more)

    def warns(self, *args, match=None, **more):
        return pytest.warns(*args, **more)


def load(name):
    """scikit-learn's test module with our classes under its names."""
    original = importlib.util.find_spec(f"sklearn.{name}")
    module = types.ModuleType(name.replace(".", "_"))
    module.__file__ = original.origin
    patches = [patch.object(p, c.__name__, c) for c in STAND_INS for p in PACKAGES if hasattr(p, c.__name__)]
    for each in patches:
        each.start()
    try:
        exec(compile(Path(original.origin).read_text(), original.origin, "exec"), vars(module))
        module.pytest = Wordless()
    finally:
        for each in patches:
            each.stop()
    return module


PACKAGES = (linear_model, neural_network, discriminant_analysis, naive_bayes)


def names_in(code):
    """Names that a function's code refers to, with those of functions inside it."""
    inner = (names_in(part) for part in code.co_consts if isinstance(part, types.CodeType))
    return set(code.co_names).union(*inner)


def reaches(function, seen):
    """Whether a stand-in is among what a test function, or a helper of its module, refers to."""
    seen.add(function)
    known = [function.__globals__.get(name) for name in names_in(function.__code__)]
    helpers = [f for f in known if isinstance(f, types.FunctionType) and f.__globals__ is function.__globals__]
    return any(map(is_ours, known)) or any(reaches(helper, seen) for helper in helpers if helper not in seen)


def is_ours(value):
    if isinstance(value, list | tuple | dict | ParameterSet):
        return any(map(is_ours, value.values() if isinstance(value, dict) else value))
    return isinstance(value, StandIn) or isinstance(value, type) and issubclass(value, StandIn)


def prepared(name, test):
    """The test, skipped where it uses none of our classes or is known to be about something else."""
    if name in OTHERS or "array_api" in name:
        return pytest.mark.skip(OTHERS.get(name, "array_api_dispatch"))(test)
    direct = reaches(inspect.unwrap(test), set())

    @functools.wraps(test)
    def run(*args, **fixtures):
        used.clear()
        if not direct and not is_ours(fixtures):
            pytest.skip(NOT_OURS)
        test(*args, **fixtures)
        if not used:
            pytest.skip(NOT_OURS)

    return run


for _file in FILES:
    _module = load(_file)
    for _key, _value in list(vars(_module).items()):
        if _key.startswith("test_") and callable(_value):
            _name = f"{_file.rpartition('.')[2]}__{_key}"
            globals()[_name] = prepared(_name, _value)
        elif hasattr(_value, "_fixture_function"):
            globals()[_key] = _value
