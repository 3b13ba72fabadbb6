import errno
import hashlib
import os
import re
import stat
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.errors import FileFormatError, InputError, InputTypeError, StoreError
from ftheta.store import files, load_tree, to_toml, write_atomic


def test_a_file_is_written_whole_and_its_digest_returned(tmp_path):
    data = os.urandom(100_000)
    assert write_atomic(tmp_path / "a/b/x.bin", data) == hashlib.sha256(data).hexdigest()
    assert (tmp_path / "a/b/x.bin").read_bytes() == data
    assert write_atomic(tmp_path / "a/b/x.bin", b"") == hashlib.sha256(b"").hexdigest()
    assert [f.name for f in (tmp_path / "a/b").iterdir()] == ["x.bin"]


@pytest.mark.skipif(os.name == "nt", reason="modes of POSIX")
def test_a_file_has_the_mode_that_any_new_file_has(tmp_path):
    write_atomic(tmp_path / "x", b"1")
    (tmp_path / "y").write_bytes(b"1")
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == stat.S_IMODE((tmp_path / "y").stat().st_mode)


def failing(monkeypatch, name, error):
    def fail(*_):
        raise error

    monkeypatch.setattr(os, name, fail)


def test_a_full_disk_is_reported_with_what_is_needed_and_what_is_free(tmp_path, monkeypatch):
    write_atomic(tmp_path / "x", b"old")
    monkeypatch.setattr(files.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 4_200_000}))
    failing(monkeypatch, "write", OSError(errno.ENOSPC, "full"))
    with pytest.raises(StoreError) as caught:
        write_atomic(tmp_path / "x", bytes(210_000_000))
    assert str(caught.value) == (
        f"Cannot write {tmp_path / 'x'}: No space left on device (needs 210 MB, 4 MB free). "
        "What was there before is intact; free space, check permissions or choose another folder."
    )
    assert caught.value.errno == errno.ENOSPC and isinstance(caught.value.__cause__, OSError)
    assert {f.name: f.read_bytes() for f in tmp_path.iterdir()} == {"x": b"old"}


def test_what_blocks_the_way_is_reported(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"1")
    with pytest.raises(StoreError, match=r"Cannot write .*folder: Is a directory\. What was there before is intact"):
        write_atomic(tmp_path / "folder", b"1")
    with pytest.raises(StoreError, match="Cannot write .*file.x: (File exists|Not a directory)"):
        write_atomic(tmp_path / "file/x", b"1")
    assert sorted(f.name for f in tmp_path.iterdir()) == ["file", "folder"]


def test_an_interruption_removes_the_temporary_file_and_goes_on_as_itself(tmp_path, monkeypatch):
    write_atomic(tmp_path / "x", b"old")
    failing(monkeypatch, "fsync", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        write_atomic(tmp_path / "x", b"new")
    assert {f.name: f.read_bytes() for f in tmp_path.iterdir()} == {"x": b"old"}


@pytest.mark.skipif(os.name == "nt", reason="Windows has no fsync of folders")
@pytest.mark.parametrize(("number", "works"), [(errno.EINVAL, True), (errno.EIO, False)])
def test_a_disk_that_cannot_sync_folders_is_no_obstacle_but_a_broken_one_is(tmp_path, monkeypatch, number, works):
    real = os.fsync

    def fsync(fd):
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise OSError(number, "no")
        real(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    if works:
        write_atomic(tmp_path / "x", b"1")
    else:
        with pytest.raises(StoreError, match=re.escape(f"x: {os.strerror(errno.EIO)}")):
            write_atomic(tmp_path / "x", b"1")


def test_new_folders_are_made_durable_from_the_top(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(files, "sync_folder", synced.append)
    write_atomic(tmp_path / "a/b/x", b"1")
    assert list(map(str, synced)) == [str(tmp_path), str(tmp_path / "a"), str(tmp_path / "a/b")]


def test_the_file_is_durable_before_it_gets_its_name(tmp_path, monkeypatch):
    calls = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *a, name=name, real=real, **k: (calls.append(name), real(*a, **k)))
    write_atomic(tmp_path / "x", b"1")
    assert calls == (["fsync", "replace"] if os.name == "nt" else ["fsync", "replace", "fsync"])


def test_a_read_error_of_the_disk_is_a_format_error(tmp_path, monkeypatch):
    (tmp_path / "x").write_bytes(b"1")
    monkeypatch.setattr("pathlib.Path.read_bytes", lambda _: (_ for _ in ()).throw(OSError(errno.EIO, "I/O error")))
    with pytest.raises(FileFormatError, match="x cannot be read: I/O error. Check path and permissions."):
        load_tree(tmp_path / "x")


values = st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text(max_size=10)
values |= st.lists(values, max_size=3)
tables = st.recursive(
    st.dictionaries(st.text(max_size=6), values | st.lists(st.dictionaries(st.text(max_size=3), values), max_size=2)),
    lambda inner: st.dictionaries(st.text(max_size=6), inner | values, max_size=4),
    max_leaves=6,
)


@pytest.mark.slow
@given(tables)
def test_toml_reads_back_the_same(table):
    back = tomllib.loads(to_toml(table))
    assert back == table and repr(sorted(back)) == repr(sorted(table))


def test_toml_keeps_int_float_and_bool_apart():
    table = {
        "a": 1,
        "b": 1.0,
        "c": True,
        "d": [1, 1.5],
        "e": {"f g": {"h": "ü\x7f\r\n\"'"}},
        "i": float("inf"),
        "j": {},
    }
    back = tomllib.loads(to_toml(table))
    assert back == table and [type(back[key]) for key in "abc"] == [int, float, bool]


@pytest.mark.parametrize("table", [{"a": None}, {"a": {1, 2}}, {"a": [object()]}, {1: 2}])
def test_what_toml_cannot_hold_is_refused(table):
    with pytest.raises(InputTypeError, match="Leave None out; give plain"):
        to_toml(table)


def test_text_that_utf8_cannot_hold_is_refused():
    with pytest.raises(InputError, match=r"The text holds '\\ud800', which UTF-8 cannot hold; replace it."):
        to_toml({"a": "x\ud800"})
