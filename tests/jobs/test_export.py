"""Exported scripts: the same answers as the estimator, a net that trains, no fθ, and nothing in them but literals."""

import ast
import importlib.util
import json
from functools import cache

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn

from ftheta import data
from ftheta.data import ArrayEncoder, TableEncoder, script_template
from ftheta.errors import FileFormatError, InputError
from ftheta.jobs.export import SCRIPT, export
from ftheta.models import (
    Lasso,
    LinearRegression,
    LogisticRegression,
    MLPClassifier,
    MLPRegressor,
    ModuleClassifier,
    Ridge,
)
from ftheta.nn import ACTIVATIONS
from ftheta.tasks import Classify, Regress

ALLOWED = {
    *("__future__", "argparse", "collections", "json", "re", "sys", "pathlib", "typing"),
    *("numpy", "pandas", "safetensors", "scipy", "torch"),
}
TEMPLATE = script_template()


def frame(n=90, seed=0):
    """Numbers with holes, two levels, several with rare ones and holes, dates with holes, an identifier."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(3, 2, n), rng.lognormal(0, 1, n)
    town = rng.choice(["Bonn", "Kiel", "Ulm"], n).astype(object)
    town[:2], town[5:9] = ["Jena", "Trier"], None
    day = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 24 * 700, n), "h")
    x = pd.DataFrame({"id": np.arange(n) + 7, "a": a, "b": b, "garden": rng.choice(["no", "yes"], n), "town": town})
    x["day"] = pd.Series(day).mask(rng.random(n) < 0.1)
    x["b"] = x["b"].mask(rng.random(n) < 0.2)
    score = a - 2 * np.log(b) + 2 * (x["garden"] == "yes") + rng.normal(0, 0.3, n)
    return x, score.to_numpy()


def new_rows():
    """Rows with unseen levels, cells that are missing where training had all of them, and another order."""
    x, _ = frame(40, seed=1)
    x.loc[0, "town"], x.loc[1, "garden"], x.loc[2, "a"], x.loc[3, "garden"] = "Rome", "maybe", np.nan, None
    return x[["town", "day", "garden", "a", "b", "id"]]


def written(folder, estimator, encoder, classes=(), spread=None, **options):
    """The module of an exported script."""
    more = {"about": "A test.", "target": "y", "encoding": "utf-8", "state": encoder.get_state(), **options}
    made = export(estimator, more.pop("state"), classes=classes, half_width=spread, **more)
    for name, content in made.items():
        (folder / name).write_bytes(content)
    spec = importlib.util.spec_from_file_location("exported", folder / SCRIPT)
    module = importlib.util.module_from_spec(spec)
    exec(compile(made[SCRIPT], folder / SCRIPT, "exec"), vars(module))  # never cached bytecode
    return module


def fitted(estimator, x, y):
    encoder = TableEncoder(getattr(estimator, "dtype", "float64")).fit(x)
    return encoder, estimator.fit(encoder.transform(x), y)


def assert_same(module, encoder, estimator, rows, names=(), spread=None):
    """The script's table is what the command line would write."""
    given = None if spread is None else {"half_width": spread}
    task = Classify() if hasattr(estimator, "classes_") else Regress()
    want = task.predict(estimator, encoder.transform(encoder.align(rows)), names, given)
    got = module.predict(rows)
    if "p" in want:
        assert got["prediction"].tolist() == want["predicted"].tolist()
        np.testing.assert_allclose(got[[f"p({n})" for n in names]].to_numpy(), want["p"], rtol=0, atol=1e-6)
        return
    ends = {} if want["low"] is None else {"low": want["low"], "high": want["high"]}
    assert list(got) == ["prediction", *ends]
    for name, values in {"prediction": want["predicted"], **ends}.items():
        np.testing.assert_allclose(got[name], values, rtol=1e-6, atol=1e-6)


def quick(**params):
    return {"epochs": 3, "random_state": 0, **params}


# ---- prediction


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kinds", [2, 3])
@pytest.mark.parametrize("family", [MLPClassifier, LogisticRegression])
def test_classes_and_probabilities_are_those_of_the_estimator(tmp_path, family, kinds, dtype):
    x, score = frame()
    y = np.array(["low", "mid", "top"])[np.digitize(score, [4.0, 6.0][: kinds - 1])]
    own = quick(dtype=dtype, hidden=(5, 4)) if family is MLPClassifier else {}
    encoder, model = fitted(family(**own), x, y)
    names = sorted(set(y))
    module = written(tmp_path, model, encoder, names)
    assert len(names) == kinds
    assert_same(module, encoder, model, new_rows(), names)
    assert_same(module, encoder, model, new_rows().tail(1), names)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("spread", [None, 1.5])
@pytest.mark.parametrize(
    "likelihood", ["gaussian", "gaussian-learned", "gaussian-heteroscedastic", "laplace", "poisson"]
)
def test_numbers_and_intervals_are_those_of_the_estimator(tmp_path, likelihood, spread, dtype):
    x, score = frame()
    y = np.floor(np.maximum(score, 0) * 3) if likelihood == "poisson" else 100 * score - 3000
    encoder, model = fitted(MLPRegressor(likelihood=likelihood, hidden=(6,), dtype=dtype, **quick()), x, y)
    module = written(tmp_path, model, encoder, spread=spread)
    assert_same(module, encoder, model, new_rows(), spread=spread)


@pytest.mark.parametrize("spread", [None, 0.25])
@pytest.mark.parametrize("model", [LinearRegression(), LinearRegression(fit_intercept=False), Ridge(), Lasso()])
def test_planes_and_their_intervals_are_those_of_the_estimator(tmp_path, model, spread):
    x, score = frame()
    encoder, model = fitted(model, x[["a", "b"]], score)
    module = written(tmp_path, model, encoder, spread=spread)
    assert_same(module, encoder, model, new_rows(), spread=spread)
    if isinstance(model, LinearRegression):
        assert list(module.predict(new_rows())) == ["prediction", "low", "high"]


@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
def test_every_activation_is_written_as_it_is(tmp_path, activation):
    x, score = frame()
    encoder, model = fitted(MLPRegressor(hidden=(4, 3), activation=activation, dropout=0.3, **quick()), x, score)
    assert_same(written(tmp_path, model, encoder), encoder, model, new_rows())


def test_a_module_of_your_own_is_written_if_it_is_a_sequence_of_known_layers(tmp_path):
    x, score = frame()
    net = nn.Sequential(nn.Linear(3, 4), nn.LeakyReLU(0.3), nn.Dropout(0.5), nn.Linear(4, 1))
    encoder, model = fitted(ModuleClassifier(module=net, **quick()), x[["a", "b"]], score > 4)
    assert_same(written(tmp_path, model, encoder, ["False", "True"]), encoder, model, new_rows(), ["False", "True"])
    assert "nn.LeakyReLU(0.3)" in (tmp_path / SCRIPT).read_text(encoding="utf-8")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_pictures_are_shifted_and_scaled(tmp_path, dtype):
    x = np.random.default_rng(0).integers(0, 256, (30, 4, 4, 1), dtype=np.uint8)
    y = np.arange(30) % 3
    encoder = ArrayEncoder("real", True, dtype=dtype).fit(x.reshape(30, 16))
    model = MLPClassifier(hidden=(5,), dtype=dtype, **quick()).fit(encoder.transform(x.reshape(30, 16)), y)
    module = written(tmp_path, model, encoder, ["a", "b", "c"])
    np.testing.assert_allclose(
        module.predict(x).iloc[:, 1:], model.predict_proba(encoder.transform(x.reshape(30, 16))), atol=1e-6
    )
    for name in ("one.npy", "many.npz"):
        np.save(tmp_path / name, x) if name == "one.npy" else np.savez(tmp_path / name, y=y, images=x)
        assert (module.read(tmp_path / name) == x).all()
    with pytest.raises(ValueError, match="The images have 9 values each; the net was trained with 16"):
        module.predict(x[:, :3, :3])


def test_a_missing_column_and_an_infinite_number_are_named(tmp_path):
    x, score = frame()
    encoder, model = fitted(LinearRegression(), x, score)
    module = written(tmp_path, model, encoder)
    with pytest.raises(ValueError, match="Column 'town' is missing"):
        module.predict(x.drop(columns="town"))
    with pytest.raises(ValueError, match="Column 'b' holds an infinite number"):
        module.predict(x.assign(b=np.inf))


# ---- reading


def read_both(tmp_path, text, x, encoding="utf-8"):
    """What script and library make of a file, encoded by the plans of a frame."""
    encoder, model = fitted(LinearRegression(), x, np.arange(len(x), dtype=float))
    module = written(tmp_path, model, encoder, encoding=encoding)
    (tmp_path / "new.csv").write_bytes(text.encode(encoding))
    found = data.read_csv(tmp_path / "new.csv", required=False, encoding=encoding)
    state = encoder.get_state() | {"comma": found.csv_format.comma}
    for column in state["columns"]:
        column["format"] = found.csv_format.dates.get(column["name"], "")
    (tmp_path / "encoder.json").write_text(json.dumps(state), encoding="utf-8")
    return module.encode(module.read(tmp_path / "new.csv")).numpy(), encoder.transform(encoder.align(found.x))


@pytest.mark.parametrize(
    "cells",
    [
        ["1.5", "-2e3", " 7 ", "", "NA"],
        ["1,5", "2.000,25", "1.234.567", "-", "0"],
        ["1.000", "2.500", "3.250", "1.000", "4.125"],  # thousands in a file of decimal commas
        ["$1,234.50", "2,000", "12%", "?", "7"],
        ["12 345", "1\u00a0000", "5", "7", "9"],
        ["3", "error", "5", "none", "8"],
    ],
)
@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_numbers_are_read_as_the_library_reads_them(tmp_path, cells, mark):
    x = pd.DataFrame({"n": [1.0, 2.0, np.nan, 5.0, 9.0], "m": [0.5, 1.5, 2.5, 0.25, 3.5]})
    lines = [f"{a}{mark}{b}" for a, b in zip(cells, ["0,5", "1,5", "2,5", "0,25", "3,5"], strict=True)]
    got, want = read_both(tmp_path, "\n".join([f"n{mark}m", *lines]) + "\n", x)
    np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize(
    "cells",
    [
        ["2021-03-01", "2022-12-31", "", "2021-07-09"],
        ["2021-03-01T10:30:00", "2022-12-31T23:59:59", "", "2021-07-09T00:00:00"],
        ["01.03.2021", "31.12.2022", "NA", "09.07.2021"],
        ["03/01/2021", "12/31/2022", "", "07/09/2021"],
        ["01/03/2021", "31/12/2022", "", "09/07/2021"],
        ["1 Mar 2021", "31 Dec 2022", "", "9 Jul 2021"],
        ["Mar 1, 2021", "Dec 31, 2022", "", "Jul 9, 2021"],
        ["", "", "", ""],
    ],
)
def test_dates_are_read_as_the_library_reads_them(tmp_path, cells):
    days = pd.to_datetime(["2021-03-01 05:00", "2022-12-31 00:00", None, "2021-07-09 00:00"])
    x = pd.DataFrame({"day": days, "m": [0.5, 1.5, 2.5, 0.25]})
    lines = [f'"{a}",{b}' for a, b in zip(cells, x["m"], strict=True)]
    got, want = read_both(tmp_path, "\n".join(["day,m", *lines]) + "\n", x)
    np.testing.assert_allclose(got, want, rtol=1e-12)
    assert got.shape == (4, 9)  # days, three circles, missing, m


@pytest.mark.parametrize(
    "text",
    [
        "\ufefftown,m\nBonn,1\n Kiel ,2\nnone,3\n none ,4\nUlm,5\n",
        "sep=;\ntown;m\nBonn;1\nRome;2\n;3\n\nKiel;5\n",
        'm,town,m\n1,"Bonn",7\n2,"",7\n3,"new\nline",7\n',
        "\ntown , m\nBonn, 1\nKiel,2\n",
    ],
)
def test_files_are_read_as_the_library_reads_them(tmp_path, text):
    x = pd.DataFrame({"town": ["Bonn", "Kiel", None, "none"] * 3, "m": np.arange(12.0) ** 2})
    got, want = read_both(tmp_path, text, x)
    np.testing.assert_allclose(got, want, rtol=1e-12)


def test_columns_without_a_name_or_with_one_twice_are_called_as_in_training(tmp_path):
    x = pd.DataFrame({"column 2": np.arange(12.0) ** 2, "m (3)": np.arange(12.0)[::-1] ** 3})
    got, want = read_both(tmp_path, "m,,m (2),m\n0,1,2,3\n4,5,6,7\n", x)
    np.testing.assert_allclose(got, want, rtol=1e-12)
    np.testing.assert_allclose(got, (np.array([[1, 3], [5, 7]]) - x.mean().to_numpy()) / x.std(ddof=0).to_numpy())


def test_other_encodings_are_kept(tmp_path):
    x = pd.DataFrame({"Gebäude": ["Büro", "Schule"] * 4, "m": np.arange(8.0) ** 2})
    got, want = read_both(tmp_path, "Gebäude;m\nBüro;1\nSchule;2\n", x, "latin-1")
    assert (got == want).all() and got[0, 0] != got[1, 0]


# ---- training


@pytest.mark.parametrize(
    "likelihood", ["gaussian", "gaussian-learned", "gaussian-heteroscedastic", "laplace", "poisson"]
)
def test_the_loop_comes_near_the_truth_under_every_likelihood(tmp_path, likelihood):
    x = pd.DataFrame({"a": np.linspace(-1, 1, 200)})
    y = np.round(np.exp(1.5 + x["a"])) if likelihood == "poisson" else 40 + 7 * x["a"].to_numpy()
    encoder, model = fitted(MLPRegressor(likelihood=likelihood, hidden=(), **quick()), x, y)
    module = written(tmp_path, model, encoder)
    torch.manual_seed(0)
    net = module.train(x, y, epochs=40, batch=50, lr=0.2)
    with torch.no_grad():
        found = module.in_units(module.density(net, module.encode(x)).mean)
    assert not net.training and np.abs(found - y).mean() < 0.1 * np.ptp(y)


def test_the_loop_learns_classes_by_their_names_from_all_rows(tmp_path):
    """Rows of a class are in one batch only, so that a batch that is lost would show."""
    x = pd.DataFrame({"a": np.repeat([-1.0, 0.0, 1.0], 20)})
    y = np.repeat(["low", "mid", "top"], 20)
    encoder, model = fitted(MLPClassifier(hidden=(8,), **quick()), x, y)
    module = written(tmp_path, model, encoder, ["low", "mid", "top"])
    torch.manual_seed(0)
    net = module.train(x, y, epochs=30, batch=7, lr=0.1)
    assert module.density(net, module.encode(x)).probs.argmax(1).tolist() == np.repeat([0, 1, 2], 20).tolist()


# ---- the text


def imported(text):
    nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Import | ast.ImportFrom)]
    names = {a.name if isinstance(n, ast.Import) else n.module for n in nodes for a in n.names}
    return {name.partition(".")[0] for name in names}


def test_a_script_needs_no_ftheta_and_reads_as_a_net(tmp_path):
    x, score = frame()
    encoder, model = fitted(MLPRegressor(hidden=(5, 4), dropout=0.5, activation=("tanh", "sin"), **quick()), x, score)
    written(tmp_path, model, encoder)
    text = (tmp_path / SCRIPT).read_text(encoding="utf-8")
    assert imported(text) <= ALLOWED and "ftheta" not in text
    for layer in ("'hidden1': nn.Linear(18, 5),", "'act1': nn.Tanh(),", "'drop1': nn.Dropout(0.5),", "Function('sin')"):
        assert layer in text
    assert max(map(len, text.splitlines())) <= 120


def without_literals(text):
    """The tree of a script without the values of its constants and without its net; and those values."""
    tree, values = ast.parse(text), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name == "net":
                node.value = ast.Constant(None)
            elif name.isupper() and name not in ("HERE", "PLAIN", "COMMA", "POINT", "BLANKS", "MISSING"):
                values[name], node.value = ast.literal_eval(node.value), ast.Constant(None)
    return ast.dump(tree), values


EVIL = [
    '"""',
    "'''\n__import__('os').abort()\n'''",
    "\\",
    "');__import__('os').abort()#",
    "{0}",
    "é\u2028\u202e",
    "\0\n",
]


def renamed(state, words):
    """The state of an encoder with other names of its columns and levels."""
    columns = [column | {"name": word} for column, word in zip(state["columns"], words, strict=True)]
    columns[1]["levels"] = words
    return state | {"columns": columns}


@cache
def towns():
    rows = pd.DataFrame({"x": np.arange(12.0) ** 2, "town": ["a", "b", "b", "a"] * 3})
    return rows, *fitted(LogisticRegression(l2=1.0), rows, np.arange(12) % 2)


def assert_literal(folder, words):
    """Names of classes, of columns and levels, of the target, and the title stay text, whatever they are."""
    about, target, *names = words
    rows, encoder, model = towns()
    state = renamed(encoder.get_state(), names)
    module = written(folder, model, encoder, names, about=about, target=target, state=state)
    tree, values = without_literals((folder / SCRIPT).read_text(encoding="utf-8"))
    assert tree == without_literals(TEMPLATE)[0]
    assert (values["ABOUT"], values["TARGET"], values["CLASSES"]) == (about, target, names)
    assert module.predict(rows.set_axis(names[:2], axis=1))["prediction"].isin(names).all()


def test_hostile_names_do_not_become_code(tmp_path):
    assert_literal(tmp_path, EVIL[:4])
    assert_literal(tmp_path, EVIL[3:7])


@pytest.mark.middle
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(EVIL) | st.text(), min_size=4, max_size=4, unique=True))
def test_no_text_becomes_code(tmp_path, words):
    assert_literal(tmp_path, words)


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), b"x", {1: 2}, {"a": object()}, type("S", (str,), {})("x")]
)
def test_only_values_of_json_are_written(tmp_path, value):
    encoder, model = fitted(LinearRegression(), frame()[0][["a", "b"]], np.arange(90.0))
    with pytest.raises(FileFormatError, match="which a script cannot hold"):
        written(tmp_path, model, encoder, about=value)
    with pytest.raises(FileFormatError, match="which a script cannot hold"):
        written(tmp_path, model, encoder, state=encoder.get_state() | {"comma": value})
    assert not (tmp_path / SCRIPT).exists()


# ---- what cannot be exported


def test_other_models_are_refused_in_one_sentence():
    layers = nn.Sequential(nn.Linear(1, 2), nn.BatchNorm1d(2))
    for module in (
        layers,
        type("Own", (nn.Sequential,), {"forward": lambda self, x: nn.Sequential.forward(self, x)})(nn.Linear(1, 2)),
    ):
        model = ModuleClassifier(module=module, epochs=1, random_state=0).fit([[0.0], [1.0], [2.0]], [0, 1, 0])
        with pytest.raises(InputError, match=r"^ModuleClassifier cannot be exported as Python yet; mlp and linear"):
            export(model, {}, about="", target="", classes=["0", "1"], half_width=None, encoding="utf-8")


@pytest.mark.parametrize(
    "model", [LinearRegression(), MLPRegressor(**quick()), MLPClassifier(**quick())], ids=lambda m: type(m).__name__
)
def test_several_targets_are_refused(model):
    y = np.array([[0, 1], [1, 0], [1, 1]])
    with pytest.raises(InputError, match="was fitted to 2 targets; a script is written for one"):
        export(model.fit(np.eye(3), y), {}, about="", target="", classes=(), half_width=None, encoding="utf-8")


def test_an_encoding_that_does_not_exist_is_refused(tmp_path):
    encoder, model = fitted(LinearRegression(), frame()[0][["a", "b"]], np.arange(90.0))
    with pytest.raises(InputError, match="is not the name of an encoding"):
        written(tmp_path, model, encoder, encoding="'); import os #")
