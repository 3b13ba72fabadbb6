"""Boltzmann machines by listing all their states: the truth that sampling is measured against.

    general machine    p(x) = exp(x'Wx/2 + b.x) / Z,           x in {0, 1}^N, W symmetric with zero diagonal
    restricted one     p(v, h) = exp(b.v + c.h + h'Wv) / Z,    no weights within a layer

    Z = Σ_v Σ_h e^{-E}  =  Σ_v e^{b.v} Π_j (1 + e^{c_j + W_j.v})  =  Σ_h e^{c.h} Π_i (1 + e^{b_i + (W'h)_i})

The joint sum has 2^(V + H) terms; either layer can be summed in closed form, so that 2^min(V, H) suffice.
The log-pseudo-likelihood Σ_i log P(v_i | v without v_i) needs no Z; it is not the log-likelihood, lies above or below
it, and its exponential does not add up to 1.

Shapes: V visible units, H hidden units; W (H, V), b (V,), c (H,); rows v (n, V). States are in the order of `states`.
Reference: Ackley, Hinton and Sejnowski, A learning algorithm for Boltzmann machines, Cognitive Science 9 (1985).
"""

from typing import Any, Literal, NamedTuple

import numpy as np

from ftheta.errors import InputError

__all__ = [
    "RBMGradient",
    "bipartite",
    "boltzmann_joint",
    "pseudo_likelihood",
    "rbm_gradient",
    "rbm_joint",
    "rbm_log_partition",
    "states",
]

MOST = 20  # units whose states are listed


class RBMGradient(NamedTuple):
    """Of the mean log-likelihood: W (H, V), b (V,), c (H,)."""

    weight: np.ndarray
    visible_bias: np.ndarray
    hidden_bias: np.ndarray


def states(n: int) -> np.ndarray:
    """All 2ⁿ rows of bits, counting upwards, the last bit fastest: (2ⁿ, n).

    Example:
        >>> states(2).tolist()
        [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    """
    if not 0 <= n <= MOST:
        raise InputError(f"{n} units have 2^{n} states; at most {MOST} units are listed. Use a sampling method.")
    return (np.arange(2**n)[:, None] >> np.arange(n)[::-1] & 1).astype(np.float64)


def rbm_joint(W: Any, b: Any, c: Any) -> np.ndarray:
    """p(v, h) of all states: (2^V, 2^H).

    Example:
        >>> rbm_joint([[0.0]], [0.0], [0.0]).tolist()
        [[0.25, 0.25], [0.25, 0.25]]
    """
    W, b, c = _parts(W, b, c)
    states(len(b) + len(c))  # as many are listed
    v, h = states(len(b)), states(len(c))
    return _normalised((v @ b)[:, None] + h @ c + v @ W.T @ h.T)


def rbm_log_partition(W: Any, b: Any, c: Any, over: Literal["joint", "visible", "hidden"] = "joint") -> float:
    """log Z, summed over the states of both layers or of one of them, the other in closed form."""
    W, b, c = _parts(W, b, c)
    if over == "joint":
        states(len(b) + len(c))
        v, h = states(len(b)), states(len(c))
        terms = (v @ b)[:, None] + h @ c + v @ W.T @ h.T
    elif over == "visible":
        v = states(len(b))
        terms = v @ b + np.logaddexp(0, c + v @ W.T).sum(1)
    else:
        h = states(len(c))
        terms = h @ c + np.logaddexp(0, b + h @ W).sum(1)
    return float(np.logaddexp.reduce(terms, axis=None))


def rbm_gradient(v: Any, W: Any, b: Any, c: Any) -> RBMGradient:
    """Gradient of the mean log-likelihood of rows v (n, V): what the data show minus what the machine expects."""
    W, b, c = _parts(W, b, c)
    v, joint, every = np.asarray(v, dtype=np.float64), rbm_joint(W, b, c), states(len(b))
    seen = 1 / (1 + np.exp(-(c + v @ W.T)))  # (n, H): P(h = 1 | v)
    hidden = joint @ states(len(c))  # (2^V, H): p(v) E[h | v]
    return RBMGradient(
        seen.T @ v / len(v) - hidden.T @ every, v.mean(0) - joint.sum(1) @ every, seen.mean(0) - hidden.sum(0)
    )


def pseudo_likelihood(v: Any, W: Any, b: Any, c: Any) -> np.ndarray:
    """Σ_i log P(v_i | v without v_i) of rows of bits v (n, V), by the table of p(v): (n,)."""
    W, b, c = _parts(W, b, c)
    marginal, v = rbm_joint(W, b, c).sum(1), np.asarray(v, dtype=np.int64)
    place = 2 ** np.arange(len(b))[::-1]  # of each bit in a state's number
    here = v @ place
    there = here[:, None] + (1 - 2 * v) * place  # (n, V): the state with bit i turned
    return np.log(marginal[here, None] / (marginal[here, None] + marginal[there])).sum(1)


def boltzmann_joint(W: Any, b: Any) -> np.ndarray:
    """p(x) of all states of a general machine: (2^N,)."""
    W, b = np.asarray(W, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if W.shape != (len(b), len(b)) or not np.array_equal(W, W.T) or W.diagonal().any():
        raise InputError(
            f"W has shape {W.shape}; a Boltzmann machine of {len(b)} units has symmetric weights ({len(b)}, {len(b)}) "
            "with a diagonal of zeros."
        )
    x = states(len(b))
    return _normalised(((x @ W) * x).sum(1) / 2 + x @ b)


def bipartite(W: Any, n_visible: int) -> np.ndarray:
    """The weights between the layers (H, V) of a general machine whose first units are visible, if it is restricted."""
    W = np.asarray(W, dtype=np.float64)
    for layer, within in (("visible", W[:n_visible, :n_visible]), ("hidden", W[n_visible:, n_visible:])):
        if within.any():
            i, j = np.argwhere(within)[0]
            raise InputError(
                f"Visible and hidden units alone are joined in a restricted machine, but {layer} units {i} and {j} "
                f"have the weight {within[i, j]:g}. Set it to 0, or use BoltzmannMachine."
            )
    return W[n_visible:, :n_visible]


def _parts(W: Any, b: Any, c: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    W, b, c = (np.asarray(a, dtype=np.float64) for a in (W, b, c))
    if W.shape != (len(c), len(b)):
        raise InputError(
            f"W has shape {W.shape}; {len(c)} hidden and {len(b)} visible units have weights ({len(c)}, {len(b)}). "
            "Transpose it, or check the biases."
        )
    return W, b, c


def _normalised(exponents: np.ndarray) -> np.ndarray:
    return np.exp(exponents - np.logaddexp.reduce(exponents, axis=None))
