"""U-Net: as large as its input whatever the size, with weights set by hand, and level by level against torch."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from ftheta.draw import Draw
from ftheta.errors import InputError
from ftheta.nn import UPSAMPLINGS, UNet


def make(*args, seed=0, **options):
    with Draw(seed).scope():
        return UNet(*args, **options).eval()


def images(*shape, seed=0):
    return torch.rand(shape, generator=Draw(seed).generator("images"))


def by_hand(skip, across=1.0, below=1.0):
    """One halving, one channel; every convolution keeps its input, the output is 3 g + 1."""
    net = make((1, 8, 8), 1, (1, 1), skip=skip, norm="none")
    with torch.no_grad():
        for layer in net.modules():
            if isinstance(layer, nn.Conv2d):
                layer.weight.zero_()
                layer.bias.zero_()
                middle = layer.kernel_size[0] // 2
                layer.weight[:, :, middle, middle] = 1
        if skip == "concat":
            net.decoder[0][0].weight[0, :, 1, 1] = torch.tensor([across, below])
        net.output.weight.fill_(3)
        net.output.bias.fill_(1)
    return net


@pytest.mark.ledger("C222", covers="ftheta.nn.UNet")
@pytest.mark.parametrize("up", UPSAMPLINGS)
def test_three_halvings_of_64_by_64_end_in_8_by_8_and_lead_back(up):
    net, x = make((1, 64, 64), 5, (2, 3, 4, 6), up=up), images(2, 1, 64, 64)
    assert net.code(x).shape == (2, 6, 8, 8) and net(x).shape == (2, 5, 64, 64)


@pytest.mark.parametrize("skip", ["concat", "sum", "none"])
@pytest.mark.parametrize("size", [(32, 48), (33, 47), (5, 64), (1, 1)])
def test_the_output_is_as_large_as_the_input(skip, size):
    assert make((3, 32, 32), 2, (2, 4, 4), skip=skip)(images(2, 3, *size)).shape == (2, 2, *size)


@pytest.mark.parametrize(
    ("skip", "join"),
    [
        ("sum", lambda x, coarse: x + coarse),
        ("none", lambda x, coarse: coarse),
        ("concat", lambda x, coarse: 2 * x + 5 * coarse),
    ],
)
def test_weights_set_by_hand_give_image_and_coarse_image(skip, join):
    x = images(2, 1, 8, 8)
    coarse = x.reshape(2, 1, 4, 2, 4, 2).amax((3, 5)).repeat_interleave(2, 2).repeat_interleave(2, 3)
    torch.testing.assert_close(by_hand(skip, across=2.0, below=5.0)(x), 3 * join(x, coarse) + 1)


def test_without_skips_what_the_bottleneck_does_not_see_is_lost():
    """The smallest pixel of every window of 2 x 2 changes nothing in the hourglass, and shows where there are skips."""
    x = images(1, 1, 8, 8)
    windows = F.unfold(x, 2, stride=2)  # (1, 4, 16)
    lower = F.fold(windows - (windows == windows.amin(1, keepdim=True)) * 0.5 * windows, (8, 8), 2, stride=2)
    assert torch.equal(by_hand("none")(x), by_hand("none")(lower))
    assert not torch.equal(by_hand("sum")(x), by_hand("sum")(lower))


def test_each_level_is_the_formula():
    """Two halvings with norm, written out."""
    net, x = make((2, 8, 8), 3, (3, 4, 5), up="transposed"), images(2, 2, 8, 8)
    a = net.encoder[0](x)
    b = net.encoder[1](F.max_pool2d(a, 2))
    c = net.encoder[2](F.max_pool2d(b, 2))
    b = net.decoder[0](torch.cat([b, net.up[0](c)], 1))
    a = net.decoder[1](torch.cat([a, net.up[1](b)], 1))
    torch.testing.assert_close(net(x), net.output(a))
    torch.testing.assert_close(net.code(x), c)
    assert [type(layer).__name__ for layer in net.encoder[0]] == ["Conv2d", "BatchNorm2d", "ReLU"] * 2


def test_an_image_that_does_not_divide_is_continued_by_its_edge():
    net, x = make((1, 8, 8), 1, (2, 2, 2)), images(1, 1, 6, 7)
    whole = torch.cat([x, x[:, :, -1:].expand(-1, -1, 2, -1)], 2)
    whole = torch.cat([whole, whole[..., -1:]], 3)
    torch.testing.assert_close(net(x), net(whole)[..., :6, :7])
    assert net.code(x).shape == (1, 2, 2, 2)


def test_without_a_norm_convolutions_have_a_bias_and_signals_stay_level():
    net = make((1, 32, 32), 2, (16, 16), norm="none")
    x = torch.randn(8, 1, 32, 32, generator=Draw(0).generator())
    assert all(m.bias is not None for m in net.modules() if isinstance(m, nn.Conv2d))
    assert 0.3 < net.encoder[0](x).square().mean() < 3


def test_dropout_silences_maps_of_the_bottleneck_in_training_only():
    net = make((1, 8, 8), 1, (2, 64), dropout=0.5)
    x = net.code(images(1, 1, 8, 8)) + 1
    assert torch.equal(net.drop(x), x)
    with Draw(0).scope():
        dropped = net.drop.train()(x)
    silent = (dropped == 0).all((2, 3))
    assert 0.3 < silent.float().mean() < 0.7 and torch.allclose(dropped[~silent], 2 * x[~silent])
    x = images(1, 1, 8, 8)
    with Draw(0).scope():
        assert not torch.equal(net(x), net.eval()(x))


@pytest.mark.parametrize(
    ("shape", "options", "sentence"),
    [
        ((8, 8), {}, r"shape=\(8, 8\): UNet takes images, \(channels, height, width\), e\.g\. \(1, 32, 32\)"),
        ((1, 8, 8), {"filters": ()}, r"filters must be a sequence of channels such as \(16, 32, 64\)\. Got \(\)"),
        ((1, 8, 8), {"filters": 16}, "filters must be a sequence of channels .* Got 16 instead"),
        ((1, 8, 8), {"filters": (4, 0)}, r"filters of UNet"),
        ((1, 8, 8), {"skip": "add"}, "Unknown skip 'add'. Known: concat, sum, none"),
        ((1, 8, 8), {"up": "nearst"}, "Unknown upsampling 'nearst'. Did you mean 'nearest'"),
        ((1, 8, 8), {"norm": "bach"}, "Unknown norm 'bach'. Did you mean 'batch'"),
        ((1, 8, 8), {"activation": "rleu"}, "Unknown activation 'rleu'. Did you mean 'relu'"),
        ((1, 8, 8), {"dropout": 1.0}, r"dropout of UNet"),
    ],
)
def test_what_cannot_be_built_is_refused(shape, options, sentence):
    with pytest.raises(InputError, match=sentence):
        UNet(shape, 2, **options)
