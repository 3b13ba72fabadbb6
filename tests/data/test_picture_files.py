"""Pictures that stay in their files: an array by its looks, decoded when asked, from the cache the second time."""

import os
import pickle

import numpy as np
import pytest
from PIL import Image
from sklearn.model_selection import train_test_split

from ftheta.data import open_images, picture_files
from ftheta.errors import FileFormatError, InputError

RNG = np.random.default_rng(0)
X = RNG.integers(0, 256, (7, 1, 4, 6), dtype=np.uint8)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setattr("ftheta.data._picture_cache.cache_folder", lambda: tmp_path / "cache")


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
    x = pickle.loads(pickle.dumps(open_images(folder).x[1:3]))
    assert np.array_equal(np.asarray(x), X[ROWS][1:3])


def test_the_second_time_nothing_is_decoded_whatever_part_is_asked_for(folder, decoded):
    x = np.asarray(open_images(folder).x)
    decoded.clear()
    assert np.array_equal(np.asarray(open_images(folder).x[[4, 1]]), x[[4, 1]]) and decoded == []
    assert np.array_equal(np.asarray(open_images(folder, cache=False).x), x) and len(decoded) == 7


def test_a_picture_that_was_changed_is_decoded_again(folder, decoded):
    np.asarray(open_images(folder).x)
    decoded.clear()
    Image.fromarray(255 - X[3, 0]).save(folder / "1/3.png")
    os.utime(folder / "1/3.png", (1e9, 1e9))
    Image.fromarray(X[0, 0]).save(folder / "1/9.png")
    x = np.asarray(open_images(folder).x)
    assert np.array_equal(x[5], 255 - X[3]) and np.array_equal(x[7], X[0]) and decoded == ["3.png", "9.png"]


@pytest.mark.skipif(os.name == "nt", reason="st_ctime is not of the last change there")
def test_one_replaced_by_another_of_the_same_size_and_time_is_decoded_again(folder):
    file = folder / "1/3.png"
    Image.fromarray(X[3, 0]).save(file, compress_level=0)
    before = file.stat()
    assert np.array_equal(open_images(folder).x[5], X[3])
    while file.stat().st_ctime_ns == before.st_ctime_ns:  # of what a file system may count as one instant
        Image.fromarray(255 - X[3, 0]).save(file, compress_level=0)
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert np.array_equal(open_images(folder).x[5], 255 - X[3])


def test_other_shapes_have_pixels_of_their_own(folder):
    x = np.asarray(open_images(folder).x)
    assert np.asarray(open_images(folder, channels=3).x).shape == (7, 3, 4, 6)
    tall = np.asarray(open_images(folder, size=(6, 4)).x)  # as many bytes
    assert np.array_equal(tall, np.asarray(open_images(folder, size=(6, 4), cache=False).x))
    assert np.array_equal(np.asarray(open_images(folder).x), x)


def test_without_a_cache_nothing_is_written(folder, tmp_path):
    np.asarray(open_images(folder, cache=False).x)
    assert not (tmp_path / "cache").exists()


def test_a_bad_file_is_an_error_and_usable_rows_leave_it_out(folder):
    content = (folder / "0/4.png").read_bytes()
    (folder / "0/4.png").write_bytes(content[:-40])  # its header is fine
    x = open_images(folder, skip_bad=True).x
    assert len(x) == 7 and x.bad == {}
    with pytest.raises(FileFormatError, match="4.png: a damaged picture"):
        np.asarray(x)
    part = x[1:5]
    assert part.usable().tolist() == [0, 2, 3]
    assert list(x.bad) == ["0/4.png"] and "a damaged picture" in x.bad["0/4.png"]
    assert np.array_equal(np.asarray(part[part.usable()]), X[[2, 6, 1]])


def test_the_digest_is_of_what_the_files_are(folder):
    x = open_images(folder).x
    assert x.digest() == open_images(folder).x.digest() and len(x.digest()) == 64
    others = [x[1:], x[::-1], open_images(folder, channels=3).x]
    os.utime(folder / "1/3.png", (1e9, 1e9))
    others.append(open_images(folder).x)
    assert len({x.digest(), *(other.digest() for other in others)}) == 5
