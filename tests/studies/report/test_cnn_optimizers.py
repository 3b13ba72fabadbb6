"""Optimizers of the report: verdicts on made-up answers, and the whole on small digits."""

import numpy as np
import pytest

from ftheta.studies.report.cnn_optimizers import PRINTED, TINY, Config, figures, judge, measure, tables

N = 10_000


def run(accuracy, loss=0.03, epochs=5):
    y = np.arange(N) % 10
    predicted = np.where(np.arange(N) < round(accuracy * N), y, (y + 1) % 10)
    return {
        **{"predicted": predicted.astype(np.uint8), "loss": loss, "valid_accuracy": accuracy, "seconds": 60.0},
        **{"curve": np.ones((epochs, 3)), "epochs": epochs, "best": 3, "parameters": 34_826, "cpu": 100.0},
    }


def made(adam, sgd, adadelta, recipe=0.994):
    arms = {"adam": adam, "sgd": sgd, "adadelta": adadelta, "recipe": recipe}
    runs = {name: [run(accuracy + d) for d in (-0.001, 0.0, 0.0005)] for name, accuracy in arms.items()}
    return {"y": np.arange(N) % 10, "seeds": [0, 1, 2], "arms": runs}


@pytest.mark.parametrize(
    ("accuracies", "verdicts"),
    [
        ((0.9929, 0.9909, 0.9888), ("confirmed", "confirmed", "confirmed")),
        ((0.9912, 0.9909, 0.9888), ("confirmed", "confirmed", "confirmed")),
        ((0.9911, 0.9891, 0.9870), ("not reproduced", "not reproduced", "not reproduced")),
        ((0.9920, 0.9925, 0.9915), ("confirmed", "confirmed", "corrected")),
        ((0.9920, 0.9910, 0.9915), ("confirmed", "confirmed", "corrected")),
    ],
)
def test_verdicts(accuracies, verdicts):
    found = judge(made(*accuracies))
    assert [f.row for f in found] == ["B036", "B037", "B038"]
    assert tuple(f.verdict for f in found) == verdicts
    assert [f.measured[0] for f in found] == pytest.approx(accuracies)
    assert "0.9940" in found[0].why and "interval" in found[0].why


def test_the_median_decides_and_not_the_mean():
    evidence = made(0.9929, 0.9909, 0.9888)
    evidence["arms"]["adam"] = [run(0.5), run(0.993), run(0.9935)]
    assert judge(evidence)[0].verdict == "confirmed" and judge(evidence)[0].measured[0] == pytest.approx(0.993)


def test_every_training_is_listed_with_its_interval_and_drawn():
    evidence = made(0.9929, 0.9909, 0.9888)
    text = tables(evidence)["trainings"].text()
    assert text.count("recipe") == 3 and "34826 parameters" in text and "0.9919" in text
    assert len(figures(evidence)["validation"].axes) == 4


def test_the_arms_are_one_network_and_the_printed_optimizers():
    arms = Config().arms
    assert {(arm["filters"], arm["batch_size"]) for arm in arms.values()} == {((32, 64), 128)}
    assert set(PRINTED) < set(arms) and arms["sgd"]["training"]["schedule"] == "cosine"


@pytest.mark.middle
def test_the_whole_runs_on_small_digits():
    evidence = measure(TINY)
    assert [len(runs) for runs in evidence["arms"].values()] == [3, 3, 3, 3]
    assert (
        len(judge(evidence)) == 3
        and len({one["parameters"] for runs in evidence["arms"].values() for one in runs}) == 1
    )
