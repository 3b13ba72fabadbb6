"""`ftheta studies`: every study with what its last full run found."""

import json
import re
from pathlib import Path

from ftheta.studies import _articles, names, sentence
from ftheta.studies import ledger as _ledger


def test_every_study_has_its_question_and_its_finding(ok):
    lines = ok("studies").out.splitlines()
    assert [line.split()[0].rstrip(":") for line in lines[::2]] == list(names())
    assert all(line.endswith("?") for line in lines[::2]) and all(line.startswith("  ") for line in lines[1::2])
    i = next(i for i, line in enumerate(lines) if line.startswith("optimizers/noise (1 "))
    findings = _ledger.recorded()["optimizers/noise"]["findings"]
    assert "): Which of five rules" in lines[i] and lines[i + 1] == f"  {sentence(findings)}"


def test_a_page_links_the_articles_that_are_here(ok, refused, monkeypatch):
    monkeypatch.setattr(_articles, "names", lambda: ("optimizers/noise", "linear/bases"))
    kept = Path("runs/study/optimizers-noise/abc/report.html")
    (Path.cwd() / kept).parent.mkdir(parents=True)
    kept.touch()
    Path("pages").mkdir()
    assert ok("studies", "-o", "pages/studies.html").err == "Page: pages/studies.html\n"
    page = Path("pages/studies.html").read_text(encoding="utf-8")
    assert re.findall('<h3><a href="([^"]*)"', page) == [f"../{kept.as_posix()}"]
    assert "exists" in refused("studies", "-o", "pages/studies.html")


def test_json_has_a_verdict_for_every_row(ok):
    found = {study["study"]: study for study in map(json.loads, ok("studies", "--json").out.splitlines())}
    assert list(found) == list(names())
    assert found["evidence/noise"]["verdicts"] == {
        f["row"]: f["verdict"] for f in _ledger.recorded()["evidence/noise"]["findings"]
    }
    assert found["evidence/noise"]["versions"]["torch"]


def test_without_a_full_run_rows_are_open(ok, monkeypatch):
    monkeypatch.setattr(_ledger, "recorded", dict)
    found = json.loads(ok("studies", "--json").out.splitlines()[0])
    assert set(found["verdicts"].values()) == {"open"} and found["date"] == ""
    assert ok("studies").out.splitlines()[:2][1] == "  Not measured yet."
