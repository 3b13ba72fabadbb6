"""NPY, NPZ and IDX: what NumPy and a few lines of `struct` write comes back; whatever else is one sentence."""

import gzip
import io
import struct
import warnings
import zipfile
from itertools import product

import numpy as np
import pytest

from ftheta.data import read_arrays, read_idx, read_idx_array
from ftheta.errors import FileFormatError

RNG = np.random.default_rng(0)
PIXELS = RNG.integers(0, 256, (6, 4, 5), dtype=np.uint8)
LABELS = np.array([3, 1, 4, 1, 5, 9], dtype=np.uint8)


def npy(array, version=None):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, version=version)
    return out.getvalue()


def forged(header, values=b"", version=b"\1\0"):
    size = len(header).to_bytes(2 if version == b"\1\0" else 4, "little")
    return b"\x93NUMPY" + version + size + header.encode("latin-1") + values


def idx(array, code=0x08):
    sizes = b"".join(struct.pack(">I", n) for n in array.shape)
    return bytes([0, 0, code, array.ndim]) + sizes + array.astype(array.dtype.newbyteorder(">")).tobytes()


def rejected(path, content, text, target=None, read=read_arrays):
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=text) as caught:
        read(path, target)
    assert str(caught.value).startswith(str(path))


def refused_each(path, files, read=read_arrays):
    """Each is one FileFormatError of one line that names the path."""
    for case, content in files.items():
        path.write_bytes(content)
        with pytest.raises(FileFormatError) as caught:
            read(path)
        message = str(caught.value)
        assert message.startswith(str(path)) and "\n" not in message, case


def harmless_each(path, files):
    """Each is a small table or refused: nothing is unpickled, nothing fills the memory."""
    for case, content in files.items():
        path.write_bytes(content)
        try:
            assert read_arrays(path).x.size <= 100, case
        except FileFormatError as error:
            assert str(error).startswith(str(path)) and "\n" not in str(error), case


# ---- NPY


@pytest.mark.parametrize("dtype", "b1 i1 <i2 >i4 <i8 u1 >u2 <u4 <u8 <f2 >f4 <f8 >f8".split())
def test_a_matrix_of_any_type_and_order_is_a_table_of_float64(dtype, tmp_path):
    for order, version in product("CF", [(1, 0), (2, 0), (3, 0)]):
        x = np.asarray(RNG.integers(0, 2, (5, 3)), dtype=dtype, order=order)
        (tmp_path / "a.npy").write_bytes(npy(x, version))
        found = read_arrays(tmp_path / "a.npy")
        assert found.x.to_numpy().tolist() == x.astype(float).tolist()
        assert set(found.x.dtypes) == {np.dtype("float64")} and found.y is None and found.task == "none"
        assert found.name == "a" and found.feature_names == ("x0", "x1", "x2") == tuple(found.x.columns)


def test_a_column_is_the_target_and_whole_numbers_are_classes(tmp_path):
    x = np.array([[0.5, 1, 7], [np.nan, 0, 8], [2.5, 1, 9]])
    np.save(tmp_path / "a.npy", x)
    found = read_arrays(tmp_path / "a.npy", "x1")
    assert found.y.tolist() == [1, 0, 1] and found.y.dtype == np.int64 and found.task == "binary"
    assert found.target_names == ("0", "1") and found.feature_names == ("x0", "x2")
    assert np.array_equal(found.x.to_numpy(), x[:, [0, 2]], equal_nan=True)
    assert read_arrays(tmp_path / "a.npy", "x0", required=False).y is None  # one of them is missing
    assert read_arrays(tmp_path / "a.npy", "z", required=False).y is None
    rejected(tmp_path / "a.npy", npy(x), "Unknown target column 'x9'.*Known: x0, x1, x2", "x9")
    assert read_arrays(tmp_path / "a.npy", "x0").y.tolist() == [0.5, 2.5]  # rows without one are left out


def test_numbers_that_are_not_whole_or_beyond_float64_are_regression(tmp_path):
    for y in ([0.5, 1, 2], [1e300, -1e300, 3]):
        np.save(tmp_path / "a.npy", np.c_[[1.0, 2, 3], y])
        found = read_arrays(tmp_path / "a.npy", "x1")
        assert found.y.tolist() == y and found.y.dtype == float
    np.save(tmp_path / "a.npy", np.c_[[1.0, 2, 3], [0.5, 1, 2]].astype("f2"))
    assert read_arrays(tmp_path / "a.npy", "x1").task == "regression"


@pytest.mark.parametrize("shape", [(6, 4, 5), (6, 4, 5, 3), (6, 4, 5, 1)], ids=str)
def test_bytes_of_three_or_four_axes_are_pictures(shape, tmp_path):
    x = RNG.integers(0, 256, shape, dtype=np.uint8)
    np.save(tmp_path / "a.npy", np.asfortranarray(x))
    found = read_arrays(tmp_path / "a.npy")
    assert (found.kind, found.shape) == ("image", (4, 5, 3) if shape[3:] == (3,) else (4, 5))
    assert found.x.dtype == np.uint8 and np.array_equal(found.x, x.reshape(6, -1))
    with pytest.raises(FileFormatError, match=r"pictures without labels; .*np.savez"):
        read_arrays(tmp_path / "a.npy", "y")
    assert read_arrays(tmp_path / "a.npy", "y", required=False).y is None


DAMAGED_NPY = {
    "not NPY": b"PNG or so",
    "unknown version": b"\x93NUMPY\x04\0" + bytes(20),
    "two gigabytes of header": b"\x93NUMPY\2\0\0\0\0\x80",
    "a header that is cut off": npy(np.ones((2, 2)))[:40],
    "records": npy(np.zeros(2, "i4,f8")),
    "complex numbers": npy(np.ones(2) * 1j),
    "an expression": forged("{'descr': '<f8', 'fortran_order': False, 'shape': (2**9,), }"),
    "a shape that is no tuple": forged("{'descr': '<f8', 'fortran_order': False, 'shape': (2), }"),
    "seven tebibytes": forged("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000), }"),
    "a product beyond 64 bits": forged(f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({2**62}, {2**62}), }}"),
    "one byte less": npy(np.ones((2, 2)))[:-1],
    "one byte more": npy(np.ones((2, 2))) + b"x",
    "no axes": npy(np.float64(3)),
    "no rows": npy(np.ones((0, 3))),
    "text that is damaged": npy(np.full((2, 2), "a"))[:-4] + b"\0\0\0\1",
    "too many columns": npy(np.ones((1, 100_001), np.uint8)),
}


def test_any_other_npy_file_is_one_sentence(tmp_path):
    refused_each(tmp_path / "a.npy", DAMAGED_NPY)


OTHER_NPY = {
    "objects": (forged("{'descr': '|O', 'fortran_order': False, 'shape': (2,), }\n"), "never unpickles"),
    "text": (npy(np.full((2, 2), "a")), "numbers is needed"),
    "one axis": (npy(np.ones(3)), r"\(3,\)"),
    "pictures of floats": (npy(np.ones((2, 3, 3))), r"float64; .*astype\('uint8'\)"),
    "channels first": (npy(np.ones((2, 3, 8, 8), np.uint8)), r"\(3, 8, 8\); .*moveaxis"),
    "infinity": (npy(np.array([[1.0, 2], [3, np.inf]])), "row 1, column 'x1' holds 'inf'"),
}


@pytest.mark.parametrize(("content", "text"), OTHER_NPY.values(), ids=list(OTHER_NPY))
def test_an_array_that_is_no_data_set_is_refused_with_what_to_do(content, text, tmp_path):
    rejected(tmp_path / "a.npy", content, text)


# ---- NPZ


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("names", [("X", "y"), ("x", "labels"), ("data", "target"), ("images", "y"), ("rows", "y")])
def test_rows_and_targets_are_found_by_their_names(save, names, tmp_path):
    x, y = RNG.normal(size=(4, 3)), np.array(["b", "a", "b", "c"])
    save(tmp_path / "a.npz", **dict(zip(names, (x, y), strict=True)))
    for target in ("", None, names[1]):
        found = read_arrays(tmp_path / "a.npz", target)
        assert np.array_equal(found.x.to_numpy(), x) and found.y.tolist() == y.tolist()
        assert (found.task, found.target_names, found.notes) == ("multiclass", ("a", "b", "c"), ())


def test_pictures_with_labels_and_what_is_not_used(tmp_path):
    np.savez(tmp_path / "a.npz", images=PIXELS, y=LABELS[:, None], other=np.ones(3), more=np.ones(1))
    found = read_arrays(tmp_path / "a.npz")
    assert np.array_equal(found.x, PIXELS.reshape(6, 20)) and found.shape == (4, 5)
    assert found.y.tolist() == LABELS.tolist() and found.notes == ("not used: the arrays 'other', 'more'",)
    np.savez(tmp_path / "b.npz", a=PIXELS, y=LABELS > 3)
    assert read_arrays(tmp_path / "b.npz").y.tolist() == ["False", "False", "True", "False", "True", "True"]


def test_a_target_may_be_missing_where_it_is_not_required(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.ones((2, 2)))
    assert read_arrays(tmp_path / "a.npz").y is None
    assert read_arrays(tmp_path / "a.npz", "y", required=False).y is None
    with pytest.raises(FileFormatError, match="Unknown target array 'y'"):
        read_arrays(tmp_path / "a.npz", "y")
    np.savez(tmp_path / "a.npz", X=np.ones((2, 2)), y=np.array([1, np.nan]))
    assert read_arrays(tmp_path / "a.npz", "y", required=False).y is None


@pytest.mark.parametrize("channels", [(), (3,)], ids=["grey", "colour"])
def test_a_class_for_every_pixel_of_pictures_is_a_target(tmp_path, channels):
    y = np.arange(24, dtype=np.uint8).reshape(2, 3, 4) % 5
    np.savez(tmp_path / "maps.npz", X=np.ones((2, 3, 4, *channels), np.uint8), y=y)
    found = read_arrays(tmp_path / "maps.npz", "y")
    assert (found.task, found.shape, found.target_names) == ("segment", (3, 4, *channels), ("0", "1", "2", "3", "4"))
    assert np.array_equal(found.y, y) and found.outputs == 5
    np.savez(tmp_path / "maps.npz", X=np.ones((2, 3, 4, *channels), np.uint8), y=y.transpose(0, 2, 1))
    with pytest.raises(FileFormatError, match=r"targets of shape \(2, 4, 3\)"):
        read_arrays(tmp_path / "maps.npz", "y")


@pytest.mark.parametrize(
    ("arrays", "text"),
    [
        ({"a": np.ones((2, 2)), "b": np.ones((2, 3))}, "which array holds the rows, 'a' or 'b'. Name it X"),
        ({"y": np.ones(2)}, "which array holds the rows, none is left"),
        ({"X": np.ones((2, 2)), "y": np.ones(3)}, r"targets of shape \(3,\).*one number or text per row"),
        ({"X": np.ones((2, 2)), "y": np.eye(2)}, r"targets of shape \(2, 2\).*y.argmax\(1\)"),
    ],
)
def test_arrays_that_make_no_data_set(arrays, text, tmp_path):
    out = io.BytesIO()
    np.savez(out, **arrays)
    rejected(tmp_path / "a.npz", out.getvalue(), text)


def test_33_a_pickled_object_is_refused_wherever_it_is(tmp_path):
    out = io.BytesIO()
    np.savez(out, X=np.ones((2, 2)), meta=np.array([{"a": 1}], dtype=object), allow_pickle=True)
    rejected(tmp_path / "weights.npz", out.getvalue(), "weights.npz: .* fθ never unpickles")


def zipped(*members, method=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names twice
        for name, content in members:
            archive.writestr(name, content)
    return bytearray(out.getvalue())


def changed(content, at, value):
    content[at : at + len(value)] = value
    return bytes(content)


GOOD = npy(np.arange(6.0).reshape(2, 3))


def central(content):
    return content.index(b"PK\1\2")


def damaged(at, value, *members):
    """An archive with other bytes at a place counted from the entry of its last array in the directory."""
    content = zipped(*members or [("X.npy", GOOD)])
    return changed(content, content.rindex(b"PK\1\2") + at, value)


def test_any_other_archive_is_one_sentence(tmp_path):
    zeros = npy(np.zeros((1200, 1000)))
    refused = {
        "another file": zipped(("xl/book.xml", b"x")),
        "a pickle": zipped(("m/data.pkl", b"x")),
        "no array": b"PK\3\4PK\5\6" + bytes(18),
        "a declared size that is larger": damaged(24, (10**9).to_bytes(4, "little")),
        "a declared size that is smaller": damaged(24, (100).to_bytes(4, "little")),
        "a flipped bit": damaged(-3, b"\x07"),
        "zeros upon zeros": zipped(("X.npy", npy(np.zeros((2200, 1000)))), method=zipfile.ZIP_DEFLATED),
        "zeros beside zeros": zipped(("X.npy", zeros), ("more.npy", zeros), method=zipfile.ZIP_DEFLATED),
    }
    refused_each(tmp_path / "a.npz", refused)
    whole, two = zipped(("X.npy", GOOD)), (("Y.npy", GOOD), ("X.npy", GOOD))
    directory = len(whole) - 10 - central(whole)  # where its size is
    odd = {
        "a name twice": zipped(("X.npy", GOOD), ("X.npy", GOOD)),
        "another packing": zipped(("X.npy", GOOD), method=zipfile.ZIP_LZMA),
        "many arrays": zipped(*((f"{i}.npy", GOOD) for i in range(1001))),
        "a huge directory": damaged(directory, (2**20).to_bytes(4, "little")),
        "a comment": whole[:-2] + b"\1\0x",
        "a size beyond its neighbor": changed(zipped(*two), central(zipped(*two)) + 20, (300).to_bytes(4, "little")),
        "two entries in one place": damaged(42, bytes(4), *two),
    }
    harmless_each(tmp_path / "a.npz", odd)


# ---- IDX


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize(
    ("code", "dtype"), [(8, "u1"), (9, "i1"), (0xB, "i2"), (0xC, "i4"), (0xD, "f4"), (0xE, "f8")], ids=str
)
def test_arrays_of_all_types_come_back(code, dtype, pack, tmp_path):
    x = RNG.integers(0, 100, (2, 3, 4)).astype(dtype)
    (tmp_path / "a").write_bytes(pack(idx(x, code)))
    found = read_idx_array(tmp_path / "a")
    assert np.array_equal(found, x) and found.dtype == np.dtype(dtype)


def test_labels_are_taken_from_beside_or_from_the_file_that_is_named(tmp_path):
    images = tmp_path / "train-images-idx3-ubyte.gz"
    images.write_bytes(gzip.compress(idx(PIXELS)))
    assert read_idx(images).y is None
    with pytest.raises(FileFormatError, match=r"no file of labels .*train-labels-idx1-ubyte.gz"):
        read_idx(images, "")
    (tmp_path / "train-labels-idx1-ubyte.gz").write_bytes(idx(LABELS))
    found = read_idx(images, "")
    assert np.array_equal(found.x, PIXELS.reshape(6, 20)) and found.y.tolist() == LABELS.tolist()
    assert (found.kind, found.shape, found.task) == ("image", (4, 5), "multiclass")
    assert found.notes == ("labels from train-labels-idx1-ubyte.gz",)
    (tmp_path / "other").write_bytes(idx(LABELS[::-1]))
    assert read_idx(images, tmp_path / "other").y.tolist() == LABELS[::-1].tolist()
    with pytest.raises(FileFormatError, match="no file of labels .*missing"):
        read_idx(images, tmp_path / "missing")
    assert read_idx(images, tmp_path / "missing", required=False).y is None
    with pytest.raises(FileFormatError, match="holds labels .one axis., not rows"):
        read_idx(tmp_path / "other")
    (tmp_path / "short").write_bytes(idx(LABELS[:5]))
    with pytest.raises(FileFormatError, match=r"targets of shape \(5,\)"):
        read_idx(images, tmp_path / "short")


def test_an_idx_file_of_two_axes_is_a_table(tmp_path):
    (tmp_path / "a").write_bytes(idx(np.array([[1.5, 2], [3, 4]], "f4"), 0xD))
    assert read_idx(tmp_path / "a").x.to_numpy().tolist() == [[1.5, 2], [3, 4]]


DAMAGED_IDX = {
    "cut off inside gzip": gzip.compress(idx(PIXELS), 0)[:80],
    "no end of gzip": gzip.compress(idx(PIXELS))[:-4],
    "more after the end of gzip": gzip.compress(idx(PIXELS)) + b"x",
    "a check sum that fails": gzip.compress(idx(PIXELS))[:-8] + bytes(8),
    "one byte more": idx(PIXELS) + b"x",
    "wrong magic": b"\0\1\x08\x03" + bytes(40),
    "wrong type": b"\0\0\x0a\x03" + bytes(40),
    "no axes": b"\0\0\x08\0x",
    "no sizes": b"\0\0\x08\3\0\0\0\1",
    "three bytes": b"\0\0\x08",
    "nothing": b"",
    "gzip inside gzip": gzip.compress(gzip.compress(idx(PIXELS))),
    "no pictures": idx(PIXELS[:0]),
    "a product beyond 64 bits": b"\0\0\x0e\4" + b"\xff" * 16,
    "a bomb": gzip.compress(b"\0\0\x08\1\x02\0\0\0" + bytes(2**25)),
}


def test_32_any_other_idx_file_is_one_sentence(tmp_path):
    refused_each(tmp_path / "a.idx3", DAMAGED_IDX, read_idx_array)
    said = "or more, over 200 times as much"
    rejected(tmp_path / "a.idx3", DAMAGED_IDX["a bomb"], said, read=lambda path, target: read_idx_array(path))
    said = "6x4x5 = 120 bytes, the file has 100"
    rejected(tmp_path / "a.idx3", idx(PIXELS)[:-20], said, read=lambda path, target: read_idx_array(path))
