"""Gradient check: every gradient of a backward pass against differences of the loss, and what a wrong one looks like.

    ∂F/∂θ_i  against  (F(θ + h e_i) - F(θ - h e_i)) / 2h        in float64, extrapolated to h = 0
    error = |got - expected| / max(|got|, |expected|),       within the tolerance where differences may be off as much

Each tensor is tried along one random direction, in which every entry takes part, and at some of its entries; one that
fails, at many. Then the layers are tried one by one, from the output back, so that the guilty one is found.

Shapes: n entries of a tensor that were compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from .. import plots
from ..draw import Draw
from ..errors import InputError
from ..results import Result, Table
from ._checking import Check, Checked, Guilty, place
from ._copied import Copied, Given, calls
from ._mistakes import Local, mistake
from ._probe import DRAW

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["GradientCheck", "gradient_check"]


@dataclass(frozen=True, eq=False)
class GradientCheck(Result):
    """What was compared, tensor by tensor: parameters, then inputs.

    Args:
        names: Name of each tensor.
        shapes: Its shape.
        index: Flat numbers of the entries that were compared: (n,) each.
        expected: What differences give there: (n,) each.
        got: What the backward pass gives there: (n,) each.
        errors: Relative error of each: (n,) each; within the tolerance where differences may be off by as much.
        along: Relative error along a random direction, in which all entries take part; NaN at a kink.
        kinds: What is wrong with each tensor; empty where it is right, "kink" where the loss has no one slope.
        said: The same as a sentence.
        layer: Name of the layer in which the gradient goes wrong; empty where none does or none alone.
        notes: What else there is to know.
        loss: The loss at the point.
        tolerance: Largest relative error that passes.
    """

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    index: tuple[np.ndarray, ...]
    expected: tuple[np.ndarray, ...]
    got: tuple[np.ndarray, ...]
    errors: tuple[np.ndarray, ...]
    along: np.ndarray
    kinds: tuple[str, ...]
    said: tuple[str, ...]
    layer: str
    notes: tuple[str, ...]
    loss: float
    tolerance: float

    @property
    def wrong(self) -> tuple[str, ...]:
        """Names of the tensors whose gradient is wrong."""
        return tuple(name for name, kind in zip(self.names, self.kinds, strict=True) if kind not in ("", "kink"))

    @property
    def passed(self) -> bool:
        """Whether all gradients are right."""
        return not self.wrong

    @property
    def worst(self) -> float:
        """Largest relative error of all that were compared, kinks left out."""
        rows = zip(self.errors, self.along, self.kinds, strict=True)
        found = [[*np.nan_to_num(e, nan=np.inf), np.nan_to_num(a)] for e, a, kind in rows if kind != "kink"]
        return float(max(map(max, found), default=0.0))

    @property
    def verdict(self) -> str:
        """What was found, in sentences."""
        if self.passed:
            return f"All gradients are right: worst relative error {self.worst:.1e}."
        first = self.wrong[0]
        place = self.names.index(first)
        here = f" It goes wrong in layer {self.layer!r}." if self.layer else ""
        kind = self.kinds[place]
        return f"{len(self.wrong)} of {len(self.names)} gradients are wrong.{here} {first}: {kind}, {self.said[place]}"

    def table(self) -> Table:
        """One line a tensor, with its worst entry."""
        worst = [int(np.nan_to_num(e, nan=np.inf).argmax()) if e.size else 0 for e in self.errors]
        picked = list(zip(self.index, self.shapes, worst, strict=True))
        columns: dict[str, Sequence[Any]] = {
            "tensor": self.names,
            "shape": ["×".join(map(str, shape)) or "1" for shape in self.shapes],
            "entries": [len(i) for i in self.index],
            "worst entry": [place(i[w], shape) if len(i) else "" for i, shape, w in picked],
            "expected": [float(e[w]) if e.size else None for e, w in zip(self.expected, worst, strict=True)],
            "got": [float(g[w]) if g.size else None for g, w in zip(self.got, worst, strict=True)],
            "relative error": [float(e[w]) if e.size else None for e, w in zip(self.errors, worst, strict=True)],
            "looks like": [f"{k}: {s}" if k else "right" for k, s in zip(self.kinds, self.said, strict=True)],
        }
        return Table(columns, " ".join([self.verdict, *self.notes]))

    def figure(self) -> Figure:
        """What the backward pass gives against what differences give, and the worst error of each tensor."""
        wrong = [kind not in ("", "kink") for kind in self.kinds]
        worst = [float(e.max(initial=0.0)) for e in self.errors]
        return plots.gradient_check(self.names, self.expected, self.got, worst, wrong, tolerance=self.tolerance)


def gradient_check(
    obj: Any,
    X: Any,
    y: Any = None,
    loss: Given = None,
    *,
    entries: int = 100,
    tolerance: float = 1e-7,
    training: bool = False,
    seed: int = 0,
) -> GradientCheck:
    """The gradient of every parameter and of the input against differences, on a copy in float64.

    Args:
        obj: A module of your own, e.g. one layer, or a fitted neural estimator.
        X: Rows.
        y: Their targets; None: of a module, its outputs times fixed random numbers are the loss.
        loss: A function (raw, y) -> one number, or the loss of each row; None: an estimator's own objective; of a
            module half the squared error, or the cross-entropy where y are whole numbers.
        entries: Most entries of a tensor that are compared; of a larger one a random sample.
        tolerance: Largest relative error that passes.
        training: In training mode: with dropout (one fixed draw) and the statistics of this batch.
        seed: Of directions and samples.

    Example:
        >>> gradient_check(nn.Linear(3, 2), [[0.5, 1.0, -2.0]]).passed
        True
    """
    if entries < 1 or not 0 < tolerance < 1:
        raise InputError(f"entries={entries}, tolerance={tolerance}; at least 1 and between 0 and 1 are needed.")
    with DRAW.scope():
        problem = Copied(obj, X, y, loss, training=training, name="gradient_check")
        value = _steady(problem)
        tensors = {**problem.parameters, **problem.inputs}
        if not tensors:
            raise InputError(
                f"{type(problem.net).__name__} has no parameter that trains, and its inputs are whole numbers: there "
                "is nothing to differentiate. Let a parameter train, or pass real numbers."
            )
        check = Check(entries, tolerance, Draw(seed).at("check"))
        rows = check.all(problem.value, problem.size * problem.rough, tensors)
        layer = check.guilty(problem) if any(row.wrong for row in rows) else Guilty()
        kinds, said = zip(*(_judged(row, layer, problem.batch.n) for row in rows), strict=True)
    found = [row.found for row in rows]
    return GradientCheck(
        names=tuple(tensors),
        shapes=tuple(tuple(t.shape) for t in tensors.values()),
        index=tuple(f.index for f in found),
        expected=tuple(f.expected for f in found),
        got=tuple(f.there for f in found),
        errors=tuple(f.off for f in found),
        along=np.array([row.along for row in rows]),
        kinds=kinds,
        said=said,
        layer=layer.name,
        notes=tuple(_notes(problem, rows, training)),
        loss=value,
        tolerance=tolerance,
    )


def _steady(problem: Copied) -> float:
    """The loss, if it is a number and twice the same; what computes in float32 all the same is taken note of."""
    with torch.no_grad(), calls(problem.net) as seen:
        one, two = float(problem.value()), float(problem.value())
    if any(out.is_floating_point() and out.dtype != torch.float64 for *_, out in seen):
        problem.rough = 2.0**29  # float32 has so many fewer digits
    who = type(problem.net).__name__
    if not np.isfinite(one):
        raise InputError(f"The loss of {who} is {one} at these rows, so it has no slope; look at rows and parameters.")
    if one != two:
        raise InputError(
            f"{who} gave the losses {one:.6g} and {two:.6g} for the same rows and seed: it draws from a generator of "
            "its own. Let it draw from torch's, or turn the noise off to check the rest."
        )
    return one


def _judged(row: Checked, layer: Guilty, rows: int) -> tuple[str, str]:
    """Kind and sentence of one tensor: where its own layer is guilty, from what that layer does alone."""
    if row.kink:
        return "kink", f"{row.kink}; the gradient is one of the slopes between. Move the point to check it."
    if not row.wrong:
        return "", ""
    own = layer.wrong.get(row.found.name.removeprefix(f"{layer.name}."))
    if own is not None or not layer.wrong:
        return _named(own or row, rows, layer.local)
    name, first = next(iter(layer.wrong.items()))
    kind, said = _named(first, rows, layer.local)
    return kind, f"what arrives here is wrong already; {name} of layer {layer.name!r}: {said}"


def _named(row: Checked, rows: int, local: Local | None) -> tuple[str, str]:
    if (row.found.off <= row.found.tolerance).all():
        return "unclear", f"a random direction says so, but none of {len(row.found.index)} entries; raise entries=."
    return mistake(row.found, rows, local)


def _notes(problem: Copied, rows: Sequence[Checked], training: bool) -> Iterator[str]:
    whole = [row.found.name for row in rows if row.wrong and not row.found.whole]
    if whole:
        yield f"Of {', '.join(whole)} a random sample of entries was compared."
    unused = [row.found.name for row in rows if not row.used and not row.wrong]
    if unused:
        yield f"{', '.join(unused)}: has no part in this loss, and no gradient."
    if not problem.inputs:
        yield "The input is made of whole numbers, which have no derivative: only parameters were checked."
    if training and any(isinstance(part, nn.modules.dropout._DropoutNd) for part in problem.net.modules()):
        yield "Dropout was drawn once and kept for all passes."
    if problem.rough > 1:
        yield "A layer computes in float32 even in a copy in float64: differences are good to four digits only."
    blind = [r.found.name for r in rows if _blind(r)]
    if blind:
        yield f"{', '.join(blind)}: too small a gradient for differences to see."


def _blind(row: Checked) -> bool:
    """Whether there is a gradient, and every difference may be off by more than it."""
    there = np.abs(row.found.there)
    return bool(there.any() and not row.wrong and (row.found.error > there)[there > 0].all())
