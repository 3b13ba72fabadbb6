"""Tables of a backward pass as a textbook prints them, and the same with blanks as an exercise.

    units down, rows across;   parameters as (b | W): a line for each unit, the weight of the constant 1 first

Large arrays show their first units, rows and columns, and say so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...draw import Draw
from ...errors import InputError
from ...results import Table

if TYPE_CHECKING:
    from ._passes import BackpropStep

MAX_UNITS, MAX_ROWS, MAX_COLUMNS = 16, 8, 12  # that are shown
_TEX = {
    "δ̂": r"\hat\delta",
    "x̂": r"\hat x",
    "∂ℓ/∂": r"\partial\ell/\partial ",
    "∂": r"\partial ",
    "ᵀ": r"^\top",
    "²": "^2",
}
_TEX |= {"½ ": r"\tfrac12 ", "√": r"\sqrt ", "⊙": r"\odot", "←": r"\leftarrow ", "_ih": "_{ih}", "_hh": "_{hh}"}
_GREEK = "δ delta ℓ ell σ sigma φ varphi Φ Phi λ lambda γ gamma β beta μ mu Σ sum η eta θ theta".split()
_TEX |= {sign: rf"\{name}" for sign, name in zip(_GREEK[::2], _GREEK[1::2], strict=True)}
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


def _units(values: np.ndarray, caption: str) -> Table:
    """One line per unit, one column per row: (B, ...)."""
    flat = values.reshape(len(values), -1)  # (B, U)
    labels = [",".join(str(i + 1) for i in place) or "1" for place in list(np.ndindex(values.shape[1:]))[:MAX_UNITS]]
    columns: dict[str, Any] = {"unit": labels}
    columns |= {f"row {i + 1}": flat[i, :MAX_UNITS] for i in range(min(len(flat), MAX_ROWS))}
    return Table(columns, caption + _cut(("units", flat.shape[1], MAX_UNITS), ("rows", len(flat), MAX_ROWS)))


def _cut(*sides: tuple[str, int, int]) -> str:
    """What is left out, in words."""
    shown = [f"{most} of {n:,} {what}" for what, n, most in sides if n > most]
    return f" The first {' and '.join(shown)}." if shown else ""


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
    flat = [part.reshape(len(part), -1) for part in parts]  # (O, I) each
    labels = [str(j + 1) for j in range(flat[-1].shape[1])]
    full = np.concatenate(flat, 1)
    labels = ["bias", *labels] if len(names) == 2 else labels
    columns: dict[str, Any] = {"unit": [str(i + 1) for i in range(min(len(full), MAX_UNITS))]}
    columns |= {label: full[:MAX_UNITS, j] for j, label in enumerate(labels[:MAX_COLUMNS])}
    return Table(columns, caption + _cut(("units", len(full), MAX_UNITS), ("columns", full.shape[1], MAX_COLUMNS)))


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
        yield Part("deltas", step.name, f"{label_of(step)}: deltas", _arrives(found, number), table)
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


def _arrives(found: Any, number: int) -> str:
    """How δ of a step's value comes from what took it."""
    takers = [other.backward for other in found.steps if number in other.sources]
    return "; ".join(dict.fromkeys(takers)) or found.words[1]


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


def page(parts: Sequence[Part], style: str, title: str = "") -> str:
    """All parts one after the other: markdown, latex or html."""
    head = [_HEADS[style](title)] if title else []
    below = [
        Table(part.table.columns, part.table.caption.partition(". ")[2]) for part in parts
    ]  # not the heading again
    return "\n\n".join([*head, *map(_PARTS[style], parts, below)])


def _clean(words: str) -> str:
    """Text in LaTeX."""
    return re.sub(r"([_%&#])", r"\\\1", words)


def _in_markdown(part: Part, table: Table) -> str:
    return "\n\n".join(filter(None, (f"### {part.title}", part.formula and f"${tex(part.formula)}$", table.markdown())))


def _in_latex(part: Part, table: Table) -> str:
    """With the table in the text, so that it stays under its heading."""
    formula = [f"${tex(part.formula)}$"] if part.formula else []
    body = "\n\n".join(filter(None, (Table(table.columns).latex(), _clean(table.caption))))
    return "\n".join([f"\\paragraph{{{_clean(part.title)}}}", *formula, "", body])


def _in_html(part: Part, table: Table) -> str:
    return f"<h2>{escape(part.title)}</h2>\n<p>{escape(part.formula)}</p>\n{table.html()}"


_PARTS = {"markdown": _in_markdown, "latex": _in_latex, "html": _in_html}
_HEADS = {
    "markdown": lambda title: f"# {title}",
    "latex": lambda title: f"\\section*{{{_clean(title)}}}",
    "html": lambda title: f"<h1>{escape(title)}</h1>",
}


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

    def cell(i: int, name: str, row: int, value: Any) -> Any:
        if (i, name, row) not in numbers:
            return value
        return f"({numbers[i, name, row]}) {f'{value:.4f}' if shown else '......'}"

    made = []
    for i, part in enumerate(parts):
        columns = {n: [cell(i, n, row, v) for row, v in enumerate(c)] for n, c in part.table.columns.items()}
        made.append(part._replace(table=Table(columns, part.table.caption)))
    return tuple(made)
