"""Hopfield networks: the report's examples, loops over units and rows, and patterns that cannot be remembered."""

import warnings
from copy import deepcopy
from functools import reduce
from itertools import product

import numpy as np
import pytest

import ftheta
from ftheta.draw import Draw
from ftheta.errors import InputError, RunError
from ftheta.models import HopfieldNetwork
from ftheta.models.energy.rules import storkey_step
from ftheta.train import Callback, Training

FLAT = [[1, 1], [-1, -1], [1, -1]]
SOLID = [[-1, -1, 1], [1, -1, -1], [1, 1, 1]]
RULES = ("hebb", "pseudo-inverse", "storkey", "design")
ROWS = np.array([[1.0] * 6 + [-1.0] * 6, [1.0, -1.0] * 6])
every_rule = pytest.mark.parametrize("rule", RULES)
every_update = pytest.mark.parametrize("update", ["synchronous", "asynchronous"])
every_unit = pytest.mark.parametrize("unit", ["sign", "saturated"])


def random(seed, p=4, n=100):
    return np.random.default_rng(seed).choice([-1.0, 1.0], (p, n))


def network(patterns, **params):
    return HopfieldNetwork(random_state=0, **params).fit(patterns)


@pytest.mark.ledger("B051", covers="ftheta.models.HopfieldNetwork")
def test_without_a_bias_equilibria_are_mirrored_and_with_one_they_are_not():
    def mirrored(net):
        points = {tuple(e.point.round(9) + 0.0) for e in net.equilibria()}
        return {tuple(-x + 0.0 for x in p) for p in points} == points

    flat = network(FLAT, rule="design", unit="saturated")
    assert mirrored(flat) and not flat.bias_.any()
    assert [e.point.tolist() for e in flat.equilibria() if e.spurious] == [[-1, 1]]
    hebb = network(SOLID, rule="hebb", zero_diagonal=False)  # sign units
    assert mirrored(hebb) and len(hebb.equilibria()) == 8
    assert sum(e.spurious for e in hebb.equilibria()) == 5
    solid = network(SOLID, rule="design", unit="saturated")
    own = network(SOLID[:2], rule="design", unit="saturated", decay=3.0, step=0.2)
    rates = np.unique(np.linalg.eigvalsh(own.weights_).round(9))
    np.testing.assert_allclose(rates, np.exp([-0.6, 0.2]), atol=1e-8)
    np.testing.assert_allclose(solid.bias_, [0.2849, -0.2849, 0.2849], atol=5e-5)
    assert sum(e.kind == "stable" for e in solid.equilibria()) == 3
    assert not any(e.spurious for e in solid.equilibria())
    assert not mirrored(solid)


@pytest.mark.ledger("B052", covers="ftheta.models.HopfieldNetwork")
def test_two_steps_from_the_points_of_the_report():
    starts = [[0.5, -0.75], [-0.5, 0.75]]
    for unit in ("sign", "saturated"):
        net = network(FLAT, rule="hebb", zero_diagonal=False, unit=unit)
        assert net.recall(starts, steps=2).tolist() == [[1, -1], [-1, 1]]
    assert (net.weights_ @ starts[0]).tolist() == [0.75, -1.75]
    assert net.trace(starts).states[:, 0].tolist() == [[0.5, -0.75], [0.75, -1], [1, -1]]
    assert np.tanh(net.weights_ @ np.tanh(net.weights_ @ starts[0])) == pytest.approx([0.746, -0.975], abs=5e-4)


@pytest.mark.ledger("B057", covers="ftheta.models.HopfieldNetwork.equilibria")
def test_a_pushed_corner_comes_back_and_a_pushed_saddle_does_not():
    net = network(FLAT, rule="design", unit="saturated")
    kinds = {tuple(e.point): e.kind for e in net.equilibria()}
    for corner in ((1, 1), (-1, -1), (1, -1), (-1, 1)):
        assert kinds[corner] == "stable" and net.recall([0.9 * np.array(corner)]).tolist() == [list(corner)]
    for push, end in [(1e-6, [1, 1]), (-1e-6, [1, -1])]:
        assert kinds[1, 0] == "saddle" and net.recall([[1, push]]).tolist() == [end]
    assert kinds[0, 0] == "maximum" and net.recall([[-1e-3, 1e-3]]).tolist() == [[-1, 1]]  # the spurious one


@pytest.mark.ledger("B272", covers="ftheta.models.HopfieldNetwork.trace")
@every_rule
def test_a_partial_cue_runs_down_the_energy_to_the_nearest_pattern(rule):
    patterns = random(0)
    net = network(patterns, rule=rule, update="asynchronous")
    cues = patterns.copy()
    cues[:, 60:] = 0  # the rest is unknown
    path = net.trace(cues)
    np.testing.assert_array_equal(path.states[0], cues)
    np.testing.assert_array_equal(path.states[-1], patterns)
    assert path.converged.all() and (path.needed >= 1).all()
    assert (np.diff(path.energies, axis=0) <= 1e-9).all() and (path.energies[-1] < path.energies[0] - 0.1).all()
    np.testing.assert_allclose(path.energies[-1], net.energy(patterns))


@every_unit
@every_rule
def test_synchronous_steps_are_those_of_a_loop_over_rows(rule, unit):
    patterns = random(1)
    net = network(patterns, rule=rule, unit=unit, scale=None if rule == "hebb" else 30)
    cues = patterns[np.arange(40) % 4] * np.where(np.random.default_rng(2).random((40, 100)) < 0.25, -1, 1)
    f = np.sign if unit == "sign" else lambda h: np.clip(h, -1, 1)
    path = net.trace(cues, steps=30)
    for row, cue in enumerate(cues):
        x = cue
        for t in range(1, len(path.states)):
            x = f(net.weights_ @ x + net.bias_)
            np.testing.assert_allclose(path.states[t, row], x, atol=1e-9)
    np.testing.assert_array_equal(net.recall(cues, steps=30), path.states[-1])


@every_unit
@every_rule
def test_asynchronous_steps_are_those_of_a_loop_over_units(rule, unit):
    patterns = random(1, n=40)
    net = network(patterns, rule=rule, unit=unit, update="asynchronous", scale=None if rule == "hebb" else 30)
    cues = np.random.default_rng(2).choice([-1.0, 1.0], (6, 40))
    found = net.recall(cues, steps=2)
    for row, cue in enumerate(cues):
        x = cue.copy()
        for t in range(2):
            for i in np.random.default_rng(Draw(0).at("order", t).key()).permutation(40):
                h = net.weights_[i] @ x + net.bias_[i]
                x[i] = np.sign(h) if unit == "sign" else np.clip(h, -1, 1)
        np.testing.assert_allclose(found[row], x, atol=1e-9)


@every_update
@every_rule
def test_one_row_alone_is_that_row_in_a_batch(rule, update):
    net = network(random(3, 3, 60), rule=rule, update=update)
    cues = random(4, 300, 60)  # more than move together
    alone = np.concatenate([net.recall(cues[i : i + 1]) for i in range(0, 300, 60)])
    np.testing.assert_array_equal(net.recall(cues)[::60], alone)
    np.testing.assert_array_equal(net.trace(cues[::60]).states[-1], alone)


def test_what_two_units_cannot_agree_on_goes_on_for_ever_when_they_move_at_once():
    path = network([[1, 1]], rule="hebb").trace([[1, -1]], steps=7)
    assert path.states[:, 0, 0].tolist() == [1, -1] * 4
    assert not path.converged[0] and path.needed[0] == 7
    other = network([[1, 1]], rule="hebb", update="asynchronous").trace([[1, -1]])
    assert other.converged[0] and abs(other.states[-1, 0].sum()) == 2


def test_a_unit_that_receives_nothing_stays_as_it_is():
    net = network([[1, 1, 1, 1], [1, 1, -1, -1]], rule="hebb")
    assert net.weights_.tolist() == [[0, 2, 0, 0], [2, 0, 0, 0], [0, 0, 0, 2], [0, 0, 2, 0]]
    assert net.recall([[0, 0, 1, 1], [-1, -1, 1, 1], [0.5, 0.5, 0, 0]]).tolist() == [
        [0, 0, 1, 1],
        [-1, -1, 1, 1],
        [1, 1, 0, 0],
    ]


@every_rule
def test_ones_own_weights_make_another_network(rule):
    net = network(random(0, n=20), rule=rule)
    cues = random(5, 10, 20)
    rng = np.random.default_rng(0)
    w = rng.normal(size=(20, 20))
    net.weights_, net.bias_ = w + w.T + 10 * np.eye(20), rng.normal(size=20)
    x = cues
    for _ in range(100):
        x = np.sign(x @ net.weights_.T + net.bias_)
    np.testing.assert_array_equal(net.recall(cues), x)
    np.testing.assert_allclose(net.energy(cues), [-c @ net.weights_ @ c / 2 - net.bias_ @ c for c in cues])


@pytest.mark.parametrize("rule", ["hebb", "pseudo-inverse", "design"])
@pytest.mark.parametrize("scale", [2.0**-15, 1.0, 2.0**100, 2.0**300])
def test_quick_steps_give_the_signs_of_the_full_matrix(rule, scale):
    """Against W in float64, also where units receive nothing, and with a bias of one's own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net = network(random(0, 5, 60), rule=rule)
    rng = np.random.default_rng(1)
    net.bias_ = net.bias_ + 0.3 * rng.uniform(-1, 1, 60)
    free = scale * np.concatenate([random(2, 50, 60), rng.normal(size=(50, 60)), np.zeros((1, 60))])
    ties = random(0, 2, 60).sum(0) * np.ones((1, 60))  # between two patterns: many units receive almost nothing
    for cues in (free, ties):
        h = cues @ net.weights_.T + net.bias_
        sure = np.abs(h) > 1e-5 * max(np.abs(cues).max(), 1.0) * np.abs(net.weights_).sum(1)
        assert sure.mean() > 0.5 and np.array_equal(net.recall(cues, steps=1)[sure], np.sign(h)[sure])


@every_update
@every_rule
def test_patterns_come_back_out_of_noise(rule, update):
    patterns = random(0)
    net = HopfieldNetwork(rule=rule, update=update, random_state=0).fit(patterns, list("abcd"))
    many = np.repeat(patterns, 25, 0)
    assert net.score(net.recall(many, noise=0.2, random_state=1), np.repeat(list("abcd"), 25)) == 1
    np.testing.assert_array_equal(net.recall(many, noise=0.4, noise_kind="replace"), many)
    np.testing.assert_array_equal(net.recall(many, noise=1.0, noise_kind="gaussian"), many)
    np.testing.assert_array_equal(net.transform(many), many)
    assert net.stable().all() and net.note_ == ""


def test_the_rules_differ_where_patterns_overlap():
    base = random(0, 1, 200)
    patterns = np.repeat(base, 5, 0) * np.where(np.random.default_rng(1).random((5, 200)) < 0.15, -1, 1)
    with pytest.warns(UserWarning, match=r"5 of 5 patterns are not stable in 200 units with rule='hebb' \(Hebb's has"):
        hebb = network(patterns, rule="hebb")
    assert not hebb.stable().any()
    for rule in ("pseudo-inverse", "design"):
        np.testing.assert_array_equal(network(patterns, rule=rule).recall(patterns, noise=0.02), patterns)


def test_more_patterns_than_there_is_room_for_are_said_to_be():
    with pytest.warns(
        UserWarning, match=r"^\d+ of 40 patterns are not stable in 100 units with rule='hebb' \(Hebb's has room for"
    ):
        assert not network(random(0, 40), rule="hebb").stable().all()
    with pytest.warns(
        UserWarning, match=r"30 patterns leave no connection between 20 units with rule='pseudo-inverse': every"
    ):
        net = network(random(0, 30, 20))
    np.testing.assert_array_equal(net.recall(random(1, 5, 20)), random(1, 5, 20))
    with pytest.warns(UserWarning, match=r"30 patterns leave no connection between 20 units with rule='design'"):
        network(random(0, 30, 20), rule="design", unit="saturated")
    with pytest.warns(UserWarning, match=r"4 of 4 patterns do not hold saturated units beyond 1 .* Take rule='design'"):
        network(random(0), unit="saturated")


def test_without_self_connections_the_projection_corrects_more_errors():
    x = np.random.default_rng(0).choice([-1.0, 1.0], (80, 200))
    share = {
        diagonal: (HopfieldNetwork(zero_diagonal=diagonal, random_state=0).fit(x).recall(x, noise=0.1) == x)
        .all(1)
        .mean()
        for diagonal in ("auto", True, False)
    }
    assert share["auto"] == share[True] > 0.95 and share[False] < 0.6
    for rule, unit in (("hebb", "saturated"), ("pseudo-inverse", "sign"), ("pseudo-inverse", "saturated")):
        diagonal = np.diag(HopfieldNetwork(rule=rule, unit=unit, scale=9.0).fit(x[:3]).weights_)
        assert diagonal.any() == (rule == "pseudo-inverse" and unit == "saturated")


def corners(n):
    return np.array(list(product([-1.0, 1.0], repeat=n)))


@pytest.mark.parametrize(
    ("rule", "patterns", "held"),
    [
        ("design", [[1, 1, 1], [1, 1, -1], [1, -1, 1], [-1, 1, 1], [-1, -1, 1]], True),
        ("design", [row for row in corners(4) if row[0] == 1][:6], False),
        ("design", SOLID, False),
        ("pseudo-inverse", [[1, 1, 1], [1, -1, 1]], False),
        ("pseudo-inverse", [[1, 1, 1], [1, -1, 1], [1, 1, -1]], True),
    ],
)
def test_it_is_said_when_every_corner_is_at_rest(rule, patterns, held):
    net = HopfieldNetwork(rule=rule, unit="saturated" if rule == "design" else "sign", random_state=0)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        net.fit(patterns)
    x = corners(len(patterns[0]))
    assert any("every corner is a fixed point" in str(w.message) for w in heard) == held
    if held:
        assert np.array_equal(net.recall(x), x)


def test_a_copy_with_changed_weights_is_the_changed_network():
    net = deepcopy(HopfieldNetwork(random_state=0).fit(ROWS))
    assert np.array_equal(net.recall(ROWS), ROWS)
    net.weights_[:] = -np.eye(len(ROWS[0]))
    assert np.array_equal(net.recall(ROWS, steps=1), -ROWS)


def test_ties_follow_the_weights_that_are_there():
    net = HopfieldNetwork(random_state=0).fit(ROWS)
    cue = ROWS * np.where(np.arange(len(ROWS[0])) < 1, -1, 1)
    known = net.recall(cue)
    net.weights_ = net.weights_ * 1e-13
    assert np.array_equal(net.recall(cue), known) and not np.array_equal(known, cue)


def test_a_corner_that_nothing_holds_is_marginal():
    x = [[1, -1, -1, -1, -1], [1, -1, -1, -1, 1], [1, 1, 1, -1, 1], [-1, 1, -1, -1, 1]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net = HopfieldNetwork(rule="hebb", update="asynchronous", random_state=0).fit(x)
    assert {tuple(e.point.astype(int)): e.kind for e in net.equilibria()}[-1, -1, -1, 1, -1] == "marginal"
    assert {e.kind for e in HopfieldNetwork(random_state=0).fit(ROWS).equilibria()} == {"stable"}


class Stop(Callback):
    """Ctrl-C after some steps."""

    def __init__(self, steps):
        self.steps = steps

    def on_step(self, ctx):
        if ctx.step == self.steps:
            raise KeyboardInterrupt


def test_storkeys_rule_goes_on_where_it_was_stopped(tmp_path):
    patterns = random(0, 6, 40)
    known = reduce(storkey_step, patterns, np.zeros((40, 40)))
    np.fill_diagonal(known, 0)
    made = HopfieldNetwork(rule="storkey", random_state=0, training=Training(every=0.0))
    with pytest.raises(KeyboardInterrupt):
        made.fit(patterns, run=tmp_path / "run", callbacks=[Stop(4)])
    again = HopfieldNetwork(rule="storkey", random_state=0, training=Training(every=0.0))
    again.fit(patterns, run=tmp_path / "run")
    assert np.array_equal(again.weights_, known) and again.history_[-1]["rows"] == 6
    assert np.array_equal(ftheta.load(tmp_path / "run").recall(patterns), patterns)
    with pytest.raises(RunError, match="started with other data"):
        HopfieldNetwork(rule="storkey", random_state=0).fit(-patterns[:3], run=tmp_path / "run")


def test_time_that_is_used_up_leaves_the_patterns_so_far():
    made = HopfieldNetwork(rule="storkey", training=Training(seconds=0.0)).fit(random(0, 6, 40))
    assert made.stop_reason_ == "seconds" and not made.weights_.any()


def test_patterns_have_no_weights():
    with pytest.raises(InputError, match="patterns, which have no weights"):
        HopfieldNetwork().fit(ROWS, sample_weight=[1, 2])
