"""CSV files: good ones exactly as written, every bad one in one sentence that names path, line and column."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.data import read_csv, task_of
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


def test_truth_values_and_whole_numbers_are_numbers(csv):
    assert read_csv(csv("a,b\nTrue,1\nFalse,20000000000000000000000\n")).x.to_numpy().tolist() == [[1, 1], [0, 2e22]]


def test_names_may_look_like_other_kinds_of_file(csv):
    assert read_csv(csv("PAR1,[Ca]\n1,2\n")).feature_names == ("PAR1", "[Ca]")
    assert read_csv(csv("0,1,label\n1,2,3\n")).feature_names == ("0", "1", "label")


@pytest.mark.parametrize(
    ("cells", "task", "classes"),
    [
        (["no", " yes", "no"], "binary", ("no", "yes")),
        (["b", "NA", "a"], "multiclass", ("NA", "a", "b")),
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


HEAD = "a,b\n1,2\n"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("", r"data\.csv: the file is empty \(0 bytes\)"),
        (" \n\n", r"data\.csv: the file is empty \(3 bytes\)"),
        ("\ufeff", r"data\.csv: the file is empty \(3 bytes\)"),
        ("a,b\n", r"data\.csv: a header of 2 columns but no rows"),
        ("a;b\n1;2\n", r"data\.csv line 1: semicolons between the columns; commas are needed"),
        ("a\tb\n1\t2\n", r"line 1: tabs between the columns"),
        ("1,2\n3,4\n", r"line 1: the first line holds numbers \('1', \.\.\.\), so the header is missing"),
        ("5.1,3.5,setosa\n4.9,3.0,setosa\n", r"line 1: the first line holds numbers \('5\.1'"),
        ("a,b,a\n1,2,3\n", r"line 1: columns 1 and 3 are both named 'a'\. Rename one"),
        ("a,,c\n1,2,3\n", r"line 1: column 2 has no name"),
        (HEAD + "3,4,5\n", r"data\.csv line 3: 3 fields, expected 2 \(header\)\. Is there a comma inside a value"),
        ("a,b\n1,2,3\n4,5,6\n", r"line 2: 3 fields, expected 2"),
        ("a,b\n\n1,2\n\nSmith, J,3\n", r"line 5: 3 fields, expected 2 \(header\)\. Quote the comma in 'Smith, J'\?"),
        (HEAD + "3\n4,5\n", r"line 3: 1 field, expected 2 \(header\)\. Fill in the missing cells"),
        (HEAD + "3", r"line 3: 1 field, expected 2 \(header\)\. The last line is cut off: the file is truncated"),
        (HEAD + '3,"4\n5,6\n', r'line 3: a quote \("\) is opened and never closed'),
        (HEAD + '3,"' + "4" * 200_000, r"line 3: field larger than field limit.*opened there and never closed"),
        (HEAD + "3,\n", r"line 3: column 'b' \(2\) has 1 missing cell, here the first \(''\)"),
        ('a\n1\n""\n', r"line 3: column 'a' \(1\) has 1 missing cell"),
        (HEAD + '""\n', r"line 3: 1 field, expected 2"),
        (HEAD + "NaN,3\n?,3\n", r"line 3: column 'a' \(1\) has 2 missing cells, here the first \('NaN'\)"),
        (HEAD + "3,-inf\n", r"line 3: column 'b' \(2\) holds '-inf'; finite numbers are needed"),
        (HEAD + "3,1e999\n", r"line 3: column 'b' \(2\) holds '1e999'; finite numbers are needed"),
        (
            "a,u,city\n1,2,Oslo\n3,4,Rome\n",
            r"column 'city' \(3\) holds text \('Oslo'\), numbers needed \(2 of 2 cells\)",
        ),
        ('a,b\n"x\ny",1\n', r"line 2: column 'a' \(1\) holds text \('x\\ny'\)"),
        ('"a\nx",b\n1,2\n3,z\n', r"line 4: column 'b' \(2\) holds text \('z'\)"),
        (HEAD + "3,4\n5,6o\n", r"line 4: column 'b' \(2\) holds text \('6o'\), numbers needed \(1 of 3 cells\)"),
        (b"a,b\n1,\xe9\n", r"data\.csv line 2, byte 6: not UTF-8 \(0xe9\)"),
        (b"a,b\n1,2\0\0", r"data\.csv byte 7: a zero byte, so the file is binary or damaged"),
        ("a,b\n1,2\n".encode("utf-16"), r"its content is UTF-16 text; fθ does not open it"),
        (
            b"PK\x03\x04\x14\0",
            r"its content is a zip archive \(as \.xlsx, \.npz and \.pt files are\); fθ does not open it",
        ),
        (b"PAR1\x15\x04\0", "its content is a Parquet file"),
        (b"\x89PNG\r\n\x1a\n", "its content is a PNG image"),
        (b"\x93NUMPY\x01\0", r"its content is a NumPy \.npy file"),
        (b"\x1f\x8b\x08\0", "its content is a gzip archive"),
        ("<!DOCTYPE html><html>", "its content is HTML, not CSV"),
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


class Trap:
    """Unpickling this would fail the test with another error."""

    def __reduce__(self):
        return (int, ("unpickled",))


def test_a_pickle_is_named_and_never_opened(csv):
    with pytest.raises(FileFormatError, match=r"its content is a pickle .* which can run code .*; fθ does not open it"):
        read_csv(csv(pickle.dumps(Trap())))


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("a,price\n1,2\n", "Unknown target column 'prize'. Did you mean 'price'"),
        ("prize\n1\n2\n", "'prize' is the only column; at least one column of features is needed"),
        ("a,prize\n1,u\n2,\n", r"line 3: column 'prize' \(2\) has 1 missing cell"),
        ("a,prize\n1,0.5\n2,NA\n3,1.5\n", r"line 3: column 'prize' \(2\) has 1 missing cell, here the first \('NA'\)"),
        ("a,prize\n1,0.5\n2,free\n3,1.5\n", r"line 3: column 'prize' \(2\) holds text \('free'\), numbers needed"),
    ],
)
def test_a_bad_target_gets_one_sentence(csv, content, text):
    with pytest.raises(FileFormatError, match=text):
        read_csv(csv(content), target="prize")


def test_what_is_no_file_gets_one_sentence(tmp_path, monkeypatch):
    with pytest.raises(FileFormatError, match="nope.csv: no such file. Check the path"):
        read_csv(tmp_path / "nope.csv")
    with pytest.raises(FileFormatError, match="a folder, not a file"):
        read_csv(tmp_path)
    (tmp_path / "locked.csv").write_text(HEAD)
    monkeypatch.setattr(
        "pathlib.Path.read_bytes", lambda self: (_ for _ in ()).throw(PermissionError(13, "Permission denied"))
    )
    with pytest.raises(FileFormatError, match=r"locked.csv: cannot be read \(Permission denied\)"):
        read_csv(tmp_path / "locked.csv")


@given(st.binary(max_size=200))
def test_no_bytes_lead_to_another_error(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "fuzz.csv"
    path.write_bytes(content)
    try:
        assert np.isfinite(read_csv(path).x.to_numpy()).all()
    except FileFormatError:
        pass


@given(st.text(alphabet='a1,"\n\r;. -', max_size=40))
def test_no_text_leads_to_another_error(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "fuzz.csv"
    path.write_text("a,b\n1,2\n" + content, newline="")
    try:
        assert np.isfinite(read_csv(path).x.to_numpy()).all()
    except FileFormatError:
        pass
