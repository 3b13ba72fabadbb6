"""Surfaces: values and minima against SciPy and closed forms."""

import numpy as np
import pytest
import torch
from scipy import optimize
from torch.autograd.functional import hessian, jacobian

from ftheta.errors import InputError
from ftheta.formulas import SURFACES, quadratic, rosenbrock, surface

RNG = np.random.default_rng(0)
PLANE = torch.from_numpy(RNG.uniform(-3, 3, size=(5, 4, 2)))
X, Y = PLANE.unbind(-1)
CLOSED = {
    "quadratic": (X**2 + 100 * Y**2) / 2,
    "ravine": (X + Y) ** 2 / 4 + 25 * (Y - X) ** 2 / 4,
    "rosenbrock": 100 * (Y - X**2) ** 2 + (1 - X) ** 2,
    "himmelblau": (X**2 + Y - 11) ** 2 + (X + Y**2 - 7) ** 2,
    "saddle": X**2 / 2 - Y**2 / 2 + Y**4 / 4,
    "no-minimum": X**2 - Y**2,
}


@pytest.mark.parametrize("name", SURFACES)
def test_values_are_those_of_the_equation_for_any_leading_axes(name):
    torch.testing.assert_close(SURFACES[name](PLANE), CLOSED[name])


@pytest.mark.parametrize("n", [2, 3, 10])
def test_rosenbrock_is_that_of_scipy(n):
    x = RNG.normal(size=(6, n))
    np.testing.assert_allclose(rosenbrock(n)(torch.from_numpy(x)), [optimize.rosen(row) for row in x], rtol=1e-12)


@pytest.mark.parametrize("name", [name for name, s in SURFACES.items() if s.minima])
def test_the_minima_are_minima_and_descents_from_everywhere_end_in_one_of_them(name):
    ground = SURFACES[name]
    for point in torch.tensor(ground.minima, dtype=torch.float64):
        torch.testing.assert_close(jacobian(ground, point), torch.zeros(2, dtype=torch.float64), atol=1e-9, rtol=0)
        assert torch.linalg.eigvalsh(hessian(ground, point))[0] > 0.1
    f = lambda x: float(ground(torch.tensor(x)))  # noqa: E731
    starts = RNG.uniform(*np.array(ground.box).T, size=(5, 2))
    ends = [optimize.minimize(f, x, method="BFGS", options={"gtol": 1e-7}).x for x in starts]
    assert max([min(np.linalg.norm(end - np.array(m)) for m in ground.minima) for end in ends]) < 1e-3


@pytest.mark.parametrize(("condition", "n"), [(1, 2), (7, 2), (1000, 5)])
def test_the_condition_number_is_that_of_the_hessian(condition, n):
    bowl = quadratic(condition, n)
    eigenvalues = torch.linalg.eigvalsh(torch.autograd.functional.hessian(bowl, torch.zeros(n, dtype=torch.float64)))
    assert eigenvalues.min() == pytest.approx(1) and eigenvalues.max() == pytest.approx(condition)
    np.testing.assert_allclose(eigenvalues.log().diff(), np.log(condition) / (n - 1), atol=1e-12)  # geometric
    assert len(bowl.start) == n
    for wrong in ((0.5, 2), (3, 1)):
        with pytest.raises(InputError, match="condition"):
            quadratic(*wrong)


@pytest.mark.parametrize("ground", [*SURFACES.values(), rosenbrock(4), quadratic(9, 3)], ids=lambda s: s.name)
def test_residuals_are_half_squares_of_the_value_and_box_start_and_minima_fit(ground):
    n = len(ground.start)
    x = torch.from_numpy(RNG.normal(size=(3, n)))
    if ground.residuals is not None:
        torch.testing.assert_close(ground.residuals(x).square().sum(-1) / 2, ground(x))
    assert len(ground.box) == n and all(len(m) == n for m in ground.minima)
    places = [ground.start, *ground.minima]
    assert all(low < v < high for place in places for v, (low, high) in zip(place, ground.box, strict=True))


def test_surfaces_are_found_by_name():
    assert surface("ravine") is SURFACES["ravine"]
    with pytest.raises(InputError, match=r"Unknown surface 'rosenbrok'\. Did you mean 'rosenbrock'\?"):
        surface("rosenbrok")
