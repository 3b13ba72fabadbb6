"""Hopfield layers against torch's attention, the formulas of the network, and what masks must not change."""

import math

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch import nn
from torch.nn import functional as F

from ftheta.data import Rows
from ftheta.draw import Draw
from ftheta.errors import InputError
from ftheta.models import ModuleClassifier
from ftheta.models.energy.modern_hopfield import continuous_update
from ftheta.nn import HopfieldLayer, HopfieldMemory, HopfieldPooling, association, retrieve
from ftheta.train import Supervised, Trainer, iterate


def normal(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_one_step_is_attention(dtype):
    """β = 1/√D, keys = values = stored patterns: torch's own attention, to 1e-6."""
    query, stored, values = (normal(2, 3, n, 16, seed=n, dtype=dtype) for n in (5, 7, 8))
    for read, v in ((None, stored), (values[..., :7, :], values[..., :7, :])):
        found = retrieve(query, stored, read, beta=1 / math.sqrt(16))
        torch.testing.assert_close(found, F.scaled_dot_product_attention(query, stored, v), rtol=0, atol=1e-6)


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_steps_are_updates_of_the_network(steps):
    query, stored = normal(4, 6), normal(9, 6, seed=1)
    right = query.numpy()
    for _ in range(steps):
        right = continuous_update(right, stored.numpy(), 0.8)
    np.testing.assert_allclose(retrieve(query, stored, beta=0.8, steps=steps), right, atol=1e-12)


def test_values_are_read_after_the_last_step_only():
    query, stored, values = normal(4, 6), normal(9, 6, seed=1), normal(9, 2, seed=2)
    moved = retrieve(query, stored, beta=0.8, steps=2)
    torch.testing.assert_close(
        retrieve(query, stored, values, beta=0.8, steps=3), retrieve(moved, stored, values, beta=0.8)
    )


def test_missing_patterns_are_as_if_they_were_not_there_whatever_they_hold():
    query, stored, values = normal(2, 4, 6), normal(2, 5, 6, seed=1), normal(2, 5, 3, seed=2)
    missing = torch.tensor([[False, True, False, False, True], [False] * 4 + [True]])
    right = torch.stack([retrieve(query[b], stored[b][~missing[b]], values[b][~missing[b]], 2.0, 3) for b in range(2)])
    stored[missing], values[missing] = math.nan, math.inf
    query.requires_grad_()
    found = retrieve(query, stored, values, 2.0, 3, missing=missing)
    torch.testing.assert_close(found, right)
    (slope,) = torch.autograd.grad(found.sum(), query)
    assert slope.isfinite().all()
    share = association(query, stored, 2.0, missing=missing)
    torch.testing.assert_close(share.sum(-1), torch.ones(2, 4, dtype=torch.float64))


def test_an_empty_memory_gives_nothing_and_no_nan():
    query = normal(2, 3, 4).requires_grad_()
    none = torch.tensor([[True] * 5, [False] * 5])
    found = retrieve(query, normal(2, 5, 4, seed=1), beta=3.0, steps=2, missing=none)
    assert not found[0].any() and found[1].all()
    assert torch.autograd.grad(found.sum(), query)[0].isfinite().all()
    assert not retrieve(query, torch.zeros(2, 0, 4, dtype=torch.float64)).any()


def test_one_memory_serves_a_batch_with_a_mask_for_each_row():
    query, stored = normal(2, 3, 4), normal(5, 4, seed=1)
    found = retrieve(query, stored, missing=torch.tensor([[True, False, False, False, False], [False] * 5]))
    torch.testing.assert_close(found[0], retrieve(query[0], stored[1:]))
    torch.testing.assert_close(found[1], retrieve(query[1], stored))


@pytest.mark.parametrize("heads", [1, 2, 4])
def test_a_layer_of_one_step_is_multihead_attention(heads):
    layer = HopfieldLayer(8, 8, n_stored=5, heads=heads, normalize=False).double()
    attention = nn.MultiheadAttention(8, heads, kdim=5, vdim=5, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        for mine, theirs in (("query", "q"), ("key", "k"), ("value", "v")):
            getattr(attention, f"{theirs}_proj_weight").copy_(getattr(layer, mine).weight)
        attention.in_proj_bias.copy_(torch.cat([layer.query.bias, layer.key.bias, layer.value.bias]))
        attention.out_proj.weight.copy_(layer.out.weight)
        attention.out_proj.bias.copy_(layer.out.bias)
    state, stored = normal(3, 4, 8), normal(3, 6, 5, seed=1)
    missing = torch.tensor([[False] * 6, [False, True] * 3, [True] * 5 + [False]])
    right, weights = attention(state, stored, stored, key_padding_mask=missing, average_attn_weights=False)
    torch.testing.assert_close(layer(state, stored, missing=missing), right, rtol=0, atol=1e-6)
    torch.testing.assert_close(layer.association(state, stored, missing=missing), weights, rtol=0, atol=1e-6)


@pytest.mark.parametrize(("n_in", "heads", "width"), [(8, 2, 4), (7, 2, 4), (9, 4, 3), (2, 3, 1)])
def test_heads_are_as_wide_as_their_share_of_the_state_rounded_up(n_in, heads, width):
    layer = HopfieldLayer(n_in, 5, heads=heads)
    assert [part.out_features for part in (layer.query, layer.key, layer.value)] == [heads * width] * 3
    assert layer.beta == pytest.approx(width**-0.5) and layer(normal(1, 4, n_in).float()).shape == (1, 4, 5)


def test_a_normalised_layer_sees_neither_scale_nor_shift_of_a_row():
    layer = HopfieldLayer(6, 2).double()
    state, stored = normal(3, 6), normal(5, 6, seed=1)
    torch.testing.assert_close(layer(7 * state + 3, 0.5 * stored - 1), layer(state, stored), rtol=1e-3, atol=1e-4)
    plain = HopfieldLayer(6, 2, normalize=False).double()
    assert not torch.allclose(plain(7 * state + 3, stored), plain(state, stored), atol=0.01)


def test_without_stored_patterns_a_set_retrieves_from_itself():
    layer, x = HopfieldLayer(6, 2, heads=3).double(), normal(4, 5, 6)
    torch.testing.assert_close(layer(x), layer(x, x))


@pytest.mark.parametrize("lead", [(), (3,), (2, 3)])
def test_any_batch_axes(lead):
    layer, memory = HopfieldLayer(6, 2, heads=2, steps=2), HopfieldMemory(6, 2, 9)
    pool = HopfieldPooling(6, 2, n_states=3)
    x, y = normal(*lead, 4, 6, dtype=torch.float32), normal(*lead, 5, 6, dtype=torch.float32, seed=1)
    flat_x, flat_y = x.reshape(-1, 4, 6), y.reshape(-1, 5, 6)
    missing = torch.arange(5) > 2
    alone = torch.stack([layer(a, b, missing=missing) for a, b in zip(flat_x, flat_y, strict=True)])
    torch.testing.assert_close(layer(x, y, missing=missing).reshape(-1, 4, 2), alone)
    assert pool(y).shape == (*lead, 6) and memory(x).shape == (*lead, 4, 2)
    torch.testing.assert_close(pool(y).reshape(-1, 6), torch.stack([pool(b) for b in flat_y]))
    torch.testing.assert_close(memory(x).reshape(-1, 2), torch.stack([memory(a) for a in x.reshape(-1, 6)]))


def test_pooling_does_not_see_the_order_and_counts_no_missing_pattern():
    pool, x = HopfieldPooling(4, 3, n_states=2, heads=2, beta=5.0).double(), normal(2, 6, 4)
    right = pool(x)
    torch.testing.assert_close(pool(x[:, torch.randperm(6, generator=torch.Generator().manual_seed(0))]), right)
    longer = torch.cat([x, torch.full((2, 3, 4), math.nan, dtype=torch.float64)], 1)
    missing = torch.arange(9).expand(2, 9) >= 6
    torch.testing.assert_close(pool(longer, missing=missing), right)
    share = pool.association(longer, missing=missing)
    assert share.shape == (2, 2, 2, 9) and not share[..., 6:].any()


def bags(n, seed, size=12, width=8):
    """Sets of random vectors of random size; a set is of class 1 if it holds the key: one vector near a fixed one."""
    rng = np.random.default_rng(seed)
    key = np.random.default_rng(99).normal(size=width)
    x, y = rng.normal(size=(n, size, width)), rng.integers(0, 2, n)
    sizes = rng.integers(4, size + 1, n)
    place = (rng.random(n) * sizes).astype(int)
    x[np.arange(n), place] = np.where(y[:, None] == 1, key + 0.3 * rng.normal(size=(n, width)), x[np.arange(n), place])
    x[np.arange(size) >= sizes[:, None]] = math.nan
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y)


class SetNet(nn.Module):
    """The user's own network: a set with holes, pooled, then two classes."""

    def __init__(self):
        super().__init__()
        self.pool = HopfieldPooling(8, 16, n_states=2, beta=2.0)
        self.out = nn.Linear(32, 2)

    def forward(self, x):
        return self.out(self.pool(x, missing=x.isnan().any(-1)).relu())


@pytest.mark.ledger("B281", covers="ftheta.nn.HopfieldPooling")
def test_set_pooling_is_trained_end_to_end_by_the_trainer():
    """One vector of up to 12 decides: with the layer nearly all sets are told, by their mean far fewer."""
    x, y = bags(400, 0)
    with Draw(0).scope():
        net = SetNet()
    before = net.pool.states.detach().clone()
    loss = lambda raw, target: F.cross_entropy(raw, target, reduction="none")  # noqa: E731
    iterate(Trainer(Supervised(net, loss), Rows(x, y, batch_size=50), lr=0.01, seed=0), rounds=8)
    new, truth = bags(500, 1)
    with torch.no_grad():
        right = (net(new).argmax(1) == truth).double().mean().item()
    mean, mean_new = (part.nanmean(1).numpy() for part in (x, new))
    plain = LogisticRegression().fit(mean, y.numpy())
    assert right > 0.93 and plain.score(mean_new, truth.numpy()) < 0.85
    assert not torch.equal(net.pool.states, before)


def test_a_memory_is_trained_by_an_estimator_where_a_plane_fails():
    """Six clusters round a circle, every other one of the same class."""
    rng = np.random.default_rng(0)
    place = rng.integers(0, 6, 300)
    x = 3 * np.stack([np.cos(place * np.pi / 3), np.sin(place * np.pi / 3)], 1) + 0.3 * rng.normal(size=(300, 2))
    with Draw(0).scope():
        net = HopfieldMemory(2, 2, 32, width=8, beta=2.0, normalize=False)
    knobs = {"epochs": 20, "batch_size": 20, "lr": 0.05, "random_state": 0}
    model, plane = (ModuleClassifier(module=m, **knobs).fit(x[:200], place[:200] % 2) for m in (net, None))
    assert model.score(x[200:], place[200:] % 2) > 0.97 and plane.score(x[200:], place[200:] % 2) < 0.75


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: retrieve(torch.ones(2, 3), torch.ones(2, 4)), r"A query \(2, 3\) cannot be compared .* \(2, 4\)"),
        (lambda: retrieve(torch.ones(3), torch.ones(2, 3)), r"A query \(3,\) cannot be compared"),
        (lambda: retrieve(torch.ones(2, 3), torch.ones(2, 3), beta=0.0), "beta=0.0.* above 0"),
        (lambda: HopfieldLayer(3, 2, beta=-1.0), "beta=-1.0.* above 0"),
        (lambda: retrieve(torch.ones(2, 3), torch.ones(2, 3), steps=0), "steps of retrieve"),
        (
            lambda: retrieve(torch.ones(2, 3), torch.ones(2, 3), missing=torch.ones(2)),
            r"missing is torch.float32 of shape \(2,\); give one bool .*\(2,\), True where",
        ),
        (
            lambda: retrieve(torch.ones(2, 3), torch.ones(2, 3), missing=torch.zeros(3, dtype=torch.bool)),
            r"missing is torch.bool of shape \(3,\)",
        ),
        (
            lambda: HopfieldLayer(3, 2)(torch.ones(4, 2, 3), missing=torch.zeros(3, 2, dtype=torch.bool)),
            r"missing is torch.bool of shape \(3, 2\); .* \(4, 2\)",
        ),
        (lambda: HopfieldLayer(3, 2)(torch.ones(2, 4)), r"state has shape \(2, 4\); .* rows, 3\)"),
        (lambda: HopfieldLayer(3, 2)(torch.ones(2, 3), torch.ones(3)), r"stored has shape \(3,\)"),
        (lambda: HopfieldMemory(3, 2, 4)(torch.ones(5)), r"state has shape \(1, 5\)"),
        (lambda: HopfieldLayer(1, 2), "normalize=False for width 1"),
        (lambda: HopfieldLayer(3, 0), "n_out of HopfieldLayer"),
        (lambda: HopfieldLayer(3, 2, heads=1.5), "heads of HopfieldLayer"),
        (lambda: HopfieldPooling(3, 2, n_states=0), "n_states of HopfieldPooling"),
        (lambda: HopfieldMemory(3, 2, 0), "n_memories of HopfieldMemory"),
    ],
)
def test_what_cannot_be_used_is_said_in_a_sentence(call, said):
    with pytest.raises(InputError, match=said):
        call()
