"""Line search: how far to go along a direction that descends.

    φ(t) = F(θ + t d),    φ'(t) = ∇F(θ + t d)·d,    φ'(0) < 0

| name | takes a t with |
|---|---|
| backtracking | φ(t) <= φ(0) + c₁ t φ'(0) (Armijo): the first of η, η/2, η/4, ... |
| wolfe | that and abs φ'(t) <= c₂ abs φ'(0) (strong Wolfe) |
| exact | φ'(t) = 0, the same with c₁ = 0 and c₂ near 0 |

The last two bracket and shrink: steps grow until an interval [lo, hi] must hold such a t, then the minimum of the cubic
with the values and slopes of its ends takes the place of one of them; an interval that shrinks too little is halved.

A value that is not finite counts as +inf. Values nearer than 100 ε abs φ(0) count as equal: close to a minimum rounding
hides their differences while slopes still tell. Every search takes φ, φ(0), φ'(0), the first step to try and the
precision ε of φ, and ends after at most 60 evaluations: with a t > 0 and no reason, or with the best t that it saw and
the reason.

Reference: Nocedal and Wright, Numerical Optimization, 2nd edition, chapter 3 (2006).
"""

import math
from collections.abc import Callable
from typing import NamedTuple

LineFunction = Callable[[float], tuple[float, float]]
"""t -> φ(t), φ'(t)."""
MAX_EVALUATIONS = 60  # evaluations
MAX_GROWTH = 1e10  # a minimum farther away than this many first steps does not count
UPHILL = "the direction does not descend"
NO_STEP = "no step along this direction lowers the loss"
NO_MINIMUM = "the loss has no minimum along this direction: it still falls at a step of {:.3g}"


class StepResult(NamedTuple):
    """Where a search ended."""

    t: float
    value: float
    evaluations: int
    reason: str = ""  # why it failed


class Point(NamedTuple):
    """A t with φ and φ'."""

    t: float
    value: float
    slope: float


def backtracking(
    phi: LineFunction, value: float, slope: float, first: float = 1.0, *, eps: float = 2.0**-52, c1: float = 1e-4
) -> StepResult:
    """The first of `first`, `first`/2, ... that lowers the loss by c₁ of what the slope predicts."""
    if not slope < 0:
        return StepResult(0.0, value, 0, UPHILL)
    t = first
    for n in range(1, MAX_EVALUATIONS + 1):
        p = _try(phi, t)
        lower = p.value < value and p.value <= value + c1 * t * slope
        if lower or (abs(p.value - value) <= 100 * eps * abs(value) and abs(p.slope) <= 0.9 * abs(slope)):
            return StepResult(t, p.value, n)
        t /= 2
    return StepResult(0.0, value, MAX_EVALUATIONS, NO_STEP)


def wolfe(
    phi: LineFunction,
    value: float,
    slope: float,
    first: float = 1.0,
    *,
    eps: float = 2.0**-52,
    c1: float = 1e-4,
    c2: float = 0.9,
) -> StepResult:
    """A step that meets the strong Wolfe conditions; failing that the best one seen, if it lowers the loss.

    Example:
        >>> wolfe(lambda t: ((t - 1) ** 2, 2 * (t - 1)), 1.0, -2.0, first=8.0, c2=0.1)
        StepResult(t=1.0, value=0.0, evaluations=2, reason='')
    """
    if not slope < 0:
        return StepResult(0.0, value, 0, UPHILL)
    lo = best = before = Point(0.0, value, slope)
    hi, t, n, widths, noise = None, first, 0, (math.inf, math.inf), 100 * eps * abs(value)
    while n < MAX_EVALUATIONS and abs(t - lo.t) > 1e4 * eps * t and not (hi is None and lo.t >= MAX_GROWTH * first):
        p, n = _try(phi, t), n + 1
        best = min(best, p, key=lambda q: q.value)
        if p.value > min(value + c1 * t * slope, lo.value) + noise:
            hi = p
        elif abs(p.slope) <= c2 * abs(slope):
            return StepResult(t, p.value, n)
        else:
            if p.slope * (1.0 if hi is None else hi.t - lo.t) >= 0:
                hi = lo  # the minimum lies behind p
            before, lo = lo, p
        if hi is None:
            t = _beyond(before, lo)
        else:
            widths = (widths[1], abs(hi.t - lo.t))
            t = _between(lo, hi, noise, slow=widths[1] > 0.66 * widths[0])
    if hi is None and best.t and lo.t >= MAX_GROWTH * first:
        return StepResult(best.t, best.value, n, NO_MINIMUM.format(best.t))
    best = lo if lo.t else best
    better = best.value < value - noise or abs(best.slope) <= 0.9 * abs(slope)
    return StepResult(best.t, best.value, n) if best.t and better else StepResult(0.0, value, n, NO_STEP)


def exact(phi: LineFunction, value: float, slope: float, first: float = 1.0, *, eps: float = 2.0**-52) -> StepResult:
    """The minimum along the direction, to 10⁴ ε of the slope at its start or of t."""
    return wolfe(phi, value, slope, first, eps=eps, c1=0.0, c2=1e4 * eps)


SEARCHES: dict[str, Callable[..., StepResult]] = {"wolfe": wolfe, "backtracking": backtracking, "exact": exact}


def _try(phi: LineFunction, t: float) -> Point:
    value, slope = phi(t)
    return Point(t, value, slope) if math.isfinite(value) and math.isfinite(slope) else Point(t, math.inf, math.nan)


def _beyond(before: Point, last: Point) -> float:
    """The next step of a growing series, at most ten times the last."""
    t, width = _cubic(before, last), last.t - before.t
    return min(max(t, last.t + 0.1 * width), 10 * last.t) if math.isfinite(t) and t > last.t else 10 * last.t


def _between(lo: Point, hi: Point, noise: float, *, slow: bool) -> float:
    """A step inside the interval."""
    width = hi.t - lo.t
    if not math.isfinite(hi.value):
        return lo.t + 0.1 * width
    if slow:
        return lo.t + 0.5 * width
    flat = abs(lo.value - hi.value) <= 1e4 * noise and lo.slope * hi.slope < 0
    share = lo.slope / (lo.slope - hi.slope) if flat else (_cubic(lo, hi) - lo.t) / width
    return lo.t + (share if 0.0 < share < 1.0 else 0.5) * width


def _cubic(a: Point, b: Point) -> float:
    """Where the cubic with the values and slopes of two points has its minimum, NaN where it has none."""
    mean = a.slope + b.slope - 3 * (a.value - b.value) / (a.t - b.t)
    square = mean * mean - a.slope * b.slope
    if not square >= 0:
        return math.nan
    root = math.copysign(math.sqrt(square), b.t - a.t)
    below = b.slope - a.slope + 2 * root
    return b.t - (b.t - a.t) * (b.slope + root - mean) / below if below else math.nan
