"""Scores of a class for every pixel: equal to the definitions, with intervals of whole images."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import jaccard_score

from ftheta import measure
from ftheta.errors import InputError
from ftheta.measure import Score
from ftheta.tasks import Segment

RNG = np.random.default_rng(0)
NAMES = ("ground", "disc", "square")
TRUTH = np.kron(RNG.integers(0, 3, (40, 2, 2)), np.ones((1, 4, 4), int))  # blocks of 4 x 4 pixels
GOOD, POOR = (
    np.where(RNG.random(TRUTH.shape) < RNG.uniform(low, 1, (40, 1, 1)), TRUTH, RNG.integers(0, 3, TRUTH.shape))
    for low in (0.6, 0.1)
)


def scores(y, predicted, names=NAMES, seed=0):
    found = Segment().score(y, {"predicted": predicted, "classes": names}, seed=seed)
    ends = {name: found["intervals"][name] or (None, None) for name in found["scores"]}
    values = {name: np.nan if value is None else value for name, value in found["scores"].items()}
    return {name: Score(name, value, *ends[name], found["method"][name]) for name, value in values.items()}


def compare_pixels(y, a, b, names):
    return Segment().compare(y, *({"predicted": maps, "classes": NAMES} for maps in (a, b)), names)


def test_the_values_are_those_of_the_definitions():
    found = scores(TRUTH, POOR)
    overlap = jaccard_score(TRUTH.ravel(), POOR.ravel(), average=None)
    assert list(found) == ["pixel accuracy", "mean IoU", "boundary accuracy", *(f"IoU of {name}" for name in NAMES)]
    np.testing.assert_allclose([found[f"IoU of {name}"].value for name in NAMES], overlap)
    assert found["mean IoU"].value == pytest.approx(overlap.mean())
    assert found["pixel accuracy"].value == pytest.approx((TRUTH == POOR).mean())
    assert found["boundary accuracy"].value == pytest.approx(measure.boundary_accuracy(TRUTH, POOR))


def test_a_class_that_is_nowhere_has_no_value():
    place = np.array([0, 1, 3])
    found = scores(place[TRUTH], place[POOR], ("a", "b", "never", "c"))
    assert found["mean IoU"].value == pytest.approx(scores(TRUTH, POOR)["mean IoU"].value)
    assert np.isnan(found["IoU of never"].value) and found["IoU of never"].low is None


def test_intervals_are_of_images_and_not_of_pixels():
    """In an image all pixels are right or none: 40 coins, though there are 2,560 pixels."""
    hit = np.arange(40) % 4 > 0
    found = scores(TRUTH, np.where(hit[:, None, None], TRUTH, (TRUTH + 1) % 3))["pixel accuracy"]
    half = 1.96 * np.sqrt(0.75 * 0.25 / 40)
    assert found.value == 0.75 and found.method == "bootstrap BCa of images"
    assert (found.low, found.high) == pytest.approx((0.75 - half, 0.75 + half), abs=0.04)


def test_the_interval_of_the_mean_iou_is_that_of_resampled_images():
    rng, found = np.random.default_rng(1), scores(TRUTH, POOR)["mean IoU"]
    drawn = [measure.mean_iou(TRUTH[rows], POOR[rows]) for rows in rng.integers(0, 40, (1000, 40))]
    np.testing.assert_allclose((found.low, found.high), np.quantile(drawn, (0.025, 0.975)), atol=0.01)


def test_few_images_have_no_intervals():
    assert all(score.low is None for score in scores(TRUTH[:9], POOR[:9]).values())
    for last in (0, 3):
        rare = np.where((TRUTH == 2) & (np.arange(40) > last)[:, None, None], 0, TRUTH)  # the third class in few images
        found = scores(rare, np.where(POOR == 2, rare, POOR))
        assert found["IoU of square"].low is None and found["mean IoU"].low is None
        assert found["IoU of disc"].low is not None and found["pixel accuracy"].low is not None


def test_the_same_pixels_give_the_same_interval_and_another_seed_another():
    first, same, other = (scores(TRUTH, POOR, seed=seed)["pixel accuracy"] for seed in (0, 0, 1))
    assert first == same and first.low != other.low


def test_two_models_are_compared_image_by_image():
    found = compare_pixels(TRUTH, GOOD, POOR, ("good", "poor"))
    each = [(TRUTH == answer).mean((1, 2)) for answer in (GOOD, POOR)]
    tests = {test.test: test for test in found.tests}
    assert tests["paired t"][2:4] == pytest.approx(stats.ttest_rel(*each)[:2])
    assert tests["Wilcoxon signed ranks"].p == pytest.approx(stats.wilcoxon(*each).pvalue)
    assert found.values["accuracy"] == pytest.approx([e.mean() for e in each]) and found.n == 40
    assert tests["sign flips"].low < each[0].mean() - each[1].mean() < tests["sign flips"].high
    assert ": good is better;" in found.meaning
    assert compare_pixels(TRUTH[:5], GOOD[:5], POOR[:5], ("a", "b")).tests[0].low is None
    with pytest.raises(InputError, match="There is one test image; two models cannot be compared on fewer than two"):
        compare_pixels(TRUTH[:1], GOOD[:1], POOR[:1], ("a", "b"))
