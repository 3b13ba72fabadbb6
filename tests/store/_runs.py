"""What the tests of runs share."""

import numpy as np


def state(step):
    return {"w": np.full(40, step, np.float32), "step": step}


def names(folder):
    return sorted(str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file())


def steps(run, **options):
    return [row["step"] for row in run.rows(**options)]


def both(folder, name):
    """The two places of a file that is kept twice."""
    return folder / name, folder / f".{name}.copy"


def flip(file, position, bit=0):
    data = bytearray(file.read_bytes())
    data[position] ^= 1 << bit
    file.write_bytes(data)
