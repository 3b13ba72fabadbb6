"""`ftheta studies`: which there are, and what their last full run found."""

from __future__ import annotations

from collections import Counter
from typing import Any

import click

from .. import studies
from ._show import echo_rows, json_option


@click.command("studies", short_help="List the studies, with their verdicts.")
@json_option("One JSON object per study.")
def command(as_json: bool) -> None:
    """Experiments that check what the sources say; `ftheta study NAME` repeats one here."""
    lines = [_line(studies.info(name)) for name in studies.names()]
    for line in () if as_json else lines:
        counts = Counter(line["verdicts"].values())
        line["verdicts"] = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    echo_rows(lines, as_json, ("study", "verdicts", "date", "question"))


def _line(info: studies.StudyInfo) -> dict[str, Any]:
    """A study with the verdicts of its last recorded full run; without one it is open."""
    found = studies.ledger.recorded().get(info.name, {"date": "", "versions": {}, "findings": []})
    known = {finding["row"]: finding["verdict"] for finding in found["findings"]}
    verdicts = {row: known.get(row, "open") for row in info.rows}
    last = {key: found[key] for key in ("date", "versions")}
    return {"study": info.name, "question": info.question, "verdicts": verdicts, **last}
