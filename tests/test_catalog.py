"""The catalog: tables that are read without importing a model, and name only what exists."""

import dataclasses
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import ftheta
from ftheta import catalog, data, explain
from ftheta.base import Estimator
from ftheta.catalog import Card, DataCard, View
from ftheta.errors import InputError
from tests import stubs

KINDS = {"table", "image", "sequence", "text", "series", "boxes", "environment"}
EXTRAS = {"", "data", "lab", "tune", "text", "rl", "export", "tensorboard", "boost"}
ROOT = Path(__file__).parents[1]


def test_reading_the_tables_loads_nothing_heavy(fresh):
    assert fresh("from ftheta import catalog; catalog.card('mlp'); catalog.view('summary')") == set()


@pytest.mark.parametrize("name", catalog.CARDS)
def test_a_card_is_complete_and_its_classes_exist(name):
    card = catalog.card(name)
    assert card.name == name and card.summary.endswith(".") and card.targets and card.extra in EXTRAS
    for (kind, task), where in card.targets.items():
        cls = catalog.resolve(name, kind, task)
        assert kind in KINDS and where == f"{cls.__module__}:{cls.__qualname__}" and issubclass(cls, Estimator)
        assert dataclasses.is_dataclass(cls) and inspect.getdoc(cls)
        assert all(p.kind is p.KEYWORD_ONLY for p in inspect.signature(cls).parameters.values())


def test_a_view_is_complete_and_its_function_exists():
    for name, view in catalog.VIEWS.items():
        function = catalog.load(view.target)
        assert view.name == name and view.summary.endswith(".") and view.question.endswith("?"), name
        assert view.cost in ("quick", "slow") and function.__name__ == name.replace("-", "_")
        assert getattr(explain, function.__name__) is function and explain.get(name).function is function


def test_a_line_of_a_data_set_is_what_is_in_it():
    for card in catalog.DATASETS.values():
        if card.source != "download":
            found = data.load(card.name)
            assert (found.kind, found.rows, found.columns, found.task) == card[2:6], card.name


def test_every_estimator_is_listed_once_and_reached_from_the_top():
    found = ftheta.all_estimators()
    assert len({where for card in catalog.CARDS.values() for where in card.targets.values()}) == len(found)
    for name, cls in found.items():
        assert cls.__name__ == name and getattr(ftheta, name) is cls is getattr(ftheta.models, name)
        assert name in dir(ftheta) and name in dir(ftheta.models)
    exec("from ftheta import *", star := {})
    assert star["MLPClassifier"] is ftheta.MLPClassifier and "Trainer" in star and "lazy" not in star


@pytest.mark.parametrize("package", stubs.PACKAGES)
def test_the_stub_is_what_make_stubs_writes(package):
    file = ROOT / "src" / package.replace(".", "/") / "__init__.pyi"
    assert file.read_text(encoding="utf-8") == stubs.stub(package)


def test_an_unknown_model_or_task_is_answered_with_the_nearest():
    with pytest.raises(InputError, match=r"Unknown model 'mpl'\. Did you mean 'mlp'\? Known: linear, "):
        catalog.card("mpl")
    with pytest.raises(InputError, match=r"'table clasify'\. Did you mean 'table classify'"):
        catalog.resolve("mlp", "table", "clasify")


@pytest.mark.parametrize(("other", "name"), [("logistic", "linear"), ("cnn", "convnet")])
def test_a_common_other_name_is_answered_with_ours(other, name):
    with pytest.raises(InputError, match=f"'{other}' is called '{name}' here"):
        catalog.card(other)


def test_a_name_outside_the_table_is_never_imported():
    for name in ("os", "subprocess:run", "ftheta.models.mlp:MLPClassifier", "../mlp", ""):
        with pytest.raises(InputError, match="Unknown model"):
            catalog.resolve(name, "table", "classify")


def test_lines_are_added_and_taken_out_again():
    lines = (
        Card("tiny", {("table", "classify"): "sklearn.dummy:DummyClassifier"}, "A constant."),
        View("zeros", "numpy:zeros", "coef_", "Why?", "Nothing."),
        DataCard("ours", "ftheta.data:moons"),
    )
    remove = catalog.register(*lines)
    try:
        assert catalog.resolve("tiny", "table", "classify").__name__ == "DummyClassifier"
        assert ftheta.models.DummyClassifier is catalog.resolve("tiny", "table", "classify")
        assert catalog.view("zeros").needs == "coef_" and data.load("ours").rows == 1000 and "ours" in data.names()
        with pytest.raises(InputError, match="already has a Card 'tiny'"):
            catalog.register(lines[0]._replace(summary="Another."))
    finally:
        remove()
        vars(ftheta.models).pop("DummyClassifier", None)
    assert "tiny" not in catalog.CARDS and "zeros" not in catalog.VIEWS and "ours" not in catalog.DATASETS
    with pytest.raises(InputError, match="Unknown model 'tiny'"):
        catalog.card("tiny")


def test_an_installed_package_adds_its_lines(tmp_path):
    """A process of its own: entry points are read once."""
    (tmp_path / "others.py").write_text(
        "from ftheta.catalog import Card\n"
        "CARDS = [Card('theirs', {('table', 'classify'): 'fractions:Fraction'}, 'A constant.')]\n"
    )
    about = tmp_path / "others-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[ftheta.cards]\nothers = others:CARDS\n")
    code = "import ftheta; print(ftheta.catalog.card('theirs').summary, ftheta.Fraction.__name__)"
    env = {"PYTHONPATH": f"{ROOT / 'src'}:{tmp_path}"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("A constant. Fraction\n", "")


def test_nearest_names_all_where_none_is_near():
    assert catalog.nearest("color", "qqq", ["red", "blue"]) == "Unknown color 'qqq'. Known: red, blue."
    assert "Did you mean 'red'?" in catalog.nearest("color", "rde", ["red", "blue"])
