"""Text files: every character comes back, and what was done to them is noted."""

import pytest

from ftheta.data import read_text
from ftheta.errors import FileFormatError

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
