"""Sizes, receptive fields, parameters and sums of convolutions against counting, PyTorch and SciPy."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import signal
from torch import nn

from ftheta.errors import InputError
from ftheta.explain import convolve
from ftheta.formulas import Field, output_size, receptive_field
from ftheta.nn import convolution

ONE_TO_FIVE, SLOPE = [1, 2, 3, 4, 5], [1, 0, -1]


def correlate(x, w, **knobs):
    return convolve(x, w, **knobs).output


@given(st.integers(1, 30), st.integers(1, 6), st.integers(1, 5), st.integers(0, 4), st.integers(1, 3))
def test_the_size_is_the_number_of_windows_that_fit(n, kernel, stride, padding, dilation):
    fit = [i for i in range(-padding, n + padding, stride) if i + dilation * (kernel - 1) < n + padding]
    assume(fit)
    assert output_size(n, kernel, stride=stride, padding=padding, dilation=dilation) == len(fit)


@pytest.mark.ledger(
    "A202",
    covers="ftheta.formulas.output_size",
    says="2026: ceil((W + 2P - k) / S) + 1; 2025: the floor",
    printed=[3, 113, 17],
    right=[2, 112, 16],
)
def test_the_size_is_the_floor_and_what_a_layer_of_torch_gives(ledger):
    cases = [(6, 3, 0, 2), (224, 7, 3, 2), (32, 3, 1, 2)]
    sizes = [output_size(n, k, padding=p, stride=s) for n, k, p, s in cases]
    for (n, k, p, s), size in zip(cases, sizes, strict=True):
        assert nn.Conv1d(1, 1, k, stride=s, padding=p)(torch.zeros(1, 1, n)).shape[-1] == size
    assert output_size(1024, 2, stride=2) == 512
    ledger(sizes)


@pytest.mark.ledger("A203", covers="ftheta.formulas.output_size")
def test_padding_by_half_the_kernel_keeps_the_size():
    assert output_size(5, 3, padding=1, stride=1) == 5
    assert all(output_size(n, k, padding=(k - 1) // 2) == n for n in range(1, 9) for k in (1, 3, 5, 7))
    for k in (1, 3, 5):
        assert convolution(1, 1, k, padding=(k - 1) // 2, stride=1)(torch.zeros(1, 1, 5, 5)).shape == (1, 1, 5, 5)


@pytest.mark.ledger("B090", covers="ftheta.formulas.output_size")
def test_the_report_counts_the_padding_of_both_sides():
    """⌊(n - k + p + s) / s⌋ holds for p = 2q places in all; with those of one side it falls short."""
    for n in range(1, 40):
        for k in range(1, n + 1):
            for q in range(4):
                for s in range(1, 6):
                    both = output_size(n, k, stride=s, padding=2 * q, convention="total")
                    assert both == (n - k + 2 * q + s) // s == output_size(n, k, stride=s, padding=q)
    taken_for_total = [
        output_size(28, 3, padding=1, convention="total"),
        output_size(7, 3, padding=1, stride=2, convention="total"),
    ]
    assert taken_for_total == [27, 3]
    assert [output_size(28, 3, padding=1), output_size(7, 3, padding=1, stride=2)] == [28, 4]


@pytest.mark.ledger("B091", covers="ftheta.formulas.output_size")
def test_a_kernel_of_two_with_stride_two_halves_four():
    assert output_size(4, 2, stride=2) == output_size(4, 2, stride=2, convention="total") == 2
    assert correlate(np.ones((4, 4)), np.ones((2, 2)), stride=2).shape == (2, 2)


@pytest.mark.parametrize(
    ("knobs", "words"),
    [
        ({"kernel": 4}, r"A window of 4 \(kernel 4, dilation 1\) is larger than the input of 3 \(3 with the padding\)"),
        ({"kernel": 3, "dilation": 2, "padding": 1, "convention": "total"}, r"A window of 5 .* \(4 with the padding\)"),
        ({"kernel": 2, "stride": 0}, r"stride must be an int in the range \[1, inf\). Got 0"),
        ({"kernel": 2, "padding": -1}, r"padding must be an int in the range \[0, inf\). Got -1"),
        ({"kernel": 2.0}, r"kernel must be an int in the range \[1, inf\). Got 2.0"),
        ({"kernel": 2, "convention": "sides"}, "Unknown convention of the padding 'sides'. Did you mean 'side'"),
    ],
)
def test_combinations_without_a_window_are_refused(knobs, words):
    with pytest.raises(InputError, match=words):
        output_size(3, **knobs)


@pytest.mark.ledger("C177", covers="ftheta.formulas.receptive_field")
def test_dilation_spreads_the_taps_and_the_field():
    assert correlate(np.arange(1, 8), [1, 1, 1], dilation=2).tolist() == [9, 12, 15]
    assert [field.size for field in receptive_field([(3, 1, d) for d in (1, 2, 4, 8)])] == [3, 7, 15, 31]
    for k in (1, 2, 3, 5):
        for d in (1, 2, 3):
            assert receptive_field([(k, 1, d)]) == [Field(d * (k - 1) + 1, 1, 0)]
            assert nn.Conv1d(1, 1, k, dilation=d).weight.numel() == k


@given(
    st.lists(
        st.tuples(st.integers(1, 4), st.integers(1, 3), st.integers(1, 2), st.integers(0, 1)), min_size=1, max_size=4
    ),
    st.integers(0, 3),
)
def test_fields_are_where_the_gradient_of_a_unit_is(layers, unit):
    fields = receptive_field(layers)
    n = 160
    x = torch.zeros(1, 1, n, dtype=torch.double, requires_grad=True)
    h = x
    for kernel, stride, dilation, padding in layers:
        ones = torch.ones(1, 1, kernel, dtype=torch.double)
        h = F.conv1d(h, ones, stride=stride, dilation=dilation, padding=padding)
    assume(h.shape[-1] > unit)
    size, jump, start = fields[-1]
    first, last = start + unit * jump, start + unit * jump + size - 1
    assume(first >= 0 and last < n)
    seen = torch.autograd.grad(h[0, 0, unit], x)[0][0, 0].nonzero().flatten()
    assert (seen.min(), seen.max()) == (first, last)


def counted(layer):
    return sum(p.numel() for p in layer.parameters())


@pytest.mark.ledger("C169", covers="ftheta.nn.convolution")
def test_local_and_shared_weights_are_few():
    dense = nn.Linear(784, 21632, device="meta")
    assert counted(convolution(1, 32, 3)) == 320 and 26 * 26 * 320 == 216_320  # shared, and a kernel for each place
    assert counted(dense) == 16_981_120 and counted(nn.Linear(784, 784)) == 615_440
    assert counted(convolution(1, 1, 3)) == 10


@pytest.mark.ledger("B310", covers="ftheta.nn.convolution")
def test_dense_layers_do_not_scale_to_images():
    assert [counted(nn.Linear(side * side, 100, bias=False)) for side in (28, 96)] == [78_400, 921_600]
    assert 96 * 96 == 9_216 and counted(convolution(1, 100, 8, padding="valid")) == 6_500


@pytest.mark.ledger("C173", covers="ftheta.explain.convolve")
def test_sliding_sums_are_correlations_and_a_flip_makes_them_convolutions():
    flipped = correlate(ONE_TO_FIVE, SLOPE, padding="same", flip=True)
    assert flipped.tolist() == np.convolve(ONE_TO_FIVE, SLOPE, "same").tolist() == [2, 2, 2, 2, -4]
    assert correlate(ONE_TO_FIVE, SLOPE, padding="same").tolist() == [-2, -2, -2, -2, 4]


@pytest.mark.ledger("C175", covers="ftheta.explain.convolve")
def test_a_stride_takes_every_second_window():
    x, ones = np.arange(1, 8), np.ones(3)
    assert correlate(x, ones).tolist() == [6, 9, 12, 15, 18]
    sizes = [40]
    for _ in range(3):
        sizes.append(output_size(sizes[-1], 3, stride=2))
    assert sizes == [40, 19, 9, 4]
    assert correlate(x, ones, stride=2).tolist() == [6, 12, 18]


@pytest.mark.ledger("C174", covers="ftheta.explain.convolve")
def test_what_lies_outside_follows_the_mode():
    ends = {
        mode: correlate([1, 2, 3, 4], [1, 0, 0], padding=1, mode=mode)[0:1].tolist()
        + correlate([1, 2, 3, 4], [0, 0, 1], padding=1, mode=mode)[-1:].tolist()
        for mode in ("zeros", "circular", "reflect")
    }
    assert ends == {"zeros": [0, 0], "circular": [4, 1], "reflect": [2, 3]}
    assert len(correlate(np.ones(7), np.ones(3), padding="valid")) == 5
    assert len(correlate(np.ones(7), np.ones(3), padding="same")) == 7


@pytest.mark.ledger("B311", covers="ftheta.nn.convolution")
@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("shape", [(3, 11), (3, 8, 9)])
def test_banks_of_kernels_sum_over_channels(shape, flip):
    """y_i = Σ_j h_ij * x_j, with SciPy for each pair of maps; a turned kernel gives true convolution."""
    rng, axes = np.random.default_rng(0), tuple(range(2, len(shape) + 1))
    x, w = rng.normal(size=shape), rng.normal(size=(4, 3, *((3,) * len(axes))))
    each = signal.convolve if flip else signal.correlate
    right = [sum(each(x[j], w[i, j], "valid") for j in range(3)) for i in range(4)]
    layer = convolution(3, 4, dims=len(axes), padding="valid", bias=False).double()
    layer.weight.data = torch.tensor(np.flip(w, axes).copy() if flip else w)
    np.testing.assert_allclose(layer(torch.tensor(x)[None])[0].detach(), right, atol=1e-12)


@pytest.mark.parametrize(
    ("x", "w", "knobs", "words"),
    [
        (np.ones(3), np.ones((2, 2)), {}, r"x has shape \(3,\) and the kernel \(2, 2\); give both as many axes"),
        (np.ones(3), np.ones(5), {}, "A window of 5 .* is larger than the input of 3"),
        (np.ones(3), np.ones(2), {"padding": "same"}, "pads both sides alike, which kernel 2 does not allow"),
        (np.ones(3), np.ones(3), {"padding": "sane"}, "Unknown padding 'sane'. Did you mean 'same'"),
        (np.ones(3), np.ones(3), {"mode": "zero"}, "must be a str among"),
    ],
)
def test_arrays_that_do_not_go_together_are_refused(x, w, knobs, words):
    with pytest.raises(InputError, match=words):
        correlate(x, w, **knobs)


@pytest.mark.ledger("C199", covers="ftheta.explain.convolve")
def test_a_transposed_convolution_is_the_transposed_matrix_and_no_inverse():
    def transposed(x):
        return F.conv_transpose1d(torch.tensor(np.array([[x]]), dtype=torch.double), w[None, None], stride=2).numpy()[
            0, 0
        ]

    w = torch.tensor([1.0, 2, 3], dtype=torch.double)
    assert transposed([1, 1]).tolist() == [1, 2, 4, 2, 3]
    matrix = np.stack([correlate(unit, w, stride=2) for unit in np.eye(5)], axis=1)  # (2, 5)
    np.testing.assert_array_equal([transposed(unit) for unit in np.eye(2)], matrix)
    assert transposed(correlate([1, 0, 0, 0, 0], w, stride=2)).tolist() == [1, 2, 3, 0, 0]  # Cᵀ C e₁
