"""Kinds of input: what X is, how it is checked, taken apart and put into batches."""

from .base import Inputs, Items, Kind, histogram
from .environment import Environment
from .sequence import Sequences, Text
from .series import Series
from .table import Boxes, Images, Table

__all__ = [
    "KINDS", "Boxes", "Environment", "Images", "Inputs", "Items", "Kind", "Sequences", "Series", "Table", "Text",
    "histogram",
]  # fmt: skip

_ALL = (Table, Images, Series, Sequences, Text, Boxes, Environment)
KINDS: dict[str, type[Kind]] = {kind.name: kind for kind in _ALL}
