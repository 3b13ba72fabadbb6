"""Saliency on nets whose maps are known, its check, and rows with places."""

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from torch import nn
from torch.nn.functional import interpolate

from ftheta import ModuleClassifier
from ftheta.errors import InputError, InputTypeError
from ftheta.explain import saliency, saliency_check
from ftheta.explain.images._images import Pictures
from ftheta.explain.images.saliency import METHODS

RNG = np.random.default_rng(0)
X = RNG.normal(size=(5, 2, 6, 7))


def linear(outputs=3):
    """A convolution as large as the picture: w·x + b for each output."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(2, outputs, (6, 7)), nn.Flatten()).double()


def deep(first=None):
    torch.manual_seed(1)
    layers = [nn.Conv2d(2, 5, 3), first or nn.ReLU(inplace=True), nn.Conv2d(5, 6, 3, padding=1), first or nn.ReLU()]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(6 * 4 * 5, 4)).double()


def weights(net):
    return net[0].weight.detach().numpy()


def test_the_gradient_of_a_linear_net_is_its_weights():
    net = linear()
    found = saliency(net, X, method="gradient", target=1)
    np.testing.assert_allclose(found.values, np.broadcast_to(weights(net)[1], X.shape))
    np.testing.assert_allclose(found.maps, found.values.sum(1))
    np.testing.assert_allclose(found.score, net(torch.tensor(X)).detach()[:, 1])
    assert found.gap is None and found.target == ("1",) * 5


def test_each_row_is_explained_for_its_own_largest_output():
    net = linear()
    best = net(torch.tensor(X)).argmax(1).numpy()
    assert len(set(best)) > 1
    np.testing.assert_allclose(saliency(net, X, method="gradient").values, weights(net)[best])


def test_integrated_gradients_of_a_linear_net_are_weight_times_distance():
    net, base = linear(), RNG.normal(size=(2, 6, 7))
    for baseline in (0.0, 0.5, base):
        found = saliency(net, X, method="integrated", target=2, baseline=baseline, steps=1)
        np.testing.assert_allclose(found.values, weights(net)[2] * (X - baseline))
        np.testing.assert_allclose(found.gap, 0, atol=1e-12)


def test_integrated_gradients_add_up_to_the_difference_and_more_steps_do_better():
    """The midpoint rule: a quarter of the steps, sixteen times the error."""
    net, base = deep(nn.Tanh()), RNG.normal(size=(2, 6, 7))
    found = {m: saliency(net, X, method="integrated", target=3, baseline=base, steps=m) for m in (16, 64)}
    f = [net(torch.tensor(x)).detach().numpy()[:, 3] for x in (X, base[None])]
    for m, tolerance in ((16, 1e-2), (64, 1e-3)):
        np.testing.assert_allclose(found[m].maps.sum((1, 2)), f[0] - f[1], atol=tolerance)
        np.testing.assert_allclose(found[m].gap, found[m].maps.sum((1, 2)) - f[0] + f[1], atol=1e-12)
    assert 12 < np.abs(found[16].gap).max() / np.abs(found[64].gap).max() < 20
    rough = saliency(deep(), X, method="integrated", target=3, baseline=base)  # ReLU, 64 steps
    assert np.abs(rough.gap).max() < 0.05


class Square(nn.Module):
    """xᵀ A x + b·x through a convolution as large as the picture."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 1, (6, 7)).double()

    def forward(self, x):
        return self.conv(x).flatten(1).square() + (x.square() * 3).flatten(1).sum(1, keepdim=True)


def test_smoothgrad_of_a_quadratic_is_the_gradient_at_the_middle():
    """The noise comes in pairs ±ε, so that what is linear in it cancels."""
    net = Square()
    plain = saliency(net, X, method="gradient").values
    for steps in (2, 7):
        np.testing.assert_allclose(saliency(net, X, method="smoothgrad", steps=steps).values, plain, rtol=1e-10)


def test_smoothgrad_of_a_cube_adds_the_variance_of_the_noise():
    """d/dx x³ at x + ε is 3 x² + 3 σ² on average; σ is 15 % of the range of the row."""

    class Cube(nn.Module):
        def forward(self, x):
            return x.pow(3).flatten(1).sum(1, keepdim=True)

    x = np.linspace(-1, 1, 20).reshape(1, 1, 4, 5)
    found = saliency(Cube(), torch.tensor(x, dtype=torch.float64), method="smoothgrad", steps=600)
    np.testing.assert_allclose(found.values, 3 * x**2 + 3 * 0.3**2, atol=0.1)


@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_occlusion_of_a_linear_net_is_the_mean_of_what_its_windows_hold(size):
    net, base = linear(), 0.3
    found = saliency(net, X, method="occlusion", target=0, size=size, baseline=base)
    held = (weights(net)[0] * (X - base)).sum(1)  # (B, H, W)
    total, count = np.zeros_like(held), np.zeros_like(held)
    step = max(1, size // 2)
    for top in [*range(0, 6 - size, step), 6 - size]:
        for left in [*range(0, 7 - size, step), 7 - size]:
            window = (slice(None), slice(top, top + size), slice(left, left + size))
            total[window] += held[window].sum((1, 2))[:, None, None]
            count[window] += 1
    np.testing.assert_allclose(found.values[:, 0], total / count)


@pytest.mark.parametrize("layer", ["0", "2", "3", None])
def test_gradcam_is_its_formula(layer):
    net, x = deep(), torch.tensor(X)
    maps = net[: {"0": 1, "2": 3}.get(layer, 4)](x).detach().requires_grad_()
    slope = torch.autograd.grad(net[{"0": 1, "2": 3}.get(layer, 4) :](maps.clone())[:, 2].sum(), maps)[0]
    cam = (slope.mean((2, 3), keepdim=True) * maps).sum(1, keepdim=True).clamp(min=0)
    expected = interpolate(cam, (6, 7), mode="bilinear", align_corners=False).detach()
    assert expected.max() > 0
    np.testing.assert_allclose(saliency(net, X, method="gradcam", target=2, layer=layer).values, expected, atol=1e-12)


def dot_detector():
    """Class 1 where a place stands out from its neighbours, class 0 by how bright the picture is."""
    net = nn.Sequential(
        nn.Conv2d(1, 2, 3, padding=1), nn.ReLU(), nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(2, 2)
    )
    with torch.no_grad():
        net[0].weight.copy_(torch.full((2, 1, 3, 3), -0.125))
        net[0].weight[0, 0, 1, 1] = 1.0
        net[0].weight[1] = 1 / 9
        net[0].bias.copy_(torch.tensor([-0.4, 0.0]))
        net[4].weight.copy_(torch.eye(2).flip(0))
    return net.double()


@pytest.mark.parametrize("method", METHODS)
def test_a_planted_dot_is_where_the_map_is_strongest(method):
    rng, rows = np.random.default_rng(1), np.arange(20)
    images, at = rng.uniform(0, 0.3, size=(20, 1, 9, 9)), rng.integers(1, 8, size=(20, 2))
    images[rows, 0, at[:, 0], at[:, 1]] = 1.0
    maps = saliency(dot_detector(), images, method=method, target=1, size=1).maps
    np.testing.assert_array_equal([np.unravel_index(np.abs(m).argmax(), m.shape) for m in maps], at)


def test_more_rows_than_a_pass_takes_are_explained_alike():
    net, x = deep(), RNG.normal(size=(130, 2, 6, 7))
    for method in METHODS:
        all_, some = (saliency(net, rows, method=method, target=0, steps=2) for rows in (x, x[70:75]))
        np.testing.assert_allclose(all_.values[70:75], some.values, atol=1e-12)


def test_an_estimator_says_its_classes_and_one_logit_speaks_for_both():
    y = np.array(["cat", "dog"])[(X[:, 0, 0, 0] > 0).astype(int)]
    model = ModuleClassifier(module=nn.Sequential(nn.Conv2d(2, 1, (6, 7)), nn.Flatten()), epochs=1, random_state=0)
    model.fit(X, y)
    w = model.module_[0].weight.detach().numpy()
    dog, cat = (saliency(model, X, method="gradient", target=name) for name in ("dog", "cat"))
    np.testing.assert_allclose(dog.values, np.broadcast_to(w, X.shape), rtol=1e-6)
    np.testing.assert_allclose(cat.values, -dog.values)
    assert saliency(model, X).target == tuple(model.predict(X))


def test_the_most_wrong_rows_come_first_with_their_true_classes():
    y = np.array(["cat", "dog"])[(X[:, 0, 0, 0] > 0).astype(int)]
    model = ModuleClassifier(module=nn.Sequential(nn.Conv2d(2, 1, (6, 7)), nn.Flatten()), epochs=1, random_state=0)
    model.fit(X, y)
    found = saliency(model, X, y, classes=["Katze", "Hund"])
    own = model.predict_proba(X)[np.arange(len(X)), (y == "dog").astype(int)]
    assert found.rows.tolist() == np.argsort(own, kind="stable")[:6].tolist() and found.method == "integrated"
    german = {"cat": "Katze", "dog": "Hund"}
    assert found.truth == tuple(german[y[i]] for i in found.rows)
    assert found.target == tuple(german[k] for k in model.predict(X[found.rows]))
    title, (truth, target) = found.figure().axes[0].get_title(), (found.truth[0], found.target[0])
    assert title == (f"{truth}\ntaken for {target}" if truth != target else f"{truth}\nleast sure")
    assert (truth, target) == ("Hund", "Katze") and "wrong rows: Hund taken for Katze" in found.table().caption


class Aside(nn.Module):
    """The layer that runs last has no part in the output; `hard` lets no gradient through."""

    def __init__(self, hard=False):
        super().__init__()
        self.main, self.aside, self.hard = nn.Conv2d(2, 3, 3).double(), nn.Conv2d(3, 1, 1).double(), hard

    def forward(self, x):
        h = self.main(x)
        return {"raw": ((h > 0).double() if self.hard else h).mean((2, 3)), "aside": self.aside(h)}


def test_gradcam_weighs_the_last_layer_that_has_a_part_in_the_output():
    net = Aside()
    np.testing.assert_array_equal(
        saliency(net, X, method="gradcam").values, saliency(net, X, method="gradcam", layer="main").values
    )
    with pytest.raises(InputTypeError, match=r"No gradient reaches the tensor of shape \(5, 1, 4"):
        saliency(net, X, method="gradcam", layer="aside")


def test_a_net_that_lets_no_gradient_through_gets_a_sentence_and_occlusion_a_map():
    net = Aside(hard=True).requires_grad_(False)
    for method in ("gradient", "integrated", "smoothgrad", "gradcam"):
        with pytest.raises(InputTypeError, match=r"No gradient reaches .* or the method occlusion"):
            saliency(net, X, method=method)
    assert saliency(net, X, method="occlusion").values.any()


# ---- saliency check


RNG2 = np.random.default_rng(0)
X2 = RNG2.normal(size=(6, 1, 8, 8)).astype(np.float32)


def deep2():
    torch.manual_seed(0)
    net = nn.Sequential()
    for name, layer in {
        "conv1": nn.Conv2d(1, 8, 3),
        "act1": nn.ReLU(),
        "conv2": nn.utils.parametrizations.weight_norm(nn.Conv2d(8, 8, 3, bias=False)),
        "act2": nn.ReLU(),
        "flatten": nn.Flatten(),
        "output": nn.Linear(128, 3),
    }.items():
        net.add_module(name, layer)
    return net


def edges(module, x):
    """A map that looks like an explanation and does not ask the module."""
    x = x[:, 0].numpy()
    return np.abs(np.gradient(x, axis=1)) + np.abs(np.gradient(x, axis=2))


@pytest.mark.parametrize("method", ["gradient", "integrated", "smoothgrad", "occlusion"])
def test_maps_of_a_net_fall_as_its_layers_are_randomised_from_the_output_down(method):
    found = saliency_check(deep2(), X2, method=method)
    assert found.names == ("output", "conv2", "conv1") and found.passes
    assert np.abs(found.correlation[-1]) < 0.4 and (found.correlation < 0.9).all()
    own = saliency(deep2(), X2[:1], method=method, steps=8 if method in ("integrated", "smoothgrad") else None)
    np.testing.assert_allclose(found.maps[0], own.maps[0], rtol=1e-4, atol=1e-6)


def test_of_a_deep_net_five_states_are_compared_and_all_layers_are_randomized():
    found = saliency_check(nn.Sequential(*[nn.Conv2d(1, 1, 1) for _ in range(10)], nn.Flatten()), X2[:2, :1, :4, :4])
    assert found.names == ("9", "7", "5", "2", "0") and len(found.maps) == 6


def test_an_edge_detector_does_not_pass():
    found = saliency_check(deep2(), X2, method=edges)
    assert found.correlation.tolist() == pytest.approx([1, 1, 1]) and not found.passes
    assert found.method == "edges" and "hardly depends on the weights" in found.caption


def test_it_is_the_rank_correlation_of_a_net_with_other_weights():
    """With one layer, all maps after are those of the noise that replaces its weights; |w| keeps its size."""
    seen = []

    def weights(module, x):
        seen.append(module[0].weight.detach().clone())
        return np.broadcast_to(seen[-1][0, 0].numpy(), (len(x), 8, 8))

    net = nn.Sequential(nn.Conv2d(1, 1, 8), nn.Flatten())
    found = saliency_check(net, X2, method=weights)
    before, after = (w.flatten().numpy() for w in seen)
    assert found.correlation[0] == pytest.approx(spearmanr(before, after).statistic)
    assert found.absolute[0] == pytest.approx(spearmanr(abs(before), abs(after)).statistic)
    assert found.spread[0] == pytest.approx(0, abs=1e-12)
    assert 0.7 < np.linalg.norm(after) / np.linalg.norm(before) < 1.4
    again, other = (saliency_check(net, X2, method=weights, random_state=seed).correlation[0] for seed in (0, 1))
    assert again == found.correlation[0] != other


def test_what_multiplies_by_the_picture_keeps_the_picture():
    """Integrated gradients are 0 where the picture is: their size is known without the net, their sign is not."""
    x = np.where(RNG2.uniform(size=X2.shape) < 0.3, 1.0, 0.0).astype(np.float32)
    found = saliency_check(deep2(), x, method="integrated")
    assert found.absolute[-1] > 0.7 and found.correlation[-1] < 0.4


def test_a_map_without_content_has_nothing_in_common_with_any():
    found = saliency_check(deep2(), X2, method=lambda module, x: np.zeros((len(x), 8, 8)))
    assert found.correlation.tolist() == [0, 0, 0] and found.method == "<lambda>"


# ---- images


class Classifier:
    """An estimator of two classes with one logit."""

    def __init__(self, classes, net):
        self.classes_, self.module_ = np.array(classes), net


def test_targets_are_the_largest_outputs_or_classes_by_name():
    net = Pictures(Classifier(["a", "b", "c"], nn.Conv2d(1, 3, 1)), np.zeros((2, 1, 1, 1)))
    scores = torch.tensor([[0.0, 2.0, 1.0], [3.0, 0.0, 1.0]])
    assert net.names(3) == ("a", "b", "c") and net.names(2) == ("0", "1")
    assert net.targets(None, scores).tolist() == [1, 0]
    assert net.targets("c", scores).tolist() == [2, 2] and net.targets(["b", "a"], scores).tolist() == [1, 0]
    with pytest.raises(InputError, match=r"target has 3 entries for 2 rows; pass one, or one per row"):
        net.targets(["a"] * 3, scores)
    with pytest.raises(InputError, match=r"Unknown target 'd'. Known: a, b, c"):
        net.targets("d", scores)
    numbers = Pictures(Classifier([0, 1, 2], nn.Conv2d(1, 3, 1)), np.zeros((2, 1, 1, 1)))
    assert numbers.targets(1.0, scores).tolist() == numbers.targets(True, scores).tolist() == [1, 1]
    assert Pictures(nn.Conv2d(1, 3, 1), np.zeros((2, 1, 1, 1))).targets(np.int64(2), scores).tolist() == [2, 2]
