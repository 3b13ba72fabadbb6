"""What a file is, by its content; and `read`, which opens each kind with its own reader."""

import gzip
import io
import zipfile

import numpy as np
import pandas as pd
import pytest

from ftheta.data import format_of, read, read_text
from ftheta.errors import FileFormatError


def npz(**arrays):
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


IDX = b"\0\0\x08\x01\0\0\0\x03abc"


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"a,b\n1,2\n", "csv"),
        (b"\xef\xbb\xbfa;b\n", "csv"),
        (b"To be, or not to be\n", "csv"),
        (npy(np.ones((2, 2))), "arrays"),
        (npz(X=np.ones((2, 2))), "arrays"),
        (b"PAR1\x15\x80", "parquet"),
        (IDX, "idx"),
        (gzip.compress(IDX), "idx"),
        (gzip.compress(b"\0\0\x0b\x01\0\0\0\x08" + bytes(range(1, 9)).replace(b"", b"\0")[:16]), "idx"),
        (gzip.compress(b"a,b\n1,2\n"), "csv"),
        (b'[{"a": 1}]', "json"),
        (b"\xff\xfea\0,\0b\0\n\0", "csv"),
        (b"PAR1," + b"a" * (2**16 - 8) + "\N{GRINNING FACE},".encode(), "csv"),  # cut after three of its four bytes
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_first_bytes_say_what_it_is(tmp_path, content, kind):
    (tmp_path / "x.csv").write_bytes(content)
    assert format_of(tmp_path / "x.csv") == kind


def zipped(*names, content="x"):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, content)
    return stream.getvalue()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (zipped("model/data.pkl"), "a zip archive"),
        (b"\x1f\x8b\x08\0damaged", "a gzip archive"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"\x80\x04\x95", "a pickle"),
        (b"\xff\xd8\xff\xe0", "one JPEG image"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_not_opened_is_named(tmp_path, content, words):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(FileFormatError, match=rf"x: its content is {words}.*; fθ does not open it\. \w+"):
        format_of(tmp_path / "x")


def stored(name, content):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(name, content)
    return stream.getvalue()


LINES = "PK,größe\n2,1\n4,3\n"


@pytest.mark.parametrize(
    "content",
    [
        zipped("a/größe.csv", "README.txt", "__MACOSX/a/._größe.csv", content=LINES),
        stored("a.csv", LINES),
        zipped("only.txt", content=LINES.encode("cp1252")),
        zipped("w.csv", content=LINES.encode("utf-16")),
        LINES.encode("utf-16-le"),
        LINES.encode("utf-16-be"),
        zipped("rows.jsonl", content='{"größe": 1, "PK": 2}\n{"größe": 3, "PK": 4}'),
        b'{"count": 2, "rows": [{"gr\xc3\xb6\xc3\x9fe": 1, "PK": 2}, {"gr\xc3\xb6\xc3\x9fe": 3, "PK": 4}]}',
        pd.DataFrame({"größe": [1, 3], "PK": [2, 4]}).to_json().encode(),
        pd.DataFrame({"größe": [1, 3], "PK": [2, 4]}).to_json(orient="split").encode(),
    ],
    ids=[
        "zip",
        "stored",
        "text in zip",
        "UTF-16 in zip",
        "UTF-16 LE",
        "UTF-16 BE",
        "JSON in zip",
        "wrapped",
        "columns",
        "split",
    ],
)
def test_a_table_is_found_in_archives_and_encodings(tmp_path, content):
    (tmp_path / "t").write_bytes(content)
    found = read(tmp_path / "t", "PK")
    assert found.feature_names == ("größe",) and found.x["größe"].tolist() == [1, 3] and found.y.tolist() == [2, 4]
    assert ("read as UTF-16" in found.notes) == (content[1:2] == b"\0" or content[:1] == b"\0" or b"w.csv" in content)


def test_of_several_tables_one_is_named(tmp_path):
    path = tmp_path / "t.zip"
    path.write_bytes(zipped("a.csv", "b.tsv", content=LINES))
    with pytest.raises(FileFormatError, match=r"t.zip: 2 tables \(a.csv, b.tsv\). Choose one, e.g. --sheet a.csv"):
        read(path)
    assert read(path, "PK", sheet="b.tsv").rows == 2
    for sheet, words in {"c.csv": "Unknown file in the archive 'c.csv'", "": "2 tables"}.items():
        with pytest.raises(FileFormatError, match=words):
            read(path, "PK", sheet=sheet)
    with pytest.raises(FileFormatError, match="rows are skipped in CSV files"):
        path.write_bytes(b'[{"a": 1}]')
        read(path, skip_rows=1)
    with pytest.raises(FileFormatError, match="there is no sheet 'b': this is JSON"):
        read(path, sheet="b")


def test_a_damaged_or_encrypted_archive_is_one_sentence(tmp_path):
    sound = zipped("a.csv", content=LINES * 100)
    place = sound.index(b"PK\1\2")
    encrypted = sound[: place + 8] + b"\1" + sound[place + 9 :]
    wrong = sound.index(b"a.csv") + 12
    changed = sound[:wrong] + bytes([sound[wrong] ^ 255]) + sound[wrong + 1 :]
    cases = {sound[:-30]: "a damaged zip archive", encrypted: "a.csv is encrypted", changed: "a damaged zip archive"}
    for content, words in cases.items():
        (tmp_path / "t.zip").write_bytes(content)
        with pytest.raises(FileFormatError, match=words) as caught:
            read(tmp_path / "t.zip", "PK")
        assert str(caught.value).startswith(str(tmp_path / "t.zip")) and "\n" not in str(caught.value)


def test_lines_above_the_header_are_skipped_and_counted(tmp_path):
    path = tmp_path / "t.csv"
    title = 'Sales of "2024\nby region, in 1,000\n\n'
    path.write_text(title + "a;b\n1;2\n3;4\n", encoding="utf-8")
    assert read(path, "b", skip_rows=3).y.tolist() == [2, 4] == read(path, "b", skip_rows=2).y.tolist()
    path.write_text(title.replace('"', "") + "a;b\n1;2\n3;4\n", encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"'b' is not in its header \(line 1\) but in line 4.*--skip-rows 3"):
        read(path, "b")
    path.write_text("Sales\nfrom, to, by, me\n" + "a,b,c\n" + "1,2,3\n" * 9 + "4,5\n6,7,8\n", encoding="utf-8")
    with pytest.raises(FileFormatError, match=r"line 2: .* If the table begins at line 3, .*: --skip-rows 2"):
        read(path)
    with pytest.raises(FileFormatError, match=r"line 13: 2 fields, expected 3 \(header\)"):
        read(path, skip_rows=2)
    with pytest.raises(FileFormatError, match="15 lines are to be skipped, and there are no more"):
        read(path, skip_rows=15)


def test_read_opens_each_kind(tmp_path):
    x = np.arange(12.0).reshape(4, 3)
    frame = pd.DataFrame(x, columns=["a", "b", "c"])
    frame.to_csv(tmp_path / "t", index=False)
    assert np.array_equal(read(tmp_path / "t").x, x) and read(tmp_path / "t", "c").y.tolist() == [2, 5, 8, 11]
    (tmp_path / "n").write_bytes(npy(x))
    assert np.array_equal(np.asarray(read(tmp_path / "n").x), x)
    (tmp_path / "z").write_bytes(npz(X=x, y=np.arange(4)))
    assert read(tmp_path / "z").y.tolist() == [0, 1, 2, 3]
    (tmp_path / "words").write_text("Of course, it is.\nAnd so, I said, it was, then.\nNo.\n")
    assert read(tmp_path / "words").kind == "text"
    frame.to_parquet(tmp_path / "p")
    assert np.array_equal(read(tmp_path / "p", "c").x, x[:, :2])
    (tmp_path / "images" / "cat").mkdir(parents=True)
    (tmp_path / "images" / "dog").mkdir()
    from PIL import Image

    for i, name in enumerate(["cat/1.png", "dog/2.png"]):
        Image.fromarray(np.full((3, 2), i, dtype=np.uint8)).save(tmp_path / "images" / name)
    pictures = read(tmp_path / "images")
    assert pictures.kind == "image" and pictures.shape == (3, 2) and list(pictures.y) == ["cat", "dog"]


TEXT = "Fθ, naïve 🙂\nzweite Zeile\tmit Tab\n\nlast"


def test_a_text_comes_back_with_its_size(tmp_path):
    (tmp_path / "a.txt").write_bytes(TEXT.encode())
    found = read_text(tmp_path / "a.txt")
    assert (found.x, found.y, found.kind, found.task, found.name) == (TEXT, None, "text", "none", "a")
    assert found.notes == (f"{len(TEXT)} characters, 4 lines, {len(set(TEXT))} distinct characters",)


def test_a_mark_is_dropped_and_line_ends_of_windows_are_noted(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode())
    found = read_text(tmp_path / "a.txt")
    assert found.x == TEXT and found.notes[1:] == (r"line ends \r\n were read as \n",)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"", "holds no text .0 characters."),
        (b"\xef\xbb\xbf \n\t", "holds no text .3 characters."),
        (b"ab\nc\xe9d", "line 2, byte 4: not UTF-8 .0xe9.. Save it as UTF-8"),
        (b"ab\xed\xa0\x80", "line 1, byte 2: not UTF-8"),  # half a character, as UTF-8
        (b"abc\0d", "byte 3: a zero byte, so this is not text"),
        (b"t\0ext", "byte 1: a zero byte"),
    ],
)
def test_what_is_no_text_is_one_sentence(content, text, tmp_path):
    (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(FileFormatError, match=text) as caught:
        read_text(tmp_path / "a.txt")
    assert str(caught.value).startswith(str(tmp_path / "a.txt"))


def test_a_missing_file_and_a_folder(tmp_path):
    with pytest.raises(FileFormatError, match="(?i)no such file"):
        read_text(tmp_path / "a.txt")
    with pytest.raises(FileFormatError, match="not a regular file"):
        read_text(tmp_path)
