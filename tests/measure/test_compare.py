"""Comparison: the tests are SciPy's, sign flips come close to counting all, and the sentence names the winner."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ftheta.errors import InputError
from ftheta.measure import Bootstrap, compare, paired_tests, sign_flip

RNG = np.random.default_rng(0)
DIFFERENCES = st.lists(st.floats(-3, 3).map(lambda v: round(v, 2)), min_size=2, max_size=30)


@settings(max_examples=10)  # SciPy goes through all signs where there are ties
@given(DIFFERENCES)
def test_students_and_wilcoxons_tests_are_scipys(d):
    tests = {t.test: t for t in paired_tests("loss", np.array(d), Bootstrap(len(d)))}
    if np.ptp(d) > 0:
        expected = stats.ttest_rel(d, np.zeros(len(d)))
        assert tests["paired t"][2:4] == pytest.approx((expected.statistic, expected.pvalue), rel=1e-8, abs=1e-12)
    expected = stats.wilcoxon(d) if any(d) else (0, 1)
    assert tests["Wilcoxon signed ranks"][2:4] == pytest.approx(tuple(expected), rel=1e-10)


@pytest.mark.parametrize("shift", [0.0, 0.4])
def test_sign_flips_come_close_to_all_of_them(shift):
    d = np.random.default_rng(1).normal(shift, 1, 12)
    exact = np.mean([abs(np.dot(e, d)) >= abs(d.sum()) - 1e-12 for e in product((-1, 1), repeat=12)])
    assert sign_flip(d) == (d.mean(), pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 9999)))


def test_a_comparison_of_labels():
    y = np.array(["x"] * 60)
    a, b = y.copy(), y.copy()
    a[:5], b[5:25] = "z", "z"  # only B is right on 5 rows, only A on 20
    found = compare(y, a, b, names=("mlp", "linear"))
    (exact,) = found.tests
    assert (exact.test, exact.statistic, exact.p) == ("McNemar exact", 20, pytest.approx(stats.binomtest(5, 25).pvalue))
    assert found.values == {"accuracy": (55 / 60, 40 / 60)}
    assert exact.difference == pytest.approx(0.25) and 0.05 < exact.low < 0.25 < exact.high < 0.45
    assert found.meaning == (
        "Accuracy is 0.9167 for mlp and 0.6667 for linear on the same 60 rows: mlp is better; "
        "chance alone would seldom make this difference (McNemar exact, p = 0.0041)."
    )
    assert "linear is better" not in found.meaning
    assert "mlp is better" in compare(y, b, a, names=("linear", "mlp")).meaning
    table = found.table()
    assert table.caption == found.meaning
    assert list(table.columns) == (["measure", "test", "statistic", "p", "difference", "low", "high", "n"])
    assert found.caption.startswith(f"Difference 0.25, 95 % interval {exact.low:.4g} to {exact.high:.4g}. Accuracy is")
    (axes,) = found.figure().axes
    assert axes.get_xlabel() == "accuracy of mlp minus linear\nmlp is better above 0"


@pytest.mark.parametrize(("level", "better"), [(0.9, True), (0.95, True), (0.97, False), (0.99, False)])
def test_a_difference_counts_where_p_is_below_one_minus_the_level(level, better):
    found = compare(["x"] * 9, ["x"] * 9, ["x"] * 3 + ["z"] * 6, level=level)  # 6 rows on which one is right
    assert found.tests[0].p == pytest.approx(2 / 2**6) and ("A is better" in found.meaning) == better


def test_numbers_may_be_labels():
    y, a, b = [0, 1, 1], [0, 1, 0], [0, 0, 0]
    assert compare(y, a, b, classes=[0, 1]).tests[0].measure == "accuracy"
    assert compare(y, a, b) == compare(y, a, b, classes=[0, 1])
    assert compare(y, np.array(a) + 0.5, b).tests[0].measure == "mean squared error"
    assert compare(range(30), range(30), range(1, 31)).tests[0].measure == "mean squared error"


def test_a_comparison_of_numbers():
    y = RNG.normal(size=80)
    a, b = y + RNG.normal(size=80), y + 0.3 * RNG.normal(size=80)
    found = compare(y, a, b)
    d2, d1 = (y - a) ** 2 - (y - b) ** 2, abs(y - a) - abs(y - b)
    by = {(t.measure, t.test): t for t in found.tests}
    assert len(by) == 6
    for d, measure in ((d2, "mean squared error"), (d1, "mean absolute error")):
        assert by[measure, "paired t"].p == pytest.approx(stats.ttest_1samp(d, 0).pvalue)
        assert by[measure, "Wilcoxon signed ranks"].p == pytest.approx(stats.wilcoxon(d).pvalue)
        assert by[measure, "sign flips"].difference == pytest.approx(d.mean())
        assert by[measure, "sign flips"].low < d.mean() < by[measure, "sign flips"].high
    assert "B is better" in found.meaning and "(sign flips, p = 0.0001)" in found.meaning
    assert len(found.figure().axes) == 2


def test_equal_models_are_not_told_apart_and_have_no_interval():
    found = compare([1.0, 2.0, 4.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    assert found.meaning.endswith(
        "chance alone could make this difference (sign flips, p = 1); these rows do not tell which is better."
    )
    assert set(found.table().columns["low"]) == {"none"} and found.figure()
    assert found.caption == f"Difference 0. {found.meaning}"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (([1.0], [1.0], [2.0]), "y has one row; two models cannot be compared on fewer than two rows"),
        (([1.0, 2.0], [1.0, 2.0], [2.0]), "y has 2 rows but b has 1; they must be the same rows"),
        ((["a", "b"], ["a", "b"], ["a"]), "y has 2 rows but b has 1"),
    ],
)
def test_rows_must_be_the_same(arguments, said):
    with pytest.raises(InputError, match=said):
        compare(*arguments)


def test_the_seed_of_a_comparison_reaches_the_flips():
    y, a, b = np.random.default_rng(5).normal(size=(3, 40))
    first, second = (compare(y, a, b, seed=seed).tests[0] for seed in (1, 2))
    assert first.test == "sign flips" and first.p != second.p


def test_the_figure_has_the_difference_and_its_interval_on_the_right_side():
    y = np.arange(40.0)
    found = compare(y, y, y + np.linspace(1, 2, 40))  # A is better: the difference is below 0
    for axes, measure in zip(found.figure().axes, ("mean squared error", "mean absolute error"), strict=True):
        test = next(t for t in found.tests if t.measure == measure)
        shown = [float(x) for line in axes.lines for x in np.ravel(line.get_xdata())]
        shown += [float(x) for part in axes.collections for path in part.get_paths() for x in path.vertices[:, 0]]
        assert min(abs(x - test.difference) for x in shown) < 1e-9 < min(abs(x + test.difference) for x in shown)


def test_tests_that_disagree_are_named():
    y, b = np.zeros(12), np.ones(12)
    a = np.array([*np.linspace(0.55, 0.65, 11), 2.5])  # smaller in 11 rows, and much larger in one
    found = compare(y, a, b)
    assert (found.ahead, found.better) == ("A", None) and " these rows do not tell which is better." in found.meaning
    other = [t for t in found.tests if t.p <= 0.05]
    assert other and found.meaning.endswith(
        f" The tests disagree: {', '.join(f'{t.test} of the {t.measure} p = {t.p:.2g}' for t in other)}."
    )
    assert compare(y[:11], a[:11], b[:11]).better == "A" and "disagree" not in compare(y[:11], a[:11], b[:11]).meaning
    assert compare(list("aaaaaaaaa"), list("bbbbbbbbb"), list("aaaaaaaaa")).better == "B"
