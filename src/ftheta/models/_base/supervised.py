"""Nets that classify and nets that predict numbers.

    classify:  p(k | x) from raw outputs;       regress:  a density of y from raw outputs, in the units of y

Shapes: n rows, K classes, L labels, T targets.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted
from torch import Tensor
from torch.distributions import AffineTransform, Distribution, Independent, Laplace, Normal, TransformedDistribution

from ... import likelihoods
from ...data.encode.columns import fences
from ...errors import InputError
from ...likelihoods import Likelihood
from ...tasks import Classify, Regress
from .neural import NeuralEstimator
from .plain import Classes, Scored
from .rows import Data


class NeuralClassifier(Classes, Scored, NeuralEstimator):
    """A net whose raw outputs are the parameters of a Bernoulli or categorical likelihood.

    Args:
        class_weight: Weights of the classes, or "balanced".
    """

    class_weight: Mapping[Any, float] | Literal["balanced"] | None = None

    clips: ClassVar[bool] = True

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def task(self) -> Classify:
        return Classify(self.class_weight, self.dtype)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row: (n,); for several labels 0 or 1 each: (n, L)."""
        return self.task().decode(self.apply(lambda x: self.likelihood_.mode(self.raw(x)), X), self.target_)

    def decision_function(self, X: Any) -> np.ndarray:
        """Raw outputs of the net: (n,) for two classes, else (n, K) or (n, L)."""
        raw = self.apply(self.raw, X)
        if self.target_.kind == "binary":
            return raw[:, 0]
        return raw[:, 1] - raw[:, 0] if self.target_[:2] == ("multiclass", 2) else raw

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class: (n, K); for several labels of each label: (n, L)."""
        return self.apply(lambda x: self.likelihood_.probabilities(self.raw(x)), X)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of `predict_proba`, also where those are too small for a float."""
        p, logs = self.predict_proba(X), self.apply(lambda x: self.likelihood_.log_probabilities(self.raw(x)), X)
        return np.log(p, out=logs, where=p > 0)


class NeuralRegressor(RegressorMixin, NeuralEstimator):
    """A net whose raw outputs are the parameters of a density of y; y is standardized inside.

    Args:
        likelihood: gaussian, gaussian-learned, gaussian-heteroscedastic, laplace, poisson, or an instance.
    """

    likelihood: str | Likelihood = "gaussian"

    clips: ClassVar[bool] = True

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def task(self) -> Regress:
        return Regress(self.likelihood, self.dtype)

    def watched(self, data: Data, held: Data) -> Data:
        """Standardized y clipped as numbers of a table are: one or two mistyped ones do not end training early."""
        ends = fences(data.y) if data.y.ndim == 1 and self.likelihood_.standardize else None
        return held if ends is None else held._replace(y=np.clip(held.y, *ends))

    def predict(self, X: Any) -> np.ndarray:
        """The mode of y for each row: (n,) or (n, T)."""
        return self.task().decode(self.apply(lambda x: self.likelihood_.mode(self.raw(x)), X), self.target_)

    def predict_interval(self, X: Any, level: float = 0.95) -> np.ndarray:
        """Central interval that holds y with this probability: (n, 2) or (n, T, 2)."""
        check_is_fitted(self)
        if not 0 < level < 1:
            raise InputError(f"level={level}; it must lie between 0 and 1, e.g. 0.95.")
        if isinstance(self.likelihood_, likelihoods.Gaussian | likelihoods.Laplace):
            what = f"likelihood={self.likelihood!r} has a fixed scale, so its interval would say nothing about the"
            raise InputError(f"{what} data. Fit with likelihood='gaussian-learned' or 'gaussian-heteroscedastic'.")

        def ends(x: Tensor) -> Tensor:
            return torch.stack(self.likelihood_.interval(self.raw(x), level) or (), -1)

        both = self.apply(ends, X)  # (n, [T,] 2)
        both = both if self.target_.n > 1 else both.reshape(len(both), 2)
        mean, scale = self._units()
        return (both.astype(np.float64) * scale[..., None] + mean[..., None]).astype(self.dtype)

    def predict_distribution(self, X: Any) -> Distribution:
        """The density of y for each row, in the units of y."""
        raw = torch.from_numpy(self.apply(self.raw, X))
        with torch.no_grad():
            found = self.likelihood_.cpu().distribution(raw)
            self.likelihood_.to(self._device)
        if not self.likelihood_.standardize:
            return found
        mean, scale = map(raw.new_tensor, self._units())
        law: Any = found.base_dist if isinstance(found, Independent) else found
        if not isinstance(law, Normal | Laplace):
            return TransformedDistribution(found, AffineTransform(mean, scale, event_dim=int(law is not found)))
        moved = type(law)(law.loc * scale + mean, law.scale * scale)
        return moved if law is found else Independent(moved, 1)

    def evaluate(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> dict[str, float]:
        """Negative log-density of y, in its own units."""
        found = super().evaluate(X, y, sample_weight)
        return {**found, "loss": found["loss"] + float(np.sum(np.log(self._units()[1])))}

    def _units(self) -> tuple[np.ndarray, np.ndarray]:
        return np.asarray(self.target_.facts["mean"]), np.asarray(self.target_.facts["scale"])
