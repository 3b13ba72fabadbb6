"""What a measurement or an explanation returns: arrays, a table and a figure.

A Result is a frozen dataclass of arrays; a subclass declares columns, a caption and a drawing.
"""

from __future__ import annotations

import io
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import FrozenInstanceError, dataclass, field, fields
from html import escape
from math import floor, inf, log10
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, dataclass_transform

from .errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["Result", "Table", "counted", "digits_of", "fixed", "percent", "svg"]

_WORDS = {"\\": "backslash", "~": "asciitilde", "^": "asciicircum"}
_LATEX = {c: f"\\{c}" for c in "&%$#_{}"} | {c: f"\\text{word}{{}}" for c, word in _WORDS.items()}
_STYLE = "<style>.ftheta th, .ftheta td {{padding: 0.1em 0.6em}}</style>"
_FOLDED = f'<details class="ftheta"><summary>Numbers</summary>{_STYLE}\n{{}}</details>'
_MARKDOWN = {"|": r"\|", "\n": " ", "\r": " ", "*": r"\*", "_": r"\_", "`": r"\`", "<": "&lt;"}


@dataclass(frozen=True)
class Table:
    """Named columns of equal length, as text, Markdown, LaTeX, HTML or a pandas frame.

    Example:
        >>> print(Table({"layer": ["in", "out"], "parameters": [2100, 303]}))
        layer  parameters
        -----  ----------
        in           2100
        out           303
    """

    columns: Mapping[str, Sequence[Any]]
    caption: str = ""
    missing: str = ""  # what stands for None and NaN

    def __post_init__(self) -> None:
        lists = {name: [_plain(v) for v in column] for name, column in self.columns.items()}
        object.__setattr__(self, "columns", lists)
        lengths = {name: len(column) for name, column in self.columns.items()}
        if len(set(lengths.values())) > 1:
            raise InputError(f"The columns of a table differ in length: {lengths}. Give each the same number of cells.")

    def _cells(self, clean: Callable[[str], str] = str) -> tuple[list[str], list[list[str]], list[bool]]:
        """Header, rows of text, and which columns are numbers."""
        columns = self.columns.values()
        numeric = [any(map(_is_number, c)) and all(v is None or _is_number(v) for v in c) for c in columns]
        rows = [[clean(_text(v) or self.missing) for v in row] for row in zip(*columns, strict=True)]
        return [clean(str(name)) for name in self.columns], rows, numeric

    def as_json(self) -> dict[str, Any]:
        """Caption and columns as JSON values."""
        return {"caption": self.caption, "columns": dict(self.columns)}

    def text(self) -> str:
        """Aligned columns, numbers to the right."""
        header, rows, numeric = self._cells(lambda s: " ".join(s.splitlines()))
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        lines = [header, ["-" * w for w in widths], *rows]
        body = [
            "  ".join(c.rjust(w) if n else c.ljust(w) for c, w, n in zip(line, widths, numeric, strict=True)).rstrip()
            for line in lines
        ]
        return "\n".join([self.caption, *body] if self.caption else body)

    __str__ = text

    def markdown(self) -> str:
        """A table in GitHub's Markdown."""
        header, rows, numeric = self._cells(lambda s: s.translate(str.maketrans(_MARKDOWN)))
        lines = [header, ["--:" if n else ":--" for n in numeric], *rows]
        body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return f"{body}\n\n{self.caption}" if self.caption else body

    def latex(self) -> str:
        """A `tabular`, in a `table` when there is a caption."""
        clean = lambda s: s.translate(str.maketrans(_LATEX))  # noqa: E731
        header, rows, numeric = self._cells(clean)
        lines = [f"{' & '.join(line)} \\\\" for line in [header, *rows]]
        columns, rule = "".join("r" if n else "l" for n in numeric), "\\hline"
        body = [f"\\begin{{tabular}}{{{columns}}}", rule, lines[0], rule, *lines[1:], rule, "\\end{tabular}"]
        head = ["\\begin{table}", "\\centering", f"\\caption{{{clean(self.caption)}}}"]
        return "\n".join([*head, *body, "\\end{table}"] if self.caption else body)

    def html(self) -> str:
        """A `<table>`, escaped."""
        header, rows, numeric = self._cells(escape)
        style = [' style="text-align:right"' if n else ' style="text-align:left"' for n in numeric]

        def line(cells: Sequence[str], tag: str, scope: str = "") -> str:
            made = (f"<{tag}{scope}{s}>{c}</{tag}>" for c, s in zip(cells, style, strict=True))
            return f"<tr>{''.join(made)}</tr>"

        caption = f"<caption>{escape(self.caption)}</caption>" if self.caption else ""
        head, body = line(header, "th", ' scope="col"'), "\n".join(line(row, "td") for row in rows)
        return f"<table>{caption}\n<thead>{head}</thead>\n<tbody>\n{body}\n</tbody></table>"

    _repr_html_ = html

    def take(self, rows: Sequence[int]) -> Table:
        """Some of the rows."""
        taken = {name: [column[i] for i in rows] for name, column in self.columns.items()}
        return Table(taken, self.caption, self.missing)

    def frame(self) -> pd.DataFrame:
        """The columns as a pandas frame, unrounded."""
        import pandas as pd

        return pd.DataFrame(dict(self.columns))


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
class Result(ABC):
    """Base of what measuring and explaining return: every subclass is a frozen dataclass of arrays by itself.

    Two are equal where they are one; by their fields, which then hold no arrays, with `class Name(Result, eq=True)`.
    """

    def __init_subclass__(cls, *, eq: bool = False, kw_only: bool = False, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__repr__" not in vars(cls):
            cls.__repr__ = Result.__repr__  # so that dataclass() does not write one with all the numbers
        dataclass(frozen=True, eq=eq, kw_only=kw_only)(cls)
        del cls.__setattr__, cls.__delattr__  # those below do the same, also where a class is decorated again

    def __setattr__(self, name: str, value: Any) -> None:
        self._refuse(name)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        self._refuse(name)
        super().__delattr__(name)

    def _refuse(self, name: str) -> None:
        if name in type(self).__dict__.get("__dataclass_fields__", ()):
            raise FrozenInstanceError(f"A result does not change: {type(self).__name__}.{name} cannot be set.")

    def columns(self) -> Mapping[str, Any]:
        """Columns of the table: lists or arrays of equal length; a column that is None is left out."""
        raise NotImplementedError(f"{type(self).__name__} has neither columns() nor table().")

    @property
    def caption(self) -> str:
        """What table and figure show, in one sentence."""
        return ""

    @property
    def excerpt(self) -> Sequence[int]:
        """Rows of a long table that stand for all; empty: the first ones."""
        return ()

    @abstractmethod
    def figure(self) -> Figure:
        """The picture."""

    def table(self) -> Table:
        """The numbers."""
        return Table({name: column for name, column in self.columns().items() if column is not None}, self.caption)

    def html(self) -> str:
        """A page of its own, such as a film; empty where there is none."""
        return ""

    def __repr__(self) -> str:
        parts = [f"{f.name}={_brief(getattr(self, f.name))}" for f in fields(self) if f.repr]  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(parts)})"

    def _repr_html_(self) -> str:
        return f"{svg(self.figure(), self.caption)}\n{_FOLDED.format(self.table().html())}"


def _brief(value: Any) -> str:
    """A value in at most 60 characters: shape of an array, length of a collection."""
    if shape := getattr(value, "shape", ()):
        return f"{type(value).__name__}{tuple(shape)}"
    text, many = repr(value), hasattr(value, "__len__") and not isinstance(value, str)
    return text if len(text) <= 60 else f"{type(value).__name__} of {len(value)}" if many else f"{text[:57]}..."


def svg(figure: Figure, alt: str = "") -> str:
    """A figure as an `<svg>` element to put into a page: the same bytes for the same figure.

    Args:
        figure: What to draw.
        alt: What a reader who does not see it reads; empty: the titles of its axes.
    """
    from matplotlib import rc_context

    stream = io.StringIO()
    with rc_context({"svg.hashsalt": "ftheta"}):
        figure.savefig(stream, format="svg", metadata={"Date": None})
    said = escape(alt or "; ".join(title for axes in figure.axes if (title := axes.get_title())), quote=True)
    return f'<svg role="img" aria-label="{said}"{_counted(stream.getvalue().partition("<svg")[2])}'


def _counted(text: str) -> str:
    """Names inside a drawing as numbers: matplotlib's are hashes of places, whose last bit a layout does not repeat.

    Equal images have one hash; only the first keeps its name.
    """
    hashed = dict.fromkeys(re.findall(r'id="(\w*[0-9a-f]{10})"', text))
    short = {name: f"id{k}" for k, name in enumerate(hashed)}
    text = re.sub(r'(id="|#)(\w+)', lambda found: found[1] + short.get(found[2], found[2]), text)
    named = set[str]()
    return re.sub(r' id="\w+"', lambda found: "" if found[0] in named else named.add(found[0]) or found[0], text)


def _plain(value: Any) -> Any:
    """A scalar of NumPy or torch as Python's own."""
    return value.item() if hasattr(value, "item") else value


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _text(value: Any) -> str:
    """Integers in full, other numbers with four significant digits, None and NaN as an empty cell."""
    if value is None or value != value:
        return ""
    if not _is_number(value) or isinstance(value, Integral):
        return str(value)
    return f"{value:#.4g}".rstrip(".")


def counted(n: int, what: str) -> str:
    """A number of things, with an s where there are several."""
    return f"{n:,} {what}{'s' * (n != 1)}"


def percent(share: float) -> str:
    """A share for a sentence.

    Example:
        >>> percent(0.872), percent(0.9932), percent(1.0)
        ('87 %', '99.3 %', '100 %')
    """
    return f"{100 * share:.{int(1e-6 < min(abs(share), abs(1 - share)) < 0.02)}f} %"


def fixed(cell: Any, digits: int) -> str:
    """A number with so many places after the point, a count as it is; "none" where there is none."""
    if cell is None:
        return "none"
    return f"{cell:.{digits}f}" if _is_number(cell) and not isinstance(cell, Integral) else str(cell)


def digits_of(value: float | None, low: float | None = None, high: float | None = None) -> int:
    """Places after the point: two digits of the width of an interval, three of a number without one."""
    if value is None:
        return 0
    size, digits = (abs(value), 3) if low is None or high is None or low == high else (high - low, 2)
    return max(0, min(12, digits - 1 - floor(log10(size)))) if 0 < size < inf else digits
