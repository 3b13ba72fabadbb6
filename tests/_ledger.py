"""The ledger's side of pytest: the fixture that checks a correction, and the collector of claims.

    @pytest.mark.ledger("C025", "C026", covers="ftheta.nn.MLP")               two rows where the source is right
    @pytest.mark.ledger("C025", covers="...", printed=-4.417, right=0.417)    one where it is wrong: ledger(computed)
    ... says="-Σ f_y - log Σ exp f", printed=-4.417, right=0.417)             printed: what the words or formula give
    @study.claim("C900", says="...")                                          in a study; findings.json has the verdict
    <!-- ledger: C031, C032 documented -->                                    on a page of docs/; its erratum decides
    C033 = "The reason."                                                      in declined.toml

`--ledger-write` collects all of them into claims.json, `--ledger-check` compares; neither runs a test.
"""

import ast
import csv
import json
import math
import re
import tomllib
from collections import defaultdict

import numpy as np
import pytest

from ftheta.studies._running import claimed_rows

FOLDER = "src/ftheta/studies/ledger"
VERDICTS = {
    "test": ["right", "loose", "wrong", "incomplete"],
    "study": ["right", "loose", "wrong", "incomplete", "undecided"],
    "page": ["right", "loose", "wrong", "incomplete"],
    "declined": ["declined"],
}
# An erratum makes a row loose: a part of the statement holds. Exceptions: nothing that is printed holds; a part or an
# answer is left out; it is right as the source words it, or the passage itself mends the slip.
STATED = {
    "wrong": ["A061", "B163"],
    "incomplete": "A140 A141 A144 A268 B053 B054 B125 B204 B277".split(),
    "right": (
        "A017 A019 A025 A027 A030 A045 A049 A063 A068 A117 A118 A124 A134 A136 A137 A143 A150 A163 A166 A176 A178 A196 "
        "A201 A210 A251 A262 A263 A264 A265 A275 A278 A280 A282 B041 B051 B090 B123 B126 B157 B160 B161 B191 B198 B201 "
        "B211 B227 B234 B256 B274 B276 B315 B322 C001 C005 C006 C023 C031 C035 C036 C038 C056 C071 C091 C092 C096 C097 "
        "C098 C100 C102 C105 C109 C116 C132 C148 C149 C153 C161 C164 C170 C173 C175 C176 C184 C187 C199 C202 C213 C215 "
        "C219 C223 C225 C234 C236 C239"
    ).split(),
}
_called, _marks = pytest.StashKey[set[str]](), pytest.StashKey[list]()


def _errata(item):
    return [mark for mark in item.iter_markers("ledger") if "printed" in mark.kwargs]


def _plain(value):
    """JSON values: arrays and tensors as lists, numbers that are not finite as words."""
    if hasattr(value, "detach"):
        value = value.detach()
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _agree(computed, stated, rtol, atol):
    computed, stated = _plain(computed), _plain(stated)
    try:
        a, b = (np.asarray(value, dtype=float).ravel() for value in (computed, stated))
    except (TypeError, ValueError):  # words
        return computed == stated
    return a.size == b.size and np.allclose(a, b, rtol=rtol, atol=atol)


@pytest.fixture
def ledger(request):
    """ledger(computed, rtol=1e-3, atol=0, row=None): right = computed != printed, as the test's marker states them."""
    request.node.stash[_called] = called = set()

    def check(computed, *, rtol=1e-3, atol=0.0, row=None):
        marks = [mark for mark in _errata(request.node) if row in (None, *mark.args)]
        assert len(marks) == 1, (
            f"{len(marks)} markers with printed= fit this call; ledger(computed, row='C025') names one."
        )
        ids, right, printed = ", ".join(marks[0].args), marks[0].kwargs["right"], marks[0].kwargs["printed"]
        assert _agree(computed, right, rtol, atol), f"{ids}: computed {computed}, but the marker says right={right}."
        assert not _agree(computed, printed, rtol, atol), (
            f"{ids}: computed {computed}, which is what is printed: {printed}."
        )
        called.update(marks[0].args)

    return check


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    result = yield
    missed = {row for mark in _errata(item) for row in mark.args} - item.stash.get(_called, set())
    if missed:
        pytest.fail(
            f"The marker of {', '.join(sorted(missed))} has printed=, but the test never called ledger(computed)."
        )
    return result


def pytest_addoption(parser):
    group = parser.getgroup("ledger")
    group.addoption("--ledger-write", action="store_true", help="collect the claims into claims.json; run nothing")
    group.addoption("--ledger-check", action="store_true", help="fail if claims.json is not what would be collected")


@pytest.hookimpl(tryfirst=True)  # before a test is deselected
def pytest_collection_modifyitems(config, items):
    config.stash[_marks] = [(i.nodeid.partition("[")[0], mark) for i in items for mark in i.iter_markers("ledger")]


def pytest_runtestloop(session):
    config = session.config
    write, check = config.getoption("--ledger-write"), config.getoption("--ledger-check")
    if session.testsfailed or not (write or check):
        return None
    path = config.rootpath / FOLDER / "claims.json"
    claims, problems = collect(config.rootpath, config.stash[_marks])
    if check and not problems:
        problems = changes(json.loads(path.read_text(encoding="utf-8")), claims)
    if problems:
        config.get_terminal_writer().line("\n" + "\n".join(problems), red=True)
        raise session.Failed
    if write:
        path.write_text(json.dumps(claims, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    config.get_terminal_writer().line(f"\n{len(claims)} rows of the ledger are claimed.")
    return True


def collect(root, marks):
    """Claims by row, sorted, and a sentence for each that is wrong."""
    tables = (root / FOLDER).glob("*.csv")
    errata = {row["id"]: row["erratum"] for table in tables for row in csv.DictReader(_lines(table))}
    claims, problems = defaultdict(list), _malformed(marks)
    for row, claim in [*_of_tests(marks, errata), *_of_studies(root), *_of_pages(root, errata), *_of_declined(root)]:
        kind, where, verdict = claim["kind"], claim["where"], claim["verdict"]
        if row not in errata:
            problems.append(f"{where} claims {row!r}, which is not a row of the ledger.")
        elif verdict not in VERDICTS[kind]:
            problems.append(f"{where} says {verdict!r} of {row}; a {kind} says {' or '.join(VERDICTS[kind])}.")
        elif claim not in claims[row]:
            claims[row].append(claim)
    return {row: sorted(claims[row], key=json.dumps) for row in sorted(claims)}, problems


def changes(before, now):
    """A sentence for each claim that is gone or new."""
    old, new = ({(row, json.dumps(claim)) for row, found in t.items() for claim in found} for t in (before, now))
    gone = [
        f"claims.json has {row} claimed by {json.loads(c)['where']}, which is gone or has changed."
        for row, c in old - new
    ]
    come = [f"{json.loads(c)['where']} claims {row}, which claims.json does not have so." for row, c in new - old]
    return [*sorted(gone), *sorted(come), "Run `make ledger` and commit claims.json."] if gone or come else []


def _lines(path):
    return path.read_text(encoding="utf-8").splitlines(keepends=True)


def _malformed(marks):
    takes = ({"covers"}, {"covers", "printed", "right"}, {"covers", "says", "printed", "right"})
    wrong = [(where, mark) for where, mark in marks if not mark.args or set(mark.kwargs) not in takes]
    return [
        f"{where}: ledger{m.args} takes row ids, covers=, and printed= with right= (and says=); got {sorted(m.kwargs)}."
        for where, m in wrong
    ]


def _of_tests(marks, errata):
    """A test that finds another value than the printed one answers the row's erratum; without one the row is wrong."""
    for where, mark in marks:
        states = {k: _plain(mark.kwargs[k]) for k in ("covers", "says", "printed", "right") if k in mark.kwargs}
        for row in mark.args:
            verdict = _of_erratum(row, errata.get(row, ""), "wrong") if "printed" in states else "right"
            yield row, {"kind": "test", "where": where, "verdict": verdict, **states}


def _of_studies(root):
    recorded = json.loads((root / FOLDER / "findings.json").read_text(encoding="utf-8"))
    for path in sorted((root / "src/ftheta/studies").glob("*/[!_]*.py")):
        name = f"{path.parent.name}/{path.stem.replace('_', '-')}"
        verdicts = {f["row"]: f["verdict"] for f in recorded.get(name, {"findings": []})["findings"]}
        for row in claimed_rows(ast.parse(path.read_text(encoding="utf-8"))):
            yield row, {"kind": "study", "where": name, "verdict": verdicts.get(row, "undecided")}


def _of_pages(root, errata):
    for path in sorted((root / "docs").rglob("*.md")):
        for words in re.findall(r"<!--\s*ledger:(.*?)-->", path.read_text(encoding="utf-8"), flags=re.DOTALL):
            *ids, word = words.replace(",", " ").split() or [""]
            for row in ids or [word]:
                verdict = _of_erratum(row, errata.get(row, ""), "right") if word == "documented" else word
                yield row, {"kind": "page", "where": path.relative_to(root).as_posix(), "verdict": verdict}


def _of_erratum(row, text, untagged):
    """What the table of exceptions, else the erratum says of the source; without an erratum, `untagged`."""
    tagged = "incomplete" if text.startswith("[OMISSION]") else "loose" if text else untagged
    return next((verdict for verdict, rows in STATED.items() if row in rows), tagged)


def _of_declined(root):
    for row, reason in tomllib.loads((root / FOLDER / "declined.toml").read_text(encoding="utf-8")).items():
        yield row, {"kind": "declined", "where": reason, "verdict": "declined"}
