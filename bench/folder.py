"""A folder of 28 x 28 PNG files beside the same pictures in memory, and the loader beside bare decoding with Pillow.

    conv 3x3 (32) - max pool 2 - relu - conv 3x3 (64) - max pool 2 - relu - dropout - dense (10)      34,826 parameters

One epoch of batches of 128 with Adam. The first epoch over the files decodes them and keeps the pixels in memory, later
ones read those. Bars: the first reaches 60 % of the speed in memory, later ones 90 %, the loader alone 80 % of bare
decoding (one thread, `np.asarray(Image.open(file))`); 200,000 files take at most 1 GB above the net.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import nn

from ftheta.data import Dataset, InputSpec, Pictures, Rows, Source, open_images
from ftheta.data.kinds import Items
from ftheta.draw import Draw
from ftheta.likelihoods import Categorical
from ftheta.train import Supervised, Trainer, iterate

from ._report import Line, Report
from ._timing import Settings, alternate, ratios, summarise, threads
from .mnist_size import images

__all__ = ["above", "epoch", "make", "run"]

BATCH, MANY, MOST = 128, 200_000, 1000.0  # rows, files and MB of the bar of memory
ASKED = {"files, first epoch": 0.6, "files, later epochs": 0.9, "loader, nothing cached": 0.8}


def make(folder: Path, n: int) -> str:
    """n files in a folder for each class; says what they show."""
    x, y, what = images(n)
    for label in range(10):
        (folder / str(label)).mkdir(parents=True)
    for i, (row, label) in enumerate(zip(x, y, strict=True)):
        pixels = np.rint(255 * row).astype(np.uint8).reshape(28, 28)
        Image.fromarray(pixels).save(folder / str(label) / f"{i:06}.png")
    return what


def net() -> nn.Module:
    """As the benchmark's title has it, weights with channels last."""
    first = nn.Conv2d(1, 32, 3), nn.MaxPool2d(2), nn.ReLU()
    second = nn.Conv2d(32, 64, 3), nn.MaxPool2d(2), nn.ReLU()
    made = nn.Sequential(*first, *second, nn.Flatten(), nn.Dropout(0.5), nn.Linear(1600, 10))
    return made.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]


def epoch(source: Source, steps: float = float("inf")) -> None:
    """One epoch, or fewer steps."""
    trainer = Trainer(Supervised(net(), Categorical()), source, optimizer="adam", lr=0.001)
    iterate(trainer, rounds=1, steps=steps)


def files_of(pictures: Pictures, y: np.ndarray) -> Source:
    """Batches that are decoded when they are needed."""
    items = Items(pictures, InputSpec(pictures.shape[1:]))
    return items.source(y, None, batch_size=BATCH, shuffle=True, dtype=torch.float32, device="cpu")


def loaded(source: Source) -> None:
    """All batches of an epoch, on which nothing is trained."""
    for _ in source.batches(0, 0, Draw(0)):
        pass


def bare(paths: list[Path]) -> None:
    """Pillow and nothing else."""
    for path in paths:
        with Image.open(path) as picture:
            np.asarray(picture)


def above(folder: Path, steps: int) -> tuple[float, int]:
    """MB that opening the folder and these steps take at most above the net, in a process of its own; and n."""
    root = Path(__file__).parents[1]
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])}
    code = f"from bench.folder import child; child({str(folder)!r}, {steps})"
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    mb, n = done.stdout.split()
    return float(mb), int(n)


def child(folder: str, steps: int) -> None:
    """Print MB above what the net takes in memory, and the number of files."""
    few = torch.rand(BATCH, 1, 28, 28), torch.zeros(BATCH, dtype=torch.long)
    epoch(Rows(*few, batch_size=BATCH))
    before = _status("VmRSS")
    data = open_images(folder)
    epoch(files_of(data.x, _labels(data)), steps)
    sys.stdout.write(f"{_status('VmHWM') - before} {data.rows}\n")


def _labels(data: Dataset) -> np.ndarray:
    return np.asarray(data.y).astype(int)


def _status(field: str) -> float:
    """MB."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) * 1024 / 1e6


def _more(folder: Path, copies: int) -> None:
    """Further names for the files, which cost no room."""
    for path in list(folder.glob("*/*.png")):
        for k in range(1, copies):
            os.link(path, path.with_name(f"{path.stem}-{k}.png"))


def run(settings: Settings) -> Report:
    """Epochs and loaders in turns, then the memory."""
    n, count = (300, 1) if settings.quick else (20_000, settings.counts[-1])
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "pictures"
        what = make(folder, n)
        data = open_images(folder)
        y, paths = _labels(data), data.x.paths
        pixels = np.asarray(data.x)
        memory = Rows(torch.from_numpy(pixels).float() / 255, y, batch_size=BATCH)
        files = files_of(data.x, y)  # all decoded

        def fresh() -> Source:
            return files_of(open_images(folder).x, y)

        runs = {
            "in memory": lambda _: epoch(memory),
            "files, first epoch": lambda _: epoch(fresh()),
            "files, later epochs": lambda _: epoch(files),
            "bare Pillow": lambda _: bare(paths),
            "loader, nothing cached": lambda _: loaded(fresh()),
            "loader, all cached": lambda _: loaded(files),
        }
        epoch(memory, 2)  # warm up
        with threads(count):
            times = alternate(runs, settings.repetitions)
        _more(folder, MANY // n if not settings.quick else 2)
        mb, many = above(folder, 2 if settings.quick else 300)
    report = Report("folder", f"{n} PNG files of {what}, 28 x 28", "one epoch", against="reference/this")
    for who, t in times.items():
        reference = times["in memory" if who.startswith(("in", "files")) else "bare Pillow"]
        ratio = None if t is reference else ratios(reference, t)
        report.lines.append(Line(who, summarise(t), count, ratio, ASKED.get(who)))
    said = "within" if mb <= MOST else "OVER"
    report.notes.append(f"{many} files take {mb:.0f} MB above the net at most, {said} the bound of {MOST:.0f} MB")
    return report
