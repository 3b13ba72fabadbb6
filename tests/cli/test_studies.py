"""`ftheta studies`: every study with what its last full run found."""

import json
import re

from ftheta.studies import ledger as _ledger
from ftheta.studies import names


def test_every_study_has_a_line(ok):
    header, _, *lines = ok("studies").out.splitlines()
    assert header.split() == ["study", "verdicts", "date", "question"]
    assert [line.split()[0] for line in lines] == list(names())
    assert all(line.endswith("?") for line in lines)
    date = _ledger.recorded()["optimizers/noise"]["date"]
    assert any(re.match(rf"optimizers/noise +1 right +{date} +Which of five rules", line) for line in lines)


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
    assert " open " in ok("studies").out.splitlines()[2]
