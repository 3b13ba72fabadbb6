"""What the tests of the command line share: small files, calls, and looks at the disk."""

import os
import sys
import warnings
from pathlib import Path

import numpy as np

import ftheta
from ftheta.cli import main

QUICK = ("--epochs", 3, "--hidden", 8)
ENV = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2] / "src"), "OMP_NUM_THREADS": "1"}
PYTHON = (sys.executable, "-m", "ftheta")


def call(patch, *args):
    """Run a command in this process and give its exit code; reports, which take time, only where they are asked for."""
    quiet = ["--no-report"] if args[:1] == ("train",) and "--report" not in args else []
    patch.setattr(sys, "argv", ["ftheta", *map(str, args), *quiet])
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # a user's Python shows warnings; here they would be errors
        try:
            main()
        except SystemExit as end:
            return end.code
    return 0


def table(path, target="price", n=60, **columns):
    """A CSV file: a, b ~ N(0, 1), price = a + 2 b + 0.1; kind is cat where that is positive, else dog."""
    X = np.random.default_rng(0).normal(size=(n, 2)).round(4)
    price = (X @ [1.0, 2.0] + 0.1).round(4)
    y = price if target == "price" else np.where(price > 0, "cat", "dog")
    named = {"a": X[:, 0], "b": X[:, 1], **columns, target: y}
    write(path, named, *zip(*named.values(), strict=True))
    return path


def write(path, *rows):
    """Rows of cells, the header first, as a CSV file."""
    Path(path).write_text("".join(",".join(map(str, row)) + "\n" for row in rows), encoding="utf-8")


def snapshot(folder="."):
    """Every folder, and every file with its bytes; a lock only says who came last."""
    found = sorted(Path(folder).rglob("*"))
    return {str(p): p.read_bytes() if p.is_file() and p.name != "lock" else None for p in found}


def equal_files(a, b):
    """Whether two runs hold the same files, byte for byte; times are in the log only, and the manifest marks it."""
    timed = ("metrics.jsonl", "manifest.json", ".manifest.json.copy", "lock")
    held = [{k: v for k, v in snapshot(run).items() if Path(k).name not in timed} for run in (a, b)]
    named = [
        {str(Path(k).relative_to(run)): v for k, v in found.items()} for run, found in zip((a, b), held, strict=True)
    ]
    differing = [k for k in named[0].keys() | named[1].keys() if named[0].get(k, 0) != named[1].get(k, 0)]
    assert differing == [], differing
    return True


def weights(run):
    """The tensors of a trained run as bytes."""
    return {name: p.numpy().tobytes() for name, p in ftheta.load(run)[-1].module_.state_dict().items()}


def flip(file, place=-30):
    """Turn one bit of a file."""
    data = bytearray(Path(file).read_bytes())
    data[place] ^= 1
    Path(file).write_bytes(bytes(data))
