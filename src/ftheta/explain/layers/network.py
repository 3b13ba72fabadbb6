"""A dense network drawn from its widths, and written out as expressions in inputs, weights and biases.

    h_{k+1} = a(β_k + Ω_k h_k),      Ω_k: D_{k+1} × D_k,   β_k: D_{k+1},   parameters Σ_k D_{k+1} (D_k + 1)
    y_1 = b2_1 + w2_1_1*sigmoid(b1_1 + w1_1_1*x_1 + w1_1_2*x_2)        w{layer}_{unit}_{unit before}, x_{input}: SymPy's

With dropout some hidden units are silent: what is left is a thinned network, another one for every row and pass.

Shapes: K hidden layers, D_k units in layer k; D₀ inputs, D_{K+1} outputs, one expression each.
Reference: Srivastava et al., Dropout, Journal of Machine Learning Research 15 (2014).
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from math import prod
from numbers import Integral
from typing import Any

import numpy as np
import torch
from torch import nn

from ... import plots
from ...draw import Draw
from ...errors import InputError, InputTypeError
from ...plots import Figure
from ...results import Result
from .._probe import module_of
from .._registry import checked, explanation, has, require
from ..gradients._passes import ELEMENTWISE

MAX_TERMS = 500  # products in one output of an expression
_IDLE = (nn.Identity, nn.Flatten, nn.Dropout)


class Network(Result):
    """The layers of a dense network."""

    widths: tuple[int, ...]  # units of each layer, from input to output: K + 2 numbers
    biased: tuple[bool, ...]  # whether each of the K + 1 affine maps has a β
    dropped: tuple[np.ndarray, ...] = ()  # of each hidden layer, True where a unit is dropped: (D_k,); empty without

    @property
    def parameters(self) -> list[int]:
        """Entries of Ω_k and β_k, for each k."""
        return _parameters(self.widths, self.biased)

    @property
    def kept(self) -> list[int]:
        """Units of each layer that are not dropped."""
        return [self.widths[0], *(int((~mask).sum()) for mask in self.dropped), self.widths[-1]]

    def columns(self) -> dict[str, Any]:
        """One row per layer; the shapes are those of the map into it."""
        return {
            "layer": ["input", *(f"hidden {k}" for k in range(1, len(self.biased))), "output"],
            "units": self.widths,
            "Ω": ["", *(f"{b} × {a}" for a, b in pairwise(self.widths))],
            "β": ["", *(str(b) if has else "none" for b, has in zip(self.widths[1:], self.biased, strict=True))],
            "parameters": [0, *self.parameters],
            "units kept": self.kept if self.dropped else None,
        }

    @property
    def caption(self) -> str:
        thinned = f", {sum(_parameters(self.kept, self.biased)):,} in the thinned network" if self.dropped else ""
        return f"{sum(self.parameters):,} parameters{thinned}."

    def figure(self) -> Figure:
        """Circles and lines, with the shape of every Ω_k and β_k; beside it the thinned network, if any."""
        labels = [
            f"Ω{_subscript(k)}: {b} × {a}" + (f"\nβ{_subscript(k)}: {b}" if has else "")
            for k, ((a, b), has) in enumerate(zip(pairwise(self.widths), self.biased, strict=True))
        ]
        title = f"Network, {sum(self.parameters):,} parameters"
        return plots.network(self.widths, labels=labels, dropped=self.dropped, title=title)


def _parameters(widths: Sequence[int], biased: Sequence[bool]) -> list[int]:
    return [b * (a + has) for (a, b), has in zip(pairwise(widths), biased, strict=True)]


def _subscript(k: int) -> str:
    return str(k).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


@explanation("network", needs="", when=lambda obj: has(obj, "module_") and bool(linears(module_of(obj))))
def network(obj: Any, *, dropped: float | Sequence[Any] | None = None, random_state: int = 0) -> Network:
    """A dense network with the shapes of its parameters, from widths or from a chain of Linear layers.

    Args:
        obj: Widths from input to output, an nn.Linear, an nn.Sequential of Linear layers with parts without parameters
            between them, or a fitted estimator with one in `module_`.
        dropped: A probability to draw a mask of dropout with, or one bool mask per hidden layer, True where a unit is
            dropped; None: the full network.

    Example:
        >>> network([3, 4, 2, 3, 2]).table().caption
        '43 parameters.'
    """
    if isinstance(obj, Sequence | np.ndarray) and not isinstance(obj, str):
        integers = all(isinstance(w, Integral) and not isinstance(w, bool) and int(w) > 0 for w in obj)
        if len(obj) < 2 or not integers:
            raise InputError(f"widths={list(obj)!r}; expected at least two integers from 1, such as [3, 4, 2].")
        widths, biased = tuple(map(int, obj)), (True,) * (len(obj) - 1)
    else:
        require(obj, "module_", "network")
        layers = linears(module_of(obj))
        if not layers:
            raise InputTypeError(
                f"{type(obj).__name__} is not a chain of Linear layers; network needs widths such as [3, 4, 2], an "
                "nn.Sequential of Linear layers, or a fitted estimator with one in module_."
            )
        widths = (layers[0].in_features, *(layer.out_features for layer in layers))
        biased = tuple(layer.bias is not None for layer in layers)
    hidden, masks = widths[1:-1], ()
    if isinstance(dropped, int | float):
        if not 0 <= dropped < 1:
            raise InputError(f"dropped={dropped!r}; expected a probability in [0, 1), or a mask for each hidden layer.")
        with Draw(random_state).at("dropout").scope():  # what a Dropout layer would silence
            masks = tuple((nn.functional.dropout(torch.ones(n), float(dropped)) == 0).numpy() for n in hidden)
    elif dropped is not None:
        masks = tuple(map(np.asarray, dropped))
        if [mask.shape for mask in masks] != [(n,) for n in hidden] or any(mask.dtype != bool for mask in masks):
            got = [f"{mask.dtype} {mask.shape}" for mask in masks]
            raise InputError(f"dropped holds {got}; expected bool masks of the hidden layers' widths {list(hidden)}.")
    return Network(widths, biased, masks)


def linears(module: nn.Module) -> list[nn.Linear]:
    """The Linear layers of a chain in order; none where the module is something else."""
    every = list(parts(module))
    found = [part for part in every if type(part) is nn.Linear]
    others = any(True for part in every if type(part) is not nn.Linear for _ in part.parameters())
    fits = all(a.out_features == b.in_features for a, b in pairwise(found)) and len({*found}) == len(found)
    return found if fits and not others else []


def parts(module: nn.Module) -> Iterator[nn.Module]:
    if isinstance(module, nn.Sequential) and type(module).forward is nn.Sequential.forward:
        for part in module:
            yield from parts(part)
    else:
        yield module


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
        text = self.text().replace("\n", "; ")
        return plots.network(self.widths, title=text if len(text) < 120 else "Network")


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
    functions: dict[str, Any] = {}
    number = 0
    for part in parts(module_of(obj)):
        kind = type(part).__name__
        if isinstance(part, nn.Linear):
            number, before, units = number + 1, units, []
            for i, row in enumerate(part.weight.tolist(), 1):
                own = {f"w{number}_{i}_{j}": w for j, w in enumerate(row, 1)}
                units.append(sum(sympy.Symbol(name) * unit for name, unit in zip(own, before, strict=True)))
                if part.bias is not None:
                    own[f"b{number}_{i}"] = part.bias[i - 1].item()
                    units[-1] += sympy.Symbol(f"b{number}_{i}")
                values |= own
        elif not isinstance(part, _IDLE):
            if kind not in ELEMENTWISE:
                raise InputTypeError(f"{kind} is not an elementwise activation; expression cannot write it.")
            name = kind.lower()  # another one of the same class with other options has an underscore more
            while name in functions and repr(functions[name].args) != repr((part,)):
                name += "_"
            functions.setdefault(name, partial(_applied, part))
            units = [sympy.Function(name)(unit) for unit in units]
    widths = (layers[0].in_features, *(layer.out_features for layer in layers))
    return Expression(tuple(units), values, functions, widths)


def _applied(part: nn.Module, z: Any) -> Any:
    with torch.no_grad():
        return part(torch.as_tensor(z, dtype=torch.float64)).numpy()
