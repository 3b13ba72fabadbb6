"""A data set knows its n, D, K and task, and refuses what does not fit together."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold

from ftheta.data import Dataset, Rows, holdout, load
from ftheta.draw import Draw
from ftheta.errors import InputError


def small(**changes):
    x = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [0.0, 1.0, 0.0]})
    fields = {"x": x, "y": np.array([0, 1, 2]), "target_names": ("u", "v", "w"), "task": "multiclass"} | changes
    return Dataset(name="small", feature_names=("a", "b"), **fields)


@pytest.mark.parametrize(
    ("changes", "n", "d", "k"),
    [
        ({}, 3, 2, 3),
        ({"y": np.ones(3), "target_names": (), "task": "regression"}, 3, 2, 1),
        ({"y": None, "target_names": (), "task": "none"}, 3, 2, 0),
        ({"x": np.zeros((3, 12), np.uint8), "kind": "image", "shape": (3, 4)}, 3, 12, 3),
        ({"x": np.zeros(7), "y": None, "kind": "series", "task": "none", "target_names": ()}, 7, 1, 0),
        ({"x": "to be", "y": None, "kind": "text", "task": "none", "target_names": ()}, 5, 1, 0),
    ],
)
def test_rows_columns_and_outputs(changes, n, d, k):
    data = small(**changes)
    assert (data.rows, data.columns, data.outputs) == (n, d, k)


def test_targets_that_do_not_fit_the_rows_are_refused():
    with pytest.raises(InputError, match="small: x has 3 rows but y has 2. They must match; did one file lose"):
        small(y=np.zeros(2))


@pytest.mark.ledger("C001", covers="ftheta.data.Dataset")
@pytest.mark.parametrize(
    ("name", "n", "d", "k", "task"), [("iris", 150, 4, 3, "multiclass"), ("diabetes", 442, 10, 1, "regression")]
)
def test_pairs_go_in_and_the_same_pairs_come_out_of_splits_and_batches(name, n, d, k, task):
    data = load(name)
    assert (data.rows, data.columns, data.outputs, data.task) == (n, d, k, task)
    pairs = set(zip(map(tuple, data.x.to_numpy()), data.y, strict=True))

    def served(rows):
        source = Rows(data.x.to_numpy()[rows], data.y[rows], batch_size=32)
        batches = list(source.batches(0, 0, Draw(0).at("order", 0)))
        assert sum(batch.n for batch in batches) == len(rows) and batches[0].n == min(32, len(rows))
        return {(tuple(x), y) for b in batches for x, y in zip(b.x.tolist(), b.y.tolist(), strict=True)}

    train, test = holdout(n, 0.2, Draw(0))
    assert served(train) | served(test) == pairs
    assert (
        set().union(*(served(test) for _, test in KFold(5, shuffle=True, random_state=0).split(np.zeros(n)))) == pairs
    )


def test_a_data_set_is_one_short_line_and_in_a_notebook_its_first_rows():
    iris = load("iris")
    assert repr(iris) == "Dataset('iris': table, 150 rows, 4 columns, multiclass, 3 classes)"
    html = iris._repr_html_()
    assert html.startswith("<p><strong>iris</strong>: table, 150 rows") and html.count("<td>") == 5 * 4
