"""Descents of plain functions: the numbers of the rule, and the reason for the end."""

import numpy as np
import pytest
import torch

from ftheta.errors import InputError
from ftheta.formulas import SURFACES, quadratic, rosenbrock
from ftheta.optim import RULES
from ftheta.train import FunctionObjective, Training, minimize

LINE_X, LINE_Y = torch.tensor([0.0, 1, 2, 3]).double(), torch.tensor([1.0, 3, 2, 5]).double()
LIMIT = 2 / 33.62049935  # 2 / λmax of the Hessian [[8, 12], [12, 28]]


def line(theta):
    """Sum of squares of a straight line over four points: least at (1.1, 1.1)."""
    return (LINE_Y - theta[0] - theta[1] * LINE_X).square().sum()


def parabola(x):
    return x @ x


# ---- the numbers


@pytest.mark.ledger(
    "A116",
    covers="ftheta.train.minimize",
    says="the usual rule is x <- x - η v, with the unit vector v",
    printed=0.05,
    right=1.05 * 0.8**100,
)
def test_gradient_descent_on_a_parabola_and_where_the_printed_unit_vector_leads(ledger):
    path = minimize(parabola, [1.05], lr=0.1, steps=100)
    np.testing.assert_allclose(path.points[:, 0], 1.05 * 0.8 ** np.arange(101), rtol=1e-12)
    assert path.points[-1, 0] == pytest.approx(2.1e-10, rel=0.02)
    ledger(abs(path.points[-1, 0]))
    unit = minimize(parabola, [1.05], optimizer="normalized-gd", lr=0.1, steps=100)
    assert abs(unit.points[-1, 0]) == pytest.approx(0.05) and unit.values.min() > 0.002  # never below


@pytest.mark.ledger(
    "B154",
    covers="ftheta.train.minimize",
    says="Δw <- -η min E, equivalent to Δw <- -η ∂E/∂w",
    printed=[-0.2, -0.2],
    right=[0.6, -0.8],
)
def test_one_update_is_the_derivative_times_minus_the_rate_and_not_the_minimum(ledger):
    """E = (w₁ - 3)² + 2 (w₂ + 2)² + 2 at 0: its derivative is (-6, 8), its lowest value 2."""
    path = minimize(lambda w: (w[0] - 3) ** 2 + 2 * (w[1] + 2) ** 2 + 2, [0.0, 0.0], lr=0.1, steps=1)
    ledger(path.points[1] - path.points[0])


@pytest.mark.ledger("B019", covers="ftheta.train.minimize")
def test_descent_is_monotone_below_two_over_l_and_not_above():
    bowl = quadratic(100)
    curvature = torch.autograd.functional.hessian(bowl, torch.zeros(2, dtype=torch.float64))
    limit = 2 / float(torch.linalg.eigvalsh(curvature).max())
    assert limit == pytest.approx(0.02)
    below, above = (minimize(bowl, [1.0, 1.0], lr=share * limit, steps=200).values for share in (0.995, 1.005))
    assert below[0] == above[0] == 50.5
    assert (np.diff(below) < 0).all()
    assert (np.diff(above) > 0).sum() > 150 and above[199] == pytest.approx(2623, abs=1)
    assert above[200] == pytest.approx(2676, abs=1)


@pytest.mark.ledger("C086", covers="ftheta.train.minimize")
def test_full_batch_descent_reports_which_rule_ended_it():
    one = minimize(line, [0.0, 0.0], lr=0.01, steps=1)
    np.testing.assert_allclose(one.points[1], [0.22, 0.44])
    assert one.reason == "all 1 steps are made"
    small = minimize(line, [0.0, 0.0], lr=0.05, steps=500, tolerance=1e-6)
    np.testing.assert_allclose(small.points[-1], [1.1, 1.1], atol=1e-6)
    assert small.reason.endswith("is not above the tolerance 1e-06") and len(small.points) < 200
    halved = minimize(lambda x: x @ x, [4.0], lr=0.25, steps=50, tolerance=2.0)  # gradients 8, 4, 2
    assert halved.points[:, 0].tolist() == [4.0, 2.0, 1.0] and halved.reason.startswith("the gradient, 2, is not above")
    assert len(minimize(lambda x: x @ x, [4.0], lr=0.5, steps=50).points) == 2  # the gradient is 0
    stuck = minimize(line, [0.0, 0.0], lr=0.05, steps=500, patience=4)
    assert stuck.reason == "no lower value for 4 steps"
    assert stuck.values[-5:].min() == stuck.values.min() == pytest.approx(2.7)
    assert len(stuck.values) - 1 - stuck.values.argmin() == 4
    assert minimize(line, [0.0, 0.0], lr=0.999 * LIMIT, steps=20).values[-1] < 39
    assert minimize(line, [0.0, 0.0], lr=1.1 * LIMIT, steps=20).values[-1] > 39


def outcome(f, start, lr, steps=100):
    """Diverged: above the start; converged: a thousandth of the slope; else the last two steps tell."""
    path = minimize(f, start, lr=lr, steps=steps)
    if not path.values[-1] <= path.values[0]:
        return "diverged"
    first, last = (torch.func.grad(f)(torch.from_numpy(path.points[i])).norm() for i in (0, -1))
    if last <= 1e-3 * first:  # perhaps after one step
        return "converged"
    before, after = np.diff(path.points[-3:], axis=0)
    return "oscillating" if before @ after < 0 else "slow"


@pytest.mark.middle
@pytest.mark.ledger("C088", covers="ftheta.train.minimize")
def test_a_convex_loss_is_descended_to_its_minimum_below_the_stability_limit_only():
    for seed in range(3):
        start = np.random.default_rng(seed).normal(size=2, scale=5)
        for lr in (0.045, 0.055):
            np.testing.assert_allclose(minimize(line, start, lr=lr, steps=100).best, [1.1, 1.1], atol=1e-3)
    assert outcome(line, [0.0, 0.0], 0.0601, steps=50) == "diverged"
    far = minimize(line, [0.0, 0.0], lr=0.0601, steps=1000)
    assert far.values.max() > 1e17 and far.reason.startswith(("diverged: f rose from 39 to ", "all 1000 steps"))


@pytest.mark.ledger("A124", covers="ftheta.train.minimize")
def test_a_tenth_is_no_rate_for_every_problem():
    """On 50 x² every rate above 0.02 diverges; a tenth and a hundredth do well on others, or nothing at all."""
    steep = [outcome(lambda x: 50 * parabola(x), [1.0], lr) for lr in (0.1, 0.0201, 0.02, 0.0199, 0.01, 0.0001)]
    assert steep == ["diverged", "diverged", "oscillating", "oscillating", "converged", "slow"]
    assert [outcome(parabola, [1.0], lr) for lr in (0.1, 0.01)] == ["converged", "slow"]
    valley, hills = SURFACES["rosenbrock"], SURFACES["himmelblau"]
    assert [outcome(valley, [-1.2, 1.0], lr, 40) for lr in (0.1, 0.01, 0.001)] == ["diverged", "diverged", "slow"]
    assert [outcome(hills, [0.0, 0.0], lr, 40) for lr in (0.1, 0.01)] == ["diverged", "converged"]


def test_the_path_is_that_of_the_same_rule_of_torch():
    theta = torch.tensor([-1.2, 1.0], dtype=torch.float64, requires_grad=True)
    optimizer, points, valley = torch.optim.RMSprop([theta], lr=0.01, alpha=0.95), [], rosenbrock()
    for _ in range(20):
        points.append(theta.detach().numpy().copy())
        optimizer.zero_grad()
        valley(theta).backward()
        optimizer.step()
    path = minimize(valley, [-1.2, 1.0], optimizer="rmsprop", lr=0.01, steps=20, options={"alpha": 0.95})
    np.testing.assert_allclose(path.points[:-1], points, rtol=1e-12)
    np.testing.assert_allclose(path.points[-1], theta.detach(), rtol=1e-12)
    np.testing.assert_allclose(path.values, valley(torch.from_numpy(path.points)), rtol=1e-15)
    assert path.evaluations.tolist() == list(range(21))  # one gradient a step; the record does not count
    assert (np.diff(path.seconds) > 0).all() and path.seconds[0] == 0
    assert path.points.dtype == path.values.dtype == np.float64


@pytest.mark.parametrize("name", RULES)
def test_every_rule_descends_or_says_what_it_misses(name):
    bowl = quadratic(10)
    if RULES[name].needs == "curvature":
        with pytest.raises(InputError, match="FunctionObjective has no likelihood, whose curvature"):
            minimize(bowl, [1.0, 1.0], optimizer=name, steps=3)
        return
    path = minimize(bowl, [1.0, 1.0], optimizer=name, steps=30, tolerance=1e-9)
    assert path.values.min() < path.values[0] == 5.5 and path.reason and path.evaluations[-1] > 0
    assert np.isfinite(path.points).all()


def test_functions_with_residuals_are_least_squares_problems():
    batch = [quadratic(10), quadratic(4)]
    r = FunctionObjective(batch, [1.0, 2.0]).residual(_batch(2))
    assert r is not None and (r.square().sum(1) / 2).tolist() == pytest.approx([20.5, 8.5])
    assert FunctionObjective(parabola, [1.0]).residual(_batch(1)) is None


def _batch(n):
    from ftheta.data import Batch

    return Batch(torch.arange(n))


def test_several_functions_are_minimised_in_the_mean_by_whole_or_by_part():
    parts = [lambda x, c=c: (x[0] - c) ** 2 for c in (-1.0, 0.0, 4.0)]
    whole = minimize(parts, [9.0], lr=0.5, steps=1)  # one step to the mean of the centres
    np.testing.assert_allclose(whole.points[1], [1.0])
    np.testing.assert_allclose(whole.values, [np.mean([(p - c) ** 2 for c in (-1, 0, 4)]) for p in (9, 1)])
    some = minimize(parts, [9.0], optimizer="sgd", lr=0.5, steps=6)  # each step goes to the centre of one
    epochs = some.points[1:, 0].reshape(2, 3)
    assert [sorted(epoch) for epoch in epochs] == [[-1, 0, 4]] * 2
    other = minimize(parts, [9.0], optimizer="sgd", lr=0.5, steps=6, seed=1)
    assert other.points.tolist() != some.points.tolist()
    assert some.points.tolist() == minimize(parts, [9.0], optimizer="sgd", lr=0.5, steps=6).points.tolist()


@pytest.mark.ledger("A142", covers="ftheta.train.Training")
def test_a_gradient_is_clipped_by_its_norm_or_by_its_values():
    """Of (3, 4): norm 1 keeps the direction, values within 3.5 do not; a norm below the limit is not changed."""
    for training, step in (
        (Training(clip_norm=1.0), [0.6, 0.8]),
        (Training(clip_value=3.5), [3, 3.5]),
        (Training(clip_norm=5.1), [3, 4]),
    ):
        moved = minimize(lambda x: 3 * x[0] + 4 * x[1], [0.0, 0.0], lr=1.0, steps=1, training=training)
        np.testing.assert_allclose(-moved.points[1], step, rtol=1e-5)


def test_knobs_of_training_count():
    clipped = minimize(parabola, [30.0, 40.0], lr=1.0, steps=1, training=Training(clip_norm=5.0))
    np.testing.assert_allclose(clipped.points[1], [27, 36])
    falling = minimize(lambda x: x.sum(), [0.0], lr=1.0, steps=4, training=Training(schedule="linear"))
    np.testing.assert_allclose(falling.points[:, 0], [0, -1, -1.75, -2.25, -2.5])
    both = Training(options={"momentum": 0.5})
    moved = minimize(lambda x: x.sum(), [0.0], lr=1.0, steps=2, training=both, options={"nesterov": True})
    np.testing.assert_allclose(moved.points[:, 0], [0, -1.5, -3.25])


# ---- the end


def test_what_is_not_finite_ends_it_and_the_best_point_is_kept():
    path = minimize(lambda x: x.log().sum(), [1.0], lr=0.6, steps=50)
    assert path.reason == "f became nan at step 2; the best point is that of step 1: try a smaller lr"
    np.testing.assert_allclose(path.best, [0.4])
    assert np.isfinite(path.values[:-1]).all() and len(path.values) == 3


def test_a_surface_without_a_minimum_is_called_so():
    path = minimize(SURFACES["no-minimum"], [1.0, 0.01], lr=0.3, steps=10_000)
    assert path.reason.startswith("f is unbounded below: it fell from 0.9999 to -")
    assert len(path.values) < 200 and path.best.tolist() == path.points[-1].tolist()


def test_a_descent_that_climbs_for_ever_has_diverged():
    path = minimize(parabola, [1.0], lr=2.0, steps=10_000)
    assert path.reason.startswith("diverged: f rose from 1 to ") and path.reason.endswith("; try a smaller lr")
    assert len(path.values) < 50 and path.best.tolist() == [1.0]
    short = minimize(parabola, [1.0], lr=2.0, steps=3)
    assert short.reason == "all 3 steps are made; f rose from 1 to 729: try a smaller lr"


# ---- results and refusals


def test_the_path_as_table_and_figure():
    path = minimize(parabola, [3.0, 4.0], lr=0.25, steps=2)
    table = path.table()
    assert table.columns["value"] == [25, 6.25, 1.5625] and table.columns["‖Δθ‖"] == [None, 2.5, 1.25]
    assert table.caption == "Ended: all 2 steps are made."
    axes = path.figure().axes[0]
    assert axes.lines[0].get_xydata().tolist() == [[0, 25], [1, 6.25], [2, 1.5625]]
    assert (axes.get_xlabel(), axes.get_title()) == ("step", "Ended: all 2 steps are made")


@pytest.mark.middle
def test_what_has_no_gradient_or_is_not_defined_everywhere_is_for_the_genetic_algorithm():
    steps = minimize(lambda x: x.round().long().abs().sum(), [3.0, -2.0], optimizer="genetic", steps=40)
    assert steps.values[-1] == 0 and steps.reason == "all 40 steps are made"
    path = minimize(lambda x: x.log().square().sum(), [0.3] * 3, optimizer="genetic", steps=120)  # x > 0 only
    assert path.reason == "all 120 steps are made" and path.best == pytest.approx(np.ones(3), abs=0.05)


@pytest.mark.parametrize(
    ("f", "start", "knobs", "sentence"),
    [
        (parabola, [np.nan], {}, r"start is \[nan\]; one vector of finite numbers"),
        (parabola, [[1.0]], {}, r"start is \[\[1\.0\]\]; one vector"),
        (parabola, ["a"], {}, r"start is \['a'\]; one vector of finite numbers"),
        (parabola, None, {}, r"start is None; one vector of finite numbers"),
        (parabola, [], {}, r"start is \[\]; one vector of finite numbers"),
        (lambda x: torch.tensor(1.0), [1.0], {}, r"f has no gradient: it does not reach θ by differentiable torch"),
        (lambda x: x.round().long().sum(), [1.0], {"optimizer": "bfgs"}, r"f has no gradient: .* or use optimizer="),
        (3.0, [1.0], {}, r"f is 3\.0; a torch function of a vector, or a list of them, is needed\."),
        ([], [1.0], {}, r"f is \[\]; a torch function"),
        (lambda x: x, [1.0, 2.0], {}, r"f gives shape \(2,\) for a vector of 2; one number as a tensor is needed\."),
        (lambda x: 1.0, [1.0], {}, r"f gives float for a vector of 1"),
        (lambda x: x.log().sum(), [-1.0], {}, r"f is nan at the start \[-1\.0\]; begin where it is finite\."),
        (parabola, [1.0], {"steps": 0}, r"steps=0, tolerance=0\.0, patience=None: at least 1 step"),
        (parabola, [1.0], {"tolerance": -1}, r"tolerance=-1, .* a tolerance of at least 0"),
        (parabola, [1.0], {"patience": 0}, r"patience=0: .* a patience of at least 1 \(or None\)"),
        (parabola, [1.0], {"optimizer": "adm"}, r"Unknown optimizer 'adm'\. Did you mean 'adam'"),
    ],
)
def test_what_cannot_be_minimised_gets_a_sentence(f, start, knobs, sentence):
    with pytest.raises(InputError, match=sentence):
        minimize(f, start, **knobs)
