"""Pieces of an HTML page that fetches nothing and runs no script: blocks, tables, figures, images.

The same pieces give the same bytes; `report.html.j2` is their form. Figures are light or dark as the reader's screen
is, by rules of style alone, and are never smaller than their letters can be read: a wide one scrolls in its card.
"""

from __future__ import annotations

import base64
import io
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from importlib.resources import files as package_files
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from .. import __version__
from ..errors import FThetaError
from ..plots import Figure
from ..results import Result, Table, counted, svg

if TYPE_CHECKING:
    from jinja2 import Template

MAX_ROWS, MAX_CELLS = 500, 20_000  # of a table
SHORT = 8  # rows of a table that is not folded
MAX_POINTS = 2_000  # more are painted as pixels
LETTERS, POINT = 9.0, 4 / 3  # least size of letters in points; pixels of a point
PIXELS, NARROW = 7.0, 340  # least size in pixels on a narrow screen, and how much of it a figure has
INK = "#000001"  # black that stays black on a dark page


@dataclass
class Block:
    """What the template shows one after the other; empty parts are left out."""

    heading: str = ""
    anchor: str = ""  # of the heading; empty: its slug
    text: str = ""
    soft: bool = False  # whether the text is an aside
    code: str = ""
    html: Markup = Markup("")
    folded: Markup = Markup("")  # shown on request
    summary: str = ""  # of what is folded
    images: list[dict[str, Any]] = field(default_factory=list)


def render(*, sections: Mapping[str, Sequence[Block]], **parts: Any) -> str:
    """The page: title, lead, sections of blocks by their names, and what else `report.html.j2` shows."""
    shown = {name: blocks for name, blocks in sections.items() if blocks}
    return _template().render(version=__version__, sections=shown, **parts)


@cache
def _template() -> Template:
    from jinja2 import Environment

    environment = Environment(autoescape=True, keep_trailing_newline=True)
    environment.filters |= {"slug": slug, "first_upper": upper}
    return environment.from_string(package_files("ftheta.jobs").joinpath("report.html.j2").read_text(encoding="utf-8"))


def upper(text: str) -> str:
    """With a first letter that is a capital."""
    return text[:1].upper() + text[1:]


def slug(title: str) -> str:
    """A title as an anchor."""
    return re.sub(r"\W+", "-", title.lower()).strip("-")


# ---- tables


def table_html(given: Table, beside: Sequence[Markup] = ()) -> Markup:
    """A table that scrolls in its own box; of a very long one the first and last rows, of a long cell both ends.

    `beside` are drawings of the rows, in a last column.
    """
    n = len(next(iter(given.columns.values()), ()))
    most = min(MAX_ROWS, max(30, MAX_CELLS // max(len(given.columns), 1)))
    half = most // 2
    picked = range(n) if n <= most else [*range(half), *range(n - half, n)]
    cut = {_short(str(name), 60): [_short(column[i], 300) for i in picked] for name, column in given.columns.items()}
    more = f"The first {half} and the last {half} of {n:,} rows." if n > most else ""
    made = Table(cut if len(cut) == len(given.columns) else given.columns)
    caption = f"{given.caption} {more}".strip()  # above the box: it stays where it is when the table scrolls
    label = escape(caption or ", ".join(made.columns))
    above = f'<p class="caption">{escape(caption)}</p>' if caption else ""
    rows = made.html()
    if len(beside):
        cells = iter(['<th scope="col">distribution</th>', *(f"<td>{mark}</td>" for mark in beside)])
        rows = re.sub("</tr>", lambda end: f"{next(cells)}{end[0]}", rows)
    return Markup(f'{above}<div class="box" tabindex="0" role="region" aria-label="{label}">{rows}</div>')


def _short(value: Any, most: int) -> Any:
    """Of a long text both ends."""
    if not isinstance(value, str) or len(value) <= most:
        return value
    return f"{value[: most // 2]}…{value[-(most - most // 2 - 1) :]}"


def pairs(names: tuple[str, str], facts: Mapping[str, Any]) -> Markup:
    """Facts as a table of two columns."""
    return table_html(Table({names[0]: list(facts), names[1]: [str(value) for value in facts.values()]}))


def bars(counts: Sequence[int], says: str) -> Markup:
    """A small histogram, 60 × 16 pixels."""
    top, wide = max([1, *counts]), 60 / max(len(counts), 1)
    path = "".join(f"M{i * wide:.4g} 16v{-16 * n / top:.4g}h{wide * 0.9:.4g}V16z" for i, n in enumerate(counts) if n)
    label = escape(says, quote=True)
    return Markup(f'<svg class="bars" role="img" aria-label="{label}" viewBox="0 0 60 16"><path d="{path}"/></svg>')


# ---- figures


def result_block(
    make: Callable[[], Result],
    prefix: str,
    alt: str,
    numbers_of: Callable[[], Result] | None = None,
    *,
    draw: bool = True,
    **more: Any,
) -> Block:
    """Figure of a result, its finding in a sentence, and its table, folded where it is long; or why there is none.

    `numbers_of` makes the result whose table is shown; None: the same.
    """
    try:
        result = make()
        table, said = (result if numbers_of is None else numbers_of()).table(), result.caption or alt
        drawn = figure_html(result.figure(), prefix, said) if draw else Markup("")
    except FThetaError as error:
        return Block(**more, html=Markup(f'<p class="soft">{escape(str(error))}</p>'))
    n = len(next(iter(table.columns.values()), ()))
    caption = Markup(f'<p class="caption{" below" * draw}">{escape(table.caption)}</p>' if table.caption else "")
    numbers = table_html(Table(table.columns)) if n else Markup("")
    if n <= SHORT:
        return Block(**more, html=drawn + caption + numbers)
    return Block(**more, html=drawn + caption, folded=numbers, summary=f"Numbers ({counted(n, 'row')})")


def figure_html(figure: Figure, anchor: str, alt: str) -> Markup:
    """A figure on a card; names inside it start with its anchor, so that no two of a page are the same."""
    from matplotlib import rc_context

    least = _prepared(figure)
    with rc_context({"svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # the browser has its own letters
        text = svg(figure, alt)
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text, flags=re.DOTALL)
    named = re.sub(r"<[^>]*>", lambda tag: re.sub(r'( id="|url\(#|href="#)', rf"\g<1>{anchor}-", tag[0]), text)
    wide = 72 * POINT * figure.get_figwidth()
    scrolls = ' tabindex="0"' if wide * PIXELS > NARROW * least * POINT else ""
    style = f'<svg style="--wide:{wide:.0f}px;--letters:{least * POINT:.3g}"'
    return Markup(f'<figure><div class="card box"{scrolls}>{named.replace("<svg", style, 1)}</div></figure>')


def _prepared(figure: Figure) -> float:
    """The smallest letters in points. Many points become pixels, and a dollar in somebody's words is a dollar."""
    from matplotlib.collections import Collection, QuadMesh
    from matplotlib.image import AxesImage
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

    for mark in figure.findobj(Collection):
        mark.set_rasterized(max(np.size(mark.get_offsets()) // 2, len(mark.get_paths())) > MAX_POINTS)
    for line in figure.findobj(Line2D):
        line.set_rasterized(np.size(line.get_xdata()) > MAX_POINTS and line.get_marker() not in ("", "None", None))
    colored = {a for a in figure.axes if any(isinstance(mark, QuadMesh | AxesImage) for mark in a.get_children())}
    sizes = [LETTERS]
    for text in figure.findobj(Text):
        if "$" in text.get_text() and r"\mathdefault" not in text.get_text():
            text.set_parse_math(False)
        box: Any = text.get_bbox_patch()
        on_colors = text.axes in colored and text.get_transform() == text.axes.transData  # type: ignore[union-attr]
        on_colors = on_colors if box is None else min(box.get_facecolor()) < 1
        if on_colors and text.get_color() in ("black", "k"):
            text.set_color(INK)
        if not on_colors:
            text.set_fontsize(max(text.get_fontsize(), LETTERS))
        elif text.get_text() and text.get_visible():
            sizes.append(float(text.get_fontsize()))
    return min(sizes)


def png(pixels: np.ndarray) -> str:
    """An image as a data URI; bytes are 0 to 255, other numbers go from their least to their most."""
    from matplotlib.image import imsave

    values = pixels.astype(float)
    low, high = (0.0, 255.0) if pixels.dtype == np.uint8 else (values.min(), values.max())
    unit = (values - low) / ((high - low) or 1.0)
    unit = unit[..., 0] if unit.ndim == 3 and unit.shape[2] == 1 else unit  # (H, W) or (H, W, 3 or 4)
    stream = io.BytesIO()
    imsave(stream, unit, cmap="gray", vmin=0.0, vmax=1.0, format="png", metadata={"Software": "ftheta"})
    return f"data:image/png;base64,{base64.b64encode(stream.getvalue()).decode()}"
