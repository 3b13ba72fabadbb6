"""Speed: verdicts on made-up times, and one small run."""

import numpy as np
import pytest

from ftheta.studies.optimisers.speed import RULES, TINY, figures, judge, measure, tables

EPOCHS = {"gd": 300, "sgd": 150, "nesterov": 100, "adam": 50, "lbfgs": 10, "lm": 4}
EACH = {"gd": 1.0, "sgd": 1.5, "nesterov": 1.1, "adam": 1.2, "lbfgs": 4.0, "lm": 20.0}


def made(seeds=3, never=(), **changes):
    """Epochs and seconds an epoch by rule; `never` names rules that do not arrive."""
    epochs = {rule: changes.get(rule, n) for rule, n in EPOCHS.items()}
    cost = {rule: changes.get(f"{rule}_cost", c) for rule, c in EACH.items()}
    return {
        "rules": list(EPOCHS),
        "rates": np.array([0.1] * 4 + [0, 0]),
        "epochs": np.array([[epochs[rule]] * seeds for rule in EPOCHS]),
        "seconds": np.array([[epochs[rule] * cost[rule]] * seeds for rule in EPOCHS]),
        "reached": np.array([[rule not in never] * seeds for rule in EPOCHS]),
        "goal": 0.1,
    }


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "confirmed"),
        ({"never": ("gd",), "gd": 1}, "confirmed"),  # what never arrives needs longest
        ({"sgd": 60}, "corrected"),
        ({"lm_cost": 80.0}, "corrected"),
        ({"gd": 90, "sgd": 40}, "not reproduced"),
        ({"never": tuple(EPOCHS)}, "not reproduced"),  # where none arrives GD is not the last
        ({"gd": 1, "sgd": 1, "lbfgs_cost": 0.1}, "refuted"),
    ],
)
def test_verdicts(changes, verdict):
    (found,) = judge(made(**changes))
    assert (found.row, found.verdict) == ("B031", verdict)


def test_what_never_arrives_has_no_number():
    evidence = made(never=("gd",))
    columns = tables(evidence)["speed"].columns
    assert columns["epochs"][0] is None and columns["seconds"][0] is None and columns["reached"][0] == "0%"
    assert (
        columns["epochs"][1] == 150
        and columns["seconds"][1] == 225
        and columns["ms an epoch"][1] == pytest.approx(1500)
    )
    assert columns["rate"] == [0.1] * 4 + [None] * 2
    assert judge(evidence)[0].measured[0][:2] == [None, 150]


@pytest.mark.middle
def test_a_small_run_times_every_rule():
    evidence = measure(TINY)
    assert evidence["rules"] == list(RULES) and "lm" in RULES and evidence["epochs"].shape == (len(RULES), TINY.seeds)
    assert (evidence["seconds"] > 0).all() and evidence["reached"][-1].all()
    assert set(figures(evidence)) == {"epochs", "seconds"} and judge(evidence)[0].row == "B031"
