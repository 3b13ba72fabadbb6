"""Mixup and cutmix: labels follow images exactly, weights follow the loss."""

import pytest
import torch
import torch.nn.functional as F
from scipy import stats

from ftheta.data import Batch, augmentation, blend, cutmix, mixup
from ftheta.draw import Draw
from ftheta.errors import InputError
from ftheta.likelihoods import Categorical

DRAW = Draw(5).at("train", 2)
both = pytest.mark.parametrize("mix", [mixup, cutmix])


def distinct(n, shape=(2, 6, 9)):
    """Image i is all eᵢ: what is in a mixed image says whose it is."""
    x = torch.eye(n, dtype=torch.double)
    return Batch(x[:, :, None, None].expand(n, n, *shape[1:]).clone(), torch.arange(n), None, torch.arange(n))


@pytest.mark.ledger(
    "C294",
    covers="ftheta.data.blend",
    says="MixUp is among the transformations that preserve the label (14.4)",
    printed=[1.0, 0.0, 0.0],
    right=[0.3, 0.0, 0.7],
)
def test_mixup_does_not_keep_the_label_it_mixes_the_labels(ledger):
    """λ = 0.3 of class 1 and 0.7 of class 3; a transformation that preserves the label would leave (1, 0, 0)."""
    pair = Batch(torch.tensor([[10.0], [20.0]]), torch.tensor([0, 2]))
    found = blend(pair, torch.tensor([1, 0]), torch.tensor([0.3, 0.3]), 3)
    assert found.x.flatten().tolist() == pytest.approx([17.0, 13.0])
    ledger(found.y[0], rtol=1e-6)


@both
def test_labels_are_the_share_of_each_image_exactly(mix):
    found = mix(distinct(40), DRAW, n_classes=40)
    torch.testing.assert_close(found.y, found.x.mean((2, 3)), rtol=0, atol=1e-15)
    assert found.y.dtype == torch.double and torch.equal(found.index, torch.arange(40))
    assert ((found.y > 0).sum(1) <= 2).all() and ((found.y > 0).sum(1) == 2).sum() > 25


@pytest.mark.ledger("C294", covers="ftheta.data.mixup")
def test_the_share_has_its_beta_distribution_and_each_row_has_a_partner_of_its_own():
    n = 500
    found = mixup(Batch(torch.eye(n, dtype=torch.double), torch.arange(n)), DRAW, 0.7, n_classes=n).x
    assert stats.kstest(found.diagonal().numpy(), stats.beta(0.7, 0.7).cdf).pvalue > 0.01
    others = found.fill_diagonal_(0) > 0
    assert (others.sum(0) == 1).all() and (others.sum(1) == 1).all()


@both
def test_of_three_rows_each_other_one_is_as_likely_a_partner(mix):
    first = [int(mix(distinct(3), DRAW.at(i), 5.0, n_classes=3).y[0].gt(0)[1]) for i in range(300)]
    assert 0.4 < sum(first) / 300 < 0.6


def test_cutmix_pastes_one_rectangle_of_the_drawn_area_and_of_the_images_shape():
    """α of a million: λ = ½, so that an area of a half is pasted where it fits, sides √½ of 14 and of 20 pixels."""
    n, sizes = 60, []
    for i, image in enumerate(cutmix(distinct(n, (n, 14, 20)), DRAW, 1e6, n_classes=n).x):
        pasted = image[i] == 0
        rows, columns = pasted.any(1).nonzero().flatten(), pasted.any(0).nonzero().flatten()
        assert pasted[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].all()
        assert pasted.sum() == len(rows) * len(columns)
        sizes.append((len(rows), len(columns)))
    assert tuple(map(max, zip(*sizes, strict=True))) == (10, 14)


@both
def test_the_loss_of_weighted_rows_is_that_of_both_labels(mix):
    n, generator = 30, torch.Generator().manual_seed(0)
    y, weight = torch.randint(0, 3, (n,), generator=generator), torch.rand(n, generator=generator).double() * 5
    images = distinct(n)
    share = mix(images, DRAW, n_classes=n).y  # (B, B): whose pixels are in row i
    found = mix(images._replace(y=y, weight=weight), DRAW, n_classes=3)
    raw = torch.randn(n, 3, generator=generator, dtype=torch.double)
    nll = F.cross_entropy(raw[:, :, None].expand(n, 3, n), y.expand(n, n), reduction="none")  # (i, j): label of j
    torch.testing.assert_close(found.weight * Categorical().nll(raw, found.y), (share * weight * nll).sum(1))
    torch.testing.assert_close(found.weight, share @ weight)
    assert found.weight.dtype == weight.dtype and not torch.allclose(found.weight, weight)


@both
def test_equal_weights_change_nothing_but_the_scale(mix):
    plain, weighted = (mix(distinct(9)._replace(weight=w), DRAW, n_classes=9) for w in (None, torch.full((9,), 2.0)))
    torch.testing.assert_close(plain.y, weighted.y)
    assert weighted.weight.dtype == torch.float and torch.allclose(weighted.weight, torch.tensor(2.0))


@both
def test_rows_of_weight_0_give_finite_labels(mix):
    found = mix(distinct(8)._replace(weight=torch.zeros(8)), DRAW, n_classes=8)
    assert torch.allclose(found.y.sum(1), torch.ones(8, dtype=torch.double)) and not found.weight.any()


@both
def test_two_classes_as_numbers_become_the_probability_of_one(mix):
    y = torch.tensor([0.0, 1.0, 1.0, 0.0, 1.0, 0.0])
    share = mix(distinct(6), DRAW, n_classes=6).y
    found = mix(distinct(6)._replace(y=y), DRAW, n_classes=0).y
    assert found.shape == (6,) and found.dtype == y.dtype
    torch.testing.assert_close(found, (share @ y.double()).float())


@both
def test_one_row_is_mixed_with_itself(mix):
    assert mix(Batch(torch.rand(1, 1, 4, 4), torch.tensor([1])), DRAW, n_classes=2).y.tolist() == [[0.0, 1.0]]


@both
@pytest.mark.parametrize(
    ("y", "words"),
    [
        (torch.tensor([0.5, 2.0, 1.0]), r"torch.float32 of shape \(3,\).*leave them out for regression"),
        (torch.ones(3, 2), r"torch.float32 of shape \(3, 2\).*several labels"),
        (torch.zeros(3, 6, 9).long(), r"torch.int64 of shape \(3, 6, 9\).*labels of pixels"),
        (None, "NoneType; leave them out"),
    ],
)
def test_targets_that_are_no_classes_are_refused(mix, y, words):
    with pytest.raises(InputError, match=rf"y must hold class indices of shape \(3,\), got {words}"):
        mix(distinct(3)._replace(y=y), DRAW, n_classes=2)


@both
def test_the_number_of_classes_must_be_known(mix):
    with pytest.raises(InputError, match="need the number of classes, got n_classes=0"):
        augmentation(mix.__name__)(distinct(3), DRAW)
