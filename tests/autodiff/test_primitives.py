"""Every primitive at every sample: value, both rules, second derivatives, against torch and differences.

What is particular about a theme follows.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.signal import convolve2d, correlate2d

import ftheta.autodiff as ad
from ftheta.autodiff import PRIMITIVES, grad, jacobian, jvp, value_and_grad, vjp
from tests.autodiff import _layers as layers
from tests.autodiff._checking import CHECKS, Case, differences, relative, several
from tests.autodiff._samples import SAMPLES

THEMES = (  # names, rows of the ledger that they are, and what stands for them there
    ("add subtract negative matmul multiply divide power maximum minimum clip where abs", (), ""),
    ("linear", ("A253",), "linear"),
    ("exp expm1 log log1p sqrt square sin cos erf", ("C118",), "elementwise"),
    ("sigmoid tanh relu leaky_relu elu gelu silu softplus", ("A254", "C118"), "elementwise"),
    ("batch_norm layer_norm rms_norm", ("A255",), "mean"),
    ("sum mean max min logsumexp var", ("A256",), "sum"),
    ("dropout", ("A257",), "multiply"),
    ("mse bce_with_logits cross_entropy", ("A258",), "logsumexp"),
    ("conv max_pool mean_pool windows unwindows", ("A259",), "windows"),
    ("getitem scatter transpose swapaxes reshape broadcast_to pad concatenate stack", ("A260",), "getitem"),
    ("softmax log_softmax attention", ("A261",), "softmax"),
)
NAMES = [
    pytest.param(name, marks=[pytest.mark.ledger(*rows, covers=f"ftheta.autodiff.{what}")] * bool(rows))
    for names, rows, what in THEMES
    for name in names.split()
]
RNG = np.random.default_rng(5)


@pytest.mark.parametrize("name", NAMES)
def test_every_check_holds_at_every_sample(name):
    for check, sample in product(CHECKS, SAMPLES[name].samples):
        try:
            check(Case(name, sample))
        except Exception as error:
            error.add_note(f"{name}, {sample.what}, {check.__name__}")
            raise


def single(x):
    """In float32, where it is in float64."""
    return np.asarray(x, np.float32)[()] if isinstance(x, np.ndarray | np.float64) and x.dtype == float else x


def test_every_primitive_and_every_layer_has_samples_and_a_theme():
    own = {name for name, f in vars(layers).items() if getattr(f, "__module__", "") == layers.__name__}
    known = set(PRIMITIVES) | {name for name in own if not name.startswith("_")}
    assert set(SAMPLES) == {param.values[0] for param in NAMES} == known


@pytest.mark.parametrize("name", SAMPLES)
def test_single_precision_stays_single(name):
    sample = SAMPLES[name].samples[0]
    case = Case(name, replace(sample, args=tuple(map(single, sample.args))))
    x, v = case.x, tuple(map(single, case.v))
    y, pull = vjp(case.f, *x)
    dy = jvp(case.f, x, v)[1]
    assert {a.dtype for a in (y, dy, *several(pull(np.asarray(case.g, np.float32))))} == {np.dtype(np.float32)}
    np.testing.assert_allclose(y, Case(name, sample).y, rtol=1e-4, atol=1e-5)


# --- sums and products ------------------------------------------------------------------------------------------------


@pytest.mark.ledger("C116", covers="ftheta.autodiff.add")
def test_a_sum_hands_the_gradient_unchanged_to_both_operands():
    """ā = f̄, of the shape of a. A bias that is broadcast over B rows receives B."""
    a, b, g = RNG.normal(size=(3, 2, 3))
    _, pull = vjp(ad.add, a, b)
    np.testing.assert_array_equal(pull(g), (g, g))
    ones = grad(lambda a, b: ad.sum(a + b), (0, 1))(a, b)
    np.testing.assert_array_equal(ones, np.ones((2, 2, 3)))
    rows, bias = RNG.normal(size=(7, 3)), np.zeros(3)
    np.testing.assert_array_equal(grad(lambda b: ad.sum(rows + b))(bias), [7.0, 7.0, 7.0])


@pytest.mark.ledger("C117", covers="ftheta.autodiff.matmul")
def test_a_matrix_product_hands_back_products_with_the_other_factor():
    a, b, g = RNG.normal(size=(3, 4)), RNG.normal(size=(4, 5)), RNG.normal(size=(3, 5))
    got = vjp(ad.matmul, a, b)[1](g)
    np.testing.assert_allclose(got[0], np.einsum("ik,jk->ij", g, b), rtol=1e-14)
    np.testing.assert_allclose(got[1], np.einsum("ki,kj->ij", a, g), rtol=1e-14)
    for k, x in enumerate((a, b)):
        steps = [np.eye(x.size)[i].reshape(x.shape) for i in range(x.size)]
        moves = [tuple(step if k == j else np.zeros_like(z) for j, z in enumerate((a, b))) for step in steps]
        want = [(g * differences(np.matmul, (a, b), move)).sum() for move in moves]
        assert relative(got[k].ravel(), want, floor=1.0) < 1e-9  # printed: 7.7e-10 and 1.3e-9


# --- element by element -----------------------------------------------------------------------------------------------


def test_slope_and_alpha_are_those_given_in_value_and_derivative():
    z = np.array([-2.0, -0.5, 0.7])
    for f, value, slope in (
        (lambda x: ad.leaky_relu(x, 0.3), np.where(z > 0, z, 0.3 * z), np.where(z > 0, 1, 0.3)),
        (lambda x: ad.elu(x, alpha=2.0), np.where(z > 0, z, 2 * (np.exp(z) - 1)), np.where(z > 0, 1, 2 * np.exp(z))),
    ):
        y, pull = vjp(f, z)
        np.testing.assert_allclose([y, pull(np.ones(3)), jvp(f, z, np.ones(3))[1]], [value, slope, slope])


def test_extreme_values_of_one_axis_share_their_gradient_with_the_axis_kept_or_not():
    x = np.array([[1.0, 3.0, 3.0], [2.0, 0.0, 1.0]])
    for keepdims in (False, True):
        g = np.array([2.0, 5.0]).reshape((2, 1) if keepdims else 2)
        found = vjp(lambda a, keep=keepdims: ad.max(a, axis=1, keepdims=keep), x)[1](g)
        np.testing.assert_array_equal(found, [[0, 1, 1], [5, 0, 0]])
        y, tangent = jvp(lambda a, keep=keepdims: ad.max(a, axis=1, keepdims=keep), x, np.arange(6.0).reshape(2, 3))
        assert y.shape == tangent.shape == g.shape and tangent.ravel().tolist() == [1.5, 3.0]


@pytest.mark.parametrize("name", ["sigmoid", "softplus", "gelu", "silu", "tanh", "elu"])
def test_activations_and_their_slopes_do_not_overflow(name):
    y, pull = vjp(PRIMITIVES[name], np.array([-800.0, -40.0, 40.0, 800.0]))
    slopes = pull(np.ones(4))
    assert np.isfinite(y).all()
    np.testing.assert_allclose(slopes[[0, 3]], [0.0, 0.0 if name in ("sigmoid", "tanh") else 1.0], atol=1e-300)


@pytest.mark.ledger("C107", covers="ftheta.autodiff.relu")
def test_the_jacobian_of_relu_is_a_diagonal_of_zeros_and_ones():
    """Multiplying by it is masking element by element."""
    f = np.array([2.0, -1.0, 3.0])
    for mode in ("reverse", "forward"):
        np.testing.assert_array_equal(jacobian(ad.relu, f, mode=mode), np.diag([1.0, 0.0, 1.0]))
    g = RNG.normal(size=3)
    np.testing.assert_array_equal(jacobian(ad.relu, f) @ g, g * (f > 0))
    np.testing.assert_array_equal(vjp(ad.relu, f)[1](g), g * (f > 0))


@pytest.mark.parametrize(
    ("f", "x", "want"),
    [
        (ad.relu, [0.0], [0.0]),
        (ad.abs, [0.0], [0.0]),
        (lambda x: ad.leaky_relu(x, slope=0.1), [0.0], [0.1]),
        (lambda x: ad.elu(x, alpha=0.5), [0.0], [0.5]),
        (lambda x: ad.clip(x, 0.0, 1.0), [0.0, 1.0], [1.0, 1.0]),
        (lambda x: ad.maximum(x[0], x[1]), [2.0, 2.0], [0.5, 0.5]),
        (lambda x: ad.minimum(x[0], x[1]), [2.0, 2.0], [0.5, 0.5]),
        (ad.max, [1.0, 3.0, 3.0, 3.0], [0.0, 1 / 3, 1 / 3, 1 / 3]),
        (ad.min, [1.0, 1.0, 3.0], [0.5, 0.5, 0.0]),
    ],
)
def test_the_derivative_at_a_kink_is_the_stated_one_in_both_modes(f, x, want):
    x = np.array(x)
    np.testing.assert_allclose(grad(lambda x: ad.sum(f(x)))(x), want, rtol=1e-15)
    along = [jvp(lambda x: ad.sum(f(x)), x, step)[1] for step in np.eye(len(x))]
    np.testing.assert_allclose(along, want, rtol=1e-15)


def test_powers_of_zero_have_derivatives_where_there_are_any():
    """d a^b/da = b a^(b-1): 0 for b = 0 and b = 2, 1 for b = 1."""
    a, b = np.zeros(3), np.array([0.0, 1.0, 2.0])
    np.testing.assert_array_equal(vjp(lambda a: a**b, a)[1](np.ones(3)), [0.0, 1.0, 0.0])
    assert grad(lambda x: x**2)(-3.0) == -6.0 and grad(grad(lambda x: x**3))(-2.0) == -12.0


# --- normalisation, reductions, dropout, losses -----------------------------------------------------------------------


@pytest.mark.ledger("A257", covers="ftheta.autodiff.multiply")
def test_dropout_goes_back_by_the_mask_and_scale_of_its_pass():
    x, g = RNG.normal(size=(2, 1000))
    y, pull = vjp(lambda x: layers.dropout(x, 0.25, 3), x)
    np.testing.assert_allclose(pull(g), g * (y / x), rtol=1e-12)
    kept = y != 0
    np.testing.assert_allclose(y[kept], x[kept] / 0.75, rtol=1e-14)
    assert 700 < kept.sum() < 800
    assert not np.array_equal(y, layers.dropout(x, 0.25, 4))


def test_losses_are_stable_far_out():
    """-log σ(-1000) = 1000; -log softmax of the smaller of (1000, -1000) is 2000."""
    loss, slope = value_and_grad(lambda z: layers.bce_with_logits(z, np.array([1.0, 0.0])))(
        np.array([-1000.0, -1000.0])
    )
    assert loss == 500 and np.array_equal(slope, [-0.5, 0.0])
    loss, slope = value_and_grad(lambda z: layers.cross_entropy(z, np.array([1])))(np.array([[1000.0, -1000.0]]))
    assert loss == 2000 and np.array_equal(slope, [[1.0, -1.0]])


# --- convolution, indices, attention ----------------------------------------------------------------------------------


@pytest.mark.ledger("A268", covers="ftheta.autodiff.windows")
def test_a_convolution_goes_back_by_two_convolutions():
    """Filter: correlation of input and output gradient; input: full convolution of output gradient and filter."""
    x, w = RNG.normal(size=(1, 2, 6, 5)), RNG.normal(size=(3, 2, 3, 2))
    y, pull = vjp(layers.conv, x, w)
    g = RNG.normal(size=y.shape)
    for o in range(3):
        want = np.stack([correlate2d(x[0, c], g[0, o], mode="valid") for c in range(2)])
        np.testing.assert_allclose(pull(g)[1][o], want, rtol=1e-10)
    full = [sum(convolve2d(g[0, o], w[o, c], mode="full") for o in range(3)) for c in range(2)]
    np.testing.assert_allclose(pull(g)[0][0], np.stack(full), rtol=1e-10)
