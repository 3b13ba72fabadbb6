"""`ftheta models`: the catalog."""

from __future__ import annotations

import json

import click

from ..catalog import CARDS, install
from ..results import Table
from ._show import echo, echo_table


@click.command("models", short_help="List the models.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per model.")
def command(as_json: bool) -> None:
    """List the models that `ftheta train` knows, with their tasks and what they take."""
    install()
    cards = list(CARDS.values())
    if as_json:
        for card in cards:
            targets = [{"kind": kind, "task": task, "class": c} for (kind, task), c in card.targets.items()]
            echo(json.dumps(card._asdict() | {"targets": targets}))
        return
    columns = {
        "model": [c.name for c in cards],
        "tasks": [", ".join(c.tasks) for c in cards],
        "input": [", ".join(c.kinds) for c in cards],
        "what it is": [c.summary for c in cards],
    }
    echo_table(Table(columns))
