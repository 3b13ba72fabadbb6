"""`ftheta train --optimizer` and `--lr find`: rules reach training, what they need is said, a found rate is kept."""

import json
import re
import tomllib
from pathlib import Path

import pytest

import ftheta
from tests.cli._things import weights

SMALL = ("--hidden", "4", "--epochs", "3")


@pytest.mark.parametrize(
    "name", ["steepest", "cg", "bfgs", "lbfgs", "newton", "gauss-newton", "lm", "natural", "genetic"]
)
def test_a_rule_that_sees_all_rows_trains_and_is_saved(ok, name):
    ok("train", "mlp", "diabetes", *SMALL, "--optimizer", name, "--run", "r")
    rows = [json.loads(line) for line in Path("r/metrics.jsonl").read_text().splitlines()]
    assert rows[-1]["evaluations"] >= len(rows) and (name == "genetic" or rows[-1]["loss"] < rows[0]["loss"])
    assert ftheta.load("r")[-1].optimizer == name


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("mlp iris --optimizer lm", "Categorical gives no residuals, which this optimizer needs"),
        ("mlp diabetes --optimizer lm --set training.l1=0.1", "sum of squares, in which l1 cannot enter"),
        (
            "mlp iris --optimizer cg --batch-size 10",
            "optimizer='cg' needs all 120 rows in one batch, but batch_size=10",
        ),
        ("mlp iris --optimizer lbfgs --lr find", "optimizer='lbfgs' finds the length of its steps itself"),
        ("linear iris --lr find", "Unknown key 'lr'"),
        ("mlp iris --lr fast", "lr='fast' should be a valid number"),
        ("mlp iris --optimizer cg --set training.options={search='wolf'}", "Unknown line search 'wolf'.*'wolfe'"),
    ],
)
def test_what_a_rule_needs_is_one_sentence_before_a_folder_is_made(refused, line, said):
    assert re.search(said, refused("train", *line.split(), *(() if line.startswith("linear") else SMALL)))


@pytest.mark.middle
def test_a_found_rate_is_a_setting_like_any_other(ok):
    done = ok("train", "mlp", "iris", *SMALL, "--lr", "find", "--run", "r")
    found = re.search(r"note: --lr find: Suggested rate for adam: (\S+)\. Sharpness \S+, 2/λ = ", done.err)
    rate = tomllib.loads(Path("r/config.toml").read_text())["params"]["lr"]
    assert found and float(found[1]) == pytest.approx(rate, rel=0.05)
    assert ftheta.load("r")[-1].lr == rate and 1e-6 < rate < 10
    assert Path("r/figures/learning-rate.svg").read_text().startswith("<svg")
    ok("train", "--config", "r/config.toml", "--run", "again")
    assert weights("again") == weights("r")
    assert not Path("again/figures").exists()
    ok("train", "mlp", "iris", *SMALL, "--lr", "find", "--run", "r")  # the same command: the finished run is taken
