"""The ledger: what the sources ask for, row by row, and the evidence that it is there.

A row is claimed by a test, a study, a guide page or an entry in `declined.toml`; `make ledger` collects the claims
into `claims.json`. A row without a claim of its own follows its canonical row (`same_as`), but its erratum is settled
by its own claims only.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

__all__ = [
    "Claim",
    "Count",
    "Row",
    "claims",
    "dated",
    "erratum_open",
    "evidence",
    "record",
    "recorded",
    "rows",
    "status",
    "summary",
    "verdict",
]

STATUS = {
    "test": "component",
    "study": "study",
    "page": "documented",
    "declined": "declined",
}  # the first that is found
VERDICTS = ("corrected", "refuted", "not reproduced", "confirmed", "documented", "declined")  # the first that is found
SETTLED = {"corrected", "refuted", "documented", "declined"}  # verdicts that answer an erratum


@dataclass(frozen=True)
class Row:
    """One capability, formula, example, figure, experiment or claim of a source."""

    id: str
    area: str
    milestone: str
    same_as: str
    check: str
    item: str
    kind: str
    source: str
    must_work: str
    expected: str
    erratum: str


@dataclass(frozen=True)
class Claim:
    """Who answers for a row: a test's id, a study's name, a page's path, or the reason why it is declined."""

    kind: str
    where: str
    verdict: str
    covers: str = ""
    printed: Any = None
    right: Any = None


Claims = Mapping[str, Sequence[Claim]]


class Count(NamedTuple):
    """Rows of one group: answered, declined, all, and those whose erratum nobody has answered."""

    covered: int
    declined: int
    of: int
    errata_open: int


@cache
def _rows() -> tuple[Row, ...]:
    folder = files("ftheta.studies") / "ledger"
    tables = sorted((f for f in folder.iterdir() if f.name.endswith(".csv")), key=lambda f: f.name)
    texts = (table.read_text(encoding="utf-8") for table in tables)
    return tuple(Row(**row) for text in texts for row in csv.DictReader(io.StringIO(text, newline="")))


def rows(milestone: str | None = None) -> list[Row]:
    """All rows in the order of the sources, or those of one milestone.

    Example:
        >>> rows()[0].item
        'supervised learning workflow'
    """
    return [row for row in _rows() if milestone in (None, row.milestone)]


@cache
def claims() -> Claims:
    """The collected claims by row id."""
    table = json.loads((files("ftheta.studies") / "ledger" / "claims.json").read_text(encoding="utf-8"))
    return {row: [Claim(**claim) for claim in found] for row, found in table.items()}


@cache
def recorded() -> dict[str, Any]:
    """What the full runs of the studies found: study to date, versions, seconds and findings."""
    return json.loads((files("ftheta.studies") / "ledger" / "findings.json").read_text(encoding="utf-8"))


def _found(row: Row, found: Claims | None) -> Sequence[Claim]:
    found = claims() if found is None else found
    return found.get(row.id) or found.get(row.same_as, ())


def status(row: Row, found: Claims | None = None) -> str:
    """How the row is answered: component, study, documented, declined or open."""
    kinds = {claim.kind for claim in _found(row, found)}
    return next((name for kind, name in STATUS.items() if kind in kinds), "open")


def verdict(row: Row, found: Claims | None = None) -> str:
    """What was found: the strongest verdict of its claims, or open."""
    said = {claim.verdict for claim in _found(row, found)}
    return next((name for name in VERDICTS if name in said), "open")


def evidence(row: Row, found: Claims | None = None) -> list[str]:
    """Where to look: tests, studies, pages, or the reason for declining."""
    return [claim.where for claim in _found(row, found)]


def dated(row: Row, found: Claims | None = None) -> str:
    """The day on which a study last looked at the row; nothing where no study did."""
    studies = [claim.where for claim in _found(row, found) if claim.kind == "study"]
    return max((recorded()[name]["date"] for name in studies if name in recorded()), default="")


def erratum_open(row: Row, found: Claims | None = None) -> bool:
    """Whether the row has an erratum that none of its own claims corrects, documents or declines."""
    own = (claims() if found is None else found).get(row.id, ())
    return bool(row.erratum) and not any(claim.verdict in SETTLED for claim in own)


def _count(group: Iterable[Row], found: Claims | None) -> Count:
    group = list(group)
    said = Counter(status(row, found) for row in group)
    covered = len(group) - said["open"] - said["declined"]
    return Count(covered, said["declined"], len(group), sum(erratum_open(row, found) for row in group))


def summary(of: Sequence[Row], found: Claims | None = None) -> dict[str, dict[str, Count]]:
    """Covered of all, by milestone, area and kind; `["all"]["all"]` is the total.

    Example:
        >>> summary(rows())["all"]["all"].of
        1119
    """
    table = {"all": {"all": _count(of, found)}}
    for column in ("milestone", "area", "kind"):
        names = sorted({getattr(row, column) for row in of})
        table[column] = {name: _count((r for r in of if getattr(r, column) == name), found) for name in names}
    return table


def record(row: Row, found: Claims | None = None) -> dict[str, Any]:
    """The row as one JSON object."""
    kept = {f: getattr(row, f) for f in ("id", "area", "milestone", "kind", "check", "same_as", "item")}
    said = {"verdict": verdict(row, found), "date": dated(row, found)}
    return kept | {"status": status(row, found), "evidence": evidence(row, found)} | said
