"""What users of scikit-learn and PyTorch expect of an estimator, and what is refused in one sentence."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression
from torch import nn

import ftheta
from ftheta import MLPClassifier, MLPRegressor, ModuleClassifier, ModuleRegressor
from ftheta.errors import InputError, RunError
from ftheta.models import NeuralTransformer
from ftheta.train import Callback, Loss, Objective, Training

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 3))
Y = np.digitize(X[:, 0] + 0.2 * rng.normal(size=120), [-0.5, 0.5])
QUICK = {"hidden": (8,), "epochs": 4, "random_state": 0}


def weights(model):
    return torch.cat([p.detach().ravel() for p in model.module_.parameters()])


# ---- names and settings


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("hidden_layer_sizes", "hidden"),
        ("max_iter", "epochs"),
        ("tol", "min_delta"),
        ("C", "l2"),
        ("solver", "optimizer"),
    ],
)
def test_a_name_of_scikit_learn_is_answered_with_the_one_used_here(name, meant):
    with pytest.raises(TypeError, match=f"scikit-learn's {name} is .*{meant}"):
        MLPClassifier(**{name: 1})
    with pytest.raises(ValueError, match=meant):
        MLPClassifier().set_params(**{name: 1})
    with pytest.raises(TypeError, match="Did you mean 'epochs'"):
        MLPClassifier(epoch=3)


def test_the_name_used_here_is_one_that_the_class_takes():
    with pytest.raises(TypeError, match=r"scikit-learn's C is l2 = 1 / \(2 n C\) here"):
        ftheta.LogisticRegression(C=1.0)
    with pytest.raises(TypeError) as caught:
        ftheta.Perceptron(penalty="l1")
    assert "scikit-learn" not in str(caught.value)


def test_the_defaults_of_a_family_stand_below_what_is_set():
    class Averaged(MLPClassifier):
        defaults = {"ema": 0.9}

    assert Averaged().settings.ema == 0.9 and Averaged().get_params()["training__ema"] == 0.9
    assert Averaged().set_params(training__l2=1.0).settings == Training(ema=0.9, l2=1.0)
    assert Averaged(training=Training(l2=1.0)).settings.ema == 0.0
    plain, averaged = MLPClassifier(**QUICK).fit(X, Y), Averaged(**QUICK).fit(X, Y)
    assert not torch.equal(weights(plain), weights(averaged))


# ---- fitting


def test_fit_takes_callbacks():
    class Losses(Callback):
        def __init__(self):
            self.seen = []

        def on_row(self, ctx, row):
            self.seen.append(row["loss"])
            if len(self.seen) == 3:
                ctx.stop("enough")

    seen = Losses()
    model = MLPClassifier(**QUICK | {"epochs": 9}).fit(X, Y, callbacks=[seen])
    assert seen.seen == [row["loss"] for row in model.history_] and len(seen.seen) == model.n_iter_ == 3
    assert model.stop_reason_ == "enough"


def test_an_optimizer_and_a_schedule_of_the_users_own(tmp_path):
    """A class of torch is what its name stands for; a schedule is a function of the share that is done."""
    own = MLPClassifier(**QUICK, optimizer=torch.optim.Adadelta, lr=0.01).fit(X, Y, run=tmp_path / "run")
    assert torch.equal(weights(own), weights(MLPClassifier(**QUICK, optimizer="adadelta", lr=0.01).fit(X, Y)))
    assert torch.equal(weights(ftheta.load(tmp_path / "run")), weights(own))
    with pytest.raises(RunError, match="other parameters"):
        MLPClassifier(**QUICK, optimizer=torch.optim.NAdam, lr=0.01).fit(X, Y, run=tmp_path / "run")
    made = lambda params, lr: torch.optim.SGD(params, lr=lr, momentum=0.9)  # noqa: E731
    assert MLPClassifier(**QUICK, optimizer=made, lr=0.01).fit(X, Y).n_iter_ == 4
    falling = Training(schedule=lambda done: 1 - done)
    rates = [row["lr"] for row in MLPClassifier(**QUICK, training=falling, lr=0.1).fit(X, Y).history_]
    assert rates == pytest.approx([0.1 * (1 - k / 4) for k in range(4)])


def test_epochs_that_are_used_up_before_patience_ends_training_are_warned_of():
    with pytest.warns(ConvergenceWarning, match="All 4 epochs were used before patience=3 ended training"):
        MLPClassifier(**QUICK, patience=3).fit(X, Y)
    MLPClassifier(**QUICK, patience=4).fit(X, Y)  # which more epochs alone would not end: no warning


def test_a_warm_start_continues_from_the_weights_that_are_there():
    """Of a fit that changes nothing, a second warm fit starts where the first ended."""
    model = MLPRegressor(**QUICK | {"optimizer": "sgd", "lr": 1e-30, "warm_start": True}).fit(X, X[:, 0])
    start = weights(model).clone()
    model.set_params(random_state=5).fit(X, X[:, 0] + 3)
    torch.testing.assert_close(weights(model), start)
    assert model.target_.facts["mean"] == pytest.approx(X[:, 0].mean())
    model.set_params(warm_start=False).fit(X, X[:, 0])
    assert not torch.equal(weights(model), start)
    losses = [MLPClassifier(**QUICK, warm_start=True)]
    for _ in range(3):
        losses[0].fit(X, Y)
        losses.append(losses[0].history_[-1]["loss"])
    assert losses[1] > losses[2] > losses[3]
    with pytest.raises(InputError, match="never seen before"):
        losses[0].fit(X, Y + 1)


def test_rows_for_validation_and_a_share_are_not_both_given():
    with pytest.raises(InputError, match=r"validation=0\.5 and X_val were both given"):
        MLPClassifier(**QUICK, validation=0.5).fit(X, Y, X_val=X, y_val=Y)
    with pytest.raises(InputError, match="without X_val"):
        MLPClassifier(**QUICK).fit(X, Y, y_val=Y)


def test_balanced_classes_need_all_rows_at_once():
    with pytest.raises(InputError, match="balanced"):
        MLPClassifier(**QUICK, class_weight="balanced").partial_fit(X, Y)
    given = MLPClassifier(**QUICK, class_weight={0: 2.0}).partial_fit(X[Y > 0], Y[Y > 0], classes=[0, 1, 2])
    assert given.partial_fit(X, Y).n_iter_ == 2


@dataclass(kw_only=True, eq=False, repr=False)
class Means(NeuralTransformer):
    """x from nothing: the loss is the squared distance to a point."""

    def build(self, x, y):
        return nn.Linear(x.shape[0], x.shape[0])

    def objective(self, module, y):
        return Distance(module)

    def transform(self, X):
        return self.apply(self.module_, X)


class Distance(Objective):
    def __init__(self, module):
        super().__init__()
        self.module = module

    def loss(self, player, batch, draw):
        return Loss(*batch.sum((batch.x - self.module.bias).square().sum(-1)))


def test_weights_count_where_there_is_no_target():
    model = Means(epochs=2, random_state=0).fit(X)
    each = ((X - model.module_.bias.detach().numpy()) ** 2).sum(1)
    weight = rng.uniform(0, 2, len(X))
    assert model.evaluate(X)["loss"] == pytest.approx(each.mean(), rel=1e-5)
    assert model.evaluate(X, sample_weight=weight)["loss"] == pytest.approx(np.average(each, weights=weight), rel=1e-5)


def test_a_row_of_weight_zero_is_not_there():
    weight = np.where(Y == 2, 0.0, 1.0)
    model, without = MLPClassifier(**QUICK).fit(X, Y, weight), MLPClassifier(**QUICK).fit(X[Y < 2], Y[Y < 2])
    assert model.classes_.tolist() == [0, 1] and torch.equal(weights(model), weights(without))


@pytest.mark.parametrize("y", [Y[:100], X[:100, 0]])
def test_targets_of_another_length_are_refused_before_rows_are_held_out(y):
    with pytest.raises(InputError, match="120 rows but y has 100"):
        (MLPClassifier if y.dtype.kind == "i" else MLPRegressor)(**QUICK, validation=0.2).fit(X, y)


# ---- what X may be


@pytest.mark.parametrize("made", ["module", "function"])
def test_integers_stay_integers_for_an_embedding(made):
    words = rng.integers(0, 11, (150, 5))
    labels = (words == 3).any(1)

    class Bag(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.embed, self.out = nn.Embedding(11, 4), nn.Linear(20, n)

        def forward(self, x):
            assert not x.is_floating_point()
            return self.out(self.embed(x).flatten(1))

    module = Bag(1) if made == "module" else lambda x, y: Bag(y.n)
    model = ModuleClassifier(module=module, epochs=60, lr=0.05, random_state=0).fit(words, labels)
    assert model.score(words, labels) > 0.95
    assert np.array_equal(model.predict(pd.DataFrame(words)), model.predict(words))


def test_integers_become_floats_for_other_nets():
    whole = rng.integers(-3, 4, (60, 3))
    for cls in (MLPClassifier, ModuleClassifier):
        settings = {"epochs": 3, "random_state": 0}
        a, b = cls(**settings).fit(whole, whole[:, 0] > 0), cls(**settings).fit(whole * 1.0, whole[:, 0] > 0)
        torch.testing.assert_close(weights(a), weights(b))


def test_bytes_of_images_mean_the_same_in_a_module_of_the_users():
    images = rng.integers(0, 256, (30, 1, 6, 6), dtype=np.uint8)
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(32, 2))
    labels = np.arange(30) % 2
    made = [ModuleClassifier(module=net, epochs=2, random_state=0).fit(x, labels) for x in (images, images / 255.0)]
    np.testing.assert_allclose(weights(made[0]), weights(made[1]), rtol=1e-4, atol=1e-6)


def test_lazy_layers_learn_their_widths(tmp_path):
    net = nn.Sequential(nn.LazyLinear(8), nn.Tanh(), nn.LazyLinear(3))
    model = ModuleClassifier(module=net, epochs=60, lr=0.05, random_state=0).fit(X, Y)
    assert model.module_[0].weight.shape == (8, 3) and model.score(X, Y) > 0.8
    assert torch.equal(weights(clone(model).fit(X, Y)), weights(model))
    assert clone(model).fit(X, Y, run=tmp_path / "run").n_iter_ == 60


def test_a_module_that_knows_the_answer_keeps_it():
    """Numbers are left in their own units, so the weights of a pretrained module mean what they meant."""
    y = 1000 + 500 * X[:, 0] - 20 * X[:, 1]
    truth, net = LinearRegression().fit(X, y), nn.Linear(3, 1)
    with torch.no_grad():
        net.weight.copy_(torch.tensor(truth.coef_)[None])
        net.bias.copy_(torch.tensor(truth.intercept_))
    known = ModuleRegressor(module=net, epochs=1, lr=1e-12, optimizer="sgd", random_state=0).fit(X, y)
    assert known.score(X, y) > 0.999999
    scaled = ModuleRegressor(module=net, epochs=1, scale_y=True, random_state=0).fit(X, y)
    assert scaled.score(X, y) < 0  # of standardized y the weights mean something else


# ---- one path


def test_prediction_takes_memory_by_the_size_of_a_row():
    model = MLPClassifier(**QUICK).fit(np.zeros((4, 20_000)) + np.arange(4)[:, None], [0, 1, 0, 1])
    sizes = []
    model.apply(lambda x: (sizes.append(len(x)), model.raw(x))[1], np.zeros((100, 20_000)))
    assert sum(sizes) >= 100 and max(sizes) * 20_000 <= 2**20
    narrow = MLPClassifier(**QUICK).fit(X, Y)
    sizes.clear()
    narrow.apply(lambda x: (sizes.append(len(x)), narrow.raw(x))[1], np.zeros((5000, 3)))
    assert max(sizes) == 4096


def test_one_image_is_one_forward_pass():
    net, seen = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(32, 2)), []
    model = ModuleClassifier(module=net, epochs=1, random_state=0).fit(
        rng.normal(size=(20, 1, 6, 6)), np.arange(20) % 2
    )
    model.module_.register_forward_hook(lambda _, inputs, __: seen.append(len(inputs[0])))
    model.predict(np.zeros((1, 1, 6, 6)))
    assert seen == [1]


@pytest.mark.parametrize("batch_size", [50, 16])
def test_a_module_that_writes_into_its_input_leaves_the_users_rows_alone(batch_size):
    x = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    y, before = (x[:, 0] > 0).astype(int), x.copy()
    net = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(4, 2))
    model = ModuleClassifier(module=net, epochs=2, batch_size=batch_size).fit(x, y)
    model.evaluate(x, y), model.predict(x), model.partial_fit(x, y)
    np.testing.assert_array_equal(x, before)
