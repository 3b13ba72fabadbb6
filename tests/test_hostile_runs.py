"""Hostile run folders: no traceback, nothing outside touched, nothing executed, nothing waited for.

Every file of three small runs is replaced by links, pipes and folders, and every kind of value in them by absurd ones;
then all digests are made right again, because who can write a file can write the manifest too. The command line must
answer each with a result or one sentence. The middle tier tries 300 of them, a soak all.
"""

import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest
import tomli_w
import torch

from ftheta.store import Run, dump_tree, parse_tree
from tests.cli._things import QUICK, call, table

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs POSIX")

DEEP = json.loads("[" * 50 + "]" * 50)
CODE = "__import__('os').system('touch OUTSIDE/ran')"
VALUES = {
    "null": None,
    "true": True,
    "text": "text",
    "huge": 1e308,
    "minus": -1,
    "big": 10**30,
    "list": [],
    "table": {},
    "deep": DEEP,
    "long": "x" * 100_000,
    "control": "\x1b[2J\r\n\0\x07\u202e",
    "code": CODE,
    "path": "../../outside/file",
}


def other_dtype(x):
    return x.astype(str) if x.dtype.kind == "f" else np.ones(x.shape, "f4")


PLACES = {
    "link to a file": lambda place, outside: place.symlink_to(outside / "file"),
    "link to a folder": lambda place, outside: place.symlink_to(outside),
    "dangling link": lambda place, outside: place.symlink_to(outside / "nothing"),
    "pipe": lambda place, outside: os.mkfifo(place),
    "folder": lambda place, outside: place.mkdir(),
}
COPIES = ("manifest.json", "split.safetensors", "fit.json")
JSON = ("config.json", "data.json", "encoder.json", "interval.json", "result.json")
KEPT = ("config.toml", *JSON, "split.safetensors", "test.safetensors", "model.safetensors", "manifest.json", "lock")
FILES = {  # of each run; what is kept twice has a copy
    "linear": KEPT,
    "mlp": (*KEPT, "fit.json", "metrics.jsonl"),
    "half": ("config.toml", "data.json", "encoder.json", "split.safetensors", "manifest.json", "lock", "fit.json")
    + ("metrics.jsonl", "checkpoint-2.safetensors", "checkpoint-3.safetensors"),
}


# ---- changes


def mark(data):
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def signed(folder, change=None):
    """Make all digests right, then change the manifest."""
    manifest = json.loads((folder / "manifest.json").read_bytes()[:-65])
    for name in manifest["files"]:
        data = (folder / name).read_bytes()
        manifest["files"][name] = mark(data)
        if name in COPIES:
            (folder / f".{name}.copy").write_bytes(data)
    log = (folder / "metrics.jsonl").read_bytes() if (folder / "metrics.jsonl").exists() else b""
    for entry in manifest["checkpoints"]:
        entry |= mark((folder / entry["file"]).read_bytes()) | {"metrics": mark(log)}
    if "metrics" in manifest:
        manifest["metrics"] = mark(log)
    if change:
        change(manifest)
    body = json.dumps(manifest, indent=1).encode() + b"\n"
    for name in ("manifest.json", ".manifest.json.copy"):
        (folder / name).write_bytes(body + hashlib.sha256(body).hexdigest().encode() + b"\n")


def leaves(tree, inner=False):
    """Every place in a tree, as the container and the key; with `inner` also of tables and lists."""
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in list(items):
        if inner or not isinstance(value, dict | list) or not value:
            yield tree, key
        yield from leaves(value, inner)


def in_json(file, value, inner=False):
    """A value of a JSON file becomes another."""

    def change(folder, rng):
        content = {"all": json.loads((folder / file).read_text())}
        holder, key = rng.choice(list(leaves(content, inner)))
        holder[key] = VALUES[value]
        (folder / file).write_text(json.dumps(content["all"]))
        signed(folder)

    return change


def in_manifest(value, inner):
    def change(folder, rng):
        def spoil(manifest):
            holder, key = rng.choice(list(leaves(manifest, inner)))
            holder[key] = VALUES[value]

        signed(folder, spoil)

    return change


def in_manifest_name(name):
    def spoil(manifest):
        manifest["files"][name] = next(iter(manifest["files"].values()))

    return lambda folder, rng: signed(folder, spoil)


def in_config(key, value):
    """A setting of config.toml."""

    def change(folder, rng):
        import tomllib

        config = tomllib.loads((folder / "config.toml").read_text())
        *above, last = key.split(".")
        holder = config[above[0]] if above else config
        holder[last] = value
        (folder / "config.toml").write_text(tomli_w.dumps(config))
        signed(folder)

    return change


def text_of(file, text):
    def change(folder, rng):
        (folder / file).write_bytes(text if isinstance(text, bytes) else text.encode())
        signed(folder)

    return change


def lists(tree):
    """A tree with lists for tuples, so that it can be changed in place."""
    if isinstance(tree, dict):
        return {key: lists(value) for key, value in tree.items()}
    return [lists(value) for value in tree] if isinstance(tree, list | tuple) else tree


TENSORS = {
    "dtype": lambda x: x.double() if isinstance(x, torch.Tensor) else other_dtype(x),
    "int": lambda x: x.to(torch.int8) if isinstance(x, torch.Tensor) else np.full(x.shape, -(2**62)),
    "shape": lambda x: x[None],
    "longer": lambda x: torch.cat([x, x]) if isinstance(x, torch.Tensor) and x.ndim else np.concatenate([x, x]),
    "empty": lambda x: x[:0],
    "nan": lambda x: x * float("nan") if isinstance(x, torch.Tensor) else np.full(x.shape, np.nan),
    "huge": lambda x: x * 0 + 1e38 if isinstance(x, torch.Tensor) else np.full(x.shape, 1e308),
}


def in_tree(file, what):
    """An array or a plain value of a tree becomes another."""

    def change(folder, rng):
        tree = {"all": lists(parse_tree((folder / file).read_bytes(), file))}
        places = list(leaves(tree))
        arrays = [(h, k) for h, k in places if isinstance(h[k], torch.Tensor | np.ndarray) and h[k].ndim]
        kind, _, name = what.partition(" ")
        if kind == "array":
            holder, key = rng.choice(arrays)
            holder[key] = TENSORS[name](holder[key])
        elif kind == "array-is":
            holder, key = rng.choice(arrays)
            holder[key] = VALUES[name]
        else:
            holder, key = rng.choice(list(leaves(tree, inner=True)))
            holder[key] = VALUES[name]
        (folder / file).write_bytes(dump_tree(tree["all"]))
        signed(folder)

    return change


def set_param(key, value):
    """A parameter in the file of the model and beside it."""

    def change(folder, rng):
        tree = parse_tree((folder / "model.safetensors").read_bytes(), "")
        config = json.loads((folder / "config.json").read_text())
        above, _, last = key.rpartition(".")
        for params in (tree["params"], config["params"]):
            (params[above] if above else params)[last] = value
        (folder / "model.safetensors").write_bytes(dump_tree(tree))
        (folder / "config.json").write_text(json.dumps(config))
        signed(folder)

    return change


def rows(*content):
    """Lines of metrics with a right check sum."""

    def line(row):
        return json.dumps(row | {"crc": zlib.crc32(json.dumps(row).encode())} if isinstance(row, dict) else row)

    return text_of("metrics.jsonl", "".join(line(row) + "\n" for row in content))


def place(file, kind):
    def change(folder, rng):
        (folder / file).unlink()
        PLACES[kind](folder / file, folder.parents[2] / "outside")

    return change


def cases():
    """(run, what is done) -> how."""
    for run, files in FILES.items():
        for file in (*files, *(f".{name}.copy" for name in COPIES if name in files)):
            for kind in PLACES if run != "linear" else ("link to a file", "pipe"):
                yield (run, f"{file} is a {kind}"), place(file, kind)
        for file in files:
            if file.endswith(".json") and file != "manifest.json":
                for i, value in enumerate(VALUES):
                    yield (run, f"{file} with {value}"), in_json(file, value, inner=i % 2 == 0)
            if file.endswith(".safetensors"):
                for name in TENSORS:
                    yield (run, f"{file} with array {name}"), in_tree(file, f"array {name}")
                for name in ("null", "text", "huge", "list", "code", "control"):
                    yield (run, f"{file} with array-is {name}"), in_tree(file, f"array-is {name}")
                    yield (run, f"{file} with value {name}"), in_tree(file, f"value {name}")
        for value in VALUES:
            yield (run, f"manifest with {value}"), in_manifest(value, inner=False)
            yield (run, f"manifest with {value} inside"), in_manifest(value, inner=True)
    for name in ("../../../outside/file", "/etc/passwd", "figures/../../x", "a\n", "\x1b[2J", "lock", "x" * 5000, ""):
        yield ("mlp", f"manifest names {name[:20]!r}"), in_manifest_name(name)
    for key, value in (
        [
            (key, CODE)
            for key in ("params.epochs", "params.hidden", "training.seconds", "data", "model", "target", "split")
        ]
        + [(key, "\x1b[2J\n") for key in ("model", "data", "target", "encoding")]
        + [("seed", True), ("seed", -1), ("seed", 10**18), ("params.epochs", "5"), ("params.epochs", True)]
        + [("params.hidden", [10**12]), ("params.hidden", [-1]), ("params.hidden", "x"), ("training.threads", 10**9)]
        + [("test", 1e308), ("test", -1), ("validation", "text"), ("size", 10**12), ("data", "../../outside/file")]
        + [("training.nothing", 1), ("nothing", 1), ("params", 3), ("training", []), ("model", "os:system")]
    ):
        for run in ("mlp", "half"):
            yield (run, f"config.toml {key} = {value!r:.30}"), in_config(key, value)
    for key, value in (
        [(key, CODE) for key in ("epochs", "patience", "hidden", "activation", "device", "lr", "random_state", "init")]
        + [("training.options", {CODE: 1}), ("training.options", {"lr": CODE}), ("training.seconds", CODE)]
        + [("epochs", True), ("epochs", -1), ("epochs", 1e308), ("hidden", (10**12,)), ("hidden", (0,)), ("hidden", ())]
        + [("dtype", "__class__"), ("optimizer", "os.mkdir"), ("training.threads", 10**9), ("training", DEEP)]
    ):
        yield ("mlp", f"parameter {key} = {value!r:.40}"), set_param(key, value)
    for run in ("mlp", "half"):
        yield (run, "metrics with text"), rows({"loss": "text"})
        yield (run, "metrics with a list"), rows({"loss": [1]}, {"loss": DEEP})
        yield (run, "metrics with huge numbers"), rows({"loss": 1e308, "epoch": 10**300})
        yield (run, "metrics with too huge numbers"), rows({"loss": 10**400})
        yield (run, "metrics with null"), rows({"loss": None, "epoch": None})
        yield (run, "metrics with other columns"), rows({"a": 1}, {"b": 2}, {})
        yield (run, "metrics with control characters"), rows({"\x1b[2J": 1})
        yield (run, "metrics without rows"), rows([], None, 3)
        for text in (b"", b"\0" * 1000, b"\xff\xfe", b"[" * 100_000, b'{"a": ' + b"9" * 10_000 + b"}\n"):
            for file in ("config.toml", "metrics.jsonl", "data.json", "encoder.json", "fit.json", "split.safetensors"):
                yield (run, f"{file} is {text[:4]!r}..."), text_of(file, text)


CASES = dict(cases())
CHOSEN = set(random.Random(1).sample(list(CASES), 300))  # for the middle tier; a soak takes all


# ---- what is held against them


def everything(folder):
    """Every name below a folder with its kind, its times and its bytes."""
    found = {}
    for here in sorted([folder, *folder.rglob("*")]):
        facts = here.lstat()
        found[str(here)] = facts.st_mode, facts.st_mtime_ns, facts.st_size
        if here.is_file() and not here.is_symlink():
            found[str(here)] += (here.read_bytes(),)
    return found


@contextlib.contextmanager
def no_waiting(seconds=60):
    def late(*_):
        raise TimeoutError("it hangs")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Data, three runs, and a tree that is none of their business."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(os, "fsync", lambda fd: None)
        table("pets.csv", "kind")
        table("prices.csv")
        mlp = ("train", "mlp", "pets.csv", "--target", "kind", *QUICK)
        assert call(patch, *mlp, "--run", "runs/mlp/mlp") == 0
        assert call(patch, "train", "linear", "prices.csv", "--target", "price", "--run", "runs/linear/linear") == 0
        patch.setattr(Run, "finish", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        assert call(patch, *mlp, "--set", "training.every=0", "--run", "runs/half/half") == 130
    (folder / "outside").mkdir()
    (folder / "outside/file").write_bytes(b"mine\n")
    (folder / "outside/checkpoint-1.safetensors").write_bytes(b"mine too")
    return folder


@pytest.mark.middle
def test_these_are_the_files_and_there_are_300_cases(home):
    for run, files in FILES.items():
        copies = [f".{name}.copy" for name in COPIES if name in files]
        assert sorted(p.name for p in (home / "runs" / run / run).iterdir()) == sorted([*files, *copies])
    assert len(CHOSEN) == 300 < len(CASES)


@pytest.mark.parametrize(
    ("run", "what"),
    [pytest.param(*case, marks=pytest.mark.middle if case in CHOSEN else pytest.mark.soak) for case in CASES],
)
def test_the_command_line_answers_with_a_result_or_one_sentence(home, tmp_path, monkeypatch, capsys, run, what):
    shutil.copytree(home, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "fsync", lambda fd: None)
    folder, data = Path("runs", run, run), "prices.csv" if run == "linear" else "pets.csv"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        CASES[run, what]((tmp_path / folder), random.Random(f"{run} {what}"))
    before, others = everything(tmp_path / "runs"), {p: everything(p) for p in tmp_path.iterdir() if p.name != "runs"}
    readers = [("runs",), ("runs", "show", folder), ("runs", "verify", folder)]
    readers += [("predict", folder, data), ("explain", folder, "--list")]
    for command in (*readers, ("train", "--resume", folder)):
        with no_waiting():
            code = call(monkeypatch, *command)
        out, err = capsys.readouterr()
        said = [line for line in err.splitlines() if line.startswith("Error: ")]
        assert code in ((0, 1) if command[:2] == ("runs", "verify") else (0, 2)) or (code, len(said)) == (2, 1), command
        assert len(said) == (code == 2) and "Traceback" not in out + err, (command, err)
        assert not said or len(said[0]) < 3000, command
        if command == ("runs",):  # one bad run hides no other
            assert all(name in out for name in FILES if (name, what) != (run, "config.toml is a dangling link")), out
        assert {p: everything(p) for p in tmp_path.iterdir() if p.name != "runs"} == others, command
        assert command not in readers or everything(tmp_path / "runs") == before, command
