"""`ftheta models`: the catalog."""

from __future__ import annotations

import json

import click

from ..catalog import CARDS
from ..results import Table
from ._show import echo, echo_table

__all__ = ["command"]


@click.command("models", short_help="List the models.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a model.")
def command(as_json: bool) -> None:
    """List the models that `ftheta train` knows, with their tasks and what they take."""
    if as_json:
        for card in CARDS.values():
            echo(json.dumps(card._asdict()))
        return
    cards = list(CARDS.values())
    columns = {
        "model": [c.name for c in cards],
        "tasks": [", ".join(c.targets) for c in cards],
        "input": [c.input for c in cards],
        "what it is": [c.summary for c in cards],
    }
    echo_table(Table(columns))
