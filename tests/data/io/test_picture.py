"""One picture file as bytes: every mode, depth, rotation and size, against Pillow's own tools and plain arithmetic."""

import struct

import numpy as np
import pytest
from PIL import Image, ImageOps
from PIL.PngImagePlugin import PngInfo

from ftheta.data.io import pictures as _decode
from ftheta.data.io.pictures import decode, header
from ftheta.errors import FileFormatError

RNG = np.random.default_rng(0)
GREY = RNG.integers(0, 256, (6, 9), dtype=np.uint8)
COLOUR = RNG.integers(0, 256, (6, 9, 3), dtype=np.uint8)
ALPHA = RNG.integers(0, 256, (6, 9), dtype=np.uint8)


def saved(tmp_path, picture, name="a.png", **options):
    picture.save(tmp_path / name, **options)
    return tmp_path / name


def seen(file, size=(6, 9), channels=3):
    """(H, W) or (H, W, 3)."""
    x = decode(file, size, channels)
    assert x.shape == (channels, *size) and x.dtype == np.uint8
    return x[0] if channels == 1 else x.transpose(1, 2, 0)


def luma(rgb):
    return rgb.astype(float) @ [0.299, 0.587, 0.114]


def over_white(rgb, alpha):
    share = alpha[..., None] / 255
    return share * rgb + (1 - share) * 255


def test_plain_pictures_come_as_they_are(tmp_path):
    assert np.array_equal(seen(saved(tmp_path, Image.fromarray(GREY)), channels=1), GREY)
    assert np.array_equal(seen(saved(tmp_path, Image.fromarray(COLOUR))), COLOUR)
    assert np.array_equal(seen(saved(tmp_path, Image.fromarray(GREY))), np.dstack([GREY] * 3))


def test_grey_is_the_usual_weighted_sum(tmp_path):
    assert np.abs(seen(saved(tmp_path, Image.fromarray(COLOUR)), channels=1) - luma(COLOUR)).max() <= 0.51


def test_transparent_parts_lie_over_white(tmp_path):
    file = saved(tmp_path, Image.fromarray(np.dstack([COLOUR, ALPHA])))
    assert np.abs(seen(file) - over_white(COLOUR, ALPHA)).max() <= 1
    file = saved(tmp_path, Image.fromarray(np.dstack([GREY, ALPHA])))
    wanted = over_white(GREY[..., None], ALPHA)[..., 0]
    assert np.abs(seen(file, channels=1) - wanted).max() <= 1
    assert header(file).transparent


def test_a_palette_is_looked_up_and_its_transparent_entry_is_white(tmp_path):
    picture = Image.new("P", (9, 6))
    picture.putpalette([10, 20, 30, 200, 100, 0, 0, 0, 255, 7, 7, 7])
    picture.putdata((GREY // 64).ravel().tolist())
    table = np.array([[10, 20, 30], [200, 100, 0], [0, 0, 255], [7, 7, 7]])
    assert np.array_equal(seen(saved(tmp_path, picture)), table[GREY // 64])
    table[2] = 255
    assert np.array_equal(seen(saved(tmp_path, picture, transparency=2)), table[GREY // 64])


def test_of_sixteen_bits_the_upper_eight_are_kept(tmp_path):
    deep = RNG.integers(0, 65536, (6, 9), dtype=np.uint16)
    deep[0, :2] = 0, 65535
    file = saved(tmp_path, Image.fromarray(deep))
    assert header(file).mode.startswith("I")
    assert np.array_equal(seen(file, channels=1), deep // 256)


def test_one_of_65536_greys_may_stand_for_nothing_and_is_white(tmp_path):
    file = saved(tmp_path, Image.fromarray(np.array([[1000, 1001, 60000]], np.uint16)), transparency=1001)
    assert header(file).transparent and seen(file, (1, 3), 1).tolist() == [[3, 255, 234]]


@pytest.mark.parametrize("packed", [True, False])
def test_a_text_with_the_name_of_exif_turns_nothing(packed, tmp_path):
    about = PngInfo()
    about.add_text("exif", "hello", zip=packed) if packed else about.add_itxt("exif", "hello")
    assert np.array_equal(seen(saved(tmp_path, Image.fromarray(COLOUR), pnginfo=about)), COLOUR)


def test_black_and_white_is_0_and_255(tmp_path):
    assert np.array_equal(seen(saved(tmp_path, Image.fromarray(GREY > 99)), channels=1), (GREY > 99) * 255)


def test_printing_colours_are_mixed_to_rgb(tmp_path):
    cmyk = np.zeros((16, 16, 4), np.uint8)
    cmyk[..., 0] = 255  # cyan: no red
    found = seen(saved(tmp_path, Image.fromarray(cmyk, "CMYK"), "a.jpg", quality=95), (16, 16))
    assert found[..., 0].max() < 10 and found[..., 1:].min() > 245


@pytest.mark.parametrize("turn", range(1, 9))
@pytest.mark.parametrize("form", ["png", "jpg"])
def test_pictures_are_turned_as_pillow_turns_them(turn, form, tmp_path):
    exif = Image.Exif()
    exif[0x010F], exif[0x0112] = "maker", turn
    file = saved(tmp_path, Image.fromarray(COLOUR), f"a.{form}", exif=exif)
    with Image.open(file) as picture:
        wanted = np.asarray(ImageOps.exif_transpose(picture))
    assert header(file).size == wanted.shape[1::-1]
    assert np.array_equal(seen(file, wanted.shape[:2]), wanted)


@pytest.mark.parametrize(
    "exif",
    [
        b"Exif\0\0",
        b"Exif\0\0II*\0\xff\xff\xff\xff",
        b"Exif\0\0MM\0*\0\0\0\x08\xff\xff",
        b"Exif\0\0II*\0" + struct.pack("<IHHHIHH", 8, 1, 0x0112, 3, 1, 99, 0),
        b"Exif\0\0nonsense",
    ],
)
def test_damaged_exif_turns_nothing(exif, tmp_path, recwarn):
    assert np.array_equal(seen(saved(tmp_path, Image.fromarray(COLOUR), exif=exif)), COLOUR)
    assert not recwarn


def test_another_ratio_keeps_the_middle(tmp_path):
    picture = np.zeros((40, 80), np.uint8)
    picture[:, 18:62] = 200  # the middle, and what a window of 4 pixels reaches
    assert (seen(saved(tmp_path, Image.fromarray(picture)), (10, 10), 1) == 200).all()
    assert (seen(saved(tmp_path, Image.fromarray(picture.T.copy())), (10, 10), 1) == 200).all()
    wide = seen(saved(tmp_path, Image.fromarray(picture.T.copy())), (10, 40), 1)  # rows 35 to 45 of 80, all 40 columns
    assert (wide == 200).all()


def test_shrinking_by_a_whole_number_weighs_all_pixels(tmp_path):
    found = seen(saved(tmp_path, Image.fromarray(np.tile(np.uint8([[0, 200], [200, 0]]), (20, 20)))), (10, 10), 1)
    assert np.abs(found[1:-1, 1:-1] - 100.0).max() <= 3  # a checkerboard, not one of its two colours


def test_a_large_jpeg_is_decoded_small_and_shows_the_same(tmp_path, monkeypatch):
    rows, columns = np.mgrid[:800, :1200]
    smooth = np.dstack([rows / 4, columns / 6, (rows + columns) / 10]).astype(np.uint8)
    file = saved(tmp_path, Image.fromarray(smooth), "a.jpg", quality=95)
    with Image.open(file) as picture:
        wanted = np.asarray(ImageOps.fit(picture, (20, 20), Image.Resampling.BILINEAR)).astype(int)
    monkeypatch.setattr(_decode, "MAX_PIXELS", 800 * 1200 // 16)
    assert np.abs(seen(file, (20, 20)) - wanted).max() <= 3


def test_a_large_jpeg_that_lies_on_its_side_is_decoded_small_too(tmp_path, monkeypatch):
    rows, columns = np.mgrid[:160, :1200]
    exif = Image.Exif()
    exif[0x0112] = 6
    file = saved(tmp_path, Image.fromarray((rows + columns / 13).astype(np.uint8)), "a.jpg", quality=95, exif=exif)
    with Image.open(file) as picture:
        wanted = np.asarray(ImageOps.fit(ImageOps.exif_transpose(picture), (20, 150), Image.Resampling.BILINEAR))
    monkeypatch.setattr(_decode, "MAX_PIXELS", 150 * 20)
    assert np.abs(seen(file, (150, 20), 1).astype(int) - wanted).max() <= 3


def test_a_large_progressive_jpeg_is_refused_since_its_decoder_holds_all_of_it(tmp_path, monkeypatch):
    file = saved(tmp_path, Image.new("RGB", (160, 160)), "a.jpg", progressive=True)
    monkeypatch.setattr(_decode, "MAX_PIXELS", 40 * 40)
    for read in (header, seen):
        with pytest.raises(FileFormatError, match="a.jpg: 160x160 pixels, at most 1600 are read"):
            read(file)
    monkeypatch.setattr(_decode, "MAX_PIXELS", 160 * 160)
    assert header(file).size == (160, 160)


def test_files_that_are_large_or_small_are_read_alike(tmp_path, monkeypatch):
    file = saved(tmp_path, Image.fromarray(COLOUR))
    monkeypatch.setattr(_decode, "SMALL", 10)
    assert np.array_equal(seen(file), COLOUR)


@pytest.mark.parametrize("form", ["png", "jpg"])
def test_a_file_that_was_cut_off_is_named(form, tmp_path):
    file = saved(tmp_path, Image.fromarray(RNG.integers(0, 256, (50, 50, 3), dtype=np.uint8)), f"a.{form}")
    file.write_bytes(file.read_bytes()[:-1000])
    with pytest.raises(FileFormatError, match=f"a.{form}: a damaged picture .*. Replace it or remove it"):
        decode(file, (6, 9), 3)


def test_an_animation_and_a_folder_are_no_pictures(tmp_path):
    file = saved(tmp_path, Image.fromarray(GREY), "a.gif", save_all=True, append_images=[Image.fromarray(GREY.T)])
    with pytest.raises(FileFormatError, match="a.gif: not a PNG or JPEG picture, or a damaged one. Convert it"):
        decode(file, (6, 9), 1)
    with pytest.raises(FileFormatError, match="cannot be read .Is a directory.. Check path"):
        decode(tmp_path, (6, 9), 1)


def test_a_file_of_two_pictures_from_a_camera_is_the_first(tmp_path):
    wanted = seen(saved(tmp_path, Image.fromarray(COLOUR), "a.jpg", quality=95))
    other = Image.fromarray(255 - COLOUR)
    Image.fromarray(COLOUR).save(tmp_path / "b.jpg", "MPO", save_all=True, append_images=[other], quality=95)
    assert np.array_equal(seen(tmp_path / "b.jpg"), wanted)
