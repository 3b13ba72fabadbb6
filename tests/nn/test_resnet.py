"""A residual network: sizes, the identity at the start, survival that falls with depth, and no crash with few channels."""

import pytest
import torch

from ftheta.nn import ResNet, StochasticDepth


def test_every_stage_but_the_first_halves_the_size():
    made = ResNet((3, 20, 16), 5, (4, 8, 16), blocks=2)
    x, shapes = torch.randn(2, 3, 20, 16), []
    for name in ("stem", "stage1", "stage2", "stage3"):
        x = made._modules[name](x)
        shapes.append(tuple(x.shape[1:]))
    assert shapes == [(4, 20, 16), (4, 20, 16), (8, 10, 8), (16, 5, 4)] and made(torch.randn(2, 3, 20, 16)).shape == (2, 5)


@pytest.mark.parametrize("order", ["pre", "post"])
def test_a_stage_without_projection_starts_as_the_identity_up_to_its_activation(order):
    made = ResNet((1, 8, 8), 2, (4,), blocks=3, order=order)
    x = torch.rand(4, 4, 8, 8)  # not negative: the activation after the sum changes nothing
    torch.testing.assert_close(made.stage1(x), x)


def test_survival_falls_linearly_to_the_last_block():
    made = ResNet((1, 8, 8), 2, (4, 8), blocks=2, survival=0.6)
    drops = [module.p for module in made.modules() if isinstance(module, StochasticDepth)]
    assert drops == pytest.approx([0.1, 0.2, 0.3, 0.4])


@pytest.mark.parametrize("channels", [1, 3, 4, 7])
def test_few_channels_last_train_without_a_crash_and_give_the_same_gradients(channels):
    torch.manual_seed(0)
    made = ResNet((channels, 8, 8), 3, (channels, 8), blocks=1).double()
    x = torch.randn(20, channels, 8, 8, dtype=torch.float64)
    made(x).square().sum().backward()
    plain = {name: p.grad.clone() for name, p in made.named_parameters()}
    made.zero_grad()
    made.float().to(memory_format=torch.channels_last)(x.float().contiguous(memory_format=torch.channels_last)).square().sum().backward()
    for name, p in made.named_parameters():
        torch.testing.assert_close(p.grad.double(), plain[name], rtol=1e-3, atol=1e-3 * float(plain[name].abs().max() + 1))


def test_bottlenecks_squeeze_and_dropout_are_built():
    made = ResNet((1, 16, 16), 2, (8, 16), blocks=1, kind="bottleneck", squeeze=4, dropout=0.3, norm="group", activation="silu")
    assert made(torch.zeros(2, 1, 16, 16)).shape == (2, 2) and "drop" in made._modules and type(made[:2]).__name__ == "Sequential"
