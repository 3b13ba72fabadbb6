"""Norms in small batches: verdicts on made-up losses, what is refused, and one small run."""

import numpy as np
import pytest

from ftheta.errors import InputError
from ftheta.studies.convolution import small_batches_norm
from ftheta.studies.convolution.small_batches_norm import TINY, figures, judge, measure, tables

SIZES = [1, 2, 4, 16, 64]
BATCH, LAYER = (np.nan, 1.6, 0.3, 0.13, 0.11), (0.18, 0.17, 0.17, 0.16, 0.17)


def made(batch=BATCH, layer=LAYER, lone=0.0, apart=0.0, noise=0.03):
    loss = np.array([batch, layer], dtype=float)[..., None]
    loss = loss + noise * np.random.default_rng(0).uniform(-1, 1, (2, len(SIZES), 4))
    rate = np.where(np.isnan(loss[..., 0]), np.nan, 0.01)
    return {"test": loss, "train": loss, "error": loss / 4, "rate": rate, "sizes": SIZES, "lone": lone, "apart": apart}


@pytest.mark.parametrize(
    ("changes", "first", "second"),
    [
        ({}, "confirmed", "confirmed"),
        ({"batch": (2.3, 1.6, 0.3, 0.13, 0.11)}, "corrected", "corrected"),  # one row is trained on after all
        ({"lone": 1e-9}, "confirmed", "corrected"),
        ({"apart": 1e-9}, "confirmed", "corrected"),
        ({"batch": (np.nan, 1.6, 0.175, 0.13, 0.11)}, "not reproduced", "confirmed"),  # no better in batches of 4
        ({"batch": (np.nan, 0.1, 0.1, 0.13, 0.11)}, "refuted", "not reproduced"),
        ({"layer": (0.9, 0.17, 0.17, 0.16, 0.17)}, "confirmed", "not reproduced"),  # layer norm degrades too
        ({"batch": (np.nan, 0.1, 0.1, 0.13, 0.11), "layer": (0.9, 0.5, 0.5, 0.16, 0.1)}, "refuted", "refuted"),
    ],
)
def test_verdicts(changes, first, second):
    found = judge(made(**changes))
    assert [(f.row, f.verdict) for f in found] == [("A146", first), ("C221", second)]


def test_the_empty_place_is_none_in_the_finding_and_a_dash_in_the_table():
    assert judge(made())[0].measured[0][0] is None and judge(made())[0].spread[1][0] > 0
    columns = tables(made())["sizes"].columns
    assert columns["test loss"][0] == columns["rate"][0] == columns["test error"][0] == "-"
    assert float(columns["test loss"][5]) == pytest.approx(0.18, abs=0.03) and columns["norm"][5] == "layer"


def test_the_trainer_refuses_batch_norm_on_single_rows():
    with pytest.raises(InputError, match="one value"):
        small_batches_norm._trained(TINY, "batch", 1, 0.01, 0)


@pytest.fixture(scope="module")
def evidence():
    return measure(TINY)


def test_a_small_run_has_every_cell_but_batch_norm_on_single_rows(evidence):
    assert evidence["test"].shape == (2, len(TINY.sizes), TINY.seeds)
    assert np.isnan(evidence["test"][0, 0]).all() and np.isnan(evidence["test"]).sum() == TINY.seeds
    assert ((evidence["error"][1] >= 0) & (evidence["error"][1] <= 1)).all()
    assert {f.row for f in judge(evidence)} == {"A146", "C221"}
    assert [len(axes.lines) for axes in figures(evidence)["sizes"].axes] == [2, 2]


def test_batch_norm_of_one_row_is_beta_exactly_and_layer_norm_is_the_same_in_training_and_evaluation(evidence):
    assert evidence["lone"] == 0 and evidence["apart"] == 0
