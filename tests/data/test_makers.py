"""Made data: the truth that comes along is the truth of the rows, by simulation and in closed form."""

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import i0e
from scipy.stats import kstest, multivariate_normal, norm

from ftheta.data import (
    SYNTHETIC,
    blobs,
    circles,
    heteroscedastic,
    load,
    make_dataset,
    polynomial,
    shapes,
    two_gaussians,
    xor,
)
from ftheta.data.sets.synthetic import _figures
from ftheta.errors import InputError

BINARY = ["moons", "circles", "spirals", "xor", "checkerboard", "two-gaussians"]
NUMBERS = ["sinusoid", "friedman", "polynomial", "heteroscedastic"]
TABLES = [name for name in SYNTHETIC if name != "shapes"]
N = 40_000


def grid(low=-2.0, high=2.0, size=9):
    return np.stack(np.meshgrid(*[np.linspace(low, high, size)] * 2), axis=-1).reshape(-1, 2)


@pytest.mark.parametrize("name", TABLES)
def test_a_made_set_is_a_whole_data_set(name):
    data = make_dataset(name, n=101)
    assert isinstance(data.x, pd.DataFrame) and data.rows == 101 and np.isfinite(data.x.to_numpy()).all()
    assert tuple(data.x.columns) == data.feature_names and data.name == name and data.truth.formula and data.license
    if data.task == "regression":
        assert data.y.dtype == float and data.target_names == () and data.truth.bayes_error is None
    else:
        assert np.array_equal(np.unique(data.y), np.arange(data.outputs)) and 0 <= data.truth.bayes_error < 0.5


@pytest.mark.parametrize("name", SYNTHETIC)
def test_the_seed_and_the_name_decide_every_number(name):
    state = np.random.get_state()[1].tolist()
    first, again, other = (make_dataset(name, n=50, seed=seed) for seed in (3, 3, 4))
    assert np.array_equal(first.x, again.x) and np.array_equal(first.y, again.y)
    assert not np.array_equal(first.x, other.x)
    assert np.random.get_state()[1].tolist() == state


@pytest.mark.parametrize("name", ["moons", "circles", "spirals", "xor", "two-gaussians", "blobs"])
def test_classes_are_as_equal_as_the_rows_allow(name):
    assert np.ptp(np.bincount(make_dataset(name, n=100).y)) <= 1


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("noise", [None, 0.3])
def test_the_probability_is_calibrated_and_gives_the_bayes_error(name, noise):
    """E[(y - p) g] = 0 for g = each tenth of p and each half plane; the error of p > ½ is the stated one."""
    data = make_dataset(name, n=N, noise=noise, seed=1)
    x, y, p = data.x.to_numpy(), data.y, data.truth.probability(data.x.to_numpy())
    for inside in [*((p >= k / 10) & (p <= k / 10 + 0.1) for k in range(10)), *(x[:, j] > 0.3 for j in (0, 1))]:
        assert abs((y - p)[inside].sum()) <= 4.5 * np.sqrt((p * (1 - p))[inside].sum()) + 1
    stated, sd = data.truth.bayes_error, np.minimum(p, 1 - p).std() / np.sqrt(N)
    assert np.minimum(p, 1 - p).mean() == pytest.approx(stated, abs=4.5 * sd + 1e-4)
    assert ((p > 0.5) != y).mean() == pytest.approx(stated, abs=4.5 * np.sqrt(stated / N))


@pytest.mark.parametrize("name", NUMBERS)
def test_residuals_are_standard_normal_everywhere(name):
    data = make_dataset(name, n=N, seed=1)
    x = data.x.to_numpy()
    z = (data.y - data.truth.mean(x)) / data.truth.scale(x)
    assert kstest(z, norm.cdf).pvalue > 1e-3
    for column in x.T:
        for part in np.array_split(np.argsort(column), 8):
            assert abs(z[part].mean()) < 4.5 / np.sqrt(len(part)) and abs(z[part].std() - 1) < 4.5 / np.sqrt(N / 4)


@settings(max_examples=30)
@given(distance=st.floats(0.1, 6), noise=st.floats(0.3, 3), dimensions=st.integers(1, 4), seed=st.integers(0, 99))
def test_two_gaussians_err_by_the_normal_tail_of_half_their_distance(distance, noise, dimensions, seed):
    data = two_gaussians(4000, noise, seed, distance=distance, dimensions=dimensions)
    x, p = data.x.to_numpy(), data.truth.probability(data.x.to_numpy())
    right = norm.sf(distance / (2 * noise))
    assert data.truth.bayes_error == pytest.approx(right, rel=1e-12) and data.columns == dimensions
    assert abs(((x[:, 0] > 0) != data.y).mean() - right) < 5 * np.sqrt(right / 4000) + 1e-3
    centre = np.eye(dimensions)[0] * distance / 2
    one, zero = (multivariate_normal(c, noise**2 * np.eye(dimensions)).pdf(x) for c in (centre, -centre))
    np.testing.assert_allclose(p, one / (one + zero), atol=1e-9)


@pytest.mark.parametrize("noise", [0.4, 0.8, 1.5])
def test_xor_is_the_sum_of_four_gaussians(noise):
    x = grid()
    density = [norm.pdf(x, c, noise).prod(axis=1) for c in ((-1, 1), (1, -1), (1, 1), (-1, -1))]
    right = (density[0] + density[1]) / sum(density)
    np.testing.assert_allclose(xor(10, noise).truth.probability(x), right, atol=1e-12)


@pytest.mark.parametrize("noise", [0.1, 0.3])
def test_circles_agree_with_the_bessel_function(noise):
    """The density around a circle of radius r is exp(-(|x|² + r²) / 2σ²) I₀(|x| r / σ²) up to a constant."""
    x = grid(-1.5, 1.5)
    rho = np.linalg.norm(x, axis=1)
    zero, one = (np.exp(-((rho - r) ** 2) / (2 * noise**2)) * i0e(rho * r / noise**2) for r in (1.0, 0.5))
    np.testing.assert_allclose(circles(10, noise).truth.probability(x), one / (zero + one), atol=1e-9)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_blobs_err_as_often_as_the_nearest_centre_does(classes):
    data = blobs(N, 1.2, seed=2, classes=classes)
    x, angle = data.x.to_numpy(), 2 * np.pi * np.arange(classes) / classes
    near = np.argmax(x @ [np.cos(angle), np.sin(angle)], axis=1)
    assert data.outputs == classes and data.task == ("binary" if classes == 2 else "multiclass")
    assert (near != data.y).mean() == pytest.approx(data.truth.bayes_error, abs=4.5 * np.sqrt(0.25 / N))
    density = [norm.pdf(x, 2 * np.array([np.cos(a), np.sin(a)]), 1.2).prod(axis=1) for a in angle]
    np.testing.assert_allclose(data.truth.probability(x), density[1] / sum(density), atol=1e-12)


def test_two_blobs_are_two_gaussians():
    assert blobs(10, 1.5, classes=2).truth.bayes_error == pytest.approx(norm.sf(2 / 1.5), rel=1e-8)


@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("moons", lambda: sklearn.datasets.make_moons(4000, shuffle=False)),
        ("circles", lambda: sklearn.datasets.make_circles(4000, factor=0.5, shuffle=False)),
    ],
)
def test_the_curves_are_those_of_scikit_learn(name, theirs):
    """Without noise each row lies on scikit-learn's curve of its class, and all of the curve is reached."""
    x, y = theirs()
    ours = make_dataset(name, n=4000, noise=0)
    assert ours.truth.bayes_error == 0 and ours.truth.probability is None
    for c in (0, 1):
        apart = np.linalg.norm(ours.x.to_numpy()[ours.y == c][:, None] - x[y == c][None, ::4], axis=-1)
        assert apart.min(axis=1).max() < 0.01 and apart.min(axis=0).max() < 0.02


def test_spirals_are_two_arms_opposite_each_other():
    data = make_dataset("spirals", n=2000, noise=0)
    x = data.x.to_numpy() * (1 - 2 * data.y[:, None])
    radius, angle = np.linalg.norm(x, axis=1), np.arctan2(x[:, 1], x[:, 0])
    assert kstest(radius, "uniform").pvalue > 1e-3
    assert np.allclose(np.exp(1j * angle), np.exp(3j * np.pi * radius), atol=1e-9)


def test_friedman_has_the_mean_of_scikit_learn():
    x, y = sklearn.datasets.make_friedman1(200, noise=0.0, random_state=0)
    np.testing.assert_allclose(make_dataset("friedman", n=5).truth.mean(x), y, rtol=1e-12)


def test_a_polynomial_has_the_coefficients_it_was_given():
    data = polynomial(200, 0.0, coefficients=(0.5, 0.0, -2.0))
    np.testing.assert_allclose(np.polyfit(data.x["x"], data.y, 2), [-2.0, 0.0, 0.5], atol=1e-10)
    assert data.x["x"].min() < -0.9 and data.truth.formula == "y = 0.5 + 0 x^1 - 2 x^2 + 0 ε, x ~ U[-1, 1]"


def test_the_heteroscedastic_truth_at_three_places():
    x = np.array([[0.1], [0.5], [0.9]])
    np.testing.assert_allclose(heteroscedastic(5).truth.scale(x), [0.09, 0.25, 0.41])
    np.testing.assert_allclose(heteroscedastic(5).truth.mean(x), np.sin(2 * np.pi * x[:, 0]))
    np.testing.assert_allclose(heteroscedastic(5, 2.0).truth.scale(x), [0.18, 0.5, 0.82])


def test_checkerboard_labels_are_wrong_as_often_as_asked():
    make_dataset("checkerboard", noise=0.5)
    data = make_dataset("checkerboard", n=N, noise=0.2)
    parity = np.floor(data.x.to_numpy()).sum(axis=1) % 2
    assert (parity != data.y).mean() == pytest.approx(0.2, abs=4.5 * np.sqrt(0.16 / N))
    counts = np.unique(np.floor(data.x.to_numpy()), axis=0, return_counts=True)[1]
    assert len(counts) == 16 and np.abs(counts - N / 16).max() < 5 * np.sqrt(N / 16)


@pytest.mark.parametrize(
    ("name", "options", "text"),
    [
        ("moon", {}, "Unknown synthetic data set 'moon'. Did you mean 'moons'"),
        ("moons", {"n": 1}, "'moons' has 1 row; at least 2 are needed."),
        ("blobs", {"n": 2}, "'blobs' has 2 rows; at least 3 are needed."),
        ("sinusoid", {"noise": -1}, "The noise of 'sinusoid' is -1; give a finite number that is not negative."),
        ("xor", {"noise": float("nan")}, "The noise of 'xor' is nan"),
        ("two-gaussians", {"noise": 0}, "The noise of 'two-gaussians' is 0; it is the spread of the classes"),
        ("checkerboard", {"noise": 0.6}, "The noise of 'checkerboard' is 0.6, the chance of a wrong label"),
    ],
)
def test_what_cannot_be_made_is_said(name, options, text):
    with pytest.raises(InputError, match=text):
        make_dataset(name, **options)


def test_one_blob_is_refused():
    with pytest.raises(InputError, match="'blobs' has 1 classes; at least 2 are needed"):
        blobs(classes=1)


@pytest.mark.parametrize("name", NUMBERS)
def test_the_noise_of_numbers_is_as_large_as_asked_for(name):
    quiet, loud = (make_dataset(name, n=400, noise=noise, seed=1) for noise in (0.5, 2.0))
    first, second = (made.y - made.truth.mean(made.x) for made in (quiet, loud))
    np.testing.assert_allclose(second, 4 * first, atol=1e-9)


def test_a_sinusoid_is_one_period():
    data = make_dataset("sinusoid", n=50, noise=0.0)
    np.testing.assert_allclose(data.truth.mean([[0.0], [0.25], [0.5], [0.75], [1.0]]), [0, 1, 0, -1, 0], atol=1e-12)
    np.testing.assert_allclose(data.y, np.sin(2 * np.pi * data.x["x"]), atol=1e-12)


def test_labels_come_in_random_order():
    y = make_dataset("moons", n=200).y
    assert np.bincount(y).tolist() == [100, 100] and 60 < (np.diff(y) != 0).sum() < 140


def test_it_is_a_whole_data_set_by_name():
    data = load("shapes")
    assert data.task == "segment" and data.kind == "image" and data.shape == (32, 32) and data.outputs == 4
    assert data.x.shape == (data.rows, 1024) == (500, data.columns) and data.x.dtype == np.uint8
    assert data.y.shape == (500, 32, 32) and data.y.dtype.kind == "i" and len(data.feature_names) == 1024
    assert set(np.unique(data.y)) == {0, 1, 2, 3} and data.truth.formula and data.license


def test_without_noise_figures_are_brighter_than_any_ground():
    data = shapes(200, noise=0)
    grey = data.x.reshape(data.y.shape) / 255
    assert grey[data.y == 0].max() < 0.31 and grey[data.y > 0].min() > 0.49
    assert all(len(np.unique(image)) <= 4 for image in data.x)  # ground and up to three figures, each of one grey


def test_noise_has_the_standard_deviation_that_is_asked_for():
    clean, noisy = shapes(100, noise=0), shapes(100, noise=0.05)
    apart = (noisy.x / 255.0 - clean.x / 255.0)[(clean.x > 64) & (clean.x < 191)]  # nothing is cut there
    assert np.array_equal(clean.y, noisy.y) and apart.std() == pytest.approx(0.05, rel=0.05)


def test_kinds_are_equally_frequent_and_brightness_does_not_tell_them():
    assert len(shapes(3, size=16).feature_names) == 256
    data = shapes(2000, noise=0)
    grey, present = data.x.reshape(data.y.shape) / 255, [(data.y == k).any((1, 2)).mean() for k in (1, 2, 3)]
    assert np.ptp(present) < 0.05 and np.ptp([grey[data.y == k].mean() for k in (1, 2, 3)]) < 0.02


@pytest.mark.parametrize(("kind", "area"), [(1, np.pi), (2, 2.0), (3, 3**1.5 / 4)])
def test_a_figure_has_the_area_of_its_circumradius(kind, area):
    """πr², 2r² and (3√3/4) r²: r from the pixel that is furthest from the centre of mass."""
    seen = _figures(np.random.default_rng(0), np.full(40, kind), 200)
    i, j = np.indices((200, 200))
    for image in seen:
        middle = i[image].mean(), j[image].mean()
        radius = np.hypot(i[image] - middle[0], j[image] - middle[1]).max()
        assert image.sum() == pytest.approx(area * radius**2, rel=0.1)
        assert not image[[0, -1]].any() and not image[:, [0, -1]].any()  # inside the picture


def test_the_label_is_that_of_the_figure_that_is_seen():
    """Where figures overlap, grey and label are of the same one: in an image a grey has one label."""
    data = shapes(200, noise=0)
    for x, y in zip(data.x, data.y, strict=True):
        assert len(np.unique(256 * y.ravel() + x)) == len(np.unique(x))


def test_what_cannot_be_made_is_refused():
    with pytest.raises(InputError, match="'shapes' has 0 images of 32 x 32 pixels; at least 1 of 16 x 16"):
        shapes(0)
    with pytest.raises(InputError, match="'shapes' has 5 images of 8 x 8 pixels"):
        shapes(5, size=8)
    with pytest.raises(InputError, match="The noise of 'shapes' is -1; give a finite number"):
        shapes(5, noise=-1)
