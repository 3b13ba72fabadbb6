"""Recalled pictures against noise that was counted and steps that were taken one by one."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from ftheta.errors import InputError
from ftheta.explain import recall
from ftheta.models import HopfieldNetwork, ModernHopfield

DIGITS = load_digits()
FIRST = [int(np.flatnonzero(DIGITS.target == k)[0]) for k in range(10)]
PATTERNS = np.where(DIGITS.images[FIRST].repeat(3, 1).repeat(3, 2) > 8, 1.0, -1.0)  # (10, 24, 24)
NET = HopfieldNetwork(rule="design", unit="saturated", random_state=0).fit(PATTERNS.reshape(10, -1))


@pytest.mark.ledger("B068", covers="ftheta.explain.recall")
def test_ten_digits_with_noise_and_after_the_steps_of_four_settings():
    found = recall(NET, noise=(0.2, 0.4, 0.4, 0.5), steps=(1, 1, 25, 50))
    flat = PATTERNS.reshape(10, -1)
    np.testing.assert_allclose((found.noisy != flat).mean((1, 2)), found.noise, atol=4 * 0.5 / np.sqrt(flat.size))
    assert np.array_equal(found.noisy[1], found.noisy[2])  # the same noise after one step and after 25
    for noisy, steps, after in zip(found.noisy, found.steps, found.after, strict=True):
        x = noisy
        for _ in range(steps):
            x = np.clip(x @ NET.weights_.T + NET.bias_, -1, 1)
        np.testing.assert_allclose(after, x, atol=1e-10)
    assert np.array_equal(found.exact, np.abs(found.after - flat).max(-1) < 0.01)
    assert ((found.ended[3] == "stored") & ~found.exact[3]).any()  # half of the units flipped: any digit comes
    axes = found.figure().axes[0]
    names = ["pattern", "noise 20 %", "1 step", "noise 40 %", "1 step", "noise 40 %", "25 steps"]
    names += ["noise 50 %", "50 steps"]
    assert [label.get_text() for label in axes.get_yticklabels()] == names
    assert [label.get_text() for label in axes.get_xticklabels()] == [str(k) for k in range(10)]
    image = axes.images[0].get_array()
    lines = np.stack([image[27 * k : 27 * k + 24, :24] for k in range(9)])  # of the first digit
    shown = np.stack([flat[0], *[part[k, 0] for k in range(4) for part in (found.noisy, found.after)]])
    np.testing.assert_allclose(lines.reshape(9, -1), shown)


def test_overlaps_and_what_came_back_are_counted():
    found = recall(NET, noise=(0.0, 0.3), steps=(1, 40))
    assert found.exact[0].all() and (found.ended[0] == "stored").all()
    flat = PATTERNS.reshape(10, -1)
    np.testing.assert_allclose(found.overlap[0, 1], 1 - 2 * (found.noisy[1] != flat).mean(-1))
    assert np.array_equal(found.exact[1], np.abs(found.after[1] - flat).max(-1) < 0.01)
    columns = found.table().columns
    assert columns["came back"] == found.exact.mean(-1).tolist() and columns["noise"] == ["0 %", "30 %"]
    assert columns["in a stored state"][0] == 1 and columns["overlap after"][0] == pytest.approx(1)
    assert "10 patterns with flipped units; came back in every unit: 10 after 1 step at 0 %" in found.caption


def test_another_pattern_that_comes_back_is_no_recall():
    mirror = HopfieldNetwork(random_state=0).fit(PATTERNS.reshape(10, -1))
    found = recall(mirror, noise=(1.0,), steps=(5,))  # every unit flipped
    assert not found.exact.any() and (found.ended == "mirror").all()
    assert found.table().columns["in a mirror state"] == [1] and found.overlap[1].max() == pytest.approx(-1)


def test_rows_may_be_pictures_and_are_thinned_to_ten():
    found = recall(NET, np.concatenate([PATTERNS, -PATTERNS, PATTERNS]))
    assert found.shape == (24, 24) and found.x.shape == (10, 576)
    assert np.array_equal(found.x[4], -PATTERNS[2].ravel())  # every third
    assert found.ended.shape == (3, 10)
    assert recall(NET, shape=(16, 36)).shape == (16, 36)


def test_noise_of_other_kinds():
    net = ModernHopfield(random_state=0).fit(PATTERNS.reshape(10, -1))
    found = recall(net, noise=(0.5, 1.0), steps=(2, 2), noise_kind="gaussian")
    assert found.noisy.std() > 1 and np.abs((found.noisy[1] - found.x).std() - 1) < 0.05
    assert found.exact.all() and "Gaussian noise" in found.caption and found.table().columns["noise"] == ["0.5", "1"]
    found = recall(net, noise=(0.5,), steps=(2,), noise_kind="replace")
    assert abs((found.noisy != found.x).mean() - 0.25) < 0.03 and "replaced at random" in found.caption


def test_rows_and_settings_that_do_not_fit_get_a_sentence():
    with pytest.raises(InputError, match=r"recall needs the 576 of the units\."):
        recall(NET, np.ones((2, 5)))
    with pytest.raises(InputError, match=r"noise=\(0.2, 0.4\) and steps=\(1,\); one number of steps for each noise"):
        recall(NET, noise=(0.2, 0.4), steps=(1,))
    with pytest.raises(InputError, match=r"noise=2.0; noise of kind 'flip' is a probability from 0 to 1\."):
        recall(NET, noise=(2.0,), steps=(1,))
