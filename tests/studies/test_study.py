"""The machinery of studies: measured once, kept piece by piece, taken from its folder, recorded."""

import json
import tomllib
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from ftheta import data
from ftheta.errors import InputError, RunError
from ftheta.plots import curves
from ftheta.store import Run
from ftheta.studies import _ledger, _study
from ftheta.studies._study import Finding, card, conduct, digest, give, keep, load, names, pieces

VERDICTS = {"confirmed", "corrected", "refuted", "not reproduced"}
FILES = {"config.toml", "evidence.safetensors", "findings.json"}


@dataclass(frozen=True)
class Config:
    seeds: int = 4
    scale: float = 1.0


@pytest.fixture
def toy(monkeypatch, tmp_path):
    """A study `toy/squares` that notes which seeds it works on, and may be interrupted at one."""
    file = tmp_path / "squares.py"
    file.write_text("# a study\n", encoding="utf-8")
    study = SimpleNamespace(__file__=str(file), Config=Config, TINY=Config(seeds=2), worked=[], stop=None)

    def work(config, seed):
        study.worked.append(seed)
        if seed == study.stop:
            raise KeyboardInterrupt
        return np.full(3, config.scale * seed**2)

    def measure(config, run=None):
        found = pieces(work, [(config, seed) for seed in range(config.seeds)], run)
        return {"squares": np.array(found), "words": ["one", "two"]}

    study.measure = measure
    study.judge = lambda e: [Finding("A004", 14, float(e["squares"].sum() / 3), None, "confirmed", "They add up.")]
    study.figures = lambda e: {"squares": curves({"loss": e["squares"][:, 0]})}
    monkeypatch.setattr(_study, "load", lambda name: study)
    monkeypatch.chdir(tmp_path)
    return study


# ---- conducting


def test_a_study_leaves_settings_evidence_findings_and_figures(toy):
    done = conduct("toy/squares")
    assert done.path.parts[:3] == ("runs", "study", "toy-squares") and done.path.name == digest(toy, Config())[:12]
    run = Run(done.path)
    assert run.verify() == [] and run.status == "finished"
    assert {name for name in FILES if run.has(name)} == FILES and run.has("figures/squares.svg")
    stored = tomllib.loads(run.read("config.toml").decode())
    assert stored == {"study": "toy/squares", "digest": digest(toy, Config()), "config": asdict(Config())}
    assert run.tree("evidence.safetensors")["squares"][:, 0].tolist() == [0, 1, 4, 9]
    assert run.read("figures/squares.svg").startswith(b"<svg")
    found = json.loads(run.read("findings.json"))
    assert found["findings"] == [asdict(done.findings[0])] and done.findings[0].measured == 14
    assert set(found["versions"]) == {"ftheta", "python", "numpy", "scikit-learn", "scipy", "torch"}
    assert len(found["date"]) == 10 and not done.cached


def test_the_second_time_nothing_is_measured(toy):
    first = conduct("toy/squares")
    again = conduct("toy/squares")
    assert toy.worked == [0, 1, 2, 3] and again.cached
    assert replace(again, cached=False) == first


def test_other_settings_and_another_text_of_the_study_are_measured_anew(toy):
    first = conduct("toy/squares")
    other = conduct("toy/squares", Config(scale=2.0))
    Path(toy.__file__).write_text("# another study\n", encoding="utf-8")
    third = conduct("toy/squares")
    assert len({first.path, other.path, third.path}) == 3 and len(toy.worked) == 12
    assert other.findings[0].measured == 28


def test_an_interrupt_loses_the_piece_it_hits_and_no_other(toy, tmp_path):
    toy.stop = 2
    with pytest.raises(KeyboardInterrupt):
        conduct("toy/squares")
    toy.stop = None
    done = conduct("toy/squares")
    assert toy.worked == [0, 1, 2, 2, 3] and not done.cached
    whole = conduct("toy/squares", folder=tmp_path / "whole")
    assert replace(whole, path=done.path, date=done.date, seconds=done.seconds) == done
    a, b = (Run(each.path).tree("evidence.safetensors") for each in (done, whole))
    assert np.array_equal(a["squares"], b["squares"]) and a["words"] == b["words"]


def test_a_study_that_fails_after_measuring_is_not_measured_again(toy):
    judge, toy.judge = toy.judge, lambda evidence: 1 / 0
    with pytest.raises(ZeroDivisionError):
        conduct("toy/squares")
    toy.judge = judge
    assert conduct("toy/squares").findings[0].measured == 14 and toy.worked == [0, 1, 2, 3]


def test_seconds_are_those_of_all_pieces(toy, monkeypatch):
    ticks = iter(range(100))
    monkeypatch.setattr("ftheta.studies._pieces.time.perf_counter", lambda: float(next(ticks)))
    toy.stop = 2
    with pytest.raises(KeyboardInterrupt):
        conduct("toy/squares")
    toy.stop = None
    assert conduct("toy/squares").seconds == 4.0  # one tick a piece, before and after the interrupt


def test_a_folder_of_another_study_is_not_written_into(toy, tmp_path):
    conduct("toy/squares", folder=tmp_path / "mine")
    with pytest.raises(
        RunError, match=r"mine holds another study, other settings or other data\. Choose another --run\."
    ):
        conduct("toy/squares", Config(seeds=2), tmp_path / "mine")


def test_a_folder_of_other_things_is_not_written_into(toy, tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos/cat.png").touch()
    with pytest.raises(InputError, match=r"photos is not empty and holds no study; nothing was changed\."):
        conduct("toy/squares", folder=tmp_path / "photos")
    with pytest.raises(InputError, match=r"--run .*squares\.py is a file; a study is kept in a folder\."):
        conduct("toy/squares", folder=tmp_path / "squares.py")
    assert [f.name for f in (tmp_path / "photos").iterdir()] == ["cat.png"] and toy.worked == []


# ---- digests


def test_the_digest_is_of_settings_text_and_data(toy, monkeypatch):
    rows = SimpleNamespace(x=pd.DataFrame({"a": [1.0, 2.0], "b": ["u", "v"]}), y=np.array(["p", "q"], dtype=object))
    monkeypatch.setattr(data, "load", lambda name: rows)

    def of(**changes):
        return digest(toy, SimpleConfig(**changes))

    @dataclass(frozen=True)
    class SimpleConfig:
        seeds: int = 1
        data: str | tuple[str, ...] = ()

    found = [of(), of(seeds=2), of(data="a")]
    rows.x.loc[1, "b"] = "w"
    found.append(of(data="a"))
    rows.y = np.array(["p", "r"], dtype=object)
    found.append(of(data="a"))
    rows.x = np.zeros((2, 2), dtype=np.uint8)
    found += [of(data="a"), of(data=("a", "a"))]
    rows.x = np.ones((2, 2), dtype=np.uint8)
    found.append(of(data="a"))
    assert len(set(found)) == len(found) == 8
    assert of(data="a") == found[-1]


# ---- words


def test_numbers_of_a_finding_are_short_and_words_stay(toy):
    done = replace(
        conduct("toy/squares"),
        findings=(Finding("C036", [0.162, 0.284], [0.115712, 0.274123], None, "corrected", "Because."),),
    )
    (line,) = done.table().text().splitlines()[2:]
    assert line.split("  ")[:4] == ["C036", "corrected", "0.162, 0.284", "0.116, 0.274"]
    assert line.endswith("Univariate regression end-to-end with a shallow network")
    assert done.table().columns["spread"] == [""]


def test_give_shows_the_sample_standard_deviation():
    values = np.array([0.1, 0.4, 0.3])
    assert give(values, ".3f") == f"{values.mean():.3f} ± {values.std(ddof=1):.3f}"


# ---- all studies


def test_an_unknown_study_is_answered_with_the_nearest():
    with pytest.raises(InputError, match=r"Unknown study 'evidence/split'\. Did you mean 'evidence/splits'"):
        load("evidence/split")
    with pytest.raises(InputError, match=r"Unknown study '\.\./_ledger'"):
        card("../_ledger")


@pytest.mark.parametrize("name", names())
def test_a_study_states_what_it_asks_and_claims(name):
    found, study = card(name), load(name)
    assert found.question.endswith("?") and "Cost:" in study.__doc__
    assert found.claims == study.CLAIMS and set(found.claims.values()) <= VERDICTS
    assert set(found.claims) <= {row.id for row in _ledger.rows()}
    assert isinstance(study.TINY, study.Config) and study.TINY != study.Config()
    with pytest.raises(AttributeError):
        study.TINY.seeds = 1  # frozen
    assert json.loads(json.dumps(asdict(study.Config())))


@pytest.mark.parametrize("name", names())
def test_a_study_claims_what_its_last_full_run_found(name):
    findings = _ledger.recorded()[name]["findings"]
    assert {f["row"]: f["verdict"] for f in findings} == card(name).claims


def test_no_recorded_study_is_gone():
    assert set(_ledger.recorded()) <= set(names())


@pytest.mark.middle
@pytest.mark.parametrize("name", names())
def test_a_tiny_study_runs_from_measuring_to_figures(name, tmp_path):
    study = load(name)
    done = conduct(name, study.TINY, tmp_path)
    assert [f.row for f in done.findings] == list(study.CLAIMS) and {f.verdict for f in done.findings} <= VERDICTS
    assert all(f.why.endswith(".") for f in done.findings)
    assert len(done.table().text().splitlines()) == 2 + len(done.findings)
    assert json.loads(json.dumps(done.as_json()))["path"] == str(tmp_path)
    run = Run(tmp_path)
    kept = run.tree("evidence.safetensors")
    assert study.judge(kept) == list(done.findings)  # from what was kept, too
    drawn = study.figures(kept)
    assert drawn and all(run.has(f"figures/{title}.svg") for title in drawn)
    tables = study.tables(kept) if hasattr(study, "tables") else {}
    assert all(run.read(f"table-{title}.md").decode() == table.markdown() + "\n" for title, table in tables.items())


# ---- recording


def test_a_recorded_study_replaces_its_old_record_and_no_other(toy, monkeypatch, tmp_path):
    (tmp_path / "ledger").mkdir()
    file = tmp_path / "ledger/findings.json"
    file.write_text(json.dumps({"a/b": {"date": "2020-01-01"}, "toy/squares": {"date": "2020-01-01"}}))
    monkeypatch.setattr(_study, "files", lambda package: tmp_path)
    monkeypatch.setattr(_ledger, "files", lambda package: tmp_path)
    monkeypatch.setattr(_study, "RECORDS", tmp_path / "records")
    _ledger.recorded.cache_clear()
    try:
        done = conduct("toy/squares")
        assert keep(done) == file and not (tmp_path / "records").exists()  # no checkout, no records
        (tmp_path / "records").mkdir()
        keep(done)
        whole = json.loads((tmp_path / "records/toy-squares.json").read_text())
        assert whole["config"] == asdict(Config()) and "path" not in whole
        assert whole["study"] == "toy/squares" and whole["digest"] == done.digest
        kept = json.loads(file.read_text())
        assert kept == _ledger.recorded() and kept["a/b"] == {"date": "2020-01-01"}
        assert kept["toy/squares"]["date"] == done.date and kept["toy/squares"]["versions"] == done.versions
        assert kept["toy/squares"]["findings"] == [asdict(f) for f in done.findings]
    finally:
        _ledger.recorded.cache_clear()
