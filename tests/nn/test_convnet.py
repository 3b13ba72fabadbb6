"""A convolutional network: its counts, its shapes, and that pooling before the activation is the same function."""

import pytest
import torch
from torch import nn

from ftheta.errors import InputError
from ftheta.explain import summary
from ftheta.nn import ConvNet

REPORT = {"shape": (1, 28, 28), "n_out": 10, "dropout": 0.5}


def net(**settings):
    torch.manual_seed(0)
    return ConvNet(**({"shape": (2, 12, 10), "n_out": 3, "filters": (4, 5)} | settings))


@pytest.mark.ledger("B032", covers="ftheta.nn.ConvNet")
def test_the_network_of_the_report_has_its_shapes_and_34826_parameters():
    found = summary(ConvNet(**REPORT), input_shape=(1, 28, 28))
    counts = {name: n for name, n in zip(found.names, found.parameters.tolist(), strict=True) if n}
    assert counts == {"conv1": 320, "conv2": 18_496, "output": 16_010} and found.parameters.sum() == 34_826
    shapes = [
        found.outputs[found.names.index(name)] for name in ("conv1", "pool1", "conv2", "pool2", "flatten", "output")
    ]
    assert shapes == [(32, 26, 26), (32, 13, 13), (64, 11, 11), (64, 5, 5), (1600,), (10,)]
    assert found.shapes[0]["weight"] == (32, 1, 3, 3) and found.shapes[0]["bias"] == (32,)
    assert "34,826" in found.table().text()


@pytest.mark.ledger("B033", covers="ftheta.explain.summary")
def test_every_layer_has_the_parameters_of_its_formula():
    found = summary(
        ConvNet((3, 16, 16), 7, (4, 6), kernel=5, padding="same", hidden=(11,), dropout=0.1), input_shape=(3, 16, 16)
    )
    counts = dict(zip(found.names, found.parameters.tolist(), strict=True))
    assert counts["conv1"] == 5 * 5 * 3 * 4 + 4 and counts["conv2"] == 5 * 5 * 4 * 6 + 6
    assert counts["dense1"] == 4 * 4 * 6 * 11 + 11 and counts["output"] == 11 * 7 + 7
    assert sum(counts.values()) == sum(counts[name] for name in ("conv1", "conv2", "dense1", "output"))
    made = ConvNet((1, 8, 8), 2, (4,))
    made.conv1.requires_grad_(False)
    found = summary(made, input_shape=(1, 8, 8))
    assert dict(zip(found.names, found.frozen.tolist(), strict=True)) == {
        name: 40 * (name == "conv1") for name in found.names
    }
    assert f"{40 + 74} parameters (74 trainable, 40 frozen)" in found.table().text()


@pytest.mark.parametrize("pool", ["max", "min", "stride"])
def test_pooling_before_the_activation_is_the_same_function_and_has_the_same_gradients(pool):
    fast = net(pool=pool, activation="leaky_relu").double()
    names = list(fast._modules)
    assert names.index("pool1") < names.index("act1")
    slow = nn.Sequential(
        *(fast._modules[name] for name in ("conv1", "act1", "pool1", "conv2", "act2", "pool2", "flatten", "output"))
    )
    x = torch.randn(5, 2, 12, 10, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(fast(x), slow(x), rtol=1e-12, atol=1e-12)
    there, here = (torch.autograd.grad(f(x).square().sum(), x)[0] for f in (slow, fast))
    torch.testing.assert_close(here, there)


@pytest.mark.parametrize(
    ("settings", "shape", "reach"),
    [
        ({}, (2, 28, 28), (26, 26)),
        ({}, (2, 28, 30), (26, 30)),
        ({"kernel": 5, "pool": "mean"}, (2, 29, 31), (28, 28)),
        ({"convs": (2, 1)}, (2, 21, 23), (20, 20)),
        ({"pool": "none", "filters": (3,)}, (2, 9, 9), (9, 9)),
        ({"padding": "same"}, (2, 27, 27), (27, 27)),
        ({"norm": "batch"}, (2, 28, 28), (28, 28)),
        ({"head": "max", "pool": "min"}, (2, 28, 28), (26, 26)),
    ],
)
def test_training_leaves_out_the_pixels_that_reach_no_output(settings, shape, reach):
    made = net(shape=shape, **settings).double()
    assert made.reach == reach
    x = torch.randn(3, *shape, dtype=torch.float64, requires_grad=True)
    whole, cut = made.eval(), [*made.parameters(), x]
    there = torch.autograd.grad(whole(x).square().sum(), cut) if "norm" not in settings else None
    seen = []
    made.conv1.register_forward_hook(lambda _, given, out: seen.append(tuple(given[0].shape[-2:])))
    y = made.train()(x)
    assert seen == [reach]
    if there is not None:
        torch.testing.assert_close(y, made.eval()(x), rtol=1e-12, atol=1e-12)
        here = torch.autograd.grad(y.square().sum(), cut)
        for one, other in zip(here, there, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)
        used = there[-1].abs().sum((0, 1)) > 0  # the last pixels that matter are the ones at the reach
        assert tuple(int(torch.nonzero(used.any(1 - k)).max()) + 1 for k in (0, 1)) == reach


def test_another_size_than_the_one_it_was_made_for_is_not_cut():
    made = net(shape=(2, 28, 28), head="mean").train()
    seen = []
    made.conv1.register_forward_hook(lambda _, given, out: seen.append(tuple(given[0].shape[-2:])))
    made(torch.zeros(1, 2, 40, 40))
    assert seen == [(40, 40)]


@pytest.mark.parametrize(("pool", "activation"), [("mean", "relu"), ("max", "gelu"), ("max", "bump")])
def test_where_the_order_matters_the_activation_comes_first(pool, activation):
    names = list(net(pool=pool, activation=activation)._modules)
    assert names.index("act1") < names.index("pool1")


def test_stages_norms_heads_and_drops_are_named_in_order():
    made = net(convs=(1, 2), norm="group", padding="same", head="mean", hidden=(6,), dropout=0.2)
    stages = "conv1 norm1 pool1 act1 conv2 norm2 act2 conv3 norm3 pool2 act3"
    assert " ".join(made._modules) == f"{stages} mean flatten drop dense1 dense_act1 dense_drop1 output"
    assert made(torch.zeros(4, 2, 12, 10)).shape == (4, 3)
    assert type(made[:3]) is nn.Sequential


@pytest.mark.parametrize("kernel", [3, 4, 5])
@pytest.mark.parametrize("padding", ["valid", "same", 1, 2])
def test_the_dense_layers_fit_what_windows_and_padding_leave(padding, kernel):
    if (padding, kernel) != ("same", 4):
        assert net(padding=padding, kernel=kernel, filters=(4,))(torch.zeros(1, 2, 12, 10)).shape == (1, 3)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"filters": (4, 4, 4)}, r"conv3 has windows of 3x3, but only 1x1 pixels reach it\. Use fewer stages"),
        ({"shape": (1, 1, 1)}, r"conv1 has windows of 3x3, but only 1x1 pixels reach it"),
        ({"shape": (1, 3, 3)}, r"pool1 has windows of 2x2, but only 1x1 pixels reach it"),
        ({"head": "average"}, r"Unknown head 'average'\. .*Known: flatten, mean, max\."),
        ({"convs": (1, 2, 3)}, r"convs=\(1, 2, 3\) is for 3 stages, filters=\(4, 5\) has 2\."),
        ({"convs": (1, 0)}, r"convs of ConvNet"),
        ({"kernel": (3, 5)}, r"kernel of ConvNet"),
        ({"n_out": 0}, r"n_out of ConvNet"),
        ({"hidden": (3, 0)}, r"hidden of ConvNet"),
        ({"shape": (12, 10)}, r"shape=\(12, 10\): ConvNet takes images, \(channels, height, width\)"),
        ({"filters": ()}, r"filters must be a sequence of channels such as \(16, 32, 64\)\. Got \(\)"),
        ({"dropout": 1.0}, r"dropout of ConvNet"),
        ({"pool": "maximum"}, r"Unknown pooling 'maximum'"),
        ({"pool": "global_max"}, r"Unknown pooling 'global_max'\. .*Known: none, max, min, stride, mean"),
        ({"norm": "batches"}, r"Unknown norm"),
    ],
)
def test_what_cannot_be_built_is_one_sentence(settings, said):
    with pytest.raises(InputError, match=said):
        net(**settings)


def test_weights_start_as_the_activation_asks():
    made = ConvNet((8, 20, 20), 3, (64,), activation="tanh")
    assert made.conv1.weight.std().item() == pytest.approx((2 / (8 * 9 + 64 * 9)) ** 0.5, rel=0.05)
    assert made.output.weight.std().item() == pytest.approx((1 / made.output.in_features) ** 0.5, rel=0.05)
