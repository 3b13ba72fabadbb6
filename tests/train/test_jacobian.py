"""Jacobians three ways: each against autograd row by row, the right way for each kind of net, in chunks of any size."""

import pytest
import torch
from torch import nn

from ftheta.data import Batch
from ftheta.errors import InputError
from ftheta.likelihoods import Bernoulli, Gaussian
from ftheta.train import Supervised, _jacobian
from ftheta.train._jacobian import Jacobians, at_a_time, times_hessian
from tests.train._toys import seeded


class Twice(nn.Module):
    """A layer that is used twice, and a parameter that is in no layer."""

    def __init__(self):
        super().__init__()
        self.layer, self.gain = nn.Linear(3, 3), nn.Parameter(torch.tensor(0.7))

    def forward(self, x):
        return self.gain * self.layer(torch.tanh(self.layer(x)))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return self.layer(torch.tanh(self.layer(x)))


class Centred(nn.Module):
    """Rows that see one another before the only layer: its slopes are theirs all the same."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def forward(self, x):
        return self.layer(torch.tanh(x - x.mean(0)))


class Picture(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.out = nn.Conv1d(1, 2, 2), nn.Linear(4, 2)

    def forward(self, x):
        return self.out(torch.tanh(self.conv(x[:, None])).flatten(1))


def mlp():
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def norm():
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 2))


def noisy():
    return nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 2))


def noisy_picture():
    return nn.Sequential(Picture(), nn.Dropout(0.5))


KINDS = {
    mlp: "by_layers",
    Tied: "by_layers",
    noisy: "by_layers",
    Twice: "by_rows",
    Picture: "by_rows",
    Centred: "by_layers",
    norm: "of_batch",
    noisy_picture: "of_batch",
}


def jacobians(net, parameters=None):
    objective = Supervised(net, Gaussian())
    return Jacobians(objective, parameters or list(net.parameters()), lambda micro: torch.manual_seed(micro))


def batch(n=7, weight=None):
    g = torch.Generator().manual_seed(1)
    return Batch(torch.randn(n, 3, generator=g).double(), weight=weight)


def one_by_one(found, batches):
    """Every output of every row by a backward pass of its own."""
    rows = []
    for micro, part in enumerate(batches):
        found.prepare(micro)
        out = found.objective("raw", part)
        for value in out.flatten():
            slopes = torch.autograd.grad(value, found.parameters, retain_graph=True, materialize_grads=True)
            rows.append(torch.cat([s.flatten() for s in slopes]))
    return torch.stack(rows)


@pytest.mark.parametrize("chunk", [2**26, 1, 500])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_way_fits_the_net_and_gives_the_slope_of_every_output_of_every_row(kind, chunk, monkeypatch):
    monkeypatch.setattr(_jacobian, "CHUNK", chunk)
    net = seeded(kind).double()
    found, batches = jacobians(net), [batch(7), batch(5)]
    parts = [(out.clone(), jacobian, weight) for out, jacobian, weight in found("raw", batches)]
    assert found.ways == {"raw": KINDS[kind]}
    width = parts[0][0].shape[1]
    expected = one_by_one(found, batches).view(12, width, -1)
    torch.testing.assert_close(torch.cat([j for _, j, _ in parts]), expected, rtol=1e-10, atol=1e-12)
    assert all(weight is None for *_, weight in parts)
    assert len(parts) == 2 if chunk == 2**26 else len(parts) > 2


class Met(nn.Module):
    """Rows that see one another between two layers."""

    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(3, 4), nn.Linear(4, 2)

    def forward(self, x):
        hidden = self.first(x)
        return self.last(torch.tanh(hidden - hidden.mean(0)))


class Unseen(Met):
    """A layer whose weight is also used without it."""

    def forward(self, x):
        return self.last(torch.tanh(self.first(x) + nn.functional.linear(x, self.first.weight)))


@pytest.mark.parametrize(
    ("kind", "first", "way"),
    [(Met, 1.0, "of_batch"), (Met, 0.0, "of_batch"), (Unseen, 0.0, "by_rows")],
)
def test_rows_that_are_equal_or_zero_at_the_beginning_do_not_mislead_it(kind, first, way):
    """Of equal rows alone, the means between the layers have no slope; of zeros, a weight has none."""
    found, part = jacobians(seeded(kind).double()), batch()
    part.x[:4] = first
    ((_, jacobian, _),) = found("raw", [part])
    assert found.ways["raw"] == way
    torch.testing.assert_close(jacobian.flatten(0, 1), one_by_one(found, [part]), rtol=1e-10, atol=1e-12)


def test_weights_that_are_zero_at_the_beginning_do_not_mislead_it():
    """With zeros in the last layer nothing of the first is seen; later it is. θ is as it was to the last bit."""
    net = seeded(Met).double()
    with torch.no_grad():
        net.last.weight.zero_()
    found, before = jacobians(net), [p.clone() for p in net.parameters()]
    list(found("raw", [batch()]))
    assert found.ways["raw"] == "of_batch" and all(map(torch.equal, before, net.parameters()))
    with torch.no_grad():
        net.last.weight.fill_(0.5)
    ((_, jacobian, _),) = found("raw", [batch()])
    torch.testing.assert_close(jacobian.flatten(0, 1), one_by_one(found, [batch()]), rtol=1e-10, atol=1e-12)


def test_what_is_written_into_the_output_of_a_layer_has_its_slope():
    """An in-place ReLU: all units are on when the way is chosen, and some are off later."""
    net = seeded(lambda: nn.Sequential(nn.Linear(3, 4), nn.ReLU(inplace=True), nn.Linear(4, 2))).double()
    with torch.no_grad():
        net[0].bias.fill_(50.0)
    found = jacobians(net)
    list(found("raw", [batch()]))
    with torch.no_grad():
        net[0].bias.zero_()
    ((_, jacobian, _),) = found("raw", [batch()])
    assert found.ways["raw"] == "by_layers"
    torch.testing.assert_close(jacobian.flatten(0, 1), one_by_one(found, [batch()]), rtol=1e-10, atol=1e-12)


def test_it_works_where_gradients_are_switched_off():
    found = jacobians(seeded(mlp).double())
    with torch.no_grad():
        ((_, jacobian, _),) = found("raw", [batch()])
    assert found.ways["raw"] == "by_layers" and jacobian.shape == (7, 2, 26)


def test_columns_are_in_the_order_of_the_parameters_and_only_of_theirs():
    net = seeded(mlp).double()
    whole = torch.cat([j for _, j, _ in jacobians(net)("raw", [batch()])])
    mine = [net[2].bias, net[0].weight]
    ((_, jacobian, _),) = jacobians(net, mine)("raw", [batch()])
    torch.testing.assert_close(jacobian, torch.cat([whole[..., 24:26], whole[..., :12]], -1))
    net[0].requires_grad_(False)
    ((_, jacobian, _),) = jacobians(net, list(net[2].parameters()))("raw", [batch()])
    torch.testing.assert_close(jacobian, whole[..., 16:])


def test_hooks_are_gone_afterwards_also_if_the_net_fails():
    net = seeded(mlp).double()
    found = jacobians(net)
    list(found("raw", [batch()]))
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        list(found("raw", [Batch(torch.zeros(4, 5).double())]))
    assert not any(module._forward_hooks for module in net.modules())


@pytest.mark.parametrize("weight", [torch.tensor([1.0, 2, 0.5]), torch.tensor([[1.0, 0], [2, 1], [0.5, 3]])])
def test_tokens_have_a_jacobian_and_a_weight_each(weight):
    net, x = seeded(mlp).double(), torch.randn(3, 2, 3).double()
    ((out, jacobian, w),) = jacobians(net)("raw", [Batch(x, weight=weight)])
    torch.testing.assert_close(out, net(x).flatten(0, 1).detach())
    assert jacobian.shape == (6, 2, 26)
    expected = one_by_one(jacobians(net), [Batch(x)]).view(6, 2, -1)
    torch.testing.assert_close(jacobian, expected, rtol=1e-10, atol=1e-12)
    assert w.tolist() == weight.reshape(3, -1).expand(3, 2).flatten().tolist()


def test_an_output_without_an_axis_for_itself_counts_as_one():
    class Flat(nn.Linear):
        def forward(self, input):
            return super().forward(input)[:, 0]

    net = seeded(Flat, 3, 1).double()
    ((out, jacobian, _),) = jacobians(net)("raw", [batch()])
    assert out.shape == (7, 1) and torch.equal(jacobian[:, 0, :3], batch().x)


def test_a_single_row_is_taken_from_its_graph():
    found = jacobians(seeded(mlp).double())
    ((_, jacobian, _),) = found("raw", [batch(1)])
    torch.testing.assert_close(jacobian[0], one_by_one(found, [batch(1)]))


def test_nothing_is_answered_by_a_sentence():
    found = Jacobians(Supervised(nn.Linear(3, 1), Bernoulli()), [], lambda micro: None)
    with pytest.raises(InputError, match="Bernoulli gives no residuals"):
        next(found("residual", [Batch(torch.zeros(2, 3), torch.zeros(2))]))


def test_as_many_rows_are_taken_at_a_time_as_fit():
    """64 MB of float64 with 100 parameters and 2 outputs; a graph of 50 rows through 10 units adds 500 numbers each."""
    parameters = [torch.zeros(10, 10).double()]
    assert at_a_time(parameters, width=2) == 2**26 // (8 * 100 * 2)
    assert at_a_time(parameters, rows=50) == 2**26 // (8 * (100 + 500))
    assert at_a_time([torch.zeros(1).expand(2**27)]) == 1 and at_a_time([torch.zeros(())]) == 2**24


@pytest.mark.parametrize("count", [3, 40])
def test_the_hessian_of_a_cubic_times_vectors(count):
    """f = Σ aᵢ θᵢ³: ∇²f v = 6 a θ v; few vectors and many; an unused parameter has zeros."""
    theta, unused = nn.Parameter(torch.tensor([1.0, -2.0, 3.0])), nn.Parameter(torch.zeros(2))
    v = torch.randn(count, 5)
    found = times_hessian((torch.tensor([1.0, 2, 3]) * theta**3).sum(), [theta, unused], v)
    torch.testing.assert_close(found, v * torch.tensor([6.0, -24, 54, 0, 0]))


def test_what_does_not_bend_has_no_hessian():
    theta = nn.Parameter(torch.ones(2))
    assert not times_hessian(theta.sum(), [theta], torch.ones(1, 2)).any()
    assert not times_hessian(torch.ones(()), [theta], torch.ones(1, 2)).any()
