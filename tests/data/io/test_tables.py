"""Spreadsheets and JSON give the table that a CSV file of the same cells gives."""

import datetime
import decimal
import gzip
import io
import json
import sys
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ftheta.data import read, read_excel, read_json, read_parquet
from ftheta.errors import FileFormatError

ROWS = [
    ["size", "color", "day", "ok", "y"],
    [1.5, "red", "2024-02-29", True, 3],
    [None, "blue", "2024-03-01", False, 4],
]
TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/'
    'vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>'
    "</Types>"
)
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
RELATIONS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="rId1" Type="{office}/{kind}" Target="{target}"/></Relationships>'
)
BOOK = (
    '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="{office}">'
    '<sheets><sheet name="first" sheetId="1" r:id="rId1"/>{more}</sheets></workbook>'
)


def cell(value, place):
    if value is None:
        return ""
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>'
    formula = "<f>1+1</f>" if isinstance(value, float) else ""
    return f'<c r="{place}">{formula}<v>{value}</v></c>'


def xlsx(rows, more="", merged=""):
    """The smallest workbook that the standard allows; its fractions are stored values of formulas."""
    lines = ("".join(cell(v, f"{chr(65 + j)}{i + 1}") for j, v in enumerate(row)) for i, row in enumerate(rows))
    sheet = "".join(f"<row>{line}</row>" for line in lines)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", TYPES)
        archive.writestr(
            "_rels/.rels", RELATIONS.format(office=OFFICE, kind="officeDocument", target="xl/workbook.xml")
        )
        archive.writestr("xl/workbook.xml", BOOK.format(office=OFFICE, more=more))
        target = RELATIONS.format(office=OFFICE, kind="worksheet", target="worksheets/sheet1.xml")
        archive.writestr("xl/_rels/workbook.xml.rels", target)
        space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
        content = f'<worksheet xmlns="{space}"><sheetData>{sheet}</sheetData>{merged}</worksheet>'
        archive.writestr("xl/worksheets/sheet1.xml", content)
    return out.getvalue()


def records(rows):
    return [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]


def lines(rows):
    return "\n".join(map(json.dumps, records(rows))).encode()


FILES = {
    "xlsx": xlsx(ROWS),
    "records": json.dumps(records(ROWS), indent=1).encode(),
    "lines": lines(ROWS),
    "columns": json.dumps(dict(zip(ROWS[0], zip(*ROWS[1:], strict=True), strict=True))).encode(),
    "packed": gzip.compress(lines(ROWS)),
}


@pytest.mark.parametrize("content", FILES.values(), ids=list(FILES))
def test_the_same_cells_give_the_same_data_set(content, tmp_path):
    (tmp_path / "t").write_bytes(content)
    data = read(tmp_path / "t", "y")
    assert data.y.tolist() == [3, 4] and data.task == "binary"
    assert np.array_equal(data.x["size"], [1.5, np.nan], equal_nan=True)
    assert data.x["color"].tolist() == ["red", "blue"] and data.x["ok"].tolist() == ["True", "False"]
    assert [str(day)[:10] for day in data.x["day"]] == ["2024-02-29", "2024-03-01"]
    assert read(tmp_path / "t", "z", required=False).y is None
    with pytest.raises(FileFormatError, match="Unknown target column 'z'"):
        read(tmp_path / "t", "z")


def test_blanks_around_the_names_of_columns_are_no_part_of_them(tmp_path):
    padded = [[" size", "color ", "  day\t", " ok ", " y"], *ROWS[1:]]
    text = "\n".join(",".join("" if v is None else str(v) for v in row) for row in padded).encode()
    columns = json.dumps(dict(zip(padded[0], zip(*padded[1:], strict=True), strict=True))).encode()
    for content in (xlsx(padded), json.dumps(records(padded)).encode(), lines(padded), columns, text):
        (tmp_path / "t").write_bytes(content)
        found = read(tmp_path / "t", "y")
        assert list(found.feature_names) == ROWS[0][:-1] and not any("called" in note for note in found.notes)


@pytest.mark.parametrize(
    "content",
    [
        b"[1, 2]",
        b"[]",
        b'{"a": [1], "b": [1, 2]}',
        b'[{"a": [1]}]',
        b'[{"a": 1}, {"a": null}, {"a": {"b": 2}}]',
        b'[{"a": 1}',
        b"[" * 100_000,
        b'{"a": 1}\n{"b"',
        b"[{}]",
        b'{"columns": ["a"], "data": [[1], 2]}',
    ],
    ids=[
        "numbers",
        "empty",
        "uneven",
        "nested",
        "one nested cell",
        "cut off",
        "deep",
        "half a line",
        "no columns",
        "not rows",
    ],
)
def test_json_that_is_not_a_table_is_one_sentence(content, tmp_path):
    (tmp_path / "t.json").write_bytes(content)
    with pytest.raises(FileFormatError) as caught:
        read_json(tmp_path / "t.json")
    assert str(caught.value).startswith(str(tmp_path / "t.json")) and "\n" not in str(caught.value)


def test_a_damaged_or_empty_spreadsheet_is_one_sentence(tmp_path):
    content = FILES["xlsx"]
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", bytes(2**25))
    for bad in (
        content[:200],
        content[:-40],
        bomb.getvalue(),
        xlsx([]),
        xlsx(ROWS[:1]),
        b"\xd0\xcf\x11\xe0" + bytes(600),
    ):
        (tmp_path / "t.xlsx").write_bytes(bad)
        with pytest.raises(FileFormatError) as caught:
            read_excel(tmp_path / "t.xlsx")
        assert str(caught.value).startswith(str(tmp_path / "t.xlsx")) and "\n" not in str(caught.value)


def test_one_sheet_is_read_below_the_rows_that_are_skipped(tmp_path):
    second = '<sheet name="2024" sheetId="2" r:id="rId1"/>'  # the same cells under another name
    title, merged = ["A title", None, None, None, None], '<mergeCells count="1"><mergeCell ref="A1:E1"/></mergeCells>'
    (tmp_path / "t.xlsx").write_bytes(xlsx([title, *ROWS], second, merged))
    for sheet in ("", "first", "1", "2024", "2"):
        found = read(tmp_path / "t.xlsx", "y", sheet=sheet, skip_rows=1)
        other = "2024" if sheet in ("", "first", "1") else "first"
        assert found.y.tolist() == [3, 4] and found.notes[0].endswith(f"not used: {other}")
        assert np.array_equal(found.x["size"], [1.5, np.nan], equal_nan=True)
    for sheet in ("0", "3", "third"):
        with pytest.raises(FileFormatError, match=f"Unknown sheet '{sheet}'.* Known: first, 2024"):
            read(tmp_path / "t.xlsx", "y", sheet=sheet)
    with pytest.raises(FileFormatError, match="sheet 'first' has 0 rows"):
        read(tmp_path / "t.xlsx", skip_rows=4)


def test_without_calamine_the_command_that_installs_it_is_named(tmp_path, monkeypatch):
    (tmp_path / "t.xlsx").write_bytes(FILES["xlsx"])
    monkeypatch.setitem(__import__("sys").modules, "python_calamine", None)
    with pytest.raises(FileFormatError, match=r"pip install 'ftheta\[data\]'"):
        read(tmp_path / "t.xlsx")


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
