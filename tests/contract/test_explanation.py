"""What every explanation owes: a Result for exactly the objects that can give it, twice the same, and no trace.

Being registered enrols. An object that fits a new capability goes into SUBJECTS.
"""

import random
from copy import deepcopy
from dataclasses import FrozenInstanceError, fields
from functools import cache
from inspect import signature

import numpy as np
import pytest
import torch
from matplotlib.text import Text
from torch import nn

from ftheta import (
    ARForecaster,
    BoostingClassifier,
    CommitteeRegressor,
    ForestClassifier,
    ForestRegressor,
    LinearRegression,
    LogisticRegression,
    LSTMClassifier,
    MLPClassifier,
    MLPRegressor,
    ModuleClassifier,
    QuadraticDiscriminant,
    Ridge,
    SVMClassifier,
    SVMRegressor,
    TreeClassifier,
    TreeRegressor,
    UNetSegmenter,
    catalog,
    explain,
)
from ftheta.errors import InputTypeError
from ftheta.explain import _registry
from ftheta.models import (
    BoltzmannMachine,
    DeepBoltzmannMachine,
    HopfieldNetwork,
    ModernHopfield,
    RestrictedBoltzmannMachine,
)
from ftheta.models.energy.rbm_net import RBM
from ftheta.nn import Highway, Recurrent
from ftheta.results import Result, Table

RNG = np.random.default_rng(0)
X, IMAGES = RNG.normal(size=(24, 4)), RNG.normal(size=(24, 1, 5, 5))
SIGNS = np.array([[-1.0, -1.0, 1.0], [1.0, -1.0, -1.0], [1.0, 1.0, 1.0]])
PIXELS = (IMAGES[:8, 0] > 0).astype(int)
BITS = (RNG.random((12, 9)) < 0.5).astype(float)
CLASSES, NUMBERS = np.array(["a", "b", "c"] * 8), X @ [1.0, -2.0, 0.5, 0.0]


MANY = np.tile(X, (16, 1)), np.tile(CLASSES, 16)
STEPS = np.random.default_rng(1).normal(size=(24, 5, 2))


class Mixed(nn.Module):
    """BatchNorm, dropout, a layer used twice, an in-place activation, and a tuple as output."""

    def __init__(self):
        super().__init__()
        self.first, self.norm, self.drop = nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Dropout(0.5)
        self.tied, self.act, self.last = nn.Linear(6, 6), nn.ReLU(inplace=True), nn.Linear(6, 2)

    def forward(self, x):
        h = self.drop(self.norm(self.first(x)))
        h = self.act(self.tied(self.act(self.tied(h))))
        return self.last(h), {"hidden": h}


def conv():
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Dropout(0.2), nn.Flatten())
    return net.append(nn.Linear(18, 3))


SURFACE = {"landscape", "learning-rate", "spectrum"}
OPTIMISED = {"batch-size", "gradient-history"} | SURFACE
NEURAL, MODULE = {"activations", "curves", "gradient-flow", "summary"} | OPTIMISED, {"activations", "summary"}
REFITTED = {"mislabeled", "more-rows"}
COLUMNS = {"attribution", "dependence", "importance"} | REFITTED
TAUGHT = NEURAL | {"backprop", "film"}
DENSE = TAUGHT | {"network"}
MAPS = {"diagram", "equivariance", "receptive-field"}
SEEING = {"feature-maps", "filters", "saliency", "saliency-check", "synthesize", "top-patches"}
MEMORY = {"basins", "energy-surface", "recall"}
MACHINE = {"chains", "fill-in", "filters"}
SERIES = np.sin(np.arange(120) / 3) + 0.3 * np.cos(np.arange(120) ** 2)
RECURRENT = {"cell", "gates", "memory", "unrolled"}
LINEAR = {"coefficients", "row-influence", "solvers", "statistics"}
TIMES = ("estimate", "seconds")  # fields that say how long it took
SUBJECTS = {  # what makes it, its rows, what it can give
    "mlp classifier": (
        lambda: MLPClassifier(hidden=(5, 4), dropout=0.3, epochs=2, validation=0.25, random_state=0).fit(X, CLASSES),
        (X, CLASSES),
        DENSE | COLUMNS,
    ),
    "mlp regressor": (
        lambda: MLPRegressor(hidden=(5,), likelihood="gaussian-learned", epochs=2, random_state=0).fit(X, NUMBERS),
        (X, NUMBERS),
        DENSE | COLUMNS,
    ),
    "own conv net": (
        lambda: ModuleClassifier(module=conv(), epochs=2, random_state=0).fit(IMAGES, CLASSES),
        (IMAGES, CLASSES),
        TAUGHT | MAPS | SEEING | REFITTED,
    ),
    "u-net": (
        lambda: UNetSegmenter(filters=(2, 3), dropout=0.2, epochs=2, random_state=0).fit(IMAGES[:8], PIXELS),
        (IMAGES[:8], PIXELS),
        TAUGHT | MAPS | SEEING | {"segmentation"},
    ),
    "plain module": (Mixed, (X, None), MODULE),
    "newton": (
        lambda: LogisticRegression().fit(X, CLASSES),
        (X, CLASSES),
        {"coefficients", "curves", "statistics", *COLUMNS},
    ),
    "two classes": (
        lambda: LogisticRegression().fit(X[:, :2], CLASSES > "a"),
        (X[:, :2], CLASSES > "a"),
        {"curves", "regions", *LINEAR, *COLUMNS},
    ),
    "closed form": (lambda: LinearRegression().fit(X, NUMBERS), (X, NUMBERS), LINEAR | COLUMNS),
    "plane": (
        lambda: LinearRegression().fit(X[:, :2], NUMBERS),
        (X[:, :2], NUMBERS),
        {"fitted-curve", *LINEAR, *COLUMNS},
    ),
    "penalized": (lambda: Ridge().fit(X, NUMBERS), (X, NUMBERS), {*LINEAR, *COLUMNS, "path"} - {"statistics"}),
    "gaussian classes": (
        lambda: QuadraticDiscriminant().fit(X[:, :2], CLASSES),
        (X[:, :2], CLASSES),
        {"class-means", "densities", "regions", "samples", *COLUMNS},
    ),
    "classes of four columns": (
        lambda: QuadraticDiscriminant().fit(X, CLASSES),
        (X, CLASSES),
        {"class-axes", "class-means", "samples", *COLUMNS},
    ),
    "committee": (
        lambda: CommitteeRegressor(members=("linear", "ridge"), random_state=0).fit(X, NUMBERS),
        (X, NUMBERS),
        {"committee", *COLUMNS},
    ),
    "margins": (
        lambda: SVMClassifier().fit(X, CLASSES),
        (X, CLASSES),
        {"leave-one-out", "margins", "optimality", *COLUMNS} - {"mislabeled"},
    ),
    "margins on a plane": (
        lambda: SVMClassifier(kernel="linear").fit(X[:, :2], CLASSES > "a"),
        (X[:, :2], CLASSES > "a"),
        {"leave-one-out", "margins", "optimality", "regions", "row-influence", *COLUMNS} - {"mislabeled"},
    ),
    "tube": (
        lambda: SVMRegressor().fit(X[:, :1], NUMBERS),
        (X[:, :1], NUMBERS),
        {"fitted-curve", "optimality", "tube", *COLUMNS},
    ),
    "tree": (
        lambda: TreeClassifier(random_state=0).fit(X, CLASSES),
        (X, CLASSES),
        {"pruning", "splits", "tree", *COLUMNS},
    ),
    "tree of numbers": (
        lambda: TreeRegressor(max_depth=2, ccp_alpha=0.0, random_state=0).fit(X, NUMBERS),
        (X, NUMBERS),
        {"splits", "tree", *COLUMNS},
    ),
    "forest": (
        lambda: ForestClassifier(n_estimators=5, random_state=0).fit(X[:, :2], CLASSES),
        (X[:, :2], CLASSES),
        {"more-trees", "regions", "votes", *COLUMNS},
    ),
    "forest of numbers": (
        lambda: ForestRegressor(n_estimators=5, max_depth=3, random_state=0).fit(X, NUMBERS),
        (X, NUMBERS),
        {"more-trees", "votes", *COLUMNS},
    ),
    "boosting": (
        lambda: BoostingClassifier(n_estimators=4, early_stopping=True, random_state=0).fit(*MANY),
        MANY,
        {"curves", "more-trees", *COLUMNS},
    ),
    "machine": (
        lambda: RestrictedBoltzmannMachine(n_hidden=3, epochs=2, random_state=0).fit(BITS),
        (BITS, None),
        NEURAL - SURFACE | MACHINE | {"samples"},
    ),
    "deep machine": (
        lambda: DeepBoltzmannMachine(hidden=(3, 2), greedy=1, epochs=2, random_state=0).fit(BITS),
        (BITS, None),
        NEURAL - SURFACE - {"activations"} | MACHINE | {"samples"},
    ),
    "machine of pairs": (
        lambda: BoltzmannMachine(n_hidden=2, epochs=2, random_state=0).fit(BITS[:, :4]),
        (BITS[:, :4], None),
        NEURAL - {"activations"} | {"chains", "fill-in", "samples"},
    ),
    "machine as a module": (lambda: RBM(9, 3), (BITS, None), MODULE | {"filters"}),
    "memory": (
        lambda: HopfieldNetwork(rule="design", unit="saturated", random_state=0).fit(SIGNS),
        (SIGNS, np.arange(3.0)),
        MEMORY | {"equilibria"},
    ),
    "modern memory": (
        lambda: ModernHopfield(random_state=0).fit(np.repeat(SIGNS, 4, axis=1)),
        (np.repeat(SIGNS, 4, axis=1), np.arange(3.0)),
        MEMORY,
    ),
    "recurrent net": (
        lambda: LSTMClassifier(hidden=4, epochs=2, random_state=0).fit(STEPS, CLASSES),
        (STEPS, CLASSES),
        TAUGHT | RECURRENT | REFITTED,
    ),
    "two units": (lambda: Recurrent(2, 2, "rnn"), (STEPS, None), MODULE | RECURRENT | {"phase"}),
    "forecaster": (
        lambda: ARForecaster(lags=2, log=False, difference=0).fit(SERIES[:80]),
        (SERIES[80:, None], SERIES[80:]),
        {"anomalies", "free-run", "one-step", "residual-tests"},
    ),
    "highway": (lambda: Highway(4), (X, None), MODULE | {"cell"}),
    "not fitted": (MLPClassifier, (X, CLASSES), {"batch-size", "gradient-history", "learning-rate"}),
    "nothing": (object, (X, CLASSES), set()),
}
NAMES = sorted(name for name in catalog.VIEWS if _registry.get(name))
GIVEN = [(name, subject) for name in NAMES for subject, (_, _, gives) in SUBJECTS.items() if name in gives]
FIRST = [next(pair for pair in GIVEN if pair[0] == name) for name in NAMES]


def tried(first, pairs):
    """All pairs, of which only some are tried in the first tier."""
    each = [pair if pair in first else pytest.param(*pair, marks=pytest.mark.middle) for pair in pairs]
    return pytest.mark.parametrize(("name", "subject"), each)


@cache
def made(subject):
    torch.manual_seed(0)
    return SUBJECTS[subject][0]()


@cache
def shown(name, subject):
    """The result that the tests of a pair share."""
    return explain.run(name, made(subject), *SUBJECTS[subject][1])


def marked(subject):
    """A copy with gradients in `.grad` and modes that differ from part to part."""
    obj = deepcopy(made(subject))
    for i, part in enumerate(part for module in modules_of(obj) for part in module.modules()):
        part.training = i % 2 == 0
        for p in part.parameters(recurse=False):
            p.grad = torch.full_like(p, 7.0 + i)
    return obj


def modules_of(obj):
    return [obj] if isinstance(obj, nn.Module) else [v for v in vars(obj).values() if isinstance(v, nn.Module)]


def state_of(obj):
    """All that an explanation could change."""
    found = [torch.get_rng_state().numpy(), np.random.get_state()[1:], random.getstate()]
    for module in modules_of(obj):
        found.append({name: value.numpy().copy() for name, value in module.state_dict().items()})
        found.append([(p.requires_grad, p.grad.numpy().copy()) for p in module.parameters()])
        found.append(
            [(part.training, len(part._forward_hooks), len(part._backward_hooks)) for part in module.modules()]
        )
        found.append([id(v) for v in (*module.parameters(), *module.buffers())])
    plain = {} if modules_of(obj) == [obj] else {k: v for k, v in vars(obj).items() if k.endswith("_")}
    plain |= {"members_": obj.get_state()["members_"]} if "members_" in plain else {}
    return [*found, deepcopy({k: v for k, v in plain.items() if not isinstance(v, nn.Module)})]


def numbers(result):
    """The fields of a result, and of the results in them."""
    found = {field.name: getattr(result, field.name) for field in fields(result) if field.name not in TIMES}
    return {name: numbers(value) if isinstance(value, Result) else value for name, value in found.items()}


def test_every_explanation_is_tried_and_every_one_is_public():
    assert {name for name, _ in GIVEN} == set(NAMES)
    for name in NAMES:
        function = getattr(explain, name.replace("-", "_"))
        assert explain.get(name).function is function and explain.get(name).name == name and function.__doc__


@pytest.mark.parametrize("subject", SUBJECTS)
def test_available_lists_exactly_what_an_object_can_give(subject):
    _, rows, gives = SUBJECTS[subject]
    obj = made(subject)
    assert explain.available(obj) == sorted(gives, key=lambda name: (catalog.view(name).order, name))
    for name in NAMES:
        if name not in gives:
            refused = rf"^{type(obj).__name__} (has|is|does not) .*; \w+(\(\))? need"
            with pytest.raises(InputTypeError, match=refused):
                explain.run(name, obj, *rows)


@tried(FIRST, GIVEN)
def test_the_result_is_a_frozen_value_with_a_table_and_keeps_nothing_of_the_graph_or_the_device(name, subject):
    result = shown(name, subject)
    assert isinstance(result, Result)
    with pytest.raises(FrozenInstanceError):
        setattr(result, fields(result)[0].name, None)
    assert isinstance(result.table(), Table) and len(result.table().text().splitlines()) > 2

    def tensors(value):
        if isinstance(value, dict | tuple | list):
            return any(map(tensors, value.values() if isinstance(value, dict) else value))
        return isinstance(value, torch.Tensor)

    assert not tensors(numbers(result))


@tried(FIRST, GIVEN)
def test_its_figure_is_labelled(name, subject):
    axes = shown(name, subject).figure().axes[0]
    assert axes.get_title()
    scaled = axes.axison and axes.spines["left"].get_visible() and len(axes.get_xticks()) > 0
    if scaled:  # boxes, arrows and pictures have no scale
        assert axes.get_xlabel() and (axes.get_ylabel() or any(axes.get_yticklabels()))


@tried(FIRST, GIVEN)
def test_it_leaves_no_trace_and_is_the_same_again_whatever_the_global_generators_say(name, subject):
    """The second time the rows are tensors, where they can be, and the object has gradients and mixed modes."""
    x, y = SUBJECTS[subject][1]
    x = x if isinstance(x, np.ndarray) else x.to_numpy()
    rows = torch.from_numpy(x.copy()), y if y is None or y.dtype.kind == "U" else torch.from_numpy(y.copy())
    obj, first = marked(subject), shown(name, subject)
    torch.manual_seed(2)
    np.random.seed(2)
    before = state_of(obj)
    again = explain.run(name, obj, *rows)
    text = again.table().text()
    np.testing.assert_equal(state_of(obj), before)
    np.testing.assert_equal(tuple(np.asarray(v) for v in rows), tuple(np.asarray(v) for v in (x, y)))
    np.testing.assert_equal(numbers(again), numbers(first))
    assert text == first.table().text() or name == "batch-size"  # which shows how long it took


# ---- options in words and units

GIVEN_WORDS = {"names": "col", "classes": "kind", "target": "aim", "label": "this one"}


def speaking():
    """Each option in words with the subjects for which it has a meaning."""
    for name in NAMES:
        options = signature(explain.get(name).function).parameters.keys() & {*GIVEN_WORDS, "scales"}
        if name in ("curves", "saliency"):  # shown where there is a mean squared error; a place there
            options -= {"target"}
        for option in sorted(options):
            yield name, option, [s for n, s in GIVEN if n == name and fits(option, SUBJECTS[s][1])]


def fits(option, rows):
    x, y = rows
    labels = y is not None and y.dtype.kind in "Ub"
    return labels if option == "classes" else not labels if option == "target" else x.ndim == 2


def words_in(result):
    texts = [text.get_text() for text in result.figure().findobj(Text)]
    return "\n".join([result.table().text(), result.caption, *texts])


def heeds(name, option, subject):
    """Whether an explanation shows the words that it is given, or other numbers in other units."""
    (x, y), obj, needs = SUBJECTS[subject][1], made(subject), signature(explain.get(name).function).parameters
    more = {"row": 1} if "row" in needs else {}
    n = {"names": x.shape[-1], "classes": len(getattr(obj, "classes_", ()))}.get(option)
    if option == "scales":
        given = [[100.0 * (j + 1), 7.0] for j in range(x.shape[1])]
        return words_in(explain.run(name, obj, x, y, scales=given, **more)) != words_in(
            explain.run(name, obj, x, y, **more)
        )
    word = GIVEN_WORDS[option]
    given = word if n is None else [f"{word} {j}" for j in range(n)]
    return word in words_in(explain.run(name, obj, x, y, **{option: given}, **more))


@pytest.mark.middle
@pytest.mark.parametrize(("name", "option", "subjects"), [case for case in speaking() if case[2]])
def test_words_and_units_that_are_given_are_those_that_are_shown(name, option, subjects):
    assert any(heeds(name, option, subject) for subject in subjects)
