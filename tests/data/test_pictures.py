"""Folders of pictures: pixels as Pillow was given them, and one sentence where they cannot be one array."""

import os
import struct
import sys
import zlib

import numpy as np
import pytest
from PIL import Image

from ftheta.data import read_images
from ftheta.errors import FileFormatError

RNG = np.random.default_rng(0)
GREY = RNG.integers(0, 256, (4, 3, 5), dtype=np.uint8)
COLOUR = RNG.integers(0, 256, (4, 3, 5, 3), dtype=np.uint8)


def write(folder, pixels, names=("dog/b.png", "cat/z.png", "dog/a.png", "cat/y.png")):
    for name, picture in zip(names, pixels, strict=True):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(folder / name)
    return folder


def header(width, height, depth=8, kind=0):
    """The beginning of a PNG file that claims this size."""
    body = b"IHDR" + struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, 0)
    start = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + body + struct.pack(">I", zlib.crc32(body))
    return start + struct.pack(">I", 100) + b"IDAT"


@pytest.mark.parametrize("pixels", [GREY, COLOUR], ids=["grey", "colour"])
def test_pictures_come_back_by_class_in_sorted_order(pixels, tmp_path):
    found = read_images(write(tmp_path / "pets", pixels))
    assert np.array_equal(found.x, pixels[[3, 1, 2, 0]].reshape(4, -1)) and found.x.dtype == np.uint8
    assert found.y.tolist() == ["cat", "cat", "dog", "dog"] and found.target_names == ("cat", "dog")
    assert (found.kind, found.shape, found.task, found.name) == ("image", pixels.shape[1:], "binary", "pets")
    assert found.notes == ()


def test_jpeg_is_read_as_pillow_reads_it(tmp_path):
    names = ("a/1.png", "a/2.jpg", "b/3.jpeg", "b/no-suffix.png")
    write(tmp_path, np.repeat(COLOUR[:, :1, :1], 8, 1).repeat(8, 2), names)
    found = read_images(tmp_path)
    for row, name in zip(found.x, names, strict=True):
        with Image.open(tmp_path / name) as picture:
            assert np.array_equal(row.reshape(8, 8, 3), np.asarray(picture))


def test_grey_among_colours_becomes_colour_and_a_note_says_so(tmp_path):
    write(tmp_path, [GREY[0], COLOUR[1], np.dstack([COLOUR[2], GREY[2]]), GREY[3]])
    found = read_images(tmp_path)
    assert found.shape == (3, 5, 3) and found.notes == ("converted to RGB: 2 of mode L, 1 of mode RGBA",)
    assert np.array_equal(found.x[3].reshape(3, 5, 3), np.dstack([GREY[0]] * 3))
    assert np.array_equal(found.x[2].reshape(3, 5, 3), COLOUR[2])


def test_black_and_white_becomes_grey(tmp_path):
    write(tmp_path, [GREY[0] > 99, GREY[1], GREY[2] > 99, GREY[3]])
    found = read_images(tmp_path)
    assert found.shape == (3, 5) and found.notes == ("converted to L: 2 of mode 1",)
    assert np.array_equal(found.x[3].reshape(3, 5), (GREY[0] > 99) * np.uint8(255))


def test_links_hidden_files_and_files_without_class_are_left_out_with_a_note(tmp_path):
    write(tmp_path / "p", GREY)
    (tmp_path / "p/cat/.DS_Store").write_bytes(b"x")
    (tmp_path / "p/readme.txt").write_bytes(b"x")
    (tmp_path / "p/cat/inner").mkdir()
    (tmp_path / "p/link").symlink_to(tmp_path / "p/cat")
    (tmp_path / "p/dog/link.png").symlink_to(tmp_path / "p/cat/z.png")
    found = read_images(tmp_path / "p")
    assert found.x.shape == (4, 15) and len(found.notes) == 1
    assert found.notes[0].startswith(
        "left out: 5 links, hidden files or files that are not in a folder of a class, e.g."
    )


def test_pictures_without_classes_are_read_where_none_are_required(tmp_path):
    write(tmp_path, GREY, ("d.png", "a.png", "c.png", "b.png"))
    found = read_images(tmp_path, required=False)
    assert found.y is None and found.task == "none" and found.target_names == ()
    assert np.array_equal(found.x, GREY[[1, 3, 2, 0]].reshape(4, -1))
    with pytest.raises(FileFormatError, match="no pictures in folders of their classes. Put those of each class"):
        read_images(tmp_path)


def test_pictures_of_two_sizes_are_both_named(tmp_path):
    write(tmp_path, [GREY[0], GREY[1], GREY[2][:, :4], GREY[3]])
    with pytest.raises(FileFormatError, match=r"dog/a.png has 4x3 pixels, .*cat/y.png has 5x3. Bring all pictures"):
        read_images(tmp_path)


BROKEN = {
    "text": (b"not a picture", "no PNG or JPEG picture, or a damaged one. Convert it, replace it"),
    "GIF": (b"GIF89a\1\0\1\0\0\0\0;", "no PNG or JPEG picture"),
    "60000 x 60000": (header(60000, 60000), "damaged picture .*exceeds limit|60000x60000 pixels, at most"),
    "10000 x 10000": (header(10000, 10000), "10000x10000 pixels, at most 16777216 are read"),
    "sixteen bits": (header(5, 3, depth=16), r"pixels of mode I;16; 8 bits a channel are needed"),
    "cut in its header": (header(5, 3)[:30], "no PNG or JPEG picture, or a damaged one"),
    "cut after its header": (header(5, 3), "a damaged picture"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "text"), BROKEN.values(), ids=list(BROKEN))
def test_the_broken_file_is_named(content, text, tmp_path):
    write(tmp_path, GREY)
    (tmp_path / "cat/z.png").write_bytes(content)
    with pytest.raises(FileFormatError, match=text) as caught:
        read_images(tmp_path)
    assert str(caught.value).startswith(str(tmp_path / "cat/z.png"))


def test_a_picture_that_is_cut_off_is_named(tmp_path):
    write(tmp_path, GREY)
    content = (tmp_path / "dog/a.png").read_bytes()
    (tmp_path / "dog/a.png").write_bytes(content[: len(content) // 2 + 10])
    with pytest.raises(FileFormatError, match="dog/a.png: a damaged picture"):
        read_images(tmp_path)


def test_many_large_blank_pictures_are_refused_before_they_are_decoded(tmp_path):
    (tmp_path / "a").mkdir()
    Image.new("L", (3000, 3000)).save(tmp_path / "a/0.png")
    for i in range(1, 9):
        os.link(tmp_path / "a/0.png", tmp_path / f"a/{i}.png")
    with pytest.raises(FileFormatError, match="would become 81 MB of pixels, more than 200 times"):
        read_images(tmp_path)


def test_a_file_in_place_of_a_folder_and_an_empty_folder(tmp_path):
    (tmp_path / "a.png").write_bytes(b"x")
    with pytest.raises(FileFormatError, match="not a folder"):
        read_images(tmp_path / "a.png")
    with pytest.raises(FileFormatError, match="no pictures in folders"):
        read_images(tmp_path)


def test_without_pillow_the_command_that_installs_it_is_named(tmp_path, monkeypatch):
    write(tmp_path, GREY)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(FileFormatError, match=r"pictures need Pillow. Install it: pip install 'ftheta\[data\]'"):
        read_images(tmp_path)
