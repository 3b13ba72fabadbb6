"""Whatever is passed: one sentence, exit code 2, no traceback, nothing damaged, and no folder left behind."""

import errno
import os
import pickle
import re
import struct
from pathlib import Path

import pytest

from ftheta.store import Run
from tests.cli._things import QUICK, snapshot, table, weights, write


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ("trian", "Unknown command 'trian'. Did you mean 'train'?"),
        ("train", "Name a model and data: ftheta train MODEL DATA, e.g. ftheta train mlp digits."),
        ("train mpl iris", "Unknown model 'mpl'. Did you mean 'mlp'? Known: linear, basis, ridge, lasso, elastic-net,"),
        ("train mlp iirs", "iirs: there is no data set and no file of this name in "),
        (
            "train mlp my.csv --target y",
            "my.csv: there is no such file or folder. Check the path; it is looked for in ",
        ),
        ("train mlp iris --epoch 3", "No such option '--epoch'. (Did you mean one of: '--epochs'"),
        ("train mlp iris extra", "Got unexpected extra argument (extra). See `ftheta train --help`."),
        ("train mlp iris --optimizer adm", "Unknown optimizer 'adm'. Did you mean 'adam' or 'adamw'?"),
        ("train mlp iris --set dropot=0.2", "model 'mlp': Unknown key 'dropot'. Did you mean 'dropout'?"),
        ("train mlp iris --set training.clip_nrm=1", "training: Unknown key 'clip_nrm'. Did you mean 'clip_norm'"),
        ("train mlp iris --set training.schedule=cosin", "Unknown schedule 'cosin'. Did you mean 'cosine'?"),
        ("train mlp iris --set activation=rel", "Unknown activation 'rel'. Did you mean 'relu'"),
        ("train mlp diabetes --set likelihood=gausian", "Unknown likelihood 'gausian'. Did you mean 'gaussian'"),
        ("train mlp iris --target kind", "--target kind: the data set 'iris' has its own target; leave --target out."),
        ("train mlp iris --task clasify", "--task clasify: mlp is for classify, regress, forecast. Leave --task out."),
        ("train linear diabetes --epochs 3", "model 'linear': Unknown key 'epochs'. Known: fit_intercept."),
        (
            "train linear iris --set training.l2=1",
            "LogisticRegression does not use training.l2: it is a setting of nets.",
        ),
        ("train mlp iris --device cuda:99", "device='cuda:99' asked for, but no such device is present"),
        ("train --config no.toml", "--config no.toml: there is no such file."),
        ("train --resume no", "Unknown run 'no'; runs/ holds none. Give a folder, an id or `last`."),
        ("predict", "Missing argument 'RUN'. See `ftheta predict --help`."),
        ("runs shwo", "No such command 'shwo'. Did you mean 'show'? See `ftheta runs --help`."),
    ],
)
def test_unknown_names_are_answered_with_the_nearest_known_ones(refused, args, sentence):
    assert refused(*args.split()).startswith(sentence)


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        ("--epochs -3", "model 'mlp': epochs=-3 should be greater than or equal to 1."),
        ("--epochs 2.5", "Invalid value for '--epochs': '2.5' is not a valid integer."),
        ("--batch-size -4", "model 'mlp': batch_size=-4 should be greater than or equal to 1 or 'auto'."),
        ("--lr -0.1", "model 'mlp': lr=-0.1 should be greater than 0."),
        ("--lr nan", "model 'mlp': lr=nan should be greater than 0."),
        ("--hidden 64,-3", "model 'mlp': hidden=[64, -3], where -3 should be greater than or equal to 1."),
        ("--hidden wide", "--hidden wide: expected widths such as 64 or 64,64."),
        ("--hidden 64,true", "--hidden 64,true: expected widths such as 64 or 64,64."),
        ("--hidden 3000000,100000000", "Not enough memory: 1200000000000000 bytes are needed."),
        ("--seed -1", "command line: seed=-1 should be greater than or equal to 0."),
        ("--test 2", "command line: test=2 should be less than 1 or text."),
        ("--test some", "--test some: expected a share such as 0.2, none, or a file; there is no such file."),
        ("--validation -1", "command line: validation=-1.0 should be greater than or equal to 0 or 'auto'."),
        ("--time soon", "--time soon: expected a time such as 90s, 10m or 2h."),
        ("--set dropout=1.5", "model 'mlp': dropout=1.5 should be less than 1"),
        ("--set dtype=float16", "model 'mlp': dtype='float16' should be 'float32' or 'float64'."),
        ("--set class_weight=equal", "model 'mlp': class_weight='equal' should be a table or 'balanced'."),
        ("--set random_state=3", "model 'mlp': random_state=3 is not set here; use --seed."),
        ("--set params.validation=0.3", "model 'mlp': validation=0.3 is not set here; use --validation."),
        ("--set params.training=3", "model 'mlp': training=3 is not set here; use --set training.NAME=VALUE."),
        ("--set training.freeze=hidden1", "training: freeze='hidden1' should be a list."),
        ("--set training.options={wd=1}", "Unknown option of optimizer 'adam': 'wd'."),
        ("--set dropout", "--set dropout: expected KEY=VALUE, e.g. --set training.clip_norm=1."),
        ("--set a.b.c=1", "--set a.b.c=1: keys are NAME, params.NAME or training.NAME."),
        ("--optimizer lbfgs --batch-size 32", "optimizer='lbfgs' needs all 120 rows in one batch, but batch_size=32."),
    ],
)
def test_values_that_cannot_be_are_one_sentence(refused, args, sentence):
    assert refused("train", "mlp", "iris", *args.split()).startswith(sentence)


HEADER = ("a", "b", "y")


def cells(*rows):
    return [HEADER, (1, 2, 0.5), (3, 4, 1.5), *rows]


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (cells((1, 2, "Oslo")), "line 4: column 'y' (3) holds text ('Oslo'), numbers needed (1 of 3 cells)."),
        ([HEADER, (1, 2, ""), (1, 2, "")], ": the target 'y' has no values."),
        ([HEADER, (1, 2, "2026-01-01")], ": the target 'y' holds dates; numbers or classes are needed."),
        (cells((1, "inf", 3)), "line 4: column 'b' (2) holds 'inf'; finite numbers are needed."),
        (cells((1, 2, 3, 4)), "line 4: 4 fields, expected 3 (header)."),
        (cells((1, 2)), "line 4: 2 fields, expected 3 (header)."),
        ([HEADER], ": a header of 3 columns but no rows."),
        ([], ": the file is empty (0 bytes)."),
        ([(1, 2, 3), (4, 5, 6)], "line 1: the first line holds numbers ('1', ...), so the header is missing."),
        ([("y",), (1.5,), (2.5,)], ": 'y' is the only column; at least one column of features is needed."),
        ([("a", "b", "z"), (1, 2, 3)], ": Unknown target column 'y'. Known: a, b, z."),
    ],
)
def test_a_table_with_a_mistake_is_one_sentence_with_its_place(refused, rows, sentence):
    write("x.csv", *rows)
    said = refused("train", "mlp", "x.csv", "--target", "y", *QUICK)
    assert said.startswith("x.csv" + sentence) or said.startswith("x.csv " + sentence)


PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + bytes(17)


class Bomb:
    def __reduce__(self):
        return os.system, ("touch exploded",)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("x.png", PNG, "its content is one PNG image; fθ does not open it."),
        ("x.csv", PNG, "its content is one PNG image; fθ does not open it."),
        ("x.pkl", pickle.dumps(Bomb()), "its content is a pickle"),
        ("x.pt", b"PK\x03\x04" + bytes(40), "x.pt: a damaged zip archive"),
        ("x.bin", bytes(range(256)), "x.bin "),
        ("x.csv", b"a,y\n1,\x002\n", "a zero byte, so the file is binary or damaged."),
        ("x.html", b"<html><table></table></html>", "its content is HTML, not a table."),
    ],
)
def test_another_kind_of_file_is_told_by_its_content_and_never_run(refused, name, content, sentence):
    Path(name).write_bytes(content)
    assert sentence in refused("train", "mlp", name, "--target", "y")
    assert sentence in refused("train", "mlp", name)
    assert not Path("exploded").exists()


def test_a_truncated_table_is_said_to_be_truncated(refused):
    text = table("whole.csv") and Path("whole.csv").read_text()
    Path("cut.csv").write_text(text[: text.rindex(",")])
    said = refused("train", "mlp", "cut.csv", "--target", "price")
    assert said.startswith("cut.csv line 61: 2 fields, expected 3 (header). The last line is cut off")


def test_a_table_that_may_not_be_read_is_one_sentence(ft, monkeypatch):
    table("x.csv")

    def denied(self, mode="r", **more):
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", denied)
    done = ft("train", "mlp", "x.csv", "--target", "price")
    sentence = "x.csv: cannot be read (Permission denied). Check its permissions."
    assert (done.code, done.out, done.err) == (2, "", f"Error: {sentence}\n")


@pytest.mark.parametrize(
    ("target", "flags", "sentence"),
    [
        ("kind", ["--task", "regress"], "x: the target holds text ('cat'); --task regress needs numbers."),
        ("price", ["--task", "classify"], "x: the target holds 0.7, which is not a class. Use --task regress."),
        ("prise", [], "x.csv: Unknown target column 'prise'. Did you mean 'price'?"),
        ("same", [], "x: the target has 1 class only ('k', 9 rows); at least 2 are needed."),
        ("each", [], "--test 0.2: 2 of 9 rows cannot be held out: each of 9 classes keeps one row"),
    ],
)
def test_a_target_that_does_not_fit_is_one_sentence(refused, target, flags, sentence):
    columns = ("a", target if target != "prise" else "price")
    values = {"kind": "cat dog cat".split() * 3, "same": ["k"] * 9, "each": list("abcdefghi")}
    write("x.csv", columns, *enumerate(values.get(target, [0.7 + i for i in range(9)])))
    for model in ("mlp", "linear"):
        assert refused("train", model, "x.csv", "--target", target, *flags).startswith(sentence)


def test_a_folder_with_something_else_in_it_is_left_alone(refused):
    for name, file in (("notes", "a.txt"), ("project", "config.toml")):
        Path(name).mkdir()
        Path(name, file).write_text("x = 1\n")
        said = refused("train", "mlp", "iris", *QUICK, "--run", name)
        assert said == f"{name} is not empty and holds no run; nothing was changed. Choose another --run."


def test_a_folder_that_cannot_be_is_one_sentence(refused):
    Path("file").write_text("x")
    said = refused("train", "mlp", "iris", *QUICK, "--run", "file")
    assert said == "--run file is a file; a run is a folder. Choose another --run."
    said = refused("train", "mlp", "iris", *QUICK, "--run", "file/r")
    assert said.startswith("Cannot write file/r/lock: Not a directory.")


def test_a_run_with_other_settings_is_refused(refused, pets):
    said = refused("train", "mlp", "pets.csv", "--target", "kind", "--epochs", 9, "--run", pets)
    assert said == f"{pets} holds a run with other settings. Choose another --run, or use --resume."


def test_a_run_on_data_that_have_changed_is_refused(refused, pets):
    """One row of the test part is enough."""
    text = Path("pets.csv").read_text()
    Path("pets.csv").write_text(text.replace("cat", "dog", 1))
    said = refused("train", "--resume", pets)
    assert said.startswith(f"pets.csv has changed since {pets} was started, and a run is continued with the same data")


@pytest.mark.parametrize(
    ("extra", "named"),
    [
        (["--epochs", 9], "--epochs"),
        (["mlp", "iris"], "MODEL, DATA"),
        (["--run", "x", "--set", "lr=1"], "--run, --set"),
    ],
)
def test_resume_takes_no_other_settings(refused, pets, extra, named):
    said = refused("train", "--resume", pets, *extra)
    assert said.startswith(f"--resume {pets} continues a run with its own settings, but {named} was given too.")


@pytest.mark.parametrize("file", ["config.toml", "split.safetensors", "fit.json", "manifest.json", "model.safetensors"])
def test_a_damaged_run_is_not_continued(refused, pets, file):
    for place in (pets / file, pets / f".{file}.copy"):
        if place.exists():
            place.write_bytes(place.read_bytes()[: place.stat().st_size // 2])
    said = refused("train", "--resume", pets)
    assert f"{file} digest differs" in said or "cut off or changed" in said


def test_numbers_that_are_not_finite_end_training_with_a_sentence(ft):
    done = ft("train", "mlp", "iris", *QUICK, "--batch-size", 16, "--lr", 1e30, "--run", "r")
    assert (done.code, done.out) == (2, "")
    said = done.err.splitlines()[-1]
    assert said.startswith("Error: Loss became ") and "epoch 1, step 2" in said and "Try lr=1e+29 (now 1e+30)" in said
    assert Run("r").verify() == [] and Run("r").latest() is None
    before = snapshot("r")
    assert ft("train", "--resume", "r").err.splitlines()[-1] == said
    assert snapshot("r") == before


@pytest.fixture
def disk(monkeypatch):
    """disk(room): from now on so many bytes can be written; then half of what is written arrives, and an error."""
    from ftheta.store import _folder, files, run

    whole = files.write_all

    def limit(room):
        left = [room]

        def write_all(fd, data):
            if len(data) > left[0]:
                whole(fd, data[: len(data) // 2])
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            left[0] -= len(data)
            whole(fd, data)

        for module in (files, run, _folder):
            monkeypatch.setattr(module, "write_all", write_all)

    return limit


@pytest.mark.parametrize("room", [0, 100, 500, 2000, 6000, 12_000])
def test_a_full_disk_loses_nothing(ft, ok, disk, pets, room):
    """However far it came: one sentence; with room again the run goes on to the weights of one without a break."""
    flags = ("--epochs", 4, "--hidden", 8, "--set", "training.every=0")
    ok("train", "mlp", "iris", *flags, "--run", "whole")
    before = snapshot()
    disk(room)
    done = ft("train", "mlp", "iris", *flags, "--run", "r")
    assert (done.code, done.out) == (2, "")
    said = done.err.splitlines()[-1]
    assert said.startswith("Error: Cannot write r/") and "No space left on device (needs " in said
    assert "What was there before is intact" in said
    assert {k: v for k, v in snapshot().items() if k in before} == before
    disk(10**9)
    ok("train", "mlp", "iris", *flags, "--run", "r")
    assert weights("r") == weights("whole")


def test_a_full_disk_leaves_no_half_file_of_predictions(refused, disk, pets):
    disk(50)
    said = refused("predict", pets, "pets.csv", "-o", "out.csv")
    assert re.match(r"Cannot write out\.csv: No space left on device \(needs \d+ kB, ", said)


def test_a_class_that_only_test_rows_have_is_refused_before_training(refused):
    table("learn.csv", "kind")
    write("test.csv", ("a", "b", "kind"), (1, 2, "cat"), (1, 1, "cow"), (0, 0, "cow"))
    said = refused("train", "mlp", "learn.csv", "--target", "kind", "--test", "test.csv")
    assert said.startswith("test.csv: 2 of 3 test rows have a class that no training row has ('cow').")
    write("numbers.csv", ("a", "kind"), *((i, i % 2) for i in range(20)))
    write("odd.csv", ("a", "kind"), (1, 1), (2, 0), (3, "maybe"))
    said = refused("train", "mlp", "numbers.csv", "--target", "kind", "--test", "odd.csv")
    assert said.startswith("odd.csv: 1 of 3 test rows have a class that no training row has ('maybe').")
