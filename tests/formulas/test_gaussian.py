"""The Gaussian: densities and distances against SciPy, ellipses and errors against their definitions."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.spatial.distance import mahalanobis
from scipy.stats import multivariate_normal, norm

from ftheta.errors import InputError
from ftheta.formulas import ellipse, gaussian_bayes_error, gaussian_boundary, principal_axes

C, M1, M2 = np.array([[2, 0.5], [0.5, 1]]), np.array([0.0, 0.0]), np.array([2.0, 1.0])


@pytest.mark.ledger("B211", covers="ftheta.formulas.ellipse")
def test_the_axes_of_an_ellipse_are_eigenvectors_of_the_covariance():
    c = np.array([[2.5, 2.0], [2.0, 2.5]])  # λ = 4.5 and 0.5
    axes, lengths = principal_axes(c, 3.0)
    np.testing.assert_allclose(lengths, 3 * np.sqrt([4.5, 0.5]))  # √λ_i Δ
    np.testing.assert_allclose(axes @ axes.T, np.eye(2), atol=1e-12)
    line = ellipse([1.0, -1.0], c, 3.0, points=400)
    assert line.shape == (400, 2) and np.allclose(line[0], line[-1])
    np.testing.assert_allclose([mahalanobis(place, [1.0, -1.0], np.linalg.inv(c)) for place in line], 3)
    away = np.linalg.norm(line - [1.0, -1.0], axis=1)
    np.testing.assert_allclose([away.max(), away.min()], lengths, rtol=1e-3)
    np.testing.assert_allclose(axes @ c, axes * (lengths[:, None] / 3) ** 2)  # C u_i = λ_i u_i


@pytest.mark.ledger(
    "B292",
    covers="ftheta.formulas.gaussian_boundary",
    says="1 / (2π √det C) before the exponential",
    printed=0.159155,
    right=0.063494,
)
def test_the_boundary_of_two_gaussians_of_one_covariance(ledger):
    w, b = gaussian_boundary(M1, M2, C)
    assert w.round(5).tolist() == [0.85714, 0.57143] and round(b, 5) == -1.14286
    assert round(w @ M1 + b, 3) == -1.143 and round(w @ M2 + b, 3) == 1.143  # g > 0 is the second class
    assert round(w @ (M2 - M1), 4) == 2.2857  # Δ²
    assert round(gaussian_bayes_error(M1, M2, C), 5) == 0.22485
    x = np.random.default_rng(1).normal(size=(20, 2))
    first, second = (multivariate_normal(m, C).logpdf(x) for m in (M1, M2))
    np.testing.assert_allclose(second - first, x @ w + b, atol=1e-12)
    m, n = np.array([1.5, -0.5]), np.array([-1.0, 2.0])  # neither in the origin, and classes of unlike frequency
    w, b = gaussian_boundary(m, n, C, (0.9, 0.1))
    first, second = (multivariate_normal(mean, C).logpdf(x) + np.log(p) for mean, p in ((m, 0.9), (n, 0.1)))
    np.testing.assert_allclose(second - first, x @ w + b, atol=1e-12)
    ledger(multivariate_normal([0.0] * 3, np.eye(3)).pdf([0.0] * 3))  # 1 / (2π √|C|) is for two dimensions


@pytest.mark.parametrize("priors", [(0.5, 0.5), (0.8, 0.2), (0.02, 0.98)])
def test_the_bayes_error_is_the_integral_of_what_loses(priors):
    delta = 1.7

    def lost(t):
        return min(priors[0] * norm.pdf(t), priors[1] * norm.pdf(t, delta))

    w, b = gaussian_boundary([0.0], [delta], [[1.0]], priors)
    cut = -b / w[0]
    found = quad(lost, -12, cut, epsabs=1e-12)[0] + quad(lost, cut, 12, epsabs=1e-12)[0]
    assert gaussian_bayes_error([0.0], [delta], [[1.0]], priors) == pytest.approx(found, rel=1e-8)
    assert gaussian_bayes_error([0.0], [0.0], [[1.0]], priors) == min(priors)
    assert priors[0] * norm.pdf(cut) == pytest.approx(priors[1] * norm.pdf(cut, delta))


def test_what_is_no_covariance_is_refused():
    for wrong in ([[1e-9, 5e-10], [0, 1e-9]], [[1, np.nan], [np.nan, 1]], [[np.inf, 0], [0, 1]], [1.0, 2.0]):
        for of in (principal_axes, lambda c: gaussian_boundary(M1, M2, c)):
            with pytest.raises(InputError, match="A covariance is a symmetric matrix, got shape"):
                of(wrong)
    with pytest.raises(InputError, match="The covariance is not positive definite"):
        gaussian_boundary(M1, M2, [[1.0, 1.0], [1.0, 1.0]])
    with pytest.raises(InputError, match="An ellipse has two dimensions, but the covariance has 3"):
        ellipse([0.0] * 3, np.eye(3))
