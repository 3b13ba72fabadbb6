"""One step of each cell against numbers worked out by hand, torch's cells, and the formulas as they are printed."""

import numpy as np
import pytest
import torch
from torch import nn

from ftheta.nn import GRUCell, Highway, HighwayCell, LSTMCell, Recurrent, ResidualCell, RNNCell
from ftheta.nn.recurrent.cells import CELLS
from tests.nn.test_recurrent import normal


def filled(cell, **values):
    """A cell of one unit with these weights."""
    cell = cell.double()
    for name, value in values.items():
        tensor = getattr(cell, name)
        tensor.data = torch.tensor(value, dtype=torch.float64).reshape(tensor.shape)
    return cell


def numbers(*values):
    return [torch.tensor([[v]], dtype=torch.float64) for v in values]


def count(module):
    return sum(p.numel() for p in module.parameters())


@pytest.mark.ledger("C226", "A214", covers="ftheta.nn.RNNCell")
def test_three_steps_of_a_plain_cell():
    """h_t = tanh(0.8 x_t + 0.5 h_{t-1} + 0.1) from 0."""
    net = Recurrent(1, 1, "rnn").double()
    filled(net.cells[0][0], weight_x=0.8, weight_h=0.5, bias=0.1)
    outputs, (end,) = net(torch.tensor([[[1.0], [-1.0], [0.5]]], dtype=torch.float64))
    assert outputs.flatten().tolist() == pytest.approx([0.716298, -0.329129, 0.323396], abs=1e-6)
    assert end.item() == outputs[0, -1].item()
    assert count(RNNCell(10, 20)) == 620


@pytest.mark.ledger("C233", "B077", "A216", covers="ftheta.nn.GRUCell")
def test_one_step_of_a_gated_unit():
    """i_o = σ(0.5 + 0.5 · 0.5), i_f = σ(-0.5 + 0.25 · 0.5 + 0.1), tanh(1 - i_f 0.5). Blocks of
    the weights: reset, update, candidate.
    """
    cell = filled(GRUCell(1, 1, "notes"), weight_x=[-0.5, 0.5, 1.0], weight_h=[0.25, 0.5, -1.0], bias=[0.1, 0.0, 0.0])
    x, h = numbers(1.0, 0.5)
    found = {name: value.item() for name, value in cell.gates(h, x).items()}
    assert found == pytest.approx({"update": 0.679179, "reset": 0.431680, "candidate": 0.655088}, abs=1e-6)
    state, output = cell(h, x)
    assert state.item() == output.item() == pytest.approx(0.605332, abs=1e-6)
    assert count(GRUCell(10, 20)) == 1860
    assert count(GRUCell(1, 100)) == 30_600


@pytest.mark.parametrize("convention", ["notes", "torch"])
def test_the_reset_gate_comes_before_or_after_the_product(convention):
    """Several units: U (r h) is not r (U h)."""
    cell, x, h = GRUCell(3, 5, convention).double(), normal(4, 3), normal(4, 5, seed=1)
    cell.bias.data = normal(15, seed=2)
    (wr, wu, w), (ur, uu, u) = cell.weight_x.split(5), cell.weight_h.split(5)
    br, bu, b = cell.bias.split(5)
    r, gate = (x @ wr.T + h @ ur.T + br).sigmoid(), (x @ wu.T + h @ uu.T + bu).sigmoid()
    new = (x @ w.T + ((r * h) @ u.T if convention == "notes" else r * (h @ u.T)) + b).tanh()
    mixed = gate * new + (1 - gate) * h if convention == "notes" else gate * h + (1 - gate) * new
    torch.testing.assert_close(cell(h, x)[0], mixed)


def test_weights_of_one_convention_do_not_fit_the_other():
    x, h = normal(4, 3), normal(4, 5, seed=1)
    notes, other = (GRUCell(3, 5, c).double() for c in ("notes", "torch"))
    other.load_state_dict(notes.state_dict())
    assert (notes(h, x)[0] - other(h, x)[0]).abs().max() > 0.1
    with torch.no_grad():  # but for the reset gate, 1 - u is the other's u
        other.weight_x[5:10] *= -1
        other.weight_h[5:10] *= -1
        for cell in (notes, other):
            cell.bias[:5] = 100.0
    torch.testing.assert_close(notes(h, x), other(h, x))


def lstm():
    return filled(
        LSTMCell(1, 1), weight_x=[0.2, 0.5, 1.0, -0.3], weight_h=[-0.1, 0.5, 0.5, 0.4], bias=[0.0, 1.0, 0.0, 0.0]
    )


@pytest.mark.ledger("C234", "B075", "A215", covers="ftheta.nn.LSTMCell")
def test_one_step_of_long_short_term_memory():
    """Before the sigmoids f: 0.5 x + 0.5 h + 1, i: 0.2 x - 0.1 h, o: -0.3 x + 0.4 h; candidate: x + 0.5 h."""
    x, h, c = numbers(1.0, 0.5, 0.8)
    found = {name: value.item() for name, value in lstm().gates((h, c), x).items()}
    wanted = {"forget": 0.851953, "input": 0.537430, "output": 0.475021, "candidate": 0.848284}
    assert found == pytest.approx(wanted, abs=1e-6)
    (h, c), output = lstm()((h, c), x)
    assert (c.item(), h.item()) == pytest.approx((1.137455, 0.386456), abs=1e-6)
    assert output.item() == h.item()
    assert count(LSTMCell(10, 20)) == 2480
    assert [count(LSTMCell(1, k)) for k in (50, 100, 200)] == [10_400, 40_800, 161_600]
    assert count(nn.LSTM(1, 100)) == 41_200  # torch has a second bias


@pytest.mark.ledger("B076", covers="ftheta.nn.LSTMCell")
def test_peepholes_show_the_memory_to_the_gates():
    """p c in the input and forget gates with the memory before the step, in the output gate with that after it."""
    plain, cell = lstm(), filled(LSTMCell(1, 1, peephole=True), peephole=[0.3, -0.2, 0.7])
    cell.load_state_dict({**plain.state_dict(), "peephole": cell.peephole})
    x, h, c = numbers(1.0, 0.5, 0.8)
    sigmoid = lambda z: 1 / (1 + np.exp(-z))  # noqa: E731
    f, i = sigmoid(0.5 + 0.25 + 1 - 0.2 * 0.8), sigmoid(0.2 - 0.05 + 0.3 * 0.8)
    after = f * 0.8 + i * np.tanh(1.25)
    o = sigmoid(-0.3 + 0.2 + 0.7 * after)
    found = cell.gates((h, c), x)
    assert [found[k].item() for k in ("forget", "input", "output")] == pytest.approx([f, i, o])
    assert cell((h, c), x)[1].item() == pytest.approx(o * np.tanh(after))
    assert count(LSTMCell(1, 100, peephole=True)) - count(LSTMCell(1, 100)) == 300


@pytest.mark.parametrize("kind", ["rnn", "gru", "lstm"])
def test_torchs_cells_give_the_same_step(kind):
    ours = CELLS[kind](3, 5).double()
    theirs = {"rnn": nn.RNNCell, "gru": nn.GRUCell, "lstm": nn.LSTMCell}[kind](3, 5, dtype=torch.float64)
    names = {"weight_ih": ours.weight_x, "weight_hh": ours.weight_h, "bias_ih": ours.bias}
    for name, value in {**names, "bias_hh": torch.zeros_like(ours.bias)}.items():
        getattr(theirs, name).data = value.data
    x, h, c = normal(4, 3), normal(4, 5, seed=1), normal(4, 5, seed=2)
    state = (h, c) if kind == "lstm" else h
    torch.testing.assert_close(ours(state, x)[0], theirs(x, state))


@pytest.mark.ledger("C229", covers="ftheta.nn.ResidualCell")
@pytest.mark.parametrize("carry", ["identity", "fixed", "learned"])
def test_a_residual_cell_adds_to_what_it_carries(carry):
    """h = Q h' + φ(A x + C h' + b)."""
    cell, plain = ResidualCell(3, 5, carry, decay=0.7).double(), RNNCell(3, 5).double()
    plain.load_state_dict({k: v for k, v in cell.state_dict().items() if k != "carry"})
    x, h = normal(4, 3), normal(4, 5, seed=1)
    q = torch.eye(5, dtype=torch.float64) * (1.0 if carry == "identity" else 0.7)
    if carry == "learned":
        cell.carry.data = q = normal(5, 5, seed=2)
    torch.testing.assert_close(cell(h, x)[0], h @ q.T + plain(h, x)[0])
    assert count(cell) == count(plain) + 25 * (carry == "learned")


@pytest.mark.ledger("C238", covers="ftheta.nn.Highway")
def test_a_highway_layer_mixes_what_it_makes_of_x_with_x():
    x, layer = torch.tensor([1.0, -2.0]), Highway(2, "identity")
    for p in layer.parameters():
        nn.init.zeros_(p)
    nn.init.constant_(layer.candidate.bias, 0.5)
    for bias, y in ((-100.0, [1, -2]), (0.0, [0.75, -0.75]), (100.0, [0.5, 0.5])):
        nn.init.constant_(layer.transform.bias, bias)
        torch.testing.assert_close(layer(x), torch.tensor(y, dtype=torch.float32))
    rows = torch.randn(50, 8)
    deep = nn.Sequential(*[Highway(8, transform_bias=-20.0) for _ in range(50)])
    torch.testing.assert_close(deep(rows), rows, rtol=0, atol=1e-5)


LISTING = """
def R_basic(h_prev, x, W, b):
    h = phi(W_x @ x + b_h + W_h @ h_prev)
    return h
"""
CORRECTED = LISTING.replace("W, b)", "W_x, W_h, b_h)")


def as_printed(text, **names):
    scope = dict(phi=np.tanh, **names)
    exec(text, scope)  # the listing of the source
    return scope["R_basic"]


@pytest.mark.ledger("C239", covers="ftheta.nn.RNNCell")
def test_the_listing_of_the_basic_cell_runs_where_its_weights_are_named():
    cell = RNNCell(10, 20).double()
    x, h = normal(10), normal(20, seed=1)
    weights = [p.detach().numpy() for p in (cell.weight_x, cell.weight_h, cell.bias)]
    right = as_printed(CORRECTED)(h.numpy(), x.numpy(), *weights)
    np.testing.assert_allclose(cell(h[None], x[None])[0][0].detach(), right)
    with pytest.raises(NameError, match="W_x"):  # W and b stand for all of them
        as_printed(LISTING)(h.numpy(), x.numpy(), weights[0], weights[2])


@pytest.mark.ledger("C240", covers="ftheta.nn.HighwayCell", says="gate(a, h_tilde, x)", printed=0.0, right=1.0)
def test_a_closed_gate_keeps_the_state_and_not_the_input(ledger):
    """Five steps with inputs 0 and a state of 1; mixed with x, as printed, the state is gone."""
    cell = HighwayCell(10, 20).double()
    nn.init.constant_(cell.bias[20:], -100.0)
    h = torch.ones(1, 20, dtype=torch.float64)
    for _ in range(5):
        h, _ = cell(h, torch.zeros(1, 10, dtype=torch.float64))
    ledger(h.mean().item())
    now = cell.gates(h, normal(1, 10))
    with pytest.raises(RuntimeError, match="must match the size"):
        torch.lerp(normal(1, 10), now["candidate"], now["transform"])
    half = HighwayCell(10, 20).double()
    x, h = normal(4, 10), normal(4, 20, seed=1)
    a, new = half.gates(h, x)["transform"], half.gates(h, x)["candidate"]
    torch.testing.assert_close(half(h, x)[0], a * new + (1 - a) * h)
    raw = x @ half.weight_x.T + h @ half.weight_h.T + half.bias
    torch.testing.assert_close((new, a), (raw[:, :20].tanh(), raw[:, 20:].sigmoid()))


@pytest.mark.ledger("C225", covers="ftheta.nn.Recurrent")
def test_an_embedding_is_a_product_with_one_hot_vectors():
    """Rows of A (V, D) by numbers of the vocabulary; the gradient is 0 but for those that occur."""
    table, net = nn.Embedding(6, 3, dtype=torch.float64), Recurrent(3, 4, "gru").double()
    tokens = torch.tensor([[2, 5, 2], [0, 2, 0]])
    hot = nn.functional.one_hot(tokens, 6).double()
    torch.testing.assert_close(table(tokens), hot @ table.weight)
    net(table(tokens))[0].square().sum().backward()
    found, table.weight.grad = table.weight.grad, None
    net(hot @ table.weight)[0].square().sum().backward()
    torch.testing.assert_close(found, table.weight.grad)
    assert found.any(1).tolist() == [True, False, True, False, False, True]


@pytest.mark.parametrize("kind", CELLS)
def test_cells_start_with_orthogonal_weights_of_the_state_and_their_own_biases(kind):
    cell = CELLS[kind](3, 8)
    for block in cell.weight_h.split(8):
        torch.testing.assert_close(block @ block.T, torch.eye(8), rtol=0, atol=1e-5)
    bias = {"lstm": [0, 1, 0, 0], "highway": [0, -1], "gru": [0] * 3}.get(kind, [0])
    assert cell.bias.view(-1, 8).mean(1).tolist() == bias
