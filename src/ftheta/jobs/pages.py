"""Pieces of an HTML page that fetches nothing and runs no script: blocks, tables, figures, images.

The same pieces give the same bytes; `report.html.j2` is their form.
"""

from __future__ import annotations

import base64
import io
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from html import escape
from importlib.resources import files as package_files
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from .. import __version__
from ..errors import FThetaError
from ..results import Result, Table, svg

if TYPE_CHECKING:
    from jinja2 import Template
    from matplotlib.figure import Figure

MAX_ROWS = 30
MAX_POINTS = 2_000  # more are painted as pixels


def render(**parts: Any) -> str:
    """A page of `title`, `lead` and `sections` (blocks by heading); other parts of a report may be left out."""
    return _template().render(version=__version__, **parts)


@cache
def _template() -> Template:
    from jinja2 import Environment

    environment = Environment(autoescape=True, keep_trailing_newline=True)
    environment.filters |= {"slug": slug, "first_upper": upper}
    return environment.from_string(package_files("ftheta.jobs").joinpath("report.html.j2").read_text(encoding="utf-8"))


def upper(text: str) -> str:
    """With a first letter that is a capital."""
    return text[:1].upper() + text[1:]


def counted(n: int, what: str) -> str:
    """A number of things, with an s where there are several."""
    return f"{n:,} {what}{'s' * (n != 1)}"


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


def slug(title: str) -> str:
    """A title as an anchor."""
    return re.sub(r"\W+", "-", title.lower()).strip("-")


def table_html(given: Table) -> Markup:
    """A table that scrolls in its own box; of a long one the first and last rows, of a long cell both ends."""
    n = len(next(iter(given.columns.values()), ()))
    half, left = MAX_ROWS // 2, max(n - MAX_ROWS, 0)
    picked = range(n) if not left else [*range(half), *range(n - half, n)]
    cut = {_short(str(name), 60): [_short(column[i], 160) for i in picked] for name, column in given.columns.items()}
    more = f"Rows {half + 1} to {n - half} of {n:,} are left out." if left else ""
    made = Table(cut if len(cut) == len(given.columns) else given.columns)
    caption = f"{given.caption} {more}".strip()  # above the box: it stays where it is when the table scrolls
    label = escape(caption or ", ".join(made.columns))
    above = f'<p class="caption">{escape(caption)}</p>' if caption else ""
    return Markup(f'{above}<div class="box" tabindex="0" role="region" aria-label="{label}">{made.html()}</div>')


def _short(value: Any, most: int) -> Any:
    """Of a long text both ends."""
    if not isinstance(value, str) or len(value) <= most:
        return value
    return f"{value[: most // 2]}…{value[-(most - most // 2 - 1) :]}"


def pairs(names: tuple[str, str], facts: Mapping[str, Any]) -> Markup:
    """Facts as a table of two columns."""
    return table_html(Table({names[0]: list(facts), names[1]: [str(value) for value in facts.values()]}))


def figure_html(figure: Figure, anchor: str, alt: str) -> Markup:
    """A figure on a white card; names inside it start with its anchor, so that no two of a page are the same."""
    from matplotlib import rc_context

    _lighten(figure)
    with rc_context({"svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # the browser has its own letters
        text = svg(figure, alt)
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text, flags=re.DOTALL)
    named = re.sub(r"<[^>]*>", lambda tag: re.sub(r'( id="|url\(#|href="#)', rf"\g<1>{anchor}-", tag[0]), text)
    return Markup(f'<figure><div class="card">{named}</div></figure>')


def _lighten(figure: Figure) -> None:
    """Many points become pixels, and a dollar in somebody's words is a dollar."""
    from matplotlib.collections import Collection
    from matplotlib.lines import Line2D
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        if "$" in text.get_text() and r"\mathdefault" not in text.get_text():
            text.set_parse_math(False)
    for mark in figure.findobj(Collection):
        mark.set_rasterized(max(np.size(mark.get_offsets()) // 2, len(mark.get_paths())) > MAX_POINTS)
    for line in figure.findobj(Line2D):
        line.set_rasterized(np.size(line.get_xdata()) > MAX_POINTS and line.get_marker() not in ("", "None", None))


def result_block(make: Callable[[], Result], prefix: str, alt: str, *, folded: bool = True, **more: Any) -> Block:
    """Figure and table of a result, or the sentence why there is none."""
    try:
        result = make()
        numbers = table_html(result.table())
        drawn = figure_html(result.figure(), prefix, getattr(result, "alt", alt))
    except FThetaError as error:
        drawn, numbers = Markup(f'<p class="soft">{escape(str(error))}</p>'), Markup("")
        folded = False
    return Block(**more, html=drawn, folded=numbers) if folded else Block(**more, html=drawn + numbers)


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
