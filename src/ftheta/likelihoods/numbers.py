"""Likelihoods of numbers: Gaussian noise of fixed, learned or input-dependent variance, Laplace noise, counts.

    Gaussian:   -log p(y | m, v) = (y - m)² / (2v) + ½ log(2πv)
    Laplace:    -log p(y | m) = |y - m| / b + log(2b)
    Poisson:    -log p(y | z) = λ - y log λ + log y!,      λ = softplus(z)

With v fixed the minimum is least squares; a learned v ends at the mean squared residual; v = v(x) depends on the input.
The minimum of the Laplace likelihood is the conditional median: robust against outliers; its derivative jumps from -1/b
to 1/b where the residual passes 0 (and is 0 at 0). The rate of a Poisson is softplus and not exp of the raw output: raw
outputs of 1e4 are met in training, and e^1e4 overflows. log λ is taken of z directly, since λ rounds to 0 long before
log λ stops being a number.

Shapes: B rows, D targets, raw (B, D), or (B, 2D) = (means, scale numbers) where the variance depends on the input.
"""

import math
from typing import ClassVar, Self

import torch
import torch.distributions
import torch.nn.functional as F
from scipy import stats
from torch import Tensor, nn
from torch.distributions import Normal

from ..catalog import nearest
from ..data.specs import TargetSpec
from ..errors import InputError
from ..formulas.stable import log_softplus, softplus
from ._base import Likelihood
from .classes import Bernoulli, Categorical

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
VARIANCE_FLOOR = 1e-6  # least variance that is learned: where residuals vanish, the likelihood has no maximum


class _FixedScale(Likelihood):
    """y = raw + noise of a fixed scale."""

    at_0: ClassVar[float]  # -log p of a residual of 0 at scale 1

    def __init__(self, scale: float = 1.0) -> None:
        super().__init__()
        if not 0 < scale < math.inf:
            name = type(self).__name__
            raise InputError(f"The 'scale' parameter of {name} must be a float in (0, inf). Got {scale!r} instead.")
        self.scale, self.constant = scale, self.at_0 + math.log(scale)  # the constant is of one target

    def curvature(self, raw: Tensor) -> Tensor:
        return torch.full_like(raw, self.scale**-2).diag_embed()


class Gaussian(_FixedScale):
    """y = raw + noise of a fixed standard deviation.

    The gradient of the nll in raw is (raw - y) / scale²: that of half the squared error at scale 1, of the squared
    error at scale √½.

    Args:
        scale: Standard deviation σ.

    Example:
        >>> Gaussian().total(torch.tensor([[1.5], [1.5], [3.0]]), torch.tensor([1.0, 2.0, 4.0]))
        tensor(3.5068)
    """

    at_0 = HALF_LOG_2PI

    def law(self, *raw: Tensor) -> Normal:
        return Normal(raw[0], self.scale)

    def terms(self, raw: Tensor, y: Tensor) -> Tensor:
        return (raw - y).square() / (2 * self.scale**2) + self.constant

    def total(self, raw: Tensor, y: Tensor) -> Tensor:
        y = self._aligned(raw, y)
        half = F.huber_loss(raw, y, reduction="sum", delta=math.inf)  # Σ (raw - y)² / 2 in one kernel
        return (half if self.scale == 1 else half / self.scale**2) + raw.numel() * self.constant

    def residual(self, raw: Tensor, y: Tensor) -> Tensor:
        return (raw - self._aligned(raw, y)) / self.scale


class LearnedGaussian(Likelihood):
    """y = raw + noise of one learned variance for each target; the best one is the mean squared residual.

    Args:
        n: Number of targets.
    """

    def __init__(self, n: int = 1) -> None:
        super().__init__()
        self.log_var = nn.Parameter(torch.zeros(n))
        self.log_floor: Tensor
        self.register_buffer("log_floor", torch.tensor(math.log(VARIANCE_FLOOR)), persistent=False)

    @classmethod
    def of(cls, y: TargetSpec) -> Self:
        return cls(y.n)

    @property
    def variance(self) -> Tensor:
        """σ² of each target: exp(log_var) + floor."""
        return self._log_variance().exp()

    def law(self, *raw: Tensor) -> Normal:
        return Normal(raw[0], (0.5 * self._log_variance()).exp())

    def terms(self, raw: Tensor, y: Tensor) -> Tensor:
        half = 0.5 * self._log_variance()
        return ((raw - y) * (-half).exp()).square() / 2 + half + HALF_LOG_2PI

    def curvature(self, raw: Tensor) -> Tensor:
        return (1 / self.variance.detach()).expand_as(raw).diag_embed()

    def _log_variance(self) -> Tensor:
        return torch.logaddexp(self.log_var, self.log_floor)


class HeteroscedasticGaussian(Likelihood):
    """y = m + noise of variance softplus(s) + floor, raw = (m, s): the noise depends on the input."""

    per_target = 2

    def law(self, *raw: Tensor) -> Normal:
        return Normal(raw[0], (softplus(raw[1]) + VARIANCE_FLOOR).sqrt())

    def terms(self, raw: Tensor, y: Tensor) -> Tensor:
        mean, s = self._blocks(raw)
        variance = softplus(s) + VARIANCE_FLOOR
        return (((y - mean) / variance.sqrt()).square() + variance.log()) / 2 + HALF_LOG_2PI

    def curvature(self, raw: Tensor) -> Tensor:
        _, s = self._blocks(raw)
        variance = softplus(s) + VARIANCE_FLOOR
        in_scale = (s.sigmoid() / variance).square() / 2  # (dv/ds)² / (2v²)
        return torch.cat((1 / variance, in_scale), -1).diag_embed()  # (B, 2D, 2D)


class Laplace(_FixedScale):
    """y = raw + Laplace noise of a fixed scale.

    Args:
        scale: Mean absolute deviation b.

    Example:
        >>> Laplace().nll(torch.tensor([[1.0]]), torch.tensor([3.0]))
        tensor([2.6931])
    """

    at_0 = math.log(2)

    def law(self, *raw: Tensor) -> torch.distributions.Laplace:
        return torch.distributions.Laplace(raw[0], self.scale)

    def terms(self, raw: Tensor, y: Tensor) -> Tensor:
        return (raw - y).abs() / self.scale + self.constant

    def total(self, raw: Tensor, y: Tensor) -> Tensor:
        off = F.l1_loss(raw, self._aligned(raw, y), reduction="sum")
        return (off if self.scale == 1 else off / self.scale) + raw.numel() * self.constant


class Poisson(Likelihood):
    """y counts events of rate softplus(raw).

    `mode` is the rate itself, the mean: floor(λ), the most likely count, is 0 for every λ < 1
    (`distribution(raw).mode` has it).

    Example:
        >>> Poisson().nll(torch.tensor([[-10000.0]]), torch.tensor([1.0]))
        tensor([10000.])
    """

    support = "count"
    standardize = False

    def law(self, *raw: Tensor) -> torch.distributions.Poisson:
        return torch.distributions.Poisson(softplus(raw[0]))

    def terms(self, raw: Tensor, y: Tensor) -> Tensor:
        return softplus(raw) - y * log_softplus(raw) + torch.lgamma(y + 1)

    def mode(self, raw: Tensor) -> Tensor:
        return softplus(self._numbers(raw)[0])

    def interval(self, raw: Tensor, level: float) -> tuple[Tensor, Tensor]:
        tails = self._tails(raw, level)
        rate = softplus(self._numbers(raw)[0]).detach()
        low, high = (torch.as_tensor(stats.poisson.ppf(q.item(), rate.cpu())).to(rate) for q in tails)
        return low, high

    def curvature(self, raw: Tensor) -> Tensor:
        log_slope = F.logsigmoid(raw)  # log dλ/dz
        return (2 * log_slope - log_softplus(raw)).exp().diag_embed()  # (dλ/dz)² / λ


TASKS = {"binary": Bernoulli, "multiclass": Categorical, "multilabel": Bernoulli, "regression": Gaussian}
NAMES: dict[str, type[Likelihood]] = {  # of a regression target
    "gaussian": Gaussian,
    "gaussian-learned": LearnedGaussian,
    "gaussian-heteroscedastic": HeteroscedasticGaussian,
    "laplace": Laplace,
    "poisson": Poisson,
}


def for_task(y: TargetSpec) -> Likelihood:
    """The usual likelihood of a task, from `TASKS`."""
    if y.kind not in TASKS:
        raise InputError(nearest("task", y.kind, TASKS))
    return TASKS[y.kind].of(y)


def by_name(name: str, y: TargetSpec) -> Likelihood:
    """A likelihood of a regression target by its name."""
    if name not in NAMES:
        raise InputError(nearest("likelihood", name, NAMES))
    return NAMES[name].of(y)
