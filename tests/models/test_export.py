"""Exported scripts: the same answers as the estimator, an honest training loop, and no fθ in sight."""

import ast
import importlib.util
import re

import numpy as np
import pandas as pd
import pytest
import torch

from ftheta import data
from ftheta.cli._answers import answer
from ftheta.data import PixelEncoder, TableEncoder
from ftheta.errors import InputError
from ftheta.models import LinearRegression, LogisticRegression, MLPClassifier, MLPRegressor, ModuleClassifier
from ftheta.models._export import SCRIPT, export
from ftheta.nn import ACTIVATIONS
from ftheta.optim import RULES, SCHEDULES
from ftheta.train import Training

ALLOWED = {"argparse", "copy", "json", "math", "numpy", "pandas", "pathlib", "re", "safetensors", "sys", "torch"}


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
    given = {"title": "A test.", "target": "y", "encoding": "utf-8", **options}
    files = export(estimator, encoder.get_state(), classes=classes, spread=spread, **given)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    spec = importlib.util.spec_from_file_location("exported", folder / SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fitted(estimator, x, y):
    encoder = TableEncoder(getattr(estimator, "dtype", "float64")).fit(x)
    return encoder, estimator.fit(encoder.transform(x), y)


def assert_same(module, encoder, estimator, rows, names=(), spread=None):
    """The script's table is what the command line would write."""
    given = None if spread is None else {"half_width": spread}
    want = answer(estimator, encoder.transform(encoder.align(rows)), given)
    got = module.predict(rows)
    if want.p is not None:
        assert got["prediction"].tolist() == [names[want.classes.index(c)] for c in want.predicted.tolist()]
        np.testing.assert_allclose(got[[f"p({n})" for n in names]].to_numpy(), want.p, rtol=0, atol=1e-6)
        return
    ends = {} if want.low is None else {"low": want.low, "high": want.high}
    assert list(got) == ["prediction", *ends]
    for name, values in {"prediction": want.predicted, **ends}.items():
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


@pytest.mark.parametrize("rate", [1e-30, 0.02, 0.7, 3.0, 45.5, 1200.0, 2e6])
@pytest.mark.parametrize("q", [0.025, 0.975])
def test_quantiles_of_counts_are_those_of_scipy(tmp_path, rate, q):
    from scipy import stats

    x, score = frame()
    counts = np.floor(np.maximum(score, 0))
    encoder, model = fitted(MLPRegressor(likelihood="poisson", hidden=(), dtype="float64", **quick()), x, counts)
    found = written(tmp_path, model, encoder).poisson_quantile(torch.tensor([rate], dtype=torch.float64), q)
    assert found.tolist() == [stats.poisson.ppf(q, rate)]


@pytest.mark.parametrize("intercept", [True, False])
def test_a_linear_regression_predicts_the_same_and_trains_to_the_same_coefficients(tmp_path, intercept):
    x, score = frame()
    encoder, model = fitted(LinearRegression(fit_intercept=intercept), x, score)
    module = written(tmp_path, model, encoder, spread=0.25)
    assert_same(module, encoder, model, new_rows(), spread=0.25)
    net = module.train(x, score)
    np.testing.assert_allclose(net.linear.weight.detach().numpy()[0], model.coef_, atol=1e-9)
    np.testing.assert_allclose(net.linear.bias.item(), model.intercept_, atol=1e-9)


@pytest.mark.parametrize("weights", [None, "balanced", {"low": 3.0}])
@pytest.mark.parametrize("kinds", [2, 3])
def test_a_logistic_regression_trains_to_the_same_coefficients(tmp_path, kinds, weights):
    x, score = frame()
    y = np.array(["low", "mid", "top"])[np.digitize(score, [4.0, 6.0][: kinds - 1])]
    encoder, model = fitted(LogisticRegression(l2=0.01, class_weight=weights), x, y)
    net = written(tmp_path, model, encoder, sorted(set(y))).train(x, y)
    np.testing.assert_allclose(net.linear.weight.detach().numpy(), model.coef_, atol=1e-6)
    np.testing.assert_allclose(net.linear.bias.detach().numpy(), model.intercept_, atol=1e-6)


@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
def test_every_activation_is_written_as_it_is(tmp_path, activation):
    x, score = frame()
    encoder, model = fitted(MLPRegressor(hidden=(4, 3), activation=activation, dropout=0.3, **quick()), x, score)
    assert_same(written(tmp_path, model, encoder), encoder, model, new_rows())


def test_layers_may_have_activations_of_their_own_or_be_none(tmp_path):
    x, score = frame()
    for hidden, activation in (((3, 2), ("tanh", "sin")), ((), "relu")):
        encoder, model = fitted(MLPRegressor(hidden=hidden, activation=activation, **quick()), x, score)
        assert_same(written(tmp_path, model, encoder), encoder, model, new_rows())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_pictures_are_shifted_and_scaled(tmp_path, dtype):
    x = np.random.default_rng(0).integers(0, 256, (30, 4, 4, 1), dtype=np.uint8)
    y = np.arange(30) % 3
    encoder = PixelEncoder(dtype).fit(x.reshape(30, 16))
    model = MLPClassifier(hidden=(5,), dtype=dtype, **quick()).fit(encoder.transform(x.reshape(30, 16)), y)
    module = written(tmp_path, model, encoder, ["a", "b", "c"])
    np.testing.assert_allclose(
        module.predict(x).iloc[:, 1:], model.predict_proba(encoder.transform(x.reshape(30, 16))), atol=1e-6
    )
    for name in ("one.npy", "many.npz"):
        np.save(tmp_path / name, x) if name == "one.npy" else np.savez(tmp_path / name, y=y, images=x)
        assert (module.read(tmp_path / name) == x).all()
    with pytest.raises(ValueError, match="The pictures have 9 values each; the net was trained with 16"):
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
    ours, module.ENCODER["comma"] = found.x, found.form.comma
    for column in module.ENCODER["columns"]:
        column["format"] = found.form.dates.get(column["name"])
    return module.encode(module.read(tmp_path / "new.csv")).numpy(), encoder.transform(encoder.align(ours))


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


@pytest.mark.parametrize("words", [("TRUE", "FALSE"), ("true", "false"), ("True", "False")])
def test_truth_values_may_be_spelled_in_three_ways(tmp_path, words):
    x = pd.DataFrame({"urgent": ["True", "False"] * 4, "m": np.arange(8.0) ** 2})
    got, want = read_both(tmp_path, "urgent,m\n" + "".join(f"{w},1\n" for w in words), x)
    assert (got == want).all() and got[0, 0] != got[1, 0]


def test_other_encodings_are_kept(tmp_path):
    x = pd.DataFrame({"Gebäude": ["Büro", "Schule"] * 4, "m": np.arange(8.0) ** 2})
    got, want = read_both(tmp_path, "Gebäude;m\nBüro;1\nSchule;2\n", x, "latin-1")
    assert (got == want).all() and got[0, 0] != got[1, 0]


# ---- training


def test_the_loop_learns_what_the_estimator_learns(tmp_path):
    x, y = data.make("moons", n=300, noise=0.1, seed=0).x, data.make("moons", n=300, noise=0.1, seed=0).y
    encoder, model = fitted(MLPClassifier(hidden=(16,), epochs=60, lr=0.02, random_state=0), x, y)
    module = written(tmp_path, model, encoder, ["0", "1"])
    net = module.train(x, y)
    with torch.no_grad():
        found = module.density(net, module.encode(x)).logits.numpy() > 0
    assert not net.training
    assert np.mean(found == y) > model.score(encoder.transform(x), y) - 0.03 > 0.9


@pytest.mark.parametrize("optimizer", sorted(RULES))
def test_every_optimizer_lowers_the_loss(tmp_path, optimizer):
    x, score = frame()
    encoder, model = fitted(MLPRegressor(hidden=(4,), optimizer=optimizer, **quick()), x, score)
    module = written(tmp_path, model, encoder)
    inputs = module.encode(x), module.encode_target(score)
    torch.manual_seed(0)
    start = module.mean_loss(module.Net(), *inputs).item()
    assert module.mean_loss(module.train(x, score, epochs=20), *inputs).item() < start


def test_one_update_is_that_of_the_library(tmp_path):
    """From the same weights, on all rows: penalties, clipping, class weights and options in their order."""
    x, score = frame()
    y = np.where(score > 4, "top", "low")
    knobs = Training(l2=0.1, l1=0.01, penalise_bias=True, clip_value=0.02, clip_norm=0.05, options={"momentum": 0.5})
    own = {"hidden": (3,), "init": "zeros", "activation": "sigmoid", "class_weight": {"low": 2.0}}
    model = MLPClassifier(**own, optimizer="sgd", lr=0.7, epochs=2, batch_size=500, training=knobs, random_state=0)
    encoder, model = fitted(model, x, y)
    net = written(tmp_path, model, encoder, ["low", "top"]).train(x, y)
    for name, p in model.module_.state_dict().items():
        np.testing.assert_allclose(net.state_dict()[name], p, rtol=1e-4, atol=1e-7)
    assert net.output.bias.abs().max() > 1e-3


@pytest.mark.parametrize("schedule", sorted(SCHEDULES))
@pytest.mark.parametrize("warmup", [0, 3])
def test_the_rate_moves_as_the_schedule_says(tmp_path, schedule, warmup):
    from ftheta.optim import factor

    x, score = frame()
    model = MLPRegressor(lr=0.5, training=Training(schedule=schedule, warmup=warmup), **quick())
    encoder, model = fitted(model, x, score)
    module = written(tmp_path, model, encoder)
    if schedule == "constant" and not warmup:
        assert not hasattr(module, "rate")
        return
    found = [module.rate(step, 20) for step in range(21)]
    np.testing.assert_allclose(found, [0.5 * factor(schedule, step, 20, warmup) for step in range(21)])
    module.train(x, score)


def test_training_stops_when_validation_rows_get_no_better_and_goes_back_to_the_best(tmp_path, monkeypatch):
    x, score = frame()
    model = MLPRegressor(hidden=(30,), lr=0.05, epochs=200, patience=3, random_state=0)
    encoder, model = fitted(model, x.head(30), score[:30])
    module = written(tmp_path, model, encoder)
    seen, real = [], module.mean_loss

    def spy(net, x, y):
        loss = real(net, x, y)
        seen.extend([] if net.training else [loss.item()])
        return loss

    monkeypatch.setattr(module, "mean_loss", spy)
    other = x.tail(40), score[-40:]
    net = module.train(x.head(30), score[:30], *other)
    assert len(seen) < 200 and int(np.argmin(seen)) == len(seen) - 4
    assert real(net, module.encode(other[0]), module.encode_target(other[1])).item() == pytest.approx(min(seen))


def test_frozen_parameters_stay_as_they_begin(tmp_path):
    x, score = frame()
    model = MLPRegressor(hidden=(3,), training=Training(freeze=("hidden1.*",)), **quick())
    encoder, model = fitted(model, x, score)
    net = written(tmp_path, model, encoder).train(x, score)
    assert not net.hidden1.weight.requires_grad and net.hidden1.bias.abs().max() == 0
    assert net.output.bias.abs().max() > 0


# ---- the text


def imported(text):
    nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Import | ast.ImportFrom)]
    names = {a.name if isinstance(n, ast.Import) else n.module for n in nodes for a in n.names}
    return {name.partition(".")[0] for name in names}


def test_a_script_imports_only_what_it_says_and_uses_all_of_it(tmp_path):
    x, score = frame()
    for model in (LinearRegression(), MLPRegressor(patience=2, activation="sin", **quick())):
        encoder, model = fitted(model, x, score)
        written(tmp_path, model, encoder)
        text = (tmp_path / SCRIPT).read_text(encoding="utf-8")
        assert imported(text) <= ALLOWED and "ftheta" not in text
        for name in re.findall(r"^(?:import|from \S+ import) (?:\S+ as )?(\w+)$", text, re.MULTILINE):
            assert len(re.findall(rf"\b{name}\b", text)) > 1, name
        assert max(map(len, text.splitlines())) <= 120 and "<<" not in text


def test_a_script_holds_only_what_its_columns_need(tmp_path):
    x, score = frame()
    encoder, model = fitted(LinearRegression(), x[["garden", "town"]], score)
    words = written(tmp_path, model, encoder)
    assert hasattr(words, "levels") and not hasattr(words, "as_numbers") and not hasattr(words, "as_days")
    encoder, model = fitted(LinearRegression(), x[["a"]], score)
    assert not hasattr(written(tmp_path, model, encoder), "levels")


def test_names_cannot_become_code(tmp_path):
    x, score = frame()
    evil = ['"""', "'''\nraise SystemExit\n'''", "\\", "<<dtype>>", "{0}", "é\u2028"]
    y = np.array(evil, dtype=object)[np.arange(len(x)) % len(evil)]
    encoder, model = fitted(LogisticRegression(), x.rename(columns={"a": evil[1]}), y.astype(str))
    names = model.classes_.tolist()
    title = '"""\nraise SystemExit <<constants>> \\'
    module = written(tmp_path, model, encoder, names, title=title, target=evil[0])
    assert module.CLASSES == names and module.TARGET == evil[0]
    assert module.predict(x.rename(columns={"a": evil[1]}))["prediction"].isin(names).all()


# ---- what cannot be exported


def test_other_models_are_refused_in_one_sentence():
    model = ModuleClassifier(epochs=1, random_state=0).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(InputError, match=r"^ModuleClassifier cannot be exported as Python yet; mlp and linear can\."):
        export(model, {}, title="", target="", classes=["0", "1"], spread=None, encoding="utf-8")


@pytest.mark.parametrize(
    "model", [LinearRegression(), MLPRegressor(**quick()), MLPClassifier(**quick())], ids=lambda m: type(m).__name__
)
def test_several_targets_are_refused(model):
    y = np.array([[0, 1], [1, 0], [1, 1]])
    with pytest.raises(InputError, match="was fitted to 2 targets; a script is written for one"):
        model.fit(np.eye(3), y).source()
