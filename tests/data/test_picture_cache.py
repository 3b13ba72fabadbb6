"""Records on disk: what was put comes back, and whatever else the file holds is a miss and never a wrong picture."""

import errno
import os
import subprocess
import sys

import numpy as np
import pytest

from ftheta.data import _picture_cache
from ftheta.data._picture_cache import HEAD, PictureCache, key_of

SIZE = 20
RNG = np.random.default_rng(0)
PIXELS = [RNG.bytes(SIZE) for _ in range(10)]
KEYS = [key_of(f"{i}.png", 7, 8) for i in range(10)]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(_picture_cache, "cache_folder", lambda: tmp_path)
    return tmp_path / "pictures"


@pytest.fixture
def open_cache():
    made = []

    def make(*args, **knobs):
        made.append(PictureCache(*args, **knobs))
        return made[-1]

    yield make
    for cache in made:
        cache.close()


def test_the_key_changes_with_name_size_and_time():
    keys = {
        key_of("a", 1, 2),
        key_of("b", 1, 2),
        key_of("a", 3, 2),
        key_of("a", 1, 3),
        key_of("a1", 2, 0),
        key_of("a", 1, 2, 9),
    }
    assert len(keys) == 6 and {len(key) for key in keys} == {8}
    assert key_of("\udcff.png", 1, 2) != key_of("\udcfe.png", 1, 2)  # names that are no UTF-8


def test_what_is_put_comes_back_also_to_another_that_opens_it(open_cache, folder):
    one = open_cache("about", 10, SIZE)
    assert [one.get(i, KEYS[i]) for i in range(10)] == [None] * 10
    for i in (7, 2):
        one.put(i, KEYS[i], PIXELS[i])
    for cache in (one, open_cache("about", 10, SIZE)):
        assert [cache.get(i, KEYS[i]) for i in range(10)] == [PIXELS[i] if i in (2, 7) else None for i in range(10)]
    assert open_cache("other", 10, SIZE).get(7, KEYS[7]) is None
    (file, _) = sorted(folder.iterdir(), key=os.path.getmtime)
    assert file.stat().st_size == 10 * (HEAD + SIZE) and file.stat().st_mode & 0o077 == 0


def test_a_file_that_was_changed_is_a_miss(open_cache):
    cache = open_cache("about", 10, SIZE)
    cache.put(0, KEYS[0], PIXELS[0])
    assert cache.get(0, key_of("0.png", 7, 9)) is None and cache.get(0, KEYS[0]) == PIXELS[0]


@pytest.mark.parametrize("place", range(HEAD + SIZE))
def test_every_damaged_byte_is_a_miss(place, open_cache, folder):
    cache = open_cache("about", 10, SIZE)
    for i in (3, 4):
        cache.put(i, KEYS[i], PIXELS[i])
    (file,) = folder.iterdir()
    content = bytearray(file.read_bytes())
    content[3 * (HEAD + SIZE) + place] ^= 1
    file.write_bytes(content)
    assert cache.get(3, KEYS[3]) is None and cache.get(4, KEYS[4]) == PIXELS[4]


def test_a_new_key_before_old_pixels_is_a_miss(open_cache, folder):
    """As one process sees it while another one writes."""
    cache, new = open_cache("about", 10, SIZE), key_of("3.png", 7, 9)
    cache.put(3, KEYS[3], PIXELS[3])
    (file,) = folder.iterdir()
    with file.open("r+b") as stream:
        stream.seek(3 * (HEAD + SIZE))
        stream.write(new)
    assert cache.get(3, new) is None


def test_a_file_that_was_cut_is_a_miss_where_it_ends(open_cache, folder):
    cache = open_cache("about", 10, SIZE)
    for i in (3, 4):
        cache.put(i, KEYS[i], PIXELS[i])
    (file,) = folder.iterdir()
    os.truncate(file, 5 * (HEAD + SIZE) - 1)
    assert cache.get(3, KEYS[3]) == PIXELS[3] and cache.get(4, KEYS[4]) is None and cache.get(9, KEYS[9]) is None


def test_a_full_disk_ends_writing_and_nothing_else(open_cache, monkeypatch):
    cache, tries = open_cache("about", 10, SIZE), []
    cache.put(1, KEYS[1], PIXELS[1])

    def full(*_):
        tries.append(1)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(_picture_cache.os, "write", full)
    for i in (2, 3):
        cache.put(i, KEYS[i], PIXELS[i])
    assert len(tries) == 1 and cache.get(1, KEYS[1]) == PIXELS[1] and cache.get(2, KEYS[2]) is None


def test_half_a_write_ends_writing_and_is_a_miss(open_cache, monkeypatch):
    cache, write = open_cache("about", 10, SIZE), os.write
    monkeypatch.setattr(_picture_cache.os, "write", lambda fd, data: write(fd, data[:15]))
    cache.put(2, KEYS[2], PIXELS[2])
    assert not cache.writing and cache.get(2, KEYS[2]) is None


def test_a_folder_that_cannot_be_made_is_no_cache(tmp_path, monkeypatch):
    (tmp_path / "pictures").write_bytes(b"")
    cache = PictureCache("about", 10, SIZE)
    cache.put(0, KEYS[0], PIXELS[0])
    assert cache.get(0, KEYS[0]) is None

    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(_picture_cache, "cache_folder", homeless)
    assert PictureCache("about", 10, SIZE).get(0, KEYS[0]) is None


def test_a_read_that_fails_is_a_miss(open_cache, monkeypatch):
    cache = open_cache("about", 10, SIZE)
    cache.put(0, KEYS[0], PIXELS[0])

    def broken(*_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(_picture_cache.os, "read", broken)
    assert cache.get(0, KEYS[0]) is None


def test_the_bound_is_kept_for_one_folder(open_cache, folder):
    cache = open_cache("about", 10, SIZE, limit=4 * (HEAD + SIZE) + 5)
    for i in range(10):
        cache.put(i, KEYS[i], PIXELS[i])
    assert [cache.get(i, KEYS[i]) is not None for i in range(10)] == [True] * 4 + [False] * 6
    assert sum(file.stat().st_size for file in folder.iterdir()) == 4 * (HEAD + SIZE)


def test_the_bound_is_kept_over_folders_and_the_oldest_goes(open_cache, folder):
    limit = 25 * (HEAD + SIZE)
    for k in range(4):
        cache = open_cache(f"folder {k}", 10, SIZE, limit=limit)
        cache.put(0, KEYS[0], PIXELS[0])
        for file in folder.iterdir():  # an hour later
            os.utime(file, (file.stat().st_atime - 3600, file.stat().st_mtime - 3600))
        if k == 2:
            open_cache("folder 1", 10, SIZE, limit=limit)  # used again: younger than 2
        assert sum(file.stat().st_size for file in folder.iterdir()) <= limit
    found = [open_cache(f"folder {k}", 10, SIZE, limit=1 << 30).get(0, KEYS[0]) is not None for k in range(4)]
    assert found == [False, True, False, True]


def test_half_of_the_disk_stays_free(open_cache, monkeypatch):
    usage = type("usage", (), {"free": 2 * 3 * (HEAD + SIZE)})
    monkeypatch.setattr(_picture_cache.shutil, "disk_usage", lambda _: usage)
    assert open_cache("about", 10, SIZE).records == 3


def test_switched_off_it_makes_no_file(folder):
    cache = PictureCache("about", 10, SIZE, limit=0)
    cache.put(0, KEYS[0], PIXELS[0])
    assert cache.get(0, KEYS[0]) is None and not folder.exists()


def test_a_folder_that_grew_keeps_its_records(open_cache):
    open_cache("about", 5, SIZE).put(4, KEYS[4], PIXELS[4])
    cache = open_cache("about", 10, SIZE)
    cache.put(9, KEYS[9], PIXELS[9])
    assert cache.get(4, KEYS[4]) == PIXELS[4] and cache.get(9, KEYS[9]) == PIXELS[9]
    assert open_cache("about", 5, SIZE).get(4, KEYS[4]) == PIXELS[4]


@pytest.mark.middle
def test_processes_that_write_at_once_never_read_what_is_wrong(tmp_path):
    code = """
import sys, zlib
from pathlib import Path
from ftheta.data import _picture_cache
from ftheta.data._picture_cache import PictureCache, key_of
_picture_cache.cache_folder = lambda: Path(sys.argv[1])
cache, hits = PictureCache("about", 50, 5000), 0
for turn in range(200):
    for i in range(50):
        key, pixels = key_of(str(i), turn % 2, 0), bytes([i, turn % 2]) * 2500
        cache.put(i, key, pixels)
        found = cache.get(i, key)
        assert found is None or found == pixels
        hits += found is not None
assert hits
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    both = [subprocess.Popen(command, env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}) for _ in range(2)]
    assert [process.wait(60) for process in both] == [0, 0]
