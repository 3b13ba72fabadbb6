"""The ledger: what the five sources say, row by row, the verdict on it, and the evidence.

A row is claimed by a test, a study, a guide page or an entry in `declined.toml`; `make ledger` collects the claims into
`claims.json`, and `ftheta study NAME --record` writes `findings.json`. A row without a claim of its own follows the row
named in `same_as`, but not its errata, which are slips of another passage; its own is answered by its own claims only.
"""

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

# the first that applies
STATUS = {"test": "verified", "study": "measured", "page": "documented", "declined": "declined"}
VERDICTS = ("wrong", "incomplete", "loose", "undecided", "right", "declined")  # the first that a claim gives
SOURCES = {
    "000": "Machine Learning Explainers 2026",
    "001": "Machine Learning Explainers 2025",
    "002": "Deep Learning lecture notes",
    "003": "Supervised Learning to Generative Models",
    "004": "ANN & DL Report",
}


@dataclass(frozen=True)
class Row:
    """One capability, formula, example, figure, experiment or claim of a source."""

    id: str
    area: str
    milestone: str
    same_as: str  # another row that asks for the same
    check: str  # value, spread, behaviour, figure or prose
    item: str
    kind: str
    source: str  # document and section
    must_work: str
    expected: str  # computed from first principles
    erratum: str  # where the source is wrong, with the right value


@dataclass(frozen=True)
class Claim:
    """Evidence for a row: a test's id, a study's name, a page's path, or the reason for declining it."""

    kind: str
    where: str
    verdict: str
    covers: str = ""
    printed: Any = None  # what the source prints, or what comes out of it
    right: Any = None
    says: str = ""  # the words or the formula, where `printed` comes out of them


Claims = Mapping[str, Sequence[Claim]]


class Count(NamedTuple):
    """Rows of one group: covered, declined, all, and those whose erratum has no answer yet."""

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


def rows(milestone: str | None = None, source: str | None = None, search: str = "", errors: bool = False) -> list[Row]:
    """Rows in the order of the sources.

    Args:
        milestone: Only the rows of this milestone.
        source: Only those of this document, e.g. "002".
        search: Only those that contain this text.
        errors: Only those where the source is wrong, loose or incomplete, or an erratum is listed.

    Example:
        >>> rows()[0].item
        'supervised learning workflow'
        >>> [row.id for row in rows(search="galton")][:1]
        ['A038']
    """
    chosen = [row for row in _rows() if milestone in (None, row.milestone) and (source or "") in row.source]
    chosen = [row for row in chosen if search.lower() in " ".join(vars(row).values()).lower()]
    return [r for r in chosen if r.erratum or verdict(r) in ("wrong", "loose", "incomplete")] if errors else chosen


@cache
def claims() -> Claims:
    """The collected claims by row id."""
    table = json.loads((files("ftheta.studies") / "ledger" / "claims.json").read_text(encoding="utf-8"))
    return {row: [Claim(**claim) for claim in claims_] for row, claims_ in table.items()}


@cache
def recorded() -> dict[str, Any]:
    """Results of the full runs of the studies: study to date, versions, seconds and findings."""
    return json.loads((files("ftheta.studies") / "ledger" / "findings.json").read_text(encoding="utf-8"))


def _claims_of(row: Row, collected: Claims | None) -> Sequence[Claim]:
    """Those of the row; else of the row it is the same as, without its errata: they are slips of another passage."""
    collected = claims() if collected is None else collected
    judged = ("study", "declined")
    others = collected.get(row.same_as, ())
    followed = [c if c.kind in judged else Claim(c.kind, c.where, "right", c.covers) for c in others]
    return collected.get(row.id) or followed


def status(row: Row, collected: Claims | None = None) -> str:
    """What fθ has for the row: verified, measured, documented, declined or open."""
    kinds = {claim.kind for claim in _claims_of(row, collected)}
    return next((name for kind, name in STATUS.items() if kind in kinds), "open")


def verdict(row: Row, collected: Claims | None = None) -> str:
    """The verdict on the source: right, loose, wrong, incomplete, undecided, or open without a claim."""
    given = {claim.verdict for claim in _claims_of(row, collected)}
    return next((name for name in VERDICTS if name in given), "open")


def evidence(row: Row, collected: Claims | None = None) -> list[str]:
    """Where to look: tests, studies, pages, or the reason for declining."""
    return [claim.where for claim in _claims_of(row, collected)]


def _findings(row: Row, collected: Claims | None) -> list[tuple[str, dict[str, Any]]]:
    """Date and finding of each study that claims the row."""
    names = [claim.where for claim in _claims_of(row, collected) if claim.kind == "study"]
    studies = [recorded()[name] for name in names if name in recorded()]
    found = [(s["date"], f) for s in studies for f in s["findings"]]
    return [(date, f) for date, f in found if f["row"] == row.id] or [x for x in found if x[1]["row"] == row.same_as]


def erratum_open(row: Row, collected: Claims | None = None) -> bool:
    """Whether the row has an erratum that none of its own claims answers."""
    own = (claims() if collected is None else collected).get(row.id, ())
    answers = ("wrong", "loose", "incomplete")
    return bool(row.erratum) and not any(c.kind in ("page", "declined") or c.verdict in answers for c in own)


def record(row: Row, collected: Claims | None = None) -> dict[str, Any]:
    """The row with all its fields, as one JSON object."""
    findings, tests = _findings(row, collected), [c for c in _claims_of(row, collected) if c.printed is not None]
    says = [f["source_says"] for _, f in findings if "source_says" in f] + [c.says or c.printed for c in tests]
    right = [f["right"] for _, f in findings if f.get("right") is not None] + [c.right for c in tests]
    return asdict(row) | {
        "status": status(row, collected),
        "verdict": verdict(row, collected),
        "evidence": evidence(row, collected),
        "source_says": says[0] if says else None,
        "gives": next((c.printed for c in tests if c.says), None),
        "right": right[0] if right else None,
        "reference": next((f["reference"] for _, f in findings if f.get("reference") is not None), None),
        "checks": [check for _, f in findings for check in f.get("checks", ())],
        "date": max((date for date, _ in findings), default=""),
    }


def _count(group: Iterable[Row], collected: Claims | None) -> Count:
    group = list(group)
    given = Counter(status(row, collected) for row in group)
    covered = len(group) - given["open"] - given["declined"]
    return Count(covered, given["declined"], len(group), sum(erratum_open(row, collected) for row in group))


def summary(of: Sequence[Row], collected: Claims | None = None) -> dict[str, dict[str, Count]]:
    """Covered of all, by milestone, area and kind; `["all"]["all"]` is the total.

    Example:
        >>> summary(rows())["all"]["all"].of
        1120
    """
    table = {"all": {"all": _count(of, collected)}}
    for column in ("milestone", "area", "kind"):
        groups = sorted({getattr(row, column) for row in of})
        table[column] = {name: _count((r for r in of if getattr(r, column) == name), collected) for name in groups}
    return table
