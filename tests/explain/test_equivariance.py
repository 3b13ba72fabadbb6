"""Equivariance and invariance, measured: convolutions move along, windows forget a little, all places together all."""

import numpy as np
import pytest
import torch
from torch import nn

from ftheta import ModuleClassifier
from ftheta.explain import equivariance
from ftheta.nn import Flip, Shift, Turn


def maps(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def circular(n_in, n_out, stride=1):
    return nn.Conv2d(n_in, n_out, 3, stride=stride, padding=1, padding_mode="circular").double()


def invariance(net, transforms, x):
    """Largest |f(t(x)) - f(x)| of the output."""
    return float(equivariance(net, transforms, x).invariance[-1].max())


class Function(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, x):
        return self.f(x)


SHIFTS = [Shift(by) for by in [(0, 1), (3, 0), (-2, 5), (7, 7)]]


@pytest.mark.ledger("C171", "B316", covers="ftheta.explain.equivariance")
def test_a_circular_convolution_moves_with_its_input_to_rounding():
    found = equivariance(circular(1, 4), SHIFTS, maps(3, 1, 12, 12))
    assert found.equivariance.shape == (1, 4) and found.equivariance.max() < 1e-14
    assert found.invariance.min() > 1 and found.changed.min() > 0.99


@pytest.mark.parametrize(
    "layer", [circular(1, 4, stride=2), nn.MaxPool2d(2), nn.AvgPool2d(2)], ids=["conv", "max", "mean"]
)
def test_a_step_of_two_is_equivariant_to_even_shifts_only(layer):
    """There is no shift of the smaller map that would do for an odd one: all of them are tried."""
    x = maps(3, 1, 12, 12)
    found = equivariance(layer, [Shift(by) for by in range(1, 5)], x)
    assert np.isnan(found.equivariance[0]).tolist() == [True, False, True, False]
    assert np.nanmax(found.equivariance) < 1e-14 and found.invariance.min() > 0.1
    with torch.no_grad():
        f, moved = layer(x), layer(Shift(1)(x))
    assert min(float((moved - Shift(k)(f)).abs().max()) for k in range(6)) > 0.1


def test_strides_multiply_and_a_head_has_no_places():
    torch.manual_seed(0)
    net = nn.Sequential(
        circular(1, 4), nn.ReLU(), nn.MaxPool2d(2), circular(4, 4, 2), nn.Flatten(), nn.Linear(36, 2).double()
    )
    found = equivariance(net, [Shift(2), Shift(4)], maps(3, 1, 12, 12))
    assert found.names == ("0", "1", "2", "3", "4", "5")
    assert np.isnan(found.equivariance).tolist() == [[False] * 2] * 3 + [[True, False]] + [[True] * 2] * 2
    assert np.nanmax(found.equivariance) < 1e-14


WORDS = {(True, False): "equivariant", (False, True): "invariant", (False, False): "neither", (True, True): "both"}


@pytest.mark.ledger("A210", "C170", covers="ftheta.explain.equivariance", printed="invariant", right="equivariant")
@pytest.mark.parametrize("border", [0, 2])
def test_shared_kernels_are_equivariant_and_not_invariant(ledger, border):
    """With zero padding too, once the units that see the edge are left out."""
    layer = circular(1, 4) if border == 0 else nn.Conv2d(1, 4, 3, padding=1).double()
    shift = Shift((0, 1), "circular" if border == 0 else "zeros")
    found = equivariance(layer, shift, maps(3, 1, 12, 12), border=border)
    ledger(WORDS[bool(found.equivariance[0, 0] < 1e-14), bool(found.invariance[0, 0] < 1e-14)])
    if border:
        assert equivariance(layer, shift, maps(3, 1, 12, 12)).equivariance[0, 0] > 0.01
        assert np.isnan(equivariance(layer, shift, maps(3, 1, 12, 12), border=6).equivariance[0, 0])


def test_the_border_of_a_coarse_map_is_rounded_up():
    """A step of 2: places 0, 1, 2 lie 0, 2, 4 inputs from the edge, which a window of 7, moved by 2, sees."""
    torch.manual_seed(0)
    layer = nn.Conv1d(1, 4, 7, stride=2, padding=3).double()
    found = [equivariance(layer, Shift(2), maps(3, 1, 24), border=b).equivariance[0, 0] for b in (4, 5)]
    assert found[0] > 0.01 and found[1] < 1e-14


@pytest.mark.ledger("A210", covers="ftheta.explain.equivariance")
def test_a_class_score_is_as_invariant_as_its_head():
    """After a circular convolution: a mean over all places forgets the shift, a dense layer of all places does not."""
    torch.manual_seed(0)
    mean = nn.Sequential(circular(1, 4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3).double())
    dense = nn.Sequential(circular(1, 4), nn.ReLU(), nn.Flatten(), nn.Linear(576, 3).double())
    for net, low, high in ((mean, 0, 1e-14), (dense, 0.1, np.inf)):
        found = equivariance(net, SHIFTS, maps(3, 1, 12, 12))
        assert found.equivariance[0].max() < 1e-14 and found.invariance[0].min() > 1
        assert low <= found.invariance[-1].min() and found.invariance[-1].max() <= high


@pytest.mark.ledger("C172", covers="ftheta.explain.equivariance", printed=0.0, right=2 / 3)
def test_a_shift_by_one_changes_two_thirds_of_the_maxima_of_two(ledger):
    """Two windows of 2 that share 1 of 3 independent numbers have one maximum if it is the shared one: 1/3."""
    found = equivariance(nn.MaxPool1d(2), Shift(1), maps(100, 1, 256))
    ledger(found.changed[0, 0], rtol=0.02)
    assert found.invariance[0, 0] > 2.25


@pytest.mark.ledger("B094", covers="ftheta.explain.equivariance", printed=0.0, right=2 / 3)
def test_pooling_after_a_convolution_is_not_invariant_and_pooling_over_all_places_is(ledger):
    net = nn.Sequential(circular(1, 8), nn.MaxPool2d(2))
    found = equivariance(net, Shift(1), maps(20, 1, 48, 48), border=2)
    ledger(found.changed[1, 0], rtol=0.03)
    assert found.equivariance[0, 0] < 1e-14 and found.invariance[0, 0] > 1
    assert invariance(nn.Sequential(circular(1, 8), nn.AdaptiveMaxPool2d(1)), Shift(1), maps(3, 1, 12, 12)) < 1e-14


@pytest.mark.ledger("C170", covers="ftheta.explain.equivariance")
def test_the_largest_number_of_a_map_does_not_move():
    family = [Shift(1), Shift((5, -3)), Flip(), Turn(1), Turn(2)]
    assert invariance(nn.AdaptiveMaxPool2d(1), family, maps(3, 2, 8, 8)) == 0
    assert invariance(nn.AdaptiveAvgPool2d(1), family, maps(3, 2, 8, 8)) < 1e-15
    x = maps(3, 8)
    assert invariance(Function(lambda v: v[:, :1]), [Shift(0), Shift(1)], x) == float((x[:, 7] - x[:, 0]).abs().max())


@pytest.mark.ledger("C189", covers="ftheta.nn.Shift", printed=0.0, right=13.9395)
def test_a_maximum_over_a_set_that_is_no_group_is_not_invariant(ledger):
    """g(x) = w x: over all four shifts of four places nothing moves, over the set {0, 1} much does."""
    w, x = torch.tensor([1.0, -2.0, 0.5, 1.5], dtype=torch.float64), maps(1000, 4)

    shifts = [Shift(k) for k in range(4)]  # a group

    def over(transforms, reduce=torch.amax):
        return Function(lambda v: reduce(torch.stack([t(v) @ w for t in transforms]), 0))

    assert invariance(over(shifts), shifts, x) == 0
    assert invariance(over(shifts, torch.sum), shifts, x) < 1e-14
    ledger(invariance(over(shifts[:2]), shifts, x))


def test_own_transformations_are_taken_as_they_are():
    found = equivariance(Function(lambda x: x.square()), [torch.neg, lambda x: x.roll(1, -1)], maps(2, 1, 6))
    assert found.transforms == ("neg", "<lambda>") and found.names == ("Function",)
    assert found.invariance[0, 0] == 0 and found.equivariance[0, 0] == pytest.approx(2 * found.scale[0])
    assert found.equivariance[0, 1] == 0 and found.invariance[0, 1] > 0.1


def test_a_quarter_turn_of_what_is_no_square_can_be_compared_with_the_turned_map_only():
    blur = nn.AvgPool2d(3, 1)
    found = equivariance(blur, Turn(1), maps(2, 1, 6, 9))
    assert found.equivariance[0, 0] < 1e-15 and np.isnan(found.invariance[0, 0]) and np.isnan(found.changed[0, 0])


def test_an_estimator_shows_its_layers_under_the_usual_transformations():
    torch.manual_seed(0)
    x = maps(12, 1, 6, 6).numpy()
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(32, 2))
    model = ModuleClassifier(module=net, epochs=1, random_state=0).fit(x, np.arange(12) % 2)
    found = equivariance(model, X=x)
    assert found.transforms == ("shift 1", "shift 2", "flip left-right", "flip top-bottom", "turn 90°")
    assert found.names == ("0", "1", "2", "3") and found.n == 12
    lines = found.table().columns
    assert lines["layer"][:6] == ["0"] * 5 + ["1"] and np.isnan(lines["|f(t(x)) - t(f(x))|"][-1])
    assert lines["changed %"][0] == pytest.approx(100 * found.changed[0, 0])
