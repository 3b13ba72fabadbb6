"""Forecasts as jobs: what the test part is, how it is scored, and what a run keeps."""

import numpy as np
import pandas as pd
import pytest

from ftheta import jobs, models


@pytest.fixture
def sales(tmp_path, monkeypatch):
    """Ninety days with two gaps."""
    monkeypatch.chdir(tmp_path)
    y = 20 + 5 * np.sin(np.arange(90) * 2 * np.pi / 7) + np.random.default_rng(0).normal(size=90)
    frame = pd.DataFrame({"date": pd.date_range("2024-01-01", periods=90), "units": y}).drop(index=[30, 31])
    frame.to_csv("sales.csv", index=False)
    return frame


def test_a_test_part_is_scored_by_forecasts_that_follow_each_other(sales):
    """Origins every five days; each model sees what came before, and was fitted to the training part only."""
    found = jobs.train("ar", "sales.csv", target="units", time_column="date", horizon=5, report=False)
    split = found.split
    test = sales.iloc[split.test]
    train = sales.iloc[: split.test[0]].set_index("date")["units"]
    assert split.test[0] == len(sales) - len(test)
    model, errors = models.ARForecaster(horizon=5).fit(train), []
    naive = train.asfreq("D").diff(7).abs().mean()
    for start in range(0, len(test), 5):
        past = sales.iloc[: split.test[0] + start].set_index("date")["units"]
        came = test["units"].to_numpy()[start : start + 5]
        errors += list(came - model.predict(past)[: len(came)])
    table = dict(zip(found.result.columns["metric"], found.result.columns["value"], strict=True))
    assert table["RMSE"] == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=1e-6)
    assert table["MASE"] == pytest.approx(np.abs(errors).mean() / naive, rel=1e-6)


def test_a_run_continues_where_its_data_end(sales):
    found = jobs.train("ets", "sales.csv", target="units", time_column="date", horizon=3, report=False)
    again = jobs.open(found.run)
    table = again.predict(horizon=4).frame
    whole = sales.set_index("date")["units"]
    np.testing.assert_allclose(table["prediction"], again.model.predict(whole, horizon=4), rtol=1e-9)
    assert again.predict().frame["time"].iloc[0] == "2024-03-31"


def test_a_new_file_that_goes_on_is_scored_from_its_first_row(sales):
    """Rows before a new file are those that the model was fitted to; a file of other times stands alone."""
    found = jobs.train("ar", "sales.csv", target="units", time_column="date", horizon=2, test=0.2, report=False)
    last = sales.iloc[found.split.test]
    last.to_csv("new.csv", index=False)
    assert found.evaluate("new.csv").caption.startswith(f"new.csv (n = {len(last)})")
    mase = found.evaluate("new.csv").columns["value"][0]
    assert mase == pytest.approx(found.result.columns["value"][0], rel=1e-9)
    last.assign(date=pd.date_range("2010-01-01", periods=len(last))).to_csv("old.csv", index=False)
    alone = int(found.evaluate("old.csv").caption.split("n = ")[1].split(")")[0])
    assert 0 < alone < len(last)
