"""Rules of storing: beside loops, MATLAB's own steps, and what the report prints."""

from functools import reduce

import numpy as np
import pytest
from scipy.linalg import expm

from ftheta.errors import InputError
from ftheta.models.energy.rules import (
    capacity,
    corrupt,
    design,
    energy,
    equilibria,
    hebb,
    pseudo_inverse,
    span,
    storkey_step,
)

FLAT = [[1, 1], [-1, -1], [1, -1]]
SOLID = [[-1, -1, 1], [1, -1, -1], [1, 1, 1]]


def saturate(x):
    return np.clip(x, -1, 1)


def storkey(patterns):
    """All patterns one after the other, without self-connections."""
    w = reduce(storkey_step, patterns, np.zeros((patterns.shape[1],) * 2))
    return w - np.diag(w.diagonal())


def random(seed, p=4, n=12):
    return np.random.default_rng(seed).choice([-1.0, 1.0], (p, n))


def newhop(patterns, tau=10.0, h=0.15):
    """MATLAB's function, step by step."""
    t = np.array(patterns, dtype=float).T  # one pattern a column
    s, q = t.shape
    u, sizes, _ = np.linalg.svd(t[:, : q - 1] - t[:, q - 1 : q])
    k = int((sizes > 1e-10).sum())
    tp, tm = u[:, :k] @ u[:, :k].T, u[:, k:] @ u[:, k:].T
    field = tp - tau * tm
    i = t[:, q - 1] - field @ t[:, q - 1]
    c = np.diag(np.r_[np.full(k, np.exp(h) - 1), np.full(s - k, -(np.exp(-tau * h) - 1) / tau)])
    return expm(h * field), u @ c @ u.T @ i


@pytest.mark.ledger(
    "B049",
    covers="ftheta.models.energy.rules.hebb",
    printed=[[0, -1], [0, 1], [-1, 0], [1, 0]],
    right=[[0.5, -1], [-0.5, 1], [-1, 0.5], [1, -0.5]],
)
def test_hebbs_matrix_of_three_patterns_has_other_edge_equilibria_than_those_printed(ledger):
    w = hebb(FLAT, zero_diagonal=False)
    assert w.tolist() == [[3, 1], [1, 3]]
    assert np.linalg.eigvalsh(w) == pytest.approx([2, 4])
    assert energy([[1, 1], [-1, -1], [1, -1], [-1, 1], [0, 0], [1, 0]], w).tolist() == [-4, -4, -2, -2, 0, -1.5]
    assert saturate(w @ [1, 0]).tolist() == [1, 1]  # so (1, 0) is no equilibrium
    ledger([e.point for e in equilibria(w) if len(e.eigenvalues) == 1])
    usual = hebb(FLAT)
    assert usual.tolist() == [[0, 1], [1, 0]]
    assert np.sign(usual @ [1, -1]).tolist() == [-1, 1]  # not stored


@pytest.mark.ledger("B050", covers="ftheta.models.energy.rules.energy")
def test_the_energy_has_its_maximum_inside_and_its_minima_in_the_corners():
    w = hebb(FLAT, zero_diagonal=False)
    line = np.linspace(-1, 1, 41)
    found = energy(np.stack(np.meshgrid(line, line), -1), w)  # (41, 41, 2)
    by_hand = [[-(3 * x * x + 2 * x * y + 3 * y * y) / 2 for x in line] for y in line]
    np.testing.assert_allclose(found, by_hand, atol=1e-12)
    assert np.unravel_index(found.argmax(), found.shape) == (20, 20) and found.max() == 0
    corners = found[[0, 0, -1, -1], [0, -1, 0, -1]]
    assert corners.tolist() == [-4, -2, -2, -4]
    assert all(c < n for c, n in zip(corners, found[[0, 0, -1, -1], [1, -2, 1, -2]], strict=True))


@pytest.mark.parametrize("unit", ["sign", "saturated"])
@pytest.mark.parametrize("seed", range(5))
def test_the_energy_never_rises_when_one_unit_moves_after_the_other(unit, seed):
    rng = np.random.default_rng(seed)
    w = rng.normal(size=(8, 8))
    w = w + w.T
    np.fill_diagonal(w, rng.uniform(0, 1, 8))
    b, x = rng.normal(size=8), rng.uniform(-1, 1, 8) if unit == "saturated" else rng.choice([-1.0, 1.0], 8)
    before = start = float(energy(x, w, b, unit=unit))
    for i in rng.integers(0, 8, 200):
        h = w[i] @ x + b[i]
        x[i] = saturate(h) if unit == "saturated" else np.sign(h)
        now = float(energy(x, w, b, unit=unit))
        assert now <= before + 1e-12
        before = now
    assert before < start - 0.1


def test_the_term_of_saturated_units_is_what_makes_equilibria_stationary():
    w, b = design(SOLID)
    point = np.array([1.1, -1.1, 1.1]) / 3  # inside the cube
    h = 1e-5
    slope = [
        (energy(point + d, w, b, unit="saturated") - energy(point - d, w, b, unit="saturated")) for d in np.eye(3) * h
    ]
    assert np.abs(slope).max() / (2 * h) < 1e-9
    assert np.abs([energy(point + d, w, b) - energy(point - d, w, b) for d in np.eye(3) * h]).max() / (2 * h) > 0.1


@pytest.mark.ledger("B054", covers="ftheta.models.energy.rules.design")
def test_the_design_is_that_of_matlab_with_its_eigenvalues_and_bias():
    w, b = design(SOLID, decay=10, step=0.15)
    grow, shrink = np.exp(0.15), np.exp(-1.5)
    assert (grow, shrink) == (pytest.approx(1.161834, abs=5e-7), pytest.approx(0.223130, abs=5e-7))
    np.testing.assert_allclose(np.linalg.eigvalsh(w), [shrink, grow, grow], rtol=1e-12)
    differences = np.array([[-2, 0, 2], [2, 0, -2], [0, -2, -2]])
    np.testing.assert_allclose(differences @ w, grow * differences, atol=1e-12)
    across = np.array([1.0, -1, 1]) / 3  # the part of every pattern that is across their plane
    np.testing.assert_allclose(b, (1 - shrink) * 1.1 * across, rtol=1e-12)


@pytest.mark.parametrize(
    ("p", "n", "tau", "h"), [(3, 2, 10, 0.15), (1, 4, 10, 0.15), (4, 12, 5, 0.3), (6, 40, 20, 0.05)]
)
def test_the_design_is_matlabs_function_step_by_step(p, n, tau, h):
    patterns = FLAT if n == 2 else random(p, p, n)
    w, b = design(patterns, decay=tau, step=h)
    expected = newhop(patterns, tau, h)
    np.testing.assert_allclose(w, expected[0], atol=1e-12)
    np.testing.assert_allclose(b, expected[1], atol=1e-12)
    for x in np.array(patterns, dtype=float):
        np.testing.assert_array_equal(saturate(w @ x + b), x)  # stored


def test_hebbs_rule_adds_one_outer_product_after_the_other():
    total = sum(np.outer(pattern, pattern) for pattern in random(0))
    np.testing.assert_array_equal(hebb(random(0), zero_diagonal=False), total)
    np.testing.assert_array_equal(hebb(random(0)), total - 4 * np.eye(12))


@pytest.mark.parametrize(("p", "n"), [(1, 5), (4, 12), (12, 12), (30, 12)])
def test_the_pseudo_inverse_rule_is_the_pseudo_inverse(p, n):
    patterns = random(p, p, n)
    w = pseudo_inverse(patterns)
    np.testing.assert_allclose(w, np.linalg.pinv(patterns) @ patterns, atol=1e-10)
    np.testing.assert_allclose(patterns @ w, patterns, atol=1e-10)
    np.testing.assert_array_equal(w, w.T)
    assert not pseudo_inverse(patterns, zero_diagonal=True).diagonal().any()
    assert span(patterns).shape == (np.linalg.matrix_rank(patterns), n)


def test_storkeys_rule_is_its_definition_in_loops():
    patterns = random(1, 5, 9)
    n = 9
    w = np.zeros((n, n))
    for s in patterns:
        h = [[sum(w[i, k] * s[k] for k in range(n) if k not in (i, j)) for j in range(n)] for i in range(n)]
        change = [[s[i] * s[j] - s[i] * h[j][i] - h[i][j] * s[j] for j in range(n)] for i in range(n)]
        w = w + np.array(change) / n
    np.testing.assert_allclose(reduce(storkey_step, patterns, np.zeros((n, n))), w, atol=1e-12)
    np.fill_diagonal(w, 0)
    np.testing.assert_allclose(storkey(patterns), w, atol=1e-12)
    np.testing.assert_array_equal(storkey(patterns), storkey(patterns).T)


def test_storkey_stores_more_than_hebb():
    patterns = random(0, 16, 80)
    stable = {f: (np.sign(patterns @ f(patterns)) == patterns).all(1).sum() for f in (hebb, storkey)}
    assert stable[hebb] < stable[storkey] == 16


@pytest.mark.ledger("B273", covers="ftheta.models.energy.rules.hebb")
def test_what_a_unit_receives_is_signal_plus_crosstalk():
    n, p = 400, 41
    noise = []
    for seed in range(10):
        x = random(seed, p, n)
        noise.append(x @ hebb(x) / n - x * (n - 1) / n)  # what is received, without the signal
    patterns, crosstalk = random(0, p, n), noise[0]
    by_hand = sum(
        patterns[q, 7] * (patterns[q] @ patterns[3] - patterns[q, 7] * patterns[3, 7]) for q in range(p) if q != 3
    )
    assert crosstalk[3, 7] == pytest.approx(by_hand / n)
    assert np.mean(noise) == pytest.approx(0, abs=0.004)  # 164,000, nearly independent
    assert np.var(noise) == pytest.approx((p - 1) / n, rel=0.02)


def test_capacities_of_random_patterns():
    assert [round(capacity(n), 2) for n in (240, 784, 1000)] == [10.95, 29.41, 36.19]
    assert capacity(784, "most") == pytest.approx(784 / (2 * np.log(784)))
    assert capacity(1000, "errors") == pytest.approx(138)
    with pytest.raises(InputError, match=r"n=1; a network has at least 2 units\."):
        capacity(1)
    with pytest.raises(InputError, match=r"Unknown kind of capacity: 'mots'\. Did you mean 'most'\?"):
        capacity(10, "mots")


def test_each_kind_of_noise_changes_what_it_says():
    x = random(0, 100, 1000)
    assert (corrupt(x, 0.3, rng=1) != x).mean() == pytest.approx(0.3, abs=0.005)
    assert (corrupt(x, 0.3, kind="replace", rng=1) != x).mean() == pytest.approx(0.15, abs=0.005)
    added = corrupt(x, 0.3, kind="gaussian", rng=1) - x
    assert (added.mean(), added.std()) == (pytest.approx(0, abs=0.005), pytest.approx(0.3, abs=0.005))
    for kind in ("flip", "replace"):
        assert set(np.unique(corrupt(x, 0.3, kind=kind))) == {-1.0, 1.0}
    np.testing.assert_array_equal(corrupt(x, 1.0), -x)
    np.testing.assert_array_equal(corrupt(x, 0.5, rng=3), corrupt(x, 0.5, rng=3))


@pytest.mark.parametrize(
    ("noise", "kind", "said"),
    [
        (1.5, "flip", r"noise=1\.5; noise of kind 'flip' is a probability from 0 to 1\."),
        (float("nan"), "replace", r"noise=nan; noise of kind 'replace' is a probability"),
        (-1, "gaussian", r"noise=-1; noise of kind 'gaussian' is a standard deviation >= 0\."),
        (float("inf"), "gaussian", r"noise=inf; noise of kind 'gaussian'"),
        (0.1, "flop", r"Unknown kind of noise: 'flop'\. Did you mean 'flip'\?"),
    ],
)
def test_noise_that_is_none_gets_a_sentence(noise, kind, said):
    with pytest.raises(InputError, match=said):
        corrupt([[1, -1]], noise, kind=kind)


@pytest.mark.parametrize("rule", [hebb, pseudo_inverse, design])
@pytest.mark.parametrize(
    ("patterns", "said"),
    [
        (
            [[1, -1], [1, 0]],
            r"Pattern 1 has 0 at position 1; patterns are made of -1 and \+1\. Write numbers in \[0, 1\]",
        ),
        ([[np.nan, 1]], r"Pattern 0 has nan at position 0"),
        ([1, -1], r"The patterns have shape \(2,\); give one row for each"),
        (np.zeros((0, 3)), r"The patterns have shape \(0, 3\)"),
    ],
)
def test_patterns_that_are_none_get_a_sentence(rule, patterns, said):
    with pytest.raises(InputError, match=said):
        rule(patterns)
