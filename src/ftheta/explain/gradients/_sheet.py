"""A backward pass on paper: tables as in a textbook, the same with blanks as an exercise, and the network drawn.

    units down, rows across;   parameters as (b | W): a line for each unit, the weight of the constant 1 first

Large arrays show their first units, rows and columns, and say so. In the picture circles are units: pre-activation z,
activation a and δ = ∂ℓ/∂z; a line is a weight w with its gradient ∂ℓ/∂w = δ h under it, from a 1 a bias.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ...draw import Draw
from ...errors import InputError
from ...plots import PALETTE, Axes, Figure, drawn, short
from ...results import Table
from ._passes import ELEMENTWISE, BackpropStep

MAX_UNITS, MAX_ROWS, MAX_COLUMNS = 16, 8, 12  # that are shown
APART, DOWN, RADIUS = 3.1, 1.35, 0.46  # layers, units, a circle: inches
DRAWN_UNITS, DRAWN_LAYERS = 5, 4  # units of a layer, dense layers that are drawn with their numbers
MAX_LABELS = 20  # lines between two layers that carry numbers
LABEL = 0.62, 0.34  # width and height of two numbers on a line
Place = tuple[float, float]
_TEX = {"δ̂": r"\hat\delta", "x̂": r"\hat x", "∂ℓ/∂": r"\partial\ell/\partial ", "∂": r"\partial ", "ᵀ": r"^\top"}
_TEX |= {"½ ": r"\tfrac12 ", "√": r"\sqrt ", "⊙": r"\odot", "←": r"\leftarrow ", "_ih": "_{ih}", "_hh": "_{hh}"}
_GREEK = "δ delta ℓ ell σ sigma φ varphi Φ Phi λ lambda γ gamma β beta μ mu Σ sum η eta θ theta".split()
_TEX |= {"²": "^2"} | {sign: rf"\{name}" for sign, name in zip(_GREEK[::2], _GREEK[1::2], strict=True)}
_WORDS = ("the same numbers at other places", "mean", "softmax", "softplus", "of window", "of the winner", "direct")
_WORDS += ("at the places they came from", "for each", "of each of K places", "which is not the derivative of", "sign")
_WORDS += (" or ", "cut to", "of n numbers", "fixed", " and ")
_NAMED = re.compile(r"\b(max|min|exp|log|tanh|sin|cos)\b")


class Part(NamedTuple):
    """One table of a sheet."""

    what: str  # values, deltas, losses, parameters, gradients, updates or new
    name: str  # layer, operation or parameter that it is of
    title: str
    formula: str  # how its numbers are computed
    table: Table
    given: bool = False  # whether the numbers are given, so never a blank of an exercise


def _grid(values: np.ndarray, units: Sequence[str], heads: Sequence[str], what: str, most: int, caption: str) -> Table:
    """One line per unit (U, C), with the columns in `heads`; of many the first, and a caption that says so."""
    columns: dict[str, Any] = {"unit": units[:MAX_UNITS]}
    columns |= {head: values[:MAX_UNITS, j] for j, head in enumerate(heads[:most])}
    sides = (("units", len(values), MAX_UNITS), (what, len(heads), most))
    cut = [f"{top} of {n:,} {name}" for name, n, top in sides if n > top]
    return Table(columns, caption + (f" The first {' and '.join(cut)}." if cut else ""))


def _units(values: np.ndarray, caption: str) -> Table:
    """One line per unit, one column per row: (B, ...)."""
    flat = values.reshape(len(values), -1).T  # (U, B)
    places = [",".join(str(i + 1) for i in place) or "1" for place in np.ndindex(values.shape[1:])]
    return _grid(flat, places, [f"row {i + 1}" for i in range(len(values))], "rows", MAX_ROWS, caption)


def _blocks(arrays: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Parameters that are printed together: the bias and the weights of a dense layer, under the layer's name."""
    found: dict[str, tuple[str, ...]] = {}
    for name, value in arrays.items():
        layer, _, short = name.rpartition(".")
        bias = f"{layer}.bias" if layer else "bias"
        if short == "weight" and np.ndim(value) == 2 and np.shape(arrays.get(bias, ())) == (len(value),):
            found[layer or "weight"] = (bias, name)
    taken = {name for pair in found.values() for name in pair}
    return {**found, **{name: (name,) for name in arrays if name not in taken}}


def _matrix(arrays: Mapping[str, np.ndarray], names: tuple[str, ...], caption: str) -> Table:
    """A line for each unit: bias and weights, or the entries of one tensor with all axes but the first in a row."""
    parts = [np.atleast_1d(arrays[name]) for name in names]
    full = np.concatenate([part.reshape(len(part), -1) for part in parts], 1)  # (O, I), with the bias first
    biased = len(names) == 2
    heads = ["bias"] * biased + [str(j + 1) for j in range(full.shape[1] - biased)]
    units = [str(i + 1) for i in range(len(full))]
    return _grid(full, units, heads, "columns", MAX_COLUMNS, caption)


def label_of(step: BackpropStep) -> str:
    """Name and class of a layer."""
    return step.name if step.kind in ("input", "operation") else f"{step.name}: {step.kind}"


def parts_of(found: Any) -> Iterator[Part]:
    """Given: inputs, targets, parameters. Then values, losses, δ from the last step to the first, and the step."""
    inputs = [step for step in found.steps if step.kind == "input"]
    others = [step for step in found.steps if step.kind != "input"]
    together = _blocks(found.parameters)
    for step in inputs:
        yield Part("values", step.name, label_of(step), "", _units(step.value, "Inputs."), given=True)
    if found.targets is not None:
        yield Part("targets", "", "targets", "", _units(found.targets, "Targets."), given=True)
    for name, names in together.items():
        table = _matrix(found.parameters, names, f"Parameters of {name}.")
        yield Part("parameters", name, f"parameters of {name}", "", table, given=True)
    for step in others:
        table = _units(step.value, f"Values of {step.name}.")
        yield Part("values", step.name, f"{label_of(step)}: values", step.forward, table)
    rows = {"row": list(range(1, len(found.losses) + 1)), "loss": found.losses}
    yield Part("losses", "", "losses", found.words[0], Table(rows, f"Losses. Their weighted sum is {found.loss:.6g}."))
    for number, step in reversed(list(enumerate(found.steps))):
        table = _units(step.delta, f"Derivative of the loss of each row for the values of {step.name}.")
        takers = dict.fromkeys(other.backward for other in found.steps if number in other.sources)
        arrives = "; ".join(takers) or found.words[1]  # how δ comes from what took the values
        yield Part("deltas", step.name, f"{label_of(step)}: deltas", arrives, table)
    own_formula = {step.name: step.gradient for step in others}
    for what, arrays, formula, words in (
        ("gradients", found.gradient, "G = Σ_i s_i ∂ℓ_i/∂θ", "Gradient"),
        ("updates", found.update, "-η G", "Update"),
        ("new", found.new, "θ ← θ - η G", "New values"),
    ):
        for name, names in together.items():
            table = _matrix(arrays, names, f"{words} of {name}.")
            own = own_formula.get(name, "") if what == "gradients" else ""
            yield Part(what, name, f"{words.lower()} of {name}", "; ".join(filter(None, (own, formula))), table)
    after = {"row": rows["row"], "before": rows["loss"], "after": found.losses_after}
    caption = f"Losses. Together {found.loss:.6g} and {found.loss_after:.6g}, rate {found.lr:g}. {found.warning}"
    yield Part("after", "", "losses after the step", "", Table(after, caption.strip()))


def of_row(found: Any, name: str, row: int) -> Table:
    """Gradients of one row's loss for a layer or parameter of this name."""
    one = {n: g[row] for n, g in found.gradients.items()}
    return _matrix(one, _blocks(found.parameters)[name], f"Gradient of {name} for row {row + 1}.")


def tex(formula: str) -> str:
    """A formula in LaTeX."""
    for words in _WORDS:
        formula = formula.replace(words, f"\\text{{ {words.strip()} }}")
    for sign, command in _TEX.items():
        formula = formula.replace(sign, command)
    return _NAMED.sub(r"\\\1", formula)


def page(parts: Sequence[Part], style: str, title: str) -> str:
    """All parts one after the other: markdown, latex or html."""
    clean = {"latex": lambda words: re.sub(r"([_%&#])", r"\\\1", words), "html": escape}.get(style, str)
    head = {"markdown": "# {}", "latex": "\\section*{{{}}}", "html": "<h1>{}</h1>"}[style]
    return "\n\n".join([head.format(clean(title)), *(_written(part, style, clean) for part in parts)])


def _written(part: Part, style: str, clean: Callable[[str], str]) -> str:
    title, caption = clean(part.title), part.table.caption.partition(". ")[2]  # not the heading again
    if style == "html":
        return f"<h2>{title}</h2>\n<p>{clean(part.formula)}</p>\n{Table(part.table.columns, caption).html()}"
    formula = [f"${tex(part.formula)}$"] if part.formula else []
    if style == "markdown":
        return "\n\n".join([f"### {title}", *formula, Table(part.table.columns, caption).markdown()])
    body = [Table(part.table.columns).latex(), *filter(None, [clean(caption)])]  # in the text, under its heading
    return "\n".join([f"\\paragraph{{{title}}}", *formula, "", "\n\n".join(body)])


@dataclass(frozen=True, eq=False)
class Sheet:
    """An exercise: tables with numbered blanks, and the same tables filled in."""

    title: str
    blank: tuple[Part, ...]  # tables with blanks
    filled: tuple[Part, ...]  # the same with the numbers in place of the blanks
    answers: tuple[float, ...]  # the number that each blank stands for, in order

    def markdown(self, *, solution: bool = False) -> str:
        """The sheet, or its solution, in Markdown."""
        return self._page("markdown", solution)

    def latex(self, *, solution: bool = False) -> str:
        """The sheet, or its solution, in LaTeX."""
        return self._page("latex", solution)

    def html(self, *, solution: bool = False) -> str:
        """The sheet, or its solution, in HTML."""
        return self._page("html", solution)

    _repr_html_ = html

    def _page(self, style: str, solution: bool) -> str:
        return page(self.filled if solution else self.blank, style, self.title + ", solution" * solution)


def exercise(parts: Sequence[Part], title: str, random_state: int, share: float) -> Sheet:
    """Some of the numbers that are not given become blanks."""
    if not 0 < share <= 1:
        raise InputError(f"share={share!r}; expected the part of the numbers that become blanks, in (0, 1].")
    cells = [
        (i, name, row)
        for i, part in enumerate(parts)
        if not part.given
        for name, column in part.table.columns.items()
        for row, value in enumerate(column)
        if isinstance(value, float)
    ]
    rng = np.random.default_rng(Draw(random_state).at("exercise").generator().initial_seed())
    chosen = sorted(rng.choice(len(cells), max(1, round(share * len(cells))), replace=False).tolist())
    numbers = {cells[c]: k + 1 for k, c in enumerate(chosen)}
    answers = tuple(parts[i].table.columns[name][row] for i, name, row in numbers)
    return Sheet(title, _with(parts, numbers, False), _with(parts, numbers, True), answers)


def _with(parts: Sequence[Part], numbers: Mapping[tuple[int, str, int], int], shown: bool) -> tuple[Part, ...]:
    """Tables whose chosen cells carry a number, and the value or a line to write on."""

    columns = [{name: list(column) for name, column in part.table.columns.items()} for part in parts]
    for (i, name, row), k in numbers.items():
        columns[i][name][row] = f"({k}) {columns[i][name][row]:.4f}" if shown else f"({k}) ......"
    pairs = zip(parts, columns, strict=True)
    return tuple(part._replace(table=Table(made, part.table.caption)) for part, made in pairs)


def columns_of(found: Any, row: int) -> dict[str, Any] | None:
    """What is drawn of a small dense chain: a column for the input and for each dense layer with its activation."""
    steps = found.steps
    if any(step.sources != ((i - 1,) if i else ()) or step.value.ndim != 2 for i, step in enumerate(steps)):
        return None
    plain = all(step.kind in {"input", "Linear"} or step.kind in ELEMENTWISE for step in steps)
    layers = [i for i, step in enumerate(steps) if step.kind == "Linear"]
    starts = [[f"{steps[i].name}.", ""] for i in layers]  # of the names of its parameters
    owners = [next((start for start in pair if f"{start}weight" in found.parameters), None) for pair in starts]
    wide = max(step.value.shape[1] for step in steps)
    if (
        not (plain and layers and layers[0] == 1 and wide <= DRAWN_UNITS and len(layers) <= DRAWN_LAYERS)
        or None in owners
    ):
        return None
    nodes = [_node(steps[:1], row), *(_node(steps[a:b], row) for a, b in pairwise([*layers, len(steps)]))]
    lines = []
    for owner in owners:
        weight, bias = f"{owner}weight", f"{owner}bias"
        names = [bias, weight] if bias in found.parameters else [weight]
        of_row = {n: found.gradients[n][row] for n in names}
        lines.append([np.column_stack([v[n] for n in names]) for v in (found.parameters, of_row)])
    return {
        "names": ["input", *(label_of(steps[i]) for i in layers)],
        "nodes": nodes,
        "weights": [w for w, _ in lines],
        "gradients": [g for _, g in lines],
    }


def _node(steps: Sequence[BackpropStep], row: int) -> list[list[str]]:
    """Lines of each unit: what goes in, what comes out, and δ of what goes in."""
    first, last, name = steps[0], steps[-1], "x" if steps[0].kind == "input" else "z"
    values = [(name, first.value[row])] + [("a", last.value[row])] * (last is not first) + [("δ", first.delta[row])]
    return [[f"{key} = {v[u]:.4g}" for key, v in values] for u in range(first.value.shape[1])]


@drawn
def network_with_numbers(
    *,
    names: Sequence[str],
    nodes: Sequence[Sequence[Sequence[str]]],
    weights: Sequence[np.ndarray],
    gradients: Sequence[np.ndarray],
    title: str,
) -> Figure:
    """A dense network with the numbers of one row in its circles, lines of text for each unit, and on its lines,
    weights with their gradients, the bias first where there is one."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Circle

    biased = [w.shape[1] == len(layer) + 1 for w, layer in zip(weights, nodes, strict=False)] + [False]
    tall = max(len(layer) + has for layer, has in zip(nodes, biased, strict=True))
    width, height = APART * (len(names) - 1) + 1.6, DOWN * tall + 0.8
    figure = Figure(figsize=(width, height))
    figure.set_layout_engine("none")
    axes = figure.add_axes((0, 0, 1, 1), xlim=(-0.8, width - 0.8), ylim=(-0.75, height - 0.75))
    axes.set(xlabel="layer", ylabel="unit")
    more = "; weights of wide layers: see the tables" if max(w.size for w in weights) > MAX_LABELS else ""
    axes.set_title(f"{title}\nblack: values and weights, orange: derivatives{more}", y=1.0, pad=-32, fontsize=11)
    axes.set_axis_off()
    counts = [len(layer) + has for layer, has in zip(nodes, biased, strict=True)]  # of circles, the first on top
    top = (tall - 1) / 2 * DOWN + 0.3
    places = [[(k * APART, top + ((n - 1) / 2 - i) * DOWN) for i in range(n)] for k, n in enumerate(counts)]
    for k, (w, g) in enumerate(zip(weights, gradients, strict=True)):
        _lines(axes, places[k], places[k + 1][biased[k + 1] :], w, g)
    for k, (layer, at, name) in enumerate(zip(nodes, places, names, strict=True)):
        look = {"facecolor": "white", "edgecolor": PALETTE[2 if k == 0 else 3 if k == len(nodes) - 1 else 0]}
        for lines, (x, y) in zip([["1"], *layer] if biased[k] else layer, at, strict=True):
            axes.add_patch(Circle((x, y), 0.2 if len(lines) == 1 else RADIUS, linewidth=1.6, zorder=3, **look))
            for i, line in enumerate(lines):
                ink = PALETTE[1] if line.startswith("δ") else "black"
                below = 0.19 * (i - (len(lines) - 1) / 2)
                axes.text(x, y - below, line, ha="center", va="center", fontsize=8, zorder=4, color=ink)
        axes.text(at[0][0], -0.6, short(name, 28), ha="center", va="bottom", fontsize=9, color="0.25")
    return figure


def _lines(axes: Axes, left: Sequence[Place], right: Sequence[Place], w: np.ndarray, g: np.ndarray) -> None:
    """A line for each weight; its numbers stand where they are farthest from those of the others."""
    taken: list[Place] = []
    for i, end in enumerate(right):
        for j, begin in enumerate(left):
            axes.plot([begin[0], end[0]], [begin[1], end[1]], color="0.75", ls="-", linewidth=0.9, zorder=1)
            if w.size > MAX_LABELS:
                continue
            step = end[0] - begin[0], end[1] - begin[1]
            spots = [(begin[0] + t * step[0], begin[1] + t * step[1]) for t in np.linspace(0.24, 0.76, 27)]
            away = [[max(abs(x - a) / LABEL[0], abs(y - b) / LABEL[1]) for a, b in taken] for x, y in spots]
            x, y = spots[int(np.argmax([min(each, default=0.0) for each in away]))]
            taken.append((x, y))
            box = {"boxstyle": "square,pad=0.08", "facecolor": "white", "edgecolor": "none", "alpha": 0.9}
            for above, value, ink in ((0.075, w[i, j], "black"), (-0.075, g[i, j], PALETTE[1])):
                look: Any = {"ha": "center", "va": "center", "fontsize": 7.5, "zorder": 2.2, "bbox": box, "color": ink}
                axes.text(x, y + above, f"{value:.4g}", **look)
