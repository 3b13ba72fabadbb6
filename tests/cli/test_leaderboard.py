"""`ftheta compare`: a leaderboard, the result of the best, and what can be typed next."""

import json

ARGS = ("--models", "linear,lda", "--folds", "2", "--no-report")


def test_it_shows_the_result_of_the_best_and_a_leaderboard(ok):
    done = ok("compare", "iris", *ARGS, "--run", "c")
    assert "test part (n = 30)" in done.out and "2-fold cross-validation of the training part (n = 120)" in done.out
    assert all(f"\n{name} " in done.out for name in ("lda", "linear", "baseline"))
    assert "\nBest: " in done.out and "ftheta predict last new.csv" in done.out
    assert len(ok("runs", "--json").out.splitlines()) == 1  # the best; the others are below their folder
    resumed = ok("compare", "--resume", "c", "--no-report")
    assert [line.split()[:5] for line in resumed.out.splitlines() if line.startswith("l")] == [
        line.split()[:5] for line in done.out.splitlines() if line.startswith("l")
    ]


def test_json_ends_with_the_leaderboard(ok):
    *events, last = map(json.loads, ok("compare", "iris", *ARGS, "--json").out.splitlines())
    assert {e["event"] for e in events} >= {"wait", "headline", "result"}
    assert last["metric"] == "accuracy" and [e["model"] for e in last["entrants"]][-1] == "baseline"
    assert set(last["runs"]) == {"linear", "lda"} and last["best"].startswith("runs/")


def test_mistakes_are_one_sentence(refused):
    assert "either DATA" in refused("compare")
    assert "--time 2x" in refused("compare", "iris", "--time", "2x")
    assert "Unknown model" in refused("compare", "iris", "--models", "liner")
    assert "compare.json" in refused("compare", "--resume", "nowhere")
    assert "Unknown task" in refused("compare", "iris", "--task", "clasify")
