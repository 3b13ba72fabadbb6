"""Synthesis of a unit: r w / |w| where it is linear, the middle of the map, and what jitter and blur do."""

import numpy as np
import pytest
import torch
from scipy import ndimage
from torch import nn

from ftheta.errors import InputError, InputTypeError, NonFiniteError
from ftheta.explain import synthesize
from ftheta.explain.images.synthesize import _blurred

RNG = np.random.default_rng(0)


def test_a_linear_unit_is_excited_by_its_weights():
    net = nn.Sequential(nn.Conv2d(2, 3, (4, 5)), nn.Flatten()).double()
    found = synthesize(net, input_shape=(2, 4, 5), radius=3.0, jitter=0, blur=0)
    w, b = (p.detach().numpy() for p in net[0].parameters())
    norms = np.linalg.norm(w.reshape(3, -1), axis=1)
    np.testing.assert_allclose(found.images, 3 * w / norms[:, None, None, None], atol=1e-6)
    np.testing.assert_allclose(found.values, 3 * norms + b)
    assert found.layer == "output" and found.names == ("0", "1", "2") and found.field.tolist() == [[0, 3], [0, 4]]
    assert (found.start < found.values).all() and found.radius == 3.0


def test_a_unit_of_a_map_is_excited_by_its_kernel_in_the_middle():
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU()).double()
    found = synthesize(net, "0", [3, 1], input_shape=(1, 9, 8), radius=2.0)
    assert found.field.tolist() == [[3, 5], [3, 5]] and found.units.tolist() == [3, 1]
    expected = np.zeros((2, 1, 9, 8))
    w = net[0].weight.detach().numpy()[[3, 1]]
    expected[:, :, 3:6, 3:6] = 2 * w / np.linalg.norm(w.reshape(2, -1), axis=1)[:, None, None, None]
    np.testing.assert_allclose(found.images, expected, atol=1e-6)
    assert found.figure().axes[0].get_title() == "What excites units of 0, seeing 3 x 3"


def test_rows_give_shape_and_norm():
    net, x = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten()).double(), RNG.normal(size=(7, 1, 3, 3))
    found = synthesize(net, X=x, steps=3)
    norms = np.linalg.norm(x.reshape(7, -1), axis=1)
    assert found.radius == pytest.approx(np.median(norms))
    np.testing.assert_allclose(np.linalg.norm(found.images.reshape(2, -1), axis=1), found.radius)
    assert synthesize(net, X=np.zeros((2, 1, 3, 3)), steps=1).radius == pytest.approx(0.25 * 3)
    assert synthesize(net, input_shape=(1, 3, 3), steps=1).radius == pytest.approx(0.25 * 3)


@pytest.mark.parametrize("sigma", [0.6, 1.0, 1.5])
def test_the_blur_is_scipys(sigma):
    x = RNG.normal(size=(2, 3, 9, 8))
    expected = ndimage.gaussian_filter(x, sigma, mode="nearest", axes=(2, 3), truncate=3)
    np.testing.assert_allclose(_blurred(torch.tensor(x), sigma), expected, atol=1e-12)
    line = ndimage.gaussian_filter(x[:, :, 0], sigma, mode="nearest", axes=(2,), truncate=3)
    np.testing.assert_allclose(_blurred(torch.tensor(x[:, :, 0]), sigma), line, atol=1e-12)


def roughness(x):
    return (np.diff(x, axis=-1) ** 2).sum()


def test_blur_makes_smooth_and_jitter_averages_over_shifts():
    """With a jitter of 1 a linear unit is excited by its weights, averaged over nine shifts."""
    net = nn.Sequential(nn.Conv2d(1, 1, 7), nn.Flatten()).double()
    knobs = {"input_shape": (1, 7, 7), "radius": 1.0}
    sharp, smooth = (synthesize(net, **knobs, jitter=0, blur=blur).images for blur in (0, 1.0))
    assert roughness(smooth) < 0.5 * roughness(sharp)
    w = net[0].weight.detach().numpy()[0, 0]
    mean = np.mean([np.roll(w, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)], axis=0)
    moved = synthesize(net, **knobs, jitter=1, blur=0).images[0, 0]
    cosine = [(moved * v).sum() / np.linalg.norm(v) for v in (mean, w)]
    assert cosine[0] > 0.85 and cosine[0] > cosine[1] + 0.1


def test_jitter_goes_there_and_back():
    """A net that does not notice shifts climbs the same way with and without them."""
    conv = nn.Conv2d(1, 3, 3, padding=1, padding_mode="circular")
    net = nn.Sequential(conv, nn.Softplus(), nn.AdaptiveAvgPool2d(1), nn.Flatten()).double()
    still, moved = (synthesize(net, input_shape=(1, 6, 7), steps=5, blur=0, jitter=jitter).images for jitter in (0, 2))
    np.testing.assert_allclose(moved, still, atol=1e-12)


def test_the_seed_decides_and_ascent_climbs_where_there_is_more_than_one_top():
    net = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.Conv2d(6, 2, 3), nn.Flatten())
    first, again, other = (
        synthesize(net, input_shape=(1, 5, 5), jitter=0, blur=0, steps=50, random_state=seed) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first.images, again.images)
    assert not np.array_equal(first.start, other.start) and (first.values > first.start).all()
    assert first.table().columns["at the end"] == first.values.tolist()


def test_signals_can_be_synthesized_too():
    net = nn.Conv1d(1, 12, 3, bias=False).double()
    found = synthesize(net, input_shape=(1, 3), radius=1.0, blur=0, jitter=0)
    assert found.images.shape == (10, 1, 3) and found.figure()  # the first ten units
    np.testing.assert_allclose(found.values, np.linalg.norm(net.weight.detach().numpy()[:10, 0], axis=1))


def test_what_cannot_be_climbed_gets_a_sentence():
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten())
    with pytest.raises(InputError, match=r"units is 2; the layer has units 0 to 1"):
        synthesize(net, units=2, input_shape=(1, 3, 3))
    with pytest.raises(InputError, match=r"Sequential does not know the shape of its rows"):
        synthesize(net)
    with pytest.raises(InputTypeError, match=r"Linear has no convolution; synthesize needs"):
        synthesize(nn.Linear(2, 2), input_shape=(2,))
    with torch.no_grad():
        net[0].weight.fill_(torch.inf)
    with pytest.raises(NonFiniteError, match=r"The gradient of a unit is not finite; look at the weights"):
        synthesize(net, input_shape=(1, 3, 3))


def test_a_unit_without_a_gradient_gets_a_sentence():
    class Hard(nn.Conv2d):
        def forward(self, input):
            return (super().forward(input) > 0).to(input).flatten(1)

    with pytest.raises(InputTypeError, match=r"No gradient reaches"):
        synthesize(Hard(1, 1, 3), input_shape=(1, 3, 3), steps=1)


def test_a_layer_that_does_not_run_gets_a_sentence():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv, self.spare = nn.Conv2d(1, 1, 1), nn.ReLU()

        def forward(self, x):
            return self.conv(x)

    with pytest.raises(InputError, match=r"The layer spare did not run; choose one that does"):
        synthesize(Net(), "spare", input_shape=(1, 2, 2))
