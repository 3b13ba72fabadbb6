"""Pieces of a page: headings, tables in their own box, figures whose names do not collide; all text is escaped."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import FThetaError
from ..plots._style import short
from ..results import Result, Table, svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["block", "details", "heading", "note", "pairs", "paragraph", "picture", "shown", "slug", "table"]

MOST_ROWS = 30
MOST_POINTS = 2_000  # more are painted as pixels


def slug(title: str) -> str:
    """A title as an anchor."""
    return re.sub(r"\W+", "-", title.lower()).strip("-")


def heading(level: int, title: str, anchor: str = "") -> str:
    return f'<h{level} id="{escape(anchor or slug(title))}">{escape(title)}</h{level}>'


def paragraph(text: str, kind: str = "") -> str:
    return (f'<p class="{kind}">' if kind else "<p>") + f"{escape(text)}</p>" if text else ""


def block(text: str) -> str:
    return f"<pre><code>{escape(text)}</code></pre>"


def note(title: str, sentences: Iterable[str]) -> str:
    """A warning that is not overlooked; nothing without sentences."""
    items = "".join(f"<li>{escape(sentence[:1].upper() + sentence[1:])}</li>" for sentence in sentences)
    return (
        f'<div class="note" role="note"><p><strong>{escape(title)}</strong></p><ul>{items}</ul></div>' if items else ""
    )


def details(title: str, inside: str) -> str:
    return f"<details><summary>{escape(title)}</summary>{inside}</details>"


def table(given: Table) -> str:
    """A table that scrolls in its own box; of a long one the first and last rows, of a long cell both ends."""
    n = len(next(iter(given.columns.values()), ()))
    half, left = MOST_ROWS // 2, max(n - MOST_ROWS, 0)
    picked = range(n) if not left else [*range(half), *range(n - half, n)]
    cut = {short(str(name), 60): [_cell(column[i]) for i in picked] for name, column in given.columns.items()}
    said = f"Rows {half + 1} to {n - half} of {n:,} are left out." if left else ""
    made = Table(cut if len(cut) == len(given.columns) else given.columns)
    caption = f"{given.caption} {said}".strip()  # above the box: it stays where it is when the table scrolls
    label = escape(caption or ", ".join(made.columns))
    box = f'<div class="box" tabindex="0" role="region" aria-label="{label}">{made.html()}</div>'
    return paragraph(caption, "caption") + box


def _cell(value: Any) -> Any:
    return short(value, 160) if isinstance(value, str) else value


def pairs(names: tuple[str, str], facts: Mapping[str, Any]) -> str:
    """Facts as a table of two columns."""
    return table(Table({names[0]: list(facts), names[1]: [str(value) for value in facts.values()]}))


def picture(figure: Figure, anchor: str, alt: str) -> str:
    """A figure on a white card; names inside it start with its anchor, so that no two of a page are the same."""
    from matplotlib import rc_context

    _lighten(figure)
    with rc_context({"svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # the browser has its own letters
        text = svg(figure, alt)
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text, flags=re.DOTALL)
    named = re.sub(r"<[^>]*>", lambda tag: re.sub(r'( id="|url\(#|href="#)', rf"\g<1>{anchor}-", tag[0]), text)
    return f'<figure><div class="card">{named}</div></figure>'


def _lighten(figure: Figure) -> None:
    """Many points become pixels, and a dollar in somebody's words is a dollar."""
    from matplotlib.collections import Collection
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        if "$" in text.get_text() and r"\mathdefault" not in text.get_text():
            text.set_parse_math(False)
    for mark in figure.findobj(Collection):
        mark.set_rasterized(max(np.size(mark.get_offsets()) // 2, len(mark.get_paths())) > MOST_POINTS)
    for line in figure.findobj(Line2D):
        line.set_rasterized(np.size(line.get_xdata()) > MOST_POINTS and line.get_marker() not in ("", "None", None))


def shown(make: Callable[[], Result], anchor: str, alt: str, *, folded: bool = True) -> str:
    """Figure and table of a result, or the sentence that says why there is none."""
    try:
        result = make()
        numbers = table(result.table())
        drawn = picture(result.figure(), anchor, getattr(result, "alt", alt))
        return drawn + (details("Numbers", numbers) if folded else numbers)
    except FThetaError as error:
        return paragraph(str(error), "soft")
