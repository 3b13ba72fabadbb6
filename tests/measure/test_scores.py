"""Scores: the metrics of the room, resampled as if rows were drawn again; intervals cover, and "none" is said."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn import config_context, metrics

from ftheta import measure
from ftheta.data import make_dataset
from ftheta.errors import InputError
from ftheta.measure import classification, regression, wilson


def mean_area(area):
    """The mean over the classes in y of one against the rest, the second of two."""

    def of(y, p, classes):
        ks = [1] if p.shape[1] == 2 else [k for k, c in enumerate(classes) if (y == c).any()]
        return np.mean([area(y == classes[k], p[:, k]) for k in ks])

    return of


OF_CLASSES = {
    "accuracy": lambda y, p, c: metrics.accuracy_score(y, np.array(c)[p.argmax(1)]),
    "balanced accuracy": lambda y, p, c: metrics.balanced_accuracy_score(y, np.array(c)[p.argmax(1)]),
    "log loss": lambda y, p, c: metrics.log_loss(y, p, labels=list(c)),
    "Brier score": lambda y, p, c: metrics.brier_score_loss(y, p, labels=list(c)),
    "ROC AUC": mean_area(metrics.roc_auc_score),
    "average precision": mean_area(metrics.average_precision_score),
    "ECE": lambda y, p, c: measure.calibration(y, p, c).ece,
}
AREAS = ("ROC AUC", "average precision")
NONE = (None, None, "none")


def softmax(z):
    e = np.exp(z)
    return e / e.sum(1, keepdims=True)


def made(n, k, seed, sharp=1.0, scale=1.5, odd=0.0):
    """Labels drawn from softmax(z), a share `odd` of them at random; answers softmax(sharp z); the true probability."""
    rng = np.random.default_rng(seed)
    z = scale * rng.normal(size=(n, k))
    y = (rng.random((n, 1)) > softmax(z).cumsum(1)[:, :-1]).sum(1)
    y = np.where(rng.random(n) < odd, rng.integers(0, k, n), y)
    return y, softmax(sharp * z), (1 - odd) * softmax(z) + odd / k


def made_numbers(n, seed):
    rng = np.random.default_rng(seed)
    x, width = rng.normal(size=n), 0.9 + 0.3 * abs(rng.normal(size=n))
    predicted = 0.8 * x + 0.1
    return x + 0.5 * rng.normal(size=n), predicted, predicted - width, predicted + width


def by_name(scores):
    return {s.name: s for s in scores.scores}


def test_labels_have_the_scores_that_their_probabilities_would_have():
    rng = np.random.default_rng(3)
    y, said = rng.integers(0, 3, 80), rng.integers(0, 3, 80)
    found = measure.labels(np.array(["a", "b", "c"])[y], np.array(["a", "b", "c"])[said])
    assert found.scores == classification(y, np.eye(3)[said]).scores[:2]
    assert found.scores[0].value == (y == said).mean()
    with pytest.raises(InputError, match=r"predicted\[0\] is 7, which is not one of the 2 classes"):
        measure.labels([0, 1], [7, 1], classes=[0, 1])


@pytest.mark.parametrize(
    "row", [[0.2, 0.7], [0.6, 0.5], [-0.1, 1.1], [1.5, -0.5], [np.nan, 1.0], [np.inf, 0.0], [0.0, 0.0]]
)
@pytest.mark.parametrize("of", [classification, measure.roc, measure.calibration, measure.rejection, measure.decide])
def test_one_row_that_holds_no_probabilities_is_named(of, row):
    p = np.tile([0.3, 0.7], (6, 1))
    given = () if of is measure.decide else ([0, 1, 0, 1, 0, 1],)
    of(*given, p)
    p[4] = row
    with pytest.raises(InputError, match="Row 4 of p is"):
        of(*given, p)


def brute(metric, n, resamples=400):
    rng = np.random.default_rng(7)
    with config_context(assume_finite=True, skip_parameter_validation=True):  # a third faster
        drawn = [metric(rng.integers(0, n, n)) for _ in range(resamples)]
    return np.mean(drawn) - 1.96 * np.std(drawn), np.mean(drawn) + 1.96 * np.std(drawn)


@pytest.mark.parametrize("k", [2, pytest.param(3, marks=pytest.mark.middle)])
@pytest.mark.parametrize("name", [name for name in OF_CLASSES if name != "ECE"])
def test_intervals_are_close_to_those_of_rows_drawn_again(name, k):
    y, p, _ = made(400, k, 1, sharp=2.0)
    low, high = brute(lambda i: OF_CLASSES[name](y[i], p[i], list(range(k))), 400)
    found = by_name(classification(y, p, range(k)))[name]
    assert found.value == pytest.approx(OF_CLASSES[name](y, p, list(range(k))), abs=1e-12)
    assert found.low < found.value < found.high
    assert found.high - found.low == pytest.approx(high - low, rel=0.15)
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.2 * (high - low))


@pytest.mark.parametrize("name", ["R²", "RMSE"])
def test_intervals_of_numbers_are_close_to_those_of_rows_drawn_again(name):
    y, predicted, *_ = made_numbers(400, 3)
    metric = {"R²": metrics.r2_score, "RMSE": metrics.root_mean_squared_error}[name]
    low, high = brute(lambda i: metric(y[i], predicted[i]), 400)
    found = by_name(regression(y, predicted, level=0.95))[name]
    assert (found.low, found.high) == pytest.approx((low, high), abs=0.2 * (high - low))


@pytest.mark.middle
@pytest.mark.parametrize("name", AREAS)
def test_an_area_near_one_is_as_wide_as_rows_drawn_again_say(name):
    y, p, _ = made(359, 10, 11, scale=40.0, odd=0.01)
    rng = np.random.default_rng(7)
    drawn = [OF_CLASSES[name](y[i], p[i], range(10)) for i in (rng.integers(0, 359, 359) for _ in range(150))]
    low, high = np.quantile(drawn, [0.025, 0.975])
    found = by_name(classification(y, p, range(10)))[name]
    assert found.value > 0.98 and found.method == "influence, log-odds"
    assert 0.8 < (found.high - found.low) / (high - low) < 2 and found.high < 1
    assert found.low < low + 0.1 * (high - low) and found.high < high + 0.1 * (high - low)


# ---- no interval


def test_all_right_is_wilsons_and_what_does_not_move_is_none():
    p = np.eye(2)[np.arange(40) % 2]
    found = by_name(classification(np.arange(40) % 2, p))
    assert found["accuracy"][1:] == (1.0, *wilson(40, 40), "Wilson")
    for name in ("balanced accuracy", "log loss", "Brier score", "ROC AUC", "average precision", "ECE"):
        assert found[name][2:] == NONE, name


def test_a_rare_class_takes_the_intervals_of_what_counts_classes():
    y, p, _ = made(200, 3, 0)
    y = np.where(np.cumsum(y == 2) <= 4, y, 0)  # four rows of class 2
    found = by_name(classification(y, p, range(3)))
    assert {name for name, s in found.items() if s.low is None} == {"balanced accuracy", "ROC AUC", "average precision"}


def test_infinite_intervals_cover_and_have_no_mean_width():
    y, predicted, *_ = made_numbers(50, 0)
    far = np.full(50, np.inf)
    found = regression(y, predicted, low=-far, high=far)
    assert by_name(found)["coverage"].value == 1 and by_name(found)["mean width"][1:] == (np.inf, *NONE)
    assert json.loads(json.dumps(found.as_json(), allow_nan=False))["scores"]["mean width"] is None


# ---- shown


def test_the_table_says_none_and_the_json_null():
    found = classification([0, 1, 1], [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    table = found.table()
    assert list(table.columns) == ["metric", "value", "low", "high"]
    assert table.columns["low"][1:] == ["none"] * 6 and table.columns["low"][0] == wilson(2, 3)[0]
    assert table.caption == "3 rows; low and high are 95 % confidence intervals."
    said = found.as_json()
    assert said["rows"] == 3 and said["level"] == 0.95 and said["method"]["log loss"] == "none"
    assert said["intervals"]["log loss"] is None and said["intervals"]["accuracy"] == list(wilson(2, 3))
    assert found.caption.startswith(
        "Scores on 3 rows with 95 % intervals: accuracy 0.6667 (0.2077 to 0.9385), balanced"
    )
    assert [axes.get_xlabel() for axes in found.figure().axes] == (
        ["share (1 is best)", "loss (0 is best; log loss in nats)"]
    )


Y3, P3, _ = made(80, 3, 0)
Y2, P2 = Y3 / 2, P3[:, 1]
KNOWN = make_dataset("two-gaussians", n=80)
ENDS = {
    "labels": lambda **o: [(s.low, s.high) for s in measure.labels(Y3, P3.argmax(1), **o).scores],
    "regression": lambda **o: [(s.low, s.high) for s in regression(Y2, P2, low=P2 * 0.5, high=P2 + 0.3, **o).scores],
    "compare": lambda **o: [(t.low, t.high) for t in measure.compare(Y2, P2, np.full(80, 0.5), **o).tests],
    "against truth": lambda **o: [r[2:] for r in measure.against_truth(KNOWN, np.full((80, 2), 0.5), **o).error[::2]],
}


@pytest.mark.parametrize("name", ENDS)
def test_seed_and_level_reach_every_interval(name):
    wide, narrow, other = (
        np.array(ENDS[name](**o), float) for o in ({"level": 0.99}, {"level": 0.8}, {"level": 0.8, "seed": 1})
    )
    assert (np.diff(wide) > 1.2 * np.diff(narrow)).all() and len(wide) > 1
    assert (narrow != other).any() and np.array_equal(narrow, ENDS[name](level=0.8, seed=0))


# ---- small, and right


@pytest.mark.middle
def test_intervals_of_an_accuracy_and_an_rmse_cover():
    hits = {"accuracy": 0, "RMSE": 0}
    for seed in range(200):
        rng = np.random.default_rng(seed)
        right, e = rng.random(200) < 0.8, rng.normal(size=200)
        y, zero = np.zeros(200, dtype=int), np.zeros(200)
        a = classification(y, np.where(right, 0.3, 0.7), [0, 1], seed=seed).scores[0]
        r = regression(e, zero, seed=seed).scores[1]
        hits["accuracy"] += a.low <= 0.8 <= a.high
        hits["RMSE"] += r.low <= 1 <= r.high
    assert all(182 <= h <= 198 for h in hits.values()), hits  # 0.91 to 0.99: 2.6 standard errors about 0.95


@pytest.mark.middle
def test_intervals_of_sharp_areas_cover():
    truth = {name: OF_CLASSES[name](*made(200_000, 10, 10**6, scale=16.0)[:2], range(10)) for name in AREAS}
    assert truth["ROC AUC"] == pytest.approx(0.998, abs=0.001)
    missed = {name: np.zeros(2) for name in AREAS}
    for seed in range(150):
        y, p, _ = made(400, 10, seed, scale=16.0)
        for s in classification(y, p, range(10), seed=seed).scores[4:6]:
            missed[s.name] += truth[s.name] < s.low, truth[s.name] > s.high
    assert all(1 <= m.sum() <= 15 and m.max() <= 10 for m in missed.values()), missed


def truth_of_classes(k, **how):
    y, p, true = made(1_000_000, k, 10**6, **how)
    values = {s.name: s.value for s in classification(y, p, range(k)).scores}
    right, place = true[np.arange(len(p)), p.argmax(1)], np.ceil(10 * p.max(1)).astype(int) - 1
    return values | {"ECE": abs(np.bincount(place, right - p.max(1))).sum() / len(p)}


def covered(truth, scores_of, repetitions):
    hits = dict.fromkeys(truth, 0)
    for seed in range(repetitions):
        for s in scores_of(seed).scores:
            hits[s.name] += s.low is not None and s.low <= truth[s.name] <= s.high
    return {name: h / repetitions for name, h in hits.items()}


MADE = {  # classes, how they are made, and the shares of all repetitions that an interval may cover
    "2 classes, calibrated": (2, {}, 0.93, 0.97),
    "2 classes, too sure": (2, {"sharp": 2.0}, 0.93, 0.97),
    "4 classes, calibrated": (4, {}, 0.93, 0.97),
    "4 classes, too sure": (4, {"sharp": 2.0}, 0.93, 0.97),
    "10 classes, ROC AUC .998": (10, {"scale": 16.0}, 0.93, 0.97),
    "10 classes, 1 % odd rows": (10, {"scale": 40.0, "odd": 0.01}, 0.88, 1.0),
    "10 classes, 0.3 % odd rows": (10, {"scale": 16.0, "odd": 0.003}, 0.65, 1.0),  # a third of the samples has none
}


@pytest.mark.soak
def test_intervals_cover_what_they_say_on_made_data():
    n, repetitions, found = 400, 1000, {}
    for what, (k, how, *_) in MADE.items():

        def classes_of(seed, k=k, how=how):
            return classification(*made(n, k, seed, **how)[:2], range(k), seed=seed)

        found[what] = covered(truth_of_classes(k, **how), classes_of, repetitions)

    def numbers_of(seed, n=n):
        y, predicted, low, high = made_numbers(n, seed)
        return regression(y, predicted, low=low, high=high, seed=seed)

    truth = {s.name: s.value for s in numbers_of(10**6, 3_000_000).scores}
    found["numbers"] = covered(truth, numbers_of, repetitions)
    record = {"rows": n, "repetitions": repetitions, "level": 0.95, "resamples": 1000, "covered": found}
    Path(__file__).parents[2].joinpath("results/coverage.json").write_text(
        json.dumps(record, indent=1, ensure_ascii=False) + "\n", "utf-8"
    )
    for what, shares in found.items():
        least, most = MADE[what][2:] if what in MADE else (0.93, 0.97)
        for name, share in shares.items():
            assert least <= share <= (1.0 if name == "ECE" else most), (what, name, share)


# ---- at the edges of what is asked for


def test_ten_rows_and_five_of_a_class_are_enough_for_intervals():
    y, p = np.arange(10) % 2, np.linspace(0.1, 0.9, 10)
    assert {s.name: s.low is None for s in classification(y, p).scores} == dict.fromkeys(OF_CLASSES, False)
    four = np.where(np.arange(10) == 0, 1, y)
    assert {s.name for s in classification(four, p).scores if s.low is None} == {"balanced accuracy", *AREAS}
    assert all(s.low is not None for s in regression(y, p).scores)


def test_a_number_at_the_end_of_its_interval_is_covered():
    y = np.arange(20.0)
    for low, high, share in ((y, y + 1, 1.0), (y - 1, y, 1.0), (y + 1e-9, y + 1, 0.0)):
        assert by_name(regression(y, y + 0.5, low=low, high=high))["coverage"].value == share


@pytest.mark.parametrize(("rows", "rare"), [((5, 15), None), ((4, 16), "a"), ((6, 10, 20), None), ((5, 10, 21), "a")])
def test_the_recall_of_a_rare_class_comes_second(rows, rare):
    y = np.repeat(list("abc")[: len(rows)], rows)
    predicted = np.roll(y, 2)
    names = [s.name for s in measure.labels(y, predicted).scores]
    assert names == ["accuracy", *([f"recall({rare})"] if rare else []), "balanced accuracy"]
    if rare:
        found = measure.labels(y, predicted).scores[1]
        truth = metrics.recall_score(y, predicted, labels=[rare], average="macro")
        n, k = rows[0], round(truth * rows[0])
        assert found[1:4] == pytest.approx((truth, *wilson(k, n))) and found.method == "Wilson"
