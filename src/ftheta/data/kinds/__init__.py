"""Kinds of input: what X is, how it is checked, taken apart and put into batches."""

from .base import Inputs, Items, Kind, histogram
from .sequence import Sequences, Text
from .series import Series
from .table import Images, Table

__all__ = [
    "KINDS", "Images", "Inputs", "Items", "Kind", "Sequences", "Series", "Table", "Text", "histogram",
]  # fmt: skip

KINDS: dict[str, type[Kind]] = {kind.name: kind for kind in (Table, Images, Series, Sequences, Text)}
