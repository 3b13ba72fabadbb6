"""Coefficients in the user's units with intervals, and the path of a penalty."""

import numpy as np
import pytest
import statsmodels.api as sm
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge as Reference

import ftheta
from ftheta import explain
from ftheta.data import TableEncoder

NAMES = ["age", "bmi", "bp"]


@pytest.fixture(scope="module")
def rows():
    data = load_diabetes(scaled=False)
    return data.data[:, [0, 2, 3]], data.target


@pytest.mark.parametrize("family", [ftheta.LinearRegression, ftheta.Ridge])
def test_slopes_and_intervals_are_those_of_the_users_columns(rows, family):
    x, y = rows
    encoder = TableEncoder().fit(x)
    z, (_, scales) = encoder.transform(x), encoder.axes()
    model = family(**({"alpha": 1e-8} if family is ftheta.Ridge else {})).fit(z, y)
    found = explain.run("coefficients", model, z, y, names=NAMES, scales=scales, target="progress", classes=["unused"])
    truth = sm.OLS(y, sm.add_constant(x)).fit()
    np.testing.assert_allclose(found.per_unit[0], truth.params[1:], rtol=1e-6)
    exact = family is ftheta.LinearRegression
    ends, width = truth.conf_int()[1:].T, 4 * truth.bse[1:]
    shown = np.stack([found.low, found.high])[:, 0]
    np.testing.assert_allclose(shown / width, ends / width, atol=1e-9 if exact else 0.2)
    scaled = truth.params[1:] * x.std(0)
    order = np.argsort(-abs(scaled))
    columns = found.table().columns
    assert columns["column"] == [NAMES[j] for j in order]
    np.testing.assert_allclose(columns["per standard deviation"], scaled[order], rtol=1e-6)
    assert "progress per standard deviation" in found.figure().axes[0].get_xlabel()


def test_classes_have_log_odds_against_the_first(rows):
    x, y = rows
    level = np.digitize(y, [100, 200])
    found = explain.coefficients(ftheta.LogisticRegression().fit(x, level), x, level, classes=["low", "middle", "high"])
    truth = sm.MNLogit(level, sm.add_constant(x)).fit(disp=0)
    np.testing.assert_allclose(found.per_unit, truth.params[1:].T, rtol=1e-4, atol=1e-6)
    assert found.outputs[1] == "the log-odds of high against low"
    separated = (x[:, 1] > 26).astype(int)
    one = explain.coefficients(ftheta.LogisticRegression().fit(x, separated), x, separated)
    assert "drawn with replacement" in one.method and one.low[0, 1] > 0


@pytest.mark.parametrize("model", [ftheta.Ridge(alpha=5.0), ftheta.Lasso(alpha=1.0), ftheta.ElasticNet(alpha=1.0)])
def test_path_goes_through_the_model_at_its_penalty(rows, model):
    x, y = rows
    model.fit(x, y)
    found = explain.path(model, x, y, names=NAMES, target="progress")
    assert found.names == tuple(NAMES) and found.chosen == model.alpha and found.label.startswith("change of progress")
    at = [np.interp(np.log(model.alpha), np.log(found.alphas[::-1]), v[::-1]) for v in found.coefs.T]
    np.testing.assert_allclose(at, model.coef_ * x.std(0), rtol=0.02)
    assert any(line.get_label() == f"chosen: {model.alpha:.3g}" for line in found.figure().axes[0].lines)


def test_other_linear_models_have_coefficients_and_others_are_refused(rows):
    x, y = rows
    found = explain.coefficients(Reference().fit(x, y), x, y)
    assert found.names == ("x1", "x2", "x3") and np.all(found.low <= found.high)
    with pytest.raises(ftheta.InputError, match="names has 1 names; the model has 3"):
        explain.coefficients(Reference().fit(x, y), x, y, names=["one"])


def test_encoder_gives_names_and_units_back():
    import pandas as pd

    dates = pd.date_range("2001-01-01", periods=40, freq="37D")
    frame = pd.DataFrame({"size": np.arange(40) ** 2.0, "sold": dates, "city": ["a", "b"] * 20})
    encoder = TableEncoder().fit(frame)
    names, scales = encoder.axes()
    back = scales[:, 0] + scales[:, 1] * encoder.transform(frame)
    assert names[:2] == ["size", "sold (year)"] and names[-2:] == ["city=a", "city=b"]
    np.testing.assert_allclose(back[:, 0], frame["size"])
    np.testing.assert_allclose(back[:, 1], 2001 + np.arange(40) * 37 / 365.2425, atol=0.01)
    np.testing.assert_array_equal(back[:, -1], frame["city"] == "b")
