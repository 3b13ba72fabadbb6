"""Tasks, the target side: what is learned from y, what the loss sees, and that decoding undoes encoding."""

import numpy as np
import pytest
import torch
from sklearn.preprocessing import LabelEncoder, StandardScaler
from sklearn.utils import compute_class_weight

from ftheta import likelihoods
from ftheta.data import TargetSpec
from ftheta.errors import InputError, InputTypeError
from ftheta.tasks import TASKS, Classify, Detect, Forecast, Generate, Recall, Regress, Segment, Tag, Task, Transform


def test_the_table_of_tasks_has_every_task_under_its_name():
    without_y = {"recall", "generate", "transform", "forecast"}
    assert set(TASKS) == {"classify", "regress", "segment", "tag", "detect"} | without_y
    assert all(issubclass(task, Task) and task.name == name for name, task in TASKS.items())


@pytest.mark.parametrize("task", [Generate(), Transform()])
def test_tasks_of_x_alone_learn_nothing_from_y(task):
    spec = task.learn("Model", [1, 2], 2)
    assert spec == TargetSpec("none", 1) and task.encode("Model", [1, 2], 2, spec) is None
    assert task.likelihood(spec) is None and not task.needs_y


def test_classes_that_no_row_has_are_in_every_figure():
    y, p = np.array(["a", "b", "a", "b"]), np.full((4, 3), 1 / 3)
    made = Classify().figures(y, {"predicted": np.array(["a", "c", "a", "a"]), "p": p, "classes": ["a", "b", "c"]}, "y")
    assert list(made) == ["Confusion matrix", "ROC", "Precision and recall", "Calibration"]
    for make in made.values():
        assert make() is not None


def test_patterns_may_have_labels():
    spec = Recall().learn("Memory", ["a", "b"], 2)
    assert spec == TargetSpec("none", 1) and Recall().encode("Memory", None, 2, spec) is None
    assert Recall().encode("Memory", ["a", "b"], 2, spec).tolist() == ["a", "b"] and not Recall().needs_y


# ---- classify


@pytest.mark.parametrize("y", [["b", "a", "c", "a"], [3, 1, 1, 2], [True, False, True, True]])
def test_classes_are_those_of_a_label_encoder(y):
    truth, task = LabelEncoder().fit(y), Classify()
    spec = task.learn("Model", y, 4)
    found = task.encode("Model", y, 4, spec)
    assert found.tolist() == truth.transform(y).tolist() and spec.n == len(truth.classes_)
    assert task.decode(found, spec).tolist() == list(y)
    assert spec.kind == ("binary" if spec.n == 2 else "multiclass")
    assert isinstance(task.likelihood(spec), likelihoods.Bernoulli if spec.n == 2 else likelihoods.Categorical)
    assert task.likelihood(spec).n_raw(spec) == (1 if spec.n == 2 else spec.n)


@pytest.mark.parametrize("given", ["balanced", {0: 2.0, 1: 0.5, 2: 0.0}])
def test_class_weights_are_those_of_scikit_learn_and_only_for_training(given):
    y = np.array([0, 0, 0, 1, 2, 2])
    task = Classify(given)
    spec = task.learn("Model", y, 6)
    truth = compute_class_weight(given, classes=np.arange(3), y=y)
    np.testing.assert_allclose(task.weigh(y, None, spec, train=True), truth[y])
    np.testing.assert_allclose(task.weigh(y, np.arange(6.0), spec, train=True), truth[y] * np.arange(6))
    assert task.weigh(y, None, spec, train=False) is None


def test_balanced_weights_count_in_row_weights():
    y, weight = np.array([0, 0, 1]), np.array([1.0, 2.0, 3.0])
    again = np.repeat(y, weight.astype(int))
    spec = Classify("balanced").learn("Model", y, 3, weight)
    np.testing.assert_allclose(
        spec.facts["weights"], compute_class_weight("balanced", classes=np.array([0, 1]), y=again)
    )
    steps = [np.array([0, 1, 1]), np.array([0]), np.array([1, 0])]  # a weight counts for each step of its sequence
    spec = Tag("balanced").learn("Model", steps, 3, weight)
    again = np.concatenate([np.tile(row, int(w)) for row, w in zip(steps, weight, strict=True)])
    np.testing.assert_allclose(
        spec.facts["weights"], compute_class_weight("balanced", classes=np.array([0, 1]), y=again)
    )


def test_the_worst_sequences_have_the_largest_share_of_wrong_steps():
    said = {"predicted": np.array(list("aabbab")), "lengths": np.array([4, 2])}
    worst = Tag().worst(np.array(list("abbaaa")), said)
    assert worst["wrong"].tolist() == [0.5, 0.5] and worst["wrong steps"].tolist() == [2, 1]
    assert Tag().worst_note(np.array(list("abbaab")), said).startswith("1 of 2 sequences have a wrong step")


def test_several_labels_stay_columns():
    y = np.array([[0, 1, 1], [1, 0, 1]])
    spec = Classify().learn("Model", y, 2)
    assert spec[:2] == ("multilabel", 3) and Classify().encode("Model", y, 2, spec).tolist() == y.tolist()
    with pytest.raises(InputError, match="sample_weight"):
        Classify("balanced").learn("Model", y, 2)


@pytest.mark.parametrize("y", [[0.5, 1.5, 2.5], ["a", "a", "a"], None, [0, 1], [0, 1, np.nan]])
def test_targets_that_are_not_classes_are_refused(y):
    with pytest.raises(InputError):
        Classify().learn("Model", y, 3)


def test_a_class_that_fit_never_saw_is_named():
    spec = Classify().learn("Model", ["a", "b"], 2)
    with pytest.raises(InputError, match="'c'"):
        Classify().encode("Model", ["a", "c"], 2, spec)
    assert Classify().learn("Model", ["a", "b"], 2, classes=["a", "b", "c"]).n == 3


# ---- regress


@pytest.mark.parametrize("columns", [1, 3])
def test_numbers_are_standardized_as_by_a_scaler(columns):
    rng = np.random.default_rng(0)
    y = rng.normal(5, 3, (20, columns)) * 10.0 ** np.arange(columns)
    weight = rng.integers(1, 4, 20).astype(float)
    given = y[:, 0] if columns == 1 else y
    task, truth = Regress(dtype="float64"), StandardScaler().fit(y, sample_weight=weight)
    spec = task.learn("Model", given, 20, weight)
    assert spec[:2] == ("regression", columns)
    encoded = task.encode("Model", given, 20, spec)
    np.testing.assert_allclose(encoded.reshape(20, -1), truth.transform(y), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(task.decode(encoded, spec), given, rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e90])
def test_huge_and_tiny_numbers_have_a_scale(scale):
    y = np.array([1.0, 2.0, 4.0]) * scale
    spec = Regress(dtype="float64").learn("Model", y, 3)
    assert spec.facts["mean"] == pytest.approx(7 / 3 * scale)
    assert spec.facts["scale"] == pytest.approx(np.std([1, 2, 4]) * scale)
    assert Regress(dtype="float64").learn("Model", np.full(3, scale), 3).facts["scale"] == 1


def test_y_is_left_alone_where_it_must_be():
    y = np.array([0.0, 3, 5])
    for task in (Regress("poisson"), Regress(standardize=False)):
        assert task.encode("Model", y, 3, task.learn("Model", y, 3)).tolist() == y.tolist()
    with pytest.raises(InputError, match="counts"):
        Regress("poisson").learn("Model", [0.5, 1], 2)
    with pytest.raises(InputError, match="too large for float32"):
        Regress().learn("Model", [1e38, 0], 2)


def test_an_instance_of_a_likelihood_is_copied():
    own = likelihoods.LearnedGaussian(1)
    made = Regress(own).likelihood(TargetSpec("regression"))
    assert made is not own and torch.equal(made.log_var, own.log_var)


# ---- segment


def test_pixels_that_are_ignored_have_weight_zero():
    y = np.array([[[1, 5], [9, 5]], [[1, 1], [5, 9]]])
    task = Segment(ignore=9, class_weight="balanced")
    spec = task.learn("Model", y, 2)
    index = task.encode("Model", y, 2, spec)
    assert spec.facts["classes"].tolist() == [1, 5] and index.tolist() == [[[0, 1], [-1, 1]], [[0, 0], [1, -1]]]
    truth = compute_class_weight("balanced", classes=np.array([1, 5]), y=y[y != 9])
    expected = np.where(y == 9, 0, np.where(y == 1, truth[0], truth[1]))
    np.testing.assert_allclose(task.weigh(index, None, spec, train=True), expected)
    np.testing.assert_array_equal(task.weigh(index, None, spec, train=False), y != 9)
    assert task.decode(np.maximum(index, 0), spec)[0, 0].tolist() == [1, 5]


@pytest.mark.parametrize(
    ("y", "error"),
    [
        (np.zeros((2, 3, 3)), InputTypeError),
        (np.zeros((3, 3), int), InputError),
        (np.zeros((2, 3, 3), int), InputError),
        (np.eye(3, dtype=int)[None].repeat(2, 0)[:, :2], InputError),
        (None, InputError),
    ],
)
def test_labels_that_are_not_of_pixels_are_refused(y, error):
    with pytest.raises(error):
        Segment(size=(3, 3)).learn("Model", y, 2)


def test_classes_that_are_given_are_kept_though_no_pixel_has_them():
    spec = Segment().learn("Model", np.eye(3, dtype=int)[None], 1, classes=[0, 1, 7])
    assert spec.n == 3 and spec.facts["classes"].tolist() == [0, 1, 7]


def test_the_seed_of_intervals_of_a_regression_counts():
    y, predictions = np.arange(30.0) % 7, {"predicted": np.arange(30.0) % 5, "low": None, "high": None}
    one, again, other = (Regress().score(y, predictions, seed=seed) for seed in (0, 0, 1))
    assert one == again != other


# ---- detect and forecast


def test_boxes_are_a_list_of_dicts():
    y = [{"boxes": [[0, 0, 2, 3]], "labels": ["cat"]}, {"boxes": [], "labels": []}]
    spec = Detect().learn("Model", y, 2)
    (boxes, index), (none, _) = Detect().encode("Model", y, 2, spec)
    assert boxes.tolist() == [[0, 0, 2, 3]] and index.tolist() == [0] and none.shape == (0, 4)
    (found,) = Detect().decode([(boxes, index, [0.9])], spec)
    assert found["labels"].tolist() == ["cat"] and found["boxes"].tolist() == [[0, 0, 2, 3]]
    more = Detect().learn("Model", y, 2, classes=["dog", "cat"])
    assert more.n == 2 and Detect().encode("Model", y, 2, more)[0][1].tolist() == [0]  # cat, dog


@pytest.mark.parametrize(
    "y",
    [None, [{"boxes": []}], [3], [{"boxes": [[2, 0, 1, 1]], "labels": [0]}], [{"boxes": [[0, 0, 1, 1]], "labels": []}]],
)
def test_what_is_not_boxes_is_refused(y):
    with pytest.raises((InputError, InputTypeError)):
        Detect().learn("Model", y, 1)


def test_a_forecast_has_its_targets_in_x():
    assert Forecast(n_columns=3).learn("Model", None, 10) == TargetSpec("forecast", 3)
    with pytest.raises(InputError, match="the series X itself"):
        Forecast().learn("Model", np.zeros(10), 10)
