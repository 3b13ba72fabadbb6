"""Surfaces to descend: functions with known minima on which update rules can be watched and raced.

| name | f(x, y) | what is hard |
|---|---|---|
| quadratic | ½ (x² + κ y²) | κ times more curvature one way than the other |
| ravine | ¼ (x + y)² + ¼ 25 (y - x)² | the same across the axes: no rescaling of single coordinates helps |
| rosenbrock | 100 (y - x²)² + (1 - x)² | a flat curved valley |
| himmelblau | (x² + y - 11)² + (x + y² - 7)² | four minima, all of value 0 |
| saddle | ½ x² - ½ y² + ¼ y⁴ | a stationary point that is not a minimum, between two that are |
| no-minimum | x² - y² | falls without end |

Where f is a sum of squares, `residuals` gives r with f = ½ ‖r‖², which least-squares rules use.
Shapes: θ is (..., n), the value (...), residuals (..., R).
Reference: Rosenbrock, The Computer Journal 3, 175 (1960); Himmelblau, Applied Nonlinear Programming (1972).
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ..catalog import nearest
from ..errors import InputError


@dataclass(frozen=True)
class Surface:
    """A function of n numbers with what is known of it; calling it gives its value.

    Example:
        >>> float(SURFACES["rosenbrock"](torch.tensor([0.0, 0.0])))
        1.0
    """

    name: str
    f: Callable[[Tensor], Tensor]  # (..., n) -> (...)
    start: tuple[float, ...]  # where a descent begins
    box: tuple[tuple[float, float], ...]  # lowest and highest value of each coordinate in a picture
    minima: tuple[tuple[float, ...], ...]  # all points where f is locally smallest; empty where it has none
    equation: str  # f in one line
    residuals: Callable[[Tensor], Tensor] | None = None  # r with f = ½ ‖r‖²: (..., n) -> (..., R)

    def __call__(self, theta: Tensor) -> Tensor:
        """Value of f at θ: (..., n) -> (...)."""
        return self.f(theta)


def _squares(residuals: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """½ ‖r‖² as a function."""
    return lambda theta: residuals(theta).square().sum(-1) / 2


def quadratic(condition: float = 100.0, n: int = 2) -> Surface:
    """The bowl ½ Σ λᵢ xᵢ², λ growing geometrically from 1 to the condition number.

    Example:
        >>> float(quadratic(100)(torch.ones(2)))
        50.5
    """
    if condition < 1 or n < 2:
        raise InputError(f"quadratic({condition}, n={n}): a condition of at least 1 and n of at least 2 are needed.")
    curvature = torch.logspace(0, 1, n, base=float(condition), dtype=torch.float64)
    return Surface(
        name="quadratic",
        start=(1.0,) * n,
        box=((-1.3, 1.3),) * n,
        minima=((0.0,) * n,),
        equation=f"½ (x² + {condition:g} y²)" if n == 2 else f"½ Σ λᵢ xᵢ², λ from 1 to {condition:g}",
        f=lambda theta: (curvature.to(theta) * theta**2).sum(-1) / 2,
        residuals=lambda theta: curvature.to(theta).sqrt() * theta,
    )


def rosenbrock(n: int = 2) -> Surface:
    """Σ 100 (xᵢ₊₁ - xᵢ²)² + (1 - xᵢ)², smallest at (1, ..., 1); from n = 4 on it has a second, local, minimum.

    Example:
        >>> float(rosenbrock(10)(torch.ones(10)))
        0.0
    """
    if n < 2:
        raise InputError(f"rosenbrock(n={n}): at least 2 dimensions are needed.")

    def residuals(x: Tensor) -> Tensor:
        return 2**0.5 * torch.cat([10 * (x[..., 1:] - x[..., :-1] ** 2), 1 - x[..., :-1]], -1)  # (..., 2n - 2)

    return Surface(
        name="rosenbrock",
        start=tuple(-1.2 if i % 2 == 0 else 1.0 for i in range(n)),
        box=((-1.7, 1.7), (-0.7, 2.2)) if n == 2 else ((-2.0, 2.0),) * n,
        minima=((1.0,) * n,),
        equation="100 (y - x²)² + (1 - x)²" if n == 2 else "Σ 100 (xᵢ₊₁ - xᵢ²)² + (1 - xᵢ)²",
        f=_squares(residuals),
        residuals=residuals,
    )


def _of_two(f: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """f(x, y) as a function of θ = (x, y)."""
    return lambda theta: f(*theta.unbind(-1))


_RAVINE = _of_two(lambda x, y: 0.5**0.5 * torch.stack([x + y, 5 * (y - x)], -1))
_HIMMELBLAU = _of_two(lambda x, y: 2**0.5 * torch.stack([x**2 + y - 11, x + y**2 - 7], -1))
_SADDLE = _of_two(lambda x, y: x**2 / 2 - y**2 / 2 + y**4 / 4)
_FOUR = (
    (3.0, 2.0),
    (-2.805118086952745, 3.131312518250573),
    (-3.779310253377747, -3.283185991286169),
    (3.584428340330492, -1.848126526964404),
)

_TABLE = [
    quadratic(),
    Surface("ravine", _squares(_RAVINE), (-1.0, -1.6), ((-2.1, 1.3), (-2.1, 1.3)), ((0.0, 0.0),),
            "¼ (x + y)² + ¼ 25 (y - x)²", _RAVINE),
    rosenbrock(),
    Surface("himmelblau", _squares(_HIMMELBLAU), (0.0, 0.0), ((-5.5, 5.5), (-5.5, 5.5)), _FOUR,
            "(x² + y - 11)² + (x + y² - 7)²", _HIMMELBLAU),
    Surface("saddle", _SADDLE, (1.0, 0.01), ((-1.4, 1.4), (-1.6, 1.6)), ((0.0, 1.0), (0.0, -1.0)),
            "½ x² - ½ y² + ¼ y⁴"),
    Surface("no-minimum", _of_two(lambda x, y: x**2 - y**2), (1.0, 0.01), ((-1.4, 1.4), (-1.4, 1.4)), (), "x² - y²"),
]  # fmt: skip

SURFACES: dict[str, Surface] = {entry.name: entry for entry in _TABLE}
"""The surfaces by name, in two dimensions; `quadratic` and `rosenbrock` make others."""


def surface(name: str) -> Surface:
    """The surface of a name.

    Example:
        >>> len(surface("himmelblau").minima)
        4
    """
    if name not in SURFACES:
        raise InputError(nearest("surface", name, SURFACES))
    return SURFACES[name]
