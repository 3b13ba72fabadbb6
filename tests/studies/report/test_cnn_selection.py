"""One choice after the other: the smallest that is as good as the best within an error; the whole on small digits."""

import numpy as np
import pytest

from ftheta.studies.report import cnn_selection
from ftheta.studies.report.cnn_selection import TINY, figures, judge, measure, pick, tables


@pytest.mark.parametrize(
    ("valid", "rows", "chosen"),
    [
        ([[0.90, 0.90], [0.99, 0.99], [0.991, 0.991]], 6000, 1),
        ([[0.90, 0.90], [0.98, 0.98], [0.99, 0.99]], 6000, 2),
        ([[0.99, 0.99], [0.98, 0.98]], 6000, 0),
        ([[0.90, 0.99], [0.95, 0.96]], 10_000_000, 1),
    ],
)
def test_the_first_within_one_standard_error_of_the_best_is_picked(valid, rows, chosen):
    assert pick(np.array(valid), rows) == chosen


def test_each_step_keeps_what_was_chosen_before(monkeypatch):
    seen = []

    def step(config, what, choices, chosen):
        seen.append((what, dict(chosen)))
        return {
            "valid": np.array([[0.5]] * (len(choices) - 1) + [[0.9]]),
            "parameters": np.arange(len(choices)),
            "rows": 100,
        }

    monkeypatch.setattr(cnn_selection, "_step", step)
    evidence = measure(TINY)
    assert [what for what, _ in seen] == ["stages", "filters", "kernel", "hidden"]
    assert evidence["chosen"] == {"stages": 2, "filters": 8, "kernel": 3, "hidden": 8}
    assert seen[2][1] == {"stages": 2, "filters": 8, "kernel": 3, "hidden": 0}
    assert tables(evidence)["choices"].text().count("yes") == 4 and judge(evidence) == []


@pytest.mark.middle
def test_the_whole_runs_on_small_digits():
    evidence = measure(TINY)
    assert [len(step["valid"]) for step in evidence["steps"]] == [2, 2, 1, 2]
    assert len(figures(evidence)["choices"].axes) == 4
