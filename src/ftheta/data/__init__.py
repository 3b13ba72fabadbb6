"""What is trained on: batches, sources, splits, tables and data sets."""

from __future__ import annotations

from ._cells import Form
from ._columns import alike
from ._kinds import kind_of
from .arrays import read_arrays, read_idx, read_idx_array
from .batch import Batch, InputSpec, TargetSpec, rows, take
from .datasets import Dataset, Truth
from .delimited import read_csv, task_of
from .encoded import Encoded
from .files import read
from .leaks import leaks
from .makers import (
    MAKERS,
    blobs,
    checkerboard,
    circles,
    friedman,
    heteroscedastic,
    make,
    moons,
    polynomial,
    sinusoid,
    spirals,
    two_gaussians,
    xor,
)
from .parquet import read_parquet
from .pictures import read_images
from .printed import PRINTED, cholesterol, sprint
from .real import fetch
from .registry import Facts, facts, load, names
from .sources import Rows, Source, Stream
from .splits import SPLITS, holdout, kfold
from .table import PixelEncoder, TableEncoder, encoder_of
from .textfile import read_text

__all__ = [
    "MAKERS",
    "PRINTED",
    "SPLITS",
    "Batch",
    "Dataset",
    "Encoded",
    "Facts",
    "Form",
    "InputSpec",
    "PixelEncoder",
    "Rows",
    "Source",
    "Stream",
    "TableEncoder",
    "TargetSpec",
    "Truth",
    "alike",
    "blobs",
    "checkerboard",
    "cholesterol",
    "circles",
    "facts",
    "fetch",
    "friedman",
    "heteroscedastic",
    "encoder_of",
    "holdout",
    "kfold",
    "kind_of",
    "leaks",
    "load",
    "make",
    "moons",
    "names",
    "polynomial",
    "read",
    "read_arrays",
    "read_csv",
    "read_idx",
    "read_idx_array",
    "read_images",
    "read_parquet",
    "read_text",
    "rows",
    "sinusoid",
    "spirals",
    "sprint",
    "take",
    "task_of",
    "two_gaussians",
    "xor",
]
