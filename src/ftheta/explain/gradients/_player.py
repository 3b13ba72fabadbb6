"""The page of a film: the net as columns of boxes, a caption and the numbers of each step, buttons, slider and keys.

It fetches nothing; without a script, and on paper, all steps are listed below one another.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from ...results import Table

WIDE, HIGH, GAP, STRIDE, TOP = 100, 42, 12, 176, 64  # of boxes and columns, in pixels
MAX_BOXES, MAX_ENTRIES = 8, 36  # boxes of a column; entries of a tensor that are all shown


class Frame(NamedTuple):
    """One step of the film: its caption, the numbers below the picture, the column that acts."""

    caption: str
    inside: str
    column: int


def page(film: Any) -> str:
    """An `Animation` as a document."""
    from jinja2 import Environment

    text = (files("ftheta.explain.gradients") / "film.html.j2").read_text(encoding="utf-8")
    template = Environment(autoescape=True, keep_trailing_newline=True).from_string(text)
    frames = list(_frames(film))
    title = f"Back-propagation through {len(film.passes.steps) - 1} layers, step by step"
    return template.render(title=title, frames=frames, picture=_svg(film, frames), table=film.table().html())


def _frames(film: Any) -> Iterator[Frame]:
    """Input, every step, the loss, every step back, the update."""
    found = film.passes
    last = len(found.steps)
    for k, step in enumerate(found.steps):
        what = "the input." if step.kind == "input" else f"{step.name} ({step.kind}). {step.forward}"
        yield Frame(f"Forward: {what}", _numbers({"value": step.value[0]}), k)
    target = "" if found.targets is None else f" The target is {_list(found.targets[0])}."
    yield Frame(f"Loss: L = {film.loss[0]:.6g}, {found.words[0]}.{target} It passes back {found.words[1]}.", "", last)
    for k in range(last - 1, -1, -1):
        if film.deltas[k] is not None:
            yield _back(film, k)
    moved = {
        name: {"weight": w, "gradient": found.gradient[name], "new weight": found.new[name]}
        for name, w in found.parameters.items()
    }
    tables = "".join(f"<h2>{escape(name)}</h2>{_numbers(columns)}" for name, columns in moved.items())
    words = f"Update: θ ← θ − {found.lr:g} ∂L/∂θ. The loss was {film.loss[0]:.6g} and is now {film.loss[1]:.6g}."
    yield Frame(words, tables, last)


def _back(film: Any, k: int) -> Frame:
    """δ at one column, and the gradients that follow from it."""
    step = film.passes.steps[k]
    rule = "; ".join(filter(None, (step.backward, step.gradient)))
    what = "the input." if step.kind == "input" else f"δ = ∂L/∂({step.name}). {step.kind}: {rule}."
    layer = step.name.partition("[")[0]
    own = {n: g for n, g in film.passes.gradient.items() if (n.rpartition(".")[0] or layer) == layer}
    tables = "".join(f"<h2>Gradient of {escape(n)}</h2>{_numbers({'gradient': g})}" for n, g in own.items())
    return Frame(f"Backward: {what}", _numbers({"value": step.value[0], "δ": film.deltas[k]}) + tables, k)


def _numbers(columns: dict[str, Any]) -> str:
    """Arrays of one shape as a table, entry by entry; of many, their lengths."""
    arrays = {name: np.asarray(v) for name, v in columns.items()}
    first = next(iter(arrays.values()))
    if first.size > MAX_ENTRIES:
        shape = "×".join(map(str, first.shape))
        norms = ", ".join(f"‖{name}‖ = {np.linalg.norm(v.astype(float)):.6g}" for name, v in arrays.items())
        return f"<p>{first.size:,} numbers ({shape}): {escape(norms)}.</p>"
    places = [", ".join(map(str, i)) or "0" for i in np.ndindex(first.shape)]
    table = Table({"entry": places, **{name: [float(x) for x in v.ravel()] for name, v in arrays.items()}})
    return f'<div class="box">{table.html()}</div>'


def _list(values: np.ndarray) -> str:
    flat = np.atleast_1d(values).ravel()
    return ", ".join(f"{v:g}" for v in flat[:6]) + (" ..." if flat.size > 6 else "")


# ---- the picture


def _svg(film: Any, frames: list[Frame]) -> str:
    """Columns of boxes with lines between them; each part says from which step on it is there."""
    steps = film.passes.steps
    last = len(steps)
    back = {frame.column: k for k, frame in enumerate(frames) if k > last}
    tall = max(min(v.size, MAX_BOXES) for v in (step.value[0] for step in steps)) * (HIGH + GAP)
    width, height = (last + 1) * STRIDE, TOP + tall + 16
    parts = [_lines(film, k, len(frames) - 1, tall) for k in range(1, last) if steps[k].sources == (k - 1,)]
    parts += [_column(film, k, back.get(k), tall) for k in range(last)]
    parts.append(_loss_box(film, last, len(frames) - 1, tall))
    alt = "The layers of the net from left to right as columns of boxes, the loss at the right"
    return f'<svg role="img" aria-label="{alt}" width="{width}" height="{height}">{"".join(parts)}</svg>'


def _loss_box(film: Any, last: int, end: int, tall: float) -> str:
    """The loss with its δ = 1, and after the update the new one."""
    x, y = last * STRIDE + 12, _heights(1, tall)[0]
    middle = x + WIDE / 2
    before, after = (_text(middle, y + 17, f"{value:.3g}", "h") for value in film.loss)
    return (
        f'<g data-now="{last} {end}">{_text(middle, 22, "loss", "name")}{_box(x, y)}'
        f'<g data-at="{last}" data-until="{end}">{before}</g>'
        f'<g data-at="{last + 1}" data-until="{end}">{_text(middle, y + 34, "δ 1", "d")}</g>'
        f'<g data-at="{end}">{after}{_text(middle, y + 34, "after", "kind")}</g></g>'
    )


def _box(x: float, y: float) -> str:
    return f'<rect x="{x}" y="{y:.0f}" width="{WIDE}" height="{HIGH}" rx="6" class="unit"/>'


def _text(x: float, y: float, words: str, kind: str) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" class="{kind}">{escape(words)}</text>'


def _cut(words: str, most: int) -> str:
    return words if len(words) <= most else f"{words[: most // 2 - 1]}…{words[-(most // 2) :]}"


def _shown(size: int) -> list[int]:
    """Which units have a box; of many the first and the last."""
    return list(range(size)) if size <= MAX_BOXES else [*range(MAX_BOXES // 2), *range(size - MAX_BOXES // 2 + 1, size)]


def _heights(size: int, tall: float) -> list[float]:
    """Top of each box; a gap of one in a long column."""
    slots = [k + (size > MAX_BOXES and k >= MAX_BOXES // 2) for k in range(len(_shown(size)))]
    high = (slots[-1] + 1) * (HIGH + GAP) if slots else 0
    return [TOP + (tall - high) / 2 + slot * (HIGH + GAP) for slot in slots]


def _column(film: Any, k: int, back: int | None, tall: float) -> str:
    """The boxes of one layer, its values and its δ."""
    step = film.passes.steps[k]
    x, values, delta = k * STRIDE + 12, step.value[0].ravel(), film.deltas[k]
    middle, parts = x + WIDE / 2, [_text(x + WIDE / 2, 22, _cut(step.name, 20), "name")]
    shape = "×".join(map(str, step.value.shape[1:]))
    parts.append(_text(middle, 40, _cut(f"{step.kind} {shape}", 24), "kind"))
    for i, y in zip(_shown(values.size), _heights(values.size, tall), strict=True):
        parts.append(_box(x, y))
        parts.append(f'<g data-at="{k}">{_text(middle, y + 17, f"{values[i]:.3g}", "h")}</g>')
        if delta is not None and back is not None:
            parts.append(f'<g data-at="{back}">{_text(middle, y + 34, f"δ {delta.ravel()[i]:.3g}", "d")}</g>')
    if values.size > MAX_BOXES:
        gap = _heights(values.size, tall)[MAX_BOXES // 2] - HIGH / 2 - GAP / 2
        parts.append(_text(middle, gap, f"{values.size - len(_shown(values.size)):,} more", "kind"))
    return f'<g data-now="{k} {back if back is not None else ""}">{"".join(parts)}</g>'


def _lines(film: Any, k: int, update: int, tall: float) -> str:
    """Weights of a dense layer before and after the update, or one line per unit where there is nothing to mix."""
    found, step = film.passes, film.passes.steps[k]
    before, here = found.steps[k - 1].value[0].size, step.value[0].size
    names = (f"{step.name.partition('[')[0]}.weight", "weight")
    name = next((n for n in names if n in found.parameters), "")
    if step.kind == "Linear" and name and found.parameters[name].shape == (here, before):
        old = f'<g data-at="{k}" data-until="{update}">{_wires(found.parameters[name], k, tall)}</g>'
        return f'{old}<g data-at="{update}">{_wires(found.new[name], k, tall)}</g>'
    if before == here:
        return f'<g data-at="{k}">{_wires(np.where(np.eye(here) > 0, 0.2, np.nan), k, tall, same=True)}</g>'
    return ""


def _wires(weight: np.ndarray, k: int, tall: float, *, same: bool = False) -> str:
    (here, before), most = weight.shape, np.nanmax(np.abs(weight)) or 1.0
    left, right = (k - 1) * STRIDE + 12 + WIDE, k * STRIDE + 12
    ends = [list(zip(_shown(n), _heights(n, tall), strict=True)) for n in (before, here)]
    lines = []
    for j, y in ends[0]:
        for i, z in ends[1]:
            if not np.isnan(w := weight[i, j]):
                kind = "same" if same else "minus" if w < 0 else "plus"
                style = f'class="{kind}" stroke-width="{0.5 + 2.5 * abs(w) / most:.2f}"'
                where = f'x1="{left}" y1="{y + HIGH / 2:.0f}" x2="{right}" y2="{z + HIGH / 2:.0f}"'
                lines.append(f"<line {where} {style}/>")
    return "".join(lines)
