"""Annealed importance sampling against enumeration, and its error bar against what it promises."""

from itertools import product

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from ftheta.draw import Draw
from ftheta.errors import InputError, NonFiniteError
from ftheta.models.energy.boltzmann import PairwiseMachine
from ftheta.models.energy.dbm import DBM
from ftheta.models.energy.rbm_net import (
    RBM,
    _estimate,
    annealed_importance,
    base_rates,
    log_partition,
)


def drawn(machine, std=1.0, seed=0):
    """A machine with all weights and biases drawn."""
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in machine.parameters():
            p.copy_(torch.randn(p.shape, generator=g) * std)
    return machine


def bits(n):
    return np.array(list(product([0.0, 1.0], repeat=n)))


def brute_log_z(machine):
    """Σ exp(-E) over every joint state, in NumPy; v of a Gaussian machine is integrated by hand."""
    W, b, c = (p.detach().double().numpy() for p in (machine.weight, machine.visible_bias, machine.hidden_bias))
    h = bits(len(c))
    if machine.visible == "gaussian":  # ∫ exp(-|v - b|²/2 + v·m) dv = (2π)^(V/2) exp(b·m + |m|²/2),  m = W'h
        m = h @ W
        return np.log(np.exp(h @ c + m @ b + (m**2).sum(1) / 2).sum()) + len(b) / 2 * np.log(2 * np.pi)
    v = bits(len(b))
    return np.log(np.exp((v @ b)[:, None] + h @ c + v @ W.T @ h.T).sum())


KINDS = {
    "bernoulli": lambda: drawn(RBM(4, 3)),
    "strong": lambda: drawn(RBM(4, 3), 3.0, seed=1),
    "gaussian": lambda: drawn(RBM(3, 4, visible="gaussian"), 0.7),
}
kinds = pytest.mark.parametrize("kind", KINDS)


@kinds
def test_annealing_agrees_with_enumeration_within_three_errors(kind):
    machine = KINDS[kind]()
    found = annealed_importance(machine, chains=1000, temperatures=300, draw=Draw(0))
    assert found.error < 0.02
    assert abs(found.log_z - brute_log_z(machine)) < min(3 * found.error, 0.2)


@pytest.mark.parametrize("hidden", [(3, 2), (2, 3, 2)])
def test_a_deep_machine_is_annealed_as_the_restricted_one_between_even_and_odd_layers(hidden):
    machine = drawn(DBM(4, hidden))
    found = annealed_importance(machine, chains=500, temperatures=300, draw=Draw(0))
    exact = float((-machine.energy(torch.tensor(bits(sum(machine.sizes))).float())).double().logsumexp(0).detach())
    assert abs(found.log_z - exact) < min(3 * found.error, 0.2) and found.error < 0.02


@pytest.fixture(scope="module")
def learned():
    """A machine with 20 hidden units that has learned 8 x 8 digits by persistent contrastive divergence."""
    rows, machine, g = torch.tensor(load_digits().data > 7).float(), RBM(64, 20), torch.Generator().manual_seed(0)
    with torch.no_grad():
        machine.weight.normal_(std=0.05, generator=g)
    chains, rule = rows[:100], torch.optim.SGD(machine.parameters(), lr=0.05)
    for _ in range(4000):
        chains = machine.gibbs(chains, 1, g)
        v = rows[torch.randint(len(rows), (100,), generator=g)]
        rule.zero_grad()
        (machine.free_energy(v).mean() - machine.free_energy(chains).mean()).backward()
        rule.step()
    return machine


@pytest.mark.middle
def test_a_machine_that_has_learned_digits_agrees_with_the_exact_value(learned):
    exact, found = (log_partition(learned, method, temperatures=1000, draw=Draw(0)) for method in ("auto", "ais"))
    assert (exact.method, found.method) == ("exact", "ais")
    assert abs(found.log_z - exact.log_z) < min(3 * found.error, 0.2)
    assert found.error < 0.05 and found.ess > 80


@pytest.mark.soak
@pytest.mark.parametrize("temperatures", [100, 1000])
def test_the_interval_of_95_percent_holds_the_exact_value_for_at_least_17_of_20_seeds(learned, temperatures):
    exact = log_partition(learned, draw=Draw(0)).log_z
    found = [annealed_importance(learned, temperatures=temperatures, draw=Draw(seed)) for seed in range(20)]
    assert sum(p.interval[0] <= exact <= p.interval[1] for p in found) >= 17
    assert 0.005 < np.median([p.error for p in found]) < 0.1  # neither trivial nor useless


# --- the path ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("base", [torch.zeros(4), torch.tensor([2.0, -1.0, 0.5, -3.0])])
def test_any_base_gives_the_same_partition_function(base):
    machine = drawn(RBM(4, 3))
    found = annealed_importance(machine, chains=1000, temperatures=300, base_bias=base, draw=Draw(2))
    assert abs(found.log_z - brute_log_z(machine)) < 3 * found.error < 0.1


def test_a_base_with_the_rates_of_the_rows_makes_the_weights_even():
    machine = drawn(RBM(40, 5), 0.05)
    with torch.no_grad():
        machine.visible_bias.copy_(torch.linspace(-6, 6, 40))
    rates = base_rates(machine.visible_bias.sigmoid().detach())
    errors = [
        annealed_importance(machine, temperatures=100, base_bias=bias, draw=Draw(0)).error
        for bias in (torch.zeros(40), rates, None)
    ]
    assert errors[1] < 0.5 * errors[0] and errors[2] < 0.5 * errors[0]


# --- the estimate -----------------------------------------------------------------------------------------------------


def test_the_error_is_the_delta_methods_and_the_sample_size_kishs():
    log_w = np.random.default_rng(0).normal(scale=0.7, size=200)
    w = np.exp(log_w)
    for shift in (0.0, 5000.0):  # no overflow
        found = _estimate(torch.tensor(log_w + shift), 3.0, 1000)
        assert found.log_z == pytest.approx(3.0 + shift + np.log(w.mean()))
        assert found.error == pytest.approx(w.std(ddof=1) / w.mean() / np.sqrt(200))
        assert found.ess == pytest.approx(w.sum() ** 2 / (w**2).sum())
    assert found.interval == pytest.approx((found.log_z - 1.96 * found.error, found.log_z + 1.96 * found.error))
    with pytest.warns(UserWarning, match=r"100 annealed chains are as precise as 1\.\d equal ones.*more than 300 temp"):
        _estimate(torch.tensor([10.0] + [0.0] * 99).double(), 0.0, 300)


def test_the_same_draw_gives_the_same_numbers_and_leaves_the_global_generator_alone():
    machine = drawn(DBM(4, (3, 2)))
    before = torch.get_rng_state()
    first, again, other = (annealed_importance(machine, temperatures=100, draw=Draw(s)).log_z for s in (0, 0, 1))
    assert first == again != other
    assert torch.equal(torch.get_rng_state(), before)


# --- choosing and refusing --------------------------------------------------------------------------------------------


def test_auto_lists_all_states_of_small_machines_and_anneals_others():
    small, large = log_partition(drawn(RBM(4, 30)), draw=Draw(0)), drawn(RBM(21, 21), 0.1)
    assert (small.method, small.error, small.ess, small.interval) == ("exact", 0, None, (small.log_z, small.log_z))
    assert log_partition(large, temperatures=100, draw=Draw(0)).method == "ais"
    wide = drawn(RBM(3, 21, visible="gaussian"), 0.1)  # its visible side cannot be listed
    assert log_partition(wide, temperatures=100, draw=Draw(0)).method == "ais"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: log_partition(drawn(RBM(30, 30)), "exact", draw=Draw(0)), r"2\^30 states.*method='ais'"),
        (lambda: annealed_importance(drawn(RBM(4, 3)), chains=9, draw=Draw(0)), "chains=9 .* at least 10 chains"),
        (lambda: annealed_importance(drawn(RBM(4, 3)), temperatures=99, draw=Draw(0)), "100 temperatures"),
        (lambda: annealed_importance(drawn(RBM(4, 3)), base_bias=torch.zeros(3), draw=Draw(0)), "has 4 units"),
        (lambda: log_partition(PairwiseMachine(3), "ais", draw=Draw(0)), "no layers to anneal"),
    ],
)
def test_what_cannot_be_computed_is_one_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_weights_that_are_not_finite_are_one_sentence():
    machine = drawn(RBM(4, 3))
    with torch.no_grad():
        machine.weight[0, 0] = torch.nan
    with pytest.raises(NonFiniteError, match="not finite.*lower learning rate"):
        annealed_importance(machine, temperatures=100, base_bias=torch.zeros(4), draw=Draw(0))
