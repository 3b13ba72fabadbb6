"""Settings from file, --set and flags: who wins, what is text and what is a number, and sentences for mistakes."""

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ftheta.check import Count, Widths
from ftheta.errors import InputError
from ftheta.jobs.config import Config, duration, from_toml, merge, parse_set, read_config, typed
from ftheta.train import Training

PLAIN = st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.booleans() | st.text()


@settings(max_examples=30)
@given(st.dictionaries(st.text(), PLAIN | st.lists(st.integers(-9, 9))), st.integers(0, 2**32 - 1), st.text())
def test_the_text_of_a_config_reads_back_as_the_same_config(params, seed, data):
    config = Config("mlp", data, seed=seed, params=params, training={"clip_norm": 1.0})
    assert merge(tomllib.loads(config.toml())) == config


def test_later_parts_win_and_tables_are_merged_key_by_key():
    file = {"model": "mlp", "seed": 1, "params": {"epochs": 1, "lr": 0.1}, "training": {"l2": 1.0}}
    found = merge(file, {"seed": 2, "params": {"lr": 0.2}}, {"params": {"lr": 0.3}, "training": {}})
    assert found == Config("mlp", seed=2, params={"epochs": 1, "lr": 0.3}, training={"l2": 1.0})


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("1.5s", 1.5), ("10m", 600), ("2h", 7200), ("1e2", 100), (".5h", 1800)],
)
def test_times_are_seconds_minutes_or_hours(text, seconds):
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["", "m", "10x", "-3s", "0", "0m", "nan", "inf", "infs", "ten"])
def test_other_times_are_refused(text):
    with pytest.raises(InputError, match=r"--time .*: expected a time such as 90s, 10m or 2h\."):
        duration(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *[
            ("1", 1),
            ("1e-3", 0.001),
            ("true", True),
            ("adam", "adam"),
            ('"1"', "1"),
            ("64,32", [64, 32]),
            ("64,", [64]),
        ],
        *[("", []), ("[1, 2]", [1, 2]), ("{a = 1}", {"a": 1}), ("a,b", "a,b"), ("a b", "a b"), ("hid1.*", "hid1.*")],
    ],
)
def test_a_value_is_toml_or_else_text(text, value):
    found = from_toml(text)
    assert found == value and type(found) is type(value)


def test_set_puts_plain_names_where_they_belong():
    found = parse_set(("lr=0.1", "seed=3", "training.clip_norm=1", "params.seed=4", " dropout =0.2", "test=0"))
    params = {"lr": 0.1, "seed": 4, "dropout": 0.2}
    assert found == {"params": params, "seed": 3, "training": {"clip_norm": 1}, "test": 0}
    assert parse_set(("init=a=b",)) == {"params": {"init": "a=b"}}


@dataclass
class Settings:
    size: Count | Literal["auto"] = 1
    hidden: Widths = ()
    rate: float = 0.0
    about: ClassVar[str] = ""


def test_values_take_the_types_of_the_fields():
    found = typed(Settings, {"size": 3, "hidden": [4, 5], "rate": 1}, "here")
    assert found == {"size": 3, "hidden": (4, 5), "rate": 1.0} and isinstance(found["rate"], float)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"size": -4}, "size=-4 should be greater than or equal to 1 or 'auto'."),
        ({"size": "abc"}, "size='abc' should be a valid integer or 'auto'."),
        ({"size": True}, "size=True should be a valid integer or 'auto'."),
        ({"hidden": ["64"]}, "hidden=['64'], where '64' should be a valid integer."),
        ({"hidden": "64"}, "hidden='64' should be a list."),
        ({"rate": "0.1"}, "rate='0.1' should be a valid number."),
        ({"hidden": [4, -3]}, "hidden=[4, -3], where -3 should be greater than or equal to 1."),
        ({"sise": 1}, "Unknown key 'sise'. Did you mean 'size'? Known: size, hidden, rate."),
        ({"about": 1}, "Unknown key 'about'. Known: size, hidden, rate."),
    ],
)
def test_a_value_of_another_type_is_one_sentence(values, sentence):
    with pytest.raises(InputError) as caught:
        typed(Settings, values, "here")
    assert str(caught.value) == f"here: {sentence}"


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"seed": True}, "seed=True should be a valid integer."),
        ({"skip_bad": 1}, "skip_bad=1 should be a valid boolean."),
        ({"target": 3}, "target=3 should be text."),
        ({"seed": -1}, "seed=-1 should be greater than or equal to 0."),
        ({"seed": 2**32}, "seed=4294967296 should be less than 4294967296."),
        ({"test": 1.0}, "test=1.0 should be less than 1 or text."),
        ({"validation": -0.1}, "validation=-0.1 should be greater than or equal to 0 or 'auto'."),
        ({"params": 3}, "params=3 should be a table: write NAME = VALUE below [params]."),
        ({"training": [1]}, "training=[1] should be a table: write NAME = VALUE below [training]."),
    ],
)
def test_a_setting_that_cannot_be_is_one_sentence(values, sentence):
    with pytest.raises(InputError) as caught:
        merge(values, {"params": {}, "training": {}}, where="my.toml")
    assert str(caught.value).startswith(f"my.toml: {sentence}")


def test_fields_of_training_can_be_set_from_text():
    values = {"clip_norm": 1, "freeze": ["a"], "options": {"momentum": 0.5}, "schedule": "cosine"}
    assert Training(**typed(Training, values, "")) == replace(
        Training(), clip_norm=1.0, freeze=("a",), options={"momentum": 0.5}, schedule="cosine"
    )


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"a = = 3", "is not a TOML file: Invalid value (at line 1, column 5). Correct it"),
        (b"a = 1\na = 2", "is not a TOML file: Cannot overwrite a value"),
        (b"\x89PNG", "is not a TOML file: 'utf-8' codec can't decode"),
    ],
)
def test_a_file_that_is_not_toml_is_one_sentence(tmp_path, content, sentence):
    file = tmp_path / "x.toml"
    file.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_config(file)
    assert str(caught.value).startswith(f"{file} {sentence}")


def test_a_missing_file_and_a_folder_are_one_sentence(tmp_path):
    with pytest.raises(InputError, match=r"--config nope\.toml: there is no such file\. Check the path\."):
        read_config(Path("nope.toml"))
    with pytest.raises(InputError, match=r"cannot be read: Is a directory\. Give the path of a TOML file\."):
        read_config(tmp_path)
