"""Receptive fields by closed forms and by changing inputs; equivariance of layers whose symmetry is known."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from ftheta import ModuleClassifier
from ftheta.errors import InputError
from ftheta.explain import equivariance, receptive_field
from ftheta.nn import ConvNet, Flip, Shift, Turn, UNet, residual_block


def chain(*geometry, dims=1):
    """Convolutions with (kernel, stride, dilation)."""
    conv = nn.Conv1d if dims == 1 else nn.Conv2d
    return nn.Sequential(
        *(conv(1 if i == 0 else 3, 3, k, stride=s, dilation=d) for i, (k, s, d) in enumerate(geometry))
    )


def closed_form(geometry):
    """r += (k - 1) d j, j *= s."""
    size, jump, found = 1, 1, []
    for k, s, d in geometry:
        size += (k - 1) * d * jump
        jump *= s
        found.append((size, jump))
    return found


@pytest.mark.ledger("C181", covers="ftheta.explain.receptive_field")
@pytest.mark.parametrize(
    ("geometry", "sizes"),
    [([(3, 1, 1)] * 5, [3, 5, 7, 9, 11]), ([(3, 2, 1)] * 3, [3, 7, 15])],
    ids=["plain", "strided"],
)
def test_the_fields_of_the_notes_are_computed_and_measured(geometry, sizes):
    found = receptive_field(chain(*geometry), input_shape=(1, 41))
    assert found.size[:, 0].tolist() == sizes
    assert (found.measured[:, 0, 1] - found.measured[:, 0, 0] + 1).tolist() == sizes and found.agree.all()
    assert found.table().columns["field"] == [str(size) for size in sizes]


GEOMETRY = [(5, 2, 1), (2, 1, 3), (3, 3, 2), (1, 1, 1)]


def test_kernels_strides_and_dilations_follow_the_closed_form_on_both_axes():
    found = receptive_field(chain(*GEOMETRY, dims=2), input_shape=(1, 60, 70))
    truth = closed_form(GEOMETRY)
    assert found.size.tolist() == [[size, size] for size, _ in truth]
    assert found.step.tolist() == [[jump, jump] for _, jump in truth]
    assert found.agree.all() and found.outputs[-1] == (7, 9)


class Up(nn.Module):
    """Everything that has a rule: pooling, padding, slices, growing again, and a way around it all."""

    def __init__(self, mode="nearest"):
        super().__init__()
        self.first, self.mode = nn.Conv2d(1, 4, 3, padding=1), mode
        self.wide = nn.Conv2d(4, 4, 3, dilation=2, padding=2)
        self.grow = nn.ConvTranspose2d(4, 4, 3, stride=2, padding=1, output_padding=1)

    def forward(self, x):
        h = self.first(x)
        g = F.avg_pool2d(F.pad(h, (1, 2, 0, 1)), 3, 2)
        g = self.wide(g)[..., ::2, 1:]
        g = F.interpolate(self.grow(g), size=h.shape[-2:], mode=self.mode)
        return torch.cat([h, g], 1) if self.mode == "nearest" else h + g


def touched(net, x, unit):
    """Brute force: the inputs whose change moves one unit of the output."""
    net = net.double().eval()
    with torch.no_grad():
        before = net(x)[..., unit[0], unit[1]]
        moved = np.zeros(x.shape[-2:], dtype=bool)
        for i, j in np.ndindex(moved.shape):
            other = x.clone()
            other[:, :, i, j] += 1
            moved[i, j] = not torch.equal(net(other)[..., unit[0], unit[1]], before)
    places = np.argwhere(moved)
    return [[int(a), int(b)] for a, b in zip(places.min(0), places.max(0), strict=True)]


NETS = {
    "nearest": Up,
    "bilinear": lambda: Up("bilinear"),
    "circular": lambda: nn.Sequential(
        nn.Conv2d(1, 3, 3, padding=1, padding_mode="circular"), nn.Conv2d(3, 2, 5, padding=2, padding_mode="reflect")
    ),
    "sub-pixel": lambda: nn.Sequential(
        nn.Conv2d(1, 2, 3, padding="same"), nn.PixelUnshuffle(2), nn.Conv2d(8, 8, 1), nn.PixelShuffle(2)
    ),
    "edge": lambda: nn.Sequential(nn.Conv2d(1, 2, 3, stride=2), nn.Conv2d(2, 2, 9, padding=4)),
    "global": lambda: nn.Sequential(nn.Conv2d(1, 2, 3), nn.GroupNorm(1, 2)),
}


@pytest.mark.parametrize("name", NETS)
def test_any_graph_agrees_with_changing_one_input_at_a_time(name):
    torch.manual_seed(0)
    net = NETS[name]()
    found = receptive_field(net.double(), input_shape=(1, 12, 14))
    height, width = found.outputs[-1] if name != "global" else (10, 12)
    x = torch.randn(4, 1, 12, 14, dtype=torch.float64)
    assert found.computed[-1].tolist() == touched(net, x, (height // 2, width // 2))
    assert found.agree.all()


def test_a_gate_sees_everything_and_a_head_all_that_pooling_leaves():
    torch.manual_seed(1)
    gated = receptive_field(residual_block(8, 8, squeeze=1, zero_last=False), input_shape=(8, 9, 9))
    assert gated.names[-1] == "output" and gated.size[-1].tolist() == [9, 9] and gated.agree.all()
    assert np.isnan(gated.step[-1]).all() and gated.table().columns["stride"][-1] == ""
    plain = receptive_field(ConvNet((1, 28, 28), 10), input_shape=(1, 28, 28))
    assert plain.computed[-1].tolist() == [[0, 25], [0, 25]] and plain.outputs[-1] == () and plain.agree.all()
    assert plain.names == ("conv1", "pool1", "conv2", "pool2", "output")


def test_the_skip_of_a_u_net_does_not_hide_what_comes_from_below():
    torch.manual_seed(0)
    found = receptive_field(UNet((1, 32, 32), 1, (4, 4), norm="none"), input_shape=(1, 32, 32))
    two = [(3, 1, 1)] * 2
    down = closed_form([*two, (2, 2, 1), *two])[-1][0]
    assert found.size[-1].min() > down and found.agree.all()


class Last(nn.Module):
    """A convolution, and any function of what it gives."""

    def __init__(self, f):
        super().__init__()
        self.conv, self.f = nn.Conv2d(1, 2, 3, padding=1).double(), f

    def forward(self, x):
        return self.f(self.conv(x))


def test_one_number_a_row_a_total_and_a_threshold_have_what_they_have():
    one = receptive_field(Last(lambda h: h.mean((1, 2, 3))), input_shape=(1, 9, 9))
    assert one.names == ("conv", "output") and one.agree.all() and one.outputs[-1] == ()
    assert receptive_field(Last(lambda h: (h.sum(), h)), input_shape=(1, 9, 9)).names == ("conv",)
    hard = receptive_field(Last(lambda h: (h > 0).double().mean((2, 3))).requires_grad_(False), input_shape=(1, 9, 9))
    assert hard.measured[-1].tolist() == [[-1, -1]] * 2 and hard.computed[-1].tolist() == [[0, 8]] * 2
    with pytest.raises(InputError, match="Total gave nothing for each of 16 rows; receptive_field needs that"):
        receptive_field(Total(1), input_shape=(1, 9, 9))


class Total(nn.MaxPool2d):
    def forward(self, input):
        return input.sum()


def test_the_effective_field_is_the_gradient():
    """One linear layer: |w| itself, at the places of the middle unit."""
    net = nn.Conv1d(1, 1, 3, bias=False).double()
    found = receptive_field(net, X=np.ones((2, 1, 9)))
    share = found.effective[0] / found.effective[0].sum()
    w = net.weight.detach().abs().numpy().ravel()
    np.testing.assert_allclose(share[3:6], w / w.sum())
    assert not share[:3].any() and not share[6:].any()
    assert found.half[0] == pytest.approx((1 if w.max() >= w.sum() / 2 else 2) / 3)


def test_a_silenced_unit_has_a_computed_field_and_no_measured_one():
    net = nn.Sequential(nn.Conv1d(1, 2, 3), nn.ReLU(), nn.Conv1d(2, 1, 3))
    nn.init.constant_(net[0].bias, -1e6)
    found = receptive_field(net, input_shape=(1, 11))
    assert found.agree.tolist() == [True, False] and found.measured[1].tolist() == [[-1, -1]]
    assert found.table().columns["measured"][1] == "none" and found.table().columns["agree"] == ["yes", "no"]
    assert np.isnan(found.half[1])


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


@pytest.mark.ledger("C170", covers="ftheta.explain.equivariance")
@pytest.mark.parametrize("border", [0, 2])
def test_shared_kernels_are_equivariant_and_not_invariant(border):
    """With zero padding too, once the units that see the edge are left out."""
    layer = circular(1, 4) if border == 0 else nn.Conv2d(1, 4, 3, padding=1).double()
    shift = Shift((0, 1), "circular" if border == 0 else "zeros")
    found = equivariance(layer, shift, maps(3, 1, 12, 12), border=border)
    assert found.equivariance[0, 0] < 1e-14 < 0.1 < found.invariance[0, 0]
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
    """After a circular convolution: a mean over all places forgets the shift, a dense layer of all places does not;
    nor does a dense network of the pixels."""
    torch.manual_seed(0)
    mean = nn.Sequential(circular(1, 4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3).double())
    dense = nn.Sequential(circular(1, 4), nn.ReLU(), nn.Flatten(), nn.Linear(576, 3).double())
    for net, low, high in ((mean, 0, 1e-14), (dense, 0.1, np.inf)):
        found = equivariance(net, SHIFTS, maps(3, 1, 12, 12))
        assert found.equivariance[0].max() < 1e-14 and found.invariance[0].min() > 1
        assert low <= found.invariance[-1].min() and found.invariance[-1].max() <= high
    pixels = nn.Sequential(nn.Flatten(), nn.Linear(144, 16), nn.ReLU(), nn.Linear(16, 3)).double()
    assert equivariance(pixels, SHIFTS, maps(3, 1, 12, 12)).invariance[-1].min() > 0.1


@pytest.mark.ledger(
    "C172", covers="ftheta.explain.equivariance", says="pooling is invariant to translation", printed=0.0, right=2 / 3
)
def test_a_shift_by_one_changes_two_thirds_of_the_maxima_of_two(ledger):
    """Two windows of 2 that share 1 of 3 independent numbers have one maximum if it is the shared one: 1/3."""
    found = equivariance(nn.MaxPool1d(2), Shift(1), maps(100, 1, 256))
    ledger(found.changed[0, 0], rtol=0.02)
    assert found.invariance[0, 0] > 2.25


@pytest.mark.ledger(
    "B094",
    covers="ftheta.explain.equivariance",
    says="parameter sharing and pooling enable invariance, f(t(x)) = f(x)",
    printed=0.0,
    right=2 / 3,
)
def test_pooling_after_a_convolution_is_not_invariant_and_pooling_over_all_places_is(ledger):
    found = equivariance(nn.Sequential(circular(1, 8), nn.MaxPool2d(2)), Shift(1), maps(20, 1, 48, 48), border=2)
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


@pytest.mark.ledger(
    "C189",
    covers="ftheta.nn.Shift",
    says="the maximum over a set of allowed transformations is (approximately) invariant; the proof has =",
    printed=0.0,
    right=13.9395,
)
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
    found = equivariance(nn.AvgPool2d(3, 1), Turn(1), maps(2, 1, 6, 9))
    assert found.equivariance[0, 0] < 1e-15 and np.isnan(found.invariance[0, 0]) and np.isnan(found.changed[0, 0])


def test_an_estimator_shows_its_layers_under_the_usual_transformations():
    torch.manual_seed(0)
    x = maps(12, 1, 6, 6).numpy()
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(32, 2))
    found = equivariance(ModuleClassifier(module=net, epochs=1, random_state=0).fit(x, np.arange(12) % 2), X=x)
    assert found.transforms == ("shift 1", "shift 2", "flip left-right", "flip top-bottom", "turn 90°")
    assert found.names == ("0", "1", "2", "3") and found.n == 12
    lines = found.table().columns
    assert lines["layer"][:6] == ["0"] * 5 + ["1"] and np.isnan(lines["|f(t(x)) - t(f(x))|"][-1])
    assert lines["changed %"][0] == pytest.approx(100 * found.changed[0, 0])


def test_colors_of_equivariance_span_what_was_found():
    found = equivariance(nn.Conv2d(1, 2, 3, padding=1).double(), None, maps(3, 1, 6, 6))
    low, high = found.figure().axes[0].images[0].get_clim()
    errors = np.concatenate([found.equivariance.ravel(), found.invariance.ravel()]) / found.scale[0]
    assert high == pytest.approx(np.log10(np.nanmax(errors))) and high - low >= 1
