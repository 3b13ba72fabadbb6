"""What is trained on: batches, sources, splits, tables and data sets."""

from __future__ import annotations

from .batch import Batch, InputSpec, TargetSpec, rows, take
from .datasets import Dataset, load, names
from .files import read_csv, task_of
from .sources import Rows, Source, Stream
from .splits import SPLITS, holdout
from .table import TableEncoder

__all__ = [
    "SPLITS",
    "Batch",
    "Dataset",
    "InputSpec",
    "Rows",
    "Source",
    "Stream",
    "TableEncoder",
    "TargetSpec",
    "holdout",
    "load",
    "names",
    "read_csv",
    "rows",
    "take",
    "task_of",
]
