"""Pictures in files beside the same in memory: the same batches in the same order, from a thread, in bounded memory."""

import gc
import threading
import time

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from ftheta.data import Batch, Indexed, InputSpec, Rows, open_images
from ftheta.data.io import pictures as picture_files
from ftheta.data.kinds import Items, base
from ftheta.draw import Draw
from ftheta.errors import FileFormatError, InputError
from ftheta.store import Run
from ftheta.train import Supervised, Trainer, iterate

N = 23
X = np.random.default_rng(0).integers(0, 256, (N, 1, 4, 6), dtype=np.uint8)
Y, W = np.arange(N), np.arange(N, dtype=np.float32) + 1


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "all/a").mkdir(parents=True)
    for i, picture in enumerate(X):
        Image.fromarray(picture[0]).save(tmp_path / f"all/a/{i:02}.png")
    return tmp_path / "all"


def files_of(x, y=None, weight=None, *, shuffle=True, dtype=torch.float32, **how):
    return Items(x, InputSpec(x.shape[1:])).source(y, weight, shuffle=shuffle, dtype=dtype, device="cpu", **how)


def epoch_of(source, epoch=0, start=0, seed=0):
    return list(source.batches(epoch, start, Draw(seed).at("order", epoch)))


def same(one, other):
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        assert all(torch.equal(p, q) and p.dtype == q.dtype for p, q in zip(a, b, strict=True))


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("batch_size", [1, 5, 22, N, 50])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_batches_are_those_of_rows_in_memory(shuffle, batch_size, dtype, folder):
    how = {"batch_size": batch_size, "shuffle": shuffle}
    memory = Rows(torch.from_numpy(X).to(dtype) / 255, Y, torch.from_numpy(W).to(dtype), **how)
    files = files_of(open_images(folder).x, Y, W, dtype=dtype, **how)
    assert len(files) == len(memory)
    for epoch in (0, 1):
        for start in (0, len(memory) // 2, len(memory)):
            same(epoch_of(files, epoch, start), epoch_of(memory, epoch, start))


def test_decoding_runs_ahead_by_a_bounded_number_of_batches(folder, monkeypatch):
    decode, names = picture_files.decode, []

    def watched(*args):
        names.append(threading.current_thread())
        return decode(*args)

    monkeypatch.setattr(picture_files, "decode", watched)
    monkeypatch.setattr(base, "MAX_AHEAD_BYTES", 3 * 2 * 24)  # three batches of two pictures
    batches = files_of(open_images(folder).x, batch_size=2).batches(0, 0, Draw(0))
    next(batches)
    end = time.monotonic() + 60
    while len(names) < 2 * (1 + 3 + 1) and time.monotonic() < end:
        time.sleep(0.001)
    time.sleep(0.05)  # time to decode another
    assert len(names) == 2 * (1 + 3 + 1) and threading.current_thread() not in names
    batches.close()


def test_what_is_raised_in_the_thread_is_raised_here_after_the_batches_before_it():
    def get(index, draw):
        if index[0] == 2:
            raise KeyError("two")
        return Batch(index)

    batches = Indexed(9, get, batch_size=1, shuffle=False, ahead=5).batches(0, 0, Draw(0))
    assert [next(batches).x.tolist(), next(batches).x.tolist()] == [[0], [1]]
    with pytest.raises(KeyError, match="two"):
        next(batches)


@pytest.mark.parametrize("end", ["closed", "let go"])
def test_batches_that_nobody_waits_for_end_their_thread(end):
    before = set(threading.enumerate())
    batches = Indexed(10**4, lambda index, draw: Batch(index), batch_size=1, ahead=2).batches(0, 0, Draw(0))
    next(batches)
    assert set(threading.enumerate()) - before
    if end == "closed":
        batches.close()
    del batches
    gc.collect()
    stop = time.monotonic() + 60
    while set(threading.enumerate()) - before and time.monotonic() < stop:
        time.sleep(0.001)
    assert not set(threading.enumerate()) - before


def test_a_bad_picture_is_raised_where_it_is_taken(folder):
    x = open_images(folder).x
    (folder / "a/13.png").write_bytes(b"gone bad")
    batches = files_of(x, batch_size=5, shuffle=False).batches(0, 0, Draw(0))
    next(batches), next(batches)
    with pytest.raises(FileFormatError, match="13.png: not a PNG or JPEG picture.* Or leave bad files out: skip_bad"):
        next(batches)


def test_a_batch_that_does_not_fit_is_refused(folder):
    with pytest.raises(InputError, match="A batch of 20 pictures of 4000x3000 pixels takes 960 MB, at most 537 MB are"):
        files_of(open_images(folder, size=(3000, 4000)).x, batch_size=20)


def trainer_of(source):
    net = nn.Sequential(nn.Flatten(), nn.Linear(24, 1))
    nn.init.zeros_(net[1].weight)
    nn.init.zeros_(net[1].bias)
    return net, Trainer(Supervised(net, lambda raw, y: (raw[:, 0] - y).square()), source, optimizer="sgd", lr=1e-4)


def test_training_resumes_in_mid_epoch_bit_for_bit(folder, tmp_path):
    def source():
        return files_of(open_images(folder).x, Y.astype(np.float32), W, batch_size=5)

    whole, all_at_once = trainer_of(Rows(torch.from_numpy(X).float() / 255, Y.astype(np.float32), W, batch_size=5))
    iterate(all_at_once, steps=8)
    with Run(tmp_path / "run") as run:
        iterate(trainer_of(source())[1], steps=3, run=run)
    again, resumed = trainer_of(source())
    with Run(tmp_path / "run") as run:
        iterate(resumed, steps=8, run=run)
    assert torch.equal(again[1].weight, whole[1].weight)
