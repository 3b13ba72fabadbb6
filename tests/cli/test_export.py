"""`ftheta export`: a folder that answers as `ftheta predict` does where there is no fθ."""

import json
import os
import runpy
import subprocess
import sys
from contextlib import suppress
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ftheta
from ftheta.store import Run
from tests.cli._awkward import FILES, content
from tests.cli._things import QUICK, snapshot, table

SLOW = ("genes", "linear")  # Newton's method on 6,003 parameters takes minutes
SERVER = """
import contextlib, io, json, os, runpy, sys
sys.modules["ftheta"] = None
for line in sys.stdin:
    folder, *sys.argv = json.loads(line)
    os.chdir(folder)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        runpy.run_path(sys.argv[0], run_name="__main__")
    print(json.dumps(out.getvalue()), flush=True)
"""


@pytest.fixture(scope="module")
def alone():
    """What a script writes where `import ftheta` fails; one process runs them all."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"OMP_NUM_THREADS": "1"}
    options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "encoding": "utf-8", "env": env}
    with subprocess.Popen([sys.executable, "-I", "-c", SERVER], **options) as child:

        def run(*args):
            child.stdin.write(json.dumps([os.getcwd(), *map(str, args)]) + "\n")
            child.stdin.flush()
            answer = child.stdout.readline()
            assert answer, f"{args} failed"
            return json.loads(answer)

        yield run
        child.stdin.close()


def assert_alike(ours, theirs):
    """The same names, and numbers to 1e-6."""
    ours, theirs = (pd.read_csv(StringIO(text), dtype={"prediction": object}) for text in (ours, theirs))
    assert list(ours) == list(theirs) and len(ours) == len(theirs) > 0
    probable = any(name.startswith("p(") for name in ours)
    for name in ours:
        if name == "prediction" and probable:
            assert ours[name].tolist() == theirs[name].tolist()
        elif name in ("prediction", "low", "high") or name.startswith("p("):
            a, b = (frame[name].to_numpy(float) for frame in (ours, theirs))
            np.testing.assert_allclose(b, a, rtol=1e-6, atol=1e-6 * (1 if probable else np.abs(a).max()))


def test_pets_go_with_their_names(ok, pets):
    before = snapshot(pets)
    done = ok("export", pets, "--python")
    assert (
        done.out == "pets-python: model.py, encoder.json, model.safetensors; try: python pets-python/model.py --help\n"
    )
    assert snapshot(pets) == before
    assert sorted(p.name for p in Path("pets-python").iterdir()) == ["encoder.json", "model.py", "model.safetensors"]
    text = Path("pets-python/model.py").read_text(encoding="utf-8")
    assert "ABOUT = 'mlp trained on pets, written by fθ " in text
    assert "TARGET = 'kind'" in text and "CLASSES = ['cat', 'dog']" in text
    for word in (str(Path.cwd()), os.sep + "tmp", "home", "import ftheta", "from ftheta"):
        assert word not in text


@pytest.mark.middle
def test_a_script_answers_as_the_command_does_where_there_is_no_ftheta(ok, pets, alone):
    ok("export", "last", "--python", "-o", "there/it")
    assert_alike(ok("predict", pets, "pets.csv").out, alone("there/it/model.py", "pets.csv"))


def test_a_folder_with_something_in_it_is_left_alone(refused, pets):
    Path("mine").mkdir()
    Path("mine/file.txt").write_text("x")
    for folder in ("mine", "pets.csv"):
        said = refused("export", pets, "--python", "-o", folder)
        assert folder in said and "nothing was changed" in said


def test_other_models_say_so_in_one_sentence(ok, refused):
    table("pets.csv", "kind")
    ok("train", "gaussian-nb", "pets.csv", "--target", "kind", "--run", "m")
    said = refused("export", "m", "--python")
    assert said.startswith("GaussianNaiveBayes cannot be exported as Python yet; mlp and linear models can.")


def test_an_unfinished_run_and_no_run_are_one_sentence(refused, pets):
    assert refused("export", "nothing", "--python").startswith("Unknown run 'nothing'.")
    (pets / "model.safetensors").unlink()
    assert refused("export", pets, "--python")


# ---- other files


def awkward(name):
    """A file, and new rows: other ones, and one with cells that are missing or unseen in turns."""
    Path(f"{name}.csv").write_bytes(content(name))
    header, rest = content(name, seed=1, rows=60).decode().split("\n", 1)
    names = header.split(FILES[name].mark)
    odd = ["unseen" if j % 2 and column != FILES[name].target else "" for j, column in enumerate(names)]
    Path("new.csv").write_text("\n".join([header, FILES[name].mark.join(odd), rest]), encoding="utf-8")


@pytest.mark.middle
@pytest.mark.parametrize(
    ("name", "model"),
    [(n, m) for n in FILES for m in ("mlp", "linear") if (n, m) != SLOW and n != "tickets"],  # free text is refused
)
def test_awkward_files_are_predicted_alike(ok, alone, name, model):
    awkward(name)
    quick = QUICK if model == "mlp" else ()
    ok("train", model, f"{name}.csv", "--target", FILES[name].target, "--run", "r", *quick)
    ok("export", "r", "--python")
    assert_alike(ok("predict", "r", "new.csv").out, alone("r-python/model.py", "new.csv"))


@pytest.mark.middle
@pytest.mark.parametrize("model", ["mlp", "linear"])
@pytest.mark.parametrize("name", ["iris", "wine", "breast-cancer", "diabetes"])
def test_embedded_tables_are_predicted_alike(ok, alone, name, model):
    ok("train", model, name, "--run", "r", *(QUICK if model == "mlp" else ()))
    ok("export", "r", "--python")
    ftheta.data.load(name).x.to_csv("new.csv", index=False)
    assert_alike(ok("predict", "r", "new.csv").out, alone("r-python/model.py", "new.csv"))


@pytest.mark.middle
def test_pictures_are_predicted_alike(ok, alone):
    digits = ftheta.data.load("digits")
    x = np.asarray(digits.x)[:300].reshape(-1, 8, 8).astype(np.uint8)
    np.savez("digits.npz", X=x, y=np.asarray(digits.y)[:300])
    ok("train", "mlp", "digits.npz", "--run", "r", *QUICK)
    ok("export", "r", "--python")
    assert_alike(ok("predict", "r", "digits.npz").out, alone("r-python/model.py", "digits.npz"))


def test_days_and_months_stand_as_in_training(ok):
    rng = np.random.default_rng(0)
    days = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 700, 80), "D")
    y = (days.month + rng.normal(0, 0.1, 80)).round(3)
    pd.DataFrame({"day": days.strftime("%d/%m/%Y"), "y": y}).to_csv("days.csv", index=False)
    ok("train", "linear", "days.csv", "--target", "y", "--run", "r")
    ok("export", "r", "--python", "-o", "out")
    Path("new.csv").write_text("day\n03/04/2021\n05/06/2022\n", encoding="utf-8")  # could be either
    module = runpy.run_path("out/model.py")
    ours = pd.read_csv(StringIO(ok("predict", "r", "new.csv").out))
    np.testing.assert_allclose(module["predict"](module["read"]("new.csv"))["prediction"], ours["prediction"])


# ---- hostile runs: files that somebody wrote, with digests that fit

CODE = [
    "__import__('os').mkdir('pwned')",
    "1); __import__('os').mkdir('pwned')#",
    "'\n__import__('os').mkdir('pwned')\n'",
    '"""\n__import__("os").mkdir("pwned")\n"""',
    "{__import__('os').mkdir('pwned')}",
    "eps=__import__('os').mkdir('pwned') or 1e-8, weight_decay",
]


def in_json(file, key, value):
    return lambda run: {file: json.dumps(json.loads(run.read(file)) | {key: value})}


def in_config(name, value):
    def change(run):
        lines = run.read("config.toml").decode().splitlines()
        changed = [f"{name} = {json.dumps(value)}" if line.startswith(f"{name} =") else line for line in lines]
        return {"config.toml": "\n".join(changed) + "\n"}

    return change


def in_model(change):
    def changed(run):
        tree = run.tree("model.safetensors")
        change(tree)
        return {"model.safetensors": tree}

    return changed


PLACES = {
    "class names": lambda code: in_json("data.json", "classes", [code, "b"]),
    "name of the data": lambda code: in_json("data.json", "name", code),
    "encoder": lambda code: in_json("encoder.json", "dtype", code),
    "target": lambda code: in_config("target", code),
    "encoding": lambda code: in_config("encoding", code),
    "parameter": lambda code: in_model(lambda tree: tree["params"].update(activation=code)),
    "classes": lambda code: in_model(lambda tree: tree["state"].update(classes_=np.array([code, "zzz"]))),
}


def attack(ft, pets, place, codes, monkeypatch):
    """A run whose files name code is refused, or exported with that as text; no script does more than predict."""
    monkeypatch.setattr("ftheta.store.files.os.fsync", lambda fd: None)
    good = {name: Run(pets).read(name) for name in ("model.safetensors", "encoder.json", "data.json", "config.toml")}
    for k, code in enumerate(codes):
        with Run(pets) as run:
            for name, content in {**good, **PLACES[place](code)(run)}.items():
                run.write(name, content)
        done = ft("export", pets, "--python", "-o", f"out{k}")
        assert done.code in (0, 2) and "Traceback" not in done.err, (code, done)
        if done.code == 0:
            monkeypatch.setattr("sys.argv", ["model.py", "pets.csv"])
            with suppress(KeyError, ValueError):  # e.g. a column that pets.csv does not have
                runpy.run_path(f"out{k}/model.py", run_name="__main__")
        else:
            assert done.err.startswith("Error: ") and done.err.count("\n") == 1, done.err
        assert not Path("pwned").exists(), code


@pytest.mark.parametrize("place", ["class names", "parameter"])
def test_a_file_cannot_put_code_into_a_script(ft, pets, place, monkeypatch):
    attack(ft, pets, place, CODE[:2], monkeypatch)


@pytest.mark.middle
@pytest.mark.parametrize("place", PLACES)
def test_no_place_of_a_file_can_put_code_into_a_script(ft, pets, place, monkeypatch):
    attack(ft, pets, place, CODE, monkeypatch)
