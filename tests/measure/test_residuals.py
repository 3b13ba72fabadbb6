"""Residuals: true minus predicted, in units of y."""

import numpy as np
import pandas as pd
import pytest

from ftheta.errors import InputError
from ftheta.measure import residuals


def test_the_table_is_of_true_minus_predicted():
    found = residuals(pd.Series([1.0, 2.0, 3.0, 4.0, 5.0]), [0.0, 2.0, 2.0, 4.0, 8.0], name="price (€)")
    table = found.table().columns
    said = dict(zip(table["of the residuals"], table["in units of price (€)"], strict=True))
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
        }
    )
    assert found.alt == (
        "Residuals of price (€) on 5 rows: mean -0.2, standard deviation 1.47, "
        "half of them between 0 and 1, the largest -3."
    )
    assert [axes.get_xlabel() for axes in found.figure().axes] == ["true price (€)", "true - predicted price (€)"]


def test_rows_must_match():
    with pytest.raises(InputError, match="y has 2 rows but predicted has 1"):
        residuals([1, 2], [1])
