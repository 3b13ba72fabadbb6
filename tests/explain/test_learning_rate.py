"""The range test: the losses of a written-out descent, a suggestion that can be read off, and no trace."""

import numpy as np
import pytest
import torch
from sklearn.base import clone

from ftheta import MLPClassifier, MLPRegressor
from ftheta.explain import learning_rate
from ftheta.explain.surface.learning_rate import _smooth, _suggestion
from ftheta.train import Player, Training

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = X @ [1.0, -2.0] + 0.5
LABELS = (Y > 0).astype(int)
DESIGN, Z = np.column_stack([X, np.ones(60)]), (Y - Y.mean()) / Y.std()


def line(**knobs):
    return MLPRegressor(**{"hidden": (), "optimizer": "gd", "dtype": "float64", "random_state": 0} | knobs)


def start_of(model):
    """The first weights of such a model."""
    own = clone(model)
    own.prepare(X, Y)
    return torch.cat([p.detach().flatten() for p in own.module_.parameters()]).numpy()


def test_the_losses_are_those_of_a_descent_whose_rate_grows():
    model = line()
    found = learning_rate(model, X, Y, low=1e-3, high=1.0, steps=30)
    rates, w, truth = 1e-3 * 1000 ** (np.arange(30) / 29), start_of(model), []
    for rate in rates:
        w = w - rate * DESIGN.T @ (DESIGN @ w - Z) / 60
        truth.append(((DESIGN @ w - Z) ** 2).mean() / 2)
    np.testing.assert_allclose(found.rates, rates)
    offset = found.loss[0] - truth[0]  # a Gaussian has its constant
    np.testing.assert_allclose(found.loss - offset, truth, rtol=1e-6, atol=1e-9)
    assert found.reason.startswith("all rates were tried") and found.optimizer == "gd"


def test_the_limit_is_two_over_the_largest_eigenvalue_at_the_start():
    found = learning_rate(line(), X, Y)
    truth = np.linalg.eigvalsh(DESIGN.T @ DESIGN / 60)[-1]
    np.testing.assert_allclose([found.sharpness, found.limit], [truth, 2 / truth], rtol=1e-5)
    assert found.limit / 20 < found.suggestion < found.limit  # of plain descent, it is a limit
    plain = learning_rate(line(), X, Y, curvature=False)
    assert np.isnan(plain.sharpness) and np.isnan(plain.limit) and "2/λ" not in plain.table().caption


def test_it_ends_when_the_loss_explodes_and_no_number_raises():
    for knobs in ({}, {"optimizer": "sgd", "batch_size": 7}, {"optimizer": "adam", "hidden": (4,)}):
        found = learning_rate(line(**knobs), X, Y, high=1e30, steps=60)
        assert found.reason in ("the loss exploded", "the loss is not finite") and len(found.rates) < 60
        assert np.isfinite(found.smoothed).all() and 1e-4 < found.suggestion < 10
        assert len(found.loss) == len(found.rates) == len(found.smoothed)
        found.figure()


def test_training_at_the_suggestion_is_nearly_as_good_as_at_the_best_rate():
    for optimizer in ("adam", "sgd"):
        knobs = {"hidden": (8,), "optimizer": optimizer, "batch_size": 20, "epochs": 10, "random_state": 0}

        def reached(rate, knobs=knobs):
            return MLPClassifier(lr=rate, **knobs).fit(X, LABELS).evaluate(X, LABELS)["loss"]

        found = learning_rate(MLPClassifier(**knobs), X, LABELS)
        start, best = reached(1e-6), min(map(reached, (1e-3, 1e-2, 1e-1, 1.0)))
        assert start - reached(found.suggestion) > 0.7 * (start - best)


def test_a_group_with_a_rate_of_its_own_keeps_its_share():
    class Slower(MLPRegressor):
        """The bias learns at a fifth of the rate."""

        def objective(self, module, target):
            found, (weight, bias) = super().objective(module, target), module.parameters()
            found.player_list = (Player("loss", [{"params": [weight], "lr": 0.5}, {"params": [bias], "lr": 0.1}]),)
            return found

    model = Slower(hidden=(), optimizer="gd", dtype="float64", random_state=0)
    found, w, truth = learning_rate(model, X, Y, low=1e-2, high=1.0, steps=20), start_of(model), []
    for rate in found.rates:
        w = w - rate * np.array([1, 1, 0.2]) * (DESIGN.T @ (DESIGN @ w - Z) / 60)
        truth.append(((DESIGN @ w - Z) ** 2).mean() / 2)
    np.testing.assert_allclose(found.loss - found.loss[0], np.array(truth) - truth[0], rtol=1e-6, atol=1e-9)


def test_nothing_else_moves_the_rate():
    """Schedules and warm-up are for the training itself."""
    plain = learning_rate(line(), X, Y)
    bent = learning_rate(line(training=Training(schedule="cosine", warmup=20)), X, Y)
    np.testing.assert_array_equal(plain.loss, bent.loss)
    assert not np.array_equal(plain.loss, learning_rate(line(random_state=1), X, Y).loss)


def test_fitted_or_not_the_estimator_stays_and_the_answer_is_the_same():
    fresh, fitted = line(lr=0.1, epochs=3), line(lr=0.1, epochs=3).fit(X, Y)
    before = {k: v.clone() for k, v in fitted.module_.state_dict().items()}
    one, two = learning_rate(fresh, X, Y), learning_rate(fitted, X, Y)
    np.testing.assert_array_equal(one.loss, two.loss)
    assert not hasattr(fresh, "module_") and fresh.get_params() == fitted.get_params()
    assert all(torch.equal(v, before[k]) for k, v in fitted.module_.state_dict().items()) and len(fitted.history_) == 3
    anew = line(random_state=None)
    np.testing.assert_array_equal(learning_rate(anew, X, Y).loss, one.loss)  # seed 0 where none is given
    assert anew.random_state is None


def test_validation_rows_are_held_out_as_in_fit():
    held = learning_rate(line(validation=0.25), X, Y)
    assert not np.allclose(held.loss[0], learning_rate(line(), X, Y).loss[0], rtol=1e-9)


def test_the_suggestion_is_where_nine_tenths_of_the_fall_are_made():
    rates = np.geomspace(1e-3, 1e1, 5)
    assert _suggestion(rates, np.array([1.0, 0.9, 0.18, 0.1, 5.0])) == rates[2]
    assert _suggestion(rates, np.array([1.0, 0.9, 0.20, 0.1, 5.0])) == rates[3]
    assert _suggestion(rates, np.array([1.0, 2.0, 0.28, 0.1, 5.0])) == rates[2]  # from the highest before the lowest
    assert _suggestion(rates, np.array([1.0, 1.1, 1.2, 1.3, 1.4])) == rates[0]  # it only rises


def test_smoothing_keeps_a_constant_and_the_middle_of_a_line_and_cuts_explosions():
    np.testing.assert_allclose(_smooth(np.full(9, 3.0), 3.0, 2.0), 3)
    np.testing.assert_allclose(_smooth(np.arange(41.0), 10.0, 2.0)[15:26], np.arange(15, 26), atol=1e-9)
    spike = _smooth(np.eye(41)[20], 1.0, 2.0)
    assert spike.argmax() == 20 and spike[22] / spike[20] == pytest.approx(np.exp(-0.5), rel=1e-3)
    np.testing.assert_allclose(_smooth(np.array([1.0, np.nan, np.inf, 7.0]), 1.0, 0.01), [1, 5, 5, 5])
    np.testing.assert_allclose(_smooth(np.array([-3.0, np.inf]), -2.0, 0.01), [-3, 6])


def test_table_and_figure_show_suggestion_and_limit():
    found = learning_rate(line(), X, Y)
    assert f"Suggested rate for gd: {found.suggestion:.2g}. Sharpness" in found.table().caption
    assert "a limit for plain gradient descent only. The test ended:" in found.table().caption
    assert len(found.table().columns["rate"]) == 20
    axes = found.figure().axes[0]
    lines = {h.get_label(): h for h in axes.lines}
    assert axes.get_xscale() == "log"
    assert lines[f"suggestion {found.suggestion:.2g}"].get_xdata()[0] == found.suggestion
    assert lines[f"2/λ = {found.limit:.2g} (gradient descent)"].get_xdata()[0] == found.limit


def test_the_sharpness_is_of_so_many_rows():
    for rows in (None, 6):
        some = slice(None) if rows is None else np.linspace(0, 59, 6).round().astype(int)
        truth = np.linalg.eigvalsh(DESIGN[some].T @ DESIGN[some] / (rows or 60))[-1]
        assert learning_rate(line(), X, Y, max_rows=rows, steps=10).sharpness == pytest.approx(truth, rel=1e-4)
    assert np.isnan(learning_rate(line(), X, Y, curvature=False, steps=10).sharpness)
