"""The general Boltzmann machine against enumeration in NumPy and finite differences."""

from itertools import combinations, product

import numpy as np
import pytest
import torch

from ftheta.data import Batch
from ftheta.draw import Draw
from ftheta.errors import InputError
from ftheta.models import BoltzmannMachine
from ftheta.models.energy.boltzmann import ExactObjective, GibbsObjective, PairwiseMachine

ROWS = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 0, 1], [0, 0, 1, 1], [0, 0, 1, 0], [1, 0, 1, 0], [0, 1, 0, 1]])
EVEN = np.array([row for row in product([0, 1], repeat=3) if sum(row) % 2 == 0])  # no pair is correlated


def drawn(n_visible, n_hidden=0, std=1.0, seed=0):
    machine, g = PairwiseMachine(n_visible, n_hidden).double(), torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in machine.parameters():
            p.copy_(torch.randn(p.shape, generator=g, dtype=p.dtype) * std)
    return machine


def states(n):
    return np.array(list(product([0.0, 1.0], repeat=n)))


def fitted(X, **settings):
    return BoltzmannMachine(**{"random_state": 0, "epochs": 200} | settings).fit(X)


# --- the machine ------------------------------------------------------------------------------------------------------


@pytest.mark.ledger("B321", covers="ftheta.models.PairwiseMachine", printed="exponential", right="quadratic")
def test_connections_grow_with_the_square_of_the_units_and_states_exponentially(ledger):
    sizes = (10, 100, 1000)
    connections = [PairwiseMachine(n).pairs.numel() for n in sizes]
    assert connections == [45, 4_950, 499_500]
    power = np.polyfit(np.log(sizes), np.log(connections), 1)[0]  # of n; an exponential has no such power
    ledger("quadratic" if abs(power - 2) < 0.05 else "exponential")
    listed = [PairwiseMachine(n, std=0.0).log_partition().item() / np.log(2) for n in (4, 5, 6)]
    assert listed == pytest.approx([4, 5, 6], rel=1e-6)  # Z of a machine without weights counts the 2ⁿ states


def test_weights_are_symmetric_with_a_zero_diagonal():
    weight = drawn(3, 2).weight
    assert torch.equal(weight, weight.T) and not weight.diagonal().any() and weight.count_nonzero() == 20


def test_the_sampled_gradient_is_the_difference_of_products_of_states():
    machine = drawn(3, 2)
    objective = GibbsObjective(machine, 5, chains=7, k=2).double()
    v = torch.tensor(ROWS[:5, :3]).double()
    torch.manual_seed(0)
    seen = objective.complete(v)
    torch.manual_seed(0)
    loss = objective.loss("loss", Batch(v), Draw(0))
    found = torch.autograd.grad(loss.total / loss.weight + loss.once, [machine.pairs, machine.bias])
    own = objective.chains
    pairs = [(own[:, i] * own[:, j]).mean() - (seen[:, i] * seen[:, j]).mean() for i, j in combinations(range(5), 2)]
    assert torch.equal(seen[:, :3], v)
    assert torch.allclose(found[0], torch.stack(pairs), atol=1e-6)
    assert torch.allclose(found[1], own.mean(0) - seen.mean(0), atol=1e-6)


def test_too_many_units_to_list_are_refused_by_name():
    with pytest.raises(InputError, match=r"2\^17 states; 16 units are the most.*method='gibbs'"):
        PairwiseMachine(15, 2).log_prob(torch.zeros(1, 15))
    with pytest.raises(InputError, match=r"2\^17 states"):
        fitted(np.ones((3, 17)), method="exact")


# --- the estimator ----------------------------------------------------------------------------------------------------


def test_the_exact_machine_learns_the_means_of_all_units_and_pairs():
    """At the maximum of the likelihood the machine's first and second moments are those of the rows."""
    rows = np.concatenate([ROWS, states(4).astype(int)])
    machine = fitted(rows, lr=0.1)
    p = np.exp(machine.log_prob(states(4)))
    assert p.sum() == pytest.approx(1, rel=1e-5)
    assert np.allclose((states(4).T * p) @ states(4), rows.T @ rows / len(rows), atol=0.005)
    assert machine.weights_.shape == (4, 4) and np.array_equal(machine.weights_, machine.weights_.T)
    assert not np.diag(machine.weights_).any() and machine.bias_.shape == (4,)


def test_hidden_units_learn_what_no_pair_of_units_says():
    """Rows of even parity: four of eight states; without hidden units log 1/8 = -2.08 is the best."""
    without, with_two = fitted(EVEN, epochs=20), fitted(EVEN, n_hidden=2, lr=0.1)
    assert without.score(EVEN) == pytest.approx(np.log(1 / 8), abs=0.01)
    assert with_two.score(EVEN) > np.log(1 / 4) - 0.15


def test_learning_by_gibbs_sampling_comes_close_to_the_exact_machine():
    rows = np.repeat(np.concatenate([ROWS, states(4).astype(int)]), 5, axis=0)
    exact, sampled = (fitted(rows, method=m, epochs=100, k=2, chains=500) for m in ("exact", "gibbs"))
    assert 0 <= exact.log_prob(rows).mean() - sampled.log_prob(rows).mean() + 1e-3 < 0.06
    assert isinstance(sampled.objective(sampled.module_, sampled.target_), GibbsObjective)


def test_more_than_sixteen_units_are_learned_by_sampling():
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.integers(0, 2, (60, 1)), 20, axis=1) ^ (rng.random((60, 20)) < 0.1)
    machine = fitted(rows, epochs=30, k=1)
    table = machine.assess(rows).columns
    assert table["measure"] == ["mean log-pseudo-likelihood / nats"]
    assert table["value"][0] == machine.score(rows) > -0.75 * 20 * np.log(2)
    for exactly in (machine.log_prob, machine.free_energy):
        with pytest.raises(InputError, match=r"2\^20 states"):
            exactly(rows)
    for units, kind in ((16, ExactObjective), (17, GibbsObjective)):
        assert type(BoltzmannMachine().objective(PairwiseMachine(units), None)) is kind


def test_a_pseudo_likelihood_with_hidden_units_says_that_it_is_too_high():
    (name,) = fitted(ROWS, epochs=3, n_hidden=1, method="gibbs").assess(ROWS).columns["measure"]
    assert name == "mean log-pseudo-likelihood, hidden units drawn (too high) / nats"


def test_the_pseudo_likelihood_without_hidden_units_is_that_of_enumeration():
    machine = fitted(ROWS, epochs=30, method="gibbs")
    own = fitted(ROWS, epochs=1, method="gibbs", chains=7, k=3)._trainer.objective
    assert (len(own.chains), own.k) == (7, 3)
    machine.module_.bias.data += 1.0
    x = states(4)
    log_p = -np.array([machine.free_energy(row[None])[0] for row in x])
    turned = [[-machine.free_energy(np.abs(row - np.eye(4)[i])[None])[0] for i in range(4)] for row in x]
    known = (log_p[:, None] - np.logaddexp(log_p[:, None], turned)).sum(1)
    assert machine.score(x) == pytest.approx(known.mean(), rel=1e-4)


def test_it_is_assessed_by_its_exact_likelihood():
    machine = fitted(ROWS, epochs=30)
    table = machine.assess(ROWS).columns
    each = machine.log_prob(ROWS)
    assert table["measure"] == ["mean log p(v) / nats"]
    np.testing.assert_allclose(table["error"], each.std(ddof=1) / len(each) ** 0.5)
    assert table["value"][0] == pytest.approx(machine.log_prob(ROWS).mean(), rel=1e-5)
    differences = machine.log_prob(ROWS) + machine.free_energy(ROWS)
    assert np.allclose(differences, differences[0], atol=1e-5)  # minus log Z, whatever the row


def test_weights_of_rows_count_as_copies():
    weight = [3, 1, 1, 1, 2, 1, 1]
    copies = fitted(np.repeat(ROWS, weight, axis=0), epochs=20)
    weighted = BoltzmannMachine(random_state=0, epochs=20).fit(ROWS, sample_weight=weight)
    assert np.allclose(copies.weights_, weighted.weights_, atol=1e-5)
