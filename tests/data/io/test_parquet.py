"""Parquet: each type of column against what was written; what is no table is one sentence."""

import datetime
import decimal
import io
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ftheta.data import read_parquet
from ftheta.errors import FileFormatError

DAY = datetime.date(2020, 2, 29)


def write(path, columns, **options):
    pq.write_table(pa.table(columns), path, **options)
    return path


@pytest.mark.parametrize(
    "kind", "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 dictionary decimal".split()
)
def test_numbers_are_float64_and_a_missing_one_is_nan(kind, tmp_path):
    values = pa.array([1, None, 3], pa.float64())
    if kind == "dictionary":
        column = values.cast(pa.int32()).dictionary_encode()
    elif kind == "decimal":
        column = pa.array([decimal.Decimal("1.00"), None, decimal.Decimal("3.00")])
    else:
        column = values.cast(getattr(pa, kind)())
    found = read_parquet(write(tmp_path / "a", {"a": column, "b": [1, 2, 3]}))
    assert found.x["a"].dtype == np.float64 and np.array_equal(found.x["a"], [1, np.nan, 3], equal_nan=True)
    assert found.y is None and found.feature_names == ("a", "b")


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view", "dictionary"])
def test_text_is_a_category_of_the_levels_that_occur_sorted(kind, tmp_path):
    text = pa.array(["no", None, "oui", "no", "ja"])
    column = pa.DictionaryArray.from_arrays(pa.array([2, None, 1, 2, 3]), ["unused", "oui", "no", "ja"])
    column = column if kind == "dictionary" else text.cast(getattr(pa, kind)())
    found = read_parquet(write(tmp_path / "a", {"a": column}, row_group_size=2)).x["a"]
    assert found.cat.categories.tolist() == ["ja", "no", "oui"]
    assert found.astype(object).where(found.notna(), None).tolist() == ["no", None, "oui", "no", "ja"]


def test_booleans_are_the_words_and_dates_are_seconds_of_utc(tmp_path):
    noon = pd.Timestamp("2020-02-29 12:00:00", tz="Europe/Berlin")
    columns = {
        "truth": [True, None, False],
        "date": [DAY, None, DAY],
        "time": pa.array([pd.Timestamp("2000-01-01 01:02:03.9"), None, None], pa.timestamp("ns")),
        "zone": pa.array([noon, None, None], pa.timestamp("ms", tz="Europe/Berlin")),
        "empty": pa.nulls(3),
    }
    found = read_parquet(write(tmp_path / "a", columns)).x
    assert found["truth"].astype(object).tolist()[::2] == ["True", "False"] and pd.isna(found["truth"][1])
    assert {str(found[name].dtype) for name in ("date", "time", "zone")} == {"datetime64[s]"}
    assert [str(found[name][0]) for name in ("date", "time", "zone")] == [
        "2020-02-29 00:00:00",
        "2000-01-01 01:02:03",
        "2020-02-29 11:00:00",
    ]
    assert found["empty"].isna().all() and found["empty"].dtype == float


def test_the_target_by_its_kind_and_rows_without_one(tmp_path):
    path = write(
        tmp_path / "a",
        {"k": [3, None, 5], "r": [0.5, 1.5, 2.5], "s": ["b", "a", "b"], "t": [True, False, None], "x": [1.0, 2, 3]},
    )
    whole, real, text, truth = (read_parquet(path, name) for name in "krst")
    assert whole.y.tolist() == [3, 5] and whole.y.dtype == np.int64 and whole.x["x"].tolist() == [1, 3]
    assert whole.notes == ("1 row without 'k' was left out",) and whole.target_names == ("3", "5")
    assert real.y.tolist() == [0.5, 1.5, 2.5] and (real.task, real.target_names) == ("regression", ())
    assert text.y.tolist() == ["b", "a", "b"] and text.target_names == ("a", "b")
    assert truth.y.tolist() == ["True", "False"] and truth.task == "binary"
    assert read_parquet(path, "k", required=False).y is None
    assert read_parquet(path, "z", required=False).x.shape == (3, 5)
    with pytest.raises(FileFormatError, match="Unknown target column 'z'.*Known: k, r, s, t, x"):
        read_parquet(path, "z")


def test_the_index_of_pandas_is_no_feature(tmp_path):
    pd.DataFrame({"a": [1, 2]}, index=[7, 9]).to_parquet(tmp_path / "a")
    found = read_parquet(tmp_path / "a")
    assert found.feature_names == ("a",) and found.notes == ("the index that pandas wrote was left out",)


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ({"a": [1], "tags": [["x"]]}, "column 'tags' holds lists or records; numbers, text, dates or booleans"),
        ({"a": [{"b": 1}]}, "column 'a' holds lists or records"),
        ({"a": [b"raw"]}, "column 'a' is of type binary; numbers"),
        ({"a": [datetime.timedelta(1)]}, r"column 'a' is of type duration\[us\]"),
        ({"a": [1.0, np.inf]}, "row 1, column 'a' holds 'inf'; finite numbers"),
        ({"": [1]}, "1 columns; .*each with a name of its own"),
        ({"a": pa.array([], pa.int64())}, "states 0 rows"),
        ({"y": [1, 2]}, "is the only column"),
        ({"a": [1], "y": [DAY]}, "the target 'y' holds dates; numbers or classes"),
        ({"a": [1], "y": pa.nulls(1)}, "the target 'y' has no values"),
    ],
)
def test_a_column_that_is_none_is_named(columns, text, tmp_path):
    path = write(tmp_path / "a", columns)
    with pytest.raises(FileFormatError, match=text) as caught:
        read_parquet(path, "y" if "y" in columns else None)
    assert str(caught.value).startswith(str(path))


def test_two_columns_of_one_name(tmp_path):
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), tmp_path / "a")
    with pytest.raises(FileFormatError, match="2 columns; .*each with a name of its own"):
        read_parquet(tmp_path / "a")


def content(columns, **options):
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out, **options)
    return out.getvalue()


def test_a_damaged_file_is_one_sentence(tmp_path):
    zeros = {"a": pa.array(np.zeros(10**7)), "b": pa.array(np.zeros(10**7))}
    files = {
        "not Parquet": b"a,b\n1,2\n",
        "cut off": content({"a": [1, 2]})[:-9],
        "empty": b"PAR1PAR1",
        "not UTF-8": content({"a": ["abcd", "efgh"]}).replace(b"abcd", b"ab\xffd"),
        "160 MB of one value": content(zeros, compression="zstd"),
    }
    for case, data in files.items():
        (tmp_path / "a").write_bytes(data)
        with pytest.raises(FileFormatError) as caught:
            read_parquet(tmp_path / "a")
        assert str(caught.value).startswith(str(tmp_path / "a")) and "\n" not in str(caught.value), case


def test_without_pyarrow_the_command_that_installs_it_is_named(tmp_path, monkeypatch):
    path = write(tmp_path / "a", {"a": [1]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(FileFormatError, match=r"Parquet needs pyarrow. Install it: pip install 'ftheta\[data\]'"):
        read_parquet(path)
