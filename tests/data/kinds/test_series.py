import numpy as np
import pandas as pd
import pytest

from ftheta.data.kinds import Series
from ftheta.draw import Draw
from ftheta.errors import FThetaError, InputError


class Owner:
    pass


def checked(X, **settings):
    return Series(**{"window": 3, "log": False, "difference": 0} | settings).check(X, Owner())


def one_batch(panel):
    source = panel.source(None, None, batch_size=10_000, shuffle=False, dtype=__import__("torch").float64, device="cpu")
    (batch,) = source.batches(0, 0, Draw(0))
    return batch


def monthly(n, start="2020-01-01", freq="MS"):
    return pd.date_range(start, periods=n, freq=freq)


@pytest.mark.ledger("B070", covers="ftheta.data.kinds.Series")
def test_windows_hold_the_steps_before_their_target():
    x = np.arange(20.0) ** 1.5
    batch = one_batch(checked(x))
    z = (x - x.mean()) / x.std()
    windows = np.lib.stride_tricks.sliding_window_view(z, 4)
    np.testing.assert_allclose(batch.x[..., 0].numpy(), windows[:, :3])
    np.testing.assert_allclose(batch.y[:, 0].numpy(), windows[:, 3])
    each = one_batch(checked(x, each=True))
    np.testing.assert_allclose(each.y[..., 0].numpy(), windows[:, 1:])


@pytest.mark.ledger("B070", covers="ftheta.data.kinds.Series")
def test_a_lag_embedding_has_as_many_pairs_as_steps_less_lags():
    for lags in (10, 50, 100):
        assert len(one_batch(checked(np.sin(np.arange(1000.0)), window=lags)).y) == 1000 - lags


def test_columns_known_ahead_are_those_of_the_step_that_is_predicted():
    frame = pd.DataFrame({"y": np.arange(10.0), "u": np.arange(10.0) * 10})
    panel = checked(frame, known_ahead=("u",))
    batch, u = one_batch(panel), (frame["u"] - frame["u"].mean()) / frame["u"].std(ddof=0)
    np.testing.assert_allclose(batch.x[0, :, 1].numpy(), u[1:4])
    np.testing.assert_allclose(batch.x[-1, -1, 1].numpy(), u[9])


@pytest.mark.parametrize(
    ("index", "season"),
    [
        (monthly(40), 12),
        (monthly(40, freq="QS"), 4),
        (monthly(40, freq="YS"), 1),
        (monthly(120, freq="W"), 52),
        (monthly(40, freq="D"), 7),
        (monthly(40, freq="B"), 5),
        (monthly(100, freq="h"), 24),
        (monthly(200, freq="30min"), 48),
        (pd.RangeIndex(40), 1),
    ],
)
def test_the_season_is_the_usual_one_of_the_time_stamps(index, season):
    assert checked(pd.Series(np.arange(len(index)) % 5.0, index)).spec.facts["season"] == season


@pytest.mark.parametrize("freq", ["MS", "ME", "QS", "YS", "W", "D", "B", "h", "30min", "2h"])
def test_steps_and_time_stamps_are_two_ways_to_say_the_same(freq):
    index = pd.date_range("2021-03-01", periods=30, freq=freq)
    panel = checked(pd.Series(np.arange(30.0), index))
    again = panel.grid.times(panel.tracks[0].time)
    assert panel.grid.numbers(again).tolist() == panel.tracks[0].time.tolist()
    assert np.diff(panel.tracks[0].time).tolist() == [1] * 29 and len(panel.tracks[0].values) == 30


def test_rows_out_of_order_are_sorted_and_gaps_are_empty_rows():
    index = monthly(12)
    whole = pd.Series(np.arange(12.0), index)
    mixed = whole.drop(index[[3, 4]]).sample(frac=1, random_state=0)
    values = checked(mixed).tracks[0].values[:, 0]
    np.testing.assert_array_equal(values, [0, 1, 2, np.nan, np.nan, 5, 6, 7, 8, 9, 10, 11])
    panel = checked(mixed)
    targets = one_batch(panel)  # neither the gap nor what follows it: the gap is filled with a line that leads there
    z = (np.array([6.0, 7, 8, 9, 10, 11]) - np.nanmean(values)) / np.nanstd(values)
    np.testing.assert_allclose(targets.y[:, 0].numpy(), z)
    each = one_batch(checked(mixed, each=True))
    learned = each.weight[:, None] if each.weight.ndim == 1 else each.weight
    np.testing.assert_array_equal(learned[0].numpy(), [1, 1, 0][: learned.shape[1]])


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        (pd.Series([1.0, 2, 3], pd.to_datetime(["2020-01-01", "2020-01-01", "2020-01-02"])), "more than once"),
        (pd.Series(range(5), pd.Timestamp("2020") + pd.to_timedelta([0, 60, 120, 180, 197], "min")), "evenly"),
        (pd.DataFrame({"a": [1.0, 2], "b": ["x", "y"]}), "does not hold numbers"),
        (pd.Series(range(3), pd.Index([pd.Timestamp("2020-01-01", tz="UTC"), pd.Timestamp("2020-01-02", tz="CET"),
                                       pd.Timestamp("2020-01-03", tz="UTC")], dtype=object)), "several time zones"),
        (np.zeros((0,)), "T >= 1"),
        (np.zeros((2, 2, 2)), "takes a series"),
        ([1.0, np.inf], "inf"),
        ("text", "takes a series"),
    ],
)  # fmt: skip
def test_what_is_no_series_is_refused_in_a_sentence(X, sentence):
    with pytest.raises(FThetaError, match=sentence):
        checked(X)


def test_a_series_shorter_than_its_lags_says_what_is_needed():
    with pytest.raises(InputError, match=r"3 steps; with lags=3 at least 4 are needed"):
        one_batch(checked(np.arange(3.0)))


@pytest.mark.ledger("B070", covers="ftheta.data.kinds.Series")
def test_what_is_learned_of_a_series_comes_from_the_part_that_is_kept():
    x = np.concatenate([np.arange(40.0), np.full(10, 1000.0)])
    panel = checked(x)
    kept = panel.take(np.arange(40))
    spec = panel.kind.learn(kept)
    assert spec.facts["mean"][0] == pytest.approx([19.5]) and spec.facts["values"][-1] == 39
    assert len(one_batch(panel.take(np.arange(40, 50))).y) == 10  # looks back at the rows before
    for index in ([0, 2, 4], [8, 7, 6], [3, 3, 4], np.arange(50) % 3 > 0):
        with pytest.raises(InputError, match="contiguous"):
            panel.take(index)


def test_several_series_are_parted_at_one_time():
    index = pd.MultiIndex.from_product([["a", "b"], monthly(10)])
    panel = checked(pd.Series(np.arange(20.0), index).to_frame("y"))
    assert [t.name for t in panel.tracks] == ["a", "b"] and len(panel) == 20
    first, last = panel.take(slice(0, 12)), panel.take(slice(12, 20))
    assert [t.end for t in first.tracks] == [6, 6] and [t.begin for t in last.tracks] == [6, 6]


@pytest.mark.parametrize("seed", range(3))
def test_a_part_of_a_part_is_a_part_of_the_whole(seed):
    rng = np.random.default_rng(seed)
    rows = [(name, day) for name, start in (("a", 0), ("b", 3)) for day in range(start, 30) if rng.random() < 0.8]
    index = pd.MultiIndex.from_tuples(
        [(name, pd.Timestamp("2024-01-01") + pd.Timedelta(days=day)) for name, day in rows]
    )
    panel = checked(pd.Series(np.arange(float(len(rows))), index).to_frame("y"))
    a, b = 5, len(panel) - 3
    for c, d in ((0, b - a), (2, 20), (7, 9), (b - a - 1, b - a)):
        one, two = panel.take(slice(a, b)).take(slice(c, d)), panel.take(slice(a + c, a + d))
        assert [(t.begin, t.end) for t in one.tracks] == [(t.begin, t.end) for t in two.tracks]


def test_logarithms_and_differences_where_they_help():
    t = np.arange(144)
    rng = np.random.default_rng(0)
    grows = pd.Series(np.exp(0.01 * t + 0.3 * np.sin(2 * np.pi * t / 12) + 0.02 * rng.normal(size=144)), monthly(144))
    facts = Series(window=3).check(grows, Owner()).spec.facts
    assert facts["log"].tolist() == [1] and facts["difference"] == 12
    zero = grows.where(np.arange(144) != 50, 0.0)  # which has no logarithm
    assert Series(window=3).check(zero, Owner()).spec.facts["log"].tolist() == [0]
    noise = Series(window=3).check(10 + rng.normal(size=144), Owner()).spec.facts
    assert noise["log"].tolist() == [0] and noise["difference"] == 0
    walk = Series(window=3).check(np.cumsum(rng.normal(size=400)), Owner()).spec.facts
    assert walk["difference"] == 1
    assert Series(window=3).check(np.full(30, 4.0), Owner()).spec.facts["difference"] == 0
