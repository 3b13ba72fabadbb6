"""Claims of the sources about choosing: rates and widths, batch sizes, lengths of training, staged searches."""

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.model_selection import KFold

from ftheta import MLPClassifier, MLPRegressor, RBFRegressor, explain, jobs
from ftheta.errors import NonFiniteError
from ftheta.selection import Range, tune
from ftheta.train import Training


def waves(n, seed, noise=0.3):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, size=(n, 1))
    return x, np.sin(4 * x[:, 0]) + noise * rng.normal(size=n)


@pytest.mark.middle
@pytest.mark.ledger("A171", covers="ftheta.explain.curves")
def test_a_sweep_of_rate_and_width_is_labeled_by_its_curves():
    """A rate that is too large diverges, a small one underfits, a wide net on few rows overfits, one is fine."""
    (x, y), held = waves(30, 0), waves(200, 1)

    def label(optimizer, rate, hidden, epochs, rows):
        loop = {"optimizer": optimizer, "lr": rate, "epochs": epochs, "patience": None, "random_state": 0}
        try:
            net = MLPRegressor(hidden=hidden, **loop).fit(x[:rows], y[:rows], X_val=held[0], y_val=held[1])
        except NonFiniteError:
            return "diverged"
        return explain.curves(net).verdict

    assert label("sgd", 1e6, (20,), 50, 30) == "diverged"
    assert label("sgd", 1e-4, (20,), 50, 30) == "still falling, train longer"
    (few, labels), (more, other) = (make_moons(n, noise=0.5, random_state=n) for n in (30, 300))
    net = MLPClassifier(hidden=(300, 300), lr=0.01, epochs=150, patience=None, random_state=0)
    assert explain.curves(net.fit(few, labels, X_val=more, y_val=other)).verdict.startswith("overfits from")
    x, y = waves(400, 2)
    assert label("adam", 0.01, (20,), 200, 400).startswith(("level at the end", "no better since"))


@pytest.mark.ledger("B176", covers="ftheta.explain.curves")
def test_the_best_checkpoint_is_chosen_afterwards_and_a_loss_that_still_falls_is_said():
    (x, y), held = waves(12, 0), waves(200, 1)
    net = MLPRegressor(hidden=(50, 50), lr=0.02, epochs=400, patience=400, random_state=0)
    net.set_params(training=Training(restore_best=True)).fit(x, y, X_val=held[0], y_val=held[1])
    valid = np.array([row["valid_loss"] for row in net.history_])
    curves = explain.curves(net)
    assert curves.best == net.history_[int(valid.argmin())]["epoch"] and valid.argmin() < len(valid) - 5
    until = MLPRegressor(hidden=(50, 50), lr=0.02, epochs=curves.best, patience=None, random_state=0)
    until.set_params(training=Training(restore_best=False)).fit(x, y, X_val=held[0], y_val=held[1])
    np.testing.assert_allclose(net.predict(held[0]), until.predict(held[0]), rtol=1e-5)
    short = MLPRegressor(lr=1e-4, epochs=20, patience=None, random_state=0).fit(x, y, X_val=held[0], y_val=held[1])
    assert explain.curves(short).verdict == "still falling, train longer"  # bound by compute


@pytest.mark.middle
@pytest.mark.ledger("B172", covers="ftheta.selection.tune")
def test_the_batch_size_does_not_matter_where_the_rate_is_tuned_again():
    """At one rate for all, batches of 8 and 128 differ; each at its own best rate they do not, beyond noise."""
    tuned, fixed = [], []
    for seed in range(4):
        X, y = make_moons(200, noise=0.25, random_state=seed)
        space = {"lr": tuple(np.geomspace(3e-4, 0.1, 5))}
        found = {
            size: tune(
                MLPClassifier(hidden=(20,), batch_size=size, epochs=80, validation=0.0, random_state=seed),
                X, y, space, search="grid", trials=5, cv=KFold(4, shuffle=True, random_state=seed),
            )
            for size in (8, 128)
        }  # fmt: skip
        tuned.append(found[8].best_score_ - found[128].best_score_)
        same = [found[size].points.index({"lr": space["lr"][0]}) for size in (8, 128)]
        fixed.append(found[8].values[same[0]] - found[128].values[same[1]])
    assert np.mean(fixed) > 0.05 and abs(np.mean(tuned)) < 0.02


@pytest.mark.ledger("B183", covers="ftheta.models.RBFRegressor")
def test_far_from_the_data_a_network_of_bumps_is_its_bias_and_a_perceptron_a_line():
    """Twenty units each, the same data: both fit, and only far away they differ."""
    x, y = waves(150, 0, noise=0.05)
    grid = np.linspace(-0.9, 0.9, 50)[:, None]
    bumps = RBFRegressor(n_centers=20, random_state=0).fit(x, y)
    net = MLPRegressor(hidden=(20,), epochs=400, lr=0.02, validation=0.0, random_state=0).fit(x, y)
    for model in (bumps, net):
        assert np.sqrt(np.mean((model.predict(grid) - np.sin(4 * grid[:, 0])) ** 2)) < 0.15
    far = np.array([[50.0], [100.0], [150.0], [-100.0]])
    a, b, c, other = bumps.predict(far)
    assert a == b == c == other  # the bias
    a, b, c, _ = net.predict(far)
    assert c - b == pytest.approx(b - a, rel=1e-3) and abs(b - a) > 1  # a ridge of ReLU units


ROUNDS = [
    {"goal": "rate", "scientific": {"lr": Range(1e-3, 0.1, log=True)}},
    {
        "goal": "all of the optimizer",
        "scientific": {"optimizer": ["adam", "sgd"]},
        "nuisance": {"lr": Range(1e-3, 0.1, log=True)},
    },
]


@pytest.mark.ledger("B170", covers="ftheta.jobs.tune")
def test_a_search_begins_with_adam_as_it_is_and_is_then_widened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    how = {"trials": 2, "folds": 2, "epochs": 3, "report": False, "run": "t"}
    found = jobs.tune("mlp", "iris", space={"round": ROUNDS}, **how)
    before = found.rounds[0]["best"]["lr"] if found.rounds[0]["adopted"] else 0.003
    assert found.points[0] == {"optimizer": "adam", "lr": before}
    assert [r["goal"] for r in found.rounds] == ["rate", "all of the optimizer"]
    assert found.rounds[1]["scientific"] == ["optimizer"] and found.rounds[1]["nuisance"] == ["lr"]


@pytest.mark.middle
@pytest.mark.ledger("B097", covers="ftheta.jobs.tune")
def test_a_network_for_digits_group_by_group(tmp_path, monkeypatch):
    """Layers and filters, then the kernel, then dense layers; the log has an accuracy of each stage."""
    monkeypatch.chdir(tmp_path)
    rounds = [
        {"goal": "convolutions", "scientific": {"filters": [[4], [8, 16]]}},
        {"goal": "kernel", "scientific": {"kernel": [1, 3]}},
        {"goal": "dense layers", "scientific": {"hidden": [[], [16]]}},
    ]
    how = {
        "filters": [4],
        "kernel": 1,
        "search": "grid",
        "folds": 2,
        "epochs": 6,
        "lr": 0.01,
        "report": False,
        "run": "t",
    }
    found = jobs.tune("convnet", "digits", space={"round": rounds}, **how)
    assert [r["goal"] for r in found.rounds] == ["convolutions", "kernel", "dense layers"]
    assert found.rounds[1]["adopted"] and found.rounds[1]["best"] == {"kernel": 3}
    for stage, following in zip(found.rounds, found.rounds[1:], strict=False):
        assert following["before"] == pytest.approx(stage["tuned"] if stage["adopted"] else stage["before"], abs=0.03)
    assert found.rounds[2]["fixed"]["kernel"] == 3


@pytest.mark.ledger("A423", covers="ftheta.jobs.compare")
def test_a_leaderboard_has_a_likelihood_beside_the_size_of_what_explains_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    board = jobs.compare("iris", models=["linear", "gaussian-nb"], metric="log loss", folds=2, report=False)
    rows = {row["model"]: row for row in board._rows}
    for e in board.entrants:
        y, p = e.predicted[1], e.predicted[2]
        own = p["p"][np.arange(len(y)), [list(p["classes"]).index(label) for label in y]]
        assert rows[e.name]["log loss"] == pytest.approx(-np.log(own).mean(), rel=1e-3)
        assert rows[e.name]["kB"] == round((e.run.path / "model.safetensors").stat().st_size / 1024, 1)
