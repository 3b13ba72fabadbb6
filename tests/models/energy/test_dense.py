"""Memories of many patterns against energies summed term by term, gradients of torch, and bounds of the papers."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ftheta.errors import InputError
from ftheta.models.energy.modern_hopfield import (
    INTERACTIONS,
    continuous_energy,
    continuous_update,
    dense_capacity,
    dense_energy,
    dense_update,
)

OF_AN_OVERLAP = {
    ("polynomial", 2): lambda z: z**2,
    ("polynomial", 3): lambda z: z**3,
    ("polynomial", 4): lambda z: z**4,
    ("rectified", 3): lambda z: max(z, 0) ** 3,
    ("exponential", 3): math.exp,
}
KINDS = sorted(OF_AN_OVERLAP)


def signs(rng, *shape):
    return rng.choice([-1.0, 1.0], shape)


def by_hand(x, patterns, f):
    return -sum(f(sum(int(a) * int(b) for a, b in zip(p, x, strict=True))) for p in patterns)


def one_by_one(x, patterns, units, f):
    """Each unit is tried both ways, and takes the lower energy."""
    x = list(x)
    for i in units:
        down, up = (by_hand([*x[:i], s, *x[i + 1 :]], patterns, f) for s in (-1.0, 1.0))
        x[i] = x[i] if down == up else 1.0 if up < down else -1.0
    return x


@pytest.mark.parametrize(("kind", "order"), KINDS)
def test_a_dense_energy_is_the_sum_over_patterns(kind, order):
    rng = np.random.default_rng(0)
    patterns, x = signs(rng, 5, 7), signs(rng, 6, 7)
    right = np.array([by_hand(row, patterns, OF_AN_OVERLAP[kind, order]) for row in x])
    found = dense_energy(x, patterns, kind, order)
    np.testing.assert_allclose(-np.exp(-found) if kind == "exponential" else found, right, rtol=1e-12)


@settings(max_examples=40)
@given(st.sampled_from(KINDS), st.integers(0, 10_000), st.integers(1, 6), st.integers(2, 8))
def test_units_go_one_after_the_other_to_their_lower_energy(kind, seed, p, n):
    rng = np.random.default_rng(seed)
    patterns, x, units = signs(rng, p, n), signs(rng, 3, n), rng.permutation(n)
    f = OF_AN_OVERLAP[kind]
    after = dense_update(x, patterns, units, *kind)
    if kind[0] != "exponential":  # whole numbers: ties are exact
        assert after.tolist() == [one_by_one(row, patterns, units, f) for row in x]
    assert (dense_energy(after, patterns, *kind) <= dense_energy(x, patterns, *kind) + 1e-12).all()


@pytest.mark.parametrize(("kind", "order"), KINDS)
def test_units_that_are_not_known_go_to_the_lower_energy_too(kind, order):
    rng = np.random.default_rng(9)
    patterns, x = signs(rng, 5, 8), rng.choice([-1.0, 0.0, 1.0], (30, 8))
    f = OF_AN_OVERLAP[kind, order]
    assert dense_update(x, patterns, range(8), kind, order).tolist() == [
        one_by_one(row, patterns, range(8), f) for row in x
    ]
    alone = np.stack([dense_update(x, patterns, [i], kind, order)[:, i] for i in range(8)], 1)
    assert np.array_equal(dense_update(x, patterns, None, kind, order), alone)


def test_a_unit_between_two_patterns_stays():
    """Both pull alike: with exp the gains are equal up to rounding, which must not decide."""
    patterns = np.array([[1.0] * 6, [1.0] * 4 + [-1.0] * 2])
    for x in ([1, 1, 1, 1, 1, -1], [1, 1, 1, 1, -1, 1]):
        here = np.array([x], dtype=float)
        for unit in (4, 5):
            other = here.copy()
            other[0, unit] *= -1
            for kind, order in KINDS:
                gap = dense_energy(other, patterns, kind, order) - dense_energy(here, patterns, kind, order)
                stays = dense_update(here, patterns, [unit], kind, order)[0, unit] == here[0, unit]
                assert stays == (gap[0] > -1e-9)


@pytest.mark.parametrize("kind", INTERACTIONS)
def test_large_networks_neither_overflow_nor_forget(kind):
    rng = np.random.default_rng(4)
    patterns = signs(rng, 20, 3000)
    x = patterns * np.where(rng.random(patterns.shape) < 0.3, -1, 1)
    with np.errstate(all="raise", under="ignore"):
        after, energies = dense_update(x, patterns, range(60), kind, 8), dense_energy(patterns, patterns, kind, 8)
    assert np.array_equal(after[:, :60], patterns[:, :60]) and np.array_equal(after[:, 60:], x[:, 60:])
    assert np.isfinite(energies).all() and (energies < dense_energy(x, patterns, kind, 8)).all()


def test_capacities_of_the_papers():
    assert dense_capacity(32) == 65536 == 2 ** (32 / 2) and dense_capacity(10**6) == math.inf
    assert dense_capacity(1000, "polynomial", 2) == pytest.approx(1000 / (2 * math.log(1000)))
    assert dense_capacity(100, "rectified", 4) == pytest.approx(100**3 / (2 * 1 * 3 * 5 * math.log(100)))
    grow = [dense_capacity(2000, "polynomial", n) * math.log(2000) for n in (2, 3, 4)]
    for n, (small, large) in zip((2, 3), zip(grow, grow[1:], strict=False), strict=True):
        assert large / small == pytest.approx(2000 / (2 * n - 1))  # α_{n+1} / α_n = 1 / (2n - 1)


@pytest.mark.parametrize("beta", [0.3, 1.0, 8.0])
def test_the_update_is_a_gradient_step_of_length_one(beta):
    """∇E = x - Ξᵀ softmax(β Ξ x), so x - ∇E is the update: energy and update belong together."""
    rng = np.random.default_rng(6)
    patterns, x = rng.normal(size=(6, 4)), rng.normal(size=(5, 4))
    at = torch.tensor(x, requires_grad=True)
    lse = torch.logsumexp(beta * at @ torch.tensor(patterns).T, 1) / beta
    (slope,) = torch.autograd.grad((-lse + at.square().sum(1) / 2).sum(), at)
    np.testing.assert_allclose(continuous_update(x, patterns, beta), x - slope.numpy(), atol=1e-12)


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.floats(0.01, 100), st.integers(1, 8), st.booleans())
def test_the_continuous_energy_falls_and_stays_in_its_bounds(seed, beta, p, at_once):
    rng = np.random.default_rng(seed)
    patterns, x = rng.normal(size=(p, 5)), 3 * rng.normal(size=(4, 5))
    units = None if at_once else rng.permutation(5)
    energies = [continuous_energy(x, patterns, beta)]
    for _ in range(4):
        x = continuous_update(x, patterns, beta, units)
        energies.append(continuous_energy(x, patterns, beta))
    assert (np.diff(energies, axis=0) <= 1e-9).all()
    most = 2 * np.square(patterns).sum(1).max()
    if at_once:  # then |x| <= M after a step
        assert (np.array(energies[1:]) >= -1e-9).all() and (np.array(energies[1:]) <= most + 1e-9).all()


def test_one_unit_after_the_other_uses_what_the_last_one_became():
    patterns, x = np.array([[1.0, 2.0], [-1.0, 0.5]]), np.array([[0.3, -0.2]])
    first = continuous_update(x, patterns, 2.0)[0, 0]
    second = continuous_update(np.array([[first, -0.2]]), patterns, 2.0)[0, 1]
    np.testing.assert_allclose(continuous_update(x, patterns, 2.0, [0, 1]), [[first, second]])
    assert x.tolist() == [[0.3, -0.2]]


def test_a_sharp_memory_of_large_numbers_is_finite():
    patterns = np.array([[1e6, 0.0], [0.0, 1e6]])
    with np.errstate(all="raise", under="ignore"):
        x = continuous_update(np.array([[3.0, 2.0]]), patterns, 1e6)
        energy = continuous_energy(x, patterns, 1e6)
    assert x.tolist() == [[1e6, 0]] and energy[0] == pytest.approx(math.log(2) / 1e6, abs=1e-3)


ONE = np.ones((1, 3))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: dense_energy(ONE * 0.5, ONE), r"States of the exponential energy .* -1 and 1, .* 0.5.*np.where"),
        (lambda: dense_update(ONE, ONE * np.nan, kind="polynomial"), "Patterns of the polynomial energy .* holds nan"),
        (lambda: dense_energy(ONE, np.ones((1, 4))), r"States \(1, 3\) and patterns \(1, 4\) do not fit"),
        (lambda: dense_energy(ONE[0], ONE), r"States \(3,\) and patterns \(1, 3\) do not fit"),
        (lambda: continuous_update(ONE, np.ones((0, 3)), 1.0), r"patterns \(0, 3\) do not fit: .* P >= 1"),
        (lambda: dense_energy(ONE, ONE, "cubic"), "interaction 'cubic'"),
        (lambda: dense_energy(ONE, ONE, "polynomial", 1), "order=1; .* at least 2"),
        (lambda: dense_update(ONE, ONE, None, "polynomial", 2.5), "order=2.5; .* integer"),
        (lambda: dense_capacity(1000, "polynomial", 90), "order=90: .*exponential"),
        (lambda: dense_capacity(1), "n_units=1; .* at least 2"),
    ],
)
def test_what_cannot_be_used_is_said_in_a_sentence(call, said):
    with pytest.raises(InputError, match=said):
        call()
