"""CSV files: good ones exactly as written, every bad one in one sentence that names path, line and column."""

import gzip

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.data import read_csv, task_of
from ftheta.data.io.csv import looks_like_table
from ftheta.errors import FileFormatError


@pytest.fixture
def csv(tmp_path):
    def write(content):
        path = tmp_path / "data.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_a_numeric_file_comes_back_bit_for_bit(csv):
    x = np.random.default_rng(0).normal(size=(50, 3)) * 10.0 ** np.arange(-5, 10, 5)
    data = read_csv(csv(pd.DataFrame(x, columns=["a", "b", "c"]).to_csv(index=False)))
    assert np.array_equal(data.x.to_numpy(), x) and data.feature_names == ("a", "b", "c")
    assert data.name == "data" and data.y is None and data.task == "none" and data.target_names == ()


@pytest.mark.parametrize(
    "content",
    ["a,b\n1,2\n3,4\n", "\ufeffa,b\n1,2\n3,4\n", "a,b\r1,2\r3,4\r",
     "a,b\r\n1,2\r\n3,4", "\na, b\n\n 1,2 \n3,4\n", 'a,"b"\n"1",2\n3,"4"\n'],
)  # fmt: skip
def test_line_ends_marks_quotes_and_blanks_do_not_matter(csv, content):
    data = read_csv(csv(content))
    assert data.feature_names == ("a", "b") and data.x.to_numpy().tolist() == [[1, 2], [3, 4]]


def test_truth_values_are_levels_and_whole_numbers_numbers(csv):
    x = read_csv(csv("a,b\nTrue,1\nFalse,20000000000000000000000\n")).x
    assert x["a"].tolist() == ["True", "False"] and x["b"].tolist() == [1, 2e22]


def test_names_may_look_like_other_kinds_of_file(csv):
    assert read_csv(csv("PAR1,[Ca]\n1,2\n")).feature_names == ("PAR1", "[Ca]")
    assert read_csv(csv("0,1,label\n1,2,3\n")).feature_names == ("0", "1", "label")


@pytest.mark.parametrize(
    ("cells", "task", "classes"),
    [
        (["no", " yes", "no"], "binary", ("no", "yes")),
        (["b", "None", "a"], "multiclass", ("None", "a", "b")),
        (["1", "2", "3+"], "multiclass", ("1", "2", "3+")),
        (["0", "1", "1"], "binary", ("0", "1")),
        (["3", "1", "2"], "multiclass", ("1", "2", "3")),
        (["True", "False", "True"], "binary", ("False", "True")),
        (["0.5", "1", "2"], "regression", ()),
    ],
)
def test_the_target_says_what_the_task_is(csv, cells, task, classes):
    data = read_csv(csv("y,a\n" + "".join(f"{c},{i}\n" for i, c in enumerate(cells))), target="y")
    assert (data.task, data.target_names) == (task, classes) and data.feature_names == ("a",)
    assert [str(v) for v in data.y] == [c.strip() for c in cells] or data.y.dtype.kind == "f"


@given(st.integers(1, 40))
def test_up_to_twenty_whole_numbers_are_classes(k):
    assert task_of(np.arange(k)) == ("binary" if k <= 2 else "multiclass" if k <= 20 else "regression")
    assert task_of(np.arange(k).astype(str)) == ("binary" if k <= 2 else "multiclass")


# ---- files as people have them


def test_text_stays_text_and_missing_cells_stay_missing(csv):
    x = read_csv(csv("a,city,n\n1,Oslo,2\n,Rome,NA\n3,,4\n5, Oslo ,?\n")).x
    assert x["a"].isna().tolist() == [False, True, False, False]
    assert x["city"].tolist()[:2] == ["Oslo", "Rome"] and x["city"].isna().tolist() == [False, False, True, False]
    assert x["city"][3] == "Oslo"  # blanks around a level do not make another
    assert x["n"].tolist()[::2] == [2, 4] and x["n"].isna().sum() == 2


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_other_delimiters_are_seen_and_said(csv, mark):
    data = read_csv(csv(f"a{mark}b\n1{mark}2\n3{mark}4\n"))
    assert data.x.to_numpy().tolist() == [[1, 2], [3, 4]] and "between the columns" in data.notes[0]


def test_excels_line_that_names_the_delimiter_is_no_header(csv):
    assert read_csv(csv("sep=;\r\na;b\r\n1;2\r\n3;\r\n")).x["a"].tolist() == [1, 3]
    with pytest.raises(FileFormatError, match="line 4: 3 fields, expected 2"):
        read_csv(csv("sep=;\na;b\n1;2\n3;4;5\n"))


def test_german_numbers_are_read_whole(csv):
    text = "preis;menge;rate;stadt\n1.234,50;1.000;5 %;Köln\n-7,25;20;12,5 %;Ulm\n0,5;3;1 %;Ulm\n"
    data = read_csv(csv("\ufeff" + text))
    assert data.x["preis"].tolist() == [1234.5, -7.25, 0.5]
    assert data.x["menge"].tolist() == [1000, 20, 3]  # no decimal point where commas are decimal
    assert data.x["rate"].tolist() == [5, 12.5, 1] and data.x["stadt"].tolist() == ["Köln", "Ulm", "Ulm"]
    assert any("1.234,5" in note for note in data.notes)


@pytest.mark.parametrize(
    ("cells", "first"),
    [
        (["2024-02-29", "2023-12-31"], "2024-02-29"),
        (["29.02.2024", "1.3.2024"], "2024-02-29"),
        (["02/29/2024", "03/01/2024"], "2024-02-29"),
        (["29/02/2024", "01/03/2024"], "2024-02-29"),
        (["2024-02-29T12:30:00+01:00", "2024-03-01T00:00:00+01:00"], "2024-02-29T11:30"),
        (["Feb 29, 2024", "Mar 1, 2024"], "2024-02-29"),
        (["29/02/2024 13:05:59", "01/03/2024 00:00:00"], "2024-02-29 13:05:59"),
        (["02/29/2024 1:05 PM", "03/01/2024 2:00 AM"], "2024-02-29 13:05"),
        (["29.02.24", "01.03.24"], "2024-02-29"),
    ],
)
def test_dates_are_dates(csv, cells, first):
    x = read_csv(csv("d;b\n" + "".join(f'"{cell}";{i}\n' for i, cell in enumerate(cells)))).x
    assert x["d"].dtype.kind == "M" and x["d"][0] == pd.Timestamp(first)


def test_words_among_many_numbers_are_missing_and_said(csv):
    data = read_csv(csv("a,b\n" + "".join(f"{c},1\n" for c in [*map(str, range(40)), "unknown", "n.a."])))
    assert data.x["a"].isna().sum() == 2 and "'unknown' (1 cell) among numbers, taken as" in " ".join(data.notes)
    half = read_csv(csv("a,b\n" + "".join(f"{c},1\n" for c in ["1", "2", "big", "small"])))
    assert half.x["a"].tolist() == ["1", "2", "big", "small"]


def test_a_text_cell_far_below_the_sample_is_seen(csv):
    x = read_csv(csv("a,b\n" + "".join(f"{i},{i % 7}\n" for i in range(60_000)) + "x9,1\n" * 20_000)).x
    assert x["a"].dtype == "category" and x["a"].iloc[-1] == "x9" and x["b"].dtype == float


def test_columns_without_a_name_or_with_one_twice_get_one(csv):
    data = read_csv(csv(",a,a\n0,1,2\n1,3,4\n"))
    assert data.feature_names == ("column 1", "a", "a (2)")
    assert "column 1 has no name" in data.notes[0] and "column 3 is named 'a' again" in data.notes[1]
    assert read_csv(csv("a,a,a (2),a (3)\n0,1,2,3\n4,5,6,7\n")).feature_names == ("a", "a (4)", "a (2)", "a (3)")


def test_a_long_text_is_not_a_table_for_the_comma_in_its_first_line(csv):
    assert not looks_like_table(csv("Once, long ago\n" + "there was a table without commas\n" * 9000))
    assert looks_like_table(csv("a,b\n" + "1,2\n" * 70_000))


def test_rows_without_a_target_are_left_out_and_said(csv):
    data = read_csv(csv("a,y\n1,u\n2,\n3,v\n"), target="y")
    assert data.y.tolist() == ["u", "v"] and data.x["a"].tolist() == [1, 3] and "1 row" in data.notes[-1]
    new = read_csv(csv("a,y\n1,u\n2,\n3,v\n"), target="y", required=False)
    assert new.y is None and len(new.x) == 3


def test_an_encoding_can_be_named(csv):
    path = csv("stadt;b\nKöln;1\nUlm;2\n".encode("latin-1"))
    assert read_csv(path, encoding="latin-1").x["stadt"].tolist() == ["Köln", "Ulm"]
    with pytest.raises(FileFormatError, match="unknown encoding 'klingon'"):
        read_csv(path, encoding="klingon")


def test_a_file_that_is_not_utf8_is_cp1252_with_a_note_unless_it_is_damaged_utf8(csv):
    late = read_csv(csv(b"a,b\n" + b"x,1\n" * 100_000 + b"\xe9\x80,1\n"))
    assert late.x["a"].iloc[-1] == "é€" and "cp1252" in late.notes[0]
    with pytest.raises(FileFormatError, match=r"line 100003, byte 400009: not UTF-8 \(0xe9\).*--encoding latin-1"):
        read_csv(csv(b"a,b\n" + b"x,1\n" * 100_000 + "ö,1\n".encode() + b"\xe9,1\n"))
    with pytest.raises(FileFormatError, match="not UTF-8"):
        read_csv(csv(b"a,b\n\x81,1\n"))  # nor cp1252


@pytest.mark.parametrize("codec", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_is_told_by_its_mark(csv, codec):
    mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(codec, b"")
    data = read_csv(csv(mark + "stadt\tn\nKöln\t1\nŁódź\t2\n".encode(codec)))
    assert data.x["stadt"].tolist() == ["Köln", "Łódź"] and data.x["n"].tolist() == [1, 2]


def test_gzip_is_unpacked_and_what_is_wrong_inside_is_found(csv):
    text = "a,b\n" + "".join(f"{i},{i % 3}\n" for i in range(1000))
    assert read_csv(csv(gzip.compress(text.encode())), "b").y.tolist() == [i % 3 for i in range(1000)]
    with pytest.raises(FileFormatError, match="line 3: 1 field, expected 2"):
        read_csv(csv(gzip.compress(b"a,b\n1,2\n3\n4,5\n")))
    for damaged in (gzip.compress(text.encode())[:-3], gzip.compress(b"a,b\n" + b"1,2\n" * 2**23)):
        with pytest.raises(FileFormatError) as caught:
            read_csv(csv(damaged))
        assert str(caught.value).startswith(str(csv(b"x")))


@pytest.mark.middle
def test_thousands_of_columns_are_read_and_too_many_refused(csv):
    wide = ",".join(f"c{i}" for i in range(3000)) + "\n" + ("1," * 2999 + "2\n") * 3
    assert read_csv(csv(wide)).x.shape == (3, 3000)
    with pytest.raises(FileFormatError, match="line 1: 100001 columns; at most 100000 are read"):
        read_csv(csv(",".join(f"c{i}" for i in range(100_001)) + "\n"))


def test_short_rows_are_found_among_missing_cells(csv):
    with pytest.raises(FileFormatError, match="line 4: 1 field, expected 2"):
        read_csv(csv("a,b\n1,\n2,3\n4\n5,6\n"))
    with pytest.raises(FileFormatError, match="line 4: 1 field, expected 2"):
        read_csv(csv('a,b\n1,\n"2",3\n4\n5,6\n'))
    with pytest.raises(FileFormatError, match="line 3: 1 field, expected 2"):
        read_csv(csv('a,b\n"x,y",3\n4\n'))  # as many commas as in full rows
    assert len(read_csv(csv('a,b\n1,\n"2",3\n5,6\n')).x) == 3


HEAD = "a,b\n1,2\n"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("", r"data\.csv: the file is empty \(0 bytes\)"),
        (" \n\n", r"data\.csv: the file is empty \(3 bytes\)"),
        ("\ufeff", r"data\.csv: the file is empty \(3 bytes\)"),
        ("a,b\n", r"data\.csv: a header of 2 columns but no rows"),
        ("1,2\n3,4\n", r"line 1: the first line holds numbers \('1', \.\.\.\), so the header is missing"),
        ("5.1,3.5,setosa\n4.9,3.0,setosa\n", r"line 1: the first line holds numbers \('5\.1'"),
        (HEAD + "3,4,5\n", r"data\.csv line 3: 3 fields, expected 2 \(header\)\. Is there a comma inside a value"),
        ("a,b\n1,2,3\n4,5,6\n", r"line 2: 3 fields, expected 2"),
        ("a,b\n\n1,2\n\nSmith, J,3\n", r"line 5: 3 fields, expected 2 \(header\)\. Quote the comma in 'Smith, J'\?"),
        (HEAD + "3\n4,5\n", r"line 3: 1 field, expected 2 \(header\)\. Fill in the missing cells"),
        (HEAD + "3", r"line 3: 1 field, expected 2 \(header\)\. The last line is cut off: the file is truncated"),
        (HEAD + '3,"4\n5,6\n', r'line 3: a quote \("\) is opened and never closed'),
        (HEAD + '3,"' + "4" * 200_000, r"line 3: field larger than field limit.*opened there and never closed"),
        (HEAD + '""\n', r"line 3: 1 field, expected 2"),
        (HEAD + "# a note\n", r"line 3: 1 field, expected 2 .*begins with # is not a row"),
        ("# prices, in euros, of 2024\n" + HEAD, r"line 2: 2 fields, expected 3 .*begins with # is not a row"),
        ("0 1.5 2\n3 4 5\n", r"line 1: blanks between numbers\. Put commas there"),
        (HEAD + "3,-inf\n", r"line 3: column 'b' \(2\) holds '-inf'; finite numbers are needed"),
        (HEAD + "3,1e999\n", r"line 3: column 'b' \(2\) holds '1e999'; finite numbers are needed"),
        (b"a,b\n1,2\0\0", r"data\.csv byte 7: a zero byte, so the file is binary or damaged"),
        (b"PK\x03\x04\x14\0", "a damaged zip archive .*Download it again"),
        (b"PAR1\x15\x04\0", "its content is a Parquet file"),
        (b"\x89PNG\r\n\x1a\n", "its content is one PNG image; fθ does not open it. Use a folder"),
        (b"\x93NUMPY\x01\0", r"its content is a NumPy file \(\.npy, \.npz\), not CSV"),
        (b"\x1f\x8b\x08\0", "its content is a gzip archive"),
        ("<!DOCTYPE html><html>", "its content is HTML, not a table"),
        ('{"a": [1, 2]}', "its content is JSON, not CSV"),
    ],
)
def test_a_bad_file_gets_one_sentence(csv, content, text):
    path = csv(content)
    before = path.read_bytes()
    with pytest.raises(FileFormatError, match=text) as caught:
        read_csv(path)
    assert str(path) in str(caught.value) and len(str(caught.value)) < 400 + len(str(path))
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("a,price\n1,2\n", "Unknown target column 'prize'. Did you mean 'price'"),
        ("prize\n1\n2\n", "'prize' is the only column; at least one column of features is needed"),
        ("a,prize\n1,\n2,\n", "the target 'prize' has no values"),
        ("a,prize\n1,2020-01-01\n2,2020-01-02\n", "the target 'prize' holds dates; numbers or classes are needed"),
        ("a,prize\n1,0.5\n2,inf\n", r"line 3: column 'prize' \(2\) holds 'inf'; finite numbers"),
        ("a,prize\n1,0.5\n2,free\n3,1.5\n", r"line 3: column 'prize' \(2\) holds text \('free'\), numbers needed"),
    ],
)
def test_a_bad_target_gets_one_sentence(csv, content, text):
    with pytest.raises(FileFormatError, match=text):
        read_csv(csv(content), target="prize")


def test_what_is_no_file_gets_one_sentence(tmp_path, monkeypatch):
    with pytest.raises(FileFormatError, match="nope.csv: no such file. Check the path"):
        read_csv(tmp_path / "nope.csv")
    with pytest.raises(FileFormatError, match="its content is a folder, not CSV"):
        read_csv(tmp_path)
    (tmp_path / "locked.csv").write_text(HEAD)
    monkeypatch.setattr(
        "pathlib.Path.open", lambda self, mode: (_ for _ in ()).throw(PermissionError(13, "Permission denied"))
    )
    with pytest.raises(FileFormatError, match=r"locked.csv: cannot be read \(Permission denied\)"):
        read_csv(tmp_path / "locked.csv")


@given(st.binary(max_size=200))
def test_no_bytes_lead_to_another_error(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "fuzz.csv"
    path.write_bytes(content)
    try:
        assert len(read_csv(path).x)
    except FileFormatError as error:
        assert str(path) in str(error)


# ---- what must not be guessed wrong


def test_thousands_in_english_are_not_decimals(csv):
    assert read_csv(csv('price,x\n"1,250",1\n"999",2\n"12,500",3\n')).x["price"].tolist() == [1250, 999, 12500]
    data = read_csv(csv('x,pay\n1,"52,000"\n2,"9,500"\n3,"900"\n'), target="pay")
    assert data.y.tolist() == [52000, 9500, 900] and "written as 1,234.5" in data.notes[-1]
    tabs = read_csv(csv("a\tb\n1,250\t0.123\n12,500\t0.456\n")).x
    assert tabs["a"].tolist() == [1250, 12500] and tabs["b"].tolist() == [0.123, 0.456]
    semicolons = read_csv(csv("a;b\n1,250;x\n12,500;y\n")).x  # there the comma is no delimiter because it is decimal
    assert semicolons["a"].tolist() == [1.25, 12.5]


def test_a_header_with_a_line_end_in_it_loses_no_row(csv):
    data = read_csv(csv('\n"a\n[kg]",b\n' + "".join(f"{i},{i}\n" for i in range(30))))
    assert len(data.x) == 30 and data.feature_names == ("a\n[kg]", "b")
    with pytest.raises(FileFormatError, match="line 4: column 'b'"):
        read_csv(csv('"a\n[kg]",b\n1,2\n3,inf\n'))


def test_cells_of_blanks_are_missing(csv):
    x = read_csv(csv("a,b,c\n1,  ,x\n2,3, \n  ,4,y\n")).x
    assert x.isna().to_numpy().tolist() == [[False, True, False], [False, False, True], [True, False, False]]
    assert x["a"].dtype == float and x["b"].dtype == float


def test_codes_with_leading_zeros_stay_text(csv):
    data = read_csv(csv("zip,n\n01003,1\n80331,2\n01003,3\n"))
    assert data.x["zip"].tolist() == ["01003", "80331", "01003"] and "leading zeros" in data.notes[0]
    assert read_csv(csv("a,n\n0,1\n0.5,2\n")).x["a"].tolist() == [0, 0.5]


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["1'234", "7'000'000"], [1234, 7e6]),
        (["(3.5)", "2"], [-3.5, 2]),
        (["\u22123", "4"], [-3, 4]),
        (["1 234,5", "2"], [1234.5, 2]),
        (["$1,234.50", "$7"], [1234.5, 7]),
        (["1.234", "2.345"], [1.234, 2.345]),
    ],
)
def test_numbers_as_accountants_write_them(csv, cells, values):
    assert read_csv(csv("a;b\n" + "".join(f"{c};1\n" for c in cells))).x["a"].tolist() == values


def test_one_bad_date_among_many_is_missing_and_said(csv):
    days = [f"2024-01-{d:02d}" for d in range(1, 29)]
    data = read_csv(csv("d,b\n" + "".join(f"{d},1\n" for d in [*days, "2024-02-30"])))
    assert data.x["d"].dtype.kind == "M" and data.x["d"].isna().sum() == 1 and "1 cell could not" in data.notes[0]


def test_new_rows_are_read_as_the_training_rows_were(csv):
    """Alone, 1.234 is a number near one, 03/04/2015 a day in March, 10 a number and 20150403 one too."""
    old = read_csv(csv("n;d;t\n1.234,5;28/04/2015;10\n2,5;03/04/2015;A\n"))
    assert old.csv_format == (True, {"d": "%d/%m/%Y"}, ("t",), {})
    new = read_csv(csv("n;d;t\n1.234;03/04/2015;10\n"), csv_format=old.csv_format).x
    assert new["n"][0] == 1234 and new["d"][0] == pd.Timestamp("2015-04-03") and new["t"].tolist() == ["10"]
    odd = read_csv(csv("n;d;t\n1;20150403;x\n2;03/04/2015;x\n"), csv_format=old.csv_format)
    assert odd.x["d"].isna().tolist() == [True, False] and odd.x["d"][1] == pd.Timestamp("2015-04-03")


@pytest.mark.parametrize("cells", ["tbd", "inf", "2020-01-01"])
def test_a_target_that_is_not_needed_refuses_nothing(csv, cells):
    text = "a,y\n" + "".join(f"{i},{i}.5\n" for i in range(30)) + f"1,{cells}\n"
    assert read_csv(csv(text), "y", required=False).y is None
    with pytest.raises(FileFormatError):
        read_csv(csv(text if cells != "2020-01-01" else "a,y\n1,2020-01-01\n"), "y")


def test_names_that_would_come_twice_are_counted_on(csv):
    assert read_csv(csv("a,a,a (2)\n1,2,3\n")).feature_names == ("a", "a (3)", "a (2)")


@pytest.mark.parametrize(
    ("cells", "values", "unit"),
    [
        (["70 m2", "81.5 m2", ""], [70, 81.5, None], "m2"),
        (["1,250 EUR", "900 EUR"], [1250, 900], "EUR"),
        (["USD 1,250.5", "USD900"], [1250.5, 900], "USD"),
        (["12kg", "-3kg", "4"], [12, -3, 4], "kg"),
        (["21 °C", "30 °C"], [21, 30], "°C"),
        (["3 rooms", "NA", "4 rooms"], [3, None, 4], "rooms"),
        (["3 rooms", " n/a ", "4 rooms"], [3, None, 4], "rooms"),
        (["70 m2", "700 sqft"], None, ""),
        (["INV100", "INV200"], None, ""),
        (["5 Main St", "6 Main St"], None, ""),
        (["1A", "2A"], None, ""),
        (["70 m2", "large"], None, ""),
    ],
)
def test_one_unit_behind_numbers_is_read_with_a_note(csv, cells, values, unit):
    rows = "".join(f'"{cell}",{i}\n' for i, cell in enumerate(cells * 4))
    found = read_csv(csv("a,b\n" + rows), "b")
    assert (f"column 'a': numbers in {unit}" in found.notes) == bool(unit)
    if not values:
        assert found.x["a"].dtype == "category"
        return
    assert np.array_equal(found.x["a"], np.array(values * 4, float), equal_nan=True)
    assert found.csv_format.units == {"a": unit}
    other = read_csv(csv(f'a\n{cells[0]}\n"5 other"\n'.replace("1,250", "1250")), csv_format=found.csv_format)
    assert other.x["a"].dtype == "category"  # another unit is never taken for this one
    assert read_csv(csv("a\n5\n6\n"), csv_format=found.csv_format).x["a"].tolist() == [5, 6]


def test_a_row_of_totals_is_left_out_with_a_note(csv):
    rows = "".join(f"m{i % 3},{i},{i * i}\n" for i in range(9))
    for last, word in (("Total,36,204\n", "Total"), (",Summe,204\n", "Summe"), ("GRAND TOTAL:,36,\n", "GRAND TOTAL:")):
        found = read_csv(csv("a,b,c\n" + rows + "\n" + last), "c")
        assert found.rows == 9 and found.x["b"].tolist() == list(range(9)) and found.x["a"].nunique() == 3
        assert f"the last row ({word!r}) was left out: it holds totals" in found.notes
        assert set(found.x["a"].cat.categories) == {"m0", "m1", "m2"}
    for more in ("Total,1,2\nm1,3,4\n", "Total,1,2\nTotal,3,4\n", "Totally,1,2\n", "m1,4,16\n"):
        found = read_csv(csv("a,b,c\n" + rows + more), "c")
        assert found.rows == 9 + more.count("\n") and not any("totals" in note for note in found.notes)
