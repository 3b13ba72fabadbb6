"""Forecasts on the command line: files with gaps, several series, columns known ahead, stamps of all sorts."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ftheta import jobs

T = np.arange(72)
UNITS = (100 + T + 20 * np.sin(T * np.pi / 6) + np.random.default_rng(0).normal(size=72)).round(2)
ROLES = ("--target", "units", "--time-column", "date", "--no-report")


def monthly(form="%Y-%m-%d"):
    return pd.DataFrame({"date": pd.date_range("2015-01-01", periods=72, freq="MS").strftime(form), "units": UNITS})


def stores():
    """Two stores; promo acts at its own day, and is known five days longer than the sales."""
    rng, rows = np.random.default_rng(1), []
    for s, level in (("north", 20.0), ("south", 80.0)):
        promo, y = (rng.random(65) < 0.3).astype(int), level
        for k, day in enumerate(pd.date_range("2024-01-01", periods=65).strftime("%Y-%m-%d")):
            y = level + 0.5 * (y - level) + 6 * promo[k] + 0.1 * rng.normal()
            row = {"day": day, "store": s, "sales": y if k < 60 else None, "promo": promo[k], "note": "x"}
            rows.append(row)
    return pd.DataFrame(rows).sample(frac=1, random_state=0)


@pytest.mark.middle
def test_a_hundred_steps_after_the_training_file_is_gone(ok):
    monthly("%Y-%m").to_csv("sales.csv", index=False)
    done = ok("train", "ar", "sales.csv", "--horizon", "6", "--no-report")  # the only numbers, the only dates
    assert "ar (forecast) on sales: 58 training, 14 test rows, 1 column" in done.err
    assert "baseline: the seasonal naive forecast" in done.out
    assert "test part (n = 14): free runs of up to 6 steps from 3 origins; " in done.out
    pd.read_csv("sales.csv").to_csv("kept.csv", index=False)
    Path("sales.csv").unlink()
    ok("predict", "last", "--horizon", "100", "-o", "out.csv")
    out = pd.read_csv("out.csv")
    assert list(out) == ["step", "time", "prediction", "low", "high"] and len(out) == 100
    assert out["time"].iloc[[0, -1]].tolist() == ["2021-01-01", "2029-04-01"]  # after the test part
    truth = 100 + np.arange(72, 84) + 20 * np.sin(np.arange(72, 84) * np.pi / 6)
    assert np.abs(out["prediction"][:12] - truth).mean() < 4 and (out["low"] < out["high"]).all()
    assert "time" in ok("predict", "last").out and len(ok("predict", "last").out.splitlines()) == 1 + 6
    ok("predict", "last", "kept.csv", "--horizon", "10", "-o", "again.csv")
    pd.testing.assert_frame_equal(pd.read_csv("again.csv"), out[:10])


@pytest.mark.middle
def test_gaps_and_rows_out_of_order_change_no_time_stamp(ok):
    days = pd.DataFrame({"date": pd.date_range("2024-01-06 12:00", periods=80), "units": np.sin(np.arange(80) / 3)})
    days = days.drop(index=[20, 21, 40]).sample(frac=1, random_state=0)
    days.to_csv("days.csv", index=False)
    ok("train", "ets", "days.csv", *ROLES, "--horizon", "3")
    model = jobs.open("last").model
    assert model.input_.facts["missing"].sum() == 3
    assert str(model.forecast(horizon=1).times[0][0]) == "2024-03-11 12:00:00"  # after the training part
    ok("predict", "last", "-o", "out.csv")
    assert pd.read_csv("out.csv")["time"].tolist() == [f"2024-03-{d} 12:00:00" for d in (26, 27, 28)]


@pytest.mark.middle
def test_several_stores_with_a_column_known_ahead(ok, refused):
    stores().to_csv("stores.csv", index=False)
    roles = ("--target", "sales", "--time-column", "day", "--group", "store", "--known-ahead", "promo")
    done = ok("train", "ar", "stores.csv", *roles, "--horizon", "5", "--no-report")
    assert "96 training, 24 test rows, 2 columns" in done.err and "'note' holds text and is left out" in done.err
    ok("predict", "last", "-o", "out.csv")
    out = pd.read_csv("out.csv")
    assert out["series"].value_counts().to_dict() == {"north": 5, "south": 5}
    whole = stores().sort_values(["store", "day"])
    for name in ("north", "south"):
        level, promo = {"north": 20.0, "south": 80.0}[name], whole[whole.store == name]["promo"].to_numpy()
        y = whole[whole.store == name]["sales"].to_numpy()[59]
        for k, made in enumerate(out[out["series"] == name]["prediction"]):
            y = level + 0.5 * (y - level) + 6 * promo[60 + k]
            assert made == pytest.approx(y, abs=1.0)
    said = refused("predict", "last", "--horizon", "6")
    assert "the columns known ahead (promo) are given for 5 steps after the last value" in said


@pytest.mark.parametrize(
    ("column", "values", "time"),
    [
        ("year", 1960 + np.arange(48) / 4, "1972-01-01"),
        ("when", pd.date_range("2024-01-01", periods=48).strftime("%Y%m%d"), "2024-02-18"),
        ("when", [f"2024-01-{1 + k // 24:02}T{k % 24:02}:00:00+09:00" for k in range(48)],
         "2024-01-02 15:00:00"),
    ],
    ids=["decimal years", "digits", "a time zone"],
)  # fmt: skip
def test_stamps_of_other_sorts(ok, column, values, time):
    pd.DataFrame({column: values, "units": UNITS[:48]}).to_csv("t.csv", index=False)
    ok("train", "naive", "t.csv", "--target", "units", "--time-column", column, "--horizon", "2", "--no-report")
    assert ok("predict", "last").out.splitlines()[1].split(",")[1] == time


@pytest.mark.parametrize(
    ("change", "args", "sentence"),
    [
        (lambda f: pd.concat([f, f[5:6]]), ROLES, r"2015-06-01 00:00:00 is there more than once.*--group"),
        (lambda f: f.assign(units="many"), ROLES, "kernel-ridge learns from data of the kind series"),
        (lambda f: f, (*ROLES, "--known-ahead", "promo"), "--known-ahead: .*promo"),
        (lambda f: f, ("--target", "units", "--time-column", "dat", "--no-report"), "Did you mean 'date'"),
        (lambda f: f[:6], (*ROLES, "--set", "lags=10"), "with lags=10 at least 11 are needed"),
    ],
)
def test_what_cannot_be_forecast_is_answered_in_a_sentence(ft, change, args, sentence):
    change(monthly()).to_csv("sales.csv", index=False)
    done = ft("train", "kernel-ridge", "sales.csv", "--horizon", "3", *args)
    assert done.code == 2 and "Traceback" not in done.err
    assert re.search(sentence, done.err), done.err


@pytest.mark.middle
def test_the_horizon_is_of_series_only(ok, refused):
    monthly().to_csv("sales.csv", index=False)
    ok("train", "ar", "sales.csv", *ROLES, "--horizon", "3")
    assert "horizon" in refused("predict", "last", "--horizon", "0")
    said = refused("train", "svm", "sales.csv", *ROLES[:2], "--horizon", "3")
    assert said == "--horizon: svm gives no forecast. `ftheta models` lists those that do."


@pytest.mark.middle
def test_forecasters_are_compared_by_name(ok):
    monthly().to_csv("sales.csv", index=False)
    done = ok("compare", "sales.csv", *ROLES, "--horizon", "4", "--models", "ar,ets")
    rows = [line.split()[0] for line in done.out.splitlines() if line]
    assert {"ar", "ets", "baseline"} <= set(rows) and "the seasonal naive forecast" in done.out
    assert "mislabeled" not in done.out


@pytest.mark.middle
@pytest.mark.parametrize("model", ["mlp", "lstm"])
def test_nets_forecast_a_column_without_time_stamps(ok, model):
    pd.DataFrame({"v": np.sin(np.arange(120) / 4)}).to_csv("wave.csv", index=False)
    done = ok("train", model, "wave.csv", "--horizon", "4", "--epochs", "3", "--hidden", "4", "--report")
    assert f"{model} (forecast) on wave: 96 training, 24 test rows" in done.err
    page = (jobs.open("last").run.path / "report.html").read_text()
    assert "Forecast and what came" in page and "free runs of up to 4 steps" in page
    assert len(ok("predict", "last", "--horizon", "7").out.splitlines()) == 8
    assert "(n = 120)" not in ok("evaluate", "last", "wave.csv").out  # the first steps have no forecast
