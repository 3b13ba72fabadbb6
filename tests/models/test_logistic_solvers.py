"""Loss, gradient and Hessian against autograd; what each solver promises: falling losses and the last digits."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from ftheta.models._logistic_solvers import Orthant, QuasiNewton
from ftheta.models._softmax import PART, Softmax, curved, losses, parts, scaled_solve, standards


def softmax(classes=3, l2=0.01, n=80, d=4):
    rng = np.random.default_rng(classes)
    x = torch.tensor(rng.normal(size=(n, d)) * [1.0, 20, 0.1, 3] + 5)
    y = torch.tensor(np.arange(n) % classes)
    return Softmax(x, y, torch.tensor(rng.uniform(0.5, 2, n)), classes if classes > 2 else 1, l2)


def direct(model, theta, l2):
    """The loss as it is written, in the units of x."""
    w = theta[:, :-1] / model.scale
    raw = model.x @ w.T + theta[:, -1] - w @ model.mean
    raw = torch.cat([torch.zeros_like(raw), raw], 1) if raw.shape[1] == 1 else raw
    return model.weight @ F.cross_entropy(raw, model.y, reduction="none") + l2 * w.square().sum()


@pytest.mark.parametrize("classes", [2, 3])
def test_loss_gradient_and_hessian_are_those_of_autograd(classes):
    model = softmax(classes)
    theta = torch.randn(model.n_raw, 5, dtype=torch.double, generator=torch.Generator().manual_seed(0))
    truth = direct(model, theta, 0.01), torch.autograd.functional.jacobian(lambda t: direct(model, t, 0.01), theta)
    for exact, tolerance in ((True, 1e-12), (False, 1e-5)):
        for found, right in zip(model(theta, exact=exact), truth, strict=True):
            torch.testing.assert_close(found, right, rtol=tolerance, atol=tolerance)
    by_torch = torch.autograd.functional.hessian(lambda t: direct(model, t, 0.01), theta)
    torch.testing.assert_close(model.hessian(theta), by_torch.reshape(theta.numel(), -1))


def test_parts_add_up_to_the_whole(monkeypatch):
    model, theta = softmax(), torch.ones(3, 5, dtype=torch.double)
    whole = model(theta, exact=True), model.hessian(theta), model.margins(theta), standards(model.x, model.weight, 0.1)
    monkeypatch.setattr("ftheta.models._softmax.PART", 60)
    again = model(theta, exact=True), model.hessian(theta), model.margins(theta), standards(model.x, model.weight, 0.1)
    torch.testing.assert_close(again, whole)
    assert len(list(parts(80, 4))) == 6 and PART > 60


def test_log_odds_of_any_size_have_finite_losses():
    raw = torch.tensor([[1000.0, -1000, 0]], dtype=torch.double)
    each, slope = losses(raw, torch.tensor([0, 0, 1]))
    assert each.tolist() == pytest.approx([1000, 0, np.log(2)]) and slope[0].tolist() == pytest.approx([1, 0, -0.5])
    both = torch.cat([torch.zeros_like(raw), raw])
    each, slope = losses(both, torch.tensor([0, 0, 1]))
    assert each.tolist() == pytest.approx([1000, 0, np.log(2)]) and slope[1].tolist() == pytest.approx([1, 0, -0.5])


def test_standards_of_weighted_columns_include_the_penalty():
    x = torch.tensor([[1.0, 4], [3, 4], [7, 4]], dtype=torch.double)
    mean, scale = standards(x, torch.tensor([0.5, 0.25, 0.25], dtype=torch.double), 0.5)
    assert mean.tolist() == [3.0, 4.0] and scale.tolist() == [pytest.approx(np.sqrt(6 + 1)), np.inf]


def test_odd_rows_have_no_say_in_the_unit_of_a_column():
    x = torch.tensor([[float(i % 7), i % 7] for i in range(70)], dtype=torch.double)
    x[3, 0] = 1e9
    mean, scale = standards(x, torch.full((70,), 1 / 70, dtype=torch.double), 0.0)
    assert mean[0] == 3 and scale[0] == 3.0 and scale[1] == pytest.approx(2.0)  # 1.5 median deviations of 2


def test_a_singular_system_has_its_shortest_solution_whatever_the_units():
    a = torch.tensor([[4.0, 4, 0], [4, 4, 0], [0, 0, 0]], dtype=torch.double)
    assert scaled_solve(a, torch.tensor([8.0, 8, 0], dtype=torch.double)).tolist() == pytest.approx([1, 1, 0])
    unit = torch.tensor([1e-100, 1.0, 1e100], dtype=torch.double)
    b = torch.tensor([[2.0, 1, 0], [1, 2, 0.5], [0, 0.5, 3]], dtype=torch.double)
    found = scaled_solve(b * unit * unit[:, None], b.sum(1) * unit)
    assert (found * unit).tolist() == pytest.approx([1, 1, 1], rel=1e-9)


def test_the_hessian_by_products_is_the_sum_of_outer_products():
    g = torch.Generator().manual_seed(0)
    x, c = (torch.randn(*shape, generator=g, dtype=torch.double) for shape in ((7, 3), (7, 2, 2)))
    c = c + c.transpose(1, 2)
    torch.testing.assert_close(curved(x, c), sum(torch.kron(c[i], torch.outer(x[i], x[i])) for i in range(7)))


@pytest.mark.parametrize(
    "make",
    [
        lambda: QuasiNewton(softmax(), 1e-12),
        lambda: Orthant(softmax(), 1e-9, 0.01, newton=True),
        lambda: Orthant(softmax(), 1e-9, 0.01, newton=False),
    ],
    ids=["l-bfgs", "orthant newton", "orthant l-bfgs"],
)
def test_every_step_lowers_the_loss_and_the_end_is_of_float64(make):
    process, rows = make(), []
    while (not rows or rows[-1]["gradient"] > process.tol) and len(rows) < 200:
        rows.append(process.advance())
    losses_ = [row["loss"] for row in rows]
    assert all(b <= a * (1 + 1e-7) for a, b in zip(losses_, losses_[1:], strict=False))
    assert process.double and rows[-1]["gradient"] <= process.tol and rows[-1]["step"] == len(rows) < 200
    value, slope = process.residual(process.at(process.phi.detach()))
    smooth = direct(process.model, process.theta(), 0.01)
    pull = 0.01 * (process.theta()[:, :-1] / process.model.scale).abs().sum() if isinstance(process, Orthant) else 0
    assert float(value) == pytest.approx(float(smooth + pull), rel=1e-12) and float(slope.abs().max()) <= process.tol


def test_the_guess_of_the_curvature_saves_steps():
    """Columns that are almost the same make a long valley; the root makes it round."""
    rng = np.random.default_rng(0)
    common = rng.normal(size=(400, 1))
    x = torch.tensor(common + 0.02 * rng.normal(size=(400, 12)))
    y = torch.tensor((rng.uniform(size=400) < 1 / (1 + np.exp(-30 * (x[:, 0] - x[:, 1]).numpy()))).astype(int))
    counts = {}
    for name in ("root", "none"):
        process = QuasiNewton(Softmax(x, y, torch.ones(400, dtype=torch.double), 1, 1e-5), 1e-7)
        if name == "none":
            process.roots = {dtype: torch.ones(12, dtype=dtype) for dtype in process.roots}
        while process.advance()["gradient"] > 1e-7 and process.rounds < 400:
            pass
        counts[name] = process.rounds
    assert 2 * counts["root"] < counts["none"]
