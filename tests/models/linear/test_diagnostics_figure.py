"""Residual plots: four panels of the numbers given, Cook's contours where they are, and a smoother that is local."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from ftheta.models.linear.diagnostics import diagnostics as drawn
from ftheta.models.linear.diagnostics import local_line


def diagnostics(fitted, *rest, rank):
    return drawn(fitted, *rest, rank=rank, rows=np.arange(len(fitted)) + 100)


def fit(n=40, seed=0):
    rng = np.random.default_rng(seed)
    fitted, residuals = rng.normal(size=(2, n))
    return fitted, residuals, residuals / residuals.std(), rng.uniform(0.05, 0.2, n)


def test_each_panel_shows_its_numbers_with_labels():
    fitted, residuals, standardized, leverage = fit()
    leverage[7], standardized[7] = 0.6, 3.0
    first, second, third, fourth = diagnostics(fitted, residuals, standardized, leverage, rank=3).axes
    assert first.lines[0].get_xydata() == pytest.approx(np.column_stack([fitted, residuals]))
    theirs = stats.probplot(standardized, fit=False)[0]  # other plotting positions, the same order
    assert np.corrcoef(second.lines[0].get_xdata(), theirs)[0, 1] > 0.999
    assert second.lines[0].get_ydata() == pytest.approx(np.sort(standardized))
    assert third.lines[0].get_xydata() == pytest.approx(np.column_stack([fitted, np.sqrt(abs(standardized))]))
    assert fourth.lines[0].get_xydata() == pytest.approx(np.column_stack([leverage, standardized]))
    assert all(axes.get_xlabel() and axes.get_ylabel() and axes.get_title() for axes in (first, second, third, fourth))
    assert "107" in [text.get_text() for text in fourth.texts] and len(fourth.texts) == 3


def test_contours_are_where_cooks_distance_is_what_they_say():
    fitted, residuals, standardized, leverage = fit()
    leverage[7], standardized[7] = 0.6, 3.0
    axes = diagnostics(fitted, residuals, standardized, leverage, rank=3).axes[3]
    found = {line.get_label(): line.get_xydata().T for line in axes.lines if "Cook" in str(line.get_label())}
    assert list(found) == ["Cook's distance 0.5", "Cook's distance 1"]
    for cook, (h, r) in zip((0.5, 1.0), found.values(), strict=True):
        assert r**2 * h / (1 - h) / 3 == pytest.approx(np.full(len(h), cook))
    plain = diagnostics(*fit(), rank=30).axes[3]
    assert plain.get_title() == "Leverage (Cook's distance 0.5 lies outside)" and plain.get_legend() is None


def test_many_rows_are_thinned_and_it_is_said_but_the_tails_stay():
    given = fit(3000)
    figure = diagnostics(*given, rank=3)
    assert figure.get_suptitle() == "1,500 of 3,000 rows are drawn"
    assert len(figure.axes[0].lines[0].get_xdata()) == 1500
    shown = figure.axes[1].lines[0].get_ydata()
    assert len(shown) <= 2000 and shown[[0, -1]] == pytest.approx([given[2].min(), given[2].max()])
    assert shown[:20] == pytest.approx(np.sort(given[2])[:20])


def test_nothing_to_show_is_drawn_as_nothing():
    missing = np.full(5, np.nan)
    figure = diagnostics(np.ones(5), np.zeros(5), missing, np.ones(5), rank=5)
    figure.canvas.draw()
    assert len(figure.axes[1].lines) == 0 and len(figure.axes[3].texts) == 0


def test_the_smoother_is_clevelands_without_its_robust_steps():
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 6, 80))
    y = np.sin(x) + 0.1 * rng.normal(size=80)
    at, high = local_line(x, y, span=0.3)
    assert len(at) == 60 and len(local_line(x, y, points=25)[0]) == 25
    truth = sm.nonparametric.lowess(y, x, frac=0.3, it=0, xvals=at)
    assert high == pytest.approx(truth, abs=2e-3) and at[[0, -1]] == pytest.approx(x[[0, -1]])
