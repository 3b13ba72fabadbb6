"""Boltzmann machines by listing all their states: the truth that sampling is measured against.

    general machine    p(x) = exp(x'Wx/2 + b.x) / Z,           x in {0, 1}^N, W symmetric with zero diagonal
    restricted one     p(v, h) = exp(b.v + c.h + h'Wv) / Z,    no weights within a layer

Shapes: V visible units, H hidden units; W (H, V), b (V,), c (H,); rows v (n, V). States are in the order of `states`.
"""

import numpy as np


def states(n):
    """All 2ⁿ rows of bits, counting upwards, the last bit fastest: (2ⁿ, n)."""
    return (np.arange(2**n)[:, None] >> np.arange(n)[::-1] & 1).astype(np.float64)


def boltzmann_joint(W, b):
    """p(x) of all states of a general machine: (2^N,)."""
    x = states(len(b))
    return _normalized(((x @ W) * x).sum(1) / 2 + x @ b)


def rbm_joint(W, b, c):
    """p(v, h) of all states: (2^V, 2^H)."""
    return _normalized(_exponents(W, b, c))


def rbm_log_partition(W, b, c):
    """log Z."""
    return np.logaddexp.reduce(_exponents(W, b, c), axis=None)


def rbm_gradient(v, W, b, c):
    """Gradient of the mean log-likelihood of rows v (n, V): what the data show minus what the machine expects."""
    joint, every = rbm_joint(W, b, c), states(len(b))
    seen = 1 / (1 + np.exp(-(c + v @ W.T)))  # (n, H): P(h = 1 | v)
    hidden = joint @ states(len(c))  # (2^V, H): p(v) E[h | v]
    weight = seen.T @ v / len(v) - hidden.T @ every
    return weight, v.mean(0) - joint.sum(1) @ every, seen.mean(0) - hidden.sum(0)


def pseudo_likelihood(v, W, b, c):
    """Σ_i log P(v_i | v without v_i) of rows of bits v (n, V), by the table of p(v): (n,)."""
    marginal, v = rbm_joint(W, b, c).sum(1), np.asarray(v, dtype=np.int64)
    place = 2 ** np.arange(len(b))[::-1]  # of each bit in a state's number
    here = v @ place
    there = here[:, None] + (1 - 2 * v) * place  # (n, V): the state with bit i turned
    return np.log(marginal[here, None] / (marginal[here, None] + marginal[there])).sum(1)


def _exponents(W, b, c):
    v, h = states(len(b)), states(len(c))
    return (v @ b)[:, None] + h @ c + v @ W.T @ h.T


def _normalized(exponents):
    return np.exp(exponents - np.logaddexp.reduce(exponents, axis=None))
