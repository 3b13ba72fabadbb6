"""A small dense network written out: its outputs as nested expressions in inputs, weights and biases.

    y_1 = b2_1 + w2_1_1*sigmoid(b1_1 + w1_1_1*x_1 + w1_1_2*x_2)

Names: w{layer}_{unit}_{unit before}, b{layer}_{unit}, x_{input}. The expressions are SymPy's.
Shapes: D inputs, K outputs, one expression each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import torch
from torch import nn

from ...errors import InputError, InputTypeError
from ...plots import Figure, network
from ...results import Result
from .._probe import module_of
from .._registry import checked
from ..gradients._words import ELEMENTWISE
from .network import linears, parts

__all__ = ["Expression", "expression"]

MAX_TERMS = 500  # products in one output
_IDLE = (nn.Identity, nn.Flatten, nn.Dropout)


@dataclass(frozen=True, eq=False)
class Expression(Result):
    """The outputs of a dense network as expressions."""

    outputs: tuple[Any, ...]  # a SymPy expression for each output
    values: dict[str, float]  # every weight and bias by its name
    functions: dict[str, Callable[[Any], Any]]  # activations by the names that they have in the expressions
    widths: tuple[int, ...]  # units of each layer, from input to output

    def text(self) -> str:
        """One line per output."""
        return "\n".join(f"y_{k + 1} = {output}" for k, output in enumerate(self.outputs))

    def latex(self) -> str:
        """The same as aligned equations."""
        import sympy

        lines = [f"y_{{{k + 1}}} &= {sympy.latex(output)}" for k, output in enumerate(self.outputs)]
        return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"

    def numbers(self, digits: int = 4) -> str:
        """The expressions with numbers in the places of the parameters' names."""
        import sympy

        filled = [sympy.N(output.subs(self.values), digits) for output in self.outputs]
        return "\n".join(f"y_{k + 1} = {output}" for k, output in enumerate(filled))

    def evaluate(self, X: Any) -> np.ndarray:
        """The expressions computed for every row: (n, D) -> (n, K)."""
        import sympy

        rows = np.atleast_2d(np.asarray(X, dtype=float))
        if rows.shape[1] != self.widths[0]:
            raise InputError(f"X has rows of {rows.shape[1]} numbers; the network takes {self.widths[0]}.")
        names = [f"x_{j + 1}" for j in range(self.widths[0])]
        filled = [output.subs(self.values) for output in self.outputs]
        f = sympy.lambdify(sympy.symbols(names), filled, modules=[self.functions, "numpy"])
        return np.stack([np.broadcast_to(y, len(rows)) for y in f(*rows.T)], 1)

    def columns(self) -> dict[str, Any]:
        """Names and values of the parameters."""
        return {"name": list(self.values), "value": list(self.values.values())}

    @property
    def caption(self) -> str:
        return self.text()

    def figure(self) -> Figure:
        """The network with its units and lines."""
        return network(self.widths, title=self.text().replace("\n", "; ") if len(self.text()) < 120 else "Network")


@checked(
    "module_",
    when=lambda obj: bool(linears(module_of(obj))),
    otherwise="is not a chain of Linear layers and activations; {} needs one",
)
def expression(obj: Any) -> Expression:
    """The outputs of a small dense network as nested expressions that evaluate to its forward pass.

    Args:
        obj: An nn.Linear, an nn.Sequential of Linear layers and activations, or a fitted estimator with one.

    Example:
        >>> print(expression(nn.Sequential(nn.Linear(2, 1), nn.Sigmoid(), nn.Linear(1, 2))).text())
        y_1 = b2_1 + w2_1_1*sigmoid(b1_1 + w1_1_1*x_1 + w1_1_2*x_2)
        y_2 = b2_2 + w2_2_1*sigmoid(b1_1 + w1_1_1*x_1 + w1_1_2*x_2)
    """
    import sympy

    layers = linears(module_of(obj))
    if prod(layer.in_features for layer in layers) > MAX_TERMS:
        raise InputError(f"An output would have more than {MAX_TERMS:,} products; take a smaller network.")
    units: list[Any] = [sympy.Symbol(f"x_{j + 1}") for j in range(layers[0].in_features)]
    values: dict[str, float] = {}
    functions: dict[str, Callable[[Any], Any]] = {}
    number = 0
    for part in parts(module_of(obj)):
        if isinstance(part, nn.Linear):
            number += 1
            units = _affine(part, number, units, values)
        elif not isinstance(part, _IDLE):
            f = sympy.Function(_named(part, functions))
            units = [f(unit) for unit in units]
    widths = (layers[0].in_features, *(layer.out_features for layer in layers))
    return Expression(tuple(units), values, functions, widths)


def _affine(layer: nn.Linear, k: int, units: list[Any], values: dict[str, float]) -> list[Any]:
    """b + Σ_j w_j h_j of each unit."""
    import sympy

    found = []
    for i, row in enumerate(layer.weight.tolist(), 1):
        own = {f"w{k}_{i}_{j}": w for j, w in enumerate(row, 1)}
        total = sum(sympy.Symbol(name) * unit for name, unit in zip(own, units, strict=True))
        if layer.bias is not None:
            own[f"b{k}_{i}"] = layer.bias[i - 1].item()
            total += sympy.Symbol(f"b{k}_{i}")
        values |= own
        found.append(total)
    return found


def _named(part: nn.Module, functions: dict[str, Callable[[Any], Any]]) -> str:
    """The name of an activation; another one of the same class with other options has an underscore more."""
    if type(part).__name__ not in ELEMENTWISE:
        raise InputTypeError(f"{type(part).__name__} is not an elementwise activation; expression cannot write it.")
    name = type(part).__name__.lower()
    while name in functions and repr(vars(functions[name])["part"]) != repr(part):
        name += "_"

    def apply(z: Any) -> Any:
        with torch.no_grad():
            return part(torch.as_tensor(z, dtype=torch.float64)).numpy()

    vars(apply)["part"] = part
    functions.setdefault(name, apply)
    return name
