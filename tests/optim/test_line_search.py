"""Line searches: the conditions they promise, and that they end whatever they are given."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from ftheta.optim import SEARCHES, exact, wolfe
from ftheta.optim.line_search import MAX_EVALUATIONS

every = pytest.mark.parametrize("name", SEARCHES)


class Counted:
    """φ of value and slope, with the steps that were tried."""

    def __init__(self, value, slope):
        self.value, self.slope, self.tried = value, slope, []

    def __call__(self, t):
        self.tried.append(t)
        return self.value(t), self.slope(t)

    def search(self, name, first=1.0, **options):
        return SEARCHES[name](self, self.value(0.0), self.slope(0.0), first, **options)


def bowl(at, curvature=1.0, floor=0.0):
    return Counted(lambda t: floor + curvature * (t - at) ** 2 / 2, lambda t: curvature * (t - at))


def wavy(a, b, c):
    """Falls at 0, rises in the end, with bumps on the way."""
    return Counted(
        lambda t: a * (t - 1) ** 2 + b * math.sin(c * t) / c, lambda t: 2 * a * (t - 1) + b * math.cos(c * t)
    )


@pytest.mark.ledger("C090", covers="ftheta.optim.exact")
@pytest.mark.parametrize("first", [1e-4, 0.01, 1.0, 100.0])
def test_a_straight_line_through_four_points_takes_the_exact_step(first):
    """Steepest descent from (0, 0) on the sum of squares: α = g·g / g·A g."""
    x, y = np.array([[1.0, 0], [1, 1], [1, 2], [1, 3]]), np.array([1.0, 3, 2, 5])
    g = -2 * x.T @ y
    line = Counted(lambda t: np.sum((y + t * x @ g) ** 2), lambda t: 2 * (x @ g) @ (y + t * x @ g))
    found = line.search("exact", first)
    assert found.t == pytest.approx(0.0297619, rel=2e-6)
    assert found.t == pytest.approx(g @ g / (g @ (2 * x.T @ x) @ g), rel=1e-10)
    assert found.evaluations == len(line.tried) <= 12 and found.reason == ""


@given(at=st.floats(1e-6, 1e6), curvature=st.floats(1e-6, 1e6), first=st.floats(1e-4, 1e4))
def test_exact_on_a_quadratic_is_right_to_ten_digits(at, curvature, first):
    line = bowl(at, curvature)
    assert line.search("exact", first * at).t == pytest.approx(at, rel=1e-10)
    assert len(line.tried) <= 12


@pytest.mark.parametrize("floor", [0.0, 1.0, -3e6])
def test_exact_is_right_where_rounding_hides_the_differences_of_values(floor):
    """Near the minimum all values are equal to 1e-16 of the floor, so values alone give half of the digits."""
    assert bowl(1 / 3, 1e-3, floor).search("exact", 1e-3).t == pytest.approx(1 / 3, rel=1e-10)


@pytest.mark.parametrize(
    ("line", "within"),
    [
        (Counted(lambda t: math.exp(t) - 3 * t, lambda t: math.exp(t) - 3), (0, 5)),
        (Counted(lambda t: t**4 - t, lambda t: 4 * t**3 - 1), (0, 2)),
        (Counted(lambda t: math.sqrt(1 + (t - 9) ** 2), lambda t: (t - 9) / math.sqrt(1 + (t - 9) ** 2)), (0, 20)),
        (Counted(lambda t: -t * math.exp(-t), lambda t: (t - 1) * math.exp(-t)), (0, 3)),
    ],
)
@pytest.mark.parametrize("first", [0.01, 1.0, 30.0])
def test_exact_finds_the_minimum_that_scipy_finds(line, within, first):
    truth = minimize_scalar(line.value, bounds=within, method="bounded", options={"xatol": 1e-12})
    found = line.search("exact", first)
    assert found.t == pytest.approx(truth.x, rel=1e-6) and found.value == line.value(found.t)
    assert abs(line.slope(found.t)) <= 1e-11 * abs(line.slope(0.0))


@given(a=st.floats(0.01, 10), b=st.floats(-5, 5), c=st.floats(0.1, 20), first=st.floats(1e-3, 1e3))
@pytest.mark.parametrize(("c1", "c2"), [(1e-4, 0.9), (1e-3, 0.1)])
def test_what_wolfe_finds_meets_both_conditions(c1, c2, a, b, c, first):
    line = wavy(a, b, c)
    if not line.slope(0.0) < 0:
        return
    found = line.search("wolfe", first, c1=c1, c2=c2)
    assert found.reason == "" and found.evaluations == len(line.tried)
    slack = 1e-12 * abs(line.value(0.0))
    assert line.value(found.t) <= line.value(0.0) + c1 * found.t * line.slope(0.0) + slack
    assert abs(line.slope(found.t)) <= c2 * abs(line.slope(0.0))


@given(at=st.floats(0.01, 100), first=st.floats(1e-2, 1e4), c1=st.sampled_from([1e-4, 0.3]))
def test_backtracking_takes_the_first_half_that_meets_armijo(at, first, c1):
    line = bowl(at)
    found = line.search("backtracking", first, c1=c1)
    halves = [first / 2**k for k in range(MAX_EVALUATIONS)]
    truth = next(t for t in halves if line.value(t) <= line.value(0) + c1 * t * line.slope(0))
    assert found.t == truth and found.evaluations == len(line.tried) == halves.index(truth) + 1


@every
@pytest.mark.parametrize("slope", [0.0, 1.0, math.nan])
def test_a_direction_that_does_not_descend_is_named_without_an_evaluation(name, slope):
    line = bowl(1.0)
    assert SEARCHES[name](line, 7.0, slope) == (0.0, 7.0, 0, "the direction does not descend")
    assert line.tried == []


@pytest.mark.parametrize(
    ("search", "value", "slope"),
    [
        (wolfe, lambda t: -t, lambda t: -1.0),
        (exact, lambda t: -t, lambda t: -1.0),
        (exact, lambda t: -math.log1p(t), lambda t: -1 / (1 + t)),
        (exact, lambda t: -(t**3) - t, lambda t: -3 * t**2 - 1),
    ],
)
def test_a_loss_without_a_minimum_ends_at_the_farthest_point_with_the_reason(search, value, slope):
    line = Counted(value, slope)
    found = search(line, 0.0, -1.0, 0.5)
    assert found.reason == f"the loss has no minimum along this direction: it still falls at a step of {found.t:.3g}"
    assert found.t == max(line.tried) >= 0.5e10 and found.value == value(found.t) and found.evaluations <= 20


@every
def test_a_slope_that_lies_ends_without_a_step(name):
    line = Counted(lambda t: t, lambda t: -1.0)
    found = line.search(name)
    assert found == (0.0, 0.0, len(line.tried), "no step along this direction lowers the loss") and found[2] <= 60


@every
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("first", [1.0, 3.0, 1e6])
def test_steps_into_values_that_are_not_finite_are_shrunk_away_from(name, bad, first):
    """Finite below 1 only; the minimum is at 0.8."""
    line = Counted(lambda t: (t - 0.8) ** 2 if t < 1 else bad, lambda t: 2 * (t - 0.8) if t < 1 else bad)
    found = line.search(name, first)
    assert found.reason == "" and 0 < found.t < 1 and found.value < 0.64
    assert name != "exact" or found.t == pytest.approx(0.8, rel=1e-10)


@every
@given(
    numbers=st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=30),
    first=st.floats(1e-300, 1e300),
)
def test_a_search_ends_whatever_the_function_answers(name, numbers, first):
    """Any value and slope at any step: few evaluations, a t that is finite, a value that is not worse."""
    calls = []

    def phi(t):
        calls.append(t)
        return numbers[len(calls) % len(numbers)], numbers[(3 * len(calls) + 1) % len(numbers)]

    found = SEARCHES[name](phi, 1.0, -1.0, first)
    assert len(calls) == found.evaluations <= MAX_EVALUATIONS
    assert 0 <= found.t < math.inf and found.value <= 1.0 + 1e-13
    assert found.t == 0 or found.t in calls
    assert (found.reason == "") <= (found.t > 0)


@every
@pytest.mark.parametrize("first", [0.01, 0.3, 7.0])
def test_the_first_step_that_is_tried_is_the_one_given(name, first):
    line = bowl(1.0)
    line.search(name, first)
    assert line.tried[0] == first


@every
def test_what_the_precision_hides_does_not_count_as_a_rise(name):
    """φ rises by 10⁻⁷, which is rounding where the precision is 10⁻⁷ and a rise where it is 10⁻¹⁶."""
    blurred = Counted(lambda t: 1.0 + 1e-7 * (t > 0), lambda t: 1e-6 * (t - 1))
    assert blurred.search(name, eps=1e-7).t == 1.0
    assert blurred.search(name).t == 0.0
