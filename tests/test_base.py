"""The base of all estimators: parameters, a state that is a value, and files without code in them."""

import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils._param_validation import InvalidParameterError

import ftheta
from ftheta import catalog
from ftheta.base import FORMAT, Estimator, card_of, documented
from ftheta.check import Positive
from ftheta.errors import FileFormatError, InputError, RunError
from ftheta.likelihoods import Gaussian
from ftheta.models import LinearRegression, MLPClassifier, MLPRegressor
from ftheta.store import Run


@dataclass(frozen=True)
class Inner:
    depth: int = 1
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(kw_only=True, eq=False, repr=False)
class Toy(Estimator):
    rate: Positive = 0.5
    inner: Inner | None = None
    thing: Any = None

    def fit(self, X, y=None):
        self._check_parameters()
        self.mean_ = np.mean(X)
        self._hidden_ = self.note = 1
        return self


@pytest.fixture
def listed(monkeypatch):
    """Toy in the catalog, for as long as a test lasts."""
    monkeypatch.setitem(catalog.CARDS, "toy", catalog.Card("toy", {("table", "none"): f"{__name__}:Toy"}))


def test_parameters_are_checked_when_it_fits_not_when_it_is_made():
    toy = Toy(rate=-1)
    with pytest.raises(
        InvalidParameterError, match=r"The 'rate' parameter of Toy must be a float in the range \(0.0, inf"
    ):
        toy.fit([[1.0]])


def test_a_field_of_a_frozen_parameter_is_replaced_and_the_parameter_made_where_it_is_none():
    toy = Toy().set_params(inner__depth=3, rate=2.0)
    assert toy.inner == Inner(depth=3) and toy.rate == 2.0
    before = toy.inner
    assert toy.set_params(inner__more={"a": 1}).inner == Inner(3, {"a": 1}) and before == Inner(3)
    assert clone(toy).get_params() == toy.get_params()
    assert toy.set_params(inner=None).inner is None


def test_unknown_parameters_are_answered_with_the_nearest():
    with pytest.raises(InputError, match=r"Unknown parameter of Toy: 'rte'\. Did you mean 'rate'\? Known: .*rate"):
        Toy().set_params(rte=1)
    with pytest.raises(InputError, match=r"Unknown parameter of Inner: 'dpth'\. Did you mean 'depth'"):
        Toy().set_params(inner__dpth=1)
    toy = Toy()
    with pytest.raises(InputError):
        toy.set_params(rate=3.0, nothing=1)
    assert toy.rate == 0.5  # all or nothing


def test_the_state_is_what_ends_in_an_underscore():
    toy = Toy().fit([[1.0, 3.0]])
    assert toy.get_state() == {"mean_": 2.0}
    other = Toy()
    other.set_state(toy.get_state())
    assert other.mean_ == 2.0
    for name in ("fit", "_hidden_", "__class__", "rate"):
        with pytest.raises(InputError, match=f"'{name}' is not learned by Toy: what is learned ends in '_'"):
            other.set_state({name: 1})


def test_a_class_outside_the_catalog_has_no_name_in_a_file(tmp_path):
    assert card_of(MLPClassifier) == ("mlp", "table", "classify")
    with pytest.raises(InputError, match="Toy is not in the catalog, so no file can name it. Add its card"):
        Toy().fit([[1.0]]).save(tmp_path / "toy")
    assert not (tmp_path / "toy").exists()


def test_a_class_of_the_catalog_is_saved_and_loaded_by_the_base_alone(listed, tmp_path):
    toy = Toy(rate=2.0, thing={"a": [1, (2.5, None)], 3: True}).fit([[1.0, 3.0]])
    loaded = ftheta.load(toy.save(tmp_path / "toy"))
    assert loaded.mean_ == 2.0 and loaded.get_params() == toy.get_params()


@pytest.mark.parametrize(
    "value",
    [abs, object(), {1.5: 2}, [object()], np.zeros(2), {"a": {("b",): 1}}],
    ids=["function", "object", "float key", "list of objects", "array", "tuple key"],
)
def test_a_parameter_that_no_file_can_hold_is_refused_by_name(listed, value, tmp_path):
    with pytest.raises(InputError, match="Parameter thing=.* of Toy cannot be put into a file: it is neither a plain"):
        Toy(thing=value).fit([[1.0]]).save(tmp_path / "toy")
    assert not (tmp_path / "toy").exists()


def test_an_own_likelihood_makes_save_refuse_by_name(tmp_path):
    model = MLPRegressor(likelihood=Gaussian(0.5), hidden=(), epochs=1).fit([[0.0], [1.0]], [0.0, 1.0])
    with pytest.raises(InputError, match="Parameter likelihood=Gaussian.* of MLPRegressor cannot be put into a file"):
        model.save(tmp_path / "model")


def test_nothing_that_exists_is_overwritten(tmp_path):
    model = LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])
    text = tmp_path / "notes.txt"
    text.write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full/notes.txt").write_text("mine")
    for path in (text, tmp_path / "full"):
        for overwrite in (False, True):
            with pytest.raises(InputError, match="holds no saved model; nothing was changed. Choose another path."):
                model.save(path, overwrite=overwrite)
    assert text.read_text() == "mine" and [p.name for p in (tmp_path / "full").iterdir()] == ["notes.txt"]
    (tmp_path / "empty").mkdir()
    assert ftheta.load(model.save(tmp_path / "empty")).coef_ == model.coef_


def test_a_saved_model_is_replaced_where_that_is_asked_for(tmp_path):
    first = LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])
    second = MLPClassifier(hidden=(3,), epochs=1).fit([[0.0], [1.0]], ["a", "b"])
    path = first.save(tmp_path / "model")
    before = contents(path)
    with pytest.raises(InputError, match="holds a saved model; nothing was changed. Pass overwrite=True to replace it"):
        second.save(path)
    assert contents(path) == before and ftheta.load(path).coef_ == first.coef_
    assert ftheta.load(second.save(path, overwrite=True)).classes_.tolist() == ["a", "b"]
    assert ftheta.load(first.save(path, overwrite=True)).coef_ == first.coef_
    assert Run(path).verify() == []


def contents(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("state", ["finished", "unfinished", "started", "logged", "another hand"])
@pytest.mark.parametrize("overwrite", [False, True])
def test_a_run_is_never_replaced_by_save(tmp_path, state, overwrite):
    net, path = MLPClassifier(hidden=(3,), epochs=2, random_state=0), tmp_path / "run"
    if state == "finished":
        net.fit([[0.0], [1.0]], ["a", "b"], run=path)
    with Run(path) as run:
        if state in ("unfinished", "started"):
            run.write("fit.json", "{}")
        if state == "unfinished":
            run.checkpoint({"weights": [1.0]}, 1)
        if state == "logged":
            run.log({"loss": 1.0})
        if state == "another hand":
            run.finish({"model.safetensors": {"a": 1}, "notes.txt": "mine"})
    before = contents(path)
    with pytest.raises(InputError, match=f"{path} .*nothing was changed. Choose another path."):
        LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0]).save(path, overwrite=overwrite)
    assert contents(path) == before


@pytest.mark.middle
def test_an_interrupted_save_leaves_the_old_model_or_the_new_one_whole(tmp_path, monkeypatch):
    """Death at any write, rename or removal; the next process finds one of the two, or nothing at first."""
    old = LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])
    new = MLPClassifier(hidden=(3,), epochs=1, random_state=0).fit([[0.0], [1.0]], ["a", "b"])
    monkeypatch.setattr(os, "fsync", lambda fd: None)  # slow, and without effect on what is read
    calls = []

    def dying(name, at):
        real = getattr(os, name)

        def call(*args, **options):
            calls.append(name)
            if len(calls) >= at:
                raise Dead
            return real(*args, **options)

        return call

    class Dead(BaseException):
        pass

    def attempt(path, at):
        calls.clear()
        with monkeypatch.context() as patch:
            for name in ("write", "replace", "unlink", "ftruncate"):
                patch.setattr(os, name, dying(name, at))
            with contextlib.suppress(Dead):
                new.save(path, overwrite=True)
                return True

    for start in (None, old):
        seen = []
        for at in range(1, 99):
            path = tmp_path / f"{start is old}{at}"
            start and start.save(path)
            done = attempt(path, at)
            try:
                seen.append(type(ftheta.load(path)).__name__)
            except (InputError, RunError, FileFormatError):
                seen.append("nothing")
            assert type(ftheta.load(new.save(path, overwrite=True))).__name__ == "MLPClassifier"
            if done:
                break
        assert done and len(seen) > 8
        first = "nothing" if start is None else "LinearRegression"
        n = seen.count(first)
        assert seen == [first] * n + ["MLPClassifier"] * (len(seen) - n) and 0 < n < len(seen)


def test_the_files_are_plain_and_name_no_code(tmp_path):
    path = MLPClassifier(hidden=(3,), epochs=1).fit([[0.0], [1.0]], ["a", "b"]).save(str(tmp_path / "model"))
    config = json.loads((path / "config.json").read_text())
    assert (config["format"], config["model"], config["task"]) == (FORMAT, "mlp", "classify")
    assert config["ftheta"] == ftheta.__version__ and config["params"]["hidden"] == [3]
    assert {p.name for p in path.iterdir()} - {"lock"} == {
        "model.safetensors",
        "config.json",
        ".manifest.json.copy",
        "manifest.json",
    }
    assert Run(path).status == "finished" and not Run(path).verify()
    assert "MLPClassifier" not in (path / "model.safetensors").read_bytes().decode("latin-1")


@pytest.mark.parametrize("name", catalog.classes())
def test_a_docstring_names_every_parameter_and_no_other(name):
    estimator = catalog.all_estimators()[name]
    assert documented(estimator).keys() == estimator().get_params(deep=False).keys()
