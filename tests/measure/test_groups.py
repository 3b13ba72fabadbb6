"""Groups of rows: deviations are those of random draws, intervals are SciPy's, and planted errors are found."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from ftheta.errors import InputError
from ftheta.measure import error_groups, wilson

RNG = np.random.default_rng(0)
N = 400
CITY = RNG.choice(["Oslo", "Rome", "Bonn"], N)
AREA = RNG.normal(90, 20, N)


def group(found, column, which):
    i = found.groups.index((column, which))
    return found.rows[i], found.mean[i], found.low[i], found.high[i], found.z[i]


def test_of_wrong_rows_the_deviation_is_hypergeometric_and_the_interval_wilsons():
    wrong = (RNG.uniform(size=N) < 0.2).astype(int)
    found = error_groups(pd.DataFrame({"city": CITY}), wrong)
    m, k = int((CITY == "Oslo").sum()), int(wrong[CITY == "Oslo"].sum())
    law = stats.hypergeom(N, wrong.sum(), m)
    assert group(found, "city", "Oslo") == pytest.approx((m, k / m, *wilson(k, m), (k - law.mean()) / law.std()))
    assert found.share and found.overall == wrong.mean() and sum(found.rows) == N
    assert list(found.z) == sorted(found.z, reverse=True)


def test_quarters_are_pandas_and_the_interval_is_students():
    error = RNG.gamma(2.0, size=N)
    found = error_groups(AREA[:, None], error)
    quarters = pd.qcut(AREA, 4, labels=False)
    assert sorted(found.rows) == [100] * 4
    for k in range(4):
        own, x = error[quarters == k], AREA[quarters == k]
        m, mean, low, high, _ = group(found, "0", f"from {x.min():.4g} to {x.max():.4g}")
        ends = stats.t.interval(0.95, m - 1, own.mean(), stats.sem(own))
        assert (mean, low, high) == pytest.approx((own.mean(), *ends))


def test_equal_values_are_in_one_quarter():
    x = np.repeat([0.0, 1.0, *np.arange(2.0, 52.0)], [130, 170, *[2] * 50])
    found = error_groups(x[:, None], RNG.gamma(2.0, size=400))
    ends = [list(map(float, name.removeprefix("from ").split(" to "))) for _, name in found.groups]
    assert sorted(end for pair in ends for end in set(pair)) == sorted({end for pair in ends for end in pair})
    assert [n for n, (low, high) in zip(found.rows, ends, strict=True) if low == high == 0] == [130]


@pytest.mark.parametrize(("few", "told"), [(9, 0), (10, 1)])
def test_a_group_needs_ten_rows_and_as_many_others(few, told):
    wrong = np.arange(100) % 3 == 0
    for n in (few, 100 - few):
        found = error_groups({"c": ["a"] * n + ["b"] * (100 - n)}, wrong)
        assert len(found.groups) == 2 * told


def test_planted_errors_are_named_one_group_of_each_column():
    area, rows = AREA.copy(), np.arange(N)
    area[:30] = np.nan
    error = RNG.gamma(2.0, size=N) + 8.0 * (rows < 30) + 3.0 * (CITY == "Rome")
    when = pd.date_range("2020-01-01", periods=N)
    found = error_groups(
        pd.DataFrame({"area": area, "city": CITY, "when": when, "id": rows.astype(str)}), error, name="error"
    )
    first, second, *rest = found.sentences
    own, others = error[:30].mean(), error[30:].mean()
    assert first.startswith(f"Rows without area (30 of 400): error {own:#.3g} [") and first.endswith(
        f"others {others:#.3g}."
    )
    assert second.startswith(f"Rows with city Rome ({(CITY == 'Rome').sum()} of 400)")
    assert all(" when from 2020-" in sentence for sentence in rest) and found.caption == " ".join(found.sentences)
    assert not any(column == "id" for column, _ in found.groups)  # no level has ten rows
    assert len(found.table().columns["z"]) == 1 + 4 + 3 + 4


def test_errors_by_chance_are_not_named():
    """At most 5 in 100 by the bound; here 0 of 40."""
    names = [len(error_groups({"a": AREA, "city": CITY}, RNG.exponential(size=N)).sentences) for _ in range(40)]
    assert sum(names) <= 4
    same = error_groups({"a": AREA}, np.ones(N))
    assert same.sentences == [] and same.caption.startswith("No level, quarter or missing cell")
    assert [axes.get_xlabel() for axes in same.figure().axes] == ["mean error"]


def test_few_rows_and_other_rows_are_refused():
    none = error_groups({"a": [1, 2]}, [0.0, 1.0])
    assert none.groups == () and none.table().columns["rows"] == []
    with pytest.raises(InputError, match="No column has 10 rows of one kind and 10 others"):
        none.figure()
    with pytest.raises(InputError, match="x has 2 rows but error has 3"):
        error_groups({"a": [1, 2]}, [0, 1, 2])
