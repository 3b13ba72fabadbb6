"""Convolution and pooling by hand: the sources' examples to the digit, torch for the rest."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from ftheta.explain import convolve, pool

GRID = [[2, 4, 9, 1, 4], [2, 1, 4, 4, 6], [1, 1, 2, 9, 2], [7, 3, 5, 1, 3], [2, 3, 4, 8, 5]]
SOBEL = [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]
MAP = [[12, 11, -1], [2, 17, 0], [-1, 9, -3]]
X = np.array([[2, 5, 4, 1], [3, 1, 2, 0], [4, 5, 7, 1], [1, 2, 3, 4]])


@pytest.mark.ledger("A201", covers="ftheta.explain.convolve")
def test_the_printed_map_is_a_cross_correlation_and_a_convolution_its_negative():
    found = convolve(GRID, SOBEL)
    assert found.output.tolist() == MAP
    assert found.products[0].tolist() == [[-2, 0, 9], [-4, 0, 8], [-1, 0, 2]]
    assert convolve(GRID, SOBEL, flip=True).output.tolist() == (-np.array(MAP)).tolist()


@pytest.mark.ledger("B092", covers="ftheta.explain.convolve")
def test_the_strided_example_with_its_four_windows():
    found = convolve(X, np.eye(2), stride=2)
    assert found.output.tolist() == [[3, 4], [6, 11]]
    assert found.windows.tolist() == [[[2, 5], [3, 1]], [[4, 1], [2, 0]], [[4, 5], [1, 2]], [[7, 1], [3, 4]]]
    assert found.table().columns["products"][3] == "1·7 + 0·1 + 0·3 + 1·4"
    assert found.table().columns["sum"] == [3, 4, 6, 11]
    assert found.table().columns["output"] == ["0, 0", "0, 1", "1, 0", "1, 1"]
    assert convolve(X, np.eye(2)).output.tolist() == [[3, 7, 4], [8, 8, 3], [6, 8, 11]]
    assert convolve(X, np.eye(2), flip=True).output.tolist() == convolve(X, np.eye(2)).output.tolist()


@pytest.mark.parametrize("mode", ["zeros", "reflect", "circular"])
@pytest.mark.parametrize(("stride", "dilation", "padding"), [(1, 1, 2), (2, 2, 3), (3, 1, "same"), (1, 2, "valid")])
def test_the_steps_add_up_to_what_torch_gives(mode, stride, dilation, padding):
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(7, 9)), rng.normal(size=(3, 3))
    found = convolve(x, w, stride=stride, dilation=dilation, padding=padding, mode=mode)
    side = {"same": dilation, "valid": 0}.get(padding, padding)
    fill = {"zeros": "constant"}.get(mode, mode)
    padded = F.pad(torch.tensor(x)[None, None], (side,) * 4, mode=fill)
    truth = F.conv2d(padded, torch.tensor(w)[None, None], stride=stride, dilation=dilation)[0, 0]
    np.testing.assert_allclose(found.output, truth, rtol=1e-12)
    np.testing.assert_allclose(found.products.sum((1, 2)).reshape(truth.shape), truth, rtol=1e-12)
    np.testing.assert_array_equal(found.x, padded[0, 0])
    i = len(found.windows) - 1
    assert found.windows[i][0, 0] == found.x[tuple(found.starts[i])]
    assert (found._lit(i) == 1).sum() == 9
    np.testing.assert_array_equal(np.sort(found.x[found._lit(i) == 1]), np.sort(found.windows[i].ravel()))


def test_a_signal_is_slid_over_too_and_the_turned_kernel_is_shown():
    found = convolve([1, 2, 3, 4, 5], [1, 0, -1], padding=1, flip=True)
    assert found.output.tolist() == np.convolve([1, 2, 3, 4, 5], [1, 0, -1])[1:-1].tolist()
    assert found.kernel.tolist() == [-1, 0, 1]
    assert found.table().columns["products"][0] == "(-1)·0 + 0·1 + 1·2"


def words(figure):
    return [text.get_text() for axes in figure.axes for text in (axes.title, *axes.texts) if text.get_text()]


@pytest.mark.ledger("A205", covers="ftheta.explain.pool")
def test_a_grid_and_its_pooled_versions_stand_side_by_side_with_numbers():
    found = pool(X)
    truth = {"max": [[5, 4], [5, 7]], "min": [[1, 0], [1, 1]], "mean": [[2.75, 1.75], [3, 3.75]]}
    assert {kind: output.tolist() for kind, output in found.outputs.items()} == truth
    assert found.table().columns["window"][0] == "2 5 / 3 1" and found.table().columns["mean"] == [2.75, 1.75, 3, 3.75]
    said = words(found.figure())
    assert [word for word in said if word.isalpha()] == ["input", "max", "min", "mean"]
    assert sum(word not in ("", "input", "max", "min", "mean") for word in said) == 16 + 3 * 4


@pytest.mark.parametrize(("size", "stride"), [(2, None), (3, 1), (3, 2)])
def test_pooling_agrees_with_torch(size, stride):
    x = np.random.default_rng(0).normal(size=(7, 8))
    t = torch.tensor(x)[None, None]
    found = pool(x, size, stride=stride).outputs
    np.testing.assert_array_equal(found["max"], F.max_pool2d(t, size, stride)[0, 0])
    np.testing.assert_array_equal(found["min"], -F.max_pool2d(-t, size, stride)[0, 0])
    np.testing.assert_allclose(found["mean"], F.avg_pool2d(t, size, stride)[0, 0])
    signal = pool(x[0], size, "max", stride=stride)
    np.testing.assert_array_equal(signal.outputs["max"], F.max_pool1d(t[0, :, 0], size, stride)[0])
    assert signal.figure().axes
