"""Cost curves: every place by brute force, and the points of the ROC curve."""

import numpy as np
import pytest

from ftheta.measure import at_threshold, cost_curve


def rows(n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = np.append([0, 1], rng.integers(0, 2, n - 2))
    return y, np.round(1 / (1 + np.exp(-(2 * y - 1 + rng.standard_normal(n)))), 2)


def test_the_envelope_is_the_cheapest_threshold_at_every_place():
    y, p = rows()
    found = cost_curve(y, p)
    for i in range(0, 201, 20):
        pc = found.pc[i]
        each = [(1 - a.sensitivity) * pc + a.fpr * (1 - pc) for a in (at_threshold(y, p, t) for t in found.thresholds)]
        assert found.envelope[i] == pytest.approx(min(each), abs=1e-12)
    assert (found.envelope <= found.trivial + 1e-12).all()
    assert found.trivial == pytest.approx([min(pc, 1 - pc) for pc in found.pc])


def test_perfect_and_useless_scores():
    y = np.array([0, 0, 1, 1])
    perfect, useless = cost_curve(y, [0.1, 0.2, 0.8, 0.9]), cost_curve(y, [0.5, 0.5, 0.5, 0.5])
    assert perfect.area == 0 and useless.area == pytest.approx(0.25, abs=1e-4)
    assert "constant answers: from 0.005 to 0.995" in perfect.caption and "constant answers: nowhere" in useless.caption


def test_what_is_said_and_drawn():
    y, p = np.where(rows()[0] == 1, "y", "n"), rows()[1]
    found = cost_curve(y, p)
    assert found.caption.startswith(f"Cost curve on 60 rows: area {found.area:.4g} (constant answers 0.25);")
    table = found.table().columns
    assert table["PC"] == pytest.approx(np.arange(1, 10) / 10)
    assert table["constant answer"] == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5, 0.4, 0.3, 0.2, 0.1])
    pairs = zip(table["PC"], table["false positive rate"], table["false negative rate"], strict=True)
    assert table["cost"] == pytest.approx([b * pc + a * (1 - pc) for pc, a, b in pairs])
    at = at_threshold(y, p, table["threshold"][4])
    assert (at.fpr, 1 - at.sensitivity) == pytest.approx(
        (table["false positive rate"][4], table["false negative rate"][4])
    )
    assert found.figure().axes[0].get_title() == "Cost curve for class y"
    assert cost_curve(y, 1 - p, ["y", "n"]).name == "n"
