"""Residual blocks: against torch and sums by hand, their starts, their paths, and what depth does to signals."""

import itertools
from itertools import accumulate
from unittest import mock

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional as F

from ftheta import explain, formulas, plots
from ftheta.errors import InputError
from ftheta.nn import (
    BLOCKS,
    NORMS,
    ORDERS,
    DenseBlock,
    Residual,
    SqueezeExcitation,
    StochasticDepth,
    initialize,
    norm,
    project,
    residual_around,
    residual_block,
)
from ftheta.optim import make


def linear(width, scheme="he"):
    layer = nn.Linear(width, width)
    initialize(layer, scheme)
    return layer


def stirred(module):
    """In float64, with no parameter at 0 or 1."""
    for p in module.double().parameters():
        nn.init.normal_(p, std=0.4)
    return module


# --- h + f[h] ---------------------------------------------------------------------------------------------------------


@pytest.mark.ledger("C206", covers="ftheta.nn.residual_around")
@pytest.mark.parametrize(
    ("branch", "shape", "shortcut"),
    [
        (lambda: nn.Linear(6, 6), (6,), nn.Identity),
        (lambda: nn.Sequential(nn.Linear(6, 4), nn.Tanh()), (6,), nn.Linear),
        (lambda: nn.Conv1d(3, 3, 5, padding=2), (3, 9), nn.Identity),
        (lambda: nn.Conv1d(3, 4, 3, padding=1, stride=2), (3, 9), nn.Conv1d),
        (lambda: nn.Sequential(nn.Conv2d(3, 5, 3, padding=1, stride=2), nn.BatchNorm2d(5)), (3, 7, 8), nn.Conv2d),
        (lambda: nn.MaxPool2d(2), (3, 8, 6), nn.Conv2d),
        (lambda: nn.Conv2d(3, 3, 3, padding=1, stride=3), (3, 9, 4), nn.Conv2d),  # 9 / 3 and ⌈4 / 3⌉ = 4 / 2
        (lambda: nn.Tanh(), (3, 8, 6), nn.Identity),
    ],
)
def test_any_net_gets_its_input_added_and_a_projection_where_sizes_differ(branch, shape, shortcut):
    f = branch()
    block = residual_around(f, shape, after=nn.ReLU()).eval()
    x = torch.randn(4, *shape)
    assert isinstance(block.shortcut, shortcut)
    torch.testing.assert_close(block(x), F.relu(block.shortcut(x) + f(x)))
    if shortcut is nn.Identity:
        torch.testing.assert_close(block(x), F.relu(x + f(x)))


def test_finding_the_sizes_leaves_the_branch_as_it_was_and_follows_its_dtype():
    branch = nn.Sequential(nn.Linear(4, 2), nn.BatchNorm1d(2)).double()
    before = {name: value.clone() for name, value in branch.state_dict().items()}
    block = residual_around(branch, (4,), survival=0.5)
    assert block.branch is branch and branch.training and block.depth.p == 0.5
    assert block(torch.randn(3, 4, dtype=torch.double)).dtype is torch.double
    branch.load_state_dict(before)  # the call above moved them
    assert residual_around(branch, (4,)) and all(torch.equal(before[k], v) for k, v in branch.state_dict().items())


@pytest.mark.ledger("C206", covers="ftheta.nn.project")
def test_a_projection_is_the_identity_a_matrix_or_a_strided_one_by_one_convolution():
    assert isinstance(project(4, 4), nn.Identity) and isinstance(project(4, 4, dims=0), nn.Identity)
    x = torch.randn(2, 3, 7, 5)
    layer = project(3, 4, 2)
    expected = torch.einsum("oc,bchw->bohw", layer.weight[:, :, 0, 0], x[:, :, ::2, ::2])
    torch.testing.assert_close(layer(x), expected)
    assert layer.bias is None and project(3, 4, dims=0).bias is None
    assert project(3, 4, 3, dims=1)(torch.randn(2, 3, 7)).shape == (2, 4, 3)


@pytest.mark.parametrize(("order", "kind"), list(itertools.product(ORDERS, BLOCKS)))
def test_a_block_is_its_layers_in_the_order_it_names_forward_and_backward(order, kind):
    block = stirred(residual_block(8, 12, stride=2, order=order, kind=kind, squeeze=2)).eval()
    f, x = dict(block.branch.named_children()), torch.randn(2, 8, 5, 6, dtype=torch.double, requires_grad=True)
    h = x
    for k in range(1, len(BLOCKS[kind](8, 12, 2)) + 1):
        steps = {"conv": lambda h, k=k: conv(h, f[f"conv{k}"]), "norm": lambda h, k=k: normed(h, f[f"norm{k}"])}
        for step in {"post": "conv norm act", "pre": "norm act conv"}[order].split():
            last = (order, step, f"conv{k + 1}" in f) == ("post", "act", False)  # comes after the sum
            h = h if last else F.relu(h) if step == "act" else steps[step](h)
    gate = f["squeeze"].gate
    assert gate[0].out_features == 12 // 2
    z = torch.sigmoid(gate[2](F.relu(gate[0](h.mean((2, 3))))))
    s = block.shortcut
    short = normed(conv(x, s.conv), s.norm) if order == "post" else conv(x, s)
    y = h * z[:, :, None, None] + short
    expected = F.relu(y) if order == "post" else y
    torch.testing.assert_close(block(x), expected)
    cotangent = torch.randn_like(expected)
    for found, right in zip(*(torch.autograd.grad(out, x, cotangent) for out in (block(x), expected)), strict=True):
        torch.testing.assert_close(found, right)
    assert block(x).shape == (2, 12, 3, 3)


def conv(h, layer):
    return F.conv2d(h, layer.weight, stride=layer.stride, padding=layer.weight.shape[-1] // 2)


def normed(h, layer):
    scale = layer.weight / torch.sqrt(layer.running_var + 1e-5)
    return h * scale[:, None, None] + (layer.bias - scale * layer.running_mean)[:, None, None]


def test_kinds_have_their_convolutions():
    basic, narrow = residual_block(16, 32, stride=2), residual_block(16, 32, stride=2, kind="bottleneck")
    assert [tuple(w.shape) for w in basic.branch.parameters() if w.ndim == 4] == [(32, 16, 3, 3), (32, 32, 3, 3)]
    shapes = [tuple(w.shape) for w in narrow.branch.parameters() if w.ndim == 4]
    assert shapes == [(8, 16, 1, 1), (8, 8, 3, 3), (32, 8, 1, 1)]
    assert [name for name, _ in basic.branch.named_children()] == ["conv1", "norm1", "act1", "conv2", "norm2"]
    assert residual_block(2, 4, kind="bottleneck").branch.conv1.out_channels == 1
    assert residual_block(3, 5, stride=2, dims=1)(torch.randn(4, 3, 9)).shape == (4, 5, 5)


@pytest.mark.parametrize(("activation", "gain"), [("relu", 2 / 72), ("tanh", 2 / (72 + 576)), ("sin", 1 / 72)])
def test_branches_start_as_the_activation_asks_and_projections_level(activation, gain):
    block = residual_block(8, 64, activation=activation, order="pre", norm="none", zero_last=False)
    assert block.branch.conv1.weight.std().item() == pytest.approx(gain**0.5, rel=0.06)
    assert block.shortcut.weight.std().item() == pytest.approx((1 / 8) ** 0.5, rel=0.12)
    assert block.branch.conv1.bias is not None and residual_block(8, 8).branch.conv1.bias is None


# --- the start --------------------------------------------------------------------------------------------------------

STARTS = list(itertools.product(BLOCKS, ORDERS, NORMS, (0, 4)))


@pytest.mark.ledger("A272", covers="ftheta.nn.residual_block")
@pytest.mark.parametrize(("kind", "order", "kind_of_norm", "squeeze"), STARTS)
def test_a_block_starts_as_the_identity_and_can_leave_it(kind, order, kind_of_norm, squeeze):
    x = torch.rand(3, 8, 4, 4)
    block = residual_block(8, 8, kind=kind, order=order, norm=kind_of_norm, squeeze=squeeze)
    y = block(x)
    assert torch.equal(y, x)  # to the last bit
    (y * torch.randn_like(y)).sum().backward()
    assert any(p.grad.any() for p in block.branch.parameters())
    free = residual_block(8, 8, kind=kind, order=order, norm=kind_of_norm, squeeze=squeeze, zero_last=False)
    assert not torch.allclose(free(x), x, atol=1e-2)


@pytest.mark.ledger("A272", covers="ftheta.nn.Residual", printed="feasible", right="no gradient")
def test_a_branch_with_all_layers_at_zero_never_moves_and_one_with_the_last_at_zero_learns(ledger):
    """W₂ relu(W₁ x): with both at zero all gradients are exactly 0; learning from there is said to be feasible."""

    def trained(scheme):
        torch.manual_seed(0)
        block = Residual(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4, bias=False)))
        initialize(block, scheme)
        nn.init.zeros_(block.branch[2].weight)
        x = torch.randn(64, 4)
        assert torch.equal(block(x), x)
        optimizer, before = make("gd", block.parameters(), lr=0.3), block.branch[2].weight.detach().clone()
        for _ in range(50):
            optimizer.zero_grad()
            loss = (block(x) - 2 * x.abs()).square().mean()
            loss.backward()
            optimizer.step()
        return block, loss.item(), not torch.equal(block.branch[2].weight, before)

    stuck, high, moved = trained("zeros")
    assert all(not p.grad.any() for p in stuck.parameters())  # exactly 0
    _, low, learned = trained("he")
    assert learned and low < 0.3 * high
    ledger("feasible" if moved else "no gradient")


# --- stochastic depth -------------------------------------------------------------------------------------------------


@pytest.mark.ledger("C156", covers="ftheta.nn.StochasticDepth")
def test_training_agrees_with_evaluation_in_expectation_because_survivors_are_scaled():
    """Without scaling a branch would count 0.7 in training and 1 in evaluation."""
    n, survival = 20_000, 0.7
    block = Residual(nn.Linear(1, 1, bias=False), survival=survival).double()
    nn.init.ones_(block.branch.weight)
    h = torch.full((n, 1), 2.0, dtype=torch.double)
    change = (block(h) - h)[:, 0].detach()  # 0, or 2 / 0.7
    kept = (change > 0).double().mean().item()
    assert kept == pytest.approx(survival, abs=4 * (survival * (1 - survival) / n) ** 0.5)  # each row its own draw
    torch.testing.assert_close(change[change > 0].unique(), torch.tensor([2 / survival]).double())
    spread = 4 * change.std().item() / n**0.5
    assert change.mean().item() == pytest.approx(2.0, abs=spread) and spread < 0.1
    assert torch.equal(block.eval()(h), 2 * h)


@pytest.mark.ledger("C156", covers="ftheta.formulas.survival_probabilities")
def test_expected_active_blocks_with_linear_survival():
    n, rows = 54, 2000
    survival = formulas.survival_probabilities(n, 0.5)
    assert survival.sum() == pytest.approx(40.25) and (3 * n - 1) / 4 == 40.25
    kept = torch.stack([StochasticDepth(1 - p)(torch.ones(rows, 1))[:, 0] > 0 for p in survival.tolist()])  # (n, rows)
    active = kept.sum(0).double()
    assert active.mean().item() == pytest.approx(40.25, abs=4 * active.std().item() / rows**0.5)
    assert active.std().item() == pytest.approx((survival * (1 - survival)).sum() ** 0.5, rel=0.1)  # independent


def test_a_row_is_dropped_as_a_whole_and_p_0_changes_nothing():
    x = torch.rand(50, 3, 4, 5) + 1
    rows = (StochasticDepth(0.5)(x) == 0).flatten(1)
    assert (rows.all(1) | ~rows.any(1)).all() and 5 < rows.all(1).sum() < 45
    assert StochasticDepth(0)(x) is x and repr(StochasticDepth(0.25)) == "StochasticDepth(p=0.25)"
    assert isinstance(Residual(nn.Identity()).depth, nn.Identity)


# --- paths ------------------------------------------------------------------------------------------------------------


def without_branch(block):
    """A context in which only the shortcut of the block is left."""
    return mock.patch.object(block.branch, "forward", torch.zeros_like)


@pytest.mark.ledger("C208", covers="ftheta.nn.Residual")
def test_three_blocks_have_eight_paths_and_survive_the_loss_of_one():
    assert formulas.path_lengths(3) == [1, 3, 3, 1]  # 2³ = 8 paths
    blocks = nn.Sequential(*(Residual(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))) for _ in range(3)))
    net = nn.Sequential(nn.Linear(2, 8), blocks, nn.Linear(8, 1))
    x = torch.rand(256, 2) * 4 - 2
    y = torch.sin(x[:, :1]) + x[:, 1:].abs()
    optimizer = make("adam", net.parameters(), lr=0.01)

    def loss():
        return (net(x) - y).square().mean()

    for _ in range(150):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()
    whole = loss().item()
    change = []
    for block in blocks:
        with without_branch(block):
            change.append(loss().item() - whole)
        assert loss().item() == whole  # and it is back
    assert whole < 0.1 * y.var().item() and min(change) > 0  # each block was used

    h = torch.randn(5, 8)
    with without_branch(blocks[1]):
        torch.testing.assert_close(blocks(h), blocks[2](blocks[0](h)))


# --- signals in deep stacks -------------------------------------------------------------------------------------------


@pytest.mark.ledger(
    "A271",
    covers="ftheta.nn.Residual",
    says="skip connections reduce vanishing or exploding gradients",
    printed="vanishing or exploding",
    right="vanishing",
)
def test_skips_cure_vanishing_gradients_and_do_not_prevent_growth(ledger):
    """Where plain layers explode, those with skips explode the more."""

    def norms(layers, width=32):
        """Frobenius norms of ∂h_k/∂x, k = 1 ... K, of linear layers."""
        rows = torch.eye(width, dtype=torch.double)  # of the transposed Jacobian
        with torch.no_grad():
            return torch.stack([(rows := layer(rows)).norm() for layer in layers])

    def stacks(scale, depth=50, width=32):
        plain = [nn.Linear(width, width, bias=False).double() for _ in range(depth)]
        for layer in plain:
            nn.init.normal_(layer.weight, std=scale / width**0.5)
        return norms(plain), norms(map(Residual, plain))

    plain, residual = stacks(0.5)
    assert 1e-16 < plain[-1].item() < 1e-13  # seen elsewhere: 5.6e-15
    assert 1e2 < residual[-1].item() < 1e4  # seen elsewhere: 1.1e3
    lines = {f"plain, {s}": stacks(s)[0].tolist() for s in (1.0, 1.5)} | {"residual": residual.tolist()}
    assert lines["plain, 1.5"][-1] > 1e6  # a large scale explodes
    depth = np.arange(1, 51)
    np.testing.assert_allclose(np.log(plain.numpy()), np.log(0.5**depth * 32**0.5), atol=2)  # s^k √D
    np.testing.assert_allclose(
        np.log(residual.numpy()), np.log(1.25 ** (depth / 2) * 32**0.5), atol=2
    )  # √(1 + s²)^k √D
    figure = plots.curves(lines, x="depth", label="norm of the Jacobian", title="Gradients against depth")
    assert figure.axes[0].get_yscale() == "log" and len(figure.axes[0].lines) == 3
    plain, residual = stacks(1.5)
    ledger("vanishing or exploding" if residual[-1] < plain[-1] else "vanishing")


@pytest.mark.ledger("C209", covers="ftheta.nn.Residual")
def test_a_branch_that_ends_on_relu_can_only_add():
    width, x = 100, torch.randn(500, 100)
    last, first = (Residual(nn.Sequential(*order)) for order in itertools.permutations([linear(width), nn.ReLU()]))
    change = (last(x) - x).detach()
    assert change.min().item() > -1e-5 and change.mean().item() == pytest.approx(0.565, abs=0.03)  # √2 / √(2π)
    change = (first(x) - x).detach()
    assert change.min().item() < -3 and change.mean().item() == pytest.approx(0, abs=0.15)
    positive = torch.rand(500, 100)  # ReLU first does nothing to it: a linear layer must come before the first block
    torch.testing.assert_close(first(positive), positive + first.branch[1](positive))


@pytest.mark.ledger("C210", covers="ftheta.nn.Residual")
def test_the_variance_doubles_with_each_he_initialised_block_unless_sums_are_divided_by_root_two():
    width, n = 500, 20
    x = torch.randn(200, width)
    branches = [nn.Sequential(nn.ReLU(), linear(width)) for _ in range(n)]
    grown = [h.var().item() for h in accumulate(map(Residual, branches), lambda h, f: f(h), initial=x)]
    np.testing.assert_allclose(grown[:6], [1, 2.03, 4.04, 7.96, 15.7, 31.5], rtol=0.15)
    np.testing.assert_allclose(np.log2(grown), np.arange(n + 1), atol=1.0)
    assert grown[-1] == pytest.approx(2**20, rel=0.6)
    level = nn.Sequential(*(Residual(f, after=Scale(2**-0.5)) for f in branches))(x).var().item()
    assert 0.5 < level < 2  # seen elsewhere: 1.50


class Scale(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return self.factor * x


@pytest.mark.ledger("C216", covers="ftheta.nn.norm")
def test_batch_norm_at_the_start_of_each_branch_makes_the_variance_grow_by_one_a_block():
    width, n = 500, 20
    blocks = [Residual(nn.Sequential(norm("batch", width, dims=0), nn.ReLU(), linear(width))) for _ in range(n)]
    grown = [h.var().item() for h in accumulate(blocks, lambda h, f: f(h), initial=torch.randn(200, width))]
    np.testing.assert_allclose(grown, np.arange(n + 1) + 1, rtol=0.12)
    np.testing.assert_allclose([*grown[:4], grown[10], grown[20]], [1, 2.01, 3.04, 4.04, 10.9, 20.7], rtol=0.1)


# --- dense blocks, squeeze and excitation -----------------------------------------------------------------------------


@pytest.mark.ledger("B315", covers="ftheta.nn.DenseBlock")
def test_a_dense_block_concatenates_where_a_residual_block_adds():
    block, x = DenseBlock(3, 32, 3).eval(), torch.randn(2, 3, 5, 6)
    assert block.channels == [3, 35, 67, 99] and block(x).shape == (2, 99, 5, 6)
    h = x
    for layer in block.layers:
        h = torch.cat([h, layer(h)], 1)
        assert [name for name, _ in layer.named_children()] == ["norm1", "act1", "conv1"]
    torch.testing.assert_close(block(x), h)
    assert torch.equal(block(x)[:, :3], x)  # what came in is still there, unchanged
    assert residual_block(3, 3)(x).shape == x.shape
    assert DenseBlock(3, 4, 2, norm="layer", activation="tanh", dims=1)(torch.randn(2, 3, 9)).shape == (2, 11, 9)


def test_a_dense_block_has_the_norm_and_the_activation_that_are_named():
    block, x = DenseBlock(2, 3, 2, norm="none", activation="tanh"), torch.randn(2, 2, 4, 5)
    h = x
    for layer in block.layers:
        h = torch.cat([h, layer.conv1(h.tanh())], 1)
    torch.testing.assert_close(block(x), h)
    normed = DenseBlock(2, 3, 1, norm="instance", activation="sin").layers[0]
    torch.testing.assert_close(normed(x), normed.conv1(torch.nn.functional.instance_norm(x).sin()))


@pytest.mark.ledger("B339", covers="ftheta.nn.SqueezeExcitation")
@pytest.mark.parametrize("shape", [(8,), (8, 9), (8, 4, 5)])
def test_squeeze_and_excitation_scales_each_channel_by_a_gate_of_the_means(shape):
    block = stirred(SqueezeExcitation(8, 4))
    x = torch.randn(3, *shape, dtype=torch.double, requires_grad=True)
    w1, b1, w2, b2 = (p.detach().numpy() for p in block.parameters())
    means = x.detach().numpy().reshape(3, 8, -1).mean(2)
    gate = 1 / (1 + np.exp(-(np.maximum(means @ w1.T + b1, 0) @ w2.T + b2)))
    expected = x.detach().numpy() * gate.reshape(3, 8, *[1] * (len(shape) - 1))
    np.testing.assert_allclose(block(x).detach(), expected, atol=1e-12)
    assert torch.autograd.gradcheck(block, x)


@pytest.mark.ledger("B339", covers="ftheta.nn.SqueezeExcitation")
def test_the_cost_of_squeeze_and_excitation_does_not_depend_on_the_count_of_positions():
    costs = {n: explain.summary(SqueezeExcitation(16, 4), input_shape=(16, n, n)).multiply_adds.sum() for n in (2, 32)}
    assert costs == {2: 128, 32: 128}  # 2 C C/4
    assert SqueezeExcitation(3, 8).gate[0].out_features == 1


# --- sentences --------------------------------------------------------------------------------------------------------


def test_what_cannot_be_is_one_sentence():
    block = Residual(nn.Linear(3, 1))
    with pytest.raises(InputError, match=r"makes \(2, 1\) of \(2, 3\) and its shortcut \(2, 3\), which cannot"):
        block(torch.zeros(2, 3))  # torch would broadcast
    with pytest.raises(InputError, match=r"The branch makes \(3, 5, 5\) of \(3, 7, 7\), and no 1x1 projection"):
        residual_around(nn.Conv2d(3, 3, 3), (3, 7, 7))
    with pytest.raises(InputError, match=r"The branch makes \(147,\) of \(3, 7, 7\), and no 1x1 projection"):
        residual_around(nn.Flatten(), (3, 7, 7))
    for survival in (0, 1.5, "x"):
        with pytest.raises(InputError, match=r"survival must be a probability in the range \(0, 1\]. Got"):
            Residual(nn.Identity(), survival=survival)
    for p in (1, -0.1, "x"):
        with pytest.raises(InputError, match=r"p of StochasticDepth"):
            StochasticDepth(p)
    for reduction in (0, 2.5):
        with pytest.raises(InputError, match="reduction of SqueezeExcitation"):
            SqueezeExcitation(8, reduction)
    with pytest.raises(InputError, match="layers of DenseBlock"):
        DenseBlock(3, 4, -1)
    with pytest.raises(InputError, match="kind of block 'bottle'.*bottleneck"):
        residual_block(8, 8, kind="bottle")
    with pytest.raises(InputError, match="order 'prae'.*pre"):
        residual_block(8, 8, order="prae")
