"""Normalisation written out: against torch.nn.functional, plain loops and closed forms."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from ftheta import formulas
from ftheta.errors import InputError

SHAPES = [(5, 6), (4, 6, 7), (3, 6, 4, 5)]


def made(shape, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(2.0, 3.0, shape)
    return x, rng.normal(size=shape[1]), rng.normal(size=shape[1])


def by_loop(x, cells, eps=1e-5):
    """x̂, one set of entries after the other; `cells(index)` names the set that an entry belongs to."""
    sets = {}
    for index in np.ndindex(x.shape):
        sets.setdefault(cells(index), []).append(index)
    out = np.empty_like(x)
    for members in sets.values():
        values = [x[index] for index in members]
        mean = sum(values) / len(values)
        variance = sum((v - mean) ** 2 for v in values) / len(values)
        for index in members:
            out[index] = (x[index] - mean) / (variance + eps) ** 0.5
    return out


def spread(v, x):
    return v.reshape(-1, *[1] * (x.ndim - 2))


@pytest.mark.parametrize("shape", SHAPES)
def test_each_formula_is_the_loop_over_its_own_sets_of_entries(shape):
    x, gamma, beta = made(shape)
    g, b = spread(gamma, x), spread(beta, x)
    for found, cells in [
        (formulas.batch_norm(x, gamma, beta), lambda i: i[1]),
        (formulas.layer_norm(x, gamma, beta), lambda i: i[0]),
        (formulas.group_norm(x, 3, gamma, beta), lambda i: (i[0], i[1] // 2)),
        (formulas.group_norm(x, 6, gamma, beta), lambda i: i[:2]),
    ]:
        np.testing.assert_allclose(found, g * by_loop(x, cells) + b, atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES[1:])
def test_maps_agree_with_torch(shape):
    x, gamma, beta = made(shape)
    t, g, b = map(torch.tensor, (x, gamma, beta))
    for found, torchs in [
        (formulas.batch_norm(x, gamma, beta), F.batch_norm(t, None, None, g, b, training=True)),
        (formulas.instance_norm(x, gamma, beta), F.instance_norm(t, weight=g, bias=b)),
        (formulas.layer_norm(x, gamma, beta), F.group_norm(t, 1, g, b)),
        (formulas.group_norm(x, 2, gamma, beta), F.group_norm(t, 2, g, b)),
        (formulas.layer_norm(x), F.layer_norm(t, shape[1:])),
        (formulas.rms_norm(x), F.rms_norm(t, shape[1:], eps=1e-5)),
        (formulas.rms_norm(x, gamma), F.rms_norm(t, shape[1:], eps=1e-5) * torch.tensor(spread(gamma, x))),
    ]:
        np.testing.assert_allclose(found, torchs.numpy(), atol=1e-12)


def test_rows_agree_with_torch():
    x, gamma, beta = made((5, 6))
    t, g, b = map(torch.tensor, (x, gamma, beta))
    for found, torchs in [
        (formulas.batch_norm(x, gamma, beta, eps=0.3), F.batch_norm(t, None, None, g, b, training=True, eps=0.3)),
        (formulas.layer_norm(x, gamma, beta, eps=0.3), F.layer_norm(t, (6,), g, b, eps=0.3)),
        (formulas.group_norm(x, 3, gamma, beta, eps=0.3), F.group_norm(t, 3, g, b, eps=0.3)),
        (formulas.rms_norm(x, gamma, eps=0.3), F.rms_norm(t, (6,), g, eps=0.3)),
    ]:
        np.testing.assert_allclose(found, torchs.numpy(), atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_running_averages_and_evaluation_agree_with_torch(shape):
    mean, variance = np.zeros(6), np.ones(6)
    t_mean, t_variance = torch.zeros(6, dtype=torch.double), torch.ones(6, dtype=torch.double)
    for step in range(4):
        x, gamma, beta = made(shape, step)
        for running, now in zip((mean, variance), formulas.batch_statistics(x), strict=True):
            running[:] = formulas.running_average(running, now, momentum=0.3)
        F.batch_norm(torch.tensor(x), t_mean, t_variance, training=True, momentum=0.3)
    np.testing.assert_allclose(mean, t_mean, atol=1e-12)
    np.testing.assert_allclose(variance, t_variance, atol=1e-12)
    expected = F.batch_norm(torch.tensor(x), t_mean, t_variance, torch.tensor(gamma), torch.tensor(beta))
    found = formulas.batch_norm_evaluated(x, mean, variance, gamma, beta)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(formulas.batch_norm_evaluated(x[:1], mean, variance, gamma, beta), found[:1], atol=0)


def test_the_variance_after_normalisation_is_below_one_by_epsilon():
    x = np.array([1.0, 3.0, 5.0]) * 1e-3
    variance = x.var()
    found = formulas.standardise(x, (0,))
    assert found.mean() == pytest.approx(0, abs=1e-15)
    assert found.var() == pytest.approx(variance / (variance + 1e-5))
    assert formulas.standardise(x, (0,), eps=0).var() == pytest.approx(1)


def test_a_whole_number_input_is_not_truncated():
    np.testing.assert_allclose(formulas.layer_norm(np.array([[1, 2, 3, 4]]))[0, 0], -1.341635, atol=1e-6)
    np.testing.assert_allclose(formulas.rms_norm(np.array([[1, 2, 3, 4]]))[0, 0], 0.365148, atol=1e-6)


def test_running_averages_forget_geometrically():
    r = np.array([3.0, -1.0])
    for _ in range(10):
        r = formulas.running_average(r, 2.0, momentum=0.2)
    np.testing.assert_allclose(r, 2 + 0.8**10 * (np.array([3.0, -1.0]) - 2), rtol=1e-12)


def test_what_cannot_be_is_one_sentence():
    with pytest.raises(InputError, match=r"groups=4 does not divide 6 channels; take a divisor such as 1\."):
        formulas.group_norm(np.zeros((2, 6)), 4)
    with pytest.raises(InputError, match=r"groups=0 does not divide 6 channels"):
        formulas.group_norm(np.zeros((2, 6)), 0)
    with pytest.raises(InputError, match=r"x \(1, 6\) has one value in a channel, which has no variance; give two"):
        formulas.batch_statistics(np.zeros((1, 6)))
