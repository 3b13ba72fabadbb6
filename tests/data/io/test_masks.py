"""A folder of images and masks: classes of pixels as they lie in the files, brought to size as the pictures are."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import ftheta
from ftheta.data import open_images, read_images
from ftheta.errors import FileFormatError
from ftheta.train import Training

RNG = np.random.default_rng(0)


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
    """Of 12 x 8 pixels the middle 8 x 8, of each 2 x 2 one: class 9 is cut off, and between 0 and 4 there is none."""
    mask = np.zeros((8, 12), np.uint8)
    mask[:, :2], mask[:, 7:] = 9, 4
    for part, content in (("images", 20 * mask), ("masks", mask)):
        (tmp_path / part).mkdir()
        Image.fromarray(content).save(tmp_path / part / "a.png")
    found = open_images(tmp_path, size=(4, 4))
    assert np.array_equal(found.y[0], mask[1::2, 3:10:2]) and np.asarray(found.x).max() == 80


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
