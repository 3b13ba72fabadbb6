"""What memories share: names of what is recalled, and rows that are there twice."""

import numpy as np
import pytest

from ftheta.errors import InputError
from ftheta.models import HopfieldNetwork, ModernHopfield

every_rule = pytest.mark.parametrize("rule", ["hebb", "pseudo-inverse", "storkey", "design"])


def random(seed, p=4, n=100):
    return np.random.default_rng(seed).choice([-1.0, 1.0], (p, n))


def network(patterns, **params):
    return HopfieldNetwork(random_state=0, **params).fit(patterns)


def test_cues_are_left_as_they_were_given():
    cues = random(0) * 1.0
    before = cues.copy()
    net = network(random(1))
    net.recall(cues, noise=0.1)
    net.recall(cues)
    net.trace(cues)
    net.assess(cues)
    np.testing.assert_array_equal(cues, before)


def test_noise_is_drawn_anew_for_another_seed_and_again_for_the_same():
    net = network(random(0))
    first, again, other = (net.recall(random(0), steps=0, noise=0.3, random_state=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).mean() == pytest.approx(0.42, abs=0.1)  # 2 · 0.3 · 0.7


@pytest.mark.parametrize(
    ("labels", "spurious", "kind"),
    [
        (None, -1, "i"),
        ([7, 9], -1, "i"),
        ([-1, 1], -2, "i"),
        ([0.5, -3.5], -4.5, "f"),
        (np.array([3, 0], dtype="uint8"), -1, "i"),
        ([True, False], -1, "i"),
        (["a", "b"], "spurious", "U"),
    ],
)
def test_a_cue_that_ends_elsewhere_has_a_name_of_its_own(labels, spurious, kind):
    patterns = random(0, 2, 30)
    net = HopfieldNetwork(random_state=0).fit(patterns, labels)
    found = net.predict(np.r_[patterns, -patterns])  # mirror images are attractors too
    expected = [0, 1] if labels is None else list(labels)
    assert found.tolist() == [*expected, spurious, spurious] and net.spurious == spurious
    assert found.dtype.kind == kind
    assert net.score(np.r_[patterns, -patterns]) == 0.5
    assert net.matched(np.r_[-patterns, patterns]).tolist() == [-1, -1, 0, 1]


def test_the_medoid_of_a_class_is_the_row_nearest_to_the_others():
    rows, labels = random(0, 60, 30), np.arange(60) % 3
    net = HopfieldNetwork(keep="medoid", random_state=0).fit(rows, labels)
    assert net.labels_.tolist() == [0, 1, 2]
    for label, pattern in enumerate(net.patterns_):
        own = rows[labels == label]
        np.testing.assert_array_equal(pattern, own[np.square(own[:, None] - own[None]).sum((1, 2)).argmin()])
    with pytest.raises(InputError, match=r"keep='medoid' stores one row of each class and needs y; pass y"):
        HopfieldNetwork(keep="medoid").fit(rows)


def test_the_medoid_of_numbers_is_the_row_nearest_to_the_others():
    rows = np.random.default_rng(0).normal(size=(40, 5)) * np.linspace(0.5, 4, 40)[:, None]
    net = ModernHopfield(interaction="continuous", keep="medoid", random_state=0).fit(rows, np.zeros(40))
    distances = np.square(rows[:, None] - rows[None]).sum((1, 2))
    np.testing.assert_array_equal(net.patterns_[0], rows[distances.argmin()])


def test_the_table_of_an_assessment_is_of_the_rows():
    patterns = random(0, 3, 30)
    net = network(patterns)
    table = net.assess(np.r_[patterns, -patterns[:1]])
    value = dict(zip(table.columns["measure"], table.columns["value"], strict=True))
    error = dict(zip(table.columns["measure"], table.columns["error"], strict=True))
    assert value["ended in a stored pattern"] == 0.75
    assert error["ended in a stored pattern"] == pytest.approx(np.std([1, 1, 1, 0], ddof=1) / 2)
    assert value["converged"] == 1 and value["steps needed"] == 0 and value["units changed"] == 0
    assert value["energy at the end"] == pytest.approx(net.energy(patterns).mean())
    assert "4 cues, 3 stored patterns." in str(table)
    assert set(net.assess(patterns[:1]).columns["error"]) == {"none"}


def test_rows_that_repeat_are_stored_once_and_noted():
    patterns = random(0, 3)
    net = network(patterns[[0, 1, 0, 2, 1, 0]])
    np.testing.assert_array_equal(net.patterns_, patterns)
    assert net.note_ == "3 of 6 patterns repeat an earlier one and are stored once."
    np.testing.assert_array_equal(net.weights_, network(patterns).weights_)
    other = HopfieldNetwork().fit(patterns[[0, 1, 0]], ["a", "b", "c"])
    assert other.labels_.tolist() == ["a", "b"] and other.note_.endswith("stored once, with the label of the first.")


@every_rule
def test_rows_that_are_all_equal_are_one_pattern_and_said_to_be(rule):
    with pytest.warns(UserWarning, match="All 4 patterns are equal"):
        net = network(np.tile(random(0, 1, 20), (4, 1)), rule=rule)
    assert net.patterns_.shape == (1, 20)
    np.testing.assert_array_equal(net.recall(net.patterns_, noise=0.1), net.patterns_)
