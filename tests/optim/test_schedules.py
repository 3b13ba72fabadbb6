"""Schedules: factors at chosen updates, warm-up before all of them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.errors import InputError
from ftheta.optim import SCHEDULES, Plateau, check_schedule, factor

every = pytest.mark.parametrize("name", SCHEDULES)


@pytest.mark.parametrize(
    ("name", "expected"),  # at updates 0, 25, 50, 75, 100 of 100
    [
        ("constant", [1, 1, 1, 1, 1]),
        ("step", [1, 1, 0.1, 0.01, 0.01]),
        ("exponential", [1, 0.01**0.25, 0.1, 0.01**0.75, 0.01]),
        ("cosine", [1, 0.8535534, 0.5, 0.1464466, 0]),
        ("linear", [1, 0.75, 0.5, 0.25, 0]),
        ("inverse", [1, 1 / 25.75, 1 / 50.5, 1 / 75.25, 0.01]),
        ("inverse-sqrt", [1, 25.75**-0.5, 50.5**-0.5, 75.25**-0.5, 0.1]),
    ],
)
def test_factors_of_the_equation(name, expected):
    assert [factor(name, s, 100) for s in (0, 25, 50, 75, 100)] == pytest.approx(expected)


@pytest.mark.ledger("C095", covers="ftheta.optim.factor")
def test_rates_of_the_three_schedules_with_their_settings():
    cosine = [0.1 * factor("cosine", s, 100) for s in (0, 25, 50, 75, 100)]
    assert cosine == pytest.approx([0.1, 0.08536, 0.05, 0.01464, 0], abs=5e-6)
    assert 0.1 * factor("step", 65, 100, options={"factor": 0.5, "at": (0.3, 0.6, 0.9)}) == pytest.approx(0.025)
    assert 0.1 * factor("exponential", 50, 100, options={"end": 0.99**100}) == pytest.approx(0.06050, abs=5e-6)
    assert [
        factor(name, 100, 100, options={"end": 0.3}) for name in ("cosine", "linear", "inverse", "inverse-sqrt")
    ] == (pytest.approx([0.3] * 4))


@pytest.mark.ledger("A140", covers="ftheta.optim.factor")
def test_a_warm_up_of_ten_updates_is_half_way_at_the_fifth_and_a_cosine_ends_at_zero():
    assert 1e-3 * factor("cosine", 4, 100, warmup=10) == pytest.approx(5e-4)  # the fifth update
    assert factor("cosine", 9, 100, warmup=10) == 1 and factor("cosine", 100, 100, warmup=10) == 0
    assert factor("inverse-sqrt", 55, 100, warmup=10) == pytest.approx((1 + 99 * 0.5) ** -0.5)


@every
def test_the_warm_up_ramps_to_one_and_the_shape_follows_over_the_rest(name):
    assert [factor(name, s, 110, warmup=10) for s in range(10)] == pytest.approx([(s + 1) / 10 for s in range(10)])
    assert [factor(name, s + 10, 110, warmup=10) for s in range(100)] == [factor(name, s, 100) for s in range(100)]


@every
@given(step=st.integers(0, 300), horizon=st.integers(1, 200), warmup=st.integers(0, 250))
def test_a_factor_lies_between_zero_and_one_and_never_rises_after_the_warm_up(name, step, horizon, warmup):
    now, then = factor(name, step, horizon, warmup), factor(name, step + 1, horizon, warmup)
    assert 0 <= now <= 1 and math.isfinite(now)
    assert then <= now if step >= warmup else then >= now


@every
def test_no_update_within_the_horizon_is_wasted_and_the_last_value_stays(name):
    assert all(factor(name, s, 40, warmup=5) > 0 for s in range(40))
    assert factor(name, 40, 40) == factor(name, 400, 40)


@pytest.mark.parametrize("patience", [1, 2, 3])
def test_a_plateau_waits_anew_after_each_time_that_it_has_slowed_down(patience):
    slow = Plateau(factor=0.5, patience=patience)
    assert [slow.see(1.0) for _ in range(1 + 3 * patience)] == [0.5 ** (k // patience) for k in range(1 + 3 * patience)]
    assert slow.see(0.9) == 0.5**3 and slow.see(0.9) == 0.5 ** (4 if patience == 1 else 3)


def test_an_unknown_schedule_is_answered_with_the_nearest():
    with pytest.raises(InputError, match=r"Unknown schedule 'cosin'.*[Dd]id you mean 'cosine'.* Known: constant, step"):
        factor("cosin", 0, 10)


@pytest.mark.parametrize("name", ["cosine", "linear", "exponential", "inverse", "inverse-sqrt"])
def test_a_schedule_may_end_at_zero_where_its_formula_allows(name):
    if name in ("cosine", "linear"):
        assert factor(name, 10, 10, options={"end": 0.0}) == pytest.approx(0.0, abs=1e-12)
    else:
        with pytest.raises(InputError, match=rf"'end' of schedule '{name}' must be above 0. Got 0.0"):
            check_schedule(name, {"end": 0.0})
    assert factor(name, 10, 10, options={"end": 0.25}) == pytest.approx(0.25)
    with pytest.raises(InputError, match="must be (0 or )?above"):
        check_schedule(name, {"end": -0.1})
