"""A data set: raw values, names of features and classes, license and citation; of synthetic ones also the truth.

    n rows xᵢ of D columns, targets yᵢ;      K = 1 for a number, the number of classes for classes

Nothing is scaled here: what is learned from data is learned from training rows.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from math import prod
from typing import Any

import numpy as np

from ..errors import InputError
from ..results import counted

SHOWN = 5  # rows in a notebook
Function = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Truth:
    """Where synthetic rows come from; each function takes features (n, D) and gives (n,)."""

    formula: str
    mean: Function | None = field(default=None, repr=False)
    scale: Function | None = field(default=None, repr=False)  # standard deviation of the noise
    probability: Function | None = field(default=None, repr=False)  # of class 1
    bayes_error: float | None = None  # error rate of the best possible classifier


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows with names: what is known of n rows `x` and their targets `y`, (n,) or None; (n, H, W) for every pixel.

    By kind, `x` is a table (a frame of numbers, categories and dates; NaN is missing), images (uint8, (n, H·W·C)),
    a series (float, (n,)), sequences (a list of frames or of arrays) or text (one string). Where each step of
    a sequence has a target, `y` is a list of arrays.
    """

    name: str
    x: Any = field(repr=False)
    y: Any = field(repr=False)
    feature_names: tuple[str, ...] = field(repr=False)
    target_names: tuple[str, ...]  # classes in the order of their sorted labels; empty where y is a number
    task: str  # binary, multiclass, regression, segment (a class for every pixel) or none
    license: str = ""
    citation: str = ""
    kind: str = "table"  # table, image, series or text
    shape: tuple[int, ...] = ()  # of one picture, (H, W) or (H, W, C); empty where rows are not pictures
    official: int = 0  # so many last rows are the official test part
    truth: Truth | None = None
    row_names: np.ndarray | None = field(default=None, repr=False)  # of sequences: their cells of --group, or files
    groups: np.ndarray | None = field(default=None, repr=False)  # one name per row: a split keeps them together
    ahead: Any = field(default=None, repr=False)  # of a series: rows without a target, e.g. those of the steps to come
    csv_format: Any = None  # how the cells of a CSV file are written: pass it to `read_csv` with new rows
    notes: tuple[str, ...] = ()  # what a reader did or noticed

    def __post_init__(self) -> None:
        if self.y is not None and len(self.y) != self.rows:
            advice = "They must match; did one file lose its header or last line?"
            raise InputError(f"{self.name}: x has {self.rows} rows but y has {len(self.y)}. {advice}")

    @property
    def rows(self) -> int:
        """n: rows of a table, pictures, values of a series, characters of a text."""
        return len(self.x)

    @property
    def columns(self) -> int:
        """D: columns of a table or series, pixels of a picture; 1 for a text."""
        if self.kind == "text" or getattr(self.x, "ndim", 0) == 1:
            return 1
        return prod((self.x[0] if isinstance(self.x, list) else self.x).shape[1:])

    @property
    def outputs(self) -> int:
        """K: the number of classes, 1 where the target is a number, 0 where there is none."""
        return 0 if self.y is None else 1 if self.task == "regression" else len(self.target_names)

    def __repr__(self) -> str:
        return f"Dataset({self.name!r}: {self._described()})"

    def _described(self) -> str:
        size = f"{'x'.join(map(str, self.shape))} pixels" if self.shape else counted(self.columns, "column")
        classes = f"{self.outputs} classes" if self.outputs > 1 else ""
        task = "" if self.task == "none" else self.task
        return ", ".join(filter(None, [self.kind, f"{self.rows:,} rows", size, task, classes]))

    def _repr_html_(self) -> str:
        first = self.x.head(SHOWN).to_html(index=False, border=0) if hasattr(self.x, "to_html") else ""
        return f"<p><strong>{escape(self.name)}</strong>: {escape(self._described())}</p>\n{first}"
