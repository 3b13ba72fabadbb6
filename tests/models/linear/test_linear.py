"""Least squares against closed forms, scikit-learn, statsmodels, NIST and the numbers of the course."""

import copy

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.linear_model import LinearRegression as SklearnLinear
from torch import nn

import ftheta
from ftheta.data import Rows
from ftheta.draw import Draw
from ftheta.errors import InputError
from ftheta.likelihoods import Bernoulli, Categorical, Gaussian
from ftheta.models import LinearRegression
from ftheta.train import Supervised, Trainer, Training, evaluate, iterate, minimize

LINE = np.array([[0.0], [1], [2], [3]]), np.array([1.0, 3, 2, 5])
AGE_BMI = np.array([[25, 22.5], [35, 26.5], [45, 29.5], [55, 31.5], [65, 33.5]])
CHOLESTEROL = np.array([180.0, 210, 240, 260, 280])


def squared(raw, y):
    return (raw[:, 0] - y).square()


def affine(w, b):
    """A linear layer with these parameters, in float64."""
    layer = nn.Linear(len(w), 1).double()
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(w))
        layer.bias.fill_(float(b))
    return layer


def mean_loss(layer, d, x, y):
    source = Rows(torch.tensor(x), torch.tensor(y), batch_size=2)  # two batches of two and one of one
    return evaluate(Supervised(layer, d), source, Draw(0))["loss"]


# ---- least squares


@pytest.mark.ledger("A018", "B232", covers="ftheta.models.LinearRegression")
@given(st.integers(2, 12), st.integers(1, 5), st.integers(0, 999))
def test_residuals_are_orthogonal_to_every_column_and_the_solution_is_the_shortest(n, d, seed):
    rng = np.random.default_rng(seed)
    x, y, weight = rng.normal(size=(n, d)), rng.normal(size=(n, 2)), rng.uniform(0.1, 3, n)
    model = LinearRegression().fit(x, y, weight)
    w, b = model.coef_.T, model.intercept_
    residual = (y - x @ w - b) * weight[:, None]
    assert np.abs(x.T @ residual).max() < 1e-8 and np.abs(residual.sum(0)).max() < 1e-8
    if n > d + 1:
        with_ones = np.c_[x, np.ones(n)] * np.sqrt(weight)[:, None]
        np.testing.assert_allclose(
            np.r_[w, b[None]], np.linalg.pinv(with_ones) @ (y * np.sqrt(weight)[:, None]), atol=1e-7
        )


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("seed", range(30))
def test_it_agrees_with_scikit_learn_and_statsmodels(seed, intercept):
    import statsmodels.api as sm

    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(12, 80)), int(rng.integers(1, 7))
    x = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-2, 3, d) + rng.normal(size=d)
    y, weight = x @ rng.normal(size=d) + 3 + rng.normal(size=n), rng.uniform(0.1, 3, n)
    full = np.c_[np.ones(n), x] if intercept else x
    for w, theirs in ((None, sm.OLS(y, full).fit()), (weight, sm.WLS(y, full, weight).fit())):
        ours = LinearRegression(fit_intercept=intercept).fit(x, y, w)
        peer = SklearnLinear(fit_intercept=intercept).fit(x, y, w)
        theta = np.r_[[ours.intercept_] * intercept, ours.coef_]
        np.testing.assert_allclose(ours.coef_, peer.coef_, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(theta, theirs.params, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(ours.sigma_**2, theirs.scale, rtol=1e-8)
        np.testing.assert_allclose(ours.summary_.errors, theirs.bse, rtol=1e-8)
        np.testing.assert_allclose(ours.summary_.robust, theirs.HC3_se, rtol=1e-8)
        assert ours.dof_ == theirs.df_resid and ours.rank_ == peer.rank_ == d
        frame = theirs.get_prediction(full).summary_frame(alpha=0.1)
        for of, kind in (("mean", "mean_ci"), ("new", "obs_ci")):
            ends = frame[[f"{kind}_lower", f"{kind}_upper"]]
            np.testing.assert_allclose(ours.predict_interval(x, 0.9, of), ends, rtol=1e-8, atol=1e-9)


@pytest.mark.ledger("A040", covers="ftheta.models.LinearRegression", printed="distinct", right="affinely independent")
def test_as_many_exact_rows_as_parameters_give_the_plane_back_if_their_inputs_are_affinely_independent(ledger):
    """Samples (x, y) that are linearly independent have such inputs, distinct points of a line have not."""
    rng = np.random.default_rng(0)
    for m in range(1, 8):
        x, theta = rng.normal(size=(m + 1, m)), rng.normal(size=m + 1)
        found = LinearRegression().fit(x, theta[0] + x @ theta[1:])
        assert found.rank_ == m and np.allclose([found.intercept_, *found.coef_], theta, atol=1e-9)
    dependent = np.array([[1.0, 1], [2, 2]])  # not linearly independent, and enough
    line = LinearRegression().fit(dependent[:, :1], dependent[:, 1])
    assert np.linalg.matrix_rank(dependent) == line.rank_ == 1
    assert [line.intercept_, *line.coef_] == pytest.approx([0, 1])  # y = x
    collinear = np.array([[0.0, 0], [1, 1], [2, 2]])  # m = 2: three distinct points
    found = LinearRegression().fit(collinear, 1 + collinear @ [1, 2])
    ledger("distinct" if found.rank_ == 2 else "affinely independent")


LONGLEY = [  # NIST's certified values: the intercept first, then their standard deviations
    (-3482258.63459582, 890420.383607373),
    (15.0618722713733, 84.9149257747669),
    (-0.0358191792925910, 0.0334910077722432),
    (-2.02022980381683, 0.488399681651699),
    (-1.03322686717359, 0.214274163161675),
    (-0.0511041056535807, 0.226073200069370),
    (1829.15146461355, 455.478499142212),
]


def test_the_data_of_longley_have_the_certified_digits_without_a_warning():
    from statsmodels.datasets import longley

    data = longley.load_pandas()
    model = LinearRegression().fit(data.exog, data.endog)
    theta, errors = np.array(LONGLEY).T
    assert digits(np.r_[model.intercept_, model.coef_], theta) > 11
    assert digits(model.summary_.errors, errors) > 11
    assert digits(model.sigma_, 304.854073561965) > 11 and model.dof_ == 9 and model.rank_ == 6
    raw = LinearRegression(fit_intercept=False).fit(np.c_[np.ones(16), data.exog], data.endog)
    assert digits(raw.coef_, theta) > 10 and raw.summary_.condition == pytest.approx(43275, rel=1e-4)


def digits(found, exact):
    """Right digits of the worst number."""
    return -np.log10(max(np.abs(found / exact - 1).max(), 1e-17))


@pytest.mark.parametrize("family", ["LinearRegression", "Ridge", "Lasso", "LogisticRegression", "LinearDiscriminant"])
def test_coefficients_have_the_floating_dtype_of_the_rows_and_the_digits_of_float64(family):
    x = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32) + 100
    y = (x[:, 0] + x[:, 1] ** 2 > 10_100).astype(int)
    narrow, wide = (getattr(ftheta, family)().fit(rows, y) for rows in (x, x.astype(float)))
    assert (narrow.coef_.dtype, narrow.intercept_.dtype, wide.coef_.dtype) == (np.float32, np.float32, np.float64)
    np.testing.assert_allclose(narrow.coef_, wide.coef_, rtol=1e-6)


def test_several_targets_are_as_many_models():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(30, 2)), rng.normal(size=(30, 3)) * [1, 10, 100]
    model = LinearRegression().fit(x, y)
    assert model.sigma_.shape == (3,) and model.predict_interval(x).shape == (30, 3, 2)
    for t in range(3):
        alone = LinearRegression().fit(x, y[:, t])
        np.testing.assert_allclose(model.predict_interval(x)[:, t], alone.predict_interval(x), rtol=1e-12)
    with pytest.raises(InputError, match="A summary is of one target, and there are several. Fit one model for each."):
        _ = model.summary_


# ---- intervals


def test_an_interval_that_cannot_be_had_is_refused_in_one_sentence():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(10, 2)), rng.normal(size=10)
    model = LinearRegression().fit(x, y)
    with pytest.raises(InputError, match=r"level is 95; a share strictly between 0 and 1"):
        model.predict_interval(x, 95)
    with pytest.raises(InputError, match=r"Unknown of: 'means'. Did you mean 'mean'\? Known: new, mean."):
        model.predict_interval(x, of="means")
    short = LinearRegression().fit(np.c_[x, x], y)
    assert short.root_ is None and short.rank_ == 2 and np.isfinite(short.sigma_)
    with pytest.raises(InputError, match=r"fitted to 10 rows with X of rank 2 in 4 columns: an interval needs indep"):
        short.predict_interval(np.c_[x, x])
    exact = LinearRegression().fit(x[:3], y[:3])
    assert exact.dof_ == 0 and exact.sigma_ == np.inf
    with pytest.raises(InputError, match=r"fitted to 3 rows with X of rank 2 in 2 columns: .* more rows than param"):
        exact.predict_interval(x)


# ---- summaries and files


def test_the_summary_is_of_the_rows_it_was_fitted_to():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(30, 2)) + [1e6, 0], columns=["age", "bmi"])
    y, weight = frame["bmi"] * 2 + rng.normal(size=30), np.r_[rng.uniform(0.5, 2, 29), 0]
    model = LinearRegression().fit(frame, y, weight)
    summary = model.summary_
    assert summary.names == ("intercept", "age", "bmi") and summary.n == 29
    np.testing.assert_allclose(summary.coefficients, [model.intercept_, *model.coef_], rtol=1e-8)
    np.testing.assert_allclose(model.summarize(frame, y, weight).errors, summary.errors, rtol=1e-12)
    for other in (
        (frame, -y, weight),
        (frame, y + 9, weight),
        (frame, y - 9, weight),
        (frame, y, None),
        (frame[::-1], y, weight),
    ):
        with pytest.raises(InputError, match="A fit to these rows gives another plane: predictions differ by up to"):
            model.summarize(*other)
    assert LinearRegression(fit_intercept=False).fit(frame.to_numpy(), y).summary_.names == ("x0", "x1")


def test_a_file_holds_no_rows_and_says_how_to_have_a_summary(tmp_path):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    model = LinearRegression().fit(x, y)
    model.save(tmp_path / "model")
    for other in (ftheta.load(tmp_path / "model"), copy.deepcopy(model)):
        assert not hasattr(other, "_kept") and other.dof_ == 27
        with pytest.raises(
            InputError, match=r"needs the rows it was fitted to, and a file has none: call summarize\(X, y\)"
        ):
            _ = other.summary_
        assert np.array_equal(other.predict_interval(x), model.predict_interval(x))
        assert other.summarize(x, y).r2 == pytest.approx(model.summary_.r2)
    LinearRegression().fit(x[:, :1].repeat(2, 1), y).save(tmp_path / "short")
    assert ftheta.load(tmp_path / "short").root_ is None


# ---- the course


@pytest.mark.ledger("A014", covers="ftheta.models.LinearRegression")
def test_a_prediction_is_the_intercept_and_a_weighted_sum():
    model = LinearRegression().fit(AGE_BMI, CHOLESTEROL)
    model.intercept_, model.coef_ = 25.684211, np.array([0.936842, 5.789474])
    assert model.predict([[30, 24.0]]) == pytest.approx([192.737], abs=1e-3)
    rows = np.array([[30, 24.0], [0, 0], [1, 1]])
    assert model.predict(rows) == pytest.approx([25.684211 + 0.936842 * age + 5.789474 * bmi for age, bmi in rows])


@pytest.mark.ledger(
    "A015",
    covers="ftheta.models.LinearRegression",
    says="θ₀ dictates the elevation of the hyperplane corresponding to f(x) = 0",
    printed="f(x) = 0",
    right="y = f(x)",
)
def test_the_intercept_is_the_height_of_the_graph_above_0_and_not_where_it_is_0(ledger):
    x = np.array([[0.0], [1], [3]])
    line = LinearRegression().fit(x, 1 + 2 * x[:, 0])
    heights = {"y = f(x)": line.predict([[0.0]])[0], "f(x) = 0": -line.intercept_ / line.coef_[0]}  # 1 and -0.5
    ledger(*(name for name, height in heights.items() if height == pytest.approx(line.intercept_)))
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    plain, lifted = LinearRegression().fit(x, y), LinearRegression().fit(x, y + 5)
    np.testing.assert_allclose(lifted.predict(x) - plain.predict(x), 5, rtol=1e-13)
    np.testing.assert_allclose(lifted.coef_, plain.coef_, rtol=1e-12)


@pytest.mark.middle
@pytest.mark.slow
@pytest.mark.ledger("A022", covers="ftheta.train.minimize")
def test_gradient_descent_needs_a_step_below_2_over_the_largest_curvature_or_scaled_columns():
    closed = LinearRegression().fit(AGE_BMI, CHOLESTEROL)
    a, y = np.c_[np.ones(5), AGE_BMI], torch.tensor(CHOLESTEROL)

    def total(columns):
        return lambda theta: (torch.tensor(columns) @ theta - y).square().sum()

    limit = 2 / np.linalg.eigvalsh(2 * a.T @ a)[-1]
    assert limit == pytest.approx(6.57e-5, rel=1e-3)
    below, above = (minimize(total(a), [0.0, 0, 0], lr=k * limit, steps=60) for k in (0.99, 1.01))
    assert np.all(np.diff(below.values) < 0) and above.values[-1] > above.values[0]
    assert np.abs(below.best - np.r_[closed.intercept_, closed.coef_]).max() > 1  # 60 steps are by far too few
    mean, scale = AGE_BMI.mean(0), AGE_BMI.std(0)
    z = (AGE_BMI - mean) / scale
    layer = affine([0.0, 0], 0.0)
    lr = 1.9 / (2 * np.linalg.norm(np.c_[np.ones(5), z], 2) ** 2 / 5)  # of the mean
    source = Rows(torch.tensor(z), y, batch_size=5)
    iterate(Trainer(Supervised(layer, squared), source, optimizer="gd", lr=lr), steps=1500)
    coef = layer.weight.detach().numpy()[0] / scale
    assert [layer.bias.item() - mean @ coef, *coef] == pytest.approx([closed.intercept_, *closed.coef_], rel=1e-6)


@pytest.mark.middle
@pytest.mark.slow
@pytest.mark.ledger("B001", covers="ftheta.train.Trainer", printed="of one example", right="of all rows")
def test_a_linear_neuron_trained_on_the_mean_square_is_linear_regression(ledger):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 3))
    y = x @ [1.0, -2.0, 0.5] + 0.3 + 0.1 * rng.normal(size=100)
    closed, off = LinearRegression().fit(x, y), {}
    for name, rows, steps in (("of all rows", slice(None), 2000), ("of one example", slice(1), 100)):
        neuron = affine([0.0, 0, 0], 0.0)
        source = Rows(torch.tensor(x[rows]), torch.tensor(y[rows]), batch_size=100)
        iterate(Trainer(Supervised(neuron, squared), source, optimizer="gd", lr=0.2), steps=steps)
        off[name] = max(
            np.abs(neuron.weight.detach().numpy()[0] - closed.coef_).max(), abs(neuron.bias.item() - closed.intercept_)
        )
        if name == "of all rows":
            answers = neuron(torch.tensor(x)).detach().numpy()[:, 0]
            np.testing.assert_allclose(answers, closed.predict(x), atol=1e-14)
    assert off["of all rows"] < 1e-14 < 0.1 < off["of one example"]
    ledger(min(off, key=off.get))


@pytest.mark.ledger("A005", "B152", covers="ftheta.train.evaluate")
def test_the_mean_loss_of_the_cholesterol_line():
    model = LinearRegression().fit(AGE_BMI, CHOLESTEROL)
    assert [model.intercept_, *model.coef_] == pytest.approx([25.684211, 0.936842, 5.789474], abs=1e-6)
    layer = affine(model.coef_, model.intercept_)
    risk = mean_loss(layer, squared, AGE_BMI, CHOLESTEROL)
    assert risk == pytest.approx(1.2632, abs=5e-5)
    half = mean_loss(layer, lambda raw, y: squared(raw, y) / 2, AGE_BMI, CHOLESTEROL)
    assert half == pytest.approx(np.sum((model.predict(AGE_BMI) - CHOLESTEROL) ** 2) / (2 * 5), rel=1e-12)
    assert mean_loss(layer, squared, AGE_BMI[:4], CHOLESTEROL[:4]) != pytest.approx(risk, rel=1e-2)  # other data


@pytest.mark.ledger("C003", covers="ftheta.train.Trainer")
@pytest.mark.parametrize(("optimizer", "lr"), [("lbfgs", 1.0), ("gd", 0.1), ("momentum", 0.02)])
def test_training_returns_the_minimiser_the_history_and_the_same_again(optimizer, lr):
    x, y = LINE
    closed = LinearRegression().fit(x, y)
    assert [closed.intercept_, *closed.coef_] == pytest.approx([1.1, 1.1])
    assert np.sum((closed.predict(x) - y) ** 2) == pytest.approx(2.7)
    runs = []
    for _ in range(2):
        layer = affine([0.0], 0.0)
        assert 4 * mean_loss(layer, squared, x, y) == pytest.approx(39)
        source = Rows(torch.tensor(x), torch.tensor(y), batch_size=4)
        trainer = Trainer(Supervised(layer, squared), source, optimizer=optimizer, lr=lr, seed=3)
        history = iterate(trainer, rounds=300)
        runs.append(([row["loss"] for row in history], layer.weight.item(), layer.bias.item()))
    losses, slope, intercept = runs[0]
    assert runs[0] == runs[1] and losses[0] * 4 == pytest.approx(39)
    assert (slope, intercept) == pytest.approx((1.1, 1.1), abs=1e-5) and losses[-1] * 4 == pytest.approx(2.7, rel=1e-6)


@pytest.mark.ledger("A016", covers="ftheta.train.Supervised")
def test_any_discrepancy_is_averaged_and_minimised():
    y = np.array([0.0, 1, 2, 3, 14])
    x = np.zeros((5, 1))
    discrepancies = {
        "square": (squared, np.mean(y)),
        "absolute": (lambda raw, y: (raw[:, 0] - y).abs(), np.median(y)),
        "quantile of 70 %": (lambda raw, y: torch.maximum(0.7 * (y - raw[:, 0]), 0.3 * (raw[:, 0] - y)), 3.0),
    }
    for d, best in discrepancies.values():
        layer = affine([0.0], 5.0)
        at_five = d(torch.full((5, 1), 5.0), torch.tensor(y)).mean().item()
        assert mean_loss(layer, d, x, y) == pytest.approx(at_five)
        training = Training(schedule="linear")
        source = Rows(torch.tensor(x), torch.tensor(y), batch_size=5)
        trainer = Trainer(Supervised(layer, d), source, optimizer="gd", lr=0.3, training=training, horizon=200)
        iterate(trainer, rounds=200)
        assert layer.bias.item() == pytest.approx(best, abs=0.1)
    points = torch.tensor([0.0, 1.0, 2.0])  # a loss need not be a metric: 4 > 1 + 1
    apart = squared(points[[0, 0, 1], None], points[[2, 1, 2]])
    assert apart[0] > apart[1] + apart[2]


@pytest.mark.ledger("C021", covers="ftheta.train.Supervised")
def test_the_signed_error_has_no_minimum():
    _, y = LINE
    x = np.zeros((4, 1))

    def signed(raw, y):
        return y - raw[:, 0]

    risks = [4 * mean_loss(affine([0.0], c), signed, x, y) for c in (0.0, 10.0, 1e3, 1e6)]
    assert risks == pytest.approx([11 - 4 * c for c in (0.0, 10.0, 1e3, 1e6)])  # Σ y - n c
    layer = affine([0.0], 0.0)
    source = Rows(torch.tensor(x), torch.tensor(y), batch_size=4)
    history = iterate(Trainer(Supervised(layer, signed), source, optimizer="gd", lr=1.0), rounds=50)
    assert [row["loss"] for row in history] == pytest.approx([11 / 4 - k for k in range(50)])  # it falls for ever
    assert float(signed(torch.tensor([[0.0], [2.0]]), torch.tensor([1.0, 1.0])).sum()) == 0  # +1 and -1 cancel


@pytest.mark.ledger("A008", covers="ftheta.likelihoods.Categorical")
def test_cross_entropies_are_least_where_the_product_of_probabilities_is_largest():
    """Two classes, several labels and several classes, over grids of logits: also where their frequencies are."""
    grid = torch.linspace(-3, 3, 601, dtype=torch.float64)
    y = torch.tensor([1.0, 0, 1, 1, 0], dtype=torch.float64)
    losses = torch.stack([Bernoulli().total(t.expand(5, 1), y) for t in grid])
    product = (grid.sigmoid()[:, None] ** y * (1 - grid.sigmoid())[:, None] ** (1 - y)).prod(1)
    assert losses.argmin() == product.argmax() == (grid.sigmoid() - 3 / 5).abs().argmin()
    labels = torch.stack([y, 1 - y], 1)  # both losses are summed: each is least by itself
    both = torch.stack(
        [Bernoulli().total(t.expand(5, 2), labels) for t in torch.cartesian_prod(grid[::20], grid[::20])]
    )
    p = torch.cartesian_prod(grid[::20], grid[::20]).sigmoid()[:, None]
    assert both.argmin() == (p**labels * (1 - p) ** (1 - labels)).flatten(1).prod(1).argmax()
    classes, z = torch.tensor([0, 1, 1, 2, 1, 0]), torch.cartesian_prod(grid[::10], grid[::10], grid[300:301])
    losses = torch.stack([Categorical().total(t.expand(6, 3), classes) for t in z])
    assert losses.argmin() == z.softmax(1)[:, classes].prod(1).argmax()
    np.testing.assert_allclose(z[losses.argmin()].softmax(0), [2 / 6, 3 / 6, 1 / 6], atol=0.02)


@pytest.mark.ledger("A008", "C027", "C032", covers="ftheta.likelihoods.Gaussian")
def test_the_minimiser_of_a_loss_is_the_maximiser_of_its_likelihood():
    y = np.array([1.0, 2, 4])
    grid = np.linspace(0, 5, 3001)
    product = np.prod(norm.pdf(y[:, None], grid, 1.3), 0)
    logs = norm.logpdf(y[:, None], grid, 1.3).sum(0)
    squares = ((y[:, None] - grid) ** 2).sum(0)
    tops = [grid[product.argmax()], grid[logs.argmax()], grid[(-logs).argmin()], grid[squares.argmin()]]
    assert tops == pytest.approx([7 / 3] * 4, abs=1e-3)
    assert 0.1**400 == 0 and 400 * np.log(0.1) == pytest.approx(-921.034, abs=1e-3)
    raw, target = torch.tensor([[1.5], [1.5], [3.0]]), torch.tensor(y)
    sse = ((raw[:, 0] - target) ** 2).sum()
    for scale in (0.5, 1.0, 2.0):
        full = 1.5 * np.log(2 * np.pi * scale**2) + sse / (2 * scale**2)
        assert float(Gaussian(scale).total(raw, target)) == pytest.approx(float(full), rel=1e-6)
    assert float(Gaussian().total(raw, target)) == pytest.approx(3.50682, abs=1e-5)
