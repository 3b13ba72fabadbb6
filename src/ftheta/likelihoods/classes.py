"""Likelihoods of classes: two classes or several labels, each on or off, and one of K classes.

    Bernoulli:     p(y = 1 | z) = σ(z) = 1 / (1 + e⁻ᶻ),       -log p(y | z) = y softplus(-z) + (1 - y) softplus(z)
    Categorical:   p(y = k | z) = softmax(z)ₖ = e^{zₖ} / Σⱼ e^{zⱼ},       -log p(y | z) = log Σⱼ e^{zⱼ} - z_y

Never log(σ(z)): at z = -1000 that is log 0, while the true value is -1000; nor log(softmax(z)). Where y is known
by its probabilities q only (mixed or smoothed labels), the loss is its mean: -Σₖ qₖ log p(y = k | z). All of the
difference is summed over rows, not its first half; adding a constant to all logits changes nothing. Softmax is not
elementwise: its Jacobian diag(p) - ppᵀ is full, and is also the curvature.

Shapes: B rows, L labels, raw (B, 1) for y (B,), raw (B, L) for y (B, L); K classes, raw (B, ..., K), y (B, ...) class
indices or (B, ..., K) probabilities.
"""

import torch
import torch.distributions
import torch.nn.functional as F
from torch import Tensor

from ..data.specs import TargetSpec
from ..errors import InputError
from ..formulas.stable import softplus
from ._base import Likelihood


class Bernoulli(Likelihood):
    """y is 1 with probability σ(raw).

    `nll` has full relative precision; the fused sum of `total` is exact to the rounding error of z, which is what
    training needs.

    Example:
        >>> Bernoulli().nll(torch.tensor([[0.0], [2.0], [-1.0]]), torch.tensor([1.0, 1.0, 0.0]))
        tensor([0.6931, 0.1269, 0.3133])
    """

    support = "binary"
    standardize = False

    def law(self, *raw: Tensor) -> torch.distributions.Bernoulli:
        return torch.distributions.Bernoulli(logits=raw[0])

    def terms(self, raw: Tensor, y: Tensor) -> Tensor:
        return y * softplus(-raw) + (1 - y) * softplus(raw)

    def total(self, raw: Tensor, y: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(raw, self._aligned(raw, y), reduction="sum")

    def probabilities(self, raw: Tensor) -> Tensor:
        """One target: p of both classes, (B, 1) -> (B, 2). Several labels: p of each being on, (B, L) -> (B, L)."""
        return torch.cat((-raw, raw), -1).sigmoid() if raw.shape[-1] == 1 else raw.sigmoid()

    def log_probabilities(self, raw: Tensor) -> Tensor:
        """Logarithms of `probabilities`, right where those underflow."""
        return -softplus(torch.cat((raw, -raw), -1)) if raw.shape[-1] == 1 else -softplus(-raw)

    def mode(self, raw: Tensor) -> Tensor:
        return (self._numbers(raw)[0] > 0).long()

    def curvature(self, raw: Tensor) -> Tensor:
        return (raw.sigmoid() * (-raw).sigmoid()).diag_embed()  # p (1 - p)


class Categorical(Likelihood):
    """y is class k with probability softmax(raw)ₖ.

    Example:
        >>> Categorical().nll(torch.tensor([[2.0, 1.0, 0.1]]), torch.tensor([0]))
        tensor([0.4170])
    """

    support = "category"
    standardize = False

    def n_raw(self, y: TargetSpec) -> int:
        return y.n

    def nll(self, raw: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(*_flat(raw, y), reduction="none").view(raw.shape[:-1])

    def total(self, raw: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(*_flat(raw, y), reduction="sum")

    def distribution(self, raw: Tensor) -> torch.distributions.Categorical:
        return torch.distributions.Categorical(logits=raw)

    def probabilities(self, raw: Tensor) -> Tensor:
        """A point of the (K - 1)-simplex for each row: (B, K) -> (B, K)."""
        return raw.softmax(-1)

    def log_probabilities(self, raw: Tensor) -> Tensor:
        """Logarithms of `probabilities`, right where those underflow."""
        return raw.log_softmax(-1)

    @staticmethod
    def logits(probabilities: Tensor) -> Tensor:
        """log p, the raw outputs that give these probabilities; an output bias set so starts at the class shares.

        Example:
            >>> Categorical.logits(torch.tensor([0.5, 0.25, 0.25])).softmax(-1)
            tensor([0.5000, 0.2500, 0.2500])
        """
        sums = probabilities.sum(-1)
        if (probabilities < 0).any() or not torch.allclose(sums, torch.ones_like(sums), rtol=0, atol=1e-5):
            what = f"Probabilities must be non-negative and sum to 1; got sums {sums.tolist()},"
            raise InputError(f"{what} least value {probabilities.min().item():g}. Divide each row by its sum.")
        return probabilities.log()

    def mode(self, raw: Tensor) -> Tensor:
        return raw.argmax(-1)

    def curvature(self, raw: Tensor) -> Tensor:
        p = raw.softmax(-1)
        return p.diag_embed() - p.unsqueeze(-1) * p.unsqueeze(-2)  # (B, K, K)


def _flat(raw: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """All leading axes as rows: raw (N, K), and y (N,) indices or (N, K) probabilities."""
    if y.ndim < raw.ndim:
        if raw.ndim > 2 and raw.stride(-1) > 1:  # the order in memory, in which softmax is fast
            return raw.movedim(-1, 1), y
        return (raw.flatten(0, -2), y.flatten()) if raw.ndim > 2 else (raw, y)
    if y.shape != raw.shape or not y.is_floating_point():
        what = f"y has shape {tuple(y.shape)} and {y.dtype} for raw outputs {tuple(raw.shape)}:"
        rest = f"pass class indices of shape {tuple(raw.shape[:-1])}, or probabilities of all classes"
        raise InputError(f"{what} {rest} as floats of the shape of raw.")
    return raw.flatten(0, -2), y.flatten(0, -2).to(raw.dtype)
