"""Images on the command line: folders, photos and labels of pixels, from training to prediction; the bad ones refused.

Pictures are made here: of a cat the upper half is bright, of a dog the left one.
"""

import csv
import io
import json
import re
import shutil
import signal
import struct
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.metrics import jaccard_score

import ftheta
from ftheta.store import Run
from tests.cli._things import call, snapshot, table, weights

QUICK = ("--epochs", 1, "--set", "filters=2,2")
SIZE = 10


def picture(kind, rng, size=SIZE, colour=True):
    """A cat or a dog: (H, W, 3) or (H, W)."""
    x = rng.integers(0, 60, (size, size, 3) if colour else (size, size), dtype=np.uint8)
    x[(slice(None), slice(size // 2)) if kind == "dog" else slice(size // 2)] += 150
    return x


def pets(root, n=6, *, size=SIZE, colour=True, seed=0):
    """A folder of n cats and n dogs."""
    rng = np.random.default_rng(seed)
    for kind in ("cat", "dog"):
        (Path(root) / kind).mkdir(parents=True)
        for i in range(n):
            Image.fromarray(picture(kind, rng, size, colour)).save(Path(root) / kind / f"{i}.png")
    return Path(root)


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A folder with pictures, a finished run on them, and one on labels of pixels, made once."""
    folder = tmp_path_factory.mktemp("images")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        pets("pets", 12)
        net = ("--set", "filters=[4]", "--set", "pool=mean", "--set", "activation=tanh", "--hidden", 8)
        assert call(patch, "train", "convnet", "pets", *net, "--epochs", 40, "--lr", 0.01, "--run", "runs/c/c") == 0
        assert call(patch, "train", "unet", "shapes", *QUICK, "--test", 0.06, "--run", "runs/u/u") == 0
    return folder


@pytest.fixture
def runs(ft, made, tmp_path):
    """A copy of that folder to work in."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)  # with the times of the files, by which a run knows its data
    return Path("runs/c/c"), Path("runs/u/u")


# ---- a folder of pictures


@pytest.mark.middle
@pytest.mark.ledger("A198", covers="ftheta.models.image.convnet.ConvNetClassifier")
def test_blocks_and_head_are_configured_trained_on_images_and_looked_into(ok, runs):
    model = ftheta.load(runs[0])[-1]
    kinds = [type(part).__name__ for part in model.module_]
    assert kinds == ["Conv2d", "Tanh", "AvgPool2d", "Flatten", "Linear", "Tanh", "Linear"]
    assert model.module_[0].weight.shape == (4, 3, 3, 3) and model.module_[4].out_features == 8
    assert json.loads((runs[0] / "result.json").read_text())["scores"]["accuracy"] == 1.0
    ok("explain", runs[0], "feature-maps", "--figures", "drawn")
    assert Path("drawn/feature-maps.svg").stat().st_size > 10_000
    listed = ok("explain", runs[0], "--list").out
    assert all(f"\n{name} " in listed for name in ("filters", "saliency", "receptive-field", "top-patches"))


def test_a_photo_has_a_label_a_probability_and_its_saliency_drawn_where_it_is_asked_for(ok, runs):
    rng = np.random.default_rng(7)
    Image.fromarray(picture("dog", rng)).save("my dog.png")
    before = snapshot(runs[0])
    done = ok("predict", runs[0], "my dog.png", "--figures", "drawn")
    (row,) = rows_of(done.out)
    encoder, model = ftheta.load(runs[0])
    p = model.predict_proba(np.asarray(Image.open("my dog.png")).transpose(2, 0, 1)[None])[0]
    assert list(row) == ["file", "prediction", "p(cat)", "p(dog)"]
    assert (row["file"], row["prediction"]) == ("my dog.png", "dog") and p[1] > 0.5
    np.testing.assert_allclose([float(row["p(cat)"]), float(row["p(dog)"])], p, rtol=1e-5)
    assert done.err == "drawn: drawn/predicted-my-dog.svg shows which pixels speak for the class\n"
    assert "saliency" in Path("drawn/predicted-my-dog.svg").read_text()
    assert ok("predict", runs[0], "my dog.png") == done._replace(err="") and snapshot(runs[0]) == before


def test_a_grey_photo_of_another_size_is_brought_to_the_nets_and_that_is_said(ok, runs):
    Image.fromarray(picture("cat", np.random.default_rng(8), 40, colour=False)).save("large.png")
    done = ok("predict", runs[0], "large.png")
    assert rows_of(done.out)[0]["prediction"] == "cat"
    assert "note: large.png: gray became RGB of three equal channels\n" in done.err
    assert "note: large.png: resized from 40x40 to 10x10\n" in done.err


def test_a_run_starts_from_another_run_with_layers_that_stay(ok, runs):
    settings = ("--set", "filters=[4]", "--set", "pool=mean", "--set", "activation=tanh", "--hidden", 8, "--epochs", 1)
    start = ("--set", f"start={runs[0]}", "--set", "training.freeze=['conv1.*']")
    ok("train", "convnet", "pets", *settings, *start, "--seed", 5, "--run", "again")
    first, again = (ftheta.load(run)[-1].module_.state_dict() for run in (runs[0], "again"))
    assert (first["conv1.weight"] == again["conv1.weight"]).all()
    assert (first["output.weight"] != again["output.weight"]).any()


def test_a_folder_is_predicted_file_by_file_with_classes_or_without(ok, runs):
    pets("new", 3, seed=5)
    rows = rows_of(ok("predict", runs[0], "new").out)
    assert [row["file"] for row in rows] == [f"{kind}/{i}.png" for kind in ("cat", "dog") for i in range(3)]
    assert [row["prediction"] for row in rows] == ["cat"] * 3 + ["dog"] * 3
    flat = rows_of(ok("predict", runs[0], "new/dog").out)
    assert [row["file"] for row in flat] == ["0.png", "1.png", "2.png"]
    assert [row["p(dog)"] for row in flat] == [row["p(dog)"] for row in rows[3:]]
    assert not (runs[0] / "figures").exists()


@pytest.mark.middle
@pytest.mark.parametrize("model", ["convnet", "resnet"])
def test_a_folder_run_goes_on_where_it_was_stopped(ft, ok, monkeypatch, model):
    pets("pets", 8)
    settings = ("train", model, "pets", "--epochs", 3, "--batch-size", 4, *QUICK[2:], "--set", "augment=shift")
    ok(*settings, "--run", "whole")
    log = Run.log

    def hooked(self, row):
        log(self, row)
        if row["epoch"] == 2:
            monkeypatch.setattr(Run, "log", log)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Run, "log", hooked)
    assert ft(*settings, "--run", "r").code == 130
    ok("train", "--resume", "r")
    assert weights("r") == weights("whole")


def test_a_run_is_not_continued_with_other_pictures(refused, runs):
    Image.fromarray(np.zeros((SIZE, SIZE, 3), np.uint8)).save("pets/cat/0.png")
    assert refused("train", "--resume", runs[0]).startswith("pets has changed since runs/c/c was started")
    assert refused("explain", runs[0], "activations").startswith("pets has changed since runs/c/c was trained on it.")


def test_the_test_part_may_be_a_folder_of_its_own(ok):
    pets("train", 6)
    pets("elsewhere/test", 3, size=14, seed=3)
    done = ok("train", "convnet", "train", "--test", "elsewhere/test", *QUICK, "--run", "r")
    assert "12 training, 6 test rows, 10x10 pixels in color" in done.err
    encoder, model = ftheta.load("r")
    seen = rows_of(ok("predict", "r", "elsewhere/test").out)
    kept = Run("r").tree("test.safetensors")
    np.testing.assert_allclose(kept["p"][:, 0], [float(row["p(cat)"]) for row in seen], rtol=1e-5)
    assert kept["y"].tolist() == ["cat"] * 3 + ["dog"] * 3


def test_data_show_says_what_is_in_a_folder(ok):
    pets("pets", 4)
    Image.fromarray(picture("dog", np.random.default_rng(0), 14)).save("pets/dog/large.png")
    Path("pets/cat/broken.png").write_bytes(b"no picture")
    found = json.loads(ok("data", "show", "pets", "--json").out)
    assert (found["rows"], found["shape"], found["classes"]) == (9, [SIZE, SIZE, 3], {"cat": 4, "dog": 5})
    assert any("resized to 10x10" in note for note in found["notes"])
    assert any("left out as bad: 1 files" in note and "broken.png" in note for note in found["notes"])
    assert "9 images, 10x10 pixels in color, binary (2 classes)" in ok("data", "show", "pets").out


# ---- a class for every pixel


def test_images_with_masks_are_a_folder_to_learn_pixels_from(ok, refused):
    rng = np.random.default_rng(0)
    for part in ("images", "masks"):
        Path("cells", part).mkdir(parents=True)
    for k in range(30):
        mask = np.kron(rng.integers(0, 2, (2, 2)), np.ones((8, 8), int)).astype(np.uint8)
        Image.fromarray(180 * mask + rng.integers(0, 40, mask.shape, dtype=np.uint8)).save(f"cells/images/{k}.png")
        Image.fromarray(mask).save(f"cells/masks/{k}.png")
    shown = json.loads(ok("data", "show", "cells", "--json").out)
    assert (shown["rows"], shown["task"], list(shown["classes"])) == (30, "segment", ["0", "1"])
    done = ok("train", "unet", "cells", "--set", "filters=4,4", "--epochs", 12, "--lr", 0.02, "--run", "r")
    assert "unet (segment) on cells: 22 training, 6 test, 2 validation rows, 16x16 pixels" in done.err
    assert json.loads(Path("r/result.json").read_text())["scores"]["pixel accuracy"] > 0.95
    said = refused("train", "convnet", "cells")
    assert said.startswith("The target of cells is classes of pixels, which convnet does not learn")
    assert "a class for every pixel. Use a model for that: unet." in refused("train", "mlp", "cells")
    Path("cells/masks/3.png").unlink()
    assert "images/3.png: no mask of this name in masks." in refused("train", "unet", "cells")
    assert "29 " in ok("data", "show", "cells").out


def test_labels_of_pixels_are_learned_and_scored(ok, runs):
    kept = Run(runs[1]).tree("test.safetensors")
    y, predicted = np.asarray(kept["y"]), np.asarray(kept["predicted"])
    made = ftheta.data.load("shapes")
    assert np.array_equal(y, made.y[kept["rows"]]) and kept["classes"] == list(made.target_names)
    encoder, model = ftheta.load(runs[1])
    assert np.array_equal(predicted, model.predict(encoder.transform(made.x[kept["rows"]])))
    scores = json.loads((runs[1] / "result.json").read_text())["scores"]
    overlap = jaccard_score(y.ravel(), predicted.ravel(), average=None, zero_division=0)
    np.testing.assert_allclose([scores[f"IoU of {name}"] for name in made.target_names], overlap)
    assert scores["pixel accuracy"] == pytest.approx((y == predicted).mean())
    shown = ok("runs", "show", runs[1]).out
    assert "test part (n = 30)" in shown and "boundary accuracy" in shown


def test_of_a_photo_the_share_of_each_class_is_said_and_the_classes_are_drawn(ok, runs, monkeypatch):
    made = ftheta.data.load("shapes")
    Image.fromarray(made.x[0].reshape(32, 32)).save("figures.png")
    drawn, draw = [], ftheta.plots.segmented
    monkeypatch.setattr("ftheta.plots.segmented", lambda *given, **more: drawn.append(given) or draw(*given, **more))
    done = ok("predict", runs[1], "figures.png", "--figures", "drawn")
    encoder, model = ftheta.load(runs[1])
    said = model.predict(encoder.transform(made.x[:1]))
    (row,) = rows_of(done.out)
    assert list(row) == ["file", *(f"share({name})" for name in made.target_names)]
    np.testing.assert_allclose([float(v) for v in list(row.values())[1:]], [(said == k).mean() for k in range(4)])
    assert done.err == "drawn: drawn/predicted-figures.svg shows the class of every pixel\n"
    ((image, truth, shown, names),) = drawn
    assert truth is None and np.array_equal(shown, said) and names == list(made.target_names)
    assert "prediction" in Path("drawn/predicted-figures.svg").read_text()


def test_own_labels_of_pixels_come_in_an_array(ok, refused):
    made = ftheta.data.shapes(40)
    x, y = made.x.reshape(-1, 32, 32), (made.y > 0) * 7
    np.savez("own.npz", x=x, y=y)
    ok("train", "unet", "own.npz", "--target", "y", *QUICK, "--test", 0.25, "--run", "r")
    kept = Run("r").tree("test.safetensors")
    assert np.array_equal(kept["y"], y[kept["rows"]] // 7) and kept["classes"] == ["0", "7"]
    np.save("new.npy", x[:3])
    rows = rows_of(ok("predict", "r", "new.npy").out)
    said = ftheta.load("r")[-1].predict(x[:3])
    np.testing.assert_allclose([float(row["share(7)"]) for row in rows], (said == 7).mean((1, 2)))
    y[y > 0] = 7 + np.arange(40)[:, None, None].repeat(32, 1).repeat(32, 2)[y > 0]
    np.savez("own.npz", x=x, y=y)
    assert "10 of 10 test rows have a class that no training row has" in refused(
        "train", "unet", "own.npz", "--target", "y", "--test", 0.25
    )


@pytest.mark.middle
def test_two_runs_on_pixels_are_compared_image_by_image(ok, refused, runs):
    ok("train", "unet", "shapes", "--epochs", 1, "--set", "filters=3,2", "--test", 0.06, "--run", "runs/u/v")
    done = ok("runs", "compare", "u", "v")
    assert "paired t" in done.out and "on the same 30 rows" in done.out
    said = refused("runs", "compare", "u", "c")
    assert said.startswith("u and c have different tasks, segment and classify,")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("mlp", "shapes"), "The target of shapes is classes of pixels, which mlp does not learn"),
        (("convnet", "shapes"), "The target of shapes is classes of pixels, which convnet does not learn"),
        (("unet", "digits"), "The target of digits is classes, which unet does not learn; it is for segment. Use"),
        (("unet", "shapes", "--task", "classify"), "--task classify: unet is for segment. Leave --task"),
        (("unet", "shapes", "--split", "stratified"), "--split stratified: shapes does not have one class per row"),
    ],
)
def test_what_is_not_of_pixels_is_refused_for_them(refused, args, said):
    assert refused("train", *args).startswith(said)


def test_large_pictures_are_made_smaller_unless_a_size_is_said(ok):
    pets("pets", 5, size=70)
    assert "64x64 pixels" in ok("train", "convnet", "pets", *QUICK, "--run", "r").err
    assert "8x8 pixels" in ok("train", "convnet", "pets", "--size", 8, *QUICK, "--run", "s").err
    assert ftheta.load("s")[-1].input_.shape == (3, 8, 8)


# ---- bad pictures


def cut(file):
    """A picture whose header is fine and whose pixels end too early."""
    Image.fromarray(picture("cat", np.random.default_rng(2), 60)).save(file)
    file.write_bytes(file.read_bytes()[:-3000])


BAD = {
    "no picture": (lambda file: file.write_bytes(b"no picture"), "not a PNG or JPEG picture, or a damaged one."),
    "cut": (cut, "a damaged picture ("),
}


@pytest.mark.parametrize(("spoil", "why"), BAD.values(), ids=BAD)
def test_a_bad_picture_is_named_before_anything_is_written_or_left_out(ok, refused, spoil, why):
    root = pets("pets", 6)
    spoil(root / "dog" / "x.png")
    said = refused("train", "convnet", "pets", *QUICK)
    assert f"dog/x.png: {why}" in said and said.endswith("on the command line --skip-bad.")
    done = ok("train", "convnet", "pets", "--skip-bad", *QUICK, "--run", "r")
    assert re.search(r"note: left out as (bad|damaged): 1 files, e\.g\. .*dog/x\.png", done.err)
    assert json.loads(Path("r/data.json").read_text())["rows"] == 12
    assert f"dog/x.png: {why}" in refused("predict", "r", "pets")
    assert len(rows_of(ok("predict", "r", "pets", "--skip-bad").out)) == 12


def empty_class():
    pets("pets")
    for file in Path("pets/dog").iterdir():
        file.unlink()
    return "train", "convnet", "pets"


def without_classes():
    pets("pets")
    return "train", "resnet", "pets/dog"


def tiny():
    pets("pets", size=1)
    return "train", "convnet", "pets"


def large_kernel():
    pets("pets")
    return "train", "convnet", "pets", "--set", "padding=valid", "--set", "kernel=11"


def a_table():
    return "train", "convnet", table("pets.csv", "kind"), "--target", "kind"


def a_column():
    pets("pets")
    return "train", "convnet", "pets", "--target", "kind"


def a_test_file():
    pets("pets")
    np.savez("new.npz", x=np.zeros((4, SIZE, SIZE), np.uint8), y=np.arange(4) % 2)
    return "train", "convnet", "pets", "--test", "new.npz"


def unseen():
    pets("pets"), pets("new/test", 2)
    Path("new/test/cat").rename("new/test/cow")
    return "train", "convnet", "pets", "--test", "new/test"


REFUSED = {
    "one class": (empty_class, "pets: the target has 1 class only ('cat', 6 rows); at least 2 are needed. Check"),
    "no class folders": (without_classes, "pets/dog: no pictures in folders of their classes. Put those of each class"),
    "one pixel": (tiny, "pool1 has windows of 2x2, but only 1x1 pixels reach it. Use fewer stages"),
    "kernel": (large_kernel, "conv1 has windows of 11x11, but only 10x10 pixels reach it."),
    "a table": (a_table, "pets is a table (60 rows), and convnet learns from data of the kind image"),
    "a column": (a_column, "--target kind: the classes of pets are the names of its folders; leave it out."),
    "a test file": (a_test_file, "the model was fitted with 300 values (3x10x10"),
    "an unseen class": (unseen, "new/test: 2 of 4 test rows have a class that no training row has ('cow')."),
}


@pytest.mark.parametrize(("make", "said"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_learned_from_is_one_sentence(refused, make, said):
    assert said in refused(*make())


@pytest.mark.parametrize("args", [("mlp", "digits", "--size", 8), ("convnet", "digits", "--skip-bad")], ids=str)
def test_flags_of_folders_are_for_folders(refused, args):
    flag = next(word for word in args if str(word).startswith("--"))
    assert refused("train", *args) == f"{flag} is for a folder of images and a model of images, e.g. convnet."


def test_pictures_of_two_sizes_are_brought_to_one_for_a_model_of_tables(ok):
    pets("pets")
    Image.fromarray(picture("cat", np.random.default_rng(0), 12)).save("pets/cat/x.png")
    assert "resized to" in ok("train", "mlp", "pets", "--epochs", "1").err


def test_a_file_that_does_not_fit_the_run_is_one_sentence(refused, runs):
    table("pets.csv", "kind")
    assert refused("predict", runs[0], "pets.csv") == (
        "pets.csv is a table, and the run was trained on images. Give an image or a folder."
    )
    Path("x.idx").write_bytes(struct.pack(">BBBB3I", 0, 0, 8, 3, 2, 5, 4) + bytes(40))
    assert refused("predict", runs[0], "x.idx").startswith(
        "The rows have shape (20,); the model was fitted with 300 values (3x10x10"
    )
    assert "nope.png: no such file" in refused("predict", runs[0], "nope.png")
    assert refused("predict", runs[0], "pets.csv", "--skip-bad").startswith("--skip-bad is for a folder of images")
    cut(Path("cut.png"))
    assert "cut.png: a damaged picture (" in refused("predict", runs[0], "cut.png")
    said = refused("export", runs[0], "--python")
    assert "ConvNetClassifier cannot be exported as Python yet; mlp and linear models can." in said


def test_a_photo_is_no_row_of_a_table(ok, refused):
    table("pets.csv", "kind")
    ok("train", "linear", "pets.csv", "--target", "kind", "--run", "r")
    Image.fromarray(picture("cat", np.random.default_rng(0))).save("x.png")
    said = "x.png is an image; the run was trained on rows of numbers. Give a file like its data."
    assert refused("predict", "r", "x.png") == said


# ---- the report


@pytest.mark.middle
def test_the_report_shows_what_a_net_sees(ok, runs):
    ok("runs", "report", runs[0])
    page = (runs[0] / "report.html").read_text()
    for name in ("filters", "feature-maps", "saliency", "receptive-field", "top-patches", "diagram"):
        assert f'id="explain-{name}"' in page
    assert "<img alt=" in page or "None of 5 rows was predicted wrongly" in page


@pytest.mark.middle
def test_the_report_shows_classes_of_pixels(ok, runs, monkeypatch):
    monkeypatch.setattr(sys.modules["ftheta.jobs.prepare"], "NUMBERS", 1)
    ok("runs", "report", runs[1])
    page = (runs[1] / "report.html").read_text()
    assert 'id="explain-segmentation"' not in page  # the images with the most wrong pixels show the same
    assert "Confusion matrix of the pixels" in page
    assert "The images with the most wrong pixels" in page and "segmentation" in page
