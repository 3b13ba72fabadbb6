"""Pictures of recurrent nets: their numbers against torch's layers, closed forms and autograd, and what is drawn."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from ftheta import GRUClassifier, LSTMClassifier, LSTMTagger, explain
from ftheta.errors import InputError, InputTypeError
from ftheta.nn import Highway, Recurrent
from tests.nn.test_recurrent import KINDS, layer, normal

X = normal(3, 6, 2).numpy()
LISTS = [x[:n] for x, n in zip(X, (6, 4, 1), strict=True)]


def words_of(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def arrows_of(figure):
    return [text for text in figure.axes[0].texts if getattr(text, "arrow_patch", None) is not None]


@pytest.fixture(scope="module")
def fitted():
    return LSTMClassifier(hidden=3, epochs=2, random_state=0).fit(LISTS, [0, 1, 1])


@pytest.mark.parametrize(("kind", "options"), KINDS)
@pytest.mark.ledger("C237", covers="ftheta.explain.cell")
def test_the_boxes_of_a_cell_give_the_state_that_the_net_has(kind, options):
    """The last box is computed from the gates by the operations that are drawn."""
    net = layer(kind, 2, 4, layers=2, **options)
    outputs, states = net(torch.from_numpy(X))
    for number, unit in ((2, 0), (2, 3)):
        found = explain.cell(net, X, row=1, layer=number, unit=unit)
        np.testing.assert_allclose(found.values["h"], outputs[1, -1].detach(), atol=1e-12)
        if kind == "lstm":
            np.testing.assert_allclose(found.values["c"], states[1][1][1].detach(), atol=1e-12)
        shown = words_of(found.figure())
        for box in found.boxes:
            assert sum(box.name in word.split("\n") for word in shown) == 1
            if box.name != "x":
                assert any(f"{box.name}\n{found.values[box.name][unit]:.3g}" in word for word in shown)


@pytest.mark.ledger("C237", covers="ftheta.explain.cell")
def test_arrows_of_an_lstm_carry_the_numbers_of_its_gates():
    """The worked step: x = 1, h = 0.5 and c = 0.8 before it."""
    net = Recurrent(1, 1).double()
    cell = net.cells[0][0]
    cell.load_state_dict(
        {
            "weight_x": torch.tensor([[0.2], [0.5], [1.0], [-0.3]]),
            "weight_h": torch.tensor([[-0.1], [0.5], [0.5], [0.4]]),
            "bias": torch.tensor([0.0, 1.0, 0.0, 0.0]),
        }
    )
    start = tuple(torch.tensor([[v]], dtype=torch.float64) for v in (0.5, 0.8))
    cell.initial = lambda n, like: start
    found = explain.cell(net, np.ones((1, 1, 1)))
    assert found.table().columns["h"] == [pytest.approx(0.386456, abs=1e-6)]
    shown = words_of(found.figure())
    for gate in ("0.852", "0.537", "0.848", "0.475", "0.8", "1.14"):  # forget, input, candidate, output, c', c
        assert gate in shown, gate
    assert "LSTMCell, layer 1, step 1, unit 0" in found.figure().axes[0].get_title()


@pytest.mark.ledger("C242", covers="ftheta.explain.cell")
def test_a_highway_layer_is_drawn_with_its_gate():
    net, x = nn.Sequential(nn.Linear(3, 4), Highway(4), Highway(4)).double(), normal(2, 3)
    with torch.no_grad():
        inner = net[:2](x)
        gate, right = net[2].gates(inner)["transform"], net(x)
    found = explain.cell(net, x.numpy(), row=1, layer=2, unit=3)
    np.testing.assert_allclose(found.values["y"], right[1])
    np.testing.assert_allclose(found.values["x"], inner[1])
    shown = words_of(found.figure())
    assert f"{gate[1, 3]:.3g}" in shown and f"{1 - gate[1, 3]:.3g}" in shown  # on both arrows
    assert f"{inner[1, 3]:.3g}" in shown


@pytest.mark.ledger("C230", covers="ftheta.explain.unrolled")
def test_an_unrolled_net_shows_which_boxes_share_their_weights():
    """Three steps of two layers: x, two cells and an output in each; colors are those of the weights."""
    found = explain.unrolled(layer("gru", 2, 4, layers=2), X[:, :3])
    assert found.words.count("GRU θ1") == found.words.count("GRU θ2") == 3
    at = {
        (word, round(column / 1.3)): i for i, (word, (column, _)) in enumerate(zip(found.words, found.at, strict=True))
    }
    assert found.parents[at["GRU θ2", 1]] == (at["GRU θ2", 0], at["GRU θ1", 1])
    assert found.parents[at["GRU θ1", 0]] == (at["x1", 0],)
    assert found.parents[at["y3", 2]] == (at["GRU θ2", 2],)
    colors = {word: set() for word in found.words}
    for word, text in zip(found.words, found.figure().axes[0].texts, strict=False):
        colors[word].add(text.get_bbox_patch().get_facecolor())
    assert all(len(each) == 1 for each in colors.values()) and colors["GRU θ1"] != colors["GRU θ2"]
    assert len(arrows_of(found.figure())) == sum(map(len, found.parents)) == 3 + 2 + 3 + 2 + 3
    assert found.table().columns["numbers"] == [3 * 4 * (2 + 4 + 1), 3 * 4 * (4 + 4 + 1)]


@pytest.mark.ledger("C230", "C224", covers="ftheta.explain.unrolled")
def test_the_shapes_of_tasks_are_drawn_as_the_net_reads_its_steps(fitted):
    """One answer from the last state, from the mean of all steps, or one for each step; both directions."""
    last = explain.unrolled(fitted, LISTS, row=1)
    assert last.steps == 4 and [last.words[i] for i in last.parents[last.words.index("output")]] == ["LSTM θ1"]
    assert last.parents[last.words.index("output")] == (len(last.words) - 2,)  # the last cell
    mean = GRUClassifier(hidden=2, pooling="mean", bidirectional=True, epochs=1, random_state=0).fit(LISTS, [0, 1, 1])
    found = explain.unrolled(mean, LISTS)
    assert len(found.parents[found.words.index("output")]) == 12
    backward = [i for i, word in enumerate(found.words) if word == "GRU θ2"]
    assert found.parents[backward[1]][0] == backward[0]  # from the last step to the first
    assert found.at[backward[0]][0] > found.at[backward[1]][0]
    tagger = LSTMTagger(hidden=2, epochs=1, random_state=0).fit(
        LISTS, [["a", "b"] * (len(x) // 2) + ["a"] * (len(x) % 2) for x in LISTS]
    )
    assert {f"y{t}" for t in range(1, 7)} <= set(explain.unrolled(tagger, LISTS).words)
    short = explain.unrolled(tagger, LISTS, steps=3)
    assert [w for w in short.words if w.startswith("x") or w == "…"][:4] == ["x1", "x2", "…", "x6"]


def test_gates_over_time_are_those_of_each_step(fitted):
    """Of a sequence in a padded batch: its own steps alone."""
    found = explain.gates(fitted, LISTS, row=1)
    net = fitted.module_
    with torch.no_grad():
        x, real = net.steps(fitted.batch(LISTS).x)
        cell, state = net.recurrent.cells[0][0], None
        for t in range(4):
            state = cell.initial(1, x) if t == 0 else state
            gates = cell.gates(state, x[1:2, t])
            state = cell(state, x[1:2, t])[0]
            for name, value in {**gates, "h": state[0], "c": state[1]}.items():
                np.testing.assert_allclose(found.values[name][t], value[0], rtol=1e-4, atol=1e-6)
    assert real[1].sum() == 4 and all(len(v) == 4 for v in found.values.values())
    assert [a.get_title() for a in found.figure().axes[:7]][1:] == ["input", "forget", "candidate", "output", "h", "c"]
    assert "candidate" not in explain.gates(Recurrent(2, 2, "rnn"), X.astype("float32")).values


@pytest.mark.ledger("C228", "B078", covers="ftheta.explain.memory")
def test_memory_is_the_norm_of_the_derivative_of_the_last_state():
    """A linear plain net: powers of its matrix."""
    net = layer("rnn", 2, 4, activation="identity")
    w = net.cells[0][0].weight_h.detach()
    found = explain.memory(net, X)
    wanted = [torch.linalg.matrix_norm(torch.linalg.matrix_power(w, k), 2).item() for k in range(7)]
    np.testing.assert_allclose(found.norms[0], wanted, rtol=1e-10)
    assert found.direct == (None,)
    assert found.table().columns["lag"] == [*range(7)]
    assert found.figure().axes[0].get_yscale() == "log"


def test_memory_of_a_cell_whose_steps_differ():
    """The whole of the rest of a sequence, differentiated at once."""
    net, x = layer("gru", 2, 3), torch.from_numpy(X[:1])
    (state,), found = net(x[:, :2])[1], explain.memory(net, X)
    slope = torch.autograd.functional.jacobian(lambda s: net(x[:, 2:], state=[s])[1][0][0], state.detach())[:, 0]
    assert found.norms[0, 4] == pytest.approx(torch.linalg.matrix_norm(slope, 2).item(), rel=1e-10)


@pytest.mark.ledger("C236", covers="ftheta.explain.memory")
@pytest.mark.parametrize(
    ("kind", "options"), [("lstm", {}), ("gru", {}), ("gru", {"convention": "notes"}), ("highway", {})]
)
def test_products_of_the_gates_that_keep_the_memory(kind, options):
    """∂c_T/∂c_t with the gates held still, by autograd."""
    net = layer(kind, 2, 3, **options)
    found, cell, x = explain.memory(net, X, row=2), net.cells[0][0], torch.from_numpy(X[2:3])
    start = cell.initial(1, x)
    own = (start[1] if kind == "lstm" else start).requires_grad_()
    state, memory = (start[0], own) if kind == "lstm" else own, own
    for t in range(6):
        now = {name: g.detach() for name, g in cell.gates(state, x[:, t]).items()}
        if kind == "lstm":
            memory = now["forget"] * memory + now["input"] * now["candidate"]
            state = (now["output"] * memory.tanh()).detach(), memory
        else:
            gate = now["transform" if kind == "highway" else "update"]
            gate = 1 - gate if kind == "gru" and cell.convention == "torch" else gate
            state = memory = gate * now["candidate"] + (1 - gate) * memory
    (right,) = torch.autograd.grad(memory.sum(), own)
    np.testing.assert_allclose(found.direct[0][-1], right[0], rtol=1e-10)
    assert (found.direct[0][0] == 1).all() and found.direct[0].shape == (7, 3)


def test_a_phase_portrait_finds_where_the_states_stay():
    """h = tanh(2 h) in both units: 0 and ±0.9575 for each, of which the outer ones attract."""
    net = Recurrent(1, 2, "rnn").double()
    cell = net.cells[0][0]
    nn.init.zeros_(cell.weight_x)
    cell.weight_h.data = 2 * torch.eye(2, dtype=torch.float64)
    found = explain.phase(net, normal(1, 5, 1).numpy())
    root = 0.9575040240772687
    assert root == pytest.approx(math.tanh(2 * root), abs=1e-15)
    wanted = [(a, b) for a in (-root, 0, root) for b in (-root, 0, root)]
    np.testing.assert_allclose(sorted(map(tuple, found.rests.round(9) + 0.0)), sorted(wanted), atol=1e-8)
    slope = 2 * (1 - root**2)
    outer = np.abs(found.rests).min(1) > 0.5
    np.testing.assert_allclose(found.sizes, np.where(outer, slope, 2.0), rtol=1e-6)
    assert outer.sum() == 4 and "4 of 9 equilibria attract" in found.caption
    np.testing.assert_allclose(found.flow[3, 5], np.tanh(2 * (h := np.array([found.at[5, 0], found.at[3, 1]]))) - h)
    assert {"attracts", "does not attract"} == set(found.table().columns["state"])


@pytest.mark.parametrize(
    ("run", "says"),
    [
        (lambda net: explain.cell(net, X, row=3), "row=3"),
        (lambda net: explain.cell(net, X, step=7), "step=7"),
        (lambda net: explain.cell(net, X, layer=2), "layer=2"),
        (lambda net: explain.cell(net, X, unit=2), "unit=2"),
        (lambda net: explain.gates(net, X, layer=3), "layer=3"),
        (lambda net: explain.phase(net, X, x=[1.0]), "the cell reads 2 numbers"),
    ],
)
def test_what_is_not_there_is_said(run, says):
    with pytest.raises(InputError, match=says):
        run(layer("gru", 2, 2))


def test_other_nets_are_refused():
    with pytest.raises(InputTypeError, match="has no recurrent layer; gates needs"):
        explain.gates(nn.Linear(2, 1), X)
    with pytest.raises(InputTypeError, match="has no recurrent cell of two units"):
        explain.phase(layer("lstm", 2, 2), X)
