"""`ftheta tune`: trials, a sentence about the gain, and processes that take part."""

import json

import pytest

ARGS = ("tune", "ridge", "diabetes", "--trials", "3", "--folds", "2", "--no-report")


def test_it_shows_the_trials_and_the_result(ok):
    done = ok(*ARGS, "--run", "t", "--figures", "f")
    assert (
        "3 trials: 3 complete" in done.out and "On other folds: RMSE" in done.out and "test part (n = 88)" in done.out
    )
    assert "ftheta predict last new.csv" in done.out
    again = ok("tune", "--resume", "t", "--json", "--no-report").out.splitlines()
    found = json.loads(again[-1])
    assert len(found["trials"]["trial"]) == 3 and set(found["best_params"]) == {"alpha"}


def test_mistakes_are_one_sentence(refused):
    assert "either MODEL and DATA" in refused("tune", "mlp")
    assert "Unknown search 'bayes'" in refused("tune", "ridge", "diabetes", "--search", "bayes")
    assert "Unknown metric" in refused(*ARGS, "--metric", "accuracy")
    assert "no tune.json" in refused("tune", "--resume", "nowhere")


@pytest.mark.middle
def test_processes_share_the_trials(ok):
    done = ok(*ARGS, "--processes", "2", "--run", "t")
    assert "3 trials: 3 complete" in done.out
