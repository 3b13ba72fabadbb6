"""Transfer: what is kept and what is frozen, verdicts on made-up accuracies, and one small run."""

import numpy as np
import pytest
import torch

from ftheta import load
from ftheta.studies.convolution import transfer
from ftheta.studies.convolution._nets import shuffled
from ftheta.studies.convolution.transfer import TINY, TRUNK, figures, judge, measure, tables

SEEDS = np.array([-1.0, 0, 1, 0])


def made(*ways, noise=0.002):
    """Four seeds; (scratch, frozen, tuned) for each number of labels."""
    found = np.array(ways)[None] + noise * SEEDS[:, None, None] * np.array([1, -1, 1])
    return {"accuracy": found, "old": np.full(4, 0.99) + 0.001 * SEEDS, "labels": [1, 5, 20][: len(ways)]}


@pytest.mark.parametrize(
    ("ways", "verdict"),
    [
        (((0.5, 0.6, 0.6), (0.7, 0.8, 0.8), (0.9, 0.8, 0.9)), "confirmed"),  # many labels do not count
        (((0.5, 0.6, 0.6), (0.7, 0.7, 0.8), (0.9, 0.9, 0.9)), "corrected"),
        (((0.5, 0.5, 0.5), (0.7, 0.7, 0.7), (0.9, 0.9, 0.9)), "refuted"),
        (((0.6, 0.5, 0.5), (0.8, 0.7, 0.7), (0.8, 0.9, 0.9)), "refuted"),
    ],
)
def test_verdicts(ways, verdict):
    (found,) = judge(made(*ways))
    assert (found.row, found.verdict) == ("C330", verdict)
    assert np.array(found.measured) == pytest.approx(np.array(ways)[:, 1:] - np.array(ways)[:, :1])


def test_gains_that_are_not_sure_are_not_reproduced():
    evidence = made((0.5, 0.51, 0.51), (0.7, 0.71, 0.71), (0.9, 0.9, 0.9))
    evidence["accuracy"][0, :, 0] += 0.02
    assert judge(evidence)[0].verdict == "not reproduced"


def test_a_frozen_trunk_stays_and_a_tuned_one_moves_from_where_it_started(tmp_path):
    x, y = (part.numpy() for part in shuffled("digits", 0))
    old, new = y < 5, np.flatnonzero(y >= 5)[:20]
    transfer._pretrained(TINY, x[old], y[old], str(tmp_path / "trunk"), 0)
    trunk = load(tmp_path / "trunk").module_.state_dict()
    frozen = transfer._model(TINY, 2, 1, str(tmp_path / "trunk"), TRUNK).fit(x[new], y[new]).module_.state_dict()
    tuned = transfer._model(TINY, 2, 1, str(tmp_path / "trunk")).fit(x[new], y[new]).module_.state_dict()
    kept = [name for name in trunk if torch.equal(trunk[name], frozen[name])]
    assert kept == ["conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias"]
    assert 0 < (tuned["conv1.weight"] - trunk["conv1.weight"]).abs().max() < 0.1


def test_the_saved_head_knows_nothing(tmp_path):
    x, y = (part.numpy() for part in shuffled("digits", 0))
    score = transfer._pretrained(transfer.Config(before=4, filters=(4, 8)), x[y < 5], y[y < 5], str(tmp_path / "t"), 0)
    left = load(tmp_path / "t").score(x[y < 5], y[y < 5])
    assert score > 0.8 and left < 0.6


def test_a_small_run():
    evidence = measure(TINY)
    assert evidence["accuracy"].shape == (TINY.seeds, 2, 3) and evidence["old"].shape == (TINY.seeds,)
    assert ((evidence["accuracy"] >= 0) & (evidence["accuracy"] <= 1)).all()
    assert [axes.get_ylabel() for axes in figures(evidence)["transfer"].axes] == [
        "accuracy, 1 of each digit (%)",
        "accuracy, 2 of each digit (%)",
    ]
    assert tables(evidence)["transfer"].columns["labels of each digit"] == [1, 2] and judge(evidence)[0].row == "C330"
