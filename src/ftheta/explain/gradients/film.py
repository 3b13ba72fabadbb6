"""A forward and a backward pass as a film: values layer by layer, then δ on their way back, then the update.

    forward  h_k = f_k(h_{k-1}),     backward  δ_{k-1} = (∂f_k/∂h_{k-1})ᵀ δ_k,     update  θ <- θ - η ∂L/∂θ

One page of HTML that fetches nothing: buttons, a slider and keys move it step by step; without a script, and on paper,
all steps are listed below one another. Its numbers are those of `backprop`. Shapes: K steps; their values for one row.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...check import Positive
from ...errors import InputError
from ...plots import short
from ...results import Table
from ...store.files import write_atomic
from .._point import LossLike, part_of
from .._probe import batch_of, module_of, row_number
from .._registry import explanation
from ._passes import BackpropStep
from .backprop import Backprop, is_supervised, passes_of

WIDE, HIGH, GAP, STRIDE, TOP = 100, 42, 12, 176, 64  # of boxes and columns, in pixels
MAX_BOXES, MAX_ENTRIES = 8, 36  # boxes of a column; entries of a tensor that are all shown
MAX_WEIGHTS = 100_000  # of a net that is offered as a film


class Frame(NamedTuple):
    """One step of the film: its caption, the numbers below the picture, the column that acts."""

    caption: str
    inside: str
    column: int


def _frames(film: Animation) -> Iterator[Frame]:
    """Input, every step, the loss, every step back, the update."""
    last = len(film.steps)
    for k, step in enumerate(film.steps):
        what = "the input." if step.kind == "input" else f"{step.name} ({step.kind}). {step.forward}"
        yield Frame(f"Forward: {what}", _numbers({"value": step.value[0]}), k)
    flat = np.zeros(0) if film.targets is None else np.atleast_1d(film.targets[0]).ravel()
    target = f" The target is {', '.join(f'{v:g}' for v in flat[:6])}{' ...' * (flat.size > 6)}." if flat.size else ""
    yield Frame(f"Loss: L = {film.loss:.6g}, {film.words[0]}.{target} It passes back {film.words[1]}.", "", last)
    gradient, new = film.gradient, film.new
    for k, step in reversed([(k, step) for k, step in enumerate(film.steps) if _has_delta(step)]):
        rule = "; ".join(filter(None, (step.backward, step.gradient)))
        what = "the input." if step.kind == "input" else f"δ = ∂L/∂({step.name}). {step.kind}: {rule}."
        layer = step.name.partition("[")[0]
        own = {n: g for n, g in gradient.items() if (n.rpartition(".")[0] or layer) == layer}
        tables = "".join(f"<h2>Gradient of {escape(n)}</h2>{_numbers({'gradient': g})}" for n, g in own.items())
        yield Frame(f"Backward: {what}", _numbers({"value": step.value[0], "δ": step.delta[0]}) + tables, k)
    tables = "".join(
        f"<h2>{escape(name)}</h2>{_numbers({'weight': w, 'gradient': gradient[name], 'new weight': new[name]})}"
        for name, w in film.parameters.items()
    )
    words = f"Update: θ ← θ − {film.lr:g} ∂L/∂θ. The loss was {film.loss:.6g} and is now {film.loss_after:.6g}."
    yield Frame(words, tables, last)


def _has_delta(step: BackpropStep) -> bool:
    return step.value.dtype.kind == "f"  # integers have no derivative


def _numbers(arrays: dict[str, np.ndarray]) -> str:
    """Arrays of one shape as a table, entry by entry; of many, their lengths."""
    first = next(iter(arrays.values()))
    if first.size > MAX_ENTRIES:
        shape = "×".join(map(str, first.shape))
        norms = ", ".join(f"‖{name}‖ = {np.linalg.norm(v.astype(float)):.6g}" for name, v in arrays.items())
        return f"<p>{first.size:,} numbers ({shape}): {escape(norms)}.</p>"
    places = [", ".join(map(str, i)) or "0" for i in np.ndindex(first.shape)]
    table = Table({"entry": places, **{name: v.astype(float).ravel().tolist() for name, v in arrays.items()}})
    return f'<div class="box">{table.html()}</div>'


def _boxes(size: int, tall: float) -> list[tuple[int, int]]:
    """Units that have a box, of many the first and the last, and the top of each; a gap of one in a long column."""
    half = MAX_BOXES // 2
    units = list(range(size)) if size <= MAX_BOXES else [*range(half), *range(size - half + 1, size)]
    slots = [k + (size > MAX_BOXES and k >= half) for k in range(len(units))]
    top = TOP + (tall - (slots[-1] + 1 if slots else 0) * (HIGH + GAP)) / 2
    return [(unit, round(top + slot * (HIGH + GAP))) for unit, slot in zip(units, slots, strict=True)]


def _column(step: BackpropStep, k: int, back: int | None, tall: float) -> dict[str, Any]:
    """The boxes of one layer with its values and its δ; `back`: the step of the film at which δ arrives."""
    values, deltas = step.value[0].ravel(), step.delta[0].ravel()
    boxes = _boxes(values.size, tall)
    units = [(y, f"{values[i]:.3g}", f"δ {deltas[i]:.3g}" if _has_delta(step) else "") for i, y in boxes]
    more = (boxes[MAX_BOXES // 2][1] - (HIGH + GAP) // 2, values.size - len(boxes)) if values.size > MAX_BOXES else None
    kind = f"{step.kind} {'×'.join(map(str, step.value.shape[1:]))}"
    names = {"name": short(step.name, 20), "kind": short(kind, 24)}
    return {"x": k * STRIDE + 12, "at": k, "back": back, "units": units, "more": more, **names}


def _wires(film: Animation, k: int, update: int, tall: float) -> Iterator[dict[str, Any]]:
    """Weights of a dense layer before and after the update, or one line per unit where there is nothing to mix."""
    before, here = (film.steps[i].value[0].size for i in (k - 1, k))
    names = (f"{film.steps[k].name.partition('[')[0]}.weight", "weight")
    name = next((n for n in names if n in film.parameters), "")
    if film.steps[k].kind == "Linear" and name and film.parameters[name].shape == (here, before):
        yield {"at": k, "until": update, "lines": list(_lines(film.parameters[name], k, tall))}
        yield {"at": update, "until": update + 1, "lines": list(_lines(film.new[name], k, tall))}
    elif before == here:
        lines = [(*line[:4], "same", 1) for line in _lines(np.where(np.eye(here) > 0, 1.0, np.nan), k, tall)]
        yield {"at": k, "until": update + 1, "lines": lines}


def _lines(weight: np.ndarray, k: int, tall: float) -> Iterator[tuple[Any, ...]]:
    """Both ends of each line, its class and its width."""
    largest, middle = np.nanmax(np.abs(weight)) or 1.0, HIGH // 2
    for j, y in _boxes(weight.shape[1], tall):
        for i, z in _boxes(weight.shape[0], tall):
            if not np.isnan(w := weight[i, j]):
                ends = (k - 1) * STRIDE + 12 + WIDE, y + middle, k * STRIDE + 12, z + middle
                yield *ends, "minus" if w < 0 else "plus", f"{0.5 + 2.5 * abs(w) / largest:.2f}"


class Animation(Backprop):
    """One step of gradient descent on one row; `html()` is its film."""

    def html(self) -> str:
        """The film as one page that fetches nothing."""
        from jinja2 import Environment

        text = (files("ftheta.explain.gradients") / "film.html.j2").read_text(encoding="utf-8")
        template = Environment(autoescape=True, keep_trailing_newline=True).from_string(text)
        frames, last = list(_frames(self)), len(self.steps)
        back = {frame.column: k for k, frame in enumerate(frames) if k > last}
        tall = max(min(step.value[0].size, MAX_BOXES) for step in self.steps) * (HIGH + GAP)
        chain = [k for k in range(1, last) if self.steps[k].sources == (k - 1,)]
        return template.render(
            title=f"Back-propagation through {last - 1} layers, step by step",
            frames=frames,
            columns=[_column(step, k, back.get(k), tall) for k, step in enumerate(self.steps)],
            wires=[wires for k in chain for wires in _wires(self, k, len(frames) - 1, tall)],
            loss={"x": last * STRIDE + 12, "y": _boxes(1, tall)[0][1], "before": self.loss, "after": self.loss_after},
            size={"wide": WIDE, "high": HIGH, "width": (last + 1) * STRIDE, "height": TOP + tall + 16, "last": last},
            table=self.table().html(),
        )

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the page; a file that is there is replaced only with overwrite=True."""
        path = Path(path)
        if path.is_dir() or (path.exists() and not overwrite):
            raise InputError(f"{path} exists; choose another path, or for a file pass overwrite=True.")
        write_atomic(path, self.html().encode())
        return path


@explanation(
    "film",
    needs="module_",
    when=lambda obj: is_supervised(obj) and sum(p.numel() for p in module_of(obj).parameters()) <= MAX_WEIGHTS,
    otherwise=f"is not a net of at most {MAX_WEIGHTS:,} weights that is learned from targets; {{}} needs one, or loss=",
    lifted_by="loss",
)
def film(obj: Any, X: Any, y: Any = None, loss: LossLike = None, *, row: int = 0, lr: Positive = 0.1) -> Animation:
    """One forward pass, backward pass and update of gradient descent on one row, on a copy in float64.

    Args:
        X: Rows, of which one is taken.
        row: Which row.
        lr: Learning rate of the update.

    Example:
        >>> import torch
        >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Sigmoid(), torch.nn.Linear(3, 1))
        >>> made = film(net, [[0.5, -1.0]], [1.0])
        >>> made.loss_after < made.loss, made.html()[:15]
        (True, '<!DOCTYPE html>')
    """
    batch = batch_of(obj, X, y)
    row = row_number(row, batch.n)
    if batch.y is None:
        raise InputError("film compares outputs with targets, but y is None; pass the y of these rows.")
    return Animation(**vars(passes_of(obj, part_of(batch, slice(row, row + 1)), loss, lr=lr)))
