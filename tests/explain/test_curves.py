"""Learning curves: the numbers of the history, and the epoch that early stopping would keep."""

from types import SimpleNamespace

import numpy as np
import pytest

from ftheta import MLPClassifier
from ftheta.explain import curves

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = (X[:, 0] + RNG.normal(size=60) > 0).astype(int)


def of(*rows):
    return curves(SimpleNamespace(history_=list(rows)))


def lines(found):
    return {line.get_label(): line.get_xydata().tolist() for line in found.figure().axes[0].lines}


def test_validation_decides_where_there_is_any():
    found = of(
        {"epoch": 1, "loss": 3.0, "valid_loss": 2.0},
        {"epoch": 2, "loss": 2.0, "valid_loss": 1.0},
        {"epoch": 3, "loss": 1.0, "valid_loss": 1.0},
    )
    assert (found.watched, found.best) == ("valid_loss", 2)  # the first of two
    assert lines(found)["training loss"] == [[1, 3], [2, 2], [3, 1]]
    assert lines(found)["best: epoch 2 (1.000)"] == [[2, 1]]
    assert found.table().caption == "Lowest valid_loss in epoch 2."
    assert found.table().columns == {"epoch": [1, 2, 3], "loss": [3, 2, 1], "valid_loss": [2, 1, 1]}


def test_without_validation_the_training_loss_decides():
    found = of({"epoch": 5, "loss": 3.0}, {"epoch": 6, "loss": 2.5}, {"epoch": 7, "loss": 2.75})
    assert (found.watched, found.best) == ("loss", 6)


def test_rows_may_lack_columns_and_hold_what_is_no_number():
    found = of({"epoch": 1, "loss": 1.0, "note": "x", "ok": True}, {"epoch": 2, "loss": np.nan, "valid_loss": 4.0})
    assert list(found.history) == ["epoch", "loss", "valid_loss"] and found.best == 2
    assert np.isnan(found.history["valid_loss"][0]) and np.isnan(found.history["loss"][1])


def test_rounds_are_counted_where_nobody_counted_epochs():
    found = of({"loss": 2.0, "inertia": 7.0}, {"loss": 1.0, "inertia": 5.0})
    assert found.history["round"].tolist() == [1, 2] and found.best == 2
    assert found.figure().axes[0].get_xlabel() == "round"


def test_several_players_are_all_drawn_and_none_is_the_best():
    found = of({"epoch": 1, "step": 9, "critic": 1.0, "generator": 2.0, "lr": 0.1, "seconds": 1.0})
    assert found.watched is found.best is None and found.table().caption == ""
    assert set(lines(found)) == {"critic", "generator"}
    assert found.figure().axes[0].get_ylabel() == "logged value"
    watched = of({"epoch": 1, "critic": 1.0, "valid_loss": 2.0}, {"epoch": 2, "critic": 3.0, "valid_loss": 4.0})
    assert watched.best == 1 and lines(watched)["best: epoch 1 (2.000)"] == [[1, 2]]


def test_the_best_epoch_is_the_one_that_early_stopping_keeps():
    model = MLPClassifier(hidden=(30,), epochs=60, lr=0.05, validation=0.3, patience=5, random_state=0).fit(X, Y)
    found = curves(model)
    values = [row["valid_loss"] for row in model.history_]
    assert found.best == 1 + int(np.argmin(values)) == len(values) - 5
    assert f"best was round {found.best}" in model.stop_reason_


@pytest.mark.ledger("A161", covers="ftheta.explain.curves")
def test_fifty_epochs_of_a_real_run_with_the_validation_minimum_marked():
    model = MLPClassifier(hidden=(30,), epochs=50, lr=0.02, validation=0.3, random_state=0).fit(X, Y)
    loss, valid = ([row[name] for row in model.history_] for name in ("loss", "valid_loss"))
    best = 1 + int(np.argmin(valid))
    assert 1 < best < 50 and len(valid) == 50  # it overfits: the minimum lies inside
    found, epochs = curves(model), np.arange(1, 51)
    drawn = lines(found)
    np.testing.assert_allclose(drawn["training loss"], np.stack([epochs, loss], 1))
    np.testing.assert_allclose(drawn["validation loss"], np.stack([epochs, valid], 1))
    assert drawn[f"best: epoch {best} ({min(valid):#.4g})"] == [[best, min(valid)]]
    assert found.table().caption == f"Lowest valid_loss in epoch {best}."
