"""Recurrent layers against torch's, and against each sequence alone."""

from itertools import product

import pytest
import torch
from torch import nn
from torch.func import functional_call, stack_module_state, vmap

from ftheta.errors import InputError
from ftheta.nn import GRUCell, LSTMCell, Recurrent, RNNCell

LENGTHS = (7, 3, 1, 5)
KINDS = [
    ("rnn", {}),
    ("rnn", {"activation": "relu"}),
    ("rnn", {"activation": "elu"}),
    ("residual", {"carry": "learned"}),
    ("highway", {}),
    ("gru", {}),
    ("gru", {"convention": "notes"}),
    ("lstm", {}),
    ("lstm", {"peephole": True}),
]
TORCH = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


def normal(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def layer(kind, *sizes, **options):
    """A layer in float64 whose weights and biases are all random."""
    made = Recurrent(*sizes, kind, **options).double()
    with torch.no_grad():
        for p in made.parameters():
            p.add_(normal(*p.shape) / 3)
    return made


def real_steps(lengths=LENGTHS):
    return (torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]).double()


def parts(states):
    """Each entry as a tuple of tensors."""
    return [s if isinstance(s, tuple) else (s,) for s in states]


@pytest.mark.parametrize(("kind", "options"), KINDS)
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.ledger("C224", covers="ftheta.nn.Recurrent")
def test_a_padded_batch_gives_each_sequence_what_it_gets_alone(kind, options, bidirectional):
    """Outputs, states, the loss and its gradient, to 1e-10; the padding holds what it likes."""
    net = layer(kind, 3, 4, layers=2, bidirectional=bidirectional, **options)
    x, real = normal(4, 7, 3), real_steps()
    alone = [net(x[i : i + 1, :n]) for i, n in enumerate(LENGTHS)]
    loss = sum(out.square().sum() for out, _ in alone)
    right = torch.autograd.grad(loss, tuple(net.parameters()))
    x[real == 0] = torch.nan
    outputs, states = net(x, real)
    for i, n in enumerate(LENGTHS):
        torch.testing.assert_close(outputs[i, :n], alone[i][0][0], rtol=0, atol=1e-12)
        for found, wanted in zip(parts(states), parts(alone[i][1]), strict=True):
            torch.testing.assert_close([f[i] for f in found], [w[0] for w in wanted], rtol=0, atol=1e-12)
    assert not outputs[real == 0].any()
    assert abs(outputs.square().sum() - loss) < 1e-10
    found = torch.autograd.grad(outputs.square().sum(), tuple(net.parameters()))
    torch.testing.assert_close(found, right, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(("kind", "nonlinearity"), [("rnn", "tanh"), ("rnn", "relu"), ("gru", None), ("lstm", None)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_torchs_layers_give_the_same_numbers(kind, nonlinearity, dtype):
    own = {} if nonlinearity is None else {"activation": nonlinearity}
    given = {} if nonlinearity is None else {"nonlinearity": nonlinearity}
    ours = layer(kind, 3, 4, layers=2, bidirectional=True, **own).to(dtype)
    theirs = TORCH[kind](3, 4, 2, batch_first=True, bidirectional=True, dtype=dtype, **given)
    for (k, cells), d in product(enumerate(ours.cells), (0, 1)):
        end = f"_l{k}{'_reverse' * d}"
        weights = {"weight_ih": cells[d].weight_x, "weight_hh": cells[d].weight_h, "bias_ih": cells[d].bias}
        for name, value in {**weights, "bias_hh": torch.zeros_like(cells[d].bias)}.items():
            getattr(theirs, name + end).data = value.data
    x = normal(5, 6, 3, dtype=dtype)
    (outputs, states), (right, ends) = ours(x), theirs(x)
    torch.testing.assert_close(outputs, right, rtol=0, atol=1e-6)
    torch.testing.assert_close(ours(x, state=states)[0], theirs(x, ends)[0], rtol=0, atol=1e-6)  # going on from there
    ends = ends if isinstance(ends, tuple) else (ends,)
    for found, wanted in zip(parts(states), zip(*ends, strict=True), strict=True):
        torch.testing.assert_close(found, wanted, rtol=0, atol=1e-6)


@pytest.mark.parametrize(("kind", "options"), [k for k in KINDS if k[0] in TORCH])
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_kernel_and_loop_give_the_same_numbers(kind, options, padded, dtype):
    net = layer(kind, 3, 4, layers=2, bidirectional=True, **options).to(dtype)
    x, real = normal(4, 7, 3, dtype=dtype), real_steps() if padded else None
    fast = net(x, real)
    for cell in (cell for cells in net.cells for cell in cells):
        cell.kernel = None
    torch.testing.assert_close(fast, net(x, real), rtol=0, atol=1e-6 if dtype == torch.float32 else 1e-12)


@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_a_sequence_in_two_parts_gives_what_it_gives_in_one(kind, options):
    """The state is carried, of unequal lengths too."""
    net, x, real = layer(kind, 3, 4, layers=2, **options), normal(4, 7, 3), real_steps((7, 3, 4, 5))
    first, state = net(x[:, :3])
    rest, end = net(x[:, 3:], real[:, 3:], state)
    whole, right = net(x, real)
    torch.testing.assert_close(torch.cat([first, rest], 1), whole, rtol=0, atol=1e-12)
    torch.testing.assert_close(end, right, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_steps_one_by_one_give_what_the_sequence_gives(kind, options):
    net, x = layer(kind, 3, 4, layers=2, **options).eval(), normal(4, 7, 3)
    (whole, end), (_, state), step = net(x), net(x[:, :2]), net.stepper()
    for t in range(2, 7):
        output, state = step(x[:, t], state)
        torch.testing.assert_close(output, whole[:, t], rtol=0, atol=1e-12)
    torch.testing.assert_close(state, end, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("kind", "options"), [("lstm", {}), ("gru", {}), ("highway", {})])
def test_padding_may_come_first_or_between(kind, options):
    net, x = layer(kind, 3, 4, bidirectional=True, **options), normal(2, 5, 3)
    real = torch.tensor([[0, 0, 1, 1, 1], [1, 0, 1, 0, 1]])
    outputs, _ = net(x, real)
    for i, mask in enumerate(real.bool()):
        torch.testing.assert_close(outputs[i, mask], net(x[i : i + 1, mask])[0][0], rtol=0, atol=1e-12)


def test_dropout_is_between_layers_and_never_before_the_first():
    x = normal(4, 7, 3)
    net, deep = (layer("gru", 3, 50, layers=n, dropout=0.5).train() for n in (1, 2))
    torch.testing.assert_close(net(x)[0], net.eval()(x)[0], rtol=0, atol=0)
    (_, train), (_, rest) = deep(x), deep.eval()(x)
    torch.testing.assert_close(train[0], rest[0], rtol=0, atol=0)
    assert not torch.allclose(train[1], rest[1])


@pytest.mark.ledger("C232", covers="ftheta.nn.Recurrent")
def test_both_directions_the_first_output_depends_on_the_last_input():
    net, x = layer("lstm", 3, 4, bidirectional=True), normal(1, 5, 3)
    x.requires_grad_()
    outputs, _ = net(x)
    (slope,) = torch.autograd.grad(outputs[0, 0].sum(), x, retain_graph=True)
    assert slope[0, -1].abs().max() > 1e-6
    (slope,) = torch.autograd.grad(outputs[0, 0, :4].sum(), x)  # the forward half
    assert not slope[0, 1:].any()


class Sum(nn.Module):
    """h = h' + x: a cell of anybody's."""

    n_units = 3

    def initial(self, n, like):
        return like.new_zeros(n, 3)

    def forward(self, state, x):
        return state + x, state + x


@pytest.mark.ledger("C231", covers="ftheta.nn.Recurrent")
def test_any_cell_is_run_and_stacked():
    net = Recurrent(3, 3, lambda n_inputs, n_units: Sum(), layers=2, bidirectional=False)
    x = normal(2, 5, 3)
    torch.testing.assert_close(net(x)[0], x.cumsum(1).cumsum(1))
    for kind, options in KINDS:
        assert layer(kind, 3, 4, layers=3, **options)(x)[0].shape == (2, 5, 4)


@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_many_nets_run_as_one(kind, options):
    """Stacked, by torch.func.vmap, with padding that differs from net to net."""
    nets = [layer(kind, 3, 4, bidirectional=True, **options) for _ in range(2)]
    stacked, buffers = stack_module_state(nets)
    x, real = normal(2, 3, 5, 3), torch.stack([real_steps((5, 2, 1)), real_steps((3, 5, 4))])
    run = lambda p, b, x, real: functional_call(nets[0], (p, b), (x, real))[0]  # noqa: E731
    found = vmap(run)(stacked, buffers, x, real)
    for i, net in enumerate(nets):
        torch.testing.assert_close(found[i], net(x[i], real[i])[0], rtol=0, atol=1e-12)


def test_dropout_acts_between_layers_only():
    torch.manual_seed(1)
    one, two = (Recurrent(3, 4, "gru", layers=n, dropout=0.5) for n in (1, 2))
    x = normal(2, 5, 3, dtype=torch.float32)
    assert torch.equal(one(x)[0], one.eval()(x)[0])
    assert not torch.equal(two(x)[0], two(x)[0])
    assert torch.equal(two.eval()(x)[0], two(x)[0])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Recurrent(3, 4, "ltsm"), "lstm"),
        (lambda: Recurrent(3, 4, layers=0), "layers of Recurrent"),
        (lambda: Recurrent(3, 4, dropout=1.5), "dropout"),
        (lambda: LSTMCell(3, 0), "n_units"),
        (lambda: RNNCell(0, 3), "n_inputs"),
        (lambda: GRUCell(3, 4, "cho"), "convention"),
        (lambda: Recurrent(3, 4, "residual", carry="free"), "carry"),
        (lambda: Recurrent(3, 4)(torch.zeros(5, 3)), r"x has shape \(5, 3\); Recurrent takes \(B, T, 3\)"),
        (lambda: Recurrent(3, 4)(torch.zeros(5, 2, 3), state=[]), "one for each layer and direction: 1"),
    ],
)
def test_bad_settings_are_refused(make, says):
    with pytest.raises(InputError, match=says):
        make()
