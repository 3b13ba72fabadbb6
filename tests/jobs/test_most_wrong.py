"""The most wrong examples: the right ones, in the right order, as rows or as pictures."""

import base64
import io
import re
import tempfile
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread
from PIL import Image

from ftheta.data import Pictures, open_images
from ftheta.jobs import report
from ftheta.jobs.pages import render
from ftheta.store import Run
from ftheta.tasks import TASKS

CLASSES = {
    "rows": np.array([10, 11, 12, 13]),
    "y": np.array(["a", "b", "a", "c"]),
    "predicted": np.array(["a", "a", "b", "a"]),
    "p": np.array([[0.9, 0.1], [0.7, 0.3], [0.05, 0.95], [0.6, 0.4]]),
    "classes": ["a", "b"],
}
NUMBERS = {"rows": [4, 5, 6], "y": [1.0, 2.0, 3.0], "predicted": [1.5, 0.0, 3.0], "p": None, "classes": None}
FRAME = pd.DataFrame(
    {"row": [1.0, np.nan, 3.0, 4.0], "when": pd.to_datetime(["2020-01-01"] * 3 + [None]), "z": [0.5, 1, 2, 3]}
)


def most_wrong(test, rows, shape=()):
    """The section of a page for these answers and raw rows."""
    task = "regress" if test["classes"] is None else "segment" if np.ndim(test["y"]) == 3 else "classify"
    facts = {"kind": "image" if isinstance(rows, Pictures) else "table", "shape": list(shape)}
    with tempfile.TemporaryDirectory() as folder:
        run = Run(folder)
        run.write(
            "test.safetensors",
            {k: np.asarray(v) if isinstance(v, list) and k != "classes" else v for k, v in test.items()},
        )
        trained = SimpleNamespace(run=run, task=TASKS[task](), facts=facts, tested=(rows, None))
        blocks = report._most_wrong(trained)
    return render(sections={"Most wrong": blocks}).partition("<section>")[2].partition("<footer>")[0]


def cells(html):
    found = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line) for line in re.findall(r"<tr>(.*?)</tr>", html)]
    return found[0], found[1:]


def test_the_least_probable_truth_comes_first_and_an_unseen_class_has_none():
    header, lines = cells(most_wrong(CLASSES, FRAME))
    assert header == ["row", "true", "predicted", "p(true class)", "row (column)", "when", "z"]
    assert [line[:4] for line in lines] == [
        ["13", "c", "a", "0.000"], ["12", "a", "b", "0.05000"], ["11", "b", "a", "0.3000"],
    ]  # fmt: skip
    assert [line[4] for line in lines] == ["4", "3", "missing"]  # whole numbers, one of them missing
    assert [line[5] for line in lines] == ["missing", "2020-01-01", "2020-01-01"]
    assert [line[6] for line in lines] == ["3", "2", "1"]
    assert "3 of 4 rows were predicted wrongly; rows whose true class was the least" in most_wrong(CLASSES, FRAME)


def test_without_probabilities_the_wrong_rows_are_shown():
    header, lines = cells(most_wrong(CLASSES | {"p": None}, FRAME))
    assert header[:3] == ["row", "true", "predicted"] and [line[0] for line in lines] == ["11", "12", "13"]
    right = CLASSES | {"p": None, "predicted": CLASSES["y"]}
    assert "<p>None of 4 rows was predicted wrongly.</p>" in most_wrong(right, FRAME)


def test_the_largest_error_comes_first_with_its_sign_and_no_error_is_left_out():
    header, lines = cells(most_wrong(NUMBERS, np.arange(6).reshape(3, 2)))
    assert header == ["row", "true", "predicted", "residual", "0", "1"]
    assert lines == [["5", "2.000", "0.000", "2.000", "2", "3"], ["4", "1.000", "1.500", "-0.5000", "0", "1"]]


def test_of_many_rows_and_columns_some_are_shown():
    n = 50
    test = {"rows": np.arange(n), "y": np.zeros(n), "predicted": np.arange(n) * 1.0, "p": None, "classes": None}
    header, lines = cells(most_wrong(test, np.zeros((n, 100))))
    assert [line[0] for line in lines] == [str(i) for i in range(49, 39, -1)] and len(header) == 4 + 12
    assert "The first 12 of 100 columns." in most_wrong(test, np.zeros((n, 100)))


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 1), (2, 3, 3)])
def test_pictures_are_shown_as_they_are(shape):
    rows = np.random.default_rng(0).integers(0, 256, (4, np.prod(shape)), dtype=np.uint8)
    html = most_wrong(CLASSES, rows, shape)
    assert re.findall(r'alt="(.*?)"', html) == [
        "Row 13: c predicted as a", "Row 12: a predicted as b", "Row 11: b predicted as a"
    ]  # fmt: skip
    first = imread(io.BytesIO(base64.b64decode(re.findall(r"base64,(.*?)\"", html)[0])), format="png")
    truth = rows[3].reshape(shape) / 255
    truth = truth if truth.ndim == 3 and shape[-1] == 3 else np.repeat(truth.reshape(2, 3, 1), 3, 2)
    np.testing.assert_allclose(first[..., :3], truth, atol=1 / 254)
    assert "<strong>c predicted as a</strong><br>p(true class) 0, row 13</figcaption>" in html


def test_pictures_of_other_numbers_use_all_of_grey():
    html = most_wrong(CLASSES, np.tile([3.0, 5.0, 4.0, 3.0], (4, 1)), (2, 2))
    first = imread(io.BytesIO(base64.b64decode(re.findall(r"base64,(.*?)\"", html)[0])), format="png")
    np.testing.assert_allclose(first[..., 0], [[0, 1], [0.5, 0]], atol=1 / 254)
    assert "data:image/png" in most_wrong(CLASSES, np.ones((4, 4)), (2, 2))  # one grey has no range


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 3)], ids=["grey", "colour"])
def test_pictures_in_files_are_shown_as_they_are(shape, tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (4, *shape), dtype=np.uint8)
    (tmp_path / "a").mkdir()
    for i, x in enumerate(pixels):
        Image.fromarray(x).save(tmp_path / "a" / f"{i}.png")
    assert most_wrong(CLASSES, open_images(tmp_path).x, shape) == most_wrong(CLASSES, pixels.reshape(4, -1), shape)


@pytest.mark.parametrize("shape", [(4, 5), (4, 5, 3)], ids=["grey", "colour"])
def test_images_with_the_most_wrong_pixels_are_shown_beside_their_maps(shape, monkeypatch):
    rng, drawn = np.random.default_rng(1), []
    rows = rng.integers(0, 256, (9, np.prod(shape)), dtype=np.uint8)
    y = rng.integers(0, 2, (9, 4, 5))
    predicted = y.copy()
    for i in range(9):  # image i has i wrong pixels
        predicted[i].ravel()[:i] = 1 - y[i].ravel()[:i]
    monkeypatch.setattr("ftheta.plots.segmented", lambda *given, **_: drawn.append(given) or Figure())
    test = {"rows": np.arange(9) + 20, "y": y, "predicted": predicted, "p": None, "classes": ["ground", "disc"]}
    html = most_wrong(test, rows, shape)
    assert "<p>The images with the most wrong pixels, up to 40.0 % of them.</p>" in html
    assert "<p>Rows 28, 27, 26, 25, 24, 23.</p>" in html
    ((images, truth, answer, names),) = drawn
    np.testing.assert_array_equal(images[1], rows[7].reshape(4, 5, -1).transpose(2, 0, 1))
    assert np.array_equal(truth, y[:2:-1]) and np.array_equal(answer, predicted[:2:-1]) and names == test["classes"]
