"""Pictures that stay in their files: an array by its looks, decoded when asked, from memory the second time."""

import os
import pickle

import numpy as np
import pytest
from PIL import Image
from sklearn.model_selection import train_test_split

from ftheta.data import open_images
from ftheta.data.io import pictures as picture_files
from ftheta.errors import FileFormatError, InputError

RNG = np.random.default_rng(0)
X = RNG.integers(0, 256, (7, 1, 4, 6), dtype=np.uint8)


@pytest.fixture
def folder(tmp_path):
    for i, picture in enumerate(X):
        (tmp_path / f"all/{i % 2}").mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture[0]).save(tmp_path / f"all/{i % 2}/{i}.png")
    return tmp_path / "all"


ROWS = np.array([0, 2, 4, 6, 1, 3, 5])  # of X, in the order of the folder


@pytest.fixture
def decoded(monkeypatch):
    """Files that were decoded."""
    names, decode = [], picture_files.decode
    monkeypatch.setattr(
        picture_files, "decode", lambda file, *rest: names.append(os.path.basename(file)) or decode(file, *rest)
    )
    return names


def test_it_looks_like_an_array_and_decodes_like_one(folder, decoded):
    x = open_images(folder).x
    assert (len(x), x.shape, x.ndim, x.dtype) == (7, (7, 1, 4, 6), 4, np.uint8) and decoded == []
    assert np.array_equal(np.asarray(x), X[ROWS]) and len(decoded) == 7
    assert np.asarray(x, dtype=np.float32).dtype == np.float32
    assert repr(x) == f"Pictures({folder}, 7 x 1 x 4 x 6)"
    assert [path.name for path in x.paths[:2]] == ["0.png", "2.png"] and x.paths[0].is_file()


@pytest.mark.parametrize(
    "rows",
    [slice(1, 5), slice(None, None, -2), [3, 0, 3], np.array([6, 1]), np.arange(7) > 3, [], (np.array([2, 4]), ...)],
    ids=str,
)
def test_rows_of_it_are_rows_of_the_array(rows, folder):
    x = open_images(folder).x[rows]
    wanted = X[ROWS][rows]
    assert type(x).__name__ == "Pictures" and x.shape == wanted.shape and np.array_equal(np.asarray(x), wanted)
    assert np.array_equal(np.asarray(x[::-1]), wanted[::-1])


@pytest.mark.parametrize("row", [2, -1, np.int64(3)])
def test_one_row_is_one_picture(row, folder):
    found = open_images(folder).x[row]
    assert isinstance(found, np.ndarray) and np.array_equal(found, X[ROWS][row])


def test_it_ends_where_it_ends(folder):
    x = open_images(folder).x
    assert len(list(x)) == 7
    for rows in (7, [0, 9]):
        with pytest.raises(IndexError, match=r"of 7 pictures: index"):
            x[rows]
    with pytest.raises(InputError, match="Pictures are taken by one row number, a slice, or an array"):
        x[np.array([[0, 1], [2, 3]])]


def test_scikit_learn_splits_it(folder):
    data = open_images(folder)
    one, other, y_one, y_other = train_test_split(data.x, data.y, test_size=3, random_state=0)
    assert one.shape == (4, 1, 4, 6) and other.shape == (3, 1, 4, 6)
    for part, y in ((one, y_one), (other, y_other)):
        assert [path.parent.name for path in part.paths] == y.tolist()


def test_it_survives_a_pickle(folder):
    assert np.array_equal(np.asarray(pickle.loads(pickle.dumps(open_images(folder).x[1:3]))), X[ROWS][1:3])


def test_the_second_time_nothing_is_decoded_whatever_part_is_asked_for(folder, decoded):
    pictures = open_images(folder).x
    x = np.asarray(pictures)
    decoded.clear()
    assert np.array_equal(np.asarray(pictures[[4, 1]]), x[[4, 1]]) and decoded == []
    assert np.array_equal(np.asarray(open_images(folder).x), x) and len(decoded) == 7


def test_what_does_not_fit_into_memory_is_decoded_again(folder, decoded, monkeypatch):
    monkeypatch.setattr(picture_files, "ALWAYS", 0)
    monkeypatch.setattr(picture_files, "free_memory", lambda: 4 * 7 * 24 - 1)
    pictures = open_images(folder).x
    assert np.array_equal(np.asarray(pictures), np.asarray(pictures)) and len(decoded) == 14


def test_a_bad_file_is_an_error_or_left_out(folder):
    (folder / "0/4.png").write_bytes((folder / "0/4.png").read_bytes()[:-40])  # its header is fine
    with pytest.raises(FileFormatError, match="4.png: a damaged picture.*skip_bad"):
        np.asarray(open_images(folder).x)
    data = open_images(folder, skip_bad=True)
    assert len(data.x) == len(data.y) == 6 and list(data.x.bad) == ["0/4.png"]
    assert np.array_equal(np.asarray(data.x), X[[0, 2, 6, 1, 3, 5]]) and "left out" in data.notes[-1]


def test_the_digest_is_of_what_the_files_are(folder):
    x = open_images(folder).x
    assert x.digest() == open_images(folder).x.digest() and len(x.digest()) == 64
    others = [x[1:], x[::-1], open_images(folder, channels=3).x]
    os.utime(folder / "1/3.png", (1e9, 1e9))
    others.append(open_images(folder).x)
    assert len({x.digest(), *(other.digest() for other in others)}) == 5
