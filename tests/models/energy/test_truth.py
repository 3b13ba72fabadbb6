"""Boltzmann machines by enumeration against loops over units, finite differences and each other."""

from itertools import product

import numpy as np
import pytest

from ftheta.errors import InputError
from tests._truth.boltzmann import bipartite, pseudo_likelihood, rbm_gradient, rbm_joint, rbm_log_partition, states


def machine(n_visible=4, n_hidden=3, seed=1):
    """The random machine of the ledger: W (H, V), b, c."""
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(n_visible, n_hidden)).T
    return W, 0.5 * rng.normal(size=n_visible), 0.5 * rng.normal(size=n_hidden)


def by_loops(W, b, c):
    """exp(-E) of every pair of states, unit by unit."""
    found = {}
    for v in product([0, 1], repeat=len(b)):
        for h in product([0, 1], repeat=len(c)):
            energy = -sum(b[i] * v[i] for i in range(len(b))) - sum(c[j] * h[j] for j in range(len(c)))
            energy -= sum(h[j] * W[j, i] * v[i] for i in range(len(b)) for j in range(len(c)))
            found[v, h] = np.exp(-energy)
    return found


def test_the_joint_is_that_of_a_loop_over_units_and_adds_up_to_one():
    W, b, c = machine()
    loops = np.array(list(by_loops(W, b, c).values())).reshape(16, 8)
    np.testing.assert_allclose(rbm_joint(W, b, c), loops / loops.sum(), rtol=1e-12)


@pytest.mark.ledger("B122", covers="ftheta.models.energy.rbm_net.RBM.log_partition", printed=2**7, right=2**3)
def test_the_partition_function_is_the_same_over_both_layers_and_over_either(ledger):
    W, b, c = machine()
    sums = [np.exp(rbm_log_partition(W, b, c, over)) for over in ("joint", "visible", "hidden")]
    np.testing.assert_allclose(sums, 259.9396, atol=1e-4)
    ledger(min(rbm_joint(W, b, c).shape))  # terms that suffice: the states of the smaller layer


def test_the_gradient_is_that_of_finite_differences():
    W, b, c = machine()
    v = np.array([[1, 0, 1, 1], [0, 0, 1, 0], [1, 1, 1, 1]])

    def mean(theta):
        w, x, y = theta[:12].reshape(3, 4), theta[12:16], theta[16:]
        return np.log(rbm_joint(w, x, y).sum(1)[v @ [8, 4, 2, 1]]).mean()

    theta = np.concatenate([W.ravel(), b, c])
    steps = 1e-6 * np.eye(len(theta))
    slopes = [(mean(theta + e) - mean(theta - e)) / 2e-6 for e in steps]
    np.testing.assert_allclose(np.concatenate([g.ravel() for g in rbm_gradient(v, W, b, c)]), slopes, atol=1e-8)


@pytest.mark.ledger("B123", covers="ftheta.models.energy.rbm_net.RBM.log_conditionals")
def test_the_pseudo_likelihood_is_not_the_likelihood_and_does_not_add_up_to_one():
    W, b, c = machine()
    rows, place = np.array([[0, 0, 0, 0], [0, 1, 0, 1], [1, 1, 1, 1]]), np.array([8, 4, 2, 1])
    marginal = rbm_joint(W, b, c).sum(1)
    np.testing.assert_allclose(np.log(marginal[rows @ place]), [-3.718, -2.825, -1.849], atol=5e-4)
    np.testing.assert_allclose(pseudo_likelihood(rows, W, b, c), [-3.537, -2.915, -1.776], atol=5e-4)
    assert np.exp(pseudo_likelihood(states(4), W, b, c)).sum() == pytest.approx(1.006, abs=5e-4)
    slow = 0.0
    for i in range(4):
        turned = rows[1].copy()
        turned[i] = 1 - turned[i]
        slow += np.log(marginal[5] / (marginal[5] + marginal[turned @ place]))
    assert pseudo_likelihood(rows, W, b, c)[1] == pytest.approx(slow, rel=1e-12)
    assert pseudo_likelihood(np.zeros((1, 5)), np.zeros((2, 5)), np.zeros(5), np.zeros(2)) == 5 * np.log(0.5)


@pytest.mark.ledger("B322", covers="ftheta.models.energy.rbm_net.RBM")
def test_weights_within_a_layer_are_refused_and_without_them_the_conditionals_factorise():
    W, b, c = machine()
    whole = np.block([[np.zeros((4, 4)), W.T], [W, np.zeros((3, 3))]])
    np.testing.assert_array_equal(bipartite(whole, 4), W)
    for i, j, layer in ((0, 2, "visible units 0 and 2"), (4, 6, "hidden units 0 and 2")):
        joined = whole.copy()
        joined[i, j] = joined[j, i] = 0.3
        with pytest.raises(InputError, match=f"{layer} have the weight 0.3"):
            bipartite(joined, 4)
    joint = rbm_joint(W, b, c)
    for given, others in ((joint, states(3)), (joint.T, states(4))):  # of h given v, of v given h
        conditional = given / given.sum(1, keepdims=True)
        rates = conditional @ others  # P(unit = 1 | the other layer)
        product_of_units = np.prod(np.where(others[None] == 1, rates[:, None], 1 - rates[:, None]), axis=2)
        np.testing.assert_allclose(conditional, product_of_units, atol=1e-12)
