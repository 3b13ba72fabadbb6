"""Rows filled in: what is removed, what is drawn there, and errors beside those of the mean image."""

from itertools import product

import numpy as np
import pytest

from ftheta.errors import InputError, InputTypeError
from ftheta.explain import fill_in
from ftheta.models import RestrictedBoltzmannMachine

RNG = np.random.default_rng(0)
X = RNG.random((6, 4, 3)).round()
ROWS = X.reshape(6, 12)


@pytest.fixture(scope="module")
def machine():
    return RestrictedBoltzmannMachine(n_hidden=4, epochs=3, random_state=0).fit(ROWS)


def of_width(n):
    return RestrictedBoltzmannMachine(n_hidden=2, epochs=1, random_state=0).fit(RNG.random((4, n)).round())


@pytest.mark.parametrize("where", ["top", "bottom"])
def test_rows_are_removed_at_an_end_and_the_others_stay(machine, where):
    found = fill_in(machine, X, (1, 2), (1, 7), where=where)
    assert found.where == where
    for k, missing in zip((1, 2), found.missing.reshape(2, 4, 3), strict=True):
        gone = np.zeros((4, 3), dtype=bool)
        gone[slice(k) if where == "top" else slice(4 - k, None)] = True
        assert np.array_equal(missing, gone)
    for made, missing in zip(found.filled, found.missing, strict=True):
        assert np.array_equal(made[..., ~missing], np.broadcast_to(ROWS[:, ~missing], made[..., ~missing].shape))
    flat = fill_in(machine, X.reshape(len(X), -1), (1, 2), (1, 7), where=where, shape=(4, 3))
    assert np.array_equal(flat.missing, found.missing)
    other = fill_in(machine, np.where(found.missing[1].reshape(4, 3), 1 - X, X), (2,), (1, 7), where=where)
    assert np.array_equal(other.filled[0], found.filled[1])  # what was removed is not looked at


def test_errors_are_of_missing_pixels_and_the_mean_image_is_of_the_others(machine):
    found = fill_in(machine, X, (1, 3), (1, 2))
    for (r, k), s, i in product(enumerate((1, 3)), range(2), range(6)):
        lost, made = X[i, 4 - k :], found.filled[r, s, i].reshape(4, 3)[4 - k :]
        assert found.error[r, s, i] == pytest.approx(np.abs(made - lost).mean())
        mean = np.mean([x[4 - k :] for j, x in enumerate(X) if j != i], axis=0)
        assert found.mean_error[r, i] == pytest.approx(np.abs(mean - lost).mean())
    columns = found.table().columns
    assert list(columns["rows removed (bottom)"]) == [1, 1, 3, 3] and list(columns["steps"]) == [1, 2, 1, 2]
    np.testing.assert_allclose(columns["error"], found.error.mean(2).ravel())
    np.testing.assert_allclose(columns["error of the mean image"], found.mean_error.mean(1).repeat(2))
    np.testing.assert_allclose(columns["better than it"], (found.error < found.mean_error[:, None]).mean(2).ravel())


def test_the_mean_image_is_of_all_rows_though_few_are_filled_in(machine):
    found = fill_in(machine, X, (1,), (1,), max_rows=2)
    np.testing.assert_array_equal(found.truth, ROWS[::3])
    assert found.mean_error[0, 1] == pytest.approx(np.abs((X.sum(0) - X[3]) / 5 - X[3])[3:].mean())


def test_gray_pixels_are_thresholded_where_bits_are_drawn(machine):
    found = fill_in(machine, np.clip(X, 0.2, 0.8), (1,), (1,))
    made = found.filled[0, 0].reshape(6, 4, 3)[:, 3]
    np.testing.assert_allclose(found.error[0, 0], np.abs(made - X[:, 3]).mean(1))
    assert found.thresholded and found.caption.endswith("Gray pixels were thresholded at 0.5.")


def test_default_rows_are_those_of_28_in_proportion():
    assert fill_in(of_width(784), np.zeros((2, 28, 28)), steps=(1,)).rows.tolist() == [5, 10, 15, 20]
    assert fill_in(of_width(64), np.zeros((2, 64)), steps=(1,)).rows.tolist() == [1, 3, 4, 6]


def test_columns_are_removed_from_rows_that_are_not_pictures_and_channels_lose_the_same_rows():
    found = fill_in(of_width(6), np.eye(6), (2,), (1,))
    removed = np.asarray(found.figure().axes[0].images[0].get_array())
    assert (np.abs(removed[..., :3] - [0.9, 0.6, 0.0]).max(-1) < 1e-6).any()  # not in the color of the gaps
    assert found.shape == (1, 6) and found.missing.tolist() == [[False] * 4 + [True] * 2] and found.figure()
    found = fill_in(of_width(24), np.zeros((2, 3, 4, 2)), (1,), (1,))
    missing = found.missing.reshape(3, 4, 2)
    assert missing[:, 3].all() and not missing[:, :3].any() and found.figure()


def test_one_picture_alone_has_no_mean_image(machine):
    found = fill_in(machine, X[:1], (1,), (1, 2))
    assert {"error of the mean image", "better than it"}.isdisjoint(found.table().columns)
    assert "mean image" not in found.caption and found.figure()


def test_what_cannot_be_filled_in_is_said(machine):
    with pytest.raises(InputTypeError, match=r"object does not fit; fill_in needs an instance of Machine"):
        fill_in(object(), X)
    with pytest.raises(InputError, match=r"'where' parameter of fill_in .*'bottom'.*Got 'botom'"):
        fill_in(machine, X, where="botom")
    assert fill_in(machine, X, (4, 1), (1,)).missing.reshape(2, 4, 3).sum((1, 2)).tolist() == [3, 12]  # one, and all
    with pytest.raises(InputError, match=r"rows=\(5,\); different integers from 1 to 4 are needed"):
        fill_in(machine, X, (5,))
    with pytest.raises(InputError, match=r"steps=\(0,\); different integers of at least 1 are needed"):
        fill_in(machine, X, (1,), (0,))
