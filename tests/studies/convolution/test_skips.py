"""Skips of a U-Net: verdicts on made-up accuracies, and one small run."""

import numpy as np
import pytest

from ftheta.nn import SKIPS
from ftheta.studies.convolution.skips import TINY, figures, judge, measure, tables


def made(concat, added, none, sizes=True, seeds=3):
    found = np.tile([concat, added, none], (seeds, 1)) + 0.01 * np.arange(seeds)[:, None]
    return {"boundary": found, "rest": np.full((seeds, 3), 0.99), "sizes": sizes}


@pytest.mark.parametrize(
    ("accuracies", "sizes", "verdict"),
    [
        ((0.95, 0.94, 0.85), True, "confirmed"),
        ((0.95, 0.80, 0.85), True, "not reproduced"),
        ((0.80, 0.79, 0.85), True, "refuted"),
        ((0.95, 0.94, 0.85), False, "refuted"),
    ],
)
def test_verdicts(accuracies, sizes, verdict):
    (found,) = judge(made(*accuracies, sizes))
    assert (found.row, found.verdict) == ("C223", verdict)
    assert found.measured == pytest.approx([accuracies[0] - accuracies[2], accuracies[1] - accuracies[2]])
    assert found.spread == pytest.approx([0, 0], abs=1e-12)
    assert f"concat {accuracies[0] + 0.01:.3f} ± 0.010" in found.why and ("not as large" in found.why) != sizes


def test_one_seed_without_a_drop_is_not_confirmed():
    evidence = made(0.95, 0.94, 0.85)
    evidence["boundary"][2, 2] = 0.99
    assert judge(evidence)[0].verdict == "not reproduced"


def test_tables_and_figures_have_a_row_a_kind():
    evidence = made(0.95, 0.94, 0.85)
    columns = tables(evidence)["skips"].columns
    assert columns["skip"] == list(SKIPS) and columns["beside outlines"] == pytest.approx([0.96, 0.95, 0.86])
    first, second = figures(evidence)["skips"].axes
    assert first.get_xlabel() == "wrong beside outlines (%)" and second.get_xlabel() == "wrong elsewhere (%)"
    assert any(text.get_text().startswith("4.0") for text in first.texts)  # 1 - 0.96 of the first kind


@pytest.mark.middle
def test_a_small_run():
    evidence = measure(TINY)
    assert evidence["boundary"].shape == evidence["rest"].shape == (TINY.seeds, 3) and evidence["sizes"]
    assert ((evidence["boundary"] > 0) & (evidence["boundary"] <= 1)).all() and judge(evidence)[0].row == "C223"
