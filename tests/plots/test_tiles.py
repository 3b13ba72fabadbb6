"""Mosaics: where each tile lies, gaps, ranges of colours, and pictures in colour."""

import numpy as np
from matplotlib.figure import Figure

from ftheta.plots._style import flat, mosaic, picture, tiles

RNG = np.random.default_rng(0)


def axes():
    return Figure().add_subplot()


def shown(image):
    return np.ma.filled(image.get_array(), np.nan)


def test_tiles_lie_line_by_line_with_gaps_between_them():
    where = axes()
    whole = shown(mosaic(where, np.arange(5)[:, None, None] * np.ones((5, 30, 40)), 3))
    gap = whole.shape[1] - 3 * 40
    assert gap % 2 == 0 and whole.shape == (60 + gap // 2, 120 + gap)
    side = gap // 2
    for i in range(5):
        y, x = i // 3 * (30 + side), i % 3 * (40 + side)
        assert (whole[y : y + 30, x : x + 40] == i).all()
    assert np.isnan(whole).sum() == whole.size - 5 * 30 * 40
    assert [t.get_text() for t in where.get_yticklabels()] == ["0", "3"]
    assert [t.get_text() for t in where.get_xticklabels()] == ["0", "1", "2"]
    assert where.get_xticks().tolist() == [20 + i * (40 + side) for i in range(3)]


def test_small_tiles_are_enlarged_without_new_values():
    whole = shown(mosaic(axes(), np.arange(9.0).reshape(1, 3, 3), 1))
    assert whole.shape[0] >= 24 and set(whole.ravel()) == set(range(9))
    k = whole.shape[0] // 3
    np.testing.assert_array_equal(whole[::k, ::k], np.arange(9).reshape(3, 3))


def test_signed_tiles_have_white_at_zero_and_each_may_have_its_own_range():
    tiles = np.array([[[-1.0, 4.0]], [[0.5, 0.25]]])
    assert mosaic(axes(), tiles, 2, signed=True).get_clim() == (-4, 4)
    assert mosaic(axes(), tiles, 2).get_clim() == (-1, 4)
    assert mosaic(axes(), tiles, 2, limits=(0, 9)).get_clim() == (0, 9)
    own = shown(mosaic(axes(), tiles, 2, signed=True, each=True))
    assert set(own[~np.isnan(own)]) == {-0.25, 1.0, 0.5}
    grey = shown(mosaic(axes(), tiles, 2, each=True))
    assert set(grey[~np.isnan(grey)]) == {0.0, 1.0}
    nothing = mosaic(axes(), np.zeros((2, 2, 2)), 2, signed=True, each=True)
    assert not np.nan_to_num(shown(nothing)).any() and nothing.get_clim() == (-1, 1)
    assert mosaic(axes(), np.full((1, 2, 2), np.nan), 1).get_clim() == (0, 1)
    for signed in (True, False):
        mixed = np.stack([np.full((2, 2), np.nan), np.eye(2)])
        own = shown(mosaic(axes(), mixed, 2, signed=signed, each=True))
        assert set(own[~np.isnan(own)]) == {0, 1}


def test_colours_are_kept_and_gaps_are_clear():
    tiles = RNG.uniform(size=(2, 30, 30, 3))
    whole = np.asarray(mosaic(axes(), tiles, 2).get_array())
    assert whole.shape[-1] == 4
    np.testing.assert_array_equal(whole[:30, :30, :3], tiles[0])
    assert whole[:30, :30, 3].all() and not whole[:, 31, 3].any()


def test_pictures_are_grey_or_in_colour_and_signals_are_lines():
    x = RNG.uniform(size=(2, 4, 5))
    np.testing.assert_array_equal(picture(x), x.mean(0))
    rgb = RNG.uniform(size=(3, 4, 5))
    np.testing.assert_array_equal(picture(rgb), np.moveaxis(rgb, 0, -1))  # what lies in [0, 1] is not stretched
    wide = picture(4 * rgb - 2)
    np.testing.assert_allclose(
        wide, np.moveaxis(4 * rgb - 2, 0, -1) / np.ptp(4 * rgb) - (4 * rgb - 2).min() / np.ptp(4 * rgb)
    )
    assert picture(np.ones((1, 6))).shape == (3, 6) and flat(np.ones((2, 7))).shape == (2, 4, 7)


def test_pictures_with_channels_become_tiles_and_plain_ones_are_tiles():
    plain, grey, colour = np.ones((2, 3, 4)), RNG.random((2, 1, 3, 4)), RNG.random((2, 3, 3, 4))
    assert tiles(plain) is plain
    np.testing.assert_array_equal(tiles(grey), grey[:, 0])
    np.testing.assert_array_equal(tiles(colour), np.moveaxis(colour, 1, -1))
