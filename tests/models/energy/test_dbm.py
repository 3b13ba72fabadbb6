"""The deep Boltzmann machine as an estimator: its gradients by hand, its likelihood by enumeration."""

from copy import deepcopy
from itertools import product

import numpy as np
import pytest
import torch

from ftheta.data import Batch
from ftheta.draw import Draw
from ftheta.models import DeepBoltzmannMachine
from ftheta.models.energy.dbm import DBM, GreedyObjective, JointObjective, compose
from ftheta.models.energy.rbm_net import RBM, LogPartition, bernoulli
from ftheta.train import Training

PATTERNS = np.array([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1], [1, 0, 1, 0, 1, 0]], dtype=float)
X = np.repeat(PATTERNS, 40, axis=0)


def machine(**settings):
    quick = {"hidden": (5, 3), "epochs": 3, "greedy": 3, "batch_size": 60, "lr": 0.1, "greedy_lr": 0.2}
    return DeepBoltzmannMachine(**quick | {"mean_field": 5, "random_state": 0} | settings)


@pytest.fixture(scope="module")
def fitted():
    return machine(epochs=300, greedy=30, batch_size=120, chains=500).fit(X)


def drawn(net, std=1.0, seed=0):
    g = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(torch.randn(p.shape, generator=g, dtype=p.dtype) * std)
    return net


def states(*sizes):
    return list(torch.tensor(list(product([0.0, 1.0], repeat=sum(sizes)))).split(sizes, 1))


def exact_log_prob(net, v):
    """log p(v) by listing all hidden states."""
    hidden = states(*net.sizes[1:])
    rows = [torch.cat([row.expand(len(hidden[0]), -1), *hidden], 1) for row in v]
    joint = torch.stack([(-net.energy(row)).double().logsumexp(0) for row in rows])
    return (joint - (-net.energy(torch.cat(states(*net.sizes), 1))).double().logsumexp(0)).detach().numpy()


# --- objectives -------------------------------------------------------------------------------------------------------


def test_the_gradient_of_the_joint_loss_is_the_difference_of_products_of_states():
    net = drawn(DBM(4, (3, 2)).double())
    objective = JointObjective(net, chains=7, k=1, mean_field=4).double()
    v, weight = torch.rand(5, 4, dtype=torch.float64), torch.tensor([1.0, 2.0, 1.0, 0.5, 1.0]).double()
    loss = objective.loss("loss", Batch(v, weight=weight), Draw(0))
    found = torch.autograd.grad(loss.total / loss.weight + loss.once, [*net.weights, *net.biases])
    seen, own = [v, *net.mean_field(v, 4)], objective.chains.split(net.sizes, 1)
    share = weight / weight.sum()
    for k in (0, 1):
        analytic = (seen[k + 1].T * share) @ seen[k] - own[k + 1].T @ own[k] / 7
        assert torch.allclose(found[k], -analytic, atol=1e-6)
    for k in (0, 1, 2):
        assert torch.allclose(found[2 + k], own[k].mean(0) - share @ seen[k], atol=1e-6)


def test_chains_are_burnt_in_after_greedy_initialisation():
    """The first loss of joint training is with chains of the machine, not with random bits."""
    trainer = machine(greedy=20, greedy_lr=0.5, batch_size=120, chains=2000, lr=1e-9).prepare(X)
    while not trainer.last:
        trainer.advance()
    found = trainer.objective.chains[:, :6]
    p = np.exp(exact_log_prob(trainer.objective.module, states(6)[0]))
    number = (found.long() * 2 ** torch.arange(5, -1, -1)).sum(1)
    assert 0.5 * np.abs(np.bincount(number, minlength=64) / 2000 - p).sum() < 0.1


@pytest.mark.parametrize("copies", [(1, 1), (2, 1), (1, 2), (2, 2)])
def test_a_greedy_layer_is_a_restricted_machine_with_copies_of_its_units(copies):
    """Its free energy is that of the machine in which every copy is written out, with the same weights."""
    layer = drawn(RBM(3, 2).double())
    written = RBM(3 * copies[0], 2 * copies[1]).double()
    with torch.no_grad():
        written.weight.copy_(layer.weight.repeat(copies[1], copies[0]))
        written.visible_bias.copy_(layer.visible_bias.repeat(copies[0]))
        written.hidden_bias.copy_(layer.hidden_bias.repeat(copies[1]))
    each = torch.rand(5, copies[0], 3, dtype=torch.float64).round()
    found = GreedyObjective(layer, copies, lambda x: x).free_energy(each.sum(1))
    assert torch.allclose(found, written.free_energy(each.flatten(1)))


def test_the_greedy_gradient_is_that_of_contrastive_divergence():
    layer = drawn(RBM(3, 2).double())
    objective = GreedyObjective(layer, (2, 1), lambda x: x)
    x = torch.rand(400, 3, dtype=torch.float64).round()
    torch.manual_seed(0)
    loss = objective.loss("loss", Batch(x), Draw(0))
    found = torch.autograd.grad(loss.total / loss.weight, layer.weight)[0]
    torch.manual_seed(0)
    h = bernoulli((layer.hidden_bias + 2 * x @ layer.weight.T).sigmoid())
    p = (layer.visible_bias + h @ layer.weight).sigmoid()
    rebuilt = bernoulli(p) + bernoulli(p)
    seen, own = ((layer.hidden_bias + s @ layer.weight.T).sigmoid().T @ s / 400 for s in (2 * x, rebuilt))
    assert torch.allclose(found, own - seen, atol=1e-6)


def test_composed_layers_say_in_the_middle_what_both_machines_say_on_average():
    """logit p(h¹ | v, h²) = ½ (of the lower with doubled v) + ½ (of the upper with doubled h²)."""
    net, lower, upper = DBM(4, (3, 2)), drawn(RBM(4, 3)), drawn(RBM(3, 2), seed=1)
    compose(net, [lower, upper])
    v, h1, h2 = (torch.rand(5, n).round() for n in net.sizes)
    halves = lower.hidden_logits(2 * v) / 2 + upper.visible_logits(2 * h2) / 2
    assert torch.allclose(net.logits([v, h1, h2], 1), halves, atol=1e-6)
    assert torch.allclose(net.logits([v, h1, h2], 0), lower.visible_logits(h1), atol=1e-6)
    assert torch.allclose(net.logits([v, h1, h2], 2), upper.hidden_logits(h1), atol=1e-6)


# --- fitting ----------------------------------------------------------------------------------------------------------


def test_joint_training_learns_the_distribution(fitted):
    """Three patterns, equally often: log p is at most log 1/3 = -1.10; independent units reach -3.8."""
    found = exact_log_prob(fitted.module_, torch.tensor(PATTERNS).float())
    assert found.mean() > -2.0 and found.min() > -2.6
    assert [row["phase"] for row in fitted.history_] == [1] * 30 + [2] * 30 + [3] * 300
    assert all(set(row) >= {"loss", "reconstruction"} for row in fitted.history_[60:])
    assert [row["epoch"] for row in fitted.history_] == list(range(1, 361)) and fitted.n_iter_ == 360


@pytest.mark.middle
def test_greedy_initialisation_gives_a_start_and_joint_training_improves_it():
    rows = torch.tensor(PATTERNS).float()
    bare, greedy = (machine(greedy=epochs, epochs=1, lr=1e-9).fit(X) for epochs in (0, 40))
    after = machine(greedy=40, epochs=60).fit(X)
    first, second, third = (exact_log_prob(m.module_, rows).mean() for m in (bare, greedy, after))
    assert first == pytest.approx(-6 * np.log(2), abs=0.05)
    assert first < second - 0.5 and second < third - 0.3


@pytest.mark.parametrize(
    ("hidden", "known"),
    [((5, 4, 3), [((5, 6), (2, 1)), ((4, 5), (2, 2)), ((3, 4), (1, 2))]), ((5,), [((5, 6), (1, 1))])],
)
def test_the_layers_are_learned_lowest_first_with_inner_units_doubled(hidden, known):
    process, seen, x = machine(hidden=hidden, greedy=1).prepare(X), [], torch.ones(2, 6)
    while not process.last:
        objective = process.objective
        if not seen or objective is not seen[-1]:
            below = x if not seen else seen[-1].module(seen[-1].copies[0] * seen[-1].to_layer_below(x))
            torch.testing.assert_close(objective.to_layer_below(x), below)  # means of both copies
            seen.append(objective)
        process.advance()
    assert [(tuple(o.module.weight.shape), o.copies) for o in seen] == known


def test_a_fit_that_ends_in_the_greedy_part_has_the_layers_so_far():
    made = machine(greedy=100_000, training=Training(seconds=0.2)).fit(X)
    assert made.stop_reason_ == "seconds" and made.history_[-1]["phase"] == 1
    assert made.module_.weights[0].abs().mean() > 0.05  # it starts at 0.008
    assert made.transform(X).shape == (120, 3)


# --- using ------------------------------------------------------------------------------------------------------------


def test_transform_gives_the_means_of_the_top_layer(fitted):
    found = fitted.transform(X[:50])
    assert found.shape == (50, 3)
    assert np.allclose(found, fitted.module_.mean_field(torch.tensor(X[:50]).float(), 5)[-1])
    assert list(fitted.get_feature_names_out()) == [f"deepboltzmannmachine{i}" for i in range(3)]


def test_the_same_weights_are_sampled_as_a_belief_net(fitted):
    deep, belief = (
        fitted.sample(2000, steps=50, start=X[:1].repeat(2000, 0), random_state=0, as_belief_net=b)
        for b in (False, True)
    )
    assert belief.shape == (2000, 6) and set(np.unique(belief)) == {0, 1}
    g, v = Draw(0).at("sample").generator(), torch.tensor(X[:1].repeat(2000, 0)).float()
    top = [bernoulli(m, g) for m in fitted.module_.up(v)][-1]
    assert np.array_equal(belief, fitted.module_.belief_net(top, 50, g)[:, :6])
    assert np.abs(deep.mean(0) - belief.mean(0)).max() > 0.02


def test_the_bound_is_below_the_exact_log_likelihood_and_close(fitted):
    rows = np.array(list(product([0.0, 1.0], repeat=6)))
    exact, bound = exact_log_prob(fitted.module_, torch.tensor(rows).float()), fitted.log_prob_bound(rows)
    assert bound.shape == (64,) and (bound <= exact + 1e-4).all() and (exact - bound).mean() < 0.5
    assert np.exp(exact).sum() == pytest.approx(1)
    assert np.allclose(fitted.log_prob_bound(rows, fitted.partition()), bound)


def test_it_is_assessed_by_reconstruction_and_bound(fitted):
    table = fitted.assess(X)
    h1 = fitted.module_.mean_field(torch.tensor(X).float(), 5)[0].numpy()
    p = 1 / (1 + np.exp(-(fitted.module_.biases[0].detach().numpy() + h1 @ fitted.module_.weights[0].detach().numpy())))
    expected = -np.log(np.where(X == 1, p, 1 - p)).sum(1).mean()
    assert list(table.columns) == ["measure", "value", "error"]
    bounds = fitted.log_prob_bound(X)
    assert table.columns["value"][0] == pytest.approx(bounds.mean())
    assert table.columns["value"][1] == pytest.approx(expected, rel=1e-5) == -fitted.score(X)
    assert table.columns["error"][0] == pytest.approx(bounds.std(ddof=1) / len(X) ** 0.5)
    assert table.columns["error"][1:] == ["none", 0.0]


def test_the_bound_is_at_the_fixed_point_of_mean_field(fitted):
    strong = deepcopy(fitted)
    v, few, net = torch.tensor(X[:6]).float(), LogPartition(0.0), strong.module_
    with torch.no_grad():
        for weight in net.weights:
            weight.copy_(2 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(0)))
        known, once = (net.bound(v, net.mean_field(v, rounds)) for rounds in (fitted.mean_field, 1))
    np.testing.assert_allclose(strong.log_prob_bound(X[:6], few), known, rtol=1e-5)
    assert ((once - known).abs() > 0.001).all()


def test_rows_of_weight_zero_are_not_seen_by_the_greedy_part():
    weight = np.r_[np.ones(len(X)), np.zeros(len(X))]
    doubled = machine(epochs=1, batch_size=2 * len(X)).fit(np.r_[X, 1 - X], sample_weight=weight)
    alone = machine(epochs=1, batch_size=2 * len(X)).fit(X)
    assert np.array_equal(doubled.transform(X), alone.transform(X))


def test_the_greedy_part_has_a_plain_rate():
    shape = {"factor": 0.5, "at": (0.5,)}
    for knobs in (
        Training(schedule="step", schedule_options=shape),
        Training(schedule="step", schedule_options=shape, grow_batch=True),
        Training(freeze=("weights.0",)),
        Training(rate_factors={"weights.0": 0.1}),
    ):
        assert machine(epochs=1, training=knobs).fit(X).n_iter_ == 7
    assert machine(optimizer="adam", training=Training(options={"betas": (0.5, 0.9)})).fit(X).n_iter_ > 0


def test_the_first_epoch_of_partial_fit_comes_after_all_greedy_ones():
    whole, steps = (DeepBoltzmannMachine(hidden=(4, 3), greedy=2, epochs=2, random_state=0) for _ in range(2))
    whole.fit(X[::10])
    for _ in range(2):
        steps.partial_fit(X[::10])
    for a, b in zip(whole.module_.parameters(), steps.module_.parameters(), strict=True):
        assert torch.equal(a, b)
