"""Tagging: encoded labels, weights in the padding, scores against scikit-learn, intervals over sequences."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score, log_loss

from ftheta.data import Dataset
from ftheta.errors import InputError
from ftheta.tasks import Tag

Y = [np.array(list("abc")), np.array(["b"]), np.array(list("ca"))]


def predictions(n=40, seed=0):
    """Probabilities of three classes at each step of n sequences, and classes that they are right about more often."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 9, n)
    p = rng.dirichlet([0.5, 0.5, 0.5], lengths.sum())
    names = np.array(["a", "b", "c"])
    y = names[np.array([rng.choice(3, p=0.2 / 3 + 0.8 * row) for row in p])]
    return y, {"predicted": names[p.argmax(1)], "p": p, "classes": names.tolist(), "lengths": lengths}


def test_labels_are_positions_and_the_padding_is_marked_and_has_no_weight():
    task = Tag()
    spec = task.learn("Tagger", Y, 3)
    assert spec.kind == "tag" and spec.n == 3 and spec.facts["classes"].tolist() == ["a", "b", "c"]
    encoded = task.encode("Tagger", Y, 3, spec)
    assert encoded.tolist() == [[0, 1, 2], [1, -1, -1], [2, 0, -1]]
    assert task.weigh(encoded, None, spec, train=True).tolist() == [[1, 1, 1], [1, 0, 0], [1, 1, 0]]
    weighed = task.weigh(encoded, np.array([1.0, 2.0, 3.0]), spec, train=False)
    assert weighed.tolist() == [[1, 1, 1], [2, 0, 0], [3, 3, 0]]
    even = task.encode("Tagger", Y[:1] * 2, 2, spec)
    assert task.weigh(even, None, spec, train=True) is None
    balanced = Tag("balanced").learn("Tagger", Y, 3, np.array([1.0, 1.0, 2.0]))
    np.testing.assert_allclose(balanced.facts["weights"], 8 / (3 * np.array([3, 2, 3])))


def test_scores_of_steps_are_those_of_scikit_learn():
    y, made = predictions()
    found = Tag().score(y, made)
    scores, ends = found["scores"], found["intervals"]
    assert scores["accuracy"] == pytest.approx(accuracy_score(y, made["predicted"]))
    assert scores["mean F1"] == pytest.approx(f1_score(y, made["predicted"], average="macro"))
    assert scores["log loss"] == pytest.approx(log_loss(y, made["p"]))
    right = np.split(y == made["predicted"], np.cumsum(made["lengths"])[:-1])
    assert scores["whole sequences"] == pytest.approx(np.mean([part.all() for part in right]))
    for name, value in scores.items():
        assert ends[name][0] < value < ends[name][1] and "sequences" in found["method"][name]


def test_the_interval_is_wider_where_the_steps_of_a_sequence_go_together():
    rng = np.random.default_rng(1)
    lengths = np.full(50, 20)
    alone = np.where(rng.random(1000) < 0.7, "a", "b")
    together = np.repeat(np.where(rng.random(50) < 0.7, "a", "b"), 20)
    made = {
        "predicted": np.full(1000, "a"),
        "p": np.tile([0.7, 0.3], (1000, 1)),
        "classes": ["a", "b"],
        "lengths": lengths,
    }
    widths = [np.ptp(Tag().score(y, made)["intervals"]["accuracy"]) for y in (alone, together)]
    assert widths[1] == pytest.approx(widths[0] * np.sqrt(20), rel=0.35)  # 1,000 independent steps, or 50


def test_what_is_shown_has_a_line_for_each_step_and_the_worst_sequences_come_first():
    y, made = predictions(12)
    columns, task = Tag().columns(made), Tag()
    assert list(columns) == ["step", "prediction", "p(a)", "p(b)", "p(c)"]
    assert [len(c) for c in columns.values()] == [made["lengths"].sum()] * 5
    assert columns["step"][: made["lengths"][0]].tolist() == list(range(1, made["lengths"][0] + 1))
    np.testing.assert_array_equal(task.lines(made), np.repeat(np.arange(12), made["lengths"]))
    parts = np.split(y != made["predicted"], np.cumsum(made["lengths"])[:-1])
    worst = task.worst(y, made)
    np.testing.assert_allclose(worst["wrong"], [part.mean() for part in parts])
    np.testing.assert_array_equal(worst["wrong steps"], [part.sum() for part in parts])


def test_a_better_tagger_is_found_better_on_the_same_sequences():
    y, made = predictions(60)
    constant = Tag().baseline(Tag().constant(y), made)
    pair = Tag().compare(y, made, constant, ("net", "constant"))
    assert pair.better == "net" and pair.n == 60
    assert Tag().baseline_name(constant).startswith("always '")
    with pytest.raises(InputError, match="one test sequence"):
        Tag().compare(y[:3], made | {"lengths": [3], "predicted": y[:3]}, constant | {"predicted": y[:3]}, ("a", "b"))


def test_a_data_set_that_cannot_be_tagged_is_refused():
    x = [np.zeros((len(part), 1)) for part in Y]
    with pytest.raises(InputError, match="one target for each sequence, not for each step"):
        Tag().check(Dataset("rows", x, np.array([0, 1, 0]), (), (), "binary", kind="sequence"))
    with pytest.raises(InputError, match="all steps have the class 'a'"):
        Tag().check(Dataset("rows", x, [np.full(len(part), "a") for part in Y], (), (), "tag", kind="sequence"))
    with pytest.raises(InputError, match=r"1 of 2 test rows have a class that no training row has \('d'\)"):
        Tag().check_split("rows", Y, [np.array(["a", "d"])])
