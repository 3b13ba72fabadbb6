"""A type checker sees the real classes in a user's script."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import numpy as np

from ftheta import MLPClassifier, jobs, measure

X, y = np.zeros((4, 2)), np.array([0, 1, 0, 1])
MLPClassifier(hiden=(8,))  # error: a parameter that does not exist
MLPClassifier(hidden="many")  # error: a parameter of another type
MLPClassifier().fit(X, y).predict_probability(X)  # error: a method that does not exist
jobs.train("mlp", "wine", report="no")  # error: an argument of another type
measure.calibration(y, X[:, 0]).ece.rows()  # error: a result is used as what it is not
model = MLPClassifier(hidden=(8, 8), epochs=3, training=None).fit(X, y)
print(model.predict_proba(X).sum(), jobs.train("mlp", "wine", epochs=3).result, measure.calibration(y, X[:, 0]).table())
"""


@pytest.mark.middle
def test_pyright_finds_the_five_errors_of_a_script_and_no_other(tmp_path):
    pyright = shutil.which("pyright", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if pyright is None:
        pytest.skip("pyright is not installed")
    (tmp_path / "script.py").write_text(SCRIPT)
    (tmp_path / "pyrightconfig.json").write_text(
        json.dumps({"extraPaths": [str(Path(__file__).parents[1] / "src")], "typeCheckingMode": "basic"})
    )
    options = ["--outputjson", "--pythonpath", sys.executable, "-p", str(tmp_path)]
    done = subprocess.run([pyright, *options], capture_output=True, text=True)
    errors = {found["range"]["start"]["line"] for found in json.loads(done.stdout)["generalDiagnostics"]}
    assert errors == {i for i, line in enumerate(SCRIPT.splitlines()) if "# error" in line}, done.stdout
