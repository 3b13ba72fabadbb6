"""The restricted Boltzmann machine as an estimator: gradients in closed form, likelihoods by enumeration,
training beside scikit-learn's."""

import numpy as np
import pytest
import torch
from scipy import stats
from sklearn.datasets import load_digits
from sklearn.neural_network import BernoulliRBM
from torch.func import jacrev

import ftheta
from ftheta.data import Batch
from ftheta.draw import Draw
from ftheta.errors import InputError, NonFiniteError
from ftheta.models import RestrictedBoltzmannMachine
from ftheta.models.energy import _machine
from ftheta.models.energy.rbm import Contrastive
from ftheta.models.energy.rbm_net import RBM
from tests._truth import boltzmann as listed

PLACE = np.array([8, 4, 2, 1])


def filled(machine, scale=1.0, seed=1):
    """The machine in float64 with normal weights; for 4 x 3 units that of the ledger."""
    rng, machine = np.random.default_rng(seed), machine.double()
    with torch.no_grad():
        machine.weight.copy_(torch.tensor(scale * rng.normal(size=(machine.n_visible, machine.n_hidden)).T))
        machine.visible_bias.copy_(torch.tensor(0.5 * scale * rng.normal(size=machine.n_visible)))
        machine.hidden_bias.copy_(torch.tensor(0.5 * scale * rng.normal(size=machine.n_hidden)))
    return machine


def theta(machine):
    return machine.weight, machine.visible_bias, machine.hidden_bias


def arrays(machine):
    return [p.detach().double().numpy() for p in theta(machine)]


def put(estimator, machine):
    """The estimator with these weights."""
    estimator.module_.load_state_dict(machine.state_dict())
    return estimator


def two_bars(n=40):
    return np.repeat([[1, 1, 0, 0], [0, 0, 1, 1]], n // 2, axis=0)


def small(**knobs):
    return RestrictedBoltzmannMachine(**({"n_hidden": 3, "epochs": 2, "random_state": 0} | knobs))


def digits(n):
    return (load_digits().data[:n] / 16).astype(np.float32)


# ---- the gradient


def difference(machine, v, rows, offsets=None, weight=None):
    """The objective whose first rows are data, and the others stand in for fantasies; its slopes."""
    mean, lam = offsets or (None, None)
    objective = Contrastive(machine, chains=len(v) - rows, mean=mean).double()
    objective.fantasies = lambda x, generator: v[rows:]
    if lam is not None:
        objective.lam.copy_(lam)
    loss, slopes = objective.gradient("loss", Batch(v[:rows], weight=weight), Draw(0))
    return objective, loss, [slope for _, slope in slopes]


@pytest.mark.parametrize("visible", ["bernoulli", "gaussian"])
def test_the_closed_gradient_is_autograds_of_the_free_energy_difference(visible):
    machine = filled(RBM(5, 3, visible=visible))
    rng = np.random.default_rng(0)
    v = torch.tensor(rng.normal(size=(7, 5)) if visible == "gaussian" else rng.random((7, 5)))
    w = torch.tensor([0.3, 1.0, 2.0]).double()
    free = machine.free_energy(v)
    mean = w @ free[:3] / w.sum() - free[3:].mean()
    truth = torch.autograd.grad(mean, theta(machine))
    objective, known, slopes = difference(machine, v, 3, weight=w)
    assert float(known.total / known.weight) == pytest.approx(mean.item(), rel=1e-12)
    torch.testing.assert_close(objective.seen, [machine(v)])
    loss = objective.loss("loss", Batch(v[:3], weight=w), Draw(0))
    assert loss.total.item() == pytest.approx(float(known.total)) and float(loss.weight) == pytest.approx(3.3)
    by_loss = torch.autograd.grad(loss.total / loss.weight, theta(machine))
    for mine, same, other in zip(slopes, by_loss, truth, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-10, atol=1e-12)
        torch.testing.assert_close(same, other, rtol=1e-10, atol=1e-12)


def test_with_samples_of_the_machine_it_is_the_gradient_of_the_exact_likelihood():
    machine = filled(RBM(4, 3))
    data = torch.tensor(listed.states(4))[[11, 2, 15]]
    law = listed.rbm_joint(*arrays(machine)).sum(1)
    counts = np.floor(law * 100_000 + 0.5).astype(int)  # each state as often as the law says
    made = torch.tensor(listed.states(4)).repeat_interleave(torch.tensor(counts), 0)
    found = difference(machine, torch.cat([data, made]), 3)[2]
    for mine, truth in zip(found, listed.rbm_gradient(data.numpy(), *arrays(machine)), strict=True):
        np.testing.assert_allclose(-mine, truth, atol=1e-4)


def gradient(objective, batch, seed=0):
    objective.zero_grad()
    found = objective.loss("loss", batch, Draw(seed))
    (found.total / found.weight).backward()
    return found, [p.grad.clone() for p in theta(objective.machine)]


@pytest.mark.ledger("B124", covers="ftheta.models.RestrictedBoltzmannMachine")
@pytest.mark.parametrize("k", [1, 3])
def test_contrastive_divergence_is_data_minus_reconstructions(k):
    machine, x = filled(RBM(4, 3)), torch.tensor(two_bars(6)).double()
    found, grads = gradient(Contrastive(machine, chains=0, k=k), Batch(x))
    made = machine.gibbs(x, k, Draw(0).generator())
    with torch.no_grad():
        p, q = machine(x), machine(made)
        truth = (q.T @ made - p.T @ x) / 6, (made - x).mean(0), (q - p).mean(0)
        mean = machine.free_energy(x).mean() - machine.free_energy(made).mean()
    assert (found.total / found.weight).item() == pytest.approx(mean.item())
    for mine, other in zip(grads, truth, strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-6, atol=1e-9)
    held = two_bars(8)
    made = small(method="cd", k=k, lr=0.5, epochs=40).fit(two_bars(), X_val=held)
    first, last = made.history_[0], made.history_[-1]
    assert last["valid_loss"] < first["valid_loss"] and last["valid_reconstruction"] < first["valid_reconstruction"]
    assert last["valid_log_likelihood"] == pytest.approx(made.log_prob(held).mean(), rel=1e-5)
    assert last["valid_log_likelihood"] > 4 * np.log(0.5) + 1  # of units that know nothing of each other


def test_rows_of_weight_two_are_two_rows_and_parts_of_a_batch_add_up():
    machine, x = filled(RBM(4, 3)), torch.tensor(listed.states(4)[[3, 9, 14]])
    copies, weight = x[[0, 0, 1, 2, 2, 2]], torch.tensor([2.0, 1, 3])
    objective, both = Contrastive(machine, chains=5).double(), []
    for batch in (Batch(x, weight=weight), Batch(copies)):
        objective.hidden.zero_()
        both.append(gradient(objective, batch))
    assert float(both[0][0].weight) == float(both[1][0].weight) == 6
    for one, other in zip(both[0][1], both[1][1], strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.ledger("B125", covers="ftheta.models.RestrictedBoltzmannMachine")
def test_persistent_chains_go_on_and_learn_as_scikit_learns_do():
    machine, x = filled(RBM(4, 3), scale=1000.0), torch.zeros(2, 4).double()  # so large that draws are certain
    objective = Contrastive(machine, chains=4).double()
    objective.hidden.copy_(torch.tensor(listed.states(3)[[1, 3, 4, 6]]))
    made = (machine.visible_logits(objective.hidden) > 0).double()
    grads = gradient(objective, Batch(x))[1]
    torch.testing.assert_close(grads[1], made.mean(0))  # -data + fantasies, and the data are 0
    objective.after("loss", Batch(x), Draw(0))
    assert torch.equal(objective.hidden, (machine.hidden_logits(made) > 0).double())
    X, knobs = digits(600), {"n_hidden": 24, "batch_size": 10, "epochs": 4, "lr": 0.05}
    ours = RestrictedBoltzmannMachine(**knobs, random_state=0).fit(X)
    names = {"n_components": 24, "batch_size": 10, "n_iter": 4, "learning_rate": 0.05}
    theirs = BernoulliRBM(**names, random_state=0).fit(X)
    with torch.no_grad():
        ours_exact = ours.pseudo_likelihood(X, exact=True).mean()
        for p, value in zip(
            theta(ours.module_), (theirs.components_, theirs.intercept_visible_, theirs.intercept_hidden_), strict=True
        ):
            p.copy_(torch.tensor(value))
    assert ours_exact == pytest.approx(ours.pseudo_likelihood(X, exact=True).mean(), abs=1.5)
    assert ours_exact > 64 * np.log(0.5) + 10


def test_the_centered_gradient_is_a_change_of_coordinates_there_and_back():
    machine, rng = filled(RBM(4, 3)), np.random.default_rng(2)
    mu, lam = torch.tensor(rng.random(4)), torch.tensor(rng.random(3))
    v, s = torch.tensor(rng.random((6, 4))), torch.tensor([1.0, 1, 1, -1, -1, -1]).double() / 3
    plain = torch.autograd.grad(s @ machine.free_energy(v), theta(machine))
    flat = torch.cat([g.flatten() for g in plain])

    def usual(centered):
        """E = -(v - μ)'b' - (h - λ)'c' - (h - λ)'W(v - μ) in the usual coordinates, but for a constant."""
        weight, b, c = centered[:12].view(3, 4), centered[12:16], centered[16:]
        return torch.cat([weight.flatten(), b - lam @ weight, c - weight @ mu])

    J = jacrev(usual)(torch.zeros(19).double())
    found = difference(machine, v, 3, (mu, lam))[2]
    np.testing.assert_allclose(torch.cat([g.flatten() for g in found]), J @ (J.T @ flat), atol=1e-12)
    p = machine(v).detach()  # the update of Melchior, Fischer and Wiskott (2016)
    weight = -((p - lam) * s[:, None]).T @ (v - mu)
    np.testing.assert_allclose(found[0], weight, atol=1e-12)
    np.testing.assert_allclose(found[1], -(s @ v) - lam @ weight, atol=1e-12)
    np.testing.assert_allclose(found[2], -(s @ p) - weight @ mu, atol=1e-12)


def test_the_centered_gradient_of_flipped_bits_is_the_flipped_gradient():
    """With the means as offsets; the plain gradient depends on which of two values is called 1."""
    machine, x = filled(RBM(4, 3)), torch.tensor(listed.states(4)[[1, 6, 7, 12]])
    turned = filled(RBM(4, 3))
    with torch.no_grad():  # the same law of 1 - v
        turned.hidden_bias.add_(machine.weight.sum(1))
        turned.weight.neg_()
        turned.visible_bias.neg_()
    made = torch.tensor(listed.states(4)[[2, 5, 8, 13]])
    mu, lam = x.mean(0), machine(x).mean(0).detach()
    v = torch.cat([x, made])

    def steps(m, rows, offset, centered):
        return difference(m, rows, 4, (offset, lam) if centered else None)[2]

    one, other = steps(machine, v, mu, True), steps(turned, 1 - v, 1 - mu, True)
    torch.testing.assert_close(one[0], -other[0])
    torch.testing.assert_close(one[1], -other[1])
    assert not torch.allclose(steps(machine, v, mu, False)[0], -steps(turned, 1 - v, 1 - mu, False)[0])


def test_centered_learning_starts_at_the_means_of_the_data_and_slides_to_those_of_the_hidden_units():
    X = two_bars()
    made = small(centered=True).fit(X, sample_weight=np.repeat([1, 3], 20))
    np.testing.assert_allclose(made.mean_, [0.25, 0.25, 0.75, 0.75])
    objective = made._trainer.objective
    np.testing.assert_allclose(objective.mu, made.mean_)
    lam, batch = objective.lam.clone(), Batch(torch.tensor(X[:4], dtype=torch.float32))
    on = made.module_(batch.x).mean(0)
    gradient(objective, batch)
    objective.after("loss", batch, Draw(0))
    torch.testing.assert_close(objective.lam, lam + 0.01 * (on.detach() - lam))


# ---- learning


@pytest.mark.parametrize("knobs", [{"method": "pcd"}, {"centered": True}])
def test_every_method_learns_which_bits_go_together(knobs):
    X = two_bars()
    made = small(epochs=100, lr=0.1, **knobs).fit(X)
    assert made.log_prob(X).mean() > -2.0  # log 1/2 is the most; independent bits have -2.77
    assert made.history_[-1]["rows"] == 100 * len(X) and "loss" in made.history_[-1]


def test_gaussian_visibles_learn_what_goes_together():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(200, 2)) * 0.7 + np.where(rng.random(200) < 0.5, 1.5, -1.5)[:, None]
    made = small(visible="gaussian", epochs=15, lr=0.1, validation=0.2).fit(points)
    assert made.log_prob(points).mean() > stats.multivariate_normal(points.mean(0), 1).logpdf(points).mean() + 0.3
    assert np.corrcoef(made.sample(400, steps=50, random_state=0).T)[0, 1] > 0.4
    assert {"valid_loss", "valid_reconstruction", "valid_log_likelihood"} <= set(made.history_[-1])
    with pytest.raises(InputError, match="no pseudo-likelihood"):
        made.pseudo_likelihood(points)


@pytest.mark.parametrize(
    ("visible", "X", "bias"),
    [
        ("bernoulli", [[0, 1, 1], [0, 1, 0], [0, 1, 0], [0, 0, 0]], [None, np.log(3), -np.log(3)]),
        ("gaussian", [[1, 5, 2], [3, 5, -2]], [2, 5, 0]),
    ],
)
def test_visible_biases_start_at_zero_or_at_the_means(visible, X, bias):
    """At a rate of next to nothing they stay where they start."""
    knobs = {"visible": visible, "lr": 1e-12, "epochs": 1, "random_state": 0}
    for start in (False, True):
        made = RestrictedBoltzmannMachine(n_hidden=2, start_at_means=start, **knobs).fit(np.array(X, dtype=float))
        found = made.module_.visible_bias.detach().numpy()
        assert (made.module_.hidden_bias.abs() < 1e-9).all()
        for value, wanted in zip(found, bias, strict=True):
            if wanted is None and start:  # a unit that is never on is rare, not impossible
                assert -15 < value < -3
            else:
                assert value == pytest.approx(wanted * start if wanted is not None else 0, abs=1e-6)


def test_gray_pixels_are_used_as_they_are_or_drawn_anew():
    X = np.full((40, 4), 0.5)
    seen = []
    for sample_pixels in (False, True):
        objective = small(sample_pixels=sample_pixels).fit(X)._trainer.objective
        objective.fantasies = lambda x, generator, seen=seen: seen.append(x) or x[:10]
        objective.loss("loss", Batch(torch.full((40, 4), 0.5)), Draw(0))
    assert (seen[0] == 0.5).all() and set(seen[1].unique().tolist()) == {0.0, 1.0}


def test_chains_are_as_many_as_a_batch_has_rows_or_as_asked():
    X = two_bars()
    assert small(batch_size=8).fit(X)._trainer.objective.hidden.shape == (8, 3)
    assert small(chains=5).fit(X)._trainer.objective.hidden.shape == (5, 3)
    assert small(batch_size="auto").fit(X)._trainer.objective.hidden.shape == (200, 3)


# ---- measures


def test_pseudo_likelihood_and_likelihood_are_those_of_enumeration():
    machine, v = filled(RBM(4, 3)), listed.states(4)
    made = put(small(dtype="float64").fit(two_bars()), machine)
    np.testing.assert_allclose(made.log_prob(v), np.log(listed.rbm_joint(*arrays(machine)).sum(1)), rtol=1e-10)
    exact = listed.pseudo_likelihood(v, *arrays(machine))
    np.testing.assert_allclose(made.pseudo_likelihood(v, exact=True), exact, rtol=1e-10)
    draws = np.stack([made.pseudo_likelihood(v, random_state=i) for i in range(400)])
    error = draws.std(0) / 20
    assert (np.abs(draws.mean(0) - exact) < 4 * error).all()
    assert made.partition().log_z == pytest.approx(listed.rbm_log_partition(*arrays(machine)), rel=1e-12)
    annealed = made.partition("ais", temperatures=300)
    assert (annealed.method, annealed.temperatures) == ("ais", 300)
    assert abs(annealed.log_z - made.partition().log_z) < 4 * annealed.error + 0.02
    np.testing.assert_allclose(made.log_prob(v, annealed) - made.log_prob(v), made.partition().log_z - annealed.log_z)
    assert made.score(v) == pytest.approx(made.pseudo_likelihood(v, random_state=0).mean())
    fair = put(small(dtype="float64").fit(two_bars()), RBM(4, 3, std=0))
    np.testing.assert_allclose(fair.pseudo_likelihood(v, random_state=1), 4 * np.log(0.5))
    np.testing.assert_allclose(made.free_energy(v), -made.log_prob(v) - made.partition().log_z)


@pytest.mark.ledger("B126", covers="ftheta.models.RestrictedBoltzmannMachine.pseudo_likelihood")
def test_all_bits_give_the_same_every_time_and_one_random_bit_and_contrastive_divergence_do_not():
    X = digits(50)
    made = RestrictedBoltzmannMachine(n_hidden=8, epochs=2, random_state=0).fit(X)
    full = np.stack([made.pseudo_likelihood(X, exact=True) for _ in range(3)])
    assert np.ptp(full, axis=0).max() == 0
    proxy = [made.pseudo_likelihood(X, random_state=i).mean() for i in range(20)]
    assert np.std(proxy) > 0.1 and np.mean(proxy) == pytest.approx(full[0].mean(), abs=float(np.std(proxy)))
    assert made.pseudo_likelihood(X).mean() != made.pseudo_likelihood(X).mean()  # no seed: other bits
    objective = Contrastive(made.module_, chains=0)
    steps = [gradient(objective, Batch(torch.tensor(X)), seed)[1][0] for seed in range(3)]
    assert not torch.equal(steps[0], steps[1]) and not torch.equal(steps[1], steps[2])


@pytest.mark.data
@pytest.mark.middle
def test_independent_pixels_on_mnist_have_206_nats(data_dir):
    from ftheta.data import load

    pixels = load("mnist").x[:60_000].astype(np.float32) / 255
    rng = np.random.default_rng(0)
    rows = rng.permutation(60_000)[:10_000]  # not every tenth: those have less ink
    bits = (rng.random((10_000, 784)) < pixels[rows]).astype(np.float32)
    made = RestrictedBoltzmannMachine(n_hidden=1, epochs=1, batch_size=1000).fit(pixels)
    machine, means = RBM(784, 1, std=0), torch.tensor(made.mean_).clamp(1e-6, 1 - 1e-6)
    with torch.no_grad():
        machine.visible_bias.copy_(means.logit())
    assert put(made, machine).pseudo_likelihood(bits, exact=True).mean() == pytest.approx(-206.0, abs=1.5)


def test_assess_names_every_measure_with_its_error():
    X = digits(60)
    made = RestrictedBoltzmannMachine(n_hidden=4, epochs=1, random_state=0).fit(X)
    table = made.assess(X)
    assert list(table.columns) == ["measure", "value", "error"]
    found = {name: (value, error) for name, value, error in zip(*table.columns.values(), strict=True)}
    proxy = made.pseudo_likelihood(X, random_state=0)
    value, error = found["mean log-pseudo-likelihood, one-bit proxy / nats"]
    assert value == pytest.approx(proxy.mean()) and error == pytest.approx(proxy.std(ddof=1) / 60**0.5, rel=1e-5)
    gray = "mean -F(v) - log Z (gray values: not a probability) / nats"
    assert found[gray][0] == pytest.approx(made.log_prob(X).mean())
    assert found["log Z (exact) / nats"] == (made.partition().log_z, 0.0)
    rebuilt = made.module_.visible_mean(made.module_(torch.tensor(X))).detach().numpy()
    assert found["mean squared reconstruction error"][0] == pytest.approx(((X - rebuilt) ** 2).mean(), rel=1e-5)
    assert made.assess(X > 0.5).columns["measure"][0] == "mean log p(v) / nats"
    gauss = small(visible="gaussian").fit(X[:, 20:23])
    assert gauss.score(X[:, 20:23]) == pytest.approx(-gauss.assess(X[:, 20:23]).columns["value"][1], rel=1e-5)
    assert len(gauss.assess(X[:, 20:23]).columns["measure"]) == 4


def test_assess_counts_the_hidden_units_that_tell_rows_apart():
    """Four units: always on, always off, on where a pixel is bright, and hardly more then."""
    X = np.repeat([[0.0, 1, 0], [1, 1, 0]], 10, axis=0)
    made = RestrictedBoltzmannMachine(n_hidden=4, epochs=1, random_state=0).fit(X)
    with torch.no_grad():
        made.module_.weight.zero_()
        made.module_.weight[2:, 0] = torch.tensor([5.0, 0.3])
        made.module_.hidden_bias.copy_(torch.tensor([9.0, -9.0, -2.5, 0.0]))
    table = made.assess(X)
    assert [*table.columns["measure"]][-1] == "hidden units that tell rows apart, of 4"
    assert [*table.columns["value"]][-1] == 1 and [*table.columns["error"]][-1] == 0


def test_annealing_starts_at_the_rates_of_the_training_rows(monkeypatch):
    X, seen = digits(60), {}
    made = RestrictedBoltzmannMachine(n_hidden=4, epochs=1, random_state=0).fit(X)
    monkeypatch.setattr(_machine, "log_partition", lambda machine, method, **knobs: seen.update(knobs))
    made.partition("ais")
    rates = X.mean(0).clip(1e-3, 1 - 1e-3)
    np.testing.assert_allclose(seen["base_bias"], np.log(rates / (1 - rates)), rtol=1e-5)


def test_validation_asks_for_the_same_bits_in_every_epoch():
    X = digits(60)
    knobs = {"n_hidden": 4, "epochs": 3, "lr": 1e-12, "random_state": 0}
    rows = RestrictedBoltzmannMachine(**knobs).fit(X, X_val=X).history_
    assert len({round(row["valid_loss"], 3) for row in rows}) == 1


# ---- chains


def test_nothing_or_everything_may_be_missing():
    made, X = small().fit(two_bars()), digits(6)[:, 20:24]
    np.testing.assert_array_equal(made.fill_in(X, np.zeros(4, bool), 5), X)
    everything = made.fill_in(X, np.ones(X.shape, bool), 5, random_state=0)
    assert set(np.unique(everything)) <= {0.0, 1.0} and everything.shape == X.shape


# ---- what is refused


@pytest.mark.parametrize(
    ("knobs", "change", "said"),
    [
        ({}, lambda X: X * 255, r"X holds values from 0 to 255, .* takes values in \[0, 1\]: scale"),
        ({}, lambda X: X - 1.0, r"X holds values from -1 to 0"),
        ({}, lambda X: np.where(X > 0, np.nan, 0), "X contains NaN"),
    ],
)
def test_rows_that_do_not_fit_the_visibles_are_one_sentence(knobs, change, said):
    with pytest.raises(InputError, match=said):
        small(**knobs).fit(change(two_bars()))


def test_gaussian_chains_that_diverge_are_one_sentence():
    X = 1e4 * np.random.default_rng(0).normal(size=(60, 3))
    with pytest.raises(NonFiniteError, match="epoch"):
        small(visible="gaussian", lr=1e20, epochs=30).fit(X)
    made = small(visible="gaussian").fit(X / 1e4)
    with torch.no_grad():
        made.module_.visible_bias.fill_(3e38)
        made.module_.hidden_bias.fill_(3e38)
        made.module_.weight.fill_(1e38)
    with pytest.raises(NonFiniteError, match="A chain left the finite numbers: the machine's weights are too large"):
        made.sample(5, steps=5)


@pytest.mark.parametrize("visible", ["bernoulli", "gaussian"])
def test_a_machine_that_started_at_the_means_is_saved_and_loaded(tmp_path, visible):
    made = small(start_at_means=True, visible=visible).fit(two_bars())
    made.save(tmp_path / "machine")
    again = ftheta.load(tmp_path / "machine")
    np.testing.assert_array_equal(again.transform(two_bars()), made.transform(two_bars()))
    np.testing.assert_array_equal(again.sample(3, random_state=0), made.sample(3, random_state=0))


def test_evaluate_uses_the_weights():
    X = np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0]])
    made = small(visible="gaussian").fit(two_bars())
    one = made.evaluate(X[:1])["loss"]
    assert made.evaluate(X, sample_weight=[1, 0, 0])["loss"] == pytest.approx(one)
    assert made.evaluate(X)["loss"] != pytest.approx(one)
