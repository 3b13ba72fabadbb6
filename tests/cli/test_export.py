"""`ftheta export`: a folder that answers as `ftheta predict` does where there is no fθ."""

import os
import runpy
import subprocess
import sys
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ftheta
from ftheta.studies.evidence._awkward import FILES, content
from tests.cli._things import QUICK, snapshot, table

ALONE = (
    "import runpy, sys; sys.modules['ftheta'] = None; del sys.argv[0]; runpy.run_path(sys.argv[0], run_name='__main__')"
)

SLOW = ("genes", "linear")  # Newton's method on 6,003 parameters takes minutes


def alone(*args):
    """What a script says where `import ftheta` fails."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-I", "-c", ALONE, *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", env=env, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def assert_alike(ours, theirs):
    """The same names, numbers to 1e-6, and columns that name the rows as they were written."""
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
    assert text.startswith('"""mlp trained on pets, written by fθ ')
    assert 'TARGET = "kind"' in text and 'CLASSES = ["cat", "dog"]' in text
    for word in (str(Path.cwd()), os.sep + "tmp", "home", "import ftheta", "from ftheta"):
        assert word not in text


@pytest.mark.slow
def test_a_script_answers_as_the_command_does_where_there_is_no_ftheta(ok, pets):
    ok("export", "last", "--python", "-o", "there/it")
    assert_alike(ok("predict", pets, "pets.csv").out, alone("there/it/model.py", "pets.csv"))


def test_a_folder_with_something_in_it_is_left_alone(refused, pets):
    Path("mine").mkdir()
    Path("mine/file.txt").write_text("x")
    sentence = "mine exists and is not empty; nothing was changed. Choose another folder with -o."
    assert refused("export", pets, "--python", "-o", "mine") == sentence
    assert refused("export", pets, "--python", "-o", "pets.csv").startswith("pets.csv exists and is not empty;")


def test_an_empty_folder_is_filled(ok, pets):
    Path("mine").mkdir()
    ok("export", pets, "--python", "-o", "mine")
    assert Path("mine/model.py").exists()


def test_a_format_must_be_said(refused, pets):
    assert refused("export", "last") == (
        "`ftheta export last`: in which format? --python is the only one so far; say it."
    )


def test_other_models_say_so_in_one_sentence(ok, refused):
    table("pets.csv", "kind")
    ok("train", "module", "pets.csv", "--target", "kind", "--epochs", 1, "--run", "m")
    said = refused("export", "m", "--python")
    assert said.startswith("ModuleClassifier cannot be exported as Python yet; mlp and linear can.")


def test_an_unfinished_run_and_no_run_are_one_sentence(refused, pets):
    assert refused("export", "nothing", "--python").startswith("Unknown run 'nothing'.")
    (pets / "model.safetensors").unlink()
    assert refused("export", pets, "--python")


def test_the_verb_is_listed(ok):
    assert "export" in ok("--help").out


def awkward(name):
    """A file, and new rows: other ones, and one with cells that are missing or unseen in turns."""
    Path(f"{name}.csv").write_bytes(content(name))
    header, rest = content(name, seed=1, rows=60).decode().split("\n", 1)
    names = header.split(FILES[name].mark)
    odd = ["unseen" if j % 2 and column != FILES[name].target else "" for j, column in enumerate(names)]
    Path("new.csv").write_text("\n".join([header, FILES[name].mark.join(odd), rest]), encoding="utf-8")


@pytest.mark.middle
@pytest.mark.parametrize(("name", "model"), [(n, m) for n in FILES for m in ("mlp", "linear") if (n, m) != SLOW])
def test_awkward_files_are_predicted_alike(ok, name, model):
    awkward(name)
    quick = QUICK if model == "mlp" else ()
    ok("train", model, f"{name}.csv", "--target", FILES[name].target, "--run", "r", *quick)
    ok("export", "r", "--python")
    assert_alike(ok("predict", "r", "new.csv").out, alone("r-python/model.py", "new.csv"))


@pytest.mark.middle
@pytest.mark.parametrize("model", ["mlp", "linear"])
@pytest.mark.parametrize("name", ["iris", "wine", "breast-cancer", "diabetes"])
def test_embedded_tables_are_predicted_alike(ok, name, model):
    ok("train", model, name, "--run", "r", *(QUICK if model == "mlp" else ()))
    ok("export", "r", "--python")
    ftheta.data.load(name).x.to_csv("new.csv", index=False)
    assert_alike(ok("predict", "r", "new.csv").out, alone("r-python/model.py", "new.csv"))


@pytest.mark.middle
def test_pictures_are_predicted_alike(ok):
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
    np.testing.assert_allclose(module["as_days"](pd.Series(["03/04/2021"]), "%d/%m/%Y"), [18720])  # 3 April
    ours = pd.read_csv(StringIO(ok("predict", "r", "new.csv").out))
    np.testing.assert_allclose(module["predict"](module["read"]("new.csv"))["prediction"], ours["prediction"])
