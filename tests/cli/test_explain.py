"""`ftheta explain`: what a run can show, as tables and as figures in its folder."""

from pathlib import Path

import pytest

import ftheta
from ftheta import explain
from ftheta.store import Run
from tests.cli._things import snapshot


@pytest.mark.slow
def test_all_explanations_are_shown_and_drawn(ok, pets):
    names = explain.available(ftheta.load(pets)[-1])
    done = ok("explain", pets)
    assert {"summary", "gradient-flow", "activations", "curves"} <= set(names)
    assert done.err.splitlines() == [f"drawn: {pets}/figures/{name}.svg" for name in names]
    for name in names:
        assert (pets / f"figures/{name}.svg").read_bytes().startswith(b"<svg")
    assert "33 parameters" in done.out and "epoch" in done.out and "48 rows" in done.out
    assert Run(pets).verify() == []


def test_the_same_explanation_twice_changes_nothing(ok, pets):
    first = ok("explain", "last", "curves")
    before = snapshot(pets)
    assert ok("explain", "last", "curves") == first
    assert snapshot(pets) == before
    assert [p.name for p in Path(pets, "figures").iterdir()] == ["curves.svg"]


def test_an_unknown_explanation_is_answered_with_the_nearest(refused, pets):
    said = refused("explain", pets, "curves", "sumary")
    assert said.startswith("Unknown explanation of MLPClassifier: 'sumary'. Did you mean 'summary'?")


def test_a_model_without_explanations_says_so(ok, pets, monkeypatch):
    monkeypatch.setattr(explain, "available", lambda model: [])
    assert ok("explain", pets).out == "MLPClassifier has no explanations yet.\n"
    assert not Path(pets, "figures").exists()


def test_rows_that_have_changed_are_noticed(refused, pets):
    Path("pets.csv").write_text(Path("pets.csv").read_text().replace("cat", "dog", 1))
    assert refused("explain", pets) == f"pets.csv has changed since {pets} was trained on it. Put the old data back."


@pytest.mark.parametrize("run", ["nope", "pets.csv", "runs"])
def test_what_is_no_run_is_one_sentence(refused, pets, run):
    assert "run" in refused("explain", run)
