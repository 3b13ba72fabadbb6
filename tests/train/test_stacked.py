"""A stack against its members, one by one: outputs, gradients, buffers; and what cannot be stacked."""

import pytest
import torch
from torch import nn

from ftheta.errors import InputError
from ftheta.likelihoods import Gaussian
from ftheta.nn import ACTIVATIONS, MLP
from ftheta.train import Stacked

from ._toys import seeded


class Own(nn.Module):
    """A module that no table knows: a scaled product, a buffer, and one tensor under two names."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3, bias=False)
        self.again = self.inner
        self.scale = nn.Parameter(torch.rand(()))
        self.register_buffer("shift", torch.rand(3))

    def forward(self, x):
        return self.again(self.inner(x) * self.scale).sin() + self.shift


def hooked():
    """A layer that torch knows, with more to it than its class says."""
    net = nn.Sequential(nn.Linear(3, 2), nn.Tanh())
    net[0].register_forward_hook(lambda module, args, output: 2 * output)
    net[1].register_forward_pre_hook(lambda module, args: (args[0] + 1,))
    return net


class Image(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.head = nn.Conv2d(1, 2, 3), nn.Linear(8, 2)

    def forward(self, x):
        return self.head(self.conv(x).relu().flatten(1))


NETS = {
    "one input": (lambda: MLP(1, 2, (5,), activation="tanh"), (4, 1)),
    "two hidden layers": (lambda: MLP(3, 2, (5, 4)), (4, 3)),
    "no hidden layer": (lambda: MLP(3, 1, ()), (4, 3)),
    "no bias": (lambda: nn.Linear(3, 2, bias=False), (4, 3)),
    "a sequence of vectors": (lambda: nn.Linear(3, 2), (4, 6, 3)),
    "layer norm between": (lambda: nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 1)), (4, 3)),
    "hooks": (hooked, (4, 3)),
    "own": (Own, (4, 3)),
    "image": (Image, (4, 1, 4, 4)),
    **{name: (lambda name=name: MLP(3, 2, (4,), activation=name), (4, 3)) for name in ACTIVATIONS},
}


@pytest.mark.parametrize("name", NETS)
def test_outputs_and_gradients_are_those_of_the_members(name):
    make, shape = NETS[name]
    members = [make().double() for _ in range(3)]
    stack, x = Stacked(members), torch.randn(3, *shape, dtype=torch.float64)
    raw = stack(x)
    raw.square().sum().backward()
    grads = dict(stack.each.named_parameters())
    for m, member in enumerate(members):
        alone = member(x[m])
        alone.square().sum().backward()
        torch.testing.assert_close(raw[m], alone, rtol=1e-12, atol=1e-12)
        for key, p in member.named_parameters():
            torch.testing.assert_close(grads[key].grad[m], p.grad, rtol=1e-10, atol=1e-10)


def test_shared_rows_go_through_every_member():
    members = [MLP(3, 2, (5,)) for _ in range(3)]
    x = torch.randn(4, 3)
    torch.testing.assert_close(Stacked(members).shared(x), torch.stack([m(x) for m in members]))


def test_a_tensor_under_two_names_stays_one():
    stack = Stacked([Own(), Own()]).take([1])
    assert stack.each.inner.weight is stack.each.again.weight
    assert stack.each.inner.weight.shape == (1, 3, 3)


def test_batch_norm_keeps_statistics_of_each_member():
    members = [nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)).double() for _ in range(3)]
    stack, x = Stacked(members), torch.randn(3, 6, 3, dtype=torch.float64)
    for _ in range(2):
        torch.testing.assert_close(stack(x), torch.stack([m(rows) for m, rows in zip(members, x, strict=True)]))
    for m, member in enumerate(members):
        norm, own = stack.each[1], member[1]
        torch.testing.assert_close(norm.running_mean[m], own.running_mean)
        torch.testing.assert_close(norm.running_var[m], own.running_var)
        assert norm.num_batches_tracked[m] == 2


def test_dropout_silences_other_units_in_every_member():
    stack = Stacked([seeded(MLP, 1, 50, (), seed=0) for _ in range(2)])
    stack.each.append(nn.Dropout(0.5))
    off = stack(torch.ones(2, 8, 1)) == 0
    assert 0.3 < off.float().mean() < 0.7
    assert not torch.equal(off[0], off[1])
    assert torch.equal(*stack.eval()(torch.ones(2, 8, 1)))


def test_members_and_write_back_unstack():
    members = [Own() for _ in range(3)]
    stack = Stacked(members)
    with torch.no_grad():
        for p in stack.parameters():
            p.add_(1)
    copies, fresh = stack.members(), [Own() for _ in range(3)]
    stack.write_back(fresh)
    for member, copy, other in zip(members, copies, fresh, strict=True):
        for key, value in member.state_dict().items():
            wanted = value if key == "shift" else value + 1
            torch.testing.assert_close(copy.state_dict()[key], wanted)
            torch.testing.assert_close(other.state_dict()[key], wanted)


def test_the_members_stay_as_they_are():
    member = nn.Linear(2, 1)
    stack, old = Stacked([member, member]), member.weight.detach().clone()
    with torch.no_grad():
        stack.each.weight.zero_()
    torch.testing.assert_close(member.weight.detach(), old)


def test_frozen_parameters_stay_frozen():
    members = [nn.Linear(2, 1) for _ in range(2)]
    for member in members:
        member.bias.requires_grad_(False)
    assert [p.requires_grad for p in Stacked(members).take([0]).parameters()] == [True, False]


@pytest.mark.parametrize(
    ("first", "second", "sentence"),
    [
        (lambda: nn.Linear(3, 2), lambda: nn.Linear(4, 2), "in_features is 3 in the first and 4 in member 1"),
        (lambda: MLP(3, 2, (4,)), lambda: MLP(3, 2, (4,), activation="tanh"), "act1 is ReLU in the first and Tanh"),
        (lambda: MLP(3, 2, (4,)), lambda: MLP(3, 2, (4, 4)), "hidden2 is missing in the first and Linear in member 1"),
        (lambda: nn.Dropout(0.1), lambda: nn.Dropout(0.2), "p is 0.1 in the first and 0.2"),
        (Gaussian, lambda: Gaussian(2.0), "scale is 1.0 in the first and 2.0"),
        (lambda: nn.Linear(3, 2), lambda: nn.Linear(3, 2).double(), "torch.float32 in the first .* torch.float64"),
    ],
)
def test_members_of_other_structure_are_named(first, second, sentence):
    with pytest.raises(InputError, match=sentence):
        Stacked([first(), second()])


def test_a_stack_has_members():
    with pytest.raises(InputError, match="at least one member; got none"):
        Stacked([])
