"""No file runs code: forty hostile model, data and configuration files through every door; the sentinel stays absent.

A door is whatever opens a file that a user names. A file is offered as it is, as the model of a run whose digests
all fit (the manifest is no signature: who writes the files can write it too), as its checkpoint and as its other files.
"""

import io
import json
import os
import pickle
import tarfile
import zipfile
from functools import cache

import joblib
import numpy as np
import pytest
import torch
from safetensors.numpy import save

import ftheta
from ftheta.data import read_csv
from ftheta.errors import FThetaError
from ftheta.models import MLPClassifier
from ftheta.store import Run, dump_tree, load_tree, parse_tree

X = np.random.default_rng(0).normal(size=(20, 2))
Y = np.arange(20) % 2


class Trap:
    """Touches the sentinel when it is unpickled."""

    def __init__(self, sentinel):
        self.sentinel = str(sentinel)

    def __reduce__(self):
        return os.mkdir, (self.sentinel,)


def code(sentinel):
    return f"__import__('os').mkdir({str(sentinel)!r})"


def zipped(**members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), content)
    return out.getvalue()


def tarred(**members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def written(write):
    out = io.BytesIO()
    write(out)
    return out.getvalue()


@cache
def fitted():
    return MLPClassifier(hidden=(3,), epochs=1, random_state=0).fit(X, Y)


def tree_of(sentinel, change):
    """The file of a fitted model, changed."""
    tree = {"params": fitted()._params_tree(), "state": fitted().get_state()}
    change(tree, code(sentinel))
    return dump_tree(tree)


def header(tree):
    """A safetensors file whose header holds any JSON as its tree."""
    return save({"a": np.zeros(2)}, {"ftheta": json.dumps({"format": 1, "tree": tree})})


def texts(run):
    """Texts that other tools take for code."""
    return {
        "yaml object": f"!!python/object/apply:os.mkdir ['{run}']",
        "yaml new": f"!!python/object/new:os.mkdir\nargs: ['{run}']",
        "json py/reduce": json.dumps({"py/reduce": [{"py/function": "os.mkdir"}, {"py/tuple": [str(run)]}]}),
        "jinja": "{{ ''.__class__.__mro__[1].__subclasses__() }},{% include '" + code(run) + "' %}",
        "toml expression": f'hidden = "${{{code(run)}}}"',
        "python source": f"{code(run)}\n",
        "csv formula": f'a,b\n=cmd|"/c {code(run)}"!A1,2\n',
        "csv of code": f"a,b\n{code(run)},1\n",
        "class path": json.dumps({"class_path": "os.mkdir", "init_args": {"path": str(run)}}),
        "target": json.dumps({"_target_": "os.mkdir", "path": str(run)}),
        "keras module": json.dumps(
            {"module": "os", "class_name": "mkdir", "config": {"path": str(run)}, "registered_name": None}
        ),
        "keras lambda": json.dumps({"class_name": "Lambda", "config": {"function": code(run)}}),
    }


def configs(run):
    """What a config.json of a run could name."""
    base = {"format": 1, "ftheta": "0.1", "model": "mlp", "task": "classify", "params": {}}
    return {
        "config model os": base | {"model": "os:mkdir"},
        "config model path": base | {"model": "../../os"},
        "config model code": base | {"model": code(run)},
        "config task dunder": base | {"task": "__init__"},
        "config class": base | {"class": "os.mkdir", "module": "os", "model": "os"},
        "config format code": base | {"format": code(run)},
    }


def params(**changes):
    def change(tree, run):
        tree["params"].update({k: v.replace("CODE", run) if isinstance(v, str) else v for k, v in changes.items()})

    return change


def state(**changes):
    def change(tree, run):
        tree["state"].update({k: v.replace("CODE", run) if isinstance(v, str) else v for k, v in changes.items()})

    return change


CHANGES = {
    "params hidden code": params(hidden="CODE"),
    "params activation code": params(activation="CODE"),
    "params init dunder": params(init="__import__"),
    "params optimizer path": params(optimizer="os.mkdir"),
    "params dtype": params(dtype="__class__"),
    "params device": params(device="CODE"),
    "params training code": params(training={"schedule": "os:mkdir", "options": {"rule": "os.mkdir"}}),
    "params module": params(module="os"),
    "state method": state(predict="CODE"),
    "state class": state(__class__="os"),
    "state reduce": state(__reduce__="CODE"),
    "state module path": state(own_module_="os.mkdir"),
    "state modules dotted": state(modules={"module_.__class__": {}, "__dict__": {}}),
    "state specs": state(input_=["CODE"], target_=["CODE"]),
}


def legacy(trap):
    return written(lambda f: torch.save(trap, f, _use_new_zipfile_serialization=False))


BINARY = {  # from the trap to bytes
    **{f"pickle {p}": lambda trap, p=p: pickle.dumps(trap, p) for p in range(6)},
    "pickle in a list": lambda trap: pickle.dumps([trap] * 500),
    "torch.save": lambda trap: written(lambda f: torch.save({"w": trap}, f)),
    "torch.save legacy": legacy,
    "torch tar": lambda trap: tarred(sys_info=pickle.dumps(trap), pickle=pickle.dumps(trap), storages=b"", tensors=b""),
    "torchscript": lambda trap: zipped(m__data_pkl=pickle.dumps(trap), m__version=b"3", m__code_py=code(trap.sentinel)),
    "pt2": lambda trap: zipped(archive_format=b"pt2", data__weights__model_pt=legacy(trap), models__model_json=b"{}"),
    "npz objects": lambda trap: written(lambda f: np.savez(f, a=np.array([trap], dtype=object), allow_pickle=True)),
    "npy objects": lambda trap: written(lambda f: np.save(f, np.array([trap], dtype=object), allow_pickle=True)),
    "joblib": lambda trap: written(lambda f: joblib.dump(trap, f)),
    "safetensors and pickle": lambda trap: save({"a": np.frombuffer(pickle.dumps(trap), np.uint8)}),
    "tree of a pickle": lambda trap: header({"$": "pickle", "name": "a", "dtype": "F64"}),
    "tree of code": lambda trap: header({"$": "tensor", "name": code(trap.sentinel), "dtype": "F64"}),
    "tree of a path": lambda trap: header({"state": {"a": {"$": "tensor", "name": "../../a", "dtype": "F64"}}}),
}
NAMES = [*BINARY, *texts("x"), *configs("x"), *CHANGES]


def hostile(name, sentinel):
    """The bytes of a file that touches the sentinel if it is run."""
    if name in BINARY:
        return BINARY[name](Trap(sentinel))
    if name in CHANGES:
        return tree_of(sentinel, CHANGES[name])
    plain = texts(sentinel) | {key: json.dumps(config) for key, config in configs(sentinel).items()}
    return plain[name].encode()


def sealed(path, **files):
    """A finished run with these files and digests that fit."""
    with Run(path) as run:
        for name, content in files.items():
            run.write(name.replace("__", "."), content)
        run.finish()
    return path


def as_model(path, content):
    config = json.dumps({"format": 1, "ftheta": "0.1", "model": "mlp", "task": "classify", "params": {}})
    return sealed(path, model__safetensors=content, config__json=config)


def as_config(path, content):
    good = tree_of("unused", lambda tree, run: None)
    return sealed(path, model__safetensors=good, config__json=content)


def as_encoder(path, content):
    with Run(fitted().save(path)) as run:
        run.write("encoder.json", content)
    return path


def as_checkpoint(path, content):
    """A run whose newest checkpoint is this file, with a digest that fits."""
    with pytest.MonkeyPatch.context() as patch, Run(path) as run:
        patch.setattr("ftheta.store.run.dump_tree", lambda tree: tree)
        run.checkpoint(content, 1)
    return path


def bare(path, content):
    path.mkdir()
    for name in (".metadata", "model.safetensors", "config.json", "manifest.json"):
        (path / name).write_bytes(content)
    return path


def doors(folder, content):
    """Everything that opens a file, each on a place of its own."""
    file = folder / "file"
    file.write_bytes(content)
    yield "load", lambda: ftheta.load(file)
    yield "load with a module", lambda: ftheta.load(as_model(folder / "b", content), module=torch.nn.Linear(2, 1))
    yield "load a folder", lambda: ftheta.load(bare(folder / "c", content))
    yield "model", lambda: ftheta.load(as_model(folder / "d", content)).predict(X)
    yield "config", lambda: ftheta.load(as_config(folder / "e", content)).predict(X)
    yield "encoder", lambda: ftheta.load(as_encoder(folder / "f", content)).predict(X)
    yield "checkpoint", lambda: Run(as_checkpoint(folder / "g", content)).latest()
    yield "resume", lambda: MLPClassifier(epochs=1).fit(X, Y, run=as_checkpoint(folder / "h", content))
    yield "tree", lambda: load_tree(file)
    yield "bytes", lambda: parse_tree(content, "here")
    yield "csv", lambda: read_csv(file, "a")
    yield "verify", lambda: Run(bare(folder / "i", content)).verify()


def test_there_are_forty_of_them_and_the_trap_works(tmp_path):
    assert len(NAMES) >= 40
    sentinel = tmp_path / "sentinel"
    openers = {
        "pickle 4": pickle.loads,
        "torch.save legacy": lambda content: torch.load(io.BytesIO(content), weights_only=False),
        "joblib": lambda content: joblib.load(io.BytesIO(content)),
    }
    for name, opener in openers.items():  # what others open them with
        opener(hostile(name, sentinel))
        assert sentinel.is_dir()
        sentinel.rmdir()


@pytest.mark.filterwarnings("ignore:.*Resuming")
@pytest.mark.parametrize("name", NAMES)
def test_no_door_runs_code_from_a_file(name, tmp_path, monkeypatch):
    monkeypatch.setattr("ftheta.store.files.os.fsync", lambda fd: None)
    sentinel = tmp_path / "sentinel"
    content = hostile(name, sentinel)
    for door, act in doors(tmp_path, content):
        try:
            act()
        except FThetaError as error:
            assert str(error), door
        assert not sentinel.exists(), door
