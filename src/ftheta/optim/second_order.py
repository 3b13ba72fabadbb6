"""Rules with a quadratic model of F: the model, trial steps, the one that gains, and when to end.

    m(d) = g·d + ½ d·B d,      (B + λ I) d = -g,      θ <- θ + η d

| rule | B | control of the steps |
|---|---|---|
| Newton | the Hessian H: P backward passes | damping, λ = 0 while that works |
| NaturalGradient | the Fisher information G = Σ_i J_iᵀ C_i J_i / n, C_i the likelihood's curvature | the same |
| GaussNewton | JᵀJ of F = ½‖r(θ)‖²: the Hessian without Σ r_i ∇²r_i | halving |
| LevenbergMarquardt | the same | damping, which rises until F falls |

| control | a step that gains too little, or has no finite F, is tried again with |
|---|---|
| damping | a larger λ: λ ν, λ ν 2ν, ...; each step that gains multiplies it by max(1/3, 1 - (2 gain - 1)³) |
| region | a smaller radius r of the trust region ‖d‖ <= r, which is doubled by steps that gain |
| halving | half of d; λ is as given, and more only where B + λ I is not positive definite |
| none | nothing: Newton's own step, wherever it leads |

λ = 0 is the model's own minimum; a trust region ‖d‖ <= r has the same steps: its λ is 0 if the minimum lies inside,
else the one with ‖d‖ = r. gain = (F(θ) - F(θ + d)) / the fall that the model predicts. A quadratic F is minimized in
one step; where H is not positive definite, d leads to a saddle, a maximum, or nowhere. The natural gradient is
steepest descent where distance is that of distributions, KL(p(θ) || p(θ + d)) ≈ ½ d·G d: for a Gaussian of fixed
variance it is Gauss-Newton, for a linear model with its canonical link it is Newton (IRLS). Small λ is Gauss-Newton,
large λ a short step along -g.

Shapes: g (P,), B (P, P), r (N,), J (N, P) in chunks. A penalty ½ Σ c θ² adds diag(c) to JᵀJ and cθ to Jᵀr.
References: Nocedal and Wright, Numerical Optimization, 2nd edition (2006), chapters 3, 4, 10; Amari, Natural gradient
works efficiently in learning (1998); Madsen, Nielsen, Tingleff, Methods for non-linear least squares problems (2004).
"""

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

START = 1e-3  # of the largest entry of B: the first λ above 0


def damped_step(B: Tensor, g: Tensor, damping: float) -> Tensor | None:
    """d with (B + λ I) d = -g, or None if that matrix is not positive definite in the precision of its numbers.

    Example:
        >>> damped_step(torch.tensor([[10.0, 0.0], [0.0, 1.0]]), torch.tensor([10.0, 1.0]), damping=1.0)
        tensor([-0.9091, -0.5000])
    """
    matrix = B.clone()
    matrix.diagonal().add_(damping)
    factor, failed = torch.linalg.cholesky_ex(matrix)
    pivots = factor.diagonal()
    if failed or float(pivots.amin()) <= (len(B) * torch.finfo(B.dtype).eps) ** 0.5 * float(pivots.amax()):
        return None
    return -torch.cholesky_solve(g[:, None], factor)[:, 0]


def trust_step(B: Tensor, g: Tensor, radius: float) -> tuple[Tensor, float]:
    """The d of least m(d) with ‖d‖ <= radius, and its λ; B may be indefinite.

    Example:
        >>> d, damping = trust_step(torch.tensor([[10.0, 0.0], [0.0, 1.0]]), torch.tensor([10.0, 1.0]), radius=1.0)
        >>> round(d.norm().item(), 4), round(damping, 4)
        (1.0, 1.2116)
    """
    values, vectors = torch.linalg.eigh(B)
    along = vectors.T @ g  # g in the axes of B

    def step(damping: float) -> Tensor:
        return torch.where(along == 0, 0, -along / (values + damping))

    lowest, rounding = float(values[0]), len(B) * torch.finfo(B.dtype).eps * float(values.abs().max())
    flat = values.abs() <= rounding  # axes along which m is level where g has no part: the shortest step leaves them
    if lowest >= -rounding and along[flat].norm() <= 1e-6 * along.norm():
        along[flat], lowest = 0.0, 0.0
        values[flat] = 1.0
    if values[0] > 0 and step(0.0).norm() <= radius:
        return vectors @ step(0.0), 0.0
    low = max(0.0, -lowest)
    high = low + float(g.norm()) / radius + torch.finfo(B.dtype).tiny
    while low < (middle := (low + high) / 2) < high:  # ‖step‖ falls with λ
        low, high = (middle, high) if step(middle).norm() > radius else (low, middle)
    d = step(high)
    rest = radius**2 - float(d @ d)
    if rest > 1e-6 * radius**2:  # g has no part along the lowest axis: the length that is left goes there
        d[0] += rest**0.5
    return vectors @ d, high


class Control:
    """Proposes the trial steps of one update and learns from them; `memory` (damping, radius) outlives the update."""

    attempts = 40  # trial steps of an update
    enough = 1e-4  # share of the promised fall that a step must bring

    def __init__(self, memory: dict[str, Any], B: Tensor, g: Tensor, damping: float) -> None:
        self.memory, self.B, self.g, self.given = memory, B, g, damping
        self.damping = memory.get("damping", damping)
        self.unit = START * max(float(B.diagonal().abs().max()), float(g.abs().max()))

    @abstractmethod
    def propose(self) -> Tensor | None:
        """The next trial step, None if there is none at this λ: (P,)."""

    def learn(self, gain: float, length: float) -> None:
        """Learn from the gain of a step of this length; a step that is refused has gained -∞."""


class Damping(Control):
    """Larger λ for shorter steps, nearer to -g."""

    rise = 2.0

    def propose(self) -> Tensor | None:
        return damped_step(self.B, self.g, self.damping)

    def learn(self, gain: float, length: float) -> None:
        if gain == -inf:
            self.damping, self.rise = self.damping * self.rise or self.unit, self.rise * 2
            return
        damping = self.damping * max(1 / 3, 1 - (2 * gain - 1) ** 3)
        self.memory["damping"] = 0.0 if self.given == 0 and damping < self.unit / 10 else damping


class Region(Control):
    """A radius for the steps."""

    def propose(self) -> Tensor:
        d, self.damping = trust_step(self.B, self.g, self.memory["radius"])
        return d

    def learn(self, gain: float, length: float) -> None:
        if gain < 0.25:
            self.memory["radius"] = min(length, self.memory["radius"]) / 4
        elif gain > 0.75 and self.damping > 0:
            self.memory["radius"] *= 2


class Halving(Control):
    """The direction stays, the step is halved."""

    def __init__(self, memory: dict[str, Any], B: Tensor, g: Tensor, damping: float) -> None:
        super().__init__(memory, B, g, damping)
        self.d, self.share = damped_step(B, g, damping), 1.0
        while self.d is None and self.damping < 1e9 * self.unit:
            self.damping = max(10 * self.damping, 1e-7 * self.unit)
            self.d = damped_step(B, g, self.damping)

    def propose(self) -> Tensor | None:
        return None if self.d is None else self.share * self.d

    def learn(self, gain: float, length: float) -> None:
        self.share /= 2


class FullStep(Control):
    """The solution of the equations, a way down or not."""

    attempts = 1
    enough = -inf

    def propose(self) -> Tensor | None:
        values, vectors = torch.linalg.eigh(self.B)
        values = values + self.damping
        singular = values.abs().min() <= len(values) * torch.finfo(values.dtype).eps * values.abs().max()
        return None if singular else -(vectors @ (vectors.T @ self.g / values))


CONTROLS: dict[str, type[Control]] = {"damping": Damping, "region": Region, "halving": Halving, "none": FullStep}


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
        control: How steps are shortened: damping, region, halving or none.
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
        self.radius, self.ftol, self.xtol = radius, check.at_least("ftol", ftol, 0), check.at_least("xtol", xtol, 0)
        self.gtol = check.at_least("gtol", gtol, 0)

    @abstractmethod
    def model(self, problem: ClosureProblem) -> Model:
        """The quadratic model of F at θ, in float64."""

    @torch.no_grad()
    def step(self, closure: ClosureProblem) -> Tensor:
        model = self.model(closure)
        self.stop_reason = self._already_optimal(model)
        self.info = {"gradient_norm": float(model.g.norm())} if model.g.isfinite().all() else {}
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
        least = self.xtol * (self.xtol + float(theta.norm()))
        d, fall = None, 0.0
        for _ in range(control.attempts):
            d = control.propose()
            length = 0.0 if d is None else self.lr * float(d.norm())
            fall, gain = (-inf, 0.0) if d is None else self._try(problem, model, theta, self.lr * d)
            self.info |= {"damping": control.damping, "step_norm": length, "gain": gain}
            gained = isfinite(fall) and gain > control.enough
            control.learn(gain if gained else -inf, length)
            if gained:
                if gain > 0.25 and fall <= self.ftol * abs(float(model.cost)):
                    self.stop_reason = f"the step lowered the loss by less than {self.ftol:g} of it"
                elif length <= least:
                    self.stop_reason = f"the step was shorter than {self.xtol:g} of θ"
                return
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

    def _no_progress(self, control: Control, d: Tensor | None, fall: float) -> str:
        if d is None:
            rest = "give more damping, or control='damping' or 'region'"
            return f"the {self.matrix} is singular, so that there is no step at damping {control.damping:g}; {rest}"
        what = "lowers the loss" if isfinite(fall) else "has a finite loss"
        return f"no step that was tried {what}; θ stays where it was"


class Newton(SecondOrder):
    """(H + λ I) d = -g, λ = 0 while that works; options as `SecondOrder`."""

    matrix = "Hessian"

    def model(self, problem: ClosureProblem) -> Model:
        with torch.enable_grad():
            value = problem()
        return Model(value, value, self.gradient().double(), self.curvature(problem).double())

    def curvature(self, problem: ClosureProblem) -> Tensor:
        """B: (P, P)."""
        return problem.hessian()


class NaturalGradient(Newton):
    """(G + λ I) d = -g; λ is 0 while that works: G of a network is mostly singular. Options as `SecondOrder`."""

    matrix = "Fisher matrix"

    def curvature(self, problem: ClosureProblem) -> Tensor:
        return problem.ggn()


class GaussNewton(SecondOrder):
    """JᵀJ d = -Jᵀr, halved until it lowers the loss; options as `SecondOrder`."""

    matrix = "Gauss-Newton matrix"
    usual: ClassVar[dict[str, Any]] = {"control": "halving", "damping": 0.0}

    def model(self, problem: ClosureProblem) -> Model:
        return Model(problem.value(), *problem.squares())


class LevenbergMarquardt(GaussNewton):
    """(JᵀJ + λ I) d = -Jᵀr; options as `SecondOrder`, with λ = 0.001 at the start."""

    usual: ClassVar[dict[str, Any]] = {"control": "damping", "damping": 1e-3}
