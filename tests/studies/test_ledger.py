"""The ledger as data, and its side of pytest tried on made-up ledgers."""

import importlib.util
import json
import re
from dataclasses import replace
from pathlib import Path
from pydoc import locate

import pytest

from ftheta.studies import ledger as _ledger
from ftheta.studies.ledger import Claim, Count, Row, erratum_open, evidence, record, rows, status, summary, verdict

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parents[2]


def row(id="C1", *, same_as="", erratum="", milestone="core", area="linear", kind="formula"):
    return Row(id, area, milestone, same_as, "value", "an item", kind, "source", "works", "", erratum)


TEST = Claim("test", "tests/test_a.py::test_a", "right", "ftheta.errors")
FIX = Claim("test", "tests/test_b.py::test_b", "wrong", "ftheta.errors", printed=1, right=2)
STUDY = Claim("study", "linear/ridge", "loose")
PAGE = Claim("page", "docs/linear.md", "incomplete")
NO = Claim("declined", "Needs a robot.", "declined")


# --- rows and claims --------------------------------------------------------------------------------------------------


def test_the_ledger_is_package_data():
    table = rows()
    assert len(table) == len({r.id for r in table}) == 1120
    assert sum(not r.same_as for r in table) == 943
    assert {r.same_as for r in table} - {""} <= {r.id for r in table if not r.same_as}
    assert len(rows("core")) == 71 and {r.milestone for r in rows("core")} == {"core"}


def test_reading_the_ledger_imports_nothing_heavy(fresh):
    assert fresh("from ftheta.studies.ledger import rows, summary; summary(rows())") == set()


@pytest.mark.parametrize(
    ("claims", "state", "said"),
    [
        ([], "open", "open"),
        ([TEST], "verified", "right"),
        ([PAGE, TEST], "verified", "incomplete"),
        ([TEST, FIX], "verified", "wrong"),
        ([STUDY, PAGE], "measured", "incomplete"),
        ([PAGE], "documented", "incomplete"),
        ([NO], "declined", "declined"),
    ],
)
def test_status_and_verdict_are_the_strongest_of_the_claims(claims, state, said):
    found = {"C1": claims} if claims else {}
    assert (status(row(), found), verdict(row(), found)) == (state, said)
    assert evidence(row(), found) == [c.where for c in claims]


def test_a_row_without_a_claim_follows_its_canonical_row_but_not_its_errata():
    follower = row("C2", same_as="C1")
    assert status(follower, {"C1": [TEST]}) == "verified"
    assert verdict(follower, {"C1": [FIX, PAGE]}) == "right" and record(follower, {"C1": [FIX]})["right"] is None
    assert verdict(follower, {"C1": [FIX, STUDY]}) == "loose"
    assert status(follower, {"C1": [TEST], "C2": [PAGE]}) == "documented"
    assert status(row("C2"), {"C1": [TEST]}) == "open"


def test_an_erratum_is_settled_by_claims_of_its_own_row_only():
    wrong = row("C2", same_as="C1", erratum="The sign.")
    assert erratum_open(wrong, {"C1": [FIX]})
    assert erratum_open(wrong, {"C2": [TEST]})
    assert not any(erratum_open(wrong, {"C2": [TEST, claim]}) for claim in (FIX, STUDY, PAGE, NO))
    assert not erratum_open(row(), {})


def test_summary_counts_covered_of_all_by_group():
    table = [row("C1"), row("C2", area="svm"), row("C3", milestone="margins", area="svm"), row("C4", erratum="x")]
    counts = summary(table, {"C1": [TEST], "C2": [NO], "C4": [TEST]})
    assert counts["all"]["all"] == Count(covered=2, declined=1, of=4, errata_open=1)
    assert counts["milestone"] == {"core": Count(2, 1, 3, 1), "margins": Count(0, 0, 1, 0)}
    assert counts["area"] == {"linear": Count(2, 0, 2, 1), "svm": Count(0, 1, 2, 0)}
    assert counts["kind"] == {"formula": counts["all"]["all"]}


def test_record_has_what_the_source_says_and_our_reference_apart(monkeypatch):
    checks = [{"text": "a", "holds": True, "number": "1", "missing": False}]
    finding = {"row": "C1", "source_says": 3, "reference": 2, "right": None, "verdict": "loose", "checks": checks}
    monkeypatch.setattr(_ledger, "recorded", lambda: {"linear/ridge": {"date": "2026-03-01", "findings": [finding]}})
    found = json.loads(json.dumps(record(row(), {"C1": [TEST, STUDY]})))
    assert (found["status"], found["verdict"], found["date"]) == ("verified", "loose", "2026-03-01")
    assert (found["source_says"], found["reference"], found["right"], found["checks"]) == (3, 2, None, checks)
    assert found["evidence"] == ["tests/test_a.py::test_a", "linear/ridge"]
    corrected = record(row(), {"C1": [FIX]})
    assert (corrected["source_says"], corrected["right"], corrected["reference"], corrected["date"]) == (1, 2, None, "")
    worded = record(row(), {"C1": [replace(FIX, says="one")]})
    assert (worded["source_says"], worded["gives"], corrected["gives"]) == ("one", 1, None)


def test_a_row_shows_its_own_finding_and_only_without_one_that_of_the_row_it_follows(monkeypatch):
    found = [{"row": name, "source_says": name, "verdict": "right"} for name in ("C1", "C2")]
    monkeypatch.setattr(_ledger, "recorded", lambda: {"linear/ridge": {"date": "2026-03-01", "findings": found}})
    assert record(row("C2", same_as="C1"), {"C1": [STUDY], "C2": [STUDY]})["source_says"] == "C2"
    assert record(row("C3", same_as="C1"), {"C1": [STUDY]})["source_says"] == "C1"


def test_rows_by_source_text_and_errors():
    assert {r.source[:3] for r in rows(source="004")} == {"004"}
    assert "A038" in [r.id for r in rows(search="GALTON")]
    wrong = rows(errors=True)
    assert 300 < len(wrong) < 700 and all(r.erratum or verdict(r) in ("wrong", "loose", "incomplete") for r in wrong)


def test_claims_name_what_exists():
    """The ids are rows, and what a test covers can be imported."""
    assert set(_ledger.claims()) <= {r.id for r in rows()}
    covered = {claim.covers for found in _ledger.claims().values() for claim in found if claim.covers}
    assert [name for name in sorted(covered) if locate(name) is None] == []


def test_the_page_of_errata_is_what_the_ledger_says():
    """Tables are up to date, and each section names the rows that `ftheta ledger --source --errors` has judged."""
    spec = importlib.util.spec_from_file_location("errata", ROOT / "docs/errata.py")
    errata = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(errata)
    page = errata.PAGE.read_text(encoding="utf-8")
    assert errata.written(page) == page, "run python docs/errata.py"
    for sources in (["000", "001"], ["002"], ["003"], ["004"]):
        section = page.partition(f"({', '.join(sources)})\n")[2].partition("\n## ")[0]
        listed = set(re.findall(r"^\| ([ABC]\d+) ", section, flags=re.MULTILINE)) | errata.named(section)
        assert set(errata.judged(sources)) <= listed


# --- marker, fixture and collector, on made-up ledgers ----------------------------------------------------------------


@pytest.fixture
def house(pytester):
    """A repository with four rows, one page, one study and one declined row."""
    folder = pytester.path / "src/ftheta/studies/ledger"
    (folder.parent / "linear").mkdir(parents=True)
    folder.mkdir()
    (pytester.path / "docs").mkdir()
    notes = "id,item,erratum\nC1,a,\nC2,b,\nC3,c,wrong\nC4,d,\nC5,e,[OMISSION] a part\nB163,f,sign\n"
    (folder / "notes.csv").write_text(notes, encoding="utf-8")
    (folder / "declined.toml").write_text('C4 = "Needs a robot."\n', encoding="utf-8")
    (folder / "claims.json").write_text("{}", encoding="utf-8")
    (folder.parent / "linear/ridge_path.py").write_text('@study.claim("C2", says="x")\ndef f(m): ...\n')
    found = {"linear/ridge-path": {"findings": [{"row": "C2", "verdict": "wrong"}]}}
    (folder / "findings.json").write_text(json.dumps(found), encoding="utf-8")
    (pytester.path / "docs/page.md").write_text("Text. <!-- ledger: C2, C3 documented -->\n", encoding="utf-8")
    pytester.makeini("[pytest]\nmarkers =\n    ledger\n    soak\naddopts = -p no:cacheprovider")
    return pytester


def run(house, test, *options):
    house.makepyfile("import pytest, math, torch\nimport numpy as np\n" + test)
    return house.runpytest("-p", "tests._ledger", *options)


def claims_of(house):
    return json.loads((house.path / "src/ftheta/studies/ledger/claims.json").read_text(encoding="utf-8"))


def correction(call, printed="1.0", right="0.5"):
    return f"""
@pytest.mark.ledger("C3", covers="x", printed={printed}, right={right})
def test_it(ledger):
    {call}
"""


@pytest.mark.parametrize(
    ("call", "printed", "right"),
    [
        ("ledger(0.50001)", "1.0", "0.5"),
        ("ledger(torch.full((1,), 0.5, requires_grad=True))", "1.0", "0.5"),
        ("ledger(np.array([1.0, 2.0]))", "(2.0, 1.0)", "(1.0, 2.0)"),
        ("ledger(True)", "False", "True"),
        ("ledger('grows')", "'shrinks'", "'grows'"),
        ("ledger(math.inf)", "0.0", "math.inf"),
        ("ledger(1e-6, atol=1e-5)", "1.0", "0.0"),
        ("ledger(0.501, rtol=0.01)", "1.0", "0.5"),
        ("ledger(0.5, row='C3')", "1.0", "0.5"),
    ],
)
def test_a_correction_holds_for_numbers_arrays_truths_and_words(house, call, printed, right):
    run(house, correction(call, printed, right)).assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("call", "printed", "right", "message"),
    [
        ("ledger(0.501)", "1.0", "0.5", "*C3: computed 0.501, but the marker says right=0.5*"),
        ("ledger(1e-12)", "1.0", "0.0", "*C3: computed 1e-12, but the marker says right=0.0*"),
        ("ledger([0.5, 0.5])", "1.0", "0.5", "*but the marker says right=0.5*"),
        ("ledger(math.nan)", "1.0", "0.5", "*C3: computed nan, but the marker says right=0.5*"),
        ("ledger('grows')", "'grows'", "'shrinks'", "*but the marker says right=shrinks*"),
        ("ledger(0.5)", "0.5002", "0.5", "*C3: computed 0.5, which is what is printed: 0.5002*"),
        ("ledger(0.5, row='C2')", "1.0", "0.5", "*0 markers with printed= fit this call*"),
        ("pass", "1.0", "0.5", "*marker of C3 has printed=, but the test never called ledger(computed)*"),
    ],
)
def test_a_correction_fails_when_a_number_is_wrong_or_missing(house, call, printed, right, message):
    result = run(house, correction(call, printed, right))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([message])


@pytest.mark.parametrize(("id", "verdict"), [("C1", "wrong"), ("C3", "loose"), ("C5", "incomplete"), ("B163", "wrong")])
def test_the_verdict_of_a_correction_follows_the_erratum_of_its_row(house, id, verdict):
    run(house, correction("ledger(0.5)").replace("C3", id), "--ledger-write")
    assert verdict in {claim["verdict"] for claim in claims_of(house)[id]}


def test_a_correction_without_the_fixture_fails_and_a_skipped_one_stays_skipped(house):
    bare = correction("pass").replace("(ledger)", "()")
    run(house, bare + correction("pytest.skip('no data')").replace("test_it", "test_skipped")).assert_outcomes(0, 1, 1)


CLAIMING = """
@pytest.mark.ledger("C1", "C3", covers="x")
@pytest.mark.parametrize("n", [1, 2])
def test_many(n):
    raise RuntimeError("the collector runs nothing")

@pytest.mark.soak
@pytest.mark.ledger("C3", covers="y", printed=(1.0, math.inf), right=np.array([1.0, 2.0]))
def test_right(ledger):
    ledger((1.0, 2.0))
"""


def test_claims_are_collected_from_tests_studies_pages_and_declined_rows(house):
    result = run(house, CLAIMING, "--ledger-write", "-m", "not soak")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["4 rows of the ledger are claimed."])
    file = "test_claims_are_collected_from_tests_studies_pages_and_declined_rows.py"
    many = {"kind": "test", "where": f"{file}::test_many", "verdict": "right", "covers": "x"}
    right = {"kind": "test", "where": f"{file}::test_right", "verdict": "loose", "covers": "y"}
    page = {"kind": "page", "where": "docs/page.md", "verdict": "right"}
    assert claims_of(house) == {
        "C1": [many],
        "C2": [page, {"kind": "study", "where": "linear/ridge-path", "verdict": "wrong"}],
        "C3": [page | {"verdict": "loose"}, many, right | {"printed": [1.0, "inf"], "right": [1.0, 2.0]}],
        "C4": [{"kind": "declined", "where": "Needs a robot.", "verdict": "declined"}],
    }
    assert house.runpytest("-p", "tests._ledger", "--ledger-check").ret == 0


@pytest.mark.parametrize(
    ("old", "new", "messages"),
    [
        ("test_many", "test_few", ["claims.json has C1 claimed by *::test_many*", "*::test_few claims C1*"]),
        ('"C1", ', "", ["claims.json has C1 claimed by *::test_many, which is gone or has changed."]),
        ('"C1"', '"C1", "C2"', ["*::test_many claims C2, which claims.json does not have so."]),
        ("[1.0, 2.0]", "[1.0, 3.0]", ["claims.json has C3 claimed by *::test_right*", "*test_right claims C3*"]),
    ],
)
def test_a_changed_set_of_claims_fails(house, old, new, messages):
    run(house, CLAIMING, "--ledger-write")
    result = run(house, CLAIMING.replace(old, new), "--ledger-check")
    assert result.ret == 1
    result.stdout.fnmatch_lines([*messages, "Run `make ledger` and commit claims.json."])


@pytest.mark.parametrize("option", ["--ledger-write", "--ledger-check"])
@pytest.mark.parametrize(
    ("marker", "message"),
    [
        ('"C9", covers="x"', "*::test_it claims 'C9', which is not a row of the ledger."),
        ('"C1"', "*::test_it: ledger('C1',) takes row ids, covers=*got []."),
        ('covers="x"', "*::test_it: ledger() takes row ids, covers=*"),
        (
            '"C1", covers="x", printed=1',
            "*takes row ids, covers=, and printed= with right= (and says=); got *'printed'*",
        ),
    ],
)
def test_a_marker_that_says_nothing_of_the_ledger_fails(house, option, marker, message):
    result = run(house, f"@pytest.mark.ledger({marker})\ndef test_it():\n    pass\n", option)
    assert result.ret == 1
    result.stdout.fnmatch_lines([message])
    assert claims_of(house) == {}


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("docs/page.md", "<!-- ledger: C9 documented -->", "docs/page.md claims 'C9', which is not a row *"),
        ("docs/page.md", "<!-- ledger: C3 -->", "docs/page.md says 'C3' of C3; a page says right *"),
        ("docs/page.md", "<!-- ledger: C2 C3 -->", "docs/page.md says 'C3' of C2; a page says right *"),
        ("src/ftheta/studies/ledger/declined.toml", 'C9 = "No."', "No. claims 'C9', which is not a row of the ledger."),
    ],
)
def test_a_page_a_study_or_a_declined_row_that_says_something_else_fails(house, file, text, message):
    (house.path / file).write_text(text, encoding="utf-8")
    result = run(house, CLAIMING, "--ledger-check")
    assert result.ret == 1
    result.stdout.fnmatch_lines([message])


def test_a_test_file_that_cannot_be_imported_writes_nothing(house):
    assert run(house, "import nowhere_to_be_found", "--ledger-write").ret == 2
    assert claims_of(house) == {}
