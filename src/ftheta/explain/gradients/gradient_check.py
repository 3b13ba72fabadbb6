"""Gradient check: every gradient of a backward pass against differences of the loss, and what a wrong one looks like.

    ∂F/∂θ_i  against  (F(θ + h e_i) - F(θ - h e_i)) / 2h        in float64, extrapolated to h = 0
    error = |got - expected| / max(|got|, |expected|),       within the tolerance where differences may be off as much

Each tensor is tried along one random direction, in which every entry takes part, and at some of its entries; one that
fails, at many. Then the layers are tried one by one, from the output back.

Shapes: n entries of a tensor that were compared.
"""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import numpy as np
import torch
from annotated_types import Gt, Lt
from torch import nn

from ...check import Count
from ...draw import Draw
from ...errors import InputError
from ...plots import PALETTE, Figure, canvas, distinct, drawn, legend
from ...results import Result
from .._point import LossLike, Point
from .._registry import checked
from ._checking import Check, Checked, FaultyLayer, diagnose, place


class GradientCheck(Result):
    """What was compared, tensor by tensor: parameters, then inputs."""

    names: tuple[str, ...]  # of the tensors
    shapes: tuple[tuple[int, ...], ...]
    index: tuple[np.ndarray, ...]  # flat numbers of the entries that were compared: (n,) each
    expected: tuple[np.ndarray, ...]  # by differences: (n,) each
    got: tuple[np.ndarray, ...]  # by the backward pass: (n,) each
    errors: tuple[np.ndarray, ...]  # relative error: (n,) each; within tolerance where differences may be off as much
    along: np.ndarray  # relative error along a random direction, in which all entries take part; NaN at a kink
    kinds: tuple[str, ...]  # what is wrong; empty where it is right, "kink" where the loss does not have one slope
    sentences: tuple[str, ...]  # the same as a sentence
    layer: str  # the layer in which the gradient goes wrong; empty where none does or none alone
    notes: tuple[str, ...]  # what else there is to know
    loss: float  # at the point
    tolerance: float  # largest relative error that passes

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
        k = self.names.index(self.wrong[0])
        here = f" It goes wrong in layer {self.layer!r}." if self.layer else ""
        count = f"{len(self.wrong)} of {len(self.names)} gradients are wrong."
        return f"{count}{here} {self.names[k]}: {self.kinds[k]}, {self.sentences[k]}"

    def columns(self) -> dict[str, Any]:
        """One row per tensor, with its worst entry."""
        worst = [int(np.nan_to_num(e, nan=np.inf).argmax()) if e.size else 0 for e in self.errors]
        picked = list(zip(self.index, self.shapes, worst, strict=True))

        def at_worst(values: Sequence[np.ndarray]) -> list[float]:
            return [v[w] if v.size else np.nan for v, w in zip(values, worst, strict=True)]

        return {
            "tensor": self.names,
            "shape": ["×".join(map(str, shape)) or "1" for shape in self.shapes],
            "entries": [len(i) for i in self.index],
            "worst entry": [place(i[w], shape) if len(i) else "" for i, shape, w in picked],
            "expected": at_worst(self.expected),
            "got": at_worst(self.got),
            "relative error": at_worst(self.errors),
            "looks like": [f"{k}: {s}" if k else "right" for k, s in zip(self.kinds, self.sentences, strict=True)],
        }

    @property
    def caption(self) -> str:
        return " ".join([self.verdict, *self.notes])

    @drawn
    def figure(self) -> Figure:
        """Every compared entry as a share of its tensor's largest, and the worst error of each tensor."""
        figure, (left, right) = canvas(2, width=4.8, height=max(4.2, 1.6 + 0.26 * len(self.names)))
        worst = np.array([np.nan_to_num(e, nan=1.0, posinf=1.0).max(initial=1e-16) for e in self.errors])
        bad = np.array([kind not in ("", "kink") for kind in self.kinds])
        for wrong, marker in ((False, "o"), (True, "X")):
            look = {"ls": "", "marker": marker, "color": PALETTE[int(wrong)], "mec": "white", "zorder": 3}
            rows = np.flatnonzero(bad == wrong)
            pairs = [np.stack([self.expected[r], self.got[r]]) for r in rows]
            shares = [pair / (np.abs(pair).max() or 1.0) for pair in pairs if pair.size]
            if shares:
                left.plot(*np.concatenate(shares, 1), **look, ms=6, alpha=0.8, label="wrong" if wrong else "right")
            if len(rows):
                right.plot(worst[rows], rows, **look, ms=8, clip_on=False)
        left.plot([-1, 1], [-1, 1], color="0.5", lw=1, ls="--", label="equal", zorder=2)
        left.set(title="Gradient check", xlabel="by differences, share of the largest", aspect="equal")
        left.set(ylabel="by the backward pass, share of the largest", xlim=(-1.08, 1.08), ylim=(-1.08, 1.08))
        right.axvline(self.tolerance, color="black", lw=1.2, ls="--")
        marks, pattern = distinct(self.names, 24)
        right.set(title=f"Error by tensor; up to {self.tolerance:g} (dashed) passes", xscale="log", xlim=(1e-16, 3))
        right.set(xlabel="worst relative error (log scale)" + (f"\n* in {pattern}" if pattern else ""))
        right.set_yticks(range(len(marks)), marks)
        right.set_ylim(len(marks) - 0.5, -0.5)
        legend(figure)
        return figure


@checked("module_")
def gradient_check(
    obj: Any,
    X: Any,
    y: Any = None,
    loss: LossLike = None,
    *,
    entries: Count = 100,
    tolerance: Annotated[float, Gt(0), Lt(1)] = 1e-7,
    training: bool = False,
    random_state: int = 0,
) -> GradientCheck:
    """The gradient of every parameter and of the input against differences, on a copy in float64.

    Args:
        obj: A module of your own, e.g. one layer, or a fitted neural estimator.
        y: Their targets; None: of a module, its outputs times fixed random numbers are the loss.
        entries: Most entries of a tensor that are compared; of a larger one a random sample.
        tolerance: Largest relative error that passes.

    Example:
        >>> gradient_check(nn.Linear(3, 2), [[0.5, 1.0, -2.0]]).passed
        True
    """
    point = Point(obj, X, y, loss, double=True, training=training, project=True)
    tensors = {**point.parameters, **point.inputs}
    if not tensors:
        raise InputError(
            f"{type(point.module).__name__} has no parameter that trains, and its inputs are integers: there is "
            "nothing to differentiate. Let a parameter train, or pass real numbers."
        )
    with point.open(training=training), torch.enable_grad():
        with torch.no_grad():
            value, again, name = float(point.value()), float(point.value()), type(point.module).__name__
        if not np.isfinite(value):
            rest = "at these rows, so it has no slope; look at rows and parameters."
            raise InputError(f"The loss of {name} is {value} {rest}")
        if value != again:
            raise InputError(
                f"{name} gave the losses {value:.6g} and {again:.6g} for the same rows and seed: it draws from a "
                "generator of its own. Let it draw from torch's, or turn the noise off to check the rest."
            )
        check = Check(entries, tolerance, Draw(random_state).at("check"))
        rows = check.all(point.value, max(abs(value), point.terms), tensors)
        layer = check.faulty_layer(point) if any(row.wrong for row in rows) else FaultyLayer()
        kinds, sentences = zip(*(_judged(row, layer, point.batch.n) for row in rows), strict=True)
    shapes = tuple(tuple(t.shape) for t in tensors.values())
    numbers: Any = zip(*((f.index, f.expected, f.there, f.off) for f in (row.found for row in rows)), strict=True)
    return GradientCheck(
        tuple(tensors),
        shapes,
        *numbers,
        along=np.array([row.along for row in rows]),
        kinds=kinds,
        sentences=sentences,
        layer=layer.name,
        notes=tuple(_notes(point, rows, training)),
        loss=value,
        tolerance=tolerance,
    )


def _judged(row: Checked, layer: FaultyLayer, rows: int) -> tuple[str, str]:
    """Kind and sentence of one tensor; where its own layer is faulty, from what that layer does alone."""
    if row.kink:
        return "kink", f"{row.kink}; the gradient is one of the slopes between. Move the point to check it."
    if not row.wrong:
        return "", ""
    own = layer.wrong.get(row.found.name.removeprefix(f"{layer.name}."))
    if own is not None or not layer.wrong:
        return diagnose((own or row).found, rows, layer.local)
    name, first = next(iter(layer.wrong.items()))
    kind, sentence = diagnose(first.found, rows, layer.local)
    return kind, f"the incoming gradient is already wrong; {name} of layer {layer.name!r}: {sentence}"


def _notes(point: Point, rows: Sequence[Checked], training: bool) -> Iterator[str]:
    sampled = [row.found.name for row in rows if row.wrong and not row.found.complete]
    if sampled:
        yield f"Of {', '.join(sampled)} a random sample of entries was compared."
    unused = [row.found.name for row in rows if not row.used and not row.wrong]
    if unused:
        yield f"{', '.join(unused)}: has no part in this loss, and no gradient."
    if not point.inputs:
        yield "The inputs are integers, which have no derivative: only parameters were checked."
    if training and any(isinstance(part, nn.modules.dropout._DropoutNd) for part in point.module.modules()):
        yield "Dropout was drawn once and kept for all passes."
