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


def zipped(name):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(name, "x")
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
        ("text".encode("utf-16-le"), "byte 1: a zero byte"),
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
