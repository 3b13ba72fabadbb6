"""Basis functions: the ledger's families, exact rational solutions, other libraries, and data that try it."""

from fractions import Fraction

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.linear_model import LinearRegression as Peer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer

import ftheta
from ftheta import BasisRegression, LinearRegression, MLPRegressor
from ftheta.errors import InputError
from ftheta.models.linear.bases import exponents
from ftheta.train import minimize

LINE = np.arange(4.0)[:, None], np.array([1.0, 3, 2, 5])
HALF = np.linspace(-1, 1, 50)[:, None]


def both(model):
    """The constant first."""
    return np.append(model.intercept_, model.coef_)


def rmse(model, x, y):
    return float(np.sqrt(np.mean((model.predict(x) - y) ** 2)))


# ---- the families of the ledger


@pytest.mark.ledger("C043", covers="ftheta.models.BasisRegression")
def test_a_line_in_closed_form_and_by_gradient_descent():
    X, y = LINE
    assert np.allclose(both(BasisRegression(degree=1).fit(X, y)), [1.1, 1.1], atol=1e-14)
    x, t = torch.from_numpy(X[:, 0]), torch.from_numpy(y)
    path = minimize(lambda w: (w[0] + w[1] * x - t).square().mean(), [0.0, 0.0], lr=0.2, steps=400, tolerance=1e-7)
    assert np.allclose(path.best, [1.1, 1.1], atol=1e-6)


@pytest.mark.ledger("C044", covers="ftheta.models.BasisRegression")
def test_a_noiseless_quadratic_is_recovered():
    x = np.arange(5.0)[:, None]
    model = BasisRegression(degree=2).fit(x, 1 - 2 * x[:, 0] + 0.5 * x[:, 0] ** 2)
    assert np.allclose(both(model), [1, -2, 0.5], atol=1e-13) and model.names_ == ["x", "x^2"]


def identity(x):
    return x


@pytest.mark.ledger("C045", covers="ftheta.models.BasisRegression")
def test_a_line_plus_a_sine():
    x = np.arange(5.0)
    y = 1 + 2 * x + 0.5 * np.sin(x)
    model = BasisRegression(basis=[identity, np.sin]).fit(x[:, None], y)
    assert np.allclose(both(model), [1, 2, 0.5], atol=1e-13) and model.names_ == ["identity", "sin"]
    shown = model.terms(x[:, None], y)
    lines = {line.get_label(): line.get_xydata() for line in shown.figure().axes[0].lines}
    assert np.allclose(lines["sin"][:, 1], 0.5 * np.sin(lines["sin"][:, 0]), atol=1e-13)
    assert np.array_equal(lines["rows"], np.c_[x, y])


@pytest.mark.ledger("C046", covers="ftheta.models.BasisRegression")
def test_any_functions_with_the_constant_as_the_first():
    X, y = LINE
    model = BasisRegression(basis=[np.ones_like, lambda x: x], fit_intercept=False).fit(X, y)
    assert np.allclose(model.coef_, [1.1, 1.1], atol=1e-14) and model.intercept_ == 0
    assert model.names_ == ["ones_like", "φ2"] and model.predict([[10.0]]) == pytest.approx([12.1])
    assert model.condition_ == pytest.approx(np.linalg.cond(np.c_[np.ones(4), X]))
    beside = BasisRegression(basis=[np.ones_like, identity]).fit(X, y)  # the constant is there twice
    assert np.allclose(both(beside), [1.1, 0, 1.1], atol=1e-14)


@pytest.mark.ledger("C047", covers="ftheta.models.BasisRegression")
def test_two_inputs_of_degree_three_have_ten_monomials():
    rng = np.random.default_rng(0)
    X, new = rng.uniform(1, 3, (40, 2)), rng.uniform(0, 4, (20, 2))

    def cubic(z):
        a, b = z.T
        return 2 - a + 3 * a * b + 0.5 * a**2 * b - b**3

    model = BasisRegression(degree=3).fit(X, cubic(X))
    assert len(exponents(2, 3)) == 10 == len(both(model)) and model.names_[3] == "x1 x2"
    found = dict(zip(["1", *model.names_], both(model), strict=True))
    truth = {"1": 2, "x1": -1, "x1 x2": 3, "x1^2 x2": 0.5, "x2^3": -1}
    assert all(found[name] == pytest.approx(truth.get(name, 0), abs=1e-10) for name in found)
    assert np.allclose(model.predict(new), cubic(new), atol=1e-10)


@pytest.mark.ledger("C048", "B004", covers="ftheta.models.BasisRegression")
def test_sinusoids_recover_a_periodic_signal_and_a_wrong_frequency_does_not():
    y = np.sin(np.pi * HALF[:, 0])
    given = BasisRegression(basis="fourier", frequencies=[np.pi, 2 * np.pi, 3 * np.pi]).fit(HALF, y)
    assert rmse(given, HALF, y) < 4e-16 and given.coef_[0] == pytest.approx(1)
    assert np.mean((given.predict(HALF) - y) ** 2) < 1e-30
    own = BasisRegression(basis="fourier", size=3).fit(HALF, y)  # periods of the range: the same frequencies
    assert np.allclose(own.frequencies_, given.frequencies_) and own.names_[:2] == ["sin(3.14159 x)", "cos(3.14159 x)"]
    wrong = BasisRegression(basis="fourier", frequencies=[2.0]).fit(HALF, y)
    assert np.mean((wrong.predict(HALF) - y) ** 2) > 1e-3
    x = np.linspace(0, 9, 80)[:, None]
    band = 3 + np.sin(x[:, 0]) - 2 * np.cos(3 * x[:, 0])
    model = BasisRegression(basis="fourier", frequencies=[1, 2, 3]).fit(x, band)
    assert np.allclose(both(model), [3, 1, 0, 0, 0, 0, -2], atol=1e-12)


@pytest.mark.ledger("B003", covers="ftheta.models.BasisRegression")
@pytest.mark.parametrize(("degree", "mse"), [(3, 0.00439), (5, 1.85e-5), (7, 2.45e-8), (9, 1.34e-11)])
def test_polynomials_on_a_sine(degree, mse):
    x = np.linspace(0, 2 * np.pi, 50_001)[:, None]
    found = rmse(BasisRegression(degree=degree).fit(x, np.sin(x[:, 0])), x, np.sin(x[:, 0])) ** 2
    assert found == pytest.approx(mse, rel=3e-3)


@pytest.mark.ledger("A041", covers="ftheta.models.BasisRegression")
@pytest.mark.parametrize("degree", [1, 2, 3, 7])
def test_as_many_points_as_coefficients_recover_a_polynomial(degree):
    rng = np.random.default_rng(degree)
    x, c = np.arange(degree + 1) - 1.5, rng.normal(size=degree + 1)
    model = BasisRegression(degree=degree).fit(x[:, None], np.polynomial.polynomial.polyval(x, c))
    assert np.allclose(both(model), c, atol=1e-10)
    short = BasisRegression(degree=degree).fit(x[:-1, None], np.polynomial.polynomial.polyval(x[:-1], c))
    assert not np.allclose(both(short), c, atol=1e-3)  # one point less does not


@pytest.mark.ledger("A023", covers="ftheta.models.BasisRegression")
def test_linear_in_the_parameters_is_what_counts():
    x = np.linspace(-1, 2, 12)
    model = BasisRegression(basis=[np.exp]).fit(x[:, None], 1 + 2 * np.exp(x))
    assert np.allclose(both(model), [1, 2], atol=1e-14)
    y = 0.5 + np.exp(0.3) * x + 0.1 * np.cos(7 * x)  # b0 + exp(b1) x is not linear in b1, but in c = exp(b1) > 0
    c = BasisRegression(degree=1).fit(x[:, None], y)
    t, z = torch.from_numpy(x), torch.from_numpy(y)
    path = minimize(lambda b: (b[0] + b[1].exp() * t - z).square().mean(), [0.0, 0.0], optimizer="bfgs", tolerance=1e-9)
    assert np.allclose([path.best[0], np.exp(path.best[1])], both(c), atol=1e-7)


@pytest.mark.ledger("C050", covers="ftheta.models.BasisRegression")
@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "relu"])
def test_a_frozen_hidden_layer_is_a_basis(activation):
    """Output weights by least squares: on the hidden units, on them as functions, and on translated functions."""
    y = np.sin(4 * HALF[:, 0])
    net = MLPRegressor(hidden=(5,), activation=activation, epochs=3, dtype="float64", random_state=1).fit(HALF, y)
    layer, act = next(iter(net.module_.named_children()))[1], ftheta.nn.activation(activation)
    w, b = (p.detach().numpy().copy() for p in (layer.weight[:, 0], layer.bias))
    w, b = w + 2 * np.sign(w), b + np.linspace(-1, 1, 5)  # well apart

    def hidden(x):
        return act(torch.from_numpy(np.outer(x, w) + b)).numpy()

    solved = LinearRegression().fit(hidden(HALF[:, 0]), y).predict(hidden(HALF[:, 0]))
    units = [lambda x, k=k: hidden(x)[:, k] for k in range(5)]
    fitter = BasisRegression(basis=units).fit(HALF, y)
    assert np.allclose(fitter.predict(HALF), solved, atol=1e-10)
    parts = fitter.terms().parts
    assert np.allclose(parts[:, 3], fitter.coef_[2] * units[2](np.linspace(-1, 1, 201)), atol=1e-12)
    if activation != "relu":  # turned round, a hinge is another function; the others are the same up to constants
        moved = BasisRegression(basis=activation, centers=(-b / w).tolist(), widths=(1 / np.abs(w)).tolist())
        assert np.allclose(moved.fit(HALF, y).predict(HALF), solved, atol=1e-10)


# ---- exact solutions


def rational(x, y, degree):
    """Least squares on powers by Gauss-Jordan elimination in rational numbers."""
    rows, n = [[Fraction(v) ** k for k in range(degree + 1)] for v in x], degree + 1
    a = [
        [sum(r[i] * r[j] for r in rows) for j in range(n)]
        + [sum(r[i] * Fraction(t) for r, t in zip(rows, y, strict=True))]
        for i in range(n)
    ]
    for i in range(n):
        a[i] = [v / a[i][i] for v in a[i]]
        for k in range(n):
            if k != i:
                a[k] = [p - a[k][i] * q for p, q in zip(a[k], a[i], strict=True)]
    return [row[n] for row in a]


def digits(found, exact):
    return -np.log10(max(abs(float((Fraction(float(f)) - e) / e)) for f, e in zip(found, exact, strict=True)) + 1e-16)


@pytest.mark.parametrize("seed", range(3))
def test_ten_digits_on_a_polynomial_of_filips_kind(seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-9, -3, 82)
    y = 0.87 + 0.05 * np.sin(2 * x) + 0.03 * np.cos(1.3 * x) + 0.003 * rng.normal(size=82)
    exact = rational(x, y, 10)
    model = BasisRegression(degree=10).fit(x[:, None], y)
    fits = [sum(c * Fraction(v) ** k for k, c in enumerate(exact)) for v in x]
    assert digits(both(model), exact) > 10 and digits(model.predict(x[:, None]), fits) > 14
    assert model.condition_ < 1.01 < 1e9 < np.linalg.cond(np.vander(x, 11))
    assert digits(np.linalg.lstsq(np.vander(x, 11, True), y, rcond=1e-15)[0], exact) < 10  # what powers give


# ---- other libraries


@pytest.mark.parametrize("seed", range(30))
def test_thirty_random_problems_agree_with_other_libraries(seed):
    rng = np.random.default_rng(seed)
    d, degree, n = int(rng.integers(1, 5)), int(rng.integers(1, 4)), int(rng.integers(60, 120))
    X, new = rng.normal(size=(n, d)) * rng.uniform(0.5, 2, d), rng.normal(size=(20, d))
    y, w = rng.normal(size=n) + X[:, 0] ** 2, rng.uniform(0.1, 2, n)
    mine = BasisRegression(degree=degree).fit(X, y, w)
    peer = make_pipeline(PolynomialFeatures(degree, include_bias=False), Peer()).fit(
        X, y, linearregression__sample_weight=w
    )
    assert np.allclose(mine.predict(new), peer.predict(new), rtol=1e-8, atol=1e-8)
    assert np.allclose(mine.coef_, peer[-1].coef_, atol=1e-8) and mine.intercept_ == pytest.approx(peer[-1].intercept_)
    x, at = X[:, :1], np.sort(X[:, 0])[1:-1, None]
    line = np.polynomial.Polynomial.fit(x[:, 0], y, degree + 4, w=np.sqrt(w))
    assert np.allclose(
        BasisRegression(degree=degree + 4).fit(x, y, w).predict(at), line(at[:, 0]), rtol=1e-8, atol=1e-8
    )
    hinges = BasisRegression(basis="relu", size=5).fit(x, y)
    spline = make_pipeline(SplineTransformer(n_knots=6, degree=1), Peer()).fit(x, y)
    assert np.allclose(hinges.predict(at), spline.predict(at), rtol=1e-8, atol=1e-8)
    alpha = float(rng.uniform(0.1, 5))
    made = BasisRegression(basis="gaussian", alpha=alpha).fit(X, y, w)
    ridge = Ridge(alpha=alpha).fit(made._functions(X), y, w)
    assert np.allclose(both(made), np.append(ridge.intercept_, ridge.coef_), atol=1e-8)


@pytest.mark.parametrize("basis", ["legendre", "chebyshev"])
def test_named_polynomials_are_those_of_numpy_on_the_range(basis):
    x = np.linspace(0, 1.5, 40) ** 3 + 2  # crowded at the lower end
    y = np.exp(x)
    model = BasisRegression(basis=basis, degree=4).fit(x[:, None], y)
    kind = {"legendre": np.polynomial.Legendre, "chebyshev": np.polynomial.Chebyshev}[basis]
    assert np.allclose(both(model), kind.fit(x, y, 4).coef)
    assert model.names_[1] == {"l": "P2(x)", "c": "T2(x)"}[basis[0]]
    assert np.allclose(model.predict(x[:, None]), BasisRegression(degree=4).fit(x[:, None], y).predict(x[:, None]))


# ---- where functions are


def test_hinges_begin_at_the_lowest_row_and_others_reach_both_ends():
    y = np.sin(np.pi * HALF[:, 0])
    hinges, bumps = (BasisRegression(basis=b, size=4).fit(HALF, y) for b in ("relu", "gaussian"))
    assert np.allclose(hinges.centers_, [[-1, -0.5, 0, 0.5]]) and hinges.names_[0] == "relu(x + 1)"
    assert np.allclose(bumps.centers_, [np.linspace(-1, 1, 4)]) and np.allclose(bumps.widths_, 2 / 3)
    assert bumps.names_[0] == "gaussian(x; -1, 0.6667)"


def test_quantiles_follow_the_rows_and_widths_their_distances():
    x = np.linspace(0, 1, 41)[:, None] ** 2
    model = BasisRegression(basis="gaussian", size=5, centers="quantile").fit(x, x[:, 0])
    assert np.allclose(model.centers_, [np.linspace(0, 1, 5) ** 2])
    gaps = np.diff(model.centers_[0])
    assert np.allclose(model.widths_, [[gaps[0], *(gaps[1:] + gaps[:-1]) / 2, gaps[-1]]])


def test_centers_and_widths_may_be_given_in_any_order():
    y = np.cos(3 * HALF[:, 0])
    one = BasisRegression(basis="tanh", centers=[0.5, -0.5], widths=[0.1, 0.3]).fit(HALF, y)
    assert one.centers_.tolist() == [[-0.5, 0.5]] and one.widths_.tolist() == [[0.3, 0.1]]
    assert BasisRegression(basis="tanh", size=1).fit(HALF, y).widths_.tolist() == [[1.0]]
    assert BasisRegression(basis="relu", widths=0.2).fit(HALF, y).names_[0] == "relu(x; -1, 0.2)"


@pytest.mark.middle
def test_learning_moves_functions_and_lowers_the_loss():
    rng = np.random.default_rng(0)
    x = np.linspace(-100, 100, 150)[:, None]
    y = 1e5 * (np.exp(-(((x[:, 0] - 40) / 8) ** 2)) + 0.02 * rng.normal(size=150))
    fixed = BasisRegression(basis="gaussian", size=4).fit(x, y)
    model = BasisRegression(basis="gaussian", size=4, learn=True).fit(x, y)
    assert rmse(model, x, y) < rmse(fixed, x, y) / 5 and rmse(model, x, y) < 2500
    assert np.abs(model.centers_ - 40).min() < 1 and np.allclose(model.start_["centers"], fixed.centers_)
    assert model.n_iter_ > 1 and fixed.n_iter_ == 1


@pytest.mark.middle
@pytest.mark.parametrize("alpha", [0.0, 3.0])
@pytest.mark.parametrize("basis", ["gaussian", "sigmoid", "tanh", "relu"])
def test_learning_lowers_the_loss_that_is_solved(basis, alpha):
    rng = np.random.default_rng(3)
    x = rng.uniform(0, 50, (60, 2)) * [1, 0.1]
    y, v = np.maximum(x[:, 0] - 31, 0) + np.sin(x[:, 1]) + rng.normal(size=60), rng.uniform(1, 5, 60)
    fixed, model = (
        BasisRegression(basis=basis, size=2, alpha=alpha, learn=learn).fit(x, y, v) for learn in (False, True)
    )
    losses = [v @ (m.predict(x) - y) ** 2 + alpha * (m.coef_**2).sum() for m in (fixed, model)]
    assert losses[1] < 0.95 * losses[0]


# ---- the life of an estimator


def test_several_targets_are_several_fits():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 2)), rng.normal(size=(40, 3))
    for settings in ({}, {"basis": "fourier", "size": 2}, {"basis": "gaussian", "alpha": 0.5}):
        many = BasisRegression(**settings).fit(X, Y)
        ones = [BasisRegression(**settings).fit(X, y) for y in Y.T]
        assert np.allclose(many.predict(X), np.stack([one.predict(X) for one in ones], 1), atol=1e-9)
        assert np.allclose(many.coef_, [one.coef_ for one in ones], atol=1e-9) and many.intercept_.shape == (3,)
    with pytest.raises(InputError, match=r"terms\(\) shows one target, and there were 3 in fit"):
        many.terms()


def test_frames_name_the_terms():
    import pandas as pd

    frame = pd.DataFrame({"age": [1.0, 2, 3, 5, 7, 8], "bmi": [2.0, 1, 5, 3, 9, 4]})
    assert BasisRegression(degree=2).fit(frame, frame["age"]).names_ == ["age", "bmi", "age^2", "age bmi", "bmi^2"]


def test_names_are_saved_and_functions_are_not(tmp_path):
    y = np.cos(3 * HALF[:, 0])
    model = BasisRegression(basis="sigmoid", size=2, learn=True, centers="quantile").fit(HALF, y)
    again = ftheta.load(model.save(tmp_path / "kept"))
    assert np.array_equal(again.predict(HALF), model.predict(HALF)) and again.names_ == model.names_
    assert np.array_equal(again.terms().parts, model.terms().parts)
    own = clone(BasisRegression(basis=[np.sin])).fit(HALF, y)
    with pytest.raises(InputError, match=r"Parameter basis=\[<ufunc 'sin'>\] .* cannot be put into a file"):
        own.save(tmp_path / "own")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"learn": True}, r"learn=True moves centers and widths of gaussian, .*, not of 'polynomial'"),
        ({"basis": "fourier", "frequencies": [1.7e308]}, r"sin\(1.7e\+308 x\) is beyond float64 on rows from -99"),
        ({"basis": [lambda x: x + 1j]}, r"basis\[0\] \(φ1\) cannot be called .*complex"),
        ({"fit_intercept": False}, "fit_intercept=False: a polynomial has its constant among its functions"),
        ({"basis": []}, r"basis=\[\]: a list holds functions, at least one"),
        ({"basis": ["sin"]}, r"basis=\['sin'\]: a list holds functions"),
        ({"basis": [lambda a, b: a]}, r"basis\[0\] \(φ1\) cannot be called with 1 arrays of 50 numbers: .* It must"),
        ({"basis": [np.sin, lambda x: x[:3]]}, r"basis\[1\] \(φ2\) cannot be called with 1 arrays of 50 numbers"),
        (
            {"basis": [lambda x: np.sqrt(x + 0j)]},
            r"basis\[0\] \(φ1\) cannot be called .*: Cannot cast .*one number per",
        ),
        ({"basis": [lambda x: np.where(x > 0, np.nan, x)]}, r"basis\[0\] \(φ1\) gives nan for row 25"),
        ({"basis": "fourier", "frequencies": []}, r"frequencies=\[\]: a list of finite numbers, at least one"),
        ({"basis": "tanh", "centers": [np.inf]}, r"centers=\[inf\]: a list of finite numbers"),
        (
            {"basis": "tanh", "widths": [1.0, 2.0]},
            r"widths=\[1.0, 2.0\]: one positive number, or one for each of the 6",
        ),
        ({"degree": 40_000}, r"1 inputs have 40001 functions"),  # exponents and recurrence have degree² numbers
        ({"basis": "gaussian", "size": 10**6}, r"1 inputs have 1000000 functions \(gaussian, degree=3, size=1000000\)"),
    ],
)
def test_what_cannot_be_is_one_sentence(settings, sentence):
    with pytest.raises(InputError, match=sentence):
        BasisRegression(**settings).fit(99 * HALF, HALF[:, 0])


# ---- data that try it

EVERY = ["polynomial", "legendre", "chebyshev", "fourier", "gaussian", "sigmoid", "tanh", "relu"]


@pytest.mark.parametrize("basis", EVERY)
def test_a_constant_column_gives_the_mean(basis):
    model = BasisRegression(basis=basis).fit(np.full((5, 1), 14.62), np.arange(5.0))
    assert np.allclose(model.predict([[14.62], [15.0]] if basis == "polynomial" else [[14.62]]), 2)


@pytest.mark.parametrize("basis", EVERY)
def test_fewer_rows_than_functions_are_met_exactly(basis):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6, 3)), rng.normal(size=6)
    model = BasisRegression(basis=basis).fit(X, y)
    assert np.allclose(model.predict(X), y, atol=1e-8)
    phi = model._functions(X)
    short = np.linalg.lstsq(phi - phi.mean(0), y - y.mean(), rcond=1e-12)[0]
    assert np.allclose(model.weights_[1:], short, atol=1e-7)  # the shortest


def test_too_few_distinct_values_make_a_polynomial_of_lower_degree():
    x = np.repeat([1.0, 2.0], 5)[:, None]
    model = BasisRegression(degree=4).fit(x, 3 * x[:, 0] + 1)
    assert np.allclose(both(model), [1, 3, 0, 0, 0], atol=1e-13) and model.predict([[10.0]]) == pytest.approx([31])


@pytest.mark.parametrize(
    "settings",
    [
        {"basis": "fourier", "size": 5},
        {"basis": "fourier", "frequencies": [1.0, 2.5]},
        {"basis": "gaussian", "size": 4},
        {"basis": "sigmoid", "centers": [0.0, 1.0]},
        {"degree": 3},
    ],
)
def test_as_many_functions_are_counted_beforehand_as_there_are(settings, monkeypatch):
    X = np.random.default_rng(0).normal(size=(40, 3))
    made = BasisRegression(**settings).fit(X, X[:, 0])
    count = len(made.names_) + ("degree" in settings)  # and the constant of a polynomial
    monkeypatch.setattr("ftheta.models.linear.basis.MAX_NUMBERS", 1000 * count - 1)
    with pytest.raises(InputError, match=f"3 inputs have {count} functions"):
        made.fit(X, X[:, 0])
    monkeypatch.setattr("ftheta.models.linear.basis.MAX_NUMBERS", 1000 * count)
    made.fit(X, X[:, 0])


def test_a_function_that_changes_its_input_changes_neither_x_nor_what_the_others_see():
    x = np.linspace(1, 2, 20)
    y = 3 * x**2 - x
    doubled = BasisRegression(basis=[lambda v: np.multiply(v, v, out=v), lambda v: v]).fit(
        given := x[:, None].copy(), y
    )
    np.testing.assert_array_equal(given[:, 0], x)
    np.testing.assert_allclose(doubled.coef_, [3, -1], atol=1e-8)
