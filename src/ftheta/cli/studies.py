"""`ftheta studies`: which there are, and what their last full run found."""

import os
from collections import Counter
from pathlib import Path
from typing import Any

import click

from .. import studies
from ._show import echo, echo_json, json_option, new_file_option


@click.command("studies", short_help="List the studies, with what they found.")
@json_option("One JSON object per study.")
@new_file_option("Write a page of all studies with a picture of each, such as studies.html.")
def command(as_json: bool, output: Path | None) -> None:
    """Experiments that check what the sources say; `ftheta study NAME` repeats one here."""
    if output is not None:
        from ..store import write_atomic

        write_atomic(output, studies.index(_articles(output)).encode())
        echo(f"Page: {output}", err=True)
        return
    for line in map(_line, map(studies.info, studies.names())):
        counts = Counter(line["verdicts"].values())
        verdicts = [f"{count} {verdict}" for verdict, count in counts.items()]
        if as_json:
            echo_json(line)
        else:
            seconds = [f"{line['seconds']:.0f} s"] if line["date"] else []
            echo(f"{line['study']} ({', '.join([*verdicts, *seconds])}): {line['question']}")
            echo(f"  {line['finding']}")


def _articles(page: Path) -> dict[str, str]:
    """Addresses, from a page, of the newest article of each study that was run here."""
    found = sorted(studies.ROOT.glob("*/*/report.html"), key=lambda path: path.stat().st_mtime)
    by_name = {path.parent.parent.name: Path(os.path.relpath(path, page.parent)).as_posix() for path in found}
    return {name: by_name[kept] for name in studies.names() if (kept := name.replace("/", "-")) in by_name}


def _line(info: studies.StudyInfo) -> dict[str, Any]:
    """A study with the verdicts of its last recorded full run; without one it is open."""
    found = studies.ledger.recorded().get(info.name, {"date": "", "seconds": 0.0, "versions": {}, "findings": []})
    known = {finding["row"]: finding["verdict"] for finding in found["findings"]}
    verdicts = {row: known.get(row, "open") for row in info.rows}
    said = studies.sentence(found["findings"]) if found["date"] else "Not measured yet."
    last = {key: found[key] for key in ("date", "seconds", "versions")}
    return {"study": info.name, "question": info.question, "finding": said, "verdicts": verdicts, **last}
