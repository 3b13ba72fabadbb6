"""`ftheta study`: verdicts and checks on the screen, a folder on the disk, one sentence for a mistake."""

import json
import re
from pathlib import Path

import pytest

from ftheta import studies
from ftheta.studies import _running
from ftheta.studies.optimizers import noise

TINY = ("study", "optimizers/noise", "--tiny", "--set", "epochs=3")


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Made-up numbers in place of trainings."""
    calls = []

    def measure(seed, level, rule, *, hidden=50, rows=200, epochs=200, tuning=3):
        calls.append((rule, seed))
        return {"training error": 1.0 + seed / 10 + (rule == "gd"), "rises": 0.1 * seed}

    monkeypatch.setattr(noise.study, "measure", measure)
    monkeypatch.setattr(_running, "fingerprint", lambda measure: "")
    monkeypatch.setattr(_running, "svg", lambda figure: "<svg/>")
    monkeypatch.setattr("ftheta.jobs.pages.figure_html", lambda *_: "<svg/>")
    return calls


def test_a_study_shows_its_checks_its_table_and_its_folder(ok):
    lines = ok(*TINY).out.splitlines()
    folder = next(Path("runs/study/optimizers-noise").iterdir())
    assert lines[0] == "Which of five rules copes best with noise in the targets?"
    assert "“GD " in lines[1] and lines[2] == f"Page: {folder / 'report.html'}"
    assert re.fullmatch(r"The source is \w+: “GD .*” \(B026\)", lines[4])
    assert lines[5].startswith("  ")
    assert lines[-1].startswith(f"Folder: {folder} (") and lines[-1].endswith(" s)")
    assert any(line.split()[:3] == ["level", "rule", "training"] for line in lines)
    assert {"config.toml", "evidence.safetensors", "figures", "report.html"} <= {f.name for f in folder.iterdir()}


def test_the_second_call_is_served_from_the_folder_and_says_so(ok, quick):
    first, made = ok(*TINY).out.splitlines(), len(quick)
    again = ok(*TINY).out.splitlines()
    assert again[:-1] == first[:-1] and "measured on 20" in again[-1] and len(quick) == made


def test_json_is_one_object(ok):
    found = json.loads(ok(*TINY, "--json", "--run", "mine").out)
    assert found["study"] == "optimizers/noise" and found["path"] == "mine" and found["cached"] is False
    assert [f["row"] for f in found["findings"]] == ["B026"]
    assert set(found["findings"][0]) == {"row", "source_says", "verdict", "checks", "reference", "right"}
    assert json.loads(ok(*TINY, "--json", "--run", "mine").out) == found | {"cached": True}


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("optimizers/nois",), "Unknown study 'optimizers/nois'. Did you mean 'optimizers/noise'"),
        (("optimizers/noise", "--set", "sedes=3"), "optimizers/noise: Unknown setting 'sedes'. Did you mean 'seeds'"),
        (("optimizers/noise", "--set", "seeds=many"), "--set seeds='many': expected "),
        (("optimizers/noise", "--set", "seeds"), "--set seeds: expected KEY=VALUE, e.g. --set seeds=3."),
        (("optimizers/noise", "--tiny", "--record"), "--record keeps full runs only; leave out --tiny and --set."),
        (("gallery", "--set", "row=A198"), "Unknown picture 'A198'"),
    ],
)
def test_a_mistake_is_one_sentence(refused, args, message):
    assert refused("study", *args).startswith(message)


def test_a_study_without_its_data_says_where_they_belong(refused, monkeypatch, tmp_path):
    monkeypatch.setenv("FTHETA_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert refused("study", "report/mnist").startswith("'mnist' is not on this machine. ")


def test_an_interrupt_keeps_what_was_measured(ft, ok, quick, monkeypatch):
    kept = noise.study.measure

    def stop(seed, **cell):
        if (cell["rule"], seed) == ("sgd", 1):
            raise KeyboardInterrupt
        return kept(seed, **cell)

    with monkeypatch.context() as patch:
        patch.setattr(type(noise.study), "settings", noise.study.settings)
        patch.setattr(noise.study, "measure", stop)
        done = ft(*TINY)
    assert (done.code, done.out) == (130, "") and "What is measured is saved; the same command continues." in done.err
    made = len(quick)
    ok(*TINY)
    assert made == 3 and len(quick) == 30


def test_a_full_run_can_be_recorded(ok, monkeypatch):
    recorded = []
    monkeypatch.setattr(studies, "record", lambda outcome: recorded.append(outcome) or Path("findings.json"))
    assert "Recorded in findings.json" in ok("study", "optimizers/noise", "--record").err
    assert [outcome.study for outcome in recorded] == ["optimizers/noise"]


def test_pictures_are_listed_and_drawn(ok):
    assert "A197" in ok("study", "gallery").out
    assert ok("study", "gallery", "--set", "row=A039").out == "Figure: runs/study/gallery/A039.svg\n"
    assert Path("runs/study/gallery/A039.svg").read_text(encoding="utf-8").startswith("<svg")
