"""Loading: what is whole comes back, and everything else is named: no model, half a run, a damaged or foreign file."""

import json
import re

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone

import ftheta
from ftheta.data import TableEncoder
from ftheta.errors import FileFormatError, FThetaError, InputError, RunError
from ftheta.models import BasisRegression, LinearRegression, MLPClassifier, MLPRegressor
from ftheta.store import Run
from ftheta.train import Training

X = np.random.default_rng(0).normal(size=(60, 3))
y = np.where(X[:, 0] > 0, "yes", "no")
QUICK = {"hidden": (5,), "epochs": 2, "random_state": 0}


@pytest.fixture
def saved(tmp_path):
    return MLPClassifier(**QUICK).fit(X, y).save(tmp_path / "model")


def rewritten(source, path, *, config=None, change=None):
    """The model in `source` written anew, digests and all, with some of its content changed."""
    old = Run(source)
    tree = old.tree("model.safetensors")
    if change:
        change(tree)
    with Run(path) as run:
        run.write("model.safetensors", tree)
        run.write("config.json", json.dumps(json.loads(old.read("config.json")) | (config or {})))
        run.finish()
    return path


def test_parameters_of_every_kind_come_back(tmp_path):
    training = Training(l2=0.01, options={"betas": (0.8, 0.9)}, freeze=("hidden1.bias",), seconds=50.0)
    given = MLPClassifier(**QUICK, class_weight={"yes": 2.0, "no": 1.0}, batch_size=30, training=training)
    loaded = ftheta.load(given.fit(X, y).save(tmp_path / "a"))
    assert loaded.get_params() == given.get_params() and loaded.training == training
    assert clone(loaded).fit(X, y).predict_proba(X).tolist() == given.predict_proba(X).tolist()
    numbers = MLPClassifier(**QUICK, class_weight={0: 2.0, 1: 1.0}).fit(X, (y == "yes").astype(int))
    assert ftheta.load(numbers.save(tmp_path / "b")).class_weight == {0: 2.0, 1: 1.0}


@pytest.mark.parametrize(
    "labels",
    [["a", "b", "c"], [1, 2, 3], [1.0, 2.0, 4.0], [True, False, True], ["θ", "🎈", ""]],
    ids=["text", "int", "float", "bool", "unicode"],
)
def test_labels_of_every_kind_come_back(labels, tmp_path):
    given = np.array(labels, dtype=object if "" in labels else None)[np.arange(60) % 3]
    model = MLPClassifier(**QUICK).fit(X, given)
    loaded = ftheta.load(model.save(tmp_path / "a"))
    assert loaded.classes_.dtype == model.classes_.dtype and np.array_equal(loaded.predict(X), model.predict(X))


def test_a_learned_likelihood_and_units_come_back(tmp_path):
    target = 1e4 + 50 * X[:, :2]
    model = MLPRegressor(**QUICK, likelihood="gaussian-learned").fit(X, target)
    loaded = ftheta.load(model.save(tmp_path / "a"))
    assert np.array_equal(loaded.predict_interval(X), model.predict_interval(X))
    assert loaded.evaluate(X, target) == model.evaluate(X, target)


def test_what_was_loaded_is_a_whole_estimator(saved):
    loaded = ftheta.load(str(saved))
    assert loaded.score(X, y) == MLPClassifier(**QUICK).fit(X, y).score(X, y)
    assert not loaded.module_.training and "MLPClassifier" in repr(loaded)
    assert re.match(r"<p>[\d,]+ parameters, \d+ epochs?, loss [\d.]+", loaded._repr_html_())
    with pytest.raises(InputError, match="X has 2 features, but MLPClassifier is expecting 3"):
        loaded.predict(X[:, :2])


def test_a_run_with_an_encoder_comes_back_as_a_pipeline(tmp_path):
    frame = pd.DataFrame(1000 + 50 * X, columns=["a", "b", "c"])
    encoder = TableEncoder().fit(frame)
    model = MLPClassifier(**QUICK).fit(encoder.transform(frame), y)
    path = model.save(tmp_path / "a")
    with Run(path) as run:
        run.write("encoder.json", json.dumps(encoder.get_state()))
    pipeline = ftheta.load(path)
    assert np.array_equal(pipeline.predict(frame), model.predict(encoder.transform(frame)))
    assert np.array_equal(
        pipeline.predict(frame[["a", "b", "c"]].iloc[:1]), model.predict(encoder.transform(frame))[:1]
    )


# ---- what is no model


def test_a_path_where_nothing_is_is_named_and_nothing_is_made_there(tmp_path):
    with pytest.raises(InputError, match="nothing does not exist. Give the folder that save"):
        ftheta.load(tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()


def test_a_file_is_not_a_model(saved):
    with pytest.raises(
        FileFormatError, match="model.safetensors is a file; a saved model is a folder with config.json"
    ):
        ftheta.load(saved / "model.safetensors")


def test_a_folder_without_a_model_is_named_and_stays_as_it_is(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FileFormatError, match="manifest.json is missing: nothing here can be verified"):
        ftheta.load(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["notes.txt"]


def test_an_unfinished_run_says_how_to_finish_it(tmp_path):
    with Run(tmp_path / "a") as run:
        run.log({"loss": 1.0})
        run.checkpoint({"weights": torch.zeros(2)}, 1)
    with pytest.raises(RunError, match="holds no finished model. Finish it with: ftheta train --resume"):
        ftheta.load(tmp_path / "a")


@pytest.mark.parametrize("other", [1, 3, None, "2"])
def test_another_format_is_refused(saved, tmp_path, other):
    changed = rewritten(saved, tmp_path / "other", config={"format": other, "ftheta": "9.1"})
    with pytest.raises(FileFormatError, match="other has format .*, written by fθ 9.1; this version reads"):
        ftheta.load(changed)


# ---- whole files with the wrong content


def resized(tree):
    tree["state"]["modules"]["module_"]["hidden1.weight"] = torch.zeros(5, 7)


def missing(tree):
    del tree["state"]["modules"]["module_"]["output.bias"]


def extra(tree):
    tree["state"]["modules"]["module_"]["head.w"] = torch.zeros(3)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (resized, r"'hidden1.weight' is \(5, 7\), the model needs \(5, 3\)"),
        (missing, "missing: output.bias"),
        (extra, "unexpected: head.w"),
    ],
)
def test_tensors_of_another_model_are_named(saved, tmp_path, change, text):
    with pytest.raises(ValueError, match=f"module_ does not fit: {text}. Check that the module has the same layers"):
        ftheta.load(rewritten(saved, tmp_path / "changed", change=change))


def within(*path, value):
    """A change of a tree: another value at a place."""

    def change(tree):
        for key in path[:-1]:
            tree = tree.setdefault(key, {}) if tree.get(key) is not None else tree.update({key: {}}) or tree[key]
        tree[path[-1]] = value

    return change


NONSENSE = {
    "no parameters": lambda tree: tree.pop("params"),
    "parameters that are no table": lambda tree: tree.update(params=[1, 2]),
    "no state": lambda tree: tree.pop("state"),
    "no specs": lambda tree: tree["state"].pop("input_"),
    "no modules": lambda tree: tree["state"].pop("modules"),
    "no classes": lambda tree: tree["state"].update(classes_=np.array([])),
    **{
        f"{'.'.join(path)} = {value!r:.40}": within(*path, value=value)
        for path, value in [
            (("params", "nothing"), 1),
            (("params", "hidden"), "abc"),
            (("params", "hidden"), ("64",)),
            (("params", "hidden"), (True,)),
            (("params", "hidden"), (2.0,)),
            (("params", "epochs"), "5"),
            (("params", "epochs"), True),
            (("params", "epochs"), "1); __import__('os').mkdir('x')#"),
            (("params", "patience"), [1]),
            (("params", "lr"), "0.1"),
            (("params", "lr"), float("nan")),
            (("params", "dropout"), True),
            (("params", "random_state"), True),
            (("params", "dtype"), "float16"),
            (("params", "activation"), "exec"),
            (("params", "activation"), (1,)),
            (("params", "optimizer"), 3),
            (("params", "class_weight"), {"yes": "2"}),
            (("params", "training"), {"nothing": 1}),
            (("params", "training"), {"threads": 1025}),
            (("params", "training"), {"accumulate": True}),
            (("params", "training"), {"clip_norm": "1"}),
            (("params", "training"), {"freeze": "a"}),
            (("params", "training"), {"freeze": (1,)}),
            (("params", "training"), {"options": {"nothing": 1}}),
            (("params", "training"), {"options": {"eps=1, x": 1}}),
            (("params", "training"), {"options": {3: 1}}),
            (("params", "training"), {"options": {"eps": {"a": 1}}}),
            (("params", "training"), {"options": {"rule": "os.mkdir"}}),
            (("params", "training"), {"rates": {"a": "1"}}),
            (("state", "input_"), 7),
            (("state", "input_"), ((10**12,),)),
            (("state", "input_"), ((-3,),)),
            (("state", "input_"), ((0,),)),
            (("state", "n_features_in_"), 0),
            (("state", "target_"), ("exec", 0)),
            (("state", "target_"), ("multiclass", 10**12)),
            (("state", "target_"), ("multiclass", 2)),
            (("state", "n_features_in_"), "3"),
            (("state", "n_features_in_"), 10**12),
            (("state", "classes_"), "ab"),
            (("state", "classes_"), np.array(["a", "b", "c"])),
            (("state", "seed_"), "0"),
            (("state", "seed_"), -1),
            (("state", "history_"), "x"),
            (("state", "history_"), [{"loss": [1]}]),
            (("state", "stop_reason_"), 3),
            (("state", "modules", "module_", "output.bias"), "x"),
            (("state", "modules", "other_"), {}),
            (("state", "predict"), "x"),
            (("state", "_trainer_"), "x"),
        ]
    },
}


@pytest.mark.parametrize("case", NONSENSE)
def test_whole_files_that_describe_no_model_are_one_error_that_names_the_folder(saved, tmp_path, case):
    path = rewritten(saved, tmp_path / "changed", change=NONSENSE[case])
    with pytest.raises(FThetaError) as caught:
        ftheta.load(path)
    assert str(path) in str(caught.value) and len(str(caught.value)) < 1000
    if case.startswith("state"):
        with pytest.raises(FThetaError):
            MLPClassifier(**QUICK).fit(X, y, run=path)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_not_finite_are_named(saved, tmp_path, value):
    def spoil(tree):
        tree["state"]["modules"]["module_"]["hidden1.weight"][:2, 0] = value

    path = rewritten(saved, tmp_path / "changed", change=spoil)
    with pytest.raises(FileFormatError, match="'hidden1.weight' holds 2 values that are not finite") as caught:
        ftheta.load(path)
    assert str(path) in str(caught.value)
    plain = LinearRegression().fit(X, X[:, 0]).save(tmp_path / "plain")
    bad = rewritten(plain, tmp_path / "bad", change=lambda tree: tree["state"].update(coef_=np.full(3, np.nan)))
    with pytest.raises(FileFormatError, match="'coef_' holds 3 values that are not finite"):
        ftheta.load(bad)


def test_an_infinite_deviation_of_a_line_through_two_points_is_no_damage(tmp_path):
    line = LinearRegression().fit([[0.0], [1.0]], [1.0, 3.0])
    assert line.sigma_ == np.inf and ftheta.load(line.save(tmp_path / "a")).sigma_ == np.inf


def test_a_degree_that_does_not_fit_the_weights_takes_no_memory(tmp_path):
    model = BasisRegression(degree=2).fit(X, X[:, 0]).save(tmp_path / "a")
    for k, degree in enumerate((1, 10**9)):
        with pytest.raises(FThetaError, match=f"degree={degree} does not fit 10 weights of 3 columns"):
            ftheta.load(
                rewritten(model, tmp_path / str(k), change=lambda tree, d=degree: tree["params"].update(degree=d))
            )


@pytest.mark.parametrize(
    "change",
    [{"seed": "0"}, {"seed": True}, {"seed": -1}, {"seed": 10**30}, {"parameters": 3}, {"class": None}, {"data": []}],
    ids=str,
)
def test_facts_of_a_fit_that_describe_none_are_one_error(tmp_path, change):
    path = tmp_path / "run"
    MLPClassifier(**QUICK).fit(X, y, run=path)
    with Run(path) as run:
        run.write("fit.json", json.dumps(json.loads(run.read("fit.json")) | change))
    with pytest.raises(FThetaError, match="fit.json does not describe a fit") as caught:
        MLPClassifier(**QUICK).fit(X, y, run=path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "text", ["[]", "{}", '{"model": 3}', "not json", '{"format": "x", "model": "mlp", "task": "classify"}']
)
def test_a_config_that_describes_no_model_is_a_file_error(saved, tmp_path, text):
    with Run(tmp_path / "changed") as run:
        run.write("model.safetensors", Run(saved).tree("model.safetensors"))
        run.write("config.json", text)
        run.finish()
    with pytest.raises(FileFormatError, match="changed"):
        ftheta.load(tmp_path / "changed")


def test_a_model_without_its_config_is_a_file_error(tmp_path):
    with Run(tmp_path / "a") as run:
        run.write("model.safetensors", {"params": {}, "state": {}})
        run.finish()
    with pytest.raises((FileFormatError, RunError), match="config.json"):
        ftheta.load(tmp_path / "a")
