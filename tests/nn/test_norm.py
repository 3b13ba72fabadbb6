"""Norm layers: against torch, the formulas, the sources' numbers and their limits."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.func import functional_call

from ftheta import explain
from ftheta.errors import InputError
from ftheta.nn import NORMS, ConvNet, initialize, norm
from ftheta.optim import make
from tests._truth import normalization as truth

SHAPES = {0: (5, 6), 1: (4, 6, 7), 2: (3, 6, 4, 5)}
KINDS = [(kind, dims) for kind in NORMS for dims in SHAPES if (kind, dims) != ("instance", 0) and kind != "none"]


def made(kind, dims, **knobs):
    """A float64 norm whose scale and shift are not 1 and 0, and an input for it."""
    module = norm(kind, 6, dims=dims, **knobs).double()
    for p in module.parameters():
        nn.init.normal_(p)
    return module, torch.randn(SHAPES[dims], dtype=torch.double) * 3 + 2


def numbers(layer):
    return layer.running_mean, layer.running_var, layer.weight, layer.bias


def direct(kind, module, x):
    x, gamma = x.numpy(), module.weight.detach().numpy()
    beta = module.bias.detach().numpy() if kind != "rms" else None
    return {
        "batch": lambda: truth.batch_norm(x, gamma, beta),
        "layer": lambda: truth.layer_norm(x, gamma, beta),
        "instance": lambda: truth.instance_norm(x, gamma, beta),
        "group": lambda: truth.group_norm(x, 6 if x.ndim > 2 else 3, gamma, beta),
        "rms": lambda: truth.rms_norm(x, gamma),
    }[kind]()


@pytest.mark.ledger("A143", "A145", "A147", "C212", "C215", "B327", "B329", "B330", covers="ftheta.nn.norm")
@pytest.mark.parametrize(("kind", "dims"), KINDS)
def test_each_norm_is_its_formula_and_its_gradients_are_right(kind, dims):
    module, x = made(kind, dims)
    np.testing.assert_allclose(module(x).detach(), direct(kind, module, x), atol=1e-12)

    names = [name for name, _ in module.named_parameters()]
    values = [x.requires_grad_(), *(p.detach().clone().requires_grad_() for p in module.parameters())]
    assert torch.autograd.gradcheck(
        lambda x, *theta: functional_call(module, dict(zip(names, theta, strict=True)), (x,)), values
    )


# --- the sources' numbers ---------------------------------------------------------------------------------------------


@pytest.mark.ledger("A143", covers="ftheta.nn.norm")
def test_columns_are_standardised_and_their_variance_is_one_up_to_epsilon():
    a = torch.tensor([[1.0, 2], [3, 6], [5, 10]])
    layer = norm("batch", 2, dims=0)
    expected = torch.tensor([-1.22474, 0, 1.22474])[:, None].expand(3, 2)
    torch.testing.assert_close(layer(a), expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(layer(a).var(0, correction=0), torch.ones(2), atol=1e-5, rtol=0)
    small = layer(a * 1e-3).var(0, correction=0)  # where ε is no longer small
    torch.testing.assert_close(small, torch.tensor([0.2105, 0.5161]), atol=1e-4, rtol=0)


@pytest.mark.ledger("C212", covers="ftheta.nn.norm")
def test_epsilon_is_added_to_the_variance_and_not_to_the_standard_deviation():
    h = torch.tensor([[1.0], [2], [3], [4]])
    layer = norm("batch", 1, dims=0)
    np.testing.assert_allclose(layer(h).detach()[:, 0], [-1.3416, -0.4472, 0.4472, 1.3416], atol=1e-4)
    assert h.var(correction=0).item() == 1.25 and h.std(correction=0).item() == pytest.approx(1.1180, abs=1e-4)
    layer.eps = 1e-12
    with torch.no_grad():
        layer.weight.fill_(h.std(correction=0))
        layer.bias.fill_(h.mean())
    torch.testing.assert_close(layer(h), h)  # γ = s and δ = m give the input back

    small = torch.tensor([[-1e-3], [1e-3]], dtype=torch.double)  # s = 1e-3: beside s, ε would give 0.990
    assert norm("batch", 1, dims=0).double()(small)[1].item() == pytest.approx(0.3015, abs=1e-4)


# --- batch norm: running averages -------------------------------------------------------------------------------------


@pytest.mark.ledger("C213", covers="ftheta.nn.norm")
@pytest.mark.parametrize("dims", SHAPES)
def test_running_averages_follow_the_rule_and_evaluation_uses_them(dims):
    module, _ = made("batch", dims)
    mean, variance = np.zeros(6), np.ones(6)
    for step in range(5):
        x = torch.randn(SHAPES[dims], dtype=torch.double) * (step + 1) + step
        module(x)
        found = truth.batch_statistics(x.numpy())  # the variance is the unbiased one
        mean, variance = (truth.running_average(r, s) for r, s in zip((mean, variance), found, strict=True))
    np.testing.assert_allclose(module.running_mean, mean, atol=1e-12)
    np.testing.assert_allclose(module.running_var, variance, atol=1e-12)

    module.eval()
    gamma, beta = module.weight.detach().numpy(), module.bias.detach().numpy()
    expected = truth.batch_norm_evaluated(x.numpy(), mean, variance, gamma, beta)
    np.testing.assert_allclose(module(x).detach(), expected, atol=1e-12)
    torch.testing.assert_close(module(x[:1]), module(x)[:1])  # one row alone is that row in a batch
    np.testing.assert_allclose(module.running_mean, mean, atol=1e-12)  # evaluation does not move them


@pytest.mark.ledger("C213", covers="ftheta.nn.norm")
def test_the_rule_of_evaluation_normalises_the_activation_and_then_scales_and_shifts():
    """γ (h - μ_run) / √(σ²_run + ε) + δ = 2 (7 - 5) / 2 + 1."""
    layer = norm("batch", 1, dims=0)
    for _ in range(22):
        layer(torch.tensor([[3.0], [7.0]]))  # mean 5
    assert layer.running_mean.item() == pytest.approx(4.5076, abs=1e-4)
    assert layer.running_mean.item() == pytest.approx(5 * (1 - 0.9**22), rel=1e-5)
    with torch.no_grad():
        for p, value in zip(numbers(layer), (5, 4, 2, 1), strict=True):
            p.fill_(value)
    assert layer.eval()(torch.tensor([[7.0]])).item() == pytest.approx(3.0, rel=1e-5)


@pytest.mark.ledger(
    "A144",
    covers="ftheta.nn.norm",
    says="mean and variance of the batch; nothing for inference",
    printed=[0.5, 0.5, 0.5],
    right=[-1.5, 0.5, 2.5],
)
def test_single_rows_differ_at_evaluation_where_batch_statistics_would_map_each_to_beta(ledger):
    layer = norm("batch", 1, dims=0)
    with torch.no_grad():
        for p, value in zip(numbers(layer), (3, 4, 2, 0.5), strict=True):
            p.fill_(value)
    rows = [torch.tensor([[h]]) for h in (1.0, 3.0, 5.0)]
    assert [truth.batch_norm(row.numpy(), 2.0, 0.5).item() for row in rows] == [0.5, 0.5, 0.5]
    ledger([layer.eval()(row).item() for row in rows])


@pytest.mark.ledger(
    "B327",
    covers="ftheta.nn.norm",
    says="over the mini-batch; μ = (1/H) Σ h_i and σ² = (1/HW) Σ (h_i - μ)², i = 1 ... H",
    printed=2.828,
    right=1.0,
)
def test_batch_norm_averages_over_the_batch_and_not_over_units(ledger):
    """Printed: μ over the H units of a row, σ with 1/(HW) under a sum of H terms: a std of √W, and columns off 0."""
    x = torch.randn(64, 4, 8, dtype=torch.double) + torch.tensor([-0.4, -0.1, 0.2, 0.3])[:, None]
    y = norm("batch", 4, dims=1).double()(x)
    np.testing.assert_allclose(y.mean((0, 2)).detach(), 0, atol=1e-12)

    h = x[0, :, 0].numpy()
    printed = (h - h.mean()) / np.sqrt(((h - h.mean()) ** 2).sum() / (len(h) * 8))
    assert printed.std() == pytest.approx(2.828, abs=1e-3)  # √W
    by_row = truth.layer_norm(x[:, :, 0].numpy())
    assert np.abs(by_row.mean(0)).max() > 0.1  # over units, the columns keep their means
    ledger(y.std((0, 2), correction=0).mean().item())


@pytest.mark.ledger("C214", covers="ftheta.nn.norm")
def test_maps_have_one_mean_and_variance_per_channel_and_two_learned_numbers():
    layer, x = norm("batch", 3), torch.randn(4, 3, 5, 6) * torch.tensor([1.0, 10, 100])[:, None, None]
    y = layer(x)
    for c in range(3):
        assert y[:, c].mean().item() == pytest.approx(0, abs=1e-5)
        assert y[:, c].std(correction=0).item() == pytest.approx(1, abs=1e-4)
    assert {name: p.shape for name, p in layer.named_parameters()} == {"weight": (3,), "bias": (3,)}


@pytest.mark.ledger("B034", covers="ftheta.nn.ConvNet")
def test_batch_norm_after_each_convolution_adds_to_the_counts_of_the_report():
    plain, net = ConvNet((1, 28, 28), 10), ConvNet((1, 28, 28), 10, norm="batch")
    assert [name for name, _ in net.named_children()][:3] == ["conv1", "norm1", "pool1"]

    def counts(module):
        trained = sum(p.numel() for p in module.parameters())
        return trained, sum(b.numel() for name, b in module.named_buffers() if "running" in name)

    assert counts(plain) == (34_826, 0)
    assert counts(net.norm1) == (64, 64) and counts(net.norm2) == (128, 128)
    assert counts(net) == (35_018, 192) and sum(counts(net)) == 35_210
    found = explain.summary(net, input_shape=(1, 28, 28))
    assert found.parameters.sum() == 35_018
    shown = dict(zip(found.names, zip(found.parameters.tolist(), found.statistics.tolist(), strict=True), strict=True))
    assert shown["norm1"] == (64, 64) and shown["norm2"] == (128, 128) and found.statistics.sum() == 192
    assert "35,018 parameters (all trainable)" in found.table().text() and "35,210 numbers in all" in str(found.table())


# --- the others -------------------------------------------------------------------------------------------------------


@pytest.mark.ledger("A145", "B329", covers="ftheta.nn.norm")
@pytest.mark.parametrize(("kind", "dims"), [k for k in KINDS if k[0] != "batch"])
def test_a_row_alone_is_that_row_in_a_batch_of_32(kind, dims):
    module, _ = made(kind, dims)
    x = torch.randn(32, *SHAPES[dims][1:], dtype=torch.double)
    torch.testing.assert_close(module(x[7:8]), module(x)[7:8], atol=1e-14, rtol=0)
    assert not NORMS[kind].mixes_rows


def test_batch_norm_mixes_rows_in_training():
    module, x = made("batch", 2)
    assert NORMS["batch"].mixes_rows and not torch.allclose(module(x[:1]), module(x)[:1])


@pytest.mark.ledger("B331", covers="ftheta.nn.norm")
@pytest.mark.parametrize(("groups", "kind"), [(1, "layer"), (6, "instance")])
def test_group_norm_is_layer_norm_with_one_group_and_instance_norm_with_one_channel_each(groups, kind):
    (grouped, x), other = made("group", 2, groups=groups), norm(kind, 6).double()
    other.load_state_dict(grouped.state_dict())
    torch.testing.assert_close(grouped(x), other(x), atol=1e-14, rtol=0)
    assert grouped.num_groups == groups


@pytest.mark.parametrize(("channels", "groups"), [(1, 1), (6, 6), (7, 7), (12, 6), (22, 2), (23, 1), (64, 8)])
def test_groups_are_the_largest_divisor_up_to_8(channels, groups):
    assert norm("group", channels).num_groups == groups


@pytest.mark.parametrize("kind", ["layer", "group", "rms"])
def test_one_row_with_one_position_is_normalised_over_its_channels(kind):
    x = torch.randn(1, 6, 1, 1)
    layer = norm(kind, 6, groups=2)
    expected = direct_row(kind, x[:, :, 0, 0].numpy())
    for mode in (True, False):
        np.testing.assert_allclose(layer.train(mode)(x).detach()[:, :, 0, 0], expected, atol=1e-5)


def direct_row(kind, x):
    return {"layer": truth.layer_norm(x), "group": truth.group_norm(x, 2), "rms": truth.rms_norm(x)}[kind]


# --- claims -----------------------------------------------------------------------------------------------------------


@pytest.mark.ledger("C218", covers="ftheta.nn.norm")
@pytest.mark.parametrize(("size", "printed"), [(4, 0.501), (32, 0.176), (256, 0.062)])
def test_a_fixed_row_is_moved_by_the_rows_around_it_less_so_in_large_batches(size, printed):
    """The batch mean has standard deviation 1/√B, and the normalised activation of the fixed row moves with it."""
    n = 400
    others = torch.randn(n, size, 1, dtype=torch.double)
    assert others.mean((1, 2)).std().item() == pytest.approx(printed, rel=4 / (2 * n) ** 0.5)
    assert printed == pytest.approx(size**-0.5, rel=0.01)

    layer = norm("batch", 1, dims=0).double()
    fixed = torch.zeros(1, 1, dtype=torch.double)
    found = torch.stack([layer(torch.cat([fixed, batch[1:]]))[0, 0] for batch in others])
    scale = 1 if size > 4 else 1.3  # a variance of 4 rows is noisy itself
    assert found.std().item() == pytest.approx(size**-0.5 * scale, rel=0.25)


@pytest.mark.ledger("C219", covers="ftheta.nn.norm")
def test_the_scale_of_the_weights_does_not_matter_with_batch_norm():
    def net(kind, scale):
        torch.manual_seed(1)
        parts = [(nn.Linear(20, 20), norm(kind, 20, dims=0), nn.ReLU()) for _ in range(4)]
        module = nn.Sequential(*(layer for part in parts for layer in part)).double()
        initialize(module, "he")
        with torch.no_grad():
            for layer in module:
                if isinstance(layer, nn.Linear):
                    layer.weight.mul_(scale)
                if isinstance(layer, nn.BatchNorm1d):
                    layer.eps = 1e-12  # invariant up to ε
        return module

    x = torch.randn(200, 20, dtype=torch.double)
    normed, plain = net("batch", 1.0)(x), net("none", 1.0)(x)
    for scale in (0.01, 0.1, 10, 100):
        module = net("batch", scale)
        torch.testing.assert_close(module(x), normed, rtol=1e-6, atol=1e-7)
        torch.testing.assert_close(net("none", scale)(x), plain * scale**4, rtol=1e-9, atol=0)
        for end in range(2, len(module), 3):
            before = module[:end](x)  # of an activation
            torch.testing.assert_close(before.var(0, correction=0), torch.ones(20).double(), rtol=1e-6, atol=0)


@pytest.mark.ledger("C220", covers="ftheta.nn.norm")
@pytest.mark.parametrize("before", [True, False])
def test_a_norm_trains_before_and_after_the_activation_and_the_summary_shows_where(before):
    pair = [norm("batch", 16, dims=0), nn.ReLU()]
    net = nn.Sequential(nn.Linear(2, 16), *(pair if before else pair[::-1]), nn.Linear(16, 1))
    x = torch.randn(128, 2)
    y = x[:, :1] * x[:, 1:]
    optimizer, losses = make("adam", net.parameters(), lr=0.05), []
    for _ in range(100):
        optimizer.zero_grad()
        losses.append((net(x) - y).square().mean())
        losses[-1].backward()
        optimizer.step()
    assert losses[-1].item() < 0.1 * y.var().item() < 0.5 * losses[0].item()
    middle = ["BatchNorm1d", "ReLU"] if before else ["ReLU", "BatchNorm1d"]
    found = explain.summary(net, input_shape=(2,))
    assert list(found.kinds) == ["Linear", *middle, "Linear"]
    assert str(found.table()).index(middle[0]) < str(found.table()).index(middle[1])


def test_what_cannot_be_is_one_sentence():
    with pytest.raises(InputError, match="'bach'.*batch"):
        norm("bach", 4)
    with pytest.raises(InputError, match="dims is 3; norm takes 0 for rows, 1 for signals or 2 for maps"):
        norm("batch", 4, dims=3)
    with pytest.raises(InputError, match="Instance norm takes its mean over positions and rows have none; use"):
        norm("instance", 4, dims=0)
    for channels in (0, 1.5, True):
        with pytest.raises(InputError, match="channels of norm"):
            norm("batch", channels)
    with pytest.raises(InputError, match="groups=5 does not divide 12 channels; take a divisor such as 1"):
        norm("group", 12, groups=5)
    for groups in (0, 2.0):
        with pytest.raises(InputError, match="groups of norm"):
            norm("group", 12, groups=groups)
