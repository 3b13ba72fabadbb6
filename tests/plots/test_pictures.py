"""Images: which maps, kernels, patches and samples are shown, their names, and their ranges of colors."""

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg

from ftheta.explain import FeatureMaps, Filters, Samples
from ftheta.plots import patches

RNG = np.random.default_rng(0)


X = RNG.uniform(size=(1, 6, 6))


def maps(x, layers, bars, names, label="probability"):
    output = np.zeros((1, 2, 2)) if bars is None else np.asarray(bars)
    return FeatureMaps(x, layers, output, names, None if label != "probability" or bars is None else output).figure()


def filters(kernels, classical, names, picture=None, responses=None, fixed=None):
    cosine = np.zeros((len(kernels), len(names)))
    return Filters("conv1", kernels, names, classical, cosine, 0.0, picture, responses, fixed).figure()


def samples(rows, neighbors=None, distance=None, usual=None, shape=None):
    def flat(v):
        return None if v is None else v.reshape(len(v), -1)

    return Samples(flat(rows), shape or rows.shape[1:], None, None, flat(neighbors), distance, usual).figure()


def labels(axes):
    return [t.get_text() for t in axes.get_xticklabels()]


def test_the_eight_strongest_maps_are_shown_in_the_order_of_their_numbers():
    made = np.ones((12, 4, 4)) * np.array([3, 1, 9, 2, 8, 7, 0, 6, 5, 4, 11, 10.0])[:, None, None]
    figure = maps(X, {"conv1": made, "few": made[:2]}, None, ())
    assert labels(figure.axes[1]) == ["2", "4", "5", "7", "8", "9", "10", "11"] and labels(figure.axes[2]) == ["0", "1"]
    assert figure.axes[1].get_ylabel() == "conv1\n12 × 4 × 4" and len(figure.axes) == 3
    assert figure.axes[2].get_xlabel().startswith("number of the map")
    assert set(np.ma.compressed(figure.axes[1].images[0].get_array())) == {9, 8, 7, 6, 5, 4, 11, 10}


def test_maps_below_zero_are_red_and_blue():
    figure = maps(X, {"a": np.abs(RNG.normal(size=(2, 3, 3))), "b": -np.ones((2, 3, 3))}, None, ())
    assert [axes.images[0].cmap.name for axes in figure.axes] == ["gray", "gray", "RdBu_r"]


def test_outputs_are_bars_and_the_largest_is_named():
    axes = maps(X, {"a": np.ones((2, 3, 3))}, [0.1, 0.7, 0.2], ["cat", "dog", "owl"]).axes[-1]
    assert [bar.get_height() for bar in axes.patches] == [0.1, 0.7, 0.2] and labels(axes) == ["cat", "dog", "owl"]
    assert axes.texts[0].get_text() == "0.7" and axes.texts[0].xy == (1, 0.7)
    assert len({bar.get_facecolor() for bar in axes.patches}) == 2


def test_of_many_outputs_the_largest_twelve_are_shown():
    bars = RNG.permutation(40) / 100
    axes = maps(X, {"a": np.ones((2, 3, 3))}, bars, [str(k) for k in range(40)], label="raw output").figure.axes[-1]
    assert labels(axes) == [str(k) for k in np.sort(np.argsort(-bars)[:12])]
    assert axes.get_xlabel() == "the largest 12 outputs" and axes.get_ylabel() == "raw output"


def test_of_many_layers_ten_are_shown_from_the_first_to_the_last():
    figure = maps(X, {f"layer{i}": np.ones((1, 2, 2)) for i in range(24)}, None, ())
    names = [axes.get_ylabel().partition("\n")[0] for axes in figure.axes[1:]]
    assert len(names) == 10 and names[0] == "layer0" and names[-1] == "layer23"


def test_long_names_of_outputs_are_turned_so_that_they_do_not_overlap():
    figure = maps(
        np.zeros((1, 4, 4)), {"a": np.zeros((1, 2, 2))}, np.arange(12.0), [f"a long name {k}" for k in range(12)]
    )
    FigureCanvasAgg(figure).draw()
    labels = figure.axes[-1].get_xticklabels()
    assert {label.get_rotation() for label in labels} == {30.0} and labels[3].get_text() == "a long name 3"
    few = maps(np.zeros((1, 4, 4)), {"a": np.zeros((1, 2, 2))}, np.arange(10.0), [str(k) for k in range(10)])
    assert {label.get_rotation() for label in few.axes[-1].get_xticklabels()} == {0.0}


def test_where_a_layer_has_no_more_maps_nothing_is_drawn():
    """Grey maps lie on a coloured ground, which ends with the last map."""
    for count, expected in ((3, 1), (8, 0)):
        axes = maps(np.zeros((1, 4, 4)), {"a": np.ones((count, 2, 2))}, None, []).axes[1]
        assert len(axes.patches) == expected and len(axes.get_xticks()) == count
    ground = maps(np.zeros((1, 4, 4)), {"a": np.ones((3, 2, 2))}, None, []).axes[1].patches[0]
    assert ground.get_facecolor()[:3] == (1, 1, 1)


NAMES = ("Sobel x", "Laplace")


def test_learned_kernels_stand_above_classical_ones_with_their_names():
    kernels, classical = RNG.normal(size=(10, 2, 3, 3)), RNG.normal(size=(2, 3, 3))
    learned, fixed = filters(kernels, classical, NAMES).axes[:2]
    assert set(np.ma.compressed(learned.images[0].get_array())) == set(kernels.mean(1).ravel())
    assert learned.get_title() == "Filters of conv1" and [t.get_text() for t in learned.get_yticklabels()] == ["0", "8"]
    assert [t.get_text() for t in fixed.get_xticklabels()] == list(NAMES)
    own = classical / np.abs(classical).max((1, 2), keepdims=True)
    assert set(np.ma.compressed(fixed.images[0].get_array())) == set(own.ravel())


def test_at_most_64_are_shown_and_classical_ones_may_be_missing():
    axes = filters(RNG.normal(size=(70, 1, 4, 4)), np.zeros((0, 4, 4)), ()).axes
    assert axes[0].get_title() == "Filters of conv1, the first 64 of 70" and len(axes) == 2  # and the colours
    assert len(axes[0].get_yticks()) == 8


def test_a_picture_stands_beside_what_both_make_of_it():
    picture, made, fixed = RNG.uniform(size=(1, 6, 6)), RNG.normal(size=(3, 4, 4)), RNG.normal(size=(2, 4, 4))
    figure = filters(np.ones((3, 1, 3, 3)), np.ones((2, 3, 3)), NAMES, picture=picture, responses=made, fixed=fixed)
    by_title = {axes.get_title(): axes for axes in figure.axes}
    np.testing.assert_array_equal(by_title["The picture"].images[0].get_array(), picture[0])
    for title, some in {"What they make of the picture": made, "What these make of it": fixed}.items():
        own = some / np.abs(some).max((1, 2), keepdims=True)
        assert set(np.ma.compressed(by_title[title].images[0].get_array())) == set(own.ravel())


def test_a_panel_a_layer_with_its_own_range_of_colours():
    layers = {"hidden 1": RNG.normal(size=(70, 2, 3, 4)), "hidden 2": 9 * RNG.normal(size=(5, 2, 3, 4))}
    first, *above = layers.items()
    made = {name: np.ones(len(v)) for name, v in layers.items()}
    none = np.zeros((0, 3, 4)), np.zeros((70, 0)), np.nan
    figure = Filters(*first, (), *none, deeper=dict(above), inputs=made).figure()
    first, second = figure.axes[:2]
    assert first.get_title() == "Filters of hidden 1, the first 64 of 70"
    assert second.get_title() == "Filters of hidden 2"
    for axes, found in zip((first, second), layers.values(), strict=True):
        shown = found[:64].mean(1)
        assert set(np.ma.compressed(axes.images[0].get_array())) == set(shown.ravel())
        assert axes.images[0].get_clim() == (-np.abs(shown).max(), np.abs(shown).max())
        assert axes.images[0].get_interpolation() == "nearest"
    assert [axes.get_ylabel() for axes in figure.axes[2:]] == ["weight, seen from the pixels"] * 2
    assert len(second.get_xticks()) == 5


def test_every_layer_is_a_panel_and_every_unit_a_line():
    small, large = RNG.uniform(size=(2, 3, 1, 3, 3)), RNG.uniform(size=(2, 3, 1, 5, 5))
    figure = patches({"first": small, "second": large}, [[4, 1], [7, 0]], x="patch")
    assert [axes.get_title() for axes in figure.axes] == ["first", "second"]
    assert [t.get_text() for t in figure.axes[1].get_yticklabels()] == ["7", "0"]
    assert set(np.ma.compressed(figure.axes[1].images[0].get_array())) == set(large.ravel())
    assert figure.axes[0].get_xlabel() == "patch" and figure.axes[0].get_ylabel() == "unit"


def test_signed_patches_have_their_own_ranges_and_colours_stay_colours():
    some = np.stack([np.ones((1, 3, 3)), -4 * np.ones((1, 3, 3))])[None]
    image = patches({"a": some}, [["0"]], signed=True).axes[0].images[0]
    assert set(np.ma.compressed(image.get_array())) == {1.0, -1.0} and image.cmap.name == "RdBu_r"
    colour = patches({"a": RNG.uniform(size=(1, 2, 3, 4, 4))}, [["0"]], signed=True).axes[0].images[0]
    assert np.asarray(colour.get_array()).shape[-1] == 4


ROWS, NEAR = RNG.random((2, 10, 3, 4))
FAR, USUAL = np.array([3.0, 1.0, 2.0, 2.0]), np.array([1.0, 4.0])


def test_samples_and_neighbors_lie_at_the_same_places_in_one_range_of_colours():
    grid, near, _ = samples(ROWS, 5 * NEAR, FAR, USUAL).axes
    for axes, rows in ((grid, ROWS), (near, 5 * NEAR)):
        whole = axes.images[0].get_array()
        assert set(np.ma.compressed(whole)) == set(rows.ravel())
        assert whole[int(axes.get_yticks()[1]), int(axes.get_xticks()[1])] == rows[9, 1, 2]
        assert axes.images[0].get_clim() == (min(ROWS.min(), 5 * NEAR.min()), 5 * NEAR.max())
        assert axes.images[0].get_interpolation() == "nearest"


def test_curves_are_the_shares_that_are_nearer():
    axes = samples(ROWS, NEAR, FAR, USUAL).axes[2]
    lines = {line.get_label(): line.get_xydata().tolist() for line in axes.lines}
    assert lines["samples"] == [[0, 0], [1, 0.25], [2, 0.5], [2, 0.75], [3, 1]]
    assert lines["training rows, to the others"] == [[0, 0], [1, 0.5], [4, 1]]


def test_at_most_64_are_shown_and_alone_they_need_one_axes():
    figure = samples(RNG.random((70, 2, 2)))
    assert [axes.get_title() for axes in figure.axes] == ["Samples, the first 64 of 70"]
    assert len(samples(RNG.random((3, 3, 4, 4))).axes[0].get_xticks()) == 3
    assert samples(np.zeros((2, 3, 3))).axes[0].images[0].get_clim() == (0.0, 1.0)


def test_points_are_the_first_two_columns():
    rows, near = RNG.random((2, 5, 3))
    left, right = samples(rows, near, FAR, USUAL, shape=(1, 3)).axes
    assert right.get_ylim()[1] < 1.05  # a share
    np.testing.assert_array_equal(left.collections[0].get_offsets(), rows[:, :2])
    np.testing.assert_array_equal(left.collections[1].get_offsets(), near[:, :2])
    assert (left.get_xlabel(), left.get_ylabel()) == ("column 1", "column 2") and len(right.lines) == 2
    (alone,) = samples(rows[:, :1], shape=(1, 1)).axes
    np.testing.assert_array_equal(alone.collections[0].get_offsets(), np.column_stack([range(5), rows[:, 0]]))
    assert (alone.get_xlabel(), alone.get_ylabel()) == ("sample", "column 1")
