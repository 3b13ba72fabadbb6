"""The registry of data sets: what is said of each is so."""

import numpy as np
import pytest

from ftheta.data import SYNTHETIC, info, load, names
from ftheta.errors import InputError

BUILT_IN = ("breast-cancer", "diabetes", "digits", "iris", "wine", "cholesterol", "sprint")
FILES = ("mnist", "santafe-laser", "tinyshakespeare")


@pytest.mark.parametrize("name", BUILT_IN)
def test_shape_task_and_names_agree(name):
    data, about = load(name), info(name)
    assert data.x.shape == (about.rows, about.columns) and data.y.shape == (about.rows,) and data.task == about.task
    classes = len(data.target_names)
    assert tuple(data.x.columns) == data.feature_names and (classes == 0) == (data.task == "regression")
    assert classes == 0 or np.array_equal(np.unique(data.y), np.arange(classes))
    assert np.isfinite(data.x.to_numpy()).all() and data.license and data.citation and len(repr(data)) < 500


def test_names_are_the_built_in_the_made_and_the_real():
    assert names() == (*BUILT_IN, *SYNTHETIC, *FILES)


@pytest.mark.parametrize("name", [*BUILT_IN, *SYNTHETIC])
def test_facts_agree_with_what_is_loaded(name):
    data = load(name)
    where = "synthetic" if name in SYNTHETIC else "built in"
    assert info(name) == (name, data.kind, data.rows, data.columns, data.task, where)


def test_diabetes_is_raw():
    """Scaled values would carry the mean of rows that are set aside; ages are years."""
    assert 18 <= load("diabetes").x["age"].min() and load("diabetes").x["age"].max() < 100


@pytest.mark.parametrize("ask", [load, info])
def test_an_unknown_name_is_answered_with_the_nearest(ask):
    with pytest.raises(InputError, match=r"Unknown data set 'digit'\. Did you mean 'digits'"):
        ask("digit")
