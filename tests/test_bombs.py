"""Files made to fill the memory or to take for ever: each is refused or read within a second and 256 MB.

Every file is opened in a child that can take no more; what a door does with sound files is tested elsewhere.
"""

import gzip
import io
import json
import struct
import tarfile
import time
import zipfile
import zlib
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.numpy import save

import ftheta
from ftheta.data import open_images, read
from ftheta.errors import FThetaError
from ftheta.jobs.config import merge, read_config
from ftheta.models import MLPClassifier
from ftheta.store import Run, dump_tree, load_tree
from tests.mutation import in_child

SECONDS, MEGABYTES = 10.0, 256  # of the CPU: an hour or a gigabyte is what an open door would cost
DEEP = 200_000
X = np.random.default_rng(0).normal(size=(20, 2))


# ---- files


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def header(text, version=b"\1\0"):
    return b"\x93NUMPY" + version + len(text).to_bytes(2 if version == b"\1\0" else 4, "little") + text.encode()


def zipped(*members, method=zipfile.ZIP_DEFLATED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()


def forged(content, at, value):
    """The archive with another entry in its directory."""
    place = content.index(b"PK\1\2") + at
    return content[:place] + value.to_bytes(4, "little") + content[place + 4 :]


def million_entries():
    """A million entries that all point to the first, and a directory that says so."""
    first = zipped(("X.npy", npy(X)))
    at = first.index(b"PK\1\2")
    entry = first[at : first.index(b"PK\5\6")]
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 65535, 65535, len(entry) * 10**6, at, 0)
    return first[:at] + entry * 10**6 + end


def overlapping():
    """Many entries that share one packed megabyte."""
    first = zipped(("X.npy", npy(np.zeros((1000, 1000)))))
    at = first.index(b"PK\1\2")
    entry = first[at : first.index(b"PK\5\6")]
    entries = b"".join(entry.replace(b"X.npy", b"%c.npy" % (65 + i)) for i in range(26))
    return first[:at] + entries + struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 26, 26, len(entries), at, 0)


def longer_than_said():
    """A sound array, in an archive whose stream goes on for 400 MB; size and check sum are those of the array."""
    array = npy(X)
    packer = zlib.compressobj(wbits=-15)
    start = packer.compress(array) + packer.flush(zlib.Z_FULL_FLUSH)
    more = zlib.compressobj(wbits=-15)
    zeros = more.compress(bytes(2**20)) + more.flush(zlib.Z_FULL_FLUSH)  # can be repeated as it is
    packed = start + zeros * 400 + zlib.compressobj(wbits=-15).flush()
    common = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 33, zlib.crc32(array), len(packed), len(array), 5, 0)
    local = b"PK\3\4" + common + b"X.npy" + packed
    entry = b"PK\1\2" + struct.pack("<H", 20) + common + struct.pack("<HHHII", 0, 0, 0, 0, 0) + b"X.npy"
    return local + entry + struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 1, 1, len(entry), len(local), 0)


def tarred(name, **options):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        info = tarfile.TarInfo(name)
        for key, value in options.items():
            setattr(info, key, value)
        archive.addfile(info)
    return out.getvalue()


def png(width, height, *chunks):
    """A PNG of zeros, with further chunks before its pixels."""
    pixels = zlib.compress(bytes((width + 1) * min(height, 200)), 9)
    out = b"\x89PNG\r\n\x1a\n"
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)),
        *chunks,
        (b"IDAT", pixels),
        (b"IEND", b""),
    ]
    for name, body in parts:
        out += struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
    return out


def blank(mode, size, form="PNG", **options):
    out = io.BytesIO()
    Image.new(mode, (size, size)).save(out, form, **options)
    return out.getvalue()


def safetensors(text):
    return len(text).to_bytes(8, "little") + text.encode()


def tree(text):
    """A safetensors file whose tree is this JSON."""
    return save({"a": np.zeros(2)}, {"ftheta": text})


def parquet():
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = io.BytesIO()
    zeros = pa.array(np.zeros(10**6, np.int8))
    with pq.ParquetWriter(out, pa.schema([("a", pa.int8())]), compression="zstd") as writer:
        for _ in range(20):
            writer.write_table(pa.table({"a": zeros}))
    return out.getvalue()


def long_texts():
    """32 kB of text in each of 200,000 rows: 6 GB, if they were written out."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    out, column = io.BytesIO(), pa.DictionaryArray.from_arrays(np.zeros(200_000, np.int32), ["x" * 2**15])
    pq.write_table(pa.table({"a": column}), out, store_schema=False)
    return out.getvalue()


@cache
def fitted():
    return MLPClassifier(hidden=(3,), epochs=1, random_state=0).fit(X, np.arange(20) % 2)


def model(params=None, **state):
    """The model file of a net that is said to be larger than its tensors."""
    config, whole = fitted()._files()
    return dump_tree({"params": whole["params"] | (params or {}), "state": whole["state"] | state})


ALIASES = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(9)
)
ZEROS = 40 * 2**20
EMPTY = '{"dtype":"U8","shape":[0],"data_offsets":[0,0]}'


# ---- doors: what is written where, and what opens it


def data(folder, content):
    (folder / "file").write_bytes(content)
    return lambda: read(folder / "file", required=False)


def table(folder, content):
    (folder / "file").write_bytes(content)
    return lambda: read(folder / "file", "y", required=False)


def picture(folder, content):
    (folder / "p/a").mkdir(parents=True)
    (folder / "p/a/x.png").write_bytes(content)
    return lambda: read(folder / "p")


def small_picture(folder, content):
    picture(folder, content)
    return lambda: np.asarray(open_images(folder / "p", size=(28, 28)).x)


def config(folder, content):
    (folder / "config.toml").write_bytes(content)
    return lambda: merge(read_config(folder / "config.toml"), where=str(folder / "config.toml"))


def tensors(folder, content):
    (folder / "file").write_bytes(content)
    return lambda: load_tree(folder / "file")


def rows(folder, content):
    (folder / "metrics.jsonl").write_bytes(content)
    return lambda: Run(folder).rows()


def run(folder, **files):
    names = {"model.safetensors": model(), "config.json": fitted()._files()[0]}
    with Run(folder / "run") as made:
        for name, content in (names | files).items():
            made.write(name, content)
        made.finish()
    return lambda: ftheta.load(folder / "run")


def as_model(folder, content):
    return run(folder, **{"model.safetensors": content})


def as_encoder(folder, content):
    return run(folder, **{"encoder.json": content})


def as_config(folder, content):
    return run(folder, **{"config.json": content})


BOMBS = {
    "npz of ratio 1029": (data, lambda: zipped(("X.npy", npy(np.zeros((ZEROS // 80, 10)))))),
    "npz of forged sizes": (data, lambda: forged(zipped(("X.npy", npy(np.zeros((ZEROS // 80, 10))))), 24, 1000)),
    "npz with more than it says": (data, longer_than_said),
    "npz that claims 4 GB": (data, lambda: forged(zipped(("X.npy", npy(X))), 24, 2**32 - 2)),
    "npz of a million entries": (data, million_entries),
    "npz of overlapping entries": (data, overlapping),
    "npz packed with LZMA": (data, lambda: zipped(("X.npy", npy(np.zeros((10**5, 10)))), method=zipfile.ZIP_LZMA)),
    "deflated .pt": (data, lambda: zipped(("archive/data.pkl", bytes(ZEROS)))),
    "zip of a table of ratio 1029": (table, lambda: zipped(("a.csv", b"a,y\n" + b"1,2\n" * (ZEROS // 4)))),
    "zip of a table of forged size": (
        table,
        lambda: forged(zipped(("a.csv", b"a,y\n" + b"1,2\n" * (ZEROS // 4))), 24, 1000),
    ),
    "zip of a table with more than it says": (
        table,
        lambda: longer_than_said().replace(b"X.npy", b"X.csv"),
    ),
    "zip of a million tables": (table, lambda: million_entries().replace(b"X.npy", b"X.csv")),
    "zip of a table packed with LZMA": (table, lambda: zipped(("a.csv", bytes(ZEROS)), method=zipfile.ZIP_LZMA)),
    "xlsx of a packed sheet": (table, lambda: zipped(("xl/workbook.xml", b" " * ZEROS))),
    "npy of seven tebibytes": (
        data,
        lambda: header("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000), }\n"),
    ),
    "npy with two gigabytes of header": (data, lambda: b"\x93NUMPY\2\0\0\0\0\x80" + bytes(1000)),
    "npy with brackets upon brackets": (data, lambda: header("{'shape': " + "(" * 60_000)),
    "npy with a number of 60,000 digits": (
        data,
        lambda: header("{'descr': '<f8', 'fortran_order': False, 'shape': (" + "9" * 60_000 + ",), }"),
    ),
    "npy of a million columns": (data, lambda: npy(np.zeros((1, 10**6), np.uint8))),
    "idx whose sizes overflow": (data, lambda: b"\0\0\x0e\4" + b"\xff" * 16),
    "idx of gigabytes in gzip": (data, lambda: gzip.compress(b"\0\0\x08\1\x7f\0\0\0" + bytes(ZEROS))),
    "idx with more than it says": (data, lambda: gzip.compress(b"\0\0\x08\1\0\0\0\1" + bytes(ZEROS))),
    "gzip inside gzip": (data, lambda: gzip.compress(gzip.compress(bytes(ZEROS)))),
    "PNG of 60000 x 60000": (picture, lambda: png(60000, 60000)),
    "PNG of 12000 x 12000": (picture, lambda: png(12000, 12000)),
    "PNG of 4096 x 4096": (picture, lambda: blank("RGB", 4096, compress_level=1)),
    "PNG of 4096 x 4096 with transparency": (picture, lambda: blank("RGBA", 4096, compress_level=1)),
    "PNG with a packed text": (picture, lambda: png(8, 8, *[(b"zTXt", b"a\0\0" + zlib.compress(bytes(ZEROS), 9))] * 4)),
    "PNG with a packed profile": (picture, lambda: png(8, 8, (b"iCCP", b"a\0\0" + zlib.compress(bytes(ZEROS), 9)))),
    "JPEG of 12000 x 12000 in one scan": (small_picture, lambda: blank("L", 12000, "JPEG")),
    "JPEG of 12000 x 12000 in many scans": (small_picture, lambda: blank("L", 12000, "JPEG", progressive=True)),
    "parquet of twenty million equal rows": (data, parquet),
    "parquet of a long text in every row": (data, long_texts),
    "csv of a million columns": (table, lambda: b",".join(b"c%d" % i for i in range(10**6)) + b"\n" + b"1," * 10**6),
    "csv with zero bytes": (table, lambda: b"a,b\n" + b"1,\0\n" * 10**5),
    "csv with a mark and line ends of two kinds": (table, lambda: b"\xef\xbb\xbfa,y\r\n1,2\n3,4\r\n" * 10**4),
    "csv in UTF-16": (table, lambda: ("a,y\n" + "1,2\n" * 10**5).encode("utf-16")),
    "csv with a number of a million digits": (table, lambda: b"a,y\n" + b"1" * 10**6 + b"x,2\n3,4\n"),
    "csv with a quote that is never closed": (table, lambda: b'a,y\n"' + b"1,2\n" * 10**6),
    "csv of quotes upon quotes": (table, lambda: b"a,y\n" + b'"' * (4 * 10**6 + 1) + b",2\n"),
    "csv of one long line": (table, lambda: b"a" * 2 * 10**7),
    "tar that climbs": (data, lambda: tarred("../../outside")),
    "tar of an absolute path": (data, lambda: tarred("/tmp/outside")),
    "tar of a link": (data, lambda: tarred("a", type=tarfile.SYMTYPE, linkname="/etc/passwd")),
    "tar of a hard link": (data, lambda: tarred("a", type=tarfile.LNKTYPE, linkname="/etc/passwd")),
    "tar of a device": (data, lambda: tarred("a", type=tarfile.BLKTYPE)),
    "yaml of aliases": (config, lambda: ALIASES.encode()),
    "toml of brackets upon brackets": (config, lambda: b"x = " + b"[" * 60_000),
    "toml with a number of 5,000 digits": (config, lambda: b"seed = " + b"9" * 5000),
    "toml of dots upon dots": (config, lambda: b".".join([b"a"] * 20_000) + b" = 1"),
    "toml of a hundred thousand keys": (config, lambda: b"\n".join(b"k%d = 1" % i for i in range(100_000))),
    "metrics of brackets upon brackets": (rows, lambda: b'{"a": ' + b"[" * DEEP + b"\n"),
    "metrics with a number of 5,000 digits": (rows, lambda: b'{"a": ' + b"9" * 5000 + b"}\n"),
    "metrics with infinity": (rows, lambda: b'{"a": 1e999}\n{"a": NaN}\n'),
    "safetensors of 300,000 tensors": (
        tensors,
        lambda: safetensors("{" + ", ".join(f'"{i}": {EMPTY}' for i in range(300_000)) + "}"),
    ),
    "safetensors with a header of 2^63 bytes": (tensors, lambda: b"\0\0\0\0\0\0\0\x80{" + bytes(100)),
    "safetensors whose shape overflows": (
        tensors,
        lambda: safetensors(json.dumps({"a": {"dtype": "F64", "shape": [2**40, 2**40], "data_offsets": [0, 0]}})),
    ),
    "safetensors of brackets upon brackets": (tensors, lambda: tree('{"format": 1, "tree": ' + "[" * DEEP)),
    "safetensors with a number of 5,000 digits": (tensors, lambda: tree(f'{{"format": 1, "tree": {"9" * 5000}}}')),
    "safetensors with a key twice": (tensors, lambda: tree('{"format": 1, "tree": 1, "tree": 2}')),
    "safetensors with NaN": (tensors, lambda: tree('{"format": 1, "tree": [NaN, 1e999]}')),
    "safetensors that is a deflated .pt": (tensors, lambda: zipped(("archive/data.pkl", bytes(ZEROS)))),
    "model of a billion units": (as_model, lambda: model({"hidden": [10**9]})),
    "model of two wide layers": (as_model, lambda: model({"hidden": [10**5, 10**5]})),
    "model of 300,000 layers": (as_model, lambda: model({"hidden": [1] * 300_000})),
    "model of a trillion inputs": (as_model, lambda: model(input_=[[10**12]])),
    "model of a trillion classes": (as_model, lambda: model(target_=["multiclass", 10**12])),
    "model of a width of 400 digits": (as_model, lambda: model({"hidden": [10**400]})),
    "encoder of brackets upon brackets": (as_encoder, lambda: "[" * DEEP),
    "encoder of a scale that overflows": (
        as_encoder,
        lambda: json.dumps({"encoder": "pixels", "dtype": "float32", "mean": 10**400, "scale": 1, "n": 2}),
    ),
    "model config of brackets upon brackets": (as_config, lambda: "[" * DEEP),
    "model config with a format of 5,000 digits": (as_config, lambda: '{"format": ' + "9" * 5000 + "}"),
}


def opened(act, folder):
    start = time.process_time()
    try:
        act()
        said = ""
    except FThetaError as error:
        said = str(error)
        assert str(folder) in said, said
    return {"seconds": time.process_time() - start, "said": said[:300]}


def test_there_are_thirty_of_them_and_more():
    assert len(BOMBS) >= 30


@pytest.mark.middle
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs the limits of Linux")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_or_read_within_ten_seconds_and_256_megabytes(name, tmp_path):
    door, content = BOMBS[name]
    act = door(tmp_path, content())
    found = in_child(lambda: opened(act, tmp_path), MEGABYTES)
    assert "failed" not in found, found
    assert found["seconds"] <= SECONDS and found["peak MB"] <= MEGABYTES, found


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs the limits of Linux")
def test_the_child_notices_hunger_and_slowness():
    assert "MemoryError" in in_child(lambda: {"n": len(bytes(2**33))}, MEGABYTES)["failed"]
    assert in_child(lambda: {"n": len(b"x" * (100 * 2**20))}, MEGABYTES)["peak MB"] > 90
    assert in_child(lambda: torch.zeros(1).numpy().ctypes.data and {} or None, MEGABYTES)["failed"]
