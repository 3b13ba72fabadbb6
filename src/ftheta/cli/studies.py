"""`ftheta studies`: which there are, and what their last full run found."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import click

from .. import studies
from ..results import Table
from ._show import echo, echo_table


@click.command("studies", short_help="List the studies, with what they found.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per study.")
def command(as_json: bool) -> None:
    """Experiments that check what the sources say; `ftheta study NAME` repeats one here."""
    lines = [_line(studies.info(name)) for name in studies.names()]
    if as_json:
        for line in lines:
            echo(json.dumps(line, ensure_ascii=False))
        return
    for line in lines:
        counts = Counter(line["verdicts"].values())
        line["verdicts"] = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    echo_table(Table({key: [line[key] for line in lines] for key in ("study", "verdicts", "date", "question")}))


def _line(info: studies.StudyInfo) -> dict[str, Any]:
    """A study with the verdicts of its last recorded full run; without one it is open."""
    found = studies.ledger.recorded().get(info.name, {"date": "", "versions": {}, "findings": []})
    known = {finding["row"]: finding["verdict"] for finding in found["findings"]}
    verdicts = {row: known.get(row, "open") for row in info.rows}
    return {
        "study": info.name,
        "question": info.question,
        "verdicts": verdicts,
        **{k: found[k] for k in ("date", "versions")},
    }
