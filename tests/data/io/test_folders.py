"""Folders of pictures: pixels as Pillow was given them, and one sentence where they cannot be one array."""

import os
import struct
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import ftheta
from ftheta.data import open_images, read_images, read_picture
from ftheta.data.io.folders import LOOK
from ftheta.errors import FileFormatError, InputError
from ftheta.train import Training

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


def test_grey_among_colours_becomes_colour_and_a_note_says_so(tmp_path):
    write(tmp_path, [GREY[0], COLOUR[1], np.dstack([COLOUR[2], GREY[2]]), GREY[3]])
    found = read_images(tmp_path)
    assert found.shape == (3, 5, 3)
    assert found.notes == ("converted to RGB: 2 of mode L, 1 of mode RGBA of the 4 looked at",)
    assert np.array_equal(found.x[3].reshape(3, 5, 3), np.dstack([GREY[0]] * 3))
    alpha = GREY[2][:, :, None] / 255
    assert np.allclose(found.x[2].reshape(3, 5, 3), alpha * COLOUR[2] + (1 - alpha) * 255, atol=1)  # over white


def test_links_hidden_files_and_files_without_class_are_left_out_with_a_note(tmp_path):
    write(tmp_path / "p", GREY)
    (tmp_path / "p/cat/.DS_Store").write_bytes(b"x")
    (tmp_path / "p/readme.txt").write_bytes(b"x")
    (tmp_path / "p/cat/inner").mkdir()
    (tmp_path / "p/link").symlink_to(tmp_path / "p/cat")
    (tmp_path / "p/dog/link.png").symlink_to(tmp_path / "p/cat/z.png")
    found = read_images(tmp_path / "p")
    assert found.x.shape == (4, 15) and len(found.notes) == 1
    assert found.notes[0].startswith("left out: 5 links, hidden files or files that are not in a folder of a class")


def test_pictures_without_classes_are_read_where_none_are_required(tmp_path):
    write(tmp_path, GREY, ("d.png", "a.png", "c.png", "b.png"))
    found = read_images(tmp_path, required=False)
    assert found.y is None and found.task == "none" and found.target_names == () and found.notes == ()
    assert np.array_equal(found.x, GREY[[1, 3, 2, 0]].reshape(4, -1))
    with pytest.raises(FileFormatError, match="no pictures in folders of their classes. Put those of each class"):
        read_images(tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="names are bytes on Linux only")
def test_names_that_are_no_text_can_be_read_and_kept_in_notes(tmp_path):
    write(tmp_path, GREY)
    os.rename(tmp_path / "cat/y.png", os.fsencode(tmp_path) + b"/cat/\xfe.png")
    with open(os.fsencode(tmp_path) + b"/dog/\xff.png", "wb") as file:
        file.write(b"no picture")
    found = open_images(tmp_path, skip_bad=True)
    assert np.array_equal(np.asarray(found.x)[:, 0], GREY[[1, 3, 2, 0]])
    assert "\\xff.png: not a PNG or JPEG" in found.notes[-1].encode().decode()
    os.rename(tmp_path / "dog", os.fsencode(tmp_path) + b"/\xfd")
    with pytest.raises(FileFormatError, match=r"\\xfd: the name of this class is not UTF-8 text. Rename the folder"):
        open_images(tmp_path)


def test_a_file_that_goes_while_the_folder_is_listed_is_not_there(tmp_path, monkeypatch):
    from ftheta.data.io import folders as pictures

    write(tmp_path, GREY)
    listed = pictures._entries

    def late(folder, *rest, **knobs):
        found = listed(folder, *rest, **knobs)
        (tmp_path / "cat/y.png").unlink(missing_ok=True)
        return found

    monkeypatch.setattr(pictures, "_entries", late)
    found = open_images(tmp_path)
    assert found.y.tolist() == ["cat", "dog", "dog"]


BROKEN = {
    "text": (b"not a picture", "not a PNG or JPEG picture, or a damaged one. Convert it, replace it"),
    "GIF": (b"GIF89a\1\0\1\0\0\0\0;", "not a PNG or JPEG picture"),
    "60000 x 60000": (header(60000, 60000), "too many pixels, at most 16777216 are read. Make it smaller"),
    "10000 x 10000": (header(10000, 10000), "10000x10000 pixels, at most 16777216 are read"),
    "cut in its header": (header(5, 3)[:30], "not a PNG or JPEG picture, or a damaged one"),
    "cut after its header": (header(5, 3), "a damaged picture"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "text"), BROKEN.values(), ids=list(BROKEN))
def test_the_broken_file_is_named_when_the_folder_is_opened_or_decoded(content, text, tmp_path):
    write(tmp_path, GREY)
    (tmp_path / "cat/z.png").write_bytes(content)
    with pytest.raises(FileFormatError, match=text) as caught:
        np.asarray(open_images(tmp_path).x)
    assert str(caught.value).startswith(str(tmp_path / "cat/z.png"))


def test_many_large_blank_pictures_are_refused_before_they_are_decoded(tmp_path):
    (tmp_path / "a").mkdir()
    Image.new("L", (3000, 3000)).save(tmp_path / "a/0.png")
    for i in range(1, 9):
        os.link(tmp_path / "a/0.png", tmp_path / f"a/{i}.png")
    with pytest.raises(FileFormatError, match="to 81 MB or more, over 200 times"):
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


def test_a_class_without_pictures_is_no_class_and_a_note_says_so(tmp_path):
    write(tmp_path, GREY)
    (tmp_path / "bird").mkdir()
    for found in (read_images(tmp_path), open_images(tmp_path)):
        assert found.target_names == ("cat", "dog")
        assert found.notes == ("no class of its own: 1 folders without pictures, e.g. bird",)


# ---- opened, not read


def test_the_most_common_size_is_taken_and_a_note_counts_the_others(tmp_path):
    write(tmp_path, [GREY[0], GREY[1], GREY[2][:, :4], GREY[3]])
    found = open_images(tmp_path)
    assert found.shape == (3, 5)
    assert found.notes == ("resized to 5x3, the middle where the sides have another ratio: 1 of the 4 looked at",)
    assert np.array_equal(np.asarray(found.x)[[0, 1, 3], 0], GREY[[3, 1, 0]])


def test_size_and_channels_can_be_asked_for(tmp_path):
    write(tmp_path, [GREY[0], COLOUR[1], GREY[2], GREY[3]])
    found = open_images(tmp_path, size=(6, 10), channels=1)
    assert found.x.shape == (4, 1, 6, 10) and found.shape == (6, 10)
    assert found.notes[1] == "converted to L: 1 of mode RGB of the 4 looked at"
    assert open_images(tmp_path).shape == (3, 5, 3)


def test_only_some_headers_are_read_and_the_rest_is_checked_when_decoded(tmp_path, monkeypatch):
    (tmp_path / "a").mkdir()
    Image.fromarray(GREY[0]).save(tmp_path / "a/00000.png")
    for i in range(1, 3 * LOOK):
        os.link(tmp_path / "a/00000.png", tmp_path / f"a/{i:05}.png")
    (tmp_path / "a/00001.png").unlink()
    (tmp_path / "a/00001.png").write_bytes(b"not a picture")
    import ftheta.data.io.pictures as module

    looked, header = [], module.header
    monkeypatch.setattr(module, "header", lambda file: looked.append(file) or header(file))
    found = open_images(tmp_path)
    assert len(looked) == LOOK and looked[0].endswith("00000.png") and looked[-1].endswith(f"{3 * LOOK - 1:05}.png")
    with pytest.raises(FileFormatError, match="00001.png: not a PNG or JPEG picture"):
        np.asarray(found.x[:3])
    looked.clear()
    assert len(open_images(tmp_path, skip_bad=True).x) == 3 * LOOK - 1 == len(looked) - 1


def test_bad_files_are_named_or_left_out(tmp_path):
    write(tmp_path, GREY)
    (tmp_path / "cat/z.png").write_bytes(b"not a picture")
    with pytest.raises(FileFormatError, match="cat/z.png: not a PNG .* Or leave bad files out: skip_bad"):
        open_images(tmp_path)
    found = open_images(tmp_path, skip_bad=True)
    assert found.y.tolist() == ["cat", "dog", "dog"] and list(found.x.bad) == ["cat/z.png"]
    assert np.array_equal(np.asarray(found.x)[:, 0], GREY[[3, 2, 0]])
    assert found.notes[-1].startswith("left out as bad: 1 files, e.g. ") and "not a PNG or JPEG" in found.notes[-1]
    for file in tmp_path.rglob("*.png"):
        file.write_bytes(b"x")
    with pytest.raises(FileFormatError, match="none of the 4 files is a PNG or JPEG picture"):
        open_images(tmp_path, skip_bad=True)


WRONG = [{"size": (0, 5)}, {"size": (5,)}, {"size": (1 << 13, 1 << 12)}, {"channels": 2}]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_sizes_and_channels_that_cannot_be_are_refused(wrong, tmp_path):
    with pytest.raises(InputError, match=f"{next(iter(wrong))} is .* is needed"):
        open_images(write(tmp_path, GREY), **wrong)


def test_a_job_scans_a_folder_of_large_pictures_once_and_brings_them_to_its_size(tmp_path, monkeypatch):
    import ftheta.data.io.folders as module
    from ftheta.catalog import card
    from ftheta.jobs.config import Config
    from ftheta.jobs.opening import MAX_SIDE, open_data

    for name in ("a/1.png", "a/2.png", "b/3.png"):
        write(tmp_path, np.zeros((1, 3 * MAX_SIDE, 2 * MAX_SIDE), np.uint8), [name])
    scanned, scan = [], module._scan
    monkeypatch.setattr(module, "_scan", lambda *args: scanned.append(1) or scan(*args))
    for skip_bad in (False, True):
        found = open_data(Config(model="convnet", data=str(tmp_path), skip_bad=skip_bad), card("convnet"))
        assert found.shape == (MAX_SIDE, round(MAX_SIDE * 2 / 3)) and len(found.x) == 3
    assert len(scanned) == 2


def test_whoever_waits_is_told_how_far_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr("ftheta.data.io.pictures.WAIT", -1.0)
    monkeypatch.setattr("ftheta.data.io.pictures.WAIT", -1.0)
    said = []
    open_images(write(tmp_path, GREY), say=said.append)
    assert said[:2] == ["2 files found", "4 files found"] and said[-1] == "4 of 4 headers read"


# ---- one picture


def test_a_colour_photo_for_a_grey_net_says_what_was_done_to_it(tmp_path):
    photo = np.zeros((40, 60, 3), np.uint8)
    photo[:, 7:53] = (255, 0, 0)  # what the middle square shows, and what its windows reach
    Image.fromarray(photo).save(tmp_path / "photo.png")
    x, notes = read_picture(tmp_path / "photo.png", (8, 8), 1)
    assert x.shape == (1, 8, 8) and x.dtype == np.uint8 and (x == 76).all()  # 0.299 of 255
    middle = ", the middle of it, since the sides have another ratio"
    assert notes == ("colors became gray", f"resized from 60x40 to 8x8{middle}")
    assert read_picture(tmp_path / "photo.png", (8, 12), 3)[1] == ("resized from 60x40 to 12x8",)


def test_every_other_change_is_named_too(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 3
    Image.fromarray(np.dstack([GREY[0], GREY[1]])).save(tmp_path / "a.png", exif=exif)
    _, notes = read_picture(tmp_path / "a.png", (3, 5), 3)
    turned, white, grey = notes
    assert (turned, white) == ("turned as its EXIF entry says", "transparent parts became white")
    assert grey == "gray became RGB of three equal channels"
    Image.fromarray(GREY[0].astype(np.uint16)).save(tmp_path / "b.png")
    assert read_picture(tmp_path / "b.png", (3, 5), 1)[1] == ("reduced from 16 bits to 8",)


def test_one_picture_that_is_missing_or_none(tmp_path):
    with pytest.raises(FileFormatError, match="gone.png: cannot be read .No such file or directory.. Check path"):
        read_picture(tmp_path / "gone.png", (3, 5), 1)
    (tmp_path / "a.png").write_bytes(b"x")
    with pytest.raises(FileFormatError, match="a.png: not a PNG or JPEG picture"):
        read_picture(tmp_path / "a.png", (3, 5), 1)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_a_pipe_that_nobody_fills_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "a.png")
    with pytest.raises(FileFormatError, match="a.png: not a PNG or JPEG picture"):
        read_picture(tmp_path / "a.png", (3, 5), 1)


# ---- images and masks: classes of pixels as they lie in the files, brought to size as the pictures are


def folder(path, n=6, size=(8, 8), suffix="png"):
    """Pictures that are bright where their masks hold 3 instead of 0; the masks (n, H, W)."""
    masks = 3 * RNG.integers(0, 2, (n, *size), dtype=np.uint8)
    for part in ("images", "masks"):
        Path(path, part).mkdir(parents=True)
    for k, mask in enumerate(masks):
        Image.fromarray(60 * mask + 20).save(Path(path, "images", f"{k:02d}.{suffix}"))
        Image.fromarray(mask).save(Path(path, "masks", f"{k:02d}.png"))
    return masks


def test_the_numbers_of_the_masks_are_the_classes(tmp_path):
    masks = folder(tmp_path / "cells")
    found = open_images(tmp_path / "cells")
    assert (found.name, found.task, found.target_names, found.shape) == ("cells", "segment", ("0", "3"), (8, 8))
    assert np.array_equal(found.y, masks) and found.y.dtype == np.uint8
    assert np.array_equal(np.asarray(found.x)[:, 0], 60 * masks + 20)


def test_a_mask_belongs_to_the_picture_of_its_name_with_any_ending(tmp_path):
    masks = folder(tmp_path, suffix="jpg")
    assert np.array_equal(open_images(tmp_path).y, masks)


def test_palettes_give_their_numbers_and_bits_zero_and_one(tmp_path):
    masks = folder(tmp_path)
    painted = Image.frombytes("P", (8, 8), (masks[0] // 3).tobytes())
    painted.putpalette([0, 0, 0, 255, 0, 0])
    painted.save(tmp_path / "masks/00.png")
    Image.fromarray(masks[1] > 0).save(tmp_path / "masks/01.png")
    for name, mode in (("00", "P"), ("01", "1")):
        with Image.open(tmp_path / f"masks/{name}.png") as saved:
            assert saved.mode == mode
    assert np.array_equal(open_images(tmp_path).y[:2], masks[:2] // 3)


def test_masks_shrink_as_their_pictures_do_and_hold_no_class_between_two(tmp_path):
    """Of 12 x 8 pixels the middle, of each 2 x 2 one: class 9 is cut off, and between 0 and 4 there is none."""
    mask = np.zeros((8, 12), np.uint8)
    mask[:, :2], mask[:, 7:] = 9, 4
    for part, content in (("images", 20 * mask), ("masks", mask)):
        (tmp_path / part).mkdir()
        Image.fromarray(content).save(tmp_path / part / "a.png")
    for size, columns, most in (((4, 4), slice(3, 10, 2), 80), ((4, 2), slice(5, 8, 2), 40)):  # height, width
        found = open_images(tmp_path, size=size)
        assert np.array_equal(found.y[0], mask[1::2, columns]) and np.asarray(found.x).max() == most


def refused(path, **knobs):
    with pytest.raises(FileFormatError) as error:
        open_images(path, **knobs)
    return str(error.value)


def test_a_mask_that_does_not_fit_is_one_sentence(tmp_path):
    masks = folder(tmp_path)
    Image.fromarray(masks[2][:4]).save(tmp_path / "masks/02.png")
    assert "masks/02.png: 8x4 pixels, its picture has 8x8. Bring both to one size." in refused(tmp_path)
    Image.fromarray(np.stack([masks[2]] * 3, 2)).save(tmp_path / "masks/02.png")
    assert "masks/02.png: a PNG of mode RGB. A mask holds the number of a class in each pixel" in refused(tmp_path)
    Image.fromarray(masks[2]).save(tmp_path / "masks/02.png", format="JPEG")
    assert "masks/02.png: a JPEG of mode L." in refused(tmp_path)
    (tmp_path / "masks/02.png").write_bytes(b"no picture")
    assert "masks/02.png: not a PNG or JPEG picture, or a damaged one." in refused(tmp_path)
    (tmp_path / "masks/02.png").unlink()
    said = refused(tmp_path)
    assert "images/02.png: no mask of this name in masks. Add it, or move the picture." in said and "--skip-bad" in said


def test_what_has_no_mask_is_left_out_where_that_is_asked_for(tmp_path):
    masks = folder(tmp_path)
    (tmp_path / "masks/02.png").unlink()
    (tmp_path / "images/04.png").write_bytes(b"no picture")
    found = open_images(tmp_path, skip_bad=True)
    rows = [0, 1, 3, 5]
    assert np.array_equal(found.y, masks[rows]) and np.array_equal(np.asarray(found.x)[:, 0], 60 * masks[rows] + 20)
    assert "left out as bad: 2 files" in " ".join(found.notes)
    for file in (tmp_path / "masks").iterdir():
        file.unlink()
    assert "no picture has a mask that fits, e.g." in refused(tmp_path, skip_bad=True)


def test_models_of_rows_do_not_take_masks_for_a_class(tmp_path):
    folder(tmp_path)
    with pytest.raises(FileFormatError, match="images and masks, a class for every pixel.* unet"):
        read_images(tmp_path)
    (tmp_path / "other").mkdir()
    assert open_images(tmp_path).task != "segment"  # three folders are three classes


def test_a_net_learns_from_the_folder_as_from_its_arrays(tmp_path):
    masks = folder(tmp_path, n=24)
    knobs = {"filters": (2, 3), "epochs": 2, "batch_size": 8, "random_state": 0, "training": Training(shuffle=False)}
    data = open_images(tmp_path)
    from_folder = ftheta.UNetSegmenter(**knobs).fit(data.x, data.y)
    from_arrays = ftheta.UNetSegmenter(**knobs).fit(np.asarray(data.x), masks)
    assert from_folder.classes_.tolist() == [0, 3]
    x = np.asarray(data.x)
    np.testing.assert_allclose(from_folder.predict_proba(x), from_arrays.predict_proba(x), atol=1e-5)
    assert np.array_equal(from_folder.predict(data.x), from_folder.predict(x))
