"""Models that learn from rows without targets on the command line: memories and densities."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import ftheta
from ftheta import explain
from ftheta.data import load
from ftheta.results import Table
from ftheta.tasks import Generate

SMALL = ("--hidden", "6", "--epochs", "2")


def bits(name, n=60, labelled=False):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, (n, 6)), columns=list("abcdef"))
    (frame.assign(kind=np.where(frame.a > 0, "x", "y")) if labelled else frame).to_csv(name, index=False)


def test_a_memory_of_digits_stores_one_of_each_class_and_says_what_cues_become(ok):
    done = ok("train", "hopfield", "digits", "--run", "r")
    assert "hopfield (recall) on digits" in done.err and "ended in a stored pattern" in done.out
    net = ftheta.load("r").steps[-1][1]
    assert sorted(net.labels_.tolist()) == list(range(10)) and set(np.unique(net.patterns_)) == {-1.0, 1.0}
    digits = load("digits")
    rows = json.loads(Path("r/result.json").read_text())
    test = ftheta.store.Run("r").tree("test.safetensors")["rows"]
    cut = np.where(digits.x.to_numpy()[test] > 8, 1, -1)
    assert rows["scores"]["ended in a stored pattern"] == pytest.approx((net.predict(cut) >= 0).mean())
    assert rows["rows"] == len(test) and rows["intervals"]["ended in a stored pattern"]


def test_patterns_that_are_there_twice_are_told(ok):
    pd.DataFrame([[1, 0, 1, 0], [0, 1, 1, 0], [1, 0, 1, 0]], columns=list("abcd")).to_csv("twice.csv", index=False)
    done = ok("train", "hopfield", "twice.csv", "--test", "none", "--run", "r")
    assert "note: 1 of 3 patterns repeat an earlier one and are stored once.\n" in done.err


def test_new_cues_are_named_by_what_they_recall(ok):
    ok("train", "hopfield", "digits", "--run", "r")
    net = ftheta.load("r").steps[-1][1]
    frame = pd.DataFrame(np.where(net.patterns_ > 0, 16, 0), columns=load("digits").x.columns)
    frame.to_csv("new.csv", index=False)
    done = ok("predict", "r", "new.csv")
    assert [int(line) for line in done.out.split()[1:]] == net.labels_.tolist() and "interval" not in done.err


def test_a_machine_learns_from_a_file_without_a_target_and_draws_rows(ok):
    bits("bits.csv")
    done = ok("train", "rbm", "bits.csv", "--run", "r", *SMALL)
    assert "rbm (generate) on bits: 48 training, 12 test rows" in done.err and "mean log p(v) / nats" in done.out
    machine = ftheta.load("r").steps[-1][1]
    assert machine.n_hidden == 6 and machine.n_iter_ == 2
    done = ok("sample", "r", "-n", "7", "--steps", "5", "--seed", "3", "-o", "drawn.csv", "--figures", "drawn")
    drawn = pd.read_csv("drawn.csv")
    assert drawn.shape == (7, 6) and list(drawn) == list("abcdef") and set(np.unique(drawn)) <= {0.0, 1.0}
    assert Path("drawn/samples.svg").exists() and "nearest row" in done.out
    ok("sample", "r", "-n", "7", "--steps", "5", "--seed", "3", "-o", "drawn.npy")
    np.testing.assert_array_equal(np.load("drawn.npy"), drawn.to_numpy())


def test_a_column_that_is_named_is_no_visible_unit(ok):
    bits("bits.csv", labelled=True)
    ok("train", "boltzmann", "bits.csv", "--target", "kind", "--run", "r", "--epochs", "2")
    assert ftheta.load("r").steps[-1][1].n_features_in_ == 6


OF_LAYERS = {"chains", "fill-in", "filters", "samples"}
RBM = ("rbm", "digits", *SMALL), OF_LAYERS
DBM = ("dbm", "digits", "--hidden", "6,4", "--epochs", "1"), OF_LAYERS


@pytest.mark.middle
@pytest.mark.parametrize(
    ("model", "shown"),
    [
        (("hopfield", "digits"), {"basins", "energy-surface", "recall"}),
        pytest.param(*RBM, marks=pytest.mark.middle),
        pytest.param(*DBM, marks=pytest.mark.middle),
        pytest.param(("boltzmann", "bits.csv", "--epochs", "2"), {"curves", "samples"}, marks=pytest.mark.middle),
    ],
)
def test_all_that_a_machine_can_show_is_drawn(ok, model, shown):
    bits("bits.csv")
    ok("train", *model, "--run", "r")
    names = explain.available(ftheta.load("r")[-1])
    done = ok("explain", "r", "--all", "--figures", "drawn")
    assert shown <= set(names) and done.err.splitlines() == [f"drawn: drawn/{name}.svg" for name in names]


@pytest.mark.middle
def test_the_report_of_a_machine_has_its_result_and_its_inside(ok):
    bits("bits.csv")
    ok("train", "rbm", "bits.csv", "--run", "r", "--hidden", "4", "--epochs", "2", "--report")
    page = Path("r/report.html").read_text(encoding="utf-8")
    assert "mean log p(v)" in page and "density model" in page and "Most wrong" not in page


def test_two_machines_are_compared_by_their_measures(ok):
    bits("bits.csv")
    for name, hidden in (("a", "3"), ("b", "5")):
        ok("train", "rbm", "bits.csv", "--run", name, "--hidden", hidden, "--epochs", "2")
    done = ok("runs", "compare", "a", "b")
    assert "mean log p(v) / nats" in done.out and "predict nothing" in done.out + done.err


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("train", "rbm", "bits.csv", "--task", "classify"), "rbm is for generate"),
        (("train", "rbm", "bits.csv", "--hidden", "4,4"), "takes one number"),
        (("train", "rbm", "words.csv"), "'kind' does not hold numbers"),
        (("predict", "r", "bits.csv"), "predicts nothing"),
        (("sample", "r", "-o", "bits.csv"), "the file exists"),
        (("sample", "r", "-o", "drawn.txt"), "ends in .csv or .npy"),
        (("sample", "m"), "draws no new rows"),
        (("sample", "r", "-n", "0"), "0 is not in the range"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(ok, ft, command, said):
    bits("bits.csv")
    bits("words.csv", labelled=True)
    if "r" in command or "m" in command:
        ok("train", "rbm", "bits.csv", "--run", "r", *SMALL)
        ok("train", "hopfield", "bits.csv", "--run", "m", "--set", "rule=hebb")
    done = ft(*command)
    assert done.code == 2 and said in done.err and "Traceback" not in done.err


def test_intervals_are_of_nearly_two_standard_errors_and_none_stays_none():
    table = Table({"measure": ["a", "b", "c"], "value": [2.0, 5.0, 1.0], "error": [0.5, "none", None]})
    found = Generate().score(None, {}, model=SimpleNamespace(assess=lambda X: table))
    assert found["scores"] == {"a": 2.0, "b": 5.0, "c": 1.0}
    assert found["intervals"]["a"] == pytest.approx([1.02, 2.98])
    assert found["intervals"]["b"] is None and found["method"] == {"a": "standard error", "b": "none", "c": "none"}
