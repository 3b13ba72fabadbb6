"""Freezing and grouping by name."""

import pytest
import torch
from torch import nn

from ftheta.errors import InputError
from ftheta.nn import MLP
from ftheta.optim import freeze, make, scaled_rates


class Holder(nn.Module):
    def __init__(self):
        super().__init__()
        self.module = MLP(3, 2, (4, 4))


def test_frozen_parameters_stay_and_the_others_move():
    net = MLP(3, 2, (4, 4))
    assert freeze(net, ["hidden1.*", "output.bias"]) == ["hidden1.weight", "hidden1.bias", "output.bias"]
    before = {name: p.detach().clone() for name, p in net.named_parameters()}
    optimizer = make("sgd", [p for p in net.parameters() if p.requires_grad])
    net(torch.randn(8, 3, generator=torch.Generator().manual_seed(0))).square().sum().backward()
    optimizer.step()
    same = {name for name, p in net.named_parameters() if p.equal(before[name])}
    assert same >= {"hidden1.weight", "hidden1.bias", "output.bias"} and "output.weight" not in same


def test_a_pattern_may_start_at_any_dot_but_not_inside_a_word():
    assert freeze(Holder(), ["hidden1.*"]) == ["module.hidden1.weight", "module.hidden1.bias"]
    assert freeze(Holder(), "*.bias") == ["module.hidden1.bias", "module.hidden2.bias", "module.output.bias"]
    assert freeze(Holder(), ()) == []
    with pytest.raises(InputError, match="No parameter has a name like 'idden1"):
        freeze(Holder(), ["idden1.*"])


def test_a_pattern_without_a_match_names_the_nearest():
    with pytest.raises(
        InputError, match=r"No parameter has a name like 'hiden1\.weight'; the nearest are 'hidden1\.weight'"
    ):
        freeze(MLP(3, 2), ["hiden1.weight"])
    with pytest.raises(
        InputError, match=r"the nearest are none, there are no parameters\. Patterns are those of a shell"
    ):
        freeze(nn.ReLU(), ["*"])


def test_rates_take_the_first_pattern_that_fits_and_leave_out_the_frozen():
    net = MLP(3, 2, (4, 4))
    freeze(net, ["hidden2.*"])
    groups = scaled_rates(net, net.parameters(), {"hidden1.weight": 0.5, "*.weight": 0.1, "hidden1.*": 3.0}, 0.2)
    names = {id(p): name for name, p in net.named_parameters()}
    found = [(g["lr"], [names[id(p)] for p in g["params"]]) for g in groups]
    assert found == [
        (0.1, ["hidden1.weight"]),
        (pytest.approx(0.02), ["output.weight"]),
        (pytest.approx(0.6), ["hidden1.bias"]),
        (0.2, ["output.bias"]),
    ]
    assert len(scaled_rates(net, net.parameters(), {"*": 0.5}, 0.2)) == 1
    with pytest.raises(InputError, match="No parameter has a name like 'head"):
        scaled_rates(net, net.parameters(), {"head.*": 0.5}, 0.2)
