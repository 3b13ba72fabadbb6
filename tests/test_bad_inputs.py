"""Bad inputs, by their number in the list of forty: each sentence shows the value, names the place and says what to do.

Where a case concerns every estimator, every estimator of the catalog is asked.
"""

import re
import warnings
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils import get_tags
from sklearn.utils._param_validation import InvalidParameterError
from torch import nn

from ftheta.data import Rows, TableEncoder
from ftheta.errors import FThetaError, InputError, NonFiniteError
from ftheta.models import MLPRegressor
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
TAKEN = {
    "1 NaN in X": "allow_nan",
    "1 NaN in X at predict": "allow_nan",
    "18 sparse X": "sparse",
    "20 text in X": "categorical",
}
NOBODY |= {case: {cls for cls in CLASSES if getattr(get_tags(cls()).input_tags, tag)} for case, tag in TAKEN.items()}
NOBODY |= {case: set(CLASSES) - set(WEIGHTED) for case in EVERY if case.startswith("21")}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("cls", CLASSES, ids=name_of)
def test_every_estimator_answers_with_value_place_and_advice(cls, subtests):
    for case, (act, parts) in EVERY.items():
        if cls in NOBODY.get(case, ()):
            continue
        with subtests.test(case), told(*parts.split("|"), error=ERRORS.get(case, InputError)):
            act(small(cls), *data(cls))


@contextmanager
def told(*parts, error=InputError):
    """An error of ours whose sentence has all these parts."""
    with pytest.raises(error) as caught:
        yield
    for part in parts:
        assert re.search(part, str(caught.value)), f"{part!r} is not in: {caught.value}"
    assert isinstance(caught.value, FThetaError | InvalidParameterError | NotFittedError)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("cls", CLASSIFIERS, ids=name_of)
def test_10_11_12_classes(cls):
    X, y = data(cls)
    with told(r"y has 1 class \(.*'cat'.*, 90 rows\)", f"{cls.__name__} needs at least 2", r"Check the label column"):
        small(cls).fit(X, np.full(len(y), "cat"))
    with told(r"\(e.g. 3.27\)", "Unknown label type: continuous", "Use a regressor, or turn y into classes"):
        small(cls).fit(X, np.where(np.arange(90) == 0, 3.27, X[:, 0]))
    model = small(cls).fit(X, np.where(y > 0, "cow", "cat"))
    never = r"y has class 'dog' never seen in fit \(classes_: cat, cow\). It counts as wrong"
    with pytest.warns(UserWarning, match=never):
        assert model.score(X, np.full(len(y), "dog")) == 0


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
    with told(text, error=ValueError):
        small(cls, **settings).fit(*data(cls))


@pytest.mark.parametrize("cls", [c for c in NEURAL if takes(c, "hidden")], ids=name_of)
def test_25_a_loss_that_is_no_number_names_epoch_step_rows_tensor_and_a_smaller_rate(cls):
    place, advice = r"step \d+ \(batch rows .*First bad tensor: \w+", r"Try lr=1e\+37 .now 1e\+38. or clip_norm=1"
    with told("Loss became (nan|inf) at epoch", place, advice, error=NonFiniteError):
        small(cls, lr=1e38, optimizer="momentum", epochs=50).fit(*data(cls))


def test_a_loss_function_that_returns_one_number_for_the_batch():
    source = Rows(torch.zeros(8, 2), torch.zeros(8, 1), batch_size=4)
    with told(r"shape \(\) for a batch of 4 rows", "The loss function", "reduction='none'"):
        iterate(Trainer(Supervised(nn.Linear(2, 1), nn.MSELoss()), source), rounds=1)
    mixed = Rows(torch.zeros(8, 2), torch.zeros(8), batch_size=4)
    shapes = r"outputs \(4, 1\) and targets \(4,\)"
    with pytest.warns(UserWarning, match="size"), told(r"shape \(4, 4\)", shapes, "Give both the same shape"):
        iterate(Trainer(Supervised(nn.Linear(2, 1), nn.MSELoss(reduction="none")), mixed), rounds=1)


def test_good_input_gives_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)  # no plane separates these classes, and that is said
        for cls in CLASSES:
            X, y = data(cls)
            answers(small(cls).fit(*taken(cls, frame(X), y, np.ones(90))), frame(X))
