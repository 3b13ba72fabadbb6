"""The multi-layer perceptron against loops, matrices and NumPy."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from ftheta.errors import InputError
from ftheta.nn import ACTIVATIONS, MLP
from ftheta.optim import make


def mlp(*widths, **knobs):
    """A float64 net whose biases are not 0."""
    net = MLP(widths[0], widths[-1], widths[1:-1], **knobs).double()
    for name, p in net.named_parameters():
        if name.endswith("bias"):
            nn.init.normal_(p)
    return net


def arrays(net):
    return [
        (layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in net if isinstance(layer, nn.Linear)
    ]


def fill(net, *values):
    with torch.no_grad():
        for p, value in zip(net.parameters(), values, strict=True):
            p.copy_(torch.tensor(value, dtype=p.dtype))


@pytest.mark.ledger("A172", covers="ftheta.nn.MLP")
def test_widths_and_activations_of_each_layer_give_the_net_its_names():
    net = MLP(4, 3, (5, 6), activation=("tanh", "relu"), dropout=0.1)
    assert [name for name, _ in net.named_children()] == [
        "hidden1",
        "act1",
        "drop1",
        "hidden2",
        "act2",
        "drop2",
        "output",
    ]
    assert isinstance(net.act1, nn.Tanh) and isinstance(net.act2, nn.ReLU)
    assert net(torch.zeros(7, 4)).shape == (7, 3) and net(torch.zeros(2, 7, 4)).shape == (2, 7, 3)
    assert [name for name, _ in MLP(4, 3, ()).named_children()] == ["output"]
    assert [name for name, _ in net[1:4].named_children()] == ["act1", "drop1", "hidden2"] and net[-1] is net.output


@pytest.mark.ledger("A172", covers="ftheta.nn.MLP")
def test_gradient_descent_fits_xor():
    x, y = torch.tensor([[0.0, 0], [0, 1], [1, 0], [1, 1]]), torch.tensor([0.0, 1, 1, 0])
    net = MLP(2, 1, (8,), activation="tanh")
    optimizer = make("gd", net.parameters(), lr=0.3)
    for _ in range(400):
        optimizer.zero_grad()
        loss = (net(x)[:, 0] - y).square().mean()
        loss.backward()
        optimizer.step()
    assert loss.item() < 1e-3


@pytest.mark.ledger("A173", "C061", "C006", covers="ftheta.nn.MLP")
@given(st.lists(st.integers(1, 6), min_size=2, max_size=5), st.integers(1, 4), st.sampled_from(["relu", "tanh", "sin"]))
def test_the_net_is_the_loop_over_neurons(widths, rows, name):
    """a_i = σ(Σ_l w_il a_l + b_i), neuron by neuron; parameters Σ D_k (D_{k-1} + 1)."""
    net, x = mlp(*widths, activation=name), np.random.default_rng(0).normal(size=(rows, widths[0]))
    sigma = {"relu": lambda z: max(z, 0.0), "tanh": np.tanh, "sin": np.sin}[name]
    expected = []
    for a in x:
        layers = arrays(net)
        for k, (w, b) in enumerate(layers):
            z = [sum(w[i, j] * a[j] for j in range(len(a))) + b[i] for i in range(len(b))]
            a = z if k == len(layers) - 1 else [sigma(v) for v in z]
        expected.append(a)
    np.testing.assert_allclose(net(torch.tensor(x)).detach().numpy(), expected, rtol=1e-9, atol=1e-12)
    assert sum(p.numel() for p in net.parameters()) == sum(
        b * (a + 1) for a, b in zip(widths, widths[1:], strict=False)
    )


@pytest.mark.ledger("A176", "A177", covers="ftheta.nn.MLP")
def test_the_two_one_two_network_with_numbers():
    net = MLP(2, 2, (1,)).double()
    fill(net, [[0.5, -0.5]], [0.1], [[0.7], [0.3]], [0.2, -0.2])
    x = torch.tensor([[5.0, 2.0]], dtype=torch.double)
    assert net[:2](x).item() == pytest.approx(1.6, abs=1e-9)
    assert net(x)[0].tolist() == pytest.approx([1.32, 0.28], abs=1e-9)
    (w1, b1), (w2, b2) = arrays(net)  # another implementation from the exported weights
    np.testing.assert_allclose(w2 @ np.maximum(w1 @ [5.0, 2.0] + b1, 0) + b2, [1.32, 0.28], atol=1e-6)


@pytest.mark.ledger("C061", covers="ftheta.nn.MLP", says="y_j = φ_j ∘ Σ_{d=1..D_o} φ_jd h_d", printed=3.5, right=6.5)
def test_an_output_sums_over_all_hidden_units(ledger):
    """Three hidden units 1, 2, 3 with weights 1 and the offset 1/2, two outputs: the printed sum stops at D_o = 2."""
    net = MLP(1, 2, (3,))
    fill(net, [[1.0], [2.0], [3.0]], [0.0] * 3, [[1.0] * 3] * 2, [0.5, 0.5])
    ledger(net(torch.ones(1, 1))[0, 0])


@pytest.mark.ledger("C006", "C007", covers="ftheta.nn.MLP")
def test_the_one_four_two_network_as_sums_and_as_matrices():
    net = mlp(1, 4, 2)
    (a, b), (c, c0) = arrays(net)
    x = 0.7
    h = [max(0.0, a[m, 0] * x + b[m]) for m in range(4)]
    sums = [c0[k] + c[k, 0] * h[0] + c[k, 1] * h[1] + c[k, 2] * h[2] + c[k, 3] * h[3] for k in range(2)]
    given = torch.tensor([[x]], dtype=torch.double)
    assert net[:2](given)[0].tolist() == pytest.approx(h)
    assert net(given)[0].tolist() == pytest.approx(sums)
    assert (c @ h + c0).tolist() == pytest.approx(sums)
    assert sum(p.numel() for p in net.parameters()) == 18


@pytest.mark.ledger("C008", covers="ftheta.nn.MLP")
def test_a_batch_is_its_rows_and_columns_are_their_transpose():
    net, x = mlp(5, 7, 3), torch.randn(11, 5, dtype=torch.double)
    columns = net(x.T.T).T  # (K, B) from X (D, B)
    (a, b), (c, c0) = arrays(net)
    by_columns = c @ np.maximum(a @ x.T.numpy() + b[:, None], 0) + c0[:, None]
    np.testing.assert_allclose(columns.detach().numpy(), by_columns, atol=1e-12)
    alone = torch.cat([net(row[None]) for row in x])
    torch.testing.assert_close(net(x), alone, rtol=0, atol=1e-12)


@pytest.mark.ledger(
    "C009",
    covers="ftheta.nn.MLP",
    says="b of R^M added to Z of R^(M×B) is added to each column",
    printed=[0.0, 0.0, 0.0],
    right=[0.0, 1.0, 2.0],
)
def test_a_bias_vector_is_added_along_the_last_axis(ledger):
    """With rows as samples that is right. Added to a square matrix of columns it is silently wrong."""
    net = MLP(2, 3, ())
    fill(net, [[0.0, 0.0]] * 3, [0.0, 1.0, 2.0])
    assert net(torch.zeros(5, 2)).tolist() == [[0.0, 1.0, 2.0]] * 5
    assert (torch.zeros(3, 5) + net.output.bias[:, None]).T.tolist() == [[0.0, 1.0, 2.0]] * 5  # each column, as (M, 1)
    with pytest.raises(RuntimeError, match="size of tensor"):
        torch.zeros(3, 5) + net.output.bias
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        net(torch.zeros(5, 2).T)  # a batch in columns
    ledger((torch.zeros(3, 3) + net.output.bias)[0])


@pytest.mark.ledger("A275", "C015", "B307", covers="ftheta.nn.MLP")
def test_a_net_without_activations_is_one_affine_map():
    net, x = mlp(5, 5, 5, 5, 5, activation="identity"), torch.randn(20, 5, dtype=torch.double)
    matrix, offset = np.eye(5), np.zeros(5)
    for w, b in arrays(net):
        matrix, offset = w @ matrix, w @ offset + b
    np.testing.assert_allclose(net(x).detach().numpy(), x.numpy() @ matrix.T + offset, atol=1e-12)
    bent = mlp(5, 20, 5, activation="relu")
    middle, ends = bent((x[:10] + x[10:]) / 2), (bent(x[:10]) + bent(x[10:])) / 2
    assert (middle - ends).abs().max() > 0.01  # no affine map does this


def test_a_net_without_activations_is_not_linear():
    """A linear map sends 0 to 0; with biases 1 and 1/2 and a weight 2 the value there is 2.5."""
    net = MLP(1, 1, (1,), activation="identity")
    fill(net, [[1.0]], [1.0], [[2.0]], [0.5])
    assert net(torch.zeros(1, 1)).item() == 2.5


@pytest.mark.ledger("C071", covers="ftheta.nn.MLP")
def test_every_intermediate_layer_can_be_read():
    net, x = mlp(3, 4, 2, 3, 2), torch.randn(6, 3, dtype=torch.double)
    h, seen = x, [x]
    for layer in net:
        h = layer(h)
        seen.append(h)
    states = [seen[0], *(seen[2 * k] for k in (1, 2, 3)), seen[-1]]  # h_{k+1} = a[β_k + Ω_k h_k]
    assert [s.shape[1] for s in states] == [3, 4, 2, 3, 2]
    for k, (w, b) in enumerate(arrays(net)[:-1]):
        np.testing.assert_allclose(states[k + 1].detach(), np.maximum(states[k].detach().numpy() @ w.T + b, 0))
    assert net(x).equal(states[-1])
    assert nn.Sequential(net, nn.LayerNorm(2).double(), mlp(2, 3, 1))(x).shape == (6, 1)


@pytest.mark.ledger(
    "C072",
    covers="ftheta.nn.MLP",
    says="β_k: D_k; Ω_k: D_{k-1} × D_k, Ω_0: D_1 × D_0, Ω_K: D_K × D_o",
    printed=[[3, 4], [4, 2], [3, 2]],
    right=[[2, 4], [3, 2], [2, 3]],
)
def test_weights_have_the_shape_outputs_times_inputs(ledger):
    """Ω_k is D_{k+1} × D_k and β_k has D_{k+1} entries; for 3-4-2-3-2 the printed D_{k-1} × D_k does not chain."""
    net = MLP(3, 2, (4, 2, 3))
    shapes = {name: tuple(p.shape) for name, p in net.named_parameters()}
    assert shapes["hidden1.weight"] == (4, 3)
    assert [shapes[f"{n}.bias"][0] for n in ("hidden1", "hidden2", "hidden3", "output")] == [4, 2, 3, 2]
    assert sum(p.numel() for p in net.parameters()) == 16 + 10 + 9 + 8
    state = net.state_dict() | {"hidden2.weight": torch.zeros(4, 2)}
    with pytest.raises(RuntimeError, match=r"size mismatch for hidden2\.weight"):
        net.load_state_dict(state)
    ledger([shapes["hidden2.weight"], shapes["hidden3.weight"], shapes["output.weight"]])


# --- dropout


def dropped(p, n=20_000, units=8):
    """Hidden activations with and without dropout: (n, units) each, from inputs that are all the same."""
    net = MLP(3, 1, (units,), activation="softplus", dropout=p)
    x = torch.ones(n, 3)
    hidden = net[:3]
    return hidden.train()(x).detach(), hidden.eval()(x).detach()


@pytest.mark.ledger("A162", "C153", "B118", covers="ftheta.nn.MLP")
def test_dropout_has_the_variance_of_its_equation_and_is_off_in_evaluation():
    p = 0.3
    noisy, clean = dropped(p)
    ratio = noisy / clean
    assert ratio.mean().item() == pytest.approx(1, abs=0.01)
    assert ratio.var().item() == pytest.approx(p / (1 - p), abs=0.01)
    net, x = MLP(3, 2, (8,), dropout=0.5), torch.randn(4, 3)
    assert net.eval()(x).equal(net(x))
    bare = MLP(3, 2, (8,))
    bare.load_state_dict(net.state_dict())
    assert net(x).equal(bare(x))


@pytest.mark.ledger(
    "A162",
    covers="ftheta.nn.MLP",
    says="at the beginning of each epoch, activations are set to 0; nothing is scaled",
    printed="per epoch",
    right="per pass",
)
@pytest.mark.ledger("C153", "B118", covers="ftheta.nn.MLP")
def test_masks_are_new_for_every_pass_unit_and_row(ledger):
    """Not one mask for an epoch, nor one for a batch: all of them are independent."""
    net, x = MLP(3, 1, (8,), activation="softplus", dropout=0.5)[:3].train(), torch.ones(4000, 3)
    first, second = (net(x).detach() == 0 for _ in range(2))
    assert (first != second).float().mean().item() == pytest.approx(0.5, abs=0.02)
    ledger("per epoch" if first.equal(second) else "per pass")
    assert first.float().T.corrcoef().fill_diagonal_(0).abs().max() < 0.1  # units
    assert (first[:2000] == first[2000:]).float().mean().item() == pytest.approx(0.5, abs=0.02)  # rows


@pytest.mark.ledger("A163", covers="ftheta.nn.MLP")
def test_a_silenced_unit_has_no_gradient_in_that_pass():
    net = MLP(3, 2, (6,), activation="softplus", dropout=0.5).train()
    seen = []
    net.drop1.register_forward_hook(lambda module, given, out: seen.append(out == 0))
    net(torch.ones(1, 3)).sum().backward()
    silent = seen[0][0]
    assert silent.any() and not silent.all()
    for slopes in (net.hidden1.weight.grad.T, net.hidden1.bias.grad[None], net.output.weight.grad):
        assert ((slopes == 0).all(0) == silent).all()


def test_momentum_still_moves_a_silenced_unit():
    """No gradient is not no update: one step of gradient 1 at rate 0.1, then a masked pass, moves by -0.1 · 0.9."""
    weight = torch.zeros(1, requires_grad=True)
    optimizer = make("momentum", [weight], lr=0.1)
    for mask in (1.0, 0.0):
        before = weight.item()
        optimizer.zero_grad()
        (mask * weight).sum().backward()
        optimizer.step()
    assert weight.item() - before == pytest.approx(-0.09)


# --- initial weights and bad input


def test_auto_takes_the_scheme_of_the_activation_and_lecun_for_the_output():
    for name, variance in (("relu", 2 / 300), ("tanh", 2 / 700), ("sin", 1 / 300)):
        net = MLP(300, 200, (400,), activation=name)
        assert net.hidden1.weight.var().item() == pytest.approx(variance, rel=0.05), name
        assert net.output.weight.var().item() == pytest.approx(1 / 400, rel=0.05)
        assert not net.hidden1.bias.any() and not net.output.bias.any()
    assert not MLP(3, 2, (4,), init="zeros").hidden1.weight.any()
    assert MLP(300, 200, (400,), init="glorot").output.weight.var().item() == pytest.approx(2 / 600, rel=0.05)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_every_activation_makes_a_net_whose_signal_neither_dies_nor_explodes(name):
    assert 1e-3 < MLP(256, 256, (256,) * 5, activation=name)(torch.randn(64, 256)).std().item() < 30


@pytest.mark.parametrize(
    ("widths", "place", "shown"),
    [
        ((0, 3, (4,)), "input", "0"),
        ((4, -1, (4,)), "output", "-1"),
        ((4, 3, (4, 2.5)), "hidden2", r"2\.5"),
        ((4, 3, (True,)), "hidden1", "True"),
    ],
)
def test_a_wrong_width_names_its_layer(widths, place, shown):
    with pytest.raises(InputError, match=rf"width of layer '{place}'"):
        MLP(*widths)


def test_widths_may_be_numpy_integers_and_lists():
    assert MLP(np.int64(4), 3, [np.int32(5)]).hidden1.out_features == 5


def test_other_bad_arguments_are_named():
    with pytest.raises(InputError, match=r"hidden must be a sequence of widths such as \(64, 64\)\. Got 64 instead"):
        MLP(4, 3, 64)
    with pytest.raises(InputError, match=r"activation has 1 values for 2 hidden layers"):
        MLP(4, 3, (5, 5), activation=["relu"])
    with pytest.raises(InputError, match=r"dropout of MLP"):
        MLP(4, 3, dropout=1.0)
    with pytest.raises(InputError, match=r"Unknown activation 'rel'.*'relu'"):
        MLP(4, 3, activation="rel")
    with pytest.raises(InputError, match=r"Unknown initializer 'xavier'"):
        MLP(4, 3, init="xavier")


def test_dropout_may_differ_from_layer_to_layer():
    net = MLP(3, 2, (4, 5, 6), dropout=(0.1, 0.0, 0.5))
    found = {name: layer.p for name, layer in net.named_children() if name.startswith("drop")}
    assert found == {"drop1": 0.1, "drop3": 0.5}
    with pytest.raises(InputError, match="dropout has 2 values for 3 hidden layers"):
        MLP(3, 2, (4, 5, 6), dropout=(0.1, 0.2))
    with pytest.raises(InputError, match="dropout of MLP"):
        MLP(3, 2, (4, 5), dropout=(0.1, 1.5))
