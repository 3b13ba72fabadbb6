"""Lanczos' method on matrices whose eigenvalues are known."""

import numpy as np
import pytest
import torch

from ftheta.explain.surface._lanczos import lanczos, ritz

RNG = np.random.default_rng(0)


def test_as_many_steps_as_columns_give_every_eigenvalue():
    m = RNG.normal(size=(12, 12))
    m = torch.from_numpy(m + m.T)
    alpha, beta = lanczos(lambda v: m @ v, torch.ones(12, dtype=torch.float64), 12)
    found = np.linalg.eigvalsh(np.diag(alpha) + np.diag(beta[:-1], 1) + np.diag(beta[:-1], -1))
    np.testing.assert_allclose(found, np.linalg.eigvalsh(m), rtol=1e-9)
    assert beta[-1] < 1e-8


def test_vectors_stay_orthogonal_where_rounding_would_bring_copies_of_the_largest():
    """Without reorthogonalisation, a spectrum with one outlier shows it twice long before 60 steps."""
    d = torch.cat([torch.linspace(0, 1, 199), torch.tensor([100.0])]).double()
    alpha, beta = lanczos(lambda v: d * v, torch.ones(200, dtype=torch.float64), 60)
    found = np.linalg.eigvalsh(np.diag(alpha) + np.diag(beta[:-1], 1) + np.diag(beta[:-1], -1))
    assert found[-1] == pytest.approx(100, rel=1e-12) and found[-2] < 1.001


def test_an_invariant_space_ends_it():
    d = torch.tensor([1.0, 2.0, 5.0, 5.0, 5.0]).double()
    alpha, beta = lanczos(lambda v: d * v, torch.ones(5, dtype=torch.float64), 5)
    assert len(alpha) == 3 and beta[-1] < 1e-8
    alpha, beta = lanczos(torch.zeros_like, torch.ones(5), 5)
    assert alpha.tolist() == [0] and beta.tolist() == [0]


def test_a_tolerance_ends_it_when_the_largest_is_known():
    d = torch.linspace(0, 1, 500).double() ** 8 * 7
    products = []
    lanczos(lambda v: (products.append(1), d * v)[1], torch.ones(500, dtype=torch.float64), 400, 1e-3)
    assert 5 <= len(products) <= 100


def test_each_value_has_an_eigenvalue_within_its_error_and_masses_are_those_of_the_start():
    d = np.linspace(0, 1, 300) ** 3
    matrix, start = torch.from_numpy(d), torch.ones(300, dtype=torch.float64)
    values, first, errors = ritz(*lanczos(lambda v: matrix * v, start, 12))
    assert (np.abs(values[:, None] - d).min(1) <= errors + 1e-12).all() and errors.max() > 1e-4
    for power in range(24):  # a Gaussian rule of 12 nodes
        np.testing.assert_allclose((first**2 * values**power).sum(), (d**power).mean(), rtol=1e-8)
