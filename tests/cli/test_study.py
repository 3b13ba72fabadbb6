"""`ftheta study`: findings on the screen, a folder on the disk, one sentence for a mistake."""

import json
from pathlib import Path

import pytest

from ftheta.studies import _study
from ftheta.studies.evidence import lifting

TINY = ("study", "evidence/lifting", "--tiny")


@pytest.fixture
def undrawn(monkeypatch):
    """Its figures, which take time, are left out."""
    monkeypatch.setattr(lifting, "figures", lambda evidence: {})


def test_a_study_shows_its_findings_and_where_they_are(ok):
    done = ok(*TINY)
    lines = done.out.splitlines()
    assert lines[0].split() == ["row", "verdict", "printed", "measured", "spread", "item"]
    assert [line.split()[:2] for line in lines[2:5]] == [[row, "confirmed"] for row in ("A276", "A277", "A278")]
    assert lines[6].startswith("A276: Errors of the plane z = 0;")
    folder = next(Path("runs/study/evidence-lifting").iterdir())
    assert lines[-1].startswith(f"Folder: {folder} (") and lines[-1].endswith(" s)")
    assert {f.name for f in folder.iterdir()} >= {"config.toml", "evidence.safetensors", "findings.json", "figures"}


def test_a_study_without_a_verdict_shows_its_tables(ok):
    done = ok("study", "report/cnn-parameters")
    assert done.out.split()[0] != "row" and "34826" in done.out.replace(",", "")
    assert "18496" in done.out.replace(",", "") and done.out.splitlines()[-1].startswith("Folder: ")


@pytest.mark.middle
def test_tables_follow_the_findings(ok):
    done = ok("study", "report/hopfield-2d", "--tiny")
    (folder,) = Path("runs/study/report-hopfield-2d").iterdir()
    tables = json.loads((folder / "findings.json").read_text())["tables"]
    assert tables and all(column in done.out for table in tables.values() for column in table["columns"])
    assert done.out.index("verdict") < min(done.out.index(table["caption"]) for table in tables.values())


def test_the_second_call_is_served_from_the_folder_and_says_so(ok, undrawn, monkeypatch):
    first = ok(*TINY).out.splitlines()
    monkeypatch.setattr(lifting, "measure", None)
    again = ok(*TINY).out.splitlines()
    assert again[:-1] == first[:-1] and again[-1].endswith("taken from there)")


def test_json_is_one_object(ok, undrawn):
    found = json.loads(ok(*TINY, "--json", "--run", "mine").out)
    assert found["study"] == "evidence/lifting" and found["path"] == "mine" and found["cached"] is False
    assert [f["row"] for f in found["findings"]] == ["A276", "A277", "A278"]
    assert set(found["findings"][0]) == {"row", "printed", "measured", "spread", "verdict", "why"}
    assert json.loads(ok(*TINY, "--json", "--run", "mine").out) == found | {"cached": True}


def test_settings_are_changed_one_by_one(ok, undrawn):
    found = ok(*TINY, "--set", "seeds=3", "--set", "n = 50", "--run", "mine")
    assert "[config]\nn = 50\nseeds = 3\n" in Path("mine/config.toml").read_text() and found.code == 0


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("evidence/liftng",), "Unknown study 'evidence/liftng'. Did you mean 'evidence/lifting'"),
        ((*TINY[1:], "--set", "sedes=3"), "--set: Unknown key 'sedes'. Did you mean 'seeds'? Known: n, seeds."),
        ((*TINY[1:], "--set", "seeds=many"), "--set: seeds='many' should be a valid integer."),
        ((*TINY[1:], "--set", "seeds"), "--set seeds: expected KEY=VALUE, e.g. --set seeds=3."),
        ((*TINY[1:], "--record"), "--record keeps full runs only; leave out --tiny and --set."),
        (
            ("evidence/lifting", "--set", "n=9", "--record"),
            "--record keeps full runs only; leave out --tiny and --set.",
        ),
    ],
)
def test_a_mistake_is_one_sentence(refused, args, said):
    assert refused("study", *args).startswith(said)


def test_a_study_without_its_data_says_where_they_belong(refused, monkeypatch, tmp_path):
    monkeypatch.setenv("FTHETA_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert refused("study", "evidence/digits").startswith("'mnist' is not on this machine. ")


def test_an_interrupt_keeps_what_was_measured(ft, ok, undrawn, monkeypatch):
    with monkeypatch.context() as patch:
        kept, calls = lifting._seed, []

        def work(config, seed):
            calls.append(seed)
            if seed == 1:
                raise KeyboardInterrupt
            return kept(config, seed)

        patch.setattr(lifting, "_seed", work)
        done = ft(*TINY)
        assert (done.code, done.out) == (130, "")
        assert "Stopped; the pieces that are complete are kept. The same command continues.\n" in done.err
        patch.setattr(lifting, "_seed", lambda config, seed: calls.append(seed) or kept(config, seed))
        ok(*TINY)
        assert calls == [0, 1, 1]


def test_a_full_run_can_be_recorded(ok, undrawn, monkeypatch, tmp_path):
    recorded = []
    monkeypatch.setattr(lifting, "Config", lambda: lifting.TINY)
    monkeypatch.setattr("ftheta.cli.study.typed", lambda *args: {})
    monkeypatch.setattr(_study, "keep", lambda outcome: recorded.append(outcome) or Path("findings.json"))
    assert "Recorded in findings.json" in ok("study", "evidence/lifting", "--record").err
    assert [outcome.study for outcome in recorded] == ["evidence/lifting"]
