"""`ftheta doctor`: what a bug report needs."""

import json
import platform

import torch

import ftheta


def test_versions_devices_threads_and_folders_are_told(ok):
    lines = dict(line.split(None, 1) for line in ok("doctor").out.splitlines()[2:])
    assert lines["ftheta"] == ftheta.__version__ and lines["torch"] == torch.__version__
    assert lines["python"].startswith(platform.python_version())
    assert lines["threads"].startswith(f"torch {torch.get_num_threads()} of ") and lines["devices"].startswith("cpu")


def test_json_is_one_object(ok, monkeypatch, tmp_path):
    monkeypatch.setenv("FTHETA_DATA", str(tmp_path))
    found = json.loads(ok("doctor", "--json").out)
    assert found["ftheta"] == ftheta.__version__ and found["data folder"] == str(tmp_path)
    assert set(found) >= {"numpy", "scikit-learn", "safetensors", "devices", "threads", "progress", "runs here"}


def test_what_is_missing_is_said(ok, monkeypatch):
    monkeypatch.setenv("FTHETA_DATA", "nowhere")
    monkeypatch.setenv("FTHETA_PROGRESS", "0")
    monkeypatch.setattr("ftheta.jobs.runs.PACKAGES", ("no-such-package",))
    monkeypatch.setattr("os.access", lambda *_: False)
    monkeypatch.setattr("ftheta.cli.doctor.find_spec", lambda name: None)
    monkeypatch.setattr("ftheta.cli.doctor.which", lambda name: None)
    found = json.loads(ok("doctor", "--json").out)
    assert found["data folder"] == "nowhere (FTHETA_DATA) does not exist"
    assert found["progress"] == "off (FTHETA_PROGRESS=0)"
    assert found["no-such-package"] == "missing" and found["data get"] == "needs pip or uv: install one"
    assert found["runs here"] == "cannot be written: choose another folder"
    monkeypatch.delenv("FTHETA_DATA")
    assert json.loads(ok("doctor", "--json").out)["data folder"] == "FTHETA_DATA is not set; built-in data sets only"
