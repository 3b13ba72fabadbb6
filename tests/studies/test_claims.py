"""Rows of the ledger that nothing random decides, or that a closed form decides: each against an independent truth."""

import warnings
from itertools import product

import numpy as np
import pytest
import torch
from scipy import stats
from sklearn import linear_model
from sklearn.exceptions import ConvergenceWarning
from torch.utils.flop_counter import FlopCounterMode

from ftheta import LinearRegression, LogisticRegression, MLPClassifier, MLPRegressor
from ftheta.data import TableEncoder, holdout, load, read_csv
from ftheta.draw import Draw
from ftheta.formulas import separable
from ftheta.models import BasisRegression, Perceptron
from ftheta.nn import ACTIVATIONS, MLP, activation
from ftheta.studies import gallery
from tests.cli._awkward import FILES, content

CORNERS = np.array(list(product([0.0, 1.0], repeat=2)))
AND, OR, XOR = [0, 0, 0, 1], [0, 1, 1, 1], [0, 1, 1, 0]


# ---- one plane, and layers of thresholds


@pytest.mark.ledger("B179", "B199", covers="ftheta.models.Perceptron")
@pytest.mark.parametrize("seed", range(3))
def test_a_perceptron_learns_and_and_or_and_never_xor(seed):
    for gate in (AND, OR):
        assert Perceptron(epochs=300, random_state=seed).fit(CORNERS, gate).score(CORNERS, gate) == 1
    with pytest.warns(ConvergenceWarning):
        assert Perceptron(epochs=300, random_state=seed).fit(CORNERS, XOR).score(CORNERS, XOR) <= 0.75


@pytest.mark.ledger("B179", covers="ftheta.models.MLPClassifier")
def test_xor_needs_a_hidden_layer():
    net = MLPClassifier(hidden=(8,), activation="tanh", epochs=300, lr=0.05, random_state=0)
    assert net.fit(CORNERS, XOR).score(CORNERS, XOR) == 1
    total = CORNERS.sum(1)
    assert (1.0 * (total > 0.5) - (total > 1.5) > 0.5).tolist() == [False, True, True, False]


@pytest.mark.ledger("B201", covers="ftheta.formulas.separable")
def test_all_dichotomies_of_a_square_but_xor_and_its_complement_are_separable():
    lost = [list(y) for y in product([0, 1], repeat=4) if not separable(CORNERS, y)]
    assert lost == [[0, 1, 1, 0], [1, 0, 0, 1]]  # 14 of 16 are left


@pytest.mark.ledger("B203", covers="ftheta.nn.MLP", printed="convex regions", right="convex regions and others")
def test_one_hidden_layer_of_thresholds_need_not_be_convex(ledger):
    total = np.array([[0, 0], [0.5, 0.5], [1, 1]]).sum(1)
    between = (1.0 * (total > 0.5) - (total > 1.5) > 0.5).tolist()  # a strip
    inside = (1.0 * (total > 1.5) - (total > 0.5) > -0.5).tolist()  # XNOR
    assert between == [False, True, False]
    ledger("convex regions and others" if inside == [True, False, True] else "convex regions")


@pytest.mark.ledger("A279", covers="ftheta.nn.ACTIVATIONS")
def test_one_monotone_output_gets_at_most_three_corners_of_xor():
    units = np.array(list(product(np.arange(-4, 5), np.arange(-4, 5), np.arange(-4, 4.5, 0.5))))  # weights, bias
    z = torch.tensor(CORNERS @ units[:, :2].T + units[:, 2])
    for name, entry in ACTIVATIONS.items():
        a = activation(name)(z).numpy()
        cuts = (np.sort(a, axis=0)[1:] + np.sort(a, axis=0)[:-1]) / 2  # thresholds between any two outputs
        hits = ((a > cuts[:, None]) == np.array(XOR)[:, None]).sum(1)
        assert np.maximum(hits, 4 - hits).max() == (3 if entry.monotone else 4), name


@pytest.mark.ledger("A280", covers="ftheta.nn.activation")
def test_a_bump_at_the_output_solves_xor_between_two_parallel_lines():
    def unit(at):
        return activation("bump")(torch.tensor(at.sum(-1) - 1) * 10**0.5).numpy()

    half = np.sqrt(np.log(2) / 10)
    border = np.array([[t, 1 + side * half - t] for t in (-1.0, 0.0, 2.0) for side in (-1, 1)])
    assert unit(border) == pytest.approx(np.full(6, 0.5))
    assert unit(CORNERS) == pytest.approx(XOR, abs=1e-4)


# ---- lines


@pytest.mark.ledger("C016", covers="ftheta.models.BasisRegression")
@pytest.mark.middle
def test_classes_of_functions_on_one_sine():
    x = np.linspace(-1, 1, 50)[:, None]
    y = np.sin(np.pi * x[:, 0])
    net = {"activation": "tanh", "optimizer": "lm", "epochs": 60, "dtype": "float64", "random_state": 0}
    models = [LinearRegression(), BasisRegression(degree=5), BasisRegression(basis="fourier", size=3)]
    models += [BasisRegression(basis="gaussian", size=6, widths=0.4), BasisRegression(basis="relu", size=6)]
    models += [MLPRegressor(hidden=hidden, **net) for hidden in ((6,), (6, 6))]
    errors = [np.sqrt(np.mean((model.fit(x, y).predict(x) - y) ** 2)) for model in models]
    line, polynomial = (np.polynomial.Polynomial.fit(x[:, 0], y, degree)(x[:, 0]) for degree in (1, 5))
    assert errors[:2] == pytest.approx([np.sqrt(np.mean((fit - y) ** 2)) for fit in (line, polynomial)])
    assert errors[1:5] == pytest.approx([0.00477, 0, 0.0143, 0.0315], rel=0.005, abs=1e-14)
    assert max(errors[5:]) < 0.01


@pytest.mark.ledger("B005", covers="ftheta.models.MLPRegressor")
def test_a_linear_perceptron_underfits_a_period_of_a_sine():
    x = (np.arange(1000)[:, None] + 0.5) * np.pi / 500  # middles of equal parts
    y = np.sin(x[:, 0])
    net = {"activation": "tanh", "optimizer": "lm", "epochs": 60, "dtype": "float64", "random_state": 0}
    line, curve = (MLPRegressor(hidden=hidden, **net).fit(x, y) for hidden in ((), (6,)))
    assert line.score(x, y) == pytest.approx(6 / np.pi**2, abs=1e-5)
    assert np.mean((line.predict(x) - y) ** 2) == pytest.approx((1 - 6 / np.pi**2) / 2, abs=1e-5)
    assert curve.score(x, y) > 0.999


def slope(x, y):
    return LinearRegression().fit(x[:, None], y).coef_[0]


@pytest.mark.ledger(
    "A037",
    covers="ftheta.models.LinearRegression",
    says="2026: if X and Y are centered, E[Y|X] = ρ X",
    printed=1.5 / 2.5**0.5,
    right=1.5,
)
def test_only_scaled_variables_regress_towards_the_mean(ledger):
    x, noise = np.random.default_rng(0).standard_normal((2, 200_000))
    y = 1.5 * x + 0.5 * noise
    ledger(slope(x - x.mean(), y - y.mean()), rtol=0.01)
    assert slope(x / x.std(), y / y.std()) == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-9)


@pytest.mark.ledger(
    "A038",
    covers="ftheta.models.LinearRegression",
    says="2025: tall fathers have short sons, short fathers have tall sons",
    printed="short",
    right="tall",
)
def test_sons_of_tall_fathers_are_tall_but_less_so(ledger):
    father, noise = np.random.default_rng(0).standard_normal((2, 200_000))
    son = 2 / 3 * father + np.sqrt(5) / 3 * noise
    taller = 7 * LinearRegression().fit(father[:, None], son).predict([[6 / 7]])[0]  # of a father of 6 above the mean
    assert taller == pytest.approx(4, rel=0.02)
    ledger("tall" if taller > 0 else "short")


@pytest.mark.ledger("A039", covers="ftheta.models.LinearRegression")
def test_lines_through_winning_times_cross_in_2152_and_reach_0_seconds():
    data = load("sprint")
    year, women, seconds = data.x["year"].to_numpy(), data.x["women"].to_numpy() == 1, np.asarray(data.y)
    fits = [LinearRegression().fit(year[g][:, None], seconds[g]) for g in (~women, women)]
    (a, b), (c, d) = ((m.intercept_, m.coef_[0]) for m in fits)
    assert [a + 2156 * b, c + 2156 * d, (c - a) / (b - d)] == pytest.approx([8.098, 8.079, 2152.6], abs=0.06)
    assert [-c / d, -a / b] == pytest.approx([2636, 2892], abs=0.6)


@pytest.mark.ledger("A026", covers="ftheta.models.LinearRegression")
def test_sums_of_many_small_errors_leave_normal_residuals():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((20_000, 1))
    rejected = []
    for k in (1, 5, 30):
        y = 2 + 3 * x[:, 0] + rng.uniform(-1, 1, (k, 20_000)).sum(0) * np.sqrt(3 / k)
        residuals = y - LinearRegression().fit(x, y).predict(x)
        assert stats.kurtosis(residuals) == pytest.approx(-1.2 / k, abs=0.07)  # standard error 0.035
        rejected.append(stats.jarque_bera(residuals[:2000]).pvalue < 0.05)
    heavy = 3 * x[:, 0] + rng.standard_t(3, 20_000)
    assert rejected == [True, True, False]
    assert stats.jarque_bera(heavy - LinearRegression().fit(x, heavy).predict(x)).pvalue < 1e-6


# ---- lifting


@pytest.mark.ledger("A276", covers="ftheta.models.LogisticRegression")
def test_a_third_coordinate_separates_a_disc_from_its_ring():
    at, z, y = gallery.disc(600)
    assert ((z > 0) == y).all() and LogisticRegression().fit(at, y).score(at, y) < 0.9


@pytest.mark.ledger("A277", covers="ftheta.models.LogisticRegression")
def test_the_decision_function_of_a_disc_is_0_inside_and_1_elsewhere():
    r2 = np.array([0.0001, 0.25, 0.999, 1, 1.5, 2, 3.99, 100.3])
    assert np.ceil(np.floor(r2) / r2).astype(int).tolist() == [0, 0, 0, 1, 1, 1, 1, 1]
    at, z, _ = gallery.disc(600)
    assert (np.ceil(np.floor((at**2).sum(1)) / (at**2).sum(1)) == (z == 0)).all()


@pytest.mark.ledger("A013", covers="ftheta.data.TableEncoder")
@pytest.mark.parametrize(("name", "labeled"), [("passengers", True), ("nations", False), ("hearts", True)])
def test_a_linear_model_learns_from_a_table_with_text_and_missing_cells(name, labeled, tmp_path):
    """Substitutes for the tables that the source names: survival, life expectancy, heart risk."""
    path = tmp_path / f"{name}.csv"
    path.write_bytes(content(name, seed=1))
    data = read_csv(path, FILES[name].target)
    y = np.asarray(data.y)
    train, test = holdout(len(y), 0.3, Draw(0).at("test"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of columns that are left out
        encoder = TableEncoder("float64").fit(data.x.iloc[train])
    a, b = (encoder.transform(data.x.iloc[part]) for part in (train, test))
    model = (LogisticRegression(l2=1e-3) if labeled else LinearRegression()).fit(a, y[train])
    peer = (linear_model.LogisticRegression(max_iter=1000) if labeled else linear_model.Ridge()).fit(a, y[train])
    constant = np.unique(y[test], return_counts=True)[1].max() / len(test) if labeled else 0.0
    assert model.coef_.shape[-1] == a.shape[1] and np.isfinite(model.coef_).all()
    assert model.score(b, y[test]) > constant + 0.05
    assert model.score(b, y[test]) == pytest.approx(peer.score(b, y[test]), abs=0.05)


# ---- cost and gradients


@pytest.mark.ledger("A179", covers="ftheta.nn.MLP")
def test_a_forward_pass_costs_depth_times_width_squared():
    def flops(depth, width):
        with FlopCounterMode(display=False) as counter:
            MLP(width, width, (width,) * (depth - 1))(torch.zeros(8, width))
        return counter.get_total_flops()

    assert flops(8, 64) / flops(2, 64) == pytest.approx(4) and flops(3, 256) / flops(3, 32) == pytest.approx(64)


def line(n=200):
    x, noise = torch.randn(2, n, generator=Draw(0).generator("line"), dtype=torch.float64)
    return x, 3 * x + 1 + 0.1 * noise


def gradients(x, y, theta):
    return (theta[0] * x + theta[1] - y)[:, None] * torch.stack([x, torch.ones_like(x)], 1)  # (n, 2)


@pytest.mark.ledger("A130", "B013", covers="ftheta.data")
def test_batch_gradients_average_to_the_full_one_and_their_variance_falls_as_1_over_their_size():
    x, y = line()
    each = gradients(x, y, torch.tensor([0.5, -0.5], dtype=torch.float64))
    order = torch.randperm(200, generator=Draw(0).generator())
    torch.testing.assert_close(each[order].reshape(20, 10, 2).mean(1).mean(0), each.mean(0), rtol=0, atol=1e-12)
    for size in (1, 10, 50):
        sampled = each[torch.randint(200, (20_000, size), generator=Draw(1).generator())].mean(1)
        error = (each.var(0) / size / 20_000).sqrt()
        assert ((sampled.mean(0) - each.mean(0)).abs() < 4 * error).all()
        torch.testing.assert_close(sampled.var(0), each.var(0, correction=0) / size, rtol=0.06, atol=0)


@pytest.mark.ledger("B017", covers="ftheta.draw.Draw")
def test_noise_on_a_gradient_adds_its_variance():
    g, noise = torch.randn(2, 100_000, generator=Draw(0).generator(), dtype=torch.float64)
    assert (1 + 2 * g + 0.5 * noise).var().item() == pytest.approx(4.25, rel=0.02)


@pytest.mark.ledger(
    "A129", covers="ftheta.optim", says="θ <- θ - ∇L, where 3.1 has a rate η", printed="no rate", right="a rate"
)
def test_single_rows_need_a_rate(ledger):
    x, y = line()
    ends = []
    for rate in (1.0, 0.1):  # 1: the rule as printed
        theta = torch.zeros(2, dtype=torch.float64)
        for i in torch.randint(200, (2000,), generator=Draw(0).generator()).tolist():
            theta = theta - rate * gradients(x[i : i + 1], y[i : i + 1], theta)[0]
        ends.append(((theta[0] * x + theta[1] - y) ** 2).mean().item() / 2)
    ledger("a rate" if not ends[0] < 0.1 and ends[1] < 0.02 else "no rate")


# ---- pictures


def scattered(collections):
    """Points and color of each set of points, as drawn."""
    places = [getattr(c, "_offsets3d", None) or c.get_offsets().T for c in collections]
    return [np.transpose(p) for p in places], [tuple(c.get_facecolor()[0][:3]) for c in collections]


@pytest.mark.ledger("A087", covers="ftheta.studies.gallery")
@pytest.mark.middle
def test_the_path_of_one_sample_is_lit_in_each_tree_and_the_votes_are_below():
    *trees, bottom = gallery.PICTURES["A087"][1]().axes
    assert len(trees) == 4
    for axes in trees:
        lit = [line.get_xydata() for line in axes.lines if line.get_linewidth() > 2 and line.get_marker() == "None"]
        ends = {tuple(point) for way in lit for point in way}
        levels = sorted(y for _, y in ends)
        assert (
            len(levels) > 1 and len(set(levels)) == len(levels) and levels[-1] == 0
        )  # one node per level, from the root
    assert sum(bar.get_height() for bar in bottom.patches) == pytest.approx(1)


@pytest.mark.ledger("C042", "B043", covers="ftheta.studies.gallery")
@pytest.mark.middle
@pytest.mark.parametrize("row", gallery.PICTURES)
def test_a_picture_has_labels_with_units(row):
    title, draw = gallery.PICTURES[row]
    figure = draw()
    assert figure.get_suptitle() == title
    plain = [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]
    assert all(a.get_ylabel() or a.get_shared_y_axes().joined(a, plain[0]) for a in plain)


@pytest.mark.ledger("C042", covers="ftheta.studies.gallery")
@pytest.mark.middle
def test_scores_are_drawn_above_their_probabilities_and_the_likeliest_class():
    """Sigmoid: p = 1 / (1 + e⁻ᶻ) and 1 - p; softmax: eᶻ over the sum; they sum to 1 at every x."""
    panels = np.array(gallery.PICTURES["C042"][1]().axes).reshape(3, 2)
    for column, n in enumerate((1, 3)):
        assert [axes.get_ylabel() for axes in panels[:, column]] == ["score", "probability", "class"]
        z, p, label = (np.array([line.get_ydata() for line in axes.lines]) for axes in panels[:, column])
        assert len(z) == n and p.sum(0) == pytest.approx(1)
        both = np.concatenate([np.zeros_like(z), z]) if n == 1 else z
        np.testing.assert_allclose(p, np.exp(both) / np.exp(both).sum(0), atol=1e-6)
        assert (label[0] == p.argmax(0)).all() and len(set(label[0])) == len(p)


@pytest.mark.ledger("A197", covers="ftheta.studies.gallery")
def test_each_third_of_the_triangle_has_the_color_of_its_largest_coordinate():
    points, colors = scattered(gallery.PICTURES["A197"][1]().axes[0].collections)
    assert len(set(colors)) == 3 and [set(p.argmax(1)) for p in points] == [{0}, {1}, {2}]
    assert all(p.min() >= 0 and p.sum(1) == pytest.approx(1) for p in points)
    assert [len(p) / 4000 for p in points] == pytest.approx([1 / 3] * 3, abs=0.03)


@pytest.mark.ledger("A278", covers="ftheta.studies.gallery")
def test_lifted_points_are_on_two_sides_of_the_plane_and_flat_ones_of_no_line():
    flat, space = np.split(np.array(gallery.PICTURES["A278"][1]().axes).reshape(2, 2), 2, axis=1)
    for below, above in zip(flat.ravel(), space.ravel(), strict=True):
        plain, colors = scattered(below.collections)
        lifted, same = scattered(above.collections[:2])
        assert colors == same and len(set(colors)) == 2
        assert (lifted[0][:, 2] <= 0).all() and (lifted[1][:, 2] > 0).all()
        at, side = np.concatenate(plain), np.repeat([0, 1], [len(p) for p in plain])
        np.testing.assert_array_equal(at, np.concatenate(lifted)[:, :2])
        assert LogisticRegression().fit(at, side).score(at, side) < 0.9


def test_the_parts_of_a_data_set():
    sets = {name: set(rows.tolist()) for name, rows in gallery.parts().items()}
    assert [len(rows) for rows in sets.values()] == [600, 420, 336, 84, 180]
    assert sets["its training part"] | sets["its validation part"] == sets["training set"]  # B043
    assert not sets["its training part"] & sets["its validation part"] and not sets["training set"] & sets["test set"]


@pytest.mark.ledger("A131", covers="ftheta.nn.MLP")
def test_what_is_kept_for_the_backward_pass_grows_in_proportion_to_the_batch():
    net = MLP(8, 1, (50, 50), activation="tanh")
    own = {p.untyped_storage().data_ptr() for p in net.parameters()}

    def kept(rows):
        sizes = {}

        def keep(tensor):
            sizes[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            loss = net(torch.zeros(rows, 8)).square().mean()  # kept alive, so that no address is used twice
        return sum(size for place, size in sizes.items() if place not in own), loss

    first, second, third = (kept(rows)[0] for rows in (100, 200, 1000))
    assert second - first == pytest.approx((third - first) / 9, rel=0.01) and first > 100 * 4 * 100


@pytest.mark.ledger("C195", covers="ftheta.studies.gallery")
def test_the_picture_of_smaller_images_has_the_three_ways_side_by_side():
    image, second, largest, mean = (
        np.asarray(axes.images[0].get_array()) for axes in gallery.PICTURES["C195"][1]().axes
    )
    blocks = image.reshape(4, 2, 4, 2)
    np.testing.assert_array_equal(second, image[::2, ::2])
    np.testing.assert_array_equal(largest, blocks.max((1, 3)))
    np.testing.assert_allclose(mean, blocks.mean((1, 3)))


@pytest.mark.ledger("C200", covers="ftheta.studies.gallery")
def test_the_picture_of_larger_images_has_the_four_ways_side_by_side():
    figure = gallery.PICTURES["C200"][1]()
    small, near, put, between, added = (np.asarray(axes.images[0].get_array()) for axes in figure.axes)
    np.testing.assert_array_equal(near, np.kron(small, np.ones((2, 2))))
    np.testing.assert_allclose(added, np.kron(small, [[1, 0.5], [0.5, 0.25]]))
    assert put.sum() == pytest.approx(small.sum()) and set(np.unique(put)) <= {0, *small.ravel()}  # each value once
    assert between.shape == (8, 8) and between[1, 1] == pytest.approx(
        np.average(small[:2, :2].ravel(), weights=[9, 3, 3, 1])
    )


@pytest.mark.ledger("C099", covers="ftheta.studies.gallery")
def test_the_picture_of_nesterovs_step_adds_the_gradient_at_the_end_of_the_jump():
    (axes,) = gallery.PICTURES["C099"][1]().axes
    jump, correction, step = (c for c in axes.collections if hasattr(c, "U"))
    tails, arrows = ([np.ravel(part) for part in parts] for parts in zip(*(
        (c.get_offsets(), (c.U, c.V)) for c in (jump, correction, step)), strict=True))  # fmt: skip
    np.testing.assert_allclose(tails[1], tails[0] + arrows[0], rtol=1e-6)  # the gradient begins where the jump ends
    hessian = np.array([[13.0, -12.0], [-12.0, 13.0]])
    np.testing.assert_allclose(arrows[1], -0.03 * hessian @ tails[1], rtol=1e-5)
    np.testing.assert_allclose(arrows[2], arrows[0] + arrows[1], rtol=1e-5)
    np.testing.assert_array_equal(tails[2], tails[0])


@pytest.mark.ledger("C225", covers="ftheta.studies.gallery")
def test_the_picture_of_an_embedding_shows_the_columns_that_tokens_select():
    table, hot, product = (axes.images[0].get_array() for axes in gallery.PICTURES["C225"][1]().axes)
    assert (hot.sum(0) == 1).all() and table.shape[1] == len(hot)
    np.testing.assert_array_equal(product, table[:, hot.argmax(0)])
    np.testing.assert_array_equal(product[:, 0], product[:, 4])  # the cat sat on the mat
