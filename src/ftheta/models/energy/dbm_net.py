"""Deep Boltzmann machine: a stack of layers, connections between neighboring layers and none within a layer.

    p(x⁰ ... x^L) = exp(-E) / Z,     E = -Σ_k b_k·x^k - Σ_{k≥1} x^k' W_k x^{k-1},      x⁰ = v
    p(x^k_j = 1 | rest) = σ(b_k + W_k x^{k-1} + W'_{k+1} x^{k+1})_j                  given both neighbors

Given the even layers the odd ones are independent, and the other way round: the stack is a restricted machine between
its even and odd layers (`flat`), with zeros where layers are not neighbors. The posterior of the hidden layers has no
closed form; mean field takes the closest q(h) = Π_j μ_j^h_j (1 - μ_j)^(1 - h_j):

    μ_k = σ(b_k + W_k μ_{k-1} + W'_{k+1} μ_{k+1}),   μ_0 = v;      log p(v) ≥ -E(v, μ) + H(μ) - log Z

A deep belief net from the same weights is directed below its top pair of layers: p(x^{L-1}, x^L) is the restricted
machine of W_L alone, and each layer below is drawn from the one above only, σ(b_{k-1} + W'_k x^k).

Shapes: B rows, layer k of n_k units, x^k (B, n_k), W_k (n_k, n_{k-1}), b_k (n_k,); states (B, Σ n_k), visibles first.
References: Salakhutdinov and Hinton, Deep Boltzmann Machines (2009); Hinton, Osindero and Teh, A Fast Learning
Algorithm for Deep Belief Nets (2006).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Generator, Tensor, nn

from ...draw import Draw
from ...errors import InputError
from .rbm_net import RBM, bernoulli

__all__ = ["DBM"]


class DBM(nn.Module):
    """Energies, mean field and Gibbs sampling of a deep Boltzmann machine with binary units.

    `weights[k - 1]` is W_k, `biases[k]` is b_k.

    Args:
        n_visible: Visible units.
        hidden: Units of each hidden layer, the lowest first.
        std: Standard deviation of the initial weights; biases start at 0.

    Example:
        >>> machine = DBM(4, (3, 2))
        >>> [tuple(w.shape) for w in machine.weights], [tuple(m.shape) for m in machine.mean_field(torch.ones(5, 4))]
        ([(3, 4), (2, 3)], [(5, 3), (5, 2)])
    """

    def __init__(self, n_visible: int, hidden: Sequence[int] = (500, 500), *, std: float = 0.01) -> None:
        super().__init__()
        self.sizes, self.n_visible = (n_visible, *hidden), n_visible
        if not hidden or min(self.sizes) < 1:
            raise InputError(
                f"A deep machine needs a unit in each layer; got n_visible={n_visible}, hidden={tuple(hidden)}. "
                "Pass 1 or more for each, e.g. hidden=(500, 500)."
            )
        self.weights = nn.ParameterList(torch.randn(b, a) * std for a, b in pairwise(self.sizes))
        self.biases = nn.ParameterList(torch.zeros(n) for n in self.sizes)

    def extra_repr(self) -> str:
        return ", ".join(map(str, self.sizes))

    # ---- energies

    def energy(self, state: Tensor) -> Tensor:
        """E of each row; linear in each layer, so that means of independent layers give the mean energy: (B,)."""
        layers = state.split(self.sizes, 1)
        energy = -layers[0] @ self.biases[0]
        for below, x, w, b in zip(layers, layers[1:], self.weights, self.biases[1:], strict=False):
            energy = energy - x @ b - ((x @ w) * below).sum(-1)
        return energy

    def bound(self, v: Tensor, means: Sequence[Tensor]) -> Tensor:
        """-E(v, μ) + H(μ), at most log Σ_h exp(-E(v, h)): (B,). Minus log Z it is a bound of log p(v)."""
        entropy = sum((torch.special.entr(m) + torch.special.entr(1 - m)).sum(-1) for m in means)
        return entropy - self.energy(torch.cat([v, *means], 1))

    # ---- conditionals

    def logits(self, layers: Sequence[Tensor], k: int) -> Tensor:
        """Log-odds of layer k given its neighbors: (B, n_k)."""
        below = layers[k - 1] @ self.weights[k - 1].T if k > 0 else 0.0
        return self.biases[k] + below + self._from_above(layers, k)

    def _from_above(self, layers: Sequence[Tensor], k: int) -> Tensor | float:
        return layers[k + 1] @ self.weights[k] if k < len(self.weights) else 0.0

    def up(self, v: Tensor) -> list[Tensor]:
        """Means of the hidden layers in one pass upwards; the input from above is replaced by that from below."""
        means = [v]
        for k, w in enumerate(self.weights, start=1):
            twice = 1 if k == len(self.weights) else 2
            means.append((self.biases[k] + twice * (means[-1] @ w.T)).sigmoid())
        return means[1:]

    def forward(self, v: Tensor) -> Tensor:
        """Means of the top layer given v, the features: (B, V) -> (B, n_L)."""
        return self.mean_field(v)[-1]

    @torch.no_grad()
    def mean_field(self, v: Tensor, steps: int = 10) -> list[Tensor]:
        """Means μ of the hidden layers given v: from one pass upwards, `steps` rounds of odd layers, then even ones.

        Each layer is set to its best value given the others, so that no round lowers the bound.
        """
        layers = [v, *self.up(v)]
        below = self.biases[1] + v @ self.weights[0].T  # (B, n_1): the same in every round
        for _ in range(steps):
            for k in (*range(1, len(layers), 2), *range(2, len(layers), 2)):
                layers[k] = (below + self._from_above(layers, 1) if k == 1 else self.logits(layers, k)).sigmoid()
        return layers[1:]

    # ---- sampling

    @torch.no_grad()
    def start(self, v: Tensor, generator: Generator | None = None) -> Tensor:
        """A state with these visibles, the hidden layers drawn in one pass upwards: (B, V) -> (B, Σ n_k)."""
        return torch.cat([v, *(bernoulli(m, generator) for m in self.up(v))], 1)

    @torch.no_grad()
    def sweep(
        self, state: Tensor, steps: int = 1, generator: Generator | None = None, *, clamp: Tensor | None = None
    ) -> Tensor:
        """States after sweeps, odd layers given the even ones, then even ones given the odd: (B, Σ n_k).

        Visibles stay as they are where clamp, (V,) or (B, V), is True.
        """
        now = list(state.split(self.sizes, 1))
        v = now[0]
        for _ in range(steps):
            for k in (*range(1, len(now), 2), *range(0, len(now), 2)):
                now[k] = bernoulli(self.logits(now, k).sigmoid_(), generator)
            if clamp is not None:
                now[0] = torch.where(clamp, v, now[0])
        return torch.cat(now, 1)

    @torch.no_grad()
    def belief_net(self, top: Tensor, steps: int = 1, generator: Generator | None = None) -> Tensor:
        """States of a deep belief net with these weights: Gibbs sweeps of the top pair, then one pass downwards.

        Args:
            top: Where the top layer starts: (B, n_L).
            steps: Sweeps of the top pair, at least one.
            generator: None is torch's global one.
        """
        last, layers = self.weights[-1], [top]
        for _ in range(max(steps, 1)):
            below = bernoulli((self.biases[-2] + layers[-1] @ last).sigmoid_(), generator)
            layers = [below, bernoulli((self.biases[-1] + below @ last.T).sigmoid_(), generator)]
        for k in reversed(range(len(self.weights) - 1)):
            down = (self.biases[k] + layers[0] @ self.weights[k]).sigmoid_()  # nothing from below
            layers.insert(0, bernoulli(down, generator))
        return torch.cat(layers, 1)

    # ---- likelihood

    def flat(self) -> RBM:
        """The same machine as an RBM: even layers, side by side, are its visibles, odd ones its hidden units."""
        even, odd = range(0, len(self.sizes), 2), range(1, len(self.sizes), 2)
        blocks = [[self._block(i, j) for j in even] for i in odd]
        with Draw(0).scope():  # its initial weights are replaced
            machine = RBM(sum(self.sizes[k] for k in even), sum(self.sizes[k] for k in odd))
        machine.weight = nn.Parameter(torch.cat([torch.cat(row, 1) for row in blocks]).detach())
        machine.visible_bias = nn.Parameter(torch.cat([self.biases[k] for k in even]).detach())
        machine.hidden_bias = nn.Parameter(torch.cat([self.biases[k] for k in odd]).detach())
        return machine

    def _block(self, i: int, j: int) -> Tensor:
        """Weights from layer j to layer i, zero where they are not neighbors: (n_i, n_j)."""
        if j == i - 1:
            return self.weights[j]
        return self.weights[i].T if j == i + 1 else self.weights[0].new_zeros(self.sizes[i], self.sizes[j])
