"""The user's own module: never touched, checked for its outputs, with rows of any shape, saved without code."""

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from torch import nn

import ftheta
from ftheta.data import InputSpec
from ftheta.errors import InputError, RunError
from ftheta.models import ModuleClassifier, ModuleRegressor
from ftheta.train import Training
from tests.contract.enrolled import digest

rng = np.random.default_rng(0)
X = rng.normal(size=(130, 3))
y = np.digitize(X[:, 0], [-0.5, 0.5])
QUICK = {"epochs": 5, "random_state": 0}


def net(n_out=3, dtype=None):
    torch.manual_seed(7)
    return nn.Sequential(nn.Linear(3, 6), nn.Dropout(0.2), nn.Tanh(), nn.Linear(6, n_out)).to(dtype)


def same(a, b):
    return all(torch.equal(a[k], b[k]) for k in a) and a.keys() == b.keys()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_given_module_is_never_changed(dtype):
    given = net().train()
    before = {k: v.clone() for k, v in given.state_dict().items()}
    model = ModuleClassifier(module=given, dtype=dtype, **QUICK).fit(X, y).fit(X, y)
    model.partial_fit(X, y)
    model.predict(X)
    assert model.module is given and same(given.state_dict(), before) and given.training
    assert all(p.grad is None and p.dtype == torch.float32 for p in given.parameters())
    assert model.module_ is not given and not same(dict(model.module_.float().state_dict()), before)


def test_its_weights_are_the_start():
    given = net()
    model = ModuleClassifier(module=given, lr=1e-30, **QUICK).partial_fit(X[:1], y[:1], classes=[0, 1, 2])
    assert same(dict(model.module_.state_dict()), dict(given.state_dict()))


def test_a_function_builds_it_anew_from_the_shapes():
    seen = []

    def build(x, y):
        seen.append((x, y))
        return nn.Linear(*x.shape, y.n)

    model = ModuleClassifier(module=build, **QUICK)
    first = digest(model.fit(X, y))
    assert seen[0][0] == InputSpec((3,)) and seen[0][1][:2] == ("multiclass", 3)
    assert digest(model.fit(X, y)) == first  # made under the seed
    assert digest(clone(model).set_params(random_state=1).fit(X, y)) != first


def test_none_is_one_linear_layer():
    images = rng.normal(size=(40, 2, 4, 4))
    model = ModuleClassifier(**QUICK).fit(images, np.arange(40) % 3)
    assert [p.shape for p in model.module_.parameters()] == [(3, 32), (3,)]


@pytest.mark.parametrize("outputs", [1, 2])
def test_two_classes_may_have_one_output_or_two(outputs):
    labels = np.where(X[:, 0] > 0, "yes", "no")
    model = ModuleClassifier(module=net(outputs), epochs=60, lr=0.05, random_state=0).fit(X, labels)
    assert model.score(X, labels) > 0.9 and model.predict_proba(X).shape == (130, 2)
    assert model.decision_function(X).shape == (130,)
    assert np.array_equal(model.decision_function(X) > 0, model.predict(X) == "yes")
    log_odds = np.diff(np.log(model.predict_proba(X)))[:, 0]
    np.testing.assert_allclose(model.decision_function(X), log_odds, rtol=1e-3, atol=1e-4)
    assert model.evaluate(X, labels)["accuracy"] == pytest.approx(model.score(X, labels))
    balanced = ModuleClassifier(module=net(outputs), class_weight="balanced", **QUICK).fit(X, labels)
    assert balanced.target_.facts["weights"] == pytest.approx(130 / (2 * np.bincount(labels == "yes")))


def test_a_wrong_number_of_outputs_is_named():
    with pytest.raises(
        InputError, match="module= gives 5 outputs per row, but multiclass targets need 3. Change the last"
    ):
        ModuleClassifier(module=net(5)).fit(X, y)
    with pytest.raises(InputError, match="module= gives 3 outputs per row, but binary targets need 1"):
        ModuleClassifier(module=net(3)).fit(X, y > 0)
    with pytest.raises(InputError, match="module= gives 3 outputs per row, but regression targets need 2"):
        ModuleRegressor(module=net(3)).fit(X, X[:, :2])
    with pytest.raises(InputError, match="module= gives 1 outputs per row, but regression targets need 2"):
        ModuleRegressor(module=net(1), likelihood="gaussian-heteroscedastic").fit(X, X[:, 0])


def test_what_is_no_module_and_an_output_without_columns_are_named():
    with pytest.raises(InputError, match="module= is a function that returned int; it must return an nn.Module"):
        ModuleClassifier(module=lambda x, y: 3).fit(X, y)
    flat = nn.Sequential(nn.Linear(3, 1), nn.Flatten(0))
    with pytest.raises(InputError, match=r"module= gives outputs of shape \(2,\) for 2 rows; it must give \(2, R\)"):
        ModuleRegressor(module=flat).fit(X, X[:, 0])


def test_a_module_that_cannot_take_the_rows_is_named():
    with pytest.raises(InputError, match=r"module= cannot take rows of shape \(3,\): .*mat1 and mat2"):
        ModuleRegressor(module=nn.Linear(5, 1)).fit(X, X[:, 0])


def conv(n_out=3):
    torch.manual_seed(1)
    return nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 4 * 4, n_out))


def test_rows_may_have_more_axes(tmp_path):
    images = rng.normal(size=(90, 2, 6, 6))
    labels = np.digitize(images[:, 0].mean((1, 2)), [-0.05, 0.05])
    model = ModuleClassifier(module=conv(), epochs=60, random_state=0).fit(images, labels)
    assert model.score(images, labels) > 0.9 and model.input_.shape == (2, 6, 6)
    np.testing.assert_allclose(model.predict_proba(images[:1]), model.predict_proba(images)[:1], rtol=1e-5)
    parts = ModuleClassifier(module=conv(), **QUICK)
    for _ in range(5):
        parts.partial_fit(images, labels)
    whole = ModuleClassifier(module=conv(), **QUICK).fit(images, labels)
    assert digest(parts) == digest(whole)
    weight = np.arange(90) % 3
    weighted = ModuleClassifier(module=net_of_images(), class_weight="balanced", **QUICK).fit(images, labels, weight)
    copies = ModuleClassifier(module=net_of_images(), class_weight="balanced", **QUICK).fit(
        np.repeat(images, weight, 0), np.repeat(labels, weight)
    )
    assert digest(weighted) == digest(copies)
    loaded = ftheta.load(whole.save(tmp_path / "model"), module=conv())
    assert np.array_equal(loaded.predict_proba(images), whole.predict_proba(images))
    with pytest.raises(InputError, match="X has 1 features, but ModuleClassifier is expecting 2"):
        whole.predict(images[:, :1])
    with pytest.raises(
        InputError, match=r"X has rows of shape \(2, 5, 6\), but ModuleClassifier was fitted with \(2, 6, 6\)"
    ):
        whole.predict(images[:, :, :5])


def net_of_images():
    torch.manual_seed(1)
    return nn.Sequential(nn.Flatten(), nn.Linear(72, 3))


def test_frozen_parameters_stay_and_are_not_asked_for_a_gradient():
    given = net()
    given[0].weight.requires_grad_(False)
    model = ModuleClassifier(module=given, **QUICK, training=Training(freeze=("3.bias",))).fit(X, y)
    now, then = model.module_.state_dict(), given.state_dict()
    assert [k for k in now if torch.equal(now[k], then[k])] == ["0.weight", "3.bias"]
    assert given[3].bias.requires_grad


def test_it_can_be_cloned_and_searched():
    given = net()
    search = GridSearchCV(ModuleClassifier(module=given, **QUICK), {"lr": [1e-4, 0.1]}, cv=2).fit(X, y)
    assert search.best_params_ == {"lr": 0.1}
    assert same(dict(clone(search.best_estimator_).module.state_dict()), dict(given.state_dict()))


def test_it_predicts_in_multiples_of_eight_rows():
    """Kernels add up in another order for other numbers of rows; a row's prediction does not depend on how many."""
    model, seen = ModuleClassifier(module=net(), **QUICK).fit(X, y), []
    model.module_.register_forward_pre_hook(lambda layer, inputs: seen.append(len(inputs[0])))
    assert [len(model.predict(X[:n])) for n in (1, 7, 8, 9, 13)] == [1, 7, 8, 9, 13]
    assert seen == [8, 8, 8, 16, 16]


# ---- batch norm and a batch of one row


def norm_net():
    torch.manual_seed(2)
    return nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))


def test_one_row_in_the_last_batch_before_a_batch_norm_is_named():
    with pytest.raises(
        InputError,
        match=r"Batch of 1 sample reaches BatchNorm1d in training \(last batch of 65 with batch_size=64\). "
        "Use batch_size=65",
    ):
        ModuleClassifier(module=norm_net(), batch_size=64, **QUICK).fit(X[:65], y[:65])
    ModuleClassifier(module=norm_net(), batch_size=65, **QUICK).fit(X[:65], y[:65])
    with pytest.raises(InputError, match=r"last batch of 129 with batch_size=64\). Use batch_size=65\."):
        ModuleClassifier(module=norm_net(), batch_size=64, **QUICK).fit(X[:129], y[:129])
    ModuleClassifier(module=norm_net(), batch_size=65, **QUICK).fit(X[:129], y[:129])
    with pytest.raises(
        InputError, match=r"Batch of 1 sample reaches BatchNorm1d in training. Give it batches of at least 2"
    ):
        ModuleRegressor(module=nn.Sequential(norm_net(), nn.Linear(3, 1))).fit(X[:1], y[:1])


def test_statistics_of_a_batch_norm_are_learned_kept_and_saved(tmp_path):
    model = ModuleClassifier(module=norm_net(), **QUICK).fit(X, y)
    norm = model.module_[1]
    assert norm.num_batches_tracked == 5 and not torch.equal(norm.running_mean, torch.zeros(8))
    model.predict(X)
    assert model.module_[1].num_batches_tracked == 5
    loaded = ftheta.load(model.save(tmp_path / "model"), module=norm_net())
    assert torch.equal(loaded.module_[1].running_var, norm.running_var)
    np.testing.assert_allclose(model.predict_proba(X[:1]), model.predict_proba(X)[:1], rtol=1e-5)


# ---- files


def test_its_file_holds_no_code_and_fills_a_module_of_the_same_names_and_shapes(tmp_path):
    model = ModuleClassifier(module=net(), **QUICK).fit(X, y)
    path = model.save(tmp_path / "model")
    assert b"Dropout" not in (path / "model.safetensors").read_bytes()
    mine = net()
    loaded = ftheta.load(path, module=mine)
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X)) and loaded.module is mine
    by_function = ftheta.load(path, module=lambda x, y: net())
    assert np.array_equal(by_function.predict_proba(X), model.predict_proba(X))
    with pytest.raises(InputError, match=r"trained with your own module, which no file holds. Pass it: ftheta.load\("):
        ftheta.load(path)


@pytest.mark.parametrize(
    ("module", "text"),
    [
        (
            nn.Sequential(nn.Linear(3, 7), nn.Dropout(), nn.Tanh(), nn.Linear(7, 3)),
            r"'0.weight' is \(6, 3\), the model needs \(7, 3\)",
        ),
        (nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 3)), "missing: 2.bias, 2.weight; unexpected: 3.bias"),
        (nn.Linear(3, 4), "gives 4 outputs per row"),
    ],
    ids=["widths", "names", "outputs"],
)
def test_another_module_is_refused(module, text, tmp_path):
    path = ModuleClassifier(module=net(), **QUICK).fit(X, y).save(tmp_path / "model")
    with pytest.raises(InputError, match=text):
        ftheta.load(path, module=module)


def test_a_run_is_continued_with_the_module_that_started_it_only(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 3))
    y = (X[:, 0] > 0).astype(int)
    one, other = nn.Linear(3, 1), nn.Linear(3, 1)
    first = ModuleClassifier(module=one, epochs=2, random_state=0).fit(X, y, run=tmp_path / "run")
    again = ModuleClassifier(module=one, epochs=2, random_state=0).fit(X, y, run=tmp_path / "run")
    assert np.array_equal(first.predict_proba(X), again.predict_proba(X))
    with pytest.raises(RunError, match="was started with other parameters"):
        ModuleClassifier(module=other, epochs=2, random_state=0).fit(X, y, run=tmp_path / "run")
