"""Convolution layers against direct sums and finite differences."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import signal
from sklearn.datasets import load_digits
from torch import nn
from torch.autograd import gradcheck

from ftheta import explain
from ftheta.errors import InputError
from ftheta.formulas import output_size
from ftheta.nn import MLP, activation, convolution, multiply_adds, pooling, separable


def normal(*shape):
    return torch.randn(*shape, dtype=torch.double)


def filled(layer, weight, bias=0.0):
    """The layer in float64 with these weights."""
    layer.double()
    with torch.no_grad():
        layer.weight.copy_(torch.as_tensor(weight, dtype=torch.double).expand_as(layer.weight))
        if layer.bias is not None:
            layer.bias.fill_(bias)
    return layer


def counted(module):
    return sum(p.numel() for p in module.parameters())


def by_taps(x, w, stride, dilation, padding, mode):
    """The sums in NumPy, one tap of the kernel after the other: (C, ...), (O, C, ...) -> (O, ...)."""
    spread = [dilation * (k - 1) for k in w.shape[2:]]
    side = [{"same": s // 2, "valid": 0}.get(padding, padding) for s in spread]
    x = np.pad(x, [(0, 0), *((p, p) for p in side)], mode={"zeros": "constant", "circular": "wrap"}.get(mode, mode))
    fit = [n - s for n, s in zip(x.shape[1:], spread, strict=True)]
    total = 0.0
    for tap in np.ndindex(w.shape[2:]):
        seen = x[:, *(slice(t * dilation, t * dilation + n, stride) for t, n in zip(tap, fit, strict=True))]
        total = total + np.einsum("oc,c...->o...", w[:, :, *tap], seen)
    return total


@pytest.mark.parametrize("mode", ["zeros", "reflect", "circular"])
@pytest.mark.parametrize("padding", ["same", "valid", 2])
@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (1, 2), (3, 2)])
@pytest.mark.parametrize("dims", [1, 2])
def test_a_layer_is_the_sum_of_its_formula(dims, stride, dilation, padding, mode):
    knobs = {"stride": stride, "dilation": dilation, "padding": padding, "mode": mode}
    layer = convolution(2, 3, dims=dims, **knobs).double()
    x = normal(2, 2, *(9, 8)[:dims])
    w, b = layer.weight.detach().numpy(), layer.bias.detach().numpy().reshape(-1, *(1,) * dims)
    right = [by_taps(row, w, **knobs) + b for row in x.numpy()]
    np.testing.assert_allclose(layer(x).detach().numpy(), right, atol=1e-12)


@pytest.mark.ledger(
    "A200", covers="ftheta.nn.convolution", says="Σ_c Σ_x Σ_y K_cxy I_{c,x+i,y+j} + b_c", printed=27.0, right=1.0
)
def test_a_filter_sums_over_channels_and_adds_its_bias_once(ledger):
    """Inside the triple sum the bias counts C k² times."""
    layer = filled(convolution(3, 1, padding="valid"), 0.0, bias=1.0)
    x = normal(1, 3, 5, 5).requires_grad_()
    once = layer(x)[0, 0, 0, 0].item()
    layer = filled(layer, normal(1, 3, 3, 3))
    w, image = layer.weight.tolist()[0], x.tolist()[0]
    by_loops = sum(w[c][i][j] * image[c][2 + i][1 + j] for c in range(3) for i in range(3) for j in range(3))
    y = layer(x)
    assert layer.weight.shape == (1, 3, 3, 3) and y.shape == (1, 1, 3, 3)
    assert y[0, 0, 2, 1].item() == pytest.approx(by_loops, abs=1e-12)
    seen = torch.autograd.grad(y[0, 0, 2, 2], x)[0][0, 0].nonzero()
    assert convolution(3, 1, 5, padding="valid")(torch.zeros(1, 3, 5, 5)).shape[-1] == 1  # k = W is legal
    assert seen.max().item() == 4  # the last of five rows
    ledger(once)


@pytest.mark.ledger("C180", covers="ftheta.nn.convolution")
def test_one_kernel_spans_all_channels_and_a_drawing_shows_the_inputs_of_an_output():
    layer = filled(convolution(3, 1, dims=1), normal(1, 3, 3))
    assert layer.weight.shape == (1, 3, 3)  # C_i x K for the one output
    x = normal(1, 3, 9).requires_grad_()
    seen = torch.autograd.grad(layer(x)[0, 0, 4], x)[0]
    assert (seen[0] != 0).nonzero().tolist() == [[c, i] for c in range(3) for i in (3, 4, 5)]
    found = explain.receptive_field(filled(convolution(3, 1), 1.0), input_shape=(3, 9, 9))
    assert found.computed[0].tolist() == [[3, 5], [3, 5]] and np.count_nonzero(found.effective[0]) == 9
    assert len(found.figure().axes) >= 1


@pytest.mark.ledger(
    "C182",
    covers="ftheta.nn.convolution",
    says="x_{i+m-2, j+n-2} for m, n = 1 ... K",
    printed=[-1, 0, 1, 2, 3],
    right=[-2, -1, 0, 1, 2],
)
def test_a_kernel_of_any_odd_size_is_centred(ledger):
    ones = filled(convolution(1, 1), 1.0)
    centre, edge, corner = (
        ones(torch.ones(1, 1, 5, 5, dtype=torch.double))[0, 0, i, j] for i, j in ((2, 2), (0, 2), (4, 0))
    )
    assert [centre.item(), edge.item(), corner.item()] == [9, 6, 4]
    x = torch.zeros(1, 1, 11, 11, dtype=torch.double, requires_grad=True)
    y = filled(convolution(1, 1, 5), 1.0)(x)
    seen = torch.autograd.grad(y[0, 0, 5, 5], x)[0][0, 0].nonzero()[:, 0].unique()
    image = normal(8, 9)
    for k in (1, 3, 5, 7):
        kernel = normal(k, k)
        right = signal.correlate2d(image.numpy(), kernel.numpy(), "same") + 0.5
        mine = activation("relu")(filled(convolution(1, 1, k), kernel, bias=0.5)(image[None, None]))[0, 0]
        np.testing.assert_allclose(mine.detach(), np.maximum(right, 0), atol=1e-10)
    ledger((seen - 5).tolist())


@given(st.integers(1, 20), st.sampled_from([1, 3, 5, 7]), st.integers(1, 4), st.integers(1, 3))
def test_same_padding_gives_the_size_over_the_stride_rounded_up(n, kernel, stride, dilation):
    layer = convolution(1, 1, kernel, dims=1, stride=stride, dilation=dilation)
    assert layer(torch.zeros(1, 1, n)).shape[-1] == -(-n // stride)
    assert output_size(n, kernel, stride=stride, dilation=dilation, padding=layer.padding[0]) == -(-n // stride)


@pytest.mark.ledger("C179", covers="ftheta.nn.convolution")
def test_maps_are_stacked_and_each_has_its_kernel():
    layer, x = convolution(2, 5).double(), normal(3, 2, 6, 6)
    y = layer(x)
    assert y.shape == (3, 5, 6, 6)
    for o in range(5):
        alone = filled(convolution(2, 1), layer.weight[o : o + 1].detach(), layer.bias[o].item())
        torch.testing.assert_close(y[:, o : o + 1], alone(x), rtol=0, atol=1e-12)


@pytest.mark.ledger("C176", covers="ftheta.nn.convolution")
def test_the_weights_of_a_kernel_do_not_depend_on_the_length():
    layer = filled(convolution(1, 1, 5, dims=1), 1.0)
    assert layer.weight.numel() == 5
    for n in (5, 9, 40):
        x = normal(1, 1, n).requires_grad_()
        assert (torch.autograd.grad(layer(x)[0, 0, n // 2], x)[0] != 0).sum() == 5
    assert counted(convolution(3, 4, 5, dims=1)) == 3 * 4 * 5 + 4
    assert counted(layer) == 6  # and a bias


@pytest.mark.ledger("C183", covers="ftheta.nn.convolution")
def test_weights_are_counted_by_channels_and_kernel():
    layer = convolution(3, 16)
    assert [p.numel() for p in layer.parameters()] == [432, 16]
    assert layer(torch.zeros(1, 3, 7, 9)).shape == (1, 16, 7, 9)
    assert counted(convolution(64, 128, 5)) == 128 * (64 * 5 * 5 + 1) == 204_928
    assert counted(layer) == 16 * (3 * 3 * 3 + 1) == 448


@pytest.mark.ledger("C184", covers="ftheta.nn.convolution")
def test_a_kernel_of_one_is_a_dense_layer_at_every_pixel():
    layer, x = convolution(5, 3, 1).double(), normal(2, 5, 4, 6)
    dense = nn.Linear(5, 3).double()
    dense.weight.data, dense.bias.data = layer.weight.data[:, :, 0, 0], layer.bias.data
    torch.testing.assert_close(layer(x), dense(x.movedim(1, -1)).movedim(-1, 1), rtol=0, atol=1e-12)
    assert counted(convolution(256, 64, 1)) == 16_448


@pytest.mark.ledger("B313", covers="ftheta.nn.convolution")
def test_four_kernels_pooling_and_softmax_have_their_shapes_and_counts():
    net = nn.Sequential(
        convolution(1, 4, 5, padding="valid"), nn.Sigmoid(), pooling("max"), nn.Flatten(), nn.Linear(576, 10)
    )
    shapes, x = [], torch.zeros(1, 1, 28, 28)
    for layer in net:
        x = layer(x)
        shapes.append(tuple(x.shape[1:]))
    assert shapes == [(4, 24, 24), (4, 24, 24), (4, 12, 12), (576,), (10,)]
    assert (counted(net[0]), counted(net[-1]), counted(net)) == (104, 5_770, 5_874)
    assert sum(multiply_adds(net, (1, 28, 28)).values()) == 4 * 25 * 24 * 24 + 5_760


@pytest.mark.ledger("C191", covers="ftheta.nn.convolution")
def test_outputs_know_only_their_window():
    net = nn.Sequential(convolution(1, 3), nn.ReLU(), convolution(3, 2)).double()  # fields of 5 x 5
    x = normal(1, 1, 12, 12)
    inside = torch.zeros_like(x)
    inside[..., 2:9, 1:8] = x[..., 2:9, 1:8]
    same = slice(4, 7), slice(3, 6)  # at least 2 from the border of the window
    changed = (net(x) - net(inside)).abs()[0].amax(0)
    assert (changed[same] == 0).all()
    changed[same] = 1
    assert (changed > 0).all()  # and no other: every field that leaves the window sees the change
    dense = MLP(144, 144, (20,)).double()
    assert ((dense(x.flatten(1)) - dense(inside.flatten(1))) != 0).all()


class Local(nn.Module):
    """A 3 x 3 kernel and a bias of its own for each of the 6 x 6 places of an 8 x 8 image."""

    def __init__(self, n_out):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(n_out, 9, 36) / 3), nn.Parameter(torch.zeros(n_out, 36))

    def forward(self, x):
        return torch.einsum("bkp,okp->bop", nn.functional.unfold(x, 3), self.weight) + self.bias


@pytest.mark.middle
@pytest.mark.ledger("B093", covers="ftheta.nn.convolution")
def test_shared_weights_learn_digits_as_well_as_many_more_of_their_own():
    """The same 6 x 6 x 8 maps of 8 x 8 digits by a dense, a locally connected and a convolution layer."""
    pixels, labels = load_digits(return_X_y=True)
    x, y = torch.tensor(pixels / 16, dtype=torch.float32).reshape(-1, 1, 8, 8), torch.tensor(labels)
    firsts = {
        "dense": nn.Sequential(nn.Flatten(), nn.Linear(64, 288)),
        "local": Local(8),
        "shared": convolution(1, 8, padding="valid"),
    }
    assert {name: counted(first) for name, first in firsts.items()} == {
        "dense": 288 * (64 + 1),
        "local": 36 * 8 * (3 * 3 + 1),
        "shared": 8 * (3 * 3 + 1),
    }
    accuracy = {}
    for name, first in firsts.items():
        net = nn.Sequential(first, nn.ReLU(), nn.Flatten(), nn.Linear(288, 10))
        rule = torch.optim.Adam(net.parameters(), lr=0.01)
        for _ in range(60):
            rule.zero_grad()
            nn.functional.cross_entropy(net(x[:1000]), y[:1000]).backward()
            rule.step()
        accuracy[name] = (net(x[1000:]).argmax(1) == y[1000:]).double().mean().item()
    assert min(accuracy.values()) > 0.9 and accuracy["shared"] > max(accuracy.values()) - 0.03  # two standard errors


@pytest.mark.ledger("C178", covers="ftheta.nn.convolution")
@pytest.mark.parametrize("mode", ["zeros", "reflect", "circular"])
@pytest.mark.parametrize("dims", [1, 2])
def test_gradients_of_input_kernel_and_bias_are_those_of_differences(dims, mode):
    layer = convolution(2, 4, dims=dims, stride=2, dilation=2, mode=mode, groups=2).double()
    act, x = activation("tanh"), normal(2, 2, *(6, 5)[:dims]).requires_grad_()

    def f(x, weight, bias):
        return act(torch.func.functional_call(layer, {"weight": weight, "bias": bias}, (x,)))

    assert gradcheck(f, (x, layer.weight, layer.bias), eps=1e-6, atol=1e-6, rtol=0)


def test_groups_do_not_see_one_another():
    layer, x = convolution(4, 6, groups=2).double(), normal(1, 4, 5, 5)
    assert layer.weight.shape == (6, 2, 3, 3)
    other = x.clone()
    other[:, 2:] = 0
    assert (layer(x)[:, :3] == layer(other)[:, :3]).all()
    assert (layer(x)[:, 3:] != layer(other)[:, 3:]).any()


@pytest.mark.parametrize("dims", [1, 2])
def test_a_separable_layer_is_a_convolution_of_low_rank(dims):
    net = separable(3, 5, 5, dims=dims, stride=2, dilation=2, mode="circular", padding=3).double()
    assert [name for name, _ in net.named_children()] == ["depth", "point"] and net.depth.bias is None
    assert counted(net) == 3 * 5**dims + 5 * 3 + 5
    kernel = net.depth.weight.transpose(0, 1) * net.point.weight  # (1, C, K..) * (O, C, 1..)
    whole = convolution(3, 5, 5, dims=dims, stride=2, dilation=2, mode="circular", padding=3)
    whole = filled(whole, kernel.detach())
    with torch.no_grad():
        whole.bias.copy_(net.point.bias)
    x = normal(2, 3, *(12, 11)[:dims])
    torch.testing.assert_close(net(x), whole(x), rtol=0, atol=1e-12)
    assert separable(3, 5, bias=False).point.bias is None


@pytest.mark.parametrize("mode", ["zeros", "reflect"])
def test_a_kernel_of_one_with_a_stride_takes_the_places_of_torch(mode):
    layer = convolution(4, 6, 1, stride=(2, 3), groups=2, mode=mode).double()
    plain = nn.Conv2d(4, 6, 1, stride=(2, 3), groups=2).double()
    plain.load_state_dict(layer.state_dict())
    for x in (normal(3, 4, 7, 8), normal(4, 7, 8), normal(1, 4, 1, 1)):
        torch.testing.assert_close(layer(x), plain(x), rtol=0, atol=1e-12)


def test_channels_last_and_rows_of_a_vmap_give_the_same():
    layer, x = convolution(3, 4), torch.randn(2, 3, 6, 6)
    right = layer(x)
    torch.testing.assert_close(layer.to(memory_format=torch.channels_last)(x), right)
    torch.testing.assert_close(torch.vmap(layer)(x), right)


@pytest.mark.parametrize(
    ("knobs", "words"),
    [
        ({"dims": 3}, r"dims of convolution"),
        ({"mode": "reflct"}, "Unknown padding mode 'reflct'. Did you mean 'reflect'"),
        ({"padding": "full"}, "Unknown padding 'full'.* Known: same, valid"),
        ({"padding": -1}, r"padding of convolution"),
        ({"kernel": 4}, "'same' pads both sides alike, which kernel 4 does not allow; take an odd kernel"),
        ({"kernel": 0}, r"kernel of convolution"),
        ({"kernel": (3, 0)}, r"kernel of"),
        ({"kernel": (3, 3, 3)}, r"Got \(3, 3, 3\) for 2 axes; give one number for all axes or one for each"),
        ({"stride": 0}, "stride of convolution"),
        ({"dilation": 1.0}, "dilation of convolution"),
        ({"n_in": (3, 3)}, r"n_in of convolution"),
        ({"n_out": True}, "n_out of convolution"),
        ({"groups": 2}, "groups=2 must divide both n_in=3 and n_out=4"),
        ({"groups": 3}, "groups=3 must divide both n_in=3 and n_out=4"),
    ],
)
def test_wrong_knobs_are_refused(knobs, words):
    with pytest.raises(InputError, match=words):
        convolution(**{"n_in": 3, "n_out": 4, **knobs})
