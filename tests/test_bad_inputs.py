"""Bad inputs, by their number in the list of forty: each sentence shows the value, names the place and says what to do.

Where a case concerns every estimator, every estimator of the catalog is asked.
"""

import errno
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import get_tags
from sklearn.utils._param_validation import InvalidParameterError
from torch import nn

import ftheta
from ftheta.data import Rows, TableEncoder
from ftheta.errors import FileFormatError, FThetaError, InputError, NonFiniteError, RunError, StoreError
from ftheta.models import MLPClassifier, MLPRegressor, ModuleClassifier
from ftheta.store import Run
from ftheta.train import Supervised, Trainer, Training, iterate
from tests.contract.enrolled import (
    CLASSES,
    CLASSIFIERS,
    NEURAL,
    TRANSFORMERS,
    WEIGHTED,
    answers,
    data,
    name_of,
    small,
    taken,
    takes,
)

QUICK = {"hidden": (6,), "epochs": 3, "random_state": 0}


def spoiled(X, value, row=17, column=2):
    X = X.copy()
    X[row, column] = value
    return X


def frame(X):
    return pd.DataFrame(X, columns=["id", "sex", "age", "zip"])


# ---- every estimator: the value, the place and the advice are in the sentence

MIXED = ["sex", "id", "age", "zip"]
HUGE = np.broadcast_to(np.float32(0), (10**8, 10**6))  # a shape without memory

EVERY = {  # what it is asked, and parts of the sentence; the error is an InputError unless ERRORS has another
    "1 NaN in X": (
        lambda e, X, y: e.fit(frame(spoiled(X, np.nan)), y),
        r"NaN: 1 value|row 17, column 'age' \(2\)|Fill or drop them, e.g. SimpleImputer\(\)",
    ),
    "1 NaN in X at predict": (
        lambda e, X, y: answers(e.fit(X, y), spoiled(X, np.nan)),
        "row 17, column 2|Fill or drop",
    ),
    "2 inf in X": (lambda e, X, y: e.fit(spoiled(X, np.inf, 4, 0), y), r"\(inf\)|row 4, column 0|Rescale the column"),
    "3 NaN in y": (
        lambda e, X, y: e.fit(X, np.where(np.arange(len(y)) == 5, np.nan, y)),
        "y contains NaN at index 5|Remove those rows; targets cannot be imputed",
    ),
    "4 X of one axis": (lambda e, X, y: e.fit(X[:, 0], y), r"got shape \(90,\)|must be 2-D|Reshape your data"),
    "5 no rows": (lambda e, X, y: e.fit(X[:0], y[:0]), r"0 sample\(s\) \(shape=\(0, 4\)\)|Check the filter or file"),
    "6 no columns": (
        lambda e, X, y: e.fit(X[:, :0], y),
        r"0 feature\(s\) \(shape=\(90, 0\)\)|All columns were dropped",
    ),
    "7 another number of rows": (lambda e, X, y: e.fit(X, y[:-1]), "X has 90 rows|but y has 89|They must match"),
    "8 another number of columns": (
        lambda e, X, y: answers(e.fit(X, y), X[:, :3]),
        "X has 3 features|is expecting 4|Pass the same columns in the same order",
    ),
    "8 other columns": (
        lambda e, X, y: answers(e.fit(frame(X), y), frame(X).rename(columns={"zip": "x"})),
        "- x|- zip|feature names should match those that were passed during fit",
    ),
    "9 columns in another order": (
        lambda e, X, y: answers(e.fit(frame(X), y), frame(X)[MIXED]),
        r"Feature names must be in the same order|Reorder with X\[est.feature_names_in_\]",
    ),
    "18 sparse X": (lambda e, X, y: e.fit(sparse.csr_matrix(X), y), r"scipy sparse matrix|Convert with X.toarray\(\)"),
    "19 complex X": (lambda e, X, y: e.fit(X * 1j, y), r"complex128|X has dtype|Take X.real, np.abs\(X\)"),
    "20 text in X": (
        lambda e, X, y: e.fit(frame(X).assign(sex="Oslo"), y),
        r"text \('Oslo'\)|Column 'sex' \(1\)|Encode it, e.g. OneHotEncoder",
    ),
    "21 weights of another shape": (
        lambda e, X, y: e.fit(X, y, np.ones(9)),
        r"shape \(9,\)|sample_weight|expected \(90,\): one weight for each row",
    ),
    "21 a negative weight": (
        lambda e, X, y: e.fit(X, y, np.where(np.arange(90) == 3, -1.0, 1.0)),
        r"is -1.0|sample_weight\[3\]|weights must be finite and >= 0",
    ),
    "21 no weight": (
        lambda e, X, y: e.fit(X, y, np.zeros(90)),
        "all sample weights are zero|at least one row a weight",
    ),
    "22 a parameter of the wrong kind": (
        lambda e, X, y: e.set_params(**{next(iter(e.get_params(deep=False))): object()}).fit(X, y),
        "Got <object|The '.*' parameter of|must be",
    ),
    "23 an unknown parameter": (
        lambda e, X, y: e.set_params(learning_rte=1),
        "'learning_rte'|Unknown parameter|Known: ",
    ),
    "24 not fitted": (lambda e, X, y: answers(e, X), "instance is not fitted yet|Call 'fit'"),
    "29 not enough memory": (
        lambda e, X, y: e.fit(HUGE, y),
        "needs about .* GB|X 100000000x1000000|Use .*partial_fit on parts that fit",
    ),
}
ERRORS = {"18 sparse X": TypeError, "22 a parameter of the wrong kind": InvalidParameterError}
ERRORS |= {"24 not fitted": NotFittedError}

NOBODY = {"3 NaN in y": TRANSFORMERS, "7 another number of rows": TRANSFORMERS}  # y is not looked at
NOBODY |= {"18 sparse X": {cls for cls in CLASSES if get_tags(cls()).input_tags.sparse}}
NOBODY |= {case: set(CLASSES) - set(WEIGHTED) for case in EVERY if case.startswith("21")}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("cls", CLASSES, ids=name_of)
def test_every_estimator_answers_with_value_place_and_advice(cls, subtests):
    for case, (act, parts) in EVERY.items():
        if cls in NOBODY.get(case, ()):
            continue
        with subtests.test(case):
            with pytest.raises(ERRORS.get(case, InputError)) as caught:
                act(small(cls), *data(cls))
            told(caught.value, *parts.split("|"))


def told(error, *parts):
    text = str(error)
    for part in parts:
        assert re.search(part, text), f"{part!r} is not in: {text}"
    assert isinstance(error, FThetaError | InvalidParameterError | NotFittedError)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("cls", CLASSIFIERS, ids=name_of)
def test_10_11_12_classes(cls):
    X, y = data(cls)
    with pytest.raises(InputError) as caught:
        small(cls).fit(X, np.full(len(y), "cat"))
    told(
        caught.value,
        r"y has 1 class \(.*'cat'.*, 90 rows\)",
        f"{cls.__name__} needs at least 2",
        r"Check the label column",
    )
    with pytest.raises(InputError) as caught:
        small(cls).fit(X, np.where(np.arange(90) == 0, 3.27, X[:, 0]))
    told(caught.value, r"\(e.g. 3.27\)", "Unknown label type: continuous", "Use a regressor, or turn y into classes")
    model = small(cls).fit(X, np.where(y > 0, "cow", "cat"))
    with pytest.warns(
        UserWarning, match=r"y has class 'dog' never seen in fit \(classes_: cat, cow\). It counts as wrong"
    ):
        assert model.score(X, np.full(len(y), "dog")) == 0


def test_14_one_row_before_a_batch_norm():
    X, y = data(ModuleClassifier, n=65)
    module = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 3))
    with pytest.raises(InputError) as caught:
        ModuleClassifier(module=module, batch_size=64, random_state=0).fit(X, y)
    told(
        caught.value,
        "Batch of 1 sample",
        r"BatchNorm1d in training \(last batch of 65 with batch_size=64\)",
        "batch_size=65",
    )


def test_15_a_constant_column_is_centred_with_one_warning():
    X = pd.DataFrame({"a": [1.0, 2, 3], "unit": [14.62] * 3})
    with pytest.warns(UserWarning, match=r"'unit'.*constant.*14.62.*centered, not scaled") as caught:
        z = TableEncoder().fit_transform(X)
    assert len(caught) == 1 and np.asarray(z)[:, 1].tolist() == [0, 0, 0]
    assert np.isfinite(MLPRegressor(**QUICK).fit(X, [1.0, 2, 3]).predict(X)).all()


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"lr": -0.1}, r"The 'lr' parameter of .* must be a float in the range \(0.0, inf\) or None. Got -0.1 instead"),
        ({"epochs": 0}, r"The 'epochs' parameter of .* must be an int in the range \[1, inf\). Got 0 instead"),
        ({"batch_size": -3}, r"The 'batch_size' parameter of .* Got -3 instead"),
        ({"validation": 1.0}, r"The 'validation' parameter of .* must be a float in the range \[0.0, 1.0\). Got 1.0"),
        ({"dtype": "float16"}, r"The 'dtype' parameter of .* must be a str among .*Got 'float16' instead"),
        ({"optimizer": "adma"}, "Unknown optimizer 'adma'. Did you mean .*'adam'"),
        (
            {"training": Training(accumulate=0)},
            "The 'accumulate' parameter of Training must be an int in the range \\[1, inf\\)\\. Got 0",
        ),
        ({"training": Training(freeze=("nothing",))}, "No parameter has a name like 'nothing'; the nearest are"),
        ({"training": Training(options={"momentm": 0.9})}, "Unknown option of optimizer 'adam': 'momentm'"),
        ({"device": "cuda:99"}, r"device='cuda:99' asked for, but no such device is present .*Use device='cpu'"),
    ],
    ids=str,
)
@pytest.mark.parametrize("cls", NEURAL, ids=name_of)
def test_22_30_bad_settings_of_neural_estimators(cls, settings, text):
    with pytest.raises(ValueError, match=text) as caught:
        small(cls, **settings).fit(*data(cls))
    told(caught.value)


@pytest.mark.parametrize("cls", [c for c in NEURAL if takes(c, "hidden")], ids=name_of)
def test_25_a_loss_that_is_no_number_names_epoch_step_rows_tensor_and_a_smaller_rate(cls):
    X, y = data(cls)
    with pytest.raises(NonFiniteError) as caught:
        small(cls, lr=1e38, optimizer="momentum", epochs=50).fit(X, y)
    told(
        caught.value,
        "Loss became (nan|inf) at epoch",
        r"step \d+ \(batch rows .*First bad tensor: \w+",
        r"Try lr=1e\+37 .now 1e\+38. or clip_norm=1",
    )


def test_a_loss_function_that_returns_one_number_for_the_batch():
    source = Rows(torch.zeros(8, 2), torch.zeros(8, 1), batch_size=4)
    trainer = Trainer(Supervised(nn.Linear(2, 1), nn.MSELoss()), source)
    with pytest.raises(InputError) as caught:
        iterate(trainer, rounds=1)
    told(caught.value, r"shape \(\) for a batch of 4 rows", "The loss function", "reduction='none'")
    mixed = Rows(torch.zeros(8, 2), torch.zeros(8), batch_size=4)
    with pytest.warns(UserWarning, match="size"), pytest.raises(InputError) as caught:
        iterate(Trainer(Supervised(nn.Linear(2, 1), nn.MSELoss(reduction="none")), mixed), rounds=1)
    told(caught.value, r"shape \(4, 4\)", r"outputs \(4, 1\) and targets \(4,\)", "Give both the same shape")


# ---- files


def test_35_tensors_of_another_model(tmp_path):
    X, y = data(ModuleClassifier)
    path = ModuleClassifier(module=nn.Linear(4, 3), epochs=1).fit(X, y).save(tmp_path / "model")
    other = nn.Sequential(nn.Linear(4, 5), nn.Linear(5, 3))
    with pytest.raises(InputError) as caught:
        ftheta.load(path, module=other)
    told(
        caught.value,
        "missing: 0.bias, 0.weight, 1.bias, 1.weight",
        "unexpected: bias, weight",
        "same layers and widths",
    )


def cut_run(path, n=4):
    """A run that was stopped after some epochs, with two checkpoints."""
    X, y = data(MLPClassifier)
    model = MLPClassifier(**QUICK | {"epochs": 6}, training=Training(every=0.0))
    advance, count = Trainer.advance, 0

    def stop(self):
        nonlocal count
        count += 1
        if count > n:
            raise KeyboardInterrupt
        return advance(self)

    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Trainer, "advance", stop)
        model.fit(X, y, run=path)
    return model, X, y


def test_36_a_damaged_checkpoint_falls_back_to_the_one_before_with_a_warning(tmp_path):
    model, X, y = cut_run(tmp_path / "a")
    newest = max((tmp_path / "a").glob("checkpoint-*"), key=lambda p: int(p.stem.split("-")[1]))
    content = bytearray(newest.read_bytes())
    content[-3] ^= 1
    newest.write_bytes(content)
    with pytest.warns(
        UserWarning,
        match=r"step-00004: .*digest differs \(expected .*\.\., got .*\.\.\): file damaged. Resuming from step 3",
    ):
        model.fit(X, y, run=tmp_path / "a")
    whole = MLPClassifier(**QUICK | {"epochs": 6}).fit(X, y)
    assert np.array_equal(model.predict_proba(X), whole.predict_proba(X))


def test_37_a_full_disk_is_named_and_the_last_good_checkpoint_stays(tmp_path, monkeypatch):
    model, X, y = cut_run(tmp_path / "a", 2)
    write = os.write

    def full(fd, data):
        if len(data) > 3000:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(fd, data)

    with monkeypatch.context() as patch, pytest.raises(StoreError) as caught:
        patch.setattr(os, "write", full)
        model.fit(X, y, run=tmp_path / "a")
    told(
        caught.value,
        r"No space left on device \(needs .*B, .*B free\)",
        "Cannot write .*checkpoint-3",
        "free space",
        "Last good checkpoint: step 2",
    )
    assert model.fit(X, y, run=tmp_path / "a").n_iter_ == 6


def test_39_a_run_in_use_and_a_run_of_another_setting(tmp_path):
    model, X, y = cut_run(tmp_path / "a")
    with Run(tmp_path / "a"), pytest.raises(RunError) as caught:
        model.fit(X, y, run=tmp_path / "a")
    told(
        caught.value,
        rf"\(pid {os.getpid()}, since \d{{4}}-\d\d-\d\d \d\d:\d\d\)",
        "a is in use",
        "Stop it or choose another --run",
    )
    threads = torch.get_num_threads()
    torch.set_num_threads(threads + 1)
    try:
        with pytest.raises(RunError) as caught:
            model.set_params(training__threads=threads + 1).fit(X, y, run=tmp_path / "a")
        told(
            caught.value,
            f"threads {threads}, now {threads + 1}",
            "The checkpoint in .*a was made with",
            "Add --allow-inexact",
        )
    finally:
        torch.set_num_threads(threads)
    inexact = Run(tmp_path / "a", allow_inexact=True)
    assert model.set_params(training__threads=None).fit(X, y, run=inexact).n_iter_ == 6


CHILD = """
import sys, time
from ftheta.store import Run
with Run(sys.argv[1]):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.mark.slow
def test_39_a_run_in_use_by_another_process_is_free_when_that_is_killed(tmp_path):
    env = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1] / "src")}
    holder = subprocess.Popen([sys.executable, "-c", CHILD, str(tmp_path / "a")], env=env, stdout=subprocess.PIPE)
    try:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(RunError, match=rf"is in use by another process \(pid {holder.pid}, "):
            MLPClassifier(**QUICK).fit(*data(MLPClassifier), run=tmp_path / "a")
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
    assert MLPClassifier(**QUICK).fit(*data(MLPClassifier), run=tmp_path / "a").n_iter_ == 3


def test_a_checkpoint_of_another_model_is_refused(tmp_path):
    cut_run(tmp_path / "a")
    X, y = data(MLPClassifier)
    with pytest.raises(RunError) as caught:
        MLPClassifier(**QUICK | {"hidden": (9,)}).fit(X, y, run=tmp_path / "a")
    told(caught.value, "other parameters", "a was started with", "Choose another run folder")


def test_nothing_that_existed_is_damaged_by_a_refusal(tmp_path):
    model, X, y = cut_run(tmp_path / "a")
    before = {p.name: p.read_bytes() for p in (tmp_path / "a").iterdir() if p.name != "lock"}
    for act in (
        lambda: MLPClassifier(**QUICK | {"hidden": (9,)}).fit(X, y, run=tmp_path / "a"),
        lambda: model.fit(X * np.nan, y, run=tmp_path / "a"),
        lambda: ftheta.load(tmp_path / "a"),
    ):
        with pytest.raises((RunError, InputError, FileFormatError)):
            act()
    assert {p.name: p.read_bytes() for p in (tmp_path / "a").iterdir() if p.name != "lock"} == before


def test_good_input_gives_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)  # no plane separates these classes, and that is said
        for cls in CLASSES:
            X, y = data(cls)
            answers(small(cls).fit(*taken(cls, frame(X), y, np.ones(90))), frame(X))
