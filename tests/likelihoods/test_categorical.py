"""Categorical likelihood: softmax, cross-entropy and their stability."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import special
from torch.autograd import grad

from ftheta.errors import InputError
from ftheta.likelihoods import Categorical

likelihood = Categorical()
LOGITS = torch.tensor([[2.0, 1.0, 0.1]], dtype=torch.double)
logits = st.lists(st.floats(-500, 500), min_size=2, max_size=6)


@given(logits, st.integers(0, 5))
def test_it_agrees_with_scipy(z, k):
    k %= len(z)
    raw, y = torch.tensor([z], dtype=torch.double), torch.tensor([k])
    truth = -special.log_softmax(raw[0].numpy())[k]
    assert likelihood.nll(raw, y).item() == pytest.approx(truth, rel=1e-9, abs=1e-12)
    assert likelihood.total(raw, y).item() == pytest.approx(truth, rel=1e-9, abs=1e-12)


@pytest.mark.ledger(
    "C025",
    covers="ftheta.likelihoods.Categorical",
    says="-Σ log softmax_y -> -Σ f_y - log Σ exp f",
    printed=-4.417,
    right=0.41703,
)
def test_cross_entropy_has_its_bracket(ledger):
    """-Σ (f_y - log Σ exp f); without the bracket it is -4.417 and moves with a constant added to all logits."""
    y = torch.tensor([0])
    torch.testing.assert_close(likelihood.nll(LOGITS + 10, y), likelihood.nll(LOGITS, y))
    ledger(likelihood.total(LOGITS, y), rtol=1e-5)


@pytest.mark.ledger("C025", "B317", covers="ftheta.likelihoods.Categorical")
@given(logits)
def test_the_gradient_is_softmax_minus_one_hot(z):
    raw = torch.tensor([z], dtype=torch.double, requires_grad=True)
    (slope,) = grad(likelihood.total(raw, torch.tensor([1])), raw)
    expected = special.softmax(z) - np.eye(len(z))[1]
    np.testing.assert_allclose(slope[0].numpy(), expected, atol=1e-12)


@pytest.mark.ledger("C024", covers="ftheta.likelihoods.Categorical")
def test_softmax_is_not_elementwise():
    """Each probability depends on all logits: the Jacobian diag(p) - ppᵀ has entries off its diagonal."""
    p = likelihood.probabilities(LOGITS)
    assert p[0].tolist() == pytest.approx([0.6590, 0.2424, 0.0986], abs=1e-4)
    torch.testing.assert_close(likelihood.probabilities(LOGITS - 7), p)
    jacobian = torch.autograd.functional.jacobian(likelihood.probabilities, LOGITS)[0, :, 0]
    torch.testing.assert_close(likelihood.curvature(LOGITS)[0], jacobian)
    assert jacobian[[0, 0, 1], [1, 2, 2]].tolist() == pytest.approx([-0.160, -0.065, -0.024], abs=5e-4)


@pytest.mark.ledger("C133", covers="ftheta.likelihoods.Categorical")
def test_logits_of_a_thousand_overflow_the_naive_softmax_only():
    for sign, expected in ((1, [0.0900, 0.2447, 0.6652]), (-1, [0.6652, 0.2447, 0.0900])):
        raw = sign * torch.tensor([[1000.0, 1001.0, 1002.0]], dtype=torch.double)
        assert (raw.exp() / raw.exp().sum()).isnan().all()
        assert likelihood.probabilities(raw)[0].tolist() == pytest.approx(expected, abs=1e-4)
    limits = [math.log(torch.finfo(dtype).max) for dtype in (torch.float64, torch.float32)]
    assert limits == pytest.approx([709.78, 88.72], abs=0.005)
    assert torch.tensor([-745.0, -746.0]).double().exp().gt(0).tolist() == [True, False]


@pytest.mark.ledger("C134", covers="ftheta.likelihoods.Categorical")
def test_log_softmax_stays_finite():
    raw = torch.tensor([[0.0, -800.0]], dtype=torch.double)
    assert raw.softmax(-1).log()[0].tolist() == [0.0, -math.inf]
    assert likelihood.distribution(raw).logits[0].tolist() == [0.0, -800.0]
    raw = torch.tensor([[1000.0, 0.0]]).double().requires_grad_()
    loss = likelihood.total(raw, torch.tensor([1]))
    assert loss.item() == 1000.0
    assert grad(loss, raw)[0].tolist() == [[1.0, -1.0]]


@pytest.mark.ledger("C135", covers="ftheta.likelihoods.Categorical")
def test_the_log_of_the_sum_of_exponentials_is_shifted_by_the_maximum():
    """nll + z_y = log Σ exp z. With all logits -∞ the shifted formula alone is ∞ - ∞; torch's guards it."""
    for z, expected in (([1000.0, 1001.0, 1002.0], 1002.407606), ([-1000.0, -1001.0, -1002.0], -999.592394)):
        raw = torch.tensor([z], dtype=torch.double)
        assert (likelihood.nll(raw, torch.tensor([2])) + raw[0, 2]).item() == pytest.approx(expected, abs=1e-6)
    nothing = torch.full((3,), -math.inf).double()
    top = nothing.max()
    assert (top + (nothing - top).exp().sum().log()).isnan()
    assert torch.logsumexp(nothing, 0).item() == -math.inf


@pytest.mark.ledger("C041", covers="ftheta.likelihoods.Categorical")
@pytest.mark.parametrize("p", [[0.5, 0.6], [1.2, -0.2], [[0.5, 0.5], [0.1, 0.1]]])
def test_probabilities_off_the_simplex_are_named(p):
    with pytest.raises(
        InputError, match=r"Probabilities must be non-negative and sum to 1; got sums .* Divide each row by its sum"
    ):
        likelihood.logits(torch.tensor(p))


@pytest.mark.ledger("A196", covers="ftheta.likelihoods.Categorical")
def test_regions_of_three_classes_are_intersections_of_half_planes():
    """Linear logits: class k is where (w_k - w_j)·x + b_k - b_j >= 0 for all j. The outputs fill a (K - 1)-simplex."""
    rng = np.random.default_rng(0)
    weights, offsets, x = rng.normal(size=(3, 2)), rng.normal(size=3), rng.uniform(-3, 3, (500, 2))
    raw = torch.as_tensor(x @ weights.T + offsets)
    inside = np.stack(
        [[(x @ (weights[k] - weights[j]) + offsets[k] - offsets[j] >= 0) for j in range(3)] for k in range(3)]
    )
    labels = likelihood.mode(raw).numpy()
    assert set(labels) == {0, 1, 2}
    np.testing.assert_array_equal(inside.all(1), labels == np.arange(3)[:, None])
    for k in (2, 3, 4, 5):
        p = likelihood.probabilities(torch.as_tensor(rng.normal(size=(50, k)))).numpy()
        assert np.linalg.matrix_rank(p - p[0]) == k - 1


@given(logits)
def test_the_loss_of_probabilities_is_the_mean_loss_of_the_classes(z):
    raw, q = torch.tensor([z, z[::-1]], dtype=torch.double), torch.arange(1.0, len(z) + 1).expand(2, -1)
    q = q / q.sum(1, keepdim=True)
    truth = -(q.numpy() * special.log_softmax(raw.numpy(), axis=1)).sum(1)
    np.testing.assert_allclose(likelihood.nll(raw, q).numpy(), truth, rtol=1e-6, atol=1e-9)
    assert likelihood.total(raw, q).item() == pytest.approx(truth.sum(), rel=1e-6, abs=1e-9)
    assert likelihood.nll(raw, q).dtype == torch.double


def test_the_gradient_of_probabilities_is_softmax_minus_them():
    raw, q = LOGITS.clone().requires_grad_(), torch.tensor([[0.3, 0.0, 0.7]], dtype=torch.double)
    torch.testing.assert_close(grad(likelihood.total(raw, q), raw)[0], raw.detach().softmax(-1) - q)


@pytest.mark.parametrize("y", [torch.ones(1, 2), torch.ones(1, 1).long(), torch.ones(1, 3).long()])
def test_targets_that_are_neither_are_named(y):
    with pytest.raises(InputError, match=r"for raw outputs \(1, 3\): pass class indices of shape \(1,\), or probab"):
        likelihood.nll(LOGITS, y)
