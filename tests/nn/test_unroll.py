"""Gradients through time against autograd, finite differences and each other; what a state passes on."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from ftheta.errors import InputError
from ftheta.nn import LSTMCell, ResidualCell, RNNCell, sensitivities, state_jacobians, through_time
from tests.nn.test_recurrent import KINDS, layer, normal


class WithOutput(nn.Module):
    """A cell whose output is an affine map of its state."""

    def __init__(self, cell, n):
        super().__init__()
        self.cell, self.out, self.initial = cell, nn.Linear(cell.n_units, n, dtype=torch.float64), cell.initial

    def forward(self, state, x):
        state, h = self.cell(state, x)
        return state, self.out(h)


def problem(kind, options, steps=6):
    torch.manual_seed(0)
    cell = WithOutput(layer(kind, 2, 3, **options).cells[0][0], 2)
    y = normal(2, steps, 2, seed=1)
    return cell, normal(2, steps, 2), lambda t, out: (out - y[:, t]).square().sum()


def by_autograd(cell, x, loss, cut=None):
    """One graph of all steps; cut: the state is detached before each block of so many steps."""
    state, total = cell.initial(len(x), x), 0.0
    for t in range(x.shape[1]):
        if cut and t % cut == 0:
            state = tuple(s.detach() for s in state) if isinstance(state, tuple) else state.detach()
        state, out = cell(state, x[:, t])
        total = total + loss(t, out)
    names = dict(cell.named_parameters())
    return total.detach(), dict(zip(names, torch.autograd.grad(total, tuple(names.values())), strict=True))


@pytest.mark.parametrize(("kind", "options"), KINDS)
@pytest.mark.parametrize("way", [through_time, sensitivities])
@pytest.mark.ledger("B262", covers="ftheta.nn.sensitivities")
@pytest.mark.ledger("A269", "B263", covers="ftheta.nn.through_time")
def test_both_ways_give_the_gradient_of_autograd(kind, options, way):
    cell, x, loss = problem(kind, options)
    total, right = by_autograd(cell, x, loss)
    found = way(cell, x, loss)
    torch.testing.assert_close(found.loss, total, rtol=1e-12, atol=0)
    torch.testing.assert_close(found.gradients, right, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(("kind", "options"), [KINDS[0], KINDS[3], KINDS[4], KINDS[6], KINDS[8]])
@pytest.mark.parametrize("way", [through_time, sensitivities])
@pytest.mark.ledger("B262", covers="ftheta.nn.sensitivities")
@pytest.mark.ledger("A269", "C226", covers="ftheta.nn.through_time")
@pytest.mark.ledger("C233", "B077", covers="ftheta.nn.GRUCell")
@pytest.mark.ledger("C234", "B075", covers="ftheta.nn.LSTMCell")
def test_gradients_are_those_of_finite_differences(kind, options, way):
    """Along a random direction, central differences: their error is about step² and eps / step."""
    cell, x, loss = problem(kind, options)
    found, step = way(cell, x, loss).gradients, 1e-5
    names = dict(cell.named_parameters())
    moves = {name: normal(*p.shape, seed=k) for k, (name, p) in enumerate(names.items())}
    ends = []
    for sign in (1, -1, -1):
        if ends:  # back, and as far to the other side
            ends = ends[:1]
        with torch.no_grad():
            for name, p in names.items():
                p.add_(moves[name], alpha=sign * step)
        ends.append(way(cell, x, loss).loss.item())
    slope = sum((found[name] * moves[name]).sum().item() for name in names)
    assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("truncate", [1, 2, 4, 6])
@pytest.mark.parametrize(("kind", "options"), [KINDS[0], KINDS[7]])
@pytest.mark.ledger("A269", "B263", covers="ftheta.nn.through_time")
def test_truncated_back_propagation_detaches_the_state_it_carries(kind, options, truncate):
    cell, x, loss = problem(kind, options)
    total, right = by_autograd(cell, x, loss, truncate)
    found = through_time(cell, x, loss, truncate=truncate)
    torch.testing.assert_close(found.gradients, right, rtol=1e-8, atol=1e-10)
    torch.testing.assert_close(found.loss, total)
    parts, state = [], None
    for t in range(0, 6, truncate):  # the same in several calls
        part = through_time(cell, x[:, t : t + truncate], lambda k, out, t=t: loss(t + k, out), state)
        parts.append(part.gradients)
        state = part.state
    for name, g in right.items():
        torch.testing.assert_close(sum(part[name] for part in parts), g, rtol=1e-8, atol=1e-10)


def test_carried_sensitivities_lose_nothing():
    """In parts the whole gradient, where truncation loses what lies further back."""
    cell, x, loss = problem("lstm", {})
    first = sensitivities(cell, x[:, :4], loss)
    rest = sensitivities(cell, x[:, 4:], lambda t, out: loss(4 + t, out), first.state, first.sensitivity)
    right, cut = through_time(cell, x, loss).gradients, through_time(cell, x, loss, truncate=4).gradients
    for name, g in right.items():
        torch.testing.assert_close(first.gradients[name] + rest.gradients[name], g, rtol=1e-8, atol=1e-10)
    assert (cut["cell.weight_h"] - right["cell.weight_h"]).abs().max() > 1e-3


@pytest.mark.parametrize("way", [through_time, sensitivities])
@pytest.mark.ledger("B262", covers="ftheta.nn.sensitivities")
@pytest.mark.ledger("B263", covers="ftheta.nn.through_time")
def test_a_cell_learns_by_either(way):
    """Output error: from inputs alone to the output of a linear plant, whose pole is found."""
    cell = RNNCell(1, 1, "identity").double()
    x = normal(1, 12, 1)
    y, past = [], 0.0
    for value in x[0, :, 0].tolist():
        past = 0.7 * past + 0.5 * value
        y.append(past)
    optimizer = torch.optim.LBFGS(cell.parameters(), max_iter=12, line_search_fn="strong_wolfe")

    def closure():
        found = way(cell, x, lambda t, out: (out - y[t]).square().sum())
        for name, p in cell.named_parameters():
            p.grad = found.gradients[name]
        return found.loss

    optimizer.step(closure)
    assert (cell.weight_h.item(), cell.weight_x.item(), cell.bias.item()) == pytest.approx((0.7, 0.5, 0), abs=1e-3)


@pytest.mark.ledger("A269", covers="ftheta.nn.state_jacobians")
@pytest.mark.parametrize("w", [0.9, 1.0, 1.1])
def test_a_scalar_linear_state_passes_on_its_weight_to_the_power_of_the_steps(w):
    cell = RNNCell(1, 1, "identity").double()
    nn.init.constant_(cell.weight_h, w)
    steps = state_jacobians(cell, normal(1, 100, 1))
    assert steps.shape == (100, 1, 1, 1)
    assert steps.prod().item() == pytest.approx(w**100)
    last = through_time(cell, torch.ones(1, 100, 1).double(), lambda t, h: h.sum() if t == 99 else 0 * h.sum())
    assert last.gradients["bias"].item() == pytest.approx(sum(w**k for k in range(100)))


def chain(matrices):
    """ds_T/ds_0 of one sequence."""
    return torch.linalg.multi_dot(list(matrices[:, 0].flip(0)))


def random_matrix(radius, units=50):
    made = normal(units, units)
    return made * (radius / torch.linalg.eigvals(made).abs().max())


@pytest.mark.ledger("C228", covers="ftheta.nn.state_jacobians")
def test_the_radius_of_a_linear_state_decides_whether_gradients_vanish_or_explode():
    """W^100: at least ρ^100, and by a factor of order 1 more, since W is not normal."""
    norms = []
    for radius in (0.9, 1.0, 1.1):
        cell = RNNCell(2, 50, "identity").double()
        cell.weight_h.data = random_matrix(radius)
        norms.append(torch.linalg.matrix_norm(chain(state_jacobians(cell, normal(1, 100, 2))), 2).item())
    assert norms[0] / norms[1] == pytest.approx(0.9**100, rel=1e-6)
    assert norms[2] / norms[1] == pytest.approx(1.1**100, rel=1e-6)
    assert 1 < norms[1] < 20
    assert norms[0] < 1e-3 and norms[2] > 1e4


@pytest.mark.ledger("C228", "B078", covers="ftheta.nn.state_jacobians")
def test_tanh_makes_gradients_smaller_still():
    """With ‖W‖ = 1 (an orthogonal matrix) every slope below 1 is a loss."""
    cell = RNNCell(2, 50).double()
    norm = torch.linalg.matrix_norm(chain(state_jacobians(cell, normal(1, 100, 2))), 2)
    assert norm < 1e-3


@pytest.mark.ledger(
    "C229",
    covers="ftheta.nn.ResidualCell",
    says="helps gradient flow through time (mitigating vanishing/exploding gradients)",
    printed="neither",
    right="explodes",
)
def test_an_identity_beside_the_state_keeps_gradients_from_vanishing_not_from_exploding(ledger):
    """(I + 0.1 W)^100 in the linear regime, W of radius 1, beside (0.1 W)^100; a carry of 0.9 makes it vanish again."""
    norms = {}
    for name, carry, decay in (("identity", "identity", 1.0), ("plain", "fixed", 0.0), ("less", "fixed", 0.8)):
        cell = ResidualCell(2, 50, carry, decay, "identity").double()
        cell.weight_h.data = 0.1 * random_matrix(1.0)
        norms[name] = torch.linalg.matrix_norm(chain(state_jacobians(cell, normal(1, 100, 2))), 2).item()
    growth = (1 + 0.1 * torch.linalg.eigvals(random_matrix(1.0))).abs().max().item() ** 100
    assert growth < norms["identity"] < 20 * growth
    assert norms["plain"] < 1e-90
    assert norms["less"] < 0.1
    ledger("explodes" if norms["identity"] > 1e3 else "neither")


def lstm_with_forget_gate(f, units=4):
    """An LSTM whose gates do not depend on the state; the forget gates are f."""
    cell = LSTMCell(2, units).double()
    nn.init.zeros_(cell.weight_h)
    nn.init.zeros_(cell.weight_x)
    nn.init.constant_(cell.bias[units : 2 * units], math.log(f / (1 - f)))
    return cell


@pytest.mark.ledger("C236", covers="ftheta.nn.LSTMCell")
@pytest.mark.ledger("B078", covers="ftheta.nn.state_jacobians")
def test_the_direct_path_through_the_memory_is_the_product_of_the_forget_gates():
    """Over 100 steps: it is kept only where the gates are near 1."""
    kept = {}
    for f in (0.9, 1 / (1 + math.exp(-1)), 0.99, 0.999):
        cell = lstm_with_forget_gate(f)
        slope = chain(state_jacobians(cell, normal(1, 100, 2)))
        torch.testing.assert_close(slope[4:, 4:], f**100 * torch.eye(4, dtype=torch.float64), rtol=1e-9, atol=0)
        kept[round(f, 3)] = slope[4, 4].item()
    assert kept == pytest.approx({0.9: 2.656e-5, 0.731: 2.47e-14, 0.99: 0.366, 0.999: 0.905}, rel=3e-3)
    assert 0.25**10 == pytest.approx(9.5e-7, rel=5e-3)  # ten sigmoid slopes at their largest


def test_state_jacobians_are_those_of_autograd():
    for kind, options in KINDS:
        cell, x = layer(kind, 2, 3, **options).cells[0][0], normal(2, 4, 2)
        found = state_jacobians(cell, x)
        state = cell.initial(2, x)
        for t in range(4):
            parts = state if isinstance(state, tuple) else (state,)
            for i in range(2):

                def step(*parts, i=i, t=t, cell=cell, x=x):
                    after = cell(parts if len(parts) > 1 else parts[0], x[i : i + 1, t])[0]
                    return torch.cat(after if isinstance(after, tuple) else (after,), -1)[0]

                right = torch.autograd.functional.jacobian(step, tuple(p[i : i + 1].detach() for p in parts))
                torch.testing.assert_close(found[t, i], torch.cat([r[:, 0] for r in right], -1))
            state = cell(state, x[:, t])[0]
    assert np.isfinite(found.numpy()).all()


def test_bad_settings_are_refused():
    with pytest.raises(InputError, match="truncate of through_time"):
        through_time(RNNCell(1, 1), torch.zeros(1, 2, 1), lambda t, h: h.sum(), truncate=0)
