"""What every memory and every Boltzmann machine must do: the same life as all estimators, on rows of bits or signs."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from ftheta.errors import FThetaError
from ftheta.models import (
    BoltzmannMachine,
    DeepBoltzmannMachine,
    HopfieldNetwork,
    ModernHopfield,
    RestrictedBoltzmannMachine,
)
from ftheta.store import Run
from ftheta.train import Training


@dataclass
class Case:
    """A class, its settings, what it answers for rows without chance, and whether rows are signs."""

    cls: type
    answer: str
    settings: dict[str, Any] = field(default_factory=dict)
    signs: bool = False

    def make(self, **others):
        return self.cls(**({"random_state": 0} | self.settings | others))

    def rows(self, n=24):
        """Two patterns of 8 units with a few units turned."""
        rng = np.random.default_rng(0)
        X = np.repeat([[1, 1, 1, 1, 0, 0, 0, 0], [0, 1, 0, 1, 0, 1, 0, 1]], n // 2, axis=0)
        X = np.where(rng.random(X.shape) < 0.1, 1 - X, X)
        return np.unique(2 * X - 1, axis=0)[:3] if self.signs else X

    def ask(self, fitted, X):
        return getattr(fitted, self.answer)(X)


RBM = {"n_hidden": 4, "epochs": 3, "batch_size": 8}
DBM = {"hidden": (4, 3), "epochs": 3, "greedy": 1, "batch_size": 8, "chains": 5}
BM = {"epochs": 3, "batch_size": 8, "chains": 5}
CASES = {
    "pcd": Case(RestrictedBoltzmannMachine, "transform", RBM),
    "cd": Case(RestrictedBoltzmannMachine, "transform", RBM | {"method": "cd", "k": 2}),
    "tempering": Case(RestrictedBoltzmannMachine, "transform", RBM | {"method": "tempering", "temperatures": 3}),
    "centered": Case(RestrictedBoltzmannMachine, "transform", RBM | {"centered": True, "sample_pixels": True}),
    "gaussian": Case(RestrictedBoltzmannMachine, "transform", RBM | {"visible": "gaussian"}),
    "softmax": Case(
        RestrictedBoltzmannMachine, "transform", RBM | {"visible": "softmax", "categories": 2, "n_hidden": 3}
    ),
    "deep": Case(DeepBoltzmannMachine, "transform", DBM),
    "exact": Case(BoltzmannMachine, "log_prob", BM),
    "sampled": Case(BoltzmannMachine, "free_energy", BM | {"method": "gibbs", "n_hidden": 2}),
    "hopfield": Case(HopfieldNetwork, "recall", signs=True),
    "modern": Case(ModernHopfield, "recall", signs=True),
}
MACHINES = [name for name, case in CASES.items() if not case.signs]
each = pytest.mark.parametrize("name", CASES)
machine = pytest.mark.parametrize("name", MACHINES)


def given(name, n=24):
    case = CASES[name]
    X = case.rows(n)
    return case, np.stack([X, 1 - X], 2).reshape(len(X), -1) if name == "softmax" else X


def same(a, b):
    np.testing.assert_array_equal(a, b)


@each
def test_parameters_are_stored_cloned_and_not_changed_by_fit(name):
    case, X = given(name)
    made = case.make()
    before = made.get_params()
    assert made.fit(X) is made
    assert made.get_params() == before and clone(made).get_params() == before


@each
def test_fitting_twice_gives_the_same_and_leaves_global_generators_and_rows_alone(name):
    case, X = given(name)
    torch.manual_seed(5)
    np.random.seed(5)
    expected = torch.rand(3).tolist(), np.random.rand(3).tolist()
    torch.manual_seed(5)
    np.random.seed(5)
    one, two, before = case.make().fit(X), case.make().fit(X), X.copy()
    same(case.ask(one, X), case.ask(two, X))
    same(case.ask(one.fit(X), X), case.ask(two, X))
    one.assess(X)
    same(X, before)
    assert (torch.rand(3).tolist(), np.random.rand(3).tolist()) == expected


@each
def test_a_row_alone_is_answered_as_in_a_batch(name):
    case, X = given(name)
    made = case.make().fit(X)
    alone = np.concatenate([case.ask(made, X[i : i + 1]) for i in range(3)])
    np.testing.assert_allclose(alone, case.ask(made, X)[:3], atol=1e-6)


@each
def test_what_was_learned_is_carried_over_by_its_state(name):
    case, X = given(name)
    made, other = case.make().fit(X), case.make()
    other.set_state(made.get_state())
    same(case.ask(other, X), case.ask(made, X))
    if hasattr(made, "sample"):
        same(other.sample(3, steps=4, random_state=1), made.sample(3, steps=4, random_state=1))


@each
def test_before_fit_it_says_so(name):
    case, X = given(name)
    with pytest.raises(NotFittedError):
        case.ask(case.make(), X)


BAD = {
    "one axis": lambda X: X[0],
    "three axes": lambda X: X[None],
    "no rows": lambda X: X[:0],
    "text": lambda X: np.full(X.shape, "one"),
    "NaN": lambda X: np.where(X == X.max(), np.nan, X),
    "infinite": lambda X: np.where(X == X.max(), np.inf, X),
    "complex": lambda X: X * 1j,
}


@each
def test_bad_rows_are_one_sentence(name, subtests):
    case, X = given(name)
    for what, change in BAD.items():
        with subtests.test(what):
            with pytest.raises(FThetaError) as caught:
                case.make().fit(change(X))
            assert "\n" not in str(caught.value)


@each
def test_another_width_or_range_is_one_sentence(name):
    case, X = given(name)
    made = case.make().fit(X)
    worse = [X[:, :6]] if name in ("gaussian", "hopfield", "modern") else [X[:, :6], X * 3]
    for rows in worse:
        with pytest.raises(FThetaError) as caught:
            case.ask(made, rows)
        assert "\n" not in str(caught.value)


@each
def test_what_was_measured_is_a_table_of_values_and_errors(name):
    case, X = given(name)
    table = case.make().fit(X).assess(X)
    assert list(table.columns) == ["measure", "value", "error"] and len(table.columns["measure"]) > 0
    assert all(isinstance(m, str) for m in table.columns["measure"]) and None not in table.columns["error"]


class _Broken(Run):
    """A run whose fourth checkpoint is the last."""

    count = 0

    def checkpoint(self, tree, step):
        super().checkpoint(tree, step)
        self.count += 1
        if self.count == 4:
            raise KeyboardInterrupt


@machine
def test_a_stopped_run_goes_on_bit_for_bit_with_its_chains(name, tmp_path, monkeypatch):
    case, X = given(name)
    knobs = {"training": Training(every=0.0)}
    whole = case.make(**knobs).fit(X)
    with pytest.raises(KeyboardInterrupt):
        case.make(**knobs).fit(X, run=_Broken(tmp_path))
    monkeypatch.setattr(case.cls, "_save_into", lambda self, run: None)  # needs a card in the catalog
    resumed = case.make(**knobs).fit(X, run=tmp_path)
    same(case.ask(resumed, X), case.ask(whole, X))
    chains = [dict(made._trainer.objective.named_buffers()) for made in (resumed, whole)]
    assert chains[0].keys() == chains[1].keys()
    for key, value in chains[0].items():
        same(value, chains[1][key])


@machine
def test_six_partial_fits_are_a_fit_of_six_epochs(name):
    case, X = given(name)
    knobs = {"epochs": 6, "training": Training(schedule="cosine")}
    whole, parts = case.make(**knobs).fit(X), case.make(**knobs)
    for _ in range(6):
        parts.partial_fit(X)
    same(case.ask(parts, X), case.ask(whole, X))


@machine
def test_float64_is_learned_in_float64(name):
    case, X = given(name)
    made = case.make(dtype="float64").fit(X)
    assert case.ask(made, X).dtype == np.float64 and next(made.module_.parameters()).dtype == torch.float64


@machine
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_machine_that_was_loaded_learns_on_the_same_way_every_time(name, dtype):
    case, X = given(name)
    made, loaded = case.make(dtype=dtype).fit(X), [case.make(dtype=dtype) for _ in range(2)]
    for one in loaded:
        one.set_state(made.get_state())
        one.partial_fit(X)
    same(case.ask(loaded[0], X), case.ask(loaded[1], X))
    assert next(loaded[0].module_.parameters()).dtype == getattr(torch, dtype)
    assert not np.array_equal(case.ask(loaded[0], X), case.ask(made, X))


@machine
def test_the_columns_of_features_have_names(name):
    case, X = given(name)
    made = case.make().fit(X)
    if hasattr(made, "transform"):
        assert len(made.get_feature_names_out()) == made.transform(X).shape[1]
        assert made.set_output(transform="pandas").transform(X).shape == (len(X), len(made.get_feature_names_out()))


@machine
def test_what_no_chain_can_do_is_one_sentence(name):
    case, X = given(name)
    made, all_of = case.make().fit(X), np.ones(X.shape[1], dtype=bool)
    same(made.sample(2, random_state=np.random.RandomState(3)), made.sample(2, random_state=np.random.RandomState(3)))
    for call in (
        lambda: made.sample(0),
        lambda: made.sample(-1),
        lambda: made.sample(2, steps=2.5),
        lambda: made.sample(2, steps=-1),
        lambda: made.fill_in(X, all_of, steps=-1),
        lambda: made.fill_in(X[0], all_of),
        lambda: made.fill_in(X[:0], all_of),
        lambda: made.fill_in(X, all_of[:-1]),
    ):
        with pytest.raises(FThetaError) as caught:
            call()
        assert "\n" not in str(caught.value)
    next(made.module_.parameters()).data.fill_(torch.nan)
    for call in (lambda: made.sample(2), lambda: made.fill_in(X, all_of)):
        with pytest.raises(FThetaError, match="not finite"):
            call()


@machine
def test_what_is_missing_is_drawn_and_not_what_stood_there(name):
    case, X = given(name)
    made, hidden = case.make(epochs=1, lr=1e-6).fit(X), np.ones(X.shape[1], dtype=bool)
    ones, zeros = (made.fill_in(x, hidden, 3, random_state=0) for x in (np.where(hidden, np.nan, X), X))
    same(ones, zeros)
