"""A million rows of CSV: read, encoded and trained on for one epoch, beside pandas and the bare loop.

    ours   = read_csv + TableEncoder + one epoch of MLPClassifier
    theirs = pandas.read_csv + one epoch of the bare loop

20 columns: 15 numbers, a class, 4 texts with missing cells; 100 hidden units, batch 1024. The bare loop is given the
matrix that our encoder made, so that encoding is our cost alone. Bars: at most 1.5 times the time of pandas and the
bare loop; a peak of at most 300 MiB, 3 times the file and the encoded matrix, which is dense.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from ftheta.data import TableEncoder, read_csv

from . import bare
from ._report import Line, Report
from ._timing import Settings, alternate, ratios, summarise, threads

__all__ = ["BATCH", "make", "ours", "run"]

BATCH, HIDDEN, RATE = 1024, 100, 0.01
ASKED, ASKED_MIB = 1 / 1.5, 300  # theirs / ours; MiB beside 3 times the file and the matrix
LEVELS = (4, 8, 12, 20)


def make(path: Path, n: int) -> None:
    """The file: numbers with four decimals, texts of 4 to 20 levels with 5 % missing cells, a class of three."""
    rng = np.random.default_rng(0)
    columns: dict[str, object] = {f"n{j}": rng.normal(size=n).round(4) for j in range(15)}
    columns["label"] = np.digitize(columns["n0"] + np.sin(columns["n1"]), [-0.5, 0.5])  # type: ignore[operator]
    for j, k in enumerate(LEVELS):
        text = np.array([f"level{i}" for i in range(k)], dtype=object)[rng.integers(k, size=n)]
        text[rng.random(n) < 0.05] = ""
        columns[f"t{j}"] = text
    pd.DataFrame(columns).to_csv(path, index=False)


def ours(path: Path) -> np.ndarray:
    """Read, encode, one epoch; gives the encoded table."""
    from ftheta import MLPClassifier

    x, y = encoded(path)
    MLPClassifier(hidden=(HIDDEN,), epochs=1, batch_size=BATCH, lr=RATE, random_state=0).fit(x, y)
    return x


def encoded(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """The table as the net sees it; the frame it was read into is let go."""
    data = read_csv(path, "label")
    return TableEncoder("float32").fit(data.x).transform(data.x), np.asarray(data.y)


def theirs(path: Path, x: torch.Tensor, y: torch.Tensor, choice: bare.Choice) -> None:
    """pandas as it comes, and the bare loop on the matrix."""
    pd.read_csv(path)
    with threads(choice.threads):
        bare.fit(x, y, (x.shape[1], HIDDEN, 3), BATCH, 1, RATE, choice.kernel)


def peak(path: Path) -> float:
    """MiB that a process needs at most for our side, imports included."""
    code = (
        "import sys; from pathlib import Path; from bench.million_rows import ours; ours(Path(sys.argv[1])); "
        "print(next(s.split()[1] for s in open('/proc/self/status') if s.startswith('VmHWM')))"
    )
    root = Path(__file__).parents[1]
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])}
    done = subprocess.run([sys.executable, "-c", code, str(path)], env=env, capture_output=True, text=True, check=True)
    return float(done.stdout) / 1024


def run(settings: Settings) -> Report:
    """Both sides in turns, and the peak of ours in a process of its own."""
    n = 5_000 if settings.quick else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "million.csv"
        make(path, n)
        x = torch.from_numpy(np.asarray(ours(path)))
        y = torch.from_numpy(pd.read_csv(path, usecols=["label"])["label"].to_numpy(copy=True))
        few = 100 * BATCH
        choice = bare.best(x[:few], y[:few], (x.shape[1], HIDDEN, 3), BATCH, settings)
        runs = {"ours": lambda _: ours(path), "pandas + bare loop": lambda _: theirs(path, x, y, choice)}
        times = alternate(runs, settings.repetitions)
        size, most = path.stat().st_size / 2**20, peak(path)
    report = Report("million-rows", f"{n} rows x 20 columns of CSV ({size:.0f} MiB): read, encode, one epoch", "s")
    report.lines = [
        Line("ours", summarise(times["ours"])),
        Line(
            "pandas + bare loop",
            summarise(times["pandas + bare loop"]),
            choice.threads,
            ratios(times["pandas + bare loop"], times["ours"]),
            at_least=ASKED,
        ),
    ]
    bound = ASKED_MIB + 3 * size + x.nbytes / 2**20
    said = "within" if most <= bound else "OVER"
    report.notes.append(
        f"peak of our process {most:.0f} MiB, {said} the bound of 300 MiB + 3 x file + matrix = {bound:.0f} MiB"
    )
    report.notes.append(f"pandas {pd.__version__} reads with its own threads; {x.shape[1]} encoded columns")
    return report
