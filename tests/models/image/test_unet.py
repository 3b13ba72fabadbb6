"""A class for every pixel: what is learned from, weighed and left out, and maps of any size."""

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import ftheta
from ftheta import UNetSegmenter
from ftheta.data import Batch, augmentation, shapes
from ftheta.draw import Draw
from ftheta.errors import InputError, InputTypeError
from ftheta.measure import iou, mean_iou, pixel_accuracy
from ftheta.models.image.unet import _with_labels

MADE = shapes(48, noise=0.0, size=16)
X, CLASSES = MADE.x.reshape(-1, 16, 16), MADE.y
FIGURE = (CLASSES > 0).astype(int)


def small(**settings):
    return UNetSegmenter(**{"filters": (2, 3), "epochs": 2, "batch_size": 16, "random_state": 0} | settings)


def loss_of(net, X, y, **given):
    """The mean over pixels of -log p, from predict_proba: what training minimizes."""
    p = net.predict_proba(X).astype(float)
    each = -np.log(np.take_along_axis(p, np.searchsorted(net.classes_, y)[..., None], -1)[..., 0])
    return np.average(each, **given)


@pytest.mark.ledger("C187", covers="ftheta.UNetSegmenter")
def test_bright_figures_are_found_in_new_images_pixel_by_pixel():
    """Noiseless figures brighter than any ground: IoU above 0.95 for both classes."""
    net = small(filters=(4, 4), epochs=6, batch_size=4, lr=0.02).fit(X[:32], FIGURE[:32])
    found, truth = net.predict(X[32:]), FIGURE[32:]
    assert found.shape == truth.shape and iou(truth, found).min() > 0.95 and mean_iou(truth, found) > 0.95
    assert net.score(X[32:], truth) == pixel_accuracy(truth, found) > 0.98


def test_probabilities_of_each_pixel_sum_to_one_and_their_largest_is_the_answer():
    net = small().fit(X, CLASSES)
    p = net.predict_proba(X[:5])
    assert p.shape == (5, 16, 16, 4) and np.allclose(p.sum(-1), 1, atol=1e-6)
    assert np.array_equal(net.predict(X[:5]), net.classes_[p.argmax(-1)])
    raw = net.module_(torch.tensor(X[:5, None] / 255, dtype=torch.float32))
    assert np.allclose(p, raw.softmax(1).movedim(1, -1).detach(), atol=1e-6)


def test_labels_need_not_be_counted_from_zero():
    net = small().fit(X, 10 * FIGURE - 3)
    assert net.classes_.tolist() == [-3, 7] and set(np.unique(net.predict(X))) <= {-3, 7}
    assert net.score(X, 10 * FIGURE - 3) == small().fit(X, FIGURE).score(X, FIGURE)


@pytest.mark.parametrize("size", [(16, 16), (32, 8), (13, 21), (1, 1)])
def test_images_of_another_size_are_labelled_too(size):
    net = small().fit(X, FIGURE)
    wide = np.tile(X[:2], (1, 2, 2))[:, : size[0], : size[1]]
    assert net.predict(wide).shape == (2, *size) and net.predict_proba(wide).shape == (2, *size, 2)


def test_grey_rows_and_channels_are_the_same_images():
    once = small().fit(X, FIGURE)
    for given in (X[:, None], X / np.float32(255)):
        assert np.array_equal(small().fit(given, FIGURE).predict_proba(given), once.predict_proba(X))
    flat = X.reshape(len(X), -1)
    rows = small(image_shape=(16, 16)).fit(flat, FIGURE)
    assert np.array_equal(rows.predict_proba(flat), once.predict_proba(X))


def test_evaluate_is_the_mean_over_pixels_and_the_history_has_validation():
    net = small(validation=0.25).fit(X, FIGURE)
    found = net.evaluate(X, FIGURE)
    assert found["loss"] == pytest.approx(loss_of(net, X, FIGURE), rel=1e-5)
    assert found["accuracy"] == pytest.approx(net.score(X, FIGURE)) and "valid_loss" in net.history_[-1]


# ---- weights


def test_k_copies_of_an_image_are_weight_k():
    twice = np.concatenate([X[:6], X[:2]]), np.concatenate([CLASSES[:6], CLASSES[:2]])
    weight = np.array([2.0, 2, 1, 1, 1, 1])
    one, other = (small(batch_size="auto", dtype="float64", norm="none") for _ in range(2))
    one.fit(*twice), other.fit(X[:6], CLASSES[:6], weight)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-12)


def test_weights_are_of_images_times_classes():
    """Σ w c(y) l / Σ w c(y): the loss of the weighed objective, from the probabilities."""
    net = small(class_weight={0: 0.5, 1: 3.0}).fit(X, FIGURE)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(X))
    batch = net.batch(X, FIGURE, weight)
    assert batch.weight.shape == (48, 16, 16)
    loss = net.objective(net.module_, net.target_).eval().loss("loss", batch, Draw(0))
    expected = weight[:, None, None] * np.array([0.5, 3.0])[FIGURE]
    assert float(loss.weight) == pytest.approx(expected.sum(), rel=1e-5)
    assert float(loss.total.detach() / loss.weight) == pytest.approx(
        loss_of(net, X, FIGURE, weights=expected), rel=1e-5
    )


def test_balanced_classes_of_pixels_weigh_the_same_in_all():
    weight = small(class_weight="balanced").fit(X, CLASSES).batch(X, CLASSES).weight.numpy()
    assert np.allclose([weight[CLASSES == k].sum() for k in range(4)], CLASSES.size / 4, rtol=1e-5)


def test_a_heavier_class_is_answered_more_often():
    shares = [(small(class_weight={1: w}, epochs=4).fit(X, FIGURE).predict(X) == 1).mean() for w in (0.05, 1, 20)]
    assert shares[0] < shares[1] < shares[2]


def test_score_weighs_images():
    net, weight = small().fit(X, FIGURE), np.arange(48.0)
    each = (net.predict(X) == FIGURE).mean((1, 2))
    assert net.score(X, FIGURE, weight) == pytest.approx(np.average(each, weights=weight))


# ---- pixels left out


def test_ignored_pixels_teach_nothing_and_are_not_scored():
    """Half of each map is 255: its labels before that do not matter, and the loss is of the other half."""
    hidden = CLASSES.copy()
    hidden[:, :8] = 255
    net = small(ignore_label=255).fit(X, hidden)
    assert net.classes_.tolist() == [0, 1, 2, 3]
    assert net.score(X, hidden) == pytest.approx((net.predict(X) == CLASSES)[:, 8:].mean())
    batch = net.batch(X, hidden)
    assert batch.weight[:, :8].sum() == 0 and batch.weight[:, 8:].min() == 1
    loss = net.objective(net.module_, net.target_).eval().loss("loss", batch, Draw(0))
    weight = np.broadcast_to(np.arange(16)[:, None] >= 8, CLASSES.shape)
    assert float(loss.total.detach() / loss.weight) == pytest.approx(loss_of(net, X, CLASSES, weights=weight), rel=1e-5)


def test_an_image_without_a_counted_pixel_is_left_out():
    hidden = FIGURE.copy()
    hidden[3] = 9
    net = small(ignore_label=9, batch_size=1, norm="layer", epochs=1).fit(X, hidden)
    assert net.history_[-1]["rows"] == 47 and np.isfinite(net.history_[-1]["loss"])
    with pytest.raises(InputError, match="No pixel of y counts: all are 9, which is ignored"):
        net.batch(X, np.full_like(FIGURE, 9))
    with pytest.raises(InputError, match="All pixels of y with a weight are 9, which is ignored; none is left"):
        net.score(X, np.full_like(FIGURE, 9))


# ---- augmentation


def test_labels_move_with_their_image():
    """Images that show their own labels: after any move they still do, but for pixels between two of them."""
    y = torch.tensor(CLASSES[:16])
    batch = Batch(y[:, None].float(), y, None)
    moved = _with_labels(augmentation({"shift": 3, "rotate": 30, "flip": 0.5}), 4)(batch, Draw(0))
    whole = (moved.x[:, 0] - moved.x[:, 0].round()).abs() < 1e-3
    inside = whole & (moved.weight > 0.99)
    assert inside.float().mean() > 0.5 and (moved.x[:, 0].round() == moved.y)[inside].float().mean() > 0.98
    assert not torch.equal(moved.y, y)


def test_what_comes_from_outside_or_is_cut_out_is_not_counted():
    x, y = torch.ones(64, 1, 16, 16), torch.ones(64, 16, 16, dtype=torch.long)
    weight = torch.arange(64) + 1.0
    for spec in ({"shift": 4}, {"cutout": 6}):
        moved = _with_labels(augmentation(spec), 2)(Batch(x, y, weight), Draw(0))
        assert torch.allclose(moved.weight, weight[:, None, None] * moved.x[:, 0], atol=1e-4)
        assert 0 < (moved.weight == 0).float().mean() < 0.6


def test_noise_changes_no_label_and_no_weight():
    x, y = torch.zeros(8, 1, 16, 16), torch.tensor(CLASSES[:8])
    moved = _with_labels(augmentation({"noise": 2.0}), 4)(Batch(x, y, None), Draw(0))
    assert torch.equal(moved.y, y) and torch.allclose(moved.weight, torch.ones(8, 16, 16), atol=1e-4)
    assert moved.x.std() > 1


def test_a_net_is_trained_with_it_and_mixing_labels_is_refused():
    assert small(augment=("shift", "flip"), epochs=1).fit(X, FIGURE).history_[-1]["loss"] > 0
    with pytest.raises(InputError, match="mixup and cutmix mix classes: .* labels of pixels"):
        small(augment="mixup").fit(X, FIGURE)


# ---- life


@pytest.mark.middle
def test_it_is_saved_loaded_cloned_and_cross_validated(tmp_path):
    net = small(class_weight="balanced", ignore_label=3, skip="sum", up="transposed").fit(X, CLASSES)
    net.save(tmp_path / "net")
    again = ftheta.load(tmp_path / "net")
    assert np.array_equal(again.predict_proba(X), net.predict_proba(X)) and again.ignore_label == 3
    assert np.array_equal(clone(net).fit(X, CLASSES).predict_proba(X), net.predict_proba(X))
    assert cross_val_score(small(), X, FIGURE, cv=3).shape == (3,)


def test_one_image_alone_is_answered_as_in_a_batch():
    net = small().fit(X, CLASSES)
    np.testing.assert_allclose(net.predict_proba(X[3:4])[0], net.predict_proba(X)[3], atol=1e-6)


def test_knobs_reach_the_net():
    net = small(filters=(3, 4, 5), skip="none", up="bilinear", norm="group", activation="silu", dropout=0.25)
    module = net.fit(X[:4], FIGURE[:4]).module_
    assert module.skip == "none" and module.drop.p == 0.25 and len(module.encoder) == 3
    names = {type(layer).__name__ for layer in module.modules()}
    assert {"GroupNorm", "SiLU", "Upsample"} <= names and "BatchNorm2d" not in names


@pytest.mark.parametrize(
    ("y", "error", "sentence"),
    [
        (None, InputError, r"UNetSegmenter learns from labels: pass y, \(n, height, width\), one for every pixel of X"),
        (FIGURE * 0.5, InputTypeError, "y holds float64; UNetSegmenter needs an integer for every pixel"),
        (FIGURE[:5], InputError, r"y has shape \(5, 16, 16\); UNetSegmenter needs labels .* of the 48 images of X"),
        (FIGURE[:, 0], InputError, r"y has shape \(48, 16\); UNetSegmenter needs labels \(n, height, width\)"),
        (FIGURE[:, :9], InputError, r"y labels \(9, 16\) pixels of each image, but the images of X have \(16, 16\)"),
        (FIGURE.reshape(48, 8, 32), InputError, r"y labels \(8, 32\) pixels of each image"),  # as many, in other places
        (FIGURE * 0, InputError, r"The pixels of y have 1 class\(es\) \[0\]; UNetSegmenter needs at least 2"),
    ],
)
def test_labels_that_do_not_fit_are_refused(y, error, sentence):
    with pytest.raises(error, match=sentence):
        small().fit(X, y)


def test_what_a_fitted_net_cannot_answer_is_said():
    net = small().fit(X, FIGURE)
    with pytest.raises(InputError, match=r"X has images of 3x16x16 .* UNetSegmenter was fitted with 1x16x16"):
        net.predict(np.zeros((1, 3, 16, 16)))
    with pytest.raises(InputError, match=r"y has shape \(48, 9, 16\), but X has 48 images of \(16, 16\) pixels"):
        net.score(X, FIGURE[:, :9])
    with pytest.raises(InputError, match="y has class 2 never seen before"):
        net.evaluate(X, FIGURE * 2)
