"""Products of likelihoods: parts side by side."""

import pytest
import torch
from torch import distributions as D

from ftheta.data.specs import TargetSpec
from ftheta.errors import InputError
from ftheta.likelihoods import Bernoulli, Categorical, Gaussian, HeteroscedasticGaussian, Laplace, Product

PARTS = [
    (Gaussian(0.5), TargetSpec("regression")),
    (Bernoulli(), TargetSpec("binary")),
    (Categorical(), TargetSpec("multiclass", 3)),
    (HeteroscedasticGaussian(), TargetSpec("regression", 2)),
]
RAW = torch.randn(6, 9, dtype=torch.double, generator=torch.Generator().manual_seed(0))
Y = torch.tensor([[0.3, 1.0, 2.0, -1.0, 0.5]]).double().repeat(6, 1)
mixed = Product(PARTS)


def separate():
    """The same from torch.distributions alone: (B, 4)."""
    scale = (torch.nn.functional.softplus(RAW[:, 7:9]) + 1e-6).sqrt()
    return -torch.stack(
        [
            D.Normal(RAW[:, 0], 0.5).log_prob(Y[:, 0]),
            D.Bernoulli(logits=RAW[:, 1]).log_prob(Y[:, 1]),
            D.Categorical(logits=RAW[:, 2:5]).log_prob(Y[:, 2]),
            D.Normal(RAW[:, 5:7], scale).log_prob(Y[:, 3:]).sum(-1),
        ],
        -1,
    )


def test_the_loss_is_the_sum_over_parts_of_mixed_types():
    torch.testing.assert_close(mixed.nll(RAW, Y), separate().sum(-1))
    torch.testing.assert_close(mixed.total(RAW, Y), separate().sum())
    torch.testing.assert_close(-mixed.distribution(RAW).log_prob(Y), separate().sum(-1))
    assert mixed.n_raw(TargetSpec("regression", 5)) == 9


@pytest.mark.ledger("C029", covers="ftheta.likelihoods.Product")
def test_the_loss_of_several_outputs_sums_over_the_outputs_too():
    """Gaussian + Bernoulli + three classes at raw 0: log √2π + log 2 + log 3."""
    heads = Product([(Gaussian(), TargetSpec("regression")), *PARTS[1:3]])
    assert heads.total(torch.zeros(1, 5), torch.tensor([[0.0, 1.0, 2.0]])).item() == pytest.approx(2.710698, rel=1e-5)


def test_predictions_and_samples_stand_in_the_columns_of_y():
    mode = mixed.mode(RAW)
    assert mode.dtype == RAW.dtype
    expected = torch.stack([RAW[:, 0], (RAW[:, 1] > 0).double(), RAW[:, 2:5].argmax(1).double(), *RAW[:, 5:7].T], -1)
    torch.testing.assert_close(mode, expected)
    law = mixed.distribution(RAW)
    assert law.sample((7,)).shape == (7, 6, 5) and law.sample().dtype == RAW.dtype
    torch.testing.assert_close(law.mode, mode)
    assert repr(law) == "_Joint()"


def test_the_curvature_is_block_diagonal():
    truth = torch.stack(
        [
            torch.block_diag(
                *(p.curvature(r[None])[0] for p, r in zip(mixed.parts, row.split([1, 1, 3, 4]), strict=True))
            )
            for row in RAW
        ]
    )
    torch.testing.assert_close(mixed.curvature(RAW), truth)


def test_residuals_and_intervals_exist_where_all_parts_have_them():
    assert mixed.residual(RAW, Y) is None and mixed.interval(RAW, 0.9) is None
    regress = Product([(Gaussian(0.5), TargetSpec("regression")), (Gaussian(2.0), TargetSpec("regression", 2))])
    raw, y = RAW[:, :3], Y[:, :3]
    torch.testing.assert_close(regress.residual(raw, y), (raw - y) / torch.tensor([0.5, 2.0, 2.0]))
    low, high = regress.interval(raw, 0.9)
    torch.testing.assert_close((high - low)[0], 2 * 1.6448536 * torch.tensor([0.5, 2.0, 2.0]).double())
    torch.testing.assert_close((low + high) / 2, raw)
    assert (
        Product([(Gaussian(), TargetSpec("regression")), (Laplace(), TargetSpec("regression"))]).residual(
            raw[:, :2], y[:, :2]
        )
        is None
    )


@pytest.mark.parametrize("method", ["nll", "total", "residual"])
def test_wrong_widths_are_named(method):
    for raw, y in [(RAW[:, :8], Y), (RAW, Y[:, :4])]:
        with pytest.raises(InputError, match=r"the parts of this Product need 9 raw outputs and 5 columns of y"):
            getattr(mixed, method)(raw, y)
