"""The spectrum against the Hessian itself, and Lanczos' method on matrices whose eigenvalues are known."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.autograd.functional import hessian
from torch.func import functional_call

from ftheta import MLPRegressor
from ftheta.explain import sharpness, spectrum
from ftheta.explain.surface.spectrum import lanczos, ritz

RNG = np.random.default_rng(0)
X, LABELS = RNG.normal(size=(60, 3)), RNG.integers(3, size=60)
ROW_LOSS = nn.CrossEntropyLoss(reduction="none")


def net_of(width, dtype=torch.float64):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, width), nn.Tanh(), nn.Linear(width, 3)).to(dtype)


def eigenvalues(net):
    """Of the Hessian, built whole."""
    names, shapes = zip(*((k, p.shape) for k, p in net.named_parameters()), strict=True)

    def f(flat):
        parts = flat.split([s.numel() for s in shapes])
        raw = functional_call(net, {k: p.view(s) for k, s, p in zip(names, shapes, parts, strict=True)}, (x,))
        return nn.functional.cross_entropy(raw, torch.from_numpy(LABELS))

    x = torch.from_numpy(X).to(net[0].weight)
    return np.linalg.eigvalsh(hessian(f, torch.cat([p.detach().flatten() for p in net.parameters()])).double())[::-1]


BIG = net_of(25)  # 178 parameters
TRUTH = eigenvalues(BIG)


# --- the Hessian of a net


def test_the_ends_of_the_spectrum_are_those_of_the_hessian():
    found = spectrum(BIG, X, LABELS, loss=ROW_LOSS, k=4)
    np.testing.assert_allclose(found.top, TRUTH[:4], rtol=1e-9)
    np.testing.assert_allclose(found.bottom, TRUTH[-1], rtol=1e-6)
    assert not found.exact and found.size == 178 and found.n == 60
    np.testing.assert_allclose(found.limit, 2 / TRUTH[0])


def test_single_precision_has_the_largest_within_a_thousandth():
    np.testing.assert_allclose(sharpness(net_of(25, torch.float32), X, LABELS, loss=ROW_LOSS), TRUTH[0], rtol=1e-3)
    np.testing.assert_allclose(sharpness(BIG, X, LABELS, loss=ROW_LOSS), TRUTH[0], rtol=1e-5)
    how = [{"steps": 2}, {"steps": 2, "random_state": 1}, {"tolerance": 0.5}]
    assert len({sharpness(BIG, X, LABELS, loss=ROW_LOSS, **some) for some in (*how, {})}) == 4


def test_moments_of_the_density_are_those_of_the_eigenvalues():
    """Each probe is exact for vᵀHᵏv; over many probes that is the trace of Hᵏ."""
    found = spectrum(BIG, X, LABELS, loss=ROW_LOSS, steps=8, probes=60)
    assert found.masses.sum() == pytest.approx(1)
    assert len(found.masses) == 60 * 8 and spectrum(BIG, X, LABELS, loss=ROW_LOSS, max_rows=9, probes=1).n == 9
    for power, spread in ((1, 0.25), (2, 0.4), (3, 0.5)):
        assert (found.nodes**power * found.masses).sum() * 178 == pytest.approx((TRUTH**power).sum(), rel=spread)
    assert abs(found.trace - TRUTH.sum()) < 4 * found.trace_error
    np.testing.assert_allclose((found.nodes * found.masses).sum() * 178, found.trace, rtol=1e-10)


@pytest.mark.middle
def test_the_error_of_the_trace_is_that_of_a_mean_over_probes():
    traces = [spectrum(BIG, X, LABELS, loss=ROW_LOSS, steps=5, density=False, random_state=s).trace for s in range(60)]
    found = spectrum(BIG, X, LABELS, loss=ROW_LOSS, steps=5, probes=40)
    assert np.mean(traces) == pytest.approx(TRUTH.sum(), rel=0.2)
    assert found.trace_error == pytest.approx(np.std(traces) / 40**0.5, rel=0.4)
    assert np.isnan(spectrum(BIG, X, LABELS, loss=ROW_LOSS, density=False).trace_error)


def test_a_small_net_has_all_its_eigenvalues():
    small = net_of(4)  # 31 parameters
    truth = eigenvalues(small)
    found = spectrum(small, X, LABELS, loss=ROW_LOSS)
    assert found.exact and found.trace_error == 0 and not found.top_error.any()
    np.testing.assert_allclose(found.nodes, truth[::-1], atol=1e-12)
    np.testing.assert_allclose([found.trace, found.bottom], [truth.sum(), truth[-1]], rtol=1e-9)
    np.testing.assert_allclose(sharpness(small, X, LABELS, loss=ROW_LOSS), truth[0], rtol=1e-5)


def test_an_estimator_has_the_curvature_of_its_objective():
    """Of a line fitted to standardised targets: the covariance of (x, 1)."""
    model = MLPRegressor(hidden=(), epochs=1, dtype="float64", random_state=0).fit(X, 50 * X[:, 0] + 7)
    design = np.column_stack([X, np.ones(60)])
    truth = np.linalg.eigvalsh(design.T @ design / 60)
    np.testing.assert_allclose(spectrum(model, X, 50 * X[:, 0] + 7).nodes, truth, rtol=1e-8)


def test_descent_is_stable_below_two_over_the_sharpness_and_not_above():
    y = X[:, 0]
    limit = 2 / sharpness(nn.Linear(3, 1).double(), X, y, loss=lambda raw, y: (raw[:, 0] - y) ** 2 / 2)
    design = np.column_stack([X, np.ones(60)])
    ends = []
    for rate in (0.98 * limit, 1.02 * limit):
        w = np.ones(4)
        for _ in range(500):
            w = w - rate * design.T @ (design @ w - y) / 60
        ends.append(np.abs(w).max())
    assert ends[0] < 2 and ends[1] > 100


def test_attention_by_torchs_kernel_is_as_sharp_as_written_out():
    class Attention(nn.Module):
        def __init__(self, fused):
            super().__init__()
            self.fused, self.one, self.two = fused, nn.Linear(3, 12), nn.Linear(12, 3)

        def forward(self, x):
            h = self.one(x).view(-1, 1, 4, 3)  # (B, heads, tokens, features)
            written = lambda h: (h @ h.mT / 3**0.5).softmax(-1) @ h  # noqa: E731
            mixed = nn.functional.scaled_dot_product_attention(h, h, h) if self.fused else written(h)
            return self.two(mixed.flatten(1))

    one, two = Attention(True), Attention(False)
    two.load_state_dict(one.state_dict())
    a, b = (sharpness(net, X, LABELS, loss=ROW_LOSS) for net in (one, two))
    assert a == pytest.approx(b, rel=1e-4)


def test_a_loss_without_curvature_has_none():
    found = spectrum(nn.Linear(3, 1), X, LABELS, loss=lambda raw, y: raw[:, 0])
    assert found.top.tolist() == [0] * 4 and found.limit == np.inf and found.trace == 0
    wide = spectrum(nn.Linear(3, 20), X, LABELS, loss=lambda raw, y: raw.sum(1))
    assert wide.top[0] == 0 and wide.bottom == 0


def test_parameters_that_the_loss_does_not_see_are_flat():
    net = nn.Linear(3, 1).double()
    net.spare = nn.Parameter(torch.ones(3, dtype=torch.float64))
    found = spectrum(net, X, X[:, 0], loss=lambda raw, y: (raw[:, 0] - y) ** 2 / 2)
    assert found.size == 7 and (np.abs(found.nodes) < 1e-12).sum() == 3


# --- options


# ---- lanczos


RNG2 = np.random.default_rng(0)


def test_as_many_steps_as_columns_give_every_eigenvalue():
    m = RNG2.normal(size=(12, 12))
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
