"""The catalog: a table that is read without importing a model, and names only what is there."""

import dataclasses
import inspect

import pytest

import ftheta
from ftheta import catalog
from ftheta.base import Estimator
from ftheta.errors import InputError

INPUTS = {"table", "image", "sequence", "text", "series", "boxes", "environment"}
SUPPORTS = {"real", "unit", "sign", "bit", "count", "category"}
EXTRAS = {"", "data", "lab", "tune", "text", "rl", "export", "tensorboard"}


def test_reading_the_table_loads_nothing_heavy(fresh):
    assert fresh("from ftheta import catalog; catalog.card('mlp')") == set()


@pytest.mark.parametrize("name", catalog.CARDS)
def test_a_card_says_what_there_is_to_know_and_its_classes_exist(name):
    card = catalog.card(name)
    assert card.name == name and card.summary.endswith(".") and card.topics and card.targets
    assert card.input in INPUTS and card.support in SUPPORTS and card.extra in EXTRAS
    for task, where in card.targets.items():
        cls = catalog.resolve(name, task)
        assert where == f"{cls.__module__}:{cls.__qualname__}" and issubclass(cls, Estimator)
        assert dataclasses.is_dataclass(cls) and inspect.getdoc(cls)
        assert all(p.kind is p.KEYWORD_ONLY for p in inspect.signature(cls).parameters.values())


def test_every_estimator_is_listed_once_and_reached_from_the_top():
    found = ftheta.all_estimators()
    targets = [where for card in catalog.CARDS.values() for where in card.targets.values()]
    assert len(set(targets)) == len(targets) == len(found)
    for name, cls in found.items():
        assert cls.__name__ == name and getattr(ftheta, name) is cls and name in dir(ftheta)


def test_an_unknown_model_or_task_is_answered_with_the_nearest():
    with pytest.raises(InputError, match=r"Unknown model 'mpl'\. Did you mean 'mlp'\? Known: linear, "):
        catalog.card("mpl")
    with pytest.raises(InputError, match=r"Unknown task of model 'mlp': 'clasify'\. Did you mean 'classify'\?"):
        catalog.resolve("mlp", "clasify")


def test_a_name_outside_the_table_is_never_imported():
    for name in ("os", "subprocess:run", "ftheta.models.mlp:MLPClassifier", "../mlp", ""):
        with pytest.raises(InputError, match="Unknown model"):
            catalog.resolve(name, "classify")


def test_nearest_names_all_where_none_is_near():
    assert catalog.nearest("colour", "qqq", ["red", "blue"]) == "Unknown colour 'qqq'. Known: red, blue."
    assert "Did you mean 'red'?" in catalog.nearest("colour", "rde", ["red", "blue"])
