"""Residual networks unrolled: nested functions, sums over paths, survival."""

from math import comb

import numpy as np
import pytest
import torch
from torch import nn

from ftheta import explain, formulas
from ftheta.errors import InputError


def layers(n=3, width=5, seed=0):
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(n, width, width))
    return [lambda h, w=w: np.tanh(h @ w.T) for w in weights], rng.normal(size=(4, width))


@pytest.mark.ledger("C201", covers="ftheta.explain.activations")
def test_layers_in_sequence_are_the_nested_functions_and_every_partial_output_is_there():
    net, x = (
        nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3)).double(),
        np.random.default_rng(0).normal(size=(4, 5)),
    )
    found, nested = explain.activations(net, x, keep=True), torch.from_numpy(x)
    for name, f in net.named_children():
        nested = f(nested)
        np.testing.assert_array_equal(found.values[name], nested.detach())


@pytest.mark.ledger(
    "C207",
    covers="ftheta.formulas.residual_expansion",
    printed="x + f1[x] + f2[x + f1[x]] + f3[x + f2[x + f1[x]]]",
    right="x + f1[x] + f2[x + f1[x]] + f3[x + f1[x] + f2[x + f1[x]]]",
)
def test_three_blocks_unroll_to_a_sum_whose_last_term_sees_all_before(ledger):
    (f1, f2, f3), x = layers()
    h = x
    for f in (f1, f2, f3):
        h = h + f(h)
    words = formulas.residual_expansion(3)
    names = {"x": x, "f1": Bracket(f1), "f2": Bracket(f2), "f3": Bracket(f3)}
    np.testing.assert_allclose(eval(words, names), h, atol=1e-14)
    assert np.abs(eval("x + f1[x] + f2[x + f1[x]] + f3[x + f2[x + f1[x]]]", names) - h).max() > 0.5
    ledger(words)


class Bracket:
    """f[x] for f(x)."""

    def __init__(self, f):
        self.f = f

    def __getitem__(self, x):
        return self.f(x)


def test_survival_falls_on_a_line_to_the_last():
    np.testing.assert_allclose(formulas.survival_probabilities(4, 0.2), [0.8, 0.6, 0.4, 0.2])
    for n in (1, 2, 54):
        assert formulas.survival_probabilities(n).sum() == pytest.approx((3 * n - 1) / 4)
    for last in (-0.5, 2.0, "x"):
        with pytest.raises(InputError, match=f"survival of the last block must be a probability. Got {last!r}"):
            formulas.survival_probabilities(4, last)


def test_too_many_paths_are_counted_and_not_listed():
    with pytest.raises(InputError, match=r"21 blocks have 2\^21 paths; 0 to 20 blocks can be written out"):
        formulas.residual_expansion(21)
    assert formulas.path_lengths(4) == [comb(4, k) for k in range(5)] and sum(formulas.path_lengths(54)) == 2**54
