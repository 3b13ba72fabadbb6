"""Leaks: each planted one is found and counted, clean data is left alone, and what is natural is called so."""

import numpy as np
import pandas as pd
import pytest
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from ftheta.data import holdout, leaks, load
from ftheta.draw import Draw

N = 400
TRAIN, TEST = holdout(N, 0.25, Draw(0))


def clean(seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.normal(3, 2, (N, 3)), columns=["a", "b", "c"]), rng.normal(size=N)


def test_clean_rows_are_left_alone():
    x, y = clean()
    x["city"] = pd.Categorical(np.where(x["a"] > 3, "Oslo", None))
    x["when"] = pd.date_range("2020-01-01", periods=N)
    x.iloc[3, 0] = np.nan
    for target in (None, y, y > 0, np.where(y > 0, "cat", "dog")):
        assert leaks(x, TRAIN, TEST, target) == () == leaks(x.to_numpy(), TRAIN, TEST, target)
    assert leaks(x, TRAIN, TEST[:0], y) == ()


# --- duplicates -------------------------------------------------------------------------------------------------------


def test_rows_on_both_sides_are_counted():
    x, y = clean()
    x.iloc[TEST[:7]] = x.iloc[TRAIN[:7]].to_numpy()
    y[TEST[:4]] = y[TRAIN[:4]]
    said = (
        "7 of 100 test rows have the same features as a training row (4 of them the same target too); "
        "0 of 300 training rows repeat another."
    )
    assert leaks(x, TRAIN, TEST, y) == (said,) == leaks(x.to_numpy(), TRAIN, TEST, y)
    assert leaks(x, TRAIN, TEST) == (said.replace(" (4 of them the same target too)", ""),)


def test_rows_that_repeat_on_one_side_are_no_leak():
    x, y = clean()
    x.iloc[TRAIN[:5]] = x.iloc[TRAIN[5:10]].to_numpy()
    x.iloc[TEST[:5]] = x.iloc[TEST[5:10]].to_numpy()
    assert leaks(x, TRAIN, TEST, y) == ()


def test_rows_with_missing_cells_and_text_are_compared_too():
    x, y = clean()
    x["city"] = pd.Categorical(np.where(np.arange(N) % 2, "Oslo", "Rome"))
    x.loc[TRAIN[0], "a"] = np.nan
    x.iloc[TEST[0]] = x.iloc[TRAIN[0]]
    assert leaks(x, TRAIN, TEST, y)[0].startswith("1 of 100 test rows has the same features as a training row (0 of")


def test_rows_of_few_values_repeat_by_nature_which_is_not_reported():
    assert leaks(pd.DataFrame(np.random.default_rng(0).integers(0, 2, (N, 3))), TRAIN, TEST) == ()


def test_copies_are_reported_although_as_many_repeat_in_the_training_part():
    """60 rows of a table of ordinary columns appended to it, and the whole shuffled; two columns of 30 values each."""
    rng = np.random.default_rng(0)
    area, rooms = rng.normal(90, 25, N).round(), rng.integers(1, 7, N)
    plain = pd.DataFrame({"area": area, "rooms": rooms, "city": rng.choice(["Oslo", "Rome"], N)})
    plain["day"] = rng.integers(0, 700, N)
    both = pd.concat([plain, plain[:60]]).sample(frac=1.0, random_state=0)
    rows = np.arange(len(both))
    assert "test rows have the same features as a training row" in leaks(both, rows[100:], rows[:100])[0]
    assert leaks(plain, TRAIN, TEST) == leaks(pd.DataFrame(rng.integers(0, 30, (N, 2))), TRAIN, TEST) == ()


def test_the_twins_of_iris_are_found_and_no_other_data_set_has_any():
    for name in ("iris", "wine", "digits", "diabetes", "breast-cancer"):
        data = load(name)
        twins = data.x.duplicated(keep=False)
        assert twins.sum() == (2 if name == "iris" else 0)
        aside = np.flatnonzero(twins)[:1].tolist() or [0]
        said = leaks(data.x, np.setdiff1d(np.arange(data.rows), aside), aside, data.y)
        assert len(said) == (name == "iris")
        assert not said or said[0].startswith("1 of 1 test rows has the same features as a training row (1 of them")


# --- scaling ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ddof", [0, 1])
def test_columns_standardised_over_all_rows_are_named(ddof):
    x, y = clean()
    x["b"] = (x["b"] - x["b"].mean()) / x["b"].std(ddof=ddof)
    assert leaks(x, TRAIN, TEST, y) == (
        "Column 'b' has mean 0 and standard deviation 1 over all rows, but not over the training rows: scaled before "
        "the split, so the training rows depend on the test rows; scale after it.",
    )


def test_of_many_scaled_columns_five_are_named():
    x = StandardScaler().fit_transform(np.random.default_rng(0).normal(3, 2, (N, 8)))
    (said,) = leaks(x, TRAIN, TEST)
    assert said.startswith("Column 0, Column 1, Column 2, Column 3, Column 4 and 3 more have mean 0 and")
    holes = x.copy()
    holes[::7, 0] = np.nan
    holes[:, 0] = StandardScaler().fit_transform(holes[:, :1])[:, 0]
    assert leaks(holes, TRAIN, TEST) == (said,)


@pytest.mark.parametrize(("Scaler", "what"), [(StandardScaler, "mean 0 and standard"), (MinMaxScaler, "minimum 0 and")])
def test_scaling_after_the_split_is_no_leak(Scaler, what):
    x, _ = clean()
    x.iloc[TEST[:2]] = [[100.0] * 3, [-100.0] * 3]
    right = Scaler().fit(x.to_numpy()[TRAIN]).transform(x.to_numpy())
    wrong = Scaler().fit_transform(x.to_numpy())
    assert leaks(right, TRAIN, TEST) == ()
    assert f"Column 0, Column 1, Column 2 have {what}" in leaks(wrong, TRAIN, TEST)[0]


def test_columns_that_run_from_0_to_1_by_nature_are_no_leak():
    rng = np.random.default_rng(0)
    x = pd.DataFrame(
        {"flag": rng.integers(0, 2, N), "share": rng.integers(1, 100, N) / 100, "noise": rng.normal(size=N)}
    )
    x = x.astype(float)
    x.loc[TEST[0], "share"], x.loc[TEST[1], "share"] = 0.0, 1.0
    x["grey"] = np.where(np.arange(N) == TEST[0], 0.0, np.where(np.arange(N) == TEST[1], 1.0, 1 / 3))
    assert leaks(x, TRAIN, TEST) == ()


def test_a_column_that_is_standard_in_the_training_part_too_is_no_leak():
    x, y = clean()
    x["sign"] = 1.0
    x.loc[[*TRAIN[::2], *TEST[::2]], "sign"] = -1.0
    assert x["sign"].mean() == x["sign"][TRAIN].mean() == 0 and leaks(x, TRAIN, TEST, y) == ()


def test_numbers_without_an_end_are_no_error():
    x, y = clean()
    x.iloc[0, 0], x.iloc[1, 0], x["b"] = np.inf, -np.inf, np.nan
    assert leaks(x, TRAIN, TEST, y) == ()


# --- the target -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "target", "relation"),
    [
        (lambda y: y, lambda y: y, "equals"),
        (lambda y: 3 - 2 * y, lambda y: y, "always rises or always falls with"),
        (np.exp, lambda y: y, "always rises or always falls with"),
        (lambda y: (y > 0) * 1.0, lambda y: y > 0, "equals"),
        (lambda y: np.where(y > 0, 7, 3), lambda y: np.where(y > 0, "cat", "dog"), "maps one-to-one onto"),
        (lambda y: np.where(y > 0, "cat", "dog"), lambda y: np.where(y > 0, "cat", "dog"), "equals"),
        (lambda y: np.digitize(y, [-1, 0, 1]), lambda y: 3 - np.digitize(y, [-1, 0, 1]), "maps one-to-one onto"),
    ],
)
@pytest.mark.parametrize("ordered", [False, True])
def test_the_target_under_another_name_is_found(column, target, relation, ordered):
    x, y = clean()
    y = np.sort(np.resize(y, 5000)) + np.arange(5000) * 1e-9 if ordered else y
    x = x.iloc[np.arange(len(y)) % N].reset_index(drop=True) + np.arange(len(y))[:, None] % 97
    x["code"] = column(y)
    said = leaks(x, TRAIN, TEST, target(y))
    assert said == (f"Column 'code' {relation} the target: the answer is among the features; leave that column out.",)


def test_columns_that_only_go_with_the_target_are_no_leak():
    x, y = clean()
    x["near"], x["number"], x["coarse"] = y + 1e-3 * x["a"], np.arange(N), np.round(y)
    assert leaks(x, TRAIN, TEST, y) == ()
    assert leaks(x, TRAIN, TEST, (y > 0) ^ (np.arange(N) == 7)) == ()
    x["flag"] = y > 0
    assert leaks(x, TRAIN, TEST, (y > 0) ^ (np.arange(N) == 7)) == ()
    assert leaks(x[:10], [0, 1, 2], [3, 4], y[:10] > 0) == ()  # too few rows to speak of
