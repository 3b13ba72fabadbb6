"""Files of a run with right digests and absurd content: one sentence for every verb, and no run hides another."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from ftheta.store import Run
from tests.cli._things import QUICK, call, flip, table

DEEP = "[" * 100_000 + "]" * 100_000
VALUES = [None, True, "x", -1, 10**400, 1e308, [], [1, [2]], {}, {"a": {"b": None}}]
NAMES = {
    "result.json": ("part", "rows", "family", "data", "scores", "level", "intervals", "method"),
    "data.json": ("name", "shape", "rows", "task", "classes", "parts", "columns", "form", "notes", "digest"),
    "interval.json": ("level", "half_width", "rows"),
}
ANSWERS = ("rows", "y", "predicted", "p", "classes")
VERBS = {
    "runs": ("runs",),
    "show": ("runs", "show", "r"),
    "compare": ("runs", "compare", "r", "runs/other/b"),
    "report": ("runs", "report", "r", "-o", "page.html"),
    "predict": ("predict", "r", "prices.csv"),
    "explain": ("explain", "r", "summary"),
    "export": ("export", "r", "--python", "-o", "out"),
    "resume": ("train", "--resume", "r"),
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with prices.csv and two finished runs on it."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        table("prices.csv", n=300, name=[f"row {i}" for i in range(300)])
        for run, seed in (("r", 0), ("runs/other/b", 1)):
            assert (
                call(patch, "train", "mlp", "prices.csv", "--target", "price", "--seed", seed, "--run", run, *QUICK)
                == 0
            )
    return folder


@pytest.fixture
def here(ft, made, tmp_path):
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return Run("r")


def absurd(run):
    """Names of files, and contents that none of them can have; each is signed by the manifest."""
    for name, keys in NAMES.items():
        whole = json.loads(run.read(name))
        yield from (
            (name, text) for text in ("", "nul", "null" if name != "interval.json" else "3", "[]", DEEP, "\xff")
        )
        for key in keys:
            yield name, json.dumps({k: v for k, v in whole.items() if k != key})
            yield from ((name, json.dumps(whole | {key: value})) for value in VALUES)
        yield name, json.dumps(whole)[:-1] + f', "rows": NaN, "level": {"9" * 5000}}}'
    text = run.read("config.toml").decode()
    yield from (("config.toml", extra) for extra in ("", "a = ", "x = " + DEEP, 'model = "nope"', "\xff = 1"))
    for key, value in [("seed", "true"), ("seed", "1e999"), ("model", "[1]"), ("params", "3"), ("data", '"gone.csv"')]:
        rest = "\n".join(line for line in text.splitlines() if not line.startswith(f"{key} "))
        yield "config.toml", f"{key} = {value}\n{rest}"


def absurd_trees(run):
    split, test = run.tree("split.safetensors"), run.tree("test.safetensors")
    wrong = [None, 3, "x", [], np.array([1.5]), np.array([[1]]), np.array([-1]), np.array([10**9]), np.array(["a"])]
    yield from (("split.safetensors", split | {key: value}) for key in ("train", "test", "data") for value in wrong)
    yield from (("test.safetensors", test | {key: value}) for key in ANSWERS for value in wrong)
    for name, tree in (("split.safetensors", split), ("test.safetensors", test)):
        yield from ((name, value) for value in (None, [], 3, {}, {"rows": test["rows"], "predicted": None}))
        yield from ((name, {k: v for k, v in tree.items() if k != key}) for key in tree)


def said_in_one_sentence(done, verb):
    """Nothing worse than exit code 2 and one sentence."""
    assert done.code in (0, 2) and "Traceback" not in done.err, (verb, done)
    errors = [line for line in done.err.splitlines() if line.startswith("Error: ")]
    assert len(errors) == (done.code == 2), (verb, done)
    return errors


def tried(ft, run, verb, cases):
    """How many of these files a verb refuses."""
    refused = 0
    for name, content in cases:
        whole = run.read(name)
        run.write(name, content.encode("latin-1") if isinstance(content, str) else content)
        refused += len(said_in_one_sentence(ft(*VERBS[verb]), verb))
        run.write(name, whole)
        Path("page.html").unlink(missing_ok=True)
        shutil.rmtree("out", ignore_errors=True)
    return refused


@pytest.mark.parametrize("verb", ["runs", "show"])
def test_absurd_files_are_one_sentence(ft, here, verb):
    assert (tried(ft, here, verb, list(absurd(here))[::29]) > 0) == (verb == "show")


@pytest.mark.middle
@pytest.mark.parametrize("verb", VERBS)
def test_absurd_files_are_one_sentence_for_every_verb(ft, here, verb):
    cases = [*list(absurd(here))[::11], *list(absurd_trees(here))[::3]]
    assert (tried(ft, here, verb, cases) > 0) == (verb != "runs")


@pytest.mark.soak
@pytest.mark.parametrize("verb", VERBS)
def test_all_absurd_files_are_one_sentence_for_every_verb(ft, here, verb):
    tried(ft, here, verb, [*absurd(here), *absurd_trees(here)])


def test_one_bad_run_does_not_hide_the_others(ok, here):
    shutil.copytree("r", "runs/a/a")
    scores = json.loads(Run("runs/a/a").read("result.json"))
    Run("runs/a/a").write("result.json", json.dumps(scores | {"scores": {"RMSE": None}}))
    shutil.copytree("r", "runs/c/c")
    Run("runs/c/c").write("result.json", json.dumps(scores | {"scores": {"RMSE": "low"}}))
    shutil.copytree("r", "runs/d/d")
    flip("runs/d/d/config.toml")
    Path("runs/e/e").mkdir(parents=True)
    Path("runs/e/e/config.toml").symlink_to("nowhere")
    Path("runs/f/f/config.toml").mkdir(parents=True)
    rows = {row["id"]: row for row in map(json.loads, ok("runs", "--json").out.splitlines())}
    assert rows["a"]["result"] == "RMSE none" and rows["b"]["result"].startswith("R² ")
    assert [rows[name]["status"] for name in "cdf"] == ["damaged"] * 3
    assert "result.json" in rows["c"]["result"] and "'scores.RMSE" in rows["c"]["result"]
    assert len(ok("runs").out.splitlines()) == 2 + len(rows)
    assert "none" in ok("runs", "show", "runs/a/a").out
    assert "used for testing" in ok("runs", "show", "runs/other/b").out


@pytest.mark.parametrize("model", ["linear", "mlp"])
@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "encoder.json"])
def test_a_finished_run_with_a_damaged_file_is_refused(ok, refused, model, name):
    table("prices.csv")
    ok("train", model, "prices.csv", "--target", "price", "--run", "r", *(QUICK if model == "mlp" else ()))
    flip(f"r/{name}")
    assert name in refused("train", "--resume", "r")
