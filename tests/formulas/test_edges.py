"""Classical kernels against SciPy's filters, and what their names promise on ramps, steps and parabolas."""

import numpy as np
import pytest
from scipy import ndimage

from ftheta.errors import InputError
from ftheta.formulas import edge_kernels

RNG = np.random.default_rng(0)


def test_sobel_and_laplace_are_those_of_scipy():
    image, known = RNG.normal(size=(7, 9)), edge_kernels(3)
    inner = (slice(1, -1), slice(1, -1))
    for name, expected in {
        "Sobel x": ndimage.sobel(image, axis=1),
        "Sobel y": ndimage.sobel(image, axis=0),
        "Laplace": ndimage.laplace(image),
        "mean": ndimage.uniform_filter(image, 3),
    }.items():
        np.testing.assert_allclose(ndimage.correlate(image, known[name])[inner], expected[inner])


def test_the_larger_sobel_is_the_printed_one():
    slope, smooth = [-1, -2, 0, 2, 1], [1, 4, 6, 4, 1]
    np.testing.assert_array_equal(edge_kernels(5)["Sobel x"], np.outer(smooth, slope))
    np.testing.assert_array_equal(edge_kernels(5)["Gauss"], np.outer(smooth, smooth))


@pytest.mark.parametrize("size", [2, 3, 5, 7])
@pytest.mark.parametrize("dims", [1, 2])
def test_only_smoothing_kernels_see_a_constant(size, dims):
    for name, kernel in edge_kernels(size, dims).items():
        assert kernel.shape == (size,) * dims
        assert (kernel.sum() != 0) == (name in ("Gauss", "mean"))


@pytest.mark.parametrize("size", [3, 5, 7])
def test_slopes_see_ramps_and_curvatures_only_parabolas(size):
    t = np.arange(size) - size // 2
    line, known = edge_kernels(size, 1), edge_kernels(size)
    assert line["slope"] @ t > 0 and line["curvature"] @ t == 0 and line["curvature"] @ t**2 > 0
    ramp = np.tile(t, (size, 1))  # rises to the right
    laplace = known["Laplace" if size == 3 else "Laplace of Gauss"]
    assert (known["Sobel x"] * ramp).sum() > 0 and (known["Sobel y"] * ramp).sum() == 0 == (laplace * ramp).sum()
    assert (known["Sobel ↘"] * (ramp + ramp.T)).sum() > 0 == (known["Sobel ↘"] * (ramp - ramp.T)).sum()
    assert (known["Sobel ↗"] * (ramp - ramp.T)).sum() > 0 == (known["Sobel ↗"] * (ramp + ramp.T)).sum()
    assert (laplace * ramp**2).sum() > 0


def test_sizes_without_a_middle_have_none_and_others_are_refused():
    assert edge_kernels(1) == edge_kernels(4) == edge_kernels(6, 1) == {}
    with pytest.raises(InputError, match=r"size is 0 and dims is 2; a side of at least 1, in 1 or 2 dimensions"):
        edge_kernels(0)
    with pytest.raises(InputError, match=r"size is 3 and dims is 3"):
        edge_kernels(3, 3)
