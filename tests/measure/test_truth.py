"""Against the truth: nothing is above the truth itself, and the excess is what fresh labels show on average."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

from ftheta.data import blobs, two_gaussians
from ftheta.measure import against_truth

MADE = two_gaussians(400, seed=5)
TRUE = MADE.truth.probability(MADE.x)


def both(one):
    return np.column_stack([1 - one, one])


def test_the_truth_has_no_excess():
    found = against_truth(MADE, both(TRUE))
    assert [row[0] for row in found.error] == ["error", "Bayes error", "excess error"]
    assert found.error[2][1:] == (0.0, None, None) and found.loss[2][1] == pytest.approx(0, abs=1e-12)
    assert found.error[1][1] == MADE.truth.bayes_error
    assert found.error[0][1] == pytest.approx(np.mean(MADE.y != (TRUE > 0.5)))


def test_the_excess_is_what_many_fresh_labels_of_the_same_rows_show():
    p = 1 / (1 + np.exp(-(1.2 * MADE.x["x1"].to_numpy() + 0.8)))
    found = against_truth(MADE, both(p))
    labels = np.random.default_rng(0).random((4000, 400)) < TRUE
    error = ((p > 0.5) != labels).mean() - ((TRUE > 0.5) != labels).mean()
    nats = -np.where(labels, np.log(p), np.log(1 - p)).mean() + np.where(labels, np.log(TRUE), np.log(1 - TRUE)).mean()
    assert found.error[2][1] == pytest.approx(error, abs=1.5e-3) and error > 0.02
    assert found.loss[2][1] == pytest.approx(nats, abs=4e-3) and nats > 0.05
    assert found.loss[0][1] == pytest.approx(log_loss(MADE.y, both(p), labels=[0, 1]))
    assert found.loss[1][1] == pytest.approx(-(TRUE * np.log(TRUE) + (1 - TRUE) * np.log(1 - TRUE)).mean())
    for _, value, low, high in (*found.error[::2], *found.loss):
        assert low < value < high
    width = found.error[2][3] - found.error[2][2]
    assert width < 0.5 * (found.error[0][3] - found.error[0][2])  # without the luck of the labels


def test_of_three_classes_the_error_is_held_against_the_bayes_error():
    made = blobs(300, seed=1)
    p = np.eye(3)[made.y] * 0.7 + 0.1
    p[:30] = p[:30, [1, 2, 0]]
    found = against_truth(made, p)
    assert found.error[0][1] == pytest.approx(0.1) and not found.loss
    assert found.error[2][1] == pytest.approx(0.1 - made.truth.bayes_error)
    assert found.error[2][2] == pytest.approx(found.error[0][2] - made.truth.bayes_error)
    assert len(found.figure().axes) == 1 and len(found.table().columns["what"]) == 3


def test_what_is_said():
    found = against_truth(MADE, both(TRUE))
    assert found.caption.startswith("Against the truth of two-gaussians on 400 rows, 95 % intervals: error ")
    assert ", Bayes error 0.1587, excess error 0, log loss " in found.caption
    assert found.table().columns["what"][3:] == ["log loss", "of the truth", "excess log loss"]
    assert [a.get_xlabel() for a in found.figure().axes] == ["error (share of rows)", "log loss (nats per row)"]
