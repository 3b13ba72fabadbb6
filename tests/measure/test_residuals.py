"""Residuals: true minus predicted, in units of y."""

import numpy as np
import pandas as pd
import pytest

from ftheta.data import load
from ftheta.measure import residuals
from ftheta.models import LinearRegression


def test_the_table_is_of_true_minus_predicted():
    found = residuals(pd.Series([1.0, 2.0, 3.0, 4.0, 5.0]), [0.0, 2.0, 2.0, 4.0, 8.0], name="price (€)")
    table = found.table().columns
    said = dict(zip(table["statistic"], table["in units of price (€)"], strict=True))
    assert said == pytest.approx(
        {
            "mean": -0.2,
            "standard deviation": np.std([1, 0, 1, 0, -3]),
            "smallest": -3,
            "5 %": -2.4,
            "25 %": 0,
            "median": 0,
            "75 %": 1,
            "95 %": 1,
            "largest": 1,
            "mean of squares (unit²)": 11 / 5,
            "sum of squares (unit²)": 11,
        }
    )
    assert found.caption == (
        "Residuals of price (€) on 5 rows: mean -0.2, standard deviation 1.47, "
        "half of them between 0 and 1, the largest -3."
    )
    assert [axes.get_xlabel() for axes in found.figure().axes] == ["true price (€)", "true - predicted price (€)"]


@pytest.mark.ledger("A028", covers="ftheta.measure.residuals", printed=[1.26, 12.24], right=[6.3157895, 61.2188366])
def test_the_cholesterol_example_prints_means_where_it_defines_sums(ledger):
    """The errors are defined as sums over rows; what is printed are means. The table says both, by name."""
    rows = load("cholesterol")
    model = LinearRegression().fit(rows.x[::2], rows.y[::2])
    said = [
        dict(zip(*residuals(rows.y[i::2], model.predict(rows.x[i::2])).table().columns.values(), strict=True))
        for i in (0, 1)
    ]
    assert [s["mean of squares (unit²)"] for s in said] == pytest.approx([1.26316, 12.24377], abs=5e-6)
    ledger([s["sum of squares (unit²)"] for s in said], rtol=1e-7)
    rounded = [(rows.y[i::2] - 25.68 - rows.x[i::2] @ [0.94, 5.79]) ** 2 for i in (0, 1)]
    assert [r.mean() for r in rounded] == pytest.approx([1.2887, 12.0110], abs=5e-5)
