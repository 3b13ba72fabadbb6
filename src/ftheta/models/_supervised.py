"""Neural classifiers and regressors: targets encoded on the way in, answers decoded on the way out.

    classify:  y -> class index,         p(k | x) from raw outputs
    regress:   y -> (y - m) / s,         answers back in the units of y

Shapes: n rows, K classes, L labels, T targets.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn
from torch.distributions import AffineTransform, Distribution, Independent, Laplace, Normal, TransformedDistribution

from .. import check, likelihoods
from ..data import TargetSpec
from ..errors import InputError
from ..likelihoods import Likelihood
from ..train import Objective, Supervised
from ._neural import NeuralEstimator
from ._rows import Arrays, class_weights

__all__ = ["NeuralClassifier", "NeuralRegressor", "NeuralSupervised", "encode_labels", "learn_classes", "warn_unseen"]


def learn_classes(name: str, y: np.ndarray, classes: Any = None) -> tuple[np.ndarray, TargetSpec]:
    """The classes of y and the task they make; several columns of 0 and 1 are labels."""
    kind = type_of_target(y, input_name="y", raise_unknown=True)
    if kind.startswith("continuous") or kind == "multiclass-multioutput":
        example = np.ravel(y)[0]
        raise InputError(
            f"Unknown label type: {kind} (e.g. {example}). Use a regressor, or turn y into classes with "
            "KBinsDiscretizer."
        )
    if kind == "multilabel-indicator":
        return np.arange(y.shape[1]), TargetSpec("multilabel", y.shape[1])
    found = np.unique(y if classes is None else np.asarray(classes))
    if len(found) < 2:
        raise InputError(
            f"y has 1 class ({found.tolist()[0]!r}, {len(y)} rows); {name} needs at least 2 classes. Check the label "
            "column or the split (use stratify=y)."
        )
    return found, TargetSpec("binary") if len(found) == 2 else TargetSpec("multiclass", len(found))


def encode_labels(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Labels as indices into `classes`; an unknown label is named."""
    index = np.searchsorted(classes, y)
    np.minimum(index, len(classes) - 1, out=index)
    unseen = classes[index] != y
    if unseen.any():
        raise InputError(
            f"y has class {y[unseen].tolist()[0]!r} never seen before (classes_: {', '.join(map(str, classes[:8]))}). "
            "Pass classes= or fit anew."
        )
    return index.astype(np.int64, copy=False)


def warn_unseen(y: Any, classes: np.ndarray) -> None:
    """Warn of a class that fit never saw: no answer can be right there."""
    unseen = set(np.ravel(check.plain(y)).tolist()) - set(classes.tolist())
    if unseen:
        known = ", ".join(map(str, classes[:8]))
        warnings.warn(
            f"y has class {min(unseen, key=str)!r} never seen in fit (classes_: {known}). It counts as wrong; refit "
            "to include it.",
            stacklevel=3,
        )


@dataclass(kw_only=True, eq=False, repr=False)
class NeuralSupervised(NeuralEstimator):
    """A module whose raw outputs are the parameters of `likelihood_`."""

    @abstractmethod
    def make_likelihood(self, y: TargetSpec) -> Likelihood:
        """The likelihood of y; kept as `likelihood_`, and saved with `module_`."""

    def _make_parts(self) -> None:
        super()._make_parts()
        self.likelihood_: Any = self.make_likelihood(self.target_)

    def _raw(self, x: Tensor) -> Tensor:
        return self.module_(x)

    def objective(self, module: nn.Module, y: TargetSpec) -> Objective:
        """Negative log-likelihood of y."""
        return Supervised(module, self.likelihood_)


@dataclass(kw_only=True, eq=False, repr=False)
class NeuralClassifier(ClassifierMixin, NeuralSupervised):
    """A net whose raw outputs are the parameters of a Bernoulli or categorical likelihood.

    Args:
        class_weight: Weights of the classes, or "balanced".
    """

    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def make_likelihood(self, y: TargetSpec) -> Likelihood:
        """The likelihood of the task; kept as `likelihood_`."""
        return likelihoods.for_task(y)

    def _learn_target(self, y: Any, n: int, classes: Any) -> TargetSpec:
        y = check.target(type(self).__name__, y, n, numeric=False, columns=True)
        self.classes_, spec = learn_classes(type(self).__name__, y, classes)
        return spec

    def _encode_target(self, y: Any, n: int) -> np.ndarray:
        multilabel = self.target_.kind == "multilabel"
        y = check.target(type(self).__name__, y, n, numeric=False, columns=multilabel, quiet=True)
        if multilabel:
            if y.shape[1:] != (self.target_.n,) or not np.isin(y, (0, 1)).all():
                raise InputError(f"y must hold 0 or 1 for each of {self.target_.n} labels; got shape {y.shape}.")
            return np.asarray(y, dtype=self.dtype)
        index = encode_labels(y, self.classes_)
        return index.astype(self.dtype) if self.target_.kind == "binary" else index

    def _finish_rows(self, rows: Arrays, *, learn: bool, weigh: bool = True) -> Arrays:
        if self.class_weight is None or rows.y is None or not weigh:
            return rows
        if self.target_.kind == "multilabel":
            raise InputError("class_weight is for one label a row; with several labels weigh rows by sample_weight.")
        index = rows.y.astype(np.int64)
        if learn:
            counts = np.bincount(index, weights=rows.weight, minlength=len(self.classes_))
            self.class_weight_ = class_weights(self.class_weight, self.classes_, counts)
        weight = self.class_weight_[index] * (1.0 if rows.weight is None else rows.weight)
        return rows._replace(weight=weight).without_zeros()

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The most probable class of each row: (n,); for several labels 0 or 1 each: (n, L)."""
        index = self._apply(lambda x: self.likelihood_.mode(self._raw(x)), X).astype(np.int64)
        return index if self.target_.kind == "multilabel" else self.classes_[index]

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Raw outputs of the net: (n,) for two classes, else (n, K) or (n, L)."""
        raw = self._apply(self._raw, X)
        if self.target_.kind == "binary":
            return raw[:, 0]
        return raw[:, 1] - raw[:, 0] if self.target_ == ("multiclass", 2) else raw

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """The probability of each class: (n, K); for several labels of each label: (n, L)."""
        return self._apply(lambda x: self.likelihood_.probabilities(self._raw(x)), X)

    def predict_log_proba(self, X: ArrayLike) -> np.ndarray:
        """Logarithms of `predict_proba`, also where those are too small for a float."""
        p, logs = self.predict_proba(X), self._apply(lambda x: self.likelihood_.log_probabilities(self._raw(x)), X)
        return np.log(p, out=logs, where=p > 0)

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy; a class never seen in fit counts as wrong, with a warning."""
        check_is_fitted(self)
        if self.target_.kind != "multilabel":
            warn_unseen(y, self.classes_)
        return float(super().score(X, check.plain(y), check.plain(sample_weight)))


@dataclass(kw_only=True, eq=False, repr=False)
class NeuralRegressor(RegressorMixin, NeuralSupervised):
    """A net whose raw outputs are the parameters of a density of y; y is standardised inside.

    Args:
        likelihood: gaussian, gaussian-learned, gaussian-heteroscedastic, laplace, poisson, or an instance.
    """

    likelihood: str | Likelihood = "gaussian"

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def make_likelihood(self, y: TargetSpec) -> Likelihood:
        """The likelihood by name; kept as `likelihood_`."""
        given = self.likelihood
        return likelihoods.by_name(given, y) if isinstance(given, str) else deepcopy(given)

    def _learn_target(self, y: Any, n: int, classes: Any) -> TargetSpec:
        y = check.target(type(self).__name__, y, n, numeric=True, columns=True)
        return TargetSpec("regression", y.shape[1] if y.ndim == 2 else 0)

    def _encode_target(self, y: Any, n: int) -> np.ndarray:
        y = check.target(type(self).__name__, y, n, numeric=True, columns=True)
        if (y.shape[1] if y.ndim == 2 else 0) != self.target_.n:
            raise InputError(
                f"y has shape {y.shape}, but fit saw {self.target_.n or 'one'} target(s). Pass the same ones."
            )
        if (most := np.abs(y).max()) > np.finfo(self.dtype).max / 1000:
            raise InputError(
                f"y holds {most:g}, which is too large for {self.dtype}. Rescale y or use dtype='float64'."
            )
        return y

    def _finish_rows(self, rows: Arrays, *, learn: bool, weigh: bool = True) -> Arrays:
        if rows.y is None:
            return rows
        if learn:
            self.y_mean_, self.y_scale_ = self._units(rows.y, rows.weight)
        return rows._replace(y=(rows.y - self.y_mean_) / self.y_scale_)

    def _units(self, y: np.ndarray, weight: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation of y; zero and one where the likelihood must see y itself."""
        like = self.make_likelihood(self.target_)
        if like.support == "count":
            _check_counts(y)
        if not like.standardise:
            return np.zeros(y.shape[1:]), np.ones(y.shape[1:])
        _, power = np.frexp(np.abs(y).max(axis=0))
        u = np.ldexp(y, -power)  # exactly y / 2^power in [-1, 1]: squares neither overflow nor vanish
        mean = np.average(u, axis=0, weights=weight)
        scale = np.sqrt(np.average((u - mean) ** 2, axis=0, weights=weight))
        kept = scale > 1e-12 * np.abs(u).max(axis=0)
        return np.asarray(np.ldexp(mean, power)), np.where(kept, np.ldexp(scale, power), 1.0)

    def _in_units(self, standard: np.ndarray) -> np.ndarray:
        """Answers in the units of y; several targets come as float64."""
        dtype = np.float64 if standard.ndim > 1 else self.dtype
        return (standard.astype(np.float64) * self.y_scale_ + self.y_mean_).astype(dtype)

    def _mode(self, raw: Tensor) -> Tensor:
        mode = self.likelihood_.mode(raw)
        return mode if self.target_.n else mode.reshape(len(raw))

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The mode of y for each row: (n,) or (n, T)."""
        return self._in_units(self._apply(lambda x: self._mode(self._raw(x)), X))

    def predict_interval(self, X: ArrayLike, level: float = 0.95) -> np.ndarray:
        """Central interval that holds y with this probability: (n, 2) or (n, T, 2)."""
        check_is_fitted(self)
        if not 0 < level < 1:
            raise InputError(f"level={level}; it must lie between 0 and 1, e.g. 0.95.")
        if isinstance(self.likelihood_, likelihoods.Gaussian | likelihoods.Laplace):
            raise InputError(
                f"likelihood={self.likelihood!r} has a fixed scale, so its interval would say nothing of the data. "
                "Fit with likelihood='gaussian-learned' or 'gaussian-heteroscedastic'."
            )

        def ends(x: Tensor) -> Tensor:
            found = self.likelihood_.interval(self._raw(x), level)
            return torch.stack(found or (), -1)

        both = self._apply(ends, X)  # (n, [T,] 2)
        both = both if self.target_.n else both.reshape(len(both), 2)
        return (both.astype(np.float64) * self.y_scale_[..., None] + self.y_mean_[..., None]).astype(self.dtype)

    def predict_distribution(self, X: ArrayLike) -> Distribution:
        """The density of y for each row, in the units of y."""
        batch = self.batch(X)
        with torch.no_grad():
            found = self.likelihood_.distribution(self.module_(batch.x))
        if not self.likelihood_.standardise:
            return found
        mean, scale = batch.x.new_tensor(self.y_mean_), batch.x.new_tensor(self.y_scale_)
        law: Any = found.base_dist if isinstance(found, Independent) else found
        if not isinstance(law, Normal | Laplace):
            return TransformedDistribution(found, AffineTransform(mean, scale, event_dim=int(law is not found)))
        moved = type(law)(law.loc * scale + mean, law.scale * scale)
        return moved if law is found else Independent(moved, 1)

    def evaluate(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> dict[str, float]:
        """Negative log-density of y, in its own units."""
        found = super().evaluate(X, y, sample_weight)
        return {**found, "loss": found["loss"] + float(np.sum(np.log(self.y_scale_)))}


def _check_counts(y: np.ndarray) -> None:
    bad = y[(y < 0) | (y != np.floor(y))]
    if bad.size:
        raise InputError(
            f"likelihood='poisson' is for counts 0, 1, 2, ..., but y holds {bad.flat[0]:g}. Use likelihood='gaussian'."
        )
