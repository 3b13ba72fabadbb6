"""`ftheta studies`: which there are, and what their last full run found."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import click

from ..results import Table
from ..studies import _ledger, _study
from ._show import echo, echo_table

__all__ = ["command"]


@click.command("studies", short_help="List the studies, with what they found.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a study.")
def command(as_json: bool) -> None:
    """Experiments that check what the sources say; `ftheta study NAME` repeats one here."""
    lines = [_line(_study.card(name)) for name in _study.names()]
    if as_json:
        for line in lines:
            echo(json.dumps(line, ensure_ascii=False))
        return
    for line in lines:
        said = Counter(line["verdicts"].values())
        line["verdicts"] = ", ".join(f"{count} {verdict}" for verdict, count in said.items())
    echo_table(Table({key: [line[key] for line in lines] for key in ("study", "verdicts", "date", "question")}))


def _line(card: _study.Card) -> dict[str, Any]:
    """A study with the verdicts of its last recorded full run; without one it is open."""
    found = _ledger.recorded().get(card.name, {"date": "", "versions": {}, "findings": []})
    known = {finding["row"]: finding["verdict"] for finding in found["findings"]}
    verdicts = {row: known.get(row, "open") for row in card.claims}
    kept = {"date": found["date"], "versions": found["versions"]}
    return {"study": card.name, "question": card.question, "verdicts": verdicts, **kept}
