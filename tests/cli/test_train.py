"""`ftheta train`: every flag reaches what it names, a command can be repeated, and the result is of the test part."""

import errno
import json
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import ftheta
from ftheta.data import load
from ftheta.store import Run, load_tree
from ftheta.tasks import Classify
from tests.cli._things import QUICK, snapshot, table, weights


def model_of(run):
    return ftheta.load(run)[-1]


@pytest.mark.ledger("C331", covers="ftheta.models.MLPClassifier")  # classification
def test_training_prints_the_result_of_the_test_part_and_where_the_run_is(ok):
    done = ok("train", "mlp", "iris", *QUICK)
    head, names, line, *metrics, verdict, folder, explain, predict = done.out.splitlines()
    assert re.fullmatch(r"test part \(n = 30\); intervals of 95 % confidence; baseline: always '\w+'", head)
    assert "than always" in verdict and set(line) == {"-", " "}
    assert names.split() == ["metric", "value", "low", "high", "baseline"] and len(metrics) == 7
    assert metrics[0].startswith("accuracy  ") and all(len(row.split()) >= 4 for row in metrics)
    assert re.fullmatch(r"Run folder: runs/mlp-iris/\d{8}-\d{6}-[0-9a-f]{4}", folder)
    assert explain.startswith("Next:       ftheta explain last ")
    assert predict.split() == "ftheta predict last new.csv".split()
    assert done.err == "mlp (classify) on iris: 120 training, 30 test rows, 4 columns\n"
    assert "Next:       ftheta explain last " in ok("train", "linear", "iris", "--no-report").out


def test_every_flag_reaches_the_estimator(ok):
    flags = "--epochs 4 --batch-size 16 --lr 0.02 --optimizer nesterov --hidden 8,4 --seed 5 --device cpu --time 10m"
    ok("train", "mlp", "iris", *flags.split(), "--run", "r", "--set", "training.clip_norm=1", "--set", "dropout=0.25")
    model = model_of("r")
    names = ("epochs", "batch_size", "lr", "optimizer", "hidden", "random_state", "device", "dropout")
    assert [getattr(model, n) for n in names] == [4, 16, 0.02, "nesterov", (8, 4), 5, "cpu", 0.25]
    assert (model.training.clip_norm, model.training.seconds, model.n_iter_) == (1.0, 600.0, 4)
    assert [tuple(p.shape) for p in model.module_.parameters()] == [(8, 4), (8,), (4, 8), (4,), (3, 4), (3,)]
    assert snapshot(".").keys() == {"r", *(f"r/{p.name}" for p in Path("r").iterdir())}


def test_without_epochs_early_stopping_decides_and_says_so(ok):
    done = ok("train", "mlp", "iris", "--lr", 1e-7, "--hidden", 4, "--set", "patience=2", "--set", "lr=5", "--run", "r")
    assert model_of("r").epochs == 300 and model_of("r").lr == 1e-7  # a flag wins over --set
    done = ok("train", "mlp", "iris", "--lr", 1.0, "--hidden", 4, "--set", "patience=2", "--validation", 0.1)
    assert re.search(
        r"^Ended after \d+ epochs: no better valid_loss for 2 rounds; best was round \d+\.$", done.err, re.M
    )


def test_few_rows_all_teach(ok):
    """Unless a share is named; and with a thousand rows a tenth is watched, for up to 200 epochs."""
    assert "iris: 108 training, 30 test, 12 validation" in ok("train", "mlp", "iris", *QUICK, "--validation", 0.1).err
    assert "diabetes: 354 training, 88 test rows" in ok("train", "mlp", "diabetes", *QUICK).err
    ok("train", "mlp", "moons", "--hidden", 4, "--time", "0.1s", "--run", "r")
    model = model_of("r")
    assert (model.epochs, model.patience, model.lr, model.training.l2) == (200, 40, 0.003, 3 / 720)
    ok("train", "mlp", "moons", "--hidden", 4, "--time", "0.1s", "--optimizer", "sgd", "--run", "s")
    assert model_of("s").lr is None  # its own rate


def test_time_ends_training_and_the_run_is_finished(ok):
    done = ok("train", "mlp", "iris", "--epochs", 100_000, "--time", "0.2s", "--set", "patience=100000", "--run", "r")
    assert re.search(r"^Ended after \d+ epochs: the time is used up\.$", done.err, re.M)
    assert Run("r").status == "finished"


def test_the_same_seed_gives_the_same_model_and_another_one_does_not(ok):
    for name, seed in (("a", 7), ("b", 7), ("c", 8)):
        ok("train", "mlp", "iris", *QUICK, "--seed", seed, "--set", "dropout=0.2", "--run", name)
    assert weights("a") == weights("b") != weights("c")
    for name in ("config.toml", "encoder.json", "split.safetensors", "result.json", "config.json"):
        assert Path("a", name).read_bytes() == Path("b", name).read_bytes()
    assert Path("a/split.safetensors").read_bytes() != Path("c/split.safetensors").read_bytes()


def test_the_config_of_a_run_repeats_it(ok):
    table("homes.csv")
    settings = ("--lr", 0.003, "--hidden", "6,5", "--seed", 3, "--test", 0.3, "--set", "training.schedule=cosine")
    ok("train", "mlp", "homes.csv", "--target", "price", "--epochs", 4, *settings, "--run", "a")
    ok("train", "--config", "a/config.toml", "--run", "b")
    assert weights("a") == weights("b")
    ok("train", "--config", "a/config.toml", "--run", "c", "--seed", 4)
    assert tomllib.loads(Path("c/config.toml").read_text())["seed"] == 4
    assert weights("a") != weights("c")


@pytest.mark.ledger("C331", covers="ftheta.models.LinearRegression")  # regression
def test_a_numeric_target_is_regressed_in_its_own_units(ok):
    table("homes.csv")
    done = ok("train", "linear", "homes.csv", "--target", "price", "--run", "r")
    shown = {line.split()[0]: line.split()[1] for line in done.out.splitlines()[3:6]}
    assert shown == {"R²": "1.0000", "RMSE": "0.0000", "MAE": "0.0000"}
    assert "linear (regress) on homes: 48 training, 12 test rows, 2 columns" in done.err


def test_text_labels_are_classes(ok):
    table("pets.csv", "kind")
    done = ok("train", "linear", "pets.csv", "--target", "kind", "--run", "r")
    assert done.out.splitlines()[3].split()[:2] == ["accuracy", "1.0000"]
    assert model_of("r").classes_.tolist() == ["cat", "dog"]


def test_whole_numbers_are_classes_unless_a_regression_is_asked_for(ok):
    table("c.csv", "kind")
    text = Path("c.csv").read_text()
    Path("c.csv").write_text(text.replace("cat", "1").replace("dog", "0"))
    assert "mlp (classify)" in ok("train", "mlp", "c.csv", "--target", "kind", *QUICK).err
    assert "mlp (regress)" in ok("train", "mlp", "c.csv", "--target", "kind", "--task", "regress", *QUICK).err


def test_the_test_part_is_set_aside_before_anything_is_learned(ok):
    """Mean and scale are those of the training rows, and the scores can be computed again from the split."""
    ok("train", "mlp", "wine", *QUICK, "--run", "r")
    parts, dataset = load_tree(Path("r/split.safetensors")), load("wine")
    rows = [set(parts[name].tolist()) for name in ("train", "validation", "test")]
    assert sum(map(len, rows)) == len(set.union(*rows)) == 178
    x, model = dataset.x.to_numpy(), ftheta.load("r")
    within = [np.clip(column, *plan.ends) for column, plan in zip(x[parts["train"]].T, model[0].plans_, strict=True)]
    np.testing.assert_allclose([plan.mean for plan in model[0].plans_], np.mean(within, 1))
    test = dataset.x.iloc[parts["test"]]
    right = np.mean(model.predict(test) == dataset.y[parts["test"]])
    found = json.loads(Path("r/result.json").read_text())
    assert found["scores"]["accuracy"] == right and found["rows"] == 36
    p = model.predict_proba(test)[np.arange(36), dataset.y[parts["test"]]]
    np.testing.assert_allclose(found["scores"]["log loss"], -np.log(p).mean(), rtol=1e-5)


def test_without_a_test_part_the_table_is_headed_training_rows(ok):
    done = ok("train", "mlp", "iris", *QUICK, "--test", "none", "--validation", 0, "--run", "r")
    assert done.out.startswith("training rows (n = 150)")
    assert done.err.startswith("mlp (classify) on iris: 150 training rows, 4 columns\n")
    assert "valid_loss" not in Path("r/metrics.jsonl").read_text()


def test_validation_rows_help_a_model_that_cannot_watch_them(ok):
    """Least squares has no epochs: it learns from the validation rows as well."""
    ok("train", "linear", "diabetes", "--run", "r")
    parts, dataset = load_tree(Path("r/split.safetensors")), load("diabetes")
    rows = np.sort(np.concatenate([parts["train"], parts["validation"]]))
    design = np.column_stack([np.ones(len(rows)), dataset.x.to_numpy()[rows]])
    truth = np.linalg.lstsq(design, dataset.y[rows], rcond=None)[0]
    tested = np.column_stack([np.ones(len(parts["test"])), dataset.x.to_numpy()[parts["test"]]])
    np.testing.assert_allclose(ftheta.load("r").predict(dataset.x.iloc[parts["test"]]), tested @ truth, rtol=1e-6)


def test_a_constant_column_is_a_note(ok):
    table("c.csv", "kind", unit=[7] * 60)
    done = ok("train", "mlp", "c.csv", "--target", "kind", *QUICK)
    assert done.err.splitlines()[0] == "Note: Column 'unit' (2) is constant (7): it was centered, not scaled."


def test_a_file_may_have_the_name_of_a_data_set(ok):
    table("iris", "kind")
    assert "on iris: 120 training" in ok("train", "mlp", "iris", *QUICK).err
    assert "on iris: 48 training" in ok("train", "mlp", "./iris", "--target", "kind", *QUICK).err


def written(run):
    """When each file was written."""
    return {p.name: p.stat().st_mtime_ns for p in Path(run).iterdir() if p.name != "lock"}


def test_the_training_that_is_stated_again_is_not_done_again(ok):
    first = ok("train", "mlp", "iris", *QUICK, "--run", "r")
    before, times = snapshot("r"), written("r")
    assert ok("train", "mlp", "iris", *QUICK, "--run", "r").out == first.out
    assert ok("train", "--resume", "r").out == first.out
    assert snapshot("r") == before and written("r") == times


def test_a_finished_closed_form_is_not_written_again(ok):
    first = ok("train", "linear", "iris", "--run", "r")
    times = written("r")
    assert ok("train", "--resume", "r").out == first.out
    assert written("r") == times


def full_disk(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device", "b")


def test_a_run_that_was_stopped_before_its_result_gets_it_later(ft, ok, monkeypatch):
    first = ok("train", "mlp", "iris", *QUICK, "--run", "a")
    with monkeypatch.context() as patch:
        patch.setattr(Classify, "score", full_disk)
        done = ft("train", "mlp", "iris", *QUICK, "--run", "b")
    sentence = "b cannot be used: No space left on device. Check path and permissions."
    assert (done.code, done.err.splitlines()[-1]) == (2, f"Error: {sentence}")
    assert not Run("b").has("result.json")
    assert ok("train", "--resume", "b").out == re.sub(r"(folder:|explain|predict) a\b", r"\1 b", first.out)
    assert Path("a/result.json").read_bytes() == Path("b/result.json").read_bytes()


def test_a_run_that_was_killed_at_its_very_start_can_be_started_again(ok, pets):
    Path("k").mkdir()
    Path("k/lock").write_text("1 2026-01-01T00:00:00\n")
    Path("k/.config.toml.copy").write_bytes(Path(pets, "config.toml").read_bytes())
    Path("k/..config.toml.copy.0123abcd.tmp").write_text("half")
    ok("train", "--config", pets / "config.toml", "--run", "k")
    assert weights("k") == weights(pets) and Run("k").verify() == []
