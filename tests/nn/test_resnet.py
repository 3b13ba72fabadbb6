"""A residual network: sizes, its start, survival that falls with depth, and no crash with few channels."""

import pytest
import torch
from torch import nn

from ftheta.errors import InputError
from ftheta.nn import ResNet, StochasticDepth


def test_every_stage_but_the_first_halves_the_size():
    made = ResNet((3, 20, 16), 5, (4, 8, 16), blocks=2)
    x, shapes = torch.randn(2, 3, 20, 16), []
    for name in ("stem", "stage1", "stage2", "stage3"):
        x = made._modules[name](x)
        shapes.append(tuple(x.shape[1:]))
    assert shapes == [(4, 20, 16), (4, 20, 16), (8, 10, 8), (16, 5, 4)]
    assert made(torch.randn(2, 3, 20, 16)).shape == (2, 5)


@pytest.mark.parametrize("order", ["pre", "post"])
def test_a_stage_without_projection_starts_as_the_identity_up_to_its_activation(order):
    made = ResNet((1, 8, 8), 2, (4,), blocks=3, order=order)
    x = torch.rand(4, 4, 8, 8)  # not negative: the activation after the sum changes nothing
    torch.testing.assert_close(made.stage1(x), x)


def test_survival_falls_linearly_to_the_last_block():
    made = ResNet((1, 8, 8), 2, (4, 8), blocks=2, survival=0.6)
    drops = [module.p for module in made.modules() if isinstance(module, StochasticDepth)]
    assert drops == pytest.approx([0.1, 0.2, 0.3, 0.4])


@pytest.mark.parametrize("channels", [1, 3, 7, 12])
def test_few_channels_last_train_without_a_crash_and_give_the_same_gradients(channels):
    torch.manual_seed(0)
    made = ResNet((channels, 8, 8), 3, (channels, 8), blocks=1).double()
    x = torch.randn(20, channels, 8, 8, dtype=torch.float64)
    made(x).square().sum().backward()
    plain = {name: p.grad.clone() for name, p in made.named_parameters()}
    made.zero_grad()
    last = {"memory_format": torch.channels_last}
    made.float().to(**last)(x.float().contiguous(**last)).square().sum().backward()
    for name, p in made.named_parameters():
        atol = 1e-3 * float(plain[name].abs().max() + 1)
        torch.testing.assert_close(p.grad.double(), plain[name], rtol=1e-3, atol=atol)


def test_bottlenecks_squeeze_and_dropout_are_built():
    knobs = {"kind": "bottleneck", "squeeze": 4, "dropout": 0.3, "norm": "group", "activation": "silu", "order": "pre"}
    made = ResNet((1, 16, 16), 2, (8, 16), blocks=1, **knobs)
    assert list(made._modules) == "stem stage1 stage2 last mean flatten drop output".split()
    block = made.stage2[0].branch
    assert block.conv1.kernel_size == (1, 1) and block.squeeze.gate[0].out_features == 4 and made.stem[0].bias is None
    assert ResNet((1, 8, 8), 2, (4,), norm="none").stem[0].bias is not None
    assert made(torch.zeros(2, 1, 16, 16)).shape == (2, 2) and type(made[:2]) is nn.Sequential


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"shape": (8, 8)}, r"shape=\(8, 8\): ResNet takes images, \(channels, height, width\)"),
        ({"filters": ()}, r"filters must be a sequence of channels such as \(16, 32, 64\)\. Got \(\)"),
        ({"blocks": 0}, r"blocks of ResNet"),
        ({"n_out": 0}, r"n_out of ResNet"),
        ({"dropout": 2}, r"dropout of ResNet"),
        ({"survival": 2.0}, r"survival of the last block must be a probability\. Got 2\.0"),
        ({"survival": 0}, r"survival must be a probability in the range \(0, 1\]\. Got 0\.0"),
    ],
)
def test_what_cannot_be_built_is_one_sentence(settings, said):
    with pytest.raises(InputError, match=said):
        ResNet(**({"shape": (1, 8, 8), "n_out": 2, "filters": (4,)} | settings))


@pytest.mark.parametrize("order", ["pre", "post"])
def test_every_block_is_made_as_the_net_is_told(order):
    """By hand: one block of 4 channels, then one of 6 with stride 2."""
    torch.manual_seed(0)
    knobs = {"order": order, "norm": "layer", "activation": "tanh"}
    made = ResNet((2, 6, 6), 3, (4, 6), blocks=1, **knobs).double().eval()
    for p in made.parameters():
        nn.init.normal_(p, std=0.3)
    x = torch.randn(2, 2, 6, 6, dtype=torch.float64)
    h = made.stem[1](made.stem[0](x)).tanh()
    for stage in (made.stage1, made.stage2):
        (block,) = stage
        f = block.branch
        if order == "pre":
            inside = f.conv2(f.norm2(f.conv1(f.norm1(h).tanh())).tanh())
            h = block.shortcut(h) + inside
        else:
            inside = f.norm2(f.conv2(f.norm1(f.conv1(h)).tanh()))
            h = (block.shortcut(h) + inside).tanh()
        assert type(f.norm1) is type(made.stem[1])
    h = made.last[0](h).tanh() if order == "pre" else h
    torch.testing.assert_close(made(x), made.output(h.mean((2, 3))))
    assert made.stage2[0].branch.conv1.stride == (2, 2)
