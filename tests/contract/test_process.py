"""What everything that goes in steps owes the loop; being public enrols, and a process without an example fails."""

import importlib
import math
import pkgutil
from collections.abc import Mapping
from math import inf

import numpy as np
import pytest
import torch
from torch import nn

from ftheta import models, train
from ftheta.data import Rows
from ftheta.models.linear.logistic_solvers import LogisticLBFGS, LogisticNewton, LogisticProblem
from ftheta.models.linear.perceptron import DeltaRule, PerceptronRule
from ftheta.store import Run, dump_tree, parse_tree
from ftheta.train import Phases, Process, Steps, Supervised, Trainer, iterate
from tests.contract.enrolled import generators
from tests.train._toys import WGAN, KMeans, blobs, line, same, seeded, square, timeless


def logistic(method, *settings):
    x, y = (part.numpy() for part in line())
    return method(LogisticProblem(x, (y > 0).astype(int), np.ones(24), 1, 0.01), 1e-6, *settings)


def online(rule, **settings):
    x, y = (part.numpy() for part in line())
    return rule(x, ((y > 0) ^ (np.arange(len(x)) % 5 == 0)).astype(int), 2, **settings)  # nothing separates them


def trainer():
    x, y = line()
    net = seeded(lambda: nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 1))).double()
    return Trainer(Supervised(net, square), Rows(x, y, batch_size=10), validation=Rows(x, y, batch_size=10))


def two_players():
    return Trainer(seeded(WGAN), Rows(line(n=12, features=1, dtype=torch.float32)[0], batch_size=5))


class Countdown(Steps):
    kept = ("n", "halves")

    def __init__(self):
        self.n, self.halves = 7, np.ones(2)

    def advance(self):
        self.n, self.halves = self.n - 1, self.halves / 2
        return {"n": self.n} if self.n % 2 == 0 else None


def phases():
    return Phases([(Countdown, 2), (trainer, inf)])


EXAMPLES = {  # class: what makes one, always the same
    Trainer: [trainer, two_players],
    LogisticNewton: [lambda: logistic(LogisticNewton)],
    LogisticLBFGS: [lambda: logistic(LogisticLBFGS), lambda: logistic(LogisticLBFGS, 0.0, 0.5)],
    Phases: [phases],
    PerceptronRule: [lambda: online(PerceptronRule)],
    DeltaRule: [lambda: online(DeltaRule, lr=0.001)],
    KMeans: [lambda: KMeans(*blobs(n=300, centres=6, seed=1))],
}

make_each = pytest.mark.parametrize(
    "make", [make for makes in EXAMPLES.values() for make in makes], ids=lambda make: type(make()).__name__
)


def public():
    """Every public class of the library that can be advanced."""
    for room in (train, models):
        names = [room.__name__, *(m.name for m in pkgutil.walk_packages(room.__path__, f"{room.__name__}."))]
        for module in map(importlib.import_module, names):
            for name in getattr(module, "__all__", ()):
                value = getattr(module, name)
                if isinstance(value, type) and hasattr(value, "advance") and value not in (Process, Steps):
                    yield value


def test_every_public_process_is_tried():
    assert {Trainer, LogisticNewton} <= set(public()) <= set(EXAMPLES)


def steps(process, n):
    """The rows of n steps, inside the scope of the process."""
    return iterate(process, steps=n)


@make_each
def test_a_step_gives_a_row_of_finite_floats_or_nothing(make):
    process, rows = make(), []
    for _ in range(9):
        rows.append(process.advance())
    found = [row for row in rows if row is not None]
    assert found and all(isinstance(row, Mapping) for row in found)
    assert all(isinstance(k, str) and math.isfinite(v) for row in found for k, v in row.items())
    assert all(type(v) in (int, float) for row in found for v in row.values())  # on the host


@make_each
def test_the_same_process_twice_does_the_same(make):
    one, other = make(), make()
    assert timeless(steps(one, 7)) == timeless(steps(other, 7))
    assert same(timeless(one.state_dict()), timeless(other.state_dict()))


@make_each
def test_a_state_survives_a_file(make):
    process = make()
    steps(process, 4)
    state = process.state_dict()
    assert same(parse_tree(dump_tree(state), "memory"), state)


@make_each
def test_a_state_is_a_value_that_later_steps_do_not_change(make):
    process = make()
    steps(process, 4)
    state = process.state_dict()
    data = dump_tree(state)
    steps(process, 3)
    assert dump_tree(state) == data != dump_tree(process.state_dict())


@make_each
def test_a_state_goes_on_in_a_new_process_and_is_left_as_it_was(make):
    for stop in range(6):
        whole, half, other = make(), make(), make()
        steps(whole, 6), steps(half, stop)
        state = half.state_dict()
        data = dump_tree(state)
        other.load_state_dict(state)
        steps(other, 6 - stop)
        assert same(timeless(other.state_dict()), timeless(whole.state_dict())), f"stopped after {stop} steps"
        assert dump_tree(state) == data


@make_each
def test_a_process_that_has_gone_on_can_be_put_back(make):
    process = make()
    steps(process, 3)
    state = process.state_dict()
    steps(process, 3)
    far = timeless(process.state_dict())
    process.load_state_dict(state)
    assert same(timeless(process.state_dict()), timeless(state))
    steps(process, 3)
    assert same(timeless(process.state_dict()), far)


@make_each
def test_a_run_is_continued_with_all_its_rows(make, tmp_path):
    whole = iterate(make(), steps=7, run=Run(tmp_path / "whole"))
    for stop in (2, 5, 7):
        history = iterate(make(), steps=stop, run=Run(tmp_path / "parts"))
    assert timeless(history) == timeless(whole) == timeless(Run(tmp_path / "parts").rows())
    a, b = (Run(tmp_path / name).latest() for name in ("whole", "parts"))
    assert same(timeless(list(a)), timeless(list(b)))


@make_each
def test_the_global_generators_are_left_alone(make):
    process, before = make(), generators()
    steps(process, 5)
    assert generators() == before
