"""The registry, and modules that are left as they were."""

import random
from inspect import signature

import numpy as np
import pytest
import torch
from torch import nn

from ftheta import LinearRegression, MLPClassifier, catalog, explain
from ftheta.data import Batch
from ftheta.errors import InputError, InputTypeError
from ftheta.explain import _registry
from ftheta.explain._probe import batch_of, calls, forward, untouched
from ftheta.results import Result, Table
from ftheta.train import threads

LINE = LinearRegression().fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 3.0])


class Magnet:
    def energy(self, X):
        return -np.sum(X, 1)


class Energies(Result):
    def __init__(self, values):
        self.values = values

    def table(self):
        return Table({"energy": self.values})

    def figure(self):
        raise NotImplementedError


@pytest.fixture
def energies(monkeypatch):
    """A new explanation with a capability of its own, registered for one test."""
    monkeypatch.setattr(_registry, "_TABLE", dict(_registry._TABLE))

    @explain.explanation("energies", needs="energy")
    def energies(obj, X, y=None, *, scale=1.0):
        return Energies([*(scale * obj.energy(X)), y])

    return energies


def test_a_new_capability_needs_no_family(energies):
    assert explain.available(Magnet()) == ["energies"]
    warm = nn.Linear(2, 1)
    assert "energies" not in explain.available(warm)
    warm.energy = Magnet().energy
    assert explain.available(warm) == ["energies", "summary", "activations", "network"]
    assert explain.run("energies", Magnet(), np.ones((2, 3))).values == [-3, -3, None]
    assert energies(Magnet(), np.ones((2, 3)), scale=2.0).values == [-6, -6, None]  # the function stays a function


def test_rows_are_given_to_those_that_have_a_parameter_for_them(energies):
    assert explain.get("energies")(Magnet(), np.ones((1, 3)), "labels").values == [-3, "labels"]
    assert "X" not in explain.get("curves").function.__annotations__
    model = MLPClassifier(epochs=1, hidden=(2,), random_state=0).fit([[0.0], [1.0]], [0, 1])
    assert explain.run("curves", model, "no rows", "no targets").best == 1


def test_missing_rows_are_asked_for(energies):
    with pytest.raises(InputError, match=r"energies looks at rows, but X is None; pass X\."):
        explain.run("energies", Magnet())


def test_a_name_is_taken_once(energies):
    with pytest.raises(InputError, match=r"already an explanation 'energies'; choose another name"):
        explain.explanation("energies", needs="energy")(energies)


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(InputError, match=r"Unknown explanation 'gradient_flow'\. Did you mean 'gradient-flow'"):
        explain.get("gradient_flow")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("summary", r"no module_; summary needs an nn\.Module or a fitted estimator with its net in module_\.$"),
        ("gradient-flow", r"no module_; gradient_flow needs"),
        ("activations", r"no module_; activations needs an nn\.Module or a fitted estimator"),
        ("curves", r"no history_; curves needs a fitted estimator with the rows of its training in history_\.$"),
    ],
)
def test_an_object_without_the_capability_gets_a_sentence(name, sentence):
    assert explain.available(LINE) == [
        *("importance", "dependence", "attribution", "coefficients", "statistics", "fitted-curve"),
        *("more-rows", "mislabeled", "row-influence"),
    ]
    with pytest.raises(InputTypeError, match=f"^LinearRegression has {sentence}"):
        explain.run(name, LINE, [[0.0]], [1.0])
    function = getattr(explain, name.replace("-", "_"))
    with pytest.raises(InputTypeError, match=f"^LinearRegression has {sentence}"):
        function(LINE) if name == "curves" else function(LINE, [[0.0]])


def test_a_plain_module_has_the_usual_loss():
    net = nn.Linear(1, 1)
    assert explain.available(net) == ["summary", "activations", "network"]
    assert explain.gradient_flow(net, [[0.0]], [0.0]).n == 1


def test_an_estimator_that_is_not_fitted_has_nothing_to_explain_but_how_it_would_begin():
    for estimator in catalog.all_estimators().values():
        takes_one = hasattr(estimator, "prepare")
        assert explain.available(estimator()) == (
            ["learning-rate", "batch-size", "gradient-history"] if takes_one else []
        )
    with pytest.raises(InputTypeError, match="needs an nn.Module or a fitted estimator"):
        explain.summary(MLPClassifier())


X, Y = np.zeros((4, 2)), np.zeros(4)
NET, MAPS = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1)), nn.Conv2d(1, 2, 3)
WRONG = [
    ("landscape", {"points": 2}),
    ("landscape", {"span": 0.0}),
    ("spectrum", {"k": 0}),
    ("spectrum", {"steps": "a"}),
    ("sharpness", {"tolerance": -1.0}),
    ("backprop", {"lr": np.nan}),
    ("backprop", {"max_rows": 0}),
    ("backprop", {"reduction": "max"}),
    ("gradient_check", {"entries": 0}),
    ("gradient_check", {"tolerance": 1.0}),
    ("film", {"lr": 0}),
    ("gradient_flow", {"training": "yes"}),
]
OF_IMAGES = [
    *(
        ("saliency", {"steps": 0}),
        ("top_patches", {"n": 0}),
        ("feature_maps", {"row": "a"}),
        ("synthesize", {"blur": -1}),
    )
]


@pytest.mark.parametrize(("name", "wrong"), WRONG + OF_IMAGES, ids=str)
def test_an_argument_out_of_its_range_is_refused_by_name(name, wrong):
    (argument,) = wrong
    given = {"obj": MAPS, "X": np.zeros((1, 1, 5, 5))} if (name, wrong) in OF_IMAGES else {"obj": NET, "X": X, "y": Y}
    with pytest.raises(InputError, match=f"The '{argument}' parameter of {name} must be"):
        getattr(explain, name)(**given, **wrong)


def test_arguments_that_mean_the_same_everywhere_are_documented_once():
    for name in ("landscape", "gradient_flow", "spectrum", "curves", "network"):
        doc = getattr(explain, name).__doc__
        assert doc.count("obj: ") == 1 and ("loss: " in doc) == (name in ("landscape", "gradient_flow", "spectrum"))
    assert explain.landscape.__doc__.index("max_rows: ") < explain.landscape.__doc__.index("Example:")


class Counting(nn.Module):
    """Replaces one buffer and writes into another in every pass, in any mode."""

    def __init__(self):
        super().__init__()
        self.register_buffer("passes", torch.zeros(()))
        self.register_buffer("last", torch.zeros(2))

    def forward(self, x):
        self.passes += 1
        self.last = x[0]
        return x + torch.rand_like(x) + random.random() + np.random.rand()


def test_modes_buffers_and_generators_go_back_after_an_error():
    net = nn.Sequential(Counting(), nn.Dropout(), nn.BatchNorm1d(2))
    net[1].eval()
    last, before = net[0].last, (torch.get_rng_state(), np.random.get_state()[1], random.getstate())
    with pytest.raises(ZeroDivisionError), untouched(net, training=True):
        assert net[1].training
        net(torch.ones(3, 2))
        assert net[0].passes == 1 and net[2].num_batches_tracked == 1 and net[2].running_mean.abs().sum() > 0
        _ = 1 / 0
    assert [part.training for part in net] == [True, False, True]
    assert net[0].passes == 0 and net[0].last is last and not last.any()
    assert net[2].num_batches_tracked == 0 and not net[2].running_mean.any()
    after = torch.get_rng_state(), np.random.get_state()[1], random.getstate()
    assert torch.equal(before[0], after[0]) and np.array_equal(before[1], after[1]) and before[2] == after[2]


def test_a_backward_pass_that_waits_outside_still_works():
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).eval()
    loss = net(torch.randn(4, 2)).sum()  # holds the buffers of BatchNorm
    with untouched(net):
        net(torch.randn(4, 2))
    loss.backward()


def test_hooks_go_away_after_an_error():
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    with pytest.raises(ZeroDivisionError), calls(net):
        assert all(part._forward_hooks for part in net)
        _ = 1 / 0
    assert not any(part._forward_hooks for part in net)


def test_rows_for_a_plain_module_are_copies_in_its_dtype():
    net, array, tensor = nn.Linear(2, 1).double(), np.zeros((3, 2), np.float32), torch.zeros(3, 2)
    array.setflags(write=False)
    same = torch.zeros(3, 2, dtype=torch.double)
    for x in (array, tensor, same, same.numpy(), [[0.0, 0.0]] * 3):
        batch = batch_of(net, x, [0, 1, 2])
        assert batch.x.dtype == torch.double and batch.y.dtype == torch.long
        batch.x.add_(1)
    assert not array.any() and not tensor.any() and not same.any()
    nested = batch_of(net, {"a": array, "b": (array, np.arange(3))}).x
    assert nested["b"][0].dtype == torch.double and nested["b"][1].dtype == torch.long


@pytest.mark.parametrize("net", [nn.Linear(3, 1), nn.BatchNorm2d(3), nn.Embedding(3, 1), nn.Bilinear(2, 2, 1)])
def test_a_pass_that_fails_says_on_what(net):
    with pytest.raises(
        InputError, match=rf"^{type(net).__name__} failed on 4 rows of shape \(2,\) and torch\.float32: \w"
    ):
        forward(net, Batch(torch.full((4, 2), 7.0)))


def test_the_users_words_reach_only_arguments_that_mean_them():
    for name in catalog.VIEWS:
        known = explain.get(name).function
        parameters = {k: p for k, p in signature(known).parameters.items() if k in ("names", "scales", "classes")}
        assert all(p.default is None and p.kind is p.KEYWORD_ONLY for p in parameters.values()), name
    net = nn.Conv1d(1, 2, 3)
    words = {"target": "price", "names": ["x"], "scales": [[0, 1]], "classes": ["a", "b"]}
    found = explain.run("saliency", net, [[[1.0, 2, 3]]], **words)
    assert found.target[0] in ("a", "b")  # an output, not the name of y


def test_an_explanation_of_few_rows_uses_one_thread():
    """Beside other work a second one makes the report of a U-Net five times slower."""
    seen = []

    class Noting(nn.Linear):
        def forward(self, x):
            seen.append(torch.get_num_threads())
            return super().forward(x)

    with threads(2):
        explain.run("activations", Noting(1, 1), [[0.0]])
        assert set(seen) == {1} and torch.get_num_threads() == 2
