"""A label for every pixel: overlaps as scikit-learn counts them, and a band around outlines, by brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import maximum_filter, minimum_filter
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score, jaccard_score

from ftheta.errors import InputError, InputTypeError
from ftheta.measure import boundary, boundary_accuracy, dice, iou, mean_iou, pixel_accuracy, pixel_counts

RNG = np.random.default_rng(0)
TRUTH = RNG.choice([0, 2, 7], (3, 8, 9))
ANSWER = np.where(RNG.random(TRUTH.shape) < 0.6, TRUTH, RNG.choice([0, 2, 7], TRUTH.shape))


def test_counts_accuracy_iou_and_dice_are_those_of_scikit_learn():
    t, a = TRUTH.ravel(), ANSWER.ravel()
    assert np.array_equal(pixel_counts(TRUTH, ANSWER), confusion_matrix(t, a))
    assert pixel_accuracy(TRUTH, ANSWER) == accuracy_score(t, a)
    np.testing.assert_allclose(iou(TRUTH, ANSWER), jaccard_score(t, a, average=None))
    np.testing.assert_allclose(dice(TRUTH, ANSWER), f1_score(t, a, average=None))
    assert mean_iou(TRUTH, ANSWER) == pytest.approx(jaccard_score(t, a, average="macro"))


def test_classes_stand_in_the_order_in_which_they_are_named():
    named = [7, 0, 2]
    expected = confusion_matrix(TRUTH.ravel(), ANSWER.ravel(), labels=named)
    assert np.array_equal(pixel_counts(TRUTH, ANSWER, named), expected)
    np.testing.assert_allclose(iou(TRUTH, ANSWER, named), iou(TRUTH, ANSWER)[[2, 0, 1]])
    np.testing.assert_allclose(dice(TRUTH, ANSWER, named), dice(TRUTH, ANSWER)[[2, 0, 1]])
    with pytest.raises(InputError, match="not one of the classes"):
        mean_iou(TRUTH, ANSWER, named[:2])


def test_ignored_pixels_are_not_counted():
    kept = TRUTH != 7
    t, a = TRUTH[kept], ANSWER[kept]
    assert pixel_accuracy(TRUTH, ANSWER, ignore=7) == accuracy_score(t, a)
    np.testing.assert_allclose(iou(TRUTH, ANSWER, ignore=7)[:2], jaccard_score(t, a, average=None, labels=[0, 2]))
    np.testing.assert_allclose(dice(TRUTH, ANSWER, ignore=7)[:2], f1_score(t, a, average=None, labels=[0, 2]))
    assert mean_iou(TRUTH, ANSWER, ignore=7) == np.nanmean(iou(TRUTH, ANSWER, ignore=7)) != mean_iou(TRUTH, ANSWER)
    near = boundary(TRUTH) & kept
    assert boundary_accuracy(TRUTH, ANSWER, ignore=7) == (TRUTH == ANSWER)[near].mean()


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), d=st.integers(1, 3), height=st.integers(1, 7), width=st.integers(1, 7))
def test_the_band_is_what_scipys_filters_find(seed, d, height, width):
    y = np.random.default_rng(seed).choice(3, (2, height, width), p=[0.8, 0.1, 0.1])
    window = (1, 2 * d + 1, 2 * d + 1)
    expected = maximum_filter(y, window, mode="nearest") != minimum_filter(y, window, mode="nearest")
    assert np.array_equal(boundary(y, d), expected)


def test_boundary_accuracy_looks_at_outlines_only():
    """A blurred answer: one column of each square is lost, far pixels are all right."""
    y = np.zeros((1, 8, 16), int)
    y[..., 8:] = 1
    answer = np.roll(y, 1, axis=-1) * (np.arange(16) > 7)
    assert pixel_accuracy(y, answer) == 15 / 16
    assert [boundary_accuracy(y, answer, d) for d in (1, 2, 4)] == [1 / 2, 3 / 4, 7 / 8]
    assert boundary_accuracy(y, y) == 1


@pytest.mark.parametrize(
    ("y", "predicted", "error", "sentence"),
    [
        (TRUTH, ANSWER[:2], InputError, r"y has shape \(3, 8, 9\) but predicted has \(2, 8, 9\); .* the same pixels\."),
        ([0, 1], [0, 1], InputError, r"y has shape \(2,\); labels of pixels are \(n, H, W\) or \(H, W\)\."),
        (TRUTH, ANSWER * 0.5, InputTypeError, "predicted holds float64, but labels of pixels are integers: pass pr"),
    ],
)
def test_maps_that_do_not_fit_are_refused(y, predicted, error, sentence):
    with pytest.raises(error, match=sentence):
        iou(y, predicted)


def test_what_cannot_be_measured_is_said():
    with pytest.raises(InputError, match=r"y holds label 7, which is not one of the classes \[0, 2\]\."):
        iou(TRUTH, ANSWER, [0, 2])
    with pytest.raises(InputError, match="All pixels of y are 1, which is ignored; nothing is left to measure"):
        pixel_accuracy([[1, 1]], [[1, 0]], ignore=1)
    for d in (0, 1.5):
        with pytest.raises(InputError, match=f"d={d}; the width of the band is an integer number of pixels"):
            boundary(TRUTH, d)
