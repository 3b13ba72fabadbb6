import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from ftheta.errors import InputError
from ftheta.measure import Backtest, forecast_tests
from ftheta.measure.forecasts import crps_normal


def backtest(**more):
    """Two origins of two steps; errors 1, -2, 0, 3."""
    made = {
        "y": np.array([10.0, 12, 11, 15]),
        "predicted": np.array([9.0, 14, 11, 12]),
        "low": np.array([7.0, 13, 9, 10]),
        "high": np.array([11.0, 15, 13, 14]),
        "naive": np.array([8.0, 8, 12, 12]),
        "scale": np.full(4, 2.0),
        "lead": np.array([1, 2, 1, 2]),
        "origin": np.array([0, 0, 7, 7]),
    }
    return Backtest.of(made | more)


def values(result):
    return {s.name: s.value for s in result.scores().scores}


@pytest.mark.parametrize(("y", "mean", "sd"), [(0.3, 0.0, 1.0), (-2.0, 1.0, 0.5), (10.0, 9.0, 4.0)])
def test_crps_of_a_normal_forecast_is_an_integral_of_its_distribution(y, mean, sd):
    below = quad(lambda v: norm.cdf(v, mean, sd) ** 2, mean - 12 * sd, y)[0]
    above = quad(lambda v: (1 - norm.cdf(v, mean, sd)) ** 2, y, mean + 12 * sd)[0]
    assert crps_normal([y], [mean], [sd])[0] == pytest.approx(below + above, rel=1e-7)


def test_scores_by_hand():
    found = values(backtest())
    assert found["MASE"] == (1 + 2 + 0 + 3) / 4 / 2 and found["MAE"] == 1.5
    assert found["RMSE"] == pytest.approx(np.sqrt(14 / 4))
    assert found["coverage"] == 0.5 and found["mean width"] == (4 + 2 + 4 + 4) / 4  # 12 and 15 lie outside
    sd = np.array([4.0, 2, 4, 4]) / (2 * norm.ppf(0.975))
    expected = crps_normal([10.0, 12, 11, 15], [9.0, 14, 11, 12], sd).mean()
    assert found["CRPS"] == pytest.approx(expected)


def test_columns_of_other_units_count_alike_in_mase():
    small, large = np.array([1.0, 2, 3, 4]), 1e6 * np.array([1.0, 2, 3, 4])
    two = np.column_stack([small, large])
    found = backtest(
        y=two, predicted=two + [1.0, 1e6], naive=two, scale=np.tile([2.0, 1e6], (4, 1)), low=None, high=None
    )
    assert values(found)["MASE"] == pytest.approx((1 / 2 + 1) / 2)
    assert "MASE 0.75, seasonal naive 0" in found.caption


def test_errors_by_steps_ahead_and_the_words_of_the_caption():
    table = backtest().table().columns
    assert list(table["steps ahead"]) == [1, 2] and list(table["forecasts"]) == [2, 2]
    assert list(table["MAE"]) == [0.5, 2.5] and list(table["MAE of seasonal naive"]) == [1.5, 3.5]
    assert list(table["coverage"]) == [1.0, 0.0]
    assert "free runs of up to 2 steps from 2 origins: MASE 0.75, seasonal naive 1.25" in backtest().caption
    assert "one step ahead from 4 origins" in backtest(lead=np.ones(4), origin=np.arange(4)).caption


def test_confidence_intervals_take_origins_not_steps():
    """Steps after one origin belong together: copies of each step narrow nothing."""
    rng = np.random.default_rng(0)
    error, origin = rng.normal(size=20), np.arange(20)
    once = {"y": error, "predicted": np.zeros(20), "naive": np.zeros(20), "scale": np.ones(20), "lead": np.ones(20)}
    nothing = {"low": None, "high": None}
    first = Backtest.of(once | nothing | {"origin": origin}).scores().scores[2]
    copied = {k: np.repeat(v, 5) for k, v in once.items()}
    again = Backtest.of(copied | nothing | {"origin": np.repeat(origin, 5)}).scores().scores[2]
    assert (again.low, again.high) == pytest.approx((first.low, first.high))
    assert first.low < np.abs(error).mean() < first.high


def test_errors_by_origin_are_what_a_paired_test_compares():
    y = np.array([1.0, 2, 3, 4])
    a, b = forecast_tests(y, y + [3, 4, 0, 0], y + 1, [5, 5, 9, 9])
    np.testing.assert_allclose(a, [np.sqrt(12.5), 0])
    np.testing.assert_allclose(b, [1, 1])
    a, b = forecast_tests(y, y + [3, 4, 0, 0], y + [1, 1, 1, 5], [9, 5, 9, 9])  # one step from 5, three from 9
    np.testing.assert_allclose((a, b), [[4, np.sqrt(3)], [1, 3]])
    with pytest.raises(InputError, match="must be the same steps"):
        forecast_tests(y, y[:3], y, [5, 5, 9, 9])


def test_the_figure_shows_what_came_and_the_interval():
    axes = backtest().figure().axes
    np.testing.assert_array_equal(axes[0].lines[0].get_ydata(), [10, 12, 11, 15])
    assert len(axes[0].collections) == 1 and len(backtest(low=None, high=None).figure().axes[0].collections) == 0
    np.testing.assert_array_equal(axes[1].lines[0].get_ydata(), [0.5, 2.5])
    assert axes[0].get_xlabel() == "step (dotted: origins)"
    days = np.arange("2024-01-01", "2024-01-05", dtype="datetime64[D]")
    alone = backtest(lead=np.ones(4), origin=np.arange(4), time=days).figure().axes  # nothing by steps ahead
    assert len(alone) == 1 and alone[0].get_xlabel() == "time" and len(alone[0].lines) == 2
    two = backtest(series=np.array([1, 0, 1, 0])).figure().axes[0]  # rows in the order of time: the first series only
    np.testing.assert_array_equal(two.lines[0].get_ydata(), [10, 11])
