"""A small dense network written out: its outputs as nested expressions in inputs, weights and biases.

    y_1 = b2_1 + w2_1_1 σ(b1_1 + w1_1_1 x_1 + w1_1_2 x_2)

Names: w{layer}_{unit}_{unit before}, b{layer}_{unit}, x_{input}. The text can be evaluated as it stands, with the
values of the names and the functions of the activations.
Shapes: D inputs, K outputs, one expression each.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from .. import plots
from ..errors import InputError, InputTypeError
from ..results import Result, Table
from ._layer_rules import SLOPES
from ._probe import module_of
from ._registry import HasModule, require
from .network import _linears, _parts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Expression", "expression"]

_LONG = 10_000  # letters of one expression
_IDLE = (nn.Identity, nn.Flatten, nn.Dropout)
_LATEX = {"sigmoid": r"\sigma", "tanh": r"\tanh", "relu": r"\mathrm{relu}"}


@dataclass(frozen=True, eq=False)
class Expression(Result):
    """The outputs of a dense network as expressions.

    Args:
        outputs: One expression for each output.
        values: The number of every weight and bias by its name.
        functions: Activations by the names that they have in the expressions; each takes and gives a number.
        widths: Units of each layer, from input to output.
    """

    outputs: tuple[str, ...]
    values: dict[str, float]
    functions: dict[str, Callable[[Any], float]]
    widths: tuple[int, ...]

    def text(self) -> str:
        """One line an output."""
        return "\n".join(f"y_{k + 1} = {words}" for k, words in enumerate(self.outputs))

    def latex(self) -> str:
        """The same as aligned equations."""
        lines = [f"y_{{{k + 1}}} &= {_tex(words)}" for k, words in enumerate(self.outputs)]
        return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"

    def numbers(self, digits: int = 4) -> str:
        """The expressions with numbers in the places of the parameters' names."""
        return re.sub(r"\b[wb]\d+(_\d+)+\b", lambda name: f"({self.values[name[0]]:.{digits}g})", self.text())

    def evaluate(self, X: Any) -> np.ndarray:
        """The expressions read and computed, row by row: (n, D) -> (n, K)."""
        rows = np.atleast_2d(np.asarray(X, dtype=float))
        if rows.shape[1] != self.widths[0]:
            raise InputError(f"X has rows of {rows.shape[1]} numbers; the network takes {self.widths[0]}.")
        return np.array([[self._value(words, row) for words in self.outputs] for row in rows])

    def table(self) -> Table:
        """Names and values of the parameters."""
        return Table({"name": list(self.values), "value": list(self.values.values())}, self.text())

    def figure(self) -> Figure:
        """The network with its units and lines."""
        return plots.network(self.widths, title="; ".join(self.outputs) if len(self.text()) < 120 else "Network")

    def _value(self, words: str, row: np.ndarray) -> float:
        """The value of one expression: a sum of products, whose factors are names or functions of sums."""
        total = 0.0
        for term in _split(words, " + "):
            product = 1.0
            for factor in _split(term, " * "):
                product *= self._factor(factor, row)
            total += product
        return total

    def _factor(self, factor: str, row: np.ndarray) -> float:
        name, bracket, rest = factor.partition("(")
        if bracket:
            inside = self._value(rest[:-1], row)
            return self.functions[name](inside) if name else inside
        return float(row[int(name[2:]) - 1]) if name.startswith("x_") else self.values[name]


def _split(words: str, sign: str) -> list[str]:
    """Cut at a sign that stands outside all brackets."""
    found, depth, begin = [], 0, 0
    for i, letter in enumerate(words):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and words.startswith(sign, i):
            found.append(words[begin:i])
            begin = i + len(sign)
    return [*found, words[begin:]]


def _tex(words: str) -> str:
    words = re.sub(r"\bw(\d+)_(\d+)_(\d+)\b", r"w^{(\1)}_{\2\3}", words)
    words = re.sub(r"\bb(\d+)_(\d+)\b", r"b^{(\1)}_{\2}", words)
    words = re.sub(r"\bx_(\d+)\b", r"x_{\1}", words)
    for name, command in _LATEX.items():
        words = re.sub(rf"\b{name}\(", lambda _, command=command: f"{command}(", words)
    return words.replace(" * ", r"\, ")


def expression(obj: Any) -> Expression:
    """The outputs of a small dense network as nested expressions that evaluate to its forward pass.

    Args:
        obj: An nn.Linear, an nn.Sequential of Linear layers and activations, or a fitted estimator with one.

    Example:
        >>> print(expression(nn.Sequential(nn.Linear(2, 1), nn.Sigmoid(), nn.Linear(1, 2))).text())
        y_1 = b2_1 + w2_1_1 * sigmoid(b1_1 + w1_1_1 * x_1 + w1_1_2 * x_2)
        y_2 = b2_2 + w2_2_1 * sigmoid(b1_1 + w1_1_1 * x_1 + w1_1_2 * x_2)
    """
    require(obj, nn.Module | HasModule, "expression")
    layers = _linears(module_of(obj))
    if not layers:
        raise InputTypeError(
            f"{type(obj).__name__} is no plain chain of Linear layers and activations; expression needs one."
        )
    units = [f"x_{j + 1}" for j in range(layers[0].in_features)]
    values: dict[str, float] = {}
    functions: dict[str, Callable[[Any], float]] = {}
    number = 0
    for part in _parts(module_of(obj)):
        if isinstance(part, nn.Linear):
            number += 1
            units = _affine(part, number, units, values)
        else:
            units = _bent(part, units, functions)
        if max(map(len, units)) > _LONG:
            raise InputError(f"The expressions are longer than {_LONG:,} letters; take a smaller network.")
    widths = (layers[0].in_features, *(layer.out_features for layer in layers))
    return Expression(tuple(units), values, functions, widths)


def _affine(layer: nn.Linear, k: int, units: list[str], values: dict[str, float]) -> list[str]:
    """b + Σ_j w_j h_j of each unit."""
    found = []
    for i, row in enumerate(layer.weight.tolist(), 1):
        names = [f"w{k}_{i}_{j}" for j in range(1, len(row) + 1)]
        values |= dict(zip(names, row, strict=True))
        terms = [f"{name} * {unit}" for name, unit in zip(names, map(_factored, units), strict=True)]
        if layer.bias is not None:
            values[f"b{k}_{i}"] = layer.bias[i - 1].item()
            terms.insert(0, f"b{k}_{i}")
        found.append(" + ".join(terms))
    return found


def _factored(unit: str) -> str:
    """In brackets, where it is a sum."""
    return f"({unit})" if len(_split(unit, " + ")) > 1 else unit


def _bent(part: nn.Module, units: list[str], functions: dict[str, Callable[[Any], float]]) -> list[str]:
    """φ of each unit; what does nothing in evaluation is left out."""
    if isinstance(part, _IDLE):
        return units
    if type(part) not in SLOPES:
        raise InputTypeError(f"{type(part).__name__} is no activation of single numbers; expression cannot write it.")
    name = type(part).__name__.lower()
    made = partial(_applied, part)
    same = [key for key, other in functions.items() if key.rstrip("_") == name and repr(other) == repr(made)]
    while not same and name in functions:
        name += "_"  # another one of this class with other options
    functions.setdefault(same[0] if same else name, made)
    return [f"{same[0] if same else name}({unit})" for unit in units]


def _applied(part: nn.Module, value: float) -> float:
    with torch.no_grad():
        return float(part(torch.tensor(value, dtype=torch.float64)))
