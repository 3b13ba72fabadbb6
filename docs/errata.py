"""Write the tables of docs/errata.md from the ledger: `python docs/errata.py`.

Each table lists the rows of a source that are wrong, loose or incomplete and that no sentence above it names.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from ftheta.studies import ledger

PAGE = Path(__file__).with_name("errata.md")
TABLE = re.compile(r"<!-- table: ([\d ]+) -->\n.*?(?=\n## |\Z)", flags=re.DOTALL)


def judged(sources: Sequence[str]) -> dict[str, ledger.Row]:
    """Rows of these sources where a test, a study or a page has found an error, by id."""
    rows = (row for source in sources for row in ledger.rows(source=source, errors=True))
    return {row.id: row for row in rows if ledger.verdict(row) not in ("open", "right")}


def named(text: str) -> set[str]:
    """Ids in the comments of a text."""
    comments = re.findall(r"<!--\s*ledger:\s+(.*?)\s+[a-z]+\s*-->", text, flags=re.DOTALL)
    return {row for comment in comments for row in comment.replace(",", " ").split()}


def what(row: ledger.Row) -> str:
    """What is not stated, then the erratum; else what is printed and what is right, or the checks that failed."""
    record = ledger.record(row)
    missing = "; ".join(c["text"] for c in record["checks"] if c["missing"])
    failed = "; ".join(c["text"] for c in record["checks"] if c["holds"] is False)
    printed = f"printed: {record['source_says']}; right: {record['right']}" if record["right"] is not None else ""
    erratum = re.sub(r"^\[\w+\] ", "", row.erratum)
    if missing:
        text = f"not stated: {missing}" + (f". {erratum}" if erratum else "")
    else:
        text = erratum or printed or (f"does not hold: {failed}" if failed else row.item)
    return text.replace("|", "\\|").replace("\n", " ")


def table(sources: Sequence[str], text: str) -> str:
    """A line for each row that the text does not name."""
    lines = [f"<!-- table: {' '.join(sources)} -->", "| row | place | verdict | what |", "|---|---|---|---|"]
    for row in judged(sources).values():
        if row.id not in named(text):
            lines.append(f"| {row.id} | {row.source} | {ledger.verdict(row)} | {what(row)} |")
    return "\n".join(lines) + "\n"


def written(page: str) -> str:
    """The page with its tables as the ledger has them."""
    parts = re.split(r"(?=\n## )", page)
    return "".join(TABLE.sub(lambda m, part=part: table(m[1].split(), part), part) for part in parts)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
