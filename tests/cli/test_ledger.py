"""`ftheta ledger`: counts, the rows of a milestone, and one JSON object a row."""

import json

import pytest

from ftheta.studies import ledger as _ledger

FIELDS = set("id same_as milestone kind status evidence source_says reference expected erratum verdict".split())


def test_the_counts_add_up(ok):
    blocks = [block.splitlines() for block in ok("ledger").out.strip().split("\n\n")]
    assert [block[0] for block in blocks[1:]] == ["by milestone", "by area", "by kind"]
    assert blocks[0][0].split() == ["rows", "covered", "of", "declined", "errata", "open"]
    total = blocks[0][2].split()
    assert total[0] == "all" and int(total[2]) == 1120
    for block in blocks[1:]:
        counts = [list(map(int, line.split()[-4:])) for line in block[3:]]
        assert [sum(column) for column in zip(*counts, strict=True)] == list(map(int, total[1:]))


def test_json_is_one_object_a_row(ok):
    rows = [json.loads(line) for line in ok("ledger", "--json").out.splitlines()]
    assert len(rows) == 1120 and all(set(row) >= FIELDS for row in rows)
    assert [row["id"] for row in rows] == [row.id for row in _ledger.rows()]
    assert all(isinstance(row["evidence"], list) and bool(row["evidence"]) == (row["status"] != "open") for row in rows)


def test_a_milestone_shows_its_rows_and_its_counts_only(ok):
    core = _ledger.rows("core")
    lines = ok("ledger", "--milestone", "core").out.splitlines()
    assert lines[0].split() == ["id", "check", "status", "verdict", "date", "item"]
    assert [line.split()[0] for line in lines[2 : 2 + len(core)]] == [row.id for row in core]
    assert lines[2].endswith(core[0].item)
    total = next(line.split() for line in lines if line.startswith("all "))
    assert int(total[2]) == len(core)
    found = [json.loads(line) for line in ok("ledger", "--milestone", "core", "--json").out.splitlines()]
    assert {row["milestone"] for row in found} == {"core"} and len(found) == len(core)


@pytest.mark.parametrize("extra", [[], ["--json"]])
def test_an_unknown_milestone_is_answered_with_the_nearest(refused, extra):
    said = refused("ledger", "--milestone", "cor", *extra)
    assert said.startswith("Unknown milestone 'cor'. Did you mean 'core'")


def test_one_row_is_shown_with_everything_known(ok, refused):
    out = ok("ledger", "a028").out
    assert out.startswith("A028: verified, the source is loose") and "source says: [1.26, 12.24]" in out
    assert "right: [6.3157895, 61.2188366]" in out and "Machine Learning Explainers 2025" in out
    assert json.loads(ok("ledger", "A028", "--json").out)["id"] == "A028"
    assert refused("ledger", "A0288").startswith("Unknown row 'A0288'")
    assert "expected a row" in refused("ledger", "chek", "A028")


def test_rows_by_source_text_and_errors(ok):
    lines = ok("ledger", "--source", "001", "--search", "cholesterol", "--errors").out.splitlines()
    assert any(line.startswith("A028 ") for line in lines) and len(lines) < 60


@pytest.mark.parametrize("option", [("--source", "001"), ("--search", "cholesterol"), ("--errors",)])
def test_each_option_alone_lists_rows(ok, option):
    lines = ok("ledger", *option).out.splitlines()
    assert lines[0].split()[:2] == ["id", "check"] and any(line.startswith("A028 ") for line in lines)
