"""Plans of columns: what each kind of column becomes, against pandas and hand-made answers."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import HashingVectorizer

from ftheta.data import TableEncoder
from ftheta.data.encode.columns import Dropped, Levels, fences, learn, plan_of
from ftheta.data.encode.table import BLOCK, encoder_of
from ftheta.errors import FileFormatError, InputError


def test_a_missing_number_takes_the_mean_and_is_marked():
    column = pd.Series([1.0, np.nan, 3.0, 5.0], name="a")
    plan = learn(column, "a")
    assert plan.outputs == ("a", "a missing") and plan.mean == 3 and plan.scale == pytest.approx(np.sqrt(8 / 3))
    np.testing.assert_allclose(plan.apply(column)[:, 0], [-2 / plan.scale, 0, 0, 2 / plan.scale])
    assert plan.apply(column)[:, 1].tolist() == [0, 1, 0, 0]


@given(st.lists(st.sampled_from(["a", "b", "c", "d", None]), min_size=2, max_size=60))
def test_levels_are_one_hot_as_pandas_makes_them(cells):
    column = pd.Series(cells, dtype=object)
    plan = learn(column, "x")
    if isinstance(plan, Dropped):
        assert column.isna().all() or column.nunique() == 1 or column.nunique() > len(column.dropna()) / 2
        return
    truth = pd.get_dummies(column.astype("category"))
    out = plan.apply(column)
    for level in plan.levels:
        assert out[:, plan.outputs.index(f"x={level}")].tolist() == truth[level].tolist()
    marks = {"x rare": column.isin(plan.rare), "x missing": column.isna()}
    for name in plan.outputs[len(plan.levels) :]:
        assert out[:, plan.outputs.index(name)].tolist() == marks[name].tolist()
    assert (out.sum(1) <= 1).all()


def test_rare_levels_share_a_column_that_new_levels_take_too():
    column = pd.Series(["a"] * 20 + ["b"] * 20 + ["c"] * 2 + ["d"], name="x")
    plan = learn(column, "x")
    assert plan.levels == ("a", "b") and plan.rare == ("c", "d") and plan.outputs == ("x=a", "x=b", "x rare")
    new = pd.Series(["a", "zebra", "c", None])
    assert plan.apply(new).tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 1], [0, 0, 0]]
    assert plan.new_row_note(new) == "column 'x': 1 row with levels not seen in training ('zebra'), taken as rare"
    assert plan.new_row_note(column) == ""


def test_a_level_is_rare_by_its_share_of_all_rows_and_missing_cells_are_rows():
    cells = ["a"] * 600 + ["b"] * 397 + ["c"] * 3
    assert learn(pd.Series(cells), "x").levels == ("a", "b", "c")  # 3 of 1,000
    plan = learn(pd.Series(cells + [None] * 3000), "x")
    assert plan.levels == ("a", "b") and plan.rare == ("c",)  # 3 of 4,000


def test_a_new_level_without_a_rare_column_is_none_of_the_levels():
    plan = learn(pd.Series(["a", "b"] * 5), "x")
    assert plan.outputs == ("x=a", "x=b")
    assert plan.apply(pd.Series(["b", "a", "c", None])).tolist() == [[0, 1], [1, 0], [0, 0], [0, 0]]
    assert "1 missing cell, none in training; no level is taken" in plan.new_row_note(pd.Series(["a", None]))
    assert "2 rows with levels not seen in training ('c', 'd'), taken as none" in plan.new_row_note(
        pd.Series(["c", "d"])
    )


def test_at_most_a_hundred_levels_have_a_column():
    plan = learn(pd.Series([f"l{i}" for i in range(150) for _ in range(3 + (i < 100))]), "x")
    assert len(plan.levels) == 100 and len(plan.rare) == 50 and set(plan.levels) == {f"l{i}" for i in range(100)}


def test_levels_written_as_numbers_in_a_new_file_are_the_same_levels():
    plan = learn(pd.Series(["10", "7", "A"] * 5), "x")
    assert plan.apply(pd.Series([10.0, 7.0, np.nan])).tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 0]]


def test_words_in_a_new_column_of_numbers_are_missing_and_said():
    plan = learn(pd.Series([1.0, 2.0, 3.0]), "a")
    new = pd.Series(["2,0", "many", "1"], dtype="category")
    np.testing.assert_allclose(
        plan.apply(new)[:, 0] * plan.scale + plan.mean, [2, 2, 1]
    )  # the mean where it is missing
    assert plan.new_row_note(new) == "column 'a': 1 cells could not be read as numbers ('many'), taken as missing"
    assert plan.new_row_note(pd.Series([1.0, np.nan])).endswith("1 missing cell, none in training; the mean is taken")
    assert plan.new_row_note(pd.Series([1.0])) == ""


@pytest.mark.parametrize(
    ("values", "name", "dropped"),
    [
        (np.arange(100.0), "anything", True),
        (np.sort(np.random.default_rng(0).permutation(125)[:100]).astype(float), "n", True),  # rows of a split
        (1.0 + np.arange(100.0), "from one", True),
        (np.arange(100.0)[::-1], "down", False),
        (np.arange(1960.0, 2020.0), "year", False),
        (np.arange(1960.0, 2020.0), "row", True),
        (np.random.default_rng(0).permutation(100).astype(float), "shuffled", False),
        (np.random.default_rng(0).permutation(100) * 37.0, "customer_id", True),
        (np.random.default_rng(0).permutation(100) * 37.0, "customer", False),
        (np.arange(100.0) * 1000, "dose", False),
        (np.arange(100.0) + 0.5, "half", False),
        (np.arange(15.0), "few", False),
        (np.arange(100.0) // 2, "id", False),
        (np.append(np.arange(99.0), np.nan), "holes", False),
    ],
)
def test_what_numbers_the_rows_is_an_identifier(values, name, dropped):
    plan = learn(pd.Series(values), name)
    assert isinstance(plan, Dropped) == dropped
    if dropped:
        assert "identifier" in plan.description and plan.outputs == () and plan.apply(pd.Series(values)).shape[1] == 0


def test_text_of_its_own_in_most_rows_is_an_identifier():
    names = pd.Series([f"person {i}" for i in range(40)])
    assert "40 different values in 40 rows" in learn(names, "name").description
    assert isinstance(learn(names.head(19), "name"), Levels)
    assert "every row holds 'x'" in learn(pd.Series(["x"] * 5), "c").description
    assert "it is empty" in learn(pd.Series([None, None]), "c").description


def test_missing_cells_have_no_part_in_whether_text_is_an_identifier():
    names = [f"person {i}" for i in range(30)]
    assert "30 different values in 30 rows" in learn(pd.Series(names + [None] * 70), "name").description
    assert isinstance(learn(pd.Series(names[:10] + [None] * 70), "name"), Levels)  # too few to tell


def test_a_date_is_days_and_places_on_circles():
    days = pd.Series(pd.to_datetime(["2024-01-01 06:00", "2024-07-01 18:00", None, "2024-12-31 00:00"]))
    plan = learn(days, "day")
    assert plan.circles == ("year", "week", "day") and plan.missing
    assert plan.outputs == (
        "day", "day sin of year", "day cos of year", "day sin of week", "day cos of week",
        "day sin of day", "day cos of day", "day missing",
    )  # fmt: skip
    out = plan.apply(days)
    there = np.array([19723.25, 19905.75, 20088.0])  # days since 1970-01-01
    np.testing.assert_allclose(out[[0, 1, 3], 0], (there - there.mean()) / there.std())
    name, shift, scale = plan.axes[0]  # back in years
    np.testing.assert_allclose(shift + scale * out[[0, 1, 3], 0], [2024.0, 2024.5, 2025.0], atol=0.01)
    assert name == "day (year)" and plan.axes[1:] == [(other, 0.0, 1.0) for other in plan.outputs[1:]]
    np.testing.assert_allclose(out[0, 5:7], [1, 0], atol=1e-9)  # six o'clock is a quarter of the day
    np.testing.assert_allclose(out[[0, 1, 3], 1], np.sin(2 * np.pi * there / 365.2425), atol=1e-9)
    assert out[2].tolist() == [0] * 7 + [1] and out[:, -1].tolist() == [0, 0, 1, 0]
    assert learn(pd.Series(pd.to_datetime(["2024-01-01", "2024-01-03"])), "d").circles == ()


def test_a_mixed_frame_is_encoded_as_its_columns_are_and_comes_back_from_json():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "row": np.arange(50),
            "size": np.where(rng.random(50) < 0.2, np.nan, rng.normal(size=50)),
            "town": rng.choice(["Bonn", "Ulm", "Kiel"], 50),
            "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 50), "D"),
            "flag": rng.random(50) < 0.5,
        }
    )
    encoder = TableEncoder("float32").fit(frame)
    out = encoder.transform(frame)
    assert out.dtype == np.float32 and out.shape == (50, len(encoder.get_feature_names_out()))
    pieces = [learn(frame[c], c).apply(frame[c]) for c in frame]
    np.testing.assert_allclose(out, np.hstack(pieces), rtol=1e-6, atol=1e-7)
    again = TableEncoder.from_state(json.loads(json.dumps(encoder.get_state())))
    assert np.array_equal(again.transform(frame), out)
    assert [c["kind"] for c in encoder.describe()] == ["dropped", "number", "levels", "date", "number"]
    without = encoder.align(frame.drop(columns="row"))
    assert np.array_equal(encoder.transform(without), out)  # what was dropped need not be there
    assert encoder.new_row_notes(frame) == []


def test_a_table_sorted_by_year_keeps_the_year():
    year = np.arange(1960, 2020)
    frame = pd.DataFrame({"year": year, "rain": np.random.default_rng(0).normal(size=60)})
    encoder = TableEncoder().fit(frame)
    assert encoder.get_feature_names_out().tolist() == ["year", "rain"]
    np.testing.assert_allclose(encoder.transform(frame)[:, 0], (year - year.mean()) / year.std())


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_frames_of_other_libraries_are_frames(library):
    frame = pd.DataFrame({"a": [0.5, 1.0, None, 4.0], "b": ["x", "y", "x", "y"], "n": [3, 1, 2, 5]})
    if library == "polars":
        other = pytest.importorskip("polars").from_dict(frame.to_dict("list"))
    else:
        other = pytest.importorskip("pyarrow").Table.from_pandas(frame)
    encoder, own = TableEncoder().fit(other), TableEncoder().fit(frame)
    assert encoder.get_feature_names_out().tolist() == own.get_feature_names_out().tolist()
    assert np.array_equal(encoder.transform(other), own.transform(frame))


def test_what_cannot_be_encoded_is_one_sentence():
    with pytest.raises(InputError, match="No column of 1 can be learned from: 'a' is left out: every row holds 'x'"):
        TableEncoder().fit(pd.DataFrame({"a": ["x", "x"]}))
    with pytest.raises(InputError, match=r"0 sample\(s\)"):
        TableEncoder().fit(pd.DataFrame({"a": []}))
    encoder = TableEncoder().fit(pd.DataFrame({"a": [1.0, 2.0]}))
    for row in (1, 2 * BLOCK + 1):
        with pytest.raises(InputError, match=f"Column 'a' holds inf in row {row}; finite numbers are needed"):
            encoder.transform(pd.DataFrame({"a": [1.0] * row + [np.inf]}))
    with pytest.raises(FileFormatError, match="Column 'x' is of kind 'sound'"):
        plan_of({"kind": "sound", "name": "x"})


def test_missing_cells_are_news_only_where_training_had_none():
    column = pd.Series(["a", "b", None, "a", "b", "a", "b"], dtype=object)
    new = pd.Series(["a", None], dtype=object)
    with_holes, without = learn(column, "x"), learn(column.dropna(), "x")
    assert with_holes.new_row_note(new) == "" and "1 missing cell, none in training" in without.new_row_note(new)
    numbers = pd.Series([1.0, 2.0, np.nan, 4.0])
    assert learn(numbers, "x").new_row_note(numbers) == ""
    assert "1 missing cell" in learn(numbers.dropna(), "x").new_row_note(numbers)
    dates = pd.Series(pd.to_datetime(["2020-01-01", "2020-01-03", None]))
    assert learn(dates, "x").new_row_note(dates) == ""
    assert "1 missing cell" in learn(dates.dropna(), "x").new_row_note(dates)


def test_nullable_whole_numbers_are_numbers_with_holes():
    column = pd.Series([1, None, 3, 5], dtype="Int64")
    plan = learn(column, "x")
    assert plan.mean == 3 and plan.apply(column)[:, 1].tolist() == [0, 1, 0, 0]


WORDS = "free win now the to and lunch home see you".split()
TEXTS = [" ".join(np.random.default_rng(i).choice(WORDS, 8)) for i in range(40)]


def test_free_text_is_hashed_as_scikit_learn_does_and_kept_as_json():
    frame = pd.DataFrame({"text": TEXTS, "n": np.arange(40.0) ** 2})
    encoder = TableEncoder(dtype="float64").fit(frame[:30])
    state = json.loads(json.dumps(encoder.get_state()))
    assert state["columns"][0] == {"kind": "text", "name": "text", "width": 512}
    new = frame[30:].assign(text=[*TEXTS[30:38], None, "!"])
    z = encoder_of(state).transform(new)
    theirs = HashingVectorizer(n_features=512).transform([*TEXTS[30:38], "", ""]).toarray() * 512**0.5
    assert np.allclose(z[:, :-1], theirs, atol=1e-5) and np.array_equal(z, encoder.transform(new))
    assert np.allclose((z[:8, :-1] ** 2).mean(1), 1) and not z[8:, :-1].any()
    assert len(set(encoder.get_feature_names_out())) == z.shape[1] == len(encoder.axes()[0])
    with pytest.raises(FileFormatError, match="width"):
        encoder_of({**state, "columns": [{**state["columns"][0], "width": 2**40}]})


def test_a_missing_column_is_not_mistaken_for_one_that_is_in_use():
    encoder = TableEncoder().fit(pd.DataFrame({"size1": [1.0, 2, 4], "size2": [3.0, 1, 2]}))
    for other, words in (("size3", r"missing \(is it 'size3'\?\)"), ("unlike", "missing: the model")):
        with pytest.raises(InputError, match=words):
            encoder.align(pd.DataFrame({"size2": [1.0], other: [2.0]}))


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (TEXTS, "text"),
        (TEXTS[:19], "levels"),  # too few to tell
        ([" ".join(t.split()[:5]) for t in TEXTS], "dropped"),  # names
        (TEXTS[:5] * 8, "levels"),
        ([*TEXTS, *TEXTS, *TEXTS[:5]], "levels"),  # fewer than half of them differ, and fewer than 100
        ([f"{i} {TEXTS[i % 40]}" for i in range(101)] * 3, "text"),
        ([None, *TEXTS], "text"),
    ],
)
def test_what_counts_as_free_text(cells, kind):
    assert learn(pd.Series(cells, dtype=object), "x").kind == kind


@pytest.mark.parametrize(
    ("name", "rows", "out"),
    [("column 1", 8, True), ("Unnamed: 0", 8, True), ("column 1", 4, False),
     ("column 2", 8, False), ("id", 8, False), ("id", 30, True),
     ("orderID", 30, True), ("patientid", 30, True), ("paid", 30, False), ("acid", 30, False), ("size", 30, False)],
)  # fmt: skip
def test_whole_numbers_that_name_rows_are_told_from_those_that_measure(name, rows, out):
    values = np.random.default_rng(0).permutation(rows) + 85.0
    assert (learn(pd.Series(values), name).kind == "dropped") == out
    assert learn(pd.Series(np.append(values, values[0])), name).kind == "number"  # not one for each row
    assert learn(pd.Series(values + 0.5), name).kind == "number"


@pytest.mark.parametrize("n", [12, 60, 5000])
def test_numbers_are_clipped_half_a_range_beyond_two_quantiles(n):
    x = np.random.default_rng(n).standard_t(3, n)
    tail = {12: 2.5 / 12, 60: 2.5 / 60, 5000: 0.005}[n]
    low, high = np.quantile(x, [tail, 1 - tail])
    assert fences(x) == pytest.approx((low - (high - low) / 2, high + (high - low) / 2))


def test_two_mistyped_cells_move_no_other_cell_and_are_moved_themselves():
    x = pd.Series(np.random.default_rng(0).normal(size=100))
    wrong = x.copy()
    wrong[[3, 70]] = 1e7, -1e9
    plan = learn(wrong, "x", clip=True)
    assert abs(plan.apply(wrong)).max() < 4 and plan.description.startswith("(x within [")
    others = x.drop([3, 70])
    assert np.corrcoef(plan.apply(others)[:, 0], others)[0, 1] == pytest.approx(1)
    assert learn(x, "x", clip=True).scale == pytest.approx(plan.scale, rel=0.2)
    assert np.array_equal(plan_of(json.loads(json.dumps(plan.state()))).apply(wrong), plan.apply(wrong))
    assert learn(wrong, "x").scale > 1e7  # not clipped unless asked for


def test_a_column_of_two_numbers_is_not_clipped_and_an_infinite_cell_is_refused():
    assert fences(np.array([0.0] * 999 + [1.0])) is None
    frame = pd.DataFrame({"x": np.arange(50.0) ** 2})
    with pytest.raises(InputError, match="inf"):
        TableEncoder(clip=True).fit(frame).transform(frame.replace(0.0, np.inf))
