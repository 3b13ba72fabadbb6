"""Class densities: SciPy's kernel estimate and Gaussians, posteriors, cuts and their risk."""

import numpy as np
import pytest
from scipy.stats import gaussian_kde, norm

from ftheta.errors import InputError
from ftheta.formulas import gaussian_rule
from ftheta.measure import densities

RNG = np.random.default_rng(0)
Y = np.repeat([0, 1], [300, 100])
X = np.where(Y == 1, 2 + 1.5 * RNG.standard_normal(400), RNG.standard_normal(400))


def test_the_kernel_estimate_is_scipys():
    found = densities(Y, X)
    theirs = np.stack([gaussian_kde(X[Y == k])(found.x) for k in (0, 1)])  # Scott's width, too
    assert found.density == pytest.approx(theirs, rel=1e-8, abs=1e-12)
    joint = theirs * [[0.75], [0.25]]
    sure = joint.sum(0) > 1e-9
    assert found.posterior[:, sure] == pytest.approx((joint / joint.sum(0))[:, sure], abs=1e-6)
    assert np.trapezoid(found.density, found.x) == pytest.approx([1, 1], abs=5e-3)
    own = joint.argmax(0)
    assert found.answers[np.searchsorted(found.cuts, found.x)][sure].tolist() == own[sure].tolist()
    assert found.risk == pytest.approx(np.trapezoid(joint.min(0), found.x), abs=2e-3)


def test_gaussian_cuts_and_risk_are_the_closed_form():
    priors, loss = [0.9, 0.1], [[0, 1], [40, 0]]
    found = densities(Y, X, "gaussian", priors=priors, loss=loss)
    means, sds = zip(*((v.mean(), v.std(ddof=1)) for v in (X[Y == 0], X[Y == 1])), strict=True)
    assert found.means == pytest.approx(means) and found.sds == pytest.approx(sds)
    exact = gaussian_rule(means, sds, priors, loss)
    inside = [c for c in exact.cuts if found.x[0] < c < found.x[-1]]
    assert found.cuts == pytest.approx(inside, abs=1e-8) and len(inside) == 2
    mass = np.array([np.diff(norm(m, s).cdf([-np.inf, *inside, np.inf])) for m, s in zip(means, sds, strict=True)])
    wanted = 0.9 * mass[0][exact.answers == 1].sum() + 4 * mass[1][exact.answers == 0].sum()
    assert found.risk == pytest.approx(wanted, rel=1e-8)


@pytest.mark.parametrize("kind", ["kde", "gaussian"])
def test_a_class_far_narrower_than_another_is_not_missed(kind):
    y = np.repeat([0, 1], 500)
    x = np.where(y == 1, 0.1234 + 1e-5 * RNG.standard_normal(1000), RNG.standard_normal(1000))
    found = densities(y, x, kind)
    assert found.answers.tolist() == [0, 1, 0] and found.risk < 1e-4
    if kind == "gaussian":
        assert found.cuts == pytest.approx(gaussian_rule(found.means, found.sds, [0.5, 0.5]).cuts, abs=1e-9)


def test_three_classes_and_what_is_said():
    y, x = np.array(["a", "b", "c"])[np.arange(90) % 3], 4.0 * (np.arange(90) % 3) + RNG.standard_normal(90)
    found = densities(y, x, name="length (cm)")
    assert found.answers.tolist() == [0, 1, 2] and found.posterior.sum(0) == pytest.approx(np.ones(len(found.x)))
    cuts = [f"{c:.4g}" for c in found.cuts]
    assert found.caption == (
        f"Densities of length (cm) in 3 classes on 90 rows (kde); the best answer changes at {', '.join(cuts)}; "
        f"expected cost {found.risk:.4g} under these densities."
    )
    table = found.table().columns
    assert table["predicted for"] == [f"-inf to {cuts[0]}", f"{cuts[0]} to {cuts[1]}", f"{cuts[1]} to inf"]
    assert table["rows"] == [30, 30, 30] and table["class"] == ["a", "b", "c"]
    upper, lower, strip = found.figure().axes
    assert strip.get_xlabel() == "length (cm)" and f"risk {found.risk:.4g}" in upper.get_title()
    edges, bars = found.bars
    assert (bars * np.diff(edges)).sum(1) == pytest.approx([1 / 3] * 3)
    for k in range(3):  # what is drawn over the bars has their area
        x, joint = upper.lines[k].get_data()
        assert np.trapezoid(joint, x) == pytest.approx(1 / 3, abs=0.01)
        assert np.array_equal(lower.lines[k].get_ydata(), found.posterior[k])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"kind": "gaus"}, "kind of density.*gaus.*gaussian"),
        ({"y": [0] * 400}, "All rows of y are 0; densities are compared between at least two classes"),
        ({"y": [*[0] * 399, 1]}, "Class 1 has 1 rows; a density needs two different values of x in each class"),
        ({"classes": [0, 1, 2]}, "Class 2 has 0 rows"),
        ({"x": np.where(Y == 1, 3.0, X)}, "Class 1 has the value 3 in all its 100 rows; a density needs two different"),
        ({"priors": [0.5, 0.6]}, "priors is .* with sum 1.1"),
        ({"loss": np.eye(3)}, r"loss has shape \(3, 3\); 2 rows are needed"),
        ({"loss": np.ones((2, 3))}, r"loss has shape \(2, 3\); an answer for each class is needed, so \(2, 2\)"),
        ({"x": np.append(X[:-1], np.nan)}, r"x\[399\] is nan"),
        ({"x": X[:-1]}, "x has 399 rows but y has 400"),
    ],
)
def test_sentences(change, says):
    with pytest.raises(InputError, match=says):
        densities(**({"y": Y, "x": X} | change))
