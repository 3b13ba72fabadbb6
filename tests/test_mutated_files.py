"""Every loader on damaged files: a file is read, as other readers read it too, or refused in a sentence with its path.

300 files a loader here; 10,000 with `-m soak`, each loader in a child of its own with 512 MB to spare, and the figures
in results/mutated.json. Check sums are mended after the damage, so that what is behind them is tried as well.
"""

import contextlib
import csv
import gzip
import hashlib
import io
import json
import platform
import struct
import time
import tomllib
import warnings
import zipfile
import zlib
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import safetensors.numpy
import torch
from PIL import Image

import ftheta
from ftheta.data import TableEncoder, read, read_arrays, read_csv, read_idx_array, read_images, read_parquet, read_text
from ftheta.errors import FileFormatError, FThetaError
from ftheta.jobs.config import merge, read_config
from ftheta.models import BoostingClassifier, ForestClassifier, MLPClassifier
from ftheta.store import Run, dump_tree, load_tree, to_toml
from tests.data.io.test_tables import ROWS, xlsx
from tests.mutation import in_child, mutated, peak

RNG = np.random.default_rng(0)
TABLE = RNG.normal(size=(6, 3)).round(3)
SECONDS, MEGABYTES = 10.0, 512


def same(a, b):
    return np.array_equal(np.asarray(a, float), np.asarray(b, float), equal_nan=True)


# ---- data


def csv_files():
    rows = "\n".join(",".join(map(str, row)) for row in TABLE.tolist())
    yield f"a,b,y\n{rows}\n"
    yield 'name,size,when,y\n"Smith, J",1.5,2020-01-31,yes\n"O ""K""",,2021-02-28,no\nA,2,2020-05-05,yes\n'
    yield "\ufeffa;b;c\n1.234,5;2;x\n3,5;;y\n7;8;z\n"
    yield "a\tb\n1\t2\n-3e5\t4.25\n"
    yield "sep=|\na|b\r\n1|2\r\n5|6\r\n"


def csv_oracle(path, found):
    """pandas on the same file, where the columns are parted by commas."""
    if found.notes or b'"' in path.read_bytes() or b"\r" in path.read_bytes():
        return
    with path.open(encoding="utf-8-sig", newline="") as stream:
        rows = [row for row in csv.reader(stream) if row and not (len(row) == 1 and not row[0].strip())]
    assert len(rows) - 1 == len(found.x) and len(rows[0]) == found.x.shape[1]
    for j, name in enumerate(found.x):
        if found.x[name].dtype == float:
            cells = pd.to_numeric(pd.Series([row[j].strip() for row in rows[1:]]), errors="coerce")
            assert same(cells[cells.notna()], found.x[name][cells.notna().to_numpy()])


def zip_files():
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        for data in csv_files():
            out = io.BytesIO()
            with zipfile.ZipFile(out, "w", method) as archive:
                archive.writestr("notes.txt", "about it")
                archive.writestr("a.csv", data)
            yield out.getvalue()


def zip_oracle(path, found):
    with zipfile.ZipFile(path) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".csv"))
        path.with_name("inside.csv").write_bytes(archive.read(name))
    csv_oracle(path.with_name("inside.csv"), found)


def json_files():
    rows = [{"a": 1.5, "b": "x", "y": True}, {"a": None, "b": "y", "y": False}, {"a": 3, "b": "é", "y": True}]
    frame = pd.DataFrame(rows)
    yield json.dumps(rows)
    yield from (frame.to_json(orient=orient) for orient in ("columns", "split"))
    yield "\n".join(map(json.dumps, rows))
    yield json.dumps({"n": 3, "rows": rows})


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def npy_files():
    yield npy(TABLE)
    yield npy(np.asfortranarray(TABLE.astype(">f4")))
    yield npy(np.arange(12, dtype=np.int16).reshape(3, 4))
    yield npy(TABLE > 0)
    yield npy(np.arange(60, dtype=np.uint8).reshape(3, 4, 5))


def pixels_of(found):
    return found.x.to_numpy() if found.kind == "table" else found.x


def npy_oracle(path, found):
    theirs = np.load(path, allow_pickle=False)
    assert same(pixels_of(found), theirs.reshape(len(theirs), -1))


def npz_files():
    for save in (np.savez, np.savez_compressed):
        out = io.BytesIO()
        save(out, X=TABLE, y=np.array(list("abcabc")), more=np.arange(3))
        yield out.getvalue()


def npz_oracle(path, found):
    with np.load(path, allow_pickle=False) as theirs:
        names = {name: theirs[name] for name in theirs.files}
    x = names.get("X", next((a for a in names.values() if a.ndim == 2), None))
    x = next(names[k] for k in ("X", "x", "data", "images") if k in names) if x is None else x
    assert same(pixels_of(found), x.reshape(len(x), -1))


def packed(npy_bytes):
    """A damaged array in a sound archive."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", npy_bytes)
    return out.getvalue()


def idx_files():
    for code, dtype in ((8, "u1"), (0xB, ">i2"), (0xE, ">f8")):
        yield bytes([0, 0, code, 3]) + struct.pack(">III", 2, 3, 4) + np.arange(24).astype(dtype).tobytes()
    yield bytes([0, 0, 8, 1]) + struct.pack(">I", 5) + bytes(range(5))


def idx_oracle(path, found):
    data = path.read_bytes()
    data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    dtype = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}[data[2]]
    shape = struct.unpack_from(f">{data[3]}I", data, 4)
    assert found.shape == shape and same(found.ravel(), np.frombuffer(data[4 + 4 * data[3] :], dtype))


def png_files():
    pictures = [TABLE.astype(np.uint8), RNG.integers(0, 256, (5, 4, 3), dtype=np.uint8), TABLE > 0]
    for picture in (*map(Image.fromarray, pictures), Image.fromarray(pictures[1]).quantize(4)):
        out = io.BytesIO()
        picture.save(out, "PNG")
        yield out.getvalue()


def jpeg_files():
    for picture in (RNG.integers(0, 256, (9, 9), dtype=np.uint8), RNG.integers(0, 256, (9, 8, 3), dtype=np.uint8)):
        out = io.BytesIO()
        Image.fromarray(picture).save(out, "JPEG")
        yield out.getvalue()


def mend_png(data):
    """The same chunks with check sums that hold."""
    out, at = data[:8], 8
    while at + 12 <= len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        body = data[at + 4 : at + 8 + size]
        out += data[at : at + 4] + body + struct.pack(">I", zlib.crc32(body))
        at += 12 + size
    return out


def picture_oracle(path, found):
    with Image.open(path) as picture:
        theirs = np.asarray(picture.convert("L" if len(found.shape) == 2 else "RGB"))
    assert found.shape == theirs.shape and np.array_equal(found.x.reshape(theirs.shape), theirs)


def parquet_files():
    cells = {"a": TABLE[:, 0], "b": list("xyxyxz"), "c": [1, 2, None, 4, 5, 6]}
    frame = pd.DataFrame(cells | {"d": pd.date_range("2020-01-01", periods=6), "e": [True, False] * 3})
    for compression, columns in (("snappy", list("abcde")), ("zstd", list("abc")), (None, ["a", "c"]), ("gzip", ["b"])):
        out = io.BytesIO()
        frame[columns].to_parquet(out, compression=compression)
        yield out.getvalue()


def parquet_oracle(path, found):
    theirs = pq.ParquetFile(path).read().replace_schema_metadata(None).to_pandas()
    assert len(theirs) == len(found.x)
    for name in found.x.columns.intersection(theirs.columns):
        if found.x[name].dtype == float and theirs[name].dtype.kind in "iuf":
            assert same(found.x[name], theirs[name])
        elif found.x[name].dtype == "category" and theirs[name].dtype != bool:
            assert found.x[name].dropna().astype(str).tolist() == theirs[name].dropna().astype(str).tolist()


def text_files():
    yield "Fθ, naïve 🙂\nzweite Zeile\tmit Tab\n\nlast".encode()
    yield b"\xef\xbb\xbfone\r\ntwo\r\n"


def text_oracle(path, found):
    assert found.x == path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")


# ---- configuration and runs


def config_files():
    yield to_toml({"model": "mlp", "data": "iris", "seed": 3, "test": 0.2, "params": {"hidden": [64, 32], "lr": 1e-3}})
    yield 'model = "linear"\ndata = "a.csv"\ntarget = "y"\nvalidation = 0.1\n\n[training]\nl2 = 0.5\nfreeze = ["a"]\n'


def read_whole_config(path):
    return merge(read_config(path), where=str(path))


def config_oracle(path, found):
    given = tomllib.loads(path.read_text(encoding="utf-8"))
    for key, value in given.items():
        assert getattr(found, key) == value or isinstance(value, str | bool | float | int)


def metrics_files():
    rows = [{"epoch": i, "loss": 0.5**i, "valid_loss": None if i == 2 else 1.5} for i in range(6)]
    yield "".join(json.dumps(row) + "\n" for row in rows)
    yield '{"loss": 1e-3}\n{"loss": -12345678901234567890}\n'


def read_rows(path):
    return Run(path.parent).rows()


def mend_metrics(data):
    """Lines that are still tables get the check sum of what they hold now."""
    lines = data.split(b"\n")
    for i, line in enumerate(lines):
        with contextlib.suppress(ValueError, RecursionError):
            row = json.loads(line)
            if isinstance(row, dict):
                row.pop("crc", None)
                lines[i] = json.dumps(row | {"crc": zlib.crc32(json.dumps(row).encode())}).encode()
    return b"\n".join(lines)


def metrics_oracle(path, found):
    lines = path.read_bytes().split(b"\n")[:-1]
    theirs = [{k: np.nan if v is None else v for k, v in json.loads(line).items() if k != "crc"} for line in lines]
    assert str(found) == str(theirs)


@cache
def model_run():
    """Files of a finished run: a model behind an encoder."""
    frame = pd.DataFrame({"size": TABLE[:, 0], "colour": list("rgbrgb"), "when": pd.date_range("2020", periods=6)})
    frame.loc[2, "size"] = np.nan
    encoder = TableEncoder().fit(frame)
    model = MLPClassifier(hidden=(3,), epochs=1, random_state=0).fit(encoder.transform(frame), list("abcabc"))
    config, tree = model._files()
    return {
        "config.json": config.encode(),
        "model.safetensors": dump_tree(tree),
        "encoder.json": json.dumps(encoder.get_state()).encode(),
    }


@cache
def grown(name):
    """Files of a model of trees; boosting splits categories too."""
    frame = pd.DataFrame({"a": TABLE[:, 0], "b": pd.Categorical(list("rgbrgb"))} if name == "boosting" else TABLE)
    frame = pd.concat([frame] * 4, ignore_index=True)
    frame.iloc[3, 0] = np.nan
    small = {"n_estimators": 3, "random_state": 0} | ({"min_samples_leaf": 1} if name == "boosting" else {})
    cls = {"forest": ForestClassifier, "boosting": BoostingClassifier}[name]
    config, tree = cls(**small).fit(frame, list("abcabc") * 4)._files()
    return {"config.json": config.encode(), "model.safetensors": dump_tree(tree)}


def grown_with(name, folder, file, data):
    """As `run_with`, of a model of trees."""
    files = grown(name) | {file: data}
    for path in folder.iterdir():
        path.unlink()
    for file, content in files.items():
        (folder / file).write_bytes(content)
    (folder / "manifest.json").write_bytes(signed(manifest_of(files)))


def answered(path):
    """Trees that are followed whatever the file says of their children."""
    model = ftheta.load(path.parent)
    rows = np.r_[RNG.normal(size=(20, model.n_features_in_)) * 100, np.full((1, model.n_features_in_), np.nan)]
    return np.asarray(model.predict_proba(rows))


def signed(body):
    return body + hashlib.sha256(body).hexdigest().encode() + b"\n"


def manifest_of(files, metrics=b""):
    def mark(data):
        return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}

    marks = {name: mark(data) for name, data in files.items()}
    whole = {"format": 1, "status": "finished", "files": marks, "checkpoints": [], "metrics": mark(metrics)}
    return json.dumps(whole, indent=1).encode() + b"\n"


def run_with(folder, name, data):
    """A finished run, one of whose files is another, and whose digests hold; the others are there."""
    (folder / name).write_bytes(data)
    (folder / "manifest.json").write_bytes(signed(manifest_of(model_run() | {name: data})))


def read_all(folder):
    run = Run(folder)
    run.rows(), run.status, run.digest, run.latest()
    return [run.read(name) for name in model_run() if run.has(name)], run.check()


def tree_files():
    yield dump_tree({"a": torch.arange(6.0).reshape(2, 3), "b": {"c": np.arange(3), "d": torch.ones(2).bfloat16()}})
    yield dump_tree({"names": np.array(["x", "yy"]), "n": 3, "t": (1.5, None), "o": np.array(["θ", "b"], object)})


def tree_oracle(path, found):
    """Every plain tensor of the tree is in the file as safetensors reads it."""
    theirs = safetensors.numpy.load(path.read_bytes()) if b"BF16" not in path.read_bytes() else {}
    for name, value in found.items() if isinstance(found, dict) else ():
        if isinstance(value, torch.Tensor | np.ndarray) and name in theirs and np.asarray(value).dtype.kind in "fiub":
            assert np.asarray(value).tobytes() == theirs[name].tobytes()


# ---- the doors


class Door(NamedTuple):
    """What opens a file, what it is given, and what reads it too."""

    files: Any
    act: Any
    oracle: Any = None
    mend: Any = None
    name: str = "file"
    place: Any = None
    errors: Any = FileFormatError


def images(files, name, mend=None):
    return Door(files, lambda path: read_images(path.parent.parent), picture_oracle, mend, name=name)


def of_run(name, files, act=lambda path: ftheta.load(path.parent), **how):
    return Door(files, act, name=f"run/{name}", errors=FThetaError, **how)


def manifest(mend, files):
    return of_run("manifest.json", files, lambda path: read_all(path.parent), mend=mend)


DOORS = {
    "csv": Door(csv_files, read_csv, csv_oracle, name="a.csv"),
    "zip": Door(zip_files, lambda path: read_csv(path, sheet=""), zip_oracle, name="a.zip"),
    "json": Door(json_files, read),
    "xlsx": Door(lambda: [xlsx(ROWS), xlsx([["a", "b"], *TABLE[:, :2].tolist()])], read),
    "npy": Door(npy_files, read_arrays, npy_oracle),
    "npz": Door(npz_files, read_arrays, npz_oracle),
    "npz inside": Door(npy_files, read_arrays, npz_oracle, packed),
    "idx": Door(idx_files, read_idx_array, idx_oracle),
    "idx gzip": Door(lambda: map(gzip.compress, idx_files()), read_idx_array, idx_oracle),
    "idx inside gzip": Door(idx_files, read_idx_array, idx_oracle, gzip.compress),
    "png": images(png_files, "p/a/x.png"),
    "png mended": images(png_files, "p/a/x.png", mend_png),
    "jpeg": images(jpeg_files, "p/a/x.jpg"),
    "parquet": Door(parquet_files, read_parquet, parquet_oracle),
    "text": Door(text_files, read_text, text_oracle),
    "config": Door(config_files, read_whole_config, config_oracle, name="config.toml", errors=FThetaError),
    "metrics": Door(metrics_files, read_rows, metrics_oracle, mend_metrics, name="run/metrics.jsonl"),
    "manifest": manifest(None, lambda: [signed(manifest_of(model_run()))]),
    "manifest signed": manifest(signed, lambda: [manifest_of(model_run())]),
    "tree": Door(tree_files, load_tree, tree_oracle),
    "model": of_run("model.safetensors", lambda: [model_run()["model.safetensors"]], place=run_with),
    **{
        name: of_run(
            "model.safetensors",
            lambda name=name: [grown(name)["model.safetensors"]],
            answered,
            place=partial(grown_with, name),
        )
        for name in ("forest", "boosting")
    },
    "model config": of_run("config.json", lambda: [model_run()["config.json"]], place=run_with),
    "encoder": of_run("encoder.json", lambda: [model_run()["encoder.json"]], place=run_with),
}


@cache
def files_of(name):
    return [data.encode() if isinstance(data, str) else data for data in DOORS[name].files()]


def prepared(name, folder):
    """The path of the damaged file, and everything around it."""
    path = folder / DOORS[name].name
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.parent.name == "run" and name != "metrics":
        for file, data in model_run().items():
            (path.parent / file).write_bytes(data)
    return path


def offer(name, path, data):
    """Whether it is read; anything but the documented error, a message without path, or another answer fails."""
    door = DOORS[name]
    if door.place:
        door.place(path.parent, path.name, data)
    else:
        path.write_bytes(data)
    try:
        found = door.act(path)
    except door.errors as error:
        text = str(error)
        assert str(path.parent) in text and text.count("\n") < 8, text
        return False
    if door.oracle:
        door.oracle(path, found)
    return True


def campaign(name, folder, seeds):
    """Counts over damaged files; the seed of a file that fails is in the error."""
    path, door, files = prepared(name, folder), DOORS[name], files_of(name)
    assert all(offer(name, path, door.mend(data) if door.mend else data) for data in files), "a sound file is refused"
    counts = {"files": len(seeds), "accepted": 0, "rejected": 0, "seconds": 0.0, "worst seconds": 0.0}
    for seed in seeds:
        data = mutated(seed, files)
        start = time.process_time()
        try:
            read = offer(name, path, door.mend(data) if door.mend else data)
        except BaseException as error:
            raise AssertionError(f"{name}, seed {seed}: {type(error).__name__}: {error}") from error
        took = time.process_time() - start
        counts["accepted" if read else "rejected"] += 1
        counts["seconds"] += took
        counts["worst seconds"] = max(counts["worst seconds"], took)
    return counts


@pytest.mark.middle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", DOORS)
def test_300_damaged_files_are_read_rightly_or_refused_in_a_sentence(name, tmp_path):
    before = peak()
    found = campaign(name, tmp_path, range(300))
    assert found["rejected"] >= 30 and found["worst seconds"] <= SECONDS
    assert peak() - before <= MEGABYTES


# ---- 10,000 a loader


def record(**found):
    file = Path(__file__).parents[1] / "results" / "mutated.json"
    file.parent.mkdir(exist_ok=True)
    known = json.loads(file.read_text()) if file.exists() else {}
    where = {"python": platform.python_version(), "system": platform.system(), "numpy": np.__version__}
    file.write_text(json.dumps(known | where | found, indent=1) + "\n")


@pytest.mark.soak
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs the limits of Linux")
@pytest.mark.parametrize("name", DOORS)
def test_10000_damaged_files_within_512_megabytes(name, tmp_path):
    files_of(name)
    warnings.simplefilter("ignore")
    found = in_child(lambda: campaign(name, tmp_path, range(1000, 11_000)), MEGABYTES)
    assert "failed" not in found, found
    record(**{name: {key: round(value, 3) for key, value in found.items()}})
    assert found["worst seconds"] <= SECONDS


def raising(error):
    raise error


FAULTS = {  # loader, what it does instead, what is said of it
    "another error": ("text", lambda path: int("x"), "invalid literal"),
    "no path": ("text", lambda path: raising(FileFormatError("somewhere: damaged")), "somewhere"),
    "another answer": ("npy", lambda path: replace(read_arrays(path), x=read_arrays(path).x * 2), "same"),
    "refusal": ("idx", lambda path: raising(FileFormatError(f"{path}: no")), "a sound file is refused"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_campaign_notices_a_loader_with_a_fault(fault, tmp_path, monkeypatch):
    name, act, said = FAULTS[fault]
    monkeypatch.setitem(DOORS, name, DOORS[name]._replace(act=act))
    with pytest.raises((AssertionError, ValueError), match=said):
        campaign(name, tmp_path, range(3))
