"""Convolutional classifiers: what they learn, what they take over, and what they say of images they cannot take."""

import numpy as np
import pytest
import torch
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score

import ftheta
from ftheta import ConvNetClassifier, MLPClassifier, ResNetClassifier, UNetSegmenter
from ftheta.data import InputSpec, TargetSpec, augmentation, open_images
from ftheta.errors import InputError
from ftheta.nn import MLP, ConvNet, ResNet, UNet
from ftheta.train import Training, threads


@pytest.fixture(scope="module")
def digits():
    """Images in [0, 1] and labels: 1,000 to learn from, 797 to test with."""
    raw = load_digits()
    x, y = (raw.images / 16).astype(np.float32), raw.target
    return x[:1000], y[:1000], x[1000:], y[1000:]


def net(**settings):
    return ConvNetClassifier(
        **(
            {"filters": (8, 16), "padding": "same", "epochs": 12, "batch_size": 25, "lr": 0.005, "random_state": 0}
            | settings
        )
    )


@pytest.fixture(scope="module")
def learned(digits):
    return net().fit(*digits[:2])


@pytest.mark.middle
@pytest.mark.ledger("C331", covers="ftheta.models.ConvNetClassifier")  # vision
def test_digits_are_read_better_than_by_a_linear_model(digits, learned):
    x, y, new, labels = digits
    linear = ftheta.LogisticRegression().fit(x.reshape(1000, -1), y).score(new.reshape(-1, 64), labels)
    assert learned.score(new, labels) > linear > 0.85
    assert (
        ResNetClassifier(filters=(8, 16), blocks=1, epochs=4, batch_size=25, lr=0.01, random_state=0)
        .fit(x, y)
        .score(new, labels)
        > 0.85
    )


def test_features_are_what_the_layers_give(digits, learned):
    x = digits[2][:9]
    assert learned.features(x, "conv1").shape == (9, 8, 8, 8)
    raw = torch.from_numpy(learned.features(x)) @ learned.module_.output.weight.T + learned.module_.output.bias
    np.testing.assert_allclose(raw.detach().numpy(), learned.decision_function(x), atol=1e-5)
    with pytest.raises(InputError, match=r"Unknown layer 'conv9'\. Did you mean 'conv"):
        learned.features(x, "conv9")
    assert not learned.module_.conv1._forward_hooks


def test_several_views_average_the_raw_outputs_of_shifted_copies(digits, learned):
    x = digits[2][:20]
    one = learned.decision_function(x)
    many = net(views=5)
    many.set_state(learned.get_state())
    inside = x.copy()
    inside[:, [0, -1]] = inside[:, :, [0, -1]] = 0  # nothing moves out of the picture
    same = [np.roll(inside, by, (1, 2)) for by in ((0, 0), (0, 1), (0, -1), (1, 0), (-1, 0))]
    expected = np.mean([learned.decision_function(s) for s in same], 0)
    np.testing.assert_allclose(many.decision_function(inside), expected, atol=1e-4)
    assert not np.allclose(many.decision_function(x), one)
    np.testing.assert_allclose(np.exp(many.predict_log_proba(x)), many.predict_proba(x), atol=1e-6)


def test_a_saved_trunk_starts_a_new_task_and_what_is_frozen_stays(digits, learned, tmp_path):
    x, y, *_ = digits
    learned.save(tmp_path / "trunk")
    few = y >= 7
    made = net(start=str(tmp_path / "trunk"), epochs=1, training=Training(freeze=("conv1.*", "conv2.*"))).fit(
        x[few], y[few]
    )
    assert made.started_["fresh"] == ["output.weight", "output.bias"] and made.classes_.tolist() == [7, 8, 9]
    for name in ("conv1.weight", "conv2.bias"):
        assert torch.equal(made.module_.state_dict()[name], learned.module_.state_dict()[name])
    np.testing.assert_allclose(made.features(x[:5]), learned.features(x[:5]), atol=1e-6)
    made.save(tmp_path / "tuned")
    (tmp_path / "trunk").rename(tmp_path / "gone")
    np.testing.assert_array_equal(ftheta.load(tmp_path / "tuned").predict_proba(x[:9]), made.predict_proba(x[:9]))


def test_an_output_of_other_classes_starts_fresh_even_where_it_has_the_same_shape(digits, tmp_path):
    x, y, *_ = digits
    low, high = y < 5, y >= 5
    net(epochs=1).fit(x[low], y[low]).save(tmp_path / "low")
    fresh = net(epochs=1, start=str(tmp_path / "low")).fit(x[high], y[high]).started_["fresh"]
    assert fresh == ["output.weight", "output.bias"]
    assert net(epochs=1, start=str(tmp_path / "low")).fit(x[low], y[low]).started_["fresh"] == []


def test_a_start_that_fits_nowhere_is_one_sentence(digits, tmp_path):
    x, y, *_ = digits
    ftheta.MLPClassifier(epochs=1, hidden=(4,)).fit(x.reshape(1000, -1), y).save(tmp_path / "mlp")
    with pytest.raises(InputError, match=r"start='.*mlp': no layer has the name and the shape"):
        net(start=str(tmp_path / "mlp"), epochs=1).fit(x, y)
    with pytest.raises(InputError, match="does not exist"):
        net(start=str(tmp_path / "nowhere"), epochs=1).fit(x, y)


def test_augmentation_changes_training_and_not_prediction(digits):
    x, y, *_ = digits
    plain, moved = net(epochs=1).fit(x, y), net(epochs=1, augment={"shift": 1, "rotate": 10}).fit(x, y)
    assert not np.allclose(plain.predict_proba(x[:5]), moved.predict_proba(x[:5]))
    np.testing.assert_array_equal(moved.predict_proba(x[:5]), moved.predict_proba(x[:5]))
    assert augmentation("shift") is not None
    with pytest.raises(InputError, match="Unknown augmentation 'shfit'"):
        net(augment="shfit", epochs=1).fit(x, y)


def test_moments_lie_in_memory_as_their_weights_do(digits):
    trainer = net(epochs=1).prepare(*digits[:2])
    trainer.advance()
    tree = trainer.state_dict()
    fresh = net(epochs=1).prepare(*digits[:2])
    fresh.load_state_dict({**tree, "optimizers": {"loss": _flat(tree["optimizers"]["loss"])}})
    for p, own in fresh.optimizers["loss"].state.items():
        assert own["exp_avg"].stride() == p.stride()
    trainer.advance()
    fresh.advance()
    for a, b in zip(trainer.weights().values(), fresh.weights().values(), strict=True):
        assert torch.equal(a, b)


def _flat(state):
    """As a file gives it back: every tensor contiguous."""
    own = {
        k: {n: v.contiguous() if isinstance(v, torch.Tensor) else v for n, v in s.items()}
        for k, s in state["state"].items()
    }
    return {**state, "state": own}


def test_few_rows_are_tried_longer_than_many():
    few, many = (ConvNetClassifier.first_try(n, watched=True) for n in (1000, 54_000))
    assert few["epochs"] == 200 and many["epochs"] == 15 and many["patience"] == 5
    assert "patience" not in ConvNetClassifier.first_try(1000, watched=False)
    tried = [ConvNetClassifier.first_try(1000, watched=False, shape=shape) for shape in ((8, 30), (28, 28, 3))]
    assert [settings.get("padding") for settings in tried] == ["same", None]


NETS = {
    ConvNetClassifier: lambda **own: ConvNet((1, 14, 14), 3, **{"filters": (4, 8)} | own),
    ResNetClassifier: lambda **own: ResNet((1, 14, 14), 3, **{"filters": (4, 8), "blocks": 2} | own),
    UNetSegmenter: lambda **own: UNet((1, 14, 14), 3, **{"filters": (4, 8)} | own),
    MLPClassifier: lambda hidden=(5, 4), **own: MLP(1, 3, hidden, **own),
}
CHANGES = {
    ConvNetClassifier: {"filters": (4,), "convs": (2, 1), "kernel": 2, "padding": "same", "pool": "mean"}
    | {"norm": "batch", "activation": "tanh", "dropout": 0.3, "head": "mean", "hidden": (7,)},
    ResNetClassifier: {"filters": (4,), "blocks": 1, "block": "bottleneck", "order": "pre", "squeeze": 2}
    | {"norm": "layer", "activation": "tanh", "survival": 0.5, "dropout": 0.3},
    UNetSegmenter: {"filters": (4,), "skip": "sum", "up": "bilinear", "norm": "layer", "activation": "tanh"}
    | {"dropout": 0.3},
    MLPClassifier: {"hidden": (3,), "activation": ("tanh", "relu"), "dropout": (0.1, 0.2), "init": "zeros"},
}


@pytest.mark.parametrize("family", CHANGES, ids=lambda family: family.__name__)
def test_every_setting_reaches_the_net(family):
    usual = {"filters": (4, 8)} if family is not MLPClassifier else {"hidden": (5, 4)}
    for name, value in CHANGES[family].items():
        own, model = {("kind" if name == "block" else name): value}, family(**usual | {name: value})
        made = described(lambda m=model: m.build(InputSpec((1, 14, 14)), TargetSpec("multiclass", 3, {})))
        assert made == described(lambda o=own: NETS[family](**o)) != described(NETS[family]), name


def described(build):
    torch.manual_seed(0)
    net = build()
    return [(str(part), vars(part).get("survival")) for part in net.modules()], [
        p.square().sum().item() for p in net.parameters()
    ]


def test_an_image_smaller_than_the_kernel_is_one_sentence():
    with pytest.raises(InputError, match=r"conv1 has windows of 3x3, but only 1x1 pixels reach it"):
        ConvNetClassifier(epochs=1).fit(np.zeros((4, 1, 1, 1)), [0, 1, 0, 1])


def test_the_threads_of_a_step_come_from_the_places_and_not_from_the_weights(digits):
    with threads(2):  # 0.3 million multiply-adds of a row, 0.02 million weights; two threads from 10 million of a batch
        assert net(filters=(32, 64), batch_size=50).prepare(*digits[:2]).training.threads == 2
        assert net(filters=(32, 64), batch_size=20).prepare(*digits[:2]).training.threads == 1
    assert ConvNetClassifier(training=Training(threads=1)).training.threads == 1


@pytest.fixture
def folder(tmp_path):
    """Sixteen pictures of bars in two folders."""
    rng = np.random.default_rng(0)
    for k in range(16):
        bar = rng.integers(0, 60, (10, 10), dtype=np.uint8)
        bar[2:8, 4] = 255
        where = tmp_path / "bars" / ("lies" if k % 2 else "stands")
        where.mkdir(parents=True, exist_ok=True)
        Image.fromarray(bar.T if k % 2 else bar).save(where / f"{k:02}.png")
    return tmp_path / "bars"


def test_a_folder_is_learned_as_the_same_images_in_memory(folder):
    found = open_images(folder)
    knobs = {"filters": (4,), "epochs": 3, "batch_size": 4, "random_state": 0, "augment": "shift"}
    lazy = ConvNetClassifier(**knobs).fit(found.x, found.y)
    memory = ConvNetClassifier(**knobs).fit(np.asarray(found.x), found.y)
    assert lazy.classes_.tolist() == ["lies", "stands"]
    np.testing.assert_array_equal(lazy.predict_proba(found.x), memory.predict_proba(np.asarray(found.x)))
    watched = ConvNetClassifier(**knobs).fit(found.x, found.y, X_val=found.x, y_val=found.y)
    assert watched.history_[-1]["valid_accuracy"] == pytest.approx(watched.score(found.x, found.y))
    assert lazy.evaluate(found.x, found.y) == memory.evaluate(np.asarray(found.x), found.y)


def test_pictures_are_split_weighed_and_scored_like_rows(folder):
    found = open_images(folder)
    made = ConvNetClassifier(filters=(4,), epochs=2, batch_size=4, validation=0.25, random_state=0)
    made.fit(found.x, found.y, sample_weight=np.arange(16) % 3)
    assert "valid_loss" in made.history_[0] and len(cross_val_score(made, found.x, found.y, cv=2)) == 2
