"""Rules with a quadratic model of F: model, trial steps, the one that gains, and when to end.

m(d) = g·d + ½ d·B d,      (B + λ I) d = -g,      θ <- θ + η d
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from math import inf, isfinite
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor

from .. import check
from ..catalog import nearest
from ..errors import InputError
from ._closure import ClosureOptimizer, ClosureProblem
from ._controls import CONTROLS, Control


class Model(NamedTuple):
    """F at θ and what of it a step can lower (F without its constants), both (); gradient (P,) and matrix (P, P)."""

    value: Tensor
    cost: Tensor
    g: Tensor
    B: Tensor


class SecondOrder(ClosureOptimizer):
    """Base of rules with a quadratic model.

    Args:
        params: Parameters, taken together.
        lr: Share η of every step that is made.
        control: What keeps steps honest: damping, region, halving or none.
        damping: λ at the start, for control="damping"; else throughout.
        radius: Radius at the start, for control="region".
        ftol: A step that lowers the loss by less than this share of it is the last.
        xtol: So is one shorter than this share of ‖θ‖.
        gtol: And there is none where no entry of the gradient is above this.
    """

    matrix: str  # what B is, in words
    usual: ClassVar[dict[str, Any]] = {"control": "damping", "damping": 0.0}  # where they are not given

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1.0,
        *,
        control: str | None = None,
        damping: float | None = None,
        radius: float = 1.0,
        ftol: float = 1e-8,
        xtol: float = 1e-8,
        gtol: float = 1e-8,
    ) -> None:
        super().__init__(params, lr)
        self.control = self.usual["control"] if control is None else control
        if self.control not in CONTROLS:
            raise InputError(nearest("control", self.control, CONTROLS))
        self.damping = self.usual["damping"] if damping is None else check.at_least("damping", damping, 0)
        if radius <= 0:
            raise InputError(f"radius={radius}; it must be above 0.")
        self.radius = radius
        self.ftol, self.xtol, self.gtol = (
            check.at_least(name, value, 0) for name, value in (("ftol", ftol), ("xtol", xtol), ("gtol", gtol))
        )

    def model(self, problem: ClosureProblem) -> Model:
        """The quadratic model of F at θ, in float64."""
        with torch.enable_grad():
            value = problem()
        return Model(value, value, self.gradient().double(), self.curvature(problem).double())

    @abstractmethod
    def curvature(self, problem: ClosureProblem) -> Tensor:
        """B: (P, P)."""

    @torch.no_grad()
    def step(self, closure: ClosureProblem) -> Tensor:
        """One update; returns F at its start."""
        model = self.model(closure)
        self.stop_reason = self._already_optimal(model)
        self.info = {"gradient_norm": _length(model.g)} if isfinite(_length(model.g)) else {}
        if not self.stop_reason:
            self.memory.setdefault("radius", self.radius)
            self._search(closure, model, CONTROLS[self.control](self.memory, model.B, model.g, self.damping))
        return model.value

    def _already_optimal(self, model: Model) -> str:
        if not all(isfinite(part.sum()) for part in model):
            return f"the loss, its gradient or the {self.matrix} is not finite"
        return f"the gradient is below {self.gtol:g}" if model.g.abs().max() <= self.gtol else ""

    def _search(self, problem: ClosureProblem, model: Model, control: Control) -> None:
        """Trial steps until one gains; θ stays where none does."""
        theta = self.flat()
        least = self.xtol * (self.xtol + _length(theta))
        d, fall = None, 0.0
        for _ in range(control.attempts):
            d = control.propose()
            length = 0.0 if d is None else self.lr * _length(d)
            fall, gain = (-inf, 0.0) if d is None else self._try(problem, model, theta, self.lr * d)
            self.info |= {"damping": control.damping, "step_norm": length, "gain": gain}
            if isfinite(fall) and gain > control.enough:
                control.gained(gain, length)
                self.stop_reason = self._end(
                    gain > 0.25 and fall <= self.ftol * abs(float(model.cost)), length <= least
                )
                return
            control.failed(length)
            if d is not None and length <= least:
                break
        self.move_to(theta)
        problem.value()  # so that running statistics are those of θ, not of a step that was refused
        self.info |= {"step_norm": 0.0, "gain": 0.0}
        self.stop_reason = self._no_progress(control, d, fall)

    def _try(self, problem: ClosureProblem, model: Model, theta: Tensor, d: Tensor) -> tuple[float, float]:
        """The fall of F over a step, and its share in what the model promised; rounding errors are given to both."""
        self.move_to(theta + d.to(theta.dtype))
        fall = float(model.value - problem.value())
        promised = float(-(model.g @ d) - d @ (model.B @ d) / 2)
        noise = 4 * torch.finfo(theta.dtype).eps * abs(float(model.value)) + torch.finfo(theta.dtype).tiny
        return fall, (fall + noise) / (promised + noise) if promised >= 0 and isfinite(fall) else -1.0

    def _end(self, flat: bool, short: bool) -> str:
        if flat:
            return f"the step lowered the loss by less than {self.ftol:g} of it"
        return f"the step was shorter than {self.xtol:g} of θ" if short else ""

    def _no_progress(self, control: Control, d: Tensor | None, fall: float) -> str:
        if d is None:
            return (
                f"the {self.matrix} is singular, so that there is no step at damping {control.damping:g}; "
                "give more damping, or control='damping' or 'region'"
            )
        what = "lowers the loss" if isfinite(fall) else "has a finite loss"
        return f"no step that was tried {what}; θ stays where it was"


def _length(v: Tensor) -> float:
    return float(torch.dot(v, v)) ** 0.5


class LeastSquares(SecondOrder):
    """Base of rules for F = ½‖r‖² + constant: g = Jᵀr, B = JᵀJ."""

    matrix = "Gauss-Newton matrix"

    def model(self, problem: ClosureProblem) -> Model:
        """Jᵀr and JᵀJ."""
        return Model(problem.value(), *problem.squares())

    def curvature(self, problem: ClosureProblem) -> Tensor:
        """JᵀJ."""
        return problem.squares()[2]
