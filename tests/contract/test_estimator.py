"""What every estimator of the catalog owes: scikit-learn's rules without exception, and the promises beyond them.

Being in the catalog enrols a class; nothing here names one.
"""

import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints
from unittest import SkipTest

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone, is_classifier
from sklearn.callback import ScoringMonitor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, check_cv, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks, get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import ftheta
from ftheta import catalog, models
from ftheta.base import Estimator
from ftheta.errors import InputError, NonFiniteError
from ftheta.train import Training
from tests.contract.enrolled import (
    CLASSES,
    CLASSIFIERS,
    NEURAL,
    REGRESSORS,
    TRANSFORMERS,
    VARIANTS,
    WEIGHTED,
    answers,
    data,
    digest,
    generators,
    learned,
    name_of,
    small,
    taken,
    takes,
)

every = pytest.mark.parametrize("cls", CLASSES, ids=name_of)
variant = pytest.mark.parametrize("given", VARIANTS, ids=name_of)
neural = pytest.mark.parametrize("cls", NEURAL, ids=name_of)
classifier = pytest.mark.parametrize("cls", CLASSIFIERS, ids=name_of)
regressor = pytest.mark.parametrize("cls", REGRESSORS, ids=name_of)
weighted = pytest.mark.parametrize("cls", WEIGHTED, ids=name_of)
class_weighted = pytest.mark.parametrize("cls", [c for c in CLASSIFIERS if takes(c, "class_weight")], ids=name_of)
neural_classifier = pytest.mark.parametrize("cls", [c for c in NEURAL if c in CLASSIFIERS], ids=name_of)
# classes that no plane separates, and few epochs: what is learned is tried all the same
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


# ---- who is here


def test_the_suite_tries_every_public_estimator():
    tables = {
        where
        for card in catalog.CARDS.values()
        for (kind, task), where in card.targets.items()
        if kind == "table" and task in ("classify", "regress", "transform")
    }
    assert {f"{cls.__module__}:{cls.__qualname__}" for cls in CLASSES} == tables
    public = [v for v in (getattr(models, name) for name in dir(models)) if isinstance(v, type)]
    bases = {c for c in public if issubclass(c, Estimator) and c.__module__.startswith("ftheta.models._base")}
    assert {c for c in public if issubclass(c, Estimator)} - bases == set(ftheta.all_estimators().values())
    assert {type(v) for v in VARIANTS} == set(CLASSES) and CLASSIFIERS and REGRESSORS and TRANSFORMERS and NEURAL
    assert len(set(CLASSES) - set(WEIGHTED)) <= 1  # rows have no weights where one is learned from after the other


# ---- scikit-learn's rules


SINGLE = [v for v in VARIANTS if getattr(v, "dtype", None) != "float64"]
DOUBLE = [v for v in VARIANTS if v not in SINGLE]
QUICK = {"hidden": (16,), "epochs": 40, "lr": 0.1}  # nets that learn what the checks ask for in little time
CHECKED = [small(v, **{k: n for k, n in QUICK.items() if type(v) in NEURAL and takes(type(v), k)}) for v in SINGLE]
rank = pytest.mark.filterwarnings("ignore::numpy.exceptions.RankWarning")  # some of its data deserve it


LATER = [v for v in CHECKED if isinstance(v, models.ModuleClassifier | models.ModuleRegressor)]  # nets like the others


@rank
@parametrize_with_checks([v for v in CHECKED if v not in LATER])
def test_scikit_learn(estimator, check):
    try:
        check(estimator)
    except SkipTest as reason:
        pytest.fail(f"A check that does not run proves nothing: {reason}")


@pytest.mark.middle
@rank
@parametrize_with_checks(DOUBLE + LATER)
def test_scikit_learn_in_float64_and_as_large_as_they_are(estimator, check):
    test_scikit_learn(estimator, check)


EXTRA = ["check_param_validation", "check_dataframe_column_names_consistency", "check_inplace_ensure_writeable"]
EXTRA_OF_TRANSFORMERS = [
    "check_transformer_get_feature_names_out",
    "check_transformer_get_feature_names_out_pandas",
    "check_get_feature_names_out_error",
    "check_set_output_transform",
    "check_set_output_transform_pandas",
    "check_set_output_transform_polars",
]
PAIRS = [(v, c) for v in SINGLE for c in EXTRA + EXTRA_OF_TRANSFORMERS * hasattr(v, "transform")]


@pytest.mark.filterwarnings("ignore:X (does not have valid|has) feature names")  # the checks pass both kinds
@pytest.mark.parametrize(("given", "check"), PAIRS, ids=[f"{name_of(v)}-{c}" for v, c in PAIRS])
def test_checks_that_scikit_learn_keeps_for_itself(given, check):
    getattr(estimator_checks, check)(type(given).__name__, small(given))


# ---- fit is a function of parameters, data and random_state


@variant
def test_three_fits_give_the_same_bytes(given):
    X, y = data(given)
    assert len({digest(small(given).fit(X, y)) for _ in range(3)}) == 1
    again = small(given).fit(X[:50], y[:50])
    assert digest(again) != digest(again.fit(X, y)) == digest(small(given).fit(X, y))  # nothing is left of a first fit


CHILD = """
import sys
import numpy as np, torch
import ftheta
from tests.contract.enrolled import VARIANTS, answers, data, digest, name_of, small
torch.set_num_threads(1)
found = {}
for given in VARIANTS:
    X, y = data(given)
    found[f"{name_of(given)} digest"] = np.array(digest(small(given).fit(X, y)))
    for method, value in answers(ftheta.load(f"{sys.argv[1]}/{name_of(given)}"), X).items():
        found[f"{name_of(given)} {method}"] = value
np.savez(f"{sys.argv[1]}/found.npz", **found)
"""


@pytest.mark.middle
def test_another_process_fits_the_same_bytes_and_loads_what_was_saved_to_the_last_bit(tmp_path):
    fitted = {name_of(given): small(given).fit(*data(given)) for given in VARIANTS}
    for name, estimator in fitted.items():
        estimator.save(tmp_path / name)
    root = Path(__file__).parents[2]
    env = os.environ | {"PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}"}
    subprocess.run([sys.executable, "-c", CHILD, str(tmp_path)], env=env, check=True)
    with np.load(tmp_path / "found.npz") as found:
        assert len(found) > 2 * len(VARIANTS)
        for name, estimator in fitted.items():
            assert found[f"{name} digest"] == digest(estimator)
            for method, value in answers(estimator, data(estimator)[0]).items():
                there = found[f"{name} {method}"]
                assert there.dtype == value.dtype and there.tobytes() == value.tobytes()


@neural
def test_another_random_state_gives_another_net(cls):
    X, y = data(cls)
    assert digest(small(cls, random_state=1).fit(X, y)) != digest(small(cls).fit(X, y))
    fresh = small(cls, random_state=None).fit(X, y)
    assert digest(small(cls, random_state=fresh.seed_).fit(X, y)) == digest(fresh)  # seed_ repeats it


@every
def test_fit_changes_neither_data_nor_parameters_nor_generators_and_a_clone_learns_the_same(cls):
    X, y = data(cls)
    rows, estimator = taken(cls, X, y, np.arange(1.0, len(X) + 1)), small(cls)
    kept, params, before = [a.copy() for a in rows], estimator.get_params(), generators()
    answers(estimator.fit(*rows), X)
    if hasattr(estimator, "score"):
        estimator.score(*rows)
    copy = clone(estimator)
    assert estimator.get_params() == params == copy.get_params() and not learned(copy)
    assert digest(copy.fit(*rows)) == digest(estimator) and cls.__name__ in estimator._repr_html_()
    if hasattr(estimator, "partial_fit"):
        estimator.partial_fit(X, y)
    assert generators() == before
    for now, then in zip(rows, kept, strict=True):
        np.testing.assert_array_equal(now, then)


@every
def test_global_generators_and_threads_are_put_back_after_an_error(cls):
    X, y = data(cls)
    before, threads = generators(), torch.get_num_threads()
    if cls in NEURAL:
        with pytest.raises(NonFiniteError):
            small(cls, lr=1e38, optimizer="momentum", epochs=200).fit(X, y)
    else:
        with pytest.raises(InputError):
            small(cls).fit(X * np.nan, y)
    assert generators() == before and torch.get_num_threads() == threads


# ---- one row alone


@variant
def test_a_row_alone_is_that_row_in_a_batch_in_the_dtype_of_the_estimator(given):
    X, y = data(given, n=300, features=20)
    estimator = small(given, **{"hidden": (100,)} if takes(type(given), "hidden") else {}).fit(X, y)
    rtol = 1e-5 if takes(type(given), "dtype") and given.dtype == "float32" else 1e-10
    order = np.random.default_rng(1).permutation(len(X))
    whole = answers(estimator, X)
    dtype = given.dtype if takes(type(given), "dtype") else "float64"
    for method, value in whole.items():
        assert value.dtype == (y.dtype if is_classifier(given) and method == "predict" else dtype), method
        assert len(value) == len(X)
    for size, some in [(1, order[:30]), (7, order[:42]), (256, order), (len(X), order)]:
        parts = [answers(estimator, X[some[i : i + size]]) for i in range(0, len(some), size)]
        for method, value in whole.items():
            found, expected = np.concatenate([part[method] for part in parts]), value[some]
            if value.dtype.kind == "f":
                np.testing.assert_allclose(found, expected, rtol=rtol)
            else:
                np.testing.assert_array_equal(found, expected)


# ---- weights


@pytest.mark.parametrize("given", [v for v in VARIANTS if type(v) in WEIGHTED], ids=name_of)
def test_weight_k_is_k_copies_and_weight_zero_is_no_row(given):
    X, y = data(given, n=120)
    copies = np.random.default_rng(3).integers(0, 6, len(X))
    several = small(given).fit(np.repeat(X, copies, 0), np.repeat(y, copies))
    weighted = small(given).fit(X, y, copies)
    assert copies.sum() > 200 and (copies == 0).any()
    if takes(type(given), "batch_size"):
        assert digest(weighted) == digest(several)
    of_noise = {".sigma_"} if isinstance(given, models.LinearRegression) else set()  # rows are counted, not copies
    for name in learned(several).keys() - of_noise:
        np.testing.assert_allclose(learned(weighted)[name], learned(several)[name], rtol=1e-8, atol=1e-10)


@neural
def test_where_rows_do_not_fit_one_batch_the_loss_still_counts_copies(cls):
    X, y = data(cls, n=500)
    estimator, copies = small(cls).fit(X, y), np.random.default_rng(3).integers(0, 4, len(X))
    weighted = estimator.evaluate(X, y, copies)["loss"]
    assert weighted == pytest.approx(
        estimator.evaluate(np.repeat(X, copies, 0), np.repeat(y, copies))["loss"], rel=1e-6
    )
    assert weighted != pytest.approx(estimator.evaluate(X, y)["loss"], rel=1e-4)


@weighted
def test_only_the_ratio_of_weights_counts(cls):
    X, y = data(cls)
    weight = np.random.default_rng(0).uniform(0.5, 2, len(X))
    # the penalties of Ridge and SVMs stand beside the sum, as in scikit-learn: they go with the weights
    with_sum = [
        {"alpha": k} if cls.__name__ == "Ridge" else {"C": 1 / k} if cls.__name__.startswith("SVM") else {}
        for k in (1.0, 4.0)
    ]
    one, three = (learned(small(cls, **s).fit(X, y, k * weight)) for k, s in zip((1.0, 4.0), with_sum, strict=True))
    of_weight = {"LinearRegression": {".sigma_", ".root_"}, "Ridge": {".alpha_"}}.get(cls.__name__, set())
    if cls is models.LinearRegression:  # of weight 1: only their product is free of its unit
        one[".errors"], three[".errors"] = (found[".sigma_"] * found[".root_"] for found in (one, three))
    for name in one.keys() - of_weight:
        if name.startswith((".tables_", ".unseen_")):
            continue  # what is added to counts is of rows
        np.testing.assert_allclose(one[name], three[name], rtol=1e-4, atol=1e-4)


@class_weighted
def test_class_weights_are_row_weights(cls):
    X, y = data(cls)
    by_class = {0: 0.5, 1: 1.0, 2: 3.0}
    counts, method = np.bincount(y), "predict_proba" if hasattr(cls, "predict_proba") else "decision_function"
    for given, each in [(by_class, np.array([0.5, 1.0, 3.0])), ("balanced", len(y) / (3 * counts))]:
        weighted = small(cls, class_weight=given).fit(X, y)
        rows = small(cls).fit(X, y, each[y])
        np.testing.assert_allclose(answers(weighted, X)[method], answers(rows, X)[method], rtol=1e-5)
        both = small(cls, class_weight={k: v * v for k, v in enumerate(each)}).fit(X, y)
        twice = small(cls, class_weight=dict(enumerate(each))).fit(X, y, each[y])
        np.testing.assert_allclose(answers(both, X)[method], answers(twice, X)[method], rtol=1e-5)


@pytest.mark.ledger("A007", covers="ftheta.models.MLPClassifier")
@class_weighted
def test_class_weights_of_one_change_nothing_and_balance_raises_the_recall_of_the_few(cls):
    rng = np.random.default_rng(0)
    y = (rng.random(600) < 0.08).astype(int)
    X = rng.normal(size=(600, 2)) + 1.2 * y[:, None]
    longer = {"epochs": 30} if takes(cls, "epochs") else {}
    plain = small(cls, **longer).fit(X, y)
    ones = small(cls, class_weight={0: 1.0, 1: 1.0}, **longer).fit(X, y)
    balanced = small(cls, class_weight="balanced", **longer).fit(X, y)
    assert same_answers(ones, X, plain, X)
    recall = [(e.predict(X)[y == 1] == 1).mean() for e in (plain, balanced)]
    assert recall[1] > recall[0] + 0.2


@class_weighted
def test_a_class_weight_for_an_unknown_class_is_named(cls):
    X, y = data(cls)
    with pytest.raises(InputError, match=r"Unknown class in class_weight: '7'.*Known: 0, 1, 2"):
        small(cls, class_weight={7: 1.0}).fit(X, y)


# ---- scikit-learn's tools


@every
def test_it_works_in_pipelines_searches_and_cross_validation(cls):
    X, y = data(cls)
    name, values = two_values(cls)
    pipeline = make_pipeline(StandardScaler(), small(cls), *[LinearRegression(positive=True)] * (cls in TRANSFORMERS))
    grid = {f"{pipeline.steps[1][0]}__{name}": values}
    scoring = "neg_log_loss" if hasattr(cls, "predict_proba") else "accuracy" if cls in CLASSIFIERS else "r2"
    search = GridSearchCV(pipeline, grid, cv=3, scoring=scoring).fit(X, y)
    assert len(set(search.cv_results_["mean_test_score"])) == 2  # the parameter arrives
    assert search.best_estimator_.predict(X).shape == y.shape
    if cls in TRANSFORMERS:
        return
    folds = list(check_cv(3, y, classifier=cls in CLASSIFIERS).split(X, y))
    by_hand = [small(cls).fit(X[a], y[a]).score(X[b], y[b]) for a, b in folds]
    assert cross_val_score(small(cls), X, y, cv=3).tolist() == pytest.approx(by_hand)


def two_values(cls):
    """A parameter of the class and two values that make a difference."""
    if cls in NEURAL:
        return "training__clip_norm", [1e-3, 10.0]
    first = next(iter(vars(cls).get("__annotations__", {})), fields(cls)[0].name)
    if get_origin(kind := get_type_hints(cls)[first]) is Literal:
        return first, list(get_args(kind)[:2])
    own = cls().get_params()
    number = next((k for k, v in own.items() if isinstance(v, float)), None)
    return (number, [own[number], own[number] * 100 or 1.0]) if number else (next(k for k in own), [True, False])


@every
def test_frames_give_their_column_names_and_the_same_answers(cls):
    X, y = data(cls)
    frame = pd.DataFrame(X, columns=list("abcd"))
    estimator = small(cls).fit(*taken(cls, frame, pd.Series(y), pd.Series(np.ones(len(y)))))
    assert estimator.feature_names_in_.tolist() == list("abcd") and estimator.n_features_in_ == 4
    assert digest(small(cls).fit(X, y)) != "" and same_answers(estimator, frame, small(cls).fit(X, y), X)
    with pytest.raises(InputError, match=r"Reorder with X\[est.feature_names_in_\]"):
        answers(estimator, frame[list("bacd")])


def same_answers(a, of_a, b, of_b):
    left, right = answers(a, of_a), answers(b, of_b)
    return left.keys() == right.keys() and all(np.array_equal(left[k], right[k]) for k in left)


@every
def test_torch_tensors_and_lists_are_taken_as_rows_targets_and_weights(cls):
    X, y = data(cls)
    rows = taken(cls, X, y, np.linspace(0.5, 2, len(X)))
    tensors = [torch.from_numpy(a) for a in rows]
    tensors[0].requires_grad_()
    estimator, plain = small(cls).fit(*tensors), small(cls).fit(*rows)
    assert digest(estimator) == digest(plain) and same_answers(estimator, tensors[0], plain, X)
    assert cls in TRANSFORMERS or estimator.score(*tensors) == plain.score(*rows)
    assert same_answers(small(cls).fit(*(a.tolist() for a in rows)), X.tolist(), plain, X)


@neural
def test_training_is_reached_by_two_underscores(cls):
    estimator = cls().set_params(training__clip_norm=0.5)
    assert estimator.training == Training(clip_norm=0.5)
    first = estimator.training
    assert estimator.set_params(training__l2=0.1).training == Training(clip_norm=0.5, l2=0.1) and first.l2 == 0
    with pytest.raises(InputError, match=r"Unknown parameter of Training: 'clip_nrm'. Did you mean 'clip_norm'"):
        estimator.set_params(training__clip_nrm=1)


# ---- files


@variant
def test_saved_and_loaded_it_answers_the_same_to_the_last_bit(given, tmp_path):
    X, y = data(given)
    estimator = small(given).fit(pd.DataFrame(X, columns=list("abcd")), y)
    frame = pd.DataFrame(X, columns=list("abcd"))
    loaded = ftheta.load(estimator.save(tmp_path / "model"))
    assert type(loaded) is type(given) and digest(loaded) == digest(estimator)
    assert same_answers(loaded, frame, estimator, frame)
    params = loaded.get_params(deep=False)
    assert {k: tuple(v) if isinstance(v, list) else v for k, v in params.items()} == estimator.get_params(deep=False)
    assert digest(clone(loaded).fit(frame, y)) == digest(estimator)  # its parameters are those of the first fit
    assert loaded.feature_names_in_.tolist() == list("abcd")
    again = ftheta.load(loaded.save(tmp_path / "again"))
    assert (tmp_path / "again/model.safetensors").read_bytes() == (tmp_path / "model/model.safetensors").read_bytes()
    assert same_answers(again, frame, estimator, frame)


@every
def test_saving_before_fitting_is_refused(cls, tmp_path):
    with pytest.raises(InputError, match=f"This {cls.__name__} instance is not fitted yet. Call fit before save"):
        cls().save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


# ---- epochs


@variant
def test_six_parts_are_six_epochs(given):
    if not hasattr(given, "partial_fit"):
        return
    X, y = data(given, n=230)
    settings = {"training": Training(schedule="cosine", warmup=2)}
    parts = small(given, **settings)
    weight = 1.0 + np.arange(len(X)) % 3
    for _ in range(6):
        assert parts.partial_fit(X, y, weight) is parts
    whole = small(given, **settings).fit(X, y, weight)
    assert digest(parts) == digest(whole) and parts.n_iter_ == whole.n_iter_ == 6
    same = [{k: v for k, v in row.items() if k != "seconds"} for row in parts.history_]
    assert same == [{k: v for k, v in row.items() if k != "seconds"} for row in whole.history_]


@neural
def test_parts_need_not_be_the_same_rows(cls):
    X, y = data(cls, n=120)
    estimator = small(cls).partial_fit(X[:60], y[:60])
    first = digest(estimator)
    estimator.partial_fit(X[60:], y[60:], np.ones(60))
    assert digest(estimator) != first and estimator.n_iter_ == 2
    with pytest.raises(InputError, match="X has 3 features, but"):
        estimator.partial_fit(X[:, :3], y)


@neural
def test_the_history_has_training_and_validation(cls):
    X, y = data(cls, n=120)
    plain = small(cls).fit(X, y)
    held = small(cls, validation=0.25).fit(X, y)
    given = small(cls).fit(X[:90], y[:90], X_val=X[90:], y_val=y[90:])
    assert [row["epoch"] for row in plain.history_] == [1, 2, 3, 4, 5, 6] and plain.n_iter_ == 6
    assert all("loss" in row and "valid_loss" not in row for row in plain.history_)
    assert all({"loss", "valid_loss"} <= set(row) for row in held.history_ + given.history_)
    assert held.history_[0]["rows"] == 90
    assert digest(small(cls).fit(X[:90], y[:90])) == digest(given)  # validation does not shift training
    last = given.evaluate(X[90:], y[90:])["loss"] - float(np.sum(np.log(given.target_.facts.get("scale", 1.0))))
    assert given.history_[-1]["valid_loss"] == pytest.approx(last, rel=1e-5)


@neural
def test_patience_stops_and_puts_the_best_weights_back(cls):
    X, y = data(cls, n=60)
    noise = np.random.default_rng(5).permutation(y)
    estimator = small(cls, epochs=300, lr=0.05, patience=4).fit(X, noise, X_val=X[::-1], y_val=y)
    best = int(np.argmin([row["valid_loss"] for row in estimator.history_]))
    assert estimator.n_iter_ == best + 5 < 300 and "no better valid_loss" in estimator.stop_reason_
    same = small(cls, epochs=best + 1, lr=0.05).fit(X, noise, X_val=X[::-1], y_val=y)
    assert same_answers(estimator, X, same, X)


# ---- scikit-learn's callbacks


class Watch:
    """A callback that counts epochs and may stop."""

    max_propagation_depth = None

    def __init__(self, stop_after=None):
        self.stop_after, self.seen, self.ended = stop_after, [], 0

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        self.ended += 1

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        if context.task_name == "epoch":
            self.seen.append(context.task_id)
            return self.stop_after is not None and context.task_id + 1 >= self.stop_after


@neural
def test_a_callback_sees_every_epoch_and_can_stop(cls):
    X, y = data(cls)
    watch = Watch()
    estimator = small(cls).set_callbacks(watch).fit(X, y)
    assert watch.seen == list(range(6)) and watch.ended == 1 and digest(estimator) == digest(small(cls).fit(X, y))
    stopped = small(cls).set_callbacks(Watch(stop_after=2)).fit(X, y)
    assert stopped.n_iter_ == 2 and stopped.stop_reason_ == "a callback asked to stop"
    assert same_answers(stopped, X, small(cls, epochs=2).fit(X, y), X)
    with pytest.raises(NonFiniteError):  # the end is seen after an error too
        small(cls, lr=1e38, optimizer="momentum", epochs=200).set_callbacks(watch).fit(X, y)
    assert watch.ended == 2


@neural
def test_a_callback_goes_through_a_search(cls):
    X, y = data(cls)
    watch = Watch()
    search = GridSearchCV(small(cls), {"lr": [0.01, 0.1]}, cv=2).set_callbacks(watch).fit(X, y)
    assert len(watch.seen) == 5 * 6 and search.best_estimator_.n_iter_ == 6


@neural
def test_a_callback_that_predicts_does_not_shift_training(cls):
    X, y = data(cls)
    own = {"dropout": 0.5} if takes(cls, "dropout") else {}
    scoring = "accuracy" if cls in CLASSIFIERS else "r2"
    monitor = ScoringMonitor(scoring=scoring)
    watched = small(cls, **own).set_callbacks(monitor).fit(X, y)
    assert digest(watched) == digest(small(cls, **own).fit(X, y))
    scores = monitor.get_logs().data_as_pandas[scoring].dropna()
    assert len(scores) == 6 and scores.iloc[-1] == pytest.approx(watched.score(X, y))


# ---- answers


@classifier
@pytest.mark.parametrize("labels", [["no", "yes"], ["a", "b", "c"], [-3, 5], [True, False], [0.0, 1.0, 2.0]], ids=str)
def test_labels_are_of_any_kind(cls, labels):
    X, y = data(cls, n=150)
    given = np.array(labels)[y % len(labels)]
    estimator = small(cls, **({"epochs": 40} if takes(cls, "epochs") else {})).fit(X, given)
    assert estimator.classes_.tolist() == sorted(labels) and estimator.classes_.dtype == given.dtype
    score = estimator.decision_function(X)
    assert score.shape == ((150,) if len(labels) == 2 else (150, len(labels)))
    if hasattr(estimator, "predict_proba"):
        proba = estimator.predict_proba(X)
        np.testing.assert_allclose(proba.sum(1), 1, rtol=1e-6)
        assert proba.shape == (150, len(labels))
        assert np.array_equal(estimator.predict(X), estimator.classes_[proba.argmax(1)])
    by_score = (score > 0).astype(int) if score.ndim == 1 else score.argmax(1)
    assert np.array_equal(estimator.predict(X), estimator.classes_[by_score])
    assert estimator.score(X, given) == np.mean(estimator.predict(X) == given)


@neural_classifier
def test_several_labels_a_row(cls):
    X, _ = data(cls, n=150)
    labels = np.stack([X[:, 0] > 0, X[:, 1] > 0.5, X[:, 2] + X[:, 3] > 0], 1).astype(int)
    estimator = small(cls, epochs=60, lr=0.05).fit(X, labels)
    proba = estimator.predict_proba(X)
    assert proba.shape == labels.shape and estimator.predict(X).shape == labels.shape
    assert np.array_equal(estimator.predict(X), (proba > 0.5).astype(int))
    assert (estimator.predict(X) == labels).mean() > 0.9
    assert estimator.score(X, labels) == (estimator.predict(X) == labels).all(1).mean()
    assert estimator.evaluate(X, labels)["accuracy"] == pytest.approx(estimator.score(X, labels))
    with pytest.raises(InputError, match="class_weight is for one label per row"):
        small(cls, class_weight="balanced").fit(X, labels)


@regressor
@pytest.mark.ledger("A001", covers="ftheta.models.LinearRegression")
def test_one_target_and_several(cls):
    X, y = data(cls, n=150)
    Y = np.stack([y, 5 - 2 * y, X[:, 0]], 1)
    settings = {"epochs": 150, "lr": 0.05} if takes(cls, "epochs") else {"C": 10.0} if takes(cls, "C") else {}
    settings |= {"weights": "optimal"} if takes(cls, "members") else {}
    steps = takes(cls, "max_depth")  # it learns no line, only steps
    if steps:
        settings = {"max_depth": None} | ({"ccp_alpha": 0.0} if takes(cls, "ccp_alpha") else {})
    one = small(cls, **settings).fit(X[:100], y[:100])
    if not get_tags(one).target_tags.multi_output:
        with pytest.raises(InputError, match=rf"y has shape \(100, 3\); {cls.__name__} takes one column"):
            small(cls, **settings).fit(X[:100], Y[:100])
        return
    three = small(cls, **settings).fit(X[:100], Y[:100])
    assert one.predict(X).shape == (150,) and three.predict(X).shape == (150, 3) and three.predict(X).dtype == "float64"
    assert np.array_equal(small(cls, **settings).fit(X[:100], y[:100, None]).predict(X), one.predict(X))
    test = slice(100) if steps else slice(100, 150)
    assert one.score(X[test], y[test]) > 0.9 and three.score(X[test], Y[test]) > 0.9
    assert np.corrcoef(three.predict(X)[:, 0], three.predict(X)[:, 1])[0, 1] < -0.95


@pytest.mark.parametrize("cls", [c for c in CLASSES if c not in TRANSFORMERS], ids=name_of)
@pytest.mark.ledger("A002", "C004", covers="ftheta.models.MLPClassifier")
def test_the_kind_of_target_picks_the_answer_and_a_mismatch_is_refused(cls):
    X, y = data(cls)
    if cls in REGRESSORS:
        with pytest.raises(InputError, match="could not convert string to float"):
            small(cls).fit(X, np.where(y > 20, "high", "low"))
        return
    with pytest.raises(InputError, match="Unknown label type: continuous .*Use a regressor"):
        small(cls).fit(X, y + 0.5 * X[:, 0])
    assert set(small(cls).fit(X, y).predict(X)) <= {0, 1, 2}
