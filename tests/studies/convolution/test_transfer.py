"""Transfer: what is kept and what is frozen, verdicts on made-up accuracies, and one small run."""

import numpy as np
import pytest
import torch

from ftheta import load
from ftheta.studies.convolution import transfer
from ftheta.studies.convolution._nets import shuffled
from ftheta.studies.convolution.transfer import TINY, WAYS, figures, judge, measure, tables

SEEDS = np.array([-1.0, 0, 1, 0])


def made(middle, places, noise=0.002):
    """Four seeds, two numbers of labels; (scratch, frozen, tuned) for each placement."""
    found = np.array([middle, places])[:, None, None] + noise * SEEDS[:, None, None] * np.array([1, -1, 1])
    return {"accuracy": np.repeat(found, 2, axis=2), "old": np.full((2, 4), 0.99), "labels": [1, 5]}


@pytest.mark.parametrize(
    ("middle", "places", "verdict"),
    [
        ((0.5, 0.6, 0.6), (0.4, 0.6, 0.6), "confirmed"),
        ((0.7, 0.6, 0.6), (0.4, 0.6, 0.6), "corrected"),  # not where pixels are enough
        ((0.5, 0.4, 0.6), (0.4, 0.3, 0.6), "corrected"),  # not frozen
        ((0.5, 0.5, 0.5), (0.4, 0.4, 0.4), "refuted"),
        ((0.6, 0.5, 0.5), (0.5, 0.4, 0.4), "refuted"),
    ],
)
def test_verdicts(middle, places, verdict):
    (found,) = judge(made(middle, places, noise=0.0))
    assert (found.row, found.verdict) == ("C330", verdict)
    gains = [[v[1] - v[0], v[2] - v[0]] for v in (middle, places)]
    assert np.array(found.measured) == pytest.approx(np.repeat(np.array(gains)[:, None], 2, axis=1))
    assert judge(made(middle, places, noise=0.002))[0].verdict == verdict


def test_gains_that_are_not_sure_are_not_reproduced():
    evidence = made((0.5, 0.51, 0.51), (0.7, 0.71, 0.71))
    evidence["accuracy"][:, 0, :, 0] += 0.02
    assert judge(evidence)[0].verdict == "not reproduced"


def test_a_gain_with_one_number_of_labels_may_outweigh_a_loss_with_another():
    evidence = made((0.5, 0.6, 0.6), (0.5, 0.6, 0.6))
    evidence["accuracy"][:, :, 1, 0] = 0.62  # scratch is better with many labels, by less
    assert judge(evidence)[0].verdict == "confirmed"


def test_a_frozen_trunk_stays_and_a_tuned_one_moves_from_where_it_started(tmp_path):
    x, y = (part.numpy() for part in shuffled("digits", 0))
    old, new = y < 5, np.flatnonzero(y >= 5)[:20]
    transfer._pretrained(TINY, x[old], y[old], str(tmp_path / "trunk"), 0)
    trunk = load(tmp_path / "trunk").module_.state_dict()
    scratch, frozen, tuned = (
        transfer._learned(TINY, x[new], y[new], way, str(tmp_path / "trunk"), 0).module_.state_dict() for way in WAYS
    )
    kept = [name for name in trunk if torch.equal(trunk[name], frozen[name])]
    assert kept == [f"{layer}.{part}" for layer in ("conv1", "conv2", "dense1") for part in ("weight", "bias")]
    assert 0 < (tuned["conv1.weight"] - trunk["conv1.weight"]).abs().max() < 0.1
    assert (scratch["conv1.weight"] - trunk["conv1.weight"]).abs().max() > 0.1


def test_the_saved_head_knows_nothing(tmp_path):
    x, y = (part.numpy() for part in shuffled("digits", 0))
    score = transfer._pretrained(transfer.Config(before=4, filters=(4, 8)), x[y < 5], y[y < 5], str(tmp_path / "t"), 0)
    left = load(tmp_path / "t").score(x[y < 5], y[y < 5])
    assert score > 0.8 and left < 0.6


@pytest.mark.middle
def test_a_small_run():
    evidence = measure(TINY)
    assert evidence["accuracy"].shape == (2, TINY.seeds, 2, 3) and evidence["old"].shape == (2, TINY.seeds)
    assert ((evidence["accuracy"] >= 0) & (evidence["accuracy"] <= 1)).all()
    drawn = figures(evidence)["transfer"]
    assert drawn.axes[1].get_ylabel() == "accuracy (%), 2 of each\nin the middle" and len(drawn.axes) == 4
    assert tables(evidence)["transfer"].columns["labels of each"] == [1, 2] * 2 and judge(evidence)[0].row == "C330"


def test_networks_have_as_many_updates_whatever_the_number_of_labels():
    x, y = (part.numpy() for part in shuffled("digits", 0))
    for n, epochs in ((10, 7), (30, 4), (60, 3)):
        model = transfer._learned(transfer.Config(updates=7, filters=(2, 2)), x[:n], y[:n], "from scratch", "", 0)
        assert model.epochs == epochs
