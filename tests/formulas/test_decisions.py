"""Bayes decisions: by hand, by enumeration, by SciPy's distribution functions, and the printed numbers."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from ftheta.errors import InputError, InputTypeError
from ftheta.formulas import Rule, best_rule, decide, gaussian_rule, posterior, reweigh, risk, risks

RNG = np.random.default_rng(0)
EQUAL, RARE, DEAR = [0.5, 0.5], [0.75, 0.25], [[0, 1], [100, 0]]


def pdf(m, s=1.0):
    return lambda x: math.exp(-(((x - m) / s) ** 2) / 2) / (s * math.sqrt(2 * math.pi))


NEAR, FAR = pdf(0), pdf(2)


def cut_at(x):
    return Rule(np.array([x]), np.array([0, 1]))


@pytest.mark.ledger("B206", covers="ftheta.formulas.decide")
def test_without_a_feature_the_frequent_letter_is_always_the_answer():
    """P(a) = 0.75, P(b) = 0.25: always a, wrong in a quarter of all cases."""
    assert decide(RARE) == 0 and risks(RARE).min() == 0.25
    assert decide(RARE, [[0, 1], [4, 0]]) == 1  # unless a missed b costs four times as much


@pytest.mark.ledger("B207", covers="ftheta.formulas.posterior")
def test_discrete_posteriors_are_those_of_counting():
    """A joint table of class, first and second feature, summed by hand."""
    first, second = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]]), np.array([[0.9, 0.1], [0.25, 0.75]])
    joint = np.array(RARE)[:, None, None] * first[:, :, None] * second[:, None, :]  # (K, V1, V2)
    cells = [(a, b) for a in range(3) for b in range(2)]
    found = posterior([np.log(first[:, a]) + np.log(second[:, b]) for a, b in cells], RARE)
    wanted = np.array([joint[:, a, b] / joint[:, a, b].sum() for a, b in cells])
    assert found == pytest.approx(wanted, rel=1e-12) and found.sum(1) == pytest.approx(np.ones(6))
    assert decide(found).tolist() == [int(joint[1, a, b] > joint[0, a, b]) for a, b in cells]
    assert set(decide(found)) == {0, 1}


@pytest.mark.ledger("B208", covers="ftheta.formulas.posterior")
def test_continuous_posteriors_sum_to_one_and_are_the_sigmoid_of_the_log_odds():
    x = np.linspace(-60, 60, 241)  # far out both densities are 0 in float64
    found = posterior(np.stack([norm(0).logpdf(x), norm(2).logpdf(x)], 1), RARE)
    assert found.sum(1) == pytest.approx(np.ones(241), abs=1e-15)
    assert found[:, 1] == pytest.approx(1 / (1 + np.exp(-(2 * x - 2 + math.log(1 / 3)))), rel=1e-10)


def test_new_priors_give_the_posteriors_that_they_would_have_given():
    logs = RNG.normal(size=(50, 3))
    old, new = [0.2, 0.5, 0.3], [0.7, 0.3, 0.0]
    assert reweigh(posterior(logs, old), old, new) == pytest.approx(posterior(logs, new), rel=1e-12)


@settings(max_examples=40)
@given(st.integers(0, 2**31), st.integers(2, 5), st.integers(1, 4))
def test_the_decision_is_the_cheapest_answer(seed, k, a):
    rng = np.random.default_rng(seed)
    p, loss = rng.dirichlet(np.ones(k), 20), rng.normal(size=(k, a))
    each = [[sum(loss[i, j] * row[i] for i in range(k)) for j in range(a)] for row in p]
    assert risks(p, loss) == pytest.approx(np.array(each), abs=1e-12)
    assert decide(p, loss).tolist() == [row.index(min(row)) for row in risks(p, loss).tolist()]
    kept = decide(p, loss, reject=0.1)
    assert ((kept == -1) == (risks(p, loss).min(1) > 0.1)).all()
    assert (kept[kept >= 0] == decide(p, loss)[kept >= 0]).all()


@pytest.mark.ledger("B209", covers="ftheta.formulas.risk")
@pytest.mark.parametrize(("priors", "cut", "error"), [(EQUAL, 1.0, 0.158655), (RARE, 1.54931, 0.127017)])
def test_the_error_is_least_where_the_posteriors_cross(priors, cut, error):
    rule = gaussian_rule([0, 2], [1, 1], priors)
    assert rule.cuts == pytest.approx([cut], abs=5e-6) and rule.answers.tolist() == [0, 1]
    assert risk([NEAR, FAR], priors, rule) == pytest.approx(error, abs=5e-7)
    moved = minimize_scalar(lambda t: risk([NEAR, FAR], priors, cut_at(t)), bounds=(-3, 5), method="bounded")
    assert moved.x == pytest.approx(cut, abs=1e-4)
    both = posterior(np.array([math.log(NEAR(rule.cuts[0])), math.log(FAR(rule.cuts[0]))]), priors)
    assert both == pytest.approx([0.5, 0.5])


@pytest.mark.ledger("B210", covers="ftheta.formulas.gaussian_rule")
def test_a_dear_miss_moves_the_threshold():
    rule, plain = gaussian_rule([0, 2], [1, 1], RARE, DEAR), gaussian_rule([0, 2], [1, 1], RARE)
    assert rule.cuts == pytest.approx([-0.75328], abs=5e-6)
    assert risk([NEAR, FAR], RARE, rule, DEAR) == pytest.approx(0.65452, abs=5e-6)
    assert risk([NEAR, FAR], RARE, plain, DEAR) == pytest.approx(8.19812, abs=5e-6)


@settings(max_examples=40)
@given(st.floats(-3, 3), st.floats(0.2, 4), st.floats(0.05, 0.95), st.floats(0.1, 50))
def test_gaussian_rules_answer_where_the_cost_is_less(gap, spread, prior, dear):
    priors, loss = [1 - prior, prior], [[0.0, 1.0], [dear, 0.0]]
    rule = gaussian_rule([5.0, 5 + gap], [1, spread], priors, loss)
    x = np.linspace(-15, 25, 401)
    pull = dear * prior * norm(5 + gap, spread).pdf(x) - (1 - prior) * norm(5).pdf(x)
    sure = abs(pull) > 1e-9
    assert (rule.at(x) == (pull > 0))[sure].all()
    assert len(rule.cuts) in (0, 1, 2) and (np.diff(rule.cuts) > 0).all()


@pytest.mark.parametrize(
    ("means", "sds", "priors", "answers"),
    [
        ([0, 0], [1, 1], RARE, [0]),
        ([0, 0], [1, 1], [0.25, 0.75], [1]),
        ([0, 0], [1, 1], EQUAL, [0]),
        ([0, 0], [1, 3], EQUAL, [1, 0, 1]),
        ([0, 0], [3, 1], EQUAL, [0, 1, 0]),
        ([0, 1], [1, 1.1], [0.999, 0.001], [1, 0, 1]),
        ([0, 1], [2, 1], [0.999, 0.001], [0]),
        ([2, 0], [1, 1], EQUAL, [1, 0]),
        ([0, 2], [1, 1], [1, 0], [0]),
        ([0, 2], [1, 1], [0, 1], [1]),
    ],
)
def test_how_many_cuts_two_gaussians_have(means, sds, priors, answers):
    rule = gaussian_rule(means, sds, priors)
    assert rule.answers.tolist() == answers and len(rule.cuts) == len(answers) - 1


@pytest.mark.parametrize("loss", [None, DEAR, [[-1, 2], [7, 0.5]]])
@pytest.mark.parametrize("sds", [(1, 1), (1, 2.5), (3, 1)])
def test_the_general_rule_finds_the_gaussian_one(sds, loss):
    laws = norm(0, sds[0]), norm(1.5, sds[1])
    found = best_rule(
        lambda x: np.stack([law.logpdf(x) + np.log(w) for law, w in zip(laws, RARE, strict=True)], 1),
        np.linspace(-30, 30, 2001),
        loss,
    )
    exact = gaussian_rule([0, 1.5], sds, RARE, loss)
    assert found.cuts == pytest.approx(exact.cuts, abs=1e-9) and found.answers.tolist() == exact.answers.tolist()


def test_risk_is_what_the_distribution_functions_say():
    rule, priors, loss = Rule(np.array([-0.4, 1.7]), np.array([1, 0, 1])), [0.3, 0.7], np.array([[0.5, 2], [9, -1]])
    laws = norm(0, 1), norm(1, 2)
    mass = np.array([np.diff(law.cdf([-np.inf, -0.4, 1.7, np.inf])) for law in laws])
    wanted = sum(priors[k] * loss[k, rule.answers[i]] * mass[k, i] for k in (0, 1) for i in range(3))
    assert risk([pdf(0), pdf(1, 2)], priors, rule, loss) == pytest.approx(wanted, rel=1e-9)
    assert risk([pdf(0), pdf(1, 2)], priors, rule, loss, within=(-20, 20)) == pytest.approx(wanted, rel=1e-9)


def test_a_tie_with_the_cost_of_rejecting_is_answered_whatever_rounding_does():
    """1 - 0.7 and 0.1 + 0.2 are both above 0.3 in floating point."""
    assert decide([[0.7, 0.1, 0.2], [0.69, 0.11, 0.2]], reject=0.3).tolist() == [0, -1]
    assert decide([0.3, 0.7], [[0, 1], [1, 0]], reject=1 - 0.7).tolist() == 1


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: posterior([0.0, 0.0], [0.5, 0.6]), r"priors is \[0.5, 0.6\] with sum 1.1; shares are not negative"),
        (lambda: posterior([0.0, 0.0], [1.0]), r"priors has shape \(1,\); one share for each of the 2 classes"),
        (lambda: posterior([[0, 1], [0, np.nan]], EQUAL), r"log_likelihood holds NaN or \+inf"),
        (lambda: posterior([[0, 1], [0, np.inf]], EQUAL), r"log_likelihood holds NaN or \+inf"),
        (lambda: posterior([[0, 1], [-np.inf, -np.inf]], EQUAL), "can produce row 1: all its densities are 0"),
        (lambda: reweigh(EQUAL, [1.0, 0.0], EQUAL), "a class that training never saw has no posterior to correct"),
        (lambda: decide(EQUAL, np.eye(3)), r"loss has shape \(3, 3\); 2 rows are needed, one for each true class"),
        (lambda: decide(EQUAL, [[0, np.inf], [1, 0]]), "every cost must be a finite number"),
        (lambda: decide(EQUAL, reject=np.nan), "reject is nan; the cost of giving no answer must be a finite number"),
        (lambda: gaussian_rule([0, 1], [1, 0], EQUAL), "two finite means and two spreads above 0 are needed"),
        (lambda: gaussian_rule([0, 1], [1, 1], EQUAL, [[0, 1], [0, 1]]), "each error must cost more than no error"),
        (
            lambda: risk([NEAR, lambda x: 2 * FAR(x)], EQUAL, cut_at(1)),
            r"class 1 integrates to 2 over \(-inf, inf\), not to 1; pass a density, and within",
        ),
        (
            lambda: risk([NEAR, FAR], EQUAL, Rule(np.array([1.0]), np.array([0, 2]))),
            r"the loss has answers from 0 to 1",
        ),
        (lambda: posterior(["a", "b"], EQUAL), r"log_likelihood is \['a', 'b'\]; numbers in rows of equal length"),
        (lambda: decide(EQUAL, [[0, 1], [1]]), r"loss is \[\[0, 1\], \[1\]\]; numbers in rows of equal length"),
        (lambda: decide([np.nan, 0.5]), "probabilities of K classes, none negative or missing, are needed"),
    ],
)
def test_sentences(call, says):
    with pytest.raises((InputError, InputTypeError), match=says):
        call()
